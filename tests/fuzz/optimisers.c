/* Fuzzes the optimisers on problems whose minima are known exactly (minima.h), over starts and
 * scales from 1e-12 to 1e12, with callbacks that fail, settings out of range and iteration limits
 * up to SIZE_MAX.
 *
 * Checks that no bound is above the minimum, no gap is negative, and no value is below the minimum
 * by more than its rounding error. Statuses and stops must be documented and consistent. A failing
 * callback must end the run with its error, and refused settings must leave x and info
 * untouched. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fuzz.h"
#include "minima.h"

typedef enum method {
    METHOD_DESCEND,
    METHOD_FISTA,
    METHOD_BUNDLE,
    METHOD_BCFW,
    METHOD_PRIMAL_DUAL,
    METHOD_SMOOTHED, /* FISTA on the Moreau envelope */
    METHODS
} method;

/* A problem, its run and the result. */
typedef struct trial {
    method method;
    enum { SEPARABLE, CORNER, REGRESSION } family;
    separable separable;
    corner corner;
    regression regression;
    submod_problem problem;
    size_t n;
    double decay, lambda; /* lambda is the envelope's */
    double start[MINIMA_SIZE], x[MINIMA_SIZE];
    bool refused; /* a setting is out of range */
    bool certified, ball;
    double radius, eta;
    submod_run_settings run;
    fault fault;
    submod_optim_info info;
    submod_status status;
} trial;

/* ---- random problems and settings ---- */

static size_t draw(void *ctx, size_t k)
{
    return dice_below(ctx, k);
}

/* 10^-most .. 10^most */
static double any_scale(dice *d, double most)
{
    return pow(10, most * ((double)dice_bits(d, 2) / 32768 - 1));
}

static double any_power_of_two(dice *d, int most)
{
    return ldexp(1, (int)dice_below(d, 2 * (size_t)most + 1) - most);
}

static double any_real(dice *d)
{
    return dice_real(d, dice_below(d, 4) ? NUMBERS_ORDINARY : NUMBERS_TIED);
}

/* Returns a setting that must be above 0, or occasionally one that is not. */
static double any_positive(dice *d, trial *t, double most)
{
    static const double bad[] = {0, -1, -0.0, NAN, INFINITY, -INFINITY, -DBL_MIN};
    if (!dice_once_in(d, 24)) {
        return any_scale(d, most);
    }
    t->refused = true;
    return bad[dice_below(d, sizeof bad / sizeof *bad)];
}

static void make_fault(dice *d, fault *f)
{
    static const int statuses[] = {SUBMOD_ENOMEM,
                                   SUBMOD_EINVAL,
                                   SUBMOD_ENUMERIC,
                                   SUBMOD_ECALLBACK,
                                   SUBMOD_INACCURATE,
                                   SUBMOD_MAXITER,
                                   SUBMOD_TIMELIMIT,
                                   SUBMOD_CANCELLED,
                                   -77,
                                   99};
    static const double broken[] = {NAN, INFINITY, -INFINITY};
    *f = (fault){.at = SIZE_MAX};
    if (dice_once_in(d, 3)) {
        f->at = dice_below(d, 60);
        f->kind = (fault_kind)dice_below(d, FAULT_KINDS);
        f->status = statuses[dice_below(d, sizeof statuses / sizeof *statuses)];
        f->number = broken[dice_below(d, 3)];
    }
}

static int stop_soon(void *ctx, const submod_trace *line)
{
    const size_t *most = ctx;
    return line->iteration >= *most;
}

/* If the run may never reach its limit, a trace stops it. */
static void make_run(dice *d, trial *t, size_t *most)
{
    submod_run_settings *s = &t->run;
    *most = dice_below(d, 120);
    s->max_iterations = *most;
    s->trace_every = dice_below(d, 4);
    if (dice_once_in(d, 3)) {
        s->max_iterations = SIZE_MAX - dice_below(d, 2);
        s->trace_every = 1;
        s->trace = stop_soon;
        s->trace_ctx = most;
    }
    s->weight_decay = t->decay;
    s->tolerance = dice_below(d, 3) ? any_scale(d, 12) : 0;
    s->gradient_tolerance = dice_once_in(d, 4) ? any_scale(d, 12) : 0;
    s->keep_best = (int)dice_below(d, 2);
    if (dice_once_in(d, 40)) {
        t->refused = true;
        *(dice_below(d, 2) ? &s->tolerance : &s->gradient_tolerance) = dice_below(d, 2) ? NAN : -1;
    }
}

