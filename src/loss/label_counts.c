/* The labels of a batch and the weights of its pixels: checked, and counted by class and group.
 *
 * A first visit finds the largest weight of each group, which sets how finely its weights can be
 * added up (tensors/pixel_weights.h). The rounded weights are then kept for all later visits, 4
 * bytes a pixel. They are divided by a power of two that is at least the largest weight of their
 * group, the unit of the group's sums. So neither huge nor tiny weights leave the range of a float,
 * and a group of small weights loses nothing to the large weights of another. */
#include "loss/label_counts.h"

#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "loss/tensors/pixel_weight_loops.h"
#include "loss/tensors/pixel_weights.h"
#include "loss/tensors/row_loops.h"
#include "loss/tile.h"

/* ---- messages ---- */

static submod_status bad_label(const submodi_batch *batch, size_t b, size_t c, size_t i)
{
    submod_labels view = submodi_labels_for(batch, c);
    long long label = (long long)submodi_label(&view, b, i);
    const char *hint = batch->rule.has_ignore ? "" : "; set ignore_index to leave such pixels out";
    if (batch->multilabel && batch->scores.classes > 1) {
        return submodi_fail(SUBMOD_EINVAL, "labels[%zu][%zu][%zu] = %lld is not 0 or 1%s", b, c, i,
                            label, hint);
    }
    return submodi_fail(SUBMOD_EINVAL, "labels[%zu][%zu] = %lld is not in [0, %d)%s", b, i, label,
                        (int)batch->rule.classes, hint);
}

/* The message for the first bad label. */
static submod_status find_bad_label(const submodi_batch *batch)
{
    for (size_t b = 0; b < batch->scores.batch; b++) {
        for (size_t c = 0; c < submodi_label_rows(batch); c++) {
            submod_labels view = submodi_labels_for(batch, c);
            for (size_t i = 0; i < batch->scores.pixels; i++) {
                int32_t code;
                submodi_labels_read(&view, b, i, 1, &batch->rule, &code);
                if (code > batch->rule.classes) {
                    return bad_label(batch, b, c, i);
                }
            }
        }
    }
    return submodi_fail(SUBMOD_EINVAL, "the labels changed during the call");
}

/* ---- the weights of pixels ---- */

typedef struct weighing {
    const submodi_batch *batch;
    float *largest; /* threads x groups: the largest weight of a pixel that counts */
    bool *bad;      /* per thread */
} weighing;

/* Whether a pixel has a label that is not ignored. */
static bool counts(const submodi_batch *batch, const submodi_tile *tile, size_t i)
{
    bool some = false;
    for (size_t c = 0; !some && c < submodi_label_rows(batch); c++) {
        some = tile->codes[c * tile->stride + i] < batch->rule.classes;
    }
    return some;
}

static void look_at_weights(const void *context, const submodi_tile *tile)
{
    const weighing *x = context;
    size_t group = tile->image / x->batch->images_per_group;
    float *largest = &x->largest[tile->thread * x->batch->groups + group];
    float row[SUBMODI_TILE_MAX];
    submodi_pixel_weights_read(x->batch->settings.pixel_weights, tile->image, tile->first, tile->n,
                               row);
    x->bad[tile->thread] |= !submodi_pixel_weights_are_good(row, tile->n);
    for (size_t i = 0; i < tile->n; i++) {
        bool larger = row[i] > *largest && counts(x->batch, tile, i);
        *largest = larger ? row[i] : *largest;
    }
}

/* Combines the numbers of all threads in the batch. Returns false if a weight is bad. */
static bool join_threads(const weighing *x)
{
    size_t groups = x->batch->groups;
    bool bad = false;
    for (size_t t = 0; t < (size_t)x->batch->threads; t++) {
        bad |= x->bad[t];
        for (size_t g = 0; g < groups; g++) {
            float *largest = &x->batch->largest_weight[g];
            *largest = fmaxf(*largest, x->largest[t * groups + g]);
        }
    }
    return !bad;
}

