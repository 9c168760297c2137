/* What is inside a function made by submod_fn_embed. */
#ifndef SUBMODI_FUNCTIONS_EMBED_H
#define SUBMODI_FUNCTIONS_EMBED_H

#include "submod/handle.h"

/* The function f of a smaller ground set, and which elements of fn its elements stand for; both
 * borrowed from fn. NULL, and *elements untouched, for any other function. */
const submod_fn *submodi_embedded(const submod_fn *fn, const int32_t **elements);

#endif
