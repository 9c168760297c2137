/* Measures that are callbacks: how often and where they are asked, what happens when they fail, and
 * what they guarantee. That their losses are right is in test_measures.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "losses.h"
#include "support.h"

/* ---- a callback that watches ---- */

typedef struct point {
    double a, b, P, N;
} point;

enum { MOST = 100000 };

typedef struct watch {
    size_t calls, points;
    point *seen;     /* NULL: not kept */
    const point *at; /* where it fails, NULL: nowhere */
    double failure;  /* with this */
    double size;     /* F is so many times the Jaccard loss */
} watch;

static bool is_at(const point *p, double a, double b, double P, double N)
{
    return p && p->a == a && p->b == b && p->P == P && p->N == N;
}

static void watched_values(size_t count, const double *a, const double *b, double P, double N,
                           double *F, void *ctx)
{
    watch *w = ctx;
    w->calls++;
    for (size_t i = 0; i < count; i++) {
        ck_assert(a[i] >= 0 && a[i] <= P && b[i] >= 0 && b[i] <= N);
        if (w->seen && w->points < MOST) {
            w->seen[w->points] = (point){a[i], b[i], P, N};
        }
        w->points++;
        double loss = a[i] + b[i] > 0 ? (a[i] + b[i]) / (P + b[i]) : 0;
        F[i] = is_at(w->at, a[i], b[i], P, N) ? w->failure : w->size * loss;
    }
}

static double watched_value(double a, double b, double P, double N, void *ctx)
{
    double F;
    watched_values(1, &a, &b, P, N, &F, ctx);
    return F;
}

static submod_measure watched(watch *w)
{
    submod_measure m = submod_measure_custom(&(submod_measure_ops){.value = watched_value}, w);
    m.ops.values = watched_values;
    return m;
}

/* ---- the call ---- */

enum { LARGEST = 600 };

/* Everything that a call writes. */
typedef struct outputs {
    double loss, group_loss[3];
    float g[LARGEST];
    submod_loss_info info;
} outputs;

static const outputs untouched = {.loss = 7, .group_loss = {7, 7, 7}, .g = {7, 7}};

static bool is_untouched(const void *out)
{
    return memcmp(out, (const void *)&untouched, sizeof untouched) == 0;
}

static submod_status run(const batch *d, kind k, const submod_loss_settings *given,
                         const submod_measure *m, outputs *to)
{
    float *x = as_floats(d);
    submod_scores scores = submod_scores_f32(x, d->B, d->C, d->N);
    submod_labels labels = label_view(d);
    submod_gradient gradient = submod_gradient_dense(to->g, d->C, d->N);
    submod_loss_settings s = *given;
    s.measure = m;
    s.group_loss = to->group_loss;
    submod_status status = call_views(k, &scores, &labels, &to->loss, &gradient, &to->info, &s);
    free(x);
    return status;
}

/* 0, 1: the batch as one group; 2, 3: images whose tables do not all fit, so that gradients are
 * written before the last one is solved for. */
static submod_loss_settings settings_of(int variant)
{
    submod_loss_settings s = submod_loss_defaults();
    s.engine = (submod_engine)(variant % 2);
    s.bins = 16;
    s.per_image = variant / 2;
    s.classes = SUBMOD_CLASSES_ALL;
    return s;
}
enum { VARIANTS = 4 };

/* ---- values ---- */

/* One call for many pairs, or one for each: the same bits. And those of Jaccard, but for rounding.
 */
START_TEST(both_callbacks_are_jaccard)
{
    static const kind kinds[] = {SOFTMAX, SIGMOID, HINGE};
    submod_rng rng;
    submod_rng_seed(&rng, 181);
    for (int i = 0; i < 3 * VARIANTS; i++) {
        kind k = kinds[i % 3];
        batch d = random_batch(&rng, k, 3, k == HINGE ? 1 : 4, 50, false);
        submod_loss_settings s = settings_of(i / 3);
        watch w = {.size = 1};
        submod_measure values = watched(&w),
                       value =
                           submod_measure_custom(&(submod_measure_ops){.value = watched_value}, &w);
        outputs plain, by_value, by_values;
        ck_assert_ok(run(&d, k, &s, NULL, &plain));
        ck_assert_ok(run(&d, k, &s, &value, &by_value));
        ck_assert_ok(run(&d, k, &s, &values, &by_values));
        ck_assert(by_value.loss == by_values.loss);
        ck_assert_near(by_value.loss, plain.loss, 1e-13);
        for (size_t j = 0; j < d.B * d.C * d.N; j++) {
            ck_assert(by_value.g[j] == by_values.g[j]);
            ck_assert_near((double)by_value.g[j], (double)plain.g[j], 1e-7);
        }
        free_batch(&d);
    }
}
END_TEST

