/* The exact prox of functions of two counts, used by set functions, weighted points, histograms and
 * the loss layer. */
#ifndef SUBMODI_PROX_TWO_COUNTS_TWO_COUNTS_PROX_H
#define SUBMODI_PROX_TWO_COUNTS_TWO_COUNTS_PROX_H

#include "prox/two_counts/two_kinds.h"

/* pair: u and s of each point; s is that of each of its pixels. *found: f at u, and the sums over
 * pixels, all finite; untouched if n = 0. Fills method, iterations and work of info. Jaccard by its
 * own method, jaccard.c. SUBMOD_ECALLBACK: the measure failed. SUBMOD_ENUMERIC: u, s, the
 * objective, sums of x, 1 / lambda or lambda * (max x - min x) overflow. SUBMOD_ENOMEM. */
submod_status submodi_two_counts_prox(const submodi_two_kinds_problem *p, submodi_prox_pair *pair,
                                      submodi_extension *found, submod_prox_info *info,
                                      submod_work *work);

/* Scratch memory that it takes from work, for multiplicity NULL and `threads` threads; SIZE_MAX
 * when it does not fit into a size_t. */
size_t submodi_two_counts_prox_bytes(const submod_measure *measure, size_t n, int threads);

#endif
