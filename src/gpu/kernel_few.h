/* The histogram engine's passes over the pixels for a softmax of few classes, which most are.
 *
 * A thread has the scores of its pixel in registers: loops over classes are unrolled, all loads are
 * on their way at once, and nothing goes through shared memory but what has to.
 *
 * Counting. Shared memory has room for the first bins of each class because a counter has 16 bits,
 * two to a word; a block has fewer pixels than that. At its end a block stores its counters where
 * nobody else writes, and another kernel adds up those of all blocks.
 *
 * Weights. Background errors below the smallest foreground error have no weight, in general: the
 * first bins of a class have all the same one (Hamming: all bins). So shared memory has that one
 * and the weights of the bins that follow, which are those that most errors of a network fall into.
 *
 * Where the classes of a pixel are next to each other in memory (channels last), a warp reads and
 * writes its 32 pixels in the order of memory and turns them round in shared memory.
 */
#ifndef SUBMODI_GPU_KERNEL_FEW_H
#define SUBMODI_GPU_KERNEL_FEW_H

#include "gpu/kernel_histogram.h"

/* A number per class, in registers. */
typedef struct submodi_gpu_row {
    float of[SUBMODI_GPU_FEW];
} submodi_gpu_row;

/* ---- a warp's pixels between memory and registers ---- */

/* Numbers of a pixel in shared memory: odd, so that lanes meet no bank twice. */
SUBMODI_DEVICE uint32_t submodi_gpu_row_size(const submodi_gpu_job *j)
{
    return j->classes | 1;
}

/* What this warp turns round. */
SUBMODI_DEVICE float *submodi_gpu_turning(const submodi_gpu_job *j, float *stage)
{
    uint32_t warp = submodi_thread() / SUBMODI_WARP;
    return stage + warp * SUBMODI_WARP * submodi_gpu_row_size(j);
}

/* Where a lane is when a warp goes through its pixels in the order of memory, 32 numbers at a time:
 * that class of pixel `first + pixel`. Steps do not divide. */
typedef struct submodi_gpu_walk {
    uint32_t pixel, of_class;
    submodi_gpu_pixel x;
} submodi_gpu_walk;

SUBMODI_DEVICE submodi_gpu_walk submodi_gpu_walk_from(const submodi_gpu_job *j, uint32_t group,
                                                      uint32_t first)
{
    submodi_gpu_walk at;
    at.pixel = submodi_lane() / j->classes;
    at.of_class = submodi_lane() % j->classes;
    at.x = submodi_gpu_pixel_at(j, group, first + at.pixel, NULL);
    return at;
}

SUBMODI_DEVICE void submodi_gpu_walk_on(const submodi_gpu_job *j, submodi_gpu_walk *at)
{
    uint32_t c = at->of_class + SUBMODI_WARP % j->classes;
    bool next = c >= j->classes;
    uint32_t pixels = SUBMODI_WARP / j->classes + (next ? 1 : 0);
    at->of_class = next ? c - j->classes : c;
    at->pixel += pixels;
    at->x.i += pixels;
    while (at->x.i >= j->pixels) { /* images may be smaller than a warp */
        at->x.i -= j->pixels;
        at->x.image++;
    }
}

/* The scores of pixel `first + lane` of a group; those from `end` on are not there. */
SUBMODI_DEVICE submodi_gpu_row submodi_gpu_read_rows(const submodi_gpu_job *j, uint32_t group,
                                                     uint32_t first, uint32_t end, float *stage)
{
    float *turning = submodi_gpu_turning(j, stage);
    uint32_t size = submodi_gpu_row_size(j);
    submodi_gpu_walk at = submodi_gpu_walk_from(j, group, first);
    for (uint32_t k = 0; k < j->classes; k++) {
        if (first + at.pixel < end) {
            turning[at.pixel * size + at.of_class] = submodi_gpu_score(j, &at.x, at.of_class);
        }
        submodi_gpu_walk_on(j, &at);
    }
    SUBMODI_WARP_BARRIER();
    submodi_gpu_row row;
    SUBMODI_UNROLL
    for (uint32_t c = 0; c < SUBMODI_GPU_FEW; c++) {
        row.of[c] = c < j->classes ? turning[submodi_lane() * size + c] : 0;
    }
    SUBMODI_WARP_BARRIER();
    return row;
}

