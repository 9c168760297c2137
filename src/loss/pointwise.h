/* What happens to one score: activation, error, bin. Shared by the loops of the CPU and the kernels
 * of the GPU. */
#ifndef SUBMODI_LOSSES_POINTWISE_H
#define SUBMODI_LOSSES_POINTWISE_H

#include "base/isa.h"
#include "loss/tensors/float_bits.h"

/* ---- activations ---- */

/* Scores up to here, as absolute values, go into exp as they are. A pixel with larger ones is
 * shifted by its largest score, so that nothing overflows. Probabilities then differ by a factor of
 * at most exp(80), and none is lost. */
#define SUBMODI_UNSHIFTED 40.0F
/* Below, exp is taken at this score: 1.6e-38, the last normal numbers. */
#define SUBMODI_LOWEST_SCORE (-87.0F)

/* exp(x) for x <= 88, within 1.4 units in the last place; 1.6e-38 for x < -87. With k the nearest
 * integer to x / log 2 and r = x - k log 2, |r| <= 0.35: exp(x) = 2^k exp(r), the latter by a
 * polynomial (the minimax coefficients of Cephes' expf). Adding 1.5 * 2^23 rounds to an integer
 * and leaves it in the low bits of the sum; log 2 is subtracted in two parts, the first of which is
 * exact when multiplied by k. */
SUBMODI_HOST_DEVICE float submodi_exp(float x)
{
    const float rounder = 12582912.0F; /* 1.5 * 2^23 */
    x = x < SUBMODI_LOWEST_SCORE ? SUBMODI_LOWEST_SCORE : x;
    float shifted = submodi_multiply_add(x, 1.44269504F, rounder);
    float k = shifted - rounder;
    float r = submodi_multiply_add(k, -0.693359375F, x);
    r = submodi_multiply_add(k, 2.12194440e-4F, r);
    float p = 1.9875691500e-4F;
    p = submodi_multiply_add(p, r, 1.3981999507e-3F);
    p = submodi_multiply_add(p, r, 8.3334519073e-3F);
    p = submodi_multiply_add(p, r, 4.1665795894e-2F);
    p = submodi_multiply_add(p, r, 1.6666665459e-1F);
    p = submodi_multiply_add(p, r, 5.0000001201e-1F);
    p = submodi_multiply_add(p, r * r, r) + 1.0F;
    return submodi_from_bits(submodi_to_bits(p) + (submodi_to_bits(shifted) << 23)); /* * 2^k */
}

/* What is subtracted from the scores of a pixel before exp: its largest score, if some score is
 * large (`size`: the largest absolute value). */
SUBMODI_HOST_DEVICE float submodi_shift_of(float largest, float size)
{
    return size > SUBMODI_UNSHIFTED ? largest : 0.0F;
}

SUBMODI_HOST_DEVICE float submodi_sigmoid_of(float x)
{
    float e = submodi_exp(x < 0 ? x : -x);
    return (x < 0 ? e : 1.0F) * (1.0F / (1.0F + e));
}

/* p (1 - p) from the score, because 1 - p in float is 0 from a score of 17 on. */
SUBMODI_HOST_DEVICE float submodi_sigmoid_slope(float x)
{
    float e = submodi_exp(x < 0 ? x : -x);
    float r = 1.0F / (1.0F + e);
    return e * r * r;
}

/* Rounding may carry a probability this far out of [0, 1]. */
#define SUBMODI_SLACK 1e-3F

SUBMODI_HOST_DEVICE bool submodi_is_no_probability(float x)
{
    return x < -SUBMODI_SLACK || x > 1.0F + SUBMODI_SLACK;
}

SUBMODI_HOST_DEVICE float submodi_clamp_to_unit(float x)
{
    float low = x < 0.0F ? 0.0F : x;
    return low > 1.0F ? 1.0F : low;
}

/* ---- errors and bins ---- */

/* max(0, 1 - v) at foreground, max(0, bias + v) at background pixels. */
SUBMODI_HOST_DEVICE float submodi_error_of(float v, bool foreground, float bias)
{
    float e = foreground ? 1.0F - v : bias + v;
    return e > 0.0F ? e : 0.0F;
}

/* The bin of error e >= 0, among the K of the foreground or of the background. */
SUBMODI_HOST_DEVICE uint32_t submodi_bin_of(float e, float scale, uint32_t K)
{
    int32_t b = (int32_t)(e * scale);
    return b < (int32_t)K ? (uint32_t)b : K - 1;
}

/* Bins per unit of error, when K bins, a power of two, have to cover margins up to `largest`: K
 * divided by the power of two above it, by its exponent. Margins are 0 or at least 2^-24. */
SUBMODI_HOST_DEVICE float submodi_scale_for(uint32_t K, float largest)
{
    int log2_range = (int)(submodi_to_bits(largest) >> 23) - 126;
    return largest > 0 ? ldexpf((float)K, -log2_range) : (float)K;
}

#endif
