/* The theorem of BMRM (optim.h): its gap, on random functions whose minimum is known and on those
 * that reveal as little as they can; and the inequality that the theorem is made of, which is met
 * with equality there. */
#include <math.h>
#include <stdbool.h>

#include "support.h"

enum { SMALL = 40, MOST = 160, PLANES = 60, ASKED = 64 };

/* f(x) = max over j of <a_j, x> + b_j, of which the first that is highest is told; and the longest
 * subgradient of f so far. */
typedef struct spy {
    size_t n, m, asked;
    bool resisting; /* a_j is the j-th axis, b_j = 0 */
    double a[PLANES][SMALL], b[PLANES], decay;
    double minimum; /* of J */
    double steepest;
    struct {
        double value, length;
    } seen[ASKED]; /* J at the first points, and the length of its subgradient */
} spy;

static double height(const spy *s, size_t j, const double *x)
{
    if (s->resisting) {
        return x[j];
    }
    double sum = s->b[j];
    for (size_t i = 0; i < s->n; i++) {
        sum += s->a[j][i] * x[i];
    }
    return sum;
}

/* J and its subgradient, from those of f. */
static void note(spy *s, const double *x, double value, const double *g)
{
    double squares = 0, length = 0;
    for (size_t i = 0; i < s->n; i++) {
        double here = g[i] + s->decay * x[i];
        squares += x[i] * x[i];
        length += here * here;
    }
    s->seen[s->asked].value = value + s->decay / 2 * squares;
    s->seen[s->asked].length = sqrt(length);
}

static submod_status tell(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    spy *s = ctx;
    size_t at = 0;
    double slope = 0;
    ck_assert_uint_eq(batch, SUBMOD_FULL_BATCH);
    for (size_t j = 1; j < s->m; j++) {
        at = height(s, j, x) > height(s, at, x) ? j : at;
    }
    *value = height(s, at, x);
    for (size_t i = 0; i < s->n; i++) {
        g[i] = s->resisting ? i == at : s->a[at][i];
        slope += g[i] * g[i];
    }
    s->steepest = fmax(s->steepest, sqrt(slope));
    if (s->asked < ASKED && s->n <= SMALL) {
        note(s, x, *value, g);
    }
    s->asked++;
    return SUBMOD_OK;
}

static submod_problem problem_of(spy *s)
{
    return (submod_problem){.dimension = s->n, .ctx = s, .subgradient = tell};
}

/* c is a minimiser of J, within radius of 0: some planes are equal there, with weights that make
 * their slopes -decay c; the others are lower. */
static void make_known(spy *s, submod_rng *rng, size_t n, double decay, double radius)
{
    double c[SMALL], length = 0, squares = 0;
    size_t active = 1 + submod_rng_below(rng, n + 1);
    *s = (spy){.n = n, .m = PLANES, .decay = decay};
    random_vector(rng, s->a[0], (size_t)PLANES * SMALL, 0);
    random_vector(rng, c, n, 0);
    for (size_t i = 0; i < n; i++) {
        length += c[i] * c[i];
    }
    for (size_t i = 0; i < n; i++) {
        c[i] *= 0.9 * radius * submod_rng_uniform(rng) / sqrt(length);
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
 * one. The minimum with decay is -1 / (2 decay n). */
static void make_resisting(spy *s, size_t n, double decay)
{
    *s = (spy){.n = n, .m = n, .decay = decay, .resisting = true};
    s->minimum = -1 / (2 * decay * (double)n);
}

static submod_optim_info run_bmrm(spy *s, size_t iterations)
{
    double x[MOST] = {0};
    submod_problem p = problem_of(s);
    submod_optim_info info;
    submod_bundle_settings b = submod_bundle_defaults();
    s->steepest = 0;
    s->asked = 0;
    b.bmrm = 1;
    b.run.weight_decay = s->decay;
    b.run.max_iterations = iterations;
    b.run.tolerance = 0;
    submod_status status = submod_bundle(&p, x, &b, &info, NULL);
    ck_assert_msg(status >= 0, "%s", submod_last_error());
    ck_assert_uint_eq(info.gradients, info.iterations + 1);
    return info;
}

/* From 0, where the first plane leaves a gap of |g|^2 / (2 decay): an eighth of what the theorem
 * allows then. And the step that it is made of: with the new point w, where the old planes had
 * their minimum,
 *     bound' >= bound + c/2 min(1, decay c / |g|^2),   c = J(w) - bound, g a subgradient of J at w.
 * *reached, *step: how much of both is met. */
static void check_bmrm(spy *s, size_t iterations, double *reached, double *step)
{
    double last = NAN;
    for (size_t k = 0; k <= iterations; k++) {
        submod_optim_info info = run_bmrm(s, k);
        double G = s->steepest, scale = 1 + fabs(s->minimum) + G * G / s->decay;
        double bound = 8 * G * G / (s->decay * (double)(info.iterations + 2));
        ck_assert(info.lower_bound <= s->minimum + 1e-12 * scale);
        ck_assert_msg(info.gap <= bound, "gap %g over %g after %zu iterations", info.gap, bound,
                      info.iterations);
        if (info.iterations < k || info.gap < 1e-9 * scale) {
            break; /* the rest is rounding */
        }
        if (k > 0) {
            double c = s->seen[k].value - last, g = s->seen[k].length;
            double rise = c / 2 * fmin(1, s->decay * c / (g * g));
            ck_assert_msg(info.lower_bound - last >= rise - 1e-10 * scale, "%g of %g after %zu",
                          info.lower_bound - last, rise, k);
            *reached = fmax(*reached, info.gap / bound);
            *step = fmax(*step, rise / (info.lower_bound - last));
        }
        last = info.lower_bound;
    }
}

START_TEST(rate_of_bmrm)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    double reached = 0, step = 0;
    for (int trial = 0; trial < 30; trial++) {
        spy s;
        const size_t n = (size_t[]){1, 2, 5, 12, 30}[trial % 5];
        if (trial % 3) {
            make_known(&s, &rng, n, pow(10, -(double)(trial % 4)), 2);
        } else {
            make_resisting(&s, n, 0.1);
        }
        check_bmrm(&s, ASKED - 1, &reached, &step);
    }
    /* Of the theorem no more can be reached with steps that gain what they must and no more. */
    ck_assert_msg(reached > 0.05 && step > 0.99, "%g %g", reached, step);
}
END_TEST

/* The first gap is at most G^2 / (2 decay): the theorem promises more from k = 15 on. */
START_TEST(rate_of_bmrm_after_many_iterations)
{
    spy s;
    double reached = 0;
    make_resisting(&s, 160, 0.1);
    for (size_t k = 50; k < 150; k += 33) {
        submod_optim_info info = run_bmrm(&s, k);
        double bound = 8 / (s.decay * (double)(k + 2));
        ck_assert(info.iterations == k && info.gap <= bound && bound < 1 / (2 * s.decay) / 3);
        ck_assert(info.lower_bound <= s.minimum && info.gap >= -s.minimum);
        reached = fmax(reached, info.gap / bound);
    }
    ck_assert_msg(reached > 0.05, "%g", reached);
}
END_TEST

int main(void)
{
    return RUN_TESTS("bundle_rates", rate_of_bmrm, rate_of_bmrm_after_many_iterations);
}
