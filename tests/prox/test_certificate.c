/* Combinations and the certificate checker: it accepts what is right, finds what is corrupted. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { N = 7 };

static submod_fn *make_cut(submod_rng *rng)
{
    for (size_t i = 0; i < family_count; i++) {
        if (strcmp(families[i].name, "directed cut") == 0) {
            return families[i].make(N, rng);
        }
    }
    return NULL;
}

/* Every iterative method on every family: the checker finds the base and the gap that they report.
 */
START_TEST(solvers_are_certified)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    submod_combination *c = NULL;
    ck_assert_ok(submod_combination_create(&c));
    for (size_t f = 0; f < family_count; f++) {
        for (int repeat = 0; repeat < 12; repeat++) {
            submod_fn *fn = families[f].make(N, &rng);
            double *F = subset_values(fn);
            double scale = value_scale(F, N), x[N], u[N], s[N];
            double lambda = exp(2 * submod_rng_normal(&rng));
            submod_prox_settings settings = submod_prox_defaults();
            submod_prox_info info;
            submod_certificate_report report = {.reserved = {1, 1, 1, 1}};
            random_vector(&rng, x, N, repeat % 2);
            settings.method = SUBMOD_PROX_MIN_NORM;
            settings.max_iterations = 200;
            settings.combination = c;
            ck_assert_ok(submod_combination_set(c, 0, 0, NULL, NULL));
            ck_assert_int_ge(submod_prox(fn, x, lambda, u, s, &settings, &info, NULL), 0);
            ck_assert_ok(submod_certificate_check(fn, x, lambda, u, s, c, &report));
            ck_assert_uint_eq(report.reserved[0] | report.reserved[3], 0);
            double size = scale * (1 + scale / lambda + fabs(report.primal)) * N;
            ck_assert_near(report.base_error, 0, 1e-12 * scale);
            ck_assert_near(report.gap, info.gap, 1e-12 * size);
            ck_assert_near(report.primal, info.primal, 1e-12 * size);
            ck_assert_near(report.dual, info.dual, 1e-12 * size);
            ck_assert_near(report.primal - report.dual, report.gap, 1e-12 * size);
            ck_assert(report.gap >= -1e-12 * size);
            /* Independent of greedy vectors altogether: s in B(F), f(u) by Choquet's integral. */
            ck_assert(worst_excess(F, N, s) <= 1e-12 * scale);
            double f_u = choquet(F, N, u), primal = f_u, bound = F[0], lowest = F[0];
            for (size_t i = 0; i < N; i++) {
                primal += lambda / 2 * (u[i] - x[i]) * (u[i] - x[i]);
                bound += fmin(s[i], 0);
            }
            ck_assert_near(report.primal, primal, 1e-11 * size);
            ck_assert_near(report.minimum_bound, bound, 1e-12 * size);
            for (size_t mask = 0; mask < (size_t)1 << N; mask++) {
                lowest = fmin(lowest, F[mask]);
            }
            ck_assert(report.minimum_bound <= lowest + 1e-12 * scale);
            free(F);
            submod_fn_free(fn);
        }
    }
    submod_combination_free(c);
}
END_TEST

static submod_status not_normalised(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const double by_size[] = {5, 6, 4};
    (void)ctx;
    (void)set;
    *value = by_size[k];
    return SUBMOD_OK;
}

