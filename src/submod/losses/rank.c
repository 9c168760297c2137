/* Ranking the errors of one class (Algorithm 1 of the paper, by integer counts).
 *
 * Two exact prunings come first: background errors that are not above the smallest foreground error
 * have weight 0, because all of the foreground is ranked before them; and in the hinge loss pixels
 * without error take no part. What is left is sorted as records
 *
 *     bits 31 ..  (largest - error, as integers) * 2 + (1 for background)      bits 0 .. 30  pixel
 *
 * so that errors come in descending order, foreground before background among equals. A run of
 * equal records is a tied block: its pixels share what they add (jaccard_gain.h).
 *
 * Everything is done in parts whose number depends on n alone: they run in parallel, and their
 * partial sums are added in the same order for any number of threads.
 */
#include "submod/losses/rank.h"

#include <string.h>

#include "submod/functions/jaccard_gain.h"

enum { PIXEL_BITS = 31, MOST_PARTS = 64, PART_FROM = 1 << 14, AHEAD = 32 };
static const uint64_t pixel_mask = (UINT64_C(1) << PIXEL_BITS) - 1;

static size_t parts_of(size_t n)
{
    size_t parts = n / PART_FROM + 1;
    return parts < MOST_PARTS ? parts : MOST_PARTS;
}

/* The bits of |e|, which order as |e| does; NaN, the ignored pixels, give -1. */
static inline int32_t magnitude(float e)
{
    int32_t bits;
    memcpy(&bits, &e, sizeof bits);
    bits &= INT32_MAX;
    return bits > 0x7f800000 ? -1 : bits;
}

static inline bool is_foreground(float e)
{
    uint32_t bits;
    memcpy(&bits, &e, sizeof bits);
    return bits >> 31;
}

/* What is kept: foreground errors from `foreground` on, background errors above `background`. */
typedef struct limits {
    int32_t foreground, background;
    int32_t largest;
} limits;

static limits find_limits(const float *error, size_t n, uint64_t P, bool drop_zero, int threads)
{
    int32_t smallest = INT32_MAX;
    int32_t largest = -1;
#pragma omp parallel for simd num_threads(threads) reduction(min \
                                                             : smallest) reduction(max \
                                                                                   : largest)
    for (size_t i = 0; i < n; i++) {
        int32_t bits = magnitude(error[i]);
        int32_t if_foreground = is_foreground(error[i]) && bits >= 0 ? bits : INT32_MAX;
        smallest = if_foreground < smallest ? if_foreground : smallest;
        largest = bits > largest ? bits : largest;
    }
    limits l = {.foreground = drop_zero ? 1 : 0, .background = smallest, .largest = largest};
    if (P == 0) { /* only the largest error counts */
        l.background = largest - 1;
    }
    int32_t floor = drop_zero ? 0 : -1; /* ignored pixels are at -1 */
    l.background = l.background > floor ? l.background : floor;
    return l;
}

static inline bool is_kept(float e, int32_t bits, const limits *l)
{
    return is_foreground(e) ? bits >= l->foreground : bits > l->background;
}

/* Writes the records of pixels begin .. end-1 that are kept, in order; returns where the next goes.
 */
static uint64_t *append_records(const float *error, size_t begin, size_t end, const limits *l,
                                uint64_t *next)
{
    for (size_t i = begin; i < end; i++) {
        int32_t bits = magnitude(error[i]);
        uint64_t key = (uint64_t)(l->largest - bits) << 1 | !is_foreground(error[i]);
        *next = key << PIXEL_BITS | i; /* overwritten by the next one unless kept */
        next += is_kept(error[i], bits, l);
    }
    return next;
}

static size_t count_kept(const float *error, size_t begin, size_t end, const limits *l)
{
    size_t kept = 0;
    for (size_t i = begin; i < end; i++) {
        kept += is_kept(error[i], magnitude(error[i]), l);
    }
    return kept;
}

/* All records that are kept; returns their number. There is room for one more. */
static size_t make_records(const float *error, size_t n, const limits *l, uint64_t *record,
                           int threads)
{
    if (threads == 1) {
        return (size_t)(append_records(error, 0, n, l, record) - record);
    }
    size_t parts = parts_of(n);
    size_t begin[MOST_PARTS + 1] = {0};
#pragma omp parallel num_threads(threads)
    {
#pragma omp for
        for (size_t p = 0; p < parts; p++) {
            begin[p + 1] = count_kept(error, n * p / parts, n * (p + 1) / parts, l);
        }
#pragma omp single
        for (size_t p = 0; p < parts; p++) {
            begin[p + 1] += begin[p];
        }
#pragma omp for
        for (size_t p = 0; p < parts; p++) {
            uint64_t scratch[1 << 12]; /* a part must not write past its end */
            uint64_t *next = record + begin[p];
            size_t step = sizeof scratch / sizeof *scratch - 1;
            for (size_t i = n * p / parts; i < n * (p + 1) / parts; i += step) {
                size_t end = n * (p + 1) / parts - i < step ? n * (p + 1) / parts : i + step;
                size_t kept = (size_t)(append_records(error, i, end, l, scratch) - scratch);
                memcpy(next, scratch, kept * sizeof *next);
                next += kept;
            }
        }
    }
    return begin[parts];
}

