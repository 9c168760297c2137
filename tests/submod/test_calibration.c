/* Calibration errors against their definition, bin by bin. */
#include <submod/scoring.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { C = 4, VOID = 255 };

/* Logits of (batch, classes, pixels), and labels. */
typedef struct sample {
    size_t batch, pixels;
    float *x;
    uint8_t *t;
    submod_scores scores;
    submod_labels truth;
} sample;

static sample make_sample(submod_rng *rng, size_t batch, size_t pixels)
{
    sample s = {.batch = batch,
                .pixels = pixels,
                .x = malloc(batch * C * pixels * sizeof *s.x),
                .t = malloc(batch * pixels)};
    for (size_t i = 0; i < batch * C * pixels; i++) {
        s.x[i] = (float)(3 * submod_rng_normal(rng));
        if (submod_rng_below(rng, 30) == 0) {
            s.x[i] = submod_rng_below(rng, 2) && i % (C * pixels) >= pixels ? -INFINITY : 60;
        }
    }
    for (size_t i = 0; i < batch * pixels; i++) {
        s.t[i] = (uint8_t)(submod_rng_below(rng, 10) ? submod_rng_below(rng, C) : VOID);
    }
    s.scores = submod_scores_f32(s.x, batch, C, pixels);
    s.truth = submod_labels_u8(s.t, batch, pixels);
    return s;
}

static void free_sample(sample *s)
{
    free(s->x);
    free(s->t);
}

static submod_calibration *make(size_t bins, int from_logits)
{
    submod_metric_settings settings = submod_metric_defaults();
    settings.has_ignore = 1;
    settings.ignore_index = VOID;
    submod_calibration *s = NULL;
    ck_assert_ok(submod_calibration_create(C, bins, from_logits, &s, &settings));
    return s;
}

static size_t at(const sample *s, size_t b, size_t c, size_t i)
{
    return (b * C + c) * s->pixels + i;
}

/* The softmax, in place, rounded to float. */
static void softmax(sample *s)
{
    for (size_t b = 0; b < s->batch; b++) {
        for (size_t i = 0; i < s->pixels; i++) {
            long double e[C], sum = 0;
            for (size_t c = 0; c < C; c++) {
                e[c] = expl((long double)s->x[at(s, b, c, i)] - 60);
                sum += e[c];
            }
            for (size_t c = 0; c < C; c++) {
                s->x[at(s, b, c, i)] = (float)(e[c] / sum);
            }
        }
    }
}

/* ---- the definition ---- */

typedef struct errors {
    double expected, maximum, root;
} errors;

/* row -1: of the predicted class; else of a class. For each bin, all pixels. */
static errors slow_errors(const sample *s, int row, size_t bins, bool ones_apart)
{
    errors e = {0, 0, 0};
    double all = 0;
    for (size_t k = 0; k <= bins; k++) {
        double n = 0, right = 0, sum = 0;
        for (size_t b = 0; b < s->batch; b++) {
            for (size_t i = 0; i < s->pixels; i++) {
                size_t best = 0;
                for (size_t c = 1; row < 0 && c < C; c++) {
                    best = s->x[at(s, b, c, i)] > s->x[at(s, b, best, i)] ? c : best;
                }
                size_t c = row < 0 ? best : (size_t)row;
                double p = (double)s->x[at(s, b, c, i)];
                bool last = p == 1 && !ones_apart;
                bool here = last ? k == bins - 1 : floor(p * (double)bins) == (double)k;
                if (s->t[b * s->pixels + i] != VOID && here) {
                    n++;
                    sum += p;
                    right += s->t[b * s->pixels + i] == c;
                }
            }
        }
        double gap = n > 0 ? fabs(right / n - sum / n) : 0;
        all += n;
        e.expected += n * gap;
        e.root += n * gap * gap;
        e.maximum = gap > e.maximum ? gap : e.maximum;
    }
    e.expected /= all;
    e.root = sqrt(e.root / all);
    return e;
}

