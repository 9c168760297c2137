/* Decisions: against all segmentations and truths, expectations against distributions of counts,
 * threads, views, memory, refused arguments. */
#include <submod/decision.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "support.h"

static submod_decision_settings settings_of(int score, int method, double empty)
{
    submod_decision_settings s = submod_decision_defaults();
    s.score = (submod_decision_score)score;
    s.method = (submod_decision_method)method;
    s.empty = empty;
    return s;
}

/* ---- all segmentations, all truths ---- */

static double score_of(int score, double empty, uint32_t chosen, uint32_t truth)
{
    int both = __builtin_popcount(chosen & truth);
    int any = __builtin_popcount(chosen | truth);
    if (any == 0) {
        return empty;
    }
    return score == SUBMOD_DECISION_IOU ? (double)both / any : 2.0 * both / (both + any);
}

/* The expected score by its definition. */
static double expected(int score, double empty, const float *q, size_t p, uint32_t chosen)
{
    double sum = 0;
    for (uint32_t truth = 0; truth < 1U << p; truth++) {
        double probability = 1;
        for (size_t i = 0; i < p; i++) {
            probability *= truth >> i & 1 ? (double)q[i] : 1 - (double)q[i];
        }
        sum += probability * score_of(score, empty, chosen, truth);
    }
    return sum;
}

static uint32_t bits_of(const uint8_t *mask, size_t p)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < p; i++) {
        ck_assert(mask[i] <= 1);
        bits |= (uint32_t)mask[i] << i;
    }
    return bits;
}

static void random_probabilities(submod_rng *rng, float *q, size_t p)
{
    uint64_t kind = submod_rng_below(rng, 4);
    for (size_t i = 0; i < p; i++) {
        double u = submod_rng_uniform(rng);
        q[i] = kind == 0   ? (float)u
               : kind == 1 ? (float)(u * u * u * u)
               : kind == 2 ? (float)submod_rng_below(rng, 5) / 4
                           : (float)(1 / (1 + exp(8 - 16 * u)));
    }
}

START_TEST(best_of_all_segmentations)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int round = 0; round < 300; round++) {
        float q[6];
        size_t p = 1 + submod_rng_below(&rng, 6);
        random_probabilities(&rng, q, p);
        int score = round % 2;
        double empty = (double)(round % 3) / 2;
        double best = 0;
        for (uint32_t chosen = 0; chosen < 1U << p; chosen++) {
            best = fmax(best, expected(score, empty, q, p, chosen));
        }
        submod_scores view = submod_scores_f32(q, 1, 1, p);
        for (int method = 0; method <= SUBMOD_DECISION_HALF; method++) {
            submod_decision_settings s = settings_of(score, method, empty);
            submod_decision_info info;
            uint8_t mask[6];
            ck_assert_ok(submod_decide(&view, mask, &s, &info, NULL));
            double mine = expected(score, empty, q, p, bits_of(mask, p));
            ck_assert(info.lower <= mine + 1e-15 && mine <= info.upper + 1e-15);
            ck_assert_near(info.upper, info.lower, 1e-12);
            ck_assert_near(info.best, best, 1e-12);
            ck_assert_uint_eq(info.chosen, (size_t)__builtin_popcount(bits_of(mask, p)));
            ck_assert_int_eq(info.expectation, SUBMOD_EXPECTATION_QUADRATURE);
            if (method == SUBMOD_DECISION_RANK) {
                ck_assert_near(mine, best, 1e-13);
            }
        }
    }
}
END_TEST

/* The expected IoU falls and rises again: greedy stays at the first pixel. */
START_TEST(greedy_can_stop_too_early)
{
    const float q[7] = {0.25F, 0.25F, 0.25F, 0, 0.5F, 0.25F, 0.25F};
    submod_scores view = submod_scores_f32(q, 1, 1, 7);
    uint8_t mask[7];
    submod_decision_info info;
    submod_decision_settings s = settings_of(SUBMOD_DECISION_IOU, SUBMOD_DECISION_GREEDY, 1);
    ck_assert_ok(submod_decide(&view, mask, &s, &info, NULL));
    ck_assert_uint_eq(info.chosen, 1);
    ck_assert(mask[4] && info.threshold == 0.5);
    s.method = SUBMOD_DECISION_RANK;
    double greedy = info.upper;
    ck_assert_ok(submod_decide(&view, mask, &s, &info, NULL));
    ck_assert_uint_eq(info.chosen, 6);
    ck_assert(!mask[3] && info.lower > greedy + 0.01);
}
END_TEST

