/* The exact weights of one class in one group: its errors ranked, foreground and background
 * counted. */
#ifndef SUBMODI_LOSSES_RANK_H
#define SUBMODI_LOSSES_RANK_H

#include "base/sort.h"
#include "loss/rank_loops.h"
#include "loss/tile.h"
#include "loss/weigh_loops.h"

/* Memory of one ranking by so many threads. */
typedef struct submodi_rank_memory {
    int threads;
    uint64_t *record, *spare;        /* pixels of a group, each */
    submodi_digit_counts *count;     /* per thread */
    submodi_measure_failure failure; /* of a custom measure: the first, once it is found */
    size_t segment;                  /* where that was */
} submodi_rank_memory;

/* Memory for n errors and so many threads as it says. False: out of memory. */
bool submodi_rank_take(submodi_rank_memory *memory, size_t n, submod_work *work);

/* The errors of a class in a group: pixel i of its image b is at error[b * stride + i]. */
typedef struct submodi_rank_errors {
    float *error;
    size_t stride;
    submodi_rank_range range;
} submodi_rank_errors;

/* *value = f(errors of class c in the group). In place of each error: the coefficient of the class
 * times what the pixel adds, times scale, negative at foreground pixels, 0 where there is none.
 * Returns how many errors had to be sorted. The result does not depend on threads. If a custom
 * measure fails, memory->failure says where. */
size_t submodi_rank(const submodi_batch *batch, size_t group, size_t c,
                    const submodi_rank_errors *errors, float scale, submodi_rank_memory *memory,
                    submodi_reproducible_sum *value);

#endif
