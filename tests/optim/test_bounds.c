/* Tests bounds on the minimum at all scales, on problems whose minima are known exactly, from
 * starts up to 1e12 times too far away. No bound may exceed the minimum by a single bit. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "depth.h"
#include "minima.h"
#include "support.h"

static size_t draw(void *ctx, size_t k)
{
    return submod_rng_below(ctx, k);
}

/* 10^-most .. 10^most */
static double any_scale(submod_rng *rng, double most)
{
    return pow(10, most * (2 * submod_rng_uniform(rng) - 1));
}

static double any_power_of_two(submod_rng *rng, size_t most)
{
    return ldexp(1, (int)submod_rng_below(rng, 2 * most + 1) - (int)most);
}

static void any_start(submod_rng *rng, double scale, size_t n, double *x)
{
    random_vector(rng, x, n, 0);
    for (size_t i = 0; i < n; i++) {
        x[i] *= scale;
    }
}

/* Requires a bound that is right, and no contradiction. Returns 1 if the tolerance was met. */
static int check(submod_status status, const submod_optim_info *info, double tolerance,
                 long double minimum)
{
    ck_assert_msg(status == SUBMOD_OK || status == SUBMOD_MAXITER || status == SUBMOD_INACCURATE,
                  "%d: %s", (int)status, submod_last_error());
    ck_assert_ptr_null(strstr(submod_last_error(), "contradicts"));
    ck_assert_msg(info->lower_bound <= minimum, "bound %.17g is above the minimum %.21Lg",
                  info->lower_bound, minimum);
    ck_assert(info->gap >= 0 && info->gap == info->f - info->lower_bound);
    ck_assert(info->stop != SUBMOD_STOP_TARGET || info->gap <= tolerance);
    return info->stop == SUBMOD_STOP_TARGET;
}

static submod_status run_bundle(const submod_problem *p, double *x, double decay, double radius,
                                double tolerance, submod_optim_info *info)
{
    submod_bundle_settings s = submod_bundle_defaults();
    s.run.weight_decay = decay;
    s.run.max_iterations = 200;
    s.run.tolerance = tolerance;
    s.radius = radius;
    return submod_bundle(p, x, &s, info, NULL);
}

static submod_status run_bcfw(const submod_problem *p, double *x, double decay, double tolerance,
                              int average, submod_optim_info *info)
{
    submod_bcfw_settings s = submod_bcfw_defaults();
    s.run.weight_decay = decay;
    s.run.max_iterations = 100;
    s.run.tolerance = tolerance;
    s.average = average;
    return submod_bcfw(p, x, &s, info, NULL);
}

/* Minimises |x|_1 from far away. The minimum is 0; bounds used to be 3.7e-6, 7.7 and 62081 with
 * SUBMOD_OK. */
START_TEST(modulus_from_far_away)
{
    for (double far = 1e-12; far < 2e12; far *= 10) {
        separable f = {.n = 3, .w = {1, 1, 1}};
        submod_problem p = separable_problem(&f, false);
        submod_optim_info info;
        double x[] = {far, -0.7 * far, 0.3 * far}, y[] = {far, -0.7 * far, 0.3 * far};
        ck_assert_ok(run_bundle(&p, x, 10, 0, 1e-6, &info));
        check(SUBMOD_OK, &info, 1e-6, 0);
        ck_assert_ok(run_bcfw(&p, y, 10, 1e-6, 0, &info));
        check(SUBMOD_OK, &info, 1e-6, 0);
    }
}
END_TEST

static void any_separable(separable *f, submod_rng *rng, int trial)
{
    double weights = any_scale(rng, 4), places = any_scale(rng, 4);
    *f = (separable){.n = 1 + submod_rng_below(rng, MINIMA_SIZE)};
    f->batches = trial % 3 == 0 ? 1 + submod_rng_below(rng, f->n) : 0;
    f->height = trial % 5 == 0 ? weights * places * submod_rng_uniform(rng) : 0;
    for (size_t i = 0; i < f->n; i++) {
        f->w[i] = weights * submod_rng_uniform(rng);
        f->c[i] = trial % 2 ? 0 : places * submod_rng_normal(rng);
        f->q[i] = trial % 7 == 0 ? weights / places * submod_rng_uniform(rng) : 0;
        f->e[i] = places * submod_rng_normal(rng);
    }
}

