/* Concave functions of modular ones: F(A) = g(w(A)), w >= 0.
 *
 * eval O(k); gain O(1); chain O(k); minimize O(k log k); all times the cost of g. State: w(A).
 * Without weights F is a function of the cardinality, whose values and increments are tabulated:
 * eval O(1). Elsewhere the prox is by decomposition, O(n log n) a sweep.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "base/sort.h"
#include "base/sums.h"
#include "submod/fn_internal.h"
#include "submod/monge.h"

typedef struct concave {
    submod_concave g; /* with points of its own */
    size_t n;
    double total;        /* w(V) */
    const double *w;     /* NULL means ones */
    const double *table; /* without weights: g(0), .., g(n), then the n increments */
    double numbers[];    /* weights or table, then t and g of the points */
} concave;

/* ---- g and its increments ---- */

/* Returns the last segment that begins at or before t. */
static size_t segment(const submod_concave *g, double t)
{
    size_t low = 0;
    size_t high = g->count - 1;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        bool before = g->t[middle] <= t;
        low = before ? middle : low;
        high = before ? high : middle;
    }
    return low;
}

static double slope(const submod_concave *g, size_t i)
{
    return (g->g[i + 1] - g->g[i]) / (g->t[i + 1] - g->t[i]);
}

/* Returns g(t) of any kind but a custom one. */
static double value_of(const concave *c, double t)
{
    const submod_concave *g = &c->g;
    switch (g->kind) {
    case SUBMOD_CONCAVE_SQRT: return sqrt(t);
    case SUBMOD_CONCAVE_LOG1P: return log1p(t);
    case SUBMOD_CONCAVE_MIN: return fmin(t, g->parameter);
    case SUBMOD_CONCAVE_POWER: return pow(t, g->parameter);
    case SUBMOD_CONCAVE_POINTS: {
        size_t i = segment(g, t), from = i + (t >= g->t[i + 1]); /* the last point is exact too */
        return g->g[from] + slope(g, i) * (t - g->t[from]);
    }
    case SUBMOD_CONCAVE_ALL_OR_NOTHING: return 0 < t && t < c->total;
    case SUBMOD_CONCAVE_SMALL_SIDE: return fmin(t, c->total - t);
    default: return t * (c->total - t);
    }
}

/* Returns g(t + step) - g(t), step > 0, in forms that do not cancel. */
static double increment_of(const concave *c, double t, double step)
{
    const submod_concave *g = &c->g;
    switch (g->kind) {
    case SUBMOD_CONCAVE_SQRT: return step / (sqrt(t + step) + sqrt(t));
    case SUBMOD_CONCAVE_LOG1P: return log1p(step / (1 + t));
    case SUBMOD_CONCAVE_MIN: return fmax(0, fmin(step, g->parameter - t));
    case SUBMOD_CONCAVE_POWER:
        if (step <= t) {
            return pow(t, g->parameter) * expm1(g->parameter * log1p(step / t));
        }
        break;
    case SUBMOD_CONCAVE_POINTS: {
        size_t i = segment(g, t);
        if (i == segment(g, t + step)) {
            return slope(g, i) * step;
        }
        break;
    }
    default: break; /* whole numbers: differences are exact */
    }
    return value_of(c, t + step) - value_of(c, t);
}

static submod_status value_at(const concave *c, double t, double *value)
{
    const submod_concave *g = &c->g;
    if (g->kind != SUBMOD_CONCAVE_CUSTOM) {
        *value = value_of(c, t);
        return SUBMOD_OK;
    }
    submod_status returned = g->value(g->ctx, t, value);
    if (returned != SUBMOD_OK) {
        return submodi_fail(SUBMOD_ECALLBACK, "g of a concave function failed with code %d",
                            (int)returned);
    }
    return isfinite(*value)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ECALLBACK, "g of a concave function returned %g at t = %g",
                              *value, t);
}

