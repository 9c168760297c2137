/* Sums in a fixed order: lanes that SIMD can add, then the lanes in halves, then the rest. */
#include "base/sums_loops.h"

#include <math.h>

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

typedef double term(double a, double b, double t);

/* The sum of of(a, b, t) over all entries; the compiler inlines `of`. */
static inline double sum(term *of, const double *a, const double *b, const double *t, size_t n)
{
    double lane[LANES] = {0};
    double rest = 0;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (size_t l = 0; l < LANES; l++) {
            lane[l] += of(a[i + l], b[i + l], t[i + l]);
        }
    }
    double total = i ? sum_of(lane) : 0;
    for (; i < n; i++) {
        rest += of(a[i], b[i], t[i]);
    }
    return total + rest;
}

static inline double product(double a, double b, double t)
{
    (void)t;
    return a * b;
}

static double dot(const double *a, const double *b, size_t n)
{
    return sum(product, a, b, b, n);
}

static inline double size(double a, double b, double t)
{
    (void)b, (void)t;
    return fabs(a);
}

static double absolute(const double *a, size_t n)
{
    return sum(size, a, a, a, n);
}

static inline double positive_difference(double a, double b, double t)
{
    (void)t;
    return a > b ? a - b : 0;
}

static double excess(const double *a, const double *b, size_t n)
{
    return sum(positive_difference, a, b, b, n);
}

static inline double square(double a, double b, double t)
{
    (void)t;
    return (a - b) * (a - b);
}

static double squared_distance(const double *a, const double *b, size_t n)
{
    return sum(square, a, b, b, n);
}

static inline double difference_times(double a, double b, double t)
{
    return (a - b) * t;
}

static double difference_dot(const double *a, const double *b, const double *t, size_t n)
{
    return sum(difference_times, a, b, t, n);
}

static inline double sizes_times(double a, double b, double t)
{
    return (fabs(a) + fabs(b)) * fabs(t);
}

static double sizes_dot(const double *a, const double *b, const double *t, size_t n)
{
    return sum(sizes_times, a, b, t, n);
}

static void add_multiple(double *restrict to, double factor, const double *restrict a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[i] += factor * a[i];
    }
}

const submodi_sums_loops SUBMODI_TABLE(submodi_sums) = {.dot = dot,
                                                        .absolute = absolute,
                                                        .excess = excess,
                                                        .squared_distance = squared_distance,
                                                        .difference_dot = difference_dot,
                                                        .sizes_dot = sizes_dot,
                                                        .add_multiple = add_multiple};
