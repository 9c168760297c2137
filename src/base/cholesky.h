/* Cholesky factors of dense matrices, the same bits on every machine. Matrices are row-major, rows
 * `stride` entries apart; of symmetric and triangular ones the lower triangle is read and written,
 * and nothing above the diagonal. Sizes may be 0. */
#ifndef SUBMODI_CHOLESKY_H
#define SUBMODI_CHOLESKY_H

#include <stdbool.h>
#include <stddef.h>

/* A = L L': a, n x n, becomes L. False if A is not positive definite in doubles, or overflows; the
 * triangle then holds anything. n^3 / 3 operations. */
bool submodi_cholesky(double *a, size_t n, size_t stride);

/* X L' = B: x, rows x n, holds B and becomes X. So a single row becomes L^-1 times it. */
void submodi_cholesky_solve(const double *l, double *x, size_t rows, size_t n, size_t stride);

/* c -= a a', c is n x n and a is n x k. */
void submodi_subtract_gram(double *c, const double *a, size_t n, size_t k, size_t stride);

#endif
