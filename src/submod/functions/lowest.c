/* The lowest point of a Monge matrix (see lowest.h).
 *
 * Let M(a, b) = F(a, b) - X(a) - Y(b), with X and Y the sums of z. A second difference of F in a
 * and b is <= 0, and so is that of M: a Monge matrix. If b is a lowest place of row a, then row a +
 * 1 has one at b or after it. So once every other row is done, a row between two is looked at
 * between their places alone: one halving of the stride costs as many evaluations as there are
 * columns, and rows at that stride. With the shorter kind as rows, R of them, and C columns,
 *
 *     (C + 1) (2 + log2 R) + R     evaluations at most.
 *
 * SMAWK would do with O(R + C), but one by one and each depending on the last. Here they come in
 * batches, which a callback can serve at once, and the compiler with vectors. */
#include "submod/functions/lowest.h"

#include <math.h>

#include "base/error.h"
#include "submod/handle.h"

enum { BATCH = 256 };

/* Consecutive places of one row, in a batch. */
typedef struct run {
    size_t row, column; /* the first place */
    size_t end;         /* in the batch; begins where the one before ends */
} run;

typedef struct search {
    const submodi_rise *rise;
    const submodi_prefixes *rows, *columns;
    bool rows_are_fg;
    double *best; /* of each row */
    uint32_t *at; /* the first place where it is so */
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
        s->points ? submodi_rises(s->rise, s->points, a, b, s->value) : SUBMOD_OK;
    for (size_t i = 0; i < s->points; i++) {
        s->value[i] -= s->sum[i];
    }
    *s->evaluations += s->points;
    return status;
}

/* Evaluates the batch, keeps the lowest place of each row, and empties it. */
static submod_status flush(search *s)
{
    submod_status status = evaluate(s);
    size_t i = 0;
    for (size_t r = 0; status == SUBMOD_OK && r < s->runs; r++) {
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
    return status;
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

/* Looks at places [first, last] of a row, sooner or later. */
static submod_status look_at(search *s, size_t row, size_t first, size_t last)
{
    submod_status status = SUBMOD_OK;
    s->best[row] = INFINITY;
    s->at[row] = (uint32_t)first;
    while (status == SUBMOD_OK && first <= last) {
        size_t room = BATCH - s->points;
        size_t count = last - first + 1 < room ? last - first + 1 : room;
        put(s, row, first, count);
        first += count;
        status = s->points == BATCH ? flush(s) : SUBMOD_OK;
    }
    return status;
}

static submod_status find_rows(search *s)
{
    size_t rows = s->rows->count;
    size_t stride = 1;
    while (stride <= rows / 2) {
        stride *= 2;
    }
    submod_status status = look_at(s, 0, 0, s->columns->count);
    for (; status == SUBMOD_OK && stride; stride /= 2) {
        status = flush(s);
        for (size_t row = stride; status == SUBMOD_OK && row <= rows; row += 2 * stride) {
            size_t last = row + stride <= rows ? s->at[row + stride] : s->columns->count;
            status = look_at(s, row, s->at[row - stride], last);
        }
    }
    return status ? status : flush(s);
}

/* ---- ties ---- */

/* The size of the terms that sum[k] is made of. */
static double step_size(const submodi_prefixes *kind, size_t k)
{
    return k ? fabs(kind->sum[k] - kind->sum[k - 1]) : 0;
}

/* The first (last) row whose best is as low as the lowest, up to rounding. scale: of F. */
static size_t choose_row(const search *s, int largest, double lowest, double scale)
{
    double size = scale;
    size_t chosen = 0;
    size_t column = 0;
    for (size_t row = 0; row <= s->rows->count; row++) {
        size += step_size(s->rows, row);
        for (; column < s->at[row]; column++) {
            size += step_size(s->columns, column + 1);
        }
        if (s->best[row] <= lowest + SUBMODI_ROUNDING * size) {
            chosen = row;
            if (!largest) {
                break;
            }
        }
    }
    return chosen;
}

/* The first (last) place of a row that is as low as the lowest, up to rounding; *value: its value.
 */
static submod_status choose_column(search *s, size_t row, int largest, double lowest, double scale,
                                   size_t *chosen, double *value)
{
    submod_status status = SUBMOD_OK;
    double size = scale;
    for (size_t k = 0; k <= row; k++) {
        size += step_size(s->rows, k);
    }
    *chosen = s->at[row];
    *value = s->best[row];
    bool done = false;
    for (size_t first = 0; status == SUBMOD_OK && !done && first <= s->columns->count;
         first += BATCH) {
        size_t left = s->columns->count - first + 1;
        put(s, row, first, left < BATCH ? left : BATCH);
        status = evaluate(s);
        for (size_t i = 0; status == SUBMOD_OK && !done && i < s->points; i++) {
            size += step_size(s->columns, first + i);
            if (s->value[i] <= lowest + SUBMODI_ROUNDING * size) {
                *chosen = first + i;
                *value = s->value[i];
                done = !largest;
            }
        }
        s->points = s->runs = 0;
    }
    return status;
}

static submod_status search_all(search *s, int largest, submodi_corner *found)
{
    submod_status status = find_rows(s);
    if (status != SUBMOD_OK) {
        return status;
    }
    double lowest = s->best[0];
    for (size_t row = 1; row <= s->rows->count; row++) {
        lowest = fmin(lowest, s->best[row]);
    }
    double scale;
    double f = submodi_amount(s->rows, s->rows->count) - submodi_amount(s->rows, 0);
    double g = submodi_amount(s->columns, s->columns->count) - submodi_amount(s->columns, 0);
    status = submodi_rise_by(s->rise, s->rows_are_fg ? f : g, s->rows_are_fg ? g : f, &scale);
    if (status != SUBMOD_OK) {
        return status;
    }
    scale = fabs(scale) + fabs(s->rise->value);
    size_t row = choose_row(s, largest, lowest, scale);
    size_t column;
    status = choose_column(s, row, largest, lowest, scale, &column, &found->value);
    found->fg = s->rows_are_fg ? row : column;
    found->bg = s->rows_are_fg ? column : row;
    return status;
}

submod_status submodi_find_lowest(const submodi_rise *rise, const submodi_prefixes *fg,
                                  const submodi_prefixes *bg, int largest, submodi_corner *found,
                                  uint64_t *evaluations, submod_work *work)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    search *s = submodi_take(w, 1, sizeof *s);
    bool rows_are_fg = fg->count <= bg->count;
    const submodi_prefixes *rows = rows_are_fg ? fg : bg;
    double *best = submodi_take(w, rows->count + 1, sizeof *best);
    uint32_t *at = submodi_take(w, rows->count + 1, sizeof *at);
    submod_status status;
    if (s && best && at) {
        s->rise = rise;
        s->rows = rows;
        s->columns = rows_are_fg ? bg : fg;
        s->rows_are_fg = rows_are_fg;
        s->best = best;
        s->at = at;
        s->evaluations = evaluations;
        s->runs = s->points = 0;
        status = search_all(s, largest, found);
    } else {
        status = submodi_nomem(rise->who);
    }
    submodi_scope_close(&scope);
    return status;
}
