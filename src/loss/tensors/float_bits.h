/* The bits of floats, the two kinds of half floats, and a fused multiply-add. Shared by the CPU and
 * the GPU. */
#ifndef SUBMODI_FLOAT_BITS_H
#define SUBMODI_FLOAT_BITS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/isa.h"

SUBMODI_HOST_DEVICE float submodi_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

SUBMODI_HOST_DEVICE uint32_t submodi_to_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Whether x is NaN or Inf: by its bits, so that no compiler flag about NaN matters. */
SUBMODI_HOST_DEVICE bool submodi_is_special(float x)
{
    return (submodi_to_bits(x) & UINT32_C(0x7f800000)) == UINT32_C(0x7f800000);
}

SUBMODI_HOST_DEVICE float submodi_from_bf16(uint16_t half)
{
    return submodi_from_bits((uint32_t)half << 16);
}

/* binary16 has 5 bits of exponent, biased by 15, and 10 of fraction. Shifted into place, a number
 * is too small by 2^112; a multiplication corrects that, for subnormal numbers too. Inf and NaN,
 * whose exponent bits are all set, come out at 65536 or above; they get all exponent bits back. */
SUBMODI_HOST_DEVICE float submodi_from_f16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    float value = submodi_from_bits((uint32_t)(half & 0x7fff) << 13) * 0x1p112F;
    uint32_t bits = submodi_to_bits(value);
    bits |= value >= 65536.0F ? UINT32_C(0x7f800000) : 0;
    return submodi_from_bits(bits | sign);
}

/* a * b + c, rounded once on all GPUs and on CPUs that have an instruction for it. exp takes half
 * of the time of the histogram engine, and this makes it a third faster. On other CPUs fmaf would
 * be a function call; there a * b + c is rounded twice.
 * Where kernels run on fibers, the test says how to round: like the CPU it compares with. */
#if defined(__CUDACC__) || \
    (!defined(SUBMODI_ON_FIBERS) && (defined(__FMA__) || defined(__ARM_FEATURE_FMA)))
SUBMODI_HOST_DEVICE float submodi_multiply_add(float a, float b, float c)
{
    return fmaf(a, b, c);
}
#elif defined(SUBMODI_ON_FIBERS)
float submodi_multiply_add(float a, float b, float c);
#else
SUBMODI_HOST_DEVICE float submodi_multiply_add(float a, float b, float c)
{
    return a * b + c;
}
#endif

#endif
