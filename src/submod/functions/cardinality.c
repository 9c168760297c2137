/* Concave functions of the cardinality: F(A) = h(|A|), h(0) = 0.
 *
 * eval O(1); push, gain O(1); chain O(k); tied O(k); minimize O(k log k). State: |A|.
 * The increments h(k + 1) - h(k) are tabulated too, in closed form where there is one (shape.c).
 */
#include <float.h>
#include <math.h>

#include "base/internal.h"
#include "base/sort.h"
#include "base/sums_loops.h"
#include "submod/functions/cardinality.h"

typedef struct cardinality {
    size_t n;
    double table[]; /* h(0), .., h(n), then the n increments */
} cardinality;

static const double *increments(const cardinality *c)
{
    return c->table + c->n + 1;
}

static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const cardinality *c = ctx;
    (void)set;
    *value = c->table[k];
    return SUBMOD_OK;
}

static submod_status reset(const void *ctx, void *state)
{
    (void)ctx;
    *(size_t *)state = 0;
    return SUBMOD_OK;
}

static submod_status gain(const void *ctx, void *state, int32_t e, double *result)
{
    (void)e;
    *result = increments(ctx)[*(size_t *)state];
    return SUBMOD_OK;
}

static submod_status chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                           double *gains)
{
    size_t *size = state;
    (void)elements;
    for (size_t i = 0; i < k; i++) {
        gains[i] = increments(ctx)[*size + i];
    }
    *size += k;
    return SUBMOD_OK;
}

static submod_status tied(const void *ctx, void *state, const int32_t *elements, size_t k,
                          double *gains)
{
    const cardinality *c = ctx;
    size_t *size = state;
    (void)elements;
    double sum = 0; /* of increments: differences of h would cancel */
    for (size_t i = 0; i < k; i++) {
        sum += increments(c)[*size + i];
    }
    for (size_t i = 0; i < k; i++) {
        gains[i] = sum / (double)k;
    }
    *size += k;
    return SUBMOD_OK;
}

/* The best set of k elements holds the k largest z; one pass finds the best k. */
static submod_status minimize_one(const void *ctx, const int32_t *base, size_t nbase,
                                  const int32_t *block, size_t nblock, const double *z, int largest,
                                  uint8_t *in)
{
    const cardinality *c = ctx;
    (void)base;
    (void)block;
    submodi_scope scope;
    submodi_sorted sorted;
    submod_work *w = submodi_scope_open(&scope, NULL);
    if (nblock && submodi_sort_f64(z, nblock, w, &sorted) != SUBMOD_OK) {
        submodi_scope_close(&scope);
        return submodi_nomem("minimize of a cardinality function");
    }
    double value = 0;
    double lowest = 0;
    double size = 0; /* sum of |step|, to which rounding errors are relative */
    size_t best = 0;
    for (size_t k = 1; k <= nblock; k++) {
        double step = increments(c)[nbase + k - 1] - z[submodi_sorted_index(&sorted, k - 1)];
        value += step;
        size += fabs(step);
        double margin = SUBMODI_ROUNDING * size;
        if (largest ? value <= lowest + margin : value < lowest - margin) {
            lowest = fmin(lowest, value);
            best = k;
        }
    }
    for (size_t rank = 0; rank < nblock; rank++) {
        in[submodi_sorted_index(&sorted, rank)] = rank < best;
    }
    submodi_scope_close(&scope);
    return SUBMOD_OK;
}

static submod_status minimize(const void *ctx, const submod_minor *minor, const double *z,
                              uint8_t *smallest, uint8_t *largest, double *s)
{
    (void)s;
    return submodi_minimize_both(minimize_one, ctx, minor, z, smallest, largest);
}

/* ---- constructors ---- */

/* Allocates the tables, for the caller to fill. */
static submod_status allocate(const char *who, size_t n, submod_fn **fn, cardinality **tables)
{
    submod_status status = submodi_require_size(who, n, fn);
    if (status != SUBMOD_OK) {
        return status;
    }
    *tables = submodi_alloc(sizeof(cardinality) + (2 * n + 1) * sizeof(double), 1);
    if (!*tables) {
        return submodi_nomem(who);
    }
    (*tables)->n = n;
    return SUBMOD_OK;
}

