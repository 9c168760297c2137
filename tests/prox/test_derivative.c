/* Blocks and vector-Jacobian products of proxes. Blocks are compared with separators found among
 * all subsets; products with finite differences of the prox itself. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "combinations.h"
#include "support.h"

enum { N = 8 };

/* The prox, as exact as there is; 0 if it is refused. */
static int solve(const submod_fn *fn, const double *x, double lambda, int hinge, double *u,
                 double *s)
{
    submod_prox_settings settings = submod_prox_defaults();
    settings.tolerance = 1e-15;
    settings.hinge = hinge;
    return submod_prox(fn, x, lambda, u, s, &settings, NULL, NULL) >= 0;
}

static void prox(const submod_fn *fn, const double *x, double lambda, int hinge, double *u,
                 double *s)
{
    ck_assert_msg(solve(fn, x, lambda, hinge, u, s), "%s", submod_last_error());
}

static size_t find_blocks(const submod_fn *fn, const double *x, double lambda, const double *u,
                          int hinge, int32_t *block, double *value)
{
    submod_prox_settings settings = submod_prox_defaults();
    submod_prox_info info;
    size_t count;
    settings.hinge = hinge;
    ck_assert_ok(
        submod_prox_blocks(fn, x, lambda, u, block, value, &count, &settings, &info, NULL));
    return count;
}

/* ---- blocks by brute force ---- */

static uint32_t above(const double *u, size_t n, double alpha)
{
    uint32_t mask = 0;
    for (size_t i = 0; i < n; i++) {
        mask |= (uint32_t)(u[i] > alpha + 1e-6) << i;
    }
    return mask;
}

static uint32_t level_of(const double *u, size_t n, size_t e)
{
    uint32_t mask = 0;
    for (size_t i = 0; i < n; i++) {
        mask |= (uint32_t)(fabs(u[i] - u[e]) <= 1e-6) << i;
    }
    return mask;
}

/* Whether some subset of their level that separates F has e but not d. */
static int separated(const double *F, size_t n, const double *u, size_t e, size_t d)
{
    uint32_t S = above(u, n, u[e]), C = level_of(u, n, e);
    double scale = value_scale(F, n);
    for (uint32_t A = C; A; A = (A - 1) & C) {
        double excess = F[S | A] + F[S | (C & ~A)] - F[S] - F[S | C];
        if (A >> e & 1 && !(A >> d & 1) && excess <= 1e-11 * scale) {
            return 1;
        }
    }
    return 0;
}

/* Functions that know their blocks. Others may hold too much together, but never tear a block. */
static int knows_blocks(const char *name)
{
    static const char *const guesses[] = {
        "coverage",          "facility", "logdet",          "sum",
        "contracted logdet", "custom",   "embedded logdet", "sum of embeddings"};
    for (size_t i = 0; i < sizeof guesses / sizeof *guesses; i++) {
        if (strcmp(name, guesses[i]) == 0) {
            return 0;
        }
    }
    return 1;
}

static void check_blocks(const family *f, const double *F, size_t n, const double *u,
                         const int32_t *block, int hinge, const double *x)
{
    for (size_t e = 0; e < n; e++) {
        for (size_t d = 0; d < n; d++) {
            if (block[e] < 0 || block[d] < 0 || e == d) {
                continue;
            }
            int tied = fabs(u[e] - u[d]) <= 1e-6;
            int together = tied && !separated(F, n, u, e, d);
            ck_assert_msg(!together || block[e] == block[d], "%s: %zu and %zu torn", f->name, e, d);
            ck_assert_msg(tied || block[e] != block[d], "%s: %zu and %zu not tied", f->name, e, d);
            ck_assert_msg(together || block[e] != block[d] || !knows_blocks(f->name),
                          "%s: %zu and %zu held together", f->name, e, d);
            ck_assert(!(u[e] > u[d] + 1e-6) || block[e] < block[d]);
        }
        int expected = x[e] < 0 ? SUBMOD_BLOCK_FREE : SUBMOD_BLOCK_HELD;
        ck_assert(hinge && (x[e] < 0 || u[e] <= 0) ? block[e] == expected : block[e] >= 0);
    }
}

