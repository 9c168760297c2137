/* The Lovász losses against a naive double-precision reference, their laws and special cases. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

/* ---- the reference: definitions, O(n^2), double ---- */

/* Extension of the Jaccard loss at errors e with foreground y: repeatedly takes the largest. */
static double jaccard_extension(const double *e, const int *y, size_t n)
{
    bool *taken = calloc(n + 1, sizeof *taken);
    double P = 0, a = 0, b = 0, total = 0, before = 0;
    for (size_t i = 0; i < n; i++) {
        P += y[i];
    }
    for (size_t k = 0; k < n; k++) {
        size_t best = n;
        for (size_t i = 0; i < n; i++) {
            if (!taken[i] && (best == n || e[i] > e[best])) {
                best = i;
            }
        }
        taken[best] = true;
        a += y[best];
        b += !y[best];
        double after = (a + b) / (P + b);
        total += e[best] * (after - before);
        before = after;
    }
    free(taken);
    return total;
}

typedef struct batch {
    size_t B, C, N;
    double *x;  /* scores, B x C x N */
    int64_t *y; /* labels: B x N, or B x C x N when multilabel */
    bool multilabel;
} batch;

typedef enum { SOFTMAX, SIGMOID, HINGE, PROBABILITY } kind;

static double value_at(const batch *d, kind k, size_t b, size_t c, size_t i)
{
    const double *x = d->x + b * d->C * d->N + i;
    double own = x[c * d->N];
    if (k == SOFTMAX) {
        double sum = 0;
        for (size_t j = 0; j < d->C; j++) {
            sum += exp(x[j * d->N] - own);
        }
        return 1 / sum;
    }
    return k == SIGMOID ? 1 / (1 + exp(-own)) : own;
}

/* settings are read by their definition: groups, classes, weights, ignored labels. */
static double reference(const batch *d, kind k, const submod_loss_settings *s)
{
    size_t groups = s->per_image ? d->B : d->B ? 1 : 0, images = s->per_image ? 1 : d->B;
    double *e = malloc((d->B * d->N + 1) * sizeof *e);
    int *y = malloc((d->B * d->N + 1) * sizeof *y);
    double loss = 0;
    for (size_t g = 0; g < groups; g++) {
        double sum = 0, weights = 0;
        for (size_t c = 0; c < d->C; c++) {
            size_t n = 0, P = 0;
            for (size_t b = g * images; b < (g + 1) * images; b++) {
                for (size_t i = 0; i < d->N; i++) {
                    int64_t label =
                        d->multilabel ? d->y[(b * d->C + c) * d->N + i] : d->y[b * d->N + i];
                    if (s->has_ignore && label == s->ignore_label) {
                        continue;
                    }
                    double v = value_at(d, k, b, c, i);
                    y[n] = d->multilabel ? label == 1 : label == (int64_t)c;
                    e[n] = fmax(0, y[n] ? 1 - v : (k == HINGE) + v);
                    P += (size_t)y[n++];
                }
            }
            bool listed = false;
            for (size_t j = 0; j < s->class_count; j++) {
                listed = listed || (size_t)s->class_list[j] == c;
            }
            bool taken = k == HINGE || s->classes == SUBMOD_CLASSES_ALL ||
                         (s->classes == SUBMOD_CLASSES_PRESENT && P > 0) ||
                         (s->classes == SUBMOD_CLASSES_LIST && listed);
            double w = !taken ? 0 : s->class_weight && k != HINGE ? s->class_weight[c] : 1;
            sum += w * jaccard_extension(e, y, n);
            weights += w;
        }
        loss += weights > 0 ? sum / weights / (double)groups : 0;
    }
    free(e);
    free(y);
    return loss;
}

/* ---- calling the library ---- */

static float *as_floats(const batch *d)
{
    size_t n = d->B * d->C * d->N;
    float *x = malloc((n + 1) * sizeof *x);
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)d->x[i];
    }
    return x;
}

