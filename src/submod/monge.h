/* The minimum of a measure less modular terms, over two nested families of sets: the minimiser of
 * functions of counts. */
#ifndef SUBMODI_MONGE_H
#define SUBMODI_MONGE_H

#include "base/internal.h"
#include "submod/measure_internal.h"

/* Elements of one label in an order, by the sums over its first k, k = 0 .. count. */
typedef struct submodi_prefix_sums {
    size_t count;         /* at most 2^31 - 1 */
    const double *amount; /* weights, with those of the base; NULL means first + k */
    double first;
    const double *sum; /* of z */
} submodi_prefix_sums;

static inline double submodi_amount(const submodi_prefix_sums *p, size_t k)
{
    return p->amount ? p->amount[k] : p->first + (double)(int64_t)k;
}

/* Numbers of foreground and background elements. */
typedef struct submodi_lattice_point {
    size_t fg, bg;
    double value; /* F - F(at no prefix) - z there */
} submodi_lattice_point;

/* Minimises the increment of F less z over the prefixes of both labels, F submodular; `from` starts
 * at no prefix. Of several minimisers, up to rounding, it finds the smallest or the largest.
 * *evaluations grows by those of F. SUBMOD_ECALLBACK, SUBMOD_ENOMEM. */
submod_status submodi_monge_minimum(const submodi_increment *from, const submodi_prefix_sums *fg,
                                    const submodi_prefix_sums *bg, int largest,
                                    submodi_lattice_point *found, uint64_t *evaluations,
                                    submod_work *work);

#endif
