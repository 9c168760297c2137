/* Chambolle and Pock 2011, for  min over x of f(A x) + g(x) + decay/2 |x|^2. By Moreau's identity
 * the prox of sigma f* at v is v - sigma u, with u the prox of f at v / sigma with weight sigma: y
 * is the subgradient of f at u. Cost of an iteration: both proxes, a product with A and one with
 * A'.
 *
 * The bound: a prox of f ends at z with the subgradient s, one of g at x with t. So for all y
 *
 *     J(y) >= f(z) + <s, A y - z> + g(x) + <t, y - x> + decay/2 |y|^2,
 *
 * a plane with slope A's + t, plus the decay: its minimum is in closed form, as in the bundle
 * method. The mean of such planes is one as well, and is what the ergodic theorem is about.
 *
 * Rounding: the z that a prox of v hands back is off by e, say, so s = weight (v - z) is by weight
 * e. The larger the weight, the more of s that is; the smaller, the larger e. With a subgradient d
 * of f at z, the plane is below f if it loses |e| (|d| + |s|) + weight |e| |A y - z|. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "optim/composed.h"
#include "optim/monitor.h"
#include "optim/planes.h"

/* What a prox u of v may be off by, as a share of 1 + |v| + |u| + |subgradient at u| / weight:
 * solvers.h says so. submod_prox_max_affine ends with SUBMOD_OK up to a gap of 4000 DBL_EPSILON. */
static const double prox_rounding = 4096 * DBL_EPSILON;

submod_split_settings submod_split_defaults(void)
{
    return (submod_split_settings){.run = submodi_gap_defaults()};
}

typedef struct run {
    size_t rows, columns;
    const submod_map *map;
    submod_problem whole; /* f(A x) + g(x): what the monitor looks at */
    submodi_monitor monitor;
    submodi_oracle f, g; /* g.problem is NULL where g = 0; its decay is that of J */
    const submod_split_settings *settings;
    double *answer;            /* the caller's x: the last point, or the mean of all points */
    double tau, sigma;         /* the steps of x and y */
    double *start;             /* the first x; columns numbers, as all up to back */
    double *x, *ahead;         /* the point; x - tau A'y */
    double *back;              /* A'y */
    double *y, *ax;            /* y, A x: rows numbers, as all up to v */
    double *ax_before;         /* A x of the iteration before */
    double *v;                 /* y / sigma + A (2 x - x before) */
    submodi_plane plane;       /* below f(A x) + g(x), from the last proxes */
    submodi_plane mean;        /* the mean of those planes */
    size_t planes;             /* so many */
    bool measured;             /* the bound or the residuals are asked for */
    double norm;               /* not below |A|; 0: not known */
    double *at_f, *at_g;       /* where the proxes ended: rows, columns numbers, */
    double weight_f, weight_g; /* their weights, that of g with the decay */
    double off_f, off_g;       /* what rounding moves at by, at most: solvers.h */
    double *of_f, *of_g;       /* subgradients there, off by the same times the weight */
    double *point;             /* scratch for proxes: the larger of both */
    size_t steps;              /* so far */
} run;

static submod_status judge(const run *r, const char *name, submod_status status, const double *x,
                           size_t n)
{
    if (status >= 0 && r->map->matrix && !submodi_all_finite(x, n)) {
        return submodi_fail(SUBMOD_ENUMERIC, "a product with the matrix overflows");
    }
    return submodi_oracle_judge(&r->monitor.oracle, name, status, x, n);
}

/* y = A x, x = A'y. SUBMOD_ECALLBACK, SUBMOD_ENOMEM of callbacks; SUBMOD_ENUMERIC: overflow. */
static submod_status forward(run *r, const double *x, double *y)
{
    return judge(r, "forward", submodi_map_forward(r->map, x, y), y, r->rows);
}

static submod_status adjoint(run *r, const double *y, double *x)
{
    return judge(r, "adjoint", submodi_map_adjoint(r->map, y, x), x, r->columns);
}

