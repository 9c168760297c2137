/* Checks of set functions and of measures: is F normalised, submodular, monotone, symmetric, and do
 * its callbacks agree with eval?
 *
 * Submodularity of a set function is tested in its local form, F(A + e) - F(A) >= F(A + f + e) -
 * F(A + f) for all A and e, f outside A, which is equivalent to the definition (paper, Def. 1):
 * over all subsets 2^n evaluations and n^2 2^(n-3) comparisons. A measure is tested by its first
 * differences and second differences of one step, row by row, O(P N); or by a sample of differences
 * with steps of any length, which are sums of differences of one step, so that a violation too
 * small for rounding in one step is found over many. The report has the largest violation. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/internal.h"
#include "submod/fn_internal.h"
#include "submod/measure_internal.h"

/* A property under test, and its largest violation so far. */
typedef struct property {
    submod_counterexample *example;
    int *holds;
    double worst;
} property;

typedef struct checker {
    const submod_fn *fn;           /* or */
    const submod_measure *measure; /* ... */
    submod_check_settings settings;
    submod_check_report *report;
    double start;
    double scale;  /* violations are relative to it, see submod_check_settings */
    int32_t *list; /* n elements: a permutation in random tests, else scratch */
    submod_rng rng;
    property submodular, monotone, symmetric, consistent;
} checker;

submod_check_settings submod_check_defaults(void)
{
    return (submod_check_settings){
        .exhaustive_max = 16, .samples = 20000, .time_limit = 10, .tolerance = -1, .seed = 1};
}

/* Returns the settings given or the defaults, with the tolerance that -1 stands for. */
static submod_status read_settings(const submod_check_settings *given, double tolerance,
                                   submod_check_settings *s)
{
    *s = given ? *given : submod_check_defaults();
    if (s->exhaustive_max > SUBMOD_EXHAUSTIVE_MAX) {
        return submodi_fail(SUBMOD_EINVAL, "exhaustive_max = %zu must be at most %d",
                            s->exhaustive_max, SUBMOD_EXHAUSTIVE_MAX);
    }
    if (!(s->time_limit > 0)) {
        return submodi_fail(SUBMOD_EINVAL, "time_limit = %g must be > 0", s->time_limit);
    }
    if (!(s->tolerance >= 0) && s->tolerance != -1) {
        return submodi_fail(SUBMOD_EINVAL, "tolerance = %g must be >= 0, or -1", s->tolerance);
    }
    s->tolerance = s->tolerance < 0 ? tolerance : s->tolerance;
    return SUBMOD_OK;
}

static void start(checker *c, submod_check_report *report)
{
    submod_check_report *r = report;
    *r = (submod_check_report){.finite = 1,
                               .normalised = 1,
                               .submodular = 1,
                               .monotone = 1,
                               .symmetric = 1,
                               .consistent = 1};
    c->report = r;
    c->start = submodi_seconds();
    c->submodular = (property){&r->not_submodular, &r->submodular, 0};
    c->monotone = (property){&r->not_monotone, &r->monotone, 0};
    c->symmetric = (property){&r->not_symmetric, &r->symmetric, 0};
    c->consistent = (property){&r->not_consistent, &r->consistent, 0};
    submod_rng_seed(&c->rng, c->settings.seed);
}

static submod_status stop(const checker *c)
{
    return submodi_stop(c->start + c->settings.time_limit);
}

/* Whether a violation by `amount` is beyond rounding and the largest so far. */
static bool is_news(const checker *c, const property *p, double amount)
{
    return amount > c->settings.tolerance * c->scale && amount > p->worst;
}

/* Keeps the counterexample, whose set has k elements, if it is news. */
static submod_status keep(checker *c, property *p, double amount, const int32_t *set, size_t k,
                          submod_counterexample x)
{
    if (!is_news(c, p, amount)) {
        return SUBMOD_OK;
    }
    int32_t *copy = k ? submodi_alloc(k, sizeof *copy) : NULL;
    if (k && !copy) {
        return submodi_out_of_memory();
    }
    for (size_t i = 0; i < k; i++) {
        copy[i] = set[i];
    }
    submodi_free(p->example->set);
    *p->example = x;
    p->example->set = copy;
    p->example->set_size = k;
    p->worst = amount;
    *p->holds = 0;
    return SUBMOD_OK;
}

