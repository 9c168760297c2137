/* The public sort: checks its input and returns the order. */
#include "base/error.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/threads.h"

static submod_status require_arrays(const char *who, const void *x, size_t n, const int32_t *order)
{
    if (n > INT32_MAX) {
        return submodi_fail(SUBMOD_EINVAL, "%s: n = %zu must be at most 2^31 - 1", who, n);
    }
    if (n && (!x || !order)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: %s is NULL", who, x ? "order" : "x");
    }
    return SUBMOD_OK;
}

/* Sorts the one of the two arrays that is not NULL. */
static submod_status sort_into(const char *who, const float *f32, const double *f64, size_t n,
                               int32_t *order, submod_work *work)
{
    submodi_scope scope;
    submodi_sorted sorted;
    submod_work *w = submodi_scope_open(&scope, work);
    submod_status status =
        f32 ? submodi_sort_f32(f32, n, w, &sorted) : submodi_sort_f64(f64, n, w, &sorted);
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
    static const char who[] = "submod_argsort_f64";
    submod_status status = require_arrays(who, x, n, order);
    status = status ? status : submodi_require_finite(who, "x", x, n);
    return status != SUBMOD_OK || n == 0 ? status : sort_into(who, NULL, x, n, order, work);
}

submod_status submod_argsort_f32(const float *x, size_t n, int32_t *order, submod_work *work)
{
    static const char who[] = "submod_argsort_f32";
    submod_status status = require_arrays(who, x, n, order);
    status = status ? status : submodi_require_finite_f32(who, "x", x, n);
    return status != SUBMOD_OK || n == 0 ? status : sort_into(who, x, NULL, n, order, work);
}
