/* From scores to probabilities and back, on tiles: up to SUBMODI_TILE pixels of all classes, so
 * that everything a pixel needs stays in the L1 and L2 cache. Row c of a tile begins at
 * c * SUBMODI_TILE. All loops run over pixels and vectorise. */
#ifndef SUBMODI_LOSSES_ACTIVATION_LOOPS_H
#define SUBMODI_LOSSES_ACTIVATION_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"

enum { SUBMODI_TILE = 512 };

typedef struct submodi_activation_loops {
    /* One row: copies `from` to v and raises largest to it, entry by entry. Returns false if some
     * of it is not finite. */
    bool (*take_row)(const float *from, size_t n, float *v, float *largest);

    /* Softmax over the classes (paper, Eq. 2), in place and up to a factor per pixel:
     * p = v * factor. largest: the largest score of each pixel. */
    void (*softmax)(size_t classes, size_t n, const float *largest, float *v, float *factor);
    /* One row: x <- x * factor, entry by entry. */
    void (*multiply)(float *x, const float *factor, size_t n);
    /* From dL/dp to dL/dscore: the mean  sum over k of p_k g_k  of each pixel, and then, one row at
     * a time,  scale * p_c (g_c - mean)  into to, which may be g itself. */
    void (*softmax_mean)(const float *v, const float *factor, const float *g, size_t classes,
                         size_t n, float *mean);
    void (*softmax_backward)(const float *v, const float *factor, const float *mean, const float *g,
                             size_t n, float scale, float *to);

    /* In place, one row: v <- p = 1 / (1 + exp(-v)); and g <- g p (1 - p), from the scores, because
     * 1 - p in float is 0 from a score of 17 on. */
    void (*sigmoid)(size_t n, float *v);
    void (*sigmoid_backward)(const float *score, size_t n, float *g);

    /* In place, one row: clamps v to [0, 1]. Returns false if some v lies outside by more than
     * 1e-3. */
    bool (*clamp_probability)(size_t n, float *v);
} submodi_activation_loops;

extern const submodi_activation_loops submodi_activations_baseline, submodi_activations_avx2,
    submodi_activations_avx512;

static inline const submodi_activation_loops *submodi_activations(void)
{
    static const submodi_activation_loops *const table[] = SUBMODI_TABLES(submodi_activations);
    return table[submodi_isa_in_use()];
}

#endif
