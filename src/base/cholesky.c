/* Cholesky factors by halves: with A = [P .; Q R] factor P, solve for the rows of Q, take Q Q' from
 * R, factor R. So nearly all of the work is in products of matrices that fit some cache. */
#include "base/cholesky.h"

#include <math.h>

#include "base/products_loops.h"

/* Up to this size entry by entry: measured, the best of 6 to 32 for n from 8 to 1000. */
enum { SMALL = 8 };

/* The first half, in whole lanes of the products. */
static size_t half(size_t n)
{
    return (n / 2 + 3) / 4 * 4;
}

static double short_dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

void submodi_cholesky_solve(const double *l, double *x, size_t rows, size_t n, size_t stride)
{
    if (n > SMALL) {
        size_t h = half(n);
        submodi_cholesky_solve(l, x, rows, h, stride);
        submodi_products()->subtract(x + h, x, l + h * stride, rows, n - h, h, stride);
        submodi_cholesky_solve(l + h * stride + h, x + h, rows, n - h, stride);
        return;
    }
    for (size_t i = 0; i < rows; i++) {
        double *row = x + i * stride;
        for (size_t j = 0; j < n; j++) {
            row[j] = (row[j] - short_dot(row, l + j * stride, j)) / l[j * stride + j];
        }
    }
}

void submodi_subtract_gram(double *c, const double *a, size_t n, size_t k, size_t stride)
{
    const submodi_products_loops *products = submodi_products();
    for (size_t i = 0; i < n; i += SMALL) {
        size_t end = i + SMALL < n ? i + SMALL : n;
        products->subtract(c + i * stride, a + i * stride, a, end - i, i, k, stride);
        for (size_t j = i; j < end; j++) { /* the square on the diagonal, column by column */
            products->subtract(c + j * stride + j, a + j * stride, a + j * stride, end - j, 1, k,
                               stride);
        }
    }
}

static bool small_cholesky(double *a, size_t n, size_t stride)
{
    for (size_t i = 0; i < n; i++) {
        double *row = a + i * stride;
        submodi_cholesky_solve(a, row, 1, i, stride);
        row[i] = sqrt(row[i] - short_dot(row, row, i));
        if (!(row[i] > 0) || !isfinite(row[i])) {
            return false;
        }
    }
    return true;
}

bool submodi_cholesky(double *a, size_t n, size_t stride)
{
    if (n <= SMALL) {
        return small_cholesky(a, n, stride);
    }
    size_t h = half(n);
    double *below = a + h * stride;
    if (!submodi_cholesky(a, h, stride)) {
        return false;
    }
    submodi_cholesky_solve(a, below, n - h, h, stride);
    submodi_subtract_gram(below + h, below, n - h, h, stride);
    return submodi_cholesky(below + h, n - h, stride);
}
