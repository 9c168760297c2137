/* The exact prox of the Jaccard extension, used by set functions, weighted points, histograms and
 * the loss layer. */
#ifndef SUBMODI_PROX_TWO_COUNTS_JACCARD_PROX_H
#define SUBMODI_PROX_TWO_COUNTS_JACCARD_PROX_H

#include "prox/two_counts/levels.h"

/* pair: u and s of each point; s is that of each of its pixels. *found: f at u, and the sums over
 * pixels, all finite; untouched if n = 0. Fills iterations and work of info.
 * SUBMOD_ENUMERIC: u, s, the objective, sums of x, 1 / lambda or lambda * (max x - min x) overflow.
 * SUBMOD_ENOMEM. */
submod_status submodi_jaccard_prox(const submodi_two_kinds_problem *p, submodi_prox_pair *pair,
                                   submodi_extension *found, submod_prox_info *info,
                                   submod_work *work);

/* Scratch memory that submodi_jaccard_prox takes from work, for multiplicity NULL and `threads`
 * threads; SIZE_MAX when it does not fit into a size_t. */
size_t submodi_jaccard_prox_bytes(size_t n, int threads);

#endif
