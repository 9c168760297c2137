/* Block-coordinate Frank-Wolfe: its theorem at every pass, a dual method with all its variables
 * written out, the bundle method, and the Lovász hinge of a linear model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { BLOCKS = 7, PLANES = 6, SIZE = 5, PASSES = 40 };

/* f = mean over k < m of the largest of so many planes; among equals the first counts. */
typedef struct blocks {
    size_t m, planes;
    double a[BLOCKS][PLANES][SIZE], b[BLOCKS][PLANES];
} blocks;

static double dot(const double *x, const double *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

static size_t highest(const blocks *f, size_t k, const double *x)
{
    size_t best = 0;
    for (size_t j = 1; j < f->planes; j++) {
        if (dot(f->a[k][j], x, SIZE) + f->b[k][j] > dot(f->a[k][best], x, SIZE) + f->b[k][best]) {
            best = j;
        }
    }
    return best;
}

static submod_status subgradient(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    const blocks *f = ctx;
    size_t first = batch == SUBMOD_FULL_BATCH ? 0 : batch;
    size_t end = batch == SUBMOD_FULL_BATCH ? f->m : batch + 1;
    *value = 0;
    memset(g, 0, SIZE * sizeof *g);
    for (size_t k = first; k < end; k++) {
        size_t j = highest(f, k, x);
        *value += (dot(f->a[k][j], x, SIZE) + f->b[k][j]) / (double)(end - first);
        for (size_t i = 0; i < SIZE; i++) {
            g[i] += f->a[k][j][i] / (double)(end - first);
        }
    }
    return SUBMOD_OK;
}

/* Every third: all slopes equal; every fifth: opposite ones of very different size. */
static submod_problem random_blocks(blocks *f, submod_rng *rng, int trial)
{
    f->m = trial % 4 == 0 ? 1 : BLOCKS;
    f->planes = trial % 7 == 6 ? 1 : PLANES;
    random_vector(rng, &f->a[0][0][0], sizeof f->a / sizeof(double), trial % 2);
    random_vector(rng, &f->b[0][0], sizeof f->b / sizeof(double), trial % 2);
    for (size_t k = 0; k < BLOCKS; k++) {
        for (size_t i = 0; i < SIZE && trial % 5 == 4; i++) {
            f->a[k][1][i] = -f->a[k][0][i];
            f->a[k][2][i] = 1e-3 * f->a[k][2][i];
        }
        for (size_t j = 1; j < PLANES && trial % 3 == 2; j++) {
            memcpy(f->a[k][j], f->a[k][0], sizeof f->a[k][0]);
        }
    }
    return (submod_problem){
        .dimension = SIZE, .batches = f->m, .ctx = f, .subgradient = subgradient};
}

/* The largest |subgradient| of one minibatch. */
static double steepest(const blocks *f)
{
    double most = 0;
    for (size_t k = 0; k < f->m; k++) {
        for (size_t j = 0; j < f->planes; j++) {
            most = fmax(most, sqrt(dot(f->a[k][j], f->a[k][j], SIZE)));
        }
    }
    return most;
}

/* Bounds on the minimum, no further apart than 1e-9. */
static double minimum(const submod_problem *p, double decay)
{
    double *x = calloc(p->dimension, sizeof *x);
    submod_optim_info info;
    submod_bundle_settings s = submod_bundle_defaults();
    s.run.weight_decay = decay;
    s.run.tolerance = 1e-9;
    s.run.max_iterations = 5000;
    ck_assert_ok(submod_bundle(p, x, &s, &info, NULL));
    free(x);
    return info.f;
}

static submod_bcfw_settings settings_for(double decay, submod_batch_order order, size_t passes)
{
    submod_bcfw_settings s = submod_bcfw_defaults();
    s.run.weight_decay = decay;
    s.run.tolerance = 0;
    s.run.max_iterations = passes;
    s.order = order;
    return s;
}

static submod_optim_info run(const submod_problem *p, double *x, const submod_bcfw_settings *s)
{
    submod_optim_info info;
    submod_status status = submod_bcfw(p, x, s, &info, NULL);
    ck_assert_msg(status >= 0, "%s", submod_last_error());
    return info;
}

/* J, by its definition. */
static double objective(const submod_problem *p, double decay, const double *x)
{
    double f, g[64];
    ck_assert(p->dimension <= 64);
    p->subgradient(p->ctx, SUBMOD_FULL_BATCH, x, &f, g);
    return f + decay / 2 * dot(x, x, p->dimension);
}

/* Without blocks there is no chance in the theorem: it holds at every pass. */
START_TEST(rate_of_frank_wolfe_at_every_pass)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    double closest = 0, closest_gap = 0;
    for (int trial = 0; trial < 12; trial++) {
        blocks f;
        submod_problem p = random_blocks(&f, &rng, trial);
        double decay = pow(10, -(trial % 3)), star = minimum(&p, decay), first = 0, gap = INFINITY;
        double curvature = 4 * steepest(&f) * steepest(&f) / decay, last = -INFINITY;
        for (size_t k = 0; k <= PASSES; k++) {
            double x[SIZE] = {1, -1, 1}, averaged[SIZE] = {1, -1, 1};
            submod_bcfw_settings s = settings_for(decay, SUBMOD_BATCH_FULL, k);
            submod_optim_info info = run(&p, x, &s);
            ck_assert_near(info.f, objective(&p, decay, x), 1e-11 * (1 + fabs(info.f)));
            ck_assert(info.lower_bound <= star + 1e-11 * (1 + fabs(star)));
            ck_assert(info.lower_bound >= last - 1e-11 * (1 + fabs(last)));
            last = info.lower_bound;
            first = k == 0 ? star - last : first;
            double scale = curvature + first, step = (double)k + 1;
            ck_assert(star - last <= 2 / (step + 1) * scale + 1e-9);
            closest = fmax(closest, (star - last) / (2 / (step + 1) * scale));
            gap = k > 0 ? fmin(gap, info.gap) : gap;
            ck_assert(k == 0 || gap <= 6 / step * scale + 1e-9);
            s.average = 1;
            info = run(&p, averaged, &s);
            ck_assert(k == 0 || info.gap <= 6 / step * scale + 1e-9);
            closest_gap = k > 0 ? fmax(closest_gap, info.gap / (6 / step * scale)) : closest_gap;
        }
    }
    /* A bound that nothing comes near would hold for wrong code, too. */
    ck_assert_msg(closest > 0.05 && closest_gap > 0.01, "%g %g", closest, closest_gap);
}
END_TEST