/* Histogram: three points for what all of the foreground costs, then all bins in one call. Exact:
 * three, where the ranking begins, and one per run of equal errors. */
START_TEST(how_often_it_is_asked)
{
    enum { N = 600 };
    submod_rng rng;
    submod_rng_seed(&rng, 182);
    batch d = random_batch(&rng, HINGE, 1, 1, N, false);
    submod_loss_settings s = settings_of(1);
    watch w = {.size = 1};
    submod_measure m = watched(&w);
    outputs out;
    ck_assert_ok(run(&d, HINGE, &s, &m, &out));
    ck_assert_uint_eq(w.calls, 2);
    ck_assert_uint_eq(w.points, 3 + 2 * 16 + 1);

    s = settings_of(0);
    for (size_t i = 0; i < N; i++) { /* all errors differ, and all count: F grows to the end */
        d.x[i] = (d.y[i] == 1 ? -1 : 1) * (double)(i + 2) / N;
    }
    d.x[0] = 0;
    d.y[0] = 1; /* the smallest error is in the foreground */
    w = (watch){.size = 1};
    ck_assert_ok(run(&d, HINGE, &s, &m, &out));
    ck_assert_uint_eq(w.points, 3 + 1 + N);

    for (size_t i = 0; i < N; i++) { /* five margins at each label */
        d.y[i] = (int64_t)(i % 2);
        d.x[i] = (d.y[i] == 1 ? -0.25 : 0.25) * (double)(i / 2 % 5);
    }
    w = (watch){.size = 1};
    ck_assert_ok(run(&d, HINGE, &s, &m, &out));
    ck_assert_uint_eq(w.points, 3 + 1 + 9); /* the last of the background is left out: it is free */
    free_batch(&d);
}
END_TEST

/* A class that is left out is not asked about, nor is a group without pixels. */
START_TEST(nobody_asks_about_classes_that_are_left_out)
{
    static const double weights[4] = {1, 0, 1, 1};
    submod_rng rng;
    submod_rng_seed(&rng, 183);
    batch d = random_batch(&rng, SOFTMAX, 2, 4, 30, false);
    for (size_t i = 0; i < 30; i++) {
        d.y[i] = (int64_t)(i % 3); /* class 3 is absent, and all of the second image ignored */
        d.y[30 + i] = 9;
    }
    for (int variant = 0; variant < VARIANTS; variant++) {
        submod_loss_settings s = settings_of(variant);
        watch w = {.size = 1, .seen = malloc(MOST * sizeof(point))};
        submod_measure m = watched(&w);
        outputs out;
        s.classes = SUBMOD_CLASSES_PRESENT;
        s.class_weight = weights;
        s.has_ignore = 1;
        s.ignore_index = 9;
        ck_assert_ok(run(&d, SOFTMAX, &s, &m, &out));
        ck_assert_uint_gt(w.points, 2);
        for (size_t i = 0; i < w.points; i++) {
            ck_assert(w.seen[i].P == 10 && w.seen[i].N == 20);
        }
        free(w.seen);
    }
    free_batch(&d);
}
END_TEST

/* ---- failures ---- */

static void refuse(const batch *d, kind k, const submod_loss_settings *s, watch *w, int status,
                   const char *words)
{
    submod_measure m = watched(w);
    outputs out = untouched;
    assert_error(run(d, k, s, &m, &out), status, words);
    ck_assert(is_untouched(&out));
}

/* At every point that is asked for, in every image: the message names it, nothing is written. */
START_TEST(failures_leave_outputs_untouched)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    submod_rng rng;
    submod_rng_seed(&rng, 184);
    for (int i = 0; i < 3 * VARIANTS; i++) {
        kind k = i % 3 == 0 ? HINGE : i % 3 == 1 ? SOFTMAX : SIGMOID_PROBABILITY;
        batch d = random_batch(&rng, k, 3, k == HINGE ? 1 : 3, 7, false);
        for (size_t j = 0; k == SIGMOID_PROBABILITY && j < d.B * d.C * d.N; j++) {
            d.x[j] = (double)(float)submod_rng_uniform(&rng);
        }
        submod_loss_settings s = settings_of(i / 3);
        watch w = {.size = 1, .seen = malloc(MOST * sizeof(point))};
        submod_measure m = watched(&w);
        outputs out;
        ck_assert_ok(run(&d, k, &s, &m, &out));
        ck_assert_uint_lt(w.points, MOST);
        for (size_t j = 0; j < w.points; j++) {
            char words[200];
            const point *p = &w.seen[j];
            watch failing = {.size = 1, .at = p, .failure = bad[j % 3]};
            snprintf(words, sizeof words, "F(a = %g, b = %g) = %g with P = %g, N = %g", p->a, p->b,
                     failing.failure, p->P, p->N);
            refuse(&d, k, &s, &failing, SUBMOD_ECALLBACK, words);
        }
        free(w.seen);
        free_batch(&d);
    }
}
END_TEST

