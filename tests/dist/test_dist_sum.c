/* The prox of a sum over ranks: against the prox of the whole on one machine, by its certificate,
 * checked over all subsets, and by what travels and what goes wrong. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"
#include "support.h"

enum { MOST_TERMS = 40, MOST_N = 400 };

/* ---- a sum and its split ---- */

typedef struct problem {
    size_t n, count;
    submod_fn *term[MOST_TERMS];
    int owner[MOST_TERMS]; /* the rank that has it */
    double x[MOST_N], lambda;
    submod_prox_settings settings;
} problem;

typedef struct outcome {
    const problem *problem;
    double u[MOST_RANKS][MOST_N], s[MOST_RANKS][MOST_N];
    submod_status status[MOST_RANKS];
    submod_prox_info info[MOST_RANKS];
    char words[MOST_RANKS][300];
    /* what is different on the last rank */
    double add_to_x;
    double time_limit;
    volatile int cancelled;
    long allocations; /* that succeed; 0: all */
} outcome;

static void call(const submod_comm *comm, void *context)
{
    outcome *o = context;
    const problem *p = o->problem;
    int me = comm->rank;
    submod_fn *mine[MOST_TERMS];
    double x[MOST_N];
    size_t count = 0;
    submod_prox_settings settings = p->settings;
    memcpy(x, p->x, p->n * sizeof *x);
    for (size_t j = 0; j < p->count; j++) {
        if (p->owner[j] == me) {
            mine[count++] = p->term[j];
        }
    }
    if (me == comm->ranks - 1) {
        x[0] += o->add_to_x;
        settings.time_limit = o->time_limit;
        submod_set_cancel_flag(&o->cancelled);
        if (o->allocations > 0) {
            set_rank_allocations(o->allocations);
        }
    }
    o->status[me] = submod_dist_prox_sum(comm, p->n, mine, count, x, p->lambda, o->u[me], o->s[me],
                                         &settings, &o->info[me], NULL);
    set_rank_allocations(-1);
    strncpy(o->words[me], submod_last_error(), sizeof o->words[me] - 1);
}

static void solve(outcome *o, const problem *p, int ranks, ranks_plan *plan)
{
    o->problem = p;
    for (int r = 0; r < ranks; r++) {
        o->u[r][0] = o->s[r][0] = 7;
    }
    run_ranks(ranks, plan, call, o);
}

static void assert_all(const outcome *o, int ranks, submod_status status, const char *words)
{
    for (int r = 0; r < ranks; r++) {
        ck_assert_msg(o->status[r] == status && (!words || strstr(o->words[r], words)),
                      "rank %d: %d, %s", r, o->status[r], o->words[r]);
        if (status < 0) {
            ck_assert(o->u[r][0] == 7 && o->s[r][0] == 7);
        } else {
            size_t bytes = o->problem->n * sizeof(double);
            ck_assert(memcmp(o->u[r], o->u[0], bytes) == 0);
            ck_assert(memcmp(o->s[r], o->s[0], bytes) == 0);
            ck_assert(o->info[r].gap == o->info[0].gap);
            ck_assert(o->info[r].iterations == o->info[0].iterations);
        }
    }
}

static submod_fn *whole(const problem *p)
{
    submod_fn *sum = NULL;
    ck_assert_ok(submod_fn_sum(p->term, NULL, p->count, &sum));
    return sum;
}

static void free_terms(problem *p)
{
    for (size_t j = 0; j < p->count; j++) {
        submod_fn_free(p->term[j]);
    }
    p->count = 0;
}

static void deal(problem *p, int ranks, submod_rng *rng)
{
    for (size_t j = 0; j < p->count; j++) {
        p->owner[j] = (int)submod_rng_below(rng, (uint32_t)ranks);
    }
}

/* A random term of some of the elements, or of all. */
static submod_fn *random_term(size_t n, submod_rng *rng)
{
    const family *f = &families[submod_rng_below(rng, (uint32_t)family_count)];
    int32_t order[MOST_N];
    submod_fn *fn = NULL;
    if (submod_rng_below(rng, 3) == 0) {
        return f->make(n, rng);
    }
    size_t k = 2 + submod_rng_below(rng, (uint32_t)n - 1);
    submod_fn *inner = f->make(k, rng);
    random_order(rng, order, n);
    ck_assert_ok(submod_fn_embed(inner, n, order, &fn));
    submod_fn_free(inner);
    return fn;
}

