/* Hostile calls: sizes whose products overflow, fork, input that changes during a call, endless
 * nesting, numbers at the ends of their range. Each ends soon, with a result or a status. */
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "combinations.h"
#include "depth.h"
#include "support.h"

/* ---- sizes ---- */

static const size_t many = (size_t)1 << 60; /* times 16 it is 0 */

/* Every loss of a batch where the images or the pixels are none. */
static void lose_nothing(size_t batch, size_t classes, size_t pixels, const submod_loss_settings *s)
{
    const submod_scores scores = submod_scores_f32(NULL, batch, classes, pixels);
    const submod_scores one = submod_scores_f32(NULL, batch, 1, pixels);
    const submod_labels labels = submod_labels_u8(NULL, batch, pixels);
    const submod_labels multi =
        submod_labels_multilabel(NULL, SUBMOD_LABEL_U8, batch, classes, pixels);
    const submod_gradient g = submod_gradient_dense(NULL, classes, pixels);
    double loss[10];
    memset(loss, 1, sizeof loss);
    ck_assert_ok(submod_lovasz_softmax(&scores, &labels, &loss[0], &g, s, NULL, NULL));
    ck_assert_ok(submod_lovasz_sigmoid(&scores, &multi, &loss[1], &g, s, NULL, NULL));
    ck_assert_ok(submod_lovasz_hinge(&one, &labels, &loss[2], &g, s, NULL, NULL));
    ck_assert_ok(submod_cross_entropy(&scores, &labels, &loss[3], &g, s, NULL));
    ck_assert_ok(submod_hinge(&one, &labels, &loss[4], &g, s, NULL));
    ck_assert_ok(submod_rahman_wang(&one, &labels, &loss[5], &g, s, NULL));
    ck_assert_ok(submod_soft_dice(&scores, &labels, &loss[6], &g, s, NULL));
    ck_assert_ok(submod_soft_jaccard(&scores, &labels, &loss[7], &g, s, NULL));
    ck_assert_ok(
        submod_jaccard_metric(&scores, &scores, SUBMOD_OVERLAP_MIN, &loss[8], &g, s, NULL));
    ck_assert_ok(submod_dice_metric(&scores, &scores, SUBMOD_OVERLAP_MIN, &loss[9], &g, s, NULL));
    for (size_t i = 0; i < 10; i++) {
        ck_assert_double_eq(loss[i], 0);
    }
    ck_assert_ok(submod_prox_hinge_layer(&one, &labels, 1, &g, &g, s, NULL, NULL, NULL));
    size_t bytes = 0;
    ck_assert_ok(submod_gpu_loss_workspace(SUBMOD_GPU_SOFTMAX, &scores, &bytes, s));
    ck_assert_ok(submod_gpu_prox_workspace(&scores, 16, &bytes));
}

START_TEST(many_times_nothing)
{
    for (int per_image = 0; per_image < 2; per_image++) {
        for (int engine = 0; engine < 2; engine++) {
            submod_loss_settings s = submod_loss_defaults();
            s.engine = (submod_engine)engine;
            s.per_image = per_image;
            s.classes = SUBMOD_CLASSES_ALL;
            lose_nothing(many, 16, 0, &s);
            lose_nothing(many, 2, 0, &s);
            lose_nothing(0, 16, many, &s);
            lose_nothing(0, 2, SIZE_MAX, &s);
        }
    }
}
END_TEST

START_TEST(histogram_of_nothing)
{
    const submod_scores scores = submod_scores_f32(NULL, many, 16, 0);
    const submod_labels labels = submod_labels_u8(NULL, many, 0);
    const submod_gradient g = submod_gradient_dense(NULL, 16, 0);
    submod_dataset *h = NULL;
    double loss = 1;
    ck_assert_ok(submod_dataset_create(16, 0.01, &h));
    ck_assert_ok(submod_dataset_add(h, &scores, &labels, NULL, NULL));
    ck_assert_ok(submod_dataset_solve(h, &loss, NULL, NULL));
    ck_assert_ok(submod_dataset_gradient(h, &scores, &labels, &g, NULL, NULL));
    ck_assert_double_eq(loss, 0);
    submod_dataset_free(h);
}
END_TEST

