/* Precision, recall, F and Tversky, and counts of groups, against their definitions by sets. */
#include <submod/metric.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "support.h"

static const submod_absent conventions[] = {SUBMOD_ABSENT_ONE, SUBMOD_ABSENT_ZERO,
                                            SUBMOD_ABSENT_SKIP, SUBMOD_ABSENT_TRUTH};

static submod_confusion *count(const uint8_t *p, const uint8_t *t, size_t n, size_t classes)
{
    submod_confusion *c = NULL;
    submod_labels prediction = submod_labels_u8(p, 1, n);
    submod_labels truth = submod_labels_u8(t, 1, n);
    submod_metric_settings settings = submod_metric_defaults();
    settings.has_ignore = 1;
    settings.ignore_index = 255;
    ck_assert_ok(submod_confusion_create(classes, &c, &settings));
    ck_assert_ok(submod_confusion_add(c, &prediction, &truth));
    return c;
}

static void assert_same(double value, double wanted)
{
    ck_assert_msg(isnan(wanted) ? isnan(value) : fabs(value - wanted) <= 1e-15,
                  "%.17g instead of %.17g", value, wanted);
}

/* ---- by true positives, false positives, false negatives ---- */

typedef struct errors {
    double tp, fp, fn;
} errors;

static errors find_errors(const uint8_t *p, const uint8_t *t, size_t n, int c)
{
    errors e = {0, 0, 0};
    for (size_t i = 0; i < n; i++) {
        e.tp += t[i] == c && p[i] == c;
        e.fp += t[i] != c && t[i] != 255 && p[i] == c;
        e.fn += t[i] == c && p[i] != c;
    }
    return e;
}

/* The rule of metric.h: left out, or 0/0 as the convention has it. */
static double by_rule(submod_absent absent, const errors *e, double numerator, double denominator)
{
    if ((absent == SUBMOD_ABSENT_TRUTH && e->tp + e->fn == 0) ||
        (absent == SUBMOD_ABSENT_SKIP && e->tp + e->fp + e->fn == 0)) {
        return NAN;
    }
    return denominator > 0 ? numerator / denominator : absent == SUBMOD_ABSENT_ONE;
}

START_TEST(rates_by_definition)
{
    enum { N = 40, C = 7 };
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    for (int trial = 0; trial < 400; trial++) {
        uint8_t p[N], t[N];
        /* Few classes occur in some trials, so that many are absent. */
        uint64_t some = 1 + submod_rng_below(&rng, C);
        for (int i = 0; i < N; i++) {
            t[i] = (uint8_t)(submod_rng_below(&rng, 8) ? submod_rng_below(&rng, some) : 255);
            p[i] = (uint8_t)(submod_rng_below(&rng, 2) && t[i] != 255 ? t[i]
                                                                      : submod_rng_below(&rng, C));
        }
        submod_confusion *c = count(p, t, N, C);
        double b = trial % 5 * 0.5;
        double alpha = trial % 3 * 0.4, beta = trial % 4 * 0.3;
        submod_metric_settings settings = submod_metric_defaults();
        settings.absent = conventions[trial % 4];
        settings.has_leave_out = 1;
        settings.leave_out = trial % C;
        double value[4][C];
        submod_rates_values means;
        ck_assert_ok(submod_confusion_rates(c, b, alpha, beta, value[0], value[1], value[2],
                                            value[3], &means, &settings));
        double sum[4] = {0};
        size_t averaged = 0;
        for (int k = 0; k < C; k++) {
            errors e = find_errors(p, t, N, k);
            double b2 = b * b;
            double wanted[4] = {
                by_rule(settings.absent, &e, e.tp, e.tp + e.fp),
                by_rule(settings.absent, &e, e.tp, e.tp + e.fn),
                by_rule(settings.absent, &e, (1 + b2) * e.tp, (1 + b2) * e.tp + b2 * e.fn + e.fp),
                by_rule(settings.absent, &e, e.tp, e.tp + alpha * e.fp + beta * e.fn)};
            bool counts = k != settings.leave_out && !isnan(wanted[0]);
            averaged += counts;
            for (int r = 0; r < 4; r++) {
                assert_same(value[r][k], wanted[r]);
                sum[r] += counts ? wanted[r] : 0;
            }
        }
        ck_assert_uint_eq(means.averaged, averaged);
        const double got[4] = {means.precision, means.recall, means.f_score, means.tversky};
        for (int r = 0; r < 4; r++) {
            assert_same(got[r], averaged ? sum[r] / (double)averaged : NAN);
        }
        submod_confusion_free(c);
    }
}
END_TEST

