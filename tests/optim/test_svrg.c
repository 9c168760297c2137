/* Prox-SVRG: the factor of its theorem at every stage, its steps by their definition, and FISTA. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "support.h"

enum { BATCHES = 6, SIZE = 4 };

/* s_k = 1/2 (<a_k, x> - c_k)^2, h = mu |x|_1. */
typedef struct lasso {
    size_t m;
    double a[BATCHES][SIZE], c[BATCHES], mu;
} lasso;

static submod_status smooth(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    const lasso *l = ctx;
    size_t first = batch == SUBMOD_FULL_BATCH ? 0 : batch;
    size_t end = batch == SUBMOD_FULL_BATCH ? l->m : batch + 1;
    *value = 0;
    memset(g, 0, SIZE * sizeof *g);
    for (size_t k = first; k < end; k++) {
        double rest = -l->c[k], weight = 1 / (double)(end - first);
        for (size_t i = 0; i < SIZE; i++) {
            rest += l->a[k][i] * x[i];
        }
        *value += weight * rest * rest / 2;
        for (size_t i = 0; i < SIZE; i++) {
            g[i] += weight * rest * l->a[k][i];
        }
    }
    return SUBMOD_OK;
}

static submod_status whole(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    const lasso *l = ctx;
    smooth(ctx, batch, x, value, g);
    for (size_t i = 0; i < SIZE; i++) {
        *value += l->mu * fabs(x[i]);
        g[i] += x[i] > 0 ? l->mu : x[i] < 0 ? -l->mu : 0;
    }
    return SUBMOD_OK;
}

static submod_status shrink(void *ctx, size_t batch, const double *x, double lambda, double *u)
{
    const lasso *l = ctx;
    ck_assert(batch == SUBMOD_FULL_BATCH);
    for (size_t i = 0; i < SIZE; i++) {
        u[i] = copysign(fmax(fabs(x[i]) - l->mu / lambda, 0), x[i]);
    }
    return SUBMOD_OK;
}

/* Every third: all minibatches but one nearly vanish; every fifth: no h. */
static submod_problem make(lasso *l, submod_rng *rng, int trial)
{
    l->m = trial % 2 ? BATCHES : 1;
    random_vector(rng, &l->a[0][0], sizeof l->a / sizeof(double), 0);
    random_vector(rng, l->c, BATCHES, 0);
    for (size_t i = 0; i < (size_t)(BATCHES - 1) * SIZE && trial % 3 == 2; i++) {
        (&l->a[1][0])[i] *= 1e-3;
    }
    l->mu = trial % 5 == 4 ? 0 : submod_rng_uniform(rng) / 4;
    return (submod_problem){sizeof(submod_problem), .dimension = SIZE, .batches = l->m, .ctx = l,
                            .subgradient = whole,   .prox = shrink,    .smooth = smooth};
}

/* Of the gradients of all s_k. */
static double lipschitz(const lasso *l)
{
    double most = 0;
    for (size_t k = 0; k < l->m; k++) {
        double squares = 0;
        for (size_t i = 0; i < SIZE; i++) {
            squares += l->a[k][i] * l->a[k][i];
        }
        most = fmax(most, squares);
    }
    return most;
}

static double minimum(const submod_problem *p, double decay)
{
    double x[SIZE] = {0};
    submod_optim_info info;
    submod_fista_settings s = submod_fista_defaults();
    s.run.weight_decay = decay;
    s.run.max_iterations = 5000;
    s.run.gradient_tolerance = 1e-11;
    ck_assert_ok(submod_fista(p, x, &s, &info, NULL));
    return info.f;
}

enum { STAGES = 8 };
typedef struct sums {
    double ahead[STAGES + 1], f_star;
    size_t lines;
} sums;

static int add(void *ctx, const submod_trace *line)
{
    sums *s = ctx;
    s->ahead[line->iteration] += line->f - s->f_star;
    s->lines++;
    return 0;
}

