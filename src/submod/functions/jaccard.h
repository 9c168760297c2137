/* What solvers made for the Jaccard loss may know about a submod_fn. */
#ifndef SUBMODI_FUNCTIONS_JACCARD_H
#define SUBMODI_FUNCTIONS_JACCARD_H

#include "submod/handle.h"

/* The foreground of a function from submod_fn_jaccard, one bit per pixel: pixel e is bit e % 32 of
 * entry e / 32. NULL for any other function. Borrowed from fn. */
const uint32_t *submodi_jaccard_mask(const submod_fn *fn);

#endif