/* Jaccard, which fails when most pixels are wrong. Threads may share it. */
static double fails_late(double a, double b, double P, double N, void *ctx)
{
    (void)ctx;
    bool late = a + b > 0.6 * (P + N) && !(a == P && b == N);
    return late ? NAN : a + b > 0 ? (a + b) / (P + b) : 0;
}

/* Where several classes, or parts of one, fail side by side, the first is told. */
START_TEST(the_first_failure_is_told)
{
    enum { N = 40000 };
    submod_rng rng;
    submod_rng_seed(&rng, 190);
    submod_measure m = submod_measure_custom(&(submod_measure_ops){.value = fails_late}, NULL);
    for (int i = 0; i < 4; i++) {
        kind k = i / 2 ? SOFTMAX : HINGE;
        batch d = random_batch(&rng, k, 2, k == HINGE ? 1 : 3, N, false);
        submod_loss_settings s = settings_of(i);
        float *x = as_floats(&d);
        submod_scores scores = submod_scores_f32(x, d.B, d.C, d.N);
        submod_labels labels = label_view(&d);
        char first[300] = "";
        d.y[0] = 1; /* hopelessly right, so that all of the background matters */
        x[d.C > 1 ? N : 0] = 100;
        s.measure = &m;
        for (int threads = 1; threads <= 4; threads++) {
            double loss = 7;
            ck_assert_ok(submod_set_num_threads(threads));
            assert_error(call_views(k, &scores, &labels, &loss, NULL, NULL, &s), SUBMOD_ECALLBACK,
                         threads > 1 ? first : "F(a = ");
            ck_assert(loss == 7);
            snprintf(first, sizeof first, "%s", submod_last_error());
        }
        ck_assert_ok(submod_set_num_threads(0));
        free(x);
        free_batch(&d);
    }
}
END_TEST

START_TEST(nothing_wrong_must_cost_nothing)
{
    submod_rng rng;
    submod_rng_seed(&rng, 185);
    batch d = random_batch(&rng, HINGE, 1, 1, 20, false);
    double P = 0;
    for (size_t i = 0; i < 20; i++) {
        P += (double)d.y[i];
    }
    const point origin = {0, 0, P, 20 - P};
    for (int engine = 0; engine < 2; engine++) {
        submod_loss_settings s = settings_of(engine);
        watch w = {.size = 1, .at = &origin, .failure = 0.5};
        refuse(&d, HINGE, &s, &w, SUBMOD_ECALLBACK, "must be 0 where nothing is wrong");
    }
    free_batch(&d);
}
END_TEST

/* F(P, N) bounds the derivatives. */
START_TEST(measures_too_large_for_a_gradient)
{
    submod_rng rng;
    submod_rng_seed(&rng, 186);
    batch d = random_batch(&rng, SOFTMAX, 1, 3, 20, false);
    for (int engine = 0; engine < 2; engine++) {
        submod_loss_settings s = settings_of(engine);
        watch w = {.size = 1e39};
        refuse(&d, SOFTMAX, &s, &w, SUBMOD_ENUMERIC, "too large for a float");
        w.size = 1e38;
        submod_measure m = watched(&w);
        outputs out;
        ck_assert_ok(run(&d, SOFTMAX, &s, &m, &out));
        for (size_t i = 0; i < 60; i++) {
            ck_assert(isfinite(out.g[i]));
        }
        s.measure = &m;
        w.size = 1e200; /* without a gradient there is no limit */
        ck_assert_near(call(&d, SOFTMAX, NULL, &s) / 1e200, out.loss / 1e38, 1e-12);
    }
    free_batch(&d);
}
END_TEST

/* ---- what is guaranteed ---- */

/* Half a bin times F(P, N), on average over groups and classes. */
START_TEST(delta_is_that_of_the_measure)
{
    submod_rng rng;
    submod_rng_seed(&rng, 187);
    for (int i = 0; i < 20; i++) {
        batch d = random_batch(&rng, SOFTMAX, 3, 4, 40, false);
        submod_loss_settings s = settings_of(1);
        s.per_image = i % 2;
        watch w = {.size = i % 3 ? 20 : 0.1};
        submod_measure m = watched(&w);
        outputs counted, exact;
        ck_assert_ok(run(&d, SOFTMAX, &s, &m, &counted));
        ck_assert_near(counted.info.delta, w.size / 32, 1e-12);
        s.engine = SUBMOD_ENGINE_EXACT;
        ck_assert_ok(run(&d, SOFTMAX, &s, &m, &exact));
        ck_assert(exact.info.delta == 0);
        ck_assert_near(counted.loss, exact.loss, counted.info.delta);
        free_batch(&d);
    }
}
END_TEST

