/* First the labels: are they classes, how many of each, and so what does each class count for. */
#ifndef SUBMODI_GPU_KERNEL_LABELS_H
#define SUBMODI_GPU_KERNEL_LABELS_H

#include "gpu/block.h"
#include "gpu/pixel.h"
#include "loss/shares.h"

/* One block: nothing bad has been seen. */
SUBMODI_KERNEL void submodi_gpu_kernel_begin(const submodi_gpu_job *j)
{
    bool known = j->reach && j->method != SUBMODI_GPU_GLOBAL_RANGE;
    for (uint32_t g = submodi_thread(); g < submodi_gpu_weight_groups(j); g += submodi_threads()) {
        j->heaviest[g] = known ? submodi_to_bits(j->reach[0]) : 0;
    }
    if (submodi_thread() == 0) {
        j->result->bad_label = SUBMOD_GPU_NONE;
        j->result->bad_score = SUBMOD_GPU_NONE;
        j->result->bad_weight = SUBMOD_GPU_NONE;
        j->result->bad_count = SUBMOD_GPU_NONE;
        *j->largest = known ? submodi_to_bits(j->reach[1]) : 0;
    }
}

/* With weights: checks them, and finds the largest of a pixel that is not ignored, per group. */
SUBMODI_KERNEL void submodi_gpu_kernel_weights(const submodi_gpu_job *j)
{
    submodi_gpu_share s = submodi_gpu_share_of_block(j);
    uint32_t *of_block = (uint32_t *)submodi_shared();
    if (submodi_thread() == 0) {
        *of_block = 0;
    }
    SUBMODI_BARRIER();
    uint32_t heaviest = 0; /* numbers >= 0 order as their bits do */
    for (uint32_t n = s.begin + submodi_thread(); n < s.end; n += submodi_threads()) {
        submodi_gpu_pixel x = submodi_gpu_pixel_at(j, s.group, n, NULL);
        float w = submodi_gpu_given_weight(j, &x);
        bool special = submodi_is_special(w);
        if (special || w < 0) {
            uint64_t at = x.image * j->pixels + x.i;
            submodi_atomic_min64(&j->result->bad_weight, at << 1 | (special ? 0 : 1));
        } else if (submodi_gpu_label(j, &x, s.first_class) < j->label_classes) {
            uint32_t bits = submodi_to_bits(w > 0 ? w : 0);
            heaviest = bits > heaviest ? bits : heaviest;
        }
    }
    submodi_atomic_max(of_block, heaviest);
    SUBMODI_BARRIER();
    if (submodi_thread() == 0) {
        submodi_atomic_max(&j->heaviest[s.group], *of_block);
    }
}

/* What a thread has met: pixels that count, and what they count for. */
typedef struct submodi_gpu_met {
    uint64_t pixels, units;
} submodi_gpu_met;

/* Counts the labels of classes first .. end-1 that this thread meets: into shared memory where it
 * has counters, else straight into the segment's. */
SUBMODI_DEVICE submodi_gpu_met submodi_gpu_count_own_labels(const submodi_gpu_job *j,
                                                            const submodi_gpu_share *s,
                                                            void *shared)
{
    submodi_gpu_met met = {0, 0};
    for (uint32_t n = s->begin + submodi_thread(); n < s->end; n += submodi_threads()) {
        submodi_gpu_pixel x = submodi_gpu_pixel_at(j, s->group, n, NULL);
        int32_t code = submodi_gpu_code(j, &x, s->first_class);
        if (code > j->label_classes) {
            uint64_t row = j->multilabel ? x.image * j->classes + s->first_class : x.image;
            submodi_atomic_min64(&j->result->bad_label, row * j->pixels + x.i);
        } else if (code < j->label_classes) {
            uint32_t c = j->multilabel ? s->first_class : (uint32_t)code;
            bool is_counted = !j->multilabel || code == 1;
            if (is_counted && c - s->first_class < j->label_counters) {
                submodi_gpu_add(j, shared, c - s->first_class, x.units);
            } else if (is_counted) {
                submodi_atomic_add64(&j->foreground[(uint64_t)s->group * j->classes + c], x.units);
            }
            met.pixels++;
            met.units += x.units;
        }
    }
    return met;
}

/* P of every segment, valid pixels of every segment or group. Shared memory: scratch of the block,
 * then counters. */
SUBMODI_KERNEL void submodi_gpu_kernel_labels(const submodi_gpu_job *j)
{
    submodi_gpu_share s = submodi_gpu_share_of_block(j);
    uint64_t *scratch = (uint64_t *)submodi_shared();
    uint64_t *shared = scratch + SUBMODI_BLOCK_SCRATCH / sizeof *scratch;
    submodi_gpu_clear(j, shared, j->label_counters);
    SUBMODI_BARRIER();
    submodi_gpu_met met = submodi_gpu_count_own_labels(j, &s, shared);
    submodi_block_scan(met.units, scratch, &met.units);
    submodi_block_scan(met.pixels, scratch, &met.pixels);
    uint64_t segment = (uint64_t)s.group * j->classes + s.first_class;
    for (uint32_t c = submodi_thread(); c < j->label_counters; c += submodi_threads()) {
        uint64_t count = submodi_gpu_counter(j, shared, c);
        if (count) {
            submodi_atomic_add64(&j->foreground[segment + c], count);
        }
    }
    if (submodi_thread() == 0) {
        uint64_t at = j->multilabel ? segment : s.group;
        submodi_atomic_add64(&j->all[at], met.units);
        if (j->pixel_weights) {
            submodi_atomic_add64(&j->valid[at], met.pixels);
        }
    }
}

