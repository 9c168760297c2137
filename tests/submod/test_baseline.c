/* Cross-entropy, hinge, Rahman-Wang, soft Dice and soft Jaccard against slow references in double,
 * finite differences and values by hand. */
#include <submod/baseline.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "baselines.h"
#include "support.h"

/* ---- slow references: dense arrays of doubles, int labels, one group at a time ---- */

enum { MOST_CLASSES = 8 };

typedef struct reference {
    int kind;
    size_t batch, classes, pixels;
    const int32_t *label;
    const submod_loss_settings *s;
    bool probabilities;
} reference;

/* Value of class c at pixel i of image b, after the activation. */
static double probability(const reference *r, const double *x, size_t b, size_t c, size_t i)
{
    const double *image = x + b * r->classes * r->pixels;
    double own = image[c * r->pixels + i];
    if (r->probabilities) {
        return own;
    }
    if (r->kind == RAHMAN_WANG) {
        return 1 / (1 + exp(-own));
    }
    double total = 0;
    for (size_t k = 0; k < r->classes; k++) {
        total += exp(image[k * r->pixels + i] - own);
    }
    return 1 / total;
}

static double pixel_weight(const reference *r, size_t b, size_t i)
{
    return r->s->pixel_weights ? (double)r->s->pixel_weights->data[b * r->pixels + i] : 1;
}

static bool is_ignored(const reference *r, size_t b, size_t i)
{
    return r->s->has_ignore && r->label[b * r->pixels + i] == r->s->ignore_index;
}

/* Weighted mean of a loss per pixel over images first .. last-1. */
static double mean_of_pixels(const reference *r, const double *x, size_t first, size_t last)
{
    double loss = 0, total = 0;
    for (size_t b = first; b < last; b++) {
        for (size_t i = 0; i < r->pixels; i++) {
            if (!is_ignored(r, b, i)) {
                int32_t y = r->label[b * r->pixels + i];
                double w = r->s->class_weight ? r->s->class_weight[y] : 1;
                w *= pixel_weight(r, b, i);
                double own = r->kind == HINGE ? fmax(0, 1 - (2 * y - 1) * x[b * r->pixels + i])
                                              : -log(probability(r, x, b, (size_t)y, i));
                loss += w * own;
                total += w;
            }
        }
    }
    return total > 0 ? loss / total : 0;
}

static double overlap_of_class(const reference *r, const double *x, size_t first, size_t last,
                               size_t c, bool *present)
{
    double I = 0, S = 0, P = 0;
    int32_t target = r->kind == RAHMAN_WANG ? 1 : (int32_t)c;
    for (size_t b = first; b < last; b++) {
        for (size_t i = 0; i < r->pixels; i++) {
            if (!is_ignored(r, b, i)) {
                double p = probability(r, x, b, c, i);
                double y = r->label[b * r->pixels + i] == target;
                double w = pixel_weight(r, b, i);
                I += w * p * y;
                S += w * p;
                P += w * y;
            }
        }
    }
    *present = P > 0;
    double s = r->kind == RAHMAN_WANG ? 0 : r->s->smoothing;
    double over = r->kind == DICE ? 2 * I + s : I + s;
    double under = r->kind == DICE ? S + P + s : S + P - I + s;
    return under > 0 ? 1 - over / under : 0;
}

static double mean_of_classes(const reference *r, const double *x, size_t first, size_t last)
{
    double loss = 0, total = 0;
    for (size_t c = 0; c < r->classes; c++) {
        bool present, taken = true;
        double own = overlap_of_class(r, x, first, last, c, &present);
        double w = r->s->class_weight && r->kind != RAHMAN_WANG ? r->s->class_weight[c] : 1;
        if (r->s->classes == SUBMOD_CLASSES_PRESENT && r->kind != RAHMAN_WANG) {
            taken = present;
        } else if (r->s->classes == SUBMOD_CLASSES_LIST) {
            taken = false;
            for (size_t k = 0; k < r->s->class_count; k++) {
                taken = taken || r->s->class_list[k] == (int32_t)c;
            }
        }
        loss += taken ? w * own : 0;
        total += taken ? w : 0;
    }
    return total > 0 ? loss / total : 0;
}

