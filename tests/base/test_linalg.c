/* Cholesky factors and matrix-vector products against sums in long double, by OpenBLAS and by the
 * loops, of all small sizes and some larger ones; calls from several threads and after a fork; the
 * bits of the loops in every instruction set of this machine. */
#include "base/linalg.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/isa.h"
#include "support.h"

enum { MOST = 133, STRIDE = MOST + 3 };
static const size_t sizes[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,   10,  11, 12,
                               13, 15, 16, 17, 24, 31, 33, 40, 64, 100, 127, 133};
enum { SIZES = sizeof sizes / sizeof *sizes };

typedef double matrix[MOST][STRIDE];

static bool same(const void *a, const void *b)
{
    return !memcmp(a, b, sizeof(matrix));
}

/* The lower triangle of a random positive definite matrix; rubbish above it, and beside it. */
static void random_definite(submod_rng *rng, matrix a, size_t n)
{
    static matrix b;
    random_vector(rng, &b[0][0], MOST * (size_t)STRIDE, 0);
    for (size_t i = 0; i < MOST; i++) {
        for (size_t j = 0; j < STRIDE; j++) {
            a[i][j] = 1e300;
        }
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            long double sum = i == j ? 1 : 0;
            for (size_t l = 0; l < n; l++) {
                sum += (long double)b[i][l] * b[j][l] / (long double)n;
            }
            a[i][j] = (double)sum;
        }
    }
}

START_TEST(factors)
{
    static matrix a, l;
    submod_rng rng;
    submod_rng_seed(&rng, 31);
    for (size_t s = 0; s < SIZES; s++) {
        size_t n = sizes[s];
        random_definite(&rng, a, n);
        memcpy(l, a, sizeof l);
        ck_assert(submodi_cholesky(&l[0][0], n, STRIDE));
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j <= i; j++) {
                long double sum = 0;
                for (size_t m = 0; m <= j; m++) {
                    sum += (long double)l[i][m] * l[j][m];
                }
                ck_assert_near((double)sum, a[i][j], 1e-13);
                a[i][j] = l[i][j];
            }
        }
        ck_assert_msg(same(a, l), "n = %zu: written past the triangle", n);
    }
}
END_TEST

START_TEST(solutions)
{
    static matrix l, b, x;
    submod_rng rng;
    submod_rng_seed(&rng, 32);
    for (size_t s = 0; s < SIZES; s++) {
        size_t n = sizes[s], rows = sizes[SIZES - 1 - s];
        random_definite(&rng, l, n);
        ck_assert(submodi_cholesky(&l[0][0], n, STRIDE));
        random_vector(&rng, &b[0][0], MOST * (size_t)STRIDE, 0);
        memcpy(x, b, sizeof x);
        submodi_cholesky_solve(&l[0][0], &x[0][0], rows, n, STRIDE);
        for (size_t i = 0; i < rows; i++) {
            for (size_t j = 0; j < n; j++) {
                long double sum = 0;
                for (size_t m = 0; m <= j; m++) {
                    sum += (long double)x[i][m] * l[j][m];
                }
                ck_assert_near((double)sum, b[i][j], 1e-13);
                b[i][j] = x[i][j];
            }
        }
        ck_assert_msg(same(b, x), "%zu x %zu: written elsewhere", rows, n);
    }
}
END_TEST

START_TEST(grams)
{
    static matrix a, c, before;
    submod_rng rng;
    submod_rng_seed(&rng, 33);
    for (size_t s = 0; s < SIZES; s++) {
        size_t n = sizes[s], k = sizes[SIZES - 1 - s];
        random_vector(&rng, &a[0][0], MOST * (size_t)STRIDE, 0);
        random_vector(&rng, &before[0][0], MOST * (size_t)STRIDE, 0);
        memcpy(c, before, sizeof c);
        submodi_subtract_gram(&c[0][0], &a[0][0], n, k, STRIDE);
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j <= i; j++) {
                long double sum = before[i][j];
                for (size_t m = 0; m < k; m++) {
                    sum -= (long double)a[i][m] * a[j][m];
                }
                ck_assert_near(c[i][j], (double)sum, 1e-12);
                before[i][j] = c[i][j];
            }
        }
        ck_assert_msg(same(before, c), "%zu x %zu: written elsewhere", n, k);
    }
}
END_TEST

