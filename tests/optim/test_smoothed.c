/* Smoothing: the envelope against its definition, its bounds, and Nesterov's rate with FISTA. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "support.h"

enum { SIZE = 6, PLANES = 9 };

static double distance(const double *x, const double *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    }
    return sqrt(sum);
}

static double value_at(const submod_problem *p, const double *x)
{
    double value, g[64];
    ck_assert(p->dimension <= 64);
    ck_assert_ok(p->subgradient(p->ctx, SUBMOD_FULL_BATCH, x, &value, g));
    return value;
}

/* |x|_1 has the Huber function for an envelope; L = sqrt(n). */
static submod_status sum_of_moduli(void *ctx, size_t batch, const double *x, double *value,
                                   double *g)
{
    size_t n = *(const size_t *)ctx;
    (void)batch;
    *value = 0;
    for (size_t i = 0; i < n; i++) {
        *value += fabs(x[i]);
        g[i] = x[i] > 0 ? 1 : x[i] < 0 ? -1 : 0;
    }
    return SUBMOD_OK;
}

static submod_status shrink(void *ctx, size_t batch, const double *x, double lambda, double *u)
{
    (void)batch;
    for (size_t i = 0; i < *(const size_t *)ctx; i++) {
        u[i] = copysign(fmax(fabs(x[i]) - 1 / lambda, 0), x[i]);
    }
    return SUBMOD_OK;
}

START_TEST(huber)
{
    size_t n = SIZE;
    submod_problem p = {.dimension = SIZE, .ctx = &n, .subgradient = sum_of_moduli, .prox = shrink};
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int trial = 0; trial < 200; trial++) {
        double x[SIZE], g[SIZE], value, wanted = 0, lambda = pow(2, trial % 9 - 4);
        submod_problem e;
        ck_assert_ok(submod_problem_smoothed(&p, lambda, &e));
        random_vector(&rng, x, SIZE, trial % 2);
        ck_assert_ok(e.smooth(e.ctx, SUBMOD_FULL_BATCH, x, &value, g));
        for (size_t i = 0; i < SIZE; i++) {
            bool inside = fabs(x[i]) <= 1 / lambda;
            wanted += inside ? lambda * x[i] * x[i] / 2 : fabs(x[i]) - 1 / (2 * lambda);
            ck_assert_near(g[i], inside ? lambda * x[i] : copysign(1, x[i]), 1e-13);
        }
        ck_assert_near(value, wanted, 1e-12);
        ck_assert_near(value_at(&e, x), value, 0);
        submod_problem_clear(&e);
    }
}
END_TEST

/* Random planes; every third time all of them far away, or in ties. */
static double random_planes(submod_rng *rng, int trial, submod_problem *p)
{
    double a[PLANES * SIZE], b[PLANES], steepest = 0;
    random_vector(rng, a, PLANES * SIZE, trial % 2);
    random_vector(rng, b, PLANES, trial % 2);
    for (size_t j = 0; j < PLANES; j++) {
        double zero[SIZE] = {0};
        b[j] *= trial % 3 == 2 ? 100 : 1;
        steepest = fmax(steepest, distance(a + j * SIZE, zero, SIZE));
    }
    ck_assert_ok(submod_problem_max_affine(PLANES, SIZE, a, b, p));
    return steepest;
}

/* e = the smallest of the function to be minimised, found by random search; its bounds; and the
 * gradient by differences, and Lipschitz. */
START_TEST(envelope_is_what_it_should_be)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    double closest = 0;
    for (int trial = 0; trial < 60; trial++) {
        submod_problem p, e;
        double L = random_planes(&rng, trial, &p), lambda = pow(4, trial % 5 - 2);
        double x[SIZE], y[SIZE], g[SIZE], at_y[SIZE], zero[SIZE] = {0}, value, other;
        ck_assert_ok(submod_problem_smoothed(&p, lambda, &e));
        random_vector(&rng, x, SIZE, 0);
        random_vector(&rng, y, SIZE, 0);
        ck_assert_ok(e.smooth(e.ctx, SUBMOD_FULL_BATCH, x, &value, g));
        ck_assert_ok(e.smooth(e.ctx, SUBMOD_FULL_BATCH, y, &other, at_y));
        double f = value_at(&p, x);
        ck_assert(value <= f + 1e-10 && value >= f - L * L / (2 * lambda) - 1e-10);
        closest = fmax(closest, (f - value) / (L * L / (2 * lambda)));
        ck_assert(distance(g, at_y, SIZE) <= lambda * distance(x, y, SIZE) + 1e-9);
        ck_assert(distance(g, zero, SIZE) <= L + 1e-9);
        double ahead = value;
        for (size_t i = 0; i < SIZE; i++) {
            ahead += g[i] * (y[i] - x[i]);
        }
        ck_assert(other >= ahead - 1e-9);
        for (int attempt = 0; attempt < 200; attempt++) {
            double u[SIZE];
            random_vector(&rng, u, SIZE, 0);
            for (size_t i = 0; i < SIZE; i++) { /* around the prox x - g / lambda */
                u[i] = x[i] - g[i] / lambda + pow(10, -(attempt % 6)) * u[i];
            }
            double there = distance(u, x, SIZE);
            ck_assert(value_at(&p, u) + lambda / 2 * there * there >= value - 1e-9);
        }
        submod_problem_clear(&e);
        submod_problem_clear(&p);
    }
    ck_assert_msg(closest > 0.5, "%g", closest);
}
END_TEST

