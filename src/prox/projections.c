/* Projections on the base polytopes of a sum's terms. A term is projected by its own prox, one
 * without a fast prox by Fujishige-Wolfe from where that ended last time: whatever Wolfe's
 * tolerance, its result is a base. Threads divide the members of a class among themselves. Cost:
 * that of the proxes and O(numbers in all steps).
 *
 * Every s_j is a base of its F_j, so their sum s is one of F. The gap is the sum of
 * f_j(u) - <s_j, u> >= 0 and lambda/2 |u - x + s / lambda|^2, for any u. */
#include "prox/projections.h"

#include <float.h>
#include <math.h>

#include "base/internal.h"
#include "base/sums.h"
#include "prox/prox_internal.h"

/* The smallest relative gap required of a member as long as the sum's gap falls, and once it has
 * stalled. The latter is above (8 eps)^2 = 3e-30, where rounding begins. */
static const double FINE = 1e-14, FINEST = 1e-26;

/* The means over the parts of a cut are tried from this multiple of the allowed gap on: what they
 * are off counts with its square. */
static const double NEAR = 100;

bool submodi_is_fast(const submod_fn *fn)
{
    return submodi_can_closed_form(fn) || submodi_can_cardinality(fn) || submodi_can_jaccard(fn) ||
           submodi_can_own(fn) || submodi_can_decompose(fn);
}

static inline size_t element(const submodi_member *m, size_t i)
{
    return m->part->elements ? (size_t)m->part->elements[i] : i;
}

/* ---- classes ---- */

/* Whether a member may join the last class: neither has all elements, and they share none.
 * class_of: the last class that an element was in, counted from 1. */
static bool fits(const submodi_projections *c, const submodi_member *m, const size_t *class_of)
{
    bool free = c->nclasses > 0 && !m->full;
    for (size_t i = 0; free && i < m->k; i++) {
        free = class_of[element(m, i)] != c->nclasses;
    }
    return free;
}

/* Members next to each other that share no element form a class. */
static submod_status make_classes(submodi_projections *c)
{
    size_t *class_of = submodi_work_alloc(c->work, c->n, sizeof *class_of);
    TRY(submodi_work_status(c->work));
    memset(class_of, 0, c->n * sizeof *class_of);
    for (size_t j = 0; j < c->count; j++) {
        const submodi_member *m = &c->members[j];
        double k = (double)m->k;
        bool fresh = !fits(c, m, class_of);
        if (fresh) {
            c->classes[c->nclasses++] = (submodi_class){.first = j};
        }
        submodi_class *class = &c->classes[c->nclasses - 1];
        bool parallel = m->parallel && (class->cost > 0 || fresh);
        class->cost = parallel ? class->cost + (m->fast ? k : k * k * k) : 0;
        class->last = j + 1;
        for (size_t i = 0; i < m->k; i++) {
            class_of[element(m, i)] = c->nclasses;
        }
    }
    return SUBMOD_OK;
}

/* ---- one projection ---- */

/* The prox of a member at y. */
static submod_status solve(submodi_member *m, const submodi_projections *c, const double *y,
                           double *u, double *s, submod_work *work)
{
    submod_prox_settings settings = submod_prox_defaults();
    submod_combination found = {0};
    submod_prox_info info = {0};
    settings.tolerance = c->tolerance;
    settings.start = m->fast ? NULL : &m->warm;
    if (isfinite(c->deadline)) {
        settings.time_limit = fmax(c->deadline - submodi_seconds(), 1e-9);
    }
    m->extension = (submodi_extension){0};
    submodi_prox_problem p = *c->p;
    p.fn = m->part->fn;
    p.x = y;
    p.lambda = c->p->lambda / m->part->coefficient;
    p.settings = &settings;
    p.extension = c->ask_extension ? &m->extension : NULL;
    p.found = m->fast && !submodi_can_own(m->part->fn) ? NULL : &found;
    p.enough = NULL;
    submod_status status = submodi_prox_by_itself(&p, u, s, &info, work);
    m->fast = m->fast && info.method != SUBMOD_PROX_MIN_NORM; /* F contradicts its own prox */
    if (status >= 0 && found.count) {
        submodi_combination_move(&m->warm, &found);
    }
    submod_combination_free(&found);
    return status < 0 ? status : SUBMOD_OK;
}

