/* The histogram engine on a device (docs/mathematics.md, section 5).
 *
 * Counting. A block keeps the counters of its classes' first bins in shared memory and adds them to
 * global memory at its end. Probabilities of a pixel add up to 1, so most background errors are
 * small: with room for the bins below 1/m in shared memory, at most m of a pixel's errors go to
 * global memory. The bins of (nearly) right pixels, which hold most of a trained network's errors,
 * are not counted at all: all counters of a segment together make its pixels.
 */
#ifndef SUBMODI_GPU_KERNEL_HISTOGRAM_H
#define SUBMODI_GPU_KERNEL_HISTOGRAM_H

#include "gpu/block.h"
#include "gpu/pixel.h"

/* Bins per unit of error. */
SUBMODI_DEVICE float submodi_gpu_scale(const submodi_gpu_job *j)
{
    return submodi_scale_for(j->bins,
                             j->activation == SUBMODI_SCORE ? submodi_from_bits(*j->largest) : 0);
}

/* The bin of a pixel that is not ignored; 2 K, without weight, for right pixels of the hinge. */
SUBMODI_DEVICE uint32_t submodi_gpu_bin(const submodi_gpu_job *j, float v, bool foreground,
                                        float scale)
{
    float e = submodi_gpu_error(j, v, foreground);
    bool dropped = j->activation == SUBMODI_SCORE && e <= 0.0F;
    uint32_t bin = submodi_bin_of(e, scale, j->bins) + (foreground ? j->bins : 0);
    return dropped ? 2 * j->bins : bin;
}

/* Looks at all scores before anything is written; the largest margin for the hinge. */
SUBMODI_KERNEL void submodi_gpu_kernel_check(const submodi_gpu_job *j)
{
    submodi_gpu_share s = submodi_gpu_share_of_block(j);
    uint32_t *of_block = (uint32_t *)submodi_shared();
    if (submodi_thread() == 0) {
        *of_block = 0;
    }
    SUBMODI_BARRIER();
    uint32_t largest = 0; /* errors >= 0 order as their bits do */
    for (uint32_t n = s.begin + submodi_thread(); n < s.end; n += submodi_threads()) {
        submodi_gpu_pixel x = submodi_gpu_pixel_at(j, s.group, n, NULL);
        bool good = true;
        for (uint32_t c = s.first_class; c < s.end_class; c++) {
            good = submodi_gpu_check_score(j, &x, c, submodi_gpu_score(j, &x, c)) && good;
        }
        int32_t code = submodi_gpu_label(j, &x, s.first_class);
        if (j->activation == SUBMODI_SCORE && good && code < j->label_classes) {
            float v = submodi_gpu_score(j, &x, s.first_class);
            uint32_t bits = submodi_to_bits(submodi_gpu_error(j, v, code == 1));
            largest = bits > largest ? bits : largest;
        }
    }
    submodi_atomic_max(of_block, largest);
    SUBMODI_BARRIER();
    if (submodi_thread() == 0) {
        submodi_atomic_max(j->largest, *of_block);
    }
}

/* Counts pixel n of the share's group. */
SUBMODI_DEVICE void submodi_gpu_count_pixel(const submodi_gpu_job *j, const submodi_gpu_share *s,
                                            uint32_t n, float scale, uint32_t *shared, float *stage)
{
    submodi_gpu_pixel x = submodi_gpu_pixel_at(j, s->group, n, stage);
    int32_t code = submodi_gpu_label(j, &x, s->first_class);
    if (!submodi_gpu_open(j, &x, s->first_class, s->end_class) || code >= j->label_classes) {
        return; /* what NaN leaves behind has no bin */
    }
    bool derived = j->activation != SUBMODI_SCORE; /* bins 0 and K follow from the others */
    uint64_t table = (uint64_t)(s->group - j->first_group) * j->classes;
    for (uint32_t c = s->first_class; c < s->end_class; c++) {
        bool foreground = code == submodi_gpu_target(j, c);
        uint32_t bin = submodi_gpu_bin(j, submodi_gpu_value(j, &x, c), foreground, scale);
        if (bin == 2 * j->bins || (derived && (bin == 0 || bin == j->bins))) {
            continue;
        }
        if (bin < j->window) {
            submodi_atomic_add(&shared[(c - s->first_class) * j->window + bin], 1);
        } else {
            submodi_atomic_add(&j->count[(table + c) * 2 * j->bins + bin], 1);
        }
    }
}