/* ---- the certificate ---- */

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* All from F of the whole, by its values at all subsets. */
static void check_certificate(const problem *p, const outcome *o)
{
    const double *u = o->u[0], *s = o->s[0];
    const submod_prox_info *info = &o->info[0];
    submod_fn *sum = whole(p);
    double *F = subset_values(sum);
    double scale = value_scale(F, p->n), total = 0, distance = 0, product = 0, square = 0;
    ck_assert(worst_excess(F, p->n, s) <= 1e-9 * scale);
    for (size_t i = 0; i < p->n; i++) {
        total += s[i];
        distance += (u[i] - p->x[i]) * (u[i] - p->x[i]);
        product += s[i] * p->x[i];
        square += s[i] * s[i];
    }
    ck_assert_near(total, F[((size_t)1 << p->n) - 1], 1e-9 * scale);
    double primal = choquet(F, p->n, u) + p->lambda / 2 * distance;
    double dual = product - square / (2 * p->lambda);
    double size = fabs(primal) + fabs(dual) + scale * scale / p->lambda;
    if (o->status[0] == SUBMOD_OK) {
        double terms = p->lambda * dot(p->x, p->x, p->n) + square / p->lambda;
        ck_assert(info->gap <= p->settings.tolerance * terms / 2 + 1e-13 * size);
    }
    ck_assert_near(info->primal, primal, 1e-9 * size);
    ck_assert_near(info->dual, dual, 1e-9 * size);
    ck_assert_near(info->gap, primal - dual, 1e-9 * size);
    free(F);
    submod_fn_free(sum);
}

/* Some are stopped early: their gaps are large, and must be right, too. */
START_TEST(certified_over_all_subsets)
{
    int early = 0;
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    static problem p;
    static outcome o;
    for (int trial = 0; trial < 60; trial++) {
        int ranks = 1 + trial % 4;
        p = (problem){.n = 2 + submod_rng_below(&rng, 8),
                      .lambda = pow(10, 3 * submod_rng_uniform(&rng) - 1.5),
                      .settings = submod_prox_defaults()};
        p.count = 1 + submod_rng_below(&rng, 5);
        for (size_t j = 0; j < p.count; j++) {
            p.term[j] = random_term(p.n, &rng);
        }
        random_vector(&rng, p.x, p.n, trial % 2);
        deal(&p, ranks, &rng);
        p.settings.max_iterations = trial % 3 ? 0 : 1;
        p.settings.tolerance = trial % 2 ? 1e-10 : 1e-5;
        o = (outcome){.cancelled = 0};
        solve(&o, &p, ranks, NULL);
        assert_all(&o, ranks, trial % 3 ? SUBMOD_OK : o.status[0], NULL);
        ck_assert(o.status[0] == SUBMOD_OK || o.status[0] == SUBMOD_MAXITER);
        early += o.status[0] == SUBMOD_MAXITER && o.info[0].gap > 1e-3;
        check_certificate(&p, &o);
        free_terms(&p);
    }
    ck_assert_int_ge(early, 5);
}
END_TEST

/* ---- a grid by its lines ---- */

/* Rows and columns, each a chain embedded in a grid of h x h. */
static void make_lines(problem *p, size_t h)
{
    p->count = 0;
    for (size_t line = 0; line < 2 * h; line++) {
        int32_t tail[20], head[20], at[20];
        double weight[20];
        submod_fn *chain = NULL;
        for (size_t i = 0; i < h; i++) {
            at[i] = (int32_t)(line < h ? line * h + i : i * h + line - h);
            tail[i] = (int32_t)i;
            head[i] = (int32_t)i + 1;
            weight[i] = 0.3;
        }
        ck_assert_ok(submod_fn_cut(h, h - 1, tail, head, weight, 0, &chain));
        ck_assert_ok(submod_fn_embed(chain, h * h, at, &p->term[p->count++]));
        submod_fn_free(chain);
    }
}

