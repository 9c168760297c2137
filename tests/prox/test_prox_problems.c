/* Proximal operators on larger problems of known structure; the work on adversarial inputs; bad
 * input. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "combinations.h"
#include "problems.h"
#include "support.h"

/* Cardinality, sums of such functions, shifted, restricted and contracted: sort and pool against
 * the decomposition. */
START_TEST(cardinality_against_decomposition)
{
    enum { SIZE = 3000 };
    submod_rng rng;
    submod_rng_seed(&rng, 8);
    static double x[SIZE], u[SIZE], v[SIZE], s[SIZE], t[SIZE], w[SIZE];
    for (int repeat = 0; repeat < 8; repeat++) {
        submod_fn *terms[2] = {NULL, NULL}, *sum = NULL, *shifted = NULL, *fn = NULL;
        int32_t few[5] = {5, 17, 3, 99, 1000};
        ck_assert_ok(submod_fn_concave(SIZE + 5, NULL,
                                       &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &terms[0]));
        ck_assert_ok(submod_fn_concave(
            SIZE + 5, NULL,
            &(submod_concave){.kind = SUBMOD_CONCAVE_MIN, .parameter = (double)(SIZE / 3)},
            &terms[1]));
        ck_assert_ok(repeat % 2 ? make_iwata(SIZE + 5, &sum)
                                : combine_sum(terms, (double[]){40, 1}, 2, &sum));
        ck_assert_ok(submod_fn_contract(sum, few, 5, &shifted));
        random_vector(&rng, w, SIZE, repeat % 4 == 0);
        ck_assert_ok(combine_plus(shifted, w, &fn));
        random_vector(&rng, x, SIZE, repeat / 4);
        submod_prox_settings settings = submod_prox_defaults();
        submod_prox_info info;
        ck_assert_ok(submod_prox(fn, x, 2, u, s, &settings, &info, NULL));
        ck_assert_int_eq(info.method, SUBMOD_PROX_CARDINALITY);
        settings.method = SUBMOD_PROX_DECOMPOSITION;
        submod_status status = submod_prox(fn, x, 2, v, t, &settings, &info, NULL);
        if (repeat % 2 == 0) { /* a sum of two has no minimiser of its own */
            ck_assert_int_eq(status, SUBMOD_EUNSUPPORTED);
        } else {
            ck_assert_int_eq(status, SUBMOD_OK);
            for (size_t e = 0; e < SIZE; e++) {
                ck_assert_near(u[e], v[e], 1e-12 * SIZE);
                ck_assert_near(s[e], t[e], 1e-12 * SIZE * 4);
            }
        }
        submod_fn_free(terms[0]);
        submod_fn_free(terms[1]);
        submod_fn_free(sum);
        submod_fn_free(shifted);
        submod_fn_free(fn);
    }
}
END_TEST

/* The least-norm point of Iwata's function tells its minimisers: s < 0 the smallest one, s <= 0 the
 * largest. The optima of INSTANCES.md up to 10^5. */
START_TEST(iwata_by_its_least_norm_point)
{
    const struct {
        size_t n;
        double lowest;
    } known[] = {{3, -12},     {5, -26},        {10, -84},          {30, -651},
                 {100, -6834}, {1000, -668334}, {10000, -66683334}, {100000, -6666833334}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t n = known[i].n, k = 0;
        submod_fn *fn = NULL;
        double *x = calloc(n, sizeof *x), *s = malloc(n * sizeof *s), value;
        int32_t *set = malloc(n * sizeof *set);
        ck_assert(x && s && set);
        ck_assert_ok(make_iwata(n, &fn));
        ck_assert_ok(submod_prox(fn, x, 1, NULL, s, NULL, NULL, NULL));
        for (size_t e = 0; e < n; e++) {
            if (s[e] < -1e-9) {
                set[k++] = (int32_t)e;
            }
        }
        ck_assert_ok(submod_fn_eval(fn, set, k, &value));
        ck_assert_near(value, known[i].lowest, 0);
        submod_fn_free(fn);
        free(x);
        free(s);
        free(set);
    }
}
END_TEST

/* 1-D total variation, sum of w_j |u_j - u_j+1|: with z_j = s_0 + .. + s_j, the string, optimal iff
 * it is taut: |z_j| <= w_j, z_j = w_j where u falls, -w_j where it rises, and 0 at the end. */
