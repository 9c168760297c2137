/* Errors in bins (see bins.h). */
#include "submod/losses/bins.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "submod/losses/histogram_loops.h"
#include "submod/losses/pointwise.h"

/* Rows of bins: each class's own labels, or all as background. */
static void find_bins(const submodi_counter *x, const submodi_tile *tile, const float *factor,
                      size_t c, uint32_t *bin)
{
    const float *v = tile->v + c * SUBMODI_TILE;
    if (x->batch->multilabel) {
        submodi_bins()->labelled_bins(&x->how, v, tile->codes + c * SUBMODI_TILE, tile->n, bin);
    } else {
        submodi_bins()->background_bins(v, factor, (int32_t)x->how.K, tile->n, bin);
    }
}

static void scale_factor(const submodi_counter *x, const submodi_tile *tile, float *factor)
{
    for (size_t i = 0; i < tile->n; i++) {
        /* Ignored pixels go to bin 0 of all classes, where their number is subtracted again. */
        factor[i] = tile->codes[i] < x->batch->rule.classes ? tile->factor[i] * x->how.scale : 0.0F;
    }
}

static inline uint32_t foreground_bin(const submodi_binning *how, float p)
{
    return how->K + submodi_bin_of(submodi_error_of(p, true, 0), how->scale, how->K);
}

static size_t table_size(const submodi_counter *x)
{
    return 2 * (size_t)x->how.K + 1;
}

uint32_t submodi_bins_for(double delta)
{
    uint32_t K = 2;
    while (0.5 / K > delta && K < UINT32_C(1) << 20) {
        K *= 2;
    }
    return K;
}

bool submodi_counter_take_tiles(submodi_counter *x, submod_work *work)
{
    x->tile = submodi_tiles_take(x->batch, x->threads, work);
    return x->tile != NULL;
}

bool submodi_counter_check(const submodi_counter *x, float *largest_margin)
{
    const submodi_batch *batch = x->batch;
    submodi_batch plain = *batch; /* to look at scores no softmax is needed */
    if (batch->activation != SUBMODI_PROBABILITY) {
        plain.activation = SUBMODI_SCORE;
    }
    size_t tiles = batch->scores.batch * batch->tiles_per_image;
    float largest = 0;
    int bad = 0;
#pragma omp parallel for num_threads(x->threads) reduction(| : bad) reduction(max : largest)
    for (size_t t = 0; t < tiles; t++) {
        submodi_tile tile;
        bad |= !submodi_tile_load(&plain, t / batch->tiles_per_image, t % batch->tiles_per_image,
                                  &x->tile[omp_get_thread_num()], &tile);
        for (size_t i = 0; batch->activation == SUBMODI_SCORE && i < tile.n; i++) {
            float e = tile.codes[i] == 1 ? 1.0F - tile.v[i] : 1.0F + tile.v[i];
            largest = tile.codes[i] <= 1 && e > largest ? e : largest;
        }
    }
    *largest_margin = largest;
    return !bad;
}

bool submodi_counter_take_tables(submodi_counter *x, submod_work *work)
{
    size_t C = x->batch->scores.classes;
    x->count = submodi_take(work, (size_t)x->threads, sizeof *x->count);
    x->weight = submodi_take(work, C, table_size(x) * sizeof *x->weight);
    bool good = x->count && x->weight;
    for (int t = 0; good && t < x->threads; t++) {
        x->count[t] = submodi_take(work, C, table_size(x) * sizeof **x->count);
        good = x->count[t] != NULL;
    }
    return good;
}

/* What was counted as background: the foreground, and all entries of ignored pixels. */
static void mend_counts(const submodi_counter *x, const submodi_tile *tile, uint32_t *count)
{
    size_t C = x->batch->scores.classes;
    uint32_t ignored = 0;
    for (size_t i = 0; i < tile->n; i++) {
        size_t c = (size_t)tile->codes[i];
        if (c == C) {
            ignored++;
            continue;
        }
        float p = tile->v[c * SUBMODI_TILE + i] * tile->factor[i];
        uint32_t *table = count + c * table_size(x);
        table[submodi_bin_of(p, x->how.scale, x->how.K)]--;
        table[foreground_bin(&x->how, p)]++;
    }
    for (size_t c = 0; c < C; c++) {
        count[c * table_size(x)] -= ignored;
    }
}

