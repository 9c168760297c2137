/* The metric losses of soft labels against slow formulas in double, finite differences, soft
 * Jaccard and soft Dice, values by hand; that they are distances. */
#include <submod/baseline.h>

#include <math.h>
#include <stdbool.h>

#include "soft_labels.h"
#include "support.h"

/* ---- against the formulas of the paper ---- */

typedef struct slow {
    int form;
    const soft_instance *e;
    const submod_loss_settings *s;
} slow;

static double probability(const slow *r, const double *x, size_t b, size_t c, size_t i)
{
    const double *image = x + b * C * N;
    double own = image[c * N + i], total = 0;
    for (size_t k = 0; k < C; k++) {
        total += exp(image[k * N + i] - own);
    }
    return r->s->from_logits ? 1 / total : own;
}

/* With norms, as the authors have it. */
static double slow_class(const slow *r, const double *x, size_t first, size_t last, size_t c,
                         bool *present)
{
    double plus = 0, minus = 0, times = 0, s = r->s->smoothing;
    *present = false;
    for (size_t b = first; b < last; b++) {
        for (size_t i = 0; i < N; i++) {
            double p = probability(r, x, b, c, i), y = (double)r->e->y[(b * C + c) * N + i];
            double w = r->s->pixel_weights ? (double)r->e->weight[b * N + i] : 1;
            plus += w * fabs(p + y);
            minus += w * fabs(p - y);
            times += w * fabs(p * y);
            *present = *present || w * y > 0;
        }
    }
    switch (r->form) {
    case 0: return 1 - (plus - minus + 2 * s) / (plus + minus + 2 * s);
    case 1: return 1 - (plus - minus + s) / (plus + s);
    case 2: return 1 - (times + s) / (times + minus + s);
    default: return 1 - (2 * times + s) / (2 * times + minus + s);
    }
}

static bool is_in_list(const submod_loss_settings *s, size_t c)
{
    bool found = false;
    for (size_t k = 0; k < s->class_count; k++) {
        found = found || s->class_list[k] == (int32_t)c;
    }
    return found;
}

static double slow_group(const slow *r, const double *x, size_t first, size_t last)
{
    double loss = 0, total = 0;
    for (size_t c = 0; c < C; c++) {
        bool present;
        double own = slow_class(r, x, first, last, c, &present);
        double w = r->s->class_weight ? r->s->class_weight[c] : 1;
        bool taken = r->s->classes == SUBMOD_CLASSES_ALL ||
                     (r->s->classes == SUBMOD_CLASSES_PRESENT && present) ||
                     (r->s->classes == SUBMOD_CLASSES_LIST && is_in_list(r->s, c));
        loss += taken ? w * own : 0;
        total += taken ? w : 0;
    }
    return total > 0 ? loss / total : 0;
}

static double slow_loss(const slow *r, const double *x)
{
    size_t step = r->s->per_image ? 1 : B;
    double loss = 0;
    for (size_t b = 0; b < B; b += step) {
        loss += slow_group(r, x, b, b + step);
    }
    return loss * (double)step / B;
}

static void compare(int form, soft_instance *e, const soft_problem *p)
{
    slow r = {form, e, &p->settings};
    double *x = e->of_scores.exact, loss = -1;
    float gradient[SIZE];
    submod_gradient g = submod_gradient_dense(gradient, C, N);
    ck_assert_ok(run_metric(form, p, &loss, &g, NULL));
    ck_assert_near(loss, slow_loss(&r, x), 2e-7);
    for (size_t k = 0; k < SIZE; k++) {
        const double h = 1e-6;
        double middle = x[k];
        x[k] = middle + h;
        double above = slow_loss(&r, x);
        x[k] = middle - h;
        double below = slow_loss(&r, x);
        x[k] = middle;
        double slope = (above - below) / (2 * h);
        ck_assert_near((double)gradient[k], slope, 5e-7 * fabs(slope) + 5e-9);
    }
}

