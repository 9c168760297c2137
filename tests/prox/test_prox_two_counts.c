/* The exact prox of functions of two counts in all its forms: against Fujishige-Wolfe, against a
 * slow decomposition over all pairs of counts, against the Jaccard prox, and by its work. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "combinations.h"
#include "depth.h"
#include "support.h"

enum { KINDS = 6 };

static double root(double a, double b, double P, double N, void *ctx)
{
    (void)ctx;
    return sqrt((2 * a + b) / (2 * P + N));
}

static double bilinear(double a, double b, double P, double N, void *ctx)
{
    (void)ctx;
    double s = P > 0 ? a / P : 0, t = N > 0 ? b / N : 0;
    return 1 - (1 - s) * (1 - t);
}

static void root_values(size_t count, const double *a, const double *b, double P, double N,
                        double *F, void *ctx)
{
    for (size_t i = 0; i < count; i++) {
        F[i] = root(a[i], b[i], P, N, ctx);
    }
}

static submod_measure measure_of(int kind)
{
    submod_measure many = submod_measure_custom(NULL, NULL);
    many.ops.values = root_values;
    const submod_measure all[KINDS] = {
        submod_tversky(0.5, 2),
        submod_tversky(3, 1),
        submod_tversky(0, 1.5),
        submod_measure_custom(&(submod_measure_ops){.value = root}, NULL),
        submod_measure_custom(&(submod_measure_ops){.value = bilinear}, NULL),
        many};
    return all[kind];
}

/* Foreground with a share of 0, 1 or something between. */
static void random_mask(submod_rng *rng, uint8_t *mask, size_t n)
{
    static const double shares[] = {0, 0.2, 0.5, 0.9, 1};
    double share = shares[submod_rng_below(rng, 5)];
    for (size_t i = 0; i < n; i++) {
        mask[i] = submod_rng_uniform(rng) < share;
    }
}

/* ---- references ---- */

/* A corner of the lattice. */
typedef struct corner {
    size_t a, b;
} corner;

typedef struct slow {
    const submod_fn *fn;
    double lambda;
    size_t count[2];         /* background, foreground */
    const double *value[2];  /* descending */
    const int32_t *index[2]; /* where they came from */
    double *F;               /* (count[1] + 1) x (count[0] + 1) */
    double *u;
} slow;

static double slow_F(const slow *s, corner c)
{
    return s->F[c.a * (s->count[0] + 1) + c.b];
}

static double slow_z(const slow *s, corner from, corner to, double alpha)
{
    double z = 0;
    for (size_t i = from.a; i < to.a; i++) {
        z += s->lambda * (s->value[1][i] - alpha);
    }
    for (size_t j = from.b; j < to.b; j++) {
        z += s->lambda * (s->value[0][j] - alpha);
    }
    return z;
}

/* Splits where F - lambda (x - alpha) has a corner below 0, among all of them. */
static void slow_prox(slow *s, corner from, corner to)
{
    double count = (double)(to.a - from.a + to.b - from.b);
    double alpha =
        (slow_z(s, from, to, 0) - (slow_F(s, to) - slow_F(s, from))) / (s->lambda * count);
    double lowest = -1e-13 * (1 + fabs(slow_F(s, to)));
    corner best = from;
    for (corner c = from; c.a <= to.a; c.a++) {
        for (c.b = from.b; c.b <= to.b; c.b++) {
            double value = slow_F(s, c) - slow_F(s, from) - slow_z(s, from, c, alpha);
            if (value < lowest) {
                lowest = value;
                best = c;
            }
        }
    }
    size_t inside = best.a - from.a + best.b - from.b;
    if (inside == 0 || inside == (size_t)count) {
        for (size_t i = from.a; i < to.a; i++) {
            s->u[s->index[1][i]] = alpha;
        }
        for (size_t j = from.b; j < to.b; j++) {
            s->u[s->index[0][j]] = alpha;
        }
        return;
    }
    slow_prox(s, from, best);
    slow_prox(s, best, to);
}

