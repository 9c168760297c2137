/* Counts, metrics and their conventions, mIoU over images, batches and datasets, equibatch. */
#include "submod/metric.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

static void assert_error(int status, int wanted, const char *words)
{
    ck_assert_int_eq(status, wanted);
    ck_assert_msg(strstr(submod_last_error(), words), "\"%s\" does not say \"%s\"",
                  submod_last_error(), words);
}

/* ---- two masks ---- */

START_TEST(jaccard_of_all_small_masks)
{
    enum { N = 5 };
    for (unsigned a = 0; a < 1U << N; a++) {
        for (unsigned b = 0; b < 1U << N; b++) {
            uint8_t prediction[N], truth[N];
            double value = -1;
            for (unsigned i = 0; i < N; i++) {
                prediction[i] = (uint8_t)((a >> i & 1) * 255);
                truth[i] = (uint8_t)(b >> i & 1);
            }
            int both = __builtin_popcount(a & b);
            int either = __builtin_popcount(a | b);
            ck_assert_ok(submod_jaccard_index(prediction, truth, N, &value));
            ck_assert_double_eq(value, either ? (double)both / either : 1);
        }
    }
    double value = -1;
    ck_assert_ok(submod_jaccard_index(NULL, NULL, 0, &value));
    ck_assert_double_eq(value, 1);
    assert_error(submod_jaccard_index(NULL, NULL, 1, &value), SUBMOD_EINVAL, "mask is NULL");
    assert_error(submod_jaccard_index(NULL, NULL, 0, NULL), SUBMOD_EINVAL, "value is NULL");
}
END_TEST

START_TEST(jaccard_of_large_masks)
{
    enum { N = 300001 };
    uint8_t *prediction = calloc(N, 1), *truth = calloc(N, 1);
    for (int i = 0; i < N; i++) {
        prediction[i] = i % 2 == 0;
        truth[i] = i % 3 == 0;
    }
    for (int threads = 1; threads <= 3; threads++) {
        double value;
        submod_set_num_threads(threads);
        ck_assert_ok(submod_jaccard_index(prediction, truth, N, &value));
        /* multiples of 6, of 2 or 3, in 0 .. 300000 */
        ck_assert_double_eq(value, 50001.0 / (150001 + 100001 - 50001));
    }
    submod_set_num_threads(0);
    free(prediction);
    free(truth);
}
END_TEST

/* ---- counts ---- */

static void assert_counts(const submod_confusion *c, const int64_t *expected, size_t n)
{
    const int64_t *counts = submod_confusion_counts(c);
    for (size_t i = 0; i < n; i++) {
        ck_assert_msg(counts[i] == expected[i], "counts[%zu] = %lld instead of %lld", i,
                      (long long)counts[i], (long long)expected[i]);
    }
}

/* The labels of a batch in memory of its own, in any type and layout; entry (b, i) of values. */
static submod_labels spread(const int64_t *values, size_t batch, size_t pixels,
                            submod_label_type type, ptrdiff_t pixel_stride, int backwards,
                            void **memory)
{
    ptrdiff_t row = (ptrdiff_t)pixels * pixel_stride + 3;
    size_t cells = batch * (size_t)row + 1;
    ptrdiff_t first = backwards ? (ptrdiff_t)cells - 1 : 0;
    ptrdiff_t sign = backwards ? -1 : 1;
    static const size_t sizes[] = {1, 4, 8};
    char *data = malloc(cells * sizes[type]);
    memset(data, 0x77, cells * sizes[type]); /* no class anywhere, in case it is read */
    for (size_t b = 0; b < batch; b++) {
        for (size_t i = 0; i < pixels; i++) {
            ptrdiff_t at = first + sign * ((ptrdiff_t)b * row + (ptrdiff_t)i * pixel_stride);
            int64_t v = values[b * pixels + i];
            switch (type) {
            case SUBMOD_LABEL_U8: ((uint8_t *)data)[at] = (uint8_t)v; break;
            case SUBMOD_LABEL_I32: ((int32_t *)(void *)data)[at] = (int32_t)v; break;
            default: ((int64_t *)(void *)data)[at] = v; break;
            }
        }
    }
    *memory = data;
    return (submod_labels){data + first * (ptrdiff_t)sizes[type],
                           type,
                           batch,
                           pixels,
                           sign * row,
                           sign * pixel_stride,
                           0};
}

