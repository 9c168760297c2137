/* Submodular minimisation against a search of all subsets: value, smallest and largest minimiser,
 * base, gap. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "combinations.h"
#include "depth.h"
#include "problems.h"
#include "submod/fn_internal.h"
#include "support.h"

static uint32_t mask_of(const uint8_t *in, size_t n)
{
    uint32_t mask = 0;
    for (size_t i = 0; i < n; i++) {
        ck_assert(in[i] <= 1);
        mask |= (uint32_t)in[i] << i;
    }
    return mask;
}

/* The minimum, and the intersection and union of all sets within margin of it. */
static double all_subsets(const double *F, size_t n, double margin, uint32_t *smallest,
                          uint32_t *largest)
{
    double lowest = 0;
    *smallest = UINT32_MAX >> (32 - n);
    *largest = 0;
    for (uint32_t mask = 0; mask < UINT32_C(1) << n; mask++) {
        lowest = fmin(lowest, F[mask] - F[0]);
    }
    for (uint32_t mask = 0; mask < UINT32_C(1) << n; mask++) {
        if (F[mask] - F[0] <= lowest + margin) {
            *smallest &= mask;
            *largest |= mask;
        }
    }
    return lowest;
}

static void compare(const submod_fn *fn, submod_sfm_method method)
{
    size_t n = submod_fn_size(fn);
    double *F = subset_values(fn), scale = value_scale(F, n), s[16];
    uint8_t small[16], large[16];
    uint32_t expected[2];
    submod_sfm_settings settings = submod_sfm_defaults();
    submod_sfm_info info;
    submod_combination c = {0};
    settings.method = method;
    settings.start = &c;
    settings.combination = &c;
    double lowest = all_subsets(F, n, 1e-12 * scale, &expected[0], &expected[1]);
    ck_assert_ok(submod_sfm(fn, small, large, s, &settings, &info, NULL));
    ck_assert_int_eq(info.method, method);
    ck_assert_near(info.value, lowest, 1e-11 * scale);
    ck_assert_near(F[mask_of(small, n)] - F[0], lowest, 1e-9 * scale);
    ck_assert_near(F[mask_of(large, n)] - F[0], lowest, 1e-9 * scale);
    ck_assert(worst_excess(F, n, s) <= 1e-12 * scale);
    double dual = 0;
    for (size_t i = 0; i < n; i++) {
        dual += fmin(s[i], 0);
    }
    ck_assert_near(info.dual, dual, 1e-13 * scale);
    ck_assert_near(info.gap, info.value - dual, 1e-13 * scale);
    ck_assert(dual <= lowest + 1e-12 * scale);
    ck_assert(info.gap <= 1e-9 * scale * (double)n || method != SUBMOD_SFM_MIN_NORM);
    ck_assert(method != SUBMOD_SFM_EXHAUSTIVE || info.exact);
    if (info.extremes_proved || method != SUBMOD_SFM_MIN_NORM) {
        ck_assert_uint_eq(mask_of(small, n), expected[0]);
        ck_assert_uint_eq(mask_of(large, n), expected[1]);
    }
    if (method == SUBMOD_SFM_MIN_NORM) { /* its combination proves the bound */
        submod_certificate_report report;
        double zero[16] = {0};
        ck_assert_ok(submod_certificate_check(fn, zero, 1, zero, s, &c, &report));
        ck_assert(report.base_error <= 1e-12 * scale);
        ck_assert_near(report.minimum_bound, info.dual, 1e-12 * scale);
    }
    submod_combination_free(&c);
    free(F);
}

/* Every family, shifted by a modular function so that minimisers are not trivial. */
START_TEST(all_families)
{
    enum { N = 9 };
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (size_t f = 0; f < family_count; f++) {
        for (int repeat = 0; repeat < 8; repeat++) {
            submod_fn *inner = families[f].make(N, &rng), *fn = NULL;
            double w[N];
            random_vector(&rng, w, N, 0);
            for (size_t i = 0; i < N; i++) {
                w[i] *= repeat % 4;
            }
            ck_assert_ok(combine_plus(inner, w, &fn));
            compare(fn, SUBMOD_SFM_MIN_NORM);
            compare(fn, SUBMOD_SFM_EXHAUSTIVE);
            if (fn->ops.minimize) {
                compare(fn, SUBMOD_SFM_MINIMIZER);
            }
            submod_fn_free(fn);
            submod_fn_free(inner);
        }
    }
}
END_TEST

