/* Records and their weights (see rank_loops.h). */
#include "submod/losses/rank_loops.h"

#include <math.h>

#include "submod/losses/pointwise_vector.h"
#include "submod/losses/tile.h"

/* ---- errors ---- */

static inline v_int signed_errors_at(const submodi_rank_row *row, size_t i, v_float *least,
                                     v_float *most)
{
    v_int code = v_load_int(row->code + i);
    v_float v = v_load(row->v + i) * v_load(row->factor + i);
    v_mask foreground = v_equal(code, v_all_int(row->target));
    v_mask valid = v_below(code, v_all_int(row->classes));
    v_float error = v_max(v_select(foreground, 1.0F - v, row->bias + v), v_all(0));
    *least = v_min(*least, v_select(foreground, error, *least));
    *most = v_max(*most, v_select(valid, error, *most));
    v_float signed_error = v_from_bits(v_bits(error) | INT32_MIN);
    error = v_select(foreground, signed_error, error);
    return v_bits(v_select(valid, error, v_all(NAN)));
}

static inline void all_errors(const submodi_rank_row *row, bool stream, float *error,
                              submodi_rank_range *range)
{
    v_float least = v_from_bits(v_all_int(range->smallest));
    v_float most = v_from_bits(v_all_int(range->largest));
    for (size_t i = 0; i < row->width; i += V_LANES) {
        v_float e = v_from_bits(signed_errors_at(row, i, &least, &most));
        if (stream) {
            v_stream(error + i, e);
        } else {
            v_store(error + i, e);
        }
    }
    for (size_t l = 0; l < V_LANES; l++) { /* floats >= 0: as their bits */
        int32_t low = v_bits(least)[l];
        int32_t high = v_bits(most)[l];
        range->smallest = low < range->smallest ? low : range->smallest;
        range->largest = high > range->largest ? high : range->largest;
    }
}

static void errors(const submodi_rank_row *row, bool stream, float *error,
                   submodi_rank_range *range)
{
    submodi_rank_row r = *row;
    if (stream) {
        all_errors(&r, true, error, range);
        v_stream_end();
    } else {
        all_errors(&r, false, error, range);
    }
}

/* ---- records ---- */

/* So many vectors are looked at before the first branch (see histogram_loops.c). */
enum { BLOCK = 4, BLOCK_LANES = BLOCK * V_LANES };

/* Keys and places, before they become records. */
typedef struct list {
    size_t n;
    int32_t key[SUBMODI_TILE_MAX + SUBMODI_LANES], place[SUBMODI_TILE_MAX + SUBMODI_LANES];
} list;

static inline v_mask kept_of(v_int bits, const submodi_rank_limits *l)
{
    v_int size = bits & INT32_MAX;
    v_mask foreground = v_below(bits, v_all_int(0));
    v_mask above = v_below(v_all_int(l->background), size);
    v_mask from = v_below(v_all_int(l->foreground - 1), size);
    v_mask ignored = v_below(v_all_int(SUBMODI_NO_ERROR), size);
    return v_and_not(v_and_not(above, foreground) | (from & foreground), ignored);
}

static inline void append(v_int bits, v_mask kept, size_t i, int32_t largest, list *x)
{
    v_mask foreground = v_below(bits, v_all_int(0));
    v_float background = v_select(foreground, v_all(0), v_from_bits(v_all_int(1)));
    v_int key = (largest - (bits & INT32_MAX)) << 1 | v_bits(background);
    v_compress(kept, key, x->key + x->n);
    x->n += v_compress(kept, v_lane_numbers() + (int32_t)i, x->place + x->n);
}

/* What takes the place of errors: the weights of pixels that are kept, if they have any, else 0. */
static inline v_float left_of(v_mask kept, const float *weight)
{
    return weight ? v_select(kept, v_load(weight), v_all(0)) : v_all(0);
}

