/* Minimum, base and prox of cut functions, all from flows: against all subsets and against
 * Fujishige-Wolfe, on graphs of many shapes. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "combinations.h"
#include "depth.h"
#include "submod/flow.h"
#include "support.h"

enum { N = 9, MOST = 60, SHAPES = 8 };

/* Edges of a small graph. */
typedef struct edges {
    size_t m;
    int32_t tail[MOST], head[MOST];
    double weight[MOST];
} edges;

static void join(edges *g, size_t i, size_t j, double weight)
{
    ck_assert_uint_lt(g->m, MOST);
    g->tail[g->m] = (int32_t)i;
    g->head[g->m] = (int32_t)j;
    g->weight[g->m++] = weight;
}

static double random_weight(submod_rng *rng)
{
    return submod_rng_below(rng, 4) ? submod_rng_uniform(rng) : 0; /* some edges weigh nothing */
}

/* 0: any edges, parallel ones and loops among them; 1: star; 2: complete; 3: ring; 4: chain and one
 * edge; 5: two components; 6: grid; 7: no edges. */
static edges make_edges(int shape, submod_rng *rng)
{
    edges g = {.m = 0};
    for (size_t i = 0; i < N; i++) {
        size_t next = (i + 1) % N;
        bool right = i % 3 < 2;
        switch (shape) {
        case 0:
            join(&g, submod_rng_below(rng, N), submod_rng_below(rng, N), random_weight(rng));
            join(&g, submod_rng_below(rng, N), submod_rng_below(rng, N), random_weight(rng));
            break;
        case 1: join(&g, 0, i, random_weight(rng)); break;
        case 2:
            for (size_t j = 0; j < i; j++) {
                join(&g, i, j, random_weight(rng));
            }
            break;
        case 3: join(&g, i, next, random_weight(rng)); break;
        case 4: join(&g, i, next ? next : 3, random_weight(rng)); break;
        case 5: join(&g, i, (i / 4) * 4 + submod_rng_below(rng, i < 8 ? 4 : 1), 1); break;
        case 6:
            if (right) {
                join(&g, i, i + 1, random_weight(rng));
            }
            if (i < 6) {
                join(&g, i, i + 3, random_weight(rng));
            }
            break;
        default: break;
        }
    }
    return g;
}

static submod_fn *make_cut(const edges *g, double scale, int directed)
{
    double weight[MOST];
    submod_fn *fn = NULL;
    for (size_t i = 0; i < g->m; i++) {
        weight[i] = scale * g->weight[i];
    }
    ck_assert_ok(submod_fn_cut(N, g->m, g->tail, g->head, weight, directed, &fn));
    return fn;
}

/* s(A) <= F(A) for all A, with equality for all elements. */
static void check_base(const submod_fn *fn, const double *s, double tolerance)
{
    double *F = subset_values(fn);
    for (uint32_t set = 0; set < 1u << N; set++) {
        double sum = 0;
        for (int i = 0; i < N; i++) {
            sum += set >> i & 1 ? s[i] : 0;
        }
        ck_assert_double_le(sum, F[set] + tolerance);
        if (set == (1u << N) - 1) {
            ck_assert_near(sum, F[set], tolerance);
        }
    }
    free(F);
}

/* Whole and half weights: many minimisers. */
START_TEST(minimisers_and_base)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    int several = 0;
    for (int repeat = 0; repeat < repeats(100 * SHAPES); repeat++) {
        edges g = make_edges(repeat % SHAPES, &rng);
        double w[N], s[N];
        uint8_t small[N], large[N];
        for (size_t i = 0; i < g.m; i++) {
            g.weight[i] = 0.1 * (double)submod_rng_below(&rng, 4);
        }
        for (int i = 0; i < N; i++) {
            w[i] = 0.1 * ((double)submod_rng_below(&rng, 7) - 3);
        }
        submod_fn *cut = make_cut(&g, 1, repeat / SHAPES % 2), *shifted = NULL, *fn = NULL;
        ck_assert_ok(combine_plus(cut, w, &shifted));
        ck_assert_ok(combine_scaled(shifted, 3, &fn));
        submod_sfm_info info;
        ck_assert_ok(submod_sfm(fn, small, large, s, NULL, &info, NULL));
        ck_assert_int_eq(info.method, SUBMOD_SFM_MINIMIZER);
        double *F = subset_values(fn);
        double lowest = 0, dual = 0;
        for (uint32_t set = 0; set < 1u << N; set++) {
            lowest = fmin(lowest, F[set]);
        }
        uint32_t expected[2] = {(1u << N) - 1, 0}, found[2] = {0, 0};
        for (uint32_t set = 0; set < 1u << N; set++) {
            if (F[set] <= lowest + 1e-12) {
                expected[0] &= set;
                expected[1] |= set;
            }
        }
        for (int i = 0; i < N; i++) {
            found[0] |= (uint32_t)small[i] << i;
            found[1] |= (uint32_t)large[i] << i;
            dual += fmin(s[i], 0);
        }
        ck_assert_uint_eq(found[0], expected[0]);
        ck_assert_uint_eq(found[1], expected[1]);
        ck_assert_near(dual, lowest, 1e-12);
        ck_assert_near(info.gap, 0, 1e-12);
        check_base(fn, s, 1e-12);
        several += expected[0] != expected[1];
        free(F);
        submod_fn_free(cut);
        submod_fn_free(shifted);
        submod_fn_free(fn);
    }
    ck_assert_int_ge(several, repeats(100 * SHAPES) / SHAPES);
}
END_TEST

