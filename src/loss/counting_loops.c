/* The loops of the counting engine (see counting_loops.h). Most errors of a row have no weight.
 * Lists hold the others, so that table accesses are few. */
#include "loss/counting_loops.h"

#include <math.h>

#include "loss/pointwise.h"
#include "loss/tile_row.h"

/* All instruction sets sum a row in the same number of lanes. */
enum { PER_SUM = SUBMODI_LANES / V_LANES };

/* ---- errors ---- */

static inline v_float shifted_exp(const submodi_rows_in *in, const float *row, size_t i,
                                  bool shifted, v_int *size)
{
    v_float x = v_load(row + i);
    x = shifted ? submodi_v_shift(x, in->shift + i) : x;
    *size = v_max_bits(*size, submodi_v_size(x));
    return submodi_v_exp(x);
}

/* Writes the exponentials to v, and their sum over all classes but the pixel's own to others. */
static inline v_int exponentials(const submodi_rows_in *in, const int32_t *code, bool shifted,
                                 float *v, size_t stride, float *others)
{
    v_int size = v_all_int(0);
    memset(others, 0, in->width * sizeof *others);
    for (size_t c = 0; c < in->classes; c++, v += stride) {
        const float *row = in->data + (ptrdiff_t)c * in->stride;
        for (size_t i = 0; i < in->width; i += V_LANES) {
            submodi_prefetch_row(in, row + i);
            v_float e = shifted_exp(in, row, i, shifted, &size);
            v_mask own = v_equal(v_load_int(code + i), v_all_int((int32_t)c));
            v_store(v + i, e);
            v_store(others + i, v_load(others + i) + v_select(own, v_all(0), e));
        }
    }
    return size;
}

/* Gathers each pixel's value in the row of its own class, 0 where the code is no class. */
static inline v_float gather_own(const float *v, size_t stride, size_t classes, v_int code)
{
    v_float own = v_all(0);
    for (size_t l = 0; l < V_LANES; l++) {
        if ((uint32_t)code[l] < classes) {
            own[l] = v[(size_t)code[l] * stride + l];
        }
    }
    return own;
}

static uint32_t split(const submodi_rows_in *in, const int32_t *code, float *v, size_t stride,
                      float *factor, float *own, float *own_p)
{
    v_int size = in->shift ? exponentials(in, code, true, v, stride, own)
                           : exponentials(in, code, false, v, stride, own);
    for (size_t i = 0; i < in->width; i += V_LANES) {
        v_float others = v_load(own + i);
        v_float e = gather_own(v + i, stride, in->classes, v_load_int(code + i));
        v_float inverse = 1.0F / (others + e);
        v_store(factor + i, inverse);
        v_store(own + i, others * inverse);
        v_store(own_p + i, e * inverse);
    }
    return v_largest_bits(size);
}

static void own_errors(const float *v, size_t stride, size_t classes, const int32_t *code,
                       size_t width, float *own)
{
    for (size_t i = 0; i < width; i += V_LANES) {
        v_float p = gather_own(v + i, stride, classes, v_load_int(code + i));
        v_store(own + i, v_max(1.0F - p, v_all(0)));
    }
}

static void row_errors(float *v, const int32_t *code, float bias, size_t width)
{
    for (size_t i = 0; i < width; i += V_LANES) {
        v_mask foreground = v_equal(v_load_int(code + i), v_all_int(1));
        v_float x = v_load(v + i);
        v_store(v + i, v_max(v_select(foreground, 1.0F - x, bias + x), v_all(0)));
    }
}

static void sigmoid_errors(float *v, const int32_t *code, size_t width, float *slope)
{
    for (size_t i = 0; i < width; i += V_LANES) {
        v_mask foreground = v_equal(v_load_int(code + i), v_all_int(1));
        v_float x = v_load(v + i);
        v_float s;
        v_store(v + i, submodi_v_sigmoid(v_select(foreground, -x, x), &s));
        v_store(slope + i, s);
    }
}

/* ---- entries ---- */

/* Returns the bits of errors, clamped to the largest. */
static inline v_int bits_of(v_float error, v_int highest)
{
    return v_bits(v_min(error, v_from_bits(highest)));
}

