/* Combinations of set functions in one flat form:
 *
 *     F(A) = sum over terms i of c_i [f_i(B_i + phi_i(A n S_i)) - offset_i] + w(A) + constant,
 *
 * where no f_i is a combination itself, phi_i maps the elements S_i of F to elements of f_i, and
 * offset_i is f_i(B_i) for a contraction, else 0. Sums, multiples, modular parts, restrictions,
 * contractions and embeddings all have this form (flatten.c).
 *
 * The base polytope of a sum is the sum of the base polytopes, so gains add up, also when they are
 * averaged over ties. Terms with all elements see every chain. Terms with some elements cost what
 * is touched: lists of incidences, made at the first use, give the terms of an element.
 */
#include "submod/combine.h"

#include <math.h>
#include <stdlib.h>

#include "base/internal.h"

typedef submodi_combination combination;
typedef submodi_incidences incidences;

submodi_terms submodi_fn_terms(const submod_fn *fn)
{
    if (fn->kind != SUBMODI_COMBINATION) {
        return (submodi_terms){fn->n, 1, &fn->itself, NULL};
    }
    const combination *c = fn->ctx;
    return (submodi_terms){c->n, c->count, c->terms, c->modular ? c->modular->w : NULL};
}

/* ---- incidences ---- */

static int by_element_and_term(const void *a, const void *b)
{
    const submodi_incidence *p = a;
    const submodi_incidence *q = b;
    int by_element = (p->element > q->element) - (p->element < q->element);
    return by_element ? by_element : (p->term > q->term) - (p->term < q->term);
}

/* Counting sort: start[e] moves from the end of e's incidences to their beginning. */
static void fill_by_counting(const combination *c, incidences *lists)
{
    size_t *start = lists->start;
    memset(start, 0, (c->n + 1) * sizeof *start);
    for (size_t i = 0; i < c->count; i++) {
        for (size_t j = 0; c->terms[i].outer && j < c->terms[i].count; j++) {
            start[c->terms[i].outer[j]]++;
        }
    }
    for (size_t e = 0; e < c->n; e++) {
        start[e + 1] += start[e];
    }
    for (size_t i = c->count; i-- > 0;) {
        const submodi_term *t = &c->terms[i];
        for (size_t j = 0; t->outer && j < t->count; j++) {
            lists->at[--start[t->outer[j]]] =
                (submodi_incidence){t->outer[j], t->inner ? t->inner[j] : (int32_t)j, (uint32_t)i};
        }
    }
}

static void fill_by_sorting(const combination *c, incidences *lists)
{
    size_t next = 0;
    for (size_t i = 0; i < c->count; i++) {
        const submodi_term *t = &c->terms[i];
        for (size_t j = 0; t->outer && j < t->count; j++) {
            lists->at[next++] =
                (submodi_incidence){t->outer[j], t->inner ? t->inner[j] : (int32_t)j, (uint32_t)i};
        }
    }
    qsort(lists->at, next, sizeof *lists->at, by_element_and_term);
}

/* One block of memory: the incidences, the full terms, and start unless it would be much larger
 * than both. */
static incidences *make_incidences(const combination *c)
{
    size_t bytes = 0;
    size_t full = c->count - c->partial;
    bool dense = c->n / 4 <= c->incidence_count + full;
    bool fits = submodi_add_size(&bytes, 1, sizeof(incidences)) &&
                submodi_add_size(&bytes, c->incidence_count, sizeof(submodi_incidence));
    size_t full_at = bytes;
    fits = fits && submodi_add_size(&bytes, full, sizeof(uint32_t));
    size_t start_at = bytes;
    fits = fits && submodi_add_size(&bytes, dense ? c->n + 1 : 0, sizeof(size_t));
    incidences *lists = fits ? submodi_alloc(bytes, 1) : NULL;
    if (!lists) {
        return NULL;
    }
    *lists = (incidences){.count = c->incidence_count,
                          .full = (void *)((char *)lists + full_at),
                          .start = dense ? (void *)((char *)lists + start_at) : NULL};
    for (size_t i = 0; i < c->count; i++) {
        if (!c->terms[i].outer) {
            lists->full[lists->full_count++] = (uint32_t)i;
        }
    }
    (dense ? fill_by_counting : fill_by_sorting)(c, lists);
    return lists;
}

/* The lists of c, made by the first thread that needs them; NULL and SUBMOD_OK if all terms have
 * all elements. */
