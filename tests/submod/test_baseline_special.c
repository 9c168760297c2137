/* The special cases and errors that baseline.h promises. */
#include <submod/baseline.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "baselines.h"
#include "support.h"

/* ---- special cases ---- */

/* The call fails so, and writes nothing. */
static void assert_refused(int kind, const problem *p, int status, const char *words)
{
    float g[24];
    double loss = 7;
    for (int k = 0; k < 24; k++) {
        g[k] = 7;
    }
    submod_gradient gradient = submod_gradient_dense(g, p->scores.classes, p->scores.pixels);
    assert_error(calls[kind](p, &loss, &gradient, NULL), status, words);
    ck_assert(loss == 7);
    for (int k = 0; k < 24; k++) {
        ck_assert(g[k] == 7);
    }
}

START_TEST(empty_input)
{
    for (int kind = 0; kind < KINDS; kind++) {
        for (int mode = 0; mode < 8; mode++) {
            size_t batch = mode & 1 ? 2 : 0, pixels = mode & 1 ? 0 : 2;
            size_t classes = is_binary(kind) ? 1 : 3;
            problem p = problem_with(submod_scores_f32(NULL, batch, classes, pixels),
                                     submod_labels_u8(NULL, batch, pixels));
            p.settings.per_image = mode & 2;
            p.settings.classes = (submod_classes)(mode & 4 ? 1 : 0);
            submod_gradient g = submod_gradient_dense(NULL, classes, pixels);
            double loss = -1;
            ck_assert_ok(calls[kind](&p, &loss, &g, NULL));
            ck_assert(loss == 0);
            if (!is_binary(kind)) {
                p.scores.classes = 1;
                assert_refused(kind, &p, SUBMOD_EINVAL, "the softmax of one class is always 1");
            }
        }
    }
}
END_TEST

static void assert_zero(int kind, const problem *p)
{
    float g[2 * 3 * 4];
    size_t size = p->scores.batch * p->scores.classes * p->scores.pixels;
    for (size_t k = 0; k < size; k++) {
        g[k] = 7;
    }
    ck_assert(evaluate(kind, p, g) == 0);
    for (size_t k = 0; k < size; k++) {
        ck_assert(g[k] == 0);
    }
}

START_TEST(all_ignored)
{
    const float x[24] = {1, 2, 3, -4};
    const uint8_t y[8] = {255, 255, 255, 255, 255, 255, 255, 255};
    for (int kind = 0; kind < KINDS; kind++) {
        for (int mode = 0; mode < 8; mode++) {
            problem p = problem_with(submod_scores_f32(x, 2, is_binary(kind) ? 1 : 3, 4),
                                     submod_labels_u8(y, 2, 4));
            p.settings.per_image = mode & 1;
            p.settings.classes = (submod_classes)(mode & 2 ? 1 : 0);
            p.settings.smoothing = mode & 4 ? 1 : 0;
            p.settings.has_ignore = 1;
            p.settings.ignore_index = 255;
            assert_zero(kind, &p);
        }
    }
}
END_TEST

/* An image that is all ignored counts as 0 in the mean over the images. */
START_TEST(one_image_ignored)
{
    const float x[24] = {1, 2, 3, -4, 0.5F, 1, 1, 0, 2, 0, 1, 0};
    const uint8_t y[8] = {0, 1, 1, 255, 255, 255, 255, 255};
    for (int kind = 0; kind < KINDS; kind++) {
        float g[24], alone[12];
        size_t classes = is_binary(kind) ? 1 : 3;
        problem p = problem_with(submod_scores_f32(x, 2, classes, 4), submod_labels_u8(y, 2, 4));
        p.settings.per_image = 1;
        p.settings.has_ignore = 1;
        p.settings.ignore_index = 255;
        double loss = evaluate(kind, &p, g);
        p.scores.batch = p.labels.batch = 1;
        double first = evaluate(kind, &p, alone);
        ck_assert_double_gt(first, 0);
        ck_assert_near(loss, first / 2, 1e-15);
        for (size_t k = 0; k < 4 * classes; k++) {
            ck_assert(g[k] == alone[k] / 2 && g[4 * classes + k] == 0);
        }
    }
}
END_TEST

