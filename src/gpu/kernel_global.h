/* A batch that is spread over devices. One half counts this device's part and writes whole numbers,
 * which the caller adds up over all devices; the other half reads the sums:
 *
 *     classes x 2 x bins    errors: background, then foreground
 *     classes               foreground
 *     1 (or classes)        all pixels in units, for each set of labels
 *     1 (or classes)        so many pixels
 *     2                     devices that refused their data: SUBMOD_EINVAL, SUBMOD_ENONFINITE
 */
#ifndef SUBMODI_GPU_KERNEL_GLOBAL_H
#define SUBMODI_GPU_KERNEL_GLOBAL_H

#include "gpu/kernel_labels.h"

SUBMODI_DEVICE uint64_t submodi_gpu_global_bins(const submodi_gpu_job *j)
{
    return (uint64_t)j->classes * 2 * j->bins;
}

/* Sets of labels: one, or one a class. */
SUBMODI_DEVICE uint32_t submodi_gpu_label_sets(const submodi_gpu_job *j)
{
    return j->multilabel ? j->classes : 1;
}

/* One thread: the largest weight and the largest margin of this device. */
SUBMODI_KERNEL void submodi_gpu_kernel_global_range(const submodi_gpu_job *j)
{
    if (submodi_thread() == 0) {
        j->reach[0] = submodi_from_bits(j->heaviest[0]);
        j->reach[1] = submodi_from_bits(*j->largest);
    }
}

/* Number i behind the bins. */
SUBMODI_DEVICE uint64_t submodi_gpu_global_total(const submodi_gpu_job *j, uint32_t i)
{
    uint32_t sets = submodi_gpu_label_sets(j);
    if (i < j->classes) {
        return j->foreground[i];
    }
    i -= j->classes;
    return i < sets ? j->all[i] : j->valid[i - sets];
}

/* Any number of blocks. A device that refuses its data adds nothing but that. */
SUBMODI_KERNEL void submodi_gpu_kernel_global_counts(const submodi_gpu_job *j)
{
    uint64_t bins = submodi_gpu_global_bins(j);
    uint64_t totals = (uint64_t)j->classes + 2 * (uint64_t)submodi_gpu_label_sets(j);
    int32_t verdict = submodi_gpu_verdict(j->result);
    bool good = verdict == SUBMOD_OK && j->groups > 0;
    uint64_t step = (uint64_t)submodi_blocks() * submodi_threads();
    for (uint64_t i = (uint64_t)submodi_block() * submodi_threads() + submodi_thread();
         i < bins + totals; i += step) {
        uint64_t number = !good      ? 0
                          : i < bins ? submodi_gpu_counter(j, j->count, i)
                                     : submodi_gpu_global_total(j, (uint32_t)(i - bins));
        j->global[i] = (int64_t)number;
    }
    if (submodi_block() == 0 && submodi_thread() == 0) {
        j->global[bins + totals] = verdict == SUBMOD_EINVAL;
        j->global[bins + totals + 1] = verdict == SUBMOD_ENONFINITE;
    }
}

/* One block: the totals of all devices. Where one of them has refused its data, all do. */
SUBMODI_KERNEL void submodi_gpu_kernel_global_totals(const submodi_gpu_job *j)
{
    const int64_t *total = j->global + submodi_gpu_global_bins(j);
    uint32_t sets = submodi_gpu_label_sets(j);
    for (uint32_t c = submodi_thread(); c < j->classes; c += submodi_threads()) {
        j->foreground[c] = (uint64_t)total[c];
    }
    total += j->classes;
    for (uint32_t i = submodi_thread(); i < sets; i += submodi_threads()) {
        j->all[i] = (uint64_t)total[i];
        j->valid[i] = (uint64_t)total[sets + i];
    }
    if (submodi_thread() == 0 && (total[2 * sets] > 0 || total[2 * sets + 1] > 0)) {
        j->result->bad_count = SUBMOD_GPU_ELSEWHERE;
    }
}

#endif
