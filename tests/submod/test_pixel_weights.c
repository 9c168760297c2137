/* Pixel weights in the Lovász losses and datasets: both engines against the definition in doubles,
 * copies of pixels, and what must not change a bit. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "defined.h"
#include "depth.h"
#include "support.h"

/* ---- measures ---- */

static double hamming_cost(double a, double b, double P, double N, void *ctx)
{
    (void)ctx;
    return (a + b) / (P + N);
}

/* alpha = 2.5, beta = 1.75. */
static double tversky_cost(double a, double b, double P, double N, void *ctx)
{
    (void)N;
    (void)ctx;
    double all = P - a + 1.75 * a + 2.5 * b;
    return all > 0 ? 1 - (P - a) / all : 0;
}

/* Twice the weights are not twice the cost, nor the same: it must see them as they are given. */
static double log_cost(double a, double b, double P, double N, void *ctx)
{
    (void)P;
    (void)N;
    (void)ctx;
    return 0.25 * log1p(a + 3 * b);
}

typedef struct row {
    submod_measure_type type;
    cost *of;
} row;

static const row rows[] = {{SUBMOD_MEASURE_JACCARD, jaccard_cost},
                           {SUBMOD_MEASURE_HAMMING, hamming_cost},
                           {SUBMOD_MEASURE_TVERSKY, tversky_cost},
                           {SUBMOD_MEASURE_CUSTOM, log_cost}};
enum { ROWS = sizeof rows / sizeof *rows };

static submod_measure measure_of(const row *r)
{
    switch (r->type) {
    case SUBMOD_MEASURE_HAMMING: return submod_hamming();
    case SUBMOD_MEASURE_TVERSKY: return submod_tversky(2.5, 1.75);
    case SUBMOD_MEASURE_CUSTOM:
        return submod_measure_custom(&(submod_measure_ops){.value = r->of}, NULL);
    default: return submod_jaccard();
    }
}

/* ---- batches and weights ---- */

/* The hinge last: it has one class. */
static const kind kinds[] = {SOFTMAX, SIGMOID, PROBABILITY, SIGMOID_PROBABILITY, HINGE};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Probabilities where they are wanted; coarse: few values, many ties. Exact in float. */
static batch some_batch(submod_rng *rng, kind k, size_t B, size_t N, bool ignore, bool coarse)
{
    batch d = random_batch(rng, k, B, k == HINGE ? 1 : 3, N, ignore);
    bool probabilities = k == PROBABILITY || k == SIGMOID_PROBABILITY;
    for (size_t i = 0; i < d.B * d.C * d.N; i++) {
        double x = probabilities ? submod_rng_uniform(rng) : d.x[i];
        d.x[i] = (double)(float)(coarse ? floor(8 * x) / 8 : x);
    }
    return d;
}

/* One per pixel: between 0 and 2; 0, 1, 2 or 3; over eight orders of magnitude; over all of float;
 * over eight orders in each image, and any size of image. */
typedef enum { UNIFORM, WHOLE, SPREAD, ANY_SIZE, ANY_IMAGE, WAYS } way;

static float weight_of(way how, double u, double of_image)
{
    switch (how) {
    case UNIFORM: return (float)(2 * u);
    case WHOLE: return (float)floor(4 * u);
    case SPREAD: return (float)pow(10, 8 * u - 4);
    case ANY_SIZE: return (float)pow(10, 83 * u - 44.8);
    default: return (float)pow(10, 8 * u + 75 * of_image - 44.8);
    }
}

static float *some_weights(submod_rng *rng, way how, size_t images, size_t pixels)
{
    float *w = malloc((images * pixels + 1) * sizeof *w);
    double of_image = 0;
    for (size_t i = 0; i < images * pixels; i++) {
        of_image = how == ANY_IMAGE && i % pixels == 0 ? submod_rng_uniform(rng) : of_image;
        w[i] = weight_of(how, submod_rng_uniform(rng), of_image);
    }
    return w;
}

/* Loss and gradient, B x C x N numbers. */
typedef struct outcome {
    double loss;
    float *g;
} outcome;

static outcome run(const batch *d, kind k, const submod_loss_settings *s)
{
    outcome o = {.g = malloc((d->B * d->C * d->N + 1) * sizeof *o.g)};
    o.loss = call(d, k, o.g, s);
    return o;
}

/* To the last bit; gradients as numbers, so that -0 is 0. */
static void assert_same(const batch *d, outcome a, outcome b)
{
    ck_assert_msg(a.loss == b.loss, "%.17g is not %.17g", a.loss, b.loss);
    for (size_t i = 0; i < d->B * d->C * d->N; i++) {
        ck_assert_msg(a.g[i] == b.g[i], "%zu: %.9g is not %.9g", i, (double)a.g[i], (double)b.g[i]);
    }
    free(a.g);
    free(b.g);
}

static submod_loss_settings engine_settings(submod_engine engine, bool ignore)
{
    submod_loss_settings s = submod_loss_defaults();
    s.engine = engine;
    s.has_ignore = ignore;
    s.ignore_index = 9;
    return s;
}

/* ---- against the definition ---- */

