/* Combinations of set functions in one flat form:
 *
 *     F(A) = sum over terms i of c_i [f_i(B_i + phi_i(A n S_i)) - offset_i] + w(A) + constant,
 *
 * where no f_i is a combination itself, phi_i maps the elements S_i of F to elements of f_i, and
 * offset_i is f_i(B_i) for a contraction, else 0. Sums, multiples, modular parts, restrictions,
 * contractions and embeddings all have this form.
 *
 * The base polytope of a sum is the sum of the base polytopes, so gains add up, also when they are
 * averaged over ties. Terms with all elements see every chain. Terms with some elements cost what
 * is touched: incidences, made at the first use, give the terms of an element.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/internal.h"
#include "submod/fn_internal.h"

/* Several combinations may share a list; each consists of its first terms. The longest one can be
 * extended in place, so that a sum that grows term by term copies O(1) terms on average. */
typedef struct term_list {
    atomic_size_t owners, used;
    size_t room;
    submodi_term terms[]; /* those without fn are empty */
} term_list;

/* Element e of F is element `inner` of the function of term `term`. */
typedef struct incidence {
    int32_t inner;
    uint32_t term;
} incidence;

/* The terms with some elements only, by element. */
typedef struct incidences {
    size_t *start;  /* n + 1 */
    uint32_t *full; /* the terms with all elements */
    size_t full_count;
    incidence at[];
} incidences;

/* What the terms have in common. */
typedef struct summary {
    size_t partial;         /* terms with some elements only */
    size_t incidence_count; /* elements of those */
    size_t longest;         /* most elements of a term, those of its base included */
    size_t state_bytes;     /* of the states of all terms */
    bool direct;            /* all elements, under their own numbers, from the empty set on */
    bool tied, minors;      /* all terms have them */
    bool cardinality, based, calls_user_code;
} summary;

typedef struct combination {
    size_t n, count;
    term_list *list;           /* NULL if there are no terms */
    const submodi_term *terms; /* of the list */
    submod_fn *modular;        /* a modular function of n elements; NULL means 0 */
    double constant;           /* values of terms that a restriction left without elements */
    summary all;
    _Atomic(incidences *) incidences; /* NULL until they are used */
} combination;

static const combination *combination_of(const submod_fn *fn)
{
    return fn->kind == SUBMODI_COMBINATION ? fn->ctx : NULL;
}

static const double *weights_of(const combination *c)
{
    return c->modular ? c->modular->ctx : NULL;
}

submodi_terms submodi_fn_terms(const submod_fn *fn)
{
    const combination *c = combination_of(fn);
    return c ? (submodi_terms){c->n, c->count, c->terms, weights_of(c)}
             : (submodi_terms){fn->n, 1, &fn->itself, NULL};
}

static bool is_direct(const submodi_term *t)
{
    return !t->outer && !t->inner && !t->nbase;
}

static int32_t outer_of(const submodi_term *t, size_t j)
{
    return t->outer ? t->outer[j] : (int32_t)j;
}

static int32_t inner_of(const submodi_term *t, size_t j)
{
    return t->inner ? t->inner[j] : (int32_t)j;
}

/* ---- incidences ---- */

/* Counting sort: start[e] moves from the end of e's incidences to their beginning. */
static void fill_incidences(const combination *c, incidences *lists)
{
    size_t *start = lists->start;
    memset(start, 0, (c->n + 1) * sizeof *start);
    for (size_t i = 0; i < c->count; i++) {
        const submodi_term *t = &c->terms[i];
        if (!t->outer) {
            lists->full[lists->full_count++] = (uint32_t)i;
        }
        for (size_t j = 0; t->outer && j < t->count; j++) {
            start[t->outer[j]]++;
        }
    }
    for (size_t e = 0; e < c->n; e++) {
        start[e + 1] += start[e];
    }
    for (size_t i = c->count; i-- > 0;) {
        const submodi_term *t = &c->terms[i];
        for (size_t j = 0; t->outer && j < t->count; j++) {
            lists->at[--start[t->outer[j]]] = (incidence){inner_of(t, j), (uint32_t)i};
        }
    }
}

static incidences *make_incidences(const combination *c)
{
    size_t bytes = 0, start_at, full_at;
    bool fits = submodi_add_size(&bytes, 1, sizeof(incidences)) &&
                submodi_add_size(&bytes, c->all.incidence_count, sizeof(incidence));
    start_at = bytes;
    fits = fits && submodi_add_size(&bytes, c->n + 1, sizeof(size_t));
    full_at = bytes;
    fits = fits && submodi_add_size(&bytes, c->count - c->all.partial, sizeof(uint32_t));
    incidences *lists = fits ? submodi_alloc(bytes, 1) : NULL;
    if (lists) {
        *lists = (incidences){.start = (void *)((char *)lists + start_at),
                              .full = (void *)((char *)lists + full_at)};
        fill_incidences(c, lists);
    }
    return lists;
}

/* The incidences of c, made by the first thread that needs them; NULL and SUBMOD_OK if all terms
 * have all elements. */
static submod_status find_incidences(const combination *c, const incidences **lists)
{
    *lists = NULL;
    if (!c->all.partial) {
        return SUBMOD_OK;
    }
    combination *owner = (combination *)c; /* the lists are a cache */
    incidences *known = atomic_load_explicit(&owner->incidences, memory_order_acquire);
    if (!known) {
        incidences *made = make_incidences(c);
        if (!made) {
            return submodi_out_of_memory();
        }
        if (atomic_compare_exchange_strong(&owner->incidences, &known, made)) {
            known = made;
        } else {
            submodi_free(made);
        }
    }
    *lists = known;
    return SUBMOD_OK;
}

static size_t full_count(const combination *c, const incidences *lists)
{
    return lists ? lists->full_count : c->count;
}

static const submodi_term *full_term(const combination *c, const incidences *lists, size_t i)
{
    return &c->terms[lists ? lists->full[i] : i];
}

