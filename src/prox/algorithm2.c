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
 * There are three methods. ALGORITHM_2_PRINTED follows these lines to the letter. ALGORITHM_2_LOOP
 * repairs lines 5, 10, 12 and 13; comments at these lines explain why. ALGORITHM_2 computes the
 * result of the loop by one isotonic regression in O(n log n). Entries that have met never
 * separate, which the prox sometimes needs: docs/mathematics.md, section 8, says when the result is
 * the prox. */
#include "base/internal.h"
#include "prox/prox_internal.h"

/* ---- the listing ---- */

typedef struct path {
    const submodi_prox_problem *problem;
    size_t n;
    bool printed, hinge;
    double sign; /* of the direction along g */
    double *v0, *v, *g;
    bool *tied;   /* E: g_i = g_i+1 */
    bool *beyond; /* 0, for c_z: v_i <= 0 (repaired) or v_i < 0 (printed) */
    size_t iterations;
} path;

/* An edge of f ahead: entry `at` meets the next one, or 0. */
typedef struct edge {
    double time;
    size_t at;
    bool is_zero;
} edge;

static void begin_path(path *p)
{
    for (size_t i = 0; i < p->n; i++) {
        /* Line 4. */
        p->tied[i] = i + 1 < p->n && p->v[i] == p->v[i + 1];
        /* Line 5. Repaired: the hinge is flat at and below 0, so g_i = 0 for all i with v_i <= 0.
         * Equality alone would let these entries move together. */
        p->beyond[i] = p->hinge && (p->printed ? p->v[i] < 0 : p->v[i] <= 0);
    }
}

/* Line 9: averages over each run of entries that E or c_z ties together. */
static void project(path *p)
{
    size_t n = p->n;
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

/* Line 10: finds the first edge, where two neighbours meet or an entry reaches 0. Repaired: goes
 * along -g, because g is a gradient. Rounding may put an entry past its edge; the time is then
 * 0. */
static edge next_edge(const path *p)
{
    size_t n = p->n;
    edge next = {.time = INFINITY};
    for (size_t i = 0; i < n; i++) {
        double speed = p->sign * p->g[i];
        bool may_meet = i + 1 < n && !p->tied[i] && p->beyond[i] == p->beyond[i + 1];
        double approach = may_meet ? p->sign * p->g[i + 1] - speed : 0;
        if (approach > 0) {
            double time = fmax(p->v[i] - p->v[i + 1], 0) / approach;
            next = time < next.time ? (edge){time, i, false} : next;
        }
        if (p->hinge && (p->beyond[i] ? speed > 0 : speed < 0)) {
            double time = fmax(-p->v[i] / speed, 0);
            next = time < next.time ? (edge){time, i, true} : next;
        }
    }
    return next;
}

static void move(path *p, double time)
{
    for (size_t i = 0; i < p->n; i++) {
        p->v[i] += time * p->sign * p->g[i];
    }
}

/* Line 16. All entries tied to an entry that reaches 0 reach it, too. */
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
    while (end < p->n && p->tied[end - 1]) {
        end++;
    }
    bool beyond = !p->beyond[e->at];
    for (size_t i = begin; i < end; i++) {
        p->v[i] = 0;
        p->beyond[i] = beyond;
    }
}

/* Lines 6 to 16. */
static submod_status follow(path *p, double deadline)
{
    const submod_prox_settings *settings = p->problem->settings;
    size_t limit = settings->max_iterations ? settings->max_iterations : 100000;
    for (;; p->iterations++) { /* Line 7. */
        double dot = 0;
        double norm = 0;
        project(p);
        for (size_t i = 0; i < p->n; i++) {
            dot += (p->v[i] - p->v0[i]) * p->g[i];
            norm += p->g[i] * p->g[i];
        }
        if (norm == 0) { /* Line 8, after line 9, whose projection may be 0. */
            return SUBMOD_OK;
        }
        edge next = next_edge(p);
        /* Line 11. Right for the path v - t g: this time minimises f + lambda/2 |. - v0|^2. */
        double stop = 1 / p->problem->lambda + dot / norm;
        /* Line 12. Repaired: stop is a time, so it is compared with the time of the edge and not
         * with the distance |v_next - v|. */
        if (stop < (p->printed ? next.time * sqrt(norm) : next.time)) {
            move(p, stop);    /* Line 13. Repaired: v - stop g. As printed it climbs. */
            return SUBMOD_OK; /* Line 14. */
        }
        if (p->iterations == limit) {
            return SUBMOD_MAXITER;
        }
        TRY(submodi_stop(deadline));
        move(p, next.time); /* Line 15. */
        add_constraint(p, &next);
    }
}

