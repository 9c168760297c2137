/* Means, spreads and shares over repeated runs. */
#ifndef SUBMOD_STUDY_SUMMARY_H
#define SUBMOD_STUDY_SUMMARY_H

#include <stddef.h>

typedef struct summary {
    double mean;
    double sd; /* with n - 1; 0 for a single number */
} summary;

/* Of the count >= 1 numbers x[0], x[stride], x[2 stride], .. */
summary summary_of(const double *x, size_t count, size_t stride);

typedef struct interval {
    double low, high;
} interval;

/* Between which shares the true one lies with 95 % confidence if hits of count >= 1 independent
 * cases were found: Wilson's interval, which also holds for 0 hits and for nothing but hits. */
interval summary_share(size_t hits, size_t count);

#endif
