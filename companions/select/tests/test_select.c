/* The functions against their definitions; submod_maximize against all subsets, and its methods
 * against each other. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <submod/select.h>

#include "support.h"

enum { N = 9, METHODS = 3 };

START_TEST(coverage_by_definition)
{
    const size_t start[] = {0, 3, 3, 5, 9};
    const int32_t items[] = {0, 2, 2, 1, 2, 3, 3, 0, 1};
    const double weight[] = {1, 2, 4, 8, 16};
    const uint32_t covers[] = {5, 0, 6, 11};
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_coverage(4, start, items, 5, weight, &fn));
    double *F = subset_values(fn);
    for (uint32_t set = 0; set < 16; set++) {
        uint32_t covered = 0;
        for (int e = 0; e < 4; e++) {
            covered |= set >> e & 1 ? covers[e] : 0;
        }
        ck_assert_near(F[set], (double)covered, 0); /* weights are the bits */
    }
    free(F);
    submod_fn_free(fn);
}
END_TEST

START_TEST(facility_by_definition)
{
    enum { CLIENTS = 300, PLANTS = 5, ALL = CLIENTS * PLANTS }; /* several groups of eval */
    double *benefit = malloc(ALL * sizeof *benefit);
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    for (size_t i = 0; i < ALL; i++) {
        benefit[i] = (double)submod_rng_below(&rng, 100);
    }
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_facility(PLANTS, CLIENTS, benefit, &fn));
    double *F = subset_values(fn);
    for (uint32_t set = 0; set < 1 << PLANTS; set++) {
        double expected = 0;
        for (size_t i = 0; i < CLIENTS; i++) {
            double best = 0;
            for (size_t j = 0; j < PLANTS; j++) {
                best = set >> j & 1 ? fmax(best, benefit[i * PLANTS + j]) : best;
            }
            expected += best;
        }
        ck_assert_near(F[set], expected, 0);
    }
    free(F);
    free(benefit);
    submod_fn_free(fn);
}
END_TEST

static submod_maximize_settings settings_of(int method)
{
    submod_maximize_settings s = submod_maximize_defaults();
    s.method = (submod_maximize_method)method;
    return s;
}

/* The largest F of a set with at most k of the elements in `allowed`. */
static double optimum(const double *F, size_t n, uint32_t allowed, size_t k)
{
    double best = -INFINITY;
    for (uint32_t set = 0; set < UINT32_C(1) << n; set++) {
        bool counts = !(set & ~allowed) && (size_t)__builtin_popcount(set) <= k;
        best = counts ? fmax(best, F[set]) : best;
    }
    return best;
}

/* Each element was the best at its time, with this gain; returns the set. */
static uint32_t assert_greedy(const double *F, const int32_t *set, const double *gains, size_t size,
                              bool best)
{
    uint32_t mask = 0;
    double tol = 1e-12 * value_scale(F, N);
    for (size_t i = 0; i < size; i++) {
        uint32_t next = mask | UINT32_C(1) << set[i];
        ck_assert(next != mask);
        ck_assert_near(gains[i], F[next] - F[mask], tol);
        for (uint32_t e = 0; best && e < N; e++) {
            uint32_t other = mask | UINT32_C(1) << e;
            ck_assert(F[other] - F[mask] <= gains[i] + tol);
        }
        mask = next;
    }
    return mask;
}

static void check_one(const submod_fn *fn, const double *F, int monotone, size_t k, int method)
{
    submod_maximize_settings settings = settings_of(method);
    submod_maximize_info info;
    int32_t set[N];
    double gains[N];
    size_t size = 99, most = k < N ? k : N;
    double tol = 1e-12 * value_scale(F, N);
    bool stochastic = method == SUBMOD_MAXIMIZE_STOCHASTIC;
    ck_assert_ok(submod_maximize(fn, k, NULL, 0, set, gains, &size, &settings, &info));
    ck_assert_uint_le(size, most);
    uint32_t mask = assert_greedy(F, set, gains, size, !stochastic);
    double best = optimum(F, N, (1 << N) - 1, k);
    ck_assert_int_eq((int)info.method, method);
    ck_assert_near(info.value, F[mask], tol);
    ck_assert(info.value <= info.bound);
    ck_assert(info.submodular == 1);
    double worth = info.value - F[0];
    if (monotone) {
        ck_assert(info.monotone == 1);
        ck_assert(info.bound >= best - tol);
        ck_assert(info.ratio >= 0 && info.ratio <= 1);
        ck_assert(stochastic || worth >= info.guarantee * (best - F[0]) - tol);
        ck_assert(stochastic || info.guarantee >= 1 - exp(-1));
        ck_assert(stochastic || info.ratio >= info.guarantee - 1e-12);
    } else if (!info.monotone) { /* what is left holds for every submodular function */
        ck_assert(info.guarantee == 0);
        ck_assert(info.bound >= best - tol);
        ck_assert(isinf(info.bound) == stochastic);
    }
}

