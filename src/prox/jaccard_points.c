/* The exact Jaccard prox of weighted points: each stands for many equal pixels. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/sort.h"
#include "prox/jaccard_prox.h"

/* Counts are exact as doubles. */
static const uint64_t most_pixels = UINT64_C(1) << 53;

/* By parts along the order in which u falls, as in gap.c: blocks of equal u add nothing. */
submod_status submodi_points_excess(const submodi_jaccard_problem *p, const double *u,
                                    const double *s, double *value, double *excess,
                                    submod_work *work)
{
    submodi_scope scope;
    submodi_sorted sorted;
    submod_work *w = submodi_scope_open(&scope, work);
    *value = *excess = 0;
    if (p->n && submodi_sort_f64(u, p->n, w, &sorted) != SUBMOD_OK) {
        submodi_scope_close(&scope);
        return submodi_nomem(p->who);
    }
    double P = 0;
    for (size_t i = 0; i < p->n; i++) {
        P += p->mask[i / 32] >> i % 32 & 1 ? (double)p->multiplicity[i] : 0;
    }
    double missing = P; /* foreground not yet passed */
    double U = P;       /* union */
    double slack = 0;   /* (F - s) of what has been passed */
    for (size_t r = 0; r < p->n; r++) {
        size_t i = (size_t)submodi_sorted_index(&sorted, r);
        double pixels = (double)p->multiplicity[i];
        double gain;
        if (p->mask[i / 32] >> i % 32 & 1) {
            gain = pixels / U;
            missing -= pixels;
        } else {
            gain = U == 0 ? 1 : missing * pixels / (U * (U + pixels));
            U += pixels;
        }
        double next = r + 1 < p->n ? u[submodi_sorted_index(&sorted, r + 1)] : 0;
        slack += gain - pixels * s[i];
        *value += gain * u[i];
        *excess += slack * (u[i] - next);
    }
    submodi_scope_close(&scope);
    return SUBMOD_OK;
}

/* Primal, dual and gap of u and s. */
static submod_status measure(const submodi_jaccard_problem *p, const double *u, const double *s,
                             submod_prox_info *info, submod_work *w)
{
    double value;
    submod_status status = submodi_points_excess(p, u, s, &value, &info->gap, w);
    if (status != SUBMOD_OK) {
        return status;
    }
    double distance = 0;
    for (size_t i = 0; i < p->n; i++) {
        double scale = p->lambda * (double)p->multiplicity[i];
        double step = u[i] - p->x[i];
        double miss = step + s[i] / p->lambda;
        distance += scale * step * step;
        info->gap += scale * miss * miss / 2;
    }
    info->primal = value + distance / 2;
    info->dual = info->primal - info->gap;
    return isfinite(info->primal) && isfinite(info->gap)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "%s: the objective overflows", p->who);
}

submod_status submodi_require_lambda(const char *who, double lambda)
{
    if (!isfinite(lambda)) {
        return submodi_fail(SUBMOD_ENONFINITE, "%s: lambda is %g", who, lambda);
    }
    return lambda > 0 ? SUBMOD_OK
                      : submodi_fail(SUBMOD_EINVAL, "%s: lambda = %g is not > 0", who, lambda);
}

static submod_status require_points(const submodi_jaccard_problem *p, const uint8_t *foreground)
{
    if (p->n > INT32_MAX) {
        return submodi_fail(SUBMOD_EINVAL, "%s: count = %zu is more than 2^31 - 1", p->who, p->n);
    }
    if (p->n && (!p->x || !foreground || !p->multiplicity)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: value, foreground or multiplicity is NULL", p->who);
    }
    uint64_t left = most_pixels;
    for (size_t i = 0; i < p->n; i++) {
        if (p->multiplicity[i] == 0 || p->multiplicity[i] > left) {
            return submodi_fail(SUBMOD_EINVAL, "%s: multiplicity[%zu] = %llu is 0 or exceeds 2^53",
                                p->who, i, (unsigned long long)p->multiplicity[i]);
        }
        left -= p->multiplicity[i];
    }
    submod_status status = submodi_require_lambda(p->who, p->lambda);
    return status == SUBMOD_OK ? submodi_require_finite(p->who, "value", p->x, p->n) : status;
}

submod_status submod_prox_jaccard_points(size_t count, const double *value,
                                         const uint8_t *foreground, const uint64_t *multiplicity,
                                         double lambda, double *u, double *s,
                                         submod_prox_info *info, submod_work *work)
{
    double start = submodi_seconds();
    submodi_jaccard_problem p = {.who = "submod_prox_jaccard_points",
                                 .n = count,
                                 .x = value,
                                 .multiplicity = multiplicity,
                                 .lambda = lambda};
    submod_status status = require_points(&p, foreground);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submod_prox_info found = {.method = SUBMOD_PROX_JACCARD};
    uint32_t *mask = submodi_take(w, submodi_mask_words(count), sizeof *mask);
    double *own_u = submodi_take(w, count, sizeof *own_u);
    double *own_s = submodi_take(w, count, sizeof *own_s);
    if (!mask || !own_u || !own_s) {
        submodi_scope_close(&scope);
        return submodi_nomem(p.who);
    }
    submodi_mask_fill(foreground, count, mask);
    p.mask = mask;
    status = submodi_jaccard_prox(&p, own_u, own_s, &found, w);
    if (status == SUBMOD_OK && info) {
        status = measure(&p, own_u, own_s, &found, w);
    }
    if (status == SUBMOD_OK && count && u) {
        memcpy(u, own_u, count * sizeof *u);
    }
    if (status == SUBMOD_OK && count && s) {
        memcpy(s, own_s, count * sizeof *s);
    }
    if (status == SUBMOD_OK && info) {
        found.seconds = submodi_seconds() - start;
        *info = found;
    }
    submodi_scope_close(&scope);
    return status;
}
