/* Checks of set functions and measures: whether F is normalised, submodular, monotone and
 * symmetric, and whether its callbacks agree with eval.
 *
 * Both have the same local inequalities, F(x + d) - F(x) >= F(x + e + d) - F(x + e) and
 * F(x + d) >= F(x), where d and e are elements, or steps of the counts. If they hold for steps of
 * one, they hold for all steps (paper, Def. 1). Exhaustive tests take 2^n or (P + 1)(N + 1)
 * evaluations. Random tests of measures use steps of any length, because violations that rounding
 * hides in one step add up over many. The report has the largest violation. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/internal.h"
#include "submod/fn_internal.h"
#include "submod/measure_internal.h"

/* A property under test: left >= right, or left = right, in all cases. */
typedef struct property {
    int *holds;
    submod_counterexample *example;
    bool equation;
    double worst; /* the largest violation so far */
} property;

typedef struct checker {
    const submod_fn *fn;           /* or */
    const submod_measure *measure; /* of counts up to P and N */
    double P, N;
    submod_check_settings settings;
    submod_check_report report;
    double deadline;
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

/* Reads the given settings or the defaults, and replaces tolerance -1 by `tolerance`. */
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

/* Runs a test, and copies its report unless it fails. */
static submod_status check(checker *c, submod_status (*test)(checker *c, submod_work *w),
                           submod_check_report *report)
{
    double start = submodi_seconds();
    submod_check_report *r = &c->report;
    *r = (submod_check_report){.of_measure = c->measure != NULL,
                               .P = c->P,
                               .N = c->N,
                               .finite = 1,
                               .normalised = 1,
                               .submodular = 1,
                               .monotone = 1,
                               .symmetric = 1,
                               .consistent = 1};
    c->deadline = start + c->settings.time_limit;
    c->submodular = (property){&r->submodular, &r->not_submodular, false, 0};
    c->monotone = (property){&r->monotone, &r->not_monotone, false, 0};
    c->symmetric = (property){&r->symmetric, &r->not_symmetric, true, 0};
    c->consistent = (property){&r->consistent, &r->not_consistent, true, 0};
    submod_rng_seed(&c->rng, c->settings.seed);
    submodi_scope scope;
    submod_status status = test(c, submodi_scope_open(&scope, NULL));
    submodi_scope_close(&scope);
    r->seconds = submodi_seconds() - start;
    if (status < 0) {
        submod_check_report_clear(r);
    } else {
        *report = *r;
    }
    return status;
}

/* Returns whether two numbers violate a property beyond rounding and more than all before. */
static bool is_worse(const checker *c, const property *p, double left, double right)
{
    double violation = p->equation ? fabs(left - right) : right - left;
    return violation > c->settings.tolerance * c->scale && violation > p->worst;
}

/* Keeps a counterexample, whose set is the first k elements of the list, if it is the worst. */
static submod_status keep(checker *c, property *p, submod_counterexample x, size_t k)
{
    if (!is_worse(c, p, x.left, x.right)) {
        return SUBMOD_OK;
    }
    if (k) {
        x.set = submodi_alloc(k, sizeof *x.set);
        if (!x.set) {
            return submodi_out_of_memory();
        }
        memcpy(x.set, c->list, k * sizeof *x.set);
        x.set_size = k;
    }
    submodi_free(p->example->set);
    *p->example = x;
    *p->holds = 0;
    p->worst = p->equation ? fabs(x.left - x.right) : x.right - x.left;
    return SUBMOD_OK;
}

/* ---- set functions ---- */

/* Compares two numbers of the first k elements of the list, and of e and f. */
static inline submod_status compare(checker *c, property *p, double left, double right, size_t k,
                                    int32_t e, int32_t f)
{
    if (!is_worse(c, p, left, right)) {
        return SUBMOD_OK;
    }
    return keep(c, p, (submod_counterexample){.e = e, .f = f, .left = left, .right = right}, k);
}

/* The properties are about differences, so the scale is the largest |F - F(empty)| seen. Rounding
 * errors are relative to |F|: with the default tolerance this part allows for 6e-14 |F|. */
static void keep_scale(checker *c, double value)
{
    c->scale = fmax(c->scale, fabs(value - c->report.empty_value));
    c->scale = fmax(c->scale, 0x1p-14 * fabs(value));
}

/* Evaluates F, counts the call and updates the scale; or SUBMOD_TIMELIMIT or SUBMOD_CANCELLED. */
static submod_status value_of(checker *c, const int32_t *set, size_t k, double *value)
{
    TRY(submodi_stop(c->deadline));
    c->report.evaluations++;
    TRY(submodi_fn_eval(c->fn, set, k, value));
    keep_scale(c, *value);
    return SUBMOD_OK;
}

static size_t list_elements(uint32_t bits, int32_t *list)
{
    size_t k = 0;
    for (int32_t e = 0; bits >> e; e++) {
        list[k] = e;
        k += bits >> e & 1;
    }
    return k;
}

/* Tests the inequalities at one set A. NaN stands for values that are not known. */
static submod_status compare_at(checker *c, const double *F, uint32_t A)
{
    int32_t n = (int32_t)c->fn->n;
    uint32_t all = (UINT32_C(1) << n) - 1;
    size_t k = list_elements(A, c->list);
    for (int32_t e = 0; e < n; e++) {
        uint32_t with_e = A | UINT32_C(1) << e;
        double gain = F[with_e] - F[A];
        if (with_e == A) {
            continue;
        }
        TRY(compare(c, &c->monotone, gain, 0, k, e, -1));
        for (int32_t f = 0; f < e; f++) {
            uint32_t with_f = A | UINT32_C(1) << f;
            if (with_f != A) {
                TRY(compare(c, &c->submodular, gain, F[with_e | with_f] - F[with_f], k, e, f));
            }
        }
    }
    return compare(c, &c->symmetric, F[A], F[all - A], k, -1, -1);
}

static submod_status check_all(checker *c, submod_work *w)
{
    uint32_t count = UINT32_C(1) << c->fn->n, filled = 0;
    double *F = submodi_work_alloc(w, count, sizeof *F);
    TRY(submodi_work_status(w));
    for (uint32_t A = 0; A < count; A++) {
        F[A] = NAN;
    }
    submod_status status = SUBMOD_OK;
    for (; status == SUBMOD_OK && filled < count; filled += status == SUBMOD_OK) {
        status = value_of(c, c->list, list_elements(filled, c->list), &F[filled]);
    }
    for (uint32_t A = 0; status >= 0 && A < filled; A++) {
        TRY(compare_at(c, F, A));
    }
    c->report.exhaustive = status == SUBMOD_OK;
    return status;
}

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

/* Tests one random set A = list[0 .. k-1] with e and f, the next two entries; V \ A is the rest. */
static submod_status check_sample(checker *c)
{
    size_t n = c->fn->n, k = random_size(c, n - 2);
    double F[3], with_f, rest;
    shuffle(c, k + 2);
    int32_t *list = c->list, e = list[k], f = list[k + 1];
    for (size_t more = 0; more < 3; more++) {
        TRY(value_of(c, list, k + more, &F[more]));
    }
    TRY(value_of(c, list + k, n - k, &rest));
    list[k] = f;
    list[k + 1] = e;
    TRY(value_of(c, list, k + 1, &with_f));
    TRY(compare(c, &c->submodular, F[1] - F[0], F[2] - with_f, k, e, f));
    TRY(compare(c, &c->monotone, F[1] - F[0], 0, k, e, -1));
    return compare(c, &c->symmetric, F[0], rest, k, -1, -1);
}

/* ---- set functions: callbacks against eval ---- */

/* Compares a callback's number for the first k elements of the list, and perhaps e, with eval's. */
static submod_status compare_callback(checker *c, const char *callback, size_t k, int32_t e,
                                      double number, double by_eval)
{
    const submod_counterexample x = {
        .callback = callback, .e = e, .f = -1, .left = number, .right = by_eval};
    return keep(c, &c->consistent, x, k);
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
        TRY(compare_callback(c, "chain", i, e, chained[i], after - before));
        TRY(compare_callback(c, "gain", i, e, gain, after - before));
        TRY(compare_callback(c, "chain of one element", i, e, one, after - before));
    }
    return SUBMOD_OK;
}

