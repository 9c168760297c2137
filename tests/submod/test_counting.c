/* The counting engine: its loss and its bound against a sort of doubles, its gradient by the
 * subgradient inequality, for all measures, with weights of pixels and without. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "defined.h"
#include "depth.h"
#include "measured.h"
#include "support.h"

/* From 2^14 pixels on a group is counted; two tiles more. */
enum { PIXELS = 16384 + 300 };

/* ---- batches ---- */

/* How errors are spread. */
typedef enum {
    EVEN,      /* over [0, 1] */
    CONFIDENT, /* over many magnitudes, most of them small */
    TIED,      /* a few values */
    EDGES,     /* powers of two and their neighbours: ends of bins */
    EXTREME,   /* 0 and 1, and little between */
    RIGHT,     /* even, but 0 in the foreground */
    RARE,      /* even, of one label nearly alone */
    ABSENT     /* even, without foreground of the last class */
} spread;
enum { SPREADS = ABSENT + 1 };

static double some_error(spread how, submod_rng *rng)
{
    double u = submod_rng_uniform(rng);
    switch (how) {
    case CONFIDENT: return exp2(-25 * u);
    case TIED: return floor(8 * u) / 8;
    case EDGES:
        return fmin(1,
                    exp2(-floor(12 * u)) * (1 + 0x1p-23 * floor(3 * submod_rng_uniform(rng) - 1)));
    case EXTREME: return u < 0.4 ? 0 : u < 0.8 ? 1 : u;
    default: return u;
    }
}

static int64_t some_label(spread how, size_t labels, submod_rng *rng)
{
    if (how == RARE && submod_rng_below(rng, 2000) > 0) {
        return 0;
    }
    return (int64_t)submod_rng_below(rng, how == ABSENT ? labels - 1 : labels);
}

/* The value that makes an error e at a label: a probability, a score or a margin. */
static double value_for(kind k, double e, bool foreground)
{
    switch (k) {
    case HINGE: return foreground ? 1 - 4 * e : 4 * e - 1;
    case SIGMOID: return (foreground ? -1 : 1) * fmin(fmax(log(e / (1 - e)), -60), 60);
    default: return foreground ? 1 - e : e;
    }
}

static bool has_probabilities(kind k)
{
    return k == PROBABILITY || k == SIGMOID_PROBABILITY;
}

static batch spread_batch(kind k, spread how, size_t B, size_t C, bool ignore, submod_rng *rng)
{
    batch d = random_batch(rng, k, B, C, PIXELS, ignore);
    size_t labels = d.multilabel ? B * C * PIXELS : B * PIXELS;
    for (size_t t = 0; t < labels; t++) {
        bool kept = d.y[t] != 9;
        d.y[t] = kept ? some_label(how, d.multilabel ? 2 : C, rng) : 9;
    }
    for (size_t t = 0; t < B * C * PIXELS; t++) {
        size_t b = t / (C * PIXELS), c = t / PIXELS % C, i = t % PIXELS;
        int64_t y = d.multilabel ? d.y[t] : d.y[b * PIXELS + i];
        bool foreground = d.multilabel ? y == 1 : y == (int64_t)c;
        double e = how == RIGHT && foreground ? 0 : some_error(how, rng);
        d.x[t] = k == SOFTMAX ? (how == CONFIDENT && foreground ? 12 : 0) + 4 * e
                              : value_for(k, e, foreground);
        d.x[t] = (double)(float)d.x[t];
    }
    return d;
}

/* Weights with few bits, that the library does not round; NULL: none. */
static float *some_weights(bool wanted, size_t n, submod_rng *rng)
{
    float *w = wanted ? malloc(n * sizeof *w) : NULL;
    for (size_t i = 0; wanted && i < n; i++) {
        w[i] = (float)submod_rng_below(rng, 17) / 8;
    }
    return w;
}

/* ---- checks ---- */

typedef struct outcome {
    double loss;
    submod_loss_info info;
    float *gradient;
} outcome;