static submod_status call_views(kind k, const submod_scores *scores, const submod_labels *labels,
                                double *loss, const submod_gradient *g, submod_loss_info *info,
                                const submod_loss_settings *s)
{
    submod_input input = k == PROBABILITY ? SUBMOD_INPUT_PROBABILITIES : SUBMOD_INPUT_LOGITS;
    switch (k) {
    case HINGE: return submod_lovasz_hinge(scores, labels, loss, g, info, s, NULL);
    case SIGMOID: return submod_lovasz_sigmoid(scores, input, labels, loss, g, info, s, NULL);
    default: return submod_lovasz_softmax(scores, input, labels, loss, g, info, s, NULL);
    }
}

static submod_labels label_view(const batch *d)
{
    return d->multilabel ? submod_labels_multilabel(d->y, SUBMOD_LABEL_I64, d->B, d->C, d->N)
                         : submod_labels_i64(d->y, d->B, d->N);
}

static double call(const batch *d, kind k, float *gradient, const submod_loss_settings *s)
{
    float *x = as_floats(d);
    submod_scores scores = submod_scores_f32(x, d->B, d->C, d->N);
    submod_labels labels = label_view(d);
    submod_gradient g = submod_gradient_dense(gradient, d->C, d->N);
    double loss;
    ck_assert_ok(call_views(k, &scores, &labels, &loss, gradient ? &g : NULL, NULL, s));
    free(x);
    return loss;
}

/* Random scores and labels; every label 9 is the ignored one. */
static batch random_batch(submod_rng *rng, kind k, size_t B, size_t C, size_t N, bool ignore)
{
    batch d = {B, C, N, malloc((B * C * N + 1) * sizeof(double)), NULL, k == SIGMOID || k == HINGE};
    size_t labels = d.multilabel ? B * C * N : B * N;
    d.y = malloc((labels + 1) * sizeof *d.y);
    for (size_t i = 0; i < B * C * N; i++) { /* exact in float */
        d.x[i] = (float)(2 * submod_rng_normal(rng));
    }
    for (size_t i = 0; i < labels; i++) {
        d.y[i] = (int64_t)submod_rng_below(rng, d.multilabel ? 2 : C);
        d.y[i] = ignore && submod_rng_below(rng, 4) == 0 ? 9 : d.y[i];
    }
    return d;
}

static void free_batch(batch *d)
{
    free(d->x);
    free(d->y);
}

static submod_loss_settings random_settings(submod_rng *rng, bool ignore, const double *weights,
                                            const int32_t *list)
{
    submod_loss_settings s = submod_loss_defaults();
    s.per_image = (int)submod_rng_below(rng, 2);
    s.classes = (submod_classes)submod_rng_below(rng, 3);
    s.class_list = list;
    s.class_count = s.classes == SUBMOD_CLASSES_LIST ? 2 : 0;
    s.class_weight = submod_rng_below(rng, 2) ? weights : NULL;
    s.has_ignore = ignore;
    s.ignore_label = 9;
    return s;
}

/* ---- against the reference ---- */

static const double weights[4] = {0.5, 2, 0, 1};
static const int32_t list[2] = {2, 0};

START_TEST(values_and_gradients)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int repeat = 0; repeat < 240; repeat++) {
        kind k = (kind)(repeat % 3);
        bool ignore = repeat % 2;
        size_t C = k == HINGE ? 1 : 3 + submod_rng_below(&rng, 2);
        batch d = random_batch(&rng, k, 1 + submod_rng_below(&rng, 3), C,
                               1 + submod_rng_below(&rng, 12), ignore);
        submod_loss_settings s = random_settings(&rng, ignore, weights, list);
        size_t n = d.B * d.C * d.N;
        float *g = malloc(n * sizeof *g);
        ck_assert_near(call(&d, k, g, &s), reference(&d, k, &s), 1e-6);
        for (size_t i = 0; i < n; i++) { /* central differences of the reference */
            const double h = 1e-6;
            double x = d.x[i];
            d.x[i] = x + h;
            double up = reference(&d, k, &s);
            d.x[i] = x - h;
            double down = reference(&d, k, &s);
            d.x[i] = x;
            ck_assert_near((double)g[i], (up - down) / (2 * h), 2e-6);
        }
        free(g);
        free_batch(&d);
    }
}
END_TEST

