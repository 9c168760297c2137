/* Maximum flow through networks with fixed-point capacities.
 *
 * There is no source and no sink. A node with positive excess is a source of that much, a node with
 * negative excess a sink. A flow is maximal when no path of residual arcs leads from positive to
 * negative excess. Costs are counted in arc visits (`effort`). */
#ifndef SUBMODI_FLOW_H
#define SUBMODI_FLOW_H

#include <math.h>

#include "submod/fn_internal.h"

/* Arcs are sorted by tail; `opposite` is the index of the reverse arc in the same list. */
typedef struct submodi_arc {
    int64_t residual; /* capacity less flow */
    int32_t head;
    uint32_t opposite;
} submodi_arc;

/* The capacities and the excess at one node add up to at most 2^62 in absolute value. There are at
 * most 2^32 - 2 arcs. */
typedef struct submodi_network {
    size_t nodes;
    const size_t *first; /* nodes + 1; the arcs of node v are first[v] .. first[v + 1] - 1 */
    submodi_arc *arcs;
    int64_t *excess;
    uint64_t effort;
} submodi_network;

/* Makes the present flow maximal among some nodes, which no residual arc leaves or enters. The only
 * failures are SUBMOD_ENOMEM, and SUBMOD_ECANCELLED without an error message; the flow then still
 * respects the capacities.
 *
 * IBFS runs first, for a number of visits per arc; push-relabel completes what is left. IBFS wins
 * while augmenting paths are short, as on noisy images; push-relabel wins where much flow goes far,
 * because flows join on their way. flow.c has measurements. */
submod_status submodi_max_flow(submodi_network *net, const int32_t *nodes, size_t count,
                               uint64_t visits, submod_work *work);

/* Visits from no flow, and from a flow that was maximal for other excesses, whose rest goes far. */
enum { SUBMODI_VISITS_COLD = 16, SUBMODI_VISITS_WARM = 6 };

/* The two methods. IBFS stops after a given effort; *maximal says whether it finished. */
submod_status submodi_ibfs(submodi_network *net, const int32_t *nodes, size_t count,
                           uint64_t effort, bool *maximal, submod_work *work);
submod_status submodi_push_relabel(submodi_network *net, const int32_t *nodes, size_t count,
                                   submod_work *work);

/* Solves whole trees, and trees attached to the rest of the network: a leaf passes its excess to
 * its only neighbour, as far as their arcs can carry it. degree[v] is the number of arcs from v to
 * the nodes, and is overwritten. Returns how many nodes are left; 0 means the flow is maximal.
 * list: scratch for count nodes. O(nodes and arcs of the trees). */
size_t submodi_prune(submodi_network *net, const int32_t *nodes, size_t count, uint32_t *degree,
                     int32_t *list);

/* Sets reached[v] = 1 for the nodes that residual arcs > rounding connect to an excess > rounding,
 * else 0; backwards, for the nodes from which an excess < -rounding can be reached. Under a maximal
 * flow with rounding = 0 these are the smallest source and sink sides of all minimum cuts. list:
 * scratch for count nodes. */
void submodi_reach(submodi_network *net, const int32_t *nodes, size_t count, bool backwards,
                   int64_t rounding, uint8_t *reached, int32_t *list);

/* ---- fixed-point numbers ---- */

/* Numbers are multiplied by a power of two so that FLOW_BITS bits hold the largest excess plus the
 * capacities at any vertex. Rounding is below 2^-60 of that sum, finer than the rounding of the
 * sum in double. Numbers that differ by less than FLOW_NOISE may be ties that were rounded. */
enum { SUBMODI_FLOW_BITS = 60, SUBMODI_FLOW_NOISE = 1 << 12 };

typedef struct submodi_scaling {
    double limit;   /* larger weights are clamped to it: no flow ever needs more */
    double root;    /* the factor is root^2, a power of two that may be out of range */
    double inverse; /* 1 / root, exactly */
} submodi_scaling;

/* Sizes of the excesses in a network. */
typedef struct submodi_excesses {
    double largest, sum; /* of |excess|; the sum may overflow */
    int32_t vertex;      /* with the largest excess */
} submodi_excesses;

static inline void submodi_add_excess(submodi_excesses *sizes, int32_t vertex, double excess)
{
    if (fabs(excess) > sizes->largest) {
        sizes->largest = fabs(excess);
        sizes->vertex = vertex;
    }
    sizes->sum += fabs(excess);
}

/* Computes the scaling for excesses of these sizes in a cut's network, so that flows of up to
 * room * sum fit. Returns SUBMOD_ENUMERIC if the largest excess is infinite, or if both room * sum
 * and the capacities at a vertex are; the message names the excess and the heaviest edge. */
submod_status submodi_find_scaling(const submodi_cut *cut, const submodi_excesses *sizes,
                                   double room, submodi_scaling *scaling);

static inline int64_t submodi_to_fixed(const submodi_scaling *scaling, double x)
{
    return llrint(x * scaling->root * scaling->root);
}

static inline double submodi_from_fixed(const submodi_scaling *scaling, int64_t fixed)
{
    return (double)fixed * scaling->inverse * scaling->inverse;
}

static inline int64_t submodi_capacity(const submodi_scaling *scaling, double weight)
{
    return submodi_to_fixed(scaling, fmin(weight, scaling->limit));
}

/* Writes the arcs of all vertices with their capacities, start[n] of them, in the order of the
 * cut's own lists. */
void submodi_cut_arcs(const submodi_cut *cut, const submodi_scaling *scaling, submodi_arc *arcs);

#endif
