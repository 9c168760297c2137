/* Max-affine problems, proximal directions, and the proposition of the paper's supplement. */
#include <math.h>
#include <string.h>

#include "support.h"

enum { M = 6, N = 3 };

typedef struct instance {
    double a[M * N], b[M], x[N];
    submod_problem problem;
} instance;

/* A random max-affine problem; coarse ones have many ties. */
static void make(instance *t, submod_rng *rng, int coarse)
{
    random_vector(rng, t->a, sizeof t->a / sizeof t->a[0], coarse);
    random_vector(rng, t->b, M, coarse);
    random_vector(rng, t->x, N, coarse);
    ck_assert_ok(submod_problem_max_affine(M, N, t->a, t->b, &t->problem));
}

static double value_at(const instance *t, const double *x)
{
    double highest = -INFINITY;
    for (size_t j = 0; j < M; j++) {
        double at = t->b[j];
        for (size_t i = 0; i < N; i++) {
            at += t->a[j * N + i] * x[i];
        }
        highest = fmax(highest, at);
    }
    return highest;
}

static double distance(const double *x, const double *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    }
    return sqrt(sum);
}

START_TEST(max_affine_values_and_subgradients)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int trial = 0; trial < 200; trial++) {
        instance t;
        double f, g[N], y[N], only;
        make(&t, &rng, trial % 2);
        ck_assert_ok(t.problem.subgradient(t.problem.ctx, SUBMOD_FULL_BATCH, t.x, &f, g));
        ck_assert_ok(t.problem.value(t.problem.ctx, t.x, &only));
        ck_assert_near(f, value_at(&t, t.x), 1e-14);
        ck_assert_near(f, only, 0);
        for (int k = 0; k < 20; k++) {
            random_vector(&rng, y, N, 0);
            double plane = f;
            for (size_t i = 0; i < N; i++) {
                plane += g[i] * (y[i] - t.x[i]);
            }
            ck_assert(plane <= value_at(&t, y) + 1e-13);
        }
        submod_problem_clear(&t.problem);
    }
    /* Ties: the mean of the planes, whatever their order. */
    submod_problem p;
    double f, g[2];
    ck_assert_ok(submod_problem_max_affine(3, 2, (double[]){0, 0, 2, 0, 0, 4}, NULL, &p));
    ck_assert_ok(p.subgradient(p.ctx, SUBMOD_FULL_BATCH, (double[]){2, 1}, &f, g));
    ck_assert(f == 4 && g[0] == 1 && g[1] == 2);
    submod_problem_clear(&p);
}
END_TEST

START_TEST(bad_max_affine)
{
    submod_problem p = {.dimension = 7};
    double a[2] = {1, 2}, nan[2] = {1, NAN};
    ck_assert_int_eq(submod_problem_max_affine(1, 2, NULL, a, &p), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_problem_max_affine(1, 2, a, a, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_problem_max_affine(0, 2, a, a, &p), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_problem_max_affine(2, 0, a, a, &p), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_problem_max_affine(1, 2, nan, a, &p), SUBMOD_ENONFINITE);
    ck_assert_int_eq(submod_problem_max_affine(2, 1, a, nan, &p), SUBMOD_ENONFINITE);
    ck_assert_int_eq(submod_problem_max_affine(SIZE_MAX / 2, 8, a, a, &p), SUBMOD_ENOMEM);
    ck_assert_uint_eq(p.dimension, 7);
}
END_TEST

/* One step of submod_descend from x. */
static void one_step(const submod_problem *p, submod_direction direction, double eta, double decay,
                     double *x)
{
    submod_step *step = NULL;
    submod_descent_settings s = submod_descent_defaults();
    s.schedule = submod_schedule_constant(eta);
    s.direction = direction;
    s.run.max_iterations = 1;
    s.run.weight_decay = decay;
    ck_assert_ok(submod_step_gd(p->dimension, &step));
    ck_assert_ok(submod_descend(p, step, x, &s, NULL, NULL));
    submod_step_free(step);
}

/* Far from every ridge the proximal direction is the gradient. */
START_TEST(prox_direction_on_a_linear_piece)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (int trial = 0; trial < 100; trial++) {
        double a[N], x[N], y[N], b = 0.5;
        submod_problem p;
        random_vector(&rng, a, N, 0);
        random_vector(&rng, x, N, 0);
        memcpy(y, x, sizeof y);
        ck_assert_ok(submod_problem_max_affine(1, N, a, &b, &p));
        one_step(&p, SUBMOD_DIRECTION_PROX, 0.7, 0, x);
        one_step(&p, SUBMOD_DIRECTION_SUBGRADIENT, 0.7, 0, y);
        ck_assert_near(distance(x, y, N), 0, 1e-14);
        submod_problem_clear(&p);
    }
}
END_TEST

/* The step lands on the minimiser of J(u) + |u - x|^2 / (2 eta): no other point is better. */
START_TEST(proximal_point_with_weight_decay)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    for (int trial = 0; trial < 200; trial++) {
        instance t;
        double u[N], y[N], eta = exp(submod_rng_normal(&rng)), decay = trial % 3 ? 0.3 : 0;
        const double zero[N] = {0};
        make(&t, &rng, trial % 2);
        memcpy(u, t.x, sizeof u);
        one_step(&t.problem, SUBMOD_DIRECTION_PROX, eta, decay, u);
        double reached = value_at(&t, u) + decay / 2 * pow(distance(u, zero, N), 2) +
                         pow(distance(u, t.x, N), 2) / (2 * eta);
        for (int k = 0; k < 50; k++) {
            double scale = pow(10, -(double)(k % 6));
            for (size_t i = 0; i < N; i++) {
                y[i] = u[i] + scale * submod_rng_normal(&rng);
            }
            double other = value_at(&t, y) + decay / 2 * pow(distance(y, zero, N), 2) +
                           pow(distance(y, t.x, N), 2) / (2 * eta);
            ck_assert_msg(reached <= other + 1e-9, "%g > %g", reached, other);
        }
        submod_problem_clear(&t.problem);
    }
}
END_TEST

