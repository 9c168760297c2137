/* Functions of counts: F(A) = F(a, b) of a measure (submod/measure.h), a and b the foreground and
 * the background of A, each element counted once or with its weight.
 *
 * Increments of built-in measures have closed forms (measure_internal.h); increments of custom ones
 * are differences. eval, chain and tied O(k), gain O(1), minimize O(k log k), all times the cost of
 * the measure. State: the counts, and F there. Weights are rounded so that their sums are exact. */
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "base/sort.h"
#include "submod/fn_internal.h"

#include "submod/measure_internal.h"
#include "submod/monge.h"

/* The state. */
typedef struct counted {
    double a, b;
    double value; /* F(a, b); custom measures only */
} counted;

static bool is_custom(const submodi_counts *c)
{
    return c->measure.type == SUBMOD_MEASURE_CUSTOM;
}

static void add(const submodi_counts *c, counted *at, const int32_t *set, size_t k)
{
    double sum[2] = {at->b, at->a};
    submodi_add_weights(c->weight, c->foreground, set, k, sum);
    at->b = sum[0];
    at->a = sum[1];
}

/* Computes F at count pairs of counts. */
static submod_status values_at(const submodi_counts *c, size_t count, const double *a,
                               const double *b, double *F)
{
    size_t bad = submodi_measure_evaluate(&c->measure, count, a, b, c->P, c->N, F);
    if (bad == count) {
        return SUBMOD_OK;
    }
    const submodi_measure_failure failure = {true, a[bad], b[bad], c->P, c->N, F[bad]};
    return submodi_measure_failed(&failure);
}

static submod_status value_at(const submodi_counts *c, counted at, double *value)
{
    return values_at(c, 1, &at.a, &at.b, value);
}

static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    counted at = {0};
    add(ctx, &at, set, k);
    return value_at(ctx, at, value);
}

static submod_status reset(const void *ctx, void *state)
{
    counted *at = state;
    *at = (counted){0};
    return is_custom(ctx) ? value_at(ctx, *at, &at->value) : SUBMOD_OK;
}

/* ---- chain: Algorithm 1 of the paper, "Gradient of the Jaccard loss extension" ----
 *
 * Line 1, the decreasing sort permutation pi, and line 9, which undoes it, are the caller's
 * (lovasz.c): `elements` come in the order pi, and gains stay in it. Counts before the chain let it
 * continue any set. With a = cumulative_sum(delta_pi) and b = cumulative_sum(1 - delta_pi) the
 * paper's intersection is P - a and its union is P + b. */

/* For any measure; each element counts with its weight. Differences of lines 6 to 8 are increments
 * in closed form for built-in measures. */
static submod_status algorithm_1(const submodi_counts *c, counted *state, const int32_t *elements,
                                 size_t p, double *g)
{
    enum { BATCH = 256 };
    double a[BATCH], b[BATCH], F[BATCH];
    counted at = *state; /* a local copy is faster */
    const submodi_form form = submodi_form_of(&c->measure);
    for (size_t count; p; p -= count, elements += count, g += count) {
        count = p < BATCH ? p : BATCH;
        for (size_t i = 0; i < count; i++) {
            double w = submodi_element_weight(c, elements[i]);
            bool delta = submodi_in_foreground(c, elements[i]); /* 2 */
            if (!is_custom(c)) {                                /* 5 to 8 */
                g[i] = w > 0 ? w * submodi_form_gain(form, c->P, c->N, at.a, at.b, w, !delta) : 0;
            }
            a[i] = at.a += delta ? w : 0; /* 3 */
            b[i] = at.b += delta ? 0 : w; /* 4 */
        }
        TRY(is_custom(c) ? values_at(c, count, a, b, F) : SUBMOD_OK); /* 5 */
        for (size_t i = 0; is_custom(c) && i < count; i++) {          /* 6 to 8 */
            g[i] = F[i] - at.value;
            at.value = F[i];
        }
    }
    *state = at;
    return SUBMOD_OK;
}

/* Lines 2 to 8 for Jaccard without weights, P + b > 0, in whole numbers. The differences of lines 6
 * to 8 have closed forms, which do not cancel:
 *
 *     foreground   1 / union
 *     background   intersection / (union (union + 1))
 *
 * It does not branch on the labels, which are unpredictable in sorted order. */