/* Shared memory: the window of each class, then the stage. */
SUBMODI_KERNEL void submodi_gpu_kernel_count(const submodi_gpu_job *j)
{
    submodi_gpu_share s = submodi_gpu_share_of_block(j);
    uint32_t *shared = (uint32_t *)submodi_shared();
    uint32_t counters = (s.end_class - s.first_class) * j->window;
    float *stage = (float *)submodi_shared() + counters;
    float scale = submodi_gpu_scale(j);
    for (uint32_t k = submodi_thread(); k < counters; k += submodi_threads()) {
        shared[k] = 0;
    }
    SUBMODI_BARRIER();
    for (uint32_t n = s.begin + submodi_thread(); n < s.end; n += submodi_threads()) {
        submodi_gpu_count_pixel(j, &s, n, scale, shared, stage);
    }
    SUBMODI_BARRIER();
    uint64_t first = (uint64_t)(s.group - j->first_group) * j->classes + s.first_class;
    for (uint32_t k = submodi_thread(); k < counters; k += submodi_threads()) {
        uint64_t table = first + k / j->window;
        if (shared[k]) {
            submodi_atomic_add(&j->count[table * 2 * j->bins + k % j->window], shared[k]);
        }
    }
}

/* Foreground and background errors of bin k, in one number. */
SUBMODI_DEVICE uint64_t submodi_gpu_pair(const uint32_t *count, uint32_t K, uint32_t k)
{
    return (uint64_t)count[K + k] << 32 | count[k];
}

/* A block per segment of the wave: weights of its bins from the largest errors down, as
 * submodi_histogram_solve. Each thread has a run of bins; a scan says what comes before it. */
SUBMODI_KERNEL void submodi_gpu_kernel_solve(const submodi_gpu_job *j)
{
    uint32_t K = j->bins;
    uint64_t segment = (uint64_t)j->first_group * j->classes + submodi_block();
    uint32_t *count = j->count + (uint64_t)submodi_block() * 2 * K;
    float *table = j->table + (uint64_t)submodi_block() * (2 * (uint64_t)K + 1);
    uint32_t run = (K + submodi_threads() - 1) / submodi_threads();
    uint32_t begin = submodi_thread() * run < K ? submodi_thread() * run : K;
    uint32_t end = K - begin < run ? K : begin + run;
    uint64_t sum = 0;
    for (uint32_t r = begin; r < end; r++) {
        sum += submodi_gpu_pair(count, K, K - 1 - r);
    }
    uint64_t total;
    uint64_t before = submodi_block_scan(sum, (uint64_t *)submodi_shared(), &total);
    uint64_t valid = j->valid[j->multilabel ? segment : segment / j->classes];
    uint64_t P = j->foreground[segment];
    double coefficient = j->coefficient[segment];
    double scale = (double)submodi_gpu_scale(j);
    const submodi_form jaccard = {SUBMOD_MEASURE_JACCARD, 0, 0};
    double a = (double)(before >> 32);
    double b = (double)(before & UINT32_MAX);
    double value = 0;
    for (uint32_t r = begin; r < end; r++) {
        uint32_t k = K - 1 - r;
        uint64_t pair = submodi_gpu_pair(count, K, k);
        if (k == 0 && j->activation != SUBMODI_SCORE) { /* not counted: what is missing */
            pair = (P << 32 | (valid - P)) - total;
        }
        double foreground = (double)(pair >> 32);
        double background = (double)(pair & UINT32_MAX);
        double of_foreground, of_background;
        submodi_form_weigh_bin(jaccard, (double)P, (double)(valid - P), a, b, foreground,
                               background, 0, &of_foreground, &of_background);
        a += foreground;
        b += background;
        value +=
            ((double)k + 0.5) / scale * (foreground * of_foreground + background * of_background);
        table[K + k] = (float)(-coefficient * of_foreground);
        table[k] = (float)(coefficient * of_background);
    }
    value = submodi_block_sum(value, (double *)submodi_shared());
    if (submodi_thread() == 0) {
        table[2 * K] = 0;
        j->value[segment] = coefficient * value;
    }
}

#endif
