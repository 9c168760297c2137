/* submod_fn_check and submod_measure_check: all cases of small problems, random ones of large ones,
 * counterexamples that hold, every callback, reports as text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

/* Functions of a foreground of P pixels among n; ctx points to P. */
static void split(const void *ctx, const int32_t *set, size_t k, double *in, double *out)
{
    const int *P = ctx;
    *in = 0;
    for (size_t i = 0; i < k; i++) {
        *in += set[i] < *P;
    }
    *out = (double)k - *in;
}

static submod_status dice_of_errors(const void *ctx, const int32_t *set, size_t k, double *value)
{
    double a, b, P = *(const int *)ctx;
    split(ctx, set, k, &a, &b);
    *value = (a + b) / (2 * P - a + b);
    return SUBMOD_OK;
}

static submod_status iou_of_prediction(const void *ctx, const int32_t *set, size_t k, double *value)
{
    double hit, extra, P = *(const int *)ctx;
    split(ctx, set, k, &hit, &extra);
    *value = hit / (P + extra);
    return SUBMOD_OK;
}

static submod_fn *
custom(size_t n, submod_status (*eval)(const void *, const int32_t *, size_t, double *), void *ctx)
{
    submod_fn_ops ops = {.eval = eval};
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_custom(n, &ops, ctx, &fn));
    return fn;
}

static double F_of(const submod_fn *fn, const submod_counterexample *x, int32_t e, int32_t f)
{
    int32_t set[1000];
    size_t k = x->set_size;
    double value;
    for (size_t i = 0; i < k; i++) {
        set[i] = x->set[i];
    }
    if (e >= 0) {
        set[k++] = e;
    }
    if (f >= 0) {
        set[k++] = f;
    }
    ck_assert_ok(submod_fn_eval(fn, set, k, &value));
    return value;
}

/* Recomputes the counterexample from scratch. */
static void assert_not_submodular(const submod_fn *fn, const submod_check_report *r)
{
    const submod_counterexample *x = &r->not_submodular;
    ck_assert_int_eq(r->submodular, 0);
    double gain = F_of(fn, x, x->e, -1) - F_of(fn, x, -1, -1);
    double later = F_of(fn, x, x->e, x->f) - F_of(fn, x, -1, x->f);
    ck_assert_near(gain, x->left, 1e-12);
    ck_assert_near(later, x->right, 1e-12);
    ck_assert(later > gain + 1e-6);
}

START_TEST(known_answers)
{
    int P = 4;
    submod_check_report r;

    submod_fn *dice = custom(9, dice_of_errors, &P);
    ck_assert_ok(submod_fn_check(dice, &r, NULL));
    ck_assert(r.exhaustive && r.normalised && r.monotone && !r.symmetric && r.consistent);
    assert_not_submodular(dice, &r);
    submod_check_report_clear(&r);
    submod_check_report_clear(&r);
    submod_fn_free(dice);

    submod_fn *iou = custom(9, iou_of_prediction, &P);
    ck_assert_ok(submod_fn_check(iou, &r, NULL));
    ck_assert(r.exhaustive && r.normalised && !r.monotone);
    assert_not_submodular(iou, &r);
    const submod_counterexample *x = &r.not_monotone;
    ck_assert_near(F_of(iou, x, x->e, -1) - F_of(iou, x, -1, -1), x->left, 1e-12);
    ck_assert(x->left < 0);
    submod_check_report_clear(&r);
    submod_fn_free(iou);
}
END_TEST

/* F(A) = h(|A|), with h at ctx. */
static submod_status of_size(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const double *h = ctx;
    (void)set;
    *value = h[k];
    return SUBMOD_OK;
}

/* The proof looks at sets of every size, the empty one too: functions that grow by less and less
 * except once, and functions that grow except once. */
