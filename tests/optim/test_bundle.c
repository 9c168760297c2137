/* The bundle method: its minimum against brute force, and its lower bound never above that. */
#include <math.h>
#include <string.h>

#include "support.h"

enum { M = 9 };

/* max_j <a_j, x> + b_j + decay/2 |x|^2 in the plane. */
typedef struct flat {
    double a[M][2], b[M], decay;
} flat;

static double value_at(const flat *t, double x, double y)
{
    double highest = -INFINITY;
    for (size_t j = 0; j < M; j++) {
        highest = fmax(highest, t->a[j][0] * x + t->a[j][1] * y + t->b[j]);
    }
    return highest + t->decay / 2 * (x * x + y * y);
}

/* The stationary point of plane j plus decay; on the line where planes j and k meet; their corner
 * with plane l: one of these is the minimiser. All are tried. */
static double brute_force(const flat *t)
{
    double best = INFINITY;
    for (size_t j = 0; j < M; j++) {
        if (t->decay > 0) {
            best = fmin(best, value_at(t, -t->a[j][0] / t->decay, -t->a[j][1] / t->decay));
        }
        for (size_t k = 0; k < j; k++) {
            double d[2] = {t->a[j][0] - t->a[k][0], t->a[j][1] - t->a[k][1]};
            double d2 = d[0] * d[0] + d[1] * d[1], rise = t->b[k] - t->b[j];
            if (t->decay > 0 && d2 > 0) {
                /* x = -(a_k + w d) / decay with <d, x> = rise */
                double w = -(rise * t->decay + d[0] * t->a[k][0] + d[1] * t->a[k][1]) / d2;
                best = fmin(best, value_at(t, -(t->a[k][0] + w * d[0]) / t->decay,
                                           -(t->a[k][1] + w * d[1]) / t->decay));
            }
            for (size_t l = 0; l < k; l++) {
                double e[2] = {t->a[l][0] - t->a[k][0], t->a[l][1] - t->a[k][1]};
                double up = t->b[k] - t->b[l], det = d[0] * e[1] - d[1] * e[0];
                if (det != 0) {
                    best = fmin(best, value_at(t, (rise * e[1] - up * d[1]) / det,
                                               (d[0] * up - e[0] * rise) / det));
                }
            }
        }
    }
    return best;
}

static void make(flat *t, submod_problem *p, submod_rng *rng, int coarse, double decay)
{
    random_vector(rng, &t->a[0][0], sizeof t->a / sizeof(double), coarse);
    random_vector(rng, t->b, M, coarse);
    /* The origin is inside the slopes, so that there is a minimum. */
    t->a[0][0] = 1, t->a[0][1] = 0.5;
    t->a[1][0] = -1, t->a[1][1] = 0.25;
    t->a[2][0] = 0, t->a[2][1] = -1;
    t->decay = decay;
    ck_assert_ok(submod_problem_max_affine(M, 2, &t->a[0][0], t->b, p));
}

static void check(const submod_optim_info *info, double f_star, double tolerance, double slack)
{
    ck_assert_near(info->gap, info->f - info->lower_bound, 0);
    ck_assert(info->gap >= 0 && info->gap <= tolerance);
    ck_assert_msg(info->lower_bound <= f_star + slack, "bound %.17g above the minimum %.17g",
                  info->lower_bound, f_star);
    ck_assert_msg(info->f >= f_star - slack, "%.17g below the minimum %.17g", info->f, f_star);
}

START_TEST(minimum_of_max_affine_functions)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    for (int trial = 0; trial < 300; trial++) {
        flat t;
        submod_problem p;
        submod_optim_info info;
        double decay = trial % 3 == 0 ? 0 : pow(10, -(double)(trial % 4));
        double x[2] = {3 * submod_rng_normal(&rng), 3 * submod_rng_normal(&rng)};
        make(&t, &p, &rng, trial % 2, decay);
        submod_bundle_settings s = submod_bundle_defaults();
        s.radius = decay > 0 && trial % 2 ? 0 : 50;
        s.run.weight_decay = decay;
        s.run.tolerance = trial % 5 ? 1e-6 : 1e-9;
        s.max_planes = trial % 7 ? 200 : 4;
        s.lambda = trial % 11 ? 0 : 0.1;
        s.bmrm = decay > 0 && trial % 4 < 2;
        double f_star = brute_force(&t);
        ck_assert_ok(submod_bundle(&p, x, &s, &info, NULL));
        check(&info, f_star, s.run.tolerance, 1e-12 * (1 + fabs(f_star)));
        ck_assert_near(info.f, value_at(&t, x[0], x[1]), 1e-13 * (1 + fabs(f_star)));
        ck_assert_uint_le(info.planes, s.max_planes);
        submod_problem_clear(&p);
    }
}
END_TEST