/* The last errors of a row, which do not fill a vector. */
static void append_rest(float *error, const float *weight, size_t i, size_t n,
                        const submodi_rank_limits *l, list *x)
{
    int32_t rest[V_LANES];
    float left[V_LANES];
    v_store_int(rest, v_bits(v_all(NAN)));
    memcpy(rest, error + i, (n - i) * sizeof *error);
    v_int bits = v_load_int(rest);
    v_mask kept = kept_of(bits, l);
    v_store(left, left_of(kept, weight ? weight + i : NULL));
    memcpy(error + i, left, (n - i) * sizeof *error);
    append(bits, kept, i, l->largest, x);
}

/* The compiler makes a copy with weights and one without. */
static inline void make_list(float *error, const float *weight, size_t n,
                             const submodi_rank_limits *limits, list *x)
{
    const submodi_rank_limits l = *limits;
    size_t i = 0;
    x->n = 0;
    for (; i + BLOCK_LANES <= n; i += BLOCK_LANES) {
        v_int bits[BLOCK];
        v_mask kept[BLOCK];
        for (size_t j = 0; j < BLOCK; j++) {
            size_t at = i + j * V_LANES;
            bits[j] = v_bits(v_load(error + at));
            kept[j] = kept_of(bits[j], &l);
            v_store(error + at, left_of(kept[j], weight ? weight + at : NULL));
        }
        if (v_any(kept[0] | kept[1] | kept[2] | kept[3])) {
            for (size_t j = 0; j < BLOCK; j++) {
                append(bits[j], kept[j], i + j * V_LANES, l.largest, x);
            }
        }
    }
    for (; i < n; i += V_LANES) {
        append_rest(error, weight, i, n - i < V_LANES ? n : i + V_LANES, &l, x);
    }
}

/* The compiler makes a copy for each number of digits. */
static inline void count_keys(const list *x, unsigned width, unsigned number, uint32_t *count)
{
    const uint32_t mask = (UINT32_C(1) << width) - 1;
    for (size_t j = 0; j < x->n; j++) {
        uint32_t key = (uint32_t)x->key[j];
        for (unsigned d = 0; d < number; d++) {
            count[(d << width) + (key >> d * width & mask)]++;
        }
    }
}

static void count_list(const list *x, const submodi_digits *d, uint32_t *count)
{
    switch (d->number) {
    case 1: count_keys(x, d->width, 1, count); break;
    case 2: count_keys(x, d->width, 2, count); break;
    case 3: count_keys(x, d->width, 3, count); break;
    default: count_keys(x, d->width, d->number, count); break;
    }
}

static size_t records(float *error, const float *weight, size_t n,
                      const submodi_rank_limits *limits, uint32_t offset, uint64_t *to,
                      const submodi_digits *digits, uint32_t *count)
{
    list x;
    if (weight) {
        make_list(error, weight, n, limits, &x);
    } else {
        make_list(error, NULL, n, limits, &x);
    }
    for (size_t j = 0; j < x.n; j++) {
        uint64_t key = (uint32_t)x.key[j];
        to[j] = key << SUBMODI_OFFSET_BITS | (offset + (uint32_t)x.place[j]);
    }
    if (digits) {
        count_list(&x, digits, count);
    }
    return x.n;
}

/* ---- weights ---- */

/* Records are weighed in chunks. A tied block, a run of equal keys, shares what it adds; a chunk
 * ends where a run ends. */
enum { CHUNK = 256, VALUE_LANES = 8 };

typedef struct chunk {
    size_t n;
    uint32_t key[CHUNK + SUBMODI_LANES];
    int32_t before[CHUNK]; /* background records of the chunk that come before the run */
    int32_t first[CHUNK];  /* where the run of a record begins */
    int32_t length[CHUNK]; /* of the run */
} chunk;

/* How many of the next records make a chunk: up to the end of a run; 0 if one run is longer. */
static size_t chunk_length(const uint64_t *record, size_t n)
{
    size_t length = n < CHUNK ? n : CHUNK;
    while (length < n && length > 0 &&
           submodi_key_of(record[length]) == submodi_key_of(record[length - 1])) {
        length--;
    }
    return length;
}

