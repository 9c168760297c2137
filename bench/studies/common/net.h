/* A small model of pixels: linear scores, or one hidden layer of rectified units.
 *
 *     scores = W x + b      or      scores = W h + b,  h = max(0, V x + a)
 *
 * x are the features of one pixel. Parameters lie in one array, so that any step rule can move
 * them: for each output of each layer its weights, then its bias; hidden layer first.
 * Arrays of pixels are feature-major: feature d of pixel i is x[d * pixels + i].
 */
#ifndef SUBMOD_STUDY_NET_H
#define SUBMOD_STUDY_NET_H

#include <stdbool.h>
#include <submod.h>

typedef struct net_shape {
    size_t features;
    size_t hidden; /* 0: linear */
    size_t classes;
} net_shape;

/* The number of parameters. */
size_t net_size(const net_shape *shape);

/* All zero if linear. With a hidden layer, its weights are normal with variance 2 / features, those
 * after it normal with variance 1 / hidden, and the biases zero. */
void net_start(const net_shape *shape, submod_rng *rng, double *parameters);

/* scores: classes x pixels. units: hidden x pixels, for net_backward; not touched if linear. */
void net_forward(const net_shape *shape, const double *parameters, const float *x, size_t pixels,
                 float *units, float *scores);

/* Adds to g the gradient by the parameters, given the gradient by the scores. units must be as
 * net_forward left them, and is overwritten. */
void net_backward(const net_shape *shape, const double *parameters, const float *x, size_t pixels,
                  float *units, const float *score_gradient, double *g);

/* prediction[i] = the class of the largest score; of equal scores, the smaller class. */
void net_predict(const float *scores, size_t classes, size_t pixels, uint8_t *prediction);

#endif
