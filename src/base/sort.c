/* LSD radix sort of 64-bit records (key, index).
 *
 * Every entry has an image: an unsigned integer that falls as the entry grows. The
 * smallest image of the input is subtracted, and as many of the remaining bits as fit go above the
 * index into one 64-bit record. So records are unique, their order as integers is the stable order
 * wanted, and each pass moves 8 bytes per entry whatever the input type. Floats always fit. Doubles
 * may lose up to 31 low bits. Then runs of equal keys are sorted at the end: short ones by
 * insertion, others by the bits that were cut off, which always fit.
 *
 * Work: ceil(key bits / 12) passes. A digit that all keys share is counted but not moved. Each pass
 * counts and moves in parallel; the result is the same for any number of threads.
 */
#include "base/sort.h"

#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"

enum {
    NARROW_DIGIT = 8,    /* for short inputs, where clearing the counters would dominate */
    NARROW_BELOW = 4096, /* where narrow and wide digits break even */
    INSERTION_BELOW = 48 /* insertion sort for fewer records */
};

/* The input, float or double, and how its images become records. */
typedef struct source {
    const void *x;
    bool is_double;
    uint64_t smallest; /* image subtracted from all */
    unsigned drop;     /* low bits of the image cut off */
    unsigned index_bits;
    unsigned key_bits;
} source;

/* Unsigned image of x[i], decreasing in x[i]. Adding 0 turns -0 into 0. For x >= 0 all bits but
 * the sign are flipped; for x < 0 the sign bit already makes it larger than all of those. */
static inline uint64_t image(const source *s, size_t i)
{
    if (s->is_double) {
        double value = ((const double *)s->x)[i] + 0.0;
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        return bits >> 63 ? bits : bits ^ UINT64_C(0x7fffffffffffffff);
    }
    float value = ((const float *)s->x)[i] + 0.0F;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 31 ? bits : bits ^ UINT32_C(0x7fffffff);
}

static inline uint64_t make_record(const source *s, size_t i)
{
    return (image(s, i) - s->smallest) >> s->drop << s->index_bits | i;
}

/* Chooses smallest, drop, index_bits and key_bits. */
static void measure(source *s, size_t n, int threads)
{
    uint64_t smallest = UINT64_MAX;
    uint64_t largest = 0;
#pragma omp parallel for num_threads(threads) reduction(min : smallest) reduction(max : largest)
    for (size_t i = 0; i < n; i++) {
        uint64_t v = image(s, i);
        smallest = v < smallest ? v : smallest;
        largest = v > largest ? v : largest;
    }
    unsigned range_bits = submodi_bit_length(largest - smallest);
    s->smallest = smallest;
    s->index_bits = submodi_bit_length(n - 1);
    unsigned room = 64 - s->index_bits;
    s->drop = range_bits > room ? range_bits - room : 0;
    s->key_bits = range_bits - s->drop;
}

static void insertion_sort(uint64_t *record, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t r = record[i];
        size_t j = i;
        for (; j > 0 && record[j - 1] > r; j--) {
            record[j] = record[j - 1];
        }
        record[j] = r;
    }
}

/* Turns counts per (thread, digit) into the place where the thread writes its first such record.
 * Returns whether one digit holds all n records. */
static bool counts_to_places(submodi_digit_counts *count, int threads, size_t buckets, size_t n)
{
    uint32_t place = 0;
    bool single = false;
    for (size_t d = 0; d < buckets; d++) {
        uint32_t before = place;
        for (int t = 0; t < threads; t++) {
            uint32_t c = count[t][d];
            count[t][d] = place;
            place += c;
        }
        single |= place - before == n;
    }
    return single;
}

/* The fewest digits that cover all bits, all of about the same width. */
static unsigned digit_width(size_t n, unsigned bits)
{
    unsigned widest = n < NARROW_BELOW ? NARROW_DIGIT : SUBMODI_DIGIT_MAX;
    unsigned digits = (bits + widest - 1) / widest;
    return digits ? (bits + digits - 1) / digits : 1;
}

submodi_digits submodi_digits_of(size_t n, unsigned shift, unsigned bits)
{
    submodi_digits d = {.shift = shift, .width = digit_width(n, bits)};
    d.number = (bits + d.width - 1) / d.width;
    d.fit = (size_t)d.number << d.width <= sizeof(submodi_digit_counts) / sizeof(uint32_t);
    return d;
}

static void count_digits(const uint64_t *record, size_t n, const submodi_digits *digits,
                         uint32_t *count)
{
    const uint64_t mask = (UINT64_C(1) << digits->width) - 1;
    memset(count, 0, ((size_t)digits->number << digits->width) * sizeof *count);
    for (size_t i = 0; i < n; i++) {
        uint64_t key = record[i] >> digits->shift;
        for (unsigned d = 0; d < digits->number; d++) {
            count[(d << digits->width) + (key >> d * digits->width & mask)]++;
        }
    }
}

