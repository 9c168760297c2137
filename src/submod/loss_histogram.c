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
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/simd.h"
#include "base/threads.h"
#include "submod/loss_problem.h"

/* Where a pixel is counted: bins 0 .. K-1 background, K .. 2K-1 foreground, 2K nothing (ignored, or
 * without error in the hinge loss). K is a power of two, so that e * K is exact. */
typedef struct binning {
    uint32_t K;
    float scale; /* bins per unit of error */
    float bias;
    bool drop_zero;
    int32_t ignored;
} binning;

SUBMODI_MULTIVERSION
static void find_bins(const binning *how, const float *v, const int32_t *code, int32_t target,
                      size_t n, uint32_t *bin)
{
    const int32_t K = (int32_t)how->K;
    const float scale = how->scale;
    const float bias = how->bias;
    const float lowest = how->drop_zero ? 0.0F : -1.0F; /* errors up to here are dropped */
    const int32_t ignored = how->ignored;
    for (size_t i = 0; i < n; i++) {
        float e = code[i] == target ? 1.0F - v[i] : bias + v[i];
        e = e > 0.0F ? e : 0.0F;
        int32_t b = (int32_t)(e * scale);
        b = b < K ? b : K - 1;
        b = code[i] == target ? b + K : b;
        b = e <= lowest ? 2 * K : b;
        bin[i] = (uint32_t)(code[i] == ignored ? 2 * K : b);
    }
}

typedef struct engine {
    const submodi_problem *p;
    binning how;
    int threads;
    submodi_tile_memory *tile;
    uint32_t **count; /* per thread: classes x (2 K + 1) */
    float *weight;    /* classes x (2 K + 1): derivative by v, coefficient included */
    double *value;    /* per class */
} engine;

static size_t table_size(const engine *x)
{
    return 2 * (size_t)x->how.K + 1;
}

/* False when some score is bad. */
static bool count_group(const engine *x, size_t group)
{
    const submodi_problem *p = x->p;
    size_t C = p->scores.classes;
    size_t first = group * p->images_per_group;
    size_t tiles = p->images_per_group * p->tiles_per_image;
    int bad = 0;
#pragma omp parallel num_threads(x->threads) reduction(| : bad)
    {
        uint32_t *count = x->count[omp_get_thread_num()];
        memset(count, 0, C * table_size(x) * sizeof *count);
#pragma omp for
        for (size_t t = 0; t < tiles; t++) {
            submodi_tile tile;
            bad |= !submodi_tile_load(p, first + t / p->tiles_per_image, t % p->tiles_per_image,
                                      &x->tile[omp_get_thread_num()], &tile);
            for (size_t c = 0; c < C; c++) {
                uint32_t bin[SUBMODI_TILE];
                uint32_t *table = count + c * table_size(x);
                int32_t target;
                const int32_t *codes = submodi_tile_codes(p, &tile, c, &target);
                find_bins(&x->how, tile.v + c * SUBMODI_TILE, codes, target, tile.n, bin);
                for (size_t i = 0; i < tile.n; i++) {
                    table[bin[i]]++;
                }
            }
        }
    }
    return !bad;
}

/* From counts to weights, downwards from the largest errors: in each bin the foreground first, then
 * the background averaged over its orders. The thread's counts are added up in the first table. */
static void solve_class(const engine *x, size_t group, size_t c)
{
    size_t K = x->how.K;
    uint32_t *count = x->count[0] + c * table_size(x);
    for (int t = 1; t < x->threads; t++) {
        for (size_t k = 0; k < 2 * K; k++) {
            count[k] += x->count[t][c * table_size(x) + k];
        }
    }
    double coefficient = x->p->coefficient[group * x->p->scores.classes + c];
    double P = (double)x->p->foreground[group * x->p->scores.classes + c];
    double a = 0;
    double b = 0;
    double value = 0;
    float *weight = x->weight + c * table_size(x);
    for (size_t k = K; k-- > 0;) {
        double middle = ((double)k + 0.5) / (double)x->how.scale;
        double foreground = count[K + k];
        double background = count[k];
        double U = P + b;
        double of_foreground = U > 0 ? 1 / U : 0;
        a += foreground;
        double of_background = U > 0            ? (P - a) / (U * (U + background))
                               : background > 0 ? 1 / background
                                                : 0;
        b += background;
        value += middle * (foreground * of_foreground + background * of_background);
        weight[K + k] = (float)(-coefficient * of_foreground);
        weight[k] = (float)(coefficient * of_background);
    }
    weight[2 * K] = 0;
    x->value[c] = coefficient * value;
}

