/* Proximal operators. Every method runs on every family that it can handle; its results are checked
 * against the conditions of optimality over all subsets. Then come the laws that any prox obeys,
 * and limits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/internal.h"
#include "combinations.h"
#include "depth.h"
#include "support.h"

enum { N = 9 };

/* Fills x: plain, with many ties, or all equal. */
static void draw(submod_rng *rng, double *x, size_t n, int kind)
{
    random_vector(rng, x, n, kind == 1);
    for (size_t i = 0; kind == 2 && i < n; i++) {
        x[i] = x[0];
    }
}

/* u and s are the pair for (F, x, lambda) iff s in B(F), u = x - s / lambda and f(u) = <s, u>; with
 * hinge: s >= 0, s(A) <= F(A) for all A, and f(max(u, 0)) = <s, u>. All over 2^n subsets. */
static void check_pair(const double *F, size_t n, const double *x, double lambda, const double *u,
                       const double *s, int hinge)
{
    double v[20], product = 0, total = 0;
    double scale = value_scale(F, n);
    for (size_t i = 0; i < n; i++) {
        v[i] = hinge ? fmax(u[i], 0) : u[i];
        product += s[i] * u[i];
        total += s[i];
        ck_assert_near(u[i], x[i] - s[i] / lambda, 1e-12 * (fabs(x[i]) + fabs(s[i]) / lambda));
        ck_assert(!hinge || s[i] >= 0);
    }
    ck_assert(worst_excess(F, n, s) <= 1e-12 * scale + 1e-15 * lambda * max_abs(x, n));
    ck_assert(hinge || fabs(total - (F[(1u << n) - 1] - F[0])) <= 1e-12 * scale);
    ck_assert_near(choquet(F, n, v), product, 1e-12 * scale * fmax(1, max_abs(u, n)));
}

/* Whether method m has to be able to do this family: what function.h and prox.h promise. */
static int expected(submod_prox_method m, const char *name)
{
    static const char *const cardinality[] = {"hamming", "modular", "cardinality", "sqrt",
                                              "log1p",   "iwata",   "truncation"};
    static const char *const others[] = {"directed cut",
                                         "undirected cut",
                                         "restricted cut",
                                         "scale",
                                         "add_modular",
                                         "restricted jaccard",
                                         "contracted jaccard",
                                         "jaccard",
                                         "jaccard, no foreground",
                                         "jaccard, all foreground"};
    int is_cardinality = 0, is_other = 0;
    for (size_t i = 0; i < sizeof cardinality / sizeof *cardinality; i++) {
        is_cardinality |= strcmp(name, cardinality[i]) == 0;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        is_other |= strcmp(name, others[i]) == 0;
    }
    switch (m) {
    case SUBMOD_PROX_CLOSED_FORM:
        return strcmp(name, "hamming") == 0 || strcmp(name, "modular") == 0;
    case SUBMOD_PROX_CARDINALITY: return is_cardinality;
    case SUBMOD_PROX_DECOMPOSITION: return is_cardinality || is_other;
    default: return 0; /* tested where they are at home */
    }
}

/* Exact to rounding, or to the tolerance asked for. */
static int is_exact(submod_prox_method m)
{
    return m != SUBMOD_PROX_ALGORITHM_2 && m != SUBMOD_PROX_MIN_NORM;
}

/* Runs one method; 0 if it cannot do the function and need not. */
static int run(const submod_fn *fn, const char *name, submod_prox_method method, const double *x,
               double lambda, double *u, double *s, submod_prox_info *info)
{
    submod_prox_settings settings = submod_prox_defaults();
    settings.method = method;
    settings.tolerance = 1e-13;
    settings.max_iterations = is_exact(method) ? 0 : 2000;
    submod_status status = submod_prox(fn, x, lambda, u, s, &settings, info, NULL);
    if (status == SUBMOD_EUNSUPPORTED) {
        ck_assert_msg(!expected(method, name), "%s: %s", name, submod_last_error());
        return 0;
    }
    ck_assert_msg(status >= 0, "%s, method %d: %s", name, (int)method, submod_last_error());
    ck_assert_msg(!is_exact(method) || status == SUBMOD_OK, "%s, method %d: status %d, gap %g",
                  name, (int)method, (int)status, info->gap);
    ck_assert(method == SUBMOD_PROX_AUTO || info->method == method);
    return 1;
}

