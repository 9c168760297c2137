/* A flow through the graph of a cut function that is kept while the vertices are divided into
 * parts. */
#ifndef SUBMODI_PROX_CUT_FLOW_H
#define SUBMODI_PROX_CUT_FLOW_H

#include "prox/partition.h"

typedef struct submodi_cut_flow {
    const submodi_cut *cut;
    submodi_network net; /* of all vertices, in the scalings of their parts */
    const int32_t *order;
    uint32_t *part;   /* vertex -> id of its part */
    int64_t *want;    /* vertex -> its excess plus what flows out of it, within its part */
    double *cross;    /* vertex -> weights to later parts, less weights from earlier ones */
    uint32_t *degree; /* vertex -> its arcs within its part */
    uint8_t *closed;  /* arc -> whether it lies between parts, and in which direction */
    uint32_t ids;     /* in use: 0 .. ids - 1 */
} submodi_cut_flow;

/* Arcs between parts are full and closed; the opposite arc is empty. */
enum { SUBMODI_ARC_WITHIN, SUBMODI_ARC_LEAVES, SUBMODI_ARC_ENTERS };

/* One part of all vertices, nothing flows. order: that of the partition. */
submod_status submodi_cut_flow_start(submodi_cut_flow *f, const submodi_cut *cut,
                                     const int32_t *order, submodi_open_part *all, submod_work *w);

/* Makes the excess of each vertex of a part what z (by rank) leaves beside `cross` and the flow.
 * Returns SUBMOD_ENUMERIC if z or the weights are too large. */
submod_status submodi_cut_flow_aim(submodi_cut_flow *f, submodi_open_part *part, const double *z);

/* What flows out of the vertex, to other parts and within its own: a base of the cut function. */
double submodi_cut_flow_base(const submodi_cut_flow *f, const submodi_open_part *part, int32_t v);

/* Returns the weight of the arcs from the first vertices of a part, those with in = 1, to its
 * others. */
double submodi_cut_flow_between(const submodi_cut_flow *f, const submodi_open_part *part,
                                const uint8_t *in, size_t first);

/* Divides a part in two sides, whose ranks are known. */
void submodi_cut_flow_divide(submodi_cut_flow *f, const submodi_open_part *part,
                             submodi_open_part side[2]);

/* Joins the vertices of a part, which have its id and came from several parts: arcs among them are
 * open again and carry what they carried. old[label[v]]: the part that v was in. z: by rank, the
 * next aim. */
submod_status submodi_cut_flow_join(submodi_cut_flow *f, submodi_open_part *part,
                                    const submodi_open_part *old, const int32_t *label,
                                    const double *z);

#endif
