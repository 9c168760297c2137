/* Combinations of set functions in one flat form:
 *
 *     F(A) = sum over terms i of c_i [f_i(B_i + phi_i(A n S_i)) - offset_i] + w(A) + constant,
 *
 * where no f_i is a combination, phi_i maps the elements S_i of F to elements of f_i, and offset_i
 * is f_i(B_i) in a contraction, else 0. Base polytopes of a sum add up, and so do gains, also when
 * they are averaged over ties. A call costs what the calls of its terms cost. Full terms, which
 * have all elements, receive all elements of the call, other terms only their own. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/internal.h"
#include "submod/fn_internal.h"

/* Combinations may share a list; each consists of the list's first terms. The longest one can be
 * extended in place, so a sum that grows term by term copies O(1) terms per step on average. */
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

/* The full terms are at[0] .. at[start[1] - 1], the incidences of element e at[start[e + 1]] ..
 * at[start[e + 2] - 1]. */
typedef struct incidences {
    size_t *start; /* n + 2 */
    incidence at[];
} incidences;

/* Properties of all terms together. */
typedef struct summary {
    size_t partial;         /* terms that are not full */
    size_t incidence_count; /* elements of partial terms */
    size_t longest;         /* most elements of a term, including its base */
    size_t state_bytes;     /* of the states of all terms */
    bool direct;            /* all terms are full, with the same numbering and an empty base */
    bool tied;              /* all terms have the callback */
    bool cardinality, based, calls_user_code;
} summary;

