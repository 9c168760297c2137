/* The exact prox of the Jaccard extension, the fast case of two_counts_prox.h. */
#ifndef SUBMODI_PROX_TWO_COUNTS_JACCARD_PROX_H
#define SUBMODI_PROX_TWO_COUNTS_JACCARD_PROX_H

#include "prox/two_counts/levels.h"

/* Of a problem whose points are sorted and in range. Fills pair, f in *found, iterations and work
 * of info. SUBMOD_ENOMEM. */
submod_status submodi_jaccard_sorted(const submodi_two_kinds_problem *p,
                                     const submodi_sorted_kinds *kinds, submodi_prox_pair *pair,
                                     submodi_extension *found, submod_prox_info *info,
                                     submod_work *work);

/* As submodi_two_counts_prox_bytes. */
size_t submodi_jaccard_prox_bytes(size_t n, int threads);

#endif
