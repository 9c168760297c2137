/* Batches as callers may have them (see tensors.h). */
#include "tensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- layouts ---- */

/* Element (b, c, i) is offset + b stride[0] + c stride[1] + i stride[2] of `count`. */
typedef struct layout {
    ptrdiff_t stride[3];
    size_t offset, count;
} layout;

static size_t at(const layout *l, size_t b, size_t c, size_t i)
{
    return (size_t)((ptrdiff_t)l->offset + (ptrdiff_t)b * l->stride[0] +
                    (ptrdiff_t)c * l->stride[1] + (ptrdiff_t)i * l->stride[2]);
}

static layout dense_layout(const size_t *size)
{
    return (layout){
        {(ptrdiff_t)(size[1] * size[2]), (ptrdiff_t)size[2], 1}, 0, size[0] * size[1] * size[2]};
}

/* Axes in any order, forwards or backwards, with gaps; repeated ones if that is fine. */
static layout any_layout(dice *d, const size_t *size, bool repeats)
{
    static const int orders[6][3] = {{2, 1, 0}, {1, 2, 0}, {2, 0, 1},
                                     {1, 0, 2}, {0, 1, 2}, {0, 2, 1}};
    const int *order = orders[dice_below(d, 6)];
    layout l = {{0}, 0, 0};
    size_t reach = 1; /* elements that the axes so far take */
    for (int k = 0; k < 3; k++) {
        int axis = order[k];
        if (repeats && dice_once_in(d, 24)) {
            continue;
        }
        size_t stride = reach + (dice_once_in(d, 4) ? dice_below(d, 5) : 0);
        size_t last = size[axis] ? size[axis] - 1 : 0;
        bool backwards = dice_once_in(d, 6);
        l.stride[axis] = backwards ? -(ptrdiff_t)stride : (ptrdiff_t)stride;
        l.offset += backwards ? last * stride : 0;
        reach += last * stride;
    }
    l.count = size[0] && size[1] && size[2] ? reach : 0;
    return l;
}

static void *keep(tensors *t, void *memory)
{
    return t->memory[t->memory_count++] = memory;
}

/* ---- numbers ---- */

/* IEEE binary16. */
static float from_half(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    float mantissa = (float)(bits & 1023);
    float size = exponent == 31  ? (mantissa != 0 ? NAN : INFINITY)
                 : exponent == 0 ? ldexpf(mantissa, -24)
                                 : ldexpf(mantissa + 1024, exponent - 25);
    return bits >> 15 ? -size : size;
}

static float from_upper_half(uint16_t bits)
{
    uint32_t whole = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &whole, sizeof value);
    return value;
}

/* A half that is a number, but for once in a while. */
static uint16_t half(dice *d, submod_score_type type)
{
    uint16_t bits = (uint16_t)dice_bits(d, 2);
    float value = type == SUBMOD_SCORE_F16 ? from_half(bits) : from_upper_half(bits);
    return isfinite(value) || dice_once_in(d, 8) ? bits : (uint16_t)(bits & 0xbfff);
}

static float unit_float(dice *d)
{
    return (float)dice_below(d, 257) / 256;
}

/* Scores, or soft labels, in any type and layout, and as dense floats. units: in [0, 1]. */
static void make_scores(dice *d, tensors *t, bool units, submod_scores *any, submod_scores *dense)
{
    const size_t size[3] = {t->batch, t->classes, t->pixels};
    const layout l = any_layout(d, size, true), plain = dense_layout(size);
    submod_score_type type = (submod_score_type)(units ? 0 : dice_below(d, 3));
    numbers style = dice_numbers(d);
    float *x = keep(t, fuzz_alloc(plain.count, sizeof *x));
    size_t bytes = type == SUBMOD_SCORE_F32 ? sizeof(float) : sizeof(uint16_t);
    float *wide = keep(t, fuzz_alloc(l.count, bytes));
    uint16_t *narrow = (uint16_t *)(void *)wide;
    for (size_t k = 0; k < l.count; k++) {
        if (type != SUBMOD_SCORE_F32) {
            narrow[k] = half(d, type);
        } else {
            wide[k] = units && !dice_once_in(d, 200) ? unit_float(d) : dice_float(d, style);
        }
    }
    for (size_t k = 0; k < plain.count; k++) {
        size_t from = at(&l, k / (size[1] * size[2]), k / size[2] % size[1], k % size[2]);
        x[k] = type == SUBMOD_SCORE_F32   ? wide[from]
               : type == SUBMOD_SCORE_F16 ? from_half(narrow[from])
                                          : from_upper_half(narrow[from]);
    }
    *dense = submod_scores_f32(x, t->batch, t->classes, t->pixels);
    *any = (submod_scores){.data = (char *)wide + l.offset * bytes,
                           .type = type,
                           .batch = t->batch,
                           .classes = t->classes,
                           .pixels = t->pixels,
                           .batch_stride = l.stride[0],
                           .class_stride = l.stride[1],
                           .pixel_stride = l.stride[2]};
}

