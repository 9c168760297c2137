/* Stable descending order of doubles: records for the radix sort of sort.c, and what remains to be
 * done after it.
 *
 * An entry becomes a key that falls as the entry grows: the bits of the entry, or (high - x) *
 * scale rounded. As many of its upper bits as fit go above the index into one 64-bit record. A
 * sample of the input tells which of the two keys spreads better, and how many of its upper bits
 * separate nearly all entries. The passes sort by these bits alone. Records that they do not
 * separate, a cell, are sorted afterwards: a few by insertion, many by the bits that are left.
 * Where equal keys may stand for different entries, runs of equal keys are sorted by their entries.
 * So the sample affects the time only, and the order does not depend on the number of threads. */
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "base/sort.h"

enum {
    SAMPLE = 1024,      /* entries of the sample */
    SAMPLE_FROM = 4096, /* for shorter inputs the passes sort by all bits */
    SPACING = 4,        /* densities are measured between entries this far apart in the sample */
    DIGIT = 10, /* bits per pass: a million records move twice as fast with 10 as with 11 or 7 */
    MOST_PARTS = 256
};

/* The input, and how its entries become keys. */
typedef struct source {
    const double *x;
    bool linear; /* the key is (high - x) * scale, else (image - smallest) >> drop */
    bool exact;  /* equal keys mean equal entries */
    double high, scale;
    uint64_t smallest;
    unsigned drop, index_bits, key_bits;
    unsigned spare_bits; /* lower bits of the key that the passes leave alone */
} source;

/* Returns an integer that falls as the value grows. Adding 0 turns -0 into 0. For x >= 0 all bits
 * but the sign are flipped; for x < 0 the sign bit already makes it larger than all of those. */
static inline uint64_t image(double value)
{
    uint64_t bits;
    value += 0.0;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? bits : bits ^ UINT64_C(0x7fffffffffffffff);
}

/* linear is s->linear, as a constant in loops. */
static inline uint64_t make_record(const source *s, bool linear, size_t i)
{
    uint64_t key = (image(s->x[i]) - s->smallest) >> s->drop;
    if (linear) {
        /* 2^52 plus a number below 2^52 has this number, rounded, in its lower bits. */
        double shifted = (s->high - s->x[i]) * s->scale + 0x1p52;
        memcpy(&key, &shifted, sizeof key);
        key &= (UINT64_C(1) << 52) - 1;
    }
    return key << s->index_bits | i;
}

static inline uint64_t index_of(const source *s, uint64_t record)
{
    return record & ((UINT64_C(1) << s->index_bits) - 1);
}

static inline uint64_t image_of(const source *s, uint64_t record)
{
    return image(s->x[index_of(s, record)]);
}

/* Returns the end of the run of equal bits, from `shift` on, that begins at record `begin`. */
static size_t end_of_run(const uint64_t *record, size_t begin, size_t end, unsigned shift)
{
    size_t i = begin + 1;
    while (i < end && (record[i] ^ record[begin]) >> shift == 0) {
        i++;
    }
    return i;
}

/* ---- choice of the key ---- */

typedef struct range {
    double low, high;
    uint64_t used; /* bits that are set in some entry */
} range;

/* In one loop, compilers vectorise neither. */
static range range_of(const double *x, size_t n)
{
    enum { BLOCK = 512 };
    double low = x[0], high = x[0];
    uint64_t used = 0, bits[BLOCK];
    for (size_t begin = 0; begin < n; begin += BLOCK) {
        const size_t count = n - begin < BLOCK ? n - begin : BLOCK;
        const double *from = x + begin;
#pragma omp simd reduction(min : low) reduction(max : high)
        for (size_t i = 0; i < count; i++) {
            low = from[i] < low ? from[i] : low;
            high = from[i] > high ? from[i] : high;
        }
        memcpy(bits, from, count * sizeof *bits);
        for (size_t i = 0; i < count; i++) {
            used |= bits[i];
        }
    }
    return (range){low, high, used};
}

/* Keys from the images between smallest and largest, whose `unused` lowest bits are all the same.
 */
