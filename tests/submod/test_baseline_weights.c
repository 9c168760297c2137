/* Pixel weights and losses of groups in the baselines: what must not change a bit, copies of
 * pixels, special cases. test_baseline.c compares them with the formulas. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "soft_labels.h"
#include "support.h"

/* Between 0 and 2; whole: 0, 1, 2 or 3. */
static void fill_weights(submod_rng *rng, bool whole, float *w)
{
    for (size_t i = 0; i < LABELS; i++) {
        double u = submod_rng_uniform(rng);
        w[i] = (float)(whole ? floor(4 * u) : 2 * u);
    }
}

/* A random problem of a kind, and settings by the bits of a number. */
static problem some_problem(instance *e, int kind, submod_rng *rng, unsigned bits)
{
    bool probabilities = kind >= RAHMAN_WANG && (bits & 1);
    fill(e, kind, rng, probabilities);
    problem p = problem_of(e);
    p.settings.from_logits = !probabilities;
    p.settings.per_image = (bits & 2) != 0;
    p.settings.class_weight = bits & 4 ? e->weight : NULL;
    return p;
}

/* Loss and gradient to the last bit; gradients as numbers, so that -0 is 0. */
static void assert_same(int kind, const problem *p, const problem *q)
{
    float g[SIZE], h[SIZE];
    double first = evaluate(kind, p, g), second = evaluate(kind, q, h);
    ck_assert_msg(first == second, "%d: %.17g is not %.17g", kind, first, second);
    for (size_t i = 0; i < B * p->scores.classes * N; i++) {
        ck_assert_msg(g[i] == h[i], "%d: %.9g is not %.9g", kind, (double)g[i], (double)h[i]);
    }
}

START_TEST(weights_of_1_are_none)
{
    const float one = 1;
    const submod_pixel_weights ones = {&one, B, N, 0, 0};
    submod_rng rng;
    submod_rng_seed(&rng, 201);
    for (int kind = 0; kind < KINDS; kind++) {
        for (unsigned bits = 0; bits < 8; bits++) {
            instance e;
            problem p = some_problem(&e, kind, &rng, bits), q = p;
            q.settings.pixel_weights = &ones;
            assert_same(kind, &p, &q);
        }
    }
}
END_TEST

/* Smoothing is a number of pixels, so it has to grow with the weights. */
START_TEST(a_power_of_two_changes_nothing)
{
    static const double powers[] = {0x1p-60, 0x1p-1, 0x1p60};
    float w[LABELS] = {0}, v[LABELS] = {0};
    const submod_pixel_weights first = submod_pixel_weights_f32(w, B, N);
    const submod_pixel_weights second = submod_pixel_weights_f32(v, B, N);
    submod_rng rng;
    submod_rng_seed(&rng, 202);
    for (int kind = 0; kind < KINDS; kind++) {
        for (unsigned bits = 0; bits < 24; bits++) {
            instance e;
            problem p = some_problem(&e, kind, &rng, bits), q = p;
            double power = powers[bits / 8];
            fill_weights(&rng, false, w);
            for (size_t i = 0; i < LABELS; i++) {
                v[i] = (float)((double)w[i] * power);
            }
            p.settings.pixel_weights = &first;
            q.settings.pixel_weights = &second;
            p.settings.smoothing = 1.5;
            q.settings.smoothing = 1.5 * power;
            assert_same(kind, &p, &q);
        }
    }
}
END_TEST

/* Ones and zeros against ignored labels; the second image may have no weight at all. */
START_TEST(a_pixel_of_weight_0_is_ignored)
{
    float w[LABELS] = {0};
    int32_t label[LABELS];
    const submod_pixel_weights weights = submod_pixel_weights_f32(w, B, N);
    submod_rng rng;
    submod_rng_seed(&rng, 203);
    for (int kind = 0; kind < KINDS; kind++) {
        for (unsigned bits = 0; bits < 16; bits++) {
            instance e;
            problem p = some_problem(&e, kind, &rng, bits), q = p;
            fill_weights(&rng, true, w);
            for (size_t i = 0; i < LABELS; i++) {
                w[i] = w[i] > 0 && (bits < 8 || i / N != 1) ? 1.0F : 0.0F;
                label[i] = w[i] > 0 ? e.label[i] : IGNORED;
            }
            p.settings.pixel_weights = &weights;
            q.labels = submod_labels_i32(label, B, N);
            assert_same(kind, &p, &q);
        }
    }
}
END_TEST

