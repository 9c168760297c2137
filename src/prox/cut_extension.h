/* The extension of a cut, by its edges. */
#ifndef SUBMODI_PROX_CUT_EXTENSION_H
#define SUBMODI_PROX_CUT_EXTENSION_H

#include "prox/solver.h"

/* Whether F is a cut, as submod_fn_cut makes it. */
bool submodi_is_cut(const submod_fn *fn);

/* f(u) of a cut, and f(u) - <s, u>, without a sort. */
void submodi_cut_extension(const submod_fn *fn, const double *u, const double *s, double lambda,
                           submodi_extension *f);

#endif
