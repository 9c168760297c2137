/* The exact engine on a device: keys that sort as errors do, weights from ranks, no pruning.
 *
 * A key is (top - bits of the error) * 2 + (1 for background): ascending keys are descending
 * errors, foreground before background among equals; ignored pixels have the last key. A run of
 * equal keys is a tied block, whose pixels share what they add (measure_internal.h).
 *
 * With weights of pixels, sums of them take the place of ranks: they are written in sorted order
 * and added up before the ranks are weighed.
 */
#ifndef SUBMODI_GPU_KERNEL_EXACT_H
#define SUBMODI_GPU_KERNEL_EXACT_H

#include "gpu/block.h"
#include "gpu/pixel.h"

/* The bits of the largest error there can be: a probability, or a finite margin. */
SUBMODI_DEVICE uint32_t submodi_gpu_top(const submodi_gpu_job *j)
{
    return j->activation == SUBMODI_SCORE ? UINT32_C(0x7f7fffff) : UINT32_C(0x3f800000);
}

SUBMODI_DEVICE uint32_t submodi_gpu_last_key(const submodi_gpu_job *j)
{
    return j->activation == SUBMODI_SCORE ? UINT32_MAX : UINT32_MAX >> 1;
}

/* Keys of all classes. Shared memory: the stage. */
SUBMODI_KERNEL void submodi_gpu_kernel_keys(const submodi_gpu_job *j)
{
    submodi_gpu_share s = submodi_gpu_share_of_block(j);
    for (uint32_t n = s.begin + submodi_thread(); n < s.end; n += submodi_threads()) {
        submodi_gpu_pixel x = submodi_gpu_pixel_at(j, s.group, n, (float *)submodi_shared());
        int32_t code = submodi_gpu_code(j, &x, s.first_class);
        bool good = submodi_gpu_open(j, &x, s.first_class) && code < j->label_classes;
        for (uint32_t c = s.first_class; c < s.end_class; c++) {
            uint32_t key = submodi_gpu_last_key(j);
            if (good) {
                bool foreground = code == submodi_gpu_target(j, c);
                float e = submodi_gpu_error(j, submodi_gpu_value(j, &x, c), foreground);
                key = (submodi_gpu_top(j) - submodi_to_bits(e)) << 1 | (foreground ? 0 : 1);
            }
            j->key[((uint64_t)s.group * j->classes + c) * j->per_group + n] = key;
        }
    }
}

/* Copies the keys of some segments to where they are sorted. */
SUBMODI_KERNEL void submodi_gpu_kernel_gather(const submodi_gpu_job *j)
{
    uint64_t n = (uint64_t)j->sorted_segments * j->per_group;
    const uint32_t *key = j->key + (uint64_t)j->first_segment * j->per_group;
    uint64_t step = (uint64_t)submodi_blocks() * submodi_threads();
    for (uint64_t i = (uint64_t)submodi_block() * submodi_threads() + submodi_thread(); i < n;
         i += step) {
        if (j->wide) {
            ((uint64_t *)j->sorting[0])[i] = i / j->per_group << 32 | key[i];
        } else {
            ((uint32_t *)j->sorting[0])[i] = key[i];
        }
        j->position[0][i] = (uint32_t)i;
    }
}

/* ---- one sorted segment ---- */

typedef struct submodi_gpu_sorted {
    const uint32_t *narrow; /* keys of 32 bits, or NULL: */
    const uint64_t *wide;   /* in the low half, or with a shift of 32 in the high one */
    uint32_t shift;
    const uint32_t *position; /* or NULL: the low half of the wide keys */
    uint64_t *before;         /* units of all ranks before; NULL: there are no weights */
    uint32_t segment;
} submodi_gpu_sorted;

SUBMODI_DEVICE uint32_t submodi_gpu_sorted_key(const submodi_gpu_sorted *s, uint32_t i)
{
    return s->narrow ? s->narrow[i] : (uint32_t)(s->wide[i] >> s->shift);
}

/* Where the error at rank i came from. */
SUBMODI_DEVICE uint32_t submodi_gpu_sorted_from(const submodi_gpu_sorted *s, uint32_t i)
{
    return s->position ? s->position[i] : (uint32_t)s->wide[i];
}