/* ---- expectations ---- */

/* The distribution of the number of foreground pixels among q[0 .. p-1]. The caller frees. */
static long double *counts_of(const float *q, size_t p)
{
    long double *weight = calloc(p + 1, sizeof *weight);
    ck_assert_ptr_nonnull(weight);
    weight[0] = 1;
    for (size_t i = 0; i < p; i++) {
        for (size_t y = i + 2; y-- > 0;) {
            long double below = y > 0 ? weight[y - 1] : 0;
            weight[y] = weight[y] * (1 - (long double)q[i]) + below * (long double)q[i];
        }
    }
    return weight;
}

/* The expected score of the first k of p pixels, k >= 1, in long doubles. */
static long double by_counts(int score, const float *q, size_t p, size_t k)
{
    long double *inside = counts_of(q, k);
    long double *outside = counts_of(q + k, p - k);
    long double sum = 0;
    for (size_t i = 1; i <= k; i++) {
        long double inner = 0;
        for (size_t b = 0; b <= p - k; b++) {
            inner += outside[b] / (long double)(k + b + (score == SUBMOD_DECISION_DICE ? i : 0));
        }
        sum += inside[i] * (long double)(score == SUBMOD_DECISION_DICE ? 2 * i : i) * inner;
    }
    free(inside);
    free(outside);
    return sum;
}

static void require_interval(const float *q, size_t p, size_t k, int score, int way)
{
    uint8_t *mask = calloc(p, 1);
    ck_assert_ptr_nonnull(mask);
    memset(mask, 1, k);
    double lower, upper;
    submod_scores view = submod_scores_f32(q, 1, 1, p);
    submod_decision_settings s = settings_of(score, SUBMOD_DECISION_RANK, 1);
    ck_assert_ok(submod_expected_score(&view, mask, &lower, &upper, &s, NULL));
    long double exact = by_counts(score, q, p, k);
    ck_assert_msg((long double)lower <= exact && exact <= (long double)upper,
                  "p %zu k %zu score %d: %.17g in [%.17g, %.17g]", p, k, score, (double)exact,
                  lower, upper);
    double width = way == SUBMOD_EXPECTATION_SERIES ? 2e-12 : 2e-11;
    ck_assert_msg(upper - lower <= width * upper, "p %zu k %zu: width %g", p, k,
                  (upper - lower) / upper);
    free(mask);
}

/* The right number lies in the interval, which is narrow, on both sides of the border. */
START_TEST(intervals_hold_the_expectation)
{
    enum { P = 1600 };
    static const double scales[] = {1e-4, 0.02, 0.3, 0.44, 0.9};
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    float *q = malloc(P * sizeof *q);
    ck_assert_ptr_nonnull(q);
    for (size_t c = 0; c < sizeof scales / sizeof *scales; c++) {
        double total = 0;
        for (size_t i = 0; i < P; i++) {
            q[i] = (float)(scales[c] * submod_rng_uniform(&rng));
            total += (double)q[i];
        }
        static const size_t ks[] = {1, 3, 40, 300, 695, 800, P - 1, P};
        for (size_t j = 0; j < sizeof ks / sizeof *ks; j++) {
            double outside = 0;
            for (size_t i = ks[j]; i < P; i++) {
                outside += (double)q[i];
            }
            for (int score = 0; score <= 1; score++) {
                double reach = (double)ks[j] + (score == SUBMOD_DECISION_IOU ? outside : total);
                require_interval(q, P, ks[j], score, reach > 700);
            }
        }
    }
    free(q);
}
END_TEST

/* Many small probabilities, whose number varies most: what the series leaves out is just visible
 * beside rounding, and the interval has room for it. */
