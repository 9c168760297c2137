/* The level bundle method (Lemarechal, Nemirovskii and Nesterov 1995), in phases with a centre c
 * that stays (Kiwiel 1995), and with a lower bound from the projections themselves, so that no
 * linear program is solved. J is known through planes below it; its minimum J* over a ball lies
 * between low and the best value f. Each iteration asks for J at
 *
 *     u = the point nearest to c where all planes are at or below level = (low + f) / 2.
 *
 * Why this works: the multipliers combine the planes to one, which has the value level at u and is
 * higher nearer to c. Hence
 *   - where it is above level in all of the ball, low can rise to level at least;
 *   - else |u - c| <= D, if no point of the ball is further than D from c;
 *   - later points of the phase satisfy that plane too, as the level only falls, and that of J at
 *     u, which is J(u) - level >= (f - low) / 2 above it. So the next one, u', has
 *     |u' - c|^2 >= |u - c|^2 + ((f - low) / (2 |g|))^2.
 * A phase thus ends after at most 1 + (2 L D / (f - low))^2 subgradients. Then f - low has halved.
 *
 * The projection is the prox of push max(planes, level) at c for every push that is large enough:
 * if level gets some of the weight. Cost of an iteration: one subgradient, and mostly one
 * max-affine prox with at most max_planes + 1 planes. */
#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/settings.h"
#include "optim/monitor.h"
#include "optim/planes.h"
#include <submod/solvers.h>

static const char who[] = "submod_level_bundle";

/* How often one projection may try a larger push: it grows by 2 at least. */
enum { MOST_TRIES = 60 };

submod_level_bundle_settings submod_level_bundle_defaults(void)
{
    return (submod_level_bundle_settings){.struct_size = sizeof(submod_level_bundle_settings),
                                          .run = submodi_gap_defaults(),
                                          .max_planes = SUBMODI_MAX_PLANES};
}

typedef struct run {
    size_t n;
    double decay, tolerance;
    submodi_monitor monitor;
    submodi_planes planes;
    double *x;              /* the best point: the caller's */
    double f, norm;         /* J and |subgradient| there */
    double *middle, radius; /* of the ball */
    double *centre;         /* of this phase: c */
    double *u, *g;          /* the new point, a subgradient */
    double low;             /* the lower bound when this phase began */
    double width;           /* f - low then */
    double level;
    double push;     /* weight of max(planes, level) */
    double distance; /* |u - centre| of this phase's last projection */
    submod_work *work;
} run;

static submod_status check(const submod_problem *problem, const double *x,
                           const submod_level_bundle_settings *s)
{
    submod_status status = submodi_problem_check(who, problem);
    status = status ? status : submodi_require_given(who, "x", x);
    status = status ? status : submodi_require_given(who, "settings", s);
    status = status ? status : submodi_run_check(who, &s->run);
    status =
        status ? status : submodi_planes_check(who, s->radius, s->run.weight_decay, s->max_planes);
    return status ? status : submodi_require_finite(who, "x", x, problem->dimension);
}

/* What the plane at u says about the minimum: with decay, J(y) >= J(u) + <g, y - u> + decay/2
 * |y - u|^2. */
static double bound_at(const run *r, double f, double norm, double offset)
{
    submodi_plane plane = {r->g, offset, 0};
    return r->decay > 0 ? f - norm * norm / (2 * r->decay)
                        : submodi_plane_lowest(&plane, r->n, 0, r->middle, r->radius);
}

/* Evaluates J(u), adds its plane, and keeps u if it is the best so far. */
static submod_status explore(run *r, const double *u)
{
    submodi_oracle *o = &r->monitor.oracle;
    double f, offset, error;
    submod_status status = submodi_oracle_gradient(o, SUBMOD_FULL_BATCH, u, &f, r->g);
    status = status ? status : submodi_oracle_offset(o, u, f, r->g, &offset, &error);
    if (status != SUBMOD_OK) {
        return status;
    }
    double norm = submodi_norm(r->g, r->n), *bound = &r->monitor.info.lower_bound;
    *bound = fmax(*bound, bound_at(r, f, norm, offset));
    if (f < r->f) {
        memmove(r->x, u, r->n * sizeof *u);
        r->f = f;
        r->norm = norm;
    }
    return submodi_planes_add(&r->planes, r->g, offset, error) ? SUBMOD_OK : submodi_nomem(who);
}

/* c = the point of the ball that is nearest to the best one. */
static void place_centre(run *r)
{
    for (size_t i = 0; i < r->n; i++) {
        r->centre[i] = r->x[i] - r->middle[i];
    }
    double distance = submodi_norm(r->centre, r->n);
    double share = distance > r->radius ? r->radius / distance : 1;
    for (size_t i = 0; i < r->n; i++) {
        r->centre[i] = share < 1 ? r->middle[i] + share * r->centre[i] : r->x[i];
    }
}

/* With decay, a minimum is within sqrt(2 gap / decay) of the best point. */
static void begin_phase(run *r)
{
    r->low = r->monitor.info.lower_bound;
    r->width = r->f - r->low;
    r->distance = -1;
    if (r->decay > 0) {
        memcpy(r->middle, r->x, r->n * sizeof *r->x);
        r->radius = sqrt(2 * r->width / r->decay);
    }
    place_centre(r);
    r->push = r->width / r->norm / r->norm; /* twice what the plane at the best point needs */
}

