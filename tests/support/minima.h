/* Convex problems with known minima, at any scale, and callbacks that fail on request. */
#ifndef SUBMOD_TESTS_MINIMA_H
#define SUBMOD_TESTS_MINIMA_H

#include <stdbool.h>
#include <submod.h>

enum { MINIMA_SIZE = 6, MINIMA_PLANES = 8 };

/* How a callback fails. */
typedef enum fault_kind {
    FAULT_STATUS,   /* returns status */
    FAULT_VALUE,    /* writes number in place of its value (a prox, of its first entry) */
    FAULT_GRADIENT, /* writes number in place of the last entry of its vector */
    FAULT_CANCEL,   /* sets the cancel flag */
    FAULT_KINDS
} fault_kind;

/* Counts the calls of all callbacks; from call number `at` on each call fails. */
typedef struct fault {
    size_t calls, at; /* at = SIZE_MAX means never */
    fault_kind kind;
    int status;
    double number;
    volatile int cancelled; /* for a callback of submod_set_poll */
} fault;

/* Returns whether a call has failed in a way that must end the run with an error. */
bool fault_ends_run(const fault *t);

/* height + sum of w_i |x_i - c_i| + q_i/2 (x_i - e_i)^2 with w, q, height >= 0. With m minibatches,
 * minibatch k has m times the terms i = k, k + m, .. */
typedef struct separable {
    size_t n;
    double w[MINIMA_SIZE], c[MINIMA_SIZE], q[MINIMA_SIZE], e[MINIMA_SIZE], height;
    size_t batches;
    fault *fault; /* may be NULL */
} separable;

/* Returns the problem with subgradient, value, prox of the w_i |x_i - c_i|, and, if split, smooth.
 */
submod_problem separable_problem(separable *s, bool split);
/* Returns the minimum of the function plus decay/2 |x|^2, and in *slack a bound on its error. */
long double separable_minimum(const separable *s, double decay, long double *slack);
/* Returns the value at x, and in *size the sum of the absolute values of all terms. */
long double separable_value(const separable *s, double decay, const double *x, long double *size);

/* max over j of <a_j, x> + b_j, where all planes meet over the minimiser `best`, and their mean
 * slope is -decay best. All numbers are exact. */
typedef struct corner {
    size_t n;
    double a[MINIMA_PLANES][MINIMA_SIZE], b[MINIMA_PLANES], best[MINIMA_SIZE], height;
    fault *fault; /* may be NULL */
} corner;

/* Draws a corner. slope is the unit of the slopes. length is the unit of the minimiser if decay = 0
 * (else that is slope / decay). All three are powers of 2. draw(ctx, k) returns a number below
 * k. */
void corner_draw(corner *t, size_t n, double slope, double length, double decay,
                 size_t (*draw)(void *ctx, size_t k), void *ctx);
/* Returns the problem with only a subgradient callback, which uses the first highest plane. */
submod_problem corner_problem(corner *t);
long double corner_minimum(const corner *t, double decay);
long double corner_value(const corner *t, double decay, const double *x, long double *size);

/* Minimise f(A x) + g(x) + decay/2 |x|^2 with f = sum of w_r |z_r - c_r|, g = sum of v_i |x_i|,
 * made from its dual solution. All numbers are exact. */
typedef struct regression {
    size_t rows, columns;
    double matrix[MINIMA_SIZE * MINIMA_SIZE], best[MINIMA_SIZE];
    separable f, g;
    long double minimum;
} regression;

/* Draws a regression as corner_draw does. scale is the unit of w and v; decay > 0. */
void regression_draw(regression *t, size_t rows, size_t columns, double scale, double decay,
                     size_t (*draw)(void *ctx, size_t k), void *ctx);
submod_map regression_map(const regression *t);

#endif
