/* Chambolle-Pock with steps and numbers that double precision can hardly hold: its
 * bounds and residuals never say more than was computed. */
#include <math.h>

#include "splitting.h"
#include "support.h"

enum { N = 3, PLANES = 10 };

/* |x - b|_1. The prox goes by x - b, so that it is rounded where x itself may be 0. */
static const double b[N] = {3, -2, 5};

static submod_status distance(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    (void)ctx;
    (void)batch;
    *value = 0;
    for (size_t i = 0; i < N; i++) {
        *value += fabs(x[i] - b[i]);
        g[i] = x[i] > b[i] ? 1 : x[i] < b[i] ? -1 : 0;
    }
    return SUBMOD_OK;
}

static submod_status nearer(void *ctx, size_t batch, const double *x, double lambda, double *u)
{
    (void)ctx;
    (void)batch;
    for (size_t i = 0; i < N; i++) {
        double apart = x[i] - b[i];
        u[i] = b[i] + copysign(fmax(fabs(apart) - 1 / lambda, 0), apart);
    }
    return SUBMOD_OK;
}

static double minimum(const submod_problem *f, const submod_map *map, const submod_problem *g,
                      double decay)
{
    double best[N];
    submod_problem whole;
    ck_assert_ok(submod_problem_composed(f, map, g, &whole));
    double found = bundle_minimum(&whole, decay, best);
    submod_problem_clear(&whole);
    return found;
}

/* Done, or a sentence about numbers that do not go together. */
static void assert_told(submod_status status)
{
    ck_assert_msg(status == SUBMOD_OK || status == SUBMOD_MAXITER || status == SUBMOD_ENUMERIC ||
                      status == SUBMOD_ECALLBACK || status == SUBMOD_EINVAL,
                  "%d: %s", (int)status, submod_last_error());
}

/* Where x - prox is lost in rounding, a bound or a residual that trusts it calls any point a
 * minimum. Runs end by the gap, then by the residuals. start: 0 or 1 in all entries.
 * Returns how many runs ended with a minimum. */
static int try_all_steps(const submod_problem *f, const submod_map *map, const submod_problem *g,
                         double decay, double start)
{
    double star = minimum(f, map, g, decay);
    int solved = 0;
    for (int power = -300; power <= 300; power += 20) {
        for (int by_residuals = 0; by_residuals < 2; by_residuals++) {
            double x[N] = {start, start, start};
            submod_split_settings s = submod_split_defaults();
            submod_optim_info info = {.lower_bound = -INFINITY};
            s.run.weight_decay = decay;
            s.radius = decay > 0 || by_residuals ? 0 : 1e3;
            s.run.gradient_tolerance = by_residuals ? 1e-9 : 0;
            s.run.tolerance = by_residuals ? 0 : 1e-6;
            s.run.max_iterations = 100;
            s.step = pow(10, power);
            submod_status status = submod_primal_dual(f, map, g, x, &s, &info, NULL);
            assert_told(status);
            ck_assert_msg(info.lower_bound <= star + 1e-8, "1e%d: %.12g > %.12g", power,
                          info.lower_bound, star);
            ck_assert_msg(status != SUBMOD_OK || info.f <= star + 1e-5, "1e%d: %g > %g", power,
                          info.f, star);
            solved += status == SUBMOD_OK;
        }
    }
    return solved;
}

START_TEST(no_step_proves_too_much)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    int solved = 0;
    for (int trial = 0; trial < 8; trial++) {
        double a[PLANES * N], heights[PLANES], matrix[N * N];
        random_vector(&rng, a, (size_t)PLANES / 2 * N, 0);
        for (size_t i = 0; i < (size_t)PLANES / 2 * N; i++) {
            a[PLANES / 2 * N + i] = -a[i];
        }
        random_vector(&rng, heights, PLANES, 0);
        random_vector(&rng, matrix, (size_t)N * N, 0);
        submod_problem planes, modulus = {.dimension = N, .subgradient = distance, .prox = nearer};
        ck_assert_ok(submod_problem_max_affine(PLANES, N, a, heights, &planes));
        submod_map map = {.rows = N, .columns = N, .matrix = matrix};
        double decay = trial % 4 < 2 ? 0.3 : 0, start = trial < 4 ? 0 : 1;
        solved += try_all_steps(&planes, &map, trial % 2 ? &modulus : NULL, decay, start);
        solved += try_all_steps(&modulus, &map, trial % 2 ? &planes : NULL, decay, start);
        submod_problem_clear(&planes);
    }
    ck_assert_int_gt(solved, 5);
}
END_TEST

