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
 * The hinge needs the range of its margins first, and per image all scores are checked first: one
 * pass more.
 */
#include "submod/losses/histogram.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "submod/losses/histogram_loops.h"
#include "submod/losses/pointwise.h"

/* ---- bins ---- */

/* Rows of bins: each class's own labels, or all as background. */
static void find_bins(const submodi_histogram *h, const submodi_tile *tile, const float *factor,
                      size_t c, uint32_t *bin)
{
    const float *v = tile->v + c * SUBMODI_TILE;
    if (h->batch->multilabel) {
        submodi_bins()->labelled_bins(&h->how, v, tile->codes + c * SUBMODI_TILE, tile->n, bin);
    } else {
        submodi_bins()->background_bins(v, factor, (int32_t)h->how.K, tile->n, bin);
    }
}

static void scale_factor(const submodi_histogram *h, const submodi_tile *tile, float *factor)
{
    for (size_t i = 0; i < tile->n; i++) {
        /* Ignored pixels go to bin 0 of all classes, where their number is subtracted again. */
        factor[i] = tile->codes[i] < h->batch->rule.classes ? tile->factor[i] * h->how.scale : 0.0F;
    }
}

static inline uint32_t foreground_bin(const submodi_binning *how, float p)
{
    return how->K + submodi_bin_of(submodi_error_of(p, true, 0), how->scale, how->K);
}

static size_t table_size(const submodi_histogram *h)
{
    return 2 * (size_t)h->how.K + 1;
}

uint32_t submodi_histogram_bins(double delta)
{
    uint32_t K = 2;
    while (0.5 / K > delta && K < UINT32_C(1) << 20) {
        K *= 2;
    }
    return K;
}

bool submodi_histogram_take(submodi_histogram *h, submod_work *work)
{
    size_t C = h->batch->scores.classes;
    h->count = submodi_take(work, (size_t)h->batch->threads, sizeof *h->count);
    h->weight = submodi_take(work, C, table_size(h) * sizeof *h->weight);
    bool good = h->count && h->weight;
    for (int t = 0; good && t < h->batch->threads; t++) {
        h->count[t] = submodi_take(work, C, table_size(h) * sizeof **h->count);
        good = h->count[t] != NULL;
    }
    return good;
}

/* ---- counting ---- */

/* What was counted as background: the foreground, and all entries of ignored pixels. */
static void mend_counts(const submodi_histogram *h, const submodi_tile *tile, uint32_t *count)
{
    size_t C = h->batch->scores.classes;
    uint32_t ignored = 0;
    for (size_t i = 0; i < tile->n; i++) {
        size_t c = (size_t)tile->codes[i];
        if (c >= C) {
            ignored++;
            continue;
        }
        float p = tile->v[c * SUBMODI_TILE + i] * tile->factor[i];
        uint32_t *table = count + c * table_size(h);
        table[submodi_bin_of(p, h->how.scale, h->how.K)]--;
        table[foreground_bin(&h->how, p)]++;
    }
    for (size_t c = 0; c < C; c++) {
        count[c * table_size(h)] -= ignored;
    }
}

static void count_tile(const void *context, const submodi_tile *tile)
{
    const submodi_histogram *h = context;
    uint32_t *count = h->count[tile->thread];
    float factor[SUBMODI_TILE];
    scale_factor(h, tile, factor);
    for (size_t c = 0; c < h->batch->scores.classes; c++) {
        uint32_t bin[SUBMODI_TILE];
        find_bins(h, tile, factor, c, bin);
        submodi_bins()->count(bin, tile->n, count + c * table_size(h));
    }
    if (!h->batch->multilabel) {
        mend_counts(h, tile, count);
    }
}

static bool visit_group(const submodi_histogram *h, size_t group, submodi_tile_body *body)
{
    size_t images = h->batch->images_per_group;
    return submodi_visit(h->batch, group * images, images, 0, SUBMODI_LABELS | SUBMODI_SCALED, body,
                         h);
}

