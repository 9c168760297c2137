/* Functions of two counts: values and gains by definition, the minimiser against all pairs of
 * prefixes and all subsets, its evaluations counted, failing measures. What holds for every family
 * is tested with the families. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "combinations.h"
#include "submod/monge.h"
#include "support.h"

/* 1 - TP / (TP + beta FN + alpha FP), as it is written down in books. */
static double tversky(double a, double b, double P, double alpha, double beta)
{
    double TP = P - a;
    double all = TP + beta * a + alpha * b;
    return all > 0 ? 1 - TP / all : 0;
}

static double root(double a, double b, double P, double N, void *ctx)
{
    (void)ctx;
    return sqrt((a + 2 * b) / (P + 2 * N));
}

START_TEST(tversky_by_definition)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int repeat = 0; repeat < 300; repeat++) {
        enum { N = 9 };
        uint8_t mask[N];
        double weight[N];
        int32_t order[N];
        double alpha = repeat % 3 ? 3 * submod_rng_uniform(&rng) : 0;
        double beta = repeat % 2 ? 1 + 3 * submod_rng_uniform(&rng) : 1;
        submod_measure m = submod_tversky(alpha, beta);
        double P[2] = {0, 0};
        for (int i = 0; i < N; i++) {
            mask[i] = submod_rng_below(&rng, 3) < (uint64_t)(repeat % 4);
            weight[i] = (double)submod_rng_below(&rng, 5) / 4;
            P[0] += mask[i];
            P[1] += mask[i] ? weight[i] : 0;
        }
        submod_fn *fn[2];
        ck_assert_ok(submod_fn_counts(N, mask, NULL, &m, &fn[0]));
        ck_assert_ok(submod_fn_counts(N, mask, weight, &m, &fn[1]));
        random_order(&rng, order, N);
        for (int weighted = 0; weighted < 2; weighted++) {
            double a = 0, b = 0, gains[N], before = 0;
            ck_assert_ok(submod_fn_chain(fn[weighted], order, N, gains, NULL));
            for (size_t k = 0; k < N; k++) {
                *(mask[order[k]] ? &a : &b) += weighted ? weight[order[k]] : 1;
                double value, expected = tversky(a, b, P[weighted], alpha, beta);
                ck_assert_ok(submod_fn_eval(fn[weighted], order, k + 1, &value));
                ck_assert_near(value, expected, 1e-14);
                ck_assert_near(gains[k], expected - before, 1e-14);
                before = expected;
            }
            submod_fn_free(fn[weighted]);
        }
    }
}
END_TEST

/* Jaccard is Tversky's measure with alpha = beta = 1; Jaccard and Hamming have functions of their
 * own. */
START_TEST(special_measures)
{
    const uint8_t mask[] = {1, 0, 0, 1, 0, 1};
    const double weight[] = {1, 2, 0, 0.5, 4, 1};
    const int32_t set[] = {0, 4, 1};
    submod_fn *fn;
    double value;
    ck_assert_ok(submod_fn_counts(6, mask, NULL, NULL, &fn));
    ck_assert_str_eq(submod_fn_name(fn), "jaccard");
    submod_fn_free(fn);
    submod_measure hamming = submod_hamming();
    ck_assert_ok(submod_fn_counts(6, mask, NULL, &hamming, &fn));
    ck_assert_str_eq(submod_fn_name(fn), "hamming");
    ck_assert_ok(submod_fn_eval(fn, set, 3, &value));
    ck_assert_near(value, 3.0 / 6, 0);
    submod_fn_free(fn);
    ck_assert_ok(submod_fn_counts(6, mask, weight, &hamming, &fn));
    ck_assert_ok(submod_fn_eval(fn, set, 3, &value));
    ck_assert_near(value, 7 / 8.5, 1e-15);
    submod_fn_free(fn);
    ck_assert_ok(submod_fn_counts(6, mask, weight, NULL, &fn));
    ck_assert_ok(submod_fn_eval(fn, set, 3, &value));
    ck_assert_near(value, (1 + 4 + 2) / (2.5 + 6), 1e-15);
    submod_fn_free(fn);
    submod_measure same = submod_tversky(1, 1);
    ck_assert_ok(submod_fn_counts(6, mask, NULL, &same, &fn));
    ck_assert_ok(submod_fn_eval(fn, set, 3, &value));
    ck_assert_near(value, 3.0 / (3 + 2), 1e-15);
    submod_fn_free(fn);
}
END_TEST