static submod_status project(submodi_member *m, const submodi_projections *c, submod_work *work)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, work);
    double *y = submodi_work_alloc(w, m->k, sizeof *y);
    double *u = submodi_work_alloc(w, m->k, sizeof *u);
    double *s = submodi_work_alloc(w, m->k, sizeof *s);
    const double *start = c->y + m->at;
    double *step = c->step + m->at;
    submod_status status = submodi_work_status(w);
    for (size_t i = 0; status == SUBMOD_OK && i < m->k; i++) {
        y[i] = (c->r[element(m, i)] + start[i]) * c->unit;
    }
    status = status ? status : solve(m, c, y, u, s, w);
    const double factor = m->part->coefficient / c->p->lambda, inverse = 1 / c->unit;
    const bool exact = m->fast && !submodi_can_own(m->part->fn);
    for (size_t i = 0; status == SUBMOD_OK && i < m->k; i++) {
        step[i] = s[i] * factor * inverse;
        c->r[element(m, i)] = (exact ? u[i] : y[i] - s[i] * factor) * inverse;
    }
    submodi_scope_close(&scope);
    return status;
}

static submod_status project_class(submodi_projections *c, const submodi_class *class)
{
    submod_status status = SUBMOD_OK;
    int threads = class->cost > 0 ? submodi_threads_for((size_t)fmin(class->cost, 1e9)) : 1;
    threads = threads < c->threads ? threads : c->threads;
    size_t size = class->last - class->first;
    if (size == 1 || threads == 1) {
        for (size_t i = class->first; status == SUBMOD_OK && i < class->last; i++) {
            status = project(&c->members[i], c, c->works[0]);
        }
        return status;
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int k = 0; k < threads; k++) {
        size_t end = class->first + size * (size_t)(k + 1) / (size_t)threads;
        for (size_t i = class->first + size * (size_t)k / (size_t)threads; i < end; i++) {
            submod_status outcome = project(&c->members[i], c, c->works[k]);
            if (outcome != SUBMOD_OK) {
#pragma omp critical(submodi_projections)
                status = outcome;
            }
        }
    }
    return status == SUBMOD_OK
               ? status
               : submodi_fail(status, "a part of the sum failed: %s", submod_status_string(status));
}

/* Squares of numbers of this size in this unit neither overflow nor vanish. */
static double unit_for(double largest)
{
    int exponent = 0;
    frexp(largest, &exponent);
    return ldexp(1, exponent < -1021 ? -1021 : exponent > 1022 ? 1022 : exponent);
}

static void change_unit(submodi_projections *c, double unit)
{
    const double factor = c->unit / unit;
    for (size_t i = 0; i < c->n; i++) {
        c->r[i] *= factor;
    }
    for (size_t i = 0; i < c->total; i++) {
        c->y[i] *= factor;
        c->step[i] *= factor;
    }
    c->unit = unit;
}

submod_status submodi_project_members(submodi_projections *c)
{
    submod_status status = SUBMOD_OK;
    for (size_t i = 0; status == SUBMOD_OK && i < c->nclasses; i++) {
        status = project_class(c, &c->classes[i]);
    }
    TRY(status);
    if (c->info->iterations == 0) { /* the size of the steps is known now */
        double largest =
            fmax(c->unit * submodi_largest(c->step, c->total), submodi_largest(c->x, c->n));
        if (!isfinite(largest)) {
            return submodi_fail(SUBMOD_ENUMERIC, "s / lambda overflows");
        }
        change_unit(c, unit_for(largest));
    }
    c->info->iterations++;
    c->info->oracle_calls += c->count;
    return SUBMOD_OK;
}

