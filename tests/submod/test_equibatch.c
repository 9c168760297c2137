/* Equibatch: every class is visited, images are drawn fairly. */
#include <submod/metric.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sanitized.h"
#include "support.h"

/* ---- equibatch ---- */

enum { MAX_IMAGES = 60, MAX_CLASSES = 30, MAX_ENTRIES = MAX_IMAGES * 8 };

typedef struct dataset {
    size_t images, classes, start[MAX_IMAGES + 1];
    int32_t class_ids[MAX_ENTRIES];
    int contains[MAX_IMAGES][MAX_CLASSES];
    size_t images_of[MAX_CLASSES], occurring;
} dataset;

/* Images with 0 to 8 entries, skewed to the first classes, with repetitions. */
static void random_dataset(submod_rng *rng, dataset *d)
{
    *d = (dataset){.images = 1 + submod_rng_below(rng, MAX_IMAGES),
                   .classes = 1 + submod_rng_below(rng, MAX_CLASSES)};
    for (size_t i = 0; i < d->images; i++) {
        size_t entries = i == 0 ? 1 : submod_rng_below(rng, 9);
        d->start[i + 1] = d->start[i] + entries;
        for (size_t k = d->start[i]; k < d->start[i + 1]; k++) {
            size_t c = submod_rng_below(rng, 1 + submod_rng_below(rng, d->classes));
            d->class_ids[k] = (int32_t)c;
            d->images_of[c] += !d->contains[i][c];
            d->contains[i][c] = 1;
        }
    }
    for (size_t c = 0; c < d->classes; c++) {
        d->occurring += d->images_of[c] > 0;
    }
}

/* The images drawn contain the classes they are for, and the last W of them all W classes. */
START_TEST(equibatch_visits_every_class)
{
    enum { DRAWS = 2000 };
    submod_rng rng;
    submod_rng_seed(&rng, 7);
    for (int repeat = 0; repeat < repeats(60); repeat++) {
        dataset d;
        submod_equibatch *s = NULL;
        long last_visit[MAX_CLASSES];
        random_dataset(&rng, &d);
        ck_assert_ok(submod_equibatch_create(d.images, d.start, d.class_ids, d.classes,
                                             (uint64_t)repeat, &s));
        long window = (long)submod_equibatch_window(s);
        ck_assert_uint_eq((size_t)window, d.occurring);
        for (size_t c = 0; c < d.classes; c++) {
            last_visit[c] = -1;
        }
        for (long draw = 0; draw < DRAWS; draw++) {
            int32_t image = -1, drawn_for = -1;
            ck_assert_ok(submod_equibatch_next(s, &image, draw % 2 ? &drawn_for : NULL));
            ck_assert(image >= 0 && (size_t)image < d.images);
            ck_assert(drawn_for == -1 || d.contains[image][drawn_for]);
            for (size_t c = 0; c < d.classes; c++) {
                last_visit[c] = d.contains[image][c] ? draw : last_visit[c];
                ck_assert(d.images_of[c] == 0 || draw - last_visit[c] < window);
            }
        }
        submod_equibatch_free(s);
    }
}
END_TEST

/* Every image of a class once per round of that class, in another order the next time. */
START_TEST(equibatch_uses_all_images)
{
    submod_rng rng;
    submod_rng_seed(&rng, 8);
    int other_order = 0;
    for (int repeat = 0; repeat < repeats(20); repeat++) {
        dataset d;
        submod_equibatch *s = NULL, *twin = NULL;
        int drawn[MAX_CLASSES][MAX_IMAGES] = {{0}};
        size_t draws_of[MAX_CLASSES] = {0};
        int32_t first_of_round[MAX_CLASSES];
        random_dataset(&rng, &d);
        uint64_t seed = submod_rng_next(&rng);
        ck_assert_ok(submod_equibatch_create(d.images, d.start, d.class_ids, d.classes, seed, &s));
        ck_assert_ok(
            submod_equibatch_create(d.images, d.start, d.class_ids, d.classes, seed, &twin));
        for (size_t draw = 0; draw < d.occurring * 5 * MAX_IMAGES; draw++) {
            int32_t image, c, again;
            ck_assert_ok(submod_equibatch_next(s, &image, &c));
            ck_assert_ok(submod_equibatch_next(twin, &again, NULL));
            ck_assert_int_eq(image, again);
            size_t round = draws_of[c] / d.images_of[c];
            if (draws_of[c]++ % d.images_of[c] == 0) {
                other_order += round && first_of_round[c] != image;
                first_of_round[c] = image;
            }
            ck_assert_int_eq(drawn[c][image]++, (int)round);
        }
        submod_equibatch_free(s);
        submod_equibatch_free(twin);
    }
    ck_assert_int_gt(other_order, 100);
}
END_TEST

