/* Step rules against slow re-implementations on random gradients; schedules against their formulas;
 * bad settings. */
#include <math.h>

#include "support.h"

enum { N = 7, STEPS = 60 };

/* The history of gradients from which the slow rules start again at every step. */
typedef struct history {
    double g[STEPS][N], eta[STEPS];
    size_t count;
} history;

/* v = sum over past gradients of alpha^age g: momentum without recursion. */
static double velocity(const history *h, size_t until, size_t i, double alpha)
{
    double v = 0;
    for (size_t k = 0; k < until; k++) {
        v += pow(alpha, (double)(until - 1 - k)) * h->g[k][i];
    }
    return v;
}

static double slow_gd(const history *h, size_t i, double x)
{
    for (size_t k = 0; k < h->count; k++) {
        x -= h->eta[k] * h->g[k][i];
    }
    return x;
}

static double slow_momentum(const history *h, size_t i, double x)
{
    for (size_t k = 0; k < h->count; k++) {
        x -= h->eta[k] * velocity(h, k + 1, i, 0.9);
    }
    return x;
}

static double slow_nesterov(const history *h, size_t i, double x)
{
    for (size_t k = 0; k < h->count; k++) {
        x -= h->eta[k] * (h->g[k][i] + 0.8 * velocity(h, k + 1, i, 0.8));
    }
    return x;
}

static double slow_adam(const history *h, size_t i, double x, double decay)
{
    const double b1 = 0.7, b2 = 0.95;
    for (size_t k = 0; k < h->count; k++) {
        /* Unbiased means: weights b^age, divided by the sum of the weights. */
        double m = 0, v = 0, sum1 = 0, sum2 = 0;
        for (size_t j = 0; j <= k; j++) {
            double w1 = pow(b1, (double)(k - j));
            double w2 = pow(b2, (double)(k - j));
            m += w1 * h->g[j][i];
            v += w2 * h->g[j][i] * h->g[j][i];
            sum1 += w1;
            sum2 += w2;
        }
        x -= h->eta[k] * decay * x;
        x -= h->eta[k] * (m / sum1) / (sqrt(v / sum2) + 1e-3);
    }
    return x;
}

static double slow_adam_plain(const history *h, size_t i, double x)
{
    return slow_adam(h, i, x, 0);
}

static double slow_adamw(const history *h, size_t i, double x)
{
    return slow_adam(h, i, x, 0.1);
}

/* The sum of g_i^2 up to gradient `until`. */
static double squares(const history *h, size_t until, size_t i)
{
    double sum = 0;
    for (size_t k = 0; k <= until; k++) {
        sum += h->g[k][i] * h->g[k][i];
    }
    return sum;
}

static double slow_adagrad(const history *h, size_t i, double x)
{
    for (size_t k = 0; k < h->count; k++) {
        x -= h->eta[k] * h->g[k][i] / (sqrt(squares(h, k, i)) + 0.25);
    }
    return x;
}

static submod_status make_adagrad(size_t n, submod_step **step)
{
    return submod_step_adagrad(n, 0.25, step);
}

static submod_status make_momentum(size_t n, submod_step **step)
{
    return submod_step_momentum(n, 0.9, step);
}

static submod_status make_nesterov(size_t n, submod_step **step)
{
    return submod_step_nesterov(n, 0.8, step);
}

static submod_adam_settings slow_settings(void)
{
    submod_adam_settings s = submod_adam_defaults();
    s.beta1 = 0.7;
    s.beta2 = 0.95;
    s.epsilon = 1e-3;
    return s;
}

static submod_status make_adam(size_t n, submod_step **step)
{
    submod_adam_settings s = slow_settings();
    return submod_step_adam(n, step, &s);
}

static submod_status make_adamw(size_t n, submod_step **step)
{
    submod_adam_settings s = slow_settings();
    s.decay = 0.1;
    return submod_step_adam(n, step, &s);
}

static const struct {
    submod_status (*make)(size_t n, submod_step **step);
    double (*slow)(const history *h, size_t i, double x);
} rules[] = {{submod_step_gd, slow_gd},      {make_momentum, slow_momentum},
             {make_nesterov, slow_nesterov}, {make_adam, slow_adam_plain},
             {make_adamw, slow_adamw},       {make_adagrad, slow_adagrad}};
enum { RULES = sizeof rules / sizeof rules[0] };

START_TEST(rules_do_as_defined)
{
    submod_rng rng;
    submod_rng_seed(&rng, 7);
    for (size_t r = 0; r < RULES; r++) {
        submod_step *step = NULL;
        ck_assert_ok(rules[r].make(N, &step));
        /* The second round starts from a reset. */
        for (int round = 0; round < 2; round++) {
            history h = {.count = 0};
            double start[N], x[N];
            random_vector(&rng, start, N, 0);
            for (size_t i = 0; i < N; i++) {
                x[i] = start[i];
            }
            while (h.count < STEPS) {
                size_t k = h.count++;
                random_vector(&rng, h.g[k], N, round);
                h.eta[k] = 0.01 + submod_rng_uniform(&rng);
                ck_assert_ok(submod_step_apply(step, h.eta[k], h.g[k], x));
                for (size_t i = 0; i < N; i++) {
                    ck_assert_near(x[i], rules[r].slow(&h, i, start[i]), 1e-10 * (double)STEPS);
                }
            }
            submod_step_reset(step);
        }
        submod_step_free(step);
    }
}
END_TEST