/* ---- memory of a chain ----
 *
 * The state of a combination: gains and numbers of a term's elements, the elements of a chain
 * sorted by partial term, then the states of all terms. */

typedef struct chain_memory {
    double *gains;              /* longest */
    int32_t *numbers;           /* longest, unless all terms are direct */
    uint32_t *touched, *counts; /* partial terms met, and how many elements of each; by term */
    int32_t *inner, *positions; /* of each incidence: by term, from list_at on */
    char *states;
} chain_memory;

/* The bytes before the states. */
static size_t header_bytes(const combination *c)
{
    const summary *all = &c->all;
    size_t terms = all->partial ? c->count : 0;
    return submodi_round_up(all->longest * sizeof(double) + ((all->direct ? 0 : all->longest) +
                                                             2 * terms + 2 * all->incidence_count) *
                                                                sizeof(int32_t));
}

static chain_memory memory_of(const combination *c, void *state)
{
    size_t terms = c->all.partial ? c->count : 0;
    chain_memory m = {.gains = state, .states = (char *)state + header_bytes(c)};
    m.numbers = (void *)(m.gains + c->all.longest);
    m.touched = (uint32_t *)m.numbers + (c->all.direct ? 0 : c->all.longest);
    m.counts = m.touched + terms;
    m.inner = (int32_t *)m.counts + terms;
    m.positions = m.inner + c->all.incidence_count;
    return m;
}

/* Sorts the elements by partial term; counts are 0 before. Returns how many terms there are. */
static size_t sort_by_term(const combination *c, const incidences *lists, const int32_t *elements,
                           size_t k, chain_memory *m)
{
    size_t terms = 0;
    for (size_t i = 0; i < k; i++) {
        size_t end = lists->start[elements[i] + 1];
        for (size_t at = lists->start[elements[i]]; at < end; at++) {
            uint32_t term = lists->at[at].term;
            size_t place = c->terms[term].list_at + m->counts[term];
            if (m->counts[term]++ == 0) {
                m->touched[terms++] = term;
            }
            m->inner[place] = lists->at[at].inner;
            m->positions[place] = (int32_t)i;
        }
    }
    return terms;
}

/* The elements as those of a term with all elements. */
static const int32_t *translate(const submodi_term *t, const int32_t *elements, size_t k,
                                int32_t *numbers)
{
    if (!t->inner) {
        return elements;
    }
    for (size_t i = 0; i < k; i++) {
        numbers[i] = t->inner[elements[i]];
    }
    return numbers;
}

/* ---- eval ---- */

/* *total += the value of a term at its base and the k elements. list: for both together. */
static submod_status add_value(const submodi_term *t, const int32_t *elements, size_t k,
                               int32_t *list, double *total)
{
    double value;
    if (t->nbase) {
        memcpy(list, t->base, t->nbase * sizeof *list);
        memcpy(list + t->nbase, elements, k * sizeof *list);
        elements = list;
    }
    TRY(submodi_fn_eval(t->fn, elements, t->nbase + k, &value));
    *total += t->coefficient * (value - t->offset);
    return SUBMOD_OK;
}

/* memory: header_bytes, and a list of the longest term behind them, unless all are direct. */
static submod_status eval_terms(const combination *c, const int32_t *set, size_t k, char *memory,
                                double *total)
{
    const incidences *lists;
    TRY(find_incidences(c, &lists));
    chain_memory m = memory_of(c, memory);
    int32_t *list = (void *)m.states;
    for (size_t i = 0; i < full_count(c, lists); i++) {
        const submodi_term *t = full_term(c, lists, i);
        TRY(add_value(t, translate(t, set, k, list), k, m.numbers, total));
    }
    if (lists) {
        memset(m.counts, 0, c->count * sizeof *m.counts);
        sort_by_term(c, lists, set, k, &m);
    }
    for (size_t i = 0; lists && i < c->count; i++) {
        const submodi_term *t = &c->terms[i];
        if (t->outer) {
            TRY(add_value(t, m.inner + t->list_at, m.counts[i], m.numbers, total));
        }
    }
    return SUBMOD_OK;
}

static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const combination *c = ctx;
    const double *w = weights_of(c);
    double few[128], total = c->constant;
    size_t bytes = c->all.direct ? 0 : header_bytes(c) + c->all.longest * sizeof(int32_t);
    char *memory = bytes <= sizeof few ? (char *)few : submodi_alloc(bytes, 1);
    submod_status status = memory ? eval_terms(c, set, k, memory, &total) : submodi_out_of_memory();
    for (size_t i = 0; w && i < k; i++) {
        total += w[set[i]];
    }
    if (memory != (char *)few) {
        submodi_free(memory);
    }
    *value = total;
    return status;
}

/* ---- chains ---- */

static submod_status reset(const void *ctx, void *state)
{
    const combination *c = ctx;
    chain_memory m = memory_of(c, state);
    for (size_t i = 0; i < c->count; i++) {
        const submodi_term *t = &c->terms[i];
        TRY(submodi_fn_reset(t->fn, m.states + t->state_at));
        if (t->nbase) {
            TRY(submodi_fn_chain(t->fn, m.states + t->state_at, t->base, t->nbase, m.gains));
        }
    }
    if (c->all.partial) {
        memset(m.counts, 0, c->count * sizeof *m.counts);
    }
    return SUBMOD_OK;
}

/* submodi_fn_push or submodi_fn_gain: the gain of one element. */
typedef submod_status one_call(const submod_fn *fn, void *state, int32_t e, double *gain);

static submod_status add_one(const submodi_term *t, char *states, int32_t inner, one_call *call,
                             double *total)
{
    double gain;
    TRY(call(t->fn, states + t->state_at, inner, &gain));
    *total += t->coefficient * gain;
    return SUBMOD_OK;
}