/* The bound is one of F itself: the minimum is 4 = F(V), F(empty) being 5. */
START_TEST(value_of_the_empty_set)
{
    submod_fn_ops ops = {.struct_size = sizeof ops, .eval = not_normalised};
    submod_fn *fn = NULL;
    submod_combination *c = NULL;
    submod_certificate_report report;
    const double zero[2] = {0, 0}, s[2] = {-0.5, -0.5}, weights[2] = {0.5, 0.5};
    const int32_t orders[4] = {0, 1, 1, 0}; /* their greedy vectors: (1, -2) and (-2, 1) */
    ck_assert_ok(submod_fn_custom(2, &ops, NULL, &fn));
    ck_assert_ok(submod_combination_create(&c));
    ck_assert_ok(submod_combination_set(c, 2, 2, orders, weights));
    ck_assert_ok(submod_certificate_check(fn, zero, 1, zero, s, c, &report));
    ck_assert_near(report.base_error, 0, 0);
    ck_assert_near(report.minimum_bound, 4, 0);
    ck_assert_near(report.primal, 0, 0); /* of the extension, which does not see F(empty) */
    submod_combination_free(c);
    submod_fn_free(fn);
}
END_TEST

START_TEST(corruption_shows)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    submod_combination *c = NULL, *other = NULL;
    submod_fn *fn = make_cut(&rng);
    double x[N], u[N], s[N];
    submod_prox_settings settings = submod_prox_defaults();
    submod_certificate_report good, bad;
    random_vector(&rng, x, N, 0);
    ck_assert_ok(submod_combination_create(&c));
    ck_assert_ok(submod_combination_create(&other));
    settings.method = SUBMOD_PROX_MIN_NORM;
    settings.combination = c;
    ck_assert_ok(submod_prox(fn, x, 0.5, u, s, &settings, NULL, NULL));
    ck_assert_ok(submod_certificate_check(fn, x, 0.5, u, s, c, &good));
    ck_assert(good.base_error <= 1e-13 && fabs(good.gap) <= 1e-9);

    s[2] += 0.01; /* not the certified base */
    ck_assert_ok(submod_certificate_check(fn, x, 0.5, u, s, c, &bad));
    ck_assert_near(bad.base_error, 0.01, 1e-12);
    ck_assert_near(bad.gap, good.gap, 1e-15); /* the gap is the certified base's */
    s[2] -= 0.01;

    u[3] += 0.1; /* not the best u */
    ck_assert_ok(submod_certificate_check(fn, x, 0.5, u, s, c, &bad));
    ck_assert(bad.gap >= 0.5 / 2 * 0.01 - 1e-9);
    u[3] -= 0.1;

    /* Other weights on the same orders: another base. */
    size_t count = submod_combination_count(c);
    ck_assert_uint_gt(count, 1);
    int32_t *orders = malloc(count * N * sizeof *orders);
    double *weights = malloc(count * sizeof *weights);
    for (size_t k = 0; k < count; k++) {
        memcpy(orders + k * N, submod_combination_order(c, k), N * sizeof *orders);
        weights[k] = submod_combination_weight(c, k) + 0.3 * (double)(k == 0);
    }
    ck_assert_ok(submod_combination_set(other, N, count, orders, weights));
    ck_assert_ok(submod_certificate_check(fn, x, 0.5, u, s, other, &bad));
    ck_assert(bad.base_error > 1e-3 && bad.gap > good.gap + 1e-6);
    /* Two elements of one order swapped. */
    for (size_t k = 0; k < count; k++) {
        weights[k] = submod_combination_weight(c, k);
    }
    int32_t first = orders[0];
    orders[0] = orders[N - 1];
    orders[N - 1] = first;
    ck_assert_ok(submod_combination_set(other, N, count, orders, weights));
    ck_assert_ok(submod_certificate_check(fn, x, 0.5, u, s, other, &bad));
    ck_assert(bad.base_error > 1e-3);
    free(orders);
    free(weights);
    submod_combination_free(c);
    submod_combination_free(other);
    submod_fn_free(fn);
}
END_TEST

