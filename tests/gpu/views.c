/* Random batches of any type and strides, and their losses on the CPU. */
#include "views.h"

#include <stdlib.h>
#include <string.h>

#include "support.h"

static array make_array(size_t count, size_t size)
{
    array a = {calloc(count + 1, size), count * size};
    return a;
}

size_t score_at(const views *v, size_t image, size_t c, size_t i)
{
    const submod_scores *x = &v->scores;
    return (size_t)((int64_t)image * x->batch_stride + (int64_t)c * x->class_stride +
                    (int64_t)i * x->pixel_stride);
}

size_t label_at(const views *v, size_t image, size_t c, size_t i)
{
    const submod_labels *y = &v->labels;
    return (size_t)((int64_t)image * y->batch_stride + (int64_t)c * y->class_stride +
                    (int64_t)i * y->pixel_stride);
}

size_t weight_at(const views *v, size_t image, size_t i)
{
    const submod_pixel_weights *w = &v->weights;
    int64_t first = w->data - (const float *)v->w.data;
    return (size_t)(first + (int64_t)image * w->batch_stride + (int64_t)i * w->pixel_stride);
}

void put_score(const views *v, size_t at, float value)
{
    switch (v->scores.type) {
    case SUBMOD_SCORE_F16: ((uint16_t *)v->x.data)[at] = f16_of(value); break;
    case SUBMOD_SCORE_BF16: ((uint16_t *)v->x.data)[at] = bf16_of(value); break;
    default: ((float *)v->x.data)[at] = value;
    }
}

void put_label(const views *v, size_t at, int64_t value)
{
    switch (v->labels.type) {
    case SUBMOD_LABEL_U8: ((uint8_t *)v->y.data)[at] = (uint8_t)value; break;
    case SUBMOD_LABEL_I32: ((int32_t *)v->y.data)[at] = (int32_t)value; break;
    default: ((int64_t *)v->y.data)[at] = value;
    }
}

static float random_score(submod_rng *rng, const views *v, bool steep)
{
    bool single = v->scores.type == SUBMOD_SCORE_F32; /* halves hold 256ths exactly */
    double u = single ? submod_rng_uniform(rng) : (double)submod_rng_below(rng, 257) / 256;
    return (float)(from_logits(v->kind) ? (8 * u - 4) * (steep ? 32 : 1) : u);
}

static int64_t random_label(submod_rng *rng, const views *v, bool ignore)
{
    uint64_t classes = is_multilabel(v->kind) ? 2 : v->scores.classes;
    int64_t value = (int64_t)submod_rng_below(rng, classes);
    return ignore && submod_rng_below(rng, 4) == 0 ? IGNORED : value;
}

/* Channels last. */
static void turn(views *v)
{
    int64_t C = (int64_t)v->scores.classes, N = (int64_t)v->scores.pixels;
    v->scores.class_stride = v->gradient.class_stride = 1;
    v->scores.pixel_stride = v->gradient.pixel_stride = C;
    v->scores.batch_stride = v->gradient.batch_stride = C * N;
}

/* Channels last, every other entry. */
static void stretch(views *v)
{
    int64_t C = (int64_t)v->scores.classes, N = (int64_t)v->scores.pixels;
    v->scores.class_stride = v->gradient.class_stride = 2;
    v->scores.pixel_stride = v->gradient.pixel_stride = 2 * C;
    v->scores.batch_stride = v->gradient.batch_stride = 2 * C * N;
    int64_t label_classes = is_multilabel(v->kind) ? C : 1;
    v->labels.class_stride = is_multilabel(v->kind) ? 2 : 0;
    v->labels.pixel_stride = 2 * label_classes;
    v->labels.batch_stride = 2 * label_classes * N;
    v->weights.pixel_stride = 3;
    v->weights.batch_stride = -3 * N; /* the last image first */
    v->weights.data += 3 * N * ((int64_t)v->scores.batch - 1);
    v->gradient.scale = -0.25;
    v->gradient.accumulate = 1;
}

