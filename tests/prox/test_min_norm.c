/* Fujishige-Wolfe: optimality checked by independent means, hard inputs, limits and
 * failures. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "prox/wolfe/factor.h"
#include "prox/wolfe/vertices.h"
#include "support.h"

enum { N = 8 };

static submod_prox_settings by(submod_prox_method method)
{
    submod_prox_settings settings = submod_prox_defaults();
    settings.method = method;
    return settings;
}

/* u is optimal if and only if all level sets {u >= a} minimise F - lambda (x - a): checked over all
 * subsets, with F's values alone. */
static double worst_level(const double *F, size_t n, const double *x, double lambda,
                          const double *u)
{
    double worst = 0;
    for (size_t level = 0; level < n; level++) {
        double at_level = 0, lowest = 0;
        for (uint32_t mask = 0; mask < UINT32_C(1) << n; mask++) {
            double value = F[mask] - F[0];
            int is_level = 1;
            for (size_t i = 0; i < n; i++) {
                int in = (mask >> i & 1) != 0;
                value -= in ? lambda * (x[i] - u[level]) : 0;
                is_level &= in == (u[i] >= u[level] - 1e-7);
            }
            lowest = fmin(lowest, value);
            at_level = is_level ? value : at_level;
        }
        worst = fmax(worst, at_level - lowest);
    }
    return worst;
}

START_TEST(level_sets_minimise)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (size_t f = 0; f < family_count; f++) {
        for (int repeat = 0; repeat < 10; repeat++) {
            submod_fn *fn = families[f].make(N, &rng);
            double *F = subset_values(fn), scale = value_scale(F, N);
            double x[N], u[N], s[N], lambda = exp(submod_rng_normal(&rng));
            submod_prox_settings settings = by(SUBMOD_PROX_MIN_NORM);
            submod_prox_info info;
            settings.tolerance = 1e-14;
            random_vector(&rng, x, N, repeat % 2);
            ck_assert_int_ge(submod_prox(fn, x, lambda, u, s, &settings, &info, NULL), 0);
            ck_assert(fabs(info.gap) <= 1e-11 * scale * (1 + scale / lambda));
            ck_assert(worst_level(F, N, x, lambda, u) <= 1e-5 * scale);
            ck_assert(worst_excess(F, N, s) <= 1e-12 * scale);
            for (size_t i = 0; i < N; i++) {
                ck_assert_near(u[i], x[i] - s[i] / lambda, 1e-5 * (1 + scale / lambda));
            }
            /* Pieces start with a chain each, and with those of points that they must find. */
            ck_assert_uint_le(info.oracle_calls, 3 * info.iterations + N + 3);
            free(F);
            submod_fn_free(fn);
        }
    }
}
END_TEST

/* Cardinality plus modular: the minimum-norm point of Iwata's function is a vertex, the greedy
 * vector of the order n, n - 1, .. , 1 (its entries fall along that order). */
START_TEST(iwata_is_a_vertex)
{
    enum { LARGE = 1000 };
    submod_fn *fn = NULL;
    double *x = calloc(LARGE, sizeof *x), *u = malloc(LARGE * sizeof *u),
           *s = malloc(LARGE * sizeof *s);
    submod_prox_settings settings = by(SUBMOD_PROX_MIN_NORM);
    ck_assert_ok(make_iwata(LARGE, &fn));
    ck_assert_ok(submod_prox(fn, x, 1, u, s, &settings, NULL, NULL));
    for (size_t i = 0; i < LARGE; i++) {
        double j = (double)i + 1, rank = LARGE - j;
        ck_assert_near(s[i], (LARGE - 2 * rank - 1) - (5 * j - 2 * LARGE), 1e-9);
        ck_assert_near(u[i], -s[i], 1e-9);
    }
    submod_fn_free(fn);
    free(x);
    free(u);
    free(s);
}
END_TEST

static submod_fn *random_cut(size_t n, size_t m, submod_rng *rng)
{
    int32_t *tail = malloc(m * sizeof *tail), *head = malloc(m * sizeof *head);
    double *weight = malloc(m * sizeof *weight);
    submod_fn *fn = NULL;
    for (size_t i = 0; i < m; i++) {
        tail[i] = (int32_t)submod_rng_below(rng, n);
        head[i] = (int32_t)submod_rng_below(rng, n);
        weight[i] = submod_rng_uniform(rng);
    }
    ck_assert_ok(submod_fn_cut(n, m, tail, head, weight, 0, &fn));
    free(tail);
    free(head);
    free(weight);
    return fn;
}

