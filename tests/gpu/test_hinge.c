/* The layer of the Lovász hinge on fibers, against the exact one of the CPU. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "on_shim.h"
#include "support.h"

enum { MOST = 400 };

/* A batch, and what a layer leaves behind. */
typedef struct layer {
    size_t B, N;
    float x[MOST], prox[MOST], gradient[MOST];
    int64_t y[MOST];
    submod_measure measure;
    submod_loss_settings settings;
    double lambda;
} layer;

/* Jaccard, Hamming, and Tversky with factors at all ends of their range. */
static submod_measure wide_measure(submod_rng *rng)
{
    static const double alpha[] = {0, 1e-12, 1e-3, 0.5, 1, 3, 1e12};
    static const double beta[] = {1, 1.5, 20, 1e12};
    switch (submod_rng_below(rng, 5)) {
    case 0: return submod_jaccard();
    case 1: return submod_hamming();
    default: return submod_tversky(alpha[submod_rng_below(rng, 7)], beta[submod_rng_below(rng, 4)]);
    }
}

static layer random_layer(submod_rng *rng, int repeat)
{
    layer l = {.B = 1 + submod_rng_below(rng, 3),
               .N = 1 + submod_rng_below(rng, repeat % 9 == 0 ? 2 : MOST / 3),
               .measure = wide_measure(rng)};
    double share = submod_rng_uniform(rng) * 1.2 - 0.1; /* also none, also all */
    l.lambda = exp(3 * submod_rng_normal(rng));
    if (submod_rng_below(rng, 4) == 0) { /* where a tiny part of F decides */
        l.lambda *= l.measure.alpha > 0 ? fmin(l.measure.alpha, 1 / l.measure.alpha) : 1;
    }
    for (size_t i = 0; i < l.B * l.N; i++) {
        l.x[i] = (float)(repeat % 4 == 0 ? (double)submod_rng_below(rng, 4) - 1.5
                                         : 2 * submod_rng_normal(rng));
        l.y[i] = submod_rng_below(rng, 6) == 0 ? 9 : submod_rng_uniform(rng) < share;
        l.x[i] = repeat % 7 == 0 ? (l.y[i] == 1 ? 0.25F : -0.25F) : l.x[i]; /* equal margins */
    }
    l.settings = submod_loss_defaults();
    l.settings.per_image = (int)submod_rng_below(rng, 2);
    l.settings.has_ignore = 1;
    l.settings.ignore_index = 9;
    return l;
}

/* Layers are copied, so this is done where they are used. */
static const submod_loss_settings *settings_of(layer *l)
{
    l->settings.measure = &l->measure;
    return &l->settings;
}

static submod_status on_fibers(layer *l, size_t bins, submod_gpu_result *r,
                               const submodi_gpu_tuning *t)
{
    submod_scores scores = submod_scores_f32(l->x, l->B, 1, l->N);
    submod_labels labels = submod_labels_i64(l->y, l->B, l->N);
    submod_gradient prox = submod_gradient_dense(l->prox, 1, l->N);
    submod_gradient gradient = submod_gradient_dense(l->gradient, 1, l->N);
    submodi_gpu_task task;
    submod_status status =
        submodi_gpu_hinge_start(&task, &scores, &labels, l->lambda, bins, settings_of(l));
    task.prox = &prox;
    return status == SUBMOD_OK ? queue_on_shim(&task, r, &gradient, t) : status;
}

static submod_status exactly(layer *l)
{
    submod_scores scores = submod_scores_f32(l->x, l->B, 1, l->N);
    submod_labels labels = submod_labels_i64(l->y, l->B, l->N);
    submod_gradient prox = submod_gradient_dense(l->prox, 1, l->N);
    submod_gradient gradient = submod_gradient_dense(l->gradient, 1, l->N);
    return submod_prox_hinge_layer(&scores, &labels, l->lambda, &prox, &gradient, settings_of(l),
                                   NULL, NULL, NULL);
}

/* Moves the margins above 0 of each group to the middles of its bins, in the scores. */
static void quantise(layer *l, size_t K)
{
    size_t groups = l->settings.per_image ? l->B : 1, n = l->B * l->N / groups;
    for (size_t g = 0; g < groups; g++) {
        float *x = l->x + g * n, low = INFINITY, high = -INFINITY, margin[MOST];
        const int64_t *y = l->y + g * n;
        for (size_t i = 0; i < n; i++) {
            margin[i] = y[i] == 9 ? 0 : 1 + (y[i] == 1 ? -x[i] : x[i]);
            low = margin[i] > 0 ? fminf(low, margin[i]) : low;
            high = margin[i] > 0 ? fmaxf(high, margin[i]) : high;
        }
        double width = ((double)high - (double)low) / (double)K;
        for (size_t i = 0; i < n; i++) {
            if (margin[i] > 0) {
                double k = width > 0 ? floor(((double)margin[i] - (double)low) / width) : 0;
                k = fmin(k, (double)K - 1);
                double middle = (double)low + (width > 0 ? (k + 0.5) * width : 0);
                x[i] = (float)(y[i] == 1 ? 1 - middle : middle - 1);
            }
        }
    }
}

