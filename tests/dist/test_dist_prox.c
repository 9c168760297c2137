/* The prox of the Lovász hinge over ranks: against the exact one of a single process, within the
 * error that it states; the same bits for all splits; and what goes wrong on one rank. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "depth.h"
#include "dist/agree.h"
#include "ranks.h"
#include "support.h"

enum { IMAGES = 7, PIXELS = 90, ALL = IMAGES * PIXELS, IGNORED = 255, KINDS = 6 };

static double root(double a, double b, double P, double N, void *ctx)
{
    (void)ctx;
    return sqrt((2 * a + b) / (2 * P + N));
}

static submod_measure measure_of(int kind)
{
    const submod_measure all[KINDS] = {
        submod_measure_jaccard(),     submod_measure_tversky(0.5, 2),
        submod_measure_tversky(3, 1), submod_measure_tversky(0, 1.5),
        submod_measure_hamming(),     submod_measure_custom(root, NULL)};
    return all[kind];
}

/* ---- a batch and its split ---- */

typedef struct problem {
    float scores[ALL];
    int32_t labels[ALL];
    double lambda;
    submod_measure measure;
    submod_loss_settings settings;
} problem;

static void fill(problem *p, submod_rng *rng, int coarse)
{
    static const double shares[] = {0, 0.1, 0.4, 1};
    double share = shares[submod_rng_below(rng, 4)];
    for (size_t i = 0; i < ALL; i++) {
        double x = 1.5 * submod_rng_normal(rng);
        p->scores[i] = (float)(coarse ? floor(4 * x) / 4 : x);
        p->labels[i] = submod_rng_uniform(rng) < 0.1 ? IGNORED : submod_rng_uniform(rng) < share;
    }
    p->lambda = pow(10, 8 * submod_rng_uniform(rng) - 4);
    p->settings = submod_loss_defaults();
    p->settings.has_ignore = 1;
    p->settings.ignore_index = IGNORED;
}

static void take_measure(problem *p, int kind)
{
    p->measure = measure_of(kind);
    p->settings.measure = kind ? &p->measure : NULL;
}

/* What the ranks have found; each writes its own part. */
typedef struct outcome {
    const problem *problem;
    size_t first[MOST_RANKS + 1]; /* image of each rank */
    float prox[ALL], gradient[ALL];
    double scale;         /* of prox, on the last rank */
    double lambda_factor; /* on the last rank; 0: 1 */
    submod_status status[MOST_RANKS];
    submod_prox_info info[MOST_RANKS];
    char words[MOST_RANKS][300];
    int allocations; /* that succeed on the last rank; -1: all */
} outcome;

static void call(const submod_comm *comm, void *context)
{
    outcome *o = context;
    int me = comm->rank;
    bool last = me == comm->ranks - 1;
    size_t at = o->first[me] * PIXELS, images = o->first[me + 1] - o->first[me];
    submod_scores in = submod_scores_f32(o->problem->scores + at, images, 1, PIXELS);
    submod_labels truth = submod_labels_i32(o->problem->labels + at, images, PIXELS);
    submod_gradient prox = submod_gradient_dense(o->prox + at, 1, PIXELS),
                    gradient = submod_gradient_dense(o->gradient + at, 1, PIXELS);
    double factor = last && o->lambda_factor > 0 ? o->lambda_factor : 1;
    prox.scale = last && o->scale > 0 ? o->scale : 1;
    if (last && o->allocations >= 0) {
        set_rank_allocations(o->allocations);
    }
    o->status[me] =
        submod_dist_prox_lovasz_hinge(comm, &in, &truth, factor * o->problem->lambda, &prox,
                                      &gradient, &o->problem->settings, &o->info[me], NULL);
    set_rank_allocations(-1);
    strncpy(o->words[me], submod_last_error(), sizeof o->words[me] - 1);
}

