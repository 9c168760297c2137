/* The greedy path against two references: Algorithm 2 followed step by step, O(p^2), and the exact
 * prox. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { MOST = 40 };

/* Algorithm 2 with its signs repaired, step by step: entries in sorted order, constraints as group
 * numbers. Every line recomputes all it needs. hinge: the zero threshold constraint is on. */
typedef struct path {
    size_t n;
    double v0[MOST], v[MOST], g[MOST];
    size_t group[MOST]; /* equal numbers: one constraint of E */
    bool zero[MOST];    /* in c_z */
} path;

/* Line 9. */
static void project(const path *p, double *g)
{
    for (size_t i = 0; i < p->n; i++) {
        double sum = 0, count = 0;
        bool zero = false;
        for (size_t j = 0; j < p->n; j++) {
            if (p->group[j] == p->group[i]) {
                sum += p->g[j];
                count++;
                zero = zero || p->zero[j];
            }
        }
        g[i] = zero ? 0 : sum / count;
    }
}

/* Line 10: the time until two neighbours meet or an entry reaches 0; where. */
static double next_edge(const path *p, const double *g, bool hinge, size_t *at, bool *is_zero)
{
    double soonest = INFINITY;
    for (size_t i = 0; i < p->n; i++) {
        if (i + 1 < p->n && p->group[i] != p->group[i + 1] && g[i] > g[i + 1]) {
            double t = (p->v[i] - p->v[i + 1]) / (g[i] - g[i + 1]);
            if (t < soonest) {
                soonest = t;
                *at = i;
                *is_zero = false;
            }
        }
        if (hinge && !p->zero[i] && g[i] > 0 && p->v[i] / g[i] < soonest) {
            soonest = p->v[i] / g[i];
            *at = i;
            *is_zero = true;
        }
    }
    return soonest;
}

static void join(path *p, size_t i)
{
    size_t old = p->group[i + 1];
    for (size_t j = 0; j < p->n; j++) {
        p->group[j] = p->group[j] == old ? p->group[i] : p->group[j];
    }
}

/* Lines 2 to 15. */
static void follow(path *p, double lambda, bool hinge)
{
    for (size_t i = 0; i < p->n; i++) {
        p->v[i] = p->v0[i];
        p->group[i] = i && p->v0[i] == p->v0[i - 1] ? p->group[i - 1] : i;
        p->zero[i] = hinge && p->v0[i] <= 0;
    }
    for (;;) {
        double g[MOST], dot = 0, norm = 0;
        project(p, g);
        for (size_t i = 0; i < p->n; i++) {
            dot += (p->v[i] - p->v0[i]) * g[i];
            norm += g[i] * g[i];
        }
        if (norm == 0) {
            return;
        }
        size_t at = 0;
        bool is_zero = false;
        double time = next_edge(p, g, hinge, &at, &is_zero);
        double stop = 1 / lambda + dot / norm;
        double t = stop < time ? stop : time;
        for (size_t i = 0; i < p->n; i++) {
            p->v[i] -= t * g[i];
        }
        if (stop < time) {
            return;
        }
        if (is_zero) {
            for (size_t j = 0; j < p->n; j++) {
                if (p->group[j] == p->group[at]) {
                    p->zero[j] = true;
                    p->v[j] = 0;
                }
            }
        } else {
            join(p, at);
        }
    }
}

static void slow(const submod_fn *fn, const double *x, double lambda, bool hinge, double *u)
{
    path p = {.n = submod_fn_size(fn)};
    int32_t order[MOST];
    submod_lovasz_settings vertex = submod_lovasz_defaults();
    vertex.ties = SUBMOD_TIES_INDEX;
    double g[MOST];
    ck_assert_ok(submod_lovasz(fn, x, NULL, g, order, &vertex, NULL));
    for (size_t i = 0; i < p.n; i++) {
        p.v0[i] = x[order[i]];
        p.g[i] = g[order[i]];
    }
    follow(&p, lambda, hinge);
    for (size_t i = 0; i < p.n; i++) {
        u[order[i]] = p.v[i];
    }
}

