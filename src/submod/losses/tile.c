#include "submod/losses/tile.h"

#include <math.h>

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
    m.codes = submodi_take(work, batch->multilabel ? rows : 1, SUBMODI_TILE * sizeof *m.codes);
    return m;
}

submodi_tile_memory *submodi_tiles_take(const submodi_batch *batch, int threads, submod_work *work)
{
    submodi_tile_memory *tile = submodi_take(work, (size_t)threads, sizeof *tile);
    bool good = tile != NULL;
    for (int t = 0; good && t < threads; t++) {
        tile[t] = take_one(batch, work);
        good = tile[t].v && tile[t].g && tile[t].factor && tile[t].largest && tile[t].codes;
    }
    return good ? tile : NULL;
}

bool submodi_tile_load_scaled(const submodi_batch *batch, size_t image, size_t t,
                              const submodi_tile_memory *memory, submodi_tile *tile)
{
    size_t C = batch->scores.classes;
    size_t first = t * SUBMODI_TILE;
    size_t left = batch->scores.pixels - first;
    size_t n = left < SUBMODI_TILE ? left : SUBMODI_TILE;
    *tile = (submodi_tile){.image = image,
                           .first = first,
                           .n = n,
                           .codes = memory->codes,
                           .v = memory->v,
                           .factor = memory->factor,
                           .largest = memory->largest,
                           .g = memory->g};
    for (size_t c = 0; c < (batch->multilabel ? C : 1); c++) {
        submodi_batch_codes(batch, image, c, t, memory->codes + c * SUBMODI_TILE);
    }
    bool good = true;
    for (size_t i = 0; i < n; i++) {
        memory->largest[i] = -INFINITY;
        memory->factor[i] = 1;
    }
    for (size_t c = 0; c < C; c++) {
        /* Copied in any case: rows of a picture often lie a power of two apart and fight for the
         * same cache lines. */
        float *v = memory->v + c * SUBMODI_TILE;
        float buffer[SUBMODI_TILE];
        const float *row = submodi_row(&batch->scores, image, c, first, n, buffer);
        good = submodi_activations()->take_row(row, n, v, memory->largest) && good;
        submodi_prefetch_row(&batch->scores, image, c, first + SUBMODI_TILE, SUBMODI_TILE);
        if (batch->activation == SUBMODI_SIGMOID) {
            submodi_activations()->sigmoid(n, v);
        } else if (batch->activation == SUBMODI_PROBABILITY) {
            good = submodi_activations()->clamp_probability(n, v) && good;
        }
    }
    if (batch->activation == SUBMODI_SOFTMAX) {
        submodi_activations()->softmax(C, n, memory->largest, memory->v, memory->factor);
    }
    return good;
}

bool submodi_tile_load(const submodi_batch *batch, size_t image, size_t t,
                       const submodi_tile_memory *memory, submodi_tile *tile)
{
    bool good = submodi_tile_load_scaled(batch, image, t, memory, tile);
    for (size_t c = 0; batch->activation == SUBMODI_SOFTMAX && c < batch->scores.classes; c++) {
        submodi_activations()->multiply(tile->v + c * SUBMODI_TILE, tile->factor, tile->n);
    }
    for (size_t i = 0; i < tile->n; i++) {
        tile->factor[i] = 1;
    }
    return good;
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
                    return submodi_fail(SUBMOD_EINVAL,
                                        "%s: scores[%zu][%zu][%zu] = %g is no probability",
                                        batch->who, b, c, i, (double)x);
                }
            }
        }
    }
    return submodi_fail(SUBMOD_ENONFINITE, "%s: the scores changed during the call", batch->who);
}

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