/* More elements, with ties, or with weights that spread them out into parts. */
START_TEST(twelve_elements)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (size_t f = 0; f < family_count; f++) {
        for (int repeat = 0; repeat < 4; repeat++) {
            submod_fn *inner = families[f].make(12, &rng), *fn = NULL;
            double w[12];
            random_vector(&rng, w, 12, repeat == 0);
            for (size_t i = 0; i < 12; i++) {
                w[i] *= exp((double)repeat);
            }
            ck_assert_ok(combine_plus(inner, w, &fn));
            compare(fn, SUBMOD_SFM_MIN_NORM);
            compare(fn, SUBMOD_SFM_EXHAUSTIVE);
            submod_fn_free(fn);
            submod_fn_free(inner);
        }
    }
}
END_TEST

/* Several minimisers, in whole numbers: the extremes are found and proved. */
START_TEST(many_minimisers)
{
    enum { N = 8, EDGES = 14 };
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    int different = 0, proved = 0;
    for (int repeat = 0; repeat < repeats(300); repeat++) {
        int32_t tail[EDGES], head[EDGES];
        double weight[EDGES], w[N], s[N];
        uint8_t small[N], large[N];
        uint32_t expected[2];
        submod_fn *cut = NULL, *fn = NULL;
        submod_sfm_settings settings = submod_sfm_defaults();
        submod_sfm_info info;
        for (size_t i = 0; i < EDGES; i++) {
            tail[i] = (int32_t)submod_rng_below(&rng, N);
            head[i] = (int32_t)submod_rng_below(&rng, N);
            weight[i] = (double)submod_rng_below(&rng, 3);
        }
        for (size_t i = 0; i < N; i++) {
            w[i] = (double)submod_rng_below(&rng, 7) - 3;
        }
        ck_assert_ok(submod_fn_cut(N, EDGES, tail, head, weight, 1, &cut));
        ck_assert_ok(combine_plus(cut, w, &fn));
        double *F = subset_values(fn);
        double lowest = all_subsets(F, N, 0.5, &expected[0], &expected[1]);
        settings.method = SUBMOD_SFM_MIN_NORM;
        settings.integer_valued = repeat % 2;
        ck_assert_ok(submod_sfm(fn, small, large, s, &settings, &info, NULL));
        ck_assert_near(info.value, lowest, 0);
        ck_assert(!settings.integer_valued || (info.exact && info.gap < 1));
        if (info.extremes_proved) {
            ck_assert_uint_eq(mask_of(small, N), expected[0]);
            ck_assert_uint_eq(mask_of(large, N), expected[1]);
            different += expected[0] != expected[1];
            proved++;
        }
        ck_assert_uint_eq(mask_of(small, N) & expected[0], expected[0]); /* never too small */
        ck_assert_uint_eq(mask_of(large, N) | expected[1], expected[1]); /* never too large */
        free(F);
        submod_fn_free(fn);
        submod_fn_free(cut);
    }
    ck_assert_int_gt(different, repeats(300) * 2 / 15);
    ck_assert_int_gt(proved, repeats(300) * 2 / 3);
}
END_TEST

/* The optima listed for Iwata's function: Fujishige-Wolfe to 1000, the minimize slot to 10^5. */
START_TEST(iwata_optima)
{
    for (size_t i = 0; i < iwata_count; i++) {
        size_t n = iwata_minima[i].n;
        submod_fn *fn = NULL;
        uint8_t *small = malloc(n), *large = malloc(n);
        double *s = malloc(n * sizeof *s);
        ck_assert_ok(make_iwata(n, &fn));
        for (int m = 0; m < 2; m++) {
            submod_sfm_settings settings = submod_sfm_defaults();
            submod_sfm_info info;
            size_t difference = 0;
            settings.method = m ? SUBMOD_SFM_MIN_NORM : SUBMOD_SFM_AUTO;
            settings.integer_valued = 1;
            if (m && n > 1000) {
                continue;
            }
            ck_assert_ok(submod_sfm(fn, small, large, s, &settings, &info, NULL));
            ck_assert_int_eq(info.method, m ? SUBMOD_SFM_MIN_NORM : SUBMOD_SFM_MINIMIZER);
            ck_assert_near(info.value, iwata_minima[i].lowest, 0);
            ck_assert(info.exact && info.gap < 1);
            for (size_t e = 0; e < n; e++) {
                difference += small[e] != large[e];
            }
            ck_assert_uint_eq(difference, n % 3 == 1);
        }
        submod_fn_free(fn);
        free(small);
        free(large);
        free(s);
    }
}
END_TEST

