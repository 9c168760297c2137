/* Sums in a fixed order: by lanes, as SIMD does, then over the lanes by halves, then over the
 * rest. */
#include "base/sums.h"

#include <math.h>
#include <string.h>

/* Entry i of a sum goes to lane i % LANES. With fewer lanes gcc unrolls the inner loop before it
 * can vectorise it. The last n % LANES entries are added up one after the other. */
enum { LANES = 32 };

/* Adds the lanes in halves, which registers of any width can do. */
static double sum_of(double *lane)
{
    for (size_t half = LANES / 2; half > 0; half /= 2) {
        for (size_t l = 0; l < half; l++) {
            lane[l] += lane[l + half];
        }
    }
    return lane[0];
}

/* Defines the sum of term(j) over all entries j. */
#define DEFINE_SUM(name, arguments, term) \
    static double name arguments \
    { \
        double lane[LANES] = {0}, rest = 0; \
        size_t i = 0; \
        for (; i + LANES <= n; i += LANES) { \
            for (size_t l = 0, j = i; l < LANES; l++, j++) { \
                lane[l] += (term); \
            } \
        } \
        double total = i ? sum_of(lane) : 0; \
        for (size_t j = i; j < n; j++) { \
            rest += (term); \
        } \
        return total + rest; \
    }

DEFINE_SUM(dot, (const double *a, const double *b, size_t n), a[j] * b[j])
DEFINE_SUM(absolute, (const double *a, size_t n), fabs(a[j]))
DEFINE_SUM(squared_distance, (const double *a, const double *b, size_t n),
           (a[j] - b[j]) * (a[j] - b[j]))
DEFINE_SUM(difference_dot, (const double *a, const double *b, const double *t, size_t n),
           (a[j] - b[j]) * t[j])
DEFINE_SUM(sizes_dot, (const double *a, const double *b, const double *t, size_t n),
           (fabs(a[j]) + fabs(b[j])) * fabs(t[j]))

static void add_multiple(double *restrict to, double factor, const double *restrict a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[i] += factor * a[i];
    }
}

/* ---- sums of four lanes: entry i goes to lane i % 4 ---- */

/* A vector type that the compiler maps to one or two registers. Compilers do not vectorise these
 * loops by themselves, and the order of their reductions would depend on the register width. */
enum { FOUR = 4 };
typedef double lanes __attribute__((vector_size(FOUR * sizeof(double))));

/* Four entries of an array. */
typedef double unaligned_lanes
    __attribute__((vector_size(FOUR * sizeof(double)), aligned(sizeof(double)), may_alias));
#define LOAD(x) (*(const unaligned_lanes *)(const void *)(x))

/* Adds up the lanes, then the entries after the last full four. */
static double finish_row(const lanes *lane, const double *row, const double *a, size_t begin,
                         size_t n)
{
    lanes sum = *lane;
    double total = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    for (size_t i = begin; i < n; i++) {
        total += row[i] * a[i];
    }
    return total;
}

/* Computes eight sums at a time. More lanes would need more registers than AVX2 has. */
static void dots_of_rows(const double *const row[4], const double *a, const double *b, size_t n,
                         double *with_a, double *with_b)
{
    lanes sum_a[4] = {{0}}, sum_b[4] = {{0}};
    size_t i = 0;
    for (; i + FOUR <= n; i += FOUR) {
        lanes of_a = LOAD(a + i), of_b = LOAD(b + i);
        for (size_t r = 0; r < 4; r++) {
            lanes x = LOAD(row[r] + i);
            sum_a[r] += x * of_a;
            sum_b[r] += x * of_b;
        }
    }
    for (size_t r = 0; r < 4; r++) {
        with_a[r] = finish_row(&sum_a[r], row[r], a, i, n);
        with_b[r] = finish_row(&sum_b[r], row[r], b, i, n);
    }
}

static void add_rows(double *to, const double *const row[4], const double *weight, size_t n)
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

const submodi_sums_loops SUBMODI_TABLE(submodi_sums) = {.dot = dot,
                                                        .absolute = absolute,
                                                        .squared_distance = squared_distance,
                                                        .difference_dot = difference_dot,
                                                        .sizes_dot = sizes_dot,
                                                        .add_multiple = add_multiple,
                                                        .dots_of_rows = dots_of_rows,
                                                        .add_rows = add_rows};