SUBMODI_DEVICE submodi_gpu_row submodi_gpu_read_pixel(const submodi_gpu_job *j,
                                                      const submodi_gpu_pixel *x)
{
    int64_t at = submodi_gpu_offset(j->score_stride, x, 0);
    submodi_gpu_row row;
    if (j->score_type == SUBMOD_SCORE_F32) {
        const float *score = (const float *)j->scores + at;
        SUBMODI_UNROLL
        for (uint32_t c = 0; c < SUBMODI_GPU_FEW; c++) {
            row.of[c] = c < j->classes ? *score : 0;
            score += j->score_stride[1];
        }
        return row;
    }
    const uint16_t *score = (const uint16_t *)j->scores + at;
    bool brain = j->score_type == SUBMOD_SCORE_BF16;
    SUBMODI_UNROLL
    for (uint32_t c = 0; c < SUBMODI_GPU_FEW; c++) {
        uint16_t bits = c < j->classes ? *score : 0;
        score += j->score_stride[1];
        row.of[c] = brain ? submodi_from_bf16(bits) : submodi_from_f16(bits);
    }
    return row;
}

/* The derivative of a pixel to where it belongs. */
SUBMODI_DEVICE void submodi_gpu_write_pixel(const submodi_gpu_job *j, const submodi_gpu_pixel *x,
                                            const submodi_gpu_row *row)
{
    float *entry = j->gradient.data + submodi_gpu_offset(j->gradient.stride, x, 0);
    float scale = j->gradient.scale;
    bool accumulate = j->gradient.accumulate;
    SUBMODI_UNROLL
    for (uint32_t c = 0; c < SUBMODI_GPU_FEW; c++) {
        if (c < j->classes) {
            *entry = (accumulate ? *entry : 0) + scale * row->of[c];
            entry += j->gradient.stride[1];
        }
    }
}

/* That of pixel `first + lane`. */
SUBMODI_DEVICE void submodi_gpu_write_rows(const submodi_gpu_job *j, uint32_t group, uint32_t first,
                                           uint32_t end, const submodi_gpu_row *row, float *stage)
{
    float *turning = submodi_gpu_turning(j, stage);
    uint32_t size = submodi_gpu_row_size(j);
    SUBMODI_UNROLL
    for (uint32_t c = 0; c < SUBMODI_GPU_FEW; c++) {
        if (c < j->classes) {
            turning[submodi_lane() * size + c] = row->of[c];
        }
    }
    SUBMODI_WARP_BARRIER();
    submodi_gpu_walk at = submodi_gpu_walk_from(j, group, first);
    for (uint32_t k = 0; k < j->classes; k++) {
        if (first + at.pixel < end) {
            submodi_gpu_store(&j->gradient, &at.x, at.of_class,
                              turning[at.pixel * size + at.of_class]);
        }
        submodi_gpu_walk_on(j, &at);
    }
    SUBMODI_WARP_BARRIER();
}

/* ---- the softmax ---- */

/* From scores to exponentials, of which *inverse is 1 / sum: bit by bit as submodi_gpu_normalise.
 * False if some score is bad; then they stay as they are. */
