/* The counting engine: the loss from counts of the errors in bins of the float format, with a bound
 * of its own error, and no sort (docs/mathematics.md, section 5).
 *
 *   pass 1   scores -> errors -> counts by class, side and bin
 *   solve    per class: a slope for each side and bin, and how far the loss can be off
 *   pass 2   scores -> errors -> slopes -> gradient, and what the errors exceed their bins by
 *
 * The slopes s of the bins are a base of F, so <s, errors> is at most the loss, and the loss is at
 * most the bound above it. Where that bound misses the accuracy the group is sorted (exact.c). */
#ifndef SUBMODI_LOSSES_COUNTING_H
#define SUBMODI_LOSSES_COUNTING_H

#include "loss/counting_loops.h"
#include "loss/tile.h"

/* The bits of mantissa with which an accuracy is expected to be met. */
unsigned submodi_mantissa_bits(double accuracy);

/* The counts of one class, from which its slopes follow. */
typedef struct submodi_class_counts {
    const submod_measure *measure;
    double P, N;     /* foreground and background, in units */
    double unit;     /* of these and of the counts */
    double least;    /* the smallest step of a count: 1, or 0 where pixels have weights */
    uint32_t first;  /* background bins below have no weight, and are not counted */
    uint32_t lowest; /* bins below are empty, but bin 0 */
    double coefficient;
    /* Adds the counts of bins low .. high - 1 of one side to `to`. */
    void (*read)(const void *context, bool foreground, uint32_t low, uint32_t high, double *to);
    const void *context;
} submodi_class_counts;

typedef struct submodi_class_solution {
    double value; /* <s, lower ends of the bins>, times the coefficient */
    double bound; /* the loss is at most so much above <s, errors>; likewise */
    float rest;   /* the slope of background bin 0 */
    submodi_measure_failure failure;
} submodi_class_solution;

/* Writes the slopes, times the coefficient and negative for the foreground, of all bins that are
 * not empty to slope[0 .. 2 bins - 1]. */
void submodi_solve_bins(const submodi_class_counts *x, const submodi_bins *bins, float *slope,
                        submodi_class_solution *solution);

#endif
