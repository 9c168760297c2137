/* LSD radix sort of 64-bit records, a key above an index. Records are unique, so their order as
 * integers is a stable order of the keys, and each pass moves 8 bytes per record.
 *
 * Work: ceil(bits / digit) passes. A digit that all keys share is counted but not moved. Each pass
 * counts and moves in parallel; the result is the same for any number of threads. order.c makes the
 * records of doubles.
 */
#include "base/sort.h"

#include <string.h>

#include "base/internal.h"

enum {
    NARROW_DIGIT = 8,    /* for short inputs, where clearing the counters would dominate */
    NARROW_BELOW = 4096, /* where narrow and wide digits break even */
};

void submodi_insertion_sort(uint64_t *record, size_t n)
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

/* number: digits->number, as a constant where it can be one. */
static inline void count_each(const uint64_t *record, size_t n, const submodi_digits *digits,
                              unsigned number, uint32_t *count)
{
    const uint64_t mask = (UINT64_C(1) << digits->width) - 1;
    const unsigned width = digits->width;
    const unsigned shift = digits->shift;
    for (size_t i = 0; i < n; i++) {
        uint64_t key = record[i] >> shift;
        for (unsigned d = 0; d < number; d++) {
            count[(d << width) + (key >> d * width & mask)]++;
        }
    }
}

static void count_digits(const uint64_t *record, size_t n, const submodi_digits *digits,
                         uint32_t *count)
{
    memset(count, 0, ((size_t)digits->number << digits->width) * sizeof *count);
    switch (digits->number) {
    case 2: count_each(record, n, digits, 2, count); break;
    case 3: count_each(record, n, digits, 3, count); break;
    case 7: count_each(record, n, digits, 7, count); break; /* short inputs */
    default: count_each(record, n, digits, digits->number, count);
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
    if (n < SUBMODI_INSERTION_BELOW) {
        submodi_insertion_sort(from, n);
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
        size_t team = submodi_team_size();
        size_t me = submodi_thread_index();
        size_t begin = n * me / team;
        size_t end = n * (me + 1) / team;
        uint32_t *mine = count[me];
        for (unsigned low = shift; low < shift + bits; low += digit) {
            memset(mine, 0, (mask + 1) * sizeof *mine);
            for (size_t i = begin; i < end; i++) {
                mine[from[i] >> low & mask]++;
            }
#pragma omp barrier
#pragma omp single
            single = counts_to_places(count, (int)team, mask + 1, n);
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
