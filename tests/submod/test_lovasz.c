/* The Lovász extension against brute force over all subsets, and its algebraic laws. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"
#include "depth.h"
#include "support.h"

enum { N = 10 };

static double lovasz(const submod_fn *fn, const double *x, double *g)
{
    double value;
    ck_assert_ok(submod_lovasz(fn, x, &value, g, NULL, SUBMOD_TIES_AVERAGE, NULL));
    return value;
}

/* Calls body for random functions of every family, with and without ties in x. */
typedef void law(submod_fn *fn, const double *F, double scale, submod_rng *rng, int coarse);

static void for_all(law *check, uint64_t seed)
{
    submod_rng rng;
    submod_rng_seed(&rng, seed);
    for (size_t i = 0; i < family_count; i++) {
        for (int repeat = 0; repeat < (FEWER ? 2 : 6); repeat++) {
            submod_fn *fn = families[i].make(N, &rng);
            double *F = subset_values(fn);
            check(fn, F, value_scale(F, N), &rng, repeat % 2);
            free(F);
            submod_fn_free(fn);
        }
    }
}

static void interpolates(submod_fn *fn, const double *F, double scale, submod_rng *rng, int coarse)
{
    (void)rng;
    (void)coarse;
    for (uint32_t mask = 0; mask < 1 << N; mask++) {
        double x[N];
        for (int i = 0; i < N; i++) {
            x[i] = mask >> i & 1;
        }
        ck_assert_near(lovasz(fn, x, NULL), F[mask], 1e-13 * scale);
    }
}

START_TEST(equals_F_at_indicators)
{
    for_all(interpolates, 1);
}
END_TEST

static void is_choquet(submod_fn *fn, const double *F, double scale, submod_rng *rng, int coarse)
{
    double x[N];
    for (int repeat = 0; repeat < 20; repeat++) {
        random_vector(rng, x, N, coarse);
        ck_assert_near(lovasz(fn, x, NULL), choquet(F, N, x), 1e-12 * scale);
    }
}

START_TEST(equals_the_choquet_integral)
{
    for_all(is_choquet, 2);
}
END_TEST

/* f(a x) = a f(x) for a >= 0, f(x + c) = f(x) + c F(V). */
static void scales_and_shifts(submod_fn *fn, const double *F, double scale, submod_rng *rng,
                              int coarse)
{
    double x[N], y[N], z[N];
    random_vector(rng, x, N, coarse);
    double value = lovasz(fn, x, NULL);
    const double factors[] = {0, 1e-3, 0.5, 7};
    for (int f = 0; f < 4; f++) {
        double a = factors[f], c = submod_rng_normal(rng);
        for (int i = 0; i < N; i++) {
            y[i] = a * x[i];
            z[i] = x[i] + c;
        }
        ck_assert_near(lovasz(fn, y, NULL), a * value, 1e-12 * scale * (1 + a));
        ck_assert_near(lovasz(fn, z, NULL), value + c * F[(1 << N) - 1], 1e-11 * scale);
    }
}

START_TEST(homogeneous_and_translates)
{
    for_all(scales_and_shifts, 3);
}
END_TEST

/* g lies in B(F), <g, x> = f(x), and f(y) >= f(x) + <g, y - x>. */
static void is_subgradient(submod_fn *fn, const double *F, double scale, submod_rng *rng,
                           int coarse)
{
    double x[N], g[N], y[N];
    for (int ties = 0; ties < 2; ties++) {
        double value, total = 0, inner = 0;
        random_vector(rng, x, N, coarse);
        ck_assert_ok(submod_lovasz(fn, x, &value, g, NULL, (submod_ties)ties, NULL));
        for (int i = 0; i < N; i++) {
            total += g[i];
            inner += g[i] * x[i];
        }
        ck_assert(worst_excess(F, N, g) <= 1e-12 * scale);
        ck_assert_near(total, F[(1 << N) - 1], 1e-12 * scale);
        ck_assert_near(inner, value, 1e-12 * scale);
        for (int repeat = 0; repeat < 20; repeat++) {
            random_vector(rng, y, N, !coarse);
            double bound = value;
            for (int i = 0; i < N; i++) {
                bound += g[i] * (y[i] - x[i]);
            }
            ck_assert(lovasz(fn, y, NULL) >= bound - 1e-11 * scale);
        }
    }
}

