/* The histogram engine: errors counted in bins of equal width, no sort (past the paper).
 *
 * The loss of a class is symmetric within the foreground and within the background, so it sees the
 * errors only through two histograms per class. Moving every error to the middle of its bin
 * changes the loss by at most half a bin, because its subgradients are >= 0 and sum up to
 * at most 1, or F(P, N) for a measure F of the caller's.
 *
 *   pass 1   one read of the scores: activation, bins, counts
 *   solve    per class: one weight for each (bin, foreground or background): histogram_solve.c
 *   pass 2   one read of the scores, activation again: look the weight up, write the gradient
 *
 * Few errors need a counter. Bin 0 has what is left when the others are counted. And background
 * bins below the smallest foreground bin have no weight (batch.h), so their
 * counts do not matter. Where that is, is known only at the end of pass 1; until then the
 * background of a tile is counted from half of the smallest foreground bin on that was seen so far,
 * and this floor is noted. Rows of tiles whose floor turns out to have been too high are counted
 * again in the bins they missed. So the counts of all bins that matter are exact, whatever the
 * floors were.
 *
 * Counts are integers: the same for any number of threads. Where pixels have weights, they are
 * added up instead, in doubles; these are rounded so that all their sums are exact
 * (tensors/pixel_weights.h), and again the same. Memory: tables per thread, and 16 bytes
 * per pixel of a softmax. The loss of a batch made of this: histogram_loss.c.
 */
#include "loss/histogram.h"

#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "loss/histogram_loops.h"
#include "loss/pointwise.h"

/* ---- memory ---- */

uint32_t submodi_histogram_bins(double delta)
{
    uint32_t K = 2;
    while (0.5 / K > delta && K < UINT32_C(1) << 20) {
        K *= 2;
    }
    return K;
}

static bool take_counters(submodi_histogram *h, submod_work *work)
{
    size_t threads = (size_t)h->batch->threads;
    size_t C = h->batch->scores.classes;
    size_t of_class = submodi_table_size(h);
    h->count = submodi_work_alloc(work, threads, sizeof *h->count);
    h->sum = submodi_work_alloc(work, threads, sizeof *h->sum);
    h->smallest = submodi_work_alloc(work, C, sizeof *h->smallest);
    h->floor = submodi_work_alloc(work, h->batch->scores.batch * h->batch->tiles_per_image,
                                  C * sizeof *h->floor);
    bool good = h->count && h->sum && h->smallest && h->floor;
    bool weighted = h->batch->weight;
    for (size_t t = 0; good && t < threads; t++) {
        h->count[t] = submodi_work_alloc(work, weighted ? 0 : C, of_class * sizeof **h->count);
        h->sum[t] = submodi_work_alloc(work, weighted ? C : 0, of_class * sizeof **h->sum);
        good = h->count[t] && h->sum[t];
    }
    return good;
}

bool submodi_histogram_take(submodi_histogram *h, bool counting, submod_work *work)
{
    size_t pixels = h->batch->multilabel ? 0 : h->batch->scores.batch * h->batch->scores.pixels;
    h->place = submodi_work_alloc(work, pixels, sizeof *h->place);
    return h->place && (!counting || take_counters(h, work));
}

/* ---- counting ---- */

/* The first bin that is counted; the hinge, where an error of 0 is in no bin, has to count all. */
static uint32_t first_bin(const submodi_histogram *h)
{
    return h->how.drops_zero ? 0 : 1;
}

static bool is_used(const submodi_histogram *h, size_t group, size_t c)
{
    return !h->prunes || h->batch->coefficient[group * h->batch->scores.classes + c] > 0;
}

/* Whether background bins below the foreground of class c need no count. */
static bool is_pruned(const submodi_histogram *h, size_t group, size_t c)
{
    return h->prunes && h->batch->foreground_is_all[group * h->batch->scores.classes + c];
}

static uint32_t smallest_of(const submodi_histogram *h, size_t c)
{
    return atomic_load_explicit(&h->smallest[c], memory_order_relaxed);
}