static void check_taut(const double *x, const double *w, const double *u, const double *s, size_t n,
                       double lambda)
{
    double z = 0;
    for (size_t j = 0; j < n; j++) {
        z += s[j];
        ck_assert_near(s[j], lambda * (x[j] - u[j]), 1e-11 * (1 + lambda * fabs(x[j])));
        double most = j + 1 < n ? w[j] : 0;
        ck_assert(fabs(z) <= most + 1e-10);
        double step = j + 1 < n ? u[j] - u[j + 1] : 0;
        if (fabs(step) > 1e-9) {
            ck_assert_near(z, step > 0 ? most : -most, 1e-10);
        }
    }
}

START_TEST(total_variation_of_a_chain)
{
    enum { SIZE = 2000 };
    static double x[SIZE], u[SIZE], s[SIZE], w[SIZE];
    static int32_t tail[SIZE], head[SIZE];
    submod_rng rng;
    submod_rng_seed(&rng, 9);
    for (int repeat = 0; repeat < 60; repeat++) {
        size_t n = repeat < 45 ? 2 + submod_rng_below(&rng, 30) : SIZE;
        double walk = 0, lambda = pow(10, 2 - 4 * submod_rng_uniform(&rng));
        submod_fn *fn = NULL;
        for (size_t j = 0; j < n; j++) {
            walk += submod_rng_normal(&rng);
            x[j] = repeat % 3 == 0 ? walk
                                   : (repeat % 3 == 1 ? submod_rng_normal(&rng) : floor(walk / 3));
            w[j] = repeat % 2 ? 1 : submod_rng_uniform(&rng);
            tail[j] = (int32_t)j;
            head[j] = (int32_t)j + 1;
        }
        ck_assert_ok(submod_fn_cut(n, n - 1, tail, head, w, 0, &fn));
        for (int decompose = 0; decompose < 2; decompose++) {
            submod_prox_settings settings = submod_prox_defaults();
            submod_prox_info info;
            settings.method = decompose ? SUBMOD_PROX_DECOMPOSITION : SUBMOD_PROX_AUTO;
            ck_assert_ok(submod_prox(fn, x, lambda, u, s, &settings, &info, NULL));
            ck_assert_int_eq(info.method,
                             decompose ? SUBMOD_PROX_DECOMPOSITION : SUBMOD_PROX_CHAIN);
            check_taut(x, w, u, s, n, lambda);
        }
        submod_fn_free(fn);
    }
}
END_TEST

/* Paths in any order of their vertices, several, with single vertices between, directed or not;
 * offsets that swallow digits. The same by the decomposition. */
START_TEST(scattered_paths)
{
    enum { SIZE = 40 };
    submod_rng rng;
    submod_rng_seed(&rng, 17);
    for (int repeat = 0; repeat < 500; repeat++) {
        int32_t order[SIZE], tail[SIZE], head[SIZE];
        double w[SIZE], x[SIZE], u[SIZE], v[SIZE], s[SIZE], t[SIZE];
        size_t n = 2 + submod_rng_below(&rng, SIZE - 2), m = 0;
        double lambda = pow(10, 3 - 6 * submod_rng_uniform(&rng)), offset = repeat % 3 ? 0 : 1e6;
        submod_fn *fn = NULL;
        random_order(&rng, order, n);
        random_vector(&rng, x, n, repeat % 2);
        for (size_t i = 0; i < n; i++) {
            x[i] += offset;
        }
        for (size_t i = 0; i + 1 < n; i++) {
            if (submod_rng_below(&rng, 6)) {
                size_t turn = submod_rng_below(&rng, 2);
                tail[m] = order[i + turn];
                head[m] = order[i + 1 - turn];
                w[m++] = (double)submod_rng_below(&rng, 3);
            }
        }
        ck_assert_ok(submod_fn_cut(n, m, tail, head, w, repeat / 3 % 2, &fn));
        submod_prox_settings settings = submod_prox_defaults();
        settings.method = SUBMOD_PROX_CHAIN;
        ck_assert_ok(submod_prox(fn, x, lambda, u, s, &settings, NULL, NULL));
        settings.method = SUBMOD_PROX_DECOMPOSITION;
        ck_assert_ok(submod_prox(fn, x, lambda, v, t, &settings, NULL, NULL));
        for (size_t i = 0; i < n; i++) {
            ck_assert_near(u[i], v[i], 1e-13 * (fabs(u[i]) + 2 / lambda));
            ck_assert_near(s[i], t[i], 1e-13 * (4 + lambda * fabs(x[i])));
        }
        submod_fn_free(fn);
    }
}
END_TEST

