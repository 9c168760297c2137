/* Frank-Wolfe (conditional gradient) for the projection of lambda x onto B(F): simple methods to
 * compare Fujishige-Wolfe with.
 *
 * Plain: s moves towards the greedy vertex by exact line search; the gap falls like 1 / iterations.
 * With away steps: s, a mean of vertices, may instead move away from the worst of them, until that
 * one has weight 0. The gap then falls linearly, at a rate that depends on the polytope.
 *
 * Cost of an iteration: a sort, a chain, O(n). With away steps, or with a combination to fill, the
 * k vertices of s are kept: O(k n) memory. Away steps also take O(k n) time. */
#include <string.h>

#include "base/error.h"
#include "base/sums_loops.h"
#include "prox/combination.h"
#include "prox/wolfe/projection.h"
#include "prox/wolfe/vertices.h"

typedef struct frank_wolfe {
    submodi_projection p;
    submodi_vertices points; /* those that s is a mean of */
    bool away;               /* whether away steps are allowed */
    bool keep;               /* whether points are kept at all */
    double *scores;          /* <row j, t>, twice: room for two copies */
    size_t room;             /* how many scores there is room for */
} frank_wolfe;

/* Finds the position of a vertex in points, and adds it if it is not there. false: no memory. */
static bool place(frank_wolfe *m, const double *vertex, const int32_t *order, size_t *position)
{
    submodi_vertices *v = &m->points;
    if (!submodi_vertices_reserve(v, v->count + 1, m->p.work)) {
        return false;
    }
    const double *row = submodi_vertices_add(v, vertex, order);
    for (size_t j = 0; j + 1 < v->count; j++) {
        if (memcmp(row, submodi_vertices_row(v, j), v->n * sizeof *row) == 0) {
            v->count--;
            *position = j;
            return true;
        }
    }
    *position = v->count - 1;
    return true;
}

static submod_status add_order(frank_wolfe *m, const int32_t *order, double weight)
{
    submodi_projection *p = &m->p;
    size_t position = 0;
    submod_status status = submodi_projection_chain(p, order, p->vertex);
    if (status == SUBMOD_OK && !place(m, p->vertex, order, &position)) {
        status = submodi_nomem(p->problem->who);
    }
    if (status == SUBMOD_OK) {
        m->points.weights[position] += weight;
    }
    return status;
}

/* Begins with the greedy vector of x, or with the caller's combination as far as limits allow. */
static submod_status start(frank_wolfe *m)
{
    submodi_projection *p = &m->p;
    const submod_combination *from = p->problem->settings->combination;
    m->keep = m->away || from;
    if (!m->keep) {
        return SUBMOD_OK;
    }
    if (!submodi_vertices_init(&m->points, p->n, p->s, from != NULL, p->work)) {
        return submodi_nomem(p->problem->who);
    }
    bool warm = from && from->n == p->n && from->count > 0;
    submod_status status = warm ? SUBMOD_OK : add_order(m, p->order, 1);
    for (size_t k = 0; warm && status == SUBMOD_OK && k < from->count; k++) {
        if (m->points.count > 0 && submodi_projection_limit(p) != SUBMOD_OK) {
            break;
        }
        if (from->weights[k] > 0) {
            status = add_order(m, from->orders + k * from->n, from->weights[k]);
        }
    }
    if (status == SUBMOD_OK) {
        submodi_vertices_normalise(&m->points);
        submodi_vertices_combine(&m->points, p->s);
    }
    return status;
}

/* Line search: moves s along (to - s) * sign by the best length, at most longest. Returns it. */
static double move(submodi_projection *p, const double *to, double sign, double longest)
{
    double square = submodi_sums()->squared_distance(to, p->s, p->n);
    double slope = sign * submodi_sums()->difference_dot(to, p->s, p->t, p->n);
    double length = slope < longest * square ? slope / square : longest;
    for (size_t i = 0; i < p->n; i++) {
        p->s[i] += length * sign * (to[i] - p->s[i]);
    }
    return length;
}

/* Drops the vertices that have no weight left. */
static void prune(submodi_vertices *v)
{
    const double no_weight = 1e-16; /* less than a rounding error of the sum */
    for (size_t j = v->count; j-- > 0;) {
        if (!(v->weights[j] > no_weight) && v->count > 1) {
            submodi_vertices_remove(v, j);
        }
    }
    submodi_vertices_normalise(v);
}

