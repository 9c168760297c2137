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
    submod_combination c = {0};
    for (size_t f = 0; f < family_count; f++) {
        for (int repeat = 0; repeat < 12; repeat++) {
            submod_fn *fn = families[f].make(N, &rng);
            double *F = subset_values(fn);
            double scale = value_scale(F, N), x[N], u[N], s[N];
            double lambda = exp(2 * submod_rng_normal(&rng));
            submod_prox_settings settings = submod_prox_defaults();
            submod_prox_info info;
            submod_certificate_report report;
            random_vector(&rng, x, N, repeat % 2);
            settings.method = SUBMOD_PROX_MIN_NORM;
            settings.max_iterations = 200;
            settings.combination = &c;
            ck_assert_int_ge(submod_prox(fn, x, lambda, u, s, &settings, &info, NULL), 0);
            ck_assert_ok(submod_certificate_check(fn, x, lambda, u, s, &c, &report));
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
    submod_combination_free(&c);
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
    submod_fn_ops ops = {.eval = not_normalised};
    submod_fn *fn = NULL;
    submod_certificate_report report;
    const double zero[2] = {0, 0}, s[2] = {-0.5, -0.5};
    double weights[2] = {0.5, 0.5};
    int32_t orders[4] = {0, 1, 1, 0}; /* their greedy vectors: (1, -2) and (-2, 1) */
    const submod_combination c = {2, 2, orders, weights};
    ck_assert_ok(submod_fn_custom(2, &ops, NULL, &fn));
    ck_assert_ok(submod_certificate_check(fn, zero, 1, zero, s, &c, &report));
    ck_assert_near(report.base_error, 0, 0);
    ck_assert_near(report.minimum_bound, 4, 0);
    ck_assert_near(report.primal, 0, 0); /* of the extension, which does not see F(empty) */
    submod_fn_free(fn);
}
END_TEST

START_TEST(corruption_shows)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    submod_combination c = {0};
    submod_fn *fn = make_cut(&rng);
    double x[N], u[N], s[N];
    submod_prox_settings settings = submod_prox_defaults();
    submod_certificate_report good, bad;
    random_vector(&rng, x, N, 0);
    settings.method = SUBMOD_PROX_MIN_NORM;
    settings.combination = &c;
    ck_assert_ok(submod_prox(fn, x, 0.5, u, s, &settings, NULL, NULL));
    ck_assert_ok(submod_certificate_check(fn, x, 0.5, u, s, &c, &good));
    ck_assert(good.base_error <= 1e-13 && fabs(good.gap) <= 1e-9);

    s[2] += 0.01; /* not the certified base */
    ck_assert_ok(submod_certificate_check(fn, x, 0.5, u, s, &c, &bad));
    ck_assert_near(bad.base_error, 0.01, 1e-12);
    ck_assert_near(bad.gap, good.gap, 1e-15); /* the gap is the certified base's */
    s[2] -= 0.01;

    u[3] += 0.1; /* not the best u */
    ck_assert_ok(submod_certificate_check(fn, x, 0.5, u, s, &c, &bad));
    ck_assert(bad.gap >= 0.5 / 2 * 0.01 - 1e-9);
    u[3] -= 0.1;

    /* Other weights on the same orders: another base. */
    ck_assert_uint_gt(c.count, 1);
    double moved = c.weights[0] / 2;
    c.weights[0] -= moved;
    c.weights[1] += moved;
    ck_assert_ok(submod_certificate_check(fn, x, 0.5, u, s, &c, &bad));
    ck_assert(bad.base_error > 1e-3 && bad.gap > good.gap + 1e-6);
    c.weights[0] += moved;
    c.weights[1] -= moved;
    /* Two elements of one order swapped. */
    int32_t first = c.orders[0];
    c.orders[0] = c.orders[N - 1];
    c.orders[N - 1] = first;
    ck_assert_ok(submod_certificate_check(fn, x, 0.5, u, s, &c, &bad));
    ck_assert(bad.base_error > 1e-3);
    submod_combination_free(&c);
    ck_assert(!c.n && !c.count && !c.orders && !c.weights);
    submod_combination_free(&c);
    submod_combination_free(NULL);
    submod_fn_free(fn);
}
END_TEST