static double reference_loss(const reference *r, const double *x)
{
    size_t step = r->s->per_image ? 1 : r->batch;
    double loss = 0, groups = 0;
    for (size_t b = 0; b < r->batch; b += step) {
        loss += r->kind == CROSS_ENTROPY || r->kind == HINGE ? mean_of_pixels(r, x, b, b + step)
                                                             : mean_of_classes(r, x, b, b + step);
        groups++;
    }
    return loss / groups;
}

/* ---- against the references ---- */

static void compare(instance *e, int kind, const problem *p)
{
    reference r = {kind, B, e->classes, N, e->label, &p->settings, !p->settings.from_logits};
    size_t size = B * e->classes * N;
    float gradient[SIZE];
    double loss = -1;
    submod_gradient g = submod_gradient_dense(gradient, e->classes, N);
    ck_assert_ok(calls[kind](p, &loss, &g, NULL));
    ck_assert_near(loss, reference_loss(&r, e->exact), 2e-7 * (1 + loss));
    for (size_t k = 0; k < size; k++) {
        const double h = 1e-5;
        double middle = e->exact[k];
        e->exact[k] = middle + h;
        double above = reference_loss(&r, e->exact);
        e->exact[k] = middle - h;
        double below = reference_loss(&r, e->exact);
        e->exact[k] = middle;
        double slope = (above - below) / (2 * h);
        ck_assert_near((double)gradient[k], slope, 3e-7 * fabs(slope) + 5e-9);
    }
}

/* The weights of the second image are whole numbers and often 0. With spread, they cover eight
 * orders of magnitude in each image, and 68 between the images. */
static void fill_pixel_weights(submod_rng *rng, bool spread, float *weight)
{
    static const double scale[B] = {1e30, 1e-38, 1};
    for (size_t k = 0; k < LABELS; k++) {
        bool whole = k / N == 1;
        double u = submod_rng_uniform(rng);
        weight[k] = (float)(spread  ? pow(10, 8 * u - 4) * scale[k / N]
                            : whole ? floor(4 * u)
                                    : 3 * u);
    }
}

START_TEST(values_and_finite_differences)
{
    static const int32_t list[] = {4, 1};
    float weight[LABELS] = {0};
    const submod_pixel_weights weights = submod_pixel_weights_f32(weight, B, N);
    submod_rng rng, of_weights;
    submod_rng_seed(&rng, 1);
    submod_rng_seed(&of_weights, 11);
    for (int kind = 0; kind < KINDS; kind++) {
        for (unsigned bits = 0; bits < 64; bits++) {
            for (int classes = 0; classes < (kind >= DICE ? 3 : 1); classes++) {
                instance e;
                fill_pixel_weights(&of_weights, bits & 32, weight);
                bool probabilities = kind >= RAHMAN_WANG && (bits & 8);
                fill(&e, kind, &rng, probabilities);
                problem p = problem_of(&e);
                p.settings.from_logits = !probabilities;
                p.settings.per_image = (bits & 1) != 0;
                p.settings.class_weight = bits & 2 ? e.weight : NULL;
                p.settings.smoothing = bits & 4 ? 1.5 : 0;
                p.settings.pixel_weights = bits & 16 ? &weights : NULL;
                p.settings.classes = (submod_classes)classes;
                p.settings.class_list = list;
                p.settings.class_count = 2;
                compare(&e, kind, &p);
            }
        }
    }
}
END_TEST

/* NULL settings are the defaults, loss and gradient are optional. */
START_TEST(defaults)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    instance e;
    fill(&e, DICE, &rng, false);
    for (int k = 0; k < LABELS; k++) {
        e.label[k] = e.label[k] == IGNORED ? 0 : e.label[k];
    }
    problem p = problem_of(&e);
    p.settings = submod_loss_defaults();
    ck_assert(p.settings.from_logits && p.settings.classes == SUBMOD_CLASSES_PRESENT &&
              p.settings.smoothing == 0 && !p.settings.per_image && !p.settings.has_ignore &&
              !p.settings.class_weight);
    double loss, again;
    ck_assert_ok(calls[DICE](&p, &loss, NULL, NULL));
    ck_assert_ok(submod_soft_dice(&p.scores, &p.labels, &again, NULL, NULL, NULL));
    ck_assert(loss == again);
    ck_assert_ok(calls[CROSS_ENTROPY](&p, &loss, NULL, NULL));
    ck_assert_ok(submod_cross_entropy(&p.scores, &p.labels, &again, NULL, NULL, NULL));
    ck_assert(loss == again);
    float gradient[SIZE], same[SIZE];
    submod_gradient g = submod_gradient_dense(gradient, C, N);
    submod_gradient h = submod_gradient_dense(same, C, N);
    ck_assert_ok(submod_cross_entropy(&p.scores, &p.labels, NULL, &g, NULL, NULL));
    ck_assert_ok(submod_cross_entropy(&p.scores, &p.labels, &again, &h, NULL, NULL));
    ck_assert_mem_eq(gradient, same, sizeof gradient);
}
END_TEST

