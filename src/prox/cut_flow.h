/* A flow through the graph of a cut function that is kept while the vertices are divided into
 * parts. */
#ifndef SUBMODI_PROX_CUT_FLOW_H
#define SUBMODI_PROX_CUT_FLOW_H

#include "submod/functions/cut_network.h"

/* Some vertices, consecutive in an order. Arcs between parts are full and closed. */
typedef struct submodi_flow_part {
    size_t begin, end; /* ranks in the order */
    uint32_t id;       /* no other part has it */
    submodi_scaling scaling;
    double used; /* bounds what has flowed through any arc since the scaling was chosen */
} submodi_flow_part;

typedef struct submodi_cut_flow {
    const submodi_cut *cut;
    submodi_network net; /* of all vertices, in the scalings of their parts */
    int32_t *order;
    int32_t *rank;    /* vertex -> its rank in the order */
    uint32_t *part;   /* vertex -> id of its part */
    int64_t *want;    /* vertex -> its excess plus what flows out of it, within its part */
    double *cross;    /* vertex -> weights to later parts, less weights from earlier ones */
    uint32_t *degree; /* vertex -> its arcs within its part */
    int32_t *others;  /* scratch, n */
    uint32_t parts;   /* ids in use: 0 .. parts - 1 */
} submodi_cut_flow;

/* One part of all vertices, nothing flows. false: memory ran out. */
bool submodi_cut_flow_start(submodi_cut_flow *f, const submodi_cut *cut, submodi_flow_part *all,
                            submod_work *w);

/* Makes the excess of each vertex of a part what z (by rank, from part->begin on) leaves beside
 * `cross` and the flow. Returns SUBMOD_ENUMERIC if z or the weights are too large. */
submod_status submodi_cut_flow_aim(const char *who, submodi_cut_flow *f, submodi_flow_part *part,
                                   const double *z);

/* What flows out of the vertex, to other parts and within its own: a base of the cut function. */
double submodi_cut_flow_base(const submodi_cut_flow *f, const submodi_flow_part *part, int32_t v);

/* The weight of the arcs from the vertices of a part that have in = 1 to its others. Moves those
 * vertices to the front; *first is their number. */
double submodi_cut_flow_sort(submodi_cut_flow *f, const submodi_flow_part *part, const uint8_t *in,
                             size_t *first);

/* Divides a part after its first vertices. */
void submodi_cut_flow_split(submodi_cut_flow *f, const submodi_flow_part *part, size_t first,
                            submodi_flow_part side[2]);

/* Divides a part into the component of its first vertex, which is returned, and the rest, which
 * remains: no arc leads from one to the other. The rest is empty if the part is connected. */
submodi_flow_part submodi_cut_flow_component(submodi_cut_flow *f, submodi_flow_part *part);

#endif
