/* Numbers that are fine by themselves and overflow on the way: SUBMOD_ENUMERIC with an error
 * message, outputs untouched. And what no method can do: SUBMOD_EUNSUPPORTED. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "combinations.h"
#include "depth.h"
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
    double u[N], s[N];
    submod_prox_settings settings = submod_prox_defaults();
    submod_prox_info info = {.gap = 7};
    settings.method = method;
    assert_error(submod_prox(fn, x, lambda, u, s, &settings, &info, NULL), SUBMOD_ENUMERIC, words);
    ck_assert(info.gap == 7);
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
    ck_assert_ok(
        submod_fn_concave(N, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &parts[1]));
    ck_assert_ok(submod_fn_modular(N, w, &parts[2]));
    ck_assert_ok(combine_sum(parts, NULL, 3, &fn));
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
    ck_assert_ok(submod_fn_concave(N, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn));
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
    ck_assert_ok(combine_scaled(cut, 1e-200, &scaled));
    ck_assert_ok(combine_plus(scaled, w, &fn));
    assert_error(submod_sfm(fn, in, NULL, NULL, NULL, NULL, NULL), SUBMOD_ENUMERIC,
                 "(z - w) / c overflows");
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
    ck_assert_ok(combine_plus(cut, inside, &moved));
    ck_assert_ok(combine_scaled(moved, 0.5, &scaled));
    ck_assert_ok(combine_plus(scaled, outside, &fn));
    assert_error(submod_sfm(fn, in, NULL, NULL, NULL, NULL, NULL), SUBMOD_ENUMERIC,
                 "(z - w) / c overflows");
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
    assert_error(minimize_minor(fn, NULL, 0, block, 1, z, 0, in, &value), SUBMOD_ENUMERIC,
                 "overflows");
    ck_assert(value == 7 && in[0] == 7);
    submod_fn_free(fn);
}
END_TEST

START_TEST(sum_of_heavy_cuts)
{
    submod_fn *parts[2] = {cut_of(1.5e308), cut_of(1.5e308)}, *fn = NULL;
    submod_status status = combine_sum(parts, NULL, 2, &fn);
    double u[N], x[N] = {1, 2, 3};
    status = status ? status : submod_prox(fn, x, 1, u, NULL, NULL, NULL, NULL);
    assert_error(status, SUBMOD_ENUMERIC, "overflow");
    submod_fn_free(parts[0]);
    submod_fn_free(parts[1]);
    submod_fn_free(fn);
}
END_TEST

START_TEST(weights_that_overflow)
{
    const uint8_t foreground[N] = {1, 0, 0};
    const double weight[N] = {1e308, 1e308, 1e308};
    submod_measure jaccard = submod_jaccard();
    submod_fn *fn = NULL;
    assert_error(submod_fn_counts(N, foreground, weight, &jaccard, &fn), SUBMOD_ENUMERIC,
                 "overflow");
    ck_assert_ptr_null(fn);
}
END_TEST

/* Each vertex of the triangle has edges of 4e308 in both directions, which overflow. */
START_TEST(minimum_of_a_heavy_cut)
{
    const int32_t tail[3] = {0, 1, 2}, head[3] = {1, 2, 0}, all[N] = {0, 1, 2};
    const double triangle[3] = {1e308, 1e308, 1e308}, modular[N] = {-1.2e308, 1e308, -1.1e308};
    const double zero[N] = {0};
    const char *const words[] = {"1e+308 on the edge of elements 0 and 1",
                                 "with 1.2e+308 at element 0"};
    submod_fn *cut = NULL, *fn = NULL;
    uint8_t in[N] = {7, 7, 7};
    submod_sfm_info info = {.exact = 7};
    ck_assert_ok(submod_fn_cut(N, 3, tail, head, triangle, 0, &cut));
    ck_assert_ok(combine_plus(cut, modular, &fn));
    for (int i = 0; i < 2; i++) {
        assert_error(submod_sfm(fn, in, NULL, NULL, NULL, &info, NULL), SUBMOD_ENUMERIC, words[i]);
        assert_error(minimize_minor(fn, NULL, 0, all, N, zero, 0, in, NULL), SUBMOD_ENUMERIC,
                     words[i]);
    }
    ck_assert(in[0] == 7 && info.exact == 7);
    submod_fn_free(cut);
    submod_fn_free(fn);
}
END_TEST

/* The largest modular part and the heaviest vertex overflow together, at one element or at two. The
 * minima are right all the same. */