/* What a prox ended with is about to be used. */
static submod_status require_finite(const double *x, size_t n)
{
    return submodi_all_finite(x, n)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "a subgradient or point overflows");
}

static double off_by(const double *v, const double *u, size_t n)
{
    return prox_rounding * (1 + submodi_norm(v, n) + submodi_norm(u, n));
}

/* at_f = the prox of f at v (rows numbers) with this weight, of_f = weight (v - at_f). The next one
 * does the same for g + decay, where of_g leaves the decay out. v is kept. */
static submod_status prox_f(run *r, const double *v, double weight)
{
    memcpy(r->point, v, r->rows * sizeof *v);
    submod_status status = submodi_oracle_prox(&r->f, SUBMOD_FULL_BATCH, r->point, weight, r->at_f);
    for (size_t j = 0; status == SUBMOD_OK && j < r->rows; j++) {
        r->of_f[j] = weight * (v[j] - r->at_f[j]);
    }
    r->weight_f = weight;
    r->off_f = off_by(v, r->at_f, r->rows);
    return status ? status : require_finite(r->of_f, r->rows);
}

static submod_status prox_g(run *r, const double *v, double weight)
{
    submod_status status = SUBMOD_OK;
    double decay = r->monitor.oracle.decay, shrink = weight / (weight + decay);
    if (r->g.problem) {
        memcpy(r->point, v, r->columns * sizeof *v);
        status = submodi_oracle_prox(&r->g, SUBMOD_FULL_BATCH, r->point, weight, r->at_g);
    }
    for (size_t i = 0; status == SUBMOD_OK && i < r->columns; i++) {
        r->at_g[i] = r->g.problem ? r->at_g[i] : shrink * v[i];
        r->of_g[i] = r->g.problem ? weight * (v[i] - r->at_g[i]) - decay * r->at_g[i] : 0;
    }
    r->weight_g = weight + decay;
    r->off_g = r->g.problem ? off_by(v, r->at_g, r->columns) : 0;
    status = status ? status : require_finite(r->at_g, r->columns);
    return status ? status : require_finite(r->of_g, r->columns);
}

