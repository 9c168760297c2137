/* Folds a combination into few summands: a term of a restriction or contraction becomes a function
 * by itself, then equal kinds are joined,
 *
 *   cuts, embedded ones too          one graph (cut.c)
 *   functions of the cardinality     one
 *   counts of one mask and measure   one, the coefficients add up
 *
 * Cost: O(size of all terms). */
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "prox/sum.h"
#include "submod/measure_internal.h"

void submodi_folded_clear(submodi_folded *folded)
{
    for (size_t i = 0; i < folded->count; i++) {
        submod_fn_free(folded->summands[i].fn);
    }
    folded->count = 0;
}

static submod_status add_terms(submodi_folded *to, const submod_fn *fn, submod_work *w)
{
    const submodi_terms terms = submodi_fn_terms(fn);
    to->modular = submodi_work_alloc(w, fn->n, sizeof *to->modular);
    to->summands = submodi_work_alloc(w, terms.count, sizeof *to->summands);
    TRY(submodi_work_status(w));
    for (size_t e = 0; e < fn->n; e++) {
        to->modular[e] = terms.modular ? terms.modular[e] : 0;
    }
    for (size_t i = 0; i < terms.count; i++) {
        const submodi_term *t = &terms.terms[i];
        to->summands[i] = (submodi_summand){.coefficient = t->coefficient, .elements = t->outer};
        to->count++;
        TRY(submodi_fn_of_term(t, &to->summands[i].fn));
    }
    return SUBMOD_OK;
}

/* ---- equal kinds ---- */

/* Returns whether a summand belongs to a kind. */
typedef bool is_kind(const submodi_summand *t);

static bool is_cut(const submodi_summand *t)
{
    return submodi_cut_of(t->fn) != NULL;
}

static bool is_cardinality(const submodi_summand *t)
{
    return t->fn->cardinality && !t->elements;
}

/* Functions of counts without weights, except Hamming, which is modular. */
static bool is_of_counts(const submodi_summand *t)
{
    const submodi_counts *c = submodi_counts_of(t->fn);
    return !t->elements && c && !c->weight && c->measure.type != SUBMOD_MEASURE_HAMMING;
}

/* Moves the summands of a kind to the end. Returns where they begin. */
static size_t gather(submodi_folded *to, is_kind *is)
{
    size_t first = to->count;
    for (size_t i = to->count; i-- > 0;) {
        if (is(&to->summands[i])) {
            submodi_summand t = to->summands[i];
            to->summands[i] = to->summands[--first];
            to->summands[first] = t;
        }
    }
    return first;
}

/* Joins several summands of a kind; also a single one of some elements, if there are others. */
static submod_status fold_kind(submodi_folded *to, is_kind *is, submod_work *w)
{
    size_t first = gather(to, is), count = to->count - first;
    const submodi_summand *t = to->summands + first;
    submod_term *terms = submodi_work_alloc(w, count, sizeof *terms);
    submod_fn *joined = NULL;
    TRY(submodi_work_status(w));
    if (count == 0 || (count == 1 && (first == 0 || !t->elements))) {
        return SUBMOD_OK;
    }
    for (size_t i = 0; i < count; i++) {
        terms[i] = (submod_term){t[i].fn, t[i].coefficient, t[i].elements};
    }
    TRY(is == is_cut ? submodi_cut_merge(to->n, terms, count, &joined)
                     : submod_fn_combine(to->n, terms, count, NULL, &joined));
    while (to->count > first) {
        submod_fn_free(to->summands[--to->count].fn);
    }
    to->summands[to->count++] = (submodi_summand){.fn = joined, .coefficient = 1};
    return SUBMOD_OK;
}

/* Returns whether both are the same function of counts. */
static bool same_counts(const submod_fn *a, const submod_fn *b)
{
    const submodi_counts *of_a = submodi_counts_of(a), *of_b = submodi_counts_of(b);
    size_t bytes = (a->n + 31) / 32 * sizeof *of_a->foreground;
    return submodi_same_measure(&of_a->measure, &of_b->measure) &&
           memcmp(of_a->foreground, of_b->foreground, bytes) == 0;
}

/* Joins equal functions of counts by adding their coefficients, if the sum is finite. */
static void fold_counts(submodi_folded *to)
{
    for (size_t i = gather(to, is_of_counts); i < to->count; i++) {
        for (size_t j = to->count; j-- > i + 1;) {
            double both = to->summands[i].coefficient + to->summands[j].coefficient;
            if (isfinite(both) && same_counts(to->summands[i].fn, to->summands[j].fn)) {
                to->summands[i].coefficient = both;
                submod_fn_free(to->summands[j].fn);
                to->summands[j] = to->summands[--to->count];
            }
        }
    }
}

/* Returns the sort rank: the joined cut comes first, then summands without a fast prox, then the
 * others. */
static int rank_of(const submodi_summand *t)
{
    return is_cut(t) ? 0 : t->fast ? 2 : 1;
}

static submod_status arrange(submodi_folded *to, submod_work *w)
{
    submodi_summand *all = to->summands;
    submodi_summand *sorted = submodi_work_alloc(w, to->count, sizeof *sorted);
    size_t next = 0;
    TRY(submodi_work_status(w));
    for (size_t i = 0; i < 3 * to->count; i++) {
        submodi_summand *t = &all[i % to->count];
        t->own = submodi_can_own(t->fn);
        t->fast = t->own || submodi_can_closed_form(t->fn) || submodi_can_cardinality(t->fn) ||
                  submodi_can_jaccard(t->fn) || submodi_can_decompose(t->fn);
        if (rank_of(t) == (int)(i / to->count)) {
            sorted[next++] = *t;
        }
    }
    to->summands = sorted;
    return SUBMOD_OK;
}

submod_status submodi_fold(const submod_fn *fn, submodi_folded *folded, submod_work *work)
{
    *folded = (submodi_folded){.n = fn->n};
    TRY(add_terms(folded, fn, work));
    TRY(fold_kind(folded, is_cut, work));
    TRY(fold_kind(folded, is_cardinality, work));
    fold_counts(folded);
    return arrange(folded, work);
}
