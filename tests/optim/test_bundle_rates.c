/* Theorems of the level bundle method (solvers.h) and of BMRM (optim.h): their gaps, on random
 * functions whose minimum is known and on those that tell as little as they can. */
#include <math.h>
#include <string.h>

#include "support.h"

enum { MOST = 40, PLANES = 60 };

/* f(x) = max over j of <a_j, x> + b_j, of which the first that is highest is told; and the longest
 * subgradients of J and of f so far, the point farthest from the start. */
typedef struct spy {
    size_t n, m, asked;
    double a[PLANES][MOST], b[PLANES], decay;
    double minimum; /* of J */
    double start[MOST];
    double longest, steepest, farthest;
} spy;

static double height(const spy *s, size_t j, const double *x)
{
    double sum = s->b[j];
    for (size_t i = 0; i < s->n; i++) {
        sum += s->a[j][i] * x[i];
    }
    return sum;
}

static submod_status tell(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    spy *s = ctx;
    size_t at = 0;
    double length = 0, slope = 0, distance = 0;
    ck_assert_uint_eq(batch, SUBMOD_FULL_BATCH);
    for (size_t j = 1; j < s->m; j++) {
        at = height(s, j, x) > height(s, at, x) ? j : at;
    }
    *value = height(s, at, x);
    for (size_t i = 0; i < s->n; i++) {
        g[i] = s->a[at][i];
        slope += g[i] * g[i];
        length += pow(g[i] + s->decay * x[i], 2);
        distance += pow(x[i] - s->start[i], 2);
    }
    s->longest = fmax(s->longest, sqrt(length));
    s->steepest = fmax(s->steepest, sqrt(slope));
    s->farthest = fmax(s->farthest, sqrt(distance));
    s->asked++;
    return SUBMOD_OK;
}

static submod_problem problem_of(spy *s)
{
    return (submod_problem){sizeof(submod_problem), .dimension = s->n, .ctx = s,
                            .subgradient = tell};
}

/* c is a minimiser of J, inside the ball: some planes are equal there, with weights that make their
 * slopes -decay c; the others are lower. */
static void make_known(spy *s, submod_rng *rng, size_t n, double decay, double radius)
{
    double c[MOST], length = 0, squares = 0;
    size_t active = 1 + submod_rng_below(rng, n + 1);
    *s = (spy){.n = n, .m = PLANES, .decay = decay};
    random_vector(rng, s->a[0], (size_t)PLANES * MOST, 0);
    random_vector(rng, c, n, 0);
    random_vector(rng, s->start, n, 0);
    for (size_t i = 0; i < n; i++) {
        length += c[i] * c[i];
    }
    for (size_t i = 0; i < n; i++) {
        c[i] *= 0.9 * radius * submod_rng_uniform(rng) / sqrt(length);
        c[i] += decay > 0 ? 0 : s->start[i];
        squares += c[i] * c[i];
    }
    for (size_t i = 0; i < n; i++) {
        double rest = -decay * c[i] * (double)active;
        for (size_t j = 1; j < active; j++) {
            rest -= s->a[j][i];
        }
        s->a[0][i] = rest;
    }
    for (size_t j = 0; j < PLANES; j++) {
        double lower = j < active ? 0 : -log(submod_rng_uniform(rng) + 1e-9);
        s->b[j] = 0;
        s->b[j] = 2 + fmin(lower, 0) - (j < active ? 0 : fabs(lower)) - height(s, j, c);
    }
    s->minimum = 2 + decay / 2 * squares;
}

/* max of x_1 .. x_n from 0: every answer is a coordinate not heard of before, as long as there is
 * one. Its minimum over the ball is -radius / sqrt n, with decay -1 / (2 decay n). */
static void make_resisting(spy *s, size_t n, double decay, double radius)
{
    *s = (spy){.n = n, .m = n, .decay = decay};
    for (size_t j = 0; j < n; j++) {
        s->a[j][j] = 1;
    }
    s->minimum = decay > 0 ? -1 / (2 * decay * (double)n) : -radius / sqrt((double)n);
}