static outcome run(const batch *d, kind k, const submod_loss_settings *s)
{
    outcome o = {.gradient = malloc(d->B * d->C * d->N * sizeof *o.gradient)};
    float *x = as_floats(d);
    submod_scores scores = submod_scores_f32(x, d->B, d->C, d->N);
    submod_labels labels = label_view(d);
    submod_gradient g = submod_gradient_dense(o.gradient, d->C, d->N);
    ck_assert_ok(call_views(k, &scores, &labels, &o.loss, &g, &o.info, s));
    free(x);
    return o;
}

/* Other threads give the same bits, and so does a call without gradient. */
static void assert_threads(const batch *d, kind k, const submod_loss_settings *s, const outcome *o)
{
    for (int count = 1; count <= 3; count += 2) {
        ck_assert_ok(submod_set_num_threads(count));
        outcome other = run(d, k, s);
        ck_assert(other.loss == o->loss && other.info.bound == o->info.bound);
        ck_assert(call(d, k, NULL, s) == o->loss);
        ck_assert_mem_eq(other.gradient, o->gradient, d->B * d->C * d->N * sizeof(float));
        free(other.gradient);
    }
    ck_assert_ok(submod_set_num_threads(0));
}

/* The gradient is that of <s, errors>, which is a lower bound of the loss everywhere, and here the
 * loss less its bound. Probabilities alone: there the errors are linear. */
static void assert_subgradient(const batch *d, kind k, const submod_loss_settings *s, measured *r,
                               const outcome *o, submod_rng *rng)
{
    size_t n = d->B * d->C * d->N;
    const costs F = costs_of(r);
    double *unused = malloc(n * sizeof *unused), steepest;
    for (int step = 0; step < 3; step++) {
        batch q = *d;
        double change = 0, size = 0;
        q.x = malloc(n * sizeof *q.x);
        for (size_t i = 0; i < n; i++) {
            double to = submod_rng_uniform(rng);
            q.x[i] = (double)(float)(d->x[i] + (to - d->x[i]) * pow(0.01, step));
            change += (double)o->gradient[i] * (q.x[i] - d->x[i]);
            size += fabs((double)o->gradient[i]);
        }
        double there = by_definition(&q, k, s, &F, 0, unused, &steepest, NULL);
        double least = o->loss - o->info.bound + change;
        if (!(there >= least - 1e-6 * size)) {
            ck_abort_msg("loss %.12g, at least %.12g, bound %g", there, least, o->info.bound);
        }
        free(q.x);
    }
    free(unused);
}

/* Rounding of scores: of an activation the errors are floats, right to a few units. */
static double rounding(kind k)
{
    return k == SOFTMAX || k == SIGMOID ? 2e-6 : 2e-9;
}

static void check(const batch *d, kind k, const submod_loss_settings *given, measured *r,
                  submod_rng *rng)
{
    size_t n = d->B * d->C * d->N, groups = given->per_image ? d->B : 1;
    double *unused = malloc(n * sizeof *unused), steepest, group_loss[8];
    const costs F = costs_of(r);
    submod_measure measure = measure_of(r);
    submod_loss_settings s = *given;
    double loss = by_definition(d, k, &s, &F, 0, unused, &steepest, group_loss + 4);
    s.measure = &measure;
    s.group_loss = group_loss;
    outcome o = run(d, k, &s);
    double tolerance = rounding(k) * loss + 1e-12;
    if (!(fabs(o.loss - loss) <= o.info.bound + tolerance)) {
        ck_abort_msg("kind %d measure %d: %.15g for %.15g, off by %g, bound %g", k, r->type, o.loss,
                     loss, o.loss - loss, o.info.bound);
    }
    ck_assert(o.info.bound <= s.accuracy * o.loss * (1 + 1e-6));
    for (size_t g = 0; g < groups; g++) {
        ck_assert_near(group_loss[g], group_loss[4 + g],
                       (double)groups * (o.info.bound + tolerance));
    }
    assert_threads(d, k, &s, &o);
    if (has_probabilities(k)) {
        s.measure = NULL;
        assert_subgradient(d, k, &s, r, &o, rng);
    }
    free(o.gradient);
    free(unused);
}