/* From probabilities: the loss of softmax(x) given as such, gradient by p against differences. */
START_TEST(from_probabilities)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (int repeat = 0; repeat < 40; repeat++) {
        batch d = random_batch(&rng, SOFTMAX, 2, 4, 7, false), p = d;
        submod_loss_settings s = random_settings(&rng, false, weights, list);
        size_t n = d.B * d.C * d.N;
        float *g = malloc(n * sizeof *g);
        p.x = malloc(n * sizeof *p.x);
        for (size_t i = 0; i < n; i++) {
            p.x[i] = (float)value_at(&d, SOFTMAX, i / (d.C * d.N), i / d.N % d.C, i % d.N);
        }
        ck_assert_near(call(&p, PROBABILITY, g, &s), call(&d, SOFTMAX, NULL, &s), 1e-6);
        for (size_t i = 0; i < n; i++) {
            const double h = 1e-7;
            double x = p.x[i];
            p.x[i] = x + h;
            double up = reference(&p, PROBABILITY, &s);
            p.x[i] = x - h;
            double down = reference(&p, PROBABILITY, &s);
            p.x[i] = x;
            ck_assert_near((double)g[i], (up - down) / (2 * h), 2e-6);
        }
        free(g);
        free(p.x);
        free_batch(&d);
    }
}
END_TEST

/* The histogram engine stays within the delta it promises. */
START_TEST(histogram_within_delta)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    for (int repeat = 0; repeat < 90; repeat++) {
        kind k = (kind)(repeat % 3);
        bool ignore = repeat % 2;
        batch d = random_batch(&rng, k, 1 + submod_rng_below(&rng, 3), k == HINGE ? 1 : 4,
                               1 + submod_rng_below(&rng, 700), ignore);
        submod_loss_settings s = random_settings(&rng, ignore, weights, list);
        double exact = call(&d, k, NULL, &s);
        for (int log2_delta = -2; log2_delta > -21; log2_delta -= 3) {
            double delta = ldexp(1, log2_delta);
            float *x = as_floats(&d);
            submod_scores scores = submod_scores_f32(x, d.B, d.C, d.N);
            submod_labels labels = label_view(&d);
            submod_loss_info info;
            double loss;
            s.engine = SUBMOD_ENGINE_HISTOGRAM;
            s.delta = delta;
            ck_assert_ok(call_views(k, &scores, &labels, &loss, NULL, &info, &s));
            double largest = 1; /* the hinge: relative to the largest margin */
            for (size_t i = 0; k == HINGE && i < d.B * d.N; i++) {
                largest = fmax(largest, 1 + fabs(d.x[i]));
            }
            ck_assert(info.delta <= delta * largest);
            ck_assert(info.bins >= 2 && (info.bins & (info.bins - 1)) == 0);
            ck_assert_near(loss, exact, info.delta + 1e-7);
            free(x);
        }
        free_batch(&d);
    }
}
END_TEST

/* Bins that are asked for: so many, whatever delta says, with the guarantee that follows. */
START_TEST(bins_given)
{
    submod_rng rng;
    submod_rng_seed(&rng, 16);
    for (int repeat = 0; repeat < 30; repeat++) {
        kind k = (kind)(repeat % 3);
        batch d = random_batch(&rng, k, 2, k == HINGE ? 1 : 4, 200, false);
        submod_loss_settings s = random_settings(&rng, false, weights, list);
        double exact = call(&d, k, NULL, &s), range = 1, loss;
        for (size_t i = 0; k == HINGE && i < d.B * d.N; i++) {
            while (range <= 1 - (d.y[i] ? 1 : -1) * d.x[i]) {
                range *= 2;
            }
        }
        float *x = as_floats(&d);
        submod_scores scores = submod_scores_f32(x, d.B, d.C, d.N);
        submod_labels labels = label_view(&d);
        submod_loss_info info;
        s.engine = SUBMOD_ENGINE_HISTOGRAM;
        for (size_t bins = 2; bins <= (size_t)1 << 20; bins *= 8) {
            s.bins = bins;
            s.delta = repeat % 2 ? NAN : 0x1p-10;
            ck_assert_ok(call_views(k, &scores, &labels, &loss, NULL, &info, &s));
            ck_assert_uint_eq(info.bins, bins);
            ck_assert(info.delta == range / (2 * (double)bins));
            ck_assert_near(loss, exact, info.delta + 1e-7);
        }
        const size_t bad[] = {1, 3, 1023, (size_t)1 << 21, SIZE_MAX};
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            s.bins = bad[i];
            s.delta = 0x1p-10;
            loss = 7;
            ck_assert_int_eq(call_views(k, &scores, &labels, &loss, NULL, NULL, &s), SUBMOD_EINVAL);
            ck_assert_ptr_nonnull(strstr(submod_last_error(), "no power of two from 2 to 2^20"));
            ck_assert(loss == 7);
        }
        free(x);
        free_batch(&d);
    }
}
END_TEST