static void use_images(source *s, uint64_t smallest, uint64_t largest, unsigned unused)
{
    unsigned room = 64 - s->index_bits, bits = submodi_bit_length(largest - smallest);
    unsigned excess = bits > room ? bits - room : 0;
    s->linear = false;
    s->smallest = smallest;
    s->exact = excess <= unused;
    s->drop = s->exact && unused < bits ? unused : excess;
    s->key_bits = bits - s->drop;
    s->spare_bits = 0;
}

/* Returns false if the range does not allow it. */
static bool use_linear(source *s, range r)
{
    s->linear = true;
    s->exact = false;
    s->key_bits = 64 - s->index_bits < 51 ? 64 - s->index_bits : 51;
    s->high = r.high;
    s->scale = (double)((UINT64_C(1) << s->key_bits) - 1) / (r.high - r.low);
    return s->scale > 0 && isfinite(s->scale);
}

/* Lets the passes sort by as many bits as a sample says, so that they leave at most about one pair
 * per record together. Around an entry, m sampled ones have density (SPACING / m) / gap. The chance
 * that two entries share a cell is its mean; equal entries do not count, but *ties counts them.
 * Returns the bits. */
static unsigned spare_bits(source *s, size_t n, size_t *ties)
{
    uint64_t memory[2][SAMPLE];
    submodi_digit_counts count;
    for (size_t k = 0; k < SAMPLE; k++) {
        memory[0][k] = make_record(s, s->linear, n / SAMPLE * k);
    }
    const uint64_t *sample =
        submodi_sort_records(memory[0], memory[1], SAMPLE, s->index_bits, s->key_bits, &count, 1);
    double sum = 0;
    *ties = 0;
    for (size_t k = SPACING; k < SAMPLE; k++) {
        uint64_t gap = (sample[k] >> s->index_bits) - (sample[k - SPACING] >> s->index_bits);
        if (gap > 0 || image_of(s, sample[k]) != image_of(s, sample[k - SPACING])) {
            sum += gap > 0 ? 1 / (double)gap : 2;
        } else {
            ++*ties;
        }
    }
    double pairs = (double)n / 2 * (SPACING - 1) / ((double)SAMPLE * SAMPLE) * sum;
    unsigned bits = DIGIT;
    while (bits < s->key_bits && ldexp(pairs, (int)(s->key_bits - bits)) > 1) {
        bits += DIGIT;
    }
    s->spare_bits = bits < s->key_bits ? s->key_bits - bits : 0;
    return bits;
}

/* Where many entries are equal, exact keys save comparing them, which costs more than a pass. */
static void choose_key(source *s, size_t n, range r)
{
    s->index_bits = submodi_bit_length(n - 1);
    use_images(s, image(r.high), image(r.low), r.used ? (unsigned)__builtin_ctzll(r.used) : 0);
    if (n < SAMPLE_FROM || s->key_bits == 0) {
        return;
    }
    size_t ties;
    unsigned bits = spare_bits(s, n, &ties);
    source linear = *s;
    if (s->exact && ties > SAMPLE / 8) {
        return;
    }
    if (use_linear(&linear, r) && spare_bits(&linear, n, &ties) <= bits) {
        *s = linear;
    }
}

/* ---- after the passes ---- */

static void sort_by(uint64_t *run, uint64_t *spare, size_t n, unsigned shift, unsigned bits,
                    submodi_digit_counts *count)
{
    if (submodi_sort_records(run, spare, n, shift, bits, count, 1) != run) {
        memcpy(run, spare, n * sizeof *run);
    }
}

/* Returns whether records in ascending order are the entries in descending order. */
static bool in_order(const source *s, const uint64_t *run, size_t n)
{
    uint64_t last = image_of(s, run[0]);
    for (size_t i = 1; i < n; i++) {
        uint64_t here = image_of(s, run[i]);
        if (here < last) {
            return false;
        }
        last = here;
    }
    return true;
}