static submod_status gain_of_one(const combination *c, void *state, int32_t e, one_call *call,
                                 double *result)
{
    const incidences *lists;
    const double *w = weights_of(c);
    TRY(find_incidences(c, &lists));
    char *states = memory_of(c, state).states;
    double total = 0;
    for (size_t i = 0; i < full_count(c, lists); i++) {
        const submodi_term *t = full_term(c, lists, i);
        TRY(add_one(t, states, t->inner ? t->inner[e] : e, call, &total));
    }
    for (size_t j = lists ? lists->start[e] : 0; lists && j < lists->start[e + 1]; j++) {
        TRY(add_one(&c->terms[lists->at[j].term], states, lists->at[j].inner, call, &total));
    }
    *result = total + (w ? w[e] : 0);
    return SUBMOD_OK;
}

static submod_status gain(const void *ctx, void *state, int32_t e, double *result)
{
    return gain_of_one(ctx, state, e, submodi_fn_gain, result);
}

/* submodi_fn_chain or submodi_fn_tied: the gains of several elements. */
typedef submod_status chain_call(const submod_fn *fn, void *state, const int32_t *elements,
                                 size_t k, double *gains);

/* The first term writes its gains in place. */
static submod_status add_full(const combination *c, const incidences *lists,
                              const int32_t *elements, size_t k, const chain_memory *m,
                              chain_call *call, double *gains)
{
    for (size_t i = 0; i < full_count(c, lists); i++) {
        const submodi_term *t = full_term(c, lists, i);
        double *own = i ? m->gains : gains;
        TRY(call(t->fn, m->states + t->state_at, translate(t, elements, k, m->numbers), k, own));
        for (size_t j = 0; i && j < k; j++) {
            gains[j] += t->coefficient * own[j];
        }
        for (size_t j = 0; !i && t->coefficient != 1 && j < k; j++) {
            gains[j] *= t->coefficient;
        }
    }
    return SUBMOD_OK;
}

static int ascending(const void *a, const void *b)
{
    const uint32_t *p = a;
    const uint32_t *q = b;
    return (*p > *q) - (*p < *q);
}

/* Averages are added in the order of terms, so that the order of the elements does not show in the
 * last bits. */
static submod_status add_partial(const combination *c, const incidences *lists,
                                 const int32_t *elements, size_t k, chain_memory *m,
                                 chain_call *call, double *gains)
{
    size_t terms = sort_by_term(c, lists, elements, k, m);
    if (call == submodi_fn_tied) {
        qsort(m->touched, terms, sizeof *m->touched, ascending);
    }
    for (size_t i = 0; i < terms; i++) {
        const submodi_term *t = &c->terms[m->touched[i]];
        size_t count = m->counts[m->touched[i]];
        m->counts[m->touched[i]] = 0;
        TRY(call(t->fn, m->states + t->state_at, m->inner + t->list_at, count, m->gains));
        for (size_t j = 0; j < count; j++) {
            gains[m->positions[t->list_at + j]] += t->coefficient * m->gains[j];
        }
    }
    return SUBMOD_OK;
}

static submod_status gains_of_many(const combination *c, void *state, const int32_t *elements,
                                   size_t k, chain_call *call, double *gains)
{
    const incidences *lists;
    const double *w = weights_of(c);
    TRY(find_incidences(c, &lists));
    chain_memory m = memory_of(c, state);
    if (full_count(c, lists) == 0) {
        memset(gains, 0, k * sizeof *gains);
    }
    TRY(add_full(c, lists, elements, k, &m, call, gains));
    TRY(lists ? add_partial(c, lists, elements, k, &m, call, gains) : SUBMOD_OK);
    for (size_t i = 0; w && i < k; i++) {
        gains[i] += w[elements[i]];
    }
    return SUBMOD_OK;
}

static submod_status chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                           double *gains)
{
    return k == 1 ? gain_of_one(ctx, state, *elements, submodi_fn_push, gains)
                  : gains_of_many(ctx, state, elements, k, submodi_fn_chain, gains);
}

static submod_status tied(const void *ctx, void *state, const int32_t *elements, size_t k,
                          double *gains)
{
    return gains_of_many(ctx, state, elements, k, submodi_fn_tied, gains);
}

/* A sum separates what all of its terms separate (components.c). */
static submod_status join(const void *ctx, const submodi_ties *ties, int32_t *forest,
                          submod_work *work)
{
    const combination *c = ctx;
    for (size_t i = 0; i < c->count; i++) {
        TRY(submodi_term_join(&c->terms[i], ties, forest, work));
    }
    return SUBMOD_OK;
}

/* ---- minimisers of one term and a modular part ----
 *
 * c f + w - z = c (f - (z - w) / c) has the minimisers of f - (z - w) / c, and c times its bases.
 */

/* rest[i] = (z[i] - w) / divisor. */
static submod_status subtract_modular(const combination *c, const int32_t *elements, size_t k,
                                      const double *z, double divisor, double *rest)
{
    const double *w = weights_of(c);
    for (size_t i = 0; i < k; i++) {
        rest[i] = (z[i] - (w ? w[elements[i]] : 0)) / divisor;
    }
    return submodi_all_finite(rest, k)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "minimize of a combination: (z - w) / c overflows");
}

/* A minor in the elements of the term. positions: of its ground in the ground outside. */
typedef struct inner_minor {
    submod_minor minor;
    int32_t *positions;
    double *z, *s;
    uint8_t *smallest, *largest;
} inner_minor;

