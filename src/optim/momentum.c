/* Momentum as in the paper's supplement (after Sutskever et al.), and Nesterov's variant. O(n) per
 * step, one vector of memory. */
#include "base/internal.h"
#include "optim/step.h"

/* v <- alpha v + g,  x <- x - eta v */
static void momentum(submod_step *step, double eta, const double *g, const double *x, double *next)
{
    double alpha = step->parameter[0];
    double *v = step->memory;
    for (size_t i = 0; i < step->n; i++) {
        v[i] = alpha * v[i] + g[i];
        next[i] = x[i] - eta * v[i];
    }
}

/* v <- alpha v + g, x <- x - eta (g + alpha v). Let y = x + eta alpha v be the point before looking
 * ahead. Then y <- y - eta v, and v is the momentum of gradients at y - eta alpha v. */
static void nesterov(submod_step *step, double eta, const double *g, const double *x, double *next)
{
    double alpha = step->parameter[0];
    double *v = step->memory;
    for (size_t i = 0; i < step->n; i++) {
        v[i] = alpha * v[i] + g[i];
        next[i] = x[i] - eta * (g[i] + alpha * v[i]);
    }
}

static submod_status create(size_t n, double alpha, submodi_step_move *move, submod_step **step)
{
    if (!(alpha >= 0 && alpha < 1)) {
        return submodi_fail(SUBMOD_EINVAL, "alpha = %g must be in [0, 1)", alpha);
    }
    submod_status status = submodi_step_create(n, move, 1, step);
    if (status == SUBMOD_OK) {
        (*step)->parameter[0] = alpha;
    }
    return status;
}

submod_status submod_step_momentum(size_t n, double alpha, submod_step **step)
{
    return submodi_return("submod_step_momentum", create(n, alpha, momentum, step));
}

submod_status submod_step_nesterov(size_t n, double alpha, submod_step **step)
{
    return submodi_return("submod_step_nesterov", create(n, alpha, nesterov, step));
}