/* Large corrals, many minor cycles, certified; and a warm start from the result at a nearby x. */
START_TEST(large_cuts)
{
    enum { LARGE = 120 };
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    submod_combination *c = NULL;
    ck_assert_ok(submod_combination_create(&c));
    size_t minor = 0;
    for (int repeat = 0; repeat < 6; repeat++) {
        submod_fn *fn = random_cut(LARGE, 300, &rng);
        double x[LARGE], u[LARGE], s[LARGE];
        submod_prox_settings settings = by(SUBMOD_PROX_MIN_NORM);
        submod_prox_info cold, warm;
        submod_certificate_report report;
        settings.combination = c;
        random_vector(&rng, x, LARGE, repeat % 2);
        ck_assert_ok(submod_combination_set(c, 0, 0, NULL, NULL));
        ck_assert_ok(submod_prox(fn, x, 0.5, u, s, &settings, &cold, NULL));
        ck_assert_ok(submod_certificate_check(fn, x, 0.5, u, s, c, &report));
        ck_assert(report.base_error <= 1e-12 && report.gap <= 1.1e-10 * (cold.primal + 100));
        minor += cold.minor_cycles;
        for (size_t i = 0; i < LARGE; i++) {
            x[i] += 1e-6 * submod_rng_normal(&rng);
        }
        ck_assert_ok(submod_prox(fn, x, 0.5, u, s, &settings, &warm, NULL));
        ck_assert_ok(submod_certificate_check(fn, x, 0.5, u, s, c, &report));
        ck_assert(report.base_error <= 1e-12 && report.gap <= 1.1e-10 * (warm.primal + 100));
        ck_assert_uint_lt(2 * warm.iterations, cold.iterations + 2);
        submod_fn_free(fn);
    }
    ck_assert_uint_gt(minor, 20);
    submod_combination_free(c);
}
END_TEST

/* A combination of another size, or with doubled and dependent orders, is no obstacle. */
START_TEST(odd_warm_starts)
{
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    submod_combination *c = NULL;
    ck_assert_ok(submod_combination_create(&c));
    for (size_t f = 0; f < family_count; f++) {
        for (int repeat = 0; repeat < 3; repeat++) {
            enum { COUNT = 40 };
            submod_fn *fn = families[f].make(N, &rng);
            int32_t orders[COUNT * N];
            double weights[COUNT], x[N], u[N], v[N];
            submod_prox_settings settings = by(SUBMOD_PROX_MIN_NORM);
            submod_prox_info info;
            size_t n = repeat == 1 ? N - 1 : N;
            settings.tolerance = 1e-12;
            for (size_t k = 0; k < COUNT; k++) {
                random_order(&rng, orders + k * n, n);
                weights[k] = (double)submod_rng_below(&rng, 3);
            }
            weights[0] = 1;
            random_vector(&rng, x, N, 1);
            ck_assert_int_ge(submod_prox(fn, x, 2, v, NULL, &settings, NULL, NULL), 0);
            ck_assert_ok(submod_combination_set(c, n, COUNT, orders, weights));
            settings.combination = c;
            ck_assert_int_ge(submod_prox(fn, x, 2, u, NULL, &settings, &info, NULL), 0);
            ck_assert_uint_eq(submod_combination_size(c), N);
            for (size_t i = 0; i < N; i++) {
                ck_assert_near(u[i], v[i], 1e-5);
            }
            submod_fn_free(fn);
        }
    }
    submod_combination_free(c);
}
END_TEST

