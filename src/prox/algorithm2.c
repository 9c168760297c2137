/* Algorithm 2 of the paper's supplement, "Computation of prox_{f, lambda}(x)": follows a path
 * downhill from x, lets entries that meet stay together, and stops in time.
 *
 *    1  v0, pi <- decreasing ordering of x and permutation
 *    2  v <- v0
 *    3  g <- gradient of f at v (as a function of the sorted margins)
 *    4  E <- {constraint g_i = .. = g_i+p for each equality v_i = .. = v_i+p}
 *    5  c_z <- constraint g_z+1 = .. = g_d for z minimal index such that v_z < 0
 *    6  finished <- False
 *    7  while not finished:
 *    8    if g = 0: break
 *    9    g <- projection of g on E and c_z
 *   10    v_next <- projection of v on the closest edge of f in the direction g
 *   11    stop <- 1 / lambda + <v - v0, g> / <g, g>
 *   12    if stop < |v_next - v|:
 *   13      v <- v + stop g
 *   14      finished <- True
 *   15    else: v <- v_next
 *   16      add the new constraint to E or update c_z
 *   17  return v_{pi^-1}
 *
 * Three methods: ALGORITHM_2_PRINTED follows these lines to the letter. ALGORITHM_2_LOOP repairs
 * lines 5, 10, 12 and 13, each explained where it stands. ALGORITHM_2 computes the same as the loop
 * by one isotonic regression in O(n log n). Entries that have met never separate, which the prox
 * sometimes needs: docs/mathematics.md, section 8, says when the result is the prox.
 */
#include <math.h>

#include "base/internal.h"
#include "prox/isotonic.h"
#include "prox/prox_internal.h"

/* ---- the listing ---- */

typedef struct path {
    submodi_algorithm2 *a;
    const double *v0;
    double *v, *g;
    bool printed;
    double sign;  /* of the direction along g */
    bool *tied;   /* E: g_i = g_i+1 */
    bool *beyond; /* 0, for c_z: v_i <= 0 (repaired) or v_i < 0 (printed) */
} path;

/* An edge of f ahead: entry `at` meets the next one, or 0. */
typedef struct edge {
    double time;
    size_t at;
    bool is_zero;
} edge;

static void begin_path(path *p)
{
    const submodi_algorithm2 *a = p->a;
    for (size_t i = 0; i < a->n; i++) {
        /* Line 4. */
        p->tied[i] = i + 1 < a->n && p->v[i] == p->v[i + 1];
        /* Line 5. Repaired: the hinge is flat at and below 0, so g_i = 0 for all i with v_i <= 0.
         * Equality alone would let these entries move together. */
        p->beyond[i] = a->hinge && (p->printed ? p->v[i] < 0 : p->v[i] <= 0);
    }
}

/* Line 9: takes the mean over each run of entries that E or c_z holds together. */
static void project(path *p)
{
    size_t n = p->a->n;
    size_t z = 0;
    while (z < n && !p->beyond[z]) {
        z++;
    }
    for (size_t begin = 0, end; begin < n; begin = end) {
        double sum = p->g[begin];
        for (end = begin + 1; end < n && (p->tied[end - 1] || (p->printed && end - 1 > z)); end++) {
            sum += p->g[end];
        }
        bool flat = !p->printed && begin >= z;
        for (size_t i = begin; i < end; i++) {
            p->g[i] = flat ? 0 : sum / (double)(end - begin);
        }
    }
}

/* Line 10: the first edge, two neighbours that meet or an entry at 0. Repaired: along -g, because g
 * is a gradient. Rounding may put an entry past its edge; the time is then 0. */
static edge next_edge(const path *p)
{
    size_t n = p->a->n;
    edge next = {.time = INFINITY};
    for (size_t i = 0; i < n; i++) {
        double speed = p->sign * p->g[i];
        bool may_meet = i + 1 < n && !p->tied[i] && p->beyond[i] == p->beyond[i + 1];
        double approach = may_meet ? p->sign * p->g[i + 1] - speed : 0;
        if (approach > 0) {
            double time = fmax(p->v[i] - p->v[i + 1], 0) / approach;
            next = time < next.time ? (edge){time, i, false} : next;
        }
        if (p->a->hinge && (p->beyond[i] ? speed > 0 : speed < 0)) {
            double time = fmax(-p->v[i] / speed, 0);
            next = time < next.time ? (edge){time, i, true} : next;
        }
    }
    return next;
}

