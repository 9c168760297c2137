/* Dense linear algebra in doubles: Cholesky factors and matrix-vector products.
 *
 * Uses OpenBLAS and LAPACKE for sizes at which they are faster. Their last bits may depend on the
 * CPU, the version and, from 1e6 multiplications on, the number of threads. Other sizes, and all
 * with -DSUBMOD_BLAS=OFF, use loops with the same bits on every machine. Matrices are row-major,
 * rows `stride` entries apart. Only the lower triangle of a symmetric or triangular matrix is read
 * and written. Sizes may be 0. */
#ifndef SUBMODI_LINALG_H
#define SUBMODI_LINALG_H

#include <stdbool.h>
#include <stddef.h>

/* Factors A = L L' in place; a is n x n. Returns false if A is not positive definite in doubles, or
 * overflows; the triangle's contents are then unspecified. n^3 / 3 operations. */
bool submodi_cholesky(double *a, size_t n, size_t stride);

/* Solves X L' = B in place; x is rows x n. For a single row b this is L^-1 b. */
void submodi_cholesky_solve(const double *l, double *x, size_t rows, size_t n, size_t stride);

/* Subtracts a a' from c, which is n x n; a is n x k. */
void submodi_subtract_gram(double *c, const double *a, size_t n, size_t k, size_t stride);

/* Computes y = A x for a dense m x n matrix. */
void submodi_matvec(const double *a, size_t m, size_t n, const double *x, double *y);

/* For tests: false makes large problems use the loops, too; true undoes this. */
void submodi_blas_use(bool use);

#endif