static void make_separable(dice *d, trial *t)
{
    separable *f = &t->separable;
    double weights = any_scale(d, 6), places = any_scale(d, 6);
    bool kinked = dice_below(d, 4), centred = dice_below(d, 2), curved = dice_once_in(d, 3);
    *f = (separable){.n = t->n, .batches = dice_below(d, t->n + 1), .fault = &t->fault};
    f->height = dice_once_in(d, 4) ? weights * places * fabs(any_real(d)) : 0;
    for (size_t i = 0; i < t->n; i++) {
        f->w[i] = kinked ? weights * fabs(any_real(d)) : 0;
        f->c[i] = centred ? 0 : places * any_real(d);
        f->q[i] = curved ? weights / places * fabs(any_real(d)) : 0;
        f->e[i] = places * any_real(d);
    }
    t->problem = separable_problem(f, curved);
    t->problem.value = dice_below(d, 2) ? t->problem.value : NULL;
}

static void make_problem(dice *d, trial *t)
{
    t->n = 1 + dice_below(d, MINIMA_SIZE);
    bool decays = t->method == METHOD_BCFW || dice_below(d, 2);
    t->family =
        t->method == METHOD_PRIMAL_DUAL ? REGRESSION
        : (t->method == METHOD_BUNDLE || t->method == METHOD_BCFW || t->method == METHOD_DESCEND) &&
                dice_below(d, 2)
            ? CORNER
            : SEPARABLE;
    switch (t->family) {
    case SEPARABLE:
        t->decay = decays ? any_scale(d, 6) : 0;
        make_separable(d, t);
        break;
    case CORNER:
        t->decay = decays ? any_power_of_two(d, 20) : 0;
        corner_draw(&t->corner, t->n, any_power_of_two(d, 40), any_power_of_two(d, 40), t->decay,
                    draw, d);
        t->corner.fault = &t->fault;
        t->problem = corner_problem(&t->corner);
        break;
    default:
        t->decay = any_power_of_two(d, 20);
        regression_draw(&t->regression, 1 + dice_below(d, MINIMA_SIZE), t->n,
                        any_power_of_two(d, 40), t->decay, draw, d);
        t->regression.f.fault = t->regression.g.fault = &t->fault;
    }
    double scale = any_scale(d, 12);
    for (size_t i = 0; i < t->n; i++) {
        t->start[i] = scale * any_real(d);
    }
    memcpy(t->x, t->start, sizeof t->x);
}

/* ---- known minima ---- */

/* Returns the minimum of J, and in *slack its possible error. */
static long double minimum(const trial *t, long double *slack)
{
    *slack = 0;
    switch (t->family) {
    case SEPARABLE: return separable_minimum(&t->separable, t->decay, slack);
    case CORNER: return corner_minimum(&t->corner, t->decay);
    default: return t->regression.minimum;
    }
}

/* Returns J(x), and in *size the sum of the absolute values of its terms. */
static long double value_at(const trial *t, const double *x, long double *size)
{
    switch (t->family) {
    case SEPARABLE: return separable_value(&t->separable, t->decay, x, size);
    case CORNER: return corner_value(&t->corner, t->decay, x, size);
    default: break;
    }
    const regression *p = &t->regression;
    long double sum = 0;
    *size = 0;
    for (size_t r = 0; r < p->rows; r++) {
        long double z = 0, terms = fabs(p->f.c[r]);
        for (size_t i = 0; i < p->columns; i++) {
            long double product = (long double)p->matrix[r * p->columns + i] * x[i];
            z += product;
            terms += fabsl(product);
        }
        sum += p->f.w[r] * fabsl(z - p->f.c[r]);
        *size += p->f.w[r] * terms;
    }
    for (size_t i = 0; i < p->columns; i++) {
        long double own = p->g.w[i] * fabsl(x[i]) + t->decay / 2.0L * x[i] * x[i];
        sum += own;
        *size += own;
    }
    return sum;
}

/* ---- runs ---- */

