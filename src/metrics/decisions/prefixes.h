/* Pixels in the order in which they are chosen: what a score expects of the first k of them, for
 * many k at once. */
#ifndef SUBMODI_DECISIONS_PREFIXES_H
#define SUBMODI_DECISIONS_PREFIXES_H

#include <math.h>
#include <stddef.h>

#include "metrics/decisions/interval.h"
#include "metrics/decisions/legendre.h"
#include <submod/decision.h>

/* Up to this reach (below) expectations are integrals, above it series. */
#define SUBMODI_SHORT_REACH 700

typedef struct submodi_prefixes {
    submod_decision_score score;
    double empty;    /* what 0/0 is */
    const double *q; /* probabilities, in order */
    size_t p;
    double *inside;     /* p + 1: the expected foreground among the first k */
    double *outside;    /* p + 1: and among the others */
    submodi_rule *rule; /* empty until it is needed */
} submodi_prefixes;

/* Fills inside and outside from q. */
void submodi_prefixes_sum(submodi_prefixes *s);

/* The expected foreground whose number is random in the denominator: outside for IoU, all for Dice.
 */
static inline double submodi_random_part(const submodi_prefixes *s, size_t k)
{
    return s->score == SUBMOD_DECISION_IOU ? s->outside[k] : s->inside[s->p];
}

/* The expected denominator of the first k pixels. It rises with k. */
static inline double submodi_reach(const submodi_prefixes *s, size_t k)
{
    return (double)k + submodi_random_part(s, k);
}

/* 1 or 2: what the intersection is multiplied by. */
static inline double submodi_factor(const submodi_prefixes *s)
{
    return s->score == SUBMOD_DECISION_IOU ? 1 : 2;
}

/* The ratio of expectations, 0 for 0/0. */
static inline double submodi_ratio(const submodi_prefixes *s, size_t k)
{
    double reach = submodi_reach(s, k);
    return reach > 0 ? submodi_factor(s) * s->inside[k] / reach : 0;
}

/* No less than P(Y < E Y - n/2), Y the random part, n the reach: exp(-n^2 / (8 E Y)), and 2e-22
 * where that is still less, to spare the exp. */
static inline double submodi_far_below(double n, double mean)
{
    double exponent = n * n / 8;
    return mean == 0 ? 0 : exponent < 50 * mean ? exp(-exponent / mean) : 2e-22;
}

/* A first, wide interval for the expected score of the first k, from two sums. */
submodi_interval submodi_roughly(const submodi_prefixes *s, size_t k);

/* found[k - first] = the expected score of the first k pixels, k = first .. last. Those that cannot
 * reach `floor` are only given roughly. */
void submodi_expect(const submodi_prefixes *s, size_t first, size_t last, double floor,
                    submodi_interval *found);

/* The two ways of submodi_expect: k = first .. last >= 1 with a reach of at most
 * SUBMODI_SHORT_REACH, by quadrature, and any others of a reach above 0, by series. */
void submodi_expect_short(const submodi_prefixes *s, size_t first, size_t last, double floor,
                          submodi_interval *found);
void submodi_expect_long(const submodi_prefixes *s, size_t first, size_t last, double floor,
                         submodi_interval *found);
/* The expected score of nothing: empty times the probability that there is no foreground. */
submodi_interval submodi_expect_empty(const submodi_prefixes *s);

#endif