/* A random batch; `ignore` in the truth with probability 1/8, and rubbish predicted there. */
static void random_labels(submod_rng *rng, size_t n, size_t classes, int64_t ignore,
                          int64_t *prediction, int64_t *truth)
{
    for (size_t i = 0; i < n; i++) {
        int is_void = submod_rng_below(rng, 8) == 0;
        truth[i] = is_void ? ignore : (int64_t)submod_rng_below(rng, classes);
        prediction[i] = is_void ? 200 : (int64_t)submod_rng_below(rng, classes);
    }
}

static void count_slowly(const int64_t *prediction, const int64_t *truth, size_t n, size_t classes,
                         int64_t ignore, int64_t *counts)
{
    for (size_t i = 0; i < n; i++) {
        if (truth[i] != ignore) {
            counts[(size_t)truth[i] * classes + (size_t)prediction[i]]++;
        }
    }
}

static void check_counts(submod_rng *rng, size_t batch, size_t pixels, size_t classes,
                         submod_label_type pred_type, submod_label_type truth_type, int threads)
{
    size_t n = batch * pixels;
    int64_t *p = malloc(n * sizeof *p), *t = malloc(n * sizeof *t);
    int64_t *expected = calloc(classes * classes, sizeof *expected);
    submod_metric_settings settings = submod_metric_defaults();
    settings.has_ignore = 1;
    settings.ignore_label = 255;
    random_labels(rng, n, classes, 255, p, t);
    count_slowly(p, t, n, classes, 255, expected);
    void *p_memory, *t_memory;
    submod_labels prediction =
        spread(p, batch, pixels, pred_type, 1 + (ptrdiff_t)submod_rng_below(rng, 2), 0, &p_memory);
    submod_labels truth =
        spread(t, batch, pixels, truth_type, 1, (int)submod_rng_below(rng, 2), &t_memory);
    submod_confusion *c = NULL;
    ck_assert_ok(submod_confusion_create(classes, &c, &settings));
    ck_assert_uint_eq(submod_confusion_classes(c), classes);
    submod_set_num_threads(threads);
    ck_assert_ok(submod_confusion_add(c, &prediction, &truth));
    submod_set_num_threads(0);
    assert_counts(c, expected, classes * classes);
    submod_confusion_free(c);
    free(p_memory);
    free(t_memory);
    free(expected);
    free(p);
    free(t);
}

/* All pairs of types, strides in both directions, few and many classes, in parallel and not. */
START_TEST(counts_by_definition)
{
    static const submod_label_type types[] = {SUBMOD_LABEL_U8, SUBMOD_LABEL_I32, SUBMOD_LABEL_I64};
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int i = 0; i < 9; i++) {
        for (int threads = 1; threads <= 3; threads++) {
            check_counts(&rng, 3, 29003, 21, types[i / 3], types[i % 3], threads);
        }
        check_counts(&rng, 7, 13, 1 + submod_rng_below(&rng, 100), types[i / 3], types[i % 3], 1);
        check_counts(&rng, 70001, 1, 30, types[i / 3], types[i % 3], 2);
    }
}
END_TEST

START_TEST(contiguous_views)
{
    const uint8_t u8[6] = {0};
    const int32_t i32[6] = {0};
    const int64_t i64[6] = {0};
    submod_labels views[3] = {submod_labels_u8(u8, 2, 3), submod_labels_i32(i32, 2, 3),
                              submod_labels_i64(i64, 2, 3)};
    const void *data[3] = {u8, i32, i64};
    for (int i = 0; i < 3; i++) {
        ck_assert_ptr_eq(views[i].data, data[i]);
        ck_assert_int_eq((int)views[i].type, i);
        ck_assert(views[i].batch == 2 && views[i].pixels == 3);
        ck_assert(views[i].batch_stride == 3 && views[i].pixel_stride == 1);
    }
}
END_TEST