START_TEST(one_violation_anywhere)
{
    enum { N = 7 };
    for (size_t at = 0; at < N; at++) {
        double bent[N + 1] = {0}, falling[N + 1] = {0};
        for (size_t k = 0; k < N; k++) {
            double gain = (double)(2 * (N - k));
            bent[k + 1] = bent[k] + gain + (k == at + 1 ? 3 : 0);
            falling[k + 1] = falling[k] + (k == at ? -1 : 1);
        }
        submod_fn *first = custom(N, of_size, bent), *second = custom(N, of_size, falling);
        submod_check_report r;
        ck_assert_ok(submod_fn_check(first, &r, NULL));
        ck_assert(r.exhaustive && r.monotone);
        ck_assert_int_eq(r.submodular, at == N - 1); /* no two elements are left there */
        if (!r.submodular) {
            assert_not_submodular(first, &r);
            ck_assert_uint_eq(r.not_submodular.set_size, at);
        }
        submod_check_report_clear(&r);
        ck_assert_ok(submod_fn_check(second, &r, NULL));
        ck_assert(r.exhaustive && !r.monotone);
        ck_assert_uint_eq(r.not_monotone.set_size, at);
        ck_assert_near(r.not_monotone.left, -1, 0);
        submod_check_report_clear(&r);
        submod_fn_free(first);
        submod_fn_free(second);
    }
}
END_TEST

START_TEST(all_families_are_submodular)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (size_t i = 0; i < family_count; i++) {
        submod_fn *fn = families[i].make(10, &rng);
        submod_check_report r;
        ck_assert_ok(submod_fn_check(fn, &r, NULL));
        ck_assert_msg(r.exhaustive && r.normalised && r.submodular && r.consistent, "%s",
                      families[i].name);
        ck_assert_uint_ge(r.evaluations, 1 << 10);
        ck_assert(!families[i].monotone || r.monotone);
        int symmetric = strcmp(families[i].name, "undirected cut") == 0 ||
                        strcmp(families[i].name, "hypergraph") == 0;
        ck_assert_int_eq(r.symmetric, symmetric);
        submod_check_report_clear(&r);
        submod_fn_free(fn);
    }
}
END_TEST

/* One element and two: nothing to compare, still right. */
START_TEST(tiny_ground_sets)
{
    for (size_t n = 1; n <= 2; n++) {
        submod_fn *fn = NULL;
        submod_check_report r;
        submod_check_settings s = submod_check_defaults();
        s.exhaustive_max = 0; /* asks for random tests even here */
        ck_assert_ok(
            submod_fn_concave(n, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn));
        ck_assert_ok(submod_fn_check(fn, &r, &s));
        ck_assert(r.normalised && r.submodular && r.monotone && r.consistent);
        submod_check_report_clear(&r);
        submod_fn_free(fn);
    }
}
END_TEST

START_TEST(random_tests_find_dice)
{
    int P = 300;
    submod_fn *dice = custom(1000, dice_of_errors, &P);
    submod_check_report first, second;
    submod_check_settings s = submod_check_defaults();
    s.seed = 7;
    ck_assert_ok(submod_fn_check(dice, &first, &s));
    ck_assert_ok(submod_fn_check(dice, &second, &s));
    ck_assert_int_eq(first.exhaustive, 0);
    ck_assert_int_eq(first.submodular, 0);
    ck_assert(first.not_submodular.left == second.not_submodular.left); /* seeded */
    ck_assert_uint_eq(first.evaluations, second.evaluations);
    submod_check_report_clear(&first);
    submod_check_report_clear(&second);
    submod_fn_free(dice);
}
END_TEST

static submod_status slow(const void *ctx, const int32_t *set, size_t k, double *value)
{
    (void)ctx;
    (void)set;
    volatile double sum = 0;
    for (int i = 0; i < 100000; i++) {
        sum += i;
    }
    *value = (double)k + 0 * sum;
    return SUBMOD_OK;
}

START_TEST(time_is_bounded)
{
    submod_check_settings s = submod_check_defaults();
    s.time_limit = 0.05;
    for (size_t n = 16; n <= 64; n *= 4) {
        submod_fn *fn = custom(n, slow, NULL);
        submod_check_report r;
        ck_assert_int_eq(submod_fn_check(fn, &r, &s), SUBMOD_TIMELIMIT);
        ck_assert_int_eq(r.exhaustive, 0);
        ck_assert(r.submodular);
        ck_assert_uint_lt(r.evaluations, 1 << 16);
        submod_check_report_clear(&r);
        submod_fn_free(fn);
    }
}
END_TEST

