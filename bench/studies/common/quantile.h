/* Quantiles of a few numbers, for bands around curves. */
#ifndef SUBMOD_STUDY_QUANTILE_H
#define SUBMOD_STUDY_QUANTILE_H

#include <stddef.h>

/* The value with this share of the count >= 1 numbers below it, 0 <= share <= 1: linear between
 * neighbours, so 0 is the least, 1/2 the median, 1 the largest. Sorts the numbers, none of them
 * NaN; an infinite one sorts too and makes what lies beside it infinite. */
double quantile(double *x, size_t count, double share);

#endif
