/* iIoU against its definition, one instance at a time, and what Cityscapes' numbers look like. */
#include <submod/scoring.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { C = 6, G = 3, FIRST = 10, VOID = 255 };

/* A batch of images, their labels and ids. */
typedef struct scene {
    size_t batch, pixels;
    int32_t *p, *t;
    int64_t *id;
    submod_labels prediction, truth, ids;
} scene;

static scene make_scene(submod_rng *rng, size_t batch, size_t pixels)
{
    size_t n = batch * pixels;
    scene s = {.batch = batch,
               .pixels = pixels,
               .p = malloc(n * sizeof *s.p),
               .t = malloc(n * sizeof *s.t),
               .id = malloc(n * sizeof *s.id)};
    for (size_t i = 0; i < n; i++) {
        /* Runs, as images have them; some ids appear with several classes of truth. */
        bool again = i % pixels && submod_rng_below(rng, 4);
        s.t[i] = again                       ? s.t[i - 1]
                 : submod_rng_below(rng, 20) ? (int32_t)submod_rng_below(rng, C)
                                             : VOID;
        s.id[i] = again ? s.id[i - 1] : FIRST - 3 + (int64_t)submod_rng_below(rng, 12);
        s.p[i] = submod_rng_below(rng, 3) ? s.t[i] : (int32_t)submod_rng_below(rng, C);
        s.p[i] = s.t[i] == VOID ? -7 : s.p[i];
    }
    s.prediction = submod_labels_i32(s.p, batch, pixels);
    s.truth = submod_labels_i32(s.t, batch, pixels);
    s.ids = submod_labels_i64(s.id, batch, pixels);
    return s;
}

static void free_scene(scene *s)
{
    free(s->p);
    free(s->t);
    free(s->id);
}

static submod_instances *make(void)
{
    submod_instances *s = NULL;
    submod_metric_settings settings = submod_metric_defaults();
    settings.has_ignore = 1;
    settings.ignore_index = VOID;
    ck_assert_ok(submod_instances_create(C, FIRST, &s, &settings));
    return s;
}

/* ---- the definition ---- */

/* What is weighted, and how. */
typedef struct question {
    const double *size;
    const int32_t *truth_group, *prediction_group;
    int32_t group;
} question;

static int32_t group(const int32_t *groups, int32_t c)
{
    return groups ? groups[c] : c;
}

/* iIoU of a group: for each class and id of each image, look at all the image's pixels. */
static double slow_iou(const scene *s, const question *q)
{
    double found = 0, all = 0, fp = 0;
    for (size_t b = 0; b < s->batch; b++) {
        const int32_t *t = s->t + b * s->pixels, *p = s->p + b * s->pixels;
        const int64_t *id = s->id + b * s->pixels;
        for (int32_t c = 0; c < C; c++) {
            for (int64_t k = FIRST; group(q->truth_group, c) == q->group && k < FIRST + 12; k++) {
                double size = 0, hits = 0;
                for (size_t i = 0; i < s->pixels; i++) {
                    bool mine = t[i] == c && id[i] == k;
                    size += mine;
                    hits += mine && group(q->prediction_group, p[i]) == q->group;
                }
                found += size > 0 ? q->size[c] * hits / size : 0;
                all += size > 0 ? q->size[c] : 0;
            }
        }
        for (size_t i = 0; i < s->pixels; i++) {
            if (t[i] != VOID && group(q->truth_group, t[i]) >= 0) {
                fp += group(q->truth_group, t[i]) != q->group &&
                      group(q->prediction_group, p[i]) == q->group;
            }
        }
    }
    return all + fp > 0 ? found / (all + fp) : (double)NAN;
}

