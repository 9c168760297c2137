/* The Lovász losses and datasets by measures other than Jaccard: both engines against the
 * definition, a sort of doubles with F written down a second time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "defined.h"
#include "depth.h"
#include "measured.h"
#include "support.h"

/* ---- against the definition ---- */

/* Probabilities where they are wanted; coarse: few values, many ties. Exact in float. */
static batch some_batch(submod_rng *rng, kind k, size_t B, size_t C, size_t N, bool ignore,
                        bool coarse)
{
    batch d = random_batch(rng, k, B, C, N, ignore);
    bool probabilities = k == PROBABILITY || k == SIGMOID_PROBABILITY;
    for (size_t i = 0; i < B * C * N; i++) {
        double x = probabilities ? submod_rng_uniform(rng) : d.x[i];
        d.x[i] = (double)(float)(coarse ? floor(8 * x) / 8 : x);
    }
    return d;
}

/* The same bits with other numbers of threads. */
static void assert_threads(const batch *d, kind k, const submod_loss_settings *s, double loss,
                           const float *g)
{
    size_t n = d->B * d->C * d->N;
    float *h = malloc((n + 1) * sizeof *h);
    for (int count = 2; count <= 4; count++) {
        ck_assert_ok(submod_set_num_threads(count));
        ck_assert(call(d, k, h, s) == loss);
        ck_assert(call(d, k, NULL, s) == loss);
        ck_assert_mem_eq(g, h, n * sizeof *g);
    }
    free(h);
}

/* Loss, losses of groups and gradient; the loss within tolerance. */
static void check(const batch *d, kind k, const submod_loss_settings *given, measured *r,
                  double tolerance)
{
    size_t n = d->B * d->C * d->N, groups = given->per_image ? d->B : 1;
    double *wanted = malloc((n + 1) * sizeof *wanted), steepest;
    double *group_loss = malloc(2 * groups * sizeof *group_loss);
    float *g = malloc((n + 1) * sizeof *g);
    submod_loss_settings s = *given;
    const costs F = costs_of(r);
    submod_measure measure = measure_of(r);
    bool counts = s.engine == SUBMOD_ENGINE_HISTOGRAM;
    double loss =
        by_definition(d, k, &s, &F, counts ? s.bins : 0, wanted, &steepest, group_loss + groups);
    s.measure = &measure;
    s.group_loss = group_loss;
    ck_assert_ok(submod_set_num_threads(1));
    double now = call(d, k, g, &s);
    ck_assert_near(now, loss, tolerance);
    for (size_t i = 0; i < groups; i++) {
        ck_assert_near(group_loss[i], group_loss[groups + i], tolerance * (double)groups);
    }
    assert_gradient(d, k, g, wanted, steepest);
    assert_threads(d, k, &s, now, g);
    ck_assert_ok(submod_set_num_threads(0));
    free(wanted);
    free(group_loss);
    free(g);
}

static void check_engines(const batch *d, kind k, submod_loss_settings *s, measured *r)
{
    bool activated = k == SOFTMAX || k == SIGMOID;
    s->engine = SUBMOD_ENGINE_EXACT;
    check(d, k, s, r, activated ? 1e-6 : 1e-11);
    s->engine = SUBMOD_ENGINE_HISTOGRAM;
    s->bins = 64;
    check(d, k, s, r, 1e-11);
}

/* Groups, classes, class weights, ignored labels, few and many pixels, ties. Of an activation ties
 * are not ties in doubles, and where errors are in which bin is chance: the seed has none that
 * rounding moves. */
START_TEST(losses_are_those_of_the_definition)
{
    static const kind kinds[] = {SOFTMAX, SIGMOID, HINGE, PROBABILITY, SIGMOID_PROBABILITY};
    submod_rng rng;
    submod_rng_seed(&rng, 171);
    for (int i = 0; i < MEASURED; i++) {
        for (int j = 0; j < repeats(60); j++) {
            kind k = kinds[j % 5];
            bool ignore = submod_rng_below(&rng, 2), coarse = k >= HINGE && j % 3 == 0;
            size_t C = k == HINGE ? 1 : 3 + submod_rng_below(&rng, 2);
            size_t N = 1 + submod_rng_below(&rng, j % 4 ? 40 : 400);
            batch d = some_batch(&rng, k, 1 + submod_rng_below(&rng, 3), C, N, ignore, coarse);
            submod_loss_settings s = random_settings(&rng, ignore);
            check_engines(&d, k, &s, &measured_rows[i]);
            free_batch(&d);
        }
    }
}
END_TEST

/* Enough for several threads, for parts of a ranking, and, with few values, for ties that are
 * longer than a chunk of it. */
