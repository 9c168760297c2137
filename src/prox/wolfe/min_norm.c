/* Fujishige-Wolfe: the projection of lambda x onto the base polytope B(F), whose vertices are the
 * greedy vectors (docs/mathematics.md, section 7; Wolfe 1976, Fujishige 1980).
 *
 * Major cycle: the greedy vector for t = lambda x - s is the vertex farthest in the direction t. If
 * it lies beyond s, it joins the corral, and minor cycles (corral.c) move s to the point of the
 * corral's convex hull nearest to lambda x. |t| falls strictly, so no corral occurs twice and the
 * method is finite; in the worst case it is exponential. Here it ends as soon as the duality gap of
 * s and the best primal point (projection.c) is below the tolerance.
 *
 * Cost of a major cycle with k points in the corral: a sort, a chain, two passes over the k points,
 * O(k n), two triangular solves, O(k^2); a minor cycle O(k^2). Memory: k n + k^2 numbers, at most
 * three times over, k <= n.
 *
 * Rounding: every step is computed from distances measured at s, so the next step corrects the
 * errors of the factor. The factor is computed again when a step falls short by more than
 * drift_allowed, or when steps make no progress any more. If even that does not help, the method
 * ends with SUBMOD_INACCURATE. If F is not submodular, it usually ends this way; but a fixed point
 * of the greedy rule looks optimal to a method that sees only chains. */
#include "prox/wolfe/min_norm.h"

#include <string.h>

#include "base/error.h"
#include "prox/combination.h"
#include "prox/wolfe/corral.h"

/* A step should make r equal over the corral. If more than this share of the difference is left,
 * the factor is bad. */
static const double drift_allowed = 1e-4;
/* The method ends after this many cycles in a row without progress, each followed by a new
 * factor. */
enum { FAILURES = 3 };

typedef struct wolfe {
    submodi_projection p;
    submodi_corral corral;
    double *before;      /* s before the cycle */
    double levelled;     /* the difference in r that the last step had to remove */
    size_t next_renewal; /* the factor is not renewed for drift before this iteration */
    unsigned failures;   /* cycles without progress, in a row */
} wolfe;

static void measure_t(submodi_projection *p)
{
    for (size_t i = 0; i < p->n; i++) {
        p->t[i] = p->y[i] - p->s[i];
    }
}

/* Moves s to the best point of the corral. */
static void settle(wolfe *m)
{
    submodi_corral_settle(&m->corral);
    submodi_vertices_combine(&m->corral.points, m->p.s);
}

static submod_status add_order(wolfe *m, const int32_t *order, double weight)
{
    submodi_projection *p = &m->p;
    submodi_vertices *points = &m->corral.points;
    submod_status status = submodi_projection_chain(p, order, p->vertex);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_corral_result added = submodi_corral_add(
        &m->corral, &(submodi_candidate){.point = p->vertex, .order = order}, p->t, p->work);
    if (added == SUBMODI_CORRAL_ADDED) {
        points->weights[points->count - 1] += weight;
    }
    return added == SUBMODI_CORRAL_NO_MEMORY ? submodi_nomem(p->problem->who) : SUBMOD_OK;
}

/* Begins with the greedy vector of x, or with the orders of the caller's combination, as far as
 * they are independent and limits allow. Their weights are a first guess. */
static submod_status start(wolfe *m)
{
    submodi_projection *p = &m->p;
    const submod_combination *from = p->problem->settings->combination;
    m->before = submodi_take(p->work, p->n, sizeof *m->before);
    if (!m->before || !submodi_corral_init(&m->corral, p->n, p->s, from != NULL, p->work)) {
        return submodi_nomem(p->problem->who);
    }
    measure_t(p);
    bool warm = from && from->n == p->n && from->count > 0;
    submod_status status = SUBMOD_OK;
    for (size_t k = 0; warm && status == SUBMOD_OK && k < from->count; k++) {
        if (m->corral.points.count > 0 && submodi_projection_limit(p) != SUBMOD_OK) {
            break;
        }
        if (from->weights[k] > 0) {
            status = add_order(m, from->orders + k * from->n, from->weights[k]);
        }
    }
    if (!warm) {
        status =
            submodi_corral_add(&m->corral, &(submodi_candidate){.point = p->s, .order = p->order},
                               p->t, p->work) == SUBMODI_CORRAL_ADDED
                ? SUBMOD_OK
                : submodi_nomem(p->problem->who);
    }
    if (status == SUBMOD_OK) {
        submodi_vertices_normalise(&m->corral.points);
        submodi_vertices_combine(&m->corral.points, p->s);
        measure_t(p);
        submodi_corral_measure(&m->corral, p->t);
        settle(m);
    }
    return status;
}

