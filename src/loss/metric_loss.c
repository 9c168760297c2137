/* Metric losses of soft labels (Wang, Ning and Blaschko 2023): overlaps whose labels are numbers
 * from 0 to 1.
 *
 * Per group and class, with p the probability, y the soft label, w the weight of the pixel and s
 * the smoothing:
 *
 *     I = sum of w min(p, y), or sum of w p y,   D = sum of w |p - y|
 *     Jaccard = D / E, E = I + D + s             dp: w (d (I + s) - q D) / E^2
 *     Dice    = D / E, E = 2 I + D + s           dp: w (d (2 I + s) - 2 q D) / E^2
 *
 * d and q are the derivatives of |p - y| and of min(p, y) or p y. At p = y the means of both sides
 * are taken: d = 0, and q = 1/2 of the minimum; at y = 0 and y = 1 the one side that there is. So
 * with labels that are all 0 or 1 these are soft Jaccard and soft Dice (overlap.c), derivatives
 * included.
 *
 * All sums are in units of the weights (batch.h), and so is s then. One pass over the labels to
 * check them, one over scores and labels for the sums, one for the gradient. O(pixels * classes).
 */
#include <math.h>

#include "base/internal.h"
#include "loss/baseline_loops.h"
#include "loss/baseline_passes.h"
#include "loss/pointwise.h"
#include "loss/tensors/rows.h"

/* What is added up per class: I, D, and the labels. */
enum { COMMON, APART, TRUTH, SUMS };

/* Without smoothing, a class whose E is not above this has neither labels nor probabilities. */
#define EMPTY 1e-30

/* ---- labels ---- */

/* The soft labels of a tile into rows as those of tile->g, clamped. False if some are bad. */
static bool read_labels(const submodi_baseline_run *x, const submodi_tile *tile, float *y)
{
    submodi_rows_read(x->soft, tile->image, tile->first, tile->n, tile->width, tile->stride, y);
    submodi_rows_in in = {y, (ptrdiff_t)tile->stride, x->soft->classes, tile->width, NULL};
    return isfinite(submodi_from_bits(submodi_activations()->clamp(&in, y, tile->stride)));
}

typedef struct label_check {
    const submodi_baseline_run *x;
    int *bad;
} label_check;

static void check_tile(const void *context, const submodi_tile *tile)
{
    const label_check *check = context;
    if (!read_labels(check->x, tile, tile->g)) {
#pragma omp atomic write
        *check->bad = 1;
    }
}

/* The message for the first bad label. */
static submod_status find_bad_label(const submod_scores *soft)
{
    for (size_t b = 0; b < soft->batch; b++) {
        for (size_t c = 0; c < soft->classes; c++) {
            for (size_t i = 0; i < soft->pixels; i++) {
                float buffer;
                float y = *submodi_row(soft, b, c, i, 1, &buffer);
                if (!isfinite(y)) {
                    return submodi_fail(SUBMOD_ENONFINITE, "soft_labels[%zu][%zu][%zu] is %g", b, c,
                                        i, (double)y);
                }
                if (submodi_is_no_probability(y)) {
                    return submodi_fail(
                        SUBMOD_EINVAL,
                        "soft_labels[%zu][%zu][%zu] = %g is no probability; it must be in "
                        "[0, 1]",
                        b, c, i, (double)y);
                }
            }
        }
    }
    return submodi_fail(SUBMOD_ENONFINITE, "the soft labels changed during the call");
}

/* A slope may be 2 / smoothing, and the softmax takes differences of them. */
static submod_status prepare(submodi_baseline_run *x)
{
    int bad = 0;
    label_check check = {x, &bad};
    submod_status status = submodi_require_smoothing(x, 4);
    if (status == SUBMOD_OK) {
        submodi_visit(&x->batch, 0, x->batch.scores.batch, 0, SUBMODI_LABELS, check_tile, &check);
    }
    return bad ? find_bad_label(x->soft) : status;
}

/* ---- forward ---- */

static void add(const submodi_baseline_run *x, const submodi_tile *tile, double *sum)
{
    read_labels(x, tile, tile->g);
    for (size_t c = 0; c < x->batch.scores.classes; c++) {
        submodi_baselines()->add_soft(tile->v + c * tile->stride, tile->factor, tile->weight,
                                      tile->g + c * tile->stride, x->product, tile->width,
                                      sum + c * SUMS);
    }
}

static double solve_class(const double *sum, double smoothing, bool dice, double coefficient,
                          float *slope)
{
    double twice = dice ? 2 : 1;
    double right = twice * sum[COMMON] + smoothing;
    double E = right + sum[APART];
    slope[0] = slope[1] = 0;
    if (E <= (smoothing > 0 ? 0 : EMPTY) || coefficient <= 0) {
        return 0;
    }
    slope[0] = (float)(coefficient * (right / E / E));
    slope[1] = (float)(coefficient * (twice * sum[APART] / E / E));
    return coefficient * sum[APART] / E;
}

/* Which classes are present, only the sums say. */
static double solve(const submodi_baseline_run *x, size_t group, const double *sum, bool dice)
{
    const submodi_batch *batch = &x->batch;
    size_t C = batch->scores.classes;
    double *foreground = batch->foreground + group * C;
    double *coefficient = batch->coefficient + group * C;
    for (size_t c = 0; c < C; c++) {
        foreground[c] = sum[c * SUMS + TRUTH];
    }
    submodi_class_coefficients(&batch->settings, C, foreground, batch->groups, coefficient);
    double loss = 0;
    for (size_t c = 0; c < C; c++) {
        loss += solve_class(sum + c * SUMS, submodi_smoothing(x, group), dice, coefficient[c],
                            x->slope[group * C + c]);
    }
    return loss;
}

static double solve_jaccard(const submodi_baseline_run *x, size_t group, const double *sum)
{
    return solve(x, group, sum, false);
}

static double solve_dice(const submodi_baseline_run *x, size_t group, const double *sum)
{
    return solve(x, group, sum, true);
}

/* ---- backward ---- */

static void derive(const submodi_baseline_run *x, const submodi_tile *tile)
{
    size_t C = x->batch.scores.classes;
    float(*slope)[2] = x->slope + tile->image / x->batch.images_per_group * C;
    read_labels(x, tile, tile->g);
    for (size_t c = 0; c < C; c++) {
        submodi_baselines()->soft_slope(tile->v + c * tile->stride, slope[c], x->product,
                                        tile->width, tile->g + c * tile->stride);
    }
}

/* ---- the calls ---- */

submod_status submod_jaccard_metric(const submod_scores *scores, const submod_scores *soft_labels,
                                    submod_overlap overlap, double *loss,
                                    const submod_gradient *gradient,
                                    const submod_loss_settings *settings, submod_work *work)
{
    static const submodi_baseline jaccard = {SUBMODI_METRIC, SUMS,  prepare, add,
                                             solve_jaccard,  derive};
    return submodi_return("submod_jaccard_metric",
                          submodi_soft_baseline_call(&jaccard, scores, soft_labels, overlap, loss,
                                                     gradient, settings, work));
}

submod_status submod_dice_metric(const submod_scores *scores, const submod_scores *soft_labels,
                                 submod_overlap overlap, double *loss,
                                 const submod_gradient *gradient,
                                 const submod_loss_settings *settings, submod_work *work)
{
    static const submodi_baseline dice = {SUBMODI_METRIC, SUMS, prepare, add, solve_dice, derive};
    return submodi_return("submod_dice_metric",
                          submodi_soft_baseline_call(&dice, scores, soft_labels, overlap, loss,
                                                     gradient, settings, work));
}
