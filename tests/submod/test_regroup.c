/* Counts of groups of classes, as if the labels had been those of groups. */
#include <submod/metric.h>

#include "support.h"

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
    return RUN_TESTS("regroup", groups_as_labels, bad_groups);
}