/* Instances of class c and their average size. */
static double slow_size(const scene *s, int32_t c, int64_t *count)
{
    double area = 0;
    *count = 0;
    for (size_t b = 0; b < s->batch; b++) {
        for (int64_t k = FIRST; k < FIRST + 12; k++) {
            double size = 0;
            for (size_t i = b * s->pixels; i < (b + 1) * s->pixels; i++) {
                size += s->t[i] == c && s->id[i] == k;
            }
            area += size;
            *count += size > 0;
        }
    }
    return *count ? area / (double)*count : 0;
}

static void check(const submod_instances *s, const scene *x, const double *size,
                  const int32_t *truth_group, const int32_t *prediction_group, int32_t groups)
{
    double iou[C], mean, sum = 0;
    int count = 0;
    ck_assert_ok(
        submod_instances_iou(s, size, truth_group, prediction_group, (size_t)groups, iou, &mean));
    for (int32_t g = 0; g < groups; g++) {
        const question q = {size, truth_group, prediction_group ? prediction_group : truth_group,
                            g};
        double wanted = slow_iou(x, &q);
        bool without = false, any = false;
        for (int32_t c = 0; c < C; c++) {
            any |= group(truth_group, c) == g;
            without |= group(truth_group, c) == g && size[c] == 0;
        }
        wanted = without || !any ? (double)NAN : wanted;
        ck_assert_msg(isnan(wanted) ? isnan(iou[g]) : fabs(iou[g] - wanted) <= 1e-13,
                      "group %d: %.17g instead of %.17g", g, iou[g], wanted);
        sum += isnan(wanted) ? 0 : wanted;
        count += !isnan(wanted);
    }
    ck_assert_msg(count ? fabs(mean - sum / count) <= 1e-13 : isnan(mean), "mean %g", mean);
}

START_TEST(by_definition)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    const int32_t truth_group[C] = {0, 0, 1, -1, 1, 2}, prediction_group[C] = {0, 0, 1, 1, 2, 2};
    for (int trial = 0; trial < 60; trial++) {
        scene x = make_scene(&rng, 1 + submod_rng_below(&rng, 3), 1 + submod_rng_below(&rng, 300));
        submod_instances *s = make();
        ck_assert_ok(submod_instances_add(s, &x.prediction, &x.truth, &x.ids));
        double size[C] = {3, 2.5, 1e4, 0.1, 7, trial % 2 ? 0 : 1};
        check(s, &x, size, NULL, NULL, C);
        check(s, &x, size, truth_group, prediction_group, G);
        const int32_t classes[C] = {0, 1, 2, 0, 1, 2};
        check(s, &x, size, classes, NULL, G);
        /* Without sizes: those that were seen. */
        double average[C], seen[C], mean[2];
        int64_t count[C];
        ck_assert_ok(submod_instances_sizes(s, count, average));
        for (int32_t c = 0; c < C; c++) {
            int64_t wanted;
            ck_assert_double_eq(average[c], slow_size(&x, c, &wanted));
            ck_assert_int_eq(count[c], wanted);
        }
        ck_assert_ok(submod_instances_iou(s, NULL, NULL, NULL, C, seen, &mean[0]));
        check(s, &x, average, NULL, NULL, C);
        ck_assert_ok(submod_instances_iou(s, average, NULL, NULL, C, NULL, &mean[1]));
        ck_assert(mean[0] == mean[1] || (isnan(mean[0]) && isnan(mean[1])));
        submod_instances_free(s);
        free_scene(&x);
    }
}
END_TEST

/* Counted by hand: two cars of 4 and 1 pixels, 2 and 0 found, one pixel of road taken for a car;
 * S = 10: iIoU = 10 (1/2 + 0) / (10 * 2 + 1). */