SUBMODI_DEVICE bool submodi_gpu_few_softmax(const submodi_gpu_job *j, submodi_gpu_row *row,
                                            float *inverse)
{
    uint32_t size = 0; /* absolute values order as their bits do, NaN last */
    SUBMODI_UNROLL
    for (uint32_t c = 0; c < SUBMODI_GPU_FEW; c++) {
        uint32_t bits = submodi_to_bits(row->of[c]) & UINT32_C(0x7fffffff);
        size = bits > size ? bits : size;
    }
    if (submodi_is_special(submodi_from_bits(size))) {
        return false;
    }
    float shift = 0;
    if (submodi_from_bits(size) > SUBMODI_UNSHIFTED) { /* rare */
        shift = row->of[0];
        SUBMODI_UNROLL
        for (uint32_t c = 1; c < SUBMODI_GPU_FEW; c++) {
            shift = c < j->classes && row->of[c] > shift ? row->of[c] : shift;
        }
    }
    float sum = 0;
    SUBMODI_UNROLL
    for (uint32_t c = 0; c < SUBMODI_GPU_FEW; c++) {
        if (c < j->classes) {
            row->of[c] = submodi_exp(row->of[c] - shift);
            sum += row->of[c];
        }
    }
    *inverse = 1 / sum;
    return true;
}

/* Reports the first bad score of a pixel. */
SUBMODI_DEVICE void submodi_gpu_few_refuse(const submodi_gpu_job *j, const submodi_gpu_pixel *x,
                                           const submodi_gpu_row *row)
{
    uint32_t first = 0;
    SUBMODI_UNROLL
    for (uint32_t c = SUBMODI_GPU_FEW; c-- > 0;) {
        first = c < j->classes && submodi_is_special(row->of[c]) ? c : first;
    }
    submodi_gpu_refuse_score(j, x, first, false);
}

/* ---- counting ---- */

/* Adds 1 to a bin below the window: bins that far apart share a word, as neighbours are met by
 * lanes of the same warp. */
SUBMODI_DEVICE void submodi_gpu_count_in_window(const submodi_gpu_job *j, uint32_t *counters,
                                                uint32_t bin)
{
    uint32_t words = j->window / 2;
    bool upper = bin >= words;
    submodi_atomic_add(&counters[upper ? bin - words : bin], upper ? UINT32_C(1) << 16 : 1);
}

/* Counts a pixel whose label is class `code`. */
SUBMODI_DEVICE void submodi_gpu_count_few(const submodi_gpu_job *j, uint32_t *count,
                                          const submodi_gpu_row *row, float inverse, int32_t code,
                                          uint32_t *counters)
{
    float scale = (float)j->bins;
    uint32_t words = j->window / 2;
    float own = 0;
    SUBMODI_UNROLL
    for (uint32_t c = 0; c < SUBMODI_GPU_FEW; c++) {
        if (c < j->classes) {
            float p = row->of[c] * inverse;
            uint32_t bin = submodi_bin_of(p, scale, j->bins); /* its error, if background */
            bool background = code != (int32_t)c;
            own = background ? own : p;
            if (background && bin > 0) { /* bin 0 follows from the others */
                if (bin < j->window) {
                    submodi_gpu_count_in_window(j, counters + c * words, bin);
                } else {
                    submodi_atomic_add(&count[(uint64_t)c * 2 * j->bins + bin], 1);
                }
            }
        }
    }
    uint32_t bin = submodi_bin_of(submodi_error_of(own, true, 0.0F), scale, j->bins);
    if (bin > 0) {
        submodi_atomic_add(&count[((uint64_t)code * 2 + 1) * j->bins + bin], 1);
    }
}

