/* Maximum flow through networks with fixed-point capacities, and the flow of a cut function.
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

/* Returns arc a, or the reverse arc. */
static inline submodi_arc *submodi_arc_of(const submodi_network *net, size_t a, bool reverse)
{
    submodi_arc *arc = &net->arcs[a];
    return reverse ? &net->arcs[arc->opposite] : arc;
}

/* Makes the present flow maximal among some nodes that no residual arc enters or leaves. The only
 * failures are SUBMOD_ENOMEM, and SUBMOD_ECANCELLED without an error message; the flow then still
 * respects the capacities.
 *
 * IBFS runs first, for a number of visits per arc; push-relabel completes what is left. IBFS wins
 * while augmenting paths are short, as on noisy images; push-relabel wins where much flow goes far,
 * because flows join on their way. flow.c has measurements. */
submod_status submodi_max_flow(submodi_network *net, const int32_t *nodes, size_t count,
                               uint64_t visits, submod_work *work);

/* IBFS visits per arc from no flow, and from a flow that was maximal for other excesses, where the
 * remaining flow goes far. */
enum { SUBMODI_VISITS_COLD = 48, SUBMODI_VISITS_WARM = 6 };

/* The two methods. IBFS stops after a given effort; *maximal says whether it finished. */
submod_status submodi_ibfs(submodi_network *net, const int32_t *nodes, size_t count,
                           uint64_t effort, bool *maximal, submod_work *work);
submod_status submodi_push_relabel(submodi_network *net, const int32_t *nodes, size_t count,
                                   submod_work *work);

/* Solves whole trees, and trees attached to the rest of the network: a leaf passes its excess to
 * its only neighbour, as far as their arcs can carry it. degree[v] is the number of arcs from v to
 * the nodes. Returns how many nodes are left; 0 means the flow is maximal. left: scratch by node,
 * may be degree; list: scratch for count nodes. O(nodes and arcs of the trees). */
size_t submodi_prune(submodi_network *net, const int32_t *nodes, size_t count,
                     const uint32_t *degree, uint32_t *left, int32_t *list);

/* Sets reached[v] = 1 for the nodes that residual arcs > rounding connect to an excess > rounding,
 * else 0; backwards, for the nodes from which an excess < -rounding can be reached. Under a maximal
 * flow with rounding = 0 these are the smallest source and sink sides of all minimum cuts. list:
 * scratch for count nodes. */
void submodi_reach(submodi_network *net, const int32_t *nodes, size_t count, bool backwards,
                   int64_t rounding, uint8_t *reached, int32_t *list);

/* ---- fixed-point numbers ---- */

/* Numbers are multiplied by a power of two so that 60 bits hold the largest excess plus the
 * capacities at any vertex. Rounding is below 2^-60 of that sum, finer than the rounding of the
 * sum in double. Numbers that differ by less than FLOW_NOISE may be ties that were rounded. */
enum { SUBMODI_FLOW_NOISE = 1 << 12 };

typedef struct submodi_scaling {
    double limit;   /* larger weights are clamped to it: no flow ever needs more */
    double root;    /* the factor is root^2, a power of two that may be out of range; 0: none yet */
    double inverse; /* 1 / root, exactly */
} submodi_scaling;

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
    return submodi_to_fixed(scaling, weight < scaling->limit ? weight : scaling->limit);
}

/* ---- the flow of a cut ----
 *
 * The vertices are divided into parts, and flow runs within parts only. An arc between parts is
 * closed: it is full, and its opposite is empty. So the flow out of each vertex, `cross` included,
 * is a base of the cut at any time. */

enum { SUBMODI_WITHIN, SUBMODI_LEAVES, SUBMODI_ENTERS };

typedef struct submodi_cut_flow {
    const submodi_cut *cut;
    double room;         /* the limit of weights, as a multiple of the sum of |z - cross| */
    submodi_network net; /* of all vertices, in the scalings of their parts */
    uint32_t *part;      /* vertex -> id of its part */
    int64_t *want;       /* vertex -> its excess plus its outflow within its part */
    double *cross;       /* vertex -> weights to later parts, less weights from earlier ones */
    uint32_t *degree;    /* vertex -> its arcs within its part */
    uint8_t *closed;     /* arc -> whether it lies between parts, and in which direction */
} submodi_cut_flow;

/* The data of a part. Initialise it with an unused id and zeros. */
typedef struct submodi_flow_part {
    uint32_t id;
    submodi_scaling scaling;
    double used; /* bounds the flow through any arc since the scaling was chosen */
} submodi_flow_part;

/* Allocates the memory. The caller fills `part` and `cross`, and adds `closed` before it closes an
 * arc. room is 1 for a single z; larger values let the flow aim at several z before it comes near
 * the limit. */
submod_status submodi_flow_start(submodi_cut_flow *f, const submodi_cut *cut, double room,
                                 submod_work *work);

/* Sets the excess of each vertex of a part to z - cross less its outflow. Chooses a new scaling if
 * these numbers no longer fit into the present one or have become too small for it. Returns
 * SUBMOD_ENUMERIC if z or the weights are too large. */
submod_status submodi_flow_aim(submodi_cut_flow *f, submodi_flow_part *part,
                               const int32_t *vertices, size_t count, const double *z);

/* Changes the scaling of a part. Flow within it is kept, or dropped. */
void submodi_flow_rescale(submodi_cut_flow *f, submodi_flow_part *part, const int32_t *vertices,
                          size_t count, submodi_scaling scaling, bool keep);

/* Closes the full arc a from v, or opens it again: v's part comes before that of its head. Both
 * have this scaling. */
void submodi_flow_close(submodi_cut_flow *f, const submodi_scaling *scaling, int32_t v, size_t a);
void submodi_flow_reopen(submodi_cut_flow *f, const submodi_scaling *scaling, int32_t v, size_t a);

/* Returns the flow out of the vertex, to other parts and within its own. */
static inline double submodi_flow_base(const submodi_cut_flow *f, const submodi_flow_part *part,
                                       int32_t v)
{
    return f->cross[v] + submodi_from_fixed(&part->scaling, f->want[v] - f->net.excess[v]);
}

#endif
