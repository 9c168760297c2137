/* What pointwise.h does to one score, done to a vector of them: operation by operation the same,
 * so the bits are the same. */
#ifndef SUBMODI_LOSSES_POINTWISE_VECTOR_H
#define SUBMODI_LOSSES_POINTWISE_VECTOR_H

#include "loss/pointwise.h"
#include "loss/tensors/vector.h"

/* submodi_exp for x from -87 to 88; anything else gives anything. */
static inline v_float submodi_v_exp(v_float x)
{
    const v_float rounder = v_all(12582912.0F);
    v_float shifted = v_multiply_add(x, v_all(1.44269504F), rounder);
    v_float k = shifted - rounder;
    v_float r = v_multiply_add(k, v_all(-0.693359375F), x);
    r = v_multiply_add(k, v_all(2.12194440e-4F), r);
    v_float p = v_all(1.9875691500e-4F);
    p = v_multiply_add(p, r, v_all(1.3981999507e-3F));
    p = v_multiply_add(p, r, v_all(8.3334519073e-3F));
    p = v_multiply_add(p, r, v_all(4.1665795894e-2F));
    p = v_multiply_add(p, r, v_all(1.6666665459e-1F));
    p = v_multiply_add(p, r, v_all(5.0000001201e-1F));
    p = v_multiply_add(p, r * r, r) + 1.0F;
    return (v_float)((v_unsigned)p + ((v_unsigned)shifted << 23));
}

/* For any x that is no NaN. */
static inline v_float submodi_v_exp_clamped(v_float x)
{
    return submodi_v_exp(v_max(x, v_all(SUBMODI_LOWEST_SCORE)));
}

/* submodi_sigmoid_of, and submodi_sigmoid_slope into *slope. */
static inline v_float submodi_v_sigmoid(v_float x, v_float *slope)
{
    v_float e = submodi_v_exp_clamped(v_from_bits(v_bits(x) | INT32_MIN)); /* of -|x| */
    v_float r = 1.0F / (1.0F + e);
    *slope = e * r * r;
    v_mask negative = v_below(v_bits(x), v_all_int(0)); /* -0 too: e is 1 */
    return v_select(negative, e, v_all(1.0F)) * r;
}

/* The opposite of submodi_is_no_probability; false for NaN. */
static inline v_mask submodi_v_is_probability(v_float x)
{
    return v_at_least(x, v_all(-SUBMODI_SLACK)) & v_at_least(v_all(1.0F + SUBMODI_SLACK), x);
}

/* The bits of |x| order as |x| does, Inf and NaN above all. */
static inline v_int submodi_v_size(v_float x)
{
    return v_bits(x) & INT32_MAX;
}

#endif