/* Scaling laws far from 1: prox of c f at c x with the same lambda is c times that of f at x. */
START_TEST(scales)
{
    const double factors[] = {1e-150, 1e-30, 1, 1e30, 1e150};
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    for (size_t f = 0; f < family_count; f++) {
        submod_fn *fn = families[f].make(N, &rng);
        double x[N], scaled_x[N], u[N], v[N], s[N];
        submod_prox_settings settings = by(SUBMOD_PROX_MIN_NORM);
        settings.tolerance = 1e-13;
        random_vector(&rng, x, N, 0);
        ck_assert_int_ge(submod_prox(fn, x, 0.5, u, NULL, &settings, NULL, NULL), 0);
        for (size_t k = 0; k < 5; k++) {
            submod_fn *scaled = NULL;
            ck_assert_ok(submod_fn_scale(fn, factors[k], &scaled));
            for (size_t i = 0; i < N; i++) {
                scaled_x[i] = factors[k] * x[i];
            }
            ck_assert_int_ge(submod_prox(scaled, scaled_x, 0.5, v, s, &settings, NULL, NULL), 0);
            for (size_t i = 0; i < N; i++) {
                ck_assert_near(v[i] / factors[k], u[i], 1e-5);
            }
            submod_fn_free(scaled);
        }
        submod_fn_free(fn);
    }
}
END_TEST

/* f(u + c) = f(u) + c F(V), so a constant added to x is added to u and leaves s alone, even one so
 * large that F is small beside it. */
START_TEST(constants)
{
    submod_rng rng;
    submod_rng_seed(&rng, 14);
    const double constant = 0x1p25;
    for (size_t f = 0; f < family_count; f++) {
        for (int repeat = 0; repeat < 2; repeat++) {
            submod_fn *fn = families[f].make(N, &rng);
            double *F = subset_values(fn), scale = value_scale(F, N);
            double x[N], u[N], s[N], v[N], wanted[N];
            submod_prox_settings settings = by(SUBMOD_PROX_MIN_NORM);
            settings.tolerance = 0;
            settings.max_iterations = 1000;
            for (size_t i = 0; i < N; i++) {
                x[i] = (double)submod_rng_below(&rng, 5) / 4; /* exact beside the constant */
            }
            ck_assert_int_ge(submod_prox(fn, x, 1, u, wanted, &settings, NULL, NULL), 0);
            for (size_t i = 0; i < N; i++) {
                x[i] += constant;
            }
            ck_assert_int_ge(submod_prox(fn, x, 1, v, s, &settings, NULL, NULL), 0);
            for (size_t i = 0; i < N; i++) {
                /* The root of a gap that rounding makes: constant * 2^-52 = 7e-9. */
                ck_assert_near(s[i], wanted[i], 2e-4 * scale);
                ck_assert_near(v[i] - constant, u[i], 2e-4 * scale);
            }
            free(F);
            submod_fn_free(fn);
        }
    }
}
END_TEST

/* lambda -> infinity: u -> x, s -> the greedy vector of x. lambda -> 0: s -> the minimum-norm
 * point, here of a function whose minimum-norm point is known. */
START_TEST(extreme_lambda)
{
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    for (size_t f = 0; f < family_count; f++) {
        submod_fn *fn = families[f].make(N, &rng);
        double x[N], u[N], s[N], g[N], zero[N] = {0}, least[N];
        submod_prox_settings settings = by(SUBMOD_PROX_MIN_NORM);
        submod_prox_info info;
        for (size_t i = 0; i < N; i++) {
            x[i] = (double)i / N; /* well apart */
        }
        ck_assert_ok(submod_prox(fn, x, 1e12, u, s, &settings, &info, NULL));
        ck_assert_ok(submod_lovasz(fn, x, NULL, g, NULL, NULL, NULL));
        for (size_t i = 0; i < N; i++) {
            ck_assert_near(u[i], x[i], 1e-10);
            ck_assert_near(s[i], g[i], 1e-10 * (1 + fabs(g[i]))); /* nothing lost to lambda x */
        }
        settings.tolerance = 1e-13;
        ck_assert_int_ge(submod_prox(fn, x, 1e-9, u, s, &settings, &info, NULL), 0);
        ck_assert_int_ge(submod_prox(fn, zero, 1, u, least, &settings, &info, NULL), 0);
        for (size_t i = 0; i < N; i++) {
            ck_assert_near(s[i], least[i], 1e-5 * (1 + fabs(least[i])));
        }
        submod_fn_free(fn);
    }
}
END_TEST