START_TEST(subgradient_in_the_base_polytope)
{
    for_all(is_subgradient, 4);
}
END_TEST

/* For submodular F the extension is the support function of B(F): no order does better. */
START_TEST(equals_the_support_function)
{
    enum { SMALL = 6 };
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    for (size_t i = 0; i < family_count; i++) {
        submod_fn *fn = families[i].make(SMALL, &rng);
        double *F = subset_values(fn);
        for (int repeat = 0; repeat < 20; repeat++) {
            double x[SMALL];
            random_vector(&rng, x, SMALL, repeat % 2);
            ck_assert_near(lovasz(fn, x, NULL), support_function(F, SMALL, x),
                           1e-12 * value_scale(F, SMALL));
        }
        free(F);
        submod_fn_free(fn);
    }
}
END_TEST

/* ---- convex exactly for submodular F ---- */

/* Dice loss as a function of the mispredictions, foreground {0, 1, 2}: not submodular. */
static submod_status dice(const void *ctx, const int32_t *wrong, size_t k, double *value)
{
    double a = 0;
    (void)ctx;
    for (size_t i = 0; i < k; i++) {
        a += wrong[i] < 3;
    }
    double b = (double)k - a;
    *value = (a + b) / (2 * 3 - a + b);
    return SUBMOD_OK;
}

/* The largest f((x + y) / 2) - (f(x) + f(y)) / 2 over random pairs. */
static double worst_midpoint(const submod_fn *fn, submod_rng *rng, int pairs)
{
    double worst = -INFINITY, x[N], y[N], mid[N];
    for (int repeat = 0; repeat < pairs; repeat++) {
        random_vector(rng, x, N, repeat % 2);
        random_vector(rng, y, N, repeat % 3);
        for (int i = 0; i < N; i++) {
            mid[i] = (x[i] + y[i]) / 2;
        }
        worst =
            fmax(worst, lovasz(fn, mid, NULL) - (lovasz(fn, x, NULL) + lovasz(fn, y, NULL)) / 2);
    }
    return worst;
}

START_TEST(convex_exactly_if_submodular)
{
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    for (size_t i = 0; i < family_count; i++) {
        submod_fn *fn = families[i].make(N, &rng);
        double *F = subset_values(fn);
        ck_assert(worst_midpoint(fn, &rng, 300) <= 1e-12 * value_scale(F, N));
        free(F);
        submod_fn_free(fn);
    }
    submod_fn_ops ops = {.eval = dice};
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_custom(N, &ops, NULL, &fn));
    submod_rng_seed(&rng, 6); /* whatever the families above took */
    ck_assert(worst_midpoint(fn, &rng, 1000) > 1e-3);
    submod_fn_free(fn);
}
END_TEST

/* ---- order and ties ---- */

START_TEST(order_is_stable_and_belongs_to_g)
{
    submod_rng rng;
    submod_rng_seed(&rng, 7);
    for (size_t i = 0; i < family_count; i++) {
        submod_fn *fn = families[i].make(N, &rng);
        for (int repeat = 0; repeat < 10; repeat++) {
            double x[N], g[N], gains[N];
            int32_t order[N];
            random_vector(&rng, x, N, 1);
            ck_assert_ok(submod_lovasz(fn, x, NULL, g, order, SUBMOD_TIES_INDEX, NULL));
            ck_assert_ok(submod_fn_chain(fn, order, N, gains, NULL));
            for (int k = 0; k < N; k++) {
                ck_assert(g[order[k]] == gains[k]);
                ck_assert(k == 0 || x[order[k - 1]] > x[order[k]] ||
                          (x[order[k - 1]] == x[order[k]] && order[k - 1] < order[k]));
            }
        }
        submod_fn_free(fn);
    }
}
END_TEST