static submod_status increment_at(const concave *c, double t, double step, double *increment)
{
    double before, after;
    if (c->g.kind != SUBMOD_CONCAVE_CUSTOM) {
        *increment = step > 0 ? increment_of(c, t, step) : 0;
        return SUBMOD_OK;
    }
    TRY(value_at(c, t, &before));
    TRY(value_at(c, t + step, &after));
    *increment = after - before;
    return SUBMOD_OK;
}

/* ---- callbacks ---- */

/* The increments from this size on. */
static const double *tabulated(const concave *c, double size)
{
    return c->table + c->n + 1 + (size_t)size;
}

static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const concave *c = ctx;
    double t[2] = {0, 0};
    if (!c->w) {
        *value = c->table[k];
        return SUBMOD_OK;
    }
    submodi_add_weights(c->w, NULL, set, k, t);
    return value_at(c, t[0], value);
}

static submod_status reset(const void *ctx, void *state)
{
    (void)ctx;
    *(double *)state = 0;
    return SUBMOD_OK;
}

static submod_status gain(const void *ctx, void *state, int32_t e, double *result)
{
    const concave *c = ctx;
    const double *t = state;
    if (!c->w) {
        *result = *tabulated(c, *t);
        return SUBMOD_OK;
    }
    return increment_at(c, *t, c->w[e], result);
}

static submod_status chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                           double *gains)
{
    const concave *c = ctx;
    double *t = state;
    if (!c->w) {
        memcpy(gains, tabulated(c, *t), k * sizeof *gains);
        *t += (double)k;
        return SUBMOD_OK;
    }
    for (size_t i = 0; i < k; i++) {
        TRY(increment_at(c, *t, c->w[elements[i]], &gains[i]));
        *t += c->w[elements[i]];
    }
    return SUBMOD_OK;
}

/* For functions without weights. Sums increments, because differences of g would cancel. */
static submod_status tied(const void *ctx, void *state, const int32_t *elements, size_t k,
                          double *gains)
{
    double sum = 0;
    TRY(chain(ctx, state, elements, k, gains));
    for (size_t i = 0; i < k; i++) {
        sum += gains[i];
    }
    for (size_t i = 0; i < k; i++) {
        gains[i] = sum / (double)k;
    }
    return SUBMOD_OK;
}

/* Finds the prefix (monge.h) with the lowest g(t + w(A)) - g(t) - z(A). */
static submod_status choose(const submodi_prefix_search *p, int largest, size_t chosen[2],
                            submod_work *work)
{
    const concave *c = p->ctx;
    double t = p->base[0], value = 0, lowest = 0;
    double size = 0; /* of the terms of value, to which rounding errors are relative */
    size_t count = 0;
    (void)work;
    for (size_t rank = 0; rank < p->count; rank++) {
        int32_t i = submodi_sorted_index(&p->sorted, rank);
        double increment, w = c->w ? c->w[p->elements[i]] : 1;
        if (w == 0) {
            continue;
        }
        TRY(gain(c, &t, p->elements[i], &increment));
        t += w;
        value += increment - p->z[i];
        size += fabs(increment) + fabs(p->z[i]);
        count++;
        double margin = SUBMODI_ROUNDING * size;
        if (largest ? value <= lowest + margin : value < lowest - margin) {
            lowest = fmin(lowest, value);
            chosen[0] = count;
        }
    }
    return SUBMOD_OK;
}

static submod_status minimize(const void *ctx, const submod_minor *minor, const double *z,
                              uint8_t *smallest, uint8_t *largest, double *s)
{
    const concave *c = ctx;
    const submodi_prefix_search p = {.choose = choose, .ctx = c, .weight = c->w};
    (void)s;
    return submodi_minimize_prefixes(p, minor, z, smallest, largest);
}