START_TEST(what_the_series_leaves_out)
{
    enum { P = 7200 };
    float *q = malloc(P * sizeof *q);
    ck_assert_ptr_nonnull(q);
    for (size_t i = 0; i < P; i++) {
        q[i] = 0.1F;
    }
    for (size_t k = 1; k <= 2; k++) {
        require_interval(q, P, k, SUBMOD_DECISION_IOU, SUBMOD_EXPECTATION_SERIES);
        require_interval(q, P, k, SUBMOD_DECISION_DICE, SUBMOD_EXPECTATION_SERIES);
    }
    free(q);
}
END_TEST

/* Sharp probabilities, and a few of 0 and 1. */
START_TEST(intervals_of_sharp_probabilities)
{
    enum { P = 1200 };
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    float q[P];
    for (size_t i = 0; i < P; i++) {
        q[i] = i % 50 == 0 ? (float)(i % 100 == 0) : (float)(i < 900 ? 0.999 : 0.001);
    }
    for (int score = 0; score <= 1; score++) {
        require_interval(q, P, 600, score, SUBMOD_EXPECTATION_SERIES);
        require_interval(q, P, 900, score, SUBMOD_EXPECTATION_SERIES);
        require_interval(q + 800, P - 800, 100, score, SUBMOD_EXPECTATION_QUADRATURE);
    }
}
END_TEST

START_TEST(nothing_chosen)
{
    const float q[3] = {0.5F, 0.25F, 0};
    const uint8_t mask[3] = {0};
    submod_scores view = submod_scores_f32(q, 1, 1, 3);
    submod_decision_settings s = settings_of(SUBMOD_DECISION_DICE, SUBMOD_DECISION_RANK, 0.5);
    double lower, upper;
    ck_assert_ok(submod_expected_score(&view, mask, &lower, &upper, &s, NULL));
    ck_assert_near(lower, 0.5 * 0.5 * 0.75, 1e-13);
    ck_assert_near(upper, 0.5 * 0.5 * 0.75, 1e-13);
    s.empty = 0;
    ck_assert_ok(submod_expected_score(&view, mask, NULL, &upper, &s, NULL));
    ck_assert(upper == 0);
}
END_TEST

/* ---- many pixels ---- */

enum { LARGE = 200000 };

static float *large_image(uint64_t seed)
{
    submod_rng rng;
    submod_rng_seed(&rng, seed);
    float *q = malloc(LARGE * sizeof *q);
    ck_assert_ptr_nonnull(q);
    for (size_t i = 0; i < LARGE; i++) {
        q[i] = (float)(1 / (1 + exp(4 - 3 * submod_rng_normal(&rng))));
    }
    return q;
}

START_TEST(certificates_at_size)
{
    float *q = large_image(4);
    uint8_t *mask = malloc(LARGE);
    ck_assert_ptr_nonnull(mask);
    submod_scores view = submod_scores_f32(q, 1, 1, LARGE);
    for (int score = 0; score <= 1; score++) {
        submod_decision_info info[4];
        for (int method = 0; method <= SUBMOD_DECISION_HALF; method++) {
            submod_decision_settings s = settings_of(score, method, 1);
            ck_assert_ok(submod_decide(&view, mask, &s, &info[method], NULL));
            ck_assert(info[method].best == info[0].best);
            ck_assert(info[method].upper <= info[0].best);
            ck_assert_int_eq(info[method].expectation, SUBMOD_EXPECTATION_SERIES);
        }
        ck_assert(info[0].best - info[0].lower < 1e-12);
        ck_assert(info[0].best - info[SUBMOD_DECISION_GREEDY].lower < 1e-12);
        ck_assert(info[0].best - info[SUBMOD_DECISION_THRESHOLD].lower < 1e-8);
        ck_assert(info[0].best - info[SUBMOD_DECISION_HALF].lower > 1e-3);
    }
    free(q);
    free(mask);
}
END_TEST

