/* Projections on the base polytopes of a sum's blocks. A summand is projected by its own prox or,
 * if that is not fast, by Fujishige-Wolfe, which starts from its last result and returns a base for
 * any tolerance. A cut keeps its parts and its flow. Threads divide the summands of a block among
 * themselves. A sweep costs one prox per summand and O(1) per element of each.
 *
 * Every s_j is a base of its F_j, so their sum s is one of F. The gap is the sum of
 * f_j(u) - <s_j, u> >= 0 and lambda/2 |u - x + s / lambda|^2, for any u. */
#include "base/internal.h"
#include "base/sums.h"
#include "prox/sum.h"

/* The smallest tolerance of the summands' iterative proxes while the sum's gap falls, and after it
 * has stalled; rounding begins at (8 eps)^2 = 3e-30. An inner gap of eps changes a step and the
 * sum's gap by up to sqrt(eps), but usually by far less. So the tolerance first follows the sum's
 * relative gap and then its square. */
static const double FINE = 1e-14, FINEST = 1e-26;

/* Below this multiple of the allowed gap, the means over the parts of a cut are tried, too, because
 * only the squares of their errors matter. */
static const double NEAR = 100;

static inline size_t element(const submodi_summand *t, size_t i)
{
    return t->elements ? (size_t)t->elements[i] : i;
}

/* ---- one projection ---- */

/* The prox of a summand at y. */
static submod_status solve(submodi_summand *t, const submodi_blocks *c, const double *y, double *u,
                           double *s, submod_work *work)
{
    submod_prox_settings settings = submod_prox_defaults();
    submod_combination found = {0};
    submod_prox_info info = {0};
    submodi_prox_problem p = {.fn = t->fn,
                              .x = y,
                              .lambda = c->p->lambda / t->coefficient,
                              .settings = &settings,
                              .found = t->fast && !t->own ? NULL : &found};
    settings.tolerance = c->tolerance;
    settings.start = t->fast ? NULL : &t->warm;
    if (isfinite(c->deadline)) {
        settings.time_limit = fmax(c->deadline - submodi_seconds(), 1e-9);
    }
    submod_status status = submodi_prox_by_itself(&p, u, s, &info, work);
    t->fast = t->fast && info.method != SUBMOD_PROX_MIN_NORM; /* F contradicts its own prox */
    if (status >= 0 && found.count) {
        submodi_combination_move(&t->warm, &found);
    }
    submod_combination_free(&found);
    return status;
}

/* Projects a summand. Limits are checked later, with the gap, because s is a base even when one is
 * hit. */
static submod_status project(submodi_summand *t, const submodi_blocks *c, submod_work *work)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    const bool cut = c->cut && t == c->sum->summands;
    const bool exact = t->fast && !t->own && !cut;
    const double factor = t->coefficient / c->p->lambda, inverse = 1 / c->unit;
    const size_t k = t->fn->n;
    double *step = c->step + t->at;
    double *y = submodi_work_alloc(w, k, sizeof *y);
    double *u = cut ? c->cut_u : submodi_work_alloc(w, k, sizeof *u);
    double *s = cut ? c->cut_s : submodi_work_alloc(w, k, sizeof *s);
    submod_status status = submodi_work_status(w);
    for (size_t i = 0; status == SUBMOD_OK && i < k; i++) {
        y[i] = (c->r[element(t, i)] + c->y[t->at + i]) * c->unit;
    }
    if (status == SUBMOD_OK) {
        status = cut ? submodi_cut_prox_solve(c->cut, y, c->rounds, c->deadline, u, s, w)
                     : solve(t, c, y, u, s, w);
    }
    for (size_t i = 0; status >= 0 && i < k; i++) {
        step[i] = s[i] * factor * inverse;
        c->r[element(t, i)] = (exact ? u[i] : y[i] - s[i] * factor) * inverse;
    }
    submodi_scope_close(&scope);
    return status < 0 ? status : SUBMOD_OK;
}