static int64_t one_label(dice *d, const tensors *t)
{
    size_t most = t->kind == LABELS_OF_CLASSES ? t->classes : 2;
    size_t roll = dice_below(d, 256);
    if (roll >= 255 && dice_once_in(d, 4)) {
        return (int64_t)dice_bits(d, 8); /* most likely out of range */
    }
    return roll >= 240 && t->settings.has_ignore ? t->settings.ignore_index
                                                 : (int64_t)(roll % most);
}

static void store_label(void *data, submod_label_type type, size_t k, int64_t label)
{
    switch (type) {
    case SUBMOD_LABEL_U8: ((uint8_t *)data)[k] = (uint8_t)label; return;
    case SUBMOD_LABEL_I32: ((int32_t *)data)[k] = (int32_t)label; return;
    default: ((int64_t *)data)[k] = label;
    }
}

static int64_t stored_label(const void *data, submod_label_type type, size_t k)
{
    switch (type) {
    case SUBMOD_LABEL_U8: return ((const uint8_t *)data)[k];
    case SUBMOD_LABEL_I32: return ((const int32_t *)data)[k];
    default: return ((const int64_t *)data)[k];
    }
}

static void make_labels(dice *d, tensors *t)
{
    bool multiple = t->kind == LABELS_MULTIPLE;
    const size_t size[3] = {t->batch, multiple ? t->classes : 1, t->pixels};
    const layout l = any_layout(d, size, !multiple), plain = dense_layout(size);
    submod_label_type type = (submod_label_type)dice_below(d, 3);
    static const size_t bytes[] = {1, sizeof(int32_t), sizeof(int64_t)};
    int64_t *y = keep(t, fuzz_alloc(plain.count, sizeof *y));
    char *data = keep(t, fuzz_alloc(l.count, bytes[type]));
    for (size_t k = 0; k < l.count; k++) {
        store_label(data, type, k, one_label(d, t));
    }
    for (size_t k = 0; k < plain.count; k++) {
        size_t from = at(&l, k / (size[1] * size[2]), k / size[2] % size[1], k % size[2]);
        y[k] = stored_label(data, type, from);
    }
    t->dense.labels =
        multiple ? submod_labels_multilabel(y, SUBMOD_LABEL_I64, t->batch, t->classes, t->pixels)
                 : submod_labels_i64(y, t->batch, t->pixels);
    t->any.labels = (submod_labels){.data = data + l.offset * bytes[type],
                                    .type = type,
                                    .batch = t->batch,
                                    .pixels = t->pixels,
                                    .batch_stride = l.stride[0],
                                    .pixel_stride = l.stride[2],
                                    .class_stride = multiple ? l.stride[1] : 0};
}

static void make_weights(dice *d, tensors *t)
{
    const size_t size[3] = {t->batch, 1, t->pixels};
    const layout l = any_layout(d, size, true), plain = dense_layout(size);
    numbers style = dice_numbers(d);
    float *any = keep(t, fuzz_alloc(l.count, sizeof *any));
    float *dense = keep(t, fuzz_alloc(plain.count, sizeof *dense));
    for (size_t k = 0; k < l.count; k++) {
        float w = dice_float(d, style);
        any[k] = dice_once_in(d, 250) ? w : fabsf(w);
    }
    for (size_t k = 0; k < plain.count; k++) {
        dense[k] = any[at(&l, k / size[2], 0, k % size[2])];
    }
    t->dense.weights = submod_pixel_weights_f32(dense, t->batch, t->pixels);
    t->any.weights =
        (submod_pixel_weights){any + l.offset, t->batch, t->pixels, l.stride[0], l.stride[2]};
}