static void assert_threads(const batch *d, kind k, const submod_loss_settings *s, double loss,
                           const float *g)
{
    size_t n = d->B * d->C * d->N;
    for (int count = 2; count <= 4; count++) {
        ck_assert_ok(submod_set_num_threads(count));
        outcome o = run(d, k, s);
        ck_assert(o.loss == loss && call(d, k, NULL, s) == loss);
        ck_assert_mem_eq(g, o.g, n * sizeof *g);
        free(o.g);
    }
}

/* Returns whether the pixel has a label that is not ignored. */
static bool has_label(const batch *d, size_t b, size_t i)
{
    bool some = false;
    for (size_t c = 0; c < (d->multilabel ? d->C : 1); c++) {
        some = some || d->y[(d->multilabel ? b * d->C + c : b) * d->N + i] != 9;
    }
    return some;
}

/* Returns the exponent of the smallest power of two that is at least x. */
static int log2_above(long double x)
{
    int e;
    return frexpl(x, &e) == 0.5L ? e - 1 : e;
}

/* The weights of a group of images, as loss.h has them: whole multiples of 2^-52 times the largest
 * weight times the number of pixels, both rounded up to powers of two. */
static void round_group(const batch *d, size_t first, size_t last, float *w)
{
    float largest = 0;
    for (size_t j = first * d->N; j < last * d->N; j++) {
        largest = has_label(d, j / d->N, j % d->N) ? fmaxf(largest, w[j]) : largest;
    }
    int step = log2_above((long double)largest) + log2_above((long double)((last - first) * d->N));
    for (size_t j = first * d->N; largest > 0 && j < last * d->N; j++) {
        w[j] = (float)ldexpl(rintl(ldexpl((long double)w[j], 52 - step)), step - 52);
    }
}

/* The caller frees. */
static float *rounded_weights(const batch *d, const submod_loss_settings *s)
{
    float *w = malloc((d->B * d->N + 1) * sizeof *w);
    memcpy(w, s->pixel_weights->data, d->B * d->N * sizeof *w);
    for (size_t b = 0, images = s->per_image ? 1 : d->B; b < d->B; b += images) {
        round_group(d, b, b + images, w);
    }
    return w;
}

static void check(const batch *d, kind k, const submod_loss_settings *given, const row *r,
                  double tolerance)
{
    size_t n = d->B * d->C * d->N, groups = given->per_image ? d->B : 1;
    double *wanted = malloc((n + 1) * sizeof *wanted), steepest;
    double *of_group = malloc(2 * groups * sizeof *of_group);
    submod_loss_settings s = *given;
    const costs F = {r->of, NULL};
    submod_measure measure = measure_of(r);
    size_t bins = s.engine == SUBMOD_ENGINE_HISTOGRAM ? s.bins : 0;
    float *w = rounded_weights(d, given);
    const submod_pixel_weights rounded = submod_pixel_weights_f32(w, d->B, d->N);
    s.pixel_weights = &rounded;
    double loss = by_definition(d, k, &s, &F, bins, wanted, &steepest, of_group + groups);
    s.pixel_weights = given->pixel_weights;
    s.measure = &measure;
    s.group_loss = of_group;
    ck_assert_ok(submod_set_num_threads(1));
    outcome o = run(d, k, &s);
    ck_assert_near(o.loss, loss, tolerance);
    for (size_t i = 0; i < groups; i++) {
        ck_assert_near(of_group[i], of_group[groups + i], tolerance * (double)groups);
    }
    assert_gradient(d, k, o.g, wanted, steepest);
    assert_threads(d, k, &s, o.loss, o.g);
    ck_assert_ok(submod_set_num_threads(0));
    free(wanted);
    free(of_group);
    free(o.g);
    free(w);
}

static void check_engines(const batch *d, kind k, submod_loss_settings *s, const row *r)
{
    bool activated = k == SOFTMAX || k == SIGMOID;
    s->engine = SUBMOD_ENGINE_EXACT;
    check(d, k, s, r, activated ? 1e-6 : 1e-11);
    s->engine = SUBMOD_ENGINE_HISTOGRAM;
    s->bins = 64;
    check(d, k, s, r, 1e-11);
}

/* What tiny weights add is lost in the differences of a custom measure. */
static way way_for(const row *r, int j)
{
    return (way)(j % (r->type == SUBMOD_MEASURE_CUSTOM ? SPREAD : WAYS));
}

START_TEST(losses_are_those_of_the_definition)
{
    submod_rng rng;
    submod_rng_seed(&rng, 281);
    for (int j = 0; j < ROWS * KINDS * WAYS * 4; j += each(11)) {
        kind k = kinds[j % KINDS];
        bool ignore = submod_rng_below(&rng, 2);
        bool coarse = k != SOFTMAX && k != SIGMOID && submod_rng_below(&rng, 2);
        size_t N = 1 + submod_rng_below(&rng, j % 4 ? 40 : 400);
        batch d = some_batch(&rng, k, 1 + submod_rng_below(&rng, 3), N, ignore, coarse);
        const row *r = &rows[j / KINDS / WAYS % ROWS];
        float *w = some_weights(&rng, way_for(r, j / KINDS), d.B, d.N);
        const submod_pixel_weights weights = submod_pixel_weights_f32(w, d.B, d.N);
        submod_loss_settings s = random_settings(&rng, ignore);
        s.pixel_weights = &weights;
        check_engines(&d, k, &s, r);
        free_batch(&d);
        free(w);
    }
}
END_TEST

