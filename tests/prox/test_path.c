/* Proxes of one function for many lambdas, started from each other, and level sets over alpha,
 * compared with all minimisers among all subsets. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "support.h"

enum { N = 8, LAMBDAS = 7 };

static const double lambdas[LAMBDAS] = {20, 9, 4, 1, 0.4, 0.15, 0.05};

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

/* Starting from the entry before takes fewer iterations than starting anew, and gives the same. */
START_TEST(warm_starts_save_chains)
{
    enum { SIZE = 40, COUNT = 12 };
    submod_rng rng;
    submod_rng_seed(&rng, 72);
    submod_fn *fn = kernel(SIZE);
    submod_combination c = {0};
    submod_prox_settings settings = submod_prox_defaults();
    double x[SIZE], u[SIZE], s[SIZE], v[SIZE], lambda = 2;
    submod_prox_info info, alone;
    uint64_t warm = 0, cold = 0;
    random_vector(&rng, x, SIZE, 0);
    settings.start = settings.combination = &c;
    for (size_t k = 0; k < COUNT; k++, lambda *= 1.1) {
        submod_certificate_report report;
        ck_assert_ok(submod_prox(fn, x, lambda, u, s, &settings, &info, NULL));
        ck_assert_ok(submod_prox(fn, x, lambda, v, NULL, NULL, &alone, NULL));
        for (size_t i = 0; i < SIZE; i++) {
            ck_assert_near(u[i], v[i], 1e-4);
        }
        ck_assert_ok(submod_certificate_check(fn, x, lambda, u, s, &c, &report));
        ck_assert(report.base_error < 1e-9 && report.gap < 1e-8);
        warm += info.iterations;
        cold += alone.iterations;
    }
    ck_assert_msg(warm < cold, "%lu iterations against %lu", (unsigned long)warm,
                  (unsigned long)cold);
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

int main(void)
{
    return RUN_TESTS("path", warm_starts_save_chains, level_sets_are_minimisers);
}
