/* Gauss' rule on [0, 1]. */
#ifndef SUBMODI_DECISIONS_LEGENDRE_H
#define SUBMODI_DECISIONS_LEGENDRE_H

#include <stddef.h>

enum { SUBMODI_NODES = 512 };

/* The integral of f over [0, 1] is the sum of weight f(t): exactly if f is a polynomial of a degree
 * below 2 count. If all coefficients of f are >= 0, the sum is never above the integral. */
typedef struct submodi_rule {
    size_t count;
    double t[SUBMODI_NODES], rest[SUBMODI_NODES]; /* nodes, ascending, and 1 - t */
    double logarithm[SUBMODI_NODES];              /* of t */
    double weight[SUBMODI_NODES];
} submodi_rule;

/* 1 <= count <= SUBMODI_NODES. */
void submodi_rule_fill(submodi_rule *rule, size_t count);

#endif