/* Products of sizes that overflow become strides that nothing can be reached with. */
START_TEST(strides_out_of_memory)
{
    const size_t big = (size_t)1 << 40;
    static const uint8_t label[4];
    static const float score[4];
    float g[4] = {7, 7, 7, 7};
    submod_labels multi = submod_labels_multilabel(label, SUBMOD_LABEL_I64, big, big, big);
    ck_assert_int_eq(multi.batch_stride, PTRDIFF_MAX);
    ck_assert_int_eq(submod_scores_dense(score, SUBMOD_SCORE_F16, 1, big, big).batch_stride,
                     PTRDIFF_MAX);
    ck_assert_int_eq(submod_gradient_dense(g, big, big).batch_stride, PTRDIFF_MAX);

    submod_scores scores = submod_scores_f32(score, 2, 1, 2);
    submod_labels labels = submod_labels_u8(label, 2, 2);
    submod_gradient gradient = submod_gradient_dense(g, 1, 2);
    double value = 7;
    submod_labels far = labels;
    far.batch_stride = PTRDIFF_MIN;
    assert_error(submod_miou_image(&far, &labels, 2, &value, NULL), SUBMOD_EINVAL,
                 "strides of prediction");
    assert_error(submod_lovasz_hinge(&scores, &far, &value, NULL, NULL, NULL, NULL), SUBMOD_EINVAL,
                 "strides of labels");
    submod_scores far_scores = scores;
    far_scores.pixel_stride = PTRDIFF_MAX / 4;
    assert_error(submod_lovasz_hinge(&far_scores, &labels, &value, NULL, NULL, NULL, NULL),
                 SUBMOD_EINVAL, "strides of scores");
    submod_gradient far_gradient = gradient;
    far_gradient.batch_stride = PTRDIFF_MAX;
    assert_error(submod_lovasz_hinge(&scores, &labels, &value, &far_gradient, NULL, NULL, NULL),
                 SUBMOD_EINVAL, "strides of gradient");
    ck_assert(value == 7 && g[0] == 7);
    submod_scores around = submod_scores_f32(score, 2, 2, 2); /* 2^64 + 6 beyond the first */
    around.batch_stride = around.class_stride = PTRDIFF_MAX;
    around.pixel_stride = 8;
    assert_error(submod_lovasz_softmax(&around, &labels, &value, NULL, NULL, NULL, NULL),
                 SUBMOD_EINVAL, "strides of scores");
    submod_scores two = submod_scores_f32(score, 1, 2, 1);
    submod_labels each = submod_labels_multilabel(label, SUBMOD_LABEL_U8, 1, 2, 1);
    each.class_stride = PTRDIFF_MAX;
    assert_error(submod_lovasz_sigmoid(&two, &each, &value, NULL, NULL, NULL, NULL), SUBMOD_EINVAL,
                 "strides of labels");
}
END_TEST

START_TEST(means_over_images_without_pixels)
{
    const size_t images = (size_t)1 << 40;
    const submod_labels none = submod_labels_u8(NULL, images, 0);
    const double expected[] = {1, 0};
    for (int absent = SUBMOD_ABSENT_ONE; absent <= SUBMOD_ABSENT_TRUTH; absent++) {
        submod_metric_settings s = submod_metric_defaults();
        s.absent = (submod_absent)absent;
        submod_miou *m = NULL;
        submod_miou_values v;
        ck_assert_ok(submod_miou_create(3, &m, &s));
        ck_assert_ok(submod_miou_add(m, &none, &none));
        ck_assert_ok(submod_miou_get(m, &v));
        ck_assert_uint_eq(v.images, absent <= SUBMOD_ABSENT_ZERO ? images : 0);
        ck_assert_uint_eq(v.batches, absent <= SUBMOD_ABSENT_ZERO);
        if (absent <= SUBMOD_ABSENT_ZERO) {
            ck_assert_double_eq(v.image, expected[absent]);
        } else {
            ck_assert(isnan(v.image));
        }
        submod_miou_free(m);
    }
}
END_TEST

START_TEST(more_images_than_can_be_counted)
{
    const submod_labels none = submod_labels_u8(NULL, SIZE_MAX, 0);
    submod_miou *m = NULL;
    submod_miou_values v;
    ck_assert_ok(submod_miou_create(3, &m, NULL));
    ck_assert_ok(submod_miou_add(m, &none, &none));
    assert_error(submod_miou_add(m, &none, &none), SUBMOD_ENUMERIC, "images");
    assert_error(submod_miou_merge(m, m), SUBMOD_ENUMERIC, "images");
    ck_assert_ok(submod_miou_get(m, &v));
    ck_assert_uint_eq(v.images, SIZE_MAX);
    ck_assert_uint_eq(v.batches, 1);
    submod_miou_free(m);
}
END_TEST