/* Single-swap optimality is not optimality: F(1) = F(2) = 1, F(12) = -1. */
static submod_status pair(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const double by_size[] = {5, 6, 4}; /* not normalised */
    (void)ctx;
    (void)set;
    *value = by_size[k];
    return SUBMOD_OK;
}

static submod_status either_or(const void *ctx, const int32_t *set, size_t k, double *value)
{
    (void)ctx;
    *value = k == 1 ? -1 - 0.25 * (set[0] == 1) : 0;
    return SUBMOD_OK;
}

START_TEST(custom_functions)
{
    submod_fn_ops ops = {.eval = pair};
    submod_fn *fn = NULL;
    uint8_t small[3], large[3];
    submod_sfm_info info;
    submod_sfm_settings settings = submod_sfm_defaults();
    ck_assert_ok(submod_fn_custom(2, &ops, NULL, &fn));
    for (int m = SUBMOD_SFM_MIN_NORM; m <= SUBMOD_SFM_EXHAUSTIVE; m++) {
        settings.method = (submod_sfm_method)m;
        ck_assert_ok(submod_sfm(fn, small, large, NULL, &settings, &info, NULL));
        ck_assert_near(info.value, 4, 0); /* as eval says it, not relative to F(empty) = 5 */
        ck_assert_near(info.dual, 4, 1e-14);
        ck_assert_near(info.gap, 0, 1e-14);
        ck_assert(small[0] && small[1] && large[0] && large[1]);
    }
    submod_fn_free(fn);
    /* Not submodular: a status, and the exhaustive search is right all the same. */
    ops.eval = either_or;
    ck_assert_ok(submod_fn_custom(3, &ops, NULL, &fn));
    settings.method = SUBMOD_SFM_EXHAUSTIVE;
    ck_assert_int_ge(submod_sfm(fn, small, large, NULL, &settings, &info, NULL), 0);
    ck_assert_near(info.value, -1.25, 0);
    ck_assert(!small[0] && small[1] && !small[2] && info.exact);
    settings.method = SUBMOD_SFM_MIN_NORM;
    ck_assert_int_ge(submod_sfm(fn, small, large, NULL, &settings, &info, NULL), 0);
    submod_fn_free(fn);
}
END_TEST

static submod_status hidden_set(const void *ctx, const int32_t *set, size_t k, double *value)
{
    (void)ctx;
    *value = k == 2 && set[0] != 1 && set[1] != 1 ? -1 : 0;
    return SUBMOD_OK;
}

/* F({0, 2}) = -1, else 0: the greedy vector of the order 0, 1, 2 is 0, and would bound F by 0 if F
 * were submodular. */
START_TEST(gap_below_zero)
{
    submod_fn_ops ops = {.eval = hidden_set};
    submod_fn *fn = NULL;
    submod_sfm_info info;
    submod_sfm_settings settings = submod_sfm_defaults();
    settings.method = SUBMOD_SFM_EXHAUSTIVE;
    ck_assert_ok(submod_fn_custom(3, &ops, NULL, &fn));
    assert_error(submod_sfm(fn, NULL, NULL, NULL, &settings, &info, NULL), SUBMOD_INACCURATE,
                 "F is not submodular");
    ck_assert(info.value == -1 && info.gap == -1 && info.exact);
    submod_fn_free(fn);
}
END_TEST

/* sqrt(k) plus a modular function; counts its calls, and waits `pause` seconds in each. */
typedef struct counted {
    size_t calls;
    double pause;
} counted;

static submod_status counted_root(const void *ctx, const int32_t *set, size_t k, double *value)
{
    counted *c = *(counted *const *)ctx;
    struct timespec pause = {.tv_nsec = (long)(1e9 * c->pause)};
    c->calls++;
    *value = sqrt((double)k);
    for (size_t i = 0; i < k; i++) {
        *value -= 0.35 * sin(1.7 * set[i] + 0.3);
    }
    if (c->pause > 0) {
        nanosleep(&pause, NULL);
    }
    return SUBMOD_OK;
}

