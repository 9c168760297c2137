/* Ranking the errors of one class (Algorithm 1 of the paper, by integer counts).
 *
 * Two exact prunings come first: background errors that are not above the smallest foreground error
 * have weight 0, because all of the foreground is ranked before them (submodi_saturates); and in
 * the hinge loss pixels without error take no part. What is left is sorted as records
 *
 *     bits 32 ..  (largest - error, as integers) * 2 + (1 for background)      bits 0 .. 31  place
 *
 * so that errors come in descending order, foreground before background among equals. A run of
 * equal records is a tied block: its pixels share what they add. The place is where the weight
 * goes; errors are not kept anywhere, but computed again from the scores of the class.
 *
 * Everything is done in parts whose number depends on n alone: they run in parallel, and their
 * partial sums are added in the same order for any number of threads.
 */
#include "submod/losses/rank.h"

#include <string.h>

#include "submod/losses/pointwise.h"

enum { PART_FROM = 1 << 14 };

static size_t parts_of(size_t n)
{
    size_t parts = n / PART_FROM + 1;
    return parts < SUBMODI_RANK_PARTS ? parts : SUBMODI_RANK_PARTS;
}

/* One ranking on its way. */
typedef struct ranking {
    const submodi_batch *batch;
    size_t first_image, c;
    const submodi_rank_target *target;
    submodi_rank_limits limits;
    submodi_digits digits;
    submodi_digit_counts *count; /* NULL: records are not counted on the way */
} ranking;

/* ---- limits ---- */

static submodi_rank_row row_of(const submodi_batch *batch, const submodi_class_row *row)
{
    return (submodi_rank_row){row->v,        row->codes, row->target, batch->rule.classes,
                              submodi_bias(batch), row->width};
}

/* How many pixels of a group are read at once, from pixel i on: up to the end of their image. */
static size_t stretch(const submodi_batch *batch, size_t i, size_t end)
{
    size_t left = batch->scores.pixels - i % batch->scores.pixels;
    size_t n = left < end - i ? left : end - i;
    return n < SUBMODI_TILE_MAX ? n : SUBMODI_TILE_MAX;
}

/* The largest error of the group. */
static int32_t find_largest(const ranking *x, size_t n, int threads)
{
    size_t parts = parts_of(n);
    size_t pixels = x->batch->scores.pixels;
    int32_t largest = 0;
#pragma omp parallel for num_threads(threads) reduction(max : largest)
    for (size_t p = 0; p < parts; p++) {
        size_t end = n * (p + 1) / parts;
        for (size_t i = n * p / parts, m; i < end; i += m) {
            submodi_class_row row;
            int32_t smallest = SUBMODI_NO_ERROR;
            m = stretch(x->batch, i, end);
            submodi_load_class_row(x->batch, x->first_image + i / pixels, x->c, i % pixels, m,
                                   &row);
            submodi_rank_row r = row_of(x->batch, &row);
            submodi_ranks()->limits(&r, &smallest, &largest);
        }
    }
    return largest;
}

static void set_limits(ranking *x, const submodi_rank_range *range, double P, size_t n,
                       int threads)
{
    bool drop_zero = x->batch->activation == SUBMODI_SCORE;
    int32_t floor = drop_zero ? 0 : -1;
    int32_t background = submodi_saturates(P) ? range->smallest : floor;
    x->limits.largest = range->largest;
    if (P == 0) { /* only the largest error counts */
        x->limits.largest = find_largest(x, n, threads);
        background = x->limits.largest - 1;
    }
    x->limits.foreground = floor + 1;
    x->limits.background = background > floor ? background : floor;
}

/* ---- records ---- */

/* Pixels i .. i + n - 1 of the group, all in one image; returns where the next record goes. */
static uint64_t *append_row(const ranking *x, size_t i, size_t n, uint64_t *next)
{
    size_t image = i / x->batch->scores.pixels;
    size_t first = i % x->batch->scores.pixels;
    size_t at = image * x->target->stride + first;
    submodi_class_row row;
    submodi_load_class_row(x->batch, x->first_image + image, x->c, first, n, &row);
    if (x->target->weight) {
        memset(x->target->weight + at, 0, n * sizeof(float));
    }
    submodi_rank_row r = row_of(x->batch, &row);
    size_t made = submodi_ranks()->records(&r, &x->limits, (uint32_t)at, next);
    if (x->count) {
        submodi_count_digits(next, made, &x->digits, x->count);
    }
    return next + made;
}

