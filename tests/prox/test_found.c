/* What fuzzers have found (tests/fuzz), each made small: answers that were wrong with SUBMOD_OK,
 * where numbers are at the ends of their range. */
#include <math.h>
#include <stdlib.h>

#include "combinations.h"
#include "support.h"

enum { N = 7 };

/* Of two elements among N: 1 as soon as one of them is there. */
static submod_fn *embedded_jaccard(void)
{
    const uint8_t mask[2] = {0, 0};
    const int32_t at[2] = {0, 4};
    submod_fn *jaccard = NULL, *fn = NULL;
    ck_assert_ok(submod_fn_jaccard(2, mask, &jaccard));
    ck_assert_ok(combine_embedded(jaccard, N, at, &fn));
    submod_fn_free(jaccard);
    return fn;
}

/* The mean of equal numbers differs from them by rounding, which is more than F here. */
START_TEST(equal_x_far_from_0)
{
    submod_fn *fn = embedded_jaccard();
    double *F = subset_values(fn), x[N], u[N], s[N];
    submod_prox_settings settings = submod_prox_defaults();
    settings.method = SUBMOD_PROX_DECOMPOSITION;
    const double values[] = {1.1e17, -1.3e20, -1.6e299};
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
        for (size_t i = 0; i < N; i++) {
            x[i] = values[k];
        }
        ck_assert_ok(submod_prox(fn, x, 11.25, u, s, &settings, NULL, NULL));
        ck_assert_msg(worst_excess(F, N, s) < 1e-9, "x = %g: s is no base", values[k]);
    }
    free(F);
    submod_fn_free(fn);
}
END_TEST

/* A sum of two that do not fold, all of whose numbers are about 1e-300: no square is left. */
START_TEST(sums_whose_squares_vanish)
{
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    for (int repeat = 0; repeat < 20; repeat++) {
        submod_fn *parts[2], *plain = NULL, *fn = NULL;
        for (int k = 0; k < 2; k++) {
            parts[k] = family_named(k ? "coverage" : "facility")->make(N, &rng);
        }
        ck_assert_ok(combine_sum(parts, NULL, 2, &plain));
        ck_assert_ok(combine_scaled(plain, 1e-300, &fn));
        double large[N], x[N], wanted[N], u[N], s[N];
        random_vector(&rng, large, N, 0);
        for (size_t i = 0; i < N; i++) {
            x[i] = large[i] * 1e-300;
        }
        submod_prox_settings settings = submod_prox_defaults();
        settings.method = SUBMOD_PROX_SUM;
        ck_assert_ok(submod_prox(plain, large, 2, wanted, s, NULL, NULL, NULL));
        submod_status status = submod_prox(fn, x, 2, u, s, &settings, NULL, NULL);
        ck_assert_int_ge(status, 0);
        for (size_t i = 0; i < N; i++) {
            ck_assert(status == SUBMOD_INACCURATE || fabs(u[i] - 1e-300 * wanted[i]) < 1e-303);
        }
        for (int k = 0; k < 2; k++) {
            submod_fn_free(parts[k]);
        }
        submod_fn_free(plain);
        submod_fn_free(fn);
    }
}
END_TEST

/* A path and a coverage: weights divided by lambda, times differences of u, vanish, and so did the
 * gap. */
START_TEST(sums_with_huge_lambda)
{
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    for (int repeat = 0; repeat < 20; repeat++) {
        int32_t tail[N - 1], head[N - 1];
        double weight[N - 1], x[N] = {0}, u[N], s[N], wanted[N];
        for (int32_t e = 0; e < N - 1; e++) {
            tail[e] = e;
            head[e] = e + 1;
            weight[e] = 0.1 + submod_rng_uniform(&rng);
        }
        submod_fn *parts[2] = {NULL, family_named("coverage")->make(N, &rng)}, *fn = NULL;
        ck_assert_ok(submod_fn_cut(N, N - 1, tail, head, weight, 0, &parts[0]));
        ck_assert_ok(combine_sum(parts, NULL, 2, &fn));
        submod_prox_settings settings = submod_prox_defaults();
        settings.method = SUBMOD_PROX_MIN_NORM;
        ck_assert_ok(submod_prox(fn, x, 1e268, wanted, s, &settings, NULL, NULL));
        settings.method = SUBMOD_PROX_SUM;
        submod_status status = submod_prox(fn, x, 1e268, u, s, &settings, NULL, NULL);
        ck_assert_int_ge(status, 0);
        for (size_t i = 0; i < N; i++) {
            ck_assert(status == SUBMOD_INACCURATE || fabs(u[i] - wanted[i]) < 1e-272);
        }
        for (int k = 0; k < 2; k++) {
            submod_fn_free(parts[k]);
        }
        submod_fn_free(fn);
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("found", equal_x_far_from_0, sums_whose_squares_vanish, sums_with_huge_lambda);
}
