/* Fujishige-Wolfe piece by piece. Where a run proves that a prefix A of its order is a level set of
 * the solution (level_cuts.c), the problem comes apart: u on A is the prox of F restricted to A, u
 * on the rest that of F contracted by A, and their bases side by side are the base of F. So the
 * run ends there, and each piece gets a run of its own, on fewer elements, which may come apart
 * again (divide.c).
 *
 * The gap of the whole is the sum of the gaps of the pieces. Half of what the tolerance allows goes
 * to the pieces by the size of their own terms, half by their number of elements.
 *
 * When there are no more cycles, the pieces that are still open get the best point of what they
 * start from; when there is no more time, the mean of it, which costs nothing. A piece of one
 * element needs no run: its base is the gain.
 *
 * Cost of coming apart with k points: O(k n), the minors of F, and O(k^2 n) when the pieces start:
 * about as much as the k cycles that found the points. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/sums_loops.h"
#include "prox/wolfe/piece.h"

typedef struct solver {
    const submodi_prox_problem *problem;
    submodi_watch *watch;
    void *watch_ctx;
    submod_prox_info *info;
    submod_work *work;
    size_t n;
    double deadline;
    double allowance;  /* per element: lambda times the gap that it may leave, in units of unit^2 */
    double unit;       /* sigma of the first run */
    int32_t *sequence; /* the elements, piece by piece */
    double *x, *u, *s; /* of the piece that runs; room for n each */
    double *out_u;     /* the results, by element */
    double *out_s;
    submod_status outcome;
    submodi_piece *open; /* a stack */
    size_t open_count;
    submodi_piece *done; /* those that have found a combination, if somebody asks */
    size_t done_count;
    size_t room; /* for open, and for done */
} solver;

/* A piece has at least two elements, or all. */
static submod_status take_arrays(solver *d)
{
    d->room = d->n / 2 + 1;
    double **vectors[] = {&d->x, &d->u, &d->s, NULL};
    d->sequence = submodi_take(d->work, d->n, sizeof *d->sequence);
    d->open = submodi_take(d->work, d->room, sizeof *d->open);
    d->done = submodi_take(d->work, d->room, sizeof *d->done);
    bool good = submodi_take_vectors(d->work, d->n, vectors) && d->sequence && d->open && d->done;
    return good ? SUBMOD_OK : submodi_nomem(d->problem->who);
}

/* Keeps the result of a piece, which is in d->u and d->s by elements of the piece. */
static void keep(solver *d, submodi_piece *q)
{
    double lambda = d->problem->lambda;
    for (size_t i = 0; i < submodi_piece_size(q); i++) {
        int32_t e = d->sequence[q->part.begin + i];
        d->out_u[e] = fmax(fmin(d->u[i], q->high / lambda), q->low / lambda);
        d->out_s[e] = d->s[i];
    }
    submodi_piece_forget_start(q);
    if (d->problem->found) {
        d->done[d->done_count++] = *q;
    }
}

/* A lower bound for the size of the terms at the solution, |y|^2 / 2 + |s*|^2 / 2: s* is not
 * farther from s than sqrt(2 gap). */
static void set_allowance(solver *d, const submodi_projection *p)
{
    double y2 = submodi_sums()->dot(p->y, p->y, p->n);
    double length = sqrt(submodi_sums()->dot(p->s, p->s, p->n)) - sqrt(2 * fmax(p->gap, 0));
    double size = (y2 + pow(fmax(length, 0), 2)) / 2;
    d->allowance = d->problem->settings->tolerance / 2 * size / (double)d->n;
    d->unit = p->sigma;
}

/* The base of an element alone in its piece is its gain. Until the other pieces are solved, u is
 * the best so far. The sequence is already in the order of the run. */