static counted chain_jaccard(const submodi_counts *c, counted at, const int32_t *elements, size_t k,
                             double *gains)
{
    int64_t P = (int64_t)c->P;
    int64_t I = P - (int64_t)at.a;
    int64_t U = P + (int64_t)at.b;
    for (size_t i = 0; i < k; i++) {
        int64_t delta = submodi_in_foreground(c, elements[i]); /* line 2 */
        int64_t if_background = delta - 1;                     /* all bits or none */
        int64_t numerator = delta + (I & if_background);
        int64_t denominator = U * (1 + (U & if_background));
        gains[i] = (double)numerator / (double)denominator; /* lines 5 to 8 */
        I -= delta;                                         /* line 3 */
        U += 1 - delta;                                     /* line 4 */
    }
    return (counted){.a = (double)(P - I), .b = (double)(U - P)};
}

/* Chains one part per thread: counts all parts, then chains each from the counts before it. */
static counted chain_jaccard_parallel(const submodi_counts *c, counted at, const int32_t *elements,
                                      size_t k, double *gains, int threads)
{
    enum { MAX_PARTS = 256 };
    counted before[MAX_PARTS + 1] = {at};
    size_t parts = threads < MAX_PARTS ? (size_t)threads : MAX_PARTS;
#pragma omp parallel num_threads(threads)
    {
#pragma omp for
        for (size_t p = 0; p < parts; p++) {
            size_t begin = k * p / parts;
            add(c, &before[p + 1], elements + begin, k * (p + 1) / parts - begin);
        }
#pragma omp single
        for (size_t p = 0; p < parts; p++) {
            before[p + 1].a += before[p].a;
            before[p + 1].b += before[p].b;
        }
#pragma omp for
        for (size_t p = 0; p < parts; p++) {
            size_t begin = k * p / parts, end = k * (p + 1) / parts;
            chain_jaccard(c, before[p], elements + begin, end - begin, gains + begin);
        }
    }
    return before[parts];
}

static submod_status chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                           double *gains)
{
    const submodi_counts *c = ctx;
    counted *at = state;
    if (c->measure.type != SUBMOD_MEASURE_JACCARD || c->weight) {
        return algorithm_1(c, at, elements, k, gains);
    }
    if (k && c->P + at->b == 0) { /* no foreground: only the first pixel has a gain */
        TRY(algorithm_1(c, at, elements++, 1, gains++));
        k--;
    }
    int threads = submodi_threads_for(k);
    *at = threads == 1 ? chain_jaccard(c, *at, elements, k, gains)
                       : chain_jaccard_parallel(c, *at, elements, k, gains, threads);
    return SUBMOD_OK;
}

/* Computes the average gain for each of `more` units of weight of one label, and adds them. */
static submod_status advance(const submodi_counts *c, counted *at, double more, bool foreground,
                             double *each)
{
    const counted from = *at;
    *(foreground ? &at->a : &at->b) += more;
    if (is_custom(c)) {
        TRY(value_at(c, *at, &at->value));
        *each = more > 0 ? (at->value - from.value) / more : 0;
        return SUBMOD_OK;
    }
    const submodi_form form = submodi_form_of(&c->measure);
    *each = more > 0 ? submodi_form_gain(form, c->P, c->N, from.a, from.b, more, !foreground) : 0;
    return SUBMOD_OK;
}

static submod_status gain(const void *ctx, void *state, int32_t e, double *result)
{
    const submodi_counts *c = ctx;
    counted after = *(const counted *)state;
    double w = submodi_element_weight(c, e);
    TRY(advance(c, &after, w, submodi_in_foreground(c, e), result));
    *result *= w;
    return SUBMOD_OK;
}

/* Takes the foreground first and averages within each label, with weights per unit of weight. */
static submod_status tied(const void *ctx, void *state, const int32_t *elements, size_t k,
                          double *gains)
{
    const submodi_counts *c = ctx;
    counted more = {0};
    double each[2];
    add(c, &more, elements, k);
    TRY(advance(c, state, more.a, true, &each[1]));
    TRY(advance(c, state, more.b, false, &each[0]));
    for (size_t i = 0; i < k; i++) {
        gains[i] =
            each[submodi_in_foreground(c, elements[i])] * submodi_element_weight(c, elements[i]);
    }
    return SUBMOD_OK;
}