/* Each pixel of one image as often as its weight says. */
START_TEST(whole_weights_are_copies)
{
    enum { MOST = 3 * N };
    float w[LABELS] = {0}, x[C * MOST], g[SIZE], h[C * MOST];
    int32_t label[MOST];
    const submod_pixel_weights weights = submod_pixel_weights_f32(w, 1, N);
    submod_rng rng;
    submod_rng_seed(&rng, 204);
    for (int kind = 0; kind < KINDS; kind++) {
        for (unsigned bits = 0; bits < 16; bits++) {
            instance e;
            problem p = some_problem(&e, kind, &rng, bits);
            size_t many = 0, place[N];
            fill_weights(&rng, true, w);
            w[0] = 1;
            for (size_t i = 0; i < N; i++) {
                many += (size_t)w[i];
            }
            for (size_t i = 0, at = 0; i < N; i++) {
                place[i] = at;
                for (size_t end = at + (size_t)w[i]; at < end; at++) {
                    label[at] = e.label[i];
                    for (size_t c = 0; c < e.classes; c++) {
                        x[c * many + at] = e.x[c * N + i];
                    }
                }
            }
            p.scores = submod_scores_f32(e.x, 1, e.classes, N);
            p.labels = submod_labels_i32(e.label, 1, N);
            p.settings.smoothing = bits & 8 ? 2 : 0;
            problem q = p;
            p.settings.pixel_weights = &weights;
            q.scores = submod_scores_f32(x, 1, e.classes, many);
            q.labels = submod_labels_i32(label, 1, many);
            ck_assert_near(evaluate(kind, &p, g), evaluate(kind, &q, h), 1e-7);
            for (size_t i = 0; i < e.classes * N; i++) {
                size_t at = i / N * many + place[i % N];
                double all = w[i % N] > 0 ? (double)w[i % N] * (double)h[at] : 0;
                ck_assert_near((double)g[i], all, 1e-6 * fabs(all) + 1e-8);
            }
        }
    }
}
END_TEST

START_TEST(threads_and_losses_of_groups)
{
    float w[LABELS] = {0}, g[SIZE], h[SIZE];
    const submod_pixel_weights weights = submod_pixel_weights_f32(w, B, N);
    submod_rng rng;
    submod_rng_seed(&rng, 205);
    for (int kind = 0; kind < KINDS; kind++) {
        for (unsigned bits = 0; bits < 8; bits++) {
            instance e;
            problem p = some_problem(&e, kind, &rng, bits);
            double of_group[B + 1] = {7, 7, 7, 7}, mean = 0;
            size_t groups = p.settings.per_image ? B : 1;
            fill_weights(&rng, bits % 2, w);
            memset(w + N, 0, N * sizeof *w); /* an image without weight */
            p.settings.pixel_weights = &weights;
            p.settings.group_loss = of_group;
            ck_assert_ok(submod_set_num_threads(1));
            double loss = evaluate(kind, &p, g);
            for (size_t i = 0; i < groups; i++) {
                mean += of_group[i] / (double)groups;
            }
            ck_assert_near(mean, loss, 1e-14);
            ck_assert(of_group[groups] == 7 && (groups == 1 || of_group[1] == 0));
            for (int threads = 2; threads <= 4; threads++) {
                ck_assert_ok(submod_set_num_threads(threads));
                ck_assert(evaluate(kind, &p, h) == loss);
                ck_assert_mem_eq(g, h, B * e.classes * N * sizeof *g);
            }
            ck_assert_ok(submod_set_num_threads(0));
        }
    }
}
END_TEST

/* Images without pixels have losses too. */
START_TEST(groups_without_pixels)
{
    const float x = 1;
    const int32_t y = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        size_t classes = is_binary(kind) ? 1 : 2;
        problem p = problem_with(submod_scores_f32(&x, 2, classes, 0), submod_labels_i32(&y, 2, 0));
        double of_group[3] = {7, 7, 7};
        p.settings.per_image = 1;
        p.settings.group_loss = of_group;
        ck_assert_ok(calls[kind](&p, NULL, NULL, NULL));
        ck_assert(of_group[0] == 0 && of_group[1] == 0 && of_group[2] == 7);
    }
}
END_TEST

/* All huge or all tiny: finite, and as without weights. */
START_TEST(huge_and_tiny_weights)
{
    static const float sizes[] = {FLT_MAX, 1e30F, 1e-30F, FLT_TRUE_MIN};
    submod_rng rng;
    submod_rng_seed(&rng, 206);
    for (int kind = 0; kind < KINDS; kind++) {
        for (unsigned bits = 0; bits < 32; bits++) {
            instance e;
            problem p = some_problem(&e, kind, &rng, bits);
            const submod_pixel_weights weights = {&sizes[bits / 8], B, N, 0, 0};
            float g[SIZE], h[SIZE];
            double loss = evaluate(kind, &p, g);
            p.settings.pixel_weights = &weights;
            ck_assert_near(evaluate(kind, &p, h), loss, 1e-7);
            for (size_t i = 0; i < B * e.classes * N; i++) {
                ck_assert_near((double)h[i], (double)g[i], 1e-7);
            }
        }
    }
}
END_TEST

