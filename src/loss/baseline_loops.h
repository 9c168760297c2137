/* Rows of the losses to compare with (baseline.h): what they add up, and their slopes. */
#ifndef SUBMODI_LOSSES_BASELINE_LOOPS_H
#define SUBMODI_LOSSES_BASELINE_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"
#include "loss/activation_loops.h"

/* In all of them `weight` is the row of the pixels' weights; NULL: all 1. */

/* Rows of a tile. */
typedef struct submodi_split {
    float *top, *others, *largest, *own_score, *own;
} submodi_split;

typedef struct submodi_baseline_loops {
    /* Hinge: the sum of max(0, 1 - s v) over the pixels with code `target`, s = 1 at target 1 and
     * -1 at target 0. */
    double (*add_hinge)(const float *v, const int32_t *code, const float *weight, int32_t target,
                        size_t n);
    /* The slope of label 0 or 1 where the margin is positive, 0 elsewhere. */
    void (*hinge_slope)(const float *v, const int32_t *code, const float *slope, size_t n,
                        float *g);

    /* Overlaps: the sum of v * factor over a row, in an order that depends on width alone. */
    double (*sum)(const float *v, const float *factor, const float *weight, size_t width);
    /* A row with labels of its own: adds v over the pixels that are not ignored to *all, over those
     * with code 1 to *inside. */
    void (*add_overlap)(const float *v, const int32_t *code, const float *weight, size_t width,
                        double *inside, double *all);
    /* slope[1] at code `target`, 0 at ignored pixels, slope[0] elsewhere. */
    void (*overlap_slope)(const int32_t *code, int32_t target, int32_t ignored, const float *slope,
                          size_t width, float *g);

    /* Soft labels y, with p = v * factor: adds the sums of min(p, y), or of p y if `product`, of
     * |p - y| and of y to the three numbers of sum. */
    void (*add_soft)(const float *v, const float *factor, const float *weight, const float *y,
                     bool product, size_t width, double *sum);
    /* From soft labels, in place, to d * slope[0] - q * slope[1]: d is the derivative of |p - y| by
     * p, q that of min(p, y) or p y. In a kink both are the means of their two sides. */
    void (*soft_slope)(const float *p, const float *slope, bool product, size_t width, float *g);

    /* Cross-entropy: v = exp(score - shift), and of each pixel the largest exponential, the sum of
     * all others, the largest score, and score and exponential of the class that it has. Returns
     * the bits of the largest |score - shift|. */
    uint32_t (*split)(const submodi_rows_in *in, const int32_t *code, float *v, size_t stride,
                      const submodi_split *out);
    /* From the weight of each pixel to the derivative: factor times the exponential at all classes
     * but the pixel's own, and what it is there. Into factor, which has the weights, and out->own.
     */
    void (*entropy_slopes)(const submodi_split *out, size_t width, float *factor);
    /* others <- log(1 + others / top). */
    void (*log_sum)(const float *top, float *others, size_t width);
    /* Stores factor * v, but `own` at the class that a pixel has. */
    void (*store_entropy)(const float *v, size_t stride, size_t classes, size_t width,
                          const int32_t *code, const float *factor, const float *own,
                          const submodi_rows_out *to);
} submodi_baseline_loops;

extern const submodi_baseline_loops submodi_baselines_baseline, submodi_baselines_avx2,
    submodi_baselines_avx512;

static inline const submodi_baseline_loops *submodi_baselines(void)
{
    static const submodi_baseline_loops *const table[] = SUBMODI_TABLES(submodi_baselines);
    return table[submodi_isa_in_use()];
}

#endif
