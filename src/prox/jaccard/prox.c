/* Exact prox of the Jaccard extension: sort foreground and background, each by itself, find the
 * levels (levels.c), write them back (write_back.c). O(p log p).
 *
 * Bytes per pixel that move, for 80 % background in levels of one pixel each:
 *
 *     8 + 8 + 16    x checked; its range; x read and a record written
 *     8 + 32 + 8    records counted, moved in two passes (16 more for a third), tidied up
 *     24            values in sorted order: a record, x at a random place, the value written
 *     8 + 22        values read; a level of 24 written per background, a sum of 16 per foreground
 *     35 + 16       value, level and record read; u and s written as a pair at a random place
 *     24 + 32       pair and x read for the certificate; the pair copied to the caller's u and s
 *
 * About 240 in all. Yet levels and writing back wait for divisions and for branches that depend on
 * the data more than for memory.
 *
 * Memory per pixel: 16 bytes for the sort and the sorted values, then 16 for a pixel of the
 * foreground (its prefix sum) or 24 for one of the background (its level), 16 for u and s: 56 at
 * most. */
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

void submodi_mask_fill(const uint8_t *foreground, size_t n, uint32_t *mask)
{
    memset(mask, 0, submodi_mask_words(n) * sizeof *mask);
    for (size_t i = 0; i < n; i++) {
        mask[i / 32] |= (uint32_t)(foreground[i] != 0) << i % 32;
    }
}

/* Fills a list with its sorted values, in memory that the sort no longer needs. */
static submodi_point_list sorted_values(const submodi_jaccard_problem *p,
                                        const submodi_sorted *sorted, size_t count)
{
    double *value = (void *)sorted->spare;
#pragma omp parallel for num_threads(submodi_threads_for(count))
    for (size_t rank = 0; rank < count; rank++) {
        value[rank] = p->x[submodi_sorted_index(sorted, rank)];
    }
    return (submodi_point_list){.value = value, .count = count};
}

/* Sums of multiplicities for a list. false: memory ran out. */
static bool sum_pixels(const submodi_jaccard_problem *p, const submodi_sorted *sorted,
                       submodi_point_list *list, submod_work *w)
{
    uint64_t *before = submodi_take(w, list->count + 1, sizeof *before);
    if (!before) {
        return false;
    }
    before[0] = 0;
    for (size_t rank = 0; rank < list->count; rank++) {
        before[rank + 1] = before[rank] + p->multiplicity[submodi_sorted_index(sorted, rank)];
    }
    list->before = before;
    return true;
}