static submod_status translate_minor(const combination *c, const submod_minor *outside,
                                     inner_minor *m, submod_work *work)
{
    const submodi_term *t = c->terms;
    size_t k = outside->nground;
    int32_t *number = submodi_work_alloc(work, c->n, sizeof *number); /* -1: not in the term */
    int32_t *elements = submodi_work_alloc(work, t->nbase + outside->nbase + k, sizeof *elements);
    m->positions = submodi_work_alloc(work, k, sizeof *m->positions);
    TRY(submodi_work_status(work));
    for (size_t e = 0; t->outer && e < c->n; e++) {
        number[e] = -1;
    }
    for (size_t j = 0; j < t->count; j++) {
        number[outer_of(t, j)] = inner_of(t, j);
    }
    size_t nbase = 0, nground = 0;
    for (; nbase < t->nbase; nbase++) {
        elements[nbase] = t->base[nbase];
    }
    for (size_t i = 0; i < outside->nbase; i++) {
        elements[nbase] = number[outside->base[i]];
        nbase += elements[nbase] >= 0;
    }
    for (size_t i = 0; i < k; i++) {
        m->positions[nground] = (int32_t)i;
        elements[nbase + nground] = number[outside->ground[i]];
        nground += elements[nbase + nground] >= 0;
    }
    m->minor = (submod_minor){elements, nbase, elements + nbase, nground};
    return SUBMOD_OK;
}

/* Minimises the term, and writes the results over those of the modular part. */
static submod_status minimize_inside(const combination *c, inner_minor *m, const double *rest,
                                     uint8_t *smallest, uint8_t *largest, double *s)
{
    const submodi_term *t = c->terms;
    size_t k = m->minor.nground;
    for (size_t j = 0; j < k; j++) {
        m->z[j] = rest[m->positions[j]] / t->coefficient;
    }
    if (!submodi_all_finite(m->z, k)) {
        return submodi_fail(SUBMOD_ENUMERIC, "minimize of a combination: (z - w) / c overflows");
    }
    TRY(submodi_fn_minimize(t->fn, &m->minor, m->z, smallest ? m->smallest : NULL,
                            largest ? m->largest : NULL, s ? m->s : NULL));
    for (size_t j = 0; j < k; j++) {
        int32_t i = m->positions[j];
        if (smallest) {
            smallest[i] = m->smallest[j];
        }
        if (largest) {
            largest[i] = m->largest[j];
        }
        if (s) {
            s[i] = t->coefficient * m->s[j];
        }
    }
    if (s && isnan(m->s[0])) { /* the term has no base at hand */
        s[0] = NAN;
    }
    return SUBMOD_OK;
}

static submod_status minimize_in(const combination *c, const submod_minor *minor, const double *z,
                                 uint8_t *smallest, uint8_t *largest, double *s, submod_work *work)
{
    size_t k = minor->nground;
    bool direct = c->count && c->all.direct;
    double *rest = submodi_work_alloc(work, k, sizeof *rest);
    TRY(submodi_work_status(work));
    TRY(subtract_modular(c, minor->ground, k, z, direct ? c->terms->coefficient : 1, rest));
    if (direct) { /* no translation */
        TRY(submodi_fn_minimize(c->terms->fn, minor, rest, smallest, largest, s));
        for (size_t i = 0; s && i < k; i++) {
            s[i] *= c->terms->coefficient;
        }
        return SUBMOD_OK;
    }
    submodi_minimize_modular(rest, k, smallest, largest, s);
    if (!c->count) {
        return SUBMOD_OK;
    }
    inner_minor m = {.z = submodi_work_alloc(work, 2 * k, sizeof *m.z),
                     .smallest = submodi_work_alloc(work, 2 * k, 1)};
    TRY(translate_minor(c, minor, &m, work));
    m.s = m.z + k;
    m.largest = m.smallest + k;
    return m.minor.nground ? minimize_inside(c, &m, rest, smallest, largest, s) : SUBMOD_OK;
}

static submod_status minimize(const void *ctx, const submod_minor *minor, const double *z,
                              uint8_t *smallest, uint8_t *largest, double *s)
{
    submodi_scope scope;
    submod_work *work = submodi_scope_open(&scope, NULL);
    submod_status status = minimize_in(ctx, minor, z, smallest, largest, s, work);
    submodi_scope_close(&scope);
    return status;
}

/* For a single direct term. */
static submod_status minimize_parts(const void *ctx, const int32_t *order, const int32_t *rank,
                                    const submodi_part *parts, size_t nparts, const double *z,
                                    uint8_t *in)
{
    const combination *c = ctx;
    double *rest = submodi_alloc(c->n, sizeof *rest);
    submod_status status = rest ? SUBMOD_OK : submodi_out_of_memory();
    for (size_t j = 0; status == SUBMOD_OK && j < nparts; j++) {
        size_t begin = parts[j].begin;
        status = subtract_modular(c, order + begin, parts[j].end - begin, z + begin,
                                  c->terms->coefficient, rest + begin);
    }
    status = status ? status
                    : submodi_fn_minimize_parts(c->terms->fn, order, rank, parts, nparts, rest, in);
    submodi_free(rest);
    return status;
}

/* ---- prox of one term and a modular part ----
 *
 * The prox of c f + w at x for lambda is that of f at x - w / lambda for lambda / c, and its base
 * is c times that of f, plus w. Elements without a term have the base w. */

static submod_status prox_in(const combination *c, const double *x, double lambda, double *u,
                             double *s, submod_work *work)
{
    const submodi_term *t = c->terms;
    const double *w = weights_of(c);
    double *inside = submodi_work_alloc(work, 3 * t->count, sizeof *inside);
    TRY(submodi_work_status(work));
    double *u_inside = inside + t->count;
    double *s_inside = u_inside + t->count;
    for (size_t e = 0; e < c->n; e++) {
        s[e] = w ? w[e] : 0;
        u[e] = x[e] - s[e] / lambda;
    }
    for (size_t j = 0; j < t->count; j++) {
        inside[inner_of(t, j)] = u[outer_of(t, j)];
    }
    double scaled = lambda / t->coefficient;
    if (!submodi_all_finite(inside, t->count) || !isfinite(scaled) || scaled == 0) {
        return submodi_fail(SUBMOD_ENUMERIC,
                            "prox of a combination: x - w / lambda or lambda / c overflows");
    }
    submod_status outcome = submodi_fn_prox(t->fn, inside, scaled, u_inside, s_inside);
    if (outcome < 0) {
        return outcome;
    }
    for (size_t j = 0; j < t->count; j++) {
        u[outer_of(t, j)] = u_inside[inner_of(t, j)];
        s[outer_of(t, j)] += t->coefficient * s_inside[inner_of(t, j)];
    }
    return outcome;
}

