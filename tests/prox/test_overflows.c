/* Numbers that are fine by themselves and overflow on the way: SUBMOD_ENUMERIC with an error
 * message, outputs untouched. And what no method can do: SUBMOD_EUNSUPPORTED. */
#include <math.h>

#include "support.h"

enum { N = 3 };

static submod_fn *cut_of(double weight)
{
    const int32_t tail[2] = {0, 1}, head[2] = {1, 2};
    const double weights[2] = {weight, weight};
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_cut(N, 2, tail, head, weights, 0, &fn));
    return fn;
}

/* Frees fn. */
static void refuse_prox(submod_fn *fn, const double *x, double lambda, submod_prox_method method,
                        const char *words)
{
    double u[N] = {7, 7, 7}, s[N] = {7, 7, 7};
    submod_prox_settings settings = submod_prox_defaults();
    settings.method = method;
    assert_error(submod_prox(fn, x, lambda, u, s, &settings, NULL, NULL), SUBMOD_ENUMERIC, words);
    ck_assert(u[0] == 7 && s[0] == 7);
    submod_fn_free(fn);
}

START_TEST(prox_of_large_numbers)
{
    const double large[N] = {1e200, -1e200, 0}, small[N] = {1, 2, 3};
    refuse_prox(cut_of(1), large, 1e200, SUBMOD_PROX_DECOMPOSITION, "lambda x overflows");
    submod_fn *iwata = NULL;
    ck_assert_ok(make_iwata(N, &iwata));
    refuse_prox(iwata, large, 1e200, SUBMOD_PROX_DECOMPOSITION, "lambda x overflows");
    refuse_prox(cut_of(1e200), small, 1e-200, SUBMOD_PROX_MIN_NORM, "s / lambda overflows");
}
END_TEST

/* A sum of a cut, a function of the cardinality, and a modular function. */
static submod_fn *sum_of(double cut, double modular)
{
    const double w[N] = {modular, -modular, modular};
    submod_fn *parts[3] = {cut_of(cut)}, *fn = NULL;
    ck_assert_ok(submod_fn_sqrt(N, &parts[1]));
    ck_assert_ok(submod_fn_modular(N, w, &parts[2]));
    ck_assert_ok(submod_fn_sum(parts, NULL, 3, &fn));
    for (int i = 0; i < 3; i++) {
        submod_fn_free(parts[i]);
    }
    return fn;
}

START_TEST(prox_of_large_sums)
{
    const double x[N] = {1, 2, 3};
    refuse_prox(sum_of(1, 1e200), x, 1e-200, SUBMOD_PROX_SUM, "F / lambda overflows");
    refuse_prox(sum_of(1e300, 0), x, 1e-10, SUBMOD_PROX_SUM, "the objective overflows");
}
END_TEST

START_TEST(minimum_of_no_sum)
{
    submod_fn *fn = NULL;
    submod_sfm_settings settings = submod_sfm_defaults();
    uint8_t in[N] = {7};
    settings.method = SUBMOD_SFM_SUM;
    ck_assert_ok(submod_fn_sqrt(N, &fn));
    assert_error(submod_sfm(fn, in, NULL, NULL, &settings, NULL, NULL), SUBMOD_EUNSUPPORTED,
                 "is no sum");
    ck_assert_int_eq(in[0], 7);
    submod_fn_free(fn);
}
END_TEST

/* The minimum of c F + w is c times that of F + w / c. */
START_TEST(minimum_of_a_scaled_function)
{
    const double w[N] = {1e200, -1e200, 1};
    submod_fn *cut = cut_of(1), *scaled = NULL, *fn = NULL;
    uint8_t in[N] = {7};
    ck_assert_ok(submod_fn_scale(cut, 1e-200, &scaled));
    ck_assert_ok(submod_fn_add_modular(scaled, w, &fn));
    assert_error(submod_sfm(fn, in, NULL, NULL, NULL, NULL, NULL), SUBMOD_ENUMERIC,
                 "z / c overflows");
    ck_assert_int_eq(in[0], 7);
    submod_fn_free(cut);
    submod_fn_free(scaled);
    submod_fn_free(fn);
}
END_TEST