/* One thread per group, in the order of submodi_class_coefficients. */
SUBMODI_KERNEL void submodi_gpu_kernel_coefficients(const submodi_gpu_job *j)
{
    uint32_t group = submodi_block() * submodi_threads() + submodi_thread();
    if (group < j->groups) {
        uint64_t first = (uint64_t)group * j->classes;
        for (uint32_t c = 0; c < j->classes; c++) {
            j->coefficient[first + c] = !j->only_present || j->foreground[first + c] > 0;
        }
        submodi_shares(j->class_weight, j->coefficient + first, j->classes, j->groups,
                       j->coefficient + first);
        j->terms[group] = 0;
        for (uint32_t c = 0; c < j->classes; c++) {
            j->terms[group] += j->coefficient[first + c] > 0;
        }
    }
}

/* Weights of pixels come first, then labels, counts and scores, as on the CPU. Positions of weights
 * and scores say by their last bit whether those were finite at least. */
SUBMODI_DEVICE int32_t submodi_gpu_verdict(const submod_gpu_result *r)
{
    if (r->bad_weight != SUBMOD_GPU_NONE) {
        return r->bad_weight & 1 ? SUBMOD_EINVAL : SUBMOD_ENONFINITE;
    }
    if (r->bad_label != SUBMOD_GPU_NONE || r->bad_count != SUBMOD_GPU_NONE) {
        return SUBMOD_EINVAL;
    }
    if (r->bad_score != SUBMOD_GPU_NONE) {
        return r->bad_score & 1 ? SUBMOD_EINVAL : SUBMOD_ENONFINITE;
    }
    return SUBMOD_OK;
}

/* A position without the bit that says whether it was finite. */
SUBMODI_DEVICE uint64_t submodi_gpu_position(uint64_t bad)
{
    return bad == SUBMOD_GPU_NONE ? bad : bad >> 1;
}

/* What the loss may be off by. */
SUBMODI_DEVICE double submodi_gpu_delta(const submodi_gpu_job *j, uint32_t bins)
{
    switch (j->method) {
    case SUBMODI_GPU_EXACT: return 0;
    case SUBMODI_GPU_HISTOGRAM:
    case SUBMODI_GPU_GLOBAL_RANGE:
    case SUBMODI_GPU_GLOBAL_COUNTS:
    case SUBMODI_GPU_GLOBAL_LOSS:
    case SUBMODI_GPU_DATASET_COUNTS:
    case SUBMODI_GPU_DATASET_LOSS:
        return 0.5 / (double)submodi_scale_for(bins, submodi_from_bits(*j->largest));
    default: return (double)submodi_from_bits(*j->delta);
    }
}

/* The loss of each group: coefficients are shares of their mean. */
SUBMODI_DEVICE void submodi_gpu_write_group_losses(const submodi_gpu_job *j)
{
    for (uint32_t g = submodi_thread(); g < j->group_losses; g += submodi_threads()) {
        double loss = 0;
        for (uint32_t c = 0; g < j->groups && c < j->classes; c++) {
            loss += j->value[(uint64_t)g * j->classes + c];
        }
        j->group_loss[g] = loss * j->groups;
    }
}

/* One block, last of all: adds up, and says whether it was good. */
SUBMODI_KERNEL void submodi_gpu_kernel_finish(const submodi_gpu_job *j)
{
    uint64_t segments = (uint64_t)j->groups * j->classes;
    uint64_t valids = j->multilabel ? segments : j->groups;
    double loss = 0;
    uint64_t pixels = 0;
    uint64_t terms = 0;
    for (uint64_t s = submodi_thread(); s < segments; s += submodi_threads()) {
        loss += j->value[s];
    }
    for (uint64_t s = submodi_thread(); s < valids; s += submodi_threads()) {
        pixels += j->valid[s];
    }
    for (uint32_t g = submodi_thread(); g < j->groups; g += submodi_threads()) {
        terms += j->terms[g];
    }
    if (j->group_loss && submodi_gpu_all_good(j)) {
        submodi_gpu_write_group_losses(j);
    }
    loss = submodi_block_sum(loss, (double *)submodi_shared());
    SUBMODI_BARRIER();
    submodi_block_scan(pixels, (uint64_t *)submodi_shared(), &pixels);
    submodi_block_scan(terms, (uint64_t *)submodi_shared(), &terms);
    if (submodi_thread() == 0) {
        submod_gpu_result *r = j->result;
        uint32_t bins = j->doubled && *j->largest == 0 ? j->bins / 2 : j->bins;
        r->status = submodi_gpu_verdict(r);
        r->bad_score = submodi_gpu_position(r->bad_score);
        r->bad_weight = submodi_gpu_position(r->bad_weight);
        r->loss = r->status == SUBMOD_OK ? loss : (double)NAN;
        r->delta = submodi_gpu_delta(j, bins);
        r->bins = j->method == SUBMODI_GPU_EXACT ? 0 : bins;
        r->pixels = pixels;
        r->terms = terms;
    }
}

#endif