/* Keys, as if nothing were tied. */
static void open_chunk(const uint64_t *record, size_t n, chunk *x)
{
    int32_t background = 0;
    x->n = n;
    for (size_t j = 0; j < n; j++) {
        x->key[j] = submodi_key_of(record[j]);
        x->first[j] = (int32_t)j;
        x->length[j] = 1;
    }
    for (size_t j = 0; j < n; j++) {
        x->before[j] = background;
        background += (int32_t)(record[j] >> SUBMODI_OFFSET_BITS & 1);
    }
}

/* Where a key is that of the record before; their number. */
static size_t find_ties(const chunk *x, int32_t *tie)
{
    size_t ties = 0;
    for (size_t j = 1; j < x->n; j += V_LANES) {
        v_int lane = v_lane_numbers() + (int32_t)j;
        v_int key = v_load_int((const int32_t *)x->key + j);
        v_mask same = v_equal(key, v_load_int((const int32_t *)x->key + j - 1));
        ties += v_compress(same & v_below(lane, v_all_int((int32_t)x->n)), lane, tie + ties);
    }
    return ties;
}

static void join_runs(chunk *x)
{
    int32_t tie[CHUNK + SUBMODI_LANES];
    size_t ties = find_ties(x, tie);
    for (size_t k = 0; k < ties; k++) {
        int32_t j = tie[k];
        int32_t first = x->first[j - 1];
        x->first[j] = first;
        x->before[j] = x->before[first];
        if (k + 1 == ties || tie[k + 1] > j + 1) { /* the last of its run */
            for (int32_t i = first; i <= j; i++) {
                x->length[i] = j + 1 - first;
            }
        }
    }
}

/* For each record of a chunk: what is ranked before its run, of the foreground and of the
 * background, and what the run counts for. */
typedef struct runs {
    double a[CHUNK], b[CHUNK], t[CHUNK];
} runs;

/* By counts. All in doubles: then compilers vectorise it. */
static void count_runs(const chunk *x, submodi_rank_counts counts, runs *r)
{
    for (size_t j = 0; j < x->n; j++) {
        double before = (double)x->before[j];
        double first = (double)x->first[j];
        r->a[j] = counts.a + (first - before);
        r->b[j] = counts.b + before;
        r->t[j] = (double)x->length[j];
    }
}

/* By the weights of the records. Their sums are exact, and so are the differences of sums. */
static void weigh_runs(const chunk *x, submodi_rank_counts counts, const double *weight, runs *r)
{
    double all[CHUNK + 1], background[CHUNK]; /* before each record */
    double so_far = 0;
    double of_background = 0;
    for (size_t j = 0; j < x->n; j++) {
        all[j] = so_far;
        background[j] = of_background;
        so_far += weight[j];
        of_background += x->key[j] & 1 ? weight[j] : 0.0;
    }
    all[x->n] = so_far;
    for (size_t j = 0; j < x->n; j++) {
        int32_t first = x->first[j];
        r->a[j] = counts.a + (all[first] - background[first]);
        r->b[j] = counts.b + background[first];
        r->t[j] = all[first + x->length[j]] - all[first];
    }
}

/* What is ranked up to the end of a record's run. */
static submodi_rank_counts end_of(const chunk *x, const runs *r, size_t j)
{
    bool background = x->key[j] & 1;
    return (submodi_rank_counts){r->a[j] + (background ? 0 : r->t[j]),
                                 r->b[j] + (background ? r->t[j] : 0)};
}

/* What each record of a chunk adds, for a weight of 1, by what is before its run. What is true or
 * not is a double, too: then compilers vectorise it, in a copy for each type of measure. */
static inline void form_gains(const chunk *x, const runs *r, submodi_form form, double P, double N,
                              double *gain)
{
    for (size_t j = 0; j < x->n; j++) {
        double background = (double)(int32_t)(x->key[j] & 1);
        gain[j] = submodi_form_gain(form, P, N, r->a[j], r->b[j], r->t[j], background > 0);
    }
}

static bool is_last(const chunk *x, size_t j)
{
    return (size_t)(x->first[j] + x->length[j]) == j + 1;
}

