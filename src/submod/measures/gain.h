/* What pixels add to a measure: the one weight behind the set functions of two counts, both engines
 * of the losses, and their kernels. A measure that is built in has its increments here, in closed
 * form, never as differences (docs/mathematics.md, section 3).
 *
 * P, N: pixels of the foreground and of the background; a, b: wrong ones. All may be sums of
 * weights, and may have decayed. */
#ifndef SUBMODI_MEASURES_GAIN_H
#define SUBMODI_MEASURES_GAIN_H

#include <stdbool.h>

#include "base/host_device.h"
#include <submod/measure.h>

/* A measure that is built in. A copy for each type is compiled where it is a constant. */
typedef struct submodi_form {
    submod_measure_type type;
    double alpha, beta;
} submodi_form;

/* Without foreground the first t pixels share the 1. */
SUBMODI_HOST_DEVICE double submodi_jaccard_gain(double P, double a, double b, double t,
                                                bool background)
{
    double U = P + b; /* the union so far */
    double numerator = background && U > 0 ? P - a : 1;
    double denominator = !background ? U : U > 0 ? U * (U + t) : t;
    return numerator / denominator;
}

/* One division for both labels, as above: then compilers vectorise it. */
SUBMODI_HOST_DEVICE double submodi_tversky_gain(double alpha, double beta, double P, double a,
                                                double b, double t, bool background)
{
    double D = P + (beta - 1) * a + alpha * b; /* the denominator so far */
    double numerator = background ? alpha * (P - a) : beta * P + alpha * b;
    double denominator = D * (D + (background ? alpha : beta - 1) * t);
    double first = background && alpha > 0 ? 1 : 0;
    return (D > 0 ? numerator : first) / (D > 0 ? denominator : first > 0 ? t : 1);
}

/* Of t more pixels of one label, t > 0, what each adds on average. */
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

/* Weights of each foreground and each background pixel of a bin: a and b pixels are ranked before,
 * the bin has so many of each, foreground first, averaged over their orders. Counts up to `nothing`
 * weigh nothing. */
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
    } else if (background > nothing) { /* the largest errors are all */
        *of_background = submodi_form_gain(m, 0, N, 0, 0, background, true);
    }
}

/* Whether it is 1, or 0 throughout, before everything is wrong. Of custom measures nothing is known
 * here. */
SUBMODI_HOST_DEVICE bool submodi_form_reaches_1(submodi_form m)
{
    return m.type == SUBMOD_MEASURE_JACCARD || m.type == SUBMOD_MEASURE_TVERSKY;
}

/* Whether nothing more can be lost once all of the foreground is wrong: background pixels ranked
 * below it then have no weight. */
SUBMODI_HOST_DEVICE bool submodi_form_foreground_is_all(submodi_form m, double P)
{
    return submodi_form_reaches_1(m) && P > 0;
}

/* Whether the first wrong pixel is as bad as all: then only the largest errors have weight. */
SUBMODI_HOST_DEVICE bool submodi_form_first_is_all(submodi_form m, double P)
{
    return submodi_form_reaches_1(m) && P == 0;
}

#endif