/* With bins finer than the gaps between errors the two engines weigh alike. */
START_TEST(engines_agree_on_gradients)
{
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    for (int repeat = 0; repeat < 60; repeat++) {
        kind k = (kind)(repeat % 3);
        batch d = random_batch(&rng, k, 2, k == HINGE ? 1 : 4, 9, repeat % 2);
        submod_loss_settings s = random_settings(&rng, repeat % 2, weights, list);
        size_t n = d.B * d.C * d.N;
        float *g = malloc(n * sizeof *g), *h = malloc(n * sizeof *h);
        call(&d, k, g, &s);
        s.engine = SUBMOD_ENGINE_HISTOGRAM;
        s.delta = 0x1p-20;
        call(&d, k, h, &s);
        for (size_t i = 0; i < n; i++) {
            ck_assert_near((double)g[i], (double)h[i], 1e-6);
        }
        free(g);
        free(h);
        free_batch(&d);
    }
}
END_TEST

/* ---- laws ---- */

/* Hard predictions: the loss is the discrete Jaccard loss, averaged over the classes. */
START_TEST(equals_jaccard_at_hard_predictions)
{
    enum { C = 3, N = 40 };
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    for (int repeat = 0; repeat < 20; repeat++) {
        batch d = random_batch(&rng, SOFTMAX, 1, C, N, false);
        int predicted[N];
        double expected = 0, classes = 0;
        for (int i = 0; i < N; i++) {
            predicted[i] = (int)submod_rng_below(&rng, C);
            for (int c = 0; c < C; c++) {
                d.x[c * N + i] = predicted[i] == c ? 200 : 0;
            }
        }
        for (int c = 0; c < C; c++) {
            double I = 0, U = 0, P = 0;
            for (int i = 0; i < N; i++) {
                I += predicted[i] == c && d.y[i] == c;
                U += predicted[i] == c || d.y[i] == c;
                P += d.y[i] == c;
            }
            expected += P > 0 ? 1 - I / U : 0;
            classes += P > 0;
        }
        submod_loss_settings s = submod_loss_defaults();
        ck_assert_near(call(&d, SOFTMAX, NULL, &s), expected / classes, 1e-6);
        free_batch(&d);
    }
}
END_TEST

/* Hamming: the mean hinge. One pixel: the hinge. */
START_TEST(hinge_reductions)
{
    enum { N = 50 };
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    batch d = random_batch(&rng, HINGE, 2, 1, N, false);
    float *x = as_floats(&d), g[2 * N];
    submod_scores scores = submod_scores_f32(x, 2, 1, N);
    submod_labels labels = label_view(&d);
    submod_gradient gradient = submod_gradient_dense(g, 1, N);
    submod_fn *hamming = NULL;
    double loss, mean = 0;
    ck_assert_ok(submod_fn_hamming(N, &hamming));
    ck_assert_ok(
        submod_lovasz_hinge_function(hamming, &scores, &labels, &loss, &gradient, NULL, NULL));
    for (int i = 0; i < 2 * N; i++) {
        double side = d.y[i] ? 1 : -1;
        double margin = 1 - side * d.x[i];
        mean += fmax(0, margin) / (2 * N);
        ck_assert_near((double)g[i], margin > 0 ? -side / (2 * N) : 0, 1e-8);
    }
    ck_assert_near(loss, mean, 1e-12);
    submod_fn_free(hamming);
    for (int i = 0; i < N; i++) {
        submod_scores one = submod_scores_f32(x + i, 1, 1, 1);
        submod_labels its = submod_labels_i64(d.y + i, 1, 1);
        ck_assert_ok(submod_lovasz_hinge(&one, &its, &loss, NULL, NULL, NULL, NULL));
        ck_assert_near(loss, fmax(0, 1 - (d.y[i] ? 1 : -1) * d.x[i]), 1e-6);
    }
    free(x);
    free_batch(&d);
}
END_TEST

