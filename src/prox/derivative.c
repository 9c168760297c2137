/* Derivatives of a prox (docs/mathematics.md, section 6; prox.h has the definitions). Blocks are
 * the components of the levels of u that F does not separate. An approximate u does not show which
 * of its entries are equal, but the values of the blocks do: true blocks have the value u, pieces
 * of a block do not. So the smallest tolerance is used whose blocks reproduce u.
 *
 * Blocks cost one sort and, in each round, O(n), one chain and the joins of F. Products cost O(n),
 * O(m) for edges, and one chain for a function. */
#include <float.h>
#include <math.h>

#include "base/internal.h"
#include "base/sums.h"
#include "submod/fn_internal.h"
#include <submod/prox.h>

/* ---- labelled elements ---- */

typedef struct labelling {
    size_t n, count;
    const int32_t *block; /* of each element; below 0 it has none */
    int32_t *first;       /* of each block: its first element */
    double *size, *sum;   /* of each block; sum is scratch */
} labelling;

static submod_status labelling_alloc(labelling *l, size_t count, submod_work *w)
{
    l->first = submodi_work_alloc(w, count, sizeof *l->first);
    submodi_take_vectors(w, count, (double **[]){&l->size, &l->sum, NULL});
    return submodi_work_status(w);
}

/* Finds the size and the first element of each block. */
static void measure_blocks(const labelling *l)
{
    memset(l->size, 0, l->count * sizeof *l->size);
    for (size_t i = l->n; i-- > 0;) {
        if (l->block[i] >= 0) {
            l->size[l->block[i]]++;
            l->first[l->block[i]] = (int32_t)i;
        }
    }
}

/* Writes the mean of a over each block, by the differences from its first element: a mean of equal
 * numbers is exact. The scale, a power of two, keeps sums of large numbers from overflowing. */
static void average(const labelling *l, const double *a, double *mean)
{
    double scale = 0.5 / submodi_power_above((double)l->n);
    memset(l->sum, 0, l->count * sizeof *l->sum);
    for (size_t i = 0; i < l->n; i++) {
        int32_t j = l->block[i];
        if (j >= 0) {
            l->sum[j] += a[i] * scale - a[l->first[j]] * scale;
        }
    }
    for (size_t j = 0; j < l->count; j++) {
        mean[j] = (a[l->first[j]] * scale + l->sum[j] / l->size[j]) / scale;
    }
}

/* Writes the elements that have a block, sorted by block, then by element, and returns their
 * number. A counting sort, O(n + count). */
static size_t sort_by_block(const labelling *l, size_t *next, int32_t *order)
{
    size_t k = 0;
    for (size_t j = 0; j < l->count; j++) {
        next[j] = k;
        k += (size_t)l->size[j];
    }
    for (size_t i = 0; i < l->n; i++) {
        if (l->block[i] >= 0) {
            order[next[l->block[i]]++] = (int32_t)i;
        }
    }
    return k;
}

/* Writes the gains of fn along the blocks, by element; 0 for elements that have none. */
static submod_status gains_along(const labelling *l, const submod_fn *fn, double *gain,
                                 submod_work *w)
{
    size_t *next = submodi_work_alloc(w, l->count, sizeof *next);
    int32_t *order = submodi_work_alloc(w, l->n, sizeof *order);
    double *sorted = submodi_work_alloc(w, l->n, sizeof *sorted);
    void *state = submodi_work_alloc(w, submodi_fn_state_size(fn), 1);
    TRY(submodi_work_status(w));
    size_t k = sort_by_block(l, next, order);
    TRY(submodi_fn_reset(fn, state));
    if (k) {
        TRY(submodi_fn_chain(fn, state, order, k, sorted));
    }
    memset(gain, 0, l->n * sizeof *gain);
    for (size_t i = 0; i < k; i++) {
        gain[order[i]] = sorted[i];
    }
    return SUBMOD_OK;
}

/* ---- blocks ---- */

/* ROUNDING is the rounding error of a value, relative to the size of x and of F's gains / lambda.
 * The others define the tolerances to try, relative to the size of x and u: the first, the factor
 * between two, and how many, because the size may be 0. The last tolerance is about 1e-2. */
static const double ROUNDING = 1e-12;
static const double FIRST = 1e-13;
static const double GROWTH = 8;
enum { MOST_ROUNDS = 13 };

typedef struct search {
    const submod_fn *fn;
    const double *x, *u;
    double lambda;
    bool hinge;
    labelling blocks;
    int32_t *order; /* the elements that are in blocks, by falling u */
    size_t k;       /* of them */
    size_t *start;  /* the levels in it */
    int32_t *level, *forest, *block;
    double *gain;         /* of each element */
    double *value, *fall; /* of each block */
    double error;         /* the largest |u - value| */
} search;

