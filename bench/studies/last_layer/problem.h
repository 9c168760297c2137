/* The last layer of a network alone. Scores s = X w + b of the pixels of each image, and
 *
 *     J(w, b) = mean over the images of LovászHinge(s)  +  decay/2 |(w, b)|^2,
 *
 * a convex problem, so the bundle method finds its minimum. Optimisers see subgradients, or the
 * direction of the supplement's modified backpropagation: the loss layer sends
 * lambda (s - prox(s)) back in place of the gradient.
 */
#ifndef SUBMOD_STUDY_LAST_LAYER_PROBLEM_H
#define SUBMOD_STUDY_LAST_LAYER_PROBLEM_H

#include "last_layer/data.h"

typedef enum layer_direction { LAYER_SUBGRADIENT, LAYER_PROX, LAYER_ALGORITHM_2 } layer_direction;

/* Makes the problem of this data, in minibatches of per_batch images. Images that do not fill a
 * last minibatch are left out, of J too: J is the mean over the minibatches. The metric is the mean
 * Jaccard index of the validation images. kind says what the direction is. The data is borrowed.
 * Clear the problem with submod_problem_clear.
 *
 * look says how far prox looks. Where submod_descend asks for the prox with 1/eta, the loss layer
 * takes lambda = 1 / (look eta pixels |x|^2), with the mean of |x|^2. The reason: the weights of a
 * subgradient sum to one, so a step of size eta along it moves a score by about eta |x|^2 at most;
 * and prox moves the scores of an image by 1 / (lambda pixels) on average. With look = 1 prox looks
 * as far as the step may get, with less not so far. In the limit look = 0 it is the subgradient. */
bool layer_problem(const layer_data *train, const layer_data *validation, size_t per_batch,
                   layer_direction kind, double look, submod_problem *problem);
/* The seconds that the problem has spent on evaluating J. No optimiser here needs J itself. */
double layer_value_seconds(const submod_problem *problem);

#endif
