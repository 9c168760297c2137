/* Stable descending order of floats and doubles: records for the radix sort, and what is left to do
 * after it.
 *
 * An entry becomes a key that falls as the entry grows, one of
 *
 *     image     the bits of the entry as an unsigned integer, less the smallest of the input
 *     linear    (largest - x) * scale, rounded
 *
 * and as many of its upper bits as fit go above the index into one 64-bit record. Floats always
 * fit. The passes sort by the upper bits of the key alone: about as many as there are bits in n
 * separate nearly all entries, if the keys spread evenly. A sample tells which of the two keys
 * spreads better, and how many bits it takes. Records that these bits do not separate, a cell, are
 * tidied up afterwards: few of them by insertion, many by the bits that are left. Entries with
 * equal keys need not be equal; they are compared themselves. So the sample decides about the time
 * only. The order is always the one wanted, for any number of threads.
 *
 * Work for a million doubles: one pass to find the range, one to make the records, two or three
 * radix passes for uniform or normal entries (up to five for the most uneven), one to tidy up; 8
 * bytes are read and as many written per entry in each. One thread enters no parallel region,
 * because a region costs more than sorting a few entries, and some callers sort only a few.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "base/threads.h"

enum {
    SAMPLE = 1024,      /* entries looked at before the sort */
    SAMPLE_FROM = 4096, /* for shorter inputs the passes sort by all bits */
    SPACING = 4,        /* densities are measured between entries this far apart in the sample */
    DIGIT = 10, /* bits per pass: a million records move twice as fast with 10 as with 11 or 7 */
    MOST_PARTS = 256
};

/* Pairs per record that the radix passes may leave together. */
static const double pairs_left = 1;

typedef enum key_kind { IMAGE_F32, IMAGE_F64, LINEAR } key_kind;

/* The input, and how its entries become records. */
typedef struct source {
    const void *x;
    bool is_double;
    key_kind kind;
    double high, scale; /* linear */
    uint64_t smallest;  /* image subtracted from all */
    unsigned drop;      /* low bits of the image cut off */
    unsigned index_bits;
    unsigned key_bits;
    unsigned image_bits; /* key_bits of the images */
    bool exact;          /* equal keys, equal entries */
    unsigned tidy_bits;  /* lower bits of the key that the passes leave alone */
} source;

/* Unsigned image, decreasing in the value. Adding 0 turns -0 into 0. For x >= 0 all bits but the
 * sign are flipped; for x < 0 the sign bit already makes it larger than all of those. */
static inline uint64_t image_f64(double value)
{
    uint64_t bits;
    value += 0.0;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? bits : bits ^ UINT64_C(0x7fffffffffffffff);
}

static inline uint64_t image_f32(float value)
{
    uint32_t bits;
    value += 0.0F;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 31 ? bits : bits ^ UINT32_C(0x7fffffff);
}

static inline uint64_t image(const source *s, size_t i)
{
    return s->is_double ? image_f64(((const double *)s->x)[i])
                        : image_f32(((const float *)s->x)[i]);
}

/* kind is s->kind, as a constant in loops. */
static inline uint64_t make_record(const source *s, key_kind kind, size_t i)
{
    if (kind == LINEAR) {
        /* 2^52 plus a number below 2^52 has this number, rounded, in its lower bits. */
        double shifted = (s->high - ((const double *)s->x)[i]) * s->scale + 0x1p52;
        uint64_t bits;
        memcpy(&bits, &shifted, sizeof bits);
        return (bits & ((UINT64_C(1) << 52) - 1)) << s->index_bits | i;
    }
    uint64_t bits = kind == IMAGE_F64 ? image_f64(((const double *)s->x)[i])
                                      : image_f32(((const float *)s->x)[i]);
    return (bits - s->smallest) >> s->drop << s->index_bits | i;
}

/* ---- choice of the key ---- */

typedef struct range {
    double low, high;
} range;

