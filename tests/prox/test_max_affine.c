/* The prox of max-affine functions against all active sets, and against closed forms. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

/* Solves the k x k system by elimination with pivoting; 0 if it is singular. */
static int solve(double *M, double *r, size_t k)
{
    for (size_t p = 0; p < k; p++) {
        size_t best = p;
        for (size_t i = p; i < k; i++) {
            best = fabs(M[i * k + p]) > fabs(M[best * k + p]) ? i : best;
        }
        if (fabs(M[best * k + p]) < 1e-9) {
            return 0;
        }
        for (size_t j = 0; j < k; j++) {
            double swap = M[p * k + j];
            M[p * k + j] = M[best * k + j];
            M[best * k + j] = swap;
        }
        double swap = r[p];
        r[p] = r[best];
        r[best] = swap;
        for (size_t i = 0; i < k; i++) {
            double f = i == p ? 0 : M[i * k + p] / M[p * k + p];
            for (size_t j = 0; f != 0 && j < k; j++) {
                M[i * k + j] -= f * M[p * k + j];
            }
            r[i] -= f * r[p];
        }
    }
    for (size_t p = 0; p < k; p++) {
        r[p] /= M[p * k + p];
    }
    return 1;
}

static double objective(size_t m, size_t n, const double *a, const double *b, const double *x,
                        double lambda, const double *u)
{
    double highest = -INFINITY, square = 0;
    for (size_t j = 0; j < m; j++) {
        double h = b[j];
        for (size_t i = 0; i < n; i++) {
            h += a[j * n + i] * u[i];
        }
        highest = fmax(highest, h);
    }
    for (size_t i = 0; i < n; i++) {
        square += (u[i] - x[i]) * (u[i] - x[i]);
    }
    return highest + lambda / 2 * square;
}

/* The least objective over the candidates of all active sets: pieces in the set at one height,
 * u = x - A'w / lambda. The optimum is among them, for an affinely independent active set. */
static double all_active_sets(size_t m, size_t n, const double *a, const double *b, const double *x,
                              double lambda)
{
    double lowest = INFINITY;
    for (uint32_t set = 1; set < UINT32_C(1) << m; set++) {
        int32_t e[32];
        size_t k = subset_elements(set, e);
        double M[64], r[8], u[8];
        if (k > n + 1) {
            continue;
        }
        for (size_t p = 0; p <= k; p++) { /* G w / lambda + height = A x + b, sum of w = 1 */
            r[p] = p < k ? b[e[p]] : 1;
            for (size_t q = 0; q <= k; q++) {
                double g = p < k && q < k ? 0 : p != q;
                for (size_t i = 0; p < k && q < k && i < n; i++) {
                    g += a[(size_t)e[p] * n + i] * a[(size_t)e[q] * n + i] / lambda;
                }
                M[p * (k + 1) + q] = g;
            }
            for (size_t i = 0; p < k && i < n; i++) {
                r[p] += a[(size_t)e[p] * n + i] * x[i];
            }
        }
        if (!solve(M, r, k + 1)) {
            continue;
        }
        for (size_t i = 0; i < n; i++) {
            u[i] = x[i];
            for (size_t p = 0; p < k; p++) {
                u[i] -= r[p] * a[(size_t)e[p] * n + i] / lambda;
            }
        }
        lowest = fmin(lowest, objective(m, n, a, b, x, lambda, u));
    }
    return lowest;
}

static void compare(submod_rng *rng, int coarse)
{
    size_t m = 1 + submod_rng_below(rng, 6), n = 1 + submod_rng_below(rng, 5);
    double a[30], b[6], x[5], u[5], w[6] = {0};
    double lambda = coarse ? 0.5 : exp(2 * submod_rng_normal(rng));
    submod_prox_info info;
    random_vector(rng, a, m * n, coarse);
    random_vector(rng, b, m, coarse);
    random_vector(rng, x, n, coarse);
    if (m > 2 && submod_rng_below(rng, 2)) { /* duplicated and dependent rows */
        for (size_t i = 0; i < n; i++) {
            a[i] = a[n + i];
            a[2 * n + i] = submod_rng_below(rng, 2) ? a[n + i] : a[2 * n + i];
        }
    }
    ck_assert_ok(submod_prox_max_affine(m, n, a, b, x, lambda, u, w, &info, NULL));
    double primal = objective(m, n, a, b, x, lambda, u);
    double expected = all_active_sets(m, n, a, b, x, lambda);
    double size = 1 + fabs(primal) + 10 / lambda;
    ck_assert_near(primal, expected, 1e-10 * size);
    ck_assert_near(info.primal, primal, 1e-12 * size);
    ck_assert(info.gap <= 1e-11 * size && info.gap >= -1e-12 * size);
    /* The dual certificate: weights in the simplex, u = x - A'w / lambda, and its value. */
    double sum = 0, dual = 0, square = 0;
    for (size_t j = 0; j < m; j++) {
        ck_assert(w[j] >= 0);
        sum += w[j];
        dual += w[j] * b[j];
    }
    for (size_t i = 0; i < n; i++) {
        double s = 0;
        for (size_t j = 0; j < m; j++) {
            s += w[j] * a[j * n + i];
        }
        ck_assert_near(u[i], x[i] - s / lambda, 1e-12 * size);
        dual += s * x[i];
        square += s * s;
    }
    ck_assert_near(sum, 1, 1e-14);
    ck_assert_near(dual - square / (2 * lambda), info.dual, 1e-12 * size);
    ck_assert_near(primal, info.dual, 1e-10 * size);
    /* From its own weights there is nothing left to do. */
    submod_prox_info again;
    ck_assert_ok(submod_prox_max_affine(m, n, a, b, x, lambda, NULL, w, &again, NULL));
    ck_assert_uint_le(again.iterations, 1);
}