/* Checks what submodi_levels_solve requires. */
static submod_status require_range(const submodi_jaccard_problem *p, double low, double high)
{
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

static submodi_origin origin_of(const submodi_sorted *sorted)
{
    return (submodi_origin){sorted->record, (UINT64_C(1) << sorted->index_bits) - 1};
}

static void add_sums(submodi_pair_sums *to, const submodi_pair_sums *more)
{
    to->distance += more->distance;
    to->residual += more->residual;
    to->terms += more->terms;
    to->beyond += more->beyond;
}

/* The sums of a part of the pixels; point i goes to lane i % LANES, as in sums_loops.c. */
static submodi_pair_sums sum_part(const submodi_jaccard_problem *p, const submodi_prox_pair *pair,
                                  size_t begin, size_t end)
{
    enum { LANES = 4, KINDS = 4 };
    const double lambda = p->lambda;
    const double per_lambda = 1 / lambda;
    double sum[KINDS][LANES] = {{0}};
    for (size_t i = begin; i < end; i += LANES) {
        size_t lanes = end - i < LANES ? end - i : LANES;
        double u[LANES] = {0};
        double s[LANES] = {0};
        double x[LANES] = {0};
        double pixels[LANES] = {1, 1, 1, 1};
        for (size_t k = 0; k < lanes; k++) {
            u[k] = pair[i + k].u;
            s[k] = pair[i + k].s;
            x[k] = p->x[i + k];
            pixels[k] = p->multiplicity ? (double)(int64_t)p->multiplicity[i + k] : 1;
        }
        for (size_t k = 0; k < LANES; k++) {
            double dual = s[k] * per_lambda;
            double step = u[k] - x[k];
            double miss = step + dual;
            sum[0][k] += pixels[k] * (lambda * step * step);
            sum[1][k] += pixels[k] * (lambda * miss * miss);
            sum[2][k] += pixels[k] * (lambda * x[k] * x[k] + dual * s[k]);
            sum[3][k] += pixels[k] * (s[k] * ((u[k] > 0 ? u[k] : 0) - u[k]));
        }
    }
    double total[KINDS];
    for (size_t k = 0; k < KINDS; k++) {
        total[k] = (sum[k][0] + sum[k][2]) + (sum[k][1] + sum[k][3]);
    }
    return (submodi_pair_sums){total[0], total[1], total[2], total[3]};
}

/* Parts do not depend on the number of threads. */
static submodi_pair_sums sum_pairs(const submodi_jaccard_problem *p, const submodi_prox_pair *pair)
{
    enum { PARTS = 64 };
    submodi_pair_sums part[PARTS];
#pragma omp parallel for num_threads(submodi_threads_for(p->n))
    for (size_t t = 0; t < PARTS; t++) {
        part[t] = sum_part(p, pair, p->n * t / PARTS, p->n * (t + 1) / PARTS);
    }
    for (size_t t = 1; t < PARTS; t++) {
        add_sums(&part[0], &part[t]);
    }
    if (p->form != SUBMODI_U_HINGE) {
        part[0].beyond = 0;
    }
    return part[0];
}

static bool all_finite(const submodi_extension *f)
{
    return isfinite(f->value) && isfinite(f->excess) && isfinite(f->sums.distance) &&
           isfinite(f->sums.residual) && isfinite(f->sums.beyond);
}

static submod_status solve_sorted(const submodi_jaccard_problem *p,
                                  const submodi_sorted_kinds *kinds, submodi_prox_pair *pair,
                                  submodi_extension *found, submod_prox_info *info, submod_work *w)
{
    const submodi_sorted *bg = &kinds->sorted[0];
    const submodi_sorted *fg = &kinds->sorted[1];
    submod_status status = require_range(p, kinds->low, kinds->high);
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_levels l = {.lambda = p->lambda,
                        .fg = sorted_values(p, fg, kinds->count[1]),
                        .bg = sorted_values(p, bg, kinds->count[0])};
    l.fg_sum = submodi_take(w, l.fg.count + 1, sizeof *l.fg_sum);
    l.level = submodi_take(w, l.bg.count + 2, sizeof *l.level);
    bool good = l.fg_sum && l.level;
    if (good && p->multiplicity) {
        good = sum_pixels(p, fg, &l.fg, w) && sum_pixels(p, bg, &l.bg, w);
    }
    if (!good) {
        return submodi_nomem(p->who);
    }
    submodi_levels_solve(&l);
    submodi_levels_write(&l, origin_of(fg), origin_of(bg), p->form, pair, found);
    found->sums = sum_pairs(p, pair);
    found->measured = true;
    info->iterations = l.count;
    info->work = l.work;
    return all_finite(found)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "%s: u, s or the objective overflows", p->who);
}

submod_status submodi_jaccard_prox(const submodi_jaccard_problem *p, submodi_prox_pair *pair,
                                   submodi_extension *found, submod_prox_info *info,
                                   submod_work *work)
{
    if (p->n == 0) {
        return SUBMOD_OK;
    }
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submodi_sorted_kinds kinds;
    submod_status status = submodi_sort_kinds(p->x, p->n, p->mask, w, &kinds);
    status =
        status == SUBMOD_OK ? solve_sorted(p, &kinds, pair, found, info, w) : submodi_nomem(p->who);
    submodi_scope_close(&scope);
    return status;
}

void submodi_pairs_out(const submodi_prox_pair *pair, size_t n, double *u, double *s)
{
#pragma omp parallel for num_threads(submodi_threads_for(n)) if (u && s)
    for (size_t i = 0; i < n; i++) {
        if (u) {
            u[i] = pair[i].u;
        }
        if (s) {
            s[i] = pair[i].s;
        }
    }
}

/* ---- as a method of submod_prox ---- */

bool submodi_can_jaccard(const submod_fn *fn)
{
    return submodi_jaccard_mask(fn) != NULL;
}

submod_status submodi_prox_jaccard(const submodi_prox_problem *p, double *u, double *s,
                                   submod_prox_info *info, submod_work *work)
{
    size_t n = p->fn->n;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submodi_prox_pair *pair = submodi_take(w, n, sizeof *pair);
    submodi_extension unasked;
    submodi_jaccard_problem j = {.who = p->who,
                                 .n = n,
                                 .x = p->x,
                                 .mask = submodi_jaccard_mask(p->fn),
                                 .lambda = p->lambda,
                                 .form = p->settings->hinge ? SUBMODI_U_HINGE : SUBMODI_U_PLAIN};
    submod_status status =
        pair ? submodi_jaccard_prox(&j, pair, p->extension ? p->extension : &unasked, info, w)
             : submodi_nomem(p->who);
    if (status == SUBMOD_OK) {
        submodi_pairs_out(pair, n, u, s);
    }
    submodi_scope_close(&scope);
    return status;
}
