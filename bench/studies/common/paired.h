/* Differences of two methods on the same draws: their mean, and how sure it is. */
#ifndef SUBMOD_STUDY_PAIRED_H
#define SUBMOD_STUDY_PAIRED_H

#include <stddef.h>

#include "common/study.h"

typedef struct paired {
    double mean;
    double low, high; /* the 95 % interval of the mean, by Student's t */
} paired;

/* Of count >= 1 differences. One alone says nothing: its interval is infinite. */
paired paired_of(const double *difference, size_t count);

/* The same for a number that is not a mean: whole is its value on all count >= 2 cases, without[i]
 * its value when case i is left out (jackknife). */
paired paired_jackknife(double whole, const double *without, size_t count);

/* Judges the claim that the difference is above this limit. The claim is held if the whole interval
 * is above, not held if the whole interval is below, and otherwise not shown. Equal numbers show
 * nothing. */
study_verdict paired_above(paired d, double limit);
/* Judges the claim that the difference is below this limit. */
study_verdict paired_below(paired d, double limit);

/* 97.5 % of Student's t with this many degrees of freedom, >= 1, lie below it; to 0.002. */
double paired_quantile(size_t freedom);

#endif