/* Where the best ratio of expectations is not the best expectation, the ranks know better. */
START_TEST(ranks_beat_ratios)
{
    enum { P = 20000 };
    int better[2] = {0, 0};
    float *q = malloc(P * sizeof *q);
    uint8_t *mask = malloc(P);
    ck_assert(q && mask);
    for (int round = 0; round < 20; round++) {
        submod_rng rng;
        submod_rng_seed(&rng, 100 + (uint64_t)round);
        for (size_t i = 0; i < P; i++) {
            q[i] = (float)((round % 2 ? 1e-3 : 0.5) * submod_rng_uniform(&rng));
        }
        submod_scores view = submod_scores_f32(q, 1, 1, P);
        for (int score = 0; score <= 1; score++) {
            submod_decision_info rank, ratio;
            submod_decision_settings s = settings_of(score, SUBMOD_DECISION_RANK, 0);
            ck_assert_ok(submod_decide(&view, mask, &s, &rank, NULL));
            s.method = SUBMOD_DECISION_THRESHOLD;
            ck_assert_ok(submod_decide(&view, mask, &s, &ratio, NULL));
            ck_assert(ratio.upper <= rank.best && ratio.lower <= rank.upper);
            better[score] += rank.lower > ratio.upper;
        }
    }
    ck_assert_msg(better[0] > 0 && better[1] > 0, "%d and %d of 20", better[0], better[1]);
    free(q);
    free(mask);
}
END_TEST

START_TEST(threads_do_not_matter)
{
    float *q = large_image(5);
    uint8_t *masks[2];
    submod_decision_info info[2];
    submod_scores view = submod_scores_f32(q, 1, 1, LARGE);
    for (int round = 0; round < 2; round++) {
        masks[round] = malloc(LARGE);
        ck_assert_ptr_nonnull(masks[round]);
        ck_assert_ok(submod_set_num_threads(round ? 5 : 1));
        memset(&info[round], 0, sizeof info[round]);
        ck_assert_ok(submod_decide(&view, masks[round], NULL, &info[round], NULL));
    }
    ck_assert_ok(submod_set_num_threads(0));
    ck_assert_mem_eq(masks[0], masks[1], LARGE);
    ck_assert(info[0].lower == info[1].lower && info[0].best == info[1].best);
    free(masks[0]);
    free(masks[1]);
    free(q);
}
END_TEST

/* ---- views ---- */

enum { B = 2, C = 3, N = 40, SIZE = B * C * N };

static void random_batch(float *q)
{
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    for (size_t i = 0; i < SIZE; i++) {
        q[i] = (float)submod_rng_below(&rng, 129) / 128; /* exact in halves, and tied */
    }
}

START_TEST(views_agree)
{
    float q[SIZE], last[SIZE];
    uint16_t halves[SIZE];
    random_batch(q);
    for (size_t b = 0; b < B; b++) {
        for (size_t c = 0; c < C; c++) {
            for (size_t i = 0; i < N; i++) {
                size_t dense = (b * C + c) * N + i;
                last[(b * N + i) * C + c] = q[dense];
                halves[dense] = f16_of(q[dense]);
            }
        }
    }
    submod_scores views[3] = {
        submod_scores_f32(q, B, C, N),
        submod_scores_channels_last(last, SUBMOD_SCORE_F32, B, C, N),
        submod_scores_dense(halves, SUBMOD_SCORE_F16, B, C, N),
    };
    uint8_t masks[3][SIZE];
    int32_t labels[3][B * N];
    submod_decision_info info[3][B * C];
    memset(info, 0, sizeof info);
    for (size_t v = 0; v < 3; v++) {
        ck_assert_ok(submod_decide(&views[v], masks[v], NULL, info[v], NULL));
        ck_assert_mem_eq(masks[v], masks[0], SIZE);
        for (size_t r = 0; r < (size_t)B * C; r++) {
            ck_assert(info[v][r].lower == info[0][r].lower && info[v][r].best == info[0][r].best);
        }
        ck_assert_ok(submod_decide_classes(&views[v], labels[v], NULL, NULL, NULL));
        ck_assert_mem_eq(labels[v], labels[0], sizeof labels[0]);
    }
}
END_TEST

/* Equal probabilities: the earlier pixels are chosen, and every row by itself. */
START_TEST(ties_by_position)
{
    const float q[6] = {0.4F, 0.4F, 0.4F, 0.9F, 0.9F, 0.9F};
    submod_scores view = submod_scores_f32(q, 2, 1, 3);
    uint8_t masks[6];
    submod_decision_info info[2];
    submod_decision_settings s = settings_of(SUBMOD_DECISION_IOU, SUBMOD_DECISION_RANK, 1);
    ck_assert_ok(submod_decide(&view, masks, &s, info, NULL));
    for (size_t r = 0; r < 2; r++) {
        for (size_t i = 0; i < 3; i++) {
            ck_assert_int_eq(masks[3 * r + i], i < info[r].chosen);
        }
    }
    ck_assert_uint_eq(info[1].chosen, 3);
}
END_TEST

