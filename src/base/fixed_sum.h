/* Sums that are the same in any order: of numbers in fixed point, in two parts.
 *
 * Each number is rounded to a multiple of a step, and what that leaves to a multiple of a much
 * finer one. Sums of such multiples are exact as long as they fit into 53 bits, so it does not
 * matter who adds up what: threads and vectors all come to the same bits. */
#ifndef SUBMODI_FIXED_SUM_H
#define SUBMODI_FIXED_SUM_H

#include <math.h>

/* What rounds: powers of two. Doubles between one of them and its double are multiples of 2^-52 of
 * it. */
typedef struct submodi_fixed_point {
    double coarse, fine;
} submodi_fixed_point;

typedef struct submodi_fixed_sum {
    double coarse, fine;
} submodi_fixed_sum;

/* A power of two above x >= 0, but for 0, and as long as there is one. */
static inline double submodi_fixed_above(double x)
{
    int exponent = 1022;
    if (x < 0x1p1021) {
        frexp(x, &exponent);
    }
    return x > 0 ? ldexp(1, exponent) : 0;
}

/* For up to `count` numbers, the absolute values of which add up to at most `most`, up to rounding.
 * What coarse leaves of a number is at most 2^-53 of it, and that of all of them at most fine. Each
 * number is off by at most count * 2^-104 of coarse, coarse at most 4 * most. */
static inline submodi_fixed_point submodi_fixed_point_for(double most, double count)
{
    double coarse = 2 * submodi_fixed_above(most);
    return (submodi_fixed_point){coarse, coarse * 0x1p-52 * submodi_fixed_above(count)};
}

static inline double submodi_fixed_part(double x, double rounder)
{
    return (x + rounder) - rounder;
}

static inline submodi_fixed_sum submodi_fixed_join(submodi_fixed_sum x, submodi_fixed_sum y)
{
    return (submodi_fixed_sum){x.coarse + y.coarse, x.fine + y.fine};
}

static inline double submodi_fixed_value(submodi_fixed_sum x)
{
    return x.coarse + x.fine;
}

#endif
