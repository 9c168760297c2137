/* The prox of sums by their parts: all pairs of families against all subsets, Fujishige-Wolfe and
 * certificates; folding; cuts by active sets; embedded parts; limits; threads. */
#include <math.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"
#include "combinations.h"
#include "depth.h"
#include "prox/sum.h"
#include "support.h"

enum { N = 7 };

static submod_prox_settings by(submod_prox_method method)
{
    submod_prox_settings settings = submod_prox_defaults();
    settings.method = method;
    return settings;
}

static submod_fn *combine(submod_fn *a, double ca, submod_fn *b, double cb)
{
    submod_fn *fn = NULL;
    submod_fn *const both[2] = {a, b};
    ck_assert_ok(combine_sum(both, (double[]){ca, cb}, 2, &fn));
    submod_fn_free(a);
    submod_fn_free(b);
    return fn;
}

static submod_fn *shifted(submod_fn *f, const double *w)
{
    submod_fn *fn = NULL;
    ck_assert_ok(combine_plus(f, w, &fn));
    submod_fn_free(f);
    return fn;
}

/* s is a base, the gap is what F says, and u is as near as the gap promises: all over subsets. */
static void check_over_subsets(const submod_fn *fn, const double *x, double lambda, const double *u,
                               const double *s, double gap)
{
    size_t n = submod_fn_size(fn);
    double *F = subset_values(fn);
    double scale = value_scale(F, n), total = 0, along = 0, miss = 0;
    for (size_t i = 0; i < n; i++) {
        double off = u[i] - x[i] + s[i] / lambda;
        total += s[i];
        along += s[i] * u[i];
        miss += lambda / 2 * off * off;
    }
    for (size_t set = (size_t)1 << n; set-- > 0;) {
        F[set] -= F[0];
    }
    ck_assert(worst_excess(F, n, s) <= 1e-12 * scale);
    ck_assert_near(total, F[((size_t)1 << n) - 1], 1e-12 * scale);
    ck_assert_near(gap, choquet(F, n, u) - along + miss, 1e-12 * scale * fmax(1, max_abs(u, n)));
    free(F);
}

/* The same pair against a combination that Wolfe's method found, by code that shares nothing. */
static void check_certificate(const submod_fn *fn, const double *x, double lambda, const double *u,
                              const double *s)
{
    submod_combination combination = {0};
    submod_certificate_report report;
    submod_prox_settings wolfe = by(SUBMOD_PROX_MIN_NORM);
    double other[64], scale = fmax(max_abs(s, submod_fn_size(fn)), lambda);
    wolfe.start = &combination;
    wolfe.combination = &combination;
    wolfe.tolerance = 1e-13;
    ck_assert_ok(submod_prox(fn, x, lambda, other, NULL, &wolfe, NULL, NULL));
    ck_assert_ok(submod_certificate_check(fn, x, lambda, u, s, &combination, &report));
    ck_assert(report.base_error <= 3e-5 * scale);
    ck_assert(report.gap <= 1e-8 * scale * fmax(1, scale / lambda));
    for (size_t i = 0; i < submod_fn_size(fn); i++) {
        ck_assert_near(u[i], other[i], 3e-5 * fmax(1, scale / lambda));
    }
    submod_combination_free(&combination);
}

static submod_prox_method solve_and_check(const submod_fn *fn, const double *x, double lambda,
                                          submod_prox_method method)
{
    double u[64], s[64];
    submod_prox_info info;
    submod_prox_settings settings = by(method);
    ck_assert_ok(submod_prox(fn, x, lambda, u, s, &settings, &info, NULL));
    check_over_subsets(fn, x, lambda, u, s, info.gap);
    check_certificate(fn, x, lambda, u, s);
    return info.method;
}

START_TEST(all_pairs)
{
    submod_rng rng;
    submod_rng_seed(&rng, 20);
    for (size_t i = 0; i < family_count; i++) {
        for (size_t j = i % (size_t)each(4); j <= i; j += (size_t)each(4)) {
            double x[N], lambda = exp(submod_rng_normal(&rng));
            submod_fn *fn = combine(families[i].make(N, &rng), 0.5, families[j].make(N, &rng), 2);
            random_vector(&rng, x, N, (i + j) % 2 == 1);
            solve_and_check(fn, x, lambda, SUBMOD_PROX_SUM);
            solve_and_check(fn, x, lambda, SUBMOD_PROX_AUTO);
            submod_fn_free(fn);
        }
    }
}
END_TEST

START_TEST(three_and_equal_values)
{
    submod_rng rng;
    submod_rng_seed(&rng, 21);
    for (int repeat = 0; repeat < repeats(200); repeat++) {
        double x[N], w[N];
        submod_fn *fn = families[submod_rng_below(&rng, family_count)].make(N, &rng);
        for (int k = 0; k < 3; k++) {
            double c = repeat % 5 == k ? 0 : submod_rng_uniform(&rng);
            fn = combine(families[submod_rng_below(&rng, family_count)].make(N, &rng), c, fn, 1);
        }
        random_vector(&rng, w, N, 1);
        random_vector(&rng, x, N, 1);
        for (int i = 0; i < N; i++) {
            x[i] = repeat % 3 == 0 ? 1 : x[i];
        }
        fn = shifted(fn, w);
        solve_and_check(fn, x, 0.5, SUBMOD_PROX_SUM);
        submod_fn_free(fn);
    }
}
END_TEST

/* ---- folding ---- */

static submod_fn *make(const char *name, size_t n, submod_rng *rng)
{
    size_t i = 0;
    while (strcmp(families[i].name, name) != 0) {
        i++;
    }
    return families[i].make(n, rng);
}

