/* Slow and obvious oracles over all subsets, and random vectors and orders. */
#include <math.h>
#include <stdlib.h>

#include "support.h"

size_t subset_elements(uint32_t mask, int32_t *set)
{
    size_t k = 0;
    for (int32_t e = 0; e < 32; e++) {
        if (mask >> e & 1) {
            set[k++] = e;
        }
    }
    return k;
}

double *subset_values(const submod_fn *fn)
{
    size_t count = (size_t)1 << submod_fn_size(fn);
    double *F = malloc(count * sizeof *F);
    ck_assert_ptr_nonnull(F);
    for (uint32_t mask = 0; mask < count; mask++) {
        int32_t set[32];
        ck_assert_ok(submod_fn_eval(fn, set, subset_elements(mask, set), &F[mask]));
    }
    return F;
}

double choquet(const double *F, size_t n, const double *x)
{
    double lowest = x[0];
    for (size_t i = 1; i < n; i++) {
        lowest = fmin(lowest, x[i]);
    }
    /* F({x >= t}) is constant between neighbouring values of x. */
    double total = lowest * F[((size_t)1 << n) - 1];
    double below = lowest;
    for (;;) {
        double next = INFINITY;
        for (size_t i = 0; i < n; i++) {
            next = x[i] > below ? fmin(next, x[i]) : next;
        }
        if (isinf(next)) {
            return total;
        }
        uint32_t level = 0;
        for (size_t i = 0; i < n; i++) {
            level |= x[i] >= next ? UINT32_C(1) << i : 0;
        }
        total += (next - below) * F[level];
        below = next;
    }
}

double worst_excess(const double *F, size_t n, const double *s)
{
    double worst = -INFINITY;
    for (uint32_t mask = 0; mask < UINT32_C(1) << n; mask++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            sum += mask >> i & 1 ? s[i] : 0;
        }
        worst = fmax(worst, sum - (F[mask] - F[0]));
    }
    return worst;
}

/* Best continuation of the chain that has reached the set `mask`. */
static double best_from(const double *F, size_t n, const double *x, uint32_t mask)
{
    double best = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        uint32_t next = mask | UINT32_C(1) << i;
        if (next != mask) {
            best = fmax(best, x[i] * (F[next] - F[mask]) + best_from(F, n, x, next));
        }
    }
    return isinf(best) ? 0 : best;
}

double support_function(const double *F, size_t n, const double *x)
{
    return best_from(F, n, x, 0);
}

double value_scale(const double *F, size_t n)
{
    double scale = 1;
    for (size_t mask = 0; mask < (size_t)1 << n; mask++) {
        scale = fmax(scale, fabs(F[mask]));
    }
    return scale;
}

double max_abs(const double *x, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(x[i]));
    }
    return largest;
}

void random_vector(submod_rng *rng, double *x, size_t n, int coarse)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = coarse ? 0.25 * (double)((int)submod_rng_below(rng, 5) - 2) : submod_rng_normal(rng);
    }
}

void random_order(submod_rng *rng, int32_t *order, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t j = submod_rng_below(rng, i + 1);
        order[i] = order[j];
        order[j] = (int32_t)i;
    }
}

const iwata_minimum iwata_minima[] = {{3, -12},
                                      {5, -26},
                                      {10, -84},
                                      {30, -651},
                                      {50, -1751},
                                      {100, -6834},
                                      {200, -27001},
                                      {500, -167501},
                                      {1000, -668334},
                                      {10000, -66683334},
                                      {100000, -6666833334}};
const size_t iwata_count = sizeof iwata_minima / sizeof *iwata_minima;
