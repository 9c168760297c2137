/* What solvers made for functions of two counts may know about a submod_fn. */
#ifndef SUBMODI_FUNCTIONS_TWO_COUNTS_H
#define SUBMODI_FUNCTIONS_TWO_COUNTS_H

#include "submod/handle.h"
#include <submod/measure.h>

typedef struct submodi_two_counts {
    submod_measure measure;
    double P, N;           /* of foreground and background, in all */
    double *weight;        /* of each element; NULL: 1 each */
    uint32_t foreground[]; /* element e is bit e % 32 of entry e / 32 */
} submodi_two_counts;

/* NULL for any other function, Jaccard and Hamming by themselves among them. Borrowed from fn. */
const submodi_two_counts *submodi_two_counts_of(const submod_fn *fn);

static inline bool submodi_in_foreground(const submodi_two_counts *t, int32_t e)
{
    return t->foreground[e >> 5] >> (e & 31) & 1;
}

static inline double submodi_element_weight(const submodi_two_counts *t, int32_t e)
{
    return t->weight ? t->weight[e] : 1;
}

/* What a set holds. */
typedef struct submodi_wrong {
    double a, b;
    double value; /* F(a, b); custom measures only */
} submodi_wrong;

static inline void submodi_add_wrong(const submodi_two_counts *t, submodi_wrong *c,
                                     const int32_t *set, size_t k)
{
    for (size_t i = 0; i < k; i++) {
        *(submodi_in_foreground(t, set[i]) ? &c->a : &c->b) += submodi_element_weight(t, set[i]);
    }
}

/* The slots minimize and minimize_parts (two_counts_minimize.c). */
submod_status submodi_minimize_two_counts(const void *ctx, const int32_t *base, size_t nbase,
                                          const int32_t *elements, size_t count, const double *z,
                                          int largest, uint8_t *in);
submod_status submodi_minimize_two_counts_parts(const void *ctx, const int32_t *order,
                                                const int32_t *rank, const submodi_part *parts,
                                                size_t nparts, const double *z, uint8_t *in);

#endif