/* What folding leaves has the values that the function has, up to F(empty). */
static void check_fold(const submod_fn *fn, size_t parts)
{
    submodi_scope scope;
    submodi_folded folded;
    size_t n = submod_fn_size(fn);
    double *F = subset_values(fn), scale = value_scale(F, n);
    ck_assert_ok(submodi_fold(fn, &folded, submodi_scope_open(&scope, NULL)));
    ck_assert_uint_eq(folded.count, parts);
    for (uint32_t set = 0; set < 1u << n; set++) {
        double value = 0;
        for (size_t e = 0; e < n; e++) {
            value += set >> e & 1 ? folded.modular[e] : 0;
        }
        for (size_t i = 0; i < folded.count; i++) {
            const submodi_summand *part = &folded.summands[i];
            int32_t inside[32];
            size_t k = 0;
            for (size_t j = 0; j < submod_fn_size(part->fn); j++) {
                inside[k] = (int32_t)j;
                k += set >> (part->elements ? part->elements[j] : (int32_t)j) & 1;
            }
            double v, empty;
            ck_assert_ok(submod_fn_eval(part->fn, inside, k, &v));
            ck_assert_ok(submod_fn_eval(part->fn, NULL, 0, &empty));
            value += part->coefficient * (v - empty);
        }
        ck_assert_near(value, F[set] - F[0], 1e-13 * scale);
    }
    submodi_folded_clear(&folded);
    submodi_scope_close(&scope);
    free(F);
}

START_TEST(folding_keeps_values)
{
    submod_rng rng;
    submod_rng_seed(&rng, 22);
    for (size_t i = 0; i < family_count; i++) {
        for (size_t j = i % (size_t)each(4); j < family_count; j += (size_t)each(4)) {
            double w[N];
            submodi_scope scope;
            submodi_folded folded;
            random_vector(&rng, w, N, 0);
            submod_fn *a = combine(families[i].make(N, &rng), 0.25, families[j].make(N, &rng), 3);
            submod_fn *fn = combine(shifted(a, w), 2, families[i].make(N, &rng), 0.5);
            ck_assert_ok(submodi_fold(fn, &folded, submodi_scope_open(&scope, NULL)));
            size_t parts = folded.count;
            submodi_folded_clear(&folded);
            submodi_scope_close(&scope);
            check_fold(fn, parts);
            submod_fn_free(fn);
        }
    }
}
END_TEST

/* One part is left, and its own method is used. */
static void check_single(submod_fn *fn, submod_prox_method expected, submod_rng *rng)
{
    double x[N];
    random_vector(rng, x, N, 0);
    check_fold(fn, expected == SUBMOD_PROX_CLOSED_FORM ? 0 : 1);
    ck_assert_int_eq(solve_and_check(fn, x, 0.7, SUBMOD_PROX_AUTO), expected);
    submod_fn_free(fn);
}

static submod_fn *chain_cut(size_t n, double weight, int directed)
{
    int32_t tail[64], head[64];
    double w[64];
    submod_fn *fn = NULL;
    for (size_t i = 0; i + 1 < n; i++) {
        tail[i] = (int32_t)i;
        head[i] = (int32_t)i + 1;
        w[i] = weight;
    }
    ck_assert_ok(submod_fn_cut(n, n - 1, tail, head, w, directed, &fn));
    return fn;
}

START_TEST(what_folds_to_one)
{
    submod_rng rng;
    submod_rng_seed(&rng, 23);
    for (int repeat = 0; repeat < 20; repeat++) {
        submod_fn *jaccard = make("jaccard", N, &rng), *embedded = NULL, *small;
        const int32_t places[4] = {6, 0, 3, 2};
        check_single(combine(submod_fn_retain(jaccard), 1, make("hamming", N, &rng), 1),
                     SUBMOD_PROX_JACCARD, &rng);
        check_single(combine(submod_fn_retain(jaccard), 2, submod_fn_retain(jaccard), 0.5),
                     SUBMOD_PROX_JACCARD, &rng);
        check_single(combine(jaccard, 2, make("logdet", N, &rng), 0), SUBMOD_PROX_JACCARD, &rng);
        check_single(
            combine(make("directed cut", N, &rng), 0.1, make("undirected cut", N, &rng), 3),
            SUBMOD_PROX_DECOMPOSITION, &rng);
        check_single(combine(chain_cut(N, 0.3, 1), 0.1, chain_cut(N, 0.2, 0), 3), SUBMOD_PROX_CHAIN,
                     &rng);
        check_single(combine(combine(make("sqrt", N, &rng), 1, make("modular", N, &rng), 2), 0.5,
                             make("iwata", N, &rng), 0.1),
                     SUBMOD_PROX_CARDINALITY, &rng);
        check_single(combine(make("hamming", N, &rng), 2, make("undirected cut", N, &rng), 0),
                     SUBMOD_PROX_CLOSED_FORM, &rng);
        small = make("jaccard", 4, &rng);
        ck_assert_ok(combine_embedded(small, N, places, &embedded));
        submod_fn_free(small);
        check_single(combine(embedded, 0.3, make("modular", N, &rng), 1), SUBMOD_PROX_JACCARD,
                     &rng);
        small = chain_cut(4, 1, 0);
        ck_assert_ok(combine_embedded(small, N, places, &embedded));
        submod_fn_free(small);
        check_single(combine(embedded, 0.3, make("undirected cut", N, &rng), 1),
                     SUBMOD_PROX_DECOMPOSITION, &rng);
    }
}
END_TEST

/* ---- grids ---- */

