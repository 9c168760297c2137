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

enum { SHORT = 32 }; /* up to this size a loop is faster than a call */

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

typedef struct product {
    const double *a, *x;
    size_t n;
    double *y;
} product;

static void multiply_rows(void *of, size_t part, size_t begin, size_t end)
{
    const product *p = of;
    (void)part;
    for (size_t j = begin; j < end; j++) {
        p->y[j] = submodi_sums()->dot(p->a + j * p->n, p->x, p->n);
    }
}

/* ---- OpenBLAS ---- */

static atomic_bool loops_only;

void submodi_blas_use(bool use)
{
    atomic_store(&loops_only, !use);
}

#ifdef SUBMODI_BLAS
/* Numbers of multiplications at which OpenBLAS became faster than the loops, measured with AVX-512
 * (docs/performance.md); large matrix-vector products wait for memory, and the loops win again. */
static const double factor_from = 80, solve_row_from = 256, solve_from = 100, gram_from = 100,
                    matvec_from = 128, matvec_to = 65536;
static const double threads_from = 1e6; /* less work is not worth a second thread */

/* Returns whether to use OpenBLAS: the problem is large enough and its sizes fit into ints. If so,
 * sets OpenBLAS's process-wide number of threads, to 1 for little work and within a parallel
 * region. *before receives the old number, for end_blas. */
static bool begin_blas(double multiplications, double from, size_t longest, int *before)
{
    if (multiplications < from || longest > INT_MAX || atomic_load(&loops_only)) {
        return false;
    }
    int threads = multiplications < threads_from ? 1 : submod_get_num_threads();
#ifdef _OPENMP
    threads = omp_in_parallel() ? 1 : threads;
#endif
    *before = openblas_get_num_threads();
    if (threads != *before) {
        openblas_set_num_threads(threads);
    }
    return true;
}

static void end_blas(int before)
{
    if (openblas_get_num_threads() != before) {
        openblas_set_num_threads(before);
    }
}
#endif

/* ---- the operations: by OpenBLAS where it is faster, else by loops ---- */

bool submodi_cholesky(double *a, size_t n, size_t stride)
{
#ifdef SUBMODI_BLAS
    int before;
    if (begin_blas((double)n * (double)n * (double)n / 6, factor_from, stride, &before)) {
        /* A row-major lower triangle is a column-major upper one. LAPACK lets NaN and Inf pass. */
        bool good = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (int)n, a, (int)stride) == 0;
        end_blas(before);
        for (size_t i = 0; good && i < n; i++) {
            good = a[i * stride + i] > 0 && isfinite(a[i * stride + i]);
        }
        return good;
    }
#endif
    return factor_by_loops(a, n, stride);
}

void submodi_cholesky_solve(const double *l, double *x, size_t rows, size_t n, size_t stride)
{
#ifdef SUBMODI_BLAS
    int before, s = (int)stride;
    if (begin_blas((double)rows * (double)n * (double)n / 2,
                   rows == 1 ? solve_row_from : solve_from, rows > stride ? rows : stride,
                   &before)) {
        if (rows == 1) {
            cblas_dtrsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)n, l, s, x, 1);
        } else {
            cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)rows,
                        (int)n, 1, l, s, x, s);
        }
        end_blas(before);
        return;
    }
#endif
    solve_by_loops(l, x, rows, n, stride);
}

void submodi_subtract_gram(double *c, const double *a, size_t n, size_t k, size_t stride)
{
#ifdef SUBMODI_BLAS
    int before, s = (int)stride;
    if (begin_blas((double)n * (double)n * (double)k / 2, gram_from, n > stride ? n : stride,
                   &before)) {
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, (int)n, (int)k, -1, a, s, 1, c, s);
        end_blas(before);
        return;
    }
#endif
    subtract_by_loops(c, a, n, k, stride);
}

void submodi_matvec(const double *a, size_t m, size_t n, const double *x, double *y)
{
#ifdef SUBMODI_BLAS
    int before;
    double work = (double)m * (double)n;
    if (work <= matvec_to && begin_blas(work, matvec_from, m > n ? m : n, &before)) {
        cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)m, (int)n, 1, a, (int)n, x, 1, 0, y, 1);
        end_blas(before);
        return;
    }
#endif
    product p = {a, x, n, y};
    submodi_run_parts((size_t)submodi_threads_for(submodi_times(m, n) / 16), m, multiply_rows, &p);
}
