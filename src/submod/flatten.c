/* Building combinations in their flat form (combine.c): sums, multiples, modular parts, embeddings,
 * restrictions and contractions. */
#include <math.h>
#include <stdio.h>

#include "base/internal.h"
#include "submod/combine.h"

/* ---- lists of terms ----
 *
 * Several combinations may share a list; each consists of its first terms. One that ends at the
 * last term can be extended in place, so that a sum that grows term by term copies O(1) terms on
 * average. A term lives until no combination reaches it. */

struct submodi_term_list {
    atomic_flag lock; /* for owners, used and ends */
    size_t owners, used, room;
    size_t *ends; /* how many combinations end after each term */
    submodi_term terms[];
};

typedef struct submodi_term_list term_list;

static void lock(term_list *list)
{
    while (atomic_flag_test_and_set_explicit(&list->lock, memory_order_acquire)) {
    }
}

static void unlock(term_list *list)
{
    atomic_flag_clear_explicit(&list->lock, memory_order_release);
}

static term_list *new_list(size_t room)
{
    size_t bytes = 0;
    bool fits = room <= UINT32_MAX && submodi_add_size(&bytes, 1, sizeof(term_list)) &&
                submodi_add_size(&bytes, room, sizeof(submodi_term) + sizeof(size_t));
    term_list *list = fits ? submodi_alloc(bytes, 1) : NULL;
    if (list) {
        *list = (term_list){.owners = 1, .room = room};
        atomic_flag_clear(&list->lock);
        list->ends = (void *)(list->terms + room);
    }
    return list;
}

/* Appends `extra` empty terms for a combination that ends after count + extra. False if there is no
 * room, or if another combination has appended its own. */
static bool extend_list(term_list *list, size_t count, size_t extra)
{
    lock(list);
    bool free_places = list->used == count && list->room - count >= extra;
    if (free_places) {
        memset(list->terms + count, 0, extra * sizeof *list->terms);
        memset(list->ends + count, 0, extra * sizeof *list->ends);
        list->used += extra;
    }
    if (free_places || extra == 0) {
        list->ends[count + extra - 1]++;
        list->owners++;
    }
    unlock(list);
    return free_places || extra == 0;
}

/* Removes the last term if no combination reaches it. */
static bool pop_unreached(term_list *list, submodi_term *last)
{
    lock(list);
    bool unreached = list->used && !list->ends[list->used - 1];
    if (unreached) {
        *last = list->terms[--list->used];
    }
    unlock(list);
    return unreached;
}

/* A combination of the first `count` terms goes. */
static void leave_list(term_list *list, size_t count)
{
    submodi_term last;
    lock(list);
    list->ends[count ? count - 1 : 0] -= count > 0;
    unlock(list);
    while (pop_unreached(list, &last)) {
        submod_fn_free((submod_fn *)last.fn); /* the list's own share */
        submodi_free(last.lists);
    }
    lock(list);
    bool unowned = --list->owners == 0;
    unlock(list);
    if (unowned) {
        submodi_free(list);
    }
}

/* ---- the combination under construction ---- */

typedef struct builder {
    submodi_combination *c;
    submod_fn made;    /* with what the terms have in common */
    size_t placed;     /* terms so far; c->count may count places that are still empty */
    bool owns_weights; /* c->modular belongs to c alone */
    bool tied, minors; /* all terms have them */
    submod_work *work; /* scratch */
} builder;

static void free_weights(submodi_weights *weights)
{
    if (weights && atomic_fetch_sub(&weights->owners, 1) == 1) {
        submodi_free(weights);
    }
}

static void destroy(void *ctx)
{
    submodi_combination *c = ctx;
    if (c->list) {
        leave_list(c->list, c->count);
    }
    free_weights(c->modular);
    submodi_free(atomic_load(&c->incidences));
    submodi_free(c);
}

