/* The hinge loss of binary scores: per group, the weighted mean of max(0, 1 - s * score) over the
 * pixels that are not ignored, s = 1 at label 1 and -1 at label 0; a pixel counts with the weight
 * of its label times its own. The Lovász hinge of the Hamming loss is the mean over all pixels, the
 * ignored ones with 0.
 *
 * One pass over the scores for the sums of both labels, one for the gradient. O(pixels).
 */
#include "base/internal.h"
#include "loss/baseline_loops.h"
#include "loss/baseline_passes.h"
#include "loss/shares.h"

/* What is added up: the margins of label 0, and those of label 1. */
enum { SUMS = 2 };

/* ---- forward ---- */

static void add(const submodi_baseline_run *x, const submodi_tile *tile, double *sum)
{
    (void)x;
    for (int32_t label = 0; label < 2; label++) {
        sum[label] +=
            submodi_baselines()->add_hinge(tile->v, tile->codes, tile->weight, label, tile->n);
    }
}

/* The share of one pixel of each label gives the loss and the slopes. */
static double solve_shares(const submodi_baseline_run *x, size_t group, const double *sum,
                           const double *share)
{
    x->slope[group][0] = (float)share[0];
    x->slope[group][1] = (float)-share[1];
    return share[0] * sum[0] + share[1] * sum[1];
}

static double solve_mean(const submodi_baseline_run *x, size_t group, const double *sum)
{
    double share[2] = {x->batch.background[group], x->batch.foreground[group]};
    submodi_shares(x->batch.given.class_weight, share, 2, x->batch.groups, share);
    return solve_shares(x, group, sum, share);
}

static double solve_hamming(const submodi_baseline_run *x, size_t group, const double *sum)
{
    double one = 1 / (double)x->batch.scores.pixels / (double)x->batch.scores.batch;
    return solve_shares(x, group, sum, (double[]){one, one});
}

/* ---- backward ---- */

static void derive(const submodi_baseline_run *x, const submodi_tile *tile)
{
    const float *slope = x->slope[tile->image / x->batch.images_per_group];
    submodi_baselines()->hinge_slope(tile->v, tile->codes, slope, tile->n, tile->g);
}

/* ---- the call ---- */

static submod_status prepare(submodi_baseline_run *x)
{
    return submodi_require_weights(x->batch.given.class_weight, 2, NULL, 0);
}

submod_status submod_hinge(const submod_scores *scores, const submod_labels *labels, double *loss,
                           const submod_gradient *gradient, const submod_loss_settings *settings,
                           submod_work *work)
{
    static const submodi_baseline hinge = {SUBMODI_HINGE, SUMS, prepare, add, solve_mean, derive};
    return submodi_return("submod_hinge", submodi_baseline_call(&hinge, scores, labels, loss,
                                                                gradient, settings, work));
}

submod_status submodi_hamming_hinge(const submod_scores *scores, const submod_labels *labels,
                                    double *loss, const submod_gradient *gradient,
                                    const submod_loss_settings *settings, submod_work *work)
{
    static const submodi_baseline hinge = {SUBMODI_ANY_HINGE, SUMS,  NULL, add,
                                           solve_hamming,     derive};
    return submodi_baseline_call(&hinge, scores, labels, loss, gradient, settings, work);
}
