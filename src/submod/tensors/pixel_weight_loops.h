/* Rows of pixel weights (pixel_weights.h). */
#ifndef SUBMODI_TENSORS_PIXEL_WEIGHT_LOOPS_H
#define SUBMODI_TENSORS_PIXEL_WEIGHT_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"

/* What rows are rounded to: multiples of step, in which the largest has at most 52 bits. */
typedef struct submodi_weight_rounding {
    double step;
    double divisor; /* a power of two that they are divided by when they are rounded */
    float largest;  /* larger ones are cut to this */
} submodi_weight_rounding;

typedef struct submodi_pixel_weight_loops {
    /* In place. */
    void (*round)(const submodi_weight_rounding *how, size_t n, float *row);
    /* Adds to sum[k] the weights whose code is k, for k = 0, 1. They are rounded: the sums are
     * exact. */
    void (*tally)(const int32_t *codes, const float *weight, size_t n, double *sum);
} submodi_pixel_weight_loops;

extern const submodi_pixel_weight_loops submodi_pixel_weights_baseline, submodi_pixel_weights_avx2,
    submodi_pixel_weights_avx512;

static inline const submodi_pixel_weight_loops *submodi_pixel_weights(void)
{
    static const submodi_pixel_weight_loops *const table[] = SUBMODI_TABLES(submodi_pixel_weights);
    return table[submodi_isa_in_use()];
}

#endif