/* A polytope that is tiny and far away, and one that contains lambda x, or 0, in its interior. */
START_TEST(awkward_places)
{
    submod_rng rng;
    submod_rng_seed(&rng, 7);
    double far[N], x[N], u[N], v[N], s[N], zero[N] = {0};
    submod_fn *cut = random_cut(N, 30, &rng), *small = NULL, *moved = NULL, *none = NULL;
    submod_prox_settings settings = by(SUBMOD_PROX_MIN_NORM);
    submod_prox_info info;
    random_vector(&rng, x, N, 0);
    for (size_t i = 0; i < N; i++) {
        far[i] = 1e6 * (double)(i + 1);
    }
    /* prox of f + <far, .> at x + far is the prox of f at x. */
    ck_assert_ok(submod_fn_scale(cut, 1e-3, &small));
    ck_assert_ok(submod_fn_add_modular(small, far, &moved));
    settings.tolerance = 0;
    ck_assert_int_ge(submod_prox(small, x, 1e-3, u, NULL, &settings, NULL, NULL), 0);
    for (size_t i = 0; i < N; i++) {
        far[i] = x[i] + 1e3 * far[i];
    }
    ck_assert_int_ge(submod_prox(moved, far, 1e-3, v, s, &settings, &info, NULL), 0);
    for (size_t i = 0; i < N; i++) {
        ck_assert_near(v[i], u[i], 1e-5);
    }
    /* An undirected cut: 0 is the centre of B(F), the minimum-norm point. */
    settings.tolerance = 1e-10;
    settings.method = SUBMOD_PROX_MIN_NORM;
    ck_assert_ok(submod_prox(cut, zero, 1, u, s, &settings, &info, NULL));
    for (size_t i = 0; i < N; i++) {
        ck_assert_near(s[i], 0, 1e-7);
        ck_assert_near(u[i], 0, 1e-7);
    }
    /* F = 0: B(F) is a point. */
    ck_assert_ok(submod_fn_modular(N, zero, &none));
    ck_assert_ok(submod_prox(none, x, 3, u, s, &settings, &info, NULL));
    for (size_t i = 0; i < N; i++) {
        ck_assert_near(u[i], x[i], 1e-15);
        ck_assert_near(s[i], 0, 0);
    }
    ck_assert_ok(submod_prox(none, zero, 3, u, s, &settings, &info, NULL));
    submod_fn_free(cut);
    submod_fn_free(small);
    submod_fn_free(moved);
    submod_fn_free(none);
}
END_TEST

/* Limits: usable, and the gap is the true one. */
START_TEST(limits)
{
    submod_rng rng;
    submod_rng_seed(&rng, 8);
    submod_fn *fn = random_cut(40, 200, &rng);
    submod_combination *c = NULL;
    double x[40], u[40], s[40], best[40];
    ck_assert_ok(submod_combination_create(&c));
    random_vector(&rng, x, 40, 0);
    submod_prox_settings settings = by(SUBMOD_PROX_MIN_NORM);
    ck_assert_ok(submod_prox(fn, x, 0.3, best, NULL, &settings, NULL, NULL));
    submod_prox_info info;
    submod_certificate_report report;
    settings.max_iterations = 1;
    settings.combination = c;
    ck_assert_ok(submod_combination_set(c, 0, 0, NULL, NULL));
    ck_assert_int_eq(submod_prox(fn, x, 0.3, u, s, &settings, &info, NULL), SUBMOD_MAXITER);
    ck_assert_uint_eq(info.iterations, 1);
    ck_assert_ok(submod_certificate_check(fn, x, 0.3, u, s, c, &report));
    ck_assert_near(report.gap, info.gap, 1e-10 * report.gap);
    ck_assert(report.base_error <= 1e-12 && report.gap > 1e-6);
    double distance = 0;
    for (size_t i = 0; i < 40; i++) {
        distance += (u[i] - best[i]) * (u[i] - best[i]);
    }
    ck_assert(distance <= 2 * info.gap / 0.3 + 1e-9);
    settings.max_iterations = 0;
    settings.time_limit = 1e-9;
    ck_assert_int_eq(submod_prox(fn, x, 0.3, u, s, &settings, &info, NULL), SUBMOD_TIMELIMIT);
    submod_combination_free(c);
    submod_fn_free(fn);
}
END_TEST

/* ---- callbacks that misbehave ---- */

static submod_status square(const void *ctx, const int32_t *set, size_t k, double *value)
{
    double noise = 0; /* convex in the size, and rugged: far from submodular */
    (void)ctx;
    for (size_t i = 0; i < k; i++) {
        noise += sin(100.0 * (set[i] + 1) * (double)k);
    }
    *value = (double)(k * k) + noise;
    return SUBMOD_OK;
}