/* Sorts records with equal keys, in the order of their indices, by their entries. */
static void sort_run(const source *s, uint64_t *run, uint64_t *spare, size_t n,
                     submodi_digit_counts *count)
{
    if (in_order(s, run, n)) {
        return;
    }
    uint64_t smallest = UINT64_MAX, largest = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t here = image_of(s, run[i]);
        smallest = here < smallest ? here : smallest;
        largest = here > largest ? here : largest;
    }
    source own = *s;
    use_images(&own, smallest, largest, 0);
    for (size_t i = 0; i < n; i++) {
        run[i] = make_record(&own, false, index_of(s, run[i]));
    }
    sort_by(run, spare, n, s->index_bits, own.key_bits, count);
    for (size_t begin = 0, end; !own.exact && begin < n; begin = end) {
        end = end_of_run(run, begin, n, s->index_bits);
        sort_run(&own, run + begin, spare + begin, end - begin, count);
    }
}

/* Sorts the cell that record i lies in by the bits that are left. Up to i it is sorted already, and
 * equal keys are in the order of their indices. Returns its end. */
static size_t sort_cell(const source *s, uint64_t *record, uint64_t *spare, size_t i, size_t end,
                        submodi_digit_counts *count)
{
    const unsigned shift = s->index_bits + s->spare_bits;
    size_t begin = i;
    while (begin > 0 && (record[begin - 1] ^ record[i]) >> shift == 0) {
        begin--;
    }
    end = end_of_run(record, begin, end, shift);
    sort_by(record + begin, spare + begin, end - begin, s->index_bits, s->spare_bits, count);
    return end;
}

/* Sorts [begin, end), whole cells, by insertion. Records move within their cells only. Where many
 * share a cell, all of it is sorted at once. Returns whether there may be equal keys: they always
 * meet here. */
static bool insert_all(const source *s, uint64_t *record, uint64_t *spare, size_t begin, size_t end,
                       submodi_digit_counts *count)
{
    bool tied = false;
    for (size_t i = begin + 1; i < end; i++) {
        uint64_t r = record[i];
        tied |= (record[i - 1] ^ r) >> s->index_bits == 0;
        if (record[i - 1] < r) {
            continue;
        }
        size_t floor = i - begin > SUBMODI_INSERTION_BELOW ? i - SUBMODI_INSERTION_BELOW : begin;
        size_t j = i;
        for (; j > floor && record[j - 1] > r; j--) {
            record[j] = record[j - 1];
        }
        record[j] = r;
        tied |= j > begin && (record[j - 1] ^ r) >> s->index_bits == 0;
        if (j == floor && j > begin && record[j - 1] > r) {
            i = sort_cell(s, record, spare, i, end, count) - 1;
            tied = true;
        }
    }
    return tied;
}

static void finish_part(const source *s, uint64_t *record, uint64_t *spare, size_t begin,
                        size_t end, submodi_digit_counts *count)
{
    bool tied = insert_all(s, record, spare, begin, end, count);
    for (size_t next; tied && !s->exact && begin < end; begin = next) {
        next = end_of_run(record, begin, end, s->index_bits);
        if (next - begin > 1) {
            sort_run(s, record + begin, spare + begin, next - begin, count);
        }
    }
}

/* ---- the whole: one thread enters no parallel region, which costs more than a few entries ---- */

typedef struct sorting {
    source s;
    uint64_t *record, *spare;
    submodi_digit_counts *count; /* per thread */
    int threads;
} sorting;

static void finish(const sorting *m, uint64_t *record, uint64_t *spare, size_t n)
{
    const source *s = &m->s;
    const size_t parts = (size_t)m->threads;
    if (s->spare_bits == 0 && s->exact) {
        return;
    }
    if (parts == 1) {
        finish_part(s, record, spare, 0, n, m->count);
        return;
    }
    size_t bound[MOST_PARTS + 1];
    for (size_t t = 0; t <= parts; t++) {
        size_t at = n * t / parts;
        bound[t] = at && at < n ? end_of_run(record, at - 1, n, s->index_bits + s->spare_bits) : at;
    }
#pragma omp parallel for num_threads(m->threads)
    for (size_t t = 0; t < parts; t++) {
        finish_part(s, record, spare, bound[t], bound[t + 1], &m->count[t]);
    }
}

