/* The metric losses of soft labels: special cases, refusals, views, weights, threads, memory. */
#include <submod/baseline.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "soft_labels.h"
#include "support.h"

/* ---- special cases ---- */

static void assert_value(int form, const soft_problem *p, double wanted)
{
    float g[SIZE];
    double loss = -1;
    submod_gradient to = submod_gradient_dense(g, p->scores.classes, p->scores.pixels);
    ck_assert_ok(run_metric(form, p, &loss, &to, NULL));
    ck_assert_near(loss, wanted, 1e-7);
    for (size_t k = 0; k < p->scores.batch * p->scores.classes * p->scores.pixels; k++) {
        ck_assert(isfinite(g[k]));
        ck_assert(p->settings.smoothing > 0 || g[k] == 0);
    }
}

START_TEST(special_values)
{
    const float half[4] = {0.5F, 0.5F, 0.5F, 0.5F}, none[4] = {0}, zero = 0;
    const float tiny[4] = {1e-40F, 1e-40F, 0, 1e-40F};
    const submod_pixel_weights weightless = {&zero, 1, 2, 0, 0};
    for (int form = 0; form < FORMS; form++) {
        soft_problem p = {submod_scores_f32(half, 1, 2, 2), submod_scores_f32(none, 1, 2, 2),
                          submod_loss_defaults()};
        p.settings.from_logits = 0;
        assert_value(form, &p, 0); /* no class is present */
        p.settings.classes = SUBMOD_CLASSES_ALL;
        assert_value(form, &p, 1);
        p.settings.smoothing = 1;
        assert_value(form, &p, 1 - 1 / (1 + 1.0));
        p.settings.smoothing = 0;
        p.scores.data = none; /* 0/0 */
        assert_value(form, &p, 0);
        p.scores.data = p.soft.data = tiny; /* next to it */
        assert_value(form, &p, 0);
        p.scores.data = half;
        p.soft.data = half;
        p.settings.pixel_weights = &weightless;
        assert_value(form, &p, 0);
        p.settings.pixel_weights = NULL;
        p.scores.batch = p.soft.batch = 0;
        p.scores.data = p.soft.data = NULL;
        double loss = -1;
        ck_assert_ok(run_metric(form, &p, &loss, NULL, NULL));
        ck_assert(loss == 0);
        p.scores.batch = p.soft.batch = 3;
        p.scores.pixels = p.soft.pixels = 0;
        double group[3] = {7, 7, 7};
        p.settings.per_image = 1;
        p.settings.group_loss = group;
        ck_assert_ok(run_metric(form, &p, &loss, NULL, NULL));
        ck_assert(loss == 0 && group[0] == 0 && group[2] == 0);
    }
}
END_TEST

/* NULL settings are the defaults; what is ignored elsewhere is not looked at. */
START_TEST(settings_that_are_not_looked_at)
{
    submod_rng rng;
    submod_rng_seed(&rng, 304);
    soft_instance e;
    soft_problem p = fill_soft(&e, &rng, false);
    for (int form = 0; form < FORMS; form++) {
        double loss = -1, again = -2;
        ck_assert_ok(
            metric_of(form)(&p.scores, &p.soft, overlap_of(form), &loss, NULL, NULL, NULL));
        soft_problem q = p;
        q.settings.has_ignore = 1;
        q.settings.ignore_index = 0;
        q.settings.delta = -1;
        q.settings.bins = 3;
        ck_assert_ok(run_metric(form, &q, &again, NULL, NULL));
        ck_assert(loss == again && loss > 0);
    }
}
END_TEST

/* The mean of the losses of the groups is the loss, and each is that of its image alone. */
START_TEST(losses_of_groups)
{
    submod_rng rng;
    submod_rng_seed(&rng, 305);
    for (int form = 0; form < FORMS; form++) {
        soft_instance e;
        soft_problem p = fill_soft(&e, &rng, false);
        double group[B], loss, sum = 0;
        p.settings.per_image = 1;
        p.settings.group_loss = group;
        ck_assert_ok(run_metric(form, &p, &loss, NULL, NULL));
        for (size_t b = 0; b < B; b++) {
            soft_problem one = p;
            double own;
            one.scores = submod_scores_f32(e.of_scores.x + b * C * N, 1, C, N);
            one.soft = submod_scores_f32(e.y + b * C * N, 1, C, N);
            one.settings.group_loss = NULL;
            ck_assert_ok(run_metric(form, &one, &own, NULL, NULL));
            ck_assert_near(group[b], own, 1e-15);
            sum += group[b];
        }
        ck_assert_near(sum / B, loss, 1e-15);
    }
}
END_TEST

