/* Functions of two counts: F(A) = F(a, b), a and b the foreground and the background of A, each
 * element counted once or with its weight (submod/measure.h).
 *
 * Increments of built-in measures have closed forms (measures/gain.h); those of custom ones are
 * differences. eval O(k); push, gain O(1); chain, tied O(k); minimize O(k log k); all times the
 * cost of the measure. State: the counts, and F there.
 *
 * Jaccard and Hamming without weights are made by their own constructors: a chain of a million
 * elements takes the Jaccard function 0.55 of the time that Tversky's form of the same function
 * takes here (4.9 and 8.9 ms). */
#include "submod/functions/two_counts.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "submod/inseparable.h"
#include "submod/measures/values.h"

typedef submodi_two_counts two_counts;

typedef submodi_wrong counts;

static bool is_custom(const two_counts *t)
{
    return t->measure.type == SUBMOD_MEASURE_CUSTOM;
}

/* Sums of weights may pass P and N by rounding; a measure need not expect that. */
static double clamped(double count, double all)
{
    return count < all ? count : all;
}

static submod_status value_at(const two_counts *t, counts c, double *value)
{
    double a = clamped(c.a, t->P);
    double b = clamped(c.b, t->N);
    *value = submodi_measure_value(&t->measure, a, b, t->P, t->N);
    return isfinite(*value)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ECALLBACK,
                              "the measure gave %g for a = %g, b = %g of P = %g, N = %g; it must "
                              "be finite",
                              *value, a, b, t->P, t->N);
}

static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const two_counts *t = ctx;
    counts c = {0};
    submodi_add_wrong(t, &c, set, k);
    return value_at(t, c, value);
}

static submod_status reset(const void *ctx, void *state)
{
    const two_counts *t = ctx;
    counts *c = state;
    *c = (counts){0};
    return is_custom(t) ? value_at(t, *c, &c->value) : SUBMOD_OK;
}

/* Moves c on by `more` of one kind; *each: what one unit of it adds on average. */
static submod_status move_on(const two_counts *t, counts *c, double more, bool foreground,
                             double *each)
{
    submod_status status = SUBMOD_OK;
    if (!is_custom(t)) {
        *each = more > 0 ? submodi_form_gain(submodi_form_of(&t->measure), t->P, t->N,
                                             clamped(c->a, t->P), c->b, more, !foreground)
                         : 0;
    }
    *(foreground ? &c->a : &c->b) += more;
    if (is_custom(t)) {
        double before = c->value;
        status = value_at(t, *c, &c->value);
        *each = more > 0 ? (c->value - before) / more : 0;
    }
    return status;
}

static submod_status push(const void *ctx, void *state, int32_t e, double *result)
{
    const two_counts *t = ctx;
    double w = submodi_element_weight(t, e);
    submod_status status = move_on(t, state, w, submodi_in_foreground(t, e), result);
    *result *= w;
    return status;
}

static submod_status gain(const void *ctx, void *state, int32_t e, double *result)
{
    counts after = *(const counts *)state;
    return push(ctx, &after, e, result);
}

static submod_status chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                           double *gains)
{
    counts c = *(const counts *)state;
    submod_status status = SUBMOD_OK;
    for (size_t i = 0; status == SUBMOD_OK && i < k; i++) {
        status = push(ctx, &c, elements[i], &gains[i]);
    }
    *(counts *)state = c;
    return status;
}

/* The foreground first, each kind averaged. With weights every unit of weight gets the same. */
static submod_status tied(const void *ctx, void *state, const int32_t *elements, size_t k,
                          double *gains)
{
    const two_counts *t = ctx;
    counts more = {0};
    double each[2];
    submodi_add_wrong(t, &more, elements, k);
    submod_status status = move_on(t, state, more.a, true, &each[1]);
    status = status ? status : move_on(t, state, more.b, false, &each[0]);
    for (size_t i = 0; status == SUBMOD_OK && i < k; i++) {
        gains[i] =
            each[submodi_in_foreground(t, elements[i])] * submodi_element_weight(t, elements[i]);
    }
    return status;
}

/* ---- which elements hold together ----
 *
 * Elements of a level interact through second differences of F. Those in ab are <= 0, so they all
 * vanish iff their sum over the level does, a difference of four values; and then those in aa do
 * not depend on b, nor those in bb on a. */

typedef struct curvature {
    bool within_fg, within_bg, across;
} curvature;

static curvature curvature_of_tversky(double P, double alpha, double beta, counts c, counts more)
{
    bool first = P + c.b <= 0;            /* no foreground at all: only the first pixels count */
    bool some_left = P - c.a > 1e-12 * P; /* sums of weights may miss P by rounding */
    bool bends = alpha > 0 && (first || some_left);
    return (curvature){
        .within_fg = beta > 1, .within_bg = bends, .across = bends && more.a > 0 && more.b > 0};
}