/* Calls tied after list[0 .. k-1] with the elements in two orders. Each element must get the same
 * gain, and the gains must sum to eval's. gains: room for k + 2 tied numbers. */
static submod_status compare_tied(checker *c, size_t k, size_t tied, void *state, double *gains)
{
    double before, after, sum = 0;
    int32_t *elements = c->list + k;
    double *of_turn[] = {gains + k, gains + k + tied};
    TRY(value_of(c, c->list, k, &before));
    TRY(value_of(c, c->list, k + tied, &after));
    for (int turn = 0; turn < 2; turn++) {
        TRY(submodi_fn_reset(c->fn, state));
        TRY(submodi_fn_chain(c->fn, state, c->list, k, gains));
        TRY(submodi_fn_tied(c->fn, state, elements, tied, of_turn[turn]));
        for (size_t i = 0; i < tied / 2; i++) { /* the other order, and back */
            int32_t e = elements[i];
            elements[i] = elements[tied - 1 - i];
            elements[tied - 1 - i] = e;
        }
    }
    for (size_t i = 0; i < tied; i++) {
        sum += of_turn[0][i];
        TRY(compare_callback(c, "tied in another order", k, elements[i], of_turn[1][tied - 1 - i],
                             of_turn[0][i]));
    }
    return compare_callback(c, "the sum of tied", k + tied, -1, sum, after - before);
}