uint64_t *submodi_sort_counted(uint64_t *from, uint64_t *to, size_t n, const submodi_digits *digits,
                               submodi_digit_counts *count)
{
    const uint64_t mask = (UINT64_C(1) << digits->width) - 1;
    for (unsigned d = 0; d < digits->number; d++) {
        uint32_t *place = *count + ((size_t)d << digits->width);
        unsigned low = digits->shift + d * digits->width;
        uint32_t next = 0;
        bool single = false;
        for (size_t k = 0; k <= mask; k++) {
            uint32_t here = place[k];
            single |= here == n;
            place[k] = next;
            next += here;
        }
        if (!single) {
            for (size_t i = 0; i < n; i++) {
                uint64_t r = from[i];
                to[place[r >> low & mask]++] = r;
            }
            uint64_t *swap = from;
            from = to;
            to = swap;
        }
    }
    return from;
}

uint64_t *submodi_sort_records(uint64_t *from, uint64_t *to, size_t n, unsigned shift,
                               unsigned bits, submodi_digit_counts *count, int threads)
{
    if (n < INSERTION_BELOW) {
        insertion_sort(from, n);
        return from;
    }
    const submodi_digits digits = submodi_digits_of(n, shift, bits);
    if (threads == 1 && digits.fit) {
        count_digits(from, n, &digits, *count);
        return submodi_sort_counted(from, to, n, &digits, count);
    }
    const unsigned digit = digits.width;
    const uint64_t mask = (UINT64_C(1) << digit) - 1;
    bool single = false;
#pragma omp parallel num_threads(threads)
    {
        int team = omp_get_num_threads();
        int me = omp_get_thread_num();
        size_t begin = n * (size_t)me / (size_t)team;
        size_t end = n * (size_t)(me + 1) / (size_t)team;
        uint32_t *mine = count[me];
        for (unsigned low = shift; low < shift + bits; low += digit) {
            memset(mine, 0, (mask + 1) * sizeof *mine);
            for (size_t i = begin; i < end; i++) {
                mine[from[i] >> low & mask]++;
            }
#pragma omp barrier
#pragma omp single
            single = counts_to_places(count, team, mask + 1, n);
            if (!single) {
                for (size_t i = begin; i < end; i++) {
                    uint64_t r = from[i];
                    to[mine[r >> low & mask]++] = r;
                }
            }
#pragma omp barrier
#pragma omp single
            if (!single) {
                uint64_t *swap = from;
                from = to;
                to = swap;
            }
        }
    }
    return from;
}

/* Sorts a run of records with equal keys by the bits of their images that were cut off. These bits
 * replace the keys, so that ties can still be recognised. */
static void sort_run(const source *s, uint64_t *run, uint64_t *spare, size_t n,
                     submodi_digit_counts *count)
{
    const uint64_t index_mask = (UINT64_C(1) << s->index_bits) - 1;
    const uint64_t cut_mask = (UINT64_C(1) << s->drop) - 1;
    for (size_t i = 0; i < n; i++) {
        uint64_t index = run[i] & index_mask;
        run[i] = ((image(s, index) - s->smallest) & cut_mask) << s->index_bits | index;
    }
    if (submodi_sort_records(run, spare, n, s->index_bits, s->drop, count, 1) != run) {
        memcpy(run, spare, n * sizeof *run);
    }
}

static void sort_runs(const source *s, uint64_t *record, uint64_t *spare, size_t n,
                      submodi_digit_counts *count)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t key = record[i] >> s->index_bits;
        if (record[i - 1] >> s->index_bits != key) {
            continue;
        }
        size_t begin = i - 1;
        while (i < n && record[i] >> s->index_bits == key) {
            i++;
        }
        sort_run(s, record + begin, spare + begin, i - begin, count);
    }
}

static submod_status sort(source *s, size_t n, submod_work *work, submodi_sorted *sorted)
{
    int threads = submodi_threads_for(n);
    uint64_t *record = submodi_take(work, n, sizeof *record);
    uint64_t *spare = submodi_take(work, n, sizeof *spare);
    submodi_digit_counts *count = submodi_take(work, (size_t)threads, sizeof *count);
    if (!record || !spare || !count) {
        return SUBMOD_ENOMEM;
    }
    measure(s, n, threads);
#pragma omp parallel for num_threads(threads)
    for (size_t i = 0; i < n; i++) {
        record[i] = make_record(s, i);
    }
    if (submodi_sort_records(record, spare, n, s->index_bits, s->key_bits, count, threads) ==
        spare) {
        uint64_t *swap = record;
        record = spare;
        spare = swap;
    }
    if (s->drop) {
        sort_runs(s, record, spare, n, count);
    }
    *sorted = (submodi_sorted){record, s->index_bits, spare};
    return SUBMOD_OK;
}

submod_status submodi_sort_f32(const float *x, size_t n, submod_work *work, submodi_sorted *sorted)
{
    source s = {.x = x, .is_double = false};
    return sort(&s, n, work, sorted);
}

submod_status submodi_sort_f64(const double *x, size_t n, submod_work *work, submodi_sorted *sorted)
{
    source s = {.x = x, .is_double = true};
    return sort(&s, n, work, sorted);
}
