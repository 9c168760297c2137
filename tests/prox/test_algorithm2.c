/* Algorithm 2: the fast route against the listing followed line by line, and both against the exact
 * prox; the listing as printed against values by hand. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { MOST = 40 };

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

START_TEST(fast_route_is_the_listing)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int trial = 0; trial < 4000; trial++) {
        const family *f = &families[(size_t)trial % family_count];
        size_t n = 2 + submod_rng_below(&rng, trial % 10 ? 14 : 36);
        submod_fn *fn = f->make(n, &rng);
        n = submod_fn_size(fn);
        double x[MOST], u[MOST], s[MOST], by_listing[MOST];
        random_vector(&rng, x, n, trial / 2 % 2);
        double lambda = pow(10, 4 * submod_rng_uniform(&rng) - 2);
        int hinge = f->monotone && trial % 3 == 0;
        submod_prox_info fast = run(fn, x, lambda, SUBMOD_PROX_ALGORITHM_2, hinge, u, s);
        submod_prox_info slow =
            run(fn, x, lambda, SUBMOD_PROX_ALGORITHM_2_LOOP, hinge, by_listing, NULL);
        ck_assert_int_eq(fast.method, SUBMOD_PROX_ALGORITHM_2);
        ck_assert_int_eq(slow.method, SUBMOD_PROX_ALGORITHM_2_LOOP);
        ck_assert_uint_le(slow.iterations, 2 * n);
        for (size_t i = 0; i < n; i++) {
            ck_assert_near(u[i], by_listing[i], 1e-11 * (1 + max_abs(by_listing, n)));
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
        submod_prox_info greedy = run(fn, x, lambda, SUBMOD_PROX_ALGORITHM_2, 0, u, s);
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
    run(fn, x, 10, SUBMOD_PROX_ALGORITHM_2, 0, u, NULL);
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
        submod_prox_info greedy = run(fn, x, lambda, SUBMOD_PROX_ALGORITHM_2, 0, u, NULL);
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
    run(fn, x, 1, SUBMOD_PROX_ALGORITHM_2, 0, u, NULL);
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
            run(fn, x, lambda, SUBMOD_PROX_ALGORITHM_2, 0, u, NULL);
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
        run(fn, x, lambda, SUBMOD_PROX_ALGORITHM_2, 1, u, NULL);
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
    submod_prox_settings settings = by(SUBMOD_PROX_ALGORITHM_2, 0);
    ck_assert_ok(submod_fn_concave(2, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &fn));
    ck_assert_int_eq(submod_prox(fn, x, 1e-308, u, NULL, &settings, NULL, NULL), SUBMOD_ENUMERIC);
    submod_fn_free(fn);
}
END_TEST

/* ---- the listing as printed ---- */

static void check_near(const double *u, const double *expected, size_t n, double tolerance)
{
    for (size_t i = 0; i < n; i++) {
        ck_assert_near(u[i], expected[i], tolerance);
    }
}

static submod_prox_info as_printed(submod_fn *fn, const double *x, double lambda, double *u)
{
    submod_prox_info info = run(fn, x, lambda, SUBMOD_PROX_ALGORITHM_2_PRINTED, 1, u, NULL);
    ck_assert_int_eq(info.method, SUBMOD_PROX_ALGORITHM_2_PRINTED);
    submod_fn_free(fn);
    return info;
}

static submod_fn *jaccard(size_t n, const uint8_t *foreground)
{
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_jaccard(n, foreground, &fn));
    return fn;
}

static submod_fn *modular(size_t n, const double *w)
{
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_modular(n, w, &fn));
    return fn;
}

/* Lines 10 and 13: the gains are 1/2, 1/2, 0, and the margins rise by them instead of falling. No
 * edge lies ahead. */
START_TEST(printed_climbs)
{
    double x[3] = {10, 0.1, 0}, u[3];
    submod_prox_info info = as_printed(jaccard(3, (uint8_t[]){0, 1, 0}), x, 1, u);
    check_near(u, (double[]){10.5, 0.6, 0}, 3, 1e-15);
    ck_assert_uint_eq(info.iterations, 0);
}
END_TEST

/* Line 11 adds the time that has passed where the path climbs: 0.2 up to the edge at 0, then 2.2
 * instead of what is left of 2. */