/* A grid in up to three dimensions with random weights, some 0, some edges twice. */
static submod_fn *random_grid(const size_t size[3], int diagonals, int directed, submod_rng *rng)
{
    enum { MOST = 20000 };
    static int32_t tail[MOST], head[MOST];
    static double weight[MOST];
    size_t m = 0, n = size[0] * size[1] * size[2];
    submod_fn *fn = NULL;
    for (size_t i = 0; i < n; i++) {
        size_t a = i / (size[1] * size[2]), b = i / size[2] % size[1], c = i % size[2];
        const size_t next[4] = {c + 1 < size[2] ? i + 1 : 0, b + 1 < size[1] ? i + size[2] : 0,
                                a + 1 < size[0] ? i + size[1] * size[2] : 0,
                                diagonals && b + 1 < size[1] && c > 0 ? i + size[2] - 1 : 0};
        for (int k = 0; k < 4; k++) {
            for (int twice = (int)submod_rng_below(rng, 8) / 7; next[k] && twice >= 0; twice--) {
                int back = (int)submod_rng_below(rng, 2);
                tail[m] = (int32_t)(back ? next[k] : i);
                head[m] = (int32_t)(back ? i : next[k]);
                weight[m++] = submod_rng_below(rng, 6) ? submod_rng_uniform(rng) : 0;
            }
        }
    }
    ck_assert_ok(submod_fn_cut(n, m, tail, head, weight, directed, &fn));
    return fn;
}

/* The objectives at u and s are what the functions say, and s is a base: it is below f at u, at
 * -u, at some random points and their level sets, and it meets f at 1. */
static void check_large(const submod_fn *fn, const double *x, double lambda, const double *u,
                        const double *s, const submod_prox_info *info, submod_rng *rng)
{
    enum { MOST = 1000 };
    static double v[MOST];
    size_t n = submod_fn_size(fn);
    double f, distance = 0, along = 0, square = 0, total = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        distance += lambda / 2 * (u[i] - x[i]) * (u[i] - x[i]);
        along += s[i] * x[i];
        square += s[i] * s[i];
        total += s[i];
        size += fabs(s[i]);
        v[i] = 1;
    }
    double terms = square / lambda;
    for (size_t i = 0; i < n; i++) {
        terms += lambda * x[i] * x[i];
    }
    ck_assert_ok(submod_lovasz(fn, v, &f, NULL, NULL, SUBMOD_TIES_AVERAGE, NULL));
    ck_assert_near(total, f, 1e-12 * size);
    ck_assert_ok(submod_lovasz(fn, u, &f, NULL, NULL, SUBMOD_TIES_AVERAGE, NULL));
    ck_assert_near(info->primal, f + distance, 1e-12 * terms);
    ck_assert_near(info->dual, along - square / (2 * lambda), 1e-12 * terms);
    ck_assert(info->gap <= 1e-10 * terms / 2 + 1e-14 * size * max_abs(u, n));
    for (int k = 0; k < 12; k++) {
        random_vector(rng, v, n, k % 2);
        double level = u[submod_rng_below(rng, n)], sum = 0;
        for (size_t i = 0; i < n; i++) {
            v[i] = k < 4 ? v[i] : k == 4 ? u[i] : k == 5 ? -u[i] : u[i] >= level;
            sum += s[i] * v[i];
        }
        ck_assert_ok(submod_lovasz(fn, v, &f, NULL, NULL, SUBMOD_TIES_AVERAGE, NULL));
        ck_assert(sum <= f + 1e-12 * size * fmax(1, max_abs(v, n)));
    }
}

enum { JACCARD, CONCAVE, RANDOM_CUT, HAMMING, LARGE_KINDS };

static submod_fn *make_large(int kind, size_t n, submod_rng *rng)
{
    enum { MOST = 2000 };
    static uint8_t mask[MOST];
    static double w[MOST];
    static int32_t tail[MOST], head[MOST];
    submod_fn *fn = NULL;
    for (size_t i = 0; i < 2 * n; i++) {
        mask[i] = submod_rng_below(rng, 3) == 0;
        w[i] = submod_rng_uniform(rng);
        tail[i] = (int32_t)submod_rng_below(rng, n);
        head[i] = (int32_t)((size_t)tail[i] + 1 + submod_rng_below(rng, n - 1)) % (int32_t)n;
    }
    switch (kind) {
    case JACCARD: ck_assert_ok(submod_fn_jaccard(n, mask, &fn)); break;
    case CONCAVE:
        ck_assert_ok(submod_fn_concave(n, w, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn));
        break;
    case RANDOM_CUT: ck_assert_ok(submod_fn_cut(n, 2 * n, tail, head, w, 1, &fn)); break;
    default: ck_assert_ok(submod_fn_hamming(n, &fn));
    }
    return fn;
}

/* A cut of several hundred vertices with other terms: by active sets. */
START_TEST(cuts_with_other_terms)
{
    enum { MOST = 1000 };
    static double x[MOST], u[MOST], s[MOST], w[MOST];
    const size_t sizes[][3] = {{1, 2, 4}, {1, 12, 17}, {1, 30, 5}, {4, 5, 6}, {1, 2, 300}};
    submod_rng rng;
    submod_rng_seed(&rng, 24);
    for (int repeat = 0; repeat < repeats(60); repeat++) {
        submod_fn *fn = random_grid(sizes[repeat % 5], repeat % 2, repeat % 3 == 0, &rng);
        submod_prox_settings sum = by(SUBMOD_PROX_SUM);
        submod_prox_info info;
        size_t n = submod_fn_size(fn);
        double lambda = pow(10, 2 * submod_rng_normal(&rng));
        for (int k = 0; k < 1 + repeat % 3; k++) {
            double c = repeat % 7 == 6 ? pow(10, 3 * submod_rng_normal(&rng)) : (double)n / 10;
            fn = combine(fn, 1, make_large((repeat + k) % LARGE_KINDS, n, &rng), c);
        }
        random_vector(&rng, w, n, 1);
        random_vector(&rng, x, n, repeat % 4 == 1);
        for (size_t i = 0; i < n; i++) {
            x[i] = repeat % 5 == 4 ? 1 : x[i]; /* all equal */
        }
        fn = repeat % 2 ? shifted(fn, w) : fn;
        ck_assert_ok(submod_prox(fn, x, lambda, u, s, &sum, &info, NULL));
        check_large(fn, x, lambda, u, s, &info, &rng);
        submod_fn_free(fn);
    }
}
END_TEST

