/* Problems in every form in which a caller may have them, on fibers and on the CPU: all types and
 * layouts, every number of classes that has code of its own, steep scores, and one bad score, label
 * or weight now and then, whose place the device has to tell. */
#include <math.h>
#include <string.h>

#include "on_shim.h"
#include "support.h"
#include "views.h"

enum { WELL, BAD_SCORE, BAD_LABEL, BAD_WEIGHT };

/* What was spoilt, and where the result has to say so. */
typedef struct spoil {
    int what;
    uint64_t at;
} spoil;

static size_t below(submod_rng *rng, size_t n)
{
    return (size_t)submod_rng_below(rng, n);
}

/* Makes one entry bad. */
static spoil spoil_one(submod_rng *rng, const views *v)
{
    const submod_scores *s = &v->scores;
    size_t image = below(rng, s->batch), c = below(rng, s->classes), i = below(rng, s->pixels);
    size_t label_class = is_multilabel(v->kind) ? c : 0;
    size_t label_classes = is_multilabel(v->kind) ? s->classes : 1;
    const float scores[] = {NAN, INFINITY, -INFINITY, 1.5F, -0.5F};
    const int64_t labels[] = {s->classes > 2 ? (int64_t)s->classes : 2, 200, -1};
    const float weights[] = {NAN, INFINITY, -1, -1e-30F};
    spoil bad = {1 + (int)submod_rng_below(rng, v->weighted ? BAD_WEIGHT : BAD_LABEL), 0};
    switch (bad.what) {
    case BAD_SCORE:
        put_score(v, score_at(v, image, c, i), scores[below(rng, from_logits(v->kind) ? 3 : 5)]);
        bad.at = (image * s->classes + c) * s->pixels + i;
        break;
    case BAD_LABEL:
        put_label(v, label_at(v, image, label_class, i),
                  labels[below(rng, v->labels.type == SUBMOD_LABEL_U8 ? 2 : 3)]);
        bad.at = (image * label_classes + label_class) * s->pixels + i;
        break;
    default:
        ((float *)v->w.data)[weight_at(v, image, i)] = weights[below(rng, 4)];
        bad.at = image * s->pixels + i;
    }
    return bad;
}

/* The same status; the place of what was spoilt, if that was refused; and the same bits of the
 * gradient, or none written. */
static void compare_views(views *v, spoil bad, submod_loss_settings s, const submodi_gpu_tuning *t)
{
    views w = copy_views(v);
    submodi_gpu_task task;
    submod_gpu_result r;
    double loss = 0;
    submod_loss_info info;
    submod_status status = views_on_cpu(v, &loss, &info, &s);
    s = settings_of_views(&w, &s);
    ck_assert_ok(start_task(&task, w.kind, &w.scores, &w.labels, &s));
    ck_assert_ok(queue_on_shim(&task, &r, &w.gradient, t));
    ck_assert_int_eq(submod_gpu_result_status(&r), status);
    bool refused = status != SUBMOD_OK;
    ck_assert_uint_eq(r.bad_score, refused && bad.what == BAD_SCORE ? bad.at : SUBMOD_GPU_NONE);
    ck_assert_uint_eq(r.bad_label, refused && bad.what == BAD_LABEL ? bad.at : SUBMOD_GPU_NONE);
    ck_assert_uint_eq(r.bad_weight, refused && bad.what == BAD_WEIGHT ? bad.at : SUBMOD_GPU_NONE);
    if (!refused) {
        ck_assert_near(r.loss, loss, 1e-13 * fmax(1, fabs(loss)));
        ck_assert_uint_eq(r.pixels, info.pixels);
        ck_assert_uint_eq(r.terms, info.terms);
    }
    ck_assert(memcmp(v->g.data, w.g.data, v->g.bytes) == 0);
    free_views(&w);
}

/* Every third one is spoilt. */
static void compare_some(submod_rng *rng, views *v, const submod_loss_settings *s)
{
    submodi_gpu_tuning t = random_tuning(rng);
    spoil bad = {WELL, 0};
    if (submod_rng_below(rng, 3) == 0) {
        bad = spoil_one(rng, v);
    }
    compare_views(v, bad, *s, &t);
}

START_TEST(losses)
{
    submod_rng rng;
    submod_rng_seed(&rng, 78);
    for (int repeat = 0; repeat < repeats(800); repeat++) {
        kind k = (kind)(repeat % KINDS);
        size_t C = 2 + below(&rng, repeat % 2 ? 3 : 14), N = 1 + below(&rng, 80);
        views v = random_views(&rng, k, 1 + below(&rng, 3), C, N, true);
        submod_loss_settings s = random_settings(&rng, true);
        set_order(repeat);
        compare_some(&rng, &v, &s);
        free_views(&v);
    }
}
END_TEST

