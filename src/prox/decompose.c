/* Prox of any F with a minimiser, by divide and conquer over the level sets of u.
 *
 * {u > alpha} is the smallest minimiser of F(A) - lambda sum over A of (x_i - alpha). The elements
 * stand in an order that is cut into parts; u falls from part to part. If u is constant on a part
 * S1 \ S0, its value can only be
 *
 *     alpha = mean x - (F(S1) - F(S0)) / (lambda size).
 *
 * Let z = lambda (x - alpha). If no A in the part has F(S0 + A) - F(S0) - z(A) < 0, then u is
 * constant there and s = z. Otherwise A goes before the rest, and both are looked at again.
 *
 * One sweep minimises all open parts. Then one chain along the new order tells the share of F in
 * each part. So the number of O(n) sweeps is the depth, not the number of parts.
 *
 * Splits can be lopsided over and over, for instance for geometric x. After a lopsided split the
 * larger side is looked at with alpha = the median of x - g / lambda, g the gains of the last
 * chain. If this does not split it, the mean is tried again, which either splits the part or
 * settles it. So there are at most 4 n looks.
 *
 * A split must raise alpha on A and lower it on the rest. If it does not, because of rounding or
 * because F is not submodular, the split is ignored and the part counts as constant.
 */
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/sort.h"
#include "prox/isotonic.h"
#include "prox/solver.h"

enum { LOPSIDED = 8 }; /* lopsided: one side has less than 1 / 8 of the part */

typedef struct decomposition {
    const submodi_prox_problem *p;
    submod_prox_info *info;
    void *state;
    int32_t *order; /* the elements; x, gain, z and in go by rank in it */
    double *x;
    double *gain; /* along order, from the last chain */
    double *z;
    uint8_t *in;
    int32_t *rank; /* element -> rank */
    int32_t *rest; /* scratch: n elements, and n numbers */
    double *scratch;
    submodi_part *parts; /* the open parts, by rank */
    uint8_t *by_median;  /* per part: use the median at the next look */
    size_t *split;       /* per part: how many elements go first, 0 if it was not split */
    size_t count;
    submodi_part *next_parts; /* parts and by_median of the next sweep */
    uint8_t *next_by_median;
} decomposition;

bool submodi_can_decompose(const submod_fn *fn)
{
    return fn->ops.minimize != NULL;
}

/* An open part has at least two elements, unless n = 1. So there are at most n / 2 + 1 of them. */
static submod_status take_arrays(decomposition *d, submod_work *w)
{
    size_t n = d->p->fn->n;
    d->state = submodi_take(w, submodi_fn_state_size(d->p->fn), 1);
    d->order = submodi_take(w, n, sizeof *d->order);
    d->in = submodi_take(w, n, sizeof *d->in);
    d->rank = submodi_take(w, n, sizeof *d->rank);
    d->rest = submodi_take(w, n, sizeof *d->rest);
    d->parts = submodi_take(w, n / 2 + 1, sizeof *d->parts);
    d->by_median = submodi_take(w, n / 2 + 1, sizeof *d->by_median);
    d->split = submodi_take(w, n / 2 + 1, sizeof *d->split);
    d->next_parts = submodi_take(w, n / 2 + 1, sizeof *d->next_parts);
    d->next_by_median = submodi_take(w, n / 2 + 1, sizeof *d->next_by_median);
    double **vectors[] = {&d->x, &d->gain, &d->z, &d->scratch, NULL};
    bool good = submodi_take_vectors(w, n, vectors) && d->state && d->order && d->in && d->rank &&
                d->rest && d->parts && d->by_median && d->split && d->next_parts &&
                d->next_by_median;
    return good ? SUBMOD_OK : submodi_nomem(d->p->who);
}

static submod_status chain(decomposition *d)
{
    d->info->oracle_calls++;
    return submodi_fn_greedy(d->p->fn, d->state, d->order, d->gain);
}

static double mean(const double *a, size_t k)
{
    double sum = 0;
    for (size_t i = 0; i < k; i++) {
        sum += a[i];
    }
    return sum / (double)k;
}

