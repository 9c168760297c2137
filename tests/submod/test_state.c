/* Streams saved as numbers and loaded again: the same values, and nothing but such numbers. */
#include <submod/scoring.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { C = 4, N = 60, VOID = 255 };

/* One of the three streams: the one that is not NULL. */
typedef struct stream {
    submod_instances *instances;
    submod_boundary *boundary;
    submod_fine_grained *fine;
} stream;

enum { KINDS = 3, VALUES = C + 2 };

/* Random images. */
typedef struct batch {
    uint8_t p[2 * N], t[2 * N], id[2 * N];
    submod_labels prediction, truth, ids;
} batch;

static void make_batch(submod_rng *rng, batch *b)
{
    for (int i = 0; i < 2 * N; i++) {
        b->t[i] = (uint8_t)(submod_rng_below(rng, 9) ? submod_rng_below(rng, C) : VOID);
        b->p[i] = (uint8_t)submod_rng_below(rng, C);
        b->id[i] = (uint8_t)submod_rng_below(rng, 4);
    }
    b->prediction = submod_labels_u8(b->p, 2, N);
    b->truth = submod_labels_u8(b->t, 2, N);
    b->ids = submod_labels_u8(b->id, 2, N);
}

/* ---- the three ---- */

static stream make(int kind)
{
    stream s = {NULL, NULL, NULL};
    submod_metric_settings settings = submod_metric_defaults();
    settings.has_ignore = 1;
    settings.ignore_index = VOID;
    switch (kind) {
    case 0: ck_assert_ok(submod_instances_create(C, 1, &s.instances, &settings)); break;
    case 1: ck_assert_ok(submod_boundary_create(C, &s.boundary, &settings)); break;
    default: ck_assert_ok(submod_fine_grained_create(C, &s.fine, &settings));
    }
    return s;
}

static void discard(stream *s)
{
    submod_instances_free(s->instances);
    submod_boundary_free(s->boundary);
    submod_fine_grained_free(s->fine);
}

static submod_status save(const stream *s, uint64_t *words, size_t *count)
{
    return s->instances  ? submod_instances_words(s->instances, words, count)
           : s->boundary ? submod_boundary_words(s->boundary, words, count)
                         : submod_fine_grained_words(s->fine, words, count);
}

static submod_status load(stream *s, const uint64_t *words, size_t count)
{
    return s->instances  ? submod_instances_set_words(s->instances, words, count)
           : s->boundary ? submod_boundary_set_words(s->boundary, words, count)
                         : submod_fine_grained_set_words(s->fine, words, count);
}

static submod_status merge(stream *s, const stream *other)
{
    return s->instances  ? submod_instances_merge(s->instances, other->instances)
           : s->boundary ? submod_boundary_merge(s->boundary, other->boundary)
                         : submod_fine_grained_merge(s->fine, other->fine);
}

static submod_status add(stream *s, submod_rng *rng)
{
    batch b;
    make_batch(rng, &b);
    return s->instances  ? submod_instances_add(s->instances, &b.prediction, &b.truth, &b.ids)
           : s->boundary ? submod_boundary_add(s->boundary, &b.prediction, &b.truth, 6, N / 6, 1)
                         : submod_fine_grained_add(s->fine, &b.prediction, &b.truth);
}

/* Values of all kinds, and a count of pixels or images. */
static void values(const stream *s, double v[VALUES])
{
    memset(v, 0, VALUES * sizeof *v);
    if (s->instances) {
        ck_assert_ok(submod_instances_iou(s->instances, NULL, NULL, NULL, C, v, v + C));
        v[C + 1] = (double)submod_confusion_counts(submod_instances_confusion(s->instances))[1];
    } else if (s->boundary) {
        ck_assert_ok(submod_boundary_iou(s->boundary, v, v + C, NULL));
        v[C + 1] = (double)submod_confusion_counts(submod_boundary_confusion(s->boundary))[1];
    } else {
        submod_fine_grained_values x;
        ck_assert_ok(submod_fine_grained_get(s->fine, &x));
        const double all[VALUES] = {x.dataset, x.image, x.of_class, x.class_mean, (double)x.images};
        memcpy(v, all, sizeof all);
    }
}

/* ---- tests ---- */

static void assert_values(const stream *s, const double *wanted)
{
    double v[VALUES];
    values(s, v);
    ck_assert_mem_eq(v, wanted, sizeof v);
}

/* The stream as words; the caller frees. */
static uint64_t *words_of(const stream *s, size_t *count)
{
    ck_assert_ok(save(s, NULL, count));
    uint64_t *words = malloc((*count + 1) * sizeof *words);
    words[*count] = 77;
    ck_assert_ok(save(s, words, count));
    ck_assert_uint_eq(words[*count], 77);
    return words;
}