/* Returns the rounder of a group. In the unit of the group, its largest weight is at most 1, or at
 * most a power of two if the unit is 1. */
static double rounder_of(const submodi_batch *batch, size_t group)
{
    double most = submodi_power_at_least((double)batch->largest_weight[group]) / batch->unit[group];
    return submodi_weight_rounder(most, submodi_group_pixels(batch));
}

static void keep_weights(const submodi_batch *batch)
{
    size_t pixels = batch->scores.pixels;
#pragma omp parallel for num_threads(batch->threads)
    for (size_t t = 0; t < batch->scores.batch * batch->tiles_per_image; t++) {
        size_t image = t / batch->tiles_per_image;
        size_t group = image / batch->images_per_group;
        size_t first = t % batch->tiles_per_image * batch->tile;
        size_t n = pixels - first < batch->tile ? pixels - first : batch->tile;
        float *row = batch->weight + image * pixels + first;
        if (batch->largest_weight[group] > 0) {
            submodi_pixel_weights_read(batch->settings.pixel_weights, image, first, n, row);
            submodi_pixel_weights()->round(batch->largest_weight[group], batch->unit[group],
                                           rounder_of(batch, group), n, row);
        } else {
            memset(row, 0, n * sizeof *row);
        }
    }
}

submod_status submodi_weights_look(submodi_batch *batch, submod_work *work)
{
    const submod_pixel_weights *view = batch->settings.pixel_weights;
    size_t count = batch->scores.batch * batch->scores.pixels;
    size_t threads = (size_t)batch->threads;
    memset(batch->largest_weight, 0, batch->groups * sizeof *batch->largest_weight);
    if (!view || count == 0) {
        return SUBMOD_OK;
    }
    weighing x = {.batch = batch};
    size_t of_threads = submodi_times(threads, batch->groups);
    x.largest = submodi_work_alloc(work, of_threads, sizeof *x.largest);
    x.bad = submodi_work_alloc(work, threads, sizeof *x.bad);
    /* Rows are read in whole vectors. */
    float *weight = submodi_work_alloc(work, count + SUBMODI_LANES, sizeof *weight);
    if (!x.largest || !x.bad || !weight) {
        return submodi_out_of_memory();
    }
    memset(x.largest, 0, of_threads * sizeof *x.largest);
    memset(x.bad, 0, threads * sizeof *x.bad);
    submodi_visit(batch, 0, batch->scores.batch, 0, SUBMODI_LABELS, look_at_weights, &x);
    if (!join_threads(&x)) {
        return submodi_pixel_weights_bad(view);
    }
    batch->weight = weight;
    return SUBMOD_OK;
}

void submodi_weights_keep(submodi_batch *batch)
{
    size_t count = batch->scores.batch * batch->scores.pixels;
    for (size_t g = 0; g < batch->groups; g++) {
        bool own = batch->largest_weight[g] > 0 && !batch->plain_weights;
        batch->unit[g] = own ? submodi_power_at_least((double)batch->largest_weight[g]) : 1;
    }
    if (batch->weight) {
        memset(batch->weight + count, 0, SUBMODI_LANES * sizeof *batch->weight);
        keep_weights(batch);
    }
}

/* ---- counts ---- */

/* What is counted: the foreground of each class; ignored and bad labels; and, of a multilabel
 * batch, the background of each class. */
typedef struct label_counts {
    const submodi_batch *batch;
    size_t size;     /* of a table: 2 classes + 2 */
    uint64_t *table; /* SIDE_BY_SIDE per thread */
    double *sum;     /* of weights, likewise; NULL: pixels have none */
} label_counts;

/* Neighbours often have the same label. Counted in the same place, each would have to wait for the
 * one before. */
enum { SIDE_BY_SIDE = 4 };

static void count_multilabel(const submodi_tile *tile, size_t C, uint64_t *table)
{
    for (size_t c = 0; c < C; c++) {
        uint64_t count[3] = {0};
        submodi_rows()->tally(tile->codes + c * tile->stride, tile->n, count);
        table[c] += count[1];
        table[C] += count[2];
        table[C + 1] += tile->n - count[0] - count[1] - count[2];
        table[C + 2 + c] += count[0];
    }
}

