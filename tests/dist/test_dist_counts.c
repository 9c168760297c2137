/* Counts over ranks: datasets, confusions, images of other sizes, numbers that are large. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dist/agree.h"
#include "spread.h"
#include "support.h"

enum { RANKS = 4, C = 3 };

/* What ranks write down; checked by the thread of the test. */
typedef struct notes {
    submod_status status[MOST_RANKS];
    char words[MOST_RANKS][256];
} notes;

static void note(notes *n, const submod_comm *comm, submod_status status)
{
    n->status[comm->rank] = status;
    strncpy(n->words[comm->rank], status ? submod_last_error() : "",
            sizeof n->words[comm->rank] - 1);
}

static void assert_notes(const notes *n, int ranks, submod_status wanted, const char *words)
{
    for (int r = 0; r < ranks; r++) {
        ck_assert_msg(n->status[r] == wanted, "rank %d: %s", r, n->words[r]);
        ck_assert_msg(strstr(n->words[r], words), "\"%s\"", n->words[r]);
    }
}

/* Rank `bad` failed, and says so in these words; the others name it. */
static void assert_failed(const notes *n, submod_status wanted, int bad, const char *words)
{
    char names[64];
    snprintf(names, sizeof names, ": rank %d failed: ", bad);
    for (int r = 0; r < RANKS; r++) {
        ck_assert_msg(n->status[r] == wanted, "rank %d: %s", r, n->words[r]);
        ck_assert_msg(strstr(n->words[r], r == bad ? words : names), "\"%s\"", n->words[r]);
    }
}

/* ---- datasets ---- */

typedef struct datasets {
    notes notes;
    spread x;
    submod_dataset *of_rank[RANKS];
} datasets;

static void add_part(const submod_comm *comm, void *context)
{
    datasets *t = context;
    const spread *x = &t->x;
    size_t first = x->cut[comm->rank], last = x->cut[comm->rank + 1];
    submod_dataset *d = t->of_rank[comm->rank];
    submod_scores scores = scores_part(x, first, last);
    submod_labels labels = labels_part(x, first, last);
    submod_loss_settings s = x->s;
    submod_pixel_weights w = submod_pixel_weights_f32(
        x->weights ? x->weights + first * x->d->N : NULL, last - first, x->d->N);
    s.pixel_weights = x->weights ? &w : NULL;
    note(&t->notes, comm, submod_dist_dataset_add(comm, d, &scores, &labels, &s, NULL));
}

static void sum_part(const submod_comm *comm, void *context)
{
    datasets *t = context;
    note(&t->notes, comm, submod_dist_dataset_sum(comm, t->of_rank[comm->rank]));
}

static void assert_counts(submod_dataset *d, submod_dataset *expected)
{
    size_t classes, bins;
    const double *a = submod_dataset_counts(d, &classes, &bins);
    const double *b = submod_dataset_counts(expected, NULL, NULL);
    ck_assert_msg(memcmp(a, b, 2 * classes * bins * sizeof *a) == 0, "counts");
}

static float *some_weights(submod_rng *rng, size_t n)
{
    float *w = malloc((n + 1) * sizeof *w);
    for (size_t i = 0; i < n; i++) {
        w[i] = (float)(submod_rng_uniform(rng) * (i % 5 ? 0.1 : 300));
    }
    return w;
}

