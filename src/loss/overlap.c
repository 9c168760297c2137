/* Losses of soft overlaps: Rahman-Wang's I/U, soft Dice, soft Jaccard.
 *
 * Per group and class, over the pixels that are not ignored, with p the probability, y = 0 or 1 the
 * truth, w the weight of the pixel, P = sum of w y and s the smoothing:
 *
 *     I = sum of w p y,   S = sum of w p,   U = S + P - I,   wrong = S + P - 2 I
 *     Jaccard = wrong / (U + s)          dp at y = 1: -w / (U + s)
 *                                           at y = 0: w (I + s) / (U + s)^2
 *     Dice = wrong / D, D = S + P + s    dp at y = 1: -w (D + wrong) / D^2
 *                                           at y = 0:  w (D - wrong) / D^2
 *
 * All sums are in units of the weights (batch.h), and so is s then.
 * One pass over the scores for I and S, one for the gradient, which has only two values per class
 * and group. O(pixels * classes).
 */
#include <float.h>
#include <math.h>

#include "base/internal.h"
#include "loss/baseline_loops.h"
#include "loss/baseline_passes.h"
#include "loss/tensors/pixel_weights.h"

/* What is added up per class: I and S. */
enum { INSIDE, ALL, SUMS };

/* ---- forward ---- */

static void add_multiclass(const submodi_baseline_run *x, const submodi_tile *tile, double *sum)
{
    size_t C = x->batch.scores.classes;
    for (size_t c = 0; c < C; c++) {
        sum[c * SUMS + ALL] += submodi_baselines()->sum(tile->v + c * tile->stride, tile->factor,
                                                        tile->weight, tile->width);
    }
    for (size_t i = 0; i < tile->n; i++) {
        size_t y = (size_t)tile->codes[i];
        if (y < C) {
            float p = tile->v[y * tile->stride + i] * tile->factor[i];
            sum[y * SUMS + INSIDE] += (double)(tile->weight ? p * tile->weight[i] : p);
        }
    }
}

static void add(const submodi_baseline_run *x, const submodi_tile *tile, double *sum)
{
    if (!x->batch.multilabel) {
        add_multiclass(x, tile, sum);
        return;
    }
    for (size_t c = 0; c < x->batch.scores.classes; c++) {
        submodi_baselines()->add_overlap(tile->v + c * tile->stride, tile->codes + c * tile->stride,
                                         tile->weight, tile->width, sum + c * SUMS + INSIDE,
                                         sum + c * SUMS + ALL);
    }
}

/* ---- from sums to losses and slopes ---- */

/* p <= 1, so I <= P and I <= S but for the rounding of sums in double. Without
 * foreground and smoothing I is 0 whatever the scores, and so is the slope. */
static double solve_class(const double *sum, double P, double smoothing, bool dice,
                          double coefficient, float *slope)
{
    double I = sum[INSIDE];
    double S = sum[ALL];
    double wrong = fmax(0, S - I) + fmax(0, P - I);
    double D = S + (dice ? P : P - I) + smoothing;
    slope[0] = slope[1] = 0;
    if (D <= 0 || coefficient <= 0) {
        return 0;
    }
    /* D - wrong, without the cancellation. */
    double right = (dice ? 2 * I : I) + smoothing;
    slope[0] = (float)(coefficient * (right / D / D));
    if (P > 0) {
        slope[1] = (float)(-coefficient * (dice ? D + wrong : D) / D / D);
    }
    return coefficient * wrong / D;
}

/* smoothing: in units of the weights. */
static double solve(const submodi_baseline_run *x, size_t group, const double *sum,
                    double smoothing, bool dice)
{
    size_t C = x->batch.scores.classes;
    double loss = 0;
    for (size_t c = 0; c < C; c++) {
        size_t at = group * C + c;
        loss += solve_class(sum + c * SUMS, x->batch.foreground[at], smoothing, dice,
                            x->batch.coefficient[at], x->slope[at]);
    }
    return loss;
}

static double solve_rahman_wang(const submodi_baseline_run *x, size_t group, const double *sum)
{
    return solve(x, group, sum, 0, false);
}

