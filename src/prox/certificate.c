/* Checks a certificate for  min f(u) + lambda/2 |u - x|^2:  that s is the base that a combination
 * of greedy orders describes, and how large the gap is,
 *
 *     b = sum over k of w_k g(pi_k),     gap = f(u) - <b, u> + lambda/2 |u - x + b / lambda|^2,
 *
 * a sum of two terms that are >= 0 (Bach, Learning with submodular functions, 2013).
 *
 * The check uses only submod_fn_eval and the C library: errors in orders, chains, sorts or solvers
 * cannot hide here. Cost: n evaluations of F for each order. */
#include <math.h>
#include <stdlib.h>

#include "base/internal.h"
#include "prox/prox_internal.h"
#include "submod/fn_internal.h"

/* ---- combinations ---- */

void submod_combination_free(submod_combination *combination)
{
    if (combination) {
        submodi_free(combination->orders);
        submodi_free(combination->weights);
        *combination = (submod_combination){0};
    }
}

submod_status submodi_combination_alloc(size_t n, size_t count, submod_combination *new)
{
    *new = (submod_combination){.n = n, .count = count};
    new->orders = submodi_alloc(submodi_times(count, n), sizeof *new->orders);
    new->weights = submodi_alloc(count, sizeof *new->weights);
    if (!new->orders || !new->weights) {
        submod_combination_free(new);
        return submodi_out_of_memory();
    }
    return SUBMOD_OK;
}

void submodi_combination_move(submod_combination *to, submod_combination *from)
{
    submod_combination_free(to);
    *to = *from;
    *from = (submod_combination){0};
}

submod_status submodi_combination_check(const submod_combination *c)
{
    double sum = 0;
    if (!c->n || !c->count || !c->orders || !c->weights) {
        return submodi_fail(SUBMOD_EINVAL, "a combination must have orders, weights and n > 0");
    }
    TRY(submodi_check_all_nonnegative("weights", c->weights, c->count));
    for (size_t k = 0; k < c->count; k++) {
        sum += c->weights[k];
        TRY(submodi_check_elements("orders", c->orders + k * c->n, c->n, c->n));
    }
    return sum > 0 && isfinite(sum)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_EINVAL, "the weights sum to %g; they need a finite sum > 0",
                              sum);
}

/* ---- the check ---- */

/* sum += weight * (the greedy vector of order), by evaluating F on every prefix. */
static submod_status add_greedy(const submod_fn *fn, const int32_t *order, double weight,
                                double *sum)
{
    size_t n = submod_fn_size(fn);
    double before;
    TRY(submod_fn_eval(fn, order, 0, &before));
    for (size_t k = 1; k <= n; k++) {
        double value;
        if (submodi_cancelled()) {
            return submodi_fail(SUBMOD_ECANCELLED, "cancelled");
        }
        TRY(submod_fn_eval(fn, order, k, &value));
        sum[order[k - 1]] += weight * (value - before);
        before = value;
    }
    return SUBMOD_OK;
}

/* base += the base that the combination describes. */
static submod_status add_base(const submod_fn *fn, const submod_combination *c, double *base)
{
    double total = 0;
    for (size_t k = 0; k < c->count; k++) {
        total += c->weights[k];
        TRY(add_greedy(fn, c->orders + k * c->n, c->weights[k], base));
    }
    return fabs(total - 1) <= 1e-12 * (double)c->count
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_EINVAL, "the weights sum to %.17g; they must sum to 1", total);
}

typedef struct entry {
    double value;
    int32_t element;
} entry;

static int descending(const void *a, const void *b)
{
    const entry *x = a;
    const entry *y = b;
    if (x->value != y->value) {
        return x->value > y->value ? -1 : 1;
    }
    return x->element < y->element ? -1 : x->element > y->element;
}

/* g += the greedy vector of u. */
static submod_status add_greedy_of(const submod_fn *fn, const double *u, double *g,
                                   submod_work *work)
{
    size_t n = submod_fn_size(fn);
    entry *entries = submodi_work_alloc(work, n, sizeof *entries);
    int32_t *order = submodi_work_alloc(work, n, sizeof *order);
    TRY(submodi_work_status(work));
    for (size_t i = 0; i < n; i++) {
        entries[i] = (entry){u[i], (int32_t)i};
    }
    qsort(entries, n, sizeof *entries, descending);
    for (size_t i = 0; i < n; i++) {
        order[i] = entries[i].element;
    }
    return add_greedy(fn, order, 1, g);
}

typedef struct certificate {
    const submod_fn *fn;
    const double *x;
    double lambda;
    const double *u, *s;
    const submod_combination *combination;
} certificate;

/* b: the certified base; g: the greedy vector of u. */
static void fill_report(const certificate *c, const double *b, const double *g,
                        submod_certificate_report *r)
{
    for (size_t i = 0; i < submod_fn_size(c->fn); i++) {
        double step = c->u[i] - c->x[i];
        double miss = step + b[i] / c->lambda;
        r->base_error = fmax(r->base_error, fabs(c->s[i] - b[i]));
        r->primal += g[i] * c->u[i] + c->lambda / 2 * step * step;
        r->dual += b[i] * (c->x[i] - b[i] / c->lambda / 2);
        r->gap += (g[i] - b[i]) * c->u[i] + c->lambda / 2 * miss * miss;
        r->minimum_bound += fmin(b[i], 0);
    }
}

static submod_status check_arguments(const certificate *c)
{
    if (!c->fn || !c->x || !c->u || !c->s || !c->combination) {
        return submodi_fail(SUBMOD_EINVAL, "an argument is NULL");
    }
    size_t n = submod_fn_size(c->fn);
    TRY(submodi_check_positive("lambda", c->lambda));
    if (c->combination->n != n) {
        return submodi_fail(SUBMOD_EINVAL, "the orders must have %zu elements", n);
    }
    TRY(submodi_combination_check(c->combination));
    TRY(submodi_check_finite("x", c->x, n));
    TRY(submodi_check_finite("u", c->u, n));
    return submodi_check_finite("s", c->s, n);
}

static submod_status check(const certificate *c, submod_certificate_report *report,
                           submod_work *work)
{
    size_t n = submod_fn_size(c->fn);
    submod_certificate_report r = {0};
    double *b = submodi_work_alloc(work, n, sizeof *b);
    double *g = submodi_work_alloc(work, n, sizeof *g);
    TRY(submodi_work_status(work));
    memset(b, 0, n * sizeof *b);
    memset(g, 0, n * sizeof *g);
    TRY(add_base(c->fn, c->combination, b));
    TRY(add_greedy_of(c->fn, c->u, g, work));
    TRY(submod_fn_eval(c->fn, c->combination->orders, 0, &r.minimum_bound));
    fill_report(c, b, g, &r);
    if (!isfinite(r.primal) || !isfinite(r.dual) || !isfinite(r.gap)) {
        return submodi_fail(SUBMOD_ENUMERIC, "the objective overflows");
    }
    *report = r;
    return SUBMOD_OK;
}

submod_status submod_certificate_check(const submod_fn *fn, const double *x, double lambda,
                                       const double *u, const double *s,
                                       const submod_combination *combination,
                                       submod_certificate_report *report)
{
    const certificate c = {fn, x, lambda, u, s, combination};
    submod_status status = submodi_check_given("report", report);
    status = status ? status : check_arguments(&c);
    if (status == SUBMOD_OK) {
        submodi_scope scope;
        submod_work *work = submodi_scope_open(&scope, NULL);
        status = check(&c, report, work);
        submodi_scope_close(&scope);
    }
    return submodi_return("submod_certificate_check", status);
}
