/* What submod_primal_dual and submod_admm share. The bound: a prox of f ends at z with the
 * subgradient s, one of g at x with t. So for all y
 *
 *     J(y) >= f(z) + <s, A y - z> + g(x) + <t, y - x> + decay/2 |y|^2,
 *
 * a plane with slope A's + t, plus the decay: its minimum is in closed form, as in the bundle
 * method. The mean of such planes is one as well, and is what the ergodic theorems are about.
 *
 * Rounding: the z that a prox of v hands back is off by e, say, so s = weight (v - z) is by weight
 * e. The larger the weight, the more of s that is; the smaller, the larger e. With a subgradient d
 * of f at z, the plane is below f if it loses |e| (|d| + |s|) + weight |e| |A y - z|. */
#include "optim/split.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/settings.h"
#include "optim/composed.h"

/* What a prox u of v may be off by, as a share of 1 + |v| + |u| + |subgradient at u| / weight:
 * solvers.h says so. submod_prox_max_affine ends with SUBMOD_OK up to a gap of 4000 DBL_EPSILON. */
static const double prox_rounding = 4096 * DBL_EPSILON;

submod_split_settings submod_split_defaults(void)
{
    return (submod_split_settings){.struct_size = sizeof(submod_split_settings),
                                   .run = submodi_gap_defaults()};
}

static submod_status judge(const submodi_split *s, const char *name, submod_status status,
                           const double *x, size_t n)
{
    if (status >= 0 && s->map->matrix && !submodi_all_finite(x, n)) {
        return submodi_fail(SUBMOD_ENUMERIC, "%s: a product with the matrix overflows", s->who);
    }
    return submodi_oracle_judge(&s->monitor.oracle, name, status, x, n);
}

submod_status submodi_forward(submodi_split *s, const double *x, double *y)
{
    return judge(s, "forward", submodi_map_forward(s->map, x, y), y, s->rows);
}

submod_status submodi_adjoint(submodi_split *s, const double *y, double *x)
{
    return judge(s, "adjoint", submodi_map_adjoint(s->map, y, x), x, s->columns);
}

/* What a prox ended with is about to be used. */
static submod_status require_finite(const submodi_split *s, const double *x, size_t n)
{
    return submodi_all_finite(x, n)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "%s: a subgradient or point overflows", s->who);
}

static double off_by(const double *v, const double *u, size_t n)
{
    return prox_rounding * (1 + submodi_norm(v, n) + submodi_norm(u, n));
}

submod_status submodi_split_prox_f(submodi_split *s, const double *v, double weight)
{
    memcpy(s->point, v, s->rows * sizeof *v);
    submod_status status = submodi_oracle_prox(&s->f, SUBMOD_FULL_BATCH, s->point, weight, s->at_f);
    for (size_t r = 0; status == SUBMOD_OK && r < s->rows; r++) {
        s->of_f[r] = weight * (v[r] - s->at_f[r]);
    }
    s->weight_f = weight;
    s->off_f = off_by(v, s->at_f, s->rows);
    return status ? status : require_finite(s, s->of_f, s->rows);
}

submod_status submodi_split_prox_g(submodi_split *s, const double *v, double weight)
{
    submod_status status = SUBMOD_OK;
    double decay = s->monitor.oracle.decay, shrink = weight / (weight + decay);
    if (s->g.problem) {
        memcpy(s->point, v, s->columns * sizeof *v);
        status = submodi_oracle_prox(&s->g, SUBMOD_FULL_BATCH, s->point, weight, s->at_g);
    }
    for (size_t i = 0; status == SUBMOD_OK && i < s->columns; i++) {
        s->at_g[i] = s->g.problem ? s->at_g[i] : shrink * v[i];
        s->of_g[i] = s->g.problem ? weight * (v[i] - s->at_g[i]) - decay * s->at_g[i] : 0;
    }
    s->weight_g = weight + decay;
    s->off_g = s->g.problem ? off_by(v, s->at_g, s->columns) : 0;
    status = status ? status : require_finite(s, s->at_g, s->columns);
    return status ? status : require_finite(s, s->of_g, s->columns);
}