static submod_status minimize_parts(const void *ctx, const int32_t *order, const int32_t *rank,
                                    const submodi_part *parts, size_t nparts, const double *z,
                                    uint8_t *in)
{
    const concave *c = ctx;
    const submodi_prefix_search p = {.choose = choose, .ctx = c, .weight = c->w};
    (void)rank;
    return submodi_minimize_prefix_parts(p, order, parts, nparts, z, in);
}

/* ---- checks ---- */

static submod_status check_parameter(const submod_concave *g)
{
    if (g->kind != SUBMOD_CONCAVE_MIN && g->kind != SUBMOD_CONCAVE_POWER) {
        return SUBMOD_OK;
    }
    TRY(submodi_check_nonnegative("parameter", g->parameter));
    return g->kind == SUBMOD_CONCAVE_MIN || (g->parameter > 0 && g->parameter <= 1)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_EINVAL, "parameter = %g must be in (0, 1] for a power",
                              g->parameter);
}

/* Requires that slopes do not ascend, up to the rounding of the largest |g|. */
static submod_status check_points(const submod_concave *g)
{
    TRY(submodi_check_given("g", g->g));
    if (g->count < 2) {
        return submodi_fail(SUBMOD_EINVAL, "count = %zu must be at least 2", g->count);
    }
    TRY(submodi_check_finite("g", g->g, g->count));
    TRY(g->t ? submodi_check_finite("t", g->t, g->count) : SUBMOD_OK);
    if (g->t && g->t[0] != 0) {
        return submodi_fail(SUBMOD_EINVAL, "t[0] = %g must be 0", g->t[0]);
    }
    double rounding = 4 * DBL_EPSILON * submodi_largest(g->g, g->count);
    double before = INFINITY, allowed_before = 0;
    for (size_t i = 1; i < g->count; i++) {
        double step = g->t ? g->t[i] - g->t[i - 1] : 1;
        double after = (g->g[i] - g->g[i - 1]) / step, allowed = rounding / step;
        if (!(step > 0)) {
            return submodi_fail(SUBMOD_EINVAL, "t[%zu] = %g must be > t[%zu] = %g", i, g->t[i],
                                i - 1, g->t[i - 1]);
        }
        if (!isfinite(after)) {
            return submodi_fail(SUBMOD_ENUMERIC, "the slope to g[%zu] overflows", i);
        }
        if (!(after - before <= allowed_before + allowed)) {
            return submodi_fail(SUBMOD_EINVAL,
                                "g must be concave, but its slope is %g up to t[%zu], then %g",
                                before, i - 1, after);
        }
        before = after;
        allowed_before = allowed;
    }
    return SUBMOD_OK;
}

submod_status submodi_check_concave(const submod_concave *g, const char *name, const double *weight)
{
    TRY(submodi_check_given("concave", g));
    if ((int)g->kind < 0 || g->kind > SUBMOD_CONCAVE_CLIQUE) {
        return submodi_fail(SUBMOD_EINVAL, "kind = %d is unknown; see submod_concave_kind",
                            (int)g->kind);
    }
    TRY(check_parameter(g));
    TRY(g->kind == SUBMOD_CONCAVE_POINTS ? check_points(g) : SUBMOD_OK);
    if (g->kind == SUBMOD_CONCAVE_CUSTOM && !g->value) {
        return submodi_fail(SUBMOD_EINVAL, "value is NULL, but it defines g");
    }
    return weight && g->kind >= SUBMOD_CONCAVE_ALL_OR_NOTHING
               ? submodi_fail(SUBMOD_EINVAL, "%s must be NULL for a kind of hypergraph cut", name)
               : SUBMOD_OK;
}

/* ---- constructor ---- */

static void destroy(void *ctx)
{
    concave *c = ctx;
    if (c->g.kind == SUBMOD_CONCAVE_CUSTOM && c->g.destroy) {
        c->g.destroy(c->g.ctx);
    }
    submodi_free(c);
}

static bool all_equal(const double *w, size_t n)
{
    bool equal = true;
    for (size_t i = 1; i < n; i++) {
        equal = equal && w[i] == w[0];
    }
    return equal;
}

