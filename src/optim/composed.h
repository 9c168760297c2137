/* The map of solvers.h, and f(A x) + g(x) as a problem. */
#ifndef SUBMODI_OPTIM_COMPOSED_H
#define SUBMODI_OPTIM_COMPOSED_H

#include <submod/solvers.h>

/* y = A x, x = A'y; the status of the callback. */
submod_status submodi_map_forward(const submod_map *map, const double *x, double *y);
submod_status submodi_map_adjoint(const submod_map *map, const double *y, double *x);

/* Not below the largest singular value of a matrix. columns: as many numbers of scratch. */
double submodi_map_norm(const submod_map *map, double *columns);

/* Refuses what submod_problem_composed does. */
submod_status submodi_composed_check(const submod_problem *f, const submod_map *map,
                                     const submod_problem *g);

#endif