/* The same for a set and the elements e and f. */
static submod_status note(checker *c, property *p, double amount, const int32_t *set, size_t k,
                          int32_t e, int32_t f, double left, double right)
{
    submod_counterexample x = {.e = e, .f = f, .left = left, .right = right};
    return keep(c, p, amount, set, k, x);
}

/* ---- set functions ---- */

/* The properties are about differences, so the scale is the largest |F - F(empty)| seen. Rounding
 * errors are relative to |F|: with the default tolerance this part allows for 6e-14 |F|. */
static void keep_scale(checker *c, double value)
{
    c->scale = fmax(c->scale, fabs(value - c->report->empty_value));
    c->scale = fmax(c->scale, 0x1p-14 * fabs(value));
}

/* Evaluates F, counts the call and updates the scale; or SUBMOD_TIMELIMIT or SUBMOD_CANCELLED. */
static submod_status value_of(checker *c, const int32_t *set, size_t k, double *value)
{
    TRY(stop(c));
    c->report->evaluations++;
    TRY(submodi_fn_eval(c->fn, set, k, value));
    keep_scale(c, *value);
    return SUBMOD_OK;
}

/* ---- set functions: all subsets ---- */

static size_t elements_of(uint32_t bits, int32_t *list)
{
    size_t k = 0;
    for (int32_t e = 0; bits >> e; e++) {
        if (bits >> e & 1) {
            list[k++] = e;
        }
    }
    return k;
}

static submod_status note_bits(checker *c, property *p, double amount, uint32_t bits, int32_t e,
                               int32_t f, double left, double right)
{
    if (!is_news(c, p, amount)) {
        return SUBMOD_OK;
    }
    size_t k = elements_of(bits, c->list);
    return note(c, p, amount, c->list, k, e, f, left, right);
}

/* Tests the inequalities at one set A. Sets from `filled` on have not been evaluated. */
static submod_status compare_at(checker *c, const double *F, uint32_t filled, uint32_t A)
{
    int32_t n = (int32_t)c->fn->n;
    submod_status status = SUBMOD_OK;
    for (int32_t e = 0; status == SUBMOD_OK && e < n; e++) {
        uint32_t with_e = A | UINT32_C(1) << e;
        if (with_e == A || with_e >= filled) {
            continue;
        }
        double gain = F[with_e] - F[A];
        status = note_bits(c, &c->monotone, -gain, A, e, -1, gain, 0);
        for (int32_t f = 0; status == SUBMOD_OK && f < e; f++) {
            uint32_t with_f = A | UINT32_C(1) << f;
            if (with_f == A || (with_e | with_f) >= filled) {
                continue;
            }
            double later = F[with_e | with_f] - F[with_f];
            status = note_bits(c, &c->submodular, later - gain, A, e, f, gain, later);
        }
    }
    uint32_t complement = (UINT32_C(1) << n) - 1 - A;
    if (status == SUBMOD_OK && complement < filled) {
        status =
            note_bits(c, &c->symmetric, fabs(F[A] - F[complement]), A, -1, -1, F[A], F[complement]);
    }
    return status;
}

static submod_status check_all(checker *c)
{
    uint32_t count = UINT32_C(1) << c->fn->n;
    double *F = submodi_alloc(count, sizeof *F);
    if (!F) {
        return submodi_out_of_memory();
    }
    submod_status status = SUBMOD_OK;
    uint32_t filled = 0;
    for (; status == SUBMOD_OK && filled < count; filled++) {
        status = value_of(c, c->list, elements_of(filled, c->list), &F[filled]);
    }
    filled -= status != SUBMOD_OK;
    submod_status compared = SUBMOD_OK;
    for (uint32_t A = 0; compared == SUBMOD_OK && status >= 0 && A < filled; A++) {
        compared = compare_at(c, F, filled, A);
    }
    c->report->exhaustive = status == SUBMOD_OK && compared == SUBMOD_OK;
    submodi_free(F);
    return compared == SUBMOD_OK ? status : compared;
}

/* ---- set functions: random sets ---- */

/* Makes the first k entries of the list a random sequence of distinct elements. */
static void shuffle(checker *c, size_t k)
{
    for (size_t i = 0; i < k; i++) {
        size_t j = i + submod_rng_below(&c->rng, c->fn->n - i);
        int32_t swap = c->list[i];
        c->list[i] = c->list[j];
        c->list[j] = swap;
    }
}

