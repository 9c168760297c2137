/* Runs of the optimisers: what they return, when they stop, what they report, and what they do
 * about NaN. */
#include <math.h>
#include <string.h>

#include "descent.h"
#include "support.h"

/* f(x) = mean over k of weight_k/2 |x - target_k|^2, minibatch by minibatch; can be made to fail.
 */
enum { N = 3, BATCHES = 5 };
typedef struct quadratic {
    double target[BATCHES][N];
    size_t calls[BATCHES], full_calls;
    size_t order[64], drawn; /* the minibatches asked for, in turn */
    long fail_after;         /* calls of subgradient until `failure` comes; negative: never */
    submod_status failure;   /* SUBMOD_OK: NaN instead */
} quadratic;

static submod_status subgradient(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    quadratic *q = ctx;
    size_t first = batch == SUBMOD_FULL_BATCH ? 0 : batch;
    size_t last = batch == SUBMOD_FULL_BATCH ? BATCHES - 1 : batch;
    double share = 1 / (double)(last - first + 1);
    if (batch == SUBMOD_FULL_BATCH) {
        q->full_calls++;
    } else {
        q->calls[batch]++;
        q->order[q->drawn % 64] = batch;
        q->drawn++;
    }
    *value = 0;
    memset(g, 0, N * sizeof *g);
    for (size_t k = first; k <= last; k++) {
        for (size_t i = 0; i < N; i++) {
            double d = x[i] - q->target[k][i];
            *value += share * d * d / 2;
            g[i] += share * d;
        }
    }
    if (q->fail_after == 0) {
        g[1] = q->failure ? g[1] : NAN;
        return q->failure;
    }
    q->fail_after -= q->fail_after > 0;
    return SUBMOD_OK;
}

static submod_status metric(void *ctx, const double *x, double *result)
{
    (void)ctx;
    *result = 10 * x[0];
    return SUBMOD_OK;
}

static submod_problem make(quadratic *q, uint64_t seed)
{
    submod_rng rng;
    submod_rng_seed(&rng, seed);
    *q = (quadratic){.fail_after = -1};
    random_vector(&rng, &q->target[0][0], sizeof q->target / sizeof(double), 0);
    return (submod_problem){
        .dimension = N, .batches = BATCHES, .ctx = q, .subgradient = subgradient};
}

static double minimum(const quadratic *q, double *x)
{
    quadratic copy = *q;
    double g[N], value;
    memset(x, 0, N * sizeof *x);
    for (size_t k = 0; k < BATCHES; k++) {
        for (size_t i = 0; i < N; i++) {
            x[i] += q->target[k][i] / BATCHES;
        }
    }
    subgradient(&copy, SUBMOD_FULL_BATCH, x, &value, g);
    return value;
}

static int same(const double *x, const double *y)
{
    return x[0] == y[0] && x[1] == y[1] && x[2] == y[2];
}

START_TEST(gradient_descent_and_its_trace)
{
    quadratic q;
    submod_problem p = make(&q, 1);
    record r;
    submod_optim_info info;
    submod_descent_settings s = settings_of(0.25, &r);
    double x[N] = {1, 2, 3}, best[N], start[N] = {1, 2, 3};
    double f_star = minimum(&q, best);
    p.metric = metric;
    s.run.max_iterations = 20;
    ck_assert_ok(run(&p, x, &s, &info));
    ck_assert_int_eq(info.stop, SUBMOD_STOP_ITERATIONS);
    ck_assert_uint_eq(info.iterations, 20);
    ck_assert_uint_eq(r.count, 21);
    ck_assert_uint_eq(q.full_calls, 21);
    ck_assert_uint_eq(info.gradients, 21);
    for (size_t k = 0; k <= 20; k++) {
        double shrink = pow(0.75, (double)k), norm2 = 0;
        for (size_t i = 0; i < N; i++) {
            norm2 += shrink * shrink * (start[i] - best[i]) * (start[i] - best[i]);
        }
        ck_assert_uint_eq(r.lines[k].iteration, k);
        ck_assert_near(r.lines[k].f, f_star + norm2 / 2, 1e-13);
        ck_assert_near(r.lines[k].gradient_norm, sqrt(norm2), 1e-13);
        ck_assert_near(r.lines[k].step, k < 20 ? 0.25 : 0, 0);
        ck_assert_near(r.lines[k].metric, 10 * (best[0] + shrink * (start[0] - best[0])), 1e-12);
        ck_assert(r.lines[k].seconds >= (k ? r.lines[k - 1].seconds : 0));
    }
    ck_assert_near(info.f, r.lines[20].f, 0);
    ck_assert(info.lower_bound == -INFINITY && info.gap == INFINITY);
}
END_TEST

