/* Errors ranked by qsort, F evaluated before and after each tied block (see ranked.h). */
#include "ranked.h"

#include <stdlib.h>

static int by_error(const void *p, const void *q)
{
    const ranked *a = p, *b = q;
    if (a->error != b->error) {
        return a->error > b->error ? -1 : 1;
    }
    return a->background - b->background;
}

double jaccard_cost(double a, double b, double P, double N, void *ctx)
{
    (void)N;
    (void)ctx;
    return a + b > 0 ? (a + b) / (P + b) : 0;
}

double rank_errors(ranked *r, size_t n, const costs *F, double P, double N, double coefficient,
                   double *weight)
{
    double a = 0, b = 0, value = 0;
    qsort(r, n, sizeof *r, by_error);
    for (size_t i = 0, end; i < n; i = end) {
        double before = F->of(a, b, P, N, F->ctx);
        double all = 0;
        for (end = i; end < n && by_error(&r[i], &r[end]) == 0; end++) {
            a += r[i].background ? 0 : r[end].weight;
            b += r[i].background ? r[end].weight : 0;
            all += r[end].weight;
        }
        double gain = F->of(a, b, P, N, F->ctx) - before;
        value += gain * r[i].error;
        for (size_t j = i; j < end; j++) {
            double share = gain / all * r[j].weight;
            weight[r[j].at] = coefficient * (r[j].background ? share : -share);
        }
    }
    return value;
}