/* Every method and family; those that are exact agree with all subsets, the others may not claim a
 * point that is nearer than their gap allows. */
START_TEST(all_methods_all_families)
{
    const double lambdas[] = {1, 0.05, 30};
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    int proved = 0;
    for (size_t i = 0; i < family_count; i++) {
        for (int repeat = 0; repeat < repeats(30); repeat++) {
            size_t n = 2 + submod_rng_below(&rng, N - 1);
            submod_fn *fn = families[i].make(n, &rng);
            double *F = subset_values(fn);
            double x[N], lambda = lambdas[repeat % 3], best[N];
            int solved = 0;
            draw(&rng, x, n, repeat % 4);
            for (int m = SUBMOD_PROX_CLOSED_FORM; m <= SUBMOD_PROX_ALGORITHM_2; m++) {
                double u[N], s[N];
                submod_prox_info info;
                if (!run(fn, families[i].name, (submod_prox_method)m, x, lambda, u, s, &info)) {
                    continue;
                }
                if (is_exact(info.method)) {
                    check_pair(F, n, x, lambda, u, s, 0);
                    proved++;
                }
                double size = value_scale(F, n) / lambda + max_abs(x, n), distance = 0;
                for (size_t e = 0; solved && e < n; e++) {
                    distance += (u[e] - best[e]) * (u[e] - best[e]);
                }
                double rounding = 1e-20 * size * size;
                double proved_by_gap = 2 * fmax(info.gap, 0) / lambda * (1 + 1e-12);
                if (m == SUBMOD_PROX_MIN_NORM || is_exact(info.method)) {
                    ck_assert_msg(distance <= rounding, "%s, method %d: %g", families[i].name, m,
                                  sqrt(distance) / size);
                } else {
                    ck_assert_msg(distance <= proved_by_gap + rounding, "%s, method %d: %g > %g",
                                  families[i].name, m, distance, proved_by_gap);
                }
                if (!solved && is_exact(info.method)) {
                    memcpy(best, u, sizeof best);
                    solved = 1;
                }
            }
            free(F);
            submod_fn_free(fn);
        }
    }
    ck_assert_int_ge(proved, 20 * repeats(30));
}
END_TEST

/* info: primal, dual and gap by their definitions, from the u and s that were returned. */
START_TEST(info_is_what_was_returned)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (size_t i = 0; i < family_count; i++) {
        submod_fn *fn = families[i].make(N, &rng);
        double *F = subset_values(fn);
        double x[N], u[N], s[N], lambda = 0.7;
        submod_prox_info info;
        draw(&rng, x, N, 0);
        if (run(fn, families[i].name, SUBMOD_PROX_AUTO, x, lambda, u, s, &info)) {
            double primal = choquet(F, N, u), dual = 0;
            for (size_t e = 0; e < N; e++) {
                primal += lambda / 2 * (u[e] - x[e]) * (u[e] - x[e]);
                dual += s[e] * x[e] - s[e] * s[e] / (2 * lambda);
            }
            double scale = value_scale(F, N) * fmax(1, value_scale(F, N) / lambda);
            ck_assert_near(info.primal, primal, 1e-12 * scale);
            ck_assert_near(info.dual, dual, 1e-12 * scale);
            ck_assert_near(info.gap, primal - dual, 1e-12 * scale);
            ck_assert(info.seconds >= 0);
            if (info.method == SUBMOD_PROX_CLOSED_FORM || info.method == SUBMOD_PROX_CARDINALITY) {
                ck_assert_uint_eq(info.oracle_calls, 1); /* one chain says it all */
            }
        }
        free(F);
        submod_fn_free(fn);
    }
}
END_TEST

/* Stops Wolfe's method after one cycle from a random base, far from the optimum. Its gap, with and
 * without the hinge, is that of the definitions. */