/* Their kernels have code of its own for each class. */
START_TEST(few_classes)
{
    submod_rng rng;
    submod_rng_seed(&rng, 79);
    for (int repeat = 0; repeat < repeats(480); repeat++) {
        size_t C = 2 + (size_t)repeat % SUBMODI_GPU_FEW; /* one more than few, too */
        views v = random_views(&rng, SOFTMAX, 1 + below(&rng, 5), C, 1 + below(&rng, 100), true);
        submod_loss_settings s = random_settings(&rng, true);
        v.weighted = false;
        s.engine = SUBMOD_ENGINE_HISTOGRAM;
        s.bins = repeat % 2 ? s.bins : 512; /* more than a small window has */
        set_order(repeat);
        compare_some(&rng, &v, &s);
        free_views(&v);
    }
}
END_TEST

/* With the shared memory that there is: bins so fine that small mistakes of exp show, or many
 * pixels in each. */
START_TEST(full_shared_memory)
{
    submod_rng rng;
    submod_rng_seed(&rng, 84);
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    for (int repeat = 0; repeat < 16; repeat++) {
        views v = random_views(&rng, SOFTMAX, 1, SUBMODI_GPU_FEW, 400, true);
        submod_loss_settings s = random_settings(&rng, true);
        v.weighted = false;
        s.engine = SUBMOD_ENGINE_HISTOGRAM;
        s.bins = repeat % 2 ? 1 << 12 : 1 << 7;
        t.window_bytes = repeat % 4 ? 24 << 10 : 1000;
        set_order(repeat);
        compare_views(&v, (spoil){WELL, 0}, s, &t);
        free_views(&v);
    }
}
END_TEST

/* And others behind it, in the same pixel and in another: the first one is told. */
START_TEST(bad_score_of_each_class)
{
    enum { N = 400 };
    submod_rng rng;
    submod_rng_seed(&rng, 81);
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    submod_loss_settings s = submod_loss_defaults();
    s.engine = SUBMOD_ENGINE_HISTOGRAM;
    s.delta = 0x1p-6;
    for (size_t k = 0; k < 2 * SUBMODI_GPU_FEW; k++) {
        size_t c = k % SUBMODI_GPU_FEW, i = below(&rng, N - 1);
        size_t later_class = c + below(&rng, SUBMODI_GPU_FEW - c);
        size_t later = i + 1 + below(&rng, N - 1 - i);
        views v = random_views(&rng, SOFTMAX, 1, SUBMODI_GPU_FEW, N, false);
        v.weighted = false;
        put_score(&v, score_at(&v, 0, later_class, i), INFINITY);
        put_score(&v, score_at(&v, 0, later_class, later), INFINITY);
        put_score(&v, score_at(&v, 0, c, i), k < SUBMODI_GPU_FEW ? -INFINITY : NAN);
        t.few_blocks = 1 + (uint32_t)k;
        t.few_pixels = 1;
        set_order((int)k);
        double loss;
        ck_assert_int_eq(views_on_cpu(&v, &loss, NULL, &s), SUBMOD_ENONFINITE);
        compare_views(&v, (spoil){BAD_SCORE, c * N + i}, s, &t);
        free_views(&v);
    }
}
END_TEST

/* Ranks in so many tiles, or in such large ones, that all lanes and warps have some to scan, with
 * weights of more than 32 bits. */
START_TEST(many_tiles)
{
    submod_rng rng;
    submod_rng_seed(&rng, 83);
    for (int repeat = 0; repeat < repeats(100); repeat++) {
        views v = random_views(&rng, (kind)(repeat % KINDS), 1, 2, 600 + below(&rng, 600), true);
        submod_loss_settings s = random_settings(&rng, true);
        submodi_gpu_tuning t = random_tuning(&rng);
        s.engine = SUBMOD_ENGINE_EXACT;
        s.per_image = 0;
        t.small = 0;
        t.tile = (uint32_t)(repeat % 2 ? 1 + below(&rng, 20) : 250 + below(&rng, 300));
        t.threads = repeat % 2 ? t.threads : 512;
        set_order(repeat);
        compare_views(&v, (spoil){WELL, 0}, s, &t);
        free_views(&v);
    }
}
END_TEST

/* So many that all lanes of a warp have some to add up at the end. */
START_TEST(many_images)
{
    submod_rng rng;
    submod_rng_seed(&rng, 85);
    for (int repeat = 0; repeat < 20; repeat++) {
        views v = random_views(&rng, (kind)(repeat % KINDS), 30 + below(&rng, 60), 2, 5, true);
        submod_loss_settings s = random_settings(&rng, true);
        submodi_gpu_tuning t = random_tuning(&rng);
        s.engine = (submod_engine)(repeat / KINDS % 2);
        s.per_image = 1;
        s.bins = 16;
        set_order(repeat);
        compare_views(&v, (spoil){WELL, 0}, s, &t);
        free_views(&v);
    }
}
END_TEST

