/* A batch that is spread over devices, on fibers: ranges and counts of its parts, put together,
 * must give what the CPU makes of the whole. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "on_shim.h"
#include "support.h"

enum { MOST_PARTS = 3 };

/* Images first .. first + d.B - 1 of a batch, as one device has them. */
typedef struct part {
    submodi_gpu_task task;
    submod_scores scores;
    submod_labels labels;
    submod_pixel_weights weights;
    submod_loss_settings settings;
    submod_gradient gradient;
    submod_gpu_result result;
    float range[2];
    int64_t *counts;
} part;

/* A problem, its parts, and what is the same for all of them. */
typedef struct problem {
    example d;
    submod_loss_settings settings;
    submodi_gpu_tuning tuning;
    part parts[MOST_PARTS];
    int count;
    float range[2];
    int64_t *counts;
    size_t numbers;
} problem;

static submod_gpu_loss loss_of(kind k)
{
    return k == HINGE         ? SUBMOD_GPU_HINGE
           : is_multilabel(k) ? SUBMOD_GPU_SIGMOID
                              : SUBMOD_GPU_SOFTMAX;
}

static void cut(submod_rng *rng, problem *p, float *gradient)
{
    size_t at = 0;
    p->count = 1 + (int)submod_rng_below(rng, MOST_PARTS);
    for (int i = 0; i < p->count; i++) {
        part *x = &p->parts[i];
        size_t left = p->d.B - at;
        size_t images = i + 1 < p->count ? submod_rng_below(rng, left + 1) : left;
        size_t labels = is_multilabel(p->d.kind) ? p->d.C * p->d.N : p->d.N;
        example own = p->d;
        own.B = images;
        own.x += at * p->d.C * p->d.N;
        own.y += at * labels;
        *x = (part){.scores = scores_of(&own), .labels = labels_of(&own), .settings = p->settings};
        if (p->d.w) {
            x->weights = submod_pixel_weights_f32(p->d.w + at * p->d.N, images, p->d.N);
            x->settings.pixel_weights = &x->weights;
        }
        x->gradient = submod_gradient_dense(gradient + at * p->d.C * p->d.N, p->d.C, p->d.N);
        at += images;
    }
}

/* One call on one device. */
static submod_status run(problem *p, part *x, submodi_gpu_method method)
{
    bool ranges = method == SUBMODI_GPU_GLOBAL_RANGE;
    submod_status status =
        submodi_gpu_global_start(&x->task, method, loss_of(p->d.kind), &x->scores, &x->labels,
                                 ranges ? x->range : p->range, p->d.B * p->d.N, &x->settings);
    x->task.reach = ranges ? x->range : x->task.reach;
    x->task.global = method == SUBMODI_GPU_GLOBAL_COUNTS ? x->counts : p->counts;
    const submod_gradient *to = method == SUBMODI_GPU_GLOBAL_LOSS ? &x->gradient : NULL;
    return status ? status : queue_on_shim(&x->task, &x->result, to, &p->tuning);
}

/* All calls on all devices, with what the caller does between them. */
static void run_all(problem *p)
{
    size_t bytes;
    p->range[0] = p->range[1] = 0;
    for (int i = 0; i < p->count; i++) {
        ck_assert_ok(run(p, &p->parts[i], SUBMODI_GPU_GLOBAL_RANGE));
        for (int k = 0; k < 2; k++) {
            p->range[k] = fmaxf(p->range[k], p->parts[i].range[k]);
        }
    }
    ck_assert_ok(submod_gpu_global_workspace(loss_of(p->d.kind), &p->parts[0].scores, &p->numbers,
                                             &bytes, &p->parts[0].settings));
    p->counts = calloc(p->numbers, sizeof *p->counts);
    for (int i = 0; i < p->count; i++) {
        part *x = &p->parts[i];
        x->counts = malloc((p->numbers + 1) * sizeof *x->counts);
        memset(x->counts, 0xa5, (p->numbers + 1) * sizeof *x->counts);
        int64_t behind = x->counts[p->numbers];
        ck_assert_ok(run(p, x, SUBMODI_GPU_GLOBAL_COUNTS));
        for (size_t k = 0; k < p->numbers; k++) {
            p->counts[k] += x->counts[k];
        }
        ck_assert(x->counts[p->numbers] == behind);
        free(x->counts);
    }
}