bool submodi_histogram_count(const submodi_histogram *h, size_t group)
{
    /* All tables, also of threads that OpenMP may not have granted. */
#pragma omp parallel for num_threads(h->batch->threads)
    for (int t = 0; t < h->batch->threads; t++) {
        memset(h->count[t], 0, h->batch->scores.classes * table_size(h) * sizeof *h->count[t]);
    }
    return visit_group(h, group, count_tile);
}

void submodi_histogram_add_to(const submodi_histogram *h, size_t c, double *total)
{
    for (int t = 0; t < h->batch->threads; t++) {
        const uint32_t *count = h->count[t] + c * table_size(h);
        for (size_t k = 0; k < 2 * (size_t)h->how.K; k++) {
            total[k] += count[k];
        }
    }
}

/* ---- weights ---- */

/* Downwards from the largest errors: in each bin the foreground first, then the background averaged
 * over its orders; a, b: what has come before. */
double submodi_histogram_solve(const double *count, double P, const submodi_binning *how,
                               double coefficient, float *weight)
{
    size_t K = how->K;
    double all = 0;
    for (size_t k = 0; k < 2 * K; k++) {
        all += count[k];
    }
    /* Counts that have decayed to less weigh nothing: less than rounding, or weights that a float
     * cannot hold. */
    const double nothing = fmax(1e-15 * all, SUBMODI_SMALLEST_COUNT);
    double a = 0;
    double b = 0;
    double value = 0;
    for (size_t k = K; k-- > 0;) {
        double middle = ((double)k + 0.5) / (double)how->scale;
        double foreground = count[K + k];
        double background = count[k];
        a += foreground;
        double of_foreground, of_background;
        submodi_weigh_bin(P, a, b, background, nothing, &of_foreground, &of_background);
        b += background;
        value += middle * (foreground * of_foreground + background * of_background);
        weight[K + k] = (float)(-coefficient * of_foreground);
        weight[k] = (float)(coefficient * of_background);
    }
    weight[2 * K] = 0;
    return coefficient * value;
}

/* ---- looking weights up ---- */

static void mend_weights(const submodi_histogram *h, const submodi_tile *tile)
{
    size_t C = h->batch->scores.classes;
    bool some_ignored = false;
    for (size_t i = 0; i < tile->n; i++) {
        size_t c = (size_t)tile->codes[i];
        if (c >= C) {
            some_ignored = true;
            continue;
        }
        size_t at = c * SUBMODI_TILE + i;
        uint32_t bin = foreground_bin(&h->how, tile->v[at] * tile->factor[i]);
        tile->g[at] = h->weight[c * table_size(h) + bin];
    }
    for (size_t c = 0; some_ignored && c < C; c++) {
        float *g = tile->g + c * SUBMODI_TILE;
        for (size_t i = 0; i < tile->n; i++) {
            g[i] = tile->codes[i] < (int32_t)C ? g[i] : 0.0F;
        }
    }
}

static void look_tile_up(const void *context, const submodi_tile *tile)
{
    const submodi_histogram *h = context;
    float factor[SUBMODI_TILE];
    scale_factor(h, tile, factor);
    for (size_t c = 0; c < h->batch->scores.classes; c++) {
        uint32_t bin[SUBMODI_TILE];
        find_bins(h, tile, factor, c, bin);
        submodi_bins()->look_up(h->weight + c * table_size(h), bin, tile->n,
                                tile->g + c * SUBMODI_TILE);
    }
    if (!h->batch->multilabel) {
        mend_weights(h, tile);
    }
    submodi_tile_store(h->batch, tile, h->gradient);
}

void submodi_histogram_write(const submodi_histogram *h, size_t group)
{
    visit_group(h, group, look_tile_up);
}

/* ---- the range of the hinge ---- */