START_TEST(separable_functions)
{
    submod_rng rng;
    int met = 0;
    submod_rng_seed(&rng, 1);
    for (int trial = 0; trial < repeats(6000); trial++) {
        separable f;
        submod_optim_info info;
        double x[MINIMA_SIZE], y[MINIMA_SIZE];
        long double slack;
        any_separable(&f, &rng, trial);
        double decay = any_scale(&rng, 3), scale = any_scale(&rng, 12);
        any_start(&rng, scale, f.n, x);
        any_start(&rng, scale, f.n, y);
        long double minimum = separable_minimum(&f, decay, &slack);
        double tolerance = trial % 4 ? 1e-6 * (double)minimum : 0;
        submod_problem p = separable_problem(&f, false);
        submod_status status = run_bundle(&p, x, decay, 0, tolerance, &info);
        met += check(status, &info, tolerance, minimum + slack);
        status = run_bcfw(&p, y, decay, tolerance, trial % 2, &info);
        met += check(status, &info, tolerance, minimum + slack);
    }
    ck_assert_int_gt(met, repeats(6000) / 4);
}
END_TEST

/* Without weight decay, the bound holds in the ball around the start. */
START_TEST(corners)
{
    submod_rng rng;
    int met = 0;
    submod_rng_seed(&rng, 2);
    for (int trial = 0; trial < repeats(6000); trial++) {
        corner t;
        submod_optim_info info;
        double x[MINIMA_SIZE], apart = 0;
        double decay = trial % 2 ? any_power_of_two(&rng, 10) : 0;
        corner_draw(&t, 1 + submod_rng_below(&rng, MINIMA_SIZE), any_power_of_two(&rng, 40),
                    any_power_of_two(&rng, 40), decay, draw, &rng);
        any_start(&rng, any_scale(&rng, 12), t.n, x);
        for (size_t i = 0; i < t.n; i++) {
            apart = hypot(apart, x[i] - t.best[i]);
        }
        submod_problem p = corner_problem(&t);
        long double minimum = corner_minimum(&t, decay);
        double tolerance = trial % 4 ? 1e-6 * (double)fabsl(minimum) : 0;
        double radius = decay > 0 ? 0 : apart * 1.01 + DBL_MIN;
        submod_status status = run_bundle(&p, x, decay, radius, tolerance, &info);
        met += check(status, &info, tolerance, minimum);
        any_start(&rng, any_scale(&rng, 12), t.n, x);
        if (decay > 0) {
            status = run_bcfw(&p, x, decay, tolerance, trial % 4 < 2, &info);
            met += check(status, &info, tolerance, minimum);
        }
    }
    ck_assert_int_gt(met, repeats(6000) / 4);
}
END_TEST

START_TEST(regressions)
{
    submod_rng rng;
    int met = 0;
    submod_rng_seed(&rng, 3);
    for (int trial = 0; trial < repeats(4000); trial++) {
        regression t;
        submod_optim_info info;
        double x[MINIMA_SIZE], decay = any_power_of_two(&rng, 20);
        regression_draw(&t, 1 + submod_rng_below(&rng, MINIMA_SIZE),
                        1 + submod_rng_below(&rng, MINIMA_SIZE), any_power_of_two(&rng, 40), decay,
                        draw, &rng);
        any_start(&rng, any_scale(&rng, 12), t.columns, x);
        submod_problem f = separable_problem(&t.f, false), g = separable_problem(&t.g, false);
        submod_map map = regression_map(&t);
        submod_split_settings s = submod_split_defaults();
        s.run.weight_decay = decay;
        s.run.max_iterations = 300;
        s.run.tolerance = trial % 4 ? 1e-3 * (double)t.minimum : 0;
        s.step = trial % 3 ? any_scale(&rng, 3) / decay : 0;
        s.average = trial % 2;
        submod_status status = submod_primal_dual(&f, &map, &g, x, &s, &info, NULL);
        met += check(status, &info, s.run.tolerance, t.minimum);
    }
    ck_assert_int_gt(met, repeats(4000) / 16);
}
END_TEST