/* ---- values by hand ---- */

/* Softmax of (log 3, 0) is (3/4, 1/4), of (0, 0) is (1/2, 1/2). */
START_TEST(cross_entropy_by_hand)
{
    const float x[2][2] = {{(float)1.0986122886681098, 0}, {0, 0}}; /* classes x pixels */
    const uint8_t y[2] = {0, 1};
    const double w[2] = {1, 3};
    float g[2][2];
    double loss;
    submod_scores scores = submod_scores_f32(x[0], 1, 2, 2);
    submod_labels labels = submod_labels_u8(y, 1, 2);
    submod_gradient gradient = submod_gradient_dense(g[0], 2, 2);
    submod_loss_settings s = submod_loss_defaults();
    ck_assert_ok(submod_cross_entropy(&scores, &labels, &loss, &gradient, &s, NULL));
    ck_assert_near(loss, (log(4. / 3) + log(2)) / 2, 1e-7);
    const double expected[2][2] = {{-0.125, 0.25}, {0.125, -0.25}};
    for (int c = 0; c < 2; c++) {
        for (int i = 0; i < 2; i++) {
            ck_assert_near((double)g[c][i], expected[c][i], 1e-7);
        }
    }
    s.class_weight = w; /* (1 a + 3 b) / (1 + 3) */
    ck_assert_ok(submod_cross_entropy(&scores, &labels, &loss, &gradient, &s, NULL));
    ck_assert_near(loss, (log(4. / 3) + 3 * log(2)) / 4, 1e-7);
    ck_assert_near((double)g[0][0], -0.0625, 1e-8);
    ck_assert_near((double)g[0][1], 0.375, 1e-7);
}
END_TEST

/* The convention of PyTorch's documentation, l = sum of w_y * l_n / sum of w_y over what is not
 * ignored, in exact arithmetic: softmax of log(1, 2, 5) / 8 and log(4, 2, 2) / 8. */
START_TEST(cross_entropy_as_in_pytorch)
{
    const float l2 = (float)0.6931471805599453, l5 = (float)1.6094379124341003;
    const float x[3][3] = {{0, l2, l5}, {2 * l2, l2, l2}, {1, 2, 3}}; /* pixels x classes */
    const int64_t y[3] = {2, 1, -100};
    const double w[3] = {100, 2, 0.5};
    submod_scores scores = {x, SUBMOD_SCORE_F32, 1, 3, 3, 9, 1, 3};
    submod_labels labels = submod_labels_i64(y, 1, 3);
    submod_loss_settings s = submod_loss_defaults();
    s.class_weight = w;
    s.has_ignore = 1;
    s.ignore_index = -100;
    double loss;
    ck_assert_ok(submod_cross_entropy(&scores, &labels, &loss, NULL, &s, NULL));
    ck_assert_near(loss, (0.5 * log(8. / 5) + 2 * log(4)) / 2.5, 1e-7);
    const double huge[3] = {1e308, 1e308, 2.5e307}; /* only ratios matter */
    s.class_weight = huge;
    ck_assert_ok(submod_cross_entropy(&scores, &labels, &loss, NULL, &s, NULL));
    ck_assert_near(loss, (log(8. / 5) + 4 * log(4)) / 5, 1e-7);
}
END_TEST

