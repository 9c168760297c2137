/* Minimisers of minors against all subsets: value, smallest and largest minimiser. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "combinations.h"
#include "submod/fn_internal.h"
#include "support.h"

enum { N = 8 };

/* Splits V at random into base, block and the rest; returns their masks. */
static void random_split(submod_rng *rng, int32_t *base, size_t *nbase, int32_t *block,
                         size_t *nblock)
{
    int32_t order[N];
    random_order(rng, order, N);
    *nbase = submod_rng_below(rng, 4);
    *nblock = submod_rng_below(rng, N - *nbase + 1);
    for (size_t i = 0; i < *nbase; i++) {
        base[i] = order[i];
    }
    for (size_t i = 0; i < *nblock; i++) {
        block[i] = order[*nbase + i];
    }
}

static uint32_t mask_of(const int32_t *set, size_t k)
{
    uint32_t mask = 0;
    for (size_t i = 0; i < k; i++) {
        mask |= UINT32_C(1) << set[i];
    }
    return mask;
}

/* The minimum, and intersection and union of all minimisers, as masks over block positions. */
static double all_subsets(const double *F, uint32_t base, const int32_t *block, size_t nblock,
                          const double *z, uint32_t *smallest, uint32_t *largest)
{
    double lowest = INFINITY;
    *smallest = (UINT32_C(1) << nblock) - 1;
    *largest = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t bits = 0; bits < UINT32_C(1) << nblock; bits++) {
            uint32_t set = base;
            double modular = 0;
            for (size_t j = 0; j < nblock; j++) {
                if (bits >> j & 1) {
                    set |= UINT32_C(1) << block[j];
                    modular += z[j];
                }
            }
            double value = F[set] - F[base] - modular;
            if (pass == 0) {
                lowest = fmin(lowest, value);
            } else if (value <= lowest + 1e-12) {
                *smallest &= bits;
                *largest |= bits;
            }
        }
    }
    return lowest;
}

static void compare(const submod_fn *fn, const double *F, submod_rng *rng, int integers)
{
    int32_t base[N], block[N];
    size_t nbase, nblock;
    double z[N];
    uint8_t in[N + 1];
    uint32_t expected[2];
    random_split(rng, base, &nbase, block, &nblock);
    for (size_t j = 0; j < nblock; j++) {
        z[j] =
            integers ? 0.5 * (double)((int)submod_rng_below(rng, 5) - 1) : submod_rng_normal(rng);
    }
    double lowest =
        all_subsets(F, mask_of(base, nbase), block, nblock, z, &expected[0], &expected[1]);
    for (int largest = 0; largest < 2; largest++) {
        double value;
        memset(in, 7, sizeof in);
        ck_assert_ok(minimize_minor(fn, base, nbase, block, nblock, z, largest, in, &value));
        ck_assert_near(value, lowest, 1e-12 * fmax(1, fabs(lowest)));
        uint32_t found = 0;
        for (size_t j = 0; j < nblock; j++) {
            ck_assert(in[j] <= 1);
            found |= (uint32_t)in[j] << j;
        }
        ck_assert_uint_eq(found, expected[largest]);
        ck_assert_uint_eq(in[nblock], 7); /* nothing behind */
    }
}

/* Every family: by its own minimiser or exhaustively. */
START_TEST(all_families)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    int own = 0;
    for (size_t i = 0; i < family_count; i++) {
        for (int repeat = 0; repeat < 10; repeat++) {
            submod_fn *fn = families[i].make(N, &rng);
            own += fn->ops.minimize != NULL;
            double *F = subset_values(fn);
            for (int again = 0; again < 20; again++) {
                compare(fn, F, &rng, 0);
            }
            free(F);
            submod_fn_free(fn);
        }
    }
    ck_assert_int_ge(own, 100);
}
END_TEST

