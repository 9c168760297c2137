/* submod_fn_check: all subsets of small ground sets, random tests on large ones, counterexamples
 * that hold. */
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
    submod_fn_ops ops = {.struct_size = sizeof ops, .eval = eval};
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
        ck_assert_ok(submod_fn_sqrt(n, &fn));
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
    submod_fn_ops ops = {.struct_size = sizeof ops,
                         .eval = square_root,
                         .state_size = 8,
                         .reset = forget_reset,
                         .push = forget_push};
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

int main(void)
{
    return RUN_TESTS("check", known_answers, one_violation_anywhere, all_families_are_submodular,
                     tiny_ground_sets, random_tests_find_dice, time_is_bounded,
                     any_value_of_the_empty_set, inconsistent_callbacks);
}