static void move(path *p, double time)
{
    for (size_t i = 0; i < p->a->n; i++) {
        p->v[i] += time * p->sign * p->g[i];
    }
}

/* Line 16. All entries tied to one that comes to 0 come with it. */
static void add_constraint(path *p, const edge *e)
{
    size_t begin = e->at, end = e->at + 1;
    if (!e->is_zero) {
        p->tied[e->at] = true;
        return;
    }
    while (begin > 0 && p->tied[begin - 1]) {
        begin--;
    }
    while (end < p->a->n && p->tied[end - 1]) {
        end++;
    }
    bool beyond = !p->beyond[e->at];
    for (size_t i = begin; i < end; i++) {
        p->v[i] = 0;
        p->beyond[i] = beyond;
    }
}

/* Lines 6 to 16. */
static submod_status follow(path *p)
{
    submodi_algorithm2 *a = p->a;
    size_t limit = a->max_iterations ? a->max_iterations : 100000;
    for (;; a->iterations++) { /* Line 7. */
        double dot = 0;
        double norm = 0;
        project(p);
        for (size_t i = 0; i < a->n; i++) {
            dot += (p->v[i] - p->v0[i]) * p->g[i];
            norm += p->g[i] * p->g[i];
        }
        if (norm == 0) { /* Line 8, after line 9, whose projection may be 0. */
            return SUBMOD_OK;
        }
        edge next = next_edge(p);
        /* Line 11. Right for the path v - t g: this time minimises f + lambda/2 |. - v0|^2 on it.
         */
        double stop = 1 / a->lambda + dot / norm;
        /* Line 12. Repaired: stop is a time, so it is compared with the time of the edge and not
         * with the distance |v_next - v|. */
        if (stop < (p->printed ? next.time * sqrt(norm) : next.time)) {
            move(p, stop);    /* Line 13. Repaired: v - stop g. As printed it climbs. */
            return SUBMOD_OK; /* Line 14. */
        }
        if (a->iterations == limit) {
            return SUBMOD_MAXITER;
        }
        TRY(submodi_stop(a->deadline));
        move(p, next.time); /* Line 15. */
        add_constraint(p, &next);
    }
}

static submod_status run_listing(submodi_algorithm2 *a, submod_work *w)
{
    path p = {.a = a,
              .v = a->v,
              .g = a->g,
              .printed = a->method == SUBMOD_PROX_ALGORITHM_2_PRINTED,
              .tied = submodi_work_alloc(w, a->n, sizeof *p.tied),
              .beyond = submodi_work_alloc(w, a->n, sizeof *p.beyond)};
    double *v0 = submodi_work_alloc(w, a->n, sizeof *v0);
    TRY(submodi_work_status(w));
    submodi_copy_out(v0, a->v, a->n, sizeof *v0); /* Line 2. */
    p.v0 = v0;
    p.sign = p.printed ? 1 : -1;
    begin_path(&p);
    submod_status status = follow(&p);
    for (size_t i = 0; i < a->n; i++) {
        a->g[i] = a->lambda * (v0[i] - a->v[i]);
    }
    return status;
}

/* ---- the fast route ----
 *
 * Every g is a projection of all earlier ones on a smaller subspace, so <g_earlier, g> = <g, g>,
 * and line 11 says: stop = 1 / lambda - time elapsed. So n points of equal mass move with speeds g
 * for the time 1 / lambda, and points that meet go on at their mean speed. Each run ends at the
 * mean of the free end points v0 - g / lambda of its members. Its upper part, which wanted to fall
 * further, has the lower mean. So v is the projection of the free end points on the falling
 * sequences.
 *
 * The wall at 0 is applied at the end, by max(v, min(v0, 0)): the hinge needs a monotone F, so all
 * g are >= 0, and points that meet below 0 do not affect those above. */

/* Line 4: replaces the gains over each run of equal entries by their mean, so that the regression
 * keeps ties together. */
static void average_over_ties(const submodi_algorithm2 *a)
{
    for (size_t begin = 0, end; begin < a->n; begin = end) {
        double sum = 0;
        for (end = begin; end < a->n && a->v[end] == a->v[begin]; end++) {
            sum += a->g[end];
        }
        for (size_t i = begin; i < end; i++) {
            a->g[i] = sum / (double)(end - begin);
        }
    }
}