/* ---- constant scores ---- */

/* Numbers of images and pixels for which the weights below are rounded. */
enum { IMAGES = 4, PIXELS = 4096, ALL_PIXELS = IMAGES * PIXELS };

typedef struct constant {
    float x[2 * ALL_PIXELS], y[2 * ALL_PIXELS], w[ALL_PIXELS], g[2 * ALL_PIXELS];
    uint8_t label[ALL_PIXELS];
} constant;

/* All weights are 1, except in the second image, where they alternate between `weight` and twice
 * `weight`. */
static void fill_constant(constant *e, int kind, float weight)
{
    for (size_t i = 0; i < ALL_PIXELS; i++) {
        e->w[i] = i / PIXELS == 1 ? (i % 2 ? 1.0F : 2.0F) * weight : 1.0F;
        e->label[i] = kind < KINDS && is_binary(kind);
        e->y[i + i / PIXELS * PIXELS] = 1; /* soft labels: all pixels are of class 0 */
        e->y[i + (i / PIXELS + 1) * PIXELS] = 0;
    }
}

static submod_status call_constant(const constant *e, int kind, double *loss,
                                   const submod_gradient *g, const submod_loss_settings *s)
{
    size_t classes = kind < KINDS && is_binary(kind) ? 1 : 2;
    submod_scores scores = submod_scores_f32(e->x, IMAGES, classes, PIXELS);
    submod_scores soft = submod_scores_f32(e->y, IMAGES, 2, PIXELS);
    submod_labels labels = submod_labels_u8(e->label, IMAGES, PIXELS);
    if (kind < KINDS) {
        return calls[kind](&(problem){scores, labels, *s}, loss, g, NULL);
    }
    return run_metric(kind - KINDS, &(soft_problem){scores, soft, *s}, loss, g, NULL);
}

/* A weighted mean of equal numbers is that number, and an overlap of probabilities 1/2 depends on
 * no weight, whatever the weights are. The gradient of the mean of the hinge sums up to -1. */
START_TEST(constant_scores_have_a_known_loss)
{
    static const double known[KINDS] = {0.69314718055994531, 1, 0.5, 1. / 3, 0.5};
    static const double sizes[] = {1e-45, 1e-38,    1.4 * 0x1p-51, 3.3e-13, 3.3e-10, 3.3e-7,
                                   1e-3,  1.000001, 12345.678,     1e15,    1e30,    1.5e38};
    constant *e = calloc(1, sizeof *e);
    for (int kind = 0; kind < KINDS + FORMS; kind++) {
        double loss_of_all =
            kind < KINDS ? known[kind] : known[(kind - KINDS) % 2 ? DICE : JACCARD];
        for (size_t j = 0; j < 2 * sizeof sizes / sizeof *sizes; j++) {
            size_t classes = kind < KINDS && is_binary(kind) ? 1 : 2;
            double of_group[IMAGES], loss, sum = 0;
            submod_loss_settings s = submod_loss_defaults();
            const submod_pixel_weights weights = submod_pixel_weights_f32(e->w, IMAGES, PIXELS);
            submod_gradient g = submod_gradient_dense(e->g, classes, PIXELS);
            fill_constant(e, kind, (float)sizes[j / 2]);
            s.pixel_weights = &weights;
            s.per_image = (int)(j % 2);
            s.group_loss = of_group;
            ck_assert_ok(call_constant(e, kind, &loss, &g, &s));
            ck_assert_near(loss, loss_of_all, 1e-7);
            for (size_t i = 0; i < (s.per_image ? IMAGES : 1); i++) {
                ck_assert_near(of_group[i], loss_of_all, 1e-7);
                ck_assert_near(of_group[i], of_group[0], 1e-12);
            }
            for (size_t i = 0; kind == HINGE && i < ALL_PIXELS; i++) {
                sum += (double)e->g[i];
            }
            ck_assert_near(sum, kind == HINGE ? -1 : 0, 1e-6);
        }
    }
    free(e);
}
END_TEST

typedef struct outputs {
    double loss, of_group[B];
    float g[SIZE];
} outputs;

static void assert_refused(int kind, problem *p, int status, const char *words)
{
    outputs o, untouched;
    memset(&untouched, 7, sizeof untouched);
    o = untouched;
    p->settings.group_loss = o.of_group;
    submod_gradient to = submod_gradient_dense(o.g, p->scores.classes, N);
    assert_error(calls[kind](p, &o.loss, &to, NULL), status, words);
    ck_assert_mem_eq(&o, &untouched, sizeof o);
}