/* Nesterov's own two sequences, with the gradient of a quadratic at the point looked ahead to. */
START_TEST(nesterov_looks_ahead)
{
    const double alpha = 0.9, eta = 0.05, curvature = 3;
    double x = 2, y = 2, v = 0;
    submod_step *step = NULL;
    ck_assert_ok(submod_step_nesterov(1, alpha, &step));
    for (int k = 0; k < 50; k++) {
        double g = curvature * x;
        ck_assert_ok(submod_step_apply(step, eta, &g, &x));
        v = alpha * v + curvature * (y - eta * alpha * v);
        y -= eta * v;
        ck_assert_near(x, y - eta * alpha * v, 1e-12);
    }
    submod_step_free(step);
}
END_TEST

START_TEST(zero_coefficients_are_gradient_descent)
{
    double g[2] = {1, -2}, x[2] = {3, 4}, y[2] = {3, 4};
    submod_step *a = NULL, *b = NULL;
    ck_assert_ok(submod_step_momentum(2, 0, &a));
    ck_assert_ok(submod_step_nesterov(2, 0, &b));
    for (int k = 0; k < 3; k++) {
        ck_assert_ok(submod_step_apply(a, 0.5, g, x));
        ck_assert_ok(submod_step_apply(b, 0.5, g, y));
    }
    ck_assert(x[0] == 1.5 && x[1] == 7 && y[0] == 1.5 && y[1] == 7);
    submod_step_free(a);
    submod_step_free(b);
}
END_TEST

