/* What the Lovász losses refuse, by loss.h's table: softmax, sigmoid and hinge, both engines.
 * Checks the error message, and that neither the loss nor the gradient is touched. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "losses.h"
#include "support.h"

enum { B = 2, N = 3, MOST = B * 2 * N, IGNORED = 9, VARIANTS = 12 };

/* A good call, for a test to spoil: two images of three pixels, the last pixel of each ignored. */
typedef struct good {
    kind k;
    size_t C;
    float x[MOST], g[MOST];
    uint16_t half[MOST];
    int64_t y[MOST];
    submod_scores scores;
    submod_labels labels;
    submod_gradient gradient;
    submod_loss_settings settings;
} good;

/* Variants: three kinds, both engines, per batch and per image. */
static void make(good *c, int variant)
{
    static const kind kinds[] = {SOFTMAX, SIGMOID, HINGE};
    c->k = kinds[variant / 4];
    c->C = c->k == HINGE ? 1 : 2;
    for (size_t i = 0; i < MOST; i++) {
        c->x[i] = (float)(i % 3) / 4;
        c->half[i] = f16_of(c->x[i]);
        c->y[i] = i % N == N - 1 ? IGNORED : (int64_t)(i % 2);
        c->g[i] = 7;
    }
    c->scores = submod_scores_f32(c->x, B, c->C, N);
    c->labels = c->k == SIGMOID ? submod_labels_multilabel(c->y, SUBMOD_LABEL_I64, B, c->C, N)
                                : submod_labels_i64(c->y, B, N);
    c->gradient = submod_gradient_dense(c->g, c->C, N);
    c->settings = submod_loss_defaults();
    c->settings.engine = (submod_engine)(variant % 2);
    c->settings.per_image = variant / 2 % 2;
    c->settings.has_ignore = 1;
    c->settings.ignore_index = IGNORED;
}

static void refuse_call(const good *c, int status, const char *words)
{
    double loss = 7;
    submod_loss_info info = {.terms = 7};
    assert_error(call_views(c->k, &c->scores, &c->labels, &loss, &c->gradient, &info, &c->settings),
                 status, words);
    ck_assert(loss == 7);
    ck_assert_uint_eq(info.terms, 7);
    for (size_t i = 0; i < MOST; i++) {
        ck_assert(c->g[i] == 7);
    }
}

START_TEST(nothing_is_wrong)
{
    for (int variant = 0; variant < VARIANTS; variant++) {
        good c;
        double loss = -1;
        make(&c, variant);
        ck_assert_ok(call_views(c.k, &c.scores, &c.labels, &loss, &c.gradient, NULL, &c.settings));
        ck_assert(loss > 0 && loss < 2);
        ck_assert(c.g[N - 1] == 0); /* the ignored pixel */
    }
}
END_TEST

START_TEST(labels_out_of_range)
{
    const int64_t bad[] = {2, -1, 8, INT32_MAX, (INT64_C(1) << 32) + 1, INT64_MIN};
    for (int variant = 0; variant < VARIANTS; variant++) {
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            good c;
            make(&c, variant);
            c.y[1] = bad[i];
            refuse_call(&c, SUBMOD_EINVAL,
                        c.k == SOFTMAX   ? "is not in [0, 2)"
                        : c.k == SIGMOID ? "is not 0 or 1"
                                         : "labels[0][1] =");
            make(&c, variant);
            c.settings.has_ignore = 0;
            refuse_call(&c, SUBMOD_EINVAL,
                        c.k == SIGMOID ? "labels[0][0][2] = 9 is not 0 or 1; set ignore_index"
                                       : "labels[0][2] = 9 is not in [0, 2); set ignore_index");
        }
    }
}
END_TEST

/* Checks an infinite score. The hinge accepts it if its sign is the label's or the pixel is
 * ignored; other infinite scores are refused. */
static void refuse_infinite(good *c, size_t at, bool positive)
{
    bool right = c->y[at] == IGNORED || (c->y[at] == 1) == positive;
    if (c->k == HINGE && right) {
        double loss;
        ck_assert_ok(
            call_views(c->k, &c->scores, &c->labels, &loss, &c->gradient, NULL, &c->settings));
        ck_assert(isfinite(loss) && c->g[at] == 0);
        for (size_t i = 0; i < MOST; i++) {
            c->g[i] = 7;
        }
    } else {
        refuse_call(c, SUBMOD_ENONFINITE, positive ? "] is inf" : "] is -inf");
    }
}