/* Half of the sets have any size, half are small, where most functions are most curved. */
static size_t random_size(checker *c, size_t largest)
{
    const size_t small = 3;
    bool any = submod_rng_next(&c->rng) >> 63;
    return submod_rng_below(&c->rng, (any || largest < small ? largest : small) + 1);
}

/* A = list[0 .. k-1], e and f the two entries after it, V \ A the entries from k on. */
static submod_status check_sample(checker *c)
{
    size_t n = c->fn->n;
    size_t k = random_size(c, n - 2);
    shuffle(c, k + 2);
    int32_t *list = c->list;
    int32_t e = list[k];
    int32_t f = list[k + 1];
    double of_A, of_Ae, of_Aef, of_Af, of_rest;
    submod_status status = value_of(c, list, k, &of_A);
    status = status ? status : value_of(c, list, k + 1, &of_Ae);
    status = status ? status : value_of(c, list, k + 2, &of_Aef);
    status = status ? status : value_of(c, list + k, n - k, &of_rest);
    list[k] = f;
    status = status ? status : value_of(c, list, k + 1, &of_Af);
    list[k] = e;
    if (status != SUBMOD_OK) {
        return status;
    }
    double gain = of_Ae - of_A;
    double later = of_Aef - of_Af;
    status = note(c, &c->submodular, later - gain, list, k, e, f, gain, later);
    status = status ? status : note(c, &c->monotone, -gain, list, k, e, -1, gain, 0);
    return status ? status
                  : note(c, &c->symmetric, fabs(of_A - of_rest), list, k, -1, -1, of_A, of_rest);
}

static submod_status check_samples(checker *c)
{
    submod_status status = SUBMOD_OK;
    for (uint64_t i = 0; status == SUBMOD_OK && i < c->settings.samples; i++) {
        status = check_sample(c);
    }
    return status;
}

/* ---- set functions: callbacks against eval ---- */

/* Notes where a callback's number for the k elements of set, and perhaps e, is not eval's. */
static submod_status compare(checker *c, const char *callback, const int32_t *set, size_t k,
                             int32_t e, double number, double by_eval)
{
    submod_counterexample x = {
        .callback = callback, .e = e, .f = -1, .left = number, .right = by_eval};
    return keep(c, &c->consistent, fabs(number - by_eval), set, k, x);
}

/* Compares chain, all at once and one by one, and gain with differences of eval, along the order
 * list[0 .. k-1]. */
static submod_status compare_chain(checker *c, size_t k, void *state, double *chained)
{
    double before, after;
    TRY(submodi_fn_reset(c->fn, state));
    TRY(submodi_fn_chain(c->fn, state, c->list, k, chained));
    TRY(submodi_fn_reset(c->fn, state));
    TRY(value_of(c, c->list, 0, &before));
    for (size_t i = 0; i < k; i++, before = after) {
        int32_t e = c->list[i];
        double gain, one;
        TRY(submodi_fn_gain(c->fn, state, e, &gain));
        TRY(submodi_fn_chain(c->fn, state, &e, 1, &one));
        TRY(value_of(c, c->list, i + 1, &after));
        TRY(compare(c, "chain", c->list, i, e, chained[i], after - before));
        TRY(compare(c, "gain", c->list, i, e, gain, after - before));
        TRY(compare(c, "chain of one element", c->list, i, e, one, after - before));
    }
    return SUBMOD_OK;
}

/* After list[0 .. k-1], tied elements in two orders: the same gains for each, whose sum is eval's.
 * gains: room for k + 3 tied numbers. */
static submod_status compare_tied(checker *c, size_t k, size_t tied, void *state, double *gains)
{
    double before, after, sum = 0;
    int32_t *elements = c->list + k;
    double *first = gains + k + tied, *second = first + tied;
    TRY(value_of(c, c->list, k, &before));
    TRY(value_of(c, c->list, k + tied, &after));
    for (int turn = 0; turn < 2; turn++) {
        TRY(submodi_fn_reset(c->fn, state));
        TRY(submodi_fn_chain(c->fn, state, c->list, k, gains));
        TRY(submodi_fn_tied(c->fn, state, elements, tied, turn ? second : first));
        for (size_t i = 0; i < tied / 2; i++) {
            int32_t e = elements[i];
            elements[i] = elements[tied - 1 - i];
            elements[tied - 1 - i] = e;
        }
    }
    for (size_t i = 0; i < tied; i++) {
        sum += first[i];
        TRY(compare(c, "tied in another order", c->list, k, elements[i], second[tied - 1 - i],
                    first[i]));
    }
    return compare(c, "the sum of tied", c->list, k + tied, -1, sum, after - before);
}