/* Labels that are not classes: named, or ignored; and nothing is counted beside them. */
START_TEST(labels_out_of_range)
{
    enum { B = 4, N = 20, C = 5 };
    int64_t p[B * N] = {0}, t[B * N] = {0};
    submod_labels prediction = submod_labels_i64(p, B, N), truth = submod_labels_i64(t, B, N);
    const int64_t bad[] = {C, -1, 9, INT64_MAX, INT64_MIN, INT64_C(1) << 32, INT32_MIN};
    submod_confusion *c = NULL;
    ck_assert_ok(submod_confusion_create(C, &c, NULL));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char words[64];
        t[3 * N + 17] = p[3 * N + 18] = bad[i];
        snprintf(words, sizeof words, "truth[3][17] = %lld is not in [0, 5)", (long long)bad[i]);
        assert_error(submod_confusion_add(c, &prediction, &truth), SUBMOD_EINVAL, words);
        p[3 * N + 16] = bad[i];
        snprintf(words, sizeof words, "prediction[3][16] = %lld is not in [0, 5)",
                 (long long)bad[i]);
        assert_error(submod_confusion_add(c, &prediction, &truth), SUBMOD_EINVAL, words);
        p[3 * N + 16] = 0;
        ck_assert_int_eq(submod_confusion_counts(c)[0], 0);

        /* Ignored, whatever number it is; the prediction there may be anything. */
        submod_metric_settings settings = submod_metric_defaults();
        settings.has_ignore = 1;
        settings.ignore_label = bad[i];
        submod_confusion *ignoring = NULL;
        ck_assert_ok(submod_confusion_create(C, &ignoring, &settings));
        p[3 * N + 17] = -7;
        assert_error(submod_confusion_add(ignoring, &prediction, &truth), SUBMOD_EINVAL,
                     "prediction[3][18]");
        p[3 * N + 18] = 0;
        ck_assert_ok(submod_confusion_add(ignoring, &prediction, &truth));
        ck_assert_int_eq(submod_confusion_counts(ignoring)[0], B * N - 1);
        t[0] = bad[i] == 9 ? 8 : 9; /* others are not ignored */
        assert_error(submod_confusion_add(ignoring, &prediction, &truth), SUBMOD_EINVAL,
                     "truth[0][0]");
        t[0] = p[3 * N + 17] = 0;
        submod_confusion_free(ignoring);
    }
    submod_confusion_free(c);
}
END_TEST

/* The ignored label may be a class. */
START_TEST(ignored_class)
{
    const uint8_t p[5] = {0, 1, 1, 0, 2}, t[5] = {0, 1, 0, 1, 1};
    submod_labels prediction = submod_labels_u8(p, 1, 5), truth = submod_labels_u8(t, 1, 5);
    submod_metric_settings settings = submod_metric_defaults();
    settings.has_ignore = 1;
    settings.ignore_label = 1;
    submod_confusion *c = NULL;
    ck_assert_ok(submod_confusion_create(2, &c, &settings));
    ck_assert_ok(submod_confusion_add(c, &prediction, &truth));
    assert_counts(c, (int64_t[]){1, 1, 0, 0}, 4);
    submod_confusion_free(c);
}
END_TEST

START_TEST(counts_add_up)
{
    const uint8_t p[3] = {0, 1, 1}, t[3] = {0, 1, 0};
    submod_labels prediction = submod_labels_u8(p, 1, 3), truth = submod_labels_u8(t, 1, 3);
    submod_confusion *a = NULL, *b = NULL, *other = NULL;
    ck_assert_ok(submod_confusion_create(2, &a, NULL));
    ck_assert_ok(submod_confusion_create(2, &b, NULL));
    ck_assert_ok(submod_confusion_create(3, &other, NULL));
    ck_assert_ok(submod_confusion_add(a, &prediction, &truth));
    ck_assert_ok(submod_confusion_add(a, &prediction, &truth));
    ck_assert_ok(submod_confusion_merge(b, a));
    ck_assert_ok(submod_confusion_merge(b, b));
    ck_assert_ok(submod_confusion_add_counts(b, (int64_t[]){1, 0, 5, 0}));
    assert_counts(b, (int64_t[]){5, 4, 5, 4}, 4);
    assert_error(submod_confusion_merge(b, other), SUBMOD_EINVAL, "2 classes and 3 classes");
    assert_error(submod_confusion_add_counts(b, (int64_t[]){1, 0, -5, 0}), SUBMOD_EINVAL,
                 "counts[2] = -5 is negative");
    assert_error(submod_confusion_add_counts(b, (int64_t[]){1, INT64_MAX - 10, 0, 0}),
                 SUBMOD_EINVAL, "2^63 - 1");
    assert_error(submod_confusion_add_counts(b, NULL), SUBMOD_EINVAL, "counts is NULL");
    assert_error(submod_confusion_merge(NULL, b), SUBMOD_EINVAL, "NULL");
    assert_counts(b, (int64_t[]){5, 4, 5, 4}, 4);
    submod_confusion_reset(b);
    assert_counts(b, (int64_t[4]){0}, 4);
    submod_confusion_free(a);
    submod_confusion_free(b);
    submod_confusion_free(other);
}
END_TEST