/* Enough for several threads, for parts of a ranking, and, with few values, for ties that are
 * longer than a chunk of it. */
START_TEST(many_pixels)
{
    submod_rng rng;
    submod_rng_seed(&rng, 182);
    for (int j = 0; j < 3 * ROWS; j += each(5)) {
        kind k = kinds[2 + j % 3];
        batch d = some_batch(&rng, k, 2, 40000, j % 2, j % 4 < 2);
        float *w = some_weights(&rng, way_for(&rows[j % ROWS], j / 2), d.B, d.N);
        const submod_pixel_weights weights = submod_pixel_weights_f32(w, d.B, d.N);
        submod_loss_settings s = engine_settings(SUBMOD_ENGINE_EXACT, j % 2);
        s.per_image = j % 3 == 0;
        s.pixel_weights = &weights;
        check_engines(&d, k, &s, &rows[j % ROWS]);
        free_batch(&d);
        free(w);
    }
}
END_TEST

/* ---- copies of pixels ---- */

/* Each pixel as often as its weight says. One image. */
static batch copies_of(const batch *d, const float *w)
{
    batch many = *d;
    many.N = 0;
    for (size_t i = 0; i < d->N; i++) {
        many.N += (size_t)w[i];
    }
    size_t labels = d->multilabel ? d->C : 1;
    many.x = malloc((d->C * many.N + 1) * sizeof *many.x);
    many.y = malloc((labels * many.N + 1) * sizeof *many.y);
    for (size_t i = 0, at = 0; i < d->N; i++) {
        for (size_t end = at + (size_t)w[i]; at < end; at++) {
            for (size_t c = 0; c < d->C; c++) {
                many.x[c * many.N + at] = d->x[c * d->N + i];
            }
            for (size_t c = 0; c < labels; c++) {
                many.y[c * many.N + at] = d->y[c * d->N + i];
            }
        }
    }
    return many;
}

/* The gradient of a pixel is the sum of those of its copies. A softmax takes differences of what
 * its classes add, so the tolerance is relative to that. */
static void compare_with_copies(const batch *d, kind k, const float *w, const row *r,
                                submod_loss_settings *s)
{
    batch many = copies_of(d, w);
    outcome b = run(&many, k, s);
    const submod_pixel_weights weights = submod_pixel_weights_f32(w, 1, d->N);
    s->pixel_weights = &weights;
    outcome a = run(d, k, s);
    double *defined = malloc(d->C * d->N * sizeof *defined), steepest;
    by_definition(d, k, s, &(costs){r->of, NULL}, 0, defined, &steepest, NULL);
    ck_assert(s->engine == SUBMOD_ENGINE_EXACT || a.loss == b.loss);
    ck_assert_near(a.loss, b.loss, 1e-14 * fabs(b.loss));
    for (size_t i = 0, at = 0; i < d->N; at += (size_t)w[i++]) {
        for (size_t c = 0; c < d->C; c++) {
            double one = w[i] > 0 ? (double)b.g[c * many.N + at] : 0;
            ck_assert_near((double)a.g[c * d->N + i], (double)w[i] * one, 1e-6 * steepest);
        }
    }
    free(defined);
    free_batch(&many);
    free(a.g);
    free(b.g);
}

START_TEST(whole_weights_are_copies)
{
    submod_rng rng;
    submod_rng_seed(&rng, 183);
    for (int j = 0; j < 2 * KINDS * ROWS * 4; j += each(7)) {
        kind k = kinds[j / 2 % KINDS];
        bool ignore = submod_rng_below(&rng, 2);
        batch d = some_batch(&rng, k, 1, 1 + submod_rng_below(&rng, 500), ignore, j % 3 == 0);
        float *w = some_weights(&rng, WHOLE, 1, d.N);
        w[0] = 1; /* so that there is a pixel */
        submod_loss_settings s = random_settings(&rng, ignore);
        const row *r = &rows[j / 2 / KINDS % ROWS];
        submod_measure measure = measure_of(r);
        s.engine = (submod_engine)(j % 2);
        s.measure = &measure;
        compare_with_copies(&d, k, w, r, &s);
        free_batch(&d);
        free(w);
    }
}
END_TEST

/* ---- what changes no bit ---- */

/* a * w[i] for all pixels, and a second set of settings that has them. */
static void compare_weights(const batch *d, kind k, const submod_loss_settings *s,
                            const submod_pixel_weights *w, const submod_pixel_weights *v)
{
    submod_loss_settings first = *s, second = *s;
    first.pixel_weights = w;
    second.pixel_weights = v;
    assert_same(d, run(d, k, &first), run(d, k, &second));
}