START_TEST(zero_weights)
{
    const float x[24] = {1, 0.5F, 3, -4};
    const uint8_t y[8] = {0, 1, 1, 0, 0, 0, 0, 0};
    const double none[3] = {0, 0, 0}, unseen[3] = {0, 0, 5}, first[3] = {0, 1, 1};
    const int kinds[] = {CROSS_ENTROPY, HINGE, DICE, JACCARD};
    for (int k = 0; k < 4; k++) {
        int kind = kinds[k];
        for (int per_image = 0; per_image < 2; per_image++) {
            problem p = problem_with(submod_scores_f32(x, 2, is_binary(kind) ? 1 : 3, 4),
                                     submod_labels_u8(y, 2, 4));
            p.settings.per_image = per_image;
            p.settings.class_weight = none;
            assert_refused(kind, &p, SUBMOD_EINVAL, "class_weight is 0 for every class");
            if (kind != HINGE) { /* which sees both of its classes */
                p.settings.class_weight = unseen;
                assert_zero(kind, &p);
            }
            p.settings.class_weight = first; /* pixels of class 0 weigh nothing */
            double loss;
            ck_assert_ok(calls[kind](&p, &loss, NULL, NULL));
            ck_assert_double_gt(loss, 0);
        }
    }
}
END_TEST

START_TEST(absent_class)
{
    const float x[2][4] = {{1, 2, 3, -4}, {-1, 0, 1, 2}};
    const uint8_t y[4] = {0};
    problem p = problem_with(submod_scores_f32(x[0], 1, 1, 4), submod_labels_u8(y, 1, 4));
    float g[8];
    ck_assert(evaluate(RAHMAN_WANG, &p, g) == 1);
    for (int k = 0; k < 4; k++) {
        ck_assert(g[k] == 0);
    }
    p.scores.classes = 2;
    for (int kind = DICE; kind <= JACCARD; kind++) {
        const double second_only[2] = {0, 1};
        p.settings = submod_loss_defaults();
        p.settings.classes = SUBMOD_CLASSES_ALL;
        double all = evaluate(kind, &p, g);
        p.settings.classes = SUBMOD_CLASSES_PRESENT;
        ck_assert_near(all, (evaluate(kind, &p, g) + 1) / 2, 1e-15);
        p.settings.classes = SUBMOD_CLASSES_ALL;
        p.settings.class_weight = second_only;
        ck_assert(evaluate(kind, &p, g) == 1);
        for (int k = 0; k < 8; k++) {
            ck_assert(g[k] == 0);
        }
        double sum = 0;
        for (int i = 0; i < 4; i++) {
            sum += 1 / (1 + exp((double)x[0][i] - (double)x[1][i]));
        }
        p.settings.smoothing = 0.25;
        ck_assert_near(evaluate(kind, &p, g), 1 - 0.25 / (sum + 0.25), 1e-7);
        ck_assert(g[4] > 0);
    }
}
END_TEST

/* Nothing there, nothing predicted. */
START_TEST(zero_over_zero)
{
    const float x[8] = {1, 1, 1, 1, 0, 0, 0, 0};
    const uint8_t y[4] = {0};
    problem p = problem_with(submod_scores_f32(x + 4, 1, 1, 4), submod_labels_u8(y, 1, 4));
    p.settings.from_logits = 0;
    assert_zero(RAHMAN_WANG, &p);
    p.scores = submod_scores_f32(x, 1, 2, 4);
    p.settings.classes = SUBMOD_CLASSES_ALL;
    float g[8];
    ck_assert(evaluate(DICE, &p, g) == 0 && evaluate(JACCARD, &p, g) == 0);
    ck_assert(g[4] == 0 && g[0] < 0);
    p.settings.smoothing = 1e-30;
    ck_assert(evaluate(JACCARD, &p, g) == 0 && isfinite(g[4]));
}
END_TEST

