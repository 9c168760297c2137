/* The theorems that stand with the step rules in steps.h, as inequalities at every iteration: on
 * random max-affine functions, ties included, and on adverse ones where they are nearly equalities,
 * with subgradients that are no mean of the active planes but the first of them. */
#include <math.h>
#include <string.h>

#include "support.h"

enum { N = 4, PLANES = 12, STEPS = 100, POINTS = 3 };

/* f(x) = max over planes, and all that was asked and answered on the way. */
typedef struct spy {
    size_t planes;
    double a[PLANES][N], b[PLANES];
    double u[POINTS][N]; /* what the theorems compare with; the first is a minimiser if known */
    double mu, eta;
    double (*bound)(const struct spy *s, size_t k, const double *u);
    double x[STEPS + 1][N], g[STEPS + 1][N]; /* of iteration k */
    size_t asked;
    double tightest; /* the largest part of a bound that was reached */
} spy;

static double dot(const double *x, const double *y)
{
    double sum = 0;
    for (size_t i = 0; i < N; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

static double squared_distance(const double *x, const double *y)
{
    double sum = 0;
    for (size_t i = 0; i < N; i++) {
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    }
    return sum;
}

static size_t highest(const spy *s, const double *x)
{
    size_t at = 0;
    for (size_t j = 1; j < s->planes; j++) {
        at = dot(s->a[j], x) + s->b[j] > dot(s->a[at], x) + s->b[at] ? j : at;
    }
    return at;
}

static double height_at(const spy *s, const double *x)
{
    size_t j = highest(s, x);
    return dot(s->a[j], x) + s->b[j];
}

static submod_status spy_value(void *ctx, const double *x, double *value)
{
    *value = height_at(ctx, x);
    return SUBMOD_OK;
}

static submod_status spy_subgradient(void *ctx, size_t batch, const double *x, double *value,
                                     double *g)
{
    spy *s = ctx;
    ck_assert_uint_eq(batch, SUBMOD_FULL_BATCH);
    ck_assert_uint_le(s->asked, STEPS);
    memcpy(g, s->a[highest(s, x)], sizeof s->a[0]);
    for (size_t i = 0; i < N; i++) {
        s->x[s->asked][i] = x[i];
        s->g[s->asked][i] = g[i] + s->mu * x[i];
    }
    s->asked++;
    return spy_value(ctx, x, value);
}

/* f(u) + mu/2 |u|^2 */
static double objective(const spy *s, const double *u)
{
    return height_at(s, u) + s->mu / 2 * dot(u, u);
}

/* ---- the bounds, from steps.h; g_k is known when iteration k is told of ---- */

static double largest_square(const spy *s, size_t k)
{
    double largest = 0;
    for (size_t j = 0; j <= k; j++) {
        largest = fmax(largest, dot(s->g[j], s->g[j]));
    }
    return largest;
}

static double mean_bound(const spy *s, size_t k, const double *u)
{
    double points = (double)(k + 1);
    return squared_distance(s->x[0], u) / (2 * s->eta * points) + s->eta * largest_square(s, k) / 2;
}

/* Of rules with momentum alpha, where steps add up to 1 / (1 - alpha) times as much. */
enum { MOMENTUM_PARTS = 4 }; /* alpha = 3/4 */
static double heavy_bound(const spy *s, size_t k, const double *u, double noise)
{
    const double parts = MOMENTUM_PARTS, points = (double)(k + 1);
    double fall = height_at(s, s->x[0]) - height_at(s, s->x[k]);
    return (squared_distance(s->x[0], u) / (2 * s->eta * parts) + (parts - 1) * fall) / points +
           s->eta * largest_square(s, k) * noise;
}

static double momentum_bound(const spy *s, size_t k, const double *u)
{
    return heavy_bound(s, k, u, MOMENTUM_PARTS / 2.0);
}

static double nesterov_bound(const spy *s, size_t k, const double *u)
{
    return heavy_bound(s, k, u, MOMENTUM_PARTS / 2.0 + MOMENTUM_PARTS - 1);
}

static double strongly_convex_bound(const spy *s, size_t k, const double *u)
{
    (void)u;
    return 2 * largest_square(s, k) / (s->mu * (double)(k + 2));
}

static double adagrad_bound(const spy *s, size_t k, const double *u)
{
    double roots = 0, far = 0;
    for (size_t i = 0; i < N; i++) {
        double squares = 0;
        for (size_t j = 0; j <= k; j++) {
            squares += s->g[j][i] * s->g[j][i];
            far = fmax(far, fabs(s->x[j][i] - u[i]));
        }
        roots += sqrt(squares);
    }
    return (far * far / (2 * s->eta) + s->eta) * roots / (double)(k + 1);
}

/* ---- instances ---- */

/* Slopes in opposite pairs around u[0], which is then a minimiser: f = max |<a_j, x - u[0]>|. */
static void pair_up(spy *s)
{
    for (size_t j = 0; j < s->planes; j += 2) {
        s->b[j] = -dot(s->a[j], s->u[0]);
        s->b[j + 1] = -s->b[j];
        for (size_t i = 0; i < N; i++) {
            s->a[j + 1][i] = -s->a[j][i];
        }
    }
}

enum { RANDOM, COARSE, UNBOUNDED, LINE, STRETCHED, KINDS };

static void make_instance(spy *s, int kind, submod_rng *rng)
{
    *s = (spy){.planes = PLANES};
    random_vector(rng, s->u[0], POINTS * N, 0);
    random_vector(rng, s->a[0], PLANES * N, kind == COARSE);
    random_vector(rng, s->b, PLANES, kind == COARSE);
    if (kind == UNBOUNDED || kind == COARSE) {
        return;
    }
    if (kind == LINE || kind == STRETCHED) { /* |x_0|; and coordinates of ever smaller slope */
        memset(s->u[0], 0, sizeof s->u[0]);
        memset(s->a, 0, sizeof s->a);
        s->planes = kind == LINE ? 2 : 2 * N;
        for (size_t j = 0; j < s->planes / 2; j++) {
            s->a[2 * j][j] = pow(0.2, (double)j);
        }
    }
    pair_up(s);
}

/* ---- the rules, and a run of one that watches its bound ---- */

static int watch(void *ctx, const submod_trace *line)
{
    spy *s = ctx;
    for (size_t p = 0; p < POINTS; p++) {
        double f = objective(s, s->u[p]);
        double bound = s->bound(s, line->iteration, s->u[p]);
        double scale = fabs(line->f) + fabs(f) + (bound < INFINITY ? fabs(bound) : 0);
        ck_assert_msg(line->f - f <= bound + 1e-12 * scale,
                      "iteration %zu: %.17g is over its bound of %.17g", line->iteration,
                      line->f - f, bound);
        s->tightest = bound > 0 ? fmax(s->tightest, (line->f - f) / bound) : s->tightest;
    }
    return 0;
}

typedef struct rule {
    submod_status (*make)(submod_step **step);
    double (*bound)(const spy *s, size_t k, const double *u);
    double reached; /* this part of the bound is reached on some instance: it says something */
    double mu;      /* weight decay; > 0 has its own schedule */
} rule;

static double watched_run(spy *s, const rule *r, double eta, const double *start)
{
    submod_problem p = {
        .dimension = N, .ctx = s, .subgradient = spy_subgradient, .value = spy_value};
    submod_descent_settings d = submod_descent_defaults();
    submod_step *step = NULL;
    double x[N];
    memcpy(x, start, sizeof x);
    s->eta = eta;
    s->mu = r->mu;
    s->bound = r->bound;
    s->asked = 0;
    d.schedule = r->mu > 0
                     ? (submod_schedule){SUBMOD_SCHEDULE_INVERSE, .eta = 1 / r->mu, .period = 2}
                     : submod_schedule_constant(eta);
    d.run.weight_decay = r->mu;
    d.run.max_iterations = STEPS;
    d.run.trace = watch;
    d.run.trace_ctx = s;
    ck_assert_ok(r->make(&step));
    ck_assert_ok(submod_descend(&p, step, x, &d, NULL, NULL));
    submod_step_free(step);
    return s->tightest;
}

static submod_status with_mean(submod_status status, submod_step **step)
{
    return status ? status : submod_step_averaged(*step, 0, step);
}

static submod_status gd_mean(submod_step **step)
{
    return with_mean(submod_step_gd(N, step), step);
}

static submod_status gd_weighted(submod_step **step)
{
    submod_status status = submod_step_gd(N, step);
    return status ? status : submod_step_averaged(*step, 1, step);
}

static submod_status momentum(submod_step **step)
{
    return with_mean(submod_step_momentum(N, 1 - 1.0 / MOMENTUM_PARTS, step), step);
}

static submod_status nesterov(submod_step **step)
{
    return with_mean(submod_step_nesterov(N, 1 - 1.0 / MOMENTUM_PARTS, step), step);
}

static submod_status adagrad(submod_step **step)
{
    return with_mean(submod_step_adagrad(N, 0, step), step);
}

static const rule rules[] = {
    {gd_mean, mean_bound, 0.999, 0},    {momentum, momentum_bound, 0.9, 0},
    {nesterov, nesterov_bound, 0.9, 0}, {gd_weighted, strongly_convex_bound, 0.4, 0.5},
    {adagrad, adagrad_bound, 0.5, 0},
};

START_TEST(rates_hold_at_every_iteration)
{
    const double etas[] = {0.01, 0.125, 2};
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
        submod_rng rng;
        double tightest = 0;
        submod_rng_seed(&rng, 12);
        for (int trial = 0; trial < 4 * KINDS; trial++) {
            spy s;
            double start[N] = {1};
            make_instance(&s, trial % KINDS, &rng);
            if (trial % KINDS != LINE) {
                random_vector(&rng, start, N, 0);
            }
            for (size_t e = 0; e < sizeof etas / sizeof etas[0]; e++) {
                tightest = fmax(tightest, watched_run(&s, &rules[r], etas[e], start));
            }
        }
        ck_assert_msg(tightest >= rules[r].reached, "rule %zu only reaches %.3f of its bound", r,
                      tightest);
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("step_rates", rates_hold_at_every_iteration);
}