START_TEST(weights_of_1_are_none)
{
    submod_rng rng;
    submod_rng_seed(&rng, 184);
    for (int j = 0; j < 2 * KINDS * ROWS * 2; j += each(7)) {
        kind k = kinds[j / 2 % KINDS];
        batch d = some_batch(&rng, k, 2, 1 + submod_rng_below(&rng, 3000), j % 3, j % 4 == 0);
        submod_loss_settings s = engine_settings((submod_engine)(j % 2), j % 3);
        submod_measure measure = measure_of(&rows[j / 2 / KINDS % ROWS]);
        s.measure = &measure;
        s.per_image = (int)submod_rng_below(&rng, 2);
        const float one = 1;
        const submod_pixel_weights ones = {&one, d.B, d.N, 0, 0};
        compare_weights(&d, k, &s, &ones, NULL);
        free_batch(&d);
    }
}
END_TEST

/* Ones and zeros against labels that are ignored; also labels of a class of weight 0. */
START_TEST(a_pixel_of_weight_0_is_ignored)
{
    submod_rng rng;
    submod_rng_seed(&rng, 185);
    for (int j = 0; j < 2 * KINDS * 4; j++) {
        kind k = kinds[j / 2 % KINDS];
        batch d = some_batch(&rng, k, 2, 1 + submod_rng_below(&rng, 2000), false, j % 4 == 0);
        float *w = some_weights(&rng, WHOLE, d.B, d.N);
        submod_loss_settings s = engine_settings((submod_engine)(j % 2), true);
        s.per_image = j % 3 == 0;
        for (size_t i = 0; i < d.B * d.N; i++) {
            w[i] = w[i] > 0 && (j % 3 || i >= d.N) ? 1.0F
                                                   : 0.0F; /* the first image may have no weight */
        }
        const submod_pixel_weights weights = submod_pixel_weights_f32(w, d.B, d.N);
        s.pixel_weights = &weights;
        outcome a = run(&d, k, &s);
        s.pixel_weights = NULL;
        for (size_t i = 0; i < d.B * d.N; i++) {
            for (size_t c = 0; w[i] == 0 && c < (d.multilabel ? d.C : 1); c++) {
                d.y[d.multilabel ? (i / d.N * d.C + c) * d.N + i % d.N : i] = 9;
            }
        }
        assert_same(&d, a, run(&d, k, &s));
        free_batch(&d);
        free(w);
    }
}
END_TEST

/* Built-in measures only look at ratios of weights. */
START_TEST(a_power_of_two_changes_nothing)
{
    static const double powers[] = {0x1p-100, 0x1p-1, 0x1p20, 0x1p100};
    submod_rng rng;
    submod_rng_seed(&rng, 186);
    for (int j = 0; j < 2 * KINDS * 3; j += each(7)) {
        kind k = kinds[j / 2 % KINDS];
        batch d = some_batch(&rng, k, 2, 1 + submod_rng_below(&rng, 2000), j % 3, j % 4 == 0);
        float *w = some_weights(&rng, j % 3 ? UNIFORM : SPREAD, d.B, d.N);
        float *v = some_weights(&rng, UNIFORM, d.B, d.N);
        submod_loss_settings s = engine_settings((submod_engine)(j % 2), j % 3);
        submod_measure measure = measure_of(&rows[j / 2 / KINDS % 3]);
        s.measure = &measure;
        const submod_pixel_weights first = submod_pixel_weights_f32(w, d.B, d.N);
        const submod_pixel_weights second = submod_pixel_weights_f32(v, d.B, d.N);
        for (int p = 0; p < 4; p++) {
            for (size_t i = 0; i < d.B * d.N; i++) {
                v[i] = (float)((double)w[i] * powers[p]);
            }
            compare_weights(&d, k, &s, &first, &second);
        }
        free_batch(&d);
        free(w);
        free(v);
    }
}
END_TEST

/* Every other float; those backwards; one image's weights for all. */
START_TEST(strides)
{
    enum { B = 3, N = 700, STEP = 2 * (N + 5) };
    static float dense[B * N], spread[B * STEP];
    submod_rng rng;
    submod_rng_seed(&rng, 187);
    for (int j = 0; j < 6 * KINDS; j++) {
        kind k = kinds[j / 6];
        bool backwards = j % 3 == 1, again = j % 3 == 2;
        batch d = some_batch(&rng, k, B, N, true, false);
        float *w = some_weights(&rng, UNIFORM, B, N);
        submod_loss_settings s = engine_settings((submod_engine)(j / 3 % 2), true);
        for (size_t i = 0; i < B * N; i++) {
            size_t at = backwards ? N - 1 - i % N : i % N;
            dense[i] = w[again ? i % N : i];
            spread[i / N * STEP + 2 * at] = dense[i];
        }
        const submod_pixel_weights plain = submod_pixel_weights_f32(dense, B, N);
        const submod_pixel_weights view = {backwards ? spread + 2 * (N - 1) : spread, B, N,
                                           again ? 0 : STEP, backwards ? -2 : 2};
        compare_weights(&d, k, &s, &plain, &view);
        free_batch(&d);
        free(w);
    }
}
END_TEST

/* ---- huge, tiny and none ---- */