static void write_group(const engine *x, size_t group, const submod_gradient *gradient)
{
    const submodi_problem *p = x->p;
    size_t first = group * p->images_per_group;
    size_t tiles = p->images_per_group * p->tiles_per_image;
#pragma omp parallel for num_threads(x->threads)
    for (size_t t = 0; t < tiles; t++) {
        submodi_tile tile;
        submodi_tile_load(p, first + t / p->tiles_per_image, t % p->tiles_per_image,
                          &x->tile[omp_get_thread_num()], &tile);
        for (size_t c = 0; c < p->scores.classes; c++) {
            uint32_t bin[SUBMODI_TILE];
            const float *table = x->weight + c * table_size(x);
            int32_t target;
            const int32_t *codes = submodi_tile_codes(p, &tile, c, &target);
            find_bins(&x->how, tile.v + c * SUBMODI_TILE, codes, target, tile.n, bin);
            for (size_t i = 0; i < tile.n; i++) {
                tile.g[c * SUBMODI_TILE + i] = table[bin[i]];
            }
        }
        submodi_tile_store(p, &tile, gradient);
    }
}

/* All scores looked at before anything is written; returns the largest margin, negative when some
 * score is bad. */
static float largest_error(const engine *x)
{
    const submodi_problem *p = x->p;
    size_t tiles = p->scores.batch * p->tiles_per_image;
    float largest = 0;
    int bad = 0;
#pragma omp parallel for num_threads(x->threads) reduction(| : bad) reduction(max : largest)
    for (size_t t = 0; t < tiles; t++) {
        submodi_tile tile;
        bad |= !submodi_tile_load(p, t / p->tiles_per_image, t % p->tiles_per_image,
                                  &x->tile[omp_get_thread_num()], &tile);
        for (size_t i = 0; p->activation == SUBMODI_HINGE && i < tile.n; i++) {
            float e = tile.codes[i] == 1 ? 1.0F - tile.v[i] : 1.0F + tile.v[i];
            largest = tile.codes[i] <= 1 && e > largest ? e : largest;
        }
    }
    return bad ? -1.0F : largest;
}

/* Bins of half-width <= delta; for the hinge the range is a power of two above all margins. */
static void choose_bins(engine *x, float largest)
{
    int log2_K = 1;
    while (ldexp(0.5, -log2_K) > x->p->settings.delta && log2_K < 20) {
        log2_K++;
    }
    int log2_range = 0;
    if (x->p->activation == SUBMODI_HINGE && largest > 0) {
        frexp((double)largest, &log2_range);
    }
    x->how = (binning){.K = UINT32_C(1) << log2_K,
                       .scale = (float)ldexp(1, log2_K - log2_range),
                       .bias = submodi_bias(x->p),
                       .drop_zero = x->p->activation == SUBMODI_HINGE,
                       .ignored = x->p->rule.classes};
}

static bool take_tiles(engine *x, submod_work *work)
{
    x->tile = submodi_take(work, (size_t)x->threads, sizeof *x->tile);
    bool good = x->tile != NULL;
    for (int t = 0; good && t < x->threads; t++) {
        x->tile[t] = submodi_tile_memory_take(x->p, work);
        good = x->tile[t].v && x->tile[t].g && x->tile[t].codes;
    }
    return good;
}

static bool take_tables(engine *x, submod_work *work)
{
    size_t C = x->p->scores.classes;
    x->count = submodi_take(work, (size_t)x->threads, sizeof *x->count);
    x->weight = submodi_take(work, C, table_size(x) * sizeof *x->weight);
    x->value = submodi_take(work, C, sizeof *x->value);
    bool good = x->count && x->weight && x->value;
    for (int t = 0; good && t < x->threads; t++) {
        x->count[t] = submodi_take(work, C, table_size(x) * sizeof **x->count);
        good = x->count[t] != NULL;
    }
    return good;
}

submod_status submodi_loss_histogram(const submodi_problem *p, double *loss,
                                     const submod_gradient *gradient, submod_loss_info *info,
                                     submod_work *work)
{
    engine x = {.p = p,
                .threads =
                    submodi_threads_for(p->scores.batch * p->scores.pixels * p->scores.classes)};
    if (!take_tiles(&x, work)) {
        return submodi_nomem(p->who);
    }
    float largest = 1;
    if (p->activation == SUBMODI_HINGE || p->groups > 1) {
        largest = largest_error(&x);
        if (largest < 0) {
            return submodi_problem_bad_score(p);
        }
    }
    choose_bins(&x, largest);
    if (!take_tables(&x, work)) {
        return submodi_nomem(p->who);
    }
    *loss = 0;
    for (size_t g = 0; g < p->groups; g++) {
        if (!count_group(&x, g)) {
            return submodi_problem_bad_score(p);
        }
#pragma omp parallel for num_threads(x.threads)
        for (size_t c = 0; c < p->scores.classes; c++) {
            solve_class(&x, g, c);
        }
        for (size_t c = 0; c < p->scores.classes; c++) {
            *loss += x.value[c];
        }
        if (gradient) {
            write_group(&x, g, gradient);
        }
    }
    info->bins = x.how.K;
    info->delta = 0.5 / (double)x.how.scale;
    return SUBMOD_OK;
}