/* Renumbering the elements renumbers g, ties included: no element is favoured by its number. */
START_TEST(ties_do_not_see_the_input_order)
{
    submod_rng rng;
    submod_rng_seed(&rng, 8);
    for (int repeat = 0; repeat < 100; repeat++) {
        uint8_t mask[N], permuted_mask[N];
        double x[N], permuted_x[N], g[N], permuted_g[N];
        int32_t order[N];
        submod_fn *fn = NULL, *permuted = NULL;
        random_order(&rng, order, N);
        random_vector(&rng, x, N, 1);
        for (int i = 0; i < N; i++) {
            mask[i] = submod_rng_uniform(&rng) < 0.5;
        }
        for (int i = 0; i < N; i++) {
            permuted_mask[i] = mask[order[i]];
            permuted_x[i] = x[order[i]];
        }
        ck_assert_ok(submod_fn_jaccard(N, mask, &fn));
        ck_assert_ok(submod_fn_jaccard(N, permuted_mask, &permuted));
        lovasz(fn, x, g);
        lovasz(permuted, permuted_x, permuted_g);
        for (int i = 0; i < N; i++) {
            ck_assert(permuted_g[i] == g[order[i]]);
        }
        submod_fn_free(fn);
        submod_fn_free(permuted);
    }
}
END_TEST

/* One foreground and one background pixel, tied: foreground first gives {1, 0}, background first
 * {1/2, 1/2}. The rule takes the former, not the mean over both orders, {3/4, 1/4}. */
START_TEST(ties_take_the_foreground_first)
{
    const uint8_t mask[3] = {1, 0, 0};
    double g[3];
    submod_fn *two = NULL, *three = NULL;
    ck_assert_ok(submod_fn_jaccard(2, mask, &two));
    ck_assert_ok(submod_fn_jaccard(3, (uint8_t[]){0, 0, 0}, &three));
    lovasz(two, (double[]){0.5, 0.5}, g);
    ck_assert(g[0] == 1 && g[1] == 0);
    /* Without foreground all three pixels are alike: the mean over all orders. */
    lovasz(three, (double[]){0.5, 0.5, 0.5}, g);
    for (int i = 0; i < 3; i++) {
        ck_assert_near(g[i], 1. / 3, 1e-16);
    }
    submod_fn_free(two);
    submod_fn_free(three);
}
END_TEST

/* ---- values computed by hand ---- */

/* Two pixels, the four ground truths of the paper's Fig. 1, at errors (x1, x2).
 * No foreground: F = 1 for any error, f = max(x1, x2).
 * Foreground {2}: F({1}) = 1/2, F({2}) = F({1,2}) = 1.
 *   x1 >= x2: f = x1/2 + x2/2.      x2 >= x1: f = x2.
 * Both foreground: F({i}) = 1/2, F({1,2}) = 1: f = (x1 + x2)/2. */
START_TEST(two_pixels_of_the_paper)
{
    const double points[][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 0.5}, {0.5, 2}, {-1, 3}};
    for (int truth = 0; truth < 4; truth++) {
        uint8_t mask[2] = {(truth & 1) != 0, truth >= 2};
        submod_fn *fn = NULL;
        ck_assert_ok(submod_fn_jaccard(2, mask, &fn));
        for (size_t p = 0; p < sizeof points / sizeof *points; p++) {
            double x1 = points[p][0], x2 = points[p][1];
            double mean = (x1 + x2) / 2;
            const double expected[4] = {fmax(x1, x2), x1 >= x2 ? x1 : mean, x2 >= x1 ? x2 : mean,
                                        mean};
            ck_assert_near(lovasz(fn, points[p], NULL), expected[truth], 1e-15);
        }
        submod_fn_free(fn);
    }
}
END_TEST

START_TEST(jaccard_by_hand)
{
    /* P = 2; order: bg, fg, bg, fg. Increments: bg 2/(2*3), fg 1/3, bg 1/(3*4), fg 1/4. */
    const uint8_t mask[4] = {1, 0, 0, 1};
    const double x[4] = {0.5, 0.25, 0.75, 0.125};
    double g[4];
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_jaccard(4, mask, &fn));
    double value = lovasz(fn, x, g);
    const double expected[4] = {1. / 3, 1. / 12, 1. / 3, 1. / 4};
    for (int i = 0; i < 4; i++) {
        ck_assert_near(g[i], expected[i], 1e-16);
    }
    ck_assert_near(value, .75 / 3 + .5 / 3 + .25 / 12 + .125 / 4, 1e-15);
    submod_fn_free(fn);
}
END_TEST

