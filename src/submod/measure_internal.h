/* Gains, increments and values of measures, for solvers, losses and CUDA kernels.
 *
 * a of P foreground pixels and b of N background pixels are wrong; all may be sums of weights.
 * Increments of built-in measures have closed forms that do not cancel (docs/mathematics.md,
 * section 3); increments of custom measures are differences. */
#ifndef SUBMODI_MEASURE_INTERNAL_H
#define SUBMODI_MEASURE_INTERNAL_H

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "base/isa.h"
#include <submod/measure.h>

/* ---- gains of built-in measures ---- */

/* A built-in measure. Loops are compiled for each type where it is a constant. */
typedef struct submodi_form {
    submod_measure_type type;
    double alpha, beta;
} submodi_form;

/* Returns the gain per pixel for Jaccard. Without foreground the first t pixels share the value
 * 1. */
SUBMODI_HOST_DEVICE double submodi_jaccard_gain(double P, double a, double b, double t,
                                                bool background)
{
    double U = P + b; /* the union so far */
    double numerator = background && U > 0 ? P - a : 1;
    double denominator = !background ? U : U > 0 ? U * (U + t) : t;
    return numerator / denominator;
}

/* Like Jaccard, uses one division for both labels, which vectorises. */
SUBMODI_HOST_DEVICE double submodi_tversky_gain(double alpha, double beta, double P, double a,
                                                double b, double t, bool background)
{
    double D = P + (beta - 1) * a + alpha * b; /* the denominator so far */
    double numerator = background ? alpha * (P - a) : beta * P + alpha * b;
    double denominator = D * (D + (background ? alpha : beta - 1) * t);
    double first = background && alpha > 0 ? 1 : 0;
    return (D > 0 ? numerator : first) / (D > 0 ? denominator : first > 0 ? t : 1);
}

/* Returns the average gain of each of t more pixels of one label, t > 0. */
SUBMODI_HOST_DEVICE double submodi_form_gain(submodi_form m, double P, double N, double a, double b,
                                             double t, bool background)
{
    switch (m.type) {
    case SUBMOD_MEASURE_HAMMING: return 1 / (P + N);
    case SUBMOD_MEASURE_TVERSKY:
        return submodi_tversky_gain(m.alpha, m.beta, P, a, b, t, background);
    default: return submodi_jaccard_gain(P, a, b, t, background);
    }
}

/* Computes the weight of each foreground and each background pixel of a bin after a and b pixels.
 * The foreground comes first; each label is averaged over its orders. Counts up to `nothing` get
 * weight 0. */
SUBMODI_HOST_DEVICE void submodi_form_weigh_bin(submodi_form m, double P, double N, double a,
                                                double b, double foreground, double background,
                                                double nothing, double *of_foreground,
                                                double *of_background)
{
    bool some = (m.type == SUBMOD_MEASURE_HAMMING ? P + N : P + b) > nothing;
    *of_foreground = 0;
    *of_background = 0;
    if (some) {
        double after = a + foreground;
        *of_foreground = submodi_form_gain(m, P, N, a < P ? a : P, b, foreground, false);
        *of_background = submodi_form_gain(m, P, N, after < P ? after : P, b, background, true);
    } else if (background > nothing) { /* only the largest errors have weight */
        *of_background = submodi_form_gain(m, 0, N, 0, 0, background, true);
    }
}

/* Returns whether F is at its maximum once all of the foreground is wrong; background pixels ranked
 * below it then have no weight. False for custom measures. */
SUBMODI_HOST_DEVICE bool submodi_form_foreground_is_all(submodi_form m, double P)
{
    return (m.type == SUBMOD_MEASURE_JACCARD || m.type == SUBMOD_MEASURE_TVERSKY) && P > 0;
}

/* Returns whether F is the same for one wrong pixel as for all; then only the largest errors have
 * weight. */
SUBMODI_HOST_DEVICE bool submodi_form_first_is_all(submodi_form m, double P)
{
    return (m.type == SUBMOD_MEASURE_JACCARD || m.type == SUBMOD_MEASURE_TVERSKY) && P == 0;
}

/* The increment of a built-in measure for f and g more pixels of foreground and background,
 *
 *     (of_fg f + of_bg g) / (none + per_fg f + per_bg g).
 *
 * All numbers are >= 0, so nothing cancels. With D = P + (beta - 1) a + alpha b, the denominator of
 * Tversky's measure, it is
 *
 *     ((beta P + alpha b) f + alpha (P - a) g) / (D (D + (beta - 1) f + alpha g)). */
typedef struct submodi_form_increment {
    double of_fg, of_bg, none, per_fg, per_bg;
} submodi_form_increment;

