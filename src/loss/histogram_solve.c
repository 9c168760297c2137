/* From the counts of one class to the weights of its bins (see histogram.h).
 *
 * Downwards from the largest errors: in each bin the foreground first, then the background, each
 * averaged over its orders. Measures that are built in know what a bin adds (measure_internal.h);
 * of a custom one it is the difference of two values, so that it is asked at 2 K + 1 points, all at
 * once. O(K).
 */
#include <math.h>
#include <string.h>

#include "loss/histogram.h"

/* Stores the weights of bin k and returns its share of the loss. */
static double take_bin(const submodi_bin_counts *x, const submodi_binning *how, size_t k,
                       double of_foreground, double of_background, float *weight)
{
    size_t K = how->K;
    double middle = ((double)k + 0.5) / (double)how->scale;
    weight[K + k] = (float)(-x->coefficient * of_foreground);
    weight[k] = (float)(x->coefficient * of_background);
    return middle * (x->count[K + k] * of_foreground + x->count[k] * of_background);
}

/* a, b: what has come before. */
static double solve_form(const submodi_bin_counts *x, const submodi_binning *how, float *weight)
{
    const submodi_form form = submodi_form_of(x->measure);
    size_t K = how->K;
    double a = 0;
    double b = 0;
    double value = 0;
    for (size_t k = K; k-- > 0;) {
        double of_foreground, of_background;
        submodi_form_weigh_bin(form, x->P, x->N, a, b, x->count[K + k], x->count[k], x->nothing,
                               &of_foreground, &of_background);
        a += x->count[K + k];
        b += x->count[k];
        value += take_bin(x, how, k, of_foreground, of_background, weight);
    }
    return value;
}

/* Where a custom measure is asked: before all bins, after the foreground of each, after its
 * background. Sums that were rounded on the way stay within P and N. */
static void list_points(const submodi_bin_counts *x, size_t K, double *a, double *b)
{
    double foreground = 0;
    double background = 0;
    a[0] = 0;
    b[0] = 0;
    for (size_t i = 0; i < K; i++) {
        foreground += x->count[2 * K - 1 - i];
        a[2 * i + 1] = a[2 * i + 2] = fmin(foreground, x->P);
        b[2 * i + 1] = fmin(background, x->N);
        background += x->count[K - 1 - i];
        b[2 * i + 2] = fmin(background, x->N);
    }
}

static double share_of(double gain, double count, double nothing)
{
    return count > nothing ? gain / count : 0;
}

static double solve_custom(const submodi_bin_counts *x, const submodi_binning *how, float *weight,
                           submodi_measure_failure *failure)
{
    size_t K = how->K;
    size_t n = submodi_solve_points(K);
    double *a = x->points;
    double *b = a + n;
    double *F = b + n;
    list_points(x, K, a, b);
    if (!submodi_measure_values(x->measure, x->unit, n, a, b, x->P, x->N, F, failure)) {
        return 0;
    }
    double value = 0;
    for (size_t i = 0; i < K; i++) {
        size_t k = K - 1 - i;
        double of_foreground = share_of(F[2 * i + 1] - F[2 * i], x->count[K + k], x->nothing);
        double of_background = share_of(F[2 * i + 2] - F[2 * i + 1], x->count[k], x->nothing);
        value += take_bin(x, how, k, of_foreground, of_background, weight);
    }
    return value;
}

double submodi_histogram_solve(const submodi_bin_counts *x, const submodi_binning *how,
                               float *weight, submodi_measure_failure *failure)
{
    if (x->measure->type != SUBMOD_MEASURE_CUSTOM) {
        return x->coefficient * solve_form(x, how, weight);
    }
    if (!(x->coefficient > 0 && x->P + x->N > x->nothing)) { /* there is nothing to ask */
        memset(weight, 0, 2 * (size_t)how->K * sizeof *weight);
        return 0;
    }
    return x->coefficient * solve_custom(x, how, weight, failure);
}

uint32_t submodi_histogram_flat(const float *weight, uint32_t K)
{
    uint32_t flat = 1;
    while (flat < K && weight[flat] == weight[0]) {
        flat++;
    }
    return flat;
}
