/* Vector-Jacobian products of a prox, from its blocks. With S above block C and b = v averaged over
 * the blocks,
 *
 *     u_C = mean of x over C - (F(S + C) - F(S)) / (lambda |C|)
 *     d<v, u> = <b, dx> - sum over C of b_C d(F(S + C) - F(S)) / lambda
 *               + sum over C of b_C (F(S + C) - F(S)) / lambda^2 dlambda.
 *
 * F(S + C) - F(S) is the sum of s over C, which does not cancel as lambda (x - u) would. Cost:
 * O(n), and O(m) for edges, one chain for a function.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "base/sums_loops.h"
#include "prox/block_order.h"
#include "submod/fn_internal.h"
#include <submod/derivative.h>

/* The blocks, and v averaged over them. */
typedef struct blocks {
    const char *who;
    size_t n;
    const int32_t *block;
    size_t count;
    double *size, *sum; /* per block; sum is scratch */
    double *mean;       /* per element: v averaged over its block, 0 if it has none */
} blocks;

/* Checks the arguments that all three have in common. */
static submod_status require_common(const char *who, size_t n, const int32_t *block, double lambda,
                                    const double *v)
{
    if (n == 0 || n > INT32_MAX) {
        return submodi_fail(SUBMOD_EINVAL, "%s: n = %zu is not in [1, 2^31 - 1]", who, n);
    }
    submod_status status = submodi_require_given(who, "block", block);
    status = status ? status : submodi_require_given(who, "v", v);
    status = status ? status : submodi_require_positive(who, "lambda", lambda);
    for (size_t i = 0; status == SUBMOD_OK && i < n; i++) {
        if (block[i] < SUBMOD_BLOCK_FREE || block[i] >= (int32_t)n) {
            status = submodi_fail(SUBMOD_EINVAL, "%s: block[%zu] = %d is not in [%d, %zu)", who, i,
                                  (int)block[i], SUBMOD_BLOCK_FREE, n);
        }
    }
    return status ? status : submodi_require_finite(who, "v", v, n);
}

/* mean[i] = a averaged over the block of i, 0 if it has none. */
static void average(const blocks *b, const double *a, double *mean)
{
    memset(b->sum, 0, b->count * sizeof *b->sum);
    for (size_t i = 0; i < b->n; i++) {
        if (b->block[i] >= 0) {
            b->sum[b->block[i]] += a[i] / b->size[b->block[i]];
        }
    }
    for (size_t i = 0; i < b->n; i++) {
        mean[i] = b->block[i] >= 0 ? b->sum[b->block[i]] : 0;
    }
}

/* Fills all of b but who, n and block. */
static submod_status fill(blocks *b, const double *v, submod_work *w)
{
    b->count = 0;
    for (size_t i = 0; i < b->n; i++) {
        b->count = b->block[i] >= (int32_t)b->count ? (size_t)b->block[i] + 1 : b->count;
    }
    double **vectors[] = {&b->size, &b->sum, NULL};
    b->mean = submodi_take(w, b->n, sizeof *b->mean);
    if (!submodi_take_vectors(w, b->count, vectors) || !b->mean) {
        return submodi_nomem(b->who);
    }
    memset(b->size, 0, b->count * sizeof *b->size);
    for (size_t i = 0; i < b->n; i++) {
        if (b->block[i] >= 0) {
            b->size[b->block[i]]++;
        }
    }
    average(b, v, b->mean);
    return SUBMOD_OK;
}

/* ---- by x, lambda and a modular part ---- */

static submod_status multiply_by_lambda(const blocks *b, const double *s, double lambda,
                                        const double *v, double *by_lambda, submod_work *w)
{
    double *share = submodi_take(w, b->n, sizeof *share);
    if (!share) {
        return submodi_nomem(b->who);
    }
    average(b, s, share);
    *by_lambda = 0;
    for (size_t i = 0; i < b->n; i++) {
        *by_lambda += share[i] / lambda * (v[i] / lambda);
    }
    return isfinite(*by_lambda)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "%s: s v / lambda^2 overflows", b->who);
}

/* to = b->mean / divisor, without overflow even of a difference of two. */
static submod_status divide(const blocks *b, double divisor, double *to)
{
    for (size_t i = 0; i < b->n; i++) {
        to[i] = b->mean[i] / divisor;
    }
    return submodi_largest(to, b->n) <= DBL_MAX / 2
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "%s: v / lambda overflows", b->who);
}