/* In the mean over seeds, which with a single minibatch is no matter of chance. */
START_TEST(every_stage_gains_its_factor)
{
    submod_rng rng;
    submod_rng_seed(&rng, 1);
    double closest = 0;
    for (int trial = 0; trial < 12; trial++) {
        lasso l;
        submod_problem p = make(&l, &rng, trial);
        double L = lipschitz(&l), mu = L / 5, eta = 0.1 / L;
        size_t inner = trial % 4 < 2 ? 300 : 1000, seeds = l.m > 1 ? 40 : 1;
        double q = (double)inner, rest = 1 - 4 * L * eta;
        double factor = 1 / (mu * eta * rest * q) + 4 * L * eta * (q + 1) / (rest * q);
        sums sum = {.f_star = minimum(&p, mu)};
        for (size_t seed = 0; seed < seeds; seed++) {
            double x[SIZE] = {5, -5, 5, 5};
            submod_svrg_settings s = submod_svrg_defaults();
            s.eta = eta;
            s.inner = inner;
            s.seed = seed;
            s.run.weight_decay = mu;
            s.run.max_iterations = STAGES;
            s.run.trace = add;
            s.run.trace_ctx = &sum;
            ck_assert_ok(submod_svrg(&p, x, &s, NULL, NULL));
        }
        ck_assert(factor < 1);
        for (size_t k = 1; k <= STAGES; k++) {
            double bound = pow(factor, (double)k) * sum.ahead[0];
            ck_assert_msg(sum.ahead[k] <= bound + 1e-9 * (double)seeds, "%g %g", sum.ahead[k],
                          bound);
            closest = fmax(closest, sum.ahead[k] / bound);
        }
    }
    ck_assert_msg(closest > 1e-3, "%g", closest);
}
END_TEST

/* Long stages of long steps gain far more than they must. Short ones, so few that a stage just
 * gains, gain hardly more on mu/2 x_1^2: from the decay, where the data do not look at x_1, or from
 * the data. L is what the theorem is told; that of the gradients may be less. */
START_TEST(stages_that_gain_little_more)
{
    submod_rng rng;
    submod_rng_seed(&rng, 5);
    double closest[2] = {0};
    for (int trial = 0; trial < 12; trial++) {
        lasso l;
        const bool from_data = trial / 6;
        submod_problem p = make(&l, &rng, trial % 2);
        double L = from_data ? 2 : lipschitz(&l), mu = L / 5, eta = 0.01 / L,
               rest = 1 - 4 * L * eta;
        l.mu = 0;
        memset(l.c, 0, sizeof l.c);
        for (size_t k = 0; k < BATCHES; k++) {
            l.a[k][0] = from_data ? sqrt(mu) : 0;
            for (size_t i = 1; i < SIZE && from_data; i++) {
                l.a[k][i] = 0;
            }
        }
        double q = ceil((double[]){1.2, 2, 4}[trial / 2 % 3] / (mu * eta));
        double factor = 1 / (mu * eta * rest * q) + 4 * L * eta * (q + 1) / (rest * q);
        sums sum = {0};
        double x[SIZE] = {5};
        submod_svrg_settings s = submod_svrg_defaults();
        s.eta = eta;
        s.inner = (size_t)q;
        s.run.weight_decay = from_data ? 0 : mu;
        s.run.max_iterations = STAGES;
        s.run.trace = add;
        s.run.trace_ctx = &sum;
        ck_assert_ok(submod_svrg(&p, x, &s, NULL, NULL));
        ck_assert(factor < 1);
        for (size_t k = 1; k <= STAGES; k++) {
            double bound = factor * sum.ahead[k - 1]; /* for the stage alone: no chance in it */
            ck_assert_msg(sum.ahead[k] <= bound, "%g %g", sum.ahead[k], bound);
            closest[from_data] = fmax(closest[from_data], sum.ahead[k] / bound);
        }
    }
    ck_assert_msg(closest[0] > 0.35 && closest[1] > 0.35, "%g %g", closest[0], closest[1]);
}
END_TEST