/* A custom measure is asked once per run. *F: its value before the chunk, and then after it. */
static bool custom_gains(const chunk *x, const runs *r, const submodi_rank_measure *m, double *F,
                         double *gain, submodi_measure_failure *failure)
{
    double a[CHUNK], b[CHUNK], value[CHUNK + 1];
    size_t ends = 0;
    for (size_t j = 0; j < x->n; j++) {
        if (is_last(x, j)) {
            submodi_rank_counts end = end_of(x, r, j);
            a[ends] = end.a;
            b[ends++] = end.b;
        }
    }
    value[0] = *F;
    if (!submodi_measure_values(m->how, m->unit, ends, a, b, m->P, m->N, value + 1, failure)) {
        return false;
    }
    for (size_t j = 0, run = 0; j < x->n; j++) {
        gain[j] = (value[run + 1] - value[run]) / r->t[j];
        run += is_last(x, j);
    }
    *F = value[ends];
    return true;
}

static bool find_gains(const chunk *x, const runs *r, const submodi_rank_measure *m, double *F,
                       double *gain, submodi_measure_failure *failure)
{
    const submodi_form jaccard = {SUBMOD_MEASURE_JACCARD, 0, 0};
    const submodi_form hamming = {SUBMOD_MEASURE_HAMMING, 0, 0};
    const submodi_form tversky = {SUBMOD_MEASURE_TVERSKY, m->how->alpha, m->how->beta};
    switch (m->how->type) {
    case SUBMOD_MEASURE_CUSTOM: return custom_gains(x, r, m, F, gain, failure);
    case SUBMOD_MEASURE_HAMMING: form_gains(x, r, hamming, m->P, m->N, gain); break;
    case SUBMOD_MEASURE_TVERSKY: form_gains(x, r, tversky, m->P, m->N, gain); break;
    default: form_gains(x, r, jaccard, m->P, m->N, gain); break;
    }
    return true;
}

static inline double error_of(uint32_t key, int32_t largest)
{
    return (double)submodi_from_bits((uint32_t)largest - (key >> 1));
}

/* Entry j of the value goes to lane j % VALUE_LANES: a fixed order for all instruction sets. */
static void add_values(const chunk *x, const double *gain, int32_t largest, double *value)
{
    size_t j = 0;
    for (; j + VALUE_LANES <= x->n; j += VALUE_LANES) {
        for (size_t l = 0; l < VALUE_LANES; l++) {
            value[l] += gain[j + l] * error_of(x->key[j + l], largest);
        }
    }
    for (size_t l = 0; j + l < x->n; l++) {
        value[l] += gain[j + l] * error_of(x->key[j + l], largest);
    }
}

static inline float weight_of(double gain, uint32_t key, const submodi_rank_out *out)
{
    float w = (float)(out->coefficient * gain);
    uint32_t sign = (~key & 1) << 31; /* of the foreground */
    return 0 + out->scale * submodi_from_bits(submodi_to_bits(w) ^ sign);
}

/* The records are read as volatile: else compilers make use of instructions that scatter, which
 * take longer. */
static void scatter(const volatile uint64_t *record, const float *weight, size_t n, float *to)
{
    for (size_t j = 0; j < n; j++) {
        to[(uint32_t)record[j]] = weight[j];
    }
}

/* Records on their way to weights. */
typedef struct weighing {
    const submodi_rank_measure *measure;
    int32_t largest;
    submodi_rank_out out;
    float *to;
    submodi_rank_counts before;
    double F;                  /* custom: the measure by these counts */
    double value[VALUE_LANES]; /* so far */
    submodi_measure_failure *failure;
} weighing;

/* The weights of records lie where theirs will go. As in scatter. */
static void gather(const volatile uint64_t *record, const float *from, size_t n, double *weight)
{
    for (size_t j = 0; j < n; j++) {
        weight[j] = (double)from[(uint32_t)record[j]];
    }
}