/* By all pairs of counts, F by submod_fn_eval. */
static void slow_reference(const submod_fn *fn, const uint8_t *mask, const double *x, double lambda,
                           double *u)
{
    size_t n = submod_fn_size(fn);
    int32_t *order = calloc(n, sizeof *order), *set = calloc(n, sizeof *set);
    int32_t *index[2] = {calloc(n, sizeof *order), calloc(n, sizeof *order)};
    double *value[2] = {calloc(n, sizeof *x), calloc(n, sizeof *x)};
    slow s = {.fn = fn, .lambda = lambda, .u = u};
    ck_assert_ok(submod_argsort(x, n, order, NULL));
    for (size_t i = 0; i < n; i++) {
        int kind = mask[order[i]] != 0;
        index[kind][s.count[kind]] = order[i];
        value[kind][s.count[kind]++] = x[order[i]];
    }
    for (int k = 0; k < 2; k++) {
        s.index[k] = index[k];
        s.value[k] = value[k];
    }
    s.F = calloc((s.count[0] + 1) * (s.count[1] + 1), sizeof *s.F);
    for (size_t a = 0; a <= s.count[1]; a++) {
        for (size_t b = 0; b <= s.count[0]; b++) {
            memcpy(set, index[1], a * sizeof *set);
            memcpy(set + a, index[0], b * sizeof *set);
            ck_assert_ok(submod_fn_eval(fn, set, a + b, &s.F[a * (s.count[0] + 1) + b]));
        }
    }
    slow_prox(&s, (corner){0, 0}, (corner){s.count[1], s.count[0]});
    free(s.F);
    for (int k = 0; k < 2; k++) {
        free(index[k]);
        free(value[k]);
    }
    free(order);
    free(set);
}

/* ---- the prox ---- */

/* Against Fujishige-Wolfe, with ties, without foreground or background, lambda from 1e-9 to 1e9. */
START_TEST(against_wolfe)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int repeat = 0; repeat < repeats(420); repeat++) {
        enum { MOST = 24 };
        size_t n = 1 + submod_rng_below(&rng, MOST);
        uint8_t mask[MOST];
        double x[MOST], u[MOST], s[MOST], other[MOST];
        submod_measure m = measure_of(repeat % KINDS);
        double lambda = pow(10, 18 * submod_rng_uniform(&rng) - 9);
        submod_fn *fn;
        submod_prox_info info, by_wolfe;
        submod_prox_settings wolfe = submod_prox_defaults();
        wolfe.method = SUBMOD_PROX_MIN_NORM;
        wolfe.tolerance = 1e-15;
        wolfe.hinge = repeat % 4 == 3;
        submod_prox_settings exact = submod_prox_defaults();
        exact.hinge = wolfe.hinge;
        random_mask(&rng, mask, n);
        random_vector(&rng, x, n, repeat % 3 == 0);
        if (repeat % 7 == 0) { /* so that F and lambda x are of one size */
            for (size_t i = 0; i < n; i++) {
                x[i] /= lambda;
            }
        }
        ck_assert_ok(submod_fn_counts(n, mask, NULL, &m, &fn));
        ck_assert_ok(submod_prox(fn, x, lambda, u, s, &exact, &info, NULL));
        ck_assert_int_eq(info.method, SUBMOD_PROX_TWO_COUNTS);
        ck_assert_int_ge(submod_prox(fn, x, lambda, other, NULL, &wolfe, &by_wolfe, NULL), 0);
        double size = max_abs(x, n) + 1 / lambda;
        double off = sqrt(2 * fmax(by_wolfe.gap, 0) / lambda);
        for (size_t i = 0; i < n; i++) {
            ck_assert_near(u[i], other[i], 2e-13 * size + off);
            ck_assert_near(lambda * (x[i] - u[i]), s[i], 1e-13 * lambda * size);
        }
        ck_assert(info.primal <= by_wolfe.primal + 1e-13 * (1 + fabs(info.primal)));
        ck_assert(info.dual >= by_wolfe.dual - 1e-13 * (1 + fabs(info.primal)));
        ck_assert_near(info.primal - info.dual, info.gap, 1e-13 * (1 + fabs(info.primal)));
        submod_fn_free(fn);
    }
}
END_TEST

