/* Rates of descent at every iteration, where test_step_rates.c has none: the best point of plain
 * steps and of Polyak's on functions with kinks; the last point of plain steps, proximal point and
 * proximal gradient; Nesterov's acceleration, momentum and Adam on smooth functions. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "support.h"

enum { N = 6, ROWS = 9, STEPS = 80 };

/* max over j of w_j |x_j - c_j| (kinks), or the mean of w_j huber(<a_j, x - c>) + decay/2 |x - c|^2
 * (smooth), where huber is z^2/2 up to |z| = knee, linear beyond. Both have the minimum 0 at c.
 * h = mu |x - c|_1 has a prox. */
typedef struct task {
    double a[ROWS][N], w[ROWS], c[N], knee, decay, mu;
    bool kinks;
    double lipschitz; /* of the gradient */
    double start;     /* |x_0 - c|^2 */
    double eta, alpha;
    double best, longest, largest; /* so far: the least f, |g|, |g_i| */
    double sum, squares;           /* of step sizes, of their squares, or of |g|^2 */
    double first;                  /* f(x_0) */
    double reached;                /* of the bound */
} task;

static double smooth_part(const task *t, const double *x, double *g)
{
    double f = 0;
    for (size_t i = 0; i < N; i++) {
        double away = x[i] - t->c[i];
        f += t->decay / 2 * away * away;
        g[i] = t->decay * away;
    }
    for (size_t j = 0; j < ROWS; j++) {
        double z = 0;
        for (size_t i = 0; i < N; i++) {
            z += t->a[j][i] * (x[i] - t->c[i]);
        }
        double slope = fmax(fmin(z, t->knee), -t->knee);
        f += t->w[j] * (slope * z - slope * slope / 2);
        for (size_t i = 0; i < N; i++) {
            g[i] += t->w[j] * slope * t->a[j][i];
        }
    }
    return f;
}

static double highest_part(const task *t, const double *x, double *g)
{
    size_t at = 0;
    for (size_t i = 1; i < N; i++) {
        at = t->w[i] * fabs(x[i] - t->c[i]) > t->w[at] * fabs(x[at] - t->c[at]) ? i : at;
    }
    memset(g, 0, N * sizeof *g);
    g[at] = x[at] >= t->c[at] ? t->w[at] : -t->w[at];
    return t->w[at] * fabs(x[at] - t->c[at]);
}

static submod_status smooth(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    (void)batch;
    *value = smooth_part(ctx, x, g);
    return SUBMOD_OK;
}

static submod_status whole(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    task *t = ctx;
    double squares = 0;
    (void)batch;
    *value = t->kinks ? highest_part(t, x, g) : smooth_part(t, x, g);
    for (size_t i = 0; i < N; i++) {
        *value += t->mu * fabs(x[i] - t->c[i]);
        g[i] += t->mu * (x[i] >= t->c[i] ? 1 : -1);
        squares += g[i] * g[i];
        t->largest = fmax(t->largest, fabs(g[i]));
    }
    t->longest = fmax(t->longest, sqrt(squares));
    return SUBMOD_OK;
}

static submod_status shrink(void *ctx, size_t batch, const double *x, double lambda, double *u)
{
    const task *t = ctx;
    (void)batch;
    for (size_t i = 0; i < N; i++) {
        double away = x[i] - t->c[i];
        u[i] = t->c[i] + copysign(fmax(fabs(away) - t->mu / lambda, 0), away);
    }
    return SUBMOD_OK;
}

enum { RANDOM, ONE, KINDS }; /* ONE: a single row, or a single coordinate to speak of */

static void make(task *t, double *x, submod_rng *rng, int kind)
{
    *t = (task){.knee = kind == ONE ? 1 : submod_rng_uniform(rng) + 0.1, .best = INFINITY};
    random_vector(rng, t->a[0], (size_t)ROWS * N, 0);
    random_vector(rng, t->c, N, 0);
    random_vector(rng, x, N, 0);
    for (size_t j = 0; j < ROWS; j++) {
        double squares = 0;
        t->w[j] = kind == ONE ? j == 0 : submod_rng_uniform(rng);
        for (size_t i = 0; i < N; i++) {
            t->a[j][i] = kind == ONE ? i == 0 : t->a[j][i];
            squares += t->a[j][i] * t->a[j][i];
        }
        t->lipschitz += t->w[j] * squares;
    }
    for (size_t i = 0; i < N; i++) {
        x[i] = kind == ONE && i > 0 ? t->c[i] : x[i];
        t->start += pow(x[i] - t->c[i], 2);
    }
}

