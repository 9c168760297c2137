/* What goes wrong on one rank: the same status on all, and nothing written. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spread.h"
#include "support.h"

enum { RANKS = 3, B = 6, C = 3, N = 50 };

/* ---- a batch whose ranks can be spoiled ---- */

typedef struct spoiled {
    spread x;
    batch d;
    int bad;          /* the rank */
    long allocations; /* of the bad rank that succeed; negative: all */
} spoiled;

static spoiled make(kind k, uint64_t seed)
{
    submod_rng rng;
    submod_rng_seed(&rng, seed);
    submod_set_num_threads(1);
    spoiled t = {.bad = -1, .allocations = -1};
    t.d = random_batch(&rng, k, B, k == HINGE ? 1 : C, N, false);
    t.x = (spread){.k = k, .s = submod_loss_defaults(), .derives = true};
    t.x.s.engine = SUBMOD_ENGINE_HISTOGRAM;
    t.x.s.bins = 64;
    t.x.x = as_floats(&t.d);
    t.x.gradient = malloc(B * C * N * sizeof(float));
    t.x.group_loss = malloc((B + MOST_RANKS) * sizeof(double));
    for (int r = 0; r <= RANKS; r++) {
        t.x.cut[r] = (size_t)r * B / RANKS;
    }
    return t;
}

static void drop(spoiled *t)
{
    free((void *)t->x.x);
    free(t->x.gradient);
    free(t->x.group_loss);
    free_batch(&t->d);
}

static void call_spoiled(const submod_comm *comm, void *context)
{
    spoiled *t = context;
    if (comm->rank == t->bad) {
        set_rank_allocations(t->allocations);
    }
    call_part(comm, &t->x);
}

/* Whether what a rank says contains these words, or names the rank that failed. */
static bool explains(const char *said, int bad, const char *words)
{
    char names[64];
    snprintf(names, sizeof names, ": rank %d failed: ", bad);
    return strstr(said, words) || strstr(said, names);
}

/* Runs it; all ranks must fail with this status and leave outputs alone. The error message of rank
 * `bad` contains these words. */
static void assert_all_fail(spoiled *t, submod_status wanted, int bad, const char *words)
{
    t->x.d = &t->d;
    for (size_t i = 0; i < t->d.B * t->d.C * t->d.N; i++) {
        t->x.gradient[i] = 7;
    }
    for (int i = 0; i < B + MOST_RANKS; i++) {
        t->x.group_loss[i] = 7;
    }
    for (int r = 0; r < RANKS; r++) {
        t->x.loss[r] = 7;
        t->x.info[r].bins = 7;
    }
    run_ranks(RANKS, NULL, call_spoiled, t);
    for (int r = 0; r < RANKS; r++) {
        ck_assert_msg(t->x.status[r] == wanted, "rank %d: %d, %s", r, (int)t->x.status[r],
                      t->x.words[r]);
        ck_assert_msg(explains(t->x.words[r], r == bad ? -1 : bad, words),
                      "rank %d: \"%s\" does not say \"%s\"", r, t->x.words[r], words);
        ck_assert(t->x.loss[r] == 7 && t->x.info[r].bins == 7);
    }
    for (size_t i = 0; i < t->d.B * t->d.C * t->d.N; i++) {
        ck_assert(t->x.gradient[i] == 7);
    }
    for (int i = 0; i < B + MOST_RANKS; i++) {
        ck_assert(t->x.group_loss[i] == 7);
    }
}

/* ---- input ---- */

static const kind kinds[] = {SOFTMAX, SIGMOID, HINGE};

/* Image 4 is the first of rank 2. */
START_TEST(bad_labels_and_scores)
{
    for (int k = 0; k < 3; k++) {
        for (int per_image = 0; per_image < 2; per_image++) {
            spoiled t = make(kinds[k], 1);
            t.x.s.per_image = per_image;
            size_t row = t.d.multilabel ? t.d.C * N : N;
            int64_t right = t.d.y[4 * row + 5];
            t.d.y[4 * row + 5] = 77;
            assert_all_fail(&t, SUBMOD_EINVAL, 2, "= 77 is not");
            t.d.y[4 * row + 5] = right;
            ((float *)t.x.x)[2 * t.d.C * N + 3] = NAN;
            ((float *)t.x.x)[4 * t.d.C * N + 3] = INFINITY;
            assert_all_fail(&t, SUBMOD_ENONFINITE, 1, "scores[0][0][3] is ");
            ck_assert_msg(strstr(t.x.words[1], "is nan"), "%s", t.x.words[1]);
            ck_assert_msg(strstr(t.x.words[2], "is inf"), "%s", t.x.words[2]);
            drop(&t);
        }
    }
}
END_TEST