submod_status submodi_project_cut(submodi_projections *c, size_t rounds)
{
    const double factor = c->cut_part->coefficient / c->p->lambda, inverse = 1 / c->unit;
    for (size_t i = 0; i < c->n; i++) {
        c->cut_x[i] = (c->r[i] + c->y[i]) * c->unit;
    }
    submod_status status =
        submodi_cut_prox_solve(c->cut, c->cut_x, rounds, c->deadline, c->cut_u, c->cut_s, c->work);
    if (status < 0) {
        return status;
    }
    for (size_t i = 0; i < c->n; i++) {
        c->step[i] = c->cut_s[i] * factor * inverse;
        c->r[i] = c->cut_x[i] * inverse - c->step[i];
    }
    c->info->oracle_calls++;
    c->info->work++;
    return SUBMOD_OK; /* limits are looked at with the gap */
}

void submodi_projections_reset(submodi_projections *c)
{
    const double inverse = 1 / c->unit;
    for (size_t i = 0; i < c->n; i++) {
        c->r[i] = c->x[i] * inverse - (c->begin ? c->y[i] : 0);
    }
    for (size_t j = 0; j < c->count; j++) {
        const submodi_member *m = &c->members[j];
        for (size_t i = 0; i < m->k; i++) {
            c->r[element(m, i)] -= c->y[m->at + i];
        }
    }
}

/* ---- the gap ---- */

static void add_extension(submodi_extension *to, const submodi_extension *f, double factor)
{
    to->value += factor * f->value;
    to->excess += factor * f->excess;
    to->size += factor * f->size;
}

/* Adds the member's extension at u, compared with the base of its step. */
static submod_status add_member(const submodi_projections *c, const submodi_member *m,
                                const double *u, submodi_extension *f)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, c->work);
    double *v = submodi_work_alloc(w, m->k, sizeof *v);
    double *s = submodi_work_alloc(w, m->k, sizeof *s);
    submodi_extension one = {0};
    submod_prox_settings plain = submod_prox_defaults();
    submodi_prox_problem p = *c->p;
    p.fn = m->part->fn;
    p.lambda = c->p->lambda / m->part->coefficient;
    p.settings = &plain;
    submod_status status = submodi_work_status(w);
    for (size_t i = 0; status == SUBMOD_OK && i < m->k; i++) {
        v[i] = u[element(m, i)];
        s[i] = c->step[m->at + i] * c->unit * p.lambda;
    }
    status = status ? status : submodi_extension_at(&p, v, s, &one, w);
    add_extension(f, &one, m->part->coefficient);
    submodi_scope_close(&scope);
    return status;
}

/* Adds f_j(u) and f_j(u) - <s_j, u> of all terms; at_r: u is what the last projection left. Then
 * the last member knows its own, if it is exact and has all elements. */
static submod_status extend(submodi_projections *c, const double *u, bool at_r,
                            submodi_extension *f)
{
    *f = (submodi_extension){.known = true};
    for (size_t j = 0; j < c->count; j++) {
        const submodi_member *m = &c->members[j];
        if (at_r && j + 1 == c->count && m->full && m->fast && m->extension.known) {
            add_extension(f, &m->extension, m->part->coefficient);
        } else {
            TRY(add_member(c, m, u, f));
        }
    }
    if (c->cut_part) {
        submodi_extension one;
        double coefficient = c->cut_part->coefficient;
        submodi_cut_extension(c->cut->cut, u, c->cut_s, c->p->lambda / coefficient, &one);
        add_extension(f, &one, coefficient);
    }
    for (size_t i = 0; i < c->n; i++) {
        f->value += c->folded->modular[i] * u[i];
        f->size += fabs(c->folded->modular[i] * u[i]);
    }
    return SUBMOD_OK;
}

/* s = the sum of all bases. Returns the size of the terms of the gap. */
static double sum_bases(submodi_projections *c)
{
    const double lambda = c->p->lambda, *x = c->p->x;
    double terms = 0;
    for (size_t i = 0; i < c->n; i++) {
        c->s[i] = c->begin ? c->step[i] : 0;
    }
    for (size_t j = 0; j < c->count; j++) {
        const submodi_member *m = &c->members[j];
        for (size_t i = 0; i < m->k; i++) {
            c->s[element(m, i)] += c->step[m->at + i];
        }
    }
    for (size_t i = 0; i < c->n; i++) {
        c->s[i] = lambda * (c->s[i] * c->unit) + c->folded->modular[i];
        terms += lambda * x[i] * x[i] + c->s[i] / lambda * c->s[i];
    }
    return terms;
}

