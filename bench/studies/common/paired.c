/* Student's interval of the mean of paired differences. Seeds are few, so a normal interval, or one
 * by resampling, would be too short.
 */
#include "common/paired.h"

#include <math.h>

#include "common/summary.h"

double paired_quantile(size_t freedom)
{
    static const double few[] = {12.706, 4.303, 3.182, 2.776, 2.571,
                                 2.447,  2.365, 2.306, 2.262, 2.228};
    if (freedom <= sizeof few / sizeof few[0]) {
        return few[freedom - 1];
    }
    /* Fisher's expansion around the normal quantile z. */
    double n = (double)freedom, z = 1.959964, z2 = z * z;
    return z + z * (z2 + 1) / (4 * n) + z * (5 * z2 * z2 + 16 * z2 + 3) / (96 * n * n) +
           z * (3 * z2 * z2 * z2 + 19 * z2 * z2 + 17 * z2 - 15) / (384 * n * n * n);
}

static paired around(double mean, double error, size_t count)
{
    double half = count > 1 ? paired_quantile(count - 1) * error : INFINITY;
    return (paired){mean, mean - half, mean + half};
}

paired paired_of(const double *difference, size_t count)
{
    summary s = summary_of(difference, count, 1);
    return around(s.mean, s.sd / sqrt((double)count), count);
}

paired paired_jackknife(double whole, const double *without, size_t count)
{
    double n = (double)count;
    summary s = summary_of(without, count, 1);
    return around(whole, (n - 1) * s.sd / sqrt(n), count);
}

study_verdict paired_above(paired d, double limit)
{
    return d.low > limit ? STUDY_HELD : d.high < limit ? STUDY_NOT_HELD : STUDY_NOT_SHOWN;
}

study_verdict paired_below(paired d, double limit)
{
    return paired_above((paired){-d.mean, -d.high, -d.low}, -limit);
}
