/* The small model forward and backward, in tiles of pixels. */
#include "common/net.h"

#include <math.h>
#include <string.h>

enum { TILE = 128, LANES = 16 };

static size_t layer_size(size_t inputs, size_t outputs)
{
    return outputs * (inputs + 1);
}

size_t net_size(const net_shape *shape)
{
    return shape->hidden ? layer_size(shape->features, shape->hidden) +
                               layer_size(shape->hidden, shape->classes)
                         : layer_size(shape->features, shape->classes);
}

static void start_layer(size_t inputs, size_t outputs, double deviation, submod_rng *rng,
                        double *weight)
{
    for (size_t o = 0; o < outputs; o++) {
        for (size_t d = 0; d < inputs; d++) {
            weight[o * (inputs + 1) + d] = deviation * submod_rng_normal(rng);
        }
    }
}

void net_start(const net_shape *shape, submod_rng *rng, double *parameters)
{
    memset(parameters, 0, net_size(shape) * sizeof *parameters);
    if (shape->hidden) {
        start_layer(shape->features, shape->hidden, sqrt(2 / (double)shape->features), rng,
                    parameters);
        start_layer(shape->hidden, shape->classes, sqrt(1 / (double)shape->hidden), rng,
                    parameters + layer_size(shape->features, shape->hidden));
    }
}

/* y = W x + b, tile by tile so that a row of y stays in registers and cache. */
static void layer_forward(size_t inputs, size_t outputs, const double *weight, const float *x,
                          size_t pixels, float *y)
{
    for (size_t begin = 0; begin < pixels; begin += TILE) {
        size_t count = pixels - begin < TILE ? pixels - begin : TILE;
        for (size_t o = 0; o < outputs; o++) {
            const double *w = weight + o * (inputs + 1);
            float sum[TILE];
            for (size_t i = 0; i < count; i++) {
                sum[i] = (float)w[inputs];
            }
            for (size_t d = 0; d < inputs; d++) {
                const float *in = x + d * pixels + begin;
                float factor = (float)w[d];
                for (size_t i = 0; i < count; i++) {
                    sum[i] += factor * in[i];
                }
            }
            memcpy(y + o * pixels + begin, sum, count * sizeof *sum);
        }
    }
}

/* Partial sums in a fixed number of lanes: vectorised, and the order of summation is ours. */
static double dot(const float *a, const float *b, size_t count)
{
    float lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        for (size_t k = 0; k < LANES; k++) {
            lane[k] += a[i + k] * b[i + k];
        }
    }
    double sum = 0;
    for (size_t k = 0; k < LANES; k++) {
        sum += (double)lane[k];
    }
    for (; i < count; i++) {
        sum += (double)a[i] * (double)b[i];
    }
    return sum;
}

static double total(const float *a, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)a[i];
    }
    return sum;
}

/* Adds to g the gradient by the weights, given dy, the gradient by y = W x + b. */
static void layer_weights(size_t inputs, size_t outputs, const float *x, const float *dy,
                          size_t pixels, double *g)
{
    for (size_t begin = 0; begin < pixels; begin += TILE) {
        size_t count = pixels - begin < TILE ? pixels - begin : TILE;
        for (size_t o = 0; o < outputs; o++) {
            const float *out = dy + o * pixels + begin;
            for (size_t d = 0; d < inputs; d++) {
                g[o * (inputs + 1) + d] += dot(out, x + d * pixels + begin, count);
            }
            g[o * (inputs + 1) + inputs] += total(out, count);
        }
    }
}

/* dx = the gradient by x where x > 0, which is where the rectified units pass it on; dx may be x.
 */
static void layer_inputs(size_t inputs, size_t outputs, const double *weight, const float *dy,
                         size_t pixels, const float *x, float *dx)
{
    for (size_t begin = 0; begin < pixels; begin += TILE) {
        size_t count = pixels - begin < TILE ? pixels - begin : TILE;
        for (size_t d = 0; d < inputs; d++) {
            float sum[TILE] = {0};
            for (size_t o = 0; o < outputs; o++) {
                const float *out = dy + o * pixels + begin;
                float factor = (float)weight[o * (inputs + 1) + d];
                for (size_t i = 0; i < count; i++) {
                    sum[i] += factor * out[i];
                }
            }
            for (size_t i = 0; i < count; i++) {
                size_t at = d * pixels + begin + i;
                dx[at] = x[at] > 0 ? sum[i] : 0;
            }
        }
    }
}

void net_forward(const net_shape *shape, const double *parameters, const float *x, size_t pixels,
                 float *units, float *scores)
{
    if (!shape->hidden) {
        layer_forward(shape->features, shape->classes, parameters, x, pixels, scores);
        return;
    }
    layer_forward(shape->features, shape->hidden, parameters, x, pixels, units);
    for (size_t i = 0; i < shape->hidden * pixels; i++) {
        units[i] = units[i] > 0 ? units[i] : 0;
    }
    layer_forward(shape->hidden, shape->classes,
                  parameters + layer_size(shape->features, shape->hidden), units, pixels, scores);
}

void net_backward(const net_shape *shape, const double *parameters, const float *x, size_t pixels,
                  float *units, const float *score_gradient, double *g)
{
    if (!shape->hidden) {
        layer_weights(shape->features, shape->classes, x, score_gradient, pixels, g);
        return;
    }
    size_t first = layer_size(shape->features, shape->hidden);
    layer_weights(shape->hidden, shape->classes, units, score_gradient, pixels, g + first);
    layer_inputs(shape->hidden, shape->classes, parameters + first, score_gradient, pixels, units,
                 units);
    layer_weights(shape->features, shape->hidden, x, units, pixels, g);
}

void net_predict(const float *scores, size_t classes, size_t pixels, uint8_t *prediction)
{
    for (size_t i = 0; i < pixels; i++) {
        size_t best = 0;
        for (size_t c = 1; c < classes; c++) {
            if (scores[c * pixels + i] > scores[best * pixels + i]) {
                best = c;
            }
        }
        prediction[i] = (uint8_t)best;
    }
}
