/* Rules that answer with another point than they move: averages against their definition, written
 * as sums over all past points; what a run reports of them. */
#include <math.h>
#include <string.h>

#include "descent.h"
#include "support.h"

enum { N = 5, STEPS = 40 };

/* ---- averages ---- */

/* The weights of polynomial-decay averaging by their ratio: w_(t+1) / w_t = (t + power) / t. */
static void slow_average(double points[][N], size_t count, double power, double *average)
{
    double weight = 1, sum = 0;
    memset(average, 0, N * sizeof *average);
    for (size_t t = 1; t <= count; t++) {
        for (size_t i = 0; i < N; i++) {
            average[i] += weight * points[t - 1][i];
        }
        sum += weight;
        weight *= ((double)t + power) / (double)t;
    }
    for (size_t i = 0; i < N; i++) {
        average[i] /= sum;
    }
}

/* Around every rule: the points are those of the rule alone, the answer is their average. */
static void check_averages(submod_step *alone, submod_step *inner, double power, submod_rng *rng)
{
    submod_step *step = NULL;
    double points[STEPS + 1][N], x[N], answer[N], expected[N];
    ck_assert_ok(submod_step_averaged(inner, power, &step));
    for (int round = 0; round < 2; round++) {
        random_vector(rng, points[0], N, 0);
        memcpy(x, points[0], sizeof x);
        ck_assert_ok(submod_step_answer(step, x, answer));
        ck_assert_mem_eq(answer, x, sizeof x);
        for (size_t k = 0; k < STEPS; k++) {
            double g[N], eta = 0.01 + submod_rng_uniform(rng);
            random_vector(rng, g, N, round);
            memcpy(points[k + 1], points[k], sizeof x);
            ck_assert_ok(submod_step_apply(alone, eta, g, points[k + 1]));
            ck_assert_ok(submod_step_apply(step, eta, g, x));
            ck_assert_mem_eq(x, points[k + 1], sizeof x);
            ck_assert_ok(submod_step_answer(step, x, answer));
            slow_average(points, k + 2, power, expected);
            for (size_t i = 0; i < N; i++) {
                ck_assert_near(answer[i], expected[i], 1e-11);
            }
        }
        submod_step_reset(step);
        submod_step_reset(alone);
    }
    submod_step_free(step);
    submod_step_free(alone);
}

START_TEST(averages_by_their_weights)
{
    const double powers[] = {0, 1, 2.5};
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    for (size_t p = 0; p < 3; p++) {
        submod_step *alone = NULL, *inner = NULL;
        ck_assert_ok(submod_step_gd(N, &alone));
        ck_assert_ok(submod_step_gd(N, &inner));
        check_averages(alone, inner, powers[p], &rng);
        ck_assert_ok(submod_step_adam(N, &alone, NULL));
        ck_assert_ok(submod_step_adam(N, &inner, NULL));
        check_averages(alone, inner, powers[p], &rng);
    }
}
END_TEST

/* ---- runs ---- */

typedef struct told {
    const submod_problem *problem;
    double x[STEPS + 1][2], f[STEPS + 1];
    size_t count;
} told;

static int listen(void *ctx, const submod_trace *line)
{
    told *t = ctx;
    double value = NAN;
    memcpy(t->x[t->count], line->x, 2 * sizeof(double));
    t->f[t->count++] = line->f;
    ck_assert_ok(t->problem->value(t->problem->ctx, line->x, &value));
    ck_assert(value == line->f);
    return 0;
}

/* The run tells of averages, keeps the best of them, and hands one back. */
START_TEST(runs_report_the_answer)
{
    const double a[6] = {1, 2, -1, 0.5, 0.25, -3};
    for (int keep = 0; keep < 2; keep++) {
        submod_problem p;
        submod_step *step = NULL;
        submod_optim_info info;
        double points[STEPS + 1][N] = {{0.7, -0.4}}, x[2] = {0.7, -0.4}, expected[N];
        ck_assert_ok(submod_problem_max_affine(3, 2, a, NULL, &p));
        told t = {.problem = &p};
        submod_descent_settings s = submod_descent_defaults();
        s.schedule = submod_schedule_constant(0.3);
        s.run.max_iterations = STEPS;
        s.run.trace = listen;
        s.run.trace_ctx = &t;
        s.run.keep_best = keep;
        ck_assert_ok(submod_step_gd(2, &step));
        ck_assert_ok(submod_step_averaged(step, 0, &step));
        ck_assert_ok(submod_descend(&p, step, x, &s, &info, NULL));
        ck_assert_uint_eq(t.count, STEPS + 1);
        ck_assert_uint_eq(info.gradients, STEPS + 1);
        ck_assert_uint_eq(info.values, STEPS); /* the first answer is the point itself */
        size_t best = STEPS;
        for (size_t k = 0; k <= STEPS; k++) {
            double value, g[2];
            slow_average(points, k + 1, 0, expected);
            ck_assert_near(t.x[k][0], expected[0], 1e-12);
            ck_assert_near(t.x[k][1], expected[1], 1e-12);
            ck_assert_ok(p.subgradient(p.ctx, SUBMOD_FULL_BATCH, points[k], &value, g));
            for (size_t i = 0; i < 2 && k < STEPS; i++) {
                points[k + 1][i] = points[k][i] - 0.3 * g[i];
            }
            best = keep && t.f[k] < t.f[best] ? k : best;
        }
        ck_assert_mem_eq(x, t.x[best], sizeof x);
        ck_assert(info.f == t.f[best]);
        submod_step_free(step);
        submod_problem_clear(&p);
    }
}
END_TEST

