/* Isotonic regression by pooling adjacent violators. Each entry starts as its own block; a block
 * that does not lie below the one before it is merged with it. O(n).
 */
#include "prox/isotonic.h"

double submodi_block_level(size_t k, const double *x, double g, double lambda, double *s)
{
    double mean = 0;
    for (size_t i = 0; i < k; i++) {
        mean += x[i] - x[0];
    }
    mean /= (double)k;
    for (size_t i = 0; i < k; i++) {
        s[i] = g + lambda * ((x[i] - x[0]) - mean);
    }
    return x[0] + (mean - g / lambda);
}

/* Whether block a, which stands before b, does not lie above it. Compares mean x - mean g / lambda,
 * times lambda, so that a small g still decides between equal x. */
static int violates(const submodi_pool *a, const submodi_pool *b, double lambda)
{
    return lambda * (a->x - b->x) <= a->g - b->g;
}

void submodi_isotonic(size_t n, const double *x, const double *g, double lambda,
                      submodi_pool *pools, double *u, double *s)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        submodi_pool last = {.begin = i, .x = x[i], .g = g[i]};
        while (count && violates(&pools[count - 1], &last, lambda)) {
            const submodi_pool *before = &pools[--count];
            double share = (double)(last.begin - before->begin) / (double)(i + 1 - before->begin);
            last.x += share * (before->x - last.x);
            last.g += share * (before->g - last.g);
            last.begin = before->begin;
        }
        pools[count++] = last;
    }
    for (size_t b = 0; b < count; b++) {
        size_t begin = pools[b].begin;
        size_t end = b + 1 < count ? pools[b + 1].begin : n;
        double value = submodi_block_level(end - begin, x + begin, pools[b].g, lambda, s + begin);
        for (size_t i = begin; i < end; i++) {
            u[i] = value;
        }
    }
}
