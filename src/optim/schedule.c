/* Step sizes as functions of the iteration; the formulas stand in steps.h. O(1). */
#include <math.h>

#include "base/internal.h"
#include <submod/steps.h>

static const double paper_power = 0.9; /* Sec. 4: lr (1 - k/K)^0.9 */

submod_schedule submod_schedule_constant(double eta)
{
    return (submod_schedule){.kind = SUBMOD_SCHEDULE_CONSTANT, .eta = eta};
}

static submod_status schedule_check(const submod_schedule *s)
{
    submod_status status = submodi_check_given("schedule", s);
    status = status ? status : submodi_check_positive("eta", s->eta);
    if (status != SUBMOD_OK) {
        return status;
    }
    switch (s->kind) {
    case SUBMOD_SCHEDULE_CONSTANT:
    case SUBMOD_SCHEDULE_INVERSE_SQRT:
    case SUBMOD_SCHEDULE_INVERSE: return SUBMOD_OK;
    case SUBMOD_SCHEDULE_STEP:
    case SUBMOD_SCHEDULE_EXPONENTIAL:
        status = submodi_check_positive("factor", s->factor);
        return status || s->factor <= 1
                   ? status
                   : submodi_fail(SUBMOD_EINVAL, "factor = %g must be <= 1", s->factor);
    case SUBMOD_SCHEDULE_POLY:
        if (s->period == 0) {
            return submodi_fail(SUBMOD_EINVAL, "SUBMOD_SCHEDULE_POLY needs a period > 0");
        }
        return s->power == 0 ? SUBMOD_OK : submodi_check_positive("power", s->power);
    case SUBMOD_SCHEDULE_POLYAK:
        return s->eta < 2 ? SUBMOD_OK : submodi_fail(SUBMOD_EINVAL, "eta = %g must be < 2", s->eta);
    }
    return submodi_fail(SUBMOD_EINVAL, "kind = %d is unknown; see submod_schedule_kind",
                        (int)s->kind);
}

submod_status submod_schedule_check(const submod_schedule *s)
{
    return submodi_return("submod_schedule_check", schedule_check(s));
}

double submod_schedule_eta(const submod_schedule *s, size_t k)
{
    if (submod_schedule_check(s) != SUBMOD_OK) {
        return NAN;
    }
    size_t period = s->period ? s->period : 1;
    size_t whole = k / period;
    double periods = (double)k / (double)period;
    switch (s->kind) {
    case SUBMOD_SCHEDULE_CONSTANT: return s->eta;
    case SUBMOD_SCHEDULE_STEP: return s->eta * pow(s->factor, (double)whole);
    case SUBMOD_SCHEDULE_EXPONENTIAL: return s->eta * pow(s->factor, periods);
    case SUBMOD_SCHEDULE_POLY:
        return k < period ? s->eta * pow(1 - periods, s->power == 0 ? paper_power : s->power) : 0;
    case SUBMOD_SCHEDULE_INVERSE_SQRT: return s->eta / sqrt(1 + periods);
    case SUBMOD_SCHEDULE_INVERSE: return s->eta / (1 + periods);
    case SUBMOD_SCHEDULE_POLYAK: break; /* depends on the point: see descend.c */
    }
    return NAN;
}
