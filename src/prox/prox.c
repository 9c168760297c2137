/* The one entry to all proximal operators: checks, picks the method, measures what came out. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "prox/solver.h"
#include "submod/lovasz.h"

static const char who[] = "submod_prox";

/* A method, and the functions it can do. */
typedef struct method {
    submod_prox_method method;
    const char *name;
    bool (*can)(const submod_fn *fn);
    submodi_prox_solve *solve;
} method;

/* In the order in which SUBMOD_PROX_AUTO tries them. */
static const method methods[] = {
    {SUBMOD_PROX_MIN_NORM, "Fujishige-Wolfe", submodi_can_any, submodi_prox_min_norm},
    {SUBMOD_PROX_FRANK_WOLFE, "Frank-Wolfe", submodi_can_any, submodi_prox_frank_wolfe},
    {SUBMOD_PROX_AWAY_STEPS, "Frank-Wolfe with away steps", submodi_can_any,
     submodi_prox_away_steps},
};

submod_prox_settings submod_prox_defaults(void)
{
    return (submod_prox_settings){.tolerance = 1e-10};
}

static const method *pick(const submod_fn *fn, submod_prox_method wanted)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        bool asked = wanted == SUBMOD_PROX_AUTO || wanted == methods[i].method;
        if (asked && methods[i].can(fn)) {
            return &methods[i];
        }
    }
    return NULL;
}

/* gap = f(u) - <s, u> + lambda/2 |u - (x - s / lambda)|^2, without cancellation. */
static submod_status measure(const submodi_prox_problem *p, const double *u, const double *s,
                             double *g, submod_prox_info *info, submod_work *work)
{
    submod_status status = submod_lovasz(p->fn, u, NULL, g, NULL, NULL, work);
    double f = 0, excess = 0, near = 0, far = 0, sx = 0, ss = 0;
    for (size_t i = 0; status == SUBMOD_OK && i < p->fn->n; i++) {
        double residual = (u[i] - p->x[i]) + s[i] / p->lambda;
        f += g[i] * u[i];
        excess += (g[i] - s[i]) * u[i];
        near += residual * residual;
        far += (u[i] - p->x[i]) * (u[i] - p->x[i]);
        sx += s[i] * p->x[i];
        ss += s[i] * (s[i] / p->lambda);
    }
    info->primal = f + p->lambda / 2 * far;
    info->dual = sx - ss / 2;
    info->gap = excess + p->lambda / 2 * near;
    return status;
}

submod_status submod_prox(const submod_fn *fn, const double *x, double lambda, double *u, double *s,
                          const submod_prox_settings *settings, submod_prox_info *info,
                          submod_work *work)
{
    double begin = submodi_seconds();
    if (!fn || !x || !(lambda > 0)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: fn or x is NULL, or lambda is not > 0", who);
    }
    submod_prox_settings chosen = settings ? *settings : submod_prox_defaults();
    const method *m = pick(fn, chosen.method);
    if (!m) {
        return submodi_fail(SUBMOD_EUNSUPPORTED, "%s: no such method", who);
    }
    submodi_prox_problem problem = {who, fn, x, lambda, &chosen};
    submod_prox_info found = {0};
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    size_t n = fn->n;
    double *uu = submodi_take(w, n, sizeof *uu);
    double *ss = submodi_take(w, n, sizeof *ss);
    double *g = submodi_take(w, n, sizeof *g);
    submod_status status =
        uu && ss && g ? m->solve(&problem, uu, ss, &found, w) : submodi_nomem(who);
    if (status >= 0) {
        submod_status measured = measure(&problem, uu, ss, g, &found, w);
        status = measured == SUBMOD_OK ? status : measured;
    }
    if (status >= 0) {
        found.method = m->method;
        found.seconds = submodi_seconds() - begin;
        if (u) {
            memcpy(u, uu, n * sizeof *u);
        }
        if (s) {
            memcpy(s, ss, n * sizeof *s);
        }
        if (info) {
            *info = found;
        }
    }
    submodi_scope_close(&scope);
    return status;
}
