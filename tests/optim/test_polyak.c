/* Polyak's subgradient method, its bounded form for minibatches; and keeping the best point of a
 * method that does not always descend. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "descent.h"
#include "support.h"

START_TEST(keeping_the_best)
{
    /* |x| with constant steps ends up hopping; the best point is not the last. */
    const double a[2] = {1, -1};
    submod_problem p;
    record r;
    submod_optim_info info;
    ck_assert_ok(submod_problem_max_affine(2, 1, a, NULL, &p));
    submod_descent_settings s = settings_of(0.3, &r);
    double x = 1;
    s.run.keep_best = 1;
    s.run.max_iterations = 50;
    s.schedule.kind = SUBMOD_SCHEDULE_INVERSE_SQRT;
    ck_assert_ok(run(&p, &x, &s, &info));
    double best = INFINITY;
    for (size_t k = 0; k < r.count; k++) {
        best = fmin(best, r.lines[k].f);
    }
    ck_assert(best < r.lines[r.count - 1].f);
    ck_assert_near(info.f, best, 0);
    ck_assert_near(fabs(x), best, 0);
    submod_problem_clear(&p);
    submod_problem_clear(&p);
    submod_problem_clear(NULL);
}
END_TEST

/* Polyak's step does not move away from any minimiser. */
START_TEST(polyak)
{
    submod_rng rng;
    submod_rng_seed(&rng, 11);
    for (int trial = 0; trial < 30; trial++) {
        double a[12 * 4], x[4], zero[4] = {0};
        submod_problem p;
        record r;
        submod_optim_info info;
        random_vector(&rng, a, 48, 0);
        for (size_t i = 0; i < 4; i++) { /* planes in opposite pairs: 0 is a minimiser */
            for (size_t j = 6; j < 12; j++) {
                a[j * 4 + i] = -a[(j - 6) * 4 + i];
            }
        }
        random_vector(&rng, x, 4, 0);
        ck_assert_ok(submod_problem_max_affine(12, 4, a, NULL, &p));
        submod_descent_settings s = settings_of(1, &r);
        s.schedule.kind = SUBMOD_SCHEDULE_POLYAK;
        double distance = INFINITY;
        for (int k = 0; k < 1000; k++) {
            double now = 0;
            for (size_t i = 0; i < 4; i++) {
                now += (x[i] - zero[i]) * (x[i] - zero[i]);
            }
            ck_assert(now <= distance * (1 + 1e-12));
            distance = now;
            s.run.max_iterations = 1;
            s.run.f_star = 0;
            r.count = 0;
            submod_status status = run(&p, x, &s, &info);
            ck_assert(status == SUBMOD_MAXITER || status == SUBMOD_OK);
        }
        ck_assert(info.f < 1e-3);
        s.run.f_star = NAN;
        ck_assert_int_eq(run(&p, x, &s, NULL), SUBMOD_EINVAL);
        submod_problem_clear(&p);
    }
}
END_TEST

/* ---- minibatches: f_i = loss of <a_i, x> - y_i, one row each ---- */

enum { DIM = 3, BATCHES = 7, STEPS = 150 };

typedef struct rows {
    double a[BATCHES][DIM], y[BATCHES];
    bool hinge, fits; /* max(0, r), else r^2/2 + offset; u has residuals 0 */
    double offset;
    submod_schedule schedule;
    double u[DIM], lipschitz;  /* what the theorem compares with; of the gradients */
    double last[DIM], start;   /* the point before; |x_0 - u|^2 */
    double gained, fitted;     /* sums over iterations: J_j(x_j) - J_j(u); J_j(u) - offset */
    double value, value_there; /* J_j at x_j and u, of the last iteration */
    size_t seen;
    double closest; /* of gained to its bound */
} rows;

static double loss_of(const rows *r, size_t batch, const double *x, double *g)
{
    double residual = -r->y[batch];
    for (size_t i = 0; i < DIM; i++) {
        residual += r->a[batch][i] * x[i];
    }
    double slope = r->hinge ? residual > 0 : residual;
    for (size_t i = 0; i < DIM; i++) {
        g[i] = slope * r->a[batch][i];
    }
    return r->hinge ? fmax(residual, 0) : residual * residual / 2 + r->offset;
}

static double squared_distance(const double *x, const double *y)
{
    double sum = 0;
    for (size_t i = 0; i < DIM; i++) {
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    }
    return sum;
}

static submod_status rows_subgradient(void *ctx, size_t batch, const double *x, double *value,
                                      double *g)
{
    rows *r = ctx;
    double there[DIM];
    ck_assert_uint_lt(batch, BATCHES);
    *value = r->value = loss_of(r, batch, x, g);
    r->value_there = loss_of(r, batch, r->u, there);
    return SUBMOD_OK;
}

static submod_status rows_value(void *ctx, const double *x, double *value)
{
    double g[DIM];
    *value = 0;
    for (size_t i = 0; i < BATCHES; i++) {
        *value += loss_of(ctx, i, x, g) / BATCHES;
    }
    return SUBMOD_OK;
}