static void make_gradients(dice *d, tensors *t)
{
    const size_t size[3] = {t->batch, t->classes, t->pixels};
    const layout layouts[2] = {any_layout(d, size, false), dense_layout(size)};
    tensors_view *const views[2] = {&t->any, &t->dense};
    double scale = dice_once_in(d, 8) ? dice_real(d, dice_numbers(d)) : 0.75;
    int accumulate = (int)dice_below(d, 2);
    for (int v = 0; v < 2; v++) {
        const layout *l = &layouts[v];
        views[v]->gradient_memory = keep(t, fuzz_alloc(l->count, sizeof(float)));
        views[v]->gradient_count = l->count;
        views[v]->gradient = (submod_gradient){views[v]->gradient_memory + l->offset,
                                               l->stride[0],
                                               l->stride[1],
                                               l->stride[2],
                                               scale,
                                               accumulate};
    }
}

/* ---- settings ---- */

/* Increasing, and submodular; NaN where ctx says so. */
static double root_of_share(double a, double b, double P, double N, void *ctx)
{
    return ctx && a == 1 && b == 1 ? NAN : P + N > 0 ? sqrt((a + b) / (P + N)) : 0;
}

static void make_measure(dice *d, tensors *t)
{
    static int fails;
    switch (dice_below(d, 6)) {
    case 0: t->measure = submod_hamming(); break;
    case 1:
        t->measure = submod_tversky((double)dice_below(d, 3), 1 + (double)dice_below(d, 3));
        break;
    case 2:
        t->measure = submod_tversky(dice_real(d, dice_numbers(d)), dice_real(d, dice_numbers(d)));
        break;
    case 3:
        t->measure = submod_measure_custom(&(submod_measure_ops){.value = root_of_share},
                                           dice_once_in(d, 4) ? &fails : NULL);
        break;
    default: t->measure = submod_jaccard(); break;
    }
    t->settings.measure = dice_below(d, 3) ? &t->measure : NULL;
}

static void make_classes(dice *d, tensors *t)
{
    submod_loss_settings *s = &t->settings;
    s->classes = (submod_classes)dice_below(d, dice_once_in(d, 50) ? 9 : 3);
    s->class_list = t->class_list;
    s->class_count = dice_below(d, t->classes + 1);
    for (size_t k = 0; k < s->class_count; k++) { /* distinct, most of the time */
        t->class_list[k] = (int32_t)(dice_once_in(d, 100) ? dice_bits(d, 4) : k);
    }
    numbers style = dice_numbers(d);
    for (size_t c = 0; c < TENSORS_MOST_CLASSES; c++) {
        t->class_weight[c] = fabs(dice_real(d, style));
    }
    s->class_weight = dice_below(d, 4) ? NULL : t->class_weight;
}

static void make_settings(dice *d, tensors *t)
{
    submod_loss_settings *s = &t->settings;
    *s = submod_loss_defaults();
    s->delta = dice_once_in(d, 40) ? dice_real(d, NUMBERS_ANY) : ldexp(1, -(int)dice_below(d, 12));
    s->bins =
        dice_below(d, 3) ? (size_t)2 << dice_below(d, 10) : dice_below(d, 2) * dice_below(d, 9);
    s->per_image = (int)dice_below(d, 2);
    s->smoothing = dice_below(d, 3) ? 0 : dice_real(d, dice_numbers(d));
    s->has_ignore = (int)dice_below(d, 2);
    s->ignore_index = dice_below(d, 3) ? 255 : (int64_t)dice_below(d, 6) - 2;
    make_measure(d, t);
    make_classes(d, t);
    t->weighted = dice_once_in(d, 3);
    t->derives = dice_below(d, 4) != 3;
}

static size_t pixel_count(dice *d)
{
    size_t roll = dice_below(d, 64);
    return roll < 40 ? dice_below(d, 20) : roll < 62 ? dice_below(d, 80) : dice_below(d, 1300);
}

void tensors_make(dice *d, tensors *t, tensors_labels kind, bool probabilities)
{
    memset(t, 0, sizeof *t);
    t->kind = kind;
    t->batch = dice_below(d, 4);
    t->classes = kind == LABELS_BINARY ? 1 : 1 + dice_below(d, TENSORS_MOST_CLASSES);
    t->pixels = pixel_count(d);
    make_settings(d, t);
    t->settings.from_logits = !probabilities;
    make_scores(d, t, probabilities, &t->any.scores, &t->dense.scores);
    make_scores(d, t, true, &t->any.soft, &t->dense.soft);
    make_labels(d, t);
    make_weights(d, t);
    make_gradients(d, t);
}