START_TEST(printed_stops_too_late)
{
    double x[2] = {1, -0.1}, u[2];
    submod_prox_info info = as_printed(jaccard(2, (uint8_t[]){1, 1}), x, 0.5, u);
    check_near(u, (double[]){2.2, 1.1}, 2, 1e-15);
    ck_assert_uint_eq(info.iterations, 1);
}
END_TEST

/* Line 12: at time 0.15 it should stop, and the edge lies at 0.2. But that is 0.2 / sqrt(2) = 0.141
 * long. So the path goes there. Line 11 then gives 0.15 + 0.2, another 0.35 with all gains 1/2. */
START_TEST(printed_overshoots)
{
    double x[2] = {1, -0.1}, u[2];
    submod_prox_info info = as_printed(jaccard(2, (uint8_t[]){1, 1}), x, 1 / 0.15, u);
    check_near(u, (double[]){1.275, 0.175}, 2, 1e-14);
    ck_assert_uint_eq(info.iterations, 1);
    as_printed(jaccard(2, (uint8_t[]){1, 1}), x, 1 / 0.14, u);
    check_near(u, (double[]){1.07, -0.03}, 2, 1e-14);
}
END_TEST

/* Line 5: behind the first margin below 0 there is one g, the mean: gains 1/2, 0, 1/6, 1/3 become
 * 1/2, 0, 1/4, 1/4, and go up. The repaired one leaves these margins alone. */
START_TEST(printed_moves_below_zero)
{
    double x[4] = {3, -1, -20, -40}, u[4], w[4] = {1. / 2, 0, 1. / 6, 1. / 3};
    as_printed(modular(4, w), x, 1, u);
    check_near(u, (double[]){3.5, -1, -19.75, -39.75}, 4, 1e-14);
    submod_fn *fn = modular(4, w);
    run(fn, x, 1, SUBMOD_PROX_ALGORITHM_2_LOOP, 1, u, NULL);
    check_near(u, (double[]){2.5, -1, -20, -40}, 4, 1e-14);
    submod_fn_free(fn);
}
END_TEST

/* Where the gradient is 0 there is no direction to get wrong. */
START_TEST(flat_functions_stay)
{
    double x[4] = {2, -1, 0, 2}, u[4];
    as_printed(modular(4, (double[4]){0}), x, 1, u);
    check_near(u, x, 4, 0);
}
END_TEST

/* As printed it goes as far up as the repaired one goes down, where neither meets an edge. */
START_TEST(printed_is_a_mirror_on_a_linear_piece)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    int straight = 0;
    for (int trial = 0; trial < 500; trial++) {
        size_t n = 2 + submod_rng_below(&rng, 9);
        double x[MOST], u[MOST], v[MOST];
        uint8_t fg[MOST];
        random_vector(&rng, x, n, false);
        for (size_t i = 0; i < n; i++) {
            x[i] += 1000;
            fg[i] = submod_rng_uniform(&rng) < 0.5;
        }
        submod_fn *fn = jaccard(n, fg);
        bool apart = run(fn, x, 100, SUBMOD_PROX_ALGORITHM_2_LOOP, 1, v, NULL).iterations == 0;
        apart = as_printed(fn, x, 100, u).iterations == 0 && apart;
        for (size_t i = 0; apart && i < n; i++) {
            ck_assert_near(u[i] - x[i], x[i] - v[i], 1e-11);
        }
        straight += apart;
    }
    ck_assert_int_gt(straight, 100);
}
END_TEST

/* The cap counts edges; the certificate is that of the point reached. */
START_TEST(loops_stop_at_their_limits)
{
    double x[6] = {0.3, 0.2, 0.15, 0.1, 0.05, 0.01}, u[6], s[6];
    const submod_prox_method loops[] = {SUBMOD_PROX_ALGORITHM_2_LOOP,
                                        SUBMOD_PROX_ALGORITHM_2_PRINTED};
    for (int k = 0; k < 2; k++) {
        submod_prox_info info;
        submod_prox_settings settings = by(loops[k], 1);
        submod_fn *fn = jaccard(6, (uint8_t[]){1, 0, 1, 0, 1, 1});
        settings.max_iterations = 1;
        x[5] = k ? -0.01 : 0.01;
        x[4] = k ? -0.02 : 0.05;
        ck_assert_int_eq(submod_prox(fn, x, 0.001, u, s, &settings, &info, NULL), SUBMOD_MAXITER);
        ck_assert_uint_eq(info.iterations, 1);
        ck_assert(info.gap > 0 && isfinite(info.primal));
        settings.max_iterations = 0;
        settings.time_limit = 1e-12;
        ck_assert_int_eq(submod_prox(fn, x, 0.001, u, s, &settings, &info, NULL), SUBMOD_TIMELIMIT);
        submod_fn_free(fn);
    }
}
END_TEST

