/* The mathematics of the studies against slow and obvious computations, and how their values get
 * into the report. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bias/model.h"
#include "common/learner.h"
#include "common/net.h"
#include "common/paired.h"
#include "common/quantile.h"
#include "common/study.h"
#include "common/summary.h"
#include "dataset/train.h"
#include "last_layer/problem.h"
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

/* The density of Student's t, integrated by Simpson's rule: half of what lies within [-x, x]. */
static double below_quantile(size_t freedom, double x)
{
    enum { PARTS = 20000 };
    double n = (double)freedom, sum = 0, width = x / PARTS;
    double scale = exp(lgamma((n + 1) / 2) - lgamma(n / 2)) / sqrt(n * acos(-1));
    for (int k = 0; k <= PARTS; k++) {
        double t = k * width;
        double weight = k == 0 || k == PARTS ? 1 : k % 2 ? 4 : 2;
        sum += weight * pow(1 + t * t / n, -(n + 1) / 2);
    }
    return 0.5 + scale * sum * width / 3;
}

START_TEST(student_quantiles)
{
    for (size_t freedom = 1; freedom < 200; freedom += freedom < 12 ? 1 : 17) {
        double q = paired_quantile(freedom);
        ck_assert_double_lt(below_quantile(freedom, q - 0.002), 0.975);
        ck_assert_double_gt(below_quantile(freedom, q + 0.002), 0.975);
    }
}
END_TEST

START_TEST(paired_differences)
{
    const double d[] = {1, 2, 3, 6};
    paired p = paired_of(d, 4); /* deviation sqrt(14/3), so the error of the mean is sqrt(14/12) */
    ck_assert_double_eq_tol(p.mean, 3, 1e-12);
    ck_assert_double_eq_tol(p.high - 3, 3.182 * sqrt(14.0 / 12), 1e-9);
    ck_assert_double_eq_tol(3 - p.low, p.high - 3, 1e-12);
    ck_assert_int_eq(paired_above(p, -1), STUDY_HELD);
    ck_assert_int_eq(paired_above(p, 0), STUDY_NOT_SHOWN);
    ck_assert_int_eq(paired_above(p, 7), STUDY_NOT_HELD);
    ck_assert_int_eq(paired_below(p, 7), STUDY_HELD);
    ck_assert_int_eq(paired_below(p, 0), STUDY_NOT_SHOWN);
    ck_assert_int_eq(paired_below(p, -1), STUDY_NOT_HELD);
    /* Equal numbers show neither that one is larger nor that it is not. */
    const double none[] = {0, 0, 0};
    ck_assert_int_eq(paired_above(paired_of(none, 3), 0), STUDY_NOT_SHOWN);
    ck_assert_int_eq(paired_below(paired_of(none, 3), 0), STUDY_NOT_SHOWN);
    p = paired_of(d, 1);
    ck_assert(p.mean == 1 && isinf(p.low) && isinf(p.high));
    ck_assert_int_eq(paired_above(p, 0), STUDY_NOT_SHOWN);
    /* The jackknife of a mean is the interval of the mean. */
    double without[4];
    for (int i = 0; i < 4; i++) {
        without[i] = (12 - d[i]) / 3;
    }
    paired j = paired_jackknife(3, without, 4);
    p = paired_of(d, 4);
    ck_assert_double_eq_tol(j.low, p.low, 1e-9);
    ck_assert_double_eq_tol(j.high, p.high, 1e-9);
}
END_TEST

START_TEST(quantiles)
{
    double x[] = {5, 1, 4, 2, 3};
    ck_assert(quantile(x, 5, 0) == 1);
    ck_assert(quantile(x, 5, 0.5) == 3);
    ck_assert_double_eq_tol(quantile(x, 5, 0.1), 1.4, 1e-12);
    ck_assert(quantile(x, 5, 1) == 5);
    ck_assert(quantile(x, 1, 0.7) == 1);
    double y[] = {INFINITY, 2, 1};
    ck_assert(quantile(y, 3, 0.5) == 2);
    ck_assert(isinf(quantile(y, 3, 0.9)));
}
END_TEST