/* c F, and 0 F too, whose minimisers are the positive z, with or without those that are 0. */
START_TEST(scaled)
{
    const double factors[] = {0, 0.25, 3};
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    for (size_t i = 0; i < family_count; i++) {
        submod_fn *fn = families[i].make(N, &rng);
        for (size_t k = 0; k < sizeof factors / sizeof *factors; k++) {
            submod_fn *times = NULL;
            ck_assert_ok(combine_scaled(fn, factors[k], &times));
            double *F = subset_values(times);
            for (int again = 0; again < 10; again++) {
                compare(times, F, &rng, factors[k] == 0 && again % 2);
            }
            free(F);
            submod_fn_free(times);
        }
        submod_fn_free(fn);
    }
}
END_TEST

/* Values on a coarse grid: several minimisers, so that smallest and largest differ. */
START_TEST(many_minimisers)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (int repeat = 0; repeat < 900; repeat++) {
        submod_fn *fn = NULL;
        const double t[3] = {0, 1, 4}, g[3] = {0, 1, -0.5}; /* slopes that ratios z / w have, too */
        double w[N];
        uint8_t mask[N];
        for (int i = 0; i < N; i++) {
            w[i] = 0.5 * (double)submod_rng_below(&rng, 3);
            mask[i] = 0;
        }
        switch (repeat % 6) {
        case 0: ck_assert_ok(submod_fn_modular(N, w, &fn)); break;
        case 1:
            ck_assert_ok(submod_fn_concave(
                N, NULL,
                &(submod_concave){.kind = SUBMOD_CONCAVE_MIN,
                                  .parameter = (double)(submod_rng_below(&rng, N))},
                &fn));
            break;
        case 2: ck_assert_ok(submod_fn_jaccard(N, mask, &fn)); break;
        case 3:
            ck_assert_ok(submod_fn_concave(
                N, w, &(submod_concave){.kind = SUBMOD_CONCAVE_MIN, .parameter = 1.5}, &fn));
            break;
        case 4:
            ck_assert_ok(submod_fn_concave(
                N, w, &(submod_concave){.kind = SUBMOD_CONCAVE_POINTS, .count = 3, .t = t, .g = g},
                &fn));
            break;
        default: ck_assert_ok(make_iwata(N, &fn)); break;
        }
        double *F = subset_values(fn);
        compare(fn, F, &rng, 1);
        free(F);
        submod_fn_free(fn);
    }
}
END_TEST

/* The optima listed for Iwata's function, far beyond brute force. */
START_TEST(iwata_optima)
{
    for (size_t i = 0; i < iwata_count; i++) {
        size_t n = iwata_minima[i].n;
        submod_fn *fn = NULL;
        int32_t *block = malloc(n * sizeof *block);
        double *z = calloc(n, sizeof *z);
        uint8_t *in = malloc(n);
        for (size_t e = 0; e < n; e++) {
            block[e] = (int32_t)e;
        }
        size_t size[2] = {0, 0};
        ck_assert_ok(make_iwata(n, &fn));
        for (int largest = 0; largest < 2; largest++) {
            double value;
            ck_assert_ok(minimize_minor(fn, NULL, 0, block, n, z, largest, in, &value));
            ck_assert_near(value, iwata_minima[i].lowest, 0);
            for (size_t e = 0; e < n; e++) {
                size[largest] += in[e];
            }
        }
        ck_assert_uint_eq(size[1] - size[0], n % 3 == 1); /* two minimisers for n = 1 mod 3 */
        submod_fn_free(fn);
        free(block);
        free(z);
        free(in);
    }
}
END_TEST

/* Single-swap optimality is not optimality: F(1) = F(2) = 1, F(12) = -1. */
static submod_status pair(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const double by_size[] = {0, 1, -1};
    (void)ctx;
    (void)set;
    *value = by_size[k];
    return SUBMOD_OK;
}

START_TEST(not_a_local_search)
{
    submod_fn_ops ops = {.eval = pair};
    submod_fn *fn = NULL;
    const int32_t block[2] = {0, 1};
    const double z[2] = {0, 0};
    uint8_t in[2];
    double value;
    ck_assert_ok(submod_fn_custom(2, &ops, NULL, &fn));
    ck_assert_ok(minimize_minor(fn, NULL, 0, block, 2, z, 0, in, &value));
    ck_assert_near(value, -1, 0);
    ck_assert(in[0] == 1 && in[1] == 1);
    submod_fn_free(fn);
}
END_TEST