/* The hinge through a Jaccard function of the core is the hinge of the engine. */
START_TEST(hinge_of_a_function)
{
    enum { N = 200 };
    submod_rng rng;
    submod_rng_seed(&rng, 7);
    for (int ignore = 0; ignore < 2; ignore++) {
        batch d = random_batch(&rng, HINGE, 1, 1, N, ignore);
        float *x = as_floats(&d), g[N], h[N];
        uint8_t mask[N];
        submod_scores scores = submod_scores_f32(x, 1, 1, N);
        submod_labels labels = label_view(&d);
        submod_gradient to_g = submod_gradient_dense(g, 1, N),
                        to_h = submod_gradient_dense(h, 1, N);
        submod_loss_settings s = submod_loss_defaults();
        submod_fn *jaccard = NULL;
        double loss, other;
        for (int i = 0; i < N; i++) {
            mask[i] = d.y[i] == 1;
        }
        s.has_ignore = ignore;
        s.ignore_label = 9;
        ck_assert_ok(submod_fn_jaccard(N, mask, &jaccard));
        ck_assert_ok(submod_lovasz_hinge(&scores, &labels, &loss, &to_g, NULL, &s, NULL));
        ck_assert_ok(
            submod_lovasz_hinge_function(jaccard, &scores, &labels, &other, &to_h, &s, NULL));
        ck_assert_near(loss, other, 1e-6);
        for (int i = 0; i < N; i++) {
            ck_assert_near((double)g[i], (double)h[i], 1e-7);
        }
        submod_fn_free(jaccard);
        free(x);
        free_batch(&d);
    }
}
END_TEST

/* Any order of the pixels, ties included: the same loss, the gradient in the other order. */
START_TEST(permutations)
{
    enum { C = 3, N = 60 };
    submod_rng rng;
    submod_rng_seed(&rng, 8);
    for (int engine = 0; engine < 2; engine++) {
        for (int repeat = 0; repeat < 20; repeat++) {
            batch d = random_batch(&rng, SOFTMAX, 1, C, N, false);
            batch e = random_batch(&rng, SOFTMAX, 1, C, N, false);
            int32_t order[N];
            float g[C * N], h[C * N];
            random_order(&rng, order, N);
            for (int i = 0; i < C * N; i++) {
                d.x[i] = (double)submod_rng_below(&rng, 3);
            }
            for (int i = 0; i < N; i++) {
                e.y[i] = d.y[order[i]];
                for (int c = 0; c < C; c++) {
                    e.x[c * N + i] = d.x[c * N + order[i]];
                }
            }
            submod_loss_settings s = submod_loss_defaults();
            s.engine = (submod_engine)engine;
            ck_assert_near(call(&d, SOFTMAX, g, &s), call(&e, SOFTMAX, h, &s), 1e-12);
            for (int i = 0; i < N; i++) {
                for (int c = 0; c < C; c++) {
                    ck_assert(h[c * N + i] == g[c * N + order[i]]);
                }
            }
            free_batch(&d);
            free_batch(&e);
        }
    }
}
END_TEST

START_TEST(per_image_is_the_mean_of_images)
{
    enum { B = 4, C = 3, N = 50 };
    submod_rng rng;
    submod_rng_seed(&rng, 9);
    for (int engine = 0; engine < 2; engine++) {
        batch d = random_batch(&rng, SOFTMAX, B, C, N, true);
        submod_loss_settings s = submod_loss_defaults();
        s.engine = (submod_engine)engine;
        s.has_ignore = 1;
        s.ignore_label = 9;
        double mean = 0;
        for (size_t b = 0; b < B; b++) {
            batch one = {1, C, N, d.x + b * C * N, d.y + b * N, false};
            mean += call(&one, SOFTMAX, NULL, &s) / B;
        }
        s.per_image = 1;
        ck_assert_near(call(&d, SOFTMAX, NULL, &s), mean, 1e-12);
        free_batch(&d);
    }
}
END_TEST