static double lowest(const submodi_split *s, const submodi_plane *plane)
{
    return submodi_plane_lowest(plane, s->columns, s->monitor.oracle.decay, s->start,
                                s->settings->radius);
}

/* Adds the height at 0 of the plane of f or of g, and takes off what rounding may have added to it.
 * *off gets its share of the subgradient at `at`. *doubt: how far `of` may be from a subgradient.
 */
static submod_status add_plane(submodi_oracle *o, const double *at, const double *of, double weight,
                               double *off, double *offset, double *doubt)
{
    double value, other, error;
    size_t n = o->problem->dimension;
    submod_status status =
        submodi_oracle_plane(o, SUBMOD_FULL_BATCH, at, &value, o->scratch, &other, &error);
    if (status == SUBMOD_OK) {
        double steep = submodi_norm(o->scratch, n);
        *off += prox_rounding * steep / weight;
        *doubt = weight * *off;
        *offset += value - submodi_dot(of, at, n) - submodi_plane_error(n, at, value, of);
        *offset -= *off * (steep + submodi_norm(of, n)) + *doubt * submodi_norm(at, n);
    }
    return status;
}

submod_status submodi_split_bound(submodi_split *s, const double *of_f_back)
{
    double doubt_f = 0, doubt_g = 0;
    if (!s->measured) {
        return SUBMOD_OK;
    }
    submodi_plane *plane = &s->plane;
    plane->offset = 0;
    submod_status status =
        add_plane(&s->f, s->at_f, s->of_f, s->weight_f, &s->off_f, &plane->offset, &doubt_f);
    if (status == SUBMOD_OK && s->g.problem) {
        status =
            add_plane(&s->g, s->at_g, s->of_g, s->weight_g, &s->off_g, &plane->offset, &doubt_g);
    }
    plane->tilt = (s->norm > 0 ? s->norm * doubt_f : 0) + doubt_g;
    if (status != SUBMOD_OK || !s->monitor.certified || !isfinite(plane->offset) ||
        !isfinite(plane->tilt)) {
        return status; /* a plane with so much doubt says nothing */
    }
    for (size_t i = 0; i < s->columns; i++) {
        plane->slope[i] = of_f_back[i] + s->of_g[i];
    }
    submodi_plane_move(&s->mean, s->columns, plane, 1 / (double)++s->planes);
    submod_optim_info *info = &s->monitor.info;
    double better = fmax(lowest(s, plane), lowest(s, &s->mean));
    info->lower_bound = fmax(info->lower_bound, better);
    return SUBMOD_OK;
}

void submodi_split_answer(submodi_split *s, const double *point)
{
    double share = s->settings->average ? 1 / (double)(s->steps + 1) : 1;
    for (size_t i = 0; i < s->columns; i++) {
        s->x[i] = (1 - share) * s->x[i] + share * point[i];
    }
    s->steps++;
}

static submod_status check(const char *who, const submod_problem *f, const submod_map *map,
                           const submod_problem *g, const double *x, const submod_split_settings *s)
{
    submod_status status = submodi_composed_check(who, f, map, g);
    status = status ? status : submodi_require_given(who, "x", x);
    if (status == SUBMOD_OK && (!f->prox || f->smooth || (g && (!g->prox || g->smooth)))) {
        return submodi_fail(SUBMOD_EINVAL, "%s: f and g need a prox, and no smooth part", who);
    }
    status = status ? status : submodi_require_at_least_zero(who, "step", s->step);
    status = status ? status : submodi_require_at_least_zero(who, "norm", s->norm);
    status = status ? status : submodi_require_at_least_zero(who, "radius", s->radius);
    status = status ? status : submodi_run_check(who, &s->run);
    return status ? status : submodi_require_finite(who, "x", x, map->columns);
}