static submod_status run_regression(submodi_algorithm2 *a, submod_work *w)
{
    double *u = submodi_work_alloc(w, a->n, sizeof *u);
    submodi_pool *pools = submodi_work_alloc(w, a->n, sizeof *pools);
    TRY(submodi_work_status(w));
    average_over_ties(a);
    submodi_isotonic(a->n, a->v, a->g, a->lambda, pools, u, a->g);
    for (size_t i = 0; i < a->n; i++) {
        double v0 = a->v[i];
        a->iterations += i == 0 || u[i] != u[i - 1];
        a->v[i] = a->hinge ? fmax(u[i], fmin(v0, 0)) : u[i];
        a->g[i] = a->hinge ? fmin(fmax(a->g[i], 0), a->lambda * fmax(v0, 0)) : a->g[i];
    }
    return SUBMOD_OK;
}

static submod_status run(submodi_algorithm2 *a, submod_work *work)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    a->iterations = 0;
    submod_status status =
        a->method == SUBMOD_PROX_ALGORITHM_2 ? run_regression(a, w) : run_listing(a, w);
    submodi_scope_close(&scope);
    return status;
}

/* ---- for set functions ---- */

static submod_status run_of(const submod_fn *fn, const double *x, submodi_algorithm2 *a, double *u,
                            double *d, submod_work *w)
{
    size_t n = a->n = submod_fn_size(fn);
    int32_t *order = submodi_work_alloc(w, n, sizeof *order);
    a->v = submodi_work_alloc(w, n, sizeof *a->v);
    a->g = submodi_work_alloc(w, n, sizeof *a->g);
    TRY(submodi_work_status(w));
    TRY(submod_lovasz(fn, x, NULL, d, order, SUBMOD_TIES_INDEX, w)); /* Lines 1 and 3. */
    for (size_t i = 0; i < n; i++) {
        a->v[i] = x[order[i]];
        a->g[i] = d[order[i]];
    }
    submod_status status = run(a, w);
    for (size_t i = 0; status >= 0 && i < n; i++) { /* Line 17. */
        u[order[i]] = a->v[i];
        d[order[i]] = a->g[i];
    }
    if (status >= 0 && !submodi_all_finite(u, n)) {
        return submodi_fail(SUBMOD_ENUMERIC, "x - g / lambda overflows");
    }
    return status;
}

submod_status submodi_algorithm2_of(const submod_fn *fn, const double *x, submodi_algorithm2 *a,
                                    double *u, double *d, submod_work *work)
{
    submodi_scope scope;
    submod_status status = run_of(fn, x, a, u, d, submodi_scope_open(&scope, work));
    submodi_scope_close(&scope);
    return status;
}

/* lambda (x - u) need not be a base. So s is the greedy vector at u, which always is one, and the
 * gap is true. */
static submod_status solve(submod_prox_method method, const submodi_prox_problem *p, double *u,
                           double *s, submod_prox_info *info, submod_work *work)
{
    submodi_algorithm2 a = {.method = method,
                            .lambda = p->lambda,
                            .hinge = p->settings->hinge,
                            .max_iterations = p->settings->max_iterations,
                            .deadline = submodi_deadline(p->settings->time_limit)};
    submod_status outcome = submodi_algorithm2_of(p->fn, p->x, &a, u, s, work);
    if (outcome < 0) {
        return outcome;
    }
    info->iterations = a.iterations;
    info->work = 2 * p->fn->n;
    info->oracle_calls = 2;
    submod_status status = submod_lovasz(p->fn, u, NULL, s, NULL, SUBMOD_TIES_AVERAGE, work);
    return status ? status : outcome;
}

submod_status submodi_prox_algorithm2(const submodi_prox_problem *p, double *u, double *s,
                                      submod_prox_info *info, submod_work *work)
{
    return solve(SUBMOD_PROX_ALGORITHM_2, p, u, s, info, work);
}

submod_status submodi_prox_algorithm2_loop(const submodi_prox_problem *p, double *u, double *s,
                                           submod_prox_info *info, submod_work *work)
{
    return solve(SUBMOD_PROX_ALGORITHM_2_LOOP, p, u, s, info, work);
}

submod_status submodi_prox_algorithm2_printed(const submodi_prox_problem *p, double *u, double *s,
                                              submod_prox_info *info, submod_work *work)
{
    return solve(SUBMOD_PROX_ALGORITHM_2_PRINTED, p, u, s, info, work);
}