static void set_level(run *r)
{
    double bound = r->monitor.info.lower_bound;
    r->level = r->low + (r->f - r->low) / 2;
    /* The first says the same as the second, but for rounding, and must not be missed. */
    if (bound >= r->level || r->f - bound <= r->width / 2) {
        begin_phase(r);
        r->level = r->low + (r->f - r->low) / 2;
    }
}

/* A larger push; the combined plane alone would need a multiplier of excess / |slope|^2. */
static double more_push(const run *r)
{
    const submodi_plane *p = &r->planes.combined;
    double excess = p->offset + submodi_dot(p->slope, r->centre, r->n) - r->level;
    double slope = submodi_norm(p->slope, r->n);
    return 2 * fmax(r->push, slope > 0 ? excess / slope / slope : 0);
}

/* u = the projection of the centre, or the lower bound reaches the level. *found: one of both. */
static submod_status project(run *r, bool *found)
{
    submodi_planes *p = &r->planes;
    double *bound = &r->monitor.info.lower_bound;
    *found = false;
    for (int try = 0; try < MOST_TRIES && 1 / r->push > 0 && isfinite(1 / r->push); try++) {
        submod_status status =
            submodi_planes_prox(p, r->level, r->centre, 1 / r->push, r->u, r->work);
        if (status != SUBMOD_OK) {
            return status;
        }
        double lowest = submodi_plane_lowest(&p->combined, r->n, 0, r->middle, r->radius);
        *bound = fmax(*bound, lowest);
        *found = p->above > 0 || *bound >= r->level;
        if (*found) {
            /* Next time the level should get about half of the weight. */
            r->push *= p->above < 1 ? 2 * (1 - p->above) : 1;
            return SUBMOD_OK;
        }
        r->push = more_push(r);
    }
    return SUBMOD_OK;
}

/* Whether u is further from the centre than the last point was. If not, that is rounding. */
static bool advances(run *r)
{
    for (size_t i = 0; i < r->n; i++) {
        r->g[i] = r->u[i] - r->centre[i];
    }
    double distance = submodi_norm(r->g, r->n);
    bool further = distance > r->distance;
    r->distance = distance;
    return further;
}

/* Finds the next u, raising the lower bound as long as there is none. A phase that rounding has
 * stopped is followed by one with a better centre, if it has found out anything. */
static submod_status aim(run *r)
{
    submod_optim_info *info = &r->monitor.info;
    submod_status status = SUBMOD_OK;
    for (;;) {
        bool found = false;
        info->gap = r->f - info->lower_bound;
        if (info->gap <= r->tolerance) {
            r->monitor.end = SUBMOD_STOP_TARGET;
            return SUBMOD_OK;
        }
        set_level(r);
        if (r->low < r->level && r->level < r->f) {
            status = project(r, &found);
        }
        bool refuted = found && info->lower_bound >= r->level;
        if (status != SUBMOD_OK || (found && !refuted && advances(r))) {
            return status;
        }
        if (submodi_cancelled()) { /* the projection may have been cut short */
            r->monitor.end = SUBMOD_STOP_CANCELLED;
            return SUBMOD_OK;
        }
        if (!refuted && r->f - info->lower_bound >= r->width) {
            r->monitor.end = SUBMOD_STOP_STALLED;
            return SUBMOD_OK;
        }
        if (!refuted) {
            begin_phase(r);
        }
    }
}

static submod_status iterate(run *r)
{
    bool stop = false;
    r->f = INFINITY;
    memcpy(r->middle, r->x, r->n * sizeof *r->x);
    submod_status status = explore(r, r->x);
    if (status == SUBMOD_OK) {
        begin_phase(r);
    }
    for (size_t k = 0; status == SUBMOD_OK && !stop; k++) {
        r->monitor.oracle.iteration = k;
        submodi_monitor_keep(&r->monitor, r->x, r->f);
        status = aim(r);
        if (status == SUBMOD_OK) {
            status = submodi_monitor_look(&r->monitor, k, r->x, r->norm, r->distance, &r->f, &stop);
        }
        if (status == SUBMOD_OK && !stop) {
            status = explore(r, r->u);
        }
    }
    return status;
}

static submod_status take_memory(run *r, size_t max_planes, submod_work *work)
{
    double **vectors[] = {&r->middle, &r->centre, &r->u, &r->g, NULL};
    r->work = work;
    bool good = submodi_take_vectors(work, r->n, vectors) &&
                submodi_planes_open(&r->planes, r->n, max_planes);
    return good ? SUBMOD_OK : submodi_nomem(who);
}

submod_status submod_level_bundle(const submod_problem *problem, double *x,
                                  const submod_level_bundle_settings *settings,
                                  submod_optim_info *info, submod_work *work)
{
    submod_level_bundle_settings s = submod_level_bundle_defaults();
    submod_status status = submodi_read_settings(who, "submod_level_bundle_defaults", settings, &s);
    status = status ? status : check(problem, x, settings ? &s : NULL);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    run r = {.n = problem->dimension,
             .decay = s.run.weight_decay,
             .tolerance = s.run.tolerance,
             .radius = s.radius,
             .x = x};
    status = take_memory(&r, s.max_planes, w);
    status = status ? status : submodi_monitor_start(&r.monitor, who, problem, &s.run, w);
    if (status == SUBMOD_OK) {
        r.monitor.certified = true;
        status = iterate(&r);
        r.monitor.info.planes = r.planes.count;
        status = submodi_monitor_finish(&r.monitor, status, r.f, x, info);
    }
    submodi_planes_clear(&r.planes);
    submodi_scope_close(&scope);
    return status;
}
