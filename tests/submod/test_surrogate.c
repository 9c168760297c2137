/* Surrogates of losses that are not submodular: parts, values over all sets, laws, refusals. */
#include <submod/surrogate.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "support.h"

/* ---- measures ---- */

static double dice(double a, double b, double P, double N, void *ctx)
{
    (void)N;
    (void)ctx;
    return a + b > 0 ? (a + b) / (2 * P - a + b) : 0;
}

/* Neither submodular nor supermodular. */
static double odd(double a, double b, double P, double N, void *ctx)
{
    (void)P;
    (void)N;
    (void)ctx;
    double late = fmax(a - 2, 0);
    return fmin(a, 1) + late * late + 0.5 * fmax(b - 1, 0) + 0.3 * a * b - 0.1 * b * b;
}

enum { MEASURES = 7 };

static submod_measure measure_of(int which)
{
    switch (which) {
    case 0: return submod_measure_tversky(0.5, 0.5);
    case 1: return submod_measure_custom(dice, NULL);
    case 2: return submod_measure_custom(odd, NULL);
    case 3: return submod_measure_tversky(2, 0.75);
    case 4: return submod_measure_tversky(1, 0.125);
    case 5: return submod_measure_jaccard();
    default: return submod_measure_tversky(0.5, 2);
    }
}

/* F once more, by its formula. */
static double value_of(const submod_measure *m, double a, double b, double P, double N)
{
    if (m->type == SUBMOD_MEASURE_CUSTOM) {
        return m->value(a, b, P, N, NULL);
    }
    double alpha = m->type == SUBMOD_MEASURE_JACCARD ? 1 : m->alpha;
    double beta = m->type == SUBMOD_MEASURE_JACCARD ? 1 : m->beta;
    double right = P - a;
    return a + b > 0 ? 1 - right / (right + beta * a + alpha * b) : 0;
}

/* ---- parts ---- */

enum { P = 6, N = 5, WIDTH = N + 1, PAIRS = (P + 1) * WIDTH };

static double second(const double *x, size_t i, size_t step, size_t other)
{
    return x[i + step + other] - x[i + step] - x[i + other] + x[i];
}

START_TEST(parts_are_what_they_should_be)
{
    for (int which = 0; which < MEASURES; which++) {
        submod_measure m = measure_of(which);
        double f[PAIRS], g[PAIRS];
        ck_assert_ok(submod_general_parts(&m, P, N, f, g, NULL));
        for (size_t i = 0; i < PAIRS; i++) {
            size_t a = i / WIDTH, b = i % WIDTH;
            ck_assert_near(f[i] + g[i], value_of(&m, (double)a, (double)b, P, N), 1e-13);
            ck_assert(g[i] >= 0 && (a + b > 1 || g[i] == 0));
            if (a + 2 <= P) {
                ck_assert(second(f, i, WIDTH, WIDTH) <= 1e-13);
                ck_assert(second(g, i, WIDTH, WIDTH) >= -1e-13);
            }
            if (b + 2 <= N) {
                ck_assert(second(f, i, 1, 1) <= 1e-13);
                ck_assert(second(g, i, 1, 1) >= -1e-13);
            }
            if (a < P && b < N) {
                ck_assert(second(f, i, 1, WIDTH) <= 1e-13);
                ck_assert(second(g, i, 1, WIDTH) >= -1e-13);
            }
        }
        bool submodular = which >= 5;
        ck_assert_int_eq(g[PAIRS - 1] == 0, submodular);
    }
}
END_TEST

/* g of Dice depends on the foreground alone: a / (2P - a) - a / (2P - 1). */
START_TEST(part_of_dice)
{
    for (int which = 0; which < 2; which++) {
        submod_measure m = measure_of(which);
        double g[PAIRS];
        ck_assert_ok(submod_general_parts(&m, P, N, NULL, g, NULL));
        for (size_t i = 0; i < PAIRS; i++) {
            size_t wrong = i / WIDTH;
            double a = (double)wrong;
            ck_assert_near(g[i], a / (2 * P - a) - a / (2 * P - 1), 1e-14);
        }
    }
    double by_default[PAIRS], given[PAIRS];
    submod_measure m = measure_of(0);
    ck_assert_ok(submod_general_parts(NULL, P, N, by_default, NULL, NULL));
    ck_assert_ok(submod_general_parts(&m, P, N, given, NULL, NULL));
    ck_assert_mem_eq(by_default, given, sizeof given);
}
END_TEST