static submod_status project_block(submodi_blocks *c, const submodi_block *block)
{
    submodi_summand *t = c->sum->summands;
    submod_status status = SUBMOD_OK;
    int threads = submodi_threads_for((size_t)fmin(block->cost, 1e9));
    threads = threads < c->threads ? threads : c->threads;
    if (block->last - block->first == 1 || threads == 1) {
        for (size_t i = block->first; status == SUBMOD_OK && i < block->last; i++) {
            status = project(&t[i], c, c->works[0]);
        }
        return status;
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = block->first; i < block->last; i++) {
        submod_status outcome = project(&t[i], c, c->works[submodi_thread_index()]);
        if (outcome != SUBMOD_OK) {
#pragma omp critical(submodi_blocks)
            status = outcome;
        }
    }
    return status ? submodi_fail(status, "a term of the sum: %s", submod_status_string(status))
                  : SUBMOD_OK;
}

/* Chooses a unit in which squares of numbers up to the largest neither overflow nor vanish. */
static submod_status set_unit(submodi_blocks *c, double largest)
{
    int exponent = 0;
    if (!isfinite(largest)) {
        return submodi_fail(SUBMOD_ENUMERIC, "s / lambda overflows");
    }
    frexp(largest, &exponent);
    const double unit = ldexp(1, exponent < -1021 ? -1021 : exponent > 1022 ? 1022 : exponent);
    for (size_t i = 0; i < c->sum->n; i++) {
        c->r[i] *= c->unit / unit;
    }
    for (size_t i = 0; i < c->total; i++) {
        c->y[i] *= c->unit / unit;
        c->step[i] *= c->unit / unit;
    }
    c->unit = unit;
    return SUBMOD_OK;
}

submod_status submodi_blocks_project(submodi_blocks *c, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) {
        TRY(project_block(c, &c->block[i]));
        c->info->oracle_calls += c->block[i].last - c->block[i].first;
    }
    c->info->work += c->cut && first == 0;
    if (last == c->count && c->info->iterations++ == 0) { /* now the size of the steps is known */
        double steps = c->unit * submodi_largest(c->step, c->total);
        return set_unit(c, fmax(steps, submodi_largest(c->x, c->sum->n)));
    }
    return SUBMOD_OK;
}

void submodi_blocks_reset(submodi_blocks *c)
{
    for (size_t i = 0; i < c->sum->n; i++) {
        c->r[i] = c->x[i] / c->unit;
    }
    for (size_t j = 0; j < c->sum->count; j++) {
        const submodi_summand *t = &c->sum->summands[j];
        for (size_t i = 0; i < t->fn->n; i++) {
            c->r[element(t, i)] -= c->y[t->at + i];
        }
    }
}

/* ---- the gap ---- */

void submodi_add_extension(submodi_extension *to, const submodi_extension *f, double coefficient)
{
    to->value += coefficient * f->value;
    to->excess += coefficient * f->excess;
    to->size += coefficient * f->size;
}

void submodi_add_modular(submodi_extension *to, const submodi_folded *sum, const double *u)
{
    for (size_t i = 0; i < sum->n; i++) {
        to->value += sum->modular[i] * u[i];
        to->size += fabs(sum->modular[i] * u[i]);
    }
}

/* Adds the summand's extension at u and compares it with the base of its step. */
static submod_status add_summand(const submodi_blocks *c, const submodi_summand *t, const double *u,
                                 submodi_extension *f)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, c->works[0]);
    const submod_prox_settings plain = submod_prox_defaults();
    const submodi_prox_problem p = {
        .fn = t->fn, .lambda = c->p->lambda / t->coefficient, .settings = &plain};
    double *v = submodi_work_alloc(w, t->fn->n, sizeof *v);
    double *s = submodi_work_alloc(w, t->fn->n, sizeof *s);
    submodi_extension one = {0};
    submod_status status = submodi_work_status(w);
    for (size_t i = 0; status == SUBMOD_OK && i < t->fn->n; i++) {
        v[i] = u[element(t, i)];
        s[i] = c->step[t->at + i] * c->unit * p.lambda;
    }
    status = status ? status : submodi_extension_at(&p, v, s, &one, w);
    submodi_add_extension(f, &one, t->coefficient);
    submodi_scope_close(&scope);
    return status;
}