/* s is a base, among all subsets; the certificate that the library itself computes agrees. */
START_TEST(certificates)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (int repeat = 0; repeat < repeats(120); repeat++) {
        enum { N = 9 };
        uint8_t mask[N];
        double x[N], u[N] = {0}, s[N] = {0};
        submod_measure m = measure_of(repeat % KINDS);
        double lambda = pow(10, 4 * submod_rng_uniform(&rng) - 2);
        submod_fn *fn;
        random_mask(&rng, mask, N);
        random_vector(&rng, x, N, repeat % 2);
        ck_assert_ok(submod_fn_counts(N, mask, NULL, &m, &fn));
        submod_prox_info info;
        ck_assert_ok(submod_prox(fn, x, lambda, u, s, NULL, &info, NULL));
        double *F = subset_values(fn);
        double sum = 0, distance = 0;
        for (int i = 0; i < N; i++) {
            sum += s[i];
            distance += (u[i] - x[i]) * (u[i] - x[i]);
        }
        ck_assert(worst_excess(F, N, s) <= 1e-13);
        ck_assert_near(sum, F[(1 << N) - 1], 1e-13);
        ck_assert_near(info.primal, choquet(F, N, u) + lambda / 2 * distance,
                       1e-12 * (1 + fabs(info.primal)));
        free(F);
        submod_fn_free(fn);
    }
}
END_TEST

/* Hundreds of pixels, where levels merge and split in all ways, against all pairs of counts. */
START_TEST(larger_instances)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    for (int repeat = 0; repeat < repeats(90); repeat++) {
        enum { MOST = 90 };
        size_t n = 20 + submod_rng_below(&rng, MOST - 20);
        uint8_t mask[MOST];
        double x[MOST], u[MOST], expected[MOST] = {0};
        submod_measure m = measure_of(repeat % KINDS);
        double lambda = pow(10, 4 * submod_rng_uniform(&rng) - 3);
        submod_fn *fn;
        random_mask(&rng, mask, n);
        random_vector(&rng, x, n, repeat % 3 == 0);
        ck_assert_ok(submod_fn_counts(n, mask, NULL, &m, &fn));
        ck_assert_ok(submod_prox(fn, x, lambda, u, NULL, NULL, NULL, NULL));
        slow_reference(fn, mask, x, lambda, expected);
        for (size_t i = 0; i < n; i++) {
            ck_assert_near(u[i], expected[i], 1e-12 * (1 + 1 / lambda));
        }
        submod_fn_free(fn);
    }
}
END_TEST

/* Tversky with alpha = beta = 1 is Jaccard, whose prox shares no code after the sort. */
START_TEST(tversky_is_jaccard)
{
    enum { N = 20000 };
    double *x = calloc(N, sizeof *x), *u = calloc(N, sizeof *u), *v = calloc(N, sizeof *v);
    double *s = calloc(N, sizeof *s), *t = calloc(N, sizeof *t);
    uint8_t *mask = calloc(N, 1);
    submod_measure m = submod_tversky(1, 1);
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    for (int power = -9; power <= 9; power += 2) {
        submod_fn *tversky, *jaccard;
        submod_prox_info info[2];
        random_vector(&rng, x, N, power % 4 == 3);
        random_mask(&rng, mask, N);
        double lambda = pow(10, power);
        ck_assert_ok(submod_fn_counts(N, mask, NULL, &m, &tversky));
        ck_assert_ok(submod_fn_jaccard(N, mask, &jaccard));
        ck_assert_ok(submod_prox(tversky, x, lambda, u, s, NULL, &info[0], NULL));
        ck_assert_ok(submod_prox(jaccard, x, lambda, v, t, NULL, &info[1], NULL));
        for (int i = 0; i < N; i++) {
            ck_assert_near(u[i], v[i], 1e-14 * (8 + 1 / lambda));
            ck_assert_near(s[i], t[i], 1e-14 * (1 + 8 * lambda));
        }
        ck_assert_near(info[0].primal, info[1].primal, 1e-12 * (1 + fabs(info[1].primal)));
        submod_fn_free(tversky);
        submod_fn_free(jaccard);
    }
    free(x);
    free(u);
    free(v);
    free(s);
    free(t);
    free(mask);
}
END_TEST

