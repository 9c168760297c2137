/* One pixel as a kernel sees it: its place, its label, its values, its gradient. Types and strides
 * end here. */
#ifndef SUBMODI_GPU_PIXEL_H
#define SUBMODI_GPU_PIXEL_H

#include "gpu/device.h"
#include "gpu/job.h"
#include "loss/pointwise.h"

/* Which chunk of pixels and which classes this block looks at. */
typedef struct submodi_gpu_share {
    uint32_t group; /* counted from the first group of the batch */
    uint32_t begin, end;
    uint32_t first_class, end_class;
} submodi_gpu_share;

SUBMODI_DEVICE submodi_gpu_share submodi_gpu_share_of_block(const submodi_gpu_job *j)
{
    uint32_t slice = submodi_block() % j->slices;
    uint32_t rest = submodi_block() / j->slices;
    uint32_t chunk = rest % j->chunks;
    uint64_t n = j->per_group;
    submodi_gpu_share s;
    uint64_t warps =
        (n + SUBMODI_WARP - 1) / SUBMODI_WARP; /* whole ones, so that all are aligned */
    uint64_t begin = warps * chunk / j->chunks * SUBMODI_WARP;
    uint64_t end = warps * (chunk + 1) / j->chunks * SUBMODI_WARP;
    s.group = j->first_group + rest / j->chunks;
    s.begin = (uint32_t)begin; /* of the last chunk before the last warp, so below n */
    s.end = (uint32_t)(end < n ? end : n);
    s.first_class = j->slices == 1 ? 0 : slice;
    s.end_class = j->slices == 1 ? j->classes : slice + 1;
    return s;
}

/* Pixel n of a group. */
typedef struct submodi_gpu_pixel {
    uint32_t group;
    uint64_t image;
    uint32_t i;
    uint64_t units;       /* what it counts for, once its code has been asked for; 0: nothing */
    float shift, inverse; /* softmax: the shift of its scores, and 1 / sum of exp(score - shift) */
    float *stage;         /* softmax: exp(score - shift) of class c at c * stride, or NULL */
    uint32_t stride;
} submodi_gpu_pixel;

SUBMODI_DEVICE submodi_gpu_pixel submodi_gpu_pixel_at(const submodi_gpu_job *j, uint32_t group,
                                                      uint32_t n, float *stage)
{
    submodi_gpu_pixel x;
    x.group = group;
    x.image = (uint64_t)group * (j->per_group / j->pixels) + n / j->pixels;
    x.i = n % j->pixels;
    x.units = 1;
    x.shift = 0;
    x.inverse = 1;
    x.stage = stage && j->staged ? stage + submodi_thread() : NULL;
    x.stride = submodi_threads();
    return x;
}

SUBMODI_DEVICE int64_t submodi_gpu_offset(const int64_t *stride, const submodi_gpu_pixel *x,
                                          uint32_t c)
{
    return (int64_t)x->image * stride[0] + (int64_t)c * stride[1] + (int64_t)x->i * stride[2];
}

/* ---- labels ---- */

/* As submodi_labels_read: the class, label_classes if ignored, label_classes + 1 if neither. */
SUBMODI_DEVICE int32_t submodi_gpu_label(const submodi_gpu_job *j, const submodi_gpu_pixel *x,
                                         uint32_t c)
{
    int64_t at = submodi_gpu_offset(j->label_stride, x, j->multilabel ? c : 0);
    int64_t label = j->label_type == SUBMOD_LABEL_U8    ? ((const uint8_t *)j->labels)[at]
                    : j->label_type == SUBMOD_LABEL_I32 ? ((const int32_t *)j->labels)[at]
                                                        : ((const int64_t *)j->labels)[at];
    if (j->has_ignore && label == j->ignore_index) {
        return j->label_classes;
    }
    return label >= 0 && label < j->label_classes ? (int32_t)label : j->label_classes + 1;
}

/* What a foreground pixel of class c has as its label. */
SUBMODI_DEVICE int32_t submodi_gpu_target(const submodi_gpu_job *j, uint32_t c)
{
    return j->multilabel ? 1 : (int32_t)c;
}

/* ---- weights of pixels (loss/tensors/pixel_weights.h) ---- */

SUBMODI_DEVICE float submodi_gpu_given_weight(const submodi_gpu_job *j, const submodi_gpu_pixel *x)
{
    return j->pixel_weights[submodi_gpu_offset(j->weight_stride, x, 0)];
}

/* The exponent of the power of two that is at least the largest weight of a group. */
SUBMODI_DEVICE int submodi_gpu_exponent(const submodi_gpu_job *j, uint32_t group)
{
    int e = 0;
    bool is_power = frexpf(submodi_from_bits(j->heaviest[group]), &e) == 0.5F;
    return is_power ? e - 1 : e;
}