START_TEST(values_and_finite_differences)
{
    static const int32_t list[] = {4, 1};
    submod_rng rng;
    submod_rng_seed(&rng, 301);
    for (int round = 0; round < FORMS * 3 * 8; round++) {
        unsigned bits = (unsigned)(round / FORMS / 3);
        soft_instance e;
        soft_problem p = fill_soft(&e, &rng, bits & 1);
        const submod_pixel_weights weights = submod_pixel_weights_f32(e.weight, B, N);
        p.settings.per_image = (bits & 2) != 0;
        p.settings.class_weight = bits & 4 ? e.of_scores.weight : NULL;
        p.settings.smoothing = (round / 5) % 2 ? 1.5 : 0;
        p.settings.pixel_weights = (round / 7) % 2 ? &weights : NULL;
        p.settings.classes = (submod_classes)(round / FORMS % 3);
        p.settings.class_list = list;
        p.settings.class_count = 2;
        compare(round % FORMS, &e, &p);
    }
}
END_TEST

/* p = 0.5, 0.25, 0.5 and y = 0.25, 0.75, 0.5. min: I = 1, D = 0.75. Product: I = 0.5625. */
START_TEST(by_hand)
{
    const float p[3] = {0.5F, 0.25F, 0.5F}, y[3] = {0.25F, 0.75F, 0.5F};
    const double wanted[FORMS] = {0.75 / 1.75, 0.75 / 2.75, 0.75 / 1.3125, 0.75 / 1.875};
    const double E[FORMS] = {1.75, 2.75, 1.3125, 1.875};
    for (int form = 0; form < FORMS; form++) {
        double twice = form & 1 ? 2 : 1, loss, right = twice * (form & 2 ? 0.5625 : 1);
        float g[3];
        soft_problem q = {submod_scores_f32(p, 1, 1, 3), submod_scores_f32(y, 1, 1, 3),
                          submod_loss_defaults()};
        submod_gradient to = submod_gradient_dense(g, 1, 3);
        q.settings.from_logits = 0;
        ck_assert_ok(run_metric(form, &q, &loss, &to, NULL));
        ck_assert_near(loss, wanted[form], 1e-15);
        for (int i = 0; i < 3; i++) { /* above, below, in the kink */
            double d = i == 0 ? 1 : i == 1 ? -1 : 0;
            double common = form & 2 ? (double)y[i] : (1 - d) / 2;
            double slope = (d * right - twice * common * 0.75) / (E[form] * E[form]);
            ck_assert_near((double)g[i], slope, 1e-7);
        }
    }
}
END_TEST

/* ---- hard labels ---- */

/* One-hot labels of the classes, 0 and weight 0 where they are ignored. */
static void harden(soft_instance *e)
{
    for (size_t b = 0; b < B; b++) {
        for (size_t i = 0; i < N; i++) {
            int32_t label = e->of_scores.label[b * N + i];
            for (size_t c = 0; c < C; c++) {
                e->y[(b * C + c) * N + i] = label == (int32_t)c ? 1.0F : 0.0F;
            }
            e->weight[b * N + i] = label == IGNORED ? 0 : e->weight[b * N + i];
        }
    }
}