/* Whether F bends where one of its counts goes from c to c + more: less than linear in between. */
static submod_status bends(const two_counts *t, counts c, counts more, double noise, bool *yes)
{
    double total = more.a + more.b;
    double part = t->weight ? total / 2 : floor(total / 2);
    double share = total > 0 ? part / total : 0;
    double F[3] = {0};
    submod_status status = SUBMOD_OK;
    const double at[3] = {0, share, 1};
    for (int i = 0; i < 3 && status == SUBMOD_OK && share > 0; i++) {
        status = value_at(t, (counts){c.a + at[i] * more.a, c.b + at[i] * more.b, 0}, &F[i]);
    }
    *yes = fabs((F[1] - F[0]) - share * (F[2] - F[0])) > noise;
    return status;
}

static submod_status curvature_of_custom(const two_counts *t, counts c, counts more,
                                         curvature *found)
{
    double F[4];
    double scale = 0;
    submod_status status = SUBMOD_OK;
    for (int i = 0; i < 4 && status == SUBMOD_OK; i++) {
        status = value_at(t, (counts){c.a + more.a * (i & 1), c.b + more.b * (i >> 1), 0}, &F[i]);
        scale = status ? scale : fmax(scale, fabs(F[i]));
    }
    double noise = 16 * SUBMODI_ROUNDING * scale;
    if (status == SUBMOD_OK) {
        found->across = fabs((F[3] - F[1]) - (F[2] - F[0])) > noise;
        status = bends(t, c, (counts){.a = more.a}, noise, &found->within_fg);
    }
    return status ? status : bends(t, c, (counts){.b = more.b}, noise, &found->within_bg);
}

static submod_status curvature_at(const two_counts *t, counts c, counts more, curvature *found)
{
    const submod_measure *m = &t->measure;
    if (is_custom(t)) {
        return curvature_of_custom(t, c, more, found);
    }
    bool jaccard = m->type == SUBMOD_MEASURE_JACCARD;
    *found = curvature_of_tversky(t->P, jaccard ? 1 : m->alpha, jaccard ? 1 : m->beta, c, more);
    return SUBMOD_OK;
}

/* Joins what weighs something of one kind; kind 2: of both. */
static void join_kind(const two_counts *t, const int32_t *level, size_t k, int kind,
                      int32_t *forest)
{
    int32_t first = -1;
    for (size_t i = 0; i < k; i++) {
        bool meant = kind == 2 || submodi_in_foreground(t, level[i]) == kind;
        if (meant && submodi_element_weight(t, level[i]) > 0) {
            first = first < 0 ? level[i] : first;
            submodi_forest_join(forest, first, level[i]);
        }
    }
}

static submod_status join(const void *ctx, const submodi_ties *ties, int32_t *forest,
                          submod_work *work)
{
    (void)work;
    const two_counts *t = ctx;
    counts before = {0};
    submod_status status = SUBMOD_OK;
    for (size_t l = 0; status == SUBMOD_OK && l < ties->count; l++) {
        const int32_t *level = ties->order + ties->start[l];
        size_t k = ties->start[l + 1] - ties->start[l];
        counts more = {0};
        curvature found;
        submodi_add_wrong(t, &more, level, k);
        status = k > 1 ? curvature_at(t, before, more, &found) : SUBMOD_OK;
        if (status == SUBMOD_OK && k > 1) {
            const bool apply[] = {found.within_bg, found.within_fg, found.across};
            for (int kind = 0; kind < 3; kind++) {
                if (apply[kind]) {
                    join_kind(t, level, k, kind, forest);
                }
            }
        }
        before.a += more.a;
        before.b += more.b;
    }
    return status;
}

/* ---- constructors ---- */

const submodi_two_counts *submodi_two_counts_of(const submod_fn *fn)
{
    return fn->ops.eval == eval ? fn->ctx : NULL;
}

static const char overflow[] = "%s: the sum of the weights overflows";

/* The unit that weights are whole multiples of: so large that sums of n of them, and their parts in
 * any order, are exact. */
static double unit_of(const double *weight, size_t n)
{
    double largest = 0;
    int exponent;
    int bits = 0; /* of n - 1 */
    for (size_t e = 0; e < n; e++) {
        largest = fmax(largest, weight[e]);
    }
    frexp(largest, &exponent);
    for (size_t left = n - 1; left; left /= 2) {
        bits++;
    }
    exponent += bits - 52;
    return ldexp(1, exponent > -1074 ? exponent : -1074);
}

