/* F(A) = log det K_AA for a symmetric positive definite K, by Cholesky factors.
 *
 * The state holds the factor L of K over the elements in order of arrival, K_AA = L L'. Adding e
 * appends the row y with L y = K_Ae and the diagonal entry d = sqrt(K_ee - <y, y>); the gain is
 * 2 log d. A chain appends a whole block: a triangular solve, a symmetric rank-k update, a
 * Cholesky factorisation (base/linalg.h).
 *
 * With k elements present: push, gain O(k^2); chain of r more O((k + r)^2 r); eval O(k^3).
 * State: n^2 + n doubles, n elements.
 */
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "base/linalg.h"
#include "base/sums.h"
#include "submod/fn_internal.h"

typedef struct logdet {
    size_t n;
    double K[]; /* n x n */
} logdet;

/* The state: k, then the row under construction (n), the factor (n x n, row-major, lower triangle)
 * and the elements (n). It has no pointers, so that it can be copied. */
typedef struct factor {
    size_t k;
    double row[];
} factor;

static double *factor_row(factor *f, size_t n, size_t i)
{
    return f->row + n + i * n;
}

static int32_t *factor_elements(factor *f, size_t n)
{
    return (void *)factor_row(f, n, n);
}

static submod_status not_definite(void)
{
    return submodi_fail(SUBMOD_ENUMERIC,
                        "logdet: K must be positive definite, also when rounded to doubles");
}

static submod_status cholesky(double *a, size_t k, size_t stride)
{
    return submodi_cholesky(a, k, stride) ? SUBMOD_OK : not_definite();
}

/* Copies rows begin .. end-1 of K over the elements, the lower triangle alone. */
static void copy_rows(const logdet *l, const int32_t *elements, size_t begin, size_t end,
                      double *to, size_t stride)
{
    for (size_t i = begin; i < end; i++, to += stride) {
        const double *from = l->K + (size_t)elements[i] * l->n;
        for (size_t j = 0; j <= i; j++) {
            to[j] = from[elements[j]];
        }
    }
}

static submod_status reset(const void *ctx, void *state)
{
    (void)ctx;
    ((factor *)state)->k = 0;
    return SUBMOD_OK;
}

/* Leaves the new row, diagonal included, in f->row. */
static submod_status gain(const void *ctx, void *state, int32_t e, double *result)
{
    const logdet *l = ctx;
    factor *f = state;
    int32_t *elements = factor_elements(f, l->n);
    elements[f->k] = e;
    copy_rows(l, elements, f->k, f->k + 1, f->row, 0);
    submodi_cholesky_solve(factor_row(f, l->n, 0), f->row, 1, f->k, l->n);
    double rest = f->row[f->k] - submodi_sums()->dot(f->row, f->row, f->k);
    if (!(rest > 0)) {
        return not_definite();
    }
    f->row[f->k] = sqrt(rest);
    *result = log(rest);
    return SUBMOD_OK;
}

static submod_status chain(const void *ctx, void *state, const int32_t *new_elements, size_t r,
                           double *gains)
{
    const logdet *l = ctx;
    factor *f = state;
    size_t n = l->n, k = f->k;
    double *below = factor_row(f, n, k); /* the new rows, left of the new square */
    double *square = below + k;
    if (r == 1) {
        TRY(gain(ctx, state, *new_elements, gains));
        memcpy(below, f->row, (k + 1) * sizeof *below);
        f->k++;
        return SUBMOD_OK;
    }
    memcpy(factor_elements(f, n) + k, new_elements, r * sizeof *new_elements);
    copy_rows(l, factor_elements(f, n), k, k + r, below, n);
    submodi_cholesky_solve(factor_row(f, n, 0), below, r, k, n);
    submodi_subtract_gram(square, below, r, k, n);
    TRY(cholesky(square, r, n));
    for (size_t i = 0; i < r; i++) {
        gains[i] = 2 * log(square[i * n + i]);
    }
    f->k += r;
    return SUBMOD_OK;
}

/* Allocates a factor of K over k elements. */
static submod_status new_factor(const logdet *l, const int32_t *elements, size_t k, double **made,
                                submod_work *w)
{
    double *L = *made = submodi_work_alloc(w, k * k, sizeof *L);
    TRY(submodi_work_status(w));
    copy_rows(l, elements, 0, k, L, k);
    return cholesky(L, k, k);
}

static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    submodi_scope scope;
    double *L, sum = 0;
    submod_status status = new_factor(ctx, set, k, &L, submodi_scope_open(&scope, NULL));
    for (size_t i = 0; status == SUBMOD_OK && i < k; i++) {
        sum += log(L[i * k + i]);
    }
    *value = status == SUBMOD_OK ? 2 * sum : *value;
    submodi_scope_close(&scope);
    return status;
}

