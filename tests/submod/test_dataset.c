/* Histograms across batches: they add, in any order and grouping, to the histogram engine's result
 * on all batches at once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { B = 6, C = 4, N = 4000, ALL = B * C * N }; /* enough for several threads */

typedef struct data {
    float x[ALL];
    uint8_t y[B * N];
} data;

static data *random_data(uint64_t seed)
{
    data *d = malloc(sizeof *d);
    submod_rng rng;
    submod_rng_seed(&rng, seed);
    for (int i = 0; i < ALL; i++) {
        d->x[i] = (float)(2 * submod_rng_normal(&rng));
    }
    for (int i = 0; i < B * N; i++) {
        d->y[i] = submod_rng_below(&rng, 10) ? (uint8_t)submod_rng_below(&rng, C - 1) : 255;
    }
    return d;
}

static submod_loss_settings settings_of(double delta)
{
    submod_loss_settings s = submod_loss_defaults();
    s.engine = SUBMOD_ENGINE_HISTOGRAM;
    s.delta = delta;
    s.has_ignore = 1;
    s.ignore_index = 255;
    return s;
}

/* Images first .. last-1. */
static void add(submod_dataset *h, const data *d, size_t first, size_t last)
{
    submod_scores scores = submod_scores_f32(d->x + first * C * N, last - first, C, N);
    submod_labels labels = submod_labels_u8(d->y + first * N, last - first, N);
    submod_loss_settings s = settings_of(0.001);
    ck_assert_ok(submod_dataset_add(h, &scores, &labels, &s, NULL));
}

static void gradient_of(const submod_dataset *h, const data *d, size_t first, size_t last, float *g)
{
    submod_scores scores = submod_scores_f32(d->x + first * C * N, last - first, C, N);
    submod_labels labels = submod_labels_u8(d->y + first * N, last - first, N);
    submod_gradient to = submod_gradient_dense(g, C, N);
    submod_loss_settings s = settings_of(0.001);
    ck_assert_ok(submod_dataset_gradient(h, &scores, &labels, &to, &s, NULL));
}

/* Batch by batch, merged from two, and all at once: the same counts, loss and gradients, which are
 * those of the histogram engine. */
START_TEST(histograms_add_up)
{
    data *d = random_data(1);
    float *expected = malloc(ALL * sizeof *expected), *g = malloc(ALL * sizeof *g);
    const submod_classes modes[2] = {SUBMOD_CLASSES_PRESENT, SUBMOD_CLASSES_ALL};
    for (int mode = 0; mode < 2; mode++) {
        submod_loss_settings s = settings_of(0.001);
        s.classes = modes[mode];
        submod_scores scores = submod_scores_f32(d->x, B, C, N);
        submod_labels labels = submod_labels_u8(d->y, B, N);
        submod_gradient to = submod_gradient_dense(expected, C, N);
        submod_loss_info info;
        double of_engine, loss, class_loss[C];
        ck_assert_ok(submod_lovasz_softmax(&scores, &labels, &of_engine, &to, &s, &info, NULL));
        submod_dataset *whole = NULL, *left = NULL, *right = NULL;
        ck_assert_ok(submod_dataset_create(C, s.delta, &whole));
        ck_assert_ok(submod_dataset_create(C, s.delta, &left));
        ck_assert_ok(submod_dataset_create(C, s.delta, &right));
        ck_assert_near(submod_dataset_delta(whole), info.delta, 0);
        add(whole, d, 0, B);
        add(left, d, 0, 1);
        add(left, d, 3, B);
        for (size_t b = 2; b > 0; b--) {
            add(right, d, b, b + 1);
        }
        ck_assert_ok(submod_dataset_merge(left, right));
        size_t classes, bins;
        const double *a = submod_dataset_counts(whole, &classes, &bins),
                     *b = submod_dataset_counts(left, NULL, NULL);
        ck_assert_uint_eq(classes, C);
        ck_assert_uint_eq(bins, info.bins);
        for (size_t k = 0; k < 2 * C * bins; k++) {
            ck_assert(a[k] == b[k]);
        }
        ck_assert_ok(submod_dataset_solve(left, &loss, class_loss, &s));
        ck_assert_near(loss, of_engine, 1e-15);
        ck_assert_int_eq(isnan(class_loss[C - 1]), mode == 0); /* class C - 1 does not occur */
        for (size_t image = 0; image < B; image++) {
            gradient_of(left, d, image, image + 1, g + image * C * N);
        }
        size_t different = 0;
        for (size_t i = 0; i < ALL; i++) {
            different += !(g[i] == expected[i]);
        }
        ck_assert_uint_eq(different, 0);
        submod_dataset_free(whole);
        submod_dataset_free(left);
        submod_dataset_free(right);
    }
    free(expected);
    free(g);
    free(d);
}
END_TEST

