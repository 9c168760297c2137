/* What the loops over the rows of a tile share. */
#ifndef SUBMODI_LOSSES_TILE_ROW_H
#define SUBMODI_LOSSES_TILE_ROW_H

#include "base/internal.h"
#include "loss/activation_loops.h"
#include "loss/pointwise_vector.h"

/* Asks for the scores of the same row in the next tile. Pictures have rows that lie a power of two
 * apart and fight for the same lines of L1, so L2 has to do. */
static inline void submodi_prefetch_row(const submodi_rows_in *in, const float *row)
{
    __builtin_prefetch(row + in->width, 0, 2);
}

/* Scores ready for exp. */
static inline v_float submodi_v_shift(v_float x, const float *shift)
{
    return v_max(x - v_load(shift), v_all(SUBMODI_LOWEST_SCORE));
}

/* to <- scale * d, or added to what is there; adding to 0 leaves no -0, as everywhere. */
static inline void submodi_v_put(float *to, v_float d, float scale, submodi_store how)
{
    d = scale * d;
    if (how == SUBMODI_ADD) {
        v_store(to, v_load(to) + d);
    } else if (how == SUBMODI_STREAM) {
        v_stream(to, 0.0F + d);
    } else {
        v_store(to, 0.0F + d);
    }
}

#endif
