/* Measures: made, checked, evaluated (see submod/measure.h). */
#include "submod/measures/values.h"

#include <math.h>

#include "base/error.h"
#include "base/settings.h"

/* So that no square of a denominator overflows or vanishes (gain.h). */
#define LARGEST_FACTOR 1e12

static submod_measure of_type(submod_measure_type type)
{
    return (submod_measure){.struct_size = sizeof(submod_measure), .type = type};
}

submod_measure submod_measure_jaccard(void)
{
    return of_type(SUBMOD_MEASURE_JACCARD);
}

submod_measure submod_measure_hamming(void)
{
    return of_type(SUBMOD_MEASURE_HAMMING);
}

submod_measure submod_measure_tversky(double alpha, double beta)
{
    submod_measure m = of_type(SUBMOD_MEASURE_TVERSKY);
    m.alpha = alpha;
    m.beta = beta;
    return m;
}

submod_measure
submod_measure_custom(double (*value)(double a, double b, double P, double N, void *ctx), void *ctx)
{
    submod_measure m = of_type(SUBMOD_MEASURE_CUSTOM);
    m.value = value;
    m.ctx = ctx;
    return m;
}

static submod_status require_tversky(const char *who, const char *name, double alpha, double beta)
{
    if (!(alpha == 0 || (alpha >= 1 / LARGEST_FACTOR && alpha <= LARGEST_FACTOR))) {
        return submodi_fail(SUBMOD_EINVAL, "%s: %s.alpha = %g must be 0 or from %g to %g", who,
                            name, alpha, 1 / LARGEST_FACTOR, LARGEST_FACTOR);
    }
    if (!(beta >= 1 && beta <= LARGEST_FACTOR)) {
        return submodi_fail(SUBMOD_EINVAL,
                            "%s: %s.beta = %g must be from 1 to %g; for less than 1, as in Dice, "
                            "the Tversky loss is not submodular",
                            who, name, beta, LARGEST_FACTOR);
    }
    return SUBMOD_OK;
}

submod_status submodi_read_measure(const char *who, const char *name, const submod_measure *given,
                                   submod_measure *measure)
{
    submod_measure m = submod_measure_jaccard();
    submod_status status = submodi_read_settings(who, "submod_measure_jaccard", given, &m);
    if (status == SUBMOD_OK && m.type == SUBMOD_MEASURE_TVERSKY) {
        status = require_tversky(who, name, m.alpha, m.beta);
    }
    if (status == SUBMOD_OK && m.type == SUBMOD_MEASURE_CUSTOM && !m.value && !m.values) {
        status =
            submodi_fail(SUBMOD_EINVAL, "%s: %s is custom: it needs value or values", who, name);
    }
    if (status == SUBMOD_OK && (unsigned)m.type > SUBMOD_MEASURE_CUSTOM) {
        status = submodi_fail(SUBMOD_EINVAL, "%s: %s.type = %d is unknown; see submod_measure_type",
                              who, name, (int)m.type);
    }
    if (status == SUBMOD_OK) {
        *measure = m;
    }
    return status;
}

double submodi_measure_value(const submod_measure *m, double a, double b, double P, double N)
{
    if (m->type == SUBMOD_MEASURE_CUSTOM) {
        double value;
        if (m->values) {
            m->values(1, &a, &b, P, N, &value, m->ctx);
        } else {
            value = m->value(a, b, P, N, m->ctx);
        }
        return value;
    }
    if (a + b == 0) {
        return 0;
    }
    switch (m->type) {
    case SUBMOD_MEASURE_HAMMING: return (a + b) / (P + N);
    case SUBMOD_MEASURE_TVERSKY: {
        double wrong = m->beta * a + m->alpha * b;
        return wrong > 0 ? wrong / (P - a + wrong) : 0;
    }
    default: return (a + b) / (P + b);
    }
}

/* The counts at which F was asked may be long; as few digits as tell whole numbers apart. */
submod_status submodi_measure_failed(const char *who, const submodi_measure_failure *failure)
{
    return submodi_fail(
        SUBMOD_ECALLBACK,
        "%s: the custom measure returned F(a = %.12g, b = %.12g) = %g with P = %.12g, N = %.12g; "
        "it must be %s",
        who, failure->a, failure->b, failure->value, failure->P, failure->N,
        failure->a + failure->b > 0 ? "finite" : "0 where nothing is wrong");
}

/* Without branches, and as long as a double: then compilers vectorise the loop below. */
static inline int64_t is_bad(double a, double b, double F)
{
    return (F - F != 0) | ((a + b == 0) & (F != 0));
}

bool submodi_measure_values(const submod_measure *m, double unit, size_t count, double *a,
                            double *b, double P, double N, double *F,
                            submodi_measure_failure *failure)
{
    P *= unit;
    N *= unit;
    for (size_t i = 0; unit != 1 && i < count; i++) {
        a[i] *= unit;
        b[i] *= unit;
    }
    if (m->values) {
        m->values(count, a, b, P, N, F, m->ctx);
    } else {
        for (size_t i = 0; i < count; i++) {
            F[i] = m->value(a[i], b[i], P, N, m->ctx);
            count = is_bad(a[i], b[i], F[i]) ? i + 1 : count; /* no call after a failure */
        }
    }
    int64_t bad = 0;
    for (size_t i = 0; i < count; i++) {
        bad |= is_bad(a[i], b[i], F[i]);
    }
    for (size_t i = 0; bad && i < count; i++) {
        if (is_bad(a[i], b[i], F[i])) {
            *failure = (submodi_measure_failure){true, a[i], b[i], P, N, F[i]};
            return false;
        }
    }
    return true;
}
