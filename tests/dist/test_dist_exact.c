/* The exact engine over ranks where it could go wrong: equal errors, ranges that few ranks own,
 * failures on one rank alone; and what it sends. Random problems are in test_dist_losses.c. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sanitized.h"
#include "spread.h"
#include "support.h"

static const int rank_counts[] = {1, 2, 3, 4, 7};

/* ---- errors of all sorts ---- */

/* How scores come about. */
typedef enum {
    EQUAL,     /* all the same */
    FEW,       /* five values */
    CONFIDENT, /* nearly all errors tiny, some large, by orders of magnitude */
    CROWDED,   /* neighbouring floats */
    SPREAD,    /* all different, of all sizes */
    SHAPES
} shape;

static double score_of(submod_rng *rng, shape how, bool foreground)
{
    double u = submod_rng_uniform(rng);
    double right = foreground ? 1 : -1;
    switch (how) {
    case EQUAL: return 0.25;
    case FEW: return floor(5 * u) / 2 - 1;
    case CONFIDENT: return right * (u < 0.02 ? -9 : 20 * submod_rng_uniform(rng));
    case CROWDED: return 0.5 + floor(64 * u) * FLT_EPSILON;
    default: return (u - 0.5) * exp(8 * submod_rng_uniform(rng) - 5);
    }
}

/* Labels of few classes; class 2 of 4 is absent. */
static batch shaped_batch(submod_rng *rng, kind k, size_t B, size_t N, shape how)
{
    batch d = random_batch(rng, k, B, k == HINGE ? 1 : 4, N, false);
    size_t rows = d.multilabel ? d.C : 1;
    for (size_t i = 0; i < B * rows * N; i++) {
        d.y[i] =
            d.multilabel ? submod_rng_below(rng, 3) == 0 : (int64_t)submod_rng_below(rng, 2) * 3;
    }
    for (size_t i = 0; i < B * d.C * N; i++) {
        size_t b = i / (d.C * N);
        size_t c = i / N % d.C;
        int64_t y = d.multilabel ? d.y[i] : d.y[b * N + i % N] == (int64_t)c;
        d.x[i] = (double)(float)score_of(rng, how, y == 1);
    }
    return d;
}

static double root(double a, double b, double P, double N, void *ctx)
{
    (void)ctx;
    return 3 * sqrt((a + b) / (P + N));
}

static void compare_splits(submod_rng *rng, spread *x)
{
    result r = alone(x);
    for (size_t i = 0; i < sizeof rank_counts / sizeof *rank_counts; i++) {
        cut_at_random(rng, x, rank_counts[i]);
        spread_and_compare(x, rank_counts[i], NULL, &r);
    }
    free_result(&r);
}

static void all_shapes(int trials, size_t pixels, int threads)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1900 + (uint64_t)pixels);
    submod_set_num_threads(threads);
    submod_measure measures[] = {submod_measure_jaccard(), submod_measure_hamming(),
                                 submod_measure_tversky(0.3, 2), submod_measure_custom(root, NULL)};
    for (int trial = 0; trial < trials; trial++) {
        kind k = (kind)(trial % 3);
        shape how = (shape)(trial / 3 % SHAPES);
        batch d = shaped_batch(&rng, k, 1 + submod_rng_below(&rng, 9),
                               1 + submod_rng_below(&rng, pixels), how);
        float *floats = as_floats(&d);
        float *weights = malloc(d.B * d.N * sizeof *weights);
        for (size_t i = 0; i < d.B * d.N; i++) {
            weights[i] = (float)(submod_rng_uniform(&rng) * exp(4 * submod_rng_uniform(&rng)));
        }
        spread x = {.d = &d, .k = k, .s = submod_loss_defaults(), .x = floats, .derives = true};
        x.s.measure = &measures[submod_rng_below(&rng, 4)];
        x.s.classes = submod_rng_below(&rng, 2) ? SUBMOD_CLASSES_ALL : SUBMOD_CLASSES_PRESENT;
        x.weights = submod_rng_below(&rng, 2) ? weights : NULL;
        compare_splits(&rng, &x);
        free(weights);
        free(floats);
        free_batch(&d);
    }
}

START_TEST(small_problems)
{
    all_shapes(repeats(300), 60, 1);
}
END_TEST

/* More records than samples, several owners in a class, several classes of an owner. */
START_TEST(large_problems)
{
    all_shapes(FEWER ? 15 : 45, 6000, 1);
}
END_TEST

START_TEST(several_threads)
{
    all_shapes(FEWER ? 6 : 15, 9000, 3);
    submod_set_num_threads(1);
}
END_TEST

