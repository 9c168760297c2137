/* FISTA and proximal gradient on the lasso, against coordinate descent. */
#include <math.h>
#include <string.h>

#include "support.h"

static double distance(const double *x, const double *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    }
    return sqrt(sum);
}

/* ---- smooth + h: 1/2 |A x - c|^2 + mu |x|_1 ---- */
enum { ROWS = 8, COLUMNS = 5 };
typedef struct lasso {
    double A[ROWS][COLUMNS], c[ROWS], mu;
} lasso;

static submod_status smooth(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    const lasso *l = ctx;
    (void)batch;
    *value = 0;
    memset(g, 0, COLUMNS * sizeof *g);
    for (size_t r = 0; r < ROWS; r++) {
        double residual = -l->c[r];
        for (size_t i = 0; i < COLUMNS; i++) {
            residual += l->A[r][i] * x[i];
        }
        *value += residual * residual / 2;
        for (size_t i = 0; i < COLUMNS; i++) {
            g[i] += residual * l->A[r][i];
        }
    }
    return SUBMOD_OK;
}

static submod_status whole(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    const lasso *l = ctx;
    smooth(ctx, batch, x, value, g);
    for (size_t i = 0; i < COLUMNS; i++) {
        *value += l->mu * fabs(x[i]);
        g[i] += x[i] > 0 ? l->mu : x[i] < 0 ? -l->mu : 0;
    }
    return SUBMOD_OK;
}

static submod_status shrink(void *ctx, size_t batch, const double *x, double lambda, double *u)
{
    const lasso *l = ctx;
    (void)batch;
    for (size_t i = 0; i < COLUMNS; i++) {
        u[i] = copysign(fmax(fabs(x[i]) - l->mu / lambda, 0), x[i]);
    }
    return SUBMOD_OK;
}

/* The minimum with decay, by coordinate descent. */
static double coordinate_descent(lasso *l, double decay, double *x)
{
    memset(x, 0, COLUMNS * sizeof *x);
    for (int sweep = 0; sweep < 20000; sweep++) {
        for (size_t i = 0; i < COLUMNS; i++) {
            double f, g[COLUMNS], curvature = decay;
            smooth(l, 0, x, &f, g);
            for (size_t r = 0; r < ROWS; r++) {
                curvature += l->A[r][i] * l->A[r][i];
            }
            double at = x[i] - (g[i] + decay * x[i]) / curvature;
            x[i] = copysign(fmax(fabs(at) - l->mu / curvature, 0), at);
        }
    }
    double f, g[COLUMNS], norm2 = 0;
    whole(l, 0, x, &f, g);
    for (size_t i = 0; i < COLUMNS; i++) {
        norm2 += x[i] * x[i];
    }
    return f + decay / 2 * norm2;
}

static submod_problem make_lasso(lasso *l, submod_rng *rng)
{
    random_vector(rng, &l->A[0][0], sizeof l->A / sizeof(double), 0);
    random_vector(rng, l->c, ROWS, 0);
    l->mu = submod_rng_uniform(rng);
    return (submod_problem){
        .dimension = COLUMNS, .ctx = l, .subgradient = whole, .prox = shrink, .smooth = smooth};
}

typedef struct rate {
    double f_star, scale; /* 2 L |x0 - x*|^2 */
    size_t lines;
} rate;

/* Beck and Teboulle, Theorem 4.4. */
static int check_rate(void *ctx, const submod_trace *line)
{
    rate *r = ctx;
    double k = (double)line->iteration;
    ck_assert(line->iteration == 0 ||
              line->f - r->f_star <= r->scale / ((k + 1) * (k + 1)) + 1e-12);
    r->lines++;
    return 0;
}

START_TEST(fista_finds_the_minimum_at_its_rate)
{
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    for (int trial = 0; trial < 30; trial++) {
        lasso l;
        submod_problem p = make_lasso(&l, &rng);
        double best[COLUMNS], x[COLUMNS] = {0}, decay = trial % 2 ? 0.2 : 0, lipschitz = 0;
        submod_optim_info info;
        rate r = {.f_star = coordinate_descent(&l, decay, best)};
        for (size_t i = 0; i < sizeof l.A / sizeof(double); i++) {
            lipschitz += (&l.A[0][0])[i] * (&l.A[0][0])[i]; /* Frobenius: above the true one */
        }
        r.scale = 2 * fmax(2 * lipschitz, 1e-3) * pow(distance(x, best, COLUMNS), 2);
        submod_fista_settings s = submod_fista_defaults();
        s.lipschitz = 1e-3;
        s.restart = trial % 3 == 0;
        s.run.weight_decay = decay;
        s.run.max_iterations = 4000;
        s.run.gradient_tolerance = 1e-9;
        s.run.trace = s.restart ? NULL : check_rate;
        s.run.trace_ctx = &r;
        submod_status status = submod_fista(&p, x, &s, &info, NULL);
        ck_assert(status == SUBMOD_OK || status == SUBMOD_MAXITER);
        ck_assert(s.restart || r.lines == info.iterations + 1);
        ck_assert_near(info.f, r.f_star, 1e-8);
        ck_assert(!s.restart || status == SUBMOD_OK);
    }
}
END_TEST

