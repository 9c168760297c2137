/* Rows of pixel weights (pixel_weights.h). */
#ifndef SUBMODI_TENSORS_PIXEL_WEIGHT_LOOPS_H
#define SUBMODI_TENSORS_PIXEL_WEIGHT_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"

typedef struct submodi_pixel_weight_loops {
    /* In place: cuts weights to the largest, divides them by the unit, a power of two, and rounds
     * them. */
    void (*round)(float largest, double unit, double rounder, size_t n, float *row);
    /* Adds to sum[k] the weights whose code is k, for k = 0, 1. */
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
