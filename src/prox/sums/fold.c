/* The canonical parts of a sum.
 *
 * A walk through the tree of sums, scaled, shifted and embedded functions collects what is not one
 * of these. On the way coefficients are multiplied, those that are 0 dropped, and lists of elements
 * combined. What is modular, Hamming included, is added up in one vector. Then equal kinds fold:
 *
 *   cuts, embedded ones too          one graph (cut_merge.c)
 *   Jaccard losses with one mask     one, the coefficients add up; so for each measure
 *   functions of the cardinality     one
 *
 * Cost: O(size of all terms).
 */
#include "prox/sums/fold.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "submod/functions/add_modular.h"
#include "submod/functions/cut.h"
#include "submod/functions/embed.h"
#include "submod/functions/jaccard.h"
#include "submod/functions/sum.h"
#include "submod/functions/two_counts.h"

/* Where in the tree the walk is: coefficient * the function there, on these elements (NULL: all).
 */
typedef struct place {
    double coefficient;
    const int32_t *elements;
} place;

typedef struct fold {
    const char *who;
    submodi_folded *to;
} fold;

static submod_status visit(fold *f, const submod_fn *fn, place at);

static void clear_part(submodi_sum_part *part)
{
    submod_fn_free(part->fn);
    submodi_free(part->elements);
    *part = (submodi_sum_part){0};
}

void submodi_folded_clear(submodi_folded *folded)
{
    for (size_t i = 0; i < folded->count; i++) {
        clear_part(&folded->parts[i]);
    }
    submodi_free(folded->parts);
    submodi_free(folded->modular);
    *folded = (submodi_folded){0};
}

/* ---- the walk ---- */

static bool make_room(submodi_folded *to)
{
    if (to->count < to->room) {
        return true;
    }
    size_t room = 2 * to->room + 4;
    submodi_sum_part *parts = submodi_alloc(room, sizeof *parts);
    if (!parts) {
        return false;
    }
    if (to->count) {
        memcpy(parts, to->parts, to->count * sizeof *parts);
    }
    submodi_free(to->parts);
    to->parts = parts;
    to->room = room;
    return true;
}

/* elements of the elements of an embedded function; the caller frees. NULL: out of memory. */
static int32_t *combine(const int32_t *elements, const int32_t *inner, size_t k)
{
    int32_t *both = submodi_alloc(k, sizeof *both);
    for (size_t i = 0; both && i < k; i++) {
        both[i] = elements ? elements[inner[i]] : inner[i];
    }
    return both;
}

static submod_status append(fold *f, const submod_fn *fn, place at)
{
    submodi_sum_part part = {.coefficient = at.coefficient};
    if (at.elements) {
        part.elements = submodi_alloc(fn->n, sizeof *part.elements);
        if (!part.elements) {
            return submodi_nomem(f->who);
        }
        memcpy(part.elements, at.elements, fn->n * sizeof *part.elements);
    }
    if (!make_room(f->to)) {
        submodi_free(part.elements);
        return submodi_nomem(f->who);
    }
    part.fn = submod_fn_share(fn);
    f->to->parts[f->to->count++] = part;
    return SUBMOD_OK;
}

static void add_weights(fold *f, const double *w, size_t n, place at)
{
    for (size_t i = 0; i < n; i++) {
        f->to->modular[at.elements ? at.elements[i] : (int32_t)i] += at.coefficient * w[i];
    }
}

/* One chain in any order gives the weights. */
static submod_status visit_modular(fold *f, const submod_fn *fn, place at)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, NULL);
    int32_t *order = submodi_take(w, fn->n, sizeof *order);
    double *gains = submodi_take(w, fn->n, sizeof *gains);
    void *state = submodi_take(w, submodi_fn_state_size(fn), 1);
    submod_status status = order && gains && state ? SUBMOD_OK : submodi_nomem(f->who);
    if (status == SUBMOD_OK) {
        submodi_ascending(order, fn->n);
        status = submodi_fn_greedy(fn, state, order, gains);
    }
    if (status == SUBMOD_OK) {
        add_weights(f, gains, fn->n, at);
    }
    submodi_scope_close(&scope);
    return status;
}

