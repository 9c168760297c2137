/* The baselines with all views and types, accumulated gradients, many threads, large inputs. */
#include <submod/baseline.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"
#include "baselines.h"
#include "support.h"

/* ---- views and types ---- */

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
    s.ignore_index = IGNORED;
    submod_gradient g = submod_gradient_dense(b, C, N), mixed = submod_gradient_dense(both, C, N);
    ck_assert_ok(submod_lovasz_softmax(&p.scores, &p.labels, NULL, &g, &s, NULL, NULL));
    ck_assert_ok(calls[CROSS_ENTROPY](&p, NULL, &mixed, NULL));
    mixed.accumulate = 1;
    ck_assert_ok(submod_lovasz_softmax(&p.scores, &p.labels, NULL, &mixed, &s, NULL, NULL));
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
        problem p = problem_with(submod_scores_f32(x, IMAGES, classes, PIXELS),
                                 submod_labels_u8(y, IMAGES, PIXELS));
        p.settings.per_image = round % 2;
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
    /* Overlaps keep 12 bytes per pixel; nothing else grows with the pixels. */
    ck_assert_uint_lt(work->capacity, (1 << 20) + 12 * (size_t)IMAGES * PIXELS);
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
    problem p = problem_with(submod_scores_f32(x, 1, 1, PIXELS), submod_labels_u8(y, 1, PIXELS));
    double loss;
    ck_assert_ok(calls[HINGE](&p, &loss, NULL, NULL));
    ck_assert(loss == 0.875);
    p.scores.classes = 2;
    ck_assert_ok(calls[CROSS_ENTROPY](&p, &loss, NULL, NULL));
    ck_assert_near(loss, (log1p(exp(-0.25)) + log1p(exp(0.5))) / 2, 1e-7);
    free(x);
    free(y);
}
END_TEST

int main(void)
{
    return RUN_TESTS("baseline_views", strides, types, scale_and_accumulate,
                     mixed_with_lovasz_softmax, threads_and_workspace_do_not_matter, large_sums);
}
