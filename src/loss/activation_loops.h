/* From scores to probabilities and back, on tiles: some pixels of all classes, as many as stay in
 * the L1 cache. Row c of a tile begins at c * stride; `width` is a multiple of SUBMODI_LANES. */
#ifndef SUBMODI_LOSSES_ACTIVATION_LOOPS_H
#define SUBMODI_LOSSES_ACTIVATION_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"

/* Rows of tiles are filled up to multiples of this: lanes of the widest vector. */
enum { SUBMODI_LANES = 16 };
/* The most pixels of a tile. */
enum { SUBMODI_TILE_MAX = 1024 };

/* Rows of scores, which may be the caller's own. */
typedef struct submodi_rows_in {
    const float *data;
    ptrdiff_t stride;
    size_t classes, width;
    const float *shift; /* what is subtracted from the scores of a pixel; NULL: nothing */
} submodi_rows_in;

/* How a gradient is stored. */
typedef enum submodi_store {
    SUBMODI_OVERWRITE,
    SUBMODI_ADD,
    SUBMODI_STREAM /* overwrite around the caches; rows are aligned to SUBMODI_ALIGN */
} submodi_store;

typedef struct submodi_rows_out {
    float *data;
    ptrdiff_t stride;
    float scale;
    submodi_store how;
    const float *weight; /* of the pixels, in softmax_backward; NULL: all 1 */
} submodi_rows_out;

typedef struct submodi_activation_loops {
    /* Softmax over the classes (paper, Eq. 2): its exponentials, and for each pixel 1 / their sum.
     * v may be in.data. Returns the bits of the largest |score - shift|; beyond SUBMODI_UNSHIFTED
     * the results are of no use. */
    uint32_t (*exponentials)(const submodi_rows_in *in, float *v, size_t stride, float *inverse);
    /* What has to be subtracted from each pixel, if scores are large. */
    void (*find_shift)(const submodi_rows_in *in, float *shift);
    /* The same again, once the inverse of the sum is known: v = exp(score - shift) * factor. */
    void (*probabilities)(const submodi_rows_in *in, const float *factor, float *v, size_t stride);
    /* From g = dL/dp to dL/dscore: p_c (g_c - mean), mean = sum over k of p_k g_k, times the
     * weight of the pixel. The rows of p are `stride` apart; those of g, in g.data and so on, may
     * be where the result goes. */
    void (*softmax_backward)(const float *p, size_t stride, const submodi_rows_in *g,
                             const submodi_rows_out *to);
    /* Stores rows as they are. */
    void (*store)(const float *g, size_t stride, size_t classes, size_t width,
                  const submodi_rows_out *to);

    /* Of rows, each returns the bits of the largest |score|. Nothing more; copies; p = 1 / (1 +
     * exp(-score)), and p (1 - p) unless slope is NULL; clamps to [0, 1], where a score that is
     * outside by more than 1e-3 counts as Inf. */
    uint32_t (*largest_size)(const submodi_rows_in *in);
    uint32_t (*copy)(const submodi_rows_in *in, float *v, size_t stride);
    uint32_t (*sigmoid)(const submodi_rows_in *in, float *v, float *slope, size_t stride);
    uint32_t (*clamp)(const submodi_rows_in *in, float *v, size_t stride);
    /* One row, in place: g <- g * slope. */
    void (*multiply)(float *g, const float *slope, size_t width);
    /* factor[i] <- 0 where code[i] is not below `classes`. */
    void (*drop_ignored)(const int32_t *code, int32_t classes, size_t width, float *factor);
} submodi_activation_loops;

extern const submodi_activation_loops submodi_activations_baseline, submodi_activations_avx2,
    submodi_activations_avx512;

static inline const submodi_activation_loops *submodi_activations(void)
{
    static const submodi_activation_loops *const table[] = SUBMODI_TABLES(submodi_activations);
    return table[submodi_isa_in_use()];
}

#endif
