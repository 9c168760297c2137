/* Softmax cross-entropy (paper, Eq. 1): per group, the mean over the pixels that are not ignored of
 *
 *     -log p[y] = (largest score - score of y) + log(1 + rest),
 *     rest = sum over all classes but the largest of exp(score - largest score),
 *
 * weighted by the class weight of y and the weight of the pixel. The derivative by score c is
 * weight * (p[c] - [c = y]).
 * The 1 of the largest class is never added to the others, so that neither the loss nor the
 * derivative of a confident prediction is lost in it.
 *
 * Labels alone decide what a pixel weighs, so one pass over the scores gives the loss, added up by
 * label, and the gradient. Before it another one looks for bad scores. O(pixels * classes).
 */
#include "base/internal.h"
#include "loss/baseline_loops.h"
#include "loss/baseline_passes.h"
#include "loss/shares.h"

/* ---- forward ---- */

/* Rows of a tile. */
typedef struct rows {
    float top[SUBMODI_TILE_MAX], others[SUBMODI_TILE_MAX], largest[SUBMODI_TILE_MAX],
        own_score[SUBMODI_TILE_MAX], own[SUBMODI_TILE_MAX];
} rows;

static submodi_split split_into(rows *r)
{
    return (submodi_split){r->top, r->others, r->largest, r->own_score, r->own};
}

/* Scores to exponentials, in tile->v. */
static void split(const submodi_batch *batch, const submodi_tile *tile, const submodi_split *out)
{
    const submodi_baseline_loops *loops = submodi_baselines();
    submodi_rows_in in = submodi_tile_rows(batch, tile);
    float shift[SUBMODI_TILE_MAX];
    uint32_t size = loops->split(&in, tile->codes, tile->v, tile->stride, out);
    in.shift = submodi_tile_shift(batch, tile, size, &in, shift);
    if (in.shift) {
        loops->split(&in, tile->codes, tile->v, tile->stride, out);
    }
}

/* ---- backward ---- */

static void write(const submodi_baseline_run *x, const submodi_tile *tile, const submodi_split *out)
{
    const submodi_batch *batch = &x->batch;
    const submodi_baseline_loops *loops = submodi_baselines();
    size_t C = batch->scores.classes;
    const double *weight = batch->coefficient + tile->image / batch->images_per_group * C;
    float factor[SUBMODI_TILE_MAX];
    for (size_t i = 0; i < tile->width; i++) {
        size_t y = (size_t)tile->codes[i];
        float w = tile->weight ? tile->weight[i] : 1.0F;
        factor[i] = y < C ? (float)weight[y] * w : 0.0F;
    }
    loops->entropy_slopes(out, tile->width, factor);
    submodi_rows_out to = submodi_tile_target(batch, tile, x->gradient);
    submodi_rows_out scratch = {tile->g, (ptrdiff_t)tile->stride, 1, SUBMODI_OVERWRITE, NULL};
    loops->store_entropy(tile->v, tile->stride, C, tile->width, tile->codes, factor, out->own,
                         to.data ? &to : &scratch);
    if (!to.data) {
        submodi_tile_store_scores(batch, tile, x->gradient);
    }
}

/* Both at once, as the weights are known beforehand. */
static void add(const submodi_baseline_run *x, const submodi_tile *tile, double *sum)
{
    size_t C = x->batch.scores.classes;
    rows r;
    submodi_split out = split_into(&r);
    split(&x->batch, tile, &out);
    if (x->gradient) {
        write(x, tile, &out);
    }
    submodi_baselines()->log_sum(r.top, r.others, tile->width);
    for (size_t i = 0; i < tile->n; i++) {
        size_t y = (size_t)tile->codes[i];
        if (y < C) {
            double entropy = (double)r.largest[i] - (double)r.own_score[i] + (double)r.others[i];
            sum[y] += tile->weight ? (double)tile->weight[i] * entropy : entropy;
        }
    }
}

static double solve(const submodi_baseline_run *x, size_t group, const double *sum)
{
    size_t C = x->batch.scores.classes;
    double loss = 0;
    for (size_t c = 0; c < C; c++) {
        loss += x->batch.coefficient[group * C + c] * sum[c];
    }
    return loss;
}

/* ---- the call ---- */

/* The coefficients become what a pixel of each class weighs in its group. */
static submod_status prepare(submodi_baseline_run *x)
{
    const double *weight = x->batch.given.class_weight;
    size_t C = x->batch.scores.classes;
    if (!x->batch.given.from_logits) {
        return submodi_fail(SUBMOD_EINVAL,
                            "from_logits = 0, but the cross-entropy takes logits alone: "
                            "a probability that was rounded to 0 has no logarithm");
    }
    submod_status status = submodi_require_several_classes(C);
    status = status ? status : submodi_require_weights(weight, C, NULL, 0);
    for (size_t g = 0; status == SUBMOD_OK && g < x->batch.groups; g++) {
        submodi_shares(weight, x->batch.foreground + g * C, C, x->batch.groups,
                       x->batch.coefficient + g * C);
    }
    return status;
}

submod_status submod_cross_entropy(const submod_scores *scores, const submod_labels *labels,
                                   double *loss, const submod_gradient *gradient,
                                   const submod_loss_settings *settings, submod_work *work)
{
    static const submodi_baseline cross_entropy = {
        SUBMODI_CROSS_ENTROPY, 1, prepare, add, solve, NULL};
    return submodi_return(
        "submod_cross_entropy",
        submodi_baseline_call(&cross_entropy, scores, labels, loss, gradient, settings, work));
}
