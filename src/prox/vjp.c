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

#include "base/error.h"
#include "base/memory.h"
#include "base/sums_loops.h"
#include "submod/handle.h"
#include <submod/derivative.h>

/* Sums over blocks. */
typedef struct blocks {
    size_t n;
    const int32_t *block;
    size_t count;
    double *size, *sum;
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

static submod_status measure(const char *who, size_t n, const int32_t *block, blocks *b,
                             submod_work *w)
{
    *b = (blocks){.n = n, .block = block};
    for (size_t i = 0; i < n; i++) {
        b->count = block[i] >= (int32_t)b->count ? (size_t)block[i] + 1 : b->count;
    }
    double **vectors[] = {&b->size, &b->sum, NULL};
    if (!submodi_take_vectors(w, b->count, vectors)) {
        return submodi_nomem(who);
    }
    memset(b->size, 0, b->count * sizeof *b->size);
    for (size_t i = 0; i < n; i++) {
        if (block[i] >= 0) {
            b->size[block[i]]++;
        }
    }
    return SUBMOD_OK;
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

/* ---- by x, lambda and a modular part ---- */

static submod_status multiply(const char *who, const blocks *b, const double *s, double lambda,
                              const double *v, double *mean, double *by_lambda, submod_work *w)
{
    average(b, v, mean);
    *by_lambda = 0;
    if (!s) {
        return SUBMOD_OK;
    }
    double *share = submodi_take(w, b->n, sizeof *share);
    if (!share) {
        return submodi_nomem(who);
    }
    average(b, s, share);
    for (size_t i = 0; i < b->n; i++) {
        *by_lambda += share[i] / lambda * (v[i] / lambda);
    }
    return isfinite(*by_lambda)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "%s: s v / lambda^2 overflows", who);
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
    blocks b;
    double *mean = submodi_take(w, n, sizeof *mean);
    double *scaled = submodi_take(w, n, sizeof *scaled);
    double by = 0;
    status = mean && scaled ? measure(who, n, block, &b, w) : submodi_nomem(who);
    status = status ? status : multiply(who, &b, by_lambda ? s : NULL, lambda, v, mean, &by, w);
    for (size_t i = 0; status == SUBMOD_OK && i < n; i++) {
        scaled[i] = -mean[i] / lambda;
        mean[i] = block[i] == SUBMOD_BLOCK_FREE ? v[i] : mean[i];
    }
    if (status == SUBMOD_OK && by_modular && !submodi_all_finite(scaled, n)) {
        status = submodi_fail(SUBMOD_ENUMERIC, "%s: v / lambda overflows", who);
    }
    if (status == SUBMOD_OK) {
        submodi_copy_out(by_x, mean, n, sizeof *by_x);
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
    blocks b;
    double *mean = submodi_take(w, n, sizeof *mean);
    status = mean ? measure(who, n, block, &b, w) : submodi_nomem(who);
    if (status == SUBMOD_OK) {
        average(&b, v, mean);
        for (size_t i = 0; status == SUBMOD_OK && i < n; i++) {
            mean[i] /= lambda;
        }
        /* A difference of two of them must not overflow either. */
        status = submodi_largest(mean, n) <= DBL_MAX / 2
                     ? SUBMOD_OK
                     : submodi_fail(SUBMOD_ENUMERIC, "%s: v / lambda overflows", who);
    }
    for (size_t i = 0; status == SUBMOD_OK && i < m; i++) {
        int32_t from = tail[i];
        int32_t to = head[i];
        double sign = (double)(u[from] > u[to]) - (double)(!directed && u[from] < u[to]);
        by_weight[i] = block[from] != block[to] ? -sign * (mean[from] - mean[to]) : 0;
    }
    submodi_scope_close(&scope);
    return status;
}

/* ---- by the coefficient of a function ---- */

/* order = the elements that are in blocks, sorted by block, by counting. Returns their number. */
static size_t sort_by_block(const blocks *b, size_t *place, int32_t *order)
{
    size_t begin = 0;
    for (size_t j = 0; j < b->count; j++) {
        place[j] = begin;
        begin += (size_t)b->size[j];
    }
    for (size_t i = 0; i < b->n; i++) {
        if (b->block[i] >= 0) {
            order[place[b->block[i]]++] = (int32_t)i;
        }
    }
    return begin;
}

static submod_status differentiate(const char *who, const submod_fn *fn, const blocks *b,
                                   double lambda, const double *v, double *by_t, submod_work *w)
{
    double *mean, *gain;
    double **vectors[] = {&mean, &gain, NULL};
    bool good = submodi_take_vectors(w, b->n, vectors);
    int32_t *order = submodi_take(w, b->n, sizeof *order);
    size_t *place = submodi_take(w, b->count, sizeof *place);
    void *state = submodi_take(w, submodi_fn_state_size(fn), 1);
    if (!good || !order || !place || !state) {
        return submodi_nomem(who);
    }
    average(b, v, mean);
    size_t k = sort_by_block(b, place, order);
    submod_status status = submodi_fn_reset(fn, state);
    status = status || !k ? status : submodi_fn_chain(fn, state, order, k, gain);
    *by_t = 0;
    for (size_t i = 0; status == SUBMOD_OK && i < k; i++) {
        *by_t -= mean[order[i]] / lambda * gain[i];
    }
    return status || isfinite(*by_t)
               ? status
               : submodi_fail(SUBMOD_ENUMERIC, "%s: G v / lambda overflows", who);
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
    blocks b;
    double by = 0;
    status = measure(who, direction->n, block, &b, w);
    status = status ? status : differentiate(who, direction, &b, lambda, v, &by, w);
    if (status == SUBMOD_OK) {
        *by_t = by;
    }
    submodi_scope_close(&scope);
    return status;
}
