/* Expectations as integrals. For a number Y of foreground pixels, independent ones,
 *
 *     E 1/(k + Y) = integral over [0, 1] of t^(k-1) E t^Y,     E t^Y = product of (1 - q + q t)
 *
 * is the integral of a polynomial, so Gauss' rule with enough nodes is exact: no sum over the 2^p
 * truths, no distribution of Y. Everything that is added is >= 0.
 *
 *     IoU     E I/(k + B)      = E I * integral of t^(k-1) * product over the pixels outside
 *     Dice    E 2I/(k + I + B) = 2 * integral of t^k * product over all * sum inside of q/(1 - q +
 * q t)
 *
 * Fewer nodes, N, leave out at most what degrees from 2N on contribute: P(Y >= 2N - k) E I / (2N+1)
 * (a power t^d is underestimated by less than its integral, and not at all below 2N), bounded by
 * Chernoff. Costs O(p) for the product and O(N) for each k.
 */
#include <float.h>
#include <math.h>

#include "metrics/decisions/powers.h"
#include "metrics/decisions/prefixes.h"

/* Factors of larger probabilities are multiplied; all others go by the logarithm's series in q,
 * whose rest is below 32^-13. Not many are larger where the reach is short. */
#define SMALL (1.0 / 32)

typedef struct product {
    double value[SUBMODI_NODES]; /* at the nodes of the rule */
    double rounding;             /* relative */
} product;

/* -log of the product of 1 - q u over small q, from their powers. */
static double small_factors(const submodi_powers *powers, double u)
{
    double sum = 0;
    for (int r = SUBMODI_POWERS; r >= 1; r--) {
        sum = (sum + powers->sum[r] / r) * u;
    }
    return sum;
}

/* The error of a product with so many factors of either kind, and 256 roundings for all the rest.
 */
static double rounding_of(size_t large, double small, size_t p)
{
    double of_logarithm = 2 * small * (128 + (double)p / 4096);
    return DBL_EPSILON * (256 + 2 * (double)large + of_logarithm);
}

static void multiply(product *to, const submodi_rule *rule, double q)
{
    double none = 1 - q;
    for (size_t j = 0; j < rule->count; j++) {
        to->value[j] *= none + q * rule->t[j];
    }
}

/* The product over the pixels from rank `from` on. */
static void multiply_all(const submodi_prefixes *s, size_t from, product *to)
{
    const submodi_rule *rule = s->rule;
    submodi_powers powers = submodi_powers_of(s->q + from, s->p - from, SMALL);
    for (size_t j = 0; j < rule->count; j++) {
        to->value[j] = exp(-small_factors(&powers, rule->rest[j]));
    }
    size_t large = 0;
    for (size_t i = from; i < s->p; i++) {
        if (s->q[i] > SMALL) {
            multiply(to, rule, s->q[i]);
            large++;
        }
    }
    to->rounding = rounding_of(large, powers.sum[1], s->p);
}

/* What degrees beyond the rule may add. */
static double left_out(const submodi_prefixes *s, size_t k)
{
    size_t exact = 2 * s->rule->count;
    double mean = submodi_random_part(s, k);
    if (s->p + k <= exact || mean == 0) {
        return 0;
    }
    double x = (double)(exact - k);
    double tail = exp(x - mean - x * log(x / mean));
    return submodi_factor(s) * s->inside[k] * tail / (double)(exact + 1);
}

/* The integral of t^degree a b; b may be NULL: 1. */
static double integral(const submodi_rule *rule, double degree, const double *a, const double *b)
{
    double sum = 0;
    for (size_t j = 0; j < rule->count; j++) {
        double power = exp(degree * rule->logarithm[j]);
        sum += rule->weight[j] * power * a[j] * (b ? b[j] : 1);
    }
    return sum;
}

static submodi_interval between(const submodi_prefixes *s, size_t k, double value, double rounding)
{
    double more = DBL_EPSILON * (double)k;
    return submodi_score_between(value, value + left_out(s, k), rounding + more);
}

/* From the last one down, so that the product grows by one factor at a time. */
static void expect_iou(const submodi_prefixes *s, size_t first, size_t last, double floor,
                       submodi_interval *found)
{
    product outside;
    multiply_all(s, last, &outside);
    for (size_t k = last; k >= first; k--) {
        submodi_interval rough = submodi_roughly(s, k);
        if (rough.upper >= floor) {
            double inverse = integral(s->rule, (double)(k - 1), outside.value, NULL);
            rough = between(s, k, s->inside[k] * inverse, outside.rounding);
        }
        found[k - first] = rough;
        multiply(&outside, s->rule, s->q[k - 1]);
        outside.rounding += 2 * DBL_EPSILON;
    }
}

/* From the first one up: the sum grows. */
static void expect_dice(const submodi_prefixes *s, size_t first, size_t last, double floor,
                        submodi_interval *found)
{
    product all;
    double sum[SUBMODI_NODES] = {0};
    const submodi_rule *rule = s->rule;
    multiply_all(s, 0, &all);
    for (size_t k = 1; k <= last; k++) {
        double q = s->q[k - 1];
        for (size_t j = 0; j < rule->count; j++) {
            sum[j] += q / ((1 - q) + q * rule->t[j]);
        }
        if (k < first) {
            continue;
        }
        submodi_interval rough = submodi_roughly(s, k);
        if (rough.upper >= floor) {
            double half = integral(rule, (double)k, all.value, sum);
            rough = between(s, k, 2 * half, all.rounding);
        }
        found[k - first] = rough;
    }
}

void submodi_expect_short(const submodi_prefixes *s, size_t first, size_t last, double floor,
                          submodi_interval *found)
{
    if (s->rule->count == 0) {
        submodi_rule_fill(s->rule, s->p < SUBMODI_NODES ? s->p : SUBMODI_NODES);
    }
    if (s->score == SUBMOD_DECISION_IOU) {
        expect_iou(s, first, last, floor, found);
    } else {
        expect_dice(s, first, last, floor, found);
    }
}

submodi_interval submodi_expect_empty(const submodi_prefixes *s)
{
    double mean = s->outside[0];
    if (mean > SUBMODI_SHORT_REACH) {
        return (submodi_interval){0, s->empty * exp(-mean)}; /* 1 - q <= exp(-q) */
    }
    submodi_powers powers = submodi_powers_of(s->q, s->p, SMALL);
    double none = exp(-small_factors(&powers, 1));
    size_t large = 0;
    for (size_t i = 0; i < s->p; i++) {
        if (s->q[i] > SMALL) {
            none *= 1 - s->q[i];
            large++;
        }
    }
    double rounding = rounding_of(large, powers.sum[1], s->p);
    return submodi_score_between(s->empty * none, s->empty * none, rounding);
}
