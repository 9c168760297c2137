/* Softmax, sigmoid and their derivatives on tiles (see activation_loops.h). */
#include "submod/losses/activation_loops.h"

#include <string.h>

#include "submod/losses/pointwise.h"

/* Copies a row, raises largest to it; false when something in it is not finite. */
static bool take_row(const float *restrict from, size_t n, float *restrict v,
                     float *restrict largest)
{
    uint32_t top = 0; /* of the bits of |x|: they order as |x| does, Inf and NaN above all */
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = submodi_to_bits(from[i]) & UINT32_C(0x7fffffff);
        top = bits > top ? bits : top;
        v[i] = from[i];
        largest[i] = from[i] > largest[i] ? from[i] : largest[i];
    }
    return top < UINT32_C(0x7f800000);
}

/* v <- exp(v - largest), sum += v. */
static void exponentiate(float *restrict v, const float *restrict largest, size_t n,
                         float *restrict sum)
{
    for (size_t i = 0; i < n; i++) {
        v[i] = submodi_exp_nonpositive(v[i] - largest[i]);
        sum[i] += v[i];
    }
}

static void softmax(size_t classes, size_t n, const float *largest, float *v, float *factor)
{
    memset(factor, 0, n * sizeof *factor);
    for (size_t c = 0; c < classes; c++) {
        exponentiate(v + c * SUBMODI_TILE, largest, n, factor);
    }
    for (size_t i = 0; i < n; i++) {
        factor[i] = 1 / factor[i];
    }
}

static void multiply(float *restrict x, const float *restrict factor, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        x[i] *= factor[i];
    }
}

static void add_product(float *restrict sum, const float *restrict v, const float *restrict g,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sum[i] = submodi_multiply_add(v[i], g[i], sum[i]);
    }
}

static void softmax_mean(const float *v, const float *factor, const float *g, size_t classes,
                         size_t n, float *mean)
{
    memset(mean, 0, n * sizeof *mean);
    for (size_t c = 0; c < classes; c++) {
        add_product(mean, v + c * SUBMODI_TILE, g + c * SUBMODI_TILE, n);
    }
    multiply(mean, factor, n);
}

static void softmax_backward(const float *v, const float *factor, const float *mean, const float *g,
                             size_t n, float scale, float *to)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = 0 + scale * (v[i] * factor[i] * (g[i] - mean[i])); /* no -0, as everywhere */
    }
}

static void sigmoid(size_t n, float *v)
{
    for (size_t i = 0; i < n; i++) {
        v[i] = submodi_sigmoid_of(v[i]);
    }
}

static void sigmoid_backward(const float *score, size_t n, float *g)
{
    for (size_t i = 0; i < n; i++) {
        g[i] *= submodi_sigmoid_slope(score[i]);
    }
}

static bool clamp_probability(size_t n, float *v)
{
    uint32_t outside = 0;
    for (size_t i = 0; i < n; i++) {
        outside |= submodi_is_no_probability(v[i]);
        v[i] = submodi_clamp_to_unit(v[i]);
    }
    return !outside;
}

const submodi_activation_loops SUBMODI_TABLE(submodi_activations) = {
    .take_row = take_row,
    .softmax = softmax,
    .multiply = multiply,
    .softmax_mean = softmax_mean,
    .softmax_backward = softmax_backward,
    .sigmoid = sigmoid,
    .sigmoid_backward = sigmoid_backward,
    .clamp_probability = clamp_probability};