/* Images at random, some ranks without any. */
static void split(outcome *o, int ranks, submod_rng *rng)
{
    o->first[0] = 0;
    for (int r = 1; r < ranks; r++) {
        size_t left = IMAGES - o->first[r - 1];
        o->first[r] = o->first[r - 1] + submod_rng_below(rng, (uint32_t)left + 1);
    }
    o->first[ranks] = IMAGES;
}

static void solve(outcome *o, const problem *p, int ranks, ranks_plan *plan)
{
    o->problem = p;
    for (size_t i = 0; i < ALL; i++) {
        o->prox[i] = o->gradient[i] = 7;
    }
    run_ranks(ranks, plan, call, o);
}

static void assert_all_ok(const outcome *o, int ranks)
{
    for (int r = 0; r < ranks; r++) {
        ck_assert_msg(o->status[r] == SUBMOD_OK, "rank %d: %s", r, o->words[r]);
    }
}

static void assert_all_fail(const outcome *o, int ranks, submod_status status, const char *words)
{
    for (int r = 0; r < ranks; r++) {
        ck_assert_msg(o->status[r] == status && strstr(o->words[r], words), "rank %d: %d, %s", r,
                      o->status[r], o->words[r]);
    }
    for (size_t i = 0; i < ALL; i++) {
        ck_assert(o->prox[i] == 7 && o->gradient[i] == 7);
    }
}

static bool same_bits(const void *a, const void *b, size_t floats)
{
    return memcmp(a, b, floats * sizeof(float)) == 0;
}

/* ---- the error ---- */

static double largest_margin(const problem *p, size_t *valid)
{
    double largest = 0;
    *valid = 0;
    for (size_t i = 0; i < ALL; i++) {
        if (p->labels[i] != IGNORED) {
            largest = fmax(largest, 1 - (p->labels[i] ? 1 : -1) * (double)p->scores[i]);
            ++*valid;
        }
    }
    return largest;
}

/* Whether the result is within what it says of the exact one. */
static void check_error(const problem *p, const outcome *o, size_t bins)
{
    float prox[ALL], gradient[ALL];
    submod_scores in = submod_scores_f32(p->scores, IMAGES, 1, PIXELS);
    submod_labels truth = submod_labels_i32(p->labels, IMAGES, PIXELS);
    submod_gradient to_prox = submod_gradient_dense(prox, 1, PIXELS),
                    to_gradient = submod_gradient_dense(gradient, 1, PIXELS);
    ck_assert_ok(submod_prox_lovasz_hinge(&in, &truth, p->lambda, &to_prox, &to_gradient,
                                          &p->settings, NULL, NULL));
    double error = o->info[0].error, square = 0, rounding = 0;
    size_t valid;
    double largest = largest_margin(p, &valid);
    ck_assert(error >= 0 && error <= 2 * largest / (double)bins);
    for (size_t i = 0; i < ALL; i++) {
        double miss = (double)o->prox[i] - (double)prox[i];
        double ulp = 2e-7 * (1 + fabs((double)p->scores[i]));
        ck_assert_near((double)o->prox[i], (double)prox[i], error + ulp);
        ck_assert_near((double)o->gradient[i], (double)gradient[i],
                       p->lambda * error + 3e-7 * fabs((double)gradient[i]) + 1e-12 * p->lambda);
        if (p->labels[i] == IGNORED) {
            ck_assert(o->prox[i] == p->scores[i] && o->gradient[i] == 0);
        }
        square += miss * miss;
        rounding += ulp * ulp;
    }
    ck_assert(sqrt(square) <= error / 2 * sqrt((double)valid) + sqrt(rounding));
}