/* Whatever entry of the diagonal spoils it, in whatever block. */
START_TEST(not_definite)
{
    static const double bad[] = {0, -1, NAN, INFINITY, -INFINITY};
    static matrix a;
    submod_rng rng;
    submod_rng_seed(&rng, 34);
    for (size_t n = 1; n <= 40; n += 13) {
        for (size_t i = 0; i < n; i++) {
            for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
                random_definite(&rng, a, n);
                a[i][i] = bad[b];
                ck_assert(!submodi_cholesky(&a[0][0], n, STRIDE));
            }
        }
    }
}
END_TEST

/* The largest entry of L L' - A, as a share of what theory allows: (n + 1) DBL_EPSILON times
 * sqrt(A_ii A_jj). */
static double backward_error(matrix l, matrix a, size_t n)
{
    long double worst = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            long double sum = -(long double)a[i][j];
            for (size_t m = 0; m <= j; m++) {
                sum += (long double)l[i][m] * l[j][m];
            }
            worst = fmaxl(worst, fabsl(sum) / sqrtl((long double)a[i][i] * a[j][j]));
        }
    }
    return (double)(worst / (((long double)n + 1) * DBL_EPSILON));
}

/* Half of the rank is missing: what is added to the diagonal decides, unless it is lost in
 * rounding; and what is factored is factored well. */
START_TEST(nearly_singular)
{
    static const double ridges[] = {1e-3, 1e-10, 1e-15, 0, -1e-15, -1e-10, -1e-3};
    static matrix b, a, l;
    submod_rng rng;
    submod_rng_seed(&rng, 36);
    for (size_t s = 2; s < SIZES; s++) {
        size_t n = sizes[s];
        random_vector(&rng, &b[0][0], MOST * (size_t)STRIDE, 0);
        for (size_t r = 0; r < sizeof ridges / sizeof *ridges; r++) {
            for (size_t i = 0; i < n; i++) {
                for (size_t j = 0; j <= i; j++) {
                    long double sum = i == j ? ridges[r] : 0;
                    for (size_t m = 0; m < n / 2; m++) {
                        sum += (long double)b[i][m] * b[j][m] / (long double)n;
                    }
                    a[i][j] = (double)sum;
                }
            }
            memcpy(l, a, sizeof l);
            bool done = submodi_cholesky(&l[0][0], n, STRIDE);
            ck_assert_msg(fabs(ridges[r]) < 1e-12 || done == (ridges[r] > 0), "n = %zu, %g", n,
                          ridges[r]);
            ck_assert_msg(!done || backward_error(l, a, n) <= 1, "n = %zu, %g", n, ridges[r]);
        }
    }
}
END_TEST

/* With D of powers of two the factor of D A D is D L, in all bits. */
START_TEST(badly_scaled)
{
    static matrix a, l, scaled;
    double d[MOST], powers[MOST];
    submod_rng rng;
    submod_rng_seed(&rng, 37);
    for (size_t s = 0; s < SIZES; s++) {
        size_t n = sizes[s];
        random_vector(&rng, powers, MOST, 0);
        for (size_t i = 0; i < n; i++) {
            d[i] = ldexp(1, (int)fmax(-450, fmin(450, 200 * powers[i])));
        }
        random_definite(&rng, a, n);
        memcpy(l, a, sizeof l);
        memcpy(scaled, a, sizeof l);
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j <= i; j++) {
                scaled[i][j] *= d[i] * d[j];
            }
        }
        ck_assert(submodi_cholesky(&l[0][0], n, STRIDE));
        ck_assert(submodi_cholesky(&scaled[0][0], n, STRIDE));
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j <= i; j++) {
                ck_assert_msg(scaled[i][j] == d[i] * l[i][j], "n = %zu: [%zu, %zu]", n, i, j);
            }
        }
    }
}
END_TEST

START_TEST(matrix_vector_products)
{
    static const size_t lengths[] = {1, 2, 7, 16, 33, 129, 300, 1000};
    enum { LENGTHS = sizeof lengths / sizeof *lengths, LONGEST = 1000 };
    static double a[LONGEST * LONGEST], x[LONGEST], y[LONGEST + 1];
    submod_rng rng;
    submod_rng_seed(&rng, 38);
    random_vector(&rng, a, LONGEST * (size_t)LONGEST, 0);
    random_vector(&rng, x, LONGEST, 0);
    for (size_t i = 0; i < LENGTHS * LENGTHS; i++) {
        size_t m = lengths[i / LENGTHS], n = lengths[i % LENGTHS];
        y[m] = 17;
        submodi_matvec(a, m, n, x, y);
        ck_assert(y[m] == 17);
        for (size_t j = 0; j < m; j++) {
            long double sum = 0, size = 0;
            for (size_t k = 0; k < n; k++) {
                sum += (long double)a[j * n + k] * x[k];
                size += fabsl((long double)a[j * n + k] * x[k]);
            }
            ck_assert(fabsl(y[j] - sum) <= (long double)n * DBL_EPSILON * size);
        }
    }
}
END_TEST