/* Room for the mask and, behind it, the weights. */
static two_counts *make(size_t n, const uint8_t *foreground, const double *weight,
                        const submod_measure *measure)
{
    size_t words = n / 32 + 1;
    size_t mask = submodi_round_up(sizeof(two_counts) + words * sizeof(uint32_t));
    two_counts *t = submodi_alloc(mask + (weight ? n * sizeof *weight : 0), 1);
    if (!t) {
        return NULL;
    }
    *t = (two_counts){.measure = *measure};
    memset(t->foreground, 0, words * sizeof *t->foreground);
    if (weight) {
        double *own = (void *)((char *)t + mask);
        double unit = unit_of(weight, n);
        for (size_t e = 0; e < n; e++) {
            own[e] = rint(weight[e] / unit) * unit;
        }
        t->weight = own;
    }
    for (size_t e = 0; e < n; e++) {
        uint32_t bit = foreground[e] != 0;
        t->foreground[e / 32] |= bit << e % 32;
        *(bit ? &t->P : &t->N) += submodi_element_weight(t, (int32_t)e);
    }
    return t;
}

/* Only ratios of weights matter to a built-in measure: with a sum near 1 no square of a sum leaves
 * the range of a double. By a power of two: no bits are lost. */
static void scale_weights(two_counts *t, size_t n)
{
    int exponent;
    (void)frexp(t->P + t->N, &exponent);
    for (size_t e = 0; e < n; e++) {
        t->weight[e] = ldexp(t->weight[e], -exponent);
    }
    t->P = ldexp(t->P, -exponent);
    t->N = ldexp(t->N, -exponent);
}

static submod_status finish(const char *who, size_t n, const uint8_t *foreground,
                            const double *weight, const submod_measure *measure, submod_fn **fn)
{
    two_counts *t = make(n, foreground, weight, measure);
    if (!t) {
        return submodi_nomem(who);
    }
    if (!isfinite(2 * (t->P + t->N))) {
        submodi_free(t);
        return submodi_fail(SUBMOD_ENUMERIC, overflow, who);
    }
    if (weight && !is_custom(t)) {
        scale_weights(t, n);
    }
    submod_fn_ops ops = {.eval = eval,
                         .state_size = sizeof(counts),
                         .reset = reset,
                         .push = push,
                         .gain = gain,
                         .chain = chain,
                         .tied = tied,
                         .minimize = submodi_minimize_two_counts,
                         .destroy = submodi_free};
    submodi_traits traits = {.join = join,
                             .minimize_parts = submodi_minimize_two_counts_parts,
                             .calls_back = is_custom(t)};
    return submodi_fn_new("two counts", n, &ops, &traits, t, fn);
}

static submod_status require(const char *who, size_t n, const uint8_t *foreground,
                             const submod_measure *given, submod_measure *measure, submod_fn **fn)
{
    submod_status status = submodi_require_size(who, n, fn);
    status = status ? status : submodi_require_given(who, "foreground", foreground);
    return status ? status : submodi_read_measure(who, "measure", given, measure);
}

submod_status submod_fn_two_counts(size_t n, const uint8_t *foreground,
                                   const submod_measure *measure, submod_fn **fn)
{
    static const char who[] = "submod_fn_two_counts";
    submod_measure m;
    submod_status status = require(who, n, foreground, measure, &m, fn);
    if (status != SUBMOD_OK) {
        return status;
    }
    switch (m.type) {
    case SUBMOD_MEASURE_JACCARD: return submod_fn_jaccard(n, foreground, fn);
    case SUBMOD_MEASURE_HAMMING: return submod_fn_hamming(n, fn);
    default: return finish(who, n, foreground, NULL, &m, fn);
    }
}

/* Hamming with weights is modular: w / (P + N). */
static submod_status weighted_hamming(const char *who, size_t n, const double *weight,
                                      submod_fn **fn)
{
    double *share = submodi_alloc(n, sizeof *share);
    double sum = 0;
    for (size_t e = 0; e < n; e++) {
        sum += weight[e];
    }
    for (size_t e = 0; share && e < n; e++) {
        share[e] = sum > 0 ? weight[e] / sum : 0;
    }
    submod_status status = !share              ? submodi_nomem(who)
                           : isfinite(2 * sum) ? submod_fn_modular(n, share, fn)
                                               : submodi_fail(SUBMOD_ENUMERIC, overflow, who);
    submodi_free(share);
    return status;
}

submod_status submod_fn_two_counts_weighted(size_t n, const uint8_t *foreground,
                                            const double *weight, const submod_measure *measure,
                                            submod_fn **fn)
{
    static const char who[] = "submod_fn_two_counts_weighted";
    submod_measure m;
    submod_status status = require(who, n, foreground, measure, &m, fn);
    status = status ? status : submodi_require_given(who, "weight", weight);
    status = status ? status : submodi_require_nonnegative(who, "weight", weight, n);
    if (status != SUBMOD_OK) {
        return status;
    }
    return m.type == SUBMOD_MEASURE_HAMMING ? weighted_hamming(who, n, weight, fn)
                                            : finish(who, n, foreground, weight, &m, fn);
}