/* With blocks in random order, in the mean over many seeds. */
START_TEST(rate_in_expectation)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    enum { SEEDS = 100 };
    static const size_t counts[] = {0, 1, 2, 3, 4, 6, 10, 20, 40};
    for (int trial = 1; trial < 8; trial++) {
        blocks f;
        submod_problem p = random_blocks(&f, &rng, trial);
        double decay = 0.1, star = minimum(&p, decay), m = (double)f.m, scale = 0;
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            const size_t passes = counts[c];
            double ahead = 0, gap = 0;
            for (size_t seed = 0; seed < SEEDS; seed++) {
                double x[SIZE] = {0};
                submod_bcfw_settings s = settings_for(decay, SUBMOD_BATCH_RANDOM, passes);
                s.seed = seed;
                s.average = 1;
                submod_optim_info info = run(&p, x, &s);
                ck_assert(info.lower_bound <= star + 1e-9 && info.gap >= -1e-9);
                ahead += (star - info.lower_bound) / SEEDS;
                gap += info.gap / SEEDS;
            }
            scale = passes ? scale : 4 * pow(steepest(&f), 2) / (decay * m) + ahead;
            double k = (double)passes * m;
            ck_assert(ahead <= 2 * m / (k + 2 * m) * scale + 1e-9);
            ck_assert(passes == 0 || gap <= 6 * m / (k + 1) * scale + 1e-9);
        }
    }
}
END_TEST

/* f_k = the largest of so many variables of its own, the first of them: from 0, every step of block
 * k hears of one more, and its plane becomes their mean. */
enum { GROUPS = 5, EACH = 64 };

static submod_status largest(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    size_t first = batch == SUBMOD_FULL_BATCH ? 0 : batch;
    size_t end = batch == SUBMOD_FULL_BATCH ? GROUPS : batch + 1;
    (void)ctx;
    *value = 0;
    memset(g, 0, sizeof(double) * GROUPS * EACH);
    for (size_t k = first; k < end; k++) {
        size_t best = k * EACH;
        for (size_t i = best + 1; i < (k + 1) * EACH; i++) {
            best = x[i] > x[best] ? i : best;
        }
        *value += x[best] / (double)(end - first);
        g[best] = 1 / (double)(end - first);
    }
    return SUBMOD_OK;
}