/* Margins 0.5, 3, 0, 0 (kink) and an ignored one. */
START_TEST(hinge_by_hand)
{
    const float x[5] = {0.5F, 2, -3, 1, 7};
    const uint8_t y[5] = {1, 0, 0, 1, 9};
    const double w[2] = {1, 2};
    float g[5];
    double loss;
    submod_scores scores = submod_scores_f32(x, 1, 1, 5);
    submod_labels labels = submod_labels_u8(y, 1, 5);
    submod_gradient gradient = submod_gradient_dense(g, 1, 5);
    submod_loss_settings s = submod_loss_defaults();
    s.has_ignore = 1;
    s.ignore_index = 9;
    ck_assert_ok(submod_hinge(&scores, &labels, &loss, &gradient, &s, NULL));
    ck_assert(loss == 3.5 / 4);
    ck_assert(g[0] == -0.25F && g[1] == 0.25F && g[2] == 0 && g[3] == 0 && g[4] == 0);
    s.class_weight = w;
    ck_assert_ok(submod_hinge(&scores, &labels, &loss, &gradient, &s, NULL));
    ck_assert_near(loss, (2 * 0.5 + 3) / 6, 1e-15);
    ck_assert_near((double)g[0], -2. / 6, 1e-7);
    ck_assert_near((double)g[1], 1. / 6, 1e-7);
}
END_TEST

/* p = 0.5, 0.25, 0.75 with y = 1, 0, 1: I = 1.25, U = 1.5 + 2 - 1.25 = 2.25, sums 3.5. */
START_TEST(overlaps_by_hand)
{
    const float p[2][3] = {{0.5F, 0.75F, 0.25F}, {0.5F, 0.25F, 0.75F}};
    const uint8_t y[3] = {1, 0, 1};
    const int32_t list[1] = {1};
    float g[2][3];
    double loss;
    submod_scores one = submod_scores_f32(p[1], 1, 1, 3), two = submod_scores_f32(p[0], 1, 2, 3);
    submod_labels labels = submod_labels_u8(y, 1, 3);
    submod_gradient gradient = submod_gradient_dense(g[1], 1, 3);
    submod_loss_settings s = submod_loss_defaults();
    s.from_logits = 0;
    s.classes = SUBMOD_CLASSES_LIST;
    s.class_list = list;
    s.class_count = 1;
    ck_assert_ok(submod_rahman_wang(&one, &labels, &loss, &gradient, &s, NULL));
    ck_assert_near(loss, 1 - 1.25 / 2.25, 1e-15);
    ck_assert_near((double)g[1][0], -1 / 2.25, 1e-7);
    ck_assert_near((double)g[1][1], 1.25 / (2.25 * 2.25), 1e-7);
    gradient = submod_gradient_dense(g[0], 2, 3);
    ck_assert_ok(submod_soft_jaccard(&two, &labels, &loss, &gradient, &s, NULL));
    ck_assert_near(loss, 1 - 1.25 / 2.25, 1e-15);
    ck_assert(g[0][0] == 0 && g[0][1] == 0 && g[0][2] == 0);
    ck_assert_ok(submod_soft_dice(&two, &labels, &loss, &gradient, &s, NULL));
    ck_assert_near(loss, 1 - 2.5 / 3.5, 1e-15);
    ck_assert_near((double)g[1][2], -2 / 3.5 + 2.5 / (3.5 * 3.5), 1e-7);
    s.smoothing = 1;
    ck_assert_ok(submod_soft_dice(&two, &labels, &loss, NULL, &s, NULL));
    ck_assert_near(loss, 1 - 3.5 / 4.5, 1e-15);
    ck_assert_ok(submod_soft_jaccard(&two, &labels, &loss, NULL, &s, NULL));
    ck_assert_near(loss, 1 - 2.25 / 3.25, 1e-15);
}
END_TEST

/* On hard predictions the soft losses are the discrete ones. */
START_TEST(hard_predictions_give_the_discrete_losses)
{
    for (unsigned bits = 0; bits < 1U << 10; bits++) {
        float p[5];
        uint8_t y[5];
        double value;
        unsigned prediction = bits & 31, truth = bits >> 5;
        for (unsigned i = 0; i < 5; i++) {
            p[i] = (float)(prediction >> i & 1);
            y[i] = (uint8_t)(truth >> i & 1);
        }
        int both = __builtin_popcount(prediction & truth);
        int either = __builtin_popcount(prediction | truth);
        submod_scores scores = submod_scores_f32(p, 1, 1, 5);
        submod_labels labels = submod_labels_u8(y, 1, 5);
        submod_loss_settings s = submod_loss_defaults();
        s.from_logits = 0;
        ck_assert_ok(submod_rahman_wang(&scores, &labels, &value, NULL, &s, NULL));
        ck_assert_near(value, either ? 1 - (double)both / either : 0, 1e-15);
    }
}
END_TEST

/* ---- accuracy at the ends ---- */

