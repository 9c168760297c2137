/* Loading, visiting and storing tiles (see tile.h). */
#include "submod/losses/tile.h"

#include <math.h>
#include <omp.h>

#include "base/error.h"
#include "base/memory.h"
#include "submod/losses/activation_loops.h"
#include "submod/tensors/rows.h"

static submodi_tile_memory take_one(const submodi_batch *batch, submod_work *work)
{
    size_t rows = batch->scores.classes;
    submodi_tile_memory m;
    m.v = submodi_take(work, rows, SUBMODI_TILE * sizeof *m.v);
    m.g = submodi_take(work, rows, SUBMODI_TILE * sizeof *m.g);
    m.factor = submodi_take(work, 1, SUBMODI_TILE * sizeof *m.factor);
    m.largest = submodi_take(work, 1, SUBMODI_TILE * sizeof *m.largest);
    m.codes = submodi_take(work, submodi_label_rows(batch), SUBMODI_TILE * sizeof *m.codes);
    return m;
}

submodi_tile_memory *submodi_tiles_take(const submodi_batch *batch, submod_work *work)
{
    submodi_tile_memory *memory = submodi_take(work, (size_t)batch->threads, sizeof *memory);
    bool good = memory != NULL;
    for (int t = 0; good && t < batch->threads; t++) {
        memory[t] = take_one(batch, work);
        good =
            memory[t].v && memory[t].g && memory[t].factor && memory[t].largest && memory[t].codes;
    }
    return good ? memory : NULL;
}

/* ---- loading ---- */

static void load_labels(const submodi_batch *batch, const submodi_tile *tile, int32_t *codes)
{
    for (size_t c = 0; c < submodi_label_rows(batch); c++) {
        submod_labels view = submodi_labels_for(batch, c);
        submodi_labels_read(&view, tile->image, tile->first, tile->n, &batch->rule,
                            codes + c * SUBMODI_TILE);
    }
}

/* False if some score is bad. */
static bool load_scores(const submodi_batch *batch, const submodi_tile *tile, bool activate)
{
    const submodi_activation_loops *loops = submodi_activations();
    size_t n = tile->n;
    bool good = true;
    for (size_t i = 0; i < n; i++) {
        tile->largest[i] = -INFINITY;
        tile->factor[i] = 1;
    }
    for (size_t c = 0; c < batch->scores.classes; c++) {
        /* Copied in any case: rows of a picture often lie a power of two apart and fight for the
         * same cache lines. */
        float *v = tile->v + c * SUBMODI_TILE;
        float buffer[SUBMODI_TILE];
        const float *row = submodi_row(&batch->scores, tile->image, c, tile->first, n, buffer);
        good = loops->take_row(row, n, v, tile->largest) && good;
        submodi_prefetch_row(&batch->scores, tile->image, c, tile->first + SUBMODI_TILE,
                             SUBMODI_TILE);
        if (batch->activation == SUBMODI_PROBABILITY) {
            good = loops->clamp_probability(n, v) && good;
        } else if (batch->activation == SUBMODI_SIGMOID && activate) {
            loops->sigmoid(n, v);
        }
    }
    if (batch->activation == SUBMODI_SOFTMAX && activate) {
        loops->softmax(batch->scores.classes, n, tile->largest, tile->v, tile->factor);
    }
    return good;
}

/* From probabilities up to a factor to probabilities. */
static void normalise(const submodi_batch *batch, const submodi_tile *tile)
{
    for (size_t c = 0; c < batch->scores.classes; c++) {
        submodi_activations()->multiply(tile->v + c * SUBMODI_TILE, tile->factor, tile->n);
    }
    for (size_t i = 0; i < tile->n; i++) {
        tile->factor[i] = 1;
    }
}