static submod_status take_memory(submodi_split *s, submod_work *work)
{
    size_t larger = s->rows > s->columns ? s->rows : s->columns;
    double **vectors[] = {&s->start, &s->plane.slope, &s->mean.slope, &s->at_g, &s->of_g, NULL};
    double **tall[] = {&s->at_f, &s->of_f, NULL};
    s->point = submodi_take(work, larger, sizeof *s->point);
    s->f.scratch = submodi_take(work, larger, sizeof *s->f.scratch);
    s->g.scratch = s->f.scratch;
    bool good = submodi_take_vectors(work, s->columns, vectors) &&
                submodi_take_vectors(work, s->rows, tall) && s->point && s->f.scratch;
    return good ? SUBMOD_OK : submodi_nomem(s->who);
}

static submod_status iterate(submodi_split *s, const submodi_split_method *method, void *state,
                             double *f)
{
    submod_optim_info *info = &s->monitor.info;
    info->primal_residual = info->dual_residual = INFINITY;
    for (size_t k = 0;; k++) {
        bool stop = false;
        *f = NAN;
        s->monitor.oracle.iteration = s->f.iteration = s->g.iteration = k;
        double residual = fmax(info->primal_residual, info->dual_residual);
        submod_status status =
            submodi_monitor_look(&s->monitor, k, s->x, residual, method->length(state), f, &stop);
        if (status != SUBMOD_OK || stop) {
            return status;
        }
        submodi_monitor_keep(&s->monitor, s->x, *f);
        status = method->step(s, state);
        if (status != SUBMOD_OK) {
            return status;
        }
    }
}

static submod_status set_out(submodi_split *s, const submodi_split_method *method, void *state,
                             submod_work *work)
{
    submod_status status =
        submodi_monitor_start(&s->monitor, s->who, &s->whole, &s->settings->run, work);
    status = status ? status : take_memory(s, work);
    if (status != SUBMOD_OK) {
        return status;
    }
    s->f.info = s->g.info = &s->monitor.info;
    s->monitor.certified = s->settings->run.weight_decay > 0 || s->settings->radius > 0;
    s->measured = s->monitor.certified || s->settings->run.gradient_tolerance > 0;
    s->monitor.full = !s->settings->average; /* residuals say nothing about the mean */
    s->norm = s->settings->norm;
    if (!(s->norm > 0) && s->map->matrix) {
        s->norm = submodi_map_norm(s->map, s->mean.slope);
    }
    memset(s->mean.slope, 0, s->columns * sizeof *s->mean.slope);
    memcpy(s->start, s->x, s->columns * sizeof *s->x);
    return method->begin(s, state, work);
}

submod_status submodi_split_run(const submodi_split_method *method, void *state,
                                const submod_problem *f, const submod_map *map,
                                const submod_problem *g, double *x,
                                const submod_split_settings *settings, submod_optim_info *info,
                                submod_work *work)
{
    submod_split_settings given = submod_split_defaults();
    submod_status status =
        submodi_read_settings(method->who, "submod_split_defaults", settings, &given);
    status = status ? status : check(method->who, f, map, g, x, &given);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_split s = {.who = method->who,
                       .rows = map->rows,
                       .columns = map->columns,
                       .map = map,
                       .settings = &given,
                       .x = x};
    s.f = (submodi_oracle){.who = s.who, .problem = f};
    s.g = (submodi_oracle){.who = s.who, .problem = g, .decay = given.run.weight_decay};
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    status = submod_problem_composed(f, map, g, &s.whole);
    status = status ? status : set_out(&s, method, state, w);
    if (status == SUBMOD_OK) {
        double value = NAN;
        status = iterate(&s, method, state, &value);
        status = submodi_monitor_finish(&s.monitor, status, value, x, info);
    }
    submod_problem_clear(&s.whole);
    submodi_scope_close(&scope);
    return status;
}