/* ---- errors ---- */

START_TEST(bad_values)
{
    for (int kind = 0; kind < KINDS; kind++) {
        float x[12] = {0};
        int32_t y[4] = {0, 1, 1, 9};
        size_t classes = is_binary(kind) ? 1 : 3;
        problem good =
            problem_with(submod_scores_f32(x, 2, classes, 2), submod_labels_i32(y, 2, 2));
        good.settings.has_ignore = 1;
        good.settings.ignore_index = 9;
        problem p = good;
        p.settings.has_ignore = 0;
        assert_refused(kind, &p, SUBMOD_EINVAL, "labels[1][1] = 9 is not");
        p.settings.per_image = 1;
        y[2] = -1;
        assert_refused(kind, &p, SUBMOD_EINVAL, "labels[1][0] = -1 is not");
        y[2] = 1;
        p = good;
        for (int per_image = 0; per_image < 2; per_image++) { /* at the ignored pixel too */
            p.settings.per_image = per_image;
            x[2 * classes + 1] = NAN;
            assert_refused(kind, &p, SUBMOD_ENONFINITE, "scores[1][0][1] is");
            x[2 * classes + 1] = INFINITY;
            if (kind == HINGE) { /* test_loss_hinge.c checks it */
                ck_assert_ok(calls[kind](&p, NULL, NULL, NULL));
            } else {
                assert_refused(kind, &p, SUBMOD_ENONFINITE, "scores[1][0][1] is inf");
            }
            x[2 * classes + 1] = 0;
        }
        if (kind >= RAHMAN_WANG) {
            p.settings.from_logits = 0;
            x[0] = 1.0005F;
            ck_assert_ok(calls[kind](&p, NULL, NULL, NULL));
            x[0] = 1.01F;
            assert_refused(kind, &p, SUBMOD_EINVAL, "is no probability");
        }
        p = good;
        p.settings.from_logits = 0;
        if (kind == CROSS_ENTROPY) {
            assert_refused(kind, &p, SUBMOD_EINVAL, "takes logits alone");
        } else if (kind == HINGE) { /* not looked at */
            x[0] = 1.01F;
            ck_assert_ok(calls[kind](&p, NULL, NULL, NULL));
        }
    }
}
END_TEST

START_TEST(bad_settings)
{
    const float x[12] = {0};
    const int32_t y[4] = {0, 1, 1, 0}, twice[2] = {1, 1};
    const double negative[3] = {1, -1, 1}, nan[3] = {1, NAN, 1};
    for (int kind = 0; kind < KINDS; kind++) {
        size_t classes = is_binary(kind) ? 1 : 3;
        const problem good =
            problem_with(submod_scores_f32(x, 2, classes, 2), submod_labels_i32(y, 2, 2));
        problem p = good;
        if (kind != RAHMAN_WANG) {
            p.settings.class_weight = negative;
            assert_refused(kind, &p, SUBMOD_EINVAL, "class_weight[1] = -1");
            p.settings.class_weight = nan;
            assert_refused(kind, &p, SUBMOD_ENONFINITE, "class_weight[1] is");
        } else { /* not looked at */
            p.settings.class_weight = nan;
            ck_assert_ok(calls[kind](&p, NULL, NULL, NULL));
        }
        p = good;
        if (kind >= DICE) {
            const double bad[] = {-1, 1e-31};
            for (int k = 0; k < 2; k++) {
                p.settings.smoothing = bad[k];
                assert_refused(kind, &p, SUBMOD_EINVAL, "smoothing");
            }
            p.settings.smoothing = INFINITY;
            assert_refused(kind, &p, SUBMOD_ENONFINITE, "smoothing = inf must be finite");
            p = good;
            p.settings.classes = (submod_classes)9;
            assert_refused(kind, &p, SUBMOD_EINVAL, "classes = 9");
            p.settings.classes = SUBMOD_CLASSES_LIST;
            p.settings.class_list = twice;
            p.settings.class_count = 2;
            assert_refused(kind, &p, SUBMOD_EINVAL, "class_list");
            p.settings.class_count = 0;
            assert_refused(kind, &p, SUBMOD_EINVAL, "class_list is empty");
        } else { /* not looked at */
            p.settings.smoothing = NAN;
            p.settings.classes = (submod_classes)9;
            ck_assert_ok(calls[kind](&p, NULL, NULL, NULL));
        }
    }
}
END_TEST