/* A push that forgets to update its state. */
static submod_status forget_reset(const void *ctx, void *state)
{
    (void)ctx;
    (void)state;
    return SUBMOD_OK;
}

static submod_status forget_push(const void *ctx, void *state, int32_t e, double *gain)
{
    (void)ctx;
    (void)state;
    (void)e;
    *gain = 1;
    return SUBMOD_OK;
}

CHAIN_OF_PUSHES(forget_chain, forget_push)

static submod_status square_root(const void *ctx, const int32_t *set, size_t k, double *value)
{
    (void)ctx;
    (void)set;
    *value = sqrt((double)k) + 1;
    return SUBMOD_OK;
}

/* A large F(empty) hides no violation, and its rounding is none. */
START_TEST(any_value_of_the_empty_set)
{
    enum { N = 6 };
    const double empty[] = {0, 1e3, -1e10, 1e13};
    for (size_t i = 0; i < 4; i++) {
        double convex[N + 1], concave[N + 1];
        for (size_t k = 0; k <= N; k++) {
            convex[k] = empty[i] + (double)(k * k);
            concave[k] = empty[i] + 7 * sqrt((double)k);
        }
        submod_fn *bad = custom(N, of_size, convex), *good = custom(N, of_size, concave);
        submod_check_report r;
        ck_assert_ok(submod_fn_check(bad, &r, NULL));
        ck_assert(!r.submodular && r.monotone && !r.symmetric);
        ck_assert_int_eq(r.normalised, i == 0);
        submod_check_report_clear(&r);
        ck_assert_ok(submod_fn_check(good, &r, NULL));
        ck_assert(r.submodular && r.monotone && !r.symmetric);
        ck_assert_int_eq(r.normalised, i == 0);
        submod_check_report_clear(&r);
        submod_fn_free(bad);
        submod_fn_free(good);
    }
}
END_TEST

START_TEST(inconsistent_callbacks)
{
    submod_fn_ops ops = {
        .eval = square_root, .state_size = 8, .reset = forget_reset, .chain = forget_chain};
    submod_fn *fn = NULL;
    submod_check_report r;
    char text[2000];
    ck_assert_ok(submod_fn_custom(6, &ops, NULL, &fn));
    ck_assert_ok(submod_fn_check(fn, &r, NULL));
    ck_assert(!r.consistent && !r.normalised && r.submodular && r.monotone);
    ck_assert_near(r.empty_value, 1, 0);
    ck_assert_near(r.not_consistent.left, 1, 0);
    size_t length = submod_check_report_text(&r, text, sizeof text);
    ck_assert_uint_eq(length, strlen(text));
    ck_assert_ptr_nonnull(strstr(text, "callbacks agree with eval: no"));
    ck_assert_ptr_nonnull(strstr(text, "normalised: no (F of the empty set is 1)"));
    ck_assert_uint_eq(submod_check_report_text(&r, NULL, 0), length);
    char cut[10];
    ck_assert_uint_eq(submod_check_report_text(&r, cut, sizeof cut), length);
    ck_assert_uint_eq(strlen(cut), 9);
    ck_assert_uint_gt(submod_check_report_text(NULL, text, sizeof text), 0);
    submod_check_report_clear(&r);
    submod_check_report_clear(NULL);
    submod_fn_free(fn);
}
END_TEST

/* ---- tied, minimize, prox ---- */

/* A function of the cardinality whose callbacks are right but one, by ctx. */
enum { RIGHT, WRONG_TIED, UNFAIR_TIED, WRONG_MINIMIZE, WRONG_PROX };

static submod_status root_reset(const void *ctx, void *state)
{
    (void)ctx;
    *(double *)state = 0;
    return SUBMOD_OK;
}

static submod_status root_chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                                double *gains)
{
    double *size = state;
    (void)ctx, (void)elements;
    for (size_t i = 0; i < k; i++, ++*size) {
        gains[i] = sqrt(*size + 1) - sqrt(*size);
    }
    return SUBMOD_OK;
}

