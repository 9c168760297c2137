/* Minimisation by trying all subsets. */
#ifndef SUBMODI_EXHAUSTIVE_H
#define SUBMODI_EXHAUSTIVE_H

#include "base/memory.h"
#include "submod/handle.h"

/* The minimum of F(A) - F(empty) over all 2^n subsets, n <= 32, and as bits of the elements one
 * minimiser, the intersection and the union of all. Values that differ by rounding only count as
 * equal; whether the intersection and the union are minimisers themselves is the caller's to see.
 */
typedef struct submodi_all_subsets {
    double lowest;
    double scale; /* largest |F(A) - F(empty)| */
    uint32_t minimiser, intersection, united;
} submodi_all_subsets;

submod_status submodi_try_all_subsets(const char *who, const submod_fn *fn,
                                      submodi_all_subsets *found, submod_work *work);

#endif
