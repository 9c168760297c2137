/* Decisions made of bytes (see dice.h). */
#include "dice.h"

#include <math.h>
#include <string.h>

dice dice_of(const uint8_t *bytes, size_t size)
{
    dice d = {bytes, size, {{0}}};
    submod_rng_seed(&d.rng, dice_bits(&d, 1));
    return d;
}

uint64_t dice_bits(dice *d, int bytes)
{
    uint64_t bits = 0;
    for (int i = 0; i < bytes; i++) {
        uint64_t byte = d->left ? *d->at : submod_rng_next(&d->rng) >> 56;
        bits = bits << 8 | byte;
        d->at += d->left > 0;
        d->left -= d->left > 0;
    }
    return bits;
}

size_t dice_below(dice *d, size_t bound)
{
    int bytes = bound <= 1 ? 0 : bound <= 256 ? 1 : bound <= 65536 ? 2 : 8;
    uint64_t bits = dice_bits(d, bytes);
    return bound ? (size_t)(bits % bound) : 0;
}

bool dice_once_in(dice *d, size_t n)
{
    return dice_below(d, n) == n - 1;
}

numbers dice_numbers(dice *d)
{
    size_t roll = dice_below(d, 16);
    return roll < 8 + NUMBERS_KINDS ? (numbers)(roll < 9 ? roll % 2 : roll - 8) : NUMBERS_ORDINARY;
}

/* Any number of these bits, by bytes of the input. */
static double any_double(dice *d)
{
    uint64_t bits = dice_bits(d, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float any_float(dice *d)
{
    uint32_t bits = (uint32_t)dice_bits(d, 4);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Within [-1, 1), with 16 bits. */
static double unit(dice *d)
{
    return (double)dice_bits(d, 2) / 32768 - 1;
}

double dice_real(dice *d, numbers kind)
{
    switch (kind) {
    case NUMBERS_TIED: return 0.5 * (double)dice_below(d, 5) - 1;
    case NUMBERS_TINY: return 1e-300 * unit(d);
    case NUMBERS_HUGE: return 1e300 * unit(d);
    case NUMBERS_DENORMAL: return 0x1p-1060 * unit(d);
    case NUMBERS_WIDE: {
        double power = 300 * unit(d);
        return unit(d) * pow(10, power);
    }
    case NUMBERS_ANY: return any_double(d);
    default: return 4 * unit(d);
    }
}

float dice_float(dice *d, numbers kind)
{
    switch (kind) {
    case NUMBERS_TINY: return (float)(1e-30 * unit(d));
    case NUMBERS_HUGE: return (float)(3e38 * unit(d));
    case NUMBERS_DENORMAL: return (float)(0x1p-130 * unit(d));
    case NUMBERS_WIDE: {
        double power = 38 * unit(d);
        return (float)(unit(d) * pow(10, power));
    }
    case NUMBERS_ANY: return any_float(d);
    default: return (float)dice_real(d, kind);
    }
}