static submod_loss_settings counting_settings(bool ignore, submod_rng *rng)
{
    static const double accuracies[] = {0x1p-24, 0x1p-18, 0x1p-10, 0.1, 1};
    static const double weights[] = {1, 0.25, 3};
    submod_loss_settings s = submod_loss_defaults();
    s.engine = SUBMOD_ENGINE_COUNTING;
    s.accuracy = accuracies[submod_rng_below(rng, 5)];
    s.classes = (submod_classes)submod_rng_below(rng, 2);
    s.class_weight = submod_rng_below(rng, 2) ? weights : NULL;
    s.per_image = (int)submod_rng_below(rng, 2);
    s.has_ignore = ignore;
    s.ignore_index = 9;
    return s;
}

START_TEST(losses_are_within_their_bounds)
{
    static const kind kinds[] = {SOFTMAX, SIGMOID, HINGE, PROBABILITY, SIGMOID_PROBABILITY};
    submod_rng rng;
    submod_rng_seed(&rng, 441);
    for (int j = 0; j < repeats(500); j++) {
        kind k = kinds[j % 5];
        spread how = (spread)(j / 5 % SPREADS);
        bool ignore = submod_rng_below(&rng, 2);
        size_t C = k == HINGE ? 1 : 3, B = 1 + submod_rng_below(&rng, 2);
        batch d = spread_batch(k, how, B, C, ignore, &rng);
        float *w = some_weights(submod_rng_below(&rng, 3) == 0, B * PIXELS, &rng);
        submod_loss_settings s = counting_settings(ignore, &rng);
        const submod_pixel_weights weights = submod_pixel_weights_f32(w, B, PIXELS);
        s.pixel_weights = w ? &weights : NULL;
        check(&d, k, &s, &measured_rows[submod_rng_below(&rng, MEASURED)], &rng);
        free(w);
        free_batch(&d);
    }
}
END_TEST

/* The bits of the exact engine: at accuracy 0, for groups of few pixels, and where the bound misses
 * the accuracy. */
static void assert_sorted(const batch *d, kind k, submod_loss_settings *s)
{
    s->engine = SUBMOD_ENGINE_COUNTING;
    outcome o = run(d, k, s);
    s->engine = SUBMOD_ENGINE_EXACT;
    outcome exact = run(d, k, s);
    ck_assert(o.loss == exact.loss && o.info.bound == 0);
    ck_assert_uint_eq(o.info.sorted, exact.info.sorted);
    ck_assert_mem_eq(o.gradient, exact.gradient, d->B * d->C * d->N * sizeof(float));
    free(o.gradient);
    free(exact.gradient);
}

START_TEST(what_is_not_counted_is_sorted)
{
    submod_rng rng;
    submod_rng_seed(&rng, 442);
    batch d = spread_batch(PROBABILITY, EVEN, 2, 3, false, &rng);
    submod_loss_settings s = submod_loss_defaults();
    s.accuracy = 0;
    assert_sorted(&d, PROBABILITY, &s);
    s.accuracy = 0x1p-40;
    for (int per_image = 0; per_image < 2; per_image++) {
        s.per_image = per_image;
        assert_sorted(&d, PROBABILITY, &s);
    }
    free_batch(&d);
    batch small = random_batch(&rng, SOFTMAX, 4, 3, 500, false);
    s = submod_loss_defaults();
    assert_sorted(&small, SOFTMAX, &s);
    free_batch(&small);
}
END_TEST

