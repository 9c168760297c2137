/* Total variation along a line, by a slow and independent way. */
#ifndef SUBMOD_TESTS_LINE_H
#define SUBMOD_TESTS_LINE_H

#include <stddef.h>

/* u = argmin of  sum of out_i max(u_i - u_i+1, 0) + in_i max(u_i+1 - u_i, 0) + lambda/2 |u - x|^2
 * by dynamic programming (Johnson, 2013) with exact pieces and extended sums. out and in have n - 1
 * entries. Ends the program when memory runs out. */
void line_by_programming(size_t n, const double *x, const double *out, const double *in,
                         double lambda, double *u);

#endif
