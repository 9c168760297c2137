/* Refusals that the other tests do not come across, layer by layer: sizes beyond what is possible,
 * numbers that overflow on the way, certificates that are none, NULL. */
#include <math.h>
#include <string.h>

#include "combinations.h"
#include "support.h"

static const size_t beyond = (size_t)1 << 31;

/* ---- functions, losses, metrics ---- */

START_TEST(functions)
{
    submod_fn *fn = NULL;
    const int32_t zero[1] = {0};
    const double one[1] = {1};
    assert_error(submod_fn_cut(1, beyond, zero, zero, one, 0, &fn), SUBMOD_EUNSUPPORTED,
                 "2^31 - 1");
    ck_assert_ptr_null(fn);
}
END_TEST

START_TEST(datasets)
{
    const float x[2] = {0, 1};
    const uint8_t y[1] = {0};
    float g[2];
    submod_scores scores = submod_scores_f32(x, 1, 2, 1);
    submod_labels labels = submod_labels_u8(y, 1, 1);
    submod_gradient to = submod_gradient_dense(g, 2, 1);
    double loss = 7;
    assert_error(submod_dataset_reset(NULL), SUBMOD_EINVAL, "dataset is NULL");
    assert_error(submod_dataset_add(NULL, &scores, &labels, NULL, NULL), SUBMOD_EINVAL,
                 "dataset is NULL");
    assert_error(submod_dataset_solve(NULL, &loss, NULL, NULL), SUBMOD_EINVAL, "dataset is NULL");
    assert_error(submod_dataset_gradient(NULL, &scores, &labels, &to, NULL, NULL), SUBMOD_EINVAL,
                 "dataset is NULL");
    ck_assert(loss == 7);
    submod_dataset *of_three = NULL;
    ck_assert_ok(submod_dataset_create(3, 0.1, &of_three));
    assert_error(submod_dist_dataset_add(NULL, of_three, &scores, &labels, NULL, NULL),
                 SUBMOD_EINVAL, "scores have 2 classes, the dataset has 3");
    submod_dataset_free(of_three);
}
END_TEST

START_TEST(counts)
{
    const int64_t full[4] = {INT64_MAX, 0, 0, 0};
    const uint8_t y[1] = {1};
    submod_labels labels = submod_labels_u8(y, 1, 1);
    submod_confusion *confusion = NULL;
    ck_assert_ok(submod_confusion_create(2, &confusion, NULL));
    ck_assert_ok(submod_confusion_add_counts(confusion, full));
    assert_error(submod_confusion_add(confusion, &labels, &labels), SUBMOD_ENUMERIC,
                 "would exceed 2^63 - 1");
    ck_assert(submod_confusion_counts(confusion)[3] == 0);
    submod_confusion_free(confusion);
}
END_TEST

START_TEST(words_of_another_stream)
{
    enum { CLASSES = 2, WORDS = 64 };
    uint64_t words[WORDS] = {0};
    size_t count = WORDS;
    submod_miou *miou = NULL;
    const double mean = -1;
    ck_assert_ok(submod_miou_create(CLASSES, &miou, NULL));
    ck_assert_ok(submod_miou_words(miou, NULL, &count));
    ck_assert_uint_le(count, WORDS);
    ck_assert_ok(submod_miou_words(miou, words, &count));
    for (size_t i = 0; i < 4; i++) {
        uint64_t kept = words[count - 1 - i];
        memcpy(&words[count - 1 - i], &mean, sizeof mean);
        submod_status status = submod_miou_set_words(miou, words, count);
        ck_assert(status == SUBMOD_OK || strstr(submod_last_error(), "not means of IoUs"));
        ck_assert(i % 2 == 0 || status == SUBMOD_EINVAL); /* sums come before their counts */
        words[count - 1 - i] = kept;
    }
    submod_miou_free(miou);
}
END_TEST

/* Breaks after *ctx calls. */
static double breaking(double a, double b, double P, double N, void *ctx)
{
    int *left = ctx;
    *left -= *left >= 0;
    return *left < 0 ? NAN : (a + b) / (P + N);
}

START_TEST(measures)
{
    int left = 1 << 30;
    submod_measure measure = submod_measure_custom(&(submod_measure_ops){.value = breaking}, &left),
                   strange = measure;
    submod_check_report report;
    strange.type = (submod_measure_type)9;
    assert_error(submod_measure_check(&strange, 1, 1, &report, NULL), SUBMOD_EINVAL, "type = 9");
    assert_error(submod_measure_check(&measure, UINT64_MAX, 1, &report, NULL), SUBMOD_EINVAL,
                 "at most 2^53");
}
END_TEST

