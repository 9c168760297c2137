/* The minimum of a Monge matrix by divide and conquer, and minimisers made of prefixes
 * (docs/mathematics.md, sections 3 and 7).
 *
 * M(a, b) = F(a, b) - X(a) - Y(b), with X and Y the sums of z, has a row for each prefix of the
 * longer label and a column for each one of the shorter. Once every other row is done, a row
 * between two of them is searched only between their minimisers. This takes at most (C + 1) (2 +
 * log2 R) + R evaluations, in batches for SIMD and for callbacks that accept many pairs. */
#include "submod/monge.h"

#include <math.h>

#include "base/internal.h"
#include "submod/fn_internal.h"

enum { BATCH = 256, FEW = 32 }; /* FEW rows need no allocation */

/* Consecutive columns of one row, in a batch. */
typedef struct run {
    size_t row, column; /* the first column */
    size_t end;         /* in the batch; begins where the run before ends */
} run;

typedef struct search {
    const submodi_increment *from;
    const submodi_prefix_sums *rows, *columns;
    bool rows_are_fg;
    double *best; /* of each row */
    uint32_t *at; /* its first column */
    uint64_t *evaluations;
    size_t runs, points;
    run run[BATCH];
    double row_amount[BATCH], column_amount[BATCH], sum[BATCH], value[BATCH];
} search;

/* Evaluates the batch: value = M. */
static submod_status evaluate(search *s)
{
    const double *a = s->rows_are_fg ? s->row_amount : s->column_amount;
    const double *b = s->rows_are_fg ? s->column_amount : s->row_amount;
    TRY(submodi_increments(s->from, s->points, a, b, s->value));
    for (size_t i = 0; i < s->points; i++) {
        s->value[i] -= s->sum[i];
    }
    *s->evaluations += s->points;
    return SUBMOD_OK;
}

/* Evaluates the batch, keeps the minimum of each row, and empties it. */
static submod_status flush(search *s)
{
    size_t i = 0;
    TRY(s->points ? evaluate(s) : SUBMOD_OK);
    for (const run *r = s->run; r < s->run + s->runs; r++) {
        for (size_t column = r->column; i < r->end; i++, column++) {
            if (s->value[i] < s->best[r->row]) {
                s->best[r->row] = s->value[i];
                s->at[r->row] = (uint32_t)column;
            }
        }
    }
    s->points = s->runs = 0;
    return SUBMOD_OK;
}

/* Puts columns [column, column + count) of a row into the batch, which must have room. */
static void put(search *s, size_t row, size_t column, size_t count)
{
    double amount = submodi_amount(s->rows, row);
    double sum = s->rows->sum[row];
    for (size_t k = 0; k < count; k++) {
        size_t i = s->points + k;
        s->row_amount[i] = amount;
        s->column_amount[i] = submodi_amount(s->columns, column + k);
        s->sum[i] = sum + s->columns->sum[column + k];
    }
    s->points += count;
    s->run[s->runs++] = (run){row, column, s->points};
}

/* Adds the columns [first, last] of a row to the search. */
static submod_status add_row(search *s, size_t row, size_t first, size_t last)
{
    s->best[row] = INFINITY;
    s->at[row] = (uint32_t)first;
    for (size_t count; first <= last; first += count) {
        count = last - first + 1 < BATCH - s->points ? last - first + 1 : BATCH - s->points;
        put(s, row, first, count);
        if (s->points == BATCH) {
            TRY(flush(s));
        }
    }
    return SUBMOD_OK;
}

static submod_status find_rows(search *s)
{
    size_t rows = s->rows->count;
    size_t stride = 1;
    while (stride <= rows / 2) {
        stride *= 2;
    }
    TRY(add_row(s, 0, 0, s->columns->count));
    for (; stride; stride /= 2) {
        TRY(flush(s));
        for (size_t row = stride; row <= rows; row += 2 * stride) {
            size_t last = row + stride <= rows ? s->at[row + stride] : s->columns->count;
            TRY(add_row(s, row, s->at[row - stride], last));
        }
    }
    return flush(s);
}

/* ---- ties ---- */

/* Returns the size of the terms of sum[k]. */
static double terms_of(const submodi_prefix_sums *p, size_t k)
{
    double size = 0;
    for (size_t i = 0; i < k; i++) {
        size += fabs(p->sum[i + 1] - p->sum[i]);
    }
    return size;
}

/* Finds the first (last) column of a row whose value is at most the ceiling, next to the column of
 * its minimum. */
static submod_status choose_column(search *s, size_t row, int largest, double ceiling,
                                   submodi_lattice_point *found)
{
    size_t column = largest ? s->at[row] : 0, end = largest ? s->columns->count + 1 : s->at[row];
    size_t chosen = s->at[row];
    found->value = s->best[row];
    for (bool done = false; !done && column < end; column += s->points, s->points = s->runs = 0) {
        put(s, row, column, end - column < BATCH ? end - column : BATCH);
        TRY(evaluate(s));
        for (size_t i = 0; i < s->points && !done; i++) {
            if (s->value[i] <= ceiling) {
                chosen = column + i;
                found->value = s->value[i];
                done = !largest;
            }
        }
    }
    found->fg = s->rows_are_fg ? row : chosen;
    found->bg = s->rows_are_fg ? chosen : row;
    return SUBMOD_OK;
}