/* ---- what is sent ---- */

/* The same images on each rank, so that what rank 0 sends is its share. */
static batch same_images(submod_rng *rng, kind k, size_t ranks, size_t N, shape how)
{
    batch d = shaped_batch(rng, k, ranks, N, how);
    size_t rows = d.multilabel ? d.C : 1;
    for (size_t b = 1; b < ranks; b++) {
        memcpy(d.x + b * d.C * N, d.x, d.C * N * sizeof *d.x);
        memcpy(d.y + b * rows * N, d.y, rows * N * sizeof *d.y);
    }
    return d;
}

static submod_loss_settings all_classes(const submod_measure *measure)
{
    submod_loss_settings s = submod_loss_defaults();
    s.classes = SUBMOD_CLASSES_ALL;
    s.measure = measure;
    return s;
}

static ranks_plan traffic(kind k, int ranks, size_t N, shape how, submod_loss_settings s,
                          bool weighted, uint64_t *sorted)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1919);
    submod_set_num_threads(1);
    batch d = same_images(&rng, k, (size_t)ranks, N, how);
    float *floats = as_floats(&d);
    float *weights = malloc(d.B * N * sizeof *weights);
    for (size_t i = 0; i < d.B * N; i++) {
        weights[i] = 1.5F;
    }
    spread x = {.d = &d, .k = k, .s = s, .x = floats, .derives = true};
    x.weights = weighted ? weights : NULL;
    for (int r = 0; r <= ranks; r++) {
        x.cut[r] = (size_t)r;
    }
    result r = alone(&x);
    ranks_plan plan = {0};
    spread_and_compare(&x, ranks, &plan, &r);
    *sorted = r.info.sorted;
    free_result(&r);
    free(weights);
    free(floats);
    free_batch(&d);
    return plan;
}

/* Each error that has to be ranked goes out once and comes back once; owners have about equally
 * many to answer. */
START_TEST(each_error_once)
{
    const submod_measure tversky = submod_measure_tversky(0.5, 1);
    for (int ranks = 2; ranks <= 7; ranks++) {
        for (int weighted = 0; weighted < 2; weighted++) {
            uint64_t sorted;
            ranks_plan p =
                traffic(SIGMOID, ranks, 5000, SPREAD, all_classes(&tversky), weighted, &sorted);
            double all = (double)sorted;
            double own = all / ranks;
            double number = weighted ? 8 : 4;
            double answered = own + 3 * all / 128;
            double pieces = 24.0 * (4 + ranks);
            ck_assert_uint_gt(sorted, 5000);
            ck_assert_double_le((double)p.exchange_bytes,
                                own * (4 + number) + answered * number + pieces);
            /* It is not less, either: floats are rarely equal. */
            ck_assert_double_ge((double)p.exchange_bytes, 0.9 * own * (4 + number));
        }
    }
}
END_TEST

/* Equal errors are one record, however many they are. */
START_TEST(equal_errors_are_one_record)
{
    for (int ranks = 2; ranks <= 7; ranks++) {
        uint64_t sorted;
        ranks_plan p = traffic(HINGE, ranks, 20000, FEW, all_classes(NULL), false, &sorted);
        ck_assert_uint_gt(sorted, 10000);
        /* Five scores, two labels; at worst rank 0 answers all ranks. */
        double bytes = 10 * 8 + 10 * 4 * ranks + 24 * (1 + ranks);
        ck_assert_double_le((double)p.exchange_bytes, bytes);
    }
}
END_TEST

/* As dist.h says, of 4 classes. */
START_TEST(the_rest_does_not_grow)
{
    uint64_t sorted;
    ranks_plan small = traffic(SOFTMAX, 3, 100, SPREAD, all_classes(NULL), false, &sorted);
    ranks_plan large = traffic(SOFTMAX, 3, 10000, SPREAD, all_classes(NULL), false, &sorted);
    ck_assert_uint_eq(small.calls, large.calls);
    ck_assert_uint_eq(small.gather_bytes, 1264 + 8 * 4);
    ck_assert_uint_eq(large.gather_bytes, 1264 + 8 * 4);
    ck_assert_uint_eq(small.sum_bytes, 8 * (4 * 4 + 3));
    ck_assert_uint_eq(large.sum_bytes, 8 * (4 * 4 + 3));
    submod_measure custom = submod_measure_custom(root, NULL);
    large = traffic(SOFTMAX, 3, 1000, SPREAD, all_classes(&custom), false, &sorted);
    ck_assert_uint_eq(large.gather_bytes, 1264 + 8 * 4 + 16);
}
END_TEST

