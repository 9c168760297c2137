/* The exact prox of the Jaccard extension, for all that needs it: functions, weighted points,
 * histograms, the loss layer. */
#ifndef SUBMODI_PROX_JACCARD_JACCARD_PROX_H
#define SUBMODI_PROX_JACCARD_JACCARD_PROX_H

#include "prox/jaccard/levels.h"
#include <submod/prox.h>

typedef struct submodi_jaccard_problem {
    const char *who;      /* the public function, for words */
    size_t n;             /* at most 2^31 - 1 */
    const double *x;      /* finite */
    const uint32_t *mask; /* foreground: bit i % 32 of word i / 32 */
    const uint64_t
        *multiplicity; /* of the points, > 0, their sum exact as a double; NULL: 1 each */
    double lambda;     /* > 0, finite */
    /* Where the extension at u and s, in the form given, goes; NULL: nowhere. Untouched if n = 0.
     */
    submodi_extension *extension;
    submodi_u_form form;
} submodi_jaccard_problem;

/* Words of a mask for n points. */
static inline size_t submodi_mask_words(size_t n)
{
    return n / 32 + 1;
}

void submodi_mask_fill(const uint8_t *foreground, size_t n, uint32_t *mask);

/* u and s: one number per point, s that of each of its pixels. Of info: iterations and work.
 * SUBMOD_ENUMERIC: sums of x, 1 / lambda or lambda * (max x - min x) overflow. SUBMOD_ENOMEM. */
submod_status submodi_jaccard_prox(const submodi_jaccard_problem *p, double *u, double *s,
                                   submod_prox_info *info, submod_work *work);

/* Refuses a lambda that is not finite and > 0. */
submod_status submodi_require_lambda(const char *who, double lambda);

/* Scratch memory that the above takes from work, for multiplicity NULL and `threads` threads;
 * SIZE_MAX when it does not fit into a size_t. */
size_t submodi_jaccard_prox_bytes(size_t n, int threads);

#endif