/* The weight of a pixel as a whole number of units, rounded once for sums and derivatives. */
SUBMODI_DEVICE uint64_t submodi_gpu_units(const submodi_gpu_job *j, const submodi_gpu_pixel *x)
{
    if (!j->pixel_weights) {
        return 1;
    }
    double w = (double)submodi_gpu_given_weight(j, x);
    return (uint64_t)rint(ldexp(w, j->unit_bits - submodi_gpu_exponent(j, x->group)));
}

/* The label of a pixel, and what it counts for; a pixel that counts for nothing is ignored. */
SUBMODI_DEVICE int32_t submodi_gpu_code(const submodi_gpu_job *j, submodi_gpu_pixel *x, uint32_t c)
{
    int32_t code = submodi_gpu_label(j, x, c);
    x->units = code < j->label_classes ? submodi_gpu_units(j, x) : 0;
    return code < j->label_classes && x->units == 0 ? j->label_classes : code;
}

/* Counters have 32 bits, and 64 where pixels have weights or are those of many devices. */
SUBMODI_DEVICE void submodi_gpu_add(const submodi_gpu_job *j, void *counters, uint64_t at,
                                    uint64_t units)
{
    if (j->wide_counters) {
        submodi_atomic_add64((uint64_t *)counters + at, units);
    } else {
        submodi_atomic_add((uint32_t *)counters + at, (uint32_t)units);
    }
}

SUBMODI_DEVICE uint64_t submodi_gpu_counter(const submodi_gpu_job *j, const void *counters,
                                            uint64_t at)
{
    return j->wide_counters ? ((const uint64_t *)counters)[at] : ((const uint32_t *)counters)[at];
}

/* Counts of a dataset outlive the batch and its largest weight. */
SUBMODI_DEVICE bool submodi_gpu_outlives(const submodi_gpu_job *j)
{
    return j->method == SUBMODI_GPU_DATASET_COUNTS || j->method == SUBMODI_GPU_DATASET_LOSS;
}

/* The weight that one unit represents; a dataset's batch is one group. */
SUBMODI_DEVICE double submodi_gpu_unit(const submodi_gpu_job *j)
{
    return submodi_gpu_outlives(j) && j->pixel_weights ? ldexp(j->unit, submodi_gpu_exponent(j, 0))
                                                       : j->unit;
}

/* What the weights of bins are multiplied by. Those of ranks have it inside. */
SUBMODI_DEVICE float submodi_gpu_factor(const submodi_gpu_job *j, const submodi_gpu_pixel *x)
{
    bool plain = !j->pixel_weights || j->method == SUBMODI_GPU_EXACT;
    return plain ? 1 : (float)((double)x->units * submodi_gpu_unit(j));
}

/* So many of them start at 0. */
SUBMODI_DEVICE void submodi_gpu_clear(const submodi_gpu_job *j, void *counters, uint32_t n)
{
    for (uint32_t k = submodi_thread(); k < n; k += submodi_threads()) {
        if (j->wide_counters) {
            ((uint64_t *)counters)[k] = 0;
        } else {
            ((uint32_t *)counters)[k] = 0;
        }
    }
}

/* Foreground and background in units. */
typedef struct submodi_gpu_pair {
    uint64_t foreground, background;
} submodi_gpu_pair;

/* Those of a segment. */
SUBMODI_DEVICE submodi_gpu_pair submodi_gpu_totals(const submodi_gpu_job *j, uint64_t segment)
{
    submodi_gpu_pair totals;
    totals.foreground = j->foreground[segment];
    totals.background = j->all[j->multilabel ? segment : segment / j->classes] - totals.foreground;
    return totals;
}

/* ---- scores ---- */

SUBMODI_DEVICE float submodi_gpu_score(const submodi_gpu_job *j, const submodi_gpu_pixel *x,
                                       uint32_t c)
{
    int64_t at = submodi_gpu_offset(j->score_stride, x, c);
    switch (j->score_type) {
    case SUBMOD_SCORE_F16: return submodi_from_f16(((const uint16_t *)j->scores)[at]);
    case SUBMOD_SCORE_BF16: return submodi_from_bf16(((const uint16_t *)j->scores)[at]);
    default: return ((const float *)j->scores)[at];
    }
}

/* The first bad score, and whether it is finite at least, in one number that atomics can order. */
SUBMODI_DEVICE void submodi_gpu_refuse_score(const submodi_gpu_job *j, const submodi_gpu_pixel *x,
                                             uint32_t c, bool finite)
{
    uint64_t at = (x->image * j->classes + c) * j->pixels + x->i;
    submodi_atomic_min64(&j->result->bad_score, at << 1 | (finite ? 1 : 0));
}

