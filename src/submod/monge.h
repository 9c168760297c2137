/* Minimisers made of prefixes: of functions of the weights of two labels, foreground and
 * background, or of one (docs/mathematics.md, sections 3 and 7). */
#ifndef SUBMODI_MONGE_H
#define SUBMODI_MONGE_H

#include "base/internal.h"
#include "base/sort.h"
#include "submod/fn_internal.h"
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

/* Minimises the increment of a submodular F less z over the prefixes of both labels; `from` starts
 * at empty prefixes. Finds the smallest or the largest minimiser, up to rounding. Adds the number
 * of evaluations of F to *evaluations. SUBMOD_ECALLBACK, SUBMOD_ENOMEM. */
submod_status submodi_monge_minimum(const submodi_increment *from, const submodi_prefix_sums *fg,
                                    const submodi_prefix_sums *bg, int largest,
                                    submodi_lattice_point *found, uint64_t *evaluations,
                                    submod_work *work);

/* A function of the weights of both labels, and the minor less z that is minimised. */
typedef struct submodi_prefix_search {
    /* Chooses how many elements with weights the smallest or the largest minimiser holds: the first
     * ones of background and foreground in the order of z / w. */
    submod_status (*choose)(const struct submodi_prefix_search *p, int largest, size_t chosen[2],
                            submod_work *work);
    const void *ctx;
    const double *weight;       /* NULL means ones */
    const uint32_t *foreground; /* a bit for each element; NULL means none */

    double base[2]; /* weights of background and foreground in the base */
    const int32_t *elements;
    size_t count;
    const double *z;
    submodi_sorted sorted; /* by z / w */
} submodi_prefix_search;

static inline bool submodi_label(const uint32_t *foreground, int32_t e)
{
    return foreground && foreground[e >> 5] >> (e & 31) & 1;
}

/* Adds the weights of a set to those of background and foreground. */
static inline void submodi_add_weights(const double *weight, const uint32_t *foreground,
                                       const int32_t *set, size_t k, double sum[2])
{
    int64_t of_fg = 0;
    if (weight) {
        for (size_t i = 0; i < k; i++) {
            sum[submodi_label(foreground, set[i])] += weight[set[i]];
        }
        return;
    }
    for (size_t i = 0; foreground && i < k; i++) {
        of_fg += submodi_label(foreground, set[i]);
    }
    sum[0] += (double)((int64_t)k - of_fg);
    sum[1] += (double)of_fg;
}

/* The callbacks minimize and minimize_parts. */
submod_status submodi_minimize_prefixes(submodi_prefix_search p, const submod_minor *minor,
                                        const double *z, uint8_t *smallest, uint8_t *largest);
submod_status submodi_minimize_prefix_parts(submodi_prefix_search p, const int32_t *order,
                                            const submodi_part *parts, size_t nparts,
                                            const double *z, uint8_t *in);

#endif
