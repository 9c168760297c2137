/* Fujishige-Wolfe: optimality checked by independent means, and hard inputs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "combinations.h"
#include "prox/min_norm.h"
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
    submod_combination c = {0};
    size_t minor = 0;
    for (int repeat = 0; repeat < 6; repeat++) {
        submod_fn *fn = random_cut(LARGE, 300, &rng);
        double x[LARGE], u[LARGE], s[LARGE];
        submod_prox_settings settings = by(SUBMOD_PROX_MIN_NORM);
        submod_prox_info cold, warm;
        submod_certificate_report report;
        settings.start = &c;
        settings.combination = &c;
        random_vector(&rng, x, LARGE, repeat % 2);
        submod_combination_free(&c);
        ck_assert_ok(submod_prox(fn, x, 0.5, u, s, &settings, &cold, NULL));
        ck_assert_ok(submod_certificate_check(fn, x, 0.5, u, s, &c, &report));
        ck_assert(report.base_error <= 1e-12 && report.gap <= 1.1e-10 * (cold.primal + 100));
        minor += cold.minor_cycles;
        for (size_t i = 0; i < LARGE; i++) {
            x[i] += 1e-6 * submod_rng_normal(&rng);
        }
        ck_assert_ok(submod_prox(fn, x, 0.5, u, s, &settings, &warm, NULL));
        ck_assert_ok(submod_certificate_check(fn, x, 0.5, u, s, &c, &report));
        ck_assert(report.base_error <= 1e-12 && report.gap <= 1.1e-10 * (warm.primal + 100));
        ck_assert_uint_lt(2 * warm.iterations, cold.iterations + 2);
        submod_fn_free(fn);
    }
    ck_assert_uint_gt(minor, 20);
    submod_combination_free(&c);
}
END_TEST

/* A combination of another size, or with doubled and dependent orders, is no obstacle. */
START_TEST(odd_warm_starts)
{
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    submod_combination c = {0};
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
            settings.start = &(submod_combination){n, COUNT, orders, weights};
            settings.combination = &c;
            ck_assert_int_ge(submod_prox(fn, x, 2, u, NULL, &settings, &info, NULL), 0);
            ck_assert_uint_eq(c.n, N);
            for (size_t i = 0; i < N; i++) {
                ck_assert_near(u[i], v[i], 1e-5);
            }
            submod_fn_free(fn);
        }
    }
    submod_combination_free(&c);
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
            ck_assert_ok(combine_scaled(fn, factors[k], &scaled));
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
        ck_assert_ok(submod_lovasz(fn, x, NULL, g, NULL, SUBMOD_TIES_AVERAGE, NULL));
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
    ck_assert_ok(combine_scaled(cut, 1e-3, &small));
    ck_assert_ok(combine_plus(small, far, &moved));
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

/* In units of lambda x all of F is 0, and 0 is no base. */
START_TEST(gains_far_below_lambda_x)
{
    double x[N], u[N], s[N] = {7};
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    submod_fn *plain = family_named("coverage")->make(N, &rng), *fn = NULL;
    random_vector(&rng, x, N, 0);
    ck_assert_ok(combine_scaled(plain, 1e-300, &fn));
    submod_prox_settings settings = submod_prox_defaults();
    settings.method = SUBMOD_PROX_MIN_NORM;
    assert_error(submod_prox(fn, x, 1e48, u, s, &settings, NULL, NULL), SUBMOD_ENUMERIC,
                 "lambda x is too large for the gains of F");
    ck_assert(s[0] == 7);
    submod_fn_free(plain);
    submod_fn_free(fn);
}
END_TEST

/* ---- functions that are not submodular ---- */

/* |A|^2 is supermodular, and so is the product below; |A| mod 2 is neither; the last is rugged. */
static submod_status not_submodular(const void *ctx, const int32_t *set, size_t k, double *value)
{
    int kind = *(const int *)ctx;
    double sum = 0, noise = 0;
    for (size_t i = 0; i < k; i++) {
        sum += 1 + set[i];
        noise += sin(100.0 * (set[i] + 1) * (double)k);
    }
    *value = kind == 0   ? (double)(k * k)
             : kind == 1 ? sum * sum
             : kind == 2 ? (double)(k % 2) * sum
                         : (double)(k * k) + noise;
    return SUBMOD_OK;
}

/* A fixed point of the greedy rule looks optimal to a method that sees chains alone; most runs end
 * otherwise. All of them end, primal is that of u, and success comes with a small gap. */