START_TEST(bad_weights)
{
    spoiled t = make(SOFTMAX, 2);
    float weights[B * N];
    for (int i = 0; i < B * N; i++) {
        weights[i] = 1;
    }
    weights[5 * N + 9] = -1;
    t.x.weights = weights;
    assert_all_fail(&t, SUBMOD_EINVAL, 2, "submod_dist_lovasz_softmax: pixel_weights[1][9]");
    drop(&t);
}
END_TEST

START_TEST(exact_engine)
{
    spoiled t = make(SOFTMAX, 10);
    t.x.s.engine = SUBMOD_ENGINE_EXACT;
    assert_all_fail(&t, SUBMOD_EUNSUPPORTED, 0,
                    "settings.engine must be SUBMOD_ENGINE_HISTOGRAM with several ranks");
    drop(&t);
}
END_TEST

/* ---- custom measures ---- */

static double fails_above(double a, double b, double P, double N_, void *ctx)
{
    const double *limit = ctx;
    return a + b > *limit ? NAN : (a + b) / (P + N_);
}

START_TEST(failing_measure)
{
    for (int per_image = 0; per_image < 2; per_image++) {
        double limit = per_image ? 20 : 100;
        spoiled t = make(SIGMOID, 3);
        submod_measure m =
            submod_measure_custom(&(submod_measure_ops){.value = fails_above}, &limit);
        t.x.s.measure = &m;
        t.x.s.per_image = per_image;
        assert_all_fail(&t, SUBMOD_ECALLBACK, 0, "the custom measure returned");
        drop(&t);
    }
}
END_TEST

/* Of another thread than the first: on one rank alone. */
static double fails_on_one(double a, double b, double P, double N_, void *ctx)
{
    return *(_Atomic int *)ctx > 0 && a + b == P + N_ && P > 0 ? NAN : (a + b) / (P + N_);
}

typedef struct two_measures {
    spoiled t;
    submod_measure good, bad;
} two_measures;

static void call_with_two(const submod_comm *comm, void *context)
{
    two_measures *x = context;
    spread mine = x->t.x;
    mine.s.measure = comm->rank == 1 ? &x->bad : &x->good;
    call_part(comm, &mine);
    int r = comm->rank;
    x->t.x.status[r] = mine.status[r];
    memcpy(x->t.x.words[r], mine.words[r], sizeof mine.words[r]);
}

START_TEST(measure_that_fails_on_one_rank)
{
    for (int per_image = 0; per_image < 2; per_image++) {
        _Atomic int yes = 1, no = 0;
        two_measures x = {
            .t = make(SOFTMAX, 4),
            .good = submod_measure_custom(&(submod_measure_ops){.value = fails_on_one}, &no),
            .bad = submod_measure_custom(&(submod_measure_ops){.value = fails_on_one}, &yes)};
        x.t.x.d = &x.t.d;
        x.t.x.s.per_image = per_image;
        run_ranks(RANKS, NULL, call_with_two, &x);
        for (int r = 0; r < RANKS; r++) {
            ck_assert_int_eq(x.t.x.status[r], SUBMOD_ECALLBACK);
            ck_assert_msg(explains(x.t.x.words[r], r == 1 ? -1 : 1, "the custom measure returned"),
                          "%s", x.t.x.words[r]);
        }
        drop(&x.t);
    }
}
END_TEST

/* ---- settings that differ ---- */

static const int32_t list_a[] = {0, 1}, list_b[] = {0, 2};
static const double weight_a[] = {1, 2, 3}, weight_b[] = {1, 2, 4};
static submod_measure tversky_a, tversky_b, hamming;

typedef struct difference {
    void (*change)(submod_loss_settings *s, bool other);
    const char *words;
} difference;

static void from_logits(submod_loss_settings *s, bool other)
{
    s->from_logits = other;
}
static void delta(submod_loss_settings *s, bool other)
{
    s->bins = 0;
    s->delta = other ? 0.01 : 0.001;
}
static void bins(submod_loss_settings *s, bool other)
{
    s->bins = other ? 32 : 64;
}
static void per_image(submod_loss_settings *s, bool other)
{
    s->per_image = other;
}
static void classes(submod_loss_settings *s, bool other)
{
    s->classes = other ? SUBMOD_CLASSES_ALL : SUBMOD_CLASSES_PRESENT;
}
static void class_list(submod_loss_settings *s, bool other)
{
    s->classes = SUBMOD_CLASSES_LIST;
    s->class_list = other ? list_a : list_b;
    s->class_count = 2;
}
static void class_weight(submod_loss_settings *s, bool other)
{
    s->class_weight = other ? weight_a : weight_b;
}
static void has_ignore(submod_loss_settings *s, bool other)
{
    s->has_ignore = other;
}
static void ignore_index(submod_loss_settings *s, bool other)
{
    s->has_ignore = 1;
    s->ignore_index = other ? 255 : 254;
}
static void measure_type(submod_loss_settings *s, bool other)
{
    s->measure = other ? &hamming : NULL;
}
static void measure_alpha(submod_loss_settings *s, bool other)
{
    s->measure = other ? &tversky_a : &tversky_b;
}