/* Pairs of vertices held together by weights beside which x is below rounding: each pair is one
 * vertex of a path half as long, at twice the lambda. */
START_TEST(heavy_links_do_not_drown_x)
{
    enum { M = 200, N = 2 * M };
    int32_t tail[N], head[N];
    double weight[N], x[N], u[N], light[M], y[M], v[M];
    submod_rng rng;
    submod_rng_seed(&rng, 17);
    for (size_t trial = 0; trial < 20; trial++) {
        for (size_t i = 0; i < N; i++) {
            tail[i] = (int32_t)i;
            head[i] = (int32_t)i + 1;
            x[i] = submod_rng_uniform(&rng);
            weight[i] = submod_rng_uniform(&rng) / 2;
            weight[i] = i % 2 ? weight[i] : 1e15 * (1 + weight[i]);
        }
        for (size_t i = 0; i < M; i++) {
            y[i] = (x[2 * i] + x[2 * i + 1]) / 2;
            light[i] = weight[2 * i + 1];
        }
        submod_fn *pairs = NULL, *single = NULL;
        ck_assert_ok(submod_fn_cut(N, N - 1, tail, head, weight, 0, &pairs));
        ck_assert_ok(submod_fn_cut(M, M - 1, tail, head, light, 0, &single));
        ck_assert_ok(submod_prox(pairs, x, 1, u, NULL, NULL, NULL, NULL));
        ck_assert_ok(submod_prox(single, y, 2, v, NULL, NULL, NULL, NULL));
        for (size_t i = 0; i < N; i++) {
            ck_assert_near(u[i], v[i / 2], 1e-14);
        }
        submod_fn_free(pairs);
        submod_fn_free(single);
    }
}
END_TEST

START_TEST(circles_and_forks_are_no_paths)
{
    const int32_t from[3] = {0, 1, 2}, to[3][3] = {{1, 2, 0}, {3, 3, 3}, {1, 0, 3}};
    const double one[4] = {1, 1, 1, 1};
    for (int i = 0; i < 3; i++) {
        submod_fn *fn = NULL;
        submod_prox_info info;
        ck_assert_ok(submod_fn_cut(4, 3, from, to[i], one, 0, &fn));
        ck_assert_ok(submod_prox(fn, one, 1, NULL, NULL, NULL, &info, NULL));
        ck_assert_int_eq(info.method, SUBMOD_PROX_DECOMPOSITION);
        submod_fn_free(fn);
    }
}
END_TEST

/* On graphs: s is a base iff no set has F(A) < s(A), which the minimiser finds; with the gap, which
 * the entry computes, that is a proof. */
START_TEST(total_variation_of_graphs)
{
    submod_rng rng;
    submod_rng_seed(&rng, 10);
    for (int repeat = 0; repeat < 9; repeat++) {
        problem_graph g = {0};
        if (repeat % 3 == 2) {
            g = problem_genrmf(5, 23, 0, 4, &rng);
        }
        submod_fn *fn = repeat % 3 == 0   ? problem_watts_strogatz(1000, &rng)
                        : repeat % 3 == 1 ? problem_image(40, 30, &rng)
                                          : problem_st_cut(&g);
        ck_assert_ptr_nonnull(fn);
        size_t n = submod_fn_size(fn);
        double *x = malloc(n * sizeof *x), *u = malloc(n * sizeof *u), *s = malloc(n * sizeof *s);
        int32_t *block = malloc(n * sizeof *block);
        uint8_t *in = malloc(n);
        submod_prox_info info;
        double lowest, lambda = repeat < 3 ? 0.2 : 5;
        ck_assert(x && u && s && block && in);
        random_vector(&rng, x, n, repeat >= 6);
        for (size_t e = 0; e < n; e++) {
            block[e] = (int32_t)e;
        }
        ck_assert_ok(submod_prox(fn, x, lambda, u, s, NULL, &info, NULL));
        ck_assert_int_eq(info.method, SUBMOD_PROX_DECOMPOSITION);
        double scale = (double)n * (1 + max_abs(s, n));
        ck_assert(fabs(info.gap) <= 1e-12 * scale * (1 + max_abs(u, n)));
        ck_assert_ok(minimize_minor(fn, NULL, 0, block, n, s, 0, in, &lowest));
        ck_assert_near(lowest, 0, 1e-11 * scale);
        submod_fn_free(fn);
        problem_graph_clear(&g);
        free(x);
        free(u);
        free(s);
        free(block);
        free(in);
    }
}
END_TEST