/* z of a part for alpha = mean x - mean gain / lambda. Returns alpha. */
static double aim_at_mean(decomposition *d, submodi_part part)
{
    size_t k = part.end - part.begin;
    return submodi_block_level(k, d->x + part.begin, mean(d->gain + part.begin, k), d->p->lambda,
                               d->z + part.begin);
}

/* The same for alpha = the median of x - gain / lambda. If entry m is the median, then z = lambda
 * (x - x_m) + gain_m. */
static submod_status aim_at_median(decomposition *d, submodi_part part, submod_work *work)
{
    submodi_scope scope;
    submodi_sorted sorted;
    submod_work *w = submodi_scope_open(&scope, work);
    for (size_t i = part.begin; i < part.end; i++) {
        d->scratch[i] = d->x[i] - d->gain[i] / d->p->lambda;
    }
    size_t k = part.end - part.begin;
    submod_status status = submodi_sort_f64(d->scratch + part.begin, k, w, &sorted);
    if (status == SUBMOD_OK) {
        size_t m = part.begin + (size_t)submodi_sorted_index(&sorted, k / 2);
        for (size_t i = part.begin; i < part.end; i++) {
            d->z[i] = d->p->lambda * (d->x[i] - d->x[m]) + d->gain[m];
        }
    }
    submodi_scope_close(&scope);
    return status == SUBMOD_OK ? SUBMOD_OK : submodi_nomem(d->p->who);
}

/* Computes z for all open parts. */
static submod_status aim(decomposition *d, submod_work *w)
{
    for (size_t j = 0; j < d->count; j++) {
        submodi_part part = d->parts[j];
        submod_status status = SUBMOD_OK;
        if (d->by_median[j]) {
            status = aim_at_median(d, part, w);
        } else {
            aim_at_mean(d, part);
        }
        if (status == SUBMOD_OK && !submodi_all_finite(d->z + part.begin, part.end - part.begin)) {
            status = submodi_fail(SUBMOD_ENUMERIC, "%s: lambda x overflows", d->p->who);
        }
        if (status != SUBMOD_OK) {
            return status;
        }
        d->info->work += part.end - part.begin;
    }
    d->info->iterations += d->count;
    d->info->oracle_calls += d->count;
    return SUBMOD_OK;
}

/* Moves the elements with in = 1 to the front of their part. Returns their number, but 0 if all of
 * them are in. */
static size_t partition(decomposition *d, submodi_part part)
{
    size_t front = part.begin;
    size_t back = 0;
    for (size_t i = part.begin; i < part.end; i++) {
        if (d->in[i]) {
            d->order[front++] = d->order[i];
        } else {
            d->rest[back++] = d->order[i];
        }
    }
    memcpy(d->order + front, d->rest, back * sizeof *d->order);
    for (size_t i = part.begin; i < part.end; i++) {
        d->rank[d->order[i]] = (int32_t)i;
        d->x[i] = d->p->x[d->order[i]];
    }
    return front == part.end ? 0 : front - part.begin;
}

/* The mean of a - from: exact where all are equal, however large they are. */
static double mean_from(double from, const double *a, size_t k)
{
    double sum = 0;
    for (size_t i = 0; i < k; i++) {
        sum += a[i] - from;
    }
    return sum / (double)k;
}

/* Whether alpha falls from the first side of a split to the second, as it must. */
static bool falls(const decomposition *d, submodi_part part, size_t split)
{
    const double *x = d->x + part.begin;
    const double *g = d->gain + part.begin;
    size_t others = part.end - part.begin - split;
    double apart = mean_from(x[0], x, split) - mean_from(x[0], x + split, others);
    return d->p->lambda * apart > mean(g, split) - mean(g + split, others);
}

/* Writes u and s of a part that is constant. */
static void settle(decomposition *d, submodi_part part, double *u, double *s)
{
    double alpha = aim_at_mean(d, part);
    for (size_t i = part.begin; i < part.end; i++) {
        u[d->order[i]] = alpha;
        s[d->order[i]] = d->z[i];
    }
}

static void keep_open(decomposition *d, size_t *count, submodi_part part, bool by_median)
{
    d->next_parts[*count] = part;
    d->next_by_median[*count] = by_median;
    ++*count;
}

