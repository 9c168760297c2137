/* Combinations of set functions in one flat form:
 *
 *     F(A) = sum over terms i of c_i [f_i(B_i + phi_i(A n S_i)) - offset_i] + w(A) + constant,
 *
 * where no f_i is a combination, phi_i maps the elements S_i of F to elements of f_i, and offset_i
 * is f_i(B_i) in a contraction, else 0. Sums, multiples, modular parts, restrictions, contractions
 * and embeddings all have this form.
 *
 * Base polytopes of a sum add up, so gains add up, also when they are averaged over ties. A call
 * costs what its elements cost: full terms, which have all elements, see all of them; incidences,
 * made at the first use, sort them by the other terms.
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

/* An element of F is element `inner` of the function of term `term`. */
typedef struct incidence {
    int32_t inner;
    uint32_t term;
} incidence;

/* The incidences of element e are at[start[e]] .. at[start[e + 1] - 1]; those of n, which is no
 * element, stand for the full terms. */
typedef struct incidences {
    size_t *start; /* n + 2 */
    incidence at[];
} incidences;

/* What the terms have in common. */
typedef struct summary {
    size_t partial;         /* terms that are not full */
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

static const double *weights_of(const combination *c)
{
    return c->modular ? c->modular->ctx : NULL;
}

submodi_terms submodi_fn_terms(const submod_fn *fn)
{
    const combination *c = fn->kind == SUBMODI_COMBINATION ? fn->ctx : NULL;
    return c ? (submodi_terms){c->n, c->count, c->terms, weights_of(c), c->constant}
             : (submodi_terms){fn->n, 1, &fn->itself, NULL, 0};
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

/* ---- the elements of a call, term by term ---- */

/* Counting sort: start[e] moves from the end of e's incidences to their beginning. */
static void fill_incidences(const combination *c, incidences *lists)
{
    size_t *start = lists->start;
    memset(start, 0, (c->n + 2) * sizeof *start);
    for (size_t i = 0; i < c->count; i++) {
        const submodi_term *t = &c->terms[i];
        for (size_t j = 0; j < (t->outer ? t->count : 1); j++) {
            start[t->outer ? (size_t)t->outer[j] : c->n]++;
        }
    }
    for (size_t e = 0; e <= c->n; e++) {
        start[e + 1] += start[e];
    }
    for (size_t i = c->count; i-- > 0;) {
        const submodi_term *t = &c->terms[i];
        for (size_t j = 0; j < (t->outer ? t->count : 1); j++) {
            size_t e = t->outer ? (size_t)t->outer[j] : c->n;
            lists->at[--start[e]] = (incidence){inner_of(t, j), (uint32_t)i};
        }
    }
}

/* The sizes cannot overflow: all that is counted lies in the memory of the terms. */
static incidences *make_incidences(const combination *c)
{
    size_t count = c->all.incidence_count + c->count - c->all.partial;
    size_t bytes = sizeof(incidences) + count * sizeof(incidence);
    char *memory = submodi_alloc(bytes + (c->n + 2) * sizeof(size_t), 1);
    incidences *lists = (void *)memory;
    if (lists) {
        lists->start = (void *)(memory + bytes);
        fill_incidences(c, lists);
    }
    return lists;
}

/* The incidences of c, made by the first thread that needs them; NULL and SUBMOD_OK if all terms
 * are full. */
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

/* A call's elements by term. The state of a combination adds a term's gains and all states. */
typedef struct call_memory {
    const incidences *lists;
    int32_t *numbers;           /* longest, unless all terms are direct */
    uint32_t *met, *counts;     /* terms met; elements of each partial term, by term */
    int32_t *inner, *positions; /* of each incidence: by term, from list_at on */
    double *gains;              /* longest */
    char *states;
} call_memory;

/* The bytes before the gains, and of the gains. */
static size_t list_bytes(const combination *c)
{
    const summary *all = &c->all;
    size_t numbers = all->direct ? 0 : all->longest;
    size_t by_term = all->partial ? 2 * c->count : 0;
    return submodi_round_up((numbers + by_term + 2 * all->incidence_count) * sizeof(int32_t));
}

static size_t gain_bytes(const combination *c)
{
    return submodi_round_up(c->all.longest * sizeof(double));
}

static submod_status open_memory(const combination *c, void *memory, call_memory *m)
{
    size_t terms = c->all.partial ? c->count : 0;
    m->numbers = memory;
    m->met = (uint32_t *)m->numbers + (c->all.direct ? 0 : c->all.longest);
    m->counts = m->met + terms;
    m->inner = (int32_t *)m->counts + terms;
    m->positions = m->inner + c->all.incidence_count;
    m->gains = (void *)((char *)memory + list_bytes(c));
    m->states = (char *)m->gains + gain_bytes(c);
    return find_incidences(c, &m->lists);
}

/* Begins with no elements in any term. */
static submod_status clear_memory(const combination *c, void *memory, call_memory *m)
{
    TRY(open_memory(c, memory, m));
    if (m->lists) {
        memset(m->counts, 0, c->count * sizeof *m->counts);
    }
    return SUBMOD_OK;
}

/* Sorts the elements by term. Returns how many terms have some of them. The full ones come first,
 * the others in the order in which they are met. */
static size_t sort_by_term(const combination *c, const call_memory *m, const int32_t *elements,
                           size_t k)
{
    const incidences *lists = m->lists;
    size_t met = 0;
    if (!lists) {
        return c->count;
    }
    for (size_t at = lists->start[c->n]; at < lists->start[c->n + 1]; at++) {
        m->met[met++] = lists->at[at].term;
    }
    for (size_t i = 0; i < k; i++) {
        size_t end = lists->start[elements[i] + 1];
        for (size_t at = lists->start[elements[i]]; at < end; at++) {
            uint32_t term = lists->at[at].term;
            size_t place = c->terms[term].list_at + m->counts[term];
            if (m->counts[term]++ == 0) {
                m->met[met++] = term;
            }
            m->inner[place] = lists->at[at].inner;
            m->positions[place] = (int32_t)i;
        }
    }
    return met;
}

/* The elements of a call that a term has, in its own numbers. */
typedef struct selection {
    const submodi_term *term;
    const int32_t *elements, *positions; /* positions in the call; NULL means all of them */
    size_t count;
} selection;

/* Takes the elements of a term after sort_by_term. The memory is used again for the next term. */
static selection take_elements(const combination *c, const call_memory *m, size_t term,
                               const int32_t *elements, size_t k)
{
    const submodi_term *t = &c->terms[term];
    if (t->outer) {
        size_t count = m->counts[term];
        m->counts[term] = 0;
        return (selection){t, m->inner + t->list_at, m->positions + t->list_at, count};
    }
    for (size_t i = 0; t->inner && i < k; i++) {
        m->numbers[i] = t->inner[elements[i]];
    }
    return (selection){t, t->inner ? m->numbers : elements, NULL, k};
}

static selection take_met(const combination *c, const call_memory *m, size_t i,
                          const int32_t *elements, size_t k)
{
    return take_elements(c, m, m->lists ? m->met[i] : i, elements, k);
}

/* ---- eval ---- */

/* The value of a term at its base and the selected elements. */
static submod_status value_of_term(const selection *s, const call_memory *m, double *value)
{
    const submodi_term *t = s->term;
    const int32_t *set = s->elements;
    if (t->nbase) {
        memmove(m->numbers + t->nbase, s->elements, s->count * sizeof *m->numbers);
        memcpy(m->numbers, t->base, t->nbase * sizeof *m->numbers);
        set = m->numbers;
    }
    TRY(submodi_fn_eval(t->fn, set, t->nbase + s->count, value));
    *value = t->coefficient * (*value - t->offset);
    return SUBMOD_OK;
}

static submod_status eval_terms(const combination *c, const int32_t *set, size_t k, void *memory,
                                double *total)
{
    call_memory m;
    TRY(clear_memory(c, memory, &m));
    sort_by_term(c, &m, set, k);
    for (size_t i = 0; i < c->count; i++) {
        selection s = take_elements(c, &m, i, set, k);
        double value;
        TRY(value_of_term(&s, &m, &value));
        *total += value;
    }
    return SUBMOD_OK;
}

static submod_status eval(const void *ctx, const int32_t *set, size_t k, double *value)
{
    const combination *c = ctx;
    const double *w = weights_of(c);
    double few[128], total = c->constant;
    size_t bytes = list_bytes(c);
    void *memory = bytes <= sizeof few ? few : submodi_alloc(bytes, 1);
    submod_status status = memory ? eval_terms(c, set, k, memory, &total) : submodi_out_of_memory();
    for (size_t i = 0; w && i < k; i++) {
        total += w[set[i]];
    }
    if (memory != few) {
        submodi_free(memory);
    }
    *value = total;
    return status;
}

/* ---- chains ---- */

static submod_status reset(const void *ctx, void *state)
{
    const combination *c = ctx;
    call_memory m;
    TRY(clear_memory(c, state, &m));
    for (size_t i = 0; i < c->count; i++) {
        const submodi_term *t = &c->terms[i];
        TRY(submodi_fn_reset(t->fn, m.states + t->state_at));
        if (t->nbase) {
            TRY(submodi_fn_chain(t->fn, m.states + t->state_at, t->base, t->nbase, m.gains));
        }
    }
    return SUBMOD_OK;
}

/* submodi_fn_chain, submodi_fn_tied, or the gain of one element. */
typedef submod_status gains_call(const submod_fn *fn, void *state, const int32_t *elements,
                                 size_t k, double *gains);

/* gains += c own; the first full term has written its gains in place. */
static void add_gains(const selection *s, const double *own, double *gains)
{
    double c = s->term->coefficient;
    for (size_t j = 0; own == gains && c != 1 && j < s->count; j++) {
        gains[j] *= c;
    }
    for (size_t j = 0; own != gains && s->positions && j < s->count; j++) {
        gains[s->positions[j]] += c * own[j];
    }
    for (size_t j = 0; own != gains && !s->positions && j < s->count; j++) {
        gains[j] += c * own[j];
    }
}

static submod_status sum_gains(const combination *c, const call_memory *m, size_t met,
                               const int32_t *elements, size_t k, gains_call *call, double *gains)
{
    const double *w = weights_of(c);
    if (c->all.partial == c->count) {
        memset(gains, 0, k * sizeof *gains);
    }
    for (size_t i = 0; i < met; i++) {
        selection s = take_met(c, m, i, elements, k);
        double *own = i == 0 && !s.positions ? gains : m->gains;
        TRY(call(s.term->fn, m->states + s.term->state_at, s.elements, s.count, own));
        add_gains(&s, own, gains);
    }
    for (size_t i = 0; w && i < k; i++) {
        gains[i] += w[elements[i]];
    }
    return SUBMOD_OK;
}

static submod_status chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                           double *gains)
{
    call_memory m;
    TRY(open_memory(ctx, state, &m));
    size_t met = sort_by_term(ctx, &m, elements, k);
    return sum_gains(ctx, &m, met, elements, k, submodi_fn_chain, gains);
}

static submod_status gain_call(const submod_fn *fn, void *state, const int32_t *elements, size_t k,
                               double *gains)
{
    (void)k;
    return submodi_fn_gain(fn, state, *elements, gains);
}

static submod_status gain(const void *ctx, void *state, int32_t e, double *result)
{
    call_memory m;
    TRY(open_memory(ctx, state, &m));
    size_t met = sort_by_term(ctx, &m, &e, 1);
    return sum_gains(ctx, &m, met, &e, 1, gain_call, result);
}

static int ascending(const void *a, const void *b)
{
    const uint32_t *p = a;
    const uint32_t *q = b;
    return (*p > *q) - (*p < *q);
}

/* Adds averages in the order of terms, so that the order of the elements does not show in the last
 * bits. */
static submod_status tied(const void *ctx, void *state, const int32_t *elements, size_t k,
                          double *gains)
{
    const combination *c = ctx;
    call_memory m;
    TRY(open_memory(c, state, &m));
    size_t met = sort_by_term(c, &m, elements, k);
    if (m.lists) {
        size_t full = c->count - c->all.partial;
        qsort(m.met + full, met - full, sizeof *m.met, ascending);
    }
    return sum_gains(c, &m, met, elements, k, submodi_fn_tied, gains);
}

/* ---- components of ties ---- */

/* Joins what a term does not separate: base first, as a level of its own, then its elements in the
 * order of the ties. */
static submod_status join_selection(const selection *s, const submodi_ties *ties, int32_t *forest,
                                    submod_work *w)
{
    const submodi_term *t = s->term;
    size_t n = t->fn->n, k = 0, levels = 0;
    size_t *start = submodi_work_alloc(w, n + 2, sizeof *start);
    int32_t *order = submodi_work_alloc(w, n, sizeof *order);
    int32_t *level = submodi_work_alloc(w, n, sizeof *level);
    int32_t *outer = submodi_work_alloc(w, n, sizeof *outer);
    int32_t *own = submodi_work_alloc(w, n, sizeof *own);
    TRY(submodi_work_status(w));
    for (size_t e = 0; e < n; e++) {
        level[e] = outer[e] = -1;
    }
    for (; k < t->nbase; k++) {
        order[k] = t->base[k];
        level[t->base[k]] = 0;
    }
    start[0] = 0;
    levels = t->nbase > 0;
    int32_t previous = -1;
    for (size_t j = 0; j < s->count; j++, k++) {
        int32_t e = s->elements[j];
        outer[e] = ties->order[s->positions ? (size_t)s->positions[j] : j];
        if (ties->level[outer[e]] != previous) {
            previous = ties->level[outer[e]];
            start[levels++] = k;
        }
        order[k] = e;
        level[e] = (int32_t)levels - 1;
    }
    start[levels] = k;
    submodi_ascending(own, n);
    TRY(submodi_fn_join(t->fn, &(submodi_ties){order, start, levels, level}, own, w));
    for (size_t e = 0; e < n; e++) {
        int32_t root = submodi_forest_root(own, (int32_t)e);
        if (outer[e] >= 0 && root != (int32_t)e) {
            submodi_forest_join(forest, outer[e], outer[root]);
        }
    }
    return SUBMOD_OK;
}

static submod_status join_term(const selection *s, const submodi_ties *ties, int32_t *forest,
                               submod_work *work)
{
    if (is_direct(s->term)) {
        return submodi_fn_join(s->term->fn, ties, forest, work);
    }
    submodi_scope scope;
    submod_status status = join_selection(s, ties, forest, submodi_scope_open(&scope, work));
    submodi_scope_close(&scope);
    return status;
}

static submod_status join_terms(const combination *c, const submodi_ties *ties, int32_t *forest,
                                submod_work *w)
{
    call_memory m;
    size_t k = ties->start[ties->count];
    void *memory = submodi_work_alloc(w, list_bytes(c), 1);
    TRY(submodi_work_status(w));
    TRY(clear_memory(c, memory, &m));
    size_t met = sort_by_term(c, &m, ties->order, k);
    for (size_t i = 0; i < met; i++) {
        selection s = take_met(c, &m, i, ties->order, k);
        TRY(join_term(&s, ties, forest, w));
    }
    return SUBMOD_OK;
}

/* A sum separates what all of its terms separate (components.c). */
static submod_status join(const void *ctx, const submodi_ties *ties, int32_t *forest,
                          submod_work *work)
{
    submodi_scope scope;
    submod_status status = join_terms(ctx, ties, forest, submodi_scope_open(&scope, work));
    submodi_scope_close(&scope);
    return status;
}

/* ---- minimisers of one term and a modular part ----
 *
 * c f + w - z = c (f - (z - w) / c) has the minimisers of f - (z - w) / c, and c times its bases.
 * Elements without the term have those of w - z.
 */

static submod_status too_large(void)
{
    return submodi_fail(SUBMOD_ENUMERIC, "minimize of a combination: (z - w) / c overflows");
}

/* rest[i] = z[i] - w. */
static submod_status subtract_modular(const combination *c, const int32_t *elements, size_t k,
                                      const double *z, double *rest)
{
    const double *w = weights_of(c);
    for (size_t i = 0; i < k; i++) {
        rest[i] = z[i] - (w ? w[elements[i]] : 0);
    }
    return submodi_all_finite(rest, k) ? SUBMOD_OK : too_large();
}

/* A minor in the elements of the term, and its results. */
typedef struct inner_minor {
    submod_minor minor;
    const int32_t *positions; /* of its ground in that of the combination; NULL means all */
    double *z, *s;
    uint8_t *smallest, *largest;
} inner_minor;

/* Adds the elements of the term to a list. */
static selection append_elements(const combination *c, const call_memory *m,
                                 const int32_t *elements, size_t k, int32_t *list)
{
    sort_by_term(c, m, elements, k);
    selection s = take_elements(c, m, 0, elements, k);
    for (size_t j = 0; j < s.count; j++) {
        list[j] = s.elements[j];
    }
    return s;
}

static submod_status open_minor(const combination *c, const submod_minor *outside, inner_minor *in,
                                submod_work *work)
{
    const submodi_term *t = c->terms;
    call_memory m;
    size_t k = outside->nground, nbase = t->nbase;
    int32_t *list = submodi_work_alloc(work, nbase + outside->nbase + k, sizeof *list);
    void *memory = submodi_work_alloc(work, list_bytes(c), 1);
    in->z = submodi_work_alloc(work, 2 * k, sizeof *in->z);
    in->smallest = submodi_work_alloc(work, 2 * k, 1);
    TRY(submodi_work_status(work));
    TRY(clear_memory(c, memory, &m));
    in->s = in->z + k;
    in->largest = in->smallest + k;
    for (size_t i = 0; i < nbase; i++) {
        list[i] = t->base[i];
    }
    nbase += append_elements(c, &m, outside->base, outside->nbase, list + nbase).count;
    selection ground = append_elements(c, &m, outside->ground, k, list + nbase);
    in->minor = (submod_minor){list, nbase, list + nbase, ground.count};
    in->positions = ground.positions;
    return SUBMOD_OK;
}

/* Minimises the term, and writes the results over those of the modular part. */
static submod_status minimize_inside(const submodi_term *t, inner_minor *in, const double *rest,
                                     uint8_t *smallest, uint8_t *largest, double *s)
{
    size_t k = in->minor.nground;
    for (size_t j = 0; j < k; j++) {
        in->z[j] = rest[in->positions ? (size_t)in->positions[j] : j] / t->coefficient;
    }
    TRY(submodi_all_finite(in->z, k) ? SUBMOD_OK : too_large());
    TRY(submodi_fn_minimize(t->fn, &in->minor, in->z, smallest ? in->smallest : NULL,
                            largest ? in->largest : NULL, s ? in->s : NULL));
    for (size_t j = 0; j < k; j++) {
        size_t i = in->positions ? (size_t)in->positions[j] : j;
        if (smallest) {
            smallest[i] = in->smallest[j];
        }
        if (largest) {
            largest[i] = in->largest[j];
        }
        if (s) {
            s[i] = t->coefficient * in->s[j];
        }
    }
    if (s && isnan(in->s[0])) { /* the term has no base at hand */
        s[0] = NAN;
    }
    return SUBMOD_OK;
}

static submod_status minimize_in(const combination *c, const submod_minor *minor, const double *z,
                                 uint8_t *smallest, uint8_t *largest, double *s, submod_work *work)
{
    inner_minor in;
    double *rest = submodi_work_alloc(work, minor->nground, sizeof *rest);
    TRY(submodi_work_status(work));
    TRY(subtract_modular(c, minor->ground, minor->nground, z, rest));
    submodi_minimize_modular(rest, minor->nground, smallest, largest, s);
    if (!c->count) {
        return SUBMOD_OK;
    }
    TRY(open_minor(c, minor, &in, work));
    return in.minor.nground ? minimize_inside(c->terms, &in, rest, smallest, largest, s)
                            : SUBMOD_OK;
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
        size_t begin = parts[j].begin, k = parts[j].end - begin;
        status = subtract_modular(c, order + begin, k, z + begin, rest + begin);
        for (size_t i = begin; i < parts[j].end; i++) {
            rest[i] /= c->terms->coefficient;
        }
        status = status || submodi_all_finite(rest + begin, k) ? status : too_large();
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

static void clear_term(submodi_term *t)
{
    submod_fn_free((submod_fn *)t->fn); /* the list's own share */
    submodi_free((int32_t *)t->base);   /* and the term's other lists */
    *t = (submodi_term){0};
}

static void release_list(term_list *list)
{
    if (!list || atomic_fetch_sub(&list->owners, 1) != 1) {
        return;
    }
    for (size_t i = 0; i < atomic_load(&list->used); i++) {
        clear_term(&list->terms[i]);
    }
    submodi_free(list);
}

/* Makes room for more terms after the first `count`. False if there is none, or if another
 * combination has appended its own. */
static bool extend_list(term_list *list, size_t count, size_t more)
{
    size_t used = count;
    bool extended = more == 0 || (more <= list->room - count &&
                                  atomic_compare_exchange_strong(&list->used, &used, count + more));
    if (extended) {
        memset(list->terms + count, 0, more * sizeof *list->terms);
    }
    return extended;
}

static term_list *new_list(size_t room, size_t used)
{
    term_list *list = room < UINT32_MAX ? submodi_alloc(room + 1, sizeof(submodi_term)) : NULL;
    if (list) {
        list->room = room;
        atomic_init(&list->owners, 1);
        atomic_init(&list->used, 0);
        extend_list(list, 0, used);
    }
    return list;
}

/* ---- the combination under construction ---- */

typedef struct builder {
    combination *c;
    bool contracts;    /* F(base) is subtracted */
    double *w;         /* the modular part, if it is not that of c->modular */
    submod_work *work; /* scratch */
} builder;

/* Element e of another ground set is element map[e] of the combination, IN_BASE if it is always in
 * the set, or OUTSIDE. NULL means the same elements. */
typedef const int32_t *element_map;

enum { IN_BASE = -2, OUTSIDE = -1 };

static submod_status add_term(builder *b, double coefficient, const submodi_term *from,
                              element_map map);

/* Begins a combination of n elements with the terms of `from`, NULL means none, and places for
 * more. */
static submod_status begin(builder *b, size_t n, const combination *from, size_t more)
{
    static const summary none = {.direct = true, .tied = true, .minors = true, .cardinality = true};
    size_t count = from ? from->count : 0;
    bool shared = count && extend_list(from->list, count, more);
    combination *c = b->c = submodi_alloc(1, sizeof *c);
    if (!c) {
        return submodi_out_of_memory();
    }
    *c = (combination){.n = n,
                       .count = shared ? count : 0,
                       .all = shared ? from->all : none,
                       .constant = from ? from->constant : 0,
                       .modular = from ? submod_fn_retain(from->modular) : NULL};
    if (count + more == 0) {
        return SUBMOD_OK;
    }
    c->list = shared ? from->list : new_list(count ? 2 * (count + more) : more, count + more);
    if (!c->list) {
        return submodi_out_of_memory();
    }
    if (shared) {
        atomic_fetch_add(&c->list->owners, 1);
    }
    c->terms = c->list->terms;
    for (size_t i = c->count; i < count; i++) {
        TRY(add_term(b, 1, &from->terms[i], NULL));
    }
    return SUBMOD_OK;
}

static void destroy(void *ctx)
{
    combination *c = ctx;
    release_list(c->list);
    submod_fn_free(c->modular);
    submodi_free(atomic_load(&c->incidences));
    submodi_free(c);
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
                               .state_size = list_bytes(c) + gain_bytes(c) + all->state_bytes,
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

/* Makes the modular part of the combination its own. */
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

static int32_t mapped(const submodi_term *t, size_t j, element_map map)
{
    int32_t e = outer_of(t, j);
    return map ? map[e] : e;
}

/* Makes the lists of a term among n elements, all in one memory. A full term has no list of outer
 * elements, one with all elements of its function in their order none of inner ones. */
static submod_status map_term(const submodi_term *from, element_map map, size_t n, submodi_term *to)
{
    size_t nbase = from->nbase;
    to->count = 0;
    for (size_t j = 0; j < from->count; j++) {
        int32_t at = mapped(from, j, map);
        nbase += at == IN_BASE;
        to->count += at >= 0;
    }
    bool full = to->count == n, same = to->count == from->fn->n;
    int32_t *base = submodi_alloc(nbase + (full ? 1 : 2) * to->count, sizeof *base);
    if (!base) {
        return submodi_out_of_memory();
    }
    int32_t *outer = base + nbase, *inner = full ? outer : outer + to->count;
    for (; to->nbase < from->nbase; to->nbase++) {
        base[to->nbase] = from->base[to->nbase];
    }
    for (size_t j = 0, k = 0; j < from->count; j++) {
        int32_t at = mapped(from, j, map), e = inner_of(from, j);
        if (at == IN_BASE) {
            base[to->nbase++] = e;
        } else if (at != OUTSIDE) {
            size_t place = full ? (size_t)at : k++;
            if (!full) {
                outer[place] = at;
            }
            inner[place] = e;
            same = same && e == (int32_t)place;
        }
    }
    to->base = base;
    to->outer = full ? NULL : outer;
    to->inner = same ? NULL : inner;
    return SUBMOD_OK;
}

/* Updates what the terms have in common. */
static submod_status note_term(summary *all, const submodi_term *t)
{
    size_t length = t->nbase + t->count;
    all->longest = length > all->longest ? length : all->longest;
    all->partial += t->outer != NULL;
    all->incidence_count += t->outer ? t->count : 0;
    all->direct = all->direct && is_direct(t);
    all->tied = all->tied && t->fn->ops.tied;
    all->minors = all->minors && is_direct(t) && t->fn->minors;
    all->cardinality = all->cardinality && !t->outer && t->fn->cardinality;
    all->based = all->based || t->nbase;
    all->calls_user_code = all->calls_user_code || t->fn->calls_user_code;
    return submodi_add_size(&all->state_bytes, submodi_fn_state_size(t->fn), 1)
               ? SUBMOD_OK
               : submodi_out_of_memory();
}

/* Appends a term with its own share of the function. One without elements is a constant. */
static submod_status append_term(builder *b, const submodi_term *from, element_map map,
                                 submodi_term *t)
{
    combination *c = b->c;
    double value = t->offset;
    if (map || !is_direct(from)) {
        TRY(map_term(from, map, c->n, t));
    }
    if (b->contracts == (t->count > 0)) {
        TRY(submodi_fn_eval(t->fn, t->base, t->nbase, &value));
    }
    if (t->count == 0) {
        c->constant += t->coefficient * (value - t->offset);
        clear_term(t);
        return SUBMOD_OK;
    }
    t->offset = value;
    c->count++;
    return note_term(&c->all, t);
}

static submod_status add_term(builder *b, double coefficient, const submodi_term *from,
                              element_map map)
{
    combination *c = b->c;
    if (from->fn->modular) {
        return add_modular(b, coefficient, from->fn, map);
    }
    submodi_term *t = &c->list->terms[c->count];
    double product;
    TRY(multiply(coefficient, from->coefficient, &product));
    *t = (submodi_term){.fn = submod_fn_retain(from->fn),
                        .coefficient = product,
                        .offset = from->offset,
                        .count = from->count,
                        .state_at = c->all.state_bytes,
                        .list_at = c->all.incidence_count};
    return append_term(b, from, map, t);
}

/* Adds coefficient * f, whose elements are mapped. */
static submod_status add_function(builder *b, double coefficient, const submod_fn *f,
                                  element_map map)
{
    const submodi_terms inside = submodi_fn_terms(f);
    if (coefficient == 0) {
        return SUBMOD_OK;
    }
    for (size_t i = 0; i < inside.count; i++) {
        TRY(add_term(b, coefficient, &inside.terms[i], map));
    }
    b->c->constant += b->contracts ? 0 : coefficient * inside.constant;
    return inside.modular ? add_weights(b, coefficient, inside.modular, f->n, map) : SUBMOD_OK;
}

/* ---- sums, multiples and embeddings ---- */

/* The combination that a sum may extend: the longest one among its terms that comes as it is. */
static size_t extended_term(const submod_term *terms, size_t count)
{
    size_t best = count;
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        const submod_fn *f = terms[i].fn;
        bool extends = f->kind == SUBMODI_COMBINATION && terms[i].coefficient == 1;
        if (extends && !terms[i].elements && submodi_fn_terms(f).count >= length) {
            best = i;
            length = submodi_fn_terms(f).count;
        }
    }
    return best;
}

static submod_status combine(builder *b, size_t n, const submod_term *terms, size_t count,
                             const double *modular)
{
    size_t first = extended_term(terms, count), more = 0;
    for (size_t i = 0; i < count; i++) {
        bool adds = i != first && terms[i].coefficient > 0 && !terms[i].fn->modular;
        more += adds ? submodi_fn_terms(terms[i].fn).count : 0;
    }
    TRY(begin(b, n, first < count ? terms[first].fn->ctx : NULL, more));
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

/* A -> F(base + A), less F(base) in a contraction, for the subsets A of ground, whose element j is
 * j of the minor. ground = NULL means all others in ascending order. */
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
    for (size_t j = 0; m->ground && j < m->nground; j++) {
        map[m->ground[j]] = (int32_t)j;
    }
    for (size_t e = 0, j = 0; !m->ground && e < f->n; e++) {
        map[e] = map[e] == OUTSIDE ? (int32_t)j++ : IN_BASE;
    }
    TRY(begin(b, m->nground, NULL, submodi_fn_terms(f).count));
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

static submod_status contract(const submod_fn *f, const int32_t *elements, size_t k, submod_fn **fn)
{
    TRY(submodi_check_given("fn", f));
    TRY(submodi_check_elements("elements", elements, k, f->n));
    TRY(submodi_check_size(f->n - k, fn));
    const submod_minor m = {.base = elements, .nbase = k, .nground = f->n - k};
    return new_minor(f, &m, true, fn);
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
    submod_status status = begin(&b, t->count, NULL, 1);
    status = status ? status : add_term(&b, 1, &alone, NULL);
    status = finish(&b, status, fn);
    submodi_scope_close(&scope);
    return status;
}

/* The combination of one minor of each term, with the modular part there. */
static submod_status combine_minors(const combination *c, submod_fn *const *made, size_t stride,
                                    const int32_t *elements, size_t n, submod_fn **fn,
                                    submod_work *work)
{
    const double *weights = weights_of(c);
    submod_term *terms = submodi_work_alloc(work, c->count, sizeof *terms);
    double *w = submodi_work_alloc(work, n, sizeof *w);
    TRY(submodi_work_status(work));
    for (size_t i = 0; i < c->count; i++) {
        terms[i] = (submod_term){made[i * stride], c->terms[i].coefficient, NULL};
    }
    for (size_t j = 0; weights && j < n; j++) {
        w[j] = weights[elements[j]];
    }
    return submod_fn_combine(n, terms, c->count, weights ? w : NULL, fn);
}

/* made: nparts minors of each term. */
static submod_status make_all(const combination *c, const int32_t *order, const submodi_part *parts,
                              size_t nparts, submod_fn **fns, submod_fn **made, submod_work *work)
{
    for (size_t i = 0; i < c->count; i++) {
        TRY(submodi_fn_minors(c->terms[i].fn, order, parts, nparts, made + i * nparts));
    }
    for (size_t j = 0; j < nparts; j++) {
        submodi_part p = parts[j];
        TRY(combine_minors(c, made + j, nparts, order + p.begin, p.end - p.begin, &fns[j], work));
    }
    return SUBMOD_OK;
}

static submod_status make_minors(const void *ctx, const int32_t *order, const submodi_part *parts,
                                 size_t nparts, submod_fn **fns)
{
    const combination *c = ctx;
    submodi_scope scope;
    submod_work *work = submodi_scope_open(&scope, NULL);
    size_t count = submodi_times(c->count, nparts);
    submod_fn **made = submodi_work_alloc(work, count, sizeof(submod_fn *));
    submod_status status = submodi_work_status(work);
    for (size_t i = 0; status == SUBMOD_OK && i < count; i++) {
        made[i] = NULL;
    }
    status = status ? status : make_all(c, order, parts, nparts, fns, made, work);
    submodi_fn_free_all(made, made ? count : 0);
    submodi_scope_close(&scope);
    return status;
}