/* The loss depends on ratios of counts only: decay leaves it, and scales the gradient. */
START_TEST(decay)
{
    data *d = random_data(2);
    submod_dataset *h = NULL;
    double before, after;
    float *g = malloc(C * N * sizeof *g), *scaled = malloc(C * N * sizeof *scaled);
    ck_assert_ok(submod_dataset_create(C, 0.01, &h));
    add(h, d, 0, B);
    ck_assert_ok(submod_dataset_solve(h, &before, NULL, NULL));
    gradient_of(h, d, 0, 1, g);
    ck_assert_ok(submod_dataset_scale(h, 0.3));
    ck_assert_ok(submod_dataset_solve(h, &after, NULL, NULL));
    gradient_of(h, d, 0, 1, scaled);
    ck_assert_near(after, before, 1e-12);
    for (size_t i = 0; i < C * N; i++) {
        ck_assert_near((double)scaled[i], (double)g[i] / 0.3, 1e-9);
    }
    /* However far it decays, everything stays finite. */
    for (int times = 0; times < 40; times++) {
        ck_assert_ok(submod_dataset_scale(h, 1e-10));
        ck_assert_ok(submod_dataset_solve(h, &after, NULL, NULL));
        gradient_of(h, d, 0, 1, scaled);
        ck_assert(after >= 0 && after <= 1);
        for (size_t i = 0; i < C * N; i++) {
            ck_assert(isfinite(scaled[i]));
        }
    }
    /* Decayed to nothing, only the new batch counts. */
    submod_dataset *fresh = NULL;
    ck_assert_ok(submod_dataset_scale(h, 0));
    ck_assert_ok(submod_dataset_create(C, 0.01, &fresh));
    add(h, d, 1, 2);
    add(fresh, d, 1, 2);
    ck_assert_ok(submod_dataset_solve(h, &before, NULL, NULL));
    ck_assert_ok(submod_dataset_solve(fresh, &after, NULL, NULL));
    ck_assert(before == after);
    ck_assert_ok(submod_dataset_reset(fresh));
    ck_assert_ok(submod_dataset_solve(fresh, &after, NULL, NULL));
    ck_assert(after == 0);
    submod_dataset_free(h);
    submod_dataset_free(fresh);
    free(g);
    free(scaled);
    free(d);
}
END_TEST

/* Class 1 was seen long ago: it counts as if it had never been. */
START_TEST(a_class_that_has_decayed_is_absent)
{
    const float scores[6] = {5, 0, 0, 5, 0, 0}; /* 3 classes, 2 pixels */
    const uint8_t both[2] = {0, 1}, first[2] = {0, 0};
    submod_scores s = submod_scores_f32(scores, 1, 3, 2);
    submod_labels with_1 = submod_labels_u8(both, 1, 2), without = submod_labels_u8(first, 1, 2);
    double loss[2], of_class[2][3];
    for (int k = 0; k < 2; k++) {
        submod_dataset *h = NULL;
        ck_assert_ok(submod_dataset_create(3, 0.01, &h));
        if (k == 0) {
            ck_assert_ok(submod_dataset_add(h, &s, &with_1, NULL, NULL));
            ck_assert_ok(submod_dataset_scale(h, 1e-12));
        }
        ck_assert_ok(submod_dataset_add(h, &s, &without, NULL, NULL));
        ck_assert_ok(submod_dataset_solve(h, &loss[k], of_class[k], NULL));
        submod_dataset_free(h);
    }
    ck_assert_near(loss[0], loss[1], 1e-9);
    ck_assert(isnan(of_class[0][1]) && isnan(of_class[1][1]));
}
END_TEST