/* ---- its work ---- */

typedef double make_x(size_t i, size_t n, submod_rng *rng);

static double geometric(size_t i, size_t n, submod_rng *rng)
{
    (void)rng;
    return exp2(-900.0 * (double)i / (double)n);
}

static double geometric_both_signs(size_t i, size_t n, submod_rng *rng)
{
    return (i % 2 ? 1 : -1) * geometric(i, n, rng);
}

static double harmonic(size_t i, size_t n, submod_rng *rng)
{
    (void)n;
    (void)rng;
    return 1 / (1 + (double)i);
}

/* Such that gains of Jaccard's kind nearly balance: everything is about to merge. */
static double critical(size_t i, size_t n, submod_rng *rng)
{
    double t = (double)i / (double)n;
    return 1 / ((0.2 + t) * (0.2 + t)) + 1e-9 * submod_rng_normal(rng);
}

static double normal(size_t i, size_t n, submod_rng *rng)
{
    (void)i;
    (void)n;
    return submod_rng_normal(rng);
}

/* Foreground below, foreground above, in turns, at random. */
static int label(int kind, size_t i, size_t n, submod_rng *rng)
{
    switch (kind) {
    case 0: return i < n / 3;
    case 1: return i > n / 2;
    case 2: return i % 2 == 0;
    default: return submod_rng_below(rng, 5) == 0;
    }
}

START_TEST(work_is_bounded)
{
    enum { N = FEWER ? 3000 : 30000 };
    make_x *const makers[] = {geometric, geometric_both_signs, harmonic, critical, normal};
    double *x = calloc(N, sizeof *x);
    uint8_t *mask = calloc(N, 1);
    for (int maker = 0; maker < 5; maker++) {
        for (int labels = 0; labels < 4; labels++) {
            for (int power = -8; power <= 4; power += 2) {
                submod_rng rng;
                submod_fn *fn;
                submod_prox_info info;
                submod_rng_seed(&rng, 5);
                for (size_t i = 0; i < N; i++) {
                    x[i] = makers[maker](i, N, &rng);
                    mask[i] = (uint8_t)label(labels, i, N, &rng);
                }
                submod_measure m = measure_of((maker + labels + power / 2 + 8) % KINDS);
                ck_assert_ok(submod_fn_counts(N, mask, NULL, &m, &fn));
                ck_assert_ok(submod_prox(fn, x, pow(10, power), NULL, NULL, NULL, &info, NULL));
                ck_assert_msg((double)info.work <= 10 * N * log2(N),
                              "x %d, labels %d, lambda 1e%d: %g per point", maker, labels, power,
                              (double)info.work / N);
                submod_fn_free(fn);
            }
        }
    }
    free(x);
    free(mask);
}
END_TEST

START_TEST(same_bits_for_any_number_of_threads)
{
    enum { N = 50000 };
    double *x = calloc(N, sizeof *x);
    double *u[2] = {calloc(N, sizeof *x), calloc(N, sizeof *x)};
    uint8_t *mask = calloc(N, 1);
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    random_vector(&rng, x, N, 0);
    for (int i = 0; i < N; i++) {
        mask[i] = submod_rng_below(&rng, 4) == 0;
    }
    submod_measure m = submod_tversky(0.5, 2);
    submod_fn *fn;
    submod_prox_info info[2];
    ck_assert_ok(submod_fn_counts(N, mask, NULL, &m, &fn));
    for (int t = 0; t < 2; t++) {
        ck_assert_ok(submod_set_num_threads(1 + 3 * t));
        ck_assert_ok(submod_prox(fn, x, 1e-4, u[t], NULL, NULL, &info[t], NULL));
    }
    ck_assert_ok(submod_set_num_threads(0));
    ck_assert_mem_eq(u[0], u[1], N * sizeof *x);
    ck_assert(info[0].primal == info[1].primal && info[0].gap == info[1].gap);
    submod_fn_free(fn);
    free(x);
    free(u[0]);
    free(u[1]);
    free(mask);
}
END_TEST

