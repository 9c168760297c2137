/* The projection onto the base polytope: units, linear oracle, best primal point, when to stop. A
 * look costs a sort, a chain, an isotonic regression and O(n).
 */
#include "prox/wolfe/projection.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/sort.h"
#include "base/sums_loops.h"
#include "prox/combination.h"

enum { DEFAULT_ITERATIONS = 100000 };

static double squared_length(const double *x, size_t n)
{
    return submodi_sums()->dot(x, x, n);
}

static bool allocate(submodi_projection *p)
{
    size_t n = p->n;
    submod_work *w = p->work;
    double **vectors[] = {&p->y,      &p->s,     &p->t,   &p->vertex, &p->best_t,
                          &p->best_g, &p->gains, &p->fit, NULL};
    p->order = submodi_take(w, n, sizeof *p->order);
    p->state = submodi_take(w, submodi_fn_state_size(p->problem->fn), 1);
    p->pools = submodi_take(w, n, sizeof *p->pools);
    return submodi_take_vectors(w, n, vectors) && p->order && p->state && p->pools;
}

/* p->order = the elements by descending key. */
static submod_status sort(submodi_projection *p, const double *key)
{
    submodi_scope scope;
    submodi_sorted sorted;
    submod_work *w = submodi_scope_open(&scope, p->work);
    submod_status status = submodi_sort_f64(key, p->n, w, &sorted);
    for (size_t i = 0; status == SUBMOD_OK && i < p->n; i++) {
        p->order[i] = submodi_sorted_index(&sorted, i);
    }
    submodi_scope_close(&scope);
    return status == SUBMOD_OK ? SUBMOD_OK : submodi_nomem(p->problem->who);
}

/* Gains along order, in F's own units. */
static submod_status chain(submodi_projection *p, const int32_t *order)
{
    const submod_fn *fn = p->problem->fn;
    p->info->oracle_calls++;
    if (!p->fresh) {
        return submodi_fn_greedy(fn, p->state, order, p->gains);
    }
    memcpy(p->state, p->fresh, submodi_fn_state_size(fn));
    return submodi_fn_chain(fn, p->state, order, p->n, p->gains);
}

/* Divides the gains by sigma and writes them to vertex, by element. */
static submod_status to_vertex(submodi_projection *p, const int32_t *order, double *vertex)
{
    double scale = 1 / p->sigma;
    for (size_t i = 0; i < p->n; i++) {
        p->gains[i] *= scale;
        vertex[order[i]] = p->gains[i];
    }
    double length = squared_length(p->gains, p->n);
    if (!(length <= 0x1p900)) { /* some gain is about 2^450 sigma */
        return submodi_fail(SUBMOD_ENUMERIC, "%s: the gains of F differ too much in size",
                            p->problem->who);
    }
    p->largest = fmax(p->largest, length);
    return SUBMOD_OK;
}

submod_status submodi_projection_chain(submodi_projection *p, const int32_t *order, double *vertex)
{
    submod_status status = chain(p, order);
    return status == SUBMOD_OK ? to_vertex(p, order, vertex) : status;
}

static submod_status prepare_state(submodi_projection *p)
{
    const submod_fn *fn = p->problem->fn;
    if (!fn->traits.based) {
        return SUBMOD_OK;
    }
    p->fresh = submodi_take(p->work, submodi_fn_state_size(fn), 1);
    return p->fresh ? submodi_fn_reset(fn, p->fresh) : submodi_nomem(p->problem->who);
}

submod_status submodi_projection_start(submodi_projection *p, const submodi_prox_problem *problem,
                                       submodi_watch *watch, void *watch_ctx,
                                       submod_prox_info *info, submod_work *work)
{
    *p = (submodi_projection){.problem = problem,
                              .n = problem->fn->n,
                              .sigma = 1,
                              .gap = INFINITY,
                              .view = {.low = -INFINITY, .high = INFINITY},
                              .work = work,
                              .watch = watch,
                              .watch_ctx = watch_ctx,
                              .info = info};
    double limit = problem->settings->time_limit;
    p->deadline = limit > 0 ? submodi_seconds() + limit : INFINITY;
    if (!allocate(p)) {
        return submodi_nomem(problem->who);
    }
    for (size_t i = 0; i < p->n; i++) {
        p->y[i] = problem->lambda * problem->x[i];
    }
    if (!submodi_all_finite(p->y, p->n)) {
        return submodi_fail(SUBMOD_ENUMERIC, "%s: lambda x overflows", problem->who);
    }
    submod_status status = prepare_state(p);
    status = status ? status : sort(p, p->y);
    status = status ? status : chain(p, p->order);
    if (status != SUBMOD_OK) {
        return status;
    }
    double gain = submodi_largest(p->gains, p->n);
    double largest = fmax(gain, submodi_largest(p->y, p->n));
    if (gain > 0 && gain / largest < 0x1p-1010) { /* in these units s would be 0, no base */
        return submodi_fail(SUBMOD_ENUMERIC, "%s: lambda x is too large for the gains of F",
                            problem->who);
    }
    int exponent = 0;
    frexp(largest, &exponent);
    p->sigma = ldexp(1, exponent < -1000  ? -1000
                        : exponent > 1000 ? 1000
                                          : exponent); /* so that 1 / sigma is finite */
    for (size_t i = 0; i < p->n; i++) {
        p->y[i] /= p->sigma;
    }
    return to_vertex(p, p->order, p->s);
}

