/* Chambolle-Pock: the ergodic rate at every iteration, bounds, residuals, and the minimum that the
 * bundle method certifies. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "splitting.h"
#include "support.h"

enum { ROWS = 6, COLUMNS = 4, PLANES = 8 };

static double norm2(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i] * x[i];
    }
    return sum;
}

/* g = mu |x|_1 */
static submod_status moduli(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    double mu = *(const double *)ctx;
    (void)batch;
    *value = 0;
    for (size_t i = 0; i < COLUMNS; i++) {
        *value += mu * fabs(x[i]);
        g[i] = x[i] > 0 ? mu : x[i] < 0 ? -mu : 0;
    }
    return SUBMOD_OK;
}

static submod_status shrink(void *ctx, size_t batch, const double *x, double lambda, double *u)
{
    double mu = *(const double *)ctx;
    (void)batch;
    for (size_t i = 0; i < COLUMNS; i++) {
        u[i] = copysign(fmax(fabs(x[i]) - mu / lambda, 0), x[i]);
    }
    return SUBMOD_OK;
}

/* An instance: f a maximum of planes in all directions, so that it is bounded below. */
typedef struct instance {
    double matrix[ROWS * COLUMNS], mu, L;
    submod_problem f, g, whole;
    const submod_problem *given; /* g or NULL */
    submod_map map;
} instance;

static submod_status forward(void *ctx, const double *x, double *y)
{
    const instance *c = ctx;
    for (size_t r = 0; r < ROWS; r++) {
        y[r] = 0;
        for (size_t i = 0; i < COLUMNS; i++) {
            y[r] += c->matrix[r * COLUMNS + i] * x[i];
        }
    }
    return SUBMOD_OK;
}

static submod_status adjoint(void *ctx, const double *y, double *x)
{
    const instance *c = ctx;
    for (size_t i = 0; i < COLUMNS; i++) {
        x[i] = 0;
        for (size_t r = 0; r < ROWS; r++) {
            x[i] += c->matrix[r * COLUMNS + i] * y[r];
        }
    }
    return SUBMOD_OK;
}

/* Every third: a matrix of rank one; every fourth: one whose rows differ by factors of 10. */
static void make(instance *c, submod_rng *rng, int trial)
{
    double a[2 * PLANES * ROWS], b[2 * PLANES];
    random_vector(rng, c->matrix, (size_t)ROWS * COLUMNS, trial % 2);
    random_vector(rng, a, (size_t)PLANES * ROWS, 0);
    random_vector(rng, b, (size_t)2 * PLANES, trial % 2);
    c->L = 0;
    for (size_t j = 0; j < PLANES; j++) {
        for (size_t r = 0; r < ROWS; r++) {
            a[(PLANES + j) * ROWS + r] = -a[j * ROWS + r];
        }
        c->L = fmax(c->L, sqrt(norm2(a + j * ROWS, ROWS)));
    }
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t i = 0; i < COLUMNS; i++) {
            double *entry = &c->matrix[r * COLUMNS + i];
            *entry = trial % 3 == 2   ? c->matrix[i]
                     : trial % 4 == 3 ? *entry * pow(10, (double)r - 4)
                                      : *entry;
        }
    }
    ck_assert_ok(submod_problem_max_affine((size_t)2 * PLANES, ROWS, a, b, &c->f));
    c->mu = 0.1 + 0.3 * submod_rng_uniform(rng);
    c->g = (submod_problem){
        .dimension = COLUMNS, .ctx = &c->mu, .subgradient = moduli, .prox = shrink};
    c->given = trial % 2 ? &c->g : NULL;
    c->map = (submod_map){.rows = ROWS, .columns = COLUMNS};
    c->map.matrix = c->matrix;
    ck_assert_ok(submod_problem_composed(&c->f, &c->map, c->given, &c->whole));
}

static void clear(instance *c)
{
    submod_problem_clear(&c->whole);
    submod_problem_clear(&c->f);
}

static double spectral_norm(const instance *c)
{
    double x[COLUMNS] = {1, 0.7, -0.4, 0.2}, y[ROWS], norm = 0;
    for (int k = 0; k < 500; k++) {
        double length = sqrt(norm2(x, COLUMNS));
        for (size_t i = 0; i < COLUMNS; i++) {
            x[i] /= length;
        }
        forward((void *)c, x, y);
        norm = sqrt(norm2(y, ROWS));
        adjoint((void *)c, y, x);
    }
    return norm * 1.000001;
}

/* ---- rates ---- */

typedef struct rate {
    double f_star, scale; /* J(x_k) - f_star <= scale / k */
    size_t lines;
    double closest;
} rate;

