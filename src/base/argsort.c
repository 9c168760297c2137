/* The public sort: checks its input and returns the order. */
#include "base/error.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/threads.h"

/* At most one of the two arrays is given: it is sorted. */
static submod_status sort_into(const char *who, const float *f32, const double *f64, size_t n,
                               int32_t *order, submod_work *work)
{
    if (n > INT32_MAX) {
        return submodi_fail(SUBMOD_EINVAL, "%s: n = %zu must be at most 2^31 - 1", who, n);
    }
    if (n == 0) {
        return SUBMOD_OK;
    }
    submod_status status = submodi_require_given(who, "x", f32 ? (const void *)f32 : f64);
    status = status ? status : submodi_require_given(who, "order", order);
    status = status ? status
             : f32  ? submodi_require_finite_f32(who, "x", f32, n)
                    : submodi_require_finite(who, "x", f64, n);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_scope scope;
    submodi_sorted sorted;
    submod_work *w = submodi_scope_open(&scope, work);
    status = f32 ? submodi_sort_f32(f32, n, w, &sorted) : submodi_sort_f64(f64, n, w, &sorted);
    if (status == SUBMOD_OK) {
#pragma omp parallel for num_threads(submodi_threads_for(n))
        for (size_t i = 0; i < n; i++) {
            order[i] = submodi_sorted_index(&sorted, i);
        }
    }
    submodi_scope_close(&scope);
    return status == SUBMOD_OK ? status : submodi_nomem(who);
}

submod_status submod_argsort_f64(const double *x, size_t n, int32_t *order, submod_work *work)
{
    return sort_into("submod_argsort_f64", NULL, x, n, order, work);
}

submod_status submod_argsort_f32(const float *x, size_t n, int32_t *order, submod_work *work)
{
    return sort_into("submod_argsort_f32", x, NULL, n, order, work);
}