/* Never a better gap than computed, however little is asked or allowed. */
START_TEST(every_bound_is_a_bound)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (int trial = 0; trial < 200; trial++) {
        flat t;
        submod_problem p;
        submod_optim_info info;
        double x[2] = {submod_rng_normal(&rng), submod_rng_normal(&rng)};
        double decay = trial % 2 ? 0.1 : 0;
        make(&t, &p, &rng, 0, decay);
        submod_bundle_settings s = submod_bundle_defaults();
        s.radius = 100;
        s.run.weight_decay = decay;
        s.run.tolerance = 0;
        s.bmrm = trial % 4 == 1;
        s.run.max_iterations = (size_t)(trial % 20);
        double f_star = brute_force(&t);
        submod_status status = submod_bundle(&p, x, &s, &info, NULL);
        ck_assert(status == SUBMOD_OK || status == SUBMOD_MAXITER || status == SUBMOD_INACCURATE);
        ck_assert(status != SUBMOD_OK || info.gap <= 0);
        check(&info, f_star, INFINITY, 1e-12 * (1 + fabs(f_star)));
        submod_problem_clear(&p);
    }
}
END_TEST

/* Units do not matter: what c f needs for c times the tolerance is what f needs. */
START_TEST(any_unit)
{
    submod_rng rng;
    submod_rng_seed(&rng, 7);
    const double units[] = {0x1p-40, 1, 0x1p40};
    for (int trial = 0; trial < 30; trial++) {
        flat t, scaled;
        submod_problem p;
        make(&t, &p, &rng, 0, 0);
        submod_problem_clear(&p);
        for (size_t k = 0; k < sizeof units / sizeof *units; k++) {
            submod_optim_info info;
            double x[2] = {3, -2};
            for (size_t i = 0; i < 2 * M; i++) {
                (&scaled.a[0][0])[i] = units[k] * (&t.a[0][0])[i];
                scaled.b[i / 2] = units[k] * t.b[i / 2];
            }
            scaled.decay = 0;
            ck_assert_ok(submod_problem_max_affine(M, 2, &scaled.a[0][0], scaled.b, &p));
            submod_bundle_settings s = submod_bundle_defaults();
            s.radius = 50;
            s.run.tolerance = units[k] * 1e-6;
            ck_assert_ok(submod_bundle(&p, x, &s, &info, NULL));
            double f_star = brute_force(&scaled);
            check(&info, f_star, s.run.tolerance, 1e-12 * (units[k] + fabs(f_star)));
            submod_problem_clear(&p);
        }
    }
}
END_TEST

/* A gap of 0 cannot be reached in general: the run ends where rounding does, wherever the minimum
 * lies. Around 0 numbers can become ever smaller, but the bound does not follow them. */
START_TEST(ends_at_rounding)
{
    submod_rng rng;
    submod_rng_seed(&rng, 8);
    const double heights[] = {0, 1, 1e8};
    for (int trial = 0; trial < 240; trial++) {
        flat t;
        submod_problem p;
        submod_optim_info info;
        double height = heights[trial % 3];
        double x[2] = {3 * submod_rng_normal(&rng), 3 * submod_rng_normal(&rng)};
        make(&t, &p, &rng, 0, trial % 2 ? 1e-5 : 0);
        submod_problem_clear(&p);
        for (size_t j = 0; j < M; j++) { /* all planes meet over the origin */
            t.b[j] = height;
        }
        ck_assert_ok(submod_problem_max_affine(M, 2, &t.a[0][0], t.b, &p));
        submod_bundle_settings s = submod_bundle_defaults();
        s.radius = 50;
        s.run.weight_decay = t.decay;
        s.run.tolerance = 0;
        s.run.max_iterations = 100;
        submod_status status = submod_bundle(&p, x, &s, &info, NULL);
        ck_assert(status == SUBMOD_OK || status == SUBMOD_INACCURATE);
        ck_assert(info.iterations < 95 || info.lower_bound == 0);
        ck_assert_near(info.f, height, 1e-12 * (1 + height));
        submod_problem_clear(&p);
    }
}
END_TEST

/* log sum exp(<a_j, x>): smooth, so that planes never end. */
enum { TERMS = 12, N = 5 };
static submod_status log_sum_exp(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    const double(*a)[N] = ctx;
    double sum = 0;
    (void)batch;
    memset(g, 0, N * sizeof *g);
    for (size_t j = 0; j < TERMS; j++) {
        double at = 0;
        for (size_t i = 0; i < N; i++) {
            at += a[j][i] * x[i];
        }
        sum += exp(at);
        for (size_t i = 0; i < N; i++) {
            g[i] += exp(at) * a[j][i];
        }
    }
    for (size_t i = 0; i < N; i++) {
        g[i] /= sum;
    }
    *value = log(sum);
    return SUBMOD_OK;
}