static submod_status prox(const void *ctx, const double *x, double lambda, double *u, double *s)
{
    submodi_scope scope;
    submod_status status = prox_in(ctx, x, lambda, u, s, submodi_scope_open(&scope, NULL));
    submodi_scope_close(&scope);
    return status;
}

/* ---- lists of terms ---- */

static term_list *new_list(size_t room)
{
    size_t bytes = 0;
    bool fits = room <= UINT32_MAX && submodi_add_size(&bytes, 1, sizeof(term_list)) &&
                submodi_add_size(&bytes, room, sizeof(submodi_term));
    term_list *list = fits ? submodi_alloc(bytes, 1) : NULL;
    if (list) {
        *list = (term_list){.room = room};
        atomic_init(&list->owners, 1);
        atomic_init(&list->used, 0);
    }
    return list;
}

/* Makes room for more terms after the first `count`, and makes the caller an owner. False if there
 * is none, or if another combination has appended its own. */
static bool extend_list(term_list *list, size_t count, size_t more)
{
    size_t used = count;
    bool extended = more == 0 || (more <= list->room - count &&
                                  atomic_compare_exchange_strong(&list->used, &used, count + more));
    if (extended) {
        memset(list->terms + count, 0, more * sizeof *list->terms);
        atomic_fetch_add(&list->owners, 1);
    }
    return extended;
}

static void release_list(term_list *list)
{
    if (!list || atomic_fetch_sub(&list->owners, 1) != 1) {
        return;
    }
    for (size_t i = 0; i < atomic_load(&list->used); i++) {
        submod_fn_free((submod_fn *)list->terms[i].fn); /* the list's own share */
        submodi_free(list->terms[i].lists);
    }
    submodi_free(list);
}

/* ---- the combination under construction ---- */

typedef struct builder {
    combination *c;
    bool shared;       /* c->list has places for all terms, and may belong to others too */
    bool contracts;    /* F(base) is subtracted */
    double *w;         /* the modular part, if it is not that of c->modular */
    submod_work *work; /* scratch */
} builder;

/* Element e of another ground set is element map[e] of the combination, IN_BASE if it is always in
 * the set, or OUTSIDE. NULL means the same elements. */
typedef const int32_t *element_map;

enum { IN_BASE = -2, OUTSIDE = -1 };

static void destroy(void *ctx)
{
    combination *c = ctx;
    release_list(c->list);
    submod_fn_free(c->modular);
    submodi_free(atomic_load(&c->incidences));
    submodi_free(c);
}

/* Begins a combination of n elements with a list of its own. */
static submod_status begin(builder *b, size_t n, size_t room)
{
    combination *c = b->c = submodi_alloc(1, sizeof *c);
    if (!c) {
        return submodi_out_of_memory();
    }
    *c = (combination){.n = n,
                       .list = room ? new_list(room) : NULL,
                       .all = {.direct = true, .tied = true, .minors = true, .cardinality = true}};
    if (room && !c->list) {
        return submodi_out_of_memory();
    }
    c->terms = c->list ? c->list->terms : NULL;
    return SUBMOD_OK;
}

static submodi_make_minors make_minors;

/* The callbacks that c has. */
static submod_fn describe(combination *c)
{
    const summary *all = &c->all;
    const submodi_term *only = c->count == 1 ? c->terms : NULL;
    const submod_fn *f = only ? only->fn : NULL;
    bool whole = only && !only->nbase && only->count == f->n; /* no restriction or contraction */
    return (submod_fn){.ops = {.name = "combination",
                               .eval = eval,
                               .state_size = header_bytes(c) + all->state_bytes,
                               .reset = reset,
                               .chain = chain,
                               .gain = gain,
                               .tied = all->tied ? tied : NULL,
                               .minimize = !c->count || (only && f->ops.minimize) ? minimize : NULL,
                               .prox = whole && f->ops.prox ? prox : NULL,
                               .destroy = destroy},
                       .kind = SUBMODI_COMBINATION,
                       .modular = c->count == 0,
                       .cardinality = all->cardinality,
                       .based = all->based,
                       .calls_user_code = all->calls_user_code,
                       .minimize_parts =
                           only && all->direct && f->minimize_parts ? minimize_parts : NULL,
                       .minors = all->minors ? make_minors : NULL,
                       .join = join,
                       .ctx = c,
                       .n = c->n};
}

static submod_status finish(builder *b, submod_status status, submod_fn **fn)
{
    combination *c = b->c;
    if (status == SUBMOD_OK && b->w) {
        submod_fn_free(c->modular);
        c->modular = NULL;
        status = submod_fn_modular(c->n, b->w, &c->modular);
    }
    if (status == SUBMOD_OK) {
        const submod_fn made = describe(c);
        if (made.ops.state_size <= SIZE_MAX / 8) {
            return submodi_fn_new(&made, fn);
        }
        status = submodi_out_of_memory();
    }
    if (c) {
        destroy(c);
    }
    return status;
}

/* ---- adding modular functions ---- */

static submod_status own_weights(builder *b)
{
    const double *shared = weights_of(b->c);
    if (b->w) {
        return SUBMOD_OK;
    }
    b->w = submodi_work_alloc(b->work, b->c->n, sizeof *b->w);
    TRY(submodi_work_status(b->work));
    for (size_t e = 0; e < b->c->n; e++) {
        b->w[e] = shared ? shared[e] : 0;
    }
    return SUBMOD_OK;
}

