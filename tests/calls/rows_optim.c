/* Rows of greedy maximisation and the optimisers (see calls.h). */
#include <submod/select.h>

#include "calls.h"

/* ---- maximisation ---- */

static submod_status maximize(call *c, submod_maximize_method method)
{
    submod_maximize_settings settings = submod_maximize_defaults();
    settings.method = method;
    return submod_maximize(NEEDED(c->fn), 3, NULL, 0, OPTIONAL(ARRAY(int32_t, 3)),
                           OPTIONAL(ARRAY(double, 3)), OPTIONAL(VALUE(size_t)), &settings,
                           OPTIONAL(INFO(submod_maximize_info, value, monotone)));
}

static submod_status maximize_lazy(call *c)
{
    return maximize(c, SUBMOD_MAXIMIZE_LAZY);
}

static submod_status maximize_plain(call *c)
{
    return maximize(c, SUBMOD_MAXIMIZE_PLAIN);
}

static submod_status maximize_stochastic(call *c)
{
    return maximize(c, SUBMOD_MAXIMIZE_STOCHASTIC);
}

/* ---- optimisers, on the maximum of eight planes in ten dimensions; x moves in any case ---- */

enum { PLANES = 8, DIMENSION = 10, ITERATIONS = 50 };

static submod_status planes(const call *c, submod_problem *p)
{
    return submod_problem_max_affine(PLANES, DIMENSION, c->data->x, c->data->x + PLANES * DIMENSION,
                                     p);
}

static double *beginning(call *c)
{
    double *x = ARRAY(double, DIMENSION);
    for (int i = 0; i < DIMENSION; i++) {
        x[i] = i == 0;
    }
    return x;
}

static submod_status bundle(call *c)
{
    submod_problem p = {0};
    submod_bundle_settings settings = submod_bundle_defaults();
    double *x = beginning(c);
    settings.run.weight_decay = 0.1;
    submod_status status = planes(c, &p);
    status = status ? status : submod_bundle(&p, x, &settings, NULL, c->work);
    submod_problem_clear(&p);
    return status;
}

static submod_status bcfw(call *c)
{
    submod_problem p = {0}, smooth = {0};
    submod_bcfw_settings settings = submod_bcfw_defaults();
    double *x = beginning(c), *y = beginning(c);
    settings.run.weight_decay = 0.1;
    settings.run.max_iterations = ITERATIONS;
    submod_status status = planes(c, &p);
    status = status ? status : submod_problem_smoothed(&p, 2, &smooth);
    status = status ? status : submod_bcfw(&p, x, &settings, NULL, c->work);
    status = status < 0 ? status : submod_bcfw(&smooth, y, &settings, NULL, c->work);
    submod_problem_clear(&smooth);
    submod_problem_clear(&p);
    return status;
}

static submod_status fista(call *c)
{
    submod_problem p = {0};
    submod_fista_settings settings = submod_fista_defaults();
    double *x = beginning(c);
    settings.run.max_iterations = ITERATIONS;
    submod_status status = planes(c, &p);
    status = status ? status : submod_fista(&p, x, &settings, NULL, c->work);
    submod_problem_clear(&p);
    return status;
}

static submod_status descend(call *c, submod_direction direction)
{
    submod_problem p = {0};
    submod_step *step = NULL;
    submod_descent_settings settings = submod_descent_defaults();
    double *x = beginning(c);
    settings.schedule = submod_schedule_constant(0.1);
    settings.direction = direction;
    settings.order = SUBMOD_BATCH_SHUFFLED;
    settings.run.keep_best = 1;
    settings.run.max_iterations = ITERATIONS;
    submod_status status = planes(c, &p);
    status = status ? status : submod_step_adam(DIMENSION, &step, NULL);
    status = status ? status : submod_descend(&p, step, x, &settings, NULL, c->work);
    submod_step_free(step);
    submod_problem_clear(&p);
    return status;
}

static submod_status descend_by_subgradient(call *c)
{
    return descend(c, SUBMOD_DIRECTION_SUBGRADIENT);
}

static submod_status descend_by_prox(call *c)
{
    return descend(c, SUBMOD_DIRECTION_PROX);
}

static submod_status primal_dual(call *c)
{
    submod_problem p = {0};
    double identity[DIMENSION * DIMENSION] = {0};
    submod_map map = {.rows = DIMENSION, .columns = DIMENSION, .matrix = identity};
    submod_split_settings settings = submod_split_defaults();
    double *x = beginning(c);
    for (int i = 0; i < DIMENSION; i++) {
        identity[i * DIMENSION + i] = 1;
    }
    settings.run.max_iterations = 3;
    settings.run.weight_decay = 0.1;
    submod_status status = planes(c, &p);
    status = status ? status : submod_primal_dual(&p, &map, &p, x, &settings, NULL, c->work);
    submod_problem_clear(&p);
    return status;
}

/* A rule around a rule around a rule: whichever fails, those inside are freed once. */
static submod_status steps(call *c)
{
    submod_step *step = NULL;
    double *x = beginning(c);
    submod_status status = submod_step_adam(DIMENSION, &step, NULL);
    status = status ? status : submod_step_averaged(step, 1, &step);
    status = status ? status : submod_step_averaged(step, 0, &step);
    for (int k = 0; k < 3 && status == SUBMOD_OK; k++) {
        status = submod_step_apply(step, 0.1, c->data->x, x);
    }
    submod_step_free(step);
    return status;
}

enum { EACH = CALL_ON_FUNCTION | CALL_FAST | CALL_CANCELS, RUN = CALL_SEVERAL | CALL_CANCELS };

static const call_row rows[] = {{"submod_maximize: lazy", EACH, maximize_lazy},
                                {"submod_maximize: plain", EACH, maximize_plain},
                                {"submod_maximize: stochastic", EACH, maximize_stochastic},
                                {"submod_bundle", RUN, bundle},
                                {"submod_bcfw", RUN, bcfw},
                                {"submod_fista", RUN, fista},
                                {"submod_descend: by subgradient", RUN, descend_by_subgradient},
                                {"submod_descend: by prox", RUN, descend_by_prox},
                                {"submod_primal_dual", RUN, primal_dual},
                                {"submod_step_apply", CALL_SEVERAL, steps}};
const call_table optim_calls = {rows, sizeof rows / sizeof *rows};