/* A fixed point of the greedy rule looks optimal to anybody who sees chains alone; most runs end
 * otherwise, and all of them end. */
START_TEST(not_submodular_ends)
{
    int noticed = 0;
    submod_fn_ops ops = {.struct_size = sizeof ops, .eval = square};
    submod_rng rng;
    submod_rng_seed(&rng, 9);
    for (size_t n = 1; n <= 30; n++) {
        for (int repeat = 0; repeat < 3; repeat++) {
            submod_fn *fn = NULL;
            double x[30], u[30], s[30];
            submod_prox_settings settings = by(SUBMOD_PROX_MIN_NORM);
            submod_prox_info info;
            settings.max_iterations = 3000;
            random_vector(&rng, x, n, 0);
            ck_assert_ok(submod_fn_custom(n, &ops, NULL, &fn));
            int status = submod_prox(fn, x, 0.1, u, s, &settings, &info, NULL);
            ck_assert(status >= 0 && isfinite(info.gap));
            noticed += status == SUBMOD_INACCURATE || status == SUBMOD_MAXITER;
            submod_fn_free(fn);
        }
    }
    ck_assert_int_ge(noticed, 45);
}
END_TEST

typedef struct fuse {
    long *calls;
    long limit;
    double bad;
} fuse;

static submod_status fused(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const fuse *f = ctx;
    double sum = 0;
    for (size_t i = 0; i < k; i++) {
        sum += set[i] % 3 - 1;
    }
    *value = (*f->calls)++ < f->limit ? sqrt((double)k) + 0.1 * sum : f->bad;
    return SUBMOD_OK;
}

/* NaN and Inf from eval at any time: SUBMOD_ECALLBACK, outputs untouched. */
START_TEST(bad_callbacks)
{
    for (long limit = 0; limit < 200; limit += 7) {
        long calls = 0;
        fuse f = {&calls, limit, limit % 2 ? NAN : INFINITY};
        submod_fn_ops ops = {.struct_size = sizeof ops, .eval = fused};
        submod_fn *fn = NULL;
        submod_combination *c = NULL;
        double x[20], u[20] = {7}, s[20] = {7};
        submod_prox_info info = {.gap = 7};
        submod_prox_settings settings = by(SUBMOD_PROX_MIN_NORM);
        for (size_t i = 0; i < 20; i++) {
            x[i] = sin((double)i);
        }
        ck_assert_ok(submod_combination_create(&c));
        ck_assert_ok(submod_fn_custom(20, &ops, &f, &fn));
        settings.combination = c;
        int status = submod_prox(fn, x, 1, u, s, &settings, &info, NULL);
        if (calls > limit) {
            ck_assert_int_eq(status, SUBMOD_ECALLBACK);
            ck_assert(u[0] == 7 && s[0] == 7 && info.gap == 7);
            ck_assert_uint_eq(submod_combination_count(c), 0);
        }
        submod_combination_free(c);
        submod_fn_free(fn);
    }
}
END_TEST

/* ---- allocations ---- */

/* One projection with more than 16 points, so that its tables grow. */
static int project(void)
{
    submod_rng rng;
    submod_rng_seed(&rng, 10);
    submod_fn *fn = NULL, *cut = NULL;
    submod_combination *c = NULL;
    double x[40], u[40] = {7}, w[6] = {0};
    int32_t tail[80], head[80];
    double weight[80];
    submod_prox_settings settings = by(SUBMOD_PROX_MIN_NORM);
    settings.max_iterations = 60;
    for (size_t i = 0; i < 80; i++) {
        tail[i] = (int32_t)(i % 40);
        head[i] = (int32_t)((i * 7 + 3) % 40);
        weight[i] = submod_rng_uniform(&rng);
    }
    random_vector(&rng, x, 40, 0);
    int status = submod_fn_cut(40, 80, tail, head, weight, 0, &cut);
    status = status ? status : submod_fn_scale(cut, 1, &fn);
    status = status ? status : submod_combination_create(&c);
    settings.combination = c;
    for (int warm = 0; warm < 2 && status >= 0; warm++) {
        status = submod_prox(fn, x, 0.1, u, NULL, &settings, NULL, NULL);
        ck_assert(status >= 0 || warm || u[0] == 7);
    }
    if (status >= 0) {
        submod_certificate_report report;
        status = submod_certificate_check(fn, x, 0.1, u, u, c, &report);
    }
    if (status >= 0) {
        status = submod_prox_max_affine(6, 5, x, x, x, 1, u, w, NULL, NULL);
    }
    submod_combination_free(c);
    submod_fn_free(fn);
    submod_fn_free(cut);
    return status < 0 ? status : 0;
}