/* NaN and both infinities in each type, at pixels that count and at ignored ones, in the last image
 * too, when others could have been written already. */
START_TEST(scores_that_are_not_finite)
{
    const float f32[] = {NAN, INFINITY, -INFINITY};
    const uint16_t f16[] = {0x7e00, 0x7c00, 0xfc00}, bf16[] = {0x7fc0, 0x7f80, 0xff80},
                   f16_nan[] = {0x7c01, 0xffff, 0xfe00}, bf16_nan[] = {0x7f81, 0xffff, 0xffc0};
    const submod_score_type types[] = {SUBMOD_SCORE_F32, SUBMOD_SCORE_F16, SUBMOD_SCORE_BF16};
    for (int variant = 0; variant < VARIANTS; variant++) {
        good c;
        make(&c, variant);
        size_t entries = B * c.C * N;
        for (size_t at = 0; at < entries; at++) {
            for (int i = 0; i < 3; i++) {
                for (int t = 0; t < 3; t++) {
                    make(&c, variant);
                    c.scores.type = types[t];
                    c.scores.data = t ? (const void *)c.half : c.x;
                    c.x[at] = f32[i];
                    c.half[at] = t == 1 ? f16[i] : bf16[i];
                    if (i) {
                        refuse_infinite(&c, at, i == 1);
                    } else {
                        refuse_call(&c, SUBMOD_ENONFINITE, "] is nan");
                    }
                    c.x[at] = NAN;
                    c.half[at] = t == 1 ? f16_nan[i] : bf16_nan[i];
                    refuse_call(&c, SUBMOD_ENONFINITE, "nan");
                }
            }
        }
        make(&c, variant);
        c.x[entries - 1] = NAN;
        refuse_call(&c, SUBMOD_ENONFINITE, c.C == 2 ? "scores[1][1][2]" : "scores[1][0][2]");
    }
}
END_TEST

/* NaN with any payload is refused, never counted. */
START_TEST(strange_nans)
{
    submod_rng rng;
    submod_rng_seed(&rng, 15);
    for (int repeat = 0; repeat < 2000; repeat++) {
        good c;
        uint32_t bits = UINT32_C(0x7fc00000) | (uint32_t)(submod_rng_next(&rng) >> 42);
        make(&c, repeat % VARIANTS);
        c.x[0] = (float)submod_rng_normal(&rng);
        memcpy(&c.x[1], &bits, sizeof bits);
        refuse_call(&c, SUBMOD_ENONFINITE, "scores[0][0][1] is");
    }
}
END_TEST

START_TEST(no_probabilities)
{
    const float bad[] = {-0.0011F, 1.0011F, -INFINITY, NAN, 1e30F};
    for (int variant = 0; variant < 8; variant++) {
        for (int i = 0; i < 5; i++) {
            for (int at = 1; at < N; at++) { /* also where it is ignored */
                good c;
                make(&c, variant);
                c.k = c.k == SOFTMAX ? PROBABILITY : SIGMOID_PROBABILITY;
                c.x[at] = bad[i];
                bool finite = isfinite(bad[i]);
                refuse_call(&c, finite ? SUBMOD_EINVAL : SUBMOD_ENONFINITE,
                            finite ? "is no probability" : "] is");
            }
        }
    }
}
END_TEST

