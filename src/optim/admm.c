/* ADMM in graph form (Parikh and Boyd 2014): F(w) = g(x) + f(z) on one side, the graph z = A x on
 * the other. The projection of (c, d) onto the graph has x = (I + A'A)^-1 (c + A'd), by a Cholesky
 * factor. Cost of an iteration: both proxes, two products with A' and one with A, and 2 columns^2.
 */
#include <math.h>
#include <string.h>

#include "base/cholesky.h"
#include "base/error.h"
#include "base/memory.h"
#include "optim/split.h"

typedef struct state {
    double rho;
    double *factor;       /* of I + A'A: columns x columns, lower triangle, row by row */
    double *x, *ux, *new; /* v and u in R^columns; scratch */
    double *z, *uz, *v;   /* v and u in R^rows; scratch */
} state;

/* Fills the lower triangle with I + A'A, by loops of our own: their order is always the same. */
static void gram(const submod_map *map, double *gram)
{
    size_t n = map->columns;
    memset(gram, 0, n * n * sizeof *gram);
    for (size_t r = 0; r < map->rows; r++) {
        const double *row = map->matrix + r * n;
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j <= i; j++) {
                gram[i * n + j] += row[i] * row[j];
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        gram[i * n + i] += 1;
    }
}

/* x <- (L L')^-1 x */
static void solve(const double *factor, size_t n, double *x)
{
    submodi_cholesky_solve(factor, x, 1, n, n);
    for (size_t i = n; i-- > 0;) {
        x[i] /= factor[i * n + i];
        for (size_t j = 0; j < i; j++) {
            x[j] -= x[i] * factor[i * n + j];
        }
    }
}

static submod_status factorise(const submodi_split *s, state *a)
{
    gram(s->map, a->factor);
    return submodi_cholesky(a->factor, s->columns, s->columns)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC,
                              "%s: the numbers of A are too large: I + A'A must be positive "
                              "definite in doubles; scale A down",
                              s->who);
}

static submod_status begin(submodi_split *s, void *context, submod_work *work)
{
    state *a = context;
    size_t n = s->columns;
    if (!s->map->matrix) {
        return submodi_fail(SUBMOD_EINVAL, "%s: the map must be a matrix, which is factorised",
                            s->who);
    }
    double **wide[] = {&a->x, &a->ux, &a->new, NULL}, **tall[] = {&a->z, &a->uz, &a->v, NULL};
    a->factor = submodi_take(work, submodi_times(n, n), sizeof *a->factor);
    if (!a->factor || !submodi_take_vectors(work, n, wide) ||
        !submodi_take_vectors(work, s->rows, tall)) {
        return submodi_nomem(s->who);
    }
    a->rho = s->settings->step > 0 ? 1 / s->settings->step : 1;
    if (!isfinite(a->rho)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: step = %g is too small", s->who, s->settings->step);
    }
    memcpy(a->x, s->x, n * sizeof *a->x);
    memset(a->ux, 0, n * sizeof *a->ux);
    memset(a->uz, 0, s->rows * sizeof *a->uz);
    submod_status status = factorise(s, a);
    return status ? status : submodi_forward(s, a->x, a->z);
}

/* w = (at_g, at_f) <- the prox of F at v - u. */
static submod_status move_w(submodi_split *s, state *a)
{
    for (size_t i = 0; i < s->columns; i++) {
        a->new[i] = a->x[i] - a->ux[i];
    }
    for (size_t r = 0; r < s->rows; r++) {
        a->v[r] = a->z[r] - a->uz[r];
    }
    submod_status status = submodi_split_prox_g(s, a->new, a->rho);
    return status ? status : submodi_split_prox_f(s, a->v, a->rho);
}

/* (new, v) <- the projection of w + u; s->point is scratch. */
static submod_status project(submodi_split *s, state *a)
{
    for (size_t r = 0; r < s->rows; r++) {
        a->v[r] = s->at_f[r] + a->uz[r];
    }
    submod_status status = submodi_adjoint(s, a->v, a->new);
    if (status != SUBMOD_OK) {
        return status;
    }
    for (size_t i = 0; i < s->columns; i++) {
        a->new[i] += s->at_g[i] + a->ux[i];
    }
    solve(a->factor, s->columns, a->new);
    return submodi_forward(s, a->new, a->v);
}

/* u += w - v, v <- its new value, in one of the two spaces. Adds to the squares of the residuals.
 */
static void update(size_t n, const double *w, const double *new, double *v, double *u,
                   double squares[2])
{
    for (size_t i = 0; i < n; i++) {
        double apart = w[i] - new[i], moved = new[i] - v[i];
        squares[0] += apart * apart;
        squares[1] += moved * moved;
        u[i] += apart;
        v[i] = new[i];
    }
}

static submod_status step(submodi_split *s, void *context)
{
    state *a = context;
    double squares[2] = {0, 0};
    submod_status status = move_w(s, a);
    if (status == SUBMOD_OK && s->measured) {
        status = submodi_adjoint(s, s->of_f, a->new);
        status = status ? status : submodi_split_bound(s, a->new);
    }
    status = status ? status : project(s, a);
    if (status != SUBMOD_OK) {
        return status;
    }
    update(s->columns, s->at_g, a->new, a->x, a->ux, squares);
    update(s->rows, s->at_f, a->v, a->z, a->uz, squares);
    s->monitor.info.primal_residual = sqrt(squares[0]) + s->off_f + s->off_g;
    s->monitor.info.dual_residual = a->rho * (sqrt(squares[1]) + s->off_f) + s->weight_g * s->off_g;
    submodi_split_answer(s, a->x);
    return SUBMOD_OK;
}

static double length(const void *context)
{
    return 1 / ((const state *)context)->rho;
}

submod_status submod_admm(const submod_problem *f, const submod_map *map, const submod_problem *g,
                          double *x, const submod_split_settings *settings, submod_optim_info *info,
                          submod_work *work)
{
    static const submodi_split_method method = {"submod_admm", begin, step, length};
    state a = {0};
    return submodi_split_run(&method, &a, f, map, g, x, settings, info, work);
}