START_TEST(stopping)
{
    quadratic q;
    record r;
    submod_optim_info info;
    double best[N], x[N] = {0};
    submod_problem p = make(&q, 2);
    double f_star = minimum(&q, best);

    submod_descent_settings s = settings_of(0.5, &r);
    s.run.f_star = f_star;
    s.run.tolerance = 1e-3;
    ck_assert_ok(run(&p, x, &s, &info));
    ck_assert_int_eq(info.stop, SUBMOD_STOP_TARGET);
    ck_assert(info.f - f_star <= 1e-3 && r.lines[r.count - 2].f - f_star > 1e-3);

    s = settings_of(0.5, &r);
    s.run.gradient_tolerance = 1e-3;
    memset(x, 0, sizeof x);
    ck_assert_ok(run(&p, x, &s, &info));
    ck_assert_int_eq(info.stop, SUBMOD_STOP_GRADIENT);
    ck_assert(info.gradient_norm <= 1e-3 && r.lines[r.count - 2].gradient_norm > 1e-3);

    s.run.max_iterations = 2;
    memset(x, 0, sizeof x);
    ck_assert_int_eq(run(&p, x, &s, &info), SUBMOD_MAXITER);

    s = settings_of(0.5, &r);
    r.stop_at = 4;
    memset(x, 0, sizeof x);
    ck_assert_ok(run(&p, x, &s, &info));
    ck_assert_int_eq(info.stop, SUBMOD_STOP_CALLBACK);
    ck_assert_uint_eq(info.iterations, 4);

    s = settings_of(1e-9, &r);
    s.run.max_iterations = SIZE_MAX;
    s.run.time_limit = 0.02;
    s.run.trace_every = 0;
    ck_assert_int_eq(run(&p, x, &s, &info), SUBMOD_TIMELIMIT);
    ck_assert_int_eq(info.stop, SUBMOD_STOP_TIME);
    ck_assert(info.seconds >= 0.02 && r.count == 1 && !isnan(info.f));

    s = settings_of(1, &r);
    s.run.max_iterations = 0;
    double before[N];
    memcpy(before, x, sizeof x);
    ck_assert_ok(run(&p, x, &s, &info));
    ck_assert(info.iterations == 0 && same(before, x) && !isnan(info.f));
}
END_TEST

START_TEST(weight_decay_belongs_to_the_objective)
{
    quadratic q;
    record r;
    submod_optim_info info;
    double best[N], x[N] = {1, 1, 1};
    submod_problem p = make(&q, 3);
    minimum(&q, best);
    submod_descent_settings s = settings_of(0.5, &r);
    s.run.weight_decay = 0.5;
    ck_assert_ok(run(&p, x, &s, &info));
    double f = 0, g[N], norm2 = 0;
    subgradient(&q, SUBMOD_FULL_BATCH, x, &f, g);
    for (size_t i = 0; i < N; i++) {
        ck_assert_near(x[i], best[i] / 1.5, 1e-9);
        norm2 += x[i] * x[i];
    }
    ck_assert_near(info.f, f + norm2 / 4, 1e-14);
}
END_TEST

