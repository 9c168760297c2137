/* The special cases of loss.h's table, row by row, for softmax, sigmoid and hinge and both engines.
 *
 * All three solve the same binary problem: pixels with a score x and a label. Sigmoid and hinge
 * have one class. Softmax has two, with the logits 0 and x, and the first one has weight 0. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "losses.h"
#include "support.h"

static const kind kinds[] = {SOFTMAX, SIGMOID, HINGE, PROBABILITY, SIGMOID_PROBABILITY};
enum { KINDS = 5, FROM_LOGITS = 3, MOST = 8, IGNORED = 9 };

static bool is_multiclass(kind k)
{
    return k == SOFTMAX || k == PROBABILITY;
}

/* ---- the binary problem ---- */

typedef struct binary {
    size_t B, N;
    float x[MOST];
    int64_t y[MOST];
} binary;

/* The same for a kind of loss: scores of one class, or of two, the first all 0. */
typedef struct views {
    float x[2 * MOST];
    float g[2 * MOST];
    int64_t y[MOST];
    size_t C, own; /* classes; where the scores of the class that counts are */
    submod_scores scores;
    submod_labels labels;
    submod_gradient gradient;
} views;

static void make_views(const binary *d, kind k, views *v)
{
    v->C = is_multiclass(k) ? 2 : 1;
    v->own = v->C == 2 ? d->N : 0;
    for (size_t i = 0; i < d->B * d->N; i++) {
        size_t at = i / d->N * v->C * d->N + i % d->N;
        v->x[at] = 0;
        v->x[at + v->own] = d->x[i];
        v->y[i] = d->y[i];
    }
    for (size_t i = 0; i < 2 * MOST; i++) {
        v->g[i] = 7;
    }
    v->scores = submod_scores_f32(v->x, d->B, v->C, d->N);
    v->labels = submod_labels_i64(v->y, d->B, d->N);
    v->gradient = submod_gradient_dense(v->g, v->C, d->N);
}

static submod_loss_settings settings_for(kind k, int engine)
{
    static const double second[2] = {0, 1};
    submod_loss_settings s = submod_loss_defaults();
    s.engine = (submod_engine)engine;
    s.class_weight = is_multiclass(k) ? second : NULL;
    s.has_ignore = 1;
    s.ignore_index = IGNORED;
    return s;
}

static double error_of(kind k, double x, int64_t y)
{
    double v = k == SOFTMAX || k == SIGMOID ? 1 / (1 + exp(-x)) : x;
    return fmax(0, y == 1 ? 1 - v : (k == HINGE) + v);
}

static double slope_of(kind k, double x) /* of v */
{
    double p = 1 / (1 + exp(-x));
    return k == SOFTMAX || k == SIGMOID ? p * (1 - p) : 1;
}

/* One group as the table says: its loss, and the weight of each pixel's error. */
static double group_by_table(const binary *d, kind k, submod_classes classes, size_t first,
                             size_t last, double *weight)
{
    double valid = 0, P = 0, largest = 0, tied = 0, sum = 0;
    for (size_t i = first; i < last; i++) {
        double e = d->y[i] == IGNORED ? -1 : error_of(k, (double)d->x[i], d->y[i]);
        valid += d->y[i] != IGNORED;
        P += d->y[i] == 1;
        sum += fmax(e, 0);
        tied = e > largest ? 1 : tied + (e == largest);
        largest = fmax(e, largest);
    }
    bool taken = k == HINGE || classes != SUBMOD_CLASSES_PRESENT || P > 0;
    ck_assert(P == 0 || P == valid); /* what lies between is no special case */
    for (size_t i = first; i < last; i++) {
        double e = error_of(k, (double)d->x[i], d->y[i]);
        weight[i] = P > 0 ? 1 / P : e == largest ? 1 / tied : 0;
        weight[i] = d->y[i] == IGNORED || !taken || e <= 0 ? 0 : weight[i];
    }
    return !taken || valid == 0 ? 0 : P > 0 ? sum / P : largest;
}