/* After t_k steps of block k the bound is - sum of 1 / (2 decay m^2 (t_k + 1)), and with t_k of a
 * binomial distribution its mean is known: so it is what the theorem says, and no more than a
 * tenth of that. */
START_TEST(rate_in_expectation_where_blocks_resist)
{
    enum { SEEDS = 200 };
    static const size_t counts[] = {0, 1, 2, 4, 8, 20};
    const double decay = 0.1, m = GROUPS, unit = 1 / (2 * decay * m);
    double star = -unit / EACH, closest = 0, closest_gap = 0;
    submod_problem p = {.dimension = GROUPS * EACH, .batches = GROUPS, .subgradient = largest};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        double ahead = 0, squares = 0, gap = 0, k = (double)counts[c] * m;
        for (size_t seed = 0; seed < SEEDS; seed++) {
            double x[GROUPS * EACH] = {0};
            submod_bcfw_settings s = settings_for(decay, SUBMOD_BATCH_RANDOM, counts[c]);
            s.seed = seed;
            s.average = 1;
            submod_optim_info info = run(&p, x, &s);
            double here = star - info.lower_bound;
            ahead += here / SEEDS;
            squares += here * here / SEEDS;
            gap += info.gap / SEEDS;
        }
        double error = sqrt(fmax(squares - ahead * ahead, 0) / SEEDS);
        double mean = unit * m / (k + 1) * (1 - pow(1 - 1 / m, k + 1)) + star;
        ck_assert_near(ahead, mean, 4 * error + 1e-12);
        double scale = 4 / (decay * m) + unit + star;
        double bound = 2 * m / (k + 2 * m) * scale, bound_gap = 6 * m / (k + 1) * scale;
        ck_assert(ahead <= bound && (counts[c] == 0 || gap <= bound_gap));
        closest = counts[c] ? fmax(closest, ahead / bound) : closest;
        closest_gap = counts[c] ? fmax(closest_gap, gap / bound_gap) : closest_gap;
    }
    ck_assert(2. / 22 * (4 / (decay * m) + unit) < unit); /* standing still would not do */
    ck_assert_msg(closest > 0.09 && closest_gap > 0.04, "%g %g", closest, closest_gap);
}
END_TEST

/* ---- the same method, with a weight for every plane of every block ---- */

typedef struct dual {
    double weight[BLOCKS][PLANES];
} dual;

static double dual_value(const blocks *f, const dual *d, double decay, double *w)
{
    double level = 0, s[SIZE] = {0};
    for (size_t k = 0; k < f->m; k++) {
        for (size_t j = 0; j < f->planes; j++) {
            double share = d->weight[k][j] / (double)f->m;
            level += share * f->b[k][j];
            for (size_t i = 0; i < SIZE; i++) {
                s[i] += share * f->a[k][j][i];
            }
        }
    }
    for (size_t i = 0; i < SIZE; i++) {
        w[i] = -s[i] / decay;
    }
    return level - dot(s, s, SIZE) / (2 * decay);
}

/* Towards plane j of block k, as far as ternary search finds best. */
static void dual_step(const blocks *f, dual *d, double decay, size_t k)
{
    double w[SIZE], low = 0, high = 1;
    dual_value(f, d, decay, w);
    size_t j = highest(f, k, w);
    dual old = *d;
    for (int halving = 0; halving < 80; halving++) {
        double at[2] = {low + (high - low) / 3, high - (high - low) / 3}, value[2];
        for (int side = 0; side < 2; side++) {
            for (size_t i = 0; i < f->planes; i++) {
                d->weight[k][i] = (1 - at[side]) * old.weight[k][i] + at[side] * (i == j);
            }
            value[side] = dual_value(f, d, decay, w);
        }
        low = value[0] < value[1] ? at[0] : low;
        high = value[0] < value[1] ? high : at[1];
    }
}