/* Weights of 1e30 and more among pixels that do not count change nothing. */
START_TEST(weights_of_ignored_pixels_do_not_matter)
{
    submod_rng rng;
    submod_rng_seed(&rng, 188);
    for (int j = 0; j < 2 * KINDS; j++) {
        kind k = kinds[j / 2];
        batch d = some_batch(&rng, k, 2, 900, true, false);
        if (d.multilabel) { /* a pixel counts unless all of its labels are ignored */
            for (size_t i = 0; i < d.B * d.C * d.N; i++) {
                size_t first = i / d.N / d.C * d.C * d.N + i % d.N;
                d.y[i] = d.y[first] == 9 ? 9 : d.y[i] == 9 ? 0 : d.y[i];
            }
        }
        float *w = some_weights(&rng, UNIFORM, d.B, d.N);
        float *v = some_weights(&rng, UNIFORM, d.B, d.N);
        for (size_t i = 0; i < d.B * d.N; i++) {
            size_t at = d.multilabel ? i / d.N * d.C * d.N + i % d.N : i;
            v[i] = d.y[at] == 9 ? FLT_MAX : w[i];
        }
        submod_loss_settings s = engine_settings((submod_engine)(j % 2), true);
        const submod_pixel_weights first = submod_pixel_weights_f32(w, d.B, d.N);
        const submod_pixel_weights second = submod_pixel_weights_f32(v, d.B, d.N);
        compare_weights(&d, k, &s, &first, &second);
        free_batch(&d);
        free(w);
        free(v);
    }
}
END_TEST

/* All huge, all tiny, down to the smallest float: finite, and as without weights up to rounding.
 * Both among each other: the tiny ones have no part. */
START_TEST(huge_and_tiny_weights)
{
    static const float sizes[] = {1e30F, FLT_MAX, 1e-30F, FLT_MIN, FLT_TRUE_MIN};
    submod_rng rng;
    submod_rng_seed(&rng, 189);
    for (int j = 0; j < 2 * KINDS * ROWS; j += each(7)) {
        kind k = kinds[j / 2 % KINDS];
        const row *r = &rows[j / 2 / KINDS];
        batch d = some_batch(&rng, k, 2, 600, false, false);
        submod_loss_settings s = engine_settings((submod_engine)(j % 2), false);
        submod_measure measure = measure_of(r);
        size_t n = d.B * d.C * d.N;
        s.measure = &measure;
        outcome none = run(&d, k, &s);
        for (int i = 0; i < 5; i++) {
            const submod_pixel_weights weights = {&sizes[i], d.B, d.N, 0, 0};
            s.pixel_weights = &weights;
            outcome o = run(&d, k, &s);
            ck_assert(isfinite(o.loss));
            for (size_t at = 0; at < n; at++) {
                ck_assert(isfinite(o.g[at]));
                if (r->type != SUBMOD_MEASURE_CUSTOM) {
                    ck_assert_near((double)o.g[at], (double)none.g[at], 1e-6);
                }
            }
            if (r->type != SUBMOD_MEASURE_CUSTOM) {
                ck_assert_near(o.loss, none.loss, 1e-13);
            }
            free(o.g);
        }
        free(none.g);
        free_batch(&d);
    }
}
END_TEST

/* All errors are equal, so that the loss is that error, whatever the weights, and derivatives by
 * the errors sum up to 1; some weights are far below those of other images. A gradient whose scale
 * is the largest float stays finite, as no derivative exceeds 1. */
START_TEST(equal_errors_have_a_known_loss)
{
    enum { IMAGES = 4, PIXELS = 4096 };
    static const double sizes[] = {1e-45, 1e-38, 1.4 * 0x1p-51, 3.3e-10, 1e-3, 1e15, 1.5e38};
    float *x = calloc(IMAGES * PIXELS, sizeof *x), *g = calloc(IMAGES * PIXELS, sizeof *g);
    float *w = calloc(IMAGES * PIXELS, sizeof *w);
    uint8_t *y = calloc(IMAGES * PIXELS, sizeof *y);
    submod_scores scores = submod_scores_f32(x, IMAGES, 1, PIXELS);
    submod_labels labels = submod_labels_u8(y, IMAGES, PIXELS);
    const submod_pixel_weights weights = submod_pixel_weights_f32(w, IMAGES, PIXELS);
    submod_gradient gradient = submod_gradient_dense(g, 1, PIXELS);
    for (size_t j = 0; j < 8 * sizeof sizes / sizeof *sizes; j++) {
        double of_group[IMAGES], loss;
        submod_loss_settings s = engine_settings((submod_engine)(j % 2), false);
        bool single = j % 8 / 4; /* one heavy pixel in each other image */
        for (size_t i = 0; i < IMAGES * PIXELS; i++) {
            bool second = i / PIXELS == 1;
            w[i] = (float)(second ? (double)(1 + i % 2) * sizes[j / 8] : 1);
            w[i] = single && !second && i % PIXELS ? 0 : w[i];
            y[i] = i % 3 == 0;
        }
        s.pixel_weights = &weights;
        s.per_image = (int)(j / 2 % 2);
        s.group_loss = of_group;
        s.bins = 64;
        gradient.scale = (double)FLT_MAX;
        ck_assert_ok(submod_lovasz_hinge(&scores, &labels, &loss, &gradient, &s, NULL, NULL));
        /* The middle of the bin of an error of 1, among 64 below 2. */
        double error = s.engine == SUBMOD_ENGINE_EXACT ? 1 : 65. / 64;
        ck_assert_near(loss, error, 1e-12);
        for (size_t b = 0; b < (s.per_image ? IMAGES : 1); b++) {
            double sum = 0;
            ck_assert_near(of_group[b], error, 1e-12);
            for (size_t i = 0; i < (s.per_image ? 1 : IMAGES) * PIXELS; i++) {
                sum += fabs((double)g[b * PIXELS + i] / (double)FLT_MAX);
            }
            ck_assert_near(sum, s.per_image ? 1. / IMAGES : 1, 1e-6);
        }
    }
    free(x);
    free(y);
    free(w);
    free(g);
}
END_TEST