/* ---- set functions: minimize and prox ---- */

enum { GROUND = 5 }; /* elements of the minors whose subsets are all tried */

/* Moves the elements of `in` to the front of ground[0 .. n-1]; returns their number. */
static size_t gather(int32_t *ground, const uint8_t *in, size_t n)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (in[i]) {
            int32_t e = ground[i];
            ground[i] = ground[k];
            ground[k++] = e;
        }
    }
    return k;
}

/* *value = F(base + A) - F(base) - z(A), base list[0 .. k-1] and A the elements after it with
 * flags. */
static submod_status value_of_flags(checker *c, size_t k, size_t n, const double *z,
                                    const uint8_t *in, double *value)
{
    double of_base;
    int32_t list[GROUND];
    memcpy(list, c->list + k, n * sizeof *list);
    size_t taken = gather(c->list + k, in, n);
    TRY(value_of(c, c->list, k, &of_base));
    TRY(value_of(c, c->list, k + taken, value));
    *value -= of_base;
    for (size_t i = 0; i < n; i++) {
        *value -= in[i] ? z[i] : 0;
    }
    memcpy(c->list + k, list, n * sizeof *list);
    return SUBMOD_OK;
}

/* The minor of n elements after list[0 .. k-1], with random z: both minimisers reach the minimum
 * over all subsets, and the smallest lies in the largest. */
static submod_status compare_minimize(checker *c, size_t k, size_t n)
{
    submod_minor minor = {c->list, k, c->list + k, n};
    uint8_t in[2][GROUND], bits[GROUND];
    double z[GROUND], reached[2], lowest = INFINITY;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            bits[j] = i == j;
        }
        double alone;
        z[i] = 0;
        TRY(value_of_flags(c, k, n, z, bits, &alone));
        z[i] = 1.5 * submod_rng_uniform(&c->rng) * alone;
    }
    submod_status status = submodi_fn_minimize(c->fn, &minor, z, in[0], in[1], NULL);
    if (status != SUBMOD_OK) {
        return status == SUBMOD_EUNSUPPORTED ? SUBMOD_OK : status;
    }
    for (uint32_t set = 0; set < UINT32_C(1) << n; set++) {
        double value;
        for (size_t j = 0; j < n; j++) {
            bits[j] = set >> j & 1;
        }
        TRY(value_of_flags(c, k, n, z, bits, &value));
        lowest = fmin(lowest, value);
    }
    for (int which = 0; which < 2; which++) {
        TRY(value_of_flags(c, k, n, z, in[which], &reached[which]));
        TRY(compare(c, "minimize", c->list, k, -1, reached[which], lowest));
    }
    for (size_t i = 0; i < n; i++) {
        if (in[0][i] && !in[1][i]) {
            TRY(compare(c, "minimize: the larger minimiser", c->list, k, minor.ground[i], 0,
                        INFINITY));
        }
    }
    return SUBMOD_OK;
}

/* Sorts list by descending u, by insertion. */
static void sort_list(checker *c, const double *u)
{
    for (size_t i = 1; i < c->fn->n; i++) {
        int32_t e = c->list[i];
        size_t j = i;
        for (; j > 0 && u[c->list[j - 1]] < u[e]; j--) {
            c->list[j] = c->list[j - 1];
        }
        c->list[j] = e;
    }
}

/* u = x - s / lambda, and s adds up to F on the sets {u >= t}, which makes it a base that is
 * optimal at u if F is submodular. */
static submod_status compare_prox(checker *c, double *x, double *u, double *s)
{
    size_t n = c->fn->n;
    double lambda = 0.5 + submod_rng_uniform(&c->rng), empty, value, sum = 0;
    for (size_t i = 0; i < n; i++) {
        x[i] = c->scale * submod_rng_normal(&c->rng) / (double)n;
    }
    submod_status status = submodi_fn_prox(c->fn, x, lambda, u, s);
    if (status < 0) {
        return status;
    }
    sort_list(c, u);
    TRY(value_of(c, c->list, 0, &empty));
    for (size_t i = 0; i < n; i++) {
        int32_t e = c->list[i];
        sum += s[e];
        TRY(compare(c, "prox: s", c->list, i, e, s[e], lambda * (x[e] - u[e])));
        if (i + 1 == n || u[c->list[i + 1]] < u[e]) {
            TRY(value_of(c, c->list, i + 1, &value));
            TRY(compare(c, "prox: the sum of s", c->list, i + 1, -1, sum, value - empty));
        }
    }
    return SUBMOD_OK;
}

