/* The exact Jaccard prox in all its forms: against slow decompositions that share no code with it,
 * and by the laws that it obeys. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "depth.h"
#include "support.h"

/* ---- two slow references ---- */

/* Over all subsets, n <= 10: splits [lower, upper) of the lattice where F - lambda (x - alpha) has
 * a set below 0, alpha the level the block would have in one piece. */
static void slow_subsets(const double *F, size_t n, const double *x, double lambda, uint32_t lower,
                         uint32_t upper, double *u)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < n; i++) {
        if ((upper & ~lower) >> i & 1) {
            sum += x[i];
            count++;
        }
    }
    double alpha = (sum - (F[upper] - F[lower]) / lambda) / count;
    double lowest = 0, scale = 0;
    uint32_t best = lower;
    for (uint32_t A = 0; A < UINT32_C(1) << n; A++) {
        if ((A & lower) == lower && (A & ~upper) == 0) {
            double value = F[A] - F[lower], size = fabs(value);
            for (size_t i = 0; i < n; i++) {
                if ((A & ~lower) >> i & 1) {
                    value -= lambda * (x[i] - alpha);
                    size += lambda * (fabs(x[i]) + fabs(alpha));
                }
            }
            scale = fmax(scale, size);
            if (value < lowest) {
                lowest = value;
                best = A;
            }
        }
    }
    if (lowest >= -1e-14 * scale || best == upper) {
        for (size_t i = 0; i < n; i++) {
            u[i] = (upper & ~lower) >> i & 1 ? alpha : u[i];
        }
        return;
    }
    slow_subsets(F, n, x, lambda, lower, best, u);
    slow_subsets(F, n, x, lambda, best, upper, u);
}

/* Over all pairs (a, b) of how many of each label are in: the same on sorted lists, any n. */
typedef struct lists {
    size_t n[2], P;
    const double *x[2]; /* background, foreground; descending */
    double *u[2];
    double lambda;
} lists;

static double jaccard_value(size_t P, size_t a, size_t b)
{
    return a + b == 0 ? 0 : (double)(a + b) / (double)(P + b);
}

static void slow_pairs(const lists *l, const size_t lower[2], const size_t upper[2])
{
    size_t count = upper[0] - lower[0] + upper[1] - lower[1];
    long double sum = 0;
    for (int c = 0; c < 2; c++) {
        for (size_t i = lower[c]; i < upper[c]; i++) {
            sum += (long double)l->x[c][i];
        }
    }
    double F = jaccard_value(l->P, lower[1], lower[0]);
    double alpha = (double)((sum - (long double)(jaccard_value(l->P, upper[1], upper[0]) - F) /
                                       (long double)l->lambda) /
                            (long double)count);
    size_t best[2] = {lower[0], lower[1]};
    double lowest = 0, scale = 0, top = 0;
    for (size_t b = lower[0];; b++) {
        double value = top;
        for (size_t a = lower[1];; a++) {
            double v = jaccard_value(l->P, a, b) - F - value;
            if (v < lowest) {
                lowest = v;
                best[0] = b;
                best[1] = a;
            }
            scale = fmax(scale, fabs(value));
            if (a == upper[1]) {
                break;
            }
            value += l->lambda * (l->x[1][a] - alpha);
        }
        if (b == upper[0]) {
            break;
        }
        top += l->lambda * (l->x[0][b] - alpha);
    }
    bool whole = best[0] == upper[0] && best[1] == upper[1];
    if (lowest >= -1e-14 * (1 + scale) || whole) {
        for (int c = 0; c < 2; c++) {
            for (size_t i = lower[c]; i < upper[c]; i++) {
                l->u[c][i] = alpha;
            }
        }
        return;
    }
    slow_pairs(l, lower, best);
    slow_pairs(l, best, upper);
}

static const double *compared;

static int by_falling_value(const void *a, const void *b)
{
    double x = compared[*(const size_t *)a], y = compared[*(const size_t *)b];
    return x < y ? 1 : -(x > y);
}

static void slow_prox(size_t n, const double *x, const uint8_t *fg, double lambda, double *u)
{
    size_t *index[2];
    double *value[2], *result[2];
    lists l = {.lambda = lambda};
    for (int c = 0; c < 2; c++) {
        index[c] = malloc((n + 1) * sizeof **index);
        value[c] = malloc((n + 1) * sizeof **value);
        result[c] = malloc((n + 1) * sizeof **result);
    }
    for (size_t i = 0; i < n; i++) {
        index[fg[i] != 0][l.n[fg[i] != 0]++] = i;
    }
    l.P = l.n[1];
    compared = x;
    for (int c = 0; c < 2; c++) {
        qsort(index[c], l.n[c], sizeof *index[c], by_falling_value);
        for (size_t k = 0; k < l.n[c]; k++) {
            value[c][k] = x[index[c][k]];
        }
        l.x[c] = value[c];
        l.u[c] = result[c];
    }
    slow_pairs(&l, (size_t[2]){0, 0}, l.n);
    for (int c = 0; c < 2; c++) {
        for (size_t k = 0; k < l.n[c]; k++) {
            u[index[c][k]] = result[c][k];
        }
        free(index[c]);
        free(value[c]);
        free(result[c]);
    }
}

/* ---- instances ---- */

enum { SHAPES = 10 };

