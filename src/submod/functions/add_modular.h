/* What is inside a function made by submod_fn_add_modular. */
#ifndef SUBMODI_FUNCTIONS_ADD_MODULAR_H
#define SUBMODI_FUNCTIONS_ADD_MODULAR_H

#include "submod/handle.h"

/* The function without its modular part, and the weights of that part; both borrowed from fn. NULL,
 * and *w untouched, for any other function. */
const submod_fn *submodi_without_modular(const submod_fn *fn, const double **w);

#endif