START_TEST(views_and_sizes)
{
    for (int variant = 0; variant < VARIANTS; variant++) {
        good c;
        make(&c, variant);
        c.scores.classes = 0;
        refuse_call(&c, SUBMOD_EINVAL,
                    c.k == HINGE ? "classes = 0 must be 1" : "classes = 0 must be");
        c.scores.batch = c.labels.batch = 0; /* also where there is nothing to do */
        refuse_call(&c, SUBMOD_EINVAL,
                    c.k == HINGE ? "classes = 0 must be 1" : "classes = 0 must be");
        make(&c, variant);
        c.scores.classes = (size_t)1 << 29;
        refuse_call(&c, SUBMOD_EINVAL, c.k == HINGE ? "one score" : "classes = 536870912 must be");
        make(&c, variant);
        c.scores.pixels = c.labels.pixels = (size_t)1 << 30;
        refuse_call(&c, SUBMOD_EINVAL, "2 images of 1073741824 pixels");
        make(&c, variant);
        c.scores.pixels--;
        refuse_call(&c, SUBMOD_EINVAL, "labels are 2 x 3, scores 2 x 2");
        make(&c, variant);
        c.scores.data = NULL;
        refuse_call(&c, SUBMOD_EINVAL, "scores.data is NULL");
        make(&c, variant);
        c.labels.data = NULL;
        refuse_call(&c, SUBMOD_EINVAL, "labels.data is NULL");
        make(&c, variant);
        c.scores.type = (submod_score_type)7;
        refuse_call(&c, SUBMOD_EINVAL, "type = 7 is unknown");
        make(&c, variant);
        c.labels.type = (submod_label_type)7;
        refuse_call(&c, SUBMOD_EINVAL, "labels.type = 7 is unknown");
        make(&c, variant);
        c.gradient.data = NULL;
        refuse_call(&c, SUBMOD_EINVAL, "gradient.data is NULL");
        make(&c, variant);
        c.gradient.pixel_stride = 0;
        refuse_call(&c, SUBMOD_EINVAL, "overlaps itself");
        make(&c, variant);
        c.gradient.scale = 1e39;
        refuse_call(&c, SUBMOD_ENONFINITE, "gradient.scale");
        double loss = 7;
        make(&c, variant);
        assert_error(call_views(c.k, NULL, &c.labels, &loss, NULL, NULL, NULL), SUBMOD_EINVAL,
                     "scores is NULL");
        assert_error(call_views(c.k, &c.scores, NULL, &loss, NULL, NULL, NULL), SUBMOD_EINVAL,
                     "labels is NULL");
    }
}
END_TEST

/* No class could count: the loss would be 0 whatever the scores are. */
static void refuse_what_is_always_zero(int variant)
{
    good c;
    make(&c, variant);
    c.settings.class_weight = (double[]){0, 0};
    refuse_call(&c, SUBMOD_EINVAL, "class_weight is 0 for every class;");
    c.settings.classes = SUBMOD_CLASSES_LIST;
    c.settings.class_list = (int32_t[]){1};
    c.settings.class_count = 1;
    c.settings.class_weight = (double[]){1, 0};
    refuse_call(&c, SUBMOD_EINVAL, "class_weight is 0 for every class of class_list");
    c.settings.class_weight = (double[]){0, 1};
    ck_assert_ok(call_views(c.k, &c.scores, &c.labels, NULL, NULL, NULL, &c.settings));
    c.settings.class_count = 0;
    refuse_call(&c, SUBMOD_EINVAL, "class_list is empty");
}

/* A softmax of one logit is 1; probabilities and the sigmoid of one class are something. */
START_TEST(one_class)
{
    for (int variant = 0; variant < VARIANTS; variant++) {
        good c;
        make(&c, variant);
        c.scores.classes = 1;
        if (c.k == SOFTMAX) {
            memset(c.y, 0, sizeof c.y);
            refuse_call(&c, SUBMOD_EINVAL, "the softmax of one class is always 1");
            c.k = PROBABILITY;
        }
        double loss = 0;
        ck_assert_ok(call_views(c.k, &c.scores, &c.labels, &loss, NULL, NULL, &c.settings));
        ck_assert(loss > 0);
    }
    good none;
    make(&none, 0);
    none.scores = submod_scores_f32(NULL, 0, 1, 0);
    none.labels = submod_labels_i64(NULL, 0, 0);
    refuse_call(&none, SUBMOD_EINVAL, "take the hinge or the sigmoid");
}
END_TEST

START_TEST(settings)
{
    for (int variant = 0; variant < VARIANTS; variant++) {
        good c;
        make(&c, variant);
        c.settings.engine = (submod_engine)7;
        refuse_call(&c, SUBMOD_EINVAL, "engine = 7");
        make(&c, variant);
        c.settings.engine = SUBMOD_ENGINE_HISTOGRAM;
        c.settings.delta = 0;
        refuse_call(&c, SUBMOD_EINVAL, "delta = 0");
        c.settings.delta = NAN;
        refuse_call(&c, SUBMOD_EINVAL, "delta = nan");
        make(&c, variant);
        if (c.k == HINGE) { /* does not look at classes */
            c.settings.classes = SUBMOD_CLASSES_LIST;
            c.settings.class_weight = (double[]){0};
            ck_assert_ok(call_views(c.k, &c.scores, &c.labels, NULL, NULL, NULL, &c.settings));
            continue;
        }
        c.settings.classes = (submod_classes)7;
        refuse_call(&c, SUBMOD_EINVAL, "classes = 7");
        c.settings.classes = SUBMOD_CLASSES_LIST;
        c.settings.class_list = (int32_t[]){0, 2};
        c.settings.class_count = 2;
        refuse_call(&c, SUBMOD_EINVAL, "class_list[1] = 2");
        make(&c, variant);
        c.settings.class_weight = (double[]){1, -1};
        refuse_call(&c, SUBMOD_EINVAL, "class_weight[1] = -1");
        c.settings.class_weight = (double[]){NAN, 1};
        refuse_call(&c, SUBMOD_ENONFINITE, "class_weight[0]");
        refuse_what_is_always_zero(variant);
    }
}
END_TEST

