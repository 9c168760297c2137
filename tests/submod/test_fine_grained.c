/* Fine-grained mIoUs against their definitions, and against the other streams. */
#include <submod/scoring.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { C = 5, N = 40, VOID = 255 };

static const submod_absent conventions[] = {SUBMOD_ABSENT_ONE, SUBMOD_ABSENT_ZERO,
                                            SUBMOD_ABSENT_SKIP, SUBMOD_ABSENT_TRUTH};

static void random_images(submod_rng *rng, size_t images, uint8_t *p, uint8_t *t)
{
    for (size_t b = 0; b < images; b++) {
        uint64_t some = 1 + submod_rng_below(rng, C); /* classes of this image */
        bool empty = submod_rng_below(rng, 12) == 0;
        uint64_t right = submod_rng_below(rng, 8);
        for (size_t i = b * N; i < (b + 1) * N; i++) {
            t[i] =
                (uint8_t)(empty || !submod_rng_below(rng, 9) ? VOID : submod_rng_below(rng, some));
            p[i] = (uint8_t)(submod_rng_below(rng, 8) < right ? t[i] : submod_rng_below(rng, C));
            p[i] = p[i] == VOID && t[i] != VOID ? 0 : p[i];
        }
    }
}

static submod_metric_settings ignoring(submod_absent absent)
{
    submod_metric_settings s = submod_metric_defaults();
    s.has_ignore = 1;
    s.ignore_index = VOID;
    s.absent = absent;
    return s;
}

/* ---- the definitions ---- */

static double slow_iou(const uint8_t *p, const uint8_t *t, size_t n, int c, submod_absent absent)
{
    size_t both = 0, either = 0, truth = 0;
    for (size_t i = 0; i < n; i++) {
        both += t[i] == c && p[i] == c;
        either += t[i] != VOID && (t[i] == c || p[i] == c);
        truth += t[i] == c;
    }
    if (truth == 0 && absent == SUBMOD_ABSENT_TRUTH) {
        return NAN;
    }
    return either                         ? (double)both / (double)either
           : absent == SUBMOD_ABSENT_ONE  ? 1
           : absent == SUBMOD_ABSENT_ZERO ? 0
                                          : (double)NAN;
}

/* The mean of the lowest floor(q n / 100), at least 1, of the numbers, by picking the lowest again
 * and again; NaN is no number. */
static double slow_worst(const double *values, size_t n, int q)
{
    double *left = malloc((n + 1) * sizeof *left), sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isnan(values[i])) {
            left[count++] = values[i];
        }
    }
    size_t part = (size_t)q * count / 100;
    part = part ? part : 1;
    for (size_t k = 0; count && k < part; k++) {
        size_t lowest = k;
        for (size_t i = k; i < count; i++) {
            lowest = left[i] < left[lowest] ? i : lowest;
        }
        double x = left[lowest];
        left[lowest] = left[k];
        left[k] = x;
        sum += x;
    }
    free(left);
    return count ? sum / (double)part : (double)NAN;
}

static double slow_mean(const double *values, size_t n)
{
    return slow_worst(values, n, 100);
}

typedef struct answer {
    double image, of_class;
} answer;

static answer slow_answer(const uint8_t *p, const uint8_t *t, size_t images, submod_absent absent,
                          int leave_out, int q)
{
    double *image = malloc(images * sizeof *image), *column = malloc(images * sizeof *column);
    double of_class[C];
    for (size_t b = 0; b < images; b++) {
        double row[C];
        for (int c = 0; c < C; c++) {
            row[c] = c == leave_out ? (double)NAN : slow_iou(p + b * N, t + b * N, N, c, absent);
        }
        image[b] = slow_mean(row, C);
    }
    for (int c = 0; c < C; c++) {
        for (size_t b = 0; b < images; b++) {
            column[b] = slow_iou(p + b * N, t + b * N, N, c, absent);
        }
        of_class[c] = c == leave_out ? (double)NAN : slow_worst(column, images, q);
    }
    answer a = {slow_worst(image, images, q), slow_mean(of_class, C)};
    free(image);
    free(column);
    return a;
}

static void assert_near_or_nan(double value, double wanted)
{
    ck_assert_msg(isnan(wanted) ? isnan(value) : fabs(value - wanted) <= 1e-14,
                  "%.17g instead of %.17g", value, wanted);
}