/* Batch after batch, to the same counts as one process adds them. */
START_TEST(datasets_add_the_global_batch)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    submod_set_num_threads(1);
    for (int trial = 0; trial < 40; trial++) {
        datasets t = {0};
        submod_dataset *expected;
        ck_assert_ok(submod_dataset_create(C, 0.01, &expected));
        for (int r = 0; r < RANKS; r++) {
            ck_assert_ok(submod_dataset_create(C, 0.01, &t.of_rank[r]));
        }
        for (int round = 0; round < 3; round++) {
            batch d = random_batch(&rng, SOFTMAX, submod_rng_below(&rng, 6), C,
                                   1 + submod_rng_below(&rng, 60), true);
            float *floats = as_floats(&d);
            float *weights = some_weights(&rng, d.B * d.N);
            t.x = (spread){.d = &d, .x = floats, .weights = trial & 2 ? weights : NULL};
            t.x.s = submod_loss_defaults();
            t.x.s.has_ignore = 1;
            t.x.s.ignore_index = 9;
            cut_at_random(&rng, &t.x, RANKS);
            run_ranks(RANKS, NULL, add_part, &t);
            assert_notes(&t.notes, RANKS, SUBMOD_OK, "");
            submod_scores scores = scores_part(&t.x, 0, d.B);
            submod_labels labels = labels_part(&t.x, 0, d.B);
            submod_pixel_weights w = submod_pixel_weights_f32(weights, d.B, d.N);
            t.x.s.pixel_weights = t.x.weights ? &w : NULL;
            ck_assert_ok(submod_dataset_add(expected, &scores, &labels, &t.x.s, NULL));
            free(floats);
            free(weights);
            free_batch(&d);
        }
        for (int r = 0; r < RANKS; r++) {
            assert_counts(t.of_rank[r], expected);
            submod_dataset_free(t.of_rank[r]);
        }
        submod_dataset_free(expected);
    }
}
END_TEST

/* Filled one by one, then added up. */
START_TEST(datasets_are_summed)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    datasets t = {0};
    batch d = random_batch(&rng, SOFTMAX, RANKS, C, 70, false);
    float *floats = as_floats(&d);
    t.x = (spread){.d = &d, .x = floats};
    submod_loss_settings s = submod_loss_defaults();
    t.x.s = s;
    submod_dataset *expected;
    ck_assert_ok(submod_dataset_create(C, 0.01, &expected));
    for (size_t r = 0; r < RANKS; r++) {
        submod_scores scores = scores_part(&t.x, r, r + 1);
        submod_labels labels = labels_part(&t.x, r, r + 1);
        ck_assert_ok(submod_dataset_create(C, 0.01, &t.of_rank[r]));
        ck_assert_ok(submod_dataset_add(t.of_rank[r], &scores, &labels, &s, NULL));
        ck_assert_ok(submod_dataset_add(expected, &scores, &labels, &s, NULL));
    }
    run_ranks(RANKS, NULL, sum_part, &t);
    assert_notes(&t.notes, RANKS, SUBMOD_OK, "");
    for (int r = 0; r < RANKS; r++) {
        assert_counts(t.of_rank[r], expected);
    }
    ck_assert_ok(submod_dist_dataset_sum(NULL, t.of_rank[0])); /* alone: nothing changes */
    assert_counts(t.of_rank[0], expected);

    /* Of other shapes: refused on all, and nothing is changed. */
    submod_dataset_free(t.of_rank[2]);
    ck_assert_ok(submod_dataset_create(C, 0.001, &t.of_rank[2]));
    run_ranks(RANKS, NULL, sum_part, &t);
    assert_notes(&t.notes, RANKS, SUBMOD_EINVAL,
                 "submod_dist_dataset_sum: the number of bins of rank 2 is not that of rank 0");
    assert_counts(t.of_rank[0], expected);
    run_ranks(RANKS, NULL, add_part, &t);
    assert_notes(&t.notes, RANKS, SUBMOD_EINVAL, "bins of the dataset of rank 2");
    submod_dataset_free(t.of_rank[2]);
    t.of_rank[2] = NULL;
    run_ranks(RANKS, NULL, sum_part, &t);
    assert_failed(&t.notes, SUBMOD_EINVAL, 2, "submod_dist_dataset_sum: dataset is NULL");
    run_ranks(RANKS, NULL, add_part, &t);
    assert_failed(&t.notes, SUBMOD_EINVAL, 2, "submod_dist_dataset_add: dataset is NULL");
    for (int r = 0; r < RANKS; r++) {
        submod_dataset_free(t.of_rank[r]);
    }
    submod_dataset_free(expected);
    free(floats);
    free_batch(&d);
}
END_TEST

