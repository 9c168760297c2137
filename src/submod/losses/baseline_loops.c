/* The loops of the baselines over rows of a tile (see baseline_loops.h). */
#include "submod/losses/baseline_loops.h"

#include <string.h>

/* Sums are added up in LANES lanes side by side: a fixed order that vectorises. With fewer, gcc
 * unrolls the inner loop before it could vectorise it, and is five times slower. */
enum { LANES = 32 };

/* ---- hinge ---- */

static void add_hinge(const float *v, const int32_t *code, int32_t target, size_t n, double *sum,
                      double *count)
{
    const double sign = target ? -1 : 1;
    double lane[LANES] = {0};
    int32_t pixels = 0;
    for (size_t i = 0; i < n; i++) {
        pixels += code[i] == target;
    }
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (size_t l = 0; l < LANES; l++) {
            double h = 1 + sign * (double)v[i + l];
            lane[l] += code[i + l] == target && h > 0 ? h : 0.0;
        }
    }
    for (size_t l = 0; i + l < n; l++) {
        double h = 1 + sign * (double)v[i + l];
        lane[l] += code[i + l] == target && h > 0 ? h : 0.0;
    }
    for (size_t l = 0; l < LANES; l++) {
        *sum += lane[l];
    }
    *count += pixels;
}

static void hinge_slope(const float *v, const int32_t *code, const float *slope, size_t n, float *g)
{
    const float background = slope[0];
    const float foreground = slope[1];
    for (size_t i = 0; i < n; i++) {
        float at_1 = v[i] < 1.0F ? foreground : 0.0F;
        float at_0 = v[i] > -1.0F ? background : 0.0F;
        float valid = code[i] == 1 ? at_1 : at_0;
        g[i] = code[i] > 1 ? 0.0F : valid;
    }
}

/* ---- overlaps ---- */

static void add_overlap(const float *v, const int32_t *code, int32_t target, int32_t ignored,
                        size_t n, double *inside, double *all)
{
    double of_target[LANES] = {0};
    double of_all[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (size_t l = 0; l < LANES; l++) {
            double x = code[i + l] == ignored ? 0.0 : (double)v[i + l];
            of_all[l] += x;
            of_target[l] += code[i + l] == target ? x : 0.0;
        }
    }
    for (size_t l = 0; i + l < n; l++) {
        double x = code[i + l] == ignored ? 0.0 : (double)v[i + l];
        of_all[l] += x;
        of_target[l] += code[i + l] == target ? x : 0.0;
    }
    for (size_t l = 0; l < LANES; l++) {
        *all += of_all[l];
        *inside += of_target[l];
    }
}

static void overlap_slope(const int32_t *code, int32_t target, int32_t ignored, const float *slope,
                          size_t n, float *g)
{
    const float background = slope[0];
    const float foreground = slope[1];
    for (size_t i = 0; i < n; i++) {
        float valid = code[i] == target ? foreground : background;
        g[i] = code[i] == ignored ? 0.0F : valid;
    }
}

/* ---- cross-entropy ---- */

/* log(1 + x) for x >= 0, within 0.9 units in the last place. With u = 1 + x rounded: log u plus
 * what was rounded off, over u. With u = 2^k f, f in [sqrt 1/2, sqrt 2): log u = k log 2 + log f,
 * the latter by a polynomial in f - 1 (the minimax coefficients of Cephes' logf). log 2 comes in
 * two parts, the first of which is exact when multiplied by k. */
static inline float log1p_nonnegative(float x)
{
    const uint32_t root_half = UINT32_C(0x3f3504f3);
    float u = 1.0F + x;
    float off = (x - (u - 1.0F)) / u;
    uint32_t bits;
    memcpy(&bits, &u, sizeof bits);
    uint32_t exponent = (bits - root_half) >> 23;
    bits -= exponent << 23;
    float f;
    memcpy(&f, &bits, sizeof f);
    float k = (float)(int32_t)exponent;
    float r = f - 1.0F;
    float q = 7.0376836292e-2F;
    q = q * r - 1.1514610310e-1F;
    q = q * r + 1.1676998740e-1F;
    q = q * r - 1.2420140846e-1F;
    q = q * r + 1.4249322787e-1F;
    q = q * r - 1.6668057665e-1F;
    q = q * r + 2.0000714765e-1F;
    q = q * r - 2.4999993993e-1F;
    q = q * r + 3.3333331174e-1F;
    q = q * r * (r * r) - k * 2.12194440e-4F + off - 0.5F * (r * r);
    return r + q + k * 0.693359375F;
}

static void split_off(const float *p, size_t n, float *top, double *others)
{
    for (size_t i = 0; i < n; i++) {
        others[i] += (double)(p[i] > top[i] ? top[i] : p[i]);
        top[i] = p[i] > top[i] ? p[i] : top[i];
    }
}

static void log_sum(const float *top, size_t n, double *others)
{
    for (size_t i = 0; i < n; i++) {
        others[i] = (double)log1p_nonnegative((float)others[i] / top[i]);
    }
}

static void product(const float *p, const float *factor, size_t n, float *g)
{
    for (size_t i = 0; i < n; i++) {
        g[i] = factor[i] * p[i];
    }
}

const submodi_baseline_loops SUBMODI_TABLE(submodi_baselines) = {.add_hinge = add_hinge,
                                                                 .hinge_slope = hinge_slope,
                                                                 .add_overlap = add_overlap,
                                                                 .overlap_slope = overlap_slope,
                                                                 .split_off = split_off,
                                                                 .log_sum = log_sum,
                                                                 .product = product};