/* ---- the fast route ----
 *
 * Every g is a projection of all earlier ones on a smaller subspace, so <g_earlier, g> = <g, g>,
 * and line 11 says: stop = 1 / lambda - time elapsed. So n points of equal mass move with speeds g
 * for the time 1 / lambda, and points that meet go on at their mean speed. Each run ends at the
 * mean of the free end points v0 - g / lambda of its members, and any upper part of it has a lower
 * mean than the rest. So v is the projection of the free end points on the falling sequences, after
 * line 9 has averaged g over ties.
 *
 * The hinge's bound at 0 is applied at the end, by max(v, min(v0, 0)). The hinge requires a
 * monotone F, so all g are >= 0, and points that meet below 0 do not affect the points above. */

static submod_status run_regression(path *p, submod_work *w)
{
    double lambda = p->problem->lambda;
    submodi_pool *pools = submodi_work_alloc(w, p->n, sizeof *pools);
    TRY(submodi_work_status(w));
    project(p);
    submodi_isotonic(p->n, p->v0, p->g, lambda, pools, p->v, p->g);
    for (size_t i = 0; i < p->n; i++) {
        if (p->hinge) {
            submodi_compose_with_hinge(p->v0[i], lambda, &p->v[i], &p->g[i]);
        }
        p->iterations += i == 0 || p->v[i] != p->v[i - 1];
    }
    return SUBMOD_OK;
}

/* ---- for set functions ---- */

static submod_status run(path *p, double deadline, double *u, double *d, submod_work *w)
{
    const submodi_prox_problem *problem = p->problem;
    double **const vectors[] = {&p->v0, &p->v, &p->g, NULL};
    int32_t *order = submodi_work_alloc(w, p->n, sizeof *order);
    p->tied = submodi_work_alloc(w, p->n, sizeof *p->tied);
    p->beyond = submodi_work_alloc(w, p->n, sizeof *p->beyond);
    (void)submodi_take_vectors(w, p->n, vectors);
    TRY(submodi_work_status(w));
    /* Lines 1 and 3. */
    TRY(submod_lovasz(problem->fn, problem->x, NULL, d, order, SUBMOD_TIES_INDEX, w));
    for (size_t i = 0; i < p->n; i++) {
        p->v0[i] = p->v[i] = problem->x[order[i]]; /* Line 2. */
        p->g[i] = d[order[i]];
    }
    begin_path(p);
    bool fast = problem->settings->method == SUBMOD_PROX_ALGORITHM_2;
    submod_status status = fast ? run_regression(p, w) : follow(p, deadline);
    for (size_t i = 0; i < p->n; i++) { /* Line 17. */
        u[order[i]] = p->v[i];
        d[order[i]] = fast ? p->g[i] : problem->lambda * (p->v0[i] - p->v[i]);
    }
    return status < 0 || submodi_all_finite(u, p->n)
               ? status
               : submodi_fail(SUBMOD_ENUMERIC, "x - g / lambda overflows");
}

submod_status submodi_algorithm2(const submodi_prox_problem *problem, double deadline, double *u,
                                 double *d, submod_prox_info *info, submod_work *work)
{
    bool printed = problem->settings->method == SUBMOD_PROX_ALGORITHM_2_PRINTED;
    path p = {.problem = problem,
              .n = problem->fn->n,
              .printed = printed,
              .hinge = problem->settings->hinge,
              .sign = printed ? 1 : -1};
    submodi_scope scope;
    submod_status status = run(&p, deadline, u, d, submodi_scope_open(&scope, work));
    submodi_scope_close(&scope);
    info->iterations = p.iterations;
    return status;
}

/* lambda (x - u) need not be a base, so s is the greedy vector at u, which is one. The gap is
 * therefore valid. */
submod_status submodi_prox_algorithm2(const submodi_prox_problem *p, double *u, double *s,
                                      submod_prox_info *info, submod_work *work)
{
    double deadline = submodi_deadline(p->settings->time_limit);
    submod_status outcome = submodi_algorithm2(p, deadline, u, s, info, work);
    if (outcome < 0) {
        return outcome;
    }
    info->work = 2 * p->fn->n;
    info->oracle_calls = 2;
    TRY(submod_lovasz(p->fn, u, NULL, s, NULL, SUBMOD_TIES_AVERAGE, work));
    return outcome;
}
