/* Measures by their definitions (see measured.h). */
#include "measured.h"

#include <math.h>

static double hamming_cost(double a, double b, double P, double N, void *ctx)
{
    (void)ctx;
    return (a + b) / (P + N);
}

/* 1 - TP / (TP + beta FN + alpha FP); ctx: alpha, beta. */
static double tversky_cost(double a, double b, double P, double N, void *ctx)
{
    (void)N;
    const double *x = ctx;
    double all = P - a + x[1] * a + x[0] * b;
    return all > 0 ? 1 - (P - a) / all : 0;
}

/* Concave in the number of wrong pixels; never more than 1. */
static double root_cost(double a, double b, double P, double N, void *ctx)
{
    (void)ctx;
    return sqrt((a + b) / (P + N));
}

/* The chance that one of three pixels drawn from each label is wrong, half for each label. Not
 * changed by the background where that is all. */
static double draw_cost(double a, double b, double P, double N, void *ctx)
{
    (void)ctx;
    double right = P > 0 ? 1 - a / P : 1, other = N > 0 ? 1 - b / N : 1;
    return 1 - right * right * right * (1 + other * other * other) / 2;
}

/* The background costs three times as much; up to any size, so that F(P, N) is not 1. */
static double log_cost(double a, double b, double P, double N, void *ctx)
{
    (void)P;
    (void)N;
    (void)ctx;
    return 0.25 * log1p(a + 3 * b);
}

measured measured_rows[MEASURED] = {
    {SUBMOD_MEASURE_JACCARD, {0, 0}, jaccard_cost},
    {SUBMOD_MEASURE_HAMMING, {0, 0}, hamming_cost},
    {SUBMOD_MEASURE_TVERSKY, {1, 1}, tversky_cost},
    {SUBMOD_MEASURE_TVERSKY, {0.3, 1}, tversky_cost},
    {SUBMOD_MEASURE_TVERSKY, {2.5, 1.75}, tversky_cost},
    {SUBMOD_MEASURE_TVERSKY, {0, 3}, tversky_cost},
    {SUBMOD_MEASURE_TVERSKY, {0, 1}, tversky_cost},
    {SUBMOD_MEASURE_CUSTOM, {0, 0}, jaccard_cost},
    {SUBMOD_MEASURE_CUSTOM, {0, 0}, root_cost},
    {SUBMOD_MEASURE_CUSTOM, {0, 0}, draw_cost},
    {SUBMOD_MEASURE_CUSTOM, {0, 0}, log_cost},
};

submod_measure measure_of(const measured *r)
{
    switch (r->type) {
    case SUBMOD_MEASURE_HAMMING: return submod_hamming();
    case SUBMOD_MEASURE_TVERSKY: return submod_tversky(r->factors[0], r->factors[1]);
    case SUBMOD_MEASURE_CUSTOM:
        return submod_measure_custom(&(submod_measure_ops){.value = r->of}, NULL);
    default: return submod_jaccard();
    }
}

costs costs_of(measured *r)
{
    return (costs){r->of, r->factors};
}
