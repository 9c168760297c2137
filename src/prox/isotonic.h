/* Isotonic regression in the form that proximal operators need. */
#ifndef SUBMODI_PROX_ISOTONIC_H
#define SUBMODI_PROX_ISOTONIC_H

#include <stddef.h>

/* A block of entries that share one value: the mean of x - g / lambda over it. */
typedef struct submodi_pool {
    size_t begin; /* the block ends where the next one begins */
    double x, g;  /* means */
    double weight;
} submodi_pool;

/* Adds an entry to a list of blocks: merges it with those before it that do not lie above it.
 * Returns the new number of blocks. Compares mean x - mean g / lambda, times lambda, so that a
 * small g still decides between equal x. */
static inline size_t submodi_pool_add(submodi_pool *pools, size_t count, submodi_pool last,
                                      double lambda)
{
    for (; count; count--) {
        const submodi_pool *before = &pools[count - 1];
        if (!(lambda * (before->x - last.x) <= before->g - last.g)) {
            break;
        }
        double share = before->weight / (before->weight + last.weight);
        last.x += share * (before->x - last.x);
        last.g += share * (before->g - last.g);
        last.weight += before->weight;
        last.begin = before->begin;
    }
    pools[count] = last;
    return count + 1;
}

/* The best falling sequence,
 *
 *     min over u_0 >= u_1 >= .. >= u_n-1 of  sum of g_i u_i + lambda/2 (u_i - x_i)^2 ,
 *
 * and s = lambda (x - u). Entries that tie are pooled. pools: scratch memory for n. u may be x, s
 * may be g. O(n). */
void submodi_isotonic(size_t n, const double *x, const double *g, double lambda,
                      submodi_pool *pools, double *u, double *s);

/* Returns the value u of a block of k entries with the mean g, and writes s = lambda (x - u). s is
 * computed as mean g + lambda (x_i - mean x), with x relative to its first entry, so that it does
 * not cancel for large lambda. */
double submodi_block_level(size_t k, const double *x, double g, double lambda, double *s);

#endif
