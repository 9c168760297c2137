/* The bundle method (BMRM: Teo et al. 2010; proximal bundle: Kiwiel 1990). f is known through
 * planes below it. Each master problem
 *
 *     u = argmin of  max over planes + decay/2 |u|^2 + lambda/2 |u - x|^2
 *
 * is a prox of a max-affine function. Its multipliers combine the planes to a single one,
 * <s, .> + beta <= f. Hence
 *
 *     J(y) >= <s, y> + beta + decay/2 |y|^2 >= beta - |s|^2 / (2 decay)                for all y,
 *     f(y) >= <s, start> + beta - |s| radius               for |y - start| <= radius, decay = 0.
 *
 * Both bounds hold in double precision: each plane is lowered by its rounding error, which is that
 * of f without the decay, and the bound is lowered by the rounding errors of the sums above.
 *
 * lambda = 0 is BMRM. The proximal term keeps u near x, where the planes say something about f.
 * Cost of an iteration: one subgradient, and one max-affine prox with at most max_planes planes. */
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "optim/monitor.h"
#include "optim/planes.h"

/* Kiwiel's rules: a step is taken if it gains this share of what the planes promised. */
static const double serious_share = 0.1;
/* If it gains this share, longer steps are tried. */
static const double good_share = 0.5;
/* How far lambda may move from its first value, as a factor. */
static const double lambda_range = 1e12;
/* A promise below this share of |J| is rounding. */
static const double rounding = 4e-16;

submod_bundle_settings submod_bundle_defaults(void)
{
    return (submod_bundle_settings){.run = submodi_gap_defaults(), .max_planes = 100};
}

typedef struct run {
    const submod_bundle_settings *settings;
    size_t n;
    double decay, lambda, lambda0;
    submodi_monitor monitor;
    submodi_planes planes;
    double *x;     /* the best point: the caller's */
    double f;      /* J(x) */
    double norm;   /* |subgradient of J at x| */
    double *start; /* the first x */
    double *u, *g; /* the new point, the subgradient of f there */
    double *point; /* centre of the master problem; also the subgradient of J at u */
    double noise;  /* a promise that turned out to be rounding error; else 0 */
    submod_work *work;
} run;

static submod_status check_combination(const submod_bundle_settings *s)
{
    if (s->run.weight_decay == 0 && s->radius == 0) {
        return submodi_fail(SUBMOD_EINVAL, "radius must be > 0, unless run.weight_decay is");
    }
    if (s->run.weight_decay == 0 && s->bmrm) {
        return submodi_fail(SUBMOD_EINVAL, "bmrm needs run.weight_decay > 0");
    }
    if (s->max_planes < 3) {
        return submodi_fail(SUBMOD_EINVAL, "max_planes = %zu must be >= 3", s->max_planes);
    }
    return SUBMOD_OK;
}

static submod_status check(const submod_problem *problem, const double *x,
                           const submod_bundle_settings *s)
{
    submod_status status = submodi_problem_check(problem);
    status = status ? status : submodi_check_given("x", x);
    status = status ? status : submodi_check_given("settings", s);
    status = status ? status : submodi_run_check(&s->run);
    status = status ? status : submodi_check_nonnegative("lambda", s->lambda);
    status = status ? status : submodi_check_nonnegative("radius", s->radius);
    status = status ? status : check_combination(s);
    return status ? status : submodi_check_finite("x", x, problem->dimension);
}

/* Evaluates J(u) and the norm of its subgradient, and adds the plane of f at u. Sets *error to the
 * amount by which that plane was lowered. */
static submod_status explore(run *r, const double *u, double *f, double *norm, double *error)
{
    submodi_oracle *o = &r->monitor.oracle;
    double offset;
    submod_status status = submodi_oracle_plane(o, SUBMOD_FULL_BATCH, u, f, r->g, &offset, error);
    status = status ? status : submodi_oracle_add_decay(o, u, f);
    for (size_t i = 0; status == SUBMOD_OK && i < r->n; i++) {
        r->point[i] = r->g[i] + r->decay * u[i];
    }
    status = status ? status
                    : submodi_oracle_judge(o, "subgradient with weight decay", SUBMOD_OK, r->point,
                                           r->n);
    if (status != SUBMOD_OK) {
        return status;
    }
    *norm = submodi_norm(r->point, r->n);
    return submodi_planes_add(&r->planes, r->g, offset, *error) ? SUBMOD_OK
                                                                : submodi_out_of_memory();
}

/* Solves the master problem: u and the combined plane. */
static submod_status master(run *r)
{
    double weight = r->lambda + r->decay;
    for (size_t i = 0; i < r->n; i++) {
        r->point[i] = r->lambda / weight * r->x[i];
    }
    return submodi_planes_prox(&r->planes, r->point, weight, r->u, r->work);
}

/* The lower bound on the minimum that the combined plane gives. */
static double bound(const run *r)
{
    return submodi_plane_lowest(&r->planes.combined, r->n, r->decay, r->start, r->settings->radius);
}