START_TEST(by_definition)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    const size_t some_bins[] = {1, 2, 10, 15, 64, 1000};
    for (int trial = 0; trial < 24; trial++) {
        size_t bins = some_bins[trial % 6];
        bool apart = trial / 6 % 2;
        sample s =
            make_sample(&rng, 1 + submod_rng_below(&rng, 3), 70 + submod_rng_below(&rng, 200));
        submod_calibration *logits = make(bins, 1), *probabilities = make(bins, 0);
        ck_assert_ok(submod_calibration_add(logits, &s.scores, &s.truth));
        softmax(&s);
        ck_assert_ok(submod_calibration_add(probabilities, &s.scores, &s.truth));
        submod_calibration_values v, from_logits;
        double of_class[C], sum = 0;
        ck_assert_ok(submod_calibration_errors(probabilities, apart, of_class, &v, NULL));
        ck_assert_ok(submod_calibration_errors(logits, apart, NULL, &from_logits, NULL));
        errors top = slow_errors(&s, -1, bins, apart);
        ck_assert_near(v.expected, top.expected, 1e-12);
        ck_assert_near(v.maximum, top.maximum, 1e-12);
        ck_assert_near(v.root_mean_square, top.root, 1e-12);
        for (int c = 0; c < C; c++) {
            double wanted = slow_errors(&s, c, bins, apart).expected;
            ck_assert_near(of_class[c], wanted, 1e-12);
            sum += wanted;
        }
        ck_assert_near(v.class_mean, sum / C, 1e-12);
        if (bins <= 15) { /* a probability on the edge of two bins is unlikely there */
            ck_assert_near(from_logits.expected, v.expected, 1e-6);
            ck_assert_near(from_logits.class_mean, v.class_mean, 1e-6);
        }
        ck_assert_int_eq(from_logits.pixels, v.pixels);
        submod_calibration_free(logits);
        submod_calibration_free(probabilities);
        free_sample(&s);
    }
}
END_TEST

/* The counts of bins; any number of threads, any order: the same bits; halves, channels last. */
START_TEST(order_and_views)
{
    enum { B = 4, N = 70001, BINS = 15 }; /* several threads, and none has the same share */
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    sample s = make_sample(&rng, B, N);
    submod_calibration *all = make(BINS, 1), *sum = make(BINS, 1), *last = make(BINS, 1);
    submod_set_num_threads(1);
    ck_assert_ok(submod_calibration_add(all, &s.scores, &s.truth));
    for (size_t k = 0; k < B; k++) {
        size_t b = (k * 3 + 2) % B;
        submod_scores x = submod_scores_f32(s.x + b * C * N, 1, C, N);
        submod_labels t = submod_labels_u8(s.t + b * N, 1, N);
        submod_calibration *one = make(BINS, 1);
        submod_set_num_threads(1 + (int)k % 3);
        ck_assert_ok(submod_calibration_add(one, &x, &t));
        ck_assert_ok(submod_calibration_merge(sum, one));
        submod_calibration_free(one);
    }
    submod_set_num_threads(0);
    float *turned = malloc((size_t)B * C * N * sizeof *turned);
    for (size_t b = 0; b < B; b++) {
        for (size_t i = 0; i < N; i++) {
            for (size_t c = 0; c < C; c++) {
                turned[(b * N + i) * C + c] = s.x[at(&s, b, c, i)];
            }
        }
    }
    submod_scores channels_last = submod_scores_channels_last(turned, SUBMOD_SCORE_F32, B, C, N);
    ck_assert_ok(submod_calibration_add(last, &channels_last, &s.truth));
    int64_t pixels = 0;
    for (size_t i = 0; i < (size_t)B * N; i++) {
        pixels += s.t[i] != VOID;
    }
    for (size_t row = 0; row <= C; row++) {
        int64_t count[3][BINS + 1], right[3][BINS + 1], total = 0;
        double confidence[3][BINS + 1];
        const submod_calibration *which[3] = {all, sum, last};
        for (int k = 0; k < 3; k++) {
            ck_assert_ok(submod_calibration_bins(which[k], row, count[k], right[k], confidence[k]));
            ck_assert_mem_eq(count[k], count[0], sizeof *count);
            ck_assert_mem_eq(right[k], right[0], sizeof *right);
            ck_assert_mem_eq(confidence[k], confidence[0], sizeof *confidence);
        }
        for (int i = 0; i <= BINS; i++) {
            total += count[0][i];
        }
        ck_assert_int_eq(total, pixels);
    }
    /* The first place that is wrong, too. */
    s.x[at(&s, 2, 1, 5)] = s.x[at(&s, 3, 0, 60000)] = NAN;
    s.t[2 * N + 5] = s.t[3 * N + 60000] = 0;
    for (int threads = 1; threads <= 4; threads++) {
        submod_set_num_threads(threads);
        assert_error(submod_calibration_add(all, &s.scores, &s.truth), SUBMOD_ENONFINITE,
                     "scores[2][1][5] = ");
    }
    submod_set_num_threads(0);
    submod_calibration_reset(sum);
    submod_calibration_values v;
    ck_assert_ok(submod_calibration_errors(sum, 0, NULL, &v, NULL));
    ck_assert(isnan(v.expected) && isnan(v.maximum) && isnan(v.class_mean) && v.pixels == 0);
    submod_calibration_free(all);
    submod_calibration_free(sum);
    submod_calibration_free(last);
    free(turned);
    free_sample(&s);
}
END_TEST

