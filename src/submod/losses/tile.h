/* Tiles: consecutive pixels of one image with all their classes, as much as fits into the caches.
 * All losses go over their batch tile by tile, in submodi_visit: load, do something, store. */
#ifndef SUBMODI_LOSSES_TILE_H
#define SUBMODI_LOSSES_TILE_H

#include "submod/losses/batch.h"

typedef struct submodi_tile {
    size_t image, first, n;
    size_t part, thread;  /* which part of the visit it belongs to, and who is there */
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

/* Memory for each thread of the batch. NULL: out of memory. */
submodi_tile_memory *submodi_tiles_take(const submodi_batch *batch, submod_work *work);

/* What is loaded of a tile. */
enum {
    SUBMODI_LABELS = 1,
    SUBMODI_SCORES = 2,                  /* v as they come, factors 1 */
    SUBMODI_SCALED = SUBMODI_SCORES | 4, /* activated; the softmax up to the factors */
    SUBMODI_VALUES = SUBMODI_SCALED | 8  /* activated, factors 1 */
};

typedef void submodi_tile_body(const void *context, const submodi_tile *tile);

/* Goes over the tiles of images first .. first + images - 1 in parallel, loads what `load` says and
 * calls body for each (NULL: the scores are only looked at). parts: the tiles are cut into so many
 * runs, each of which one thread does in order; 0: every tile by itself. False if some score is
 * NaN, Inf, or not a probability where it should be: body is not called for such a tile, and
 * submodi_batch_bad_score finds the first. */
bool submodi_visit(const submodi_batch *batch, size_t first, size_t images, size_t parts,
                   unsigned load, submodi_tile_body *body, const void *context);
/* Looks at all scores, before anything is written. */
static inline bool submodi_scores_are_good(const submodi_batch *batch)
{
    return submodi_visit(batch, 0, batch->scores.batch, 0, SUBMODI_SCORES, NULL, NULL);
}
/* The message for the first bad score. */
submod_status submodi_batch_bad_score(const submodi_batch *batch);

/* tile->g holds the derivative with respect to v: turns it into that with respect to the scores
 * and stores it. The tile is SCALED or VALUES. */
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