START_TEST(many_pixels)
{
    static const kind kinds[] = {HINGE, PROBABILITY, SIGMOID_PROBABILITY};
    submod_rng rng;
    submod_rng_seed(&rng, 172);
    for (int i = 0; i < MEASURED; i++) {
        for (int j = 0; j < 3; j++) {
            kind k = kinds[(i + j) % 3];
            batch d = some_batch(&rng, k, 2, k == HINGE ? 1 : 3, 40000, j % 2, j < 2);
            submod_loss_settings s = random_settings(&rng, j % 2);
            s.per_image = j == 1;
            check_engines(&d, k, &s, &measured_rows[i]);
            free_batch(&d);
        }
    }
}
END_TEST

/* ---- special cases ---- */

/* The labels of class 0 alone, or of all but that class, in both kinds of labels. */
static void label_all(batch *d, int64_t label)
{
    size_t labels = d->multilabel ? d->B * d->C * d->N : d->B * d->N;
    for (size_t i = 0; i < labels; i++) {
        d->y[i] = label;
    }
}

/* Without foreground, without background, and one pixel. */
START_TEST(one_label_alone)
{
    static const kind kinds[] = {HINGE, PROBABILITY, SIGMOID_PROBABILITY};
    submod_rng rng;
    submod_rng_seed(&rng, 173);
    for (int i = 0; i < MEASURED; i++) {
        for (int j = 0; j < 24; j++) {
            kind k = kinds[j % 3];
            size_t N = j < 6 ? 1 : 300;
            batch d = some_batch(&rng, k, 2, k == HINGE ? 1 : 3, N, false, j % 4 == 0);
            submod_loss_settings s = submod_loss_defaults();
            s.classes = j % 2 ? SUBMOD_CLASSES_ALL : SUBMOD_CLASSES_PRESENT;
            s.per_image = j % 4 > 1;
            label_all(&d, j % 8 < 4);
            check_engines(&d, k, &s, &measured_rows[i]);
            free_batch(&d);
        }
    }
}
END_TEST

/* With alpha = 0 background pixels cost nothing where there is no foreground. */
START_TEST(nothing_is_lost_without_foreground_if_alpha_is_0)
{
    const float x[3] = {0.9F, -0.3F, 2};
    const int64_t y[3] = {0, 0, 0};
    submod_scores scores = submod_scores_f32(x, 1, 1, 3);
    submod_labels labels = submod_labels_i64(y, 1, 3);
    submod_measure m = submod_tversky(0, 2);
    submod_loss_settings s = submod_loss_defaults();
    s.measure = &m;
    for (int engine = 0; engine < 2; engine++) {
        float g[3] = {7, 7, 7};
        submod_gradient to = submod_gradient_dense(g, 1, 3);
        double loss = 7;
        s.engine = (submod_engine)engine;
        ck_assert_ok(submod_lovasz_hinge(&scores, &labels, &loss, &to, &s, NULL, NULL));
        ck_assert(loss == 0 && g[0] == 0 && g[1] == 0 && g[2] == 0);
    }
}
END_TEST

/* The mean of all errors, whatever their order, so without a sort: loss and gradient by hand. */
START_TEST(hamming_is_the_mean_error)
{
    enum { B = 2, C = 3, N = 500, ALL = B * C * N };
    submod_rng rng;
    submod_rng_seed(&rng, 174);
    submod_measure hamming = submod_hamming();
    batch d = some_batch(&rng, PROBABILITY, B, C, N, false, false);
    submod_loss_settings s = submod_loss_defaults();
    s.classes = SUBMOD_CLASSES_ALL;
    s.measure = &hamming;
    float *x = as_floats(&d);
    submod_scores scores = submod_scores_f32(x, B, C, N);
    submod_labels labels = label_view(&d);
    submod_loss_info info;
    double mean = 0;
    for (size_t i = 0; i < ALL; i++) {
        bool foreground = d.y[i / (C * N) * N + i % N] == (int64_t)(i / N % C);
        mean += (foreground ? 1 - d.x[i] : d.x[i]) / ALL;
    }
    for (int engine = 0; engine < 2; engine++) {
        float g[ALL];
        s.engine = (submod_engine)engine;
        ck_assert_near(call(&d, PROBABILITY, g, &s), mean, engine ? s.delta : 1e-7);
        ck_assert_ok(call_views(PROBABILITY, &scores, &labels, NULL, NULL, &info, &s));
        ck_assert_uint_eq(info.sorted, 0);
        for (size_t i = 0; i < ALL; i++) {
            bool foreground = d.y[i / (C * N) * N + i % N] == (int64_t)(i / N % C);
            ck_assert(g[i] == (float)(foreground ? -1.0 / ALL : 1.0 / ALL));
        }
    }
    free(x);
    free_batch(&d);
}
END_TEST

