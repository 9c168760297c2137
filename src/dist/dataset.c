/* Adding a batch that is spread over ranks to the dataset of each (see dist.h). */
#include "base/internal.h"
#include "dist/tally.h"

/* Checks the batch against the dataset, takes memory, and finds what is to be known of this part.
 */
static submod_status open_part(submodi_global *whole, const submod_dataset *dataset, size_t classes,
                               size_t bins, submodi_tally *tally, submod_work *work)
{
    submodi_batch *batch = &whole->batch;
    submod_status status = submodi_check_given("dataset", dataset);
    if (status == SUBMOD_OK && batch->scores.classes != classes) {
        status = submodi_fail(SUBMOD_EINVAL,
                              "scores have %zu classes, the dataset has %zu; they must agree",
                              batch->scores.classes, classes);
    }
    status = status ? status : submodi_batch_look(batch, work);
    if (status == SUBMOD_OK && !submodi_tally_take(tally, whole, (uint32_t)bins, work)) {
        status = submodi_out_of_memory();
    }
    return status;
}

static submod_status add(submodi_global *whole, submod_status mine, submod_dataset *dataset,
                         submod_work *work)
{
    size_t classes = 0;
    size_t bins = 0;
    submodi_tally tally;
    double *count = submod_dataset_counts(dataset, &classes, &bins);
    whole->batch.plain_weights = true; /* their sums outlive the batch */
    mine = mine ? mine : open_part(whole, dataset, classes, bins, &tally, work);
    submod_status status = submodi_global_agree(whole, mine, bins);
    if (status != SUBMOD_OK) {
        return status;
    }
    tally.h.how = submodi_unit_bins((uint32_t)bins);
    status = submodi_tally_sum(&tally, submodi_batch_count(&whole->batch, work), work);
    for (size_t c = 0; status == SUBMOD_OK && c < classes; c++) {
        submodi_tally_add_to(&tally, 0, c, count + 2 * bins * c);
    }
    return status;
}

submod_status submod_dist_dataset_add(const submod_comm *comm, submod_dataset *dataset,
                                      const submod_scores *scores, const submod_labels *labels,
                                      const submod_loss_settings *settings, submod_work *work)
{
    submodi_global whole;
    bool usable;
    submod_status status =
        submodi_global_start(&whole, "submod_dist_dataset_add", comm, SUBMODI_DATASET, scores,
                             labels, NULL, settings, &usable);
    if (!usable) {
        return submodi_return("submod_dist_dataset_add", status);
    }
    submodi_scope scope;
    status = add(&whole, status, dataset, submodi_scope_open(&scope, work));
    submodi_scope_close(&scope);
    return submodi_return("submod_dist_dataset_add", status);
}
