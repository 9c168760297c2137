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

/* A step should make r equal over the corral. If more than this share of the difference is left,
 * the factor is bad. */
static const double drift_allowed = 1e-4;
/* The method ends after this many cycles in a row without progress, each followed by a new
 * factor. */
enum { FAILURES = 3 };

static void measure_t(submodi_projection *p)
{
    for (size_t i = 0; i < p->n; i++) {
        p->t[i] = p->y[i] - p->s[i];
    }
}

/* Moves s to the best point of the corral. */
static void settle(submodi_wolfe *m)
{
    submodi_corral_settle(&m->corral);
    submodi_vertices_combine(&m->corral.points, m->p.s);
}

static bool is_known(const submodi_start *from, size_t k)
{
    return from->known && from->known[k];
}

/* The greedy vector of start k, by element, in p->vertex. */
static submod_status find_point(submodi_projection *p, const submodi_start *from, size_t k)
{
    if (!is_known(from, k)) {
        return submodi_projection_chain(p, from->orders + k * p->n, p->vertex);
    }
    for (size_t i = 0; i < p->n; i++) {
        p->vertex[i] = from->points[k * p->n + i] / p->sigma;
    }
    return SUBMOD_OK;
}

static submod_status add_point(submodi_wolfe *m, const double *point, const int32_t *order,
                               double weight)
{
    submodi_projection *p = &m->p;
    submodi_vertices *points = &m->corral.points;
    submodi_candidate new = {.point = point, .order = order};
    submodi_corral_result added = submodi_corral_add(&m->corral, &new, p->t, p->work);
    if (added == SUBMODI_CORRAL_ADDED) {
        points->weights[points->count - 1] += weight;
    }
    return added == SUBMODI_CORRAL_NO_MEMORY ? submodi_nomem(p->problem->who) : SUBMOD_OK;
}

/* Adds the points that are independent, as far as limits allow. */
static submod_status add_starts(submodi_wolfe *m, const submodi_start *from)
{
    submodi_projection *p = &m->p;
    submod_status status = SUBMOD_OK;
    for (size_t k = 0; status == SUBMOD_OK && k < from->count; k++) {
        if (m->corral.points.count > 0 && submodi_projection_limit(p) != SUBMOD_OK) {
            break;
        }
        if (from->weights[k] > 0 || is_known(from, k)) {
            status = find_point(p, from, k);
            status = status ? status
                            : add_point(m, p->vertex, from->orders + k * p->n, from->weights[k]);
        }
    }
    return status;
}

/* Begins with the points of the caller, or with the greedy vector of x. */
submod_status submodi_wolfe_start(submodi_wolfe *m, const submodi_start *from)
{
    submodi_projection *p = &m->p;
    m->before = submodi_take(p->work, p->n, sizeof *m->before);
    if (!m->before || !submodi_corral_init(&m->corral, p->n, p->s, true, p->work)) {
        return submodi_nomem(p->problem->who);
    }
    measure_t(p);
    submod_status status = from->count ? add_starts(m, from) : add_point(m, p->s, p->order, 1);
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
static double progress(const submodi_wolfe *m)
{
    const submodi_projection *p = &m->p;
    double sum = 0;
    for (size_t i = 0; i < p->n; i++) {
        sum += (p->s[i] - m->before[i]) * (p->t[i] + (p->y[i] - p->s[i]));
    }
    return sum;
}

/* Adds the greedy vertex and settles. *stuck: s came no closer to lambda x. */
static submod_status major_cycle(submodi_wolfe *m, bool *stuck)
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

/* Whether enough of the problem comes apart. */
static bool comes_apart(submodi_wolfe *m)
{
    size_t n = m->p.n;
    size_t count = m->cuts ? submodi_level_cuts(&m->p, m->cuts) : 0;
    size_t largest = 0;
    for (size_t j = 0; j <= count; j++) {
        size_t begin = j ? m->cuts[j - 1].rank : 0;
        size_t end = j < count ? m->cuts[j].rank : n;
        largest = end - begin > largest ? end - begin : largest;
    }
    m->cut_count = largest <= n - n / 8 ? count : 0;
    return m->cut_count > 0;
}

submod_status submodi_wolfe_run(submodi_wolfe *m)
{
    for (;;) {
        bool done;
        bool stuck;
        submod_status status = submodi_projection_look(&m->p, &done);
        if (done || comes_apart(m)) {
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
