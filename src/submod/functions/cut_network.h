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

/* For excesses of at most `largest` that add up to `sum`, in absolute value, and weights that add
 * up to at most `heaviest` at a vertex. */
submodi_scaling submodi_scaling_for(double largest, double sum, double heaviest);

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