/* Begins a combination of n elements with a list of its own. */
static submod_status begin(builder *b, size_t n, size_t room, submod_work *work)
{
    submodi_combination *c = submodi_alloc(1, sizeof *c);
    term_list *list = c && room ? new_list(room) : NULL;
    b->c = NULL;
    if (!c || (room && !list)) {
        submodi_free(c);
        return submodi_out_of_memory();
    }
    *c = (submodi_combination){
        .n = n, .list = list, .terms = list ? list->terms : NULL, .direct = true};
    *b = (builder){.c = c, .work = work, .tied = true, .minors = true};
    b->made = (submod_fn){.ops = {.name = "combination", .destroy = destroy},
                          .kind = SUBMODI_COMBINATION,
                          .modular = true,
                          .cardinality = true,
                          .ctx = c,
                          .n = n};
    return SUBMOD_OK;
}

static submod_status finish(builder *b, submod_status status, submod_fn **fn)
{
    if (status != SUBMOD_OK) {
        if (b->c) {
            destroy(b->c);
        }
        return status;
    }
    if (!submodi_combination_slots(&b->made, b->tied, b->minors)) {
        destroy(b->c);
        return submodi_out_of_memory();
    }
    return submodi_fn_new(&b->made, fn);
}

/* ---- modular parts ---- */

/* Makes the weights the combination's own. */
static submod_status own_weights(builder *b)
{
    submodi_combination *c = b->c;
    if (b->owns_weights) {
        return SUBMOD_OK;
    }
    submodi_weights *own = submodi_alloc(sizeof *own + c->n * sizeof *own->w, 1);
    if (!own) {
        return submodi_out_of_memory();
    }
    atomic_init(&own->owners, 1);
    for (size_t e = 0; e < c->n; e++) {
        own->w[e] = c->modular ? c->modular->w[e] : 0;
    }
    free_weights(c->modular);
    c->modular = own;
    b->owns_weights = true;
    return SUBMOD_OK;
}

/* Adds coefficient * w: weight inner[j] to element outer[j], NULL meaning j. */
static submod_status add_weights(builder *b, double coefficient, const double *w,
                                 const int32_t *outer, const int32_t *inner, size_t count)
{
    TRY(own_weights(b));
    double *sum = b->c->modular->w;
    for (size_t j = 0; j < count; j++) {
        double *at = &sum[outer ? outer[j] : (int32_t)j];
        *at += coefficient * w[inner ? inner[j] : (int32_t)j];
        if (!isfinite(*at)) {
            return submodi_fail(SUBMOD_ENUMERIC, "the modular part of the combination overflows");
        }
    }
    return SUBMOD_OK;
}

/* A term whose function is modular: its gains do not depend on the order. */
static submod_status add_modular_term(builder *b, const submodi_term *t)
{
    const submod_fn *f = t->fn;
    submodi_scope scope;
    submod_work *work = submodi_scope_open(&scope, b->work);
    double *w = submodi_work_alloc(work, f->n, sizeof *w);
    int32_t *order = submodi_work_alloc(work, f->n, sizeof *order);
    void *state = submodi_work_alloc(work, submodi_fn_state_size(f), 1);
    submod_status status = submodi_work_status(work);
    if (status == SUBMOD_OK) {
        submodi_ascending(order, f->n);
        status = submodi_fn_greedy(f, state, order, w);
    }
    status = status ? status : add_weights(b, t->coefficient, w, t->outer, t->inner, t->count);
    submodi_scope_close(&scope);
    return status;
}

/* ---- terms ---- */

/* outer as a permutation of all elements: the same pairs, listed by outer element. */
static void list_by_outer(const submodi_term *t, int32_t *inner)
{
    for (size_t j = 0; j < t->count; j++) {
        inner[t->outer[j]] = t->inner ? t->inner[j] : (int32_t)j;
    }
}

static bool is_identity(const int32_t *list, size_t n)
{
    bool same = true;
    for (size_t j = 0; same && j < n; j++) {
        same = list[j] == (int32_t)j;
    }
    return same;
}

/* Copies the lists of `from` into one block of `to`. A term with all elements of F has no list of
 * outer elements, one with all elements in their order none of inner ones. */
