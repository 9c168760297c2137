/* The special cases of loss.h's table. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "losses.h"
#include "support.h"

/* ---- special cases of the header's table ---- */

START_TEST(degenerate_batches)
{
    float x[4] = {1, 2, 3, 4}, g[4] = {7, 7, 7, 7};
    uint8_t y[2] = {9, 9}, absent[2] = {0, 0};
    for (int engine = 0; engine < 2; engine++) {
        submod_loss_settings s = submod_loss_defaults();
        s.engine = (submod_engine)engine;
        s.has_ignore = 1;
        s.ignore_label = 9;
        double loss = 7;
        submod_scores none = submod_scores_f32(NULL, 0, 2, 5),
                      empty = submod_scores_f32(NULL, 3, 2, 0), two = submod_scores_f32(x, 1, 2, 2);
        submod_labels no_labels = submod_labels_u8(NULL, 0, 5),
                      no_pixels = submod_labels_u8(NULL, 3, 0), ignored = submod_labels_u8(y, 1, 2),
                      zeros = submod_labels_u8(absent, 1, 2);
        submod_gradient gradient = submod_gradient_dense(g, 2, 2);
        submod_loss_info info;
        ck_assert_ok(submod_lovasz_softmax(&none, SUBMOD_INPUT_LOGITS, &no_labels, &loss, NULL,
                                           NULL, &s, NULL));
        ck_assert(loss == 0);
        loss = 7;
        ck_assert_ok(submod_lovasz_softmax(&empty, SUBMOD_INPUT_LOGITS, &no_pixels, &loss, NULL,
                                           NULL, &s, NULL));
        ck_assert(loss == 0);
        for (int classes = 0; classes < 2; classes++) { /* all ignored */
            s.classes = (submod_classes)classes;
            loss = 7;
            g[0] = 7;
            ck_assert_ok(submod_lovasz_softmax(&two, SUBMOD_INPUT_LOGITS, &ignored, &loss,
                                               &gradient, &info, &s, NULL));
            ck_assert(loss == 0 && info.pixels == 0);
            ck_assert(g[0] == 0 && g[1] == 0 && g[2] == 0 && g[3] == 0);
        }
        /* Class 1 absent: present leaves it out, all takes its largest error. */
        double p0 = 1 / (1 + exp(2)), p1 = 1 / (1 + exp(-2)); /* both pixels: scores differ by 2 */
        s.classes = SUBMOD_CLASSES_PRESENT;
        double slack = engine ? s.delta : 1e-6;
        ck_assert_ok(
            submod_lovasz_softmax(&two, SUBMOD_INPUT_LOGITS, &zeros, &loss, NULL, &info, &s, NULL));
        ck_assert_near(loss, 1 - p0, slack); /* everything foreground: the mean */
        ck_assert_uint_eq(info.terms, 1);
        s.classes = SUBMOD_CLASSES_ALL;
        ck_assert_ok(submod_lovasz_softmax(&two, SUBMOD_INPUT_LOGITS, &zeros, &loss, &gradient,
                                           &info, &s, NULL));
        ck_assert_near(loss, (1 - p0 + p1) / 2, slack);
        ck_assert_uint_eq(info.terms, 2);
        ck_assert(g[0] == g[1]); /* tied pixels share */
        double no_weight[2] = {0, 1};
        s.classes = SUBMOD_CLASSES_PRESENT;
        s.class_weight = no_weight;
        ck_assert_ok(submod_lovasz_softmax(&two, SUBMOD_INPUT_LOGITS, &zeros, &loss, &gradient,
                                           NULL, &s, NULL));
        ck_assert(loss == 0 && g[0] == 0);
    }
}
END_TEST

