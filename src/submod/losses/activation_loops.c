/* Softmax, sigmoid and their derivatives on tiles (see activation_loops.h).
 *
 * A tile is done in columns of a few vectors, all classes of a column at once, so that what is
 * summed up over the classes stays in registers. */
#include "submod/losses/activation_loops.h"

#include <math.h>

#include "submod/losses/column.h"

/* Vectors of a column. */
enum { COLUMN = 4, COLUMN_LANES = COLUMN * V_LANES };

/* ---- softmax ---- */

/* One column; the compiler makes a copy for each value of `vectors` and `shifted`. */
static inline v_int exponentials_of(const submodi_rows_in *in, size_t i, size_t vectors,
                                    bool shifted, float *v, size_t stride, float *inverse)
{
    v_float total[COLUMN];
    v_int size = v_all_int(0);
    for (size_t j = 0; j < vectors; j++) {
        total[j] = v_all(0);
    }
    for (size_t c = 0; c < in->classes; c++) {
        const float *row = in->data + (ptrdiff_t)c * in->stride + i;
        submodi_prefetch_row(in, row, vectors);
        for (size_t j = 0; j < vectors; j++) {
            v_float x = v_load(row + j * V_LANES);
            x = shifted ? submodi_v_shift(x, in->shift + i + j * V_LANES) : x;
            size = v_max_bits(size, submodi_v_size(x));
            v_float e = submodi_v_exp(x);
            v_store(v + c * stride + i + j * V_LANES, e);
            total[j] += e;
        }
    }
    for (size_t j = 0; j < vectors; j++) {
        v_store(inverse + i + j * V_LANES, 1.0F / total[j]);
    }
    return size;
}

static uint32_t exponentials(const submodi_rows_in *in, float *v, size_t stride, float *inverse)
{
    v_int size = v_all_int(0);
    size_t i = 0;
    for (; !in->shift && i + COLUMN_LANES <= in->width; i += COLUMN_LANES) {
        size = v_max_bits(size, exponentials_of(in, i, COLUMN, false, v, stride, inverse));
    }
    for (; i < in->width; i += V_LANES) {
        size = v_max_bits(size, in->shift ? exponentials_of(in, i, 1, true, v, stride, inverse)
                                          : exponentials_of(in, i, 1, false, v, stride, inverse));
    }
    return v_largest_bits(size);
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

static inline void probabilities_of(const submodi_rows_in *in, size_t i, size_t vectors,
                                    bool shifted, const float *factor, float *v, size_t stride)
{
    v_float f[COLUMN];
    for (size_t j = 0; j < vectors; j++) {
        f[j] = v_load(factor + i + j * V_LANES);
    }
    for (size_t c = 0; c < in->classes; c++) {
        const float *row = in->data + (ptrdiff_t)c * in->stride + i;
        submodi_prefetch_row(in, row, vectors);
        for (size_t j = 0; j < vectors; j++) {
            v_float x = v_load(row + j * V_LANES);
            x = shifted ? submodi_v_shift(x, in->shift + i + j * V_LANES) : x;
            v_store(v + c * stride + i + j * V_LANES, submodi_v_exp(x) * f[j]);
        }
    }
}

static void probabilities(const submodi_rows_in *in, const float *factor, float *v, size_t stride)
{
    size_t i = 0;
    for (; !in->shift && i + COLUMN_LANES <= in->width; i += COLUMN_LANES) {
        probabilities_of(in, i, COLUMN, false, factor, v, stride);
    }
    for (; i < in->width; i += V_LANES) {
        if (in->shift) {
            probabilities_of(in, i, 1, true, factor, v, stride);
        } else {
            probabilities_of(in, i, 1, false, factor, v, stride);
        }
    }
}

/* ---- storing ---- */

static inline void backward_of(const float *p, size_t stride, const submodi_rows_in *g, size_t i,
                               size_t vectors, const submodi_rows_out *to, submodi_store how)
{
    v_float mean[COLUMN];
    for (size_t j = 0; j < vectors; j++) {
        mean[j] = v_all(0);
    }
    for (size_t c = 0; c < g->classes; c++) {
        const float *row = g->data + (ptrdiff_t)c * g->stride + i;
        submodi_prefetch_row(g, row, vectors);
        for (size_t j = 0; j < vectors; j++) {
            v_float of_p = v_load(p + c * stride + i + j * V_LANES);
            mean[j] = v_multiply_add(of_p, v_load(row + j * V_LANES), mean[j]);
        }
    }
    for (size_t c = 0; c < g->classes; c++) {
        const float *row = g->data + (ptrdiff_t)c * g->stride + i;
        float *target = to->data + (ptrdiff_t)c * to->stride + i;
        for (size_t j = 0; j < vectors; j++) {
            v_float of_p = v_load(p + c * stride + i + j * V_LANES);
            v_float d = of_p * (v_load(row + j * V_LANES) - mean[j]);
            submodi_v_put(target + j * V_LANES, d, to->scale, how);
        }
    }
}

static inline void backward_all(const float *p, size_t stride, const submodi_rows_in *g,
                                const submodi_rows_out *to, submodi_store how)
{
    size_t i = 0;
    for (; i + COLUMN_LANES <= g->width; i += COLUMN_LANES) {
        backward_of(p, stride, g, i, COLUMN, to, how);
    }
    for (; i < g->width; i += V_LANES) {
        backward_of(p, stride, g, i, 1, to, how);
    }
}

static void softmax_backward(const float *p, size_t stride, const submodi_rows_in *g,
                             const submodi_rows_out *to)
{
    switch (to->how) {
    case SUBMODI_OVERWRITE: backward_all(p, stride, g, to, SUBMODI_OVERWRITE); break;
    case SUBMODI_ADD: backward_all(p, stride, g, to, SUBMODI_ADD); break;
    case SUBMODI_STREAM:
        backward_all(p, stride, g, to, SUBMODI_STREAM);
        v_stream_end();
        break;
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
            submodi_prefetch_row(in, row + i, 1);
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