START_TEST(images_send_their_losses)
{
    submod_measure custom = submod_measure_custom(root, NULL);
    submod_loss_settings s = all_classes(NULL);
    s.per_image = 1;
    uint64_t sorted;
    ranks_plan p = traffic(SOFTMAX, 3, 1000, SPREAD, s, false, &sorted);
    ck_assert_uint_eq(p.gather_bytes, 192 + 16 + 8 * (3 + 2));
    ck_assert_uint_eq(p.sum_bytes, 8);
    ck_assert_uint_eq(p.exchange_bytes, 0);
    s.measure = &custom;
    p = traffic(SOFTMAX, 3, 1000, SPREAD, s, false, &sorted);
    ck_assert_uint_eq(p.gather_bytes, 192 + 16 + 8 * (3 + 2) + 16);
}
END_TEST

START_TEST(hamming_sends_no_error)
{
    const submod_measure hamming = submod_measure_hamming();
    uint64_t sorted;
    ranks_plan p = traffic(SIGMOID, 4, 5000, SPREAD, all_classes(&hamming), true, &sorted);
    ck_assert_uint_eq(p.exchange_bytes, 0);
    ck_assert_uint_eq(p.gather_bytes, 200 + 8 * 4);
    ck_assert_uint_eq(p.sum_bytes, 8 * (4 * 4 + 3));
}
END_TEST

/* ---- who wants what ---- */

static void call_odd(const submod_comm *comm, void *context)
{
    spread *x = context;
    spread mine = *x;
    int r = comm->rank;
    mine.derives = r % 2;
    call_part(comm, &mine);
    x->status[r] = mine.status[r];
    x->loss[r] = mine.loss[r];
}

/* A rank may want the loss alone. */
START_TEST(some_want_a_gradient)
{
    submod_rng rng;
    submod_rng_seed(&rng, 12);
    batch d = shaped_batch(&rng, SOFTMAX, 3, 700, SPREAD);
    size_t of_image = d.C * d.N;
    float *floats = as_floats(&d);
    spread x = {.d = &d, .k = SOFTMAX, .s = submod_loss_defaults(), .x = floats, .derives = true};
    result r = alone(&x);
    x.gradient = calloc(3 * of_image, sizeof(float));
    x.group_loss = malloc(3 * sizeof(double));
    for (size_t k = 0; k <= 3; k++) {
        x.cut[k] = k;
    }
    run_ranks(3, NULL, call_odd, &x);
    for (int k = 0; k < 3; k++) {
        ck_assert_int_eq(x.status[k], SUBMOD_OK);
        ck_assert(x.loss[k] == r.loss);
    }
    ck_assert(memcmp(x.gradient + of_image, r.gradient + of_image, of_image * sizeof(float)) == 0);
    for (size_t i = 0; i < of_image; i++) {
        ck_assert(x.gradient[i] == 0 && x.gradient[2 * of_image + i] == 0);
    }
    free(x.gradient);
    free(x.group_loss);
    free_result(&r);
    free(floats);
    free_batch(&d);
}
END_TEST

/* ---- failures ---- */

enum { RANKS = 4 };

/* A problem whose gradient shows whether it was written. */
typedef struct trial {
    batch d;
    float *floats;
    spread x;
    size_t n;
    long allocations; /* of rank 2 that succeed; negative: all */
} trial;

static trial make_trial(shape how)
{
    submod_rng rng;
    submod_rng_seed(&rng, 77);
    submod_set_num_threads(1);
    trial t = {.d = shaped_batch(&rng, SIGMOID, RANKS, 500, how), .allocations = -1};
    t.floats = as_floats(&t.d);
    t.n = t.d.B * t.d.C * t.d.N;
    t.x = (spread){.k = SIGMOID, .s = submod_loss_defaults(), .x = t.floats, .derives = true};
    t.x.gradient = malloc(t.n * sizeof(float));
    t.x.group_loss = malloc(RANKS * sizeof(double));
    for (size_t i = 0; i < t.n; i++) {
        t.x.gradient[i] = 7;
    }
    for (size_t r = 0; r <= RANKS; r++) {
        t.x.cut[r] = r;
    }
    return t;
}

static void free_trial(trial *t)
{
    free(t->x.gradient);
    free(t->x.group_loss);
    free(t->floats);
    free_batch(&t->d);
}

static void run_part(const submod_comm *comm, void *context)
{
    trial *t = context;
    set_rank_allocations(comm->rank == 2 ? t->allocations : -1);
    call_part(comm, &t->x);
    set_rank_allocations(-1);
}