START_TEST(gap_of_an_early_end)
{
    submod_rng rng;
    submod_rng_seed(&rng, 15);
    size_t early = 0;
    for (size_t i = 0; i < family_count; i++) {
        for (int hinged = 0; hinged <= families[i].monotone; hinged++) {
            submod_fn *fn = families[i].make(N, &rng);
            double *F = subset_values(fn);
            double x[N], u[N], v[N], s[N], weights[4] = {1, 2, 3, 4}, lambda = 0.6, dual = 0;
            int32_t orders[4 * N];
            submod_combination start = {N, 4, orders, weights};
            submod_prox_settings settings = submod_prox_defaults();
            submod_prox_info info;
            settings.hinge = hinged;
            settings.method = SUBMOD_PROX_MIN_NORM;
            settings.max_iterations = 1;
            settings.start = &start;
            for (size_t k = 0; k < 4; k++) {
                random_vector(&rng, x, N, 0);
                ck_assert_ok(
                    submod_lovasz(fn, x, NULL, NULL, orders + k * N, SUBMOD_TIES_INDEX, NULL));
            }
            random_vector(&rng, x, N, 0);
            submod_status status = submod_prox(fn, x, lambda, u, s, &settings, &info, NULL);
            ck_assert_msg(status >= 0, "%s: %s", families[i].name, submod_last_error());
            early += status == SUBMOD_MAXITER;
            for (size_t e = 0; e < N; e++) {
                v[e] = hinged ? fmax(u[e], 0) : u[e];
            }
            double primal = choquet(F, N, v);
            for (size_t e = 0; e < N; e++) {
                primal += lambda / 2 * (u[e] - x[e]) * (u[e] - x[e]);
                dual += s[e] * x[e] - s[e] * s[e] / (2 * lambda);
            }
            double scale = value_scale(F, N) * value_scale(F, N);
            ck_assert_near(info.primal, primal, 1e-12 * scale);
            ck_assert_near(info.dual, dual, 1e-12 * scale);
            ck_assert_near(info.gap, primal - dual, 1e-12 * scale);
            ck_assert(info.gap > -1e-12 * scale);
            free(F);
            submod_fn_free(fn);
        }
    }
    ck_assert_uint_gt(early, family_count / 4);
}
END_TEST

/* The prox at x by AUTO. */
static void prox(const submod_fn *fn, const double *x, double lambda, double *u, double *s)
{
    submod_status status = submod_prox(fn, x, lambda, u, s, NULL, NULL, NULL);
    ck_assert_msg(status == SUBMOD_OK, "%s: %d, %s", submod_fn_name(fn), (int)status,
                  submod_last_error());
}

/* Functions that can be done exactly. */
static submod_fn *exact_instance(size_t n, submod_rng *rng)
{
    for (;;) {
        const family *f = &families[submod_rng_below(rng, family_count)];
        if (expected(SUBMOD_PROX_DECOMPOSITION, f->name)) {
            return f->make(n, rng);
        }
    }
}

/* |prox x - prox y| <= |x - y| in the 2-norm and in the max norm. */
START_TEST(nonexpansive)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    for (int repeat = 0; repeat < repeats(500); repeat++) {
        enum { SIZE = 30 };
        submod_fn *fn = exact_instance(SIZE, &rng);
        double x[SIZE], y[SIZE], u[SIZE], v[SIZE], s[SIZE];
        double square = 0, square_u = 0, most = 0, most_u = 0;
        double reach = pow(10, -3 * submod_rng_uniform(&rng));
        draw(&rng, x, SIZE, repeat % 2);
        for (size_t e = 0; e < SIZE; e++) {
            y[e] = x[e] + reach * submod_rng_normal(&rng);
        }
        prox(fn, x, 0.5, u, s);
        prox(fn, y, 0.5, v, s);
        for (size_t e = 0; e < SIZE; e++) {
            square += (x[e] - y[e]) * (x[e] - y[e]);
            square_u += (u[e] - v[e]) * (u[e] - v[e]);
            most = fmax(most, fabs(x[e] - y[e]));
            most_u = fmax(most_u, fabs(u[e] - v[e]));
        }
        ck_assert(sqrt(square_u) <= sqrt(square) + 1e-10);
        ck_assert(most_u <= most + 1e-10);
        submod_fn_free(fn);
    }
}
END_TEST

/* prox of f at x + c 1: f gains c F(V), u moves by c. prox of c f (lambda c) = prox of f (lambda).
 * prox of f + w at x = prox of f at x - w / lambda. */
