/* Ranking the errors of one class (Algorithm 1 of the paper, by integer counts).
 *
 * Two exact prunings come first: background errors that are not above the smallest foreground error
 * have weight 0, because all of the foreground is ranked before them (batch.h);
 * and in the hinge loss pixels without error take no part. What is left is sorted as records
 *
 *     bits 32 ..  (largest - error, as integers) * 2 + (1 for background)      bits 0 .. 31  place
 *
 * so that errors come in descending order, foreground before background among equals. A run of
 * equal records is a tied block: its pixels share what they add. The place is where the error was
 * and the weight goes.
 *
 * Everything is done in parts whose number depends on n alone: they run in parallel, and their
 * partial sums are added in the same order for any number of threads.
 */
#include "loss/rank.h"

#include <string.h>

#include "base/internal.h"
#include "loss/tensors/float_bits.h"

enum { MOST_PARTS = 64, PART_FROM = 1 << 14 };

static size_t parts_of(size_t n)
{
    size_t parts = n / PART_FROM + 1;
    return parts < MOST_PARTS ? parts : MOST_PARTS;
}

bool submodi_rank_take(submodi_rank_memory *memory, size_t n, submod_work *work)
{
    memory->record = submodi_work_alloc(work, n, sizeof *memory->record);
    memory->spare = submodi_work_alloc(work, n, sizeof *memory->spare);
    memory->count = submodi_work_alloc(work, (size_t)memory->threads, sizeof *memory->count);
    return memory->record && memory->spare && memory->count;
}

/* One ranking on its way. */
typedef struct ranking {
    const submodi_rank_errors *errors;
    const float *weight; /* of the pixels of the group; NULL: all 1 */
    size_t pixels;       /* of an image */
    submodi_rank_limits limits;
    submodi_digits digits;
    submodi_digit_counts *count; /* NULL: records are not counted on the way */
} ranking;

/* What can carry weight, of errors in a range. segment: group * classes + c. */
static submodi_rank_limits limits_of(const submodi_batch *batch, size_t segment,
                                     const submodi_rank_range *range)
{
    int32_t floor = batch->activation == SUBMODI_SCORE ? 0 : -1;
    int32_t background = batch->foreground_is_all[segment] ? range->smallest : floor;
    if (submodi_form_first_is_all(submodi_form_of(&batch->measure), batch->foreground[segment])) {
        background = range->largest - 1;
    }
    return (submodi_rank_limits){.foreground = floor + 1,
                                 .background = background > floor ? background : floor,
                                 .largest = range->largest};
}

/* ---- records ---- */

/* The records of pixels begin .. end - 1 of the group, a stretch within an image at a time; their
 * number. */
static size_t append_records(const ranking *x, size_t begin, size_t end, uint64_t *to)
{
    uint64_t *next = to;
    for (size_t i = begin, n; i < end; i += n) {
        size_t first = i % x->pixels;
        size_t at = i / x->pixels * x->errors->stride + first;
        n = x->pixels - first < end - i ? x->pixels - first : end - i;
        n = n < SUBMODI_TILE_MAX ? n : SUBMODI_TILE_MAX;
        next += submodi_ranks()->records(x->errors->error + at, x->weight ? x->weight + i : NULL, n,
                                         &x->limits, (uint32_t)at, next,
                                         x->count ? &x->digits : NULL, x->count ? *x->count : NULL);
    }
    return (size_t)(next - to);
}

/* All records that are kept, in memory->record; their number. With several threads, parts write to
 * places of their own in memory->spare first. */