static submod_step *make_step(dice *d, size_t n)
{
    submod_step *step = NULL, *outer = NULL;
    submod_status status = SUBMOD_OK;
    switch (dice_below(d, 5)) {
    case 0: status = submod_step_gd(n, &step); break;
    case 1: status = submod_step_momentum(n, 0.9, &step); break;
    case 2: status = submod_step_nesterov(n, 0.9, &step); break;
    case 3: status = submod_step_adam(n, &step, NULL); break;
    default: status = submod_step_adagrad(n, 0, &step); break;
    }
    FUZZ_CHECK(status == SUBMOD_OK, "no step rule");
    if (dice_once_in(d, 4)) {
        status = submod_step_averaged(step, (double)dice_below(d, 3), &outer);
        FUZZ_CHECK(status == SUBMOD_OK, "no average");
    }
    return outer ? outer : step;
}

static submod_schedule make_schedule(dice *d, trial *t)
{
    static const submod_schedule_kind kinds[] = {
        SUBMOD_SCHEDULE_CONSTANT, SUBMOD_SCHEDULE_STEP,         SUBMOD_SCHEDULE_EXPONENTIAL,
        SUBMOD_SCHEDULE_POLY,     SUBMOD_SCHEDULE_INVERSE_SQRT, SUBMOD_SCHEDULE_INVERSE,
        SUBMOD_SCHEDULE_POLYAK};
    submod_schedule s = {.kind = kinds[dice_below(d, sizeof kinds / sizeof *kinds)]};
    s.eta = any_positive(d, t, s.kind == SUBMOD_SCHEDULE_POLYAK ? 0.3 : 12);
    s.factor = (1 + (double)dice_below(d, 256)) / 256;
    s.period = 1 + dice_below(d, 100);
    s.power = dice_below(d, 2) ? 0 : 1.5;
    t->eta = s.eta;
    return s;
}

static void descend(dice *d, trial *t)
{
    submod_descent_settings s = submod_descent_defaults();
    long double slack;
    s.schedule = make_schedule(d, t);
    s.run = t->run;
    bool polyak = s.schedule.kind == SUBMOD_SCHEDULE_POLYAK;
    if (polyak || dice_once_in(d, 3)) {
        s.run.f_star = t->run.f_star = (double)minimum(t, &slack);
    }
    if (!polyak) {
        s.order = (submod_batch_order)dice_below(d, 4);
        s.direction = t->problem.prox && dice_below(d, 2) ? SUBMOD_DIRECTION_PROX
                                                          : SUBMOD_DIRECTION_SUBGRADIENT;
        s.lambda = s.direction && dice_below(d, 2) ? any_scale(d, 12) : 0;
    }
    submod_step *step = make_step(d, t->n);
    t->status = submod_descend(&t->problem, step, t->x, &s, &t->info, NULL);
    submod_step_free(step);
}

static void fista(dice *d, trial *t)
{
    submod_fista_settings s = submod_fista_defaults();
    submod_problem smoothed = {0};
    s.run = t->run;
    s.lipschitz = any_positive(d, t, 12);
    s.restart = (int)dice_below(d, 2);
    if (t->method == METHOD_SMOOTHED) {
        t->lambda = any_scale(d, 12);
        submod_status status = submod_problem_smoothed(&t->problem, t->lambda, &smoothed);
        FUZZ_CHECK(status == SUBMOD_OK, "no envelope");
    }
    t->status =
        submod_fista(smoothed.dimension ? &smoothed : &t->problem, t->x, &s, &t->info, NULL);
    submod_problem_clear(&smoothed);
}

static void bundle(dice *d, trial *t)
{
    submod_bundle_settings s = submod_bundle_defaults();
    s.run = t->run;
    t->ball = t->decay == 0;
    bool refused = t->refused;
    s.radius = t->ball || dice_below(d, 2) ? any_positive(d, t, 12) : 0;
    t->refused = refused || (t->refused && (t->ball || s.radius != 0)); /* decay allows 0 */
    t->radius = s.radius;
    s.max_planes = 3 + dice_below(d, dice_below(d, 2) ? 4 : 100);
    s.lambda = dice_once_in(d, 3) ? any_scale(d, 12) : 0;
    s.bmrm = t->decay > 0 && dice_once_in(d, 3);
    t->certified = true;
    t->status = submod_bundle(&t->problem, t->x, &s, &t->info, NULL);
}

