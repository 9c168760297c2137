/* The prox of F = sum of F_j by cyclic projections on the base polytopes of its members, with
 * Nesterov's extrapolation and restarts.
 *
 * The dual is  min |x - sum of N_j / lambda|^2  over N_j in B(F_j). A sweep minimises over one N_j
 * after the other, all from extrapolated points Y_j:
 *
 *     r = x - sum of Y_j;   for each j:  y = r + Y_j,  r = prox_j(y),  N_j = y - r
 *     Y = N + (t - 1) / t' (N - N of the sweep before),     t' = (1 + sqrt(1 + 4 t^2)) / 2
 *
 * (all in units of u). t goes back to 1 when sum of <Y_j - N_j, N_j - N_j before> > 0, which means
 * that extrapolation went too far, or when |r| grew. Then the next sweep is a plain one, which
 * never makes |r| grow. For two members this is FISTA; for more it is a heuristic that restarts and
 * gap make safe. Since r = x - sum of N_j after a sweep, the next one starts from r + (t - 1) / t'
 * (r - r of the sweep before), in O(n) whatever the number of members.
 *
 * Certificate: every N_j is a base of its F_j, so s = sum of N_j is one of F. With u = r the gap is
 * the sum of f_j(u) - <N_j, u> >= 0. Y_j may leave its polytope and proves nothing.
 *
 * Cost of a sweep: the proxes of all members. The gap costs an extension of each, so it is computed
 * only when it is likely to be small enough; the last member knows its own.
 */
#include "prox/sums/cyclic.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/sums_loops.h"
#include "base/threads.h"
#include "prox/sums/classes.h"

enum {
    DEFAULT_SWEEPS = 100000,
    LONGEST_WAIT = 6, /* sweeps between two looks at the gap */
    PATIENCE = 100    /* looks without a smaller gap, after which the method gives up */
};

/* The smallest relative gap required of a member as long as the sum's gap falls, and once it has
 * stalled. The latter is above (8 eps)^2 = 3e-30, where rounding begins. */
static const double FINE = 1e-14, FINEST = 1e-26;

typedef struct cyclic {
    const submodi_prox_problem *p;
    const submodi_folded *folded;
    submodi_cycle cycle;
    submodi_member *members;
    size_t count;
    submodi_class *classes;
    size_t nclasses;
    double *x;           /* less the modular part */
    double *before;      /* r of the sweep before */
    double *total;       /* sum of all steps, by element: as of the last look */
    double *turns;       /* of the members of a class */
    double t;            /* Nesterov's */
    double last_r;       /* |r|^2 of the sweep before, in units */
    submodi_extension f; /* as of the last look */
    double gap, best_gap, allowed;
    size_t unimproved;         /* looks since the best gap */
    bool stalled;              /* between two looks, the gap fell by less than half */
    size_t look_at, looked_at; /* the sweeps of the next look and of the last one */
    submod_work **works;       /* one for each thread */
    int threads;
    double *s;   /* for p->enough */
    bool enough; /* it says so */
    submod_prox_info *info;
    submod_work *work;
} cyclic;

/* ---- one sweep ---- */

static submod_status project_class(cyclic *c, const submodi_class *class, double *turn)
{
    submod_status status = SUBMOD_OK;
    int threads = class->cost > 0 ? submodi_threads_for((size_t)fmin(class->cost, 1e9)) : 1;
    threads = threads < c->threads ? threads : c->threads;
    size_t size = class->last - class->first;
    if (size == 1 || threads == 1) {
        for (size_t i = class->first; status == SUBMOD_OK && i < class->last; i++) {
            status = submodi_member_project(&c->members[i], &c->cycle, turn, c->works[0]);
        }
        return status;
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int k = 0; k < threads; k++) {
        size_t end = class->first + size * (size_t)(k + 1) / (size_t)threads;
        for (size_t i = class->first + size * (size_t)k / (size_t)threads; i < end; i++) {
            c->turns[i] = 0;
            submod_status outcome =
                submodi_member_project(&c->members[i], &c->cycle, &c->turns[i], c->works[k]);
            if (outcome != SUBMOD_OK) {
#pragma omp critical(submodi_cyclic)
                status = outcome;
            }
        }
    }
    for (size_t i = class->first; i < class->last; i++) {
        *turn += c->turns[i];
    }
    return status == SUBMOD_OK ? status
                               : submodi_fail(status, "%s: a part of the sum failed: %s", c->p->who,
                                              submod_status_string(status));
}

