/* The IoU of two masks, and confusion counts against their definition: types, strides, labels,
 * errors. */
#include <submod/metric.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

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
    assert_error(submod_jaccard_index(NULL, NULL, 1, &value), SUBMOD_EINVAL, "truth is NULL");
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
    settings.ignore_index = 255;
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
        settings.ignore_index = bad[i];
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
    settings.ignore_index = 1;
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
    assert_error(submod_confusion_merge(b, other), SUBMOD_EINVAL, "2 classes, but other has 3");
    assert_error(submod_confusion_add_counts(b, (int64_t[]){1, 0, -5, 0}), SUBMOD_EINVAL,
                 "counts[2] = -5 must be >= 0");
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
                 "2 images of 3 pixels, 3 images of 2 pixels");
    assert_error(submod_confusion_add(c, &a, &none), SUBMOD_EINVAL, "truth.data is NULL");
    assert_error(submod_confusion_add(c, NULL, &a), SUBMOD_EINVAL, "prediction is NULL");
    assert_error(submod_confusion_add(c, &strange, &a), SUBMOD_EINVAL, "type = 17 is unknown");
    assert_error(submod_confusion_add(c, &huge, &huge), SUBMOD_EINVAL, "size_t");
    huge.batch = huge.pixels = SIZE_MAX / UINT32_MAX + 1; /* to who multiplies, not many */
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

int main(void)
{
    return RUN_TESTS("confusion", jaccard_of_all_small_masks, jaccard_of_large_masks,
                     counts_by_definition, contiguous_views, labels_out_of_range, ignored_class,
                     counts_add_up, bad_views_and_sizes);
}