/* ---- prox ---- */

START_TEST(sizes_of_prox)
{
    const double one[1] = {1};
    const uint8_t foreground[1] = {1};
    const double pixels[1] = {1};
    assert_error(submod_prox_points(&(submod_points){beyond, one, foreground, pixels}, NULL, 1,
                                    NULL, NULL, NULL, NULL),
                 SUBMOD_EINVAL, "2^31 - 1");
    assert_error(submod_prox_max_affine(SIZE_MAX / 8, 2, one, one, one, 1, NULL, NULL, NULL, NULL),
                 SUBMOD_EINVAL, "m * n is too large");
}
END_TEST

static void prox_overflows(submod_fn *fn, submod_prox_method method, const double *x, double lambda,
                           const char *words)
{
    submod_prox_settings settings = submod_prox_defaults();
    double u[2] = {7, 7};
    settings.method = method;
    assert_error(submod_prox(fn, x, lambda, u, NULL, &settings, NULL, NULL), SUBMOD_ENUMERIC,
                 words);
    ck_assert(u[0] == 7 && u[1] == 7);
    submod_fn_free(fn);
}

START_TEST(overflow_in_prox)
{
    submod_fn *root = NULL, *shifted = NULL, *cut = NULL;
    ck_assert_ok(submod_fn_concave(2, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &root));
    ck_assert_ok(combine_plus(root, (double[]){0, 1e300}, &shifted));
    submod_fn_free(root);
    prox_overflows(shifted, SUBMOD_PROX_CARDINALITY, (double[]){0, 0}, 1e-10,
                   "F / lambda overflows");
    ck_assert_ok(submod_fn_cut(2, 1, (int32_t[]){0}, (int32_t[]){1}, (double[]){1}, 0, &cut));
    prox_overflows(cut, SUBMOD_PROX_DECOMPOSITION, (double[]){1e308, -1e308}, 10,
                   "lambda x overflows");
    /* One way along a heavy arc and back: gains of 1 in the first order, of 1e200 in the next. */
    ck_assert_ok(submod_fn_cut(2, 1, (int32_t[]){1}, (int32_t[]){0}, (double[]){1e200}, 1, &cut));
    ck_assert_ok(combine_plus(cut, (double[]){1, -1}, &shifted));
    prox_overflows(shifted, SUBMOD_PROX_MIN_NORM, (double[]){0, 0}, 1, "differ too much in size");
    prox_overflows(cut, SUBMOD_PROX_MIN_NORM, (double[]){1e308, 0}, 10, "lambda x overflows");
}
END_TEST

/* A combination as no honest solver leaves it: the check does not trust them. */
START_TEST(certificates_that_are_none)
{
    int32_t orders[4] = {0, 1, 1, 0};
    double weights[2];
    submod_combination combination = {.n = 2, .count = 2, .orders = orders, .weights = weights};
    submod_certificate_report report = {.gap = 7};
    const double far[2] = {1e200, 0}, x[2] = {0, 0};
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_concave(2, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn));
    weights[0] = -0.5, weights[1] = 1.5;
    assert_error(submod_certificate_check(fn, x, 1, x, x, &combination, &report), SUBMOD_EINVAL,
                 "weights[0] = -0.5");
    weights[0] = 0.5, weights[1] = 0.25;
    assert_error(submod_certificate_check(fn, x, 1, x, x, &combination, &report), SUBMOD_EINVAL,
                 "weights sum to 0.75");
    weights[1] = 0.5;
    assert_error(submod_certificate_check(fn, far, 1, x, x, &combination, &report), SUBMOD_ENUMERIC,
                 "objective overflows");
    ck_assert(report.gap == 7);
    ck_assert_ok(submod_certificate_check(fn, x, 1, x, x, &combination, &report));
    submod_fn_free(fn);
}
END_TEST

/* ---- optimisers: f = <g, x> with a huge g, and a prox that jumps from end to end ---- */

static submod_status steep(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    (void)ctx;
    (void)batch;
    (void)x;
    *value = 0;
    *g = 1e200;
    return SUBMOD_OK;
}

static submod_status far_end(void *ctx, size_t batch, const double *x, double lambda, double *u)
{
    (void)ctx;
    (void)batch;
    (void)lambda;
    *u = *x > 0 ? -1.7e308 : 1.7e308;
    return SUBMOD_OK;
}

static const submod_problem wild = {.dimension = 1, .subgradient = steep, .prox = far_end};