static bool layers_are_right(submod_rng *rng, int repeat)
{
    layer l = random_layer(rng, repeat);
    layer exact = l, middles = l;
    size_t K = (size_t)2 << submod_rng_below(rng, 10);
    submodi_gpu_tuning t = random_tuning(rng);
    submod_gpu_result r;
    t.threads = 32U << submod_rng_below(rng, 3);
    set_order(repeat);
    bool good = on_fibers(&l, K, &r, &t) == SUBMOD_OK && r.status == SUBMOD_OK;
    ck_assert_ok(exactly(&exact));
    quantise(&middles, K);
    ck_assert_ok(exactly(&middles));
    for (size_t i = 0; i < l.B * l.N; i++) {
        bool right = l.y[i] != 9 && (l.y[i] == 1 ? l.x[i] >= 1 : l.x[i] <= -1);
        good = good && fabs((double)l.prox[i] - (double)exact.prox[i]) <= r.delta + 1e-6;
        /* The scores of the middles are rounded to floats. */
        good = good && fabs((double)l.gradient[i] - (double)middles.gradient[i]) <=
                           1e-6 * (1 + l.lambda * 4);
        good = good && (!(right || l.y[i] == 9) || (l.gradient[i] == 0 && l.prox[i] == l.x[i]));
    }
    return good;
}

START_TEST(as_on_the_cpu)
{
    submod_rng rng;
    submod_rng_seed(&rng, 130);
    for (int repeat = 0; repeat < repeats(400); repeat++) {
        ck_assert_msg(layers_are_right(&rng, repeat), "repeat %d", repeat);
    }
}
END_TEST

/* Compares with the exact layer at lambda = 10^-307 .. 10^293. slack: of the gradient for lambda <=
 * 1, in multiples of lambda and delta. */
static void compare_at_all_lambda(layer *l, size_t bins, double slack)
{
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    t.threads = 64;
    submod_gpu_result r;
    for (int e = -307; e <= 300; e += 20 * each(3)) {
        l->lambda = pow(10, e);
        layer exact = *l;
        ck_assert_ok(on_fibers(l, bins, &r, &t));
        ck_assert_ok(submod_gpu_result_status(&r));
        ck_assert(isfinite(r.delta) && r.delta < 8 / (double)bins);
        ck_assert_ok(exactly(&exact));
        for (size_t i = 0; i < l->N; i++) {
            ck_assert_near((double)l->prox[i], (double)exact.prox[i], r.delta);
            double near = e > 0 ? 0 : slack * l->lambda * r.delta + 1e-45;
            ck_assert_near((double)l->gradient[i], (double)exact.gradient[i],
                           1e-6 * fabs((double)exact.gradient[i]) + near);
        }
    }
}

/* The measures that are as different as can be. */
enum { EXTREMES = 6 };

static submod_measure extreme_measure(int k)
{
    const submod_measure m[EXTREMES] = {submod_jaccard(),           submod_hamming(),
                                        submod_tversky(0, 1),       submod_tversky(1e-12, 3),
                                        submod_tversky(1e12, 1e12), submod_tversky(0.5, 1)};
    return m[k];
}

/* Margins far apart, so that no two meet: the gradient is that of the loss, whatever lambda is. And
 * lambda so large or so small that one of the way and s leaves the range of floats. */
START_TEST(extreme_lambda)
{
    enum { N = 5 };
    const float x[N] = {-3, 2, 0.5F, 4, 7};
    const int64_t y[N] = {1, 0, 1, 1, 0};
    for (int k = 0; k < EXTREMES; k++) {
        layer l = {
            .B = 1, .N = N, .measure = extreme_measure(k), .settings = submod_loss_defaults()};
        memcpy(l.x, x, sizeof x);
        memcpy(l.y, y, sizeof y);
        compare_at_all_lambda(&l, 1 << 8, 1);
    }
}
END_TEST

/* Equal margins have no bins, and those that are equal but for one share a bin: the labels may part
 * there all the same, also where lambda times a bin is much more than F. Both labels, and one. */
