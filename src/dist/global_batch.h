/* A batch that is spread over ranks: this rank's part, opened so that what is decided on the whole
 * is known of the whole.
 *
 *     submodi_global_start(&g, ..)     its own arguments and shape; may fail on a rank alone
 *     take memory for all that comes later; may fail, too
 *     submodi_global_agree(&g, status) all meet for the first time
 *     submodi_batch_count(&g.batch, w) labels and weights, by the limits of the whole; may fail
 *     the counts are added up by whoever needs them, and become those of the batch
 *     submodi_batch_decide(&g.batch)   coefficients; the same on all ranks
 */
#ifndef SUBMODI_DIST_GLOBAL_BATCH_H
#define SUBMODI_DIST_GLOBAL_BATCH_H

#include "dist/agree.h"
#include "loss/batch.h"

typedef struct submodi_global {
    const char *caller;
    submod_comm comm;
    /* Of this rank: scores, labels, images_per_group, weight. Of the whole, once agreed:
     * all_groups, all_pixels, and largest_weight and unit of a group that is spread over ranks. A
     * rank without pixels takes part in the one group of a batch that is not cut into images, with
     * images_per_group 0. */
    submodi_batch batch;
    uint64_t most_groups; /* of a rank */
} submodi_global;

/* Checks comm and arguments. If comm cannot be used, *usable is false, and the call must end at
 * once; after any other failure the rank has to meet the others in submodi_global_agree. */
submod_status submodi_global_start(submodi_global *g, const char *caller, const submod_comm *comm,
                                   submodi_kind kind, const submod_scores *scores,
                                   const submod_labels *labels, const submod_gradient *gradient,
                                   const submod_loss_settings *settings, bool *usable);

/* All ranks: whether all are well, have the same classes and settings, and not too many pixels.
 * bins: of a dataset, else 0. */
submod_status submodi_global_agree(submodi_global *g, submod_status mine, size_t bins);

/* The numbers 2 C + 2 that labels add up to: foreground and background of each class of the one
 * group, then valid pixels, and whether this rank has failed. */
static inline size_t submodi_label_sums(const submodi_batch *batch)
{
    return 2 * batch->scores.classes + 2;
}

/* What this rank adds to them; status not SUBMOD_OK: nothing but that it has failed. */
void submodi_label_sums_write(const submodi_batch *batch, submod_status status, double *sum);
/* Makes the sums of all ranks those of the batch, unless a rank has failed. mine is the status of
 * this one. */
submod_status submodi_label_sums_read(submodi_global *g, submod_status mine, const double *sum);

#endif
