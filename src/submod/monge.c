/* The minimum of a Monge matrix by divide and conquer.
 *
 * Let M(a, b) = F(a, b) - X(a) - Y(b), with X and Y the sums of z. Its second differences in a and
 * b are those of F, <= 0: a Monge matrix. If column b minimises row a, then some column >= b
 * minimises row a + 1. So once every other row is done, a row between two of them is searched
 * between their minimisers alone, and halving the stride costs as many evaluations as there are
 * columns, and rows at that stride. With the shorter label as rows, R of them, and C columns, there
 * are at most
 *
 *     (C + 1) (2 + log2 R) + R     evaluations.
 *
 * SMAWK needs O(R + C), but each evaluation depends on the last. Here they come in batches, for
 * which callbacks are called once, and which compilers vectorise. */
#include "submod/monge.h"

#include <math.h>

#include "base/internal.h"
#include "submod/fn_internal.h"

enum { BATCH = 256, FEW = 32 }; /* few: rows that need no memory from elsewhere */

/* Consecutive places of one row, in a batch. */
typedef struct run {
    size_t row, column; /* the first place */
    size_t end;         /* in the batch; begins where the one before ends */
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
    double row[BATCH], column[BATCH], sum[BATCH], value[BATCH];
} search;

/* Evaluates the batch: value = M. */
static submod_status evaluate(search *s)
{
    const double *a = s->rows_are_fg ? s->row : s->column;
    const double *b = s->rows_are_fg ? s->column : s->row;
    submod_status status =
        s->points ? submodi_increments(s->from, s->points, a, b, s->value) : SUBMOD_OK;
    for (size_t i = 0; i < s->points; i++) {
        s->value[i] -= s->sum[i];
    }
    *s->evaluations += s->points;
    return status;
}

/* Evaluates the batch, keeps the minimum of each row, and empties it. */
static submod_status flush(search *s)
{
    size_t i = 0;
    TRY(evaluate(s));
    for (size_t r = 0; r < s->runs; r++) {
        const run *here = &s->run[r];
        double best = s->best[here->row];
        size_t at = s->at[here->row];
        for (size_t column = here->column; i < here->end; i++, column++) {
            if (s->value[i] < best) {
                best = s->value[i];
                at = column;
            }
        }
        s->best[here->row] = best;
        s->at[here->row] = (uint32_t)at;
    }
    s->points = s->runs = 0;
    return SUBMOD_OK;
}

/* Puts places [column, column + count) of a row into the batch; there is room. */
static void put(search *s, size_t row, size_t column, size_t count)
{
    double amount = submodi_amount(s->rows, row);
    double sum = s->rows->sum[row];
    for (size_t k = 0; k < count; k++) {
        size_t i = s->points + k;
        s->row[i] = amount;
        s->column[i] = submodi_amount(s->columns, column + k);
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
    while (first <= last) {
        size_t room = BATCH - s->points;
        size_t count = last - first + 1 < room ? last - first + 1 : room;
        put(s, row, first, count);
        first += count;
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

/* The size of the terms that sum[k] is made of. */
static double step_size(const submodi_prefix_sums *p, size_t k)
{
    return k ? fabs(p->sum[k] - p->sum[k - 1]) : 0;
}

/* The first (last) row whose best is the minimum, up to rounding. scale: of F. */
static size_t choose_row(const search *s, int largest, double minimum, double scale)
{
    double size = scale;
    size_t chosen = 0;
    size_t column = 0;
    for (size_t row = 0; row <= s->rows->count; row++) {
        size += step_size(s->rows, row);
        for (; column < s->at[row]; column++) {
            size += step_size(s->columns, column + 1);
        }
        if (s->best[row] <= minimum + SUBMODI_ROUNDING * size) {
            chosen = row;
            if (!largest) {
                break;
            }
        }
    }
    return chosen;
}

/* The first (last) column of a row whose value is the minimum, up to rounding; *value is its value.
 */
static submod_status choose_column(search *s, size_t row, int largest, double minimum, double scale,
                                   size_t *chosen, double *value)
{
    double size = scale;
    for (size_t k = 0; k <= row; k++) {
        size += step_size(s->rows, k);
    }
    *chosen = s->at[row];
    *value = s->best[row];
    for (size_t first = 0; first <= s->columns->count; first += BATCH) {
        size_t left = s->columns->count - first + 1;
        put(s, row, first, left < BATCH ? left : BATCH);
        TRY(evaluate(s));
        for (size_t i = 0; i < s->points; i++) {
            size += step_size(s->columns, first + i);
            if (s->value[i] <= minimum + SUBMODI_ROUNDING * size) {
                *chosen = first + i;
                *value = s->value[i];
                if (!largest) {
                    return SUBMOD_OK;
                }
            }
        }
        s->points = s->runs = 0;
    }
    return SUBMOD_OK;
}

static submod_status search_all(search *s, int largest, submodi_lattice_point *found)
{
    TRY(find_rows(s));
    double minimum = s->best[0], scale;
    for (size_t row = 1; row <= s->rows->count; row++) {
        minimum = fmin(minimum, s->best[row]);
    }
    double f = submodi_amount(s->rows, s->rows->count) - submodi_amount(s->rows, 0);
    double g = submodi_amount(s->columns, s->columns->count) - submodi_amount(s->columns, 0);
    TRY(submodi_increment_by(s->from, s->rows_are_fg ? f : g, s->rows_are_fg ? g : f, &scale));
    scale = fabs(scale) + fabs(s->from->value);
    size_t row = choose_row(s, largest, minimum, scale), column;
    TRY(choose_column(s, row, largest, minimum, scale, &column, &found->value));
    found->fg = s->rows_are_fg ? row : column;
    found->bg = s->rows_are_fg ? column : row;
    return SUBMOD_OK;
}

submod_status submodi_monge_minimum(const submodi_increment *from, const submodi_prefix_sums *fg,
                                    const submodi_prefix_sums *bg, int largest,
                                    submodi_lattice_point *found, uint64_t *evaluations,
                                    submod_work *work)
{
    bool rows_are_fg = fg->count <= bg->count;
    const submodi_prefix_sums *rows = rows_are_fg ? fg : bg;
    double few_best[FEW];
    uint32_t few_at[FEW];
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    bool few = rows->count < FEW;
    search s;
    s.best = few ? few_best : submodi_work_alloc(w, rows->count + 1, sizeof *s.best);
    s.at = few ? few_at : submodi_work_alloc(w, rows->count + 1, sizeof *s.at);
    s.from = from;
    s.rows = rows;
    s.columns = rows_are_fg ? bg : fg;
    s.rows_are_fg = rows_are_fg;
    s.evaluations = evaluations;
    s.runs = s.points = 0;
    submod_status status = submodi_work_status(w);
    status = status ? status : search_all(&s, largest, found);
    submodi_scope_close(&scope);
    return status;
}