static void check_row(const binary *d, kind k, int engine, submod_classes classes, int per_image)
{
    static const int32_t second[1] = {1}, only[1] = {0};
    views v;
    submod_loss_settings s = settings_for(k, engine);
    submod_loss_info info;
    double weight[MOST], wanted = 0, loss = 7;
    size_t groups = per_image ? d->B : d->B > 0;
    make_views(d, k, &v);
    s.per_image = per_image;
    s.classes = classes;
    s.class_list = is_multiclass(k) ? second : only;
    s.class_count = classes == SUBMOD_CLASSES_LIST ? 1 : 0;
    for (size_t g = 0; g < groups; g++) {
        size_t pixels = d->B * d->N / groups;
        wanted += group_by_table(d, k, classes, g * pixels, (g + 1) * pixels, weight);
    }
    wanted = groups ? wanted / (double)groups : 0;
    ck_assert_ok(call_views(k, &v.scores, &v.labels, &loss, &v.gradient, &info, &s));
    ck_assert_near(loss, wanted, info.delta + 1e-6);
    for (size_t i = 0; i < d->B * d->N; i++) {
        size_t at = i / d->N * v.C * d->N + i % d->N;
        double slope = weight[i] * slope_of(k, (double)d->x[i]) / (double)groups;
        slope *= d->y[i] == 1 ? -1 : 1;
        ck_assert_near((double)v.g[at + v.own], slope, 1e-6);
        ck_assert(v.C == 1 || fabs((double)v.g[at] + (k == SOFTMAX ? slope : 0)) <= 1e-6);
    }
}

START_TEST(values)
{
    static const binary rows[] = {
        {0, 3, {0}, {0}},                               /* no images */
        {2, 0, {0}, {0}},                               /* no pixels */
        {0, 0, {0}, {0}},                               /* neither */
        {1, 3, {0.1F, 0.8F, 0.3F}, {9, 9, 9}},          /* all ignored */
        {1, 1, {0.25F}, {1}},                           /* one pixel */
        {1, 1, {0.25F}, {0}},                           /* one pixel, P = 0 */
        {1, 3, {0.1F, 0.25F, 0.3F}, {9, 1, 9}},         /* one pixel is left */
        {1, 4, {0.1F, 0.8F, 0.3F, 0.2F}, {0, 0, 0, 0}}, /* absent */
        {1, 4, {0.9F, 0.1F, 0.3F, 0.2F}, {9, 0, 0, 0}}, /* absent, the largest ignored */
        {1, 4, {0.1F, 0.6F, 0.6F, 0.6F}, {0, 0, 9, 0}}, /* absent, with ties */
        {1, 3, {0.1F, 0.8F, 0.3F}, {1, 1, 1}},          /* everything foreground */
        {1, 3, {0.1F, 0.8F, 0.3F}, {1, 9, 1}},          /* all that is left */
        {2, 2, {0.1F, 0.8F, 0.3F, 0.6F}, {1, 1, 1, 1}}, /* the same of two images */
        {2, 2, {0.1F, 0.8F, 0.3F, 0.6F}, {9, 9, 1, 1}}, /* one image ignored */
        {2, 2, {0.1F, 0.8F, 0.3F, 0.6F}, {0, 0, 9, 0}}, /* absent from all */
        {3, 2, {0.1F, 0.8F, 0.3F, 0.6F, 0.2F, 0.7F}, {9, 9, 9, 9, 9, 9}},
    };
    /* Per image only: the whole batch would be an ordinary one. */
    static const binary groups[] = {
        {2, 2, {0.1F, 0.8F, 0.3F, 0.6F}, {0, 0, 1, 1}},
        {3, 2, {0.1F, 0.8F, 0.3F, 0.6F, 0.2F, 0.7F}, {1, 9, 9, 9, 0, 0}},
    };
    for (int variant = 0; variant < KINDS * 2 * 3; variant++) {
        kind k = kinds[variant / 6];
        submod_classes classes = (submod_classes)(variant % 3);
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            check_row(&rows[r], k, variant / 3 % 2, classes, 0);
            check_row(&rows[r], k, variant / 3 % 2, classes, 1);
        }
        for (size_t r = 0; r < sizeof groups / sizeof *groups; r++) {
            check_row(&groups[r], k, variant / 3 % 2, classes, 1);
        }
    }
}
END_TEST

/* ---- numbers ---- */

