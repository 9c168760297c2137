/* How far a measure rises (see rise.h). With D = P + (beta - 1) a + alpha b, the denominator of
 * Tversky's measure, subtracting two of its values gives
 *
 *     ((beta P + alpha b) f + alpha (P - a) g) / (D (D + (beta - 1) f + alpha g)),
 *
 * of which Jaccard is the case alpha = beta = 1. O(1) each. */
#include "submod/measures/rise.h"

#include <float.h>
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

static void start_tversky(submodi_rise *r, double alpha, double beta)
{
    double D = r->P + (beta - 1) * r->a + alpha * r->b;
    r->per_fg = beta - 1;
    r->per_bg = alpha;
    if (D > 0) {
        r->of_fg = (beta * r->P + alpha * r->b) / D;
        r->of_bg = alpha * fmax(r->P - r->a, 0) / D;
        r->none = D;
    } else { /* no foreground: the first pixels are all, unless alpha = 0; 0 / none is 0 */
        r->of_fg = 0;
        r->of_bg = alpha;
        r->none = DBL_MIN;
    }
}

submod_status submodi_rise_from(const char *who, const submod_measure *measure, double P, double N,
                                double a, double b, submodi_rise *rise)
{
    submodi_rise r = {.who = who, .measure = measure, .P = P, .N = N, .a = a, .b = b};
    r.value = submodi_measure_value(measure, a, b, P, N);
    switch (measure->type) {
    case SUBMOD_MEASURE_CUSTOM: break;
    case SUBMOD_MEASURE_HAMMING:
        r.of_fg = r.of_bg = 1;
        r.none = P + N > 0 ? P + N : 1;
        break;
    case SUBMOD_MEASURE_TVERSKY: start_tversky(&r, measure->alpha, measure->beta); break;
    default: start_tversky(&r, 1, 1); break;
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
        double f = a[i] - r.a;
        double g = b[i] - r.b;
        rises[i] = (r.of_fg * f + r.of_bg * g) / (r.none + r.per_fg * f + r.per_bg * g);
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
    *by = (rise->of_fg * f + rise->of_bg * g) / (rise->none + rise->per_fg * f + rise->per_bg * g);
    return SUBMOD_OK;
}