/* Inputs that a pivot at the mean splits a few at a time: the work stays near n log n. */
START_TEST(adversarial_inputs_stay_cheap)
{
    enum { SIZE = 4096 };
    static double x[SIZE], w[SIZE];
    static int32_t tail[SIZE], head[SIZE];
    /* Maximum flow sees 60 bits at a time, so that it splits these numbers a few at a time too. */
    const double most[2] = {20, 2.5};
    submod_fn *fn[2] = {NULL};
    submod_rng rng;
    submod_rng_seed(&rng, 11);
    for (int32_t i = 0; i < SIZE; i++) {
        tail[i] = (int32_t)submod_rng_below(&rng, SIZE);
        head[i] = (int32_t)submod_rng_below(&rng, SIZE);
        w[i] = 1e-300;
    }
    ck_assert_ok(submod_fn_cut(SIZE, SIZE, tail, head, w, 0, &fn[0]));
    ck_assert_ok(submod_fn_concave(
        SIZE, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_MIN, .parameter = (double)(10)},
        &fn[1]));
    for (int f = 0; f < 2; f++) {
        for (int kind = 0; kind < 4; kind++) {
            for (int i = 0; i < SIZE; i++) {
                x[i] = kind == 0   ? exp2(500 - 0.24 * i)
                       : kind == 1 ? -exp2(500 - 0.24 * i)
                       : kind == 2 ? (i % 2 ? 1 : -1) * exp2(500 - 0.24 * i)
                                   : 1;
            }
            submod_prox_settings settings = submod_prox_defaults();
            submod_prox_info info;
            settings.method = SUBMOD_PROX_DECOMPOSITION;
            ck_assert_ok(submod_prox(fn[f], x, 1, NULL, NULL, &settings, &info, NULL));
            double share = (double)info.work / (SIZE * log2(SIZE));
            ck_assert_msg(share <= most[f], "%s, x %d: %g", submod_fn_name(fn[f]), kind, share);
        }
        submod_fn_free(fn[f]);
    }
}
END_TEST

/* The generators make what they say: submodular functions, with their known optima. */
START_TEST(standard_problems)
{
    submod_rng rng;
    submod_rng_seed(&rng, 16);
    submod_fn *fn[5] = {problem_two_moons(6, &rng), problem_grouped_iwata(12, 3),
                        problem_coverage(12, &rng), problem_image(4, 3, &rng),
                        problem_watts_strogatz(40, &rng)};
    for (int i = 0; i < 5; i++) {
        submod_check_report report;
        ck_assert_ptr_nonnull(fn[i]);
        ck_assert_ok(submod_fn_check(fn[i], &report, NULL));
        ck_assert(report.submodular && report.consistent && report.normalised);
        submod_check_report_clear(&report);
    }
    double *F = subset_values(fn[1]), lowest = 0; /* three times Iwata's function for n = 4 */
    for (size_t set = 0; set < 1 << 12; set++) {
        lowest = fmin(lowest, F[set]);
    }
    ck_assert_near(lowest, 3 * -18, 0);
    free(F);
    F = subset_values(fn[0]);
    /* Without s the function of the moons is symmetric and 0 on V; s adds up to 0. */
    ck_assert_near(F[(1 << 12) - 1], 0, 1e-9);
    free(F);
    for (int i = 0; i < 5; i++) {
        submod_fn_free(fn[i]);
    }
}
END_TEST

/* ---- bad input ---- */