/* Jaccard + grid: few flows at any strength of smoothing, also with ties and directed arcs. */
START_TEST(few_flows)
{
    enum { H = 28, MOST = 1000 };
    static double x[MOST], u[MOST], s[MOST];
    submod_rng rng;
    submod_rng_seed(&rng, 27);
    for (int repeat = 0; repeat < repeats(36); repeat++) {
        submod_fn *fn = random_grid((size_t[]){1, H, H}, 1, repeat % 3 == 2, &rng);
        submod_prox_settings sum = by(SUBMOD_PROX_SUM);
        submod_prox_info info;
        const double strength[] = {0.1, 0.4, 0.6, 2};
        double c = H * H / strength[repeat % 4];
        fn = combine(fn, 1, make_large(JACCARD, H * H, &rng), c);
        random_vector(&rng, x, H * H, repeat % 5 == 4);
        ck_assert_ok(submod_prox(fn, x, c / (H * H), u, s, &sum, &info, NULL));
        check_large(fn, x, c / (H * H), u, s, &info, &rng);
        ck_assert_uint_le(info.work, 12);
        submod_fn_free(fn);
    }
}
END_TEST

/* A star, a complete graph and a cut without edges. */
START_TEST(other_graphs)
{
    enum { M = 20 };
    int32_t tail[M * M], head[M * M];
    double weight[M * M], x[M], u[M], v[M];
    submod_rng rng;
    submod_rng_seed(&rng, 25);
    for (int kind = 0; kind < 3; kind++) {
        submod_fn *cut = NULL, *fn;
        submod_prox_settings wolfe = by(SUBMOD_PROX_MIN_NORM);
        submod_prox_info info;
        size_t m = 0;
        for (int32_t i = 0; kind < 2 && i < M; i++) {
            for (int32_t j = 0; j < (kind ? i : i > 0); j++, m++) {
                tail[m] = i;
                head[m] = j;
                weight[m] = submod_rng_uniform(&rng);
            }
        }
        random_vector(&rng, x, M, 0);
        ck_assert_ok(submod_fn_cut(M, m, tail, head, weight, 0, &cut));
        fn = combine(cut, 1, make("jaccard", M, &rng), 2);
        ck_assert_ok(submod_prox(fn, x, 1, u, NULL, NULL, &info, NULL));
        ck_assert_int_eq(info.method, SUBMOD_PROX_SUM);
        ck_assert_ok(submod_prox(fn, x, 1, v, NULL, &wolfe, NULL, NULL));
        for (int i = 0; i < M; i++) {
            ck_assert_near(u[i], v[i], 2e-4);
        }
        submod_fn_free(fn);
    }
}
END_TEST

/* ---- embedded parts ---- */

/* Many overlapping parts of several kinds, some without a fast prox. */
static submod_fn *overlapping(size_t n, size_t count, submod_rng *rng)
{
    static const char *const kinds[] = {"jaccard", "sqrt", "logdet", "groups", "undirected cut"};
    submod_fn **terms = malloc(count * sizeof(submod_fn *)), *fn = NULL;
    int32_t order[64];
    ck_assert_ptr_nonnull(terms);
    for (size_t i = 0; i < count; i++) {
        submod_fn *small = make(kinds[i % 5], 2 + submod_rng_below(rng, 4), rng);
        random_order(rng, order, n);
        ck_assert_ok(combine_embedded(small, n, order, &terms[i]));
        submod_fn_free(small);
    }
    ck_assert_ok(combine_sum(terms, NULL, count, &fn));
    for (size_t i = 0; i < count; i++) {
        submod_fn_free(terms[i]);
    }
    free(terms);
    return fn;
}

START_TEST(embedded_parts)
{
    enum { M = 12 };
    submod_rng rng;
    submod_rng_seed(&rng, 26);
    for (int repeat = 0; repeat < repeats(40); repeat++) {
        double x[M];
        submod_fn *fn = overlapping(M, 1 + submod_rng_below(&rng, 30), &rng);
        random_vector(&rng, x, M, repeat % 2);
        solve_and_check(fn, x, repeat % 3 ? 1 : 0.1, SUBMOD_PROX_SUM);
        submod_fn_free(fn);
    }
}
END_TEST

/* Sums over a few elements, with terms of very different sizes. The inner proxes must be accurate
 * enough for the sum's gap. */