/* ---- confusions ---- */

typedef struct confusions {
    notes notes;
    submod_confusion *of_rank[RANKS];
    long allocations; /* of rank 1 that succeed */
} confusions;

static void sum_confusion(const submod_comm *comm, void *context)
{
    confusions *t = context;
    set_rank_allocations(comm->rank == 1 ? t->allocations : -1);
    note(&t->notes, comm, submod_dist_confusion_sum(comm, t->of_rank[comm->rank]));
}

static void fill_confusions(confusions *t, const int64_t of_rank[RANKS][C * C])
{
    for (int r = 0; r < RANKS; r++) {
        submod_confusion_free(t->of_rank[r]);
        ck_assert_ok(submod_confusion_create(C, &t->of_rank[r], NULL));
        ck_assert_ok(submod_confusion_add_counts(t->of_rank[r], of_rank[r]));
    }
}

START_TEST(confusions_are_summed)
{
    const int shift[] = {0, 20, 31, 54}; /* up to the largest that fit */
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    confusions t = {.allocations = -1};
    for (int trial = 0; trial < 80; trial++) {
        int64_t of_rank[RANKS][C * C], expected[C * C] = {0};
        for (int r = 0; r < RANKS; r++) {
            for (int i = 0; i < C * C; i++) {
                of_rank[r][i] = (int64_t)submod_rng_below(&rng, UINT64_C(7) << shift[trial % 4]);
                expected[i] += of_rank[r][i];
            }
        }
        ranks_plan plan = {0};
        fill_confusions(&t, of_rank);
        run_ranks(RANKS, &plan, sum_confusion, &t);
        assert_notes(&t.notes, RANKS, SUBMOD_OK, "");
        ck_assert_uint_eq(plan.int32_sums, trial % 4 < 2 ? C * C : 0);
        ck_assert_uint_eq(plan.double_sums, trial % 4 < 2 ? 0 : 2 * C * C);
        for (int r = 0; r < RANKS; r++) {
            ck_assert_mem_eq(submod_confusion_counts(t.of_rank[r]), expected, sizeof expected);
            /* The total goes with them: one pixel too many is refused. */
            int64_t rest[C * C] = {INT64_MAX};
            for (int i = 0; i < C * C; i++) {
                rest[0] -= expected[i];
            }
            ck_assert_ok(submod_confusion_add_counts(t.of_rank[r], rest));
            ck_assert_int_eq(submod_confusion_add_counts(t.of_rank[r], (int64_t[C * C]){1}),
                             SUBMOD_EINVAL);
        }
    }
    const int64_t large[RANKS][C * C] = {{INT64_MAX}, {1}, {0}, {INT64_MAX}};
    fill_confusions(&t, large);
    run_ranks(RANKS, NULL, sum_confusion, &t);
    assert_notes(&t.notes, RANKS, SUBMOD_EINVAL, "more than 2^63 - 1 pixels");
    ck_assert_int_eq(submod_confusion_counts(t.of_rank[1])[0], 1);

    submod_confusion_free(t.of_rank[3]);
    ck_assert_ok(submod_confusion_create(C + 1, &t.of_rank[3], NULL));
    run_ranks(RANKS, NULL, sum_confusion, &t);
    assert_notes(&t.notes, RANKS, SUBMOD_EINVAL, "the number of classes of rank 3");
    for (int r = 0; r < RANKS; r++) {
        submod_confusion_free(t.of_rank[r]);
    }
}
END_TEST

START_TEST(confusions_without_memory)
{
    submod_set_allocator(&rank_allocator);
    confusions t = {.allocations = 0};
    const int64_t ones[RANKS][C * C] = {{1}, {1}, {1}, {1}};
    fill_confusions(&t, ones);
    for (t.allocations = 0; t.allocations < 2; t.allocations++) {
        run_ranks(RANKS, NULL, sum_confusion, &t);
        assert_failed(&t.notes, SUBMOD_ENOMEM, 1, "submod_dist_confusion_sum: out of memory");
    }
    for (int r = 0; r < RANKS; r++) {
        ck_assert_int_eq(submod_confusion_counts(t.of_rank[r])[0], 1);
        submod_confusion_free(t.of_rank[r]);
    }
    ck_assert_int_eq(live_rank_allocations(), 0);
    submod_set_allocator(NULL);
}
END_TEST