views random_views(submod_rng *rng, kind k, size_t B, size_t C, size_t N, bool ignore)
{
    C = k == HINGE ? 1 : C;
    size_t entries = 2 * B * C * N;
    size_t labels = is_multilabel(k) ? entries : 2 * B * N;
    views v = {.kind = k};
    v.scores = submod_scores_f32(NULL, B, C, N);
    v.scores.type = (submod_score_type)submod_rng_below(rng, 3);
    submod_label_type type = (submod_label_type)submod_rng_below(rng, 3);
    v.labels = is_multilabel(k) ? submod_labels_multilabel(NULL, type, B, C, N)
                                : submod_labels_i64(NULL, B, N);
    v.labels.type = type;
    v.x = make_array(entries, sizeof(float));
    v.y = make_array(labels, sizeof(int64_t));
    v.g = make_array(entries, sizeof(float));
    v.w = make_array(3 * B * N, sizeof(float));
    v.weighted = submod_rng_below(rng, 2);
    v.weights = submod_pixel_weights_f32(v.w.data, B, N);
    v.scores.data = v.x.data;
    v.labels.data = v.y.data;
    v.gradient = submod_gradient_dense(v.g.data, C, N);
    v.gradient.scale = submod_rng_below(rng, 2) ? 1 : -1; /* and zeros stay +0 */
    switch (submod_rng_below(rng, 3)) {
    case 0: break;
    case 1: turn(&v); break;
    default: stretch(&v);
    }
    for (size_t i = 0; i < entries; i++) {
        ((float *)v.g.data)[i] = (float)i;
    }
    renew_views(rng, &v, ignore);
    return v;
}

void renew_views(submod_rng *rng, const views *v, bool ignore)
{
    bool steep = submod_rng_below(rng, 3) == 0;
    for (size_t i = 0; i < v->x.bytes / sizeof(float); i++) {
        put_score(v, i, random_score(rng, v, steep));
    }
    for (size_t i = 0; i < v->y.bytes / sizeof(int64_t); i++) {
        put_label(v, i, random_label(rng, v, ignore));
    }
    random_weights(rng, v->w.bytes / sizeof(float), v->w.data);
}

static array copy_array(const array *a)
{
    array copy = make_array(a->bytes, 1);
    memcpy(copy.data, a->data, a->bytes);
    return copy;
}

views copy_views(const views *v)
{
    views copy = *v;
    copy.x = copy_array(&v->x);
    copy.y = copy_array(&v->y);
    copy.g = copy_array(&v->g);
    copy.w = copy_array(&v->w);
    copy.weights.data = (float *)copy.w.data + (v->weights.data - (float *)v->w.data);
    copy.scores.data = copy.x.data;
    copy.labels.data = copy.y.data;
    copy.gradient.data = copy.g.data;
    return copy;
}

void free_views(views *v)
{
    free(v->x.data);
    free(v->y.data);
    free(v->g.data);
    free(v->w.data);
}

submod_loss_settings settings_of_views(const views *v, const submod_loss_settings *s)
{
    submod_loss_settings own = settings_for(v->kind, s);
    own.pixel_weights = v->weighted ? &v->weights : NULL;
    return own;
}

submod_status views_on_cpu(const views *v, double *loss, submod_loss_info *info,
                           const submod_loss_settings *s)
{
    const submod_scores *x = &v->scores;
    const submod_labels *y = &v->labels;
    const submod_gradient *g = &v->gradient;
    submod_loss_settings own = settings_of_views(v, s);
    switch (v->kind) {
    case HINGE: return submod_lovasz_hinge(x, y, loss, g, &own, info, NULL);
    case SIGMOID:
    case SIGMOID_P: return submod_lovasz_sigmoid(x, y, loss, g, &own, info, NULL);
    default: return submod_lovasz_softmax(x, y, loss, g, &own, info, NULL);
    }
}
