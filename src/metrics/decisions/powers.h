/* Sums of powers of probabilities. Products of many factors 1 - q u, and cumulants of the number of
 * foreground pixels, are functions of these alone. */
#ifndef SUBMODI_DECISIONS_POWERS_H
#define SUBMODI_DECISIONS_POWERS_H

#include <stddef.h>

enum { SUBMODI_POWERS = 13 };

/* sum[r] of q^r; sum[0] is not used. */
typedef struct submodi_powers {
    double sum[SUBMODI_POWERS + 1];
} submodi_powers;

static inline void submodi_powers_add(submodi_powers *to, double q)
{
    double power = q;
    for (int r = 1; r <= SUBMODI_POWERS; r++) {
        to->sum[r] += power;
        power *= q;
    }
}

static inline void submodi_powers_join(submodi_powers *to, const submodi_powers *more)
{
    for (int r = 1; r <= SUBMODI_POWERS; r++) {
        to->sum[r] += more->sum[r];
    }
}

/* Of q[0 .. n-1], leaving out those above `largest`. Relative error: (128 + n / 4096) roundings. */
submodi_powers submodi_powers_of(const double *q, size_t n, double largest);

#endif