/* ---- the report ---- */

/* Fills the notes in; false where study_fill says false. Its messages go to stderr. */
static bool fill(const char *text, const study_values *values, char *to, size_t size)
{
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    bool good = study_fill(file, text, values);
    rewind(file);
    to[fread(to, 1, size - 1, file)] = '\0';
    fclose(file);
    return good;
}

START_TEST(notes_are_filled)
{
    char text[100];
    study_values values = {0};
    study_set(&values, "draws", "%d", 12);
    study_set(&values, "draw", "'%s'", "one");
    ck_assert(fill("{draws} of {draw}: {draws}.\n", &values, text, sizeof text));
    ck_assert_str_eq(text, "12 of 'one': 12.\n");
    ck_assert(fill("no value", &values, text, sizeof text));
    ck_assert_str_eq(text, "no value");
    ck_assert(!fill("{drawn}", &values, text, sizeof text));
    ck_assert(!fill("{}", &values, text, sizeof text));
    ck_assert(!fill("{draws\n}", &values, text, sizeof text));
    ck_assert(!fill("at the end {draws", &values, text, sizeof text));
}
END_TEST

/* A quick run cannot be mistaken for a full one. */
START_TEST(stamps)
{
    char text[120];
    study_options options = {.seed = 18446744073709551615u, .date = "2026-11-18"};
    study_stamp(&options, text, sizeof text);
    ck_assert_str_eq(text,
                     "version " SUBMOD_VERSION_STRING ", seed 18446744073709551615, 2026-11-18");
    options.quick = true;
    study_stamp(&options, text, sizeof text);
    ck_assert_str_eq(text, "quick run: verdicts are not meaningful; version " SUBMOD_VERSION_STRING
                           ", seed 18446744073709551615, 2026-11-18");
}
END_TEST

/* What does not fit is not published without a word. */
START_TEST(values_that_do_not_fit)
{
    study_options options = {.current = &studies[0], .out = "study-values"};
    study_values many = {0}, wide = {0}, named = {0};
    for (int k = 0; k <= STUDY_VALUES; k++) {
        ck_assert(!many.overflow);
        study_set(&many, "n", "%d", k);
    }
    study_set(&wide, "n", "%100d", 1);
    study_set(&named, "a_name_that_is_longer_than_a_name_may_be", "1");
    ck_assert(many.overflow && wide.overflow && named.overflow);
    ck_assert(!study_publish(&options, &many));
}
END_TEST

START_TEST(studies_have_titles)
{
    for (size_t k = 0; k < studies_count; k++) {
        size_t length;
        const char *title = study_title(&studies[k], &length);
        ck_assert_msg(strncmp(studies[k].notes, "# ", 2) == 0 && title == studies[k].notes + 2 &&
                          length > 0 && title[length] == '\n',
                      "%s: notes.md does not begin with '# TITLE'", studies[k].name);
    }
}
END_TEST