static range range_f64(const double *x, size_t n)
{
    double low = x[0];
    double high = x[0];
#pragma omp simd reduction(min : low) reduction(max : high)
    for (size_t i = 0; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    return (range){low, high};
}

static range range_f32(const float *x, size_t n)
{
    float low = x[0];
    float high = x[0];
#pragma omp simd reduction(min : low) reduction(max : high)
    for (size_t i = 0; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    return (range){(double)low, (double)high};
}

static range part_range(const source *s, size_t begin, size_t end)
{
    return s->is_double ? range_f64((const double *)s->x + begin, end - begin)
                        : range_f32((const float *)s->x + begin, end - begin);
}

/* n >= threads */
static range find_range(const source *s, size_t n, int threads)
{
    if (threads == 1) {
        return part_range(s, 0, n);
    }
    const size_t parts = (size_t)threads;
    double low = INFINITY;
    double high = -INFINITY;
#pragma omp parallel for num_threads(threads) reduction(min : low) reduction(max : high)
    for (size_t t = 0; t < parts; t++) {
        range part = part_range(s, n * t / parts, n * (t + 1) / parts);
        low = part.low < low ? part.low : low;
        high = part.high > high ? part.high : high;
    }
    return (range){low, high};
}

/* Whether no entry has one of its lowest `low` bits set. */
static bool are_short(const double *x, size_t n, unsigned low, int threads)
{
    uint64_t used = 0;
#pragma omp parallel for num_threads(threads) reduction(| : used)
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        used |= bits;
    }
    return (used & ((UINT64_C(1) << low) - 1)) == 0;
}

static void use_images(source *s, range r)
{
    uint64_t largest = s->is_double ? image_f64(r.low) : image_f32((float)r.low);
    s->kind = s->is_double ? IMAGE_F64 : IMAGE_F32;
    s->smallest = s->is_double ? image_f64(r.high) : image_f32((float)r.high);
    unsigned range_bits = submodi_bit_length(largest - s->smallest);
    unsigned room = 64 - s->index_bits;
    s->drop = range_bits > room ? range_bits - room : 0;
    s->key_bits = s->image_bits = range_bits - s->drop;
    s->tidy_bits = 0;
    s->exact = s->drop == 0;
}

/* false: the range does not allow it. */
static bool use_linear(source *s, range r)
{
    s->kind = LINEAR;
    s->exact = false;
    s->key_bits = 64 - s->index_bits < 51 ? 64 - s->index_bits : 51;
    s->high = r.high;
    s->scale = (double)((UINT64_C(1) << s->key_bits) - 1) / (r.high - r.low);
    return s->scale > 0 && isfinite(s->scale);
}

static bool same_entry(const source *s, uint64_t a, uint64_t b)
{
    const uint64_t mask = (UINT64_C(1) << s->index_bits) - 1;
    return image(s, a & mask) == image(s, b & mask);
}

/* Lets the passes sort by as many bits as a sample says. Around an entry, m sampled ones have
 * density (SPACING / m) / gap. The chance that two entries fall into one cell is its mean. Equal
 * entries do not count, because nothing has to be done about them: *ties. Returns the bits. */
static unsigned spare_bits(source *s, size_t n, size_t *ties)
{
    uint64_t memory[2][SAMPLE];
    submodi_digit_counts count;
    for (size_t k = 0; k < SAMPLE; k++) {
        memory[0][k] = make_record(s, s->kind, n / SAMPLE * k);
    }
    const uint64_t *sample =
        submodi_sort_records(memory[0], memory[1], SAMPLE, s->index_bits, s->key_bits, &count, 1);
    double sum = 0;
    *ties = 0;
    for (size_t k = SPACING; k < SAMPLE; k++) {
        uint64_t gap = (sample[k] >> s->index_bits) - (sample[k - SPACING] >> s->index_bits);
        if (gap > 0 || !same_entry(s, sample[k], sample[k - SPACING])) {
            sum += gap > 0 ? 1 / (double)gap : 2;
        } else {
            ++*ties;
        }
    }
    double pairs = (double)n / 2 * (SPACING - 1) / ((double)SAMPLE * SAMPLE) * sum;
    unsigned bits = DIGIT;
    while (bits < s->key_bits && ldexp(pairs, (int)(s->key_bits - bits)) > pairs_left) {
        bits += DIGIT;
    }
    s->tidy_bits = bits < s->key_bits ? s->key_bits - bits : 0;
    return bits;
}

/* Where many entries are equal, images without cut bits save comparing them, which costs more than
 * a pass. */
static void choose(source *s, size_t n, range r, int threads)
{
    s->index_bits = submodi_bit_length(n - 1);
    use_images(s, r);
    if (n < SAMPLE_FROM || s->key_bits == 0) {
        return;
    }
    size_t ties;
    unsigned bits = spare_bits(s, n, &ties);
    if (ties > SAMPLE / 8 && (s->exact || are_short(s->x, n, s->drop, threads))) {
        s->exact = true;
        return;
    }
    source linear = *s;
    if (s->is_double && use_linear(&linear, r) && spare_bits(&linear, n, &ties) <= bits) {
        *s = linear;
    }
}

/* ---- after the passes ---- */

/* Whether records in ascending order are the entries in descending order. */
static bool in_order(const source *s, const uint64_t *record, size_t n)
{
    const uint64_t mask = (UINT64_C(1) << s->index_bits) - 1;
    uint64_t last = image(s, record[0] & mask);
    for (size_t i = 1; i < n; i++) {
        uint64_t here = image(s, record[i] & mask);
        if (here < last) {
            return false;
        }
        last = here;
    }
    return true;
}

/* Sorts the records of a run by other keys, which replace theirs. */
static void sort_by(uint64_t *run, uint64_t *spare, size_t n, unsigned index_bits, unsigned bits,
                    submodi_digit_counts *count)
{
    if (submodi_sort_records(run, spare, n, index_bits, bits, count, 1) != run) {
        memcpy(run, spare, n * sizeof *run);
    }
}

/* The end of the run of equal bits, from `shift` on, that begins at record `begin`. */
static size_t end_of_run(const uint64_t *record, size_t begin, size_t end, unsigned shift)
{
    size_t i = begin + 1;
    while (i < end && (record[i] ^ record[begin]) >> shift == 0) {
        i++;
    }
    return i;
}

/* Sorts a run of records with equal images by the bits that were cut off. */
static void sort_by_cut_bits(const source *s, uint64_t *run, uint64_t *spare, size_t n,
                             submodi_digit_counts *count)
{
    const uint64_t index_mask = (UINT64_C(1) << s->index_bits) - 1;
    const uint64_t cut_mask = (UINT64_C(1) << s->drop) - 1;
    for (size_t i = 0; i < n; i++) {
        uint64_t index = run[i] & index_mask;
        run[i] = ((image(s, index) - s->smallest) & cut_mask) << s->index_bits | index;
    }
    sort_by(run, spare, n, s->index_bits, s->drop, count);
}

/* Sorts records with equal keys by their entries. */
static void sort_long_run(const source *s, uint64_t *run, uint64_t *spare, size_t n,
                          submodi_digit_counts *count)
{
    const uint64_t index_mask = (UINT64_C(1) << s->index_bits) - 1;
    if (s->kind == LINEAR) {
        for (size_t i = 0; i < n; i++) {
            run[i] = make_record(s, IMAGE_F64, run[i] & index_mask);
        }
        sort_by(run, spare, n, s->index_bits, s->image_bits, count);
    }
    for (size_t begin = 0; s->drop && begin < n;) {
        size_t end = end_of_run(run, begin, n, s->index_bits);
        sort_by_cut_bits(s, run + begin, spare + begin, end - begin, count);
        begin = end;
    }
}

static void sort_short_run(const source *s, uint64_t *run, size_t n)
{
    const uint64_t index_mask = (UINT64_C(1) << s->index_bits) - 1;
    for (size_t i = 1; i < n; i++) {
        uint64_t r = run[i];
        uint64_t here = image(s, r & index_mask);
        size_t j = i;
        for (; j > 0 && image(s, run[j - 1] & index_mask) > here; j--) {
            run[j] = run[j - 1];
        }
        run[j] = r;
    }
}

/* Sorts runs of records with equal keys. */
static void sort_runs(const source *s, uint64_t *record, uint64_t *spare, size_t begin, size_t end,
                      submodi_digit_counts *count)
{
    while (begin < end) {
        size_t next = end_of_run(record, begin, end, s->index_bits);
        size_t n = next - begin;
        if (n > 1 && !in_order(s, record + begin, n)) {
            if (n < SUBMODI_INSERTION_BELOW) {
                sort_short_run(s, record + begin, n);
            } else {
                sort_long_run(s, record + begin, spare + begin, n, count);
            }
        }
        begin = next;
    }
}

/* Sorts the cell that record i lies in by the bits that are left. Up to i it is sorted already, and
 * equal keys are in the order of their indices. Returns its end. */
static size_t sort_cell(const source *s, uint64_t *record, uint64_t *spare, size_t i, size_t end,
                        submodi_digit_counts *count)
{
    const unsigned shift = s->index_bits + s->tidy_bits;
    size_t begin = i;
    while (begin > 0 && (record[begin - 1] ^ record[i]) >> shift == 0) {
        begin--;
    }
    end = end_of_run(record, begin, end, shift);
    sort_by(record + begin, spare + begin, end - begin, s->index_bits, s->tidy_bits, count);
    return end;
}

/* Sorts [begin, end), whole cells, by insertion. Records move within their cells only. Where many
 * share a cell, all of it is sorted at once. Equal keys always meet here: *tied tells. */
static void insert_all(const source *s, uint64_t *record, uint64_t *spare, size_t begin, size_t end,
                       submodi_digit_counts *count, bool *tied)
{
    bool same = false;
    for (size_t i = begin + 1; i < end; i++) {
        uint64_t r = record[i];
        same |= (record[i - 1] ^ r) >> s->index_bits == 0;
        if (record[i - 1] < r) {
            continue;
        }
        size_t floor = i - begin > SUBMODI_INSERTION_BELOW ? i - SUBMODI_INSERTION_BELOW : begin;
        size_t j = i;
        for (; j > floor && record[j - 1] > r; j--) {
            record[j] = record[j - 1];
        }
        record[j] = r;
        same |= j > begin && (record[j - 1] ^ r) >> s->index_bits == 0;
        if (j == floor && j > begin && record[j - 1] > r) {
            i = sort_cell(s, record, spare, i, end, count) - 1;
            same = true;
        }
    }
    *tied = same;
}

/* The first record at or after `at` that begins a cell. */
static size_t cell_from(const uint64_t *record, size_t at, size_t n, unsigned shift)
{
    while (at > 0 && at < n && (record[at] ^ record[at - 1]) >> shift == 0) {
        at++;
    }
    return at;
}

static void tidy_part(const source *s, uint64_t *record, uint64_t *spare, size_t begin, size_t end,
                      submodi_digit_counts *count)
{
    bool tied;
    insert_all(s, record, spare, begin, end, count, &tied);
    if (tied && !s->exact) {
        sort_runs(s, record, spare, begin, end, count);
    }
}

static void tidy(const source *s, uint64_t *record, uint64_t *spare, size_t n,
                 submodi_digit_counts *count, int threads)
{
    const unsigned shift = s->index_bits + s->tidy_bits;
    const size_t parts = (size_t)threads;
    if (s->tidy_bits == 0 && s->exact) {
        return;
    }
    if (threads == 1) {
        tidy_part(s, record, spare, 0, n, count);
        return;
    }
    size_t bound[MOST_PARTS + 1];
    for (size_t t = 0; t <= parts; t++) {
        bound[t] = cell_from(record, n * t / parts, n, shift);
    }
#pragma omp parallel for num_threads(threads)
    for (size_t t = 0; t < parts; t++) {
        tidy_part(s, record, spare, bound[t], bound[t + 1], &count[t]);
    }
}

/* ---- records of one list or two ---- */

typedef struct memory {
    uint64_t *record, *spare;
    submodi_digit_counts *count; /* per thread, at least two */
    int threads;
} memory;

static bool take_memory(memory *m, size_t n, submod_work *work)
{
    m->threads = submodi_threads_for(n);
    m->record = submodi_take(work, n, sizeof *m->record);
    m->spare = submodi_take(work, n, sizeof *m->spare);
    m->count = submodi_take(work, (size_t)m->threads, sizeof *m->count);
    return m->record && m->spare && m->count;
}

/* Sorts n records that were made at `at`. */
static submodi_sorted sort_list(const source *s, const memory *m, size_t at, size_t n)
{
    uint64_t *record = m->record + at;
    uint64_t *spare = m->spare + at;
    if (submodi_sort_records(record, spare, n, s->index_bits + s->tidy_bits,
                             s->key_bits - s->tidy_bits, m->count, m->threads) == spare) {
        spare = record;
        record = m->spare + at;
    }
    tidy(s, record, spare, n, m->count, m->threads);
    return (submodi_sorted){record, s->index_bits, spare};
}

static inline void make_kind(const source *s, key_kind kind, size_t begin, size_t end, uint64_t *to)
{
    for (size_t i = begin; i < end; i++) {
        to[i] = make_record(s, kind, i);
    }
}

static void make_part(const source *s, size_t begin, size_t end, uint64_t *to)
{
    switch (s->kind) {
    case IMAGE_F32: make_kind(s, IMAGE_F32, begin, end, to); break;
    case IMAGE_F64: make_kind(s, IMAGE_F64, begin, end, to); break;
    case LINEAR: make_kind(s, LINEAR, begin, end, to); break;
    }
}

static void make_records(const source *s, const memory *m, size_t n)
{
    const size_t parts = (size_t)m->threads;
    if (parts == 1) {
        make_part(s, 0, n, m->record);
        return;
    }
#pragma omp parallel for num_threads(m->threads)
    for (size_t t = 0; t < parts; t++) {
        make_part(s, n * t / parts, n * (t + 1) / parts, m->record);
    }
}

static submod_status sort(source *s, size_t n, submod_work *work, submodi_sorted *sorted)
{
    memory m;
    if (!take_memory(&m, n, work)) {
        return SUBMOD_ENOMEM;
    }
    range r = find_range(s, n, m.threads);
    choose(s, n, r, m.threads);
    make_records(s, &m, n);
    *sorted = sort_list(s, &m, 0, n);
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

/* ---- two kinds ---- */

/* The bits of word w of a mask that belong to entries below n; `kind` says whether set or not. */
static inline uint32_t members(const uint32_t *mask, size_t w, size_t n, int kind)
{
    uint32_t bits = kind ? mask[w] : ~mask[w];
    return n - 32 * w >= 32 ? bits : bits & ((UINT32_C(1) << (n - 32 * w)) - 1);
}

static inline uint64_t *split_word(const source *s, key_kind kind, uint32_t bits, size_t base,
                                   uint64_t *to)
{
    for (; bits; bits &= bits - 1) {
        *to++ = make_record(s, kind, base + (size_t)__builtin_ctz(bits));
    }
    return to;
}

static inline void split_kind(const source *s, key_kind kind, const uint32_t *mask, size_t n,
                              size_t begin, size_t end, uint64_t *to[2])
{
    for (size_t w = begin; w < end; w++) {
        to[1] = split_word(s, kind, members(mask, w, n, 1), 32 * w, to[1]);
        to[0] = split_word(s, kind, members(mask, w, n, 0), 32 * w, to[0]);
    }
}

/* Makes the records of words [begin, end) of the mask: the kinds go to to[kind]. */
static void split_part(const source *s, const uint32_t *mask, size_t n, size_t begin, size_t end,
                       uint64_t *to[2])
{
    if (s->kind == LINEAR) {
        split_kind(s, LINEAR, mask, n, begin, end, to);
    } else {
        split_kind(s, IMAGE_F64, mask, n, begin, end, to);
    }
}

static size_t count_inside(const uint32_t *mask, size_t n, size_t begin, size_t end)
{
    size_t count = 0;
    for (size_t w = begin; w < end; w++) {
        count += (size_t)__builtin_popcount(members(mask, w, n, 1));
    }
    return count;
}

/* Makes the records of those in the mask, then of the others. Returns how many are in the mask. */
static size_t split_records(const source *s, const memory *m, const uint32_t *mask, size_t n)
{
    const size_t words = (n + 31) / 32;
    const size_t parts = (size_t)m->threads;
    if (parts == 1) {
        size_t inside = count_inside(mask, n, 0, words);
        split_part(s, mask, n, 0, words, (uint64_t *[2]){m->record + inside, m->record});
        return inside;
    }
    size_t before[MOST_PARTS + 1] = {0};
#pragma omp parallel for num_threads(m->threads)
    for (size_t t = 0; t < parts; t++) {
        before[t + 1] = count_inside(mask, n, words * t / parts, words * (t + 1) / parts);
    }
    for (size_t t = 0; t < parts; t++) {
        before[t + 1] += before[t];
    }
    const size_t inside = before[parts];
#pragma omp parallel for num_threads(m->threads)
    for (size_t t = 0; t < parts; t++) {
        size_t begin = words * t / parts;
        size_t end = words * (t + 1) / parts;
        uint64_t *to[2] = {m->record + inside + (32 * begin - before[t]), m->record + before[t]};
        split_part(s, mask, n, begin, end, to);
    }
    return inside;
}

submod_status submodi_sort_kinds(const double *x, size_t n, const uint32_t *mask, submod_work *work,
                                 submodi_sorted_kinds *kinds)
{
    source s = {.x = x, .is_double = true};
    memory m;
    if (!take_memory(&m, n, work)) {
        return SUBMOD_ENOMEM;
    }
    range r = find_range(&s, n, m.threads);
    choose(&s, n, r, m.threads);
    size_t inside = split_records(&s, &m, mask, n);
    *kinds = (submodi_sorted_kinds){
        .low = r.low,
        .high = r.high,
        .count = {n - inside, inside},
        .sorted = {sort_list(&s, &m, inside, n - inside), sort_list(&s, &m, 0, inside)}};
    return SUBMOD_OK;
}