/* gap(t, s) with f(t) = <g, t>; present = y - s. */
static double gap_of(const double *t, const double *g, const double *s, const double *present,
                     size_t n)
{
    return submodi_sums()->difference_dot(g, s, t, n) +
           submodi_sums()->squared_distance(t, present, n) / 2;
}

/* f is linear on all t that fall along the order. The best of them is the isotonic regression of y
 * - gains. Keeps it if it is better than the best point so far. */
static void improve_primal(submodi_projection *p)
{
    size_t n = p->n;
    double *fit_by_element = p->gains; /* the gains are no longer needed there */
    for (size_t i = 0; i < n; i++) {
        p->fit[i] = p->y[p->order[i]];
    }
    submodi_isotonic(n, p->fit, p->gains, 1, p->pools, p->fit, p->gains);
    for (size_t i = 0; i < n; i++) {
        fit_by_element[p->order[i]] = p->fit[i];
    }
    double gap = gap_of(fit_by_element, p->vertex, p->s, p->t, n);
    p->gap = isinf(p->gap) ? INFINITY : gap_of(p->best_t, p->best_g, p->s, p->t, n);
    if (gap < p->gap) {
        p->gap = gap;
        memcpy(p->best_t, fit_by_element, n * sizeof *p->best_t);
        memcpy(p->best_g, p->vertex, n * sizeof *p->best_g);
    }
}

static void measure_vertex(submodi_projection *p)
{
    p->improves = submodi_sums()->difference_dot(p->vertex, p->s, p->t, p->n);
    p->noise = 2 * DBL_EPSILON * submodi_sums()->sizes_dot(p->vertex, p->s, p->t, p->n);
}

/* Compares the gap with the terms that it is the difference of, plus the rounding errors of s, a
 * mean of greedy vectors. These errors matter when y and s are both zero. */
static bool close_enough(const submodi_projection *p)
{
    double size = (squared_length(p->y, p->n) + squared_length(p->s, p->n)) / 2;
    double rounding = 64 * DBL_EPSILON * DBL_EPSILON * p->largest;
    return fabs(p->gap) <= p->problem->settings->tolerance * size + p->allowance + rounding;
}

submod_status submodi_projection_limit(const submodi_projection *p)
{
    if (submodi_seconds() > p->deadline) {
        return SUBMOD_TIMELIMIT;
    }
    return submodi_cancelled() ? SUBMOD_CANCELLED : SUBMOD_OK;
}

static bool watched_enough(submodi_projection *p)
{
    p->view.n = p->n;
    p->view.order = p->order;
    p->view.gains = p->gains;
    p->view.s = p->s;
    p->view.sigma = p->sigma;
    return p->watch && p->watch(p->watch_ctx, &p->view);
}

submod_status submodi_projection_look(submodi_projection *p, bool *done)
{
    const submod_prox_settings *settings = p->problem->settings;
    for (size_t i = 0; i < p->n; i++) {
        p->t[i] = p->y[i] - p->s[i];
    }
    submod_status status = sort(p, p->t);
    status = status ? status : submodi_projection_chain(p, p->order, p->vertex);
    *done = true;
    if (status != SUBMOD_OK) {
        return status;
    }
    measure_vertex(p);
    bool enough = watched_enough(p);
    improve_primal(p);
    submodi_tell_progress(settings, p->info->iterations,
                          p->gap * p->sigma * (p->sigma / p->problem->lambda));
    if (enough || close_enough(p)) {
        return SUBMOD_OK;
    }
    size_t limit = settings->max_iterations ? settings->max_iterations : DEFAULT_ITERATIONS;
    if (p->info->iterations >= limit) {
        return SUBMOD_MAXITER;
    }
    status = submodi_projection_limit(p);
    if (status == SUBMOD_OK) {
        *done = false;
        p->info->iterations++;
    }
    return status;
}

/* Copies the orders and weights of the points to *to. */
static submod_status keep(const submodi_vertices *points, const char *who, submod_combination *to)
{
    submod_combination new;
    submod_status status = submodi_combination_room(who, points->n, points->count, &new);
    if (status != SUBMOD_OK) {
        return status;
    }
    for (size_t k = 0; k < points->count; k++) {
        memcpy(new.orders + k *new.n, submodi_vertices_order(points, k),
               new.n * sizeof *new.orders);
        new.weights[k] = points->weights[k];
    }
    submodi_combination_move(to, &new);
    return SUBMOD_OK;
}

submod_status submodi_projection_finish(const submodi_projection *p, const submodi_vertices *points,
                                        double *u, double *s)
{
    const submodi_prox_problem *problem = p->problem;
    double scale = p->sigma / problem->lambda;
    bool fine = true;
    for (size_t i = 0; i < p->n; i++) {
        u[i] = p->best_t[i] * scale;
        s[i] = p->s[i] * p->sigma;
        fine &= isfinite(u[i]) && isfinite(s[i]);
    }
    if (!fine) {
        return submodi_fail(SUBMOD_ENUMERIC, "%s: s / lambda overflows", problem->who);
    }
    return problem->found ? keep(points, problem->who, problem->found) : SUBMOD_OK;
}
