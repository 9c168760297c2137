/* Concave of a modular function: F(A) = g(w(A)), w >= 0.
 *
 * eval O(k); push, gain O(1); chain O(k); minimize O(k log k); all times the cost of g (shape.c).
 * State: w(A). Weights that are all equal make it a function of the cardinality, so its prox is one
 * isotonic regression; else it is by decomposition, O(n log n) a sweep.
 */
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "base/sort.h"
#include "submod/fn_internal.h"
#include "submod/functions/shape.h"

typedef struct concave {
    submodi_shape g;
    double w[];
} concave;

static void destroy(void *ctx)
{
    concave *c = ctx;
    submodi_shape_clear(&c->g);
    submodi_free(c);
}

static double weight_of(const concave *c, const int32_t *set, size_t k)
{
    double sum = 0;
    for (size_t i = 0; i < k; i++) {
        sum += c->w[set[i]];
    }
    return sum;
}

static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const concave *c = ctx;
    return submodi_shape_value(&c->g, weight_of(c, set, k), value);
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
    return submodi_shape_rise(&c->g, *(double *)state, c->w[e], result);
}

static submod_status push(const void *ctx, void *state, int32_t e, double *result)
{
    const concave *c = ctx;
    submod_status status = gain(ctx, state, e, result);
    *(double *)state += c->w[e];
    return status;
}

static submod_status chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                           double *gains)
{
    submod_status status = SUBMOD_OK;
    for (size_t i = 0; status == SUBMOD_OK && i < k; i++) {
        status = push(ctx, state, elements[i], &gains[i]);
    }
    return status;
}

/* ---- minimize ----
 *
 * Let A minimise g(t + w(A)) - z(A), and let m be a slope of g at t + w(A). Then A also minimises
 * m w(A) - z(A), because g lies below its tangent. So A holds all elements with z > m w and none
 * with z < m w. Along those with z = m w the value is concave, so that all or none of them is best.
 * Hence both the smallest and the largest minimiser are prefixes of the order of z / w, apart from
 * elements with w = 0, which z alone decides. docs/mathematics.md has the details. */

/* How many of the elements with w > 0, by descending z / w, are in. */
static submod_status best_prefix(const concave *c, double t, const int32_t *block, size_t k,
                                 const double *z, const submodi_sorted *sorted, int largest,
                                 size_t *best)
{
    double value = 0;
    double lowest = 0;
    double size = 0; /* of the terms of value, to which rounding errors are relative */
    size_t count = 0;
    *best = 0;
    for (size_t rank = 0; rank < k; rank++) {
        int32_t i = submodi_sorted_index(sorted, rank);
        double w = c->w[block[i]];
        if (w > 0) {
            double rise;
            submod_status status = submodi_shape_rise(&c->g, t, w, &rise);
            if (status != SUBMOD_OK) {
                return status;
            }
            t += w;
            value += rise - z[i];
            size += fabs(rise) + fabs(z[i]);
            count++;
            double margin = SUBMODI_ROUNDING * size;
            if (largest ? value <= lowest + margin : value < lowest - margin) {
                lowest = fmin(lowest, value);
                *best = count;
            }
        }
    }
    return SUBMOD_OK;
}

/* minimize for a base of weight t. ratio: scratch, k numbers. */
static submod_status minimize_after(const concave *c, double t, const int32_t *block, size_t k,
                                    const double *z, int largest, double *ratio, uint8_t *in,
                                    submod_work *work)
{
    submodi_scope scope;
    submodi_sorted sorted;
    size_t best = 0;
    submod_work *w = submodi_scope_open(&scope, work);
    for (size_t i = 0; i < k; i++) {
        double weight = c->w[block[i]];
        ratio[i] = weight > 0 ? z[i] / weight : 0;
    }
    submod_status status = submodi_sort_f64(ratio, k, w, &sorted) == SUBMOD_OK
                               ? best_prefix(c, t, block, k, z, &sorted, largest, &best)
                               : submodi_nomem("minimize of a concave function");
    for (size_t rank = 0; status == SUBMOD_OK && rank < k; rank++) {
        int32_t i = submodi_sorted_index(&sorted, rank);
        bool weighs = c->w[block[i]] > 0;
        in[i] = weighs ? best > 0 : largest ? z[i] >= 0 : z[i] > 0;
        best -= weighs && best > 0;
    }
    submodi_scope_close(&scope);
    return status;
}