/* ---- refusals ---- */

static void assert_refused(const soft_problem *p, submod_status wanted, const char *words)
{
    for (int form = 0; form < FORMS; form++) {
        float g[SIZE], untouched[SIZE];
        double loss = 42;
        memset(g, 7, sizeof g);
        memset(untouched, 7, sizeof untouched);
        submod_gradient to = submod_gradient_dense(g, C, N);
        assert_error(run_metric(form, p, &loss, &to, NULL), wanted, words);
        ck_assert(loss == 42);
        ck_assert_mem_eq(g, untouched, sizeof g);
    }
}

START_TEST(refused_labels)
{
    submod_rng rng;
    submod_rng_seed(&rng, 306);
    soft_instance e;
    soft_problem p = fill_soft(&e, &rng, false);
    const float zero = 0;
    const submod_pixel_weights weightless = {&zero, B, N, 0, 0};
    float *y = &e.y[(1 * C + 2) * N + 36], given = *y;
    *y = NAN;
    assert_refused(&p, SUBMOD_ENONFINITE, "soft_labels[1][2][36] is nan");
    p.settings.pixel_weights = &weightless;
    assert_refused(&p, SUBMOD_ENONFINITE, "soft_labels[1][2][36] is nan");
    p.settings.pixel_weights = NULL;
    *y = -INFINITY;
    assert_refused(&p, SUBMOD_ENONFINITE, "soft_labels[1][2][36] is -inf");
    *y = -0.25F;
    assert_refused(&p, SUBMOD_EINVAL, "soft_labels[1][2][36] = -0.25 is no probability");
    *y = 255;
    assert_refused(&p, SUBMOD_EINVAL, "soft_labels[1][2][36] = 255 is no probability");
    double loss, clamped;
    for (int form = 0; form < FORMS; form++) { /* rounding is forgiven */
        *y = 1.0005F;
        ck_assert_ok(run_metric(form, &p, &loss, NULL, NULL));
        *y = 1;
        ck_assert_ok(run_metric(form, &p, &clamped, NULL, NULL));
        ck_assert(loss == clamped);
    }
    *y = given;
    e.of_scores.x[5] = NAN;
    assert_refused(&p, SUBMOD_ENONFINITE, "scores[0][0][5] is nan");
}
END_TEST

START_TEST(refused_arguments)
{
    submod_rng rng;
    submod_rng_seed(&rng, 307);
    soft_instance e;
    soft_problem p = fill_soft(&e, &rng, false), q = p;
    q.soft.pixels = N - 1;
    assert_refused(&q, SUBMOD_EINVAL, "soft_labels are 3 x 5 x 36, scores 3 x 5 x 37");
    q = p;
    q.soft.classes = 1;
    assert_refused(&q, SUBMOD_EINVAL, "must have the same shape");
    q = p;
    q.soft.data = NULL;
    assert_refused(&q, SUBMOD_EINVAL, "soft_labels.data is NULL");
    q = p;
    q.soft.type = (submod_score_type)9;
    assert_refused(&q, SUBMOD_EINVAL, "soft_labels.type = 9 is unknown");
    q = p;
    q.soft.batch_stride = PTRDIFF_MAX;
    assert_refused(&q, SUBMOD_EINVAL, "the strides of soft_labels reach beyond all memory");
    q = p;
    q.scores.classes = q.soft.classes = 1;
    assert_refused(&q, SUBMOD_EINVAL, "the softmax of one class is always 1");
    q = p;
    q.settings.smoothing = -1;
    assert_refused(&q, SUBMOD_EINVAL, "smoothing = -1 must be 0 or at least 1e-30");
    q.settings.smoothing = NAN;
    assert_refused(&q, SUBMOD_ENONFINITE, "smoothing = nan must be finite");
    double loss = 42;
    assert_error(
        submod_jaccard_metric(&p.scores, NULL, SUBMOD_OVERLAP_MIN, &loss, NULL, NULL, NULL),
        SUBMOD_EINVAL, "soft_labels");
    assert_error(submod_dice_metric(NULL, &p.soft, SUBMOD_OVERLAP_MIN, &loss, NULL, NULL, NULL),
                 SUBMOD_EINVAL, "scores");
    assert_error(
        submod_jaccard_metric(&p.scores, &p.soft, (submod_overlap)2, &loss, NULL, NULL, NULL),
        SUBMOD_EINVAL, "overlap = 2 is unknown; see submod_overlap");
    ck_assert(loss == 42);
}
END_TEST