/* ---- classes ---- */

/* Each pixel has one class, the judgement is that of its masks, and no assignment is above the
 * bound: here all of them are tried. */
START_TEST(classes_against_all_assignments)
{
    enum { P = 4, K = 3, ALL = 81 };
    submod_rng rng;
    submod_rng_seed(&rng, 7);
    for (int round = 0; round < 60; round++) {
        float q[K * P];
        for (size_t i = 0; i < P; i++) {
            double e[K], sum = 0;
            for (size_t c = 0; c < K; c++) {
                e[c] = exp(2 * submod_rng_normal(&rng));
                sum += e[c];
            }
            for (size_t c = 0; c < K; c++) {
                q[c * P + i] = (float)(e[c] / sum);
            }
        }
        int score = round % 2;
        double best = 0, argmax = 0;
        for (int code = 0; code < ALL; code++) {
            uint32_t mask[K] = {0};
            bool most_probable = true;
            for (size_t i = 0, rest = (size_t)code; i < P; i++, rest /= K) {
                mask[rest % K] |= 1U << i;
                for (size_t c = 0; c < K; c++) {
                    most_probable = most_probable && q[c * P + i] <= q[rest % K * P + i];
                }
            }
            double sum = 0;
            for (size_t c = 0; c < K; c++) {
                sum += expected(score, 1, q + c * P, P, mask[c]) / K;
            }
            best = fmax(best, sum);
            argmax = most_probable ? fmax(argmax, sum) : argmax;
        }
        int32_t labels[P];
        submod_decision_info info[K];
        submod_scores view = submod_scores_f32(q, 1, K, P);
        submod_decision_settings s = settings_of(score, SUBMOD_DECISION_RANK, 1);
        ck_assert_ok(submod_decide_classes(&view, labels, &s, info, NULL));
        double mine = 0, claimed = 0, bound = 0;
        for (size_t c = 0; c < K; c++) {
            uint32_t mask = 0;
            for (size_t i = 0; i < P; i++) {
                ck_assert(labels[i] >= 0 && labels[i] < K);
                mask |= (uint32_t)(labels[i] == (int32_t)c) << i;
            }
            mine += expected(score, 1, q + c * P, P, mask) / K;
            claimed += info[c].lower / K;
            bound += info[c].best / K;
        }
        ck_assert_near(mine, claimed, 1e-12);
        ck_assert(mine >= argmax - 1e-12 && mine <= best + 1e-12);
        ck_assert(best <= bound + 1e-12);
    }
}
END_TEST

/* Two classes that both want a pixel, and one pixel that nobody wants. */
START_TEST(conflicts_go_to_the_larger_gain)
{
    const float q[6] = {
        0.9F, 0.6F, 0.05F, /* class 0 */
        0.1F, 0.7F, 0.02F, /* class 1 */
    };
    submod_scores view = submod_scores_f32(q, 1, 2, 3);
    uint8_t masks[6];
    ck_assert_ok(submod_decide(&view, masks, NULL, NULL, NULL));
    ck_assert(masks[1] && masks[4] && !masks[2] && !masks[5]);
    int32_t labels[3];
    ck_assert_ok(submod_decide_classes(&view, labels, NULL, NULL, NULL));
    ck_assert_int_eq(labels[0], 0);
    ck_assert_int_eq(labels[1], 1);
}
END_TEST

/* ---- nothing, bad arguments, memory ---- */

START_TEST(impossible_pixels_are_not_chosen)
{
    const float q[5] = {0};
    submod_scores view = submod_scores_f32(q, 1, 1, 5);
    for (int method = 0; method <= SUBMOD_DECISION_HALF; method++) {
        for (int empty = 0; empty < 2; empty++) {
            submod_decision_settings s = settings_of(SUBMOD_DECISION_DICE, method, empty);
            submod_decision_info info;
            uint8_t mask[5];
            ck_assert_ok(submod_decide(&view, mask, &s, &info, NULL));
            ck_assert_uint_eq(info.chosen, 0);
            ck_assert_near(info.best, empty, 1e-12);
        }
    }
}
END_TEST