SUBMODI_DEVICE submodi_gpu_pixel submodi_gpu_sorted_pixel(const submodi_gpu_job *j,
                                                          const submodi_gpu_sorted *s, uint32_t i)
{
    uint32_t n = submodi_gpu_sorted_from(s, i) % j->per_group;
    return submodi_gpu_pixel_at(j, s->segment / j->classes, n, NULL);
}

/* What comes before rank i, in units. */
SUBMODI_DEVICE uint64_t submodi_gpu_sorted_before(const submodi_gpu_sorted *s, uint32_t i)
{
    return s->before ? s->before[i] : i;
}

/* How many of the n keys are below `key`, or up to it. */
SUBMODI_DEVICE uint32_t submodi_gpu_rank(const submodi_gpu_sorted *s, uint32_t n, uint32_t key,
                                         bool up_to)
{
    uint32_t low = 0;
    uint32_t high = n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uint32_t other = submodi_gpu_sorted_key(s, middle);
        if (other < key || (up_to && other == key)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The weight of a unit of the error at rank i, with `a` units of foreground before. */
SUBMODI_DEVICE double submodi_gpu_weight_at(const submodi_gpu_job *j, const submodi_gpu_sorted *s,
                                            const submodi_gpu_pair *totals, uint32_t i, uint64_t a,
                                            uint32_t key)
{
    uint32_t n = j->per_group;
    bool background = key & 1;
    uint32_t begin = i;
    uint32_t end = i + 1;
    if (background || j->measure.type == SUBMOD_MEASURE_TVERSKY) { /* else all over its block */
        if (i > 0 && submodi_gpu_sorted_key(s, i - 1) == key) {
            begin = submodi_gpu_rank(s, n, key, false);
        }
        if (i + 1 < n && submodi_gpu_sorted_key(s, i + 1) == key) {
            end = submodi_gpu_rank(s, n, key, true);
        }
    }
    uint64_t before = submodi_gpu_sorted_before(s, begin);
    a -= background ? 0 : submodi_gpu_sorted_before(s, i) - before;
    return submodi_form_gain(
        j->measure, (double)totals->foreground * j->unit, (double)totals->background * j->unit,
        (double)a * j->unit, (double)(before - a) * j->unit,
        (double)(submodi_gpu_sorted_before(s, end) - before) * j->unit, background);
}

/* Weights of ranks begin .. end-1 of a segment, with `a` units of foreground before them, to where
 * the errors came from, as bits of floats; returns this thread's part of the loss. */
SUBMODI_DEVICE double submodi_gpu_weigh(const submodi_gpu_job *j, const submodi_gpu_sorted *s,
                                        uint32_t *weight, uint32_t begin, uint32_t end, uint64_t a,
                                        uint64_t *scratch)
{
    submodi_gpu_pair totals = submodi_gpu_totals(j, s->segment);
    double coefficient = j->coefficient[s->segment];
    double value = 0;
    for (uint64_t base = begin; base < end; base += submodi_threads()) {
        bool inside = base + submodi_thread() < end;
        uint32_t i = (uint32_t)(inside ? base + submodi_thread() : begin);
        uint32_t key = submodi_gpu_sorted_key(s, i);
        uint64_t units = submodi_gpu_sorted_before(s, i + 1) - submodi_gpu_sorted_before(s, i);
        uint64_t total;
        uint64_t of_block = submodi_block_scan(inside && !(key & 1) ? units : 0, scratch, &total);
        if (inside) {
            float e = submodi_from_bits(submodi_gpu_top(j) - (key >> 1));
            bool none =
                key == submodi_gpu_last_key(j) || (j->activation == SUBMODI_SCORE && !(e > 0.0F));
            double w = none ? 0 : submodi_gpu_weight_at(j, s, &totals, i, a + of_block, key);
            w *= (double)units * j->unit;
            value += none ? 0 : w * (double)e;
            weight[submodi_gpu_sorted_from(s, i)] =
                submodi_to_bits((float)(key & 1 ? w * coefficient : -w * coefficient));
        }
        a += total;
    }
    return value;
}

/* ---- weights of pixels in sorted order ---- */

/* What the error at rank i counts for, from its pixel. */
SUBMODI_DEVICE uint64_t submodi_gpu_units_at(const submodi_gpu_job *j, const submodi_gpu_sorted *s,
                                             uint32_t i)
{
    submodi_gpu_pixel x = submodi_gpu_sorted_pixel(j, s, i);
    return submodi_gpu_units(j, &x);
}

/* From the units of ranks begin .. end-1 to those before them; `sum` units come before all. One
 * more entry is written at the end of the segment. */
SUBMODI_DEVICE void submodi_gpu_add_up(const submodi_gpu_job *j, uint64_t *before, uint32_t begin,
                                       uint32_t end, uint64_t sum, uint64_t *scratch)
{
    for (uint64_t base = begin; base < end; base += submodi_threads()) {
        uint64_t i = base + submodi_thread();
        uint64_t own = i < end ? before[i] : 0;
        uint64_t total;
        uint64_t of_block = submodi_block_scan(own, scratch, &total);
        if (i < end) {
            before[i] = sum + of_block;
        }
        sum += total;
    }
    if (submodi_thread() == 0 && end == j->per_group) {
        before[end] = sum;
    }
}

/* ---- small segments: a block sorts, weighs and adds up a whole one ---- */

/* Shared memory: scratch of the block, then `padded` records, key above position, then, with
 * weights, per_group + 1 sums of them. */
SUBMODI_KERNEL void submodi_gpu_kernel_small(const submodi_gpu_job *j)
{
    uint64_t *scratch = (uint64_t *)submodi_shared();
    uint64_t *record = scratch + SUBMODI_BLOCK_SCRATCH / sizeof *scratch;
    uint32_t segment = submodi_block();
    uint32_t *key = j->key + (uint64_t)segment * j->per_group;
    for (uint32_t i = submodi_thread(); i < j->padded; i += submodi_threads()) {
        record[i] = i < j->per_group ? (uint64_t)key[i] << 32 | i : UINT64_MAX;
    }
    SUBMODI_BARRIER();
    for (uint32_t size = 2; size <= j->padded; size *= 2) { /* bitonic: runs of `size` are sorted */
        for (uint32_t stride = size / 2; stride > 0; stride /= 2) {
            for (uint32_t p = submodi_thread(); p < j->padded / 2; p += submodi_threads()) {
                uint32_t low = 2 * p - (p & (stride - 1));
                uint64_t x = record[low];
                uint64_t y = record[low + stride];
                bool ascending = (low & size) == 0;
                record[low] = (x > y) == ascending ? y : x;
                record[low + stride] = (x > y) == ascending ? x : y;
            }
            SUBMODI_BARRIER();
        }
    }
    submodi_gpu_sorted s = {NULL, record, 32, NULL, NULL, segment};
    if (j->pixel_weights) {
        s.before = record + j->padded;
        for (uint32_t i = submodi_thread(); i < j->per_group; i += submodi_threads()) {
            s.before[i] = submodi_gpu_units_at(j, &s, i);
        }
        submodi_gpu_add_up(j, s.before, 0, j->per_group, 0, scratch);
        SUBMODI_BARRIER();
    }
    double value = submodi_gpu_weigh(j, &s, key, 0, j->per_group, 0, scratch);
    value = submodi_block_sum(value, (double *)scratch);
    if (submodi_thread() == 0) {
        j->value[segment] = j->coefficient[segment] * value;
    }
}

/* ---- sorted by the device: tiles of ranks, block = segment * tiles + tile ---- */

/* Segment s of those being sorted. */
SUBMODI_DEVICE submodi_gpu_sorted submodi_gpu_sorted_segment(const submodi_gpu_job *j, uint32_t s)
{
    uint64_t first = (uint64_t)s * j->per_group;
    submodi_gpu_sorted sorted = {
        NULL, NULL, 0, j->position[j->current] + first, NULL, j->first_segment + s};
    if (j->wide) {
        sorted.wide = (const uint64_t *)j->sorting[j->current] + first;
    } else {
        sorted.narrow = (const uint32_t *)j->sorting[j->current] + first;
    }
    if (j->pixel_weights) {
        sorted.before = j->before + (uint64_t)s * (j->per_group + (uint64_t)1);
    }
    return sorted;
}

/* First rank and end of the block's tile. */
SUBMODI_DEVICE void submodi_gpu_tile_range(const submodi_gpu_job *j, uint32_t *begin, uint32_t *end)
{
    uint64_t first = (uint64_t)(submodi_block() % j->tiles) * j->tile;
    *begin = (uint32_t)first;
    *end = (uint32_t)(j->per_group - first < j->tile ? j->per_group : first + j->tile);
}

/* The foreground of each tile; with weights, those of its ranks and their sum. */
SUBMODI_KERNEL void submodi_gpu_kernel_tile_count(const submodi_gpu_job *j)
{
    submodi_gpu_sorted s = submodi_gpu_sorted_segment(j, submodi_block() / j->tiles);
    uint64_t *scratch = (uint64_t *)submodi_shared();
    uint32_t begin, end;
    submodi_gpu_tile_range(j, &begin, &end);
    uint64_t count = 0;
    uint64_t all = 0;
    for (uint64_t i = (uint64_t)begin + submodi_thread(); i < end; i += submodi_threads()) {
        bool foreground = !(submodi_gpu_sorted_key(&s, (uint32_t)i) & 1);
        uint64_t units = 1;
        if (s.before) {
            units = s.before[i] = submodi_gpu_units_at(j, &s, (uint32_t)i);
            all += units;
        }
        count += foreground ? units : 0;
    }
    submodi_block_scan(count, scratch, &count);
    if (s.before) {
        submodi_block_scan(all, scratch, &all);
    }
    if (submodi_thread() == 0) {
        j->tile_count[submodi_block()] = count;
        if (s.before) {
            j->tile_all[submodi_block()] = all;
        }
    }
}

/* From numbers of the tiles of a segment to those of the tiles before. */
SUBMODI_DEVICE void submodi_gpu_scan_tiles(const submodi_gpu_job *j, uint64_t *of_tile)
{
    uint64_t before = 0;
    for (uint32_t base = 0; base < j->tiles; base += submodi_threads()) {
        uint32_t t = base + submodi_thread();
        uint64_t own = t < j->tiles ? of_tile[t] : 0;
        uint64_t total;
        uint64_t sum = submodi_block_scan(own, (uint64_t *)submodi_shared(), &total);
        if (t < j->tiles) {
            of_tile[t] = before + sum;
        }
        before += total;
    }
}

/* A block per segment. */
SUBMODI_KERNEL void submodi_gpu_kernel_tile_scan(const submodi_gpu_job *j)
{
    uint64_t first = (uint64_t)submodi_block() * j->tiles;
    submodi_gpu_scan_tiles(j, j->tile_count + first);
    if (j->pixel_weights) {
        submodi_gpu_scan_tiles(j, j->tile_all + first);
    }
}

/* With weights: what comes before each rank. */
SUBMODI_KERNEL void submodi_gpu_kernel_tile_before(const submodi_gpu_job *j)
{
    submodi_gpu_sorted s = submodi_gpu_sorted_segment(j, submodi_block() / j->tiles);
    uint32_t begin, end;
    submodi_gpu_tile_range(j, &begin, &end);
    submodi_gpu_add_up(j, s.before, begin, end, j->tile_all[submodi_block()],
                       (uint64_t *)submodi_shared());
}

SUBMODI_KERNEL void submodi_gpu_kernel_weigh(const submodi_gpu_job *j)
{
    submodi_gpu_sorted s = submodi_gpu_sorted_segment(j, submodi_block() / j->tiles);
    uint32_t begin, end;
    submodi_gpu_tile_range(j, &begin, &end);
    double value =
        submodi_gpu_weigh(j, &s, j->key + (uint64_t)j->first_segment * j->per_group, begin, end,
                          j->tile_count[submodi_block()], (uint64_t *)submodi_shared());
    value = submodi_block_sum(value, (double *)submodi_shared());
    if (submodi_thread() == 0) {
        j->tile_value[submodi_block()] = value;
    }
}

/* A block per segment: the loss of its tiles. */
SUBMODI_KERNEL void submodi_gpu_kernel_tile_sum(const submodi_gpu_job *j)
{
    const double *of_tile = j->tile_value + (uint64_t)submodi_block() * j->tiles;
    uint32_t segment = j->first_segment + submodi_block();
    double value = 0;
    for (uint32_t t = submodi_thread(); t < j->tiles; t += submodi_threads()) {
        value += of_tile[t];
    }
    value = submodi_block_sum(value, (double *)submodi_shared());
    if (submodi_thread() == 0) {
        j->value[segment] = j->coefficient[segment] * value;
    }
}

#endif
