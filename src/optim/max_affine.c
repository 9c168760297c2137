/* The problem  min over x of max_j <a_j, x> + b_j.  The nu problem of the paper's supplement,
 * max(0, nu x1, x2), is one. O(m n) per value or subgradient; the prox is submod_prox_max_affine.
 */
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "base/linalg.h"
#include "optim/oracle.h"
#include <submod/prox.h>

typedef struct max_affine {
    size_t m, n;
    double *a, *b; /* m x n, m */
    double *at;    /* m numbers: the planes at some x */
    submod_work *work;
} max_affine;

static void destroy(void *ctx)
{
    max_affine *f = ctx;
    submod_work_free(f->work);
    submodi_free(f->at);
    submodi_free(f->b);
    submodi_free(f->a);
    submodi_free(f);
}

static submod_status value(void *ctx, const double *x, double *result)
{
    const max_affine *f = ctx;
    double highest = -INFINITY;
    submodi_matvec(f->a, f->m, f->n, x, f->at);
    for (size_t j = 0; j < f->m; j++) {
        f->at[j] += f->b[j];
        /* Products that overflow may sum to NaN, which must not be skipped. */
        highest = isnan(highest) || f->at[j] <= highest ? highest : f->at[j];
    }
    *result = highest;
    return SUBMOD_OK;
}

static submod_status subgradient(void *ctx, size_t batch, const double *x, double *result,
                                 double *g)
{
    (void)batch;
    const max_affine *f = ctx;
    value(ctx, x, result);
    memset(g, 0, f->n * sizeof *g);
    double active = 0;
    for (size_t j = 0; j < f->m; j++) {
        active += f->at[j] == *result;
    }
    for (size_t j = 0; j < f->m; j++) {
        for (size_t i = 0; f->at[j] == *result && i < f->n; i++) {
            g[i] += f->a[j * f->n + i] / active;
        }
    }
    return SUBMOD_OK;
}

static submod_status prox(void *ctx, size_t batch, const double *x, double lambda, double *u)
{
    (void)batch;
    const max_affine *f = ctx;
    return submod_prox_max_affine(f->m, f->n, f->a, f->b, x, lambda, u, NULL, NULL, f->work);
}

/* Allocates everything. NULL: no memory. */
static max_affine *create(size_t m, size_t n)
{
    max_affine *f = submodi_alloc(1, sizeof *f);
    if (!f) {
        return NULL;
    }
    *f = (max_affine){.m = m, .n = n};
    f->a = submodi_alloc(submodi_times(m, n), sizeof *f->a);
    f->b = submodi_alloc(m, sizeof *f->b);
    f->at = submodi_alloc(m, sizeof *f->at);
    if (!f->a || !f->b || !f->at || submod_work_create(&f->work) != SUBMOD_OK) {
        destroy(f);
        return NULL;
    }
    return f;
}

static submod_status problem_max_affine(size_t m, size_t n, const double *a, const double *b,
                                        submod_problem *problem)
{
    if (!a || !problem || m == 0 || n == 0) {
        return submodi_fail(SUBMOD_EINVAL, "%s",
                            !a         ? "a is NULL"
                            : !problem ? "problem is NULL"
                                       : "m and n must be > 0");
    }
    max_affine *f = create(m, n);
    if (!f) {
        return submodi_out_of_memory();
    }
    submod_status status = submodi_check_finite("a", a, m * n);
    status = status || !b ? status : submodi_check_finite("b", b, m);
    if (status != SUBMOD_OK) {
        destroy(f);
        return status;
    }
    memcpy(f->a, a, m * n * sizeof *a);
    for (size_t j = 0; j < m; j++) {
        f->b[j] = b ? b[j] : 0;
    }
    *problem = (submod_problem){.dimension = n,
                                .ctx = f,
                                .subgradient = subgradient,
                                .value = value,
                                .prox = prox,
                                .destroy = destroy};
    return SUBMOD_OK;
}

submod_status submod_problem_max_affine(size_t m, size_t n, const double *a, const double *b,
                                        submod_problem *problem)
{
    return submodi_return("submod_problem_max_affine", problem_max_affine(m, n, a, b, problem));
}