START_TEST(bad_input)
{
    submod_fn *fn = NULL, *custom = NULL, *jaccard = NULL;
    double x[3] = {1, 2, 3}, bad[3] = {1, NAN, 3}, u[3] = {7, 7, 7}, s[3] = {7, 7, 7};
    submod_prox_info info = {.primal = 7};
    submod_prox_settings d = submod_prox_defaults(), t = d;
    submod_rng rng;
    submod_rng_seed(&rng, 12);
    ck_assert_ok(submod_fn_concave(3, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn));
    ck_assert_ok(submod_fn_jaccard(3, (uint8_t[]){1, 0, 1}, &jaccard));
#define REFUSES(status, ...) ck_assert_int_eq(submod_prox(__VA_ARGS__, &info, NULL), status)
    REFUSES(SUBMOD_EINVAL, NULL, x, 1, u, s, NULL);
    REFUSES(SUBMOD_EINVAL, fn, NULL, 1, u, s, NULL);
    REFUSES(SUBMOD_EINVAL, fn, x, 0, u, s, NULL);
    REFUSES(SUBMOD_EINVAL, fn, x, -1, u, s, NULL);
    REFUSES(SUBMOD_ENONFINITE, fn, x, NAN, u, s, NULL);
    REFUSES(SUBMOD_ENONFINITE, fn, x, INFINITY, u, s, NULL);
    REFUSES(SUBMOD_ENONFINITE, fn, bad, 1, u, s, NULL);
    ck_assert_str_eq(submod_last_error(), "submod_prox: x[1] is nan; it must be finite");
    t.method = (submod_prox_method)14;
    REFUSES(SUBMOD_EINVAL, fn, x, 1, u, s, &t);
    ck_assert_str_eq(submod_last_error(),
                     "submod_prox: method = 14 is unknown; see submod_prox_method");
    t.method = (submod_prox_method)-1;
    REFUSES(SUBMOD_EINVAL, fn, x, 1, u, s, &t);
    t = d;
    t.tolerance = -1;
    REFUSES(SUBMOD_EINVAL, fn, x, 1, u, s, &t);
    ck_assert_str_eq(submod_last_error(), "submod_prox: tolerance = -1 must be >= 0");
    t.tolerance = NAN;
    REFUSES(SUBMOD_ENONFINITE, fn, x, 1, u, s, &t);
    t = d;
    t.time_limit = -1;
    REFUSES(SUBMOD_EINVAL, fn, x, 1, u, s, &t);
    t.time_limit = NAN;
    REFUSES(SUBMOD_ENONFINITE, fn, x, 1, u, s, &t);
    t = d;
    t.method = SUBMOD_PROX_CLOSED_FORM;
    REFUSES(SUBMOD_EUNSUPPORTED, fn, x, 1, u, s, &t);
    ck_assert_str_eq(submod_last_error(),
                     "submod_prox: method 'closed form' cannot handle a cardinality "
                     "function; try SUBMOD_PROX_AUTO");
    t.method = SUBMOD_PROX_CARDINALITY;
    REFUSES(SUBMOD_EUNSUPPORTED, jaccard, x, 1, u, s, &t);
    custom = families[family_count - 1].make(3, &rng);
    t.method = SUBMOD_PROX_DECOMPOSITION;
    REFUSES(SUBMOD_EUNSUPPORTED, custom, x, 1, u, s, &t);
    /* Overflow. */
    REFUSES(SUBMOD_ENUMERIC, fn, x, 1e-310, u, s, NULL);
    REFUSES(SUBMOD_ENUMERIC, jaccard, ((double[]){1e300, -1e300, 0}), 1e10, u, s, NULL);
#undef REFUSES
    ck_assert(info.primal == 7);
    ck_assert_ok(submod_prox(fn, x, 1, NULL, NULL, NULL, NULL, NULL));
    submod_fn_free(fn);
    submod_fn_free(custom);
    submod_fn_free(jaccard);
}
END_TEST

/* A custom minimiser: k by k, of a function that may not be submodular. */
static submod_status square_eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    (void)set;
    *value = *(const double *)ctx * (double)(k * k);
    return SUBMOD_OK;
}

static submod_status any_set(const void *ctx, const int32_t *base, size_t nbase,
                             const int32_t *block, size_t nblock, const double *z, int largest,
                             uint8_t *in)
{
    (void)ctx, (void)base, (void)nbase, (void)largest;
    for (size_t i = 0; i < nblock; i++) {
        in[i] = z[i] > 0 && block[i] % 3 ? 9 : 0;
    }
    return SUBMOD_OK;
}

MINIMIZE_BOTH(any_answer, any_set)

/* A convex function of the cardinality and a minimiser that makes things up: it ends, with a status
 * that says so and a usable u. */
