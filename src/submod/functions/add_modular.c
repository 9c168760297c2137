/* F plus a modular function: A -> F(A) + sum of w over A.
 *
 * Costs and state are those of F. Every gain of e grows by w(e), in any order, tied or not.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "submod/functions/add_modular.h"
#include "submod/inseparable.h"

typedef struct shifted {
    submod_fn *fn;
    double w[];
} shifted;

static void destroy(void *ctx)
{
    shifted *s = ctx;
    submod_fn_free(s->fn);
    submodi_free(s);
}

static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const shifted *s = ctx;
    submod_status status = submodi_fn_eval(s->fn, set, k, value);
    for (size_t i = 0; status == SUBMOD_OK && i < k; i++) {
        *value += s->w[set[i]];
    }
    return status;
}

static submod_status reset(const void *ctx, void *state)
{
    return submodi_fn_reset(((const shifted *)ctx)->fn, state);
}

/* Adds w to the gains that F gave. */
static submod_status shift(const shifted *s, submod_status status, const int32_t *elements,
                           size_t k, double *gains)
{
    for (size_t i = 0; status == SUBMOD_OK && i < k; i++) {
        gains[i] += s->w[elements[i]];
    }
    return status;
}

static submod_status push(const void *ctx, void *state, int32_t e, double *gain)
{
    const shifted *s = ctx;
    return shift(s, submodi_fn_push(s->fn, state, e, gain), &e, 1, gain);
}

static submod_status gain(const void *ctx, void *state, int32_t e, double *result)
{
    const shifted *s = ctx;
    return shift(s, submodi_fn_gain(s->fn, state, e, result), &e, 1, result);
}

static submod_status chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                           double *gains)
{
    const shifted *s = ctx;
    return shift(s, submodi_fn_chain(s->fn, state, elements, k, gains), elements, k, gains);
}

static submod_status tied(const void *ctx, void *state, const int32_t *elements, size_t k,
                          double *gains)
{
    const shifted *s = ctx;
    return shift(s, submodi_fn_tied(s->fn, state, elements, k, gains), elements, k, gains);
}

/* F + w - z = F - (z - w). */
static submod_status minimize(const void *ctx, const int32_t *base, size_t nbase,
                              const int32_t *block, size_t nblock, const double *z, int largest,
                              uint8_t *in)
{
    static const char who[] = "minimize of a function plus a modular one";
    const shifted *s = ctx;
    double *rest = submodi_alloc(nblock, sizeof *rest);
    if (!rest) {
        return submodi_nomem(who);
    }
    for (size_t i = 0; i < nblock; i++) {
        rest[i] = z[i] - s->w[block[i]];
    }
    submod_status status =
        submodi_all_finite(rest, nblock)
            ? submodi_fn_minimize(s->fn, base, nbase, block, nblock, rest, largest, in)
            : submodi_fail(SUBMOD_ENUMERIC, "%s: z - w overflows", who);
    submodi_free(rest);
    return status;
}

static submod_status minimize_parts(const void *ctx, const int32_t *order, const int32_t *rank,
                                    const submodi_part *parts, size_t nparts, const double *z,
                                    uint8_t *in)
{
    static const char who[] = "minimize of a function plus a modular one";
    const shifted *s = ctx;
    double *rest = submodi_alloc(s->fn->n, sizeof *rest);
    if (!rest) {
        return submodi_nomem(who);
    }
    bool finite = true;
    for (size_t j = 0; j < nparts; j++) {
        for (size_t i = parts[j].begin; i < parts[j].end; i++) {
            rest[i] = z[i] - s->w[order[i]];
            finite &= (bool)isfinite(rest[i]);
        }
    }
    submod_status status =
        finite ? submodi_fn_minimize_parts(s->fn, order, rank, parts, nparts, rest, in)
               : submodi_fail(SUBMOD_ENUMERIC, "%s: z - w overflows", who);
    submodi_free(rest);
    return status;
}