static submod_status root_tied(const void *ctx, void *state, const int32_t *elements, size_t k,
                               double *gains)
{
    double *size = state, mean = (sqrt(*size + (double)k) - sqrt(*size)) / (double)k;
    int fault = *(const int *)ctx;
    if (fault == UNFAIR_TIED) {
        return root_chain(ctx, state, elements, k, gains);
    }
    for (size_t i = 0; i < k; i++) {
        gains[i] = mean + (fault == WRONG_TIED ? 1e-3 : 0);
    }
    *size += (double)k;
    return SUBMOD_OK;
}

/* By trying all subsets, or the empty one alone. */
static submod_status root_minimize(const void *ctx, const submod_minor *m, const double *z,
                                   uint8_t *smallest, uint8_t *largest, double *base)
{
    double best = 0;
    uint32_t set = 0;
    (void)base;
    for (uint32_t i = 0; *(const int *)ctx != WRONG_MINIMIZE && i < UINT32_C(1) << m->nground;
         i++) {
        double size = (double)m->nbase, value = -sqrt(size);
        for (size_t j = 0; j < m->nground; j++) {
            size += i >> j & 1;
            value -= i >> j & 1 ? z[j] : 0;
        }
        value += sqrt(size);
        set = value < best ? i : set;
        best = fmin(best, value);
    }
    for (size_t j = 0; j < m->nground; j++) {
        smallest[j] = largest[j] = set >> j & 1;
    }
    return SUBMOD_OK;
}

/* By the library's cardinality function, and then spoiled. */
static submod_status root_prox(const void *ctx, const double *x, double lambda, double *u,
                               double *s)
{
    submod_fn *fn = NULL;
    submod_status status =
        submod_fn_concave(7, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn);
    status = status ? status : submod_prox(fn, x, lambda, u, s, NULL, NULL, NULL);
    submod_fn_free(fn);
    u[0] += *(const int *)ctx == WRONG_PROX ? 1e-3 : 0;
    return status;
}

START_TEST(every_callback_is_tested)
{
    static const char *const words[] = {"", "the sum of tied", "tied in another order",
                                        "minimize gives", "prox: "};
    for (int fault = RIGHT; fault <= WRONG_PROX; fault++) {
        submod_fn_ops ops = {.eval = square_root,
                             .state_size = sizeof(double),
                             .reset = root_reset,
                             .chain = root_chain,
                             .tied = root_tied,
                             .minimize = root_minimize,
                             .prox = root_prox};
        submod_fn *fn = NULL;
        submod_check_report r;
        char text[2000];
        ck_assert_ok(submod_fn_custom(7, &ops, &fault, &fn));
        ck_assert_ok(submod_fn_check(fn, &r, NULL));
        submod_check_report_text(&r, text, sizeof text);
        ck_assert_msg(r.submodular && r.consistent == (fault == RIGHT), "%d: %s", fault, text);
        ck_assert_msg(strstr(text, words[fault]) != NULL, "%d: %s", fault, text);
        submod_check_report_clear(&r);
        submod_fn_free(fn);
    }
}
END_TEST

/* ---- measures ---- */

/* 1 - TP / (TP + beta FN + alpha FP), as it is written down in books. */
static double tversky(double a, double b, double P, double alpha, double beta)
{
    double TP = P - a;
    double all = TP + beta * a + alpha * b;
    return all > 0 ? 1 - TP / all : 0;
}

static double root(double a, double b, double P, double N, void *ctx)
{
    (void)ctx;
    return sqrt((a + 2 * b) / (P + 2 * N));
}

/* All pairs, if there are at most `samples` or for samples = 0, else so many random ones. */
static submod_status measure_check(const submod_measure *m, uint64_t P, uint64_t N,
                                   uint64_t samples, submod_check_report *report)
{
    submod_check_settings s = submod_check_defaults();
    s.exhaustive_max = samples ? 0 : SUBMOD_EXHAUSTIVE_MAX;
    s.samples = samples;
    return submod_measure_check(m, P, N, report, &s);
}

/* Tversky's measure without its limits. */
static double any_tversky(double a, double b, double P, double N, void *ctx)
{
    const double *alpha_beta = ctx;
    (void)N;
    return tversky(a, b, P, alpha_beta[0], alpha_beta[1]);
}

