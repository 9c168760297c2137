/* The loss of one batch by the histogram engine: which bins, and in which order its groups are
 * counted, solved for and looked up (see histogram.c). The hinge needs the range of its margins
 * first: one pass more. */
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "loss/histogram_groups.h"
#include "loss/histogram_loops.h"
#include "loss/pointwise.h"

/* ---- the range of the hinge ---- */

static void raise_margin(const void *context, const submodi_tile *tile)
{
    float *of_thread = *(float *const *)context + tile->thread;
    float largest = submodi_bins()->largest_error(tile->v, tile->codes, tile->width, 1.0F);
    *of_thread = fmaxf(*of_thread, largest);
}

bool submodi_largest_margin(const submodi_batch *batch, float *largest)
{
    memset(largest, 0, (size_t)batch->threads * sizeof *largest);
    bool good = submodi_visit(batch, 0, batch->scores.batch, 0, SUBMODI_LABELS | SUBMODI_SCORES,
                              raise_margin, &largest);
    for (int t = 1; t < batch->threads; t++) {
        largest[0] = fmaxf(largest[0], largest[t]);
    }
    return good;
}

/* ---- bins ---- */

submodi_binning submodi_choose_bins(const submodi_batch *batch, float largest)
{
    size_t given = batch->settings.bins;
    uint32_t K = given ? (uint32_t)given : submodi_histogram_bins(batch->settings.delta);
    bool hinge = batch->activation == SUBMODI_SCORE;
    K *= hinge && largest > 0 && !given ? 2 : 1; /* the range may be twice the largest margin */
    return (submodi_binning){.K = K,
                             .scale = submodi_scale_for(K, hinge ? largest : 0),
                             .bias = submodi_bias(batch),
                             .drops_zero = hinge};
}

uint32_t submodi_most_bins(const submodi_batch *batch)
{
    return submodi_choose_bins(batch, 1).K;
}

/* ---- the engine ---- */

/* Where gradients are written before the last group is solved for: whether nothing will fail then.
 * A custom measure has to be asked all that it will be asked. */
static submod_status look_ahead(const submodi_histogram *h, const submodi_solution *s,
                                double *group_loss)
{
    if (h->batch->measure.type == SUBMOD_MEASURE_CUSTOM) {
        return submodi_solve_groups(h, s, group_loss, NULL);
    }
    bool good = h->batch->activation == SUBMODI_SCORE || submodi_scores_are_good(h->batch);
    return good ? SUBMOD_OK : submodi_batch_bad_score(h->batch);
}

submod_status submodi_loss_histogram(submodi_batch *batch, double *loss, double *group_loss,
                                     const submod_gradient *gradient, submod_loss_info *info,
                                     submod_work *work)
{
    submodi_histogram h = {.batch = batch, .prunes = true};
    submodi_solution s;
    bool hinge = batch->activation == SUBMODI_SCORE;
    float *largest = submodi_work_alloc(work, (size_t)batch->threads, sizeof *largest);
    if (!largest) {
        return submodi_out_of_memory();
    }
    if (hinge && !submodi_largest_margin(batch, largest)) {
        return submodi_batch_bad_score(batch);
    }
    h.how = submodi_choose_bins(batch, hinge ? largest[0] : 0);
    if (!submodi_notes_take(batch, work) || !submodi_histogram_take(&h, true, work) ||
        !submodi_solution_take(&h, gradient != NULL, &s, work)) {
        return submodi_out_of_memory();
    }
    submod_status status = SUBMOD_OK;
    if (gradient && s.at_once < batch->groups) {
        status = look_ahead(&h, &s, group_loss);
    }
    status = status ? status : submodi_solve_groups(&h, &s, group_loss, gradient);
    *loss = 0;
    for (size_t g = 0; status == SUBMOD_OK && g < batch->groups; g++) {
        *loss += group_loss[g];
    }
    info->bins = h.how.K;
    info->delta = 0.5 / (double)h.how.scale * batch->most;
    return status;
}