START_TEST(all_families)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (size_t i = 0; i < family_count; i++) {
        for (int repeat = 0; repeat < 5; repeat++) {
            submod_fn *fn = families[i].make(N, &rng);
            double *F = subset_values(fn);
            for (size_t k = 0; k <= N + 2; k++) {
                for (int method = 0; method < METHODS; method++) {
                    check_one(fn, F, families[i].monotone, k, method);
                }
            }
            free(F);
            submod_fn_free(fn);
        }
    }
}
END_TEST

/* Whole numbers, so that ties are many and sums exact. */
static submod_fn *tied_facility(size_t n, size_t m, submod_rng *rng)
{
    double *benefit = malloc(n * m * sizeof *benefit);
    submod_fn *fn = NULL;
    ck_assert_ptr_nonnull(benefit);
    for (size_t i = 0; i < n * m; i++) {
        benefit[i] = (double)submod_rng_below(rng, 4);
    }
    ck_assert_ok(submod_fn_facility(n, m, benefit, &fn));
    free(benefit);
    return fn;
}

static submod_fn *sparse_coverage(size_t n, size_t m, submod_rng *rng)
{
    enum { EACH = 3 };
    size_t *start = malloc((n + 1) * sizeof *start);
    int32_t *items = malloc(n * EACH * sizeof *items);
    double *weight = malloc(m * sizeof *weight);
    submod_fn *fn = NULL;
    ck_assert(start && items && weight);
    for (size_t i = 0; i <= n; i++) {
        start[i] = i * EACH;
    }
    for (size_t i = 0; i < n * EACH; i++) {
        items[i] = (int32_t)submod_rng_below(rng, m);
    }
    for (size_t i = 0; i < m; i++) {
        weight[i] = (double)(1 + submod_rng_below(rng, 5));
    }
    ck_assert_ok(submod_fn_coverage(n, start, items, m, weight, &fn));
    free(start);
    free(items);
    free(weight);
    return fn;
}

/* The same elements in the same order, ties included; the same bounds; fewer gains. */
START_TEST(lazy_is_plain)
{
    enum { MANY = 200, K = 40 };
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (int repeat = 0; repeat < 20; repeat++) {
        submod_fn *fn =
            repeat % 2 ? tied_facility(MANY, 12, &rng) : sparse_coverage(MANY, 150, &rng);
        submod_maximize_info info[2];
        int32_t set[2][K], best = 0;
        double gains[2][K];
        size_t size[2];
        for (int method = 0; method < 2; method++) {
            submod_maximize_settings settings = settings_of(method);
            ck_assert_ok(submod_maximize(fn, K, NULL, 0, set[method], gains[method], &size[method],
                                         &settings, &info[method]));
        }
        ck_assert_uint_eq(size[0], size[1]);
        ck_assert_mem_eq(set[0], set[1], size[0] * sizeof *set[0]);
        ck_assert_mem_eq(gains[0], gains[1], size[0] * sizeof *gains[0]);
        ck_assert(info[0].value == info[1].value && info[0].bound == info[1].bound);
        ck_assert(info[0].ratio == info[1].ratio && info[0].guarantee == info[1].guarantee);
        /* Plain: all that are left, in each round; the last one may find nothing. */
        size_t rounds = size[1] < K ? size[1] + 1 : K;
        ck_assert_uint_eq(info[1].evaluations, rounds * MANY - rounds * (rounds - 1) / 2);
        ck_assert_uint_le((repeat % 2 ? 1 : 3) * info[0].evaluations, info[1].evaluations);
        /* The first is the lowest of the best. */
        submod_state *state = NULL;
        double most = -1;
        ck_assert_ok(submod_state_create(fn, &state));
        for (int32_t e = 0; e < MANY; e++) {
            double gain;
            ck_assert_ok(submod_state_gain(state, e, &gain));
            best = gain > most ? e : best;
            most = fmax(most, gain);
        }
        ck_assert_int_eq(set[0][0], best);
        submod_state_free(state);
        submod_fn_free(fn);
    }
}
END_TEST