START_TEST(combinations)
{
    const int32_t orders[] = {0, 1, 2, 2, 1, 0}, twice[] = {0, 1, 1, 2, 1, 0}, beyond[] = {0, 1, 3};
    submod_combination *c = NULL;
    ck_assert_int_eq(submod_combination_create(NULL), SUBMOD_EINVAL);
    ck_assert_uint_eq(submod_combination_count(NULL), 0);
    ck_assert_uint_eq(submod_combination_size(NULL), 0);
    ck_assert_ptr_null(submod_combination_order(NULL, 0));
    ck_assert_ok(submod_combination_create(&c));
    ck_assert_uint_eq(submod_combination_count(c), 0);
    ck_assert_ok(submod_combination_set(c, 3, 2, orders, (double[]){1e308, 1e308}));
    ck_assert_uint_eq(submod_combination_count(c), 2);
    ck_assert_uint_eq(submod_combination_size(c), 3);
    ck_assert_near(submod_combination_weight(c, 1), 0.5, 0);
    ck_assert_int_eq(submod_combination_order(c, 1)[0], 2);
    ck_assert_ptr_null(submod_combination_order(c, 2));
    ck_assert_near(submod_combination_weight(c, 2), 0, 0);
    /* What is refused leaves the content alone. */
    ck_assert_int_eq(submod_combination_set(c, 3, 2, twice, (double[]){1, 1}), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_combination_set(c, 3, 1, beyond, (double[]){1}), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_combination_set(c, 3, 2, orders, (double[]){1, -1}), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_combination_set(c, 3, 2, orders, (double[]){0, 0}), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_combination_set(c, 3, 2, orders, (double[]){1, NAN}),
                     SUBMOD_ENONFINITE);
    ck_assert_int_eq(submod_combination_set(c, 0, 2, orders, (double[]){1, 1}), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_combination_set(NULL, 3, 2, orders, (double[]){1, 1}), SUBMOD_EINVAL);
    ck_assert_uint_eq(submod_combination_count(c), 2);
    ck_assert_ok(submod_combination_set(c, 0, 0, NULL, NULL));
    ck_assert_uint_eq(submod_combination_count(c), 0);
    submod_combination_free(c);
    submod_combination_free(NULL);
}
END_TEST

START_TEST(bad_arguments)
{
    submod_fn *fn = NULL;
    submod_combination *c = NULL;
    double x[2] = {0, 0}, inf[2] = {0, INFINITY};
    submod_certificate_report r = {.gap = 7};
    ck_assert_ok(submod_fn_sqrt(2, &fn));
    ck_assert_ok(submod_combination_create(&c));
    ck_assert_int_eq(submod_certificate_check(fn, x, 1, x, x, c, &r), SUBMOD_EINVAL); /* empty */
    ck_assert_ok(submod_combination_set(c, 3, 1, (int32_t[]){0, 1, 2}, (double[]){1}));
    ck_assert_int_eq(submod_certificate_check(fn, x, 1, x, x, c, &r), SUBMOD_EINVAL); /* other n */
    ck_assert_ok(submod_combination_set(c, 2, 1, (int32_t[]){0, 1}, (double[]){1}));
    ck_assert_int_eq(submod_certificate_check(NULL, x, 1, x, x, c, &r), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_certificate_check(fn, x, 0, x, x, c, &r), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_certificate_check(fn, x, NAN, x, x, c, &r), SUBMOD_ENONFINITE);
    ck_assert_int_eq(submod_certificate_check(fn, inf, 1, x, x, c, &r), SUBMOD_ENONFINITE);
    ck_assert_int_eq(submod_certificate_check(fn, x, 1, inf, x, c, &r), SUBMOD_ENONFINITE);
    ck_assert_int_eq(submod_certificate_check(fn, x, 1, x, inf, c, &r), SUBMOD_ENONFINITE);
    ck_assert_near(r.gap, 7, 0);
    ck_assert_ok(submod_certificate_check(fn, x, 1, x, x, c, &r));
    submod_combination_free(c);
    submod_fn_free(fn);
}
END_TEST

int main(void)
{
    return RUN_TESTS("certificate", value_of_the_empty_set, solvers_are_certified, corruption_shows,
                     combinations, bad_arguments);
}