/* In units of the weights this smoothing is beyond a double. Found by a fuzzer. */
START_TEST(huge_smoothing_beside_tiny_weights)
{
    const float tiny = 1e-30F;
    const submod_pixel_weights weights = {&tiny, B, N, 0, 0};
    static soft_instance e;
    submod_rng rng;
    submod_rng_seed(&rng, 209);
    for (int form = 0; form < FORMS; form++) {
        float g[SIZE];
        double loss = 7;
        soft_problem p = fill_soft(&e, &rng, form % 2);
        p.settings.pixel_weights = &weights;
        p.settings.smoothing = 1e298;
        const submod_gradient to = submod_gradient_dense(g, p.scores.classes, N);
        ck_assert_ok(run_metric(form, &p, &loss, &to, NULL));
        ck_assert(loss >= 0 && loss < 1e-200);
        for (size_t i = 0; i < B * p.scores.classes * N; i++) {
            ck_assert(g[i] == 0);
        }
    }
    for (int kind = DICE; kind <= JACCARD; kind++) {
        float g[SIZE];
        problem p = some_problem(&e.of_scores, kind, &rng, 0);
        p.settings.pixel_weights = &weights;
        p.settings.smoothing = 1e298;
        ck_assert(evaluate(kind, &p, g) < 1e-200);
        for (size_t i = 0; i < B * p.scores.classes * N; i++) {
            ck_assert(g[i] == 0);
        }
    }
}
END_TEST

START_TEST(refused_with_words)
{
    float w[LABELS] = {0};
    submod_pixel_weights weights = submod_pixel_weights_f32(w, B, N);
    submod_rng rng;
    submod_rng_seed(&rng, 207);
    for (int kind = 0; kind < KINDS; kind++) {
        instance e;
        problem p = some_problem(&e, kind, &rng, 2);
        p.settings.pixel_weights = &weights;
        fill_weights(&rng, false, w);
        w[N + 3] = -2;
        assert_refused(kind, &p, SUBMOD_EINVAL, "pixel_weights[1][3] = -2 must be >= 0");
        w[N + 3] = NAN;
        assert_refused(kind, &p, SUBMOD_ENONFINITE, "pixel_weights[1][3] is nan");
        w[N + 3] = INFINITY;
        assert_refused(kind, &p, SUBMOD_ENONFINITE, "pixel_weights[1][3] is inf");
        weights.pixels = N + 1;
        assert_refused(kind, &p, SUBMOD_EINVAL, "pixel_weights are 3 x 38");
        weights.pixels = N;
        weights.data = NULL;
        assert_refused(kind, &p, SUBMOD_EINVAL, "pixel_weights.data is NULL");
        weights.data = w;
        w[N + 3] = 1e38F;
        p.settings.smoothing = 1e-3;
        if (kind >= DICE) {
            assert_refused(kind, &p, SUBMOD_ENUMERIC, "largest weight 1e+38 / smoothing 0.001");
        }
    }
}
END_TEST

START_TEST(out_of_memory)
{
    float w[LABELS] = {0};
    const submod_pixel_weights weights = submod_pixel_weights_f32(w, B, N);
    submod_rng rng;
    submod_rng_seed(&rng, 208);
    fill_weights(&rng, false, w);
    ck_assert_ok(submod_set_num_threads(1));
    for (int kind = 0; kind < KINDS; kind++) {
        instance e;
        problem p = some_problem(&e, kind, &rng, 2);
        bool done = false;
        p.settings.pixel_weights = &weights;
        ck_assert_ok(submod_set_allocator(&counting_allocator));
        for (long limit = 0; !done && limit < 200; limit++) {
            outputs o, untouched;
            memset(&untouched, 7, sizeof untouched);
            o = untouched;
            submod_gradient to = submod_gradient_dense(o.g, e.classes, N);
            p.settings.group_loss = o.of_group;
            allocations.left = limit;
            submod_status status = calls[kind](&p, &o.loss, &to, NULL);
            done = status == SUBMOD_OK;
            ck_assert(done || status == SUBMOD_ENOMEM);
            if (!done) {
                ck_assert_mem_eq(&o, &untouched, sizeof o);
            }
            ck_assert_int_eq(allocations.live, 0);
        }
        allocations.left = -1;
        ck_assert_ok(submod_set_allocator(NULL));
        ck_assert(done);
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("baseline_weights", weights_of_1_are_none, a_power_of_two_changes_nothing,
                     a_pixel_of_weight_0_is_ignored, whole_weights_are_copies,
                     threads_and_losses_of_groups, groups_without_pixels, huge_and_tiny_weights,
                     constant_scores_have_a_known_loss, huge_smoothing_beside_tiny_weights,
                     refused_with_words, out_of_memory);
}