static const difference differences[] = {
    {from_logits, "settings.from_logits"},
    {delta, "settings.delta"},
    {bins, "settings.bins"},
    {per_image, "settings.per_image"},
    {classes, "settings.classes"},
    {class_list, "settings.class_list"},
    {class_weight, "settings.class_weight"},
    {has_ignore, "settings.has_ignore"},
    {ignore_index, "settings.ignore_index"},
    {measure_type, "settings.measure"},
    {measure_alpha, "settings.measure.alpha"},
};

typedef struct differing {
    spoiled t;
    const difference *what;
    submod_status status[RANKS];
    char words[RANKS][256];
} differing;

static void call_differing(const submod_comm *comm, void *context)
{
    differing *x = context;
    int r = comm->rank;
    submod_loss_settings s = x->t.x.s;
    submod_scores scores = scores_part(&x->t.x, (size_t)r * 2, (size_t)r * 2 + 2);
    submod_labels labels = labels_part(&x->t.x, (size_t)r * 2, (size_t)r * 2 + 2);
    double loss;
    x->what->change(&s, r == 1);
    x->status[r] = submod_dist_lovasz_softmax(comm, &scores, &labels, &loss, NULL, &s, NULL, NULL);
    strncpy(x->words[r], submod_last_error(), sizeof x->words[r] - 1);
}

START_TEST(settings_that_differ)
{
    tversky_a = submod_tversky(0.5, 1);
    tversky_b = submod_tversky(0.6, 1);
    hamming = submod_hamming();
    for (size_t i = 0; i < sizeof differences / sizeof *differences; i++) {
        differing x = {.t = make(SOFTMAX, 5), .what = &differences[i]};
        x.t.x.d = &x.t.d;
        run_ranks(RANKS, NULL, call_differing, &x);
        char wanted[256];
        snprintf(wanted, sizeof wanted,
                 "submod_dist_lovasz_softmax: %s of rank 1 is not that of rank 0; all ranks must "
                 "have the same",
                 x.what->words);
        for (int r = 0; r < RANKS; r++) {
            ck_assert_int_eq(x.status[r], SUBMOD_EINVAL);
            ck_assert_str_eq(x.words[r], wanted);
        }
        drop(&x.t);
    }
}
END_TEST

typedef struct two_calls {
    spoiled t;
    submod_dataset *dataset; /* of rank 2, which sums it */
} two_calls;

static void call_another(const submod_comm *comm, void *context)
{
    two_calls *x = context;
    spread *s = &x->t.x;
    int r = comm->rank;
    if (r == 2) {
        s->status[r] = submod_dist_dataset_sum(comm, x->dataset);
        strncpy(s->words[r], submod_last_error(), sizeof s->words[r] - 1);
    } else {
        call_part(comm, s);
    }
}

START_TEST(calls_that_differ)
{
    two_calls x = {.t = make(SOFTMAX, 6)};
    x.t.x.d = &x.t.d;
    ck_assert_ok(submod_dataset_create(C, 0.1, &x.dataset));
    run_ranks(RANKS, NULL, call_another, &x);
    for (int r = 0; r < RANKS; r++) {
        ck_assert_int_eq(x.t.x.status[r], SUBMOD_EINVAL);
        ck_assert_msg(strstr(x.t.x.words[r], "rank 2 makes another call than rank 0"), "%s",
                      x.t.x.words[r]);
    }
    submod_dataset_free(x.dataset);
    drop(&x.t);
}
END_TEST

/* ---- memory ---- */