/* Shared memory: counters of each class's window, then what warps turn round. */
SUBMODI_KERNEL void submodi_gpu_kernel_few_count(const submodi_gpu_job *j)
{
    submodi_gpu_share s = submodi_gpu_share_of_block(j);
    uint32_t *counters = (uint32_t *)submodi_shared();
    uint32_t words = j->classes * (j->window / 2);
    float *stage = (float *)counters + words;
    uint64_t table = (uint64_t)(s.group - j->first_group) * j->classes;
    uint32_t *count = (uint32_t *)j->count + table * 2 * j->bins;
    for (uint32_t k = submodi_thread(); k < words; k += submodi_threads()) {
        counters[k] = 0;
    }
    SUBMODI_BARRIER();
    uint32_t own = submodi_thread() - submodi_lane();
    for (uint64_t first = (uint64_t)s.begin + own; first < s.end; first += submodi_threads()) {
        uint32_t n = (uint32_t)first + submodi_lane();
        bool inside = n < s.end;
        submodi_gpu_pixel x = submodi_gpu_pixel_at(j, s.group, inside ? n : s.begin, NULL);
        int32_t code = submodi_gpu_label(j, &x, 0);
        submodi_gpu_row row = j->score_rows
                                  ? submodi_gpu_read_rows(j, s.group, (uint32_t)first, s.end, stage)
                                  : submodi_gpu_read_pixel(j, &x);
        float inverse;
        if (inside && !submodi_gpu_few_softmax(j, &row, &inverse)) {
            submodi_gpu_few_refuse(j, &x, &row);
        } else if (inside && code < j->label_classes) {
            submodi_gpu_count_few(j, count, &row, inverse, code, counters);
        }
    }
    SUBMODI_BARRIER();
    uint32_t *partial = j->partial + (uint64_t)submodi_block() * words;
    for (uint32_t k = submodi_thread(); k < words; k += submodi_threads()) {
        partial[k] = counters[k];
    }
}

/* Adds up the counters of some chunks: block = table * parts + part. */
SUBMODI_KERNEL void submodi_gpu_kernel_few_collect(const submodi_gpu_job *j)
{
    uint32_t part = submodi_block() % j->parts;
    uint64_t table = submodi_block() / j->parts;
    uint32_t words = j->window / 2;
    uint32_t begin = (uint32_t)((uint64_t)j->chunks * part / j->parts);
    uint32_t end = (uint32_t)((uint64_t)j->chunks * (part + 1) / j->parts);
    uint64_t group = table / j->classes;
    uint32_t *count = (uint32_t *)j->count + table * 2 * j->bins;
    for (uint32_t k = submodi_thread(); k < words; k += submodi_threads()) {
        uint32_t lower = 0;
        uint32_t upper = 0;
        for (uint32_t chunk = begin; chunk < end; chunk++) {
            uint64_t block = group * j->chunks + chunk;
            uint32_t word = j->partial[(block * j->classes + table % j->classes) * words + k];
            lower += word & UINT32_C(0xffff);
            upper += word >> 16;
        }
        if (lower) {
            submodi_atomic_add(&count[k], lower);
        }
        if (upper) {
            submodi_atomic_add(&count[words + k], upper);
        }
    }
}

/* ---- weights ---- */

/* What a block has in shared memory of the tables of its group: of each class, the weight of the
 * first bins, then those of the `window` bins that follow. */
typedef struct submodi_gpu_near {
    const float *table; /* of class 0 */
    uint32_t *flat;     /* so many first bins of each class have one weight */
    float *weight;
    uint32_t window;
} submodi_gpu_near;

SUBMODI_DEVICE const float *submodi_gpu_table_of(const submodi_gpu_job *j,
                                                 const submodi_gpu_near *near, uint32_t c)
{
    return near->table + c * (2 * (uint64_t)j->bins + 1);
}

SUBMODI_DEVICE void submodi_gpu_fetch_weights(const submodi_gpu_job *j, uint64_t first,
                                              submodi_gpu_near *near)
{
    uint32_t slots = near->window + 1;
    near->table = j->table + first * (2 * (uint64_t)j->bins + 1);
    for (uint32_t c = submodi_thread(); c < j->classes; c += submodi_threads()) {
        near->flat[c] = j->flat[first + c];
    }
    for (uint32_t c = 0; c < j->classes; c++) {
        const float *table = submodi_gpu_table_of(j, near, c);
        uint32_t before = j->flat[first + c] - 1;
        for (uint32_t k = submodi_thread(); k < slots && before + k < j->bins;
             k += submodi_threads()) {
            near->weight[c * slots + k] = table[before + k];
        }
    }
}

