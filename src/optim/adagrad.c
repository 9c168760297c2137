/* AdaGrad (Duchi, Hazan and Singer 2011), with a step size for each coordinate, and AdaGrad-Norm
 * (Streeter and McMahan 2010; Ward, Wu and Bottou 2019), with one for all. The formulas and their
 * rates stand in steps.h. O(n) per step; one vector of memory, one number. */
#include <math.h>

#include "base/error.h"
#include "optim/step.h"

/* How far x goes along g. A scale that has overflowed would stop x for ever: NaN refuses it. If it
 * is 0, so is g. */
static double moved(double x, double eta, double g, double scale)
{
    if (!(scale < INFINITY)) {
        return NAN;
    }
    return scale > 0 ? x - eta * (g / scale) : x;
}

static void adagrad(submod_step *step, double eta, const double *g, const double *x, double *next)
{
    double *squares = step->memory;
    for (size_t i = 0; i < step->n; i++) {
        squares[i] += g[i] * g[i];
        next[i] = moved(x[i], eta, g[i], sqrt(squares[i]) + step->parameter[0]);
    }
}

static void adagrad_norm(submod_step *step, double eta, const double *g, const double *x,
                         double *next)
{
    double b0 = step->parameter[0];
    double *squares = &step->number[0];
    for (size_t i = 0; i < step->n; i++) {
        *squares += g[i] * g[i];
    }
    double b = sqrt(b0 * b0 + *squares);
    for (size_t i = 0; i < step->n; i++) {
        next[i] = moved(x[i], eta, g[i], b);
    }
}

static submod_status create(const char *who, size_t n, const char *name, double offset,
                            submodi_step_move *move, size_t vectors, submod_step **step)
{
    if (!(offset >= 0) || !isfinite(offset)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: %s = %g must be finite and >= 0", who, name,
                            offset);
    }
    submod_status status = submodi_step_create(who, n, move, vectors, step);
    if (status == SUBMOD_OK) {
        (*step)->parameter[0] = offset;
    }
    return status;
}

submod_status submod_step_adagrad(size_t n, double epsilon, submod_step **step)
{
    return create("submod_step_adagrad", n, "epsilon", epsilon, adagrad, 1, step);
}

submod_status submod_step_adagrad_norm(size_t n, double b0, submod_step **step)
{
    return create("submod_step_adagrad_norm", n, "b0", b0, adagrad_norm, 0, step);
}