START_TEST(minimum_of_a_smooth_function)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    for (int trial = 0; trial < 12; trial++) {
        double a[TERMS][N], x[N] = {0}, y[N] = {0}, f, g[N];
        submod_optim_info info;
        const double decay = trial % 2 ? 0.1 : 0;
        submod_problem p = {.dimension = N, .ctx = a, .subgradient = log_sum_exp};
        random_vector(&rng, &a[0][0], sizeof a / sizeof(double), 0);
        for (size_t i = 0; i < N; i++) { /* opposite pairs: bounded from below */
            for (size_t j = TERMS / 2; j < TERMS; j++) {
                a[j][i] = 0.1 * a[j][i] - a[j - TERMS / 2][i];
            }
        }
        double f_star = 0;
        for (int k = 0; k < 200000; k++) { /* plain gradient descent, for as long as it takes */
            log_sum_exp(a, 0, y, &f, g);
            f_star = f;
            for (size_t i = 0; i < N; i++) {
                f_star += decay / 2 * y[i] * y[i];
                y[i] -= 0.02 * (g[i] + decay * y[i]);
            }
        }
        submod_bundle_settings s = submod_bundle_defaults();
        s.radius = 20;
        s.run.weight_decay = decay;
        s.max_planes = trial % 3 ? 200 : 12;
        s.bmrm = decay > 0 && trial > 6;
        ck_assert_ok(submod_bundle(&p, x, &s, &info, NULL));
        check(&info, f_star, 1e-6, 1e-10);
    }
}
END_TEST

/* Three planes are enough, if the combined one is kept; more are in use at the minimum. */
START_TEST(little_memory)
{
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    for (int trial = 0; trial < 20; trial++) {
        enum { PLANES = 30, DIMENSION = 8 };
        double a[PLANES * DIMENSION], b[PLANES], x[DIMENSION] = {0}, y[DIMENSION] = {0};
        submod_problem p;
        submod_optim_info much, little;
        random_vector(&rng, a, PLANES * DIMENSION, 0);
        random_vector(&rng, b, PLANES, 0);
        ck_assert_ok(submod_problem_max_affine(PLANES, DIMENSION, a, b, &p));
        submod_bundle_settings s = submod_bundle_defaults();
        s.run.weight_decay = 0.1;
        s.bmrm = trial % 2;
        s.run.max_iterations = 20000;
        ck_assert_ok(submod_bundle(&p, x, &s, &much, NULL));
        s.max_planes = 3;
        s.run.tolerance = 1e-2;
        ck_assert_ok(submod_bundle(&p, y, &s, &little, NULL));
        check(&little, much.f, 1e-2, much.gap + 1e-12);
        ck_assert_uint_eq(little.planes, 3);
        submod_problem_clear(&p);
    }
}
END_TEST

START_TEST(special_cases)
{
    submod_problem p;
    submod_optim_info info;
    submod_bundle_settings s = submod_bundle_defaults();
    double zero[4] = {0}, x[2] = {1, 2};
    s.radius = 10;
    /* Constant. */
    ck_assert_ok(submod_problem_max_affine(1, 2, zero, (double[]){5}, &p));
    ck_assert_ok(submod_bundle(&p, x, &s, &info, NULL));
    ck_assert(info.f == 5 && info.gap <= 1e-14 && x[0] == 1 && x[1] == 2);
    submod_problem_clear(&p);
    /* Unbounded: better than all within the radius. */
    ck_assert_ok(submod_problem_max_affine(1, 2, (double[]){3, 4}, NULL, &p));
    ck_assert_ok(submod_bundle(&p, x, &s, &info, NULL));
    double lowest = 3 * 1 + 4 * 2 - 5 * 10; /* in the ball */
    ck_assert(info.lower_bound <= lowest && info.f <= lowest + 1e-6);
    ck_assert(info.gap >= 0 && info.gap <= 1e-6);
    submod_problem_clear(&p);
    /* The nu problem. */
    double y[2] = {3, 2};
    ck_assert_ok(submod_problem_max_affine(3, 2, (double[]){0, 0, 1.3, 0, 0, 1}, NULL, &p));
    ck_assert_ok(submod_bundle(&p, y, &s, &info, NULL));
    ck_assert(info.f <= 1e-6 && info.lower_bound <= 0);
    submod_problem_clear(&p);
}
END_TEST