enum { GROUND = 5 }; /* elements of the minors whose subsets are all tried */

/* Calls minimize for the minor of n elements after list[0 .. k-1] with random z. Both minimisers
 * must reach the minimum over all subsets, and the largest must contain the smallest. */
static submod_status compare_minimize(checker *c, size_t k, size_t n)
{
    const submod_minor minor = {c->list, k, c->list + k, n};
    uint8_t in[2][GROUND];
    double z[GROUND] = {0}, F[1 << GROUND] = {0}, lowest = 0;
    int32_t ground[GROUND], chosen[GROUND];
    memcpy(ground, minor.ground, n * sizeof *ground);
    for (uint32_t A = 0; A < UINT32_C(1) << n; A++) {
        size_t size = list_elements(A, chosen);
        for (size_t i = 0; i < size; i++) {
            c->list[k + i] = ground[chosen[i]];
        }
        TRY(value_of(c, c->list, k + size, &F[A]));
        memcpy(c->list + k, ground, n * sizeof *ground);
    }
    for (size_t i = 0; i < n; i++) {
        z[i] = 1.5 * submod_rng_uniform(&c->rng) * (F[1 << i] - F[0]);
    }
    for (uint32_t A = UINT32_C(1) << n; A-- > 0;) {
        F[A] -= F[0];
        for (size_t i = 0; i < n; i++) {
            F[A] -= A >> i & 1 ? z[i] : 0;
        }
        lowest = fmin(lowest, F[A]);
    }
    submod_status status = submodi_fn_minimize(c->fn, &minor, z, in[0], in[1], NULL);
    if (status != SUBMOD_OK) {
        return status == SUBMOD_EUNSUPPORTED ? SUBMOD_OK : status;
    }
    for (int which = 0; which < 2; which++) {
        uint32_t A = 0;
        for (size_t i = 0; i < n; i++) {
            A |= (uint32_t)in[which][i] << i;
        }
        TRY(compare_callback(c, "minimize", k, -1, F[A], lowest));
    }
    for (size_t i = 0; i < n; i++) {
        if (in[0][i] && !in[1][i]) {
            TRY(compare_callback(c, "minimize: the larger minimiser", k, ground[i], 0, INFINITY));
        }
    }
    return SUBMOD_OK;
}

/* Tests that u = x - s / lambda and that s sums to F on all sets {u >= t}. If F is submodular, s is
 * then a base that is optimal at u. */
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
    TRY(submod_argsort(u, n, c->list, NULL));
    TRY(value_of(c, c->list, 0, &empty));
    for (size_t i = 0; i < n; i++) {
        int32_t e = c->list[i];
        sum += s[e];
        TRY(compare_callback(c, "prox: s", i, e, s[e], lambda * (x[e] - u[e])));
        if (i + 1 == n || u[c->list[i + 1]] < u[e]) {
            TRY(value_of(c, c->list, i + 1, &value));
            TRY(compare_callback(c, "prox: the sum of s", i + 1, -1, sum, value - empty));
        }
    }
    return SUBMOD_OK;
}

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

static submod_status test_all_properties(checker *c, submod_work *w)
{
    double all; /* for the scale */
    TRY(value_of(c, c->list, c->fn->n, &all));
    TRY(check_callbacks(c, w));
    submodi_ascending(c->list, c->fn->n);
    if (c->fn->n <= c->settings.exhaustive_max || c->fn->n == 1) {
        return check_all(c, w);
    }
    for (uint64_t i = 0; i < c->settings.samples; i++) {
        TRY(check_sample(c));
    }
    return SUBMOD_OK;
}