/* lambda/2 |u - x + s / lambda|^2 */
static double residual(const submodi_projections *c, const double *u)
{
    double sum = 0;
    for (size_t i = 0; i < c->n; i++) {
        double miss = u[i] - c->p->x[i] + c->s[i] / c->p->lambda;
        sum += c->p->lambda * miss * miss;
    }
    return sum / 2;
}

/* Tries the means of u over the parts of the cut. */
static submod_status look_at_means(submodi_projections *c)
{
    submodi_scope scope;
    submod_work *w = submodi_scope_open(&scope, c->work);
    submodi_extension f;
    double *mean = submodi_work_alloc(w, c->n, sizeof *mean);
    submod_status status = submodi_work_status(w);
    if (status == SUBMOD_OK) {
        memcpy(mean, c->v, c->n * sizeof *mean);
        submodi_cut_prox_means(c->cut, 0, mean);
        status = extend(c, mean, false, &f);
    }
    if (status == SUBMOD_OK) {
        double gap = f.excess + residual(c, mean);
        if (gap < c->gap) {
            c->gap = gap;
            c->f = f;
            memcpy(c->v, mean, c->n * sizeof *mean);
        }
    }
    submodi_scope_close(&scope);
    return status;
}

/* Returns the tolerance for the members' iterative proxes, given the sum's relative gap. An inner
 * gap of eps changes a member's step by up to sqrt(eps), and the sum's gap by as much, but mostly
 * by far less. So the tolerance follows the gap at first, and its square once the gap falls by less
 * than half between two looks. */
static double inner_tolerance(const submodi_projections *c, double gap)
{
    double size = fmin(1, gap);
    return c->stalled ? fmax(FINEST, 1e-3 * size * size) : fmax(FINE, 1e-3 * size);
}

submod_status submodi_projections_look(submodi_projections *c)
{
    for (size_t i = 0; i < c->n; i++) {
        c->v[i] = c->r[i] * c->unit;
    }
    TRY(extend(c, c->v, true, &c->f));
    double terms = sum_bases(c);
    c->gap = c->f.excess + residual(c, c->v);
    c->allowed = c->p->settings->tolerance * terms / 2 + 8 * DBL_EPSILON * c->f.size;
    c->stalled |= c->gap >= c->best_gap / 2;
    c->tolerance = inner_tolerance(c, c->gap / fmax(terms / 2, DBL_MIN));
    if (c->cut_part && c->gap > c->allowed && c->gap < NEAR * c->allowed) {
        TRY(look_at_means(c));
    }
    if (!isfinite(c->gap) || !isfinite(c->allowed)) {
        return submodi_fail(SUBMOD_ENUMERIC, "the objective overflows");
    }
    if (c->p->enough) {
        submodi_view view = {.n = c->n, .s = c->s, .sigma = 1, .low = -INFINITY, .high = INFINITY};
        c->enough = c->p->enough(c->p->enough_ctx, &view);
    }
    submodi_tell_progress(c->p->settings, c->info->iterations, c->gap);
    return SUBMOD_OK;
}

void submodi_projections_finish(const submodi_projections *c, double *u, double *s)
{
    memcpy(u, c->v, c->n * sizeof *u);
    memcpy(s, c->s, c->n * sizeof *s);
    if (c->p->extension && !c->p->settings->hinge) {
        *c->p->extension = c->f;
    }
}

/* ---- the beginning and the end ---- */

/* The place of a term among the members: those with all elements come last, since the method knows
 * the extension of the very last one. */
static int rank_of(const submodi_sum_part *part)
{
    return part->elements ? 0 : submodi_is_fast(part->fn) ? 2 : 1;
}