START_TEST(bad_views)
{
    const float x[12] = {0};
    const int32_t y[4] = {0, 1, 1, 0};
    float data[12];
    for (int kind = 0; kind < KINDS; kind++) {
        size_t classes = is_binary(kind) ? 1 : 3;
        const problem good =
            problem_with(submod_scores_f32(x, 2, classes, 2), submod_labels_i32(y, 2, 2));
        problem p = good;
        p.scores.classes = 0;
        assert_refused(kind, &p, SUBMOD_EINVAL,
                       is_binary(kind) ? "classes = 0 must be 1" : "classes = 0 must be");
        if (is_binary(kind)) {
            p.scores.classes = 2;
            assert_refused(kind, &p, SUBMOD_EINVAL, "classes = 2 must be 1");
        }
        p = good;
        p.scores.data = NULL;
        assert_refused(kind, &p, SUBMOD_EINVAL, "scores.data is NULL");
        p = good;
        p.scores.type = (submod_score_type)7;
        assert_refused(kind, &p, SUBMOD_EINVAL, "type = 7 is unknown");
        p = good;
        p.labels.pixels = 1;
        assert_refused(kind, &p, SUBMOD_EINVAL, "labels are 2 x 1");
        submod_gradient g = submod_gradient_dense(NULL, classes, 2);
        assert_error(calls[kind](&good, NULL, &g, NULL), SUBMOD_EINVAL, "gradient.data is NULL");
        g = submod_gradient_dense(data, classes, 2);
        g.scale = NAN;
        assert_error(calls[kind](&good, NULL, &g, NULL), SUBMOD_ENONFINITE, "gradient.scale");
    }
    submod_scores s = submod_scores_f32(x, 2, 1, 2);
    submod_labels l = submod_labels_i32(y, 2, 2);
    assert_error(submod_cross_entropy(NULL, &l, NULL, NULL, NULL, NULL), SUBMOD_EINVAL,
                 "scores is");
    assert_error(submod_cross_entropy(&s, NULL, NULL, NULL, NULL, NULL), SUBMOD_EINVAL,
                 "labels is");
    assert_error(submod_hinge(NULL, &l, NULL, NULL, NULL, NULL), SUBMOD_EINVAL, "scores is");
    assert_error(submod_hinge(&s, NULL, NULL, NULL, NULL, NULL), SUBMOD_EINVAL, "labels is");
    assert_error(submod_rahman_wang(NULL, &l, NULL, NULL, NULL, NULL), SUBMOD_EINVAL, "scores");
    assert_error(submod_soft_dice(&s, NULL, NULL, NULL, NULL, NULL), SUBMOD_EINVAL, "labels");
    assert_error(submod_soft_jaccard(NULL, &l, NULL, NULL, NULL, NULL), SUBMOD_EINVAL, "scores");
}
END_TEST

int main(void)
{
    return RUN_TESTS("baseline_special", empty_input, all_ignored, one_image_ignored, zero_weights,
                     absent_class, zero_over_zero, bad_values, bad_settings, bad_views);
}