static submod_status find_incidences(const combination *c, const incidences **lists)
{
    *lists = NULL;
    if (!c->partial) {
        return SUBMOD_OK;
    }
    submodi_combination *owner = (submodi_combination *)c; /* the lists are a cache */
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

/* The first incidence of e or of a later element. */
static const submodi_incidence *first_incidence(const incidences *lists, int32_t e)
{
    if (lists->start) {
        return lists->at + lists->start[e];
    }
    size_t low = 0;
    size_t high = lists->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool before = lists->at[middle].element < e;
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return lists->at + low;
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

typedef struct memory {
    double *gains;              /* longest */
    int32_t *numbers;           /* longest, unless all terms are direct */
    uint32_t *touched, *counts; /* partial terms met, and how many elements of each; by term */
    int32_t *inner, *positions; /* of each incidence: by term, from list_at on */
    char *states;
} memory;

/* The bytes before the states. */
static size_t header_bytes(const combination *c)
{
    size_t terms = c->partial ? c->count : 0;
    return submodi_round_up(c->longest * sizeof(double) +
                            ((c->direct ? 0 : c->longest) + 2 * terms + 2 * c->incidence_count) *
                                sizeof(int32_t));
}

static memory memory_of(const combination *c, void *state)
{
    size_t terms = c->partial ? c->count : 0;
    memory m = {.gains = state, .states = (char *)state + header_bytes(c)};
    m.numbers = (void *)(m.gains + c->longest);
    m.touched = (uint32_t *)m.numbers + (c->direct ? 0 : c->longest);
    m.counts = m.touched + terms;
    m.inner = (int32_t *)m.counts + terms;
    m.positions = m.inner + c->incidence_count;
    return m;
}

/* Sorts the elements by partial term; counts are 0 before. Returns how many terms there are. */
static size_t sort_by_term(const combination *c, const incidences *lists, const int32_t *elements,
                           size_t k, memory *m)
{
    size_t terms = 0;
    const submodi_incidence *end = lists->at + lists->count;
    for (size_t i = 0; i < k; i++) {
        const submodi_incidence *at = first_incidence(lists, elements[i]);
        for (; at < end && at->element == elements[i]; at++) {
            uint32_t *count = &m->counts[at->term];
            size_t place = c->terms[at->term].list_at + *count;
            if (*count == 0) {
                m->touched[terms++] = at->term;
            }
            m->inner[place] = at->inner;
            m->positions[place] = (int32_t)i;
            ++*count;
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

static submod_status eval_partial(const combination *c, const incidences *lists, const int32_t *set,
                                  size_t k, memory *m, double *total)
{
    memset(m->counts, 0, c->count * sizeof *m->counts);
    sort_by_term(c, lists, set, k, m);
    for (size_t i = 0; i < c->count; i++) {
        const submodi_term *t = &c->terms[i];
        if (t->outer) {
            TRY(add_value(t, m->inner + t->list_at, m->counts[i], m->numbers, total));
        }
    }
    return SUBMOD_OK;
}

static submod_status eval_terms(const combination *c, const int32_t *set, size_t k, double *total,
                                submod_work *work)
{
    const incidences *lists;
    TRY(find_incidences(c, &lists));
    void *scratch = submodi_work_alloc(work, header_bytes(c), 1);
    int32_t *list = submodi_work_alloc(work, c->longest, sizeof *list);
    TRY(submodi_work_status(work));
    memory m = memory_of(c, scratch);
    for (size_t i = 0; i < full_count(c, lists); i++) {
        const submodi_term *t = full_term(c, lists, i);
        TRY(add_value(t, translate(t, set, k, list), k, m.numbers, total));
    }
    return lists ? eval_partial(c, lists, set, k, &m, total) : SUBMOD_OK;
}

static submod_status eval_direct(const combination *c, const int32_t *set, size_t k, double *total)
{
    for (size_t i = 0; i < c->count; i++) {
        double value;
        TRY(submodi_fn_eval(c->terms[i].fn, set, k, &value));
        *total += c->terms[i].coefficient * (value - c->terms[i].offset);
    }
    return SUBMOD_OK;
}

static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const combination *c = ctx;
    double total = c->constant;
    if (c->direct) {
        TRY(eval_direct(c, set, k, &total));
    } else {
        submodi_scope scope;
        submod_work *work = submodi_scope_open(&scope, NULL);
        submod_status status = eval_terms(c, set, k, &total, work);
        submodi_scope_close(&scope);
        TRY(status);
    }
    for (size_t i = 0; c->modular && i < k; i++) {
        total += c->modular->w[set[i]];
    }
    *value = total;
    return SUBMOD_OK;
}

/* ---- chains ---- */

static submod_status reset(const void *ctx, void *state)
{
    const combination *c = ctx;
    memory m = memory_of(c, state);
    for (size_t i = 0; i < c->count; i++) {
        const submodi_term *t = &c->terms[i];
        TRY(submodi_fn_reset(t->fn, m.states + t->state_at));
        if (t->nbase) {
            TRY(submodi_fn_chain(t->fn, m.states + t->state_at, t->base, t->nbase, m.gains));
        }
    }
    if (c->partial) {
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
    TRY(find_incidences(c, &lists));
    char *states = memory_of(c, state).states;
    double total = 0;
    for (size_t i = 0; i < full_count(c, lists); i++) {
        const submodi_term *t = full_term(c, lists, i);
        TRY(add_one(t, states, t->inner ? t->inner[e] : e, call, &total));
    }
    if (lists) {
        const submodi_incidence *end = lists->at + lists->count;
        const submodi_incidence *at = first_incidence(lists, e);
        for (; at < end && at->element == e; at++) {
            TRY(add_one(&c->terms[at->term], states, at->inner, call, &total));
        }
    }
    *result = total + (c->modular ? c->modular->w[e] : 0);
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
                              const int32_t *elements, size_t k, const memory *m, chain_call *call,
                              double *gains)
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
                                 const int32_t *elements, size_t k, memory *m, chain_call *call,
                                 double *gains)
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
    TRY(find_incidences(c, &lists));
    memory m = memory_of(c, state);
    if (full_count(c, lists) == 0) {
        memset(gains, 0, k * sizeof *gains);
    }
    TRY(add_full(c, lists, elements, k, &m, call, gains));
    if (lists) {
        TRY(add_partial(c, lists, elements, k, &m, call, gains));
    }
    for (size_t i = 0; c->modular && i < k; i++) {
        gains[i] += c->modular->w[elements[i]];
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
        const submodi_term *t = &c->terms[i];
        const submodi_inside inside = {t->fn, t->base, t->nbase, t->inner, t->outer, t->count};
        TRY(submodi_is_direct(t) ? submodi_fn_join(t->fn, ties, forest, work)
                                 : submodi_fn_join_inside(&inside, ties, forest, work));
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
    for (size_t i = 0; i < k; i++) {
        rest[i] = (z[i] - (c->modular ? c->modular->w[elements[i]] : 0)) / divisor;
    }
    return submodi_all_finite(rest, k)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "minimize of a combination: (z - w) / c overflows");
}

/* What a minimiser of the term is asked for, in the term's own elements. */
typedef struct inner_minor {
    submod_minor minor;
    int32_t *elements;  /* base, then ground */
    int32_t *positions; /* of ground's elements in the ground of the minor outside */
    double *z, *s;
    uint8_t *in[2]; /* smallest, largest */
} inner_minor;

/* e as an element of the term, or -1. */
static int32_t inner_element(const submodi_term *t, const incidences *lists, int32_t e)
{
    if (!t->outer) {
        return t->inner ? t->inner[e] : e;
    }
    const submodi_incidence *at = lists ? first_incidence(lists, e) : NULL;
    return at && at < lists->at + lists->count && at->element == e ? at->inner : -1;
}

static submod_status translate_minor(const combination *c, const submod_minor *outside,
                                     inner_minor *m, submod_work *work)
{
    const submodi_term *t = c->terms;
    const incidences *lists;
    size_t k = outside->nground;
    TRY(find_incidences(c, &lists));
    m->elements = submodi_work_alloc(work, t->nbase + outside->nbase + k, sizeof *m->elements);
    m->positions = submodi_work_alloc(work, k, sizeof *m->positions);
    m->z = submodi_work_alloc(work, k, sizeof *m->z);
    m->s = submodi_work_alloc(work, k, sizeof *m->s);
    m->in[0] = submodi_work_alloc(work, k, 1);
    m->in[1] = submodi_work_alloc(work, k, 1);
    TRY(submodi_work_status(work));
    size_t nbase = 0;
    for (; nbase < t->nbase; nbase++) {
        m->elements[nbase] = t->base[nbase];
    }
    for (size_t i = 0; i < outside->nbase; i++) {
        int32_t e = inner_element(t, lists, outside->base[i]);
        m->elements[nbase] = e;
        nbase += e >= 0;
    }
    m->minor = (submod_minor){m->elements, nbase, m->elements + nbase, 0};
    for (size_t i = 0; i < k; i++) {
        int32_t e = inner_element(t, lists, outside->ground[i]);
        if (e >= 0) {
            m->positions[m->minor.nground] = (int32_t)i;
            m->elements[nbase + m->minor.nground++] = e;
        }
    }
    return SUBMOD_OK;
}

/* Elements without a term: in for z > w, and in the largest set for z = w. */
static void minimize_modular(const double *rest, size_t k, uint8_t *smallest, uint8_t *largest,
                             double *s)
{
    for (size_t i = 0; i < k; i++) {
        if (smallest) {
            smallest[i] = rest[i] > 0;
        }
        if (largest) {
            largest[i] = rest[i] >= 0;
        }
        if (s) {
            s[i] = -rest[i];
        }
    }
}

/* Minimises the term, and writes what it gives over the minimisers of the modular part. */
static submod_status minimize_inside(const combination *c, const submod_minor *outside,
                                     const double *rest, uint8_t *smallest, uint8_t *largest,
                                     double *s, submod_work *work)
{
    const submodi_term *t = c->terms;
    inner_minor m;
    TRY(translate_minor(c, outside, &m, work));
    size_t k = m.minor.nground;
    for (size_t j = 0; j < k; j++) {
        m.z[j] = rest[m.positions[j]] / t->coefficient;
    }
    if (k == 0) {
        return SUBMOD_OK;
    }
    if (!submodi_all_finite(m.z, k)) {
        return submodi_fail(SUBMOD_ENUMERIC, "minimize of a combination: (z - w) / c overflows");
    }
    TRY(submodi_fn_minimize(t->fn, &m.minor, m.z, smallest ? m.in[0] : NULL,
                            largest ? m.in[1] : NULL, s ? m.s : NULL));
    for (size_t j = 0; j < k; j++) {
        int32_t i = m.positions[j];
        if (smallest) {
            smallest[i] = m.in[0][j];
        }
        if (largest) {
            largest[i] = m.in[1][j];
        }
        if (s) {
            s[i] = t->coefficient * m.s[j];
        }
    }
    if (s && isnan(m.s[0])) { /* the term has no base at hand */
        s[0] = NAN;
    }
    return SUBMOD_OK;
}

/* A term with all elements under their own numbers needs no translation. */
static submod_status minimize_direct(const combination *c, const submod_minor *minor,
                                     const double *z, uint8_t *smallest, uint8_t *largest,
                                     double *s, submod_work *work)
{
    const submodi_term *t = c->terms;
    double *rest = submodi_work_alloc(work, minor->nground, sizeof *rest);
    TRY(submodi_work_status(work));
    TRY(subtract_modular(c, minor->ground, minor->nground, z, t->coefficient, rest));
    TRY(submodi_fn_minimize(t->fn, minor, rest, smallest, largest, s));
    for (size_t i = 0; s && i < minor->nground; i++) {
        s[i] *= t->coefficient;
    }
    return SUBMOD_OK;
}

static submod_status minimize_in(const combination *c, const submod_minor *minor, const double *z,
                                 uint8_t *smallest, uint8_t *largest, double *s, submod_work *work)
{
    if (c->count && submodi_is_direct(c->terms)) {
        return minimize_direct(c, minor, z, smallest, largest, s, work);
    }
    double *rest = submodi_work_alloc(work, minor->nground, sizeof *rest);
    TRY(submodi_work_status(work));
    TRY(subtract_modular(c, minor->ground, minor->nground, z, 1, rest));
    minimize_modular(rest, minor->nground, smallest, largest, s);
    return c->count ? minimize_inside(c, minor, rest, smallest, largest, s, work) : SUBMOD_OK;
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
    double *inside = submodi_work_alloc(work, 3 * t->count, sizeof *inside);
    TRY(submodi_work_status(work));
    double *u_inside = inside + t->count;
    double *s_inside = u_inside + t->count;
    for (size_t e = 0; e < c->n; e++) {
        s[e] = c->modular ? c->modular->w[e] : 0;
        u[e] = x[e] - s[e] / lambda;
    }
    for (size_t j = 0; j < t->count; j++) {
        inside[t->inner ? t->inner[j] : (int32_t)j] = u[t->outer ? t->outer[j] : (int32_t)j];
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
        int32_t e = t->outer ? t->outer[j] : (int32_t)j;
        int32_t i = t->inner ? t->inner[j] : (int32_t)j;
        u[e] = u_inside[i];
        s[e] += t->coefficient * s_inside[i];
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

/* ---- the slots ---- */

bool submodi_combination_slots(submod_fn *fn, bool all_tied, bool all_minors)
{
    const combination *c = fn->ctx;
    const submodi_term *only = c->count == 1 ? c->terms : NULL;
    const submod_fn *f = only ? only->fn : NULL;
    bool direct = only && submodi_is_direct(only);
    bool whole = only && !only->nbase && only->count == f->n; /* no restriction or contraction */
    fn->ops.eval = eval;
    fn->ops.state_size = header_bytes(c) + c->state_bytes;
    fn->ops.reset = reset;
    fn->ops.chain = chain;
    fn->ops.gain = gain;
    fn->ops.tied = all_tied ? tied : NULL;
    fn->ops.minimize = !c->count || (only && f->ops.minimize) ? minimize : NULL;
    fn->ops.prox = whole && f->ops.prox ? prox : NULL;
    fn->minimize_parts = direct && f->minimize_parts ? minimize_parts : NULL;
    fn->minors = all_minors ? submodi_combination_minors : NULL;
    fn->join = join;
    return fn->ops.state_size <= SIZE_MAX / 8;
}
