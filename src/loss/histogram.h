/* The histogram engine from the inside: counting the errors of a group in bins, solving for the
 * weights of the bins, looking them up again. Shared by the loss of one batch (histogram_loss.c)
 * and by datasets, whose counts live across batches (dataset.c). */
#ifndef SUBMODI_LOSSES_HISTOGRAM_H
#define SUBMODI_LOSSES_HISTOGRAM_H

#include <stdatomic.h>

#include "loss/tile.h"

/* Where a pixel is counted: bins 0 .. K-1 background, K .. 2K-1 foreground. K and scale are powers
 * of two, so that e * scale is exact. */
typedef struct submodi_binning {
    uint32_t K;
    float scale; /* bins per unit of error */
    float bias;
    bool drops_zero; /* errors of 0 take no part: in the hinge loss */
} submodi_binning;

/* K bins of errors from 0 to 1: of a dataset. */
static inline submodi_binning submodi_unit_bins(uint32_t K)
{
    return (submodi_binning){.K = K, .scale = (float)K};
}

/* The number of bins, a power of two, that keeps every error within delta of its bin's middle. */
uint32_t submodi_histogram_bins(double delta);

/* Counts, or sums of the weights of pixels: tables of 2 K per class. */
typedef struct submodi_histogram {
    const submodi_batch *batch;
    submodi_binning how;
    /* Background bins below all of the foreground have no weight. When this is set they are not
     * counted, as far as the engine knows them by then. */
    bool prunes;
    uint32_t **count;           /* per thread: one table per class; NULL with weights of pixels */
    double **sum;               /* with them: likewise */
    _Atomic uint32_t *smallest; /* the smallest bin of each class's foreground so far; K: none */
    uint32_t *floor;            /* per tile and class: background bins below were not counted */
    uint32_t *place;            /* per pixel, if it has one class: the bin of its foreground */
} submodi_histogram;

/* Entries of the table of one class. */
static inline size_t submodi_table_size(const submodi_histogram *h)
{
    return 2 * (size_t)h->how.K;
}

/* The weights of one group: what to look up. */
typedef struct submodi_weights {
    const float *table;              /* 2 K per class: derivative by v, coefficient included */
    const uint32_t *flat;            /* per class: background bins below have the weight of bin 0 */
    const submod_gradient *gradient; /* where the derivative goes */
} submodi_weights;

/* Memory, when the bins are known. counting: also for the counts; else only for what
 * submodi_histogram_note finds. False: out of memory. */
bool submodi_histogram_take(submodi_histogram *h, bool counting, submod_work *work);

/* Counts one group; false when some score is bad. Notes what submodi_histogram_write needs. */
bool submodi_histogram_count(const submodi_histogram *h, size_t group);
/* Only notes it, of all groups. */
bool submodi_histogram_note(const submodi_histogram *h);
/* The counts or sums of class c, all threads together, are added to total[0 .. 2 K - 1]. Bins that
 * the engine did not have to count are left out of it, or are in bin 0. */
void submodi_histogram_add_to(const submodi_histogram *h, size_t group, size_t c, double *total);
/* Writes the gradient of one group by looking the weights up. */
void submodi_histogram_write(const submodi_histogram *h, size_t group,
                             const submodi_weights *weights);

/* What the weights of one class follow from. */
typedef struct submodi_bin_counts {
    const double *count; /* 2 K numbers >= 0, whole or not */
    double P, N;         /* pixels of the foreground and of the background */
    double unit;         /* of all these, a power of two */
    double nothing;      /* counts up to this weigh nothing */
    double coefficient;  /* what the class counts for */
    const submod_measure *measure;
    double *points; /* custom measures: room for 3 numbers per point, else NULL */
} submodi_bin_counts;

/* Where a custom measure is asked, for K bins. */
static inline size_t submodi_solve_points(size_t K)
{
    return 2 * K + 1;
}

/* coefficient times the weight of each bin, its sign as in the derivative; returns the loss. If a
 * custom measure fails, *failure says where, and weights and loss mean nothing; else *failure stays
 * as it is. */
double submodi_histogram_solve(const submodi_bin_counts *x, const submodi_binning *how,
                               float *weight, submodi_measure_failure *failure);
/* The first background bin whose weight is not that of bin 0, or K. */
uint32_t submodi_histogram_flat(const float *weight, uint32_t K);

#endif