/* Copies the points to `to`, 2 count numbers. */
static void copy_points(submod_concave *g, double *to)
{
    for (size_t i = 0; i < g->count; i++) {
        to[i] = g->t ? g->t[i] : (double)i;
        to[g->count + i] = g->g[i];
    }
    g->t = to;
    g->g = to + g->count;
}

/* Copies the weights. If twice their sum is finite, so is every t. */
static submod_status copy_weights(concave *c, const double *weight)
{
    memcpy(c->numbers, weight, c->n * sizeof *weight);
    c->w = c->numbers;
    c->total = 0;
    for (size_t e = 0; e < c->n; e++) {
        c->total += weight[e];
    }
    return isfinite(2 * c->total)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "the sum of the weights overflows");
}

/* Custom increments are differences of the values. */
static submod_status fill_table(concave *c)
{
    double *value = c->numbers, *increment = value + c->n + 1;
    for (size_t k = 0; k <= c->n; k++) {
        TRY(value_at(c, (double)k, &value[k]));
    }
    for (size_t k = 0; k < c->n; k++) {
        bool custom = c->g.kind == SUBMOD_CONCAVE_CUSTOM;
        increment[k] = custom ? value[k + 1] - value[k] : increment_of(c, (double)k, 1);
    }
    c->table = c->numbers;
    return SUBMOD_OK;
}

/* Copies everything but the custom destroy, because the caller owns ctx until the function
 * exists. */
static submod_status copy(size_t n, const double *weight, const submod_concave *g, concave **made)
{
    size_t points = g->kind == SUBMOD_CONCAVE_POINTS ? g->count : 0;
    size_t numbers = weight ? n : 2 * n + 1, bytes = 0;
    bool fits = submodi_add_size(&bytes, 1, sizeof(concave)) &&
                submodi_add_size(&bytes, numbers, sizeof(double)) &&
                submodi_add_size(&bytes, points, 2 * sizeof(double));
    concave *c = *made = fits ? submodi_alloc(bytes, 1) : NULL;
    if (!c) {
        return submodi_out_of_memory();
    }
    *c = (concave){.g = *g, .n = n, .total = (double)n};
    c->g.destroy = NULL;
    if (points) {
        copy_points(&c->g, c->numbers + numbers);
    }
    return weight ? copy_weights(c, weight) : fill_table(c);
}

static submod_status make(size_t n, const double *weight, const submod_concave *g, submod_fn **fn)
{
    concave *c;
    TRY(submodi_check_size(n, fn));
    TRY(weight ? submodi_check_all_nonnegative("weight", weight, n) : SUBMOD_OK);
    TRY(submodi_check_concave(g, "weight", weight));
    submod_status status = copy(n, weight, g, &c);
    if (status != SUBMOD_OK) {
        submodi_free(c);
        return status;
    }
    submod_fn f = {.ops = {.name = weight ? "concave" : "cardinality",
                           .eval = eval,
                           .state_size = sizeof(double),
                           .reset = reset,
                           .gain = gain,
                           .chain = chain,
                           .tied = weight ? NULL : tied,
                           .minimize = minimize,
                           .destroy = destroy},
                   .kind = SUBMODI_CONCAVE,
                   .cardinality = !weight || all_equal(weight, n),
                   .calls_user_code = g->kind == SUBMOD_CONCAVE_CUSTOM,
                   .minimize_parts = minimize_parts,
                   .ctx = c,
                   .n = n};
    TRY(submodi_fn_new(&f, fn));
    c->g.destroy = g->destroy; /* only now ctx belongs to the handle */
    return SUBMOD_OK;
}

submod_status submod_fn_concave(size_t n, const double *weight, const submod_concave *g,
                                submod_fn **fn)
{
    return submodi_return("submod_fn_concave", make(n, weight, g, fn));
}