/* Sorts n records that were made at `at`. */
static submodi_sorted sort_list(const sorting *m, size_t at, size_t n)
{
    const source *s = &m->s;
    uint64_t *record = m->record + at, *spare = m->spare + at;
    if (submodi_sort_records(record, spare, n, s->index_bits + s->spare_bits,
                             s->key_bits - s->spare_bits, m->count, m->threads) == spare) {
        spare = record;
        record = m->spare + at;
    }
    finish(m, record, spare, n);
    return (submodi_sorted){record, s->index_bits, spare};
}

static range find_range(const double *x, size_t n, int threads)
{
    const size_t parts = (size_t)threads;
    if (parts == 1) {
        return range_of(x, n);
    }
    double low = INFINITY, high = -INFINITY;
    uint64_t used = 0;
#pragma omp parallel for num_threads(threads) reduction(min \
                                                        : low) reduction(max \
                                                                         : high) reduction(| \
                                                                                           : used)
    for (size_t t = 0; t < parts; t++) {
        range part = range_of(x + n * t / parts, n * (t + 1) / parts - n * t / parts);
        low = part.low < low ? part.low : low;
        high = part.high > high ? part.high : high;
        used |= part.used;
    }
    return (range){low, high, used};
}

/* Allocates, finds the range, and chooses the key. Small inputs need no counters. */
static submod_status start(sorting *m, const double *x, size_t n, submod_work *work, range *r)
{
    const int threads = submodi_threads_for(n);
    *m = (sorting){.threads = threads, .s = {.x = x}};
    m->record = submodi_work_alloc(work, n, sizeof *m->record);
    m->spare = submodi_work_alloc(work, n, sizeof *m->spare);
    m->count = n < SUBMODI_INSERTION_BELOW
                   ? NULL
                   : submodi_work_alloc(work, (size_t)threads, sizeof *m->count);
    if (!m->record || !m->spare || (!m->count && n >= SUBMODI_INSERTION_BELOW)) {
        return SUBMOD_ENOMEM;
    }
    *r = find_range(x, n, threads);
    choose_key(&m->s, n, *r);
    return SUBMOD_OK;
}

static void make_part(const source *s, size_t begin, size_t end, uint64_t *to)
{
    if (s->linear) {
        for (size_t i = begin; i < end; i++) {
            to[i] = make_record(s, true, i);
        }
    } else {
        for (size_t i = begin; i < end; i++) {
            to[i] = make_record(s, false, i);
        }
    }
}

submod_status submodi_sort_f64(const double *x, size_t n, submod_work *work, submodi_sorted *sorted)
{
    sorting m;
    range r;
    TRY(start(&m, x, n, work, &r));
    const size_t parts = (size_t)m.threads;
    if (parts == 1) {
        make_part(&m.s, 0, n, m.record);
    } else {
#pragma omp parallel for num_threads(m.threads)
        for (size_t t = 0; t < parts; t++) {
            make_part(&m.s, n * t / parts, n * (t + 1) / parts, m.record);
        }
    }
    *sorted = sort_list(&m, 0, n);
    return SUBMOD_OK;
}

/* ---- two kinds of entries ---- */

/* Returns the bits of word w of a mask, or of its complement, that belong to entries below n. */
static inline uint32_t members(const uint32_t *mask, size_t w, size_t n, int kind)
{
    uint32_t bits = kind ? mask[w] : ~mask[w];
    return n - 32 * w >= 32 ? bits : bits & ((UINT32_C(1) << (n - 32 * w)) - 1);
}

/* Makes the records of words [begin, end) of the mask: the kinds go to to[kind]. */
static inline void split(const source *s, bool linear, const uint32_t *mask, size_t n, size_t begin,
                         size_t end, uint64_t *to[2])
{
    for (size_t w = begin; w < end; w++) {
        for (int kind = 0; kind < 2; kind++) {
            for (uint32_t bits = members(mask, w, n, kind); bits; bits &= bits - 1) {
                *to[kind]++ = make_record(s, linear, 32 * w + (size_t)__builtin_ctz(bits));
            }
        }
    }
}

