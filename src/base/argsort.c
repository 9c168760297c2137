/* The sort as the public sees it: an order, checked input. */
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/threads.h"

static submod_status require_arrays(const char *who, const void *x, size_t n, const int32_t *order)
{
    if (n > INT32_MAX) {
        return submodi_fail(SUBMOD_EINVAL, "%s: n = %zu is more than 2^31 - 1", who, n);
    }
    if (n && (!x || !order)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: %s is NULL", who, x ? "order" : "x");
    }
    return SUBMOD_OK;
}

static void write_order(const submodi_sorted *sorted, size_t n, int32_t *order)
{
#pragma omp parallel for num_threads(submodi_threads_for(n))
    for (size_t i = 0; i < n; i++) {
        order[i] = submodi_sorted_index(sorted, i);
    }
}

submod_status submod_argsort_f64(const double *x, size_t n, int32_t *order, submod_work *work)
{
    static const char who[] = "submod_argsort_f64";
    submod_status status = require_arrays(who, x, n, order);
    if (status == SUBMOD_OK) {
        status = submodi_require_finite(who, "x", x, n);
    }
    if (status != SUBMOD_OK || n == 0) {
        return status;
    }
    submodi_scope scope;
    submodi_sorted sorted;
    status = submodi_sort_f64(x, n, submodi_scope_open(&scope, work), &sorted);
    if (status == SUBMOD_OK) {
        write_order(&sorted, n, order);
    }
    submodi_scope_close(&scope);
    return status == SUBMOD_OK ? status : submodi_nomem(who);
}

submod_status submod_argsort_f32(const float *x, size_t n, int32_t *order, submod_work *work)
{
    static const char who[] = "submod_argsort_f32";
    submod_status status = require_arrays(who, x, n, order);
    for (size_t i = 0; status == SUBMOD_OK && i < n; i++) {
        if (!isfinite(x[i])) {
            status = submodi_fail(SUBMOD_ENONFINITE, "%s: x[%zu] is %g", who, i, (double)x[i]);
        }
    }
    if (status != SUBMOD_OK || n == 0) {
        return status;
    }
    submodi_scope scope;
    submodi_sorted sorted;
    status = submodi_sort_f32(x, n, submodi_scope_open(&scope, work), &sorted);
    if (status == SUBMOD_OK) {
        write_order(&sorted, n, order);
    }
    submodi_scope_close(&scope);
    return status == SUBMOD_OK ? status : submodi_nomem(who);
}
