/* Minimum cuts of networks with whole-number capacities. */
#ifndef SUBMODI_FUNCTIONS_MAXFLOW_H
#define SUBMODI_FUNCTIONS_MAXFLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <submod/base.h>

/* An arc in the list of arcs, which is ordered by tail; `opposite` is an index of the same list. */
typedef struct submodi_arc {
    int64_t residual; /* its capacity, less the flow through it */
    int32_t head;
    uint32_t opposite;
} submodi_arc;

/* Source and sink are not nodes: supply is the capacity from the source to a node, demand that from
 * the node to the sink. The capacities at one node add up to at most 2^62. */
typedef struct submodi_network {
    size_t nodes;
    uint32_t *first; /* nodes + 1: where the arcs of a node begin */
    submodi_arc *arcs;
    int64_t *supply;
    int64_t *demand;
} submodi_network;

/* reaches[v] = 1 iff, under a maximum flow, v can still reach the sink along residual capacities
 * larger than `rounding`: with rounding = 0 the smallest sink side of a minimum cut. Overwrites the
 * network. SUBMOD_ENOMEM and SUBMOD_ECANCELLED, without an error message, are the only failures. */
submod_status submodi_max_flow(submodi_network *net, int64_t rounding, uint8_t *reaches,
                               submod_work *work);

/* The same for a network without cycles, which it leaves as it is. false: there is a cycle, or no
 * memory. */
bool submodi_forest_cut(const submodi_network *net, int64_t rounding, uint8_t *reaches,
                        submod_work *work);

#endif
