/* Floats as bfloat16 and as binary16. */
#include <math.h>
#include <string.h>

#include "support.h"

uint16_t bf16_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)(bits >> 16);
}

uint16_t f16_of(float x)
{
    int exponent;
    if (x == 0) {
        return 0;
    }
    if (!isfinite(x)) {
        return (uint16_t)(0x7c00U | (isnan(x) ? 0x200U : 0) | (signbit(x) ? 0x8000U : 0));
    }
    float fraction = frexpf(fabsf(x), &exponent); /* in [1/2, 1) */
    unsigned bits = (unsigned)(exponent + 14) << 10 | (unsigned)((fraction * 2 - 1) * 1024);
    return (uint16_t)(bits | (x < 0 ? 0x8000U : 0));
}