/* Tile t of an image into memory; false if some score is bad. */
static bool load_tile(const submodi_batch *batch, size_t image, size_t t, unsigned load,
                      const submodi_tile_memory *memory, submodi_tile *tile)
{
    size_t first = t * SUBMODI_TILE;
    size_t left = batch->scores.pixels - first;
    tile->image = image;
    tile->first = first;
    tile->n = left < SUBMODI_TILE ? left : SUBMODI_TILE;
    tile->codes = memory->codes;
    tile->v = memory->v;
    tile->factor = memory->factor;
    tile->largest = memory->largest;
    tile->g = memory->g;
    if (load & SUBMODI_LABELS) {
        load_labels(batch, tile, memory->codes);
    }
    bool activate = (load & SUBMODI_SCALED) == SUBMODI_SCALED;
    if (load & SUBMODI_SCORES && !load_scores(batch, tile, activate)) {
        return false;
    }
    if ((load & SUBMODI_VALUES) == SUBMODI_VALUES && batch->activation == SUBMODI_SOFTMAX) {
        normalise(batch, tile);
    }
    return true;
}

bool submodi_visit(const submodi_batch *batch, size_t first, size_t images, size_t parts,
                   unsigned load, submodi_tile_body *body, const void *context)
{
    size_t tiles = images * batch->tiles_per_image;
    size_t runs = parts ? parts : tiles;
    int bad = 0;
#pragma omp parallel for num_threads(batch->threads) reduction(| : bad)
    for (size_t k = 0; k < runs; k++) {
        submodi_tile tile = {.part = k, .thread = (size_t)omp_get_thread_num()};
        for (size_t t = k * tiles / runs; t < (k + 1) * tiles / runs; t++) {
            size_t image = first + t / batch->tiles_per_image;
            if (!load_tile(batch, image, t % batch->tiles_per_image, load,
                           &batch->memory[tile.thread], &tile)) {
                bad = 1; /* what NaN leaves behind is of no use */
            } else if (body) {
                body(context, &tile);
            }
        }
    }
    return !bad;
}

submod_status submodi_batch_bad_score(const submodi_batch *batch)
{
    for (size_t b = 0; b < batch->scores.batch; b++) {
        for (size_t c = 0; c < batch->scores.classes; c++) {
            for (size_t i = 0; i < batch->scores.pixels; i++) {
                float buffer;
                float x = *submodi_row(&batch->scores, b, c, i, 1, &buffer);
                if (!isfinite(x)) {
                    return submodi_fail(SUBMOD_ENONFINITE, "%s: scores[%zu][%zu][%zu] is %g",
                                        batch->who, b, c, i, (double)x);
                }
                float clamped = x;
                if (batch->activation == SUBMODI_PROBABILITY &&
                    !submodi_activations()->clamp_probability(1, &clamped)) {
                    return submodi_fail(
                        SUBMOD_EINVAL,
                        "%s: scores[%zu][%zu][%zu] = %g is no probability; it must be in [0, 1]",
                        batch->who, b, c, i, (double)x);
                }
            }
        }
    }
    return submodi_fail(SUBMOD_ENONFINITE, "%s: the scores changed during the call", batch->who);
}

/* ---- storing ---- */

static void store_softmax(const submodi_batch *batch, const submodi_tile *tile,
                          const submod_gradient *gradient)
{
    size_t C = batch->scores.classes;
    float mean[SUBMODI_TILE];
    submodi_activations()->softmax_mean(tile->v, tile->factor, tile->g, C, tile->n, mean);
    for (size_t c = 0; c < C; c++) {
        const float *v = tile->v + c * SUBMODI_TILE;
        float *g = tile->g + c * SUBMODI_TILE;
        float *to = submodi_direct_row(gradient, tile->image, c, tile->first);
        submodi_activations()->softmax_backward(v, tile->factor, mean, g, tile->n,
                                                to ? (float)gradient->scale : 1.0F, to ? to : g);
        if (!to) {
            submodi_store_row(gradient, tile->image, c, tile->first, tile->n, g);
        }
    }
}

void submodi_tile_store(const submodi_batch *batch, const submodi_tile *tile,
                        const submod_gradient *gradient)
{
    if (batch->activation == SUBMODI_SOFTMAX) {
        store_softmax(batch, tile, gradient);
        return;
    }
    for (size_t c = 0; c < batch->scores.classes; c++) {
        float *g = tile->g + c * SUBMODI_TILE;
        if (batch->activation == SUBMODI_SIGMOID) {
            float buffer[SUBMODI_TILE];
            const float *score =
                submodi_row(&batch->scores, tile->image, c, tile->first, tile->n, buffer);
            submodi_activations()->sigmoid_backward(score, tile->n, g);
        }
        submodi_store_row(gradient, tile->image, c, tile->first, tile->n, g);
    }
}
