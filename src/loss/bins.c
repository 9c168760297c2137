/* Computes the slopes of a class's bins from its counts (counting.h).
 *
 * Goes from the largest errors down, in each bin the foreground first, then the background, each
 * averaged over its orders. So the slopes are a mean of vertices of the base polytope. */
#include "loss/counting.h"

#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "loss/tensors/float_bits.h"

/* ---- bins ---- */

unsigned submodi_mantissa_bits(double accuracy)
{
    double bits = ceil(-log2(accuracy) / 2) - 2;
    return bits < 2 ? 2 : bits > 10 ? 10 : (unsigned)bits;
}

submodi_bins submodi_bins_for(float largest, unsigned mantissa_bits)
{
    submodi_bins bins = {.highest = (int32_t)submodi_to_bits(largest),
                         .shift = 23 - mantissa_bits,
                         .count = ((uint32_t)SUBMODI_OCTAVES << mantissa_bits) + 1};
    bins.lowest = bins.highest - (SUBMODI_OCTAVES << 23);
    return bins;
}

static double lower_end(const submodi_bins *bins, uint32_t k)
{
    uint32_t bits = (uint32_t)bins->lowest + (k << bins->shift);
    return k ? (double)submodi_from_bits(bits) : 0;
}

static double width_of(const submodi_bins *bins, uint32_t k)
{
    return k + 1 < bins->count ? lower_end(bins, k + 1) - lower_end(bins, k) : 0;
}

/* ---- chunks of bins ---- */

typedef struct solving {
    const submodi_class_counts *x;
    const submodi_bins *bins;
    float *slope;
    submodi_class_solution *to;
    double a, b; /* counts above the present bin */
    uint32_t bin[SUBMODI_WEIGH_AT_ONCE];
    submodi_bin_chunk chunk;
} solving;

/* Bounds G(t) - s t for a custom measure, where G(t) is the increase of F by t of n pixels of one
 * side, and is concave. With s <= G(n) / n and h about n / 2,
 *     G(t) <= G(h) + (t - h) (G(n) - G(h)) / (n - h)    for t <= h
 *     G(t) <= t G(h) / h                                for t >= h
 * so the largest value of these lines minus s t is at t = 0, h or n. */
static double custom_gap(double half, double all, double h, double n, double s)
{
    double at_0 = half - h * (all - half) / (n - h);
    double at_h = half - s * h;
    double at_n = n * half / h - s * n;
    return fmax(at_0, fmax(at_h, at_n));
}

enum { HALF_F, ALL_F, HALF_G, ALL_G, BOTH, VALUES };

static double half_of(double n, double least)
{
    double half = least > 0 ? floor(n / 2) : n / 2;
    return half > 0 ? half : n;
}

static double side_gap(double half, double all, double n, double least, double s)
{
    double h = half_of(n, least);
    if (n <= 0) {
        return 0;
    }
    return h < n ? custom_gap(half, all, h, n, s) : fmax(0, all - s * n);
}

static bool weigh_custom(solving *v, double *F_before)
{
    submodi_bin_chunk *x = &v->chunk;
    const submodi_class_counts *counts = v->x;
    double a[VALUES * SUBMODI_WEIGH_AT_ONCE], b[VALUES * SUBMODI_WEIGH_AT_ONCE];
    double F[VALUES * SUBMODI_WEIGH_AT_ONCE];
    for (size_t k = 0; k < x->n; k++) {
        double *A = a + VALUES * k;
        double *B = b + VALUES * k;
        for (size_t i = 0; i < VALUES; i++) {
            A[i] = x->a[k];
            B[i] = x->b[k];
        }
        A[HALF_F] += half_of(x->f[k], counts->least);
        A[ALL_F] += x->f[k];
        B[HALF_G] += half_of(x->g[k], counts->least);
        B[ALL_G] += x->g[k];
        A[BOTH] += x->f[k];
        B[BOTH] += x->g[k];
        for (size_t i = 0; i < VALUES; i++) {
            A[i] = fmin(A[i], counts->P);
            B[i] = fmin(B[i], counts->N);
        }
    }
    if (!submodi_measure_values(counts->measure, counts->unit, VALUES * x->n, a, b, counts->P,
                                counts->N, F, &v->to->failure)) {
        return false;
    }
    double before = *F_before;
    for (size_t k = 0; k < x->n; k++) {
        const double *f = F + VALUES * k;
        double of_f = x->f[k] > 0 ? (f[ALL_F] - before) / x->f[k] : 0;
        double of_g = x->g[k] > 0 ? (f[BOTH] - f[ALL_F]) / x->g[k] : 0;
        x->of_f[k] = of_f;
        x->of_g[k] = of_g;
        x->gap[k] = side_gap(f[HALF_F] - before, f[ALL_F] - before, x->f[k], counts->least, of_f) +
                    side_gap(f[HALF_G] - before, f[ALL_G] - before, x->g[k], counts->least, of_g);
        before = f[BOTH];
    }
    *F_before = before;
    return true;
}