/* A prox by an active set ends where rounding hides which planes are active: with steep planes and
 * a large matrix it is off by more than its last bits. No bound is above a value that was found. */
START_TEST(steep_planes_prove_no_more)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        double a[PLANES * N], heights[PLANES], matrix[N * N], bounds[2], best = INFINITY;
        submod_rng rng;
        submod_rng_seed(&rng, seed);
        random_vector(&rng, a, (size_t)PLANES * N, 0);
        random_vector(&rng, heights, PLANES, 0);
        random_vector(&rng, matrix, (size_t)N * N, 0);
        for (size_t i = 0; i < (size_t)PLANES * N; i++) {
            a[i] *= 1e4;
        }
        for (size_t i = 0; i < (size_t)N * N; i++) {
            matrix[i] *= seed % 2 ? 0.1 : 1e3;
        }
        submod_problem planes;
        ck_assert_ok(submod_problem_max_affine(PLANES, N, a, heights, &planes));
        submod_map map = {.rows = N, .columns = N, .matrix = matrix};
        for (int run = 0; run < 2; run++) {
            double x[N] = {0};
            submod_split_settings s = submod_split_defaults();
            submod_optim_info info;
            s.run.weight_decay = seed % 2 ? 1 : 100;
            s.run.tolerance = 0;
            s.run.max_iterations = 300;
            s.step = run ? 1e3 : 0;
            ck_assert_int_ge(submod_primal_dual(&planes, &map, NULL, x, &s, &info, NULL), 0);
            best = fmin(best, info.f);
            bounds[run] = info.lower_bound;
        }
        for (int run = 0; run < 2; run++) {
            ck_assert_msg(bounds[run] <= best + 1e-12 * fabs(best),
                          "seed %d, run %d: %.17g > %.17g", (int)seed, run, bounds[run], best);
        }
        submod_problem_clear(&planes);
    }
}
END_TEST

/* |x|, which insists on numbers that are finite. */
static submod_status strict(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    (void)ctx;
    (void)batch;
    ck_assert(isfinite(x[0]));
    *value = fabs(x[0]);
    g[0] = x[0] < 0 ? -1 : 1;
    return SUBMOD_OK;
}

static submod_status strict_prox(void *ctx, size_t batch, const double *x, double lambda, double *u)
{
    (void)ctx;
    (void)batch;
    ck_assert(isfinite(x[0]) && lambda > 0);
    u[0] = copysign(fmax(fabs(x[0]) - 1 / lambda, 0), x[0]);
    return SUBMOD_OK;
}

/* Products, subgradients and planes that overflow end in an error, before any callback sees them
 * or a bound is made of them. */
START_TEST(nothing_but_finite_numbers)
{
    const double sizes[] = {1e-300, 1e-160, 1, 1e160, 1e300};
    submod_problem f = {.dimension = 1, .subgradient = strict, .prox = strict_prox};
    int errors = 0;
    for (int trial = 0; trial < 5 * 5 * 5; trial++) {
        double x = sizes[trial % 5];
        submod_map map = {.rows = 1, .columns = 1, .matrix = &sizes[trial / 5 % 5]};
        submod_split_settings s = submod_split_defaults();
        submod_optim_info info = {.lower_bound = 0};
        s.step = sizes[trial / 25];
        s.radius = 2 * x;
        s.run.max_iterations = 20;
        submod_status status = submod_primal_dual(&f, &map, &f, &x, &s, &info, NULL);
        assert_told(status);
        ck_assert(isfinite(x) && info.lower_bound < INFINITY);
        errors += status < 0;
    }
    ck_assert_int_gt(errors, 10);
}
END_TEST

int main(void)
{
    return RUN_TESTS("split_extremes", no_step_proves_too_much, steep_planes_prove_no_more,
                     nothing_but_finite_numbers);
}