/* ---- points and histograms ---- */

START_TEST(points_are_copies)
{
    submod_rng rng;
    submod_rng_seed(&rng, 7);
    for (int repeat = 0; repeat < repeats(120); repeat++) {
        enum { MOST = 12 };
        size_t count = 1 + submod_rng_below(&rng, MOST), n = 0;
        uint8_t mask[MOST], copies[4 * MOST];
        double x[MOST], many[MOST], u[MOST], s[MOST], y[4 * MOST], v[4 * MOST], t[4 * MOST];
        random_mask(&rng, mask, count);
        random_vector(&rng, x, count, repeat % 2);
        for (size_t k = 0; k < count; k++) {
            many[k] = 1 + (double)submod_rng_below(&rng, 4);
            for (int c = 0; c < (int)many[k]; c++) {
                copies[n] = mask[k];
                y[n++] = x[k];
            }
        }
        submod_measure m = repeat % 7 == 6 ? submod_jaccard() : measure_of(repeat % KINDS);
        double lambda = pow(10, 4 * submod_rng_uniform(&rng) - 2);
        submod_prox_info info[2];
        submod_fn *fn;
        ck_assert_ok(submod_fn_counts(n, copies, NULL, &m, &fn));
        ck_assert_ok(submod_prox(fn, y, lambda, v, t, NULL, &info[0], NULL));
        ck_assert_ok(submod_prox_points(&(submod_points){count, x, mask, many}, &m, lambda, u, s,
                                        &info[1], NULL));
        size_t i = 0;
        for (size_t k = 0; k < count; k++) {
            for (int c = 0; c < (int)many[k]; c++, i++) {
                ck_assert_near(u[k], v[i], 1e-13 * (1 + 1 / lambda));
                ck_assert_near(s[k], t[i], 1e-13 * (1 + lambda));
            }
        }
        ck_assert_near(info[0].primal, info[1].primal, 1e-12 * (1 + fabs(info[0].primal)));
        ck_assert_near(info[1].gap, 0, 1e-12 * (1 + fabs(info[0].primal)));
        submod_fn_free(fn);
    }
}
END_TEST

/* Real multiplicities: s times them is a base of the function with these weights, u = x - s /
 * lambda, and f(u) = <s, u>: that is optimality in the weighted norm. */
START_TEST(weighted_points_are_optimal)
{
    submod_rng rng;
    submod_rng_seed(&rng, 8);
    for (int repeat = 0; repeat < repeats(150); repeat++) {
        enum { N = 8 };
        uint8_t mask[N];
        double x[N], w[N], u[N], s[N], base[N];
        submod_measure m = repeat % 7 == 6   ? submod_jaccard()
                           : repeat % 7 == 5 ? submod_hamming()
                                             : measure_of(repeat % KINDS);
        double lambda = pow(10, 4 * submod_rng_uniform(&rng) - 2), inner = 0;
        submod_fn *fn;
        random_mask(&rng, mask, N);
        random_vector(&rng, x, N, repeat % 2);
        for (int i = 0; i < N; i++) {
            w[i] = repeat % 3 ? 0.01 + submod_rng_uniform(&rng) : 0.5;
        }
        ck_assert_ok(
            submod_prox_points(&(submod_points){N, x, mask, w}, &m, lambda, u, s, NULL, NULL));
        ck_assert_ok(submod_fn_counts(N, mask, w, &m, &fn));
        for (int i = 0; i < N; i++) {
            base[i] = w[i] * s[i];
            inner += base[i] * u[i];
            ck_assert_near(u[i], x[i] - s[i] / lambda, 1e-13 * (1 + 1 / lambda));
        }
        double *F = subset_values(fn);
        ck_assert(worst_excess(F, N, base) <= 1e-13);
        ck_assert_near(choquet(F, N, u), inner, 1e-12 * (1 + max_abs(u, N)));
        free(F);
        submod_fn_free(fn);
    }
}
END_TEST

