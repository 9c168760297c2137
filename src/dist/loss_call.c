/* A Lovász loss over ranks, in two halves (dist.h has what it promises).
 *
 *   begin  this rank's arguments, all memory          agree: settings, sizes, largest weight
 *          labels; hinge: the largest margin          agree: margin
 *          histograms                                 start of their sum
 *   end                                               end of the sum
 *          coefficients, weights of bins, loss        agree, if a custom measure was asked
 *          gradient of its own scores
 *
 * With per_image there is no sum: each rank solves for its images, ranks agree that all are well,
 * and losses are gathered. One rank alone: the call of loss.h. */
#include "dist/loss_call.h"

#include <string.h>

#include "base/error.h"
#include "dist/group_losses.h"

static bool is_hinge(const submodi_batch *batch)
{
    return batch->activation == SUBMODI_SCORE;
}

static const submod_gradient *gradient_of(const submod_dist_call *call)
{
    return call->derives ? &call->gradient : NULL;
}

/* A custom measure can fail on one rank alone; built-in ones cannot. */
static submod_status agree_on_measure(submod_dist_call *call, submod_status mine)
{
    const submodi_global *whole = &call->whole;
    return whole->batch.measure.type == SUBMOD_MEASURE_CUSTOM
               ? submodi_agree_status(whole->who, &whole->comm, mine)
               : mine;
}

static void fill_info(submod_dist_call *call, submod_loss_info *info)
{
    const submodi_batch *batch = &call->whole.batch;
    info->bins = call->tally.h.how.K;
    info->delta = 0.5 / (double)call->tally.h.how.scale * batch->most;
    info->pixels = batch->valid;
    info->terms = batch->terms;
    info->workspace =
        call->work->used + call->work->spilled - call->scope.used - call->scope.spilled;
    submodi_write_groups(batch, call->scores.batch, call->group_loss);
}

/* ---- one rank ---- */

static submod_status end_alone(submod_dist_call *call, double *loss, submod_loss_info *info)
{
    return submodi_lovasz(call->whole.who, call->kind, &call->scores, &call->labels, loss,
                          gradient_of(call), &call->whole.batch.given, info, call->work);
}

/* ---- the batch as one group ---- */

static submod_status end_batch(submod_dist_call *call, double *loss, submod_loss_info *info)
{
    submodi_batch *batch = &call->whole.batch;
    const submodi_histogram *h = &call->tally.h;
    const submodi_counts counts = {submodi_tally_add_to, &call->tally};
    submod_status status = submodi_tally_finish(&call->tally, call->at_once);
    if (status != SUBMOD_OK) {
        return status;
    }
    status = submodi_batch_decide(batch);
    status = status ? status : submodi_require_slopes(batch, gradient_of(call));
    if (status == SUBMOD_OK && batch->groups) {
        status = submodi_solve_group(h, 0, &counts, &call->solution, call->group_loss);
    }
    status = agree_on_measure(call, status);
    if (status != SUBMOD_OK) {
        return status;
    }
    *loss = batch->groups ? call->group_loss[0] : 0;
    if (call->derives && batch->groups) {
        submodi_write_group(h, 0, &call->solution, &call->gradient);
    }
    fill_info(call, info);
    return SUBMOD_OK;
}

/* ---- a group per image ---- */

static submod_status solve_images(submod_dist_call *call)
{
    submodi_histogram *h = &call->tally.h;
    call->room = submodi_group_losses_take(&call->whole, call->work);
    if (!call->room || !submodi_histogram_take(h, true, call->work)) {
        return submodi_nomem(call->whole.who);
    }
    submod_status status = submodi_batch_decide(&call->whole.batch);
    return status ? status : submodi_solve_groups(h, &call->solution, call->group_loss, NULL);
}

/* Tables that did not all fit are made again. */
static submod_status write_images(submod_dist_call *call)
{
    const submodi_histogram *h = &call->tally.h;
    if (call->solution.at_once < h->batch->groups) {
        return submodi_solve_groups(h, &call->solution, call->group_loss, &call->gradient);
    }
    for (size_t g = 0; g < h->batch->groups; g++) {
        submodi_write_group(h, g, &call->solution, &call->gradient);
    }
    return SUBMOD_OK;
}

