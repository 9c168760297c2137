/* Boundary IoU: bands against erosion step by step, IoU against sets of pixels. */
#include <submod/scoring.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/boundary.h"
#include "support.h"

/* A label map of blobs: mostly the label of a neighbour. */
static void random_map(submod_rng *rng, int32_t *map, size_t height, size_t width, size_t classes,
                       unsigned smooth)
{
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < width; x++) {
            int32_t *at = map + y * width + x;
            bool left = x && (!y || submod_rng_below(rng, 2));
            bool again = (x || y) && submod_rng_below(rng, smooth);
            *at = !again ? (int32_t)submod_rng_below(rng, classes)
                  : left ? at[-1]
                         : at[-(ptrdiff_t)width];
        }
    }
}

/* ---- erosion, step by step, of one class, zeros outside ---- */

static void erode(const uint8_t *from, size_t height, size_t width, uint8_t *to)
{
    for (ptrdiff_t y = 0; y < (ptrdiff_t)height; y++) {
        for (ptrdiff_t x = 0; x < (ptrdiff_t)width; x++) {
            int lowest = 1;
            for (ptrdiff_t v = y - 1; v <= y + 1; v++) {
                for (ptrdiff_t u = x - 1; u <= x + 1; u++) {
                    bool in = v >= 0 && v < (ptrdiff_t)height && u >= 0 && u < (ptrdiff_t)width;
                    lowest &= in && from[v * (ptrdiff_t)width + u];
                }
            }
            to[y * (ptrdiff_t)width + x] = (uint8_t)lowest;
        }
    }
}

/* mask minus its d-fold erosion, in mask. */
static void slow_band(uint8_t *mask, size_t height, size_t width, size_t d)
{
    size_t n = height * width;
    uint8_t *a = malloc(n), *b = malloc(n);
    memcpy(a, mask, n);
    for (size_t k = 0; k < d; k++) {
        erode(a, height, width, b);
        memcpy(a, b, n);
    }
    for (size_t i = 0; i < n; i++) {
        mask[i] = mask[i] && !a[i];
    }
    free(a);
    free(b);
}

START_TEST(bands_by_erosion)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int trial = 0; trial < 300; trial++) {
        size_t h = 1 + submod_rng_below(&rng, 30), w = 1 + submod_rng_below(&rng, 30);
        size_t d = submod_rng_below(&rng, 9), n = h * w;
        int32_t *map = malloc(n * sizeof *map);
        uint8_t *inside = malloc(n), *mask = malloc(n);
        random_map(&rng, map, h, w, 3, trial % 3 ? 200 : 4);
        memset(inside, 7, n);
        submodi_find_inside(map, h, w, d, inside);
        for (int32_t c = 0; c < 3; c++) {
            for (size_t i = 0; i < n; i++) {
                mask[i] = map[i] == c;
            }
            slow_band(mask, h, w, d);
            for (size_t i = 0; i < n; i++) {
                ck_assert_msg((map[i] == c && !inside[i]) == mask[i],
                              "%zu x %zu, d = %zu, class %d, pixel %zu", h, w, d, c, i);
            }
        }
        free(map);
        free(inside);
        free(mask);
    }
}
END_TEST

/* Wide images, several strips of columns, several threads; any distance. */
START_TEST(large_bands)
{
    enum { H = 300, W = 700 };
    int32_t *map = calloc((size_t)H * W, sizeof *map);
    uint8_t *inside = malloc((size_t)H * W);
    for (size_t i = 0; i < (size_t)H * W; i++) {
        map[i] = i % W >= 400; /* two rectangles */
    }
    const size_t distances[] = {0, 1, 7, 149, 150, 299, 300, SIZE_MAX / 2, SIZE_MAX};
    for (size_t k = 0; k < sizeof distances / sizeof *distances; k++) {
        for (int threads = 1; threads <= 3; threads++) {
            size_t d = distances[k];
            submod_set_num_threads(threads);
            submodi_find_inside(map, H, W, d, inside);
            size_t wrong = 0; /* an assertion for each pixel takes long */
            for (size_t y = 0; y < H; y++) {
                for (size_t x = 0; x < W; x++) {
                    size_t left = x < 400 ? x : x - 400, right = (x < 400 ? 399 : W - 1) - x;
                    bool wanted = left >= d && right >= d && y >= d && H - 1 - y >= d;
                    wrong += inside[y * W + x] != wanted;
                }
            }
            ck_assert_msg(wrong == 0, "d = %zu: %zu pixels are wrong", d, wrong);
        }
    }
    submod_set_num_threads(0);
    free(map);
    free(inside);
}
END_TEST

