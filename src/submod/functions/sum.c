/* Sums with coefficients >= 0: F = sum of c_i F_i. Scaling is a sum with one term. An F_i that is a
 * sum itself is taken apart into its terms.
 *
 * The base polytope of a sum is the sum of the base polytopes, so gains add up, also when they are
 * averaged over ties.
 *
 * Terms of all elements: eval, push, gain and chain cost as much as those of all of them together.
 * Embedded terms (embed.c) cost what is touched: a list for each element says in which terms it
 * occurs, and under which number. So push and gain ask the terms at e only, and a chain over all
 * elements costs all terms of all elements plus the lengths of all lists. reset and eval look at
 * each term once. State: the states of the terms, one after the other, n doubles, and the lists of
 * a block sorted by term.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "submod/functions/embed.h"
#include "submod/functions/sum.h"
#include "submod/inseparable.h"

typedef struct term {
    submod_fn *fn;
    double coefficient;
    const submod_fn *core;   /* fn, or the function inside if fn is embedded */
    const int32_t *elements; /* those of an embedded term; NULL: all */
    size_t state_at;         /* offset of core's state */
    size_t list_at;          /* embedded: where its part of a block's lists begins */
} term;

/* An element is number `number` of term `term`. */
typedef struct incidence {
    uint32_t term;
    int32_t number;
} incidence;

typedef struct sum {
    size_t n, count;
    size_t full;   /* terms of all elements: they come first */
    size_t *start; /* n + 1: where the list of each element begins; NULL: no embedded term */
    incidence *incidences; /* start[n] of them */
    size_t scratch_at;     /* offset of room for n gains in the state */
    size_t block_at;       /* offset of the memory of a block */
    term terms[];
} sum;

static void destroy(void *ctx)
{
    sum *s = ctx;
    for (size_t i = 0; i < s->count; i++) {
        submod_fn_free(s->terms[i].fn);
    }
    submodi_free(s->start);
    submodi_free(s->incidences);
    submodi_free(s);
}

/* ---- elements sorted by embedded term ---- */

/* Some elements, sorted by the embedded terms that they occur in. Between two uses all counts are
 * 0. */
typedef struct sorted {
    uint32_t *touched;  /* terms that occur, in the order in which they were met */
    uint32_t *counts;   /* elements of each term */
    int32_t *numbers;   /* their numbers in it; a term's begin at its list_at */
    int32_t *positions; /* where they stand among the elements */
    size_t terms;       /* of touched */
} sorted;

static size_t embedded_terms(const sum *s)
{
    return s->count - s->full;
}

static size_t block_size(const sum *s)
{
    return 2 * (embedded_terms(s) + (s->start ? s->start[s->n] : 0));
}

/* The arrays of a block within block_size(s) numbers of memory. */
static sorted block_in(const sum *s, void *memory)
{
    size_t terms = embedded_terms(s);
    size_t total = s->start[s->n];
    uint32_t *touched = memory;
    int32_t *numbers = (int32_t *)memory + 2 * terms;
    return (sorted){touched, touched + terms, numbers, numbers + total, 0};
}

static void sort_by_term(const sum *s, const int32_t *elements, size_t k, sorted *b)
{
    b->terms = 0;
    for (size_t i = 0; i < k; i++) {
        for (size_t j = s->start[elements[i]]; j < s->start[elements[i] + 1]; j++) {
            const incidence *at = &s->incidences[j];
            uint32_t *count = &b->counts[at->term - s->full];
            size_t place = s->terms[at->term].list_at + *count;
            if (*count == 0) {
                b->touched[b->terms++] = at->term;
            }
            b->numbers[place] = at->number;
            b->positions[place] = (int32_t)i;
            ++*count;
        }
    }
}

/* ---- the callbacks ---- */