static submod_prox_settings by(submod_prox_method method, int hinge)
{
    submod_prox_settings s = submod_prox_defaults();
    s.method = method;
    s.hinge = hinge;
    return s;
}

/* Positive status: the gap of a method that is not exact. */
static submod_prox_info run(const submod_fn *fn, const double *x, double lambda,
                            submod_prox_method method, int hinge, double *u, double *s)
{
    submod_prox_info info;
    submod_prox_settings settings = by(method, hinge);
    submod_status status = submod_prox(fn, x, lambda, u, s, &settings, &info, NULL);
    ck_assert_msg(status >= 0, "%s", submod_last_error());
    return info;
}

START_TEST(is_algorithm_2)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int trial = 0; trial < 2000; trial++) {
        const family *f = &families[(size_t)trial % family_count];
        size_t n = 2 + submod_rng_below(&rng, 14);
        submod_fn *fn = f->make(n, &rng);
        n = submod_fn_size(fn);
        double x[MOST], u[MOST], s[MOST], other[MOST] = {0}, largest = 0;
        random_vector(&rng, x, n, trial / 2 % 2);
        double lambda = pow(10, 4 * submod_rng_uniform(&rng) - 2);
        int hinge = f->monotone && trial % 3 == 0;
        run(fn, x, lambda, SUBMOD_PROX_GREEDY_PATH, hinge, u, s);
        slow(fn, x, lambda, hinge, other);
        for (size_t i = 0; i < n; i++) {
            largest = fmax(largest, fabs(other[i]));
        }
        for (size_t i = 0; i < n; i++) {
            ck_assert_near(u[i], other[i], 1e-11 * (1 + largest));
        }
        submod_fn_free(fn);
    }
}
END_TEST

/* Never better than the optimum, often worse, and the gap says at least by how much. */
START_TEST(is_not_always_optimal)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    int worse = 0;
    double most = 0;
    for (int trial = 0; trial < 400; trial++) {
        size_t n = 2 + submod_rng_below(&rng, 9);
        double x[MOST], u[MOST], s[MOST], v[MOST];
        uint8_t fg[MOST];
        for (size_t i = 0; i < n; i++) {
            fg[i] = submod_rng_uniform(&rng) < 0.5;
            x[i] = submod_rng_normal(&rng);
        }
        double lambda = pow(10, 2 * submod_rng_uniform(&rng) - 1);
        submod_fn *fn = NULL;
        ck_assert_ok(submod_fn_jaccard(n, fg, &fn));
        submod_prox_info greedy = run(fn, x, lambda, SUBMOD_PROX_GREEDY_PATH, 0, u, s);
        submod_prox_info best = run(fn, x, lambda, SUBMOD_PROX_JACCARD, 0, v, NULL);
        double off = greedy.primal - best.primal;
        ck_assert_double_ge(off, -1e-12);
        ck_assert_double_ge(greedy.gap, off - 1e-12);
        double *F = subset_values(fn);
        ck_assert_double_le(worst_excess(F, n, s), 1e-12);
        free(F);
        submod_fn_free(fn);
        worse += off > 1e-9;
        most = fmax(most, off);
    }
    ck_assert_int_gt(worse, 40);
    ck_assert_int_lt(worse, 360);
    ck_assert_double_gt(most, 1e-3);
}
END_TEST

/* Where no two entries meet the path is one straight step, and that is the prox. */
START_TEST(is_optimal_on_a_linear_piece)
{
    double x[4] = {4, 3, 2, 1}, u[4], v[4];
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_jaccard(4, (uint8_t[]){0, 1, 0, 1}, &fn));
    run(fn, x, 10, SUBMOD_PROX_GREEDY_PATH, 0, u, NULL);
    run(fn, x, 10, SUBMOD_PROX_JACCARD, 0, v, NULL);
    for (int i = 0; i < 4; i++) {
        ck_assert_near(u[i], v[i], 1e-15);
    }
    submod_fn_free(fn);
}
END_TEST

