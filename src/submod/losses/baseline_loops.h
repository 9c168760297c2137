/* Rows of the losses to compare with (baseline.h): what they add up, and their slopes. */
#ifndef SUBMODI_LOSSES_BASELINE_LOOPS_H
#define SUBMODI_LOSSES_BASELINE_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"

typedef struct submodi_baseline_loops {
    /* Hinge: adds max(0, 1 - s v) over the pixels with code `target`, s = 1 at target 1 and -1 at
     * target 0, to *sum and their number to *count. */
    void (*add_hinge)(const float *v, const int32_t *code, int32_t target, size_t n, double *sum,
                      double *count);
    /* The slope of label 0 or 1 where the margin is positive, 0 elsewhere. */
    void (*hinge_slope)(const float *v, const int32_t *code, const float *slope, size_t n,
                        float *g);

    /* Overlaps: adds v over the pixels that are not ignored to *all, over those with code `target`
     * to *inside. */
    void (*add_overlap)(const float *v, const int32_t *code, int32_t target, int32_t ignored,
                        size_t n, double *inside, double *all);
    /* slope[1] at code `target`, 0 at ignored pixels, slope[0] elsewhere. */
    void (*overlap_slope)(const int32_t *code, int32_t target, int32_t ignored, const float *slope,
                          size_t n, float *g);

    /* Cross-entropy: the largest of the probabilities so far, and the sum of all others: in double,
     * for the sake of many classes. */
    void (*split_off)(const float *p, size_t n, float *top, double *others);
    /* others <- log(1 + others / top). */
    void (*log_sum)(const float *top, size_t n, double *others);
    /* g <- factor p. */
    void (*product)(const float *p, const float *factor, size_t n, float *g);
} submodi_baseline_loops;

extern const submodi_baseline_loops submodi_baselines_baseline, submodi_baselines_avx2,
    submodi_baselines_avx512;

static inline const submodi_baseline_loops *submodi_baselines(void)
{
    static const submodi_baseline_loops *const table[] = SUBMODI_TABLES(submodi_baselines);
    return table[submodi_isa_in_use()];
}

#endif