/* Ties in exact arithmetic stay ties under rounding: the empty set and V are both minimisers. */
START_TEST(ties_survive_rounding)
{
    for (size_t n = 2; n <= 40; n++) {
        submod_fn *root = NULL, *jaccard = NULL;
        int32_t block[40];
        double z[40];
        uint8_t in[40], mask[40];
        for (size_t i = 0; i < n; i++) {
            block[i] = (int32_t)i;
            mask[i] = i < 2;
        }
        ck_assert_ok(
            submod_fn_concave(n, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &root));
        ck_assert_ok(submod_fn_jaccard(n, mask, &jaccard));
        for (int largest = 0; largest < 2; largest++) {
            size_t size = 0;
            for (size_t i = 0; i < n; i++) {
                z[i] = sqrt((double)n) / (double)n;
            }
            ck_assert_ok(minimize_minor(root, NULL, 0, block, n, z, largest, in, NULL));
            for (size_t i = 0; i < n; i++) {
                size += in[i];
            }
            ck_assert_uint_eq(size, largest ? n : 0);
            /* Foreground in the base, z the increments of the background: all sizes tie. */
            for (size_t i = 2; i < n; i++) {
                z[i - 2] = 0;
            }
            ck_assert_ok(minimize_minor(jaccard, block, 2, block + 2, n - 2, z, largest, in, NULL));
            size = 0;
            for (size_t i = 0; i + 2 < n; i++) {
                size += in[i];
            }
            ck_assert_uint_eq(size, largest ? n - 2 : 0);
        }
        submod_fn_free(root);
        submod_fn_free(jaccard);
    }
}
END_TEST

/* Without submodularity minimisers need not form a lattice: any of them will do. */
static submod_status either_or(const void *ctx, const int32_t *set, size_t k, double *value)
{
    (void)ctx;
    (void)set;
    *value = k == 1 ? -1 : 0;
    return SUBMOD_OK;
}

START_TEST(not_submodular)
{
    submod_fn_ops ops = {.eval = either_or};
    submod_fn *fn = NULL;
    for (int largest = 0; largest < 2; largest++) {
        uint8_t in[2];
        double value;
        ck_assert_ok(submod_fn_custom(2, &ops, NULL, &fn));
        ck_assert_int_eq(minimize_minor(fn, NULL, 0, (int32_t[]){0, 1}, 2, (double[]){0, 0},
                                        largest, in, &value),
                         SUBMOD_INACCURATE);
        ck_assert_near(value, -1, 0);
        ck_assert_int_eq(in[0] + in[1], 1);
        submod_fn_free(fn);
    }
}
END_TEST

START_TEST(overflow_is_refused)
{
    submod_fn *fn = NULL, *root = NULL, *tiny = NULL;
    uint8_t in[2] = {7, 7};
    double value = 7;
    ck_assert_ok(submod_fn_hamming(2, &fn));
    ck_assert_ok(submod_fn_concave(2, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &root));
    ck_assert_ok(combine_scaled(root, 1e-300, &tiny));
    ck_assert_int_eq(
        minimize_minor(fn, NULL, 0, (int32_t[]){0, 1}, 2, (double[]){1e308, 1e308}, 0, in, &value),
        SUBMOD_ENUMERIC);
    ck_assert_int_eq(
        minimize_minor(tiny, NULL, 0, (int32_t[]){0, 1}, 2, (double[]){1e10, 1}, 0, in, &value),
        SUBMOD_ENUMERIC);
    ck_assert(value == 7 && in[0] == 7);
    submod_fn_free(fn);
    submod_fn_free(root);
    submod_fn_free(tiny);
}
END_TEST

int main(void)
{
    return RUN_TESTS("minimize", ties_survive_rounding, not_submodular, overflow_is_refused,
                     all_families, scaled, many_minimisers, iwata_optima, not_a_local_search);
}
