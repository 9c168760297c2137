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
        int32_t code = submodi_gpu_code(j, &x, s.first_class);
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
                                            uint32_t n, float scale, void *shared, float *stage)
{
    submodi_gpu_pixel x = submodi_gpu_pixel_at(j, s->group, n, stage);
    int32_t code = submodi_gpu_code(j, &x, s->first_class);
    if (!submodi_gpu_open(j, &x, s->first_class) || code >= j->label_classes) {
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
            submodi_gpu_add(j, shared, (c - s->first_class) * j->window + bin, x.units);
        } else {
            submodi_gpu_add(j, j->count, (table + c) * 2 * j->bins + bin, x.units);
        }
    }
}

/* Shared memory: the window of each class, then the stage. */
SUBMODI_KERNEL void submodi_gpu_kernel_count(const submodi_gpu_job *j)
{
    submodi_gpu_share s = submodi_gpu_share_of_block(j);
    uint64_t *shared = (uint64_t *)submodi_shared();
    uint32_t counters = (s.end_class - s.first_class) * j->window;
    float *stage = (float *)shared + (j->pixel_weights ? 2 : 1) * counters;
    float scale = submodi_gpu_scale(j);
    submodi_gpu_clear(j, shared, counters);
    SUBMODI_BARRIER();
    for (uint32_t n = s.begin + submodi_thread(); n < s.end; n += submodi_threads()) {
        submodi_gpu_count_pixel(j, &s, n, scale, shared, stage);
    }
    SUBMODI_BARRIER();
    uint64_t first = (uint64_t)(s.group - j->first_group) * j->classes + s.first_class;
    for (uint32_t k = submodi_thread(); k < counters; k += submodi_threads()) {
        uint64_t table = first + k / j->window;
        uint64_t units = submodi_gpu_counter(j, shared, k);
        if (units) {
            submodi_gpu_add(j, j->count, table * 2 * j->bins + k % j->window, units);
        }
    }
}

/* Bin k of a table, as far as it was counted. */
SUBMODI_DEVICE submodi_gpu_pair submodi_gpu_bin_counts(const submodi_gpu_job *j, uint64_t table,
                                                       uint32_t k)
{
    uint64_t first = table * 2 * j->bins;
    submodi_gpu_pair pair;
    pair.foreground = submodi_gpu_counter(j, j->count, first + j->bins + k);
    pair.background = submodi_gpu_counter(j, j->count, first + k);
    return pair;
}

/* For few classes: how many of the first bins of this block's table have the weight of bin 0, once
 * all have been written. unlike: shared, 0 before. */
SUBMODI_DEVICE void submodi_gpu_write_flat(const submodi_gpu_job *j, const float *table,
                                           uint32_t *unlike)
{
    uint32_t K = j->bins;
    if (!j->flat) {
        return;
    }
    float first = table[0];
    for (uint32_t k = submodi_thread(); k < K; k += submodi_threads()) {
        if (table[k] != first) {
            submodi_atomic_max(unlike, K - k);
            break;
        }
    }
    SUBMODI_BARRIER();
    if (submodi_thread() == 0) {
        j->flat[submodi_block()] = K - *unlike;
    }
}

/* Weights of the bins of a table, from the largest errors down, as submodi_histogram_solve: so many
 * bins at a time as there are threads; a scan says what comes before each. Returns this thread's
 * part of the loss. */
SUBMODI_DEVICE double submodi_gpu_weigh_bins(const submodi_gpu_job *j, submodi_gpu_pair totals,
                                             double coefficient, float *table, uint64_t *scratch)
{
    uint32_t K = j->bins;
    double scale = (double)submodi_gpu_scale(j);
    submodi_gpu_pair before = {0, 0};
    double value = 0;
    for (uint32_t base = 0; base < K; base += submodi_threads()) {
        uint32_t r = base + submodi_thread();
        uint32_t k = r < K ? K - 1 - r : 0;
        bool derived = k == 0 && j->activation != SUBMODI_SCORE; /* not counted: what is missing */
        submodi_gpu_pair own = {0, 0};
        if (r < K && !derived) {
            own = submodi_gpu_bin_counts(j, submodi_block(), k);
        }
        submodi_gpu_pair upto = before;
        submodi_gpu_pair here;
        upto.foreground += submodi_block_scan(own.foreground, scratch, &here.foreground);
        upto.background += submodi_block_scan(own.background, scratch, &here.background);
        before.foreground += here.foreground;
        before.background += here.background;
        if (r < K) {
            if (derived) {
                own.foreground = totals.foreground - upto.foreground;
                own.background = totals.background - upto.background;
            }
            double foreground = (double)own.foreground * j->unit;
            double background = (double)own.background * j->unit;
            double of_foreground, of_background;
            submodi_form_weigh_bin(j->measure, (double)totals.foreground * j->unit,
                                   (double)totals.background * j->unit,
                                   (double)upto.foreground * j->unit,
                                   (double)upto.background * j->unit, foreground, background, 0,
                                   &of_foreground, &of_background);
            value += ((double)k + 0.5) / scale *
                     (foreground * of_foreground + background * of_background);
            table[K + k] = (float)(-coefficient * of_foreground);
            table[k] = (float)(coefficient * of_background);
        }
    }
    return value;
}

/* A block per segment of the wave. Shared memory: scratch of the block, and for few classes one
 * counter. */
SUBMODI_KERNEL void submodi_gpu_kernel_solve(const submodi_gpu_job *j)
{
    uint32_t K = j->bins;
    uint64_t segment = (uint64_t)j->first_group * j->classes + submodi_block();
    float *table = j->table + (uint64_t)submodi_block() * (2 * (uint64_t)K + 1);
    uint64_t *scratch = (uint64_t *)submodi_shared();
    uint32_t *unlike = (uint32_t *)(scratch + SUBMODI_BLOCK_SCRATCH / sizeof *scratch);
    if (j->flat && submodi_thread() == 0) {
        *unlike = 0;
    }
    double coefficient = j->coefficient[segment];
    double value =
        submodi_gpu_weigh_bins(j, submodi_gpu_totals(j, segment), coefficient, table, scratch);
    value = submodi_block_sum(value, (double *)submodi_shared());
    if (submodi_thread() == 0) {
        table[2 * K] = 0;
        j->value[segment] = coefficient * value;
    }
    submodi_gpu_write_flat(j, table, unlike);
}

#endif
