/* Cross-entropy, hinge, Rahman-Wang, soft Dice and soft Jaccard against slow references in double,
 * finite differences, values by hand, and the special cases that baseline.h promises. */
#include "submod/baseline.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

/* ---- the losses under one signature ---- */

typedef struct problem {
    submod_scores scores;
    submod_input input;
    submod_labels labels;
    submod_baseline_settings settings;
} problem;

typedef submod_status call(const problem *p, double *loss, const submod_gradient *g,
                           submod_work *work);

static submod_status cross_entropy(const problem *p, double *loss, const submod_gradient *g,
                                   submod_work *work)
{
    return submod_cross_entropy(&p->scores, &p->labels, loss, g, &p->settings, work);
}

static submod_status hinge(const problem *p, double *loss, const submod_gradient *g,
                           submod_work *work)
{
    return submod_hinge(&p->scores, &p->labels, loss, g, &p->settings, work);
}

static submod_status rahman_wang(const problem *p, double *loss, const submod_gradient *g,
                                 submod_work *work)
{
    return submod_rahman_wang(&p->scores, p->input, &p->labels, loss, g, &p->settings, work);
}

static submod_status dice(const problem *p, double *loss, const submod_gradient *g,
                          submod_work *work)
{
    return submod_soft_dice(&p->scores, p->input, &p->labels, loss, g, &p->settings, work);
}

static submod_status jaccard(const problem *p, double *loss, const submod_gradient *g,
                             submod_work *work)
{
    return submod_soft_jaccard(&p->scores, p->input, &p->labels, loss, g, &p->settings, work);
}

enum { CROSS_ENTROPY, HINGE, RAHMAN_WANG, DICE, JACCARD, KINDS };

static call *const calls[KINDS] = {cross_entropy, hinge, rahman_wang, dice, jaccard};

static bool is_binary(int kind)
{
    return kind == HINGE || kind == RAHMAN_WANG;
}

static void assert_error(int status, int wanted, const char *words)
{
    ck_assert_int_eq(status, wanted);
    ck_assert_msg(strstr(submod_last_error(), words), "\"%s\" does not say \"%s\"",
                  submod_last_error(), words);
}

/* ---- slow references: dense arrays of doubles, int labels, one group at a time ---- */

enum { MOST_CLASSES = 8 };

