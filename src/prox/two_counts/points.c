/* The exact prox of weighted points, for Jaccard and for any measure: each stands for many equal
 * pixels. Cost: that of the prox in prox.c, by points and not by pixels. */
#include <math.h>

#include "base/internal.h"
#include "prox/two_counts/two_counts_prox.h"
#include "submod/measure_internal.h"

/* Counts up to this are exact as doubles. */
static const uint64_t most_pixels = UINT64_C(1) << 53;

static submod_status require_points(const submodi_two_kinds_problem *p, const uint8_t *foreground,
                                    const void *multiplicity)
{
    if (p->n > INT32_MAX) {
        return submodi_fail(SUBMOD_EINVAL, "%s: count = %zu must be <= 2^31 - 1", p->who, p->n);
    }
    if (p->n && (!p->x || !foreground || !multiplicity)) {
        return submodi_fail(SUBMOD_EINVAL,
                            "%s: value, foreground and multiplicity must not be NULL", p->who);
    }
    submod_status status = submodi_require_positive(p->who, "lambda", p->lambda);
    return status == SUBMOD_OK ? submodi_require_finite(p->who, "value", p->x, p->n) : status;
}

static submod_status solve(submodi_two_kinds_problem *p, const uint8_t *foreground, double start,
                           double *u, double *s, submod_prox_info *info, submod_work *w)
{
    submod_prox_info found = {0};
    uint32_t *mask = submodi_take(w, submodi_mask_words(p->n), sizeof *mask);
    submodi_prox_pair *pair = submodi_take(w, p->n, sizeof *pair);
    if (!mask || !pair) {
        return submodi_nomem(p->who);
    }
    submodi_mask_fill(foreground, p->n, mask);
    p->mask = mask;
    submodi_extension f = {0};
    submod_status status = submodi_two_counts_prox(p, pair, &f, &found, w);
    if (status == SUBMOD_OK) {
        found.primal = f.value + f.sums.distance / 2;
        found.gap = f.excess + f.sums.residual / 2;
        found.dual = found.primal - found.gap;
        submodi_pairs_out(pair, p->n, u, s);
        found.seconds = submodi_seconds() - start;
        submodi_copy_out(info, &found, 1, sizeof *info);
    }
    return status;
}

static submod_status require_whole(const char *who, const uint64_t *multiplicity, size_t count)
{
    uint64_t left = most_pixels;
    for (size_t i = 0; i < count; i++) {
        if (multiplicity[i] == 0 || multiplicity[i] > left) {
            return submodi_fail(SUBMOD_EINVAL,
                                "%s: multiplicity[%zu] = %llu: each must be > 0, their sum <= 2^53",
                                who, i, (unsigned long long)multiplicity[i]);
        }
        left -= multiplicity[i];
    }
    return SUBMOD_OK;
}

submod_status submod_prox_jaccard_points(size_t count, const double *value,
                                         const uint8_t *foreground, const uint64_t *multiplicity,
                                         double lambda, double *u, double *s,
                                         submod_prox_info *info, submod_work *work)
{
    double start = submodi_seconds();
    submodi_two_kinds_problem p = {
        .who = "submod_prox_jaccard_points", .n = count, .x = value, .lambda = lambda};
    submod_status status = require_points(&p, foreground, multiplicity);
    status = status ? status : require_whole(p.who, multiplicity, count);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    double *pixels = submodi_take(w, count, sizeof *pixels);
    for (size_t i = 0; pixels && i < count; i++) {
        pixels[i] = (double)multiplicity[i];
    }
    p.multiplicity = pixels;
    status = pixels ? solve(&p, foreground, start, u, s, info, w) : submodi_nomem(p.who);
    submodi_scope_close(&scope);
    return status;
}

/* Finite numbers > 0, which are not lost in the sum of their kind. */
static submod_status require_real(const char *who, const uint8_t *foreground,
                                  const double *multiplicity, size_t count)
{
    submod_status status = submodi_require_finite(who, "multiplicity", multiplicity, count);
    double sum[2] = {0, 0}; /* background, foreground */
    for (size_t i = 0; status == SUBMOD_OK && i < count; i++) {
        sum[foreground[i] != 0] += multiplicity[i];
        if (!(multiplicity[i] > 0)) {
            status = submodi_fail(SUBMOD_EINVAL, "%s: multiplicity[%zu] = %g must be > 0", who, i,
                                  multiplicity[i]);
        }
    }
    if (status == SUBMOD_OK && !isfinite(2 * (sum[0] + sum[1]))) {
        status = submodi_fail(SUBMOD_ENUMERIC, "%s: the sum of the multiplicities overflows", who);
    }
    for (size_t i = 0; status == SUBMOD_OK && i < count; i++) {
        double all = sum[foreground[i] != 0];
        if (multiplicity[i] < 0x1p-52 * all) {
            status = submodi_fail(SUBMOD_ENUMERIC,
                                  "%s: multiplicity[%zu] = %g must be at least 2^-52 of the sum of "
                                  "its label, %g; leave the point out",
                                  who, i, multiplicity[i], all);
        }
    }
    return status;
}

submod_status submod_prox_two_counts_points(size_t count, const double *value,
                                            const uint8_t *foreground, const double *multiplicity,
                                            const submod_measure *measure, double lambda, double *u,
                                            double *s, submod_prox_info *info, submod_work *work)
{
    double start = submodi_seconds();
    submod_measure m;
    submodi_two_kinds_problem p = {.who = "submod_prox_two_counts_points",
                                   .n = count,
                                   .x = value,
                                   .multiplicity = multiplicity,
                                   .measure = &m,
                                   .lambda = lambda};
    submod_status status = submodi_read_measure("measure", measure, &m);
    status = status ? status : require_points(&p, foreground, multiplicity);
    status = status ? status : require_real(p.who, foreground, multiplicity, count);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_scope scope;
    status = solve(&p, foreground, start, u, s, info, submodi_scope_open(&scope, work));
    submodi_scope_close(&scope);
    return status;
}
