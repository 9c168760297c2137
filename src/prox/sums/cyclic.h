/* The prox of a sum by cyclic projections on its members. */
#ifndef SUBMODI_PROX_SUMS_CYCLIC_H
#define SUBMODI_PROX_SUMS_CYCLIC_H

#include "prox/sums/members.h"

/* Fills u and s, p->extension unless it is NULL or the hinge is asked for, and iterations of info.
 * folded: p->fn in canonical form. Members may be reordered; their now and before are taken from
 * work here. SUBMOD_OK, or as usable as it got: SUBMOD_MAXITER, _TIMELIMIT, _CANCELLED,
 * _INACCURATE. */
submod_status submodi_cyclic(const submodi_prox_problem *p, const submodi_folded *folded,
                             submodi_member *members, size_t count, double *u, double *s,
                             submod_prox_info *info, submod_work *work);

#endif