/* line->f is at most the bound on it. */
static void compare(task *t, double f, double bound)
{
    ck_assert_msg(f <= bound * (1 + 1e-12) + 1e-13, "%.17g is over its bound of %.17g", f, bound);
    t->reached = bound > 0 ? fmax(t->reached, f / bound) : t->reached;
}

/* ---- kinks: |x' - c|^2 <= |x - c|^2 - 2 eta f + eta^2 |g|^2 ---- */

static int watch_best(void *ctx, const submod_trace *line)
{
    task *t = ctx;
    t->best = fmin(t->best, line->f);
    t->sum += line->step;
    t->squares += line->step * line->step;
    if (line->step > 0) {
        compare(t, t->best, (t->start + t->longest * t->longest * t->squares) / (2 * t->sum));
    }
    return 0;
}

static int watch_polyak(void *ctx, const submod_trace *line)
{
    task *t = ctx;
    t->best = fmin(t->best, line->f);
    compare(t, t->best, t->longest * sqrt(t->start / (double)(line->iteration + 1)));
    return 0;
}

/* ---- the last point ---- */

/* Drori and Teboulle 2014: tight for huber's function. */
static int watch_gradient(void *ctx, const submod_trace *line)
{
    task *t = ctx;
    compare(t, line->f, t->start / (t->eta * (double)(4 * line->iteration + 2)));
    return 0;
}

/* Gueler 1991; Beck and Teboulle 2009, Theorem 3.1. */
static int watch_proximal(void *ctx, const submod_trace *line)
{
    task *t = ctx;
    if (line->iteration > 0) {
        compare(t, line->f, t->start / (2 * t->eta * (double)line->iteration));
    }
    return 0;
}

/* ---- acceleration: the point after a gradient step from x ---- */

static int watch_nesterov(void *ctx, const submod_trace *line)
{
    task *t = ctx;
    double g[N], y[N];
    smooth_part(t, line->x, g);
    for (size_t i = 0; i < N; i++) {
        y[i] = line->x[i] - t->eta * g[i];
    }
    double rate = 1 - sqrt(t->decay * t->eta);
    compare(t, smooth_part(t, y, g),
            pow(rate, (double)(line->iteration + 1)) * (t->first + t->decay / 2 * t->start));
    return 0;
}

/* Ghadimi, Feyzmahdavian and Johansson 2015: the mean of all points. */
static int watch_momentum(void *ctx, const submod_trace *line)
{
    const double points = (double)(line->iteration + 1);
    task *t = ctx;
    double bound = (1 - t->alpha) / (2 * t->eta) * t->start + t->alpha / (1 - t->alpha) * t->first;
    compare(t, line->f, bound / points);
    return 0;
}

/* Defossez, Bottou, Bach and Usunier 2022, without chance. The mean of |g|^2. */
static int watch_adam(void *ctx, const submod_trace *line)
{
    const double points = (double)(line->iteration + 1), beta2 = 0.9;
    task *t = ctx;
    double noise = t->lipschitz * t->eta * N / (2 * (1 - beta2));
    t->squares += line->gradient_norm * line->gradient_norm;
    compare(t, t->squares / points, (t->largest + 1e-8) * (t->first / (t->eta * points) + noise));
    return 0;
}

/* ---- runs ---- */

/* How a task is run, and what is compared. */
typedef struct way {
    submod_step *step;
    submod_descent_settings settings;
    int (*watch)(void *, const submod_trace *);
} way;

/* One of three ways of a test, for the task that was made; may change the task. */
typedef void chooser(task *t, way *w, submod_rng *rng, int trial, int kind);

/* Runs the task; the share of its bound that it has reached. */
static double watched(task *t, double *x, way *w)
{
    double g[N];
    submod_problem p = {.dimension = N,
                        .ctx = t,
                        .subgradient = whole,
                        .prox = shrink,
                        .smooth = t->kinks ? NULL : smooth};
    t->first = smooth_part(t, x, g);
    w->settings.run.max_iterations = STEPS;
    w->settings.run.trace = w->watch;
    w->settings.run.trace_ctx = t;
    submod_status status = submod_descend(&p, w->step, x, &w->settings, NULL, NULL);
    ck_assert_msg(status >= 0, "%s", submod_last_error());
    submod_step_free(w->step);
    return t->reached;
}