/* ---- datasets ---- */

static submod_dataset *dataset_of(const batch *d)
{
    submod_dataset *all = NULL;
    float *x = as_floats(d);
    submod_scores scores = submod_scores_f32(x, d->B, d->C, d->N);
    submod_labels labels = label_view(d);
    ck_assert_ok(submod_dataset_create(d->C, 0.5 / 16, &all));
    ck_assert_ok(submod_dataset_add(all, &scores, &labels, NULL, NULL));
    free(x);
    return all;
}

static void gradient_of(const submod_dataset *all, const batch *d, float *g)
{
    float *x = as_floats(d);
    submod_scores scores = submod_scores_f32(x, d->B, d->C, d->N);
    submod_labels labels = label_view(d);
    submod_gradient to = submod_gradient_dense(g, d->C, d->N);
    ck_assert_ok(submod_dataset_gradient(all, &scores, &labels, &to, NULL, NULL));
    free(x);
}

/* The solution before stays. */
START_TEST(failures_leave_a_dataset_as_it_was)
{
    enum { C = 3, N = 20 };
    submod_rng rng;
    submod_rng_seed(&rng, 188);
    batch d = random_batch(&rng, SOFTMAX, 1, C, N, false);
    submod_dataset *all = dataset_of(&d);
    submod_loss_settings s = submod_loss_defaults();
    watch w = {.size = 1, .seen = malloc(MOST * sizeof(point))};
    submod_measure m = watched(&w);
    float g[C * N], h[C * N];
    double loss, class_loss[C];
    ck_assert_ok(submod_dataset_solve(all, &loss, class_loss, NULL));
    gradient_of(all, &d, g);
    s.measure = &m;
    submod_dataset *other = dataset_of(&d);
    ck_assert_ok(submod_dataset_solve(other, &loss, class_loss, &s));
    ck_assert_uint_eq(w.points, C * 33);
    for (size_t i = 0; i < w.points; i++) {
        watch failing = {.size = 1, .at = &w.seen[i], .failure = NAN};
        submod_measure bad = watched(&failing);
        double untold[C] = {7, 7, 7};
        s.measure = &bad;
        loss = 7;
        assert_error(submod_dataset_solve(all, &loss, untold, &s), SUBMOD_ECALLBACK, "F(a = ");
        ck_assert(loss == 7 && untold[0] == 7 && untold[1] == 7 && untold[2] == 7);
        gradient_of(all, &d, h);
        ck_assert_mem_eq(g, h, sizeof g);
        assert_error(submod_dataset_solve(other, &loss, NULL, &s), SUBMOD_ECALLBACK, "F(a = ");
    }
    free(w.seen);
    submod_dataset_free(all);
    submod_dataset_free(other);
    free_batch(&d);
}
END_TEST

/* Every allocation fails once. */
START_TEST(memory_runs_out)
{
    submod_rng rng;
    submod_rng_seed(&rng, 189);
    batch d = random_batch(&rng, SOFTMAX, 3, 3, 10, false);
    watch w = {.size = 1};
    submod_measure m = watched(&w);
    submod_loss_settings s;
    allocations.left = -1;
    ck_assert_ok(submod_set_allocator(&counting_allocator));
    submod_dataset *all = dataset_of(&d);
    long before = allocations.live;
    for (int variant = 0; variant <= VARIANTS; variant++) {
        submod_status status = SUBMOD_ENOMEM;
        s = settings_of(variant % VARIANTS);
        for (long limit = 0; status == SUBMOD_ENOMEM; limit++) {
            outputs out = untouched;
            allocations.left = limit;
            s.measure = &m;
            status = variant < VARIANTS ? run(&d, SOFTMAX, &s, &m, &out)
                                        : submod_dataset_solve(all, &out.loss, NULL, &s);
            ck_assert(status == SUBMOD_OK || is_untouched(&out));
            ck_assert_int_eq(allocations.live, before);
        }
        ck_assert_int_eq(status, SUBMOD_OK);
    }
    allocations.left = -1;
    submod_dataset_free(all);
    ck_assert_int_eq(allocations.live, 0);
    ck_assert_ok(submod_set_allocator(NULL));
    free_batch(&d);
}
END_TEST

int main(void)
{
    return RUN_TESTS("measure_callbacks", both_callbacks_are_jaccard, how_often_it_is_asked,
                     nobody_asks_about_classes_that_are_left_out, failures_leave_outputs_untouched,
                     the_first_failure_is_told, nothing_wrong_must_cost_nothing,
                     measures_too_large_for_a_gradient, delta_is_that_of_the_measure,
                     failures_leave_a_dataset_as_it_was, memory_runs_out);
}