START_TEST(histogram_keeps_its_word)
{
    enum { N = 4000 };
    static double x[N], u[N], exact[N];
    uint8_t mask[N];
    submod_rng rng;
    submod_rng_seed(&rng, 9);
    for (int repeat = 0; repeat < repeats(24); repeat++) {
        submod_measure m = measure_of(repeat % KINDS);
        submod_prox_settings settings = submod_prox_defaults();
        settings.accuracy = 1e-3;
        double lambda = pow(10, 4 * submod_rng_uniform(&rng) - 3);
        submod_fn *fn;
        submod_prox_info info;
        random_mask(&rng, mask, N);
        for (int i = 0; i < N; i++) {
            x[i] = submod_rng_normal(&rng);
        }
        ck_assert_ok(submod_fn_counts(N, mask, NULL, &m, &fn));
        ck_assert_ok(submod_prox(fn, x, lambda, exact, NULL, NULL, NULL, NULL));
        ck_assert_ok(submod_prox(fn, x, lambda, u, NULL, &settings, &info, NULL));
        ck_assert(info.error > 0 && info.error <= settings.accuracy);
        for (int i = 0; i < N; i++) {
            ck_assert_near(u[i], exact[i], info.error * (1 + 1e-9) + 1e-13 / lambda);
        }
        ck_assert(info.gap >= -1e-12 * (1 + fabs(info.primal)));
        ck_assert_int_eq(info.method, SUBMOD_PROX_TWO_COUNTS);
        submod_fn_free(fn);
    }
}
END_TEST

/* ---- the layer ---- */

START_TEST(layer_takes_measures)
{
    enum { IMAGES = 3, PIXELS = 50 };
    float scores[IMAGES * PIXELS], moved[IMAGES * PIXELS];
    int64_t labels[IMAGES * PIXELS];
    submod_rng rng;
    submod_rng_seed(&rng, 10);
    for (int i = 0; i < IMAGES * PIXELS; i++) {
        scores[i] = (float)submod_rng_normal(&rng);
        labels[i] = submod_rng_below(&rng, 3) == 0;
    }
    for (int kind = 0; kind < KINDS; kind++) {
        submod_measure m = measure_of(kind);
        submod_loss_settings settings = submod_loss_defaults();
        settings.per_image = 1;
        settings.measure = &m;
        submod_prox_info info;
        submod_scores in = submod_scores_f32(scores, IMAGES, 1, PIXELS);
        submod_labels truth = submod_labels_i64(labels, IMAGES, PIXELS);
        submod_gradient out = submod_gradient_dense(moved, 1, PIXELS);
        ck_assert_ok(
            submod_prox_hinge_layer(&in, &truth, 0.05, &out, NULL, &settings, NULL, &info, NULL));
        ck_assert_int_eq(info.method, SUBMOD_PROX_TWO_COUNTS);
        for (int b = 0; b < IMAGES; b++) {
            uint8_t mask[PIXELS];
            double margin[PIXELS], u[PIXELS];
            submod_prox_settings hinge = submod_prox_defaults();
            hinge.hinge = 1;
            submod_fn *fn;
            for (int i = 0; i < PIXELS; i++) {
                mask[i] = labels[b * PIXELS + i] == 1;
                margin[i] = 1 - (mask[i] ? 1 : -1) * (double)scores[b * PIXELS + i];
            }
            ck_assert_ok(submod_fn_counts(PIXELS, mask, NULL, &m, &fn));
            ck_assert_ok(submod_prox(fn, margin, 0.05, u, NULL, &hinge, NULL, NULL));
            for (int i = 0; i < PIXELS; i++) {
                ck_assert_near((mask[i] ? 1 : -1) * (1 - u[i]), (double)moved[b * PIXELS + i],
                               1e-6);
            }
            submod_fn_free(fn);
        }
    }
}
END_TEST

/* ---- what goes wrong ---- */

typedef struct failing {
    int good;       /* calls that succeed before the first that does not */
    double instead; /* infinite: once only; the walk may go another way then */
} failing;

static double fail_after(double a, double b, double P, double N, void *ctx)
{
    failing *f = ctx;
    bool good = f->good-- > 0 || (f->good < -1 && isinf(f->instead));
    return good ? root(a, b, P, N, NULL) : f->instead;
}