/* Nesterov's worst quadratic, (x'Tx / 2 - x_1) / 4 with T = tridiagonal(-1, 2, -1) and L = 1: here
 * gradient descent is too slow for the rate. */
enum { CHAIN = 120 };
static submod_status chain(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    (void)ctx;
    (void)batch;
    *value = -x[0] / 4;
    for (size_t i = 0; i < CHAIN; i++) {
        double before = i > 0 ? x[i - 1] : 0;
        double after = i + 1 < CHAIN ? x[i + 1] : 0;
        double tx = 2 * x[i] - before - after;
        *value += x[i] * tx / 8;
        g[i] = (tx - (i == 0)) / 4;
    }
    return SUBMOD_OK;
}

static submod_status identity(void *ctx, size_t batch, const double *x, double lambda, double *u)
{
    (void)ctx;
    (void)batch;
    (void)lambda;
    memcpy(u, x, CHAIN * sizeof *u);
    return SUBMOD_OK;
}

START_TEST(fista_is_accelerated)
{
    submod_problem p = {
        .dimension = CHAIN, .subgradient = chain, .prox = identity, .smooth = chain};
    double x[CHAIN] = {0}, best[CHAIN], g[CHAIN];
    rate r = {0};
    for (size_t i = 0; i < CHAIN; i++) {
        best[i] = 1 - (double)(i + 1) / (CHAIN + 1);
    }
    chain(NULL, 0, best, &r.f_star, g);
    r.scale = 2 * pow(distance(x, best, CHAIN), 2);
    submod_fista_settings s = submod_fista_defaults();
    s.restart = 0;
    s.run.max_iterations = 100;
    s.run.trace = check_rate;
    s.run.trace_ctx = &r;
    ck_assert_ok(submod_fista(&p, x, &s, NULL, NULL));
    ck_assert_uint_eq(r.lines, 101);
}
END_TEST

/* The method's own formulas, with L fixed: J at every x, in as many entries as f has. Returns how
 * often momentum started anew. */
static int plain_fista(lasso *l, double lipschitz, int restart, double *f, size_t count)
{
    double x[COLUMNS] = {0}, y[COLUMNS] = {0}, u[COLUMNS], g[COLUMNS], t = 1;
    int restarts = 0;
    for (size_t k = 0; k < count; k++) {
        double value, point[COLUMNS], uphill = 0;
        whole(l, 0, x, &f[k], g);
        smooth(l, 0, y, &value, g);
        for (size_t i = 0; i < COLUMNS; i++) {
            point[i] = y[i] - g[i] / lipschitz;
        }
        shrink(l, 0, point, lipschitz, u);
        for (size_t i = 0; i < COLUMNS; i++) {
            uphill += (y[i] - u[i]) * (u[i] - x[i]);
        }
        if (restart && uphill > 0) {
            t = 1;
            restarts++;
        }
        double next = (1 + sqrt(1 + 4 * t * t)) / 2;
        for (size_t i = 0; i < COLUMNS; i++) {
            y[i] = u[i] + (t - 1) / next * (u[i] - x[i]);
            x[i] = u[i];
        }
        t = next;
    }
    return restarts;
}

enum { STEPS = 60 };
static int compare_f(void *ctx, const submod_trace *line)
{
    const double *f = ctx;
    ck_assert_near(line->f, f[line->iteration], 1e-12 * (1 + fabs(f[line->iteration])));
    return 0;
}