START_TEST(allocations_fail)
{
    ck_assert_ok(submod_set_allocator(&counting_allocator));
    int status = SUBMOD_ENOMEM;
    for (long allowed = 0; status != SUBMOD_OK; allowed += 1 + allowed / 50) {
        ck_assert_int_lt(allowed, 100000);
        allocations.left = allowed;
        status = project();
        ck_assert_int_eq(allocations.live, 0);
        ck_assert(status == SUBMOD_OK || status == SUBMOD_ENOMEM);
    }
    ck_assert_ok(submod_set_allocator(NULL));
}
END_TEST

/* The same bits whatever the number of threads: the passes over all points, for sizes where they
 * are shared out. */
START_TEST(threads)
{
    enum { LARGE = 5003, COUNT = 307 };
    submod_rng rng;
    submod_rng_seed(&rng, 11);
    submodi_scope scope;
    submod_work *work = submodi_scope_open(&scope, NULL);
    submodi_vertices v;
    double *x = malloc(2 * LARGE * sizeof *x), *sum = malloc(2 * LARGE * sizeof *sum);
    double a[2][COUNT], b[2][COUNT];
    random_vector(&rng, x, 2 * LARGE, 0);
    ck_assert(submodi_vertices_init(&v, LARGE, x, false, work));
    ck_assert(submodi_vertices_reserve(&v, COUNT, work));
    for (size_t j = 0; j < COUNT; j++) {
        random_vector(&rng, sum, LARGE, 0);
        submodi_vertices_add(&v, sum, NULL);
        v.weights[j] = submod_rng_uniform(&rng);
    }
    ck_assert_int_gt(COUNT * LARGE / 16, 1 << 16); /* else there is but one thread */
    for (int i = 0; i < 2; i++) {
        ck_assert_ok(submod_set_num_threads(1 + 2 * i));
        submodi_vertices_dots(&v, x, x + LARGE, a[i], b[i]);
        submodi_vertices_combine(&v, sum + i * LARGE);
    }
    for (size_t j = 0; j < COUNT; j++) { /* and right: against plain sums */
        double with_a = 0, with_b = 0;
        for (size_t i = 0; i < LARGE; i++) {
            with_a += submodi_vertices_row(&v, j)[i] * x[i];
            with_b += submodi_vertices_row(&v, j)[i] * x[LARGE + i];
        }
        ck_assert(a[0][j] == a[1][j] && b[0][j] == b[1][j]);
        ck_assert_near(a[0][j], with_a, 1e-9);
        ck_assert_near(b[0][j], with_b, 1e-9);
    }
    for (size_t i = 0; i < LARGE; i++) {
        double plain = x[i];
        for (size_t j = 0; j < COUNT; j++) {
            plain += v.weights[j] * submodi_vertices_row(&v, j)[i];
        }
        ck_assert(sum[i] == sum[LARGE + i]);
        ck_assert_near(sum[i], plain, 1e-9);
    }
    ck_assert_ok(submod_set_num_threads(0));
    submodi_scope_close(&scope);
    free(x);
    free(sum);
}
END_TEST