/* A class is absent below one pixel in 10^9, not above. */
START_TEST(rare_classes)
{
    submod_dataset *h = NULL;
    size_t bins;
    double of_class[2];
    ck_assert_ok(submod_dataset_create(2, 0.01, &h));
    double *count = submod_dataset_counts(h, NULL, &bins);
    count[0] = 2e9; /* background of class 0, then of class 1, and one pixel of each */
    count[2 * bins] = 5e8;
    count[2 * bins - 1] = count[4 * bins - 1] = 1;
    ck_assert_ok(submod_dataset_solve(h, NULL, of_class, NULL));
    ck_assert(isnan(of_class[0]));
    ck_assert(of_class[1] > 0.5); /* all of the class has errors near 1 */
    submod_dataset_free(h);
}
END_TEST

/* Of a class without foreground the largest errors make the loss; counts below 10^-15 of the class
 * have decayed, whatever other classes have. */
START_TEST(decayed_counts_weigh_nothing)
{
    submod_dataset *h = NULL;
    submod_loss_settings s = submod_loss_defaults();
    size_t bins;
    double of_class[3];
    s.classes = SUBMOD_CLASSES_ALL;
    ck_assert_ok(submod_dataset_create(3, 0.01, &h));
    double *count = submod_dataset_counts(h, NULL, &bins);
    count[bins - 1] = 100; /* all there is in class 0, next to nothing in the others */
    count[2 * bins] = 1e18;
    count[3 * bins - 1] = 100;
    count[4 * bins + 1] = 1e18;
    count[5 * bins - 1] = 100;
    ck_assert_ok(submod_dataset_solve(h, NULL, of_class, &s));
    ck_assert_near(of_class[0], 1 - 0.5 / (double)bins, 1e-12);
    ck_assert_near(of_class[1], 0.5 / (double)bins, 1e-12);
    ck_assert_near(of_class[2], 1.5 / (double)bins, 1e-12);
    submod_dataset_free(h);
}
END_TEST

START_TEST(solving_looks_at_the_classes_alone)
{
    submod_dataset *h = NULL;
    submod_loss_settings s = submod_loss_defaults();
    size_t bins;
    double loss = 7;
    s.engine = (submod_engine)7;
    s.bins = 3;
    ck_assert_ok(submod_dataset_create(2, 0.01, &h));
    ck_assert_ok(submod_dataset_solve(h, &loss, NULL, &s));
    ck_assert(loss == 0);
    double *count = submod_dataset_counts(h, NULL, &bins);
    count[bins] = 1e308; /* sums of such counts would overflow */
    ck_assert_int_eq(submod_dataset_solve(h, &loss, NULL, NULL), SUBMOD_EINVAL);
    ck_assert_ptr_nonnull(strstr(submod_last_error(), "1e+308"));
    ck_assert(loss == 0);
    submod_dataset_free(h);
}
END_TEST

/* Counts saved and restored elsewhere give the same loss; so does any number of threads. */
START_TEST(counts_travel)
{
    data *d = random_data(3);
    submod_dataset *h = NULL, *copy = NULL;
    size_t bins;
    double loss, other;
    ck_assert_ok(submod_dataset_create(C, 0.001, &h));
    ck_assert_ok(submod_dataset_create(C, 0.001, &copy));
    ck_assert_ok(submod_set_num_threads(1));
    add(h, d, 0, B);
    double *to = submod_dataset_counts(copy, NULL, &bins);
    memcpy(to, submod_dataset_counts(h, NULL, NULL), 2 * C * bins * sizeof *to);
    ck_assert_ok(submod_dataset_solve(h, &loss, NULL, NULL));
    ck_assert_ok(submod_dataset_solve(copy, &other, NULL, NULL));
    ck_assert(loss == other);
    for (int threads = 2; threads < 6; threads++) {
        ck_assert_ok(submod_set_num_threads(threads));
        ck_assert_ok(submod_dataset_reset(copy));
        add(copy, d, 0, B);
        ck_assert_ok(submod_dataset_solve(copy, &other, NULL, NULL));
        ck_assert(loss == other);
    }
    ck_assert_ok(submod_set_num_threads(0));
    submod_dataset_free(h);
    submod_dataset_free(copy);
    free(d);
}
END_TEST