START_TEST(total_variation_by_lines)
{
    enum { H = 18 };
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    static problem p;
    static outcome o;
    for (int trial = 0; trial < 6; trial++) {
        int ranks = 1 + trial;
        double u[H * H];
        submod_prox_info info;
        p = (problem){.n = (size_t)H * H, .lambda = 1, .settings = submod_prox_defaults()};
        p.settings.tolerance = 1e-12;
        make_lines(&p, H);
        random_vector(&rng, p.x, p.n, 0);
        deal(&p, ranks, &rng);
        o = (outcome){.cancelled = 0};
        solve(&o, &p, ranks, NULL);
        assert_all(&o, ranks, SUBMOD_OK, NULL);
        submod_fn *sum = whole(&p);
        ck_assert_ok(submod_prox(sum, p.x, p.lambda, u, NULL, NULL, &info, NULL));
        double off = 0;
        for (size_t i = 0; i < p.n; i++) {
            off += (u[i] - o.u[0][i]) * (u[i] - o.u[0][i]);
        }
        ck_assert(off <= 8 * (o.info[0].gap + fmax(info.gap, 0) + 1e-14) / p.lambda);
        submod_fn_free(sum);
        free_terms(&p);
    }
}
END_TEST

/* Terms that share no element: one step solves them, one message more proves it. */
START_TEST(iterations_depend_on_sharing_alone)
{
    enum { TERMS = 30, K = 5 };
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    static problem p;
    static outcome o;
    p = (problem){.n = TERMS * K, .lambda = 2, .settings = submod_prox_defaults(), .count = TERMS};
    for (size_t j = 0; j < TERMS; j++) {
        int32_t at[K];
        submod_fn *inner = NULL;
        for (size_t i = 0; i < K; i++) {
            at[i] = (int32_t)(i * TERMS + j);
        }
        ck_assert_ok(submod_fn_sqrt(K, &inner));
        ck_assert_ok(submod_fn_embed(inner, p.n, at, &p.term[j]));
        submod_fn_free(inner);
    }
    random_vector(&rng, p.x, p.n, 0);
    deal(&p, 5, &rng);
    o = (outcome){.cancelled = 0};
    ranks_plan plan = {0};
    solve(&o, &p, 5, &plan);
    assert_all(&o, 5, SUBMOD_OK, NULL);
    ck_assert_uint_eq(o.info[0].iterations, 1);
    /* facts; who has which element; two messages */
    ck_assert_uint_eq(plan.calls, 4);
    ck_assert_uint_eq(plan.sum_bytes, 4 * p.n + 2 * 8 * (p.n + 7));
    free_terms(&p);
}
END_TEST

/* Ranks without terms change nothing. */
START_TEST(idle_ranks_cost_no_iterations)
{
    submod_rng rng;
    submod_rng_seed(&rng, 8);
    static problem p;
    static outcome one, many;
    p = (problem){.n = 100, .lambda = 0.3, .settings = submod_prox_defaults()};
    make_lines(&p, 10);
    random_vector(&rng, p.x, p.n, 0);
    one = many = (outcome){.cancelled = 0};
    solve(&one, &p, 1, NULL);
    for (size_t j = 0; j < p.count; j++) {
        p.owner[j] = 2;
    }
    solve(&many, &p, 4, NULL);
    assert_all(&one, 1, SUBMOD_OK, NULL);
    assert_all(&many, 4, SUBMOD_OK, NULL);
    ck_assert_uint_eq(one.info[0].iterations, many.info[0].iterations);
    for (size_t i = 0; i < p.n; i++) {
        ck_assert(one.u[0][i] == many.u[0][i]);
    }
    free_terms(&p);
}
END_TEST

/* All numbers are about 1e-300: no square is left, the gap is 0, and all ranks say that it proves
 * nothing. Found by a fuzzer. */
