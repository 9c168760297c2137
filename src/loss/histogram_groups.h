/* What the loss of a batch makes of the histograms of its groups: weights and losses, and from
 * these the gradient. Shared by the batch of one process (histogram_loss.c) and by that of many
 * ranks (src/dist/), whose counts come from elsewhere. */
#ifndef SUBMODI_LOSSES_HISTOGRAM_GROUPS_H
#define SUBMODI_LOSSES_HISTOGRAM_GROUPS_H

#include "loss/histogram.h"

/* The bins of a batch: as many as were asked for, or as delta needs. For the hinge they cover a
 * power of two above the largest margin of the whole batch. */
submodi_binning submodi_choose_bins(const submodi_batch *batch, float largest_margin);
/* The most bins that they can be, whatever that margin is. */
uint32_t submodi_most_bins(const submodi_batch *batch);
/* For the hinge: the largest margin of this batch, into largest[0]; room for one number per thread.
 * False when some score is bad. */
bool submodi_largest_margin(const submodi_batch *batch, float *largest);

/* What is solved for: the tables of some groups, one after the other. */
typedef struct submodi_solution {
    size_t at_once;                   /* groups whose tables fit */
    float *table;                     /* at_once x classes x 2 K */
    uint32_t *flat;                   /* at_once x classes */
    double *total;                    /* 2 K numbers per thread */
    double *points;                   /* per thread, for a custom measure */
    double *value;                    /* per class */
    submodi_measure_failure *failure; /* per class */
} submodi_solution;

/* Memory. Several groups can be counted before the first gradient is written if their tables do not
 * take more memory than the scores. If that is all groups, a bad score is noticed in time. False:
 * out of memory. */
bool submodi_solution_take(const submodi_histogram *h, bool with_gradient, submodi_solution *s,
                           submod_work *work);

/* Where the counts of a class of a group come from: they are added to total[0 .. 2 K - 1]. */
typedef struct submodi_counts {
    void (*add_to)(const void *context, size_t group, size_t c, double *total);
    const void *context;
} submodi_counts;

/* The weights of one group, and what it adds to the loss. SUBMOD_ECALLBACK: a custom measure. */
submod_status submodi_solve_group(const submodi_histogram *h, size_t group,
                                  const submodi_counts *counts, const submodi_solution *s,
                                  double *loss);
/* The gradient of a group whose tables are still there. */
void submodi_write_group(const submodi_histogram *h, size_t group, const submodi_solution *s,
                         const submod_gradient *gradient);
/* All groups, counted here, as many at once as fit. gradient may be NULL. */
submod_status submodi_solve_groups(const submodi_histogram *h, const submodi_solution *s,
                                   double *group_loss, const submod_gradient *gradient);

#endif
