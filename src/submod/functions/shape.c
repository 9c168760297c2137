/* Concave functions g of one number t >= 0, and their rises g(t + step) - g(t) in forms that do not
 * cancel:
 *
 *   sqrt     step / (sqrt(t + step) + sqrt(t))
 *   log1p    log(1 + step / (1 + t))
 *   min      the part of step below the parameter
 *   power    t^p ((1 + step / t)^p - 1), by expm1 and log1p
 *   points   slope * step inside a segment, else a difference
 *   custom   a difference
 *
 * O(1) each; points O(log count).
 */
#include "submod/functions/shape.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "base/sums_loops.h"

/* ---- built in ---- */

static double sqrt_value(const submodi_shape *g, double t)
{
    (void)g;
    return sqrt(t);
}

static double sqrt_rise(const submodi_shape *g, double t, double step)
{
    (void)g;
    return step > 0 ? step / (sqrt(t + step) + sqrt(t)) : 0;
}

static double log1p_value(const submodi_shape *g, double t)
{
    (void)g;
    return log1p(t);
}

static double log1p_rise(const submodi_shape *g, double t, double step)
{
    (void)g;
    return log1p(step / (1 + t));
}

static double min_value(const submodi_shape *g, double t)
{
    return fmin(t, g->parameter);
}

static double min_rise(const submodi_shape *g, double t, double step)
{
    return fmax(0, fmin(step, g->parameter - t));
}

static double power_value(const submodi_shape *g, double t)
{
    return pow(t, g->parameter);
}

static double power_rise(const submodi_shape *g, double t, double step)
{
    return step > t   ? power_value(g, t + step) - power_value(g, t)
           : step > 0 ? power_value(g, t) * expm1(g->parameter * log1p(step / t))
                      : 0;
}

submod_status submodi_shape_built_in(const char *who, submod_concave_kind kind, double parameter,
                                     submodi_shape *g)
{
    static const submodi_shape shapes[] = {
        [SUBMOD_CONCAVE_SQRT] = {.value = sqrt_value, .rise = sqrt_rise},
        [SUBMOD_CONCAVE_LOG1P] = {.value = log1p_value, .rise = log1p_rise},
        [SUBMOD_CONCAVE_MIN] = {.value = min_value, .rise = min_rise},
        [SUBMOD_CONCAVE_POWER] = {.value = power_value, .rise = power_rise},
    };
    if ((int)kind < 0 || (size_t)kind >= sizeof shapes / sizeof *shapes) {
        return submodi_fail(SUBMOD_EINVAL, "%s: kind = %d is unknown; see submod_concave_kind", who,
                            (int)kind);
    }
    submod_status status = SUBMOD_OK;
    if (kind == SUBMOD_CONCAVE_MIN || kind == SUBMOD_CONCAVE_POWER) {
        status = submodi_require_at_least_zero(who, "parameter", parameter);
    }
    if (status == SUBMOD_OK && kind == SUBMOD_CONCAVE_POWER && !(parameter > 0 && parameter <= 1)) {
        status = submodi_fail(SUBMOD_EINVAL, "%s: parameter = %g must be in (0, 1] for a power",
                              who, parameter);
    }
    if (status == SUBMOD_OK) {
        *g = shapes[kind];
        g->parameter = parameter;
    }
    return status;
}

/* ---- points ---- */