static int check_rate(void *ctx, const submod_trace *line)
{
    rate *r = ctx;
    if (line->iteration > 0) {
        double bound = r->scale / (double)line->iteration;
        ck_assert_msg(line->f - r->f_star <= bound + 1e-8, "%zu: %g > %g", line->iteration,
                      line->f - r->f_star, bound);
        r->closest = fmax(r->closest, (line->f - r->f_star) / bound);
    }
    r->lines++;
    return 0;
}

START_TEST(ergodic_rate_at_every_iteration)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    double closest = 0;
    for (int trial = 0; trial < 16; trial++) {
        instance c;
        make(&c, &rng, trial);
        double best[COLUMNS], star = bundle_minimum(&c.whole, 0, best);
        double norm = spectral_norm(&c), step = pow(3, trial % 5 - 2) / norm;
        double x[COLUMNS] = {2, -1, 0.5, 1}, apart[COLUMNS];
        for (size_t i = 0; i < COLUMNS; i++) {
            apart[i] = x[i] - best[i];
        }
        rate r = {.f_star = star};
        r.scale = norm2(apart, COLUMNS) / (2 * step) + c.L * c.L * step * norm * norm / 2;
        submod_split_settings s = submod_split_defaults();
        s.run.max_iterations = 100;
        s.run.trace = check_rate;
        s.run.trace_ctx = &r;
        s.step = step;
        s.norm = norm;
        s.average = 1;
        ck_assert_ok(submod_primal_dual(&c.f, &c.map, c.given, x, &s, NULL, NULL));
        ck_assert_uint_eq(r.lines, 101);
        closest = fmax(closest, r.closest);
        clear(&c);
    }
    ck_assert_msg(closest > 0.1, "%g", closest);
}
END_TEST

/* The bound holds at all times and closes; residuals go to 0 with it, and are what they should be.
 */
START_TEST(bounds_and_residuals)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    for (int trial = 0; trial < 12; trial++) {
        instance c;
        make(&c, &rng, trial);
        double decay = trial % 4 < 2 ? 0.3 : 0, best[COLUMNS],
               star = bundle_minimum(&c.whole, decay, best);
        submod_split_settings s = submod_split_defaults();
        submod_optim_info info;
        s.run.weight_decay = decay;
        s.radius = decay > 0 ? 0 : 1e3;
        s.average = trial % 3 == 0;
        for (size_t k = 0; k < 30; k += 3) {
            double x[COLUMNS] = {1, 1, 1, 1}, f, g[COLUMNS];
            s.run.max_iterations = k;
            submod_status status = submod_primal_dual(&c.f, &c.map, c.given, x, &s, &info, NULL);
            ck_assert(status == SUBMOD_OK || status == SUBMOD_MAXITER);
            ck_assert_msg(info.lower_bound <= star + 1e-8, "%g > %g", info.lower_bound, star);
            c.whole.subgradient(c.whole.ctx, SUBMOD_FULL_BATCH, x, &f, g);
            ck_assert_near(info.f, f + decay / 2 * norm2(x, COLUMNS), 1e-10);
            ck_assert(info.f >= star - 1e-8 && (k == 0) == isinf(info.primal_residual));
        }
        if (decay > 0 && trial % 4 != 3) {
            double x[COLUMNS] = {1, 1, 1, 1};
            s.average = 0;
            s.run.max_iterations = 200000;
            s.run.tolerance = 1e-7;
            ck_assert_ok(submod_primal_dual(&c.f, &c.map, c.given, x, &s, &info, NULL));
            ck_assert(info.gap <= 1e-7 && info.f <= star + 1e-6);
            s.run.tolerance = 0;
            s.run.gradient_tolerance = 1e-8;
            ck_assert_ok(submod_primal_dual(&c.f, &c.map, c.given, x, &s, &info, NULL));
            ck_assert(info.stop == SUBMOD_STOP_TARGET ||
                      fmax(info.primal_residual, info.dual_residual) <= 1e-8);
            ck_assert(info.f <= star + 1e-6);
        }
        clear(&c);
    }
}
END_TEST