typedef struct reference {
    int kind;
    size_t batch, classes, pixels;
    const int32_t *label;
    const submod_baseline_settings *s;
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

static bool is_ignored(const reference *r, size_t b, size_t i)
{
    return r->s->has_ignore && r->label[b * r->pixels + i] == r->s->ignore_label;
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
                I += p * y;
                S += p;
                P += y;
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

/* ---- random problems ---- */

enum { B = 3, C = 5, N = 37, SIZE = B * C * N, LABELS = B * N, IGNORED = 255 };

typedef struct instance {
    size_t classes;
    float x[SIZE];
    double exact[SIZE]; /* the same numbers */
    int32_t label[LABELS];
    double weight[C];
} instance;

static void fill(instance *e, int kind, submod_rng *rng, bool probabilities)
{
    e->classes = is_binary(kind) ? 1 : C;
    for (size_t k = 0; k < SIZE; k++) {
        double value = probabilities ? submod_rng_uniform(rng) : 2 * submod_rng_normal(rng);
        e->x[k] = (float)value;
        e->exact[k] = (double)e->x[k];
    }
    for (size_t k = 0; k < LABELS; k++) { /* class 3 in the first image only, 4 nowhere */
        uint64_t y = submod_rng_below(rng, is_binary(kind) ? 2 : k < N ? 4 : 3);
        e->label[k] = submod_rng_below(rng, 5) == 0 ? IGNORED : (int32_t)y;
    }
    for (size_t c = 0; c < C; c++) {
        e->weight[c] = 0.5 + submod_rng_uniform(rng);
    }
    e->weight[1] = 3;
}

static problem problem_of(const instance *e)
{
    return (problem){.scores = submod_scores_f32(e->x, B, e->classes, N),
                     .labels = submod_labels_i32(e->label, B, N),
                     .settings = {.has_ignore = 1, .ignore_label = IGNORED}};
}

/* ---- against the references ---- */

static void compare(instance *e, int kind, const problem *p)
{
    reference r = {
        kind, B, e->classes, N, e->label, &p->settings, p->input == SUBMOD_INPUT_PROBABILITIES};
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
        ck_assert_near((double)gradient[k], slope, 1e-7 * fabs(slope) + 5e-9);
    }
}

START_TEST(values_and_finite_differences)
{
    static const int32_t list[] = {4, 1};
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int kind = 0; kind < KINDS; kind++) {
        for (unsigned bits = 0; bits < 16; bits++) {
            for (int classes = 0; classes < (kind >= DICE ? 3 : 1); classes++) {
                instance e;
                bool probabilities = kind >= RAHMAN_WANG && (bits & 8);
                fill(&e, kind, &rng, probabilities);
                problem p = problem_of(&e);
                p.input = probabilities ? SUBMOD_INPUT_PROBABILITIES : SUBMOD_INPUT_LOGITS;
                p.settings.per_image = (bits & 1) != 0;
                p.settings.class_weight = bits & 2 ? e.weight : NULL;
                p.settings.smoothing = bits & 4 ? 1.5 : 0;
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
    p.settings = submod_baseline_defaults();
    ck_assert(p.settings.classes == SUBMOD_CLASSES_PRESENT && p.settings.smoothing == 0 &&
              !p.settings.per_image && !p.settings.has_ignore && !p.settings.class_weight);
    double loss, again;
    ck_assert_ok(dice(&p, &loss, NULL, NULL));
    ck_assert_ok(submod_soft_dice(&p.scores, p.input, &p.labels, &again, NULL, NULL, NULL));
    ck_assert(loss == again);
    ck_assert_ok(cross_entropy(&p, &loss, NULL, NULL));
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
    submod_baseline_settings s = submod_baseline_defaults();
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
    submod_baseline_settings s = {.class_weight = w, .has_ignore = 1, .ignore_label = -100};
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
    submod_baseline_settings s = {.has_ignore = 1, .ignore_label = 9};
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
    submod_baseline_settings s = {
        .classes = SUBMOD_CLASSES_LIST, .class_list = list, .class_count = 1};
    ck_assert_ok(
        submod_rahman_wang(&one, SUBMOD_INPUT_PROBABILITIES, &labels, &loss, &gradient, &s, NULL));
    ck_assert_near(loss, 1 - 1.25 / 2.25, 1e-15);
    ck_assert_near((double)g[1][0], -1 / 2.25, 1e-7);
    ck_assert_near((double)g[1][1], 1.25 / (2.25 * 2.25), 1e-7);
    gradient = submod_gradient_dense(g[0], 2, 3);
    ck_assert_ok(
        submod_soft_jaccard(&two, SUBMOD_INPUT_PROBABILITIES, &labels, &loss, &gradient, &s, NULL));
    ck_assert_near(loss, 1 - 1.25 / 2.25, 1e-15);
    ck_assert(g[0][0] == 0 && g[0][1] == 0 && g[0][2] == 0);
    ck_assert_ok(
        submod_soft_dice(&two, SUBMOD_INPUT_PROBABILITIES, &labels, &loss, &gradient, &s, NULL));
    ck_assert_near(loss, 1 - 2.5 / 3.5, 1e-15);
    ck_assert_near((double)g[1][2], -2 / 3.5 + 2.5 / (3.5 * 3.5), 1e-7);
    s.smoothing = 1;
    ck_assert_ok(
        submod_soft_dice(&two, SUBMOD_INPUT_PROBABILITIES, &labels, &loss, NULL, &s, NULL));
    ck_assert_near(loss, 1 - 3.5 / 4.5, 1e-15);
    ck_assert_ok(
        submod_soft_jaccard(&two, SUBMOD_INPUT_PROBABILITIES, &labels, &loss, NULL, &s, NULL));
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
        ck_assert_ok(submod_rahman_wang(&scores, SUBMOD_INPUT_PROBABILITIES, &labels, &value, NULL,
                                        NULL, NULL));
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

/* Many equal classes: log of their number. */
START_TEST(uniform_predictions)
{
    for (size_t classes = 1; classes <= 100000; classes += 1 + classes * 3 / 4) {
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
        problem p = {.scores = submod_scores_f32(x[0], 1, classes, 2),
                     .labels = submod_labels_u8(y, 1, 2)};
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

/* ---- views and types ---- */

/* The gradient of p, whatever its strides, as a dense array. */
static double evaluate(int kind, const problem *p, float *dense)
{
    double loss = -1;
    submod_gradient g = submod_gradient_dense(dense, p->scores.classes, p->scores.pixels);
    ck_assert_ok(calls[kind](p, &loss, &g, NULL));
    return loss;
}

/* Channels last with padding, and a pixel stride in the labels: the same bits, nothing else
 * written. */
START_TEST(strides)
{
    enum { PAD = 7, ROW = N * PAD, PADDED = B * ROW };
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    for (int kind = 0; kind < KINDS; kind++) {
        instance e;
        fill(&e, kind, &rng, false);
        problem p = problem_of(&e);
        float dense[SIZE], last[PADDED], gradient[PADDED];
        int64_t label[LABELS * 3];
        for (size_t k = 0; k < PADDED; k++) {
            last[k] = NAN;
            gradient[k] = 42;
        }
        for (size_t b = 0; b < B; b++) {
            for (size_t i = 0; i < N; i++) {
                label[(b * N + i) * 3] = e.label[b * N + i];
                for (size_t c = 0; c < e.classes; c++) {
                    last[(b * N + i) * PAD + c] = e.x[(b * e.classes + c) * N + i];
                }
            }
        }
        double loss = evaluate(kind, &p, dense), again = -1;
        p.scores = (submod_scores){last, SUBMOD_SCORE_F32, B, e.classes, N, ROW, 1, PAD};
        p.labels = (submod_labels){label, SUBMOD_LABEL_I64, B, N, (ptrdiff_t)3 * N, 3, 0};
        submod_gradient g = {gradient, ROW, 1, PAD, 1, 0};
        ck_assert_ok(calls[kind](&p, &again, &g, NULL));
        ck_assert(loss == again);
        for (size_t b = 0; b < B; b++) {
            for (size_t i = 0; i < N; i++) {
                for (size_t c = 0; c < PAD; c++) {
                    float wanted = c < e.classes ? dense[(b * e.classes + c) * N + i] : 42;
                    ck_assert(gradient[(b * N + i) * PAD + c] == wanted);
                }
            }
        }
    }
}
END_TEST

/* Multiples of 1/4 between -8 and 8 are exact in all types. */
static uint16_t bf16_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static uint16_t f16_of(float x)
{
    int exponent;
    if (x == 0) {
        return 0;
    }
    float fraction = frexpf(fabsf(x), &exponent); /* in [1/2, 1) */
    unsigned bits = (unsigned)(exponent + 14) << 10 | (unsigned)((fraction * 2 - 1) * 1024);
    return (uint16_t)(bits | (x < 0 ? 0x8000U : 0));
}

START_TEST(types)
{
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    for (int kind = 0; kind < KINDS; kind++) {
        instance e;
        uint16_t half[SIZE], brain[SIZE];
        uint8_t small[LABELS];
        int64_t large[LABELS];
        float wanted[SIZE], got[SIZE];
        fill(&e, kind, &rng, false);
        for (size_t k = 0; k < SIZE; k++) {
            e.x[k] = ((float)submod_rng_below(&rng, 65) - 32) / 4;
            half[k] = f16_of(e.x[k]);
            brain[k] = bf16_of(e.x[k]);
        }
        for (size_t k = 0; k < LABELS; k++) {
            small[k] = (uint8_t)e.label[k];
            large[k] = e.label[k];
        }
        problem p = problem_of(&e);
        size_t bytes = B * e.classes * N * sizeof *wanted;
        double loss = evaluate(kind, &p, wanted);
        const submod_labels views[] = {submod_labels_u8(small, B, N), p.labels,
                                       submod_labels_i64(large, B, N)};
        const void *data[] = {e.x, half, brain};
        const submod_score_type type[] = {SUBMOD_SCORE_F32, SUBMOD_SCORE_F16, SUBMOD_SCORE_BF16};
        for (int k = 0; k < 3; k++) {
            p.labels = views[k];
            p.scores.data = data[k];
            p.scores.type = type[k];
            ck_assert(evaluate(kind, &p, got) == loss);
            ck_assert_mem_eq(got, wanted, bytes);
        }
    }
}
END_TEST

/* ---- gradients that add up ---- */

START_TEST(scale_and_accumulate)
{
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    for (int kind = 0; kind < KINDS; kind++) {
        instance e;
        float plain[SIZE], sum[SIZE];
        fill(&e, kind, &rng, false);
        problem p = problem_of(&e);
        evaluate(kind, &p, plain);
        submod_gradient g = submod_gradient_dense(sum, e.classes, N);
        g.scale = -4;
        ck_assert_ok(calls[kind](&p, NULL, &g, NULL));
        for (size_t k = 0; k < B * e.classes * N; k++) {
            ck_assert(sum[k] == -4 * plain[k]);
            sum[k] = 1;
        }
        g.scale = 0.5;
        g.accumulate = 1;
        ck_assert_ok(calls[kind](&p, NULL, &g, NULL));
        for (size_t k = 0; k < B * e.classes * N; k++) {
            ck_assert(sum[k] == 1 + 0.5F * plain[k]);
        }
    }
}
END_TEST

/* What people train with: cross-entropy and Lovász-Softmax into one gradient. */
START_TEST(mixed_with_lovasz_softmax)
{
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    instance e;
    float a[SIZE], b[SIZE], both[SIZE];
    fill(&e, CROSS_ENTROPY, &rng, false);
    problem p = problem_of(&e);
    evaluate(CROSS_ENTROPY, &p, a);
    submod_loss_settings s = submod_loss_defaults();
    s.has_ignore = 1;
    s.ignore_label = IGNORED;
    submod_gradient g = submod_gradient_dense(b, C, N), mixed = submod_gradient_dense(both, C, N);
    ck_assert_ok(submod_lovasz_softmax(&p.scores, p.input, &p.labels, NULL, &g, NULL, &s, NULL));
    ck_assert_ok(cross_entropy(&p, NULL, &mixed, NULL));
    mixed.accumulate = 1;
    ck_assert_ok(
        submod_lovasz_softmax(&p.scores, p.input, &p.labels, NULL, &mixed, NULL, &s, NULL));
    for (size_t k = 0; k < SIZE; k++) {
        ck_assert(both[k] == a[k] + b[k]);
    }
}
END_TEST

/* ---- threads, size, workspace ---- */

/* Images of odd size, so that tiles and parts are cut everywhere. */
START_TEST(threads_and_workspace_do_not_matter)
{
    enum { IMAGES = 3, PIXELS = 50021, CLASSES = 3 };
    size_t size = (size_t)IMAGES * CLASSES * PIXELS;
    float *x = malloc(size * sizeof *x), *g = malloc(size * sizeof *g);
    float *h = malloc(size * sizeof *h);
    uint8_t *y = malloc((size_t)IMAGES * PIXELS);
    submod_work *work = NULL;
    submod_rng rng;
    submod_rng_seed(&rng, 7);
    ck_assert_ok(submod_work_create(&work));
    for (size_t k = 0; k < size; k++) {
        x[k] = (float)submod_rng_normal(&rng);
    }
    for (size_t k = 0; k < (size_t)IMAGES * PIXELS; k++) {
        y[k] = (uint8_t)submod_rng_below(&rng, 2);
    }
    for (int round = 0; round < 2 * KINDS; round++) {
        int kind = round / 2;
        size_t classes = is_binary(kind) ? 1 : CLASSES;
        problem p = {.scores = submod_scores_f32(x, IMAGES, classes, PIXELS),
                     .labels = submod_labels_u8(y, IMAGES, PIXELS),
                     .settings = {.per_image = round % 2}};
        submod_gradient first = submod_gradient_dense(g, classes, PIXELS);
        submod_gradient other = submod_gradient_dense(h, classes, PIXELS);
        double loss, again;
        submod_set_num_threads(1);
        ck_assert_ok(calls[kind](&p, &loss, &first, NULL));
        for (int threads = 2; threads <= 5; threads++) {
            submod_set_num_threads(threads);
            ck_assert_ok(calls[kind](&p, &again, &other, work));
            ck_assert(loss == again);
            ck_assert(memcmp(g, h, (size_t)IMAGES * classes * PIXELS * sizeof *g) == 0);
        }
    }
    submod_set_num_threads(0);
    ck_assert_uint_lt(submod_work_bytes(work), 1 << 20);
    submod_work_free(work);
    free(x);
    free(g);
    free(h);
    free(y);
}
END_TEST

/* A million pixels with a loss that float sums would not get right. */
START_TEST(large_sums)
{
    enum { PIXELS = 1 << 20 };
    float *x = calloc(PIXELS, 2 * sizeof *x);
    uint8_t *y = calloc(PIXELS, 1);
    for (int i = 0; i < PIXELS; i++) {
        x[i] = i % 2 ? 0.25F : -0.5F; /* hinge 1.25 and 0.5 at label 0 */
    }
    problem p = {.scores = submod_scores_f32(x, 1, 1, PIXELS),
                 .labels = submod_labels_u8(y, 1, PIXELS)};
    double loss;
    ck_assert_ok(hinge(&p, &loss, NULL, NULL));
    ck_assert(loss == 0.875);
    p.scores.classes = 2;
    ck_assert_ok(cross_entropy(&p, &loss, NULL, NULL));
    ck_assert_near(loss, (log1p(exp(-0.25)) + log1p(exp(0.5))) / 2, 1e-7);
    free(x);
    free(y);
}
END_TEST

/* ---- special cases ---- */

START_TEST(empty_input)
{
    for (int kind = 0; kind < KINDS; kind++) {
        for (int mode = 0; mode < 8; mode++) {
            size_t batch = mode & 1 ? 2 : 0, pixels = mode & 1 ? 0 : 2;
            problem p = {.scores = submod_scores_f32(NULL, batch, 1, pixels),
                         .labels = submod_labels_u8(NULL, batch, pixels),
                         .settings = {.per_image = mode & 2, .classes = mode & 4 ? 1 : 0}};
            submod_gradient g = submod_gradient_dense(NULL, 1, pixels);
            double loss = -1;
            ck_assert_ok(calls[kind](&p, &loss, &g, NULL));
            ck_assert(loss == 0);
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
            problem p = {.scores = submod_scores_f32(x, 2, is_binary(kind) ? 1 : 3, 4),
                         .labels = submod_labels_u8(y, 2, 4),
                         .settings = {.per_image = mode & 1,
                                      .classes = mode & 2 ? 1 : 0,
                                      .smoothing = mode & 4 ? 1 : 0,
                                      .has_ignore = 1,
                                      .ignore_label = 255}};
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
        problem p = {.scores = submod_scores_f32(x, 2, classes, 4),
                     .labels = submod_labels_u8(y, 2, 4),
                     .settings = {.per_image = 1, .has_ignore = 1, .ignore_label = 255}};
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
            problem p = {.scores = submod_scores_f32(x, 2, is_binary(kind) ? 1 : 3, 4),
                         .labels = submod_labels_u8(y, 2, 4),
                         .settings = {.per_image = per_image, .class_weight = none}};
            assert_zero(kind, &p);
            p.settings.class_weight = unseen;
            assert_zero(kind, &p);
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
    problem p = {.scores = submod_scores_f32(x[0], 1, 1, 4), .labels = submod_labels_u8(y, 1, 4)};
    float g[8];
    ck_assert(evaluate(RAHMAN_WANG, &p, g) == 1);
    for (int k = 0; k < 4; k++) {
        ck_assert(g[k] == 0);
    }
    p.scores.classes = 2;
    for (int kind = DICE; kind <= JACCARD; kind++) {
        const double second_only[2] = {0, 1};
        p.settings = (submod_baseline_settings){.classes = SUBMOD_CLASSES_ALL};
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
    problem p = {.scores = submod_scores_f32(x + 4, 1, 1, 4),
                 .input = SUBMOD_INPUT_PROBABILITIES,
                 .labels = submod_labels_u8(y, 1, 4)};
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

/* The call fails so, and writes nothing. */
static void assert_refused(int kind, const problem *p, int status, const char *words)
{
    float g[12];
    double loss = 7;
    for (int k = 0; k < 12; k++) {
        g[k] = 7;
    }
    submod_gradient gradient = submod_gradient_dense(g, p->scores.classes, p->scores.pixels);
    assert_error(calls[kind](p, &loss, &gradient, NULL), status, words);
    ck_assert(loss == 7);
    for (int k = 0; k < 12; k++) {
        ck_assert(g[k] == 7);
    }
}

START_TEST(bad_values)
{
    for (int kind = 0; kind < KINDS; kind++) {
        float x[12] = {0};
        int32_t y[4] = {0, 1, 1, 9};
        size_t classes = is_binary(kind) ? 1 : 3;
        const problem good = {.scores = submod_scores_f32(x, 2, classes, 2),
                              .labels = submod_labels_i32(y, 2, 2),
                              .settings = {.has_ignore = 1, .ignore_label = 9}};
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
            assert_refused(kind, &p, SUBMOD_ENONFINITE, "scores[1][0][1] is inf");
            x[2 * classes + 1] = 0;
        }
        if (kind >= RAHMAN_WANG) {
            p.input = SUBMOD_INPUT_PROBABILITIES;
            x[0] = 1.0005F;
            ck_assert_ok(calls[kind](&p, NULL, NULL, NULL));
            x[0] = 1.01F;
            assert_refused(kind, &p, SUBMOD_EINVAL, "is no probability");
            p.input = (submod_input)5;
            assert_refused(kind, &p, SUBMOD_EINVAL, "input = 5");
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
        const problem good = {.scores = submod_scores_f32(x, 2, classes, 2),
                              .labels = submod_labels_i32(y, 2, 2)};
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
            assert_refused(kind, &p, SUBMOD_ENONFINITE, "smoothing is inf");
            p = good;
            p.settings.classes = (submod_classes)9;
            assert_refused(kind, &p, SUBMOD_EINVAL, "classes = 9");
            p.settings.classes = SUBMOD_CLASSES_LIST;
            p.settings.class_list = twice;
            p.settings.class_count = 2;
            assert_refused(kind, &p, SUBMOD_EINVAL, "class_list");
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
        const problem good = {.scores = submod_scores_f32(x, 2, classes, 2),
                              .labels = submod_labels_i32(y, 2, 2)};
        problem p = good;
        p.scores.classes = 0;
        assert_refused(kind, &p, SUBMOD_EINVAL, is_binary(kind) ? "not 0" : "0 classes");
        if (is_binary(kind)) {
            p.scores.classes = 2;
            assert_refused(kind, &p, SUBMOD_EINVAL, "one score per pixel, not 2");
        }
        p = good;
        p.scores.data = NULL;
        assert_refused(kind, &p, SUBMOD_EINVAL, "no data");
        p = good;
        p.scores.type = (submod_score_type)7;
        assert_refused(kind, &p, SUBMOD_EINVAL, "unknown type 7");
        p = good;
        p.labels.pixels = 1;
        assert_refused(kind, &p, SUBMOD_EINVAL, "labels are 2 x 1");
        submod_gradient g = submod_gradient_dense(NULL, classes, 2);
        assert_error(calls[kind](&good, NULL, &g, NULL), SUBMOD_EINVAL, "gradient has no data");
        g = submod_gradient_dense(data, classes, 2);
        g.scale = NAN;
        assert_error(calls[kind](&good, NULL, &g, NULL), SUBMOD_ENONFINITE, "gradient scale");
    }
    submod_scores s = submod_scores_f32(x, 2, 1, 2);
    submod_labels l = submod_labels_i32(y, 2, 2);
    const submod_input in = SUBMOD_INPUT_LOGITS;
    assert_error(submod_cross_entropy(NULL, &l, NULL, NULL, NULL, NULL), SUBMOD_EINVAL,
                 "scores is");
    assert_error(submod_cross_entropy(&s, NULL, NULL, NULL, NULL, NULL), SUBMOD_EINVAL,
                 "labels is");
    assert_error(submod_hinge(NULL, &l, NULL, NULL, NULL, NULL), SUBMOD_EINVAL, "scores is");
    assert_error(submod_hinge(&s, NULL, NULL, NULL, NULL, NULL), SUBMOD_EINVAL, "labels is");
    assert_error(submod_rahman_wang(NULL, in, &l, NULL, NULL, NULL, NULL), SUBMOD_EINVAL, "scores");
    assert_error(submod_soft_dice(&s, in, NULL, NULL, NULL, NULL, NULL), SUBMOD_EINVAL, "labels");
    assert_error(submod_soft_jaccard(NULL, in, &l, NULL, NULL, NULL, NULL), SUBMOD_EINVAL,
                 "scores");
}
END_TEST

/* ---- memory ---- */

static long live, countdown; /* allocations not yet freed; those that will still succeed */

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

START_TEST(out_of_memory)
{
    const submod_allocator counting = {counted_alloc, counted_free};
    const float x[12] = {0};
    const int32_t y[4] = {0, 1, 1, 0};
    ck_assert_ok(submod_set_allocator(&counting));
    for (int kind = 0; kind < KINDS; kind++) {
        problem p = {.scores = submod_scores_f32(x, 2, is_binary(kind) ? 1 : 3, 2),
                     .labels = submod_labels_i32(y, 2, 2)};
        double loss = 7;
        long allowed = 0;
        for (countdown = 0; calls[kind](&p, &loss, NULL, NULL) != SUBMOD_OK;
             countdown = ++allowed) {
            ck_assert(loss == 7);
            ck_assert_int_eq(live, 0);
            countdown = allowed;
            assert_refused(kind, &p, SUBMOD_ENOMEM, "out of memory");
        }
        ck_assert_int_gt(allowed, 3);
        ck_assert_int_eq(live, 0);
    }
    ck_assert_ok(submod_set_allocator(NULL));
}
END_TEST

int main(void)
{
    return RUN_TESTS("baseline", values_and_finite_differences, defaults, cross_entropy_by_hand,
                     cross_entropy_as_in_pytorch, hinge_by_hand, overlaps_by_hand,
                     hard_predictions_give_the_discrete_losses, confident_predictions,
                     uniform_predictions, huge_scores, strides, types, scale_and_accumulate,
                     mixed_with_lovasz_softmax, threads_and_workspace_do_not_matter, large_sums,
                     empty_input, all_ignored, one_image_ignored, zero_weights, absent_class,
                     zero_over_zero, bad_values, bad_settings, bad_views, out_of_memory);
}
