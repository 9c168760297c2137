/* The mean IoU over images, batches and datasets against its definition. */
#include <submod/metric.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

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
        settings.absent = (submod_absent)(repeat % 4);
        settings.has_ignore = 1;
        settings.ignore_index = 255;
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
        ck_assert(isnan(merged.dataset)); /* whatever `absent` says: there is no image */
        ck_assert_ok(submod_miou_batch(&none, &none, C, &value, &settings));
        ck_assert(isnan(value));
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
    settings.ignore_index = -100;
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
    assert_error(submod_miou_merge(a, b), SUBMOD_EINVAL, "2 classes, but other has 3");
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

int main(void)
{
    return RUN_TESTS("mean_iou", miou_by_definition, miou_has_no_threads, miou_bad_input);
}
