/* AdaGrad (Duchi, Hazan and Singer 2011), with a step size for each coordinate. The formula and its
 * rate stand in steps.h. O(n) per step; one vector of memory. */
#include <math.h>

#include "base/internal.h"
#include "optim/step.h"

/* A scale that has overflowed would stop x for ever: NaN refuses it. If it is 0, so is g. */
static void adagrad(submod_step *step, double eta, const double *g, const double *x, double *next)
{
    double *squares = step->memory;
    for (size_t i = 0; i < step->n; i++) {
        squares[i] += g[i] * g[i];
        double scale = sqrt(squares[i]) + step->parameter[0];
        double moved = scale > 0 ? x[i] - eta * (g[i] / scale) : x[i];
        next[i] = scale < INFINITY ? moved : NAN;
    }
}

submod_status submod_step_adagrad(size_t n, double epsilon, submod_step **step)
{
    if (!(epsilon >= 0) || !isfinite(epsilon)) {
        return submodi_return(
            "submod_step_adagrad",
            submodi_fail(SUBMOD_EINVAL, "epsilon = %g must be finite and >= 0", epsilon));
    }
    submod_status status = submodi_step_create(n, adagrad, 1, step);
    if (status == SUBMOD_OK) {
        (*step)->parameter[0] = epsilon;
    }
    return submodi_return("submod_step_adagrad", status);
}