/* ---- set functions: all callbacks ---- */

static submod_status check_callbacks(checker *c, submod_work *w)
{
    enum { ORDERS = 16, LONGEST = 256 };
    const submod_fn_ops *ops = &c->fn->ops;
    size_t n = c->fn->n, k = n < LONGEST ? n : LONGEST, few = n < GROUND ? n : GROUND;
    void *state = submodi_work_alloc(w, submodi_fn_state_size(c->fn), 1);
    double *numbers = submodi_work_alloc(w, 3 * k, sizeof *numbers);
    TRY(submodi_work_status(w));
    for (int i = 0; i < ORDERS; i++) {
        size_t before = submod_rng_below(&c->rng, k - few + 1);
        shuffle(c, k);
        if (ops->chain) {
            TRY(compare_chain(c, k, state, numbers));
        }
        if (ops->tied) {
            TRY(compare_tied(c, before, k - before, state, numbers));
        }
        if (ops->minimize && i < 4) {
            TRY(compare_minimize(c, before, few));
        }
        if (ops->prox && i < 4 && n <= LONGEST) {
            TRY(compare_prox(c, numbers, numbers + n, numbers + 2 * n));
        }
    }
    return SUBMOD_OK;
}

static submod_status run(checker *c, submod_work *w)
{
    TRY(submodi_fn_eval(c->fn, c->list, 0, &c->report->empty_value));
    c->report->evaluations++;
    keep_scale(c, c->report->empty_value);
    double all; /* for the scale */
    submod_status status = value_of(c, c->list, c->fn->n, &all);
    status = status ? status : check_callbacks(c, w);
    bool small = c->fn->n <= c->settings.exhaustive_max || c->fn->n == 1;
    if (status == SUBMOD_OK) {
        submodi_ascending(c->list, c->fn->n);
        status = small ? check_all(c) : check_samples(c);
    }
    if (status == SUBMOD_ECALLBACK && submodi_cancelled()) { /* passed on by a callback */
        status = SUBMOD_CANCELLED;
    }
    c->report->normalised = fabs(c->report->empty_value) <= c->settings.tolerance * c->scale;
    return status;
}

static submod_status fn_check(const submod_fn *fn, submod_check_report *report,
                              const submod_check_settings *settings)
{
    checker c = {.fn = fn};
    TRY(submodi_check_given("fn", fn));
    TRY(submodi_check_given("report", report));
    TRY(read_settings(settings, 1e-9, &c.settings));
    submod_check_report r;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    start(&c, &r);
    c.list = submodi_work_alloc(w, fn->n, sizeof *c.list);
    submod_status status = submodi_work_status(w);
    if (status == SUBMOD_OK) {
        submodi_ascending(c.list, fn->n);
        status = run(&c, w);
    }
    submodi_scope_close(&scope);
    r.seconds = submodi_seconds() - c.start;
    if (status < 0) {
        submod_check_report_clear(&r);
        return status;
    }
    *report = r;
    return status;
}

submod_status submod_fn_check(const submod_fn *fn, submod_check_report *report,
                              const submod_check_settings *settings)
{
    return submodi_return("submod_fn_check", fn_check(fn, report, settings));
}

/* ---- measures ---- */

/* Computes count values of F. Returns false if one is not finite, which the report then has. */
static bool evaluate(checker *c, size_t count, const double *a, const double *b, double *F)
{
    submod_check_report *r = c->report;
    const submod_measure *m = c->measure;
    if (m->type == SUBMOD_MEASURE_CUSTOM && m->ops.values) {
        m->ops.values(count, a, b, r->P, r->N, F, m->ctx);
    } else {
        for (size_t i = 0; i < count; i++) {
            F[i] = submodi_measure_value(m, a[i], b[i], r->P, r->N);
        }
    }
    r->evaluations += count;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(F[i])) {
            r->finite = 0;
            r->not_finite = (submod_counterexample){.a = a[i], .b = b[i], .left = F[i]};
            return false;
        }
        c->scale = fmax(c->scale, fabs(F[i]));
    }
    return true;
}