static void forget(spy *s)
{
    s->longest = s->steepest = s->farthest = 0;
    s->asked = 0;
}

static submod_optim_info run_for(spy *s, size_t iterations, double radius, size_t max_planes)
{
    double x[MOST];
    submod_problem p = problem_of(s);
    submod_optim_info info;
    submod_level_bundle_settings t = submod_level_bundle_defaults();
    memcpy(x, s->start, sizeof x);
    forget(s);
    t.radius = radius;
    t.max_planes = max_planes;
    t.run.weight_decay = s->decay;
    t.run.max_iterations = iterations;
    t.run.tolerance = 0;
    submod_status status = submod_level_bundle(&p, x, &t, &info, NULL);
    ck_assert_msg(status >= 0, "%s", submod_last_error());
    ck_assert_uint_eq(s->asked, info.gradients);
    ck_assert_uint_eq(info.gradients, info.iterations + 1);
    ck_assert_uint_le(info.planes, max_planes);
    ck_assert_near(info.gap, info.f - info.lower_bound, 0);
    return info;
}

/* The bounds are on either side of the minimum, and the theorem holds. Returns how much of it was
 * reached. */
static double check(const spy *s, const submod_optim_info *info, double radius)
{
    double scale = 1 + fabs(s->minimum) + s->longest * (s->decay > 0 ? s->farthest : radius);
    ck_assert_msg(info->lower_bound <= s->minimum + 1e-12 * scale, "bound %.17g of %.17g",
                  info->lower_bound, s->minimum);
    ck_assert_msg(info->f >= s->minimum - 1e-12 * scale || s->decay == 0, "%.17g under %.17g",
                  info->f, s->minimum);
    ck_assert(s->decay > 0 || s->farthest <= 3 * radius * (1 + 1e-9));
    if (info->iterations == 0) {
        return 0;
    }
    double k = (double)info->iterations, L = s->longest;
    double bound = s->decay > 0 ? 49 * L * L / (s->decay * k) : sqrt(115. / 3 / k) * L * radius;
    ck_assert_msg(info->gap <= bound, "gap %g over %g after %g iterations", info->gap, bound, k);
    return info->gap / bound;
}

static const size_t counts[] = {0, 1, 2, 3, 5, 8, 13, 21, 34, 60, 150};
enum { COUNTS = sizeof counts / sizeof counts[0] };

START_TEST(rate_on_random_functions)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int trial = 0; trial < 60; trial++) {
        spy s;
        const double radius = trial % 2 ? 2 : 20;
        const size_t n = (size_t[]){1, 2, 5, 12, 30}[trial % 5];
        make_known(&s, &rng, n, trial % 3 ? 0 : pow(10, -(double)(trial % 4)), radius);
        for (size_t c = 0; c < COUNTS; c++) {
            submod_optim_info info = run_for(&s, counts[c], radius, trial % 4 == 3 ? 3 : 100);
            check(&s, &info, radius);
        }
    }
}
END_TEST

/* Where nothing better is possible: without the rate's 1/sqrt(k) the theorem would fail here. */
START_TEST(rate_on_a_resisting_function)
{
    double reached = 0;
    for (size_t max_planes = 3; max_planes <= 100; max_planes += 97) {
        for (size_t n = 2; n <= MOST; n += 19) {
            for (size_t c = 0; c < COUNTS; c++) {
                const double radius = 5;
                const size_t k = counts[c];
                spy s;
                make_resisting(&s, n, 0, radius);
                submod_optim_info info = run_for(&s, k, radius, max_planes);
                reached = fmax(reached, check(&s, &info, radius));
                /* Some coordinate was never heard of: f = 0 is the best. */
                ck_assert(info.iterations + 1 >= n || info.gap >= radius / sqrt((double)n));
                make_resisting(&s, n, 0.1, 0);
                info = run_for(&s, k, 0, max_planes);
                check(&s, &info, 0);
                ck_assert(info.iterations + 1 >= n || info.gap >= -s.minimum);
            }
        }
    }
    ck_assert_msg(reached > 0.15, "%g", reached);
}
END_TEST

