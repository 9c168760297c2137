/* Sums: compensated ones, reproducible ones in any order, and loops over vectors in a fixed order.
 */
#ifndef SUBMODI_SUMS_H
#define SUBMODI_SUMS_H

#include <math.h>
#include <stddef.h>

#include "base/isa.h"

/* ---- compensated sums ---- */

/* hi + lo; lo collects what hi rounds away. */
typedef struct submodi_compensated_sum {
    double hi, lo;
} submodi_compensated_sum;

static inline submodi_compensated_sum submodi_compensated_add(submodi_compensated_sum sum,
                                                              double add)
{
    double hi = sum.hi + add;
    double rest = hi - sum.hi;
    return (submodi_compensated_sum){hi, sum.lo + ((sum.hi - (hi - rest)) + (add - rest))};
}

/* ---- reproducible sums: the same bits in any order ---- */

/* Rounds each number to a multiple of a coarse step and its remainder to a multiple of a much finer
 * step. Sums of such multiples are exact while they fit into 53 bits, so threads and vectors may
 * add them in any order. */

/* Powers of two that round: doubles between r and 2 r are multiples of 2^-52 r. */
typedef struct submodi_sum_grid {
    double coarse, fine;
} submodi_sum_grid;

typedef struct submodi_reproducible_sum {
    double coarse, fine;
} submodi_reproducible_sum;

/* Returns a power of two above x > 0, the largest one if there is none; 0 for x = 0. */
static inline double submodi_power_above(double x)
{
    int exponent = 1022;
    if (x < 0x1p1021) {
        frexp(x, &exponent);
    }
    return x > 0 ? ldexp(1, exponent) : 0;
}

/* Returns the steps for up to `count` numbers whose absolute values add up to at most `most`. The
 * remainder of a number is at most 2^-53 coarse, the sum of all remainders at most fine. The error
 * of each number is at most count * 2^-104 coarse, and coarse <= 4 * most. */
static inline submodi_sum_grid submodi_sum_grid_for(double most, double count)
{
    double coarse = 2 * submodi_power_above(most);
    return (submodi_sum_grid){coarse, coarse * 0x1p-52 * submodi_power_above(count)};
}

static inline double submodi_sum_round(double x, double rounder)
{
    return (x + rounder) - rounder;
}

static inline submodi_reproducible_sum submodi_sum_join(submodi_reproducible_sum x,
                                                        submodi_reproducible_sum y)
{
    return (submodi_reproducible_sum){x.coarse + y.coarse, x.fine + y.fine};
}

static inline double submodi_sum_value(submodi_reproducible_sum x)
{
    return x.coarse + x.fine;
}

/* ---- sums over vectors, in an order that depends on n alone ---- */

/* The largest |x|, 0 if n = 0. */
static inline double submodi_largest(const double *x, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(x[i]));
    }
    return largest;
}

typedef struct submodi_sums_loops {
    /* sum of a b */
    double (*dot)(const double *a, const double *b, size_t n);
    /* sum of |a| */
    double (*absolute)(const double *a, size_t n);
    /* sum of (a - b)^2 */
    double (*squared_distance)(const double *a, const double *b, size_t n);
    /* sum of (a - b) t */
    double (*difference_dot)(const double *a, const double *b, const double *t, size_t n);
    /* sum of (|a| + |b|) |t| */
    double (*sizes_dot)(const double *a, const double *b, const double *t, size_t n);
    /* to += factor * a; they do not overlap */
    void (*add_multiple)(double *to, double factor, const double *a, size_t n);
    /* with_a[r] = <row r, a> and with_b[r] = <row r, b> for four rows at a time, which keeps the
     * adders busy while rows come from memory */
    void (*dots_of_rows)(const double *const row[4], const double *a, const double *b, size_t n,
                         double *with_a, double *with_b);
    /* to += sum over r of weight r * row r */
    void (*add_rows)(double *to, const double *const row[4], const double *weight, size_t n);
} submodi_sums_loops;

extern const submodi_sums_loops submodi_sums_baseline, submodi_sums_avx2, submodi_sums_avx512;

static inline const submodi_sums_loops *submodi_sums(void)
{
    static const submodi_sums_loops *const table[] = SUBMODI_TABLES(submodi_sums);
    return table[submodi_isa_in_use()];
}

#endif
