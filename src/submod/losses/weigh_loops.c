/* From sorted records to what their pixels add (see weigh_loops.h). */
#include "submod/losses/weigh_loops.h"

#include <string.h>

#include "base/float_bits.h"
#include "base/vector.h"
#include "submod/losses/activation_loops.h"
#include "submod/tensors/pixel_weights.h"

/* Records are weighed in chunks. A tied block, a run of equal keys, shares what it adds; a chunk
 * ends where a run ends. */
enum { CHUNK = 256, VALUE_LANES = 8 };

typedef struct chunk {
    size_t n;
    uint32_t key[CHUNK + SUBMODI_LANES];
    int32_t before[CHUNK]; /* background records of the chunk that come before the run */
    int32_t first[CHUNK];  /* where the run of a record begins */
    int32_t length[CHUNK]; /* of the run */
    size_t ties;
    int32_t tie[CHUNK + SUBMODI_LANES]; /* records with the key of the one before */
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

/* Where a key is that of the record before. */
static void find_ties(chunk *x)
{
    x->ties = 0;
    for (size_t j = 1; j < x->n; j += V_LANES) {
        v_int lane = v_lane_numbers() + (int32_t)j;
        v_int key = v_load_int((const int32_t *)x->key + j);
        v_mask same = v_equal(key, v_load_int((const int32_t *)x->key + j - 1));
        x->ties +=
            v_compress(same & v_below(lane, v_all_int((int32_t)x->n)), lane, x->tie + x->ties);
    }
}

static void join_runs(chunk *x)
{
    find_ties(x);
    for (size_t k = 0; k < x->ties; k++) {
        int32_t j = x->tie[k];
        int32_t first = x->first[j - 1];
        x->first[j] = first;
        x->before[j] = x->before[first];
        if (k + 1 == x->ties || x->tie[k + 1] > j + 1) { /* the last of its run */
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
    bool ones; /* all t are 1 */
} runs;

/* By counts. All in doubles: then compilers vectorise it. */
static void count_runs(const chunk *x, submodi_rank_counts counts, runs *r)
{
    r->ones = x->ties == 0;
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
    r->ones = false;
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

/* What is ranked up to the end of each record's run. */
static void find_ends(const chunk *x, const runs *r, double *a, double *b)
{
    for (size_t j = 0; j < x->n; j++) {
        double background = (double)(int32_t)(x->key[j] & 1);
        a[j] = r->a[j] + (background > 0 ? 0 : r->t[j]);
        b[j] = r->b[j] + (background > 0 ? r->t[j] : 0);
    }
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

/* Where the records that follow tie k end: at the next tie. */
static size_t stretch_end(const chunk *x, size_t k)
{
    return k + 1 < x->ties ? (size_t)x->tie[k + 1] : x->n;
}

/* From a number per record to one per run. */
static void drop_ties(const chunk *x, double *number)
{
    for (size_t k = 0; k < x->ties; k++) {
        size_t end = stretch_end(x, k);
        for (size_t j = (size_t)x->tie[k] + 1; j < end; j++) {
            number[j - k - 1] = number[j];
        }
    }
}

/* And back. */
static void repeat_ties(const chunk *x, double *number)
{
    for (size_t k = x->ties; k-- > 0;) {
        for (size_t j = stretch_end(x, k); j-- > (size_t)x->tie[k];) {
            number[j] = number[j - k - 1];
        }
    }
}

/* A custom measure is asked once per run. *F: its value before the chunk, and then after it. */
static bool custom_gains(const chunk *x, const runs *r, const submodi_rank_measure *m, double *F,
                         double *gain, submodi_measure_failure *failure)
{
    double a[CHUNK], b[CHUNK], value[CHUNK + 1];
    size_t ends = x->n - x->ties;
    find_ends(x, r, a, b);
    drop_ties(x, a);
    drop_ties(x, b);
    value[0] = *F;
    if (!submodi_measure_values(m->how, m->unit, ends, a, b, m->P, m->N, value + 1, failure)) {
        return false;
    }
    for (size_t k = 0; k < ends; k++) {
        gain[k] = value[k + 1] - value[k];
    }
    repeat_ties(x, gain);
    for (size_t j = 0; !r->ones && j < x->n; j++) {
        gain[j] /= r->t[j];
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

/* Entry j of the value goes to lane j % VALUE_LANES: a fixed order for all instruction sets. The
 * lanes stay in registers on the way. */
static void add_values(const chunk *x, const double *gain, int32_t largest, double *value)
{
    double lane[VALUE_LANES];
    size_t j = 0;
    memcpy(lane, value, sizeof lane);
    for (; j + VALUE_LANES <= x->n; j += VALUE_LANES) {
        for (size_t l = 0; l < VALUE_LANES; l++) {
            lane[l] += gain[j + l] * error_of(x->key[j + l], largest);
        }
    }
    for (size_t l = 0; j + l < x->n; l++) {
        lane[l] += gain[j + l] * error_of(x->key[j + l], largest);
    }
    memcpy(value, lane, sizeof lane);
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
static void gather(const volatile uint64_t *record, const float *from, size_t n, float *weight)
{
    for (size_t j = 0; j < n; j++) {
        weight[j] = from[(uint32_t)record[j]];
    }
}

/* What the records of a chunk add for a weight of 1; they then count as ranked. count: what they
 * count for, NULL: all 1. */
static bool chunk_gains(const chunk *x, const double *count, weighing *w, double *gain)
{
    runs r;
    if (count) {
        weigh_runs(x, w->before, count, &r);
    } else {
        count_runs(x, w->before, &r);
    }
    if (x->n > 0) { /* as always */
        size_t last = x->n - 1;
        bool background = x->key[last] & 1;
        w->before.a = r.a[last] + (background ? 0 : r.t[last]);
        w->before.b = r.b[last] + (background ? r.t[last] : 0);
    }
    return find_gains(x, &r, w->measure, &w->F, gain, w->failure);
}

static void put_weights(const uint64_t *record, const chunk *x, const double *gain,
                        const weighing *w)
{
    const submodi_rank_out out = w->out;
    float weight[CHUNK];
    for (size_t j = 0; j < x->n; j++) {
        weight[j] = weight_of(gain[j], x->key[j], &out);
    }
    scatter(record, weight, x->n, w->to);
}

/* The value by what records count for, the gradient by their weights as they are. */
static bool weigh_chunk(const uint64_t *record, const chunk *x, weighing *w)
{
    double gain[CHUNK];
    double count[CHUNK] = {0}; /* compilers do not see that there are records */
    double of_count[CHUNK] = {0};
    float weight[CHUNK];
    gather(record, w->to, x->n, weight);
    for (size_t j = 0; j < x->n; j++) {
        count[j] = submodi_rounded_weight(weight[j], w->out.rounder);
    }
    if (!chunk_gains(x, count, w, gain)) {
        return false;
    }
    for (size_t j = 0; j < x->n; j++) {
        of_count[j] = gain[j] * count[j];
        gain[j] *= (double)weight[j];
    }
    add_values(x, of_count, w->largest, w->value);
    put_weights(record, x, gain, w);
    return true;
}

static bool count_chunk(const uint64_t *record, const chunk *x, weighing *w)
{
    double gain[CHUNK];
    if (!chunk_gains(x, NULL, w, gain)) {
        return false;
    }
    add_values(x, gain, w->largest, w->value);
    put_weights(record, x, gain, w);
    return true;
}

static bool do_chunk(const uint64_t *record, size_t n, weighing *w)
{
    chunk x;
    open_chunk(record, n, &x);
    join_runs(&x);
    return w->out.rounder > 0 ? weigh_chunk(record, &x, w) : count_chunk(record, &x, w);
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
static size_t do_run(const uint64_t *record, size_t n, weighing *w)
{
    const double rounder = w->out.rounder;
    uint32_t key = submodi_key_of(record[0]);
    size_t length = 0;
    double t = 0;
    for (; length < n && submodi_key_of(record[length]) == key; length++) {
        float weight = w->to[(uint32_t)record[length]];
        t += rounder > 0 ? submodi_rounded_weight(weight, rounder) : 1;
    }
    double gain;
    if (!run_gain(w, t, key & 1, &gain)) {
        return 0;
    }
    w->value[0] += gain * t * error_of(key, w->largest);
    for (size_t j = 0; j < length; j++) {
        float *to = &w->to[(uint32_t)record[j]];
        *to = weight_of(rounder > 0 ? gain * (double)*to : gain, key, &w->out);
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
            good = do_chunk(record + i, length, &w);
        } else {
            length = do_run(record + i, n - i, &w);
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

const submodi_weigh_loops SUBMODI_TABLE(submodi_weighers) = {.weigh = weigh};
