/* Schedule-free SGD and Adam (Defazio, Yang, Mehta, Mishchenko, Khaled, Cutkosky 2024). z is driven
 * by gradients, x is the average of the z so far and the answer, and gradients are taken at y,
 * between the two. Formulas and rates stand in steps.h; the weights are those of the authors' code,
 * where the start has none. O(n) per step; two vectors of memory, three for Adam. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/settings.h"
#include "optim/step.h"

enum { BETA, POWER, DECAY, BETA2, EPSILON };
enum { LARGEST_ETA, WEIGHTS };

submod_schedule_free_settings submod_schedule_free_defaults(void)
{
    return (submod_schedule_free_settings){.struct_size = sizeof(submod_schedule_free_settings),
                                           .beta = 0.9,
                                           .beta2 = 0.999,
                                           .epsilon = 1e-8};
}

/* The share of weight t^power eta^2 in the sum of all so far, eta the largest so far. The sum is
 * kept as a multiple of the last weight, which can neither overflow nor vanish. */
static double share(submod_step *step, double eta)
{
    double *number = step->number;
    double t = (double)step->count;
    double largest = fmax(number[LARGEST_ETA], eta);
    double before = number[LARGEST_ETA] / largest;
    double older = pow((t - 1) / t, step->parameter[POWER]) * before * before;
    number[LARGEST_ETA] = largest;
    number[WEIGHTS] = number[WEIGHTS] * older + 1;
    return 1 / number[WEIGHTS];
}

/* z moves along d + decay y, the average x follows, next is between them. d may be next. */
static void follow(submod_step *step, double eta, const double *d, const double *y, double *next)
{
    double beta = step->parameter[BETA];
    double decay = step->parameter[DECAY];
    double c = share(step, eta);
    double *x = step->memory;
    double *z = step->memory + step->n;
    if (step->count == 1) {
        memcpy(z, y, step->n * sizeof *y); /* x is about to be z */
    }
    for (size_t i = 0; i < step->n; i++) {
        z[i] -= eta * (d[i] + decay * y[i]);
        x[i] = (1 - c) * x[i] + c * z[i];
        next[i] = (1 - beta) * z[i] + beta * x[i];
    }
}

static void adam(submod_step *step, double eta, const double *g, const double *y, double *next)
{
    double beta2 = step->parameter[BETA2];
    double unbias = 1 - pow(beta2, (double)step->count);
    double *v = step->memory + 2 * step->n;
    for (size_t i = 0; i < step->n; i++) {
        v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
        double scale = sqrt(v[i] / unbias) + step->parameter[EPSILON];
        /* g^2 may overflow where g does not: as in adam.c. */
        next[i] = scale < INFINITY ? g[i] / scale : NAN;
    }
    follow(step, eta, next, y, next);
}

static submod_status check(const char *who, const submod_schedule_free_settings *s)
{
    if (!(s->beta >= 0 && s->beta <= 1)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: beta = %g must be in [0, 1]", who, s->beta);
    }
    if (!(s->beta2 >= 0 && s->beta2 < 1)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: beta2 = %g must be in [0, 1)", who, s->beta2);
    }
    if (!(s->power >= 0 && s->decay >= 0) || !isfinite(s->power) || !isfinite(s->decay)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: power = %g and decay = %g must be finite and >= 0",
                            who, s->power, s->decay);
    }
    if (!(s->epsilon > 0) || !isfinite(s->epsilon)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: epsilon = %g must be finite and > 0", who,
                            s->epsilon);
    }
    return SUBMOD_OK;
}

static submod_status create(const char *who, size_t n, submodi_step_move *move, size_t vectors,
                            submod_step **step, const submod_schedule_free_settings *settings)
{
    submod_schedule_free_settings s = submod_schedule_free_defaults();
    submod_status status =
        submodi_read_settings(who, "submod_schedule_free_defaults", settings, &s);
    status = status ? status : check(who, &s);
    status = status ? status : submodi_step_create(who, n, move, vectors, step);
    if (status == SUBMOD_OK) {
        double *parameter = (*step)->parameter;
        parameter[BETA] = s.beta;
        parameter[POWER] = s.power;
        parameter[DECAY] = s.decay;
        parameter[BETA2] = s.beta2;
        parameter[EPSILON] = s.epsilon;
        (*step)->answer = (*step)->memory;
    }
    return status;
}

submod_status submod_step_schedule_free_sgd(size_t n, submod_step **step,
                                            const submod_schedule_free_settings *settings)
{
    return create("submod_step_schedule_free_sgd", n, follow, 2, step, settings);
}

submod_status submod_step_schedule_free_adam(size_t n, submod_step **step,
                                             const submod_schedule_free_settings *settings)
{
    return create("submod_step_schedule_free_adam", n, adam, 3, step, settings);
}