/* ---- fork ---- */

enum { SORTED = 1 << 17 }; /* enough for two threads */
static int two_threads;    /* what a request for two gives: one without OpenMP */

static double *descending(void)
{
    double *x = malloc(SORTED * sizeof *x);
    ck_assert_ptr_nonnull(x);
    for (size_t i = 0; i < SORTED; i++) {
        x[i] = -(double)i;
    }
    return x;
}

/* Sorts what is sorted. */
static int sorts_well(const double *x)
{
    int32_t *order = malloc(SORTED * sizeof *order);
    int good = order && submod_argsort(x, SORTED, order, NULL) == SUBMOD_OK;
    for (int32_t i = 0; good && i < SORTED; i++) {
        good = order[i] == i;
    }
    free(order);
    return good;
}

static void *sort_in_thread(void *x)
{
    return submod_get_num_threads() == two_threads && sorts_well(x) ? x : NULL;
}

/* 0 when all is well; the alarm ends it when it hangs. */
static int compute_in_child(double *x, int threads)
{
    signal(SIGALRM, SIG_DFL);
    alarm(30);
    if (!sorts_well(x) || submod_get_num_threads() != threads) {
        return 1;
    }
    submod_set_num_threads(2); /* of no use to a thread that has lost its team */
    if (!sorts_well(x) || submod_get_num_threads() != threads) {
        return 2;
    }
#ifndef SUBMOD_TESTS_WATCH_RACES /* it knows no threads after fork */
    pthread_t thread;
    void *result = NULL;
    if (pthread_create(&thread, NULL, sort_in_thread, x) || pthread_join(thread, &result) ||
        result != x) {
        return 3;
    }
#endif
    return 0;
}

static void check_child(double *x, int threads)
{
    pid_t child = fork();
    if (child == 0) {
        _exit(compute_in_child(x, threads));
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status), "killed by signal %d", WTERMSIG(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}

START_TEST(compute_after_fork)
{
    double *x = descending();
    ck_assert_ok(submod_set_num_threads(2));
    two_threads = submod_get_num_threads();
#ifdef _OPENMP
    ck_assert_int_eq(two_threads, 2);
#endif
    check_child(x, two_threads); /* nothing was parallel before */
    ck_assert(sorts_well(x));
    check_child(x, 1);
    ck_assert_int_eq(submod_get_num_threads(), two_threads); /* nothing has changed here */
    ck_assert(sorts_well(x));
    free(x);
}
END_TEST

/* ---- input that changes ---- */

#ifndef SUBMOD_TESTS_WATCH_RACES /* the race is on purpose */
/* Memory that ends where the next page may not be touched. */
static void *at_the_edge(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int zeros = open("/dev/zero", O_RDWR);
    char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, zeros, 0);
    close(zeros);
    ck_assert(memory != MAP_FAILED);
    ck_assert_int_eq(mprotect(memory + page, page, PROT_NONE), 0);
    return memory + page - bytes;
}

enum { RACED = 16, TRIES = FEWER ? 5000 : 100000 };
static double *raced_f64;
static uint8_t *raced_labels;
static atomic_int race_over;

static void *keep_changing(void *unused)
{
    while (!atomic_load(&race_over)) {
        *(volatile double *)raced_f64 = NAN;
        *(volatile uint8_t *)raced_labels = 9;
        *(volatile double *)raced_f64 = 0;
        *(volatile uint8_t *)raced_labels = 0;
    }
    return unused;
}

/* A loss by either engine; labels are counted first and decoded again in every pass. */
static void lose_meanwhile(int engine)
{
    static const float x[2 * RACED];
    const submod_scores scores = submod_scores_f32(x, 1, 2, RACED);
    const submod_labels labels = submod_labels_u8(raced_labels, 1, RACED);
    float g[2 * RACED];
    const submod_gradient to = submod_gradient_dense(g, 2, RACED);
    submod_loss_settings s = submod_loss_defaults();
    s.engine = (submod_engine)engine;
    s.bins = 2;
    double loss;
    submod_status status = submod_lovasz_softmax(&scores, &labels, &loss, &to, &s, NULL, NULL);
    ck_assert(status == SUBMOD_OK || status == SUBMOD_EINVAL);
}