START_TEST(within_its_error)
{
    static const size_t bins[] = {0, 2, 16, 1 << 10, 1 << 14};
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    static problem p;
    static outcome o;
    o = (outcome){.allocations = -1};
    for (int trial = 0; trial < repeats(80); trial++) {
        size_t K = bins[trial % 5];
        fill(&p, &rng, trial % 3 == 0);
        take_measure(&p, trial % KINDS);
        p.settings.bins = K;
        int ranks = 1 + (int)submod_rng_below(&rng, 4);
        split(&o, ranks, &rng);
        solve(&o, &p, ranks, NULL);
        assert_all_ok(&o, ranks);
        check_error(&p, &o, K ? K : 1 << 16);
    }
}
END_TEST

/* Scores that are multiples of 1/4 lie on any grid of 2^16 steps, so nothing moves. */
START_TEST(exact_on_the_grid)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    static problem p;
    static outcome o;
    o = (outcome){.allocations = -1};
    for (int trial = 0; trial < repeats(30); trial++) {
        fill(&p, &rng, 1);
        take_measure(&p, trial % KINDS);
        split(&o, 3, &rng);
        solve(&o, &p, 3, NULL);
        assert_all_ok(&o, 3);
        ck_assert(o.info[2].error == 0);
        check_error(&p, &o, 1 << 16);
    }
}
END_TEST

/* delta asks for bins of its own: the error is below twice delta times the largest margin. */
START_TEST(delta_is_kept)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    static problem p;
    static outcome o;
    o = (outcome){.allocations = -1};
    fill(&p, &rng, 0);
    p.settings.delta = 0x1p-20;
    split(&o, 2, &rng);
    solve(&o, &p, 2, NULL);
    assert_all_ok(&o, 2);
    size_t valid;
    ck_assert(o.info[0].error <= 2 * 0x1p-20 * largest_margin(&p, &valid));
    ck_assert(o.info[0].error > 0);
}
END_TEST

/* However coarse the grid: d(A) <= F(A) for all A, d = |gradient|, and no score goes past its
 * label.
 */
START_TEST(gradient_is_a_feasible_dual)
{
    enum { N = 11 };
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    for (int trial = 0; trial < repeats(100); trial++) {
        float scores[N], z[N], g[N];
        uint8_t labels[N];
        double d[N];
        submod_loss_settings s = submod_loss_defaults();
        s.bins = (size_t)2 << trial % 4;
        for (int i = 0; i < N; i++) {
            scores[i] = (float)(2 * submod_rng_normal(&rng));
            labels[i] = (uint8_t)submod_rng_below(&rng, 2);
        }
        submod_scores in = submod_scores_f32(scores, 1, 1, N);
        submod_labels truth = submod_labels_u8(labels, 1, N);
        submod_gradient prox = submod_gradient_dense(z, 1, N),
                        gradient = submod_gradient_dense(g, 1, N);
        ck_assert_ok(submod_dist_prox_lovasz_hinge(NULL, &in, &truth, pow(10, trial % 5 - 2), &prox,
                                                   &gradient, &s, NULL, NULL));
        submod_fn *fn = NULL;
        ck_assert_ok(submod_fn_jaccard(N, labels, &fn));
        double *F = subset_values(fn);
        for (int i = 0; i < N; i++) {
            double y = labels[i] ? 1 : -1;
            d[i] = -y * (double)g[i];
            ck_assert(d[i] >= 0);
            ck_assert(y * (double)z[i] >= y * (double)scores[i]);
            ck_assert(y * (double)z[i] <= fmax(y * (double)scores[i], 1));
        }
        ck_assert(worst_excess(F, N, d) <= 1e-6);
        free(F);
        submod_fn_free(fn);
    }
}
END_TEST

/* ---- the same for all splits ---- */