START_TEST(blocks_of_all_families)
{
    const double lambdas[] = {1, 0.05, 10};
    submod_rng rng;
    submod_rng_seed(&rng, 61);
    int several = 0;
    for (size_t i = 0; i < family_count; i++) {
        for (int repeat = 0; repeat < 60; repeat++) {
            size_t n = 2 + submod_rng_below(&rng, N - 1);
            int hinge = families[i].monotone && repeat % 5 == 4;
            submod_fn *fn = families[i].make(n, &rng);
            double *F = subset_values(fn);
            double x[N], u[N], s[N], value[N], lambda = lambdas[repeat % 3];
            int32_t block[N];
            random_vector(&rng, x, n, repeat % 2);
            prox(fn, x, lambda, hinge, u, s);
            size_t count = find_blocks(fn, x, lambda, u, hinge, block, value);
            check_blocks(&families[i], F, n, u, block, hinge, x);
            for (size_t e = 0; e < n; e++) {
                ck_assert(block[e] < (int32_t)count);
                ck_assert(block[e] < 0 || fabs(value[block[e]] - u[e]) <= 1e-6);
            }
            several += count > 1 && count < n;
            free(F);
            submod_fn_free(fn);
        }
    }
    ck_assert_int_ge(several, 300);
}
END_TEST

/* ---- finite differences ---- */

/* u at x + t dx, lambda + t dlambda, F + t G, where the blocks must not have changed. */
typedef struct direction {
    const double *dx;
    double dlambda;
    const double *dw;
} direction;

static int same_blocks(const submod_fn *fn, const double *x, double lambda, const double *u,
                       int hinge, const int32_t *expected)
{
    int32_t block[N];
    double value[N];
    find_blocks(fn, x, lambda, u, hinge, block, value);
    return memcmp(block, expected, submod_fn_size(fn) * sizeof *block) == 0;
}