/* Values and labels that have broken or could break such solvers. */
static void make(int shape, submod_rng *rng, size_t n, double *x, uint8_t *fg)
{
    for (size_t i = 0; i < n; i++) {
        double t = (double)i / (double)n, r = submod_rng_uniform(rng);
        fg[i] = submod_rng_uniform(rng) < 0.3;
        x[i] = shape == 0   ? submod_rng_normal(rng)
               : shape == 1 ? ldexp(1, -(int)(i % 1000)) /* geometric */
               : shape == 2 ? 0.25                       /* all tied */
               : shape == 3 ? floor(8 * r) / 8           /* many ties */
                            : 1 - t;
        if (shape == 4) { /* foreground on top, then background */
            fg[i] = t < 0.5;
        } else if (shape == 5) {
            fg[i] = t >= 0.5;
        } else if (shape == 6) { /* alternating */
            fg[i] = i % 2;
        } else if (shape == 7) { /* one foreground pixel */
            fg[i] = i == n / 2;
        } else if (shape == 8) { /* one background pixel */
            fg[i] = i != n / 2;
        } else if (shape == 9) { /* two far clusters of geometric values */
            x[i] = (i % 2 ? 100 : 0) + ldexp(1, -(int)(i % 60));
            fg[i] = i % 4 < 2;
        }
    }
}

static submod_prox_settings exact(void)
{
    submod_prox_settings s = submod_prox_defaults();
    s.method = SUBMOD_PROX_JACCARD;
    return s;
}

static submod_prox_info prox(size_t n, const double *x, const uint8_t *fg, double lambda, double *u,
                             double *s)
{
    submod_fn *fn = NULL;
    submod_prox_info info;
    submod_prox_settings settings = exact();
    ck_assert_ok(submod_fn_jaccard(n, fg, &fn));
    ck_assert_ok(submod_prox(fn, x, lambda, u, s, &settings, &info, NULL));
    submod_fn_free(fn);
    return info;
}

static double largest(const double *x, size_t n)
{
    double size = 0;
    for (size_t i = 0; i < n; i++) {
        size = fmax(size, fabs(x[i]));
    }
    return size;
}

static double objective(const double *F, size_t n, const double *x, double lambda, const double *u,
                        int hinge)
{
    double v[10], distance = 0;
    for (size_t i = 0; i < n; i++) {
        v[i] = hinge ? fmax(u[i], 0) : u[i];
        distance += (u[i] - x[i]) * (u[i] - x[i]);
    }
    return choquet(F, n, v) + lambda / 2 * distance;
}

/* ---- tests ---- */

/* Optimal u, and s a base with s = lambda (x - u), which together are the whole truth. */
START_TEST(brute_force)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int trial = 0; trial < repeats(2000); trial++) {
        size_t n = 1 + submod_rng_below(&rng, 10);
        double x[10], u[10], s[10], slow[10] = {0};
        uint8_t fg[10];
        double share = (double)submod_rng_below(&rng, 5) / 4;
        double lambda = pow(10, 6 * submod_rng_uniform(&rng) - 3);
        random_vector(&rng, x, n, trial % 2);
        for (size_t i = 0; i < n; i++) {
            fg[i] = submod_rng_uniform(&rng) < share;
        }
        submod_fn *fn = NULL;
        ck_assert_ok(submod_fn_jaccard(n, fg, &fn));
        double *F = subset_values(fn);
        submod_prox_info info = prox(n, x, fg, lambda, u, s);
        slow_subsets(F, n, x, lambda, 0, (UINT32_C(1) << n) - 1, slow);
        double scale = 1 + largest(x, n) + 1 / lambda, total = 0;
        for (size_t i = 0; i < n; i++) {
            ck_assert_near(u[i], slow[i], 1e-14 * scale);
            ck_assert_near(s[i], lambda * (x[i] - u[i]), 1e-14 * lambda * scale);
            total += s[i];
        }
        ck_assert_near(total, 1, 1e-14 * (1 + lambda * scale));
        ck_assert_double_le(worst_excess(F, n, s), 1e-14 * (1 + lambda * scale));
        ck_assert_near(info.gap, 0, 1e-13 * (1 + lambda) * scale * scale);
        ck_assert_int_eq(info.method, SUBMOD_PROX_JACCARD);
        ck_assert_near(info.primal, objective(F, n, x, lambda, u, 0),
                       1e-13 * (1 + lambda) * scale * scale);
        submod_prox_settings hinge = exact();
        hinge.hinge = 1;
        ck_assert_ok(submod_prox(fn, x, lambda, u, s, &hinge, &info, NULL));
        ck_assert_near(info.primal, objective(F, n, x, lambda, u, 1),
                       1e-13 * (1 + lambda) * scale * scale);
        ck_assert_near(info.gap, 0, 1e-13 * (1 + lambda) * scale * scale);
        free(F);
        submod_fn_free(fn);
    }
}
END_TEST

START_TEST(larger_instances)
{
    enum { MOST = 120 };
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (int trial = 0; trial < repeats(600); trial++) {
        size_t n = 20 + submod_rng_below(&rng, MOST - 20);
        double x[MOST], u[MOST], s[MOST], slow[MOST];
        uint8_t fg[MOST];
        make(trial % SHAPES, &rng, n, x, fg);
        double lambda = pow(10, 7 * submod_rng_uniform(&rng) - 4);
        prox(n, x, fg, lambda, u, s);
        slow_prox(n, x, fg, lambda, slow);
        for (size_t i = 0; i < n; i++) {
            ck_assert_near(u[i], slow[i], 1e-12 * (largest(x, n) + 1 / lambda));
        }
    }
}
END_TEST