START_TEST(same_bits_for_any_split)
{
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    static problem p;
    static outcome one, many;
    one = many = (outcome){.allocations = -1};
    for (int trial = 0; trial < repeats(24); trial++) {
        fill(&p, &rng, trial % 2);
        take_measure(&p, trial % KINDS);
        p.settings.per_image = trial % 4 == 3;
        p.settings.bins = trial % 8 ? 1 << 10 : 0;
        split(&one, 1, &rng);
        solve(&one, &p, 1, NULL);
        assert_all_ok(&one, 1);
        for (int ranks = 2; ranks <= MOST_RANKS; ranks++) {
            split(&many, ranks, &rng);
            solve(&many, &p, ranks, NULL);
            assert_all_ok(&many, ranks);
            ck_assert(same_bits(one.prox, many.prox, ALL));
            ck_assert(same_bits(one.gradient, many.gradient, ALL));
            for (int r = 0; r < ranks; r++) {
                ck_assert(many.info[r].error == one.info[0].error);
                ck_assert(p.settings.per_image || many.info[r].work == one.info[0].work);
            }
        }
    }
}
END_TEST

/* Enough pixels for a table of counts per thread. */
START_TEST(same_bits_for_any_number_of_threads)
{
    enum { N = 60000 };
    float *scores = malloc(N * sizeof *scores), *g = malloc(N * sizeof *g),
          *again = malloc(N * sizeof *g);
    uint8_t *labels = malloc(N);
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    for (size_t i = 0; i < N; i++) {
        scores[i] = (float)submod_rng_normal(&rng);
        labels[i] = submod_rng_uniform(&rng) < 0.3;
    }
    submod_scores in = submod_scores_f32(scores, 1, 1, N);
    submod_labels truth = submod_labels_u8(labels, 1, N);
    submod_gradient first = submod_gradient_dense(g, 1, N),
                    second = submod_gradient_dense(again, 1, N);
    submod_loss_settings s = submod_loss_defaults();
    s.bins = 1024;
    ck_assert_ok(submod_set_num_threads(1));
    ck_assert_ok(
        submod_dist_prox_lovasz_hinge(NULL, &in, &truth, 0.01, NULL, &first, &s, NULL, NULL));
    ck_assert_ok(submod_set_num_threads(4));
    ck_assert_ok(
        submod_dist_prox_lovasz_hinge(NULL, &in, &truth, 0.01, NULL, &second, &s, NULL, NULL));
    ck_assert_ok(submod_set_num_threads(0));
    ck_assert(same_bits(g, again, N));
    free(scores);
    free(labels);
    free(g);
    free(again);
}
END_TEST

/* per_image: the bits of the exact layer of one process with all images. */
START_TEST(per_image_is_exact)
{
    submod_rng rng;
    submod_rng_seed(&rng, 7);
    static problem p;
    static outcome o;
    static float prox[ALL], gradient[ALL];
    o = (outcome){.allocations = -1};
    for (int trial = 0; trial < 12; trial++) {
        fill(&p, &rng, trial % 2);
        take_measure(&p, trial % KINDS);
        p.settings.per_image = 1;
        split(&o, 3, &rng);
        solve(&o, &p, 3, NULL);
        assert_all_ok(&o, 3);
        submod_scores in = submod_scores_f32(p.scores, IMAGES, 1, PIXELS);
        submod_labels truth = submod_labels_i32(p.labels, IMAGES, PIXELS);
        submod_gradient z = submod_gradient_dense(prox, 1, PIXELS),
                        g = submod_gradient_dense(gradient, 1, PIXELS);
        ck_assert_ok(
            submod_prox_lovasz_hinge(&in, &truth, p.lambda, &z, &g, &p.settings, NULL, NULL));
        ck_assert(same_bits(prox, o.prox, ALL));
        ck_assert(same_bits(gradient, o.gradient, ALL));
        ck_assert(o.info[0].error == 0);
    }
}
END_TEST

/* ---- what travels ---- */

