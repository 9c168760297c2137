/* Errors of a class as records to sort (see rank.h). */
#ifndef SUBMODI_LOSSES_RANK_LOOPS_H
#define SUBMODI_LOSSES_RANK_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"
#include "base/sort.h"

/* Errors with their label: e >= 0 at background, -e (sign bit set, -0 too) at foreground pixels,
 * NaN at ignored ones. The bits of |e| order as |e| does. */

/* A row of values with its labels: code `target` is foreground, from `classes` on ignored. */
typedef struct submodi_rank_row {
    const float *v, *factor; /* probabilities are v * factor */
    const int32_t *code;
    int32_t target, classes;
    float bias;
    size_t width;
} submodi_rank_row;

/* The smallest error of the foreground and the largest of all, as bits. */
typedef struct submodi_rank_range {
    int32_t smallest, largest;
} submodi_rank_range;
/* Both together. */
static inline submodi_rank_range submodi_rank_range_of(submodi_rank_range x, submodi_rank_range y)
{
    return (submodi_rank_range){x.smallest < y.smallest ? x.smallest : y.smallest,
                                x.largest > y.largest ? x.largest : y.largest};
}

/* The smallest error of no foreground. */
#define SUBMODI_NO_ERROR INT32_C(0x7f800000)

/* What is kept: foreground errors from `foreground` on, background errors above `background`. No
 * error is above `largest`. */
typedef struct submodi_rank_limits {
    int32_t foreground, background, largest;
} submodi_rank_limits;

/* Records keep the place of a pixel in their low bits. */
enum { SUBMODI_OFFSET_BITS = 32 };

static inline uint32_t submodi_key_of(uint64_t record)
{
    return (uint32_t)(record >> SUBMODI_OFFSET_BITS);
}

typedef struct submodi_rank_loops {
    /* The errors of a row; the range is widened to hold them. stream: around the caches, `error` is
     * aligned to SUBMODI_ALIGN. */
    void (*errors)(const submodi_rank_row *row, bool stream, float *error,
                   submodi_rank_range *range);
    /* The records of up to SUBMODI_TILE_MAX errors, side by side; their number. Their places are
     * counted from offset. The errors become 0, or, if the pixels have weights, the weights of
     * those that are kept. digits NULL: records are not counted. */
    size_t (*records)(float *error, const float *weight, size_t n,
                      const submodi_rank_limits *limits, uint32_t offset, uint64_t *to,
                      const submodi_digits *digits, uint32_t *count);
} submodi_rank_loops;

extern const submodi_rank_loops submodi_ranks_baseline, submodi_ranks_avx2, submodi_ranks_avx512;

static inline const submodi_rank_loops *submodi_ranks(void)
{
    static const submodi_rank_loops *const table[] = SUBMODI_TABLES(submodi_ranks);
    return table[submodi_isa_in_use()];
}

#endif
