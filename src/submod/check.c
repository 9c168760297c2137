/* Is a set function normalised, submodular, monotone, symmetric; do its callbacks agree?
 *
 * Submodularity is tested in its local form: F(A + e) - F(A) >= F(A + f + e) - F(A + f) for all A
 * and e, f outside A, which is equivalent to the definition (paper, Def. 1). Over all subsets this
 * takes 2^n evaluations and n^2 2^(n-3) comparisons. The report shows the largest violation.
 */
#include <math.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/settings.h"
#include "submod/handle.h"

static const char who[] = "submod_fn_check";

/* A property under test, and its largest violation so far. */
typedef struct property {
    submod_counterexample *example;
    int *holds;
    double worst;
} property;

typedef struct checker {
    const submod_fn *fn;
    submod_check_settings settings;
    submod_check_report *report;
    double start;
    double scale;  /* what violations are compared with, see value_of */
    int32_t *list; /* n elements: a permutation in random tests, else scratch */
    submod_rng rng;
    property submodular, monotone, symmetric, consistent;
} checker;

submod_check_settings submod_check_defaults(void)
{
    return (submod_check_settings){.struct_size = sizeof(submod_check_settings),
                                   .exhaustive_max = 16,
                                   .samples = 20000,
                                   .time_limit = 10,
                                   .tolerance = 1e-9,
                                   .seed = 1};
}

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
    if (submodi_seconds() - c->start > c->settings.time_limit) {
        return SUBMOD_TIMELIMIT;
    }
    if (submodi_cancelled()) {
        return SUBMOD_CANCELLED;
    }
    c->report->evaluations++;
    submod_status status = submodi_fn_eval(c->fn, set, k, value);
    if (status == SUBMOD_OK) {
        keep_scale(c, *value);
    }
    return status;
}

/* Whether a violation by `amount` is beyond rounding and the largest so far. */
static bool is_news(const checker *c, const property *p, double amount)
{
    return amount > c->settings.tolerance * c->scale && amount > p->worst;
}

/* Keeps the violation as the counterexample if it is news. */
static submod_status note(checker *c, property *p, double amount, const int32_t *set, size_t k,
                          int32_t e, int32_t f, double left, double right)
{
    if (!is_news(c, p, amount)) {
        return SUBMOD_OK;
    }
    int32_t *copy = k ? submodi_alloc(k, sizeof *copy) : NULL;
    if (k && !copy) {
        return submodi_nomem(who);
    }
    for (size_t i = 0; i < k; i++) {
        copy[i] = set[i];
    }
    submodi_free(p->example->set);
    *p->example = (submod_counterexample){
        .set = copy, .set_size = k, .e = e, .f = f, .left = left, .right = right};
    p->worst = amount;
    *p->holds = 0;
    return SUBMOD_OK;
}

/* ---- all subsets ---- */

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
        return submodi_nomem(who);
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

/* ---- random sets ---- */

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

/* ---- callbacks against eval ---- */

/* Compares chain, gain and push with differences of eval, along the order list[0 .. k-1]. */
static submod_status compare_callbacks(checker *c, size_t k, void *state, double *chained)
{
    double before = 0;
    submod_status status = submodi_fn_reset(c->fn, state);
    status = status ? status : submodi_fn_chain(c->fn, state, c->list, k, chained);
    status = status ? status : submodi_fn_reset(c->fn, state);
    status = status ? status : value_of(c, c->list, 0, &before);
    for (size_t i = 0; status == SUBMOD_OK && i < k; i++) {
        int32_t e = c->list[i];
        double got[3] = {chained[i], 0, 0};
        double after = before;
        status = submodi_fn_gain(c->fn, state, e, &got[1]);
        status = status ? status : submodi_fn_push(c->fn, state, e, &got[2]);
        status = status ? status : value_of(c, c->list, i + 1, &after);
        for (int j = 0; status == SUBMOD_OK && j < 3; j++) {
            double expected = after - before;
            status = note(c, &c->consistent, fabs(got[j] - expected), c->list, i, e, -1, got[j],
                          expected);
        }
        before = after;
    }
    return status;
}

static submod_status check_callbacks(checker *c)
{
    enum { ORDERS = 16, LONGEST = 256 };
    if (!c->fn->ops.push) {
        return SUBMOD_OK; /* derived from eval */
    }
    size_t k = c->fn->n < LONGEST ? c->fn->n : LONGEST;
    void *state = submodi_alloc(submodi_fn_state_size(c->fn), 1);
    double chained[LONGEST];
    submod_status status = state ? SUBMOD_OK : submodi_nomem(who);
    for (int i = 0; status == SUBMOD_OK && i < ORDERS; i++) {
        shuffle(c, k);
        status = compare_callbacks(c, k, state, chained);
    }
    submodi_free(state);
    return status;
}

/* ---- the whole check ---- */

static submod_status require_settings(const submod_check_settings *s)
{
    if (s->exhaustive_max > SUBMOD_EXHAUSTIVE_MAX) {
        return submodi_fail(SUBMOD_EINVAL, "%s: exhaustive_max = %zu must be at most %d", who,
                            s->exhaustive_max, SUBMOD_EXHAUSTIVE_MAX);
    }
    if (!(s->time_limit > 0)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: time_limit = %g must be > 0", who, s->time_limit);
    }
    if (!(s->tolerance >= 0)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: tolerance = %g must be >= 0", who, s->tolerance);
    }
    return SUBMOD_OK;
}

static submod_status run(checker *c)
{
    submod_status status = submodi_fn_eval(c->fn, c->list, 0, &c->report->empty_value);
    c->report->evaluations++;
    if (status != SUBMOD_OK) {
        return status;
    }
    keep_scale(c, c->report->empty_value);
    status = check_callbacks(c);
    bool small = c->fn->n <= c->settings.exhaustive_max || c->fn->n == 1;
    if (status == SUBMOD_OK) {
        status = small ? check_all(c) : check_samples(c);
    }
    c->report->normalised = fabs(c->report->empty_value) <= c->settings.tolerance * c->scale;
    return status;
}

submod_status submod_fn_check(const submod_fn *fn, submod_check_report *report,
                              const submod_check_settings *settings)
{
    submod_check_settings s = submod_check_defaults();
    submod_status status = submodi_require_given(who, "fn", fn);
    status = status ? status : submodi_require_given(who, "report", report);
    status = status ? status : submodi_read_settings(who, "submod_check_defaults", settings, &s);
    status = status ? status : require_settings(&s);
    if (status != SUBMOD_OK) {
        return status;
    }
    submod_check_report r = {.submodular = 1, .monotone = 1, .symmetric = 1, .consistent = 1};
    checker c = {.fn = fn,
                 .settings = s,
                 .report = &r,
                 .start = submodi_seconds(),
                 .list = submodi_alloc(fn->n, sizeof(int32_t)),
                 .submodular = {&r.not_submodular, &r.submodular, 0},
                 .monotone = {&r.not_monotone, &r.monotone, 0},
                 .symmetric = {&r.not_symmetric, &r.symmetric, 0},
                 .consistent = {&r.not_consistent, &r.consistent, 0}};
    if (!c.list) {
        return submodi_nomem(who);
    }
    submodi_ascending(c.list, fn->n);
    submod_rng_seed(&c.rng, s.seed);
    status = run(&c);
    submodi_free(c.list);
    r.seconds = submodi_seconds() - c.start;
    if (status < 0) {
        submod_check_report_clear(&r);
        return status;
    }
    *report = r;
    return status;
}