/* Images without pixels, without images, and all of whose pixels are ignored. */
START_TEST(losses_of_groups_without_pixels)
{
    const float x[4] = {1, -2, 0.5F, 1};
    const int64_t y[4] = {1, 0, 9, 9};
    submod_loss_settings s = submod_loss_defaults();
    s.has_ignore = 1;
    s.ignore_index = 9;
    for (int j = 0; j < 4; j++) {
        double group_loss[3] = {7, 7, 7};
        submod_scores none = submod_scores_f32(x, 2, 1, 0), nobody = submod_scores_f32(x, 0, 1, 2);
        submod_scores scores = submod_scores_f32(x, 2, 1, 2);
        submod_labels no_labels = submod_labels_i64(y, 2, 0), labels = submod_labels_i64(y, 2, 2);
        submod_labels no_images = submod_labels_i64(y, 0, 2);
        s.per_image = j % 2;
        s.engine = (submod_engine)(j / 2);
        s.group_loss = group_loss;
        ck_assert_ok(submod_lovasz_hinge(&nobody, &no_images, NULL, NULL, &s, NULL, NULL));
        ck_assert(group_loss[0] == (s.per_image ? 7 : 0) && group_loss[1] == 7);
        ck_assert_ok(submod_lovasz_hinge(&none, &no_labels, NULL, NULL, &s, NULL, NULL));
        ck_assert(group_loss[0] == 0 && group_loss[1] == (s.per_image ? 0 : 7));
        double loss;
        ck_assert_ok(submod_lovasz_hinge(&scores, &labels, &loss, NULL, &s, NULL, NULL));
        ck_assert(loss == (s.per_image ? group_loss[0] / 2 : group_loss[0]));
        ck_assert(group_loss[1] == (s.per_image ? 0 : 7) && group_loss[2] == 7);
    }
}
END_TEST

/* ---- datasets ---- */

/* A dataset of these batches, the counts of all but the last times decay. */
static submod_dataset *dataset_of(const batch *d, size_t count, double decay,
                                  const submod_loss_settings *s)
{
    submod_dataset *all = NULL;
    ck_assert_ok(submod_dataset_create(d->C, 0.5 / 64, &all));
    for (size_t i = 0; i < count; i++) {
        float *x = as_floats(&d[i]);
        submod_scores scores = submod_scores_f32(x, d[i].B, d[i].C, d[i].N);
        submod_labels labels = label_view(&d[i]);
        ck_assert_ok(submod_dataset_scale(all, decay));
        ck_assert_ok(submod_dataset_add(all, &scores, &labels, s, NULL));
        free(x);
    }
    return all;
}

/* A batch that is its own dataset has the loss and the gradient of the histogram engine. */
START_TEST(dataset_of_one_batch)
{
    enum { B = 2, C = 4, N = 300, ALL = B * C * N };
    submod_rng rng;
    submod_rng_seed(&rng, 175);
    for (int i = 0; i < MEASURED * 6; i++) {
        bool ignore = i % 2;
        batch d = some_batch(&rng, PROBABILITY, B, C, N, ignore, false);
        submod_measure measure = measure_of(&measured_rows[i / 6]);
        submod_loss_settings s = random_settings(&rng, ignore);
        s.per_image = 0;
        s.from_logits = 0;
        s.measure = &measure;
        s.engine = SUBMOD_ENGINE_HISTOGRAM;
        s.bins = 64;
        float *x = as_floats(&d), g[ALL], h[ALL];
        submod_scores scores = submod_scores_f32(x, B, C, N);
        submod_labels labels = label_view(&d);
        submod_gradient to = submod_gradient_dense(h, C, N);
        submod_dataset *all = dataset_of(&d, 1, 1, &s);
        double loss;
        ck_assert_ok(submod_dataset_solve(all, &loss, NULL, &s));
        ck_assert_ok(submod_dataset_gradient(all, &scores, &labels, &to, &s, NULL));
        ck_assert_near(call(&d, PROBABILITY, g, &s), loss, 1e-14);
        for (size_t j = 0; j < ALL; j++) {
            ck_assert(g[j] == h[j]);
        }
        submod_dataset_free(all);
        free(x);
        free_batch(&d);
    }
}
END_TEST

/* The loss of a class from its counts, which are any numbers, by differences of F. */
static double loss_of_counts(const double *count, size_t K, const costs *F)
{
    double P = 0, N = 0, a = 0, b = 0, value = 0;
    for (size_t k = 0; k < K; k++) {
        N += count[k];
        P += count[K + k];
    }
    for (size_t k = K; k-- > 0;) {
        double before = F->of(a, b, P, N, F->ctx);
        a += count[K + k];
        b += count[k];
        value += (F->of(a, b, P, N, F->ctx) - before) * ((double)k + 0.5) / (double)K;
    }
    return value;
}