/* Returns the increments from a and b wrong pixels on. */
SUBMODI_HOST_DEVICE submodi_form_increment submodi_form_increment_from(submodi_form m, double P,
                                                                       double N, double a, double b)
{
    submodi_form_increment r;
    if (m.type == SUBMOD_MEASURE_HAMMING) {
        r.of_fg = r.of_bg = 1;
        r.none = P + N > 0 ? P + N : 1;
        r.per_fg = r.per_bg = 0;
        return r;
    }
    double alpha = m.type == SUBMOD_MEASURE_TVERSKY ? m.alpha : 1;
    double beta = m.type == SUBMOD_MEASURE_TVERSKY ? m.beta : 1;
    double D = P + (beta - 1) * a + alpha * b;
    bool some = D > 0; /* else no foreground: the first pixels are all, unless alpha = 0 */
    r.of_fg = some ? (beta * P + alpha * b) / D : 0;
    r.of_bg = some ? alpha * fmax(P - a, 0.0) / D : alpha;
    r.none = some ? D : DBL_MIN; /* 0 / none is 0 */
    r.per_fg = beta - 1;
    r.per_bg = alpha;
    return r;
}

SUBMODI_HOST_DEVICE double submodi_form_increment_by(const submodi_form_increment *r, double f,
                                                     double g)
{
    return (r->of_fg * f + r->of_bg * g) / (r->none + r->per_fg * f + r->per_bg * g);
}

/* ---- increments of any measure ---- */

/* The increments F(a', b') - F(a, b) from one pair of counts. */
typedef struct submodi_increment {
    const submod_measure *measure;
    double P, N;
    double a, b;
    double value;                /* F(a, b) */
    submodi_form_increment form; /* of a built-in measure */
} submodi_increment;

/* Prepares the increments from a and b of a checked measure. SUBMOD_ECALLBACK: the measure
 * failed. */
submod_status submodi_increment_from(const submod_measure *measure, double P, double N, double a,
                                     double b, submodi_increment *from);

/* Computes increments[i] = F(a[i], b[i]) - F(a, b), a[i] >= a and b[i] >= b. */
submod_status submodi_increments(const submodi_increment *from, size_t count, const double *a,
                                 const double *b, double *increments);

/* Computes the increment of f and g more pixels of foreground and background. */
static inline submod_status submodi_increment_by(const submodi_increment *from, double f, double g,
                                                 double *by)
{
    double a = from->a + f, b = from->b + g;
    if (from->measure->type == SUBMOD_MEASURE_CUSTOM) {
        return submodi_increments(from, 1, &a, &b, by);
    }
    *by = submodi_form_increment_by(&from->form, f, g);
    return SUBMOD_OK;
}

/* ---- values ---- */

/* Checks the measure given, by its argument's name, and copies it; NULL means Jaccard.
 * SUBMOD_EINVAL: unknown type, alpha or beta out of range, a custom measure without callback. */
submod_status submodi_read_measure(const char *name, const submod_measure *given,
                                   submod_measure *measure);

/* Returns F(a, b), 0 at a = b = 0. A custom measure that fails returns NaN or Inf. */
double submodi_measure_value(const submod_measure *m, double a, double b, double P, double N);

/* Computes F[i] = F(a[i], b[i]). Returns the index of the first value that is not finite, after
 * which no callback is called, or count. */
size_t submodi_measure_evaluate(const submod_measure *m, size_t count, const double *a,
                                const double *b, double P, double N, double *F);

/* The counts at which a custom measure was not finite, or not 0 at a = b = 0. */
typedef struct submodi_measure_failure {
    bool found;
    double a, b, P, N, value;
} submodi_measure_failure;

/* Computes F[i] = F(a[i], b[i]) of a custom measure. All counts are in units of `unit`, a power of
 * two; a and b are overwritten. Returns false if a value failed, the first one with *failure. */
bool submodi_measure_values(const submod_measure *m, double unit, size_t count, double *a,
                            double *b, double P, double N, double *F,
                            submodi_measure_failure *failure);
/* Returns SUBMOD_ECALLBACK, with a message. */
submod_status submodi_measure_failed(const submodi_measure_failure *failure);

static inline submodi_form submodi_form_of(const submod_measure *m)
{
    submodi_form form; /* no compound literal, for C++ */
    form.type = m->type;
    form.alpha = m->alpha;
    form.beta = m->beta;
    return form;
}

/* Whether two measures are the same function. */
static inline bool submodi_same_measure(const submod_measure *a, const submod_measure *b)
{
    return a->type == b->type && a->alpha == b->alpha && a->beta == b->beta &&
           a->ops.value == b->ops.value && a->ops.values == b->ops.values && a->ctx == b->ctx;
}

#endif