/* ---- Nesterov's rate ---- */

typedef struct rate {
    const submod_problem *p;
    double f_star, lambda, R, L;
    size_t lines, last;
    double closest;
} rate;

static int check_rate(void *ctx, const submod_trace *line)
{
    rate *r = ctx;
    double k = (double)line->iteration;
    double bound = 2 * r->lambda * r->R * r->R / ((k + 1) * (k + 1)) + r->L * r->L / 2 / r->lambda;
    double ahead = value_at(r->p, line->x) - r->f_star;
    ck_assert(line->iteration == 0 || ahead <= bound + 1e-9);
    r->closest = fmax(r->closest, line->iteration ? ahead / bound : 0);
    ck_assert(line->iteration != r->last || ahead <= 2 * r->L * r->R / (k + 1) + 1e-9);
    r->lines++;
    return 0;
}

/* From x on, at all iterations, with the lambda that is best for the last of them. */
static double check_run(const submod_problem *p, double L, const double *best, double f_star,
                        double *x, size_t iterations)
{
    submod_problem e;
    rate r = {.p = p, .f_star = f_star, .L = L, .last = iterations};
    r.R = distance(x, best, p->dimension);
    r.lambda = L * ((double)iterations + 1) / (2 * r.R);
    ck_assert_ok(submod_problem_smoothed(p, r.lambda, &e));
    submod_fista_settings s = submod_fista_defaults();
    s.lipschitz = r.lambda;
    s.restart = 0;
    s.run.max_iterations = iterations;
    s.run.trace = check_rate;
    s.run.trace_ctx = &r;
    submod_optim_info info;
    ck_assert_ok(submod_fista(&e, x, &s, &info, NULL));
    ck_assert(r.lines == info.iterations + 1);
    submod_problem_clear(&e);
    return r.closest;
}

/* max_i x_i over the planes e_i and a floor, from the start where all are equal: subgradients see
 * one coordinate at a time. */
static double check_resisting(size_t iterations)
{
    enum { n = 40 };
    double a[2 * n * n] = {0}, x[n], best[n] = {0};
    submod_problem p;
    for (size_t i = 0; i < n; i++) {
        a[i * n + i] = 1;
        a[(n + i) * n + i] = -1;
        x[i] = 1 + 0.01 * (double)i;
    }
    ck_assert_ok(submod_problem_max_affine((size_t)2 * n, n, a, NULL, &p));
    double closest = check_run(&p, 1, best, 0, x, iterations);
    submod_problem_clear(&p);
    return closest;
}

START_TEST(rate_of_nesterov_at_every_iteration)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    double closest = 0;
    for (int trial = 0; trial < 12; trial++) {
        submod_problem p;
        double L = random_planes(&rng, trial, &p), best[SIZE] = {0}, x[SIZE];
        submod_optim_info info;
        submod_bundle_settings s = submod_bundle_defaults();
        s.radius = 1e4;
        s.run.tolerance = 1e-9;
        s.run.max_iterations = 300;
        submod_status status = submod_bundle(&p, best, &s, &info, NULL);
        random_vector(&rng, x, SIZE, 0);
        if (status == SUBMOD_OK && info.f > -1e2) { /* bounded: f* is certified */
            closest =
                fmax(closest, check_run(&p, L, best, info.lower_bound, x, 5 + 5 * (size_t)trial));
        }
        submod_problem_clear(&p);
    }
    closest = fmax(closest, fmax(check_resisting(4), check_resisting(20)));
    ck_assert_msg(closest > 0.1, "%g", closest);
}
END_TEST

/* ---- minibatches and smooth parts ---- */

/* f_k(x) = |x - k|, k = 0, 1, 2, plus x^2/2 in each. */
static submod_status part(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    const int *with_smooth = ctx;
    size_t first = batch == SUBMOD_FULL_BATCH ? 0 : batch;
    size_t end = batch == SUBMOD_FULL_BATCH ? 3 : batch + 1;
    *value = *with_smooth * x[0] * x[0] / 2;
    g[0] = *with_smooth * x[0];
    for (size_t k = first; k < end; k++) {
        double away = x[0] - (double)k;
        *value += fabs(away) / (double)(end - first);
        g[0] += (away > 0 ? 1 : -1) / (double)(end - first);
    }
    return SUBMOD_OK;
}

static submod_status square(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    (void)ctx;
    (void)batch;
    *value = x[0] * x[0] / 2;
    g[0] = x[0];
    return SUBMOD_OK;
}

static submod_status part_prox(void *ctx, size_t batch, const double *x, double lambda, double *u)
{
    (void)ctx;
    ck_assert(batch < 3); /* the mean of envelopes has no use for the prox of the mean */
    double away = x[0] - (double)batch;
    u[0] = (double)batch + copysign(fmax(fabs(away) - 1 / lambda, 0), away);
    return SUBMOD_OK;
}