/* Whole weights are as many copies of an element, which stand or fall together. */
START_TEST(weights_are_copies)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    for (int repeat = 0; repeat < 100; repeat++) {
        uint8_t mask[5], copies_mask[64];
        double weight[5];
        int32_t set[5], copies[64];
        size_t n = 0, k = 0, in = 0;
        for (int i = 0; i < 5; i++) {
            mask[i] = submod_rng_below(&rng, 2) == 0;
            weight[i] = (double)submod_rng_below(&rng, 6);
            int chosen = submod_rng_below(&rng, 2) == 0;
            set[k] = i;
            k += (size_t)chosen;
            for (int c = 0; c < (int)weight[i]; c++) {
                copies[in] = (int32_t)n;
                in += (size_t)chosen;
                copies_mask[n++] = mask[i];
            }
        }
        if (n == 0) {
            continue;
        }
        submod_measure m[] = {submod_tversky(0.6, 2), submod_jaccard(),
                              submod_measure_custom(&(submod_measure_ops){.value = root}, NULL)};
        for (int j = 0; j < 3; j++) {
            submod_fn *weighted, *many;
            double value[2];
            ck_assert_ok(submod_fn_counts(5, mask, weight, &m[j], &weighted));
            ck_assert_ok(submod_fn_counts(n, copies_mask, NULL, &m[j], &many));
            ck_assert_ok(submod_fn_eval(weighted, set, k, &value[0]));
            ck_assert_ok(submod_fn_eval(many, copies, in, &value[1]));
            ck_assert_near(value[0], value[1], 1e-15);
            submod_fn_free(weighted);
            submod_fn_free(many);
        }
    }
}
END_TEST

/* ---- the minimiser ---- */

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* A random z for one kind, and its sums in falling order; coarse: many ties. */
static void random_prefixes(submod_rng *rng, size_t count, double scale, int coarse, double *sum)
{
    random_vector(rng, sum + 1, count, coarse);
    qsort(sum + 1, count, sizeof *sum, descending);
    sum[0] = 0;
    for (size_t k = 0; k < count; k++) {
        sum[k + 1] = sum[k] + scale * sum[k + 1];
    }
}

/* All pairs against the search, whose evaluations are counted. */
START_TEST(lowest_of_all_pairs)
{
    enum { MOST = 70 };
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    for (int repeat = 0; repeat < 600; repeat++) {
        size_t P = submod_rng_below(&rng, repeat % 2 ? MOST : 5);
        size_t Q = submod_rng_below(&rng, repeat % 3 ? MOST : 5);
        double x[MOST + 1], y[MOST + 1];
        submod_measure m[] = {submod_tversky(0.5, 3), submod_jaccard(),
                              submod_measure_custom(&(submod_measure_ops){.value = root}, NULL)};
        double scale = pow(10, -4 * submod_rng_uniform(&rng));
        random_prefixes(&rng, P, scale, repeat % 5 == 0, x);
        random_prefixes(&rng, Q, scale, repeat % 5 == 0, y);
        submodi_increment rise;
        submodi_lattice_point found;
        uint64_t evaluations = 0;
        submodi_prefix_sums fg = {P, NULL, 0, x}, bg = {Q, NULL, 0, y};
        ck_assert_ok(submodi_increment_from(&m[repeat % 3], (double)P, (double)Q, 0, 0, &rise));
        ck_assert_ok(
            submodi_monge_minimum(&rise, &fg, &bg, repeat % 2, &found, &evaluations, NULL));
        double lowest = INFINITY;
        for (size_t a = 0; a <= P; a++) {
            for (size_t b = 0; b <= Q; b++) {
                double F = 0;
                ck_assert_ok(submodi_increment_by(&rise, (double)a, (double)b, &F));
                double value = F - x[a] - y[b];
                lowest = fmin(lowest, value);
                if (a == found.fg && b == found.bg) {
                    ck_assert_near(value, found.value, 1e-14);
                }
            }
        }
        ck_assert_near(found.value, lowest, 1e-13);
        double rows = (double)(P < Q ? Q : P), columns = (double)(P < Q ? P : Q);
        ck_assert((double)evaluations <= (columns + 1) * (3 + log2(rows + 1)) + 2 * rows + 1);
    }
}
END_TEST