/* Keeps a violation of a measure, which owns no set. */
static void note_measure(checker *c, property *p, submod_counterexample x)
{
    x.e = x.f = -1;
    (void)keep(c, p, x.right - x.left, NULL, 0, x);
}

/* The last three rows of the lattice of counts, the oldest first. Rows run along the longer side.
 */
typedef struct rows {
    bool rows_are_fg;
    size_t count; /* places of a row */
    double *a, *b;
    double *F[3];
} rows;

/* A counterexample at a place, with steps counted along rows and places. */
static submod_counterexample at_place(const rows *w, double row, double place, double d_row,
                                      double d_place, double e_row, double e_place)
{
    return w->rows_are_fg
               ? (submod_counterexample){.a = row,
                                         .b = place,
                                         .da = d_row,
                                         .db = d_place,
                                         .ea = e_row,
                                         .eb = e_place}
               : (submod_counterexample){
                     .a = place, .b = row, .da = d_place, .db = d_row, .ea = e_place, .eb = e_row};
}

static void note_place(checker *c, property *p, submod_counterexample x, double left, double right)
{
    x.left = left;
    x.right = right;
    note_measure(c, p, x);
}

/* Tests all differences whose last corner lies in the newest row. known: how many rows there are.
 */
static void check_row(checker *c, const rows *w, double row, size_t known)
{
    const double *new = w->F[2], *old = w->F[1], *older = w->F[0];
    property *up = &c->monotone, *bend = &c->submodular;
    for (size_t i = 0; i < w->count; i++) {
        double place = (double)i;
        if (i > 0) {
            note_place(c, up, at_place(w, row, place - 1, 0, 1, 0, 0), new[i], new[i - 1]);
        }
        if (i > 1) {
            note_place(c, bend, at_place(w, row, place - 2, 0, 1, 0, 1), new[i - 1] - new[i - 2],
                       new[i] - new[i - 1]);
        }
        if (known > 1) {
            note_place(c, up, at_place(w, row - 1, place, 1, 0, 0, 0), new[i], old[i]);
        }
        if (known > 1 && i > 0) {
            note_place(c, bend, at_place(w, row - 1, place - 1, 1, 0, 0, 1),
                       new[i - 1] - old[i - 1], new[i] - old[i]);
        }
        if (known > 2) {
            note_place(c, bend, at_place(w, row - 2, place, 1, 0, 1, 0), old[i] - older[i],
                       new[i] - old[i]);
        }
    }
}

static submod_status check_pairs(checker *c, uint64_t P, uint64_t N, submod_work *work)
{
    uint64_t longer = P > N ? P : N;
    rows w = {.rows_are_fg = P > N, .count = (size_t)(P > N ? N : P) + 1};
    double **vectors[] = {&w.a, &w.b, &w.F[0], &w.F[1], &w.F[2]};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        *vectors[i] = submodi_work_alloc(work, w.count, sizeof(double));
    }
    TRY(submodi_work_status(work));
    for (uint64_t row = 0; row <= longer; row++) {
        TRY(stop(c));
        double *oldest = w.F[0];
        w.F[0] = w.F[1];
        w.F[1] = w.F[2];
        w.F[2] = oldest;
        for (size_t i = 0; i < w.count; i++) {
            w.a[i] = w.rows_are_fg ? (double)row : (double)i;
            w.b[i] = w.rows_are_fg ? (double)i : (double)row;
        }
        if (!evaluate(c, w.count, w.a, w.b, w.F[2])) {
            return SUBMOD_OK;
        }
        check_row(c, &w, (double)row, row < 2 ? (size_t)row + 1 : 3);
    }
    c->report->exhaustive = 1;
    return SUBMOD_OK;
}

/* A random step of at most `room`: one, any, or all there is room for. */
static uint64_t random_step(submod_rng *rng, uint64_t room)
{
    uint64_t kind = submod_rng_below(rng, 3);
    return room < 2 || kind == 0 ? 1 : kind == 1 ? room : 1 + submod_rng_below(rng, room);
}

