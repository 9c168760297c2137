/* How far a built-in measure rises from a pair of counts on, for the CPU's solvers and for kernels.
 * With D = P + (beta - 1) a + alpha b, the denominator of Tversky's measure, subtracting two of its
 * values gives
 *
 *     ((beta P + alpha b) f + alpha (P - a) g) / (D (D + (beta - 1) f + alpha g)),
 *
 * of which Jaccard is the case alpha = beta = 1. */
#ifndef SUBMODI_MEASURES_FORM_RISE_H
#define SUBMODI_MEASURES_FORM_RISE_H

#include <float.h>

#include "submod/measures/gain.h"

/* With f and g more pixels of each kind it is
 *
 *     (of_fg f + of_bg g) / (none + per_fg f + per_bg g),
 *
 * all of it >= 0: nothing cancels. */
typedef struct submodi_form_rise {
    double of_fg, of_bg, none, per_fg, per_bg;
} submodi_form_rise;

SUBMODI_HOST_DEVICE submodi_form_rise submodi_tversky_rise(double alpha, double beta, double P,
                                                           double a, double b)
{
    double D = P + (beta - 1) * a + alpha * b;
    bool some = D > 0; /* else no foreground: the first pixels are all, unless alpha = 0 */
    submodi_form_rise r;
    r.of_fg = some ? (beta * P + alpha * b) / D : 0;
    r.of_bg = some ? alpha * fmax(P - a, 0.0) / D : alpha;
    r.none = some ? D : DBL_MIN; /* 0 / none is 0 */
    r.per_fg = beta - 1;
    r.per_bg = alpha;
    return r;
}

/* From a and b wrong pixels on. */
SUBMODI_HOST_DEVICE submodi_form_rise submodi_form_rise_from(submodi_form m, double P, double N,
                                                             double a, double b)
{
    if (m.type == SUBMOD_MEASURE_HAMMING) {
        submodi_form_rise r;
        r.of_fg = r.of_bg = 1;
        r.none = P + N > 0 ? P + N : 1;
        r.per_fg = r.per_bg = 0;
        return r;
    }
    bool tversky = m.type == SUBMOD_MEASURE_TVERSKY;
    return submodi_tversky_rise(tversky ? m.alpha : 1, tversky ? m.beta : 1, P, a, b);
}

SUBMODI_HOST_DEVICE double submodi_form_rise_by(const submodi_form_rise *r, double f, double g)
{
    return (r->of_fg * f + r->of_bg * g) / (r->none + r->per_fg * f + r->per_bg * g);
}

#endif
