/* The extension of the Jaccard loss by its definition: a sort of doubles. */
#ifndef SUBMOD_TESTS_RANKED_H
#define SUBMOD_TESTS_RANKED_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ranked {
    double error;
    bool background;
    size_t at;
} ranked;

/* The extension at n errors, P of the foreground in all; sorts them. weight[at] = coefficient times
 * what each pixel adds, negative in the foreground, equal ones the same. */
double rank_errors(ranked *r, size_t n, double P, double coefficient, double *weight);

#endif
