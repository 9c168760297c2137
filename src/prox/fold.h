/* A sum in canonical form: few parts that do not fold into one another, and a modular function. */
#ifndef SUBMODI_PROX_FOLD_H
#define SUBMODI_PROX_FOLD_H

#include "submod/fn_internal.h"

/* coefficient * fn on some of the elements. */
typedef struct submodi_sum_part {
    submod_fn *fn;      /* a share of its own */
    double coefficient; /* > 0 */
    int32_t *elements;  /* fn->n of them, owned; NULL: all */
} submodi_sum_part;

/* F(A) - F(empty) = modular(A) + sum of the parts, each less its value at the empty set. */
typedef struct submodi_folded {
    size_t n;
    double *modular; /* n numbers, maybe not finite: sums that overflow */
    submodi_sum_part *parts;
    size_t count;
} submodi_folded;

/* Folds any tree of sums, scaled, shifted and embedded functions. A function that is none of these
 * is its only part. submodi_folded_clear frees the result; after a failure nothing is left. */
submod_status submodi_fold(const submod_fn *fn, submodi_folded *folded);
void submodi_folded_clear(submodi_folded *folded);

#endif