/* Counts of the pixels ranked before. */
typedef struct counts {
    uint64_t a, b;
} counts;

static inline uint64_t key_of(uint64_t record)
{
    return record >> PIXEL_BITS;
}

static counts count(const uint64_t *record, size_t n)
{
    counts c = {0, 0};
    for (size_t i = 0; i < n; i++) {
        c.b += key_of(record[i]) & 1;
    }
    c.a = n - c.b;
    return c;
}

static inline double error_of(uint64_t key, int32_t largest)
{
    int32_t bits = largest - (int32_t)(key >> 1);
    float e;
    memcpy(&e, &bits, sizeof e);
    return e;
}

/* Weights of the records of one part, which begins and ends with a tied block; returns its share of
 * the value. Counts are doubles, in which they are exact: conversions would cost more than the
 * rest. */
static double weigh(const uint64_t *record, size_t n, counts before, uint64_t foreground,
                    int32_t largest, double coefficient, float *weight)
{
    const double P = (double)foreground;
    double a = (double)before.a;
    double b = (double)before.b;
    double value = 0;
    size_t i = 0;
    while (i < n) {
        uint64_t key = key_of(record[i]);
        size_t end = i + 1;
        if (i + AHEAD < n) { /* weights go all over the image: ask for the line early */
            __builtin_prefetch(&weight[record[i + AHEAD] & pixel_mask], 1);
        }
        while (end < n && key_of(record[end]) == key) {
            end++;
        }
        double t = (double)(int64_t)(end - i);
        bool background = key & 1;
        double w = submodi_jaccard_gain(P, a, b, t, background);
        value += w * error_of(key, largest) * t;
        float signed_weight = (float)(background ? w * coefficient : -w * coefficient);
        for (; i < end; i++) {
            weight[record[i] & pixel_mask] = signed_weight;
        }
        a += background ? 0 : t;
        b += background ? t : 0;
    }
    return value;
}

/* Moves a boundary between parts to the end of the tied block that it cuts, by bisection. */
static size_t next_block(const uint64_t *record, size_t n, size_t i)
{
    if (i == 0 || i == n) {
        return i;
    }
    uint64_t key = key_of(record[i - 1]);
    size_t end = n; /* the first record with a larger key is in i .. end */
    while (i < end) {
        size_t middle = i + (end - i) / 2;
        if (key_of(record[middle]) == key) {
            i = middle + 1;
        } else {
            end = middle;
        }
    }
    return i;
}

static double weigh_all(const uint64_t *record, size_t n, uint64_t P, int32_t largest,
                        double coefficient, float *weight, int threads)
{
    size_t parts = parts_of(n);
    size_t begin[MOST_PARTS + 1];
    counts before[MOST_PARTS + 1];
    double value[MOST_PARTS];
    before[0] = (counts){0, 0};
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
            value[p] = weigh(record + begin[p], begin[p + 1] - begin[p], before[p], P, largest,
                             coefficient, weight);
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

size_t submodi_rank(float *error, size_t n, uint64_t P, bool drop_zero, double coefficient,
                    const submodi_rank_memory *memory, int threads, double *value)
{
    limits l = find_limits(error, n, P, drop_zero, threads);
    size_t kept = make_records(error, n, &l, memory->record, threads);
#pragma omp parallel for num_threads(threads)
    for (size_t p = 0; p < parts_of(n); p++) {
        size_t begin = n * p / parts_of(n);
        memset(error + begin, 0, (n * (p + 1) / parts_of(n) - begin) * sizeof *error);
    }
    *value = 0;
    if (kept == 0) {
        return 0;
    }
    /* The smallest error kept bounds the keys. */
    int32_t lowest = l.foreground;
    if (P > 0 && l.background < INT32_MAX && l.background > lowest) {
        lowest = l.background;
    }
    if (P == 0) {
        lowest = l.largest;
    }
    unsigned bits = bit_length((uint64_t)(l.largest - lowest) << 1 | 1);
    const uint64_t *sorted = submodi_sort_records(memory->record, memory->spare, kept, PIXEL_BITS,
                                                  bits, memory->count, threads);
    *value = weigh_all(sorted, kept, P, l.largest, coefficient, error, threads);
    return kept;
}
