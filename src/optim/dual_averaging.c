/* Dual averaging (Nesterov 2009): every point is reached from the start, along the sum of all
 * gradients, so that no early gradient weighs more than a late one. Formula and rate stand in
 * steps.h. O(n) per step, two vectors of memory. */
#include <math.h>
#include <string.h>

#include "optim/step.h"

static void dual_averaging(submod_step *step, double eta, const double *g, const double *x,
                           double *next)
{
    double *sum = step->memory;
    double *start = step->memory + step->n;
    double scale = eta / sqrt((double)step->count);
    if (step->count == 1) {
        memcpy(start, x, step->n * sizeof *x);
    }
    for (size_t i = 0; i < step->n; i++) {
        sum[i] += g[i];
        next[i] = start[i] - scale * sum[i];
    }
}

submod_status submod_step_dual_averaging(size_t n, submod_step **step)
{
    return submodi_step_create("submod_step_dual_averaging", n, dual_averaging, 2, step);
}