/* *total += the values of the embedded terms. */
static submod_status eval_embedded(const sum *s, const int32_t *set, size_t k, double *total)
{
    uint32_t *memory = submodi_alloc(block_size(s), sizeof *memory);
    if (!memory) {
        return submodi_nomem("eval of a sum");
    }
    sorted b = block_in(s, memory);
    memset(b.counts, 0, embedded_terms(s) * sizeof *b.counts);
    sort_by_term(s, set, k, &b);
    submod_status status = SUBMOD_OK;
    for (size_t i = s->full; status == SUBMOD_OK && i < s->count; i++) {
        const term *t = &s->terms[i];
        double v;
        status = submodi_fn_eval(t->core, b.numbers + t->list_at, b.counts[i - s->full], &v);
        *total += status == SUBMOD_OK ? t->coefficient * v : 0;
    }
    submodi_free(memory);
    return status;
}

static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const sum *s = ctx;
    double total = 0;
    for (size_t i = 0; i < s->full; i++) {
        double v;
        submod_status status = submodi_fn_eval(s->terms[i].fn, set, k, &v);
        if (status != SUBMOD_OK) {
            return status;
        }
        total += s->terms[i].coefficient * v;
    }
    submod_status status = s->start ? eval_embedded(s, set, k, &total) : SUBMOD_OK;
    if (status == SUBMOD_OK) {
        *value = total;
    }
    return status;
}

static submod_status reset(const void *ctx, void *state)
{
    const sum *s = ctx;
    submod_status status = SUBMOD_OK;
    for (size_t i = 0; status == SUBMOD_OK && i < s->count; i++) {
        status = submodi_fn_reset(s->terms[i].core, (char *)state + s->terms[i].state_at);
    }
    if (s->start) {
        sorted b = block_in(s, (char *)state + s->block_at);
        memset(b.counts, 0, embedded_terms(s) * sizeof *b.counts);
    }
    return status;
}

/* submodi_fn_push or submodi_fn_gain: one number of each term. */
typedef submod_status one_call(const submod_fn *fn, void *state, int32_t e, double *gain);

/* *total += the share of one term, whose element number `number` is asked for. */
static submod_status add_one(const term *t, void *state, int32_t number, one_call *call,
                             double *total)
{
    double g;
    submod_status status = call(t->core, (char *)state + t->state_at, number, &g);
    if (status == SUBMOD_OK) {
        *total += t->coefficient * g;
    }
    return status;
}

