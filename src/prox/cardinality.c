/* Prox of F(A) = h(|A|) + w(A), h concave.
 *
 * Moving x to x - w / lambda takes care of w. What is left treats all elements alike, so u falls
 * along the order of x - w / lambda, and f is linear on all u that do. So one sort, one chain and
 * one isotonic regression are enough.
 *
 * F({e}) is w(e) plus a constant, and only the order of these numbers matters. It matters beyond
 * the digits of x: where lambda is so large that w / lambda drowns in x, u is x, but s, which is of
 * the size of F, is no base unless ties are broken by w. So x - w / lambda is a sum of two doubles,
 * rounded and the rest. Cost: the radix sort, thrice where such rests decide, then O(n).
 */
#include "base/internal.h"
#include "base/sort.h"
#include "prox/isotonic.h"
#include "prox/solver.h"

bool submodi_can_cardinality(const submod_fn *fn)
{
    return fn->cardinality;
}

/* x - w / lambda of each element, as a sum: key is the rounded one. */
typedef struct keys {
    double *key, *rest;
} keys;

static submod_status find_keys(const submodi_prox_problem *p, void *state, keys k)
{
    size_t n = p->fn->n;
    double first = 0; /* F({0}): subtracted, because a large constant would drown x */
    submod_status status = submodi_fn_reset(p->fn, state);
    for (size_t e = 0; status == SUBMOD_OK && e < n; e++) {
        double alone = 0;
        status = submodi_fn_gain(p->fn, state, (int32_t)e, &alone);
        first = e ? first : alone;
        double less = (alone - first) / p->lambda;
        double key = p->x[e] - less;
        double taken = p->x[e] - key;
        k.key[e] = key;
        k.rest[e] = (p->x[e] - (key + taken)) + (taken - less);
    }
    if (status == SUBMOD_OK && !submodi_all_finite(k.key, n)) {
        status = submodi_fail(SUBMOD_ENUMERIC, "%s: F / lambda overflows", p->who);
    }
    return status;
}

/* order = the indices of x from its largest to its smallest entry. */
static submod_status sort(const submodi_prox_problem *p, const double *x, int32_t *order,
                          submod_work *w)
{
    submodi_sorted sorted;
    if (submodi_sort_f64(x, p->fn->n, w, &sorted) != SUBMOD_OK) {
        return submodi_nomem(p->who);
    }
    for (size_t i = 0; i < p->fn->n; i++) {
        order[i] = submodi_sorted_index(&sorted, i);
    }
    return SUBMOD_OK;
}

/* Whether elements that stand side by side have equal keys and other rests. */
static bool rests_decide(const int32_t *order, size_t n, keys k)
{
    for (size_t i = 1; i < n; i++) {
        int32_t a = order[i - 1];
        int32_t b = order[i];
        if (k.key[a] == k.key[b] && k.rest[a] != k.rest[b]) {
            return true;
        }
    }
    return false;
}

/* order = the elements by descending x - w / lambda: u falls along it. Sorts are stable, so by
 * rests first and then by keys is by both. */
static submod_status falling_order(const submodi_prox_problem *p, keys k, int32_t *order,
                                   submod_work *w)
{
    size_t n = p->fn->n;
    submod_status status = sort(p, k.key, order, w);
    if (status != SUBMOD_OK || !rests_decide(order, n, k)) {
        return status;
    }
    int32_t *by_rest = submodi_take(w, n, sizeof *by_rest);
    double *key = submodi_take(w, n, sizeof *key);
    if (!by_rest || !key) {
        return submodi_nomem(p->who);
    }
    status = sort(p, k.rest, by_rest, w);
    for (size_t i = 0; status == SUBMOD_OK && i < n; i++) {
        key[i] = k.key[by_rest[i]];
    }
    status = status ? status : sort(p, key, order, w);
    for (size_t i = 0; status == SUBMOD_OK && i < n; i++) {
        order[i] = by_rest[order[i]];
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
    submod_status status = find_keys(p, state, (keys){x, g});
    status = status ? status : falling_order(p, (keys){x, g}, order, w);
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