START_TEST(small_sums_of_many_kinds)
{
    submod_rng rng;
    submod_rng_seed(&rng, 44);
    for (int repeat = 0; repeat < repeats(6000); repeat++) {
        size_t n = 4 + submod_rng_below(&rng, 12), terms = 2 + submod_rng_below(&rng, 4);
        submod_fn *parts[5], *fn = NULL;
        double x[16], c[5], lambda = exp(1.5 * submod_rng_normal(&rng));
        for (size_t i = 0; i < terms; i++) {
            const family *kind = &families[submod_rng_below(&rng, family_count)];
            size_t k = submod_rng_below(&rng, 3) ? n : 2 + submod_rng_below(&rng, n - 2);
            submod_fn *part = kind->make(k, &rng);
            int32_t order[16];
            random_order(&rng, order, n);
            ck_assert_ok(combine_embedded(part, n, order, &parts[i]));
            submod_fn_free(part);
            c[i] = exp(5 * submod_rng_normal(&rng));
        }
        ck_assert_ok(combine_sum(parts, c, terms, &fn));
        random_vector(&rng, x, n, repeat % 2);
        submod_prox_settings settings = by(SUBMOD_PROX_SUM);
        double u[16], s[16];
        submod_prox_info info;
        ck_assert_ok(submod_prox(fn, x, lambda, u, s, &settings, &info, NULL));
        if (n <= 8) {
            check_over_subsets(fn, x, lambda, u, s, info.gap);
        }
        for (size_t i = 0; i < terms; i++) {
            submod_fn_free(parts[i]);
        }
        submod_fn_free(fn);
    }
}
END_TEST

/* Facility location with 5 clients as user code, which counts its pushes. */
enum { CLIENTS = 5, FACILITIES = 150 };
typedef struct facility {
    double benefit[CLIENTS][FACILITIES];
    size_t pushes;
} facility;

static submod_status facility_reset(const void *ctx, void *state)
{
    (void)ctx;
    memset(state, 0, CLIENTS * sizeof(double));
    return SUBMOD_OK;
}

static submod_status facility_push(const void *ctx, void *state, int32_t e, double *gain)
{
    facility *f = *(facility *const *)ctx;
    double *best = state;
    f->pushes++;
    *gain = 0;
    for (int i = 0; i < CLIENTS; i++) {
        double more = fmax(f->benefit[i][e] - best[i], 0);
        best[i] += more;
        *gain += more;
    }
    return SUBMOD_OK;
}

CHAIN_OF_PUSHES(facility_chain, facility_push)

static submod_status facility_eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    double state[CLIENTS] = {0}, gain;
    *value = 0;
    for (size_t i = 0; i < k; i++) {
        facility_push(ctx, state, set[i], &gain);
        *value += gain;
    }
    return SUBMOD_OK;
}

/* Inner proxes are no more accurate than the sum needs. Version 0.2.0 took 326376 pushes for these
 * eight sums, and a tolerance that always follows the square of the gap takes 437045. */
START_TEST(inner_proxes_are_cheap)
{
    enum { EDGES = 2 * FACILITIES };
    static facility made;
    facility *at = &made;
    submod_fn_ops ops = {.eval = facility_eval,
                         .state_size = CLIENTS * sizeof(double),
                         .reset = facility_reset,
                         .chain = facility_chain};
    made.pushes = 0;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        submod_rng rng;
        submod_fn *parts[3] = {NULL}, *fn = NULL;
        double x[FACILITIES], u[FACILITIES], w[FACILITIES], weight[EDGES];
        int32_t tail[EDGES], head[EDGES];
        submod_rng_seed(&rng, seed);
        for (int i = 0; i < CLIENTS * FACILITIES; i++) {
            made.benefit[i / FACILITIES][i % FACILITIES] = submod_rng_uniform(&rng);
        }
        for (int i = 0; i < FACILITIES; i++) {
            w[i] = submod_rng_uniform(&rng);
            x[i] = 2 * submod_rng_uniform(&rng) - 1;
        }
        for (int i = 0; i < EDGES; i++) {
            tail[i] = (int32_t)submod_rng_below(&rng, FACILITIES);
            head[i] = (int32_t)submod_rng_below(&rng, FACILITIES);
            weight[i] = 0.3 * submod_rng_uniform(&rng);
        }
        ck_assert_ok(submod_fn_custom(FACILITIES, &ops, &at, &parts[0]));
        ck_assert_ok(submod_fn_cut(FACILITIES, EDGES, tail, head, weight, 0, &parts[1]));
        ck_assert_ok(submod_fn_concave(FACILITIES, w,
                                       &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &parts[2]));
        ck_assert_ok(combine_sum(parts, NULL, 3, &fn));
        submod_prox_settings settings = by(SUBMOD_PROX_SUM);
        ck_assert_ok(submod_prox(fn, x, 1, u, NULL, &settings, NULL, NULL));
        for (int i = 0; i < 3; i++) {
            submod_fn_free(parts[i]);
        }
        submod_fn_free(fn);
    }
    ck_assert_uint_lt(made.pushes, 360000);
}
END_TEST

/* ---- minimisation ---- */