START_TEST(bad_views_and_sizes)
{
    const uint8_t x[6] = {0};
    submod_confusion *c = NULL;
    assert_error(submod_confusion_create(0, &c, NULL), SUBMOD_EINVAL, "classes = 0");
    assert_error(submod_confusion_create(SIZE_MAX, &c, NULL), SUBMOD_EINVAL, "classes = ");
    assert_error(submod_confusion_create(INT32_MAX - 2, &c, NULL), SUBMOD_ENOMEM, "memory");
    assert_error(submod_confusion_create(2, NULL, NULL), SUBMOD_EINVAL, "NULL");
    ck_assert_ptr_null(c);
    ck_assert_ok(submod_confusion_create(2, &c, NULL));
    submod_labels a = submod_labels_u8(x, 2, 3), b = submod_labels_u8(x, 3, 2);
    submod_labels none = submod_labels_u8(NULL, 2, 3), empty = submod_labels_u8(NULL, 0, 3);
    submod_labels strange = a, huge = submod_labels_u8(x, SIZE_MAX, 2);
    *(int *)(void *)&strange.type = 17;
    assert_error(submod_confusion_add(c, &a, &b), SUBMOD_EINVAL,
                 "prediction is 2 images of 3 pixels, truth is 3 of 2");
    assert_error(submod_confusion_add(c, &a, &none), SUBMOD_EINVAL, "truth has no data");
    assert_error(submod_confusion_add(c, NULL, &a), SUBMOD_EINVAL, "prediction is NULL");
    assert_error(submod_confusion_add(c, &strange, &a), SUBMOD_EINVAL, "unknown type 17");
    assert_error(submod_confusion_add(c, &huge, &huge), SUBMOD_EINVAL, "size_t");
    assert_error(submod_confusion_add(NULL, &a, &a), SUBMOD_EINVAL, "confusion is NULL");
    ck_assert_ok(submod_confusion_add(c, &empty, &empty));
    submod_confusion_free(c);
    submod_confusion_free(NULL);
    submod_confusion_reset(NULL);
    ck_assert_ptr_null(submod_confusion_counts(NULL));
    ck_assert_uint_eq(submod_confusion_classes(NULL), 0);
}
END_TEST

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
    settings.ignore_label = void_label;
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
        settings.ignore_label = 255;
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
            assert_same(value, expected[k]);
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
                 {(int32_t[]){2, 1, 2}, 3, -1, 0, "class_list[2] = 2 comes twice"},
                 {(int32_t[]){2}, 0, -1, 0, "no class to average over"},
                 {(int32_t[]){2}, 1, 2, 0, "no class to average over"},
                 {NULL, 1, -1, 0, "class_count = 1 without a class_list"},
                 {NULL, 0, 3, 0, "leave_out = 3"},
                 {NULL, 0, -2, 0, "leave_out = -2"},
                 {NULL, 0, -1, 4, "absent = 4"},
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

/* ---- mIoU ---- */

/* The definition, straight from the labels; NaN when all classes are left out. */
static double miou_slowly(const uint8_t *p, const uint8_t *t, size_t n, int classes,
                          submod_absent absent)
{
    double sum = 0;
    int count = 0;
    for (int c = 0; c < classes; c++) {
        int both = 0, either = 0, true_pixels = 0;
        for (size_t i = 0; i < n; i++) {
            if (t[i] != 255) {
                both += t[i] == c && p[i] == c;
                either += t[i] == c || p[i] == c;
                true_pixels += t[i] == c;
            }
        }
        if ((absent == SUBMOD_ABSENT_TRUTH && true_pixels == 0) ||
            (absent == SUBMOD_ABSENT_SKIP && either == 0)) {
            continue;
        }
        sum += either ? (double)both / either : absent == SUBMOD_ABSENT_ONE;
        count++;
    }
    return count ? sum / count : NAN;
}

static void mean_slowly(const double *values, size_t n, double *mean)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isnan(values[i])) {
            sum += values[i];
            count++;
        }
    }
    *mean = sum / (double)count;
}