/* Nonexpansive, isotone, Moreau, translation, scaling. */
START_TEST(laws)
{
    enum { N = 200 };
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    for (int trial = 0; trial < repeats(200); trial++) {
        double x[N], y[N], u[N], v[N], s[N], t[N];
        uint8_t fg[N];
        make(trial % SHAPES, &rng, N, x, fg);
        double lambda = pow(10, 4 * submod_rng_uniform(&rng) - 2);
        prox(N, x, fg, lambda, u, s);
        double to[2] = {0, 0}, from[2] = {0, 0};
        for (size_t i = 0; i < N; i++) {
            y[i] = x[i] + 0.3 * submod_rng_normal(&rng);
        }
        prox(N, y, fg, lambda, v, NULL);
        for (size_t i = 0; i < N; i++) {
            to[0] += (u[i] - v[i]) * (u[i] - v[i]);
            from[0] += (x[i] - y[i]) * (x[i] - y[i]);
            to[1] = fmax(to[1], fabs(u[i] - v[i]));
            from[1] = fmax(from[1], fabs(x[i] - y[i]));
            y[i] = fmax(x[i], y[i]);
        }
        ck_assert_double_le(to[0], from[0] * (1 + 1e-12));
        ck_assert_double_le(to[1], from[1] * (1 + 1e-12));
        prox(N, y, fg, lambda, v, NULL);
        double size = 1e-13 * (largest(x, N) + 1 / lambda);
        for (size_t i = 0; i < N; i++) {
            ck_assert_double_ge(v[i], u[i] - size);
            y[i] = x[i] + 0.75;
        }
        prox(N, y, fg, lambda, v, NULL);
        for (size_t i = 0; i < N; i++) {
            ck_assert_near(v[i], u[i] + 0.75, size);
            y[i] = 3 * x[i];
        }
        prox(N, y, fg, lambda / 3, v, NULL);
        /* x = u + s / lambda with s the projection of lambda x on B(F): no base is nearer. */
        submod_fn *fn = NULL;
        double dot = 0;
        ck_assert_ok(submod_fn_jaccard(N, fg, &fn));
        random_vector(&rng, y, N, 0);
        ck_assert_ok(submod_lovasz(fn, y, NULL, t, NULL, SUBMOD_TIES_AVERAGE, NULL));
        submod_fn_free(fn);
        for (size_t i = 0; i < N; i++) {
            ck_assert_near(v[i], 3 * u[i], 3 * size);
            ck_assert_near(u[i] + s[i] / lambda, x[i], size);
            dot += (lambda * x[i] - s[i]) * (t[i] - s[i]);
        }
        ck_assert_double_le(dot, 1e-12 * (1 + lambda * largest(x, N)));
    }
}
END_TEST

/* lambda -> infinity: u -> x, and s -> the greedy vector, to all digits: it is not lambda (x - u).
 * lambda -> 0: lambda u -> minus the base of least norm, which is all 1 / n. */
START_TEST(limits)
{
    enum { N = 500 };
    double x[N], u[N], s[N], g[N];
    uint8_t fg[N];
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    for (int trial = 0; trial < 20; trial++) {
        make(0, &rng, N, x, fg);
        submod_fn *fn = NULL;
        ck_assert_ok(submod_fn_jaccard(N, fg, &fn));
        ck_assert_ok(submod_lovasz(fn, x, NULL, g, NULL, SUBMOD_TIES_AVERAGE, NULL));
        prox(N, x, fg, 1e17, u, s);
        for (size_t i = 0; i < N; i++) {
            ck_assert_near(s[i], g[i], 1e-15 * g[i]);
            ck_assert_near(u[i], x[i], 1e-15 * fabs(x[i]));
        }
        prox(N, x, fg, 1e-20, u, s);
        for (size_t i = 0; i < N; i++) {
            ck_assert_near(s[i], 1.0 / N, 1e-14 / N);
            ck_assert_near(u[i] * 1e-20, -1.0 / N, 1e-14 / N);
        }
        submod_fn_free(fn);
    }
}
END_TEST

START_TEST(special_cases)
{
    double u[4], s[4];
    /* one pixel: F(V) = 1 whatever its label */
    for (uint8_t label = 0; label < 2; label++) {
        prox(1, (double[]){3}, &label, 4, u, s);
        ck_assert(u[0] == 2.75 && s[0] == 1);
    }
    /* all foreground: F is modular */
    prox(4, (double[]){1, 2, 3, 4}, (uint8_t[]){1, 1, 1, 1}, 0.5, u, s);
    for (int i = 0; i < 4; i++) {
        ck_assert(s[i] == 0.25 && u[i] == i + 0.5);
    }
    /* no foreground: the largest entry goes down by 1 / lambda, or all that it meets together */
    prox(4, (double[]){1, 2, 3, 0}, (uint8_t[]){0, 0, 0, 0}, 2, u, s);
    ck_assert(u[0] == 1 && u[1] == 2 && u[2] == 2.5 && u[3] == 0 && s[2] == 1 && s[1] == 0);
    prox(4, (double[]){1, 2, 3, 0}, (uint8_t[]){0, 0, 0, 0}, 0.5, u, s);
    ck_assert(u[0] == 1 && u[1] == 1.5 && u[2] == 1.5 && u[3] == 0 && s[1] == 0.25 && s[2] == 0.75);
}
END_TEST