/* ---- images of other sizes ---- */

/* One long image, in pieces of any length: rank r has the pixels cut[r] .. cut[r + 1] - 1. */
typedef struct pieces {
    notes notes;
    const float *x; /* C x N */
    const int64_t *y;
    const float *w;
    size_t N, cut[RANKS + 1];
    submod_loss_settings s;
    float *gradient;
    double loss[RANKS];
} pieces;

static void call_piece(const submod_comm *comm, void *context)
{
    pieces *t = context;
    size_t first = t->cut[comm->rank], n = t->cut[comm->rank + 1] - first;
    submod_scores scores = submod_scores_f32(t->x + first, 1, C, n);
    scores.class_stride = (ptrdiff_t)t->N;
    submod_labels labels = submod_labels_i64(t->y + first, 1, n);
    submod_pixel_weights w = submod_pixel_weights_f32(t->w + first, 1, n);
    submod_gradient g = submod_gradient_dense(t->gradient + first, C, n);
    g.class_stride = (ptrdiff_t)t->N;
    submod_loss_settings s = t->s;
    s.pixel_weights = s.pixel_weights ? &w : NULL;
    note(&t->notes, comm,
         submod_dist_lovasz_softmax(comm, &scores, &labels, &t->loss[comm->rank], &g, &s, NULL,
                                    NULL));
}

START_TEST(images_of_any_size)
{
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    submod_set_num_threads(1);
    for (int trial = 0; trial < 40; trial++) {
        size_t N = 20 + submod_rng_below(&rng, 4000);
        batch d = random_batch(&rng, SOFTMAX, 1, C, N, true);
        float *floats = as_floats(&d), *w = some_weights(&rng, N);
        float *expected = malloc(C * N * sizeof(float)), *found = malloc(C * N * sizeof(float));
        submod_pixel_weights view = submod_pixel_weights_f32(w, 1, N);
        pieces t = {.x = floats, .y = d.y, .w = w, .N = N, .gradient = found};
        t.s = submod_loss_defaults();
        t.s.engine = SUBMOD_ENGINE_HISTOGRAM;
        t.s.has_ignore = 1;
        t.s.ignore_index = 9;
        t.s.pixel_weights = trial & 1 ? &view : NULL;
        double loss = call(&d, SOFTMAX, expected, &t.s);
        t.cut[RANKS] = N;
        t.cut[1] = submod_rng_below(&rng, N);
        t.cut[2] = t.cut[1] + submod_rng_below(&rng, N - t.cut[1]);
        t.cut[3] = t.cut[2] + submod_rng_below(&rng, 3) % (N - t.cut[2]); /* few or none */
        run_ranks(RANKS, NULL, call_piece, &t);
        assert_notes(&t.notes, RANKS, SUBMOD_OK, "");
        for (int r = 0; r < RANKS; r++) {
            ck_assert_msg(t.loss[r] == loss, "%.17g, alone %.17g", t.loss[r], loss);
        }
        ck_assert_mem_eq(found, expected, C * N * sizeof(float));
        free(floats);
        free(w);
        free(expected);
        free(found);
        free_batch(&d);
    }
}
END_TEST

/* ---- large numbers ---- */

/* A second rank that says it has so many pixels, and counts nothing. */
typedef struct imagined {
    uint64_t pixels;
    submod_comm_type type;
} imagined;

