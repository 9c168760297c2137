/* Prox-SVRG (Xiao and Zhang 2014): proximal gradient steps on minibatches, with the gradient
 *
 *     v = gradient of s_k at x - that at the anchor + gradient of their mean at the anchor,
 *
 * whose variance goes to 0 as x and the anchor go to the minimum. After a stage of steps the anchor
 * moves to their mean. Cost of a stage: a full gradient, two gradients of minibatches and a prox
 * for each step, and one prox more for the trace. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/settings.h"
#include "optim/deck.h"
#include "optim/monitor.h"
#include <submod/solvers.h>

static const char who[] = "submod_svrg";

submod_svrg_settings submod_svrg_defaults(void)
{
    return (submod_svrg_settings){.struct_size = sizeof(submod_svrg_settings),
                                  .run = submodi_run_defaults(),
                                  .order = SUBMOD_BATCH_RANDOM,
                                  .seed = 1};
}

typedef struct run {
    size_t n, inner; /* inner: steps of a stage */
    double eta;
    submodi_monitor monitor;
    submodi_deck deck;
    size_t steps;
    double *anchor;    /* the caller's x */
    double *full;      /* the gradient of smooth there */
    double *x, *mean;  /* of this stage */
    double *g, *there; /* gradients of a minibatch, at x and at the anchor */
    double *point;     /* before a prox */
} run;

static submod_status check(const submod_problem *problem, const double *x,
                           const submod_svrg_settings *s)
{
    submod_status status = submodi_problem_check(who, problem);
    status = status ? status : submodi_require_given(who, "x", x);
    status = status ? status : submodi_require_given(who, "settings", s);
    if (status == SUBMOD_OK && (!problem->smooth || !problem->prox)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: the problem needs a smooth part and a prox", who);
    }
    status = status ? status : submodi_order_check(who, s->order);
    status = status ? status : submodi_require_positive(who, "eta", s->eta);
    status = status ? status : submodi_run_check(who, &s->run);
    return status ? status : submodi_require_finite(who, "x", x, problem->dimension);
}

/* u = the prox at x - eta v. */
static submod_status move(run *r, const double *x, const double *v, double *u)
{
    for (size_t i = 0; i < r->n; i++) {
        r->point[i] = x[i] - r->eta * v[i];
    }
    return submodi_oracle_prox(&r->monitor.oracle, SUBMOD_FULL_BATCH, r->point, 1 / r->eta, u);
}

/* The gradient at the anchor, and the norm of what a full step would move by, over eta. */
static submod_status look_around(run *r, double *norm)
{
    double value;
    submodi_oracle *o = &r->monitor.oracle;
    submod_status status = submodi_oracle_smooth(o, SUBMOD_FULL_BATCH, r->anchor, &value, r->full);
    status = status ? status : move(r, r->anchor, r->full, r->x);
    for (size_t i = 0; status == SUBMOD_OK && i < r->n; i++) {
        r->g[i] = (r->anchor[i] - r->x[i]) / r->eta;
    }
    *norm = status ? NAN : submodi_norm(r->g, r->n);
    return status;
}

static submod_status step(run *r)
{
    double value;
    submodi_oracle *o = &r->monitor.oracle;
    size_t batch = submodi_deck_draw(&r->deck, r->steps++);
    submod_status status = submodi_oracle_smooth(o, batch, r->x, &value, r->g);
    status = status ? status : submodi_oracle_smooth(o, batch, r->anchor, &value, r->there);
    for (size_t i = 0; status == SUBMOD_OK && i < r->n; i++) {
        r->g[i] += r->full[i] - r->there[i];
    }
    return status ? status : move(r, r->x, r->g, r->x);
}

static submod_status stage(run *r)
{
    submod_status status = SUBMOD_OK;
    size_t j = 0;
    memcpy(r->x, r->anchor, r->n * sizeof *r->x);
    memset(r->mean, 0, r->n * sizeof *r->mean);
    while (status == SUBMOD_OK && j < r->inner && !submodi_monitor_over(&r->monitor)) {
        status = step(r);
        j++;
        for (size_t i = 0; status == SUBMOD_OK && i < r->n; i++) {
            r->mean[i] += (r->x[i] - r->mean[i]) / (double)j;
        }
    }
    if (status == SUBMOD_OK && j > 0) {
        memcpy(r->anchor, r->mean, r->n * sizeof *r->mean);
    }
    return status;
}

static submod_status iterate(run *r, double *f)
{
    for (size_t k = 0;; k++) {
        double norm;
        bool stop = false;
        *f = NAN;
        r->monitor.oracle.iteration = k;
        submod_status status = look_around(r, &norm);
        status = status ? status
                        : submodi_monitor_look(&r->monitor, k, r->anchor, norm, r->eta, f, &stop);
        if (status != SUBMOD_OK || stop) {
            return status;
        }
        submodi_monitor_keep(&r->monitor, r->anchor, *f);
        status = stage(r);
        if (status != SUBMOD_OK) {
            return status;
        }
    }
}

static submod_status take_memory(run *r, submod_work *work)
{
    double **vectors[] = {&r->full, &r->x, &r->mean, &r->g, &r->there, &r->point, NULL};
    return submodi_take_vectors(work, r->n, vectors) ? SUBMOD_OK : submodi_nomem(who);
}

submod_status submod_svrg(const submod_problem *problem, double *x,
                          const submod_svrg_settings *settings, submod_optim_info *info,
                          submod_work *work)
{
    submod_svrg_settings s = submod_svrg_defaults();
    submod_status status = submodi_read_settings(who, "submod_svrg_defaults", settings, &s);
    status = status ? status : check(problem, x, settings ? &s : NULL);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    run r = {.n = problem->dimension, .eta = s.eta, .anchor = x};
    status = submodi_deck_open(&r.deck, who, problem, s.order, s.seed, w);
    r.inner = s.inner > 0 ? s.inner : submodi_times(2, r.deck.count);
    status = status ? status : take_memory(&r, w);
    status = status ? status : submodi_monitor_start(&r.monitor, who, problem, &s.run, w);
    if (status == SUBMOD_OK) {
        double f = NAN;
        status = iterate(&r, &f);
        status = submodi_monitor_finish(&r.monitor, status, f, x, info);
    }
    submodi_scope_close(&scope);
    return status;
}