/* Moves r to the extrapolated point. */
static void extrapolate(cyclic *c)
{
    double *r = c->cycle.r;
    for (size_t i = 0; i < c->cycle.n; i++) {
        double change = r[i] - c->before[i];
        c->before[i] = r[i];
        r[i] += c->cycle.momentum * change;
    }
}

/* |r|^2 in units. */
static double squared_length(const cyclic *c)
{
    double sum = 0;
    for (size_t i = 0; i < c->cycle.n; i++) {
        double r = c->cycle.r[i] * c->cycle.unit;
        sum += r * r;
    }
    return sum;
}

static void choose_momentum(cyclic *c, double turn)
{
    double length = squared_length(c);
    if (turn > 0 || length > c->last_r) {
        c->t = 1;
    }
    double next = (1 + sqrt(1 + 4 * c->t * c->t)) / 2;
    c->cycle.momentum = (c->t - 1) / next;
    c->t = next;
    c->last_r = length;
}

/* Squares of numbers of this size neither overflow nor vanish. */
static double unit_for(double largest)
{
    int exponent = 0;
    frexp(largest, &exponent);
    return ldexp(1, exponent < -1021 ? 1021 : -exponent);
}

static submod_status sweep(cyclic *c)
{
    double turn = 0;
    submod_status status = SUBMOD_OK;
    extrapolate(c);
    for (size_t i = 0; status == SUBMOD_OK && i < c->nclasses; i++) {
        status = project_class(c, &c->classes[i], &turn);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    if (c->info->iterations == 0) { /* the size of the steps is known now */
        double largest = submodi_largest(c->x, c->cycle.n);
        for (size_t i = 0; i < c->count; i++) {
            largest = fmax(largest, submodi_largest(c->members[i].now, c->members[i].k));
        }
        if (!isfinite(largest)) {
            return submodi_fail(SUBMOD_ENUMERIC, "%s: s / lambda overflows", c->p->who);
        }
        c->cycle.unit = unit_for(largest);
    }
    choose_momentum(c, turn);
    c->info->iterations++;
    c->info->oracle_calls += c->count;
    return SUBMOD_OK;
}

/* ---- a look at the gap ---- */

/* Adds f_j(u) and f_j(u) - <N_j, u> of all members. The last one left its own if it is exact and
 * has all elements: then u is its prox. */
static submod_status add_extensions(cyclic *c, const double *u)
{
    submod_status status = SUBMOD_OK;
    c->f = (submodi_extension){.known = true};
    for (size_t i = 0; status == SUBMOD_OK && i < c->count; i++) {
        const submodi_member *m = &c->members[i];
        if (i + 1 == c->count && m->full && m->fast && m->extension.known) {
            c->f.value += m->part->coefficient * m->extension.value;
            c->f.excess += m->part->coefficient * m->extension.excess;
            c->f.size += m->part->coefficient * m->extension.size;
        } else {
            status = submodi_member_extension(m, &c->cycle, u, &c->f, c->work);
        }
    }
    return status;
}

/* Returns the tolerance for the members' iterative proxes, given the sum's relative gap. An inner
 * gap of eps changes a member's step by up to sqrt(eps), and the sum's gap by as much, but mostly
 * by far less. So the tolerance follows the gap at first, and its square once the gap falls by less
 * than half between two looks. */
static double inner_tolerance(const cyclic *c, double gap)
{
    double size = fmin(1, gap);
    return c->stalled ? fmax(FINEST, 1e-3 * size * size) : fmax(FINE, 1e-3 * size);
}

/* The gap of u = r and the sum of all steps, and what is allowed. */
static submod_status look(cyclic *c)
{
    size_t n = c->cycle.n;
    double lambda = c->p->lambda;
    double residual = 0;
    double terms = 0;
    const double *u = c->cycle.r;
    const double *m = c->folded->modular;
    submod_status status = add_extensions(c, u);
    memset(c->total, 0, n * sizeof *c->total);
    for (size_t i = 0; i < c->count; i++) {
        submodi_member_add_step(&c->members[i], c->total);
    }
    for (size_t i = 0; i < n; i++) {
        double miss = u[i] - (c->x[i] - c->total[i]);
        double s = lambda * c->total[i] + m[i];
        residual += lambda * miss * miss;
        terms += lambda * c->p->x[i] * c->p->x[i] + s / lambda * s;
        c->f.value += m[i] * u[i];
        c->f.size += fabs(m[i] * u[i]);
    }
    c->gap = c->f.excess + residual / 2;
    c->allowed = c->p->settings->tolerance * terms / 2 + 8 * DBL_EPSILON * c->f.size;
    c->stalled |= c->gap >= c->best_gap / 2;
    c->cycle.tolerance = inner_tolerance(c, c->gap / fmax(terms / 2, DBL_MIN));
    if (status == SUBMOD_OK && c->p->enough) {
        for (size_t i = 0; i < n; i++) {
            c->s[i] = lambda * c->total[i] + m[i];
        }
        c->enough = c->p->enough(c->p->enough_ctx, c->s);
    }
    return status;
}

/* When to look next: halfway to where the gap should be small enough if it goes on falling as
 * it did since the last look. */
static void plan_next_look(cyclic *c, double gap_before)
{
    double wait = 1;
    double sweeps = (double)(c->info->iterations - c->looked_at);
    if (c->gap < gap_before && c->allowed > 0 && isfinite(gap_before)) {
        wait = sweeps * log(c->gap / c->allowed) / log(gap_before / c->gap) / 2;
    } else if (isfinite(gap_before)) {
        wait = LONGEST_WAIT / 2.0;
    }
    c->looked_at = c->info->iterations;
    c->look_at = c->looked_at + (size_t)fmin(fmax(wait, 1), LONGEST_WAIT);
}

/* Rounding errors in r add up from sweep to sweep: takes them out. */
static void refresh(cyclic *c)
{
    for (size_t i = 0; i < c->cycle.n; i++) {
        double r = c->x[i] - c->total[i];
        c->before[i] += r - c->cycle.r[i];
        c->cycle.r[i] = r;
    }
}

/* SUBMOD_OK: go on. */
static submod_status reason_to_stop(const cyclic *c)
{
    size_t limit = c->p->settings->max_iterations;
    if (c->info->iterations >= (limit ? limit : DEFAULT_SWEEPS)) {
        return SUBMOD_MAXITER;
    }
    if (submodi_seconds() > c->cycle.deadline) {
        return SUBMOD_TIMELIMIT;
    }
    return submodi_cancelled() ? SUBMOD_CANCELLED : SUBMOD_OK;
}

/* Sweeps until the gap is small enough, a limit is hit or the gap falls no more. */
static submod_status run(cyclic *c)
{
    for (;;) {
        c->cycle.ask_extension = c->info->iterations + 1 >= c->look_at;
        submod_status status = sweep(c);
        if (status != SUBMOD_OK) {
            return status;
        }
        submod_status stop = reason_to_stop(c);
        if (stop == SUBMOD_OK && c->info->iterations < c->look_at) {
            continue;
        }
        double gap_before = c->gap;
        status = look(c);
        if (status != SUBMOD_OK) {
            return status;
        }
        if (!isfinite(c->gap) || !isfinite(c->allowed)) {
            return submodi_fail(SUBMOD_ENUMERIC, "%s: the objective overflows", c->p->who);
        }
        submodi_tell_progress(c->p->settings, c->info->iterations, c->gap);
        bool done = c->enough || c->gap <= c->allowed;
        if (done || stop != SUBMOD_OK) {
            return done ? SUBMOD_OK : stop;
        }
        c->unimproved = c->gap < c->best_gap ? 0 : c->unimproved + 1;
        c->best_gap = fmin(c->gap, c->best_gap);
        if (c->unimproved == PATIENCE) {
            return SUBMOD_INACCURATE;
        }
        plan_next_look(c, gap_before);
        refresh(c);
    }
}

/* ---- the entry ---- */

static submod_status take_memory(cyclic *c)
{
    size_t n = c->cycle.n;
    double **vectors[] = {&c->x, &c->before, &c->total, &c->s, &c->cycle.r, NULL};
    c->classes = submodi_take(c->work, c->count, sizeof *c->classes);
    c->turns = submodi_take(c->work, c->count, sizeof *c->turns);
    bool good = submodi_take_vectors(c->work, n, vectors) && c->classes && c->turns;
    for (size_t i = 0; good && i < c->count; i++) {
        submodi_member *m = &c->members[i];
        m->now = submodi_take(c->work, m->k, sizeof *m->now);
        m->before = submodi_take(c->work, m->k, sizeof *m->before);
        good = m->now && m->before;
        if (good) {
            memset(m->now, 0, m->k * sizeof *m->now);
            memset(m->before, 0, m->k * sizeof *m->before);
        }
    }
    if (good) {
        c->nclasses = submodi_sort_into_classes(n, c->members, c->count, c->classes, c->work);
        good = c->nclasses > 0;
    }
    return good ? SUBMOD_OK : submodi_nomem(c->p->who);
}

/* Memory of their own for the threads that project members of a class. */
static submod_status take_works(cyclic *c)
{
    int threads = 1;
    for (size_t i = 0; i < c->nclasses; i++) {
        if (c->classes[i].last - c->classes[i].first > 1) {
            threads = submod_get_num_threads();
        }
    }
    c->works = submodi_take(c->work, (size_t)threads, sizeof(submod_work *));
    submod_status status = c->works ? SUBMOD_OK : submodi_nomem(c->p->who);
    while (status == SUBMOD_OK && c->threads < threads) {
        status = submod_work_create(&c->works[c->threads]);
        c->threads += status == SUBMOD_OK;
    }
    return status;
}

static submod_status start(cyclic *c)
{
    const submodi_prox_problem *p = c->p;
    submod_status status = take_memory(c);
    status = status ? status : take_works(c);
    if (status != SUBMOD_OK) {
        return status;
    }
    for (size_t i = 0; i < c->cycle.n; i++) {
        c->x[i] = p->x[i] - c->folded->modular[i] / p->lambda;
    }
    if (!submodi_all_finite(c->x, c->cycle.n)) {
        return submodi_fail(SUBMOD_ENUMERIC, "%s: F / lambda overflows", p->who);
    }
    memcpy(c->cycle.r, c->x, c->cycle.n * sizeof *c->x);
    memcpy(c->before, c->x, c->cycle.n * sizeof *c->x);
    c->cycle.unit = unit_for(submodi_largest(c->x, c->cycle.n));
    return SUBMOD_OK;
}

static void finish(const cyclic *c, double *u, double *s)
{
    for (size_t i = 0; i < c->cycle.n; i++) {
        u[i] = c->cycle.r[i];
        s[i] = c->p->lambda * c->total[i] + c->folded->modular[i];
    }
    if (c->p->extension && !c->p->settings->hinge) {
        *c->p->extension = c->f;
    }
}

submod_status submodi_cyclic(const submodi_prox_problem *p, const submodi_folded *folded,
                             submodi_member *members, size_t count, double *u, double *s,
                             submod_prox_info *info, submod_work *work)
{
    submodi_scope scope;
    double limit = p->settings->time_limit;
    cyclic c = {.p = p,
                .folded = folded,
                .cycle = {.who = p->who,
                          .n = folded->n,
                          .lambda = p->lambda,
                          .tolerance = 1e-4,
                          .deadline = limit > 0 ? submodi_seconds() + limit : INFINITY},
                .members = members,
                .count = count,
                .t = 1,
                .last_r = INFINITY,
                .gap = INFINITY,
                .best_gap = INFINITY,
                .info = info,
                .work = submodi_scope_open(&scope, work)};
    submod_status status = start(&c);
    status = status ? status : run(&c);
    if (status >= 0) {
        finish(&c, u, s);
    }
    for (int i = 0; i < c.threads; i++) {
        submod_work_free(c.works[i]);
    }
    for (size_t i = 0; i < count; i++) {
        submodi_combination_clear(&members[i].warm);
    }
    submodi_scope_close(&scope);
    return status;
}
