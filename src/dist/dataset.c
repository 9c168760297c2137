/* Adding a batch that is spread over ranks to the dataset of each (see dist.h). */
#include "base/error.h"
#include "dist/call.h"

/* What it is called with. */
typedef struct arguments {
    const char *who;
    const submod_comm *comm;
    submod_dataset *dataset;
    const submod_scores *scores;
    const submod_labels *labels;
    const submod_loss_settings *settings;
} arguments;

static submod_status end_add(submod_dist_call *call, double *loss, submod_loss_info *info)
{
    size_t classes, bins;
    double *count = submod_dataset_counts(call->dataset, &classes, &bins);
    submod_status status = submodi_tally_finish(&call->tally, call->at_once);
    (void)loss;
    (void)info;
    for (size_t c = 0; status == SUBMOD_OK && c < classes; c++) {
        submodi_tally_add_to(&call->tally, 0, c, count + 2 * bins * c);
    }
    return status;
}

/* Against the dataset; memory, and what is to be known of this part. */
static submod_status open_part(submod_dist_call *call, const arguments *x, size_t *bins)
{
    submodi_batch *batch = &call->whole.batch;
    size_t classes = 0;
    submod_status status = submodi_require_given(x->who, "dataset", x->dataset);
    submod_dataset_counts(x->dataset, &classes, bins);
    if (status == SUBMOD_OK && batch->scores.classes != classes) {
        status = submodi_fail(SUBMOD_EINVAL,
                              "%s: scores have %zu classes, the dataset has %zu; they must agree",
                              x->who, batch->scores.classes, classes);
    }
    status = status ? status : submodi_batch_look(batch, call->work);
    if (status == SUBMOD_OK &&
        !submodi_tally_take(&call->tally, &call->whole, (uint32_t)*bins, call->work)) {
        status = submodi_nomem(x->who);
    }
    return status;
}

static submod_status begin_add(submod_dist_call *call, submod_status mine, const arguments *x,
                               bool at_once, submod_work *work)
{
    bool usable;
    size_t bins = 0;
    submodi_global *whole = &call->whole;
    *call = (submod_dist_call){.at_once = at_once, .end = end_add, .dataset = x->dataset};
    call->work = submodi_scope_open(&call->scope, work);
    submod_status status = submodi_global_start(whole, x->who, x->comm, SUBMODI_DATASET, x->scores,
                                                x->labels, NULL, x->settings, &usable);
    if (!usable) {
        return status;
    }
    whole->batch.plain_weights = true; /* their sums outlive the batch */
    status = status ? status : mine;   /* what failed last: its words are the error message */
    status = status ? status : open_part(call, x, &bins);
    status = submodi_global_agree(whole, status, bins);
    if (status != SUBMOD_OK) {
        return status;
    }
    call->tally.h.how = submodi_unit_bins((uint32_t)bins);
    status = submodi_batch_count(&whole->batch, call->work);
    return submodi_tally_start(&call->tally, status, at_once, call->work);
}

submod_status submod_dist_dataset_add(const submod_comm *comm, submod_dataset *dataset,
                                      const submod_scores *scores, const submod_labels *labels,
                                      const submod_loss_settings *settings, submod_work *work)
{
    const arguments x = {"submod_dist_dataset_add", comm, dataset, scores, labels, settings};
    submod_dist_call call;
    submod_status status = begin_add(&call, SUBMOD_OK, &x, true, work);
    return submodi_call_end(&call, status, NULL, NULL);
}

submod_status submod_dist_dataset_add_start(const submod_comm *comm, submod_dataset *dataset,
                                            const submod_scores *scores,
                                            const submod_labels *labels, submod_dist_call **call,
                                            const submod_loss_settings *settings)
{
    const arguments x = {"submod_dist_dataset_add_start", comm, dataset, scores, labels, settings};
    submodi_new_call made;
    submod_status status = submodi_require_given(x.who, "call", call);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_call_make(x.who, &made);
    status = begin_add(made.call, made.status, &x, false, NULL);
    return submodi_call_hand_out(&made, status, call);
}
