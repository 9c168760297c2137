/* When a run stops, and what it reports. J is evaluated every trace_every iterations
 * and at the end. The time of metric and trace callbacks is not counted. */
#include "optim/monitor.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/internal.h"

submod_run_settings submodi_run_defaults(void)
{
    return (submod_run_settings){.max_iterations = 1000, .f_star = NAN, .trace_every = 1};
}

submod_run_settings submodi_gap_defaults(void)
{
    submod_run_settings s = submodi_run_defaults();
    s.tolerance = 1e-6;
    return s;
}

submod_status submodi_run_check(const submod_run_settings *s)
{
    submod_status status = submodi_check_nonnegative("time_limit", s->time_limit);
    status = status ? status : submodi_check_nonnegative("tolerance", s->tolerance);
    status =
        status ? status : submodi_check_nonnegative("gradient_tolerance", s->gradient_tolerance);
    status = status ? status : submodi_check_nonnegative("weight_decay", s->weight_decay);
    if (status != SUBMOD_OK) {
        return status;
    }
    return isinf(s->f_star)
               ? submodi_fail(SUBMOD_EINVAL, "f_star = %g must be finite, or NaN if unknown",
                              s->f_star)
               : SUBMOD_OK;
}

submod_status submodi_monitor_start(submodi_monitor *w, const submod_problem *problem,
                                    const submod_run_settings *settings, submod_work *work)
{
    size_t n = problem->dimension;
    *w = (submodi_monitor){
        .oracle = {.problem = problem, .decay = settings->weight_decay},
        .settings = settings,
        .info = {.f = NAN,
                 .gradient_norm = NAN,
                 .lower_bound = -INFINITY,
                 .gap = INFINITY,
                 .primal_residual = NAN,
                 .dual_residual = NAN},
        .started = submodi_seconds(),
        .full = true,
        .best_f = INFINITY,
        .lowest_f = INFINITY,
        .last_f = NAN,
    };
    w->oracle.info = &w->info;
    w->last = submodi_work_alloc(work, n, sizeof(double));
    w->lowest = submodi_work_alloc(work, n, sizeof(double));
    w->oracle.scratch = submodi_work_alloc(work, n, sizeof(double));
    w->best = settings->keep_best ? submodi_work_alloc(work, n, sizeof(double)) : NULL;
    bool good = w->last && w->lowest && w->oracle.scratch && (w->best || !settings->keep_best);
    return good ? SUBMOD_OK : submodi_out_of_memory();
}

static double elapsed(const submodi_monitor *w)
{
    return submodi_seconds() - w->started - w->paused;
}

/* What interrupts a run. */
static submod_stop interruption(const submodi_monitor *w)
{
    double limit = w->settings->time_limit;
    if (limit > 0 && elapsed(w) >= limit) {
        return SUBMOD_STOP_TIME;
    }
    return submodi_cancelled() ? SUBMOD_STOP_CANCELLED : SUBMOD_STOP_NONE;
}

bool submodi_monitor_over(const submodi_monitor *w)
{
    return interruption(w) != SUBMOD_STOP_NONE;
}

/* The reason to stop at this point, as far as it is known without J. */
static submod_stop reason(const submodi_monitor *w, size_t k, double norm)
{
    const submod_run_settings *s = w->settings;
    if (w->end != SUBMOD_STOP_NONE) {
        return w->end;
    }
    if (w->full && norm <= s->gradient_tolerance) {
        return SUBMOD_STOP_GRADIENT;
    }
    if (k >= s->max_iterations) {
        return SUBMOD_STOP_ITERATIONS;
    }
    return interruption(w);
}

/* Calls metric and trace, and stops the clock meanwhile. */
static submod_status tell(submodi_monitor *w, submod_trace *line, bool *stop)
{
    const submod_problem *p = w->oracle.problem;
    double paused = submodi_seconds();
    submod_status status = SUBMOD_OK;
    line->metric = NAN;
    if (p->metric) {
        /* A metric may be NaN: only the status counts. */
        int answer = p->metric(p->ctx, line->x, &line->metric);
        status = submodi_oracle_judge(&w->oracle, "metric", answer, NULL, 0);
    }
    *stop = status == SUBMOD_OK && w->settings->trace(w->settings->trace_ctx, line) != 0;
    w->paused += submodi_seconds() - paused;
    return status;
}

/* Returns a bound on the rounding error of J at the point with the lowest value, provided that the
 * callbacks are as accurate as optim.h requires: twice the error of f's plane there, and the error
 * of the decay. DBL_MIN covers underflow. */
static submod_status rounding_of_lowest(submodi_monitor *w, double *rounding)
{
    submodi_oracle *o = &w->oracle;
    size_t n = o->problem->dimension;
    double value, offset, error;
    submod_status status =
        submodi_oracle_plane(o, SUBMOD_FULL_BATCH, w->lowest, &value, o->scratch, &offset, &error);
    double decay = o->decay / 2 * submodi_dot(w->lowest, w->lowest, n);
    *rounding = 2 * error + (double)(n + 2) * DBL_EPSILON * decay + DBL_MIN;
    return status;
}