/* The path ends at the prox within the cone of all u that fall along the order of x, ties kept: f
 * is linear there. So it is the prox itself exactly if the prox is in that cone. Jaccard: the prox
 * leaves it by foreground that falls below background, in no other way. */
START_TEST(is_optimal_exactly_if_the_prox_keeps_the_order)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    int kept = 0, left = 0;
    for (int trial = 0; trial < 1000; trial++) {
        size_t n = 2 + submod_rng_below(&rng, 29);
        double x[MOST], u[MOST], v[MOST];
        uint8_t fg[MOST];
        submod_fn *fn = NULL;
        random_vector(&rng, x, n, trial % 2);
        for (size_t i = 0; i < n; i++) {
            fg[i] = submod_rng_uniform(&rng) < 0.5;
        }
        double lambda = pow(10, 3 * submod_rng_uniform(&rng) - 1), reversed = 0, off = 0;
        ck_assert_ok(submod_fn_jaccard(n, fg, &fn));
        submod_prox_info greedy = run(fn, x, lambda, SUBMOD_PROX_GREEDY_PATH, 0, u, NULL);
        submod_prox_info best = run(fn, x, lambda, SUBMOD_PROX_JACCARD, 0, v, NULL);
        for (size_t i = 0; i < n; i++) {
            off = fmax(off, fabs(u[i] - v[i]));
            for (size_t j = 0; j < n; j++) {
                double by = x[i] >= x[j] ? v[j] - v[i] : 0; /* i was above j, or beside it */
                ck_assert(by <= 1e-12 || (fg[i] && !fg[j]));
                reversed = fmax(reversed, by);
            }
        }
        ck_assert((reversed > 1e-12) == (off > 1e-12));
        ck_assert(reversed <= 1e-12 || greedy.primal > best.primal);
        kept += reversed <= 1e-12;
        left += reversed > 1e-12;
        submod_fn_free(fn);
    }
    ck_assert_int_gt(kept, 100);
    ck_assert_int_gt(left, 100);
}
END_TEST

/* Three pixels, worked out by hand. The foreground pixel at 0.1 falls by 1/2, meets the background
 * at 0, and they go on together. At the optimum it has fallen through: by 1/3, the other by 1/6. */
START_TEST(three_pixels_by_hand)
{
    double x[3] = {10, 0.1, 0}, u[3], v[3];
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_jaccard(3, (uint8_t[]){0, 1, 0}, &fn));
    run(fn, x, 1, SUBMOD_PROX_GREEDY_PATH, 0, u, NULL);
    run(fn, x, 1, SUBMOD_PROX_JACCARD, 0, v, NULL);
    const double by_path[3] = {9.5, -0.2, -0.2}, best[3] = {9.5, 0.1 - 1. / 3, -1. / 6};
    for (int i = 0; i < 3; i++) {
        ck_assert_near(u[i], by_path[i], 1e-15);
        ck_assert_near(v[i], best[i], 1e-15);
    }
    submod_fn_free(fn);
}
END_TEST

/* Functions of the cardinality treat all elements alike: the prox never leaves the order of x. So
 * do Jaccard without foreground and without background. */
