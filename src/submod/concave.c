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

typedef struct concave {
    submod_concave g; /* with points of its own */
    size_t n;
    double total;        /* w(V) */
    const double *w;     /* NULL means ones */
    const double *table; /* without weights: g(0), .., g(n), then the n increments */
    double numbers[];    /* weights or table, then t and g of the points */
} concave;

/* ---- g and its increments, in forms that do not cancel ---- */

static double sqrt_value(const concave *c, double t)
{
    (void)c;
    return sqrt(t);
}

static double sqrt_increment(const concave *c, double t, double step)
{
    (void)c;
    return step > 0 ? step / (sqrt(t + step) + sqrt(t)) : 0;
}

static double log1p_value(const concave *c, double t)
{
    (void)c;
    return log1p(t);
}

static double log1p_increment(const concave *c, double t, double step)
{
    (void)c;
    return log1p(step / (1 + t));
}

static double min_value(const concave *c, double t)
{
    return fmin(t, c->g.parameter);
}

static double min_increment(const concave *c, double t, double step)
{
    return fmax(0, fmin(step, c->g.parameter - t));
}

static double power_value(const concave *c, double t)
{
    return pow(t, c->g.parameter);
}

static double power_increment(const concave *c, double t, double step)
{
    return step > t   ? power_value(c, t + step) - power_value(c, t)
           : step > 0 ? power_value(c, t) * expm1(c->g.parameter * log1p(step / t))
                      : 0;
}

/* The last segment that begins at or before t. */
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

static double points_value(const concave *c, double t)
{
    const submod_concave *g = &c->g;
    size_t i = segment(g, t);
    size_t from = i + (t >= g->t[i + 1]); /* the last point is exact too */
    return g->g[from] + slope(g, i) * (t - g->t[from]);
}

static double points_increment(const concave *c, double t, double step)
{
    size_t i = segment(&c->g, t);
    return i == segment(&c->g, t + step) ? slope(&c->g, i) * step
                                         : points_value(c, t + step) - points_value(c, t);
}

static double all_or_nothing(const concave *c, double t)
{
    return 0 < t && t < c->total;
}

static double small_side(const concave *c, double t)
{
    return fmin(t, c->total - t);
}

static double product(const concave *c, double t)
{
    return t * (c->total - t);
}

/* increment = NULL means the difference, which is exact for whole numbers. */
static const struct form {
    double (*value)(const concave *c, double t);
    double (*increment)(const concave *c, double t, double step);
    bool whole; /* only without weights */
} forms[] = {
    [SUBMOD_CONCAVE_SQRT] = {sqrt_value, sqrt_increment, false},
    [SUBMOD_CONCAVE_LOG1P] = {log1p_value, log1p_increment, false},
    [SUBMOD_CONCAVE_MIN] = {min_value, min_increment, false},
    [SUBMOD_CONCAVE_POWER] = {power_value, power_increment, false},
    [SUBMOD_CONCAVE_POINTS] = {points_value, points_increment, false},
    [SUBMOD_CONCAVE_CUSTOM] = {NULL, NULL, false},
    [SUBMOD_CONCAVE_ALL_OR_NOTHING] = {all_or_nothing, NULL, true},
    [SUBMOD_CONCAVE_SMALL_SIDE] = {small_side, NULL, true},
    [SUBMOD_CONCAVE_PRODUCT] = {product, NULL, true},
    [SUBMOD_CONCAVE_CLIQUE] = {product, NULL, true},
};