static void settle_singles(solver *d, const submodi_piece *q, const submodi_wolfe *run)
{
    const submodi_projection *p = &run->p;
    double lambda = d->problem->lambda;
    for (size_t r = 0, cut = 0; r < p->n; r++) {
        bool begins = r == 0 || (cut > 0 && run->cuts[cut - 1].rank == r);
        bool ends = r + 1 == p->n || (cut < run->cut_count && run->cuts[cut].rank == r + 1);
        int32_t e = d->sequence[q->part.begin + r];
        d->out_u[e] = p->best_t[p->order[r]] * p->sigma / lambda;
        if (begins && ends) {
            d->out_s[e] = p->vertex[p->order[r]] * p->sigma;
            d->out_u[e] = d->problem->x[e] - d->out_s[e] / lambda;
        }
        cut += ends;
    }
}

/* The piece is replaced by those that it comes apart into. */
static submod_status come_apart(solver *d, submodi_piece *q, const submodi_wolfe *run,
                                submod_work *work)
{
    if (submodi_piece_size(q) == d->n) {
        set_allowance(d, &run->p);
    }
    size_t count;
    submod_status status =
        submodi_divide(q, run, d->sequence, d->open + d->open_count, &count, work);
    if (status == SUBMOD_OK) {
        d->open_count += count;
        settle_singles(d, q, run);
    }
    submodi_piece_clear(q);
    return status;
}

/* One run on a piece, whose function and start are there. */
static submod_status run(solver *d, submodi_piece *q, const submodi_prox_problem *problem,
                         const submodi_start *from, submod_work *work)
{
    size_t n = submodi_piece_size(q);
    submodi_wolfe m = {0};
    submod_status status =
        submodi_projection_start(&m.p, problem, d->watch, d->watch_ctx, d->info, work);
    if (status != SUBMOD_OK) {
        return status;
    }
    m.p.deadline = d->deadline;
    m.p.allowance = d->allowance > 0 ? d->allowance * (double)n * pow(d->unit / m.p.sigma, 2) : 0;
    m.p.view.sequence = d->sequence;
    m.p.view.begin = q->part.begin;
    m.p.view.before = q->before;
    m.p.view.low = q->low;
    m.p.view.high = q->high;
    if (problem->fn->traits.depth + 1 < SUBMOD_DEPTH_MAX) {
        m.cuts = submodi_take(work, n, sizeof *m.cuts);
        status = m.cuts ? SUBMOD_OK : submodi_nomem(problem->who);
    }
    status = status ? status : submodi_wolfe_start(&m, from);
    status = status ? status : submodi_wolfe_run(&m);
    d->info->minor_cycles += m.corral.minor_cycles;
    if (status < 0) {
        return status;
    }
    if (m.cut_count) {
        return come_apart(d, q, &m, work);
    }
    if (status == SUBMOD_INACCURATE && q->count) {
        /* Points of a larger problem can be nearly dependent here. Starts again without them. */
        q->count = 0;
        return run(d, q, problem, &(submodi_start){0}, work);
    }
    d->outcome = status == SUBMOD_OK ? d->outcome : status;
    status = submodi_projection_finish(&m.p, &m.corral.points, d->u, d->s);
    if (status == SUBMOD_OK) {
        keep(d, q);
    }
    return status;
}

/* The points that a piece starts from: those of the run that it comes from, or the caller's. */
static submodi_start start_of(const solver *d, const submodi_piece *q)
{
    const submod_combination *from = d->problem->settings->combination;
    if (q->count) {
        return (submodi_start){.count = q->count,
                               .orders = q->orders,
                               .weights = q->weights,
                               .points = q->points,
                               .known = q->known};
    }
    return from && from->n == d->n ? (submodi_start){.count = from->count,
                                                     .orders = from->orders,
                                                     .weights = from->weights}
                                   : (submodi_start){0};
}

static submod_status solve_piece(solver *d, submodi_piece *q)
{
    size_t n = submodi_piece_size(q);
    submod_prox_settings settings = *d->problem->settings;
    submodi_prox_problem problem = *d->problem;
    problem.x = d->x;
    problem.settings = &settings;
    problem.found = d->problem->found ? &q->found : NULL;
    if (n < d->n) {
        settings.tolerance /= 2;
    }
    for (size_t i = 0; i < n; i++) {
        d->x[i] = d->problem->x[d->sequence[q->part.begin + i]];
    }
    submod_status status =
        q->fn ? SUBMOD_OK : submodi_fn_minor(d->problem->fn, d->sequence, q->part, &q->fn);
    if (status != SUBMOD_OK) {
        return status;
    }
    problem.fn = q->fn;
    submodi_start from = start_of(d, q);
    submodi_scope scope;
    submod_work *work = submodi_scope_open(&scope, d->work);
    status = run(d, q, &problem, &from, work);
    submodi_scope_close(&scope);
    return status;
}