/* In few dimensions the gap soon closes, as far as double precision goes; submod_bundle agrees. */
START_TEST(closes_the_gap)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (int trial = 0; trial < 60; trial++) {
        spy s;
        const double radius = 10;
        const size_t n = (size_t)(1 + trial % 6);
        double x[MOST], y[MOST];
        submod_optim_info info, other;
        make_known(&s, &rng, n, trial % 2 ? 0.3 : 0, radius);
        submod_problem p = problem_of(&s);
        submod_level_bundle_settings t = submod_level_bundle_defaults();
        submod_bundle_settings b = submod_bundle_defaults();
        memcpy(x, s.start, sizeof x);
        memcpy(y, s.start, sizeof y);
        t.radius = b.radius = radius;
        t.run.weight_decay = b.run.weight_decay = s.decay;
        t.run.tolerance = b.run.tolerance = trial % 3 ? 1e-6 : 1e-9;
        ck_assert_ok(submod_level_bundle(&p, x, &t, &info, NULL));
        ck_assert_int_eq(info.stop, SUBMOD_STOP_TARGET);
        ck_assert(info.gap <= t.run.tolerance && info.iterations < 50 * n);
        ck_assert_near(info.f, s.minimum, t.run.tolerance + 1e-12);
        ck_assert_ok(submod_bundle(&p, y, &b, &other, NULL));
        ck_assert_near(info.f, other.f, 2 * t.run.tolerance);
        /* Further than it can get: it ends by itself. */
        t.run.tolerance = 0;
        t.run.max_iterations = 100000;
        submod_status status = submod_level_bundle(&p, x, &t, &info, NULL);
        ck_assert(status == SUBMOD_OK || status == SUBMOD_INACCURATE);
        ck_assert_msg(info.gap <= 1e-10 * s.longest * radius, "%g", info.gap);
    }
}
END_TEST

/* From 0, where the first plane leaves a gap of |g|^2 / (2 decay). */
static void check_bmrm(spy *s, size_t iterations, double *reached)
{
    double x[MOST] = {0};
    submod_problem p = problem_of(s);
    submod_optim_info info;
    submod_bundle_settings b = submod_bundle_defaults();
    memset(s->start, 0, sizeof s->start);
    forget(s);
    b.bmrm = 1;
    b.run.weight_decay = s->decay;
    b.run.max_iterations = iterations;
    b.run.tolerance = 0;
    submod_status status = submod_bundle(&p, x, &b, &info, NULL);
    ck_assert_msg(status >= 0, "%s", submod_last_error());
    ck_assert_uint_eq(info.gradients, info.iterations + 1);
    double G = s->steepest, scale = 1 + fabs(s->minimum) + G * G / s->decay;
    double bound = 8 * G * G / (s->decay * (double)(info.iterations + 2));
    ck_assert(info.lower_bound <= s->minimum + 1e-12 * scale);
    ck_assert_msg(info.gap <= bound, "gap %g over %g after %zu iterations", info.gap, bound,
                  info.iterations);
    *reached = fmax(*reached, info.gap / bound);
}

START_TEST(rate_of_bmrm)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    double reached = 0;
    for (int trial = 0; trial < 30; trial++) {
        spy s;
        const size_t n = (size_t[]){1, 2, 5, 12, 30}[trial % 5];
        if (trial % 3) {
            make_known(&s, &rng, n, pow(10, -(double)(trial % 4)), 2);
        } else {
            make_resisting(&s, n, 0.1, 0);
        }
        for (size_t c = 0; c < COUNTS; c++) {
            check_bmrm(&s, counts[c], &reached);
        }
    }
    ck_assert_msg(reached > 0.12, "%g", reached); /* the first gap is 1/8 of it */
}
END_TEST

int main(void)
{
    return RUN_TESTS("bundle_rates", rate_on_random_functions, rate_on_a_resisting_function,
                     closes_the_gap, rate_of_bmrm);
}