/* ---- values ---- */

enum { MOST = 8 };

typedef struct instance {
    submod_measure measure;
    size_t n, P, N;
    uint8_t labels[MOST];
    double f[PAIRS * 4], g[PAIRS * 4];
} instance;

static instance random_instance(submod_rng *rng, int which)
{
    instance e = {.measure = measure_of(which), .n = 1 + submod_rng_below(rng, MOST)};
    for (size_t i = 0; i < e.n; i++) {
        e.labels[i] = (uint8_t)(3 * submod_rng_below(rng, 2)); /* any number but 0 will do */
        e.P += e.labels[i] != 0;
    }
    e.N = e.n - e.P;
    ck_assert_ok(submod_general_parts(&e.measure, e.P, e.N, e.f, e.g, NULL));
    return e;
}

static void random_errors(submod_rng *rng, double *m, size_t n, bool coarse)
{
    for (size_t i = 0; i < n; i++) {
        m[i] = coarse ? (double)submod_rng_below(rng, 7) / 4 - 0.25 : 0.5 + submod_rng_normal(rng);
    }
}

/* The entry of f or g for a set. */
static double of_set(const instance *e, const double *table, uint32_t set)
{
    size_t a = 0, b = 0;
    for (size_t i = 0; i < e->n; i++) {
        a += set >> i & 1 && e->labels[i];
        b += set >> i & 1 && !e->labels[i];
    }
    return table[a * (e->N + 1) + b];
}

/* Both parts over all sets: Choquet's integral, and the maximum. */
static double by_definition(const instance *e, const double *m, bool hinge)
{
    double F[1 << MOST];
    double best = 0;
    for (uint32_t set = 0; set < 1U << e->n; set++) {
        F[set] = of_set(e, e->f, set);
        double slack = 1;
        for (size_t i = 0; i < e->n; i++) {
            slack -= set >> i & 1 ? 1 - m[i] : 0;
        }
        best = fmax(best, of_set(e, e->g, set) * slack);
    }
    double first = choquet(F, e->n, m);
    return (hinge ? fmax(first, 0) : first) + best;
}

static double surrogate(const instance *e, const double *m, bool hinge, double *gradient)
{
    double value;
    submod_surrogate_info info;
    submod_surrogate_settings s = submod_surrogate_defaults();
    s.hinge = hinge;
    ck_assert_ok(submod_general_surrogate(&e->measure, e->labels, m, e->n, &value, gradient, &s,
                                          &info, NULL));
    ck_assert(value == info.submodular + info.supermodular);
    ck_assert(info.foreground <= e->P && info.background <= e->N);
    return value;
}

START_TEST(values_over_all_sets)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int round = 0; round < 280; round++) {
        instance e = random_instance(&rng, round % MEASURES);
        double m[MOST];
        random_errors(&rng, m, e.n, round % 3 == 0);
        for (int hinge = 0; hinge < 2; hinge++) {
            double exact = by_definition(&e, m, hinge);
            ck_assert_near(surrogate(&e, m, hinge, NULL), exact, 1e-12 * (1 + fabs(exact)));
        }
    }
}
END_TEST

START_TEST(extends_the_loss)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (int round = 0; round < 70; round++) {
        instance e = random_instance(&rng, round % MEASURES);
        for (uint32_t wrong = 0; wrong < 1U << e.n; wrong++) {
            double m[MOST];
            for (size_t i = 0; i < e.n; i++) {
                m[i] = wrong >> i & 1;
            }
            double F = of_set(&e, e.f, wrong) + of_set(&e, e.g, wrong);
            ck_assert_near(surrogate(&e, m, false, NULL), F, 1e-12);
        }
    }
}
END_TEST

static double dot(const double *g, const double *to, const double *from, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += g[i] * (to[i] - from[i]);
    }
    return sum;
}

