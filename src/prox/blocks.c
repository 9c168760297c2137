/* The blocks of a prox: levels of u, and in each of them the parts that F does not separate
 * (submod/components.c). derivative.h has the definitions.
 *
 * Which entries of an approximate u are truly equal is decided by what the blocks say in turn. On a
 * true block C the value  mean x - (F(S + C) - F(S)) / (lambda |C|)  is u itself. On a piece A of
 * C it is not: A is no block, so F(S + A) - F(S) > s(A), and the value is too small by the
 * difference / (lambda |A|). So the smallest tolerance whose blocks reproduce u is taken.
 *
 * Cost: one sort; then in each round O(n), one chain, and the joins of F.
 */
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "base/sort.h"
#include "base/sums_loops.h"
#include "prox/block_order.h"
#include "submod/fn_internal.h"
#include <submod/derivative.h>

static const char who[] = "submod_prox_blocks";

/* The rounding of a value, relative to the size of x and of F's gains / lambda; the tolerances that
 * are tried: first and factor, relative to the size of x and u, and how many. */
static const double ROUNDING = 1e-12;
static const double FIRST = 1e-13;
static const double GROWTH = 8;
enum {
    MOST_ROUNDS = 13
}; /* the last tolerance is about 1e-2; not by size, which may be 0 or Inf */

typedef struct search {
    const submod_fn *fn;
    const double *x, *u;
    double lambda;
    int32_t *order; /* elements by falling u; only those that are in a block */
    size_t k;       /* of them */
    size_t *start;  /* the levels in it */
    int32_t *level, *forest;
    int32_t *block; /* of each element */
    size_t count;
    int32_t *sorted; /* elements by block */
    size_t *end;     /* per block: where it ends in sorted */
    double *gain, *value;
    void *state;
    double error;    /* the largest |u - value| */
    double rounding; /* what of it may be rounding */
} search;

submod_blocks_settings submod_blocks_defaults(void)
{
    return (submod_blocks_settings){.struct_size = sizeof(submod_blocks_settings), .tolerance = -1};
}

static bool take_arrays(search *b, submod_work *w)
{
    size_t n = b->fn->n;
    int32_t **numbers[] = {&b->order, &b->level, &b->forest, &b->block, &b->sorted};
    bool good = true;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        *numbers[i] = submodi_take(w, n, sizeof **numbers[i]);
        good = good && *numbers[i];
    }
    double **vectors[] = {&b->gain, &b->value, NULL};
    b->start = submodi_take(w, n + 1, sizeof *b->start);
    b->end = submodi_take(w, n + 1, sizeof *b->end);
    b->state = submodi_take(w, submodi_fn_state_size(b->fn), 1);
    return submodi_take_vectors(w, n, vectors) && good && b->start && b->end && b->state;
}

/* Sorts the elements that are in blocks, and marks the others. */
static submod_status sort_elements(search *b, bool hinge, submod_work *w)
{
    submodi_sorted sorted;
    if (submodi_sort_f64(b->u, b->fn->n, w, &sorted) != SUBMOD_OK) {
        return submodi_nomem(who);
    }
    b->k = 0;
    for (size_t i = 0; i < b->fn->n; i++) {
        int32_t e = submodi_sorted_index(&sorted, i);
        bool free = hinge && b->x[e] < 0;
        bool held = hinge && !free && b->u[e] <= 0;
        b->level[e] = -1;
        b->block[e] = free ? SUBMOD_BLOCK_FREE : SUBMOD_BLOCK_HELD;
        b->order[b->k] = e;
        b->k += !free && !held;
    }
    return SUBMOD_OK;
}

/* Cuts the order into levels. */
static submodi_ties cut_into_levels(search *b, double tolerance)
{
    size_t levels = 0;
    for (size_t i = 0; i < b->k; i++) {
        if (i == 0 || b->u[b->order[i - 1]] - b->u[b->order[i]] > tolerance) {
            b->start[levels++] = i;
        }
        b->level[b->order[i]] = (int32_t)levels - 1;
    }
    b->start[levels] = b->k;
    return (submodi_ties){b->order, b->start, levels, b->level};
}

/* Numbers the trees of the forest in the order in which u meets them. */
static void number_blocks(search *b)
{
    for (size_t i = 0; i < b->k; i++) {
        b->block[b->order[i]] = -1;
    }
    b->count = 0;
    for (size_t i = 0; i < b->k; i++) {
        int32_t *number = &b->block[submodi_forest_root(b->forest, b->order[i])];
        if (*number < 0) {
            *number = (int32_t)b->count++;
        }
        b->block[b->order[i]] = *number;
    }
}

