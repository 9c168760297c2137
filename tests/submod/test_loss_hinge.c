/* The Lovász hinge and the hinge of any set function: where both agree, and where they are the
 * plain hinge loss. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "losses.h"
#include "support.h"

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

static submod_status share_of(const void *ctx, const int32_t *set, size_t k, double *value)
{
    (void)set;
    *value = (double)k / *(const double *)ctx;
    return SUBMOD_OK;
}

/* The direct way of Hamming and the way of any other function: the same, ignored pixels included.
 */
START_TEST(hinge_of_hamming)
{
    enum { N = 700 };
    double size = N;
    const submod_fn_ops ops = {.eval = share_of};
    submod_fn *hamming = NULL, *custom = NULL;
    submod_rng rng;
    submod_rng_seed(&rng, 19);
    ck_assert_ok(submod_fn_hamming(N, &hamming));
    ck_assert_ok(submod_fn_custom(N, &ops, &size, &custom));
    for (int repeat = 0; repeat < 6; repeat++) {
        batch d = random_batch(&rng, HINGE, 3, 1, N, repeat % 2);
        float *x = as_floats(&d), g[3 * N], h[3 * N];
        submod_loss_settings s = random_settings(&rng, repeat % 2);
        submod_scores scores = submod_scores_f32(x, 3, 1, N);
        submod_labels labels = label_view(&d);
        submod_gradient to_g = submod_gradient_dense(g, 1, N),
                        to_h = submod_gradient_dense(h, 1, N);
        double loss, other;
        ck_assert_ok(
            submod_lovasz_hinge_function(hamming, &scores, &labels, &loss, &to_g, &s, NULL));
        ck_assert_ok(
            submod_lovasz_hinge_function(custom, &scores, &labels, &other, &to_h, &s, NULL));
        ck_assert_near(loss, other, 1e-12);
        for (int i = 0; i < 3 * N; i++) {
            ck_assert_near((double)g[i], (double)h[i], 1e-9);
        }
        free(x);
        free_batch(&d);
    }
    submod_fn_free(hamming);
    submod_fn_free(custom);
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
        s.ignore_index = 9;
        ck_assert_ok(submod_fn_jaccard(N, mask, &jaccard));
        ck_assert_ok(submod_lovasz_hinge(&scores, &labels, &loss, &to_g, &s, NULL, NULL));
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

/* What need not be ranked is not: pixels without a margin, and background that is not above the
 * smallest margin of the foreground. Margins of the foreground 2, 1/2 and, the second time, 0; of
 * the background 3, 1, 1/2, 1/4, 0. */
START_TEST(prunings_by_hand)
{
    const float scores[8] = {-1, 0.5F, 2, 0, -0.5F, -0.75F, -2, 5};
    const uint8_t labels[8] = {1, 1, 0, 0, 0, 0, 0, 1};
    const double expected[2][8] = {{-1. / 3, -1. / 4, 1. / 3, 1. / 12, 0, 0, 0, 0},
                                   {-1. / 4, -1. / 5, 1. / 4, 1. / 10, 1. / 30, 1. / 42, 0, 0}};
    const uint64_t sorted[2] = {4, 6};
    for (size_t extra = 0; extra < 2; extra++) {
        size_t n = 7 + extra;
        float g[8];
        double loss, sum = 0;
        submod_scores x = submod_scores_f32(scores, 1, 1, n);
        submod_labels y = submod_labels_u8(labels, 1, n);
        submod_gradient gradient = submod_gradient_dense(g, 1, n);
        submod_loss_info info;
        ck_assert_ok(submod_lovasz_hinge(&x, &y, &loss, &gradient, NULL, &info, NULL));
        ck_assert_uint_eq(info.sorted, sorted[extra]);
        for (size_t i = 0; i < n; i++) {
            double margin = labels[i] ? 1 - (double)scores[i] : 1 + (double)scores[i];
            ck_assert_near((double)g[i], expected[extra][i], 1e-7);
            sum += fabs(expected[extra][i]) * fmax(margin, 0);
        }
        ck_assert_near(loss, sum, 1e-7);
    }
}
END_TEST

/* The smallest delta asks for 2^21 bins of each kind. */
/* ---- infinite scores ---- */

enum { MARGINS = 3000, WAYS_TO_LOSSES = 5 };

/* The hinge losses: both engines, the plain hinge, and the hinge of two functions. */
static submod_status hinge_by(int how, const submod_fn *fn, const float *x, const batch *d,
                              submod_loss_settings s, double *loss, float *g)
{
    submod_scores scores = submod_scores_f32(x, d->B, 1, d->N);
    submod_labels labels = label_view(d);
    submod_gradient to = submod_gradient_dense(g, 1, d->N);
    s.engine = how == 1 ? SUBMOD_ENGINE_HISTOGRAM : SUBMOD_ENGINE_EXACT;
    if (how < 2) {
        return submod_lovasz_hinge(&scores, &labels, loss, &to, &s, NULL, NULL);
    }
    if (how == 2) {
        return submod_hinge(&scores, &labels, loss, &to, &s, NULL);
    }
    s.pixel_weights = NULL;
    return submod_lovasz_hinge_function(fn, &scores, &labels, loss, &to, &s, NULL);
}

/* A third of the right pixels and of the ignored ones get an infinite score, and in *finite one of
 * the same sign that is beyond the margin. */
static void make_infinite(submod_rng *rng, const batch *d, float *x, float *finite)
{
    for (size_t i = 0; i < d->B * d->N; i++) {
        float side = d->y[i] == 1 ? 1 : -1;
        if (submod_rng_below(rng, 3) == 0 && (d->y[i] == 9 || side * x[i] > 0)) {
            side = d->y[i] == 9 && submod_rng_below(rng, 2) ? -side : side;
            x[i] = side * INFINITY;
            finite[i] = side * 5;
        }
    }
}

/* An infinite score of the right sign counts as one beyond the margin, with error max(0, 1 - y f) =
 * 0 and no derivative. Nothing depends on ignored scores. */
START_TEST(infinite_scores_of_the_right_sign)
{
    submod_rng rng;
    submod_rng_seed(&rng, 21);
    submod_fn *fn[2] = {NULL, NULL};
    ck_assert_ok(submod_fn_hamming(MARGINS, &fn[0]));
    ck_assert_ok(
        submod_fn_concave(MARGINS, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn[1]));
    for (int j = 0; j < 8 * WAYS_TO_LOSSES; j++) {
        int how = j % WAYS_TO_LOSSES;
        batch d = random_batch(&rng, HINGE, 2, 1, MARGINS, true);
        float *x = as_floats(&d), *finite = as_floats(&d), *w = as_floats(&d);
        float *g = malloc(d.B * d.N * sizeof *g), *h = malloc(d.B * d.N * sizeof *h);
        submod_loss_settings s = submod_loss_defaults();
        const submod_pixel_weights weights = submod_pixel_weights_f32(w, d.B, d.N);
        double loss, wanted;
        make_infinite(&rng, &d, x, finite);
        for (size_t i = 0; i < d.B * d.N; i++) {
            w[i] = fabsf(w[i]);
        }
        s.has_ignore = 1;
        s.ignore_index = 9;
        s.per_image = j % 2;
        s.pixel_weights = j % 4 < 2 ? NULL : &weights;
        ck_assert_ok(hinge_by(how, fn[how == 4], finite, &d, s, &wanted, h));
        for (int threads = 1; threads <= 3; threads += 2) {
            ck_assert_ok(submod_set_num_threads(threads));
            ck_assert_ok(hinge_by(how, fn[how == 4], x, &d, s, &loss, g));
            ck_assert(loss == wanted && isfinite(loss));
            ck_assert_mem_eq(g, h, d.B * d.N * sizeof *g);
        }
        ck_assert_ok(submod_set_num_threads(0));
        for (size_t i = 0; i < d.B * d.N; i++) {
            ck_assert(isfinite(x[i]) || g[i] == 0);
            d.x[i] = (double)x[i];
        }
        if (how == 0 && !s.pixel_weights) {                       /* relu(1 - y f), sorted */
            ck_assert_near(loss, reference(&d, HINGE, &s), 1e-8); /* floats */
        }
        free(x);
        free(finite);
        free(w);
        free(g);
        free(h);
        free_batch(&d);
    }
    submod_fn_free(fn[0]);
    submod_fn_free(fn[1]);
}
END_TEST

/* Infinite scores of the wrong sign would make the loss infinite. NaN is refused everywhere, also
 * at ignored pixels. */
START_TEST(scores_that_make_no_loss)
{
    submod_rng rng;
    submod_rng_seed(&rng, 22);
    submod_fn *fn[2] = {NULL, NULL};
    ck_assert_ok(submod_fn_hamming(MARGINS, &fn[0]));
    ck_assert_ok(
        submod_fn_concave(MARGINS, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn[1]));
    for (int j = 0; j < 6 * WAYS_TO_LOSSES; j++) {
        static const int64_t label[] = {0, 1, 9};
        static const char *const words[] = {"scores[1][0][2500] is inf at label 0",
                                            "scores[1][0][2500] is -inf at label 1",
                                            "scores[1][0][2500] is nan"};
        int how = j % WAYS_TO_LOSSES, what = j / WAYS_TO_LOSSES % 3;
        batch d = random_batch(&rng, HINGE, 2, 1, MARGINS, true);
        float *x = as_floats(&d), *finite = as_floats(&d);
        float *g = calloc(d.B * d.N, sizeof *g);
        submod_loss_settings s = submod_loss_defaults();
        double loss = 7;
        make_infinite(&rng, &d, x, finite);
        d.y[MARGINS + 2500] = label[what];
        x[MARGINS + 2500] = what == 0 ? INFINITY : what == 1 ? -INFINITY : NAN;
        s.has_ignore = 1;
        s.ignore_index = 9;
        s.per_image = j / WAYS_TO_LOSSES < 3;
        assert_error(hinge_by(how, fn[how == 4], x, &d, s, &loss, g), SUBMOD_ENONFINITE,
                     words[what]);
        ck_assert(loss == 7);
        for (size_t i = 0; i < d.B * d.N; i++) {
            ck_assert(g[i] == 0);
        }
        free(x);
        free(finite);
        free(g);
        free_batch(&d);
    }
    submod_fn_free(fn[0]);
    submod_fn_free(fn[1]);
}
END_TEST

START_TEST(finest_bins)
{
    enum { N = 5000 };
    static float x[N];
    static uint8_t y[N];
    submod_rng rng;
    submod_rng_seed(&rng, 77);
    for (size_t i = 0; i < N; i++) {
        x[i] = (float)(4 * submod_rng_uniform(&rng) - 2);
        y[i] = submod_rng_below(&rng, 3) == 0;
    }
    submod_scores scores = submod_scores_f32(x, 1, 1, N);
    submod_labels labels = submod_labels_u8(y, 1, N);
    submod_loss_settings s = submod_loss_defaults();
    submod_loss_info info;
    double exact, loss;
    static float wanted[N], g[N];
    submod_gradient first = submod_gradient_dense(wanted, 1, N);
    submod_gradient second = submod_gradient_dense(g, 1, N);
    ck_assert_ok(submod_lovasz_hinge(&scores, &labels, &exact, &first, &s, NULL, NULL));
    s.engine = SUBMOD_ENGINE_HISTOGRAM;
    s.delta = 0x1p-21;
    ck_assert_ok(submod_lovasz_hinge(&scores, &labels, &loss, &second, &s, &info, NULL));
    ck_assert_uint_eq(info.bins, (size_t)1 << 21);
    ck_assert_near(loss, exact, info.delta + 1e-12);
    for (size_t i = 0; i < N; i++) { /* few errors share a bin, and those weigh nearly the same */
        ck_assert_near((double)g[i], (double)wanted[i], 1e-2 * fabs((double)wanted[i]));
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("loss_hinge", prunings_by_hand, hinge_reductions, hinge_of_hamming,
                     hinge_of_a_function, large_hinge_against_the_core, finest_bins,
                     infinite_scores_of_the_right_sign, scores_that_make_no_loss);
}
