/* Paths of proxes over lambda, and level sets over alpha. Every entry of a path is compared with
 * the prox by itself; level sets with all minimisers among all subsets. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "support.h"

enum { N = 8, LAMBDAS = 7 };

static const double lambdas[LAMBDAS] = {20, 9, 4, 1, 0.4, 0.15, 0.05};

START_TEST(path_is_one_prox_after_the_other)
{
    submod_rng rng;
    submod_rng_seed(&rng, 71);
    for (size_t i = 0; i < family_count; i++) {
        for (int hinge = 0; hinge <= families[i].monotone; hinge++) {
            submod_fn *fn = families[i].make(N, &rng);
            double x[N], u[LAMBDAS * N], s[LAMBDAS * N], scale = 0;
            submod_prox_settings settings = submod_prox_defaults();
            submod_prox_info info[LAMBDAS];
            settings.hinge = hinge;
            settings.tolerance = 1e-13;
            random_vector(&rng, x, N, 0);
            submod_status status =
                submod_prox_path(fn, x, lambdas, LAMBDAS, u, s, &settings, info, NULL);
            ck_assert_msg(status >= 0, "%s: %s", families[i].name, submod_last_error());
            for (size_t k = 0; k < LAMBDAS; k++) {
                double v[N], t[N];
                submod_prox_info alone;
                status = submod_prox(fn, x, lambdas[k], v, t, &settings, &alone, NULL);
                ck_assert_int_ge(status, 0);
                ck_assert(info[k].method == alone.method);
                scale = max_abs(t, N) + lambdas[k] * max_abs(x, N);
                for (size_t e = 0; e < N; e++) {
                    ck_assert_near(s[k * N + e], t[e], 1e-6 * scale);
                    ck_assert_near(u[k * N + e], v[e], 1e-6 * scale / lambdas[k]);
                }
            }
            submod_fn_free(fn);
        }
    }
}
END_TEST

/* A log-det function of points along a line, with a large overlap: Wolfe has work to do. */
static submod_fn *kernel(size_t n)
{
    double *K = malloc(n * n * sizeof *K);
    submod_fn *fn = NULL;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            double d = ((double)i - (double)j) / 4;
            K[i * n + j] = exp(-d * d / 2) + (i == j ? 0.1 : 0);
        }
    }
    ck_assert_ok(submod_fn_logdet(n, K, &fn));
    free(K);
    return fn;
}

/* Chains of the oracle, counted: starting from the entry before takes fewer than starting anew. */
START_TEST(warm_starts_save_chains)
{
    enum { SIZE = 40, COUNT = 12 };
    submod_rng rng;
    submod_rng_seed(&rng, 72);
    submod_fn *fn = kernel(SIZE);
    double x[SIZE], lambda[COUNT];
    submod_prox_info info[COUNT], alone;
    random_vector(&rng, x, SIZE, 0);
    for (size_t k = 0; k < COUNT; k++) {
        lambda[k] = 2 * pow(1.1, (double)k);
    }
    ck_assert_ok(submod_prox_path(fn, x, lambda, COUNT, NULL, NULL, NULL, info, NULL));
    uint64_t warm = 0, cold = 0;
    for (size_t k = 0; k < COUNT; k++) {
        ck_assert_ok(submod_prox(fn, x, lambda[k], NULL, NULL, NULL, &alone, NULL));
        warm += info[k].iterations;
        cold += alone.iterations;
    }
    ck_assert_msg(warm < cold, "%lu iterations against %lu", (unsigned long)warm,
                  (unsigned long)cold);
    submod_fn_free(fn);
}
END_TEST

/* The caller's combination: where the first entry starts, and what the last one ends with. */
START_TEST(combination_comes_through)
{
    submod_rng rng;
    submod_rng_seed(&rng, 73);
    submod_fn *fn = kernel(12);
    submod_combination c = {0};
    submod_prox_settings settings = submod_prox_defaults();
    double x[12], u[24], s[24];
    submod_certificate_report report;
    settings.start = &c;
    settings.combination = &c;
    random_vector(&rng, x, 12, 0);
    ck_assert_ok(submod_prox_path(fn, x, (double[]){3, 1}, 2, u, s, &settings, NULL, NULL));
    ck_assert_ok(submod_certificate_check(fn, x, 1, u + 12, s + 12, &c, &report));
    ck_assert(report.base_error < 1e-9 && report.gap < 1e-8);
    submod_combination_free(&c);
    submod_fn_free(fn);
}
END_TEST

/* ---- level sets ---- */

/* The intersection and the union of all minimisers of F(A) - lambda sum over A of (x - alpha). */
static void minimisers(const double *F, size_t n, const double *x, double lambda, double alpha,
                       uint32_t *smallest, uint32_t *largest)
{
    double best = INFINITY, *value = malloc(sizeof *value << n);
    for (uint32_t A = 0; A < 1u << n; A++) {
        value[A] = F[A];
        for (size_t i = 0; i < n; i++) {
            value[A] -= A >> i & 1 ? lambda * (x[i] - alpha) : 0;
        }
        best = fmin(best, value[A]);
    }
    *smallest = ~0u;
    *largest = 0;
    for (uint32_t A = 0; A < 1u << n; A++) {
        if (value[A] <= best + 1e-9 * value_scale(F, n)) {
            *smallest &= A;
            *largest |= A;
        }
    }
    free(value);
}