START_TEST(translation_and_scaling)
{
    enum { SIZE = 25 };
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    for (int repeat = 0; repeat < repeats(200); repeat++) {
        submod_fn *fn = exact_instance(SIZE, &rng), *scaled = NULL, *shifted = NULL;
        double x[SIZE], y[SIZE], w[SIZE], u[SIZE], v[SIZE], s[SIZE], lambda = 0.8, c = 3.25;
        draw(&rng, x, SIZE, repeat % 2);
        random_vector(&rng, w, SIZE, 0);
        prox(fn, x, lambda, u, s);
        double tolerance = 1e-11 * (1 + max_abs(u, SIZE));
        for (size_t e = 0; e < SIZE; e++) {
            y[e] = x[e] + c;
        }
        prox(fn, y, lambda, v, s);
        for (size_t e = 0; e < SIZE; e++) {
            ck_assert_near(v[e], u[e] + c, tolerance);
        }
        ck_assert_ok(combine_scaled(fn, c, &scaled));
        prox(scaled, x, c * lambda, v, s);
        for (size_t e = 0; e < SIZE; e++) {
            ck_assert_near(v[e], u[e], tolerance);
            y[e] = x[e] + w[e] / lambda;
        }
        ck_assert_ok(combine_plus(fn, w, &shifted));
        prox(shifted, y, lambda, v, s);
        for (size_t e = 0; e < SIZE; e++) {
            ck_assert_near(v[e], u[e], tolerance);
        }
        submod_fn_free(fn);
        submod_fn_free(scaled);
        submod_fn_free(shifted);
    }
}
END_TEST

/* Moreau: f is the support function of B(F), so x = prox of f + projection on B(F) (lambda = 1),
 * and the projection of a projection is itself. */
START_TEST(moreau)
{
    enum { SIZE = 25 };
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    for (int repeat = 0; repeat < repeats(200); repeat++) {
        submod_fn *fn = exact_instance(SIZE, &rng);
        double x[SIZE], u[SIZE], s[SIZE], again[SIZE], zero[SIZE], product = 0, norm = 0;
        draw(&rng, x, SIZE, repeat % 2);
        prox(fn, x, 1, u, s);
        prox(fn, s, 1, zero, again);
        double tolerance = 1e-10 * (1 + max_abs(s, SIZE));
        for (size_t e = 0; e < SIZE; e++) {
            ck_assert_near(u[e] + s[e], x[e], tolerance);
            ck_assert_near(again[e], s[e], tolerance);
            ck_assert_near(zero[e], 0, tolerance);
            product += u[e] * s[e];
            norm += fabs(u[e] * s[e]);
        }
        double value;
        ck_assert_ok(submod_lovasz(fn, u, &value, NULL, NULL, SUBMOD_TIES_AVERAGE, NULL));
        ck_assert_near(value, product, 1e-10 * (1 + norm));
        submod_fn_free(fn);
    }
}
END_TEST

/* lambda -> infinity: u -> x, and s stays a base: it does not cancel. lambda -> 0: lambda u ->
 * minus the point of B(F) of least norm. */
START_TEST(limits_of_lambda)
{
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    for (int repeat = 0; repeat < repeats(300); repeat++) {
        submod_fn *fn = exact_instance(N, &rng);
        double *F = subset_values(fn);
        double x[N], zero[N] = {0}, u[N], s[N], least[N];
        double tolerance = 1e-12 * value_scale(F, N);
        draw(&rng, x, N, repeat % 3);
        prox(fn, x, 1e14, u, s);
        ck_assert(worst_excess(F, N, s) <= tolerance);
        for (size_t e = 0; e < N; e++) {
            ck_assert_near(u[e], x[e], 1e-13 * value_scale(F, N) + 1e-15 * fabs(x[e]));
        }
        ck_assert_near(choquet(F, N, u), choquet(F, N, x), 1e-10 * value_scale(F, N));
        prox(fn, zero, 1, u, least);
        prox(fn, x, 1e-14, u, s);
        ck_assert(worst_excess(F, N, s) <= tolerance);
        for (size_t e = 0; e < N; e++) {
            ck_assert_near(s[e], least[e], 1e-11 * value_scale(F, N));
        }
        free(F);
        submod_fn_free(fn);
    }
}
END_TEST

START_TEST(one_element)
{
    submod_fn *fn[3] = {NULL};
    ck_assert_ok(
        submod_fn_concave(1, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn[0]));
    ck_assert_ok(submod_fn_cut(1, 0, NULL, NULL, NULL, 0, &fn[1]));
    ck_assert_ok(submod_fn_modular(1, (double[]){-2}, &fn[2]));
    const double gain[3] = {1, 0, -2};
    for (int i = 0; i < 3; i++) {
        double u, s;
        prox(fn[i], (double[]){3}, 2, &u, &s);
        ck_assert_near(s, gain[i], 0);
        ck_assert_near(u, 3 - gain[i] / 2, 0);
        submod_fn_free(fn[i]);
    }
}
END_TEST

