/* The exact weights of one class in one group: its errors ranked, foreground and background
 * counted. */
#ifndef SUBMODI_LOSSES_RANK_H
#define SUBMODI_LOSSES_RANK_H

#include "base/sort.h"
#include "submod/losses/rank_loops.h"
#include "submod/losses/tile.h"

/* Memory of one ranking. */
typedef struct submodi_rank_memory {
    uint64_t *record, *spare; /* SUBMODI_RANK_ROOM more than pixels of a group, each */
    submodi_digit_counts *count;
} submodi_rank_memory;

/* Records are made in up to SUBMODI_RANK_PARTS parts, each of which may write a vector too much. */
enum { SUBMODI_RANK_PARTS = 64, SUBMODI_RANK_ROOM = SUBMODI_RANK_PARTS * SUBMODI_LANES };

/* What is known of the errors beforehand, as bits: the smallest of the foreground, and a bound of
 * all. */
typedef struct submodi_rank_range {
    int32_t smallest, largest;
} submodi_rank_range;
/* No foreground. */
#define SUBMODI_NO_ERROR INT32_C(0x7f800000)

/* Where the weights of a group's class go: pixel i of its image b to weight[b * stride + i]. */
typedef struct submodi_rank_target {
    float *weight; /* NULL: they are not wanted */
    size_t stride;
    float scale;
} submodi_rank_target;

/* *value = f(errors of class c in the group). The weights times the class's coefficient, negative at
 * foreground pixels, go to the target, with 0 where there is none. Returns how many errors had to
 * be sorted. The result does not depend on threads. */
size_t submodi_rank(const submodi_batch *batch, size_t group, size_t c,
                    const submodi_rank_range *range, const submodi_rank_target *target,
                    const submodi_rank_memory *memory, int threads, double *value);

#endif