static submod_status call_value(const submod_concave *g, double t, double *value)
{
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

static submod_status value_at(const concave *c, double t, double *value)
{
    const struct form *form = &forms[c->g.kind];
    if (!form->value) {
        return call_value(&c->g, t, value);
    }
    *value = form->value(c, t);
    return SUBMOD_OK;
}

static submod_status increment_at(const concave *c, double t, double step, double *increment)
{
    const struct form *form = &forms[c->g.kind];
    if (form->increment) {
        *increment = form->increment(c, t, step);
        return SUBMOD_OK;
    }
    double before, after;
    TRY(value_at(c, t, &before));
    TRY(value_at(c, t + step, &after));
    *increment = after - before;
    return SUBMOD_OK;
}

/* ---- callbacks ---- */

static double weight_of(const concave *c, int32_t e)
{
    return c->w ? c->w[e] : 1;
}

static double sum_weights(const concave *c, const int32_t *set, size_t k)
{
    double sum = c->w ? 0 : (double)k;
    for (size_t i = 0; c->w && i < k; i++) {
        sum += c->w[set[i]];
    }
    return sum;
}

static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const concave *c = ctx;
    return value_at(c, sum_weights(c, set, k), value);
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
    return increment_at(c, *(double *)state, c->w[e], result);
}

static submod_status chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                           double *gains)
{
    const concave *c = ctx;
    double *t = state;
    for (size_t i = 0; i < k; i++) {
        TRY(increment_at(c, *t, c->w[elements[i]], &gains[i]));
        *t += c->w[elements[i]];
    }
    return SUBMOD_OK;
}

/* ---- callbacks without weights ---- */

static const double *increments_from(const concave *c, double size)
{
    return c->table + c->n + 1 + (size_t)size;
}

static submod_status cardinality_eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const concave *c = ctx;
    (void)set;
    *value = c->table[k];
    return SUBMOD_OK;
}

static submod_status cardinality_gain(const void *ctx, void *state, int32_t e, double *result)
{
    (void)e;
    *result = *increments_from(ctx, *(double *)state);
    return SUBMOD_OK;
}

static submod_status cardinality_chain(const void *ctx, void *state, const int32_t *elements,
                                       size_t k, double *gains)
{
    double *size = state;
    (void)elements;
    memcpy(gains, increments_from(ctx, *size), k * sizeof *gains);
    *size += (double)k;
    return SUBMOD_OK;
}

/* Adds increments: differences of g would cancel. */
static submod_status cardinality_tied(const void *ctx, void *state, const int32_t *elements,
                                      size_t k, double *gains)
{
    double sum = 0;
    cardinality_chain(ctx, state, elements, k, gains);
    for (size_t i = 0; i < k; i++) {
        sum += gains[i];
    }
    for (size_t i = 0; i < k; i++) {
        gains[i] = sum / (double)k;
    }
    return SUBMOD_OK;
}

/* ---- minimize ----
 *
 * Let A minimise g(t + w(A)) - z(A), and let m be a slope of g at t + w(A). Then A also minimises
 * m w(A) - z(A), because g lies below its tangent. So A holds all elements with z > m w and none
 * with z < m w. Along those with z = m w the value is concave, so that all or none of them is best.
 * Hence both the smallest and the largest minimiser are prefixes of the order of z / w, apart from
 * elements with w = 0, which z alone decides. docs/mathematics.md has the details. */

/* Elements of a minor by descending z / w, and the weight of its base. */
typedef struct prefix_search {
    const concave *c;
    double t;
    const int32_t *elements;
    size_t count;
    const double *z;
    double *ratio; /* scratch */
    submodi_sorted sorted;
} prefix_search;

/* How many of the elements with w > 0 are in. */
static submod_status best_prefix(const prefix_search *p, int largest, size_t *best)
{
    double t = p->t, value = 0, lowest = 0;
    double size = 0; /* of the terms of value, to which rounding errors are relative */
    size_t count = 0;
    *best = 0;
    for (size_t rank = 0; rank < p->count; rank++) {
        int32_t i = submodi_sorted_index(&p->sorted, rank);
        double increment, w = weight_of(p->c, p->elements[i]);
        if (w == 0) {
            continue;
        }
        if (p->c->w) {
            TRY(increment_at(p->c, t, w, &increment));
        } else {
            increment = *increments_from(p->c, t);
        }
        t += w;
        value += increment - p->z[i];
        size += fabs(increment) + fabs(p->z[i]);
        count++;
        double margin = SUBMODI_ROUNDING * size;
        if (largest ? value <= lowest + margin : value < lowest - margin) {
            lowest = fmin(lowest, value);
            *best = count;
        }
    }
    return SUBMOD_OK;
}