START_TEST(by_definition)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int trial = 0; trial < 80; trial++) {
        size_t images = 1 + submod_rng_below(&rng, 60);
        uint8_t *p = malloc(images * N), *t = malloc(images * N);
        random_images(&rng, images, p, t);
        submod_metric_settings settings = ignoring(conventions[trial % 4]);
        settings.has_leave_out = trial % 3 == 0;
        settings.leave_out = trial % C;
        int leave_out = settings.has_leave_out ? settings.leave_out : -1;
        submod_fine_grained *f = NULL;
        ck_assert_ok(submod_fine_grained_create(C, &f, &settings));
        size_t first = submod_rng_below(&rng, images + 1);
        submod_labels p1 = submod_labels_u8(p, first, N), t1 = submod_labels_u8(t, first, N);
        submod_labels p2 = submod_labels_u8(p + first * N, images - first, N);
        submod_labels t2 = submod_labels_u8(t + first * N, images - first, N);
        ck_assert_ok(submod_fine_grained_add(f, &p1, &t1));
        ck_assert_ok(submod_fine_grained_add(f, &p2, &t2));
        submod_fine_grained_values v;
        ck_assert_ok(submod_fine_grained_get(f, &v));
        answer whole = slow_answer(p, t, images, settings.absent, leave_out, 100);
        assert_near_or_nan(v.image, whole.image);
        assert_near_or_nan(v.of_class, whole.of_class);
        double sum_image = 0, sum_class = 0;
        for (int q = 1; q <= 100; q++) {
            double image, of_class;
            answer a = slow_answer(p, t, images, settings.absent, leave_out, q);
            ck_assert_ok(submod_fine_grained_worst(f, q, &image, &of_class));
            assert_near_or_nan(image, a.image);
            assert_near_or_nan(of_class, a.of_class);
            sum_image += q % 10 ? 0 : a.image / 10;
            sum_class += q % 10 ? 0 : a.of_class / 10;
        }
        assert_near_or_nan(v.image_mean, sum_image);
        assert_near_or_nan(v.class_mean, sum_class);
        double dataset[C];
        for (int c = 0; c < C; c++) {
            dataset[c] =
                c == leave_out ? (double)NAN : slow_iou(p, t, images * N, c, settings.absent);
        }
        assert_near_or_nan(v.dataset, v.images ? slow_mean(dataset, C) : NAN);
        submod_fine_grained_free(f);
        free(p);
        free(t);
    }
}
END_TEST

/* The image- and dataset-mIoU of the other stream; the order of images does not show. */
START_TEST(order_and_others)
{
    enum { IMAGES = 100 };
    uint8_t p[IMAGES * N], t[IMAGES * N];
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    random_images(&rng, IMAGES, p, t);
    submod_labels prediction = submod_labels_u8(p, IMAGES, N),
                  truth = submod_labels_u8(t, IMAGES, N);
    for (int k = 0; k < 4; k++) {
        submod_metric_settings settings = ignoring(conventions[k]);
        submod_fine_grained *all = NULL, *sum = NULL, *one = NULL;
        double image, dataset;
        submod_fine_grained_values a, b;
        ck_assert_ok(submod_fine_grained_create(C, &all, &settings));
        ck_assert_ok(submod_fine_grained_create(C, &sum, &settings));
        ck_assert_ok(submod_fine_grained_create(C, &one, &settings));
        ck_assert_ok(submod_fine_grained_add(all, &prediction, &truth));
        ck_assert_ok(submod_fine_grained_get(all, &a));
        ck_assert_ok(submod_miou_image(&prediction, &truth, C, &image, &settings));
        ck_assert_ok(submod_miou_batch(&prediction, &truth, C, &dataset, &settings));
        ck_assert_near(a.image, image, 1e-14);
        ck_assert_double_eq(a.dataset, dataset);
        for (size_t i = 0; i < IMAGES; i++) {
            size_t at = (i * 37 + 11) % IMAGES;
            submod_labels p1 = submod_labels_u8(p + at * N, 1, N);
            submod_labels t1 = submod_labels_u8(t + at * N, 1, N);
            submod_fine_grained_reset(one);
            ck_assert_ok(submod_fine_grained_add(one, &p1, &t1));
            ck_assert_ok(submod_fine_grained_merge(sum, one));
        }
        ck_assert_ok(submod_fine_grained_get(sum, &b));
        ck_assert_mem_eq(&a, &b, sizeof a);
        size_t images;
        const double *table = submod_fine_grained_table(all, &images);
        ck_assert_uint_eq(images, IMAGES);
        for (size_t i = 0; i < IMAGES; i++) {
            for (int c = 0; c < C; c++) {
                double wanted = slow_iou(p + i * N, t + i * N, N, c, conventions[k]);
                assert_near_or_nan(table[i * C + (size_t)c], wanted);
            }
        }
        ck_assert_ok(submod_fine_grained_merge(sum, sum)); /* itself */
        ck_assert_ok(submod_fine_grained_get(sum, &b));
        ck_assert_near(b.image, a.image, 1e-14);
        ck_assert_uint_eq(b.images, 2 * a.images);
        submod_fine_grained_free(all);
        submod_fine_grained_free(sum);
        submod_fine_grained_free(one);
    }
}
END_TEST