/* The count of all points and breakpoints looked at stays below 10 p log2 p, whatever the input. */
START_TEST(work_is_bounded)
{
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    size_t most = (size_t)1 << 18;
    double *x = malloc(most * sizeof *x), *u = malloc(most * sizeof *u), worst = 0;
    uint8_t *fg = malloc(most);
    for (int shape = 0; shape < SHAPES; shape++) {
        for (int bits = 10; bits <= (FEWER ? 14 : 18); bits += 4) {
            size_t n = (size_t)1 << bits;
            make(shape, &rng, n, x, fg);
            for (int power = -9; power <= 9; power += bits < 18 ? 3 : 6) {
                submod_prox_info info = prox(n, x, fg, pow(10, power), u, NULL);
                worst = fmax(worst, (double)info.work / ((double)n * bits));
                ck_assert_uint_le(info.work, 10 * n * (size_t)bits);
                ck_assert_uint_le(info.iterations, n);
            }
        }
    }
    printf("work / (p log2 p): at most %.2f\n", worst);
    free(x);
    free(u);
    free(fg);
}
END_TEST

START_TEST(same_bits_for_any_number_of_threads)
{
    size_t n = (size_t)1 << 17;
    double *x = malloc(n * sizeof *x), *out[2];
    uint8_t *fg = malloc(n);
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    for (int shape = 0; shape < SHAPES; shape++) {
        make(shape, &rng, n, x, fg);
        for (int t = 0; t < 2; t++) {
            out[t] = malloc(2 * n * sizeof **out);
            ck_assert_ok(submod_set_num_threads(t ? 3 : 1));
            prox(n, x, fg, 0.01, out[t], out[t] + n);
        }
        ck_assert_int_eq(memcmp(out[0], out[1], 2 * n * sizeof **out), 0);
        free(out[0]);
        free(out[1]);
    }
    ck_assert_ok(submod_set_num_threads(0));
    free(x);
    free(fg);
}
END_TEST

START_TEST(points_are_many_pixels)
{
    enum { POINTS = 40, MOST = POINTS * 20 };
    submod_rng rng;
    submod_rng_seed(&rng, 7);
    for (int trial = 0; trial < repeats(400); trial++) {
        size_t count = 1 + submod_rng_below(&rng, POINTS), n = 0;
        double value[POINTS], u[POINTS], s[POINTS], x[MOST], all_u[MOST], all_s[MOST];
        uint8_t label[POINTS], fg[MOST];
        double multiplicity[POINTS];
        size_t point[MOST];
        make(trial % SHAPES, &rng, count, value, label);
        for (size_t k = 0; k < count; k++) {
            multiplicity[k] = 1 + (double)submod_rng_below(&rng, 20);
            for (int i = 0; i < (int)multiplicity[k]; i++, n++) {
                x[n] = value[k];
                fg[n] = label[k];
                point[n] = k;
            }
        }
        double lambda = pow(10, 5 * submod_rng_uniform(&rng) - 3);
        submod_prox_info info, plain = prox(n, x, fg, lambda, all_u, all_s);
        ck_assert_ok(submod_prox_points(&(submod_points){count, value, label, multiplicity}, NULL,
                                        lambda, u, s, &info, NULL));
        double scale = largest(x, n) + 1 / lambda;
        for (size_t i = 0; i < n; i++) {
            ck_assert_near(u[point[i]], all_u[i], 1e-13 * scale);
            ck_assert_near(s[point[i]], all_s[i], 1e-13 * lambda * scale);
        }
        double size = (double)n * (1 + lambda) * scale * scale;
        ck_assert_near(info.primal, plain.primal, 1e-13 * size);
        ck_assert_near(info.gap, 0, 1e-13 * size);
        ck_assert_near(info.dual, info.primal, 1e-13 * size);
    }
}
END_TEST

/* More pixels than memory: 2^50 of them in two points. One foreground value far above one
 * background value: s = 1/P and 0. */
START_TEST(points_are_very_many_pixels)
{
    const double many = 0x1p49;
    double u[2], s[2];
    submod_prox_info info;
    ck_assert_ok(submod_prox_points(
        &(submod_points){2, (double[]){1, 0}, (uint8_t[]){1, 0}, (double[]){many, many}}, NULL, 1,
        u, s, &info, NULL));
    ck_assert(s[0] == 0x1p-49 && s[1] == 0 && u[1] == 0);
    const double none[2] = {1, 0};
    ck_assert_int_eq(
        submod_prox_points(&(submod_points){2, (double[]){1, 0}, (uint8_t[]){1, 0}, none}, NULL, 1,
                           u, s, &info, NULL),
        SUBMOD_EINVAL);
    /* Each number is fine, and the sum of all pixels overflows. */
    ck_assert_int_eq(submod_prox_points(&(submod_points){2, (double[]){1e294, 2e294},
                                                         (uint8_t[]){1, 0}, (double[]){many, many}},
                                        NULL, 1e-294, u, s, &info, NULL),
                     SUBMOD_ENUMERIC);
    ck_assert_ok(submod_prox_points(&(submod_points){0, NULL, NULL, NULL}, NULL, 1, NULL, NULL,
                                    &info, NULL));
    ck_assert(info.primal == 0 && info.gap == 0);
}
END_TEST