/* Bounds that nobody comes near to would be no test: each way has to reach a share of its own. */
static void watch_all(uint64_t seed, chooser *choose, const double shares[3])
{
    submod_rng rng;
    submod_rng_seed(&rng, seed);
    double reached[3] = {0};
    for (int trial = 0; trial < 60; trial++) {
        for (int kind = 0; kind < 3; kind++) {
            task t;
            double x[N];
            way w = {.settings = submod_descent_defaults()};
            make(&t, x, &rng, trial % KINDS);
            choose(&t, &w, &rng, trial, kind);
            reached[kind] = fmax(reached[kind], watched(&t, x, &w));
        }
    }
    for (int kind = 0; kind < 3; kind++) {
        ck_assert_msg(reached[kind] > shares[kind], "%d: %g", kind, reached[kind]);
    }
}

static void with_kinks(task *t, way *w, submod_rng *rng, int trial, int kind)
{
    (void)rng;
    t->kinks = true;
    w->settings.schedule = submod_schedule_constant(kind == 2 ? 1 : pow(2, -(double)(trial % 7)));
    w->settings.schedule.kind = kind == 0   ? SUBMOD_SCHEDULE_CONSTANT
                                : kind == 1 ? SUBMOD_SCHEDULE_INVERSE_SQRT
                                            : SUBMOD_SCHEDULE_POLYAK;
    w->settings.run.f_star = kind == 2 ? 0 : NAN;
    w->watch = kind == 2 ? watch_polyak : watch_best;
    ck_assert_ok(submod_step_gd(N, &w->step));
}

START_TEST(best_point_where_there_are_kinks)
{
    watch_all(1, with_kinks, (double[]){0.9, 0.6, 0.9});
}
END_TEST

static void by_proxes(task *t, way *w, submod_rng *rng, int trial, int kind)
{
    t->eta = 1 / t->lipschitz / (1 + trial % 3);
    if (kind > 0) { /* proximal point: h alone; proximal gradient: both */
        t->mu = submod_rng_uniform(rng) * pow(10, -(double)(trial % 4));
        t->kinks = kind == 1;
        w->settings.direction = SUBMOD_DIRECTION_PROX;
    }
    if (kind == 1) {
        memset(t->w, 0, sizeof t->w);
    }
    t->knee *= trial % 5 ? 1 : 0.05;
    w->settings.schedule = submod_schedule_constant(t->eta);
    w->watch = kind ? watch_proximal : watch_gradient;
    ck_assert_ok(submod_step_gd(N, &w->step));
}

START_TEST(last_point)
{
    watch_all(2, by_proxes, (double[]){0.9, 0.45, 0.45});
}
END_TEST

static void with_memory(task *t, way *w, submod_rng *rng, int trial, int kind)
{
    (void)rng;
    t->decay = kind == 0 ? t->lipschitz * pow(10, -1 - (double)(trial % 3)) : 0;
    t->lipschitz += t->decay;
    t->eta = 1 / t->lipschitz;
    if (kind == 0) {
        double root = sqrt(t->lipschitz / t->decay);
        ck_assert_ok(submod_step_nesterov(N, (root - 1) / (root + 1), &w->step));
    } else if (kind == 1) {
        t->alpha = (double[]){0, 0.5, 0.9}[trial % 3];
        t->eta *= 1 - t->alpha;
        ck_assert_ok(submod_step_momentum(N, t->alpha, &w->step));
        ck_assert_ok(submod_step_averaged(w->step, 0, &w->step));
    } else {
        submod_adam_settings a = submod_adam_defaults();
        a.beta1 = 0;
        a.beta2 = 0.9;
        t->eta *= pow(10, -(double)(trial % 4));
        t->knee *= trial % 5 ? 1 : 0.05;
        ck_assert_ok(submod_step_adam(N, &w->step, &a));
    }
    w->settings.schedule = submod_schedule_constant(t->eta);
    w->watch = kind == 0 ? watch_nesterov : kind == 1 ? watch_momentum : watch_adam;
}

START_TEST(nesterov_momentum_and_adam)
{
    watch_all(3, with_memory, (double[]){0.3, 0.4, 0.3});
}
END_TEST

int main(void)
{
    return RUN_TESTS("descent_rates", best_point_where_there_are_kinks, last_point,
                     nesterov_momentum_and_adam);
}
