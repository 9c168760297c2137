/* A step rule that starts anew from its own answer, again and again: with averages and step sizes
 * that shrink from stage to stage the restarted subgradient method (Yang and Lin 2018). Its rate
 * stands in steps.h. O(n) every period steps, besides the rule inside. */
#include <string.h>

#include "base/error.h"
#include "optim/step.h"

static void restarted(submod_step *step, double eta, const double *g, const double *x, double *next)
{
    submodi_step_move_on(step->inner, eta, g, x, next);
    if (step->inner->count == step->period) {
        memmove(next, submodi_step_answer(step->inner, next), step->n * sizeof *next);
        submod_step_reset(step->inner);
    }
}

submod_status submod_step_restarted(submod_step *inner, size_t period, submod_step **step)
{
    static const char who[] = "submod_step_restarted";
    if (period == 0) {
        return submodi_fail(SUBMOD_EINVAL, "%s: period must be > 0", who);
    }
    submod_status status = submodi_step_wrap(who, inner, restarted, 0, step);
    if (status == SUBMOD_OK) {
        (*step)->period = period;
    }
    return status;
}