/* Sorts the elements that are in blocks, and marks the others. */
static submod_status sort_elements(search *b, submod_work *w)
{
    size_t n = b->fn->n;
    TRY(submod_argsort(b->u, n, b->order, w));
    for (size_t i = 0; i < n; i++) {
        int32_t e = b->order[i];
        bool free = b->hinge && b->x[e] < 0;
        bool held = b->hinge && !free && b->u[e] <= 0;
        b->level[e] = -1;
        b->block[e] = free ? SUBMOD_BLOCK_FREE : SUBMOD_BLOCK_HELD;
        b->order[b->k] = e;
        b->k += !free && !held;
    }
    return SUBMOD_OK;
}

/* Joins the elements that are within the tolerance and not separated by F, and numbers the blocks
 * by falling u. */
static submod_status make_blocks(search *b, double tolerance, submod_work *w)
{
    int32_t *block = b->block;
    size_t levels = 0;
    for (size_t i = 0; i < b->k; i++) {
        if (i == 0 || b->u[b->order[i - 1]] - b->u[b->order[i]] > tolerance) {
            b->start[levels++] = i;
        }
        b->level[b->order[i]] = (int32_t)levels - 1;
        block[b->order[i]] = -1;
    }
    b->start[levels] = b->k;
    submodi_ascending(b->forest, b->fn->n);
    TRY(submodi_fn_join(b->fn, &(submodi_ties){b->order, b->start, levels, b->level}, b->forest,
                        w));
    b->blocks.count = 0;
    for (size_t i = 0; i < b->k; i++) {
        int32_t *number = &block[submodi_forest_root(b->forest, b->order[i])];
        if (*number < 0) {
            *number = (int32_t)b->blocks.count++;
        }
        block[b->order[i]] = *number;
    }
    measure_blocks(&b->blocks);
    return SUBMOD_OK;
}

/* Computes the values of the blocks, the error, and how much of it may be rounding. */
static submod_status evaluate_blocks(search *b, double *rounding, submod_work *w)
{
    const labelling *blocks = &b->blocks;
    TRY(gains_along(blocks, b->fn, b->gain, w));
    average(blocks, b->x, b->value);
    average(blocks, b->gain, b->fall);
    for (size_t j = 0; j < blocks->count; j++) {
        b->value[j] -= b->fall[j] / b->lambda;
    }
    b->error = 0;
    for (size_t i = 0; i < b->k; i++) {
        int32_t e = b->order[i];
        b->error = fmax(b->error, fabs(b->u[e] - b->value[blocks->block[e]]));
    }
    double size =
        submodi_largest(b->x, blocks->n) + submodi_largest(b->gain, blocks->n) / b->lambda;
    *rounding = ROUNDING * size;
    return isfinite(size) && submodi_all_finite(b->value, blocks->count)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "F / lambda overflows");
}

/* Finds the blocks with the smallest tolerance that fits. */
static submod_status find_blocks(search *b, size_t *rounds, submod_work *w)
{
    size_t n = b->fn->n;
    labelling *blocks = &b->blocks;
    int32_t **numbers[] = {&b->order, &b->level, &b->forest, &b->block};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        *numbers[i] = submodi_work_alloc(w, n, sizeof **numbers[i]);
    }
    blocks->n = n;
    blocks->block = b->block;
    submodi_take_vectors(w, n, (double **[]){&b->gain, &b->value, &b->fall, NULL});
    b->start = submodi_work_alloc(w, n + 1, sizeof *b->start);
    TRY(labelling_alloc(blocks, n, w));
    TRY(sort_elements(b, w));
    double tolerance = FIRST * submodi_largest(b->x, n) + FIRST * submodi_largest(b->u, n);
    for (*rounds = 1; *rounds <= MOST_ROUNDS; ++*rounds, tolerance *= GROWTH) {
        submodi_scope scope;
        double rounding = 0;
        TRY(make_blocks(b, tolerance, w));
        submod_status status = evaluate_blocks(b, &rounding, submodi_scope_open(&scope, w));
        submodi_scope_close(&scope);
        if (status != SUBMOD_OK || b->error <= 2 * tolerance + rounding) {
            return status;
        }
    }
    return SUBMOD_INACCURATE;
}

static submod_status check_blocks(const search *b)
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
    double start = submodi_seconds();
    search b = {.fn = fn, .x = x, .u = u, .lambda = lambda, .hinge = settings && settings->hinge};
    submod_status status = check_blocks(&b);
    if (status == SUBMOD_OK) {
        submodi_scope scope;
        submod_prox_info found = {0};
        status = find_blocks(&b, &found.iterations, submodi_scope_open(&scope, work));
        if (status >= 0) {
            found.error = b.error;
            found.seconds = submodi_seconds() - start;
            submodi_copy_out(block, b.block, fn->n, sizeof *block);
            submodi_copy_out(value, b.value, b.blocks.count, sizeof *value);
            submodi_copy_out(count, &b.blocks.count, 1, sizeof *count);
            submodi_copy_out(info, &found, 1, sizeof *info);
        }
        submodi_scope_close(&scope);
    }
    return submodi_return("submod_prox_blocks", status);
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

