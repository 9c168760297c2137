/* Maximum flows through networks with whole-number capacities.
 *
 * There is no source and no sink. A node with a positive excess has that much to give away, one
 * with a negative excess takes as much. A flow is maximal when no way along residual capacities
 * leads from a positive excess to a negative one. */
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

/* The capacities and the excess at one node add up to at most 2^62 in absolute value. There are at
 * most 2^32 - 2 arcs. */
typedef struct submodi_network {
    size_t nodes;
    const size_t *first; /* nodes + 1: where the arcs of a node begin */
    submodi_arc *arcs;
    int64_t *excess;
    uint64_t effort; /* grows by the number of arcs that the calls below looked at */
} submodi_network;

/* Makes the flow maximal among some nodes, which no residual capacity may leave or enter, starting
 * from the flow that is there. SUBMOD_ENOMEM and SUBMOD_ECANCELLED, without an error message, are
 * the only failures; the flow is then some flow within the capacities. looks: for how many looks at
 * each arc to try shortest ways; maxflow.c. */
submod_status submodi_max_flow(submodi_network *net, const int32_t *nodes, size_t count,
                               uint64_t looks, submod_work *work);

/* To start from nothing, and from a flow that was maximal for slightly different excesses, where
 * what is left has to go far. Chosen on noisy grids of 256^2 and 512^2 pixels like those of
 * bench-cuts: between 4 and 8 made little difference to the prox, 6 in place of 64 made minima
 * under strong smoothing up to 3 times slower. Other graphs may want other numbers; none is ever
 * wrong. */
enum { SUBMODI_LOOKS_AT_FIRST = 64, SUBMODI_LOOKS_AGAIN = 6 };

/* The two methods it consists of. The first gives up after a certain effort; *maximal says whether
 * it came to its end before. */
submod_status submodi_shortest_ways(submodi_network *net, const int32_t *nodes, size_t count,
                                    uint64_t effort, bool *maximal, submod_work *work);
submod_status submodi_push_relabel(submodi_network *net, const int32_t *nodes, size_t count,
                                   submod_work *work);

/* Solves the trees that hang on the rest of the network, or whole trees: nodes with one neighbour
 * hand it what they have. degree[v]: to how many of the nodes v has arcs, parallel ones counted;
 * overwritten. Returns how many nodes are left; if none is, the flow is maximal. list: room for
 * count nodes. */
size_t submodi_prune(submodi_network *net, const int32_t *nodes, size_t count, uint32_t *degree,
                     int32_t *list);

/* reached[v] = 1 for those of the nodes to which an excess > rounding can flow along residual
 * capacities > rounding, else 0; backwards: for those from which one can flow to an excess
 * < -rounding. Under a maximal flow, with rounding = 0, these are the smallest side of the source
 * and of the sink among all minimum cuts. list: room for count nodes. */
void submodi_reach(submodi_network *net, const int32_t *nodes, size_t count, bool backwards,
                   int64_t rounding, uint8_t *reached, int32_t *list);

#endif