static submod_status test_function(checker *c, submod_work *w)
{
    c->list = submodi_work_alloc(w, c->fn->n, sizeof *c->list);
    TRY(submodi_work_status(w));
    submodi_ascending(c->list, c->fn->n);
    TRY(submodi_fn_eval(c->fn, c->list, 0, &c->report.empty_value));
    c->report.evaluations++;
    keep_scale(c, c->report.empty_value);
    submod_status status = test_all_properties(c, w);
    c->report.normalised = fabs(c->report.empty_value) <= c->settings.tolerance * c->scale;
    /* A callback may have returned it. */
    return status == SUBMOD_ECALLBACK && submodi_cancelled() ? SUBMOD_CANCELLED : status;
}

static submod_status fn_check(const submod_fn *fn, submod_check_report *report,
                              const submod_check_settings *settings)
{
    checker c = {.fn = fn};
    TRY(submodi_check_given("fn", fn));
    TRY(submodi_check_given("report", report));
    TRY(read_settings(settings, 1e-9, &c.settings));
    return check(&c, test_function, report);
}

submod_status submod_fn_check(const submod_fn *fn, submod_check_report *report,
                              const submod_check_settings *settings)
{
    return submodi_return("submod_fn_check", fn_check(fn, report, settings));
}

/* ---- measures ---- */

/* Computes count values of F. If one is not finite, reports it and returns false. */
static bool evaluate(checker *c, size_t count, const double *a, const double *b, double *F)
{
    submod_check_report *r = &c->report;
    size_t good = submodi_measure_evaluate(c->measure, count, a, b, r->P, r->N, F);
    r->evaluations += count;
    for (size_t i = 0; i < good; i++) {
        c->scale = fmax(c->scale, fabs(F[i]));
    }
    if (good < count) {
        r->finite = 0;
        r->not_finite = (submod_counterexample){.a = a[good], .b = b[good], .left = F[good]};
    }
    return good == count;
}

/* Counts and two steps from there, each along one dimension. */
typedef struct steps {
    uint64_t at[2], d[2], e[2];
} steps;

/* Compares F at the counts, after d, e, and both. Without e, F has to increase. Dimension fg is the
 * foreground. */
static void compare_steps(checker *c, const steps *s, int fg, const double F[4])
{
    bool second = s->e[0] + s->e[1] > 0;
    property *p = second ? &c->submodular : &c->monotone;
    double left = second ? F[1] - F[0] : F[1], right = second ? F[3] - F[2] : F[0];
    if (is_worse(c, p, left, right)) {
        const submod_counterexample x = {.e = -1,
                                         .f = -1,
                                         .a = (double)s->at[fg],
                                         .b = (double)s->at[!fg],
                                         .da = (double)s->d[fg],
                                         .db = (double)s->d[!fg],
                                         .ea = (double)s->e[fg],
                                         .eb = (double)s->e[!fg],
                                         .left = left,
                                         .right = right};
        (void)keep(c, p, x, 0);
    }
}

/* Tests the differences of one step whose last corner lies in row `row`: rows[i] holds the values
 * of row - i. */
static void compare_row(checker *c, double *const rows[3], uint64_t row, size_t length, int fg)
{
    static const steps single[] = {{{0}, {0, 1}, {0, 0}},
                                   {{0}, {1, 0}, {0, 0}},
                                   {{0}, {0, 1}, {0, 1}},
                                   {{0}, {1, 0}, {0, 1}},
                                   {{0}, {1, 0}, {1, 0}}};
    for (size_t place = 0; place < length; place++) {
        for (size_t k = 0; k < sizeof single / sizeof *single; k++) {
            steps s = single[k];
            uint64_t up = s.d[0] + s.e[0], along = s.d[1] + s.e[1];
            if (row >= up && place >= along) {
                const double F[] = {rows[up][place - along], rows[s.e[0]][place - s.e[1]],
                                    rows[s.d[0]][place - s.d[1]], rows[0][place]};
                s.at[0] = row - up;
                s.at[1] = place - along;
                compare_steps(c, &s, fg, F);
            }
        }
    }
}

