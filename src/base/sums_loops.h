/* Sums over vectors of doubles, in an order that depends on n alone: the same bits on every
 * machine, by every compiler. Linear algebra is built on these and on products_loops.h, not on
 * BLAS, whose order depends on the CPU. */
#ifndef SUBMODI_SUMS_LOOPS_H
#define SUBMODI_SUMS_LOOPS_H

#include <math.h>
#include <stddef.h>

#include "base/isa.h"

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
    /* sum of max(0, a - b) */
    double (*excess)(const double *a, const double *b, size_t n);
    /* sum of (a - b)^2 */
    double (*squared_distance)(const double *a, const double *b, size_t n);
    /* sum of (a - b) t */
    double (*difference_dot)(const double *a, const double *b, const double *t, size_t n);
    /* sum of (|a| + |b|) |t| */
    double (*sizes_dot)(const double *a, const double *b, const double *t, size_t n);
    /* to += factor * a; they do not overlap */
    void (*add_multiple)(double *to, double factor, const double *a, size_t n);
} submodi_sums_loops;

extern const submodi_sums_loops submodi_sums_baseline, submodi_sums_avx2, submodi_sums_avx512;

static inline const submodi_sums_loops *submodi_sums(void)
{
    static const submodi_sums_loops *const table[] = SUBMODI_TABLES(submodi_sums);
    return table[submodi_isa_in_use()];
}

#endif