static void raise_margin(const void *context, const submodi_tile *tile)
{
    float *of_thread = *(float *const *)context + tile->thread;
    float largest = *of_thread;
    for (size_t i = 0; i < tile->n; i++) {
        float e = tile->codes[i] == 1 ? 1.0F - tile->v[i] : 1.0F + tile->v[i];
        largest = tile->codes[i] <= 1 && e > largest ? e : largest;
    }
    *of_thread = largest;
}

/* Into largest[0], by one number per thread. False when some score is bad. */
static bool find_largest_margin(const submodi_batch *batch, float *largest)
{
    memset(largest, 0, (size_t)batch->threads * sizeof *largest);
    bool good = submodi_visit(batch, 0, batch->scores.batch, 0, SUBMODI_LABELS | SUBMODI_SCORES,
                              raise_margin, &largest);
    for (int t = 1; t < batch->threads; t++) {
        largest[0] = fmaxf(largest[0], largest[t]);
    }
    return good;
}

/* ---- the engine ---- */

/* As many bins as were asked for, or as delta needs. For the hinge they cover a power of two above
 * all margins. */
static submodi_binning choose_bins(const submodi_batch *batch, float largest)
{
    size_t given = batch->settings.bins;
    uint32_t K = given ? (uint32_t)given : submodi_histogram_bins(batch->settings.delta);
    bool hinge = batch->activation == SUBMODI_SCORE;
    K *= hinge && largest > 0 && !given ? 2 : 1; /* the range may be twice the largest margin */
    return (submodi_binning){.K = K,
                             .scale = submodi_scale_for(K, hinge ? largest : 0),
                             .bias = submodi_bias(batch),
                             .lowest = hinge ? 0.0F : -1.0F};
}

/* Weights of all classes in a group from the counts just made; returns its share of the loss.
 * total: 2 K numbers per thread. */
static double solve_group(const submodi_histogram *h, size_t group, double *total, double *value)
{
    size_t C = h->batch->scores.classes;
    size_t K = h->how.K;
#pragma omp parallel for num_threads(h->batch->threads)
    for (size_t c = 0; c < C; c++) {
        double *counts = total + 2 * K * (size_t)omp_get_thread_num();
        float *weight = h->weight + c * (2 * K + 1);
        if (!(h->batch->coefficient[group * C + c] > 0)) {
            value[c] = 0;
            memset(weight, 0, (2 * K + 1) * sizeof *weight);
            continue;
        }
        memset(counts, 0, 2 * K * sizeof *counts);
        submodi_histogram_add_to(h, c, counts);
        value[c] = submodi_histogram_solve(counts, h->batch->foreground[group * C + c], &h->how,
                                           h->batch->coefficient[group * C + c], weight);
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
    size_t threads = (size_t)batch->threads;
    submodi_histogram h = {.batch = batch, .gradient = gradient};
    bool hinge = batch->activation == SUBMODI_SCORE;
    float *largest = submodi_take(work, threads, sizeof *largest);
    if (!largest) {
        return submodi_nomem(batch->who);
    }
    if (hinge ? !find_largest_margin(batch, largest)
              : batch->groups > 1 && !submodi_scores_are_good(batch)) {
        return submodi_batch_bad_score(batch);
    }
    h.how = choose_bins(batch, hinge ? largest[0] : 0);
    double *total = submodi_take(work, threads, 2 * (size_t)h.how.K * sizeof *total);
    double *value = submodi_take(work, batch->scores.classes, sizeof *value);
    if (!total || !value || !submodi_histogram_take(&h, work)) {
        return submodi_nomem(batch->who);
    }
    *loss = 0;
    for (size_t g = 0; g < batch->groups; g++) {
        if (!submodi_histogram_count(&h, g)) {
            return submodi_batch_bad_score(batch);
        }
        *loss += solve_group(&h, g, total, value);
        if (gradient) {
            submodi_histogram_write(&h, g);
        }
    }
    info->bins = h.how.K;
    info->delta = 0.5 / (double)h.how.scale;
    return SUBMOD_OK;
}
