/* Trees of set functions, made of bytes. */
#ifndef SUBMOD_TESTS_FUZZ_TREES_H
#define SUBMOD_TESTS_FUZZ_TREES_H

#include "fuzz.h"

enum { TREES_MOST = 8 };

/* A function, and how large the numbers are that it is made of: what rounding is relative to. That
 * may be more than its values, as terms cancel, and a contraction hides some. */
typedef struct tree {
    submod_fn *fn;
    double size;
} tree;

/* Any function of n elements, 2 <= n <= TREES_MOST: a leaf, or a combination of trees, at most
 * `depth` deep. All are submodular. fn is NULL if the library has refused one, with words. */
tree tree_make(dice *d, size_t n, int depth);

/* n numbers. */
void tree_vector(dice *d, numbers kind, size_t n, double *x);
/* lambda > 0, from 1e-300 to 1e300, mostly about 1. */
double tree_lambda(dice *d);

/* Calls a constructor with one hostile index, start or weight among its numbers: fails unless it is
 * refused with words, or has values that are finite or refused. */
void tree_try_hostile(dice *d, size_t n);

/* All values of F less F(empty): bit e of the index is element e. False if the library refuses one
 * of them, or if sums of them overflow. What F gains by pushing elements must be the same. */
bool tree_values(const tree *t, double *F);

/* How far s may be from a base by rounding. Cyclic projections and chains work on x: what lambda x
 * rounds away is lost to s, as prox.h says. */
double tree_base_rounding(const tree *t, submod_prox_method method, const double *x, double lambda);

#endif
