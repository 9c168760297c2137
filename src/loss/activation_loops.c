/* Softmax, sigmoid and their derivatives on tiles (see activation_loops.h).
 *
 * A tile is done row by row. What is summed up over the classes has a row of its own, in L1. */
#include "loss/activation_loops.h"

#include <math.h>
#include <string.h>

#include "loss/tile_row.h"

/* ---- softmax ---- */

/* Sums over the classes are kept in a row of their own, which stays in L1. The compiler makes a
 * copy for each value of `first` and `shifted`. */
static inline v_int exponentials_of(const submodi_rows_in *in, const float *row, bool first,
                                    bool shifted, float *v, float *total)
{
    const submodi_rows_in r = *in;
    v_int size = v_all_int(0);
    for (size_t i = 0; i < r.width; i += V_LANES) {
        submodi_prefetch_row(&r, row + i);
        v_float x = v_load(row + i);
        x = shifted ? submodi_v_shift(x, r.shift + i) : x;
        size = v_max_bits(size, submodi_v_size(x));
        v_float e = submodi_v_exp(x);
        v_store(v + i, e);
        v_store(total + i, first ? e : v_load(total + i) + e);
    }
    return size;
}

static inline uint32_t all_exponentials(const submodi_rows_in *in, bool shifted, float *v,
                                        size_t stride, float *inverse)
{
    v_int size = exponentials_of(in, in->data, true, shifted, v, inverse);
    for (size_t c = 1; c < in->classes; c++) {
        const float *row = in->data + (ptrdiff_t)c * in->stride;
        size = v_max_bits(size, exponentials_of(in, row, false, shifted, v + c * stride, inverse));
    }
    for (size_t i = 0; i < in->width; i += V_LANES) {
        v_store(inverse + i, 1.0F / v_load(inverse + i));
    }
    return v_largest_bits(size);
}

static uint32_t exponentials(const submodi_rows_in *in, float *v, size_t stride, float *inverse)
{
    return in->shift ? all_exponentials(in, true, v, stride, inverse)
                     : all_exponentials(in, false, v, stride, inverse);
}

static void find_shift(const submodi_rows_in *in, float *shift)
{
    for (size_t i = 0; i < in->width; i += V_LANES) {
        v_float largest = v_load(in->data + i);
        v_int size = v_all_int(0);
        for (size_t c = 0; c < in->classes; c++) {
            v_float x = v_load(in->data + (ptrdiff_t)c * in->stride + i);
            largest = v_max(largest, x);
            size = v_max_bits(size, submodi_v_size(x));
        }
        v_mask small = v_at_least(v_all(SUBMODI_UNSHIFTED), v_from_bits(size));
        v_store(shift + i, v_select(small, v_all(0), largest));
    }
}

static inline void all_probabilities(const submodi_rows_in *in, bool shifted, const float *factor,
                                     float *v, size_t stride)
{
    const submodi_rows_in r = *in;
    for (size_t c = 0; c < r.classes; c++, v += stride) {
        const float *row = r.data + (ptrdiff_t)c * r.stride;
        for (size_t i = 0; i < r.width; i += V_LANES) {
            submodi_prefetch_row(&r, row + i);
            v_float x = v_load(row + i);
            x = shifted ? submodi_v_shift(x, r.shift + i) : x;
            v_store(v + i, submodi_v_exp(x) * v_load(factor + i));
        }
    }
}

static void probabilities(const submodi_rows_in *in, const float *factor, float *v, size_t stride)
{
    if (in->shift) {
        all_probabilities(in, true, factor, v, stride);
    } else {
        all_probabilities(in, false, factor, v, stride);
    }
}

/* ---- storing ---- */

/* mean <- the sum of p g over the classes. */
static void find_mean(const float *p, size_t stride, const submodi_rows_in *g, float *mean)
{
    const submodi_rows_in r = *g;
    memset(mean, 0, r.width * sizeof *mean);
    for (size_t c = 0; c < r.classes; c++, p += stride) {
        const float *row = r.data + (ptrdiff_t)c * r.stride;
        for (size_t i = 0; i < r.width; i += V_LANES) {
            submodi_prefetch_row(&r, row + i);
            v_store(mean + i, v_multiply_add(v_load(p + i), v_load(row + i), v_load(mean + i)));
        }
    }
}

/* The compiler makes a copy for each way to store, with weights and without. */
static inline void backward_all(const float *p, size_t stride, const submodi_rows_in *g,
                                const submodi_rows_out *to, submodi_store how, bool weighted)
{
    float mean[SUBMODI_TILE_MAX];
    find_mean(p, stride, g, mean);
    for (size_t c = 0; c < g->classes; c++, p += stride) {
        const float *row = g->data + (ptrdiff_t)c * g->stride;
        float *target = to->data + (ptrdiff_t)c * to->stride;
        for (size_t i = 0; i < g->width; i += V_LANES) {
            v_float d = v_load(p + i) * (v_load(row + i) - v_load(mean + i));
            d = weighted ? d * v_load(to->weight + i) : d;
            submodi_v_put(target + i, d, to->scale, how);
        }
    }
}