/* Each image of a class is as likely as the others to come first. */
START_TEST(equibatch_is_fair)
{
    enum { IMAGES = 5, SEEDS = 5000 };
    const size_t start[IMAGES + 1] = {0, 1, 2, 3, 4, 5};
    const int32_t ids[IMAGES] = {0};
    int first[IMAGES] = {0};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        submod_equibatch *s = NULL;
        int32_t image;
        ck_assert_ok(submod_equibatch_create(IMAGES, start, ids, 1, seed, &s));
        ck_assert_ok(submod_equibatch_next(s, &image, NULL));
        first[image]++;
        submod_equibatch_free(s);
    }
    for (int i = 0; i < IMAGES; i++) { /* 1000 expected, standard deviation 28 */
        ck_assert_int_gt(first[i], 850);
        ck_assert_int_lt(first[i], 1150);
    }
}
END_TEST

START_TEST(equibatch_bad_input)
{
    const size_t start[3] = {0, 1, 2}, late[3] = {1, 1, 2}, descending[3] = {0, 2, 1};
    const size_t nothing[3] = {0};
    const int32_t ids[2] = {0, 4}, bad[2] = {0, 5}, negative[2] = {-1, 0};
    submod_equibatch *s = NULL;
    int32_t image = 7;
    assert_error(submod_equibatch_create(2, start, ids, 5, 1, NULL), SUBMOD_EINVAL, "sampler");
    assert_error(submod_equibatch_create(2, NULL, ids, 5, 1, &s), SUBMOD_EINVAL, "start is NULL");
    assert_error(submod_equibatch_create(2, start, NULL, 5, 1, &s), SUBMOD_EINVAL, "class_ids");
    assert_error(submod_equibatch_create(0, start, ids, 5, 1, &s), SUBMOD_EINVAL, "images = 0");
    assert_error(submod_equibatch_create(SIZE_MAX, start, ids, 5, 1, &s), SUBMOD_EINVAL, "images");
    assert_error(submod_equibatch_create(2, start, ids, 0, 1, &s), SUBMOD_EINVAL, "classes = 0");
    assert_error(submod_equibatch_create(2, late, ids, 5, 1, &s), SUBMOD_EINVAL, "start[0] = 1");
    assert_error(submod_equibatch_create(2, descending, ids, 5, 1, &s), SUBMOD_EINVAL,
                 "start[2] = 1 must be >= start[1] = 2");
    assert_error(submod_equibatch_create(2, start, bad, 5, 1, &s), SUBMOD_EINVAL,
                 "class_ids[1] = 5 is not in [0, 5)");
    assert_error(submod_equibatch_create(2, start, negative, 5, 1, &s), SUBMOD_EINVAL,
                 "class_ids[0] = -1");
    assert_error(submod_equibatch_create(2, nothing, NULL, 5, 1, &s), SUBMOD_EINVAL,
                 "no image contains any class");
    ck_assert_ptr_null(s);
    ck_assert_ok(submod_equibatch_create(2, start, ids, 5, 1, &s));
    ck_assert_uint_eq(submod_equibatch_window(s), 2);
    assert_error(submod_equibatch_next(s, NULL, NULL), SUBMOD_EINVAL, "image is NULL");
    assert_error(submod_equibatch_next(NULL, &image, NULL), SUBMOD_EINVAL, "sampler is NULL");
    submod_equibatch_free(s);
    submod_equibatch_free(NULL);
    ck_assert_uint_eq(submod_equibatch_window(NULL), 0);
}
END_TEST

int main(void)
{
    return RUN_TESTS("equibatch", equibatch_visits_every_class, equibatch_uses_all_images,
                     equibatch_is_fair, equibatch_bad_input);
}