START_TEST(minibatches)
{
    quadratic q;
    record r;
    double x[N] = {0}, y[N] = {0};
    submod_problem p = make(&q, 4);
    submod_descent_settings s = settings_of(0.1, &r);
    s.run.max_iterations = 19; /* directions at 20 points */
    s.run.trace_every = 5;
    s.order = SUBMOD_BATCH_CYCLIC;
    ck_assert_ok(run(&p, x, &s, NULL));
    for (size_t k = 0; k < 20; k++) {
        ck_assert_uint_eq(q.order[k], k % BATCHES);
    }
    ck_assert_uint_eq(r.count, 5); /* 0, 5, 10, 15, 19 */
    ck_assert_uint_eq(q.full_calls, 5);
    ck_assert_near(r.lines[4].step, 0, 0);

    s.order = SUBMOD_BATCH_SHUFFLED;
    size_t first[20];
    for (int again = 0; again < 2; again++) {
        memset(again ? y : x, 0, sizeof x);
        q = (quadratic){.fail_after = -1};
        p = make(&q, 4);
        r.count = 0;
        ck_assert_ok(run(&p, again ? y : x, &s, NULL));
        for (size_t k = 0; k < BATCHES; k++) {
            ck_assert_uint_eq(q.calls[k], 4); /* each once an epoch */
        }
        int sorted = 1;
        for (size_t k = 0; k < 20; k++) {
            sorted = sorted && q.order[k] == k % BATCHES;
            ck_assert(!again || first[k] == q.order[k]);
            first[k] = q.order[k];
        }
        ck_assert(!sorted);
    }
    ck_assert(same(x, y));
}
END_TEST

/* A minibatch without gradient does not end the run. */
START_TEST(gradient_rule_is_for_full_batches)
{
    quadratic q;
    record r;
    submod_optim_info info;
    submod_problem p = make(&q, 5);
    submod_descent_settings s = settings_of(0.1, &r);
    double x[N];
    memcpy(x, q.target[0], sizeof x);
    s.order = SUBMOD_BATCH_CYCLIC;
    ck_assert_ok(run(&p, x, &s, &info));
    ck_assert_int_eq(info.stop, SUBMOD_STOP_ITERATIONS);
    ck_assert_near(r.lines[0].gradient_norm, 0, 0);
}
END_TEST

START_TEST(failures_keep_the_last_finite_point)
{
    for (int kind = 0; kind < 3; kind++) {
        quadratic q;
        record r;
        submod_optim_info info;
        submod_problem p = make(&q, 6);
        submod_descent_settings s = settings_of(0.5, &r);
        double x[N] = {3, 2, 1}, expected[N] = {3, 2, 1};
        s.run.max_iterations = 5;
        ck_assert_ok(run(&p, expected, &s, NULL));
        s.run.max_iterations = 100;
        q.fail_after = 6; /* at x_6; x_5 is the last good one */
        q.failure = kind == 0 ? SUBMOD_OK : kind == 1 ? SUBMOD_EUNSUPPORTED : SUBMOD_ENOMEM;
        r.count = 0;
        ck_assert_int_eq(run(&p, x, &s, &info), kind == 2 ? SUBMOD_ENOMEM : SUBMOD_ECALLBACK);
        ck_assert(kind == 2 || strstr(submod_last_error(), "iteration 6"));
        ck_assert_int_eq(info.stop, SUBMOD_STOP_FAILURE);
        ck_assert_uint_eq(info.iterations, 5);
        ck_assert(same(x, expected));
        ck_assert_near(info.f, r.lines[5].f, 0);
    }
}
END_TEST

/* x^4 with too long a step: the iterates explode. */
static submod_status quartic(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    (void)ctx;
    (void)batch;
    *value = x[0] * x[0] * x[0] * x[0];
    g[0] = 4 * x[0] * x[0] * x[0];
    return SUBMOD_OK;
}

START_TEST(divergence_is_noticed)
{
    submod_problem p = {.dimension = 1, .subgradient = quartic};
    record r;
    submod_optim_info info;
    for (int keep_best = 0; keep_best < 2; keep_best++) {
        submod_descent_settings s = settings_of(1, &r);
        double x = 2;
        s.run.keep_best = keep_best;
        submod_status status = run(&p, &x, &s, &info);
        ck_assert(status == SUBMOD_ECALLBACK || status == SUBMOD_ENUMERIC);
        ck_assert(isfinite(x) && isfinite(info.f));
        ck_assert_near(x, keep_best ? 2 : x, 0);
        ck_assert_near(info.f, x * x * x * x, 0);
        ck_assert(keep_best || fabs(x) > 1e30);
    }
}
END_TEST