START_TEST(by_hand)
{
    const uint8_t t[8] = {1, 1, 1, 1, 1, 0, 0, 2}, p[8] = {1, 1, 0, 0, 0, 1, 0, 2};
    const int32_t id[8] = {1001, 1001, 1001, 1001, 1002, 0, 0, 2};
    submod_labels truth = submod_labels_u8(t, 1, 8), prediction = submod_labels_u8(p, 1, 8);
    submod_labels ids = submod_labels_i32(id, 1, 8);
    submod_instances *s = NULL;
    ck_assert_ok(submod_instances_create(3, 1001, &s, NULL));
    ck_assert_ok(submod_instances_add(s, &prediction, &truth, &ids));
    const double size[3] = {0, 10, 5};
    double iou[3], average[3], mean;
    int64_t count[3];
    ck_assert_ok(submod_instances_iou(s, size, NULL, NULL, 3, iou, &mean));
    ck_assert(isnan(iou[0])); /* has no instances */
    ck_assert_near(iou[1], 5.0 / 21, 1e-16);
    ck_assert(isnan(iou[2])); /* may have some, but there are none, and no false positives */
    ck_assert_double_eq(mean, iou[1]);
    ck_assert_ok(submod_instances_sizes(s, count, average));
    ck_assert(count[0] == 0 && count[1] == 2 && count[2] == 0);
    ck_assert(average[0] == 0 && average[1] == 2.5 && average[2] == 0);
    /* A false positive where there are no instances. */
    const uint8_t wrong[8] = {1, 1, 0, 0, 0, 1, 2, 2};
    prediction = submod_labels_u8(wrong, 1, 8);
    submod_instances_reset(s);
    ck_assert_ok(submod_instances_add(s, &prediction, &truth, &ids));
    ck_assert_ok(submod_instances_iou(s, size, NULL, NULL, 3, iou, NULL));
    ck_assert_double_eq(iou[2], 0);
    submod_instances_free(s);
}
END_TEST

/* With sizes as seen: class 1 has instances, 2 is not there, 3 is there without any. */
START_TEST(groups_of_seen_sizes)
{
    const uint8_t t[4] = {0, 1, 1, 3}, p[4] = {0, 1, 2, 0}, id[4] = {0, 5, 5, 0};
    submod_labels truth = submod_labels_u8(t, 1, 4), prediction = submod_labels_u8(p, 1, 4);
    submod_labels ids = submod_labels_u8(id, 1, 4);
    submod_instances *s = NULL;
    double iou[3];
    ck_assert_ok(submod_instances_create(4, 1, &s, NULL));
    ck_assert_ok(submod_instances_add(s, &prediction, &truth, &ids));
    ck_assert_ok(submod_instances_iou(s, NULL, (int32_t[]){0, 1, 1, 0}, NULL, 2, iou, NULL));
    ck_assert(isnan(iou[0]) && iou[1] == 1); /* a 2 is a hit for the group */
    ck_assert_ok(submod_instances_iou(s, NULL, (int32_t[]){0, 1, 0, 1}, NULL, 2, iou, NULL));
    ck_assert(isnan(iou[0]) && isnan(iou[1]));
    ck_assert_ok(submod_instances_iou(s, NULL, (int32_t[]){0, 1, 2, 0}, NULL, 3, iou, NULL));
    ck_assert(isnan(iou[0]) && iou[1] == 0.5 && isnan(iou[2]));
    submod_instances_free(s);
}
END_TEST

/* In any order, in parts, by any number of threads: the same bits. */
START_TEST(order_does_not_show)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    enum { B = 40, N = 5000 };
    scene x = make_scene(&rng, B, N);
    submod_instances *all = make(), *sum = make();
    double wanted[C], iou[C];
    ck_assert_ok(submod_instances_add(all, &x.prediction, &x.truth, &x.ids));
    ck_assert_ok(submod_instances_iou(all, NULL, NULL, NULL, C, wanted, NULL));
    for (size_t k = 0; k < B; k++) {
        size_t b = (k * 7 + 3) % B;
        submod_labels p = submod_labels_i32(x.p + b * N, 1, N);
        submod_labels t = submod_labels_i32(x.t + b * N, 1, N);
        submod_labels ids = submod_labels_i64(x.id + b * N, 1, N);
        submod_instances *one = make();
        submod_set_num_threads(1 + (int)(k % 3));
        ck_assert_ok(submod_instances_add(one, &p, &t, &ids));
        ck_assert_ok(submod_instances_merge(sum, one));
        submod_instances_free(one);
    }
    submod_set_num_threads(0);
    ck_assert_ok(submod_instances_iou(sum, NULL, NULL, NULL, C, iou, NULL));
    ck_assert_mem_eq(iou, wanted, sizeof iou);
    ck_assert_mem_eq(submod_confusion_counts(submod_instances_confusion(sum)),
                     submod_confusion_counts(submod_instances_confusion(all)),
                     C * C * sizeof(int64_t));
    submod_instances_free(all);
    submod_instances_free(sum);
    free_scene(&x);
}
END_TEST