START_TEST(minimum_of_a_cut_that_fits)
{
    const struct {
        size_t n, m;
        int32_t tail[2], head[2];
        double weight[2], modular[4], value;
        uint8_t in[4];
    } cases[] = {
        {2, 1, {0}, {1}, {8e307}, {-1e308, 1.2e308}, -2e307, {1, 0}},
        {4,
         2,
         {0, 2},
         {1, 3},
         {8e307, 1},
         {-8e307, 9e307, 1e308, -1.2e308},
         -1.2e308,
         {0, 0, 0, 1}},
    };
    for (size_t i = 0; i < 2; i++) {
        submod_fn *cut = NULL, *fn = NULL;
        uint8_t in[4];
        submod_sfm_info info;
        size_t n = cases[i].n;
        ck_assert_ok(
            submod_fn_cut(n, cases[i].m, cases[i].tail, cases[i].head, cases[i].weight, 0, &cut));
        ck_assert_ok(combine_plus(cut, cases[i].modular, &fn));
        ck_assert_ok(submod_sfm(fn, in, NULL, NULL, NULL, &info, NULL));
        ck_assert_mem_eq(in, cases[i].in, n);
        ck_assert_near(info.value, cases[i].value, 1e-14 * fabs(cases[i].value));
        submod_fn_free(cut);
        submod_fn_free(fn);
    }
}
END_TEST

/* Sums and square roots with a modular part up to 1e306: the minimum is 1e306 times that at 1. */
START_TEST(minima_near_the_largest_double)
{
    enum { M = 12 };
    for (int kind = 0; kind < 2; kind++) {
        double lowest = NAN;
        for (double c = 1; c <= 1e306; c *= c < 1e300 ? 1e51 : 10) {
            int32_t tail[M], head[M];
            double weight[M], w[M];
            submod_fn *cut = NULL, *root = NULL, *terms = NULL, *fn = NULL;
            submod_sfm_info info;
            for (int i = 0; i < M; i++) {
                tail[i] = i;
                head[i] = (i * 5 + 1) % M;
                weight[i] = c * (0.1 + 0.05 * (i % 3));
                w[i] = -0.35 * c * sin(i * 1.7 + 0.3);
            }
            ck_assert_ok(submod_fn_cut(M, M, tail, head, weight, 0, &cut));
            ck_assert_ok(
                submod_fn_concave(M, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &root));
            submod_fn *const both[2] = {root, cut};
            ck_assert_ok(combine_sum(both, (double[]){0.3 * c, 1}, kind ? 2 : 1, &terms));
            ck_assert_ok(combine_plus(terms, w, &fn));
            ck_assert_ok(submod_sfm(fn, NULL, NULL, NULL, NULL, &info, NULL));
            lowest = isnan(lowest) ? info.value : lowest;
            ck_assert_near(info.value / c, lowest, 1e-9);
            submod_fn_free(cut);
            submod_fn_free(root);
            submod_fn_free(terms);
            submod_fn_free(fn);
        }
    }
}
END_TEST

/* The message names the function that the user called, not one that it called in turn. */
START_TEST(messages_name_the_call)
{
    const double w[N] = {-0.7e308, 0.7e308, -0.7e308};
    submod_fn *root = NULL, *scaled = NULL, *fn = NULL;
    ck_assert_ok(submod_fn_concave(N, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &root));
    ck_assert_ok(combine_scaled(root, 0.6e308, &scaled));
    ck_assert_ok(combine_plus(scaled, w, &fn));
    assert_error(submod_sfm(fn, NULL, NULL, (double[N]){0}, NULL, NULL, NULL), SUBMOD_ENUMERIC,
                 "submod_sfm: ");
    submod_fn_free(root);
    submod_fn_free(scaled);
    submod_fn_free(fn);
}
END_TEST

/* Values are finite, but no sum of absolute values is. */
START_TEST(minimum_of_large_opposites)
{
    const double w[N] = {1.5e308, -1.5e308, 1e308};
    submod_fn *fn = NULL;
    uint8_t small[N], large[N];
    submod_sfm_info info;
    submod_sfm_settings settings = submod_sfm_defaults();
    settings.method = SUBMOD_SFM_MIN_NORM;
    ck_assert_ok(submod_fn_modular(N, w, &fn));
    ck_assert_ok(submod_sfm(fn, small, large, NULL, &settings, &info, NULL));
    ck_assert(info.value == -1.5e308 && info.exact && info.extremes_proved);
    ck_assert(!small[0] && small[1] && !small[2]);
    ck_assert_mem_eq(small, large, N);
    submod_fn_free(fn);
}
END_TEST

/* A random graph. It is sometimes a path, whose prox is that of a chain. */
typedef struct graph {
    size_t n, m;
    int32_t tail[16], head[16];
    double weight[16], modular[8];
} graph;

