/* Study prox: what a cell of the study counts. */
#include <math.h>

#include "common/summary.h"
#include "prox/cell.h"
#include "support.h"

static prox_cell measured(bool hinge, double scale, size_t p, double step, int versions)
{
    prox_cell c = {.hinge = hinge,
                   .centre = scale,
                   .spread = scale / 10,
                   .p = p,
                   .step = step,
                   .versions = versions};
    ck_assert(prox_measure(&c, 60, 3));
    ck_assert_int_eq(c.cases, 60);
    return c;
}

/* On a linear piece the objective falls by |g|^2 / (2 lambda) at best; as printed it rises by three
 * times this, so four times the decrease are missed. The repaired one misses nothing. */
START_TEST(cell_on_a_linear_piece)
{
    prox_cell c = measured(true, 1e4, 4, 1e-3, PROX_VERSIONS);
    ck_assert_double_eq_tol(c.tally[PROX_PRINTED].mean_missed, 4, 1e-4);
    ck_assert_int_eq(c.tally[PROX_PRINTED].fails, 60);
    ck_assert_int_eq(c.tally[PROX_PRINTED].worse, 60);
    ck_assert_double_le(c.tally[PROX_REPAIRED].most_missed, 1e-4);
}
END_TEST

/* The three regimes of the study: with the hinge long steps end at 0 and nothing is missed, without
 * it they fail as those between do; scaling margins and steps together changes nothing. */
START_TEST(cell_regimes)
{
    prox_cell between = measured(true, 1, 64, 0.1, 1), zero = measured(true, 1, 64, 10, 1);
    prox_cell plain = measured(false, 1, 64, 10, 1), small = measured(true, 1, 16, 0.01, 1);
    prox_cell large = measured(true, 4, 16, 0.04, 1);
    ck_assert_int_ge(between.tally[0].fails, 58);
    ck_assert_int_eq(zero.tally[0].fails, 0);
    ck_assert_int_ge(plain.tally[0].fails, 58);
    ck_assert(small.tally[0].fails > 0 && small.tally[0].fails < 60);
    ck_assert_int_eq(small.tally[0].fails, large.tally[0].fails);
    ck_assert_double_eq_tol(small.tally[0].mean_missed, large.tally[0].mean_missed, 1e-9);
}
END_TEST

/* Ends of the interval are the shares for which the count lies 1.96 deviations off. */
START_TEST(share_by_definition)
{
    const size_t counts[] = {1, 10, 400};
    for (size_t k = 0; k < 3; k++) {
        size_t n = counts[k];
        for (size_t hits = 0; hits <= n; hits++) {
            interval i = summary_share(hits, n);
            double share = (double)hits / (double)n, ends[2] = {i.low, i.high};
            ck_assert(i.low <= share && share <= i.high);
            for (int e = 0; e < 2; e++) {
                double deviation = 1.959963984540054 * sqrt(ends[e] * (1 - ends[e]) / (double)n);
                ck_assert_double_eq_tol(fabs(share - ends[e]), deviation, 1e-9);
            }
        }
    }
    ck_assert_double_eq_tol(summary_share(0, 10).high, 0.2775, 1e-4);
}
END_TEST

int main(void)
{
    return RUN_TESTS("study_prox", cell_on_a_linear_piece, cell_regimes, share_by_definition);
}