/* Returns the bins of bits that are not below the lowest. */
static inline v_int bins_of(v_int bits, const submodi_bins *bins)
{
    return (bits - bins->lowest) >> (int)bins->shift;
}

static inline v_int bits_from(v_int bits, int32_t lowest)
{
    return v_bits(v_max(v_from_bits(bits), v_from_bits(v_all_int(lowest))));
}

static void entries(const float *error, const submodi_bins *bins, size_t width, int32_t *entry)
{
    const submodi_bins by = *bins;
    for (size_t i = 0; i < width; i += V_LANES) {
        v_int bits = bits_of(v_load(error + i), v_all_int(by.highest));
        v_store_int(entry + i, bins_of(bits_from(bits, by.lowest), &by) + (int32_t)by.count);
    }
}

/* Vectors that are compared before the first branch. */
enum { BLOCK = 4, BLOCK_LANES = BLOCK * V_LANES };

static inline v_mask background_at(const submodi_error_row *row, size_t i, v_int highest,
                                   submodi_error_range range, bool bounded, v_int *bits)
{
    *bits = bits_of(v_load(row->v + i) * v_load(row->factor + i), highest);
    v_mask own = v_equal(v_load_int(row->code + i), v_all_int(row->target));
    v_mask taken = v_and_not(v_below(v_all_int(range.low - 1), *bits), own);
    return bounded ? taken & v_below(*bits, v_all_int(range.high)) : taken;
}

static inline size_t append(v_mask taken, v_int bits, size_t i, const submodi_bins *bins,
                            bool places, int32_t *to)
{
    v_int entry = bins_of(bits, bins);
    if (places) {
        entry |= (v_lane_numbers() + (int32_t)i) << SUBMODI_PLACE_SHIFT;
    }
    return v_compress(taken, entry, to);
}

/* Compiled once for each kind of range, with and without places. */
static inline size_t background_of(const submodi_error_row *given, const submodi_bins *bins,
                                   submodi_error_range range, bool bounded, bool places,
                                   int32_t *list)
{
    const submodi_error_row row = *given;
    const submodi_bins by = *bins;
    const v_int highest = v_all_int(by.highest);
    size_t n = 0;
    size_t i = 0;
    for (; i + BLOCK_LANES <= row.width; i += BLOCK_LANES) {
        v_int bits[BLOCK];
        v_mask taken[BLOCK];
        for (size_t j = 0; j < BLOCK; j++) {
            taken[j] = background_at(&row, i + j * V_LANES, highest, range, bounded, &bits[j]);
        }
        if (v_any(taken[0] | taken[1] | taken[2] | taken[3])) {
            for (size_t j = 0; j < BLOCK; j++) {
                n += append(taken[j], bits[j], i + j * V_LANES, &by, places, list + n);
            }
        }
    }
    for (; i < row.width; i += V_LANES) {
        v_int bits;
        v_mask taken = background_at(&row, i, highest, range, bounded, &bits);
        n += append(taken, bits, i, &by, places, list + n);
    }
    return n;
}

static size_t background(const submodi_error_row *row, const submodi_bins *bins,
                         const submodi_error_range *range, bool places, int32_t *list)
{
    bool bounded = range->high <= bins->highest;
    if (places) {
        return background_of(row, bins, *range, true, true, list);
    }
    return bounded ? background_of(row, bins, *range, true, false, list)
                   : background_of(row, bins, *range, false, false, list);
}

/* Returns the entries of bits that may be below the lowest. */
static inline v_int entries_of(v_int bits, v_mask foreground, const submodi_bins *bins)
{
    v_float side = v_from_bits(v_all_int((int32_t)bins->count));
    v_int shifted = v_bits(v_select(foreground, side, v_all(0)));
    return bins_of(bits_from(bits, bins->lowest), bins) + shifted;
}