void tensors_free(tensors *t)
{
    for (size_t k = 0; k < t->memory_count; k++) {
        free(t->memory[k]);
    }
}

/* ---- both views ---- */

/* What lies where a gradient goes, before: the same at (b, c, i) in both views. */
static float before(size_t b, size_t c, size_t i)
{
    return (float)((b * 31 + c * 7 + i) % 13) - 6;
}

static const float GAP = 12345;

static float *cell(const submod_gradient *g, size_t b, size_t c, size_t i)
{
    return g->data + (ptrdiff_t)b * g->batch_stride + (ptrdiff_t)c * g->class_stride +
           (ptrdiff_t)i * g->pixel_stride;
}

static void fill_gradient(const tensors *t, tensors_view *v)
{
    for (size_t k = 0; k < v->gradient_count; k++) {
        v->gradient_memory[k] = GAP;
    }
    for (size_t b = 0; b < t->batch; b++) {
        for (size_t c = 0; c < t->classes; c++) {
            for (size_t i = 0; i < t->pixels; i++) {
                *cell(&v->gradient, b, c, i) = before(b, c, i);
            }
        }
    }
}

void tensors_same_gradients(const tensors *t)
{
    for (size_t b = 0; b < t->batch; b++) {
        for (size_t c = 0; c < t->classes; c++) {
            for (size_t i = 0; i < t->pixels; i++) {
                float any = *cell(&t->any.gradient, b, c, i);
                float dense = *cell(&t->dense.gradient, b, c, i);
                FUZZ_CHECK(any == dense, "gradient[%zu][%zu][%zu] is %.9g by this view, %.9g dense",
                           b, c, i, (double)any, (double)dense);
            }
        }
    }
}

/* Nothing is written where no gradient goes, and nothing at all after an error. */
static void check_untouched(const tensors *t, submod_status status)
{
    for (size_t b = 0; b < t->batch; b++) {
        for (size_t c = 0; c < t->classes; c++) {
            for (size_t i = 0; i < t->pixels; i++) {
                float *any = cell(&t->any.gradient, b, c, i);
                FUZZ_CHECK((status == SUBMOD_OK && t->derives) || *any == before(b, c, i),
                           "gradient[%zu][%zu][%zu] was written although the status is %d", b, c, i,
                           (int)status);
                *any = GAP;
            }
        }
    }
    for (size_t k = 0; k < t->any.gradient_count; k++) {
        FUZZ_CHECK(t->any.gradient_memory[k] == GAP, "the gap at %zu was written", k);
    }
}

static const double NOTHING = -77;

static submod_status run(const tensors *t, const tensors_view *v, const tensors_call *call,
                         double *loss, double *group_loss)
{
    submod_loss_settings s = t->settings;
    s.pixel_weights = t->weighted ? &v->weights : NULL;
    s.group_loss = group_loss;
    *loss = NOTHING;
    for (size_t b = 0; b < 4; b++) {
        group_loss[b] = NOTHING;
    }
    return call->run(t, v, loss, t->derives ? &v->gradient : NULL, &s, call->context);
}

static void show(const tensors *t)
{
    const submod_loss_settings *s = &t->settings;
    fprintf(stderr,
            "%zu x %zu x %zu, logits %d, smoothing %g, weighted %d, scale %g, accumulate %d\n",
            t->batch, t->classes, t->pixels, s->from_logits, s->smoothing, (int)t->weighted,
            t->any.gradient.scale, t->any.gradient.accumulate);
    fprintf(stderr, "scores of type %d:", (int)t->any.scores.type);
    for (size_t k = 0; k < t->batch * t->classes * t->pixels; k++) {
        fprintf(stderr, " %g", (double)((const float *)t->dense.scores.data)[k]);
    }
    fprintf(stderr, "\nlabels:");
    for (size_t k = 0; k < t->batch * t->pixels; k++) {
        fprintf(stderr, " %lld", (long long)((const int64_t *)t->dense.labels.data)[k]);
    }
    fprintf(stderr, "\nweights:");
    for (size_t k = 0; t->weighted && k < t->batch * t->pixels; k++) {
        fprintf(stderr, " %g", (double)t->dense.weights.data[k]);
    }
    fprintf(stderr, "\n");
}

