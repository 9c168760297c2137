/* The level bundle method: the theorem of solvers.h at every iteration, on random functions whose
 * minimum is known and on those that tell as little as they can; and what every bound must be. */
#include <math.h>
#include <string.h>

#include "support.h"

enum { MOST = 40, PLANES = 60 };

/* f(x) = max over j of <a_j, x> + b_j, of which the first that is highest is told; and the longest
 * subgradient of J so far, the point farthest from the start. */
typedef struct spy {
    size_t n, m, asked;
    double a[PLANES][MOST], b[PLANES], decay;
    double minimum; /* of J */
    double start[MOST];
    double longest, farthest;
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
    double length = 0, distance = 0;
    ck_assert_uint_eq(batch, SUBMOD_FULL_BATCH);
    for (size_t j = 1; j < s->m; j++) {
        at = height(s, j, x) > height(s, at, x) ? j : at;
    }
    *value = height(s, at, x);
    for (size_t i = 0; i < s->n; i++) {
        g[i] = s->a[at][i];
        length += pow(g[i] + s->decay * x[i], 2);
        distance += pow(x[i] - s->start[i], 2);
    }
    s->longest = fmax(s->longest, sqrt(length));
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

static submod_optim_info run_for(spy *s, size_t iterations, double radius, size_t max_planes)
{
    double x[MOST];
    submod_problem p = problem_of(s);
    submod_optim_info info;
    submod_level_bundle_settings t = submod_level_bundle_defaults();
    memcpy(x, s->start, sizeof x);
    s->longest = s->farthest = 0;
    s->asked = 0;
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
            for (size_t k = 0; k < 3 * n; k++) {
                const double radius = 5;
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
    ck_assert_msg(reached > 0.16, "%g", reached);
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
        ck_assert_msg(info.gap <= 1e-8, "%g", info.gap);
    }
}
END_TEST

START_TEST(special_cases)
{
    submod_problem p;
    submod_optim_info info;
    submod_level_bundle_settings s = submod_level_bundle_defaults();
    double zero[4] = {0}, x[2] = {1, 2};
    s.radius = 10;
    /* Constant: known at once. */
    ck_assert_ok(submod_problem_max_affine(1, 2, zero, (double[]){5}, &p));
    ck_assert_ok(submod_level_bundle(&p, x, &s, &info, NULL));
    ck_assert(info.f == 5 && info.gap == 0 && info.iterations == 0 && x[0] == 1 && x[1] == 2);
    submod_problem_clear(&p);
    /* Unbounded: as good as all within the radius, or better. */
    ck_assert_ok(submod_problem_max_affine(1, 2, (double[]){3, 4}, NULL, &p));
    ck_assert_ok(submod_level_bundle(&p, x, &s, &info, NULL));
    ck_assert_near(info.lower_bound, 3 * 1 + 4 * 2 - 5 * 10, 1e-12);
    ck_assert(info.f <= info.lower_bound + 1e-6);
    ck_assert_near(3 * x[0] + 4 * x[1], info.f, 1e-12);
    submod_problem_clear(&p);
    /* A plateau: a zero subgradient is the end, with the bound it means. */
    double y[2] = {3, 2};
    ck_assert_ok(submod_problem_max_affine(3, 2, (double[]){0, 0, 1.3, 0, 0, 1}, NULL, &p));
    s.run.tolerance = 0;
    ck_assert_ok(submod_level_bundle(&p, y, &s, &info, NULL));
    ck_assert(info.f == 0 && info.lower_bound == 0);
    submod_problem_clear(&p);
}
END_TEST

/* Fails with NaN from the third call on. */
static submod_status failing(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    int *calls = ctx;
    (void)batch;
    *value = ++*calls > 3 ? NAN : x[0] * x[0];
    g[0] = 2 * x[0];
    return SUBMOD_OK;
}

static int count_lines(void *ctx, const submod_trace *line)
{
    ck_assert_uint_eq((*(size_t *)ctx)++, line->iteration);
    return line->iteration == 4;
}

START_TEST(bad_arguments_and_answers)
{
    int calls = 0;
    size_t lines = 0;
    double x = 5;
    submod_optim_info info = {.iterations = 77};
    submod_problem p = {sizeof p, .dimension = 1, .ctx = &calls, .subgradient = failing};
    submod_level_bundle_settings s = submod_level_bundle_defaults();
    assert_error(submod_level_bundle(&p, &x, &s, &info, NULL), SUBMOD_EINVAL, "radius");
    s.radius = 20;
    ck_assert_int_eq(submod_level_bundle(NULL, &x, &s, &info, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_level_bundle(&p, NULL, &s, &info, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_level_bundle(&p, &x, NULL, &info, NULL), SUBMOD_EINVAL);
    s.max_planes = 2;
    assert_error(submod_level_bundle(&p, &x, &s, &info, NULL), SUBMOD_EINVAL, "max_planes");
    s.max_planes = 3;
    s.radius = -1;
    assert_error(submod_level_bundle(&p, &x, &s, &info, NULL), SUBMOD_EINVAL, "radius");
    s.radius = INFINITY;
    ck_assert_int_eq(submod_level_bundle(&p, &x, &s, &info, NULL), SUBMOD_ENONFINITE);
    s.radius = 20;
    s.run.tolerance = NAN;
    ck_assert_int_eq(submod_level_bundle(&p, &x, &s, &info, NULL), SUBMOD_ENONFINITE);
    s.run.tolerance = 1e-12;
    x = NAN;
    ck_assert_int_eq(submod_level_bundle(&p, &x, &s, &info, NULL), SUBMOD_ENONFINITE);
    x = 5;
    ck_assert(info.iterations == 77 && calls == 0);
    ck_assert_int_eq(submod_level_bundle(&p, &x, &s, &info, NULL), SUBMOD_ECALLBACK);
    ck_assert_int_eq(info.stop, SUBMOD_STOP_FAILURE);
    ck_assert(info.f < 25 && info.f == x * x && info.lower_bound <= 0);
    calls = -100;
    s.run.max_iterations = 2;
    ck_assert_int_eq(submod_level_bundle(&p, &x, &s, &info, NULL), SUBMOD_MAXITER);
    ck_assert(info.iterations == 2 && calls == -97);
    x = 5;
    s.run.max_iterations = 50;
    s.run.trace = count_lines;
    s.run.trace_ctx = &lines;
    ck_assert_ok(submod_level_bundle(&p, &x, &s, &info, NULL));
    ck_assert(info.stop == SUBMOD_STOP_CALLBACK && lines == 5);
}
END_TEST

/* Squares that overflow, slopes that nearly vanish: an answer or an error, and a bound that holds.
 */
START_TEST(extreme_sizes)
{
    const double sizes[] = {1e-300, 1e-150, 1e-8, 1, 1e8, 1e150, 1e300};
    for (size_t i = 0; i < 7; i++) {
        for (size_t j = 0; j < 7; j++) {
            submod_problem p;
            submod_optim_info info;
            double x[2] = {sizes[j], -sizes[j]}, a = sizes[i];
            submod_level_bundle_settings s = submod_level_bundle_defaults();
            s.radius = 3 * sizes[j];
            s.run.tolerance = 1e-6 * sizes[i] * sizes[j];
            s.run.tolerance = isfinite(s.run.tolerance) ? s.run.tolerance : 0;
            s.run.max_iterations = 200;
            ck_assert_ok(
                submod_problem_max_affine(4, 2, (double[]){a, 0, -a, 0, 0, a, 0, -a}, NULL, &p));
            submod_status status = submod_level_bundle(&p, x, &s, &info, NULL);
            ck_assert(status >= 0 || status == SUBMOD_ENUMERIC || status == SUBMOD_ECALLBACK);
            ck_assert(isfinite(x[0]) && isfinite(x[1]) && info.lower_bound <= 0);
            ck_assert(i < 1 || i > 5 || j < 1 || j > 5 || status == SUBMOD_OK);
            submod_problem_clear(&p);
        }
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("level_bundle", rate_on_random_functions, rate_on_a_resisting_function,
                     closes_the_gap, special_cases, bad_arguments_and_answers, extreme_sizes);
}
