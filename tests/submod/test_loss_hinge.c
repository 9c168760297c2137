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
    const submod_fn_ops ops = {.struct_size = sizeof ops, .eval = share_of};
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
                     hinge_of_a_function, large_hinge_against_the_core, finest_bins);
}
