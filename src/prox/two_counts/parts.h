/* A part of the problem and what is known about it: shared by walks.c, looks.c and blocks.c. */
#ifndef SUBMODI_PROX_TWO_COUNTS_PARTS_H
#define SUBMODI_PROX_TWO_COUNTS_PARTS_H

#include "prox/two_counts/blocks.h"

/* Points of both kinds between two level sets. */
typedef struct submodi_span {
    uint32_t fg_begin, fg_end, bg_begin, bg_end;
    int next;         /* what blocks.c does with it next */
    double low, high; /* of its levels */
} submodi_span;

static inline size_t submodi_span_size(const submodi_span *p)
{
    return (size_t)(p->fg_end - p->fg_begin) + (p->bg_end - p->bg_begin);
}

static inline size_t submodi_span_rank(const submodi_span *p)
{
    return (size_t)p->fg_begin + p->bg_begin;
}

/* Consecutive entries of the path at one mean of x - g / lambda. */
typedef struct submodi_span_pool {
    uint32_t begin; /* rank */
    double x, g;    /* means over its pixels */
    double pixels;
} submodi_span_pool;

/* The path through all spans, and scratch memory for looks. */
typedef struct submodi_path {
    submodi_blocks *b;
    uint8_t *is_fg;  /* by rank */
    double *gain[2]; /* by point of each kind, background first: per pixel, along the last walk */
    double *sum[2];  /* prefix sums of s for a look */
    submodi_span_pool *pools; /* of the span that is looked at */
    submod_work *work;
} submodi_path;

/* walks.c: finds a path through a span and the gains along it. */
submod_status submodi_walk(submodi_path *s, const submodi_span *p);
/* Whether a walk through a piece of a span between two level sets along the path would go the same
 * way again. */
bool submodi_walks_repeat(const submodi_blocks *b);

/* looks.c: isotonic regression along the path of a span. Returns the number of pools. */
size_t submodi_regress(submodi_path *s, const submodi_span *p);

/* The span as one block. */
submod_status submodi_pool_span(const submodi_blocks *b, const submodi_span *p,
                                submodi_block *block);
/* What its offset is relative to: blocks.h. */
static inline double submodi_span_ref(const submodi_blocks *b, const submodi_span *p)
{
    return p->fg_begin < p->fg_end ? b->fg.value[p->fg_begin] : b->bg.value[p->bg_begin];
}

/* The lowest corner of the span in F - s, s = offset + lambda (x - ref). */
submod_status submodi_look(submodi_path *s, const submodi_span *p, double ref, double offset,
                           submodi_lattice_point *found);

/* F from a corner on. */
submod_status submodi_increment_at(const submodi_blocks *b, size_t fg, size_t bg,
                                   submodi_increment *rise);

#endif
