/* The loops of vertex_loops.h, compiled once for each instruction set. The order of the additions
 * is the same in all of them.
 */
#include "prox/wolfe/vertex_loops.h"

#include <string.h>

/* A sum has four lanes; entry i goes to lane i % 4. The lanes fill one register or two, as the
 * machine has them. Compilers do not find this by themselves, and the order of their reductions
 * would depend on the register width. Eight lanes for eight sums would need more registers than
 * AVX2 has. */
enum { LANES = 4 };
#if defined(__AVX__)
enum { PARTS = 1 };
typedef double part __attribute__((vector_size(32)));
#else
enum { PARTS = 2 };
typedef double part __attribute__((vector_size(16)));
#endif
enum { WIDTH = LANES / PARTS };

static inline part load(const double *x)
{
    part p;
    memcpy(&p, x, sizeof p);
    return p;
}

/* Adds up the lanes, then the entries after the last full four. */
static double finish(const part *sum, const double *row, const double *a, size_t begin, size_t n)
{
    double lane[LANES];
    memcpy(lane, sum, sizeof lane);
    double total = (lane[0] + lane[1]) + (lane[2] + lane[3]);
    for (size_t i = begin; i < n; i++) {
        total += row[i] * a[i];
    }
    return total;
}

static void dots(const double *const row[4], const double *a, const double *b, size_t n,
                 double *with_a, double *with_b)
{
    part sum_a[4][PARTS] = {0};
    part sum_b[4][PARTS] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (size_t p = 0; p < PARTS; p++) {
            part of_a = load(a + i + p * WIDTH);
            part of_b = load(b + i + p * WIDTH);
            for (size_t r = 0; r < 4; r++) {
                part x = load(row[r] + i + p * WIDTH);
                sum_a[r][p] += x * of_a;
                sum_b[r][p] += x * of_b;
            }
        }
    }
    for (size_t r = 0; r < 4; r++) {
        with_a[r] = finish(sum_a[r], row[r], a, i, n);
        with_b[r] = finish(sum_b[r], row[r], b, i, n);
    }
}

static void add(double *to, const double *const row[4], const double *weight, size_t n)
{
    const double *r0 = row[0];
    const double *r1 = row[1];
    const double *r2 = row[2];
    const double *r3 = row[3];
    double w0 = weight[0], w1 = weight[1], w2 = weight[2], w3 = weight[3];
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        to[i] += (w0 * r0[i] + w1 * r1[i]) + (w2 * r2[i] + w3 * r3[i]);
    }
}

const submodi_vertex_loops SUBMODI_TABLE(submodi_vertex) = {.dots = dots, .add = add};
