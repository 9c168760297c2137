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

/* Turns counts per (thread, digit) into the index at which the thread writes its first record with
 * this digit. Thread t counts in count[t * SUBMODI_DIGIT_COUNTS ..]. Returns whether one digit
 * holds all n records. */
static inline bool counts_to_places(uint32_t *count, size_t threads, size_t digits, size_t n)
{
    uint32_t place = 0;
    bool single = false;
    for (size_t d = 0; d < digits; d++) {
        uint32_t before = place;
        for (size_t t = 0; t < threads; t++) {
            uint32_t c = count[t * SUBMODI_DIGIT_COUNTS + d];
            count[t * SUBMODI_DIGIT_COUNTS + d] = place;
            place += c;
        }
        single |= place - before == n;
    }
    return single;
}

/* Moves records to the places of their digits. */
static inline void move(const uint64_t *from, size_t begin, size_t end, unsigned low, uint64_t mask,
                        uint32_t *place, uint64_t *to)
{
    for (size_t i = begin; i < end; i++) {
        uint64_t r = from[i];
        to[place[r >> low & mask]++] = r;
    }
}

static void swap(uint64_t **from, uint64_t **to)
{
    uint64_t *before = *from;
    *from = *to;
    *to = before;
}

/* Chooses the fewest digits that cover all bits, all of about the same width. */
submodi_digits submodi_digits_of(size_t n, unsigned shift, unsigned bits)
{
    unsigned widest = n < NARROW_BELOW ? NARROW_DIGIT : SUBMODI_DIGIT_MAX;
    unsigned number = (bits + widest - 1) / widest;
    submodi_digits d = {.shift = shift, .width = number ? (bits + number - 1) / number : 1};
    d.number = (bits + d.width - 1) / d.width;
    d.fit = (size_t)d.number << d.width <= SUBMODI_DIGIT_COUNTS;
    return d;
}

/* Counts the digits of each record. number is digits->number, as a constant where possible. */
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
        if (!counts_to_places(place, 1, mask + 1, n)) {
            move(from, 0, n, digits->shift + d * digits->width, mask, place, to);
            swap(&from, &to);
        }
    }
    return from;
}

uint64_t *submodi_sort_records(uint64_t *from, uint64_t *to, size_t n, unsigned shift,
                               unsigned bits, submodi_digit_counts *count, int threads)
{
    if (n < SUBMODI_INSERTION_BELOW) {
        insertion_sort(from, n);
        return from;
    }
    const submodi_digits digits = submodi_digits_of(n, shift, bits);
    if (threads == 1 && digits.fit) {
        count_digits(from, n, &digits, *count);
        return submodi_sort_counted(from, to, n, &digits, count);
    }
    const uint64_t mask = (UINT64_C(1) << digits.width) - 1;
    bool single = false;
#pragma omp parallel num_threads(threads)
    {
        const size_t team = submodi_team_size(), me = submodi_thread_index();
        const size_t begin = n * me / team, end = n * (me + 1) / team;
        uint32_t *mine = count[me];
        for (unsigned low = shift; low < shift + bits; low += digits.width) {
            memset(mine, 0, (mask + 1) * sizeof *mine);
            for (size_t i = begin; i < end; i++) {
                mine[from[i] >> low & mask]++;
            }
#pragma omp barrier
#pragma omp single
            single = counts_to_places(*count, team, mask + 1, n);
            if (!single) {
                move(from, begin, end, low, mask, mine, to);
            }
#pragma omp barrier
#pragma omp single
            if (!single) {
                swap(&from, &to);
            }
        }
    }
    return from;
}