START_TEST(squares_that_vanish)
{
    static problem p;
    static outcome o;
    submod_rng rng;
    submod_rng_seed(&rng, 77);
    p = (problem){.n = 6, .count = 2, .lambda = 4, .settings = submod_prox_defaults()};
    for (size_t j = 0; j < p.count; j++) {
        submod_fn *plain = family_named(j ? "coverage" : "facility")->make(p.n, &rng);
        ck_assert_ok(submod_fn_scale(plain, 1e-300, &p.term[j]));
        submod_fn_free(plain);
        p.owner[j] = (int)j;
    }
    for (size_t i = 0; i < p.n; i++) {
        p.x[i] = 1e-300 * submod_rng_normal(&rng);
    }
    solve(&o, &p, 2, NULL);
    assert_all(&o, 2, SUBMOD_INACCURATE, NULL);
    free_terms(&p);
}
END_TEST

START_TEST(no_terms_at_all)
{
    static problem p;
    static outcome o;
    p = (problem){.n = 3, .x = {1, 2, -3}, .lambda = 5, .settings = submod_prox_defaults()};
    o = (outcome){.cancelled = 0};
    solve(&o, &p, 3, NULL);
    assert_all(&o, 3, SUBMOD_OK, NULL);
    for (size_t i = 0; i < 3; i++) {
        ck_assert(o.u[0][i] == p.x[i] && o.s[0][i] == 0);
    }
    ck_assert(o.info[0].gap == 0);
}
END_TEST

/* ---- limits ---- */

static void make_hard(problem *p, submod_rng *rng)
{
    *p = (problem){.n = 36, .lambda = 0.2, .settings = submod_prox_defaults()};
    make_lines(p, 6);
    random_vector(rng, p->x, p->n, 0);
    deal(p, 3, rng);
}

START_TEST(limits_stop_all_ranks)
{
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    static problem p;
    static outcome o;
    make_hard(&p, &rng);
    o = (outcome){.cancelled = 0};
    ranks_plan plan = {0};
    p.settings.max_iterations = 4;
    solve(&o, &p, 3, &plan);
    assert_all(&o, 3, SUBMOD_MAXITER, NULL);
    ck_assert_uint_eq(o.info[0].iterations, 4);
    ck_assert_uint_eq(plan.calls, 2 + 4 + 1);
    double gap_of_four = o.info[0].gap;
    p.settings.max_iterations = 8;
    solve(&o, &p, 3, NULL);
    assert_all(&o, 3, SUBMOD_MAXITER, NULL);
    ck_assert(o.info[0].gap < gap_of_four);
    p.settings.max_iterations = 0;
    o.time_limit = 1e-9;
    solve(&o, &p, 3, NULL);
    assert_all(&o, 3, SUBMOD_TIMELIMIT, NULL);
    o.time_limit = 0;
    o.cancelled = 1;
    solve(&o, &p, 3, NULL);
    assert_all(&o, 3, SUBMOD_CANCELLED, NULL);
    free_terms(&p);
}
END_TEST

/* ---- what goes wrong ---- */

static submod_status not_a_number(const void *ctx, const int32_t *set, size_t k, double *value)
{
    (void)ctx, (void)set;
    *value = k > 2 ? NAN : (double)k;
    return SUBMOD_OK;
}

START_TEST(failures_are_shared)
{
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    static problem p;
    static outcome o;
    make_hard(&p, &rng);
    o = (outcome){.add_to_x = 1};
    solve(&o, &p, 3, NULL);
    assert_all(&o, 3, SUBMOD_EINVAL, "x of rank 2 is not that of rank 0");
    o = (outcome){.add_to_x = NAN};
    solve(&o, &p, 3, NULL);
    assert_all(&o, 3, SUBMOD_ENONFINITE, "rank 2: submod_dist_prox_sum: x[0]");
    /* one function fails in the middle */
    submod_fn_ops ops = {.struct_size = sizeof ops, .eval = not_a_number};
    submod_fn_free(p.term[0]);
    ck_assert_ok(submod_fn_custom(p.n, &ops, NULL, &p.term[0]));
    p.owner[0] = 1;
    o = (outcome){.cancelled = 0};
    solve(&o, &p, 3, NULL);
    assert_all(&o, 3, SUBMOD_ECALLBACK, "rank 1: ");
    submod_fn_free(p.term[0]);
    ck_assert_ok(submod_fn_sqrt(p.n + 1, &p.term[0]));
    solve(&o, &p, 3, NULL);
    assert_all(&o, 3, SUBMOD_EINVAL, "must be a function of n = 36 elements");
    p.settings.hinge = 1;
    solve(&o, &p, 3, NULL);
    assert_all(&o, 3, SUBMOD_EUNSUPPORTED, "hinge");
    free_terms(&p);
}
END_TEST

