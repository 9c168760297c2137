/* Stable descending sort of doubles with their indices. */
#ifndef SUBMODI_SORT_H
#define SUBMODI_SORT_H

#include <stdbool.h>

#include <submod/base.h>

/* The sorted sequence: record i holds the index of the i-th largest entry in its low bits and a key
 * above them. Equal entries have equal keys. Unequal doubles may have equal keys, too, because
 * their low bits do not always fit into a record. */
typedef struct submodi_sorted {
    const uint64_t *record;
    unsigned index_bits;
    uint64_t *spare; /* n records of scratch, free for the caller to reuse */
} submodi_sorted;

static inline int32_t submodi_sorted_index(const submodi_sorted *s, size_t i)
{
    return (int32_t)(s->record[i] & ((UINT64_C(1) << s->index_bits) - 1));
}

/* Returns whether the entries at ranks i - 1 and i may be equal, i >= 1; true if they are. */
static inline bool submodi_sorted_maybe_tied(const submodi_sorted *s, size_t i)
{
    return s->record[i - 1] >> s->index_bits == s->record[i] >> s->index_bits;
}

/* Returns the number of bits of v. */
static inline unsigned submodi_bit_length(uint64_t v)
{
    unsigned length = 0;
    for (; v; v >>= 1) {
        length++;
    }
    return length;
}

/* Sorts x[0 .. n-1], free of NaN, 1 <= n <= 2^31 - 1; -0 equals 0. The records live in work.
 * SUBMOD_ENOMEM. */
submod_status submodi_sort_f64(const double *x, size_t n, submod_work *work,
                               submodi_sorted *sorted);

/* The result for two kinds of entries, each sorted by itself: [1] the entries in the mask (bit
 * i % 32 of word i / 32), [0] the others. low and high are the smallest and largest entry of both.
 */
typedef struct submodi_sorted_kinds {
    size_t count[2];
    submodi_sorted sorted[2];
    double low, high;
} submodi_sorted_kinds;

submod_status submodi_sort_kinds(const double *x, size_t n, const uint32_t *mask, submod_work *work,
                                 submodi_sorted_kinds *kinds);

/* Sorts distinct records in ascending order of the bits [shift, shift + bits). The bits below must
 * ascend already unless their order does not matter. Both buffers hold n records; returns the one
 * with the result. count holds one table per thread. */
enum { SUBMODI_DIGIT_MAX = 12, SUBMODI_DIGIT_COUNTS = 1 << SUBMODI_DIGIT_MAX };
typedef uint32_t submodi_digit_counts[SUBMODI_DIGIT_COUNTS]; /* 16 KiB, half of L1 */

enum { SUBMODI_INSERTION_BELOW = 48 }; /* insertion sort for fewer records */

uint64_t *submodi_sort_records(uint64_t *from, uint64_t *to, size_t n, unsigned shift,
                               unsigned bits, submodi_digit_counts *count, int threads);

/* A sort by one thread of at most n records whose digits were counted while they were made: digit d
 * of a key has `width` bits and its counter at (d << width) + digit in *count. Only possible if
 * `fit`: the counters of all digits fit into one table. */
typedef struct submodi_digits {
    unsigned shift, width, number;
    bool fit;
} submodi_digits;

submodi_digits submodi_digits_of(size_t n, unsigned shift, unsigned bits);
uint64_t *submodi_sort_counted(uint64_t *from, uint64_t *to, size_t n, const submodi_digits *digits,
                               submodi_digit_counts *count);

#endif