/* Two images of which one is counted and one is sorted: all its errors are nearly the same. */
START_TEST(each_group_by_itself)
{
    submod_rng rng;
    submod_rng_seed(&rng, 443);
    batch d = spread_batch(PROBABILITY, EVEN, 2, 3, false, &rng);
    for (size_t i = 3 * PIXELS; i < 6 * PIXELS; i++) {
        bool own = d.y[PIXELS + i % PIXELS] == (int64_t)(i / PIXELS - 3);
        double e = 0.7 + 1e-4 * submod_rng_uniform(&rng);
        d.x[i] = (double)(float)value_for(PROBABILITY, e, own);
    }
    submod_loss_settings s = submod_loss_defaults();
    s.per_image = 1;
    s.accuracy = 0x1p-18;
    s.engine = SUBMOD_ENGINE_COUNTING;
    outcome o = run(&d, PROBABILITY, &s);
    ck_assert(o.info.sorted > 0 && o.info.sorted <= 3 * PIXELS && o.info.bound > 0);
    s.engine = SUBMOD_ENGINE_EXACT;
    outcome exact = run(&d, PROBABILITY, &s);
    ck_assert_near(o.loss, exact.loss, o.info.bound + 1e-9);
    ck_assert_mem_eq(o.gradient + 3 * PIXELS, exact.gradient + 3 * PIXELS,
                     3 * PIXELS * sizeof(float));
    free(o.gradient);
    free(exact.gradient);
    free_batch(&d);
}
END_TEST

/* Fewer bits for coarser accuracies, and the whole range of accuracies. */
START_TEST(accuracies)
{
    submod_rng rng;
    submod_rng_seed(&rng, 444);
    batch d = spread_batch(SOFTMAX, EVEN, 1, 3, false, &rng);
    float *x = as_floats(&d);
    submod_scores scores = submod_scores_f32(x, 1, 3, PIXELS);
    submod_labels labels = label_view(&d);
    submod_loss_settings s = submod_loss_defaults();
    s.engine = SUBMOD_ENGINE_COUNTING;
    int bits = 0;
    for (int e = 0; e <= 24; e++) {
        submod_loss_info info;
        double loss;
        s.accuracy = exp2(-e);
        ck_assert_ok(call_views(SOFTMAX, &scores, &labels, &loss, NULL, &info, &s));
        ck_assert(info.mantissa_bits >= bits && info.bound <= s.accuracy * loss);
        bits = info.mantissa_bits;
    }
    ck_assert_int_eq(bits, 10);
    static const double wrong[] = {-1e-9, 1.5, NAN, INFINITY};
    for (size_t i = 0; i < 4; i++) {
        s.accuracy = wrong[i];
        ck_assert_int_eq(call_views(SOFTMAX, &scores, &labels, NULL, NULL, NULL, &s),
                         SUBMOD_EINVAL);
        ck_assert_ptr_nonnull(strstr(submod_last_error(), "accuracy = "));
    }
    free(x);
    free_batch(&d);
}
END_TEST

/* Errors of confident pixels are not lost in 1 - p. */
START_TEST(small_errors_keep_their_digits)
{
    submod_rng rng;
    submod_rng_seed(&rng, 445);
    batch d = random_batch(&rng, SOFTMAX, 1, 3, PIXELS, false);
    for (size_t t = 0; t < 3 * PIXELS; t++) {
        bool own = d.y[t % PIXELS] == (int64_t)(t / PIXELS);
        d.x[t] =
            (double)(float)(own ? 14 + 6 * submod_rng_uniform(&rng) : submod_rng_uniform(&rng));
    }
    double *unused = malloc(3 * PIXELS * sizeof *unused), steepest;
    submod_loss_settings s = submod_loss_defaults();
    const costs jaccard = {jaccard_cost, NULL};
    double loss = by_definition(&d, SOFTMAX, &s, &jaccard, 0, unused, &steepest, NULL);
    s.engine = SUBMOD_ENGINE_COUNTING;
    s.accuracy = 0x1p-18;
    ck_assert(loss < 1e-5);
    ck_assert_near(call(&d, SOFTMAX, NULL, &s), loss, (0x1p-18 + 2e-6) * loss);
    free(unused);
    free_batch(&d);
}
END_TEST

int main(void)
{
    return RUN_TESTS("counting", losses_are_within_their_bounds, what_is_not_counted_is_sorted,
                     each_group_by_itself, accuracies, small_errors_keep_their_digits);
}
