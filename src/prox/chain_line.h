/* The prox of total variation along one line, weighted and directed. */
#ifndef SUBMODI_PROX_CHAIN_LINE_H
#define SUBMODI_PROX_CHAIN_LINE_H

#include "prox/prox_internal.h"

/* Scratch memory: a point of the tube's edge (chain_line.c). */
typedef struct submodi_chain_knot {
    double hi, lo; /* sum of x over the entries before it */
    double offset; /* from that sum, times lambda */
    double rise;   /* of the line to it from the knot before, scaled, and its length */
    double length;
    size_t at; /* how many entries are before it */
} submodi_chain_knot;

/* How many knots a line of n entries needs. */
static inline size_t submodi_chain_knots(size_t n)
{
    return 2 * n;
}

/* u = argmin of  sum over i < n - 1 of f_i + lambda/2 |u - x|^2,
 *
 *     f_i = out[i] max(u_i - u_i+1, 0) + in[i] max(u_i+1 - u_i, 0),    out, in >= 0,
 *
 * and s = lambda (x - u). So flow_i = s_0 + .. + s_i lies between -in[i] and out[i], and meets
 * out[i] where u falls, -in[i] where it rises. n >= 1; out and in have n - 1 entries; knots has
 * submodi_chain_knots(n). u and s do not overlap the rest. x finite, lambda > 0: if sums overflow,
 * u and s are not finite. Returns the number of entries looked at: at most 16 n, by tests below 6
 * n. */
size_t submodi_chain_line(size_t n, const double *x, const double *out, const double *in,
                          double lambda, double *u, double *s, submodi_chain_knot *knots);

/* Adds f(u) of such a line, and f(u) - <s, u>, to what f has for other lines. */
void submodi_chain_extension(size_t n, const double *u, const double *s, const double *out,
                             const double *in, double lambda, submodi_extension *f);

#endif