/* Out of time: the mean of the known points, by their weights, is the base of the piece; if they
 * have none, the last point, which is known. u stays as it is. */
static submod_status give_up(solver *d, submodi_piece *q)
{
    size_t n = submodi_piece_size(q);
    double total = 0;
    for (size_t k = 0; k < q->count; k++) {
        q->weights[k] = q->known[k] ? q->weights[k] : 0;
        total += q->weights[k];
    }
    q->weights[q->count - 1] += total > 0 ? 0 : 1;
    total = total > 0 ? total : 1;
    memset(d->s, 0, n * sizeof *d->s);
    for (size_t k = 0; k < q->count; k++) {
        q->weights[k] /= total;
        for (size_t i = 0; q->weights[k] > 0 && i < n; i++) {
            d->s[i] += q->weights[k] * q->points[k * n + i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        d->u[i] = d->out_u[d->sequence[q->part.begin + i]];
    }
    submod_status status = SUBMOD_OK;
    if (d->problem->found) {
        status = submod_combination_set(&q->found, n, q->count, q->orders, q->weights);
    }
    if (status == SUBMOD_OK) {
        keep(d, q);
    }
    return status;
}

static bool out_of_time(const solver *d)
{
    return d->outcome == SUBMOD_TIMELIMIT || d->outcome == SUBMOD_CANCELLED;
}

static submod_status solve(solver *d)
{
    submod_status status = SUBMOD_OK;
    submodi_ascending(d->sequence, d->n);
    d->open[0] = (submodi_piece){.part = {0, d->n},
                                 .low = -INFINITY,
                                 .high = INFINITY,
                                 .fn = submod_fn_share(d->problem->fn)};
    d->open_count = 1;
    while (status == SUBMOD_OK && d->open_count) {
        submodi_piece q = d->open[--d->open_count];
        status = out_of_time(d) ? give_up(d, &q) : solve_piece(d, &q);
        if (status != SUBMOD_OK) {
            submodi_piece_clear(&q);
        }
    }
    if (status == SUBMOD_OK && d->problem->found) {
        status = submodi_merge(d->problem->who, d->done, d->done_count, d->sequence, d->n,
                               d->problem->found, d->work);
    }
    for (size_t j = 0; j < d->open_count; j++) {
        submodi_piece_clear(&d->open[j]);
    }
    for (size_t j = 0; j < d->done_count; j++) {
        submodi_piece_clear(&d->done[j]);
    }
    return status;
}

submod_status submodi_min_norm(const submodi_prox_problem *problem, submodi_watch *watch,
                               void *watch_ctx, double *u, double *s, submod_prox_info *info,
                               submod_work *work)
{
    double limit = problem->settings->time_limit;
    solver d = {.problem = problem,
                .watch = watch,
                .watch_ctx = watch_ctx,
                .info = info,
                .n = problem->fn->n,
                .deadline = limit > 0 ? submodi_seconds() + limit : INFINITY,
                .out_u = u,
                .out_s = s};
    submodi_scope scope;
    d.work = submodi_scope_open(&scope, work);
    submod_status status = take_arrays(&d);
    status = status ? status : solve(&d);
    submodi_scope_close(&scope);
    return status ? status : d.outcome;
}

/* Greedy vectors are all that these methods ask of F. */
bool submodi_can_any(const submod_fn *fn)
{
    (void)fn;
    return true;
}

submod_status submodi_prox_min_norm(const submodi_prox_problem *problem, double *u, double *s,
                                    submod_prox_info *info, submod_work *work)
{
    return submodi_min_norm(problem, NULL, NULL, u, s, info, work);
}