/* *slope = the central difference of <v, u> along d; 0 if the blocks change on the way. */
static int differences(const submod_fn *fn, const double *x, double lambda, int hinge,
                       const direction *d, const double *v, const int32_t *block, double *slope)
{
    const double step = 1e-5;
    *slope = 0;
    for (int side = -1; side <= 1; side += 2) {
        double y[N], u[N], s[N], w[N], t = side * step;
        submod_fn *moved = NULL;
        for (size_t i = 0; i < submod_fn_size(fn); i++) {
            y[i] = x[i] + (d->dx ? t * d->dx[i] : 0);
            w[i] = d->dw ? t * d->dw[i] : 0;
        }
        ck_assert_ok(combine_plus(fn, w, &moved));
        if (!solve(moved, y, lambda + t * d->dlambda, hinge, u, s)) {
            submod_fn_free(moved);
            return 0; /* hinge: no longer monotone */
        }
        int same = same_blocks(moved, y, lambda + t * d->dlambda, u, hinge, block);
        for (size_t i = 0; i < submod_fn_size(fn); i++) {
            *slope += side * v[i] * u[i] / (2 * step);
        }
        submod_fn_free(moved);
        if (!same) {
            return 0;
        }
    }
    return 1;
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Compares all products of one function at one x. Returns how many could be compared. */
static int compare_products(const family *f, const submod_fn *fn, const double *x, double lambda,
                            int hinge, submod_rng *rng)
{
    size_t n = submod_fn_size(fn);
    double u[N], s[N], v[N], d[N], by_x[N], by_w[N], by_lambda, value[N];
    int32_t block[N];
    int compared = 0;
    prox(fn, x, lambda, hinge, u, s);
    find_blocks(fn, x, lambda, u, hinge, block, value);
    random_vector(rng, v, n, 0);
    random_vector(rng, d, n, 0);
    ck_assert_ok(submod_prox_vjp(
        &(submod_prox_point){.n = n, .lambda = lambda, .block = block, .s = s}, v,
        &(submod_prox_derivatives){.by_x = by_x, .by_lambda = &by_lambda, .by_modular = by_w},
        NULL));
    const direction directions[] = {{.dx = d}, {.dlambda = 1}, {.dw = d}};
    const double expected[] = {dot(by_x, d, n), by_lambda, dot(by_w, d, n)};
    for (int k = 0; k < 3; k++) {
        double slope;
        if (differences(fn, x, lambda, hinge, &directions[k], v, block, &slope)) {
            double tolerance = 1e-4 * (1 + fabs(slope) + 1 / lambda);
            ck_assert_msg(fabs(expected[k] - slope) <= tolerance, "%s, kind %d, hinge %d: %g, %g",
                          f->name, k, hinge, expected[k], slope);
            compared++;
        }
    }
    return compared;
}

START_TEST(products_of_all_families)
{
    const double lambdas[] = {1, 0.2, 5};
    submod_rng rng;
    submod_rng_seed(&rng, 62);
    for (size_t i = 0; i < family_count; i++) {
        int compared = 0;
        for (int repeat = 0; repeat < 30; repeat++) {
            size_t n = 2 + submod_rng_below(&rng, N - 1);
            int hinge = families[i].monotone && repeat % 3 == 2;
            submod_fn *fn = families[i].make(n, &rng);
            double x[N];
            random_vector(&rng, x, n, 0);
            compared += compare_products(&families[i], fn, x, lambdas[repeat % 3], hinge, &rng);
            submod_fn_free(fn);
        }
        ck_assert_msg(compared >= 75, "%s: %d", families[i].name, compared);
    }
}
END_TEST

/* A ring with chords, m edges. */
enum { EDGES = 12 };

static void random_edges(submod_rng *rng, int32_t *tail, int32_t *head, double *weight)
{
    for (size_t k = 0; k < EDGES; k++) {
        tail[k] = (int32_t)submod_rng_below(rng, N);
        head[k] = (int32_t)submod_rng_below(rng, N);
        weight[k] = 0.05 + submod_rng_uniform(rng);
    }
}

/* A cut, alone or with a Jaccard function added. */
static submod_fn *cut_with(const int32_t *tail, const int32_t *head, const double *weight,
                           int directed, submod_fn *other)
{
    submod_fn *cut = NULL, *sum = NULL;
    ck_assert_ok(submod_fn_cut(N, EDGES, tail, head, weight, directed, &cut));
    if (!other) {
        return cut;
    }
    submod_fn *const terms[2] = {cut, other};
    ck_assert_ok(combine_sum(terms, NULL, 2, &sum));
    submod_fn_free(cut);
    return sum;
}

START_TEST(products_by_weights_of_edges)
{
    submod_rng rng;
    submod_rng_seed(&rng, 63);
    int compared = 0, zero = 0;
    for (int repeat = 0; repeat < 60; repeat++) {
        int directed = repeat % 2;
        submod_fn *other = repeat % 3 ? NULL : families[0].make(N, &rng);
        int32_t tail[EDGES], head[EDGES], block[N];
        double weight[EDGES], by_weight[EDGES], x[N], u[N], s[N], v[N], value[N], lambda = 0.8;
        random_edges(&rng, tail, head, weight);
        submod_fn *fn = cut_with(tail, head, weight, directed, other);
        random_vector(&rng, x, N, 0);
        random_vector(&rng, v, N, 0);
        prox(fn, x, lambda, 0, u, s);
        find_blocks(fn, x, lambda, u, 0, block, value);
        ck_assert_ok(submod_prox_vjp(
            &(submod_prox_point){.n = N, .lambda = lambda, .block = block, .u = u}, v,
            &(submod_prox_derivatives){.by_edge = by_weight,
                                       .edges = EDGES,
                                       .tail = tail,
                                       .head = head,
                                       .directed = directed},
            NULL));
        for (size_t k = 0; k < EDGES; k++) {
            double slope = 0, step = 1e-5;
            int same = 1;
            for (int side = -1; side <= 1; side += 2) {
                double moved[EDGES];
                memcpy(moved, weight, sizeof moved);
                moved[k] += side * step;
                submod_fn *other_fn = cut_with(tail, head, moved, directed, other);
                prox(other_fn, x, lambda, 0, u, s);
                slope += side * dot(v, u, N) / (2 * step);
                same = same && same_blocks(other_fn, x, lambda, u, 0, block);
                submod_fn_free(other_fn);
            }
            ck_assert_msg(!same || fabs(by_weight[k] - slope) <= 1e-4, "%g, %g", by_weight[k],
                          slope);
            compared += same;
            zero += same && by_weight[k] == 0;
        }
        submod_fn_free(other);
        submod_fn_free(fn);
    }
    ck_assert_int_ge(compared, 500);
    ck_assert_int_ge(zero, 100);
}
END_TEST

/* By the coefficient t of G in F + t G, at t = 1. */
START_TEST(products_by_coefficients)
{
    submod_rng rng;
    submod_rng_seed(&rng, 64);
    int compared = 0;
    for (size_t i = 0; i < family_count; i++) {
        for (int repeat = 0; repeat < 6; repeat++) {
            submod_fn *parts[2] = {families[i].make(N, &rng),
                                   families[submod_rng_below(&rng, family_count)].make(N, &rng)};
            double x[N], u[N], s[N], v[N], value[N], by_t, slope = 0, step = 1e-5, lambda = 0.6;
            int32_t block[N];
            submod_fn *fn = NULL;
            ck_assert_ok(combine_sum(parts, NULL, 2, &fn));
            random_vector(&rng, x, N, 0);
            random_vector(&rng, v, N, 0);
            prox(fn, x, lambda, 0, u, s);
            find_blocks(fn, x, lambda, u, 0, block, value);
            ck_assert_ok(submod_prox_vjp(
                &(submod_prox_point){
                    .n = submod_fn_size(parts[1]), .lambda = lambda, .block = block},
                v, &(submod_prox_derivatives){.by_function = &by_t, .function = parts[1]}, NULL));
            int same = 1;
            for (int side = -1; side <= 1; side += 2) {
                submod_fn *moved = NULL;
                ck_assert_ok(combine_sum(parts, (double[]){1, 1 + side * step}, 2, &moved));
                prox(moved, x, lambda, 0, u, s);
                slope += side * dot(v, u, N) / (2 * step);
                same = same && same_blocks(moved, x, lambda, u, 0, block);
                submod_fn_free(moved);
            }
            ck_assert_msg(!same || fabs(by_t - slope) <= 1e-4 * (1 + fabs(slope)), "%s: %g, %g",
                          families[i].name, by_t, slope);
            compared += same;
            submod_fn_free(fn);
            submod_fn_free(parts[0]);
            submod_fn_free(parts[1]);
        }
    }
    ck_assert_int_ge(compared, 100);
}
END_TEST

/* ---- blocks known by hand ---- */

/* Two edges far from each other, at one value: two blocks. */
START_TEST(components_of_a_cut_are_apart)
{
    submod_fn *fn = NULL;
    double u[4], s[4], value[4], by_x[4];
    const double x[4] = {1, 0, 1, 0}, v[4] = {1, 2, 3, 5};
    int32_t block[4];
    ck_assert_ok(submod_fn_cut(4, 3, (int32_t[]){0, 2, 1}, (int32_t[]){1, 3, 2},
                               (double[]){9, 9, 0}, 0, &fn));
    prox(fn, x, 1, 0, u, s);
    ck_assert(u[0] == 0.5 && u[1] == 0.5 && u[2] == 0.5 && u[3] == 0.5);
    ck_assert_uint_eq(find_blocks(fn, x, 1, u, 0, block, value), 2);
    ck_assert(block[0] == 0 && block[1] == 0 && block[2] == 1 && block[3] == 1);
    ck_assert_ok(submod_prox_vjp(&(submod_prox_point){.n = 4, .lambda = 1, .block = block, .s = s},
                                 v, &(submod_prox_derivatives){.by_x = by_x}, NULL));
    ck_assert(by_x[0] == 1.5 && by_x[1] == 1.5 && by_x[2] == 4 && by_x[3] == 4);
    submod_fn_free(fn);
}
END_TEST

/* Equal values of free foreground pixels, and of background pixels below all foreground, do not
 * make blocks; a background pixel among them does. */
START_TEST(ties_of_jaccard)
{
    submod_fn *fn = NULL;
    double u[6], s[6], value[6];
    int32_t block[6];
    ck_assert_ok(submod_fn_jaccard(6, (uint8_t[]){1, 1, 1, 0, 0, 0}, &fn));
    const double apart[6] = {5, 5, 5, -5, -5, -5};
    prox(fn, apart, 1, 0, u, s);
    ck_assert(u[0] == u[1] && u[3] == u[4]);
    ck_assert_uint_eq(find_blocks(fn, apart, 1, u, 0, block, value), 6);
    const double mixed[6] = {5, 5, -5, 1, 1, 1};
    prox(fn, mixed, 1, 0, u, s);
    ck_assert_uint_eq(find_blocks(fn, mixed, 1, u, 0, block, value), 4);
    ck_assert(block[3] == 2 && block[4] == 2 && block[5] == 2);
    submod_fn_free(fn);
}
END_TEST

/* min(|A|, 2): beyond two elements F is modular, and equal values are no block. */
START_TEST(linear_parts_of_a_concave_function)
{
    submod_fn *fn = NULL;
    double u[5], s[5], value[5];
    int32_t block[5];
    const double x[5] = {9, 8, 1, 1, 1};
    ck_assert_ok(submod_fn_concave(
        5, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_MIN, .parameter = (double)(2)}, &fn));
    prox(fn, x, 1, 0, u, s);
    ck_assert_uint_eq(find_blocks(fn, x, 1, u, 0, block, value), 5);
    submod_fn_free(fn);
}
END_TEST