static void count_tile(const submodi_counter *x, const submodi_tile *tile, uint32_t *count)
{
    float factor[SUBMODI_TILE];
    scale_factor(x, tile, factor);
    for (size_t c = 0; c < x->batch->scores.classes; c++) {
        uint32_t bin[SUBMODI_TILE];
        find_bins(x, tile, factor, c, bin);
        submodi_bins()->count(bin, tile->n, count + c * table_size(x));
    }
    if (!x->batch->multilabel) {
        mend_counts(x, tile, count);
    }
}

bool submodi_counter_count(const submodi_counter *x, size_t group)
{
    const submodi_batch *batch = x->batch;
    size_t C = batch->scores.classes;
    size_t first = group * batch->images_per_group;
    size_t tiles = batch->images_per_group * batch->tiles_per_image;
    int bad = 0;
#pragma omp parallel num_threads(x->threads) reduction(| : bad)
    {
        uint32_t *count = x->count[omp_get_thread_num()];
        /* All tables, also of threads that OpenMP may not have granted. */
#pragma omp for
        for (int t = 0; t < x->threads; t++) {
            memset(x->count[t], 0, C * table_size(x) * sizeof *count);
        }
#pragma omp for
        for (size_t t = 0; t < tiles; t++) {
            submodi_tile tile;
            if (!submodi_tile_load_scaled(batch, first + t / batch->tiles_per_image,
                                          t % batch->tiles_per_image,
                                          &x->tile[omp_get_thread_num()], &tile)) {
                bad = 1; /* what NaN leaves behind has no bin */
                continue;
            }
            count_tile(x, &tile, count);
        }
    }
    return !bad;
}

void submodi_counter_add_to(const submodi_counter *x, size_t c, double *total)
{
    for (int t = 0; t < x->threads; t++) {
        const uint32_t *count = x->count[t] + c * table_size(x);
        for (size_t k = 0; k < 2 * (size_t)x->how.K; k++) {
            total[k] += count[k];
        }
    }
}

/* Downwards from the largest errors: in each bin the foreground first, then the background averaged
 * over its orders; a, b: what has come before (jaccard.c). */
double submodi_solve_bins(const double *count, double P, const submodi_binning *how,
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

static void mend_weights(const submodi_counter *x, const submodi_tile *tile)
{
    size_t C = x->batch->scores.classes;
    bool some_ignored = false;
    for (size_t i = 0; i < tile->n; i++) {
        size_t c = (size_t)tile->codes[i];
        if (c == C) {
            some_ignored = true;
            continue;
        }
        size_t at = c * SUBMODI_TILE + i;
        uint32_t bin = foreground_bin(&x->how, tile->v[at] * tile->factor[i]);
        tile->g[at] = x->weight[c * table_size(x) + bin];
    }
    for (size_t c = 0; some_ignored && c < C; c++) {
        float *g = tile->g + c * SUBMODI_TILE;
        for (size_t i = 0; i < tile->n; i++) {
            g[i] = tile->codes[i] < (int32_t)C ? g[i] : 0.0F;
        }
    }
}

static void look_tile_up(const submodi_counter *x, const submodi_tile *tile)
{
    float factor[SUBMODI_TILE];
    scale_factor(x, tile, factor);
    for (size_t c = 0; c < x->batch->scores.classes; c++) {
        uint32_t bin[SUBMODI_TILE];
        find_bins(x, tile, factor, c, bin);
        submodi_bins()->look_up(x->weight + c * table_size(x), bin, tile->n,
                                tile->g + c * SUBMODI_TILE);
    }
    if (!x->batch->multilabel) {
        mend_weights(x, tile);
    }
}

void submodi_counter_write(const submodi_counter *x, size_t group, const submod_gradient *gradient)
{
    const submodi_batch *batch = x->batch;
    size_t first = group * batch->images_per_group;
    size_t tiles = batch->images_per_group * batch->tiles_per_image;
#pragma omp parallel for num_threads(x->threads)
    for (size_t t = 0; t < tiles; t++) {
        submodi_tile tile;
        submodi_tile_load_scaled(batch, first + t / batch->tiles_per_image,
                                 t % batch->tiles_per_image, &x->tile[omp_get_thread_num()], &tile);
        look_tile_up(x, &tile);
        submodi_tile_store(batch, &tile, gradient);
    }
}