/* Values up to the ceiling count as equal to the minimum. */
static submod_status search_all(search *s, int largest, submodi_lattice_point *found)
{
    size_t lowest = 0, row = 0;
    const submodi_prefix_sums *fg = s->rows_are_fg ? s->rows : s->columns;
    const submodi_prefix_sums *bg = s->rows_are_fg ? s->columns : s->rows;
    double f = submodi_amount(fg, fg->count) - submodi_amount(fg, 0);
    double g = submodi_amount(bg, bg->count) - submodi_amount(bg, 0), scale;
    TRY(find_rows(s));
    for (size_t i = 1; i <= s->rows->count; i++) {
        lowest = s->best[i] < s->best[lowest] ? i : lowest;
    }
    TRY(submodi_increment_by(s->from, f, g, &scale));
    double size = fabs(scale) + fabs(s->from->value) + terms_of(s->rows, lowest) +
                  terms_of(s->columns, s->at[lowest]);
    double ceiling = s->best[lowest] + SUBMODI_ROUNDING * size;
    for (row = largest ? s->rows->count : 0; s->best[row] > ceiling;) {
        row = largest ? row - 1 : row + 1;
    }
    return choose_column(s, row, largest, ceiling, found);
}

submod_status submodi_monge_minimum(const submodi_increment *from, const submodi_prefix_sums *fg,
                                    const submodi_prefix_sums *bg, int largest,
                                    submodi_lattice_point *found, uint64_t *evaluations,
                                    submod_work *work)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    double few_best[FEW];
    uint32_t few_at[FEW];
    search s; /* the batch needs no values to begin with */
    s.from = from;
    /* A label without elements makes a single row: one run of columns costs less than many rows. */
    s.rows_are_fg = fg->count > bg->count ? bg->count > 0 : fg->count == 0;
    s.rows = s.rows_are_fg ? fg : bg;
    s.columns = s.rows_are_fg ? bg : fg;
    bool few = s.rows->count < FEW;
    s.best = few ? few_best : submodi_work_alloc(w, s.rows->count + 1, sizeof *s.best);
    s.at = few ? few_at : submodi_work_alloc(w, s.rows->count + 1, sizeof *s.at);
    s.evaluations = evaluations;
    s.runs = s.points = 0;
    submod_status status = submodi_work_status(w);
    status = status ? status : search_all(&s, largest, found);
    submodi_scope_close(&scope);
    return status;
}

/* ---- minimisers of set functions ---- */

/* Minimises by prefixes; z alone decides elements without weight. */
static submod_status minimize_sorted(const submodi_prefix_search *p, int largest, uint8_t *in,
                                     submod_work *work)
{
    const submodi_prefix_search s = *p; /* a local copy is faster: `in` may alias *p */
    size_t left[2] = {0, 0};
    TRY(p->choose(p, largest, left, work));
    for (size_t rank = 0; rank < s.count; rank++) {
        int32_t i = submodi_sorted_index(&s.sorted, rank);
        bool weighs = !s.weight || s.weight[s.elements[i]] > 0;
        size_t *of_label = &left[s.foreground && submodi_label(s.foreground, s.elements[i])];
        in[i] = weighs ? *of_label > 0 : largest ? s.z[i] >= 0 : s.z[i] > 0;
        *of_label -= weighs && *of_label > 0;
    }
    return SUBMOD_OK;
}

static submod_status sort_and_minimize(submodi_prefix_search *p, uint8_t *const in[2],
                                       submod_work *w)
{
    double *ratio = submodi_work_alloc(w, p->weight ? p->count : 0, sizeof *ratio);
    TRY(submodi_work_status(w));
    for (size_t i = 0; p->weight && i < p->count; i++) {
        double weight = p->weight[p->elements[i]];
        ratio[i] = weight > 0 ? p->z[i] / weight : 0;
    }
    if (submodi_sort_f64(p->weight ? ratio : p->z, p->count, w, &p->sorted) != SUBMOD_OK) {
        return submodi_out_of_memory();
    }
    for (int largest = 0; largest < 2; largest++) {
        TRY(in[largest] ? minimize_sorted(p, largest, in[largest], w) : SUBMOD_OK);
    }
    return SUBMOD_OK;
}

static submod_status minimize_after(submodi_prefix_search *p, uint8_t *smallest, uint8_t *largest,
                                    submod_work *work)
{
    uint8_t *const in[2] = {smallest, largest};
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submod_status status = p->count ? sort_and_minimize(p, in, w) : SUBMOD_OK;
    submodi_scope_close(&scope);
    return status;
}

submod_status submodi_minimize_prefixes(submodi_prefix_search p, const submod_minor *minor,
                                        const double *z, uint8_t *smallest, uint8_t *largest)
{
    submodi_add_weights(p.weight, p.foreground, minor->base, minor->nbase, p.base);
    p.elements = minor->ground;
    p.count = minor->nground;
    p.z = z;
    return minimize_after(&p, smallest, largest, NULL);
}

submod_status submodi_minimize_prefix_parts(submodi_prefix_search p, const int32_t *order,
                                            const submodi_part *parts, size_t nparts,
                                            const double *z, uint8_t *in)
{
    submod_work *work; /* allocates for the largest part alone */
    TRY(submod_work_create(&work));
    submod_status status = SUBMOD_OK;
    size_t done = 0;
    for (size_t j = 0; status == SUBMOD_OK && j < nparts; j++) {
        size_t begin = parts[j].begin;
        submodi_add_weights(p.weight, p.foreground, order + done, begin - done, p.base);
        done = begin;
        p.elements = order + begin;
        p.count = parts[j].end - begin;
        p.z = z + begin;
        status = minimize_after(&p, in + begin, NULL, work);
    }
    submod_work_free(work);
    return status;
}
