/* Prox by the slot of the function itself. Nothing proves what user code returns, so it is compared
 * with F along the order of u: no prefix may have more of s than of F, V must have as much, and the
 * gap must be small. If it is not, another method solves the problem. Cost: the slot, a sort, a
 * chain. */
#include <float.h>
#include <math.h>

#include "base/internal.h"
#include "base/sort.h"
#include "prox/prox_internal.h"

/* Rounding of user code: differences below this share of the sizes of gains and s, and a relative
 * gap below it, are accepted. */
static const double ROUNDING = 1e-10;

bool submodi_can_own(const submod_fn *fn)
{
    return fn->ops.prox != NULL;
}

bool submodi_can_own_in_sum(const submod_fn *fn)
{
    const submodi_terms terms = submodi_fn_terms(fn);
    return terms.count == 1 && !terms.terms->inner && terms.terms->fn->ops.prox;
}

/* order = the elements by falling u, those with equal u by falling s. */
static submod_status sort(const double *u, const double *s, size_t n, int32_t *order,
                          submod_work *w)
{
    submodi_sorted by_s, by_u;
    double *key = submodi_work_alloc(w, n, sizeof *key);
    int32_t *first = submodi_work_alloc(w, n, sizeof *first);
    TRY(submodi_work_status(w));
    if (submodi_sort_f64(s, n, w, &by_s) != SUBMOD_OK) {
        return submodi_out_of_memory();
    }
    for (size_t i = 0; i < n; i++) {
        first[i] = submodi_sorted_index(&by_s, i);
        key[i] = u[first[i]];
    }
    if (submodi_sort_f64(key, n, w, &by_u) != SUBMOD_OK) {
        return submodi_out_of_memory();
    }
    for (size_t i = 0; i < n; i++) {
        order[i] = first[submodi_sorted_index(&by_u, i)];
    }
    return SUBMOD_OK;
}

/* Compares u and s with the gains along the order. Returns whether they may be the prox, and the
 * extension at u. */
static bool agrees(const submodi_prox_problem *p, const double *u, const double *s,
                   const int32_t *order, const double *gains, submodi_extension *f)
{
    size_t n = p->fn->n;
    double slack = 0, lowest = 0, weight = 0, terms = 0, miss = 0;
    *f = (submodi_extension){.known = true};
    for (size_t k = 0; k < n; k++) {
        int32_t e = order[k];
        double off = u[e] - p->x[e] + s[e] / p->lambda;
        slack += gains[k] - s[e];
        lowest = fmin(lowest, slack);
        weight += fabs(gains[k]) + fabs(s[e]);
        f->value += gains[k] * u[e];
        f->excess += slack * (k + 1 < n ? u[e] - u[order[k + 1]] : u[e]);
        miss += p->lambda * off * off;
        terms += p->lambda * p->x[e] * p->x[e] + s[e] / p->lambda * s[e];
    }
    f->size = weight * (fmax(fabs(u[order[0]]), fabs(u[order[n - 1]])) +
                        8 * DBL_EPSILON * weight / p->lambda);
    double allowed = fmax(p->settings->tolerance, ROUNDING) * terms / 2 + 8 * DBL_EPSILON * f->size;
    return lowest >= -ROUNDING * weight && fabs(slack) <= ROUNDING * weight &&
           fabs(f->excess + miss / 2) <= allowed;
}

/* Leaves a base in any case if the slot was cancelled: a greedy vector where F contradicts s. */
static submod_status check_own(const submodi_prox_problem *p, double *u, double *s, bool cancelled,
                               bool *good, submod_work *w)
{
    submodi_extension f;
    double *gains = submodi_work_alloc(w, p->fn->n, sizeof *gains);
    int32_t *order = submodi_work_alloc(w, p->fn->n, sizeof *order);
    void *state = submodi_work_alloc(w, submodi_fn_state_size(p->fn), 1);
    TRY(submodi_work_status(w));
    TRY(sort(u, s, p->fn->n, order, w));
    TRY(submodi_fn_greedy(p->fn, state, order, gains));
    *good = agrees(p, u, s, order, gains, &f);
    if (*good && p->extension && !p->settings->hinge) {
        *p->extension = f;
    }
    for (size_t k = 0; cancelled && !*good && k < p->fn->n; k++) {
        s[order[k]] = gains[k];
        u[order[k]] = p->x[order[k]] - gains[k] / p->lambda;
    }
    return SUBMOD_OK;
}

submod_status submodi_prox_own(const submodi_prox_problem *p, double *u, double *s,
                               submod_prox_info *info, submod_work *work)
{
    submodi_scope scope;
    bool good = false;
    submod_status outcome = submodi_fn_prox(p->fn, p->x, p->lambda, u, s);
    bool cancelled = outcome == SUBMOD_CANCELLED;
    TRY(outcome < 0 ? outcome : SUBMOD_OK);
    submod_status status = check_own(p, u, s, cancelled, &good, submodi_scope_open(&scope, work));
    submodi_scope_close(&scope);
    info->oracle_calls += 2;
    if (status != SUBMOD_OK || cancelled || good) {
        return status ? status : cancelled ? outcome : SUBMOD_OK;
    }
    bool decomposes = submodi_can_decompose(p->fn);
    info->method = decomposes ? SUBMOD_PROX_DECOMPOSITION : SUBMOD_PROX_MIN_NORM;
    return (decomposes ? submodi_prox_decompose : submodi_prox_min_norm)(p, u, s, info, work);
}
