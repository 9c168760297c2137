/* From sorted records to what their pixels add (see weigh_loops.h). */
#include "loss/weigh_loops.h"

#include "loss/activation_loops.h"
#include "loss/tensors/float_bits.h"
#include "loss/tensors/vector.h"
#include "loss/weigh_chunk.h"

/* For each record of a chunk: what is ranked before its run, of the foreground and of the
 * background, and what the run counts for. */
typedef struct runs {
    double a[SUBMODI_CHUNK], b[SUBMODI_CHUNK], t[SUBMODI_CHUNK];
    bool ones; /* all t are 1 */
} runs;

/* By counts. All in doubles: then compilers vectorise it. */
static void count_runs(const submodi_chunk *x, submodi_rank_counts counts, runs *r)
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
static void weigh_runs(const submodi_chunk *x, submodi_rank_counts counts, const double *weight,
                       runs *r)
{
    double all[SUBMODI_CHUNK + 1], background[SUBMODI_CHUNK]; /* before each record */
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
static void find_ends(const submodi_chunk *x, const runs *r, double *a, double *b)
{
    for (size_t j = 0; j < x->n; j++) {
        double background = (double)(int32_t)(x->key[j] & 1);
        a[j] = r->a[j] + (background > 0 ? 0 : r->t[j]);
        b[j] = r->b[j] + (background > 0 ? r->t[j] : 0);
    }
}

/* What each record of a chunk adds, for a weight of 1, by what is before its run. What is true or
 * not is a double, too: then compilers vectorise it, in a copy for each type of measure. */
static inline void form_gains(const submodi_chunk *x, const runs *r, submodi_form form, double P,
                              double N, double *gain)
{
    for (size_t j = 0; j < x->n; j++) {
        double background = (double)(int32_t)(x->key[j] & 1);
        gain[j] = submodi_form_gain(form, P, N, r->a[j], r->b[j], r->t[j], background > 0);
    }
}

/* A custom measure is asked once per run. *F: its value before the chunk, and then after it. */
static bool custom_gains(const submodi_chunk *x, const runs *r, const submodi_rank_measure *m,
                         double *F, double *gain, submodi_measure_failure *failure)
{
    double a[SUBMODI_CHUNK], b[SUBMODI_CHUNK], value[SUBMODI_CHUNK + 1];
    size_t ends = x->n - x->ties;
    find_ends(x, r, a, b);
    submodi_chunk_drop_ties(x, a);
    submodi_chunk_drop_ties(x, b);
    value[0] = *F;
    if (!submodi_measure_values(m->how, m->unit, ends, a, b, m->P, m->N, value + 1, failure)) {
        return false;
    }
    for (size_t k = 0; k < ends; k++) {
        gain[k] = value[k + 1] - value[k];
    }
    submodi_chunk_repeat_ties(x, gain);
    for (size_t j = 0; !r->ones && j < x->n; j++) {
        gain[j] /= r->t[j];
    }
    *F = value[ends];
    return true;
}

static bool find_gains(const submodi_chunk *x, const runs *r, const submodi_rank_measure *m,
                       double *F, double *gain, submodi_measure_failure *failure)
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

/* Lanes are for speed: the sums are exact in any order. */
enum { VALUE_LANES = 8 };

typedef struct lanes {
    double coarse[VALUE_LANES], fine[VALUE_LANES];
} lanes;

static inline void add_value(double value, submodi_sum_grid by, size_t lane, lanes *to)
{
    double coarse = submodi_sum_round(value, by.coarse);
    to->coarse[lane] += coarse;
    to->fine[lane] += submodi_sum_round(value - coarse, by.fine);
}

static submodi_reproducible_sum add_lanes(const lanes *x)
{
    submodi_reproducible_sum total = {0, 0};
    for (size_t l = 0; l < VALUE_LANES; l++) {
        total = submodi_sum_join(total, (submodi_reproducible_sum){x->coarse[l], x->fine[l]});
    }
    return total;
}

/* What each run adds to the value, by its first record. */
static void add_values(const submodi_chunk *x, const runs *r, const double *gain, int32_t largest,
                       submodi_sum_grid by, lanes *to)
{
    double value[SUBMODI_CHUNK];
    for (size_t j = 0; j < x->n; j++) {
        double of_run = x->first[j] == (int32_t)j ? gain[j] * r->t[j] : 0;
        value[j] = of_run * error_of(x->key[j], largest);
    }
    lanes sum = *to;
    size_t j = 0;
    for (; j + VALUE_LANES <= x->n; j += VALUE_LANES) {
        for (size_t l = 0; l < VALUE_LANES; l++) {
            add_value(value[j + l], by, l, &sum);
        }
    }
    for (size_t l = 0; j + l < x->n; l++) {
        add_value(value[j + l], by, l, &sum);
    }
    *to = sum;
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
    double F;    /* custom: the measure by these counts */
    lanes value; /* so far */
    submodi_measure_failure *failure;
} weighing;

/* The weights of records lie where theirs will go. As in scatter. */
static void gather(const volatile uint64_t *record, const float *from, size_t n, float *weight)
{
    for (size_t j = 0; j < n; j++) {
        weight[j] = from[(uint32_t)record[j]];
    }
}

/* What the records of a chunk add for a weight of 1; they then count as ranked, and are in the
 * value. count: what they count for, NULL: all 1. */
static bool chunk_gains(const submodi_chunk *x, const double *count, weighing *w, double *gain)
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
    if (!find_gains(x, &r, w->measure, &w->F, gain, w->failure)) {
        return false;
    }
    add_values(x, &r, gain, w->largest, w->measure->values, &w->value);
    return true;
}