/* The records of pixels begin .. end - 1 of the group; their number. */
static size_t append_records(const ranking *x, size_t begin, size_t end, uint64_t *to)
{
    uint64_t *next = to;
    for (size_t i = begin, n; i < end; i += n) {
        n = stretch(x->batch, i, end);
        next = append_row(x, i, n, next);
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
    size_t end[SUBMODI_RANK_PARTS + 1] = {0};
#pragma omp parallel num_threads(threads)
    {
#pragma omp for
        for (size_t p = 0; p < parts; p++) {
            size_t begin = n * p / parts;
            end[p + 1] = append_records(x, begin, n * (p + 1) / parts,
                                        memory->spare + begin + p * SUBMODI_LANES);
        }
#pragma omp single
        for (size_t p = 0; p < parts; p++) {
            end[p + 1] += end[p];
        }
#pragma omp for
        for (size_t p = 0; p < parts; p++) {
            memcpy(memory->record + end[p], memory->spare + n * p / parts + p * SUBMODI_LANES,
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

/* Weights to their places. Here and not in a loop for each instruction set: some have an
 * instruction for it, which compilers like and CPUs do not. */
static void scatter(const uint64_t *record, size_t n, const float *from, float *weight)
{
    for (size_t j = 0; j < n; j++) {
        weight[(uint32_t)record[j]] = from[j];
    }
}

/* Asks for the lines that the weights of the next chunk will go to: they are all over the image. */
static void prefetch(const uint64_t *record, size_t n, const float *weight)
{
    for (size_t j = 0; j < n && j < SUBMODI_RANK_CHUNK; j++) {
        __builtin_prefetch(weight + (uint32_t)record[j], 1);
    }
}

/* How many of the next records make a chunk: up to the end of a run; 0 if one run is longer. */
static size_t chunk_length(const uint64_t *record, size_t n)
{
    size_t length = n < SUBMODI_RANK_CHUNK ? n : SUBMODI_RANK_CHUNK;
    while (length < n && length > 0 &&
           submodi_key_of(record[length]) == submodi_key_of(record[length - 1])) {
        length--;
    }
    return length;
}

/* A run that is longer than a chunk, from record[0] on; its length. */
static size_t weigh_long_run(const uint64_t *record, size_t n, submodi_rank_counts counts, double P,
                             int32_t largest, const submodi_rank_out *out, double *value,
                             float *weight)
{
    uint32_t key = submodi_key_of(record[0]);
    bool background = key & 1;
    size_t length = next_block(record, n, 1);
    double t = (double)length;
    double w = submodi_jaccard_gain(P, (double)counts.a, (double)counts.b, t, background);
    *value += w * t * (double)submodi_from_bits((uint32_t)largest - (key >> 1));
    float f = 0 + out->scale * (float)(background ? out->coefficient * w : -out->coefficient * w);
    for (size_t j = 0; weight && j < length; j++) {
        weight[(uint32_t)record[j]] = f;
    }
    return length;
}

/* The weights of n records that begin and end with a tied block; returns their share of the value.
 */
static double weigh(const uint64_t *record, size_t n, submodi_rank_counts before, double P,
                    int32_t largest, const submodi_rank_out *out, float *weight)
{
    double value[SUBMODI_VALUE_LANES] = {0};
    for (size_t i = 0, length; i < n; i += length) {
        uint64_t background;
        length = chunk_length(record + i, n - i);
        if (length == 0) {
            length = weigh_long_run(record + i, n - i, before, P, largest, out, value, weight);
            background = submodi_key_of(record[i]) & 1 ? length : 0;
        } else {
            float w[SUBMODI_RANK_CHUNK];
            if (weight) {
                prefetch(record + i + length, n - i - length, weight);
            }
            background = submodi_ranks()->weigh(record + i, length, before, P, largest, out, value, w);
            if (weight) {
                scatter(record + i, length, w, weight);
            }
        }
        before.a += length - background;
        before.b += background;
    }
    double total = 0;
    for (size_t l = 0; l < SUBMODI_VALUE_LANES; l++) {
        total += value[l];
    }
    return total;
}

static double weigh_all(const uint64_t *record, size_t n, double P, int32_t largest,
                        const submodi_rank_out *out, float *weight, int threads)
{
    size_t parts = parts_of(n);
    size_t begin[SUBMODI_RANK_PARTS + 1];
    submodi_rank_counts before[SUBMODI_RANK_PARTS + 1];
    double value[SUBMODI_RANK_PARTS];
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
            value[p] = weigh(record + begin[p], begin[p + 1] - begin[p], before[p], P, largest, out,
                             weight);
        }
    }
    double total = 0;
    for (size_t p = 0; p < parts; p++) {
        total += value[p];
    }
    return total;
}

static unsigned bit_length(uint64_t v)
{
    unsigned length = 0;
    for (; v; v >>= 1) {
        length++;
    }
    return length;
}

/* The bits of the keys. The foreground has no error below the limit of the background. */
static unsigned key_bits(const submodi_rank_limits *l)
{
    int32_t lowest = l->foreground > l->background ? l->foreground : l->background;
    lowest = lowest < l->largest ? lowest : l->largest;
    return bit_length((uint64_t)(l->largest - lowest) << 1 | 1);
}

static const uint64_t *sort(const ranking *x, size_t n, const submodi_rank_memory *memory,
                            int threads)
{
    return x->count ? submodi_sort_counted(memory->record, memory->spare, n, &x->digits, x->count)
                    : submodi_sort_records(memory->record, memory->spare, n, SUBMODI_OFFSET_BITS,
                                           key_bits(&x->limits), memory->count, threads);
}

size_t submodi_rank(const submodi_batch *batch, size_t group, size_t c,
                    const submodi_rank_range *range, const submodi_rank_target *target,
                    const submodi_rank_memory *memory, int threads, double *value)
{
    size_t segment = group * batch->scores.classes + c;
    double P = batch->foreground[segment];
    size_t n = batch->images_per_group * batch->scores.pixels;
    ranking x = {.batch = batch,
                 .first_image = group * batch->images_per_group,
                 .c = c,
                 .target = target};
    set_limits(&x, range, P, n, threads);
    x.digits = submodi_digits_of(n, SUBMODI_OFFSET_BITS, key_bits(&x.limits));
    if (threads == 1 && x.digits.fit) {
        x.count = memory->count;
        memset(*x.count, 0, sizeof *x.count);
    }
    size_t kept = make_records(&x, n, memory, threads);
    *value = 0;
    if (kept > 0) {
        submodi_rank_out out = {batch->coefficient[segment], target->scale};
        *value = weigh_all(sort(&x, kept, memory, threads), kept, P, x.limits.largest, &out,
                           target->weight, threads);
    }
    return kept;
}