START_TEST(bad_steps)
{
    submod_step *step = NULL;
    const double bad[] = {1, 1.5, -0.1, NAN, INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_int_eq(submod_step_momentum(2, bad[i], &step), SUBMOD_EINVAL);
        ck_assert_int_eq(submod_step_nesterov(2, bad[i], &step), SUBMOD_EINVAL);
        submod_adam_settings s = submod_adam_defaults();
        s.beta1 = bad[i];
        ck_assert_int_eq(submod_step_adam(2, &step, &s), SUBMOD_EINVAL);
        s = submod_adam_defaults();
        s.beta2 = bad[i];
        ck_assert_int_eq(submod_step_adam(2, &step, &s), SUBMOD_EINVAL);
    }
    submod_adam_settings s = submod_adam_defaults();
    s.epsilon = 0;
    ck_assert_int_eq(submod_step_adam(2, &step, &s), SUBMOD_EINVAL);
    s = submod_adam_defaults();
    s.decay = -1;
    ck_assert_int_eq(submod_step_adam(2, &step, &s), SUBMOD_EINVAL);
    const double no_offset[] = {-1, NAN, INFINITY};
    for (size_t i = 0; i < sizeof no_offset / sizeof no_offset[0]; i++) {
        assert_error(submod_step_adagrad(2, no_offset[i], &step), SUBMOD_EINVAL, "epsilon = ");
    }
    ck_assert_int_eq(submod_step_gd(0, &step), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_step_gd(2, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_step_gd(SIZE_MAX / 4, &step), SUBMOD_ENOMEM);
    ck_assert_ptr_null(step);
    submod_step_reset(NULL);
    submod_step_free(NULL);
}
END_TEST

START_TEST(bad_applications)
{
    submod_step *step = NULL;
    double g[2] = {1, 1}, x[2] = {5, 6};
    ck_assert_ok(submod_step_momentum(2, 0.5, &step));
    ck_assert_int_eq(submod_step_apply(NULL, 1, g, x), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_step_apply(step, 1, NULL, x), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_step_apply(step, 1, g, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_step_apply(step, 0, g, x), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_step_apply(step, -1, g, x), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_step_apply(step, NAN, g, x), SUBMOD_ENONFINITE);
    ck_assert_int_eq(submod_step_apply(step, 1, (double[]){1, NAN}, x), SUBMOD_ENONFINITE);
    ck_assert_int_eq(submod_step_apply(step, 1, g, (double[]){1, INFINITY}), SUBMOD_ENONFINITE);
    ck_assert(x[0] == 5 && x[1] == 6);
    /* None of these left a trace in the rule. */
    ck_assert_ok(submod_step_apply(step, 1, g, x));
    ck_assert(x[0] == 4 && x[1] == 5);
    ck_assert_int_eq(submod_step_apply(step, 1e300, (double[]){1e300, 0}, x), SUBMOD_ENUMERIC);
    ck_assert(x[0] == 4 && x[1] == 5);
    submod_step_reset(step);
    ck_assert_ok(submod_step_apply(step, 1, g, x));
    ck_assert(x[0] == 3 && x[1] == 4);
    submod_step_free(step);
}
END_TEST

/* Finite gradients whose squares are not: to be told, not to stand still over. */
START_TEST(overflowing_squares_are_told)
{
    submod_step *steps[2] = {NULL};
    ck_assert_ok(submod_step_adam(2, &steps[0], NULL));
    ck_assert_ok(submod_step_adagrad(2, 0, &steps[1]));
    for (size_t i = 0; i < 2; i++) {
        double x[2] = {1, 2}, large[2] = {1e200, 1};
        ck_assert_int_eq(submod_step_apply(steps[i], 0.1, large, x), SUBMOD_ENUMERIC);
        ck_assert(x[0] == 1 && x[1] == 2);
        submod_step_free(steps[i]);
    }
}
END_TEST

/* Without epsilon, and while all gradients are 0, there is no scale; x stays. */
START_TEST(adagrad_without_gradients)
{
    double x[2] = {1, 2}, nothing[2] = {0, 0}, half[2] = {0, -3};
    submod_step *step = NULL;
    ck_assert_ok(submod_step_adagrad(2, 0, &step));
    ck_assert_ok(submod_step_apply(step, 0.5, nothing, x));
    ck_assert(x[0] == 1 && x[1] == 2);
    ck_assert_ok(submod_step_apply(step, 0.5, half, x));
    ck_assert(x[0] == 1 && x[1] == 2.5);
    submod_step_free(step);
}
END_TEST

START_TEST(schedules_follow_their_formulas)
{
    submod_schedule s = submod_schedule_constant(0.3);
    submod_schedule step = {SUBMOD_SCHEDULE_STEP, .eta = 0.3, .factor = 0.5, .period = 10};
    submod_schedule e = {SUBMOD_SCHEDULE_EXPONENTIAL, .eta = 0.3, .factor = 0.5, .period = 10};
    submod_schedule poly = {SUBMOD_SCHEDULE_POLY, .eta = 0.3, .period = 100};
    submod_schedule square = {SUBMOD_SCHEDULE_POLY, .eta = 0.3, .period = 100, .power = 2};
    submod_schedule root = {SUBMOD_SCHEDULE_INVERSE_SQRT, .eta = 0.3};
    submod_schedule inverse = {SUBMOD_SCHEDULE_INVERSE, .eta = 0.3, .period = 2};
    double halving = 0.3;
    for (size_t k = 0; k < 100; k++) {
        double left = 1 - (double)k / 100;
        halving /= k > 0 && k % 10 == 0 ? 2 : 1;
        ck_assert_near(submod_schedule_eta(&s, k), 0.3, 0);
        ck_assert_near(submod_schedule_eta(&step, k), halving, 1e-16);
        ck_assert_near(submod_schedule_eta(&e, k), 0.3 * exp(-log(2) * (double)k / 10), 1e-15);
        ck_assert_near(submod_schedule_eta(&poly, k), 0.3 * exp(0.9 * log(left)), 1e-15);
        ck_assert_near(submod_schedule_eta(&square, k), 0.3 * left * left, 1e-15);
        ck_assert_near(submod_schedule_eta(&root, k), 0.3 / sqrt((double)k + 1), 1e-16);
        ck_assert_near(submod_schedule_eta(&inverse, k), 0.6 / (double)(k + 2), 1e-16);
    }
    ck_assert(submod_schedule_eta(&poly, 100) == 0 && submod_schedule_eta(&poly, SIZE_MAX) == 0);
    ck_assert(submod_schedule_eta(&step, SIZE_MAX) == 0);
}
END_TEST

START_TEST(bad_schedules)
{
    ck_assert_int_eq(submod_schedule_check(NULL), SUBMOD_EINVAL);
    ck_assert(isnan(submod_schedule_eta(NULL, 0)));
    const submod_schedule bad[] = {
        {.eta = 0},
        {.eta = -1},
        {.eta = 1, .kind = (submod_schedule_kind)17},
        {.eta = 1, .kind = SUBMOD_SCHEDULE_STEP},
        {.eta = 1, .kind = SUBMOD_SCHEDULE_EXPONENTIAL, .factor = 1.5},
        {.eta = 1, .kind = SUBMOD_SCHEDULE_POLY},
        {.eta = 1, .kind = SUBMOD_SCHEDULE_POLY, .period = 5, .power = -1},
        {.eta = 2, .kind = SUBMOD_SCHEDULE_POLYAK},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_int_eq(submod_schedule_check(&bad[i]), SUBMOD_EINVAL);
        ck_assert(isnan(submod_schedule_eta(&bad[i], 0)));
    }
    const submod_schedule nan = {.eta = NAN};
    ck_assert_int_eq(submod_schedule_check(&nan), SUBMOD_ENONFINITE);
    const submod_schedule inf = {
        .eta = 1, .kind = SUBMOD_SCHEDULE_POLY, .period = 5, .power = INFINITY};
    ck_assert_int_eq(submod_schedule_check(&inf), SUBMOD_ENONFINITE);
}
END_TEST

int main(void)
{
    return RUN_TESTS("step", rules_do_as_defined, nesterov_looks_ahead,
                     zero_coefficients_are_gradient_descent, bad_steps, bad_applications,
                     overflowing_squares_are_told, adagrad_without_gradients,
                     schedules_follow_their_formulas, bad_schedules);
}