/* s = the sum of all bases. Returns the size of the terms of the gap. */
static double sum_bases(submodi_blocks *c)
{
    const double lambda = c->p->lambda, *x = c->p->x;
    double terms = 0;
    memset(c->s, 0, c->sum->n * sizeof *c->s);
    for (size_t j = 0; j < c->sum->count; j++) {
        const submodi_summand *t = &c->sum->summands[j];
        for (size_t i = 0; i < t->fn->n; i++) {
            c->s[element(t, i)] += c->step[t->at + i];
        }
    }
    for (size_t i = 0; i < c->sum->n; i++) {
        c->s[i] = lambda * (c->s[i] * c->unit) + c->sum->modular[i];
        terms += lambda * x[i] * x[i] + c->s[i] / lambda * c->s[i];
    }
    return terms;
}

/* Computes the gap at c->trial, and keeps it if it is the smaller one. */
static submod_status try_trial(submodi_blocks *c)
{
    const double *v = c->trial;
    submodi_extension f = {.known = true};
    double sum = 0;
    for (size_t j = 0; j < c->sum->count; j++) {
        TRY(add_summand(c, &c->sum->summands[j], v, &f));
    }
    submodi_add_modular(&f, c->sum, v);
    for (size_t i = 0; i < c->sum->n; i++) {
        double miss = v[i] - c->p->x[i] + c->s[i] / c->p->lambda;
        sum += c->p->lambda * miss * miss;
    }
    double gap = f.excess + sum / 2;
    if (!(gap >= c->gap)) { /* also true for NaN */
        c->gap = gap;
        c->f = f;
        memcpy(c->u, v, c->sum->n * sizeof *v);
    }
    return SUBMOD_OK;
}

submod_status submodi_blocks_check_gap(submodi_blocks *c)
{
    double terms = sum_bases(c);
    for (size_t i = 0; i < c->sum->n; i++) {
        c->trial[i] = c->r[i] * c->unit;
    }
    c->gap = INFINITY;
    TRY(try_trial(c));
    c->allowed = c->p->settings->tolerance * terms / 2 + 8 * DBL_EPSILON * c->f.size;
    c->stalled |= c->gap >= c->best_gap / 2;
    double relative = fmin(1, c->gap / fmax(terms / 2, DBL_MIN));
    c->tolerance =
        c->stalled ? fmax(FINEST, 1e-3 * relative * relative) : fmax(FINE, 1e-3 * relative);
    if (c->cut && c->gap > c->allowed && c->gap < NEAR * c->allowed) {
        submodi_cut_prox_means(c->cut, 0, c->trial);
        TRY(try_trial(c));
    }
    if (!isfinite(c->gap) || !isfinite(c->allowed)) {
        return submodi_fail(SUBMOD_ENUMERIC, "the objective overflows");
    }
    if (c->p->enough) {
        submodi_view view = {
            .n = c->sum->n, .s = c->s, .sigma = 1, .low = -INFINITY, .high = INFINITY};
        c->enough = c->p->enough(c->p->enough_ctx, &view);
    }
    submodi_tell_progress(c->p->settings, c->info->iterations, c->gap);
    return SUBMOD_OK;
}

/* ---- the beginning and the end ---- */

/* Joins consecutive summands that share no element into blocks; user code stays in the caller's
 * thread. */
