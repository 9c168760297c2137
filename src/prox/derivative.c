/* Derivatives of a prox. Its blocks are the levels of u, and in each of them the parts that F does
 * not separate (submod/components.c); prox.h has the definitions.
 *
 * Which entries of an approximate u are truly equal is decided by the values of the blocks. On a
 * true block C the value  mean x - (F(S + C) - F(S)) / (lambda |C|)  is u itself. On a piece A of
 * C it is not: A is no block, so F(S + A) - F(S) > s(A), and the value is too small by the
 * difference / (lambda |A|). So the smallest tolerance whose blocks reproduce u is taken.
 *
 * Cost of the blocks: one sort; then in each round O(n), one chain, and the joins of F. Of the
 * products: O(n), O(m) for edges, one chain for a function. */
#include <float.h>
#include <math.h>

#include "base/internal.h"
#include "base/sort.h"
#include "base/sums.h"
#include "submod/fn_internal.h"
#include <submod/prox.h>

/* Writes the elements whose block is >= 0, sorted by block, then by element; end[j] = where block j
 * of count ends. Returns their number. A counting sort, O(n + count). */
static size_t sort_by_block(size_t n, const int32_t *block, size_t count, size_t *end,
                            int32_t *order)
{
    memset(end, 0, count * sizeof *end);
    for (size_t i = 0; i < n; i++) {
        if (block[i] >= 0) {
            end[block[i]]++;
        }
    }
    size_t begin = 0;
    for (size_t j = 0; j < count; j++) {
        size_t size = end[j];
        end[j] = begin;
        begin += size;
    }
    for (size_t i = 0; i < n; i++) {
        if (block[i] >= 0) {
            order[end[block[i]]++] = (int32_t)i;
        }
    }
    return begin;
}

/* ---- blocks ---- */

/* The rounding of a value, relative to the size of x and of F's gains / lambda; the tolerances that
 * are tried: first and factor, relative to the size of x and u, and how many. The last one is about
 * 1e-2; a count, because the size may be 0 or Inf. */
static const double ROUNDING = 1e-12;
static const double FIRST = 1e-13;
static const double GROWTH = 8;
enum { MOST_ROUNDS = 13 };

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

static submod_status take_arrays(search *b, submod_work *w)
{
    size_t n = b->fn->n;
    int32_t **numbers[] = {&b->order, &b->level, &b->forest, &b->block, &b->sorted};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        *numbers[i] = submodi_work_alloc(w, n, sizeof **numbers[i]);
    }
    b->gain = submodi_work_alloc(w, n, sizeof *b->gain);
    b->value = submodi_work_alloc(w, n, sizeof *b->value);
    b->start = submodi_work_alloc(w, n + 1, sizeof *b->start);
    b->end = submodi_work_alloc(w, n + 1, sizeof *b->end);
    b->state = submodi_work_alloc(w, submodi_fn_state_size(b->fn), 1);
    return submodi_work_status(w);
}

/* Sorts the elements that are in blocks, and marks the others. */
static submod_status sort_elements(search *b, bool hinge, submod_work *w)
{
    submodi_sorted sorted;
    if (submodi_sort_f64(b->u, b->fn->n, w, &sorted) != SUBMOD_OK) {
        return submodi_out_of_memory();
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

/* Returns the value of the block at sorted[begin .. end-1]; updates the error. */
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
    TRY(submodi_fn_reset(b->fn, b->state));
    if (b->k) {
        TRY(submodi_fn_chain(b->fn, b->state, b->sorted, b->k, b->gain));
    }
    b->error = 0;
    for (size_t j = 0; j < b->count; j++) {
        b->value[j] = evaluate(b, j ? b->end[j - 1] : 0, b->end[j]);
    }
    double size = submodi_largest(b->x, b->fn->n) + submodi_largest(b->gain, b->k) / b->lambda;
    b->rounding = ROUNDING * size;
    return isfinite(size) && submodi_all_finite(b->value, b->count)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "F / lambda overflows");
}

/* Finds the blocks with the smallest tolerance that fits. */
static submod_status find_blocks(search *b, size_t *rounds, submod_work *w)
{
    size_t n = b->fn->n;
    double tolerance = FIRST * (submodi_largest(b->x, n) + submodi_largest(b->u, n));
    for (*rounds = 1; *rounds <= MOST_ROUNDS; ++*rounds, tolerance *= GROWTH) {
        submodi_ties ties = cut_into_levels(b, tolerance);
        submodi_ascending(b->forest, n);
        TRY(submodi_fn_join(b->fn, &ties, b->forest, w));
        number_blocks(b);
        sort_by_block(n, b->block, b->count, b->end, b->sorted);
        TRY(evaluate_blocks(b));
        if (b->error <= 2 * tolerance + b->rounding) {
            return SUBMOD_OK;
        }
    }
    return SUBMOD_INACCURATE;
}

static submod_status search_blocks(search *b, bool hinge, size_t *rounds, submod_work *w)
{
    TRY(take_arrays(b, w));
    TRY(sort_elements(b, hinge, w));
    return find_blocks(b, rounds, w);
}

