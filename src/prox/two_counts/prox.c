/* Exact prox of a function of two counts: sort foreground and background, each by itself, find the
 * blocks (blocks.c), write them back (blocks_write.c). Jaccard has a way of its own (jaccard.c). */
#include "prox/two_counts/two_counts_prox.h"

#include "base/internal.h"
#include "prox/solver.h"
#include "prox/two_counts/blocks.h"
#include "prox/two_counts/jaccard_prox.h"
#include "submod/fn_internal.h"

static bool is_jaccard(const submod_measure *measure)
{
    return !measure || measure->type == SUBMOD_MEASURE_JACCARD;
}

size_t submodi_two_counts_prox_bytes(const submod_measure *measure, size_t n, int threads)
{
    if (is_jaccard(measure)) {
        return submodi_jaccard_prox_bytes(n, threads);
    }
    size_t bytes = 0;
    bool good = submodi_add_size(&bytes, 2 * n, sizeof(uint64_t)) &&
                submodi_add_size(&bytes, (size_t)threads, sizeof(submodi_digit_counts)) &&
                submodi_add_size(&bytes, n, sizeof(submodi_block)) &&
                submodi_add_size(&bytes, 1, submodi_blocks_bytes(n)) &&
                submodi_add_size(&bytes, 16, SUBMODI_ALIGN);
    return good ? bytes : SIZE_MAX;
}

static submod_status solve_blocks(const submodi_two_kinds_problem *p,
                                  const submodi_sorted_kinds *kinds, submodi_prox_pair *pair,
                                  submodi_extension *found, submod_prox_info *info, submod_work *w)
{
    const submodi_sorted *bg = &kinds->sorted[0];
    const submodi_sorted *fg = &kinds->sorted[1];
    submodi_blocks b = {.who = p->who,
                        .measure = p->measure,
                        .lambda = p->lambda,
                        .fg = submodi_sorted_points(p, fg, kinds->count[1]),
                        .bg = submodi_sorted_points(p, bg, kinds->count[0]),
                        .block = submodi_take(w, p->n, sizeof *b.block)};
    bool good = b.block && (!p->multiplicity || (submodi_sum_pixels(p, fg, &b.fg, w) &&
                                                 submodi_sum_pixels(p, bg, &b.bg, w)));
    submod_status status = good ? submodi_blocks_solve(&b, w) : submodi_nomem(p->who);
    info->iterations = b.count;
    info->work = b.work;
    return status ? status
                  : submodi_blocks_write(&b, submodi_origin_of(fg), submodi_origin_of(bg), p->form,
                                         pair, found);
}

static submod_status solve_sorted(const submodi_two_kinds_problem *p,
                                  const submodi_sorted_kinds *kinds, submodi_prox_pair *pair,
                                  submodi_extension *found, submod_prox_info *info, submod_work *w)
{
    submod_status status = submodi_require_range(p, kinds->low, kinds->high);
    if (status == SUBMOD_OK) {
        status = is_jaccard(p->measure) ? submodi_jaccard_sorted(p, kinds, pair, found, info, w)
                                        : solve_blocks(p, kinds, pair, found, info, w);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    found->sums = submodi_sum_pairs(p, pair);
    found->measured = true;
    return submodi_extension_finite(found)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "%s: u, s or the objective overflows", p->who);
}

submod_status submodi_two_counts_prox(const submodi_two_kinds_problem *p, submodi_prox_pair *pair,
                                      submodi_extension *found, submod_prox_info *info,
                                      submod_work *work)
{
    info->method = is_jaccard(p->measure) ? SUBMOD_PROX_JACCARD : SUBMOD_PROX_TWO_COUNTS;
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

/* ---- as methods of submod_prox ---- */

bool submodi_can_jaccard(const submod_fn *fn)
{
    const submodi_counts *c = submodi_counts_of(fn);
    return c && !c->weight && c->measure.type == SUBMOD_MEASURE_JACCARD;
}

bool submodi_can_two_counts(const submod_fn *fn)
{
    const submodi_counts *c = submodi_counts_of(fn);
    return c && !c->weight && (c->measure.type == SUBMOD_MEASURE_TVERSKY || fn->calls_user_code);
}

/* Of a function with this mask and measure. */
static submod_status solve(const submodi_prox_problem *p, const uint32_t *mask,
                           const submod_measure *measure, double *u, double *s,
                           submod_prox_info *info, submod_work *work)
{
    size_t n = p->fn->n;
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    submodi_prox_pair *pair = submodi_take(w, n, sizeof *pair);
    submodi_extension unasked;
    submodi_two_kinds_problem k = {.who = p->who,
                                   .n = n,
                                   .x = p->x,
                                   .mask = mask,
                                   .measure = measure,
                                   .lambda = p->lambda,
                                   .form = p->settings->hinge ? SUBMODI_U_HINGE : SUBMODI_U_PLAIN};
    submod_status status =
        pair ? submodi_two_counts_prox(&k, pair, p->extension ? p->extension : &unasked, info, w)
             : submodi_nomem(p->who);
    if (status == SUBMOD_OK) {
        submodi_pairs_out(pair, n, u, s);
    }
    submodi_scope_close(&scope);
    return status;
}

submod_status submodi_prox_jaccard(const submodi_prox_problem *p, double *u, double *s,
                                   submod_prox_info *info, submod_work *work)
{
    return solve(p, submodi_counts_of(p->fn)->foreground, NULL, u, s, info, work);
}

submod_status submodi_prox_two_counts(const submodi_prox_problem *p, double *u, double *s,
                                      submod_prox_info *info, submod_work *work)
{
    const submodi_counts *c = submodi_counts_of(p->fn);
    return solve(p, c->foreground, &c->measure, u, s, info, work);
}