/* The prox of F at x, by flows: its certificate computed from scratch. */
static void check_prox(const submod_fn *fn, const double *x, double lambda, double *u)
{
    submod_prox_settings settings = submod_prox_defaults();
    submod_prox_info info;
    double s[N], value, largest = 0, size = 0;
    settings.method = SUBMOD_PROX_DECOMPOSITION;
    ck_assert_ok(submod_prox(fn, x, lambda, u, s, &settings, &info, NULL));
    ck_assert_ok(submod_lovasz(fn, u, &value, NULL, NULL, SUBMOD_TIES_AVERAGE, NULL));
    double gap = value, primal = value;
    for (int i = 0; i < N; i++) {
        double miss = u[i] - x[i] + s[i] / lambda;
        gap += lambda / 2 * miss * miss - s[i] * u[i];
        primal += lambda / 2 * (u[i] - x[i]) * (u[i] - x[i]);
        size += lambda * x[i] * x[i] + s[i] * s[i] / lambda;
        largest = fmax(largest, fabs(s[i]));
    }
    ck_assert_near(primal, info.primal, 1e-12 * size);
    ck_assert_near(gap, 0, 1e-12 * size);
    ck_assert_near(info.gap, 0, 1e-14 * size);
    check_base(fn, s, 1e-13 * (largest + 1));
}

START_TEST(prox_of_all_shapes)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (int repeat = 0; repeat < repeats(60 * SHAPES); repeat++) {
        edges g = make_edges(repeat % SHAPES, &rng);
        submod_prox_settings wolfe = submod_prox_defaults();
        double x[N], u[N], other[N], lambda = repeat % 3 ? 1 : 0.1;
        for (int i = 0; i < N; i++) { /* ties */
            x[i] = repeat % 5 ? submod_rng_normal(&rng) : (double)submod_rng_below(&rng, 3);
        }
        submod_fn *fn = make_cut(&g, repeat % 7 ? 1 : 0.1, repeat / SHAPES % 2);
        check_prox(fn, x, lambda, u);
        wolfe.method = SUBMOD_PROX_MIN_NORM;
        wolfe.tolerance = 1e-14;
        ck_assert_int_ge(submod_prox(fn, x, lambda, other, NULL, &wolfe, NULL, NULL), 0);
        for (int i = 0; i < N; i++) {
            ck_assert_near(u[i], other[i], 1e-6);
        }
        submod_fn_free(fn);
    }
}
END_TEST

/* Weights far beyond x: u is constant on components. They do not drown what is small. */
START_TEST(huge_weights)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    for (int exponent = 3; exponent <= 300; exponent += 11) {
        for (int shape = 1; shape < 7; shape++) {
            edges g = make_edges(shape, &rng);
            double x[N], u[N];
            int component[N];
            for (int i = 0; i < N; i++) {
                x[i] = submod_rng_normal(&rng);
                component[i] = i;
            }
            for (size_t i = 0; i < g.m; i++) {
                g.weight[i] = g.weight[i] > 0 ? 1 + g.weight[i] : 0;
            }
            for (size_t pass = 0; pass < N; pass++) {
                for (size_t i = 0; i < g.m; i++) {
                    int *a = &component[g.tail[i]], *b = &component[g.head[i]];
                    if (g.weight[i] > 0) {
                        *a = *b = *a < *b ? *a : *b;
                    }
                }
            }
            submod_fn *fn = make_cut(&g, pow(10, exponent), 0);
            submod_prox_info info;
            double s[N];
            ck_assert_ok(submod_prox(fn, x, 1, u, s, NULL, &info, NULL));
            for (int i = 0; i < N; i++) {
                double mean = 0, count = 0;
                for (int j = 0; j < N; j++) {
                    mean += component[j] == component[i] ? x[j] : 0;
                    count += component[j] == component[i];
                }
                ck_assert_near(u[i], mean / count, 1e-12);
                ck_assert_near(s[i], x[i] - u[i], 1e-12);
            }
            submod_fn_free(fn);
        }
    }
}
END_TEST