/* The prox up to an accuracy, by histogram. */
static submod_status rough_prox(size_t n, const double *x, const uint8_t *fg, double lambda,
                                double accuracy, double *u, submod_prox_info *info)
{
    submod_fn *fn = NULL;
    submod_prox_settings settings = exact();
    settings.accuracy = accuracy;
    ck_assert_ok(submod_fn_jaccard(n, fg, &fn));
    submod_status status = submod_prox(fn, x, lambda, u, NULL, &settings, info, NULL);
    submod_fn_free(fn);
    return status;
}

START_TEST(histogram_keeps_its_word)
{
    enum { N = 2000 };
    submod_rng rng;
    submod_rng_seed(&rng, 8);
    double x[N], best[N], u[N], far = 0;
    uint8_t fg[N];
    for (int trial = 0; trial < repeats(200); trial++) {
        make(trial % SHAPES, &rng, N, x, fg);
        double lambda = pow(10, 5 * submod_rng_uniform(&rng) - 4);
        double accuracy = pow(10, -1 - 3 * submod_rng_uniform(&rng));
        submod_prox_info info, plain = prox(N, x, fg, lambda, best, NULL);
        submod_status status = rough_prox(N, x, fg, lambda, accuracy, u, &info);
        if (status == SUBMOD_EUNSUPPORTED) { /* too many bins for a wide range */
            continue;
        }
        ck_assert_ok(status);
        ck_assert(info.error > 0 && info.error <= accuracy);
        double distance = 0, primal;
        submod_fn *fn = NULL;
        ck_assert_ok(submod_fn_jaccard(N, fg, &fn));
        for (size_t i = 0; i < N; i++) {
            ck_assert_near(u[i], best[i], info.error + 1e-12);
            far = fmax(far, fabs(u[i] - best[i]) / accuracy);
            distance += (u[i] - x[i]) * (u[i] - x[i]);
        }
        /* primal is that of the u returned, dual is below the optimum */
        ck_assert_ok(submod_lovasz(fn, u, &primal, NULL, NULL, SUBMOD_TIES_AVERAGE, NULL));
        primal += lambda / 2 * distance;
        submod_fn_free(fn);
        ck_assert_near(info.primal, primal, 1e-11 * (1 + fabs(primal)));
        ck_assert_double_ge(info.primal, plain.primal - 1e-11 * (1 + fabs(primal)));
        ck_assert_double_le(info.dual, plain.primal + 1e-11 * (1 + fabs(primal)));
    }
    ck_assert_double_gt(far, 0.1); /* the bound is not idle */
}
END_TEST

/* An accuracy wider than the range of x costs no more than half that range. */
START_TEST(histogram_with_a_wide_delta)
{
    const double x[3] = {1, 1.5, 2}, same[3] = {5, 5, 5};
    const uint8_t fg[3] = {1, 0, 0};
    double u[3];
    submod_prox_info info;
    for (int digits = 0; digits < 300; digits += 30) {
        double accuracy = pow(10, digits);
        ck_assert_ok(rough_prox(3, x, fg, 1, accuracy, u, &info));
        ck_assert(info.error <= 0.5000001);
        ck_assert_ok(rough_prox(3, same, fg, 1, accuracy, u, &info));
        ck_assert(info.error <= 1e-13); /* rounding */
    }
}
END_TEST

/* With the hinge, the error still holds for u, and the gap is that of the hinge. */
START_TEST(histogram_with_the_hinge)
{
    enum { N = 500 };
    submod_rng rng;
    submod_rng_seed(&rng, 9);
    double x[N], u[N], s[N], v[N];
    uint8_t fg[N];
    submod_fn *fn = NULL;
    submod_prox_settings settings = exact();
    settings.hinge = 1;
    for (int trial = 0; trial < repeats(50); trial++) {
        submod_prox_info info, plain;
        make(0, &rng, N, x, fg);
        double lambda = pow(10, 4 * submod_rng_uniform(&rng) - 4);
        ck_assert_ok(submod_fn_jaccard(N, fg, &fn));
        settings.accuracy = 0;
        ck_assert_ok(submod_prox(fn, x, lambda, v, NULL, &settings, &plain, NULL));
        ck_assert(plain.error == 0);
        settings.accuracy = 1e-2;
        ck_assert_ok(submod_prox(fn, x, lambda, u, s, &settings, &info, NULL));
        for (size_t i = 0; i < N; i++) {
            ck_assert_near(u[i], v[i], info.error + 1e-12);
            ck_assert(s[i] >= 0);
        }
        ck_assert_double_ge(info.primal, plain.primal - 1e-11 * (1 + fabs(plain.primal)));
        ck_assert_double_le(info.dual, plain.primal + 1e-11 * (1 + fabs(plain.primal)));
        submod_fn_free(fn);
    }
}
END_TEST

START_TEST(histogram_special_cases)
{
    double x[3] = {0, 1, 1e30}, u[3];
    const uint8_t fg[3] = {0, 1, 0};
    submod_prox_info info;
    assert_error(rough_prox(3, x, fg, 1, 0.1, u, &info), SUBMOD_EUNSUPPORTED, "bins");
    x[2] = NAN;
    assert_error(rough_prox(3, x, fg, 1, 0.1, u, &info), SUBMOD_ENONFINITE, "x[2]");
    assert_error(rough_prox(2, x, fg, 1, -1, u, &info), SUBMOD_EINVAL, "accuracy");
    assert_error(rough_prox(2, x, fg, 1, INFINITY, u, &info), SUBMOD_ENONFINITE, "accuracy");
    /* u near 2^54 has no room for 0.1 */
    x[0] = 0x1p54;
    x[1] = 0x1p54 + 4;
    ck_assert_int_eq(rough_prox(2, x, fg, 1.7, 0.01, u, &info), SUBMOD_INACCURATE);
    ck_assert_double_gt(info.error, 0.01);
}
END_TEST

