/* A number that is known to lie between two others. */
#ifndef SUBMODI_DECISIONS_INTERVAL_H
#define SUBMODI_DECISIONS_INTERVAL_H

typedef struct submodi_interval {
    double lower, upper;
} submodi_interval;

static inline double submodi_middle(submodi_interval i)
{
    return i.lower + (i.upper - i.lower) / 2;
}

/* A score lies in [0, 1], whatever the bounds say. rounding: relative error of lower and upper. */
static inline submodi_interval submodi_score_between(double lower, double upper, double rounding)
{
    lower *= 1 - rounding;
    upper *= 1 + rounding;
    lower = lower > 0 ? lower : 0;
    upper = upper < 1 ? upper : 1;
    return (submodi_interval){lower < upper ? lower : upper, upper};
}

#endif
