/* The histogram engine: errors counted in bins of equal width, no sort (past the paper).
 *
 * The Jaccard extension is symmetric within the foreground and within the background, so it sees
 * the errors only through two histograms per class. Moving every error to the middle of its bin
 * changes the loss by at most half a bin, because its subgradients are >= 0 and sum up to 1.
 *
 *   pass 1   one read of the scores: activation, bins, counts
 *   solve    per class: one weight for each (bin, foreground or background)
 *   pass 2   one read of the scores, activation again: look the weight up, write the gradient
 *
 * Counts are integers: the same for any number of threads. Memory does not grow with the pixels.
 */
#include <omp.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "submod/losses/bins.h"
#include "submod/losses/pointwise.h"

/* As many bins as were asked for, or as delta needs. For the hinge they cover a power of two above
 * all margins. */
static submodi_binning choose_bins(const submodi_batch *batch, float largest)
{
    size_t given = batch->settings.bins;
    uint32_t K = given ? (uint32_t)given : submodi_bins_for(batch->settings.delta);
    bool hinge = batch->activation == SUBMODI_SCORE;
    K *= hinge && largest > 0 && !given ? 2 : 1; /* the range may be twice the largest margin */
    return (submodi_binning){.K = K,
                             .scale = submodi_scale_for(K, hinge ? largest : 0),
                             .bias = submodi_bias(batch),
                             .lowest = hinge ? 0.0F : -1.0F};
}

/* Weights of all classes in a group from the counts just made; returns its share of the loss.
 * total: 2 K numbers per thread. */
static double solve_group(const submodi_counter *x, size_t group, double *total, double *value)
{
    size_t C = x->batch->scores.classes;
    size_t K = x->how.K;
#pragma omp parallel for num_threads(x->threads)
    for (size_t c = 0; c < C; c++) {
        double *counts = total + 2 * K * (size_t)omp_get_thread_num();
        float *weight = x->weight + c * (2 * K + 1);
        if (!(x->batch->coefficient[group * C + c] > 0)) {
            value[c] = 0;
            memset(weight, 0, (2 * K + 1) * sizeof *weight);
            continue;
        }
        memset(counts, 0, 2 * K * sizeof *counts);
        submodi_counter_add_to(x, c, counts);
        value[c] = submodi_solve_bins(counts, x->batch->foreground[group * C + c], &x->how,
                                      x->batch->coefficient[group * C + c], weight);
    }
    double loss = 0;
    for (size_t c = 0; c < C; c++) {
        loss += value[c];
    }
    return loss;
}

submod_status submodi_loss_histogram(const submodi_batch *batch, double *loss,
                                     const submod_gradient *gradient, submod_loss_info *info,
                                     submod_work *work)
{
    size_t C = batch->scores.classes;
    submodi_counter x = {.batch = batch,
                         .threads =
                             submodi_threads_for(batch->scores.batch * batch->scores.pixels * C)};
    if (!submodi_counter_take_tiles(&x, work)) {
        return submodi_nomem(batch->who);
    }
    float largest = 1;
    if ((batch->activation == SUBMODI_SCORE || batch->groups > 1) &&
        !submodi_counter_check(&x, &largest)) {
        return submodi_batch_bad_score(batch);
    }
    x.how = choose_bins(batch, largest);
    double *total = submodi_take(work, (size_t)x.threads, 2 * (size_t)x.how.K * sizeof *total);
    double *value = submodi_take(work, C, sizeof *value);
    if (!total || !value || !submodi_counter_take_tables(&x, work)) {
        return submodi_nomem(batch->who);
    }
    *loss = 0;
    for (size_t g = 0; g < batch->groups; g++) {
        if (!submodi_counter_count(&x, g)) {
            return submodi_batch_bad_score(batch);
        }
        *loss += solve_group(&x, g, total, value);
        if (gradient) {
            submodi_counter_write(&x, g, gradient);
        }
    }
    info->bins = x.how.K;
    info->delta = 0.5 / (double)x.how.scale;
    return SUBMOD_OK;
}