START_TEST(bad_scores)
{
    enum { N = 200 };
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    sample s = make_sample(&rng, 2, N);
    for (int from_logits = 0; from_logits < 2; from_logits++) {
        submod_calibration *k = make(10, from_logits);
        memset(s.t, 1, (size_t)2 * N);
        softmax(&s); /* of probabilities the second time, which is fine */
        size_t place = at(&s, 1, 2, 150);
        const float kept = s.x[place];
        s.x[at(&s, 1, 2, 199)] = NAN; /* not the first one */
        const float bad[] = {NAN, INFINITY, -INFINITY, 1.5F, -0.1F};
        for (int i = 0; i < 5; i++) {
            s.x[place] = bad[i];
            submod_status wanted = i < 3 ? SUBMOD_ENONFINITE : SUBMOD_EINVAL;
            bool fine = from_logits && i >= 2; /* -Inf and others are logits */
            for (int threads = 1; threads <= 3; threads++) {
                submod_set_num_threads(threads);
                assert_error(submod_calibration_add(k, &s.scores, &s.truth),
                             fine ? SUBMOD_ENONFINITE : wanted,
                             fine ? "scores[1][2][199] = " : "scores[1][2][150] = ");
            }
        }
        submod_set_num_threads(0);
        s.x[place] = NAN;
        s.t[N + 150] = s.t[N + 199] = VOID; /* then nobody looks */
        ck_assert_ok(submod_calibration_add(k, &s.scores, &s.truth));
        int64_t count[11], sum = 0;
        ck_assert_ok(submod_calibration_bins(k, 0, count, NULL, NULL));
        for (int i = 0; i <= 10; i++) {
            sum += count[i];
        }
        ck_assert_int_eq(sum, 2 * N - 2);
        s.t[7] = 9;
        assert_error(submod_calibration_add(k, &s.scores, &s.truth), SUBMOD_EINVAL,
                     "truth[0][7] = 9 is not in [0, 4)");
        s.t[7] = 1;
        s.x[at(&s, 0, 0, 9)] = NAN;
        assert_error(submod_calibration_add(k, &s.scores, &s.truth), SUBMOD_ENONFINITE,
                     "scores[0][0][9] = ");
        s.x[at(&s, 0, 0, 9)] = kept;
        if (from_logits) {
            for (size_t c = 0; c < C; c++) {
                s.x[at(&s, 0, c, 3)] = -INFINITY;
            }
            assert_error(submod_calibration_add(k, &s.scores, &s.truth), SUBMOD_ENONFINITE,
                         "scores[0][..][3] are all -Inf");
        }
        s.x[place] = s.x[at(&s, 1, 2, 199)] = kept;
        submod_calibration_free(k);
    }
    free_sample(&s);
}
END_TEST