/* Returns whether a hinge loss can use an infinite score, as on the CPU (tile.c). */
SUBMODI_DEVICE bool submodi_gpu_uses_infinite(const submodi_gpu_job *j, const submodi_gpu_pixel *x,
                                              uint32_t c, float v)
{
    submodi_gpu_pixel own = *x;
    if (!j->takes_infinite || v != v) {
        return false;
    }
    int32_t code = submodi_gpu_code(j, &own, c);
    return code > 1 || (code == 1) == (v > 0);
}

/* Whether score v of class c can be used; if not, it is reported. */
SUBMODI_DEVICE bool submodi_gpu_check_score(const submodi_gpu_job *j, const submodi_gpu_pixel *x,
                                            uint32_t c, float v)
{
    bool special = submodi_is_special(v) && !submodi_gpu_uses_infinite(j, x, c, v);
    bool bad = special || (j->activation == SUBMODI_PROBABILITY && submodi_is_no_probability(v));
    if (bad) {
        submodi_gpu_refuse_score(j, x, c, !special);
    }
    return !bad;
}

/* The softmax of a pixel, in the order of the CPU's softmax and so with the same bits; without a
 * stage the scores are read again. False if some score is bad. */
SUBMODI_DEVICE bool submodi_gpu_normalise(const submodi_gpu_job *j, submodi_gpu_pixel *x)
{
    bool good = true;
    float largest = 0;
    float size = 0;
    for (uint32_t c = 0; c < j->classes; c++) {
        float v = submodi_gpu_score(j, x, c);
        good = submodi_gpu_check_score(j, x, c, v) && good;
        largest = c == 0 || v > largest ? v : largest;
        size = fabsf(v) > size ? fabsf(v) : size;
        if (x->stage) {
            x->stage[c * x->stride] = v;
        }
    }
    x->shift = submodi_shift_of(largest, size);
    float sum = 0;
    for (uint32_t c = 0; c < j->classes; c++) {
        float v = x->stage ? x->stage[c * x->stride] : submodi_gpu_score(j, x, c);
        float e = submodi_exp(v - x->shift);
        sum += e;
        if (x->stage) {
            x->stage[c * x->stride] = e;
        }
    }
    x->inverse = 1 / sum;
    return good;
}

/* Looks at the scores that class c depends on: all for the softmax, otherwise its own, as blocks
 * then have one class. False if some is bad. To be called before values. */
SUBMODI_DEVICE bool submodi_gpu_open(const submodi_gpu_job *j, submodi_gpu_pixel *x, uint32_t c)
{
    return j->activation == SUBMODI_SOFTMAX
               ? submodi_gpu_normalise(j, x)
               : submodi_gpu_check_score(j, x, c, submodi_gpu_score(j, x, c));
}

/* Softmax: the probability of class c up to the factor x->inverse. */
SUBMODI_DEVICE float submodi_gpu_exponential(const submodi_gpu_job *j, const submodi_gpu_pixel *x,
                                             uint32_t c)
{
    return x->stage ? x->stage[c * x->stride] : submodi_exp(submodi_gpu_score(j, x, c) - x->shift);
}

/* Probability or score of class c, as the errors need it. */
SUBMODI_DEVICE float submodi_gpu_value(const submodi_gpu_job *j, const submodi_gpu_pixel *x,
                                       uint32_t c)
{
    if (j->activation == SUBMODI_SOFTMAX) {
        return submodi_gpu_exponential(j, x, c) * x->inverse;
    }
    float v = submodi_gpu_score(j, x, c);
    switch (j->activation) {
    case SUBMODI_SIGMOID: return submodi_sigmoid_of(v);
    case SUBMODI_PROBABILITY: return submodi_clamp_to_unit(v);
    default: return v;
    }
}

SUBMODI_DEVICE float submodi_gpu_error(const submodi_gpu_job *j, float v, bool foreground)
{
    return submodi_error_of(v, foreground, j->activation == SUBMODI_SCORE ? 1.0F : 0.0F);
}

/* ---- the rest ---- */

/* Whether all data looked at so far were good. */
SUBMODI_DEVICE bool submodi_gpu_all_good(const submodi_gpu_job *j)
{
    const submod_gpu_result *r = j->result;
    return r->bad_label == SUBMOD_GPU_NONE && r->bad_score == SUBMOD_GPU_NONE &&
           r->bad_weight == SUBMOD_GPU_NONE && r->bad_count == SUBMOD_GPU_NONE;
}

SUBMODI_DEVICE void submodi_gpu_store(const submodi_gpu_output *to, const submodi_gpu_pixel *x,
                                      uint32_t c, float value)
{
    float *entry = &to->data[submodi_gpu_offset(to->stride, x, c)];
    *entry = (to->accumulate ? *entry : 0) + to->scale * value;
}

#endif
