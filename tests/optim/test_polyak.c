/* Polyak's subgradient method, and keeping the best point of a method that does not always
 * descend. */
#include <math.h>

#include "descent.h"
#include "support.h"

START_TEST(keeping_the_best)
{
    /* |x| with constant steps ends up hopping; the best point is not the last. */
    const double a[2] = {1, -1};
    submod_problem p;
    record r;
    submod_optim_info info;
    ck_assert_ok(submod_problem_max_affine(2, 1, a, NULL, &p));
    submod_descent_settings s = settings_of(0.3, &r);
    double x = 1;
    s.run.keep_best = 1;
    s.run.max_iterations = 50;
    s.schedule.kind = SUBMOD_SCHEDULE_INVERSE_SQRT;
    ck_assert_ok(run(&p, &x, &s, &info));
    double best = INFINITY;
    for (size_t k = 0; k < r.count; k++) {
        best = fmin(best, r.lines[k].f);
    }
    ck_assert(best < r.lines[r.count - 1].f);
    ck_assert_near(info.f, best, 0);
    ck_assert_near(fabs(x), best, 0);
    submod_problem_clear(&p);
    submod_problem_clear(&p);
    submod_problem_clear(NULL);
}
END_TEST

/* Polyak's step does not move away from any minimiser. */
START_TEST(polyak)
{
    submod_rng rng;
    submod_rng_seed(&rng, 11);
    for (int trial = 0; trial < 30; trial++) {
        double a[12 * 4], x[4], zero[4] = {0};
        submod_problem p;
        record r;
        submod_optim_info info;
        random_vector(&rng, a, 48, 0);
        for (size_t i = 0; i < 4; i++) { /* planes in opposite pairs: 0 is a minimiser */
            for (size_t j = 6; j < 12; j++) {
                a[j * 4 + i] = -a[(j - 6) * 4 + i];
            }
        }
        random_vector(&rng, x, 4, 0);
        ck_assert_ok(submod_problem_max_affine(12, 4, a, NULL, &p));
        submod_descent_settings s = settings_of(1, &r);
        s.schedule.kind = SUBMOD_SCHEDULE_POLYAK;
        double distance = INFINITY;
        for (int k = 0; k < 1000; k++) {
            double now = 0;
            for (size_t i = 0; i < 4; i++) {
                now += (x[i] - zero[i]) * (x[i] - zero[i]);
            }
            ck_assert(now <= distance * (1 + 1e-12));
            distance = now;
            s.run.max_iterations = 1;
            s.run.f_star = 0;
            r.count = 0;
            submod_status status = run(&p, x, &s, &info);
            ck_assert(status == SUBMOD_MAXITER || status == SUBMOD_OK);
        }
        ck_assert(info.f < 1e-3);
        s.run.f_star = NAN;
        ck_assert_int_eq(run(&p, x, &s, NULL), SUBMOD_EINVAL);
        submod_problem_clear(&p);
    }
}
END_TEST

/* A step size that overflows ends the run, as a step that overflows does. */
START_TEST(polyak_with_a_slope_near_zero)
{
    submod_problem p;
    submod_optim_info info;
    record r;
    double x = 1;
    ck_assert_ok(submod_problem_max_affine(1, 1, (double[]){1e-200}, NULL, &p));
    submod_descent_settings s = settings_of(1, &r);
    s.schedule.kind = SUBMOD_SCHEDULE_POLYAK;
    s.run.f_star = -1;
    assert_error(run(&p, &x, &s, &info), SUBMOD_ENUMERIC, "step size");
    ck_assert(x == 1 && info.stop == SUBMOD_STOP_FAILURE && info.gap == INFINITY);
    submod_problem_clear(&p);
}
END_TEST

int main(void)
{
    return RUN_TESTS("polyak", keeping_the_best, polyak, polyak_with_a_slope_near_zero);
}