START_TEST(equal_margins)
{
    enum { N = 7 };
    const int64_t y[N] = {1, 0, 0, 1, 0, 0, 1};
    for (int k = 0; k < EXTREMES * 6; k++) {
        layer l = {
            .B = 1, .N = N, .measure = extreme_measure(k / 6), .settings = submod_loss_defaults()};
        for (size_t i = 0; i < N; i++) {
            bool far = i == 0 && k % 2;
            l.y[i] = k % 6 < 2 ? y[i] : k % 6 < 4;
            float score = far ? 15 : -0.75F; /* of the background */
            l.x[i] = l.y[i] == 1 ? -score : score;
        }
        compare_at_all_lambda(&l, 16, k % 2);
    }
}
END_TEST

static double hamming(double a, double b, double P, double N, void *ctx)
{
    (void)ctx;
    return (a + b) / (P + N);
}

START_TEST(refusals)
{
    float x[3] = {0, NAN, 1}, u[3] = {7, 7, 7}, g[3] = {7, 7, 7}, w[3] = {1, 1, 1};
    uint8_t y[3] = {0, 1, 1};
    submod_scores scores = submod_scores_f32(x, 1, 1, 3);
    submod_labels labels = submod_labels_u8(y, 1, 3);
    submod_gradient prox = submod_gradient_dense(u, 1, 3), to = submod_gradient_dense(g, 1, 3);
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    submod_pixel_weights weights = submod_pixel_weights_f32(w, 1, 3);
    submod_loss_settings s = submod_loss_defaults();
    submodi_gpu_task task;
    submod_gpu_result r;
    for (int what = 0; what < 2; what++) {
        ck_assert_ok(submodi_gpu_hinge_start(&task, &scores, &labels, 1, 16, NULL));
        task.prox = &prox;
        ck_assert_ok(queue_on_shim(&task, &r, &to, &t));
        ck_assert_int_eq(submod_gpu_result_status(&r), what ? SUBMOD_EINVAL : SUBMOD_ENONFINITE);
        ck_assert(u[0] == 7 && g[0] == 7 && isnan(r.loss));
        x[1] = 0;
        y[2] = 3;
    }
    submod_gpu_place place = {0};
    size_t bytes = 0;
    ck_assert_ok(submod_gpu_prox_workspace(&scores, 256, &bytes));
    place.workspace = aligned_alloc(256, bytes);
    place.workspace_bytes = bytes;
#define REFUSE(status, lambda, bins, out, where) \
    ck_assert_int_eq( \
        submod_gpu_prox_lovasz_hinge(&scores, &labels, lambda, bins, out, &to, &r, &s, where), \
        status)
    REFUSE(SUBMOD_EINVAL, 0, 256, &prox, &place);
    REFUSE(SUBMOD_ENONFINITE, NAN, 256, &prox, &place);
    REFUSE(SUBMOD_EINVAL, 1, 0, &prox, &place);
    REFUSE(SUBMOD_EINVAL, 1, 3, &prox, &place);
    REFUSE(SUBMOD_EINVAL, 1, 256, &prox, NULL);
    REFUSE(SUBMOD_ENOMEM, 1, 512, &prox, &place);
    REFUSE(SUBMOD_EUNSUPPORTED, 1, 256, NULL, &place);
    prox.pixel_stride = 0;
    REFUSE(SUBMOD_EINVAL, 1, 256, &prox, &place);
    prox.pixel_stride = 1;
    s.pixel_weights = &weights;
    REFUSE(SUBMOD_EUNSUPPORTED, 1, 256, &prox, &place);
    ck_assert(strstr(submod_last_error(), "pixel_weights"));
    s.pixel_weights = NULL;
    submod_measure measure = submod_measure_custom(&(submod_measure_ops){.value = hamming}, NULL);
    s.measure = &measure;
    REFUSE(SUBMOD_EUNSUPPORTED, 1, 256, &prox, &place);
    ck_assert(strstr(submod_last_error(), "the function of a custom measure"));
    measure = submod_tversky(0.5, 0.5);
    REFUSE(SUBMOD_EINVAL, 1, 256, &prox, &place);
    ck_assert(strstr(submod_last_error(), "Dice"));
    s.measure = NULL;
    scores.classes = 3;
    REFUSE(SUBMOD_EINVAL, 1, 256, &prox, &place);
#undef REFUSE
    ck_assert(u[0] == 7 && g[0] == 7);
    free(place.workspace);
}
END_TEST

int main(void)
{
    return RUN_TESTS("gpu_hinge", as_on_the_cpu, extreme_lambda, equal_margins, refusals);
}
