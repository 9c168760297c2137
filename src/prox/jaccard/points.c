/* The exact Jaccard prox of weighted points: each stands for many equal pixels. Cost: that of the
 * prox in prox.c, by points and not by pixels. */
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "prox/jaccard/jaccard_prox.h"

/* Counts up to this are exact as doubles. */
static const uint64_t most_pixels = UINT64_C(1) << 53;

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
    submodi_prox_pair *pair = submodi_take(w, count, sizeof *pair);
    if (!mask || !pair) {
        submodi_scope_close(&scope);
        return submodi_nomem(p.who);
    }
    submodi_mask_fill(foreground, count, mask);
    p.mask = mask;
    submodi_extension f = {0};
    status = submodi_jaccard_prox(&p, pair, &f, &found, w);
    if (status == SUBMOD_OK) {
        found.primal = f.value + f.sums.distance / 2;
        found.gap = f.excess + f.sums.residual / 2;
        found.dual = found.primal - found.gap;
        submodi_pairs_out(pair, count, u, s);
        found.seconds = submodi_seconds() - start;
        submodi_copy_out(info, &found, 1, sizeof *info);
    }
    submodi_scope_close(&scope);
    return status;
}