static submod_status check_arguments(const search *b)
{
    TRY(submodi_check_given("fn", b->fn));
    TRY(submodi_check_given("x", b->x));
    TRY(submodi_check_given("u", b->u));
    TRY(submodi_check_positive("lambda", b->lambda));
    TRY(submodi_check_finite("x", b->x, b->fn->n));
    return submodi_check_finite("u", b->u, b->fn->n);
}

submod_status submod_prox_blocks(const submod_fn *fn, const double *x, double lambda,
                                 const double *u, int32_t *block, double *value, size_t *count,
                                 const submod_prox_settings *settings, submod_prox_info *info,
                                 submod_work *work)
{
    static const char who[] = "submod_prox_blocks";
    double start = submodi_seconds();
    search b = {.fn = fn, .x = x, .u = u, .lambda = lambda};
    submod_status status = check_arguments(&b);
    if (status != SUBMOD_OK) {
        return submodi_return(who, status);
    }
    submodi_scope scope;
    submod_prox_info found = {0};
    status = search_blocks(&b, settings && settings->hinge, &found.iterations,
                           submodi_scope_open(&scope, work));
    if (status >= 0) {
        found.error = b.error;
        found.seconds = submodi_seconds() - start;
        submodi_copy_out(block, b.block, fn->n, sizeof *block);
        submodi_copy_out(value, b.value, b.count, sizeof *value);
        submodi_copy_out(count, &b.count, 1, sizeof *count);
        submodi_copy_out(info, &found, 1, sizeof *info);
    }
    submodi_scope_close(&scope);
    return submodi_return(who, status);
}

/* ---- vector-Jacobian products ----
 *
 * With S above block C and b = v averaged over the blocks,
 *
 *     u_C = mean of x over C - (F(S + C) - F(S)) / (lambda |C|)
 *     d<v, u> = <b, dx> - sum over C of b_C d(F(S + C) - F(S)) / lambda
 *               + sum over C of b_C (F(S + C) - F(S)) / lambda^2 dlambda.
 *
 * F(S + C) - F(S) is the sum of s over C, which does not cancel as lambda (x - u) would. */

/* A product: the point, and v averaged over its blocks. */
typedef struct product {
    const submod_prox_point *at;
    size_t count;
    double *size, *sum; /* per block; sum is scratch */
    double *mean;       /* per element: v averaged over its block, 0 if it has none */
    double *scratch;    /* per element */
} product;

/* mean[i] = a averaged over the block of i, 0 if it has none. */
static void average(const product *p, const double *a, double *mean)
{
    const int32_t *block = p->at->block;
    memset(p->sum, 0, p->count * sizeof *p->sum);
    for (size_t i = 0; i < p->at->n; i++) {
        if (block[i] >= 0) {
            p->sum[block[i]] += a[i] / p->size[block[i]];
        }
    }
    for (size_t i = 0; i < p->at->n; i++) {
        mean[i] = block[i] >= 0 ? p->sum[block[i]] : 0;
    }
}

static submod_status start_product(product *p, const double *v, submod_work *w)
{
    const submod_prox_point *at = p->at;
    for (size_t i = 0; i < at->n; i++) {
        p->count = at->block[i] >= (int32_t)p->count ? (size_t)at->block[i] + 1 : p->count;
    }
    double **vectors[] = {&p->size, &p->sum, NULL};
    submodi_take_vectors(w, p->count, vectors);
    p->mean = submodi_work_alloc(w, at->n, sizeof *p->mean);
    p->scratch = submodi_work_alloc(w, at->n, sizeof *p->scratch);
    TRY(submodi_work_status(w));
    memset(p->size, 0, p->count * sizeof *p->size);
    for (size_t i = 0; i < at->n; i++) {
        if (at->block[i] >= 0) {
            p->size[at->block[i]]++;
        }
    }
    average(p, v, p->mean);
    return SUBMOD_OK;
}

static submod_status find_by_lambda(const product *p, const double *v, double *by_lambda)
{
    const submod_prox_point *at = p->at;
    double sum = 0;
    average(p, at->s, p->scratch);
    for (size_t i = 0; i < at->n; i++) {
        sum += p->scratch[i] / at->lambda * (v[i] / at->lambda);
    }
    *by_lambda = sum;
    return isfinite(sum) ? SUBMOD_OK : submodi_fail(SUBMOD_ENUMERIC, "s v / lambda^2 overflows");
}

/* by_modular = -mean / lambda, without overflow even of a difference of two. */
static submod_status find_by_modular(const product *p, double *by_modular)
{
    for (size_t i = 0; i < p->at->n; i++) {
        by_modular[i] = p->mean[i] / -p->at->lambda;
    }
    return submodi_largest(by_modular, p->at->n) <= DBL_MAX / 2
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "v / lambda overflows");
}