START_TEST(all_sets)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int repeat = 0; repeat < 3000; repeat++) {
        compare(&rng, repeat % 2);
    }
}
END_TEST

/* max(0, nu x1, x2): u1 = x1 - nu w1 / lambda, u2 = x2 - w2 / lambda, by cases. */
static void nu_prox(double nu, const double *x, double lambda, double *u)
{
    double best = INFINITY;
    const double a[6] = {0, 0, nu, 0, 0, 1}, b[3] = {0, 0, 0};
    /* Pieces 0, 1, 2 alone; pairs 01, 02, 12; all three. */
    double tie = (nu * x[0] - x[1] + 1 / lambda) * lambda / (nu * nu + 1); /* w1 at nu u1 = u2 */
    const double candidates[7][2] = {{x[0], x[1]},
                                     {x[0] - nu / lambda, x[1]},
                                     {x[0], x[1] - 1 / lambda},
                                     {0, x[1]},
                                     {x[0], 0},
                                     {x[0] - nu * tie / lambda, x[1] - (1 - tie) / lambda},
                                     {0, 0}};
    for (int i = 0; i < 7; i++) {
        double value = objective(3, 2, a, b, x, lambda, candidates[i]);
        if (value < best) {
            best = value;
            u[0] = candidates[i][0];
            u[1] = candidates[i][1];
        }
    }
}

START_TEST(nu_problem)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (int repeat = 0; repeat < 2000; repeat++) {
        double nu = exp(submod_rng_normal(&rng)), lambda = exp(submod_rng_normal(&rng));
        double x[2], u[2], expected[2];
        const double a[6] = {0, 0, nu, 0, 0, 1}, b[3] = {0, 0, 0};
        random_vector(&rng, x, 2, repeat % 2);
        nu_prox(nu, x, lambda, expected);
        ck_assert_ok(submod_prox_max_affine(3, 2, a, b, x, lambda, u, NULL, NULL, NULL));
        double size = 1 + (1 + nu) / lambda;
        ck_assert_near(u[0], expected[0], 1e-10 * size);
        ck_assert_near(u[1], expected[1], 1e-10 * size);
    }
}
END_TEST

/* A bundle: hundreds of tangents of |u|^2 / 2, with many duplicates; and extreme scales. */
START_TEST(large)
{
    enum { M = 300, D = 20 };
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    double *a = malloc(M * D * sizeof *a), b[M], x[D], u[D];
    submod_work *work = NULL;
    ck_assert_ok(submod_work_create(&work));
    const double factors[] = {1, 1e-100, 1e100};
    for (int repeat = 0; repeat < 9; repeat++) {
        double factor = factors[repeat % 3];
        int third = repeat / 3;
        double lambda = pow(10, 3 * (third - 1));
        for (size_t j = 0; j < M; j++) {
            b[j] = 0;
            for (size_t i = 0; i < D; i++) {
                a[j * D + i] = j % 5 == 4 ? a[(j - 3) * D + i] : factor * submod_rng_normal(&rng);
                b[j] -= factor * pow(a[j * D + i] / factor, 2) / 2;
            }
        }
        for (size_t i = 0; i < D; i++) {
            x[i] = submod_rng_normal(&rng);
        }
        submod_prox_info info;
        ck_assert_ok(submod_prox_max_affine(M, D, a, b, x, lambda * factor, u, NULL, &info, work));
        ck_assert(fabs(info.gap) <= 1e-11 * (fabs(info.primal) + factor));
    }
    submod_work_free(work);
    free(a);
}
END_TEST

