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
#include "submod/losses/rank.h"

#include <string.h>

enum { MOST_PARTS = 64, PART_FROM = 1 << 14 };

static size_t parts_of(size_t n)
{
    size_t parts = n / PART_FROM + 1;
    return parts < MOST_PARTS ? parts : MOST_PARTS;
}

/* One ranking on its way. */
typedef struct ranking {
    const submodi_rank_errors *errors;
    size_t pixels; /* of an image */
    submodi_rank_limits limits;
    submodi_digits digits;
    submodi_digit_counts *count; /* NULL: records are not counted on the way */
} ranking;

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
        next += submodi_ranks()->records(x->errors->error + at, n, &x->limits, (uint32_t)at, next,
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

static submodi_rank_counts count(const uint64_t *record, size_t n)
{
    submodi_rank_counts c = {0, 0};
    for (size_t i = 0; i < n; i++) {
        c.b += submodi_key_of(record[i]) & 1;
    }
    c.a = n - c.b;
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

static double weigh_all(const uint64_t *record, size_t n, const submodi_rank_measure *measure,
                        int32_t largest, const submodi_rank_out *out, float *weight, int threads,
                        submodi_measure_failure *failure)
{
    size_t parts = parts_of(n);
    size_t begin[MOST_PARTS + 1];
    submodi_rank_counts before[MOST_PARTS + 1];
    double value[MOST_PARTS];
    submodi_measure_failure failed[MOST_PARTS];
    before[0] = (submodi_rank_counts){0, 0};
#pragma omp parallel num_threads(threads)
    {
#pragma omp for
        for (size_t p = 0; p <= parts; p++) {
            begin[p] = next_block(record, n, n * p / parts);
        }
#pragma omp for
        for (size_t p = 0; p < parts; p++) {
            before[p + 1] = count(record + begin[p], begin[p + 1] - begin[p]);
        }
#pragma omp single
        for (size_t p = 0; p < parts; p++) {
            before[p + 1].a += before[p].a;
            before[p + 1].b += before[p].b;
        }
#pragma omp for
        for (size_t p = 0; p < parts; p++) {
            failed[p].found = false;
            value[p] = submodi_ranks()->weigh(record + begin[p], begin[p + 1] - begin[p], before[p],
                                              measure, largest, out, weight, &failed[p]);
        }
    }
    double total = 0;
    for (size_t p = parts; p-- > 0;) { /* the first that failed is left */
        *failure = failed[p].found ? failed[p] : *failure;
    }
    for (size_t p = 0; p < parts; p++) {
        total += value[p];
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

size_t submodi_rank(const submodi_batch *batch, size_t group, size_t c,
                    const submodi_rank_errors *errors, float scale, submodi_rank_memory *memory,
                    double *value)
{
    int threads = memory->threads;
    size_t segment = group * batch->scores.classes + c;
    size_t n = batch->images_per_group * batch->scores.pixels;
    ranking x = {.errors = errors,
                 .pixels = batch->scores.pixels,
                 .limits = limits_of(batch, segment, &errors->range)};
    x.digits = submodi_digits_of(n, SUBMODI_OFFSET_BITS, key_bits(&x.limits));
    if (threads == 1 && x.digits.fit) {
        x.count = memory->count;
        memset(*x.count, 0, ((size_t)x.digits.number << x.digits.width) * sizeof **x.count);
    }
    size_t kept = make_records(&x, n, memory, threads);
    *value = 0;
    if (kept > 0) {
        submodi_rank_out out = {batch->coefficient[segment], scale};
        submodi_rank_measure measure = {&batch->measure, batch->foreground[segment],
                                        batch->background[segment]};
        *value = weigh_all(sort(&x, kept, memory, threads), kept, &measure, x.limits.largest, &out,
                           errors->error, threads, &memory->failure);
    }
    return kept;
}
