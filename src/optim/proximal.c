/* The proximal direction lambda (x - prox(x)): the paper's modified backpropagation (supplement,
 * "Proximal gradient algorithm"). On a linear piece prox(x) = x - g / lambda, so the direction is
 * the gradient g there. Across a ridge it is the direction that gradients oscillate around. Cost:
 * one prox and one gradient of the smooth part. */
#include "optim/oracle.h"

/* The user's own direction, for instance through the layers of a network. */
static submod_status own_direction(submodi_oracle *o, size_t batch, const double *x, double lambda,
                                   double *d)
{
    const submod_problem *p = o->problem;
    o->info->proxes++;
    int answer = p->direction(p->ctx, batch, x, lambda, d);
    submod_status status = submodi_oracle_judge(o, "direction", answer, d, p->dimension);
    for (size_t i = 0; status == SUBMOD_OK && i < p->dimension; i++) {
        d[i] += o->decay * x[i];
    }
    return status;
}

submod_status submodi_oracle_direction(submodi_oracle *o, size_t batch, const double *x,
                                       double lambda, double *point, double *d)
{
    size_t n = o->problem->dimension;
    if (o->problem->direction) {
        return own_direction(o, batch, x, lambda, d);
    }
    double value;
    submod_status status = submodi_oracle_smooth(o, batch, x, &value, d);
    if (status != SUBMOD_OK) {
        return status;
    }
    for (size_t i = 0; i < n; i++) {
        point[i] = x[i] - d[i] / lambda;
    }
    status = submodi_oracle_prox(o, batch, point, lambda, d);
    for (size_t i = 0; status == SUBMOD_OK && i < n; i++) {
        d[i] = lambda * (x[i] - d[i]);
    }
    return status;
}