/* ---- the layer ---- */

/* Each image by the plain prox with the hinge, in double. */
START_TEST(layer_is_the_prox_of_each_image)
{
    enum { B = 3, N = 700 };
    submod_rng rng;
    submod_rng_seed(&rng, 9);
    for (int trial = 0; trial < repeats(60); trial++) {
        float scores[B * N], z[B * N], g[B * N];
        int32_t labels[B * N];
        double lambda = pow(10, 5 * submod_rng_uniform(&rng) - 3);
        for (size_t i = 0; i < B * N; i++) {
            scores[i] = (float)(trial % 2 ? floor(4 * submod_rng_normal(&rng)) / 4
                                          : submod_rng_normal(&rng));
            labels[i] = submod_rng_uniform(&rng) < 0.1   ? 255
                        : submod_rng_uniform(&rng) < 0.3 ? (i < N || trial % 3) /* absent */
                                                         : 0;
        }
        submod_scores in = submod_scores_f32(scores, B, 1, N);
        submod_labels truth = submod_labels_i32(labels, B, N);
        submod_gradient to_z = submod_gradient_dense(z, 1, N),
                        to_g = submod_gradient_dense(g, 1, N);
        submod_loss_settings s = submod_loss_defaults();
        s.has_ignore = 1;
        s.ignore_index = 255;
        s.per_image = trial % 5 != 0;
        ck_assert_ok(
            submod_prox_hinge_layer(&in, &truth, lambda, &to_z, &to_g, &s, NULL, NULL, NULL));
        size_t groups = s.per_image ? B : 1, size = B * N / groups;
        for (size_t b = 0; b < groups; b++) {
            double m[B * N], u[B * N], d[B * N];
            uint8_t fg[B * N];
            size_t at[B * N], n = 0;
            for (size_t i = b * size; i < (b + 1) * size; i++) {
                if (labels[i] == 255) {
                    ck_assert(z[i] == scores[i] && g[i] == 0);
                } else {
                    fg[n] = (uint8_t)labels[i];
                    m[n] = 1 - (labels[i] ? 1 : -1) * (double)scores[i];
                    at[n++] = i;
                }
            }
            submod_fn *fn = NULL;
            submod_prox_settings hinge = exact();
            hinge.hinge = 1;
            ck_assert_ok(submod_fn_jaccard(n, fg, &fn));
            ck_assert_ok(submod_prox(fn, m, lambda, u, d, &hinge, NULL, NULL));
            submod_fn_free(fn);
            for (size_t k = 0; k < n; k++) {
                double y = fg[k] ? 1 : -1;
                ck_assert_near((double)z[at[k]], y * (1 - u[k]), 1e-6 * (1 + fabs(u[k])));
                ck_assert_near((double)g[at[k]], -y * d[k] / (double)groups, 2e-7 * d[k]);
            }
        }
    }
}
END_TEST

/* lambda so large that no margins meet: the gradient of submod_lovasz_hinge, scaled and added as
 * asked for; for any number of threads. */
START_TEST(layer_gives_the_gradient_on_a_linear_piece)
{
    enum { B = 4, N = 30000 };
    float *scores = malloc(B * N * sizeof *scores), *g = malloc(3 * B * N * sizeof *g);
    uint8_t *labels = malloc(B * N);
    submod_rng rng;
    submod_rng_seed(&rng, 10);
    for (size_t i = 0; i < B * N; i++) {
        labels[i] = submod_rng_uniform(&rng) < 0.3;
        /* distinct margins: foreground at even, background at odd multiples of 2^-16, none near 0
         */
        double m = (2 * (double)(i % N) + !labels[i] - N + 0.5) * 0x1p-16;
        scores[i] = (float)((labels[i] ? 1 : -1) * (1 - m));
    }
    submod_scores in = submod_scores_f32(scores, B, 1, N);
    submod_labels truth = submod_labels_u8(labels, B, N);
    submod_gradient plain = submod_gradient_dense(g, 1, N),
                    modified = submod_gradient_dense(g + B * N, 1, N),
                    again = submod_gradient_dense(g + 2 * B * N, 1, N);
    submod_loss_settings s = submod_loss_defaults();
    s.per_image = 1;
    plain.scale = modified.scale = again.scale = 2;
    ck_assert_ok(submod_lovasz_hinge(&in, &truth, NULL, &plain, &s, NULL, NULL));
    ck_assert_ok(submod_set_num_threads(1));
    ck_assert_ok(submod_prox_hinge_layer(&in, &truth, 1e6, NULL, &modified, &s, NULL, NULL, NULL));
    ck_assert_ok(submod_set_num_threads(3));
    ck_assert_ok(submod_prox_hinge_layer(&in, &truth, 1e6, NULL, &again, &s, NULL, NULL, NULL));
    ck_assert_ok(submod_set_num_threads(0));
    for (size_t i = 0; i < B * N; i++) {
        ck_assert(g[B * N + i] == g[2 * B * N + i]);
        ck_assert_near((double)g[B * N + i], (double)g[i], 1e-6 * fabs((double)g[i]));
    }
    free(scores);
    free(g);
    free(labels);
}
END_TEST

