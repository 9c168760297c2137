/* Sums with coefficients >= 0: F = sum of c_i F_i. Scaling is a sum with one term. An F_i that is a
 * sum itself is taken apart into its terms.
 *
 * eval, push, gain and chain cost as much as those of all terms together. State: the states of the
 * terms, one after the other, and n doubles.
 * The base polytope of a sum is the sum of the base polytopes, so gains add up, also when they are
 * averaged over ties.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "submod/handle.h"

typedef struct term {
    submod_fn *fn;
    double coefficient;
    size_t state_at; /* offset of its state */
} term;

typedef struct sum {
    size_t count;
    size_t scratch_at; /* offset of room for n gains in the state */
    term terms[];
} sum;

static void destroy(void *ctx)
{
    sum *s = ctx;
    for (size_t i = 0; i < s->count; i++) {
        submod_fn_free(s->terms[i].fn);
    }
    submodi_free(s);
}

static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const sum *s = ctx;
    double total = 0;
    for (size_t i = 0; i < s->count; i++) {
        double v;
        submod_status status = submodi_fn_eval(s->terms[i].fn, set, k, &v);
        if (status != SUBMOD_OK) {
            return status;
        }
        total += s->terms[i].coefficient * v;
    }
    *value = total;
    return SUBMOD_OK;
}

static submod_status reset(const void *ctx, void *state)
{
    const sum *s = ctx;
    submod_status status = SUBMOD_OK;
    for (size_t i = 0; status == SUBMOD_OK && i < s->count; i++) {
        status = submodi_fn_reset(s->terms[i].fn, (char *)state + s->terms[i].state_at);
    }
    return status;
}

/* submodi_fn_push or submodi_fn_gain: one number of each term. */
typedef submod_status one_call(const submod_fn *fn, void *state, int32_t e, double *gain);

static submod_status add_up(const sum *s, void *state, int32_t e, one_call *call, double *result)
{
    double total = 0;
    for (size_t i = 0; i < s->count; i++) {
        double g;
        submod_status status = call(s->terms[i].fn, (char *)state + s->terms[i].state_at, e, &g);
        if (status != SUBMOD_OK) {
            return status;
        }
        total += s->terms[i].coefficient * g;
    }
    *result = total;
    return SUBMOD_OK;
}

static submod_status push(const void *ctx, void *state, int32_t e, double *gain)
{
    return add_up(ctx, state, e, submodi_fn_push, gain);
}

static submod_status gain(const void *ctx, void *state, int32_t e, double *result)
{
    return add_up(ctx, state, e, submodi_fn_gain, result);
}

/* submodi_fn_chain or submodi_fn_tied: the gains of a block. */
typedef submod_status block_call(const submod_fn *fn, void *state, const int32_t *elements,
                                 size_t k, double *gains);

static submod_status add_up_block(const sum *s, void *state, const int32_t *elements, size_t k,
                                  block_call *call, double *gains)
{
    double *g = (void *)((char *)state + s->scratch_at);
    submod_status status = SUBMOD_OK;
    memset(gains, 0, k * sizeof *gains);
    for (size_t i = 0; status == SUBMOD_OK && i < s->count; i++) {
        status = call(s->terms[i].fn, (char *)state + s->terms[i].state_at, elements, k, g);
        for (size_t j = 0; status == SUBMOD_OK && j < k; j++) {
            gains[j] += s->terms[i].coefficient * g[j];
        }
    }
    return status;
}

static submod_status chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                           double *gains)
{
    return add_up_block(ctx, state, elements, k, submodi_fn_chain, gains);
}

static submod_status tied(const void *ctx, void *state, const int32_t *elements, size_t k,
                          double *gains)
{
    return add_up_block(ctx, state, elements, k, submodi_fn_tied, gains);
}

/* For a sum with one term: c F - z has the same minimisers as F - z / c. */
static submod_status minimize_scaled(const void *ctx, const int32_t *base, size_t nbase,
                                     const int32_t *block, size_t nblock, const double *z,
                                     int largest, uint8_t *in)
{
    const term *t = &((const sum *)ctx)->terms[0];
    if (t->coefficient == 0) {
        for (size_t i = 0; i < nblock; i++) {
            in[i] = largest ? z[i] >= 0 : z[i] > 0;
        }
        return SUBMOD_OK;
    }
    double *scaled = submodi_alloc(nblock, sizeof *scaled);
    if (!scaled) {
        return submodi_nomem("minimize of a scaled function");
    }
    for (size_t i = 0; i < nblock; i++) {
        scaled[i] = z[i] / t->coefficient;
    }
    submod_status status =
        submodi_all_finite(scaled, nblock)
            ? submodi_fn_minimize(t->fn, base, nbase, block, nblock, scaled, largest, in)
            : submodi_fail(SUBMOD_ENUMERIC, "minimize of a scaled function: z / c overflows");
    submodi_free(scaled);
    return status;
}