/* Callbacks do what a matrix does; one step by its definition. */
START_TEST(step_by_step)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    instance c;
    make(&c, &rng, 1);
    const double start[COLUMNS] = {1, 2, -1, 0.5}, tau = 0.3, norm = spectral_norm(&c);
    double x[COLUMNS], again[COLUMNS], z[ROWS], u[ROWS], y[ROWS], back[COLUMNS];
    double sigma = 1 / (tau * norm * norm);
    submod_split_settings s = submod_split_defaults();
    s.step = tau;
    s.norm = norm;
    s.run.max_iterations = 1;
    memcpy(x, start, sizeof x);
    ck_assert_ok(submod_primal_dual(&c.f, &c.map, &c.g, x, &s, NULL, NULL));
    forward(&c, start, z);
    ck_assert_ok(c.f.prox(c.f.ctx, SUBMOD_FULL_BATCH, z, sigma, u));
    for (size_t r = 0; r < ROWS; r++) {
        y[r] = sigma * (z[r] - u[r]);
    }
    adjoint(&c, y, back);
    for (size_t i = 0; i < COLUMNS; i++) {
        back[i] = start[i] - tau * back[i];
    }
    shrink(&c.mu, 0, back, 1 / tau, again);
    for (size_t i = 0; i < COLUMNS; i++) {
        ck_assert_near(x[i], again[i], 1e-12);
    }
    submod_map calls = {
        .rows = ROWS, .columns = COLUMNS, .ctx = &c, .forward = forward, .adjoint = adjoint};
    s.run.max_iterations = 20;
    memcpy(x, start, sizeof x);
    memcpy(again, start, sizeof x);
    ck_assert_ok(submod_primal_dual(&c.f, &c.map, &c.g, x, &s, NULL, NULL));
    ck_assert_ok(submod_primal_dual(&c.f, &calls, &c.g, again, &s, NULL, NULL));
    for (size_t i = 0; i < COLUMNS; i++) {
        ck_assert_near(x[i], again[i], 1e-9);
    }
    clear(&c);
}
END_TEST

START_TEST(bad_arguments_and_answers)
{
    submod_rng rng;
    submod_rng_seed(&rng, 4);
    instance c;
    make(&c, &rng, 1);
    double x[COLUMNS] = {1};
    submod_problem out = {.dimension = 9}, other = c.f;
    submod_map map = c.map;
    ck_assert_int_eq(submod_problem_composed(NULL, &map, NULL, &out), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_problem_composed(&c.f, NULL, NULL, &out), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_problem_composed(&c.f, &map, NULL, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_problem_composed(&c.g, &map, NULL, &out), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_problem_composed(&c.f, &map, &c.f, &out), SUBMOD_EINVAL);
    map.rows = SIZE_MAX / 4;
    ck_assert_int_eq(submod_problem_composed(&c.f, &map, NULL, &out), SUBMOD_EINVAL);
    map = c.map;
    map.matrix = NULL;
    assert_error(submod_problem_composed(&c.f, &map, NULL, &out), SUBMOD_EINVAL, "adjoint");
    map.forward = forward;
    map.adjoint = adjoint;
    map.ctx = &c;
    assert_error(submod_primal_dual(&c.f, &map, NULL, x, NULL, NULL, NULL), SUBMOD_EINVAL, "norm");
    c.matrix[3] = NAN;
    ck_assert_int_eq(submod_problem_composed(&c.f, &c.map, NULL, &out), SUBMOD_ENONFINITE);
    ck_assert(out.dimension == 9);
    c.matrix[3] = 0;
    other.prox = NULL;
    submod_split_settings s = submod_split_defaults();
    x[0] = 1;
    assert_error(submod_primal_dual(&other, &c.map, NULL, x, NULL, NULL, NULL), SUBMOD_EINVAL,
                 "prox");
    ck_assert_int_eq(submod_primal_dual(&c.f, &c.map, NULL, NULL, NULL, NULL, NULL), SUBMOD_EINVAL);
    s.radius = -1;
    ck_assert_int_eq(submod_primal_dual(&c.f, &c.map, NULL, x, &s, NULL, NULL), SUBMOD_EINVAL);
    s.radius = 0;
    s.step = INFINITY;
    ck_assert_int_eq(submod_primal_dual(&c.f, &c.map, NULL, x, &s, NULL, NULL), SUBMOD_ENONFINITE);
    x[2] = NAN;
    ck_assert_int_eq(submod_primal_dual(&c.f, &c.map, NULL, x, NULL, NULL, NULL),
                     SUBMOD_ENONFINITE);
    x[2] = 0;
    c.mu = NAN; /* of g */
    ck_assert_int_eq(submod_primal_dual(&c.f, &c.map, &c.g, x, NULL, NULL, NULL), SUBMOD_ECALLBACK);
    ck_assert(x[0] == 1);
    c.mu = 0.1;
    memset(c.matrix, 0, sizeof c.matrix); /* J = f(0) + g: the minimum is 0 */
    s = submod_split_defaults();
    s.run.max_iterations = 500;
    double at[COLUMNS] = {1, -1, 2, 0};
    ck_assert_ok(submod_primal_dual(&c.f, &c.map, &c.g, at, &s, NULL, NULL));
    ck_assert_near(sqrt(norm2(at, COLUMNS)), 0, 1e-9);
    c.matrix[0] = 1e200; /* its square overflows */
    ck_assert_int_ne(submod_primal_dual(&c.f, &c.map, &c.g, x, NULL, NULL, NULL), SUBMOD_ENOMEM);
    clear(&c);
}
END_TEST

int main(void)
{
    return RUN_TESTS("split", ergodic_rate_at_every_iteration, bounds_and_residuals, step_by_step,
                     bad_arguments_and_answers);
}