/* ---- minimize ----
 *
 * The minimisers of F(base + A) - z(A) are prefixes of both labels (monge.h). The Monge search
 * finds them; Jaccard without weights needs only one sweep. */

/* Moves *rank to the next element of a label; returns its index, or -1 after the last one. */
static int32_t next_of(const submodi_prefix_search *p, bool label, size_t *rank)
{
    for (; *rank < p->count; ++*rank) {
        int32_t i = submodi_sorted_index(&p->sorted, *rank);
        if (submodi_label(p->foreground, p->elements[i]) == label) {
            return i;
        }
    }
    return -1;
}

/* For given b, a foreground pixel belongs to the minimiser iff z > 1 / (P + b). This threshold
 * falls with b, so a sweep over b with a second pointer over the foreground finds the best pair. */
static void sweep_jaccard(const submodi_prefix_search *p, double P, int largest, size_t chosen[2])
{
    size_t rank[2] = {0, 0};
    double a = p->base[1], b = p->base[0], fg_sum = 0, bg_sum = 0, bg_size = 0, minimum = INFINITY;
    double side = largest ? 1 : -1; /* on ties up to rounding chooses the larger or smaller set */
    for (int32_t i = 0; i >= 0; b++, rank[0]++) {
        double threshold = (1 - side * SUBMODI_ROUNDING) / (P + b);
        for (; (i = next_of(p, true, &rank[1])) >= 0 && p->z[i] >= threshold; rank[1]++) {
            fg_sum += p->z[i];
            a++;
        }
        double value = (a + b == 0 ? 0 : (a + b) / (P + b)) - fg_sum - bg_sum;
        double margin = side * SUBMODI_ROUNDING * (1 + fabs(fg_sum) + bg_size);
        if (isinf(minimum) || value < minimum + margin) {
            minimum = fmin(minimum, value);
            chosen[1] = (size_t)(a - p->base[1]);
            chosen[0] = (size_t)(b - p->base[0]);
        }
        i = next_of(p, false, &rank[0]);
        bg_sum += i >= 0 ? p->z[i] : 0;
        bg_size += i >= 0 ? fabs(p->z[i]) : 0;
    }
}

/* Computes the sums over the prefixes of both labels, elements with weights alone. */
static submod_status add_up(const submodi_prefix_search *p, submodi_prefix_sums sums[2],
                            submod_work *w)
{
    double *amount[2], *sum[2];
    for (int label = 0; label < 2; label++) {
        amount[label] = submodi_work_alloc(w, p->count + 1, sizeof(double));
        sum[label] = submodi_work_alloc(w, p->count + 1, sizeof(double));
        TRY(submodi_work_status(w));
        amount[label][0] = p->base[label];
        sum[label][0] = 0;
        sums[label] = (submodi_prefix_sums){
            .amount = p->weight ? amount[label] : NULL, .first = p->base[label], .sum = sum[label]};
    }
    for (size_t rank = 0; rank < p->count; rank++) {
        int32_t i = submodi_sorted_index(&p->sorted, rank), e = p->elements[i];
        double weight = p->weight ? p->weight[e] : 1;
        int label = submodi_label(p->foreground, e);
        if (weight > 0) {
            size_t k = sums[label].count++;
            amount[label][k + 1] = amount[label][k] + weight;
            sum[label][k + 1] = sum[label][k] + p->z[i];
        }
    }
    return SUBMOD_OK;
}

static submod_status choose(const submodi_prefix_search *p, int largest, size_t chosen[2],
                            submod_work *w)
{
    const submodi_counts *c = p->ctx;
    submodi_increment from;
    submodi_prefix_sums sums[2];
    submodi_lattice_point found;
    uint64_t evaluations = 0;
    if (c->measure.type == SUBMOD_MEASURE_JACCARD && !c->weight) {
        sweep_jaccard(p, c->P, largest, chosen);
        return SUBMOD_OK;
    }
    TRY(add_up(p, sums, w));
    TRY(submodi_increment_from(&c->measure, c->P, c->N, p->base[1], p->base[0], &from));
    TRY(submodi_monge_minimum(&from, &sums[1], &sums[0], largest, &found, &evaluations, w));
    chosen[0] = found.bg;
    chosen[1] = found.fg;
    return SUBMOD_OK;
}