START_TEST(huge_scores)
{
    float x[4] = {3e38F, -3e38F, -3e38F, 3e38F}, g[4];
    uint8_t y[2] = {0, 0};
    for (int engine = 0; engine < 2; engine++) {
        submod_loss_settings s = submod_loss_defaults();
        s.engine = (submod_engine)engine;
        submod_scores scores = submod_scores_f32(x, 1, 2, 2);
        submod_labels labels = submod_labels_u8(y, 1, 2);
        submod_gradient gradient = submod_gradient_dense(g, 2, 2);
        double loss;
        ck_assert_ok(submod_lovasz_softmax(&scores, SUBMOD_INPUT_LOGITS, &labels, &loss, &gradient,
                                           NULL, &s, NULL));
        ck_assert_near(loss, 0.5, engine ? s.delta : 1e-6); /* one right, one wrong */
        for (int i = 0; i < 4; i++) {
            ck_assert(isfinite(g[i]));
        }
    }
}
END_TEST

START_TEST(refusals)
{
    float x[6] = {0}, g[6] = {7, 7, 7, 7, 7, 7};
    uint8_t y[3] = {0, 1, 5};
    double loss = 7;
    submod_gradient gradient = submod_gradient_dense(g, 2, 3);
    for (int engine = 0; engine < 2; engine++) {
        submod_loss_settings s = submod_loss_defaults();
        s.engine = (submod_engine)engine;
        submod_scores scores = submod_scores_f32(x, 1, 2, 3),
                      no_classes = submod_scores_f32(x, 1, 0, 3),
                      other = submod_scores_f32(x, 1, 2, 2);
        submod_labels labels = submod_labels_u8(y, 1, 3);
#define REFUSE(status, words, view, in, settings) \
    do { \
        ck_assert_int_eq( \
            submod_lovasz_softmax(view, in, &labels, &loss, &gradient, NULL, settings, NULL), \
            status); \
        ck_assert_msg(strstr(submod_last_error(), words), "%s", submod_last_error()); \
        ck_assert(loss == 7 && g[0] == 7 && g[5] == 7); \
    } while (0)
        y[2] = 5;
        REFUSE(SUBMOD_EINVAL, "labels[0][2] = 5 is not in [0, 2)", &scores, SUBMOD_INPUT_LOGITS,
               &s);
        y[2] = 1;
        REFUSE(SUBMOD_EINVAL, "0 classes", &no_classes, SUBMOD_INPUT_LOGITS, &s);
        REFUSE(SUBMOD_EINVAL, "labels are 1 x 3", &other, SUBMOD_INPUT_LOGITS, &s);
        REFUSE(SUBMOD_EINVAL, "input = 5", &scores, (submod_input)5, &s);
        REFUSE(SUBMOD_EINVAL, "scores is NULL", NULL, SUBMOD_INPUT_LOGITS, &s);
        const float bad[3] = {NAN, INFINITY, -INFINITY};
        for (int b = 0; b < 3; b++) {
            x[4] = bad[b];
            REFUSE(SUBMOD_ENONFINITE, "scores[0][1][1] is", &scores, SUBMOD_INPUT_LOGITS, &s);
            REFUSE(SUBMOD_ENONFINITE, "scores[0][1][1] is", &scores, SUBMOD_INPUT_PROBABILITIES,
                   &s);
        }
        x[4] = 1.5F;
        REFUSE(SUBMOD_EINVAL, "no probability", &scores, SUBMOD_INPUT_PROBABILITIES, &s);
        x[4] = 0;
        submod_loss_settings t = s;
        t.engine = (submod_engine)7;
        REFUSE(SUBMOD_EINVAL, "engine = 7", &scores, SUBMOD_INPUT_LOGITS, &t);
        t = s;
        t.engine = SUBMOD_ENGINE_HISTOGRAM;
        t.delta = 0;
        REFUSE(SUBMOD_EINVAL, "delta = 0", &scores, SUBMOD_INPUT_LOGITS, &t);
        t.delta = NAN;
        REFUSE(SUBMOD_EINVAL, "delta = nan", &scores, SUBMOD_INPUT_LOGITS, &t);
        t = s;
        t.classes = SUBMOD_CLASSES_LIST;
        t.class_list = (int32_t[]){0, 2};
        t.class_count = 2;
        REFUSE(SUBMOD_EINVAL, "class_list[1] = 2", &scores, SUBMOD_INPUT_LOGITS, &t);
        t = s;
        t.class_weight = (double[]){1, -1};
        REFUSE(SUBMOD_EINVAL, "class_weight[1] = -1", &scores, SUBMOD_INPUT_LOGITS, &t);
        gradient.scale = NAN;
        REFUSE(SUBMOD_ENONFINITE, "scale", &scores, SUBMOD_INPUT_LOGITS, &s);
        gradient.scale = 1;
        /* A NaN in the last of several images: the first ones must not have been written. */
        submod_scores images = submod_scores_f32(x, 3, 2, 1);
        submod_labels of_images = submod_labels_u8(y, 3, 1);
        t = s;
        t.per_image = 1;
        x[5] = NAN;
        gradient = submod_gradient_dense(g, 2, 1);
        ck_assert_int_eq(submod_lovasz_softmax(&images, SUBMOD_INPUT_LOGITS, &of_images, &loss,
                                               &gradient, NULL, &t, NULL),
                         SUBMOD_ENONFINITE);
        ck_assert(loss == 7 && g[0] == 7);
        x[5] = 0;
        gradient = submod_gradient_dense(g, 2, 3);
    }
#undef REFUSE
}
END_TEST

