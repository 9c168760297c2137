/* The Cholesky factor of factor.h: triangular solves, Givens rotations, factorisation. Append
 * O(k^2 / 2), remove O(k^2), renew O(k^3 / 3).
 */
#include "prox/wolfe/factor.h"
#include "base/sums_loops.h"

#include <math.h>
#include <string.h>

bool submodi_factor_reserve(submodi_factor *f, size_t k, submod_work *work)
{
    if (k <= f->capacity) {
        return true;
    }
    /* Outgrown arrays stay in the workspace until the end: at most as much again. */
    size_t capacity = 2 * f->capacity > k ? 2 * f->capacity : k;
    submodi_factor new = {.k = f->k, .capacity = capacity};
    new.u = submodi_take(work, submodi_times(capacity, capacity), sizeof *new.u);
    new.ones = submodi_take(work, capacity, sizeof *new.ones);
    new.rhs = submodi_take(work, capacity, sizeof *new.rhs);
    new.column = submodi_take(work, capacity, sizeof *new.column);
    if (!new.u || !new.ones || !new.rhs || !new.column) {
        return false;
    }
    for (size_t i = 0; i < f->k; i++) {
        memcpy(new.u + i *capacity + i, f->u + i * f->capacity + i, (f->k - i) * sizeof *new.u);
    }
    if (f->k) {
        memcpy(new.ones, f->ones, f->k * sizeof *new.ones);
        memcpy(new.rhs, f->rhs, f->k * sizeof *new.rhs);
    }
    *f = new;
    return true;
}

/* x = U' \ x */
static void solve_forward(const submodi_factor *f, double *x)
{
    for (size_t i = 0; i < f->k; i++) {
        const double *row = f->u + i * f->capacity;
        x[i] /= row[i];
        submodi_sums()->add_multiple(x + i + 1, -x[i], row + i + 1, f->k - i - 1);
    }
}

/* x = U \ x */
static void solve_backward(const submodi_factor *f, double *x)
{
    for (size_t i = f->k; i-- > 0;) {
        const double *row = f->u + i * f->capacity;
        x[i] = (x[i] - submodi_sums()->dot(row + i + 1, x + i + 1, f->k - i - 1)) / row[i];
    }
}

double submodi_factor_project(submodi_factor *f, const double *column, double diagonal)
{
    if (f->k) {
        memcpy(f->column, column, f->k * sizeof *column);
        solve_forward(f, f->column);
    }
    return diagonal - submodi_sums()->dot(f->column, f->column, f->k);
}

void submodi_factor_append(submodi_factor *f, double pivot2, double r)
{
    size_t k = f->k;
    double pivot = sqrt(pivot2);
    for (size_t i = 0; i < k; i++) {
        f->u[i * f->capacity + k] = f->column[i];
    }
    f->u[k * f->capacity + k] = pivot;
    f->ones[k] = (1 - submodi_sums()->dot(f->column, f->ones, k)) / pivot;
    f->rhs[k] = (r - submodi_sums()->dot(f->column, f->rhs, k)) / pivot;
    f->k++;
}

static void rotate(double *a, double *b, size_t n, double c, double s)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        double old = a[i];
        a[i] = c * old + s * b[i];
        b[i] = c * b[i] - s * old;
    }
}

/* Without column j, each row below row j has one entry below the diagonal. Rotations of
 * neighbouring rows make it zero. */
void submodi_factor_remove(submodi_factor *f, size_t j)
{
    size_t last = --f->k; /* the order of M from now on */
    for (size_t i = 0; i <= last; i++) {
        double *row = f->u + i * f->capacity;
        size_t from = i > j + 1 ? i : j + 1; /* left of the diagonal there is nothing to move */
        memmove(row + from - 1, row + from, (last + 1 - from) * sizeof *row);
    }
    for (size_t i = j; i < last; i++) {
        double *upper = f->u + i * f->capacity;
        double *lower = upper + f->capacity;
        double length = hypot(upper[i], lower[i]);
        double c = upper[i] / length;
        double s = lower[i] / length;
        upper[i] = length;
        rotate(upper + i + 1, lower + i + 1, last - i - 1, c, s);
        rotate(f->ones + i, f->ones + i + 1, 1, c, s);
        rotate(f->rhs + i, f->rhs + i + 1, 1, c, s);
    }
}

void submodi_factor_set_rhs(submodi_factor *f, const double *r)
{
    memcpy(f->rhs, r, f->k * sizeof *r);
    solve_forward(f, f->rhs);
}

/* The sum of the entries of M \ (r + mu 1) is <U'\1, U'\r> + mu <U'\1, U'\1>. */
void submodi_factor_direction(const submodi_factor *f, double *x)
{
    double mu =
        -submodi_sums()->dot(f->ones, f->rhs, f->k) / submodi_sums()->dot(f->ones, f->ones, f->k);
    for (size_t i = 0; i < f->k; i++) {
        x[i] = f->rhs[i] + mu * f->ones[i];
    }
    solve_backward(f, x);
}

void submodi_factor_solve_column(const submodi_factor *f, double *x)
{
    memcpy(x, f->column, f->k * sizeof *x);
    solve_backward(f, x);
}

/* Cholesky factorisation in place: finishes row i, then subtracts it from the rows below. */
static bool factorise(submodi_factor *f)
{
    for (size_t i = 0; i < f->k; i++) {
        double *row = f->u + i * f->capacity;
        if (!(row[i] > 0)) {
            return false;
        }
        row[i] = sqrt(row[i]);
        for (size_t j = i + 1; j < f->k; j++) {
            row[j] /= row[i];
        }
        for (size_t j = i + 1; j < f->k; j++) {
            submodi_sums()->add_multiple(f->u + j * f->capacity + j, -row[j], row + j, f->k - j);
        }
    }
    return true;
}

bool submodi_factor_renew(submodi_factor *f)
{
    if (!factorise(f)) {
        return false;
    }
    for (size_t i = 0; i < f->k; i++) {
        f->ones[i] = 1;
        f->rhs[i] = 0;
    }
    solve_forward(f, f->ones);
    return true;
}