/* Three batches of images against the definition; streams, merged streams, single calls. */
START_TEST(miou_by_definition)
{
    enum { BATCHES = 3, B = 4, N = 12, C = 6 };
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    for (int repeat = 0; repeat < 40; repeat++) {
        uint8_t p[BATCHES * B * N], t[BATCHES * B * N];
        for (int i = 0; i < BATCHES * B * N; i++) {
            t[i] = submod_rng_below(&rng, 5) ? (uint8_t)submod_rng_below(&rng, C - 1) : 255;
            p[i] = (uint8_t)submod_rng_below(&rng, C);
        }
        memset(t + N, 255, N); /* one image is void */
        submod_metric_settings settings = submod_metric_defaults();
        settings.absent = conventions[repeat % 4];
        settings.has_ignore = 1;
        settings.ignore_label = 255;
        submod_miou *miou = NULL, *half = NULL;
        submod_miou_values values, merged;
        double images[BATCHES * B], batches[BATCHES], image_mean, batch_mean, value;
        ck_assert_ok(submod_miou_create(C, &miou, &settings));
        ck_assert_ok(submod_miou_create(C, &half, &settings));
        for (int k = 0; k < BATCHES; k++) {
            const uint8_t *pk = p + (size_t)k * B * N, *tk = t + (size_t)k * B * N;
            submod_labels prediction = submod_labels_u8(pk, B, N),
                          truth = submod_labels_u8(tk, B, N);
            ck_assert_ok(submod_miou_add(k ? miou : half, &prediction, &truth));
            batches[k] = miou_slowly(pk, tk, (size_t)B * N, C, settings.absent);
            for (size_t b = 0; b < B; b++) {
                images[k * B + (int)b] = miou_slowly(pk + b * N, tk + b * N, N, C, settings.absent);
            }
            ck_assert_ok(submod_miou_batch(&prediction, &truth, C, &value, &settings));
            ck_assert_near(value, batches[k], 1e-15);
            ck_assert_ok(submod_miou_image(&prediction, &truth, C, &value, &settings));
            mean_slowly(images + (size_t)k * B, B, &image_mean);
            ck_assert_near(value, image_mean, 1e-15);
        }
        mean_slowly(images, sizeof images / sizeof *images, &image_mean);
        mean_slowly(batches, BATCHES, &batch_mean);
        ck_assert_ok(submod_miou_merge(half, miou));
        ck_assert_ok(submod_miou_get(half, &values));
        ck_assert_near(values.image, image_mean, 1e-14);
        ck_assert_near(values.batch, batch_mean, 1e-14);
        ck_assert_near(values.dataset,
                       miou_slowly(p, t, (size_t)BATCHES * B * N, C, settings.absent), 1e-15);
        ck_assert_uint_eq(values.images, BATCHES * B - (settings.absent == SUBMOD_ABSENT_SKIP ||
                                                        settings.absent == SUBMOD_ABSENT_TRUTH));
        ck_assert_uint_eq(values.batches, BATCHES);

        /* A batch that fails changes nothing, an empty one neither. */
        submod_labels good = submod_labels_u8(p, 1, N), bad = good,
                      none = submod_labels_u8(p, 0, N);
        const uint8_t rubbish[2 * N] = {[N + 3] = 9};
        bad = submod_labels_u8(rubbish, 2, N);
        good = submod_labels_u8(p, 2, N);
        assert_error(submod_miou_add(half, &good, &bad), SUBMOD_EINVAL, "truth[1][3] = 9");
        ck_assert_ok(submod_miou_add(half, &none, &none));
        ck_assert_ok(submod_miou_get(half, &merged));
        ck_assert_mem_eq(&merged, &values, sizeof values);
        submod_miou_reset(half);
        ck_assert_ok(submod_miou_get(half, &merged));
        ck_assert(merged.images == 0 && isnan(merged.image) && isnan(merged.batch));
        ck_assert_int_eq(submod_confusion_counts(submod_miou_confusion(half))[0], 0);
        submod_miou_free(half);
        submod_miou_free(miou);
    }
}
END_TEST

/* The order of the images is all that matters: not the batches they come in, not the threads. */
START_TEST(miou_has_no_threads)
{
    enum { B = 3, N = 70000, C = 5 };
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    const size_t n = (size_t)B * N;
    int64_t *p = malloc(n * sizeof *p), *t = malloc(n * sizeof *t);
    random_labels(&rng, n, C, -100, p, t);
    submod_metric_settings settings = submod_metric_defaults();
    settings.has_ignore = 1;
    settings.ignore_label = -100;
    submod_labels prediction = submod_labels_i64(p, B, N), truth = submod_labels_i64(t, B, N);
    double first, value;
    ck_assert_ok(submod_miou_image(&prediction, &truth, C, &first, &settings));
    for (int threads = 1; threads <= 4; threads++) {
        submod_set_num_threads(threads);
        ck_assert_ok(submod_miou_image(&prediction, &truth, C, &value, &settings));
        ck_assert(value == first);
    }
    submod_set_num_threads(0);
    free(p);
    free(t);
}
END_TEST

