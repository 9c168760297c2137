/* FISTA with backtracking (Beck and Teboulle 2009) and adaptive restart (O'Donoghue and Candès):
 *
 *     u_k = prox of h + decay at y_k - gradient smooth(y_k) / L, with weight L
 *     t_k+1 = (1 + sqrt(1 + 4 t_k^2)) / 2,   y_k+1 = u_k + (t_k - 1) / t_k+1 (u_k - u_k-1)
 *
 * Cost of an iteration: two gradients of smooth and one prox; one more of each when L is doubled.
 */
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "optim/monitor.h"

/* Backtracking ends here: smooth values no longer differ in double precision at such L. */
static const double lipschitz_max = 1e300;

submod_fista_settings submod_fista_defaults(void)
{
    return (submod_fista_settings){.run = submodi_run_defaults(), .lipschitz = 1, .restart = 1};
}

typedef struct run {
    size_t n;
    submodi_monitor monitor;
    double L, t;
    int restart;
    double *x;     /* u_k-1: the caller's */
    double *y, *g; /* y_k, the gradient of smooth there */
    double *u;     /* u_k */
    double *point; /* scratch */
} run;

static submod_status check(const submod_problem *problem, const double *x,
                           const submod_fista_settings *s)
{
    submod_status status = submodi_problem_check(problem);
    status = status ? status : submodi_check_given("x", x);
    if (status == SUBMOD_OK && !problem->prox) {
        return submodi_fail(SUBMOD_EINVAL, "the problem needs a prox");
    }
    status = status ? status : submodi_check_positive("lipschitz", s->lipschitz);
    status = status ? status : submodi_run_check(&s->run);
    return status ? status : submodi_check_finite("x", x, problem->dimension);
}

/* Whether smooth(u) <= smooth(y) + <g, u - y> + L/2 |u - y|^2, up to the rounding of the values. */
static submod_status small_enough(run *r, double at_y, bool *good)
{
    *good = true;
    if (!r->monitor.oracle.problem->smooth) {
        return SUBMOD_OK;
    }
    double at_u, bound = at_y;
    submod_status status =
        submodi_oracle_smooth(&r->monitor.oracle, SUBMOD_FULL_BATCH, r->u, &at_u, r->point);
    for (size_t i = 0; i < r->n; i++) {
        double move = r->u[i] - r->y[i];
        bound += move * (r->g[i] + r->L / 2 * move);
    }
    *good = at_u <= bound + 1e-14 * (fabs(at_u) + fabs(at_y)) || r->L > lipschitz_max;
    return status;
}

/* Computes u from y. Doubles L until its quadratic lies above smooth at u. */
static submod_status proximal_step(run *r)
{
    double at_y;
    bool good = false;
    submodi_oracle *o = &r->monitor.oracle;
    submod_status status = submodi_oracle_smooth(o, SUBMOD_FULL_BATCH, r->y, &at_y, r->g);
    while (status == SUBMOD_OK) {
        for (size_t i = 0; i < r->n; i++) {
            r->point[i] = r->y[i] - r->g[i] / r->L;
        }
        status = submodi_oracle_prox(o, SUBMOD_FULL_BATCH, r->point, r->L, r->u);
        status = status ? status : small_enough(r, at_y, &good);
        if (good) {
            break;
        }
        r->L *= 2;
    }
    return status;
}

/* x <- u, y <- a point beyond it. */
static void extrapolate(run *r)
{
    double uphill = 0; /* <gradient mapping at y, last move>: if > 0, momentum does harm */
    for (size_t i = 0; i < r->n; i++) {
        uphill += (r->y[i] - r->u[i]) * (r->u[i] - r->x[i]);
    }
    double t = r->restart && uphill > 0 ? 1 : r->t;
    double next = (1 + sqrt(1 + 4 * t * t)) / 2;
    double beyond = (t - 1) / next;
    for (size_t i = 0; i < r->n; i++) {
        r->y[i] = r->u[i] + beyond * (r->u[i] - r->x[i]);
        r->x[i] = r->u[i];
    }
    r->t = next;
}

/* The norm of the gradient mapping, L |y - u|. It is about y, so x must be near u as well. */
static double stationarity(const run *r)
{
    double from_y = 0, from_x = 0;
    for (size_t i = 0; i < r->n; i++) {
        from_y += (r->y[i] - r->u[i]) * (r->y[i] - r->u[i]);
        from_x += (r->x[i] - r->u[i]) * (r->x[i] - r->u[i]);
    }
    return r->L * sqrt(fmax(from_x, from_y));
}

static submod_status iterate(run *r, double *f)
{
    for (size_t k = 0;; k++) {
        bool stop = false;
        double here = NAN;
        r->monitor.oracle.iteration = k;
        submod_status status = proximal_step(r);
        status = status ? status
                        : submodi_monitor_look(&r->monitor, k, r->x, stationarity(r), 1 / r->L,
                                               &here, &stop);
        if (status != SUBMOD_OK || stop) {
            *f = here;
            return status;
        }
        submodi_monitor_keep(&r->monitor, r->x, here);
        extrapolate(r);
        if (!submodi_all_finite(r->y, r->n)) {
            return submodi_fail(SUBMOD_ENUMERIC, "the step overflows");
        }
    }
}

submod_status submod_fista(const submod_problem *problem, double *x,
                           const submod_fista_settings *settings, submod_optim_info *info,
                           submod_work *work)
{
    submod_fista_settings s = settings ? *settings : submod_fista_defaults();
    submod_status status = check(problem, x, &s);
    if (status != SUBMOD_OK) {
        return submodi_return("submod_fista", status);
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    size_t n = problem->dimension;
    run r = {.n = n, .L = s.lipschitz, .t = 1, .restart = s.restart, .x = x};
    bool good = submodi_take_vectors(w, n, (double **[]){&r.y, &r.g, &r.u, &r.point, NULL});
    status = good ? SUBMOD_OK : submodi_out_of_memory();
    status = status ? status : submodi_monitor_start(&r.monitor, problem, &s.run, w);
    if (status == SUBMOD_OK) {
        double f = NAN;
        memcpy(r.y, x, n * sizeof *x);
        status = iterate(&r, &f);
        status = submodi_monitor_finish(&r.monitor, status, f, x, info);
    }
    submodi_scope_close(&scope);
    return submodi_return("submod_fista", status);
}
