/* Every error message of the proximal operators, minimisation, certificates and derivatives: the
 * call, its status and words of the message. Values and infos stay as they were. */
#include <math.h>
#include <stdlib.h>

#include <submod/select.h>

#include "support.h"

enum { N = 3 };

static const double x[N] = {0.5, -1, 2}, nan_x[N] = {0, NAN, 0}, zero[N];

static submod_fn *make_sqrt(void)
{
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_concave(N, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn));
    return fn;
}

static submod_fn *make_coverage(void) /* neither Jaccard nor a sum, and without a minimiser */
{
    const size_t start[N + 1] = {0, 1, 2, 4};
    const int32_t items[4] = {0, 1, 0, 2};
    const double weight[N] = {1, 2, 3};
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_coverage(N, start, items, 3, weight, &fn));
    return fn;
}

static submod_fn *make_modular(double w)
{
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_modular(N, (double[]){w, w, w}, &fn));
    return fn;
}

START_TEST(prox_settings)
{
    submod_fn *sqrt_fn = make_sqrt(), *coverage = make_coverage();
    submod_prox_settings s = submod_prox_defaults();
    submod_prox_info info = {.gap = 7};
    double u[N];
    s.method = (submod_prox_method)99;
    assert_error(submod_prox(sqrt_fn, x, 1, u, NULL, &s, &info, NULL), SUBMOD_EINVAL,
                 "method = 99 is unknown");
    s = submod_prox_defaults();
    s.tolerance = -1;
    assert_error(submod_prox(sqrt_fn, x, 1, u, NULL, &s, &info, NULL), SUBMOD_EINVAL,
                 "tolerance = -1 must be >= 0");
    s = submod_prox_defaults();
    s.time_limit = NAN;
    assert_error(submod_prox(sqrt_fn, x, 1, u, NULL, &s, &info, NULL), SUBMOD_ENONFINITE,
                 "time_limit");
    s = submod_prox_defaults();
    s.method = SUBMOD_PROX_JACCARD;
    assert_error(submod_prox(coverage, x, 1, u, NULL, &s, &info, NULL), SUBMOD_EUNSUPPORTED,
                 "method 'Jaccard' cannot handle a coverage function");
    ck_assert(info.gap == 7);
    submod_fn_free(sqrt_fn);
    submod_fn_free(coverage);
}
END_TEST

START_TEST(prox_arguments)
{
    submod_fn *fn = make_sqrt(), *falling = make_modular(-1);
    submod_prox_settings hinge = submod_prox_defaults();
    submod_prox_info info = {.gap = 7};
    double u[N];
    hinge.hinge = 1;
    assert_error(submod_prox(NULL, x, 1, u, NULL, NULL, &info, NULL), SUBMOD_EINVAL, "fn is NULL");
    assert_error(submod_prox(fn, NULL, 1, u, NULL, NULL, &info, NULL), SUBMOD_EINVAL, "x is NULL");
    assert_error(submod_prox(fn, x, 0, u, NULL, NULL, &info, NULL), SUBMOD_EINVAL,
                 "lambda = 0 must be > 0");
    assert_error(submod_prox(fn, x, NAN, u, NULL, NULL, &info, NULL), SUBMOD_ENONFINITE, "lambda");
    assert_error(submod_prox(fn, nan_x, 1, u, NULL, NULL, &info, NULL), SUBMOD_ENONFINITE,
                 "x[1] is nan");
    assert_error(submod_prox(falling, x, 1, u, NULL, &hinge, &info, NULL), SUBMOD_EINVAL,
                 "hinge needs a monotone function");
    assert_error(submod_prox(falling, x, 1e-310, u, NULL, NULL, &info, NULL), SUBMOD_ENUMERIC,
                 "overflows");
    ck_assert(info.gap == 7);
    submod_fn_free(fn);
    submod_fn_free(falling);
}
END_TEST