/* F with b = 1 and Tversky with 1/2, 1/2 are Dice, Tversky with 1, 1 is the IoU; limits of b. */
START_TEST(rates_that_are_others)
{
    const uint8_t p[8] = {0, 0, 1, 1, 2, 2, 2, 0}, t[8] = {0, 1, 1, 1, 2, 0, 2, 255};
    submod_confusion *c = count(p, t, 8, 3);
    double iou[3], dice[3], recall[3], precision[3], f[3], tversky[3];
    ck_assert_ok(submod_confusion_metrics(c, iou, dice, NULL, NULL, NULL));
    ck_assert_ok(submod_confusion_rates(c, 1, 1, 1, precision, recall, f, tversky, NULL, NULL));
    for (int k = 0; k < 3; k++) {
        ck_assert_double_eq(f[k], dice[k]);
        ck_assert_double_eq(tversky[k], iou[k]);
    }
    ck_assert_ok(submod_confusion_rates(c, 0, 0.5, 0.5, NULL, NULL, f, tversky, NULL, NULL));
    for (int k = 0; k < 3; k++) {
        ck_assert_double_eq(f[k], precision[k]);
        ck_assert_double_eq(tversky[k], dice[k]);
    }
    ck_assert_ok(
        submod_confusion_rates(c, 1e200, 1e300, 1e300, NULL, NULL, f, tversky, NULL, NULL));
    for (int k = 0; k < 3; k++) {
        ck_assert_double_eq(f[k], recall[k]);
        ck_assert(tversky[k] >= 0 && tversky[k] < 1e-200);
    }
    submod_confusion_free(c);
}
END_TEST

/* A perfect prediction has rates of 1, without rounding, and none is above. */
START_TEST(perfect_rates)
{
    enum { MOST = 200 };
    const uint8_t zeros[MOST] = {0};
    const double b[6] = {0, 0.1, 0.5, 2, 3, 1e200};
    for (size_t n = 1; n <= MOST; n++) {
        submod_confusion *c = count(zeros, zeros, n, 1);
        for (int k = 0; k < 6; k++) {
            submod_rates_values means;
            ck_assert_ok(
                submod_confusion_rates(c, b[k], 0.3, 0.7, NULL, NULL, NULL, NULL, &means, NULL));
            ck_assert_double_eq(means.f_score, 1);
            ck_assert_double_eq(means.tversky, 1);
        }
        submod_confusion_free(c);
    }
}
END_TEST

START_TEST(bad_rates)
{
    const uint8_t x[2] = {0, 1};
    submod_confusion *c = count(x, x, 2, 2);
    double f[2] = {7, 7};
    assert_error(submod_confusion_rates(NULL, 1, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL),
                 SUBMOD_EINVAL, "confusion is NULL");
    assert_error(submod_confusion_rates(c, -1, 1, 1, NULL, NULL, f, NULL, NULL, NULL),
                 SUBMOD_EINVAL, "b = -1");
    assert_error(submod_confusion_rates(c, 1, NAN, 1, NULL, NULL, f, NULL, NULL, NULL),
                 SUBMOD_ENONFINITE, "alpha = nan");
    assert_error(submod_confusion_rates(c, 1, 1, INFINITY, NULL, NULL, f, NULL, NULL, NULL),
                 SUBMOD_ENONFINITE, "beta = inf");
    submod_metric_settings settings = submod_metric_defaults();
    settings.has_leave_out = 1;
    settings.leave_out = 2;
    assert_error(submod_confusion_rates(c, 1, 1, 1, NULL, NULL, f, NULL, NULL, &settings),
                 SUBMOD_EINVAL, "leave_out = 2");
    ck_assert(f[0] == 7 && f[1] == 7);
    ck_assert_ok(submod_confusion_rates(c, 1, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL));
    submod_confusion_free(c);
}
END_TEST