/* P = 0: F jumps to 1 with the first pixel and stays there. */
static submod_status minimize_without_foreground(const void *ctx, const submod_minor *minor,
                                                 const double *z, uint8_t *smallest,
                                                 uint8_t *largest, double *s)
{
    (void)ctx, (void)s;
    double positive = 0;
    for (size_t i = 0; i < minor->nground; i++) {
        positive += z[i] > 0 ? z[i] : 0; /* fmax would be a call */
    }
    double cost = minor->nbase ? 0 : 1, margin = cost * SUBMODI_ROUNDING * (1 + positive);
    bool take[2] = {positive > cost + margin, positive >= cost - margin};
    for (size_t i = 0; i < minor->nground; i++) {
        if (smallest) {
            smallest[i] = take[0] && z[i] > 0;
        }
        if (largest) {
            largest[i] = take[1] && z[i] >= 0;
        }
    }
    return SUBMOD_OK;
}

static submodi_prefix_search search_of(const submodi_counts *c)
{
    return (submodi_prefix_search){
        .choose = choose, .ctx = c, .weight = c->weight, .foreground = c->foreground};
}

static submod_status minimize(const void *ctx, const submod_minor *minor, const double *z,
                              uint8_t *smallest, uint8_t *largest, double *s)
{
    (void)s;
    return submodi_minimize_prefixes(search_of(ctx), minor, z, smallest, largest);
}

static submod_status minimize_parts(const void *ctx, const int32_t *order, const int32_t *rank,
                                    const submodi_part *parts, size_t nparts, const double *z,
                                    uint8_t *in)
{
    (void)rank;
    return submodi_minimize_prefix_parts(search_of(ctx), order, parts, nparts, z, in);
}

/* ---- ties that F separates ----
 *
 * Elements of a level interact through second differences of F. Those in ab are <= 0, so they all
 * vanish iff their sum over the level does, a difference of four values; and then those in aa do
 * not depend on b, nor those in bb on a. */

/* Pairs of elements that may interact: in the background, in the foreground, across labels. */
enum { BACKGROUND, FOREGROUND, ACROSS, INTERACTIONS };

static void interactions_of_tversky(const submodi_counts *c, counted at, counted more,
                                    bool found[INTERACTIONS])
{
    bool jaccard = c->measure.type == SUBMOD_MEASURE_JACCARD;
    bool first = c->P + at.b <= 0; /* no foreground at all: only the first pixels count */
    found[BACKGROUND] = (jaccard || c->measure.alpha > 0) && (first || c->P > at.a);
    found[FOREGROUND] = !jaccard && c->measure.beta > 1;
    found[ACROSS] = found[BACKGROUND] && more.a > 0 && more.b > 0;
}

/* Compares F half way from `at` to `more` further counts of one label with the interpolation of F
 * between both ends. */
static submod_status interacts(const submodi_counts *c, counted at, counted more, double noise,
                               bool *yes)
{
    double total = more.a + more.b, F[3] = {0};
    double half = c->weight ? total / 2 : floor(total / 2);
    const double share[] = {0, total > 0 ? half / total : 0, 1};
    for (int i = 0; i < 3 && half > 0; i++) {
        counted then = {.a = at.a + share[i] * more.a, .b = at.b + share[i] * more.b};
        TRY(value_at(c, then, &F[i]));
    }
    *yes = fabs((F[1] - F[0]) - share[1] * (F[2] - F[0])) > noise;
    return SUBMOD_OK;
}

static submod_status interactions_of_custom(const submodi_counts *c, counted at, counted more,
                                            bool found[INTERACTIONS])
{
    double F[4], scale = 0;
    for (int i = 0; i < 4; i++) {
        counted then = {.a = at.a + more.a * (i & 1), .b = at.b + more.b * (i >> 1)};
        TRY(value_at(c, then, &F[i]));
        scale = fmax(scale, fabs(F[i]));
    }
    double noise = 16 * SUBMODI_ROUNDING * scale;
    found[ACROSS] = fabs((F[3] - F[1]) - (F[2] - F[0])) > noise;
    TRY(interacts(c, at, (counted){.a = more.a}, noise, &found[FOREGROUND]));
    return interacts(c, at, (counted){.b = more.b}, noise, &found[BACKGROUND]);
}