/* Rows run along the smaller of both counts, so that little memory is used. */
static submod_status check_pairs(checker *c, submod_work *work)
{
    int fg = c->P > c->N ? 0 : 1;
    size_t length = (size_t)fmin(c->P, c->N) + 1, count = (size_t)fmax(c->P, c->N) + 1;
    double *at[2], *rows[3];
    double **const vectors[] = {&at[0], &at[1], &rows[0], &rows[1], &rows[2], NULL};
    TRY(submodi_take_vectors(work, length, vectors) ? SUBMOD_OK : submodi_work_status(work));
    for (size_t row = 0; row < count; row++) {
        TRY(submodi_stop(c->deadline));
        double *oldest = rows[2];
        rows[2] = rows[1];
        rows[1] = rows[0];
        rows[0] = oldest;
        for (size_t i = 0; i < length; i++) {
            at[0][i] = (double)row;
            at[1][i] = (double)i;
        }
        if (!evaluate(c, length, at[fg], at[!fg], rows[0])) {
            return SUBMOD_OK;
        }
        compare_row(c, rows, row, length, fg);
    }
    c->report.exhaustive = 1;
    return SUBMOD_OK;
}

/* A random step of at most `room`: one, any, or all there is room for. */
static uint64_t random_step(submod_rng *rng, uint64_t room)
{
    uint64_t kind = submod_rng_below(rng, 3);
    return room < 2 || kind == 0 ? 1 : kind == 1 ? room : 1 + submod_rng_below(rng, room);
}

/* Two random steps from random counts, on the border or anywhere; false if there is no room. */
static bool random_steps(checker *c, bool border, steps *s)
{
    uint64_t left[2] = {(uint64_t)c->P, (uint64_t)c->N};
    *s = (steps){.at = {0, 0}};
    for (int k = 0; k < 2; k++) {
        int i = (int)submod_rng_below(&c->rng, 2);
        i = left[i] ? i : 1 - i;
        if (left[i] == 0) {
            return false;
        }
        (k ? s->e : s->d)[i] = random_step(&c->rng, k || left[i] < 2 ? left[i] : left[i] / 2);
        left[i] -= (k ? s->e : s->d)[i];
    }
    int edge = border ? (int)submod_rng_below(&c->rng, 4) : -1;
    for (int i = 0; i < 2; i++) {
        s->at[i] = submod_rng_below(&c->rng, left[i] + 1);
        s->at[i] = edge == 2 * i ? 0 : edge == 2 * i + 1 ? left[i] : s->at[i];
    }
    return true;
}

static submod_status check_some_pairs(checker *c)
{
    for (uint64_t i = 0; i < c->settings.samples; i++) {
        steps s;
        double at[2][4], F[4];
        TRY(submodi_stop(c->deadline));
        if (!random_steps(c, i % 2, &s)) {
            continue;
        }
        for (uint64_t k = 0; k < 8; k++) {
            size_t dimension = k / 4;
            at[dimension][k % 4] = (double)(s.at[dimension] + (k & 1) * s.d[dimension] +
                                            (k >> 1 & 1) * s.e[dimension]);
        }
        if (!evaluate(c, 4, at[0], at[1], F)) {
            return SUBMOD_OK;
        }
        compare_steps(c, &s, 0, F);
        s.e[0] = s.e[1] = 0;
        compare_steps(c, &s, 0, F);
    }
    return SUBMOD_OK;
}

/* Evaluates both ends first, so that the scale is at least F(P, N) even where F is small. */
static submod_status test_measure(checker *c, submod_work *w)
{
    const submod_check_settings *s = &c->settings;
    const double none = 0, pairs = (c->P + 1) * (c->N + 1);
    double all_wrong;
    if (!evaluate(c, 1, &none, &none, &c->report.empty_value) ||
        !evaluate(c, 1, &c->P, &c->N, &all_wrong)) {
        return SUBMOD_OK;
    }
    c->report.normalised = c->report.empty_value == 0;
    bool all = pairs <= ldexp(1, (int)s->exhaustive_max) || pairs <= (double)s->samples;
    return all ? check_pairs(c, w) : check_some_pairs(c);
}

static submod_status measure_check(const submod_measure *measure, uint64_t P, uint64_t N,
                                   submod_check_report *report,
                                   const submod_check_settings *settings)
{
    const uint64_t largest = UINT64_C(1) << 53;
    submod_measure m;
    checker c = {.measure = &m, .P = (double)P, .N = (double)N};
    TRY(submodi_check_given("report", report));
    TRY(submodi_read_measure("measure", measure, &m));
    TRY(read_settings(settings, 0x1p-46, &c.settings));
    return P <= largest && N <= largest
               ? check(&c, test_measure, report)
               : submodi_fail(SUBMOD_EINVAL,
                              "P = %" PRIu64 " and N = %" PRIu64 " must be at most 2^53", P, N);
}

submod_status submod_measure_check(const submod_measure *measure, uint64_t P, uint64_t N,
                                   submod_check_report *report,
                                   const submod_check_settings *settings)
{
    return submodi_return("submod_measure_check", measure_check(measure, P, N, report, settings));
}

