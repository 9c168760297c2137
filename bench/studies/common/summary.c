/* Mean, standard deviation, and the interval of a share. */
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

interval summary_share(size_t hits, size_t count)
{
    const double z = 1.959963984540054; /* 97.5 % of a normal lie below */
    double n = (double)count, share = (double)hits / n;
    double middle = (share + z * z / (2 * n)) / (1 + z * z / n);
    double half = z / (1 + z * z / n) * sqrt(share * (1 - share) / n + z * z / (4 * n * n));
    return (interval){hits > 0 ? middle - half : 0, hits < count ? middle + half : 1};
}
