/* Adam (Kingma and Ba, Algorithm 1), with the decoupled weight decay of AdamW (Loshchilov and
 * Hutter). The formulas stand in steps.h. O(n) per step, two vectors of memory. */
#include <math.h>

#include "base/internal.h"
#include "optim/step.h"

enum { BETA1, BETA2, EPSILON, DECAY };

submod_adam_settings submod_adam_defaults(void)
{
    return (submod_adam_settings){.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
}

static void adam(submod_step *step, double eta, const double *g, const double *x, double *next)
{
    double beta1 = step->parameter[BETA1];
    double beta2 = step->parameter[BETA2];
    double shrink = 1 - eta * step->parameter[DECAY];
    double t = (double)step->count;
    double unbias1 = 1 - pow(beta1, t);
    double unbias2 = 1 - pow(beta2, t);
    double *m = step->memory;
    double *v = step->memory + step->n;
    for (size_t i = 0; i < step->n; i++) {
        m[i] = beta1 * m[i] + (1 - beta1) * g[i];
        v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
        double scale = sqrt(v[i] / unbias2) + step->parameter[EPSILON];
        /* g^2 may overflow where g does not. The coordinate would then never move again: NaN
         * refuses it. */
        next[i] = scale < INFINITY ? shrink * x[i] - eta * (m[i] / unbias1) / scale : NAN;
    }
}

static submod_status check(const submod_adam_settings *s)
{
    if (!(s->beta1 >= 0 && s->beta1 < 1)) {
        return submodi_fail(SUBMOD_EINVAL, "beta1 = %g must be in [0, 1)", s->beta1);
    }
    if (!(s->beta2 >= 0 && s->beta2 < 1)) {
        return submodi_fail(SUBMOD_EINVAL, "beta2 = %g must be in [0, 1)", s->beta2);
    }
    if (!(s->epsilon > 0) || !isfinite(s->epsilon)) {
        return submodi_fail(SUBMOD_EINVAL, "epsilon = %g must be finite and > 0", s->epsilon);
    }
    if (!(s->decay >= 0) || !isfinite(s->decay)) {
        return submodi_fail(SUBMOD_EINVAL, "decay = %g must be finite and >= 0", s->decay);
    }
    return SUBMOD_OK;
}

submod_status submod_step_adam(size_t n, submod_step **step, const submod_adam_settings *settings)
{
    submod_adam_settings s = settings ? *settings : submod_adam_defaults();
    submod_status status = check(&s);
    status = status ? status : submodi_step_create(n, adam, 2, step);
    if (status == SUBMOD_OK) {
        double *parameter = (*step)->parameter;
        parameter[BETA1] = s.beta1;
        parameter[BETA2] = s.beta2;
        parameter[EPSILON] = s.epsilon;
        parameter[DECAY] = s.decay;
    }
    return submodi_return("submod_step_adam", status);
}
