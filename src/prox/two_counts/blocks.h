/* The prox of a function of two counts on two sorted lists, foreground and background. See
 * blocks.c. */
#ifndef SUBMODI_PROX_TWO_COUNTS_BLOCKS_H
#define SUBMODI_PROX_TWO_COUNTS_BLOCKS_H

#include "prox/two_counts/two_kinds.h"
#include "submod/monge.h"

/* Points at one level of u: so many of the foreground and of the background, after those of the
 * blocks before. A point with value x has s = offset + lambda (x - ref), so u = ref - offset /
 * lambda; ref is the value of the first foreground point, of the first background point if there is
 * none. */
typedef struct submodi_block {
    uint32_t fg, bg;
    double offset;
} submodi_block;

typedef struct submodi_blocks {
    const char *who; /* the public function, for error messages */
    const submod_measure *measure;
    submodi_point_list fg, bg;
    double lambda;
    double P, N;          /* pixels of both */
    submodi_block *block; /* the block that begins at rank k, among all points, stands at k */
    size_t count;         /* of blocks */
    uint64_t work;        /* points walked along, and evaluations */
} submodi_blocks;

/* Fills P, N, block, count and work; block has room for all points. The values must be as
 * submodi_require_range has them. SUBMOD_ECALLBACK: the measure failed. SUBMOD_ENOMEM. */
submod_status submodi_blocks_solve(submodi_blocks *b, submod_work *work);

/* Scratch memory that it takes, for n points. */
size_t submodi_blocks_bytes(size_t n);

/* F after the block less F before it; a, b: points before it. */
submod_status submodi_block_gain(const submodi_blocks *b, size_t fg_begin, size_t bg_begin,
                                 const submodi_block *block, double *gain);

/* Writes u and s in this form to pair[index] of all points, and finds f at that u (float:
 * rounded). */
submod_status submodi_blocks_write(const submodi_blocks *b, submodi_origin fg, submodi_origin bg,
                                   submodi_u_form form, submodi_prox_pair *pair,
                                   submodi_extension *result);

#endif
