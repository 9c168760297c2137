/* Lovász extension and greedy subgradient (paper, Eqs. 8 and 9) of any set function.
 *
 * Sorts x in descending order, chains the gains of F along it, and writes each gain back to its
 * element. Blocks of equal entries go to F's tied callback, if there is one.
 *
 * Memory passes over n entries, after the sort: records -> order; order -> gains (F's chain);
 * gains -> g, which writes in random order; x, g -> value.
 */
#include <math.h>

#include "base/internal.h"
#include "base/sort.h"
#include "base/sums.h"
#include "submod/fn_internal.h"

static bool is_tied(const submodi_sorted *sorted, const double *x, size_t i)
{
    return submodi_sorted_maybe_tied(sorted, i) &&
           x[submodi_sorted_index(sorted, i - 1)] == x[submodi_sorted_index(sorted, i)];
}

/* Alternates stretches of distinct entries (chain) and blocks of equal ones (tied). */
static submod_status chain_with_ties(const submod_fn *fn, void *state, const submodi_sorted *sorted,
                                     const double *x, const int32_t *order, double *gains)
{
    size_t n = fn->n;
    for (size_t begin = 0, end; begin < n; begin = end) {
        end = begin + 1;
        bool block = end < n && is_tied(sorted, x, end);
        while (end < n && is_tied(sorted, x, end) == block) {
            end++;
        }
        end -= !block && end < n; /* the last one belongs to the next block */
        TRY((block ? submodi_fn_tied : submodi_fn_chain)(fn, state, order + begin, end - begin,
                                                         gains + begin));
    }
    return SUBMOD_OK;
}

/* Returns <x, g>, summed in parts that depend on n alone, so that the rounding does not depend on
 * the threads. */
static double inner_product(const double *x, const double *g, size_t n)
{
    enum { PARTS = 64, ONE_BELOW = 4096 };
    const submodi_sums_loops *sums = submodi_sums();
    if (n < ONE_BELOW) {
        return sums->dot(x, g, n);
    }
    double part[PARTS], total = 0;
#pragma omp parallel for num_threads(submodi_threads_for(n))
    for (size_t p = 0; p < PARTS; p++) {
        size_t begin = n * p / PARTS;
        part[p] = sums->dot(x + begin, g + begin, n * (p + 1) / PARTS - begin);
    }
    for (size_t p = 0; p < PARTS; p++) {
        total += part[p];
    }
    return total;
}

/* Writes entries [begin, end) of the order. Returns whether there may be ties, also with begin - 1.
 */
static bool read_order(const submodi_sorted *sorted, size_t begin, size_t end, int32_t *order)
{
    bool tied = false;
    for (size_t i = begin; i < end; i++) {
        order[i] = submodi_sorted_index(sorted, i);
        tied |= i > 0 && submodi_sorted_maybe_tied(sorted, i);
    }
    return tied;
}

static bool read_order_in_parallel(const submodi_sorted *sorted, size_t n, int32_t *order,
                                   int threads)
{
    const size_t parts = (size_t)threads;
    int tied = 0;
#pragma omp parallel for num_threads(threads) reduction(| : tied)
    for (size_t t = 0; t < parts; t++) {
        tied |= read_order(sorted, n * t / parts, n * (t + 1) / parts, order);
    }
    return tied;
}

static void scatter(const double *gains, const int32_t *order, size_t n, double *by_element,
                    int threads)
{
    if (threads == 1) {
        for (size_t i = 0; i < n; i++) {
            by_element[order[i]] = gains[i];
        }
        return;
    }
#pragma omp parallel for num_threads(threads)
    for (size_t i = 0; i < n; i++) {
        by_element[order[i]] = gains[i];
    }
}

/* Computes the order and the gains of the greedy chain. The gains of a modular F do not depend on
 * the order. */
static submod_status greedy(const submod_fn *fn, const double *x, submod_ties ties, bool sort,
                            submod_work *w, int32_t *order, double *gains)
{
    size_t n = fn->n;
    submodi_sorted sorted;
    void *state = submodi_work_alloc(w, submodi_fn_state_size(fn), 1);
    TRY(submodi_work_status(w));
    if (!sort) {
        submodi_ascending(order, n);
        return submodi_fn_greedy(fn, state, order, gains);
    }
    if (submodi_sort_f64(x, n, w, &sorted) != SUBMOD_OK) {
        return submodi_out_of_memory();
    }
    const int threads = submodi_threads_for(n);
    bool ties_seen = threads == 1 ? read_order(&sorted, 0, n, order)
                                  : read_order_in_parallel(&sorted, n, order, threads);
    TRY(submodi_fn_reset(fn, state));
    return ties_seen && ties == SUBMOD_TIES_AVERAGE && fn->ops.tied
               ? chain_with_ties(fn, state, &sorted, x, order, gains)
               : submodi_fn_chain(fn, state, order, n, gains);
}

/* Computes the results. The value is finite if and only if no partial sum has overflowed. */
static submod_status extend(const submod_fn *fn, const double *x, double *value,
                            double *subgradient, int32_t *order_out, submod_ties ties,
                            submod_work *w)
{
    size_t n = fn->n;
    int32_t *order = submodi_work_alloc(w, n, sizeof *order);
    double *gains = submodi_work_alloc(w, n, sizeof *gains);
    double *by_element = subgradient ? subgradient : submodi_work_alloc(w, n, sizeof *by_element);
    TRY(submodi_work_status(w));
    TRY(greedy(fn, x, ties, order_out || !fn->modular, w, order, gains));
    scatter(gains, order, n, by_element, submodi_threads_for(n));
    double product = value ? inner_product(x, by_element, n) : 0;
    if (!isfinite(product)) {
        return submodi_fail(SUBMOD_ENUMERIC, "the value overflows");
    }
    submodi_copy_out(order_out, order, n, sizeof *order);
    submodi_copy_out(value, &product, 1, sizeof product);
    return SUBMOD_OK;
}

static submod_status check_arguments(const submod_fn *fn, const double *x, submod_ties ties)
{
    TRY(submodi_check_given("fn", fn));
    TRY(submodi_check_given("x", x));
    if (ties != SUBMOD_TIES_AVERAGE && ties != SUBMOD_TIES_INDEX) {
        return submodi_fail(SUBMOD_EINVAL, "ties = %d is unknown; see submod_ties", (int)ties);
    }
    return submodi_check_finite("x", x, fn->n);
}

submod_status submod_lovasz(const submod_fn *fn, const double *x, double *value,
                            double *subgradient, int32_t *order, submod_ties ties,
                            submod_work *work)
{
    submod_status status = check_arguments(fn, x, ties);
    if (status == SUBMOD_OK) {
        submodi_scope scope;
        submod_work *w = submodi_scope_open(&scope, work);
        status = extend(fn, x, value, subgradient, order, ties, w);
        submodi_scope_close(&scope);
    }
    return submodi_return("submod_lovasz", status);
}