static submod_status add_weights(builder *b, double coefficient, const double *w, size_t n,
                                 element_map map)
{
    TRY(own_weights(b));
    for (size_t e = 0; e < n; e++) {
        int32_t at = map ? map[e] : (int32_t)e;
        if (at < 0) {
            continue;
        }
        b->w[at] += coefficient * w[e];
        if (!isfinite(b->w[at])) {
            return submodi_fail(SUBMOD_ENUMERIC, "the modular part of the combination overflows");
        }
    }
    return SUBMOD_OK;
}

/* The gains of a modular function do not depend on the order. */
static submod_status add_modular(builder *b, double coefficient, const submod_fn *f,
                                 element_map map)
{
    submodi_scope scope;
    TRY(own_weights(b));
    submod_work *work = submodi_scope_open(&scope, b->work);
    double *w = submodi_work_alloc(work, f->n, sizeof *w);
    int32_t *order = submodi_work_alloc(work, f->n, sizeof *order);
    void *state = submodi_work_alloc(work, submodi_fn_state_size(f), 1);
    submod_status status = submodi_work_status(work);
    if (status == SUBMOD_OK) {
        submodi_ascending(order, f->n);
        status = submodi_fn_greedy(f, state, order, w);
    }
    status = status ? status : add_weights(b, coefficient, w, f->n, map);
    submodi_scope_close(&scope);
    return status;
}

/* ---- adding terms ---- */

static submod_status multiply(double a, double b, double *product)
{
    *product = a * b;
    return a == 1 || b == 1 || isnormal(*product)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC,
                              "the product of coefficients %g * %g is not a normal number", a, b);
}

/* The lists of a term in the elements of the combination. */
typedef struct mapped_lists {
    int32_t *base, *outer, *inner;
    size_t nbase, count;
} mapped_lists;

static submod_status map_lists(const submodi_term *t, element_map map, mapped_lists *m,
                               submod_work *work)
{
    *m = (mapped_lists){.base = submodi_work_alloc(work, t->nbase + t->count, sizeof *m->base),
                        .outer = submodi_work_alloc(work, t->count, sizeof *m->outer),
                        .inner = submodi_work_alloc(work, t->count, sizeof *m->inner)};
    TRY(submodi_work_status(work));
    for (; m->nbase < t->nbase; m->nbase++) {
        m->base[m->nbase] = t->base[m->nbase];
    }
    for (size_t j = 0; j < t->count; j++) {
        int32_t at = map ? map[outer_of(t, j)] : outer_of(t, j);
        if (at == IN_BASE) {
            m->base[m->nbase++] = inner_of(t, j);
        } else if (at != OUTSIDE) {
            m->outer[m->count] = at;
            m->inner[m->count++] = inner_of(t, j);
        }
    }
    return SUBMOD_OK;
}

static bool is_identity(const int32_t *list, size_t n)
{
    bool same = true;
    for (size_t j = 0; same && j < n; j++) {
        same = list[j] == (int32_t)j;
    }
    return same;
}

/* Stores copies of the lists. A term with all n elements has no list of outer elements, one with
 * all elements of its function in their order none of inner ones. */
static submod_status store_lists(const mapped_lists *m, size_t n, submodi_term *to)
{
    bool full = m->count == n;
    int32_t *at = to->lists = submodi_alloc(m->nbase + 2 * m->count, sizeof *at);
    if (!at) {
        return submodi_out_of_memory();
    }
    memcpy(at, m->base, m->nbase * sizeof *at);
    to->base = at;
    at += m->nbase;
    if (!full) {
        memcpy(at, m->outer, m->count * sizeof *at);
        to->outer = at;
        at += m->count;
    }
    for (size_t j = 0; j < m->count; j++) {
        at[full ? (size_t)m->outer[j] : j] = m->inner[j];
    }
    to->inner = m->count == to->fn->n && is_identity(at, m->count) ? NULL : at;
    to->nbase = m->nbase;
    to->count = m->count;
    if (is_direct(to)) {
        submodi_free(to->lists);
        to->lists = NULL;
    }
    return SUBMOD_OK;
}

/* What F has in common with all of its terms. */
static submod_status note_term(summary *all, const submodi_term *t)
{
    size_t length = t->nbase + t->count;
    bool full = !t->outer;
    all->longest = length > all->longest ? length : all->longest;
    all->partial += !full;
    all->incidence_count += full ? 0 : t->count;
    all->direct = all->direct && is_direct(t);
    all->tied = all->tied && t->fn->ops.tied;
    all->minors = all->minors && is_direct(t) && t->fn->minors;
    all->cardinality = all->cardinality && full && t->fn->cardinality;
    all->based = all->based || t->nbase;
    all->calls_user_code = all->calls_user_code || t->fn->calls_user_code;
    return submodi_add_size(&all->state_bytes, submodi_fn_state_size(t->fn), 1)
               ? SUBMOD_OK
               : submodi_out_of_memory();
}

/* Appends a term with its own share of fn. m = NULL means all elements as they are. */
static submod_status append_term(builder *b, const submodi_term *t, const mapped_lists *m)
{
    combination *c = b->c;
    submodi_term *to = &c->list->terms[c->count++];
    *to = (submodi_term){.fn = submod_fn_retain(t->fn),
                         .coefficient = t->coefficient,
                         .offset = t->offset,
                         .count = t->count,
                         .state_at = c->all.state_bytes,
                         .list_at = c->all.incidence_count};
    if (!b->shared) {
        atomic_store(&c->list->used, c->count);
    }
    TRY(m ? store_lists(m, c->n, to) : SUBMOD_OK);
    return note_term(&c->all, to);
}

/* A term without elements is a constant. */
static submod_status add_mapped(builder *b, submodi_term *t, const mapped_lists *m)
{
    double value = 0;
    if (b->contracts ? m->count > 0 : m->count == 0) {
        TRY(submodi_fn_eval(t->fn, m->base, m->nbase, &value));
    }
    if (m->count == 0) {
        b->c->constant += b->contracts ? 0 : t->coefficient * (value - t->offset);
        return SUBMOD_OK;
    }
    t->offset = b->contracts ? value : t->offset;
    return append_term(b, t, m);
}