/* ---- the hinge layer ---- */

/* The layer of each method is the method at the margins. */
START_TEST(layer_is_the_method)
{
    enum { IMAGES = 3, PIXELS = 12 };
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    const submod_prox_method methods[] = {SUBMOD_PROX_AUTO, SUBMOD_PROX_ALGORITHM_2,
                                          SUBMOD_PROX_ALGORITHM_2_LOOP,
                                          SUBMOD_PROX_ALGORITHM_2_PRINTED};
    for (int trial = 0; trial < 200; trial++) {
        float score[IMAGES * PIXELS], moved[IMAGES * PIXELS], direction[IMAGES * PIXELS];
        uint8_t label[IMAGES * PIXELS];
        for (int i = 0; i < IMAGES * PIXELS; i++) {
            score[i] = (float)submod_rng_normal(&rng);
            label[i] = (uint8_t)submod_rng_below(&rng, 2);
        }
        double lambda = pow(10, 2 * submod_rng_uniform(&rng) - 1);
        submod_scores scores = submod_scores_f32(score, IMAGES, 1, PIXELS);
        submod_labels labels = submod_labels_u8(label, IMAGES, PIXELS);
        submod_gradient to = submod_gradient_dense(moved, 1, PIXELS);
        submod_gradient slope = submod_gradient_dense(direction, 1, PIXELS);
        submod_prox_settings settings = by(methods[trial % 4], 0);
        submod_prox_info info;
        ck_assert_ok(submod_prox_hinge_layer(&scores, &labels, lambda, &to, &slope, NULL, &settings,
                                             &info, NULL));
        ck_assert_int_eq(info.method, trial % 4 ? methods[trial % 4] : SUBMOD_PROX_JACCARD);
        for (int image = 0; image < IMAGES; image++) {
            double x[PIXELS], u[PIXELS];
            const uint8_t *y = label + image * PIXELS;
            for (int i = 0; i < PIXELS; i++) {
                x[i] = 1 - (y[i] ? 1 : -1) * (double)score[image * PIXELS + i];
            }
            submod_fn *fn = jaccard(PIXELS, y);
            run(fn, x, lambda, methods[trial % 4], 1, u, NULL);
            for (int i = 0; i < PIXELS; i++) {
                double expected = (y[i] ? 1 : -1) * (1 - u[i]);
                double d = -(y[i] ? 1 : -1) * lambda * (x[i] - u[i]) / IMAGES;
                ck_assert_near((double)moved[image * PIXELS + i], expected,
                               1e-6 * (1 + fabs(expected)));
                ck_assert_near((double)direction[image * PIXELS + i], d, 1e-6 * (1 + fabs(d)));
            }
            submod_fn_free(fn);
        }
    }
}
END_TEST

START_TEST(layer_refuses_other_methods)
{
    float score[2] = {1, 2};
    uint8_t label[2] = {0, 1};
    submod_scores scores = submod_scores_f32(score, 1, 1, 2);
    submod_labels labels = submod_labels_u8(label, 1, 2);
    submod_prox_settings settings = by(SUBMOD_PROX_MIN_NORM, 0);
    assert_error(
        submod_prox_hinge_layer(&scores, &labels, 1, NULL, NULL, NULL, &settings, NULL, NULL),
        SUBMOD_EUNSUPPORTED, "method = 6");
}
END_TEST

int main(void)
{
    return RUN_TESTS("algorithm2", fast_route_is_the_listing, is_not_always_optimal,
                     is_optimal_on_a_linear_piece, is_optimal_exactly_if_the_prox_keeps_the_order,
                     three_pixels_by_hand, is_optimal_for_symmetric_functions,
                     how_often_it_is_optimal_depends_on_the_setting, overflow_is_an_error,
                     printed_climbs, printed_stops_too_late, printed_overshoots,
                     printed_moves_below_zero, flat_functions_stay,
                     printed_is_a_mirror_on_a_linear_piece, loops_stop_at_their_limits,
                     layer_is_the_method, layer_refuses_other_methods);
}
