/* Stable descending order of doubles: makes records for the radix sort of sort.c and finishes its
 * result.
 *
 * An entry becomes a key that falls as the entry grows: the bits of the entry, or
 * (high - x) * scale rounded. A 64-bit record holds the index below as many upper bits of the key
 * as fit. A sample of the input decides which of the two keys spreads better, and how many of its
 * upper bits separate nearly all entries; the passes sort by these bits alone. A cell is a run of
 * records that they do not separate. Small cells are then sorted by insertion, large ones by the
 * remaining bits. Where different entries may have equal keys, runs of equal keys are sorted by
 * entry. So the sample affects only the time, and the order does not depend on the number of
 * threads. */
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "base/sort.h"

enum {
    SAMPLE = 1024,      /* entries of the sample */
    SAMPLE_FROM = 4096, /* for shorter inputs the passes sort by all bits */
    SPACING = 4,        /* densities are measured between entries this far apart in the sample */
    DIGIT = 10 /* bits per pass: a million records move twice as fast with 10 as with 11 or 7 */
};

/* The input and the conversion of its entries to keys. */
typedef struct source {
    const double *x;
    const uint32_t
        *mask;   /* bit i % 32 of word i / 32 is the kind of entry i; NULL means one kind */
    bool linear; /* the key is (high - x) * scale, else (image - smallest) >> drop */
    bool exact;  /* equal keys mean equal entries */
    double high, scale;
    uint64_t smallest;
    unsigned drop, index_bits;
    unsigned key_bits;   /* including the highest bit, the kind */
    unsigned spare_bits; /* low bits of the key that the passes ignore */
} source;

/* Returns an integer that falls as the value grows. Adding 0 turns -0 into 0. For x >= 0, flips all
 * bits but the sign; for x < 0, the sign bit already makes the integer larger than for all
 * x >= 0. */
static inline uint64_t image(double value)
{
    uint64_t bits;
    value += 0.0;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? bits : bits ^ UINT64_C(0x7fffffffffffffff);
}

static inline uint64_t index_of(const source *s, uint64_t record)
{
    return record & ((UINT64_C(1) << s->index_bits) - 1);
}

static inline uint64_t kind_of(const uint32_t *mask, size_t i)
{
    return mask[i / 32] >> i % 32 & 1;
}

/* Makes the record of entry i. linear is s->linear, passed as a constant for loops. */
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

/* Adds the kinds, as the highest bit of the keys, to the records of some entries. */
static void add_kinds(const source *s, uint64_t *record, size_t count)
{
    const unsigned shift = s->index_bits + s->key_bits - 1;
    for (size_t i = 0; s->mask && i < count; i++) {
        record[i] |= kind_of(s->mask, index_of(s, record[i])) << shift;
    }
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
} range;

static range range_of(const double *x, size_t n)
{
    double low = x[0], high = x[0];
#pragma omp simd reduction(min : low) reduction(max : high)
    for (size_t i = 0; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    return (range){low, high};
}

/* Returns how many of the lowest bits are 0 in all entries: 29 where they are floats. */
static unsigned unused_bits(const double *x, size_t n)
{
    uint64_t used = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        used |= bits;
    }
    return used ? (unsigned)__builtin_ctzll(used) : 0;
}

static unsigned kind_bits(const source *s)
{
    return s->mask ? 1 : 0;
}

/* Chooses keys by the images between smallest and largest, whose `unused` lowest bits are equal. */
static void use_images(source *s, uint64_t smallest, uint64_t largest, unsigned unused)
{
    unsigned room = 64 - s->index_bits - kind_bits(s);
    unsigned bits = submodi_bit_length(largest - smallest);
    unsigned excess = bits > room ? bits - room : 0;
    s->linear = false;
    s->smallest = smallest;
    s->exact = excess <= unused;
    s->drop = s->exact && unused < bits ? unused : excess;
    s->key_bits = bits - s->drop + kind_bits(s);
    s->spare_bits = 0;
}

/* Chooses linear keys. Returns false if the range of the entries does not allow them. */
static bool use_linear(source *s, range r)
{
    unsigned room = 64 - s->index_bits - kind_bits(s), bits = room < 51 ? room : 51;
    s->linear = true;
    s->exact = false;
    s->key_bits = bits + kind_bits(s);
    s->high = r.high;
    s->scale = (double)((UINT64_C(1) << bits) - 1) / (r.high - r.low);
    return s->scale > 0 && isfinite(s->scale);
}

