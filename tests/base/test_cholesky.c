/* Cholesky factors against products in long double, of all small sizes and some larger ones, and
 * their bits in every instruction set of this machine. */
#include "base/cholesky.h"

#include <float.h>
#include <math.h>
#include <string.h>

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

START_TEST(same_bits)
{
    static const char *const isas[] = {"baseline", "avx2", "avx512"};
    static matrix a, l, first;
    submod_rng rng;
    submod_rng_seed(&rng, 35);
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
}
END_TEST

int main(void)
{
    return RUN_TESTS("cholesky", factors, solutions, grams, not_definite, nearly_singular,
                     badly_scaled, same_bits);
}
