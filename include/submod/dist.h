/* The Lovász losses of a batch, and the counts of a dataset, that are spread over processes.
 *
 * The Jaccard index of a batch is not a mean over its parts, so a loss that each rank computes of
 * its own images is another loss. Here the ranks compute the loss of all their pixels together, and
 * each gets it, with the gradient by its own scores. Counts of errors travel, not pixels: 2 *
 * classes * bins numbers per rank, however large the images are. So with several ranks
 * settings.engine must be SUBMOD_ENGINE_HISTOGRAM.
 *
 *     every rank:  submod_dist_lovasz_softmax(comm, scores, labels, &loss, gradient, ..);
 *
 * How the ranks reach each other is a table of functions, submod_comm: submod/mpi.h has one for MPI
 * (library submod_mpi), the Python package has one for torch.distributed, and one of your own needs
 * two functions. The library itself needs none of them.
 *
 * All calls but those that free are collective: every rank of the comm makes the same calls in the
 * same order, with the same settings and the same number of classes; the images, their number and
 * their size are its own. A rank may have no images, or none with a pixel that counts. The batch is
 * that of rank 0, then that of rank 1, and so on; whether a class is present, its pixels, weights
 * and the number of images are those of all of them.
 *
 * Same bits: for any number of ranks and any split of the images, loss, gradients and the counts of
 * datasets have the bits that one process with all images gets. A custom measure must be the same
 * function on all ranks, and increasing.
 *
 * What happens in special cases; the rest is as in loss.h and dataset.h:
 *
 *   comm NULL, or of one rank                   this process alone; nothing of comm is called
 *   a comm that cannot be used: rank or         SUBMOD_EINVAL, on this rank alone
 *     ranks out of range, a function that is
 *     missing
 *   a rank cannot go on: bad labels, NaN        on all ranks the status of the lowest rank that
 *     among its scores, no memory, NULL           failed; its error message says why, that of the
 *     where something must be given               others names the rank
 *   settings or classes differ, pixel_weights   SUBMOD_EINVAL on all: "settings.delta of rank 1 is
 *     are given on some ranks only                not that of rank 0"; of a custom measure only
 *                                                 that it is custom can be compared
 *   ranks make different calls                  SUBMOD_EINVAL on all, if the comm can tell: when
 *                                                 both begin with the gather that all of these do
 *   no rank has a pixel                         loss 0, info as of an empty batch
 *   images without pixels                       have no part in the mean over images
 *   images of different sizes                   one size per rank; ranks may differ
 *   2^31 pixels or more                         fine in all, SUBMOD_EINVAL on one rank; in all they
 *                                                 must be fewer than 2^52 (SUBMOD_EINVAL)
 *   a custom measure fails on one rank          as any other failure: on all ranks
 *   a function of the comm fails                SUBMOD_ECOMM: a rank has died or the net is down.
 *                                                 The others may not know, or may wait: that is up
 *                                                 to the transport. The comm is not to be used
 *                                                 again
 *   several ranks and the exact engine          SUBMOD_EUNSUPPORTED on all
 *   any error                                   on all ranks nothing is written
 *
 * What cannot be told to the others: with more than 64 ranks a call needs 192 bytes per rank at its
 * beginning, and with more than 1024 ranks 8 bytes per rank whenever they tell how they are. If
 * even these are not to be had it returns SUBMOD_ENOMEM alone.
 *
 * What a rank hands to the comm, in bytes; T is 4 while all pixels (sigmoid: times the classes) are
 * fewer than 2^31 and have no weights, else 8:
 *
 *   histogram engine    gather 192, sum T (2 classes bins + 2 classes + 2); hinge: gather 8 more
 *     with per_image    gather 192 + 8 + 8 (3 + 2 the most images of a rank); hinge: 8 more
 *     custom measure    gather 8 more
 *   datasets            add as above; sum: gather 192, sum 16 classes bins
 *   confusions          gather 192, sum 4 classes^2, or 16 classes^2 from 2^31 pixels on
 *   after a failure     gather 8 more at most
 *
 * None of it grows with the pixels. bins are info.bins.
 */
#ifndef SUBMOD_DIST_H
#define SUBMOD_DIST_H