/* The least value on a fine grid: no surrogate and no discrete loss goes below its argmin's. */
START_TEST(bias_minima)
{
    bias_data *data = malloc(sizeof *data);
    ck_assert_ptr_nonnull(data);
    for (uint64_t seed = 1; seed <= 2; seed++) {
        bias_generate(seed, data);
        for (int loss = 0; loss < BIAS_LOSSES; loss++) {
            double b, least;
            ck_assert(bias_argmin(data, (bias_loss)loss, &b));
            ck_assert(bias_value(data, (bias_loss)loss, b, &least));
            int steps = loss == BIAS_JACCARD ? 500 : 40;
            for (int k = 0; k <= steps; k++) {
                double value, x = -2 + 4.0 * k / steps;
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

/* ---- the model ---- */
enum { PIXELS = 150, FEATURES = 5, CLASSES = 4 };

/* sum over the scores of weight * score + score^2 / 2, whose gradient is weight + score. */
static double objective(const net_shape *shape, const double *w, const float *x,
                        const float *weight, float *units, float *scores)
{
    double sum = 0;
    net_forward(shape, w, x, PIXELS, units, scores);
    for (size_t i = 0; i < (size_t)CLASSES * PIXELS; i++) {
        double s = (double)scores[i];
        sum += (double)weight[i] * s + s * s / 2;
    }
    return sum;
}

static void fill_normal(submod_rng *rng, float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        x[i] = (float)submod_rng_normal(rng);
    }
}

START_TEST(model_gradient)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    for (size_t hidden = 0; hidden <= 6; hidden += 6) {
        net_shape shape = {FEATURES, hidden, CLASSES};
        size_t size = net_size(&shape);
        ck_assert_uint_eq(size, hidden ? 6 * 6 + 4 * 7 : 4 * 6);
        static float x[FEATURES * PIXELS], weight[CLASSES * PIXELS], gradient[CLASSES * PIXELS];
        static float units[6 * PIXELS], scores[CLASSES * PIXELS];
        double w[64], g[64] = {0};
        fill_normal(&rng, x, FEATURES * PIXELS);
        fill_normal(&rng, weight, CLASSES * PIXELS);
        net_start(&shape, &rng, w);
        for (size_t k = 0; k < size; k++) {
            w[k] += 0.1 * submod_rng_normal(&rng);
        }
        objective(&shape, w, x, weight, units, scores);
        for (size_t i = 0; i < (size_t)CLASSES * PIXELS; i++) {
            gradient[i] = weight[i] + scores[i];
        }
        net_backward(&shape, w, x, PIXELS, units, gradient, g);
        for (size_t k = 0; k < size; k++) {
            const double h = 1e-3; /* scores are floats; kinks of the units are rare and small */
            double kept = w[k];
            w[k] = kept + h;
            double up = objective(&shape, w, x, weight, units, scores);
            w[k] = kept - h;
            double down = objective(&shape, w, x, weight, units, scores);
            w[k] = kept;
            double slope = (up - down) / (2 * h);
            ck_assert_msg(fabs(slope - g[k]) <= 0.02 * (1 + fabs(slope)), "%zu: %g, not %g", k,
                          g[k], slope);
        }
    }
}
END_TEST

START_TEST(model_scores)
{
    net_shape shape = {2, 0, 3};
    const double w[] = {1, 2, 0.5, -1, 0, 0, 0, 1, 3};
    const float x[] = {1, 2, -1, 4}; /* two pixels: (1, -1), (2, 4) */
    float scores[6];
    uint8_t prediction[2];
    net_forward(&shape, w, x, 2, NULL, scores);
    const float expected[] = {-0.5F, 10.5F, -1, -2, 2, 7};
    for (int i = 0; i < 6; i++) {
        ck_assert_float_eq(scores[i], expected[i]);
    }
    net_predict(scores, 3, 2, prediction);
    ck_assert(prediction[0] == 2 && prediction[1] == 0);
    const float equal[] = {1, 1, 1};
    net_predict(equal, 3, 1, prediction);
    ck_assert_uint_eq(prediction[0], 0);
}
END_TEST

/* Training by what the study does lowers the loss it trains. */
START_TEST(learner_learns)
{
    image_sets sets;
    ck_assert(image_sets_make(7, SET_BATCH, &sets));
    net_shape shape = {SET_FEATURES, 4, SET_CLASSES};
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    learner l;
    ck_assert_int_eq(learner_make(&l, &shape, SET_PIXELS, SET_BATCH, &rng), SUBMOD_OK);
    double first = 0, last = 0;
    for (int k = 0; k < 20; k++) {
        for (size_t slot = 0; slot < SET_BATCH; slot++) {
            learner_show(&l, slot, sets.train.x + slot * SET_FEATURES * SET_PIXELS,
                         sets.train.label + slot * SET_PIXELS);
        }
        submod_scores scores = learner_scores(&l);
        submod_labels labels = learner_labels(&l);
        submod_gradient gradient = learner_gradient(&l);
        ck_assert_int_eq(submod_cross_entropy(&scores, &labels, &last, &gradient, NULL, l.work),
                         SUBMOD_OK);
        first = k == 0 ? last : first;
        ck_assert_int_eq(learner_move(&l, 0.03), SUBMOD_OK);
    }
    ck_assert_double_lt(last, 0.6 * first);
    learner_free(&l);
    image_sets_free(&sets);
}
END_TEST

/* ---- study dataset ---- */
START_TEST(set_times)
{
    for (size_t iterations = 1; iterations < 500; iterations += 7) {
        for (size_t k = 1; k < SET_CHECKS; k++) {
            ck_assert_uint_ge(set_check_time(iterations, k), set_check_time(iterations, k - 1));
        }
        ck_assert_uint_ge(set_check_time(iterations, 0), 1);
        ck_assert_uint_eq(set_check_time(iterations, SET_CHECKS - 1), iterations);
    }
}
END_TEST

START_TEST(set_scores)
{
    image_sets sets;
    set_score a[SET_CHECKS], b[SET_CHECKS], va, vb;
    ck_assert(image_sets_make(7, 16, &sets));
    for (int method = 0; method < SET_METHODS; method++) {
        ck_assert(set_train(&sets, (set_method)method, 0.1, 6, 3, a, &va));
        submod_set_num_threads(1);
        ck_assert(set_train(&sets, (set_method)method, 0.1, 6, 3, b, &vb));
        submod_set_num_threads(0);
        for (int k = 0; k < SET_CHECKS; k++) {
            ck_assert(a[k].image >= 0 && a[k].image <= 1);
            ck_assert(a[k].batch >= 0 && a[k].batch <= 1);
            ck_assert(a[k].dataset >= 0 && a[k].dataset <= 1);
            ck_assert(a[k].image == b[k].image && a[k].batch == b[k].batch &&
                      a[k].dataset == b[k].dataset);
        }
        ck_assert(va.image == vb.image && va.batch == vb.batch && va.dataset == vb.dataset);
    }
    image_sets_free(&sets);
}
END_TEST

/* The validation score is of the validation images: with these in the place of the test images it
 * is the last test score. */
START_TEST(set_validation)
{
    image_sets sets, swapped;
    set_score of[SET_CHECKS], other[SET_CHECKS], validation, unused;
    ck_assert(image_sets_make(8, 12, &sets));
    swapped = (image_sets){.train = sets.train, .validation = sets.test, .test = sets.validation};
    ck_assert(set_train(&sets, SET_CROSS_ENTROPY, 0.1, 6, 3, of, &validation));
    ck_assert(set_train(&swapped, SET_CROSS_ENTROPY, 0.1, 6, 3, other, &unused));
    ck_assert(validation.image == other[SET_CHECKS - 1].image);
    ck_assert(validation.dataset == other[SET_CHECKS - 1].dataset);
    ck_assert(unused.dataset == of[SET_CHECKS - 1].dataset);
    ck_assert(memcmp(sets.test.label, sets.validation.label, 12 * SET_PIXELS) != 0);
    image_sets_free(&sets);
}
END_TEST

/* ---- study last_layer ---- */

/* Of each of the parameters; the hinge is piecewise linear, so small steps see its slope. */
START_TEST(layer_gradient)
{
    layer_data train, validation;
    submod_problem p;
    /* Five images: one fills no batch and belongs to none, nor to f. */
    ck_assert(layer_synthetic(3, 5, 10, &train, &validation));
    ck_assert(layer_problem(&train, &validation, 2, LAYER_SUBGRADIENT, 0, &p));
    ck_assert_uint_eq(p.batches, 2);
    ck_assert_ptr_null(p.direction);
    double w[17], g[17], gradient[17], value, half[2];
    ck_assert_uint_eq(p.dimension, 17);
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    for (int i = 0; i < 17; i++) {
        w[i] = 0.2 * submod_rng_normal(&rng);
    }
    ck_assert_int_eq(p.subgradient(p.ctx, SUBMOD_FULL_BATCH, w, &value, gradient), SUBMOD_OK);
    ck_assert_int_eq(p.subgradient(p.ctx, 0, w, &half[0], g), SUBMOD_OK);
    ck_assert_int_eq(p.subgradient(p.ctx, 1, w, &half[1], g), SUBMOD_OK);
    ck_assert_double_eq_tol(value, (half[0] + half[1]) / 2, 1e-6);
    for (int i = 0; i < 17; i++) {
        const double h = 1e-3;
        double kept = w[i], up, down;
        w[i] = kept + h;
        ck_assert_int_eq(p.value(p.ctx, w, &up), SUBMOD_OK);
        w[i] = kept - h;
        ck_assert_int_eq(p.value(p.ctx, w, &down), SUBMOD_OK);
        w[i] = kept;
        ck_assert_double_eq_tol((up - down) / (2 * h), gradient[i], 0.02);
    }
    ck_assert_double_gt(layer_value_seconds(&p), 0);
    submod_problem_clear(&p);
    layer_data_free(&train);
    layer_data_free(&validation);
}
END_TEST

/* Scores without ties: looking nowhere is the gradient; the exact prox and Algorithm 2 then agree
 * too, and differ when they look further. */
START_TEST(layer_directions)
{
    layer_data train, validation;
    submod_problem p[3];
    ck_assert(layer_synthetic(5, 2, 10, &train, &validation));
    double w[17], value, g[17], d[3][17];
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    for (int i = 0; i < 17; i++) {
        w[i] = 0.2 * submod_rng_normal(&rng);
    }
    for (int far = 0; far < 2; far++) {
        double look = far ? 1 : 1e-7;
        double apart[2] = {0};
        for (int kind = LAYER_SUBGRADIENT; kind <= LAYER_ALGORITHM_2; kind++) {
            ck_assert(layer_problem(&train, &validation, 2, (layer_direction)kind, look, &p[kind]));
        }
        ck_assert_int_eq(p[0].subgradient(p[0].ctx, SUBMOD_FULL_BATCH, w, &value, g), SUBMOD_OK);
        for (int kind = LAYER_PROX; kind <= LAYER_ALGORITHM_2; kind++) {
            ck_assert_int_eq(p[kind].direction(p[kind].ctx, SUBMOD_FULL_BATCH, w, 10, d[kind]),
                             SUBMOD_OK);
            for (int i = 0; i < 17; i++) {
                apart[kind - 1] = fmax(apart[kind - 1], fabs(d[kind][i] - g[i]));
            }
        }
        for (int kind = 0; kind < 2; kind++) {
            ck_assert_msg(far ? apart[kind] > 1e-2 : apart[kind] < 1e-3, "look %g: %g", look,
                          apart[kind]);
        }
        for (int kind = 0; kind < 3; kind++) {
            submod_problem_clear(&p[kind]);
        }
    }
    layer_data_free(&train);
    layer_data_free(&validation);
}
END_TEST

/* Weights that follow the strengths find the discs better than none. */
START_TEST(layer_metric)
{
    layer_data train, validation;
    submod_problem p;
    ck_assert(layer_synthetic(8, 6, 16, &train, &validation));
    ck_assert(layer_problem(&train, &validation, 1, LAYER_SUBGRADIENT, 0, &p));
    double w[17] = {0}, nothing, found, value, g[17];
    ck_assert_int_eq(p.metric(p.ctx, w, &nothing), SUBMOD_OK);
    ck_assert_double_eq(nothing, 0); /* no score above 0, and no image without a disc */
    for (int k = 0; k < 200; k++) {
        ck_assert_int_eq(p.subgradient(p.ctx, SUBMOD_FULL_BATCH, w, &value, g), SUBMOD_OK);
        for (int i = 0; i < 17; i++) {
            w[i] -= 0.02 * g[i];
        }
    }
    ck_assert_int_eq(p.metric(p.ctx, w, &found), SUBMOD_OK);
    ck_assert_double_gt(found, 0.3);
    submod_problem_clear(&p);
    layer_data_free(&train);
    layer_data_free(&validation);
}
END_TEST

int main(void)
{
    return RUN_TESTS("studies", means_and_deviations, student_quantiles, paired_differences,
                     quantiles, notes_are_filled, stamps, values_that_do_not_fit,
                     studies_have_titles, bias_minima, bias_circles, model_gradient, model_scores,
                     learner_learns, set_times, set_scores, set_validation, layer_gradient,
                     layer_directions, layer_metric);
}