static submod_status end_images(submod_dist_call *call, double *loss, submod_loss_info *info)
{
    submodi_global *whole = &call->whole;
    submod_status status =
        submodi_agree_status(whole->who, &whole->comm, submodi_outcome_again(&call->mine));
    status =
        status ? status : submodi_group_losses_gather(whole, call->group_loss, call->room, loss);
    if (status != SUBMOD_OK) {
        return status;
    }
    status = agree_on_measure(call, submodi_require_slopes(&whole->batch, gradient_of(call)));
    status = status || !call->derives ? status : write_images(call);
    if (status == SUBMOD_OK) {
        fill_info(call, info);
    }
    return status;
}

/* ---- the beginning ---- */

static submod_status take_histogram(submod_dist_call *call)
{
    submodi_batch *batch = &call->whole.batch;
    uint32_t most = submodi_most_bins(batch);
    bool images = batch->settings.per_image;
    call->tally.h = (submodi_histogram){.batch = batch, .how = {.K = most}, .prunes = images};
    call->margin = submodi_take(call->work, (size_t)batch->threads, sizeof *call->margin);
    bool good = call->margin &&
                (images || submodi_tally_take(&call->tally, &call->whole, most, call->work));
    good =
        good && submodi_solution_take(&call->tally.h, call->derives, &call->solution, call->work);
    return good && ((!images && !call->derives) || submodi_notes_take(batch, call->work))
               ? SUBMOD_OK
               : submodi_nomem(batch->who);
}

static submod_status require_histogram(const submodi_batch *batch)
{
    return batch->settings.engine == SUBMOD_ENGINE_HISTOGRAM
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_EUNSUPPORTED,
                              "%s: settings.engine must be SUBMOD_ENGINE_HISTOGRAM with several "
                              "ranks, which add up counts",
                              batch->who);
}

/* All that the end needs on every rank, and what is to be known of its part. */
static submod_status take(submod_dist_call *call)
{
    submodi_batch *batch = &call->whole.batch;
    submod_status status = require_histogram(batch);
    status = status ? status : submodi_batch_look(batch, call->work);
    if (status != SUBMOD_OK) {
        return status;
    }
    call->group_loss = submodi_take(call->work, batch->groups, sizeof *call->group_loss);
    if (!call->group_loss) {
        return submodi_nomem(batch->who);
    }
    memset(call->group_loss, 0, batch->groups * sizeof *call->group_loss);
    return take_histogram(call);
}

/* The margin of the whole batch; 0 where it does not matter. */
static submod_status agree_on_margin(submod_dist_call *call, submod_status *mine, float *margin)
{
    const submodi_global *whole = &call->whole;
    *margin = 0;
    if (!is_hinge(&whole->batch)) {
        return SUBMOD_OK;
    }
    if (*mine == SUBMOD_OK && !submodi_largest_margin(&whole->batch, call->margin)) {
        *mine = submodi_batch_bad_score(&whole->batch);
    }
    float own = *mine ? 0 : call->margin[0];
    return submodi_agree_largest(whole->who, &whole->comm, *mine, own, margin);
}

static submod_status begin_histogram(submod_dist_call *call)
{
    submodi_batch *batch = &call->whole.batch;
    float margin;
    submod_status mine = submodi_batch_count(batch, call->work);
    submod_status status = agree_on_margin(call, &mine, &margin);
    if (status != SUBMOD_OK) {
        return status;
    }
    call->tally.h.how = submodi_choose_bins(batch, margin);
    if (!batch->settings.per_image) {
        call->end = end_batch;
        return submodi_tally_start(&call->tally, mine, call->at_once, call->work);
    }
    call->end = end_images;
    submodi_outcome_keep(&call->mine, mine ? mine : solve_images(call));
    return SUBMOD_OK;
}

submod_status submodi_loss_begin(submod_dist_call *call, submod_status mine,
                                 const submodi_loss_arguments *x, bool at_once, submod_work *work)
{
    bool usable;
    submodi_global *whole = &call->whole;
    *call = (submod_dist_call){.kind = x->kind, .at_once = at_once};
    call->work = submodi_scope_open(&call->scope, work);
    submod_status status = submodi_global_start(whole, x->who, x->comm, x->kind, x->scores,
                                                x->labels, x->gradient, x->settings, &usable);
    if (!usable) {
        return status;
    }
    status = status ? status : mine; /* what failed last: its words are the error message */
    if (status == SUBMOD_OK) {
        call->scores = *x->scores;
        call->labels = *x->labels;
        call->derives = x->gradient != NULL;
        call->gradient = x->gradient ? *x->gradient : (submod_gradient){0};
    }
    if (whole->comm.ranks == 1) {
        call->end = end_alone;
        return status;
    }
    status = status ? status : take(call);
    status = submodi_global_agree(whole, status, 0);
    return status ? status : begin_histogram(call);
}