/* ---- memory layouts and types ---- */

static uint16_t to_bf16(double x)
{
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)(bits >> 16);
}

START_TEST(layouts_and_types)
{
    enum { B = 2, C = 3, N = 300 };
    submod_rng rng;
    submod_rng_seed(&rng, 10);
    batch d = random_batch(&rng, SOFTMAX, B, C, N, false);
    float first[B * C * N], last[B * C * N], gradient_last[B * C * N], g[B * C * N];
    uint16_t bf16[B * C * N], f16[B * C * N];
    uint8_t y8[B * N];
    int32_t y32[B * N];
    for (int i = 0; i < B * C * N; i++) {
        int k = (int)submod_rng_below(&rng, 129) - 64; /* multiples of 1/32: exact in all types */
        d.x[i] = k / 32.;
        bf16[i] = to_bf16(d.x[i]);
        int exponent;
        double fraction = frexp(fabs(d.x[i]), &exponent); /* in [1/2, 1) */
        uint16_t magnitude = (uint16_t)(((exponent + 14) << 10) + (int)((2 * fraction - 1) * 1024));
        f16[i] = (uint16_t)((d.x[i] < 0 ? 0x8000 : 0) | (k ? magnitude : 0));
        int b = i / (C * N), c = i / N % C, p = i % N;
        first[i] = (float)d.x[i];
        last[(b * N + p) * C + c] = (float)d.x[i];
    }
    for (int i = 0; i < B * N; i++) {
        y8[i] = (uint8_t)d.y[i];
        y32[i] = (int32_t)d.y[i];
    }
    submod_loss_settings s = submod_loss_defaults();
    double expected = call(&d, SOFTMAX, g, &s), loss;
    submod_scores scores = submod_scores_f32(first, B, C, N);
    submod_scores channels_last = {last, SUBMOD_SCORE_F32, B, C, N, C * N, 1, C};
    submod_labels views[3] = {submod_labels_u8(y8, B, N), submod_labels_i32(y32, B, N),
                              submod_labels_i64(d.y, B, N)};
    for (int t = 0; t < 3; t++) {
        ck_assert_ok(submod_lovasz_softmax(&scores, SUBMOD_INPUT_LOGITS, &views[t], &loss, NULL,
                                           NULL, &s, NULL));
        ck_assert(loss == expected);
    }
    submod_gradient to_last = {gradient_last, C * N, 1, C, 1, 0};
    ck_assert_ok(submod_lovasz_softmax(&channels_last, SUBMOD_INPUT_LOGITS, &views[0], &loss,
                                       &to_last, NULL, &s, NULL));
    ck_assert(loss == expected);
    for (int i = 0; i < B * C * N; i++) {
        ck_assert(gradient_last[(i / (C * N) * N + i % N) * C + i / N % C] == g[i]);
    }
    scores.data = bf16;
    scores.type = SUBMOD_SCORE_BF16;
    ck_assert_ok(submod_lovasz_softmax(&scores, SUBMOD_INPUT_LOGITS, &views[0], &loss, NULL, NULL,
                                       &s, NULL));
    ck_assert(loss == expected);
    scores.data = f16;
    scores.type = SUBMOD_SCORE_F16;
    ck_assert_ok(submod_lovasz_softmax(&scores, SUBMOD_INPUT_LOGITS, &views[0], &loss, NULL, NULL,
                                       &s, NULL));
    ck_assert(loss == expected);
    free_batch(&d);
}
END_TEST