START_TEST(saved_and_loaded)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int kind = 0; kind < KINDS; kind++) {
        stream all = make(kind), sum = make(kind), other = make(kind);
        double wanted[VALUES], fresh[VALUES];
        values(&all, fresh);
        for (int k = 0; k < 3; k++) {
            submod_rng again = rng;
            stream one = make(kind);
            ck_assert_ok(add(&all, &rng));
            ck_assert_ok(add(&one, &again));
            size_t count;
            uint64_t *words = words_of(&one, &count);
            ck_assert_ok(load(&other, words, count)); /* in place of the last one */
            ck_assert_ok(merge(&sum, &other));
            discard(&one);
            free(words);
        }
        values(&all, wanted);
        assert_values(&sum, wanted);
        stream none = make(kind);
        size_t count;
        uint64_t *words = words_of(&none, &count);
        ck_assert_ok(load(&sum, words, count));
        assert_values(&sum, fresh);
        free(words);
        discard(&none);
        discard(&all);
        discard(&sum);
        discard(&other);
    }
}
END_TEST

/* Whether a word that is much too large must be noticed: counts, and whole instances, but no parts
 * of fractions, and no IoUs: to them it may be NaN, or nearly 0. */
static bool must_notice(int kind, size_t i)
{
    size_t first = (size_t)C * C;
    const size_t whole[KINDS] = {first + 2 * C, first + 3 * C, first};
    bool instances = kind == 0 && i >= whole[0] && (i - whole[0]) % 2 == 0;
    return i < whole[kind] || instances;
}

/* Every word is changed in turn: refused, and nothing has changed; or loaded.
 * A single count of pixels may be any that is not negative. Values of what was loaded may be
 * anything, but there is no crash in merging them. */
START_TEST(words_of_nobody)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (int kind = 0; kind < KINDS; kind++) {
        stream s = make(kind), target = make(kind);
        ck_assert_ok(add(&s, &rng));
        double wanted[VALUES];
        values(&s, wanted);
        size_t count;
        uint64_t *words = words_of(&s, &count);
        const uint64_t bad[] = {UINT64_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1, 1000000};
        for (size_t i = 0; i < count; i++) {
            for (int k = 0; k < 4; k++) {
                uint64_t kept = words[i];
                words[i] = bad[k];
                if (load(&target, words, count) == SUBMOD_OK) {
                    submod_status merged = merge(&target, &target);
                    ck_assert(merged == SUBMOD_OK || strstr(submod_last_error(), "2^63 - 1"));
                }
                submod_status status = load(&s, words, count);
                words[i] = kept;
                bool one_count = i < (size_t)C * C && k != 0 && k != 2;
                ck_assert(!must_notice(kind, i) || one_count || status == SUBMOD_EINVAL);
                if (status != SUBMOD_OK) {
                    ck_assert_int_eq(status, SUBMOD_EINVAL);
                    assert_values(&s, wanted);
                }
                ck_assert_ok(load(&s, words, count));
            }
        }
        for (size_t k = 0; k < 3; k++) {
            const size_t wrong[] = {0, count - 1, count + 1};
            assert_error(load(&s, words, wrong[k]), SUBMOD_EINVAL, "would save");
        }
        assert_error(load(&s, NULL, count), SUBMOD_EINVAL, "words is NULL");
        assert_error(save(&s, words, NULL), SUBMOD_EINVAL, "count is NULL");
        assert_values(&s, wanted);
        free(words);
        discard(&s);
        discard(&target);
    }
}
END_TEST

/* What no image has as an IoU. */
START_TEST(ious_of_nobody)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    stream s = make(2);
    ck_assert_ok(add(&s, &rng));
    double wanted[VALUES];
    values(&s, wanted);
    size_t count;
    uint64_t *words = words_of(&s, &count);
    const double bad[] = {-0.5, 1.5, INFINITY, -INFINITY};
    for (size_t i = (size_t)C * C; i < count; i++) {
        for (int k = 0; k < 4; k++) {
            uint64_t kept = words[i];
            memcpy(&words[i], &bad[k], sizeof bad[k]);
            assert_error(load(&s, words, count), SUBMOD_EINVAL, "not IoUs");
            words[i] = kept;
        }
    }
    assert_values(&s, wanted);
    free(words);
    discard(&s);
}
END_TEST

START_TEST(no_stream)
{
    uint64_t word = 0;
    size_t count = 7;
    assert_error(submod_instances_words(NULL, NULL, &count), SUBMOD_EINVAL, "instances is NULL");
    assert_error(submod_boundary_words(NULL, NULL, &count), SUBMOD_EINVAL, "boundary is NULL");
    assert_error(submod_fine_grained_words(NULL, NULL, &count), SUBMOD_EINVAL, "fine is NULL");
    assert_error(submod_miou_words(NULL, NULL, &count), SUBMOD_EINVAL, "miou is NULL");
    assert_error(submod_miou_set_words(NULL, &word, 1), SUBMOD_EINVAL, "miou is NULL");
    assert_error(submod_instances_set_words(NULL, &word, 1), SUBMOD_EINVAL, "instances is NULL");
    assert_error(submod_boundary_set_words(NULL, &word, 1), SUBMOD_EINVAL, "boundary is NULL");
    assert_error(submod_fine_grained_set_words(NULL, &word, 1), SUBMOD_EINVAL, "fine is NULL");
    ck_assert_uint_eq(count, 7);
}
END_TEST

int main(void)
{
    return RUN_TESTS("state", saved_and_loaded, words_of_nobody, ious_of_nobody, no_stream);
}