static void fail_after_values(size_t count, const double *a, const double *b, double P, double N,
                              double *F, void *ctx)
{
    for (size_t i = 0; i < count; i++) {
        F[i] = fail_after(a[i], b[i], P, N, ctx);
    }
}

START_TEST(failing_measures)
{
    enum { N = 12 };
    uint8_t mask[N];
    double x[N], many[N];
    submod_rng rng;
    submod_rng_seed(&rng, 11);
    for (int i = 0; i < N; i++) {
        mask[i] = i % 3 == 0;
        x[i] = submod_rng_normal(&rng);
        many[i] = 1 + i % 2;
    }
    for (int good = 0; good < 120; good++) {
        for (int kind = 0; kind < 12; kind++) {
            failing f = {good, kind < 6 ? NAN : INFINITY};
            submod_measure m =
                submod_measure_custom(&(submod_measure_ops){.value = fail_after}, &f);
            m.ops.values = kind % 2 ? fail_after_values : NULL;
            double u[N], s[N];
            submod_prox_settings settings = submod_prox_defaults();
            submod_prox_info info = {.primal = 7};
            submod_status status;
            if (kind % 6 < 2) {
                status = submod_prox_points(&(submod_points){N, x, mask, many}, &m, 0.1, u, s,
                                            &info, NULL);
            } else {
                submod_fn *fn;
                settings.accuracy = kind % 6 < 4 ? 0 : 1e-3;
                ck_assert_ok(submod_fn_counts(N, mask, NULL, &m, &fn));
                status = submod_prox(fn, x, 0.1, u, s, &settings, &info, NULL);
                submod_fn_free(fn);
            }
            ck_assert_int_eq(status, f.good >= 0 ? SUBMOD_OK : SUBMOD_ECALLBACK);
            ck_assert(f.good >= 0 || info.primal == 7);
        }
    }
}
END_TEST

START_TEST(bad_input)
{
    const double x[] = {1, 2}, one[] = {1, 1}, zero[] = {1, 0}, nan[] = {1, NAN},
                 inf[] = {INFINITY, 1}, huge[] = {1e308, 1e308}, lost[] = {1, 1e-16};
    const uint8_t mask[] = {1, 0}, one_kind[] = {1, 1};
    double u[2];
    submod_measure m = submod_tversky(0.5, 2), dice = submod_tversky(0.5, 0.5);
#define POINTS(x, mask, many, m, lambda) \
    submod_prox_points(&(submod_points){2, x, mask, many}, m, lambda, u, NULL, NULL, NULL)
    assert_error(POINTS(x, mask, zero, &m, 1), SUBMOD_EINVAL, "multiplicity[1]");
    assert_error(POINTS(x, mask, nan, &m, 1), SUBMOD_ENONFINITE, "multiplicity[1]");
    assert_error(POINTS(x, mask, inf, &m, 1), SUBMOD_ENONFINITE, "multiplicity[0]");
    assert_error(POINTS(x, mask, huge, &m, 1), SUBMOD_ENUMERIC, "overflows");
    assert_error(POINTS(x, one_kind, lost, &m, 1), SUBMOD_ENUMERIC, "multiplicity[1] = 1e-16");
    ck_assert_ok(POINTS(x, mask, lost, &m, 1));
    assert_error(POINTS(nan, mask, one, &m, 1), SUBMOD_ENONFINITE, "value[1]");
    assert_error(POINTS(x, mask, one, &m, 0), SUBMOD_EINVAL, "lambda");
    assert_error(POINTS(x, mask, one, &dice, 1), SUBMOD_EINVAL, "Dice");
    assert_error(POINTS(x, NULL, one, &m, 1), SUBMOD_EINVAL, "NULL");
    assert_error(POINTS(x, mask, NULL, &m, 1), SUBMOD_EINVAL, "NULL");
    ck_assert_ok(
        submod_prox_points(&(submod_points){0, NULL, NULL, NULL}, &m, 1, NULL, NULL, NULL, NULL));
    ck_assert_ok(POINTS(x, mask, one, NULL, 1));
    const double far[] = {1e308, -1e308};
    submod_fn *fn;
    ck_assert_ok(submod_fn_counts(2, mask, NULL, &m, &fn));
    submod_prox_settings settings = submod_prox_defaults();
    settings.accuracy = 1e-12;
    assert_error(submod_prox(fn, x, 1, u, NULL, &settings, NULL, NULL), SUBMOD_EUNSUPPORTED,
                 "bins");
    assert_error(submod_prox(fn, far, 1, u, NULL, NULL, NULL, NULL), SUBMOD_ENUMERIC, "overflow");
    submod_fn_free(fn);
}
END_TEST