/* Hamming gives the mean, modular functions <w, x>. */
START_TEST(linear_functions)
{
    submod_rng rng;
    submod_rng_seed(&rng, 9);
    double w[N], x[N], g[N], mean = 0, inner = 0;
    submod_fn *modular = NULL, *hamming = NULL;
    random_vector(&rng, w, N, 0);
    random_vector(&rng, x, N, 0);
    for (int i = 0; i < N; i++) {
        mean += x[i] / N;
        inner += w[i] * x[i];
    }
    ck_assert_ok(submod_fn_modular(N, w, &modular));
    ck_assert_ok(submod_fn_hamming(N, &hamming));
    ck_assert_near(lovasz(modular, x, g), inner, 1e-14);
    ck_assert_mem_eq(g, w, sizeof w);
    ck_assert_near(lovasz(hamming, x, NULL), mean, 1e-15);
    submod_fn_free(modular);
    submod_fn_free(hamming);
}
END_TEST

/* ---- large inputs ---- */

enum { BIG = 300000 };

/* Bit-identical for any number of threads, with ties and without; the same through a workspace. */
START_TEST(threads_and_workspace_do_not_matter)
{
    submod_rng rng;
    submod_rng_seed(&rng, 10);
    uint8_t *mask = malloc(BIG);
    double *x = malloc(BIG * sizeof *x), *g = malloc(BIG * sizeof *g), *h = malloc(BIG * sizeof *h);
    int32_t *order = malloc(BIG * sizeof *order), *other = malloc(BIG * sizeof *order);
    submod_work *work = NULL;
    ck_assert_ok(submod_work_create(&work));
    for (uint64_t levels = 2; levels < UINT64_C(1) << 40; levels *= 1000) {
        for (size_t i = 0; i < BIG; i++) {
            mask[i] = submod_rng_uniform(&rng) < 0.1;
            x[i] = (double)submod_rng_below(&rng, levels) / (double)levels;
        }
        submod_fn *fn = NULL;
        double value, again;
        ck_assert_ok(submod_fn_jaccard(BIG, mask, &fn));
        ck_assert_ok(submod_set_num_threads(1));
        ck_assert_ok(submod_lovasz(fn, x, &value, g, order, SUBMOD_TIES_AVERAGE, NULL));
        for (int threads = 1; threads <= 5; threads++) {
            ck_assert_ok(submod_set_num_threads(threads));
            ck_assert_ok(submod_lovasz(fn, x, &again, h, other, SUBMOD_TIES_AVERAGE, work));
            ck_assert(value == again);
            size_t different = 0;
            for (size_t i = 0; i < BIG; i++) {
                different += !(g[i] == h[i]);
            }
            ck_assert_uint_eq(different, 0);
            ck_assert(memcmp(order, other, BIG * sizeof *order) == 0);
        }
        submod_fn_free(fn);
    }
    size_t bytes = work->capacity;
    ck_assert_uint_gt(bytes, BIG * sizeof(double));
    ck_assert_uint_lt(bytes, (size_t)64 * BIG);
    submod_work_free(work);
    free(mask);
    free(x);
    free(g);
    free(h);
    free(order);
    free(other);
}
END_TEST

/* f(1_A) = F(A) at a size where counts in float32 would fail. */
START_TEST(large_indicator)
{
    uint8_t *mask = malloc(BIG);
    double *x = malloc(BIG * sizeof *x);
    submod_rng rng;
    submod_rng_seed(&rng, 11);
    double P = 0, a = 0, b = 0;
    for (size_t i = 0; i < BIG; i++) {
        mask[i] = submod_rng_uniform(&rng) < 0.02;
        x[i] = submod_rng_uniform(&rng) < 0.3;
        P += mask[i];
        a += mask[i] && x[i] == 1;
        b += !mask[i] && x[i] == 1;
    }
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_jaccard(BIG, mask, &fn));
    ck_assert_near(lovasz(fn, x, NULL), (a + b) / (P + b), 1e-13);
    submod_fn_free(fn);
    free(mask);
    free(x);
}
END_TEST

int main(void)
{
    return RUN_TESTS("lovasz", equals_F_at_indicators, equals_the_choquet_integral,
                     homogeneous_and_translates, subgradient_in_the_base_polytope,
                     equals_the_support_function, convex_exactly_if_submodular,
                     order_is_stable_and_belongs_to_g, ties_do_not_see_the_input_order,
                     ties_take_the_foreground_first, two_pixels_of_the_paper, jaccard_by_hand,
                     linear_functions, threads_and_workspace_do_not_matter, large_indicator);
}