START_TEST(changing_input)
{
    static const uint8_t prediction[RACED];
    const submod_labels p = submod_labels_u8(prediction, 1, RACED);
    submod_confusion *c = NULL;
    pthread_t thread;
    raced_f64 = memset(at_the_edge(RACED * sizeof(double)), 0, RACED * sizeof(double));
    raced_labels = memset(at_the_edge(RACED), 0, RACED);
    const submod_labels t = submod_labels_u8(raced_labels, 1, RACED);
    ck_assert_ok(submod_confusion_create(2, &c, NULL));
    ck_assert_int_eq(pthread_create(&thread, NULL, keep_changing, NULL), 0);
    for (int i = 0; i < TRIES; i++) {
        submod_fn *fn = NULL;
        int status = submod_fn_modular(RACED, raced_f64, &fn);
        ck_assert(status == SUBMOD_OK || status == SUBMOD_ENONFINITE);
        submod_fn_free(fn);
        double u[RACED];
        submod_prox_settings settings = submod_prox_defaults();
        settings.accuracy = 1;
        ck_assert_ok(submod_fn_jaccard(RACED, prediction, &fn));
        status = submod_prox(fn, raced_f64, 1, u, NULL, &settings, NULL, NULL);
        submod_fn_free(fn);
        ck_assert(status != SUBMOD_EINVAL && status != SUBMOD_ENOMEM);
        status = submod_confusion_add(c, &p, &t);
        ck_assert(status == SUBMOD_OK || status == SUBMOD_EINVAL);
        lose_meanwhile(i % 2);
    }
    atomic_store(&race_over, 1);
    pthread_join(thread, NULL);
    submod_confusion_free(c);
}
END_TEST
#else
START_TEST(changing_input)
{
}
END_TEST
#endif

/* ---- nesting ---- */

enum { NESTED = FEWER ? 40000 : 200000, N = 6 };

static submod_fn *replace(submod_fn *old, submod_fn *new)
{
    submod_fn_free(old);
    return new;
}

/* fn = factor * sqrt|A| + shift |A|, by eval and by a chain. */
static void check_nested(const submod_fn *fn, double factor, double shift)
{
    const int32_t order[N] = {0, 1, 2, 3, 4, 5};
    double gains[N], value = 0, tolerance = 1e-9 * (1 + fabs(factor) + fabs(shift));
    ck_assert_ok(submod_fn_eval(fn, order, 4, &value));
    ck_assert_near(value, 2 * factor + 4 * shift, tolerance);
    ck_assert_ok(submod_fn_chain(fn, order, N, gains, NULL));
    ck_assert_near(gains[0] + gains[1] + gains[2] + gains[3], 2 * factor + 4 * shift, tolerance);
}

START_TEST(nested_sums)
{
    submod_fn *f = NULL, *g = NULL, *next = NULL;
    ck_assert_ok(submod_fn_concave(N, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &g));
    f = submod_fn_retain(g);
    for (int i = 0; i < NESTED; i++) {
        submod_fn *const both[2] = {f, g};
        ck_assert_ok(combine_sum(both, NULL, 2, &next));
        f = replace(f, next);
    }
    check_nested(f, 1.0 + NESTED, 0);
    submod_fn_free(f);
    submod_fn_free(g);
}
END_TEST

/* Coefficients multiply for as long as the product is a normal number. */
START_TEST(nested_scales)
{
    const double factors[] = {1, 0.5, 0, 2};
    const int most[] = {NESTED, 1022, NESTED, 1023};
    for (size_t k = 0; k < 4; k++) {
        submod_fn *f = NULL, *next = NULL;
        int i = 0, status = SUBMOD_OK;
        ck_assert_ok(
            submod_fn_concave(N, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &f));
        for (; i < NESTED && status == SUBMOD_OK; i++) {
            status = combine_scaled(f, factors[k], &next);
            f = status == SUBMOD_OK ? replace(f, next) : f;
        }
        i -= status != SUBMOD_OK;
        ck_assert_int_eq(i, most[k]);
        ck_assert_int_eq(status, i < NESTED ? SUBMOD_ENUMERIC : SUBMOD_OK);
        double factor = factors[k] == 0 ? 0 : ldexp(1, k == 1 ? -i : k == 3 ? i : 0), value = 7;
        ck_assert_ok(submod_fn_eval(f, (int32_t[]){0}, 1, &value));
        ck_assert_double_eq(value, factor);
        submod_fn_free(f);
    }
}
END_TEST