static submod_status minimize_scaled_parts(const void *ctx, const int32_t *order,
                                           const int32_t *rank, const submodi_part *parts,
                                           size_t nparts, const double *z, uint8_t *in)
{
    static const char who[] = "minimize of a scaled function";
    const term *t = &((const sum *)ctx)->terms[0];
    double *scaled = submodi_alloc(t->fn->n, sizeof *scaled);
    if (!scaled) {
        return submodi_nomem(who);
    }
    bool finite = true;
    for (size_t j = 0; j < nparts; j++) {
        for (size_t i = parts[j].begin; i < parts[j].end; i++) {
            scaled[i] = z[i] / t->coefficient;
            finite &= (bool)isfinite(scaled[i]);
        }
    }
    submod_status status =
        finite ? submodi_fn_minimize_parts(t->fn, order, rank, parts, nparts, scaled, in)
               : submodi_fail(SUBMOD_ENUMERIC, "%s: z / c overflows", who);
    submodi_free(scaled);
    return status;
}

/* A base of F - z / c, times c, is one of c F - z. */
static submod_status minimum_scaled(const void *ctx, const double *z, uint8_t *smallest,
                                    uint8_t *largest, double *base, double *size, submod_work *work)
{
    static const char who[] = "minimum of a scaled function";
    const term *t = &((const sum *)ctx)->terms[0];
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    double *scaled = submodi_take(w, t->fn->n, sizeof *scaled);
    submod_status status = scaled ? SUBMOD_OK : submodi_nomem(who);
    for (size_t i = 0; scaled && i < t->fn->n; i++) {
        scaled[i] = z[i] / t->coefficient;
    }
    if (status == SUBMOD_OK && !submodi_all_finite(scaled, t->fn->n)) {
        status = submodi_fail(SUBMOD_ENUMERIC, "%s: z / c overflows", who);
    }
    status = status ? status
                    : t->fn->traits.minimum(t->fn->ctx, scaled, smallest, largest, base, size, w);
    for (size_t i = 0; status == SUBMOD_OK && base && i < t->fn->n; i++) {
        base[i] *= t->coefficient;
    }
    *size *= t->coefficient;
    submodi_scope_close(&scope);
    return status;
}

static submod_status require_terms(const char *who, submod_fn *const *f, const double *coefficient,
                                   size_t count)
{
    if (!f || count == 0) {
        return submodi_fail(SUBMOD_EINVAL, "%s: f is NULL or count = 0: a sum needs functions",
                            who);
    }
    for (size_t i = 0; i < count; i++) {
        if (!f[i]) {
            return submodi_fail(SUBMOD_EINVAL, "%s: f[%zu] is NULL", who, i);
        }
        if (f[i]->n != f[0]->n) {
            return submodi_fail(SUBMOD_EINVAL, "%s: f[%zu] has %zu elements, but f[0] has %zu", who,
                                i, f[i]->n, f[0]->n);
        }
    }
    return coefficient ? submodi_require_nonnegative(who, "coefficient", coefficient, count)
                       : SUBMOD_OK;
}

/* ---- from functions to terms ---- */

/* A sum with more terms than this is not taken apart when it becomes a term itself. Otherwise a sum
 * that grows term by term would copy n^2 of them. */
enum { MOST_TAKEN_APART = 1024 };

static const sum *sum_inside(const submod_fn *f)
{
    return f->ops.eval == eval ? f->ctx : NULL;
}

/* Whether f is a sum, not too large, whose coefficients can be multiplied by c: no product may
 * overflow or become subnormal. */
static bool comes_apart(const submod_fn *f, double c)
{
    const sum *s = sum_inside(f);
    bool apart = s && s->count <= MOST_TAKEN_APART;
    for (size_t i = 0; apart && i < s->count; i++) {
        double product = c * s->terms[i].coefficient;
        apart = isnormal(product) || c == 0 || s->terms[i].coefficient == 0;
    }
    return apart;
}