/* Returns b of an element, 0 if it has no block. */
static double mean_at(const labelling *l, const double *mean, int32_t element)
{
    return l->block[element] >= 0 ? mean[l->block[element]] : 0;
}

static submod_status finite_product(double product, const char *name, double *to)
{
    *to = product;
    return isfinite(product) ? SUBMOD_OK : submodi_fail(SUBMOD_ENUMERIC, "%s overflows", name);
}

static submod_status find_by_lambda(const labelling *l, const double *b,
                                    const submod_prox_point *at, double *by_lambda, submod_work *w)
{
    double sum = 0;
    double *s = submodi_work_alloc(w, l->count, sizeof *s);
    TRY(submodi_work_status(w));
    average(l, at->s, s);
    for (size_t j = 0; j < l->count; j++) {
        sum += l->size[j] * (s[j] / at->lambda * (b[j] / at->lambda));
    }
    return finite_product(sum, "s v / lambda^2", by_lambda);
}

static void find_by_edges(const labelling *l, const double *b, const submod_prox_point *at,
                          const submod_prox_derivatives *d)
{
    for (size_t i = 0; i < d->edges; i++) {
        int32_t tail = d->tail[i];
        int32_t head = d->head[i];
        double sign = (double)(at->u[tail] > at->u[head]) -
                      (double)(!d->directed && at->u[tail] < at->u[head]);
        bool apart = l->block[tail] != l->block[head];
        double difference = mean_at(l, b, tail) / -at->lambda - mean_at(l, b, head) / -at->lambda;
        d->by_edge[i] = apart ? sign * difference : 0;
    }
}

/* Computes the derivative by t in F + t G from the gains of G along the blocks. */
static submod_status find_by_function(const labelling *l, const double *b, double lambda,
                                      const submod_prox_derivatives *d, submod_work *w)
{
    double sum = 0;
    double *gain = submodi_work_alloc(w, l->n, sizeof *gain);
    TRY(submodi_work_status(w));
    TRY(gains_along(l, d->function, gain, w));
    for (size_t i = 0; i < l->n; i++) {
        sum -= mean_at(l, b, (int32_t)i) / lambda * gain[i];
    }
    return finite_product(sum, "G v / lambda", d->by_function);
}

static submod_status multiply(const submod_prox_point *at, const double *v,
                              const submod_prox_derivatives *d, submod_work *w)
{
    labelling l = {.n = at->n, .block = at->block};
    for (size_t i = 0; i < at->n; i++) {
        l.count = at->block[i] >= (int32_t)l.count ? (size_t)at->block[i] + 1 : l.count;
    }
    double *b = submodi_work_alloc(w, l.count, sizeof *b);
    TRY(labelling_alloc(&l, l.count, w));
    measure_blocks(&l);
    average(&l, v, b);
    if (d->by_lambda) {
        TRY(find_by_lambda(&l, b, at, d->by_lambda, w));
    }
    /* No overflow, even of a difference of two. */
    if ((d->by_modular || d->by_edge) &&
        !(submodi_largest(b, l.count) / at->lambda <= DBL_MAX / 2)) {
        return submodi_fail(SUBMOD_ENUMERIC, "v / lambda overflows");
    }
    for (size_t i = 0; d->by_modular && i < at->n; i++) {
        d->by_modular[i] = mean_at(&l, b, (int32_t)i) / -at->lambda;
    }
    if (d->by_edge) {
        find_by_edges(&l, b, at, d);
    }
    if (d->by_function) {
        TRY(find_by_function(&l, b, at->lambda, d, w));
    }
    for (size_t i = 0; d->by_x && i < at->n; i++) {
        d->by_x[i] = at->block[i] == SUBMOD_BLOCK_FREE ? v[i] : mean_at(&l, b, (int32_t)i);
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

static submod_status check_product(const submod_prox_point *at, const double *v,
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
    TRY(check_vector("v", v, at->n, true));
    if (d->by_function) {
        TRY(submodi_check_given("derivatives.function", d->function));
        if (d->function->n != at->n) {
            return submodi_fail(SUBMOD_EINVAL, "derivatives.function has %zu elements, not %zu",
                                d->function->n, at->n);
        }
    }
    const size_t start[2] = {0, d->by_edge ? d->edges : 0};
    TRY(submodi_check_lists(1, start, "derivatives.tail", d->tail, at->n));
    return submodi_check_lists(1, start, "derivatives.head", d->head, at->n);
}

submod_status submod_prox_vjp(const submod_prox_point *point, const double *v,
                              const submod_prox_derivatives *derivatives, submod_work *work)
{
    submod_status status = check_product(point, v, derivatives);
    if (status == SUBMOD_OK) {
        submodi_scope scope;
        status = multiply(point, v, derivatives, submodi_scope_open(&scope, work));
        submodi_scope_close(&scope);
    }
    return submodi_return("submod_prox_vjp", status);
}
