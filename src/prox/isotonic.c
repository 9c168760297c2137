/* Isotonic regression by pooling adjacent violators, and the proxes that follow from one sort and
 * at most one regression: modular functions and functions of the cardinality. */
#include "base/internal.h"
#include "base/sort.h"
#include "prox/prox_internal.h"

double submodi_block_level(size_t k, const double *x, double g, double lambda, double *s)
{
    double mean = 0;
    for (size_t i = 0; i < k; i++) {
        mean += x[i] - x[0];
    }
    mean /= (double)k;
    for (size_t i = 0; i < k; i++) {
        s[i] = g + lambda * ((x[i] - x[0]) - mean);
    }
    return x[0] + (mean - g / lambda);
}

void submodi_isotonic(size_t n, const double *x, const double *g, double lambda,
                      submodi_pool *pools, double *u, double *s)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        count = submodi_pool_add(pools, count, (submodi_pool){i, x[i], g[i], 1}, lambda);
    }
    for (size_t b = 0; b < count; b++) {
        size_t begin = pools[b].begin;
        size_t end = b + 1 < count ? pools[b + 1].begin : n;
        double value = submodi_block_level(end - begin, x + begin, pools[b].g, lambda, s + begin);
        for (size_t i = begin; i < end; i++) {
            u[i] = value;
        }
    }
}

/* ---- modular functions: B(F) is one point, s, and u = x - s / lambda ---- */

bool submodi_can_closed_form(const submod_fn *fn)
{
    return fn->modular;
}

static submod_status solve_modular(const submodi_prox_problem *p, double *u, double *s,
                                   submod_work *w)
{
    size_t n = p->fn->n;
    int32_t *order = submodi_work_alloc(w, n, sizeof *order);
    void *state = submodi_work_alloc(w, submodi_fn_state_size(p->fn), 1);
    TRY(submodi_work_status(w));
    submodi_ascending(order, n);
    TRY(submodi_fn_greedy(p->fn, state, order, s));
    for (size_t i = 0; i < n; i++) {
        u[i] = p->x[i] - s[i] / p->lambda;
    }
    return SUBMOD_OK;
}

submod_status submodi_prox_closed_form(const submodi_prox_problem *p, double *u, double *s,
                                       submod_prox_info *info, submod_work *work)
{
    submodi_scope scope;
    submod_status status = solve_modular(p, u, s, submodi_scope_open(&scope, work));
    info->oracle_calls = 1;
    submodi_scope_close(&scope);
    return status;
}

/* ---- F(A) = h(|A|) + w(A), h concave ----
 *
 * u falls along the order of x - w / lambda (docs/mathematics.md, section 7), so one sort, one
 * chain and one regression are enough. F({e}) is w(e) plus a constant, so it can replace w(e) in
 * the order. Where w / lambda is below the rounding of x, u is x, but s is a base only if w breaks
 * the ties. So x - w / lambda is kept as a sum of two doubles, the rounded value and the rest. */

bool submodi_can_cardinality(const submod_fn *fn)
{
    return fn->cardinality;
}

/* Computes x - w / lambda of each element as key + rest. */
static submod_status find_keys(const submodi_prox_problem *p, void *state, double *key,
                               double *rest)
{
    size_t n = p->fn->n;
    double first = 0; /* F({0}): subtracted, because x would be lost in a large constant */
    TRY(submodi_fn_reset(p->fn, state));
    for (size_t e = 0; e < n; e++) {
        double alone = 0;
        TRY(submodi_fn_gain(p->fn, state, (int32_t)e, &alone));
        first = e ? first : alone;
        double less = (alone - first) / p->lambda;
        key[e] = p->x[e] - less;
        double taken = p->x[e] - key[e];
        rest[e] = (p->x[e] - (key[e] + taken)) + (taken - less);
    }
    return submodi_all_finite(key, n) ? SUBMOD_OK
                                      : submodi_fail(SUBMOD_ENUMERIC, "F / lambda overflows");
}

/* Sorts elements by descending key; equal keys keep their order. values: scratch. */
static submod_status sort_by(const double *key, int32_t *order, size_t n, double *values,
                             submod_work *w)
{
    submodi_sorted sorted;
    int32_t *copy = submodi_work_alloc(w, n, sizeof *copy);
    TRY(submodi_work_status(w));
    for (size_t i = 0; i < n; i++) {
        values[i] = key[order[i]];
        copy[i] = order[i];
    }
    if (submodi_sort_f64(values, n, w, &sorted) != SUBMOD_OK) {
        return submodi_out_of_memory();
    }
    for (size_t i = 0; i < n; i++) {
        order[i] = copy[submodi_sorted_index(&sorted, i)];
    }
    return SUBMOD_OK;
}

/* order = the elements by descending key, equal keys by descending rest. */
static submod_status falling_order(size_t n, const double *key, const double *rest, int32_t *order,
                                   double *values, submod_work *w)
{
    bool differ = false; /* whether the rests of equal keys do */
    submodi_ascending(order, n);
    TRY(sort_by(key, order, n, values, w));
    for (size_t i = 1; i < n; i++) {
        int32_t a = order[i - 1], b = order[i];
        differ = differ || (key[a] == key[b] && rest[a] != rest[b]);
    }
    if (differ) {
        submodi_ascending(order, n);
        TRY(sort_by(rest, order, n, values, w));
        TRY(sort_by(key, order, n, values, w));
    }
    return SUBMOD_OK;
}

static submod_status solve_cardinality(const submodi_prox_problem *p, double *u, double *s,
                                       submod_work *w)
{
    size_t n = p->fn->n;
    void *state = submodi_work_alloc(w, submodi_fn_state_size(p->fn), 1);
    int32_t *order = submodi_work_alloc(w, n, sizeof *order);
    double *x = submodi_work_alloc(w, n, sizeof *x);
    double *g = submodi_work_alloc(w, n, sizeof *g);
    double *values = submodi_work_alloc(w, n, sizeof *values);
    submodi_pool *pools = submodi_work_alloc(w, n, sizeof *pools);
    TRY(submodi_work_status(w));
    TRY(find_keys(p, state, x, g));
    TRY(falling_order(n, x, g, order, values, w));
    TRY(submodi_fn_chain(p->fn, state, order, n, g));
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
    submod_status status = solve_cardinality(p, u, s, submodi_scope_open(&scope, work));
    info->oracle_calls = 1;
    submodi_scope_close(&scope);
    return status;
}
