/* Tiles: consecutive pixels of one image with all their classes, as much as fits into the caches.
 * All losses go over their input tile by tile: load, do something, store. */
#ifndef SUBMODI_LOSSES_TILE_H
#define SUBMODI_LOSSES_TILE_H

#include "submod/losses/batch.h"

typedef struct submodi_tile {
    size_t image, first, n;
    const int32_t *codes; /* label codes: one row, or one per class when multilabel */
    float *v;             /* probabilities or scores: one row per class */
    float *factor;        /* one row: probabilities are v * factor */
    float *largest;       /* one row: the largest score of each pixel */
    float *g;             /* scratch of the same size, for derivatives */
} submodi_tile;

/* Memory of one thread for tiles. */
typedef struct submodi_tile_memory {
    float *v, *g, *factor, *largest;
    int32_t *codes;
} submodi_tile_memory;

/* That of so many threads. NULL: out of memory. */
submodi_tile_memory *submodi_tiles_take(const submodi_batch *batch, int threads, submod_work *work);

/* Tile t of image b: labels read, activation applied, factors 1. False if some score is NaN, Inf,
 * or not a probability where it should be: submodi_batch_bad_score then finds it and its words.
 */
bool submodi_tile_load(const submodi_batch *batch, size_t image, size_t t,
                       const submodi_tile_memory *memory, submodi_tile *tile);
/* The same, with the factors of the softmax left to be multiplied by. */
bool submodi_tile_load_scaled(const submodi_batch *batch, size_t image, size_t t,
                              const submodi_tile_memory *memory, submodi_tile *tile);
submod_status submodi_batch_bad_score(const submodi_batch *batch);

/* tile->g holds the derivative with respect to v: turns it into that with respect to the scores
 * and stores it. */
void submodi_tile_store(const submodi_batch *batch, const submodi_tile *tile,
                        const submod_gradient *gradient);

/* The codes of class c in a tile, and what a foreground pixel has there. */
static inline const int32_t *submodi_tile_codes(const submodi_batch *batch,
                                                const submodi_tile *tile, size_t c, int32_t *target)
{
    *target = batch->multilabel ? 1 : (int32_t)c;
    return batch->multilabel ? tile->codes + c * SUBMODI_TILE : tile->codes;
}

#endif