static size_t make_records(const ranking *x, size_t n, const submodi_rank_memory *memory,
                           int threads)
{
    if (threads == 1) {
        return append_records(x, 0, n, memory->record);
    }
    size_t parts = parts_of(n);
    size_t end[MOST_PARTS + 1] = {0};
#pragma omp parallel num_threads(threads)
    {
#pragma omp for
        for (size_t p = 0; p < parts; p++) {
            size_t begin = n * p / parts;
            end[p + 1] = append_records(x, begin, n * (p + 1) / parts, memory->spare + begin);
        }
#pragma omp single
        for (size_t p = 0; p < parts; p++) {
            end[p + 1] += end[p];
        }
#pragma omp for
        for (size_t p = 0; p < parts; p++) {
            memcpy(memory->record + end[p], memory->spare + n * p / parts,
                   (end[p + 1] - end[p]) * sizeof *memory->record);
        }
    }
    return end[parts];
}

/* ---- weights ---- */

/* Sorted records on their way to weights. */
typedef struct weighing {
    const uint64_t *record;
    submodi_rank_measure measure;
    int32_t largest;
    submodi_rank_out out;
    float *weight; /* where they go, and, if out.weighted, where those of the pixels are */
} weighing;

static submodi_rank_counts count(const weighing *x, size_t begin, size_t end)
{
    submodi_rank_counts c = {0, 0};
    for (size_t i = begin; i < end; i++) {
        double w = x->out.weighted ? (double)x->weight[(uint32_t)x->record[i]] : 1;
        bool background = submodi_key_of(x->record[i]) & 1;
        c.a += background ? 0 : w;
        c.b += background ? w : 0;
    }
    return c;
}

/* Moves a boundary between parts to the end of the tied block that it cuts, by bisection. */
static size_t next_block(const uint64_t *record, size_t n, size_t i)
{
    if (i == 0 || i == n) {
        return i;
    }
    uint32_t key = submodi_key_of(record[i - 1]);
    size_t end = n; /* the first record with a larger key is in i .. end */
    while (i < end) {
        size_t middle = i + (end - i) / 2;
        if (submodi_key_of(record[middle]) == key) {
            i = middle + 1;
        } else {
            end = middle;
        }
    }
    return i;
}

/* A part of the records; *before is what is ranked before it, and then after it. */
static submodi_reproducible_sum weigh(const weighing *x, size_t begin, size_t end,
                                      submodi_rank_counts *before, submodi_measure_failure *failure)
{
    failure->found = false;
    return submodi_weighers()->weigh(x->record + begin, end - begin, before, &x->measure,
                                     x->largest, &x->out, x->weight, failure);
}

/* All parts, in parallel: what is ranked before each has to be counted first. Nothing of that is
 * rounded, so it does not matter how. */
static void weigh_parts(const weighing *x, size_t parts, const size_t *begin, int threads,
                        submodi_reproducible_sum *value, submodi_measure_failure *failed)
{
    submodi_rank_counts before[MOST_PARTS + 1];
    before[0] = (submodi_rank_counts){0, 0};
#pragma omp parallel num_threads(threads)
    {
#pragma omp for
        for (size_t p = 0; p < parts; p++) {
            before[p + 1] = count(x, begin[p], begin[p + 1]);
        }
#pragma omp single
        for (size_t p = 0; p < parts; p++) {
            before[p + 1].a += before[p].a;
            before[p + 1].b += before[p].b;
        }
#pragma omp for
        for (size_t p = 0; p < parts; p++) {
            submodi_rank_counts so_far = before[p];
            value[p] = weigh(x, begin[p], begin[p + 1], &so_far, &failed[p]);
        }
    }
}

static submodi_reproducible_sum weigh_all(const weighing *x, size_t n, int threads,
                                          submodi_measure_failure *failure)
{
    size_t parts = parts_of(n);
    size_t begin[MOST_PARTS + 1];
    submodi_reproducible_sum value[MOST_PARTS];
    submodi_measure_failure failed[MOST_PARTS];
    for (size_t p = 0; p <= parts; p++) {
        size_t even = n * p / parts;
        begin[p] = submodi_rank_needs_order(x->measure.how) ? next_block(x->record, n, even) : even;
    }
    if (threads > 1) {
        weigh_parts(x, parts, begin, threads, value, failed);
    } else {
        submodi_rank_counts before = {0, 0};
        for (size_t p = 0; p < parts; p++) {
            value[p] = weigh(x, begin[p], begin[p + 1], &before, &failed[p]);
        }
    }
    submodi_reproducible_sum total = {0, 0};
    for (size_t p = parts; p-- > 0;) { /* the first that failed is left */
        *failure = failed[p].found ? failed[p] : *failure;
    }
    for (size_t p = 0; p < parts; p++) {
        total = submodi_sum_join(total, value[p]);
    }
    return total;
}