static int gather_imagined(void *context, const void *mine, size_t bytes, void *all)
{
    const imagined *x = context;
    memcpy(all, mine, bytes);
    memcpy((char *)all + bytes, mine, bytes);
    if (bytes > sizeof(submodi_facts)) { /* the facts, behind the name of the call */
        submodi_facts *other = (submodi_facts *)((char *)all + 2 * bytes - sizeof *other);
        other->pixels = x->pixels;
    }
    return 0;
}

static int sum_imagined(void *context, void *numbers, submod_comm_type type, size_t count)
{
    (void)numbers;
    (void)count;
    ((imagined *)context)->type = type;
    return 0;
}

START_TEST(large_sums_are_doubles)
{
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    batch d = random_batch(&rng, SOFTMAX, 2, C, 100, false);
    float *floats = as_floats(&d);
    submod_scores scores = submod_scores_f32(floats, 2, C, 100);
    submod_labels labels = label_view(&d);
    submod_loss_settings s = submod_loss_defaults();
    s.engine = SUBMOD_ENGINE_HISTOGRAM;
    double loss, alone = call(&d, SOFTMAX, NULL, &s);
    imagined x = {0};
    submod_comm c = submod_comm_alone();
    c.ranks = 2;
    c.context = &x;
    c.gather = gather_imagined;
    c.sum = sum_imagined;
    const struct {
        uint64_t pixels;
        submod_comm_type type;
    } cases[] = {{0, SUBMOD_COMM_I32},
                 {INT32_MAX - 200, SUBMOD_COMM_I32},
                 {INT32_MAX - 199, SUBMOD_COMM_F64},
                 {(UINT64_C(1) << 52) - 201, SUBMOD_COMM_F64}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        x.pixels = cases[i].pixels;
        ck_assert_ok(submod_dist_lovasz_softmax(&c, &scores, &labels, &loss, NULL, &s, NULL, NULL));
        ck_assert_int_eq(x.type, cases[i].type);
        ck_assert_msg(loss == alone, "%.17g, alone %.17g", loss, alone);
    }
    x.pixels = (UINT64_C(1) << 52) - 200;
    assert_error(submod_dist_lovasz_softmax(&c, &scores, &labels, &loss, NULL, &s, NULL, NULL),
                 SUBMOD_EINVAL, "must be fewer than 2^52");
    free(floats);
    free_batch(&d);
}
END_TEST

/* ---- bytes ---- */

/* As dist.h says, however many pixels there are. */
START_TEST(bytes_do_not_grow_with_pixels)
{
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    submod_set_num_threads(1);
    for (int trial = 0; trial < 4; trial++) {
        batch d = random_batch(&rng, SOFTMAX, 4, C, trial & 1 ? 10 : 5000, false);
        float *floats = as_floats(&d), *w = some_weights(&rng, d.B * d.N);
        double group_loss[4 + MOST_RANKS];
        spread x = {.d = &d, .x = floats, .weights = trial & 2 ? w : NULL};
        x.group_loss = group_loss;
        x.s = submod_loss_defaults();
        x.s.engine = SUBMOD_ENGINE_HISTOGRAM;
        x.s.bins = 128;
        for (int per_image = 0; per_image < 2; per_image++) {
            ranks_plan plan = {0};
            x.s.per_image = per_image;
            for (size_t r = 0; r <= RANKS; r++) {
                x.cut[r] = r;
            }
            run_ranks(RANKS, &plan, call_part, &x);
            ck_assert_msg(x.status[0] == SUBMOD_OK, "%s", x.words[0]);
            size_t T = trial & 2 ? 8 : 4;
            ck_assert_uint_eq(plan.sum_bytes, per_image ? 0 : T * (2 * C * 128 + 2 * C + 2));
            ck_assert_uint_eq(plan.gather_bytes, 192 + (per_image ? 8 + 8 * (3 + 2 * 1) : 0));
        }
        free(floats);
        free(w);
        free_batch(&d);
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("dist_counts", datasets_add_the_global_batch, datasets_are_summed,
                     confusions_are_summed, confusions_without_memory, images_of_any_size,
                     large_sums_are_doubles, bytes_do_not_grow_with_pixels);
}