START_TEST(bytes_do_not_depend_on_pixels)
{
    submod_rng rng;
    submod_rng_seed(&rng, 8);
    static problem p;
    static outcome o;
    o = (outcome){.allocations = -1};
    fill(&p, &rng, 0);
    p.settings.bins = 256;
    for (int nothing = 0; nothing < 2; nothing++) {
        ranks_plan plan = {0};
        split(&o, 3, &rng);
        for (size_t i = 0; nothing && i < ALL; i++) {
            p.labels[i] = IGNORED;
        }
        solve(&o, &p, 3, &plan);
        assert_all_ok(&o, 3);
        ck_assert_uint_eq(plan.calls, 3);
        ck_assert_uint_eq(plan.sum_bytes, 8 * (256 + 1));
        ck_assert_uint_eq(plan.int32_sums, 2 * (256 + 1));
        ck_assert_uint_eq(plan.gather_bytes, 192 + 8);
    }
    for (size_t i = 0; i < ALL; i++) {
        ck_assert(o.prox[i] == p.scores[i] && o.gradient[i] == 0);
    }
}
END_TEST

/* A second rank that has no pixels that count, but so many others that counts could pass 2^31. */
static int liar_gather(void *context, const void *mine, size_t bytes, void *all)
{
    (void)context;
    memcpy(all, mine, bytes);
    memcpy((char *)all + bytes, mine, bytes);
    if (bytes > sizeof(submodi_facts)) {
        uint64_t many = UINT64_C(1) << 31;
        size_t at = bytes - sizeof(submodi_facts) + offsetof(submodi_facts, pixels);
        memcpy((char *)all + bytes + at, &many, sizeof many);
    }
    return 0;
}

static int liar_sum(void *context, void *numbers, submod_comm_type type, size_t count)
{
    (void)numbers;
    (void)count;
    *(submod_comm_type *)context = type;
    return 0;
}

static int liar_exchange(void *context, const void *mine, const size_t *send, void *theirs,
                         const size_t *receive)
{
    (void)context, (void)mine, (void)send, (void)theirs, (void)receive;
    return 1;
}

START_TEST(more_pixels_than_an_int32_holds)
{
    submod_rng rng;
    submod_rng_seed(&rng, 9);
    static problem p;
    static outcome o;
    static float g[ALL];
    o = (outcome){.allocations = -1};
    fill(&p, &rng, 0);
    split(&o, 1, &rng);
    solve(&o, &p, 1, NULL);
    submod_comm_type type = SUBMOD_COMM_I32;
    submod_comm comm = submod_comm_alone();
    comm.context = &type;
    comm.ranks = 2;
    comm.gather = liar_gather;
    comm.sum = liar_sum;
    comm.exchange = liar_exchange;
    submod_scores in = submod_scores_f32(p.scores, IMAGES, 1, PIXELS);
    submod_labels truth = submod_labels_i32(p.labels, IMAGES, PIXELS);
    submod_gradient to = submod_gradient_dense(g, 1, PIXELS);
    ck_assert_ok(submod_dist_prox_lovasz_hinge(&comm, &in, &truth, p.lambda, NULL, &to, &p.settings,
                                               NULL, NULL));
    ck_assert_int_eq(type, SUBMOD_COMM_F64);
    ck_assert(same_bits(g, o.gradient, ALL));
}
END_TEST

/* ---- special cases ---- */

START_TEST(limits_of_lambda)
{
    submod_rng rng;
    submod_rng_seed(&rng, 10);
    static problem p;
    static outcome o;
    o = (outcome){.allocations = -1};
    fill(&p, &rng, 0);
    split(&o, 2, &rng);
    /* so small that all that is wrong goes to its label, exactly */
    p.lambda = 1e-300;
    solve(&o, &p, 2, NULL);
    assert_all_ok(&o, 2);
    for (size_t i = 0; i < ALL; i++) {
        float y = p.labels[i] == 1 ? 1 : -1;
        bool right = p.labels[i] == IGNORED || y * p.scores[i] >= 1;
        ck_assert(o.prox[i] == (right ? p.scores[i] : y));
    }
    /* so large that nothing moves, and the gradient is that of the loss at the grid */
    p.lambda = 1e12;
    solve(&o, &p, 2, NULL);
    assert_all_ok(&o, 2);
    double sum = 0;
    for (size_t i = 0; i < ALL; i++) {
        ck_assert_near((double)o.prox[i], (double)p.scores[i],
                       1e-6 * (1 + fabs((double)p.scores[i])));
        sum += fabs((double)o.gradient[i]);
    }
    ck_assert(sum > 0.5 && sum <= 1 + 1e-5);
    p.lambda = 1e-320;
    solve(&o, &p, 2, NULL);
    assert_all_fail(&o, 2, SUBMOD_ENUMERIC, "overflows");
}
END_TEST

