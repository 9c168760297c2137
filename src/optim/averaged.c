/* A step rule that answers with an average of its points: polynomial-decay averaging (Shamir and
 * Zhang 2013). Formula and rates stand in steps.h. O(n) per step and one vector of memory, besides
 * those of the rule inside. */
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "optim/step.h"

/* The t-th point, t = 1, 2, .., gets the share (power + 1) / (t + power), so that weights are to
 * each other as gamma(t + power) / gamma(t), which grows as t^power. */
static void averaged(submod_step *step, double eta, const double *g, const double *x, double *next)
{
    double power = step->parameter[0];
    double t = (double)step->count + 1; /* the start is the first point */
    double share = (power + 1) / (t + power);
    double *average = step->memory;
    submodi_step_move_on(step->inner, eta, g, x, next);
    if (step->count == 1) {
        memcpy(average, x, step->n * sizeof *x);
    }
    for (size_t i = 0; i < step->n; i++) {
        average[i] = (1 - share) * average[i] + share * next[i];
    }
}

submod_status submod_step_averaged(submod_step *inner, double power, submod_step **step)
{
    if (!(power >= 0) || !isfinite(power)) {
        return submodi_return(
            "submod_step_averaged",
            submodi_fail(SUBMOD_EINVAL, "power = %g must be finite and >= 0", power));
    }
    submod_status status = submodi_step_wrap(inner, averaged, 1, step);
    if (status == SUBMOD_OK) {
        (*step)->parameter[0] = power;
        (*step)->answer = (*step)->memory;
    }
    return submodi_return("submod_step_averaged", status);
}
