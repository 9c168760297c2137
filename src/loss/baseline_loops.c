/* The loops of the baselines over rows of a tile (see baseline_loops.h). */
#include "loss/baseline_loops.h"

#include <string.h>

#include "loss/tile_row.h"

/* Sums are added up in LANES lanes side by side: a fixed order that vectorises. With fewer, gcc
 * unrolls the inner loop before it could vectorise it, and is five times slower. */
enum { LANES = 32 };

/* ---- hinge ---- */

static double sum_lanes(const double *lane)
{
    double total = 0;
    for (size_t l = 0; l < LANES; l++) {
        total += lane[l];
    }
    return total;
}

static inline double hinge_at(const float *v, const int32_t *code, const float *weight,
                              int32_t target, double sign, size_t i)
{
    double h = 1 + sign * (double)v[i];
    double margin = code[i] == target && h > 0 ? h : 0.0;
    return weight ? margin * (double)weight[i] : margin;
}

/* The compiler makes a copy with weights and one without, here and below. */
static inline double add_margins(const float *v, const int32_t *code, const float *weight,
                                 int32_t target, size_t n)
{
    const double sign = target ? -1 : 1;
    double lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (size_t l = 0; l < LANES; l++) {
            lane[l] += hinge_at(v, code, weight, target, sign, i + l);
        }
    }
    for (size_t l = 0; i + l < n; l++) {
        lane[l] += hinge_at(v, code, weight, target, sign, i + l);
    }
    return sum_lanes(lane);
}

static double add_hinge(const float *v, const int32_t *code, const float *weight, int32_t target,
                        size_t n)
{
    return weight ? add_margins(v, code, weight, target, n) : add_margins(v, code, NULL, target, n);
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

static inline double product_at(const float *v, const float *factor, const float *weight, size_t i)
{
    float p = v[i] * factor[i]; /* at most 1, so that no product is above the weight */
    return (double)(weight ? p * weight[i] : p);
}

static inline double sum_products(const float *v, const float *factor, const float *weight,
                                  size_t width)
{
    double lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= width; i += LANES) {
        for (size_t l = 0; l < LANES; l++) {
            lane[l] += product_at(v, factor, weight, i + l);
        }
    }
    for (size_t l = 0; i + l < width; l++) {
        lane[l] += product_at(v, factor, weight, i + l);
    }
    return sum_lanes(lane);
}

static double sum(const float *v, const float *factor, const float *weight, size_t width)
{
    return weight ? sum_products(v, factor, weight, width) : sum_products(v, factor, NULL, width);
}

static inline void add_values(const float *v, const int32_t *code, const float *weight,
                              size_t width, double *inside, double *all)
{
    double of_target[LANES] = {0};
    double of_all[LANES] = {0};
    for (size_t i = 0; i < width; i += SUBMODI_LANES) {
        size_t first = i % LANES;
        for (size_t l = 0; l < SUBMODI_LANES; l++) {
            double x = code[i + l] > 1 ? 0.0 : (double)v[i + l];
            x = weight ? x * (double)weight[i + l] : x;
            of_all[first + l] += x;
            of_target[first + l] += code[i + l] == 1 ? x : 0.0;
        }
    }
    *all += sum_lanes(of_all);
    *inside += sum_lanes(of_target);
}

static void add_overlap(const float *v, const int32_t *code, const float *weight, size_t width,
                        double *inside, double *all)
{
    if (weight) {
        add_values(v, code, weight, width, inside, all);
    } else {
        add_values(v, code, NULL, width, inside, all);
    }
}

static void overlap_slope(const int32_t *code, int32_t target, int32_t ignored, const float *slope,
                          size_t width, float *g)
{
    const v_float background = v_all(slope[0]);
    const v_float foreground = v_all(slope[1]);
    for (size_t i = 0; i < width; i += V_LANES) {
        v_int c = v_load_int(code + i);
        v_float valid = v_select(v_equal(c, v_all_int(target)), foreground, background);
        v_store(g + i, v_select(v_equal(c, v_all_int(ignored)), v_all(0), valid));
    }
}