/* O(max + min log max) evaluations, max and min of P and N, also where all of the lowest places are
 * at one end. */
START_TEST(evaluations_are_few)
{
    enum { P = 3000, Q = 20000 };
    static double x[P + 1], y[Q + 1];
    for (int kind = 0; kind < 3; kind++) {
        submod_rng rng;
        submod_rng_seed(&rng, 5);
        random_prefixes(&rng, P, kind == 0 ? 1e-3 : kind == 1 ? 10 : 0, 0, x);
        random_prefixes(&rng, Q, kind == 0 ? 1e-4 : kind == 1 ? 0 : 10, 0, y);
        submod_measure m = submod_tversky(0.5, 3);
        submodi_increment rise;
        submodi_lattice_point found;
        uint64_t evaluations = 0;
        submodi_prefix_sums fg = {P, NULL, 0, x}, bg = {Q, NULL, 0, y};
        ck_assert_ok(submodi_increment_from(&m, P, Q, 0, 0, &rise));
        ck_assert_ok(submodi_monge_minimum(&rise, &fg, &bg, 0, &found, &evaluations, NULL));
        ck_assert((double)evaluations <= (P + 1) * (3 + log2(Q + 1)) + 2 * Q + 1);
    }
}
END_TEST

/* The rises are differences of values, for weights too, and where P = 0. */
START_TEST(rises_are_differences)
{
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    for (int repeat = 0; repeat < 2000; repeat++) {
        double P = (double)submod_rng_below(&rng, 4), N = 1 + 3 * submod_rng_uniform(&rng);
        double alpha = submod_rng_below(&rng, 3) ? submod_rng_uniform(&rng) + 0.1 : 0;
        double beta = 1 + (double)submod_rng_below(&rng, 3);
        double a = P * submod_rng_uniform(&rng), b = N * (double)submod_rng_below(&rng, 2) / 2;
        double f = (P - a) * submod_rng_uniform(&rng), g = (N - b) * submod_rng_uniform(&rng);
        submod_measure m = submod_tversky(alpha, beta);
        submodi_increment rise;
        double by;
        ck_assert_ok(submodi_increment_from(&m, P, N, a, b, &rise));
        ck_assert_ok(submodi_increment_by(&rise, f, g, &by));
        ck_assert_near(by, tversky(a + f, b + g, P, alpha, beta) - tversky(a, b, P, alpha, beta),
                       1e-13);
        ck_assert_ok(submodi_increment_by(&rise, 0, 0, &by));
        ck_assert(by == 0);
    }
}
END_TEST

/* ---- extreme weights ---- */

static double ratio(double a, double b, double P, double alpha, double beta)
{
    double wrong = beta * a + alpha * b;
    return wrong > 0 ? wrong / (P - a + wrong) : 0;
}

/* Only ratios of weights matter to built-in measures, also where squares of their sums would leave
 * the range of a double. */
START_TEST(huge_and_tiny_weights)
{
    enum { N = 6 };
    const uint8_t mask[N] = {1, 0, 1, 0, 0, 1};
    const int32_t order[N] = {3, 0, 4, 2, 1, 5};
    const double sizes[] = {1, 1e300, 1e-300, 0x1p-1030};
    const double parameters[][2] = {{1, 1}, {0.5, 1}, {0.5, 1e12}};
    for (int i = 0; i < 4 * 3; i++) {
        const double *p = parameters[i / 4];
        submod_measure m = i < 4 ? submod_jaccard() : submod_tversky(p[0], p[1]);
        double relative[N], weight[N], gains[N], P = 0, a = 0, b = 0, before = 0;
        for (int e = 0; e < N; e++) {
            relative[e] = 1 + e % 3;
            weight[e] = sizes[i % 4] * relative[e];
            P += mask[e] ? relative[e] : 0;
        }
        submod_fn *fn;
        ck_assert_ok(submod_fn_counts(N, mask, weight, &m, &fn));
        ck_assert_ok(submod_fn_chain(fn, order, N, gains, NULL));
        for (size_t k = 0; k < N; k++) {
            *(mask[order[k]] ? &a : &b) += relative[order[k]];
            double value, expected = ratio(a, b, P, p[0], p[1]);
            ck_assert_ok(submod_fn_eval(fn, order, k + 1, &value));
            ck_assert_near(value, expected, 1e-14);
            ck_assert_near(gains[k], expected - before, 1e-14);
            before = expected;
        }
        submod_fn_free(fn);
    }
}
END_TEST