static size_t labelled(const submodi_error_row *given, const submodi_bins *bins,
                       const submodi_error_range *range, int32_t *list, int32_t *smallest)
{
    const submodi_error_row row = *given;
    const submodi_bins by = *bins;
    const submodi_error_range r = *range;
    const v_int highest = v_all_int(by.highest);
    v_float least = v_from_bits(v_all_int(*smallest));
    size_t n = 0;
    for (size_t i = 0; i < row.width; i += V_LANES) {
        v_int code = v_load_int(row.code + i);
        v_int bits = bits_of(v_load(row.v + i), highest);
        v_mask of_background = v_equal(code, v_all_int(0));
        v_mask of_foreground = v_equal(code, v_all_int(1));
        least = v_min(least, v_select(of_foreground, v_from_bits(bits), least));
        v_mask taken = (of_foreground & v_below(v_all_int(r.foreground_low - 1), bits)) |
                       (of_background & v_below(v_all_int(r.low - 1), bits) &
                        v_below(bits, v_all_int(r.high)));
        if (v_any(taken)) {
            v_int entry = entries_of(bits, of_foreground, &by);
            entry |= (v_lane_numbers() + (int32_t)i) << SUBMODI_PLACE_SHIFT;
            n += v_compress(taken, entry, list + n);
        }
    }
    for (size_t l = 0; l < V_LANES; l++) {
        *smallest = v_bits(least)[l] < *smallest ? v_bits(least)[l] : *smallest;
    }
    return n;
}

static int32_t largest(const submodi_error_row *row, const submodi_bins *bins, int32_t classes,
                       const float *weight, int32_t least, double *ties)
{
    const v_int highest = v_all_int(bins->highest);
    v_float most = v_from_bits(v_all_int(least));
    for (size_t i = 0; i < row->width; i += V_LANES) {
        v_float e = v_load(row->v + i) * v_load(row->factor + i);
        v_mask valid = v_below(v_load_int(row->code + i), v_all_int(classes));
        most = v_max(most, v_select(valid, v_from_bits(bits_of(e, highest)), most));
    }
    int32_t found = (int32_t)v_largest_bits(v_bits(most));
    *ties = 0;
    for (size_t i = 0; i < row->width; i += V_LANES) {
        v_int bits = bits_of(v_load(row->v + i) * v_load(row->factor + i), highest);
        v_mask valid = v_below(v_load_int(row->code + i), v_all_int(classes));
        v_mask tied = v_equal(bits, v_all_int(found)) & valid;
        if (v_any(tied)) {
            v_float counted = v_select(tied, weight ? v_load(weight + i) : v_all(1), v_all(0));
            for (size_t l = 0; l < V_LANES; l++) {
                *ties += (double)counted[l];
            }
        }
    }
    return found;
}

/* ---- slopes ---- */

static inline double smaller(double x, double y)
{
    return x < y ? x : y;
}

static inline double larger(double x, double y)
{
    return x > y ? x : y;
}

/* Each bin counts its foreground first, then its background; D is the denominator before the bin.
 * The first t pixels of one side increase F by A t / (D + c t), and their slopes sum to s t. The
 * difference is largest at t = (sqrt(A D / s) - D) / c (docs/mathematics.md, section 5). */
static void weigh(submodi_bin_chunk *x, double alpha, double beta, double P, double least)
{
    const double c = beta - 1;
    for (size_t k = 0; k < x->n; k++) {
        double f = x->f[k];
        double g = x->g[k];
        double left = larger(P - x->a[k], 0);      /* foreground that is not wrong yet */
        double after = larger(P - x->a[k] - f, 0); /* the same after the bin */
        double D = P + c * x->a[k] + alpha * x->b[k];
        double of_first = beta * P + alpha * x->b[k];
        double D1 = D + c * f;
        double D2 = D1 + alpha * g;
        double s = of_first / (D * D1);
        double of_g = alpha * after / (D1 * D2);
        x->of_f[k] = f > 0 ? s : 0;
        x->of_g[k] = g > 0 ? of_g : 0;

        double t = c > 0 ? (sqrt(D * D1) - D) / c : 0;
        t = smaller(larger(t, least), f);
        double gap = t * of_first * c * (f - t) / (D * (D + c * t) * D1);

        double first = alpha * left / D;
        t = of_g > 0 && alpha > 0 ? (sqrt(first * D / of_g) - D) / alpha : g;
        t = smaller(larger(t, least), g);
        x->gap[k] = gap + larger(t * (first / (D + alpha * t) - of_g), 0);
    }
}