START_TEST(distances)
{
    ck_assert_uint_eq(submod_boundary_distance(1024, 2048, 0.02), 46); /* 45.79 */
    ck_assert_uint_eq(submod_boundary_distance(30, 40, 0.05), 2);      /* 2.5: half to even */
    ck_assert_uint_eq(submod_boundary_distance(30, 40, 0.07), 4);      /* 3.5 */
    ck_assert_uint_eq(submod_boundary_distance(3, 4, 0.02), 1);
    ck_assert_uint_eq(submod_boundary_distance(0, 0, 0.02), 1);
    ck_assert_uint_eq(submod_boundary_distance(3, 4, -1), 1);
    ck_assert_uint_eq(submod_boundary_distance(3, 4, INFINITY), SIZE_MAX);
    ck_assert_uint_eq(submod_boundary_distance(3, 4, NAN), SIZE_MAX);
}
END_TEST

/* ---- IoU ---- */

enum { C = 4, VOID = 99 };

/* Band of class c of both maps, where ignored truth has taken its label out of the prediction. */
static double slow_iou(const int32_t *p, const int32_t *t, size_t batch, size_t h, size_t w,
                       size_t d, int32_t c)
{
    size_t n = h * w, both = 0, either = 0;
    uint8_t *a = malloc(n), *b = malloc(n);
    for (size_t k = 0; k < batch; k++) {
        for (size_t i = 0; i < n; i++) {
            a[i] = t[k * n + i] == c;
            b[i] = p[k * n + i] == c && t[k * n + i] != VOID;
        }
        slow_band(a, h, w, d);
        slow_band(b, h, w, d);
        for (size_t i = 0; i < n; i++) {
            both += a[i] && b[i];
            either += a[i] || b[i];
        }
    }
    free(a);
    free(b);
    return either ? (double)both / (double)either : (double)NAN;
}

START_TEST(iou_by_sets)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (int trial = 0; trial < 100; trial++) {
        size_t h = 1 + submod_rng_below(&rng, 20), w = 1 + submod_rng_below(&rng, 20);
        size_t batch = 1 + submod_rng_below(&rng, 3), n = h * w, d = submod_rng_below(&rng, 5);
        int32_t *p = malloc(batch * n * sizeof *p), *t = malloc(batch * n * sizeof *t);
        random_map(&rng, t, batch * h, w, C - 1, 30);
        random_map(&rng, p, batch * h, w, C - 1, 30);
        for (size_t i = 0; i < batch * n; i++) {
            p[i] = submod_rng_below(&rng, 9) ? t[i] : p[i];
            t[i] = submod_rng_below(&rng, 50) ? t[i] : VOID;
            p[i] = t[i] == VOID && i % 2 ? -5 : p[i];
        }
        submod_metric_settings settings = submod_metric_defaults();
        settings.has_ignore = 1;
        settings.ignore_index = VOID;
        settings.absent = SUBMOD_ABSENT_SKIP;
        submod_labels prediction = submod_labels_i32(p, batch, n);
        submod_labels truth = submod_labels_i32(t, batch, n);
        submod_boundary *s = NULL, *one = NULL;
        ck_assert_ok(submod_boundary_create(C, &s, &settings));
        ck_assert_ok(submod_boundary_create(C, &one, &settings));
        for (size_t b = 0; b < batch; b++) { /* in parts, which merge */
            submod_labels p1 = submod_labels_i32(p + b * n, 1, n);
            submod_labels t1 = submod_labels_i32(t + b * n, 1, n);
            submod_boundary_reset(one);
            ck_assert_ok(submod_boundary_add(one, &p1, &t1, h, w, d));
            ck_assert_ok(submod_boundary_merge(s, one));
        }
        submod_boundary_reset(one);
        ck_assert_ok(submod_boundary_add(one, &prediction, &truth, h, w, d));
        double iou[C], again[C], mean, sum = 0;
        ck_assert_ok(submod_boundary_iou(s, iou, &mean, &settings));
        ck_assert_ok(submod_boundary_iou(one, again, NULL, &settings));
        int count = 0;
        for (int32_t c = 0; c < C; c++) {
            double wanted = slow_iou(p, t, batch, h, w, d, c);
            ck_assert_msg(isnan(wanted) ? isnan(iou[c]) : iou[c] == wanted,
                          "class %d: %.17g instead of %.17g", c, iou[c], wanted);
            ck_assert(isnan(iou[c]) ? isnan(again[c]) : iou[c] == again[c]);
            sum += isnan(wanted) ? 0 : wanted;
            count += !isnan(wanted);
        }
        ck_assert_msg(count ? fabs(mean - sum / count) < 1e-15 : isnan(mean), "mean %g", mean);
        ck_assert(isnan(iou[C - 1])); /* never there */
        settings.absent = SUBMOD_ABSENT_ONE;
        ck_assert_ok(submod_boundary_iou(s, iou, NULL, &settings));
        ck_assert_double_eq(iou[C - 1], 1);
        submod_boundary_free(s);
        submod_boundary_free(one);
        free(p);
        free(t);
    }
}
END_TEST