START_TEST(max_affine)
{
    const double a[2 * N] = {1, 2, 3, 0, 1, 0}, huge[2 * N] = {1e308, -1e308, 1e308, 0, 1, 0};
    const double b[2] = {0, 1};
    double u[N], weights[2] = {-1, 2};
    submod_prox_info info = {.gap = 7};
    assert_error(submod_prox_max_affine(0, N, a, b, x, 1, u, NULL, &info, NULL), SUBMOD_EINVAL,
                 "m and n must be > 0");
    assert_error(submod_prox_max_affine(SIZE_MAX, N, a, b, x, 1, u, NULL, &info, NULL),
                 SUBMOD_EINVAL, "m * n is too large");
    assert_error(submod_prox_max_affine(2, N, a, b, x, 1, u, weights, &info, NULL), SUBMOD_EINVAL,
                 "weights[0] = -1 must be >= 0");
    assert_error(submod_prox_max_affine(2, N, a, b, nan_x, 1, u, NULL, &info, NULL),
                 SUBMOD_ENONFINITE, "x[1] is nan");
    assert_error(submod_prox_max_affine(2, N, a, b, x, -1, u, NULL, &info, NULL), SUBMOD_EINVAL,
                 "lambda = -1 must be > 0");
    assert_error(submod_prox_max_affine(2, N, huge, b, huge, 1e300, u, NULL, &info, NULL),
                 SUBMOD_ENUMERIC, "too large");
    ck_assert(info.gap == 7);
}
END_TEST

START_TEST(minimisation)
{
    submod_fn *coverage = make_coverage(), *large = make_modular(1.7e308);
    submod_sfm_settings s = submod_sfm_defaults();
    submod_sfm_info info = {.gap = 7};
    assert_error(submod_sfm(NULL, NULL, NULL, NULL, NULL, &info, NULL), SUBMOD_EINVAL,
                 "fn is NULL");
    s.method = (submod_sfm_method)99;
    assert_error(submod_sfm(coverage, NULL, NULL, NULL, &s, &info, NULL), SUBMOD_EINVAL,
                 "method = 99 is unknown");
    s.method = SUBMOD_SFM_MINIMIZER;
    assert_error(submod_sfm(coverage, NULL, NULL, NULL, &s, &info, NULL), SUBMOD_EUNSUPPORTED,
                 "has no minimiser of its own");
    s.method = SUBMOD_SFM_SUM;
    assert_error(submod_sfm(coverage, NULL, NULL, NULL, &s, &info, NULL), SUBMOD_EUNSUPPORTED,
                 "is no sum");
    s = submod_sfm_defaults();
    s.tolerance = INFINITY;
    assert_error(submod_sfm(coverage, NULL, NULL, NULL, &s, &info, NULL), SUBMOD_EINVAL,
                 "must be finite and >= 0");
    ck_assert(info.gap == 7);
    submod_fn_free(coverage);
    submod_fn_free(large);
}
END_TEST

START_TEST(certificates)
{
    int32_t orders[N] = {2, 0, 1}, repeated[N] = {2, 0, 2};
    double one = 1, minus = -1, none = 0, half = 0.5;
    submod_fn *fn = make_sqrt();
    const submod_combination good = {N, 1, orders, &one}, *c = &good;
    const struct {
        submod_combination given;
        const char *message;
    } refused[] = {{{0}, "the orders must have 3 elements"},
                   {{N, 1, NULL, &one}, "must have orders, weights"},
                   {{N, 1, repeated, &one}, "occurs twice"},
                   {{N, 1, orders, &minus}, "weights[0] = -1"},
                   {{N, 1, orders, &none}, "the weights sum to 0"},
                   {{N, 1, orders, &half}, "they must sum to 1"}};
    submod_certificate_report report = {.gap = 7};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_error(submod_certificate_check(fn, x, 1, x, x, &refused[i].given, &report),
                     SUBMOD_EINVAL, refused[i].message);
    }
    assert_error(submod_certificate_check(NULL, x, 1, x, x, c, &report), SUBMOD_EINVAL, "is NULL");
    assert_error(submod_certificate_check(fn, x, 0, x, x, c, &report), SUBMOD_EINVAL, "lambda = 0");
    assert_error(submod_certificate_check(fn, x, 1, nan_x, x, c, &report), SUBMOD_ENONFINITE,
                 "u[1] is nan");
    ck_assert(report.gap == 7);
    submod_fn_free(fn);
}
END_TEST