static bool copy_lists(const submodi_term *from, size_t n, submodi_term *to)
{
    bool permuted = from->outer && from->count == n;
    to->nbase = from->nbase;
    to->count = from->count;
    if (!from->nbase && !from->outer && !from->inner) {
        return true;
    }
    int32_t *at = to->lists = submodi_alloc(from->nbase + 2 * from->count, sizeof *at);
    if (!at) {
        return false;
    }
    if (from->nbase) {
        memcpy(at, from->base, from->nbase * sizeof *at);
        to->base = at;
        at += from->nbase;
    }
    if (from->outer && !permuted) {
        memcpy(at, from->outer, from->count * sizeof *at);
        to->outer = at;
        at += from->count;
    }
    if (permuted) {
        list_by_outer(from, at);
    } else if (from->inner) {
        memcpy(at, from->inner, from->count * sizeof *at);
    }
    bool same = !permuted && !from->inner;
    to->inner = same || (from->count == from->fn->n && is_identity(at, from->count)) ? NULL : at;
    return true;
}

/* What F has in common with all of its terms. */
static void note_term(builder *b, const submodi_term *t)
{
    submodi_combination *c = b->c;
    submod_fn *made = &b->made;
    bool full = !t->outer;
    size_t length = t->nbase + t->count;
    c->longest = length > c->longest ? length : c->longest;
    c->partial += !full;
    c->incidence_count += full ? 0 : t->count;
    c->direct = c->direct && submodi_is_direct(t);
    made->modular = false;
    made->cardinality = made->cardinality && full && t->fn->cardinality;
    b->tied = b->tied && t->fn->ops.tied;
    b->minors = b->minors && submodi_is_direct(t) && t->fn->minors;
    made->based = made->based || t->nbase;
    made->calls_user_code = made->calls_user_code || t->fn->calls_user_code;
}

/* The next place of the list, which grows by one if it is the combination's own. */
static submodi_term *next_place(builder *b)
{
    submodi_combination *c = b->c;
    size_t i = b->placed++;
    if (i == c->count) {
        c->list->used = ++c->count;
        c->list->ends[i] = 1;
        c->list->ends[i ? i - 1 : 0] = i == 0;
    }
    c->list->terms[i] = (submodi_term){.coefficient = 0};
    return &c->list->terms[i];
}

/* Appends a copy of a term; what is modular goes into the modular part. */
static submod_status add_term(builder *b, const submodi_term *t)
{
    if (t->fn->modular) {
        return add_modular_term(b, t);
    }
    submodi_combination *c = b->c;
    submodi_term *to = next_place(b);
    to->coefficient = t->coefficient;
    to->offset = t->offset;
    to->state_at = c->state_bytes;
    to->list_at = c->incidence_count;
    to->fn = submod_fn_retain(t->fn);
    if (!copy_lists(t, c->n, to) ||
        !submodi_add_size(&c->state_bytes, submodi_fn_state_size(t->fn), 1)) {
        return submodi_out_of_memory();
    }
    note_term(b, to);
    return SUBMOD_OK;
}

/* ---- sums, multiples and embeddings ---- */

static submod_status multiply(double a, double b, double *product)
{
    *product = a * b;
    return a == 1 || b == 1 || isnormal(*product)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC,
                              "the product of coefficients %g * %g is not a normal number", a, b);
}

/* Adds one term of a function whose element j is elements[j]; NULL means j. */
static submod_status add_inner(builder *b, double coefficient, const int32_t *elements,
                               const submodi_term *inside)
{
    submodi_term t = *inside;
    TRY(multiply(coefficient, inside->coefficient, &t.coefficient));
    if (!elements || !t.outer) {
        t.outer = elements ? elements : t.outer;
        return add_term(b, &t);
    }
    submodi_scope scope;
    submod_work *work = submodi_scope_open(&scope, b->work);
    int32_t *outer = submodi_work_alloc(work, t.count, sizeof *outer);
    for (size_t j = 0; outer && j < t.count; j++) {
        outer[j] = elements[t.outer[j]];
    }
    t.outer = outer;
    submod_status status = outer ? add_term(b, &t) : submodi_out_of_memory();
    submodi_scope_close(&scope);
    return status;
}

