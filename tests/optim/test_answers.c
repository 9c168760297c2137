/* Rules that answer with another point than they move: averages, schedule-free rules and restarts
 * against their definitions, written as sums over all past points; what a run reports of them. */
#include <math.h>
#include <stdbool.h>
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
        ck_assert_ok(submod_step_dual_averaging(N, &alone));
        ck_assert_ok(submod_step_dual_averaging(N, &inner));
        check_averages(alone, inner, powers[p], &rng);
    }
}
END_TEST

/* ---- schedule-free ---- */

typedef struct past {
    double g[STEPS][N], eta[STEPS], start[N];
    size_t count;
} past;

/* Adam's scale after gradient k, by sums. */
static double scale_of(const past *h, size_t k, size_t i, const submod_schedule_free_settings *s)
{
    double v = 0, sum = 0;
    for (size_t j = 0; j <= k; j++) {
        double weight = pow(s->beta2, (double)(k - j));
        v += weight * h->g[j][i] * h->g[j][i];
        sum += weight;
    }
    return sqrt(v / sum) + s->epsilon;
}

/* x and y of coordinate i after all steps: z by its steps, x anew from all z at each step. */
static void slow_schedule_free(const past *h, size_t i, bool adam,
                               const submod_schedule_free_settings *s, double *x, double *y)
{
    double z[STEPS], weights[STEPS], largest = 0, at = h->start[i];
    *y = at;
    for (size_t k = 0; k < h->count; k++) {
        double scale = adam ? scale_of(h, k, i, s) : 1;
        double sum = 0;
        at -= h->eta[k] * (h->g[k][i] / scale + s->decay * *y);
        largest = fmax(largest, h->eta[k]);
        z[k] = at;
        weights[k] = pow((double)(k + 1), s->power) * largest * largest;
        *x = 0;
        for (size_t j = 0; j <= k; j++) {
            *x += weights[j] * z[j];
            sum += weights[j];
        }
        *x /= sum;
        *y = (1 - s->beta) * at + s->beta * *x;
    }
}

static void check_schedule_free(bool adam, const submod_schedule_free_settings *s, submod_rng *rng)
{
    submod_step *step = NULL;
    ck_assert_ok(adam ? submod_step_schedule_free_adam(N, &step, s)
                      : submod_step_schedule_free_sgd(N, &step, s));
    for (int round = 0; round < 2; round++) {
        past h = {.count = 0};
        double y[N], answer[N];
        random_vector(rng, h.start, N, 0);
        memcpy(y, h.start, sizeof y);
        while (h.count < STEPS) {
            size_t k = h.count++;
            random_vector(rng, h.g[k], N, round);
            h.eta[k] = 0.01 + submod_rng_uniform(rng);
            ck_assert_ok(submod_step_apply(step, h.eta[k], h.g[k], y));
            ck_assert_ok(submod_step_answer(step, y, answer));
            for (size_t i = 0; i < N; i++) {
                double slow_x, slow_y;
                slow_schedule_free(&h, i, adam, s, &slow_x, &slow_y);
                ck_assert_near(y[i], slow_y, 1e-10);
                ck_assert_near(answer[i], slow_x, 1e-10);
            }
        }
        submod_step_reset(step);
    }
    submod_step_free(step);
}

START_TEST(schedule_free_by_its_definition)
{
    const submod_schedule_free_settings plain = submod_schedule_free_defaults();
    submod_schedule_free_settings s[4] = {plain, plain, plain, plain};
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    s[1].power = 1.5, s[1].decay = 0.1, s[1].beta = 0.3;
    s[2].beta = 0, s[2].beta2 = 0.9;
    s[3].beta = 1, s[3].epsilon = 0.1;
    for (size_t i = 0; i < 4; i++) {
        check_schedule_free(false, &s[i], &rng);
        check_schedule_free(true, &s[i], &rng);
    }
}
END_TEST

