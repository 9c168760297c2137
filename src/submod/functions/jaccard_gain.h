/* What pixels add to the Jaccard loss of a set: the one weight behind the set function, both
 * engines of the losses, and their kernels. A loss of other counts has its increments here. */
#ifndef SUBMODI_FUNCTIONS_JACCARD_GAIN_H
#define SUBMODI_FUNCTIONS_JACCARD_GAIN_H

#include <stdbool.h>

#include "base/host_device.h"

/* Of t more pixels of one label, what each adds on average, after a wrong pixels of the foreground
 * and b of the background; P pixels in the foreground. From F(a, b) = (a + b) / (P + b), never as a
 * difference (docs/mathematics.md, section 3); without foreground the first t pixels share the 1.
 * Counts are whole numbers, or have decayed. */
SUBMODI_HOST_DEVICE double submodi_jaccard_gain(double P, double a, double b, double t,
                                                bool background)
{
    double U = P + b; /* the union so far */
    double numerator = background && U > 0 ? P - a : 1;
    double denominator = !background ? U : U > 0 ? U * (U + t) : t;
    return numerator / denominator;
}

#endif