/* ---- groups ---- */

/* As if the labels had been those of groups from the start. */
START_TEST(groups_as_labels)
{
    enum { N = 200, C = 9, G = 4 };
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    for (int trial = 0; trial < 100; trial++) {
        int32_t truth_group[C], prediction_group[C];
        uint8_t p[N], t[N], coarse_p[N], coarse_t[N];
        for (int c = 0; c < C; c++) {
            prediction_group[c] = (int32_t)submod_rng_below(&rng, G);
            truth_group[c] =
                trial % 2 ? prediction_group[c] : (int32_t)submod_rng_below(&rng, G) - 1;
        }
        for (int i = 0; i < N; i++) {
            p[i] = (uint8_t)submod_rng_below(&rng, C);
            t[i] = (uint8_t)submod_rng_below(&rng, C);
            coarse_p[i] = (uint8_t)prediction_group[p[i]];
            coarse_t[i] = (uint8_t)truth_group[t[i]]; /* -1 is 255, which is ignored */
        }
        submod_confusion *fine = count(p, t, N, C), *wanted = count(coarse_p, coarse_t, N, G);
        submod_confusion *coarse = NULL;
        ck_assert_ok(submod_confusion_regroup(fine, truth_group,
                                              trial % 2 ? NULL : prediction_group, G, &coarse));
        ck_assert_uint_eq(submod_confusion_classes(coarse), G);
        ck_assert_mem_eq(submod_confusion_counts(coarse), submod_confusion_counts(wanted),
                         G * G * sizeof(int64_t));
        submod_metrics a, b;
        ck_assert_ok(submod_confusion_metrics(coarse, NULL, NULL, NULL, &a, NULL));
        ck_assert_ok(submod_confusion_metrics(wanted, NULL, NULL, NULL, &b, NULL));
        ck_assert(a.pixels == b.pixels && a.pixel_accuracy == b.pixel_accuracy);
        submod_confusion_free(fine);
        submod_confusion_free(wanted);
        submod_confusion_free(coarse);
    }
}
END_TEST

START_TEST(bad_groups)
{
    const uint8_t x[2] = {0, 1};
    submod_confusion *c = count(x, x, 2, 2), *coarse = NULL;
    const int32_t high[2] = {0, 3}, low[2] = {0, -2}, none[2] = {0, -1}, fine[2] = {0, 1};
    assert_error(submod_confusion_regroup(NULL, fine, fine, 2, &coarse), SUBMOD_EINVAL,
                 "confusion is NULL");
    assert_error(submod_confusion_regroup(c, NULL, fine, 2, &coarse), SUBMOD_EINVAL,
                 "truth_group is NULL");
    assert_error(submod_confusion_regroup(c, fine, fine, 2, NULL), SUBMOD_EINVAL, "coarse is NULL");
    assert_error(submod_confusion_regroup(c, high, fine, 3, &coarse), SUBMOD_EINVAL,
                 "truth_group[1] = 3 is not in [-1, 3)");
    assert_error(submod_confusion_regroup(c, low, fine, 3, &coarse), SUBMOD_EINVAL,
                 "truth_group[1] = -2");
    assert_error(submod_confusion_regroup(c, none, NULL, 3, &coarse), SUBMOD_EINVAL,
                 "prediction_group[1] = -1 is not in [0, 3)");
    assert_error(submod_confusion_regroup(c, none, none, 0, &coarse), SUBMOD_EINVAL,
                 "truth_group[0] = 0 is not in [-1, 0)");
    ck_assert_ptr_null(coarse);
    submod_confusion_free(c);
}
END_TEST

int main(void)
{
    return RUN_TESTS("rates", rates_by_definition, rates_that_are_others, perfect_rates, bad_rates,
                     groups_as_labels, bad_groups);
}