/* The same with a modular function inside, too: w / c alone is finite. */
START_TEST(minimum_of_what_is_scaled_and_moved)
{
    const double inside[N] = {1.5e308, 0, 0}, outside[N] = {0.75e308, 0, 0};
    submod_fn *cut = cut_of(1), *moved = NULL, *scaled = NULL, *fn = NULL;
    uint8_t in[N] = {7};
    ck_assert_ok(submod_fn_add_modular(cut, inside, &moved));
    ck_assert_ok(submod_fn_scale(moved, 0.5, &scaled));
    ck_assert_ok(submod_fn_add_modular(scaled, outside, &fn));
    assert_error(submod_sfm(fn, in, NULL, NULL, NULL, NULL, NULL), SUBMOD_ENUMERIC,
                 "z - w overflows");
    ck_assert_int_eq(in[0], 7);
    submod_fn_free(cut);
    submod_fn_free(moved);
    submod_fn_free(scaled);
    submod_fn_free(fn);
}
END_TEST

START_TEST(minimum_of_a_large_difference)
{
    const int32_t block[1] = {1};
    const double w[N] = {0, -1.7e308, 0}, z[1] = {1.7e308};
    submod_fn *fn = NULL;
    uint8_t in[1] = {7};
    double value = 7;
    ck_assert_ok(submod_fn_modular(N, w, &fn));
    assert_error(submod_fn_minimize(fn, NULL, 0, block, 1, z, 0, in, &value), SUBMOD_ENUMERIC,
                 "F - z overflows");
    ck_assert(value == 7 && in[0] == 7);
    submod_fn_free(fn);
}
END_TEST

START_TEST(sum_of_heavy_cuts)
{
    submod_fn *parts[2] = {cut_of(1.5e308), cut_of(1.5e308)}, *fn = NULL;
    submod_status status = submod_fn_sum(parts, NULL, 2, &fn);
    double u[N] = {7}, x[N] = {1, 2, 3};
    status = status ? status : submod_prox(fn, x, 1, u, NULL, NULL, NULL, NULL);
    assert_error(status, SUBMOD_ENUMERIC, "overflow");
    ck_assert(u[0] == 7);
    submod_fn_free(parts[0]);
    submod_fn_free(parts[1]);
    submod_fn_free(fn);
}
END_TEST

START_TEST(weights_that_overflow)
{
    const uint8_t foreground[N] = {1, 0, 0};
    const double weight[N] = {1e308, 1e308, 1e308};
    submod_measure jaccard = submod_measure_jaccard();
    submod_fn *fn = NULL;
    assert_error(submod_fn_two_counts_weighted(N, foreground, weight, &jaccard, &fn),
                 SUBMOD_ENUMERIC, "overflow");
    ck_assert_ptr_null(fn);
}
END_TEST

static double no_number(double a, double b, double P, double n, void *ctx)
{
    (void)ctx;
    return a + b >= P + n ? NAN : a + b;
}

START_TEST(hinge_of_a_measure_that_fails)
{
    const float x[N] = {1, -2, 3};
    const uint8_t y[N] = {1, 0, 1};
    float u[N] = {7, 7, 7};
    submod_scores scores = submod_scores_f32(x, 1, 1, N);
    submod_labels labels = submod_labels_u8(y, 1, N);
    submod_gradient to = submod_gradient_dense(u, 1, N);
    submod_measure measure = submod_measure_custom(no_number, NULL);
    submod_loss_settings settings = submod_loss_defaults();
    settings.measure = &measure;
    assert_error(submod_prox_lovasz_hinge(&scores, &labels, 1, &to, NULL, &settings, NULL, NULL),
                 SUBMOD_ECALLBACK, "the measure");
    ck_assert(u[0] == 7);
}
END_TEST

int main(void)
{
    return RUN_TESTS("overflows", prox_of_large_numbers, prox_of_large_sums, minimum_of_no_sum,
                     minimum_of_a_scaled_function, minimum_of_what_is_scaled_and_moved,
                     minimum_of_a_large_difference, sum_of_heavy_cuts, weights_that_overflow,
                     hinge_of_a_measure_that_fails);
}