static submod_status add_term(builder *b, double coefficient, const submodi_term *from,
                              element_map map)
{
    if (from->fn->modular) {
        return add_modular(b, coefficient, from->fn, map);
    }
    submodi_term t = *from;
    TRY(multiply(coefficient, from->coefficient, &t.coefficient));
    if (!map && is_direct(from)) {
        return append_term(b, &t, NULL);
    }
    mapped_lists m;
    submodi_scope scope;
    submod_status status = map_lists(from, map, &m, submodi_scope_open(&scope, b->work));
    status = status ? status : add_mapped(b, &t, &m);
    submodi_scope_close(&scope);
    return status;
}

/* Adds coefficient * f, whose elements are mapped. */
static submod_status add_function(builder *b, double coefficient, const submod_fn *f,
                                  element_map map)
{
    const submodi_terms inside = submodi_fn_terms(f);
    const combination *c = combination_of(f);
    if (coefficient == 0) {
        return SUBMOD_OK;
    }
    for (size_t i = 0; i < inside.count; i++) {
        TRY(add_term(b, coefficient, &inside.terms[i], map));
    }
    b->c->constant += c && !b->contracts ? coefficient * c->constant : 0;
    return inside.modular ? add_weights(b, coefficient, inside.modular, f->n, map) : SUBMOD_OK;
}

/* ---- sums, multiples and embeddings ---- */

/* The combination that a sum may extend: the longest one among its terms that comes as it is. */
static size_t extended_term(const submod_term *terms, size_t count)
{
    size_t best = count;
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        const combination *c = combination_of(terms[i].fn);
        if (c && terms[i].coefficient == 1 && !terms[i].elements && c->count >= length) {
            best = i;
            length = c->count;
        }
    }
    return best;
}

/* Begins with the terms of `from`, and with places for more. */
static submod_status begin_with(builder *b, const combination *from, size_t more)
{
    bool shared = from->list && extend_list(from->list, from->count, more);
    size_t room = shared ? 0 : from->count ? 2 * (from->count + more) : more;
    submod_status status = begin(b, from->n, room);
    if (status != SUBMOD_OK) {
        release_list(shared ? from->list : NULL);
        return status;
    }
    b->c->constant = from->constant;
    b->c->modular = submod_fn_retain(from->modular);
    if (shared) {
        b->shared = true;
        b->c->list = from->list;
        b->c->terms = from->terms;
        b->c->count = from->count;
        b->c->all = from->all;
    }
    for (size_t i = b->c->count; i < from->count; i++) {
        TRY(add_term(b, 1, &from->terms[i], NULL));
    }
    return SUBMOD_OK;
}

static submod_status combine(builder *b, size_t n, const submod_term *terms, size_t count,
                             const double *modular)
{
    size_t first = extended_term(terms, count), more = 0;
    for (size_t i = 0; i < count; i++) {
        bool adds = i != first && terms[i].coefficient > 0 && !terms[i].fn->modular;
        more += adds ? submodi_fn_terms(terms[i].fn).count : 0;
    }
    TRY(first < count ? begin_with(b, terms[first].fn->ctx, more) : begin(b, n, more));
    for (size_t i = 0; i < count; i++) {
        if (i != first) {
            TRY(add_function(b, terms[i].coefficient, terms[i].fn, terms[i].elements));
        }
    }
    return modular ? add_weights(b, 1, modular, n, NULL) : SUBMOD_OK;
}

/* seen: a bit for each element, all 0 before and after. */
static submod_status check_elements(const submod_term *t, size_t i, size_t n, uint32_t *seen)
{
    char name[48];
    snprintf(name, sizeof name, "terms[%zu].elements", i);
    submod_status status = submodi_mark_elements(name, t->elements, t->fn->n, n, seen);
    for (size_t j = 0; status == SUBMOD_OK && j < t->fn->n; j++) {
        seen[t->elements[j] / 32] = 0;
    }
    return status;
}

static submod_status check_term(const submod_term *t, size_t i, size_t n)
{
    if (!t->fn) {
        return submodi_fail(SUBMOD_EINVAL, "terms[%zu].fn is NULL", i);
    }
    if (!(t->coefficient >= 0) || isinf(t->coefficient)) {
        return submodi_fail(isfinite(t->coefficient) ? SUBMOD_EINVAL : SUBMOD_ENONFINITE,
                            "terms[%zu].coefficient = %g must be finite and >= 0", i,
                            t->coefficient);
    }
    return t->elements || t->fn->n == n
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_EINVAL,
                              "terms[%zu].fn has %zu elements instead of n = %zu, and "
                              "terms[%zu].elements is NULL",
                              i, t->fn->n, n, i);
}

static submod_status check_terms(size_t n, const submod_term *terms, size_t count,
                                 submod_work *work)
{
    uint32_t *seen = NULL;
    TRY(count ? submodi_check_given("terms", terms) : SUBMOD_OK);
    for (size_t i = 0; i < count; i++) {
        TRY(check_term(&terms[i], i, n));
        if (terms[i].elements && !seen) {
            seen = submodi_work_alloc(work, n / 32 + 1, sizeof *seen);
            TRY(submodi_work_status(work));
            memset(seen, 0, (n / 32 + 1) * sizeof *seen);
        }
        TRY(terms[i].elements ? check_elements(&terms[i], i, n, seen) : SUBMOD_OK);
    }
    return SUBMOD_OK;
}

submod_status submod_fn_combine(size_t n, const submod_term *terms, size_t count,
                                const double *modular, submod_fn **fn)
{
    submodi_scope scope;
    builder b = {.work = submodi_scope_open(&scope, NULL)};
    submod_status status = submodi_check_size(n, fn);
    status = status ? status : check_terms(n, terms, count, b.work);
    status = status || !modular ? status : submodi_check_finite("modular", modular, n);
    status = status ? status : combine(&b, n, terms, count, modular);
    status = finish(&b, status, fn);
    submodi_scope_close(&scope);
    return submodi_return("submod_fn_combine", status);
}

