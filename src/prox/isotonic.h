/* Isotonic regression in the form that proximal operators need. */
#ifndef SUBMODI_PROX_ISOTONIC_H
#define SUBMODI_PROX_ISOTONIC_H

#include <stddef.h>

/* A block of entries that share one value: the mean of x - g / lambda over it. */
typedef struct submodi_pool {
    size_t begin; /* the block ends where the next one begins */
    double x, g;  /* means */
} submodi_pool;

/* The best falling sequence,
 *
 *     min over u_0 >= u_1 >= .. >= u_n-1 of  sum of g_i u_i + lambda/2 (u_i - x_i)^2 ,
 *
 * and s = lambda (x - u). Entries that tie are pooled. pools: scratch memory for n. u may be x, s
 * may be g. */
void submodi_isotonic(size_t n, const double *x, const double *g, double lambda,
                      submodi_pool *pools, double *u, double *s);

/* Returns the value u of a block of k entries with the mean g, and writes s = lambda (x - u). s is
 * computed as mean g + lambda (x_i - mean x), with x relative to its first entry, so that it does
 * not cancel for large lambda. */
double submodi_block_level(size_t k, const double *x, double g, double lambda, double *s);

#endif
