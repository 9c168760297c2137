/* Losses of a dataset (submod/dataset.h): the counts of a batch as numbers that can be added to
 * others, and the weights of bins from such numbers, which may have decayed. A block per class. */
#ifndef SUBMODI_GPU_KERNEL_DATASET_H
#define SUBMODI_GPU_KERNEL_DATASET_H

#include "gpu/kernel_histogram.h"
#include "loss/count_limits.h"

/* One kind of a class: its counts, from what was counted; bin 0 has what is missing. */
SUBMODI_DEVICE void submodi_gpu_write_counts(const submodi_gpu_job *j, uint64_t first,
                                             uint64_t total, uint64_t *scratch)
{
    uint64_t own = 0;
    for (uint32_t k = 1 + submodi_thread(); k < j->bins; k += submodi_threads()) {
        own += submodi_gpu_counter(j, j->count, first + k);
    }
    uint64_t counted;
    submodi_block_scan(own, scratch, &counted);
    for (uint32_t k = submodi_thread(); k < j->bins; k += submodi_threads()) {
        uint64_t units = k > 0 ? submodi_gpu_counter(j, j->count, first + k) : total - counted;
        j->counts[first + k] = (double)units * submodi_gpu_unit(j);
    }
}

SUBMODI_KERNEL void submodi_gpu_kernel_dataset_counts(const submodi_gpu_job *j)
{
    uint64_t first = (uint64_t)submodi_block() * 2 * j->bins;
    submodi_gpu_pair totals = submodi_gpu_totals(j, submodi_block());
    if (submodi_gpu_all_good(j)) {
        submodi_gpu_write_counts(j, first, totals.background, (uint64_t *)submodi_shared());
        submodi_gpu_write_counts(j, first + j->bins, totals.foreground,
                                 (uint64_t *)submodi_shared());
    }
}

/* Counts are >= 0, and not so large that anything overflows; the foreground of each class is there
 * (1) or has all but decayed (0). */
SUBMODI_KERNEL void submodi_gpu_kernel_dataset_classes(const submodi_gpu_job *j)
{
    uint64_t first = (uint64_t)submodi_block() * 2 * j->bins;
    double P = 0;
    double N = 0;
    for (uint32_t k = submodi_thread(); k < j->bins; k += submodi_threads()) {
        for (uint32_t kind = 0; kind < 2; kind++) {
            double count = j->dataset[first + (uint64_t)kind * j->bins + k];
            if (!(count >= 0 && count <= SUBMODI_LARGEST_COUNT)) {
                submodi_atomic_min64(&j->result->bad_count, first + (uint64_t)kind * j->bins + k);
            }
        }
        N += j->dataset[first + k];
        P += j->dataset[first + j->bins + k];
    }
    P = submodi_block_sum(P, (double *)submodi_shared());
    SUBMODI_BARRIER();
    N = submodi_block_sum(N, (double *)submodi_shared());
    if (submodi_thread() == 0) {
        j->foreground[submodi_block()] = submodi_is_present(P, N);
    }
}

/* Bins [begin, end) from the largest errors down, for this thread. */
SUBMODI_DEVICE void submodi_gpu_run_of_bins(uint32_t K, uint32_t *begin, uint32_t *end)
{
    uint32_t run = (K + submodi_threads() - 1) / submodi_threads();
    *begin = submodi_thread() * run < K ? submodi_thread() * run : K;
    *end = K - *begin < run ? K : *begin + run;
}

/* As submodi_gpu_kernel_solve, of numbers that need not be whole. Shared memory: scratch of the
 * block, then a number per thread, then for few classes one counter. */
SUBMODI_KERNEL void submodi_gpu_kernel_dataset_solve(const submodi_gpu_job *j)
{
    uint32_t K = j->bins;
    const double *count = j->dataset + (uint64_t)submodi_block() * 2 * K;
    float *table = j->table + (uint64_t)submodi_block() * (2 * (uint64_t)K + 1);
    double *scratch = (double *)submodi_shared();
    double *per_thread = scratch + SUBMODI_BLOCK_SCRATCH / sizeof *scratch;
    uint32_t *unlike = (uint32_t *)(per_thread + submodi_threads());
    if (j->flat && submodi_thread() == 0) {
        *unlike = 0;
    }
    double coefficient = j->coefficient[submodi_block()];
    double a = 0;
    double b = 0;
    double P, N;
    uint32_t begin, end;
    submodi_gpu_run_of_bins(K, &begin, &end);
    for (uint32_t r = begin; r < end; r++) {
        a += count[K + K - 1 - r];
        b += count[K - 1 - r];
    }
    a = submodi_block_scan_doubles(a, per_thread, &P);
    SUBMODI_BARRIER();
    b = submodi_block_scan_doubles(b, per_thread, &N);
    double nothing = submodi_nothing(P + N);
    P = j->foreground[submodi_block()] ? P : 0;
    double value = 0;
    for (uint32_t r = begin; r < end; r++) {
        uint32_t k = K - 1 - r;
        double of_foreground, of_background;
        submodi_form_weigh_bin(j->measure, P, N, a, b, count[K + k], count[k], nothing,
                               &of_foreground, &of_background);
        a += count[K + k];
        b += count[k];
        value += ((double)k + 0.5) / (double)submodi_gpu_scale(j) *
                 (count[K + k] * of_foreground + count[k] * of_background);
        table[K + k] = (float)(-coefficient * of_foreground);
        table[k] = (float)(coefficient * of_background);
    }
    value = submodi_block_sum(value, scratch);
    if (submodi_thread() == 0) {
        table[2 * K] = 0;
        j->value[submodi_block()] = coefficient * value;
    }
    submodi_gpu_write_flat(j, table, unlike);
}

#endif
