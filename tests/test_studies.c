/* The mathematics of the studies, against slow and obvious ways to the same numbers. */
#include <math.h>
#include <stdlib.h>

#include "bias.h"
#include "summary.h"
#include "support.h"

START_TEST(means_and_deviations)
{
    const double x[] = {1, -7, 3, -7, 8, -7};
    summary s = summary_of(x, 3, 2);
    ck_assert_double_eq_tol(s.mean, 4, 1e-12);
    ck_assert_double_eq_tol(s.sd, sqrt(13), 1e-12);
    s = summary_of(x, 1, 1);
    ck_assert(s.mean == 1 && s.sd == 0);
}
END_TEST

/* The least value on a fine grid: no surrogate and no discrete loss goes below its argmin's. */
START_TEST(bias_minima)
{
    bias_data *data = malloc(sizeof *data);
    ck_assert_ptr_nonnull(data);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        bias_generate(seed, data);
        for (int loss = 0; loss < BIAS_LOSSES; loss++) {
            double b, least;
            ck_assert(bias_argmin(data, (bias_loss)loss, &b));
            ck_assert(bias_value(data, (bias_loss)loss, b, &least));
            for (double x = -2; x <= 2; x += loss == BIAS_JACCARD ? 0.002 : 0.05) {
                double value;
                ck_assert(bias_value(data, (bias_loss)loss, x, &value));
                ck_assert_msg(value >= least - 1e-7, "%s: %.9g at %g, but %.9g at %g",
                              bias_loss_names[loss], value, x, least, b);
            }
        }
    }
    free(data);
}
END_TEST

/* Circles inside the image, features around -1/2 and 1/2. */
START_TEST(bias_circles)
{
    bias_data *data = malloc(sizeof *data);
    ck_assert_ptr_nonnull(data);
    bias_generate(5, data);
    double sum[2] = {0}, count[2] = {0};
    for (size_t i = 0; i < BIAS_ALL; i++) {
        int label = data->label[i];
        sum[label] += (double)data->feature[i];
        count[label]++;
    }
    for (int label = 0; label < 2; label++) {
        double error = sum[label] / count[label] - (label - 0.5);
        ck_assert_double_le(fabs(error), 5 / sqrt(count[label]));
    }
    ck_assert_double_ge(count[1], BIAS_IMAGES * 3.0 * 4 * 4);
    free(data);
}
END_TEST

int main(void)
{
    return RUN_TESTS("studies", means_and_deviations, bias_minima, bias_circles);
}