static const submodi_combination *combination_of(const submod_fn *fn)
{
    return fn->kind == SUBMODI_COMBINATION ? fn->ctx : NULL;
}

static submod_status add_multiple(builder *b, const submod_term *of)
{
    double c = of->coefficient;
    if (c == 0) {
        return SUBMOD_OK;
    }
    const submodi_combination *inner = combination_of(of->fn);
    const submodi_terms inside = submodi_fn_terms(of->fn);
    for (size_t i = 0; i < inside.count; i++) {
        TRY(add_inner(b, c, of->elements, &inside.terms[i]));
    }
    b->c->constant += inner ? c * inner->constant : 0;
    return inside.modular ? add_weights(b, c, inside.modular, of->elements, NULL, of->fn->n)
                          : SUBMOD_OK;
}

/* The combination that a sum may extend: the longest one among its terms that comes as it is. */
static size_t extended_term(const submod_term *terms, size_t count)
{
    size_t best = count;
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        const submodi_combination *c = combination_of(terms[i].fn);
        if (c && terms[i].coefficient == 1 && !terms[i].elements && c->count >= length) {
            best = i;
            length = c->count;
        }
    }
    return best;
}

/* How many terms a multiple adds. */
static size_t terms_added(const submod_term *of)
{
    return of->coefficient == 0 || of->fn->modular ? 0 : submodi_fn_terms(of->fn).count;
}

/* Continues in the list of `first`, where c->count has places for what follows. */
static void continue_list(builder *b, const submod_fn *first, size_t more)
{
    submodi_combination *c = b->c;
    *c = *(const submodi_combination *)first->ctx;
    c->count += more;
    atomic_init(&c->incidences, NULL);
    b->placed = c->count - more;
    b->tied = first->ops.tied != NULL;
    b->minors = first->minors != NULL;
    b->made.modular = first->modular;
    b->made.cardinality = first->cardinality;
    b->made.based = first->based;
    b->made.calls_user_code = first->calls_user_code;
}

/* Begins with the terms of `first`, and with places for `more`. */
static submod_status begin_with(builder *b, const submod_fn *first, size_t more, submod_work *work)
{
    const submodi_combination *from = first->ctx;
    bool shared = from->list && extend_list(from->list, from->count, more);
    size_t room = from->count ? 2 * (from->count + more) : more;
    submod_status status = begin(b, from->n, shared ? 0 : room, work);
    if (status != SUBMOD_OK) {
        if (shared) {
            leave_list(from->list, from->count + more);
        }
        return status;
    }
    if (shared) {
        continue_list(b, first, more);
    }
    for (size_t i = 0; !shared && status == SUBMOD_OK && i < from->count; i++) {
        status = add_term(b, &from->terms[i]);
    }
    b->c->constant = from->constant;
    b->c->modular = from->modular;
    if (from->modular) {
        atomic_fetch_add(&from->modular->owners, 1);
    }
    return status;
}

static submod_status combine(builder *b, size_t n, const submod_term *terms, size_t count,
                             const double *modular, submod_work *work)
{
    size_t first = extended_term(terms, count);
    size_t more = 0;
    for (size_t i = 0; i < count; i++) {
        more += i == first ? 0 : terms_added(&terms[i]);
    }
    TRY(first < count ? begin_with(b, terms[first].fn, more, work) : begin(b, n, more, work));
    for (size_t i = 0; i < count; i++) {
        if (i != first) {
            TRY(add_multiple(b, &terms[i]));
        }
    }
    return modular ? add_weights(b, 1, modular, NULL, NULL, n) : SUBMOD_OK;
}