/* All threads lower the same number: the sooner it is small, the fewer floors are too high. */
static void lower_smallest(const submodi_histogram *h, size_t c, uint32_t bin)
{
    uint32_t old = smallest_of(h, c);
    while (bin < old &&
           !atomic_compare_exchange_weak_explicit(&h->smallest[c], &old, bin, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
}

/* From where on the background bins of each class are counted in this tile; noted. */
static const uint32_t *choose_floors(const submodi_histogram *h, const submodi_tile *tile)
{
    size_t C = h->batch->scores.classes;
    size_t group = tile->image / h->batch->images_per_group;
    uint32_t *floor = h->floor + tile->index * C;
    for (size_t c = 0; c < C; c++) {
        uint32_t smallest = smallest_of(h, c);
        bool prunes = smallest < h->how.K && is_pruned(h, group, c);
        uint32_t low = prunes ? smallest / 2 : 0;
        low = low > first_bin(h) ? low : first_bin(h);
        floor[c] = is_used(h, group, c) ? low : SUBMODI_NO_BINS;
    }
    return floor;
}

static submodi_bin_rows rows_of(const submodi_histogram *h, const submodi_tile *tile,
                                const float *factor, const uint32_t *low)
{
    return (submodi_bin_rows){.v = tile->v,
                              .stride = tile->stride,
                              .classes = h->batch->scores.classes,
                              .width = tile->width,
                              .code = tile->codes,
                              .factor = factor,
                              .low = low,
                              .K = h->how.K};
}

/* The bins of the foreground, one per pixel. */
static uint32_t *find_places(const submodi_histogram *h, const submodi_tile *tile)
{
    uint32_t *place = h->place + tile->image * h->batch->scores.pixels + tile->first;
    uint32_t found[SUBMODI_TILE_MAX];
    submodi_bin_rows rows = rows_of(h, tile, tile->factor, NULL);
    submodi_bins()->foreground(&rows, h->how.scale, found);
    memcpy(place, found, tile->n * sizeof *place);
    return place;
}

static void count_foreground(const submodi_histogram *h, const submodi_tile *tile)
{
    const uint32_t *place = find_places(h, tile);
    const int32_t classes = h->batch->rule.classes;
    const float *weight = tile->weight;
    uint32_t *count = h->count[tile->thread] + h->how.K;
    double *sum = h->sum[tile->thread] + h->how.K;
    for (size_t i = 0; i < tile->n; i++) {
        if (tile->codes[i] < classes) {
            size_t c = (size_t)tile->codes[i];
            size_t at = c * submodi_table_size(h) + place[i];
            if (weight) {
                sum[at] += (double)weight[i];
            } else {
                count[at]++;
            }
            lower_smallest(h, c, place[i]);
        }
    }
}

static void count_multiclass(const void *context, const submodi_tile *tile)
{
    const submodi_histogram *h = context;
    float factor[SUBMODI_TILE_MAX];
    count_foreground(h, tile);
    for (size_t i = 0; i < tile->width; i++) {
        factor[i] = tile->factor[i] * h->how.scale;
    }
    submodi_bin_rows rows = rows_of(h, tile, factor, choose_floors(h, tile));
    if (tile->weight) {
        submodi_bins()->add(&rows, tile->weight, h->sum[tile->thread]);
    } else {
        submodi_bins()->count(&rows, h->count[tile->thread]);
    }
}

/* A list of class c: its pixels, or their weights, in the table of a thread. */
static void count_list(const submodi_histogram *h, size_t thread, size_t c, const int32_t *list,
                       size_t n, const float *weight)
{
    size_t at = c * submodi_table_size(h);
    if (weight) {
        submodi_add_list(list, n, weight, h->sum[thread] + at);
    } else {
        submodi_count_list(list, n, h->count[thread] + at);
    }
}

static void count_multilabel(const void *context, const submodi_tile *tile)
{
    const submodi_histogram *h = context;
    const uint32_t *floor = choose_floors(h, tile);
    int32_t list[SUBMODI_LIST];
    for (size_t c = 0; c < h->batch->scores.classes; c++) {
        if (floor[c] != SUBMODI_NO_BINS) {
            submodi_bin_range range = {(float)floor[c], INFINITY, (float)first_bin(h)};
            uint32_t smallest = smallest_of(h, c);
            size_t n = submodi_bins()->labelled(&h->how, tile->v + c * tile->stride,
                                                tile->codes + c * tile->stride, tile->width, &range,
                                                list, &smallest);
            lower_smallest(h, c, smallest);
            count_list(h, tile->thread, c, list, n, tile->weight);
        }
    }
}

/* Counts background bins low .. high - 1 of one row of a tile, which were left out before. */
static void count_rest(const submodi_histogram *h, size_t tile, size_t c, uint32_t low,
                       uint32_t high, size_t thread)
{
    const submodi_batch *batch = h->batch;
    size_t first = tile % batch->tiles_per_image * batch->tile;
    size_t left = batch->scores.pixels - first;
    submodi_class_row row;
    submodi_load_class_row(batch, tile / batch->tiles_per_image, c, first,
                           left < batch->tile ? left : batch->tile, &row);
    submodi_bin_range range = {(float)low, (float)high, INFINITY};
    int32_t list[SUBMODI_LIST];
    size_t n;
    if (batch->multilabel) {
        uint32_t smallest = 0;
        n = submodi_bins()->labelled(&h->how, row.v, row.codes, row.width, &range, list, &smallest);
    } else {
        float scale[SUBMODI_TILE_MAX];
        for (size_t i = 0; i < row.width; i++) {
            scale[i] = row.codes[i] < batch->rule.classes ? h->how.scale : 0.0F;
        }
        submodi_bin_rows one = {
            .v = row.v, .width = row.width, .code = row.codes, .factor = scale, .K = h->how.K};
        n = submodi_bins()->background(&one, row.target, &range, list);
    }
    count_list(h, thread, c, list, n, row.weight);
}

/* Mends what floors that were too high have left out. */
static void count_all_rests(const submodi_histogram *h, size_t group)
{
    const submodi_batch *batch = h->batch;
    size_t C = batch->scores.classes;
    size_t tiles = batch->images_per_group * batch->tiles_per_image;
    if (!h->prunes) {
        return;
    }
#pragma omp parallel for num_threads(batch->threads) schedule(dynamic, 16)
    for (size_t t = group * tiles; t < (group + 1) * tiles; t++) {
        size_t thread = submodi_thread_index();
        for (size_t c = 0; c < C; c++) {
            uint32_t smallest = smallest_of(h, c);
            uint32_t low = smallest > first_bin(h) ? smallest : first_bin(h);
            uint32_t floor = h->floor[t * C + c];
            if (floor != SUBMODI_NO_BINS && floor > low) {
                count_rest(h, t, c, low, floor, thread);
            }
        }
    }
}

static bool visit_group(const submodi_histogram *h, size_t group, unsigned load,
                        submodi_tile_body *body, const void *context)
{
    size_t images = h->batch->images_per_group;
    return submodi_visit(h->batch, group * images, images, 0, load, body, context);
}

bool submodi_histogram_count(const submodi_histogram *h, size_t group)
{
    size_t C = h->batch->scores.classes;
    /* All tables, also of threads that OpenMP may not have granted. */
#pragma omp parallel for num_threads(h->batch->threads)
    for (int t = 0; t < h->batch->threads; t++) {
        if (h->batch->weight) {
            memset(h->sum[t], 0, C * submodi_table_size(h) * sizeof *h->sum[t]);
        } else {
            memset(h->count[t], 0, C * submodi_table_size(h) * sizeof *h->count[t]);
        }
    }
    for (size_t c = 0; c < C; c++) {
        atomic_store_explicit(&h->smallest[c], h->how.K, memory_order_relaxed);
    }
    if (!visit_group(h, group, SUBMODI_VALUES,
                     h->batch->multilabel ? count_multilabel : count_multiclass, h)) {
        return false;
    }
    count_all_rests(h, group);
    return true;
}

static void note_tile(const void *context, const submodi_tile *tile)
{
    find_places(context, tile);
}

bool submodi_histogram_note(const submodi_histogram *h)
{
    return submodi_visit(h->batch, 0, h->batch->scores.batch, 0, SUBMODI_VALUES, note_tile, h);
}

/* Entry k of all tables of class c together. */
static double entry(const submodi_histogram *h, size_t c, size_t k)
{
    size_t at = c * submodi_table_size(h) + k;
    double all = 0;
    for (int t = 0; t < h->batch->threads; t++) {
        all += h->batch->weight ? h->sum[t][at] : (double)h->count[t][at];
    }
    return all;
}

void submodi_histogram_add_to(const submodi_histogram *h, size_t group, size_t c, double *total)
{
    size_t K = h->how.K;
    double rest[2] = {0, 0}; /* of the background and of the foreground in bins above 0 */
    for (size_t kind = 0; kind < 2; kind++) {
        for (size_t k = first_bin(h); k < K; k++) {
            double all = entry(h, c, kind * K + k);
            total[kind * K + k] += all;
            rest[kind] += all;
        }
    }
    if (first_bin(h) > 0) {
        size_t at = group * h->batch->scores.classes + c;
        total[0] += h->batch->background[at] - rest[0];
        total[K] += h->batch->foreground[at] - rest[1];
    }
}

/* ---- looking weights up ---- */

typedef struct looking {
    const submodi_histogram *h;
    const submodi_weights *weights;
} looking;

static void look_up_foreground(const submodi_histogram *h, const submodi_tile *tile,
                               const float *table)
{
    const uint32_t *place = h->place + tile->image * h->batch->scores.pixels + tile->first;
    table += h->how.K;
    for (size_t i = 0; i < tile->n; i++) {
        if (tile->codes[i] < h->batch->rule.classes) {
            size_t c = (size_t)tile->codes[i];
            tile->g[c * tile->stride + i] = table[c * submodi_table_size(h) + place[i]];
        }
    }
}

static void look_up_multiclass(const void *context, const submodi_tile *tile)
{
    const looking *x = context;
    const submodi_histogram *h = x->h;
    float scale[SUBMODI_TILE_MAX];
    for (size_t i = 0; i < tile->width; i++) {
        scale[i] = h->how.scale;
    }
    submodi_bin_rows rows = rows_of(h, tile, scale, x->weights->flat);
    submodi_bins()->look_up(&rows, x->weights->table, tile->g);
    look_up_foreground(h, tile, x->weights->table);
    if (h->batch->activation != SUBMODI_SOFTMAX) { /* which makes ignored pixels 0 by itself */
        for (size_t c = 0; c < h->batch->scores.classes; c++) {
            submodi_activations()->drop_ignored(tile->codes, h->batch->rule.classes, tile->width,
                                                tile->g + c * tile->stride);
        }
    }
    submodi_tile_store(h->batch, tile, x->weights->gradient);
}

static void look_up_multilabel(const void *context, const submodi_tile *tile)
{
    const looking *x = context;
    const submodi_histogram *h = x->h;
    int32_t list[SUBMODI_LIST];
    for (size_t c = 0; c < h->batch->scores.classes; c++) {
        const float *table = x->weights->table + c * submodi_table_size(h);
        const float *v = tile->v + c * tile->stride;
        const int32_t *codes = tile->codes + c * tile->stride;
        float *g = tile->g + c * tile->stride;
        submodi_bin_range range = {(float)x->weights->flat[c], INFINITY, 1};
        uint32_t smallest = 0;
        size_t n =
            submodi_bins()->labelled(&h->how, v, codes, tile->width, &range, list, &smallest);
        submodi_bins()->fill(&h->how, v, codes, tile->width, table, g);
        submodi_look_list_up(list, n, table, g);
    }
    submodi_tile_store(h->batch, tile, x->weights->gradient);
}

void submodi_histogram_write(const submodi_histogram *h, size_t group,
                             const submodi_weights *weights)
{
    const looking x = {h, weights};
    visit_group(h, group, SUBMODI_AGAIN,
                h->batch->multilabel ? look_up_multilabel : look_up_multiclass, &x);
}
