/* The Lovász losses of a batch that is spread over ranks (dist.h says what they promise).
 *
 *   this rank's arguments, all memory           agree: settings, sizes, largest weight
 *   labels; hinge: the largest margin           agree: margin
 *   histograms                                  sum
 *   coefficients, weights of bins, loss         agree, if the measure is custom
 *   gradient of its own scores
 *
 * With per_image there is no sum: each rank solves for its images, ranks agree that all are well,
 * and losses are gathered. One rank alone makes the call of loss.h. */
#include <string.h>

#include "base/internal.h"
#include "dist/group_losses.h"
#include "dist/tally.h"
#include "loss/histogram_groups.h"

typedef struct call {
    submodi_global whole;
    submod_work *work;
    const submod_gradient *gradient; /* may be NULL */
    submodi_tally tally;             /* with per_image only its h is used */
    submodi_solution solution;
    float *margin;      /* per thread */
    double *group_loss; /* what each group adds to the loss */
    double *room;       /* per_image: for all losses of images */
} call;

/* A custom measure can fail on one rank alone; built-in ones cannot. */
static submod_status agree_on_measure(const call *x, submod_status mine)
{
    const submodi_global *whole = &x->whole;
    return whole->batch.measure.type == SUBMOD_MEASURE_CUSTOM
               ? submodi_agree_status(&whole->comm, mine)
               : mine;
}

/* ---- the batch as one group ---- */

static submod_status solve_batch(call *x, submod_status mine, double *loss)
{
    submodi_batch *batch = &x->whole.batch;
    const submodi_histogram *h = &x->tally.h;
    const submodi_counts counts = {submodi_tally_add_to, &x->tally};
    submod_status status = submodi_tally_sum(&x->tally, mine, x->work);
    if (status != SUBMOD_OK) {
        return status;
    }
    status = submodi_batch_decide(batch);
    status = status ? status : submodi_require_slopes(batch, x->gradient);
    if (status == SUBMOD_OK && batch->groups) {
        status = submodi_solve_group(h, 0, &counts, &x->solution, x->group_loss);
    }
    status = agree_on_measure(x, status);
    if (status != SUBMOD_OK) {
        return status;
    }
    *loss = batch->groups ? x->group_loss[0] : 0;
    if (x->gradient && batch->groups) {
        submodi_write_group(h, 0, &x->solution, x->gradient);
    }
    return SUBMOD_OK;
}

/* ---- a group per image ---- */

static submod_status solve_own_images(call *x)
{
    submodi_histogram *h = &x->tally.h;
    x->room = submodi_group_losses_take(&x->whole, x->work);
    if (!x->room || !submodi_histogram_take(h, true, x->work)) {
        return submodi_out_of_memory();
    }
    submod_status status = submodi_batch_decide(&x->whole.batch);
    return status ? status : submodi_solve_groups(h, &x->solution, x->group_loss, NULL);
}

/* Tables that did not all fit are made again. */
static submod_status write_images(call *x)
{
    const submodi_histogram *h = &x->tally.h;
    if (x->solution.at_once < h->batch->groups) {
        return submodi_solve_groups(h, &x->solution, x->group_loss, x->gradient);
    }
    for (size_t g = 0; g < h->batch->groups; g++) {
        submodi_write_group(h, g, &x->solution, x->gradient);
    }
    return SUBMOD_OK;
}

static submod_status solve_images(call *x, submod_status mine, double *loss)
{
    submodi_global *whole = &x->whole;
    mine = mine ? mine : solve_own_images(x);
    submod_status status = submodi_agree_status(&whole->comm, mine);
    status = status ? status : submodi_group_losses_gather(whole, x->group_loss, x->room, loss);
    if (status != SUBMOD_OK) {
        return status;
    }
    status = agree_on_measure(x, submodi_require_slopes(&whole->batch, x->gradient));
    return status || !x->gradient ? status : write_images(x);
}

/* ---- memory ---- */

static submod_status take_histogram(call *x)
{
    submodi_batch *batch = &x->whole.batch;
    uint32_t most = submodi_most_bins(batch);
    bool images = batch->settings.per_image;
    x->tally.h = (submodi_histogram){.batch = batch, .how = {.K = most}, .prunes = images};
    x->margin = submodi_work_alloc(x->work, (size_t)batch->threads, sizeof *x->margin);
    bool good = x->margin && (images || submodi_tally_take(&x->tally, &x->whole, most, x->work));
    good = good && submodi_solution_take(&x->tally.h, x->gradient != NULL, &x->solution, x->work);
    return good && ((!images && !x->gradient) || submodi_notes_take(batch, x->work))
               ? SUBMOD_OK
               : submodi_out_of_memory();
}

static submod_status require_histogram(const submodi_batch *batch)
{
    return batch->settings.engine == SUBMOD_ENGINE_HISTOGRAM
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_EUNSUPPORTED,
                              "settings.engine must be SUBMOD_ENGINE_HISTOGRAM with several "
                              "ranks, which add up counts");
}

