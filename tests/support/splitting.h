/* What the tests of submod_primal_dual and submod_admm share. */
#ifndef TESTS_SPLITTING_H
#define TESTS_SPLITTING_H

#include <submod/solvers.h>

typedef submod_status splitter(const submod_problem *f, const submod_map *map,
                               const submod_problem *g, double *x,
                               const submod_split_settings *settings, submod_optim_info *info,
                               submod_work *work);

/* Both. */
extern splitter *const splitters[2];

/* The minimum of whole + decay/2 |x|^2, to 1e-9, by the bundle method; best: where it is. Without
 * decay it must be within 1e3 of 0. */
double bundle_minimum(const submod_problem *whole, double decay, double *best);

#endif