/* Falls where all is wrong. */
static double falling(double a, double b, double P, double N, void *ctx)
{
    (void)ctx;
    return root(a, b, P, N, NULL) - (a == P && b == N ? 0.5 : 0);
}

static double shifted(double a, double b, double P, double N, void *ctx)
{
    return *(const double *)ctx + root(a, b, P, N, NULL);
}

/* Not finite at one place. */
static double broken(double a, double b, double P, double N, void *ctx)
{
    const double *at = ctx;
    return a == at[0] && b == at[1] ? at[2] : root(a, b, P, N, NULL);
}

/* Every pair of counts, one of each kind after the other: is it submodular? */
static int by_all_pairs(submod_measure m, int P, int N)
{
    int holds = 1;
    for (int a = 0; a <= P; a++) {
        for (int b = 0; b <= N; b++) {
            double F[3][3];
            for (int i = 0; i < 3; i++) {
                for (int j = 0; j < 3; j++) {
                    F[i][j] = m.ops.value(a + i, b + j, P, N, m.ctx);
                }
            }
            holds &= a + 2 > P || F[2][0] - 2 * F[1][0] + F[0][0] <= 1e-12;
            holds &= b + 2 > N || F[0][2] - 2 * F[0][1] + F[0][0] <= 1e-12;
            holds &= a + 1 > P || b + 1 > N || F[1][1] - F[1][0] - F[0][1] + F[0][0] <= 1e-12;
        }
    }
    return holds;
}

/* Whether a counterexample is one. */
static void assert_failure(const submod_measure *m, const submod_check_report *r)
{
    const submod_counterexample *f = &r->not_submodular;
    double P = r->P, N = r->N;
    double first = m->ops.value(f->a + f->da, f->b + f->db, P, N, m->ctx) -
                   m->ops.value(f->a, f->b, P, N, m->ctx);
    double later = m->ops.value(f->a + f->da + f->ea, f->b + f->db + f->eb, P, N, m->ctx) -
                   m->ops.value(f->a + f->ea, f->b + f->eb, P, N, m->ctx);
    ck_assert(first < later && f->left == first && f->right == later);
    ck_assert((f->da == 0) != (f->db == 0) && (f->ea == 0) != (f->eb == 0));
    ck_assert(f->a + f->da + f->ea <= P && f->b + f->db + f->eb <= N);
}

START_TEST(measures_by_all_pairs)
{
    submod_rng rng;
    submod_rng_seed(&rng, 20);
    for (int repeat = 0; repeat < 300; repeat++) {
        double parameters[2] = {2 * submod_rng_uniform(&rng), 0.5 + submod_rng_uniform(&rng)};
        submod_measure m =
            submod_measure_custom(&(submod_measure_ops){.value = any_tversky}, parameters);
        int P = (int)submod_rng_below(&rng, 12), N = (int)submod_rng_below(&rng, 12);
        submod_check_report report;
        ck_assert_ok(measure_check(&m, (uint64_t)P, (uint64_t)N, 0, &report));
        ck_assert(report.exhaustive && report.finite && report.normalised && report.monotone);
        ck_assert_int_eq(report.submodular, by_all_pairs(m, P, N));
        ck_assert_uint_eq(report.evaluations, (uint64_t)((P + 1) * (N + 1) + 2));
        ck_assert(parameters[1] < 1 || report.submodular);
        if (!report.submodular) {
            assert_failure(&m, &report);
        }
    }
}
END_TEST

static double one_less(double a, double b, double P, double N, void *ctx)
{
    (void)N;
    (void)ctx;
    return 1 - (P - a) / (P + b);
}

/* A measure that is a difference of larger numbers has their rounding errors where it is small,
 * too: that is no counterexample. */
START_TEST(measures_with_rounding)
{
    submod_measure m = submod_measure_custom(&(submod_measure_ops){.value = one_less}, NULL);
    submod_check_report report;
    const uint64_t samples[] = {0, 10000};
    for (int i = 0; i < 2; i++) {
        ck_assert_ok(measure_check(&m, 100000, 10, samples[i], &report));
        ck_assert(report.monotone && report.submodular);
    }
}
END_TEST