/* The search evaluates each subset once, and reports it. */
START_TEST(search_evaluates_each_subset_once)
{
    submod_fn_ops ops = {.eval = counted_root};
    counted c = {0}, *at = &c;
    submod_fn *fn = NULL;
    submod_sfm_info info;
    uint8_t in[10], expected[10];
    ck_assert_ok(submod_fn_custom(10, &ops, &at, &fn));
    ck_assert_ok(submod_sfm(fn, expected, NULL, NULL, NULL, NULL, NULL));
    ck_assert_uint_eq(c.calls, 1024);
    c.calls = 0;
    ck_assert_ok(submod_sfm(fn, in, NULL, NULL, NULL, &info, NULL));
    ck_assert(info.method == SUBMOD_SFM_EXHAUSTIVE && info.exact);
    ck_assert_mem_eq(in, expected, sizeof in);
    ck_assert_uint_ge(info.oracle_calls, 1024);
    ck_assert_uint_lt(c.calls, 1024 + 200); /* the base takes the rest */
    submod_fn_free(fn);
}
END_TEST

/* If the time is up, min-norm replaces the search. */
START_TEST(search_ends_at_the_time_limit)
{
    submod_fn_ops ops = {.eval = counted_root};
    counted c = {.pause = 1e-3}, *at = &c;
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_custom(10, &ops, &at, &fn));
    for (int demanded = 0; demanded < 2; demanded++) {
        submod_sfm_settings settings = submod_sfm_defaults();
        submod_sfm_info info;
        uint8_t in[10];
        settings.time_limit = 0.02;
        settings.method = demanded ? SUBMOD_SFM_EXHAUSTIVE : SUBMOD_SFM_AUTO;
        c.calls = 0;
        submod_status status = submod_sfm(fn, in, NULL, NULL, &settings, &info, NULL);
        ck_assert(status == SUBMOD_TIMELIMIT || (status == SUBMOD_OK && !demanded));
        ck_assert(info.method == SUBMOD_SFM_MIN_NORM && !info.exact && !info.extremes_proved);
        ck_assert_uint_lt(c.calls, 300);
        ck_assert_uint_gt(info.oracle_calls, 1);
    }
    submod_fn_free(fn);
}
END_TEST

static submod_status three_and_seven(const void *ctx, const int32_t *set, size_t k, double *value)
{
    (void)ctx;
    *value = k == 2 && set[0] + set[1] == 10 && set[0] * set[1] == 21 ? -1 : 0;
    return SUBMOD_OK;
}

/* F({3, 7}) = -1, else 0, is not submodular, but a gap of 0 hides it, so only the search of all
 * subsets is a proof. AUTO searches all subsets if there are few elements, also in combinations. */
START_TEST(exact_means_proved)
{
    for (size_t n = 9; n <= 11; n++) {
        submod_fn_ops ops = {.eval = three_and_seven};
        submod_fn *made[4] = {NULL};
        double zero[11] = {0};
        int32_t order[11];
        for (int32_t i = 0; i < 11; i++) {
            order[i] = i;
        }
        ck_assert_ok(submod_fn_custom(n, &ops, NULL, &made[0]));
        ck_assert_ok(combine_plus(made[0], zero, &made[1]));
        ck_assert_ok(combine_scaled(made[0], 1, &made[2]));
        ck_assert_ok(combine_embedded(made[0], n, order, &made[3]));
        for (int i = 0; i < 4; i++) {
            submod_sfm_settings settings = submod_sfm_defaults();
            submod_sfm_info info;
            uint8_t small[11];
            submod_status status = submod_sfm(made[i], small, NULL, NULL, &settings, &info, NULL);
            if (n <= 10) {
                assert_error(status, SUBMOD_INACCURATE, "F is not submodular");
                ck_assert(info.value == -1 && info.exact);
                ck_assert_uint_eq(mask_of(small, n), 1u << 3 | 1u << 7);
            } else {
                ck_assert(status >= 0 && !info.exact && !info.extremes_proved);
            }
            settings.integer_valued = 1;
            settings.method = SUBMOD_SFM_MIN_NORM;
            ck_assert_int_ge(submod_sfm(made[i], small, NULL, NULL, &settings, &info, NULL), 0);
            ck_assert(!info.exact && !info.extremes_proved);
            submod_fn_free(made[i]);
        }
    }
}
END_TEST