/* Combinations that a checker and a start refuse, and an outcome that stays as it was. */
START_TEST(bad_combinations)
{
    int32_t orders[] = {0, 1, 2, 2, 1, 0}, twice[] = {0, 1, 1, 2, 1, 0},
            beyond[] = {0, 1, 2, 0, 1, 3};
    int32_t below[] = {0, 1, -1, 0, 1, 2};
    double half[] = {0.5, 0.5}, negative[] = {1.5, -0.5}, zero[] = {0, 0}, huge[] = {1e308, 1e308};
    double nan[] = {1, NAN}, x[3] = {0, 0, 0}, u[3];
    const submod_combination good = {3, 2, orders, half};
    const struct {
        submod_combination c;
        submod_status status;
    } bad[] = {{{3, 2, twice, half}, SUBMOD_EINVAL},     {{3, 2, beyond, half}, SUBMOD_EINVAL},
               {{3, 2, below, half}, SUBMOD_EINVAL},     {{3, 2, orders, negative}, SUBMOD_EINVAL},
               {{3, 2, orders, zero}, SUBMOD_EINVAL},    {{3, 2, orders, huge}, SUBMOD_EINVAL},
               {{3, 2, orders, nan}, SUBMOD_ENONFINITE}, {{0, 2, orders, half}, SUBMOD_EINVAL},
               {{3, 2, NULL, half}, SUBMOD_EINVAL},      {{3, 2, orders, NULL}, SUBMOD_EINVAL}};
    submod_fn *fn = NULL;
    submod_combination found = {0};
    submod_certificate_report r = {.gap = 7};
    submod_prox_settings settings = submod_prox_defaults();
    submod_sfm_settings minimum = submod_sfm_defaults();
    ck_assert_ok(submod_fn_concave(3, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn));
    settings.method = SUBMOD_PROX_MIN_NORM;
    settings.start = &good;
    settings.combination = &found;
    ck_assert_ok(submod_prox(fn, x, 1, u, NULL, &settings, NULL, NULL));
    size_t count = found.count;
    ck_assert_uint_gt(count, 0);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        settings.start = minimum.start = &bad[k].c;
        ck_assert_int_eq(submod_prox(fn, x, 1, u, NULL, &settings, NULL, NULL), bad[k].status);
        ck_assert_int_eq(submod_sfm(fn, NULL, NULL, NULL, &minimum, NULL, NULL), bad[k].status);
        ck_assert_int_eq(submod_certificate_check(fn, x, 1, x, x, &bad[k].c, &r), bad[k].status);
    }
    ck_assert(found.count == count && r.gap == 7);
    submod_combination_free(&found);
    submod_fn_free(fn);
}
END_TEST

START_TEST(bad_arguments)
{
    submod_fn *fn = NULL;
    submod_combination c = {0};
    int32_t order[3] = {0, 1, 2};
    double one[1] = {1}, x[2] = {0, 0}, inf[2] = {0, INFINITY};
    submod_certificate_report r = {.gap = 7};
    ck_assert_ok(submod_fn_concave(2, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn));
    ck_assert_int_eq(submod_certificate_check(fn, x, 1, x, x, &c, &r), SUBMOD_EINVAL); /* empty */
    c = (submod_combination){3, 1, order, one};
    ck_assert_int_eq(submod_certificate_check(fn, x, 1, x, x, &c, &r), SUBMOD_EINVAL); /* other n */
    c.n = 2;
    ck_assert_int_eq(submod_certificate_check(NULL, x, 1, x, x, &c, &r), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_certificate_check(fn, x, 0, x, x, &c, &r), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_certificate_check(fn, x, NAN, x, x, &c, &r), SUBMOD_ENONFINITE);
    ck_assert_int_eq(submod_certificate_check(fn, inf, 1, x, x, &c, &r), SUBMOD_ENONFINITE);
    ck_assert_int_eq(submod_certificate_check(fn, x, 1, inf, x, &c, &r), SUBMOD_ENONFINITE);
    ck_assert_int_eq(submod_certificate_check(fn, x, 1, x, inf, &c, &r), SUBMOD_ENONFINITE);
    ck_assert_near(r.gap, 7, 0);
    ck_assert_ok(submod_certificate_check(fn, x, 1, x, x, &c, &r));
    submod_fn_free(fn);
}
END_TEST

int main(void)
{
    return RUN_TESTS("certificate", value_of_the_empty_set, solvers_are_certified, corruption_shows,
                     bad_combinations, bad_arguments);
}