START_TEST(memory_runs_out)
{
    enum { N = 300 };
    uint8_t mask[N];
    double x[N], u[N];
    submod_rng rng;
    submod_rng_seed(&rng, 12);
    for (int i = 0; i < N; i++) {
        x[i] = submod_rng_normal(&rng);
        mask[i] = submod_rng_below(&rng, 2) == 0;
    }
    submod_measure m = submod_tversky(0.5, 2);
    ck_assert_ok(submod_set_allocator(&counting_allocator));
    allocations.left = -1;
    submod_fn *fn = NULL;
    ck_assert_ok(submod_fn_counts(N, mask, NULL, &m, &fn));
    long before = allocations.live, refused = 0;
    submod_status status = SUBMOD_ENOMEM;
    for (; status == SUBMOD_ENOMEM; refused += status == SUBMOD_ENOMEM) {
        allocations.left = refused;
        status = submod_prox(fn, x, 1e-3, u, NULL, NULL, NULL, NULL);
        ck_assert_int_eq(allocations.live, before);
    }
    ck_assert_ok(status);
    ck_assert_int_ge(refused, 8);
    allocations.left = -1;
    submod_fn_free(fn);
    ck_assert_ok(submod_set_allocator(NULL));
}
END_TEST

/* Equal measures on equal masks fold to one part, which its own method solves. */
START_TEST(sums_fold)
{
    enum { N = 40 };
    uint8_t mask[N];
    double x[N], u[N], v[N];
    submod_rng rng;
    submod_rng_seed(&rng, 13);
    for (int i = 0; i < N; i++) {
        mask[i] = i % 3 == 0;
        x[i] = submod_rng_normal(&rng);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        submod_measure m = measure_of(kind), other = submod_tversky(0.25, 2);
        const double half[] = {0.5, 1.5};
        submod_fn *f[2], *sum;
        submod_prox_info info;
        ck_assert_ok(submod_fn_counts(N, mask, NULL, &m, &f[0]));
        ck_assert_ok(submod_fn_counts(N, mask, NULL, &m, &f[1]));
        ck_assert_ok(combine_sum(f, half, 2, &sum));
        ck_assert_ok(submod_prox(sum, x, 0.2, u, NULL, NULL, &info, NULL));
        ck_assert_int_eq(info.method, SUBMOD_PROX_TWO_COUNTS);
        ck_assert_ok(submod_prox(f[0], x, 0.1, v, NULL, NULL, NULL, NULL));
        for (int i = 0; i < N; i++) {
            ck_assert_near(u[i], v[i], 1e-12);
        }
        submod_fn_free(sum);
        submod_fn_free(f[1]);
        ck_assert_ok(submod_fn_counts(N, mask, NULL, &other, &f[1]));
        ck_assert_ok(combine_sum(f, half, 2, &sum));
        ck_assert_ok(submod_prox(sum, x, 0.2, u, NULL, NULL, &info, NULL));
        ck_assert_int_eq(info.method, SUBMOD_PROX_SUM);
        submod_fn_free(sum);
        submod_fn_free(f[0]);
        submod_fn_free(f[1]);
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("prox_two_counts", against_wolfe, certificates, larger_instances,
                     tversky_is_jaccard, work_is_bounded, same_bits_for_any_number_of_threads,
                     points_are_copies, weighted_points_are_optimal, histogram_keeps_its_word,
                     layer_takes_measures, failing_measures, bad_input, memory_runs_out, sums_fold);
}