/* Two minimisers, {0} and {1}, whose union and intersection are not minimisers. */
static submod_status one_of_two(const void *ctx, const int32_t *set, size_t k, double *value)
{
    (void)ctx;
    *value = k == 1 && set[0] < 2 ? -1 : 0;
    return SUBMOD_OK;
}

/* Values for which Wolfe's method ends with a base and a prox that contradict each other. */
static submod_status table(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const double F[8] = {0, 2, 1, -1, -2, 1, 2, 2};
    size_t mask = 0;
    (void)ctx;
    for (size_t i = 0; i < k; i++) {
        mask |= (size_t)1 << set[i];
    }
    *value = F[mask];
    return SUBMOD_OK;
}

/* Contradictions set a message, with and without a base. */
START_TEST(contradictions_are_named)
{
    submod_fn_ops ops = {.eval = one_of_two};
    submod_fn *fn = NULL;
    uint8_t small[4], large[4];
    const double x[3] = {2, 3, 3};
    ck_assert_ok(submod_fn_custom(4, &ops, NULL, &fn));
    assert_error(submod_sfm(fn, small, large, NULL, NULL, NULL, NULL), SUBMOD_INACCURATE,
                 "F is not submodular");
    submod_fn_free(fn);
    ops.eval = table;
    ck_assert_ok(submod_fn_custom(3, &ops, NULL, &fn));
    submod_prox_info info;
    assert_error(submod_prox(fn, x, 1, NULL, NULL, NULL, &info, NULL), SUBMOD_INACCURATE,
                 "F is not submodular");
    ck_assert(info.gap < 0);
    submod_fn_free(fn);
}
END_TEST

/* Checks that c (f + w) has the same minimisers, by every method, for all c with finite values. */
static void minimise_at_all_scales(submod_fn *f, const double *w)
{
    enum { N = 8 };
    submod_fn *shifted = NULL;
    ck_assert_ok(combine_plus(f, w, &shifted));
    double *F = subset_values(shifted);
    uint32_t expected[2];
    double lowest = all_subsets(F, N, 1e-12, &expected[0], &expected[1]);
    for (int m = SUBMOD_SFM_AUTO; m <= SUBMOD_SFM_SUM; m++) {
        for (int power = -300; power <= 300; power += 20) {
            double c = pow(10, power);
            submod_fn *fn = NULL;
            uint8_t small[N], large[N];
            submod_sfm_info info;
            submod_sfm_settings settings = submod_sfm_defaults();
            settings.method = (submod_sfm_method)m;
            ck_assert_ok(combine_scaled(shifted, c, &fn));
            submod_status status = submod_sfm(fn, small, large, NULL, &settings, &info, NULL);
            if (status != SUBMOD_EUNSUPPORTED) {
                ck_assert_msg(status == SUBMOD_OK, "method %d, 1e%d: %s", m, power,
                              submod_last_error());
                ck_assert_near(info.value / c, lowest, 1e-9);
                ck_assert_uint_eq(mask_of(small, N), expected[0]);
                ck_assert_uint_eq(mask_of(large, N), expected[1]);
            }
            submod_fn_free(fn);
        }
    }
    free(F);
    submod_fn_free(shifted);
    submod_fn_free(f);
}

START_TEST(all_scales)
{
    enum { N = 8 };
    submod_rng rng;
    submod_rng_seed(&rng, 8);
    for (int repeat = 0; repeat < repeats(20); repeat++) {
        const char *const names[] = {"sqrt", "facility", "undirected cut", "jaccard", "logdet"};
        submod_fn *parts[5], *sums[3] = {NULL};
        double w[N];
        random_vector(&rng, w, N, 0);
        for (int i = 0; i < 5; i++) {
            parts[i] = family_named(names[i])->make(N, &rng);
        }
        for (size_t i = 0; i < 3; i++) {
            ck_assert_ok(combine_sum(parts + i, NULL, 3, &sums[i]));
            minimise_at_all_scales(sums[i], w);
        }
        for (int i = 0; i < 5; i++) {
            minimise_at_all_scales(parts[i], w);
        }
    }
}
END_TEST