/* All that the rest needs on every rank, and what is to be known of its part. */
static submod_status take(call *x)
{
    submodi_batch *batch = &x->whole.batch;
    submod_status status = require_histogram(batch);
    status = status ? status : submodi_batch_look(batch, x->work);
    if (status != SUBMOD_OK) {
        return status;
    }
    x->group_loss = submodi_work_alloc(x->work, batch->groups, sizeof *x->group_loss);
    if (!x->group_loss) {
        return submodi_out_of_memory();
    }
    memset(x->group_loss, 0, batch->groups * sizeof *x->group_loss);
    return take_histogram(x);
}

/* ---- the whole ---- */

/* The margin of the whole batch; 0 where it does not matter. */
static submod_status agree_on_margin(call *x, submod_status *mine, float *margin)
{
    const submodi_global *whole = &x->whole;
    *margin = 0;
    if (whole->batch.activation != SUBMODI_SCORE) { /* no hinge */
        return SUBMOD_OK;
    }
    if (*mine == SUBMOD_OK && !submodi_largest_margin(&whole->batch, x->margin)) {
        *mine = submodi_batch_bad_score(&whole->batch);
    }
    float own = *mine ? 0 : x->margin[0];
    return submodi_agree_largest(&whole->comm, *mine, own, margin);
}

static submod_status solve(call *x, submod_status mine, double *loss)
{
    submodi_batch *batch = &x->whole.batch;
    float margin;
    submod_status status = submodi_global_agree(&x->whole, mine ? mine : take(x), 0);
    if (status != SUBMOD_OK) {
        return status;
    }
    mine = submodi_batch_count(batch, x->work);
    status = agree_on_margin(x, &mine, &margin);
    if (status != SUBMOD_OK) {
        return status;
    }
    x->tally.h.how = submodi_choose_bins(batch, margin);
    return batch->settings.per_image ? solve_images(x, mine, loss) : solve_batch(x, mine, loss);
}

static void fill_info(const call *x, const submodi_scope *scope, submod_loss_info *info)
{
    const submodi_batch *batch = &x->whole.batch;
    info->bins = x->tally.h.how.K;
    info->delta = 0.5 / (double)x->tally.h.how.scale * batch->most;
    info->pixels = batch->valid;
    info->terms = batch->terms;
    info->workspace = x->work->used + x->work->spilled - scope->used - scope->spilled;
}

static submod_status lovasz(const char *caller, submodi_kind kind, const submod_comm *comm,
                            const submod_scores *scores, const submod_labels *labels, double *loss,
                            const submod_gradient *gradient, const submod_loss_settings *settings,
                            submod_loss_info *info, submod_work *work)
{
    call x = {.gradient = gradient};
    bool usable;
    submod_status status = submodi_global_start(&x.whole, caller, comm, kind, scores, labels,
                                                gradient, settings, &usable);
    if (!usable) {
        return status;
    }
    if (x.whole.comm.ranks == 1) {
        return submodi_lovasz(kind, scores, labels, loss, gradient, settings, info, work);
    }
    double value = 0;
    submod_loss_info i = {0};
    submodi_scope scope;
    x.work = submodi_scope_open(&scope, work);
    status = solve(&x, status, &value);
    if (status == SUBMOD_OK) {
        fill_info(&x, &scope, &i);
        submodi_write_groups(&x.whole.batch, scores->batch, x.group_loss);
        submodi_copy_out(loss, &value, 1, sizeof *loss);
        submodi_copy_out(info, &i, 1, sizeof *info);
    }
    submodi_scope_close(&scope);
    return status;
}

/* ---- the entries ---- */

submod_status submod_dist_lovasz_softmax(const submod_comm *comm, const submod_scores *scores,
                                         const submod_labels *labels, double *loss,
                                         const submod_gradient *gradient,
                                         const submod_loss_settings *settings,
                                         submod_loss_info *info, submod_work *work)
{
    return submodi_return("submod_dist_lovasz_softmax",
                          lovasz("submod_dist_lovasz_softmax", SUBMODI_LOVASZ_SOFTMAX, comm, scores,
                                 labels, loss, gradient, settings, info, work));
}

submod_status submod_dist_lovasz_sigmoid(const submod_comm *comm, const submod_scores *scores,
                                         const submod_labels *labels, double *loss,
                                         const submod_gradient *gradient,
                                         const submod_loss_settings *settings,
                                         submod_loss_info *info, submod_work *work)
{
    return submodi_return("submod_dist_lovasz_sigmoid",
                          lovasz("submod_dist_lovasz_sigmoid", SUBMODI_LOVASZ_SIGMOID, comm, scores,
                                 labels, loss, gradient, settings, info, work));
}

submod_status submod_dist_lovasz_hinge(const submod_comm *comm, const submod_scores *scores,
                                       const submod_labels *labels, double *loss,
                                       const submod_gradient *gradient,
                                       const submod_loss_settings *settings, submod_loss_info *info,
                                       submod_work *work)
{
    return submodi_return("submod_dist_lovasz_hinge",
                          lovasz("submod_dist_lovasz_hinge", SUBMODI_LOVASZ_HINGE, comm, scores,
                                 labels, loss, gradient, settings, info, work));
}