static void add_multilabel(const submodi_tile *tile, size_t C, double *sum)
{
    for (size_t c = 0; c < C; c++) {
        double both[2] = {0};
        submodi_pixel_weights()->tally(tile->codes + c * tile->stride, tile->weight, tile->n, both);
        sum[c] += both[1];
        sum[C + 2 + c] += both[0];
    }
}

/* The same tables, of weights; what is neither foreground nor background is not looked at. */
static void add_tile(const label_counts *x, const submodi_tile *tile)
{
    double *sum = x->sum + tile->thread * SIDE_BY_SIDE * x->size;
    if (x->batch->multilabel) {
        add_multilabel(tile, x->batch->scores.classes, sum);
        return;
    }
    for (size_t i = 0; i < tile->n; i++) {
        sum[i % SIDE_BY_SIDE * x->size + (size_t)tile->codes[i]] += (double)tile->weight[i];
    }
}

static void count_tile(const void *context, const submodi_tile *tile)
{
    const label_counts *x = context;
    uint64_t *table = x->table + tile->thread * SIDE_BY_SIDE * x->size;
    if (x->sum) {
        add_tile(x, tile);
    }
    if (x->batch->multilabel) {
        count_multilabel(tile, x->batch->scores.classes, table);
        return;
    }
    for (size_t i = 0; i < tile->n; i++) { /* C is the code of ignored, C + 1 of bad labels */
        table[i % SIDE_BY_SIDE * x->size + (size_t)tile->codes[i]]++;
    }
}

/* From the tables of all threads to the first. */
static void join_tables(const label_counts *x, size_t tables)
{
    for (size_t t = 1; t < tables; t++) {
        for (size_t k = 0; k < x->size; k++) {
            x->table[k] += x->table[t * x->size + k];
            if (x->sum) {
                x->sum[k] += x->sum[t * x->size + k];
            }
        }
    }
}

/* Entry k: a count, or a sum of weights. */
static double entry(const label_counts *x, size_t k)
{
    return x->sum ? x->sum[k] : (double)x->table[k];
}

static bool count_group(const label_counts *x, submodi_batch *batch, size_t group)
{
    size_t C = batch->scores.classes;
    size_t tables = (size_t)batch->threads * SIDE_BY_SIDE;
    memset(x->table, 0, tables * x->size * sizeof *x->table);
    if (x->sum) {
        memset(x->sum, 0, tables * x->size * sizeof *x->sum);
    }
    submodi_visit(batch, group * batch->images_per_group, batch->images_per_group, 0,
                  SUBMODI_LABELS, count_tile, x);
    join_tables(x, tables);
    double all = 0; /* multiclass: each pixel is foreground of one class */
    for (size_t c = 0; c < C; c++) {
        batch->valid += x->table[c] + x->table[C + 2 + c];
        all += entry(x, c);
    }
    for (size_t c = 0; c < C; c++) {
        batch->foreground[group * C + c] = entry(x, c);
        batch->background[group * C + c] =
            batch->multilabel ? entry(x, C + 2 + c) : all - entry(x, c);
    }
    return x->table[C + 1] == 0;
}

submod_status submodi_labels_count(submodi_batch *batch, submod_work *work)
{
    label_counts x = {.batch = batch, .size = 2 * batch->scores.classes + 2};
    size_t tables = (size_t)batch->threads * SIDE_BY_SIDE;
    x.table = submodi_work_alloc(work, tables, x.size * sizeof *x.table);
    x.sum = batch->weight ? submodi_work_alloc(work, tables, x.size * sizeof *x.sum) : NULL;
    if (!x.table || (batch->weight && !x.sum)) {
        return submodi_out_of_memory();
    }
    bool good = true;
    batch->valid = 0;
    for (size_t g = 0; good && g < batch->groups; g++) {
        good = count_group(&x, batch, g);
    }
    return good ? SUBMOD_OK : find_bad_label(batch);
}
