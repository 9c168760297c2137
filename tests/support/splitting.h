/* What the tests of submod_primal_dual share. */
#ifndef TESTS_SPLITTING_H
#define TESTS_SPLITTING_H

#include <submod/optim.h>

/* The minimum of whole + decay/2 |x|^2, to 1e-9, by the bundle method; best: where it is. Without
 * decay it must be within 1e3 of 0. */
double bundle_minimum(const submod_problem *whole, double decay, double *best);

#endif
