/* The lowest point of a measure less modular terms: the minimiser behind functions of two counts.
 */
#ifndef SUBMODI_FUNCTIONS_LOWEST_H
#define SUBMODI_FUNCTIONS_LOWEST_H

#include "base/memory.h"
#include "submod/measures/rise.h"

/* One kind of elements in an order: what the first k of them come to, k = 0 .. count. */
typedef struct submodi_prefixes {
    size_t count;         /* at most 2^31 - 1 */
    const double *amount; /* the count of this kind in all; NULL: first + k */
    double first;
    const double *sum; /* of z */
} submodi_prefixes;

static inline double submodi_amount(const submodi_prefixes *kind, size_t k)
{
    return kind->amount ? kind->amount[k] : kind->first + (double)(int64_t)k;
}

/* So many elements of each kind. */
typedef struct submodi_corner {
    size_t fg, bg;
    double value; /* F - F(0, 0) - z there */
} submodi_corner;

/* Minimises  F(after fg, bg) - F(after none) - z  over the prefixes of both kinds, F submodular. Of
 * several minimisers, up to rounding, the smallest or the largest. rise starts at no prefix.
 * *evaluations grows by those of F. SUBMOD_ECALLBACK, SUBMOD_ENOMEM. */
submod_status submodi_find_lowest(const submodi_rise *rise, const submodi_prefixes *fg,
                                  const submodi_prefixes *bg, int largest, submodi_corner *found,
                                  uint64_t *evaluations, submod_work *work);

#endif