/* ---- bad input ---- */

typedef struct failing {
    int good; /* calls that succeed before the first that does not */
    double instead;
} failing;

static double fail_after(double a, double b, double P, double N, void *ctx)
{
    failing *f = ctx;
    return f->good-- > 0 ? root(a, b, P, N, NULL) : f->instead;
}

static void root_values(size_t count, const double *a, const double *b, double P, double N,
                        double *F, void *ctx)
{
    for (size_t i = 0; i < count; i++) {
        F[i] = root(a[i], b[i], P, N, ctx);
    }
}

START_TEST(failing_measures)
{
    const uint8_t mask[] = {1, 0, 0, 1, 0, 1};
    const int32_t all[] = {0, 1, 2, 3, 4, 5};
    const double z[] = {1, 0.2, 0.1, 0, -1, 0.3};
    const double instead[] = {NAN, INFINITY, -INFINITY};
    for (int j = 0; j < 3; j++) {
        for (int good = 0; good < 40; good++) {
            failing f = {good, instead[j]};
            submod_measure m =
                submod_measure_custom(&(submod_measure_ops){.value = fail_after}, &f);
            submod_fn *fn;
            uint8_t in[6] = {9, 9, 9, 9, 9, 9};
            ck_assert_ok(submod_fn_counts(6, mask, NULL, &m, &fn));
            submod_status status = minimize_minor(fn, NULL, 0, all, 6, z, 0, in, NULL);
            ck_assert(f.good >= 0 || status == SUBMOD_ECALLBACK);
            ck_assert(f.good < 0 || status == SUBMOD_OK);
            ck_assert(status == SUBMOD_OK || (in[0] == 9 && in[5] == 9));
            double gains[6];
            f.good = good;
            status = submod_fn_chain(fn, all, 6, gains, NULL);
            ck_assert_int_eq(status, good >= 7 ? SUBMOD_OK : SUBMOD_ECALLBACK);
            submod_fn_free(fn);
        }
    }
}
END_TEST

/* One by one or many at once: the same numbers. */
START_TEST(values_at_once)
{
    enum { N = 600 };
    submod_rng rng;
    submod_rng_seed(&rng, 7);
    uint8_t mask[N], in[2][N];
    int32_t all[N];
    double z[N];
    submod_measure m[2] = {submod_measure_custom(&(submod_measure_ops){.value = root}, NULL),
                           submod_measure_custom(NULL, NULL)};
    m[1].ops.values = root_values;
    for (int i = 0; i < N; i++) {
        all[i] = i;
        mask[i] = submod_rng_below(&rng, 3) == 0;
        z[i] = 4e-3 * submod_rng_normal(&rng);
    }
    for (int j = 0; j < 2; j++) {
        submod_fn *fn;
        ck_assert_ok(submod_fn_counts(N, mask, NULL, &m[j], &fn));
        ck_assert_ok(minimize_minor(fn, NULL, 0, all, N, z, 0, in[j], NULL));
        submod_fn_free(fn);
    }
    ck_assert_mem_eq(in[0], in[1], N);
}
END_TEST