START_TEST(bad_input)
{
    const float x[8] = {0};
    const uint8_t t[2] = {0, 1};
    submod_scores scores = submod_scores_f32(x, 1, C, 2), few = submod_scores_f32(x, 1, 3, 2);
    submod_scores none = submod_scores_f32(NULL, 1, C, 2), strange = scores, far = scores;
    submod_labels truth = submod_labels_u8(t, 1, 2), one = submod_labels_u8(t, 1, 1);
    submod_labels empty = submod_labels_u8(NULL, 0, 2);
    submod_scores no_images = submod_scores_f32(NULL, 0, C, 2);
    submod_calibration *s = NULL, *other = NULL;
    double of_class[C] = {7};
    assert_error(submod_calibration_create(0, 5, 1, &s, NULL), SUBMOD_EINVAL, "classes = 0");
    assert_error(submod_calibration_create(C, 0, 1, &s, NULL), SUBMOD_EINVAL, "bins = 0");
    assert_error(submod_calibration_create(C, 65537, 1, &s, NULL), SUBMOD_EINVAL, "bins = 65537");
    assert_error(submod_calibration_create(C, 5, 1, NULL, NULL), SUBMOD_EINVAL, "NULL");
    s = make(5, 1);
    *(int *)(void *)&strange.type = 17;
    far.class_stride = PTRDIFF_MAX / 2;
    assert_error(submod_calibration_add(NULL, &scores, &truth), SUBMOD_EINVAL, "NULL");
    assert_error(submod_calibration_add(s, NULL, &truth), SUBMOD_EINVAL, "scores is NULL");
    assert_error(submod_calibration_add(s, &scores, NULL), SUBMOD_EINVAL, "truth is NULL");
    assert_error(submod_calibration_add(s, &few, &truth), SUBMOD_EINVAL, "but have 3 classes");
    assert_error(submod_calibration_add(s, &scores, &one), SUBMOD_EINVAL, "1 images of 1 pixels");
    assert_error(submod_calibration_add(s, &none, &truth), SUBMOD_EINVAL, "scores.data is NULL");
    assert_error(submod_calibration_add(s, &strange, &truth), SUBMOD_EINVAL, "type = 17");
    assert_error(submod_calibration_add(s, &far, &truth), SUBMOD_EINVAL, "beyond all memory");
    ck_assert_ok(submod_calibration_add(s, &no_images, &empty));
    assert_error(submod_calibration_errors(NULL, 0, of_class, NULL, NULL), SUBMOD_EINVAL, "NULL");
    assert_error(submod_calibration_bins(s, C + 1, NULL, NULL, NULL), SUBMOD_EINVAL, "row = 5");
    submod_metric_settings settings = submod_metric_defaults();
    settings.has_leave_out = 1;
    settings.leave_out = C;
    assert_error(submod_calibration_errors(s, 0, of_class, NULL, &settings), SUBMOD_EINVAL,
                 "leave_out = 4");
    ck_assert_double_eq(of_class[0], 7);
    other = make(6, 1);
    assert_error(submod_calibration_merge(s, other), SUBMOD_EINVAL, "but other has 4 and 6");
    assert_error(submod_calibration_merge(s, NULL), SUBMOD_EINVAL, "other is NULL");
    submod_calibration_free(s);
    submod_calibration_free(other);
    submod_calibration_free(NULL);
    submod_calibration_reset(NULL);
}
END_TEST

int main(void)
{
    return RUN_TESTS("calibration", by_definition, order_and_views, bad_scores, bad_input);
}
