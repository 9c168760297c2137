/* A Cholesky factor that grows and shrinks: M = U'U for a symmetric positive definite M whose rows
 * and columns come and go, with two right-hand sides.
 *
 * Append: one triangular solve, O(k^2 / 2). Remove: Givens rotations, O(k^2). The rotations treat
 * the forward solutions U'\1 and U'\r like further columns of U, so these never have to be solved
 * for again. */
#ifndef SUBMODI_PROX_WOLFE_FACTOR_H
#define SUBMODI_PROX_WOLFE_FACTOR_H

#include <stdbool.h>

#include "base/memory.h"

typedef struct submodi_factor {
    size_t k;        /* order of M */
    size_t capacity; /* also the leading dimension of u */
    double *u;       /* row-major, upper triangle */
    double *ones;    /* U'\1 */
    double *rhs;     /* U'\r for the r last given */
    double *column;  /* U'\(new column), by submodi_factor_project */
} submodi_factor;

/* Makes room for order k, from work; the content stays. *f starts zeroed. false: no memory. */
bool submodi_factor_reserve(submodi_factor *f, size_t k, submod_work *work);

/* Examines a new row of M: column[0 .. k-1] and the diagonal entry. Returns the square of its
 * pivot, and leaves U'\column in f->column. */
double submodi_factor_project(submodi_factor *f, const double *column, double diagonal);
/* Appends the row examined last; r is its entry of the right-hand side. pivot2 > 0. */
void submodi_factor_append(submodi_factor *f, double pivot2, double r);
/* Removes row and column j. */
void submodi_factor_remove(submodi_factor *f, size_t j);

/* A new right-hand side r, k entries. */
void submodi_factor_set_rhs(submodi_factor *f, const double *r);
/* x = M \ (r + mu 1) with mu such that the entries of x sum to 0. */
void submodi_factor_direction(const submodi_factor *f, double *x);
/* x = U \ f->column = M \ (the column examined last). */
void submodi_factor_solve_column(const submodi_factor *f, double *x);

/* Factorises the k x k matrix whose upper triangle is in f->u; the right-hand side becomes 0.
 * false: not positive definite, and the factor is then unusable. */
bool submodi_factor_renew(submodi_factor *f);

#endif