START_TEST(as_with_all_dual_variables)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    for (int trial = 0; trial < 12; trial++) {
        blocks f;
        submod_problem p = random_blocks(&f, &rng, trial - trial % 2); /* no ties: one path only */
        double decay = 0.5, start[SIZE] = {0.3, -2, 1, 0, 0.1}, w[SIZE];
        dual d = {0};
        for (size_t k = 0; k < f.m; k++) {
            d.weight[k][highest(&f, k, start)] = 1;
        }
        for (size_t passes = 0; passes < 6; passes++) {
            double x[SIZE];
            memcpy(x, start, sizeof x);
            submod_bcfw_settings s = settings_for(decay, SUBMOD_BATCH_CYCLIC, passes);
            submod_optim_info info = run(&p, x, &s);
            double value = dual_value(&f, &d, decay, w);
            if (info.stop == SUBMOD_STOP_TARGET || info.stop == SUBMOD_STOP_STALLED) {
                ck_assert_near(info.lower_bound, value, 1e-9);
                break;
            }
            ck_assert_near(info.lower_bound, value, 1e-7);
            for (size_t i = 0; i < SIZE; i++) {
                ck_assert_near(x[i], w[i], 1e-6);
            }
            for (size_t k = 0; k < f.m; k++) {
                dual_step(&f, &d, decay, k);
            }
        }
    }
}
END_TEST

/* ---- the Lovász hinge of a linear model ---- */

enum { IMAGES = 6, PIXELS = 8, FEATURES = 4 };
typedef struct model {
    double phi[IMAGES][PIXELS][FEATURES];
    uint8_t truth[IMAGES][PIXELS];
    submod_fn *jaccard[IMAGES];
} model;

static submod_status hinge(void *ctx, size_t batch, const double *w, double *value, double *g)
{
    const model *m = ctx;
    size_t first = batch == SUBMOD_FULL_BATCH ? 0 : batch;
    size_t end = batch == SUBMOD_FULL_BATCH ? IMAGES : batch + 1;
    *value = 0;
    memset(g, 0, FEATURES * sizeof *g);
    for (size_t k = first; k < end; k++) {
        double error[PIXELS], slope[PIXELS], f;
        for (size_t i = 0; i < PIXELS; i++) {
            double sign = m->truth[k][i] ? 1 : -1;
            error[i] = fmax(0, 1 - sign * dot(m->phi[k][i], w, FEATURES));
        }
        ck_assert_ok(
            submod_lovasz(m->jaccard[k], error, &f, slope, NULL, SUBMOD_TIES_AVERAGE, NULL));
        *value += f / (double)(end - first);
        for (size_t i = 0; i < PIXELS; i++) {
            double pull = error[i] > 0 ? slope[i] * (m->truth[k][i] ? -1 : 1) : 0;
            for (size_t j = 0; j < FEATURES; j++) {
                g[j] += pull * m->phi[k][i][j] / (double)(end - first);
            }
        }
    }
    return SUBMOD_OK;
}

static submod_problem random_model(model *m, submod_rng *rng)
{
    random_vector(rng, &m->phi[0][0][0], sizeof m->phi / sizeof(double), 0);
    for (size_t k = 0; k < IMAGES; k++) {
        for (size_t i = 0; i < PIXELS; i++) {
            m->phi[k][i][0] = 1;
            m->truth[k][i] = m->phi[k][i][1] + submod_rng_uniform(rng) > 0.5;
        }
        ck_assert_ok(submod_fn_jaccard(PIXELS, m->truth[k], &m->jaccard[k]));
    }
    return (submod_problem){
        .dimension = FEATURES, .batches = IMAGES, .ctx = m, .subgradient = hinge};
}

START_TEST(lovasz_hinge_of_a_linear_model)
{
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    for (int trial = 0; trial < 4; trial++) {
        model m;
        submod_problem p = random_model(&m, &rng);
        double decay = 0.05, star = minimum(&p, decay);
        for (int order = SUBMOD_BATCH_FULL; order <= SUBMOD_BATCH_RANDOM; order++) {
            for (int average = 0; average < 2; average++) {
                double x[FEATURES] = {0};
                submod_bcfw_settings s = settings_for(decay, (submod_batch_order)order, 20000);
                s.run.tolerance = 2e-3;
                s.average = average;
                submod_optim_info info;
                ck_assert_ok(submod_bcfw(&p, x, &s, &info, NULL));
                ck_assert(info.stop == SUBMOD_STOP_TARGET && info.gap <= 2e-3);
                ck_assert(info.f >= star - 1e-8 && info.lower_bound <= star + 1e-8);
                ck_assert_near(info.f, objective(&p, decay, x), 1e-12);
                /* One pass for the first planes, one for each iteration, and one J for each. */
                size_t steps = order == SUBMOD_BATCH_FULL ? 1 : IMAGES;
                ck_assert_uint_eq(info.gradients,
                                  (info.iterations + 1) * steps + info.iterations + 1);
            }
        }
        for (size_t k = 0; k < IMAGES; k++) {
            submod_fn_free(m.jaccard[k]);
        }
    }
}
END_TEST