/* The factor after many appends and removals is that of the matrix, and so are its solutions. */
START_TEST(factor)
{
    enum { MOST = 40, D = 60 };
    submod_rng rng;
    submod_rng_seed(&rng, 12);
    submodi_scope scope;
    submod_work *work = submodi_scope_open(&scope, NULL);
    submodi_factor f = {0};
    double rows[MOST][D], r[MOST], column[MOST], x[MOST];
    for (int step = 0; step < 2000; step++) {
        if (f.k < MOST && (f.k < 2 || submod_rng_below(&rng, 2))) {
            random_vector(&rng, rows[f.k], D, 0);
            r[f.k] = submod_rng_normal(&rng);
            for (size_t j = 0; j <= f.k; j++) {
                column[j] = 0;
                for (size_t i = 0; i < D; i++) {
                    column[j] += rows[j][i] * rows[f.k][i];
                }
            }
            ck_assert(submodi_factor_reserve(&f, f.k + 1, work));
            double pivot2 = submodi_factor_project(&f, column, column[f.k]);
            submodi_factor_append(&f, pivot2, r[f.k]);
        } else {
            size_t j = submod_rng_below(&rng, f.k);
            submodi_factor_remove(&f, j);
            memmove(rows[j], rows[j + 1], (f.k - j) * sizeof rows[j]);
            memmove(r + j, r + j + 1, (f.k - j) * sizeof *r);
        }
        /* M x - r is a constant, and x sums to 0. */
        double sum = 0, constant = 0;
        submodi_factor_direction(&f, x);
        for (size_t j = 0; j < f.k; j++) {
            double left = -r[j];
            sum += x[j];
            for (size_t i = 0; i < D; i++) {
                double combined = 0;
                for (size_t l = 0; l < f.k; l++) {
                    combined += x[l] * rows[l][i];
                }
                left += rows[j][i] * combined;
            }
            constant = j ? constant : left;
            ck_assert_near(left, constant, 1e-9);
        }
        ck_assert_near(sum, 0, 1e-10);
    }
    submodi_scope_close(&scope);
}
END_TEST

/* A workspace may be used again and again, by problems of any size. */
START_TEST(workspace)
{
    submod_rng rng;
    submod_rng_seed(&rng, 13);
    submod_work *work = NULL;
    ck_assert_ok(submod_work_create(&work));
    for (int repeat = 0; repeat < 6; repeat++) {
        size_t n = repeat % 2 ? 10 : 80;
        submod_fn *fn = random_cut(n, 3 * n, &rng);
        double x[80], u[80], v[80];
        submod_prox_settings settings = by(SUBMOD_PROX_MIN_NORM);
        random_vector(&rng, x, n, 0);
        ck_assert_ok(submod_prox(fn, x, 0.2, u, NULL, &settings, NULL, work));
        ck_assert_ok(submod_prox(fn, x, 0.2, v, NULL, &settings, NULL, NULL));
        for (size_t i = 0; i < n; i++) {
            ck_assert(u[i] == v[i]);
        }
        submod_fn_free(fn);
    }
    submod_work_free(work);
}
END_TEST

/* ---- a minor keeps the state of its base, and does not push it again for each chain ---- */

static int base_pushes; /* of element 0 */

static submod_status root_eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    (void)ctx;
    (void)set;
    *value = sqrt((double)k);
    return SUBMOD_OK;
}

static submod_status root_reset(const void *ctx, void *state)
{
    (void)ctx;
    *(double *)state = 0;
    return SUBMOD_OK;
}

static submod_status root_push(const void *ctx, void *state, int32_t e, double *gain)
{
    double *k = state;
    (void)ctx;
    base_pushes += e == 0;
    *gain = sqrt(*k + 1) - sqrt(*k);
    *k += 1;
    return SUBMOD_OK;
}

START_TEST(base_is_not_pushed_by_chains)
{
    submod_fn_ops ops = {.struct_size = sizeof ops,
                         .eval = root_eval,
                         .state_size = sizeof(double),
                         .reset = root_reset,
                         .push = root_push};
    submod_prox_settings settings = by(SUBMOD_PROX_MIN_NORM);
    const int32_t base[1] = {0};
    const double x[N - 1] = {0.3, -0.1, 0.2, 0, 0.35, 0.15, 0.05};
    double u[N - 1];
    submod_prox_info info;
    submod_fn *fn = NULL, *minor = NULL;
    ck_assert_ok(submod_fn_custom(N, &ops, NULL, &fn));
    ck_assert_ok(submod_fn_contract(fn, base, 1, &minor));
    base_pushes = 0;
    ck_assert_ok(submod_prox(minor, x, 0.3, u, NULL, &settings, &info, NULL));
    ck_assert_uint_gt(info.oracle_calls, 3);
    ck_assert_int_le(base_pushes, 2);
    submod_fn_free(fn);
    submod_fn_free(minor);
}
END_TEST

int main(void)
{
    return RUN_TESTS("min_norm", level_sets_minimise, iwata_is_a_vertex, large_cuts,
                     odd_warm_starts, scales, constants, extreme_lambda, awkward_places, limits,
                     not_submodular_ends, bad_callbacks, allocations_fail, threads, factor,
                     workspace, base_is_not_pushed_by_chains);
}
