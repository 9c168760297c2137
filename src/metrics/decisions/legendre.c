/* Gauss' rule: the nodes are (1 + x) / 2 for the roots x of the Legendre polynomial P_n, with the
 * weights 1 / ((1 - x^2) P_n'(x)^2). Newton's method from x = cos(pi (i - 1/4) / (n + 1/2)), in
 * long doubles because 1 - x^2 cancels at the ends. O(n^2).
 */
#include "metrics/decisions/legendre.h"

#include <math.h>

/* P_n(x), and its derivative times (1 - x^2). */
static long double polynomial(size_t n, long double x, long double *slope)
{
    long double before = 1;
    long double now = x;
    for (size_t i = 2; i <= n; i++) {
        long double next =
            (((long double)(2 * i - 1) * x * now) - ((long double)(i - 1) * before)) /
            (long double)i;
        before = now;
        now = next;
    }
    *slope = (long double)n * (before - x * now);
    return now;
}

/* Root i = 1 .. n from above, and its weight. */
static long double root(size_t n, size_t i, long double *weight)
{
    enum { STEPS = 8 }; /* the start has three digits or more, and each step doubles them */
    const long double pi = 3.14159265358979323846264338327950288L;
    long double x = cosl(pi * ((long double)i - 0.25L) / ((long double)n + 0.5L));
    long double slope;
    long double change = 1;
    for (int step = 0; step < STEPS && fabsl(change) > 1e-12L; step++) {
        long double value = polynomial(n, x, &slope);
        change = value * (1 - x * x) / slope;
        x -= change;
    }
    (void)polynomial(n, x, &slope);
    *weight = (1 - x * x) / (slope * slope);
    return x;
}

static void put(submodi_rule *rule, size_t at, long double x, long double weight)
{
    rule->t[at] = (double)((1 + x) / 2);
    rule->rest[at] = (double)((1 - x) / 2);
    rule->logarithm[at] = (double)logl((1 + x) / 2);
    rule->weight[at] = (double)weight;
}

void submodi_rule_fill(submodi_rule *rule, size_t count)
{
    rule->count = count;
    for (size_t i = 0; i < count - i; i++) { /* the roots lie symmetrically around 0 */
        long double weight;
        long double x = root(count, i + 1, &weight);
        put(rule, i, -x, weight);
        put(rule, count - 1 - i, x, weight);
    }
}