/* 1000 + |x - c|_1 in single precision. */
static submod_status in_single_precision(void *ctx, size_t batch, const double *x, double *value,
                                         double *g)
{
    float sum = 0;
    (void)ctx;
    (void)batch;
    for (int i = 0; i < 3; i++) {
        float d = (float)(x[i] - 1.0 / 3 - i);
        sum += fabsf(d);
        g[i] = d > 0 ? 1 : -1;
    }
    *value = (double)(1000 + sum);
    return SUBMOD_OK;
}

static submod_status not_convex(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    (void)ctx;
    (void)batch;
    *value = 0;
    for (int i = 0; i < 3; i++) {
        *value += cos(3 * x[i]);
        g[i] = -3 * sin(3 * x[i]);
    }
    return SUBMOD_OK;
}

static void refute(submod_status status, const submod_optim_info *info)
{
    assert_error(status, SUBMOD_INACCURATE,
                 "the bound contradicts a value: the callback is less accurate than optim.h "
                 "requires, or f is not convex");
    ck_assert(info->stop == SUBMOD_STOP_STALLED && isfinite(info->lower_bound));
    ck_assert(info->gap >= 0 && info->gap == info->f - info->lower_bound);
}

/* Callbacks whose planes are above their values. The trace may see only the last point. */
START_TEST(contradictions)
{
    for (size_t every = 0; every < 2; every++) {
        submod_problem p = {.dimension = 3, .subgradient = in_single_precision};
        submod_bundle_settings b = submod_bundle_defaults();
        submod_bcfw_settings c = submod_bcfw_defaults();
        submod_optim_info info;
        double x[3] = {5, -7, 3}, y[3] = {5, -7, 3}, z[3] = {5, -7, 3};
        b.run.weight_decay = c.run.weight_decay = 0.01;
        b.run.tolerance = c.run.tolerance = 1e-9;
        b.run.trace_every = c.run.trace_every = every;
        refute(submod_bundle(&p, x, &b, &info, NULL), &info);
        refute(submod_bcfw(&p, y, &c, &info, NULL), &info);
        b.run.tolerance = 1e-2; /* above the rounding errors of the callback */
        ck_assert_ok(submod_bundle(&p, x, &b, &info, NULL));
        p.subgradient = not_convex;
        refute(submod_bcfw(&p, z, &c, &info, NULL), &info);
    }
}
END_TEST

/* f(A x) = |a x - a (1 + d) x - k|, where A's rows cancel: the planes' errors are larger than
 * optim.h allows, and bounds above the minimum would be common. */
START_TEST(rows_that_cancel)
{
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    int met = 0;
    for (int trial = 0; trial < repeats(1000); trial++) {
        double a = 1e6 * submod_rng_uniform(&rng), d = 1e-9 * submod_rng_uniform(&rng);
        double k = submod_rng_uniform(&rng), rows[2] = {a, -a * (1 + d)};
        const double planes[4] = {1, 1, -1, -1}, heights[2] = {-k, k};
        submod_problem f, p;
        submod_map map = {.rows = 2, .columns = 1, .matrix = rows};
        submod_optim_info info;
        double x = 1e9 * (2 * submod_rng_uniform(&rng) - 1), decay = 1e-12;
        long double slope = fabsl((long double)rows[0] + rows[1]), best = k / slope;
        best = decay * best <= slope ? best : slope / decay;
        long double minimum = k - slope * best + decay / 2.0L * best * best;
        ck_assert_ok(submod_problem_max_affine(2, 2, planes, heights, &f));
        ck_assert_ok(submod_problem_composed(&f, &map, NULL, &p));
        submod_status status = run_bundle(&p, &x, decay, 0, 1e-6 * (double)minimum, &info);
        ck_assert_int_ge(status, 0);
        met += status == SUBMOD_OK && info.lower_bound > minimum;
        submod_problem_clear(&p);
        submod_problem_clear(&f);
    }
    ck_assert_int_le(met, repeats(1000) / 50);
}
END_TEST

int main(void)
{
    return RUN_TESTS("bounds", modulus_from_far_away, separable_functions, corners, regressions,
                     contradictions, rows_that_cancel);
}