START_TEST(arguments)
{
    double x[2] = {1, 2}, u[2] = {7, 7};
    submod_fn *fn = NULL;
    submod_prox_settings s = submod_prox_defaults();
    ck_assert_ok(submod_fn_sqrt(2, &fn));
    assert_error(submod_dist_prox_sum(NULL, 0, &fn, 1, x, 1, u, NULL, NULL, NULL, NULL),
                 SUBMOD_EINVAL, "n = 0");
    assert_error(submod_dist_prox_sum(NULL, 2, NULL, 1, x, 1, u, NULL, NULL, NULL, NULL),
                 SUBMOD_EINVAL, "terms is NULL");
    assert_error(submod_dist_prox_sum(NULL, 2, &fn, 1, NULL, 1, u, NULL, NULL, NULL, NULL),
                 SUBMOD_EINVAL, "x is NULL");
    assert_error(submod_dist_prox_sum(NULL, 2, &fn, 1, x, 0, u, NULL, NULL, NULL, NULL),
                 SUBMOD_EINVAL, "lambda");
    s.tolerance = -1;
    assert_error(submod_dist_prox_sum(NULL, 2, &fn, 1, x, 1, u, NULL, &s, NULL, NULL),
                 SUBMOD_EINVAL, "tolerance");
    assert_error(submod_dist_prox_sum(NULL, 2, &fn, 1, x, 1e-320, u, NULL, NULL, NULL, NULL),
                 SUBMOD_ENUMERIC, "");
    ck_assert(u[0] == 7 && u[1] == 7);
    ck_assert_ok(submod_dist_prox_sum(NULL, 2, &fn, 1, x, 1, NULL, NULL, NULL, NULL, NULL));
    submod_fn_free(fn);
}
END_TEST

START_TEST(memory_runs_out_on_one_rank)
{
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    static problem p;
    static outcome o;
    ck_assert_ok(submod_set_allocator(&rank_allocator));
    make_hard(&p, &rng);
    p.settings.tolerance = 1e-2;
    p.owner[0] = 1;
    long before = live_rank_allocations();
    int failures = 0;
    for (long left = 1; left < 4000; left += 1 + left / 10) {
        o = (outcome){.allocations = left};
        solve(&o, &p, 2, NULL);
        bool good = o.status[0] == SUBMOD_OK;
        assert_all(&o, 2, good ? SUBMOD_OK : SUBMOD_ENOMEM, good ? NULL : "rank 1: ");
        ck_assert_int_eq(live_rank_allocations(), before);
        failures += !good;
    }
    ck_assert_int_ge(failures, 5);
    free_terms(&p);
    ck_assert_int_eq(live_rank_allocations(), 0);
    ck_assert_ok(submod_set_allocator(NULL));
}
END_TEST

START_TEST(transport_fails)
{
    submod_rng rng;
    submod_rng_seed(&rng, 7);
    static problem p;
    static outcome o;
    make_hard(&p, &rng);
    for (int number = 1; number <= 5; number++) {
        ranks_plan plan = {.failing_rank = 2, .failing_call = number};
        o = (outcome){.cancelled = 0};
        solve(&o, &p, 3, &plan);
        assert_all(&o, 3, SUBMOD_ECOMM, "submod_dist_prox_sum");
    }
    free_terms(&p);
}
END_TEST

int main(void)
{
    return RUN_TESTS("dist_sum", certified_over_all_subsets, total_variation_by_lines,
                     iterations_depend_on_sharing_alone, idle_ranks_cost_no_iterations,
                     squares_that_vanish, no_terms_at_all, limits_stop_all_ranks,
                     failures_are_shared, arguments, memory_runs_out_on_one_rank, transport_fails);
}
