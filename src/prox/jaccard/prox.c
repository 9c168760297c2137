/* Exact prox of the Jaccard extension: sort, split into foreground and background, find the levels
 * (levels.c), write them back. O(p log p); about the cost of its sort.
 *
 * Memory per pixel: 16 bytes for the sort and the sorted values, then 16 for a pixel of the
 * foreground (its prefix sum) or 24 for one of the background (its level): 40 at most, 56 with the
 * u and s of submod_prox. */
#include "prox/jaccard/jaccard_prox.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/threads.h"
#include "prox/solver.h"
#include "submod/functions/jaccard.h"

/* Ranks are cut into parts for the threads. To split a part into two lists, a thread must know how
 * much foreground comes before it. */
enum { MOST_PARTS = 256 };

/* Neighbours in rank lie anywhere in memory, so memory is prefetched this many ranks ahead. */
enum { AHEAD = 24 };

typedef struct split {
    const submodi_jaccard_problem *p;
    submodi_sorted sorted;
    size_t parts;
    int threads;
    size_t fg_before[MOST_PARTS + 1];
    double *value; /* of the foreground in descending order, then of the background */
    uint64_t *fg_pixels, *bg_pixels; /* sums of multiplicities, or NULL */
} split;

static inline bool is_foreground(const submodi_jaccard_problem *p, size_t i)
{
    return p->mask[i / 32] >> i % 32 & 1;
}

void submodi_mask_fill(const uint8_t *foreground, size_t n, uint32_t *mask)
{
    memset(mask, 0, submodi_mask_words(n) * sizeof *mask);
    for (size_t i = 0; i < n; i++) {
        mask[i / 32] |= (uint32_t)(foreground[i] != 0) << i % 32;
    }
}

static size_t part_begin(const split *d, size_t part)
{
    return d->p->n * part / d->parts;
}

/* The index of the point AHEAD ranks later, or of this one if the part ends before that. */
static size_t index_ahead(const split *d, size_t rank, size_t end)
{
    return (size_t)submodi_sorted_index(&d->sorted, rank + AHEAD < end ? rank + AHEAD : rank);
}

static void count_foreground(split *d)
{
    d->fg_before[0] = 0;
#pragma omp parallel for num_threads(d->threads)
    for (size_t part = 0; part < d->parts; part++) {
        size_t count = 0;
        for (size_t r = part_begin(d, part); r < part_begin(d, part + 1); r++) {
            count += is_foreground(d->p, (size_t)submodi_sorted_index(&d->sorted, r));
        }
        d->fg_before[part + 1] = count;
    }
    for (size_t part = 0; part < d->parts; part++) {
        d->fg_before[part + 1] += d->fg_before[part];
    }
}

static size_t foreground_points(const split *d)
{
    return d->fg_before[d->parts];
}

static void fill_values(split *d)
{
    size_t P = foreground_points(d);
#pragma omp parallel for num_threads(d->threads)
    for (size_t part = 0; part < d->parts; part++) {
        size_t begin = part_begin(d, part);
        size_t end = part_begin(d, part + 1);
        size_t place[2] = {P + (begin - d->fg_before[part]), d->fg_before[part]};
        for (size_t r = begin; r < end; r++) {
            size_t i = (size_t)submodi_sorted_index(&d->sorted, r);
            __builtin_prefetch(&d->p->x[index_ahead(d, r, end)]);
            d->value[place[is_foreground(d->p, i)]++] = d->p->x[i];
        }
    }
}

static void fill_pixels(split *d)
{
    uint64_t *fg = d->fg_pixels;
    uint64_t *bg = d->bg_pixels;
    *fg = *bg = 0;
    for (size_t r = 0; r < d->p->n; r++) {
        size_t i = (size_t)submodi_sorted_index(&d->sorted, r);
        uint64_t **to = is_foreground(d->p, i) ? &fg : &bg;
        (*to)[1] = (*to)[0] + d->p->multiplicity[i];
        ++*to;
    }
}

static void write_back(const split *d, const submodi_levels *l, double *u, double *s)
{
#pragma omp parallel for num_threads(d->threads)
    for (size_t part = 0; part < d->parts; part++) {
        size_t begin = part_begin(d, part);
        size_t fg = d->fg_before[part];
        size_t bg = begin - fg;
        size_t fg_level = submodi_level_of_fg(l, fg);
        size_t bg_level = submodi_level_of_bg(l, bg);
        size_t end = part_begin(d, part + 1);
        for (size_t r = begin; r < end; r++) {
            size_t i = (size_t)submodi_sorted_index(&d->sorted, r);
            size_t soon = index_ahead(d, r, end);
            __builtin_prefetch(&u[soon], 1);
            __builtin_prefetch(&s[soon], 1);
            submodi_prox_pair pair = is_foreground(d->p, i) ? submodi_levels_fg(l, fg++, &fg_level)
                                                            : submodi_levels_bg(l, bg++, &bg_level);
            u[i] = pair.u;
            s[i] = pair.s;
        }
    }
}