SUBMODI_DEVICE float submodi_gpu_background_weight(const submodi_gpu_job *j,
                                                   const submodi_gpu_near *near, uint32_t c,
                                                   uint32_t bin)
{
    int32_t slot = (int32_t)(bin + 1) - (int32_t)near->flat[c];
    uint32_t k = (uint32_t)(slot > 0 ? slot : 0);
    return k <= near->window ? near->weight[c * (near->window + 1) + k]
                             : submodi_gpu_table_of(j, near, c)[bin];
}

/* From exponentials to the derivative by the scores; a label that is no class has none. */
SUBMODI_DEVICE void submodi_gpu_few_derivative(const submodi_gpu_job *j,
                                               const submodi_gpu_near *near, float inverse,
                                               int32_t code, submodi_gpu_row *row)
{
    float scale = (float)j->bins;
    float own = 0;
    SUBMODI_UNROLL
    for (uint32_t c = 0; c < SUBMODI_GPU_FEW; c++) {
        if (c < j->classes) {
            row->of[c] *= inverse;
            own = code == (int32_t)c ? row->of[c] : own;
        }
    }
    float of_foreground = 0;
    if (code < j->label_classes) {
        uint32_t bin = submodi_bin_of(submodi_error_of(own, true, 0.0F), scale, j->bins);
        of_foreground = submodi_gpu_table_of(j, near, (uint32_t)code)[j->bins + bin];
    }
    submodi_gpu_row weight;
    float mean = 0;
    SUBMODI_UNROLL
    for (uint32_t c = 0; c < SUBMODI_GPU_FEW; c++) {
        if (c < j->classes) {
            float p = row->of[c];
            uint32_t bin = submodi_bin_of(p, scale, j->bins);
            float w =
                code == (int32_t)c ? of_foreground : submodi_gpu_background_weight(j, near, c, bin);
            weight.of[c] = code < j->label_classes ? w : 0;
            mean = submodi_multiply_add(p, weight.of[c], mean);
        }
    }
    SUBMODI_UNROLL
    for (uint32_t c = 0; c < SUBMODI_GPU_FEW; c++) {
        if (c < j->classes) {
            row->of[c] *= weight.of[c] - mean;
        }
    }
}

/* Shared memory: weights of each class's window, how many are the same, then what warps turn round.
 */
SUBMODI_KERNEL void submodi_gpu_kernel_few_gradient(const submodi_gpu_job *j)
{
    submodi_gpu_share s = submodi_gpu_share_of_block(j);
    if (!submodi_gpu_all_good(j)) {
        return;
    }
    submodi_gpu_near near;
    near.window = j->table_window;
    near.weight = (float *)submodi_shared();
    near.flat = (uint32_t *)submodi_shared() + (uint64_t)j->classes * (near.window + 1);
    float *stage = (float *)near.flat + j->classes;
    submodi_gpu_fetch_weights(j, (uint64_t)(s.group - j->first_group) * j->classes, &near);
    SUBMODI_BARRIER();
    uint32_t own = submodi_thread() - submodi_lane();
    for (uint64_t first = (uint64_t)s.begin + own; first < s.end; first += submodi_threads()) {
        uint32_t n = (uint32_t)first + submodi_lane();
        bool inside = n < s.end;
        submodi_gpu_pixel x = submodi_gpu_pixel_at(j, s.group, inside ? n : s.begin, NULL);
        int32_t code = submodi_gpu_label(j, &x, 0);
        submodi_gpu_row row = j->score_rows
                                  ? submodi_gpu_read_rows(j, s.group, (uint32_t)first, s.end, stage)
                                  : submodi_gpu_read_pixel(j, &x);
        float inverse = 0;
        if (inside) {
            (void)submodi_gpu_few_softmax(j, &row, &inverse); /* good: all were looked at */
            submodi_gpu_few_derivative(j, &near, inverse, code, &row);
        }
        if (j->gradient_rows) {
            submodi_gpu_write_rows(j, s.group, (uint32_t)first, s.end, &row, stage);
        } else if (inside) {
            submodi_gpu_write_pixel(j, &x, &row);
        }
    }
}

#endif
