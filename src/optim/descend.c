/* x <- step(x, direction): every method whose step rule only sees directions. Cost of an iteration:
 * one subgradient or one prox of a minibatch, and O(n). */
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "optim/deck.h"
#include "optim/monitor.h"
#include "optim/step.h"

submod_descent_settings submod_descent_defaults(void)
{
    return (submod_descent_settings){.run = submodi_run_defaults(), .seed = 1};
}

static submod_status check_prox(const submod_problem *problem, const submod_descent_settings *s)
{
    if (!problem->prox && !problem->direction) {
        return submodi_fail(SUBMOD_EINVAL, "the problem needs a prox or a direction");
    }
    return submodi_check_nonnegative("lambda", s->lambda);
}

static submod_status check_schedule(const submod_descent_settings *s)
{
    submod_status status = submod_schedule_check(&s->schedule);
    if (status == SUBMOD_OK && s->schedule.kind == SUBMOD_SCHEDULE_POLYAK &&
        (isnan(s->run.f_star) || s->direction || s->order)) {
        return submodi_fail(SUBMOD_EINVAL,
                            "Polyak's schedule needs run.f_star, subgradients and the full batch");
    }
    return status;
}

static submod_status check(const submod_problem *problem, const submod_step *step, const double *x,
                           const submod_descent_settings *s)
{
    submod_status status = submodi_problem_check(problem);
    status = status ? status : submodi_check_given("step", step);
    status = status ? status : submodi_check_given("x", x);
    status = status ? status : submodi_check_given("settings", s);
    if (status != SUBMOD_OK) {
        return status;
    }
    if (step->n != problem->dimension) {
        return submodi_fail(SUBMOD_EINVAL, "the step rule is for dimension %zu, not %zu", step->n,
                            problem->dimension);
    }
    if ((unsigned)s->direction > SUBMOD_DIRECTION_PROX) {
        return submodi_fail(SUBMOD_EINVAL, "direction = %d is unknown; see submod_direction",
                            (int)s->direction);
    }
    status = submodi_order_check(s->order);
    status = status ? status : submodi_run_check(&s->run);
    status = status ? status : check_schedule(s);
    if (status == SUBMOD_OK && s->direction == SUBMOD_DIRECTION_PROX) {
        status = check_prox(problem, s);
    }
    return status ? status : submodi_check_finite("x", x, problem->dimension);
}

typedef struct run {
    const submod_descent_settings *settings;
    submod_step *step;
    submodi_monitor monitor;
    submodi_deck deck;
    double *d, *point; /* the direction; scratch for the prox */
} run;

/* The step size along a subgradient of this norm, where the value is known. */
static double step_size(const submod_descent_settings *s, size_t k, double value, double norm)
{
    const submod_schedule *schedule = &s->schedule;
    if (schedule->kind == SUBMOD_SCHEDULE_POLYAK) {
        double ahead = fmax(value - s->run.f_star, 0);
        return norm > 0 ? schedule->eta * ahead / norm / norm : 0;
    }
    return submod_schedule_eta(schedule, k);
}

/* Computes the direction at x, its norm and the step size. *f: J(x) if it comes along, else NaN. */
static submod_status look_around(run *r, size_t k, const double *x, double *f, double *norm,
                                 double *eta)
{
    const submod_descent_settings *s = r->settings;
    submodi_oracle *o = &r->monitor.oracle;
    size_t batch = submodi_deck_draw(&r->deck, k);
    double value = NAN;
    submod_status status;
    if (s->direction == SUBMOD_DIRECTION_PROX) {
        /* If the schedule has run out, any lambda will do, because no step is taken. */
        double planned = submod_schedule_eta(&s->schedule, k);
        double lambda = s->lambda > 0 ? s->lambda : 1 / (planned > 0 ? planned : s->schedule.eta);
        status = submodi_oracle_direction(o, batch, x, lambda, r->point, r->d);
    } else {
        status = submodi_oracle_gradient(o, batch, x, &value, r->d);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    if (!submodi_all_finite(r->d, r->step->n)) {
        return submodi_fail(SUBMOD_ENUMERIC, "the direction of iteration %zu overflows", k);
    }
    *norm = submodi_norm(r->d, r->step->n);
    *f = batch == SUBMOD_FULL_BATCH ? value : NAN;
    *eta = step_size(s, k, value, *norm);
    return isfinite(*eta)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "the step size of iteration %zu overflows", k);
}

/* The point that iteration k is about; *f = NaN unless it is x. A direction that is short enough to
 * end the run speaks for x, and for no average. */
static const double *point_of(const run *r, const double *x, double norm, double *f)
{
    bool done = r->monitor.full && norm <= r->settings->run.gradient_tolerance;
    const double *answer = done ? x : submodi_step_answer(r->step, x);
    *f = answer == x ? *f : NAN;
    return answer;
}

static submod_status iterate(run *r, double *x, double *f)
{
    for (size_t k = 0;; k++) {
        double norm = NAN, eta = NAN, here = NAN;
        bool stop = false;
        r->monitor.oracle.iteration = k;
        submod_status status = look_around(r, k, x, &here, &norm, &eta);
        const double *point = status ? x : point_of(r, x, norm, &here);
        status =
            status ? status : submodi_monitor_look(&r->monitor, k, point, norm, eta, &here, &stop);
        if (status != SUBMOD_OK || stop) {
            memmove(x, point, r->step->n * sizeof *x);
            *f = here;
            return status;
        }
        submodi_monitor_keep(&r->monitor, point, here);
        status = eta > 0 ? submod_step_apply(r->step, eta, r->d, x) : SUBMOD_OK;
        if (status != SUBMOD_OK) {
            return status;
        }
    }
}

submod_status submod_descend(const submod_problem *problem, submod_step *step, double *x,
                             const submod_descent_settings *settings, submod_optim_info *info,
                             submod_work *work)
{
    submod_descent_settings s = settings ? *settings : submod_descent_defaults();
    submod_status status = check(problem, step, x, settings ? &s : NULL);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_descend", status);
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    size_t n = problem->dimension;
    run r = {.settings = &s, .step = step};
    r.d = submodi_work_alloc(w, n, sizeof *r.d);
    r.point = submodi_work_alloc(w, n, sizeof *r.point);
    status = r.d && r.point ? SUBMOD_OK : submodi_out_of_memory();
    status = status ? status : submodi_deck_open(&r.deck, problem, s.order, s.seed, w);
    status = status ? status : submodi_monitor_start(&r.monitor, problem, &s.run, w);
    if (status == SUBMOD_OK) {
        double f = NAN;
        r.monitor.full = r.deck.order == SUBMOD_BATCH_FULL;
        status = iterate(&r, x, &f);
        status = submodi_monitor_finish(&r.monitor, status, f, x, info);
    }
    submodi_scope_close(&scope);
    return submodi_return("submod_descend", status);
}
