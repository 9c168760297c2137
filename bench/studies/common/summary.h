/* Means and spreads over repeated runs. */
#ifndef SUBMOD_STUDY_SUMMARY_H
#define SUBMOD_STUDY_SUMMARY_H

#include <stddef.h>

typedef struct summary {
    double mean;
    double sd; /* with n - 1; 0 for a single number */
} summary;

/* Of the count >= 1 numbers x[0], x[stride], x[2 stride], .. */
summary summary_of(const double *x, size_t count, size_t stride);

#endif