START_TEST(points)
{
    const uint8_t mask[N] = {1, 0, 1};
    const double none[N] = {1, 0, 1}, all[N] = {0x1p64, 1, 1}, one[N] = {1, 1, 1};
    double u[N];
    assert_error(
        submod_prox_points(&(submod_points){N, x, mask, none}, NULL, 1, u, NULL, NULL, NULL),
        SUBMOD_EINVAL, "multiplicity[1] = 0");
    assert_error(
        submod_prox_points(&(submod_points){N, x, mask, all}, NULL, 1, u, NULL, NULL, NULL),
        SUBMOD_ENUMERIC, "multiplicity[2] = 1 must be at least 2^-52");
    assert_error(submod_prox_points(&(submod_points){(size_t)1 << 31, x, mask, one}, NULL, 1, u,
                                    NULL, NULL, NULL),
                 SUBMOD_EINVAL, "must be <= 2^31 - 1");
    assert_error(
        submod_prox_points(&(submod_points){N, nan_x, mask, one}, NULL, 1, u, NULL, NULL, NULL),
        SUBMOD_ENONFINITE, "value[1] is nan");
}
END_TEST

START_TEST(hinge_layer)
{
    const float score[N] = {1, 2, 3}, weight[N] = {1, 1, 1};
    const uint8_t mask[N] = {1, 0, 1};
    float moved[N];
    submod_scores scores = submod_scores_f32(score, 1, 1, N);
    submod_labels labels = submod_labels_u8(mask, 1, N);
    submod_gradient to = submod_gradient_dense(moved, 1, N);
    submod_pixel_weights weights = submod_pixel_weights_f32(weight, 1, N);
    submod_loss_settings s = submod_loss_defaults();
    s.pixel_weights = &weights;
    assert_error(submod_prox_hinge_layer(&scores, &labels, 1, &to, NULL, &s, NULL, NULL, NULL),
                 SUBMOD_EUNSUPPORTED, "pixel_weights must be NULL");
    assert_error(submod_prox_hinge_layer(&scores, &labels, 0, &to, NULL, NULL, NULL, NULL, NULL),
                 SUBMOD_EINVAL, "lambda = 0");
}
END_TEST

START_TEST(derivatives)
{
    submod_fn *large = make_modular(1e300);
    const int32_t block[N] = {0, 1, 2};
    const double huge[N] = {1e300, 1, 1};
    double by[N] = {7}, by_t = 7;
    assert_error(submod_prox_vjp(
                     &(submod_prox_point){.n = submod_fn_size(large), .lambda = 1, .block = block},
                     huge, &(submod_prox_derivatives){.by_function = &by_t, .function = large},
                     NULL),
                 SUBMOD_ENUMERIC, "G v / lambda overflows");
    assert_error(
        submod_prox_vjp(&(submod_prox_point){.n = N, .lambda = 1e-10, .block = block, .s = zero},
                        huge, &(submod_prox_derivatives){.by_modular = by}, NULL),
        SUBMOD_ENUMERIC, "v / lambda overflows");
    assert_error(
        submod_prox_vjp(&(submod_prox_point){.n = N, .lambda = 1, .block = block, .s = huge}, huge,
                        &(submod_prox_derivatives){.by_lambda = &by_t}, NULL),
        SUBMOD_ENUMERIC, "s v / lambda^2 overflows");
    submod_fn_free(large);
}
END_TEST

int main(void)
{
    return RUN_TESTS("prox_refusals", prox_settings, prox_arguments, max_affine, minimisation,
                     certificates, points, hinge_layer, derivatives);
}
