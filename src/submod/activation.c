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

SUBMODI_MULTIVERSION
static bool finite_row(const float *x, size_t n)
{
    uint32_t special = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        special |= (bits & UINT32_C(0x7f800000)) == UINT32_C(0x7f800000);
    }
    return !special;
}

bool submodi_finite_row(const float *x, size_t n)
{
    return finite_row(x, n);
}

SUBMODI_MULTIVERSION
static void raise_to(float *largest, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        largest[i] = x[i] > largest[i] ? x[i] : largest[i];
    }
}

/* v <- exp(v - largest), sum += v. */
SUBMODI_MULTIVERSION
static void exponentiate(float *v, const float *largest, size_t n, float *sum)
{
    for (size_t i = 0; i < n; i++) {
        v[i] = exp_nonpositive(v[i] - largest[i]);
        sum[i] += v[i];
    }
}

SUBMODI_MULTIVERSION
static void multiply(float *p, const float *factor, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        p[i] *= factor[i];
    }
}

void submodi_softmax(size_t classes, size_t n, float *v)
{
    float largest[SUBMODI_TILE];
    float sum[SUBMODI_TILE] = {0};
    memcpy(largest, v, n * sizeof *largest);
    for (size_t c = 1; c < classes; c++) {
        raise_to(largest, v + c * SUBMODI_TILE, n);
    }
    for (size_t c = 0; c < classes; c++) {
        exponentiate(v + c * SUBMODI_TILE, largest, n, sum);
    }
    for (size_t i = 0; i < n; i++) {
        sum[i] = 1 / sum[i];
    }
    for (size_t c = 0; c < classes; c++) {
        multiply(v + c * SUBMODI_TILE, sum, n);
    }
}

SUBMODI_MULTIVERSION
static void add_product(float *sum, const float *p, const float *g, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sum[i] += p[i] * g[i];
    }
}

SUBMODI_MULTIVERSION
static void apply_jacobian(const float *p, const float *mean, size_t n, float *g)
{
    for (size_t i = 0; i < n; i++) {
        g[i] = p[i] * (g[i] - mean[i]);
    }
}

void submodi_softmax_backward(const float *p, size_t classes, size_t n, float *g)
{
    float mean[SUBMODI_TILE] = {0};
    for (size_t c = 0; c < classes; c++) {
        add_product(mean, p + c * SUBMODI_TILE, g + c * SUBMODI_TILE, n);
    }
    for (size_t c = 0; c < classes; c++) {
        apply_jacobian(p + c * SUBMODI_TILE, mean, n, g + c * SUBMODI_TILE);
    }
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