/* |t|^2 before minus |t|^2 now, computed from the change of s so that it does not cancel. */
static double progress(const wolfe *m)
{
    const submodi_projection *p = &m->p;
    double sum = 0;
    for (size_t i = 0; i < p->n; i++) {
        sum += (p->s[i] - m->before[i]) * (p->t[i] + (p->y[i] - p->s[i]));
    }
    return sum;
}

/* Adds the greedy vertex and settles. *stuck: s came no closer to lambda x. */
static submod_status major_cycle(wolfe *m, bool *stuck)
{
    submodi_projection *p = &m->p;
    submodi_corral *c = &m->corral;
    *stuck = true;
    if (!(p->improves > p->noise)) {
        return SUBMOD_OK;
    }
    submodi_corral_result added = submodi_corral_add(
        c, &(submodi_candidate){.point = p->vertex, .order = p->order}, p->t, p->work);
    if (added == SUBMODI_CORRAL_NO_MEMORY) {
        return submodi_nomem(p->problem->who);
    }
    if (added == SUBMODI_CORRAL_REFUSED) {
        return SUBMOD_OK;
    }
    bool drifted = c->spread > drift_allowed * m->levelled + p->noise;
    if (drifted && p->info->iterations >= m->next_renewal) {
        /* A new factor costs about as much as this many cycles. */
        m->next_renewal = p->info->iterations + c->points.count;
        if (!submodi_corral_renew(c, p->t)) {
            return SUBMOD_INACCURATE;
        }
    }
    m->levelled = p->improves;
    memcpy(m->before, p->s, p->n * sizeof *p->s);
    settle(m);
    *stuck = !(progress(m) > 0);
    return SUBMOD_OK;
}

/* Cycles until the projection is good, a limit is hit or nothing moves any more. */
static submod_status run(wolfe *m)
{
    for (;;) {
        bool done;
        bool stuck;
        submod_status status = submodi_projection_look(&m->p, &done);
        if (done) {
            return status;
        }
        status = major_cycle(m, &stuck);
        if (status != SUBMOD_OK) {
            return status;
        }
        m->failures = stuck ? m->failures + 1 : 0;
        if (m->failures == FAILURES) {
            return SUBMOD_INACCURATE;
        }
        if (stuck) {
            measure_t(&m->p);
            if (!submodi_corral_renew(&m->corral, m->p.t)) {
                return SUBMOD_INACCURATE;
            }
            settle(m);
        }
    }
}

static submod_status finish(wolfe *m, submod_status status, double *u, double *s)
{
    submod_status written = submodi_projection_finish(&m->p, &m->corral.points, u, s);
    m->p.info->minor_cycles = m->corral.minor_cycles;
    return written == SUBMOD_OK ? status : written;
}

submod_status submodi_min_norm(const submodi_prox_problem *problem, submodi_watch *watch,
                               void *watch_ctx, double *u, double *s, submod_prox_info *info,
                               submod_work *work)
{
    wolfe m = {0};
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submod_status status = submodi_projection_start(&m.p, problem, watch, watch_ctx, info, w);
    status = status ? status : start(&m);
    if (status == SUBMOD_OK) {
        status = run(&m);
        if (status >= 0) {
            status = finish(&m, status, u, s);
        }
    }
    submodi_scope_close(&scope);
    return status;
}

/* Greedy vectors are all that these methods ask of F. */
bool submodi_can_any(const submod_fn *fn)
{
    (void)fn;
    return true;
}

submod_status submodi_prox_min_norm(const submodi_prox_problem *problem, double *u, double *s,
                                    submod_prox_info *info, submod_work *work)
{
    return submodi_min_norm(problem, NULL, NULL, u, s, info, work);
}