START_TEST(not_submodular)
{
    enum { SIZE = 50 };
    double x[SIZE], u[SIZE], s[SIZE], factor = 1;
    submod_fn_ops ops = {.eval = square_eval, .minimize = any_answer};
    submod_fn *fn = NULL;
    submod_rng rng;
    submod_rng_seed(&rng, 13);
    ck_assert_ok(submod_fn_custom(SIZE, &ops, &factor, &fn));
    for (int repeat = 0; repeat < 50; repeat++) {
        submod_prox_settings settings = submod_prox_defaults();
        submod_prox_info info;
        settings.method = SUBMOD_PROX_DECOMPOSITION;
        random_vector(&rng, x, SIZE, repeat % 2);
        submod_status status = submod_prox(fn, x, 1, u, s, &settings, &info, NULL);
        ck_assert(status == SUBMOD_INACCURATE || (status == SUBMOD_OK && fabs(info.gap) < 1e-6));
        ck_assert(isfinite(max_abs(u, SIZE)));
        ck_assert_uint_le(info.iterations, 4 * SIZE);
    }
    submod_fn_free(fn);
}
END_TEST

static submod_status failing_set(const void *ctx, const int32_t *base, size_t nbase,
                                 const int32_t *block, size_t nblock, const double *z, int largest,
                                 uint8_t *in)
{
    (void)ctx, (void)base, (void)nbase, (void)block, (void)nblock, (void)z, (void)largest, (void)in;
    return SUBMOD_ENUMERIC;
}

MINIMIZE_BOTH(failing, failing_set)

START_TEST(failing_callback)
{
    submod_fn_ops ops = {.eval = square_eval, .minimize = failing};
    submod_fn *fn = NULL;
    double factor = -1, u[3];
    submod_prox_settings settings = submod_prox_defaults();
    settings.method = SUBMOD_PROX_DECOMPOSITION;
    ck_assert_ok(submod_fn_custom(3, &ops, &factor, &fn));
    ck_assert_int_eq(submod_prox(fn, (double[]){1, 2, 3}, 1, u, NULL, &settings, NULL, NULL),
                     SUBMOD_ECALLBACK);
    submod_fn_free(fn);
}
END_TEST

/* Out of time: u with its true gap, no better than the optimum. */
START_TEST(time_limit)
{
    submod_rng rng;
    submod_rng_seed(&rng, 14);
    submod_fn *fn = problem_image(60, 60, &rng);
    size_t n = submod_fn_size(fn);
    double *x = malloc(n * sizeof *x), *u = malloc(n * sizeof *u), *v = malloc(n * sizeof *v),
           *s = malloc(n * sizeof *s);
    submod_prox_settings settings = submod_prox_defaults();
    submod_prox_info stopped, done;
    ck_assert(x && u && v && s);
    random_vector(&rng, x, n, 0);
    settings.time_limit = 1e-9;
    ck_assert_int_eq(submod_prox(fn, x, 1, u, s, &settings, &stopped, NULL), SUBMOD_TIMELIMIT);
    ck_assert_ok(submod_prox(fn, x, 1, v, NULL, NULL, &done, NULL));
    double distance = 0, primal, dual = 0;
    ck_assert_ok(submod_lovasz(fn, u, &primal, NULL, NULL, SUBMOD_TIES_AVERAGE, NULL));
    for (size_t e = 0; e < n; e++) {
        distance += (u[e] - v[e]) * (u[e] - v[e]);
        primal += (u[e] - x[e]) * (u[e] - x[e]) / 2;
        dual += s[e] * x[e] - s[e] * s[e] / 2;
    }
    ck_assert(distance > 0 && distance <= 2 * stopped.gap);
    ck_assert_near(stopped.primal, primal, 1e-9 * fabs(primal));
    ck_assert_near(stopped.dual, dual, 1e-9 * fabs(dual));
    ck_assert_near(stopped.gap, primal - dual, 1e-9 * (fabs(primal) + fabs(dual)));
    ck_assert(stopped.dual <= done.primal && stopped.primal >= done.dual);
    submod_fn_free(fn);
    free(x);
    free(u);
    free(v);
    free(s);
}
END_TEST

int main(void)
{
    return RUN_TESTS("prox_problems", cardinality_against_decomposition,
                     iwata_by_its_least_norm_point, total_variation_of_a_chain, scattered_paths,
                     heavy_links_do_not_drown_x, circles_and_forks_are_no_paths,
                     total_variation_of_graphs, adversarial_inputs_stay_cheap, standard_problems,
                     bad_input, not_submodular, failing_callback, time_limit);
}
