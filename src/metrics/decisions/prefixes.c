/* Expected scores of prefixes: sums along the order, a first rough interval for each, and which of
 * the two ways to a narrow one is taken.
 *
 * Roughly: the series of series.c with two terms. Variances are at most means, so two running sums
 * are all it needs.
 */
#include "metrics/decisions/prefixes.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "base/sums.h"

void submodi_prefixes_sum(submodi_prefixes *s)
{
    submodi_compensated_sum sum = {0, 0};
    s->inside[0] = 0;
    for (size_t k = 0; k < s->p; k++) {
        sum = submodi_compensated_add(sum, s->q[k]);
        s->inside[k + 1] = sum.hi + sum.lo;
    }
    sum = (submodi_compensated_sum){0, 0};
    s->outside[s->p] = 0;
    for (size_t k = s->p; k-- > 0;) {
        sum = submodi_compensated_add(sum, s->q[k]);
        s->outside[k] = sum.hi + sum.lo;
    }
}

submodi_interval submodi_roughly(const submodi_prefixes *s, size_t k)
{
    double mean = s->inside[k];
    if (k == 0) {
        return (submodi_interval){0, s->empty * exp(-s->outside[0])};
    }
    double n = submodi_reach(s, k);
    double Y = submodi_random_part(s, k);
    double far = submodi_far_below(n, Y);
    double rounding = 64 * DBL_EPSILON;
    if (s->score == SUBMOD_DECISION_IOU) {
        double upper = mean / n * (1 + 2 * Y / (n * n)) + far;
        return submodi_score_between(mean / n, fmin(upper, mean / (double)k), rounding);
    }
    double upper = mean / n * (1 + 2 * (Y + 1) / (n * n)) + far;
    return submodi_score_between(2 * mean / n * (1 - 1 / n),
                                 2 * fmin(upper, mean / ((double)k + 1)), rounding);
}

/* The largest k <= last whose reach is short; 0 if only that of nothing may be. */
static size_t last_short(const submodi_prefixes *s, size_t last)
{
    size_t low = 0;
    size_t high = last + 1;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (submodi_reach(s, middle) <= SUBMODI_SHORT_REACH) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Whether one of first .. last can reach the floor. */
static bool some_can(const submodi_prefixes *s, size_t first, size_t last, double floor)
{
    for (size_t k = first; k <= last; k++) {
        if (submodi_roughly(s, k).upper >= floor) {
            return true;
        }
    }
    return false;
}

static void expect_some(const submodi_prefixes *s, size_t first, size_t last, double floor,
                        submodi_interval *found,
                        void (*way)(const submodi_prefixes *, size_t, size_t, double,
                                    submodi_interval *))
{
    if (first <= last && some_can(s, first, last, floor)) {
        way(s, first, last, floor, found);
    } else {
        for (size_t k = first; k <= last; k++) {
            found[k - first] = submodi_roughly(s, k);
        }
    }
}

void submodi_expect(const submodi_prefixes *s, size_t first, size_t last, double floor,
                    submodi_interval *found)
{
    size_t begin = first;
    if (begin == 0) {
        found[0] = submodi_expect_empty(s);
        begin = 1;
    }
    if (begin > last) {
        return;
    }
    size_t middle = last_short(s, last);
    middle = middle < begin ? begin - 1 : middle;
    expect_some(s, begin, middle, floor, found + (begin - first), submodi_expect_short);
    expect_some(s, middle + 1, last, floor, found + (middle + 1 - first), submodi_expect_long);
}
