/* Sums of numbers in [0, 1] that do not depend on the order: whole numbers of 2^-64. */
#ifndef SUBMODI_METRICS_FRACTION_H
#define SUBMODI_METRICS_FRACTION_H

#include <stdint.h>

/* whole + part 2^-64. */
typedef struct submodi_fraction {
    uint64_t whole, part;
} submodi_fraction;

static inline void submodi_fraction_add(submodi_fraction *sum, submodi_fraction x)
{
    sum->part += x.part;
    sum->whole += x.whole + (sum->part < x.part);
}

/* x in [0, 1], cut off below 2^-64, where a double of at least 2^-12 has no digits. */
static inline submodi_fraction submodi_fraction_of(double x)
{
    return x < 1 ? (submodi_fraction){0, (uint64_t)(x * 0x1p64)} : (submodi_fraction){1, 0};
}

static inline double submodi_fraction_value(submodi_fraction x)
{
    return (double)x.whole + (double)x.part * 0x1p-64;
}

#endif
