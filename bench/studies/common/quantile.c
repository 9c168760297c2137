/* Quantiles by sorting. */
#include "common/quantile.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

double quantile(double *x, size_t count, double share)
{
    qsort(x, count, sizeof *x, ascending);
    double place = share * (double)(count - 1), below = floor(place);
    size_t k = (size_t)below;
    double rest = place - below;
    return rest > 0 ? x[k] + rest * (x[k + 1] - x[k]) : x[k];
}
