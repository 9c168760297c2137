/* Level sets of the solution that an unfinished run proves already. */
#ifndef SUBMODI_PROX_WOLFE_LEVEL_CUTS_H
#define SUBMODI_PROX_WOLFE_LEVEL_CUTS_H

#include "prox/wolfe/projection.h"

/* A place in the order of t: the first `rank` elements, and no others, have t* > level. */
typedef struct submodi_cut {
    size_t rank;
    double level; /* in units of sigma */
} submodi_cut;

/* Writes the cuts that are proved at the last look, ranks ascending, at most n - 1 of them. Returns
 * their number. */
size_t submodi_level_cuts(const submodi_projection *p, submodi_cut *cuts);

#endif