/* Candidates in any order, against the restriction to them. */
START_TEST(candidates_are_a_restriction)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    for (size_t i = 0; i < family_count; i++) {
        submod_fn *fn = families[i].make(N, &rng), *restricted = NULL;
        int32_t order[N], set[2][4];
        size_t size[2];
        submod_maximize_info info[2];
        random_order(&rng, order, N);
        ck_assert_ok(submod_fn_restrict(fn, order, 6, &restricted));
        for (int method = 0; method < 2; method++) {
            submod_maximize_settings s = settings_of(method);
            ck_assert_ok(submod_maximize(fn, 4, order, 6, set[0], NULL, &size[0], &s, &info[0]));
            ck_assert_ok(
                submod_maximize(restricted, 4, NULL, 0, set[1], NULL, &size[1], &s, &info[1]));
            for (size_t j = 0; j < size[0]; j++) {
                bool among = false;
                for (int c = 0; c < 6; c++) {
                    among |= order[c] == set[0][j];
                }
                ck_assert(among);
            }
            if (families[i].monotone) { /* ties may be broken otherwise */
                double *F = subset_values(restricted);
                ck_assert(info[0].bound >= optimum(F, 6, 63, 4) - 1e-12 * value_scale(F, 6));
                free(F);
            }
        }
        ck_assert_ok(submod_maximize(fn, 4, order, 0, NULL, NULL, &size[0], NULL, &info[0]));
        ck_assert(size[0] == 0 && info[0].evaluations == 0 && info[0].ratio == 1);
        ck_assert(info[0].bound == info[0].value);
        submod_fn_free(restricted);
        submod_fn_free(fn);
    }
}
END_TEST

/* Few gains; the promise on average; the same set for the same seed. */
START_TEST(stochastic)
{
    enum { MANY = 14, K = 4, SEEDS = 200 };
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    submod_fn *fn = sparse_coverage(MANY, 40, &rng);
    double *F = subset_values(fn);
    double best = optimum(F, MANY, (1 << MANY) - 1, K), mean = 0;
    submod_maximize_settings settings = settings_of(SUBMOD_MAXIMIZE_STOCHASTIC);
    settings.epsilon = 0.3;
    uint64_t allowed = K * (uint64_t)ceil(MANY / (double)K * log(1 / 0.3));
    int32_t first[K] = {0};
    int others = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        submod_maximize_info info;
        int32_t set[K], again[K];
        size_t size;
        settings.seed = seed;
        ck_assert_ok(submod_maximize(fn, K, NULL, 0, set, NULL, &size, &settings, &info));
        ck_assert_ok(submod_maximize(fn, K, NULL, 0, again, NULL, &size, &settings, NULL));
        ck_assert_uint_eq(size, K);
        ck_assert_mem_eq(set, again, sizeof set);
        ck_assert_uint_le(info.evaluations, allowed);
        ck_assert_near(info.guarantee, 1 - exp(-1) - 0.3, 1e-15);
        ck_assert(info.bound >= best);
        ck_assert_near(info.ratio, info.value / info.bound, 1e-15);
        mean += info.value / SEEDS;
        memcpy(first, seed ? first : set, sizeof first);
        others += memcmp(first, set, sizeof set) != 0;
    }
    ck_assert_int_gt(others, SEEDS / 2);
    ck_assert(mean >= (1 - exp(-1) - 0.3) * best);
    free(F);
    submod_fn_free(fn);
}
END_TEST

