/* The counting engine: computes the loss and a bound of its error from the counts of errors in bins
 * of the float format, without a sort (docs/mathematics.md, section 5).
 *
 *   pass 1   scores -> errors -> counts by class, side and bin
 *   solve    per class: a slope for each side and bin, and an error bound of the loss
 *   pass 2   scores -> errors -> slopes -> gradient, and the errors' excess over their bins
 *
 * The slopes s of the bins are a base of F, so the loss lies between <s, errors> and <s, errors> +
 * bound. Groups whose bound misses the accuracy are sorted (exact.c). "Side" means foreground or
 * background. */
#ifndef SUBMODI_LOSSES_COUNTING_H
#define SUBMODI_LOSSES_COUNTING_H

#include "loss/counting_loops.h"
#include "loss/tile.h"

/* Returns the number of mantissa bits that is likely to meet an accuracy. */
unsigned submodi_mantissa_bits(double accuracy);

/* The counts of one class, which determine its slopes. */
typedef struct submodi_class_counts {
    const submod_measure *measure;
    double P, N;     /* foreground and background, in units */
    double unit;     /* the unit of P, N and all counts */
    double least;    /* the smallest step of a count: 1, or 0 where pixels have weights */
    uint32_t first;  /* background bins below have no weight and are not counted */
    uint32_t lowest; /* bins below, except bin 0, are empty */
    double coefficient;
    /* Adds the counts of bins low .. high - 1 of one side to `to`. */
    void (*read)(const void *context, bool foreground, uint32_t low, uint32_t high, double *to);
    const void *context;
} submodi_class_counts;

typedef struct submodi_class_solution {
    double value; /* <s, lower ends of the bins>, times the coefficient */
    double bound; /* bounds loss - <s, errors>, times the coefficient */
    float rest;   /* the slope of background bin 0 */
    submodi_measure_failure failure;
} submodi_class_solution;

/* Writes the slopes of all nonempty bins to slope[0 .. 2 bins - 1], multiplied by the coefficient,
 * negative for the foreground. */
void submodi_solve_bins(const submodi_class_counts *x, const submodi_bins *bins, float *slope,
                        submodi_class_solution *solution);

#endif