/* No overflow: one right, one wrong by as much as possible, in each type. */
START_TEST(huge_scores)
{
    const float largest[] = {FLT_MAX, 65504, 0x1.fep127F};
    for (int variant = 0; variant < 2 * FROM_LOGITS * 3; variant++) {
        kind k = kinds[variant / 6];
        float huge = largest[variant % 3];
        const binary d = {1, 2, {huge, -huge}, {1, 1}};
        submod_loss_settings s = settings_for(k, variant / 3 % 2);
        submod_loss_info info;
        double loss;
        uint16_t half[4];
        views v;
        make_views(&d, k, &v);
        for (size_t i = 0; i < 2 * v.C; i++) {
            half[i] = variant % 3 == 1 ? f16_of(v.x[i]) : bf16_of(v.x[i]);
        }
        v.scores.data = variant % 3 ? (const void *)half : v.x;
        v.scores.type = (submod_score_type)(variant % 3);
        ck_assert_ok(call_views(k, &v.scores, &v.labels, &loss, &v.gradient, &info, &s));
        double wanted = k == HINGE ? (1 + (double)huge) / 2 : 0.5;
        ck_assert_near(loss, wanted, info.delta + 1e-6 * wanted);
        for (size_t i = 0; i < 2 * v.C; i++) {
            ck_assert(isfinite(v.g[i]));
        }
        ck_assert_near((double)v.g[v.own + 1], k == HINGE ? -0.5 : 0, 1e-6);
    }
}
END_TEST

/* Subnormal numbers of both half types are the numbers they stand for. */
START_TEST(subnormal_scores)
{
    const uint16_t bits[4] = {0x0001, 0x8001, 0x03ff, 0x83ff};
    for (int variant = 0; variant < 2 * KINDS * 2; variant++) {
        kind k = kinds[variant / 4];
        submod_loss_settings s = settings_for(k, variant / 2 % 2);
        bool brain = variant % 2;
        binary d = {1, 4, {0}, {1, 0, 1, 0}};
        uint16_t half[8] = {0};
        float wanted[8];
        double loss, again;
        views v;
        for (int i = 0; i < 4; i++) {
            double magnitude = brain ? ldexp(bits[i] & 0x7fff, -133) : ldexp(bits[i] & 0x7fff, -24);
            d.x[i] = (float)(bits[i] & 0x8000 ? -magnitude : magnitude);
        }
        make_views(&d, k, &v);
        memcpy(half + v.own, bits, sizeof bits);
        ck_assert_ok(call_views(k, &v.scores, &v.labels, &loss, &v.gradient, NULL, &s));
        memcpy(wanted, v.g, sizeof wanted);
        v.scores.data = half;
        v.scores.type = brain ? SUBMOD_SCORE_BF16 : SUBMOD_SCORE_F16;
        ck_assert_ok(call_views(k, &v.scores, &v.labels, &again, &v.gradient, NULL, &s));
        ck_assert(loss == again);
        ck_assert_mem_eq(v.g, wanted, v.C * 4 * sizeof *wanted);
    }
}
END_TEST

/* What lies outside [0, 1] by less than 1e-3 counts as 0 or 1. */
START_TEST(probabilities_are_clamped)
{
    for (int variant = 0; variant < 4; variant++) {
        kind k = variant % 2 ? PROBABILITY : SIGMOID_PROBABILITY;
        const binary outside = {1, 4, {-0.0009F, 1.0009F, 0.5F, 1.0009F}, {1, 0, 1, 1}},
                     inside = {1, 4, {0, 1, 0.5F, 1}, {1, 0, 1, 1}};
        submod_loss_settings s = settings_for(k, variant / 2);
        double loss, wanted;
        views v, w;
        make_views(&outside, k, &v);
        make_views(&inside, k, &w);
        ck_assert_ok(call_views(k, &v.scores, &v.labels, &loss, &v.gradient, NULL, &s));
        ck_assert_ok(call_views(k, &w.scores, &w.labels, &wanted, &w.gradient, NULL, &s));
        ck_assert(loss == wanted);
        ck_assert_mem_eq(v.g, w.g, sizeof v.g);
    }
}
END_TEST

/* The derivative of the sigmoid does not vanish at confident mistakes of either sign. */
START_TEST(confident_mistakes)
{
    const double slope = exp(-20) / ((1 + exp(-20)) * (1 + exp(-20)));
    for (int label = 0; label < 2; label++) {
        const binary d = {1, 1, {label ? -20.0F : 20.0F}, {label}};
        submod_loss_settings s = settings_for(SIGMOID, 0);
        double loss;
        views v;
        make_views(&d, SIGMOID, &v);
        s.classes = SUBMOD_CLASSES_ALL;
        ck_assert_ok(call_views(SIGMOID, &v.scores, &v.labels, &loss, &v.gradient, NULL, &s));
        ck_assert_near((double)v.g[0], label ? -slope : slope, 1e-6 * slope);
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("loss_special", values, huge_scores, subnormal_scores,
                     probabilities_are_clamped, confident_mistakes);
}
