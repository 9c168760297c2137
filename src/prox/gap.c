/* Primal, dual and gap of a pair u, s in a form that does not cancel:
 *
 *     gap = f(u) - <s, u> + lambda/2 |u - x + s / lambda|^2 .
 *
 * Let pi be the order in which u falls. The first two terms are summed by parts along it:
 *
 *     f(u) - <s, u> = sum over k < n of (F - s)({pi_1 .. pi_k}) (u_pi_k - u_pi_k+1)
 *                     + (F - s)(V) u_pi_n .
 *
 * Inside a block of equal entries nothing is then added and subtracted again. For s in B(F) every
 * term is >= 0, and (F - s)(V) = 0. Cost: O(n) if the method left f(u), O(1) if it left its sums
 * too; else a pass over the edges of a cut (prox_cut.c), or a sort and a chain.
 */
#include "prox/gap.h"

#include <float.h>
#include <math.h>

#include "base/internal.h"
#include "prox/prox_cut.h"

/* Returns f(v) - <s, v>. *size: what its rounding error is relative to. v itself has a rounding
 * error relative to weight / lambda, which matters where v is near 0. */
static double excess(const double *v, const double *s, const double *g, const int32_t *order,
                     size_t n, double lambda, double *size)
{
    double sum = 0;
    double slack = 0; /* (F - s) of the prefix so far */
    double weight = 0;
    double largest = fmax(fabs(v[order[0]]), fabs(v[order[n - 1]]));
    for (size_t k = 0; k < n; k++) {
        int32_t e = order[k];
        slack += g[e] - s[e];
        weight += fabs(g[e]) + fabs(s[e]);
        sum += slack * (k + 1 < n ? v[e] - v[order[k + 1]] : v[e]);
    }
    *size = weight * (largest + 8 * DBL_EPSILON * weight / lambda);
    return sum;
}

static inline double argument(const submodi_prox_problem *p, double u)
{
    return p->settings->hinge ? fmax(u, 0) : u;
}

submod_status submodi_extension_at(const submodi_prox_problem *p, const double *u, const double *s,
                                   submodi_extension *f, submod_work *work)
{
    size_t n = p->fn->n;
    const submodi_cut *cut = submodi_cut_of(p->fn);
    if (cut && !p->settings->hinge) {
        submodi_cut_extension(cut, u, s, p->lambda, f);
        return SUBMOD_OK;
    }
    double *v = submodi_take(work, n, sizeof *v);
    double *g = submodi_take(work, n, sizeof *g);
    int32_t *order = submodi_take(work, n, sizeof *order);
    if (!v || !g || !order) {
        return submodi_nomem(p->who);
    }
    for (size_t i = 0; i < n; i++) {
        v[i] = argument(p, u[i]);
    }
    submod_status status = submod_lovasz(p->fn, v, &f->value, g, order, SUBMOD_TIES_INDEX, work);
    if (status == SUBMOD_OK) {
        f->excess = excess(v, s, g, order, n, p->lambda, &f->size);
        f->known = true;
    }
    return status;
}

static submodi_pair_sums sum_pairs(const submodi_prox_problem *p, const double *u, const double *s)
{
    submodi_pair_sums sums = {0};
    for (size_t i = 0; i < p->fn->n; i++) {
        double step = u[i] - p->x[i];
        double miss = step + s[i] / p->lambda;
        sums.distance += p->lambda * step * step;
        sums.residual += p->lambda * miss * miss;
        sums.terms += p->lambda * p->x[i] * p->x[i] + s[i] / p->lambda * s[i];
        sums.beyond += s[i] * (argument(p, u[i]) - u[i]);
    }
    return sums;
}

submod_status submodi_prox_gap(const submodi_prox_problem *p, const double *u, const double *s,
                               submod_prox_info *info, double *allowed, submod_work *work)
{
    submodi_extension f = p->extension ? *p->extension : (submodi_extension){0};
    submod_status status = f.known ? SUBMOD_OK : submodi_extension_at(p, u, s, &f, work);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_pair_sums sums = f.measured ? f.sums : sum_pairs(p, u, s);
    info->primal = f.value + sums.distance / 2;
    info->gap = f.excess + sums.beyond + sums.residual / 2;
    info->dual = info->primal - info->gap;
    /* At least the default tolerance, because exact methods cannot do better when asked for 0. */
    *allowed = fmax(p->settings->tolerance, 1e-10) * sums.terms / 2 + 8 * DBL_EPSILON * f.size;
    return isfinite(info->primal) && isfinite(info->gap)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "%s: the objective overflows", p->who);
}