START_TEST(convex_and_above_its_tangents)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    for (int round = 0; round < 1400; round++) {
        instance e = random_instance(&rng, round % MEASURES);
        bool hinge = round % 2;
        double x[MOST], y[MOST], between[MOST], gradient[MOST];
        random_errors(&rng, x, e.n, round % 3 == 0);
        random_errors(&rng, y, e.n, round % 5 == 0);
        double t = submod_rng_uniform(&rng);
        for (size_t i = 0; i < e.n; i++) {
            between[i] = x[i] + t * (y[i] - x[i]);
        }
        double fx = surrogate(&e, x, hinge, gradient);
        double fy = surrogate(&e, y, hinge, NULL);
        double slack = 1e-12 * (1 + fabs(fx) + fabs(fy));
        ck_assert(surrogate(&e, between, hinge, NULL) <= (1 - t) * fx + t * fy + slack);
        ck_assert(fy >= fx + dot(gradient, y, x, e.n) - slack);
    }
}
END_TEST

/* Equal errors of equal labels: equal entries, whatever their positions. */
START_TEST(ties_are_shared)
{
    enum { FOREGROUND = 20, ALL = 22 };
    uint8_t labels[ALL] = {0};
    double m[ALL], to[ALL], g[ALL];
    for (size_t i = 0; i < ALL; i++) {
        labels[i] = i < FOREGROUND;
        m[i] = i < FOREGROUND ? 0.95 : 0.5;
    }
    double value, other;
    submod_surrogate_info info;
    ck_assert_ok(submod_general_surrogate(NULL, labels, m, ALL, &value, g, NULL, &info, NULL));
    ck_assert(info.foreground > 0 && info.foreground < FOREGROUND); /* it divides the block */
    for (size_t i = 1; i < FOREGROUND; i++) {
        ck_assert(g[i] == g[0]);
    }
    ck_assert(g[FOREGROUND] == g[FOREGROUND + 1]);
    for (int step = -4; step <= 4; step++) {
        for (size_t i = 0; i < ALL; i++) {
            to[i] = m[i] + 2.5e-4 * step;
        }
        ck_assert_ok(
            submod_general_surrogate(NULL, labels, to, ALL, &other, NULL, NULL, NULL, NULL));
        ck_assert(other >= value + dot(g, to, m, ALL) - 1e-13);
    }
}
END_TEST

/* ---- size, threads ---- */

START_TEST(many_pixels)
{
    const size_t n = 300000;
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    uint8_t *labels = malloc(n);
    double *m = malloc(3 * n * sizeof *m);
    ck_assert(labels && m);
    for (size_t i = 0; i < n; i++) {
        labels[i] = submod_rng_below(&rng, 5) == 0;
        m[i] = submod_rng_uniform(&rng);
    }
    double value[2];
    for (int round = 0; round < 2; round++) {
        ck_assert_ok(submod_set_num_threads(round ? 4 : 1));
        ck_assert_ok(submod_general_surrogate(NULL, labels, m, n, &value[round],
                                              m + (1 + (size_t)round) * n, NULL, NULL, NULL));
    }
    ck_assert_ok(submod_set_num_threads(0));
    ck_assert(value[0] == value[1] && value[0] > 0 && value[0] < 1);
    for (size_t i = 0; i < n; i++) {
        ck_assert(m[n + i] == m[2 * n + i]);
    }
    free(labels);
    free(m);
}
END_TEST

/* ---- refusals ---- */

static double fails(double a, double b, double P_, double N_, void *ctx)
{
    (void)b;
    (void)P_;
    (void)N_;
    (void)ctx;
    return a > 1 ? NAN : 0;
}

static double not_normal(double a, double b, double P_, double N_, void *ctx)
{
    (void)P_;
    (void)N_;
    (void)ctx;
    return 1 + a + b;
}

static void require_refused(const submod_measure *m, const uint8_t *labels, const double *errors,
                            size_t n, int status, const char *words)
{
    double value = 7;
    double gradient[4] = {7, 7, 7, 7};
    submod_surrogate_info info = {.foreground = 7};
    assert_error(
        submod_general_surrogate(m, labels, errors, n, &value, gradient, NULL, &info, NULL), status,
        words);
    ck_assert(value == 7 && gradient[0] == 7 && gradient[3] == 7 && info.foreground == 7);
}

