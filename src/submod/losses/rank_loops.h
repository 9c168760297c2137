/* Errors of a class as records to sort, and the weights of sorted records (see rank.h). */
#ifndef SUBMODI_LOSSES_RANK_LOOPS_H
#define SUBMODI_LOSSES_RANK_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"

/* The bits of errors >= 0 order as the errors do. What is kept: foreground errors from `foreground`
 * on, background errors above `background`. No error is above `largest`. */
typedef struct submodi_rank_limits {
    int32_t foreground, background, largest;
} submodi_rank_limits;

/* A row of values with its labels: code `target` is foreground, from `classes` on ignored. */
typedef struct submodi_rank_row {
    const float *v;
    const int32_t *code;
    int32_t target, classes;
    float bias;
    size_t width;
} submodi_rank_row;

/* What weights are multiplied with: before and after they are rounded to float. */
typedef struct submodi_rank_out {
    double coefficient;
    float scale;
} submodi_rank_out;

/* Counts of the records ranked before: of the foreground and of the background. */
typedef struct submodi_rank_counts {
    uint64_t a, b;
} submodi_rank_counts;

/* Records keep the place of a pixel in their low bits. */
enum { SUBMODI_OFFSET_BITS = 32 };

static inline uint32_t submodi_key_of(uint64_t record)
{
    return (uint32_t)(record >> SUBMODI_OFFSET_BITS);
}

/* Records are weighed in chunks of up to so many. Entry j of a chunk adds to the value in lane
 * j % SUBMODI_VALUE_LANES. */
enum { SUBMODI_RANK_CHUNK = 128, SUBMODI_VALUE_LANES = 8 };

typedef struct submodi_rank_loops {
    /* Lowers *smallest to the smallest error of the foreground and raises *largest to the largest of
     * all, as bits. */
    void (*limits)(const submodi_rank_row *row, int32_t *smallest, int32_t *largest);
    /* The records of a row, side by side; their number. Up to SUBMODI_LANES entries behind the last
     * one are overwritten with anything. */
    size_t (*records)(const submodi_rank_row *row, const submodi_rank_limits *limits,
                      uint32_t offset, uint64_t *to);
    /* The weights of a chunk of sorted records that begins and ends with a tied block; adds what
     * they make of the value. P pixels are in the foreground. Returns how many are background. */
    uint64_t (*weigh)(const uint64_t *record, size_t n, submodi_rank_counts before, double P,
                      int32_t largest, const submodi_rank_out *out, double *value, float *weight);
} submodi_rank_loops;

extern const submodi_rank_loops submodi_ranks_baseline, submodi_ranks_avx2, submodi_ranks_avx512;

static inline const submodi_rank_loops *submodi_ranks(void)
{
    static const submodi_rank_loops *const table[] = SUBMODI_TABLES(submodi_ranks);
    return table[submodi_isa_in_use()];
}

#endif