/* Two steps of random kinds from a random pair of counts; false: there is no room for them. */
static bool random_case(submod_rng *rng, const uint64_t most[2], bool border,
                        submod_counterexample *f)
{
    uint64_t from[2] = {0, 0};
    uint64_t step[2][2] = {{0, 0}, {0, 0}};
    uint64_t left[2] = {most[0], most[1]};
    for (int k = 0; k < 2; k++) {
        int kind = (int)submod_rng_below(rng, 2);
        kind = left[kind] ? kind : 1 - kind;
        if (left[kind] == 0) {
            return false;
        }
        step[k][kind] = random_step(rng, k || left[kind] < 2 ? left[kind] : left[kind] / 2);
        left[kind] -= step[k][kind];
    }
    int edge = border ? (int)submod_rng_below(rng, 4) : -1;
    for (int kind = 0; kind < 2; kind++) {
        from[kind] = submod_rng_below(rng, left[kind] + 1);
        from[kind] = edge == 2 * kind ? 0 : edge == 2 * kind + 1 ? left[kind] : from[kind];
    }
    *f = (submod_counterexample){.a = (double)from[0],
                                 .b = (double)from[1],
                                 .da = (double)step[0][0],
                                 .db = (double)step[0][1],
                                 .ea = (double)step[1][0],
                                 .eb = (double)step[1][1]};
    return true;
}

static submod_status check_some_pairs(checker *c, uint64_t P, uint64_t N)
{
    const uint64_t most[2] = {P, N};
    for (uint64_t i = 0; i < c->settings.samples; i++) {
        submod_counterexample x;
        TRY(stop(c));
        if (!random_case(&c->rng, most, i % 2, &x)) {
            continue;
        }
        const double a[4] = {x.a, x.a + x.da, x.a + x.ea, x.a + x.da + x.ea};
        const double b[4] = {x.b, x.b + x.db, x.b + x.eb, x.b + x.db + x.eb};
        double F[4];
        if (!evaluate(c, 4, a, b, F)) {
            return SUBMOD_OK;
        }
        note_place(c, &c->submodular, x, F[1] - F[0], F[3] - F[2]);
        x.ea = x.eb = 0;
        note_place(c, &c->monotone, x, F[1], F[0]);
    }
    return SUBMOD_OK;
}

/* Both ends come first: the scale is F(P, N), also where F is small. */
static submod_status run_measure(checker *c, uint64_t P, uint64_t N)
{
    const double none = 0;
    double all_wrong, pairs = ((double)P + 1) * ((double)N + 1);
    const submod_check_settings *s = &c->settings;
    bool all = pairs <= ldexp(1, (int)s->exhaustive_max) || pairs <= (double)s->samples;
    if (!evaluate(c, 1, &none, &none, &c->report->empty_value) ||
        !evaluate(c, 1, &c->report->P, &c->report->N, &all_wrong)) {
        return SUBMOD_OK;
    }
    c->report->normalised = c->report->empty_value == 0;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    submod_status status = all ? check_pairs(c, P, N, w) : check_some_pairs(c, P, N);
    submodi_scope_close(&scope);
    return status;
}

static submod_status measure_check(const submod_measure *measure, uint64_t P, uint64_t N,
                                   submod_check_report *report,
                                   const submod_check_settings *settings)
{
    const uint64_t largest = UINT64_C(1) << 53;
    submod_measure m;
    checker c = {.measure = &m};
    TRY(submodi_check_given("report", report));
    TRY(submodi_read_measure("measure", measure, &m));
    TRY(read_settings(settings, 0x1p-46, &c.settings));
    if (P > largest || N > largest) {
        return submodi_fail(SUBMOD_EINVAL,
                            "P = %" PRIu64 " and N = %" PRIu64 " must be at most "
                            "2^53",
                            P, N);
    }
    submod_check_report r;
    start(&c, &r);
    r.of_measure = 1;
    r.P = (double)P;
    r.N = (double)N;
    submod_status status = run_measure(&c, P, N);
    r.seconds = submodi_seconds() - c.start;
    if (status >= 0) {
        *report = r;
    }
    return status;
}

submod_status submod_measure_check(const submod_measure *measure, uint64_t P, uint64_t N,
                                   submod_check_report *report,
                                   const submod_check_settings *settings)
{
    return submodi_return("submod_measure_check", measure_check(measure, P, N, report, settings));
}

/* ---- the report ---- */

static void clear_example(submod_counterexample *x)
{
    submodi_free(x->set);
    *x = (submod_counterexample){0};
}

void submod_check_report_clear(submod_check_report *report)
{
    if (report) {
        clear_example(&report->not_finite);
        clear_example(&report->not_submodular);
        clear_example(&report->not_monotone);
        clear_example(&report->not_symmetric);
        clear_example(&report->not_consistent);
    }
}

