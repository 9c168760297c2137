/* How good a pair u, s is: primal, dual and gap, computed from the pair alone. */
#ifndef SUBMODI_PROX_GAP_H
#define SUBMODI_PROX_GAP_H

#include "prox/solver.h"

/* Fills info->primal, dual and gap for min f(u) + lambda/2 |u - x|^2; if settings->hinge, with
 * f(max(u, 0)). *allowed: the largest gap that tolerance and rounding permit. SUBMOD_ENUMERIC:
 * overflow. */
submod_status submodi_prox_gap(const submodi_prox_problem *p, const double *u, const double *s,
                               submod_prox_info *info, double *allowed, submod_work *work);

#endif