START_TEST(nested_minors)
{
    const int32_t reversed[N] = {5, 4, 3, 2, 1, 0};
    submod_fn *f = NULL, *next = NULL;
    ck_assert_ok(submod_fn_concave(N, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &f));
    for (int i = 0; i < NESTED; i++) {
        ck_assert_ok(i % 2 ? submod_fn_contract(f, NULL, 0, &next)
                           : submod_fn_restrict(f, reversed, N, &next));
        f = replace(f, next);
    }
    check_nested(f, 1, 0);
    submod_fn_free(f);
}
END_TEST

START_TEST(nested_modular_parts)
{
    const double w[N] = {1, 1, 1, 1, 1, 1}, huge[N] = {1e308, 1e308, 1e308, 1e308, 1e308, 1e308};
    submod_fn *f = NULL, *next = NULL;
    ck_assert_ok(submod_fn_concave(N, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &f));
    for (int i = 0; i < NESTED; i++) {
        ck_assert_ok(combine_plus(f, w, &next));
        f = replace(f, next);
    }
    check_nested(f, 1, NESTED);
    ck_assert_ok(combine_plus(f, huge, &next));
    f = replace(f, next);
    assert_error(combine_plus(f, huge, &next), SUBMOD_ENUMERIC, "modular part");
    submod_fn_free(f);
}
END_TEST

/* Different kinds in turn are one flat function, however deep. */
START_TEST(deepest_nesting)
{
    const double w[N] = {0}, z[N] = {0};
    const int32_t all[N] = {0, 1, 2, 3, 4, 5};
    submod_fn *f = NULL, *next = NULL;
    ck_assert_ok(submod_fn_concave(N, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &f));
    for (int i = 0; i < NESTED; i++) {
        ck_assert_ok(i % 3 == 0   ? combine_scaled(f, 1, &next)
                     : i % 3 == 1 ? combine_plus(f, w, &next)
                                  : submod_fn_restrict(f, all, N, &next));
        f = replace(f, next);
    }
    uint8_t in[N];
    double lowest = 7;
    check_nested(f, 1, 0);
    ck_assert_ok(minimize_minor(f, NULL, 0, all, N, z, 0, in, &lowest));
    ck_assert_double_eq(lowest, 0);
    submod_fn_free(f);
}
END_TEST

/* Minors of minors and sums of sums say what their definitions say. */
START_TEST(merged_functions)
{
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    for (size_t k = 0; k < family_count; k++) {
        submod_fn *F = families[k].make(N, &rng);
        submod_fn *a = NULL, *b = NULL, *c = NULL, *d = NULL, *e = NULL, *s = NULL;
        ck_assert_ok(submod_fn_contract(F, (int32_t[]){2}, 1, &a));          /* 0 1 3 4 5 */
        ck_assert_ok(submod_fn_restrict(a, (int32_t[]){4, 3, 1, 0}, 4, &b)); /* 5 4 1 0 */
        ck_assert_ok(submod_fn_contract(b, (int32_t[]){1}, 1, &c));          /* 5 1 0 */
        ck_assert_ok(submod_fn_contract(a, (int32_t[]){3}, 1, &e));          /* 0 1 3 5 */
        submod_fn *const same[2] = {c, c};
        ck_assert_ok(combine_sum(same, (double[]){2, 0.5}, 2, &s));
        submod_fn *const sums[2] = {s, c};
        ck_assert_ok(combine_sum(sums, (double[]){3, 1}, 2, &d));
        double base, whole, value, first;
        ck_assert_ok(submod_fn_eval(F, (int32_t[]){2, 4}, 2, &base));
        ck_assert_ok(submod_fn_eval(F, (int32_t[]){2, 4, 5, 0}, 4, &whole));
        ck_assert_ok(submod_fn_eval(c, (int32_t[]){0, 2}, 2, &value));
        ck_assert_near(value, whole - base, 1e-12 * (1 + fabs(whole) + fabs(base)));
        ck_assert_ok(submod_fn_eval(e, (int32_t[]){0, 3}, 2, &value));
        ck_assert_near(value, whole - base, 1e-12 * (1 + fabs(whole) + fabs(base)));
        ck_assert_ok(submod_fn_eval(F, (int32_t[]){2}, 1, &first));
        ck_assert_ok(submod_fn_eval(b, (int32_t[]){3, 1, 0}, 3, &value));
        ck_assert_near(value, whole - first, 1e-12 * (1 + fabs(whole) + fabs(first)));
        ck_assert_ok(submod_fn_eval(d, (int32_t[]){0, 2}, 2, &value));
        ck_assert_near(value, 8.5 * (whole - base), 1e-11 * (1 + fabs(whole) + fabs(base)));
        submod_check_report report;
        ck_assert_ok(submod_fn_check(d, &report, NULL));
        ck_assert_msg(report.consistent && report.submodular, "%s", families[k].name);
        submod_check_report_clear(&report);
        submod_fn_free(F);
        submod_fn_free(a);
        submod_fn_free(b);
        submod_fn_free(c);
        submod_fn_free(d);
        submod_fn_free(e);
        submod_fn_free(s);
    }
}
END_TEST