static submod_status minors(const void *ctx, const int32_t *order, const submodi_part *parts,
                            size_t nparts, submod_fn **fns)
{
    static const char who[] = "minors of a function plus a modular one";
    const shifted *s = ctx;
    submodi_scope scope;
    submod_work *work = submodi_scope_open(&scope, NULL);
    submod_fn **plain = submodi_take(work, nparts, sizeof(submod_fn *));
    double *w = submodi_take(work, s->fn->n, sizeof *w);
    submod_status status =
        plain && w ? submodi_fn_minors(s->fn, order, parts, nparts, plain) : submodi_nomem(who);
    size_t count = status == SUBMOD_OK ? nparts : 0;
    for (size_t j = 0; status == SUBMOD_OK && j < nparts; j++) {
        for (size_t i = parts[j].begin; i < parts[j].end; i++) {
            w[i] = s->w[order[i]];
        }
        status = submod_fn_add_modular(plain[j], w + parts[j].begin, &fns[j]);
    }
    submodi_fn_free_all(plain, count);
    submodi_scope_close(&scope);
    return status;
}

static submod_status minimum(const void *ctx, const double *z, uint8_t *smallest, uint8_t *largest,
                             double *base, double *size, submod_work *work)
{
    static const char who[] = "minimum of a function plus a modular one";
    const shifted *s = ctx;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    double *rest = submodi_take(w, s->fn->n, sizeof *rest);
    submod_status status = rest ? SUBMOD_OK : submodi_nomem(who);
    for (size_t i = 0; rest && i < s->fn->n; i++) {
        rest[i] = z[i] - s->w[i];
    }
    if (status == SUBMOD_OK && !submodi_all_finite(rest, s->fn->n)) {
        status = submodi_fail(SUBMOD_ENUMERIC, "%s: z - w overflows", who);
    }
    status =
        status ? status : s->fn->traits.minimum(s->fn->ctx, rest, smallest, largest, base, size, w);
    submodi_scope_close(&scope);
    return status;
}

static submod_status join(const void *ctx, const submodi_ties *ties, int32_t *forest,
                          submod_work *work)
{
    return submodi_fn_join(((const shifted *)ctx)->fn, ties, forest, work);
}

const submod_fn *submodi_without_modular(const submod_fn *fn, const double **w)
{
    if (fn->ops.eval != eval) {
        return NULL;
    }
    const shifted *s = fn->ctx;
    *w = s->w;
    return s->fn;
}

/* sum = w plus the weights that `inner` adds already; false: it overflows. */
static bool merge(const shifted *inner, const double *w, double *sum)
{
    for (size_t i = 0; i < inner->fn->n; i++) {
        sum[i] = w[i] + inner->w[i];
    }
    return submodi_all_finite(sum, inner->fn->n);
}

submod_status submod_fn_add_modular(const submod_fn *f, const double *w, submod_fn **fn)
{
    static const char who[] = "submod_fn_add_modular";
    submod_status status = submodi_require_given(who, "f", f);
    status = status ? status : submodi_require_given(who, "w", w);
    status = status ? status : submodi_require_size(who, f->n, fn);
    status = status ? status : submodi_require_finite(who, "w", w, f->n);
    if (status != SUBMOD_OK) {
        return status;
    }
    shifted *s = submodi_alloc(sizeof *s + f->n * sizeof *s->w, 1);
    if (!s) {
        return submodi_nomem(who);
    }
    const shifted *inner = f->ops.eval == eval ? f->ctx : NULL;
    if (inner && merge(inner, w, s->w)) {
        f = inner->fn;
    } else {
        memcpy(s->w, w, f->n * sizeof *w);
        status = submodi_require_depth(who, f->traits.depth);
    }
    if (status != SUBMOD_OK) {
        submodi_free(s);
        return status;
    }
    s->fn = submod_fn_share(f);
    submod_fn_ops ops = {.eval = eval,
                         .state_size = submodi_fn_state_size(f),
                         .reset = reset,
                         .push = push,
                         .gain = gain,
                         .chain = chain,
                         .tied = f->ops.tied ? tied : NULL,
                         .minimize = f->ops.minimize ? minimize : NULL,
                         .destroy = destroy};
    submodi_traits traits = f->traits;
    traits.depth++;
    traits.join = join;
    traits.minimize_parts = traits.minimize_parts ? minimize_parts : NULL;
    traits.minors = traits.minors ? minors : NULL;
    traits.minimum = traits.minimum ? minimum : NULL;
    return submodi_fn_new("add_modular", f->n, &ops, &traits, s, fn);
}