submod_status submod_prox_vjp(size_t n, const int32_t *block, const double *s, double lambda,
                              const double *v, double *by_x, double *by_lambda, double *by_modular,
                              submod_work *work)
{
    static const char who[] = "submod_prox_vjp";
    submod_status status = require_common(who, n, block, lambda, v);
    status = status || !by_lambda ? status : submodi_require_given(who, "s", s);
    status = status || !s ? status : submodi_require_finite(who, "s", s, n);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    blocks b = {.who = who, .n = n, .block = block};
    double *scaled = submodi_take(w, n, sizeof *scaled);
    double by = 0;
    status = scaled ? fill(&b, v, w) : submodi_nomem(who);
    status = status || !by_lambda ? status : multiply_by_lambda(&b, s, lambda, v, &by, w);
    status = status || !by_modular ? status : divide(&b, -lambda, scaled);
    if (status == SUBMOD_OK) {
        for (size_t i = 0; i < n; i++) {
            b.mean[i] = block[i] == SUBMOD_BLOCK_FREE ? v[i] : b.mean[i];
        }
        submodi_copy_out(by_x, b.mean, n, sizeof *by_x);
        submodi_copy_out(by_lambda, &by, 1, sizeof *by_lambda);
        submodi_copy_out(by_modular, scaled, n, sizeof *by_modular);
    }
    submodi_scope_close(&scope);
    return status;
}

/* ---- by weights of edges ---- */

static submod_status require_edges(const char *who, size_t n, const double *u, size_t m,
                                   const int32_t *tail, const int32_t *head, double *by_weight)
{
    submod_status status = submodi_require_given(who, "u", u);
    status = status ? status : submodi_require_finite(who, "u", u, n);
    if (status == SUBMOD_OK && m && (!tail || !head || !by_weight)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: tail, head or by_weight is NULL", who);
    }
    const struct {
        const char *name;
        const int32_t *list;
    } ends[] = {{"tail", tail}, {"head", head}};
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; status == SUBMOD_OK && i < m; i++) {
            int32_t e = ends[k].list[i];
            if (e < 0 || (size_t)e >= n) {
                status = submodi_fail(SUBMOD_EINVAL, "%s: %s[%zu] = %d is not in [0, %zu)", who,
                                      ends[k].name, i, (int)e, n);
            }
        }
    }
    return status;
}

submod_status submod_prox_vjp_edges(size_t n, const int32_t *block, const double *u, double lambda,
                                    const double *v, size_t m, const int32_t *tail,
                                    const int32_t *head, int directed, double *by_weight,
                                    submod_work *work)
{
    static const char who[] = "submod_prox_vjp_edges";
    submod_status status = require_common(who, n, block, lambda, v);
    status = status ? status : require_edges(who, n, u, m, tail, head, by_weight);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    blocks b = {.who = who, .n = n, .block = block};
    status = fill(&b, v, w);
    status = status ? status : divide(&b, lambda, b.mean);
    for (size_t i = 0; status == SUBMOD_OK && i < m; i++) {
        int32_t from = tail[i];
        int32_t to = head[i];
        double sign = (double)(u[from] > u[to]) - (double)(!directed && u[from] < u[to]);
        by_weight[i] = block[from] != block[to] ? -sign * (b.mean[from] - b.mean[to]) : 0;
    }
    submodi_scope_close(&scope);
    return status;
}

/* ---- by the coefficient of a function ---- */

static submod_status differentiate(const submod_fn *fn, const blocks *b, double lambda,
                                   double *by_t, submod_work *w)
{
    double *gain = submodi_take(w, b->n, sizeof *gain);
    int32_t *order = submodi_take(w, b->n, sizeof *order);
    size_t *end = submodi_take(w, b->count, sizeof *end);
    void *state = submodi_take(w, submodi_fn_state_size(fn), 1);
    if (!gain || !order || !end || !state) {
        return submodi_nomem(b->who);
    }
    size_t k = submodi_block_order(b->n, b->block, b->count, end, order);
    submod_status status = submodi_fn_reset(fn, state);
    status = status || !k ? status : submodi_fn_chain(fn, state, order, k, gain);
    *by_t = 0;
    for (size_t i = 0; status == SUBMOD_OK && i < k; i++) {
        *by_t -= b->mean[order[i]] / lambda * gain[i];
    }
    return status || isfinite(*by_t)
               ? status
               : submodi_fail(SUBMOD_ENUMERIC, "%s: G v / lambda overflows", b->who);
}

submod_status submod_prox_vjp_function(const submod_fn *direction, const int32_t *block,
                                       double lambda, const double *v, double *by_t,
                                       submod_work *work)
{
    static const char who[] = "submod_prox_vjp_function";
    submod_status status = submodi_require_given(who, "direction", direction);
    status = status ? status : require_common(who, direction->n, block, lambda, v);
    status = status ? status : submodi_require_given(who, "by_t", by_t);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    blocks b = {.who = who, .n = direction->n, .block = block};
    double by = 0;
    status = fill(&b, v, w);
    status = status ? status : differentiate(direction, &b, lambda, &by, w);
    if (status == SUBMOD_OK) {
        *by_t = by;
    }
    submodi_scope_close(&scope);
    return status;
}