/* Joins the elements of a level that have weights and take part in an interaction. */
static void join_interaction(const submodi_counts *c, const int32_t *level, size_t k, int which,
                             int32_t *forest)
{
    int32_t first = -1;
    for (size_t i = 0; i < k; i++) {
        bool meant = which == ACROSS || submodi_in_foreground(c, level[i]) == which;
        if (meant && submodi_element_weight(c, level[i]) > 0) {
            first = first < 0 ? level[i] : first;
            submodi_forest_join(forest, first, level[i]);
        }
    }
}

static submod_status join(const void *ctx, const submodi_ties *ties, int32_t *forest,
                          submod_work *work)
{
    (void)work;
    const submodi_counts *c = ctx;
    counted before = {0};
    for (size_t l = 0; l < ties->count; l++) {
        const int32_t *level = ties->order + ties->start[l];
        size_t k = ties->start[l + 1] - ties->start[l];
        counted more = {0};
        bool found[INTERACTIONS] = {false};
        add(c, &more, level, k);
        if (k > 1 && is_custom(c)) {
            TRY(interactions_of_custom(c, before, more, found));
        } else if (k > 1) {
            interactions_of_tversky(c, before, more, found);
        }
        for (int which = 0; which < INTERACTIONS; which++) {
            if (found[which]) {
                join_interaction(c, level, k, which, forest);
            }
        }
        before.a += more.a;
        before.b += more.b;
    }
    return SUBMOD_OK;
}

/* ---- Hamming: |A| / n ---- */

static submod_status hamming_eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const submodi_counts *c = ctx;
    (void)set;
    *value = (double)k / (c->P + c->N);
    return SUBMOD_OK;
}

static submod_status hamming_chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                                   double *gains)
{
    const submodi_counts *c = ctx;
    (void)state, (void)elements;
    for (size_t i = 0; i < k; i++) {
        gains[i] = 1 / (c->P + c->N);
    }
    return SUBMOD_OK;
}

static submod_status hamming_gain(const void *ctx, void *state, int32_t e, double *gain)
{
    return hamming_chain(ctx, state, &e, 1, gain);
}

static submod_status hamming_minimize(const void *ctx, const submod_minor *minor, const double *z,
                                      uint8_t *smallest, uint8_t *largest, double *s)
{
    const submodi_counts *c = ctx;
    double each = 1 / (c->P + c->N);
    for (size_t i = 0; i < minor->nground; i++) {
        if (smallest) {
            smallest[i] = z[i] > each;
        }
        if (largest) {
            largest[i] = z[i] >= each;
        }
        if (s) {
            s[i] = each - z[i];
        }
    }
    return SUBMOD_OK;
}

bool submodi_is_hamming(const submod_fn *fn)
{
    return fn->ops.eval == hamming_eval;
}

/* ---- constructors ---- */

const submodi_counts *submodi_counts_of(const submod_fn *fn)
{
    return fn->kind == SUBMODI_COUNTS ? fn->ctx : NULL;
}

static submod_status weight_sum(const double *weight, size_t n, double *sum)
{
    *sum = 0;
    for (size_t e = 0; e < n; e++) {
        *sum += weight[e];
    }
    return isfinite(2 * *sum) ? SUBMOD_OK
                              : submodi_fail(SUBMOD_ENUMERIC, "the sum of the weights overflows");
}

/* Copies weights rounded to multiples of a unit, chosen so that sums of up to n of them are exact
 * in any order. Built-in measures depend only on ratios of weights; scaling by a power of two to a
 * sum near 1 keeps squares of sums in the range of a double. */
static void copy_weights(double *to, const double *weight, size_t n, double sum, bool custom)
{
    double largest = 0;
    int exponent, scale;
    for (size_t e = 0; e < n; e++) {
        largest = fmax(largest, weight[e]);
    }
    (void)frexp(sum, &scale);
    (void)frexp(largest, &exponent);
    exponent += (int)submodi_bit_length(n - 1) - 52;
    double unit = ldexp(1, exponent > -1074 ? exponent : -1074);
    for (size_t e = 0; e < n; e++) {
        to[e] = ldexp(rint(weight[e] / unit) * unit, custom ? 0 : -scale);
    }
}