/* What the records of a chunk add: of weight 1, and then of theirs. */
static bool chunk_gains(const uint64_t *record, const chunk *x, weighing *w, double *gain)
{
    runs r;
    double weight[CHUNK];
    if (w->out.weighted) {
        gather(record, w->to, x->n, weight);
        weigh_runs(x, w->before, weight, &r);
    } else {
        count_runs(x, w->before, &r);
    }
    if (!find_gains(x, &r, w->measure, &w->F, gain, w->failure)) {
        return false;
    }
    for (size_t j = 0; w->out.weighted && j < x->n; j++) {
        gain[j] *= weight[j];
    }
    w->before = end_of(x, &r, x->n - 1);
    return true;
}

static bool weigh_chunk(const uint64_t *record, size_t n, weighing *w)
{
    const submodi_rank_out out = w->out;
    chunk x;
    double gain[CHUNK];
    float weight[CHUNK];
    open_chunk(record, n, &x);
    join_runs(&x);
    if (!chunk_gains(record, &x, w, gain)) {
        return false;
    }
    add_values(&x, gain, w->largest, w->value);
    for (size_t j = 0; j < x.n; j++) {
        weight[j] = weight_of(gain[j], x.key[j], &out);
    }
    scatter(record, weight, x.n, w->to);
    return true;
}

/* The value of a custom measure by what is ranked so far. */
static bool ask_custom(weighing *w)
{
    const submodi_rank_measure *m = w->measure;
    double a = w->before.a;
    double b = w->before.b;
    return m->how->type != SUBMOD_MEASURE_CUSTOM ||
           submodi_measure_values(m->how, m->unit, 1, &a, &b, m->P, m->N, &w->F, w->failure);
}

/* What each unit of a run adds; it then counts as ranked. */
static bool run_gain(weighing *w, double t, bool background, double *gain)
{
    const submodi_rank_measure *m = w->measure;
    submodi_rank_counts before = w->before;
    double F = w->F;
    w->before.a += background ? 0 : t;
    w->before.b += background ? t : 0;
    bool good = ask_custom(w);
    *gain = m->how->type == SUBMOD_MEASURE_CUSTOM
                ? (w->F - F) / t
                : submodi_form_gain(submodi_form_of(m->how), m->P, m->N, before.a, before.b, t,
                                    background);
    return good;
}

/* A run that is longer than a chunk, from record[0] on; its length, 0 if the measure fails. */
static size_t weigh_run(const uint64_t *record, size_t n, weighing *w)
{
    uint32_t key = submodi_key_of(record[0]);
    bool weighted = w->out.weighted;
    size_t length = 0;
    double t = 0;
    for (; length < n && submodi_key_of(record[length]) == key; length++) {
        t += weighted ? (double)w->to[(uint32_t)record[length]] : 1;
    }
    double gain;
    if (!run_gain(w, t, key & 1, &gain)) {
        return 0;
    }
    w->value[0] += gain * t * error_of(key, w->largest);
    for (size_t j = 0; j < length; j++) {
        float *to = &w->to[(uint32_t)record[j]];
        *to = weight_of(weighted ? gain * (double)*to : gain, key, &w->out);
    }
    return length;
}

static double weigh(const uint64_t *record, size_t n, submodi_rank_counts *before,
                    const submodi_rank_measure *measure, int32_t largest,
                    const submodi_rank_out *out, float *to, submodi_measure_failure *failure)
{
    weighing w = {.measure = measure,
                  .largest = largest,
                  .out = *out,
                  .to = to,
                  .before = *before,
                  .failure = failure};
    bool good = ask_custom(&w);
    for (size_t i = 0, length; good && i < n; i += length) {
        length = chunk_length(record + i, n - i);
        if (length > 0) {
            good = weigh_chunk(record + i, length, &w);
        } else {
            length = weigh_run(record + i, n - i, &w);
            good = length > 0;
        }
    }
    double total = 0;
    for (size_t l = 0; l < VALUE_LANES; l++) {
        total += w.value[l];
    }
    *before = w.before;
    return total;
}

const submodi_rank_loops SUBMODI_TABLE(submodi_ranks) = {
    .errors = errors, .records = records, .weigh = weigh};