START_TEST(nothing_to_decide)
{
    submod_scores no_images = submod_scores_f32(NULL, 0, 2, 5);
    submod_scores no_pixels = submod_scores_f32(NULL, 2, 1, 0);
    submod_scores endless = submod_scores_f32(NULL, (size_t)1 << 60, 1 << 20, 0);
    ck_assert_ok(submod_decide(&endless, NULL, NULL, NULL, NULL));
    ck_assert_ok(submod_decide_classes(&endless, NULL, NULL, NULL, NULL));
    ck_assert_ok(submod_expected_score(&endless, NULL, NULL, NULL, NULL, NULL));
    ck_assert_ok(submod_decide(&no_images, NULL, NULL, NULL, NULL));
    ck_assert_ok(submod_decide_classes(&no_images, NULL, NULL, NULL, NULL));
    submod_decision_info info[2];
    ck_assert_ok(submod_decide(&no_pixels, NULL, NULL, info, NULL));
    ck_assert(info[1].best == 1 && info[1].chosen == 0 && info[1].threshold == 1);
    ck_assert_ok(submod_decide_classes(&no_pixels, NULL, NULL, info, NULL));
    double lower[2];
    submod_decision_settings s = settings_of(SUBMOD_DECISION_IOU, SUBMOD_DECISION_RANK, 0.5);
    ck_assert_ok(submod_expected_score(&no_pixels, NULL, lower, NULL, &s, NULL));
    ck_assert_near(lower[1], 0.5, 1e-12);
}
END_TEST

typedef submod_status any_call(const submod_scores *probabilities, void *out,
                               const submod_decision_settings *s, submod_decision_info *info);

static submod_status call_decide(const submod_scores *q, void *out,
                                 const submod_decision_settings *s, submod_decision_info *info)
{
    return submod_decide(q, out, s, info, NULL);
}

static submod_status call_classes(const submod_scores *q, void *out,
                                  const submod_decision_settings *s, submod_decision_info *info)
{
    return submod_decide_classes(q, out, s, info, NULL);
}

static submod_status call_expected(const submod_scores *q, void *out,
                                   const submod_decision_settings *s, submod_decision_info *info)
{
    static const uint8_t masks[SIZE];
    (void)info;
    return submod_expected_score(q, masks, out, NULL, s, NULL);
}

static any_call *const calls[] = {call_decide, call_classes, call_expected};

/* Refused by all three, outputs untouched. */
static void require_refused(const submod_scores *q, const submod_decision_settings *s, int status,
                            const char *words)
{
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        double out[SIZE], before[SIZE];
        submod_decision_info info[B * C], info_before[B * C];
        memset(out, 7, sizeof out);
        memset(before, 7, sizeof before);
        memset(info, 7, sizeof info);
        memset(info_before, 7, sizeof info_before);
        assert_error(calls[c](q, out, s, info), status, words);
        ck_assert_mem_eq(out, before, sizeof out);
        ck_assert_mem_eq(info, info_before, sizeof info);
    }
}

