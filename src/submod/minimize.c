/* min over A within block of F(base + A) - F(base) - z(A): by F's own minimiser, or by trying all.
 */
#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/memory.h"
#include "submod/handle.h"

static const char who[] = "submod_fn_minimize";

/* F(base + A) for the A given by in; list has room for base and block. */
static submod_status value_of(const submod_fn *fn, size_t nbase, const int32_t *block,
                              size_t nblock, const uint8_t *in, int32_t *list, double *value)
{
    size_t k = nbase;
    for (size_t j = 0; j < nblock; j++) {
        if (in[j]) {
            list[k++] = block[j];
        }
    }
    return submodi_fn_eval(fn, list, k, value);
}

static void subset_from_bits(uint32_t bits, size_t nblock, uint8_t *in)
{
    for (size_t j = 0; j < nblock; j++) {
        in[j] = bits >> j & 1;
    }
}

/* All 2^nblock subsets, O(2^nblock) evaluations. The minimisers of a submodular function are
 * closed under intersection and union, so the smallest (largest) one is the intersection (union)
 * of all; values that differ by rounding only count as equal. Where that fails F is not
 * submodular, and any minimiser has to do. */
static submod_status exhaustive(const submod_fn *fn, size_t nbase, const int32_t *block,
                                size_t nblock, const double *z, int largest, int32_t *list,
                                double *table, uint8_t *in)
{
    uint32_t count = UINT32_C(1) << nblock;
    uint32_t lowest = 0;
    double scale = 0;
    for (uint32_t bits = 0; bits < count; bits++) {
        subset_from_bits(bits, nblock, in);
        submod_status status = submodi_cancelled()
                                   ? submodi_cancel(who)
                                   : value_of(fn, nbase, block, nblock, in, list, &table[bits]);
        if (status != SUBMOD_OK) {
            return status;
        }
        for (size_t j = 0; j < nblock; j++) {
            table[bits] -= in[j] ? z[j] : 0;
        }
        lowest = table[bits] < table[lowest] ? bits : lowest;
        scale = fmax(scale, fabs(table[bits]));
    }
    double ceiling = table[lowest] + 1e-14 * scale; /* some tens of rounding errors of one sum */
    uint32_t best = largest ? 0 : count - 1;
    for (uint32_t bits = 0; bits < count; bits++) {
        if (table[bits] <= ceiling) {
            best = largest ? best | bits : best & bits;
        }
    }
    subset_from_bits(table[best] <= ceiling ? best : lowest, nblock, in);
    return SUBMOD_OK;
}

/* F(base + A) - F(base) - z(A). */
static submod_status minimum(const submod_fn *fn, size_t nbase, const int32_t *block, size_t nblock,
                             const double *z, const uint8_t *in, int32_t *list, double *value)
{
    double base_value;
    submod_status status = submodi_fn_eval(fn, list, nbase, &base_value);
    if (status == SUBMOD_OK) {
        status = value_of(fn, nbase, block, nblock, in, list, value);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    *value -= base_value;
    for (size_t j = 0; j < nblock; j++) {
        *value -= in[j] ? z[j] : 0;
    }
    return isfinite(*value) ? SUBMOD_OK : submodi_fail(SUBMOD_ENUMERIC, "%s: F - z overflows", who);
}

/* Finite, and no sum of some of them overflows. */
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
    if (status == SUBMOD_OK) {
        status = require_summable(z, nblock);
    }
    if (status == SUBMOD_OK && !fn->ops.minimize && nblock > SUBMOD_EXHAUSTIVE_MAX) {
        status = submodi_fail(SUBMOD_EUNSUPPORTED,
                              "%s: a %s function has no minimiser, and 2^%zu subsets are too many",
                              who, fn->name, nblock);
    }
    if (status != SUBMOD_OK) {
        return status;
    }

    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    int32_t *list = submodi_take(w, nbase + nblock, sizeof *list);
    uint8_t *found = submodi_take(w, nblock, sizeof *found);
    size_t entries = fn->ops.minimize ? 0 : (size_t)1 << nblock;
    double *table = submodi_take(w, entries, sizeof *table);
    if (!list || !found || !table) {
        submodi_scope_close(&scope);
        return submodi_nomem(who);
    }
    if (nbase) {
        memcpy(list, base, nbase * sizeof *list);
    }
    status = fn->ops.minimize
                 ? submodi_fn_minimize(fn, base, nbase, block, nblock, z, largest, found)
                 : exhaustive(fn, nbase, block, nblock, z, largest, list, table, found);
    double lowest = 0;
    if (status == SUBMOD_OK && value) {
        status = minimum(fn, nbase, block, nblock, z, found, list, &lowest);
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
