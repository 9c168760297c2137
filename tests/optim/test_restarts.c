/* The restarted subgradient method on sharp functions: the error falls by the factor of the
 * schedule in every stage, as its theorem in steps.h has it. */
#include <math.h>
#include <string.h>

#include "support.h"

typedef struct stages {
    size_t period, seen;
    double bound, factor; /* of the stage to come */
    double closest;       /* of a stage's end to its bound */
} stages;

static int watch_stages(void *ctx, const submod_trace *line)
{
    stages *t = ctx;
    if (line->iteration % t->period == 0) {
        ck_assert_msg(line->f <= t->bound * (1 + 1e-12), "stage %zu: %.17g is over %.17g", t->seen,
                      line->f, t->bound);
        t->closest = t->seen ? fmax(t->closest, line->f / t->bound) : 0;
        t->bound *= t->factor;
        t->seen++;
    }
    return 0;
}

static submod_status make_restarted(size_t n, size_t period, submod_step **step)
{
    submod_status status = submod_step_gd(n, step);
    status = status ? status : submod_step_averaged(*step, 0, step);
    return status ? status : submod_step_restarted(*step, period, step);
}

/* Rows of a diagonal make f sharp, |x| <= kappa f(x); random ones only ever add to f. */
START_TEST(restarts_converge_linearly_where_f_is_sharp)
{
    enum { DIM = 3, ROWS = 5, STAGES = 30 };
    submod_rng rng;
    submod_rng_seed(&rng, 6);
    double closest = 0;
    for (int trial = 0; trial < 10; trial++) {
        double a[2 * ROWS * DIM], x[DIM], kappa = 0, G = 0, value = NAN;
        random_vector(&rng, a, ROWS * DIM, 0);
        for (size_t j = 0; j < ROWS; j++) {
            double norm = 0;
            for (size_t i = 0; i < DIM; i++) {
                double *here = &a[j * DIM + i];
                *here = j < DIM ? (i == j ? 1 + submod_rng_uniform(&rng) : 0) : *here;
                kappa += i == j && j < DIM ? 1 / (*here * *here) : 0;
                norm += *here * *here;
                a[(ROWS + j) * DIM + i] = -*here;
            }
            G = fmax(G, sqrt(norm));
        }
        kappa = sqrt(kappa);
        random_vector(&rng, x, DIM, 0);
        submod_problem p;
        submod_step *step = NULL;
        ck_assert_ok(submod_problem_max_affine(2 * ROWS, DIM, a, NULL, &p));
        ck_assert_ok(p.value(p.ctx, x, &value));
        double factor = trial % 2 ? 0.5 : 0.8;
        stages t = {
            .period = (size_t)ceil(pow(kappa * G / factor, 2)), .bound = value, .factor = factor};
        submod_descent_settings s = submod_descent_defaults();
        s.schedule = (submod_schedule){SUBMOD_SCHEDULE_STEP, .eta = value * factor / (G * G),
                                       .factor = factor, .period = t.period};
        s.run.max_iterations = STAGES * t.period;
        s.run.trace = watch_stages;
        s.run.trace_ctx = &t;
        ck_assert_ok(make_restarted(DIM, t.period, &step));
        ck_assert_ok(submod_descend(&p, step, x, &s, NULL, NULL));
        ck_assert_uint_eq(t.seen, STAGES + 1);
        closest = fmax(closest, t.closest);
        submod_step_free(step);
        submod_problem_clear(&p);
    }
    ck_assert_msg(closest > 0.5, "%g", closest);
}
END_TEST

/* The stages one by one: each is a run of its own, from the average that the one before ended with,
 * not from its last point. */
START_TEST(a_stage_starts_at_the_average_of_the_one_before)
{
    enum { DIM = 3, ROWS = 6, PERIOD = 5, STAGES = 3 };
    submod_rng rng;
    submod_rng_seed(&rng, 7);
    double a[ROWS * DIM], x[DIM], y[DIM];
    random_vector(&rng, a, ROWS * DIM, 0);
    random_vector(&rng, x, DIM, 0);
    memcpy(y, x, sizeof y);
    submod_problem p;
    submod_step *step = NULL, *inner = NULL;
    ck_assert_ok(submod_problem_max_affine(ROWS, DIM, a, NULL, &p));
    submod_descent_settings s = submod_descent_defaults();
    s.schedule =
        (submod_schedule){SUBMOD_SCHEDULE_STEP, .eta = 0.3, .factor = 0.5, .period = PERIOD};
    s.run.max_iterations = STAGES * PERIOD;
    ck_assert_ok(make_restarted(DIM, PERIOD, &step));
    ck_assert_ok(submod_descend(&p, step, x, &s, NULL, NULL));
    submod_step_free(step);
    for (int stage = 0; stage < STAGES; stage++) {
        s.schedule = (submod_schedule){SUBMOD_SCHEDULE_CONSTANT, .eta = 0.3 * pow(0.5, stage)};
        s.run.max_iterations = PERIOD;
        ck_assert_ok(submod_step_gd(DIM, &inner));
        ck_assert_ok(submod_step_averaged(inner, 0, &inner));
        ck_assert_ok(submod_descend(&p, inner, y, &s, NULL, NULL));
        submod_step_free(inner);
    }
    for (size_t i = 0; i < DIM; i++) {
        ck_assert_near(x[i], y[i], 1e-14);
    }
    submod_problem_clear(&p);
}
END_TEST

int main(void)
{
    return RUN_TESTS("restarts", restarts_converge_linearly_where_f_is_sharp,
                     a_stage_starts_at_the_average_of_the_one_before);
}