/* ---- the hinge of any function ---- */

static submod_status broken_eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    (void)ctx;
    (void)set;
    *value = k > 1 ? NAN : (double)k;
    return SUBMOD_OK;
}

static void refuse_function(const submod_fn *fn, const good *c, int status, const char *words)
{
    double loss = 7;
    assert_error(submod_lovasz_hinge_function(fn, &c->scores, &c->labels, &loss, &c->gradient,
                                              &c->settings, NULL),
                 status, words);
    ck_assert(loss == 7);
    for (size_t i = 0; i < MOST; i++) {
        ck_assert(c->g[i] == 7);
    }
}

static void refuse_with(const submod_fn *fn)
{
    good c;
    make(&c, 8);
    c.scores.classes = 2;
    refuse_function(fn, &c, SUBMOD_EINVAL, "classes = 2 must be 1");
    make(&c, 8);
    c.labels.batch = 1;
    refuse_function(fn, &c, SUBMOD_EINVAL, "labels are 1 x 3");
    make(&c, 8);
    c.settings.has_ignore = 0;
    refuse_function(fn, &c, SUBMOD_EINVAL, "labels[0][2] = 9");
    for (size_t at = 0; at < B * N; at++) { /* ignored pixels and the last image included */
        make(&c, 8);
        c.x[at] = NAN;
        refuse_function(fn, &c, SUBMOD_ENONFINITE, "is nan");
    }
    make(&c, 8);
    c.gradient.data = NULL;
    refuse_function(fn, &c, SUBMOD_EINVAL, "gradient.data is NULL");
    make(&c, 8);
    c.gradient.scale = NAN;
    refuse_function(fn, &c, SUBMOD_ENONFINITE, "scale");
    double loss = 7;
    assert_error(submod_lovasz_hinge_function(fn, NULL, &c.labels, &loss, NULL, NULL, NULL),
                 SUBMOD_EINVAL, "scores is NULL");
    assert_error(submod_lovasz_hinge_function(fn, &c.scores, NULL, &loss, NULL, NULL, NULL),
                 SUBMOD_EINVAL, "labels is NULL");
    ck_assert(loss == 7);
    make(&c, 8);
    c.scores.batch = c.labels.batch = 0;
    ck_assert_ok(submod_lovasz_hinge_function(fn, &c.scores, &c.labels, &loss, &c.gradient,
                                              &c.settings, NULL));
    ck_assert(loss == 0);
}

/* Hamming goes its own way. */
START_TEST(hinge_of_a_function)
{
    const submod_fn_ops ops = {.eval = broken_eval};
    submod_fn *fns[2] = {NULL, NULL}, *other = NULL, *broken = NULL;
    good c;
    ck_assert_ok(submod_fn_hamming(N, &fns[0]));
    ck_assert_ok(
        submod_fn_concave(N, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fns[1]));
    ck_assert_ok(submod_fn_hamming(N + 1, &other));
    ck_assert_ok(submod_fn_custom(N, &ops, NULL, &broken));
    make(&c, 8);
    refuse_function(NULL, &c, SUBMOD_EINVAL, "fn is NULL");
    refuse_function(other, &c, SUBMOD_EINVAL,
                    "fn has 4 elements; it must have one per pixel of an image, 3");
    refuse_function(broken, &c, SUBMOD_ECALLBACK, "");
    for (int i = 0; i < 2; i++) {
        refuse_with(fns[i]);
        submod_fn_free(fns[i]);
    }
    submod_fn_free(other);
    submod_fn_free(broken);
}
END_TEST

int main(void)
{
    return RUN_TESTS("loss_errors", nothing_is_wrong, labels_out_of_range,
                     scores_that_are_not_finite, strange_nans, no_probabilities, views_and_sizes,
                     settings, one_class, hinge_of_a_function);
}