/* The smallest smoothing with labels as small: large, finite, or refused. */
START_TEST(steep_slopes)
{
    const float x[2] = {0, 1e-38F}, y[2] = {1e-38F, 0};
    for (int form = 0; form < FORMS; form++) {
        float g[2];
        double loss;
        soft_problem p = {submod_scores_f32(x, 1, 2, 1), submod_scores_f32(y, 1, 2, 1),
                          submod_loss_defaults()};
        submod_gradient to = submod_gradient_dense(g, 2, 1);
        p.settings.smoothing = 1e-30;
        p.settings.from_logits = 0;
        to.scale = 5e7;
        ck_assert_ok(run_metric(form, &p, &loss, &to, NULL));
        ck_assert(isfinite(g[0]) && isfinite(g[1]));
        to.scale = 1e8;
        assert_error(run_metric(form, &p, &loss, &to, NULL), SUBMOD_ENUMERIC, "overflows a float");
    }
}
END_TEST

/* ---- views, weights, threads, memory ---- */

/* Labels channels last, in all types, or the same for all images: the same bits. */
START_TEST(views_of_labels)
{
    submod_rng rng;
    submod_rng_seed(&rng, 308);
    for (int form = 0; form < FORMS; form++) {
        soft_instance e;
        soft_problem p = fill_soft(&e, &rng, false);
        float last[SIZE], g[SIZE], h[SIZE];
        uint16_t half[SIZE], brain[SIZE];
        for (size_t k = 0; k < SIZE; k++) {
            size_t i = k % N, c = k / N % C;
            e.y[k] = (float)((c * N + i) % 17) / 16; /* of all images */
            last[(k / N / C * N + i) * C + c] = e.y[k];
            half[k] = f16_of(e.y[k]);
            brain[k] = bf16_of(e.y[k]);
        }
        const submod_scores views[] = {submod_scores_channels_last(last, SUBMOD_SCORE_F32, B, C, N),
                                       submod_scores_dense(half, SUBMOD_SCORE_F16, B, C, N),
                                       submod_scores_dense(brain, SUBMOD_SCORE_BF16, B, C, N),
                                       {e.y, SUBMOD_SCORE_F32, B, C, N, 0, N, 1}};
        submod_gradient to = submod_gradient_dense(g, C, N), other = submod_gradient_dense(h, C, N);
        double loss, again;
        ck_assert_ok(run_metric(form, &p, &loss, &to, NULL));
        for (size_t k = 0; k < sizeof views / sizeof views[0]; k++) {
            p.soft = views[k];
            ck_assert_ok(run_metric(form, &p, &again, &other, NULL));
            ck_assert(loss == again);
            ck_assert_mem_eq(g, h, sizeof g);
        }
        other.accumulate = 1;
        other.scale = -1;
        ck_assert_ok(run_metric(form, &p, NULL, &other, NULL));
        for (size_t k = 0; k < SIZE; k++) {
            ck_assert(h[k] == 0);
        }
    }
}
END_TEST

/* Weights of 1 are none, a power of two changes no bit, and a weight of 2 is the pixel twice. */
START_TEST(weights_as_copies)
{
    submod_rng rng;
    submod_rng_seed(&rng, 309);
    for (int form = 0; form < FORMS; form++) {
        soft_instance e;
        soft_problem p = fill_soft(&e, &rng, false);
        float same[LABELS], twice[LABELS], g[SIZE], h[SIZE];
        const submod_pixel_weights given = submod_pixel_weights_f32(same, B, N);
        const submod_pixel_weights larger = submod_pixel_weights_f32(twice, B, N);
        submod_gradient to = submod_gradient_dense(g, C, N), other = submod_gradient_dense(h, C, N);
        double loss, again;
        for (size_t k = 0; k < LABELS; k++) {
            same[k] = 1;
            twice[k] = 0x1p40F * e.weight[k];
        }
        ck_assert_ok(run_metric(form, &p, &loss, &to, NULL));
        p.settings.pixel_weights = &given;
        ck_assert_ok(run_metric(form, &p, &again, &other, NULL));
        ck_assert(loss == again);
        ck_assert_mem_eq(g, h, sizeof g);
        memcpy(same, e.weight, sizeof same);
        ck_assert_ok(run_metric(form, &p, &loss, &to, NULL));
        p.settings.pixel_weights = &larger;
        ck_assert_ok(run_metric(form, &p, &again, &other, NULL));
        ck_assert(loss == again);
        ck_assert_mem_eq(g, h, sizeof g);
        for (size_t k = 0; k < SIZE; k++) { /* the second image is the first once more */
            e.of_scores.x[k] = k / N / C == 1 ? e.of_scores.x[k % (C * N)] : e.of_scores.x[k];
            e.y[k] = k / N / C == 1 ? e.y[k % (C * N)] : e.y[k];
        }
        for (size_t k = 0; k < LABELS; k++) {
            same[k] = (float)(k < 2 * N);
            twice[k] = (float)(k < N ? 2 : 0);
        }
        ck_assert_ok(run_metric(form, &p, &loss, NULL, NULL));
        p.settings.pixel_weights = &given;
        ck_assert_ok(run_metric(form, &p, &again, NULL, NULL));
        ck_assert_near(loss, again, 1e-14);
    }
}
END_TEST