/* |x| from 1 with steps of 1/2: the gradient at 0 is 0, which says nothing about the average. */
START_TEST(a_zero_gradient_is_about_its_own_point)
{
    const double a[2] = {1, -1};
    submod_problem p;
    submod_step *step = NULL;
    submod_optim_info info;
    record r;
    double x = 1;
    ck_assert_ok(submod_problem_max_affine(2, 1, a, NULL, &p));
    ck_assert_ok(submod_step_gd(1, &step));
    ck_assert_ok(submod_step_averaged(step, 0, &step));
    submod_descent_settings s = settings_of(0.5, &r);
    ck_assert_ok(submod_descend(&p, step, &x, &s, &info, NULL));
    ck_assert_int_eq(info.stop, SUBMOD_STOP_GRADIENT);
    ck_assert(x == 0 && info.f == 0 && r.count == 3 && r.lines[1].f == 0.75);
    submod_step_free(step);
    submod_problem_clear(&p);
}
END_TEST

static submod_status fails_later(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    int *left = ctx;
    (void)batch;
    *value = *x;
    *g = 1;
    return (*left)-- > 0 ? SUBMOD_OK : SUBMOD_ENUMERIC;
}

/* The last good answer is handed back when a callback fails: the mean of 0, -1, -2. */
START_TEST(failures_leave_the_last_answer)
{
    int left =
        6; /* gradients and values of three iterations but the first's value, then one more */
    submod_problem p = {.dimension = 1, .ctx = &left, .subgradient = fails_later};
    submod_step *step = NULL;
    submod_optim_info info;
    record r;
    double x = 0;
    ck_assert_ok(submod_step_gd(1, &step));
    ck_assert_ok(submod_step_averaged(step, 0, &step));
    submod_descent_settings s = settings_of(1, &r);
    assert_error(submod_descend(&p, step, &x, &s, &info, NULL), SUBMOD_ECALLBACK, "iteration 3");
    ck_assert_near(x, -1, 1e-15);
    ck_assert(info.f == x && info.stop == SUBMOD_STOP_FAILURE);
    submod_step_free(step);
}
END_TEST

/* ---- refusals ---- */

START_TEST(bad_wrappers)
{
    submod_step *inner = NULL, *step = NULL;
    double x[2] = {1, 2}, answer[2] = {7, 7};
    ck_assert_ok(submod_step_gd(2, &inner));
    assert_error(submod_step_averaged(NULL, 0, &step), SUBMOD_EINVAL, "inner is NULL");
    assert_error(submod_step_averaged(inner, -1, &step), SUBMOD_EINVAL, "power = -1");
    assert_error(submod_step_averaged(inner, NAN, &step), SUBMOD_EINVAL, "power = nan");
    assert_error(submod_step_averaged(inner, INFINITY, &step), SUBMOD_EINVAL, "power = inf");
    assert_error(submod_step_averaged(inner, 0, NULL), SUBMOD_EINVAL, "step is NULL");
    assert_error(submod_step_answer(NULL, x, answer), SUBMOD_EINVAL, "step is NULL");
    assert_error(submod_step_answer(inner, NULL, answer), SUBMOD_EINVAL, "x is NULL");
    assert_error(submod_step_answer(inner, x, NULL), SUBMOD_EINVAL, "answer is NULL");
    ck_assert(answer[0] == 7 && answer[1] == 7);
    ck_assert_ptr_null(step);
    /* Still the caller's, and as before. */
    ck_assert_ok(submod_step_apply(inner, 1, (double[]){1, 1}, x));
    ck_assert_ok(submod_step_answer(inner, x, answer));
    ck_assert(answer[0] == 0 && answer[1] == 1);
    submod_step_free(inner);
}
END_TEST

int main(void)
{
    return RUN_TESTS("answers", averages_by_their_weights, runs_report_the_answer,
                     a_zero_gradient_is_about_its_own_point, failures_leave_the_last_answer,
                     bad_wrappers);
}
