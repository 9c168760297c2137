/* Losses over ranks: for any split of the images the bits of one process with all of them, and the
 * loss by definition. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "depth.h"
#include "spread.h"
#include "support.h"

static const int rank_counts[] = {1, 2, 3, 4, 7};

/* ---- instances ---- */

/* Not a measure that is built in, and of another size than 1. */
static double root(double a, double b, double P, double N, void *ctx)
{
    (void)ctx;
    return 3 * sqrt((a + b) / (P + N));
}

static submod_measure measure_of(submod_rng *rng)
{
    switch (submod_rng_below(rng, 5)) {
    case 0: return submod_hamming();
    case 1: return submod_tversky(0.7, 1.5);
    case 2: return submod_measure_custom(&(submod_measure_ops){.value = root}, NULL);
    default: return submod_jaccard();
    }
}

static void make_probabilities(batch *d)
{
    for (size_t i = 0; i < d->B * d->C * d->N; i++) {
        d->x[i] = (float)(1 / (1 + exp(-d->x[i])));
    }
}

/* Few large ones, some 0, and halves. */
static float *random_weights(submod_rng *rng, size_t n)
{
    float *w = malloc((n + 1) * sizeof *w);
    for (size_t i = 0; i < n; i++) {
        uint64_t kind_of = submod_rng_below(rng, 8);
        double x = submod_rng_uniform(rng);
        w[i] = kind_of == 0 ? 0.0F : kind_of == 1 ? (float)(1e3 * x) : (float)(x / 3);
    }
    return w;
}

/* As halves, after the floats were made such. */
static uint16_t *as_halves(float *x, size_t n, submod_score_type type)
{
    uint16_t *half = malloc((n + 1) * sizeof *half);
    for (size_t i = 0; i < n; i++) {
        x[i] = roundf(64 * x[i]) / 64; /* exact in either type up to 2 */
        x[i] = fabsf(x[i]) < 2 ? x[i] : 0.5F;
        half[i] = type == SUBMOD_SCORE_F16 ? f16_of(x[i]) : bf16_of(x[i]);
    }
    return half;
}

/* ---- tests ---- */

/* All losses, measures, classes and weights. */
START_TEST(same_bits)
{
    submod_rng rng;
    submod_rng_seed(&rng, 19);
    submod_set_num_threads(1);
    for (int trial = 0; trial < repeats(500); trial++) {
        kind k = (kind)submod_rng_below(&rng, 5);
        bool ignore = submod_rng_below(&rng, 2);
        size_t C = k == HINGE ? 1 : 3 + submod_rng_below(&rng, 2);
        batch d = random_batch(&rng, k, submod_rng_below(&rng, 9), C,
                               1 + submod_rng_below(&rng, trial % 10 ? 90 : 3000), ignore);
        if (k == PROBABILITY || k == SIGMOID_PROBABILITY) {
            make_probabilities(&d);
        }
        submod_measure measure = measure_of(&rng);
        float *floats = as_floats(&d);
        float *weights = random_weights(&rng, d.B * d.N);
        spread x = {.d = &d, .k = k, .s = random_settings(&rng, ignore), .x = floats};
        x.s.engine = SUBMOD_ENGINE_HISTOGRAM;
        x.s.measure = submod_rng_below(&rng, 3) ? &measure : NULL;
        x.s.bins = submod_rng_below(&rng, 2) ? 16 : 0;
        x.s.delta = 0.01;
        x.s.class_weight = k == HINGE ? NULL : x.s.class_weight;
        x.weights = submod_rng_below(&rng, 2) ? weights : NULL;
        x.derives = submod_rng_below(&rng, 4);
        x.accumulates = submod_rng_below(&rng, 2);
        x.type = (submod_score_type)submod_rng_below(&rng, 3);
        x.channels_last = submod_rng_below(&rng, 2);
        uint16_t *half = as_halves(floats, x.type ? d.B * d.C * d.N : 0, x.type);
        x.half = half;
        submod_set_num_threads(trial % 5 ? 1 : 2);
        result r = alone(&x);
        for (size_t i = 0; i < sizeof rank_counts / sizeof *rank_counts; i++) {
            cut_at_random(&rng, &x, rank_counts[i]);
            spread_and_compare(&x, rank_counts[i], NULL, &r);
        }
        free_result(&r);
        free(half);
        free(weights);
        free(floats);
        free_batch(&d);
    }
}
END_TEST

/* Against the definition, in doubles and by another way. */
START_TEST(loss_by_definition)
{
    submod_rng rng;
    submod_rng_seed(&rng, 20);
    submod_set_num_threads(1);
    for (int trial = 0; trial < repeats(60); trial++) {
        kind k = (kind)submod_rng_below(&rng, 3);
        batch d = random_batch(&rng, k, 1 + submod_rng_below(&rng, 6), k == HINGE ? 1 : 3,
                               1 + submod_rng_below(&rng, 40), true);
        float *floats = as_floats(&d);
        float *gradient = malloc(d.B * d.C * d.N * sizeof *gradient);
        double *group_loss = malloc((d.B + MOST_RANKS) * sizeof *group_loss);
        spread x = {.d = &d,
                    .k = k,
                    .s = random_settings(&rng, true),
                    .x = floats,
                    .gradient = gradient,
                    .group_loss = group_loss};
        x.s.engine = SUBMOD_ENGINE_HISTOGRAM;
        x.s.delta = 1e-4;
        cut_at_random(&rng, &x, 4);
        run_ranks(4, NULL, call_part, &x);
        double expected = reference(&d, k, &x.s);
        for (int r = 0; r < 4; r++) {
            ck_assert_msg(x.status[r] == SUBMOD_OK, "%s", x.words[r]);
            ck_assert_near(x.loss[r], expected, x.info[r].delta + 1e-6);
        }
        free(group_loss);
        free(gradient);
        free(floats);
        free_batch(&d);
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("dist_losses", same_bits, loss_by_definition);
}