/* A pass that moves nothing ends the run: one plane, whose minimum is known at once. The plane at w
 * has a smaller rounding error than the same plane at x, so one pass moves it. */
START_TEST(single_plane)
{
    blocks f = {.m = 1, .planes = 1, .a = {{{3, 4}}}, .b = {{2}}};
    submod_problem p = {.dimension = SIZE, .ctx = &f, .subgradient = subgradient};
    double x[SIZE] = {9, 9, 9, 9, 9};
    submod_bcfw_settings s = settings_for(2, SUBMOD_BATCH_SHUFFLED, 10);
    submod_optim_info info = run(&p, x, &s);
    ck_assert(info.stop == SUBMOD_STOP_TARGET || info.stop == SUBMOD_STOP_STALLED);
    ck_assert(info.iterations <= 2 && x[0] == -1.5 && x[1] == -2 && x[2] == 0);
    ck_assert_near(info.lower_bound, 2 - 25 / 4.0, 1e-13);
}
END_TEST

static submod_status fails_later(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    int *left = ctx;
    (void)batch;
    *value = (*left)-- > 0 ? fabs(x[0]) : NAN;
    g[0] = x[0] > 0 ? 1 : -1;
    return SUBMOD_OK;
}

START_TEST(bad_arguments_and_answers)
{
    blocks f;
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    submod_problem p = random_blocks(&f, &rng, 1);
    double x[SIZE] = {1};
    submod_bcfw_settings s = settings_for(1, SUBMOD_BATCH_SHUFFLED, 3);
    submod_optim_info info = {.iterations = 77};
    ck_assert_int_eq(submod_bcfw(NULL, x, &s, &info, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_bcfw(&p, NULL, &s, &info, NULL), SUBMOD_EINVAL);
    assert_error(submod_bcfw(&p, x, NULL, &info, NULL), SUBMOD_EINVAL, "settings");
    s.run.weight_decay = 0;
    assert_error(submod_bcfw(&p, x, &s, &info, NULL), SUBMOD_EINVAL, "weight_decay");
    s = settings_for(1, (submod_batch_order)4, 3);
    assert_error(submod_bcfw(&p, x, &s, &info, NULL), SUBMOD_EINVAL, "order");
    s = settings_for(NAN, SUBMOD_BATCH_FULL, 3);
    ck_assert_int_eq(submod_bcfw(&p, x, &s, &info, NULL), SUBMOD_ENONFINITE);
    s = settings_for(1, SUBMOD_BATCH_FULL, 3);
    x[1] = INFINITY;
    ck_assert_int_eq(submod_bcfw(&p, x, &s, &info, NULL), SUBMOD_ENONFINITE);
    ck_assert(info.iterations == 77 && x[0] == 1);
    x[1] = 0;
    s = settings_for(1e-320, SUBMOD_BATCH_FULL, 3); /* w = -s / decay overflows */
    assert_error(submod_bcfw(&p, x, &s, &info, NULL), SUBMOD_ENUMERIC, "overflows");
    ck_assert(x[0] == 1 && info.stop == SUBMOD_STOP_FAILURE);
    for (int calls = 0; calls < 3; calls++) {
        int left = calls;
        double at = 2;
        submod_problem q = {.dimension = 1, .ctx = &left, .subgradient = fails_later};
        s = settings_for(0.25, SUBMOD_BATCH_FULL, 9);
        ck_assert_int_eq(submod_bcfw(&q, &at, &s, &info, NULL), SUBMOD_ECALLBACK);
        ck_assert(isfinite(at) && info.stop == SUBMOD_STOP_FAILURE);
        ck_assert(calls > 1 || at == 2); /* no other point had a value */
    }
}
END_TEST

int main(void)
{
    return RUN_TESTS("bcfw", rate_of_frank_wolfe_at_every_pass, rate_in_expectation,
                     rate_in_expectation_where_blocks_resist, as_with_all_dual_variables,
                     lovasz_hinge_of_a_linear_model, single_plane, bad_arguments_and_answers);
}