/* Values some roundings apart, and steps 1 / lambda / union of that size: breakpoints then
 * contradict each other. Some of these seeds once made the search for a level endless. */
START_TEST(levels_below_rounding)
{
    enum { M = 80 };
    for (uint64_t seed = 8000; seed < 8000 + (uint64_t)repeats(1000); seed++) {
        double x[M], u[M], s[M];
        uint8_t fg[M];
        submod_rng rng;
        submod_rng_seed(&rng, seed);
        size_t n = (size_t)(2 + submod_rng_uniform(&rng) * (M - 2));
        double base = 1 + submod_rng_uniform(&rng), share = submod_rng_uniform(&rng);
        for (size_t i = 0; i < n; i++) {
            x[i] = base + floor(submod_rng_uniform(&rng) * 8) * 0x1p-52 * 1.6;
            fg[i] = submod_rng_uniform(&rng) < share;
            /* a draw or three that the seeds were found with */
            if (submod_rng_uniform(&rng) >= .5) {
                submod_rng_uniform(&rng);
                submod_rng_uniform(&rng);
            }
        }
        double step = 10 * 0x1p-52 * submod_rng_uniform(&rng);
        prox(n, x, fg, 1 / (step * (1 + floor(300 * submod_rng_uniform(&rng)))), u, s);
    }
}
END_TEST

/* Images so large that their sorts would use threads of their own, and all background, which takes
 * the most memory. */
START_TEST(layer_of_large_images_without_foreground)
{
    enum { B = 4, N = 70000 };
    float *scores = malloc(B * N * sizeof *scores), *g = malloc(B * N * sizeof *g);
    uint8_t *labels = calloc(B * N, 1);
    submod_rng rng;
    submod_rng_seed(&rng, 12);
    for (size_t i = 0; i < B * N; i++) {
        scores[i] = (float)submod_rng_uniform(&rng);
    }
    submod_scores in = submod_scores_f32(scores, B, 1, N);
    submod_labels truth = submod_labels_u8(labels, B, N);
    submod_gradient to = submod_gradient_dense(g, 1, N);
    for (int threads = 1; threads <= 4; threads++) {
        ck_assert_ok(submod_set_num_threads(threads));
        ck_assert_ok(submod_prox_hinge_layer(&in, &truth, 1, NULL, &to, NULL, NULL, NULL, NULL));
        double sum = 0;
        for (size_t i = 0; i < B * N; i++) {
            sum += (double)g[i];
        }
        ck_assert_near(sum, 1, 1e-6); /* s of each image sums to F(all) = 1 */
    }
    ck_assert_ok(submod_set_num_threads(0));
    free(scores);
    free(g);
    free(labels);
}
END_TEST

START_TEST(bad_input)
{
    double x[2] = {1, 1e308}, u[2], s[2];
    uint8_t fg[2] = {1, 0};
    const double one[2] = {1, 1};
    float scores[2] = {0, INFINITY}, z[2];
    submod_fn *fn = NULL, *other = NULL;
    submod_prox_settings settings = exact();
    ck_assert_ok(submod_fn_jaccard(2, fg, &fn));
    ck_assert_ok(
        submod_fn_concave(2, NULL, &(submod_concave){.kind = SUBMOD_CONCAVE_SQRT}, &other));
    ck_assert_int_eq(submod_prox(other, x, 1, u, s, &settings, NULL, NULL), SUBMOD_EUNSUPPORTED);
    ck_assert_int_eq(submod_prox(fn, x, 1, u, s, &settings, NULL, NULL), SUBMOD_ENUMERIC);
    x[1] = 2;
    ck_assert_int_eq(submod_prox(fn, x, 1e-320, u, s, &settings, NULL, NULL), SUBMOD_ENUMERIC);
    ck_assert_int_eq(submod_prox(fn, x, 1e308, u, s, &settings, NULL, NULL), SUBMOD_ENUMERIC);
    ck_assert_int_eq(
        submod_prox_points(&(submod_points){2, NULL, fg, one}, NULL, 1, u, s, NULL, NULL),
        SUBMOD_EINVAL);
    ck_assert_int_eq(
        submod_prox_points(&(submod_points){2, x, fg, one}, NULL, -1, u, s, NULL, NULL),
        SUBMOD_EINVAL);
    ck_assert_int_eq(
        submod_prox_points(&(submod_points){2, x, fg, one}, NULL, NAN, u, s, NULL, NULL),
        SUBMOD_ENONFINITE);
    x[0] = INFINITY;
    ck_assert_int_eq(submod_prox_points(&(submod_points){2, x, fg, one}, NULL, 1, u, s, NULL, NULL),
                     SUBMOD_ENONFINITE);
    submod_scores in = submod_scores_f32(scores, 1, 1, 2), two = submod_scores_f32(scores, 1, 2, 1);
    submod_labels truth = submod_labels_u8(fg, 1, 2), short_truth = submod_labels_u8(fg, 1, 1);
    submod_gradient to = submod_gradient_dense(z, 1, 2);
    ck_assert_int_eq(submod_prox_hinge_layer(&in, &truth, 1, &to, NULL, NULL, NULL, NULL, NULL),
                     SUBMOD_ENONFINITE);
    ck_assert_ptr_nonnull(strstr(submod_last_error(), "scores[0][0][1] is inf"));
    ck_assert_int_eq(submod_prox_hinge_layer(&in, NULL, 1, &to, NULL, NULL, NULL, NULL, NULL),
                     SUBMOD_EINVAL);
    scores[1] = 1;
    ck_assert_int_eq(submod_prox_hinge_layer(&in, &truth, 0, &to, NULL, NULL, NULL, NULL, NULL),
                     SUBMOD_EINVAL);
    ck_assert_int_eq(submod_prox_hinge_layer(&two, &truth, 1, &to, NULL, NULL, NULL, NULL, NULL),
                     SUBMOD_EINVAL);
    ck_assert_int_eq(
        submod_prox_hinge_layer(&in, &short_truth, 1, &to, NULL, NULL, NULL, NULL, NULL),
        SUBMOD_EINVAL);
    ck_assert_int_eq(
        submod_prox_hinge_layer(&in, &truth, 1e-320, &to, NULL, NULL, NULL, NULL, NULL),
        SUBMOD_ENUMERIC);
    fg[1] = 2;
    ck_assert_int_eq(submod_prox_hinge_layer(&in, &truth, 1, &to, NULL, NULL, NULL, NULL, NULL),
                     SUBMOD_EINVAL);
    in.pixels = truth.pixels = 0;
    ck_assert_ok(submod_prox_hinge_layer(&in, &truth, 1, &to, &to, NULL, NULL, NULL, NULL));
    submod_fn_free(fn);
    submod_fn_free(other);
}
END_TEST

