/* Metrics from counts: other libraries' conventions, and the special cases of metric.h. */
#include <submod/metric.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

/* ---- the conventions of others ----
 *
 * The labels and numbers below come from scikit-learn 1.9.1 and torchmetrics 1.9.0 (torch 2.15.0):
 *
 *   import numpy as np, torch
 *   from sklearn.metrics import jaccard_score, f1_score, recall_score, accuracy_score
 *   from torchmetrics.classification import MulticlassJaccardIndex as J
 *   i = np.arange(60)
 *   truth = (i * i + i // 7) % 6
 *   pred = np.where(i % 3 == 0, (i + i // 5) % 6, truth)
 *   truth = np.where(truth == 4, 0, truth); truth = np.where(i % 11 == 5, 255, truth)
 *   pred = np.where(pred == 3, 1, pred)
 *   keep = truth != 255; y, p = truth[keep], pred[keep]
 *   for f in (jaccard_score, f1_score, recall_score):
 *       for z in (0, 1): f(y, p, labels=range(7), average='macro', zero_division=z)
 *   jaccard_score(y, p, average='macro'); jaccard_score(y, p, average='weighted')
 *   f1_score(y, p, average='macro'); accuracy_score(y, p)
 *   jaccard_score(y, p, labels=sorted(set(y)), average='macro')
 *   T, P = torch.tensor(truth), torch.tensor(pred)
 *   for z in (0, 1): J(7, ignore_index=255, zero_division=z)(P, T)
 *   for k in (0, 2, 4): J(7, ignore_index=k)(P, torch.where(T == 255, torch.tensor(k), T))
 *
 * and, for mmsegmentation, np.nanmean of its formulas (IoUMetric.total_area_to_metrics):
 *   inter / (area_label + area_pred - inter), inter / area_label, 2 inter / (sum of areas).
 * Class 3 is never predicted, 4 never true, 6 neither.
 */
enum { REFERENCE_N = 60, REFERENCE_C = 7 };

static void reference_labels(uint8_t *prediction, uint8_t *truth)
{
    for (int i = 0; i < REFERENCE_N; i++) {
        int t = (i * i + i / 7) % 6;
        int p = i % 3 == 0 ? (i + i / 5) % 6 : t;
        t = t == 4 ? 0 : t;
        truth[i] = (uint8_t)(i % 11 == 5 ? 255 : t);
        prediction[i] = (uint8_t)(p == 3 ? 1 : p);
    }
}

/* The metrics of the reference labels, with `void_label` in the place of 255. */
static submod_metrics reference(submod_absent absent, int void_label, int leave_out, double *iou)
{
    uint8_t p[REFERENCE_N], t[REFERENCE_N];
    reference_labels(p, t);
    for (int i = 0; i < REFERENCE_N; i++) {
        t[i] = t[i] == 255 ? (uint8_t)void_label : t[i];
    }
    submod_labels prediction = submod_labels_u8(p, 1, REFERENCE_N);
    submod_labels truth = submod_labels_u8(t, 1, REFERENCE_N);
    submod_metric_settings settings = submod_metric_defaults();
    settings.has_ignore = 1;
    settings.ignore_index = void_label;
    settings.absent = absent;
    settings.has_leave_out = leave_out >= 0;
    settings.leave_out = leave_out;
    submod_confusion *c = NULL;
    submod_metrics metrics;
    ck_assert_ok(submod_confusion_create(REFERENCE_C, &c, &settings));
    ck_assert_ok(submod_confusion_add(c, &prediction, &truth));
    ck_assert_ok(submod_confusion_metrics(c, iou, NULL, NULL, &metrics, &settings));
    submod_confusion_free(c);
    return metrics;
}

START_TEST(scikit_learn)
{
    const double tol = 1e-15;
    const double per_class[REFERENCE_C] = {
        0.391304347826087, 0.3157894736842105, 0.6153846153846154, 0, 0, 0.6666666666666666, 0};
    double iou[REFERENCE_C];
    submod_metrics zero = reference(SUBMOD_ABSENT_ZERO, 255, -1, iou);
    ck_assert_near(zero.mean_iou, 0.2841635862230828, tol);
    ck_assert_near(zero.mean_dice, 0.37205782312925173, tol);
    ck_assert_near(zero.mean_accuracy, 0.37789115646258503, tol);
    ck_assert_uint_eq(zero.averaged, 7);
    for (int c = 0; c < REFERENCE_C; c++) {
        ck_assert_near(iou[c], per_class[c], tol);
    }
    submod_metrics one = reference(SUBMOD_ABSENT_ONE, 255, -1, iou);
    ck_assert_near(one.mean_iou, 0.42702072908022565, tol);
    ck_assert_near(one.mean_dice, 0.5149149659863946, tol);
    ck_assert_near(one.mean_accuracy, 0.6636054421768708, tol);
    ck_assert_double_eq(iou[6], 1);
    submod_metrics skip = reference(SUBMOD_ABSENT_SKIP, 255, -1, NULL);
    ck_assert_near(skip.mean_iou, 0.3315241839269299, tol);
    ck_assert_near(skip.mean_dice, 0.43406746031746035, tol);
    ck_assert_near(skip.frequency_weighted_iou, 0.4163191499575939, tol);
    ck_assert_near(skip.pixel_accuracy, 0.5272727272727272, tol);
    ck_assert_int_eq(skip.pixels, 55);
    submod_metrics in_truth = reference(SUBMOD_ABSENT_TRUTH, 255, -1, iou);
    ck_assert_near(in_truth.mean_iou, 0.3978290207123159, tol);
    ck_assert_uint_eq(in_truth.averaged, 5);
    ck_assert(isnan(iou[4]) && isnan(iou[6]));
}
END_TEST