/* Two stages of two steps each, written out. */
START_TEST(step_by_step)
{
    submod_rng rng;
    submod_rng_seed(&rng, 2);
    lasso l;
    submod_problem p = make(&l, &rng, 1);
    double x[SIZE] = {1, -2, 0.5, 0.1}, y[SIZE], eta = 0.05, decay = 0.2;
    double anchor[SIZE] = {1, -2, 0.5, 0.1};
    submod_svrg_settings s = submod_svrg_defaults();
    s.eta = eta;
    s.inner = 2;
    s.order = SUBMOD_BATCH_CYCLIC;
    s.run.weight_decay = decay;
    s.run.max_iterations = 2;
    submod_optim_info info;
    ck_assert_ok(submod_svrg(&p, x, &s, &info, NULL));
    for (size_t stage = 0; stage < 2; stage++) {
        double mean[SIZE] = {0}, full[SIZE], here[SIZE], there[SIZE], value;
        memcpy(y, anchor, sizeof y);
        smooth(&l, SUBMOD_FULL_BATCH, anchor, &value, full);
        for (size_t k = 2 * stage; k < 2 * stage + 2; k++) {
            smooth(&l, k, y, &value, here);
            smooth(&l, k, anchor, &value, there);
            for (size_t i = 0; i < SIZE; i++) {
                double at = (y[i] - eta * (here[i] - there[i] + full[i])) / (1 + eta * decay);
                y[i] = copysign(fmax(fabs(at) - l.mu / (1 / eta + decay), 0), at);
                mean[i] += y[i] / 2;
            }
        }
        memcpy(anchor, mean, sizeof mean);
    }
    for (size_t i = 0; i < SIZE; i++) {
        ck_assert_near(x[i], anchor[i], 1e-13);
    }
    ck_assert(info.iterations == 2 && info.proxes == 2 * 2 + 3);
    ck_assert(info.gradients == 2 * 2 * 2 + 3 + 3); /* steps, anchors, J */
}
END_TEST

START_TEST(bad_arguments_and_answers)
{
    submod_rng rng;
    submod_rng_seed(&rng, 3);
    lasso l;
    submod_problem p = make(&l, &rng, 1);
    double x[SIZE] = {1};
    submod_optim_info info = {.iterations = 77};
    submod_svrg_settings s = submod_svrg_defaults();
    assert_error(submod_svrg(&p, x, &s, &info, NULL), SUBMOD_EINVAL, "eta");
    s.eta = 0.1;
    ck_assert_int_eq(submod_svrg(NULL, x, &s, &info, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_svrg(&p, NULL, &s, &info, NULL), SUBMOD_EINVAL);
    ck_assert_int_eq(submod_svrg(&p, x, NULL, &info, NULL), SUBMOD_EINVAL);
    s.order = (submod_batch_order)9;
    assert_error(submod_svrg(&p, x, &s, &info, NULL), SUBMOD_EINVAL, "order");
    s = submod_svrg_defaults();
    s.eta = INFINITY;
    ck_assert_int_eq(submod_svrg(&p, x, &s, &info, NULL), SUBMOD_ENONFINITE);
    s.eta = 0.1;
    x[1] = NAN;
    ck_assert_int_eq(submod_svrg(&p, x, &s, &info, NULL), SUBMOD_ENONFINITE);
    x[1] = 0;
    submod_problem other = p;
    other.smooth = NULL;
    assert_error(submod_svrg(&other, x, &s, &info, NULL), SUBMOD_EINVAL, "smooth");
    ck_assert(info.iterations == 77 && x[0] == 1);
    s.eta = 1e3; /* diverges */
    submod_status status = submod_svrg(&p, x, &s, &info, NULL);
    ck_assert(status == SUBMOD_ECALLBACK || status == SUBMOD_ENUMERIC);
    ck_assert(info.stop == SUBMOD_STOP_FAILURE && isfinite(x[0]));
    s.eta = 0.1;
    x[0] = 1;
    l.c[0] = NAN;
    ck_assert_int_eq(submod_svrg(&p, x, &s, &info, NULL), SUBMOD_ECALLBACK);
    ck_assert(x[0] == 1);
}
END_TEST

int main(void)
{
    return RUN_TESTS("svrg", every_stage_gains_its_factor, stages_that_gain_little_more,
                     step_by_step, bad_arguments_and_answers);
}