static submod_status find_by_edges(const product *p, const submod_prox_derivatives *d)
{
    const double *u = p->at->u;
    TRY(find_by_modular(p, p->scratch));
    for (size_t i = 0; i < d->edges; i++) {
        int32_t from = d->tail[i];
        int32_t to = d->head[i];
        double sign = (double)(u[from] > u[to]) - (double)(!d->directed && u[from] < u[to]);
        bool apart = p->at->block[from] != p->at->block[to];
        d->by_edge[i] = apart ? sign * (p->scratch[from] - p->scratch[to]) : 0;
    }
    return SUBMOD_OK;
}

/* By the coefficient t of F + t G: the gains of G along the blocks. */
static submod_status find_by_function(const product *p, const submod_fn *fn, double *by,
                                      submod_work *w)
{
    size_t n = p->at->n;
    double *gain = p->scratch;
    int32_t *order = submodi_work_alloc(w, n, sizeof *order);
    size_t *end = submodi_work_alloc(w, p->count, sizeof *end);
    void *state = submodi_work_alloc(w, submodi_fn_state_size(fn), 1);
    TRY(submodi_work_status(w));
    size_t k = sort_by_block(n, p->at->block, p->count, end, order);
    TRY(submodi_fn_reset(fn, state));
    if (k) {
        TRY(submodi_fn_chain(fn, state, order, k, gain));
    }
    double sum = 0;
    for (size_t i = 0; i < k; i++) {
        sum -= p->mean[order[i]] / p->at->lambda * gain[i];
    }
    *by = sum;
    return isfinite(sum) ? SUBMOD_OK : submodi_fail(SUBMOD_ENUMERIC, "G v / lambda overflows");
}

static submod_status multiply(const submod_prox_point *at, const double *v,
                              const submod_prox_derivatives *d, submod_work *w)
{
    product p = {.at = at};
    TRY(start_product(&p, v, w));
    if (d->by_lambda) {
        TRY(find_by_lambda(&p, v, d->by_lambda));
    }
    if (d->by_modular) {
        TRY(find_by_modular(&p, d->by_modular));
    }
    if (d->by_edge) {
        TRY(find_by_edges(&p, d));
    }
    if (d->by_function) {
        TRY(find_by_function(&p, d->function, d->by_function, w));
    }
    for (size_t i = 0; d->by_x && i < at->n; i++) {
        d->by_x[i] = at->block[i] == SUBMOD_BLOCK_FREE ? v[i] : p.mean[i];
    }
    return SUBMOD_OK;
}

/* Checks an optional array of n finite numbers that `needed` requires. */
static submod_status check_vector(const char *name, const double *x, size_t n, bool needed)
{
    if (needed) {
        TRY(submodi_check_given(name, x));
    }
    return x ? submodi_check_finite(name, x, n) : SUBMOD_OK;
}

static submod_status check_point(const submod_prox_point *at, const double *v,
                                 const submod_prox_derivatives *d)
{
    TRY(submodi_check_given("point", at));
    TRY(submodi_check_given("derivatives", d));
    if (at->n == 0 || at->n > INT32_MAX) {
        return submodi_fail(SUBMOD_EINVAL, "point.n = %zu is not in [1, 2^31 - 1]", at->n);
    }
    TRY(submodi_check_given("point.block", at->block));
    for (size_t i = 0; i < at->n; i++) {
        if (at->block[i] < SUBMOD_BLOCK_FREE || at->block[i] >= (int32_t)at->n) {
            return submodi_fail(SUBMOD_EINVAL, "point.block[%zu] = %d is not in [%d, %zu)", i,
                                (int)at->block[i], SUBMOD_BLOCK_FREE, at->n);
        }
    }
    TRY(submodi_check_positive("point.lambda", at->lambda));
    TRY(check_vector("point.u", at->u, at->n, d->by_edge));
    TRY(check_vector("point.s", at->s, at->n, d->by_lambda));
    return check_vector("v", v, at->n, true);
}

static submod_status check_derivatives(size_t n, const submod_prox_derivatives *d)
{
    if (d->by_function) {
        TRY(submodi_check_given("derivatives.function", d->function));
        if (d->function->n != n) {
            return submodi_fail(SUBMOD_EINVAL, "derivatives.function has %zu elements, not %zu",
                                d->function->n, n);
        }
    }
    if (!d->by_edge || !d->edges) {
        return SUBMOD_OK;
    }
    const size_t start[2] = {0, d->edges};
    TRY(submodi_check_lists(1, start, "derivatives.tail", d->tail, n));
    return submodi_check_lists(1, start, "derivatives.head", d->head, n);
}

submod_status submod_prox_vjp(const submod_prox_point *point, const double *v,
                              const submod_prox_derivatives *derivatives, submod_work *work)
{
    static const char who[] = "submod_prox_vjp";
    submod_status status = check_point(point, v, derivatives);
    status = status ? status : check_derivatives(point->n, derivatives);
    if (status == SUBMOD_OK) {
        submodi_scope scope;
        status = multiply(point, v, derivatives, submodi_scope_open(&scope, work));
        submodi_scope_close(&scope);
    }
    return submodi_return(who, status);
}
