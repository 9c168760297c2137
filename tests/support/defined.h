/* The Lovász losses by their definition, for any measure: errors as floats, sorted as doubles, or
 * moved to the middles of bins. */
#ifndef SUBMOD_TESTS_DEFINED_H
#define SUBMOD_TESTS_DEFINED_H

#include "losses.h"
#include "ranked.h"

/* Loss and gradient; bins = 0: of the errors as they are, else of the middles of their bins. The
 * label 9 is ignored, and so are pixels of weight 0. *steepest: the largest derivative by a
 * probability or score. group_loss may be NULL: a number per group. At most 8 classes. */
double by_definition(const batch *d, kind k, const submod_loss_settings *s, const costs *F,
                     size_t bins, double *gradient, double *steepest, double *group_loss);

/* Up to a relative error of each entry where the weights are all there is. The derivative of an
 * activation takes differences of weights. */
void assert_gradient(const batch *d, kind k, const float *g, const double *wanted, double steepest);

#endif
