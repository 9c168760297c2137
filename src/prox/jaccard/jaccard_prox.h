/* The exact prox of the Jaccard extension, used by set functions, weighted points, histograms and
 * the loss layer. */
#ifndef SUBMODI_PROX_JACCARD_JACCARD_PROX_H
#define SUBMODI_PROX_JACCARD_JACCARD_PROX_H

#include "prox/jaccard/levels.h"
#include <submod/prox.h>

typedef struct submodi_jaccard_problem {
    const char *who;              /* the public function, for error messages */
    size_t n;                     /* at most 2^31 - 1 */
    const double *x;              /* finite */
    const uint32_t *mask;         /* foreground: bit i % 32 of word i / 32 */
    const uint64_t *multiplicity; /* > 0, the sum exact as a double; NULL: 1 each */
    double lambda;                /* > 0, finite */
    submodi_u_form form;          /* of u and s, and of what is measured */
} submodi_jaccard_problem;

/* Number of 32-bit words in a mask for n points. */
static inline size_t submodi_mask_words(size_t n)
{
    return n / 32 + 1;
}

void submodi_mask_fill(const uint8_t *foreground, size_t n, uint32_t *mask);

/* pair: u and s of each point; s is that of each of its pixels. *found: f at u, and the sums over
 * pixels, all finite; untouched if n = 0. Fills iterations and work of info.
 * SUBMOD_ENUMERIC: u, s, the objective, sums of x, 1 / lambda or lambda * (max x - min x) overflow.
 * SUBMOD_ENOMEM. */
submod_status submodi_jaccard_prox(const submodi_jaccard_problem *p, submodi_prox_pair *pair,
                                   submodi_extension *found, submod_prox_info *info,
                                   submod_work *work);

/* Copies u and s to the caller, who may want one of them only: the other is NULL. */
void submodi_pairs_out(const submodi_prox_pair *pair, size_t n, double *u, double *s);

/* Scratch memory that submodi_jaccard_prox takes from work, for multiplicity NULL and `threads`
 * threads; SIZE_MAX when it does not fit into a size_t. */
size_t submodi_jaccard_prox_bytes(size_t n, int threads);

#endif