START_TEST(huge_scores_and_nothing)
{
    float scores[4] = {3e38F, -3e38F, 1, 0}, z[4] = {7, 7, 7, 7};
    uint8_t labels[4] = {0, 1, 1, 0};
    submod_scores in = submod_scores_f32(scores, 2, 1, 2), none = submod_scores_f32(NULL, 0, 1, 0);
    submod_labels truth = submod_labels_u8(labels, 2, 2), no_truth = submod_labels_u8(NULL, 0, 0);
    submod_gradient to = submod_gradient_dense(z, 1, 2),
                    nowhere = submod_gradient_dense(NULL, 1, 0);
    submod_loss_settings s = submod_loss_defaults();
    submod_prox_info info;
    ck_assert_ok(
        submod_dist_prox_lovasz_hinge(NULL, &in, &truth, 1e-3, &to, NULL, &s, &info, NULL));
    ck_assert(fabs((double)z[0] - 3e38) <= info.error + 1e32 && info.error <= 0x1p128 / 0x1p16);
    ck_assert(z[2] == 1);
    for (int per_image = 0; per_image < 2; per_image++) {
        s.per_image = per_image;
        ck_assert_ok(submod_dist_prox_lovasz_hinge(NULL, &none, &no_truth, 1, &nowhere, &nowhere,
                                                   &s, &info, NULL));
        ck_assert(info.error == 0);
    }
}
END_TEST

/* ---- what goes wrong ---- */

static const char *const who = "submod_dist_prox_lovasz_hinge";

START_TEST(failures_are_shared)
{
    submod_rng rng;
    submod_rng_seed(&rng, 11);
    static problem p;
    static outcome o;
    for (int per_image = 0; per_image < 2; per_image++) {
        o = (outcome){.allocations = -1, .first = {0, 2, 4, IMAGES}};
        fill(&p, &rng, 0);
        p.settings.per_image = per_image;
        p.scores[3 * PIXELS + 5] = NAN;
        solve(&o, &p, 3, NULL);
        assert_all_fail(&o, 3, SUBMOD_ENONFINITE,
                        "rank 1: submod_dist_prox_lovasz_hinge: scores[1]");
        p.labels[1 * PIXELS + 5] = 9;
        solve(&o, &p, 3, NULL);
        assert_all_fail(&o, 3, SUBMOD_EINVAL,
                        "rank 0: submod_dist_prox_lovasz_hinge: labels[1][5] = 9");
        fill(&p, &rng, 0);
        p.settings.per_image = per_image;
        o.lambda_factor = 2;
        solve(&o, &p, 3, NULL);
        assert_all_fail(&o, 3, SUBMOD_EINVAL, "lambda of rank 2 is not that of rank 0");
        o.lambda_factor = -1;
        p.lambda = -1;
        solve(&o, &p, 3, NULL);
        assert_all_fail(&o, 3, SUBMOD_EINVAL, "lambda");
        /* an output of the last rank alone overflows */
        fill(&p, &rng, 0);
        p.settings.per_image = per_image;
        o.lambda_factor = 0;
        o.scale = 1e30;
        p.scores[ALL - 1] = -1e10F;
        p.labels[ALL - 1] = 0;
        solve(&o, &p, 3, NULL);
        assert_all_fail(&o, 3, SUBMOD_ENUMERIC, "rank 2: ");
        ck_assert(strstr(o.words[0], "overflows a float"));
    }
}
END_TEST

