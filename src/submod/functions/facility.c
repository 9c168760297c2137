/* Facility location: F(A) = sum over clients i < m of max over j in A of benefit(i, j).
 *
 * push, gain O(m); chain by push; eval O(m k). State: the best benefit of each client so far.
 * The matrix is kept with one contiguous column per element.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/sums_loops.h"
#include "submod/handle.h"

typedef struct facility {
    size_t m;
    double benefit[]; /* element j: benefit[j * m .. j * m + m - 1] */
} facility;

static submod_status reset(const void *ctx, void *state)
{
    const facility *f = ctx;
    memset(state, 0, f->m * sizeof(double));
    return SUBMOD_OK;
}

static submod_status gain(const void *ctx, void *state, int32_t e, double *result)
{
    const facility *f = ctx;
    *result = submodi_sums()->excess(f->benefit + (size_t)e * f->m, state, f->m);
    return SUBMOD_OK;
}

static void raise(double *best, const double *column, size_t m)
{
#pragma omp simd
    for (size_t i = 0; i < m; i++) {
        best[i] = column[i] > best[i] ? column[i] : best[i];
    }
}

static submod_status push(const void *ctx, void *state, int32_t e, double *result)
{
    const facility *f = ctx;
    gain(ctx, state, e, result);
    raise(state, f->benefit + (size_t)e * f->m, f->m);
    return SUBMOD_OK;
}

/* Takes the clients in groups whose `best` fits on the stack. */
static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    enum { GROUP = 256 };
    const facility *f = ctx;
    double sum = 0;
    for (size_t first = 0; first < f->m; first += GROUP) {
        size_t count = f->m - first < GROUP ? f->m - first : GROUP;
        double best[GROUP] = {0};
        for (size_t i = 0; i < k; i++) {
            raise(best, f->benefit + (size_t)set[i] * f->m + first, count);
        }
        for (size_t i = 0; i < count; i++) {
            sum += best[i];
        }
    }
    *value = sum;
    return SUBMOD_OK;
}

submod_status submod_fn_facility(size_t n, size_t m, const double *benefit, submod_fn **fn)
{
    static const char who[] = "submod_fn_facility";
    submod_status status = submodi_require_size(who, n, fn);
    status = status || !m ? status : submodi_require_given(who, "benefit", benefit);
    if (status == SUBMOD_OK && m > SIZE_MAX / sizeof(double) / n) {
        status = submodi_nomem(who);
    }
    status = status ? status : submodi_require_nonnegative(who, "benefit", benefit, m * n);
    if (status != SUBMOD_OK) {
        return status;
    }
    size_t bytes = 0;
    bool fits = submodi_add_size(&bytes, 1, sizeof(facility)) &&
                submodi_add_size(&bytes, m * n, sizeof(double));
    facility *f = fits ? submodi_alloc(bytes, 1) : NULL;
    if (!f) {
        return submodi_nomem(who);
    }
    f->m = m;
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            f->benefit[j * m + i] = benefit[i * n + j];
        }
    }
    submod_fn_ops ops = {.eval = eval,
                         .state_size = m * sizeof(double),
                         .reset = reset,
                         .push = push,
                         .gain = gain,
                         .destroy = submodi_free};
    return submodi_fn_new("facility", n, &ops, NULL, f, fn);
}
