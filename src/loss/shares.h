/* What each of several kinds counts for in a mean. Shared by the CPU and the GPU. */
#ifndef SUBMODI_LOSSES_SHARES_H
#define SUBMODI_LOSSES_SHARES_H

#include <stddef.h>

#include "base/isa.h"

/* For a weighted mean over things, times[c] of kind c: what one of them counts for,
 * weight[c] / (sum of weight * times) / groups, and 0 where there is none. Weights NULL: all 1.
 * share may be times. Only ratios matter: weights are divided by the largest, so that their sum
 * cannot overflow. */
SUBMODI_HOST_DEVICE void submodi_shares(const double *weight, const double *times, size_t n,
                                        size_t groups, double *share)
{
    double largest = 0;
    for (size_t c = 0; c < n; c++) {
        largest = times[c] > 0 ? fmax(largest, weight ? weight[c] : 1) : largest;
    }
    double total = 0;
    for (size_t c = 0; c < n; c++) {
        double relative = times[c] > 0 && largest > 0 ? (weight ? weight[c] : 1) / largest : 0;
        total += relative * times[c];
        share[c] = relative;
    }
    for (size_t c = 0; total > 0 && c < n; c++) {
        share[c] /= total * (double)groups;
    }
}

#endif