START_TEST(gradients_accumulate)
{
    enum { C = 3, N = 20 };
    submod_rng rng;
    submod_rng_seed(&rng, 11);
    for (int engine = 0; engine < 2; engine++) {
        batch d = random_batch(&rng, SOFTMAX, 1, C, N, false);
        float *x = as_floats(&d), g[C * N], h[C * N];
        submod_loss_settings s = submod_loss_defaults();
        s.engine = (submod_engine)engine;
        call(&d, SOFTMAX, g, &s);
        for (int i = 0; i < C * N; i++) {
            h[i] = (float)i;
        }
        submod_scores scores = submod_scores_f32(x, 1, C, N);
        submod_labels labels = label_view(&d);
        submod_gradient add = submod_gradient_dense(h, C, N);
        add.scale = -0.5;
        add.accumulate = 1;
        ck_assert_ok(submod_lovasz_softmax(&scores, SUBMOD_INPUT_LOGITS, &labels, NULL, &add, NULL,
                                           &s, NULL));
        for (int i = 0; i < C * N; i++) {
            ck_assert_near((double)h[i], i - 0.5 * (double)g[i], 4e-6);
        }
        free(x);
        free_batch(&d);
    }
}
END_TEST

/* Labels per class where one label per pixel is meant, and the other way round, are refused rather
 * than misread; multilabel labels may lie in memory as they like. */
START_TEST(labels_per_class)
{
    enum { B = 2, C = 3, N = 30 };
    submod_rng rng;
    submod_rng_seed(&rng, 17);
    batch d = random_batch(&rng, SIGMOID, B, C, N, false);
    float *x = as_floats(&d);
    int32_t last[B * N * C];
    for (int i = 0; i < B * C * N; i++) {
        last[(i / (C * N) * N + i % N) * C + i / N % C] = (int32_t)d.y[i];
    }
    submod_scores scores = submod_scores_f32(x, B, C, N);
    submod_labels channels_last = {last, SUBMOD_LABEL_I32, B, N, C * N, C, 1},
                  one_per_pixel = submod_labels_i64(d.y, B, N), per_class = label_view(&d);
    submod_loss_settings s = submod_loss_defaults();
    double loss, expected = call(&d, SIGMOID, NULL, &s);
    ck_assert_ok(call_views(SIGMOID, &scores, &channels_last, &loss, NULL, NULL, &s));
    ck_assert(loss == expected);
    loss = 7;
    ck_assert_int_eq(call_views(SIGMOID, &scores, &one_per_pixel, &loss, NULL, NULL, &s),
                     SUBMOD_EINVAL);
    ck_assert_ptr_nonnull(strstr(submod_last_error(), "labels have class_stride 0"));
    ck_assert_int_eq(call_views(SOFTMAX, &scores, &per_class, &loss, NULL, NULL, &s),
                     SUBMOD_EINVAL);
    ck_assert_ptr_nonnull(strstr(submod_last_error(), "labels has a class_stride"));
    ck_assert(loss == 7);
    free(x);
    free_batch(&d);
}
END_TEST

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

/* ---- large inputs ---- */

/* Bit-identical for any number of threads: side by side, inside one class, with and without ties.
 */
START_TEST(threads_do_not_matter)
{
    enum { N = 100000 };
    submod_rng rng;
    submod_rng_seed(&rng, 12);
    for (int variant = 0; variant < 8; variant++) {
        kind k = variant & 1 ? HINGE : SOFTMAX;
        size_t C = k == HINGE ? 1 : 5;
        batch d = random_batch(&rng, k, 2, C, N, true);
        for (size_t i = 0; variant & 2 && i < 2 * C * N; i++) {
            d.x[i] = (double)submod_rng_below(&rng, 50) / 16;
        }
        size_t n = 2 * C * N;
        float *g = malloc(n * sizeof *g), *h = malloc(n * sizeof *h);
        submod_loss_settings s = submod_loss_defaults();
        s.engine = variant & 4 ? SUBMOD_ENGINE_HISTOGRAM : SUBMOD_ENGINE_EXACT;
        s.has_ignore = 1;
        s.ignore_label = 9;
        ck_assert_ok(submod_set_num_threads(1));
        double loss = call(&d, k, g, &s);
        for (int threads = 2; threads <= 7; threads++) {
            ck_assert_ok(submod_set_num_threads(threads));
            ck_assert(call(&d, k, h, &s) == loss);
            size_t different = 0;
            for (size_t i = 0; i < n; i++) {
                different += !(g[i] == h[i]);
            }
            ck_assert_uint_eq(different, 0);
        }
        ck_assert_ok(submod_set_num_threads(0));
        free(g);
        free(h);
        free_batch(&d);
    }
}
END_TEST

