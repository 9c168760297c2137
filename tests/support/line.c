/* The line by dynamic programming. Let D_i(v) be the derivative of the least cost of u_0 .. u_i
 * with u_i = v. It is piecewise linear and rises. For u_i+1 it is clamped to [-out_i, in_i]; it
 * reaches these bounds at low_i and high_i. Step i adds lambda (v - x_i) to D, drops the knots
 * outside [low_i, high_i] and puts one at each end. On the way back, u_i is u_i+1 clamped to
 * [low_i, high_i].
 *
 * A piece of D that was clamped to the constant c after entry j - 1 is now
 * c + sum over j .. i of lambda (v - x). So j and c are all there is to keep. */
#include "line.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct piece {
    double constant;
    size_t from;
} piece;

typedef struct knot {
    double at;
    piece right; /* the piece right of it */
} knot;

typedef struct program {
    double lambda;
    double *hi, *lo; /* n + 1: sums of x before each entry, and what they round away */
    knot *knots;     /* 2 n + 2 */
    size_t first, last;
    piece left; /* the piece left of the first knot */
} program;

/* Sum of x over the entries from .. i. */
static double sum_of(const program *p, size_t from, size_t i)
{
    return (p->hi[i + 1] - p->hi[from]) + (p->lo[i + 1] - p->lo[from]);
}

/* Piece q of D_i at v. */
static double height(const program *p, piece q, size_t i, double v)
{
    return p->lambda * ((double)(i + 1 - q.from) * v - sum_of(p, q.from, i)) + q.constant;
}

/* Where piece q of D_i reaches d. */
static double root(const program *p, piece q, size_t i, double d)
{
    return (sum_of(p, q.from, i) + (d - q.constant) / p->lambda) / (double)(i + 1 - q.from);
}

/* Adds x to the sum before entry i. */
static void add(program *p, size_t i, double x)
{
    double sum = p->hi[i] + x;
    double rest = sum - p->hi[i];
    p->hi[i + 1] = sum;
    p->lo[i + 1] = p->lo[i] + ((p->hi[i] - (sum - rest)) + (x - rest));
}

static void step(program *p, size_t i, double bottom, double top, double *low, double *high)
{
    knot *k = p->knots;
    while (p->first < p->last && height(p, p->left, i, k[p->first].at) <= bottom) {
        p->left = k[p->first++].right;
    }
    piece right = p->first < p->last ? k[p->last - 1].right : p->left;
    while (p->first < p->last && height(p, right, i, k[p->last - 1].at) >= top) {
        p->last--;
        right = p->first < p->last ? k[p->last - 1].right : p->left;
    }
    *low = root(p, p->left, i, bottom);
    *high = fmax(*low, root(p, right, i, top));
    k[--p->first] = (knot){*low, p->left};
    k[p->last++] = (knot){*high, {top, i + 1}};
    p->left = (piece){bottom, i + 1};
}

void line_by_programming(size_t n, const double *x, const double *out, const double *in,
                         double lambda, double *u)
{
    double *low = malloc(n * sizeof *low);
    double *high = malloc(n * sizeof *high);
    program p = {.lambda = lambda, .first = n + 1, .last = n + 1};
    p.hi = calloc(n + 1, sizeof *p.hi);
    p.lo = calloc(n + 1, sizeof *p.lo);
    p.knots = malloc((2 * n + 2) * sizeof *p.knots);
    if (!low || !high || !p.hi || !p.lo || !p.knots) {
        fputs("line_by_programming: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    for (size_t i = 0; i < n; i++) {
        add(&p, i, x[i]);
        step(&p, i, i + 1 < n ? -out[i] : 0, i + 1 < n ? in[i] : 0, &low[i], &high[i]);
    }
    double v = low[n - 1]; /* nothing follows the last entry: D = 0 */
    for (size_t i = n; i-- > 0;) {
        v = fmin(fmax(v, low[i]), high[i]);
        u[i] = v;
    }
    free(low);
    free(high);
    free(p.hi);
    free(p.lo);
    free(p.knots);
}
