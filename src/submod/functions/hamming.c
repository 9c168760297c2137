/* Hamming loss: F(A) = |A| / n. Its Lovász extension is the mean of x.
 *
 * eval, push, gain O(1); chain O(k); minimize O(k). No state.
 */
#include "base/error.h"
#include "base/memory.h"
#include "submod/handle.h"

static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const double *n = ctx;
    (void)set;
    *value = (double)k / *n;
    return SUBMOD_OK;
}

static submod_status chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                           double *gains)
{
    const double *n = ctx;
    (void)state;
    (void)elements;
    for (size_t i = 0; i < k; i++) {
        gains[i] = 1 / *n;
    }
    return SUBMOD_OK;
}

static submod_status push(const void *ctx, void *state, int32_t e, double *gain)
{
    return chain(ctx, state, &e, 1, gain);
}

static submod_status minimize(const void *ctx, const int32_t *base, size_t nbase,
                              const int32_t *block, size_t nblock, const double *z, int largest,
                              uint8_t *in)
{
    const double *n = ctx;
    (void)base;
    (void)nbase;
    (void)block;
    for (size_t i = 0; i < nblock; i++) {
        in[i] = largest ? z[i] >= 1 / *n : z[i] > 1 / *n;
    }
    return SUBMOD_OK;
}

bool submodi_is_hamming(const submod_fn *fn)
{
    return fn->ops.eval == eval;
}

submod_status submod_fn_hamming(size_t n, submod_fn **fn)
{
    static const char who[] = "submod_fn_hamming";
    submod_status status = submodi_require_size(who, n, fn);
    if (status != SUBMOD_OK) {
        return status;
    }
    double *size = submodi_alloc(1, sizeof *size);
    if (!size) {
        return submodi_nomem(who);
    }
    *size = (double)n;
    submod_fn_ops ops = {.eval = eval,
                         .push = push,
                         .gain = push,
                         .chain = chain,
                         .tied = chain,
                         .minimize = minimize,
                         .destroy = submodi_free};
    submodi_traits traits = {.modular = true, .cardinality = true};
    return submodi_fn_new("hamming", n, &ops, &traits, size, fn);
}