static double solve_jaccard(const submodi_baseline_run *x, size_t group, const double *sum)
{
    return solve(x, group, sum, submodi_smoothing(x, group), false);
}

static double solve_dice(const submodi_baseline_run *x, size_t group, const double *sum)
{
    return solve(x, group, sum, submodi_smoothing(x, group), true);
}

/* ---- backward ---- */

static void derive(const submodi_baseline_run *x, const submodi_tile *tile)
{
    size_t C = x->batch.scores.classes;
    float(*slope)[2] = x->slope + tile->image / x->batch.images_per_group * C;
    for (size_t c = 0; c < C; c++) {
        int32_t target;
        const int32_t *codes = submodi_tile_codes(&x->batch, tile, c, &target);
        submodi_baselines()->overlap_slope(codes, target, x->batch.rule.classes, slope[c],
                                           tile->width, tile->g + c * tile->stride);
    }
}

/* ---- the calls ---- */

/* Returns the largest pixel weight, or 1 without weights. */
static double largest_weight(const submodi_batch *batch)
{
    double largest = batch->weight ? 0 : 1;
    for (size_t g = 0; batch->weight && g < batch->groups; g++) {
        largest = fmax(largest, (double)batch->largest_weight[g]);
    }
    return largest;
}

/* Below the smallest that is allowed, 1 / smoothing would not be a float. */
submod_status submodi_require_smoothing(const submodi_baseline_run *x, double most)
{
    double smoothing = x->batch.given.smoothing;
    if (!isfinite(smoothing)) {
        return submodi_fail(SUBMOD_ENONFINITE, "smoothing = %g must be finite", smoothing);
    }
    if (smoothing != 0 && smoothing < 1e-30) {
        return submodi_fail(SUBMOD_EINVAL, "smoothing = %g must be 0 or at least 1e-30", smoothing);
    }
    double scale = x->gradient ? fmax(1, fabs(x->gradient->scale)) : 1;
    double weight = largest_weight(&x->batch);
    double unit = weight > 0 ? submodi_power_at_least(weight) : 1;
    if (smoothing != 0 && x->gradient && scale * unit * most / smoothing > (double)FLT_MAX) {
        return submodi_fail(SUBMOD_ENUMERIC,
                            "gradient scale %g * largest weight %g / smoothing %g overflows a "
                            "float",
                            x->gradient->scale, weight, smoothing);
    }
    return SUBMOD_OK;
}

static submod_status prepare(submodi_baseline_run *x)
{
    return submodi_require_smoothing(x, 1);
}

submod_status submod_rahman_wang(const submod_scores *scores, const submod_labels *labels,
                                 double *loss, const submod_gradient *gradient,
                                 const submod_loss_settings *settings, submod_work *work)
{
    static const submodi_baseline rahman_wang = {SUBMODI_RAHMAN_WANG, SUMS,  NULL, add,
                                                 solve_rahman_wang,   derive};
    return submodi_return(
        "submod_rahman_wang",
        submodi_baseline_call(&rahman_wang, scores, labels, loss, gradient, settings, work));
}

submod_status submod_soft_dice(const submod_scores *scores, const submod_labels *labels,
                               double *loss, const submod_gradient *gradient,
                               const submod_loss_settings *settings, submod_work *work)
{
    static const submodi_baseline dice = {SUBMODI_OVERLAP, SUMS, prepare, add, solve_dice, derive};
    return submodi_return("submod_soft_dice", submodi_baseline_call(&dice, scores, labels, loss,
                                                                    gradient, settings, work));
}

submod_status submod_soft_jaccard(const submod_scores *scores, const submod_labels *labels,
                                  double *loss, const submod_gradient *gradient,
                                  const submod_loss_settings *settings, submod_work *work)
{
    static const submodi_baseline jaccard = {SUBMODI_OVERLAP, SUMS,  prepare, add,
                                             solve_jaccard,   derive};
    return submodi_return(
        "submod_soft_jaccard",
        submodi_baseline_call(&jaccard, scores, labels, loss, gradient, settings, work));
}