/* Dice is not submodular, at any size; too small to see in single steps of a large lattice. */
START_TEST(measures_by_a_sample)
{
    double dice[2] = {0.5, 0.5}, good[2] = {0.5, 1.5};
    const uint64_t sizes[] = {40, 10000, 100000000};
    for (int i = 0; i < 3; i++) {
        submod_measure m = submod_measure_custom(&(submod_measure_ops){.value = any_tversky}, dice);
        submod_check_report report;
        ck_assert_ok(measure_check(&m, sizes[i], 3 * sizes[i], 2000, &report));
        ck_assert(!report.exhaustive && !report.submodular && report.monotone && report.finite);
        assert_failure(&m, &report);
        m = submod_measure_custom(&(submod_measure_ops){.value = any_tversky}, good);
        ck_assert_ok(measure_check(&m, sizes[i], 3 * sizes[i], 2000, &report));
        ck_assert(!report.exhaustive && report.submodular && report.monotone && report.finite);
        ck_assert(report.evaluations <= 4 * 2000 + 2);
        ck_assert_ok(measure_check(NULL, sizes[i], sizes[i], 2000, &report));
        ck_assert(report.submodular && report.monotone && report.normalised);
    }
    /* As many samples as pairs: all of them. */
    submod_measure m = submod_measure_custom(&(submod_measure_ops){.value = any_tversky}, good);
    submod_check_report report;
    ck_assert_ok(measure_check(&m, 9, 9, 100, &report));
    ck_assert(report.exhaustive && report.submodular);
    ck_assert_ok(measure_check(&m, 0, 0, 0, &report));
    ck_assert(report.exhaustive && report.submodular);
}
END_TEST

START_TEST(measures_in_words)
{
    submod_measure m = submod_measure_custom(&(submod_measure_ops){.value = falling}, NULL);
    submod_check_report report;
    char text[600];
    ck_assert_ok(measure_check(&m, 3, 2, 0, &report));
    ck_assert(!report.monotone);
    ck_assert(submod_check_report_text(&report, text, sizeof text) < sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "increasing: no, F(2, 2)"));
    ck_assert_ptr_nonnull(strstr(text, "all pairs of P = 3, N = 2"));
    double dice[2] = {0.5, 0.5};
    m = submod_measure_custom(&(submod_measure_ops){.value = any_tversky}, dice);
    ck_assert_ok(measure_check(&m, 3, 2, 0, &report));
    size_t length = submod_check_report_text(&report, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "submodular: no, 1 more of the foreground add"));
    ck_assert_uint_eq(submod_check_report_text(&report, text, 5), length);
    ck_assert_uint_eq(strlen(text), 4);
    ck_assert_uint_eq(submod_check_report_text(&report, NULL, 0), length);
    ck_assert_uint_eq(submod_check_report_text(NULL, text, sizeof text), strlen("no report"));
    double shift = 0.25;
    m = submod_measure_custom(&(submod_measure_ops){.value = shifted}, &shift);
    ck_assert_ok(measure_check(&m, 3, 2, 0, &report));
    ck_assert(!report.normalised && report.empty_value == 0.25 && report.submodular);
    const double places[][3] = {{0, 0, NAN}, {3, 2, INFINITY}, {1, 1, -INFINITY}};
    for (int i = 0; i < 3; i++) {
        double at[3] = {places[i][0], places[i][1], places[i][2]};
        m = submod_measure_custom(&(submod_measure_ops){.value = broken}, at);
        ck_assert_ok(measure_check(&m, 3, 2, 0, &report));
        ck_assert(!report.finite && !report.exhaustive);
        ck_assert(report.not_finite.a == at[0] && report.not_finite.b == at[1]);
        submod_check_report_text(&report, text, sizeof text);
        ck_assert_ptr_nonnull(strstr(text, "finite: no, F("));
    }
}
END_TEST