static double broken(double a, double b, double P, double N, void *ctx)
{
    (void)ctx;
    return a + b > 3 ? NAN : root(a, b, P, N, NULL);
}

START_TEST(settings_that_are_refused)
{
    submod_rng rng;
    submod_rng_seed(&rng, 12);
    static problem p;
    static outcome o;
    o = (outcome){.allocations = -1, .first = {0, 2, IMAGES}};
    fill(&p, &rng, 0);
    p.settings.bins = 3;
    solve(&o, &p, 2, NULL);
    assert_all_fail(&o, 2, SUBMOD_EINVAL, "bins = 3");
    fill(&p, &rng, 0);
    p.settings.delta = NAN;
    solve(&o, &p, 2, NULL);
    assert_all_fail(&o, 2, SUBMOD_EINVAL, "delta");
    fill(&p, &rng, 0);
    p.measure = submod_measure_custom(broken, NULL);
    p.settings.measure = &p.measure;
    solve(&o, &p, 2, NULL);
    assert_all_fail(&o, 2, SUBMOD_ECALLBACK, who);
    static float weights[ALL];
    fill(&p, &rng, 0);
    static submod_pixel_weights view;
    view = submod_pixel_weights_f32(weights, IMAGES, PIXELS);
    p.settings.pixel_weights = &view;
    solve(&o, &p, 2, NULL);
    assert_all_fail(&o, 2, SUBMOD_EUNSUPPORTED, "pixel_weights");
}
END_TEST

/* Memory runs out on the last rank, at any of its allocations. */
START_TEST(memory_runs_out_on_one_rank)
{
    submod_rng rng;
    submod_rng_seed(&rng, 13);
    static problem p;
    static outcome o;
    ck_assert_ok(submod_set_allocator(&rank_allocator));
    for (int per_image = 0; per_image < 2; per_image++) {
        int failures = 0;
        fill(&p, &rng, 0);
        p.settings.per_image = per_image;
        p.settings.bins = 64;
        for (int left = 0; left < 100; left++) {
            o = (outcome){.allocations = left, .first = {0, 3, IMAGES}};
            solve(&o, &p, 2, NULL);
            if (o.status[0] == SUBMOD_OK) {
                assert_all_ok(&o, 2);
                break;
            }
            assert_all_fail(&o, 2, SUBMOD_ENOMEM, "out of memory");
            failures++;
        }
        ck_assert_int_ge(failures, 3);
        ck_assert_int_lt(failures, 100);
    }
    ck_assert_int_eq(live_rank_allocations(), 0);
    ck_assert_ok(submod_set_allocator(NULL));
}
END_TEST

START_TEST(transport_fails)
{
    submod_rng rng;
    submod_rng_seed(&rng, 14);
    static problem p;
    static outcome o;
    for (int number = 1; number <= 3; number++) {
        ranks_plan plan = {.failing_rank = 1, .failing_call = number};
        o = (outcome){.allocations = -1, .first = {0, 3, 5, IMAGES}};
        fill(&p, &rng, 0);
        solve(&o, &p, 3, &plan);
        assert_all_fail(&o, 3, SUBMOD_ECOMM, who);
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("dist_prox", within_its_error, exact_on_the_grid, delta_is_kept,
                     gradient_is_a_feasible_dual, same_bits_for_any_split,
                     same_bits_for_any_number_of_threads, per_image_is_exact,
                     bytes_do_not_depend_on_pixels, more_pixels_than_an_int32_holds,
                     limits_of_lambda, huge_scores_and_nothing, failures_are_shared,
                     settings_that_are_refused, memory_runs_out_on_one_rank, transport_fails);
}