/* NaN with any payload is refused, never counted. */
START_TEST(strange_nans)
{
    submod_rng rng;
    submod_rng_seed(&rng, 15);
    for (int repeat = 0; repeat < 2000; repeat++) {
        float x[3] = {0, (float)submod_rng_normal(&rng), 0};
        uint32_t bits = UINT32_C(0x7fc00000) | (uint32_t)(submod_rng_next(&rng) >> 42);
        memcpy(&x[2], &bits, sizeof bits);
        uint8_t y[1] = {0};
        submod_scores scores = submod_scores_f32(x, 1, 3, 1);
        submod_labels labels = submod_labels_u8(y, 1, 1);
        submod_loss_settings s = submod_loss_defaults();
        s.engine = (submod_engine)(repeat % 2);
        double loss = 7;
        ck_assert_int_eq(submod_lovasz_softmax(&scores, SUBMOD_INPUT_LOGITS, &labels, &loss, NULL,
                                               NULL, &s, NULL),
                         SUBMOD_ENONFINITE);
        ck_assert(loss == 7);
    }
}
END_TEST

/* The derivative of the sigmoid does not vanish at confident mistakes of either sign. */
START_TEST(confident_mistakes)
{
    const float x[2] = {20, -20};
    const uint8_t y[2] = {0, 1};
    float g[2];
    double loss;
    submod_scores scores = submod_scores_f32(x, 1, 1, 2);
    submod_labels labels = submod_labels_u8(y, 1, 2);
    submod_gradient to = submod_gradient_dense(g, 1, 2);
    ck_assert_ok(
        submod_lovasz_sigmoid(&scores, SUBMOD_INPUT_LOGITS, &labels, &loss, &to, NULL, NULL, NULL));
    double slope = exp(-20) / ((1 + exp(-20)) * (1 + exp(-20)));
    /* P = 1, errors tie: foreground first, weight 1; background then has weight 0. */
    ck_assert_near((double)g[1], -slope, 1e-6 * slope);
    submod_scores background = submod_scores_f32(x, 1, 1, 1);
    submod_labels its = submod_labels_u8(y, 1, 1);
    submod_loss_settings s = submod_loss_defaults();
    s.classes = SUBMOD_CLASSES_ALL;
    ck_assert_ok(
        submod_lovasz_sigmoid(&background, SUBMOD_INPUT_LOGITS, &its, &loss, &to, NULL, &s, NULL));
    ck_assert_near((double)g[0], slope, 1e-6 * slope);
}
END_TEST

int main(void)
{
    return RUN_TESTS("loss_special", degenerate_batches, huge_scores, refusals, strange_nans,
                     confident_mistakes);
}