/* Whether coefficients can be multiplied without leaving the range of normal numbers. */
static bool coefficients_multiply(const submod_fn *fn, double c)
{
    bool good = true;
    for (size_t i = 0; good && i < submodi_sum_count(fn); i++) {
        double inner = submodi_sum_term(fn, i).coefficient;
        good = inner == 0 || isnormal(c * inner);
    }
    return good;
}

static submod_status visit_sum(fold *f, const submod_fn *fn, place at)
{
    submod_status status = SUBMOD_OK;
    for (size_t i = 0; status == SUBMOD_OK && i < submodi_sum_count(fn); i++) {
        submodi_term t = submodi_sum_term(fn, i);
        status = visit(f, t.fn, (place){at.coefficient * t.coefficient, at.elements});
    }
    return status;
}

static submod_status visit_embedded(fold *f, const submod_fn *core, const int32_t *inner, place at)
{
    int32_t *elements = combine(at.elements, inner, core->n);
    if (!elements) {
        return submodi_nomem(f->who);
    }
    submod_status status = visit(f, core, (place){at.coefficient, elements});
    submodi_free(elements);
    return status;
}

static submod_status visit(fold *f, const submod_fn *fn, place at)
{
    const double *weights = NULL;
    const int32_t *inner = NULL;
    if (at.coefficient == 0) {
        return SUBMOD_OK;
    }
    if (fn->traits.modular) {
        return visit_modular(f, fn, at);
    }
    if (submodi_sum_count(fn) && coefficients_multiply(fn, at.coefficient)) {
        return visit_sum(f, fn, at);
    }
    const submod_fn *rest = submodi_without_modular(fn, &weights);
    if (rest) {
        add_weights(f, weights, fn->n, at);
        return visit(f, rest, at);
    }
    const submod_fn *core = submodi_embedded(fn, &inner);
    return core ? visit_embedded(f, core, inner, at) : append(f, fn, at);
}

/* ---- equal kinds ---- */

/* Whether a part belongs to a kind. */
typedef bool is_kind(const submodi_sum_part *part);

static bool is_cut(const submodi_sum_part *part)
{
    return submodi_cut_inside(part->fn) != NULL;
}

static bool is_cardinality(const submodi_sum_part *part)
{
    return part->fn->traits.cardinality && !part->elements;
}

/* Moves the parts of a kind to the end; returns how many there are. */
static size_t gather(submodi_folded *to, is_kind *is)
{
    size_t kept = to->count;
    for (size_t i = to->count; i-- > 0;) {
        if (is(&to->parts[i])) {
            submodi_sum_part part = to->parts[i];
            to->parts[i] = to->parts[--kept];
            to->parts[kept] = part;
        }
    }
    return to->count - kept;
}

/* The last `many` parts become one. */
static void replace_last(submodi_folded *to, size_t many, submod_fn *by)
{
    for (size_t i = 0; i < many; i++) {
        clear_part(&to->parts[--to->count]);
    }
    to->parts[to->count++] = (submodi_sum_part){.fn = by, .coefficient = 1};
}

static submod_status fold_cuts(fold *f)
{
    size_t many = gather(f->to, is_cut);
    if (many < 2) {
        return SUBMOD_OK;
    }
    const submodi_sum_part *cuts = f->to->parts + f->to->count - many;
    submodi_cut_piece *pieces = submodi_alloc(many, sizeof *pieces);
    if (!pieces) {
        return submodi_nomem(f->who);
    }
    for (size_t i = 0; i < many; i++) {
        pieces[i] = (submodi_cut_piece){cuts[i].fn, cuts[i].coefficient, cuts[i].elements};
    }
    submod_fn *merged = NULL;
    submod_status status = submodi_cut_merge(f->who, f->to->n, pieces, many, &merged);
    submodi_free(pieces);
    if (status == SUBMOD_OK) {
        replace_last(f->to, many, merged);
    }
    return status;
}

