/* Restriction and contraction: both are A -> F(S + A) - F(S) for A within a list of elements.
 *
 *   restriction   S empty, the list is the caller's      F itself on fewer elements
 *   contraction   S the caller's, the list is V \ S      F given that S is there already
 *
 * A minor of a minor becomes a minor of the function inside: S and the lists are combined.
 * Costs are those of F on S + A; reset pushes S. State: that of F, and n elements.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "submod/inseparable.h"

typedef struct minor {
    submod_fn *fn;
    size_t n, nbase;
    int32_t *base;     /* S */
    int32_t *original; /* new element -> element of F */
    double base_value; /* F(S); restriction: 0, so that F(empty) is kept as it is */
} minor;

static void destroy(void *ctx)
{
    minor *m = ctx;
    submod_fn_free(m->fn);
    submodi_free(m->base);
    submodi_free(m->original);
    submodi_free(m);
}

/* A list of S, a and b, all as elements of F; the caller frees it. */
static int32_t *translate(const minor *m, const int32_t *a, size_t ka, const int32_t *b, size_t kb)
{
    size_t nbase = m->nbase;
    int32_t *list = submodi_alloc(nbase + ka + kb, sizeof *list);
    if (!list) {
        submodi_nomem("a restricted or contracted function");
        return NULL;
    }
    for (size_t i = 0; i < nbase; i++) {
        list[i] = m->base[i];
    }
    for (size_t i = 0; i < ka; i++) {
        list[nbase + i] = m->original[a[i]];
    }
    for (size_t i = 0; i < kb; i++) {
        list[nbase + ka + i] = m->original[b[i]];
    }
    return list;
}

static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const minor *m = ctx;
    int32_t *list = translate(m, set, k, NULL, 0);
    if (!list) {
        return SUBMOD_ENOMEM;
    }
    submod_status status = submodi_fn_eval(m->fn, list, m->nbase + k, value);
    if (status == SUBMOD_OK) {
        *value -= m->base_value;
    }
    submodi_free(list);
    return status;
}

static submod_status reset(const void *ctx, void *state)
{
    const minor *m = ctx;
    submod_status status = submodi_fn_reset(m->fn, state);
    for (size_t i = 0; status == SUBMOD_OK && i < m->nbase; i++) {
        double unused;
        status = submodi_fn_push(m->fn, state, m->base[i], &unused);
    }
    return status;
}

static submod_status push(const void *ctx, void *state, int32_t e, double *gain)
{
    const minor *m = ctx;
    return submodi_fn_push(m->fn, state, m->original[e], gain);
}

static submod_status gain(const void *ctx, void *state, int32_t e, double *result)
{
    const minor *m = ctx;
    return submodi_fn_gain(m->fn, state, m->original[e], result);
}

/* The elements as elements of F. The list lies behind the state of F, with room for n. */
static const int32_t *translate_into(const minor *m, void *state, const int32_t *elements, size_t k)
{
    int32_t *list = (void *)((char *)state + submodi_fn_state_size(m->fn));
    for (size_t i = 0; i < k; i++) {
        list[i] = m->original[elements[i]];
    }
    return list;
}

static submod_status chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                           double *gains)
{
    const minor *m = ctx;
    return submodi_fn_chain(m->fn, state, translate_into(m, state, elements, k), k, gains);
}

static submod_status tied(const void *ctx, void *state, const int32_t *elements, size_t k,
                          double *gains)
{
    const minor *m = ctx;
    return submodi_fn_tied(m->fn, state, translate_into(m, state, elements, k), k, gains);
}

static submod_status minimize(const void *ctx, const int32_t *base, size_t nbase,
                              const int32_t *block, size_t nblock, const double *z, int largest,
                              uint8_t *in)
{
    const minor *m = ctx;
    int32_t *list = translate(m, base, nbase, block, nblock);
    if (!list) {
        return SUBMOD_ENOMEM;
    }
    size_t all = m->nbase + nbase;
    submod_status status =
        submodi_fn_minimize(m->fn, list, all, list + all, nblock, z, largest, in);
    submodi_free(list);
    return status;
}

static submod_status join(const void *ctx, const submodi_ties *ties, int32_t *forest,
                          submod_work *work)
{
    const minor *m = ctx;
    const submodi_inside inside = {
        .fn = m->fn, .base = m->base, .nbase = m->nbase, .inner = m->original, .count = m->n};
    return submodi_fn_join_inside(&inside, ties, forest, work);
}

/* f is a minor of F: the base of a minor of f, as a base in F; frees base. NULL: out of memory. */
static int32_t *base_in(const minor *f, int32_t *base, size_t nbase)
{
    int32_t *all = base ? translate(f, base, nbase, NULL, 0) : NULL;
    submodi_free(base);
    return all;
}