/* Each allocation of one rank fails once; all fail alike, until it needs no more. */
START_TEST(no_memory_on_one_rank)
{
    submod_set_allocator(&rank_allocator);
    for (int k = 0; k < 3; k++) {
        for (int per_image = 0; per_image < 2; per_image++) {
            spoiled t = make(kinds[k], 7);
            t.x.d = &t.d;
            t.x.s.per_image = per_image;
            t.bad = 1;
            long failures = 0;
            for (t.allocations = 0;; t.allocations++) {
                run_ranks(RANKS, NULL, call_spoiled, &t);
                ck_assert_int_eq(live_rank_allocations(), 0);
                if (t.x.status[0] == SUBMOD_OK) {
                    break;
                }
                failures++;
                for (int r = 0; r < RANKS; r++) {
                    ck_assert_int_eq(t.x.status[r], SUBMOD_ENOMEM);
                    ck_assert_msg(explains(t.x.words[r], r == 1 ? -1 : 1, "out of memory"), "%s",
                                  t.x.words[r]);
                }
            }
            ck_assert_int_gt(failures, 10);
            drop(&t);
        }
    }
    submod_set_allocator(NULL);
}
END_TEST

/* ---- transport ---- */

/* Each call of the transport fails once, on one rank: all ranks end. */
START_TEST(failing_transport)
{
    submod_set_allocator(&rank_allocator);
    for (int k = 0; k < 3; k++) {
        for (int mode = 0; mode < 4; mode++) {
            double no = 1e9;
            spoiled t = make(kinds[k], 8);
            submod_measure m =
                submod_measure_custom(&(submod_measure_ops){.value = fails_above}, &no);
            t.x.d = &t.d;
            t.x.s.per_image = mode & 1;
            t.x.s.measure = mode >> 1 ? &m : NULL;
            int failures = 0;
            for (int call = 1;; call++) {
                ranks_plan plan = {.failing_rank = call % RANKS, .failing_call = call};
                run_ranks(RANKS, &plan, call_part, &t.x);
                ck_assert_int_eq(live_rank_allocations(), 0);
                if (t.x.status[plan.failing_rank] == SUBMOD_OK) {
                    break;
                }
                failures++;
                for (int r = 0; r < RANKS; r++) {
                    ck_assert_msg(t.x.status[r] == SUBMOD_ECOMM, "rank %d: %s", r, t.x.words[r]);
                    ck_assert_msg(strstr(t.x.words[r], "must not be used again"), "%s",
                                  t.x.words[r]);
                }
            }
            ck_assert_int_ge(failures, 2);
            drop(&t);
        }
    }
    submod_set_allocator(NULL);
}
END_TEST

/* ---- comms ---- */

static int never(void *context, const void *mine, size_t bytes, void *all)
{
    (void)mine;
    (void)bytes;
    (void)all;
    *(int *)context = 1;
    return 1;
}

static int never_sum(void *context, void *numbers, submod_comm_type type, size_t count)
{
    (void)numbers;
    (void)type;
    return never(context, NULL, count, NULL);
}

START_TEST(bad_comms)
{
    spoiled t = make(SOFTMAX, 9);
    t.x.d = &t.d;
    submod_scores scores = scores_part(&t.x, 0, B);
    submod_labels labels = labels_part(&t.x, 0, B);
    double loss = 7;
    int called = 0;
    submod_comm c = submod_comm_alone();
    c.context = &called;
    c.gather = never;
    ck_assert_ok(submod_dist_lovasz_softmax(&c, &scores, &labels, &loss, NULL, NULL, NULL, NULL));
    ck_assert_int_eq(called, 0);
    loss = 7;
    c.ranks = 2;
    assert_error(submod_dist_lovasz_softmax(&c, &scores, &labels, &loss, NULL, NULL, NULL, NULL),
                 SUBMOD_EINVAL, "comm.sum is NULL; with 2 ranks it must be given");
    c.rank = 2;
    assert_error(submod_dist_lovasz_softmax(&c, &scores, &labels, &loss, NULL, NULL, NULL, NULL),
                 SUBMOD_EINVAL, "comm is rank 2 of 2");
    c.rank = 0;
    c.sum = never_sum;
    c.gather = NULL;
    assert_error(submod_dist_lovasz_softmax(&c, &scores, &labels, &loss, NULL, NULL, NULL, NULL),
                 SUBMOD_EINVAL, "comm.gather is NULL");
    ck_assert_int_eq(called, 0);
    assert_error(submod_dist_lovasz_softmax(NULL, NULL, &labels, &loss, NULL, NULL, NULL, NULL),
                 SUBMOD_EINVAL, "submod_dist_lovasz_softmax: scores is NULL");
    ck_assert(loss == 7);
    drop(&t);
}
END_TEST

int main(void)
{
    return RUN_TESTS("dist_errors", bad_labels_and_scores, bad_weights, exact_engine,
                     failing_measure, measure_that_fails_on_one_rank, settings_that_differ,
                     calls_that_differ, no_memory_on_one_rank, failing_transport, bad_comms);
}
