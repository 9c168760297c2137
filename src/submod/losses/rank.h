/* The exact weights of one class: its errors ranked, foreground and background counted. */
#ifndef SUBMODI_LOSSES_RANK_H
#define SUBMODI_LOSSES_RANK_H

#include <stdbool.h>

#include "base/sort.h"

/* Memory of one ranking of n errors. */
typedef struct submodi_rank_memory {
    uint64_t *record, *spare;    /* n + 1 each */
    submodi_digit_counts *count; /* one per thread */
} submodi_rank_memory;

/* Errors with their label: e >= 0 at background, -e (sign bit set, -0 too) at foreground pixels,
 * NaN at ignored ones. */

/* With P foreground pixels among them (P may count more than those that are there with an error
 * above 0): *value = f(errors), and in place of each error coefficient times its weight, negative
 * at foreground pixels, 0 at ignored ones. drop_zero: pixels without error take no part, as in the
 * hinge loss. Returns how many errors had to be sorted. The result does not depend on threads. */
size_t submodi_rank(float *error, size_t n, uint64_t P, bool drop_zero, double coefficient,
                    const submodi_rank_memory *memory, int threads, double *value);

#endif