/* Nothing is added that does not gain, and then nothing better is left. */
START_TEST(ends_early)
{
    submod_fn *fn = NULL;
    submod_maximize_info info;
    int32_t set[8];
    size_t size;
    const double w[5] = {3, -1, 0, 2, 5};
    ck_assert_ok(submod_fn_concave(
        8, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_MIN, .parameter = (double)(3)}, &fn));
    ck_assert_ok(submod_maximize(fn, 6, NULL, 0, set, NULL, &size, NULL, &info));
    ck_assert(size == 3 && set[0] == 0 && set[1] == 1 && set[2] == 2);
    ck_assert(info.guarantee == 1 && info.bound == 3 && info.ratio == 1 && info.monotone == 1);
    submod_fn_free(fn);
    ck_assert_ok(submod_fn_modular(5, w, &fn)); /* not monotone, but the single elements bound it */
    for (int method = 0; method < METHODS; method++) {
        submod_maximize_settings s = settings_of(method);
        s.epsilon = 1e-3; /* everybody is asked */
        ck_assert_ok(submod_maximize(fn, 5, NULL, 0, set, NULL, &size, &s, &info));
        ck_assert(size == 3 && set[0] == 4 && set[1] == 0 && set[2] == 3);
        ck_assert(info.monotone == 0 && info.guarantee == 0 && info.value == 10);
        ck_assert(info.bound == (method == SUBMOD_MAXIMIZE_STOCHASTIC ? INFINITY : 10));
        ck_assert(info.ratio == (method == SUBMOD_MAXIMIZE_STOCHASTIC ? 0 : 1));
    }
    submod_fn_free(fn);
}
END_TEST

/* F(empty) = 100 does not make sets look better than they are; |A|^2 is not submodular. */
static submod_status square(const void *ctx, const int32_t *set, size_t k, double *value)
{
    (void)ctx;
    (void)set;
    *value = 100 + (double)(k * k);
    return SUBMOD_OK;
}

static submod_status raised(const void *ctx, const int32_t *set, size_t k, double *value)
{
    submod_status status = submod_fn_eval(ctx, set, k, value);
    *value += 100;
    return status;
}

START_TEST(custom_functions)
{
    submod_fn_ops ops = {.eval = square};
    submod_fn *fn = NULL, *plain = NULL;
    submod_maximize_info info, shifted;
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    for (int method = 0; method < METHODS; method++) {
        submod_maximize_settings s = settings_of(method);
        size_t size;
        ck_assert_ok(submod_fn_custom(6, &ops, NULL, &fn));
        s.epsilon = 1e-3;
        ck_assert_ok(submod_maximize(fn, 3, NULL, 0, NULL, NULL, &size, &s, &info));
        ck_assert(size == 3 && info.value == 109 && info.submodular == 0);
        ck_assert(info.guarantee == 0 && info.bound == INFINITY && info.ratio == 0);
        submod_fn_free(fn);
    }
    plain = sparse_coverage(12, 20, &rng);
    ops.eval = raised;
    ck_assert_ok(submod_fn_custom(12, &ops, plain, &fn));
    ck_assert_ok(submod_maximize(plain, 3, NULL, 0, NULL, NULL, NULL, NULL, &info));
    ck_assert_ok(submod_maximize(fn, 3, NULL, 0, NULL, NULL, NULL, NULL, &shifted));
    ck_assert_near(shifted.value, info.value + 100, 1e-12);
    ck_assert_near(shifted.bound, info.bound + 100, 1e-12);
    ck_assert_near(shifted.ratio, info.ratio, 1e-12);
    submod_fn_free(fn);
    submod_fn_free(plain);
}
END_TEST

/* A function that takes its time: what is there when the limit comes is a beginning of the rest. */
static submod_status slow(const void *ctx, const int32_t *set, size_t k, double *value)
{
    volatile double burn = 0;
    for (int i = 0; i < 20000; i++) {
        burn = burn + sqrt((double)i);
    }
    return submod_fn_eval(ctx, set, k, value);
}