/* The value, bound and minimisers of pairs of families, against all subsets. */
START_TEST(minima_of_pairs)
{
    submod_rng rng;
    submod_rng_seed(&rng, 30);
    int proved = 0, all = 0;
    for (size_t i = 0; i < family_count; i++) {
        for (size_t j = i % (size_t)each(4); j <= i; j += (size_t)each(4)) {
            double w[N], s[N];
            uint8_t smallest[N], largest[N], small[N], large[N];
            submod_sfm_info info, exact;
            submod_sfm_settings settings = submod_sfm_defaults();
            submod_fn *fn = combine(families[i].make(N, &rng), 0.5, families[j].make(N, &rng), 2);
            random_vector(&rng, w, N, 0);
            fn = shifted(fn, w);
            settings.method = SUBMOD_SFM_SUM;
            submod_status status = submod_sfm(fn, smallest, largest, s, &settings, &info, NULL);
            ck_assert_msg(status >= 0, "%s", submod_last_error());
            settings.method = SUBMOD_SFM_EXHAUSTIVE;
            ck_assert_ok(submod_sfm(fn, small, large, NULL, &settings, &exact, NULL));
            double *F = subset_values(fn), scale = value_scale(F, N), empty = F[0];
            for (uint32_t set = 0; set < 1u << N; set++) {
                F[set] -= empty;
            }
            ck_assert(worst_excess(F, N, s) <= 1e-12 * scale);
            ck_assert(info.dual <= exact.value + 1e-12 * scale);
            ck_assert_near(info.value, exact.value, fmax(info.gap, 0) + 1e-12 * scale);
            if (status == SUBMOD_OK) {
                ck_assert_near(info.value, exact.value, 1e-8 * scale);
            }
            if (info.exact) {
                ck_assert_near(info.value, exact.value, 1e-12 * scale);
            }
            if (info.extremes_proved) {
                ck_assert_mem_eq(smallest, small, N);
                ck_assert_mem_eq(largest, large, N);
                proved++;
            }
            if (fn->calls_user_code) { /* nothing proves that F is submodular */
                ck_assert(!info.exact && !info.extremes_proved);
            } else {
                all++;
            }
            free(F);
            submod_fn_free(fn);
        }
    }
    ck_assert_int_ge(10 * proved, 9 * all);
}
END_TEST

/* One part, for Wolfe's method, of few elements: it runs as far as it can, and what it then proves
 * is a minimum, not a failure. */
START_TEST(minimum_of_one_small_part)
{
    submod_rng rng;
    submod_rng_seed(&rng, 47);
    for (int round = 0; round < 20; round++) {
        submod_fn *inner = make("logdet", 3, &rng), *fn = NULL;
        const int32_t elements[3] = {6, 2, 0};
        submod_sfm_info info;
        uint8_t in[N];
        double *F;
        ck_assert_ok(combine_embedded(inner, N, elements, &fn));
        submod_fn_free(inner);
        ck_assert_ok(submod_sfm(fn, in, NULL, NULL, NULL, &info, NULL));
        ck_assert_int_eq(info.method, SUBMOD_SFM_SUM);
        F = subset_values(fn);
        for (size_t set = 0; set < (size_t)1 << N; set++) {
            ck_assert(info.value <= F[set] + 1e-12);
        }
        free(F);
        submod_fn_free(fn);
    }
}
END_TEST

/* When s and the gap decide all elements the minimum is exact, though rounding leaves a gap. */
START_TEST(decided_minima_are_exact)
{
    enum { REPEATS = 60, M = 12 };
    submod_rng rng;
    submod_rng_seed(&rng, 31);
    int decided = 0, with_gap = 0;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        double w[M], s[M], least = INFINITY;
        uint8_t smallest[M], largest[M], small[M], large[M];
        submod_sfm_info info, exact;
        submod_sfm_settings settings = submod_sfm_defaults();
        random_vector(&rng, w, M, 0);
        for (size_t i = 0; i < M; i++) {
            w[i] = 4 * w[i] - 2;
        }
        submod_fn *fn = shifted(overlapping(M, 12, &rng), w);
        settings.method = SUBMOD_SFM_SUM;
        ck_assert_ok(submod_sfm(fn, smallest, largest, s, &settings, &info, NULL));
        settings.method = SUBMOD_SFM_EXHAUSTIVE;
        ck_assert_ok(submod_sfm(fn, small, large, NULL, &settings, &exact, NULL));
        for (size_t i = 0; i < M; i++) {
            least = fmin(least, fabs(s[i]));
        }
        if (least > 1e-6) {
            ck_assert(info.exact && info.extremes_proved);
            ck_assert_mem_eq(smallest, small, M);
            ck_assert_mem_eq(largest, large, M);
            ck_assert_mem_eq(smallest, largest, M);
            decided++;
            with_gap += info.gap > 0;
        }
        submod_fn_free(fn);
    }
    ck_assert_int_eq(decided, REPEATS);
    ck_assert_int_ge(with_gap, REPEATS / 10);
}
END_TEST

/* A cut of part of the elements has its extension from its edges, at a u that is not its own prox:
 * the gap of a sum that ends early is the same as from scratch. */
START_TEST(early_gap_of_an_embedded_cut)
{
    enum { ALL = 20, M = 12, ROWS = 4 };
    submod_rng rng;
    submod_rng_seed(&rng, 32);
    for (int repeat = 0; repeat < 20; repeat++) {
        const size_t size[3] = {1, ROWS, M / ROWS};
        int32_t elements[M];
        double x[ALL], u[ALL], s[ALL], value, along = 0, residual = 0;
        submod_prox_settings one_sweep = by(SUBMOD_PROX_SUM);
        submod_prox_info info;
        submod_fn *cut = random_grid(size, 1, 0, &rng), *embedded = NULL;
        for (int32_t i = 0; i < M; i++) {
            elements[i] = ALL - 1 - i;
        }
        ck_assert_ok(combine_embedded(cut, ALL, elements, &embedded));
        submod_fn_free(cut);
        submod_fn *fn = combine(overlapping(ALL, 5, &rng), 1, embedded, 1);
        random_vector(&rng, x, ALL, 0);
        one_sweep.max_iterations = 1;
        one_sweep.tolerance = 0;
        ck_assert_int_ge(submod_prox(fn, x, 1, u, s, &one_sweep, &info, NULL), 0);
        ck_assert_ok(submod_lovasz(fn, u, &value, NULL, NULL, SUBMOD_TIES_AVERAGE, NULL));
        for (size_t i = 0; i < ALL; i++) {
            along += s[i] * u[i];
            residual += (u[i] - x[i] + s[i]) * (u[i] - x[i] + s[i]);
        }
        ck_assert_near(info.gap, value - along + residual / 2, 1e-12 * (1 + fabs(value)));
        submod_fn_free(fn);
    }
}
END_TEST