/* Chooses from a sample the number of bits that the passes sort by, so that they leave about one
 * unseparated pair or less, and returns it. Near an entry, m sampled entries have density
 * (SPACING / m) / gap; its mean is the chance that two entries share a cell. Equal entries are not
 * part of it; *ties counts them. */
static unsigned spare_bits(source *s, size_t n, size_t *ties)
{
    uint64_t memory[2][SAMPLE];
    submodi_digit_counts count;
    for (size_t k = 0; k < SAMPLE; k++) {
        memory[0][k] = make_record(s, s->linear, n / SAMPLE * k);
    }
    add_kinds(s, memory[0], SAMPLE);
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

/* Chooses the key. Where many entries are equal, exact keys avoid comparing them, which costs more
 * than a pass. */
static void choose_key(source *s, size_t n, range r)
{
    const uint64_t smallest = image(r.high), largest = image(r.low);
    const bool few = n < SAMPLE_FROM;
    s->index_bits = submodi_bit_length(n - 1);
    use_images(s, smallest, largest, few ? unused_bits(s->x, n) : 0);
    if (few || smallest == largest) {
        return;
    }
    size_t ties;
    unsigned bits = spare_bits(s, n, &ties);
    source other = *s;
    if (ties > SAMPLE / 8 && !s->exact) {
        use_images(&other, smallest, largest, unused_bits(s->x, n));
        if (other.exact) {
            spare_bits(&other, n, &ties);
            *s = other;
        }
    }
    if (ties > SAMPLE / 8 && s->exact) {
        return;
    }
    if (use_linear(&other, r) && spare_bits(&other, n, &ties) <= bits) {
        *s = other;
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
    source own = {.x = s->x, .index_bits = s->index_bits};
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

/* Sorts the cell of record i by the remaining bits. Its records up to i are already sorted, and
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

/* Sorts [begin, end), whole cells, by insertion. Records move only within their cells; large cells
 * go to sort_cell. Returns whether there may be equal keys, which this always detects. */
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

/* ---- the whole ---- */

typedef struct sorting {
    source s;
    uint64_t *record, *spare;
    submodi_digit_counts *count; /* per part */
    size_t n, parts;
    range of_part[SUBMODI_MOST_THREADS];
    size_t bound[SUBMODI_MOST_THREADS + 1]; /* of parts that hold whole cells */
} sorting;

static void find_range(void *sort, size_t part, size_t begin, size_t end)
{
    sorting *m = sort;
    m->of_part[part] = range_of(m->s.x + begin, end - begin);
}

static range whole_range(const sorting *m)
{
    range r = m->of_part[0];
    for (size_t t = 1; t < m->parts; t++) {
        r = (range){fmin(r.low, m->of_part[t].low), fmax(r.high, m->of_part[t].high)};
    }
    return r;
}

static void make_records(void *sort, size_t part, size_t begin, size_t end)
{
    const source s = ((const sorting *)sort)->s; /* a copy stays in registers */
    uint64_t *to = ((const sorting *)sort)->record;
    (void)part;
    if (s.linear) {
        for (size_t i = begin; i < end; i++) {
            to[i] = make_record(&s, true, i);
        }
    } else {
        for (size_t i = begin; i < end; i++) {
            to[i] = make_record(&s, false, i);
        }
    }
    add_kinds(&s, to + begin, end - begin);
}

static void finish_part(void *sort, size_t part, size_t even_begin, size_t even_end)
{
    const sorting *m = sort;
    const source *s = &m->s;
    (void)even_begin;
    (void)even_end;
    size_t begin = m->bound[part], end = m->bound[part + 1];
    submodi_digit_counts *count = m->count ? &m->count[part] : NULL;
    bool tied = insert_all(s, m->record, m->spare, begin, end, count);
    for (size_t next; tied && !s->exact && begin < end; begin = next) {
        next = end_of_run(m->record, begin, end, s->index_bits);
        if (next - begin > 1) {
            sort_run(s, m->record + begin, m->spare + begin, next - begin, count);
        }
    }
}

/* Sorts the cells that the passes have left. */
static void finish(sorting *m)
{
    const unsigned shift = m->s.index_bits + m->s.spare_bits;
    if (m->s.spare_bits == 0 && m->s.exact) {
        return;
    }
    for (size_t t = 0; t <= m->parts; t++) {
        size_t at = m->n * t / m->parts;
        m->bound[t] = at && at < m->n ? end_of_run(m->record, at - 1, m->n, shift) : at;
    }
    submodi_run_parts(m->parts, m->n, finish_part, m);
}

static submod_status sort(const double *x, const uint32_t *mask, size_t n, submod_work *work,
                          sorting *m, range *r)
{
    const int threads = submodi_threads_for(n);
    m->s = (source){.x = x, .mask = mask};
    m->n = n;
    m->parts = (size_t)threads;
    m->record = submodi_work_alloc(work, n, sizeof *m->record);
    m->spare = submodi_work_alloc(work, n, sizeof *m->spare);
    m->count = NULL; /* small inputs need no counters */
    if (n >= SUBMODI_INSERTION_BELOW) {
        m->count = submodi_work_alloc(work, m->parts, sizeof *m->count);
    }
    TRY(submodi_work_status(work));
    submodi_run_parts(m->parts, n, find_range, m);
    *r = whole_range(m);
    choose_key(&m->s, n, *r);
    submodi_run_parts(m->parts, n, make_records, m);
    const source *s = &m->s;
    uint64_t *sorted = submodi_sort_records(m->record, m->spare, n, s->index_bits + s->spare_bits,
                                            s->key_bits - s->spare_bits, m->count, threads);
    m->spare = sorted == m->record ? m->spare : m->record;
    m->record = sorted;
    finish(m);
    return SUBMOD_OK;
}

submod_status submodi_sort_f64(const double *x, size_t n, submod_work *work, submodi_sorted *sorted)
{
    sorting m;
    range r;
    TRY(sort(x, NULL, n, work, &m, &r));
    *sorted = (submodi_sorted){m.record, m.s.index_bits, m.spare};
    return SUBMOD_OK;
}

submod_status submodi_sort_kinds(const double *x, size_t n, const uint32_t *mask, submod_work *work,
                                 submodi_sorted_kinds *kinds)
{
    sorting m;
    range r;
    TRY(sort(x, mask, n, work, &m, &r));
    size_t outside = 0, end = n; /* bisection: the first record of kind 1 is in outside .. end */
    while (outside < end) {
        size_t middle = outside + (end - outside) / 2;
        if (kind_of(mask, index_of(&m.s, m.record[middle]))) {
            end = middle;
        } else {
            outside = middle + 1;
        }
    }
    *kinds =
        (submodi_sorted_kinds){.low = r.low,
                               .high = r.high,
                               .count = {outside, n - outside},
                               .sorted = {{m.record, m.s.index_bits, m.spare},
                                          {m.record + outside, m.s.index_bits, m.spare + outside}}};
    return SUBMOD_OK;
}

/* ---- public ---- */

typedef struct indices {
    submodi_sorted sorted;
    int32_t *order;
} indices;

static void write_indices(void *to, size_t part, size_t begin, size_t end)
{
    const submodi_sorted sorted = ((const indices *)to)->sorted; /* a copy stays in registers */
    int32_t *order = ((const indices *)to)->order;
    (void)part;
    for (size_t i = begin; i < end; i++) {
        order[i] = submodi_sorted_index(&sorted, i);
    }
}

static submod_status argsort(const double *x, size_t n, int32_t *order, submod_work *w)
{
    if (n > INT32_MAX) {
        return submodi_fail(SUBMOD_EINVAL, "n = %zu must be at most 2^31 - 1", n);
    }
    if (n == 0) {
        return SUBMOD_OK;
    }
    TRY(submodi_check_given("x", x));
    TRY(submodi_check_given("order", order));
    TRY(submodi_check_finite("x", x, n));
    indices to = {.order = order};
    TRY(submodi_sort_f64(x, n, w, &to.sorted));
    submodi_run_parts((size_t)submodi_threads_for(n), n, write_indices, &to);
    return SUBMOD_OK;
}

submod_status submod_argsort(const double *x, size_t n, int32_t *order, submod_work *work)
{
    submodi_scope scope;
    submod_status status = argsort(x, n, order, submodi_scope_open(&scope, work));
    submodi_scope_close(&scope);
    return submodi_return("submod_argsort", status);
}