submod_status tensors_compare(tensors *t, const tensors_call *call, double *loss)
{
    double dense, groups[2][4];
    if (fuzz_shows()) {
        show(t);
    }
    fill_gradient(t, &t->any);
    fill_gradient(t, &t->dense);
    submod_status status = run(t, &t->any, call, loss, groups[0]);
    submod_status again = run(t, &t->dense, call, &dense, groups[1]);
    FUZZ_CHECK(status == again, "status %d by this view, %d dense", (int)status, (int)again);
    FUZZ_CHECK(*loss == dense, "loss %.17g by this view, %.17g dense", *loss, dense);
    FUZZ_CHECK(status == SUBMOD_OK || (*loss == NOTHING && submod_last_error()[0]),
               "status %d, but the loss was written, or there are no words", (int)status);
    FUZZ_CHECK(status != SUBMOD_OK || isfinite(*loss), "the loss is %g", *loss);
    for (size_t b = 0; b < 4; b++) {
        FUZZ_CHECK(groups[0][b] == groups[1][b], "the loss of group %zu is %.17g by this view", b,
                   groups[0][b]);
    }
    tensors_same_gradients(t);
    check_untouched(t, status);
    return status;
}

submod_work *tensors_work(const tensors *t)
{
    static submod_work *work;
    FUZZ_CHECK(work || submod_work_create(&work) == SUBMOD_OK, "no workspace");
    return (t->batch + t->pixels) % 2 ? work : NULL;
}

/* ---- views and measures that lie ---- */

/* One call by the view `any`; fails if an error has no words, or something is written then. */
static submod_status run_alone(tensors *t, const tensors_view *v, const tensors_call *call)
{
    double loss, groups[4];
    fill_gradient(t, &t->any);
    submod_status status = run(t, v, call, &loss, groups);
    FUZZ_CHECK(status == SUBMOD_OK || (loss == NOTHING && submod_last_error()[0]),
               "status %d, but the loss was written, or there are no words", (int)status);
    check_untouched(t, status);
    return status;
}

/* The way to the last element is longer than PTRDIFF_MAX: 2^40 elements, 2^24 apart, or more. */
void tensors_refuse_huge(dice *d, tensors *t, const tensors_call *call)
{
    tensors_view v = t->any;
    size_t huge = ((size_t)1 << (40 + dice_below(d, 24))) + dice_below(d, 3);
    ptrdiff_t stride = (ptrdiff_t)1 << (24 + dice_below(d, 39));
    size_t axis = dice_below(d, 3);
    stride = dice_below(d, 2) ? stride : -stride;
    if (!t->batch || !t->pixels) {
        return; /* nothing in it: any size of the others is fine */
    }
    if (axis == 0) {
        v.scores.batch = v.soft.batch = v.labels.batch = v.weights.batch = huge;
        v.scores.batch_stride = v.soft.batch_stride = stride;
    } else if (axis == 1) {
        v.scores.classes = v.soft.classes = huge;
        v.scores.class_stride = v.soft.class_stride = stride;
    } else {
        v.scores.pixels = v.soft.pixels = v.labels.pixels = v.weights.pixels = huge;
        v.scores.pixel_stride = v.soft.pixel_stride = stride;
    }
    submod_status status = run_alone(t, &v, call);
    FUZZ_CHECK(status == SUBMOD_EINVAL || status == SUBMOD_ENOMEM,
               "axis %zu of %zu, %td apart: status %d", axis, huge, stride, (int)status);
}

/* When the lie comes, and what it is. */
typedef struct lie {
    size_t left;
    double value;
} lie;

static double lying_share(double a, double b, double P, double N, void *ctx)
{
    lie *l = ctx;
    double true_value = root_of_share(a, b, P, N, NULL);
    return l->left-- == 0 ? l->value : true_value;
}

void tensors_try_lies(dice *d, tensors *t, const tensors_call *call)
{
    lie l = {dice_below(d, dice_below(d, 2) ? 4 : 100), dice_real(d, NUMBERS_ANY)};
    size_t roll = dice_below(d, 4);
    l.value = roll == 0 ? (double)NAN : roll == 1 ? (double)INFINITY : l.value;
    t->measure = submod_measure_custom(&(submod_measure_ops){.value = lying_share}, &l);
    t->settings.measure = &t->measure;
    submod_set_num_threads(1);
    (void)run_alone(t, &t->any, call);
}