/* F = 0 and huge or tiny functions: all sets minimise F = 0. */
START_TEST(degenerate)
{
    enum { N = 6 };
    double zero[N] = {0};
    submod_fn *fn = NULL, *iwata = NULL;
    uint8_t small[N], large[N];
    submod_sfm_info info;
    submod_sfm_settings settings = submod_sfm_defaults();
    settings.method = SUBMOD_SFM_MIN_NORM;
    ck_assert_ok(submod_fn_modular(N, zero, &fn));
    ck_assert_ok(submod_sfm(fn, small, large, NULL, &settings, &info, NULL));
    ck_assert(mask_of(small, N) == 0 && mask_of(large, N) == (1U << N) - 1);
    ck_assert(info.value == 0 && info.gap == 0 && info.exact);
    submod_fn_free(fn);
    ck_assert_ok(make_iwata(N, &iwata));
    for (int k = -1; k < 2; k += 2) {
        ck_assert_ok(combine_scaled(iwata, pow(10, 150 * k), &fn));
        ck_assert_ok(submod_sfm(fn, small, large, NULL, &settings, &info, NULL));
        ck_assert_near(info.value * pow(10, -150 * k), -35,
                       1e-9); /* -2 m n + (3 m^2 - 5 m) / 2, m = 5 */
        submod_fn_free(fn);
    }
    submod_fn_free(iwata);
}
END_TEST

START_TEST(limits_and_arguments)
{
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    submod_fn *fn = NULL, *cut = NULL, *big = NULL;
    uint8_t small[60];
    double w[60], s[60];
    int32_t tail[300], head[300];
    double weight[300];
    submod_sfm_info info;
    submod_sfm_settings settings = submod_sfm_defaults();
    for (size_t i = 0; i < 300; i++) {
        tail[i] = (int32_t)submod_rng_below(&rng, 60);
        head[i] = (int32_t)submod_rng_below(&rng, 60);
        weight[i] = submod_rng_uniform(&rng);
    }
    random_vector(&rng, w, 60, 0);
    ck_assert_ok(submod_fn_cut(60, 300, tail, head, weight, 0, &cut));
    ck_assert_ok(combine_plus(cut, w, &fn));
    settings.method = SUBMOD_SFM_MIN_NORM;
    settings.max_iterations = 1;
    ck_assert_int_eq(submod_sfm(fn, small, NULL, s, &settings, &info, NULL), SUBMOD_MAXITER);
    double gap = info.gap, value = info.value;
    ck_assert(gap > 0 && isfinite(gap));
    settings.max_iterations = 0;
    ck_assert_ok(submod_sfm(fn, small, NULL, s, &settings, &info, NULL));
    ck_assert(info.value <= value && info.value >= value - gap && info.gap < gap);
    settings.time_limit = 1e-9;
    ck_assert_int_eq(submod_sfm(fn, small, NULL, s, &settings, &info, NULL), SUBMOD_TIMELIMIT);
    settings.time_limit = 0;

    ck_assert_int_eq(submod_sfm(NULL, NULL, NULL, NULL, NULL, NULL, NULL), SUBMOD_EINVAL);
    settings.method = SUBMOD_SFM_EXHAUSTIVE;
    ck_assert_int_eq(submod_sfm(fn, NULL, NULL, NULL, &settings, NULL, NULL), SUBMOD_EUNSUPPORTED);
    settings.method = (submod_sfm_method)99;
    ck_assert_int_eq(submod_sfm(fn, NULL, NULL, NULL, &settings, NULL, NULL), SUBMOD_EINVAL);
    settings = submod_sfm_defaults();
    settings.tolerance = NAN;
    ck_assert_int_eq(submod_sfm(fn, NULL, NULL, NULL, &settings, NULL, NULL), SUBMOD_EINVAL);
    settings = submod_sfm_defaults();
    settings.time_limit = -1;
    ck_assert_int_eq(submod_sfm(fn, NULL, NULL, NULL, &settings, NULL, NULL), SUBMOD_EINVAL);
    ck_assert_ok(submod_fn_logdet(1, (double[]){2}, &big));
    settings = submod_sfm_defaults();
    settings.method = SUBMOD_SFM_MINIMIZER;
    ck_assert_int_eq(submod_sfm(big, NULL, NULL, NULL, &settings, NULL, NULL), SUBMOD_EUNSUPPORTED);
    submod_fn_free(big);
    submod_fn_free(cut);
    submod_fn_free(fn);
}
END_TEST

int main(void)
{
    return RUN_TESTS("sfm", all_families, twelve_elements, many_minimisers, iwata_optima,
                     custom_functions, gap_below_zero, search_evaluates_each_subset_once,
                     search_ends_at_the_time_limit, exact_means_proved, contradictions_are_named,
                     degenerate, all_scales, limits_and_arguments);
}