START_TEST(bad_runs)
{
    quadratic q;
    record r;
    submod_problem p = make(&q, 8), broken;
    submod_step *step = NULL, *wrong = NULL;
    submod_optim_info info = {.iterations = 77};
    double x[N] = {1, 2, 3};
    ck_assert_ok(submod_step_gd(N, &step));
    ck_assert_ok(submod_step_gd(N + 1, &wrong));
    const submod_descent_settings good = settings_of(0.1, &r);
    submod_descent_settings s = good;
    ck_assert_int_eq(submod_descend(NULL, step, x, &s, &info, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_descend(&p, NULL, x, &s, &info, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_descend(&p, step, NULL, &s, &info, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_descend(&p, step, x, NULL, &info, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_descend(&p, wrong, x, &s, &info, NULL), SUBMOD_EINVAL);
    broken = p;
    broken.subgradient = NULL;
    ck_assert_int_eq(submod_descend(&broken, step, x, &s, &info, NULL), SUBMOD_EINVAL);
    broken = p;
    broken.dimension = 0;
    ck_assert_int_eq(submod_descend(&broken, step, x, &s, &info, NULL), SUBMOD_EINVAL);
    s.direction = SUBMOD_DIRECTION_PROX; /* which the problem does not have */
    ck_assert_int_eq(submod_descend(&p, step, x, &s, &info, NULL), SUBMOD_EINVAL);
    s = good;
    s.direction = (submod_direction)9;
    ck_assert_int_eq(submod_descend(&p, step, x, &s, &info, NULL), SUBMOD_EINVAL);
    ck_assert_ptr_nonnull(strstr(submod_last_error(), "direction = 9"));
    s = good;
    s.schedule.eta = 0;
    ck_assert_int_eq(submod_descend(&p, step, x, &s, &info, NULL), SUBMOD_EINVAL);
    double *numbers[] = {&s.run.time_limit, &s.run.tolerance, &s.run.gradient_tolerance,
                         &s.run.weight_decay};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        s = good;
        *numbers[i] = -1;
        ck_assert_int_eq(submod_descend(&p, step, x, &s, &info, NULL), SUBMOD_EINVAL);
        ck_assert_ptr_nonnull(strstr(submod_last_error(), "= -1 must be >= 0"));
        *numbers[i] = NAN;
        ck_assert_int_eq(submod_descend(&p, step, x, &s, &info, NULL), SUBMOD_ENONFINITE);
    }
    s = good;
    s.run.f_star = INFINITY;
    ck_assert_int_eq(submod_descend(&p, step, x, &s, &info, NULL), SUBMOD_EINVAL);
    ck_assert(info.iterations == 77 && x[0] == 1 && q.full_calls == 0);
    x[2] = NAN;
    ck_assert_int_eq(submod_descend(&p, step, x, &good, &info, NULL), SUBMOD_ENONFINITE);
    ck_assert(info.iterations == 77 && r.count == 0);
    submod_step_free(step);
    submod_step_free(wrong);
}
END_TEST

/* Large numbers are no reason to pass over a NaN, or to lose a direction. */
START_TEST(numbers_whose_squares_are_out_of_range)
{
    submod_problem p;
    submod_optim_info info;
    record r;
    submod_descent_settings s = settings_of(1, &r);
    double far[2] = {1e200, 1e200};
    ck_assert_ok(submod_problem_max_affine(2, 2, (double[]){1e200, -1e200, 0, 1}, NULL, &p));
    ck_assert_int_eq(run(&p, far, &s, &info), SUBMOD_ECALLBACK); /* Inf - Inf, then 1e200 */
    ck_assert(far[0] == 1e200 && info.stop == SUBMOD_STOP_FAILURE);
    submod_problem_clear(&p);
    for (int small = 0; small < 2; small++) { /* f = scale |x|: one step of Polyak's rule to 0 */
        double scale = small ? 1e-200 : 1e200, x = 3;
        s = settings_of(1, &r);
        s.schedule.kind = SUBMOD_SCHEDULE_POLYAK;
        s.run.f_star = 0;
        ck_assert_ok(submod_problem_max_affine(2, 1, (double[]){scale, -scale}, NULL, &p));
        ck_assert_ok(run(&p, &x, &s, &info));
        ck_assert(info.iterations == 1 && fabs(x) < 1e-15);
        ck_assert_near(r.lines[0].gradient_norm / scale, 1, 1e-15);
        submod_problem_clear(&p);
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("optim", gradient_descent_and_its_trace, stopping,
                     weight_decay_belongs_to_the_objective, minibatches,
                     gradient_rule_is_for_full_batches, failures_keep_the_last_finite_point,
                     divergence_is_noticed, numbers_whose_squares_are_out_of_range, bad_runs);
}