static inline void backward(const float *p, size_t stride, const submodi_rows_in *g,
                            const submodi_rows_out *to, bool weighted)
{
    switch (to->how) {
    case SUBMODI_OVERWRITE: backward_all(p, stride, g, to, SUBMODI_OVERWRITE, weighted); break;
    case SUBMODI_ADD: backward_all(p, stride, g, to, SUBMODI_ADD, weighted); break;
    case SUBMODI_STREAM:
        backward_all(p, stride, g, to, SUBMODI_STREAM, weighted);
        v_stream_end();
        break;
    }
}

static void softmax_backward(const float *p, size_t stride, const submodi_rows_in *g,
                             const submodi_rows_out *to)
{
    if (to->weight) {
        backward(p, stride, g, to, true);
    } else {
        backward(p, stride, g, to, false);
    }
}

static inline void store_all(const float *g, size_t stride, size_t classes, size_t width,
                             const submodi_rows_out *to, submodi_store how)
{
    for (size_t c = 0; c < classes; c++) {
        float *row = to->data + (ptrdiff_t)c * to->stride;
        for (size_t i = 0; i < width; i += V_LANES) {
            submodi_v_put(row + i, v_load(g + c * stride + i), to->scale, how);
        }
    }
}

static void store(const float *g, size_t stride, size_t classes, size_t width,
                  const submodi_rows_out *to)
{
    switch (to->how) {
    case SUBMODI_OVERWRITE: store_all(g, stride, classes, width, to, SUBMODI_OVERWRITE); break;
    case SUBMODI_ADD: store_all(g, stride, classes, width, to, SUBMODI_ADD); break;
    case SUBMODI_STREAM:
        store_all(g, stride, classes, width, to, SUBMODI_STREAM);
        v_stream_end();
        break;
    }
}

/* ---- rows ---- */

/* What is done to rows, vector by vector. */
typedef enum task { LOOK, COPY, SIGMOID, SIGMOID_ALONE, CLAMP } task;

static inline v_int do_vector(task what, v_float x, float *v, float *slope)
{
    v_float s;
    v_mask inside;
    switch (what) {
    case LOOK: break;
    case COPY: v_store(v, x); break;
    case SIGMOID:
        v_store(v, submodi_v_sigmoid(x, &s));
        v_store(slope, s);
        break;
    case SIGMOID_ALONE: v_store(v, submodi_v_sigmoid(x, &s)); break;
    case CLAMP:
        inside = submodi_v_is_probability(x);
        v_store(v, v_min(v_max(x, v_all(0)), v_all(1)));
        x = v_select(inside, x, v_all(INFINITY));
        break;
    }
    return submodi_v_size(x);
}

/* The compiler makes a copy for each task. */
static inline uint32_t do_rows(task what, const submodi_rows_in *in, float *v, float *slope,
                               size_t stride)
{
    v_int size = v_all_int(0);
    for (size_t c = 0; c < in->classes; c++) {
        const float *row = in->data + (ptrdiff_t)c * in->stride;
        for (size_t i = 0; i < in->width; i += V_LANES) {
            submodi_prefetch_row(in, row + i);
            size_t at = c * stride + i;
            float *of_v = what == LOOK ? NULL : v + at;
            float *of_slope = what == SIGMOID ? slope + at : NULL;
            size = v_max_bits(size, do_vector(what, v_load(row + i), of_v, of_slope));
        }
    }
    return v_largest_bits(size);
}

static uint32_t largest_size(const submodi_rows_in *in)
{
    return do_rows(LOOK, in, NULL, NULL, 0);
}

static uint32_t copy(const submodi_rows_in *in, float *v, size_t stride)
{
    return do_rows(COPY, in, v, NULL, stride);
}

static uint32_t sigmoid(const submodi_rows_in *in, float *v, float *slope, size_t stride)
{
    return slope ? do_rows(SIGMOID, in, v, slope, stride)
                 : do_rows(SIGMOID_ALONE, in, v, NULL, stride);
}

static uint32_t clamp(const submodi_rows_in *in, float *v, size_t stride)
{
    return do_rows(CLAMP, in, v, NULL, stride);
}

static void multiply(float *g, const float *slope, size_t width)
{
    for (size_t i = 0; i < width; i += V_LANES) {
        v_store(g + i, v_load(g + i) * v_load(slope + i));
    }
}

static void drop_ignored(const int32_t *code, int32_t classes, size_t width, float *factor)
{
    for (size_t i = 0; i < width; i += V_LANES) {
        v_mask valid = v_below(v_load_int(code + i), v_all_int(classes));
        v_store(factor + i, v_select(valid, v_load(factor + i), v_all(0)));
    }
}

const submodi_activation_loops SUBMODI_TABLE(submodi_activations) = {
    .exponentials = exponentials,
    .find_shift = find_shift,
    .probabilities = probabilities,
    .softmax_backward = softmax_backward,
    .store = store,
    .largest_size = largest_size,
    .copy = copy,
    .sigmoid = sigmoid,
    .clamp = clamp,
    .multiply = multiply,
    .drop_ignored = drop_ignored};