/* ---- slopes to gradients ---- */

/* Returns |slope| * (error - lower end of its bin), times the pixel weights unless they are NULL.
 * The lower end of bin 0 is 0. */
static inline v_float excess_of(v_int bits, v_float slope, const float *weight,
                                const submodi_bins *bins)
{
    const v_int second_bin = v_all_int(bins->lowest + (int32_t)(UINT32_C(1) << bins->shift));
    v_int lower = bits & (int32_t)(UINT32_MAX << bins->shift);
    v_float end = v_select(v_below(bits, second_bin), v_all(0), v_from_bits(lower));
    v_float excess = v_from_bits(v_bits(slope) & INT32_MAX) * (v_from_bits(bits) - end);
    return weight ? excess * v_load(weight) : excess;
}

/* Adds the lanes of a row's sum to the sums over all rows, in doubles. */
static inline void add_row(const v_float *of_row, double *sum)
{
    float lanes[SUBMODI_LANES];
    for (size_t j = 0; j < PER_SUM; j++) {
        v_store(lanes + j * V_LANES, of_row[j]);
    }
    for (size_t l = 0; l < SUBMODI_LANES; l++) {
        sum[l] += (double)lanes[l];
    }
}

/* Returns table[entry] where taken, else rest. */
static inline v_float slopes_at(const float *table, v_int entry, v_mask taken, v_float rest)
{
    v_int safe = v_bits(v_select(taken, v_from_bits(entry), v_all(0)));
    return v_select(taken, v_gather(table, safe), rest);
}

static inline void look_up_all(const submodi_error_row *given, const submodi_bins *bins,
                               const submodi_class_slopes *slopes, const float *weight, float *p,
                               float *g, float *mean, double *excess)
{
    const submodi_error_row row = *given;
    const submodi_bins by = *bins;
    const submodi_class_slopes s = *slopes;
    const v_int highest = v_all_int(by.highest);
    v_float sum[PER_SUM] = {{0}};
    for (size_t i = 0; i < row.width; i += SUBMODI_LANES) {
        for (size_t j = 0; j < PER_SUM; j++) {
            size_t at = i + j * V_LANES;
            v_float e = v_load(row.v + at) * v_load(row.factor + at);
            v_int bits = bits_of(e, highest);
            v_mask own = v_equal(v_load_int(row.code + at), v_all_int(row.target));
            v_mask taken = v_and_not(v_below(v_all_int(s.low - 1), bits), own);
            v_float w = v_select(own, v_all(0), v_all(s.rest));
            if (v_any(taken)) {
                w = slopes_at(s.table, bins_of(bits, &by), taken, w);
            }
            sum[j] = sum[j] + excess_of(bits, w, weight ? weight + at : NULL, &by);
            v_store(p + at, e);
            v_store(g + at, w);
            v_store(mean + at, v_multiply_add(e, w, v_load(mean + at)));
        }
    }
    add_row(sum, excess);
}

static void look_up(const submodi_error_row *row, const submodi_bins *bins,
                    const submodi_class_slopes *slopes, const float *weight, float *p, float *g,
                    float *mean, double *excess)
{
    if (weight) {
        look_up_all(row, bins, slopes, weight, p, g, mean, excess);
    } else {
        look_up_all(row, bins, slopes, NULL, p, g, mean, excess);
    }
}

