/* Prox of F(A) = h(|A|) + w(A), h concave.
 *
 * Moving x to x - w / lambda takes care of w. What is left treats all elements alike, so u falls
 * along the order of x - w / lambda, and f is linear on all u that do. So one sort, one chain and
 * one isotonic regression are enough.
 *
 * F({e}) is w(e) plus a constant, and only the order of these numbers matters. Rounding in them can
 * only swap elements that tie up to rounding. Cost: the radix sort, then O(n).
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/sort.h"
#include "prox/isotonic.h"
#include "prox/solver.h"

bool submodi_can_cardinality(const submod_fn *fn)
{
    return fn->traits.cardinality;
}

/* order = the elements by descending x - w / lambda: u falls along it. */
static submod_status falling_order(const submodi_prox_problem *p, void *state, double *key,
                                   int32_t *order, submod_work *w)
{
    size_t n = p->fn->n;
    double first = 0; /* F({0}): subtracted, because a large constant would drown x */
    submod_status status = submodi_fn_reset(p->fn, state);
    for (size_t e = 0; status == SUBMOD_OK && e < n; e++) {
        double alone = 0;
        status = submodi_fn_gain(p->fn, state, (int32_t)e, &alone);
        first = e ? first : alone;
        key[e] = p->x[e] - (alone - first) / p->lambda;
    }
    if (status == SUBMOD_OK && !submodi_all_finite(key, n)) {
        status = submodi_fail(SUBMOD_ENUMERIC, "%s: F / lambda overflows", p->who);
    }
    submodi_sorted sorted;
    if (status == SUBMOD_OK && submodi_sort_f64(key, n, w, &sorted) != SUBMOD_OK) {
        status = submodi_nomem(p->who);
    }
    for (size_t i = 0; status == SUBMOD_OK && i < n; i++) {
        order[i] = submodi_sorted_index(&sorted, i);
    }
    return status;
}

static submod_status solve(const submodi_prox_problem *p, double *u, double *s, submod_work *w)
{
    size_t n = p->fn->n;
    void *state = submodi_take(w, submodi_fn_state_size(p->fn), 1);
    int32_t *order = submodi_take(w, n, sizeof *order);
    double *x = submodi_take(w, n, sizeof *x);
    double *g = submodi_take(w, n, sizeof *g);
    submodi_pool *pools = submodi_take(w, n, sizeof *pools);
    if (!state || !order || !x || !g || !pools) {
        return submodi_nomem(p->who);
    }
    submod_status status = falling_order(p, state, x, order, w);
    status = status ? status : submodi_fn_chain(p->fn, state, order, n, g);
    if (status != SUBMOD_OK) {
        return status;
    }
    for (size_t i = 0; i < n; i++) {
        x[i] = p->x[order[i]];
    }
    submodi_isotonic(n, x, g, p->lambda, pools, x, g);
    for (size_t i = 0; i < n; i++) {
        u[order[i]] = x[i];
        s[order[i]] = g[i];
    }
    return SUBMOD_OK;
}

submod_status submodi_prox_cardinality(const submodi_prox_problem *p, double *u, double *s,
                                       submod_prox_info *info, submod_work *work)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submod_status status = solve(p, u, s, w);
    info->oracle_calls = 1;
    submodi_scope_close(&scope);
    return status;
}