/* Soft Jaccard and soft Dice, derivatives too; also of probabilities that are 0 and 1. */
START_TEST(hard_labels_give_the_soft_losses)
{
    submod_rng rng;
    submod_rng_seed(&rng, 302);
    for (unsigned round = 0; round < 64 * FORMS; round++) {
        int form = (int)(round % FORMS);
        unsigned bits = round / FORMS;
        soft_instance e;
        soft_problem p = fill_soft(&e, &rng, bits & 1);
        for (size_t k = 0; k < SIZE && (bits & 1); k += 3) {
            e.of_scores.x[k] = (float)(k % 2);
        }
        for (size_t k = 0; k < LABELS && (bits & 16); k++) {
            e.weight[k] = 1;
        }
        harden(&e);
        const submod_pixel_weights weights = submod_pixel_weights_f32(e.weight, B, N);
        p.settings.per_image = (bits & 2) != 0;
        p.settings.class_weight = bits & 4 ? e.of_scores.weight : NULL;
        p.settings.smoothing = bits & 8 ? 0.5 : 0;
        p.settings.classes = bits & 32 ? SUBMOD_CLASSES_ALL : SUBMOD_CLASSES_PRESENT;
        p.settings.pixel_weights = &weights;
        float g[SIZE], h[SIZE];
        double loss = -1, wanted;
        submod_gradient to = submod_gradient_dense(g, C, N);
        ck_assert_ok(run_metric(form, &p, &loss, &to, NULL));
        problem hard = problem_of(&e.of_scores);
        hard.settings = p.settings;
        hard.settings.has_ignore = 1;
        hard.settings.ignore_index = IGNORED;
        wanted = evaluate(form & 1 ? DICE : JACCARD, &hard, h);
        ck_assert_near(loss, wanted, bits & 16 ? 1e-12 : 1e-7);
        for (size_t k = 0; k < SIZE; k++) {
            ck_assert_near((double)g[k], (double)h[k], 2e-6 * fabs((double)h[k]) + 2e-9);
        }
    }
}
END_TEST

/* ---- what the labels being soft is about ---- */

static double distance(int form, const float *x, const float *y, size_t n)
{
    double loss = -1;
    soft_problem p = {submod_scores_f32(x, 1, 1, n), submod_scores_f32(y, 1, 1, n),
                      submod_loss_defaults()};
    p.settings.from_logits = 0;
    p.settings.classes = SUBMOD_CLASSES_ALL;
    ck_assert_ok(run_metric(form, &p, &loss, NULL, NULL));
    return loss;
}

/* Zero at the labels and nowhere else, symmetric, at most 1; Jaccard with the minimum is a metric:
 * the triangle inequality. */
START_TEST(distances)
{
    enum { POINTS = 12, LENGTH = 5 };
    float x[POINTS][LENGTH];
    submod_rng rng;
    submod_rng_seed(&rng, 303);
    for (int form = 0; form < FORMS; form++) {
        for (size_t k = 0; k < (size_t)POINTS * LENGTH; k++) { /* the last three are hard */
            double u = submod_rng_uniform(&rng);
            x[k / LENGTH][k % LENGTH] = (float)(k / LENGTH < POINTS - 3 ? u : u < 0.5);
        }
        x[POINTS - 1][0] = 1 - x[POINTS - 2][0];
        for (int a = 0; a < POINTS; a++) {
            for (int b = 0; b < POINTS; b++) {
                double d = distance(form, x[a], x[b], LENGTH);
                bool same = true;
                for (int i = 0; i < LENGTH; i++) {
                    same = same && x[a][i] == x[b][i];
                }
                ck_assert(same ? d == 0 : d > 0 && d <= 1);
                ck_assert(d == distance(form, x[b], x[a], LENGTH));
                for (int c = 0; c < POINTS && form == 0; c++) {
                    double by =
                        distance(form, x[a], x[c], LENGTH) + distance(form, x[c], x[b], LENGTH);
                    ck_assert(d <= by + 1e-15);
                }
            }
        }
    }
}
END_TEST

/* At the labels both are 0, the gradient too: training stops there. */
START_TEST(gradient_is_0_at_the_labels)
{
    const float y[2][3] = {{0.3F, 0.9F, 0.5F}, {0.7F, 0.1F, 0.5F}};
    for (int form = 0; form < FORMS; form++) {
        float g[6];
        double loss = -1;
        soft_problem p = {submod_scores_f32(y[0], 1, 2, 3), submod_scores_f32(y[0], 1, 2, 3),
                          submod_loss_defaults()};
        submod_gradient to = submod_gradient_dense(g, 2, 3);
        p.settings.from_logits = 0;
        ck_assert_ok(run_metric(form, &p, &loss, &to, NULL));
        ck_assert(loss == 0);
        for (int k = 0; k < 6; k++) {
            ck_assert(g[k] == 0);
        }
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("metric_loss", values_and_finite_differences, by_hand,
                     hard_labels_give_the_soft_losses, distances, gradient_is_0_at_the_labels);
}