START_TEST(time_limit)
{
    enum { MANY = 200, K = 100 };
    submod_fn_ops ops = {.eval = slow};
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    submod_fn *inner = tied_facility(MANY, 50, &rng), *fn = NULL;
    submod_maximize_settings s = settings_of(SUBMOD_MAXIMIZE_PLAIN);
    submod_maximize_info info;
    int32_t whole[K], set[K];
    size_t size, all;
    ck_assert_ok(submod_fn_custom(MANY, &ops, inner, &fn));
    ck_assert_ok(submod_maximize(inner, K, NULL, 0, whole, NULL, &all, NULL, NULL));
    s.time_limit = 0.02;
    ck_assert_int_eq(submod_maximize(fn, K, NULL, 0, set, NULL, &size, &s, &info),
                     SUBMOD_TIMELIMIT);
    ck_assert_uint_lt(size, all);
    ck_assert_mem_eq(set, whole, size * sizeof *set);
    ck_assert(info.guarantee >= 0 && info.guarantee < 1 - exp(-1));
    s.time_limit = 1e-6; /* the first gain takes longer, and k = 1 promises 1 - 0^|A| */
    ck_assert_int_eq(submod_maximize(fn, 1, NULL, 0, set, NULL, &size, &s, &info),
                     SUBMOD_TIMELIMIT);
    ck_assert(size == 0 && info.guarantee == 0 && info.bound == INFINITY);
    submod_fn_free(fn);
    submod_fn_free(inner);
}
END_TEST

START_TEST(bad_input)
{
    submod_fn *fn = NULL;
    submod_maximize_settings s = submod_maximize_defaults();
    submod_maximize_info info = {.value = 7};
    int32_t set[3] = {7, 7, 7};
    size_t size = 7;
    ck_assert_ok(submod_fn_concave(3, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn));
    assert_error(submod_maximize(NULL, 1, NULL, 0, set, NULL, &size, NULL, &info), SUBMOD_EINVAL,
                 "fn is NULL");
    assert_error(submod_maximize(fn, 1, (int32_t[]){0, 3}, 2, set, NULL, &size, NULL, &info),
                 SUBMOD_EINVAL, "candidates[1] = 3 is not in [0, 3)");
    assert_error(submod_maximize(fn, 1, (int32_t[]){1, 1}, 2, set, NULL, &size, NULL, &info),
                 SUBMOD_EINVAL, "occurs twice");
    s.method = (submod_maximize_method)3;
    assert_error(submod_maximize(fn, 1, NULL, 0, set, NULL, &size, &s, &info), SUBMOD_EINVAL,
                 "method = 3");
    s = submod_maximize_defaults();
    const double epsilons[] = {0, 1, -1, NAN};
    for (int i = 0; i < 4; i++) {
        s.epsilon = epsilons[i];
        assert_error(submod_maximize(fn, 1, NULL, 0, set, NULL, &size, &s, &info), SUBMOD_EINVAL,
                     "epsilon");
    }
    s = submod_maximize_defaults();
    s.time_limit = -1;
    assert_error(submod_maximize(fn, 1, NULL, 0, set, NULL, &size, &s, &info), SUBMOD_EINVAL,
                 "time_limit = -1");
    ck_assert(set[0] == 7 && size == 7 && info.value == 7);
    ck_assert_ok(submod_maximize(fn, SIZE_MAX, NULL, 9, NULL, NULL, &size, NULL, NULL));
    ck_assert_uint_eq(size, 3);
    submod_fn_free(fn);
}
END_TEST

static void assert_not_made(submod_status status, submod_status expected, const char *words,
                            const submod_fn *fn)
{
    assert_error(status, expected, words);
    ck_assert_ptr_null(fn);
}

