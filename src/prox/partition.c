/* Prox of any F with a minimiser, by divide and conquer over the level sets of u
 * (docs/mathematics.md, section 7).
 *
 * The elements stand in an order that is cut into parts; u falls from part to part. One sweep
 * minimises all open parts at alpha = the mean of x - gain / lambda, so the number of sweeps is the
 * depth, not the number of parts. After a lopsided division, alpha for the larger side is the
 * median of x - base / lambda. If this does not divide it, the next alpha is the mean again, which
 * either divides the part or settles it. So parts are examined at most 4 n times.
 *
 * A division must make alpha larger on A than on the rest. If it does not, because of rounding or
 * because F is not submodular, it is ignored and the part counts as constant.
 */
#include "prox/partition.h"

#include <string.h>

#include "base/internal.h"
#include "base/sort.h"

enum { LOPSIDED = 8 }; /* lopsided: one side has less than 1 / 8 of the part */

/* An open part has at least two elements. So there are at most n / 2 of them. */
submod_status submodi_partition_start(submodi_partition *p, size_t n, submod_work *w)
{
    p->n = n;
    p->order = submodi_work_alloc(w, n, sizeof *p->order);
    p->rank = submodi_work_alloc(w, n, sizeof *p->rank);
    p->z = submodi_work_alloc(w, n, sizeof *p->z);
    p->in = submodi_work_alloc(w, n, sizeof *p->in);
    p->rest = submodi_work_alloc(w, n, sizeof *p->rest);
    p->parts = submodi_work_alloc(w, n / 2 + 1, sizeof *p->parts);
    p->next = submodi_work_alloc(w, n / 2 + 1, sizeof *p->next);
    p->first = submodi_work_alloc(w, n / 2 + 1, sizeof *p->first);
    TRY(submodi_work_status(w));
    submodi_ascending(p->order, n);
    submodi_ascending(p->rank, n);
    p->count = p->next_count = 0;
    return SUBMOD_OK;
}

/* The mean of a - from over elements: exact where all are equal, however large they are. */
static double mean_from(double from, const double *a, const int32_t *elements, size_t k)
{
    double sum = 0;
    for (size_t i = 0; i < k; i++) {
        sum += a[elements[i]] - from;
    }
    return sum / (double)k;
}

/* ---- levels to look at ---- */

/* Computes z = lambda (x - alpha) for the mean, relative to the first x, so that it does not cancel
 * for large lambda. Returns alpha. */
static double aim_at_mean(submodi_partition *p, const submodi_open_part *part)
{
    const int32_t *elements = p->order + part->begin;
    size_t k = part->end - part->begin;
    double x = p->x[*elements];
    double mean = mean_from(x, p->x, elements, k), gain = mean_from(0, p->gain, elements, k);
    for (size_t i = 0; i < k; i++) {
        p->z[part->begin + i] = gain + p->lambda * ((p->x[elements[i]] - x) - mean);
    }
    return x + (mean - gain / p->lambda);
}

/* Computes z for alpha = the median of x - base / lambda, which is the value of some element e:
 * z = lambda (x - x_e) + base_e. */
static submod_status aim_at_median(submodi_partition *p, const submodi_open_part *part,
                                   submod_work *work)
{
    submodi_scope scope;
    submodi_sorted sorted;
    submod_work *w = submodi_scope_open(&scope, work);
    const int32_t *elements = p->order + part->begin;
    size_t k = part->end - part->begin;
    double *z = p->z + part->begin;
    for (size_t i = 0; i < k; i++) {
        z[i] = p->x[elements[i]] - p->base[elements[i]] / p->lambda;
    }
    submod_status status = submodi_sort_f64(z, k, w, &sorted);
    int32_t e = status ? 0 : elements[submodi_sorted_index(&sorted, k / 2)];
    for (size_t i = 0; i < k; i++) {
        z[i] = p->lambda * (p->x[elements[i]] - p->x[e]) + p->base[e];
    }
    submodi_scope_close(&scope);
    return status == SUBMOD_OK ? SUBMOD_OK : submodi_out_of_memory();
}