/* ---- numbers at the ends of their range ---- */

START_TEST(prox_with_little_lambda)
{
    const float score[4] = {-5, 5, 3, -7}; /* the last two are right by more than 1 */
    const uint8_t label[4] = {1, 0, 1, 0};
    const float expected[4] = {1, -1, 3, -7};
    const double lambdas[] = {1e-3, 1e-30, 1e-44, 1e-50, 1e-100, 1e-300};
    const submod_scores scores = submod_scores_f32(score, 1, 1, 4);
    const submod_labels labels = submod_labels_u8(label, 1, 4);
    for (size_t k = 0; k < 6; k++) {
        float moved[4], slope[4];
        const submod_gradient u = submod_gradient_dense(moved, 1, 4);
        const submod_gradient g = submod_gradient_dense(slope, 1, 4);
        ck_assert_ok(
            submod_prox_hinge_layer(&scores, &labels, lambdas[k], &u, &g, NULL, NULL, NULL, NULL));
        for (size_t i = 0; i < 4; i++) {
            ck_assert_near((double)moved[i], (double)expected[i], 1e-6);
            double exact = lambdas[k] * ((double)score[i] - (double)expected[i]);
            ck_assert_near((double)slope[i], exact, 1e-6 * fabs(exact) + 1e-45);
        }
    }
    float moved[4] = {9, 9, 9, 9};
    const submod_gradient u = submod_gradient_dense(moved, 1, 4);
    assert_error(
        submod_prox_hinge_layer(&scores, &labels, 1e-310, &u, NULL, NULL, NULL, NULL, NULL),
        SUBMOD_ENUMERIC, "overflow");
    ck_assert(moved[0] == 9);
}
END_TEST

START_TEST(prox_that_overflows_a_float)
{
    const float score[2] = {0, 3e38F};
    const uint8_t label[2] = {1, 1};
    const submod_scores scores = submod_scores_f32(score, 1, 1, 2);
    const submod_labels labels = submod_labels_u8(label, 1, 2);
    float moved[2] = {7, 3e38F};
    submod_gradient u = submod_gradient_dense(moved, 1, 2);
    u.scale = 2;
    assert_error(submod_prox_hinge_layer(&scores, &labels, 1, &u, NULL, NULL, NULL, NULL, NULL),
                 SUBMOD_ENUMERIC, "overflows a float");
    u.scale = 1;
    u.accumulate = 1;
    assert_error(submod_prox_hinge_layer(&scores, &labels, 1, &u, NULL, NULL, NULL, NULL, NULL),
                 SUBMOD_ENUMERIC, "overflows a float");
    ck_assert(moved[0] == 7 && moved[1] == 3e38F);
    moved[1] = INFINITY; /* was there before */
    ck_assert_ok(submod_prox_hinge_layer(&scores, &labels, 1, &u, NULL, NULL, NULL, NULL, NULL));
    ck_assert(moved[1] == INFINITY);
    u.accumulate = 0;
    u.scale = 1.1;
    ck_assert_ok(submod_prox_hinge_layer(&scores, &labels, 1, &u, NULL, NULL, NULL, NULL, NULL));
    ck_assert(moved[1] == 1.1F * 3e38F);
}
END_TEST