static submod_status minimize_sorted(const prefix_search *p, int largest, uint8_t *in)
{
    size_t best;
    TRY(best_prefix(p, largest, &best));
    for (size_t rank = 0; rank < p->count; rank++) {
        int32_t i = submodi_sorted_index(&p->sorted, rank);
        bool weighs = weight_of(p->c, p->elements[i]) > 0;
        in[i] = weighs ? best > 0 : largest ? p->z[i] >= 0 : p->z[i] > 0;
        best -= weighs && best > 0;
    }
    return SUBMOD_OK;
}

/* smallest or largest may be NULL. */
static submod_status minimize_after(prefix_search *p, uint8_t *smallest, uint8_t *largest,
                                    submod_work *work)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    for (size_t i = 0; p->c->w && i < p->count; i++) {
        double weight = p->c->w[p->elements[i]];
        p->ratio[i] = weight > 0 ? p->z[i] / weight : 0;
    }
    submod_status status =
        submodi_sort_f64(p->c->w ? p->ratio : p->z, p->count, w, &p->sorted) == SUBMOD_OK
            ? SUBMOD_OK
            : submodi_out_of_memory();
    if (status == SUBMOD_OK && smallest) {
        status = minimize_sorted(p, 0, smallest);
    }
    if (status == SUBMOD_OK && largest) {
        status = minimize_sorted(p, 1, largest);
    }
    submodi_scope_close(&scope);
    return status;
}

