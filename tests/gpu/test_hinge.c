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
    submod_loss_settings settings;
    double lambda;
} layer;

static layer random_layer(submod_rng *rng, int repeat)
{
    layer l = {.B = 1 + submod_rng_below(rng, 3), .N = 1 + submod_rng_below(rng, MOST / 3)};
    double share = submod_rng_uniform(rng) * 1.2 - 0.1; /* also none, also all */
    l.lambda = exp(3 * submod_rng_normal(rng));
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

static submod_status on_fibers(layer *l, size_t bins, submod_gpu_result *r,
                               const submodi_gpu_tuning *t)
{
    submod_scores scores = submod_scores_f32(l->x, l->B, 1, l->N);
    submod_labels labels = submod_labels_i64(l->y, l->B, l->N);
    submod_gradient prox = submod_gradient_dense(l->prox, 1, l->N);
    submod_gradient gradient = submod_gradient_dense(l->gradient, 1, l->N);
    submodi_gpu_task task;
    submod_status status =
        submodi_gpu_hinge_start(&task, "test", &scores, &labels, l->lambda, bins, &l->settings);
    task.prox = &prox;
    return status == SUBMOD_OK ? queue_on_shim(&task, r, &gradient, t) : status;
}

static submod_status exactly(layer *l)
{
    submod_scores scores = submod_scores_f32(l->x, l->B, 1, l->N);
    submod_labels labels = submod_labels_i64(l->y, l->B, l->N);
    submod_gradient prox = submod_gradient_dense(l->prox, 1, l->N);
    submod_gradient gradient = submod_gradient_dense(l->gradient, 1, l->N);
    return submod_prox_lovasz_hinge(&scores, &labels, l->lambda, &prox, &gradient, &l->settings,
                                    NULL, NULL);
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
    shim.order = (shim_order)(repeat % SHIM_ORDERS);
    submod_rng_seed(&shim.rng, (uint64_t)repeat);
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

/* Margins far apart, so that no two meet: the gradient is that of the loss, whatever lambda is. And
 * lambda so large or so small that one of the way and s leaves the range of floats. */
START_TEST(extreme_lambda)
{
    enum { N = 5 };
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    t.threads = 64;
    layer l = {.B = 1, .N = N, .settings = submod_loss_defaults()};
    const float x[N] = {-3, 2, 0.5F, 4, 7};
    const int64_t y[N] = {1, 0, 1, 1, 0};
    memcpy(l.x, x, sizeof x);
    memcpy(l.y, y, sizeof y);
    submod_gpu_result r;
    for (int e = -300; e <= 300; e += 20) {
        l.lambda = pow(10, e);
        layer exact = l;
        ck_assert_ok(on_fibers(&l, 1 << 12, &r, &t));
        ck_assert_ok(submod_gpu_result_status(&r));
        ck_assert(isfinite(r.delta) && r.delta < 2e-3);
        ck_assert_ok(exactly(&exact));
        for (size_t i = 0; i < N; i++) {
            ck_assert_near((double)l.prox[i], (double)exact.prox[i], r.delta);
            double slack =
                e > 0 ? 1e-6 * fabs((double)exact.gradient[i]) : l.lambda * r.delta + 1e-45;
            ck_assert_near((double)l.gradient[i], (double)exact.gradient[i], slack);
        }
    }
}
END_TEST

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
        ck_assert_ok(submodi_gpu_hinge_start(&task, "test", &scores, &labels, 1, 16, NULL));
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
    submod_measure hamming = submod_measure_hamming();
    s.measure = &hamming;
    REFUSE(SUBMOD_EUNSUPPORTED, 1, 256, &prox, &place);
    ck_assert(strstr(submod_last_error(), "measure must be Jaccard"));
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
    return RUN_TESTS("gpu_hinge", as_on_the_cpu, extreme_lambda, refusals);
}