static void run_trial(trial *t, ranks_plan *plan)
{
    t->x.d = &t->d;
    run_ranks(RANKS, plan, run_part, t);
}

/* All failed with the same status and words, and nothing was written. */
static void assert_all_failed(const trial *t, submod_status status, const char *words)
{
    for (int r = 0; r < RANKS; r++) {
        ck_assert_msg(t->x.status[r] == status, "rank %d: status %d, %s", r, (int)t->x.status[r],
                      t->x.words[r]);
        ck_assert_msg(strstr(t->x.words[r], words) != NULL, "%s", t->x.words[r]);
        ck_assert_str_eq(t->x.words[r], t->x.words[0]);
    }
    for (size_t i = 0; i < t->n; i++) {
        ck_assert_msg(t->x.gradient[i] == 7, "gradient[%zu] was written", i);
    }
}

START_TEST(bad_scores_on_one_rank)
{
    for (int per_image = 0; per_image < 2; per_image++) {
        trial t = make_trial(SPREAD);
        t.x.s.per_image = per_image;
        t.floats[2 * t.d.C * t.d.N + 3] = NAN;
        run_trial(&t, NULL);
        assert_all_failed(&t, SUBMOD_ENONFINITE,
                          "rank 2: submod_dist_lovasz_sigmoid: scores[0][0][3]");
        free_trial(&t);
    }
}
END_TEST

/* Asked of all ranks are only the corners; what is between them, its owner alone. */
static double fails_within(double a, double b, double P, double N, void *ctx)
{
    double share = (a + b) / (P + N);
    const double *from = ctx;
    return share >= *from && share < *from + 0.01 && a < P && b > 0 ? NAN : sqrt(share);
}

START_TEST(custom_measure_fails_on_one_owner)
{
    for (int k = 0; k < 4; k++) {
        double from = 0.02 + 0.15 * k;
        trial t = make_trial(SPREAD);
        submod_measure m = submod_measure_custom(fails_within, &from);
        t.x.s.measure = &m;
        run_trial(&t, NULL);
        assert_all_failed(&t, SUBMOD_ECALLBACK, "the custom measure returned F(a = ");
        ck_assert(strncmp(t.x.words[0], "rank ", 5) == 0);
        free_trial(&t);
    }
}
END_TEST

/* Each allocation of one rank in turn. */
START_TEST(memory_fails_on_one_rank)
{
    ck_assert_ok(submod_set_allocator(&rank_allocator));
    for (int per_image = 0; per_image < 2; per_image++) {
        bool failed = true;
        for (long left = 0; failed; left++) {
            ck_assert_int_lt(left, 200);
            trial t = make_trial(SPREAD);
            t.x.s.per_image = per_image;
            t.allocations = left;
            run_trial(&t, NULL);
            failed = t.x.status[0] != SUBMOD_OK;
            if (failed) {
                assert_all_failed(&t, SUBMOD_ENOMEM, "rank 2: submod_dist_lovasz_sigmoid: out of");
            } else {
                ck_assert_int_gt(left, 10);
            }
            ck_assert_int_eq(live_rank_allocations(), 0);
            free_trial(&t);
        }
    }
    ck_assert_ok(submod_set_allocator(NULL));
}
END_TEST

/* Each call of the transport in turn. */
START_TEST(transport_fails)
{
    submod_measure m = submod_measure_custom(root, NULL);
    for (int custom = 0; custom < 2; custom++) {
        ranks_plan plan = {.failing_rank = 1};
        bool failed = true;
        while (failed) {
            plan.failing_call++;
            ck_assert_int_lt(plan.failing_call, 30);
            trial t = make_trial(SPREAD);
            t.x.s.measure = custom ? &m : NULL;
            run_trial(&t, &plan);
            failed = t.x.status[1] != SUBMOD_OK;
            for (int r = 0; failed && r < RANKS; r++) {
                ck_assert_int_eq(t.x.status[r], SUBMOD_ECOMM);
            }
            for (size_t i = 0; failed && i < t.n; i++) {
                ck_assert_msg(t.x.gradient[i] == 7, "gradient[%zu] was written", i);
            }
            free_trial(&t);
        }
        ck_assert_int_gt(plan.failing_call, 10);
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("dist_exact", small_problems, large_problems, several_threads, each_error_once,
                     equal_errors_are_one_record, the_rest_does_not_grow, images_send_their_losses,
                     hamming_sends_no_error, some_want_a_gradient, bad_scores_on_one_rank,
                     custom_measure_fails_on_one_owner, memory_fails_on_one_rank, transport_fails);
}
