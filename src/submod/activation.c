/* Compiled with contraction of a * b + c into one rounding (CMakeLists.txt): half of the time of
 * the histogram engine is exp, which it shortens by a third. Where the CPU has such instructions
 * the last bit of a probability may differ from that of an older CPU, never between two calls on
 * one. */
#include "submod/activation.h"

#include <string.h>

#include "base/simd.h"

/* exp(x) for x <= 0, within 1.4 units in the last place; 1.6e-38 for x < -87. With k the nearest
 * integer to x / log 2 and r = x - k log 2, |r| <= 0.35: exp(x) = 2^k exp(r), the latter by a
 * polynomial (the minimax coefficients of Cephes' expf). Adding 1.5 * 2^23 rounds to an integer
 * and leaves it in the low bits of the sum; log 2 is subtracted in two parts, the first of which is
 * exact when multiplied by k. */
static inline float exp_nonpositive(float x)
{
    const float rounder = 12582912.0F; /* 1.5 * 2^23 */
    x = x < -87.0F ? -87.0F : x;
    float shifted = x * 1.44269504F + rounder;
    float k = shifted - rounder;
    float r = x - k * 0.693359375F;
    r = r + k * 2.12194440e-4F;
    float p = 1.9875691500e-4F;
    p = p * r + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    p = p * (r * r) + r + 1.0F;
    uint32_t exponent, bits;
    memcpy(&exponent, &shifted, sizeof exponent);
    memcpy(&bits, &p, sizeof bits);
    bits += exponent << 23; /* times 2^k */
    memcpy(&p, &bits, sizeof p);
    return p;
}

/* Copies a row, raises largest to it; false when something in it is not finite. */
SUBMODI_MULTIVERSION
static bool take_row(const float *restrict from, size_t n, float *restrict v,
                     float *restrict largest)
{
    uint32_t top = 0; /* of the bits of |x|: they order as |x| does, Inf and NaN above all */
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &from[i], sizeof bits);
        bits &= UINT32_C(0x7fffffff);
        top = bits > top ? bits : top;
        v[i] = from[i];
        largest[i] = from[i] > largest[i] ? from[i] : largest[i];
    }
    return top < UINT32_C(0x7f800000);
}

bool submodi_take_row(const float *from, size_t n, float *v, float *largest)
{
    return take_row(from, n, v, largest);
}

/* v <- exp(v - largest), sum += v. */
SUBMODI_MULTIVERSION
static void exponentiate(float *restrict v, const float *restrict largest, size_t n,
                         float *restrict sum)
{
    for (size_t i = 0; i < n; i++) {
        v[i] = exp_nonpositive(v[i] - largest[i]);
        sum[i] += v[i];
    }
}

void submodi_softmax(size_t classes, size_t n, const float *largest, float *v, float *factor)
{
    memset(factor, 0, n * sizeof *factor);
    for (size_t c = 0; c < classes; c++) {
        exponentiate(v + c * SUBMODI_TILE, largest, n, factor);
    }
    for (size_t i = 0; i < n; i++) {
        factor[i] = 1 / factor[i];
    }
}

SUBMODI_MULTIVERSION
static void multiply(float *restrict x, const float *restrict factor, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        x[i] *= factor[i];
    }
}

void submodi_multiply_row(float *x, const float *factor, size_t n)
{
    multiply(x, factor, n);
}

SUBMODI_MULTIVERSION
static void add_product(float *restrict sum, const float *restrict v, const float *restrict g,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sum[i] += v[i] * g[i];
    }
}

void submodi_softmax_mean(const float *v, const float *factor, const float *g, size_t classes,
                          size_t n, float *mean)
{
    memset(mean, 0, n * sizeof *mean);
    for (size_t c = 0; c < classes; c++) {
        add_product(mean, v + c * SUBMODI_TILE, g + c * SUBMODI_TILE, n);
    }
    multiply(mean, factor, n);
}

SUBMODI_MULTIVERSION
static void softmax_backward(const float *v, const float *factor, const float *mean, const float *g,
                             size_t n, float scale, float *to)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = scale * (v[i] * factor[i] * (g[i] - mean[i]));
    }
}

void submodi_softmax_backward(const float *v, const float *factor, const float *mean,
                              const float *g, size_t n, float scale, float *to)
{
    softmax_backward(v, factor, mean, g, n, scale, to);
}

SUBMODI_MULTIVERSION
static void sigmoid(size_t n, float *v)
{
    for (size_t i = 0; i < n; i++) {
        float e = exp_nonpositive(v[i] < 0 ? v[i] : -v[i]);
        v[i] = (v[i] < 0 ? e : 1.0F) / (1.0F + e);
    }
}

void submodi_sigmoid(size_t n, float *v)
{
    sigmoid(n, v);
}

SUBMODI_MULTIVERSION
static void sigmoid_backward(const float *score, size_t n, float *g)
{
    for (size_t i = 0; i < n; i++) {
        float e = exp_nonpositive(score[i] < 0 ? score[i] : -score[i]);
        g[i] *= e / ((1.0F + e) * (1.0F + e));
    }
}

void submodi_sigmoid_backward(const float *score, size_t n, float *g)
{
    sigmoid_backward(score, n, g);
}

SUBMODI_MULTIVERSION
static bool clamp_probability(size_t n, float *v)
{
    const float slack = 1e-3F;
    uint32_t outside = 0;
    for (size_t i = 0; i < n; i++) {
        float low = v[i] < 0.0F ? 0.0F : v[i];
        outside |= v[i] < -slack || v[i] > 1.0F + slack;
        v[i] = low > 1.0F ? 1.0F : low;
    }
    return !outside;
}

bool submodi_clamp_probability(size_t n, float *v)
{
    return clamp_probability(n, v);
}