START_TEST(bad_arguments)
{
    float q[SIZE];
    random_batch(q);
    submod_scores view = submod_scores_f32(q, B, C, N);
    require_refused(NULL, NULL, SUBMOD_EINVAL, "probabilities is NULL");
    q[(1 * C + 2) * N + 17] = NAN;
    require_refused(&view, NULL, SUBMOD_ENONFINITE, "probabilities[1][2][17] is");
    q[(1 * C + 2) * N + 17] = INFINITY;
    require_refused(&view, NULL, SUBMOD_ENONFINITE, "probabilities[1][2][17] is inf");
    q[(1 * C + 2) * N + 17] = 1.5F;
    require_refused(&view, NULL, SUBMOD_EINVAL, "probabilities[1][2][17] = 1.5 is not in [0, 1]");
    q[(1 * C + 2) * N + 17] = -1e-30F;
    require_refused(&view, NULL, SUBMOD_EINVAL, "is not in [0, 1]");
    q[(1 * C + 2) * N + 17] = 1;
    submod_decision_settings s = settings_of(2, 0, 1);
    require_refused(&view, &s, SUBMOD_EINVAL, "score = 2 is unknown");
    s = settings_of(0, 4, 1);
    require_refused(&view, &s, SUBMOD_EINVAL, "method = 4 is unknown");
    s = settings_of(0, 0, 1.25);
    require_refused(&view, &s, SUBMOD_EINVAL, "empty = 1.25 must be from 0 to 1");
    s = settings_of(0, 0, NAN);
    require_refused(&view, &s, SUBMOD_EINVAL, "empty = ");
    submod_scores wrong = view;
    wrong.type = (submod_score_type)9;
    require_refused(&wrong, NULL, SUBMOD_EINVAL, "probabilities.type = 9");
    wrong = view;
    wrong.classes = 0;
    require_refused(&wrong, NULL, SUBMOD_EINVAL, "probabilities.classes = 0");
    wrong = view;
    wrong.data = NULL;
    require_refused(&wrong, NULL, SUBMOD_EINVAL, "probabilities.data is NULL");
    wrong = view;
    wrong.pixels = (size_t)1 << 31;
    require_refused(&wrong, NULL, SUBMOD_EINVAL, "at most 2^31 - 1");
    wrong = view;
    wrong.batch_stride = PTRDIFF_MAX;
    require_refused(&wrong, NULL, SUBMOD_EINVAL, "reach beyond all memory");
    assert_error(submod_decide(&view, NULL, NULL, NULL, NULL), SUBMOD_EINVAL, "masks is NULL");
    assert_error(submod_decide_classes(&view, NULL, NULL, NULL, NULL), SUBMOD_EINVAL,
                 "labels is NULL");
    assert_error(submod_expected_score(&view, NULL, NULL, NULL, NULL, NULL), SUBMOD_EINVAL,
                 "masks is NULL");
}
END_TEST

/* Every allocation fails once: a clean status, nothing leaks, outputs untouched. */
START_TEST(memory_runs_out)
{
    float q[SIZE];
    random_batch(q);
    submod_scores view = submod_scores_f32(q, B, C, N);
    ck_assert_ok(submod_set_allocator(&counting_allocator));
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        submod_status status = SUBMOD_ENOMEM;
        for (long left = 0; status != SUBMOD_OK; left++) {
            _Alignas(double) uint8_t out[SIZE * sizeof(double)];
            uint8_t before[sizeof out];
            submod_decision_info info[B * C];
            memset(out, 7, sizeof out);
            memset(before, 7, sizeof before);
            allocations = (allocation_counts){.left = left};
            status = calls[c](&view, out, NULL, info);
            ck_assert_int_eq(allocations.live, 0);
            ck_assert(status == SUBMOD_OK || status == SUBMOD_ENOMEM);
            ck_assert(status == SUBMOD_OK || memcmp(out, before, sizeof out) == 0);
            ck_assert_int_lt(left, 200);
        }
    }
    ck_assert_ok(submod_set_allocator(NULL));
}
END_TEST

/* The same workspace for calls of different sizes. */
START_TEST(workspace_is_reused)
{
    float q[SIZE];
    random_batch(q);
    submod_work *work;
    ck_assert_ok(submod_work_create(&work));
    for (size_t p = 1; p <= N; p += 13) {
        submod_scores view = submod_scores_f32(q, 1, 1, p);
        uint8_t a[N], b[N];
        ck_assert_ok(submod_decide(&view, a, NULL, NULL, work));
        ck_assert_ok(submod_decide(&view, b, NULL, NULL, NULL));
        ck_assert_mem_eq(a, b, p);
    }
    submod_work_free(work);
}
END_TEST

int main(void)
{
    return RUN_TESTS("decision", best_of_all_segmentations, greedy_can_stop_too_early,
                     intervals_hold_the_expectation, what_the_series_leaves_out, ranks_beat_ratios,
                     impossible_pixels_are_not_chosen, intervals_of_sharp_probabilities,
                     nothing_chosen, certificates_at_size, threads_do_not_matter, views_agree,
                     ties_by_position, classes_against_all_assignments,
                     conflicts_go_to_the_larger_gain, nothing_to_decide, bad_arguments,
                     memory_runs_out, workspace_is_reused);
}