/* The value of the block at sorted[begin .. end-1]; updates the error. */
static double evaluate(search *b, size_t begin, size_t end)
{
    double x0 = b->x[b->sorted[begin]];
    double x = 0;
    double gain = 0;
    for (size_t i = begin; i < end; i++) {
        x += b->x[b->sorted[i]] - x0;
        gain += b->gain[i];
    }
    double size = (double)(end - begin);
    double value = x0 + (x / size - gain / size / b->lambda);
    for (size_t i = begin; i < end; i++) {
        b->error = fmax(b->error, fabs(b->u[b->sorted[i]] - value));
    }
    return value;
}

static submod_status evaluate_blocks(search *b)
{
    submod_status status = submodi_fn_reset(b->fn, b->state);
    status = status || !b->k ? status : submodi_fn_chain(b->fn, b->state, b->sorted, b->k, b->gain);
    if (status != SUBMOD_OK) {
        return status;
    }
    b->error = 0;
    for (size_t j = 0; j < b->count; j++) {
        b->value[j] = evaluate(b, j ? b->end[j - 1] : 0, b->end[j]);
    }
    double size = submodi_largest(b->x, b->fn->n) + submodi_largest(b->gain, b->k) / b->lambda;
    b->rounding = ROUNDING * size;
    return isfinite(size) && submodi_all_finite(b->value, b->count)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "%s: F / lambda overflows", who);
}

/* The blocks for a tolerance, and how well they fit. */
static submod_status find_blocks(search *b, double tolerance, submod_work *w)
{
    submodi_ties ties = cut_into_levels(b, tolerance);
    submodi_ascending(b->forest, b->fn->n);
    submod_status status = submodi_fn_join(b->fn, &ties, b->forest, w);
    if (status != SUBMOD_OK) {
        return status;
    }
    number_blocks(b);
    submodi_block_order(b->fn->n, b->block, b->count, b->end, b->sorted);
    return evaluate_blocks(b);
}

/* Looks for the smallest tolerance that fits, if none is given. */
static submod_status choose_tolerance(search *b, double given, submod_blocks_info *info,
                                      submod_work *w)
{
    size_t n = b->fn->n;
    double size = submodi_largest(b->x, n) + submodi_largest(b->u, n);
    double tolerance = given >= 0 ? given : FIRST * size;
    bool fits = false;
    submod_status status = SUBMOD_OK;
    while (status == SUBMOD_OK && !fits) {
        status = find_blocks(b, tolerance, w);
        *info = (submod_blocks_info){tolerance, b->error, info->rounds + 1, {0}};
        fits = given >= 0 || b->error <= 2 * tolerance + b->rounding;
        tolerance *= GROWTH;
        if (status == SUBMOD_OK && !fits && info->rounds == MOST_ROUNDS) {
            return SUBMOD_INACCURATE;
        }
    }
    return status;
}

static submod_status require_arguments(const submod_fn *fn, const double *x, double lambda,
                                       const double *u, double tolerance)
{
    submod_status status = submodi_require_given(who, "fn", fn);
    status = status ? status : submodi_require_given(who, "x", x);
    status = status ? status : submodi_require_given(who, "u", u);
    status = status ? status : submodi_require_positive(who, "lambda", lambda);
    status = status ? status : submodi_require_finite(who, "tolerance", &tolerance, 1);
    status = status ? status : submodi_require_finite(who, "x", x, fn->n);
    return status ? status : submodi_require_finite(who, "u", u, fn->n);
}

submod_status submod_prox_blocks(const submod_fn *fn, const double *x, double lambda,
                                 const double *u, int32_t *block, double *value, size_t *count,
                                 const submod_blocks_settings *settings, submod_blocks_info *info,
                                 submod_work *work)
{
    submod_blocks_settings chosen = submod_blocks_defaults();
    submod_status status = submodi_read_settings(who, "submod_blocks_defaults", settings, &chosen);
    status = status ? status : require_arguments(fn, x, lambda, u, chosen.tolerance);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    search b = {.fn = fn, .x = x, .u = u, .lambda = lambda};
    submod_blocks_info found = {0};
    status = take_arrays(&b, w) ? sort_elements(&b, chosen.hinge != 0, w) : submodi_nomem(who);
    status = status ? status : choose_tolerance(&b, chosen.tolerance, &found, w);
    if (status >= 0) {
        submodi_copy_out(block, b.block, fn->n, sizeof *block);
        submodi_copy_out(value, b.value, b.count, sizeof *value);
        submodi_copy_out(count, &b.count, 1, sizeof *count);
        submodi_copy_out(info, &found, 1, sizeof *info);
    }
    submodi_scope_close(&scope);
    return status;
}
