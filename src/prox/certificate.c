/* Checks a certificate: that s is the base the combination describes, and how large the gap is.
 *
 * On purpose it uses only submod_fn_eval and the C library: errors in orders, chains, sorts or
 * solvers cannot hide here. Cost: n evaluations of F for each order.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/memory.h"
#include <submod/certificate.h>

static const char who[] = "submod_certificate_check";

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

/* sum += weight * (the greedy vector of order), by evaluating F on every prefix. */
static submod_status add_greedy(const submod_fn *fn, const int32_t *order, double weight,
                                double *sum)
{
    size_t n = submod_fn_size(fn);
    double before;
    submod_status status = submod_fn_eval(fn, order, 0, &before);
    for (size_t k = 1; status == SUBMOD_OK && k <= n; k++) {
        double value = 0;
        status = submodi_cancelled() ? submodi_cancel(who) : submod_fn_eval(fn, order, k, &value);
        sum[order[k - 1]] += weight * (value - before);
        before = value;
    }
    return status;
}

/* base += the base that the combination describes. */
static submod_status certified_base(const submod_fn *fn, const submod_combination *combination,
                                    double *base)
{
    size_t count = submod_combination_count(combination);
    double total = 0;
    submod_status status = SUBMOD_OK;
    for (size_t k = 0; status == SUBMOD_OK && k < count; k++) {
        double weight = submod_combination_weight(combination, k);
        if (!(weight >= 0)) {
            return submodi_fail(SUBMOD_EINVAL, "%s: weights[%zu] = %g must be >= 0", who, k,
                                weight);
        }
        total += weight;
        status = add_greedy(fn, submod_combination_order(combination, k), weight, base);
    }
    if (status == SUBMOD_OK && !(fabs(total - 1) <= 1e-12 * (double)count)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: the weights sum to %.17g; they must sum to 1", who,
                            total);
    }
    return status;
}

/* order = the elements by descending u. */
static void sort_by(const double *u, size_t n, entry *entries, int32_t *order)
{
    for (size_t i = 0; i < n; i++) {
        entries[i] = (entry){u[i], (int32_t)i};
    }
    qsort(entries, n, sizeof *entries, descending);
    for (size_t i = 0; i < n; i++) {
        order[i] = entries[i].element;
    }
}

/* b: the certified base; g: the greedy vector of u; empty: F(empty). primal - dual would cancel, so
 * the gap is computed as a sum of two terms that are >= 0:
 *     f(u) - <b, u> + lambda/2 |u - x + b / lambda|^2. */
static submod_certificate_report report_on(size_t n, const double *x, double lambda,
                                           const double *u, const double *s, const double *b,
                                           const double *g, double empty)
{
    submod_certificate_report r = {.minimum_bound = empty};
    for (size_t i = 0; i < n; i++) {
        double step = u[i] - x[i];
        double miss = step + b[i] / lambda;
        r.base_error = fmax(r.base_error, fabs(s[i] - b[i]));
        r.primal += g[i] * u[i] + lambda / 2 * step * step;
        r.dual += b[i] * (x[i] - b[i] / lambda / 2);
        r.gap += (g[i] - b[i]) * u[i] + lambda / 2 * miss * miss;
        r.minimum_bound += fmin(b[i], 0);
    }
    return r;
}

static submod_status check(const submod_fn *fn, const double *x, double lambda, const double *u,
                           const double *s, const submod_combination *combination,
                           submod_certificate_report *report)
{
    size_t n = submod_fn_size(fn);
    double *b = submodi_alloc(n, sizeof *b);
    double *g = submodi_alloc(n, sizeof *g);
    entry *entries = submodi_alloc(n, sizeof *entries);
    int32_t *order = submodi_alloc(n, sizeof *order);
    submod_status status = SUBMOD_OK;
    if (b && g && entries && order) {
        memset(b, 0, n * sizeof *b);
        memset(g, 0, n * sizeof *g);
        status = certified_base(fn, combination, b);
        if (status == SUBMOD_OK) {
            sort_by(u, n, entries, order);
            status = add_greedy(fn, order, 1, g);
        }
        double empty = 0;
        status = status ? status : submod_fn_eval(fn, order, 0, &empty);
        if (status == SUBMOD_OK) {
            submod_certificate_report r = report_on(n, x, lambda, u, s, b, g, empty);
            if (isfinite(r.primal) && isfinite(r.dual) && isfinite(r.gap)) {
                *report = r;
            } else {
                status = submodi_fail(SUBMOD_ENUMERIC, "%s: the objective overflows", who);
            }
        }
    } else {
        status = submodi_nomem(who);
    }
    submodi_free(b);
    submodi_free(g);
    submodi_free(entries);
    submodi_free(order);
    return status;
}

submod_status submod_certificate_check(const submod_fn *fn, const double *x, double lambda,
                                       const double *u, const double *s,
                                       const submod_combination *combination,
                                       submod_certificate_report *report)
{
    if (!fn || !x || !u || !s || !combination || !report) {
        return submodi_fail(SUBMOD_EINVAL, "%s: an argument is NULL", who);
    }
    submod_status status = submodi_require_positive(who, "lambda", lambda);
    size_t n = submod_fn_size(fn);
    if (status != SUBMOD_OK) {
        return status;
    }
    if (submod_combination_count(combination) == 0 || submod_combination_size(combination) != n) {
        return submodi_fail(SUBMOD_EINVAL,
                            "%s: the combination must have at least one order, of %zu elements",
                            who, n);
    }
    status = submodi_require_finite(who, "x", x, n);
    status = status ? status : submodi_require_finite(who, "u", u, n);
    status = status ? status : submodi_require_finite(who, "s", s, n);
    return status == SUBMOD_OK ? check(fn, x, lambda, u, s, combination, report) : status;
}