/* ---- approximate u ---- */

/* Noise far above rounding: the blocks are found all the same, and their values have no noise. */
START_TEST(noise_does_not_tear_blocks)
{
    enum { SIDE = 12, PIXELS = SIDE * SIDE, ARCS = 2 * SIDE * (SIDE - 1) };
    submod_rng rng;
    submod_rng_seed(&rng, 65);
    int32_t tail[ARCS], head[ARCS], block[PIXELS], again[PIXELS];
    double weight[ARCS], x[PIXELS], u[PIXELS], noisy[PIXELS], value[PIXELS], better[PIXELS];
    size_t m = 0;
    for (int32_t i = 0; i < PIXELS; i++) {
        if (i % SIDE + 1 < SIDE) {
            tail[m] = i, head[m] = i + 1, weight[m++] = 0.4;
        }
        if (i + SIDE < PIXELS) {
            tail[m] = i, head[m] = i + SIDE, weight[m++] = 0.4;
        }
    }
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_cut(PIXELS, m, tail, head, weight, 0, &fn));
    random_vector(&rng, x, PIXELS, 0);
    ck_assert_ok(submod_prox(fn, x, 1, u, NULL, NULL, NULL, NULL));
    size_t count = find_blocks(fn, x, 1, u, 0, block, value);
    for (size_t i = 0; i < PIXELS; i++) {
        noisy[i] = u[i] + 1e-7 * submod_rng_normal(&rng);
    }
    submod_prox_info info;
    size_t found;
    ck_assert_ok(submod_prox_blocks(fn, x, 1, noisy, again, better, &found, NULL, &info, NULL));
    ck_assert_uint_eq(found, count);
    for (size_t i = 0; i < PIXELS; i++) {
        ck_assert_near(better[again[i]], u[i], 1e-13);
    }
    ck_assert(info.error < 1e-5);
    ck_assert_uint_ge(info.iterations, 5);
    submod_fn_free(fn);
}
END_TEST

