/* From scores to probabilities and back, on tiles: up to SUBMODI_TILE pixels of all classes, so
 * that everything a pixel needs stays in the L1 and L2 cache. Row c of a tile begins at
 * c * SUBMODI_TILE. All loops run over pixels and vectorise. */
#ifndef SUBMODI_ACTIVATION_H
#define SUBMODI_ACTIVATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SUBMODI_TILE = 512 };

/* Whether all of x are finite. */
bool submodi_finite_row(const float *x, size_t n);

/* In place: scores to softmax over the classes (paper, Eq. 2). */
void submodi_softmax(size_t classes, size_t n, float *v);
/* In place: dL/dp to dL/dscore, g_c <- p_c (g_c - sum over k of p_k g_k). */
void submodi_softmax_backward(const float *p, size_t classes, size_t n, float *g);

/* In place, one row: v <- p = 1 / (1 + exp(-v)); and g <- g p (1 - p), from the scores, because
 * 1 - p in float is 0 from a score of 17 on. */
void submodi_sigmoid(size_t n, float *v);
void submodi_sigmoid_backward(const float *score, size_t n, float *g);

/* In place, one row: clamps v to [0, 1]. Returns false if some v lies outside by more than 1e-3. */
bool submodi_clamp_probability(size_t n, float *v);

#endif
