/* min over A within block of F(base + A) - F(base) - z(A): by F's own minimiser, or by trying all
 * subsets. */
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "submod/exhaustive.h"

static const char who[] = "submod_fn_minimize";

static submod_status try_all(const submodi_subsets *of, int largest, uint8_t *in, submod_work *w)
{
    submodi_minimisers found;
    submod_status status = submodi_try_all_subsets(who, of, INFINITY, &found, w);
    if (status == SUBMOD_OK) {
        submodi_flags_from_bits(largest ? found.largest : found.smallest, of->n, in);
    }
    return status;
}

/* *value = F(base + A) - F(base) - z(A) for the A given by in; list has room for base and block. */
static submod_status minimum(const submodi_subsets *of, const uint8_t *in, int32_t *list,
                             double *value)
{
    double base_value;
    size_t k = of->nbase;
    if (k) {
        memcpy(list, of->base, k * sizeof *list);
    }
    for (size_t j = 0; j < of->n; j++) {
        if (in[j]) {
            list[k++] = of->elements[j];
        }
    }
    submod_status status = submodi_fn_eval(of->fn, list, of->nbase, &base_value);
    status = status ? status : submodi_fn_eval(of->fn, list, k, value);
    if (status != SUBMOD_OK) {
        return status;
    }
    *value -= base_value;
    for (size_t j = 0; j < of->n; j++) {
        *value -= in[j] ? of->z[j] : 0;
    }
    return isfinite(*value) ? SUBMOD_OK : submodi_fail(SUBMOD_ENUMERIC, "%s: F - z overflows", who);
}

/* Requires that all z are finite and that no sum of some of them overflows. */
static submod_status require_summable(const double *z, size_t n)
{
    submod_status status = submodi_require_finite(who, "z", z, n);
    double sum = 0;
    for (size_t j = 0; status == SUBMOD_OK && j < n; j++) {
        sum += fabs(z[j]);
    }
    return status == SUBMOD_OK && isinf(sum)
               ? submodi_fail(SUBMOD_ENUMERIC, "%s: the sum of |z| overflows", who)
               : status;
}

submod_status submod_fn_minimize(const submod_fn *fn, const int32_t *base, size_t nbase,
                                 const int32_t *block, size_t nblock, const double *z, int largest,
                                 uint8_t *in, double *value)
{
    if (!fn || (nblock && (!z || !in))) {
        return submodi_fail(SUBMOD_EINVAL, "%s: fn, z or in is NULL", who);
    }
    submod_status status =
        submodi_require_disjoint_sets(who, fn->n, "base", base, nbase, "block", block, nblock);
    status = status ? status : require_summable(z, nblock);
    if (status == SUBMOD_OK && !fn->ops.minimize && nblock > SUBMOD_EXHAUSTIVE_MAX) {
        status =
            submodi_fail(SUBMOD_EUNSUPPORTED,
                         "%s: a %s function has no minimiser, and nblock = %zu must then be at "
                         "most %d; submod_sfm has no such limit",
                         who, fn->ops.name, nblock, SUBMOD_EXHAUSTIVE_MAX);
    }
    if (status != SUBMOD_OK) {
        return status;
    }

    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    int32_t *list = submodi_take(w, nbase + nblock, sizeof *list);
    uint8_t *found = submodi_take(w, nblock, sizeof *found);
    if (!list || !found) {
        submodi_scope_close(&scope);
        return submodi_nomem(who);
    }
    submodi_subsets of = {fn, base, nbase, block, nblock, z};
    const submod_minor minor = {base, nbase, block, nblock};
    status = fn->ops.minimize ? submodi_fn_minimize(fn, &minor, z, largest ? NULL : found,
                                                    largest ? found : NULL, NULL)
                              : try_all(&of, largest, found, w);
    double lowest = 0;
    if (status == SUBMOD_OK && value) {
        status = minimum(&of, found, list, &lowest);
    }
    if (status == SUBMOD_OK) {
        for (size_t j = 0; j < nblock; j++) {
            in[j] = found[j] != 0;
        }
        if (value) {
            *value = lowest;
        }
    }
    submodi_scope_close(&scope);
    return status;
}
