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
    submodi_neighbour *neighbours; /* start[n] of them, at most 2^32 - 2 */
    submodi_paths *paths;          /* NULL: some vertex has a third edge, or there is a circle */
    double heaviest;               /* the most that all weights at a vertex add up to */
} submodi_cut;

/* Fills c->paths. false: memory ran out. */
bool submodi_cut_find_paths(submodi_cut *c);
void submodi_paths_free(submodi_paths *paths);

/* m edges: out[i] is the weight of the arc tail[i] -> head[i], in[i] that of the arc back. */
typedef struct submodi_cut_edges {
    size_t m; /* at most 2^31 - 1 */
    const int32_t *tail, *head;
    const double *out, *in; /* >= 0; in = NULL: 0 */
} submodi_cut_edges;

/* The cut of a graph; nothing is checked. The only failure is SUBMOD_ENOMEM. */
submod_status submodi_cut_new(const char *who, size_t n, const submodi_cut_edges *edges,
                              submod_fn **fn);

/* A cut function, multiplied by a coefficient > 0, whose vertices are elements of a larger set. */
typedef struct submodi_cut_piece {
    const submod_fn *fn;
    double coefficient;
    const int32_t *elements; /* NULL: itself */
} submodi_cut_piece;

/* The sum of pieces as the cut of one graph of n vertices; parallel edges are joined, edges without
 * weight left out. SUBMOD_EUNSUPPORTED: more than 2^31 - 1 edges. SUBMOD_ENUMERIC: a weight
 * overflows. SUBMOD_ENOMEM. */
submod_status submodi_cut_merge(const char *who, size_t n, const submodi_cut_piece *pieces,
                                size_t count, submod_fn **fn);

/* minimize, minimize_parts and minimum by maximum flow; ctx is a submodi_cut. */
submod_status submodi_cut_minimize(const void *ctx, const int32_t *base, size_t nbase,
                                   const int32_t *block, size_t nblock, const double *z,
                                   int largest, uint8_t *in);
submodi_minimize_parts submodi_cut_minimize_parts;
submodi_minimum submodi_cut_minimum;

/* The graph of fn if it is a cut function itself, else NULL. */
static inline const submodi_cut *submodi_cut_inside(const submod_fn *fn)
{
    return fn->ops.minimize == submodi_cut_minimize ? fn->ctx : NULL;
}

#endif