/* The terms as members, but for the cut. User code runs in the caller's thread. */
static submod_status take_members(submodi_projections *c)
{
    const submodi_folded *folded = c->folded;
    c->members = submodi_work_alloc(c->work, folded->count, sizeof *c->members);
    c->classes = submodi_work_alloc(c->work, folded->count, sizeof *c->classes);
    TRY(submodi_work_status(c->work));
    for (size_t j = 0; j < 3 * folded->count; j++) {
        const submodi_sum_part *part = &folded->parts[j % folded->count];
        if (!part->elements && submodi_can_cut(part->fn)) {
            c->cut_part = part;
            c->begin = c->n;
        } else if (rank_of(part) == (int)(j / folded->count)) {
            c->members[c->count++] = (submodi_member){.part = part,
                                                      .k = part->fn->n,
                                                      .full = !part->elements,
                                                      .fast = submodi_is_fast(part->fn),
                                                      .parallel = !part->fn->calls_user_code};
        }
    }
    c->total = c->begin;
    for (size_t j = 0; j < c->count; j++) {
        c->members[j].at = c->total;
        c->total += c->members[j].k;
    }
    return make_classes(c);
}

/* Memory of their own for the threads that project members of a class. */
static submod_status take_works(submodi_projections *c)
{
    int threads = 1;
    for (size_t i = 0; i < c->nclasses; i++) {
        if (c->classes[i].last - c->classes[i].first > 1) {
            threads = submod_get_num_threads();
        }
    }
    c->works = submodi_work_alloc(c->work, (size_t)threads, sizeof(submod_work *));
    submod_status status = submodi_work_status(c->work);
    while (status == SUBMOD_OK && c->threads < threads) {
        status = submod_work_create(&c->works[c->threads]);
        c->threads += status == SUBMOD_OK;
    }
    return status;
}

static submod_status take_arrays(submodi_projections *c)
{
    double **vectors[] = {&c->x, &c->r, &c->v, &c->s, NULL};
    double **numbers[] = {&c->y, &c->step, NULL};
    double **of_cut[] = {&c->cut_x, &c->cut_u, &c->cut_s, NULL};
    for (int i = 0; vectors[i]; i++) {
        *vectors[i] = submodi_work_alloc(c->work, c->n, sizeof **vectors[i]);
    }
    for (int i = 0; numbers[i]; i++) {
        *numbers[i] = submodi_work_alloc(c->work, c->total, sizeof **numbers[i]);
    }
    for (int i = 0; c->cut_part && of_cut[i]; i++) {
        *of_cut[i] = submodi_work_alloc(c->work, c->n, sizeof **of_cut[i]);
    }
    if (c->cut_part) {
        c->cut = submodi_work_alloc(c->work, 1, sizeof *c->cut);
    }
    TRY(submodi_work_status(c->work));
    memset(c->y, 0, c->total * sizeof *c->y);
    memset(c->step, 0, c->total * sizeof *c->step);
    return SUBMOD_OK;
}

submod_status submodi_projections_start(submodi_projections *c, const submodi_prox_problem *p,
                                        const submodi_folded *folded, submod_prox_info *info,
                                        submod_work *work)
{
    *c = (submodi_projections){.p = p,
                               .folded = folded,
                               .info = info,
                               .work = work,
                               .n = folded->n,
                               .deadline = submodi_deadline(p->settings->time_limit),
                               .tolerance = 1e-4,
                               .gap = INFINITY,
                               .best_gap = INFINITY};
    TRY(take_members(c));
    TRY(take_works(c));
    TRY(take_arrays(c));
    for (size_t i = 0; i < c->n; i++) {
        c->x[i] = p->x[i] - folded->modular[i] / p->lambda;
    }
    if (!submodi_all_finite(c->x, c->n)) {
        return submodi_fail(SUBMOD_ENUMERIC, "F / lambda overflows");
    }
    c->unit = unit_for(submodi_largest(c->x, c->n));
    if (c->cut_part) {
        TRY(submodi_cut_prox_start(c->cut, c->cut_part->fn->ctx,
                                   p->lambda / c->cut_part->coefficient, true, &c->cut_info, work));
    }
    submodi_projections_reset(c);
    return SUBMOD_OK;
}

void submodi_projections_end(submodi_projections *c)
{
    for (int i = 0; i < c->threads; i++) {
        submod_work_free(c->works[i]);
    }
    for (size_t j = 0; j < c->count; j++) {
        submod_combination_free(&c->members[j].warm);
    }
}
