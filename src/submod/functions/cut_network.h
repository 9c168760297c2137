/* Cut functions as networks with whole-number capacities. */
#ifndef SUBMODI_FUNCTIONS_CUT_NETWORK_H
#define SUBMODI_FUNCTIONS_CUT_NETWORK_H

#include <math.h>

#include "submod/functions/cut.h"
#include "submod/functions/maxflow.h"

/* How numbers become whole. Differences of up to 2^-48 of the largest number may be ties that were
 * rounded. */
typedef struct submodi_scaling {
    double limit;   /* larger weights count as this: no flow ever needs more */
    double root;    /* its square is the factor, a power of two that may be out of range */
    double inverse; /* 1 / root, exactly */
} submodi_scaling;

enum { SUBMODI_FLOW_BITS = 60, SUBMODI_FLOW_NOISE = 1 << 12 };

/* The sizes of the excesses in a network. */
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

/* Finds the scaling for excesses of these sizes in a cut's network, so that flows of up to room *
 * sum fit. Returns SUBMOD_ENUMERIC if the largest excess is infinite, or if both room * sum and the
 * capacities at a vertex are; the message names the excess and the heaviest edge. */
submod_status submodi_find_scaling(const char *who, const submodi_cut *cut,
                                   const submodi_excesses *sizes, double room,
                                   submodi_scaling *scaling);

/* x times the factor. */
static inline int64_t submodi_whole(const submodi_scaling *scaling, double x)
{
    return llrint(x * scaling->root * scaling->root);
}

static inline int64_t submodi_capacity(const submodi_scaling *scaling, double weight)
{
    return submodi_whole(scaling, fmin(weight, scaling->limit));
}

/* The number that a whole number stands for. */
static inline double submodi_amount(const submodi_scaling *scaling, int64_t whole)
{
    return (double)whole * scaling->inverse * scaling->inverse;
}

/* Writes the arcs of all vertices with their capacities: start[n] of them, in the order of the
 * cut's own lists. */
void submodi_cut_arcs(const submodi_cut *cut, const submodi_scaling *scaling, submodi_arc *arcs);

#endif