START_TEST(tiny_among_huge)
{
    submod_rng rng;
    submod_rng_seed(&rng, 190);
    for (int j = 0; j < 2 * KINDS; j++) {
        kind k = kinds[j / 2];
        batch d = some_batch(&rng, k, 2, 600, false, false);
        float *w = some_weights(&rng, WHOLE, d.B, d.N);
        float *v = some_weights(&rng, WHOLE, d.B, d.N);
        for (size_t i = 0; i < d.B * d.N; i++) {
            w[i] = w[i] > 0 ? 1e30F : 1e-30F;
            v[i] = w[i] > 1 ? 1e30F : 0;
        }
        submod_loss_settings s = engine_settings((submod_engine)(j % 2), false);
        const submod_pixel_weights first = submod_pixel_weights_f32(w, d.B, d.N);
        const submod_pixel_weights second = submod_pixel_weights_f32(v, d.B, d.N);
        compare_weights(&d, k, &s, &first, &second);
        free_batch(&d);
        free(w);
        free(v);
    }
}
END_TEST

/* One image without weight among others, and all without. */
START_TEST(groups_without_weight)
{
    submod_rng rng;
    submod_rng_seed(&rng, 191);
    for (int j = 0; j < 4 * KINDS; j++) {
        kind k = kinds[j / 4];
        batch d = some_batch(&rng, k, 3, 50, false, false);
        float *w = some_weights(&rng, UNIFORM, d.B, d.N);
        double of_group[3] = {7, 7, 7};
        submod_loss_settings s = engine_settings((submod_engine)(j % 2), false);
        s.classes = j % 8 < 4 ? SUBMOD_CLASSES_PRESENT : SUBMOD_CLASSES_ALL;
        s.per_image = 1;
        s.group_loss = of_group;
        memset(w + d.N, 0, (j % 4 < 2 ? 1 : 2) * d.N * sizeof *w);
        const submod_pixel_weights weights = submod_pixel_weights_f32(w, d.B, d.N);
        s.pixel_weights = &weights;
        outcome o = run(&d, k, &s);
        ck_assert(of_group[0] > 0 && of_group[1] == 0 && (of_group[2] > 0) == (j % 4 < 2));
        ck_assert_near(o.loss, (of_group[0] + of_group[2]) / 3, 1e-15);
        for (size_t i = d.C * d.N; i < 2 * d.C * d.N; i++) {
            ck_assert(o.g[i] == 0);
        }
        free(o.g);
        memset(w, 0, d.B * d.N * sizeof *w);
        o = run(&d, k, &s);
        ck_assert(o.loss == 0 && of_group[0] == 0 && of_group[2] == 0);
        for (size_t i = 0; i < d.B * d.C * d.N; i++) {
            ck_assert(o.g[i] == 0);
        }
        free(o.g);
        free_batch(&d);
        free(w);
    }
}
END_TEST

/* info counts pixels, not weights. */
START_TEST(info_counts_pixels)
{
    const float x[4] = {1, -2, 0.5F, 1}, w[4] = {0.5F, 0, 3, 7};
    const int64_t y[4] = {1, 0, 0, 9};
    submod_scores scores = submod_scores_f32(x, 1, 1, 4);
    submod_labels labels = submod_labels_i64(y, 1, 4);
    const submod_pixel_weights weights = submod_pixel_weights_f32(w, 1, 4);
    for (int engine = 0; engine < 2; engine++) {
        submod_loss_settings s = engine_settings((submod_engine)engine, true);
        submod_loss_info info;
        s.pixel_weights = &weights;
        ck_assert_ok(submod_lovasz_hinge(&scores, &labels, NULL, NULL, &s, &info, NULL));
        ck_assert_uint_eq(info.pixels, 2);
    }
}
END_TEST

/* ---- datasets ---- */

typedef struct views {
    float *x;
    submod_scores scores;
    submod_labels labels;
} views;

static views views_of(const batch *d)
{
    float *x = as_floats(d);
    return (views){x, submod_scores_f32(x, d->B, d->C, d->N), label_view(d)};
}

static submod_dataset *dataset_of(const views *v, const submod_loss_settings *s)
{
    submod_dataset *all = NULL;
    ck_assert_ok(submod_dataset_create(v->scores.classes, s->delta, &all));
    ck_assert_ok(submod_dataset_add(all, &v->scores, &v->labels, s, NULL));
    return all;
}