/* Text of a report. As with snprintf, length also counts what does not fit; text may be NULL if
 * size is 0. */
typedef struct text_buffer {
    char *text;
    size_t size, length;
} text_buffer;

SUBMOD_PRINTF(2, 3) static void put(text_buffer *t, const char *format, ...)
{
    bool room = t->length < t->size;
    va_list args;
    va_start(args, format);
    int written =
        vsnprintf(room ? t->text + t->length : NULL, room ? t->size - t->length : 0, format, args);
    va_end(args);
    t->length += written > 0 ? (size_t)written : 0;
}

static void put_set(text_buffer *w, const submod_counterexample *x)
{
    enum { SHOWN = 20 };
    put(w, "A = {");
    for (size_t i = 0; i < x->set_size && i < SHOWN; i++) {
        put(w, i ? ", %d" : "%d", (int)x->set[i]);
    }
    put(w, x->set_size > SHOWN ? ", .. %zu elements}" : "}", x->set_size);
}

/* Begins a line about a property; returns whether it fails. */
static bool put_property(text_buffer *w, const char *name, int holds, const char *yes)
{
    put(w, "\n%s: %s", name, holds ? yes : "no, ");
    return !holds;
}

static void put_measure(text_buffer *w, const submod_check_report *r, const char *yes)
{
    const submod_counterexample *x = &r->not_finite;
    put(w, "%s of P = %g, N = %g, %" PRIu64 " evaluations",
        r->exhaustive ? "all pairs" : "some pairs", r->P, r->N, r->evaluations);
    if (put_property(w, "finite", r->finite, yes)) {
        put(w, "F(%g, %g) = %g", x->a, x->b, x->left);
    }
    put(w, "\nnormalised: %s (F(0, 0) is %g)", r->normalised ? "yes" : "no", r->empty_value);
    x = &r->not_monotone;
    if (put_property(w, "increasing", r->monotone, yes)) {
        put(w, "F(%g, %g) = %.9g, but F(%g, %g) = %.9g", x->a, x->b, x->right, x->a + x->da,
            x->b + x->db, x->left);
    }
    x = &r->not_submodular;
    if (put_property(w, "submodular", r->submodular, yes)) {
        put(w, "%g more of the %s add %.9g to F(%g, %g), but %.9g to F(%g, %g)",
            x->da > 0 ? x->da : x->db, x->da > 0 ? "foreground" : "background", x->left, x->a, x->b,
            x->right, x->a + x->ea, x->b + x->eb);
    }
}

static void put_function(text_buffer *w, const submod_check_report *r, const char *yes)
{
    put(w, "%s, %" PRIu64 " evaluations in %.3g s",
        r->exhaustive ? "all subsets tried" : "some subsets tried", r->evaluations, r->seconds);
    put(w, "\nnormalised: %s (F of the empty set is %g)", r->normalised ? "yes" : "no",
        r->empty_value);
    const submod_counterexample *x = &r->not_submodular;
    if (put_property(w, "submodular", r->submodular, yes)) {
        put_set(w, x);
        put(w, ": element %d adds %.9g to A, but %.9g to A + %d", (int)x->e, x->left, x->right,
            (int)x->f);
    }
    x = &r->not_monotone;
    if (put_property(w, "monotone", r->monotone, yes)) {
        put_set(w, x);
        put(w, ": element %d adds %.9g", (int)x->e, x->left);
    }
    x = &r->not_symmetric;
    if (put_property(w, "symmetric", r->symmetric, yes)) {
        put_set(w, x);
        put(w, ": F(A) = %.9g, F(V - A) = %.9g", x->left, x->right);
    }
    x = &r->not_consistent;
    if (put_property(w, "callbacks agree with eval", r->consistent, "no counterexample found")) {
        put_set(w, x);
        if (x->e >= 0) {
            put(w, ", element %d", (int)x->e);
        }
        put(w, ": %s gives %.17g, eval %.17g", x->callback, x->left, x->right);
    }
}

size_t submod_check_report_text(const submod_check_report *r, char *text, size_t size)
{
    text_buffer w = {text, text ? size : 0, 0};
    if (!r) {
        put(&w, "no report");
        return w.length;
    }
    (r->of_measure ? put_measure : put_function)(&w, r,
                                                 r->exhaustive ? "yes"
                                                               : "no counterexample "
                                                                 "found");
    put(&w, "\n");
    return w.length;
}
