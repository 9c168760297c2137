/* The exact Jaccard prox of weighted points: each stands for many equal pixels. Cost: that of the
 * prox in prox.c, by points and not by pixels. */
#include <math.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "prox/jaccard/jaccard_prox.h"

/* Counts up to this are exact as doubles. */
static const uint64_t most_pixels = UINT64_C(1) << 53;

/* Primal, dual and gap of u and s. */
static submod_status measure(const submodi_jaccard_problem *p, const double *u, const double *s,
                             submod_prox_info *info)
{
    info->gap = p->extension->excess;
    double distance = 0;
    for (size_t i = 0; i < p->n; i++) {
        double scale = p->lambda * (double)p->multiplicity[i];
        double step = u[i] - p->x[i];
        double miss = step + s[i] / p->lambda;
        distance += scale * step * step;
        info->gap += scale * miss * miss / 2;
    }
    info->primal = p->extension->value + distance / 2;
    info->dual = info->primal - info->gap;
    return isfinite(info->primal) && isfinite(info->gap)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "%s: the objective overflows", p->who);
}

static submod_status require_points(const submodi_jaccard_problem *p, const uint8_t *foreground)
{
    if (p->n > INT32_MAX) {
        return submodi_fail(SUBMOD_EINVAL, "%s: count = %zu must be <= 2^31 - 1", p->who, p->n);
    }
    if (p->n && (!p->x || !foreground || !p->multiplicity)) {
        return submodi_fail(SUBMOD_EINVAL,
                            "%s: value, foreground and multiplicity must not be NULL", p->who);
    }
    uint64_t left = most_pixels;
    for (size_t i = 0; i < p->n; i++) {
        if (p->multiplicity[i] == 0 || p->multiplicity[i] > left) {
            return submodi_fail(SUBMOD_EINVAL,
                                "%s: multiplicity[%zu] = %llu: each must be > 0, their sum <= 2^53",
                                p->who, i, (unsigned long long)p->multiplicity[i]);
        }
        left -= p->multiplicity[i];
    }
    submod_status status = submodi_require_positive(p->who, "lambda", p->lambda);
    return status == SUBMOD_OK ? submodi_require_finite(p->who, "value", p->x, p->n) : status;
}

submod_status submod_prox_jaccard_points(size_t count, const double *value,
                                         const uint8_t *foreground, const uint64_t *multiplicity,
                                         double lambda, double *u, double *s,
                                         submod_prox_info *info, submod_work *work)
{
    double start = submodi_seconds();
    submodi_extension extension = {0};
    submodi_jaccard_problem p = {.who = "submod_prox_jaccard_points",
                                 .extension = info ? &extension : NULL,
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
        status = measure(&p, own_u, own_s, &found);
    }
    if (status == SUBMOD_OK) {
        found.seconds = submodi_seconds() - start;
        submodi_copy_out(u, own_u, count, sizeof *u);
        submodi_copy_out(s, own_s, count, sizeof *s);
        submodi_copy_out(info, &found, 1, sizeof *info);
    }
    submodi_scope_close(&scope);
    return status;
}