/* ---- overlaps with soft labels ---- */

static inline void add_commons(const float *v, const float *factor, const float *weight,
                               const float *y, bool product, size_t width, double *sum)
{
    double common[LANES] = {0};
    double apart[LANES] = {0};
    double truth[LANES] = {0};
    for (size_t i = 0; i < width; i += SUBMODI_LANES) {
        size_t first = i % LANES;
        for (size_t l = 0; l < SUBMODI_LANES; l++) {
            double a = (double)(v[i + l] * factor[i + l]);
            double b = (double)y[i + l];
            double w = weight ? (double)weight[i + l] : 1.0;
            common[first + l] += w * (product ? a * b : a < b ? a : b);
            apart[first + l] += w * (a < b ? b - a : a - b);
            truth[first + l] += w * b;
        }
    }
    sum[0] += sum_lanes(common);
    sum[1] += sum_lanes(apart);
    sum[2] += sum_lanes(truth);
}

static void add_soft(const float *v, const float *factor, const float *weight, const float *y,
                     bool product, size_t width, double *sum)
{
    if (product) {
        add_commons(v, factor, weight, y, true, width, sum);
    } else {
        add_commons(v, factor, weight, y, false, width, sum);
    }
}

/* At a label of 0 or 1 there is only one side. */
static inline float side_of(float p, float y)
{
    float above = p > y || y <= 0.0F ? 1.0F : 0.0F;
    float below = p < y || y >= 1.0F ? 1.0F : 0.0F;
    return above - below;
}