/* A grid: its edges, 4 neighbours. */
static submod_fn *make_grid(size_t side, double weight)
{
    size_t m = 0;
    int32_t *tail = malloc(2 * side * side * sizeof *tail);
    int32_t *head = malloc(2 * side * side * sizeof *head);
    double *w = malloc(2 * side * side * sizeof *w);
    submod_fn *fn = NULL;
    ck_assert(tail && head && w);
    for (size_t i = 0; i < side * side; i++) {
        for (int down = 0; down < 2; down++) {
            if (down ? i + side < side * side : i % side + 1 < side) {
                tail[m] = (int32_t)i;
                head[m] = (int32_t)(down ? i + side : i + 1);
                w[m++] = weight;
            }
        }
    }
    ck_assert_ok(submod_fn_cut(side * side, m, tail, head, w, 0, &fn));
    free(tail);
    free(head);
    free(w);
    return fn;
}

/* Level sets of the prox are minimisers; u is translated and scaled with x. On a grid where flows
 * go far, so that both methods have a part in it. */
START_TEST(grid_level_sets)
{
    enum { SIDE = 40, SIZE = SIDE * SIDE };
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    const double strengths[] = {0.05, 1, 30};
    for (int k = 0; k < 3; k++) {
        static double x[SIZE], u[SIZE], v[SIZE], z[SIZE];
        static uint8_t small[SIZE], large[SIZE];
        static int32_t all[SIZE];
        submod_prox_info info;
        submod_fn *fn = make_grid(SIDE, strengths[k]);
        for (int i = 0; i < SIZE; i++) {
            x[i] = submod_rng_normal(&rng) + (i % SIDE < SIDE / 2);
            all[i] = i;
        }
        ck_assert_ok(submod_prox(fn, x, 1, u, NULL, NULL, &info, NULL));
        ck_assert_int_eq(info.method, SUBMOD_PROX_DECOMPOSITION);
        ck_assert_near(info.gap, 0, 1e-13 * info.primal);
        for (int repeat = 0; repeat < 10; repeat++) {
            double alpha = repeat ? 2 * submod_rng_uniform(&rng) - 0.5 : u[SIZE / 2];
            for (int i = 0; i < SIZE; i++) {
                z[i] = x[i] - alpha;
            }
            ck_assert_ok(minimize_minor(fn, NULL, 0, all, SIZE, z, 0, small, NULL));
            ck_assert_ok(minimize_minor(fn, NULL, 0, all, SIZE, z, 1, large, NULL));
            for (int i = 0; i < SIZE; i++) { /* up to rounding of alpha */
                ck_assert(u[i] > alpha + 1e-9 ? small[i] : 1);
                ck_assert(u[i] < alpha - 1e-9 ? !large[i] : 1);
                ck_assert(!small[i] || large[i]);
            }
        }
        for (int i = 0; i < SIZE; i++) {
            z[i] = x[i] + 3;
        }
        ck_assert_ok(submod_prox(fn, z, 1, v, NULL, NULL, NULL, NULL));
        for (int i = 0; i < SIZE; i++) {
            ck_assert_near(v[i], u[i] + 3, 1e-11);
        }
        submod_fn_free(fn);
    }
}
END_TEST

/* What a search that ends early returns is a base, and its gap is true. */
START_TEST(ends_early)
{
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    edges g = make_edges(6, &rng);
    submod_fn *fn = make_cut(&g, 1, 0);
    submod_prox_settings settings = submod_prox_defaults();
    submod_prox_info info;
    double x[N], u[N], s[N], value;
    for (int i = 0; i < N; i++) {
        x[i] = submod_rng_normal(&rng);
    }
    settings.method = SUBMOD_PROX_DECOMPOSITION;
    settings.time_limit = 1e-12;
    ck_assert_int_eq(submod_prox(fn, x, 1, u, s, &settings, &info, NULL), SUBMOD_TIMELIMIT);
    ck_assert_ok(submod_lovasz(fn, u, &value, NULL, NULL, SUBMOD_TIES_AVERAGE, NULL));
    double gap = value;
    for (int i = 0; i < N; i++) {
        double miss = u[i] - x[i] + s[i];
        gap += miss * miss / 2 - s[i] * u[i];
    }
    check_base(fn, s, 1e-13);
    ck_assert_double_gt(info.gap, 0);
    ck_assert_near(info.gap, gap, 1e-12);
    submod_fn_free(fn);
}
END_TEST

int main(void)
{
    return RUN_TESTS("cut", minimisers_and_base, prox_of_all_shapes, huge_weights, grid_level_sets,
                     ends_early);
}