START_TEST(torchmetrics)
{
    const double tol = 1e-7; /* it computes in float32 */
    ck_assert_near(reference(SUBMOD_ABSENT_SKIP, 255, -1, NULL).mean_iou, 0.33152419328689575, tol);
    ck_assert_near(reference(SUBMOD_ABSENT_SKIP, 0, 0, NULL).mean_iou, 0.34666669368743896, tol);
    ck_assert_near(reference(SUBMOD_ABSENT_SKIP, 2, 2, NULL).mean_iou, 0.27826088666915894, tol);
    ck_assert_near(reference(SUBMOD_ABSENT_SKIP, 4, 4, NULL).mean_iou, 0.3978290557861328, tol);
}
END_TEST

START_TEST(mmsegmentation)
{
    const double tol = 1e-15;
    double iou[REFERENCE_C];
    submod_metrics m = reference(SUBMOD_ABSENT_SKIP, 255, -1, iou);
    ck_assert_near(m.mean_iou, 0.3315241839269299, tol);
    ck_assert_near(m.mean_accuracy, 0.529047619047619, tol);
    ck_assert_near(m.mean_dice, 0.43406746031746035, tol);
    ck_assert_near(m.pixel_accuracy, 0.5272727272727272, tol);
    ck_assert_double_eq(iou[4], 0);
    ck_assert(isnan(iou[6]));
}
END_TEST

/* ---- special cases of the table in metric.h ---- */

static const submod_absent conventions[] = {SUBMOD_ABSENT_ONE, SUBMOD_ABSENT_ZERO,
                                            SUBMOD_ABSENT_SKIP, SUBMOD_ABSENT_TRUTH};

static void assert_same(double value, double wanted)
{
    ck_assert_msg(isnan(wanted) ? isnan(value) : value == wanted, "%g instead of %g", value,
                  wanted);
}

/* No pixels, or all of them ignored. */
START_TEST(nothing_to_count)
{
    const double expected[] = {1, 0, NAN, NAN};
    const uint8_t x[4] = {255, 255, 255, 255};
    for (int k = 0; k < 4; k++) {
        submod_metric_settings settings = submod_metric_defaults();
        settings.absent = conventions[k];
        settings.has_ignore = 1;
        settings.ignore_index = 255;
        submod_labels void_labels = submod_labels_u8(x, 2, 2),
                      no_images = submod_labels_u8(x, 0, 2);
        submod_labels no_pixels = submod_labels_u8(x, 2, 0);
        const submod_labels *inputs[] = {&void_labels, &no_images, &no_pixels};
        for (int i = 0; i < 3; i++) {
            submod_confusion *c = NULL;
            submod_metrics m;
            double value;
            ck_assert_ok(submod_confusion_create(3, &c, &settings));
            ck_assert_ok(submod_confusion_add(c, inputs[i], inputs[i]));
            ck_assert_ok(submod_confusion_metrics(c, NULL, NULL, NULL, &m, &settings));
            assert_same(m.mean_iou, expected[k]);
            assert_same(m.mean_dice, expected[k]);
            assert_same(m.mean_accuracy, expected[k]);
            assert_same(m.pixel_accuracy, expected[k]);
            assert_same(m.frequency_weighted_iou, expected[k]);
            submod_confusion_free(c);
            ck_assert_ok(submod_miou_batch(inputs[i], inputs[i], 3, &value, &settings));
            assert_same(value, inputs[i]->batch ? expected[k] : NAN);
            ck_assert_ok(submod_miou_image(inputs[i], inputs[i], 3, &value, &settings));
            assert_same(value, inputs[i]->batch ? expected[k] : NAN);
        }
    }
}
END_TEST