static graph random_graph(submod_rng *rng)
{
    graph g = {.n = 2 + submod_rng_below(rng, 6)};
    bool path = submod_rng_below(rng, 3) == 0;
    double heavy = 1.79e308 * exp2(-(double)submod_rng_below(rng, 8));
    double size = 1.79e308 * exp2(-(double)submod_rng_below(rng, 8));
    g.m = path ? g.n - 1 : 1 + submod_rng_below(rng, 2 * g.n);
    for (size_t i = 0; i < g.m; i++) {
        g.tail[i] = (int32_t)(path ? i : submod_rng_below(rng, g.n));
        g.head[i] = (int32_t)(path ? i + 1 : submod_rng_below(rng, g.n));
        g.weight[i] = heavy * submod_rng_uniform(rng);
    }
    for (size_t i = 0; i < g.n; i++) {
        g.modular[i] = size * (2 * submod_rng_uniform(rng) - 1);
    }
    return g;
}

/* Returns c times the cut of g, alone or with the square root of the cardinality, plus a modular
 * function. c is a power of two. */
static submod_fn *cut_plus_modular(const graph *g, double c, bool sum)
{
    submod_fn *cut = NULL, *root = NULL, *both = NULL, *fn = NULL;
    double weight[16], modular[8];
    for (size_t i = 0; i < g->m; i++) {
        weight[i] = c * g->weight[i];
    }
    for (size_t i = 0; i < g->n; i++) {
        modular[i] = c * g->modular[i];
    }
    ck_assert_ok(submod_fn_cut(g->n, g->m, g->tail, g->head, weight, 0, &cut));
    ck_assert_ok(
        submod_fn_concave(g->n, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &root));
    submod_fn *const terms[2] = {cut, root};
    ck_assert_ok(combine_sum(terms, (double[]){1, c * 5e306}, sum ? 2 : 1, &both));
    ck_assert_ok(combine_plus(both, modular, &fn));
    submod_fn_free(cut);
    submod_fn_free(root);
    submod_fn_free(both);
    return fn;
}

/* Near the largest double, the minimum and the prox equal those of the same problem scaled down, or
 * the call fails. */
START_TEST(heavy_cuts_and_scaled_ones)
{
    const double c = 0x1p-60;
    submod_rng rng;
    submod_rng_seed(&rng, 61);
    int solved = 0;
    for (int repeat = 0; repeat < repeats(3000); repeat++) {
        graph g = random_graph(&rng);
        bool sum = repeat % 2;
        submod_fn *heavy = cut_plus_modular(&g, 1, sum), *light = cut_plus_modular(&g, c, sum);
        uint8_t in[8], expected[8];
        double x[8], u[8], near[8], lambda = 1e306 * (1 + 9 * submod_rng_uniform(&rng));
        random_vector(&rng, x, g.n, 0);
        ck_assert_ok(submod_sfm(light, expected, NULL, NULL, NULL, NULL, NULL));
        submod_status status = submod_sfm(heavy, in, NULL, NULL, NULL, NULL, NULL);
        ck_assert(status == SUBMOD_OK || status == SUBMOD_ENUMERIC);
        ck_assert(status || memcmp(in, expected, g.n) == 0);
        solved += status == SUBMOD_OK;
        ck_assert_ok(submod_prox(light, x, c * lambda, near, NULL, NULL, NULL, NULL));
        status = submod_prox(heavy, x, lambda, u, NULL, NULL, NULL, NULL);
        ck_assert(status == SUBMOD_OK || status == SUBMOD_ENUMERIC);
        for (size_t i = 0; status == SUBMOD_OK && i < g.n; i++) {
            ck_assert_near(u[i], near[i], 3e-4 * (1 + fabs(near[i])));
        }
        solved += status == SUBMOD_OK;
        submod_fn_free(heavy);
        submod_fn_free(light);
    }
    ck_assert_int_ge(5 * solved, repeats(3000)); /* out of twice as many */
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
    float u[N];
    submod_scores scores = submod_scores_f32(x, 1, 1, N);
    submod_labels labels = submod_labels_u8(y, 1, N);
    submod_gradient to = submod_gradient_dense(u, 1, N);
    submod_measure measure = submod_measure_custom(&(submod_measure_ops){.value = no_number}, NULL);
    submod_loss_settings settings = submod_loss_defaults();
    settings.measure = &measure;
    assert_error(
        submod_prox_hinge_layer(&scores, &labels, 1, &to, NULL, &settings, NULL, NULL, NULL),
        SUBMOD_ECALLBACK, "the measure");
}
END_TEST

int main(void)
{
    return RUN_TESTS("overflows", prox_of_large_numbers, prox_of_large_sums, minimum_of_no_sum,
                     minimum_of_a_scaled_function, minimum_of_what_is_scaled_and_moved,
                     minimum_of_a_large_difference, sum_of_heavy_cuts, weights_that_overflow,
                     minimum_of_a_heavy_cut, minimum_of_a_cut_that_fits, minimum_of_large_opposites,
                     minima_near_the_largest_double, messages_name_the_call,
                     heavy_cuts_and_scaled_ones, hinge_of_a_measure_that_fails);
}