static submod_status minimize(const void *ctx, const submod_minor *minor, const double *z,
                              uint8_t *smallest, uint8_t *largest, double *s)
{
    const concave *c = ctx;
    (void)s;
    if (!minor->nground) {
        return SUBMOD_OK;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    prefix_search p = {.c = c,
                       .t = sum_weights(c, minor->base, minor->nbase),
                       .elements = minor->ground,
                       .count = minor->nground,
                       .z = z,
                       .ratio = submodi_work_alloc(w, c->w ? minor->nground : 0, sizeof *p.ratio)};
    submod_status status = submodi_work_status(w);
    status = status ? status : minimize_after(&p, smallest, largest, w);
    submodi_scope_close(&scope);
    return status;
}

static submod_status minimize_parts(const void *ctx, const int32_t *order, const int32_t *rank,
                                    const submodi_part *parts, size_t nparts, const double *z,
                                    uint8_t *in)
{
    const concave *c = ctx;
    (void)rank;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    prefix_search p = {.c = c, .ratio = submodi_work_alloc(w, c->n, sizeof *p.ratio)};
    submod_status status = submodi_work_status(w);
    size_t done = 0; /* p.t is the weight of all before it */
    for (size_t j = 0; status == SUBMOD_OK && j < nparts; j++) {
        size_t begin = parts[j].begin;
        p.t += sum_weights(c, order + done, begin - done);
        done = begin;
        p.elements = order + begin;
        p.count = parts[j].end - begin;
        p.z = z + begin;
        status = minimize_after(&p, in + begin, NULL, w);
    }
    submodi_scope_close(&scope);
    return status;
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

/* Requires that the slopes do not ascend, up to the rounding of numbers as large as the largest of
 * g. */
static submod_status check_slopes(const submod_concave *g)
{
    double rounding = 4 * DBL_EPSILON * submodi_largest(g->g, g->count);
    double before = INFINITY, allowed_before = 0;
    for (size_t i = 0; i + 1 < g->count; i++) {
        double after = slope(g, i), allowed = rounding / (g->t[i + 1] - g->t[i]);
        if (!isfinite(after)) {
            return submodi_fail(SUBMOD_ENUMERIC, "the slope to g[%zu] overflows", i + 1);
        }
        if (!(after - before <= allowed_before + allowed)) {
            return submodi_fail(SUBMOD_EINVAL,
                                "g must be concave, but its slope is %g up to t[%zu], then %g",
                                before, i, after);
        }
        before = after;
        allowed_before = allowed;
    }
    return SUBMOD_OK;
}

static submod_status check_points(const submod_concave *g)
{
    TRY(submodi_check_given("g", g->g));
    if (g->count < 2) {
        return submodi_fail(SUBMOD_EINVAL, "count = %zu must be at least 2", g->count);
    }
    TRY(submodi_check_finite("g", g->g, g->count));
    if (!g->t) {
        return SUBMOD_OK;
    }
    TRY(submodi_check_finite("t", g->t, g->count));
    if (g->t[0] != 0) {
        return submodi_fail(SUBMOD_EINVAL, "t[0] = %g must be 0", g->t[0]);
    }
    for (size_t i = 1; i < g->count; i++) {
        if (!(g->t[i] > g->t[i - 1])) {
            return submodi_fail(SUBMOD_EINVAL, "t[%zu] = %g must be > t[%zu] = %g", i, g->t[i],
                                i - 1, g->t[i - 1]);
        }
    }
    return SUBMOD_OK;
}

submod_status submodi_check_concave(const submod_concave *g, const char *name, const double *weight)
{
    TRY(submodi_check_given("concave", g));
    if ((int)g->kind < 0 || (size_t)g->kind >= sizeof forms / sizeof *forms) {
        return submodi_fail(SUBMOD_EINVAL, "kind = %d is unknown; see submod_concave_kind",
                            (int)g->kind);
    }
    TRY(check_parameter(g));
    TRY(g->kind == SUBMOD_CONCAVE_POINTS ? check_points(g) : SUBMOD_OK);
    if (g->kind == SUBMOD_CONCAVE_CUSTOM && !g->value) {
        return submodi_fail(SUBMOD_EINVAL, "value is NULL, but it defines g");
    }
    return weight && forms[g->kind].whole
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
static submod_status copy_points(submod_concave *g, double *to)
{
    for (size_t i = 0; i < g->count; i++) {
        to[i] = g->t ? g->t[i] : (double)i;
        to[g->count + i] = g->g[i];
    }
    g->t = to;
    g->g = to + g->count;
    return check_slopes(g);
}

/* No t is infinite if twice the sum is not. */
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

static submod_status fill_table(concave *c)
{
    c->table = c->numbers;
    for (size_t k = 0; k <= c->n; k++) {
        TRY(value_at(c, (double)k, &c->numbers[k]));
    }
    for (size_t k = 0; k < c->n; k++) {
        if (c->g.kind == SUBMOD_CONCAVE_CUSTOM) {
            c->numbers[c->n + 1 + k] = c->table[k + 1] - c->table[k];
        } else {
            TRY(increment_at(c, (double)k, 1, &c->numbers[c->n + 1 + k]));
        }
    }
    return SUBMOD_OK;
}

/* Copies everything but the custom destroy: until the function is made, ctx is the caller's. */
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
    TRY(points ? copy_points(&c->g, c->numbers + numbers) : SUBMOD_OK);
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
    submod_fn f = {.ops = {.name = "concave",
                           .eval = eval,
                           .state_size = sizeof(double),
                           .reset = reset,
                           .gain = gain,
                           .chain = chain,
                           .minimize = minimize,
                           .destroy = destroy},
                   .kind = SUBMODI_CONCAVE,
                   .cardinality = !weight || all_equal(weight, n),
                   .calls_user_code = g->kind == SUBMOD_CONCAVE_CUSTOM,
                   .minimize_parts = minimize_parts,
                   .ctx = c,
                   .n = n};
    if (!weight) {
        f.ops.name = "cardinality";
        f.ops.eval = cardinality_eval;
        f.ops.gain = cardinality_gain;
        f.ops.chain = cardinality_chain;
        f.ops.tied = cardinality_tied;
    }
    TRY(submodi_fn_new(&f, fn));
    c->g.destroy = g->destroy; /* only now ctx belongs to the handle */
    return SUBMOD_OK;
}

submod_status submod_fn_concave(size_t n, const double *weight, const submod_concave *g,
                                submod_fn **fn)
{
    return submodi_return("submod_fn_concave", make(n, weight, g, fn));
}