/* Counts that have decayed, and counts far beyond those of a batch. */
START_TEST(dataset_of_decayed_and_large_counts)
{
    enum { COUNT = 4 };
    submod_rng rng;
    submod_rng_seed(&rng, 176);
    for (int i = 0; i < MEASURED * 4; i++) {
        batch d[COUNT];
        submod_measure measure = measure_of(&measured_rows[i / 4]);
        const costs F = costs_of(&measured_rows[i / 4]);
        submod_loss_settings s = submod_loss_defaults();
        s.from_logits = 0;
        s.measure = &measure;
        for (int j = 0; j < COUNT; j++) {
            d[j] = some_batch(&rng, PROBABILITY, 1, 3, 500, false, false);
        }
        submod_dataset *all = dataset_of(d, COUNT, 0.7, &s);
        ck_assert_ok(submod_dataset_scale(all, i % 2 ? 1e9 : 1));
        size_t classes, K;
        const double *count = submod_dataset_counts(all, &classes, &K);
        double loss, class_loss[3], mean = 0;
        ck_assert_ok(submod_dataset_solve(all, &loss, class_loss, &s));
        for (size_t c = 0; c < 3; c++) {
            double wanted = loss_of_counts(count + 2 * K * c, K, &F);
            ck_assert_near(class_loss[c], wanted, 1e-12);
            mean += wanted / 3;
        }
        ck_assert_near(loss, mean, 1e-12);
        submod_dataset_free(all);
        for (int j = 0; j < COUNT; j++) {
            free_batch(&d[j]);
        }
    }
}
END_TEST

/* A class whose foreground has decayed to nothing, and one of which nothing is left. */
START_TEST(dataset_of_classes_that_are_gone)
{
    for (int i = 0; i < MEASURED; i++) {
        submod_dataset *all = NULL;
        submod_measure measure = measure_of(&measured_rows[i]);
        const costs F = costs_of(&measured_rows[i]);
        submod_loss_settings s = submod_loss_defaults();
        double loss, class_loss[2];
        s.measure = &measure;
        s.classes = SUBMOD_CLASSES_ALL;
        ck_assert_ok(submod_dataset_create(2, 0.5 / 2, &all));
        double *count = submod_dataset_counts(all, NULL, NULL);
        memcpy(count, (double[]){3, 2, 1e-12, 1e-12}, 4 * sizeof *count);
        ck_assert_ok(submod_dataset_solve(all, &loss, class_loss, &s));
        ck_assert_near(class_loss[0], loss_of_counts((double[]){3, 2, 0, 0}, 2, &F), 1e-9);
        ck_assert(class_loss[1] == 0 && loss == class_loss[0] / 2);
        submod_dataset_free(all);
    }
}
END_TEST

/* ---- what is refused ---- */

static void refuse(const submod_measure *measure, const char *words)
{
    const float x[4] = {0.9F, -0.3F, 2, 1};
    const int64_t y[4] = {1, 0, 1, 0};
    submod_scores scores = submod_scores_f32(x, 1, 1, 4);
    submod_labels labels = submod_labels_i64(y, 1, 4);
    submod_loss_settings s = submod_loss_defaults();
    submod_dataset *all = NULL;
    double loss = 7;
    s.measure = measure;
    assert_error(submod_lovasz_hinge(&scores, &labels, &loss, NULL, &s, NULL, NULL), SUBMOD_EINVAL,
                 words);
    ck_assert_ok(submod_dataset_create(2, 0.1, &all));
    assert_error(submod_dataset_solve(all, &loss, NULL, &s), SUBMOD_EINVAL, words);
    ck_assert(loss == 7);
    submod_dataset_free(all);
    ck_assert_ok(submod_hinge(&scores, &labels, &loss, NULL, &s, NULL)); /* not looked at */
}

START_TEST(refused_measures)
{
    static const double bad_alpha[] = {-1, 1e-13, 1e13, NAN, INFINITY};
    static const double bad_beta[] = {0.5, 0.999, -1, 1e13, NAN};
    for (int i = 0; i < 5; i++) {
        submod_measure m = submod_tversky(bad_alpha[i], 1);
        refuse(&m, "measure.alpha");
        m = submod_tversky(1, bad_beta[i]);
        refuse(&m, "measure.beta");
    }
    submod_measure m = submod_measure_custom(NULL, NULL);
    refuse(&m, "needs value or values");
    m.type = (submod_measure_type)9;
    refuse(&m, "measure.type = 9");
}
END_TEST

int main(void)
{
    return RUN_TESTS("measures", losses_are_those_of_the_definition, many_pixels, one_label_alone,
                     nothing_is_lost_without_foreground_if_alpha_is_0, hamming_is_the_mean_error,
                     losses_of_groups_without_pixels, dataset_of_one_batch,
                     dataset_of_decayed_and_large_counts, dataset_of_classes_that_are_gone,
                     refused_measures);
}