static submod_status step_towards(frank_wolfe *m)
{
    submodi_projection *p = &m->p;
    submodi_vertices *v = &m->points;
    size_t position = 0;
    if (m->keep && !place(m, p->vertex, p->order, &position)) {
        return submodi_nomem(p->problem->who);
    }
    double length = move(p, p->vertex, 1, 1);
    if (m->keep) {
        for (size_t j = 0; j < v->count; j++) {
            v->weights[j] *= 1 - length;
        }
        v->weights[position] += length;
        prune(v);
    }
    return SUBMOD_OK;
}

/* Finds the vertex that s should move away from, and its slope <s - vertex, t>. */
static submod_status worst_vertex(frank_wolfe *m, size_t *worst, double *slope)
{
    submodi_vertices *v = &m->points;
    if (m->room < v->count) {
        m->room = v->capacity;
        m->scores = submodi_take(m->p.work, m->room, 2 * sizeof *m->scores);
        if (!m->scores) {
            return submodi_nomem(m->p.problem->who);
        }
    }
    submodi_vertices_dots(v, m->p.t, m->p.t, m->scores, m->scores + m->room);
    double mean = 0;
    *worst = 0;
    for (size_t j = 0; j < v->count; j++) {
        mean += v->weights[j] * m->scores[j];
        *worst = m->scores[j] < m->scores[*worst] ? j : *worst;
    }
    *slope = mean - m->scores[*worst];
    return SUBMOD_OK;
}

/* s + length (s - vertex) has weights (1 + length) w, less length on the vertex itself. */
static void step_away(frank_wolfe *m, size_t worst)
{
    submodi_projection *p = &m->p;
    submodi_vertices *v = &m->points;
    double weight = v->weights[worst];
    double longest = weight / (1 - weight);
    const double *row = submodi_vertices_row(v, worst);
    for (size_t i = 0; i < p->n; i++) {
        p->vertex[i] = v->origin[i] + row[i];
    }
    double length = move(p, p->vertex, -1, longest);
    for (size_t j = 0; j < v->count; j++) {
        v->weights[j] *= 1 + length;
    }
    v->weights[worst] = length < longest ? v->weights[worst] - length : 0;
    prune(v);
}

static submod_status step(frank_wolfe *m)
{
    size_t worst = 0;
    double slope = 0;
    submod_status status = SUBMOD_OK;
    if (m->away) {
        status = worst_vertex(m, &worst, &slope);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    if (m->away && slope > m->p.improves && m->points.weights[worst] < 1) {
        step_away(m, worst);
        return SUBMOD_OK;
    }
    return m->p.improves > m->p.noise ? step_towards(m) : SUBMOD_INACCURATE;
}

static submod_status run(frank_wolfe *m)
{
    for (;;) {
        bool done;
        submod_status status = submodi_projection_look(&m->p, &done);
        if (!done) {
            status = step(m);
            done = status != SUBMOD_OK;
        }
        if (done) {
            return status;
        }
    }
}

static submod_status finish(frank_wolfe *m, submod_status status, double *u, double *s)
{
    if (m->keep) { /* s has the rounding errors of many steps */
        submodi_vertices_combine(&m->points, m->p.s);
    }
    submod_status written = submodi_projection_finish(&m->p, &m->points, u, s);
    return written == SUBMOD_OK ? status : written;
}

static submod_status solve(const submodi_prox_problem *problem, bool away, double *u, double *s,
                           submod_prox_info *info, submod_work *work)
{
    frank_wolfe m = {.away = away};
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submod_status status = submodi_projection_start(&m.p, problem, NULL, NULL, info, w);
    status = status ? status : start(&m);
    if (status == SUBMOD_OK) {
        status = run(&m);
        status = status < 0 ? status : finish(&m, status, u, s);
    }
    submodi_scope_close(&scope);
    return status;
}

submod_status submodi_prox_frank_wolfe(const submodi_prox_problem *problem, double *u, double *s,
                                       submod_prox_info *info, submod_work *work)
{
    return solve(problem, false, u, s, info, work);
}

submod_status submodi_prox_away_steps(const submodi_prox_problem *problem, double *u, double *s,
                                      submod_prox_info *info, submod_work *work)
{
    return solve(problem, true, u, s, info, work);
}