/* A sum of functions of the cardinality is one. */
static submod_status fold_cardinality(fold *f)
{
    size_t many = gather(f->to, is_cardinality);
    if (many < 2) {
        return SUBMOD_OK;
    }
    const submodi_sum_part *parts = f->to->parts + f->to->count - many;
    submod_fn **fns = submodi_alloc(many, sizeof(submod_fn *));
    double *coefficients = submodi_alloc(many, sizeof *coefficients);
    submod_fn *merged = NULL;
    submod_status status = fns && coefficients ? SUBMOD_OK : submodi_nomem(f->who);
    for (size_t i = 0; status == SUBMOD_OK && i < many; i++) {
        fns[i] = parts[i].fn;
        coefficients[i] = parts[i].coefficient;
    }
    status = status ? status : submod_fn_sum(fns, coefficients, many, &merged);
    submodi_free(fns);
    submodi_free(coefficients);
    if (status == SUBMOD_OK) {
        replace_last(f->to, many, merged);
    }
    return status;
}

/* Jaccard losses, and other functions of two counts without weights. */
static bool is_of_counts(const submodi_sum_part *part)
{
    const submodi_two_counts *t = submodi_two_counts_of(part->fn);
    return !part->elements && (submodi_jaccard_mask(part->fn) || (t && !t->weight));
}

static bool same_measure(const submod_measure *a, const submod_measure *b)
{
    return a->type == b->type && a->alpha == b->alpha && a->beta == b->beta &&
           a->value == b->value && a->values == b->values && a->ctx == b->ctx;
}

/* Whether both are the same function of two counts. */
static bool same_counts(const submod_fn *a, const submod_fn *b)
{
    const submodi_two_counts *of_a = submodi_two_counts_of(a);
    const submodi_two_counts *of_b = submodi_two_counts_of(b);
    if (!of_a != !of_b || (of_a && !same_measure(&of_a->measure, &of_b->measure))) {
        return false;
    }
    const uint32_t *mask_a = of_a ? of_a->foreground : submodi_jaccard_mask(a);
    const uint32_t *mask_b = of_b ? of_b->foreground : submodi_jaccard_mask(b);
    return memcmp(mask_a, mask_b, (a->n + 31) / 32 * sizeof *mask_a) == 0;
}

/* The coefficient of a later one is added to that of an earlier one, if the sum is finite. */
static void fold_counts(submodi_folded *to)
{
    for (size_t i = to->count - gather(to, is_of_counts); i < to->count; i++) {
        for (size_t j = to->count; j-- > i + 1;) {
            double both = to->parts[i].coefficient + to->parts[j].coefficient;
            if (isfinite(both) && same_counts(to->parts[i].fn, to->parts[j].fn)) {
                to->parts[i].coefficient = both;
                clear_part(&to->parts[j]);
                to->parts[j] = to->parts[--to->count];
            }
        }
    }
}

submod_status submodi_fold(const char *who, const submod_fn *fn, submodi_folded *folded)
{
    *folded = (submodi_folded){.n = fn->n, .modular = submodi_alloc(fn->n, sizeof(double))};
    fold f = {.who = who, .to = folded};
    if (!folded->modular) {
        return submodi_nomem(who);
    }
    memset(folded->modular, 0, fn->n * sizeof *folded->modular);
    submod_status status = visit(&f, fn, (place){1, NULL});
    status = status ? status : fold_cuts(&f);
    status = status ? status : fold_cardinality(&f);
    if (status == SUBMOD_OK) {
        fold_counts(folded);
    } else {
        submodi_folded_clear(folded);
    }
    return status;
}