/* One number that is too large among many is enough, wherever it is. */
START_TEST(one_prox_that_overflows_a_float)
{
    enum { IMAGES = 2, PIXELS = 1100 }; /* of several tiles */
    static float score[IMAGES * PIXELS], moved[IMAGES * PIXELS], slope[IMAGES * PIXELS];
    static uint8_t label[IMAGES * PIXELS];
    const size_t places[] = {0, PIXELS - 1, PIXELS, IMAGES * PIXELS - 1};
    const submod_scores scores = submod_scores_f32(score, IMAGES, 1, PIXELS);
    const submod_labels labels = submod_labels_u8(label, IMAGES, PIXELS);
    submod_gradient u = submod_gradient_dense(moved, 1, PIXELS);
    submod_gradient g = submod_gradient_dense(slope, 1, PIXELS);
    for (size_t k = 0; k < 4; k++) {
        for (size_t i = 0; i < IMAGES * PIXELS; i++) {
            score[i] = i == places[k] ? -3e38F : 0;
        }
        u.scale = 2;
        assert_error(submod_prox_hinge_layer(&scores, &labels, 1, &u, &g, NULL, NULL, NULL, NULL),
                     SUBMOD_ENUMERIC, "overflows a float");
        u.scale = 1;
        ck_assert_ok(submod_prox_hinge_layer(&scores, &labels, 1, &u, &g, NULL, NULL, NULL, NULL));
        ck_assert(moved[places[k]] == -3e38F && slope[places[k]] == 0);
    }
}
END_TEST

START_TEST(gradients_that_overflow_a_float)
{
    const float score[2] = {0, 0};
    const uint8_t label[2] = {0, 1};
    const submod_labels labels = submod_labels_u8(label, 1, 2);
    const submod_scores one = submod_scores_f32(score, 1, 1, 2);
    float g[2] = {7, 7};
    double loss = 7;
    submod_gradient to = submod_gradient_dense(g, 1, 2);
    for (int k = 0; k < 2; k++) { /* too large by itself, and with its scale */
        submod_fn *fn = NULL;
        double w = k ? 1e30 : 1e300;
        to.scale = k ? 1e10 : 1;
        ck_assert_ok(submod_fn_modular(2, (double[]){w, w}, &fn));
        assert_error(submod_lovasz_hinge_function(fn, &one, &labels, &loss, &to, NULL, NULL),
                     SUBMOD_ENUMERIC, "overflows a float");
        ck_assert(loss == 7 && g[0] == 7);
        ck_assert_ok(submod_lovasz_hinge_function(fn, &one, &labels, &loss, NULL, NULL, NULL));
        ck_assert_near(loss, 2 * w, 1e-12 * w);
        loss = 7;
        submod_fn_free(fn);
    }
    const submod_scores two = submod_scores_f32(score, 1, 2, 1); /* one pixel, two classes */
    const submod_labels pixel = submod_labels_u8(label, 1, 1);
    submod_loss_settings s = submod_loss_defaults();
    s.smoothing = 1e-30;
    s.classes = SUBMOD_CLASSES_ALL;
    to = submod_gradient_dense(g, 2, 1);
    to.scale = 1e10;
    assert_error(submod_soft_dice(&two, &pixel, &loss, &to, &s, NULL), SUBMOD_ENUMERIC,
                 "overflows a float");
    submod_dataset *h = NULL;
    ck_assert_ok(submod_dataset_create(2, 0.01, &h));
    ck_assert_ok(submod_dataset_add(h, &two, &pixel, NULL, NULL));
    ck_assert_ok(submod_dataset_scale(h, 1e-19));
    ck_assert_ok(submod_dataset_solve(h, NULL, NULL, NULL));
    to.scale = 1e30;
    assert_error(submod_dataset_gradient(h, &two, &pixel, &to, NULL, NULL), SUBMOD_ENUMERIC,
                 "overflows a float");
    ck_assert(loss == 7 && g[0] == 7 && g[1] == 7);
    submod_dataset_free(h);
}
END_TEST

int main(void)
{
    return RUN_TESTS("hostile", many_times_nothing, histogram_of_nothing, strides_out_of_memory,
                     means_over_images_without_pixels, more_images_than_can_be_counted,
                     compute_after_fork, changing_input, nested_sums, nested_scales, nested_minors,
                     nested_modular_parts, deepest_nesting, merged_functions,
                     prox_with_little_lambda, prox_that_overflows_a_float,
                     one_prox_that_overflows_a_float, gradients_that_overflow_a_float);
}