/* Supplement, proposition: with lambda such that the prox is as far from x as the gradient step, it
 * is never worse. |x - prox| falls in lambda: bisection finds it, unless a minimiser is closer. */
START_TEST(prox_of_matched_length_is_never_worse)
{
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    int strictly_better = 0;
    for (int trial = 0; trial < 300; trial++) {
        instance t;
        double f, g[N], u[N], y[N], eta = exp(submod_rng_normal(&rng));
        make(&t, &rng, trial % 2);
        ck_assert_ok(t.problem.subgradient(t.problem.ctx, SUBMOD_FULL_BATCH, t.x, &f, g));
        for (size_t i = 0; i < N; i++) {
            y[i] = t.x[i] - eta * g[i];
        }
        double low = 1e-6, high = 1e6;
        for (int k = 0; k < 100; k++) {
            double lambda = sqrt(low * high);
            ck_assert_ok(t.problem.prox(t.problem.ctx, SUBMOD_FULL_BATCH, t.x, lambda, u));
            if (distance(u, t.x, N) > distance(y, t.x, N)) {
                low = lambda;
            } else {
                high = lambda;
            }
        }
        double slack = 1e-7 * (1 + fabs(f));
        ck_assert_msg(value_at(&t, u) <= value_at(&t, y) + slack, "trial %d: %.12g > %.12g", trial,
                      value_at(&t, u), value_at(&t, y));
        strictly_better += value_at(&t, u) < value_at(&t, y) - slack;
        submod_problem_clear(&t.problem);
    }
    ck_assert_int_gt(strictly_better, 100);
}
END_TEST

/* With lambda = 1/eta instead, which only matches on a linear piece, it can be worse: the prox
 * stops at the edge, the gradient step overshoots it into a gentle slope. */
START_TEST(equal_step_sizes_are_not_enough)
{
    const double a[2] = {1, 0.01};
    double u = 0.1, y = 0.1, at_u, at_y;
    submod_problem p;
    ck_assert_ok(submod_problem_max_affine(2, 1, a, NULL, &p));
    one_step(&p, SUBMOD_DIRECTION_PROX, 1, 0, &u);
    one_step(&p, SUBMOD_DIRECTION_SUBGRADIENT, 1, 0, &y);
    ck_assert_ok(p.value(p.ctx, &u, &at_u));
    ck_assert_ok(p.value(p.ctx, &y, &at_y));
    ck_assert_near(u, 0, 1e-12);
    ck_assert(at_y < at_u - 1e-3);
    submod_problem_clear(&p);
}
END_TEST

/* A step size whose 1/eta overflows. */
START_TEST(overflow_is_noticed)
{
    double x = 1;
    submod_problem p;
    submod_step *step = NULL;
    submod_descent_settings s = submod_descent_defaults();
    s.schedule = submod_schedule_constant(1e-310);
    s.direction = SUBMOD_DIRECTION_PROX;
    ck_assert_ok(submod_step_gd(1, &step));
    ck_assert_ok(submod_problem_max_affine(2, 1, (double[]){1, -1}, NULL, &p));
    ck_assert_int_eq(submod_descend(&p, step, &x, &s, NULL, NULL), SUBMOD_ENUMERIC);
    ck_assert_near(x, 1, 0);
    submod_step_free(step);
    submod_problem_clear(&p);
}
END_TEST

/* A problem that makes its own direction: that, the decay, and the lambda of the schedule. */
static submod_status no_slope(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    (void)ctx;
    (void)batch;
    *value = x[0];
    g[0] = 0;
    return SUBMOD_OK;
}

static submod_status own_direction(void *ctx, size_t batch, const double *x, double lambda,
                                   double *d)
{
    (void)batch;
    *(double *)ctx = lambda;
    d[0] = x[0] < 0 ? NAN : 1;
    return SUBMOD_OK;
}

START_TEST(own_directions)
{
    double lambda = 0, x = 2;
    submod_problem p = {
        .dimension = 1, .ctx = &lambda, .subgradient = no_slope, .direction = own_direction};
    one_step(&p, SUBMOD_DIRECTION_PROX, 0.25, 0.5, &x);
    ck_assert_near(lambda, 4, 0);
    ck_assert_near(x, 2 - 0.25 * (1 + 0.5 * 2), 0);
    submod_step *step = NULL;
    submod_descent_settings s = submod_descent_defaults();
    s.schedule = submod_schedule_constant(1);
    s.direction = SUBMOD_DIRECTION_PROX;
    s.lambda = 7;
    ck_assert_ok(submod_step_gd(1, &step));
    ck_assert_int_eq(submod_descend(&p, step, &x, &s, NULL, NULL), SUBMOD_ECALLBACK);
    ck_assert_near(lambda, 7, 0);
    ck_assert_near(x, 0.5, 0); /* from 1.5; the next would be below 0, where there is NaN */
    submod_step_free(step);
}
END_TEST

int main(void)
{
    return RUN_TESTS("proximal", max_affine_values_and_subgradients, bad_max_affine,
                     prox_direction_on_a_linear_piece, proximal_point_with_weight_decay,
                     prox_of_matched_length_is_never_worse, equal_step_sizes_are_not_enough,
                     overflow_is_noticed, own_directions);
}
