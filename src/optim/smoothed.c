/* Smoothing (Nesterov 2005): the Moreau envelope of h,
 *
 *     e(x) = min over u of h(u) + lambda/2 |u - x|^2,   gradient lambda (x - u), u the prox,
 *
 * is convex with a lambda-Lipschitz gradient, and lies at most L^2 / (2 lambda) below an
 * L-Lipschitz h. Cost of a gradient: a prox and a value of the problem; with minibatches as many of
 * both as there are, since it is the mean of their envelopes that is minimised. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/internal.h"
#include "optim/oracle.h"
#include <submod/solvers.h>

typedef struct smoothed {
    submod_problem inner;
    double lambda;
    double *u;     /* the prox */
    double *g;     /* the gradient of one minibatch, or one that is not needed */
    double *slope; /* of the problem's smooth part */
} smoothed;

static void destroy(void *ctx)
{
    smoothed *s = ctx;
    submodi_free(s->slope);
    submodi_free(s->g);
    submodi_free(s->u);
    submodi_free(s);
}

/* A success of the problem that may be used all the same: optim.h, problems. */
static bool usable(submod_status status)
{
    return status >= SUBMOD_OK;
}

/* Fails if the gradient is not finite, although only the value is needed. */
static submod_status require_finite(const smoothed *s, submod_status status)
{
    bool good = !usable(status) || submodi_all_finite(s->slope, s->inner.dimension);
    return good ? status : SUBMOD_ENUMERIC;
}

/* *value = h(u) of a minibatch. s->slope is overwritten. */
static submod_status value_of_h(smoothed *s, size_t batch, double *value)
{
    const submod_problem *p = &s->inner;
    submod_status status;
    if (batch == SUBMOD_FULL_BATCH && p->value) {
        status = p->value(p->ctx, s->u, value);
    } else {
        status = require_finite(s, p->subgradient(p->ctx, batch, s->u, value, s->slope));
    }
    if (usable(status) && p->smooth) {
        double smooth = NAN;
        status = require_finite(s, p->smooth(p->ctx, batch, s->u, &smooth, s->slope));
        *value -= smooth;
    }
    return status;
}

/* The envelope of a minibatch, plus its smooth part. */
static submod_status envelope(smoothed *s, size_t batch, const double *x, double *value, double *g)
{
    const submod_problem *p = &s->inner;
    size_t n = p->dimension;
    double at_u = NAN, smooth = 0, squares = 0;
    submod_status status = p->prox(p->ctx, batch, x, s->lambda, s->u);
    if (usable(status) && !submodi_all_finite(s->u, n)) {
        return SUBMOD_ENUMERIC; /* a value there could not be asked for */
    }
    status = usable(status) ? value_of_h(s, batch, &at_u) : status;
    memset(s->slope, 0, n * sizeof *s->slope);
    if (usable(status) && p->smooth) {
        status = p->smooth(p->ctx, batch, x, &smooth, s->slope);
    }
    for (size_t i = 0; i < n; i++) {
        double move = x[i] - s->u[i];
        squares += move * move;
        g[i] = s->lambda * move + s->slope[i];
    }
    *value = at_u + s->lambda / 2 * squares + smooth;
    return status;
}

static submod_status smooth(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    smoothed *s = ctx;
    size_t n = s->inner.dimension, batches = s->inner.batches;
    if (batch != SUBMOD_FULL_BATCH || batches <= 1) {
        return envelope(s, batch, x, value, g);
    }
    submod_status worst = SUBMOD_OK;
    double sum = 0, one = NAN;
    memset(g, 0, n * sizeof *g);
    for (size_t k = 0; k < batches; k++) {
        submod_status status = envelope(s, k, x, &one, s->g);
        if (!usable(status)) {
            return status;
        }
        worst = worst ? worst : status;
        sum += one;
        for (size_t i = 0; i < n; i++) {
            g[i] += s->g[i] / (double)batches;
        }
    }
    *value = sum / (double)batches;
    return worst;
}

/* The prox of what is left: 0. */
static submod_status stay(void *ctx, size_t batch, const double *x, double lambda, double *u)
{
    const smoothed *s = ctx;
    (void)batch;
    (void)lambda;
    memcpy(u, x, s->inner.dimension * sizeof *u);
    return SUBMOD_OK;
}

static submod_status metric(void *ctx, const double *x, double *result)
{
    const submod_problem *p = &((smoothed *)ctx)->inner;
    return p->metric(p->ctx, x, result);
}

static smoothed *create(const submod_problem *problem, double lambda)
{
    smoothed *s = submodi_alloc(1, sizeof *s);
    if (!s) {
        return NULL;
    }
    size_t n = problem->dimension;
    *s = (smoothed){.inner = *problem, .lambda = lambda};
    s->u = submodi_alloc(n, sizeof *s->u);
    s->g = submodi_alloc(n, sizeof *s->g);
    s->slope = submodi_alloc(n, sizeof *s->slope);
    if (!s->u || !s->g || !s->slope) {
        destroy(s);
        return NULL;
    }
    return s;
}

submod_status submod_problem_smoothed(const submod_problem *problem, double lambda,
                                      submod_problem *out)
{
    submod_status status = submodi_problem_check(problem);
    status = status ? status : submodi_check_given("out", out);
    status = status ? status : submodi_check_positive("lambda", lambda);
    if (status == SUBMOD_OK && !problem->prox) {
        status = submodi_fail(SUBMOD_EINVAL, "the problem needs a prox");
    }
    if (status != SUBMOD_OK) {
        return submodi_return("submod_problem_smoothed", status);
    }
    smoothed *s = create(problem, lambda);
    if (!s) {
        return submodi_return("submod_problem_smoothed", submodi_out_of_memory());
    }
    *out = (submod_problem){.dimension = problem->dimension,
                            .batches = problem->batches,
                            .ctx = s,
                            .subgradient = smooth,
                            .prox = stay,
                            .smooth = smooth,
                            .metric = problem->metric ? metric : NULL,
                            .destroy = destroy};
    return SUBMOD_OK;
}