static void finish_all(problem *p)
{
    for (int i = 0; i < p->count; i++) {
        ck_assert_ok(run(p, &p->parts[i], SUBMODI_GPU_GLOBAL_LOSS));
    }
    free(p->counts);
}

static problem random_problem(submod_rng *rng, int repeat)
{
    problem p = {.tuning = random_tuning(rng)};
    bool ignore = submod_rng_below(rng, 2);
    kind k = (kind)(repeat % KINDS);
    p.d = random_example(rng, k, submod_rng_below(rng, 5), 1 + submod_rng_below(rng, 5),
                         submod_rng_below(rng, 8) ? 1 + submod_rng_below(rng, 90) : 0,
                         submod_rng_below(rng, 2), ignore);
    submod_loss_settings s = random_settings(rng, ignore);
    p.settings = settings_for(k, &s);
    p.settings.engine = SUBMOD_ENGINE_HISTOGRAM;
    p.settings.per_image = 0;
    set_order(repeat);
    return p;
}

/* ---- the loss of the whole ---- */

START_TEST(parts_make_the_whole)
{
    submod_rng rng;
    submod_rng_seed(&rng, 130);
    for (int repeat = 0; repeat < repeats(120); repeat++) {
        problem p = random_problem(&rng, repeat);
        size_t n = p.d.B * p.d.C * p.d.N;
        float *g[2] = {calloc(n + 1, sizeof(float)), calloc(n + 1, sizeof(float))};
        double loss, of_group[2] = {7, 7};
        submod_loss_info info;
        submod_pixel_weights weights = submod_pixel_weights_f32(p.d.w, p.d.B, p.d.N);
        submod_gradient to = submod_gradient_dense(g[0], p.d.C, p.d.N);
        submod_loss_settings whole = p.settings;
        whole.pixel_weights = p.d.w ? &weights : NULL;
        whole.group_loss = &of_group[0];
        bool good = on_cpu(&p.d, &loss, &to, &info, &whole) == SUBMOD_OK;
        p.settings.group_loss = &of_group[1];
        if (good) { /* else one class alone, which a softmax refuses */
            cut(&rng, &p, g[1]);
            run_all(&p);
            finish_all(&p);
            for (int i = 0; i < p.count; i++) {
                const submod_gpu_result *r = &p.parts[i].result;
                ck_assert_int_eq(r->status, SUBMOD_OK);
                ck_assert_msg(fabs(r->loss - loss) <= 1e-13, "repeat %d: %.17g %.17g", repeat,
                              r->loss, loss);
                ck_assert(r->pixels == info.pixels && r->terms == info.terms &&
                          r->bins == info.bins && r->delta == info.delta);
            }
            ck_assert(fabs(of_group[0] - of_group[1]) <= 1e-13);
            ck_assert_msg(same_floats(g[0], g[1], n), "repeat %d: gradients", repeat);
        }
        free(g[0]);
        free(g[1]);
        free_example(&p.d);
    }
}
END_TEST

/* ---- data that are refused ---- */

START_TEST(one_refuses_for_all)
{
    submod_rng rng;
    submod_rng_seed(&rng, 131);
    for (int repeat = 0; repeat < KINDS * 4; repeat++) {
        problem p = random_problem(&rng, repeat);
        free_example(&p.d);
        p.d = random_example(&rng, (kind)(repeat % KINDS), 3, 4, 40, false, false);
        size_t n = p.d.B * p.d.C * p.d.N;
        float *g = malloc(n * sizeof *g);
        for (size_t i = 0; i < n; i++) {
            g[i] = 5;
        }
        cut(&rng, &p, g);
        bool label = repeat % 2;
        if (label) {
            p.d.y[7] = 77;
        } else {
            p.d.x[7] = NAN;
        }
        run_all(&p);
        int refused = 0;
        for (int i = 0; i < p.count; i++) {
            refused += p.parts[i].result.status == (label ? SUBMOD_EINVAL : SUBMOD_ENONFINITE);
            ck_assert((p.parts[i].result.status == SUBMOD_OK) ==
                      (submod_gpu_result_status(&p.parts[i].result) == SUBMOD_OK));
        }
        ck_assert_int_eq(refused, 1);
        finish_all(&p);
        for (int i = 0; i < p.count; i++) {
            const submod_gpu_result *r = &p.parts[i].result;
            ck_assert(isnan(r->loss) && r->bad_count == SUBMOD_GPU_ELSEWHERE);
            ck_assert_int_eq(submod_gpu_result_status(r), SUBMOD_EINVAL);
            ck_assert_ptr_nonnull(strstr(submod_last_error(), "another device"));
        }
        for (size_t i = 0; i < n; i++) {
            ck_assert(g[i] == 5);
        }
        free(g);
        free_example(&p.d);
    }
}
END_TEST