/* One batch: the loss of the histogram engine, and its gradient; the counts are the weights. Twice
 * the weights are twice the counts. */
START_TEST(datasets)
{
    submod_rng rng;
    submod_rng_seed(&rng, 192);
    for (int j = 0; j < 12; j++) {
        bool logits = j % 2;
        batch d = some_batch(&rng, logits ? SOFTMAX : PROBABILITY, 2, 3000, true, false);
        views v = views_of(&d);
        float *w = some_weights(&rng, (way)(j / 2 % ANY_SIZE), d.B, d.N);
        const submod_pixel_weights weights = submod_pixel_weights_f32(w, d.B, d.N);
        submod_measure measure = measure_of(&rows[j / 3]);
        submod_loss_settings s = engine_settings(SUBMOD_ENGINE_HISTOGRAM, true);
        s.from_logits = logits;
        s.delta = 1. / 128;
        s.pixel_weights = &weights;
        s.measure = &measure;
        outcome o = run(&d, logits ? SOFTMAX : PROBABILITY, &s);
        submod_dataset *all = dataset_of(&v, &s);
        double loss, sum = 0, total = 0;
        ck_assert_ok(submod_dataset_solve(all, &loss, NULL, &s));
        ck_assert_near(loss, o.loss, 1e-12 * (1 + loss));
        size_t classes, bins;
        const double *count = submod_dataset_counts(all, &classes, &bins);
        for (size_t i = 0; i < classes * 2 * bins; i++) {
            sum += count[i];
        }
        for (size_t i = 0; i < d.B * d.N; i++) {
            total += d.y[i] == 9 ? 0 : (double)w[i] * (double)d.C;
        }
        ck_assert_near(sum, total, 1e-9 * total);
        float *g = malloc(d.B * d.C * d.N * sizeof *g);
        submod_gradient to = submod_gradient_dense(g, d.C, d.N);
        ck_assert_ok(submod_dataset_gradient(all, &v.scores, &v.labels, &to, &s, NULL));
        for (size_t i = 0; i < d.B * d.C * d.N; i++) {
            double near = 1e-6 * fabs((double)o.g[i]) + 1e-9;
            ck_assert_near((double)g[i], (double)o.g[i], near);
        }
        submod_dataset_free(all);
        free(g);
        free(w);
        free(o.g);
        free(v.x);
        free_batch(&d);
    }
}
END_TEST

/* ---- refusals ---- */

typedef struct refusal {
    double loss, of_group[2];
    float g[8];
} refusal;

static const refusal untouched = {7, {7, 7}, {7, 7, 7, 7, 7, 7, 7, 7}};

static void assert_refused(const submod_pixel_weights *w, int status, const char *words)
{
    const float x[8] = {0.5F, 0.25F, 0.75F, 0, 0.5F, 0.75F, 0.25F, 1};
    const int64_t y[4] = {0, 1, 0, 1}, both[8] = {0, 1, 0, 1, 1, 0, 0, 1};
    for (int j = 0; j < 6; j++) {
        kind k = j / 2 == 0 ? SOFTMAX : j / 2 == 1 ? SIGMOID : HINGE;
        size_t C = k == HINGE ? 1 : 2;
        refusal o = untouched;
        submod_scores scores = submod_scores_f32(x, 2, C, 2);
        submod_labels labels = k == SIGMOID
                                   ? submod_labels_multilabel(both, SUBMOD_LABEL_I64, 2, C, 2)
                                   : submod_labels_i64(y, 2, 2);
        submod_gradient to = submod_gradient_dense(o.g, C, 2);
        submod_loss_settings s = engine_settings((submod_engine)(j % 2), false);
        s.per_image = 1;
        s.pixel_weights = w;
        s.group_loss = o.of_group;
        assert_error(call_views(k, &scores, &labels, &o.loss, &to, NULL, &s), status, words);
        ck_assert_mem_eq(&o, &untouched, sizeof o);
    }
}

START_TEST(refused_with_words)
{
    float w[4] = {1, 2, 3, 4};
    submod_pixel_weights good = submod_pixel_weights_f32(w, 2, 2), bad = good;
    bad.data = NULL;
    assert_refused(&bad, SUBMOD_EINVAL, "pixel_weights.data is NULL");
    bad = good;
    bad.pixels = 3;
    assert_refused(&bad, SUBMOD_EINVAL,
                   "pixel_weights are 2 x 3; they must be as the labels, 2 x 2");
    bad = good;
    bad.batch = 1;
    assert_refused(&bad, SUBMOD_EINVAL, "pixel_weights are 1 x 2");
    bad = good;
    bad.batch_stride = PTRDIFF_MAX / 2;
    assert_refused(&bad, SUBMOD_EINVAL, "the strides of pixel_weights reach beyond all memory");
    w[3] = -2;
    assert_refused(&good, SUBMOD_EINVAL, "pixel_weights[1][1] = -2 must be >= 0");
    w[3] = INFINITY;
    assert_refused(&good, SUBMOD_ENONFINITE, "pixel_weights[1][1] is inf; it must be finite");
    w[0] = NAN;
    assert_refused(&good, SUBMOD_ENONFINITE, "pixel_weights[0][0] is nan; it must be finite");
    w[0] = -FLT_TRUE_MIN;
    assert_refused(&good, SUBMOD_EINVAL, "pixel_weights[0][0] = -1.4013e-45 must be >= 0");
}
END_TEST