static void bcfw(dice *d, trial *t)
{
    submod_bcfw_settings s = submod_bcfw_defaults();
    s.run = t->run;
    s.order = (submod_batch_order)dice_below(d, 4);
    s.average = (int)dice_below(d, 2);
    t->certified = true;
    t->status = submod_bcfw(&t->problem, t->x, &s, &t->info, NULL);
}

static void primal_dual(dice *d, trial *t)
{
    submod_split_settings s = submod_split_defaults();
    submod_problem f = separable_problem(&t->regression.f, false);
    submod_problem g = separable_problem(&t->regression.g, false);
    submod_map map = regression_map(&t->regression);
    s.run = t->run;
    s.step = dice_below(d, 2) ? any_scale(d, 3) / t->decay : 0;
    s.average = (int)dice_below(d, 2);
    if (dice_once_in(d, 24)) {
        t->refused = true;
        s.step = dice_below(d, 2) ? -1 : NAN;
    }
    t->certified = true;
    t->status = submod_primal_dual(&f, &map, &g, t->x, &s, &t->info, NULL);
}

/* ---- checks ---- */

static bool documented(submod_status status, submod_stop stop)
{
    switch (status) {
    case SUBMOD_OK:
        return stop == SUBMOD_STOP_TARGET || stop == SUBMOD_STOP_GRADIENT ||
               stop == SUBMOD_STOP_CALLBACK || stop == SUBMOD_STOP_ITERATIONS;
    case SUBMOD_MAXITER: return stop == SUBMOD_STOP_ITERATIONS;
    case SUBMOD_INACCURATE: return stop == SUBMOD_STOP_STALLED;
    case SUBMOD_CANCELLED: return stop == SUBMOD_STOP_CANCELLED;
    case SUBMOD_ECALLBACK:
    case SUBMOD_ENUMERIC:
    case SUBMOD_ENOMEM: return stop == SUBMOD_STOP_FAILURE;
    default: return false;
    }
}

static void check_status(const trial *t)
{
    const fault *f = &t->fault;
    FUZZ_CHECK(documented(t->status, t->info.stop), "method %d: status %d with stop %d",
               (int)t->method, (int)t->status, (int)t->info.stop);
    FUZZ_CHECK(t->status >= 0 || submod_last_error()[0], "status %d without a message",
               (int)t->status);
    if (fault_ends_run(f)) {
        bool memory = f->kind == FAULT_STATUS && f->status == SUBMOD_ENOMEM;
        FUZZ_CHECK(t->status == (memory ? SUBMOD_ENOMEM : SUBMOD_ECALLBACK),
                   "method %d: status %d after a callback failed", (int)t->method, (int)t->status);
    } else {
        FUZZ_CHECK(t->status != SUBMOD_ENOMEM, "method %d: no memory", (int)t->method);
    }
    FUZZ_CHECK(t->info.iterations <= t->run.max_iterations, "%zu iterations", t->info.iterations);
}

/* Returns an upper bound on the minimum over the ball around the start, or the minimum over all y
 * if there is no ball. */
static long double minimum_in_ball(const trial *t, long double *slack)
{
    double apart = 0, y[MINIMA_SIZE];
    if (!t->ball) {
        return minimum(t, slack);
    }
    const separable *f = &t->separable;
    const double *best = t->family == CORNER ? t->corner.best : f->c;
    for (size_t i = 0; i < t->n; i++) {
        apart = hypot(apart, t->start[i] - best[i]);
    }
    double share = apart > 0 ? fmin(t->radius / apart, 1) * (1 - 1e-12) : 0;
    for (size_t i = 0; i < t->n; i++) {
        y[i] = t->start[i] + share * (best[i] - t->start[i]);
    }
    long double value = value_at(t, y, slack);
    *slack *= 64 * LDBL_EPSILON;
    return value;
}