/* Where tables of all groups are too large, the scores are looked at before the first of them. */
START_TEST(one_group_at_a_time)
{
    submod_rng rng;
    submod_rng_seed(&rng, 80);
    for (int repeat = 0; repeat < repeats(400); repeat++) {
        kind k = (kind)(repeat % 4); /* not the hinge, which always looks first */
        views v = random_views(&rng, k, 2 + below(&rng, 3), 2 + below(&rng, 10), 40, true);
        submod_loss_settings s = random_settings(&rng, true);
        submodi_gpu_tuning t = random_tuning(&rng);
        s.engine = SUBMOD_ENGINE_HISTOGRAM;
        s.per_image = 1;
        t.table_bytes = 1;
        set_order(repeat);
        compare_views(&v, repeat % 4 ? spoil_one(&rng, &v) : (spoil){WELL, 0}, s, &t);
        free_views(&v);
    }
}
END_TEST

/* Nothing is written when the bad score is in the last one of them. */
START_TEST(bad_score_of_the_last_group)
{
    enum { B = 3, N = 20, MOST_CLASSES = 8 };
    submod_rng rng;
    submod_rng_seed(&rng, 86);
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    submod_loss_settings s = submod_loss_defaults();
    s.engine = SUBMOD_ENGINE_HISTOGRAM;
    s.per_image = 1;
    s.bins = 16;
    t.table_bytes = 1;
    for (size_t k = 0; k < 12 * MOST_CLASSES; k++) {
        size_t c = k % MOST_CLASSES, i = below(&rng, N);
        views v = random_views(&rng, SOFTMAX, B, c + 1 + below(&rng, MOST_CLASSES - c) + (c == 0),
                               N, false);
        v.weighted = false;
        put_score(&v, score_at(&v, B - 1, c, i), k % 2 ? INFINITY : NAN);
        uint64_t at = ((B - 1) * v.scores.classes + c) * N + i;
        compare_views(&v, (spoil){BAD_SCORE, at}, s, &t);
        free_views(&v);
    }
}
END_TEST

/* The prox and the layer of the hinge by scores of any type: the bits are those by floats. */
START_TEST(proxes)
{
    enum { B = 2, N = 90 };
    submod_rng rng;
    submod_rng_seed(&rng, 82);
    for (int repeat = 0; repeat < repeats(200); repeat++) {
        views v = random_views(&rng, HINGE, B, 1, N, true);
        float x[B * N], of_views[2][B * N], of_floats[2][B * N];
        int64_t y[B * N];
        for (size_t k = 0; k < B * N; k++) {
            x[k] = (float)submod_rng_below(&rng, 257) / 64 - 2;
            y[k] = submod_rng_below(&rng, 8) ? (int64_t)submod_rng_below(&rng, 2) : IGNORED;
            put_score(&v, score_at(&v, k / N, 0, k % N), x[k]);
            put_label(&v, label_at(&v, k / N, 0, k % N), y[k]);
        }
        submod_scores floats = submod_scores_f32(x, B, 1, N);
        submod_labels labels = submod_labels_i64(y, B, N);
        submod_loss_settings s = submod_loss_defaults();
        s.has_ignore = 1;
        s.ignore_index = IGNORED;
        s.per_image = 1;
        submod_status (*start)(submodi_gpu_task *, const submod_scores *, const submod_labels *,
                               double, size_t, const submod_loss_settings *) =
            repeat % 2 ? submodi_gpu_hinge_start : submodi_gpu_prox_start;
        double lambda = exp(2 * submod_rng_normal(&rng));
        for (int dense = 0; dense < 2; dense++) {
            float(*out)[B * N] = dense ? of_floats : of_views;
            submod_gradient prox = submod_gradient_dense(out[0], 1, N);
            submod_gradient gradient = submod_gradient_dense(out[1], 1, N);
            submodi_gpu_task task;
            submod_gpu_result r;
            submodi_gpu_tuning t = random_tuning(&rng);
            t.threads = 64;
            set_order(repeat);
            ck_assert_ok(start(&task, dense ? &floats : &v.scores, dense ? &labels : &v.labels,
                               lambda, 64, &s));
            task.prox = repeat % 2 ? &prox : NULL;
            ck_assert_ok(queue_on_shim(&task, &r, repeat % 2 ? &gradient : &prox, &t));
            ck_assert_ok(submod_gpu_result_status(&r));
        }
        for (int k = 0; k <= repeat % 2; k++) {
            ck_assert(same_floats(of_views[k], of_floats[k], B * N));
        }
        free_views(&v);
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("gpu_views", losses, few_classes, full_shared_memory, bad_score_of_each_class,
                     many_tiles, many_images, one_group_at_a_time, bad_score_of_the_last_group,
                     proxes);
}