START_TEST(bad_functions)
{
    submod_fn *fn = NULL;
    const double nan_w[3] = {1, NAN, 2}, inf_w[3] = {1, 2, -INFINITY}, negative[3] = {1, 2, -3};
    const double one[3] = {1, 1, 1};
    const size_t start[4] = {0, 1, 2, 3}, bad_start[4] = {0, 2, 1, 3}, late[4] = {1, 1, 2, 3};
    const int32_t items[3] = {0, 1, 2}, far[3] = {0, 1, 5};
    const struct {
        size_t n, m;
        const size_t *start;
        const int32_t *items;
        const double *weight;
        submod_status status;
        const char *words;
    } coverage[] = {
        {0, 0, start, NULL, NULL, SUBMOD_EINVAL, "n = 0"},
        {(size_t)INT32_MAX + 1, 0, start, NULL, NULL, SUBMOD_EINVAL, "2^31 - 1"},
        {3, (size_t)INT32_MAX + 1, start, items, one, SUBMOD_EINVAL, "2^31 - 1"},
        {3, 3, NULL, items, one, SUBMOD_EINVAL, "start is NULL"},
        {3, 3, start, NULL, one, SUBMOD_EINVAL, "items is NULL"},
        {3, 3, start, items, NULL, SUBMOD_EINVAL, "weight is NULL"},
        {3, 3, start, items, negative, SUBMOD_EINVAL, "weight[2] = -3 must be >= 0"},
        {3, 3, start, items, nan_w, SUBMOD_ENONFINITE, "weight[1] is nan; it must be finite"},
        {3, 3, bad_start, items, one, SUBMOD_EINVAL, "start[2] = 1 must be >= start[1] = 2"},
        {3, 3, late, items, one, SUBMOD_EINVAL, "start[0] = 1 must be 0"},
        {3, 3, start, far, one, SUBMOD_EINVAL, "items[2] = 5 is not in [0, 3)"},
    };
    for (size_t i = 0; i < sizeof coverage / sizeof *coverage; i++) {
        assert_not_made(submod_fn_coverage(coverage[i].n, coverage[i].start, coverage[i].items,
                                           coverage[i].m, coverage[i].weight, &fn),
                        coverage[i].status, coverage[i].words, fn);
    }
    const struct {
        size_t n, m;
        const double *benefit;
        submod_status status;
        const char *words;
    } facility[] = {
        {0, 0, NULL, SUBMOD_EINVAL, "n = 0"},
        {3, 2, NULL, SUBMOD_EINVAL, "benefit is NULL"},
        {3, 1, negative, SUBMOD_EINVAL, "benefit[2] = -3 must be >= 0"},
        {3, 1, inf_w, SUBMOD_ENONFINITE, "benefit[2] is -inf"},
        {INT32_MAX, SIZE_MAX / 2, one, SUBMOD_ENOMEM, "submod_fn_facility: out of memory"},
    };
    for (size_t i = 0; i < sizeof facility / sizeof *facility; i++) {
        assert_not_made(submod_fn_facility(facility[i].n, facility[i].m, facility[i].benefit, &fn),
                        facility[i].status, facility[i].words, fn);
    }
    assert_error(submod_fn_facility(3, 1, one, NULL), SUBMOD_EINVAL, "NULL");
    assert_error(submod_fn_coverage(3, start, items, 3, one, NULL), SUBMOD_EINVAL, "NULL");
}
END_TEST

/* More items than eval keeps on the stack, and more clients than one group. */
START_TEST(large_functions)
{
    enum { MANY = 5000 };
    size_t start[3] = {0, MANY, MANY + 1};
    int32_t *items = malloc((MANY + 1) * sizeof *items);
    double *weight = malloc(2 * MANY * sizeof *weight), value;
    submod_fn *fn = NULL;
    ck_assert(items && weight);
    for (int32_t i = 0; i < MANY; i++) {
        items[i] = i;
        weight[i] = weight[MANY + i] = 1;
    }
    items[MANY] = 7;
    ck_assert_ok(submod_fn_coverage(2, start, items, MANY, weight, &fn));
    ck_assert_ok(submod_fn_eval(fn, (int32_t[]){0, 1}, 2, &value));
    ck_assert_near(value, MANY, 0);
    submod_fn_free(fn);
    ck_assert_ok(submod_fn_facility(2, MANY, weight, &fn));
    ck_assert_ok(submod_fn_eval(fn, (int32_t[]){0, 1}, 2, &value));
    ck_assert_near(value, MANY, 0);
    submod_fn_free(fn);
    free(items);
    free(weight);
}
END_TEST

int main(void)
{
    return RUN_TESTS("select", coverage_by_definition, facility_by_definition, all_families,
                     lazy_is_plain, candidates_are_a_restriction, stochastic, ends_early,
                     custom_functions, time_limit, bad_input, bad_functions, large_functions);
}