/* Likewise its elements, in place. */
static void elements_in(const minor *f, int32_t *original, size_t n)
{
    for (size_t i = 0; original && i < n; i++) {
        original[i] = f->original[original[i]];
    }
}

/* Takes over base and original; one that is NULL means that memory ran out. */
static submod_status new_minor(const char *who, const char *name, const submod_fn *f, int32_t *base,
                               size_t nbase, double base_value, int32_t *original, size_t n,
                               submod_fn **fn)
{
    if (f->ops.eval == eval) {
        const minor *inner = f->ctx;
        base = base_in(inner, base, nbase);
        nbase += inner->nbase;
        base_value += inner->base_value;
        elements_in(inner, original, n);
        f = inner->fn;
    }
    submod_status status = submodi_require_depth(who, f->traits.depth);
    minor *m = base && original ? submodi_alloc(1, sizeof *m) : NULL;
    if (!m || status != SUBMOD_OK) {
        submodi_free(m);
        submodi_free(base);
        submodi_free(original);
        if (status != SUBMOD_OK) {
            return status;
        }
        return submodi_nomem(who);
    }
    *m = (minor){.fn = submod_fn_share(f),
                 .n = n,
                 .nbase = nbase,
                 .base = base,
                 .original = original,
                 .base_value = base_value};
    submod_fn_ops ops = {.eval = eval,
                         .state_size = submodi_fn_state_size(f) + n * sizeof(int32_t),
                         .reset = reset,
                         .push = push,
                         .gain = gain,
                         .chain = chain,
                         .tied = f->ops.tied ? tied : NULL,
                         .minimize = f->ops.minimize ? minimize : NULL,
                         .destroy = destroy};
    submodi_traits traits = f->traits;
    traits.depth++;
    traits.minimize_parts = NULL;
    traits.minors = NULL;
    traits.based = nbase > 0;
    traits.join = join;
    traits.minimum = NULL;
    return submodi_fn_new(name, n, &ops, &traits, m, fn);
}

static int32_t *copy_of(const int32_t *elements, size_t k)
{
    int32_t *copy = submodi_alloc(k, sizeof *copy);
    if (copy && k) {
        memcpy(copy, elements, k * sizeof *copy);
    }
    return copy;
}

/* V \ elements in ascending order. */
static int32_t *complement(size_t n, const int32_t *elements, size_t k)
{
    uint8_t *in = submodi_alloc(n, 1);
    int32_t *rest = in ? submodi_alloc(n - k, sizeof *rest) : NULL;
    if (rest) {
        memset(in, 0, n);
        for (size_t i = 0; i < k; i++) {
            in[elements[i]] = 1;
        }
        size_t next = 0;
        for (size_t e = 0; e < n; e++) {
            if (!in[e]) {
                rest[next++] = (int32_t)e;
            }
        }
    }
    submodi_free(in);
    return rest;
}

submod_status submod_fn_restrict(const submod_fn *f, const int32_t *elements, size_t k,
                                 submod_fn **fn)
{
    static const char who[] = "submod_fn_restrict";
    submod_status status = submodi_require_given(who, "f", f);
    status = status ? status : submodi_require_size(who, k, fn);
    status = status ? status : submodi_require_set(who, f->n, "elements", elements, k);
    if (status != SUBMOD_OK) {
        return status;
    }
    return new_minor(who, "restrict", f, copy_of(NULL, 0), 0, 0, copy_of(elements, k), k, fn);
}

submod_status submod_fn_contract(const submod_fn *f, const int32_t *elements, size_t k,
                                 submod_fn **fn)
{
    static const char who[] = "submod_fn_contract";
    submod_status status = submodi_require_given(who, "f", f);
    status = status ? status : submodi_require_set(who, f->n, "elements", elements, k);
    status = status ? status : submodi_require_size(who, f->n - k, fn);
    double base_value;
    status = status ? status : submodi_fn_eval(f, elements, k, &base_value);
    if (status != SUBMOD_OK) {
        return status;
    }
    return new_minor(who, "contract", f, copy_of(elements, k), k, base_value,
                     complement(f->n, elements, k), f->n - k, fn);
}

submod_status submodi_fn_minor(const submod_fn *f, const int32_t *order, submodi_part part,
                               submod_fn **fn)
{
    double base_value;
    submod_status status = submodi_fn_eval(f, order, part.begin, &base_value);
    if (status != SUBMOD_OK) {
        return status;
    }
    size_t k = part.end - part.begin;
    return new_minor("minor", "minor", f, copy_of(order, part.begin), part.begin, base_value,
                     copy_of(order + part.begin, k), k, fn);
}
