#include "submod/activation.h"

#include <string.h>

#include "base/simd.h"
#include "submod/pointwise.h"

SUBMODI_MULTIVERSION
static bool finite_row(const float *x, size_t n)
{
    uint32_t special = 0;
    for (size_t i = 0; i < n; i++) {
        special |= submodi_is_special(x[i]);
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
        v[i] = submodi_exp_nonpositive(v[i] - largest[i]);
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
        v[i] = submodi_sigmoid_of(v[i]);
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
        g[i] *= submodi_sigmoid_slope(score[i]);
    }
}

void submodi_sigmoid_backward(const float *score, size_t n, float *g)
{
    sigmoid_backward(score, n, g);
}

SUBMODI_MULTIVERSION
static bool clamp_probability(size_t n, float *v)
{
    uint32_t outside = 0;
    for (size_t i = 0; i < n; i++) {
        outside |= submodi_is_no_probability(v[i]);
        v[i] = submodi_clamp_to_unit(v[i]);
    }
    return !outside;
}

bool submodi_clamp_probability(size_t n, float *v)
{
    return clamp_probability(n, v);
}