/* ---- limits, threads ---- */

START_TEST(limits_leave_a_proof)
{
    submod_rng rng;
    submod_rng_seed(&rng, 27);
    int stopped = 0;
    for (int repeat = 0; repeat < repeats(30); repeat++) {
        double x[N], u[N], s[N];
        volatile int flag = 1;
        submod_prox_info info;
        submod_prox_settings settings = by(SUBMOD_PROX_SUM);
        submod_fn *fn = combine(make("jaccard", N, &rng), 3, make("undirected cut", N, &rng), 0.3);
        fn = combine(fn, 1, make("logdet", N, &rng), 1);
        random_vector(&rng, x, N, 0);
        settings.tolerance = 1e-14;
        settings.max_iterations = repeat % 3 == 0;
        settings.time_limit = repeat % 3 == 1 ? 1e-9 : 0;
        poll_flag(repeat % 3 == 2 ? &flag : NULL);
        submod_status status = submod_prox(fn, x, 1, u, s, &settings, &info, NULL);
        poll_flag(NULL);
        const submod_status wanted[] = {SUBMOD_MAXITER, SUBMOD_TIMELIMIT, SUBMOD_CANCELLED};
        ck_assert(status == SUBMOD_OK || status == wanted[repeat % 3]);
        ck_assert_uint_eq(info.iterations, 1);
        stopped += status != SUBMOD_OK && info.gap > 0; /* one sweep may be enough */
        check_over_subsets(fn, x, 1, u, s, info.gap);
        submod_fn_free(fn);
    }
    ck_assert_int_ge(stopped, repeats(30) * 5 / 6);
}
END_TEST

typedef struct story {
    size_t calls, iterations;
    double gap;
    volatile int flag; /* raised at call `stop` */
    size_t stop;
} story;

static void listen(void *ctx, size_t iterations, double gap)
{
    story *told = ctx;
    ck_assert_uint_ge(iterations, told->iterations);
    told->iterations = iterations;
    told->gap = gap;
    told->calls++;
    told->flag = told->stop > 0 && told->calls >= told->stop;
}

/* What progress was told last is what the info says, and it may end the run. */
START_TEST(progress_is_told)
{
    submod_rng rng;
    submod_rng_seed(&rng, 48);
    const submod_prox_method methods[] = {SUBMOD_PROX_SUM, SUBMOD_PROX_MIN_NORM};
    for (int repeat = 0; repeat < 20; repeat++) {
        double x[N];
        submod_prox_info info;
        submod_prox_settings settings = by(methods[repeat % 2]);
        story told = {.stop = repeat < 10 ? 0 : 1};
        submod_fn *fn = combine(make("jaccard", N, &rng), 3, make("undirected cut", N, &rng), 0.3);
        random_vector(&rng, x, N, 0);
        settings.tolerance = 1e-14;
        settings.progress = listen;
        settings.progress_ctx = &told;
        poll_flag(&told.flag);
        submod_status status = submod_prox(fn, x, 1, NULL, NULL, &settings, &info, NULL);
        poll_flag(NULL);
        ck_assert_int_ge(status, 0);
        ck_assert_uint_ge(told.calls, 1);
        if (repeat % 2 == 0) {
            ck_assert_uint_eq(told.iterations, info.iterations);
            ck_assert_near(told.gap, info.gap, 1e-12);
        }
        ck_assert(told.stop == 0 || told.calls <= 2); /* at most one look more */
        submod_fn_free(fn);
    }
}
END_TEST

/* A tolerance of 0 ends where rounding does, or says that it does not. */
START_TEST(tolerance_zero)
{
    submod_rng rng;
    submod_rng_seed(&rng, 28);
    for (int repeat = 0; repeat < repeats(30); repeat++) {
        double x[N], u[N], s[N];
        submod_prox_info info;
        submod_prox_settings settings = by(SUBMOD_PROX_SUM);
        submod_fn *fn = combine(make("jaccard", N, &rng), 3, make("undirected cut", N, &rng), 0.3);
        random_vector(&rng, x, N, 0);
        settings.tolerance = 0;
        submod_status status = submod_prox(fn, x, 1, u, s, &settings, &info, NULL);
        ck_assert(status == SUBMOD_OK || status == SUBMOD_INACCURATE);
        ck_assert(info.gap <= 1e-13);
        check_over_subsets(fn, x, 1, u, s, info.gap);
        submod_fn_free(fn);
    }
}
END_TEST

static submod_status square(const void *ctx, const int32_t *set, size_t k, double *value)
{
    (void)ctx;
    (void)set;
    *value = (double)(k * k);
    return SUBMOD_OK;
}

/* A part that is not submodular has no projection, and the gap falls no more: the method gives up
 * long before its limit of 100000 sweeps. */
START_TEST(gives_up)
{
    submod_rng rng;
    submod_rng_seed(&rng, 29);
    submod_fn_ops ops = {.eval = square};
    int given_up = 0;
    for (int repeat = 0; repeat < 10; repeat++) {
        double x[N];
        submod_prox_info info;
        submod_prox_settings settings = by(SUBMOD_PROX_SUM);
        submod_fn *convex = NULL;
        ck_assert_ok(submod_fn_custom(N, &ops, NULL, &convex));
        submod_fn *fn = combine(convex, 1, make("undirected cut", N, &rng), 1);
        random_vector(&rng, x, N, 0);
        submod_status status = submod_prox(fn, x, 1, NULL, NULL, &settings, &info, NULL);
        given_up += status == SUBMOD_INACCURATE;
        ck_assert_int_ne(status, SUBMOD_MAXITER);
        submod_fn_free(fn);
    }
    ck_assert_int_ge(given_up, 2);
}
END_TEST