START_TEST(miou_bad_input)
{
    const uint8_t x[4] = {0};
    submod_labels labels = submod_labels_u8(x, 1, 4);
    submod_miou *a = NULL, *b = NULL;
    submod_miou_values values;
    double value = 7;
    ck_assert_ok(submod_miou_create(2, &a, NULL));
    ck_assert_ok(submod_miou_create(3, &b, NULL));
    assert_error(submod_miou_create(2, NULL, NULL), SUBMOD_EINVAL, "miou is NULL");
    assert_error(submod_miou_merge(a, b), SUBMOD_EINVAL, "2 classes and 3 classes");
    assert_error(submod_miou_merge(a, NULL), SUBMOD_EINVAL, "NULL");
    assert_error(submod_miou_add(NULL, &labels, &labels), SUBMOD_EINVAL, "miou is NULL");
    assert_error(submod_miou_add(a, &labels, NULL), SUBMOD_EINVAL, "truth is NULL");
    assert_error(submod_miou_get(a, NULL), SUBMOD_EINVAL, "values is NULL");
    assert_error(submod_miou_get(NULL, &values), SUBMOD_EINVAL, "miou is NULL");
    assert_error(submod_miou_image(&labels, NULL, 2, &value, NULL), SUBMOD_EINVAL,
                 "submod_miou_image: truth is NULL");
    assert_error(submod_miou_image(&labels, &labels, 2, NULL, NULL), SUBMOD_EINVAL, "value");
    assert_error(submod_miou_batch(&labels, &labels, 0, &value, NULL), SUBMOD_EINVAL,
                 "submod_miou_batch: classes = 0");
    ck_assert_double_eq(value, 7);
    submod_miou_free(a);
    submod_miou_free(b);
    submod_miou_free(NULL);
    submod_miou_reset(NULL);
    ck_assert_ptr_null(submod_miou_confusion(NULL));
}
END_TEST

/* ---- equibatch ---- */

enum { MAX_IMAGES = 60, MAX_CLASSES = 30, MAX_ENTRIES = MAX_IMAGES * 8 };

typedef struct dataset {
    size_t images, classes, start[MAX_IMAGES + 1];
    int32_t class_ids[MAX_ENTRIES];
    int contains[MAX_IMAGES][MAX_CLASSES];
    size_t images_of[MAX_CLASSES], occurring;
} dataset;

/* Images with 0 to 8 entries, skewed to the first classes, with repetitions. */
static void random_dataset(submod_rng *rng, dataset *d)
{
    *d = (dataset){.images = 1 + submod_rng_below(rng, MAX_IMAGES),
                   .classes = 1 + submod_rng_below(rng, MAX_CLASSES)};
    for (size_t i = 0; i < d->images; i++) {
        size_t entries = i == 0 ? 1 : submod_rng_below(rng, 9);
        d->start[i + 1] = d->start[i] + entries;
        for (size_t k = d->start[i]; k < d->start[i + 1]; k++) {
            size_t c = submod_rng_below(rng, 1 + submod_rng_below(rng, d->classes));
            d->class_ids[k] = (int32_t)c;
            d->images_of[c] += !d->contains[i][c];
            d->contains[i][c] = 1;
        }
    }
    for (size_t c = 0; c < d->classes; c++) {
        d->occurring += d->images_of[c] > 0;
    }
}

/* The images drawn contain the classes they are for, and the last W of them all W classes. */
START_TEST(equibatch_visits_every_class)
{
    enum { DRAWS = 2000 };
    submod_rng rng;
    submod_rng_seed(&rng, 7);
    for (int repeat = 0; repeat < 60; repeat++) {
        dataset d;
        submod_equibatch *s = NULL;
        long last_visit[MAX_CLASSES];
        random_dataset(&rng, &d);
        ck_assert_ok(submod_equibatch_create(d.images, d.start, d.class_ids, d.classes,
                                             (uint64_t)repeat, &s));
        long window = (long)submod_equibatch_window(s);
        ck_assert_uint_eq((size_t)window, d.occurring);
        for (size_t c = 0; c < d.classes; c++) {
            last_visit[c] = -1;
        }
        for (long draw = 0; draw < DRAWS; draw++) {
            int32_t image = -1, drawn_for = -1;
            ck_assert_ok(submod_equibatch_next(s, &image, draw % 2 ? &drawn_for : NULL));
            ck_assert(image >= 0 && (size_t)image < d.images);
            ck_assert(drawn_for == -1 || d.contains[image][drawn_for]);
            for (size_t c = 0; c < d.classes; c++) {
                last_visit[c] = d.contains[image][c] ? draw : last_visit[c];
                ck_assert(d.images_of[c] == 0 || draw - last_visit[c] < window);
            }
        }
        submod_equibatch_free(s);
    }
}
END_TEST

