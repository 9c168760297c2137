/* What the pixels of sorted records add, foreground and background counted on the way (see rank.h).
 */
#ifndef SUBMODI_LOSSES_WEIGH_LOOPS_H
#define SUBMODI_LOSSES_WEIGH_LOOPS_H

#include "base/isa.h"
#include "base/sums.h"
#include "loss/rank_loops.h"
#include "submod/measure_internal.h"

/* What weights are multiplied with: before and after they are rounded to float. */
typedef struct submodi_rank_out {
    double coefficient;
    float scale;
    bool weighted; /* first multiplied by the pixel's weight, which is where they go */
} submodi_rank_out;

/* What wrong pixels cost, P of the foreground and N of the background; all in units (batch.h). */
typedef struct submodi_rank_measure {
    const submod_measure *how;
    double unit;
    double P, N;
    submodi_sum_grid values; /* by which what runs add is added up */
} submodi_rank_measure;

/* With Hamming all pixels weigh the same: nothing is sorted, and each record is a run of its own.
 */
static inline bool submodi_rank_needs_order(const submod_measure *measure)
{
    return measure->type != SUBMOD_MEASURE_HAMMING;
}

/* The records ranked before, of the foreground and of the background: their number, or the sum of
 * their weights. Both are exact. */
typedef struct submodi_rank_counts {
    double a, b;
} submodi_rank_counts;

typedef struct submodi_weigh_loops {
    /* The weights of sorted records that begin and end with a tied block go to their places;
     * returns their share of the value. They are added to *before. If a custom measure fails, which
     * is noted in *failure, neither means anything. Of Hamming records need not be sorted. */
    submodi_reproducible_sum (*weigh)(const uint64_t *record, size_t n, submodi_rank_counts *before,
                                      const submodi_rank_measure *measure, int32_t largest,
                                      const submodi_rank_out *out, float *to,
                                      submodi_measure_failure *failure);
} submodi_weigh_loops;

extern const submodi_weigh_loops submodi_weighers_baseline, submodi_weighers_avx2,
    submodi_weighers_avx512;

static inline const submodi_weigh_loops *submodi_weighers(void)
{
    static const submodi_weigh_loops *const table[] = SUBMODI_TABLES(submodi_weighers);
    return table[submodi_isa_in_use()];
}

#endif