START_TEST(bad_input)
{
    const uint8_t x[4] = {0, 1, 2, 9};
    submod_labels three = submod_labels_u8(x, 1, 3), four = submod_labels_u8(x, 1, 4);
    submod_labels empty = submod_labels_u8(NULL, 0, 3);
    submod_instances *s = NULL, *other = NULL;
    double iou[C] = {7}, size[C] = {1, 1, 1, 1, 1, -1};
    assert_error(submod_instances_create(0, 1, &s, NULL), SUBMOD_EINVAL, "classes = 0");
    assert_error(submod_instances_create(3, 1, NULL, NULL), SUBMOD_EINVAL, "instances is NULL");
    s = make();
    assert_error(submod_instances_add(NULL, &three, &three, &three), SUBMOD_EINVAL, "NULL");
    assert_error(submod_instances_add(s, &three, &three, NULL), SUBMOD_EINVAL, "ids is NULL");
    assert_error(submod_instances_add(s, &three, &three, &four), SUBMOD_EINVAL,
                 "ids must have the shape of truth, 1 images of 3 pixels");
    assert_error(submod_instances_add(s, &four, &four, &four), SUBMOD_EINVAL,
                 "truth[0][3] = 9 is not in [0, 6)");
    ck_assert_int_eq(submod_confusion_counts(submod_instances_confusion(s))[0], 0);
    ck_assert_ok(submod_instances_add(s, &empty, &empty, &empty));
    ck_assert_ok(submod_instances_add(s, &three, &three, &three));
    assert_error(submod_instances_iou(s, size, NULL, NULL, C, iou, NULL), SUBMOD_EINVAL,
                 "average_size[5]");
    size[5] = NAN;
    assert_error(submod_instances_iou(s, size, NULL, NULL, C, iou, NULL), SUBMOD_ENONFINITE,
                 "average_size[5]");
    assert_error(submod_instances_iou(s, NULL, NULL, NULL, 3, iou, NULL), SUBMOD_EINVAL,
                 "groups = 3 must be 6");
    const int32_t groups[C] = {0, 1, 2, 3, 0, 0};
    assert_error(submod_instances_iou(s, NULL, groups, NULL, 3, iou, NULL), SUBMOD_EINVAL,
                 "truth_group[3] = 3");
    assert_error(submod_instances_iou(NULL, NULL, NULL, NULL, 3, iou, NULL), SUBMOD_EINVAL, "NULL");
    assert_error(submod_instances_sizes(NULL, NULL, NULL), SUBMOD_EINVAL, "NULL");
    ck_assert_double_eq(iou[0], 7);
    ck_assert_ok(submod_instances_create(2, 1, &other, NULL));
    assert_error(submod_instances_merge(s, other), SUBMOD_EINVAL, "6 classes, but other has 2");
    assert_error(submod_instances_merge(s, NULL), SUBMOD_EINVAL, "other is NULL");
    submod_instances_free(s);
    submod_instances_free(other);
    submod_instances_free(NULL);
    submod_instances_reset(NULL);
    ck_assert_ptr_null(submod_instances_confusion(NULL));
}
END_TEST

int main(void)
{
    return RUN_TESTS("instances", by_definition, by_hand, groups_of_seen_sizes, order_does_not_show,
                     bad_input);
}