static double lowest(const run *r, const submodi_plane *plane)
{
    return submodi_plane_lowest(plane, r->columns, r->monitor.oracle.decay, r->start,
                                r->settings->radius);
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

/* Raises the lower bound by the planes of f at at_f and of g at at_g, if there is one, and off_f
 * and off_g by the shares of their subgradients, if measured. of_f_back: A' of_f. */
static submod_status raise_bound(run *r, const double *of_f_back)
{
    double doubt_f = 0, doubt_g = 0;
    if (!r->measured) {
        return SUBMOD_OK;
    }
    submodi_plane *plane = &r->plane;
    plane->offset = 0;
    submod_status status =
        add_plane(&r->f, r->at_f, r->of_f, r->weight_f, &r->off_f, &plane->offset, &doubt_f);
    if (status == SUBMOD_OK && r->g.problem) {
        status =
            add_plane(&r->g, r->at_g, r->of_g, r->weight_g, &r->off_g, &plane->offset, &doubt_g);
    }
    plane->tilt = (r->norm > 0 ? r->norm * doubt_f : 0) + doubt_g;
    if (status != SUBMOD_OK || !r->monitor.certified || !isfinite(plane->offset) ||
        !isfinite(plane->tilt)) {
        return status; /* a plane with so much doubt says nothing */
    }
    for (size_t i = 0; i < r->columns; i++) {
        plane->slope[i] = of_f_back[i] + r->of_g[i];
    }
    submodi_plane_move(&r->mean, r->columns, plane, 1 / (double)++r->planes);
    submod_optim_info *info = &r->monitor.info;
    double better = fmax(lowest(r, plane), lowest(r, &r->mean));
    info->lower_bound = fmax(info->lower_bound, better);
    return SUBMOD_OK;
}

/* answer <- the new point, or the mean of all points so far. */
static void move_answer(run *r, const double *point)
{
    double share = r->settings->average ? 1 / (double)(r->steps + 1) : 1;
    for (size_t i = 0; i < r->columns; i++) {
        r->answer[i] = (1 - share) * r->answer[i] + share * point[i];
    }
    r->steps++;
}

static submod_status check(const submod_problem *f, const submod_map *map, const submod_problem *g,
                           const double *x, const submod_split_settings *s)
{
    submod_status status = submodi_composed_check(f, map, g);
    status = status ? status : submodi_check_given("x", x);
    if (status == SUBMOD_OK && (!f->prox || f->smooth || (g && (!g->prox || g->smooth)))) {
        return submodi_fail(SUBMOD_EINVAL, "f and g need a prox, and no smooth part");
    }
    status = status ? status : submodi_check_nonnegative("step", s->step);
    status = status ? status : submodi_check_nonnegative("norm", s->norm);
    status = status ? status : submodi_check_nonnegative("radius", s->radius);
    status = status ? status : submodi_run_check(&s->run);
    return status ? status : submodi_check_finite("x", x, map->columns);
}

static submod_status take_memory(run *r, submod_work *work)
{
    size_t larger = r->rows > r->columns ? r->rows : r->columns;
    double **wide[] = {&r->start,      &r->x,    &r->ahead, &r->back, &r->plane.slope,
                       &r->mean.slope, &r->at_g, &r->of_g,  NULL};
    double **tall[] = {&r->y, &r->ax, &r->ax_before, &r->v, &r->at_f, &r->of_f, NULL};
    r->point = submodi_work_alloc(work, larger, sizeof *r->point);
    r->f.scratch = submodi_work_alloc(work, larger, sizeof *r->f.scratch);
    r->g.scratch = r->f.scratch;
    bool good = submodi_take_vectors(work, r->columns, wide) &&
                submodi_take_vectors(work, r->rows, tall) && r->point && r->f.scratch;
    return good ? SUBMOD_OK : submodi_out_of_memory();
}

static submod_status choose_steps(run *r)
{
    const submod_split_settings *given = r->settings;
    if (!(given->norm > 0) && !r->map->matrix) {
        return submodi_fail(SUBMOD_EINVAL, "norm must be given with callbacks for A");
    }
    double norm = r->norm > 0 ? r->norm : 1; /* A = 0: any steps will do */
    r->tau = given->step > 0 ? given->step : 1 / norm;
    r->sigma = 1 / r->tau / norm / norm;
    if (!isfinite(r->tau) || !isfinite(r->sigma) || !(r->tau > 0) || !(r->sigma > 0)) {
        return submodi_fail(SUBMOD_EINVAL, "step = %g does not go with norm = %g", r->tau, norm);
    }
    return SUBMOD_OK;
}

/* y <- the subgradient of f at its prox; at first v = y / sigma + A (2 x - x before). */
static submod_status move_y(run *r)
{
    for (size_t j = 0; j < r->rows; j++) {
        r->v[j] = r->y[j] / r->sigma + (2 * r->ax[j] - r->ax_before[j]);
    }
    submod_status status = prox_f(r, r->v, r->sigma);
    return status ? status : adjoint(r, r->of_f, r->back);
}

static submod_status move_x(run *r)
{
    for (size_t i = 0; i < r->columns; i++) {
        r->ahead[i] = r->x[i] - r->tau * r->back[i];
    }
    submod_status status = prox_g(r, r->ahead, 1 / r->tau);
    memcpy(r->ax_before, r->ax, r->rows * sizeof *r->ax);
    return status ? status : forward(r, r->at_g, r->ax);
}

static submod_status step(run *r)
{
    submod_status status = move_y(r);
    status = status ? status : move_x(r);
    status = status ? status : raise_bound(r, r->back);
    if (status != SUBMOD_OK) {
        return status;
    }
    /* This is (x - x new) / tau; at_f, in df*(y), is that far from A x new. */
    for (size_t i = 0; i < r->columns; i++) {
        r->ahead[i] = r->back[i] + r->of_g[i] + r->monitor.oracle.decay * r->at_g[i];
    }
    for (size_t j = 0; j < r->rows; j++) {
        r->v[j] = r->at_f[j] - r->ax[j];
    }
    r->monitor.info.primal_residual =
        submodi_norm(r->ahead, r->columns) + r->norm * r->sigma * r->off_f + r->weight_g * r->off_g;
    r->monitor.info.dual_residual = submodi_norm(r->v, r->rows) + r->off_f + r->norm * r->off_g;
    memcpy(r->x, r->at_g, r->columns * sizeof *r->x);
    memcpy(r->y, r->of_f, r->rows * sizeof *r->y);
    move_answer(r, r->x);
    return SUBMOD_OK;
}

static submod_status iterate(run *r, double *f)
{
    submod_optim_info *info = &r->monitor.info;
    info->primal_residual = info->dual_residual = INFINITY;
    for (size_t k = 0;; k++) {
        bool stop = false;
        *f = NAN;
        r->monitor.oracle.iteration = r->f.iteration = r->g.iteration = k;
        double residual = fmax(info->primal_residual, info->dual_residual);
        submod_status status =
            submodi_monitor_look(&r->monitor, k, r->answer, residual, r->tau, f, &stop);
        if (status != SUBMOD_OK || stop) {
            return status;
        }
        submodi_monitor_keep(&r->monitor, r->answer, *f);
        status = step(r);
        if (status != SUBMOD_OK) {
            return status;
        }
    }
}

static submod_status set_out(run *r, submod_work *work)
{
    const submod_split_settings *given = r->settings;
    submod_status status = submodi_monitor_start(&r->monitor, &r->whole, &given->run, work);
    status = status ? status : take_memory(r, work);
    if (status != SUBMOD_OK) {
        return status;
    }
    r->f.info = r->g.info = &r->monitor.info;
    r->monitor.certified = given->run.weight_decay > 0 || given->radius > 0;
    r->measured = r->monitor.certified || given->run.gradient_tolerance > 0;
    r->monitor.full = !given->average; /* residuals say nothing about the mean */
    r->norm = given->norm;
    if (!(r->norm > 0) && r->map->matrix) {
        r->norm = submodi_map_norm(r->map, r->mean.slope);
    }
    memset(r->mean.slope, 0, r->columns * sizeof *r->mean.slope);
    memset(r->y, 0, r->rows * sizeof *r->y);
    memcpy(r->start, r->answer, r->columns * sizeof *r->x);
    memcpy(r->x, r->answer, r->columns * sizeof *r->x);
    status = choose_steps(r);
    status = status ? status : forward(r, r->x, r->ax);
    memcpy(r->ax_before, r->ax, r->rows * sizeof *r->ax);
    return status;
}

submod_status submod_primal_dual(const submod_problem *f, const submod_map *map,
                                 const submod_problem *g, double *x,
                                 const submod_split_settings *settings, submod_optim_info *info,
                                 submod_work *work)
{
    submod_split_settings given = settings ? *settings : submod_split_defaults();
    submod_status status = check(f, map, g, x, &given);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_primal_dual", status);
    }
    run r = {.rows = map->rows,
             .columns = map->columns,
             .map = map,
             .settings = &given,
             .answer = x,
             .f = {.problem = f},
             .g = {.problem = g, .decay = given.run.weight_decay}};
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    status = submod_problem_composed(f, map, g, &r.whole);
    status = status ? status : set_out(&r, w);
    if (status == SUBMOD_OK) {
        double value = NAN;
        status = iterate(&r, &value);
        status = submodi_monitor_finish(&r.monitor, status, value, x, info);
    }
    submod_problem_clear(&r.whole);
    submodi_scope_close(&scope);
    return submodi_return("submod_primal_dual", status);
}