START_TEST(descent_of_a_wild_problem)
{
    submod_descent_settings s = submod_descent_defaults();
    submod_step *step = NULL;
    double x = 1e308;
    ck_assert_ok(submod_step_gd(1, &step));
    s.schedule = submod_schedule_constant(1);
    s.direction = SUBMOD_DIRECTION_PROX;
    s.lambda = NAN;
    assert_error(submod_descend(&wild, step, &x, &s, NULL, NULL), SUBMOD_ENONFINITE,
                 "lambda = nan must be finite");
    s.lambda = 1;
    assert_error(submod_descend(&wild, step, &x, &s, NULL, NULL), SUBMOD_ENUMERIC,
                 "direction of iteration 0 overflows");
    ck_assert(x == 1e308);
    submod_step_free(step);
}
END_TEST

START_TEST(fista_on_a_wild_problem)
{
    submod_fista_settings s = submod_fista_defaults();
    double x = 1;
    s.restart = 0;
    assert_error(submod_fista(&wild, &x, &s, NULL, NULL), SUBMOD_ENUMERIC, "step overflows");
    ck_assert(isfinite(x));
}
END_TEST

START_TEST(planes_of_a_wild_problem)
{
    submod_bundle_settings s = submod_bundle_defaults();
    double x = 1e200;
    s.radius = 1;
    assert_error(submod_bundle(&wild, &x, &s, NULL, NULL), SUBMOD_ENUMERIC, "a plane overflows");
    ck_assert(x == 1e200);
}
END_TEST

static submod_status no_direction(void *ctx, size_t batch, const double *x, double *value,
                                  double *g)
{
    steep(ctx, batch, x, value, g);
    *g = NAN;
    return SUBMOD_OK;
}

START_TEST(a_problem_without_a_direction)
{
    submod_problem problem = wild;
    problem.subgradient = no_direction;
    submod_descent_settings s = submod_descent_defaults();
    submod_step *step = NULL;
    double x = 1;
    ck_assert_ok(submod_step_gd(1, &step));
    s.schedule = submod_schedule_constant(1);
    assert_error(submod_descend(&problem, step, &x, &s, NULL, NULL), SUBMOD_ECALLBACK,
                 "the problem's subgradient returned nan at iteration 0");
    ck_assert(x == 1);
    submod_step_free(step);
}
END_TEST

/* ---- the GPU's calls, up to where a device is needed ---- */

START_TEST(gpu)
{
    static _Alignas(256) unsigned char workspace[1 << 16];
    const float x[2] = {0, 1};
    const uint8_t y[1] = {0};
    submod_scores scores = submod_scores_f32(x, 1, 2, 1), many = scores;
    submod_labels labels = submod_labels_u8(y, 1, 1);
    submod_loss_settings s = submod_loss_defaults();
    submod_gpu_result result;
    submod_gpu_place place = {.workspace_bytes = sizeof workspace - 1};
    size_t bytes = 7;
    assert_error(submod_gpu_result_status(NULL), SUBMOD_EINVAL, "result is NULL");
    assert_error(submod_gpu_loss_workspace(SUBMOD_GPU_SOFTMAX, NULL, &bytes, NULL), SUBMOD_EINVAL,
                 "scores is NULL");
    assert_error(submod_gpu_loss_workspace((submod_gpu_loss)9, &scores, &bytes, NULL),
                 SUBMOD_EINVAL, "loss = 9");
    many.batch = beyond / 2;
    many.classes = 4;
    many.batch_stride = 0;
    s.per_image = 1;
    assert_error(submod_gpu_loss_workspace(SUBMOD_GPU_SOFTMAX, &many, &bytes, &s),
                 SUBMOD_EUNSUPPORTED, "2^31 - 1");
    ck_assert_uint_eq(bytes, 7);
    assert_error(submod_gpu_lovasz_softmax(&scores, &labels, &result, NULL, NULL, &place),
                 SUBMOD_EINVAL, "workspace is NULL");
    place.workspace = workspace + 1;
    assert_error(submod_gpu_lovasz_softmax(&scores, &labels, &result, NULL, NULL, &place),
                 SUBMOD_EINVAL, "must be aligned to 256");
}
END_TEST

int main(void)
{
    return RUN_TESTS("refusals", functions, datasets, counts, words_of_another_stream, measures,
                     sizes_of_prox, overflow_in_prox, certificates_that_are_none,
                     descent_of_a_wild_problem, fista_on_a_wild_problem, planes_of_a_wild_problem,
                     a_problem_without_a_direction, gpu);
}