START_TEST(bad_input)
{
    data *d = random_data(4);
    submod_dataset *h = NULL, *other = NULL;
    submod_scores scores = submod_scores_f32(d->x, 1, C, N),
                  fewer = submod_scores_f32(d->x, 1, 2, N);
    submod_labels labels = submod_labels_u8(d->y, 1, N);
    submod_loss_settings s = settings_of(0.001);
    float *g = calloc(C * N, sizeof *g);
    submod_gradient to = submod_gradient_dense(g, C, N);
    double loss = 7;
    ck_assert_int_eq(submod_dataset_create(0, 0.1, &h), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_dataset_create(1000000000, 0.1, &h), SUBMOD_EINVAL);
    ck_assert_ptr_nonnull(strstr(submod_last_error(), "1 to 536870911"));
    ck_assert_int_eq(submod_dataset_create(3, 0, &h), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_dataset_create(3, NAN, &h), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_dataset_create(3, 0.1, NULL), SUBMOD_EINVAL);
    ck_assert_ptr_null(h);
    ck_assert_ok(submod_dataset_create(C, 0.1, &h));
    ck_assert_ok(submod_dataset_create(C, 0.01, &other));
    ck_assert_int_eq(submod_dataset_merge(h, other), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_dataset_merge(h, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_dataset_scale(h, -1), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_dataset_scale(h, NAN), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_dataset_gradient(h, &scores, &labels, &to, &s, NULL), SUBMOD_EINVAL);
    ck_assert_ptr_nonnull(strstr(submod_last_error(), "submod_dataset_solve"));
    ck_assert_int_eq(submod_dataset_add(h, &fewer, &labels, &s, NULL), SUBMOD_EINVAL);
    submod_loss_settings none = s;
    none.class_weight = (double[C]){0};
    assert_error(submod_dataset_solve(h, &loss, NULL, &none), SUBMOD_EINVAL, "class_weight is 0");
    none.classes = SUBMOD_CLASSES_LIST;
    none.class_count = 0;
    assert_error(submod_dataset_solve(h, &loss, NULL, &none), SUBMOD_EINVAL, "list is empty");
    ck_assert(loss == 7);
    d->x[5] = NAN;
    ck_assert_int_eq(submod_dataset_add(h, &scores, &labels, &s, NULL), SUBMOD_ENONFINITE);
    ck_assert_ok(submod_dataset_solve(h, &loss, NULL, NULL));
    ck_assert(loss == 0); /* nothing was added */
    ck_assert_int_eq(submod_dataset_gradient(h, &scores, &labels, &to, &s, NULL),
                     SUBMOD_ENONFINITE);
    ck_assert(g[0] == 0);
    submod_dataset_counts(h, NULL, NULL)[3] = -1;
    loss = 7;
    ck_assert_int_eq(submod_dataset_solve(h, &loss, NULL, NULL), SUBMOD_EINVAL);
    ck_assert(loss == 7);
    submod_dataset_free(h);
    submod_dataset_free(other);
    submod_dataset_free(NULL);
    ck_assert_ptr_null(submod_dataset_counts(NULL, NULL, NULL));
    free(g);
    free(d);
}
END_TEST

START_TEST(one_class)
{
    const float x[2] = {0.5F, 0.25F};
    const uint8_t y[2] = {0, 0};
    submod_dataset *h = NULL;
    submod_scores scores = submod_scores_f32(x, 1, 1, 2);
    submod_labels labels = submod_labels_u8(y, 1, 2);
    double loss = 7;
    ck_assert_ok(submod_dataset_create(1, 0.01, &h));
    assert_error(submod_dataset_add(h, &scores, &labels, NULL, NULL), SUBMOD_EINVAL,
                 "the softmax of one class is always 1");
    submod_loss_settings s = submod_loss_defaults();
    s.from_logits = 0;
    ck_assert_ok(submod_dataset_add(h, &scores, &labels, &s, NULL));
    ck_assert_ok(submod_dataset_solve(h, &loss, NULL, NULL));
    ck_assert_near(loss, 1 - 0.375, 0.01);
    submod_dataset_free(h);
}
END_TEST

int main(void)
{
    return RUN_TESTS("dataset", histograms_add_up, decay, a_class_that_has_decayed_is_absent,
                     rare_classes, decayed_counts_weigh_nothing, solving_looks_at_the_classes_alone,
                     counts_travel, bad_input, one_class);
}
