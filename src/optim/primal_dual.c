/* Chambolle and Pock 2011. By Moreau's identity the prox of sigma f* at v is
 * v - sigma u, with u the prox of f at v / sigma with weight sigma: y is the subgradient of f at u.
 * Cost of an iteration: both proxes, a product with A and one with A'. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "optim/split.h"

typedef struct state {
    double tau, sigma;
    double *x, *back;               /* x, A'y: columns numbers */
    double *ahead;                  /* x - tau A'y */
    double *y, *ax, *ax_before, *v; /* y, A x, that before, y / sigma + A (2 x - x before) */
} state;

static submod_status choose_steps(submodi_split *s, state *p)
{
    const submod_split_settings *given = s->settings;
    if (!(given->norm > 0) && !s->map->matrix) {
        return submodi_fail(SUBMOD_EINVAL, "%s: norm must be given with callbacks for A", s->who);
    }
    double norm = s->norm > 0 ? s->norm : 1; /* A = 0: any steps will do */
    p->tau = given->step > 0 ? given->step : 1 / norm;
    p->sigma = 1 / p->tau / norm / norm;
    if (!isfinite(p->tau) || !isfinite(p->sigma) || !(p->tau > 0) || !(p->sigma > 0)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: step = %g does not go with norm = %g", s->who,
                            p->tau, norm);
    }
    return SUBMOD_OK;
}

static submod_status begin(submodi_split *s, void *context, submod_work *work)
{
    state *p = context;
    double **wide[] = {&p->x, &p->back, &p->ahead, NULL};
    double **tall[] = {&p->y, &p->ax, &p->ax_before, &p->v, NULL};
    if (!submodi_take_vectors(work, s->columns, wide) ||
        !submodi_take_vectors(work, s->rows, tall)) {
        return submodi_nomem(s->who);
    }
    submod_status status = choose_steps(s, p);
    memcpy(p->x, s->x, s->columns * sizeof *p->x);
    memset(p->y, 0, s->rows * sizeof *p->y);
    status = status ? status : submodi_forward(s, p->x, p->ax);
    memcpy(p->ax_before, p->ax, s->rows * sizeof *p->ax);
    return status;
}

/* y <- the subgradient of f at its prox; at first v = y / sigma + A (2 x - x before). */
static submod_status move_y(submodi_split *s, state *p)
{
    for (size_t r = 0; r < s->rows; r++) {
        p->v[r] = p->y[r] / p->sigma + (2 * p->ax[r] - p->ax_before[r]);
    }
    submod_status status = submodi_split_prox_f(s, p->v, p->sigma);
    return status ? status : submodi_adjoint(s, s->of_f, p->back);
}

static submod_status move_x(submodi_split *s, state *p)
{
    for (size_t i = 0; i < s->columns; i++) {
        p->ahead[i] = p->x[i] - p->tau * p->back[i];
    }
    submod_status status = submodi_split_prox_g(s, p->ahead, 1 / p->tau);
    memcpy(p->ax_before, p->ax, s->rows * sizeof *p->ax);
    return status ? status : submodi_forward(s, s->at_g, p->ax);
}

static submod_status step(submodi_split *s, void *context)
{
    state *p = context;
    submod_status status = move_y(s, p);
    status = status ? status : move_x(s, p);
    status = status ? status : submodi_split_bound(s, p->back);
    if (status != SUBMOD_OK) {
        return status;
    }
    /* This is (x - x new) / tau; at_f, in df*(y), is that far from A x new. */
    for (size_t i = 0; i < s->columns; i++) {
        p->ahead[i] = p->back[i] + s->of_g[i] + s->monitor.oracle.decay * s->at_g[i];
    }
    for (size_t r = 0; r < s->rows; r++) {
        p->v[r] = s->at_f[r] - p->ax[r];
    }
    s->monitor.info.primal_residual =
        submodi_norm(p->ahead, s->columns) + s->norm * p->sigma * s->off_f + s->weight_g * s->off_g;
    s->monitor.info.dual_residual = submodi_norm(p->v, s->rows) + s->off_f + s->norm * s->off_g;
    memcpy(p->x, s->at_g, s->columns * sizeof *p->x);
    memcpy(p->y, s->of_f, s->rows * sizeof *p->y);
    submodi_split_answer(s, p->x);
    return SUBMOD_OK;
}

static double length(const void *context)
{
    return ((const state *)context)->tau;
}

submod_status submod_primal_dual(const submod_problem *f, const submod_map *map,
                                 const submod_problem *g, double *x,
                                 const submod_split_settings *settings, submod_optim_info *info,
                                 submod_work *work)
{
    static const submodi_split_method method = {"submod_primal_dual", begin, step, length};
    state p = {0};
    return submodi_split_run(&method, &p, f, map, g, x, settings, info, work);
}