/* f(max(u, 0)) for every monotone family, by the conditions over all subsets. */
START_TEST(hinge)
{
    submod_rng rng;
    submod_rng_seed(&rng, 7);
    int proved = 0;
    for (size_t i = 0; i < family_count; i++) {
        for (int repeat = 0; families[i].monotone && repeat < repeats(40); repeat++) {
            submod_fn *fn = families[i].make(N, &rng);
            double *F = subset_values(fn);
            double x[N], u[N], s[N], lambda = repeat % 2 ? 0.1 : 3;
            submod_prox_settings settings = submod_prox_defaults();
            submod_prox_info info;
            settings.hinge = 1;
            settings.tolerance = 1e-13;
            draw(&rng, x, N, repeat % 3);
            submod_status status = submod_prox(fn, x, lambda, u, s, &settings, &info, NULL);
            ck_assert(status == SUBMOD_OK || status == SUBMOD_EUNSUPPORTED ||
                      !is_exact(info.method));
            if (status == SUBMOD_OK && is_exact(info.method)) {
                check_pair(F, N, x, lambda, u, s, 1);
                ck_assert_near(info.gap, 0, 1e-12 * value_scale(F, N) * (1 + max_abs(u, N)));
                proved++;
            }
            free(F);
            submod_fn_free(fn);
        }
    }
    ck_assert_int_ge(proved, 5 * repeats(40));
}
END_TEST

START_TEST(hinge_of_a_function_that_is_not_monotone)
{
    submod_fn *fn = NULL;
    submod_prox_settings settings = submod_prox_defaults();
    double u[2];
    submod_combination c = {0};
    settings.hinge = 1;
    settings.combination = &c;
    ck_assert_ok(submod_fn_modular(2, (double[]){1, -1}, &fn));
    for (int m = SUBMOD_PROX_AUTO; m <= SUBMOD_PROX_MIN_NORM; m += SUBMOD_PROX_MIN_NORM) {
        settings.method = (submod_prox_method)m;
        ck_assert_int_eq(submod_prox(fn, (double[]){1, 2}, 1, u, NULL, &settings, NULL, NULL),
                         SUBMOD_EINVAL);
        ck_assert_ptr_nonnull(strstr(submod_last_error(), "monotone"));
        ck_assert(!c.n && !c.count && !c.orders && !c.weights);
    }
    submod_fn_free(fn);
}
END_TEST

/* A sum is modular or of the cardinality if all of its terms are, whatever their order. */
START_TEST(sums_of_different_kinds)
{
    submod_rng rng;
    submod_rng_seed(&rng, 31);
    for (size_t a = 0; a < family_count; a++) {
        for (size_t b = a % (size_t)each(4); b < family_count; b += (size_t)each(4)) {
            submod_fn *const f[2] = {families[a].make(N, &rng), families[b].make(N, &rng)};
            submod_fn *sum = NULL;
            double x[N], u[N], s[N];
            ck_assert_ok(combine_sum(f, NULL, 2, &sum));
            double *F = subset_values(sum);
            draw(&rng, x, N, 0);
            prox(sum, x, 0.5, u, s);
            double scale = value_scale(F, N), gap = choquet(F, N, u);
            for (size_t i = 0; i < N; i++) {
                gap += 0.25 * (u[i] - x[i]) * (u[i] - x[i]) - s[i] * (x[i] - s[i]);
            }
            ck_assert(worst_excess(F, N, s) <= 1e-12 * scale); /* a base, which bounds the rest */
            ck_assert(gap <= 1e-8 * scale * fmax(1, max_abs(x, N)));
            free(F);
            submod_fn_free(f[0]);
            submod_fn_free(f[1]);
            submod_fn_free(sum);
        }
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("prox", all_methods_all_families, gap_of_an_early_end,
                     info_is_what_was_returned, nonexpansive, translation_and_scaling, moreau,
                     limits_of_lambda, one_element, hinge, hinge_of_a_function_that_is_not_monotone,
                     sums_of_different_kinds);
}
