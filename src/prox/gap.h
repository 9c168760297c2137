/* How good a pair u, s is: primal, dual and gap, computed from the pair alone. */
#ifndef SUBMODI_PROX_GAP_H
#define SUBMODI_PROX_GAP_H

#include <float.h>

#include "prox/solver.h"

/* Fills info->primal, dual and gap for min f(u) + lambda/2 |u - x|^2; if settings->hinge, with
 * f(max(u, 0)). *allowed: the largest gap that tolerance and rounding permit. SUBMOD_ENUMERIC:
 * overflow. */
submod_status submodi_prox_gap(const submodi_prox_problem *p, const double *u, const double *s,
                               submod_prox_info *info, double *allowed, submod_work *work);

/* The extension at u, compared with s, by a sort and a chain: for methods that did not leave it. Of
 * p only who, fn, lambda and settings->hinge are looked at. */
submod_status submodi_extension_at(const submodi_prox_problem *p, const double *u, const double *s,
                                   submodi_extension *f, submod_work *work);

/* Whether a gap of 0 proves nothing, because the squares that it is made of are below the normal
 * numbers, most of them 0, while x and s / lambda are not; given by their largest entries. */
static inline bool submodi_gap_is_blind(double lambda, double x, double step)
{
    return (x > 0 || step > 0) && lambda * x * x + lambda * step * step < DBL_MIN;
}

#endif