static int stop_at_three(void *ctx, const submod_trace *line)
{
    (void)ctx;
    return line->iteration == 3;
}

static int note_last(void *ctx, const submod_trace *line)
{
    *(submod_trace *)ctx = *line;
    return 0;
}

/* The trace hears of the last point whatever ended the run, and that no step follows. */
START_TEST(the_last_point_is_told)
{
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    for (size_t every = 0; every < 3; every++) {
        flat t;
        submod_problem p;
        submod_optim_info info;
        submod_trace last = {.iteration = SIZE_MAX};
        double x[2] = {3, -2};
        make(&t, &p, &rng, 0, 0.1);
        submod_bundle_settings s = submod_bundle_defaults();
        s.run.weight_decay = t.decay;
        s.run.trace_every = every == 2 ? 1000 : every;
        s.run.trace = note_last;
        s.run.trace_ctx = &last;
        ck_assert_ok(submod_bundle(&p, x, &s, &info, NULL));
        ck_assert_int_eq(info.stop, SUBMOD_STOP_TARGET);
        ck_assert(info.iterations > 0 && last.iteration == info.iterations);
        ck_assert(last.step == 0 && last.f == info.f);
        submod_problem_clear(&p);
    }
}
END_TEST

START_TEST(limits_and_bad_settings)
{
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    flat t;
    submod_problem p;
    submod_optim_info info = {.iterations = 77};
    double x[2] = {1, 2};
    make(&t, &p, &rng, 0, 0);
    submod_bundle_settings s = submod_bundle_defaults();
    ck_assert_int_eq(submod_bundle(NULL, x, &s, &info, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_bundle(&p, NULL, &s, &info, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_bundle(&p, x, NULL, &info, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_bundle(&p, x, &s, &info, NULL), SUBMOD_EINVAL); /* no radius */
    s.radius = NAN;
    ck_assert_int_eq(submod_bundle(&p, x, &s, &info, NULL), SUBMOD_ENONFINITE);
    s.radius = 10;
    s.max_planes = 2;
    ck_assert_int_eq(submod_bundle(&p, x, &s, &info, NULL), SUBMOD_EINVAL);
    s.max_planes = 3;
    s.lambda = -1;
    ck_assert_int_eq(submod_bundle(&p, x, &s, &info, NULL), SUBMOD_EINVAL);
    s.lambda = 0;
    s.bmrm = 1;
    ck_assert_int_eq(submod_bundle(&p, x, &s, &info, NULL), SUBMOD_EINVAL);
    s.bmrm = 0;
    s.run.tolerance = NAN;
    ck_assert_int_eq(submod_bundle(&p, x, &s, &info, NULL), SUBMOD_ENONFINITE);
    s.run.tolerance = 1e-6;
    x[0] = NAN;
    ck_assert_int_eq(submod_bundle(&p, x, &s, &info, NULL), SUBMOD_ENONFINITE);
    x[0] = 1;
    ck_assert(info.iterations == 77);
    s.run.max_iterations = 1;
    ck_assert_int_eq(submod_bundle(&p, x, &s, &info, NULL), SUBMOD_MAXITER);
    s.run.max_iterations = 1000;
    s.run.trace = stop_at_three;
    x[0] = 10;
    ck_assert_ok(submod_bundle(&p, x, &s, &info, NULL));
    ck_assert(info.stop == SUBMOD_STOP_CALLBACK || info.iterations < 3);
    submod_problem_clear(&p);
}
END_TEST

/* Fails with NaN from the third call on. */
static submod_status failing(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    int *calls = ctx;
    (void)batch;
    *value = ++*calls > 3 ? NAN : x[0] * x[0];
    g[0] = 2 * x[0];
    return SUBMOD_OK;
}

START_TEST(failures_keep_the_best_point)
{
    int calls = 0;
    double x = 5;
    submod_optim_info info;
    submod_problem p = {.dimension = 1, .ctx = &calls, .subgradient = failing};
    submod_bundle_settings s = submod_bundle_defaults();
    s.radius = 20;
    s.run.tolerance = 1e-12;
    ck_assert_int_eq(submod_bundle(&p, &x, &s, &info, NULL), SUBMOD_ECALLBACK);
    ck_assert_int_eq(info.stop, SUBMOD_STOP_FAILURE);
    ck_assert(info.f <= 25 && info.f == x * x && info.lower_bound <= 0);
}
END_TEST

int main(void)
{
    return RUN_TESTS("bundle", minimum_of_max_affine_functions, every_bound_is_a_bound, any_unit,
                     ends_at_rounding, minimum_of_a_smooth_function, little_memory, special_cases,
                     the_last_point_is_told, limits_and_bad_settings, failures_keep_the_best_point);
}