/* Every image of a class once per round of that class, in another order the next time. */
START_TEST(equibatch_uses_all_images)
{
    submod_rng rng;
    submod_rng_seed(&rng, 8);
    int other_order = 0;
    for (int repeat = 0; repeat < 20; repeat++) {
        dataset d;
        submod_equibatch *s = NULL, *twin = NULL;
        int drawn[MAX_CLASSES][MAX_IMAGES] = {{0}};
        size_t draws_of[MAX_CLASSES] = {0};
        int32_t first_of_round[MAX_CLASSES];
        random_dataset(&rng, &d);
        uint64_t seed = submod_rng_next(&rng);
        ck_assert_ok(submod_equibatch_create(d.images, d.start, d.class_ids, d.classes, seed, &s));
        ck_assert_ok(
            submod_equibatch_create(d.images, d.start, d.class_ids, d.classes, seed, &twin));
        for (size_t draw = 0; draw < d.occurring * 5 * MAX_IMAGES; draw++) {
            int32_t image, c, again;
            ck_assert_ok(submod_equibatch_next(s, &image, &c));
            ck_assert_ok(submod_equibatch_next(twin, &again, NULL));
            ck_assert_int_eq(image, again);
            size_t round = draws_of[c] / d.images_of[c];
            if (draws_of[c]++ % d.images_of[c] == 0) {
                other_order += round && first_of_round[c] != image;
                first_of_round[c] = image;
            }
            ck_assert_int_eq(drawn[c][image]++, (int)round);
        }
        submod_equibatch_free(s);
        submod_equibatch_free(twin);
    }
    ck_assert_int_gt(other_order, 100);
}
END_TEST

/* Each image of a class is as likely as the others to come first. */
START_TEST(equibatch_is_fair)
{
    enum { IMAGES = 5, SEEDS = 5000 };
    const size_t start[IMAGES + 1] = {0, 1, 2, 3, 4, 5};
    const int32_t ids[IMAGES] = {0};
    int first[IMAGES] = {0};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        submod_equibatch *s = NULL;
        int32_t image;
        ck_assert_ok(submod_equibatch_create(IMAGES, start, ids, 1, seed, &s));
        ck_assert_ok(submod_equibatch_next(s, &image, NULL));
        first[image]++;
        submod_equibatch_free(s);
    }
    for (int i = 0; i < IMAGES; i++) { /* 1000 expected, standard deviation 28 */
        ck_assert_int_gt(first[i], 850);
        ck_assert_int_lt(first[i], 1150);
    }
}
END_TEST

START_TEST(equibatch_bad_input)
{
    const size_t start[3] = {0, 1, 2}, late[3] = {1, 1, 2}, descending[3] = {0, 2, 1};
    const size_t nothing[3] = {0};
    const int32_t ids[2] = {0, 4}, bad[2] = {0, 5}, negative[2] = {-1, 0};
    submod_equibatch *s = NULL;
    int32_t image = 7;
    assert_error(submod_equibatch_create(2, start, ids, 5, 1, NULL), SUBMOD_EINVAL, "sampler");
    assert_error(submod_equibatch_create(2, NULL, ids, 5, 1, &s), SUBMOD_EINVAL, "start is NULL");
    assert_error(submod_equibatch_create(2, start, NULL, 5, 1, &s), SUBMOD_EINVAL, "class_ids");
    assert_error(submod_equibatch_create(0, start, ids, 5, 1, &s), SUBMOD_EINVAL, "images = 0");
    assert_error(submod_equibatch_create(SIZE_MAX, start, ids, 5, 1, &s), SUBMOD_EINVAL, "images");
    assert_error(submod_equibatch_create(2, start, ids, 0, 1, &s), SUBMOD_EINVAL, "classes = 0");
    assert_error(submod_equibatch_create(2, late, ids, 5, 1, &s), SUBMOD_EINVAL, "start[0] = 1");
    assert_error(submod_equibatch_create(2, descending, ids, 5, 1, &s), SUBMOD_EINVAL,
                 "start[2] = 1 is less than start[1] = 2");
    assert_error(submod_equibatch_create(2, start, bad, 5, 1, &s), SUBMOD_EINVAL,
                 "class_ids[1] = 5 is not in [0, 5)");
    assert_error(submod_equibatch_create(2, start, negative, 5, 1, &s), SUBMOD_EINVAL,
                 "class_ids[0] = -1");
    assert_error(submod_equibatch_create(2, nothing, NULL, 5, 1, &s), SUBMOD_EINVAL,
                 "no image contains any class");
    ck_assert_ptr_null(s);
    ck_assert_ok(submod_equibatch_create(2, start, ids, 5, 1, &s));
    ck_assert_uint_eq(submod_equibatch_window(s), 2);
    assert_error(submod_equibatch_next(s, NULL, NULL), SUBMOD_EINVAL, "image is NULL");
    assert_error(submod_equibatch_next(NULL, &image, NULL), SUBMOD_EINVAL, "sampler is NULL");
    submod_equibatch_free(s);
    submod_equibatch_free(NULL);
    ck_assert_uint_eq(submod_equibatch_window(NULL), 0);
}
END_TEST