typedef struct combination {
    size_t n, count;
    term_list *list;
    const submodi_term *terms; /* of the list */
    submod_fn *modular;        /* a modular function of n elements; NULL means 0 */
    double constant;           /* values of terms that a restriction left without elements */
    summary all;
    _Atomic(incidences *) incidences; /* made at the first use, unless all terms are full */
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

/* Counting sort: start[key] moves from the end of a key's incidences to their beginning. */
static void fill_incidences(const combination *c, incidences *lists)
{
    size_t *start = lists->start;
    memset(start, 0, (c->n + 2) * sizeof *start);
    for (size_t i = 0; i < c->count; i++) {
        const submodi_term *t = &c->terms[i];
        for (size_t j = 0; j < (t->outer ? t->count : 1); j++) {
            start[t->outer ? t->outer[j] + 1 : 0]++;
        }
    }
    for (size_t key = 0; key <= c->n; key++) {
        start[key + 1] += start[key];
    }
    for (size_t i = c->count; i-- > 0;) {
        const submodi_term *t = &c->terms[i];
        for (size_t j = 0; j < (t->outer ? t->count : 1); j++) {
            size_t at = --start[t->outer ? t->outer[j] + 1 : 0];
            lists->at[at] = (incidence){inner_of(t, j), (uint32_t)i};
        }
    }
}

/* Finds the incidences of c; the first thread that needs them makes them. NULL if all terms are
 * full. */
static submod_status find_incidences(const combination *c, const incidences **lists)
{
    combination *owner = (combination *)c; /* the lists are a cache */
    incidences *known = atomic_load_explicit(&owner->incidences, memory_order_acquire);
    *lists = known;
    if (known || !c->all.partial) {
        return SUBMOD_OK;
    }
    /* no overflow, because the terms are in memory and larger */
    size_t count = c->all.incidence_count + c->count - c->all.partial;
    size_t bytes = sizeof(incidences) + count * sizeof(incidence);
    char *memory = submodi_alloc(bytes + (c->n + 2) * sizeof(size_t), 1);
    if (!memory) {
        return submodi_out_of_memory();
    }
    incidences *made = (void *)memory;
    made->start = (void *)(memory + bytes);
    fill_incidences(c, made);
    *lists = made;
    if (!atomic_compare_exchange_strong(&owner->incidences, &known, made)) {
        submodi_free(made);
        *lists = known;
    }
    return SUBMOD_OK;
}

/* The elements of a call, sorted by term. Its memory is a state, or holds the lists alone. */
typedef struct call {
    const combination *c;
    const int32_t *elements;
    size_t k, met_count;
    int32_t *numbers;           /* longest, unless all terms are direct */
    uint32_t *met, *counts;     /* full terms, then others with elements; element counts by term */
    int32_t *inner, *positions; /* of each incidence: by term, from list_at on */
    double *gains;              /* longest */
    char *states;               /* of all terms */
} call;

/* Return the bytes before the gains and the bytes of the gains. */
static size_t list_bytes(const combination *c)
{
    size_t numbers = c->all.direct ? 0 : c->all.longest;
    return submodi_round_up((numbers + 2 * c->count + 2 * c->all.incidence_count) *
                            sizeof(int32_t));
}

static size_t gain_bytes(const combination *c)
{
    return submodi_round_up(c->all.longest * sizeof(double));
}

static void sort_by_term(call *now, const incidences *lists)
{
    size_t full = now->c->count - now->c->all.partial;
    for (; now->met_count < full; now->met_count++) {
        now->met[now->met_count] =
            lists ? lists->at[now->met_count].term : (uint32_t)now->met_count;
    }
    for (size_t i = 0; lists && i < now->k; i++) {
        const size_t *start = lists->start + now->elements[i] + 1;
        for (size_t at = start[0]; at < start[1]; at++) {
            uint32_t term = lists->at[at].term;
            size_t place = now->c->terms[term].list_at + now->counts[term];
            if (now->counts[term]++ == 0) {
                now->met[now->met_count++] = term;
            }
            now->inner[place] = lists->at[at].inner;
            now->positions[place] = (int32_t)i;
        }
    }
}

/* Sorts the elements of a call by term. fresh means that the memory is new, or no state. */
static submod_status begin_call(const combination *c, void *memory, bool fresh,
                                const int32_t *elements, size_t k, call *now)
{
    const incidences *lists;
    TRY(find_incidences(c, &lists));
    *now = (call){.c = c, .elements = elements, .k = k, .numbers = memory};
    now->met = (uint32_t *)now->numbers + (c->all.direct ? 0 : c->all.longest);
    now->counts = now->met + c->count;
    now->inner = (int32_t *)now->counts + c->count;
    now->positions = now->inner + c->all.incidence_count;
    now->gains = (void *)((char *)memory + list_bytes(c));
    now->states = (char *)now->gains + gain_bytes(c);
    if (fresh) {
        memset(now->counts, 0, c->count * sizeof *now->counts);
    }
    sort_by_term(now, lists);
    return SUBMOD_OK;
}

/* The elements of a call that a term has, in its own numbers. */
typedef struct selection {
    const submodi_term *term;
    const int32_t *elements, *positions; /* positions in the call; NULL means all of them */
    size_t count;
} selection;

/* Returns the elements of a term and empties its list. They are valid until the next term's. */
static selection take_elements(const call *now, size_t term)
{
    const submodi_term *t = &now->c->terms[term];
    if (t->outer) {
        size_t count = now->counts[term];
        now->counts[term] = 0;
        return (selection){t, now->inner + t->list_at, now->positions + t->list_at, count};
    }
    for (size_t i = 0; t->inner && i < now->k; i++) {
        now->numbers[i] = t->inner[now->elements[i]];
    }
    return (selection){t, t->inner ? now->numbers : now->elements, NULL, now->k};
}

/* ---- eval ---- */

/* Adds the values of the terms at their bases and their elements of the set. */
static submod_status eval_terms(const combination *c, const int32_t *set, size_t k, void *memory,
                                double *total)
{
    call now;
    TRY(begin_call(c, memory, true, set, k, &now));
    for (size_t i = 0; i < c->count; i++) {
        selection s = take_elements(&now, i);
        size_t nbase = s.term->nbase;
        double value;
        if (nbase) {
            memmove(now.numbers + nbase, s.elements, s.count * sizeof *now.numbers);
            memcpy(now.numbers, s.term->base, nbase * sizeof *now.numbers);
            s.elements = now.numbers;
        }
        TRY(submodi_fn_eval(s.term->fn, s.elements, nbase + s.count, &value));
        *total += s.term->coefficient * (value - s.term->offset);
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
    call now;
    TRY(begin_call(c, state, true, NULL, 0, &now));
    for (size_t i = 0; i < c->count; i++) {
        const submodi_term *t = &c->terms[i];
        TRY(submodi_fn_reset(t->fn, now.states + t->state_at));
        if (t->nbase) {
            TRY(submodi_fn_chain(t->fn, now.states + t->state_at, t->base, t->nbase, now.gains));
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

static submod_status sum_gains(const call *now, gains_call *of_term, double *gains)
{
    const double *w = weights_of(now->c);
    if (now->c->all.partial == now->c->count) {
        memset(gains, 0, now->k * sizeof *gains);
    }
    for (size_t i = 0; i < now->met_count; i++) {
        selection s = take_elements(now, now->met[i]);
        double *own = i == 0 && !s.positions ? gains : now->gains;
        TRY(of_term(s.term->fn, now->states + s.term->state_at, s.elements, s.count, own));
        add_gains(&s, own, gains);
    }
    for (size_t i = 0; w && i < now->k; i++) {
        gains[i] += w[now->elements[i]];
    }
    return SUBMOD_OK;
}

/* Computes the gain of one element, which needs no sorting: its incidences list its terms. */
static submod_status gain_of_one(const combination *c, void *state, int32_t e, gains_call *of_term,
                                 double *result)
{
    const double *w = weights_of(c);
    const incidences *lists;
    TRY(find_incidences(c, &lists));
    char *states = (char *)state + list_bytes(c) + gain_bytes(c);
    size_t full = c->count - c->all.partial, first = lists ? lists->start[e + 1] : 0;
    size_t count = full + (lists ? lists->start[e + 2] - first : 0);
    double gain, total = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = i < full ? i : first + i - full;
        const submodi_term *t = &c->terms[lists ? lists->at[at].term : at];
        int32_t inner = i < full ? inner_of(t, (size_t)e) : lists->at[at].inner;
        TRY(of_term(t->fn, states + t->state_at, &inner, 1, &gain));
        total += t->coefficient * gain;
    }
    *result = total + (w ? w[e] : 0);
    return SUBMOD_OK;
}

static submod_status gain_call(const submod_fn *fn, void *state, const int32_t *elements, size_t k,
                               double *gains)
{
    (void)k;
    return submodi_fn_gain(fn, state, *elements, gains);
}

static submod_status gain(const void *ctx, void *state, int32_t e, double *result)
{
    return gain_of_one(ctx, state, e, gain_call, result);
}

static submod_status chain(const void *ctx, void *state, const int32_t *elements, size_t k,
                           double *gains)
{
    call now;
    if (k == 1) {
        return gain_of_one(ctx, state, *elements, submodi_fn_chain, gains);
    }
    TRY(begin_call(ctx, state, false, elements, k, &now));
    return sum_gains(&now, submodi_fn_chain, gains);
}

static int ascending(const void *a, const void *b)
{
    const uint32_t *p = a;
    const uint32_t *q = b;
    return (*p > *q) - (*p < *q);
}

/* Adds averages in the order of the terms, so that not even the last bits depend on the order of
 * the elements. */
static submod_status tied(const void *ctx, void *state, const int32_t *elements, size_t k,
                          double *gains)
{
    const combination *c = ctx;
    size_t full = c->count - c->all.partial;
    call now;
    TRY(begin_call(c, state, false, elements, k, &now));
    qsort(now.met + full, now.met_count - full, sizeof *now.met, ascending);
    return sum_gains(&now, submodi_fn_tied, gains);
}

/* ---- components of ties ---- */

/* Joins the elements that a term does not separate. Its base comes first, as a level, then its
 * elements in the order of the ties. */
static submod_status join_term(const selection *s, const submodi_ties *ties, int32_t *forest,
                               submod_work *w)
{
    const submodi_term *t = s->term;
    size_t n = t->fn->n, k = 0, levels = t->nbase > 0;
    size_t *start = submodi_work_alloc(w, n + 2, sizeof *start);
    int32_t *lists = submodi_work_alloc(w, submodi_times(4, n), sizeof *lists);
    TRY(submodi_work_status(w));
    int32_t *order = lists, *level = order + n, *outer = level + n, *own = outer + n;
    memset(lists, 0xff, 4 * n * sizeof *lists); /* -1 */
    submodi_ascending(own, n);
    start[0] = 0;
    for (; k < t->nbase; k++) {
        order[k] = t->base[k];
        level[t->base[k]] = 0;
    }
    for (size_t j = 0, last = SIZE_MAX; j < s->count; j++, k++) {
        int32_t e = order[k] = s->elements[j];
        outer[e] = ties->order[s->positions ? (size_t)s->positions[j] : j];
        size_t now = (size_t)ties->level[outer[e]];
        if (now != last) {
            start[levels++] = k;
            last = now;
        }
        level[e] = (int32_t)levels - 1;
    }
    start[levels] = k;
    TRY(submodi_fn_join(t->fn, &(submodi_ties){order, start, levels, level}, own, w));
    for (size_t e = 0; e < n; e++) {
        int32_t root = submodi_forest_root(own, (int32_t)e);
        if (outer[e] >= 0 && root != (int32_t)e) {
            submodi_forest_join(forest, outer[e], outer[root]);
        }
    }
    return SUBMOD_OK;
}

/* A sum separates what all of its terms separate (components.c). */
static submod_status join(const void *ctx, const submodi_ties *ties, int32_t *forest,
                          submod_work *work)
{
    const combination *c = ctx;
    call now;
    void *memory = submodi_work_alloc(work, list_bytes(c), 1);
    TRY(submodi_work_status(work));
    TRY(begin_call(c, memory, true, ties->order, ties->start[ties->count], &now));
    for (size_t i = 0; i < now.met_count; i++) {
        selection s = take_elements(&now, now.met[i]);
        TRY(is_direct(s.term) ? submodi_fn_join(s.term->fn, ties, forest, work)
                              : join_term(&s, ties, forest, work));
    }
    return SUBMOD_OK;
}

/* ---- maps of elements ---- */

/* Element e of another ground set is element map[e] of the combination, IN_BASE if it is always in
 * the set, or OUTSIDE. NULL means the same elements. */
typedef const int32_t *element_map;

enum { IN_BASE = -2, OUTSIDE = -1 };

/* Maps n elements to those of a minor. Without m->ground, these are all that are not in its base,
 * in ascending order. */
static void map_to_minor(size_t n, const submod_minor *m, int32_t *map)
{
    for (size_t e = 0; e < n; e++) {
        map[e] = OUTSIDE;
    }
    for (size_t i = 0; i < m->nbase; i++) {
        map[m->base[i]] = IN_BASE;
    }
    for (size_t j = 0; m->ground && j < m->nground; j++) {
        map[m->ground[j]] = (int32_t)j;
    }
    for (size_t e = 0, j = 0; !m->ground && e < n; e++) {
        map[e] = map[e] == IN_BASE ? IN_BASE : (int32_t)j++;
    }
}

static int32_t mapped(const submodi_term *t, size_t j, element_map map)
{
    int32_t e = outer_of(t, j);
    return map ? map[e] : e;
}

/* Makes the lists of a term among n elements, in one allocation that begins with the base. A term
 * with all elements of its function is in the function's order, else a term with all elements of
 * the combination is in the combination's. */
static submod_status map_term(const submodi_term *from, element_map map, size_t n, submodi_term *to)
{
    size_t nbase = from->nbase, count = 0;
    for (size_t j = 0; j < from->count; j++) {
        int32_t at = mapped(from, j, map);
        nbase += at == IN_BASE;
        count += at >= 0;
    }
    int32_t *base = submodi_alloc(nbase + 2 * count, sizeof *base);
    if (!base) {
        return submodi_out_of_memory();
    }
    int32_t *outer = base + nbase, *inner = outer + count;
    to->base = base;
    to->nbase = nbase;
    to->outer = outer;
    to->inner = inner;
    to->count = count;
    for (size_t i = 0; i < from->nbase; i++) {
        *base++ = from->base[i];
    }
    for (size_t j = 0, k = 0; j < from->count; j++) {
        int32_t at = mapped(from, j, map), e = inner_of(from, j);
        if (at == IN_BASE) {
            *base++ = e;
        } else if (at >= 0) {
            size_t place = count == from->fn->n ? (size_t)e : count == n ? (size_t)at : k++;
            outer[place] = at;
            inner[place] = e;
        }
    }
    return SUBMOD_OK;
}

/* Leaves out lists of all elements in their order. */
static void simplify_lists(submodi_term *t, size_t n)
{
    bool whole = t->count == t->fn->n, full = t->count == n;
    for (size_t j = 0; whole && full && j < n; j++) {
        full = t->outer[j] == (int32_t)j;
    }
    t->outer = full ? NULL : t->outer;
    t->inner = whole ? NULL : t->inner;
    if (is_direct(t)) {
        submodi_free((int32_t *)t->base);
        t->base = NULL;
    }
}

/* ---- minimisers of one term and a modular part ----
 *
 * c f + w - z = c (f - (z - w) / c) has the minimisers of f - (z - w) / c, and c times its bases.
 * Elements without the term have those of w - z.
 */

/* rest[i] = z[i] - w. */
static void subtract_modular(const combination *c, const int32_t *elements, size_t k,
                             const double *z, double *rest)
{
    const double *w = weights_of(c);
    for (size_t i = 0; i < k; i++) {
        rest[i] = z[i] - (w ? w[elements[i]] : 0);
    }
}

static submod_status check_rest(const double *rest, size_t k)
{
    return submodi_all_finite(rest, k)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "minimize of a combination: (z - w) / c overflows");
}

/* Minimises a term of a minor less rest, and overwrites the results of the modular part. */
static submod_status minimize_term(const submodi_term *t, const double *rest, uint8_t *smallest,
                                   uint8_t *largest, double *s, submod_work *work)
{
    const submod_minor minor = {t->base, t->nbase, t->inner, t->count};
    size_t k = t->count;
    double *z = submodi_work_alloc(work, 2 * k, sizeof *z), *base = z + k;
    uint8_t *in = submodi_work_alloc(work, 2 * k, 1);
    TRY(submodi_work_status(work));
    for (size_t j = 0; j < k; j++) {
        z[j] = rest[outer_of(t, j)] / t->coefficient;
    }
    TRY(check_rest(z, k));
    TRY(submodi_fn_minimize(t->fn, &minor, z, smallest ? in : NULL, largest ? in + k : NULL,
                            s ? base : NULL));
    for (size_t j = 0; j < k; j++) {
        int32_t i = outer_of(t, j);
        if (smallest) {
            smallest[i] = in[j];
        }
        if (largest) {
            largest[i] = in[k + j];
        }
        if (s) {
            s[i] = t->coefficient * base[j];
        }
    }
    if (s && isnan(base[0])) { /* the term has no base at hand */
        s[0] = NAN;
    }
    return SUBMOD_OK;
}

/* Minimises a single direct term, which needs no map of its minor. Overwrites rest. */
static submod_status minimize_direct(const submodi_term *t, const submod_minor *minor, double *rest,
                                     uint8_t *smallest, uint8_t *largest, double *s)
{
    size_t k = minor->nground;
    for (size_t i = 0; i < k; i++) {
        rest[i] /= t->coefficient;
    }
    TRY(check_rest(rest, k));
    TRY(submodi_fn_minimize(t->fn, minor, rest, smallest, largest, s));
    for (size_t i = 0; s && i < k; i++) {
        s[i] *= t->coefficient; /* NAN if the term has no base at hand */
    }
    return SUBMOD_OK;
}

static submod_status minimize_in(const combination *c, const submod_minor *minor, const double *z,
                                 uint8_t *smallest, uint8_t *largest, double *s, submod_work *work)
{
    size_t k = minor->nground;
    double *rest = submodi_work_alloc(work, k, sizeof *rest);
    int32_t *map = submodi_work_alloc(work, c->all.direct ? 0 : c->n, sizeof *map);
    TRY(submodi_work_status(work));
    subtract_modular(c, minor->ground, k, z, rest);
    const bool modular = c->count == 0 || k == 0;
    if (c->all.direct && !modular) {
        return minimize_direct(c->terms, minor, rest, smallest, largest, s);
    }
    TRY(check_rest(rest, k));
    submodi_minimize_modular(rest, k, smallest, largest, s);
    if (modular) {
        return SUBMOD_OK;
    }
    submodi_term t = *c->terms;
    map_to_minor(c->n, minor, map);
    TRY(map_term(c->terms, map, k, &t));
    submod_status status =
        t.count ? minimize_term(&t, rest, smallest, largest, s, work) : SUBMOD_OK;
    submodi_free((int32_t *)t.base);
    return status;
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
        subtract_modular(c, order + begin, k, z + begin, rest + begin);
        for (size_t i = begin; i < begin + k; i++) {
            rest[i] /= c->terms->coefficient;
        }
        status = check_rest(rest + begin, k);
    }
    status = status ? status
                    : submodi_fn_minimize_parts(c->terms->fn, order, rank, parts, nparts, rest, in);
    submodi_free(rest);
    return status;
}

/* ---- the combination under construction ---- */

static void clear_term(submodi_term *t)
{
    submod_fn_free((submod_fn *)t->fn); /* the list's own share */
    submodi_free((int32_t *)t->base);   /* and the term's other lists */
    *t = (submodi_term){0};
}

static void destroy(void *ctx)
{
    combination *c = ctx;
    if (c->list && atomic_fetch_sub(&c->list->owners, 1) == 1) {
        for (size_t i = 0; i < atomic_load(&c->list->used); i++) {
            clear_term(&c->list->terms[i]);
        }
        submodi_free(c->list);
    }
    submod_fn_free(c->modular);
    submodi_free(atomic_load(&c->incidences));
    submodi_free(c);
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
        atomic_fetch_add(&list->owners, 1);
    }
    return extended;
}

static term_list *new_list(size_t room, size_t used)
{
    term_list *list = room < UINT32_MAX ? submodi_alloc(room + 1, sizeof(submodi_term)) : NULL;
    if (list) {
        list->room = room;
        atomic_init(&list->owners, 0);
        atomic_init(&list->used, 0);
        extend_list(list, 0, used);
        atomic_store(&list->owners, 1);
    }
    return list;
}

typedef struct builder {
    combination *c;
    bool contracts;       /* F(base) is subtracted */
    const int32_t *order; /* unless NULL, terms that have the slot `minors` use it for `part` */
    submodi_part part;    /* of this order */
    double *w;            /* the modular part unless c->modular has it */
    submod_work *work;    /* scratch */
} builder;

/* Begins a combination of n elements and `more` terms beyond those of `from`, which may be NULL. If
 * possible, it shares the list of `from` and starts with its terms; else it starts without
 * terms. */
static submod_status begin(builder *b, size_t n, const combination *from, size_t more, bool *shares)
{
    size_t first = from ? from->count : 0;
    combination *c = b->c = submodi_alloc(1, sizeof *c);
    if (!c) {
        return submodi_out_of_memory();
    }
    *c = (combination){.n = n, .all = {.direct = true, .tied = true, .cardinality = true}};
    *shares = from && extend_list(from->list, first, more);
    if (*shares) {
        c->list = from->list;
        c->count = first;
        c->all = from->all;
        c->modular = submod_fn_retain(from->modular);
        c->constant = from->constant;
    } else {
        c->list = new_list(first ? 2 * (first + more) : more, first + more);
    }
    c->terms = c->list ? c->list->terms : NULL;
    return c->list ? SUBMOD_OK : submodi_out_of_memory();
}

/* Returns the callbacks and properties of c. */
static submod_fn describe(combination *c)
{
    const summary *all = &c->all;
    const submodi_term *only = c->count == 1 ? c->terms : NULL;
    const submod_fn *f = only ? only->fn : NULL;
    return (submod_fn){.ops = {.name = "combination",
                               .eval = eval,
                               .state_size = list_bytes(c) + gain_bytes(c) + all->state_bytes,
                               .reset = reset,
                               .chain = chain,
                               .gain = gain,
                               .tied = all->tied ? tied : NULL,
                               .minimize = !c->count || (only && f->ops.minimize) ? minimize : NULL,
                               .destroy = destroy},
                       .kind = SUBMODI_COMBINATION,
                       .modular = c->count == 0,
                       .cardinality = all->cardinality,
                       .based = all->based,
                       .calls_user_code = all->calls_user_code,
                       .minimize_parts =
                           only && all->direct && f->minimize_parts ? minimize_parts : NULL,
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

static submod_status add_weights(builder *b, double coefficient, const double *w, size_t n,
                                 element_map map)
{
    const double *shared = weights_of(b->c);
    if (!b->w) {
        b->w = submodi_work_alloc(b->work, b->c->n, sizeof *b->w);
        TRY(submodi_work_status(b->work));
        for (size_t e = 0; e < b->c->n; e++) {
            b->w[e] = shared ? shared[e] : 0;
        }
    }
    for (size_t e = 0; e < n; e++) {
        int32_t at = map ? map[e] : (int32_t)e;
        if (at >= 0) {
            b->w[at] += coefficient * w[e];
        }
        if (at >= 0 && !isfinite(b->w[at])) {
            return submodi_fail(SUBMOD_ENUMERIC, "the modular part of the combination overflows");
        }
    }
    return SUBMOD_OK;
}

/* The gains of a modular function do not depend on the order. */
static submod_status add_modular(builder *b, double coefficient, const submod_fn *f,
                                 element_map map)
{
    double *w = submodi_work_alloc(b->work, f->n, sizeof *w);
    int32_t *order = submodi_work_alloc(b->work, f->n, sizeof *order);
    void *state = submodi_work_alloc(b->work, submodi_fn_state_size(f), 1);
    TRY(submodi_work_status(b->work));
    submodi_ascending(order, f->n);
    TRY(submodi_fn_greedy(f, state, order, w));
    return add_weights(b, coefficient, w, f->n, map);
}

/* Adds a term to the summary. */
static submod_status note_term(summary *all, const submodi_term *t)
{
    size_t length = t->nbase + t->count;
    all->longest = length > all->longest ? length : all->longest;
    all->partial += t->outer != NULL;
    all->incidence_count += t->outer ? t->count : 0;
    all->direct = all->direct && is_direct(t);
    all->tied = all->tied && t->fn->ops.tied;
    all->cardinality = all->cardinality && !t->outer && t->fn->cardinality;
    all->based = all->based || t->nbase;
    all->calls_user_code = all->calls_user_code || t->fn->calls_user_code;
    return submodi_add_size(&all->state_bytes, submodi_fn_state_size(t->fn), 1)
               ? SUBMOD_OK
               : submodi_out_of_memory();
}

/* Appends coefficient * the term, with its own share of the function. A term without elements is a
 * constant. */
static submod_status append_term(builder *b, double coefficient, const submodi_term *from,
                                 element_map map)
{
    combination *c = b->c;
    submodi_term *t = &c->list->terms[c->count];
    *t = (submodi_term){.fn = submod_fn_retain(from->fn),
                        .coefficient = coefficient * from->coefficient,
                        .offset = from->offset,
                        .count = from->count,
                        .state_at = c->all.state_bytes,
                        .list_at = c->all.incidence_count};
    if (coefficient != 1 && from->coefficient != 1 && !isnormal(t->coefficient)) {
        return submodi_fail(SUBMOD_ENUMERIC,
                            "the product of coefficients %g * %g is not a normal number",
                            coefficient, from->coefficient);
    }
    if (map || !is_direct(from)) {
        TRY(map_term(from, map, c->n, t));
        simplify_lists(t, c->n);
    }
    double value = t->offset;
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
    if (from->fn->modular) {
        return add_modular(b, coefficient, from->fn, map);
    }
    if (!b->order || !is_direct(from) || !from->fn->minors) {
        return append_term(b, coefficient, from, map);
    }
    submod_fn *minor;
    submodi_term t = *from;
    TRY(submodi_fn_minors(from->fn, b->order, &b->part, 1, &minor));
    t.fn = minor;
    t.count = minor->n;
    submod_status status = append_term(b, coefficient, &t, NULL);
    submod_fn_free(minor);
    return status;
}

/* Adds coefficient * f, with its elements mapped. */
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

/* Finds the combination that a sum may extend: the longest among its unmapped terms with
 * coefficient 1. */
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

static submod_status add_all(builder *b, size_t n, const submod_term *terms, size_t count,
                             const double *modular)
{
    size_t first = extended_term(terms, count), more = 0;
    bool shares;
    for (size_t i = 0; i < count; i++) {
        bool adds = i != first && terms[i].coefficient > 0 && !terms[i].fn->modular;
        more += adds ? submodi_fn_terms(terms[i].fn).count : 0;
    }
    TRY(begin(b, n, first < count ? terms[first].fn->ctx : NULL, more, &shares));
    for (size_t i = 0; i < count; i++) {
        if (i != first || !shares) {
            TRY(add_function(b, terms[i].coefficient, terms[i].fn, terms[i].elements));
        }
    }
    return modular ? add_weights(b, 1, modular, n, NULL) : SUBMOD_OK;
}

/* Makes the sum of terms and a modular part. Elements may be IN_BASE or OUTSIDE. */
static submod_status build(builder b, size_t n, const submod_term *terms, size_t count,
                           const double *modular, submod_fn **fn)
{
    submodi_scope scope;
    b.work = submodi_scope_open(&scope, NULL);
    submod_status status = finish(&b, add_all(&b, n, terms, count, modular), fn);
    submodi_scope_close(&scope);
    return status;
}

/* ---- sums, multiples and embeddings ---- */

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

static submod_status combine(size_t n, const submod_term *terms, size_t count,
                             const double *modular, submod_fn **fn)
{
    submodi_scope scope;
    TRY(submodi_check_size(n, fn));
    submod_status status = check_terms(n, terms, count, submodi_scope_open(&scope, NULL));
    submodi_scope_close(&scope);
    TRY(status);
    TRY(modular ? submodi_check_finite("modular", modular, n) : SUBMOD_OK);
    return build((builder){0}, n, terms, count, modular, fn);
}

submod_status submod_fn_combine(size_t n, const submod_term *terms, size_t count,
                                const double *modular, submod_fn **fn)
{
    return submodi_return("submod_fn_combine", combine(n, terms, count, modular, fn));
}

/* ---- restrictions and contractions ---- */

/* Creates A -> F(base + A), less F(base) in a contraction, for the subsets A of ground. Element j
 * of the minor is ground[j]. */
static submod_status new_minor(const submod_fn *f, const submod_minor *m, builder b, submod_fn **fn)
{
    int32_t *map = submodi_alloc(f->n, sizeof *map);
    if (!map) {
        return submodi_out_of_memory();
    }
    map_to_minor(f->n, m, map);
    submod_status status = build(b, m->nground, &(submod_term){f, 1, map}, 1, NULL, fn);
    submodi_free(map);
    return status;
}

submod_status submodi_fn_minor(const submod_fn *f, const int32_t *order, submodi_part part,
                               submod_fn **fn)
{
    const submod_minor m = {order, part.begin, order + part.begin, part.end - part.begin};
    return new_minor(f, &m, (builder){.contracts = true, .order = order, .part = part}, fn);
}

submod_status submodi_fn_of_term(const submodi_term *t, submod_fn **fn)
{
    if (t->inner) {
        const submod_minor m = {t->base, t->nbase, t->inner, t->count};
        return new_minor(t->fn, &m, (builder){.contracts = t->nbase > 0}, fn);
    }
    *fn = submod_fn_retain(t->fn);
    return SUBMOD_OK;
}

static submod_status restrict_to(const submod_fn *f, const int32_t *elements, size_t k,
                                 submod_fn **fn)
{
    TRY(submodi_check_given("fn", f));
    TRY(submodi_check_size(k, fn));
    TRY(submodi_check_elements("elements", elements, k, f->n));
    const submod_minor m = {.ground = elements, .nground = k};
    return new_minor(f, &m, (builder){0}, fn);
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
    return new_minor(f, &m, (builder){.contracts = true}, fn);
}

submod_status submod_fn_contract(const submod_fn *f, const int32_t *elements, size_t k,
                                 submod_fn **fn)
{
    return submodi_return("submod_fn_contract", contract(f, elements, k, fn));
}
