/* A B' in tiles of TALL x WIDE dot products, whose sums stay in registers: 12 sums, 3 rows of B and
 * one of A are what AVX2 has registers for. */
#include "base/products_loops.h"

#include <string.h>

enum { LANES = 4, TALL = 4, WIDE = 3 };

/* Entry l of a dot product goes to lane l % LANES, the last k % LANES are added up by themselves.
 * The compiler makes of it what the instruction set has. */
typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));

/* The tile's share of C -= A B'. Inlined with `tall` and `wide` constant. */
static inline __attribute__((always_inline)) void
tile(double *c, const double *a, const double *b, size_t k, size_t stride, size_t tall, size_t wide)
{
    lanes sum[TALL][WIDE] = {{{0}}};
    size_t whole = k - k % LANES;
    for (size_t l = 0; l < whole; l += LANES) {
        for (size_t i = 0; i < tall; i++) {
            for (size_t j = 0; j < wide; j++) {
                lanes left, right;
                memcpy(&left, a + i * stride + l, sizeof left);
                memcpy(&right, b + j * stride + l, sizeof right);
                sum[i][j] += left * right;
            }
        }
    }
    for (size_t i = 0; i < tall; i++) {
        for (size_t j = 0; j < wide; j++) {
            double rest = 0;
            for (size_t l = whole; l < k; l++) {
                rest += a[i * stride + l] * b[j * stride + l];
            }
            lanes s = sum[i][j];
            c[i * stride + j] -= (s[0] + s[2]) + (s[1] + s[3]) + rest;
        }
    }
}

/* `tall` rows of C, all columns. */
static inline __attribute__((always_inline)) void strip(double *c, const double *a, const double *b,
                                                        size_t columns, size_t k, size_t stride,
                                                        size_t tall)
{
    size_t j = 0;
    for (; j + WIDE <= columns; j += WIDE) {
        tile(c + j, a, b + j * stride, k, stride, tall, WIDE);
    }
    for (; j < columns; j++) {
        tile(c + j, a, b + j * stride, k, stride, tall, 1);
    }
}

static void subtract(double *c, const double *a, const double *b, size_t rows, size_t columns,
                     size_t k, size_t stride)
{
    size_t i = 0;
    for (; i + TALL <= rows; i += TALL) {
        strip(c + i * stride, a + i * stride, b, columns, k, stride, TALL);
    }
    for (; i < rows; i++) {
        strip(c + i * stride, a + i * stride, b, columns, k, stride, 1);
    }
}

const submodi_products_loops SUBMODI_TABLE(submodi_products) = {.subtract = subtract};