static submod_status finish(const char *name, cardinality *tables, submod_fn **fn)
{
    const submod_fn f = {.ops = {.name = name,
                                 .eval = eval,
                                 .state_size = sizeof(size_t),
                                 .reset = reset,
                                 .gain = gain,
                                 .chain = chain,
                                 .tied = tied,
                                 .minimize = minimize,
                                 .destroy = submodi_free},
                         .kind = SUBMODI_CONCAVE,
                         .cardinality = true,
                         .ctx = tables,
                         .n = tables->n};
    return submodi_fn_new(&f, fn);
}

submod_status submodi_fn_cardinality(const char *who, const char *name, size_t n,
                                     const submodi_shape *h, submod_fn **fn)
{
    cardinality *c;
    submod_status status = allocate(who, n, fn, &c);
    if (status != SUBMOD_OK) {
        return status;
    }
    for (size_t k = 0; k <= n; k++) {
        c->table[k] = h->value(h, (double)k);
    }
    for (size_t k = 0; k < n; k++) {
        c->table[n + 1 + k] = h->rise(h, (double)k, 1);
    }
    return finish(name, c, fn);
}

static submod_status built_in(const char *who, const char *name, size_t n, submod_concave_kind kind,
                              double parameter, submod_fn **fn)
{
    submodi_shape h;
    submod_status status = submodi_shape_built_in(who, kind, parameter, &h);
    return status ? status : submodi_fn_cardinality(who, name, n, &h, fn);
}

submod_status submod_fn_sqrt(size_t n, submod_fn **fn)
{
    return built_in("submod_fn_sqrt", "sqrt", n, SUBMOD_CONCAVE_SQRT, 0, fn);
}

submod_status submod_fn_log1p(size_t n, submod_fn **fn)
{
    return built_in("submod_fn_log1p", "log1p", n, SUBMOD_CONCAVE_LOG1P, 0, fn);
}

submod_status submod_fn_truncation(size_t n, size_t c, submod_fn **fn)
{
    return built_in("submod_fn_truncation", "truncation", n, SUBMOD_CONCAVE_MIN, (double)c, fn);
}

/* Requires that h is concave, up to the rounding of numbers as large as its largest. */
static submod_status require_concave(const char *who, const double *h, size_t n)
{
    double largest = submodi_largest(h, n + 1);
    for (size_t k = 1; k < n; k++) {
        double excess = (h[k + 1] - h[k]) - (h[k] - h[k - 1]);
        if (!(excess <= 4 * DBL_EPSILON * largest)) {
            return submodi_fail(SUBMOD_EINVAL,
                                "%s: h must be concave, but it grows by %g to h[%zu], then by %g",
                                who, h[k] - h[k - 1], k, h[k + 1] - h[k]);
        }
    }
    return SUBMOD_OK;
}

submod_status submod_fn_cardinality(size_t n, const double *h, submod_fn **fn)
{
    static const char who[] = "submod_fn_cardinality";
    submod_status status = submodi_require_size(who, n, fn);
    status = status ? status : submodi_require_given(who, "h", h);
    status = status ? status : submodi_require_finite(who, "h", h, n + 1);
    if (status == SUBMOD_OK && h[0] != 0) {
        status = submodi_fail(SUBMOD_EINVAL, "%s: h[0] = %g must be 0", who, h[0]);
    }
    status = status ? status : require_concave(who, h, n);
    cardinality *c = NULL;
    status = status ? status : allocate(who, n, fn, &c);
    if (status != SUBMOD_OK) {
        return status;
    }
    for (size_t k = 0; k <= n; k++) {
        c->table[k] = h[k];
    }
    for (size_t k = 0; k < n; k++) {
        c->table[n + 1 + k] = h[k + 1] - h[k];
    }
    return finish("cardinality", c, fn);
}