/* Checks what submodi_levels_solve requires. The largest and the smallest value have the first and
 * the last rank. */
static submod_status require_range(const split *d)
{
    const submodi_jaccard_problem *p = d->p;
    double high = p->x[submodi_sorted_index(&d->sorted, 0)];
    double low = p->x[submodi_sorted_index(&d->sorted, p->n - 1)];
    double pixels = (double)p->n;
    for (size_t i = 0; p->multiplicity && i < p->n; i++) {
        pixels += (double)p->multiplicity[i];
    }
    double sum = 2 * pixels * fmax(fabs(high), fabs(low));
    return isfinite(sum) && isfinite(1 / p->lambda) && isfinite(p->lambda * pixels * (high - low))
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC,
                              "%s: x from %g to %g with lambda = %g overflows double precision",
                              p->who, low, high, p->lambda);
}

static bool take_memory(split *d, submodi_levels *l, submod_work *w)
{
    size_t n = d->p->n;
    size_t fg = foreground_points(d);
    bool weighted = d->p->multiplicity != NULL;
    d->value = (void *)d->sorted.spare; /* the sort no longer needs it */
    d->fg_pixels = weighted ? submodi_take(w, fg + 1, sizeof *d->fg_pixels) : NULL;
    d->bg_pixels = weighted ? submodi_take(w, n - fg + 1, sizeof *d->bg_pixels) : NULL;
    l->fg_sum = submodi_take(w, fg + 1, sizeof *l->fg_sum);
    l->level = submodi_take(w, n - fg + 2, sizeof *l->level);
    return l->fg_sum && l->level && (!weighted || (d->fg_pixels && d->bg_pixels));
}

/* For the number of foreground pixels that needs most. */
size_t submodi_jaccard_prox_bytes(size_t n, int threads)
{
    size_t bytes = 0;
    bool good = submodi_add_size(&bytes, 2 * n, sizeof(uint64_t)) &&
                submodi_add_size(&bytes, (size_t)threads, sizeof(submodi_digit_counts)) &&
                submodi_add_size(&bytes, n + 2, sizeof(submodi_level)) &&
                submodi_add_size(&bytes, 8, SUBMODI_ALIGN);
    return good ? bytes : SIZE_MAX;
}

static submod_status solve_sorted(split *d, double *u, double *s, submod_prox_info *info,
                                  submod_work *w)
{
    const submodi_jaccard_problem *p = d->p;
    submodi_levels l = {.lambda = p->lambda};
    submod_status status = require_range(d);
    if (status != SUBMOD_OK) {
        return status;
    }
    count_foreground(d);
    if (!take_memory(d, &l, w)) {
        return submodi_nomem(p->who);
    }
    fill_values(d);
    if (p->multiplicity) {
        fill_pixels(d);
    }
    size_t fg = foreground_points(d);
    l.fg = (submodi_point_list){d->value, fg, d->fg_pixels};
    l.bg = (submodi_point_list){d->value + fg, p->n - fg, d->bg_pixels};
    submodi_levels_solve(&l);
    write_back(d, &l, u, s);
    if (p->extension) {
        submodi_levels_extension(&l, p->form, p->extension);
    }
    info->iterations = l.count;
    info->work = l.work;
    return SUBMOD_OK;
}

submod_status submodi_jaccard_prox(const submodi_jaccard_problem *p, double *u, double *s,
                                   submod_prox_info *info, submod_work *work)
{
    if (p->n == 0) {
        return SUBMOD_OK;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    split d = {.p = p, .threads = submodi_threads_for(p->n)};
    d.parts = d.threads < MOST_PARTS ? (size_t)d.threads : MOST_PARTS;
    submod_status status = submodi_sort_f64(p->x, p->n, w, &d.sorted);
    status = status == SUBMOD_OK ? solve_sorted(&d, u, s, info, w) : submodi_nomem(p->who);
    submodi_scope_close(&scope);
    return status;
}

/* ---- as a method of submod_prox ---- */

bool submodi_can_jaccard(const submod_fn *fn)
{
    return submodi_jaccard_mask(fn) != NULL;
}

submod_status submodi_prox_jaccard(const submodi_prox_problem *p, double *u, double *s,
                                   submod_prox_info *info, submod_work *work)
{
    submodi_jaccard_problem j = {.who = p->who,
                                 .n = p->fn->n,
                                 .x = p->x,
                                 .mask = submodi_jaccard_mask(p->fn),
                                 .lambda = p->lambda,
                                 .extension = p->extension,
                                 .form = p->settings->hinge ? SUBMODI_U_HINGE : SUBMODI_U_PLAIN};
    return submodi_jaccard_prox(&j, u, s, info, work);
}