/* The corral's factor wears out where pieces are almost equal; a new one brings the gap down. That
 * is so in few of these problems, so all are taken: without it, gaps are up to 8e5 last bits. */
START_TEST(almost_equal_pieces)
{
    enum { M = 20, N = 10 };
    submod_rng rng;
    submod_rng_seed(&rng, 64);
    for (int repeat = 0; repeat < 2000; repeat++) {
        double a[M * N], b[M], x[N], u[N];
        for (size_t j = 0; j < M; j++) {
            const size_t other = j ? submod_rng_below(&rng, j) : 0;
            const bool near = j && submod_rng_below(&rng, 2);
            for (size_t i = 0; i < N; i++) {
                double z = submod_rng_normal(&rng);
                a[j * N + i] = near ? a[other * N + i] * (1 + 1e-9 * z) : z;
            }
            b[j] = near ? b[other] + 1e-9 * submod_rng_normal(&rng) : submod_rng_normal(&rng);
        }
        random_vector(&rng, x, N, 0);
        submod_prox_info info;
        ck_assert_ok(submod_prox_max_affine(M, N, a, b, x, 1, u, NULL, &info, NULL));
        ck_assert_double_le(info.gap, 1e4 * DBL_EPSILON * (1 + fabs(info.primal)));
    }
}
END_TEST

/* The same problem in units of 1e-300: products of lambda and b vanish. */
START_TEST(planes_of_tiny_numbers)
{
    enum { ROWS = 5, COLUMNS = 4 };
    submod_rng rng;
    submod_rng_seed(&rng, 8);
    for (int repeat = 0; repeat < 20; repeat++) {
        double a[ROWS * COLUMNS], b[ROWS], x[COLUMNS], u[COLUMNS], wanted[COLUMNS];
        random_vector(&rng, a, ROWS * COLUMNS, 0);
        random_vector(&rng, b, ROWS, 0);
        random_vector(&rng, x, COLUMNS, 0);
        ck_assert_ok(submod_prox_max_affine(ROWS, COLUMNS, a, b, x, 2, wanted, NULL, NULL, NULL));
        for (size_t i = 0; i < ROWS * COLUMNS; i++) {
            a[i] *= 1e-300;
            b[i / COLUMNS] *= i % COLUMNS ? 1 : 1e-300;
        }
        ck_assert_ok(submod_prox_max_affine(ROWS, COLUMNS, a, b, x, 2e-300, u, NULL, NULL, NULL));
        for (size_t i = 0; i < COLUMNS; i++) {
            ck_assert_near(u[i], wanted[i], 1e-9);
        }
    }
}
END_TEST

START_TEST(bad_arguments)
{
    const double a[4] = {1, 2, 3, 4}, b[2] = {0, 1}, x[2] = {0, 0}, bad[2] = {0, NAN};
    double u[2] = {7, 7}, w[2] = {-1, 0};
    submod_prox_info info;
    ck_assert_int_eq(submod_prox_max_affine(0, 2, a, b, x, 1, u, NULL, NULL, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_prox_max_affine(2, 0, a, b, x, 1, u, NULL, NULL, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_prox_max_affine(2, 2, NULL, b, x, 1, u, NULL, NULL, NULL),
                     SUBMOD_EINVAL);
    ck_assert_int_eq(submod_prox_max_affine(2, 2, a, b, x, 0, u, NULL, NULL, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_prox_max_affine(2, 2, a, b, x, 1, u, w, NULL, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_prox_max_affine(2, 2, a, bad, x, 1, u, NULL, NULL, NULL),
                     SUBMOD_ENONFINITE);
    ck_assert_int_eq(submod_prox_max_affine(2, 2, a, b, bad, 1, u, NULL, NULL, NULL),
                     SUBMOD_ENONFINITE);
    ck_assert_int_eq(submod_prox_max_affine(2, 2, a, b, x, INFINITY, u, NULL, NULL, NULL),
                     SUBMOD_ENONFINITE);
    ck_assert(u[0] == 7 && u[1] == 7);
    ck_assert_int_eq(submod_prox_max_affine(2, 2, a, b, x, 1e-320, u, NULL, NULL, NULL),
                     SUBMOD_ENUMERIC);
    /* Constants only: u = x, and the highest one. */
    const double zero[4] = {0}, steps[2] = {1, 2};
    ck_assert_ok(submod_prox_max_affine(2, 2, zero, b, steps, 1, u, NULL, &info, NULL));
    ck_assert(u[0] == 1 && u[1] == 2);
    ck_assert_near(info.primal, 1, 0);
}
END_TEST

int main(void)
{
    return RUN_TESTS("max_affine", all_sets, nu_problem, large, almost_equal_pieces,
                     planes_of_tiny_numbers, bad_arguments);
}