START_TEST(bad_input)
{
    const uint8_t mask[] = {1, 0};
    const double weight[] = {1, 2}, negative[] = {1, -2}, nan[] = {1, NAN}, huge[] = {1e308, 1e308};
    submod_fn *fn = NULL;
    submod_measure m = submod_tversky(0.5, 0.5);
    assert_error(submod_fn_counts(2, mask, NULL, &m, &fn), SUBMOD_EINVAL, "Dice");
    m = submod_tversky(-1, 1);
    assert_error(submod_fn_counts(2, mask, NULL, &m, &fn), SUBMOD_EINVAL, "alpha");
    m = submod_measure_custom(NULL, NULL);
    assert_error(submod_fn_counts(2, mask, NULL, &m, &fn), SUBMOD_EINVAL, "value or values");
    m = submod_tversky(0.5, 2);
    assert_error(submod_fn_counts(0, mask, NULL, &m, &fn), SUBMOD_EINVAL, "n = 0");
    assert_error(submod_fn_counts(2, NULL, NULL, &m, &fn), SUBMOD_EINVAL, "foreground");
    assert_error(submod_fn_counts(2, mask, NULL, &m, NULL), SUBMOD_EINVAL, "fn");
    assert_error(submod_fn_counts(2, mask, negative, &m, &fn), SUBMOD_EINVAL, "weight[1]");
    assert_error(submod_fn_counts(2, mask, nan, &m, &fn), SUBMOD_ENONFINITE, "weight[1]");
    submod_measure kinds[] = {m, submod_hamming()};
    for (int j = 0; j < 2; j++) {
        assert_error(submod_fn_counts(2, mask, huge, &kinds[j], &fn), SUBMOD_ENUMERIC, "overflows");
    }
    ck_assert_ptr_null(fn);
    ck_assert_ok(submod_fn_counts(2, mask, weight, &m, &fn));
    submod_fn_free(fn);
}
END_TEST

/* Nothing but weights of 0: F = 0. */
START_TEST(no_weight_at_all)
{
    const uint8_t mask[] = {1, 0, 0};
    const double weight[] = {0, 0, 0}, z[] = {1, 0, -1};
    const int32_t all[] = {0, 1, 2};
    submod_measure m[] = {submod_jaccard(), submod_hamming(), submod_tversky(2, 2)};
    for (int j = 0; j < 3; j++) {
        submod_fn *fn;
        double value, gains[3];
        uint8_t in[3];
        ck_assert_ok(submod_fn_counts(3, mask, weight, &m[j], &fn));
        ck_assert_ok(submod_fn_eval(fn, all, 3, &value));
        ck_assert_ok(submod_fn_chain(fn, all, 3, gains, NULL));
        ck_assert(value == 0 && gains[0] == 0 && gains[1] == 0 && gains[2] == 0);
        for (int largest = 0; largest < 2; largest++) {
            ck_assert_ok(minimize_minor(fn, NULL, 0, all, 3, z, largest, in, &value));
            ck_assert(in[0] == 1 && in[1] == largest && in[2] == 0 && value == -1);
        }
        submod_fn_free(fn);
    }
}
END_TEST

START_TEST(memory_runs_out)
{
    enum { N = 100 };
    uint8_t mask[N], in[N];
    double weight[N], z[N];
    int32_t all[N];
    for (int i = 0; i < N; i++) {
        mask[i] = i % 3 == 0;
        weight[i] = 1 + i % 4;
        z[i] = sin(i) / 10;
        all[i] = i;
    }
    ck_assert_ok(submod_set_allocator(&counting_allocator));
    submod_measure m[] = {submod_tversky(0.5, 2), submod_hamming()};
    for (int j = 0; j < 2; j++) {
        submod_status status = SUBMOD_ENOMEM;
        long refused = 0;
        for (; status == SUBMOD_ENOMEM; refused += status == SUBMOD_ENOMEM) {
            submod_fn *fn = NULL;
            allocations.left = refused;
            status = submod_fn_counts(N, mask, weight, &m[j], &fn);
            if (status == SUBMOD_OK) {
                memset(in, 9, sizeof in);
                status = minimize_minor(fn, NULL, 0, all, N, z, 0, in, NULL);
                ck_assert(status == SUBMOD_OK || in[0] == 9);
            }
            submod_fn_free(fn);
            ck_assert_int_eq(allocations.live, 0);
        }
        ck_assert_ok(status);
        ck_assert_int_ge(refused, 3);
    }
    allocations.left = -1;
    ck_assert_ok(submod_set_allocator(NULL));
}
END_TEST

int main(void)
{
    return RUN_TESTS("two_counts", tversky_by_definition, special_measures, weights_are_copies,
                     lowest_of_all_pairs, evaluations_are_few, rises_are_differences,
                     failing_measures, values_at_once, huge_and_tiny_weights, bad_input,
                     no_weight_at_all, memory_runs_out);
}
