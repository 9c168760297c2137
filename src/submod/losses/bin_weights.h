/* The measure behind the losses: what wrong pixels cost, by their counts. Both engines and the
 * kernels take the weight of a bin, of a rank and what they may leave out from here alone. P:
 * pixels of the foreground; a, b: wrong pixels of the foreground and of the background. */
#ifndef SUBMODI_LOSSES_BIN_WEIGHTS_H
#define SUBMODI_LOSSES_BIN_WEIGHTS_H

#include "submod/measures/gain.h"

/* Of t more pixels of one label, what each adds on average. */
SUBMODI_HOST_DEVICE double submodi_gain(double P, double a, double b, double t, bool background)
{
    return submodi_jaccard_gain(P, a, b, t, background);
}

/* Whether nothing more can be lost once all of the foreground is wrong: background pixels ranked
 * below it then have no weight. */
SUBMODI_HOST_DEVICE bool submodi_foreground_is_all(double P)
{
    return P > 0;
}

/* Whether the first wrong pixel is as bad as all: then only the largest errors have weight. */
SUBMODI_HOST_DEVICE bool submodi_first_is_all(double P)
{
    return P == 0;
}

/* Weights of each foreground and each background pixel of a bin: P foreground pixels in all, b
 * background pixels ranked before, a foreground pixels ranked before or in this bin; the bin has so
 * many background pixels, averaged over their orders. Counts up to `nothing` weigh nothing. */
SUBMODI_HOST_DEVICE void submodi_weigh_bin(double P, double a, double b, double background,
                                           double nothing, double *of_foreground,
                                           double *of_background)
{
    bool some = P + b > nothing; /* if not, the largest errors are all */
    double before = a < P ? a : P;
    *of_foreground = some ? submodi_gain(P, before, b, 1, false) : 0;
    *of_background = 0;
    if (some) {
        *of_background = submodi_gain(P, before, b, background, true);
    } else if (background > nothing) {
        *of_background = submodi_gain(0, 0, 0, background, true);
    }
}

#endif
