/* Minimisation by trying all subsets. */
#ifndef SUBMODI_EXHAUSTIVE_H
#define SUBMODI_EXHAUSTIVE_H

#include <stdbool.h>

#include "base/internal.h"
#include "submod/fn_internal.h"

/* A -> F(base + A) - F(base) - z(A) for subsets A of the n <= SUBMOD_EXHAUSTIVE_MAX elements; z[j]
 * belongs to elements[j]. */
typedef struct submodi_subsets {
    const submod_fn *fn;
    const int32_t *base;
    size_t nbase;
    const int32_t *elements;
    size_t n;
    const double *z; /* NULL: 0 */
} submodi_subsets;

/* Bit j stands for elements[j]. The minimisers of a submodular function are closed under
 * intersection and union: these are the smallest and the largest one. If one of them is no
 * minimiser, F is not submodular, and some minimiser takes its place. */
typedef struct submodi_minimisers {
    uint32_t smallest, largest;
    bool extreme;   /* they are the intersection and the union of all minimisers */
    uint64_t tried; /* subsets whose value was computed, also if the search failed */
} submodi_minimisers;

/* Tries all 2^n subsets, one push each. Values that differ by rounding only count as equal. Returns
 * SUBMOD_TIMELIMIT without a result if submodi_seconds() passes the deadline; INFINITY means none.
 * SUBMOD_ENUMERIC: F - z overflows. SUBMOD_ECANCELLED, SUBMOD_ECALLBACK, SUBMOD_ENOMEM. */
submod_status submodi_try_all_subsets(const char *who, const submodi_subsets *of, double deadline,
                                      submodi_minimisers *found, submod_work *work);

/* in[j] = bit j of set, j < n. */
void submodi_flags_from_bits(uint32_t set, size_t n, uint8_t *in);

#endif
