/* How good a pair u, s is: primal, dual and gap, computed from the pair alone. */
#ifndef SUBMODI_PROX_GAP_H
#define SUBMODI_PROX_GAP_H

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

#endif
