/* Combinations, and the check of a certificate for  min f(u) + lambda/2 |u - x|^2:  how far s is
 * from the base that a combination of greedy orders describes, and how large the gap is,
 *
 *     b = sum over k of w_k g(pi_k),     gap = f(u) - <b, u> + lambda/2 |u - x + b / lambda|^2,
 *
 * a sum of two terms that are >= 0 (Bach, Learning with submodular functions, 2013).
 *
 * The check uses only submod_fn_eval: errors in orders, chains, sorts or solvers cannot hide here.
 * Cost: n evaluations of F for each order. */
#include <math.h>

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
    double before;
    TRY(submod_fn_eval(fn, order, 0, &before));
    for (size_t k = 1; k <= submod_fn_size(fn); k++) {
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

/* Sorts the elements by falling u, by insertion: no slower than the evaluations that follow. */
static void sort_by(const double *u, size_t n, int32_t *order)
{
    for (size_t i = 0; i < n; i++) {
        size_t k = i;
        for (; k > 0 && u[order[k - 1]] < u[i]; k--) {
            order[k] = order[k - 1];
        }
        order[k] = (int32_t)i;
    }
}

static submod_status check_arguments(const submod_fn *fn, const double *x, double lambda,
                                     const double *u, const double *s, const submod_combination *c)
{
    if (!fn || !x || !u || !s || !c) {
        return submodi_fail(SUBMOD_EINVAL, "an argument is NULL");
    }
    size_t n = submod_fn_size(fn);
    TRY(submodi_check_positive("lambda", lambda));
    if (c->n != n) {
        return submodi_fail(SUBMOD_EINVAL, "the orders must have %zu elements", n);
    }
    TRY(submodi_combination_check(c));
    TRY(submodi_check_finite("x", x, n));
    TRY(submodi_check_finite("u", u, n));
    return submodi_check_finite("s", s, n);
}

static submod_status check(const submod_fn *fn, const double *x, double lambda, const double *u,
                           const double *s, const submod_combination *c,
                           submod_certificate_report *r, submod_work *work)
{
    size_t n = submod_fn_size(fn);
    double *b = submodi_work_alloc(work, n, sizeof *b); /* the certified base */
    double *g = submodi_work_alloc(work, n, sizeof *g); /* the greedy vector of u */
    int32_t *order = submodi_work_alloc(work, n, sizeof *order);
    TRY(submodi_work_status(work));
    memset(b, 0, n * sizeof *b);
    memset(g, 0, n * sizeof *g);
    sort_by(u, n, order);
    TRY(add_base(fn, c, b));
    TRY(add_greedy(fn, order, 1, g));
    TRY(submod_fn_eval(fn, order, 0, &r->minimum_bound));
    for (size_t i = 0; i < n; i++) {
        double step = u[i] - x[i];
        double miss = step + b[i] / lambda;
        r->base_error = fmax(r->base_error, fabs(s[i] - b[i]));
        r->primal += g[i] * u[i] + lambda / 2 * step * step;
        r->dual += b[i] * (x[i] - b[i] / lambda / 2);
        r->gap += (g[i] - b[i]) * u[i] + lambda / 2 * miss * miss;
        r->minimum_bound += fmin(b[i], 0);
    }
    return isfinite(r->primal) && isfinite(r->dual) && isfinite(r->gap)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "the objective overflows");
}

submod_status submod_certificate_check(const submod_fn *fn, const double *x, double lambda,
                                       const double *u, const double *s,
                                       const submod_combination *combination,
                                       submod_certificate_report *report)
{
    submod_certificate_report found = {0};
    submod_status status = submodi_check_given("report", report);
    status = status ? status : check_arguments(fn, x, lambda, u, s, combination);
    if (status == SUBMOD_OK) {
        submodi_scope scope;
        submod_work *work = submodi_scope_open(&scope, NULL);
        status = check(fn, x, lambda, u, s, combination, &found, work);
        submodi_scope_close(&scope);
    }
    if (status == SUBMOD_OK) {
        *report = found;
    }
    return submodi_return("submod_certificate_check", status);
}
