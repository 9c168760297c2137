/* Mean and standard deviation. */
#include "common/summary.h"

#include <math.h>

summary summary_of(const double *x, size_t count, size_t stride)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        mean += x[i * stride] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        double d = x[i * stride] - mean;
        squares += d * d;
    }
    return (summary){mean, count > 1 ? sqrt(squares / (double)(count - 1)) : 0};
}