START_TEST(is_optimal_for_symmetric_functions)
{
    const char *symmetric[] = {"cardinality",
                               "sqrt",
                               "log1p",
                               "truncation",
                               "hamming",
                               "jaccard, no foreground",
                               "jaccard, all foreground"};
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    int count = 0;
    for (size_t i = 0; i < family_count; i++) {
        bool wanted = false;
        for (size_t k = 0; k < sizeof symmetric / sizeof *symmetric; k++) {
            wanted = wanted || strcmp(families[i].name, symmetric[k]) == 0;
        }
        for (int trial = 0; wanted && trial < 50; trial++, count++) {
            double x[12], u[12], v[12];
            submod_fn *fn = families[i].make(12, &rng);
            random_vector(&rng, x, 12, trial % 2);
            double lambda = pow(10, 4 * submod_rng_uniform(&rng) - 2);
            run(fn, x, lambda, SUBMOD_PROX_GREEDY_PATH, 0, u, NULL);
            run(fn, x, lambda, SUBMOD_PROX_AUTO, 0, v, NULL);
            for (int e = 0; e < 12; e++) {
                ck_assert_near(u[e], v[e], 1e-12 * (1 + max_abs(v, 12)));
            }
            submod_fn_free(fn);
        }
    }
    ck_assert_int_eq(count, 50 * (int)(sizeof symmetric / sizeof *symmetric));
}
END_TEST

/* How often the path misses the prox of the hinge at margins 1 + spread * normal, in percent. */
static int percent_missed(submod_rng *rng, size_t p, double spread, double lambda)
{
    enum { CASES = 100, PIXELS = 256 };
    int missed = 0;
    for (int k = 0; k < CASES; k++) {
        double x[PIXELS], u[PIXELS], v[PIXELS], off = 0;
        uint8_t fg[PIXELS];
        submod_fn *fn = NULL;
        for (size_t i = 0; i < p; i++) {
            x[i] = 1 + spread * submod_rng_normal(rng);
            fg[i] = submod_rng_uniform(rng) < 0.5;
        }
        ck_assert_ok(submod_fn_jaccard(p, fg, &fn));
        run(fn, x, lambda, SUBMOD_PROX_GREEDY_PATH, 1, u, NULL);
        run(fn, x, lambda, SUBMOD_PROX_JACCARD, 1, v, NULL);
        for (size_t i = 0; i < p; i++) {
            off = fmax(off, fabs(u[i] - v[i]));
        }
        missed += off > 1e-10;
        submod_fn_free(fn);
    }
    return missed;
}

/* In the paper's setting the rate goes with p / (lambda spread), the number of pairs within reach
 * of each other, until the steps are so long that all margins end at 0. */
START_TEST(how_often_it_is_optimal_depends_on_the_setting)
{
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    ck_assert_int_le(percent_missed(&rng, 64, 1, 640), 10); /* p / (lambda spread) = 0.1 */
    ck_assert_int_le(percent_missed(&rng, 256, 0.1, 25600), 10);
    ck_assert_int_ge(percent_missed(&rng, 64, 1, 0.64), 90); /* = 100 */
    ck_assert_int_ge(percent_missed(&rng, 256, 0.1, 25.6), 90);
    ck_assert_int_eq(percent_missed(&rng, 64, 0.1, 1. / (64 * 3)), 0); /* all end at 0 */
}
END_TEST

START_TEST(overflow_is_an_error)
{
    double x[2] = {-1e308, -1e308}, u[2] = {7, 7};
    submod_fn *fn = NULL;
    submod_prox_settings settings = by(SUBMOD_PROX_GREEDY_PATH, 0);
    ck_assert_ok(submod_fn_sqrt(2, &fn));
    ck_assert_int_eq(submod_prox(fn, x, 1e-308, u, NULL, &settings, NULL, NULL), SUBMOD_ENUMERIC);
    ck_assert(u[0] == 7);
    submod_fn_free(fn);
}
END_TEST

int main(void)
{
    return RUN_TESTS("greedy_path", is_algorithm_2, is_not_always_optimal,
                     is_optimal_on_a_linear_piece, is_optimal_exactly_if_the_prox_keeps_the_order,
                     three_pixels_by_hand, is_optimal_for_symmetric_functions,
                     how_often_it_is_optimal_depends_on_the_setting, overflow_is_an_error);
}