START_TEST(bad_arguments)
{
    const uint8_t labels[4] = {1, 0, 1, 1};
    double m[4] = {0.5, 0.25, 0.5, 1};
    require_refused(NULL, NULL, m, 4, SUBMOD_EINVAL, "labels is NULL");
    require_refused(NULL, labels, NULL, 4, SUBMOD_EINVAL, "errors is NULL");
    require_refused(NULL, labels, m, (size_t)1 << 31, SUBMOD_EINVAL, "2^31 - 1");
    assert_error(submod_general_surrogate(NULL, labels, m, 4, NULL, NULL, NULL, NULL, NULL),
                 SUBMOD_EINVAL, "value is NULL");
    submod_measure wrong = submod_measure_tversky(1, 0);
    require_refused(&wrong, labels, m, 4, SUBMOD_EINVAL, "beta = 0 must be from 1e-12");
    wrong = submod_measure_tversky(1, NAN);
    require_refused(&wrong, labels, m, 4, SUBMOD_EINVAL, "beta");
    wrong = submod_measure_tversky(-1, 0.5);
    require_refused(&wrong, labels, m, 4, SUBMOD_EINVAL, "alpha = -1");
    wrong = submod_measure_custom(NULL, NULL);
    require_refused(&wrong, labels, m, 4, SUBMOD_EINVAL, "needs value or values");
    wrong = submod_measure_custom(fails, NULL);
    require_refused(&wrong, labels, m, 4, SUBMOD_ECALLBACK, "F(a = 2, b = 0) =");
    wrong = submod_measure_custom(not_normal, NULL);
    require_refused(&wrong, labels, m, 4, SUBMOD_ECALLBACK, "0 where nothing is wrong");
    wrong.struct_size = 0;
    require_refused(&wrong, labels, m, 4, SUBMOD_EINVAL, "submod_measure");
    m[1] = NAN;
    require_refused(NULL, labels, m, 4, SUBMOD_ENONFINITE, "errors[1] is");
    m[0] = m[1] = m[2] = m[3] = 1e308;
    wrong = submod_measure_custom(odd, NULL);
    require_refused(&wrong, labels, m, 4, SUBMOD_ENUMERIC, "overflows");
    assert_error(submod_general_parts(NULL, 1 << 14, 1 << 13, NULL, NULL, NULL),
                 SUBMOD_EUNSUPPORTED, "2^26");
    assert_error(submod_general_parts(NULL, SIZE_MAX, SIZE_MAX, NULL, NULL, NULL),
                 SUBMOD_EUNSUPPORTED, "2^26");
}
END_TEST

START_TEST(nothing)
{
    double value = 7;
    for (int which = 0; which < MEASURES; which++) {
        submod_measure m = measure_of(which);
        ck_assert_ok(submod_general_surrogate(&m, NULL, NULL, 0, &value, NULL, NULL, NULL, NULL));
        ck_assert(value == 0);
    }
}
END_TEST

START_TEST(memory_runs_out)
{
    const uint8_t labels[4] = {1, 0, 1, 1};
    const double m[4] = {0.5, 0.25, 0.5, 1};
    ck_assert_ok(submod_set_allocator(&counting_allocator));
    for (int which = 0; which < 3; which++) {
        submod_measure measure = measure_of(which);
        submod_status status = SUBMOD_ENOMEM;
        for (long left = 0; status != SUBMOD_OK; left++) {
            double value = 7;
            allocations = (allocation_counts){.left = left};
            status =
                submod_general_surrogate(&measure, labels, m, 4, &value, NULL, NULL, NULL, NULL);
            ck_assert_int_eq(allocations.live, 0);
            ck_assert(status == SUBMOD_OK || (status == SUBMOD_ENOMEM && value == 7));
            ck_assert_int_lt(left, 100);
        }
        status = SUBMOD_ENOMEM;
        for (long left = 0; status != SUBMOD_OK; left++) {
            allocations = (allocation_counts){.left = left};
            double f[12] = {7};
            status = submod_general_parts(&measure, 2, 3, f, NULL, NULL);
            ck_assert_int_eq(allocations.live, 0);
            ck_assert(status == SUBMOD_OK || (status == SUBMOD_ENOMEM && f[0] == 7));
            ck_assert_int_lt(left, 100);
        }
    }
    allocations.left = -1;
    ck_assert_ok(submod_set_allocator(NULL));
}
END_TEST

int main(void)
{
    return RUN_TESTS("surrogate", parts_are_what_they_should_be, part_of_dice, values_over_all_sets,
                     extends_the_loss, convex_and_above_its_tangents, ties_are_shared, many_pixels,
                     bad_arguments, nothing, memory_runs_out);
}
