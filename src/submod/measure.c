/* Measures: constructors, checks of arguments, values and increments (submod/measure.h). */
#include "submod/measure_internal.h"

#include <math.h>

#include "base/internal.h"

/* So that no square of a denominator overflows or vanishes. */
#define LARGEST_FACTOR 1e12

submod_measure submod_jaccard(void)
{
    return (submod_measure){.type = SUBMOD_MEASURE_JACCARD};
}

submod_measure submod_hamming(void)
{
    return (submod_measure){.type = SUBMOD_MEASURE_HAMMING};
}

submod_measure submod_tversky(double alpha, double beta)
{
    return (submod_measure){.type = SUBMOD_MEASURE_TVERSKY, .alpha = alpha, .beta = beta};
}

submod_measure submod_measure_custom(const submod_measure_ops *ops, void *ctx)
{
    submod_measure m = {.type = SUBMOD_MEASURE_CUSTOM, .ctx = ctx};
    if (ops) {
        m.ops = *ops;
    }
    return m;
}

static submod_status check_tversky(const char *name, double alpha, double beta)
{
    if (!(alpha == 0 || (alpha >= 1 / LARGEST_FACTOR && alpha <= LARGEST_FACTOR))) {
        return submodi_fail(SUBMOD_EINVAL, "%s.alpha = %g must be 0 or from %g to %g", name, alpha,
                            1 / LARGEST_FACTOR, LARGEST_FACTOR);
    }
    if (!(beta >= 1 && beta <= LARGEST_FACTOR)) {
        return submodi_fail(SUBMOD_EINVAL,
                            "%s.beta = %g must be from 1 to %g; for less than 1, as in Dice, "
                            "the Tversky loss is not submodular",
                            name, beta, LARGEST_FACTOR);
    }
    return SUBMOD_OK;
}

submod_status submodi_read_measure(const char *name, const submod_measure *given,
                                   submod_measure *measure)
{
    submod_measure m = given ? *given : submod_jaccard();
    switch (m.type) {
    case SUBMOD_MEASURE_JACCARD:
    case SUBMOD_MEASURE_HAMMING: break;
    case SUBMOD_MEASURE_TVERSKY: TRY(check_tversky(name, m.alpha, m.beta)); break;
    case SUBMOD_MEASURE_CUSTOM:
        if (!m.ops.value && !m.ops.values) {
            return submodi_fail(SUBMOD_EINVAL, "%s is custom: it needs value or values", name);
        }
        break;
    default:
        return submodi_fail(SUBMOD_EINVAL, "%s.type = %d is unknown; see submod_measure_type", name,
                            (int)m.type);
    }
    *measure = m;
    return SUBMOD_OK;
}

double submodi_measure_value(const submod_measure *m, double a, double b, double P, double N)
{
    if (m->type == SUBMOD_MEASURE_CUSTOM) {
        double value;
        if (m->ops.values) {
            m->ops.values(1, &a, &b, P, N, &value, m->ctx);
        } else {
            value = m->ops.value(a, b, P, N, m->ctx);
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
submod_status submodi_measure_failed(const submodi_measure_failure *failure)
{
    return submodi_fail(
        SUBMOD_ECALLBACK,
        "the custom measure returned F(a = %.12g, b = %.12g) = %g with P = %.12g, N = %.12g; "
        "it must be %s",
        failure->a, failure->b, failure->value, failure->P, failure->N,
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
    if (m->ops.values) {
        m->ops.values(count, a, b, P, N, F, m->ctx);
    } else {
        for (size_t i = 0; i < count; i++) {
            F[i] = m->ops.value(a[i], b[i], P, N, m->ctx);
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

/* ---- increments ---- */

static submod_status failed(const submodi_increment *from, double a, double b, double value)
{
    const submodi_measure_failure failure = {true, a, b, from->P, from->N, value};
    return submodi_measure_failed(&failure);
}

submod_status submodi_increment_from(const submod_measure *measure, double P, double N, double a,
                                     double b, submodi_increment *from)
{
    *from = (submodi_increment){.measure = measure, .P = P, .N = N, .a = a, .b = b};
    from->value = submodi_measure_value(measure, a, b, P, N);
    if (measure->type != SUBMOD_MEASURE_CUSTOM) {
        from->form = submodi_form_increment_from(submodi_form_of(measure), P, N, a, b);
    }
    return isfinite(from->value) ? SUBMOD_OK : failed(from, a, b, from->value);
}

static submod_status custom_increments(const submodi_increment *from, size_t count, const double *a,
                                       const double *b, double *increments)
{
    const submod_measure *m = from->measure;
    if (m->ops.values) {
        m->ops.values(count, a, b, from->P, from->N, increments, m->ctx);
    }
    for (size_t i = 0; i < count; i++) {
        double value =
            m->ops.values ? increments[i] : m->ops.value(a[i], b[i], from->P, from->N, m->ctx);
        increments[i] = value - from->value;
        if (!isfinite(increments[i])) {
            return failed(from, a[i], b[i], value);
        }
    }
    return SUBMOD_OK;
}

submod_status submodi_increments(const submodi_increment *from, size_t count, const double *a,
                                 const double *b, double *increments)
{
    if (from->measure->type == SUBMOD_MEASURE_CUSTOM) {
        return custom_increments(from, count, a, b, increments);
    }
    const submodi_increment start = *from; /* a copy that the loop cannot change, for compilers */
    for (size_t i = 0; i < count; i++) {
        increments[i] = submodi_form_increment_by(&start.form, a[i] - start.a, b[i] - start.b);
    }
    return SUBMOD_OK;
}

submod_status submodi_increment_by(const submodi_increment *from, double f, double g, double *by)
{
    double a = from->a + f;
    double b = from->b + g;
    if (from->measure->type == SUBMOD_MEASURE_CUSTOM) {
        return custom_increments(from, 1, &a, &b, by);
    }
    *by = submodi_form_increment_by(&from->form, f, g);
    return SUBMOD_OK;
}
