/* First the labels: are they classes, how many of each, and so what does each class count for. */
#ifndef SUBMODI_GPU_KERNEL_LABELS_H
#define SUBMODI_GPU_KERNEL_LABELS_H

#include "gpu/block.h"
#include "gpu/pixel.h"
#include "submod/losses/shares.h"

/* One block: nothing bad has been seen. */
SUBMODI_KERNEL void submodi_gpu_kernel_begin(const submodi_gpu_job *j)
{
    if (submodi_thread() == 0) {
        j->result->bad_label = SUBMOD_GPU_NONE;
        j->result->bad_score = SUBMOD_GPU_NONE;
        *j->largest = 0;
    }
}

/* Counts the labels of classes first .. end-1 that this thread meets: into shared memory where it
 * has counters, else straight into the segment's. Returns how many were not ignored. */
SUBMODI_DEVICE uint32_t submodi_gpu_count_own_labels(const submodi_gpu_job *j,
                                                     const submodi_gpu_share *s, uint32_t *shared)
{
    uint32_t valid = 0;
    for (uint32_t n = s->begin + submodi_thread(); n < s->end; n += submodi_threads()) {
        submodi_gpu_pixel x = submodi_gpu_pixel_at(j, s->group, n, NULL);
        int32_t code = submodi_gpu_label(j, &x, s->first_class);
        if (code > j->label_classes) {
            uint64_t row = j->multilabel ? x.image * j->classes + s->first_class : x.image;
            submodi_atomic_min64(&j->result->bad_label, row * j->pixels + x.i);
        } else if (code < j->label_classes) {
            uint32_t c = j->multilabel ? s->first_class : (uint32_t)code;
            uint32_t is_counted = !j->multilabel || code == 1;
            uint32_t *counter = c - s->first_class < j->label_counters
                                    ? &shared[c - s->first_class]
                                    : &j->foreground[(uint64_t)s->group * j->classes + c];
            if (is_counted) {
                submodi_atomic_add(counter, 1);
            }
            valid++;
        }
    }
    return valid;
}

/* P of every segment, valid pixels of every segment or group. Shared memory: scratch of the block,
 * then counters. */
SUBMODI_KERNEL void submodi_gpu_kernel_labels(const submodi_gpu_job *j)
{
    submodi_gpu_share s = submodi_gpu_share_of_block(j);
    uint64_t *scratch = (uint64_t *)submodi_shared();
    uint32_t *shared = (uint32_t *)submodi_shared() + SUBMODI_BLOCK_SCRATCH / sizeof(uint32_t);
    for (uint32_t c = submodi_thread(); c < j->label_counters; c += submodi_threads()) {
        shared[c] = 0;
    }
    SUBMODI_BARRIER();
    uint64_t valid;
    submodi_block_scan(submodi_gpu_count_own_labels(j, &s, shared), scratch, &valid);
    uint64_t segment = (uint64_t)s.group * j->classes + s.first_class;
    for (uint32_t c = submodi_thread(); c < j->label_counters; c += submodi_threads()) {
        if (shared[c]) {
            submodi_atomic_add(&j->foreground[segment + c], shared[c]);
        }
    }
    if (submodi_thread() == 0) {
        submodi_atomic_add(&j->valid[j->multilabel ? segment : s.group], (uint32_t)valid);
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
    loss = submodi_block_sum(loss, (double *)submodi_shared());
    submodi_block_scan(pixels, (uint64_t *)submodi_shared(), &pixels);
    submodi_block_scan(terms, (uint64_t *)submodi_shared(), &terms);
    if (submodi_thread() == 0) {
        submod_gpu_result *r = j->result;
        uint32_t bins = j->doubled && *j->largest == 0 ? j->bins / 2 : j->bins;
        float scale = submodi_scale_for(bins, submodi_from_bits(*j->largest));
        bool bad_label = r->bad_label != SUBMOD_GPU_NONE;
        bool bad_score = r->bad_score != SUBMOD_GPU_NONE;
        bool finite = r->bad_score & 1;
        r->status = bad_label || (bad_score && finite) ? SUBMOD_EINVAL
                    : bad_score                        ? SUBMOD_ENONFINITE
                                                       : SUBMOD_OK;
        r->bad_score = bad_score ? r->bad_score >> 1 : SUBMOD_GPU_NONE;
        r->loss = r->status == SUBMOD_OK ? loss : (double)NAN;
        r->delta = j->method == SUBMODI_GPU_EXACT       ? 0
                   : j->method == SUBMODI_GPU_HISTOGRAM ? 0.5 / (double)scale
                                                        : (double)submodi_from_bits(*j->delta);
        r->bins = j->method == SUBMODI_GPU_EXACT ? 0 : bins;
        r->pixels = pixels;
        r->terms = terms;
        for (int k = 0; k < 4; k++) {
            r->reserved[k] = 0;
        }
    }
}

#endif
