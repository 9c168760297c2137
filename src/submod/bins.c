/* Errors in bins (see bins.h). */
#include "submod/bins.h"

#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "base/simd.h"
#include "submod/pointwise.h"

SUBMODI_MULTIVERSION
static void find_bins(const submodi_binning *how, const float *v, const int32_t *code,
                      int32_t target, size_t n, uint32_t *bin)
{
    const int32_t K = (int32_t)how->K;
    const float scale = how->scale;
    const float bias = how->bias;
    const float lowest = how->drop_zero ? 0.0F : -1.0F; /* errors up to here are dropped */
    const int32_t ignored = how->ignored;
    for (size_t i = 0; i < n; i++) {
        float e = submodi_error_of(v[i], code[i] == target, bias);
        int32_t b = submodi_bin_of(e, code[i] == target, scale, K);
        b = e <= lowest ? 2 * K : b;
        bin[i] = (uint32_t)(code[i] == ignored ? 2 * K : b);
    }
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
    x->tile = submodi_tiles_take(x->p, x->threads, work);
    return x->tile != NULL;
}

bool submodi_counter_take_tables(submodi_counter *x, submod_work *work)
{
    size_t C = x->p->scores.classes;
    x->count = submodi_take(work, (size_t)x->threads, sizeof *x->count);
    x->weight = submodi_take(work, C, table_size(x) * sizeof *x->weight);
    bool good = x->count && x->weight;
    for (int t = 0; good && t < x->threads; t++) {
        x->count[t] = submodi_take(work, C, table_size(x) * sizeof **x->count);
        good = x->count[t] != NULL;
    }
    return good;
}

bool submodi_counter_count(const submodi_counter *x, size_t group)
{
    const submodi_problem *p = x->p;
    size_t C = p->scores.classes;
    size_t first = group * p->images_per_group;
    size_t tiles = p->images_per_group * p->tiles_per_image;
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
            if (!submodi_tile_load(p, first + t / p->tiles_per_image, t % p->tiles_per_image,
                                   &x->tile[omp_get_thread_num()], &tile)) {
                bad = 1; /* what NaN leaves behind has no bin */
                continue;
            }
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
    double a = 0;
    double b = 0;
    double value = 0;
    for (size_t k = K; k-- > 0;) {
        double middle = ((double)k + 0.5) / (double)how->scale;
        double foreground = count[K + k];
        double background = count[k];
        a += foreground;
        double of_foreground, of_background;
        submodi_weigh_bin(P, a, b, background, &of_foreground, &of_background);
        b += background;
        value += middle * (foreground * of_foreground + background * of_background);
        weight[K + k] = (float)(-coefficient * of_foreground);
        weight[k] = (float)(coefficient * of_background);
    }
    weight[2 * K] = 0;
    return coefficient * value;
}

void submodi_counter_write(const submodi_counter *x, size_t group, const submod_gradient *gradient)
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