/* Makes a function of its mask and, behind it, its weights. foreground may be NULL. */
static submod_status new_counts(size_t n, const uint8_t *foreground, const double *weight,
                                double sum, const submod_measure *measure, submod_fn **fn)
{
    size_t words = n / 32 + 1;
    size_t mask = submodi_round_up(sizeof(submodi_counts) + words * sizeof(uint32_t));
    submodi_counts *c = submodi_alloc(mask + (weight ? n * sizeof *weight : 0), 1);
    if (!c) {
        return submodi_out_of_memory();
    }
    *c = (submodi_counts){.measure = *measure};
    memset(c->foreground, 0, words * sizeof *c->foreground);
    if (weight) {
        c->weight = (void *)((char *)c + mask);
        copy_weights(c->weight, weight, n, sum, is_custom(c));
    }
    for (size_t e = 0; e < n; e++) {
        uint32_t bit = foreground && foreground[e] != 0;
        c->foreground[e / 32] |= bit << e % 32;
        *(bit ? &c->P : &c->N) += submodi_element_weight(c, (int32_t)e);
    }
    bool jaccard = measure->type == SUBMOD_MEASURE_JACCARD && !weight;
    submod_fn f = {.ops = {.name = jaccard ? "jaccard" : "counts",
                           .eval = eval,
                           .state_size = sizeof(counted),
                           .reset = reset,
                           .gain = gain,
                           .chain = chain,
                           .tied = tied,
                           .minimize = minimize,
                           .destroy = submodi_free},
                   .kind = SUBMODI_COUNTS,
                   .calls_user_code = is_custom(c),
                   .minimize_parts = minimize_parts,
                   .join = join,
                   .ctx = c,
                   .n = n};
    if (jaccard && c->P == 0) {
        f.ops.minimize = minimize_without_foreground;
        f.minimize_parts = NULL;
    }
    if (measure->type == SUBMOD_MEASURE_HAMMING) {
        f.ops = (submod_fn_ops){.name = "hamming",
                                .eval = hamming_eval,
                                .gain = hamming_gain,
                                .chain = hamming_chain,
                                .tied = hamming_chain,
                                .minimize = hamming_minimize,
                                .destroy = submodi_free};
        f.modular = f.cardinality = true;
        f.minimize_parts = NULL;
        f.join = NULL;
    }
    return submodi_fn_new(&f, fn);
}

/* Hamming with weights is modular: w / (P + N). */
static submod_status weighted_hamming(size_t n, const double *weight, double sum, submod_fn **fn)
{
    double *share = submodi_alloc(n, sizeof *share);
    for (size_t e = 0; share && e < n; e++) {
        share[e] = sum > 0 ? weight[e] / sum : 0;
    }
    submod_status status = share ? submod_fn_modular(n, share, fn) : submodi_out_of_memory();
    submodi_free(share);
    return status;
}

static submod_status fn_counts(size_t n, const uint8_t *foreground, const double *weight,
                               const submod_measure *measure, submod_fn **fn)
{
    submod_measure m;
    double sum = 0;
    TRY(submodi_check_size(n, fn));
    TRY(submodi_check_given("foreground", foreground));
    TRY(submodi_read_measure("measure", measure, &m));
    if (weight) {
        TRY(submodi_check_all_nonnegative("weight", weight, n));
        TRY(weight_sum(weight, n, &sum));
    }
    if (m.type == SUBMOD_MEASURE_TVERSKY && m.alpha == 1 && m.beta == 1) {
        m = submod_jaccard();
    }
    return weight && m.type == SUBMOD_MEASURE_HAMMING
               ? weighted_hamming(n, weight, sum, fn)
               : new_counts(n, foreground, weight, sum, &m, fn);
}

submod_status submod_fn_counts(size_t n, const uint8_t *foreground, const double *weight,
                               const submod_measure *measure, submod_fn **fn)
{
    static const char who[] = "submod_fn_counts";
    return submodi_return(who, fn_counts(n, foreground, weight, measure, fn));
}

submod_status submod_fn_jaccard(size_t n, const uint8_t *foreground, submod_fn **fn)
{
    static const char who[] = "submod_fn_jaccard";
    return submodi_return(who, fn_counts(n, foreground, NULL, NULL, fn));
}

submod_status submod_fn_hamming(size_t n, submod_fn **fn)
{
    static const char who[] = "submod_fn_hamming";
    const submod_measure m = submod_hamming();
    submod_status status = submodi_check_size(n, fn);
    return submodi_return(who, status ? status : new_counts(n, NULL, NULL, 0, &m, fn));
}