START_TEST(what_is_no_prox)
{
    submod_fn *fn = NULL;
    submod_prox_info info;
    const double x[3] = {0, 0, 0}, u[3] = {1, 2, 4};
    double value[3];
    int32_t block[3];
    size_t count;
    ck_assert_ok(submod_fn_concave(3, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn));
    ck_assert_int_eq(submod_prox_blocks(fn, x, 1, u, block, value, &count, NULL, &info, NULL),
                     SUBMOD_INACCURATE);
    ck_assert(info.error > 1);
    /* Tolerances relative to 0 do not grow: it ends all the same. */
    ck_assert_int_eq(submod_prox_blocks(fn, x, 1, x, block, value, &count, NULL, &info, NULL),
                     SUBMOD_INACCURATE);
    /* Within the rounding of x, the entries of u are equal, to the mean of x. */
    const double far[3] = {-1.7e308, 0, 1.7e308};
    ck_assert_ok(submod_prox_blocks(fn, far, 1, u, block, value, &count, NULL, &info, NULL));
    ck_assert(count == 1 && fabs(value[0]) < 1e295);
    const double beyond[3] = {1.7e308, 1.7e308, 1.6e308};
    ck_assert_int_ne(
        submod_prox_blocks(fn, far, 1, beyond, block, value, &count, NULL, &info, NULL), SUBMOD_OK);
    submod_fn_free(fn);
}
END_TEST

