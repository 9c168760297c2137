/* Tiles: consecutive pixels of one image with all their classes, as many as stay in the L1 cache.
 * All losses go over their batch tile by tile, in submodi_visit: load, do something, store.
 *
 * Rows of a tile are `stride` apart and filled up to `width`, a multiple of SUBMODI_LANES: loops
 * over them have no odd ends. What fills them up has score 0 and is ignored. */
#ifndef SUBMODI_LOSSES_TILE_H
#define SUBMODI_LOSSES_TILE_H

#include "loss/batch.h"

/* Pixels of a tile of so many classes, a multiple of SUBMODI_LANES. */
size_t submodi_tile_pixels(size_t classes);

typedef struct submodi_tile {
    size_t image, first, n;
    size_t width, stride;
    size_t index;         /* of all tiles of the batch */
    size_t part, thread;  /* which part of the visit it belongs to, and who is there */
    const int32_t *codes; /* label codes: one row, or one per class when multilabel */
    const float *weight;  /* of the pixels: one row; NULL: all 1 */
    float *v;             /* probabilities or scores: one row per class */
    float *factor;        /* one row: probabilities are v * factor; 0 at ignored pixels */
    float *g;             /* scratch of the same size, for derivatives */
    float *slope;         /* sigmoid: the derivative of v by the score */
    /* Loaded as ERRORS, not multilabel: the error and the probability of each pixel's own class. */
    float *own, *own_p;
} submodi_tile;

/* Memory of one thread for tiles. */
typedef struct submodi_tile_memory {
    float *v, *g, *slope, *factor, *own, *own_p;
    int32_t *codes;
} submodi_tile_memory;

/* Memory for each thread of the batch. NULL: out of memory. */
submodi_tile_memory *submodi_tiles_take(const submodi_batch *batch, submod_work *work);
/* Memory for notes. False: out of memory. */
bool submodi_notes_take(submodi_batch *batch, submod_work *work);

/* What is loaded of a tile. */
enum {
    SUBMODI_LABELS = 1,
    SUBMODI_SCORES = 2, /* v as they come */
    /* Activated, the softmax up to the factors; with labels. Makes notes, if there is room. */
    SUBMODI_VALUES = 4 | SUBMODI_LABELS,
    /* Activated by what was noted, the softmax with its factors; with labels. */
    SUBMODI_AGAIN = 8 | SUBMODI_LABELS,
    SUBMODI_CHECK = 16, /* nothing; only checks the scores */
    /* Errors, with labels: v * factor at the background; at the foreground in `own`, or,
     * multilabel, in v. */
    SUBMODI_ERRORS = 32 | SUBMODI_LABELS
};

typedef void submodi_tile_body(const void *context, const submodi_tile *tile);

/* Goes over the tiles of images first .. first + images - 1 in parallel, loads what `load` says and
 * calls body for each (may be NULL). parts: the tiles are cut into so many
 * runs, each of which one thread does in order; 0: one run per thread; results must not
 * depend on which tiles those are. False if some score is NaN, Inf, or not a probability where it
 * should be: body is not called for such a tile, and submodi_batch_bad_score finds the first. */
bool submodi_visit(const submodi_batch *batch, size_t first, size_t images, size_t parts,
                   unsigned load, submodi_tile_body *body, const void *context);
/* Tile t of an image; tile->thread says for whom. False if some score is bad. */
bool submodi_tile_load(const submodi_batch *batch, size_t image, size_t t, unsigned load,
                       submodi_tile *tile);
/* Looks at all scores, before anything is written. */
bool submodi_scores_are_good(const submodi_batch *batch);
/* The message for the first bad score. */
submod_status submodi_batch_bad_score(const submodi_batch *batch);

/* The rows of a tile's scores: the caller's own if they can be read as they are, else a copy in v.
 */
submodi_rows_in submodi_tile_rows(const submodi_batch *batch, const submodi_tile *tile);
/* What has to be subtracted from the scores of a tile whose largest |score| has bits `size`; NULL:
 * nothing. Else it goes to shift, and in has the rows once more. */
const float *submodi_tile_shift(const submodi_batch *batch, const submodi_tile *tile, uint32_t size,
                                submodi_rows_in *in, float *shift);
/* Whether the rows of a gradient are written around the caches: all are aligned, and there is more
 * of it than caches hold. */
bool submodi_gradient_streams(const submodi_batch *batch, const submod_gradient *gradient);
/* Where loops can store a tile's gradient; else data is NULL. */
submodi_rows_out submodi_tile_target(const submodi_batch *batch, const submodi_tile *tile,
                                     const submod_gradient *gradient);

/* tile->g holds the derivative with respect to v for pixels of weight 1: turns it into that with
 * respect to the scores, times tile->weight, and stores it. The tile is loaded AGAIN, or has no
 * softmax. */
void submodi_tile_store(const submodi_batch *batch, const submodi_tile *tile,
                        const submod_gradient *gradient);
/* The same of a softmax and a whole tile (n is width) whose derivative with respect to v, weights
 * included, lies in the gradient already, which is overwritten. */
void submodi_tile_store_in_place(const submodi_batch *batch, const submodi_tile *tile,
                                 const submod_gradient *gradient);
/* tile->g holds the derivative with respect to the scores, weights included: stores it. */
void submodi_tile_store_scores(const submodi_batch *batch, const submodi_tile *tile,
                               const submod_gradient *gradient);

/* One class of up to SUBMODI_TILE_MAX pixels, loaded AGAIN. */
typedef struct submodi_class_row {
    size_t n, width;
    const int32_t *codes;
    const float *weight; /* as of a tile */
    int32_t target;      /* the code of foreground pixels */
    float v[SUBMODI_TILE_MAX];
    int32_t own_codes[SUBMODI_TILE_MAX]; /* where codes are, if they had to be made */
} submodi_class_row;

void submodi_load_class_row(const submodi_batch *batch, size_t image, size_t c, size_t first,
                            size_t n, submodi_class_row *row);

/* The codes of class c in a tile, and what a foreground pixel has there. */
static inline const int32_t *submodi_tile_codes(const submodi_batch *batch,
                                                const submodi_tile *tile, size_t c, int32_t *target)
{
    *target = batch->multilabel ? 1 : (int32_t)c;
    return batch->multilabel ? tile->codes + c * tile->stride : tile->codes;
}

#endif
