/* The extension of a function of two counts by its definition: a sort of doubles. */
#ifndef SUBMOD_TESTS_RANKED_H
#define SUBMOD_TESTS_RANKED_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ranked {
    double error;
    double weight; /* of the pixel */
    bool background;
    size_t at;
} ranked;

/* What it costs that a of P foreground and b of N background pixels are wrong. */
typedef double cost(double a, double b, double P, double N, void *ctx);
typedef struct costs {
    cost *of;
    void *ctx;
} costs;

/* The Jaccard loss, 1 - intersection / union; looks at no ctx. */
double jaccard_cost(double a, double b, double P, double N, void *ctx);

/* The extension at n errors, of P foreground and N background pixels in all, or so much of their
 * weights; sorts them. weight[at] = coefficient times what each pixel adds, negative in the
 * foreground, equal ones in proportion to their weights. */
double rank_errors(ranked *r, size_t n, const costs *F, double P, double N, double coefficient,
                   double *weight);

#endif