/* A perfect prediction has 1, void or not; the pixels are counted, too. */
START_TEST(perfect)
{
    enum { H = 20, W = 30 };
    int32_t t[H * W], p[H * W];
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    random_map(&rng, t, H, W, 2, 50);
    for (int i = 0; i < H * W; i++) {
        t[i] = i % W == 11 ? VOID : t[i];
        p[i] = t[i] == VOID ? i % 2 : t[i];
    }
    submod_metric_settings settings = submod_metric_defaults();
    settings.has_ignore = 1;
    settings.ignore_index = VOID;
    submod_labels prediction = submod_labels_i32(p, 1, (size_t)H * W);
    submod_labels truth = submod_labels_i32(t, 1, (size_t)H * W);
    submod_boundary *s = NULL;
    double iou[2];
    submod_metrics m;
    ck_assert_ok(submod_boundary_create(2, &s, &settings));
    ck_assert_ok(submod_boundary_add(s, &prediction, &truth, H, W, 2));
    ck_assert_ok(submod_boundary_iou(s, iou, NULL, NULL));
    ck_assert(iou[0] == 1 && iou[1] == 1);
    ck_assert_ok(
        submod_confusion_metrics(submod_boundary_confusion(s), NULL, NULL, NULL, &m, NULL));
    ck_assert_int_eq(m.pixels, H * (W - 1));
    submod_boundary_free(s);
}
END_TEST

START_TEST(bad_input)
{
    const uint8_t x[6] = {0, 1, 2, 0, 1, 9};
    submod_labels five = submod_labels_u8(x, 1, 5), six = submod_labels_u8(x, 1, 6);
    submod_labels empty = submod_labels_u8(NULL, 0, 6), no_pixels = submod_labels_u8(NULL, 3, 0);
    submod_boundary *s = NULL, *other = NULL;
    double iou[3] = {7};
    assert_error(submod_boundary_create(0, &s, NULL), SUBMOD_EINVAL, "classes = 0");
    assert_error(submod_boundary_create(3, NULL, NULL), SUBMOD_EINVAL, "boundary is NULL");
    ck_assert_ok(submod_boundary_create(3, &s, NULL));
    assert_error(submod_boundary_add(NULL, &five, &five, 1, 5, 1), SUBMOD_EINVAL, "NULL");
    assert_error(submod_boundary_add(s, &five, &six, 1, 5, 1), SUBMOD_EINVAL, "the same shape");
    assert_error(submod_boundary_add(s, &five, &five, 2, 3, 1), SUBMOD_EINVAL,
                 "height 2 times width 3 must be 5");
    assert_error(submod_boundary_add(s, &five, &five, SIZE_MAX, SIZE_MAX, 1), SUBMOD_EINVAL,
                 "must be 5");
    assert_error(submod_boundary_add(s, &six, &six, 2, 3, 1), SUBMOD_EINVAL,
                 "truth[0][5] = 9 is not in [0, 3)");
    ck_assert_ok(submod_boundary_add(s, &empty, &empty, 2, 3, 1));
    ck_assert_ok(submod_boundary_add(s, &no_pixels, &no_pixels, 0, 3, 1));
    assert_error(submod_boundary_add(s, &no_pixels, &no_pixels, 1, 3, 1), SUBMOD_EINVAL,
                 "must be 0");
    ck_assert_int_eq(submod_confusion_counts(submod_boundary_confusion(s))[0], 0);
    submod_metric_settings settings = submod_metric_defaults();
    settings.has_leave_out = 1;
    settings.leave_out = 3;
    assert_error(submod_boundary_iou(s, iou, NULL, &settings), SUBMOD_EINVAL, "leave_out = 3");
    assert_error(submod_boundary_iou(NULL, iou, NULL, NULL), SUBMOD_EINVAL, "boundary is NULL");
    ck_assert_double_eq(iou[0], 7);
    ck_assert_ok(submod_boundary_create(2, &other, NULL));
    assert_error(submod_boundary_merge(s, other), SUBMOD_EINVAL, "3 classes, but other has 2");
    assert_error(submod_boundary_merge(s, NULL), SUBMOD_EINVAL, "other is NULL");
    submod_boundary_free(s);
    submod_boundary_free(other);
    submod_boundary_free(NULL);
    submod_boundary_reset(NULL);
    ck_assert_ptr_null(submod_boundary_confusion(NULL));
}
END_TEST

int main(void)
{
    return RUN_TESTS("boundary", bands_by_erosion, large_bands, distances, iou_by_sets, perfect,
                     bad_input);
}