/* seen: a bit for each element, all 0 before and after. */
static submod_status check_elements(const submod_term *t, size_t i, size_t n, uint32_t *seen)
{
    char name[48];
    snprintf(name, sizeof name, "terms[%zu].elements", i);
    submod_status status = submodi_mark_elements(name, t->elements, t->fn->n, n, seen);
    if (status == SUBMOD_OK) {
        for (size_t j = 0; j < t->fn->n; j++) {
            seen[t->elements[j] / 32] = 0;
        }
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
    submod_work *work = submodi_scope_open(&scope, NULL);
    submod_status status = submodi_check_size(n, fn);
    status = status ? status : check_terms(n, terms, count, work);
    status = status || !modular ? status : submodi_check_finite("modular", modular, n);
    if (status == SUBMOD_OK) {
        builder b = {.c = NULL};
        status = combine(&b, n, terms, count, modular, work);
        status = finish(&b, status, fn);
    }
    submodi_scope_close(&scope);
    return submodi_return("submod_fn_combine", status);
}

/* ---- restrictions and contractions ---- */

/* A -> F(base + A), or F(base + A) - F(base), for the subsets A of ground, whose element j is j of
 * the minor. */
typedef struct minor {
    const submod_fn *fn;
    const int32_t *base, *ground;
    size_t nbase, nground;
    bool contracts; /* F(base) is subtracted */
    int32_t *place; /* of each element: j in ground, IN_BASE or OUTSIDE */
} minor;

enum { IN_BASE = -2, OUTSIDE = -1 };

static submod_status find_places(minor *m, submod_work *work)
{
    m->place = submodi_work_alloc(work, m->fn->n, sizeof *m->place);
    TRY(submodi_work_status(work));
    for (size_t e = 0; e < m->fn->n; e++) {
        m->place[e] = OUTSIDE;
    }
    for (size_t i = 0; i < m->nbase; i++) {
        m->place[m->base[i]] = IN_BASE;
    }
    for (size_t j = 0; j < m->nground; j++) {
        m->place[m->ground[j]] = (int32_t)j;
    }
    return SUBMOD_OK;
}

/* Lists of a term of the minor. */
typedef struct lists {
    int32_t *base, *outer, *inner;
} lists;

static int32_t inner_of(const submodi_term *t, size_t j)
{
    return t->inner ? t->inner[j] : (int32_t)j;
}

/* The lists of a term with all elements follow the order of base and ground. */
static void list_full(const minor *m, const submodi_term *t, lists l, submodi_term *made)
{
    for (size_t i = 0; i < m->nbase; i++) {
        l.base[made->nbase++] = inner_of(t, (size_t)m->base[i]);
    }
    for (size_t j = 0; j < m->nground; j++) {
        l.inner[made->count++] = inner_of(t, (size_t)m->ground[j]);
    }
    made->inner = l.inner;
}

static void list_partial(const minor *m, const submodi_term *t, lists l, submodi_term *made)
{
    for (size_t j = 0; j < t->count; j++) {
        int32_t place = m->place[t->outer[j]];
        if (place == IN_BASE) {
            l.base[made->nbase++] = inner_of(t, j);
        } else if (place != OUTSIDE) {
            l.outer[made->count] = place;
            l.inner[made->count++] = inner_of(t, j);
        }
    }
    made->outer = l.outer;
    made->inner = l.inner;
}

/* Adds the minor of a term; one without elements is a constant. */
static submod_status add_minor_of(builder *b, const minor *m, const submodi_term *t, lists l)
{
    submodi_term made = {.fn = t->fn, .coefficient = t->coefficient, .offset = t->offset};
    double value = 0;
    for (; made.nbase < t->nbase; made.nbase++) {
        l.base[made.nbase] = t->base[made.nbase];
    }
    (t->outer ? list_partial : list_full)(m, t, l, &made);
    made.base = l.base;
    bool needs_value = m->contracts ? made.count > 0 : made.count == 0;
    if (needs_value && !t->fn->modular) {
        TRY(submodi_fn_eval(t->fn, made.base, made.nbase, &value));
    }
    if (made.count == 0) {
        b->c->constant += m->contracts ? 0 : t->coefficient * (value - t->offset);
        return SUBMOD_OK;
    }
    made.offset = m->contracts ? value : t->offset;
    return add_term(b, &made);
}

/* How many terms keep elements, and the largest of all terms. */
static size_t count_kept(const minor *m, const submodi_terms *inside, size_t *longest)
{
    size_t kept = 0;
    *longest = 0;
    for (size_t i = 0; i < inside->count; i++) {
        const submodi_term *t = &inside->terms[i];
        size_t length = t->nbase + t->count;
        *longest = length > *longest ? length : *longest;
        bool keeps = !t->outer;
        for (size_t j = 0; !keeps && j < t->count; j++) {
            keeps = m->place[t->outer[j]] >= 0;
        }
        kept += keeps;
    }
    return kept;
}

static submod_status add_minors(builder *b, minor *m, submod_work *work)
{
    const submodi_terms inside = submodi_fn_terms(m->fn);
    const submodi_combination *c = combination_of(m->fn);
    size_t longest;
    b->c = NULL;
    TRY(find_places(m, work));
    TRY(begin(b, m->nground, count_kept(m, &inside, &longest), work));
    lists l = {submodi_work_alloc(work, longest, sizeof *l.base),
               submodi_work_alloc(work, longest, sizeof *l.outer),
               submodi_work_alloc(work, longest, sizeof *l.inner)};
    TRY(submodi_work_status(work));
    for (size_t i = 0; i < inside.count; i++) {
        TRY(add_minor_of(b, m, &inside.terms[i], l));
    }
    b->c->constant += c && !m->contracts ? c->constant : 0;
    return inside.modular ? add_weights(b, 1, inside.modular, NULL, m->ground, m->nground)
                          : SUBMOD_OK;
}

static submod_status new_minor(minor *m, submod_fn **fn)
{
    submodi_scope scope;
    submod_work *work = submodi_scope_open(&scope, NULL);
    builder b = {.c = NULL};
    submod_status status = finish(&b, add_minors(&b, m, work), fn);
    submodi_scope_close(&scope);
    return status;
}

submod_status submodi_fn_minor(const submod_fn *f, const int32_t *order, submodi_part part,
                               submod_fn **fn)
{
    minor m = {.fn = f,
               .base = order,
               .nbase = part.begin,
               .ground = order + part.begin,
               .nground = part.end - part.begin,
               .contracts = true};
    return new_minor(&m, fn);
}

static submod_status restrict_to(const submod_fn *f, const int32_t *elements, size_t k,
                                 submod_fn **fn)
{
    TRY(submodi_check_given("fn", f));
    TRY(submodi_check_size(k, fn));
    TRY(submodi_check_elements("elements", elements, k, f->n));
    return new_minor(&(minor){.fn = f, .ground = elements, .nground = k}, fn);
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
    submod_status status = new_minor(&(minor){.fn = f,
                                              .base = elements,
                                              .nbase = k,
                                              .ground = rest,
                                              .nground = f->n - k,
                                              .contracts = true},
                                     fn);
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
    builder b = {.c = NULL};
    submodi_term alone = *t;
    alone.coefficient = 1;
    alone.outer = NULL;
    submod_status status = begin(&b, t->count, 1, NULL);
    status = status ? status : add_term(&b, &alone);
    return finish(&b, status, fn);
}

/* The combination of one minor of each term; w: the modular part there. */
static submod_status combine_minors(const submodi_combination *c, submod_fn *const *made,
                                    size_t stride, const int32_t *elements, size_t n,
                                    submod_fn **fn)
{
    builder b = {.c = NULL};
    submod_status status = begin(&b, n, c->count, NULL);
    for (size_t i = 0; status == SUBMOD_OK && i < c->count; i++) {
        submodi_term t = {
            .fn = made[i * stride], .coefficient = c->terms[i].coefficient, .count = n};
        status = add_term(&b, &t);
    }
    if (status == SUBMOD_OK && c->modular) {
        status = add_weights(&b, 1, c->modular->w, NULL, elements, n);
    }
    return finish(&b, status, fn);
}

submod_status submodi_combination_minors(const void *ctx, const int32_t *order,
                                         const submodi_part *parts, size_t nparts, submod_fn **fns)
{
    const submodi_combination *c = ctx;
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