/* A pixel of weight 0 must have a label; an ignored one must have a weight; -0 is 0. */
START_TEST(pixels_without_part_are_checked)
{
    const float x[2] = {1, -1};
    float w[2] = {1, -0.0F};
    int64_t y[2] = {1, 5};
    submod_scores scores = submod_scores_f32(x, 1, 1, 2);
    submod_labels labels = submod_labels_i64(y, 1, 2);
    const submod_pixel_weights weights = submod_pixel_weights_f32(w, 1, 2);
    submod_loss_settings s = engine_settings(SUBMOD_ENGINE_EXACT, true);
    s.pixel_weights = &weights;
    double loss;
    assert_error(submod_lovasz_hinge(&scores, &labels, &loss, NULL, &s, NULL, NULL), SUBMOD_EINVAL,
                 "labels[0][1] = 5 is not in [0, 2)");
    y[1] = 9;
    ck_assert_ok(submod_lovasz_hinge(&scores, &labels, &loss, NULL, &s, NULL, NULL));
    w[1] = -1;
    assert_error(submod_lovasz_hinge(&scores, &labels, &loss, NULL, &s, NULL, NULL), SUBMOD_EINVAL,
                 "pixel_weights[0][1] = -1 must be >= 0");
}
END_TEST

/* Functions that cannot. */
START_TEST(unsupported)
{
    const float x[2] = {1, -1}, w[2] = {1, 1};
    const int64_t y[2] = {1, 0};
    submod_scores scores = submod_scores_f32(x, 1, 1, 2);
    submod_labels labels = submod_labels_i64(y, 1, 2);
    const submod_pixel_weights weights = submod_pixel_weights_f32(w, 1, 2);
    submod_loss_settings s = submod_loss_defaults();
    s.pixel_weights = &weights;
    submod_fn *hamming = NULL, *jaccard = NULL;
    ck_assert_ok(submod_fn_hamming(2, &hamming));
    ck_assert_ok(submod_fn_jaccard(2, (uint8_t[]){1, 0}, &jaccard));
    double loss = 7;
    float g[2] = {7, 7};
    submod_gradient to = submod_gradient_dense(g, 1, 2);
    assert_error(submod_lovasz_hinge_function(hamming, &scores, &labels, &loss, &to, &s, NULL),
                 SUBMOD_EUNSUPPORTED, "pixel_weights must be NULL");
    assert_error(submod_lovasz_hinge_function(jaccard, &scores, &labels, &loss, &to, &s, NULL),
                 SUBMOD_EUNSUPPORTED, "pixel_weights must be NULL");
    assert_error(submod_prox_hinge_layer(&scores, &labels, 1, &to, NULL, &s, NULL, NULL, NULL),
                 SUBMOD_EUNSUPPORTED, "pixel_weights must be NULL");
    ck_assert(loss == 7 && g[0] == 7 && g[1] == 7);
    submod_fn_free(hamming);
    submod_fn_free(jaccard);
}
END_TEST

/* Whatever allocation fails, the outputs stay. */
START_TEST(out_of_memory)
{
    submod_rng rng;
    submod_rng_seed(&rng, 193);
    ck_assert_ok(submod_set_num_threads(1));
    for (int j = 0; j < 2 * KINDS; j++) {
        kind k = kinds[j / 2];
        batch d = some_batch(&rng, k, 1, 2, false, false);
        float w[2] = {1, 0.25F};
        const submod_pixel_weights weights = submod_pixel_weights_f32(w, 1, 2);
        views v = views_of(&d);
        submod_loss_settings s = engine_settings((submod_engine)(j % 2), false);
        s.pixel_weights = &weights;
        bool done = false;
        ck_assert_ok(submod_set_allocator(&counting_allocator));
        for (long limit = 0; !done && limit < 200; limit++) {
            refusal o = untouched;
            submod_gradient to = submod_gradient_dense(o.g, d.C, d.N);
            allocations.left = limit;
            submod_status status = call_views(k, &v.scores, &v.labels, &o.loss, &to, NULL, &s);
            done = status == SUBMOD_OK;
            ck_assert(done || status == SUBMOD_ENOMEM);
            if (!done) {
                ck_assert_mem_eq(&o, &untouched, sizeof o);
            }
            ck_assert_int_eq(allocations.live, 0);
        }
        allocations.left = -1;
        ck_assert(done);
        ck_assert_ok(submod_set_allocator(NULL));
        free(v.x);
        free_batch(&d);
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS(
        "pixel_weights", losses_are_those_of_the_definition, many_pixels, whole_weights_are_copies,
        weights_of_1_are_none, a_pixel_of_weight_0_is_ignored, a_power_of_two_changes_nothing,
        strides, weights_of_ignored_pixels_do_not_matter, huge_and_tiny_weights,
        equal_errors_have_a_known_loss, tiny_among_huge, groups_without_weight, info_counts_pixels,
        datasets, refused_with_words, pixels_without_part_are_checked, unsupported, out_of_memory);
}