/* Called from inside a parallel region, where OpenMP grants fewer threads than asked for, with
 * memory that is not clean: the same bits as outside. */
static void *dirty_alloc(size_t alignment, size_t size)
{
    void *memory = aligned_alloc(alignment, size);
    return memory ? memset(memory, 0x11, size) : NULL;
}

START_TEST(inside_a_parallel_region)
{
    enum { N = 70000 };
    const submod_allocator dirty = {dirty_alloc, free};
    submod_rng rng;
    submod_rng_seed(&rng, 14);
    ck_assert_ok(submod_set_allocator(&dirty));
    ck_assert_ok(submod_set_num_threads(4));
    for (int variant = 0; variant < 4; variant++) {
        kind k = variant & 1 ? HINGE : SOFTMAX;
        batch d = random_batch(&rng, k, 1, k == HINGE ? 1 : 3, N, false);
        float *x = as_floats(&d);
        submod_scores scores = submod_scores_f32(x, 1, d.C, N);
        submod_labels labels = label_view(&d);
        submod_loss_settings s = submod_loss_defaults();
        s.engine = (submod_engine)(variant >> 1);
        double outside = call(&d, k, NULL, &s);
        int different = 0;
#pragma omp parallel num_threads(3) reduction(+ : different)
        {
            double inside = -1;
            call_views(k, &scores, &labels, &inside, NULL, NULL, &s);
            different += !(inside == outside);
        }
        ck_assert_int_eq(different, 0);
        free(x);
        free_batch(&d);
    }
    ck_assert_ok(submod_set_num_threads(0));
    ck_assert_ok(submod_set_allocator(NULL));
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

/* A million pixels through the core's double-precision extension. */
START_TEST(large_hinge_against_the_core)
{
    enum { N = 1000000 };
    submod_rng rng;
    submod_rng_seed(&rng, 13);
    batch d = random_batch(&rng, HINGE, 1, 1, N, false);
    uint8_t *mask = malloc(N);
    float *x = as_floats(&d), *g = malloc(N * sizeof *g), *h = malloc(N * sizeof *h);
    for (int i = 0; i < N; i++) {
        d.y[i] = submod_rng_uniform(&rng) < 0.02;
        mask[i] = d.y[i] == 1;
    }
    submod_scores scores = submod_scores_f32(x, 1, 1, N);
    submod_labels labels = label_view(&d);
    submod_gradient to_g = submod_gradient_dense(g, 1, N), to_h = submod_gradient_dense(h, 1, N);
    submod_fn *jaccard = NULL;
    double loss, other, distance = 0;
    ck_assert_ok(submod_fn_jaccard(N, mask, &jaccard));
    ck_assert_ok(submod_lovasz_hinge(&scores, &labels, &loss, &to_g, NULL, NULL, NULL));
    ck_assert_ok(
        submod_lovasz_hinge_function(jaccard, &scores, &labels, &other, &to_h, NULL, NULL));
    for (int i = 0; i < N; i++) {
        distance += fabs((double)g[i] - (double)h[i]);
    }
    ck_assert_near(loss, other, 1e-6);
    ck_assert(distance <
              1e-3); /* margins rounded to float swap some neighbours; weights sum to 1 */
    submod_fn_free(jaccard);
    free(mask);
    free(x);
    free(g);
    free(h);
    free_batch(&d);
}
END_TEST

int main(void)
{
    return RUN_TESTS("loss", values_and_gradients, from_probabilities, histogram_within_delta,
                     bins_given, engines_agree_on_gradients, equals_jaccard_at_hard_predictions,
                     hinge_reductions, hinge_of_a_function, permutations,
                     per_image_is_the_mean_of_images, layouts_and_types, gradients_accumulate,
                     labels_per_class, degenerate_batches, huge_scores, refusals,
                     threads_do_not_matter, inside_a_parallel_region, strange_nans,
                     confident_mistakes, large_hinge_against_the_core);
}