static void split_part(const source *s, const uint32_t *mask, size_t n, size_t begin, size_t end,
                       uint64_t *to[2])
{
    if (s->linear) {
        split(s, true, mask, n, begin, end, to);
    } else {
        split(s, false, mask, n, begin, end, to);
    }
}

/* Makes the records of those in the mask, then of the others. Returns how many are in the mask. */
static size_t split_records(const sorting *m, const uint32_t *mask, size_t n)
{
    const size_t words = (n + 31) / 32, parts = (size_t)m->threads;
    size_t before[MOST_PARTS + 1] = {0}; /* in the mask before each part */
    for (size_t t = 0; t < parts; t++) {
        before[t + 1] = before[t];
        for (size_t w = words * t / parts; w < words * (t + 1) / parts; w++) {
            before[t + 1] += (size_t)__builtin_popcount(members(mask, w, n, 1));
        }
    }
    const size_t inside = before[parts];
    if (parts == 1) {
        split_part(&m->s, mask, n, 0, words, (uint64_t *[2]){m->record + inside, m->record});
        return inside;
    }
#pragma omp parallel for num_threads(m->threads)
    for (size_t t = 0; t < parts; t++) {
        size_t begin = words * t / parts;
        uint64_t *to[2] = {m->record + inside + (32 * begin - before[t]), m->record + before[t]};
        split_part(&m->s, mask, n, begin, words * (t + 1) / parts, to);
    }
    return inside;
}

submod_status submodi_sort_kinds(const double *x, size_t n, const uint32_t *mask, submod_work *work,
                                 submodi_sorted_kinds *kinds)
{
    sorting m;
    range r;
    TRY(start(&m, x, n, work, &r));
    size_t inside = split_records(&m, mask, n);
    *kinds = (submodi_sorted_kinds){
        .low = r.low,
        .high = r.high,
        .count = {n - inside, inside},
        .sorted = {sort_list(&m, inside, n - inside), sort_list(&m, 0, inside)}};
    return SUBMOD_OK;
}

/* ---- public ---- */

static void write_indices(const submodi_sorted *sorted, size_t begin, size_t end, int32_t *order)
{
    for (size_t i = begin; i < end; i++) {
        order[i] = submodi_sorted_index(sorted, i);
    }
}

static submod_status argsort(const double *x, size_t n, int32_t *order, submod_work *w)
{
    submodi_sorted sorted;
    if (submodi_sort_f64(x, n, w, &sorted) != SUBMOD_OK) {
        return submodi_out_of_memory();
    }
    const int threads = submodi_threads_for(n);
    const size_t parts = (size_t)threads;
    if (parts == 1) {
        write_indices(&sorted, 0, n, order);
        return SUBMOD_OK;
    }
#pragma omp parallel for num_threads(threads)
    for (size_t t = 0; t < parts; t++) {
        write_indices(&sorted, n * t / parts, n * (t + 1) / parts, order);
    }
    return SUBMOD_OK;
}

static submod_status check_argsort(const double *x, size_t n, const int32_t *order)
{
    if (n > INT32_MAX) {
        return submodi_fail(SUBMOD_EINVAL, "n = %zu must be at most 2^31 - 1", n);
    }
    TRY(n ? submodi_check_given("x", x) : SUBMOD_OK);
    TRY(n ? submodi_check_given("order", order) : SUBMOD_OK);
    return submodi_check_finite("x", x, n);
}

submod_status submod_argsort(const double *x, size_t n, int32_t *order, submod_work *work)
{
    submod_status status = check_argsort(x, n, order);
    if (status == SUBMOD_OK && n) {
        submodi_scope scope;
        submod_work *w = submodi_scope_open(&scope, work);
        status = argsort(x, n, order, w);
        submodi_scope_close(&scope);
    }
    return submodi_return("submod_argsort", status);
}