START_TEST(not_submodular_ends)
{
    int noticed = 0;
    submod_rng rng;
    submod_rng_seed(&rng, 9);
    for (size_t n = 1; n <= 30; n++) {
        for (int kind = 0; kind < 4; kind++) {
            submod_fn_ops ops = {.eval = not_submodular};
            submod_fn *fn = NULL;
            double x[30], u[30], s[30], f, size = 0, lambda = kind == 3 ? 0.1 : 2;
            submod_prox_settings settings = by(SUBMOD_PROX_MIN_NORM);
            submod_prox_info info;
            settings.max_iterations = 1000;
            random_vector(&rng, x, n, n % 2);
            ck_assert_ok(submod_fn_custom(n, &ops, &kind, &fn));
            int status = submod_prox(fn, x, lambda, u, s, &settings, &info, NULL);
            ck_assert(status >= 0 && isfinite(info.gap));
            ck_assert_ok(submod_lovasz(fn, u, &f, NULL, NULL, SUBMOD_TIES_AVERAGE, NULL));
            for (size_t i = 0; i < n; i++) {
                f += lambda / 2 * (u[i] - x[i]) * (u[i] - x[i]);
                size += lambda * x[i] * x[i] + s[i] * s[i] / lambda;
            }
            ck_assert_near(info.primal, f, 1e-9 * (1 + fabs(f)));
            ck_assert(status != SUBMOD_OK || fabs(info.gap) <= 1e-9 * (1 + size));
            noticed += status == SUBMOD_INACCURATE || status == SUBMOD_MAXITER;
            submod_fn_free(fn);
        }
    }
    ck_assert_int_ge(noticed, 60);
}
END_TEST

enum { D = 12, POINTS = 60 };

/* Points with offsets, and y. */
typedef struct hull {
    double point[POINTS][D], offset[POINTS], y[D];
} hull;

/* The rate at which the objective grows with the weight of point j when the present point is s. */
static double rate(const hull *h, size_t j, const double *s)
{
    double sum = h->offset[j];
    for (size_t i = 0; i < D; i++) {
        sum += h->point[j][i] * (h->y[i] - s[i]);
    }
    return sum;
}

/* Adds all points, each in the direction in which the objective grows, in which case the corral
 * must take it. Each settle ends at the best point of the corral's affine hull, inside its convex
 * hull, and higher than before. */
static void add_all(hull *h, submod_work *work, double *s)
{
    submodi_corral c;
    double highest = -INFINITY;
    size_t removed = 0;
    const submodi_candidate first = {.point = h->point[0], .scale = 1};
    ck_assert_ok(submodi_corral_init(&c, D, h->y, &first, work));
    for (size_t j = 0; j < POINTS; j++) {
        bool added;
        double mean = c.mean_offset;
        for (size_t i = 0; i < D; i++) {
            mean += c.t[i] * c.s[i];
        }
        if (j && rate(h, j, c.s) <= mean + 1e-9) {
            continue;
        }
        submodi_candidate new = {
            .point = h->point[j], .scale = 1, .offset = h->offset[j], .tag = j};
        size_t before = c.count;
        ck_assert_ok(submodi_corral_add(&c, &new, j == 0, &added));
        ck_assert(added);
        double growth = submodi_corral_settle(&c);
        removed += before + 1 - c.count;
        double sum = 0, objective = 0, combined[D] = {0};
        for (size_t k = 0; k < c.count; k++) {
            size_t tag = c.points[k].tag;
            ck_assert(c.weights[k] > 0 || c.count == 1);
            ck_assert_near(rate(h, tag, c.s), rate(h, c.points[0].tag, c.s), 1e-9);
            sum += c.weights[k];
            objective += c.weights[k] * h->offset[tag];
            for (size_t i = 0; i < D; i++) {
                combined[i] += c.weights[k] * h->point[tag][i];
            }
        }
        ck_assert_near(sum, 1, 1e-14);
        for (size_t i = 0; i < D; i++) {
            ck_assert_near(c.s[i], combined[i], 1e-12);
            objective -= (h->y[i] - c.s[i]) * (h->y[i] - c.s[i]) / 2;
        }
        ck_assert(objective > highest - 1e-12);
        ck_assert(j == 0 || fabs(2 * (objective - highest) - growth) < 1e-10);
        highest = objective;
    }
    memcpy(s, c.s, D * sizeof *s);
    ck_assert_uint_gt(removed, 0);
}

/* The factor stays that of the points through many additions and removals; and the bits do not
 * depend on the number of threads. */
START_TEST(corral)
{
    submod_rng rng;
    submod_rng_seed(&rng, 12);
    submodi_set_parallel_from(1);
    for (int repeat = 0; repeat < 100; repeat++) {
        hull h;
        double s[2][D];
        for (size_t j = 0; j < POINTS; j++) {
            random_vector(&rng, h.point[j], D, 0);
            h.offset[j] = repeat % 2 ? submod_rng_normal(&rng) : 0;
        }
        random_vector(&rng, h.y, D, 0);
        for (size_t i = 0; i < D; i++) {
            h.y[i] *= 0.1; /* often in the interior of the hull, so that many points leave */
        }
        for (int k = 0; k < 2; k++) {
            submodi_scope scope;
            submod_work *work = submodi_scope_open(&scope, NULL);
            ck_assert_ok(submod_set_num_threads(1 + 2 * k));
            add_all(&h, work, s[k]);
            submodi_scope_close(&scope);
        }
        ck_assert_mem_eq(s[0], s[1], sizeof s[0]);
    }
    submodi_set_parallel_from(0);
    ck_assert_ok(submod_set_num_threads(0));
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

CHAIN_OF_PUSHES(root_chain, root_push)

START_TEST(base_is_not_pushed_by_chains)
{
    submod_fn_ops ops = {
        .eval = root_eval, .state_size = sizeof(double), .reset = root_reset, .chain = root_chain};
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
                     odd_warm_starts, scales, constants, extreme_lambda, awkward_places,
                     gains_far_below_lambda_x, not_submodular_ends, corral,
                     base_is_not_pushed_by_chains);
}