/* Computes z for all open parts. */
static submod_status aim(submodi_partition *p, submod_work *w)
{
    for (size_t j = 0; j < p->count; j++) {
        const submodi_open_part *part = &p->parts[j];
        size_t k = part->end - part->begin;
        if (part->by_median) {
            TRY(aim_at_median(p, part, w));
        } else {
            (void)aim_at_mean(p, part);
        }
        if (!submodi_all_finite(p->z + part->begin, k)) {
            return submodi_fail(SUBMOD_ENUMERIC, "lambda x overflows");
        }
        p->info->work += k;
    }
    p->info->iterations += p->count;
    p->info->oracle_calls += p->count;
    return SUBMOD_OK;
}

/* ---- divisions ---- */

static void settle(submodi_partition *p, const submodi_open_part *part, bool keep_base)
{
    double alpha = aim_at_mean(p, part);
    for (size_t i = part->begin; i < part->end; i++) {
        int32_t e = p->order[i];
        p->u[e] = alpha;
        p->s[e] = keep_base ? p->base[e] : p->z[i];
    }
    if (p->settled) {
        p->settled[p->settled_count++] = *part;
    }
}

static void keep_open(submodi_partition *p, const submodi_open_part *part, bool by_median)
{
    p->next[p->next_count] = *part;
    p->next[p->next_count++].by_median = by_median;
}

/* Single elements are settled at once: z is their gain. */
void submodi_partition_open(submodi_partition *p, const submodi_open_part *part, size_t size)
{
    size_t k = part->end - part->begin;
    if (k == 1) {
        settle(p, part, false);
    } else {
        keep_open(p, part, !p->means_only && size - k < size / LOPSIDED);
    }
}

/* Moves the elements with in = 1 to the front of their part. Returns their number, or 0 if it is
 * the whole part. */
static size_t sort_part(submodi_partition *p, const submodi_open_part *part)
{
    size_t front = part->begin;
    size_t back = 0;
    for (size_t i = part->begin; i < part->end; i++) {
        if (p->in[p->order[i]]) {
            p->order[front++] = p->order[i];
        } else {
            p->rest[back++] = p->order[i];
        }
    }
    memcpy(p->order + front, p->rest, back * sizeof *p->order);
    for (size_t i = part->begin; i < part->end; i++) {
        p->rank[p->order[i]] = (int32_t)i;
    }
    return front == part->end ? 0 : front - part->begin;
}

bool submodi_partition_falls(const submodi_partition *p, const submodi_open_part *part,
                             size_t first)
{
    const int32_t *mine = p->order + part->begin;
    size_t others = part->end - part->begin - first;
    double x = p->x[*mine];
    double apart = mean_from(x, p->x, mine, first) - mean_from(x, p->x, mine + first, others);
    double rise = mean_from(0, p->gain, mine, first) - mean_from(0, p->gain, mine + first, others);
    return p->lambda * apart > rise;
}

/* Examines every open part once, and divides it, keeps it open or settles it. */
static submod_status descend(submodi_partition *p, submod_work *w)
{
    TRY(aim(p, w));
    TRY(p->oracle->minimize(p, w));
    for (size_t j = 0; j < p->count; j++) {
        p->first[j] = sort_part(p, &p->parts[j]);
    }
    for (size_t j = 0; j < p->count; j++) {
        const submodi_open_part *part = &p->parts[j];
        bool divided = false;
        if (p->first[j]) {
            TRY(p->oracle->divide(p, part, p->first[j], &divided));
        }
        if (!divided && part->by_median) {
            keep_open(p, part, false);
        } else if (!divided) {
            settle(p, part, p->base == p->s);
        }
    }
    return SUBMOD_OK;
}

submod_status submodi_partition_run(submodi_partition *p, submod_work *w)
{
    submod_status status = SUBMOD_OK;
    while (p->next_count && status == SUBMOD_OK) {
        submodi_open_part *parts = p->parts;
        p->parts = p->next;
        p->count = p->next_count;
        p->next = parts;
        p->next_count = 0;
        status = submodi_stop(p->deadline);
        status = status ? status : descend(p, w);
    }
    for (size_t j = 0; status > 0 && j < p->count; j++) {
        settle(p, &p->parts[j], true);
    }
    return status;
}

