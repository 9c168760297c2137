/* Sums of many numbers without loss of digits. */
#ifndef SUBMODI_LONG_SUM_H
#define SUBMODI_LONG_SUM_H

/* hi + lo; lo collects what hi rounds away. */
typedef struct submodi_long_sum {
    double hi, lo;
} submodi_long_sum;

static inline submodi_long_sum submodi_long_add(submodi_long_sum sum, double add)
{
    double hi = sum.hi + add;
    double rest = hi - sum.hi;
    return (submodi_long_sum){hi, sum.lo + ((sum.hi - (hi - rest)) + (add - rest))};
}

#endif