static submod_status minimize_one(const void *ctx, const int32_t *base, size_t nbase,
                                  const int32_t *block, size_t nblock, const double *z, int largest,
                                  uint8_t *in)
{
    const concave *c = ctx;
    if (!nblock) {
        return SUBMOD_OK;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    double *ratio = submodi_take(w, nblock, sizeof *ratio);
    submod_status status = ratio ? minimize_after(c, weight_of(c, base, nbase), block, nblock, z,
                                                  largest, ratio, in, w)
                                 : submodi_nomem("minimize of a concave function");
    submodi_scope_close(&scope);
    return status;
}

static submod_status minimize(const void *ctx, const submod_minor *minor, const double *z,
                              uint8_t *smallest, uint8_t *largest, double *s)
{
    (void)s;
    return submodi_minimize_both(minimize_one, ctx, minor, z, smallest, largest);
}

static submod_status minimize_parts(const void *ctx, const int32_t *order, const int32_t *rank,
                                    const submodi_part *parts, size_t nparts, const double *z,
                                    uint8_t *in)
{
    const concave *c = ctx;
    (void)rank;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    size_t longest = 0;
    for (size_t j = 0; j < nparts; j++) {
        size_t size = parts[j].end - parts[j].begin;
        longest = size > longest ? size : longest;
    }
    double *ratio = submodi_take(w, longest, sizeof *ratio);
    submod_status status = ratio ? SUBMOD_OK : submodi_nomem("minimize of a concave function");
    double t = 0; /* the weight of all before `done` */
    size_t done = 0;
    for (size_t j = 0; status == SUBMOD_OK && j < nparts; j++) {
        size_t begin = parts[j].begin;
        t += weight_of(c, order + done, begin - done);
        done = begin;
        status = minimize_after(c, t, order + begin, parts[j].end - begin, z + begin, 0, ratio,
                                in + begin, w);
    }
    submodi_scope_close(&scope);
    return status;
}

/* ---- constructors ---- */

/* Requires that the weights are >= 0 and that their sum, doubled, is finite, so that no t is not.
 */
static submod_status require_weights(const char *who, size_t n, const double *w)
{
    submod_status status = submodi_require_given(who, "w", w);
    status = status ? status : submodi_require_nonnegative(who, "w", w, n);
    double sum = 0;
    for (size_t i = 0; status == SUBMOD_OK && i < n; i++) {
        sum += w[i];
    }
    return status == SUBMOD_OK && !isfinite(2 * sum)
               ? submodi_fail(SUBMOD_ENUMERIC, "%s: the sum of w overflows", who)
               : status;
}

static bool all_equal(const double *w, size_t n)
{
    bool equal = true;
    for (size_t i = 1; i < n; i++) {
        equal = equal && w[i] == w[0];
    }
    return equal;
}

/* Takes over g, even when it fails. */
static submod_status finish(const char *who, size_t n, const double *w, submodi_shape *g,
                            submod_fn **fn)
{
    concave *c = submodi_alloc(sizeof *c + n * sizeof *c->w, 1);
    if (!c) {
        submodi_shape_clear(g);
        return submodi_nomem(who);
    }
    c->g = *g;
    memcpy(c->w, w, n * sizeof *w);
    const submod_fn f = {.ops = {.name = "concave",
                                 .eval = eval,
                                 .state_size = sizeof(double),
                                 .reset = reset,
                                 .gain = gain,
                                 .chain = chain,
                                 .minimize = minimize,
                                 .destroy = destroy},
                         .kind = SUBMODI_CONCAVE,
                         .cardinality = all_equal(w, n),
                         .minimize_parts = minimize_parts,
                         .ctx = c,
                         .n = n};
    return submodi_fn_new(&f, fn);
}

submod_status submod_fn_concave(size_t n, const double *w, submod_concave_kind kind,
                                double parameter, submod_fn **fn)
{
    static const char who[] = "submod_fn_concave";
    submodi_shape g;
    submod_status status = submodi_require_size(who, n, fn);
    status = status ? status : require_weights(who, n, w);
    status = status ? status : submodi_shape_built_in(who, kind, parameter, &g);
    return status ? status : finish(who, n, w, &g, fn);
}

submod_status submod_fn_concave_points(size_t n, const double *w, size_t count, const double *t,
                                       const double *g, submod_fn **fn)
{
    static const char who[] = "submod_fn_concave_points";
    submodi_shape shape;
    submod_status status = submodi_require_size(who, n, fn);
    status = status ? status : require_weights(who, n, w);
    status = status ? status : submodi_shape_points(who, count, t, g, &shape);
    return status ? status : finish(who, n, w, &shape, fn);
}

submod_status submod_fn_concave_custom(size_t n, const double *w, const submod_concave_ops *ops,
                                       void *ctx, submod_fn **fn)
{
    static const char who[] = "submod_fn_concave_custom";
    submodi_shape g;
    submod_status status = submodi_require_size(who, n, fn);
    status = status ? status : require_weights(who, n, w);
    status = status ? status : submodi_shape_custom(who, ops, ctx, &g);
    status = status ? status : finish(who, n, w, &g, fn);
    if (status == SUBMOD_OK) { /* only now does ctx belong to the handle */
        concave *c = (*fn)->ctx;
        c->g.ops.destroy = ops->destroy;
        (*fn)->calls_user_code = true;
    }
    return status;
}
