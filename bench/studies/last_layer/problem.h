/* Study 2: the last layer of a network alone. Scores s = X w + b of the pixels of each image, and
 *
 *     J(w, b) = mean over the images of LovászHinge(s)  +  decay/2 |(w, b)|^2,
 *
 * a convex problem, so that its minimum is known from the bundle method. Optimisers see
 * subgradients, or the direction of the supplement's modified backpropagation: the loss layer sends
 * lambda (s - prox(s)) back in place of the gradient.
 */
#ifndef SUBMOD_STUDY_LAST_LAYER_H
#define SUBMOD_STUDY_LAST_LAYER_H

#include "common/net.h"
#include "common/study.h"

/* Images with features and a foreground to find. */
typedef struct layer_data {
    size_t images, pixels, features;
    float *x;       /* images x features x pixels */
    uint8_t *label; /* images x pixels, 0 or 1 */
} layer_data;

/* Discs, each pixel's features N(+-a, 1) with a of its own for each feature. Feature d of the
 * foreground is also shifted from image to image. False after saying why. */
bool layer_synthetic(uint64_t seed, size_t images, size_t side, layer_data *train,
                     layer_data *validation);
/* All structures of study brain against the rest, every step-th pixel in both directions, trained
 * on the slices of fold 0. *missing as in brain_load. */
bool layer_brain(const study_options *options, size_t step, layer_data *train,
                 layer_data *validation, const char **missing);
void layer_data_free(layer_data *data);

typedef enum layer_direction { LAYER_SUBGRADIENT, LAYER_PROX, LAYER_GREEDY_PATH } layer_direction;

/* The problem of this data, minibatches of per_batch images. The rest of a division is left out of
 * f too, which is the mean over the minibatches: what they never show cannot be learnt. Its metric
 * is the mean Jaccard index of the validation images. kind: what its direction is. Data are
 * borrowed. To be cleared by submod_problem_clear.
 *
 * How far prox looks: where submod_descend asks for 1/eta, the loss layer takes
 * lambda = 1 / (look eta pixels |x|^2), |x|^2 in the mean. For a step of size eta along a
 * subgradient, whose weights sum to one, moves a score by about eta |x|^2 at most, and prox moves
 * those of an image by 1 / (lambda pixels) in the mean: with look = 1 as far as the step may get,
 * with less not so far; look = 0 in the limit is the subgradient. */
bool layer_problem(const layer_data *train, const layer_data *validation, size_t per_batch,
                   layer_direction kind, double look, submod_problem *problem);
/* Seconds that the problem has spent in evaluating J, which no optimiser here asks for. */
double layer_value_seconds(const submod_problem *problem);

#endif
