/* Measures: constructors, checks of arguments, values and increments (submod/measure.h). */
#include "submod/measure_internal.h"

#include <math.h>

#include "base/internal.h"

/* Keeps squares of denominators from overflow and underflow. */
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
    double value = 0, wrong = m->beta * a + m->alpha * b;
    if (m->type == SUBMOD_MEASURE_CUSTOM) {
        submodi_measure_evaluate(m, 1, &a, &b, P, N, &value);
        return value;
    }
    if (a + b == 0) {
        return 0;
    }
    switch (m->type) {
    case SUBMOD_MEASURE_HAMMING: return (a + b) / (P + N);
    case SUBMOD_MEASURE_TVERSKY: return wrong > 0 ? wrong / (P - a + wrong) : 0;
    default: return (a + b) / (P + b);
    }
}

size_t submodi_measure_evaluate(const submod_measure *m, size_t count, const double *a,
                                const double *b, double P, double N, double *F)
{
    bool custom = m->type == SUBMOD_MEASURE_CUSTOM;
    if (custom && m->ops.values) {
        m->ops.values(count, a, b, P, N, F, m->ctx);
        return submodi_all_finite(F, count) ? count : submodi_first_nonfinite(F, count);
    }
    for (size_t i = 0; i < count; i++) {
        F[i] = custom ? m->ops.value(a[i], b[i], P, N, m->ctx)
                      : submodi_measure_value(m, a[i], b[i], P, N);
        if (!isfinite(F[i])) {
            return i;
        }
    }
    return count;
}

/* Prints counts, which may be large sums, with as few digits as distinguish whole numbers. */
submod_status submodi_measure_failed(const submodi_measure_failure *failure)
{
    return submodi_fail(
        SUBMOD_ECALLBACK,
        "the custom measure returned F(a = %.12g, b = %.12g) = %g with P = %.12g, N = %.12g; "
        "it must be %s",
        failure->a, failure->b, failure->value, failure->P, failure->N,
        failure->a + failure->b > 0 ? "finite" : "0 where nothing is wrong");
}

bool submodi_measure_values(const submod_measure *m, double unit, size_t count, double *a,
                            double *b, double P, double N, double *F,
                            submodi_measure_failure *failure)
{
    for (size_t i = 0; unit != 1 && i < count; i++) {
        a[i] *= unit;
        b[i] *= unit;
    }
    size_t bad = submodi_measure_evaluate(m, count, a, b, P * unit, N * unit, F);
    for (size_t i = 0; i < bad; i++) {
        bad = a[i] + b[i] == 0 && F[i] != 0 ? i : bad;
    }
    if (bad < count) {
        *failure = (submodi_measure_failure){true, a[bad], b[bad], P * unit, N * unit, F[bad]};
    }
    return bad == count;
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

submod_status submodi_increments(const submodi_increment *from, size_t count, const double *a,
                                 const double *b, double *increments)
{
    const submodi_increment start = *from; /* a copy that the loop cannot change, for compilers */
    if (start.measure->type != SUBMOD_MEASURE_CUSTOM) {
        for (size_t i = 0; i < count; i++) {
            increments[i] = submodi_form_increment_by(&start.form, a[i] - start.a, b[i] - start.b);
        }
        return SUBMOD_OK;
    }
    size_t good =
        submodi_measure_evaluate(start.measure, count, a, b, start.P, start.N, increments);
    for (size_t i = 0; i < count; i++) {
        double value = increments[i];
        increments[i] -= start.value;
        if (i == good || !isfinite(increments[i])) {
            return failed(from, a[i], b[i], value);
        }
    }
    return SUBMOD_OK;
}