/* ---- memory ---- */

static long live;      /* allocations not yet freed */
static long countdown; /* successful allocations left */

static void *counted_alloc(size_t alignment, size_t size)
{
    if (countdown == 0) {
        return NULL;
    }
    countdown--;
    live++;
    return aligned_alloc(alignment, size);
}

static void counted_free(void *memory)
{
    live -= memory != NULL;
    free(memory);
}

/* Everything that allocates, once. */
static submod_status use_everything(void)
{
    const uint8_t p[8] = {0, 1, 2, 0, 1, 2, 0, 1}, t[8] = {0, 1, 1, 2, 0, 0, 1, 2};
    submod_labels prediction = submod_labels_u8(p, 2, 4), truth = submod_labels_u8(t, 2, 4);
    submod_confusion *c = NULL;
    submod_miou *m = NULL;
    submod_equibatch *s = NULL;
    submod_metrics metrics;
    double value = 7;
    submod_status status = submod_confusion_create(3, &c, NULL);
    status = status ? status : submod_confusion_add(c, &prediction, &truth);
    status = status ? status : submod_confusion_metrics(c, NULL, NULL, NULL, &metrics, NULL);
    status = status ? status : submod_miou_create(3, &m, NULL);
    status = status ? status : submod_miou_add(m, &prediction, &truth);
    status = status ? status
                    : submod_equibatch_create(2, (size_t[]){0, 1, 2}, (int32_t[]){0, 1}, 3, 1, &s);
    if (m && status) { /* all or nothing, whatever failed after it was made */
        submod_miou_values values;
        ck_assert_ok(submod_miou_get(m, &values));
        ck_assert(values.images == 0 || values.images == 2);
    }
    status = status ? status : submod_miou_image(&prediction, &truth, 3, &value, NULL);
    ck_assert(status == SUBMOD_OK || value == 7);
    submod_confusion_free(c);
    submod_miou_free(m);
    submod_equibatch_free(s);
    return status;
}

START_TEST(every_allocation_fails_once)
{
    const submod_allocator counting = {counted_alloc, counted_free};
    ck_assert_ok(submod_set_allocator(&counting));
    int status = SUBMOD_ENOMEM;
    for (long allowed = 0; status != SUBMOD_OK; allowed++) {
        ck_assert_int_lt(allowed, 1000);
        countdown = allowed;
        status = use_everything();
        ck_assert_int_eq(live, 0);
        if (status != SUBMOD_OK) {
            assert_error(status, SUBMOD_ENOMEM, "out of memory");
        }
    }
    ck_assert_ok(submod_set_allocator(NULL));
}
END_TEST

int main(void)
{
    return RUN_TESTS("metric", jaccard_of_all_small_masks, jaccard_of_large_masks,
                     counts_by_definition, contiguous_views, labels_out_of_range, ignored_class,
                     counts_add_up, bad_views_and_sizes, scikit_learn, torchmetrics, mmsegmentation,
                     nothing_to_count, absent_classes, bad_metric_settings, miou_by_definition,
                     miou_has_no_threads, miou_bad_input, equibatch_visits_every_class,
                     equibatch_uses_all_images, equibatch_is_fair, equibatch_bad_input,
                     every_allocation_fails_once);
}
