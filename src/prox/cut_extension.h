/* The extension of a cut, by its edges. */
#ifndef SUBMODI_PROX_CUT_EXTENSION_H
#define SUBMODI_PROX_CUT_EXTENSION_H

#include "prox/solver.h"
#include "submod/functions/cut.h"

/* f(u) of a cut, and f(u) - <s, u>, without a sort: for any u and any base s. */
void submodi_cut_extension(const submodi_cut *cut, const double *u, const double *s, double lambda,
                           submodi_extension *f);

#endif
