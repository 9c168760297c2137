/* Errors in bins: counting a group of images, solving for weights, looking them up again. Shared by
 * the histogram engine of one call and by histograms that live across calls. */
#ifndef SUBMODI_LOSSES_BINS_H
#define SUBMODI_LOSSES_BINS_H

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

/* The number of bins, a power of two, that keeps every error within delta of its bin's middle. */
uint32_t submodi_bins_for(double delta);

/* Everything a pass over the tiles needs; tables have 2 K + 1 entries per class. */
typedef struct submodi_counter {
    const submodi_batch *batch;
    submodi_binning how;
    int threads;
    submodi_tile_memory *tile; /* per thread */
    uint32_t **count;          /* per thread: one table per class */
    float *weight;             /* one table per class: derivative by v, coefficient included */
} submodi_counter;

/* Memory for tiles, then, when the bins are known, for the tables. False: out of memory. */
bool submodi_counter_take_tiles(submodi_counter *x, submod_work *work);
bool submodi_counter_take_tables(submodi_counter *x, submod_work *work);

/* Looks at all scores before anything is written; false when some score is bad. Of a hinge problem
 * also the largest margin. */
bool submodi_counter_check(const submodi_counter *x, float *largest_margin);

/* Counts one group; false when some score is bad. */
bool submodi_counter_count(const submodi_counter *x, size_t group);
/* The counts of class c, all threads together, are added to total[0 .. 2 K - 1]. */
void submodi_counter_add_to(const submodi_counter *x, size_t c, double *total);
/* Writes the gradient of one group by looking the weights up. */
void submodi_counter_write(const submodi_counter *x, size_t group, const submod_gradient *gradient);

/* From the counts of one class (2 K numbers >= 0, whole or not) with P pixels in the foreground:
 * coefficient times the weight of each bin, its sign as in the derivative; returns the loss. */
double submodi_solve_bins(const double *count, double P, const submodi_binning *how,
                          double coefficient, float *weight);

#endif
