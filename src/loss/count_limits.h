/* How large counts may be, and how small before they count for nothing: those of datasets, which
 * are scaled and added up. Shared by the CPU and the GPU. */
#ifndef SUBMODI_LOSSES_COUNT_LIMITS_H
#define SUBMODI_LOSSES_COUNT_LIMITS_H

#include <stdbool.h>

#include "base/isa.h"

/* Counts may decay; what is below has gone. */
#define SUBMODI_SMALLEST_COUNT 1e-20
/* And so large that nothing overflows. */
#define SUBMODI_LARGEST_COUNT 1e140

/* Whether a class with so much foreground and background has any: not if it has all but decayed, to
 * less than one in 10^9 of its pixels or to no size. */
SUBMODI_HOST_DEVICE bool submodi_is_present(double foreground, double background)
{
    return foreground > fmax(1e-9 * (foreground + background), SUBMODI_SMALLEST_COUNT);
}

/* Of counts with this sum, those up to here weigh nothing: less than rounding, or weights that a
 * float cannot hold. */
SUBMODI_HOST_DEVICE double submodi_nothing(double all)
{
    return fmax(1e-15 * all, SUBMODI_SMALLEST_COUNT);
}

#endif