/* Loss log(1 + 2 exp(-gap)) and gradient -(2 exp(-gap)) / (1 + 2 exp(-gap)), relatively. */
START_TEST(confident_predictions)
{
    for (int k = -160; k <= 160; k++) {
        double gap = k / 2.;
        float x[3] = {(float)gap, 0, 0}, g[3];
        uint8_t y = 0;
        double loss, rest = 2 * exp(-gap);
        submod_scores scores = submod_scores_f32(x, 1, 3, 1);
        submod_labels labels = submod_labels_u8(&y, 1, 1);
        submod_gradient gradient = submod_gradient_dense(g, 3, 1);
        ck_assert_ok(submod_cross_entropy(&scores, &labels, &loss, &gradient, NULL, NULL));
        ck_assert_near(loss / log1p(rest), 1, 5e-7);
        ck_assert_near((double)g[0] / (-rest / (1 + rest)), 1, 5e-7);
        ck_assert_near((double)g[1] / (exp(-gap) / (1 + rest)), 1, 5e-7);
    }
}
END_TEST

/* Beyond what float can hold: next to nothing at a right label, the gap itself at a wrong one. */
START_TEST(overconfident_predictions)
{
    for (int k = 0; k < 40; k++) {
        double gap = 87.5 * pow(8, k);
        if (gap > 1e38) {
            break;
        }
        float x[3] = {(float)gap, 0, 0}, g[3];
        for (uint8_t y = 0; y < 2; y++) {
            double loss;
            submod_scores scores = submod_scores_f32(x, 1, 3, 1);
            submod_labels labels = submod_labels_u8(&y, 1, 1);
            submod_gradient gradient = submod_gradient_dense(g, 3, 1);
            ck_assert_ok(submod_cross_entropy(&scores, &labels, &loss, &gradient, NULL, NULL));
            ck_assert_near(loss, y ? (double)x[0] : 2e-38, y ? 1e-7 * gap : 2e-38);
            ck_assert_near((double)g[0], y ? 1 : -2e-38, y ? 1e-6 : 2e-38);
            ck_assert_near((double)g[1], y ? -1 : 1e-38, y ? 1e-6 : 1e-38);
        }
    }
}
END_TEST

/* Many equal classes: log of their number. */
START_TEST(uniform_predictions)
{
    for (size_t classes = 2; classes <= 100000; classes += 1 + classes * 3 / 4) {
        float *x = calloc(classes, sizeof *x);
        int32_t y = (int32_t)(classes / 2);
        double loss;
        submod_scores scores = submod_scores_f32(x, 1, classes, 1);
        submod_labels labels = submod_labels_i32(&y, 1, 1);
        ck_assert_ok(submod_cross_entropy(&scores, &labels, &loss, NULL, NULL, NULL));
        ck_assert_near(loss, log((double)classes), 1e-7 * (1 + loss));
        free(x);
    }
}
END_TEST

START_TEST(huge_scores)
{
    const float most = 3.4e38F;
    const float x[3][2] = {{most, -most}, {-most, most}, {0, 0}};
    const uint8_t y[2] = {0, 0};
    for (int kind = 0; kind < KINDS; kind++) {
        float g[6];
        double loss = -1;
        size_t classes = is_binary(kind) ? 1 : 3;
        problem p = problem_with(submod_scores_f32(x[0], 1, classes, 2), submod_labels_u8(y, 1, 2));
        submod_gradient gradient = submod_gradient_dense(g, classes, 2);
        ck_assert_ok(calls[kind](&p, &loss, &gradient, NULL));
        ck_assert(isfinite(loss) && loss >= 0);
        for (size_t k = 0; k < 2 * classes; k++) {
            ck_assert(isfinite(g[k]) && fabsf(g[k]) <= 1);
        }
        if (kind == CROSS_ENTROPY) { /* 0 and 2 * most, halved */
            ck_assert_near(loss / (double)most, 1, 1e-7);
            ck_assert(g[1] == -0.5F && g[3] == 0.5F);
        }
        if (kind == HINGE) {
            ck_assert_near(loss / (double)most, 0.5, 1e-7);
        }
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("baseline", values_and_finite_differences, defaults, cross_entropy_by_hand,
                     cross_entropy_as_in_pytorch, hinge_by_hand, overlaps_by_hand,
                     hard_predictions_give_the_discrete_losses, confident_predictions,
                     overconfident_predictions, uniform_predictions, huge_scores);
}
