/* Opening a batch that is spread over ranks (see global_batch.h). */
#include "dist/global_batch.h"

#include <string.h>

#include "base/internal.h"

/* Returns whether the images of all ranks form one group, if there are any. */
static bool is_one_group(const submodi_batch *batch)
{
    return !batch->settings.per_image;
}

submod_status submodi_global_start(submodi_global *g, const char *caller, const submod_comm *comm,
                                   submodi_kind kind, const submod_scores *scores,
                                   const submod_labels *labels, const submod_gradient *gradient,
                                   const submod_loss_settings *settings, bool *usable)
{
    *g = (submodi_global){.caller = caller};
    submod_status status = submodi_comm_read(comm, &g->comm);
    *usable = status == SUBMOD_OK;
    status = status ? status : submodi_batch_start(&g->batch, kind, scores, labels, settings);
    status = status ? status : submodi_batch_shape(&g->batch, gradient);
    if (status == SUBMOD_OK && is_one_group(&g->batch)) {
        g->batch.groups = 1;
        g->batch.images_per_group = g->batch.scores.batch;
    }
    return status;
}

/* ---- facts ---- */

static const char *const names[] = {"the number of classes",
                                    "the number of bins of the dataset",
                                    "settings.from_logits",
                                    "settings.delta",
                                    "settings.bins",
                                    "settings.per_image",
                                    "settings.classes",
                                    "settings.class_list",
                                    "settings.class_weight",
                                    "settings.has_ignore",
                                    "settings.ignore_index",
                                    "settings.measure",
                                    "settings.measure.alpha",
                                    "settings.measure.beta",
                                    "settings.pixel_weights (given or not)",
                                    NULL};

/* In the order of names. What the loss does not look at is the default, and the same on all; so is
 * what another setting makes idle. */
static void write_fields(const submodi_batch *batch, size_t bins, uint64_t *field)
{
    const submod_loss_settings *s = &batch->settings;
    const submod_measure *m = &batch->measure;
    size_t C = batch->scores.classes;
    bool listed = s->classes == SUBMOD_CLASSES_LIST;
    bool tversky = m->type == SUBMOD_MEASURE_TVERSKY;
    size_t i = 0;
    field[i++] = C;
    field[i++] = bins;
    field[i++] = s->from_logits != 0;
    field[i++] = s->bins ? 0 : submodi_field_of(s->delta);
    field[i++] = s->bins;
    field[i++] = s->per_image != 0;
    field[i++] = (uint64_t)s->classes;
    field[i++] = listed ? submodi_hash(s->class_list, s->class_count * sizeof *s->class_list) : 0;
    field[i++] = s->class_weight ? submodi_hash(s->class_weight, C * sizeof *s->class_weight) : 0;
    field[i++] = s->has_ignore != 0;
    field[i++] = s->has_ignore ? (uint64_t)s->ignore_index : 0;
    field[i++] = (uint64_t)m->type;
    field[i++] = tversky ? submodi_field_of(m->alpha) : 0;
    field[i++] = tversky ? submodi_field_of(m->beta) : 0;
    field[i++] = s->pixel_weights != NULL;
}

submod_status submodi_global_agree(submodi_global *g, submod_status mine, size_t bins)
{
    submodi_batch *batch = &g->batch;
    submodi_facts facts = {.status = SUBMOD_OK};
    submodi_totals totals;
    if (mine == SUBMOD_OK) {
        write_fields(batch, bins, facts.field);
        facts.pixels = batch->all_pixels;
        facts.groups = batch->settings.per_image ? batch->groups : 0;
        facts.largest = is_one_group(batch) ? batch->largest_weight[0] : 0;
    }
    submod_status status = submodi_agree(g->caller, &g->comm, mine, names, &facts, &totals);
    status = status ? status : submodi_totals_require_exact(&totals);
    if (status != SUBMOD_OK) {
        return status;
    }
    if (is_one_group(batch)) {
        batch->largest_weight[0] = totals.largest;
        batch->groups = totals.pixels > 0;
        totals.groups = batch->groups;
    }
    batch->all_groups = (size_t)totals.groups;
    batch->all_pixels = totals.pixels;
    g->most_groups = totals.most_groups;
    return SUBMOD_OK;
}

/* ---- sums of labels ---- */

void submodi_label_sums_write(const submodi_batch *batch, submod_status status, double *sum)
{
    size_t C = batch->scores.classes;
    memset(sum, 0, submodi_label_sums(batch) * sizeof *sum);
    if (status != SUBMOD_OK || batch->groups == 0) {
        sum[2 * C + 1] = status != SUBMOD_OK;
        return;
    }
    memcpy(sum, batch->foreground, C * sizeof *sum);
    memcpy(sum + C, batch->background, C * sizeof *sum);
    sum[2 * C] = (double)batch->valid;
}

submod_status submodi_label_sums_read(submodi_global *g, submod_status mine, const double *sum)
{
    submodi_batch *batch = &g->batch;
    size_t C = batch->scores.classes;
    if (sum[2 * C + 1] > 0) {
        return submodi_agree_status(&g->comm, mine);
    }
    if (batch->groups) {
        memcpy(batch->foreground, sum, C * sizeof *sum);
        memcpy(batch->background, sum + C, C * sizeof *sum);
    }
    batch->valid = (uint64_t)sum[2 * C];
    return SUBMOD_OK;
}