#include <submod/dataset.h>
#include <submod/metric.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- how ranks reach each other ---- */

/* The type of numbers that are added up. */
typedef enum submod_comm_type {
    SUBMOD_COMM_I32 = 0, /* int32_t; no sum overflows */
    SUBMOD_COMM_F64 = 1  /* double */
} submod_comm_type;

/* Collective functions over the ranks 0 .. ranks - 1, from the calling thread; each returns 0, or
 * not 0 when it has failed, and is called by all ranks in the same order. One that ends by
 * `return submod_fail(SUBMOD_ECOMM, words)` gets its words into the error message. With
 * one rank none of them is called, and all may be NULL. */
typedef struct submod_comm {
    void *context;   /* handed to the functions */
    int rank, ranks; /* which one this is, of how many: at most 2^20 */
    /* Adds up in place: count numbers of all ranks, entry by entry, the same bits on all. */
    int (*sum)(void *context, void *numbers, submod_comm_type type, size_t count);
    /* all[0 .. ranks * bytes - 1] = the bytes of all ranks, rank after rank; equally many each. */
    int (*gather)(void *context, const void *mine, size_t bytes, void *all);
} submod_comm;

/* Rank 0 of 1, without functions. */
SUBMOD_API submod_comm submod_comm_alone(void);

/* ---- losses of the global batch ---- */

/* As the functions of loss.h without dist, of all ranks' images; gradient, its scale and its layout
 * are this rank's, also whether there is one. loss, gradient and info may be NULL. comm NULL: this
 * process alone. settings.group_loss gets the losses of this rank's images (per_image), or that of
 * the batch. info: of all ranks, but for workspace. comm is borrowed for the call. */
SUBMOD_API submod_status submod_dist_lovasz_softmax(const submod_comm *comm,
                                                    const submod_scores *scores,
                                                    const submod_labels *labels, double *loss,
                                                    const submod_gradient *gradient,
                                                    const submod_loss_settings *settings,
                                                    submod_loss_info *info, submod_work *work);
SUBMOD_API submod_status submod_dist_lovasz_sigmoid(const submod_comm *comm,
                                                    const submod_scores *scores,
                                                    const submod_labels *labels, double *loss,
                                                    const submod_gradient *gradient,
                                                    const submod_loss_settings *settings,
                                                    submod_loss_info *info, submod_work *work);
SUBMOD_API submod_status submod_dist_lovasz_hinge(const submod_comm *comm,
                                                  const submod_scores *scores,
                                                  const submod_labels *labels, double *loss,
                                                  const submod_gradient *gradient,
                                                  const submod_loss_settings *settings,
                                                  submod_loss_info *info, submod_work *work);

/* ---- counts ---- */

/* Adds the batch of all ranks to the dataset of each, so that all have the same counts if they had
 * before. Special cases and settings as for submod_dataset_add; pixel weights are rounded by the
 * batch of all ranks. Datasets must have the same classes and bins. */
SUBMOD_API submod_status submod_dist_dataset_add(const submod_comm *comm, submod_dataset *dataset,
                                                 const submod_scores *scores,
                                                 const submod_labels *labels,
                                                 const submod_loss_settings *settings,
                                                 submod_work *work);

/* The counts of all ranks' datasets, added up, become those of each; weights that were solved for
 * stay. For datasets that each rank has filled by itself: a second time it would add up sums.
 * Exact while counts are whole and their sums below 2^53, as in dataset.h; others are rounded, the
 * same way on all ranks. The counts themselves are not looked at: submod_dataset_solve refuses what
 * it cannot use. SUBMOD_EINVAL on all: NULL; classes or bins differ. SUBMOD_ENOMEM on all. */
SUBMOD_API submod_status submod_dist_dataset_sum(const submod_comm *comm, submod_dataset *dataset);

/* The same of confusions (metric.h), always exact. SUBMOD_EINVAL on all: NULL; classes differ; more
 * than 2^63 - 1 pixels in all. SUBMOD_ENOMEM on all. */
SUBMOD_API submod_status submod_dist_confusion_sum(const submod_comm *comm,
                                                   submod_confusion *confusion);

#ifdef __cplusplus
}
#endif

#endif
