/* The graph inside a cut function. */
#ifndef SUBMODI_FUNCTIONS_CUT_H
#define SUBMODI_FUNCTIONS_CUT_H

#include "submod/handle.h"

typedef struct submodi_neighbour {
    double out, in; /* weight of the arcs to it and from it */
    int32_t vertex;
    uint32_t opposite; /* where `neighbours` has the same edge in the list of `vertex` */
} submodi_neighbour;

/* The paths that a graph consists of, one after the other. Arrays go by position. */
typedef struct submodi_paths {
    size_t count;
    size_t *begin;    /* where each path begins, and n */
    int32_t *order;   /* the vertex at each position */
    bool in_order;    /* order is 0, 1, .., n - 1 */
    double *out, *in; /* weights to and from the next vertex; 0 at the end of a path */
} submodi_paths;

typedef struct submodi_cut {
    size_t n;
    size_t *start;                 /* n + 1, and one more while the lists are built */
    submodi_neighbour *neighbours; /* start[n] of them, at most 2^32 - 1 */
    submodi_paths *paths;          /* NULL: some vertex has a third edge, or there is a circle */
} submodi_cut;

/* Fills c->paths. false: memory ran out. */
bool submodi_cut_find_paths(submodi_cut *c);
void submodi_paths_free(submodi_paths *paths);

/* minimize and minimize_parts by maximum flow; ctx is a submodi_cut. */
submod_status submodi_cut_minimize(const void *ctx, const int32_t *base, size_t nbase,
                                   const int32_t *block, size_t nblock, const double *z,
                                   int largest, uint8_t *in);
submodi_minimize_parts submodi_cut_minimize_parts;

#endif