static submod_status minors(const void *ctx, const int32_t *order, const submodi_part *parts,
                            size_t nparts, submod_fn **fns);

/* Makes a function whose matrix, n x n, has yet to be filled in: the lower triangle, then the upper
 * one by mirror. */
static submod_status new_logdet(size_t n, submod_fn **fn, double **K)
{
    logdet *l = submodi_alloc(sizeof *l + n * n * sizeof *l->K, 1);
    if (!l) {
        return submodi_out_of_memory();
    }
    l->n = n;
    *K = l->K;
    const submod_fn f = {
        .ops = {.name = "logdet",
                .eval = eval,
                .state_size = sizeof(factor) + (n + n * n) * sizeof(double) + n * sizeof(int32_t),
                .reset = reset,
                .chain = chain,
                .gain = gain,
                .destroy = submodi_free},
        .kind = SUBMODI_LOGDET,
        .minors = minors,
        .ctx = l,
        .n = n};
    return submodi_fn_new(&f, fn);
}

/* Copies the lower triangle to the upper one. */
static void mirror(double *K, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            K[j * n + i] = K[i * n + j];
        }
    }
}

/* Makes the functions on the parts. The Schur complement of K on a part, given all elements before
 * it, is C C', where C is the part's diagonal block of the factor of K. */
static submod_status all_minors(const logdet *l, const int32_t *order, const submodi_part *parts,
                                size_t nparts, submod_fn **fns, submod_work *w)
{
    double *L;
    const submodi_sums_loops *sums = submodi_sums();
    TRY(new_factor(l, order, l->n, &L, w));
    for (size_t p = 0; p < nparts; p++) {
        size_t k = parts[p].end - parts[p].begin;
        const double *C = L + parts[p].begin * (l->n + 1);
        double *K;
        TRY(new_logdet(k, &fns[p], &K));
        for (size_t i = 0; i < k; i++) {
            for (size_t j = 0; j <= i; j++) {
                K[i * k + j] = sums->dot(C + i * l->n, C + j * l->n, j + 1);
            }
        }
        mirror(K, k);
    }
    return SUBMOD_OK;
}

static submod_status minors(const void *ctx, const int32_t *order, const submodi_part *parts,
                            size_t nparts, submod_fn **fns)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    submod_status status = all_minors(ctx, order, parts, nparts, fns, w);
    submodi_scope_close(&scope);
    return status;
}

/* Up to rounding, relative to the diagonal: |K_ij| <= sqrt(K_ii K_jj) if K is positive definite. */
static submod_status check_symmetric(const double *K, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!(K[i * n + i] > 0)) {
            return submodi_fail(SUBMOD_ENUMERIC,
                                "K[%zu, %zu] = %g must be > 0: K must be positive definite", i, i,
                                K[i * n + i]);
        }
        for (size_t j = 0; j < i; j++) {
            double size = sqrt(K[i * n + i]) * sqrt(K[j * n + j]);
            if (!(fabs(K[i * n + j] - K[j * n + i]) <= 1e-12 * size)) {
                return submodi_fail(SUBMOD_EINVAL,
                                    "K must be symmetric: K[%zu, %zu] = %.17g, K[%zu, %zu] = %.17g",
                                    i, j, K[i * n + j], j, i, K[j * n + i]);
            }
        }
    }
    return SUBMOD_OK;
}

static submod_status check_matrix(size_t n, const double *K, submod_fn **fn)
{
    TRY(submodi_check_size(n, fn));
    TRY(submodi_check_given("K", K));
    if (n > 46340) { /* K alone then takes 17 GB */
        return submodi_fail(SUBMOD_EUNSUPPORTED, "n = %zu must be at most 46340", n);
    }
    TRY(submodi_check_finite("K", K, n * n));
    return check_symmetric(K, n);
}

/* Mirrors the lower triangle of K, so that F does not depend on the triangle that an order
 * reads. */
static submod_status make(size_t n, const double *K, submod_fn **fn)
{
    TRY(check_matrix(n, K, fn));
    size_t bytes = n * n * sizeof *K;
    double *copy, *test = submodi_alloc(bytes, 1);
    submod_status status = test ? SUBMOD_OK : submodi_out_of_memory();
    if (status == SUBMOD_OK) {
        memcpy(test, K, bytes);
        status = cholesky(test, n, n);
    }
    submodi_free(test);
    TRY(status);
    TRY(new_logdet(n, fn, &copy));
    memcpy(copy, K, bytes);
    mirror(copy, n);
    return SUBMOD_OK;
}

submod_status submod_fn_logdet(size_t n, const double *K, submod_fn **fn)
{
    return submodi_return("submod_fn_logdet", make(n, K, fn));
}