/* Points that stand for one pixel each overflow as pixels do. */
START_TEST(overflow_with_multiplicities)
{
    const double x[2] = {1e308, 0.9e308};
    const double once[2] = {1, 1};
    double u[2], s[2];
    ck_assert_int_eq(submod_prox_points(&(submod_points){2, x, (uint8_t[]){1, 0}, once}, NULL, 1, u,
                                        s, NULL, NULL),
                     SUBMOD_ENUMERIC);
}
END_TEST

/* The range, u or the objective overflows: an error or a finite result. */
START_TEST(overflow_is_an_error)
{
    const struct {
        double x[3], lambda;
    } cases[] = {{{1e308, 0, -1e308}, 1},    {{1e300, -1e300, 0}, 1e10}, {{1e200, 0, 1}, 1},
                 {{1e160, 1, -1e160}, 1e-2}, {{1, 2, 3}, 1e-320},        {{1, 2, 3}, 1e308},
                 {{1e308, 0, 0}, 1e-308}};
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_jaccard(3, (uint8_t[]){1, 0, 0}, &fn));
    size_t failed = 0;
    for (size_t k = 0; k < 2 * sizeof cases / sizeof *cases; k++) {
        double u[3], s[3];
        submod_prox_settings settings = exact();
        submod_prox_info info = {.primal = 9};
        settings.hinge = k % 2 == 1;
        submod_status status =
            submod_prox(fn, cases[k / 2].x, cases[k / 2].lambda, u, s, &settings, &info, NULL);
        ck_assert(status >= 0 || status == SUBMOD_ENUMERIC);
        failed += status < 0;
        for (int i = 0; i < 3; i++) {
            ck_assert(status < 0 || (isfinite(u[i]) && isfinite(s[i])));
        }
        ck_assert(status < 0 ? info.primal == 9 : isfinite(info.primal));
    }
    ck_assert_uint_ge(failed, 8);
    submod_fn_free(fn);
}
END_TEST

/* Every allocation fails once, on the caller's own u and s. */
START_TEST(memory_runs_out)
{
    enum { COUNT = 200 };
    submod_rng rng;
    submod_rng_seed(&rng, 31);
    double x[COUNT], u[COUNT], s[COUNT];
    uint8_t fg[COUNT];
    for (int i = 0; i < COUNT; i++) {
        x[i] = submod_rng_normal(&rng);
        fg[i] = submod_rng_below(&rng, 3) == 0;
    }
    ck_assert_ok(submod_set_allocator(&counting_allocator));
    allocations.left = -1;
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_jaccard(COUNT, fg, &fn));
    long before = allocations.live;
    long refused = 0;
    submod_status status = SUBMOD_ENOMEM;
    for (; status == SUBMOD_ENOMEM; refused += status == SUBMOD_ENOMEM) {
        submod_prox_settings settings = exact();
        submod_prox_info info = {.primal = 9};
        allocations.left = refused;
        status = submod_prox(fn, x, 1, u, s, &settings, &info, NULL);
        ck_assert(status == SUBMOD_OK || info.primal == 9);
        ck_assert_int_eq(allocations.live, before);
    }
    ck_assert_int_eq(status, SUBMOD_OK);
    ck_assert_int_ge(refused, 5);
    allocations.left = -1;
    submod_fn_free(fn);
    ck_assert_ok(submod_set_allocator(NULL));
}
END_TEST

int main(void)
{
    return RUN_TESTS(
        "prox_jaccard", overflow_with_multiplicities, brute_force, larger_instances, laws, limits,
        special_cases, work_is_bounded, same_bits_for_any_number_of_threads, points_are_many_pixels,
        points_are_very_many_pixels, histogram_keeps_its_word, histogram_special_cases,
        histogram_with_the_hinge, histogram_with_a_wide_delta, layer_is_the_prox_of_each_image,
        layer_gives_the_gradient_on_a_linear_piece, layer_of_large_images_without_foreground,
        levels_below_rounding, bad_input, overflow_is_an_error, memory_runs_out);
}
