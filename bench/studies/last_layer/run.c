/* One run of an optimiser on one problem, the search for its step size, and the minimum. */
#include "last_layer/run.h"

#include <math.h>
#include <stdlib.h>

static const double decay = 1e-4, alpha = 0.9;
const double layer_power = 0.9;
static const double etas[LAYER_STEPS] = {0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3};
static const double looks[LAYER_LOOKS] = {1, 0.1, 0.01};

const layer_optimiser layer_methods[LAYER_METHODS] = {
    [BY_SGD] = {"SGD", LAYER_SUBGRADIENT, LAYER_SGD},
    [BY_MOMENTUM] = {"momentum", LAYER_SUBGRADIENT, LAYER_MOMENTUM},
    [BY_ADAM] = {"Adam", LAYER_SUBGRADIENT, LAYER_ADAM},
    [BY_PROX] = {"prox", LAYER_PROX, LAYER_SGD},
    [BY_PROX_MOMENTUM] = {"prox + momentum", LAYER_PROX, LAYER_MOMENTUM},
    [BY_PROX_ADAM] = {"prox + Adam", LAYER_PROX, LAYER_ADAM},
    [BY_PATH] = {"Algorithm 2 prox", LAYER_ALGORITHM_2, LAYER_SGD}};

/* ---- the minimum ---- */
bool layer_minimum(layer_task *t, double tolerance)
{
    submod_problem problem;
    if (!layer_problem(&t->train, &t->held_out, t->per_batch, LAYER_SUBGRADIENT, 0, &problem)) {
        return false;
    }
    submod_bundle_settings settings = submod_bundle_defaults();
    submod_optim_info info = {.f = NAN};
    settings.run.weight_decay = decay;
    settings.run.tolerance = tolerance;
    settings.run.max_iterations = 2000;
    double *w = calloc(problem.dimension, sizeof *w);
    submod_status status = w ? submod_bundle(&problem, w, &settings, &info, NULL) : SUBMOD_ENOMEM;
    t->f_star = info.lower_bound;
    t->gap = info.gap;
    free(w);
    submod_problem_clear(&problem);
    return status >= SUBMOD_OK ? true : study_fail("bundle: %s", submod_last_error());
}

/* ---- one run ---- */
typedef struct recorder {
    layer_curve *to;
    size_t points;
    const layer_task *task;
    const submod_problem *problem;
} recorder;

static int record(void *ctx, const submod_trace *line)
{
    recorder *r = ctx;
    if (r->points <= r->task->epochs) {
        double excess = line->f - r->task->f_star;
        r->to->excess[r->points] = isfinite(excess) ? excess : INFINITY;
        r->to->jaccard[r->points] = line->metric;
        r->to->seconds[r->points++] = line->seconds - layer_value_seconds(r->problem);
    }
    return 0;
}

/* What a run that diverged did not reach. */
static void fill_up(const recorder *r)
{
    for (size_t k = r->points; k <= r->task->epochs; k++) {
        r->to->excess[k] = INFINITY;
        r->to->jaccard[k] = 0;
        r->to->seconds[k] = k > 0 ? r->to->seconds[k - 1] : 0;
    }
}

static submod_status make_step(layer_rule rule, size_t n, submod_step **step)
{
    return rule == LAYER_SGD        ? submod_step_gd(n, step)
           : rule == LAYER_MOMENTUM ? submod_step_momentum(n, alpha, step)
                                    : submod_step_adam(n, step, NULL);
}

static submod_descent_settings make_settings(const layer_task *t, size_t batches, double eta)
{
    submod_descent_settings s = submod_descent_defaults();
    s.run.max_iterations = t->epochs * batches;
    s.run.weight_decay = decay;
    s.run.keep_best = 0;
    s.run.trace_every = batches;
    s.run.trace = record;
    s.schedule = (submod_schedule){.kind = SUBMOD_SCHEDULE_POLY,
                                   .eta = eta,
                                   .power = layer_power,
                                   .period = s.run.max_iterations};
    s.order = SUBMOD_BATCH_SHUFFLED;
    return s;
}

bool layer_run(const layer_task *t, layer_method method, layer_tuning tuning, uint64_t seed,
               layer_curve *curve)
{
    submod_problem problem;
    submod_step *step = NULL;
    const layer_optimiser *m = &layer_methods[method];
    if (!layer_problem(&t->train, &t->held_out, t->per_batch, m->direction, tuning.look,
                       &problem)) {
        return false;
    }
    recorder r = {curve, 0, t, &problem};
    submod_descent_settings settings = make_settings(t, problem.batches, tuning.eta);
    settings.run.trace_ctx = &r;
    settings.seed = seed;
    settings.direction =
        m->direction == LAYER_SUBGRADIENT ? SUBMOD_DIRECTION_SUBGRADIENT : SUBMOD_DIRECTION_PROX;
    double *w = calloc(problem.dimension, sizeof *w);
    submod_status status = w ? make_step(m->rule, problem.dimension, &step) : SUBMOD_ENOMEM;
    if (status == SUBMOD_OK) {
        status = submod_descend(&problem, step, w, &settings, NULL, NULL);
    }
    fill_up(&r);
    bool lost = status == SUBMOD_ENOMEM || status == SUBMOD_EINVAL; /* diverging is no failure */
    submod_step_free(step);
    free(w);
    submod_problem_clear(&problem);
    return lost ? study_fail("%s: %s", m->name, submod_last_error()) : true;
}

bool layer_tune(const layer_task *t, layer_method method, uint64_t seed, layer_tuning *best)
{
    bool has_look = layer_methods[method].direction != LAYER_SUBGRADIENT;
    double least = INFINITY;
    *best = (layer_tuning){etas[0], has_look ? looks[0] : 0};
    for (size_t k = 0; k < (has_look ? LAYER_LOOKS : 1); k++) {
        for (size_t e = 0; e < LAYER_STEPS; e++) {
            layer_curve curve;
            layer_tuning tried = {etas[e], has_look ? looks[k] : 0};
            if (!layer_run(t, method, tried, seed, &curve)) {
                return false;
            }
            if (curve.excess[t->epochs] < least) {
                least = curve.excess[t->epochs];
                *best = tried;
            }
        }
    }
    return true;
}