static void check_numbers(const trial *t)
{
    const submod_optim_info *info = &t->info;
    long double slack, size;
    long double lowest = minimum_in_ball(t, &slack);
    FUZZ_CHECK(t->certified ? info->lower_bound <= lowest + slack : info->lower_bound == -INFINITY,
               "method %d, status %d: bound %.17g, minimum %.21Lg", (int)t->method, (int)t->status,
               info->lower_bound, lowest);
    FUZZ_CHECK(info->gap >= 0, "method %d: gap %g", (int)t->method, info->gap);
    FUZZ_CHECK(isnan(info->f) ? info->gap == INFINITY : info->gap == info->f - info->lower_bound,
               "method %d: f %g, bound %g, gap %g", (int)t->method, info->f, info->lower_bound,
               info->gap);
    FUZZ_CHECK(info->stop != SUBMOD_STOP_TARGET ||
                   (t->certified && info->gap <= t->run.tolerance) ||
                   info->f - t->run.f_star <= t->run.tolerance,
               "method %d: on target with f %g, gap %g", (int)t->method, info->f, info->gap);
    for (size_t i = 0; i < t->n; i++) {
        FUZZ_CHECK(isfinite(t->x[i]), "method %d: x = %g", (int)t->method, t->x[i]);
    }
    FUZZ_CHECK(t->status < 0 || isfinite(info->f), "method %d: f = %g", (int)t->method, info->f);
    if (isnan(info->f)) {
        return;
    }
    long double value = value_at(t, t->x, &size), least = minimum(t, &slack);
    long double rounding = 64 * DBL_EPSILON * size + DBL_MIN;
    if (t->method == METHOD_SMOOTHED) {
        FUZZ_CHECK(info->f <= value + rounding, "an envelope above its function");
        return;
    }
    FUZZ_CHECK(fabsl(info->f - value) <= rounding, "method %d: f = %.17g, J(x) = %.17Lg",
               (int)t->method, info->f, value);
    FUZZ_CHECK(info->f >= least - slack - rounding, "method %d: f = %.17g below the minimum %.17Lg",
               (int)t->method, info->f, least);
}

static bool same_bytes(const void *a, const void *b, size_t size)
{
    return memcmp(a, b, size) == 0;
}

static void check_refused(const trial *t, const submod_optim_info *before)
{
    FUZZ_CHECK(t->status == SUBMOD_EINVAL || t->status == SUBMOD_ENONFINITE,
               "method %d: status %d for settings out of range", (int)t->method, (int)t->status);
    FUZZ_CHECK(same_bytes(t->x, t->start, sizeof t->x), "method %d: x has changed", (int)t->method);
    FUZZ_CHECK(same_bytes(&t->info, before, sizeof *before), "method %d: info has changed",
               (int)t->method);
    FUZZ_CHECK(t->fault.calls == 0, "method %d: callbacks were called", (int)t->method);
}

static void show(const trial *t)
{
    fprintf(stderr, "method %d, family %d, n %zu, decay %g, refused %d, fault %d at %zu of %zu\n",
            (int)t->method, (int)t->family, t->n, t->decay, (int)t->refused, (int)t->fault.kind,
            t->fault.at, t->fault.calls);
    fprintf(stderr, "status %d, stop %d, iterations %zu, f %.17g, bound %.17g, gap %g\n",
            (int)t->status, (int)t->info.stop, t->info.iterations, t->info.f, t->info.lower_bound,
            t->info.gap);
    for (size_t i = 0; i < t->n; i++) {
        fprintf(stderr, "    start %.17g x %.17g\n", t->start[i], t->x[i]);
    }
}

static int is_cancelled(void *ctx)
{
    const fault *f = ctx;
    return f->cancelled;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static void (*const runs[METHODS])(dice *, trial *) = {descend, fista,       bundle,
                                                           bcfw,    primal_dual, fista};
    dice d = dice_of(bytes, size);
    trial t = {.run = {.f_star = NAN}};
    size_t most;
    t.method = (method)dice_below(&d, METHODS);
    make_problem(&d, &t);
    make_run(&d, &t, &most);
    make_fault(&d, &t.fault);
    memset(&t.info, 0x5a, sizeof t.info);
    submod_optim_info before = t.info;
    submod_set_poll(is_cancelled, &t.fault);
    runs[t.method](&d, &t);
    submod_set_poll(NULL, NULL);
    if (fuzz_shows()) {
        show(&t);
    }
    if (t.refused) {
        check_refused(&t, &before);
    } else {
        check_status(&t);
        check_numbers(&t);
    }
    return 0;
}
