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

#endif