/* Lowers the bound to the lowest value of J if that is smaller, and sets the gap of a point with J
 * = f, where f is NaN if unknown. */
static void set_gap(submodi_monitor *w, double f)
{
    submod_optim_info *info = &w->info;
    info->lower_bound = fmin(info->lower_bound, fmin(w->lowest_f, f));
    info->gap = isnan(f) ? INFINITY : f - info->lower_bound;
}

/* Compares the bound with the lowest value of J, J(x) = f included, and sets the gap. With weight
 * decay, a bound above that value by more than rounding and the tolerance is a contradiction.
 * Without weight decay, the point may be outside the ball that the bound covers. */
static submod_status certify(submodi_monitor *w, const double *x, double f)
{
    submod_optim_info *info = &w->info;
    submod_status status = SUBMOD_OK;
    if (f < w->lowest_f) {
        w->lowest_f = f;
        memcpy(w->lowest, x, w->oracle.problem->dimension * sizeof *x);
    }
    double above = info->lower_bound - w->lowest_f;
    if (above > w->settings->tolerance && w->oracle.decay > 0 && !w->contradicted) {
        double rounding = 0;
        status = rounding_of_lowest(w, &rounding);
        w->contradicted = status == SUBMOD_OK && above > rounding;
    }
    set_gap(w, f);
    return status;
}

submod_status submodi_monitor_look(submodi_monitor *w, size_t k, const double *x, double norm,
                                   double eta, double *f, bool *stop)
{
    const submod_run_settings *s = w->settings;
    submod_stop why = reason(w, k, norm);
    bool due = s->trace_every > 0 && k % s->trace_every == 0;
    *stop = why != SUBMOD_STOP_NONE;
    w->info.gradient_norm = norm;
    if (!due && !*stop) {
        w->info.iterations = k;
        return SUBMOD_OK;
    }
    submod_status status = isnan(*f) ? submodi_oracle_value(&w->oracle, x, f) : SUBMOD_OK;
    if (status != SUBMOD_OK) {
        return status;
    }
    w->info.iterations = k;
    if (w->best && *f < w->best_f) {
        w->best_f = *f;
        memcpy(w->best, x, w->oracle.problem->dimension * sizeof *x);
    }
    status = certify(w, x, *f);
    if (status != SUBMOD_OK) {
        return status;
    }
    bool proved = w->certified && w->info.gap <= s->tolerance;
    if (w->contradicted) {
        why = SUBMOD_STOP_STALLED;
        *stop = true;
    } else if (proved || *f - s->f_star <= s->tolerance) { /* false if f_star is NaN */
        why = SUBMOD_STOP_TARGET;
        *stop = true;
    }
    if (s->trace) {
        submod_trace line = {.iteration = k,
                             .x = x,
                             .f = *f,
                             .gradient_norm = norm,
                             .step = *stop ? 0 : eta,
                             .seconds = elapsed(w)};
        bool stopped = false;
        status = tell(w, &line, &stopped);
        why = stopped && !*stop ? SUBMOD_STOP_CALLBACK : why;
        *stop = *stop || stopped;
    }
    w->info.stop = why;
    return status;
}

void submodi_monitor_keep(submodi_monitor *w, const double *x, double f)
{
    memcpy(w->last, x, w->oracle.problem->dimension * sizeof *x);
    w->last_f = f;
    w->kept = true;
}

/* The status that belongs to the reason. */
static submod_status verdict(const submodi_monitor *w)
{
    const submod_run_settings *s = w->settings;
    if (w->contradicted) {
        return submodi_fail(SUBMOD_INACCURATE,
                            "the bound contradicts a value: the callback is less accurate than "
                            "optim.h requires, or f is not convex");
    }
    bool asked = w->certified || !isnan(s->f_star) || s->gradient_tolerance > 0;
    switch (w->info.stop) {
    case SUBMOD_STOP_ITERATIONS: return asked ? SUBMOD_MAXITER : SUBMOD_OK;
    case SUBMOD_STOP_TIME: return SUBMOD_TIMELIMIT;
    case SUBMOD_STOP_CANCELLED: return SUBMOD_CANCELLED;
    case SUBMOD_STOP_STALLED: return SUBMOD_INACCURATE;
    default: return SUBMOD_OK;
    }
}

submod_status submodi_monitor_finish(submodi_monitor *w, submod_status status, double f, double *x,
                                     submod_optim_info *info)
{
    size_t bytes = w->oracle.problem->dimension * sizeof *x;
    status = status ? status : certify(w, x, f);
    w->info.stop = w->contradicted ? SUBMOD_STOP_STALLED : w->info.stop;
    if (status != SUBMOD_OK) {
        w->info.stop = SUBMOD_STOP_FAILURE;
        if (w->kept) {
            memcpy(x, w->last, bytes);
        }
        f = w->last_f;
    }
    if (w->best && (isnan(f) || w->best_f < f) && w->best_f < INFINITY) {
        memcpy(x, w->best, bytes);
        f = w->best_f;
    }
    w->info.f = f;
    set_gap(w, f);
    w->info.seconds = elapsed(w);
    if (info) {
        *info = w->info;
    }
    return status ? status : verdict(w);
}