/* ---- arguments ---- */

START_TEST(refused)
{
    submod_fn *fn = NULL;
    const double x[2] = {0, 1}, bad[2] = {0, NAN};
    const int32_t block[2] = {0, 1}, outside[2] = {0, 2}, below[2] = {-3, 0};
    double out[2];
    ck_assert_ok(submod_fn_concave(2, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn));
    assert_error(submod_prox_blocks(NULL, x, 1, x, NULL, NULL, NULL, NULL, NULL, NULL),
                 SUBMOD_EINVAL, "fn is NULL");
    assert_error(submod_prox_blocks(fn, x, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
                 SUBMOD_EINVAL, "u is NULL");
    assert_error(submod_prox_blocks(fn, x, 0, x, NULL, NULL, NULL, NULL, NULL, NULL), SUBMOD_EINVAL,
                 "lambda = 0");
    assert_error(submod_prox_blocks(fn, x, 1, bad, NULL, out, NULL, NULL, NULL, NULL),
                 SUBMOD_ENONFINITE, "u[1] is nan");
    assert_error(submod_prox_blocks(fn, x, 1e-310, x, NULL, out, NULL, NULL, NULL, NULL),
                 SUBMOD_ENUMERIC, "overflows");
    assert_error(submod_prox_vjp(&(submod_prox_point){.n = 0, .lambda = 1, .block = block, .s = x},
                                 x, &(submod_prox_derivatives){.by_x = out}, NULL),
                 SUBMOD_EINVAL, "n = 0");
    assert_error(
        submod_prox_vjp(&(submod_prox_point){.n = 2, .lambda = 1, .block = outside, .s = x}, x,
                        &(submod_prox_derivatives){.by_x = out}, NULL),
        SUBMOD_EINVAL, "block[1] = 2 is not in [-2, 2)");
    assert_error(submod_prox_vjp(&(submod_prox_point){.n = 2, .lambda = 1, .block = below, .s = x},
                                 x, &(submod_prox_derivatives){.by_x = out}, NULL),
                 SUBMOD_EINVAL, "block[0] = -3");
    assert_error(submod_prox_vjp(&(submod_prox_point){.n = 2, .lambda = 1, .block = block}, x,
                                 &(submod_prox_derivatives){.by_lambda = out}, NULL),
                 SUBMOD_EINVAL, "s is NULL");
    assert_error(submod_prox_vjp(&(submod_prox_point){.n = 2, .lambda = 1, .block = block, .s = x},
                                 bad, &(submod_prox_derivatives){.by_x = out}, NULL),
                 SUBMOD_ENONFINITE, "v[1]");
    assert_error(
        submod_prox_vjp(&(submod_prox_point){.n = 2, .lambda = 1e-200, .block = block, .s = x}, x,
                        &(submod_prox_derivatives){.by_lambda = out}, NULL),
        SUBMOD_ENUMERIC, "overflows");
    assert_error(submod_prox_vjp(
                     &(submod_prox_point){.n = 2, .lambda = 1, .block = block, .u = x}, x,
                     &(submod_prox_derivatives){.by_edge = out, .edges = 1, .tail = block}, NULL),
                 SUBMOD_EINVAL, "head is NULL");
    assert_error(
        submod_prox_vjp(
            &(submod_prox_point){.n = 2, .lambda = 1, .block = block, .u = x}, x,
            &(submod_prox_derivatives){.by_edge = out, .edges = 2, .tail = block, .head = outside},
            NULL),
        SUBMOD_EINVAL, "head[1] = 2");
    assert_error(
        submod_prox_vjp(
            &(submod_prox_point){.n = 2, .lambda = 1e-310, .block = block, .u = x}, x,
            &(submod_prox_derivatives){.by_edge = out, .edges = 2, .tail = block, .head = block},
            NULL),
        SUBMOD_ENUMERIC, "overflows");
    assert_error(submod_prox_vjp(&(submod_prox_point){.n = 2, .lambda = 1, .block = block}, x,
                                 &(submod_prox_derivatives){.by_function = out}, NULL),
                 SUBMOD_EINVAL, "function is NULL");
    assert_error(submod_prox_vjp(&(submod_prox_point){.n = 1, .lambda = 1, .block = block}, x,
                                 &(submod_prox_derivatives){.by_function = out, .function = fn},
                                 NULL),
                 SUBMOD_EINVAL, "function has 2 elements, not 1");
    ck_assert_ok(submod_prox_vjp(&(submod_prox_point){.n = 2, .lambda = 1, .block = block, .u = x},
                                 x, &(submod_prox_derivatives){.edges = 0}, NULL));
    ck_assert_ok(submod_prox(fn, x, 1, out, NULL, NULL, NULL, NULL));
    ck_assert_ok(submod_prox_blocks(fn, x, 1, out, NULL, NULL, NULL, NULL, NULL, NULL));
    submod_fn_free(fn);
}
END_TEST

/* Every allocation fails once: a clean status, nothing written, nothing lost. */
START_TEST(memory_runs_out)
{
    ck_assert_ok(submod_set_allocator(&counting_allocator));
    submod_rng rng;
    submod_rng_seed(&rng, 66);
    allocations.left = -1;
    submod_fn *jaccard = families[0].make(N, &rng), *minor = NULL, *fn = NULL;
    submod_fn *large = families[0].make(N + 1, &rng);
    ck_assert_ok(submod_fn_contract(large, (int32_t[]){3}, 1, &minor));
    ck_assert_ok(combine_sum((submod_fn *const[]){jaccard, minor}, NULL, 2, &fn));
    double x[N], u[N], s[N];
    random_vector(&rng, x, N, 0);
    prox(fn, x, 1, 0, u, s);
    long before = allocations.live;
    submod_status status = SUBMOD_ENOMEM;
    for (long limit = 0; status == SUBMOD_ENOMEM; limit++) {
        int32_t block[N] = {-7}, ends[1] = {0};
        double by[N], t = 3;
        size_t count = 99;
        allocations.left = limit;
        status = submod_prox_blocks(fn, x, 1, u, block, NULL, &count, NULL, NULL, NULL);
        ck_assert(status == SUBMOD_OK || (block[0] == -7 && count == 99));
        if (status == SUBMOD_OK) {
            allocations.left = 0;
            ck_assert_int_eq(
                submod_prox_vjp(
                    &(submod_prox_point){.n = N, .lambda = 1, .block = block, .s = s}, x,
                    &(submod_prox_derivatives){.by_x = by, .by_lambda = &t, .by_modular = by},
                    NULL),
                SUBMOD_ENOMEM);
            ck_assert_int_eq(
                submod_prox_vjp(&(submod_prox_point){.n = N, .lambda = 1, .block = block, .u = u},
                                x,
                                &(submod_prox_derivatives){
                                    .by_edge = by, .edges = 1, .tail = ends, .head = ends},
                                NULL),
                SUBMOD_ENOMEM);
            ck_assert_int_eq(
                submod_prox_vjp(
                    &(submod_prox_point){.n = submod_fn_size(fn), .lambda = 1, .block = block}, x,
                    &(submod_prox_derivatives){.by_function = &t, .function = fn}, NULL),
                SUBMOD_ENOMEM);
            ck_assert(t == 3);
        }
        ck_assert_int_eq(allocations.live, before);
    }
    ck_assert_int_eq(status, SUBMOD_OK);
    allocations.left = -1;
    submod_fn_free(fn);
    submod_fn_free(minor);
    submod_fn_free(large);
    submod_fn_free(jaccard);
    ck_assert_ok(submod_set_allocator(NULL));
}
END_TEST

int main(void)
{
    return RUN_TESTS("derivative", blocks_of_all_families, products_of_all_families,
                     products_by_weights_of_edges, products_by_coefficients,
                     components_of_a_cut_are_apart, ties_of_jaccard,
                     linear_parts_of_a_concave_function, noise_does_not_tear_blocks,
                     what_is_no_prox, refused, memory_runs_out);
}
