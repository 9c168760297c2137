/* The graph inside a cut function. */
#ifndef SUBMODI_FUNCTIONS_CUT_H
#define SUBMODI_FUNCTIONS_CUT_H

#include "submod/handle.h"

typedef struct submodi_neighbour {
    double out, in; /* weight of the arcs to it and from it */
    int32_t vertex;
    uint32_t opposite; /* where `neighbours` has the same edge in the list of `vertex` */
} submodi_neighbour;

typedef struct submodi_cut {
    size_t n;
    size_t *start;                 /* n + 1, and one more while the lists are built */
    submodi_neighbour *neighbours; /* start[n] of them, at most 2^32 - 2 */
    double heaviest;               /* the most that all weights at a vertex add up to */
} submodi_cut;

/* minimize, minimize_parts and minimum by maximum flow; ctx is a submodi_cut. */
submod_status submodi_cut_minimize(const void *ctx, const int32_t *base, size_t nbase,
                                   const int32_t *block, size_t nblock, const double *z,
                                   int largest, uint8_t *in);
submodi_minimize_parts submodi_cut_minimize_parts;
submodi_minimum submodi_cut_minimum;

#endif