/* Takes the step or not, and adapts lambda to how good the promise was. The planes at u are lowered
 * by error. If the step gains nothing although the planes predicted J(u) up to error, the promise
 * consists of rounding errors. */
static void judge_step(run *r, double f, double norm, double promised, double error)
{
    double gained = r->f - f;
    double share = r->lambda > 0 ? serious_share : 0;
    r->noise = 0;
    if (gained > share * promised) {
        memcpy(r->x, r->u, r->n * sizeof *r->x);
        r->f = f;
        r->norm = norm;
        if (gained >= good_share * promised) {
            r->lambda = fmax(r->lambda / 2, r->lambda0 / lambda_range);
        }
        return;
    }
    if (promised - gained <= error) {
        r->noise = promised;
    } else if (gained < -promised) {
        r->lambda = fmin(r->lambda * 2, r->lambda0 * lambda_range);
    }
}

/* The gain that the planes promise for u: J(x) minus the model at u. */
static double promise(const run *r)
{
    double model = submodi_planes_value(&r->planes, r->u);
    return r->f - model - r->decay / 2 * submodi_dot(r->u, r->u, r->n);
}

/* The rest of an iteration, after the master problem. *stop: the run ends here. */
static submod_status advance(run *r, size_t k, bool *stop)
{
    submod_optim_info *info = &r->monitor.info;
    const submod_run_settings *s = &r->settings->run;
    info->lower_bound = fmax(info->lower_bound, bound(r));
    info->gap = r->f - info->lower_bound;
    double promised = promise(r);
    double floor = fmax(rounding * fmax(fabs(r->f), fabs(info->lower_bound)), r->noise);
    bool further = r->lambda > r->lambda0 / lambda_range; /* can lambda still fall? */
    r->monitor.end = info->gap <= s->tolerance       ? SUBMOD_STOP_TARGET
                     : promised <= floor && !further ? SUBMOD_STOP_STALLED
                                                     : SUBMOD_STOP_NONE;
    submod_status status = submodi_monitor_look(&r->monitor, k, r->x, r->norm,
                                                1 / (r->lambda + r->decay), &r->f, stop);
    if (status != SUBMOD_OK || *stop) {
        return status;
    }
    if (promised <= fmax(s->tolerance / 2, floor) && further) {
        r->lambda /= 10; /* near x all is known: the rest of the gap lies further away */
        return SUBMOD_OK;
    }
    double f, norm, error;
    status = explore(r, r->u, &f, &norm, &error);
    if (status == SUBMOD_OK) {
        judge_step(r, f, norm, promised, error + floor);
    }
    return status;
}

static double first_lambda(const run *r)
{
    const submod_bundle_settings *s = r->settings;
    if (s->bmrm || s->lambda > 0) {
        return s->bmrm ? 0 : s->lambda;
    }
    double length = s->radius > 0 ? s->radius : 1;
    return r->norm > 0 ? r->norm / length : 1; /* norm = 0: the start is a minimum */
}

static submod_status iterate(run *r)
{
    bool stop = false;
    double error;
    memcpy(r->start, r->x, r->n * sizeof *r->x);
    submod_status status = explore(r, r->x, &r->f, &r->norm, &error);
    r->lambda = first_lambda(r);
    r->lambda0 = r->lambda;
    for (size_t k = 0; status == SUBMOD_OK && !stop; k++) {
        r->monitor.oracle.iteration = k;
        submodi_monitor_keep(&r->monitor, r->x, r->f);
        status = master(r);
        status = status ? status : advance(r, k, &stop);
    }
    return status;
}

/* Takes all vectors of the run from work. */
static submod_status take_memory(run *r, submod_work *work)
{
    double **vectors[] = {&r->start, &r->u, &r->g, &r->point, NULL};
    r->work = work;
    bool good = submodi_take_vectors(work, r->n, vectors) &&
                submodi_planes_open(&r->planes, r->n, r->settings->max_planes);
    return good ? SUBMOD_OK : submodi_out_of_memory();
}

submod_status submod_bundle(const submod_problem *problem, double *x,
                            const submod_bundle_settings *settings, submod_optim_info *info,
                            submod_work *work)
{
    submod_bundle_settings s = settings ? *settings : submod_bundle_defaults();
    submod_status status = check(problem, x, settings ? &s : NULL);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_bundle", status);
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    run r = {.settings = &s, .n = problem->dimension, .decay = s.run.weight_decay, .x = x};
    status = take_memory(&r, w);
    status = status ? status : submodi_monitor_start(&r.monitor, problem, &s.run, w);
    if (status == SUBMOD_OK) {
        r.monitor.certified = true;
        status = iterate(&r);
        r.monitor.info.planes = r.planes.count;
        status = submodi_monitor_finish(&r.monitor, status, r.f, x, info);
    }
    submodi_planes_clear(&r.planes);
    submodi_scope_close(&scope);
    return submodi_return("submod_bundle", status);
}
