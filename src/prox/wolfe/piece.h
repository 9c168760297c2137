/* A piece of a problem: consecutive ranks of a sequence of all elements, along which u falls. */
#ifndef SUBMODI_PROX_WOLFE_PIECE_H
#define SUBMODI_PROX_WOLFE_PIECE_H

#include "prox/combination.h"
#include "prox/wolfe/min_norm.h"

typedef struct submodi_piece {
    submodi_part part; /* its element i is sequence[part.begin + i] */
    double low, high;  /* lambda u lies between them */
    double before;     /* F of all that comes before it, minus F(empty) */
    submod_fn *fn;     /* NULL: a minor of F, to be made when it is needed */
    /* Where to start from, in memory of its own; the last point is known. */
    size_t count;
    int32_t *orders;
    double *weights;
    double *points;
    uint8_t *known;
    submod_combination found; /* at the end, if somebody asks: its base */
} submodi_piece;

static inline size_t submodi_piece_size(const submodi_piece *q)
{
    return q->part.end - q->part.begin;
}

/* Frees what it holds. */
void submodi_piece_clear(submodi_piece *q);
/* Frees fn and what it would start from. */
void submodi_piece_forget_start(submodi_piece *q);

/* Takes a run on the piece `parent` apart at its cuts. Reorders the parent's elements in sequence
 * by the order of the run. Writes the pieces that have two elements or more to children, *count of
 * them. On failure there are none. */
submod_status submodi_divide(const submodi_piece *parent, const submodi_wolfe *run,
                             int32_t *sequence, submodi_piece *children, size_t *count,
                             submod_work *work);

/* Pieces side by side: each has found its base, by elements of its own; ranks in none of them are
 * pieces of one element. *to becomes their base as a combination of orders of all n elements. With
 * c_j orders in piece j there are at most 1 + sum of (c_j - 1): a walk along all weights at once.
 */
submod_status submodi_merge(const char *who, const submodi_piece *pieces, size_t count,
                            const int32_t *sequence, size_t n, submod_combination *to,
                            submod_work *work);

#endif