static void weigh_hamming(solving *v)
{
    submodi_bin_chunk *x = &v->chunk;
    double each = 1 / (v->x->P + v->x->N);
    for (size_t k = 0; k < x->n; k++) {
        x->of_f[k] = x->of_g[k] = each;
        x->gap[k] = 0;
    }
}

static bool weigh(solving *v, double *F)
{
    const submodi_class_counts *x = v->x;
    bool jaccard = x->measure->type == SUBMOD_MEASURE_JACCARD;
    switch (x->measure->type) {
    case SUBMOD_MEASURE_CUSTOM: return weigh_custom(v, F);
    case SUBMOD_MEASURE_HAMMING: weigh_hamming(v); return true;
    default:
        submodi_counters()->weigh(&v->chunk, jaccard ? 1 : x->measure->alpha,
                                  jaccard ? 1 : x->measure->beta, x->P, x->least);
        return true;
    }
}

/* Computes and writes the slopes of the waiting bins. */
static bool finish_chunk(solving *v, double *F)
{
    submodi_bin_chunk *x = &v->chunk;
    double coefficient = v->x->coefficient;
    if (x->n == 0) {
        return true;
    }
    if (!weigh(v, F)) {
        return false;
    }
    double value = 0;
    double bound = 0;
    for (size_t j = 0; j < x->n; j++) {
        uint32_t k = v->bin[j];
        value += lower_end(v->bins, k) * (x->f[j] * x->of_f[j] + x->g[j] * x->of_g[j]);
        bound += width_of(v->bins, k) * x->gap[j];
        v->slope[k] = (float)(coefficient * x->of_g[j]);
        v->slope[v->bins->count + k] = (float)(-coefficient * x->of_f[j]);
    }
    v->to->value += coefficient * value;
    v->to->bound += coefficient * bound;
    x->n = 0;
    return true;
}

static bool add_bin(solving *v, uint32_t k, double f, double g, double *F)
{
    submodi_bin_chunk *x = &v->chunk;
    size_t j = x->n++;
    v->bin[j] = k;
    x->f[j] = f;
    x->g[j] = g;
    x->a[j] = v->a;
    x->b[j] = v->b;
    v->a += f;
    v->b += g;
    return x->n < SUBMODI_WEIGH_AT_ONCE || finish_chunk(v, F);
}

enum { STRETCH = 1024 };

/* Solves bins high - 1 down to low. */
static bool solve_stretch(solving *v, uint32_t low, uint32_t high, double *F)
{
    double f[STRETCH] = {0};
    double g[STRETCH] = {0};
    const submodi_class_counts *x = v->x;
    x->read(x->context, true, low, high, f);
    if (high > x->first) {
        uint32_t from = low > x->first ? low : x->first;
        x->read(x->context, false, from, high, g + (from - low));
    }
    for (uint32_t k = high; k-- > low;) {
        if ((f[k - low] > 0 || g[k - low] > 0) && k > 0 &&
            !add_bin(v, k, f[k - low], g[k - low], F)) {
            return false;
        }
    }
    return true;
}

void submodi_solve_bins(const submodi_class_counts *x, const submodi_bins *bins, float *slope,
                        submodi_class_solution *solution)
{
    solving v = {.x = x, .bins = bins, .slope = slope, .to = solution};
    double F = 0;
    bool good = true;
    *solution = (submodi_class_solution){.value = 0};
    uint32_t lowest = x->lowest > 1 ? x->lowest : 1;
    for (uint32_t high = bins->count; good && high > lowest;) {
        uint32_t low = high > STRETCH + lowest ? high - STRETCH : lowest;
        good = solve_stretch(&v, low, high, &F);
        high = low;
    }
    /* Bin 0 holds the remaining pixels. */
    double f = fmax(x->P - v.a, 0);
    double g = x->first > 0 ? 0 : fmax(x->N - v.b, 0);
    slope[0] = slope[bins->count] = 0;
    good = good && (f + g == 0 || add_bin(&v, 0, f, g, &F));
    if (good && finish_chunk(&v, &F)) {
        solution->rest = slope[0];
    }
}