/* Appends c f to s; shares f. False: the size of all states together overflows. */
static bool append(sum *s, submod_fn *f, double c, size_t *bytes)
{
    s->terms[s->count++] = (term){.fn = submod_fn_share(f), .coefficient = c, .state_at = *bytes};
    return submodi_add_size(bytes, submodi_fn_state_size(f), 1);
}

/* All terms; sums among the functions are taken apart. NULL: out of memory. */
static sum *collect(submod_fn *const *f, const double *coefficient, size_t count, size_t *bytes)
{
    size_t terms = 0;
    for (size_t i = 0; i < count; i++) { /* no overflow: at most 1024 per pointer */
        terms += comes_apart(f[i], coefficient ? coefficient[i] : 1) ? sum_inside(f[i])->count : 1;
    }
    size_t size = submodi_times(terms, sizeof(term));
    sum *s = size < SIZE_MAX / 2 ? submodi_alloc(sizeof *s + size, 1) : NULL;
    bool fits = s != NULL;
    if (s) {
        s->count = 0;
    }
    for (size_t i = 0; fits && i < count; i++) {
        double c = coefficient ? coefficient[i] : 1;
        const sum *inside = comes_apart(f[i], c) ? sum_inside(f[i]) : NULL;
        for (size_t k = 0; fits && inside && k < inside->count; k++) {
            fits = append(s, inside->terms[k].fn, c * inside->terms[k].coefficient, bytes);
        }
        fits = fits && (inside || append(s, f[i], c, bytes));
    }
    if (s && fits) {
        s->scratch_at = *bytes;
        fits = submodi_add_size(bytes, f[0]->n, sizeof(double)) && *bytes <= SIZE_MAX / 8;
    }
    if (s && !fits) {
        destroy(s);
    }
    return fits ? s : NULL;
}

/* What the terms have in common; depth is that of the deepest. */
static submodi_traits common_traits(const sum *s, bool *all_tied)
{
    submodi_traits t = {.modular = true, .cardinality = true};
    *all_tied = true;
    for (size_t i = 0; i < s->count; i++) {
        const submod_fn *f = s->terms[i].fn;
        *all_tied = *all_tied && f->ops.tied;
        t.modular = t.modular && f->traits.modular;
        t.cardinality = t.cardinality && f->traits.cardinality;
        t.depth = f->traits.depth > t.depth ? f->traits.depth : t.depth;
    }
    return t;
}

static submod_status new_sum(const char *who, const char *name, submod_fn *const *f,
                             const double *coefficient, size_t count, submod_fn **fn)
{
    submod_status status = require_terms(who, f, coefficient, count);
    status = status ? status : submodi_require_size(who, f[0]->n, fn);
    if (status != SUBMOD_OK) {
        return status;
    }
    size_t bytes = 0;
    sum *s = collect(f, coefficient, count, &bytes);
    if (!s) {
        return submodi_nomem(who);
    }
    bool all_tied;
    submodi_traits traits = common_traits(s, &all_tied);
    status = submodi_require_depth(who, traits.depth);
    if (status != SUBMOD_OK) {
        destroy(s);
        return status;
    }
    const term *only = s->count == 1 ? s->terms : NULL;
    submod_fn_ops ops = {.eval = eval,
                         .state_size = bytes,
                         .reset = reset,
                         .push = push,
                         .gain = gain,
                         .chain = chain,
                         .tied = all_tied ? tied : NULL,
                         .minimize = only && only->fn->ops.minimize ? minimize_scaled : NULL,
                         .destroy = destroy};
    bool by_parts = only && only->coefficient > 0 && only->fn->traits.minimize_parts;
    traits.minimize_parts = by_parts ? minimize_scaled_parts : NULL;
    traits.minimum =
        only && only->coefficient > 0 && only->fn->traits.minimum ? minimum_scaled : NULL;
    traits.depth++;
    return submodi_fn_new(name, f[0]->n, &ops, &traits, s, fn);
}

submod_status submod_fn_sum(submod_fn *const *f, const double *coefficient, size_t count,
                            submod_fn **fn)
{
    return new_sum("submod_fn_sum", "sum", f, coefficient, count, fn);
}

submod_status submod_fn_scale(const submod_fn *f, double c, submod_fn **fn)
{
    submod_fn *const only = (submod_fn *)f; /* only the count of owners changes */
    return new_sum("submod_fn_scale", "scale", &only, &c, 1, fn);
}
