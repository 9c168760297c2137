/* The public sort: checks its input and returns the order. */
#include "base/error.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/threads.h"

/* At most one of the two arrays is given: it is sorted. */
static void part_out(const submodi_sorted *sorted, size_t begin, size_t end, int32_t *order)
{
    for (size_t i = begin; i < end; i++) {
        order[i] = submodi_sorted_index(sorted, i);
    }
}

static void indices_out(const submodi_sorted *sorted, size_t n, int32_t *order)
{
    const int threads = submodi_threads_for(n);
    const size_t parts = (size_t)threads;
    if (parts == 1) {
        part_out(sorted, 0, n, order);
        return;
    }
#pragma omp parallel for num_threads(threads)
    for (size_t t = 0; t < parts; t++) {
        part_out(sorted, n * t / parts, n * (t + 1) / parts, order);
    }
}

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
        indices_out(&sorted, n, order);
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