/* ---- arguments ---- */

START_TEST(refused_arguments)
{
    float x[2 * 3 * 4] = {0}, range[2] = {0};
    uint8_t y[2 * 4] = {0};
    int64_t counts[1];
    submod_gpu_result result;
    submod_scores scores = submod_scores_f32(x, 2, 3, 4);
    submod_labels labels = submod_labels_u8(y, 2, 4);
    submod_loss_settings s = submod_loss_defaults();
    submod_gpu_place place = {0};
    size_t numbers = 5, bytes = 6;
    const submod_gpu_loss softmax = SUBMOD_GPU_SOFTMAX;
    s.engine = SUBMOD_ENGINE_EXACT;
    ck_assert_int_eq(submod_gpu_global_workspace(softmax, &scores, &numbers, &bytes, &s),
                     SUBMOD_EUNSUPPORTED);
    s.engine = SUBMOD_ENGINE_HISTOGRAM;
    s.per_image = 1;
    ck_assert_int_eq(submod_gpu_global_workspace(softmax, &scores, &numbers, &bytes, &s),
                     SUBMOD_EUNSUPPORTED);
    s.per_image = 0;
    ck_assert_int_eq(submod_gpu_global_workspace((submod_gpu_loss)9, &scores, &numbers, &bytes, &s),
                     SUBMOD_EINVAL);
    ck_assert_int_eq(submod_gpu_global_workspace(softmax, NULL, &numbers, &bytes, &s),
                     SUBMOD_EINVAL);
    ck_assert(numbers == 5 && bytes == 6);
    s.bins = 64;
    ck_assert_ok(submod_gpu_global_workspace(softmax, &scores, &numbers, &bytes, &s));
    ck_assert_uint_eq(numbers, 3 * 2 * 64 + 3 + 2 + 2);
    ck_assert_int_eq(
        submod_gpu_global_counts(softmax, &scores, &labels, NULL, 7, counts, &result, &s, &place),
        SUBMOD_EINVAL);
    ck_assert_ptr_nonnull(strstr(submod_last_error(), "all_pixels = 7"));
    ck_assert_int_eq(submod_gpu_global_counts(softmax, &scores, &labels, NULL, (uint64_t)1 << 52,
                                              counts, &result, &s, &place),
                     SUBMOD_EINVAL);
    ck_assert_int_eq(
        submod_gpu_global_counts(softmax, &scores, &labels, NULL, 8, NULL, &result, &s, &place),
        SUBMOD_EINVAL);
    submod_pixel_weights weights = submod_pixel_weights_f32(x, 2, 4);
    s.pixel_weights = &weights;
    ck_assert_int_eq(submod_gpu_global_loss(softmax, &scores, &labels, NULL, counts, 8, &result,
                                            NULL, &s, &place),
                     SUBMOD_EINVAL);
    ck_assert_ptr_nonnull(strstr(submod_last_error(), "range"));
    ck_assert_int_eq(
        submod_gpu_global_range(softmax, &scores, &labels, 8, NULL, &result, &s, &place),
        SUBMOD_EINVAL);
    ck_assert_int_eq(
        submod_gpu_global_range(softmax, &scores, &labels, 8, range, &result, &s, &place),
        SUBMOD_EINVAL); /* no workspace */
}
END_TEST

int main(void)
{
    return RUN_TESTS("gpu_global", parts_make_the_whole, one_refuses_for_all, refused_arguments);
}
