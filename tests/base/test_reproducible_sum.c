/* Reproducible sums: the same bits in any order, and close to the sum in long double. */
#include <math.h>

#include "base/sums.h"
#include "support.h"

enum { MOST = 5000 };

static submodi_reproducible_sum add(submodi_reproducible_sum sum, double x, submodi_sum_grid by)
{
    double coarse = submodi_sum_round(x, by.coarse);
    return submodi_sum_join(
        sum, (submodi_reproducible_sum){coarse, submodi_sum_round(x - coarse, by.fine)});
}

/* In parts that are added up from the last to the first. */
static double add_in_parts(const double *x, size_t n, size_t part, submodi_sum_grid by)
{
    submodi_reproducible_sum all = {0, 0};
    for (size_t end = n; end > 0; end -= end < part ? end : part) {
        submodi_reproducible_sum sum = {0, 0};
        for (size_t i = end < part ? 0 : end - part; i < end; i++) {
            sum = add(sum, x[i], by);
        }
        all = submodi_sum_join(all, sum);
    }
    return submodi_sum_value(all);
}

static void shuffle(submod_rng *rng, double *x, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = submod_rng_below(rng, i);
        double swap = x[i - 1];
        x[i - 1] = x[j];
        x[j] = swap;
    }
}

START_TEST(any_order)
{
    static double x[MOST];
    submod_rng rng;
    submod_rng_seed(&rng, 53);
    for (int trial = 0; trial < 300; trial++) {
        size_t n = 1 + submod_rng_below(&rng, MOST);
        double scale = ldexp(1, (int)submod_rng_below(&rng, 400) - 200);
        double spread = 60 * submod_rng_uniform(&rng);
        long double exact = 0;
        for (size_t i = 0; i < n; i++) {
            x[i] = scale * exp(-spread * submod_rng_uniform(&rng)) * submod_rng_uniform(&rng);
            exact += x[i];
        }
        double most = (double)exact * (1 + submod_rng_uniform(&rng));
        submodi_sum_grid by = submodi_sum_grid_for(most, (double)n);
        double first = add_in_parts(x, n, n, by);
        double off = (double)n * (double)n * 0x1p-102 * most;
        ck_assert_near(first, (double)exact, 0x1p-52 * (double)exact + off);
        for (int order = 0; order < 10; order++) {
            shuffle(&rng, x, n);
            double again = add_in_parts(x, n, 1 + submod_rng_below(&rng, n), by);
            ck_assert_msg(again == first, "%.17g, %.17g", again, first);
        }
    }
}
END_TEST

/* The ends: nothing, the smallest and the largest numbers there are. */
START_TEST(extremes)
{
    submodi_reproducible_sum none = {0, 0};
    submodi_sum_grid by = submodi_sum_grid_for(0, 10);
    ck_assert(submodi_sum_value(add(none, 0, by)) == 0);
    by = submodi_sum_grid_for(0x1p-140, 1);
    ck_assert(submodi_sum_value(add(none, 0x1p-140, by)) == 0x1p-140);
    const double huge[] = {0x1p1000, 0x1p1021, 0x1p1022, 0x1.8p1022, INFINITY};
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
        by = submodi_sum_grid_for(huge[i], 10);
        ck_assert(isfinite(by.coarse) && isfinite(by.fine));
        ck_assert(submodi_sum_value(add(none, 0x1p1000, by)) == 0x1p1000);
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("reproducible_sum", any_order, extremes);
}
