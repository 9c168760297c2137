/* The terms of a sum, as solvers see them. */
#ifndef SUBMODI_FUNCTIONS_SUM_H
#define SUBMODI_FUNCTIONS_SUM_H

#include "submod/handle.h"

typedef struct submodi_term {
    const submod_fn *fn; /* borrowed from the sum */
    double coefficient;  /* >= 0 */
} submodi_term;

/* The number of terms of a sum, 1 for a scaled function, 0 for any other function. */
size_t submodi_sum_count(const submod_fn *fn);
/* Term i, i < submodi_sum_count(fn). */
submodi_term submodi_sum_term(const submod_fn *fn, size_t i);

#endif