/* Per class: 0 in both, 1 in the truth only, 2 predicted only, 3 in neither. */
START_TEST(absent_classes)
{
    const double iou[4][4] = {{0.5, 0, 0, 1}, {0.5, 0, 0, 0}, {0.5, 0, 0, NAN}, {0.5, 0, NAN, NAN}};
    const double accuracy[4][4] = {
        {0.5, 0, 1, 1}, {0.5, 0, 0, 0}, {0.5, 0, NAN, NAN}, {0.5, 0, NAN, NAN}};
    const double mean_iou[4] = {0.375, 0.125, 0.5 / 3, 0.25};
    const double mean_accuracy[4] = {0.625, 0.125, 0.25, 0.25};
    const int64_t counts[16] = {1, 0, 1, 0, 0, 0, 1, 0};
    for (int k = 0; k < 4; k++) {
        submod_metric_settings settings = submod_metric_defaults();
        double i[4], d[4], a[4];
        submod_metrics m;
        submod_confusion *c = NULL;
        settings.absent = conventions[k];
        ck_assert_ok(submod_confusion_create(4, &c, NULL));
        ck_assert_ok(submod_confusion_add_counts(c, counts));
        ck_assert_ok(submod_confusion_metrics(c, i, d, a, &m, &settings));
        for (int j = 0; j < 4; j++) {
            assert_same(i[j], iou[k][j]);
            assert_same(d[j], j == 0 ? 2.0 / 3 : iou[k][j]);
            assert_same(a[j], accuracy[k][j]);
        }
        ck_assert_near(m.mean_iou, mean_iou[k], 1e-16);
        ck_assert_near(m.mean_accuracy, mean_accuracy[k], 1e-16);

        /* The means over chosen classes; the arrays stay the same. */
        settings.class_list = (int32_t[]){2, 0};
        settings.class_count = 2;
        ck_assert_ok(submod_confusion_metrics(c, i, NULL, NULL, &m, &settings));
        assert_same(i[3], iou[k][3]);
        ck_assert_near(m.mean_iou, conventions[k] == SUBMOD_ABSENT_TRUTH ? 0.5 : 0.25, 0);
        ck_assert_near(m.frequency_weighted_iou, 0.5, 0);
        ck_assert_near(m.pixel_accuracy, 1.0 / 3, 0);
        settings.has_leave_out = 1;
        settings.leave_out = 0;
        ck_assert_ok(submod_confusion_metrics(c, NULL, NULL, NULL, &m, &settings));
        assert_same(m.mean_iou, conventions[k] == SUBMOD_ABSENT_TRUTH ? NAN : 0);
        ck_assert_uint_eq(m.averaged, conventions[k] != SUBMOD_ABSENT_TRUTH);
        submod_confusion_free(c);
    }
}
END_TEST

START_TEST(bad_metric_settings)
{
    submod_confusion *c = NULL;
    ck_assert_ok(submod_confusion_create(3, &c, NULL));
    const struct {
        const int32_t *list;
        size_t count;
        int32_t leave_out;
        int absent;
        const char *words;
    } cases[] = {{(int32_t[]){1, 3}, 2, -1, 0, "class_list[1] = 3 is not in [0, 3)"},
                 {(int32_t[]){-1}, 1, -1, 0, "class_list[0] = -1 is not in [0, 3)"},
                 {(int32_t[]){2, 1, 2}, 3, -1, 0, "class_list[2] = 2 occurs twice"},
                 {(int32_t[]){2}, 0, -1, 0, "no class is left"},
                 {(int32_t[]){2}, 1, 2, 0, "no class is left"},
                 {NULL, 1, -1, 0, "class_count = 1 must be 0 without a class_list"},
                 {NULL, 0, 3, 0, "leave_out = 3"},
                 {NULL, 0, -2, 0, "leave_out = -2"},
                 {NULL, 0, -1, 4, "absent = 4 is unknown"},
                 {NULL, 0, -1, -1, "absent = -1"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        submod_metric_settings settings = submod_metric_defaults();
        settings.class_list = cases[i].list;
        settings.class_count = cases[i].count;
        settings.has_leave_out = cases[i].leave_out != -1;
        settings.leave_out = cases[i].leave_out;
        memcpy(&settings.absent, &cases[i].absent, sizeof settings.absent);
        double iou[3] = {7, 7, 7};
        submod_metrics m = {.mean_iou = 7};
        submod_miou *miou = NULL;
        assert_error(submod_confusion_metrics(c, iou, NULL, NULL, &m, &settings), SUBMOD_EINVAL,
                     cases[i].words);
        ck_assert(iou[0] == 7 && m.mean_iou == 7);
        assert_error(submod_miou_create(3, &miou, &settings), SUBMOD_EINVAL, cases[i].words);
        ck_assert_ptr_null(miou);
    }
    assert_error(submod_confusion_metrics(NULL, NULL, NULL, NULL, NULL, NULL), SUBMOD_EINVAL,
                 "confusion is NULL");
    submod_confusion_free(c);
}
END_TEST

int main(void)
{
    return RUN_TESTS("metric", scikit_learn, torchmetrics, mmsegmentation, nothing_to_count,
                     absent_classes, bad_metric_settings);
}