/* Neither squares of step sizes nor powers of t are ever formed. */
START_TEST(schedule_free_of_extreme_sizes)
{
    const double sizes[] = {1e-200, 1e200, 5e-324};
    submod_schedule_free_settings s = submod_schedule_free_defaults();
    s.power = 400;
    for (size_t i = 0; i < 3; i++) {
        submod_step *step = NULL;
        double x = 3, g = 1e-100, answer = NAN;
        ck_assert_ok(submod_step_schedule_free_sgd(1, &step, &s));
        for (int k = 0; k < 10; k++) {
            ck_assert_ok(submod_step_apply(step, sizes[i], &g, &x));
        }
        ck_assert_ok(submod_step_answer(step, &x, &answer));
        ck_assert_near(answer, i == 1 ? -1e101 : 3, i == 1 ? 1e87 : 1e-14);
        submod_step_free(step);
    }
}
END_TEST

/* ---- restarts ---- */

START_TEST(restarts_from_the_answer)
{
    enum { PERIOD = 7 };
    submod_rng rng;
    submod_step *stage = NULL, *inner = NULL, *step = NULL;
    double x[N], y[N], answer[N], expected[N];
    submod_rng_seed(&rng, 5);
    ck_assert_ok(submod_step_momentum(N, 0.8, &inner));
    ck_assert_ok(submod_step_averaged(inner, 1, &stage));
    ck_assert_ok(submod_step_momentum(N, 0.8, &inner));
    ck_assert_ok(submod_step_averaged(inner, 1, &inner));
    ck_assert_ok(submod_step_restarted(inner, PERIOD, &step));
    random_vector(&rng, x, N, 0);
    memcpy(y, x, sizeof y);
    for (size_t k = 0; k < STEPS; k++) {
        double g[N], eta = 0.01 + submod_rng_uniform(&rng);
        random_vector(&rng, g, N, 0);
        ck_assert_ok(submod_step_apply(step, eta, g, x));
        ck_assert_ok(submod_step_apply(stage, eta, g, y));
        if (k % PERIOD == PERIOD - 1) {
            ck_assert_ok(submod_step_answer(stage, y, y));
            submod_step_reset(stage);
        }
        ck_assert_mem_eq(x, y, sizeof x);
        ck_assert_ok(submod_step_answer(step, x, answer));
        ck_assert_ok(submod_step_answer(stage, y, expected));
        ck_assert_mem_eq(answer, expected, sizeof answer);
    }
    submod_step_free(step);
    submod_step_free(stage);
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
    submod_problem p = {
        .struct_size = sizeof p, .dimension = 1, .ctx = &left, .subgradient = fails_later};
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
    assert_error(submod_step_restarted(NULL, 1, &step), SUBMOD_EINVAL, "inner is NULL");
    assert_error(submod_step_restarted(inner, 0, &step), SUBMOD_EINVAL, "period must be > 0");
    assert_error(submod_step_restarted(inner, 1, NULL), SUBMOD_EINVAL, "step is NULL");
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

START_TEST(bad_schedule_free)
{
    const submod_schedule_free_settings good = submod_schedule_free_defaults();
    submod_schedule_free_settings bad[9] = {good, good, good, good, good, good, good, good, good};
    submod_step *step = NULL;
    bad[0].beta = -0.1, bad[1].beta = 1.1, bad[2].beta = NAN;
    bad[3].beta2 = 1, bad[4].power = -1, bad[5].power = INFINITY;
    bad[6].decay = -1, bad[7].decay = NAN, bad[8].epsilon = 0;
    for (size_t i = 0; i < 9; i++) {
        ck_assert_int_eq(submod_step_schedule_free_sgd(2, &step, &bad[i]), SUBMOD_EINVAL);
        ck_assert_int_eq(submod_step_schedule_free_adam(2, &step, &bad[i]), SUBMOD_EINVAL);
    }
    ck_assert_ptr_null(step);
}
END_TEST

int main(void)
{
    return RUN_TESTS("answers", averages_by_their_weights, schedule_free_by_its_definition,
                     schedule_free_of_extreme_sizes, restarts_from_the_answer,
                     runs_report_the_answer, a_zero_gradient_is_about_its_own_point,
                     failures_leave_the_last_answer, bad_wrappers, bad_schedule_free);
}