/* Opens the two sides of a split. A side with one element is settled at once. */
static void open_sides(decomposition *d, submodi_part part, size_t split, size_t *count, double *u,
                       double *s)
{
    size_t middle = part.begin + split;
    size_t size = part.end - part.begin;
    const submodi_part side[2] = {{part.begin, middle}, {middle, part.end}};
    for (int i = 0; i < 2; i++) {
        size_t k = side[i].end - side[i].begin;
        if (k == 1) {
            settle(d, side[i], u, s);
        } else {
            keep_open(d, count, side[i], size - k < size / LOPSIDED);
        }
    }
}

/* Decides what becomes of each part: two new parts, one more look, or settled. */
static void sort_out(decomposition *d, double *u, double *s)
{
    size_t count = 0;
    for (size_t j = 0; j < d->count; j++) {
        if (d->split[j] && falls(d, d->parts[j], d->split[j])) {
            open_sides(d, d->parts[j], d->split[j], &count, u, s);
        } else if (d->by_median[j]) {
            keep_open(d, &count, d->parts[j], false);
        } else {
            settle(d, d->parts[j], u, s);
        }
    }
    submodi_part *parts = d->parts;
    uint8_t *by_median = d->by_median;
    d->parts = d->next_parts;
    d->by_median = d->next_by_median;
    d->next_parts = parts;
    d->next_by_median = by_median;
    d->count = count;
}

/* One look at every open part. */
static submod_status descend(decomposition *d, double *u, double *s, submod_work *w)
{
    submod_status status = aim(d, w);
    if (status == SUBMOD_OK) {
        status =
            submodi_fn_minimize_parts(d->p->fn, d->order, d->rank, d->parts, d->count, d->z, d->in);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    bool any = false;
    for (size_t j = 0; j < d->count; j++) {
        d->split[j] = partition(d, d->parts[j]);
        any |= d->split[j] != 0;
    }
    status = any ? chain(d) : SUBMOD_OK;
    if (status == SUBMOD_OK) {
        sort_out(d, u, s);
    }
    return status;
}

/* Stops for the given reason. u is the best one for the present order, s the gains along it. */
static submod_status give_up(decomposition *d, submod_status reason, double *u, double *s,
                             submod_work *w)
{
    size_t n = d->p->fn->n;
    submodi_pool *pools = submodi_take(w, n, sizeof *pools);
    if (!pools) {
        return submodi_nomem(d->p->who);
    }
    submodi_isotonic(n, d->x, d->gain, d->p->lambda, pools, d->x, d->z);
    for (size_t i = 0; i < n; i++) {
        u[d->order[i]] = d->x[i];
        s[d->order[i]] = d->gain[i];
    }
    return reason;
}

/* The reason to stop before the next look; SUBMOD_OK: go on. */
static submod_status reason_to_stop(const decomposition *d, double start)
{
    double limit = d->p->settings->time_limit;
    if (limit > 0 && submodi_seconds() - start >= limit) {
        return SUBMOD_TIMELIMIT;
    }
    return submodi_cancelled() ? SUBMOD_CANCELLED : SUBMOD_OK;
}

static submod_status solve(decomposition *d, double *u, double *s, submod_work *w)
{
    double start = submodi_seconds();
    submod_status status = take_arrays(d, w);
    if (status != SUBMOD_OK) {
        return status;
    }
    size_t n = d->p->fn->n;
    submodi_ascending(d->order, n);
    submodi_ascending(d->rank, n);
    memcpy(d->x, d->p->x, n * sizeof *d->x);
    d->parts[0] = (submodi_part){0, n};
    d->by_median[0] = 0;
    d->count = 1;
    status = chain(d);
    while (status == SUBMOD_OK && d->count) {
        submod_status stop = reason_to_stop(d, start);
        status = stop == SUBMOD_OK ? descend(d, u, s, w) : give_up(d, stop, u, s, w);
    }
    /* A cancelled minimiser leaves order and gains as they were. */
    return status == SUBMOD_ECANCELLED ? give_up(d, SUBMOD_CANCELLED, u, s, w) : status;
}

submod_status submodi_prox_decompose(const submodi_prox_problem *p, double *u, double *s,
                                     submod_prox_info *info, submod_work *work)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    decomposition d = {.p = p, .info = info};
    submod_status status = solve(&d, u, s, w);
    submodi_scope_close(&scope);
    return status;
}