START_TEST(threads_change_nothing)
{
    enum { H = 272, PIXELS = H * H, EACH = 16 };
    size_t size = PIXELS * sizeof(double);
    double *x = malloc(size), *w = malloc(2 * size), *u = malloc(2 * size), *s = malloc(2 * size);
    int32_t *tail = malloc(2 * PIXELS * sizeof *tail), *head = malloc(2 * PIXELS * sizeof *head);
    uint8_t *mask = malloc(PIXELS);
    static submod_fn *terms[PIXELS / EACH + 2];
    submod_fn *small = NULL, *fn = NULL;
    size_t m = 0, count = 0;
    submod_rng rng;
    submod_rng_seed(&rng, 29);
    ck_assert(x && w && u && s && tail && head && mask);
    for (int32_t i = 0; i < PIXELS; i++) {
        x[i] = submod_rng_normal(&rng);
        mask[i] = i % H < H / 3;
        for (int k = 0; k < 2; k++) {
            if (k ? i + H < PIXELS : i % H + 1 < H) {
                tail[m] = i;
                head[m] = i + (k ? H : 1);
                w[m++] = 0.3 / PIXELS;
            }
        }
    }
    ck_assert_ok(submod_fn_cut(PIXELS, m, tail, head, w, 0, &terms[count++]));
    ck_assert_ok(submod_fn_jaccard(PIXELS, mask, &terms[count++]));
    ck_assert_ok(
        submod_fn_concave(EACH, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &small));
    for (int32_t i = 0; i < PIXELS; i += EACH) {
        int32_t elements[EACH];
        for (int32_t j = 0; j < EACH; j++) {
            elements[j] = i + j;
        }
        ck_assert_ok(combine_embedded(small, PIXELS, elements, &terms[count++]));
    }
    ck_assert_ok(combine_sum(terms, NULL, count, &fn));
    submod_prox_settings settings = by(SUBMOD_PROX_SUM);
    settings.max_iterations = 4;
    for (int threads = 1; threads <= 2; threads++) {
        double *to_u = u + (threads - 1) * PIXELS, *to_s = s + (threads - 1) * PIXELS;
        ck_assert_ok(submod_set_num_threads(threads == 1 ? 1 : 3));
        ck_assert_int_ge(submod_prox(fn, x, 1e-3, to_u, to_s, &settings, NULL, NULL), 0);
    }
    ck_assert_ok(submod_set_num_threads(0));
    ck_assert_mem_eq(u, u + PIXELS, size);
    ck_assert_mem_eq(s, s + PIXELS, size);
    for (size_t i = 0; i < count; i++) {
        submod_fn_free(terms[i]);
    }
    submod_fn_free(small);
    submod_fn_free(fn);
    free(x);
    free(w);
    free(u);
    free(s);
    free(tail);
    free(head);
    free(mask);
}
END_TEST

/* g of the user's, which counts in *ctx how often another thread asks for it. */
static submod_status root_in_caller(const void *ctx, double t, double *value)
{
    atomic_int *elsewhere = (void *)ctx;
#ifdef _OPENMP
    atomic_fetch_add(elsewhere, omp_in_parallel());
#else
    (void)elsewhere;
#endif
    *value = sqrt(t);
    return SUBMOD_OK;
}

/* Parts that share no element may be solved by several threads, but not those that call back. */
START_TEST(callbacks_stay_in_their_thread)
{
    enum { K = 40000, PARTS = 3 };
    static double w[K], x[PARTS * K];
    static int32_t elements[K];
    static atomic_int elsewhere;
    const submod_concave g = {
        .kind = SUBMOD_CONCAVE_CUSTOM, .value = root_in_caller, .ctx = &elsewhere};
    submod_prox_settings settings = by(SUBMOD_PROX_SUM);
    submod_fn *parts[PARTS], *fn = NULL;
    submod_rng rng;
    submod_rng_seed(&rng, 48);
    random_vector(&rng, x, PARTS * K, 0);
    for (int j = 0; j < PARTS; j++) {
        submod_fn *inner = NULL;
        for (int i = 0; i < K; i++) {
            w[i] = 1;
            elements[i] = j * K + i;
        }
        ck_assert_ok(submod_fn_concave(K, w, &g, &inner));
        ck_assert_ok(combine_embedded(inner, PARTS * K, elements, &parts[j]));
        submod_fn_free(inner);
    }
    ck_assert_ok(combine_sum(parts, NULL, PARTS, &fn));
    settings.max_iterations = 1;
    ck_assert_ok(submod_set_num_threads(2));
    ck_assert_int_ge(submod_prox(fn, x, 1, NULL, NULL, &settings, NULL, NULL), 0);
    ck_assert_ok(submod_set_num_threads(0));
    ck_assert_int_eq(atomic_load(&elsewhere), 0);
    for (int j = 0; j < PARTS; j++) {
        submod_fn_free(parts[j]);
    }
    submod_fn_free(fn);
}
END_TEST

int main(void)
{
    return RUN_TESTS("sums", all_pairs, three_and_equal_values, folding_keeps_values,
                     what_folds_to_one, cuts_with_other_terms, few_flows, other_graphs,
                     embedded_parts, small_sums_of_many_kinds, inner_proxes_are_cheap,
                     minima_of_pairs, minimum_of_one_small_part, decided_minima_are_exact,
                     early_gap_of_an_embedded_cut, limits_leave_a_proof, progress_is_told,
                     tolerance_zero, gives_up, threads_change_nothing,
                     callbacks_stay_in_their_thread);
}