/* |u_i - u_i*| is at most this: rounding for exact methods, and the gap for iterative ones. */
static double error_bound(const submod_prox_info *info, double lambda, const double *x,
                          const double *s)
{
    double size = 0;
    for (size_t i = 0; i < N; i++) {
        size = fmax(size, fabs(x[i]) + fabs(s[i]) / lambda);
    }
    bool iterative = info->method == SUBMOD_PROX_SUM || info->method == SUBMOD_PROX_MIN_NORM;
    return 16 * DBL_EPSILON * size + (iterative ? sqrt(2 * fmax(info->gap, 0) / lambda) : 0);
}

/* {u > alpha} is the smallest minimiser and {u >= alpha} the largest, as far as u is known. */
START_TEST(level_sets_are_minimisers)
{
    enum { ALPHAS = 6 };
    submod_rng rng;
    submod_rng_seed(&rng, 74);
    int different = 0;
    for (size_t i = 0; i < family_count; i++) {
        for (int repeat = 0; repeat < 10; repeat++) {
            submod_fn *fn = families[i].make(N, &rng);
            double *F = subset_values(fn);
            double x[N], u[N], s[N], lambda = lambdas[repeat % LAMBDAS];
            random_vector(&rng, x, N, repeat % 2);
            submod_prox_info info;
            ck_assert_int_ge(submod_prox(fn, x, lambda, u, s, NULL, &info, NULL), 0);
            double error = error_bound(&info, lambda, x, s);
            /* Cyclic projections stop near u: their sets enclose all minimisers. */
            bool near = info.method == SUBMOD_PROX_SUM;
            for (size_t k = 0; k < ALPHAS; k++) { /* levels themselves, and between them */
                double alpha = k % 2 ? u[k] : u[k] + submod_rng_normal(&rng);
                uint32_t first, last;
                minimisers(F, N, x, lambda, alpha, &first, &last);
                for (size_t e = 0; e < N; e++) {
                    bool in_all = first >> e & 1, in_some = last >> e & 1;
                    bool smallest = u[e] > alpha + error, largest = u[e] >= alpha - error;
                    ck_assert_msg(near ? smallest <= in_all && largest >= in_some
                                       : smallest == in_all && largest == in_some,
                                  "%s, alpha %g, u[%zu] = %g: %d %d", families[i].name, alpha, e,
                                  u[e], smallest, largest);
                }
                different += first != last;
            }
            free(F);
            submod_fn_free(fn);
        }
    }
    ck_assert_int_ge(different, 400);
}
END_TEST

/* ---- arguments ---- */

START_TEST(refused)
{
    submod_fn *fn = NULL;
    const double x[2] = {0, 1}, bad[2] = {1, -1}, nan[2] = {1, NAN};
    double u[4] = {7, 7, 7, 7};
    ck_assert_ok(submod_fn_concave(2, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn));
    assert_error(submod_prox_path(NULL, x, x, 1, u, NULL, NULL, NULL, NULL), SUBMOD_EINVAL, "fn");
    assert_error(submod_prox_path(fn, NULL, x, 1, u, NULL, NULL, NULL, NULL), SUBMOD_EINVAL, "x");
    assert_error(submod_prox_path(fn, x, NULL, 1, u, NULL, NULL, NULL, NULL), SUBMOD_EINVAL,
                 "lambda is NULL");
    assert_error(submod_prox_path(fn, x, bad, 2, u, NULL, NULL, NULL, NULL), SUBMOD_EINVAL,
                 "lambda = -1 must be > 0");
    assert_error(submod_prox_path(fn, x, nan, 2, u, NULL, NULL, NULL, NULL), SUBMOD_ENONFINITE,
                 "lambda");
    assert_error(submod_prox_path(fn, nan, x + 1, 1, u, NULL, NULL, NULL, NULL), SUBMOD_ENONFINITE,
                 "x[1]");
    ck_assert(u[0] == 7);
    ck_assert_ok(submod_prox_path(fn, x, NULL, 0, NULL, NULL, NULL, NULL, NULL));
    submod_fn_free(fn);
}
END_TEST

/* The second lambda is so small that u overflows: the first entry is there, the others untouched.
 */
START_TEST(failure_on_the_way)
{
    submod_fn *fn = NULL;
    const double x[2] = {0, 1};
    double u[6] = {7, 7, 7, 7, 7, 7};
    ck_assert_ok(submod_fn_concave(2, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn));
    ck_assert_int_eq(
        submod_prox_path(fn, x, (double[]){1, 1e-310, 1}, 3, u, NULL, NULL, NULL, NULL),
        SUBMOD_ENUMERIC);
    ck_assert(u[0] != 7 && u[1] != 7 && u[2] == 7 && u[3] == 7 && u[4] == 7 && u[5] == 7);
    submod_fn_free(fn);
}
END_TEST

/* Every allocation fails once. */
START_TEST(memory_runs_out)
{
    ck_assert_ok(submod_set_allocator(&counting_allocator));
    allocations.left = -1;
    submod_rng rng;
    submod_rng_seed(&rng, 76);
    submod_fn *fn = kernel(6);
    double x[6], u[12];
    random_vector(&rng, x, 6, 0);
    long before = allocations.live;
    submod_status status = SUBMOD_ENOMEM;
    for (long limit = 0; status == SUBMOD_ENOMEM; limit++) {
        allocations.left = limit;
        status = submod_prox_path(fn, x, lambdas, 2, u, NULL, NULL, NULL, NULL);
        ck_assert_int_eq(allocations.live, before);
    }
    ck_assert_int_eq(status, SUBMOD_OK);
    allocations.left = -1;
    submod_fn_free(fn);
    ck_assert_ok(submod_set_allocator(NULL));
}
END_TEST

int main(void)
{
    return RUN_TESTS("path", path_is_one_prox_after_the_other, warm_starts_save_chains,
                     combination_comes_through, level_sets_are_minimisers, refused,
                     failure_on_the_way, memory_runs_out);
}