START_TEST(minibatches_and_smooth_parts)
{
    for (int with_smooth = 0; with_smooth < 2; with_smooth++) {
        submod_problem e, p = {.dimension = 1,
                               .batches = 3,
                               .ctx = &with_smooth,
                               .subgradient = part,
                               .prox = part_prox};
        p.smooth = with_smooth ? square : NULL;
        double lambda = 2;
        ck_assert_ok(submod_problem_smoothed(&p, lambda, &e));
        for (double x = -2; x < 5; x += 0.125) {
            double value, g, mean = 0, slope = 0;
            for (size_t k = 0; k < 3; k++) {
                double away = fabs(x - (double)k);
                double bent = away <= 0.5 ? away * away : away - 0.25;
                double wanted = bent + with_smooth * x * x / 2;
                ck_assert_ok(e.smooth(e.ctx, k, &x, &value, &g));
                ck_assert_near(value, wanted, 1e-13);
                mean += value / 3;
                slope += g / 3;
            }
            ck_assert_ok(e.smooth(e.ctx, SUBMOD_FULL_BATCH, &x, &value, &g));
            ck_assert_near(value, mean, 1e-13);
            ck_assert_near(g, slope, 1e-13);
        }
        submod_problem_clear(&e);
    }
}
END_TEST

static submod_status broken(void *ctx, size_t batch, const double *x, double lambda, double *u)
{
    (void)batch;
    (void)lambda;
    u[0] = x[0];
    return *(submod_status *)ctx;
}

static submod_status modulus(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    (void)ctx;
    (void)batch;
    *value = fabs(x[0]);
    g[0] = 1;
    return SUBMOD_OK;
}

START_TEST(bad_arguments_and_answers)
{
    submod_status answer = SUBMOD_OK;
    double x = 1;
    submod_problem e = {.dimension = 5},
                   p = {.dimension = 1, .ctx = &answer, .subgradient = modulus, .prox = broken};
    ck_assert_int_eq(submod_problem_smoothed(NULL, 1, &e), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_problem_smoothed(&p, 1, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_problem_smoothed(&p, 0, &e), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_problem_smoothed(&p, INFINITY, &e), SUBMOD_ENONFINITE);
    p.prox = NULL;
    assert_error(submod_problem_smoothed(&p, 1, &e), SUBMOD_EINVAL, "prox");
    ck_assert(e.dimension == 5 && !e.ctx);
    p.prox = broken;
    ck_assert_ok(submod_problem_smoothed(&p, 1, &e));
    answer = SUBMOD_INACCURATE; /* usable */
    ck_assert_ok(submod_fista(&e, &x, NULL, NULL, NULL));
    answer = SUBMOD_ENOMEM;
    ck_assert_int_eq(submod_fista(&e, &x, NULL, NULL, NULL), SUBMOD_ENOMEM);
    answer = SUBMOD_EINVAL;
    ck_assert_int_eq(submod_fista(&e, &x, NULL, NULL, NULL), SUBMOD_ECALLBACK);
    submod_problem_clear(&e);
}
END_TEST

static submod_status no_gradient(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    submod_status status = modulus(ctx, batch, x, value, g);
    g[0] = NAN;
    return status;
}

static submod_status stay(void *ctx, size_t batch, const double *x, double lambda, double *u)
{
    (void)ctx;
    (void)batch;
    (void)lambda;
    u[0] = x[0];
    return SUBMOD_OK;
}

/* NaN in a gradient ends the run even where only the value is needed. */
START_TEST(values_with_broken_gradients)
{
    const double one = 1;
    double x = 1;
    submod_problem e, good = {.dimension = 1, .subgradient = modulus, .prox = stay};
    submod_problem bad = good, bad_smooth = good;
    bad.subgradient = no_gradient;
    bad_smooth.smooth = no_gradient;
    const submod_problem *inner[] = {&bad, &bad_smooth};
    for (size_t k = 0; k < 2; k++) {
        double value = 0, g = 0;
        ck_assert_ok(submod_problem_smoothed(inner[k], 1, &e));
        ck_assert_int_lt(e.subgradient(e.ctx, SUBMOD_FULL_BATCH, &x, &value, &g), 0);
        ck_assert_int_eq(submod_fista(&e, &x, NULL, NULL, NULL), SUBMOD_ECALLBACK);
        submod_problem_clear(&e);
    }
    submod_map map = {.rows = 1, .columns = 1, .matrix = &one};
    for (int of_g = 0; of_g < 2; of_g++) {
        double value = 0;
        ck_assert_ok(submod_problem_composed(of_g ? &good : &bad, &map, of_g ? &bad : NULL, &e));
        ck_assert_int_lt(e.value(e.ctx, &x, &value), 0);
        submod_problem_clear(&e);
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("smoothed", huber, envelope_is_what_it_should_be,
                     rate_of_nesterov_at_every_iteration, minibatches_and_smooth_parts,
                     bad_arguments_and_answers, values_with_broken_gradients);
}