/* ---- any F: one chain along the new order gives the gains of all parts ---- */

typedef struct decomposition {
    submodi_partition search;
    const submod_fn *fn;
    void *state;
    double *gain, *by_rank;
    bool stale;          /* the order has changed since the last chain */
    submodi_part *ranks; /* of the open parts */
    uint8_t *in;         /* by rank */
} decomposition;

bool submodi_can_decompose(const submod_fn *fn)
{
    return fn->ops.minimize != NULL;
}

static submod_status chain(decomposition *d)
{
    const submodi_partition *p = &d->search;
    p->info->oracle_calls++;
    d->stale = false;
    TRY(submodi_fn_greedy(d->fn, d->state, p->order, d->by_rank));
    for (size_t i = 0; i < p->n; i++) {
        d->gain[p->order[i]] = d->by_rank[i];
    }
    return SUBMOD_OK;
}

/* A cancelled minimiser leaves order and gains as they were. */
static submod_status minimize(submodi_partition *p, submod_work *work)
{
    decomposition *d = p->ctx;
    (void)work;
    d->stale = true;
    for (size_t j = 0; j < p->count; j++) {
        d->ranks[j] = (submodi_part){p->parts[j].begin, p->parts[j].end};
    }
    submod_status status =
        submodi_fn_minimize_parts(d->fn, p->order, p->rank, d->ranks, p->count, p->z, d->in);
    for (size_t j = 0; status == SUBMOD_OK && j < p->count; j++) {
        for (size_t i = p->parts[j].begin; i < p->parts[j].end; i++) {
            p->in[p->order[i]] = d->in[i];
        }
    }
    return status == SUBMOD_ECANCELLED ? SUBMOD_CANCELLED : status;
}

static submod_status divide(submodi_partition *p, const submodi_open_part *part, size_t first,
                            bool *divided)
{
    decomposition *d = p->ctx;
    submodi_open_part side[2] = {*part, *part};
    side[0].end = side[1].begin = part->begin + first;
    if (d->stale) {
        TRY(chain(d));
    }
    *divided = submodi_partition_falls(p, part, first);
    for (int i = 0; i < 2 && *divided; i++) {
        submodi_partition_open(p, &side[i], part->end - part->begin);
    }
    return SUBMOD_OK;
}

static const submodi_partition_oracle any_function = {.minimize = minimize, .divide = divide};

static submod_status solve(decomposition *d, submod_work *w)
{
    submodi_partition *p = &d->search;
    size_t n = d->fn->n;
    d->state = submodi_work_alloc(w, submodi_fn_state_size(d->fn), 1);
    d->ranks = submodi_work_alloc(w, n / 2 + 1, sizeof *d->ranks);
    d->in = submodi_work_alloc(w, n, sizeof *d->in);
    d->gain = submodi_work_alloc(w, n, sizeof *d->gain);
    d->by_rank = submodi_work_alloc(w, n, sizeof *d->by_rank);
    TRY(submodi_partition_start(p, n, w));
    p->gain = p->base = d->gain;
    TRY(chain(d));
    submodi_partition_open(p, &(submodi_open_part){.end = n}, SIZE_MAX);
    return submodi_partition_run(p, w);
}

submod_status submodi_prox_decompose(const submodi_prox_problem *p, double *u, double *s,
                                     submod_prox_info *info, submod_work *work)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    decomposition d = {.search = {.oracle = &any_function,
                                  .ctx = &d,
                                  .x = p->x,
                                  .lambda = p->lambda,
                                  .deadline = submodi_deadline(p->settings->time_limit),
                                  .info = info,
                                  .u = u,
                                  .s = s},
                       .fn = p->fn};
    submod_status status = solve(&d, w);
    submodi_scope_close(&scope);
    return status;
}