/* The bits of the keys. The foreground has no error below the limit of the background. */
static unsigned key_bits(const submodi_rank_limits *l)
{
    int32_t lowest = l->foreground > l->background ? l->foreground : l->background;
    lowest = lowest < l->largest ? lowest : l->largest;
    return submodi_bit_length((uint64_t)(l->largest - lowest) << 1 | 1);
}

static const uint64_t *sort(const ranking *x, size_t n, const submodi_rank_memory *memory,
                            int threads)
{
    return x->count ? submodi_sort_counted(memory->record, memory->spare, n, &x->digits, x->count)
                    : submodi_sort_records(memory->record, memory->spare, n, SUBMODI_OFFSET_BITS,
                                           key_bits(&x->limits), memory->count, threads);
}

/* The records of the errors within the limits, sorted if the measure needs that; their number is
 * *kept. They are in memory->record or memory->spare. In place of each error: 0, or the weight of
 * a pixel that is kept, if pixels have weights. */
static const uint64_t *sorted_records(const submodi_batch *batch, size_t group,
                                      const submodi_rank_errors *errors,
                                      const submodi_rank_limits *limits,
                                      const submodi_rank_memory *memory, size_t *kept)
{
    int threads = memory->threads;
    size_t n = batch->images_per_group * batch->scores.pixels;
    ranking x = {.errors = errors,
                 .weight = batch->weight ? batch->weight + group * n : NULL,
                 .pixels = batch->scores.pixels,
                 .limits = *limits};
    x.digits = submodi_digits_of(n, SUBMODI_OFFSET_BITS, key_bits(limits));
    bool ordered = submodi_rank_needs_order(&batch->measure);
    if (threads == 1 && x.digits.fit && ordered) {
        x.count = memory->count;
        memset(*x.count, 0, ((size_t)x.digits.number << x.digits.width) * sizeof **x.count);
    }
    *kept = make_records(&x, n, memory, threads);
    return ordered && *kept > 0 ? sort(&x, *kept, memory, threads) : memory->record;
}

/* What weighs the records of a segment. largest: of the limits. */
static submodi_rank_measure measure_of(const submodi_batch *batch, size_t segment, int32_t largest)
{
    double most = (double)submodi_from_bits((uint32_t)largest) * batch->worst[segment];
    return (submodi_rank_measure){
        .how = &batch->measure,
        .unit = batch->unit[segment / batch->scores.classes],
        .P = batch->foreground[segment],
        .N = batch->background[segment],
        .values = submodi_sum_grid_for(most, (double)submodi_group_pixels(batch))};
}

size_t submodi_rank(const submodi_batch *batch, size_t group, size_t c,
                    const submodi_rank_errors *errors, float scale, submodi_rank_memory *memory,
                    submodi_reproducible_sum *value)
{
    size_t segment = group * batch->scores.classes + c;
    submodi_rank_limits limits = limits_of(batch, segment, &errors->range);
    size_t kept;
    const uint64_t *record = sorted_records(batch, group, errors, &limits, memory, &kept);
    weighing x = {.record = record,
                  .measure = measure_of(batch, segment, limits.largest),
                  .largest = limits.largest,
                  .out = {batch->coefficient[segment], scale, batch->weight != NULL},
                  .weight = errors->error};
    *value = (submodi_reproducible_sum){0, 0};
    if (kept > 0) {
        *value = weigh_all(&x, kept, memory->threads, &memory->failure);
    }
    return submodi_rank_needs_order(&batch->measure) ? kept : 0;
}