START_TEST(nothing_and_bad_input)
{
    const uint8_t x[4] = {0, 1, 9, 0};
    submod_labels bad = submod_labels_u8(x, 2, 2), empty = submod_labels_u8(NULL, 0, 2);
    submod_labels good = submod_labels_u8(x, 1, 2), no_pixels = submod_labels_u8(NULL, 3, 0);
    submod_fine_grained *f = NULL, *other = NULL;
    submod_fine_grained_values v = {.image = 7};
    double q = 7;
    assert_error(submod_fine_grained_create(0, &f, NULL), SUBMOD_EINVAL, "classes = 0");
    assert_error(submod_fine_grained_create(2, NULL, NULL), SUBMOD_EINVAL, "fine is NULL");
    ck_assert_ok(submod_fine_grained_create(C, &f, NULL));
    assert_error(submod_fine_grained_add(f, &bad, &bad), SUBMOD_EINVAL, "truth[1][0] = 9");
    assert_error(submod_fine_grained_add(f, &good, &bad), SUBMOD_EINVAL, "the same shape");
    assert_error(submod_fine_grained_add(NULL, &good, &good), SUBMOD_EINVAL, "fine is NULL");
    ck_assert_ok(submod_fine_grained_add(f, &empty, &empty));
    ck_assert_ptr_null(submod_fine_grained_table(f, NULL));
    ck_assert_ok(submod_fine_grained_get(f, &v));
    ck_assert(isnan(v.image) && isnan(v.dataset) && isnan(v.of_class) && isnan(v.image_mean));
    ck_assert(v.images == 0 && v.classes == 0);
    ck_assert_ok(submod_fine_grained_worst(f, 5, &q, NULL));
    ck_assert(isnan(q));
    ck_assert_ok(submod_fine_grained_add(f, &no_pixels, &no_pixels)); /* 0/0 = 1 */
    ck_assert_ok(submod_fine_grained_get(f, &v));
    ck_assert(v.images == 3 && v.image == 1 && v.dataset == 1);
    const double wrong[] = {0, -1, 100.5, NAN};
    for (int i = 0; i < 4; i++) {
        assert_error(submod_fine_grained_worst(f, wrong[i], &q, NULL), SUBMOD_EINVAL,
                     "must be in (0, 100]");
    }
    assert_error(submod_fine_grained_get(f, NULL), SUBMOD_EINVAL, "values is NULL");
    assert_error(submod_fine_grained_get(NULL, &v), SUBMOD_EINVAL, "fine is NULL");
    ck_assert_ok(submod_fine_grained_create(2, &other, NULL));
    assert_error(submod_fine_grained_merge(f, other), SUBMOD_EINVAL, "5 classes, but other has 2");
    assert_error(submod_fine_grained_merge(f, NULL), SUBMOD_EINVAL, "other is NULL");
    submod_fine_grained_free(f);
    submod_fine_grained_free(other);
    submod_fine_grained_free(NULL);
    submod_fine_grained_reset(NULL);
    ck_assert_ptr_null(submod_fine_grained_confusion(NULL));
}
END_TEST

int main(void)
{
    return RUN_TESTS("fine_grained", by_definition, order_and_others, nothing_and_bad_input);
}
