/* Softmax cross-entropy (paper, Eq. 1): per group, the mean over the pixels that are not ignored of
 *
 *     -log p[y] = (largest score - score of y) + log(1 + rest),
 *     rest = sum over all classes but the largest of exp(score - largest score),
 *
 * weighted by the class weight of y. The derivative by score c is weight * (p[c] - [c = y]).
 * The 1 of the largest class is never added to the others, so that neither the loss nor the
 * derivative of a confident prediction is lost in it.
 *
 * Labels alone decide what a pixel weighs, so one pass over the scores gives the loss, added up by
 * label, and one the gradient. O(pixels * classes).
 */
#include <string.h>

#include "base/error.h"
#include "submod/losses/baseline_loops.h"
#include "submod/losses/baseline_passes.h"
#include "submod/losses/shares.h"

/* ---- numbers ---- */

/* Scores to probabilities in place, and what split_off makes of them. */
static void softmax(const submodi_batch *batch, const submodi_tile *tile, float *top,
                    double *others)
{
    float factor[SUBMODI_TILE];
    submodi_activations()->softmax(batch->scores.classes, tile->n, tile->largest, tile->v, factor);
    for (size_t c = 0; c < batch->scores.classes; c++) {
        submodi_activations()->multiply(tile->v + c * SUBMODI_TILE, factor, tile->n);
    }
    memset(top, 0, tile->n * sizeof *top);
    memset(others, 0, tile->n * sizeof *others);
    for (size_t c = 0; c < batch->scores.classes; c++) {
        submodi_baselines()->split_off(tile->v + c * SUBMODI_TILE, tile->n, top, others);
    }
}

/* ---- forward ---- */

static void add(const submodi_baseline_run *x, const submodi_tile *tile, double *sum)
{
    size_t C = x->batch.scores.classes;
    float top[SUBMODI_TILE];
    double others[SUBMODI_TILE];
    for (size_t i = 0; i < tile->n; i++) {
        size_t y = (size_t)tile->codes[i];
        if (y < C) {
            sum[y] += (double)tile->largest[i] - (double)tile->v[y * SUBMODI_TILE + i];
        }
    }
    softmax(&x->batch, tile, top, others);
    submodi_baselines()->log_sum(top, tile->n, others);
    for (size_t i = 0; i < tile->n; i++) {
        size_t y = (size_t)tile->codes[i];
        if (y < C) {
            sum[y] += others[i];
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

/* ---- backward ---- */

/* tile->g <- weight * (p - [c = y]), where p[y] - 1 = -(sum of all others) if y is on top. */
static void derive(const submodi_baseline_run *x, const submodi_tile *tile)
{
    const submodi_batch *batch = &x->batch;
    size_t C = batch->scores.classes;
    const double *weight = batch->coefficient + tile->image / batch->images_per_group * C;
    float factor[SUBMODI_TILE];
    float top[SUBMODI_TILE];
    double others[SUBMODI_TILE];
    softmax(batch, tile, top, others);
    for (size_t i = 0; i < tile->n; i++) {
        size_t y = (size_t)tile->codes[i];
        factor[i] = y < C ? (float)weight[y] : 0;
    }
    for (size_t c = 0; c < C; c++) {
        submodi_baselines()->product(tile->v + c * SUBMODI_TILE, factor, tile->n,
                                     tile->g + c * SUBMODI_TILE);
    }
    for (size_t i = 0; i < tile->n; i++) {
        size_t y = (size_t)tile->codes[i];
        if (y < C) {
            float own = tile->v[y * SUBMODI_TILE + i];
            tile->g[y * SUBMODI_TILE + i] =
                factor[i] * (own < top[i] ? own - 1.0F : -(float)others[i]);
        }
    }
}

/* ---- the call ---- */

/* The coefficients become what a pixel of each class weighs in its group. */
static submod_status prepare(submodi_baseline_run *x)
{
    const double *weight = x->batch.given.class_weight;
    size_t C = x->batch.scores.classes;
    if (!x->batch.given.from_logits) {
        return submodi_fail(SUBMOD_EINVAL,
                            "%s: from_logits = 0, but the cross-entropy takes logits alone: "
                            "a probability that was rounded to 0 has no logarithm",
                            x->batch.who);
    }
    submod_status status = submodi_require_several_classes(x->batch.who, C);
    status = status ? status : submodi_require_weights(x->batch.who, weight, C, NULL, 0);
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
        "submod_cross_entropy", SUBMODI_CROSS_ENTROPY, 1, prepare, add, solve, derive};
    return submodi_baseline_call(&cross_entropy, scores, labels, loss, gradient, settings, work);
}
