/* The histogram engine from the inside: counting the errors of a group in bins, solving for the
 * weights of the bins, looking them up again. Shared by the loss of one batch (histogram.c) and by
 * datasets, whose counts live across batches (dataset.c). */
#ifndef SUBMODI_LOSSES_HISTOGRAM_H
#define SUBMODI_LOSSES_HISTOGRAM_H

#include "submod/losses/tile.h"

/* Where a pixel is counted: bins 0 .. K-1 background, K .. 2K-1 foreground, 2K nothing (ignored, or
 * without error in the hinge loss). K and scale are powers of two, so that e * scale is exact. */
typedef struct submodi_binning {
    uint32_t K;
    float scale; /* bins per unit of error */
    float bias;
    float lowest; /* errors up to here take no part: 0 in the hinge loss, else below 0 */
} submodi_binning;

/* Counts may decay; what is below has gone. */
#define SUBMODI_SMALLEST_COUNT 1e-20
/* And so large that nothing overflows. */
#define SUBMODI_LARGEST_COUNT 1e140

/* The number of bins, a power of two, that keeps every error within delta of its bin's middle. */
uint32_t submodi_histogram_bins(double delta);

/* Of the classes of one group; tables have 2 K + 1 entries per class. */
typedef struct submodi_histogram {
    const submodi_batch *batch;
    submodi_binning how;
    uint32_t **count; /* per thread: one table per class */
    float *weight;    /* one table per class: derivative by v, coefficient included */
    const submod_gradient *gradient; /* where the derivative goes; NULL: not wanted */
} submodi_histogram;

/* Memory for the tables, when the bins are known. False: out of memory. */
bool submodi_histogram_take(submodi_histogram *h, submod_work *work);

/* Counts one group; false when some score is bad. */
bool submodi_histogram_count(const submodi_histogram *h, size_t group);
/* The counts of class c, all threads together, are added to total[0 .. 2 K - 1]. */
void submodi_histogram_add_to(const submodi_histogram *h, size_t c, double *total);
/* Writes the gradient of one group by looking the weights up. */
void submodi_histogram_write(const submodi_histogram *h, size_t group);

/* From the counts of one class (2 K numbers >= 0, whole or not) with P pixels in the foreground:
 * coefficient times the weight of each bin, its sign as in the derivative; returns the loss. */
double submodi_histogram_solve(const double *count, double P, const submodi_binning *how,
                               double coefficient, float *weight);

#endif