static void soft_slope(const float *p, const float *slope, bool product, size_t width, float *g)
{
    const float apart = slope[0];
    const float common = slope[1];
    for (size_t i = 0; i < width; i++) {
        float d = side_of(p[i], g[i]);
        float q = product ? g[i] : 0.5F * (1.0F - d);
        g[i] = d * apart - q * common;
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

/* Exponentials are added up so many at a time, and then these sums: thousands of classes lose no
 * more than tens. */
enum { SUMMED_AT_ONCE = 32 };
/* Vectors of a column (see activation_loops.c): few, as each has much to keep. */
enum { COLUMN = 2, COLUMN_LANES = COLUMN * V_LANES };

static inline v_int split_column(const submodi_rows_in *in, size_t i, size_t vectors, bool shifted,
                                 const int32_t *code, float *v, size_t stride,
                                 const submodi_split *out)
{
    v_float top[COLUMN], others[COLUMN], part[COLUMN];
    v_float largest[COLUMN], own_score[COLUMN], own[COLUMN];
    v_int size = v_all_int(0);
    for (size_t j = 0; j < vectors; j++) {
        top[j] = others[j] = part[j] = own[j] = own_score[j] = v_all(0);
        largest[j] = v_load(in->data + i + j * V_LANES);
    }
    for (size_t c = 0; c < in->classes; c++) {
        const float *row = in->data + (ptrdiff_t)c * in->stride + i;
        for (size_t j = 0; j < vectors; j++) {
            submodi_prefetch_row(in, row + j * V_LANES);
            v_float x = v_load(row + j * V_LANES);
            v_mask is_own = v_equal(v_load_int(code + i + j * V_LANES), v_all_int((int32_t)c));
            largest[j] = v_max(largest[j], x);
            own_score[j] = v_select(is_own, x, own_score[j]);
            x = shifted ? submodi_v_shift(x, in->shift + i + j * V_LANES) : x;
            size = v_max_bits(size, submodi_v_size(x));
            v_float e = submodi_v_exp(x);
            v_store(v + c * stride + i + j * V_LANES, e);
            own[j] = v_select(is_own, e, own[j]);
            part[j] += v_min(e, top[j]);
            top[j] = v_max(e, top[j]);
        }
        for (size_t j = 0; c % SUMMED_AT_ONCE == SUMMED_AT_ONCE - 1 && j < vectors; j++) {
            others[j] += part[j];
            part[j] = v_all(0);
        }
    }
    for (size_t j = 0; j < vectors; j++) {
        v_store(out->top + i + j * V_LANES, top[j]);
        v_store(out->others + i + j * V_LANES, others[j] + part[j]);
        v_store(out->largest + i + j * V_LANES, largest[j]);
        v_store(out->own_score + i + j * V_LANES, own_score[j]);
        v_store(out->own + i + j * V_LANES, own[j]);
    }
    return size;
}

static uint32_t split(const submodi_rows_in *in, const int32_t *code, float *v, size_t stride,
                      const submodi_split *out)
{
    v_int size = v_all_int(0);
    size_t i = 0;
    for (; !in->shift && i + COLUMN_LANES <= in->width; i += COLUMN_LANES) {
        size = v_max_bits(size, split_column(in, i, COLUMN, false, code, v, stride, out));
    }
    for (; i < in->width; i += V_LANES) {
        size = v_max_bits(size, in->shift ? split_column(in, i, 1, true, code, v, stride, out)
                                          : split_column(in, i, 1, false, code, v, stride, out));
    }
    return v_largest_bits(size);
}

/* weight * p, and weight * (p - 1) at the pixel's own class, where p - 1 = -(sum of all others) if
 * it is on top. */
static void entropy_slopes(const submodi_split *out, size_t width, float *factor)
{
    for (size_t i = 0; i < width; i += V_LANES) {
        v_float weight = v_load(factor + i);
        v_float others = v_load(out->others + i);
        v_float inverse = 1.0F / (v_load(out->top + i) + others);
        v_float f = weight * inverse;
        v_mask on_top = v_at_least(v_load(out->own_score + i), v_load(out->largest + i));
        v_float below = weight * (v_load(out->own + i) * inverse - 1.0F);
        v_store(factor + i, f);
        v_store(out->own + i, v_select(on_top, -f * others, below));
    }
}

static void log_sum(const float *top, float *others, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        others[i] = log1p_nonnegative(others[i] / top[i]);
    }
}

static inline void store_all(const float *v, size_t stride, size_t classes, size_t width,
                             const int32_t *code, const float *factor, const float *own,
                             const submodi_rows_out *to, submodi_store how)
{
    for (size_t c = 0; c < classes; c++) {
        float *row = to->data + (ptrdiff_t)c * to->stride;
        for (size_t i = 0; i < width; i += V_LANES) {
            v_mask is_own = v_equal(v_load_int(code + i), v_all_int((int32_t)c));
            v_float d = v_load(v + c * stride + i) * v_load(factor + i);
            submodi_v_put(row + i, v_select(is_own, v_load(own + i), d), to->scale, how);
        }
    }
}

static void store_entropy(const float *v, size_t stride, size_t classes, size_t width,
                          const int32_t *code, const float *factor, const float *own,
                          const submodi_rows_out *to)
{
    switch (to->how) {
    case SUBMODI_OVERWRITE:
        store_all(v, stride, classes, width, code, factor, own, to, SUBMODI_OVERWRITE);
        break;
    case SUBMODI_ADD:
        store_all(v, stride, classes, width, code, factor, own, to, SUBMODI_ADD);
        break;
    case SUBMODI_STREAM:
        store_all(v, stride, classes, width, code, factor, own, to, SUBMODI_STREAM);
        v_stream_end();
        break;
    }
}

const submodi_baseline_loops SUBMODI_TABLE(submodi_baselines) = {.add_hinge = add_hinge,
                                                                 .hinge_slope = hinge_slope,
                                                                 .sum = sum,
                                                                 .add_overlap = add_overlap,
                                                                 .overlap_slope = overlap_slope,
                                                                 .add_soft = add_soft,
                                                                 .soft_slope = soft_slope,
                                                                 .split = split,
                                                                 .entropy_slopes = entropy_slopes,
                                                                 .log_sum = log_sum,
                                                                 .store_entropy = store_entropy};
