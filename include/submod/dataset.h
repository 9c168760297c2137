/* The Lovász-Softmax loss of a whole dataset, by any measure: errors counted across batches.
 *
 * The Jaccard loss of a class over a dataset is not a mean over minibatches, and a minibatch alone
 * cannot see it. But its surrogate sees the errors only through two histograms per class, and those
 * add up: over batches, threads, processes, machines. So: add every batch, let old counts decay if
 * the model has moved on, solve, and look the weights of the current batch up. The gradient of a
 * batch is then that of the dataset's loss by this batch's scores.
 *
 *     submod_dataset_create(classes, delta, &d);
 *     each step:  submod_dataset_scale(d, 0.99);                    optional exponential decay
 *                 submod_dataset_add(d, scores, labels, settings, work);
 *                 submod_dataset_solve(d, &loss, NULL, settings);
 *                 submod_dataset_gradient(d, scores, labels, gradient, settings, work);
 *     across processes: submod_dist_dataset_add in place of submod_dataset_add (dist.h), or any sum
 *                 of the numbers of submod_dataset_counts, then solve.
 *
 * Counts are doubles: whole numbers, exact up to 2^53, unless they were scaled. Errors move by at
 * most delta when they are put into a bin, so the loss is within delta; for a custom measure
 * (measure.h), within delta times its F(P, N). P and N are the sums of the counts. Of the settings
 * classes, class_list, class_weight and measure matter to solve, from_logits, has_ignore,
 * ignore_index and pixel_weights to add and gradient; the bins are the dataset's own.
 * With pixel weights the counts are sums of them, rounded as loss.h says, batch by batch. They are
 * numbers on one scale across batches: best near 1, as sums below 1e-20 count as nothing.
 * A dataset is used by one thread at a time; its calls are parallel inside.
 */
#ifndef SUBMOD_DATASET_H
#define SUBMOD_DATASET_H

#include <submod/loss.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counts of the errors of all batches so far. */
typedef struct submod_dataset submod_dataset;

/* The number of bins is the smallest power of two, at least 2, that guarantees delta: to ask for K
 * bins, ask for delta = 0.5 / K. SUBMOD_EINVAL: no classes or more than 2^29 - 1,
 * delta outside [2^-21, 1]. */
SUBMOD_API submod_status submod_dataset_create(size_t classes, double delta,
                                               submod_dataset **dataset);
/* Accepts NULL. */
SUBMOD_API void submod_dataset_free(submod_dataset *dataset);
/* Back to no counts. */
SUBMOD_API submod_status submod_dataset_reset(submod_dataset *dataset);

/* Adds the errors of a batch. Special cases and errors as for submod_lovasz_softmax; nothing is
 * added when it fails. */
SUBMOD_API submod_status submod_dataset_add(submod_dataset *dataset, const submod_scores *scores,
                                            const submod_labels *labels,
                                            const submod_loss_settings *settings,
                                            submod_work *work);
/* All counts times a factor >= 0. A class whose foreground has decayed to less than
 * 1e-9 of its pixels, or to less than 1e-20, counts as absent. */
SUBMOD_API submod_status submod_dataset_scale(submod_dataset *dataset, double factor);
/* Adds the counts of another one with the same classes and bins. */
SUBMOD_API submod_status submod_dataset_merge(submod_dataset *dataset, const submod_dataset *other);

/* The counts themselves, classes x 2 x bins (background, then foreground; errors ascending):
 * borrowed, and the caller may change them, to restore or all-reduce them. NULL for NULL. */
SUBMOD_API double *submod_dataset_counts(submod_dataset *dataset, size_t *classes, size_t *bins);
/* The guaranteed delta; 0 for NULL. */
SUBMOD_API double submod_dataset_delta(const submod_dataset *dataset);

/* Weights of all bins; *loss (may be NULL) is the loss of all that was added, class_loss (may be
 * NULL) that of each class, NaN where it is left out. SUBMOD_EINVAL when a count is negative or not
 * finite, and for settings that submod_lovasz_softmax refuses. SUBMOD_ECALLBACK: a custom measure
 * failed; the solution before stays. Where a label has no counts in a bin, a custom measure gives
 * it the weight 0 there: differences need two values. */
SUBMOD_API submod_status submod_dataset_solve(submod_dataset *dataset, double *loss,
                                              double *class_loss,
                                              const submod_loss_settings *settings);

/* The derivative of the loss that was last solved for, by the scores of this batch. SUBMOD_EINVAL
 * before the first solve. SUBMOD_ENUMERIC: the gradient's scale times the largest weight of a bin,
 * which exceeds 1 where counts have decayed below 1, times the largest of a pixel overflows a
 * float.
 */
SUBMOD_API submod_status submod_dataset_gradient(
    const submod_dataset *dataset, const submod_scores *scores, const submod_labels *labels,
    const submod_gradient *gradient, const submod_loss_settings *settings, submod_work *work);

#ifdef __cplusplus
}
#endif

#endif
