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
 * and the elements (n). Without pointers, so that it can be copied. */
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
    const int32_t *elements = factor_elements(f, l->n);
    for (size_t i = 0; i < f->k; i++) {
        f->row[i] = l->K[(size_t)e * l->n + (size_t)elements[i]];
    }
    submodi_cholesky_solve(factor_row(f, l->n, 0), f->row, 1, f->k, l->n);
    double rest = l->K[(size_t)e * l->n + (size_t)e] - submodi_sums()->dot(f->row, f->row, f->k);
    if (!(rest > 0)) {
        return not_definite();
    }
    f->row[f->k] = sqrt(rest);
    *result = log(rest);
    return SUBMOD_OK;
}

static submod_status push(const void *ctx, void *state, int32_t e, double *result)
{
    const logdet *l = ctx;
    factor *f = state;
    submod_status status = gain(ctx, state, e, result);
    if (status == SUBMOD_OK) {
        memcpy(factor_row(f, l->n, f->k), f->row, (f->k + 1) * sizeof *f->row);
        factor_elements(f, l->n)[f->k++] = e;
    }
    return status;
}

static submod_status chain(const void *ctx, void *state, const int32_t *new_elements, size_t r,
                           double *gains)
{
    if (r == 1) {
        return push(ctx, state, *new_elements, gains);
    }
    const logdet *l = ctx;
    factor *f = state;
    size_t n = l->n;
    size_t k = f->k;
    int32_t *elements = factor_elements(f, n);
    memcpy(elements + k, new_elements, r * sizeof *elements);
    for (size_t i = k; i < k + r; i++) {
        for (size_t j = 0; j <= i; j++) {
            factor_row(f, n, i)[j] = l->K[(size_t)elements[i] * n + (size_t)elements[j]];
        }
    }
    double *below = factor_row(f, n, k); /* the new rows, left of the new square */
    double *square = below + k;
    submodi_cholesky_solve(factor_row(f, n, 0), below, r, k, n);
    submodi_subtract_gram(square, below, r, k, n);
    submod_status status = cholesky(square, r, n);
    if (status == SUBMOD_OK) {
        for (size_t i = 0; i < r; i++) {
            gains[i] = 2 * log(square[i * n + i]);
        }
        f->k += r;
    }
    return status;
}

static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const logdet *l = ctx;
    if (k == 0) {
        *value = 0;
        return SUBMOD_OK;
    }
    double *a = submodi_alloc(k * k, sizeof *a);
    if (!a) {
        return submodi_out_of_memory();
    }
    for (size_t i = 0; i < k; i++) {
        for (size_t j = 0; j <= i; j++) {
            a[i * k + j] = l->K[(size_t)set[i] * l->n + (size_t)set[j]];
        }
    }
    submod_status status = cholesky(a, k, k);
    if (status == SUBMOD_OK) {
        double sum = 0;
        for (size_t i = 0; i < k; i++) {
            sum += log(a[i * k + i]);
        }
        *value = 2 * sum;
    }
    submodi_free(a);
    return status;
}

/* A log-det function of n elements whose matrix has yet to be filled in. */
static logdet *new_logdet(size_t n)
{
    logdet *l = submodi_alloc(sizeof *l + n * n * sizeof *l->K, 1);
    if (l) {
        l->n = n;
    }
    return l;
}

static submod_status logdet_of(logdet *l, submod_fn **fn);

/* K restricted to one part and given all before it is the Schur complement: C C', C the part's
 * square on the diagonal of the factor of all of K. */
static submod_status minor_of(const double *L, size_t n, submodi_part part, submod_fn **fn)
{
    size_t k = part.end - part.begin;
    const double *C = L + part.begin * n + part.begin;
    logdet *l = new_logdet(k);
    if (!l) {
        return submodi_out_of_memory();
    }
    const submodi_sums_loops *sums = submodi_sums();
    for (size_t i = 0; i < k; i++) {
        for (size_t j = 0; j <= i; j++) {
            l->K[i * k + j] = l->K[j * k + i] = sums->dot(C + i * n, C + j * n, j + 1);
        }
    }
    return logdet_of(l, fn);
}

static submod_status minors(const void *ctx, const int32_t *order, const submodi_part *parts,
                            size_t nparts, submod_fn **fns)
{
    const logdet *l = ctx;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    double *L = submodi_work_alloc(w, l->n * l->n, sizeof *L);
    submod_status status = submodi_work_status(w);
    for (size_t i = 0; status == SUBMOD_OK && i < l->n; i++) {
        for (size_t j = 0; j <= i; j++) {
            L[i * l->n + j] = l->K[(size_t)order[i] * l->n + (size_t)order[j]];
        }
    }
    status = status ? status : cholesky(L, l->n, l->n);
    for (size_t j = 0; status == SUBMOD_OK && j < nparts; j++) {
        status = minor_of(L, l->n, parts[j], &fns[j]);
    }
    submodi_scope_close(&scope);
    return status;
}

/* The handle; takes over l. */
static submod_status logdet_of(logdet *l, submod_fn **fn)
{
    size_t n = l->n;
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

/* Mirrors the lower triangle: F must not depend on which of the two an order happens to read. */
static void copy_symmetric(double *to, const double *K, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            to[i * n + j] = to[j * n + i] = K[i * n + j];
        }
    }
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

static submod_status make(size_t n, const double *K, submod_fn **fn)
{
    TRY(check_matrix(n, K, fn));
    size_t matrix = n * n * sizeof(double);
    logdet *l = new_logdet(n);
    double *test = submodi_alloc(matrix, 1);
    submod_status status = l && test ? SUBMOD_OK : submodi_out_of_memory();
    if (status == SUBMOD_OK) {
        copy_symmetric(l->K, K, n);
        memcpy(test, l->K, matrix);
        status = cholesky(test, n, n);
    }
    submodi_free(test);
    if (status != SUBMOD_OK) {
        submodi_free(l);
        return status;
    }
    return logdet_of(l, fn);
}

submod_status submod_fn_logdet(size_t n, const double *K, submod_fn **fn)
{
    return submodi_return("submod_fn_logdet", make(n, K, fn));
}