/* ---- the report ---- */

void submod_check_report_clear(submod_check_report *report)
{
    if (!report) {
        return;
    }
    enum { KINDS = 5 };
    submod_counterexample *const examples[KINDS] = {&report->not_finite, &report->not_submodular,
                                                    &report->not_monotone, &report->not_symmetric,
                                                    &report->not_consistent};
    for (size_t i = 0; i < KINDS; i++) {
        submodi_free(examples[i]->set);
        *examples[i] = (submod_counterexample){0};
    }
}

/* Text of a report. As with snprintf, length also counts what does not fit; text may be NULL if
 * size is 0. */
typedef struct text_buffer {
    char *text;
    size_t size, length;
    const submod_check_report *report;
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

/* Begins a line about a property. Returns whether it fails, after the set of the counterexample. */
static bool put_property(text_buffer *t, const char *name, int holds,
                         const submod_counterexample *x)
{
    enum { SHOWN = 20 };
    bool proof = t->report->exhaustive && x != &t->report->not_consistent;
    put(t, "\n%s: %s", name, !holds ? "no, " : proof ? "yes" : "no counterexample found");
    if (!holds && !t->report->of_measure) {
        put(t, "A = {");
        for (size_t i = 0; i < x->set_size && i < SHOWN; i++) {
            put(t, i ? ", %d" : "%d", (int)x->set[i]);
        }
        put(t, x->set_size > SHOWN ? ", .. %zu elements}" : "}", x->set_size);
    }
    return !holds;
}

static void put_measure(text_buffer *t, const submod_check_report *r)
{
    const submod_counterexample *x = &r->not_finite;
    put(t, "%s of P = %g, N = %g, %" PRIu64 " evaluations",
        r->exhaustive ? "all pairs" : "some pairs", r->P, r->N, r->evaluations);
    if (put_property(t, "finite", r->finite, x)) {
        put(t, "F(%g, %g) = %g", x->a, x->b, x->left);
    }
    put(t, "\nnormalised: %s (F(0, 0) is %g)", r->normalised ? "yes" : "no", r->empty_value);
    x = &r->not_monotone;
    if (put_property(t, "increasing", r->monotone, x)) {
        put(t, "F(%g, %g) = %.9g, but F(%g, %g) = %.9g", x->a, x->b, x->right, x->a + x->da,
            x->b + x->db, x->left);
    }
    x = &r->not_submodular;
    if (put_property(t, "submodular", r->submodular, x)) {
        put(t, "%g more of the %s add %.9g to F(%g, %g), but %.9g to F(%g, %g)",
            x->da > 0 ? x->da : x->db, x->da > 0 ? "foreground" : "background", x->left, x->a, x->b,
            x->right, x->a + x->ea, x->b + x->eb);
    }
}

static void put_function(text_buffer *t, const submod_check_report *r)
{
    put(t, "%s, %" PRIu64 " evaluations in %.3g s",
        r->exhaustive ? "all subsets tried" : "some subsets tried", r->evaluations, r->seconds);
    put(t, "\nnormalised: %s (F of the empty set is %g)", r->normalised ? "yes" : "no",
        r->empty_value);
    const submod_counterexample *x = &r->not_submodular;
    if (put_property(t, "submodular", r->submodular, x)) {
        put(t, ": element %d adds %.9g to A, but %.9g to A + %d", (int)x->e, x->left, x->right,
            (int)x->f);
    }
    x = &r->not_monotone;
    if (put_property(t, "monotone", r->monotone, x)) {
        put(t, ": element %d adds %.9g", (int)x->e, x->left);
    }
    x = &r->not_symmetric;
    if (put_property(t, "symmetric", r->symmetric, x)) {
        put(t, ": F(A) = %.9g, F(V - A) = %.9g", x->left, x->right);
    }
    x = &r->not_consistent;
    if (put_property(t, "callbacks agree with eval", r->consistent, x)) {
        if (x->e >= 0) {
            put(t, ", element %d", (int)x->e);
        }
        put(t, ": %s gives %.17g, eval %.17g", x->callback, x->left, x->right);
    }
}

size_t submod_check_report_text(const submod_check_report *r, char *text, size_t size)
{
    text_buffer t = {text, text ? size : 0, 0, r};
    if (!r) {
        put(&t, "no report");
        return t.length;
    }
    (r->of_measure ? put_measure : put_function)(&t, r);
    put(&t, "\n");
    return t.length;
}
