/* The two passes of every baseline (see baseline_passes.h). Sums are made in a fixed number of
 * parts that are added in order: the same bits for any number of threads. */
#include "loss/baseline_passes.h"

#include <string.h>

#include "base/internal.h"
#include "loss/tensors/rows.h"

/* Partial sums per batch: enough for all threads to have work, few enough to be nothing. */
enum { PARTS = 256 };

static size_t sums_of(const submodi_baseline_run *x)
{
    return x->batch.scores.classes * x->loss->sums;
}

static void add_tile(const void *context, const submodi_tile *tile)
{
    const submodi_baseline_run *x = context;
    x->loss->add(x, tile, x->sum + tile->part * sums_of(x));
}

/* The parts of all groups, each in a run of tiles of its own; false when some score is bad. */
static bool add_up(const submodi_baseline_run *x)
{
    size_t parts = x->batch.groups * x->parts;
    bool at_once = !x->loss->derive;
    memset(x->sum, 0, parts * sums_of(x) * sizeof *x->sum);
    if (at_once && !submodi_scores_are_good(&x->batch)) {
        return false;
    }
    return submodi_visit(&x->batch, 0, x->batch.scores.batch, parts,
                         at_once ? SUBMODI_LABELS : SUBMODI_VALUES, add_tile, x);
}

static double solve_group(const submodi_baseline_run *x, size_t group)
{
    double *sum = x->sum + group * x->parts * sums_of(x);
    for (size_t k = 1; k < x->parts; k++) {
        for (size_t i = 0; i < sums_of(x); i++) {
            sum[i] += sum[k * sums_of(x) + i];
        }
    }
    return x->loss->solve(x, group, sum);
}

static void write_tile(const void *context, const submodi_tile *tile)
{
    const submodi_baseline_run *x = context;
    x->loss->derive(x, tile);
    submodi_tile_store(&x->batch, tile, x->gradient);
}

static bool take_memory(submodi_baseline_run *x, submod_work *work)
{
    const submodi_batch *batch = &x->batch;
    size_t tiles = batch->images_per_group * batch->tiles_per_image;
    size_t wanted = batch->groups ? (PARTS + batch->groups - 1) / batch->groups : 0;
    x->parts = wanted < tiles ? wanted : tiles;
    x->sum = submodi_work_alloc(work, submodi_times(batch->groups, x->parts),
                                sums_of(x) * sizeof *x->sum);
    x->slope = submodi_work_alloc(work, batch->groups, batch->scores.classes * sizeof *x->slope);
    return x->sum && x->slope;
}

/* The loss, and what each group adds to it. */
static void solve_groups(const submodi_baseline_run *x, double *loss, double *share)
{
    double value = 0;
    for (size_t g = 0; g < x->batch.groups; g++) {
        share[g] = solve_group(x, g);
        value += share[g];
    }
    if (loss) {
        *loss = value;
    }
}

static submod_status run(submodi_baseline_run *x, size_t images, double *loss, submod_work *work)
{
    double *share = submodi_work_alloc(work, x->batch.groups, sizeof *share);
    bool twice = x->gradient && x->loss->derive; /* the scores are visited */
    if (!share || !take_memory(x, work) || (twice && !submodi_notes_take(&x->batch, work))) {
        return submodi_out_of_memory();
    }
    if (!add_up(x)) {
        return submodi_batch_bad_score(&x->batch);
    }
    solve_groups(x, loss, share);
    submodi_write_groups(&x->batch, images, share);
    if (x->gradient && x->loss->derive) {
        submodi_visit(&x->batch, 0, x->batch.scores.batch, 0, SUBMODI_AGAIN, write_tile, x);
    }
    return SUBMOD_OK;
}

/* x: with the loss, the gradient and what is special about it. */
static submod_status call(submodi_baseline_run *x, const submod_scores *scores,
                          const submod_labels *labels, double *loss,
                          const submod_loss_settings *settings, submod_work *work)
{
    const submodi_baseline *baseline = x->loss;
    submod_status status = submodi_batch_start(&x->batch, baseline->kind, scores, labels, settings);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    status = submodi_batch_prepare(&x->batch, x->gradient, w);
    if (status == SUBMOD_OK && baseline->prepare) {
        status = baseline->prepare(x);
    }
    status = status ? status : run(x, scores->batch, loss, w);
    submodi_scope_close(&scope);
    return status;
}

submod_status submodi_baseline_call(const submodi_baseline *baseline, const submod_scores *scores,
                                    const submod_labels *labels, double *loss,
                                    const submod_gradient *gradient,
                                    const submod_loss_settings *settings, submod_work *work)
{
    submodi_baseline_run x = {.loss = baseline, .gradient = gradient};
    return call(&x, scores, labels, loss, settings, work);
}

static submod_status require_soft(const submod_scores *scores, const submod_scores *soft,
                                  submod_overlap overlap)
{
    submod_status status = submodi_check_given("scores", scores);
    status = status ? status : submodi_check_given("soft_labels", soft);
    if (status != SUBMOD_OK) {
        return status;
    }
    if (soft->batch != scores->batch || soft->classes != scores->classes ||
        soft->pixels != scores->pixels) {
        return submodi_fail(SUBMOD_EINVAL,
                            "soft_labels are %zu x %zu x %zu, scores %zu x %zu x %zu; they "
                            "must have the same shape",
                            soft->batch, soft->classes, soft->pixels, scores->batch,
                            scores->classes, scores->pixels);
    }
    if (overlap != SUBMOD_OVERLAP_MIN && overlap != SUBMOD_OVERLAP_PRODUCT) {
        return submodi_fail(SUBMOD_EINVAL, "overlap = %d is unknown; see submod_overlap",
                            (int)overlap);
    }
    return submodi_scores_require("soft_labels", soft);
}

submod_status submodi_soft_baseline_call(const submodi_baseline *baseline,
                                         const submod_scores *scores, const submod_scores *soft,
                                         submod_overlap overlap, double *loss,
                                         const submod_gradient *gradient,
                                         const submod_loss_settings *settings, submod_work *work)
{
    static const uint8_t zero = 0;
    submodi_baseline_run x = {.loss = baseline,
                              .gradient = gradient,
                              .soft = soft,
                              .product = overlap == SUBMOD_OVERLAP_PRODUCT};
    submod_status status = require_soft(scores, soft, overlap);
    if (status != SUBMOD_OK) {
        return status;
    }
    submod_labels labels = submod_labels_u8(&zero, scores->batch, scores->pixels);
    labels.batch_stride = labels.pixel_stride = 0;
    return call(&x, scores, &labels, loss, settings, work);
}
