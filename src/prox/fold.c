/* The canonical parts of a sum.
 *
 * The terms of a combination are its parts; a term of a restriction or contraction is a function by
 * itself. Then equal kinds fold:
 *
 *   cuts, embedded ones too          one graph (cut.c)
 *   Jaccard losses with one mask     one, the coefficients add up; so for each measure
 *   functions of the cardinality     one
 *
 * Cost: O(size of all terms).
 */
#include "prox/fold.h"

#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "submod/fn_internal.h"
#include "submod/measure_internal.h"

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

static submod_status add_part(submodi_folded *to, const submodi_term *t)
{
    submodi_sum_part *part = &to->parts[to->count++];
    *part = (submodi_sum_part){.coefficient = t->coefficient};
    if (t->outer) {
        part->elements = submodi_alloc(t->count, sizeof *part->elements);
        if (!part->elements) {
            return submodi_out_of_memory();
        }
        memcpy(part->elements, t->outer, t->count * sizeof *part->elements);
    }
    return submodi_fn_of_term(t, &part->fn);
}

static submod_status add_parts(submodi_folded *to, const submod_fn *fn)
{
    const submodi_terms terms = submodi_fn_terms(fn);
    to->parts = submodi_alloc(terms.count, sizeof *to->parts);
    if (!to->parts) {
        return submodi_out_of_memory();
    }
    for (size_t i = 0; i < terms.count; i++) {
        TRY(add_part(to, &terms.terms[i]));
    }
    for (size_t e = 0; e < fn->n; e++) {
        to->modular[e] = terms.modular ? terms.modular[e] : 0;
    }
    return SUBMOD_OK;
}

/* ---- equal kinds ---- */

/* Whether a part belongs to a kind. */
typedef bool is_kind(const submodi_sum_part *part);

static bool is_cut(const submodi_sum_part *part)
{
    return submodi_cut_of(part->fn) != NULL;
}

static bool is_cardinality(const submodi_sum_part *part)
{
    return part->fn->cardinality && !part->elements;
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

static submod_status fold_cuts(submodi_folded *to)
{
    size_t many = gather(to, is_cut);
    bool embedded = many == 1 && to->count > 1 && to->parts[to->count - 1].elements;
    if (many < 2 && !embedded) {
        return SUBMOD_OK;
    }
    const submodi_sum_part *cuts = to->parts + to->count - many;
    submodi_weighted_cut *pieces = submodi_alloc(many, sizeof *pieces);
    if (!pieces) {
        return submodi_out_of_memory();
    }
    for (size_t i = 0; i < many; i++) {
        pieces[i] = (submodi_weighted_cut){cuts[i].fn, cuts[i].coefficient, cuts[i].elements};
    }
    submod_fn *merged = NULL;
    submod_status status = submodi_cut_merge(to->n, pieces, many, &merged);
    submodi_free(pieces);
    if (status == SUBMOD_OK) {
        replace_last(to, many, merged);
    }
    return status;
}

/* A sum of functions of the cardinality is one. */
static submod_status fold_cardinality(submodi_folded *to)
{
    size_t many = gather(to, is_cardinality);
    if (many < 2) {
        return SUBMOD_OK;
    }
    const submodi_sum_part *parts = to->parts + to->count - many;
    submod_term *terms = submodi_alloc(many, sizeof *terms);
    submod_fn *merged = NULL;
    submod_status status = terms ? SUBMOD_OK : submodi_out_of_memory();
    for (size_t i = 0; status == SUBMOD_OK && i < many; i++) {
        terms[i] = (submod_term){parts[i].fn, parts[i].coefficient, NULL};
    }
    status = status ? status : submod_fn_combine(to->n, terms, many, NULL, &merged);
    submodi_free(terms);
    if (status == SUBMOD_OK) {
        replace_last(to, many, merged);
    }
    return status;
}

/* Functions of counts without weights, except Hamming, which is modular. */
static bool is_of_counts(const submodi_sum_part *part)
{
    const submodi_counts *c = submodi_counts_of(part->fn);
    return !part->elements && c && !c->weight && c->measure.type != SUBMOD_MEASURE_HAMMING;
}

/* Whether both are the same function of counts. */
static bool same_counts(const submod_fn *a, const submod_fn *b)
{
    const submodi_counts *of_a = submodi_counts_of(a), *of_b = submodi_counts_of(b);
    size_t bytes = (a->n + 31) / 32 * sizeof *of_a->foreground;
    return submodi_same_measure(&of_a->measure, &of_b->measure) &&
           memcmp(of_a->foreground, of_b->foreground, bytes) == 0;
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

submod_status submodi_fold(const submod_fn *fn, submodi_folded *folded)
{
    *folded = (submodi_folded){.n = fn->n, .modular = submodi_alloc(fn->n, sizeof(double))};
    if (!folded->modular) {
        return submodi_out_of_memory();
    }
    submod_status status = add_parts(folded, fn);
    status = status ? status : fold_cuts(folded);
    status = status ? status : fold_cardinality(folded);
    if (status == SUBMOD_OK) {
        fold_counts(folded);
    } else {
        submodi_folded_clear(folded);
    }
    return status;
}