static submod_status add_up(const sum *s, void *state, int32_t e, one_call *call, double *result)
{
    double total = 0;
    submod_status status = SUBMOD_OK;
    for (size_t i = 0; status == SUBMOD_OK && i < s->full; i++) {
        status = add_one(&s->terms[i], state, e, call, &total);
    }
    size_t end = s->start ? s->start[e + 1] : 0;
    for (size_t j = s->start ? s->start[e] : 0; status == SUBMOD_OK && j < end; j++) {
        const incidence *at = &s->incidences[j];
        status = add_one(&s->terms[at->term], state, at->number, call, &total);
    }
    if (status == SUBMOD_OK) {
        *result = total;
    }
    return status;
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

static int ascending(const void *a, const void *b)
{
    const uint32_t *p = a;
    const uint32_t *q = b;
    return (*p > *q) - (*p < *q);
}

/* Adds the gains of the embedded terms, term by term; averages always in the same order, so that
 * the order of the elements does not show in the last bits. */
static submod_status add_up_embedded(const sum *s, void *state, const int32_t *elements, size_t k,
                                     block_call *call, double *gains)
{
    double *g = (void *)((char *)state + s->scratch_at);
    sorted b = block_in(s, (char *)state + s->block_at);
    submod_status status = SUBMOD_OK;
    sort_by_term(s, elements, k, &b);
    if (call == submodi_fn_tied) {
        qsort(b.touched, b.terms, sizeof *b.touched, ascending);
    }
    for (size_t i = 0; i < b.terms; i++) { /* all counts go back to 0, whatever happens */
        const term *t = &s->terms[b.touched[i]];
        uint32_t *count = &b.counts[b.touched[i] - s->full];
        if (status == SUBMOD_OK) {
            status = call(t->core, (char *)state + t->state_at, b.numbers + t->list_at, *count, g);
        }
        for (size_t j = 0; status == SUBMOD_OK && j < *count; j++) {
            gains[b.positions[t->list_at + j]] += t->coefficient * g[j];
        }
        *count = 0;
    }
    return status;
}

static submod_status add_up_block(const sum *s, void *state, const int32_t *elements, size_t k,
                                  block_call *call, double *gains)
{
    double *g = (void *)((char *)state + s->scratch_at);
    submod_status status = SUBMOD_OK;
    memset(gains, 0, k * sizeof *gains);
    for (size_t i = 0; status == SUBMOD_OK && i < s->full; i++) {
        status = call(s->terms[i].fn, (char *)state + s->terms[i].state_at, elements, k, g);
        for (size_t j = 0; status == SUBMOD_OK && j < k; j++) {
            gains[j] += s->terms[i].coefficient * g[j];
        }
    }
    return status == SUBMOD_OK && s->start ? add_up_embedded(s, state, elements, k, call, gains)
                                           : status;
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

static submod_status join(const void *ctx, const submodi_ties *ties, int32_t *forest,
                          submod_work *work)
{
    const sum *s = ctx;
    submod_status status = SUBMOD_OK;
    for (size_t i = 0; status == SUBMOD_OK && i < s->count; i++) {
        if (s->terms[i].coefficient > 0) {
            status = submodi_fn_join(s->terms[i].fn, ties, forest, work);
        }
    }
    return status;
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
    *size = status == SUBMOD_OK ? *size * t->coefficient : 0;
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

size_t submodi_sum_count(const submod_fn *fn)
{
    const sum *s = sum_inside(fn);
    return s ? s->count : 0;
}

submodi_term submodi_sum_term(const submod_fn *fn, size_t i)
{
    const term *t = &sum_inside(fn)->terms[i];
    return (submodi_term){t->fn, t->coefficient};
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

/* Adds c f to s, at the front or at the back; shares f. */
static void put(sum *s, const submod_fn *f, double c, bool embedded_ones)
{
    const int32_t *elements = NULL;
    const submod_fn *core = submodi_embedded(f, &elements);
    if ((core != NULL) == embedded_ones) {
        s->terms[s->count++] = (term){.fn = submod_fn_share(f),
                                      .coefficient = c,
                                      .core = core ? core : f,
                                      .elements = elements};
    }
}

/* The terms; sums among the functions are taken apart. First those of all elements, then the
 * embedded ones. */
static void put_terms(sum *s, submod_fn *const *f, const double *coefficient, size_t count,
                      bool embedded_ones)
{
    for (size_t i = 0; i < count; i++) {
        double c = coefficient ? coefficient[i] : 1;
        const sum *inside = comes_apart(f[i], c) ? sum_inside(f[i]) : NULL;
        for (size_t k = 0; inside && k < inside->count; k++) {
            put(s, inside->terms[k].fn, c * inside->terms[k].coefficient, embedded_ones);
        }
        if (!inside) {
            put(s, f[i], c, embedded_ones);
        }
    }
}

/* Makes the lists of all elements by counting. While they are filled, start[e] is where the next
 * entry of e goes; so entries go in from the back. False: out of memory. */
static bool link_elements(sum *s)
{
    size_t total = 0;
    for (size_t i = s->full; i < s->count; i++) {
        s->terms[i].list_at = total;
        total += s->terms[i].core->n;
    }
    s->start = submodi_alloc(s->n + 1, sizeof *s->start);
    s->incidences = submodi_alloc(total, sizeof *s->incidences);
    if (!s->start || !s->incidences) {
        return false;
    }
    memset(s->start, 0, (s->n + 1) * sizeof *s->start);
    for (size_t i = s->full; i < s->count; i++) {
        for (size_t j = 0; j < s->terms[i].core->n; j++) {
            s->start[s->terms[i].elements[j]]++;
        }
    }
    for (size_t e = 0; e < s->n; e++) {
        s->start[e + 1] += s->start[e];
    }
    for (size_t i = s->count; i-- > s->full;) {
        for (size_t j = s->terms[i].core->n; j-- > 0;) {
            size_t at = --s->start[s->terms[i].elements[j]];
            s->incidences[at] = (incidence){(uint32_t)i, (int32_t)j};
        }
    }
    s->start[s->n] = total;
    return true;
}

/* Lays out the state of all terms. False: its size overflows. */
static bool lay_out(sum *s, size_t *bytes)
{
    bool fits = true;
    *bytes = 0;
    for (size_t i = 0; fits && i < s->count; i++) {
        s->terms[i].state_at = *bytes;
        fits = submodi_add_size(bytes, submodi_fn_state_size(s->terms[i].core), 1);
    }
    s->scratch_at = *bytes;
    fits = fits && submodi_add_size(bytes, s->n, sizeof(double));
    s->block_at = *bytes;
    return fits && submodi_add_size(bytes, block_size(s), sizeof(int32_t)) &&
           *bytes <= SIZE_MAX / 8;
}

/* The sum and the size of its state. NULL: out of memory. */
static sum *collect(submod_fn *const *f, const double *coefficient, size_t count, size_t *bytes)
{
    size_t terms = 0;
    for (size_t i = 0; i < count; i++) { /* no overflow: at most 1024 per pointer */
        terms += comes_apart(f[i], coefficient ? coefficient[i] : 1) ? sum_inside(f[i])->count : 1;
    }
    size_t size = submodi_times(terms, sizeof(term));
    sum *s = size < SIZE_MAX / 2 && terms <= UINT32_MAX ? submodi_alloc(sizeof *s + size, 1) : NULL;
    if (!s) {
        return NULL;
    }
    *s = (sum){.n = f[0]->n};
    put_terms(s, f, coefficient, count, false);
    s->full = s->count;
    put_terms(s, f, coefficient, count, true);
    if ((s->count > s->full && !link_elements(s)) || !lay_out(s, bytes)) {
        destroy(s);
        return NULL;
    }
    return s;
}

static submod_status new_sum(const char *who, const char *name, submod_fn *const *f,
                             const double *coefficient, size_t count, submod_fn **fn);

/* The sum of the minors of the terms. made is by terms, then by parts. */
static submod_status sums_of_minors(const sum *s, submod_fn *const *made, size_t nparts,
                                    submod_fn **of_part, double *coefficient, submod_fn **fns)
{
    submod_status status = SUBMOD_OK;
    for (size_t j = 0; status == SUBMOD_OK && j < nparts; j++) {
        for (size_t i = 0; i < s->count; i++) {
            of_part[i] = made[i * nparts + j];
            coefficient[i] = s->terms[i].coefficient;
        }
        status = new_sum("minors of a sum", "sum", of_part, coefficient, s->count, &fns[j]);
    }
    return status;
}

static submod_status minors(const void *ctx, const int32_t *order, const submodi_part *parts,
                            size_t nparts, submod_fn **fns)
{
    const sum *s = ctx;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    submod_fn **made = submodi_take(w, submodi_times(s->count, nparts), sizeof(submod_fn *));
    submod_fn **of_part = submodi_take(w, s->count, sizeof(submod_fn *));
    double *coefficient = submodi_take(w, s->count, sizeof *coefficient);
    submod_status status =
        made && of_part && coefficient ? SUBMOD_OK : submodi_nomem("minors of a sum");
    size_t terms = 0;
    for (; status == SUBMOD_OK && terms < s->count; terms += status == SUBMOD_OK) {
        status = submodi_fn_minors(s->terms[terms].fn, order, parts, nparts, made + terms * nparts);
    }
    status = status ? status : sums_of_minors(s, made, nparts, of_part, coefficient, fns);
    submodi_fn_free_all(made, terms * nparts);
    submodi_scope_close(&scope);
    return status;
}

/* What the terms have in common; depth is that of the deepest. */
static submodi_traits common_traits(const sum *s, bool *all_tied)
{
    submodi_traits t = {.modular = true, .cardinality = true, .minors = minors};
    *all_tied = true;
    for (size_t i = 0; i < s->count; i++) {
        const submod_fn *f = s->terms[i].fn;
        *all_tied = *all_tied && f->ops.tied;
        t.modular = t.modular && f->traits.modular;
        t.cardinality = t.cardinality && f->traits.cardinality;
        t.minors = f->traits.minors ? t.minors : NULL;
        t.based = t.based || f->traits.based;
        t.calls_back = t.calls_back || f->traits.calls_back;
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
    traits.join = join;
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
