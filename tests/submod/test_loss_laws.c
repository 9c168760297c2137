/* Laws of the Lovász losses, and what must not matter: order, layout, types, threads, size. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "losses.h"
#include "support.h"

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

/* Wherever a pixel lies, in the middle of a vector, at the end of a row or in another tile: equal
 * pixels get equal gradients, to the bit. */
START_TEST(position_does_not_matter)
{
    enum { C = 7, N = 512 * 3 + 37 };
    submod_rng rng;
    submod_rng_seed(&rng, 18);
    float *x = malloc(C * N * sizeof *x), *g = malloc(C * N * sizeof *g);
    uint8_t y[N];
    memset(y, 2, sizeof y);
    submod_scores scores = submod_scores_f32(x, 1, C, N);
    submod_labels labels = submod_labels_u8(y, 1, N);
    submod_gradient to = submod_gradient_dense(g, C, N);
    for (int repeat = 0; repeat < 40; repeat++) {
        submod_loss_settings s = submod_loss_defaults();
        double loss;
        s.engine = (submod_engine)(repeat & 1);
        s.classes = SUBMOD_CLASSES_ALL;
        for (size_t c = 0; c < C; c++) {
            float score = (float)(3 * submod_rng_normal(&rng));
            for (size_t i = 0; i < N; i++) {
                x[c * N + i] = score;
            }
        }
        ck_assert_ok(submod_lovasz_softmax(&scores, &labels, &loss, &to, &s, NULL, NULL));
        for (size_t c = 0; c < C; c++) {
            for (size_t i = 1; i < N; i++) {
                ck_assert(g[c * N + i] == g[c * N]);
            }
        }
    }
    free(x);
    free(g);
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
        s.ignore_index = 9;
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

/* Images of several tiles: those after the first have to find their pixels too. */
START_TEST(layouts_and_types)
{
    enum { B = 2, C = 3, N = 1300 };
    submod_rng rng;
    submod_rng_seed(&rng, 10);
    batch d = random_batch(&rng, SOFTMAX, B, C, N, false);
    float first[B * C * N], last[B * C * N], gradient_last[B * C * N], g[B * C * N];
    uint16_t bf16[B * C * N], f16[B * C * N], bf16_last[B * C * N], f16_last[B * C * N];
    uint8_t y8[B * N];
    int32_t y32[B * N];
    for (int i = 0; i < B * C * N; i++) {
        int k = (int)submod_rng_below(&rng, 129) - 64; /* multiples of 1/32: exact in all types */
        d.x[i] = k / 32.;
        bf16[i] = bf16_of((float)d.x[i]);
        f16[i] = f16_of((float)d.x[i]);
        int b = i / (C * N), c = i / N % C, p = i % N;
        first[i] = (float)d.x[i];
        int at = (b * N + p) * C + c;
        last[at] = (float)d.x[i];
        bf16_last[at] = bf16[i];
        f16_last[at] = f16[i];
    }
    for (int i = 0; i < B * N; i++) {
        y8[i] = (uint8_t)d.y[i];
        y32[i] = (int32_t)d.y[i];
    }
    submod_loss_settings s = submod_loss_defaults();
    double expected = call(&d, SOFTMAX, g, &s), loss;
    submod_scores scores = submod_scores_f32(first, B, C, N);
    submod_scores channels_last = submod_scores_channels_last(last, SUBMOD_SCORE_F32, B, C, N);
    submod_labels views[3] = {submod_labels_u8(y8, B, N), submod_labels_i32(y32, B, N),
                              submod_labels_i64(d.y, B, N)};
    for (int t = 0; t < 3; t++) {
        ck_assert_ok(submod_lovasz_softmax(&scores, &views[t], &loss, NULL, &s, NULL, NULL));
        ck_assert(loss == expected);
    }
    submod_gradient to_last = submod_gradient_channels_last(gradient_last, C, N);
    ck_assert_ok(submod_lovasz_softmax(&channels_last, &views[0], &loss, &to_last, &s, NULL, NULL));
    ck_assert(loss == expected);
    for (int i = 0; i < B * C * N; i++) {
        ck_assert(gradient_last[(i / (C * N) * N + i % N) * C + i / N % C] == g[i]);
    }
    const submod_scores halves[4] = {
        submod_scores_dense(bf16, SUBMOD_SCORE_BF16, B, C, N),
        submod_scores_dense(f16, SUBMOD_SCORE_F16, B, C, N),
        submod_scores_channels_last(bf16_last, SUBMOD_SCORE_BF16, B, C, N),
        submod_scores_channels_last(f16_last, SUBMOD_SCORE_F16, B, C, N),
    };
    for (int t = 0; t < 4; t++) {
        ck_assert_ok(submod_lovasz_softmax(&halves[t], &views[0], &loss, NULL, &s, NULL, NULL));
        ck_assert(loss == expected);
    }
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
        ck_assert_ok(submod_lovasz_softmax(&scores, &labels, NULL, &add, &s, NULL, NULL));
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
    ck_assert_ptr_nonnull(strstr(submod_last_error(), "labels.class_stride must not be 0"));
    ck_assert_int_eq(call_views(SOFTMAX, &scores, &per_class, &loss, NULL, NULL, &s),
                     SUBMOD_EINVAL);
    ck_assert_ptr_nonnull(strstr(submod_last_error(), "labels.class_stride = "));
    ck_assert(loss == 7);
    free(x);
    free_batch(&d);
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
        s.ignore_index = 9;
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

int main(void)
{
    return RUN_TESTS("loss_laws", equals_jaccard_at_hard_predictions, permutations,
                     position_does_not_matter, per_image_is_the_mean_of_images, layouts_and_types,
                     gradients_accumulate, labels_per_class, threads_do_not_matter,
                     inside_a_parallel_region);
}