static void look_up_labelled(const submodi_error_row *given, const submodi_bins *bins,
                             const submodi_class_slopes *slopes, int32_t foreground_low,
                             const float *weight, float *g, double *excess)
{
    const submodi_error_row row = *given;
    const submodi_bins by = *bins;
    const submodi_class_slopes s = *slopes;
    const v_int highest = v_all_int(by.highest);
    v_float sum[PER_SUM] = {{0}};
    for (size_t i = 0; i < row.width; i += SUBMODI_LANES) {
        for (size_t j = 0; j < PER_SUM; j++) {
            size_t at = i + j * V_LANES;
            v_int code = v_load_int(row.code + at);
            v_int bits = bits_of(v_load(row.v + at), highest);
            v_mask of_background = v_equal(code, v_all_int(0));
            v_mask of_foreground = v_equal(code, v_all_int(1));
            v_mask active = v_below(v_all_int(foreground_low - 1), bits);
            v_mask taken =
                (of_foreground & active) | (of_background & v_below(v_all_int(s.low - 1), bits));
            v_float w = v_select(of_background & active, v_all(s.rest), v_all(0));
            if (v_any(taken)) {
                w = slopes_at(s.table, entries_of(bits, of_foreground, &by), taken, w);
            }
            sum[j] = sum[j] + excess_of(bits, w, weight ? weight + at : NULL, &by);
            v_store(g + at, w);
        }
    }
    add_row(sum, excess);
}

/* The own error is 1 - p, so the derivative by the own score is p (slope (1 - p) - the others'
 * mean). In this form nothing cancels where p is nearly 1. */
static void look_up_own(const float *own, const float *own_p, const float *slope,
                        const submodi_bins *bins, const float *weight, size_t width, float *mean,
                        float *derivative, double *excess)
{
    const v_int highest = v_all_int(bins->highest);
    v_float sum[PER_SUM] = {{0}};
    for (size_t i = 0; i < width; i += SUBMODI_LANES) {
        for (size_t j = 0; j < PER_SUM; j++) {
            size_t at = i + j * V_LANES;
            v_float w = v_load(slope + at);
            v_float p = v_load(own_p + at);
            v_float error = v_load(own + at);
            v_float of_others = v_load(mean + at);
            v_int bits = bits_of(error, highest);
            sum[j] = sum[j] + excess_of(bits, w, weight ? weight + at : NULL, bins);
            v_store(derivative + at, p * (w * error - of_others));
            v_store(mean + at, v_multiply_add(p, w, of_others));
        }
    }
    add_row(sum, excess);
}

/* Compiled once for each way to store. */
static inline void store_all(const float *p, const float *g, size_t stride, size_t classes,
                             size_t width, const int32_t *code, const float *mean,
                             const float *derivative, const submodi_rows_out *to, submodi_store how)
{
    for (size_t c = 0; c < classes; c++, p += stride, g += stride) {
        float *target = to->data + (ptrdiff_t)c * to->stride;
        for (size_t i = 0; i < width; i += V_LANES) {
            v_mask mine = v_equal(v_load_int(code + i), v_all_int((int32_t)c));
            v_float d = v_load(p + i) * (v_load(g + i) - v_load(mean + i));
            d = v_select(mine, v_load(derivative + i), d);
            d = to->weight ? d * v_load(to->weight + i) : d;
            submodi_v_put(target + i, d, to->scale, how);
        }
    }
}

static void store(const float *p, const float *g, size_t stride, size_t classes, size_t width,
                  const int32_t *code, const float *mean, const float *derivative,
                  const submodi_rows_out *to)
{
    switch (to->how) {
    case SUBMODI_OVERWRITE:
        store_all(p, g, stride, classes, width, code, mean, derivative, to, SUBMODI_OVERWRITE);
        break;
    case SUBMODI_ADD:
        store_all(p, g, stride, classes, width, code, mean, derivative, to, SUBMODI_ADD);
        break;
    case SUBMODI_STREAM:
        store_all(p, g, stride, classes, width, code, mean, derivative, to, SUBMODI_STREAM);
        v_stream_end();
        break;
    }
}

const submodi_counting_loops SUBMODI_TABLE(submodi_counters) = {
    .split = split,
    .own_errors = own_errors,
    .row_errors = row_errors,
    .sigmoid_errors = sigmoid_errors,
    .entries = entries,
    .background = background,
    .labelled = labelled,
    .largest = largest,
    .weigh = weigh,
    .look_up = look_up,
    .look_up_labelled = look_up_labelled,
    .look_up_own = look_up_own,
    .store = store};
