/* The level bundle method: special cases, refusals, failures, extreme sizes. Its theorem is in
 * test_bundle_rates.c. */
#include <math.h>

#include "support.h"

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
    ck_assert(info.f == 5 && info.gap <= 1e-14 && info.iterations == 0 && x[0] == 1 && x[1] == 2);
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
    return RUN_TESTS("level_bundle", special_cases, bad_arguments_and_answers, extreme_sizes);
}
