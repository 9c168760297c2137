/* How far a measure rises (see rise.h), O(1) each. */
#include "submod/measures/rise.h"

#include <math.h>

#include "base/error.h"
#include "submod/measures/values.h"

static submod_status failed(const submodi_rise *r, double a, double b, double value)
{
    return submodi_fail(SUBMOD_ECALLBACK,
                        "%s: the measure gave %g for a = %g, b = %g of P = %g, N = %g; it must be "
                        "finite",
                        r->who, value, a, b, r->P, r->N);
}

submod_status submodi_rise_from(const char *who, const submod_measure *measure, double P, double N,
                                double a, double b, submodi_rise *rise)
{
    submodi_rise r = {.who = who, .measure = measure, .P = P, .N = N, .a = a, .b = b};
    r.value = submodi_measure_value(measure, a, b, P, N);
    if (measure->type != SUBMOD_MEASURE_CUSTOM) {
        r.form = submodi_form_rise_from(submodi_form_of(measure), P, N, a, b);
    }
    *rise = r;
    return isfinite(r.value) ? SUBMOD_OK : failed(rise, a, b, r.value);
}

static submod_status rises_of_custom(const submodi_rise *r, size_t count, const double *a,
                                     const double *b, double *rises)
{
    const submod_measure *m = r->measure;
    if (m->values) {
        m->values(count, a, b, r->P, r->N, rises, m->ctx);
    }
    for (size_t i = 0; i < count; i++) {
        double value = m->values ? rises[i] : m->value(a[i], b[i], r->P, r->N, m->ctx);
        rises[i] = value - r->value;
        if (!isfinite(rises[i])) {
            return failed(r, a[i], b[i], value);
        }
    }
    return SUBMOD_OK;
}

submod_status submodi_rises(const submodi_rise *rise, size_t count, const double *a,
                            const double *b, double *rises)
{
    if (rise->measure->type == SUBMOD_MEASURE_CUSTOM) {
        return rises_of_custom(rise, count, a, b, rises);
    }
    const submodi_rise r = *rise; /* so that the compiler need not read it again */
    for (size_t i = 0; i < count; i++) {
        rises[i] = submodi_form_rise_by(&r.form, a[i] - r.a, b[i] - r.b);
    }
    return SUBMOD_OK;
}

submod_status submodi_rise_by(const submodi_rise *rise, double f, double g, double *by)
{
    double a = rise->a + f;
    double b = rise->b + g;
    if (rise->measure->type == SUBMOD_MEASURE_CUSTOM) {
        return rises_of_custom(rise, 1, &a, &b, by);
    }
    *by = submodi_form_rise_by(&rise->form, f, g);
    return SUBMOD_OK;
}