/* The step size by its formula, and Theorem 3.4 of Loizou et al. for the iterations so far. */
static int watch(void *ctx, const submod_trace *line)
{
    rows *r = ctx;
    double norm = line->gradient_norm, cap = r->schedule.eta;
    double factor = r->schedule.factor > 0 ? r->schedule.factor : 1;
    double eta = fmin(factor * (r->value - r->offset) / (norm * norm), cap);
    if (line->iteration < STEPS) {
        ck_assert_near(line->step, norm > 0 ? eta : 0, 1e-12 * eta);
    }
    if (line->iteration == 0) {
        r->start = squared_distance(line->x, r->u);
    } else if (r->fits) { /* never away from u, for factor < 2 */
        double before = squared_distance(r->last, r->u);
        ck_assert(squared_distance(line->x, r->u) <= before * (1 + 1e-12) + 1e-28);
    }
    memcpy(r->last, line->x, sizeof r->last);
    r->gained += r->value - r->value_there;
    r->fitted += r->value_there - r->offset;
    if (!r->hinge && factor == 1) {
        double a = fmin(1 / (2 * r->lipschitz), cap);
        double bound = r->start / a + 2 * cap / a * r->fitted;
        ck_assert(r->gained <= bound * (1 + 1e-12) + 1e-12);
        r->closest = fmax(r->closest, r->gained / bound);
    }
    r->seen++;
    return 0;
}

static rows random_rows(submod_rng *rng, bool fits)
{
    rows r = {.fits = fits};
    random_vector(rng, r.a[0], BATCHES * DIM, 0);
    random_vector(rng, r.y, BATCHES, 0);
    random_vector(rng, r.u, DIM, 0);
    for (size_t j = 0; j < BATCHES; j++) {
        double zero[DIM] = {0};
        r.lipschitz = fmax(r.lipschitz, squared_distance(r.a[j], zero));
        for (size_t i = 0; i < DIM && fits; i++) {
            r.y[j] = (i ? r.y[j] : 0) + r.a[j][i] * r.u[i];
        }
    }
    return r;
}

START_TEST(stochastic_polyak)
{
    const double caps[] = {0.01, 0.5, 100}, factors[] = {0, 0.5, 1.9};
    submod_rng rng;
    submod_rng_seed(&rng, 8);
    double closest[2] = {0}; /* where u does not fit all minibatches, and where it does */
    for (int trial = 0; trial < 72; trial++) {
        rows r = random_rows(&rng, trial % 2);
        r.hinge = trial % 4 == 3;
        r.offset = r.hinge ? 0 : (trial % 3) * 0.5;
        r.schedule = (submod_schedule){SUBMOD_SCHEDULE_STOCHASTIC_POLYAK, .eta = caps[trial % 3],
                                       .factor = factors[trial / 3 % 3]};
        submod_problem p = {.struct_size = sizeof p,
                            .dimension = DIM,
                            .batches = BATCHES,
                            .ctx = &r,
                            .subgradient = rows_subgradient,
                            .value = rows_value};
        submod_descent_settings s = submod_descent_defaults();
        submod_step *step = NULL;
        double x[DIM];
        random_vector(&rng, x, DIM, 0);
        s.schedule = r.schedule;
        s.lower_bound = r.offset;
        s.order = trial / 36 ? SUBMOD_BATCH_SHUFFLED : SUBMOD_BATCH_CYCLIC;
        s.run.max_iterations = STEPS;
        s.run.trace = watch;
        s.run.trace_ctx = &r;
        ck_assert_ok(submod_step_gd(DIM, &step));
        ck_assert_ok(submod_descend(&p, step, x, &s, NULL, NULL));
        ck_assert_uint_eq(r.seen, STEPS + 1);
        submod_step_free(step);
        closest[r.fits] = fmax(closest[r.fits], r.closest);
    }
    ck_assert_msg(closest[0] > 0.09 && closest[1] > 0.25, "%g %g", closest[0], closest[1]);
}
END_TEST

START_TEST(bad_stochastic_polyak)
{
    submod_problem p;
    submod_descent_settings s = submod_descent_defaults();
    double x = 1;
    ck_assert_ok(submod_problem_max_affine(1, 1, (double[]){1}, NULL, &p));
    s.schedule = (submod_schedule){SUBMOD_SCHEDULE_STOCHASTIC_POLYAK, .eta = 1};
    s.direction = SUBMOD_DIRECTION_PROX;
    assert_error(run(&p, &x, &s, NULL), SUBMOD_EINVAL, "stochastic Polyak schedule needs");
    s.direction = SUBMOD_DIRECTION_SUBGRADIENT;
    s.lower_bound = NAN;
    assert_error(run(&p, &x, &s, NULL), SUBMOD_ENONFINITE, "lower_bound");
    s.lower_bound = 2; /* above the value: no step */
    s.run.max_iterations = 3;
    ck_assert_ok(run(&p, &x, &s, NULL));
    ck_assert(x == 1);
    submod_problem_clear(&p);
}
END_TEST

/* A step size that overflows ends the run, as a step that overflows does. */
START_TEST(polyak_with_a_slope_near_zero)
{
    submod_problem p;
    submod_optim_info info;
    record r;
    double x = 1;
    ck_assert_ok(submod_problem_max_affine(1, 1, (double[]){1e-200}, NULL, &p));
    submod_descent_settings s = settings_of(1, &r);
    s.schedule.kind = SUBMOD_SCHEDULE_POLYAK;
    s.run.f_star = -1;
    assert_error(run(&p, &x, &s, &info), SUBMOD_ENUMERIC, "step size");
    ck_assert(x == 1 && info.stop == SUBMOD_STOP_FAILURE && info.gap == INFINITY);
    submod_problem_clear(&p);
}
END_TEST

int main(void)
{
    return RUN_TESTS("polyak", keeping_the_best, polyak, stochastic_polyak, bad_stochastic_polyak,
                     polyak_with_a_slope_near_zero);
}
