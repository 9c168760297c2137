/* The histograms of all ranks, added up: what the loss of a global batch and a dataset are made of.
 *
 *     2 K numbers per class, then the sums of the labels (global_batch.h)
 *
 * as int32 if all of them are below 2^31, which the number of pixels tells, else as double. A rank
 * counts all bins: which of them can be left out is known only of the whole. */
#ifndef SUBMODI_DIST_TALLY_H
#define SUBMODI_DIST_TALLY_H

#include "dist/global_batch.h"
#include "loss/histogram.h"

typedef struct submodi_tally {
    submodi_global *whole;
    submodi_histogram h;
    void *numbers;
    double *labels; /* their sums */
    submod_comm_type type;
} submodi_tally;

/* Memory for the numbers, for up to so many bins; before ranks agree. False: out of memory. */
bool submodi_tally_take(submodi_tally *tally, submodi_global *whole, uint32_t most_bins,
                        submod_work *work);
/* Counts by h.how, unless this rank has failed already, and adds up over all ranks. If a rank has
 * failed, all fail; else the labels of the batch are those of all ranks. */
submod_status submodi_tally_sum(submodi_tally *tally, submod_status mine, submod_work *work);
/* The counts of class c of all ranks are added to total[0 .. 2 K - 1]. */
void submodi_tally_add_to(const void *tally, size_t group, size_t c, double *total);

#endif