START_TEST(threads_and_workspace_do_not_matter)
{
    enum { IMAGES = 2, PIXELS = 20011, CLASSES = 3, ALL = IMAGES * PIXELS * CLASSES };
    float *x = malloc(ALL * sizeof *x), *y = malloc(ALL * sizeof *y);
    float *g = malloc(ALL * sizeof *g), *h = malloc(ALL * sizeof *h);
    submod_work *work = NULL;
    submod_rng rng;
    submod_rng_seed(&rng, 310);
    ck_assert_ok(submod_work_create(&work));
    for (size_t k = 0; k < ALL; k++) {
        x[k] = (float)submod_rng_normal(&rng);
        y[k] = (float)submod_rng_uniform(&rng);
    }
    for (int round = 0; round < 2 * FORMS; round++) {
        int form = round / 2;
        soft_problem p = {submod_scores_f32(x, IMAGES, CLASSES, PIXELS),
                          submod_scores_f32(y, IMAGES, CLASSES, PIXELS), submod_loss_defaults()};
        submod_gradient to = submod_gradient_dense(g, CLASSES, PIXELS);
        submod_gradient other = submod_gradient_dense(h, CLASSES, PIXELS);
        double loss, again;
        p.settings.per_image = round % 2;
        submod_set_num_threads(1);
        ck_assert_ok(run_metric(form, &p, &loss, &to, NULL));
        for (int threads = 2; threads <= 5; threads++) {
            submod_set_num_threads(threads);
            ck_assert_ok(run_metric(form, &p, &again, &other, work));
            ck_assert(loss == again);
            ck_assert_mem_eq(g, h, ALL * sizeof *g);
        }
        y[ALL - 1] = 2; /* found by whichever thread */
        assert_error(run_metric(form, &p, &again, NULL, work), SUBMOD_EINVAL,
                     "soft_labels[1][2][20010]");
        y[ALL - 1] = 0.5F;
    }
    submod_set_num_threads(0);
    submod_work_free(work);
    free(x);
    free(y);
    free(g);
    free(h);
}
END_TEST

START_TEST(failing_allocations)
{
    submod_rng rng;
    submod_rng_seed(&rng, 311);
    soft_instance e;
    soft_problem p = fill_soft(&e, &rng, false);
    const submod_pixel_weights weights = submod_pixel_weights_f32(e.weight, B, N);
    p.settings.pixel_weights = &weights;
    ck_assert_ok(submod_set_num_threads(1));
    for (int form = 0; form < FORMS; form++) {
        bool done = false;
        long limit = 0;
        ck_assert_ok(submod_set_allocator(&counting_allocator));
        for (; !done && limit < 200; limit++) {
            float g[SIZE], untouched[SIZE];
            double loss = 42;
            memset(g, 7, sizeof g);
            memset(untouched, 7, sizeof untouched);
            submod_gradient to = submod_gradient_dense(g, C, N);
            allocations.left = limit;
            submod_status status = run_metric(form, &p, &loss, &to, NULL);
            done = status == SUBMOD_OK;
            ck_assert(done || (status == SUBMOD_ENOMEM && loss == 42));
            if (!done) {
                ck_assert_mem_eq(g, untouched, sizeof g);
            }
            ck_assert_int_eq(allocations.live, 0);
        }
        allocations.left = -1;
        ck_assert_ok(submod_set_allocator(NULL));
        ck_assert(done && limit > 2);
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("metric_loss_special", special_values, settings_that_are_not_looked_at,
                     losses_of_groups, refused_labels, refused_arguments, steep_slopes,
                     views_of_labels, weights_as_copies, threads_and_workspace_do_not_matter,
                     failing_allocations);
}