static void put_weights(const uint64_t *record, const submodi_chunk *x, const double *gain,
                        const weighing *w)
{
    const submodi_rank_out out = w->out;
    float weight[SUBMODI_CHUNK];
    for (size_t j = 0; j < x->n; j++) {
        weight[j] = weight_of(gain[j], x->key[j], &out);
    }
    scatter(record, weight, x->n, w->to);
}

/* Weighs the value and the gradient of each record. */
static bool weigh_chunk(const uint64_t *record, const submodi_chunk *x, weighing *w)
{
    double gain[SUBMODI_CHUNK];
    double count[SUBMODI_CHUNK] = {0}; /* compilers do not see that there are records */
    float weight[SUBMODI_CHUNK];
    gather(record, w->to, x->n, weight);
    for (size_t j = 0; j < x->n; j++) {
        count[j] = (double)weight[j];
    }
    if (!chunk_gains(x, count, w, gain)) {
        return false;
    }
    for (size_t j = 0; j < x->n; j++) {
        gain[j] *= count[j];
    }
    put_weights(record, x, gain, w);
    return true;
}

static bool count_chunk(const uint64_t *record, const submodi_chunk *x, weighing *w)
{
    double gain[SUBMODI_CHUNK];
    if (!chunk_gains(x, NULL, w, gain)) {
        return false;
    }
    put_weights(record, x, gain, w);
    return true;
}

static bool do_chunk(const uint64_t *record, size_t n, weighing *w)
{
    submodi_chunk x;
    for (size_t j = 0; j < n; j++) {
        x.key[j] = submodi_key_of(record[j]);
    }
    submodi_chunk_open(&x, n);
    if (submodi_rank_needs_order(w->measure->how)) {
        submodi_chunk_join(&x);
    }
    return w->out.weighted ? weigh_chunk(record, &x, w) : count_chunk(record, &x, w);
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
    const bool weighted = w->out.weighted;
    uint32_t key = submodi_key_of(record[0]);
    size_t length = 0;
    double t = 0;
    for (; length < n && submodi_key_of(record[length]) == key; length++) {
        t += weighted ? (double)w->to[(uint32_t)record[length]] : 1;
    }
    double gain;
    if (!run_gain(w, t, key & 1, &gain)) {
        return 0;
    }
    add_value(gain * t * error_of(key, w->largest), w->measure->values, 0, &w->value);
    for (size_t j = 0; j < length; j++) {
        float *to = &w->to[(uint32_t)record[j]];
        *to = weight_of(weighted ? gain * (double)*to : gain, key, &w->out);
    }
    return length;
}

static submodi_reproducible_sum weigh(const uint64_t *record, size_t n, submodi_rank_counts *before,
                                      const submodi_rank_measure *measure, int32_t largest,
                                      const submodi_rank_out *out, float *to,
                                      submodi_measure_failure *failure)
{
    weighing w = {.measure = measure,
                  .largest = largest,
                  .out = *out,
                  .to = to,
                  .before = *before,
                  .failure = failure};
    bool joins = submodi_rank_needs_order(measure->how);
    bool good = ask_custom(&w);
    for (size_t i = 0, length; good && i < n; i += length) {
        length = submodi_chunk_length(record + i, n - i, joins);
        if (length > 0) {
            good = do_chunk(record + i, length, &w);
        } else {
            length = do_run(record + i, n - i, &w);
            good = length > 0;
        }
    }
    *before = w.before;
    return add_lanes(&w.value);
}

const submodi_weigh_loops SUBMODI_TABLE(submodi_weighers) = {.weigh = weigh};