/* Momentum starts anew exactly when it points uphill, and never unless asked to. */
START_TEST(fista_step_by_step)
{
    submod_rng rng;
    submod_rng_seed(&rng, 8);
    int restarts = 0;
    for (int trial = 0; trial < 20; trial++) {
        lasso l;
        submod_problem p = make_lasso(&l, &rng);
        double x[COLUMNS] = {0}, f[STEPS + 1], lipschitz = 0;
        for (size_t i = 0; i < sizeof l.A / sizeof(double); i++) {
            lipschitz += (&l.A[0][0])[i] * (&l.A[0][0])[i];
        }
        submod_fista_settings s = submod_fista_defaults();
        s.lipschitz = lipschitz; /* large enough from the start */
        s.restart = trial % 2;
        s.run.max_iterations = STEPS;
        s.run.trace = compare_f;
        s.run.trace_ctx = f;
        restarts += plain_fista(&l, lipschitz, s.restart, f, STEPS + 1);
        ck_assert_int_ge(submod_fista(&p, x, &s, NULL, NULL), 0);
    }
    ck_assert_int_gt(restarts, 10);
}
END_TEST

/* One proximal gradient step from x. */
static void one_step(const submod_problem *p, double eta, double *x)
{
    submod_step *step = NULL;
    submod_descent_settings s = submod_descent_defaults();
    s.schedule = submod_schedule_constant(eta);
    s.direction = SUBMOD_DIRECTION_PROX;
    s.run.max_iterations = 1;
    ck_assert_ok(submod_step_gd(p->dimension, &step));
    ck_assert_ok(submod_descend(p, step, x, &s, NULL, NULL));
    submod_step_free(step);
}

/* Proximal gradient with eta <= 1/L never climbs, and reaches the same minimum. */
START_TEST(proximal_gradient)
{
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    lasso l;
    submod_problem p = make_lasso(&l, &rng);
    double best[COLUMNS], x[COLUMNS] = {0}, lipschitz = 0;
    double f_star = coordinate_descent(&l, 0, best), previous = INFINITY;
    for (size_t i = 0; i < sizeof l.A / sizeof(double); i++) {
        lipschitz += (&l.A[0][0])[i] * (&l.A[0][0])[i];
    }
    for (int k = 0; k < 3000; k++) {
        double f, g[COLUMNS];
        one_step(&p, 1 / lipschitz, x);
        whole(&l, 0, x, &f, g);
        ck_assert(f <= previous + 1e-14);
        previous = f;
    }
    ck_assert_near(previous, f_star, 1e-8);
}
END_TEST

/* Without a smooth part FISTA is the accelerated proximal point method. */
START_TEST(fista_without_smooth_part)
{
    const double a[] = {0, 0, 1.3, 0, 0, 1};
    double x[2] = {3, 2};
    submod_problem p;
    submod_optim_info info;
    submod_fista_settings s = submod_fista_defaults();
    s.run.f_star = 0;
    s.run.tolerance = 1e-12;
    ck_assert_ok(submod_problem_max_affine(3, 2, a, NULL, &p));
    ck_assert_ok(submod_fista(&p, x, &s, &info, NULL));
    ck_assert(info.f <= 1e-12 && info.iterations < 20 && info.gradients == 0);
    submod_problem_clear(&p);
}
END_TEST

START_TEST(bad_fista)
{
    submod_rng rng;
    submod_rng_seed(&rng, 7);
    lasso l;
    submod_problem p = make_lasso(&l, &rng);
    double x[COLUMNS] = {0};
    submod_fista_settings s = submod_fista_defaults();
    ck_assert_int_eq(submod_fista(NULL, x, &s, NULL, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_fista(&p, NULL, &s, NULL, NULL), SUBMOD_EINVAL);
    s.lipschitz = 0;
    ck_assert_int_eq(submod_fista(&p, x, &s, NULL, NULL), SUBMOD_EINVAL);
    s.lipschitz = INFINITY;
    ck_assert_int_eq(submod_fista(&p, x, &s, NULL, NULL), SUBMOD_ENONFINITE);
    x[0] = INFINITY;
    ck_assert_int_eq(submod_fista(&p, x, NULL, NULL, NULL), SUBMOD_ENONFINITE);
    x[0] = 0;
    l.c[0] = NAN;
    ck_assert_int_eq(submod_fista(&p, x, NULL, NULL, NULL), SUBMOD_ECALLBACK);
    ck_assert(x[0] == 0);
    p.prox = NULL;
    ck_assert_int_eq(submod_fista(&p, x, NULL, NULL, NULL), SUBMOD_EINVAL);
}
END_TEST

int main(void)
{
    return RUN_TESTS("fista", fista_finds_the_minimum_at_its_rate, fista_is_accelerated,
                     fista_step_by_step, proximal_gradient, fista_without_smooth_part, bad_fista);
}