START_TEST(measures_refused)
{
    submod_measure m = submod_measure_custom(&(submod_measure_ops){.value = root}, NULL);
    submod_measure dice = submod_tversky(0.5, 0.5);
    submod_check_report report = {.P = 7};
    submod_check_settings s = submod_check_defaults();
    assert_error(submod_measure_check(&m, 1, 1, NULL, NULL), SUBMOD_EINVAL,
                 "submod_measure_check: report");
    assert_error(submod_measure_check(&dice, 1, 1, &report, NULL), SUBMOD_EINVAL, "Dice");
    assert_error(submod_measure_check(&m, UINT64_MAX, 1, &report, NULL), SUBMOD_EINVAL, "2^53");
    s.tolerance = -2;
    assert_error(submod_measure_check(&m, 1, 1, &report, &s), SUBMOD_EINVAL, "tolerance = -2");
    ck_assert(report.P == 7);
    s = submod_check_defaults();
    s.time_limit = 1e-6;
    s.exhaustive_max = SUBMOD_EXHAUSTIVE_MAX;
    ck_assert_int_eq(submod_measure_check(&m, 4000, 4000, &report, &s), SUBMOD_TIMELIMIT);
    ck_assert(!report.exhaustive && report.of_measure && report.submodular);
}
END_TEST

enum { SIDE = 7 };

typedef struct table {
    double F[SIDE][SIDE]; /* by a and b */
} table;

static double table_value(double a, double b, double P, double N, void *ctx)
{
    const table *t = ctx;
    (void)P, (void)N;
    return t->F[(size_t)a][(size_t)b];
}

/* F at a pair and after a step, as the failure says. */
static double step_from(const table *t, double a, double b, double da, double db)
{
    return t->F[(size_t)(a + da)][(size_t)(b + db)] - t->F[(size_t)a][(size_t)b];
}

static void check_failures(const table *t, const submod_check_report *r)
{
    const submod_counterexample *f = &r->not_monotone;
    if (!r->monotone) {
        ck_assert((f->da > 0) != (f->db > 0));
        ck_assert(f->right == t->F[(size_t)f->a][(size_t)f->b]);
        ck_assert(f->left == t->F[(size_t)(f->a + f->da)][(size_t)(f->b + f->db)]);
        ck_assert(f->left < f->right);
    }
    f = &r->not_submodular;
    if (!r->submodular) {
        ck_assert((f->da > 0) != (f->db > 0) && (f->ea > 0) != (f->eb > 0));
        ck_assert(f->left == step_from(t, f->a, f->b, f->da, f->db));
        ck_assert(f->right == step_from(t, f->a + f->ea, f->b + f->eb, f->da, f->db));
        ck_assert(f->left < f->right);
    }
}

/* They are what the header says, by proof and by sample, and by proof the worst fall of all. */
START_TEST(measures_counterexamples)
{
    submod_rng rng;
    submod_rng_seed(&rng, 66);
    for (int repeat = 0; repeat < 400; repeat++) {
        uint64_t P = 1 + submod_rng_below(&rng, SIDE - 1), N = 1 + submod_rng_below(&rng, SIDE - 1);
        table t = {{{0}}};
        double worst = 0;
        for (size_t a = 0; a <= P; a++) {
            for (size_t b = 0; b <= N; b++) {
                t.F[a][b] = a + b ? sqrt((double)(2 * a + b)) + 0.3 * submod_rng_uniform(&rng) : 0;
                worst = fmax(worst, a > 0 ? t.F[a - 1][b] - t.F[a][b] : 0);
                worst = fmax(worst, b > 0 ? t.F[a][b - 1] - t.F[a][b] : 0);
            }
        }
        submod_measure m = submod_measure_custom(&(submod_measure_ops){.value = table_value}, &t);
        submod_check_report r;
        ck_assert_ok(measure_check(&m, P, N, repeat % 2 ? 0 : 20, &r));
        check_failures(&t, &r);
        if (r.exhaustive) {
            ck_assert_int_eq(r.monotone, worst == 0);
            ck_assert(r.monotone || r.not_monotone.right - r.not_monotone.left == worst);
        }
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("check", known_answers, one_violation_anywhere, all_families_are_submodular,
                     tiny_ground_sets, random_tests_find_dice, time_is_bounded,
                     any_value_of_the_empty_set, inconsistent_callbacks, every_callback_is_tested,
                     measures_by_all_pairs, measures_with_rounding, measures_by_a_sample,
                     measures_in_words, measures_refused, measures_counterexamples);
}
