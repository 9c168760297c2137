/* Calls the callbacks of a problem: counts the calls, checks status and numbers of every answer,
 * and adds the weight decay. Cost: the callback and O(n).
 */
#include "optim/oracle.h"

#include <float.h>
#include <math.h>

#include "base/internal.h"
#include "base/sums.h"

double submodi_dot(const double *x, const double *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

double submodi_norm(const double *x, size_t n)
{
    double squares = submodi_dot(x, x, n);
    if (squares > 1e-280 && squares < INFINITY) {
        return sqrt(squares);
    }
    /* Squares may overflow or vanish where the norm does not: scale by the largest entry. */
    double largest = submodi_largest(x, n);
    squares = 0;
    for (size_t i = 0; i < n && largest > 0; i++) {
        squares += x[i] / largest * (x[i] / largest);
    }
    return largest * sqrt(squares);
}

submod_status submodi_problem_check(const submod_problem *problem)
{
    if (!problem) {
        return submodi_fail(SUBMOD_EINVAL, "problem is NULL");
    }
    if (problem->dimension == 0 || !problem->subgradient) {
        return submodi_fail(SUBMOD_EINVAL, "%s",
                            problem->subgradient ? "the problem needs a dimension > 0"
                                                 : "the problem needs a subgradient");
    }
    return SUBMOD_OK;
}

void submod_problem_clear(submod_problem *problem)
{
    if (problem) {
        if (problem->destroy) {
            problem->destroy(problem->ctx);
        }
        *problem = (submod_problem){0};
    }
}

submod_status submodi_oracle_judge(const submodi_oracle *o, const char *callback, int status,
                                   const double *x, size_t n)
{
    switch (status) {
    case SUBMOD_OK:
    case SUBMOD_TIMELIMIT:
    case SUBMOD_MAXITER:
    case SUBMOD_INACCURATE:
    case SUBMOD_CANCELLED: break;
    case SUBMOD_ENOMEM:
        return submodi_fail(SUBMOD_ENOMEM, "out of memory in the problem's %s", callback);
    default:
        return submodi_fail(SUBMOD_ECALLBACK, "the problem's %s failed at iteration %zu: %s",
                            callback, o->iteration, submod_status_string(status));
    }
    if (submodi_all_finite(x, n)) {
        return SUBMOD_OK;
    }
    size_t i = submodi_first_nonfinite(x, n);
    return submodi_fail(SUBMOD_ECALLBACK, "the problem's %s returned %g at iteration %zu", callback,
                        i < n ? x[i] : NAN, o->iteration);
}

submod_status submodi_oracle_add_decay(const submodi_oracle *o, const double *x, double *value)
{
    if (o->decay > 0) {
        *value += o->decay / 2 * submodi_dot(x, x, o->problem->dimension);
    }
    return submodi_oracle_judge(o, "value with weight decay", SUBMOD_OK, value, 1);
}

typedef submod_status value_and_gradient(void *ctx, size_t batch, const double *x, double *value,
                                         double *g);

static submod_status ask(submodi_oracle *o, const char *name, value_and_gradient *callback,
                         size_t batch, const double *x, double *value, double *g)
{
    *value = NAN;
    o->info->gradients++;
    int answer = callback(o->problem->ctx, batch, x, value, g);
    submod_status status = submodi_oracle_judge(o, name, answer, value, 1);
    return status ? status : submodi_oracle_judge(o, name, answer, g, o->problem->dimension);
}

submod_status submodi_oracle_gradient(submodi_oracle *o, size_t batch, const double *x,
                                      double *value, double *g)
{
    submod_status status = ask(o, "subgradient", o->problem->subgradient, batch, x, value, g);
    if (status == SUBMOD_OK && o->decay > 0) {
        for (size_t i = 0; i < o->problem->dimension; i++) {
            g[i] += o->decay * x[i];
        }
        status = submodi_oracle_add_decay(o, x, value);
        status = status ? status
                        : submodi_oracle_judge(o, "subgradient with weight decay", SUBMOD_OK, g,
                                               o->problem->dimension);
    }
    return status;
}

double submodi_plane_error(size_t n, const double *x, double value, const double *g)
{
    double size = fabs(value);
    for (size_t i = 0; i < n; i++) {
        size += fabs(g[i] * x[i]);
    }
    return (double)(n + 2) * DBL_EPSILON * size;
}

submod_status submodi_oracle_offset(const submodi_oracle *o, const double *x, double value,
                                    const double *g, double *offset, double *error)
{
    size_t n = o->problem->dimension;
    *error = submodi_plane_error(n, x, value, g);
    *offset = value - submodi_dot(g, x, n) - *error;
    return isfinite(*offset) ? SUBMOD_OK : submodi_fail(SUBMOD_ENUMERIC, "a plane overflows");
}

submod_status submodi_oracle_plane(submodi_oracle *o, size_t batch, const double *x, double *value,
                                   double *g, double *offset, double *error)
{
    submod_status status = ask(o, "subgradient", o->problem->subgradient, batch, x, value, g);
    return status ? status : submodi_oracle_offset(o, x, *value, g, offset, error);
}

submod_status submodi_oracle_smooth(submodi_oracle *o, size_t batch, const double *x, double *value,
                                    double *g)
{
    if (o->problem->smooth) {
        return ask(o, "smooth", o->problem->smooth, batch, x, value, g);
    }
    *value = 0;
    for (size_t i = 0; i < o->problem->dimension; i++) {
        g[i] = 0;
    }
    return SUBMOD_OK;
}

submod_status submodi_oracle_value(submodi_oracle *o, const double *x, double *value)
{
    if (!o->problem->value) {
        return submodi_oracle_gradient(o, SUBMOD_FULL_BATCH, x, value, o->scratch);
    }
    *value = NAN;
    o->info->values++;
    int answer = o->problem->value(o->problem->ctx, x, value);
    submod_status status = submodi_oracle_judge(o, "value", answer, value, 1);
    return status ? status : submodi_oracle_add_decay(o, x, value);
}

submod_status submodi_oracle_prox(submodi_oracle *o, size_t batch, double *x, double lambda,
                                  double *u)
{
    /* decay/2 |u|^2 + lambda/2 |u - x|^2
     *     = (lambda + decay)/2 |u - lambda/(lambda + decay) x|^2 + a constant. */
    size_t n = o->problem->dimension;
    double shrink = lambda / (lambda + o->decay);
    for (size_t i = 0; i < n; i++) {
        x[i] *= shrink;
    }
    if (!submodi_all_finite(x, n) || !isfinite(lambda + o->decay)) {
        return submodi_fail(SUBMOD_ENUMERIC,
                            "x or lambda overflows before the prox of iteration %zu", o->iteration);
    }
    o->info->proxes++;
    int answer = o->problem->prox(o->problem->ctx, batch, x, lambda + o->decay, u);
    return submodi_oracle_judge(o, "prox", answer, u, n);
}
