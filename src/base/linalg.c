/* Dense linear algebra: OpenBLAS and LAPACKE for large sizes, plain loops for small ones and where
 * the library is built without BLAS. */
#include "base/linalg.h"

#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#ifdef SUBMODI_BLAS
#include <cblas.h>
#include <lapacke.h>
#endif
#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/internal.h"
#include "base/sums.h"

/* ---- loops ---- */

enum { SHORT = 32 }; /* up to here a loop is faster than a call */

static double dot(const double *a, const double *b, size_t n)
{
    if (n > SHORT) {
        return submodi_sums()->dot(a, b, n);
    }
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static void solve_by_loops(const double *l, double *x, size_t rows, size_t n, size_t stride)
{
    for (size_t i = 0; i < rows; i++) {
        double *row = x + i * stride;
        for (size_t j = 0; j < n; j++) {
            row[j] = (row[j] - dot(row, l + j * stride, j)) / l[j * stride + j];
        }
    }
}

static void subtract_by_loops(double *c, const double *a, size_t n, size_t k, size_t stride)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            c[i * stride + j] -= dot(a + i * stride, a + j * stride, k);
        }
    }
}

static bool factor_by_loops(double *a, size_t n, size_t stride)
{
    for (size_t i = 0; i < n; i++) {
        double *row = a + i * stride;
        solve_by_loops(a, row, 1, i, stride);
        row[i] = sqrt(row[i] - dot(row, row, i));
        if (!(row[i] > 0) || !isfinite(row[i])) {
            return false;
        }
    }
    return true;
}

static void multiply_rows(const double *a, size_t m, size_t n, const double *x, double *y)
{
    const submodi_sums_loops *loops = submodi_sums();
    for (size_t j = 0; j < m; j++) {
        y[j] = loops->dot(a + j * n, x, n);
    }
}

/* A parallel region costs as much as 5,000 products, also with one thread. */
static void multiply_by_loops(const double *a, size_t m, size_t n, const double *x, double *y)
{
    int threads = submodi_threads_for(submodi_times(m, n) / 16);
    if (threads == 1) {
        multiply_rows(a, m, n, x, y);
        return;
    }
#pragma omp parallel for num_threads(threads)
    for (size_t j = 0; j < m; j++) {
        multiply_rows(a + j * n, 1, n, x, y + j);
    }
}

/* ---- OpenBLAS ---- */

static atomic_bool loops_only;

void submodi_blas_use(bool use)
{
    atomic_store(&loops_only, !use);
}

bool submodi_blas_in_use(void)
{
#ifdef SUBMODI_BLAS
    return !atomic_load_explicit(&loops_only, memory_order_relaxed);
#else
    return false;
#endif
}

#ifdef SUBMODI_BLAS
/* Numbers of multiplications at which OpenBLAS became faster than the loops, measured with AVX-512
 * (docs/performance.md); large matrix-vector products wait for memory, and the loops win again. */
static const double factor_from = 80, solve_row_from = 256, solve_from = 100, gram_from = 100,
                    matvec_from = 128, matvec_to = 65536;
static const double threads_from = 1e6; /* less work is not worth a second thread */

/* Whether to call OpenBLAS: the problem is large enough, and its sizes are ints. */
static bool worth_blas(double multiplications, double from, size_t longest)
{
    return multiplications >= from && longest <= INT_MAX && submodi_blas_in_use();
}

/* OpenBLAS has one number of threads for the process. Sets it to this call's number, which is 1 for
 * little work and within a parallel region, and returns the number to restore. */
static int set_threads(double multiplications)
{
    int before = openblas_get_num_threads();
    int threads = multiplications < threads_from ? 1 : submod_get_num_threads();
#ifdef _OPENMP
    threads = omp_in_parallel() ? 1 : threads;
#endif
    if (threads != before) {
        openblas_set_num_threads(threads);
    }
    return before;
}

static void restore_threads(int before)
{
    if (openblas_get_num_threads() != before) {
        openblas_set_num_threads(before);
    }
}

/* A row-major lower triangle is a column-major upper one. LAPACK lets NaN and Inf pass. */
static bool factor_by_blas(double *a, size_t n, size_t stride, double work)
{
    int threads = set_threads(work);
    bool good = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (int)n, a, (int)stride) == 0;
    restore_threads(threads);
    for (size_t i = 0; good && i < n; i++) {
        good = a[i * stride + i] > 0 && isfinite(a[i * stride + i]);
    }
    return good;
}

static void solve_by_blas(const double *l, double *x, size_t rows, size_t n, size_t stride,
                          double work)
{
    int threads = set_threads(work);
    int s = (int)stride;
    if (rows == 1) {
        cblas_dtrsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)n, l, s, x, 1);
    } else {
        cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)rows,
                    (int)n, 1, l, s, x, s);
    }
    restore_threads(threads);
}

static void subtract_by_blas(double *c, const double *a, size_t n, size_t k, size_t stride,
                             double work)
{
    int threads = set_threads(work);
    int s = (int)stride;
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, (int)n, (int)k, -1, a, s, 1, c, s);
    restore_threads(threads);
}

static void multiply_by_blas(const double *a, size_t m, size_t n, const double *x, double *y,
                             double work)
{
    int threads = set_threads(work);
    cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)m, (int)n, 1, a, (int)n, x, 1, 0, y, 1);
    restore_threads(threads);
}
#endif

/* ---- the choice ---- */

bool submodi_cholesky(double *a, size_t n, size_t stride)
{
#ifdef SUBMODI_BLAS
    double work = (double)n * (double)n * (double)n / 6;
    if (worth_blas(work, factor_from, stride)) {
        return factor_by_blas(a, n, stride, work);
    }
#endif
    return factor_by_loops(a, n, stride);
}

void submodi_cholesky_solve(const double *l, double *x, size_t rows, size_t n, size_t stride)
{
#ifdef SUBMODI_BLAS
    double work = (double)rows * (double)n * (double)n / 2;
    if (worth_blas(work, rows == 1 ? solve_row_from : solve_from, rows > stride ? rows : stride)) {
        solve_by_blas(l, x, rows, n, stride, work);
        return;
    }
#endif
    solve_by_loops(l, x, rows, n, stride);
}

void submodi_subtract_gram(double *c, const double *a, size_t n, size_t k, size_t stride)
{
#ifdef SUBMODI_BLAS
    double work = (double)n * (double)n * (double)k / 2;
    if (worth_blas(work, gram_from, n > stride ? n : stride)) {
        subtract_by_blas(c, a, n, k, stride, work);
        return;
    }
#endif
    subtract_by_loops(c, a, n, k, stride);
}

void submodi_matvec(const double *a, size_t m, size_t n, const double *x, double *y)
{
#ifdef SUBMODI_BLAS
    double work = (double)m * (double)n;
    if (worth_blas(work, matvec_from, m > n ? m : n) && work <= matvec_to) {
        multiply_by_blas(a, m, n, x, y, work);
        return;
    }
#endif
    multiply_by_loops(a, m, n, x, y);
}