/* ---- several threads, and after a fork ---- */

enum { LARGE = 260 }; /* enough work for several threads of OpenBLAS */

static double *large_matrix(uint64_t seed)
{
    double *a = malloc(sizeof(double) * LARGE * LARGE);
    submod_rng rng;
    submod_rng_seed(&rng, seed);
    ck_assert(a);
    random_vector(&rng, a, LARGE * (size_t)LARGE, 0);
    for (size_t i = 0; i < LARGE; i++) {
        a[i * LARGE + i] = 4 * LARGE;
    }
    return a;
}

/* Whether L L' = A. */
static bool large_factor_is_right(uint64_t seed)
{
    double *a = large_matrix(seed);
    double *l = large_matrix(seed);
    bool right = submodi_cholesky(l, LARGE, LARGE);
    for (size_t i = 0; i < LARGE; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = -a[i * LARGE + j];
            for (size_t k = 0; k <= j; k++) {
                sum += l[i * LARGE + k] * l[j * LARGE + k];
            }
            right = right && fabs(sum) <= 1e-12 * LARGE;
        }
    }
    free(l);
    free(a);
    return right;
}

static void *factor_some(void *seed)
{
    bool right = true;
    for (uint64_t i = 0; i < 5; i++) {
        right = right && large_factor_is_right(*(uint64_t *)seed + i);
    }
    return right ? seed : NULL;
}

static void factor_in_threads(void)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    uint64_t seeds[THREADS];
    for (uint64_t i = 0; i < THREADS; i++) {
        seeds[i] = 100 * i;
        ck_assert(pthread_create(&threads[i], NULL, factor_some, &seeds[i]) == 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        void *right;
        ck_assert(pthread_join(threads[i], &right) == 0);
        ck_assert(right);
    }
}

START_TEST(called_from_several_threads)
{
    factor_in_threads();
}
END_TEST

START_TEST(called_after_a_fork)
{
    ck_assert(large_factor_is_right(1)); /* OpenBLAS's threads are running */
    pid_t child = fork();
    ck_assert(child >= 0);
    if (child == 0) {
        alarm(60);
        bool right = large_factor_is_right(2);
        _exit(right ? 0 : 1);
    }
    int status = -1;
    ck_assert(waitpid(child, &status, 0) == child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ck_assert(large_factor_is_right(3));
}
END_TEST

/* OpenMP's threads that call OpenBLAS do not start its threads too; its own number is restored. */
START_TEST(called_in_a_parallel_region)
{
    int wrong = 0;
#pragma omp parallel for num_threads(3) reduction(+ : wrong)
    for (int i = 0; i < 6; i++) {
        wrong += !large_factor_is_right((uint64_t)i);
    }
    ck_assert_int_eq(wrong, 0);
}
END_TEST

START_TEST(same_bits)
{
    static const char *const isas[] = {"baseline", "avx2", "avx512"};
    static matrix a, l, first;
    submod_rng rng;
    submod_rng_seed(&rng, 35);
    submodi_blas_use(false);
    for (size_t s = 0; s < SIZES; s++) {
        random_definite(&rng, a, sizes[s]);
        for (size_t isa = 0; isa < 3; isa++) { /* the largest that is there, where it is not */
            submodi_isa_choose(isas[isa]);
            memcpy(l, a, sizeof l);
            ck_assert(submodi_cholesky(&l[0][0], sizes[s], STRIDE));
            if (isa == 0) {
                memcpy(first, l, sizeof l);
            }
            ck_assert_msg(same(first, l), "%s, n = %zu", isas[isa], sizes[s]);
        }
    }
    submodi_isa_choose(NULL);
    submodi_blas_use(true);
}
END_TEST

int main(void)
{
    int failed = 0;
    for (int blas = 1; blas >= 0; blas--) {
        submodi_blas_use(blas);
        failed |= RUN_TESTS("linalg", factors, solutions, grams, not_definite, nearly_singular,
                            badly_scaled, matrix_vector_products, called_from_several_threads,
                            called_after_a_fork, called_in_a_parallel_region);
    }
    return failed | RUN_TESTS("linalg", same_bits);
}