/* ---- restrictions and contractions ---- */

/* A -> F(base + A), or F(base + A) - F(base), for the subsets A of ground, whose element j is j of
 * the minor. */
static submod_status make_minor(builder *b, const submod_fn *f, const submod_minor *m)
{
    int32_t *map = submodi_work_alloc(b->work, f->n, sizeof *map);
    TRY(submodi_work_status(b->work));
    for (size_t e = 0; e < f->n; e++) {
        map[e] = OUTSIDE;
    }
    for (size_t i = 0; i < m->nbase; i++) {
        map[m->base[i]] = IN_BASE;
    }
    for (size_t j = 0; j < m->nground; j++) {
        map[m->ground[j]] = (int32_t)j;
    }
    TRY(begin(b, m->nground, submodi_fn_terms(f).count));
    return add_function(b, 1, f, map);
}

static submod_status new_minor(const submod_fn *f, const submod_minor *m, bool contracts,
                               submod_fn **fn)
{
    submodi_scope scope;
    builder b = {.contracts = contracts, .work = submodi_scope_open(&scope, NULL)};
    submod_status status = finish(&b, make_minor(&b, f, m), fn);
    submodi_scope_close(&scope);
    return status;
}

submod_status submodi_fn_minor(const submod_fn *f, const int32_t *order, submodi_part part,
                               submod_fn **fn)
{
    const submod_minor m = {order, part.begin, order + part.begin, part.end - part.begin};
    return new_minor(f, &m, true, fn);
}

static submod_status restrict_to(const submod_fn *f, const int32_t *elements, size_t k,
                                 submod_fn **fn)
{
    TRY(submodi_check_given("fn", f));
    TRY(submodi_check_size(k, fn));
    TRY(submodi_check_elements("elements", elements, k, f->n));
    return new_minor(f, &(submod_minor){.ground = elements, .nground = k}, false, fn);
}

submod_status submod_fn_restrict(const submod_fn *f, const int32_t *elements, size_t k,
                                 submod_fn **fn)
{
    return submodi_return("submod_fn_restrict", restrict_to(f, elements, k, fn));
}

/* rest = V \ elements in ascending order. */
static void complement(size_t n, const int32_t *elements, size_t k, int32_t *rest)
{
    size_t left = 0;
    submodi_ascending(rest, n);
    for (size_t i = 0; i < k; i++) {
        rest[elements[i]] = -1;
    }
    for (size_t e = 0; e < n; e++) {
        rest[left] = rest[e];
        left += rest[e] >= 0;
    }
}

static submod_status contract(const submod_fn *f, const int32_t *elements, size_t k, submod_fn **fn)
{
    TRY(submodi_check_given("fn", f));
    TRY(submodi_check_elements("elements", elements, k, f->n));
    TRY(submodi_check_size(f->n - k, fn));
    int32_t *rest = submodi_alloc(f->n, sizeof *rest);
    if (!rest) {
        return submodi_out_of_memory();
    }
    complement(f->n, elements, k, rest);
    submod_status status = new_minor(f, &(submod_minor){elements, k, rest, f->n - k}, true, fn);
    submodi_free(rest);
    return status;
}

submod_status submod_fn_contract(const submod_fn *f, const int32_t *elements, size_t k,
                                 submod_fn **fn)
{
    return submodi_return("submod_fn_contract", contract(f, elements, k, fn));
}

/* ---- single terms, and minors of each term's own kind ---- */

submod_status submodi_fn_of_term(const submodi_term *t, submod_fn **fn)
{
    if (!t->inner && !t->nbase) {
        *fn = submod_fn_retain(t->fn);
        return SUBMOD_OK;
    }
    submodi_scope scope;
    builder b = {.work = submodi_scope_open(&scope, NULL)};
    submodi_term alone = *t;
    alone.coefficient = 1;
    alone.outer = NULL;
    submod_status status = begin(&b, t->count, 1);
    status = status ? status : add_term(&b, 1, &alone, NULL);
    status = finish(&b, status, fn);
    submodi_scope_close(&scope);
    return status;
}

/* The combination of one minor of each term, with the modular part there. */
static submod_status combine_minors(const combination *c, submod_fn *const *made, size_t stride,
                                    const int32_t *elements, size_t n, submod_fn **fn)
{
    submodi_scope scope;
    builder b = {.work = submodi_scope_open(&scope, NULL)};
    const double *w = weights_of(c);
    submod_status status = begin(&b, n, c->count);
    for (size_t i = 0; status == SUBMOD_OK && i < c->count; i++) {
        status = add_function(&b, c->terms[i].coefficient, made[i * stride], NULL);
    }
    status = status || !w ? status : own_weights(&b);
    for (size_t j = 0; status == SUBMOD_OK && w && j < n; j++) {
        b.w[j] += w[elements[j]];
    }
    status = finish(&b, status, fn);
    submodi_scope_close(&scope);
    return status;
}

static submod_status make_minors(const void *ctx, const int32_t *order, const submodi_part *parts,
                                 size_t nparts, submod_fn **fns)
{
    const combination *c = ctx;
    submod_fn **made = submodi_alloc(submodi_times(c->count, nparts), sizeof(submod_fn *));
    submod_status status = made ? SUBMOD_OK : submodi_out_of_memory();
    size_t terms = 0;
    for (; status == SUBMOD_OK && terms < c->count; terms += status == SUBMOD_OK) {
        status = submodi_fn_minors(c->terms[terms].fn, order, parts, nparts, made + terms * nparts);
    }
    for (size_t j = 0; status == SUBMOD_OK && j < nparts; j++) {
        status = combine_minors(c, made + j, nparts, order + parts[j].begin,
                                parts[j].end - parts[j].begin, &fns[j]);
    }
    submodi_fn_free_all(made, made ? terms * nparts : 0);
    submodi_free(made);
    return status;
}