/* The segment of t: the last one that begins at or before it. */
static size_t segment(const submodi_shape *g, double t)
{
    size_t low = 0;
    size_t high = g->count - 1;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (g->t[middle] <= t) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static double slope(const double *t, const double *g, size_t i)
{
    return (g[i + 1] - g[i]) / (t[i + 1] - t[i]);
}

static double points_value(const submodi_shape *g, double t)
{
    size_t i = segment(g, t);
    return g->g[i] + slope(g->t, g->g, i) * (t - g->t[i]);
}

static double points_rise(const submodi_shape *g, double t, double step)
{
    size_t i = segment(g, t);
    bool inside = i == segment(g, t + step);
    return inside ? slope(g->t, g->g, i) * step : points_value(g, t + step) - points_value(g, t);
}

/* Requires that t ascends from 0 and that the slopes do not, up to the rounding of numbers as large
 * as the largest of g. */
static submod_status require_concave(const char *who, size_t count, const double *t,
                                     const double *g)
{
    double rounding = 4 * DBL_EPSILON * submodi_largest(g, count);
    if (t[0] != 0) {
        return submodi_fail(SUBMOD_EINVAL, "%s: t[0] = %g must be 0", who, t[0]);
    }
    for (size_t i = 1; i < count; i++) {
        if (!(t[i] > t[i - 1])) {
            return submodi_fail(SUBMOD_EINVAL, "%s: t[%zu] = %g must be > t[%zu] = %g", who, i,
                                t[i], i - 1, t[i - 1]);
        }
        double after = slope(t, g, i - 1);
        double before = i > 1 ? slope(t, g, i - 2) : after;
        double allowed =
            rounding / (t[i] - t[i - 1]) + (i > 1 ? rounding / (t[i - 1] - t[i - 2]) : 0);
        if (!isfinite(after)) {
            return submodi_fail(SUBMOD_ENUMERIC, "%s: the slope to g[%zu] overflows", who, i);
        }
        if (!(after - before <= allowed)) {
            return submodi_fail(SUBMOD_EINVAL,
                                "%s: g must be concave, but its slope is %g up to t[%zu], then %g",
                                who, before, i - 1, after);
        }
    }
    return SUBMOD_OK;
}

submod_status submodi_shape_points(const char *who, size_t count, const double *t,
                                   const double *value, submodi_shape *g)
{
    submod_status status = submodi_require_given(who, "t", t);
    status = status ? status : submodi_require_given(who, "g", value);
    if (status == SUBMOD_OK && count < 2) {
        status = submodi_fail(SUBMOD_EINVAL, "%s: count = %zu must be at least 2", who, count);
    }
    status = status ? status : submodi_require_finite(who, "t", t, count);
    status = status ? status : submodi_require_finite(who, "g", value, count);
    status = status ? status : require_concave(who, count, t, value);
    if (status != SUBMOD_OK) {
        return status;
    }
    double *copy = submodi_alloc(submodi_times(count, 2), sizeof *copy);
    if (!copy) {
        return submodi_nomem(who);
    }
    memcpy(copy, t, count * sizeof *copy);
    memcpy(copy + count, value, count * sizeof *copy);
    *g = (submodi_shape){.value = points_value, .rise = points_rise, .count = count};
    g->t = copy;
    g->g = copy + count;
    return SUBMOD_OK;
}

/* ---- the user's own ---- */

submod_status submodi_shape_custom(const char *who, const submod_concave_ops *ops, void *ctx,
                                   submodi_shape *g)
{
    submod_status status = submodi_require_given(who, "ops", ops);
    if (status != SUBMOD_OK) {
        return status;
    }
    if (ops->struct_size != sizeof *ops) {
        return submodi_fail(SUBMOD_EINVAL,
                            "%s: ops.struct_size = %zu must be sizeof(submod_concave_ops) = %zu",
                            who, ops->struct_size, sizeof *ops);
    }
    if (!ops->value) {
        return submodi_fail(SUBMOD_EINVAL, "%s: ops.value is NULL, but it defines g", who);
    }
    *g = (submodi_shape){.ops = *ops, .ctx = ctx};
    g->ops.destroy = NULL;
    return SUBMOD_OK;
}

void submodi_shape_clear(submodi_shape *g)
{
    submodi_free(g->t);
    if (g->ops.destroy) {
        g->ops.destroy(g->ctx);
    }
}

static submod_status ask(const submodi_shape *g, double t, double *value)
{
    submod_status returned = g->ops.value(g->ctx, t, value);
    if (returned != SUBMOD_OK) {
        return submodi_fail(SUBMOD_ECALLBACK, "g of a concave function failed with code %d",
                            (int)returned);
    }
    return isfinite(*value)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ECALLBACK, "g of a concave function returned %g at t = %g",
                              *value, t);
}

submod_status submodi_shape_value(const submodi_shape *g, double t, double *value)
{
    if (!g->value) {
        return ask(g, t, value);
    }
    *value = g->value(g, t);
    return SUBMOD_OK;
}

submod_status submodi_shape_rise(const submodi_shape *g, double t, double step, double *rise)
{
    if (g->value) {
        *rise = g->rise(g, t, step);
        return SUBMOD_OK;
    }
    double before;
    double after;
    submod_status status = ask(g, t, &before);
    status = status ? status : ask(g, t + step, &after);
    *rise = status ? 0 : after - before;
    return status;
}