static submod_status make_blocks(submodi_blocks *c)
{
    size_t *block_of = submodi_work_alloc(c->work, c->sum->n, sizeof *block_of); /* from 1 */
    c->block = submodi_work_alloc(c->work, c->sum->count, sizeof *c->block);
    TRY(submodi_work_status(c->work));
    memset(block_of, 0, c->sum->n * sizeof *block_of);
    for (size_t j = 0; j < c->sum->count; j++) {
        submodi_summand *t = &c->sum->summands[j];
        double k = (double)t->fn->n;
        bool fits = j > 0 && !t->fn->calls_user_code && !t[-1].fn->calls_user_code;
        for (size_t i = 0; fits && i < t->fn->n; i++) {
            fits = block_of[element(t, i)] != c->count;
        }
        if (!fits) {
            c->block[c->count++] = (submodi_block){.first = j};
        }
        submodi_block *block = &c->block[c->count - 1];
        block->cost += t->fast ? k : k * k * k;
        block->last = j + 1;
        t->at = c->total;
        c->total += t->fn->n;
        c->begin = c->count == 1 ? c->total : c->begin;
        c->threads = fits ? submod_get_num_threads() : c->threads;
        for (size_t i = 0; i < t->fn->n; i++) {
            block_of[element(t, i)] = c->count;
        }
    }
    return SUBMOD_OK;
}

static submod_status allocate(submodi_blocks *c)
{
    const size_t n = c->sum->n;
    const bool cut = !c->sum->summands[0].elements && submodi_can_cut(c->sum->summands[0].fn);
    double **vectors[] = {&c->x, &c->r, &c->trial, cut ? &c->cut_u : NULL, &c->cut_s, NULL};
    double **numbers[] = {&c->y, &c->step, NULL};
    c->cut = cut ? submodi_work_alloc(c->work, 1, sizeof *c->cut) : NULL;
    c->works = submodi_work_alloc(c->work, (size_t)c->threads, sizeof(submod_work *));
    for (int i = 0; c->works && i < c->threads; i++) {
        c->works[i] = NULL;
    }
    TRY(submodi_work_status(c->work));
    for (int i = 0; i < c->threads; i++) {
        TRY(submod_work_create(&c->works[i]));
    }
    if (!submodi_take_vectors(c->work, n, vectors) ||
        !submodi_take_vectors(c->work, c->total, numbers)) {
        return submodi_out_of_memory();
    }
    memset(c->step, 0, c->total * sizeof *c->step);
    return SUBMOD_OK;
}

submod_status submodi_blocks_start(submodi_blocks *c, const submodi_prox_problem *p,
                                   submodi_folded *sum, double *u, double *s,
                                   submod_prox_info *info, submod_work *work)
{
    *c = (submodi_blocks){.p = p,
                          .sum = sum,
                          .info = info,
                          .work = work,
                          .threads = 1,
                          .unit = 1,
                          .deadline = submodi_deadline(p->settings->time_limit),
                          .tolerance = 1e-4,
                          .u = u,
                          .s = s,
                          .gap = INFINITY,
                          .best_gap = INFINITY};
    TRY(make_blocks(c));
    TRY(allocate(c));
    for (size_t i = 0; i < sum->n; i++) {
        c->x[i] = p->x[i] - sum->modular[i] / p->lambda;
    }
    if (c->cut) {
        const submodi_summand *t = &sum->summands[0];
        TRY(submodi_cut_prox_start(c->cut, t->fn->ctx, p->lambda / t->coefficient, true,
                                   &c->cut_info, work));
    }
    memset(c->y, 0, c->total * sizeof *c->y);
    submodi_blocks_reset(c);
    return set_unit(c, submodi_largest(c->x, sum->n));
}

void submodi_blocks_end(submodi_blocks *c)
{
    for (int i = 0; c->works && i < c->threads; i++) {
        submod_work_free(c->works[i]);
    }
    for (size_t j = 0; j < c->sum->count; j++) {
        submod_combination_free(&c->sum->summands[j].warm);
    }
}
