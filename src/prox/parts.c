/* Fujishige-Wolfe part by part. Let t* be the solution, s any base, t = y - s, and A the first k
 * elements in the order of t. If
 *
 *     t_k - t_(k+1)  >  2 (F(A) - s(A)),
 *
 * then A is a level set of t* (proof: docs/mathematics.md, section 7), and the problem comes apart:
 * u on A is the prox of F restricted to A, u on the rest that of F contracted by A, and their bases
 * side by side are a base of F. So the run ends there, and each part gets a run of its own, which
 * starts from the greedy vectors of the first run restricted to the part. The restriction of a
 * vector to a part is known if its order begins with all earlier parts followed by this part.
 * Otherwise a chain along the restricted order computes it.
 *
 * The gap of the whole is the sum of the gaps of the parts. Half of the allowed gap is divided
 * among the parts by the size of their terms, half by their number of elements. The base of a part
 * with one element is its gain, without a run. At the limit on cycles, parts that are still open
 * get the best point of their starting points; at the time limit, the mean of these, which costs
 * nothing.
 *
 * Cost of a division with k points: O(k n), the minors of F, and O(k^2 n) when the parts start:
 * about as much as the k cycles that found the points. */
#include <float.h>
#include <math.h>

#include "base/sums.h"
#include "prox/min_norm.h"

/* Consecutive elements of a sequence of all elements, along which u falls. */
typedef struct subproblem {
    submodi_part range;        /* its element i is sequence[range.begin + i] */
    double low, high;          /* lambda u lies between them */
    double before;             /* F of all elements before it, minus F(empty) */
    submod_fn *fn;             /* NULL: a minor of F, to be made when it is needed */
    submod_combination orders; /* starting points; in the end, its base */
    double *points;            /* greedy vectors of orders */
    uint8_t *known;            /* whether each of them is known; the last one always is */
} subproblem;

typedef struct solver {
    const submodi_prox_problem *problem;
    submod_prox_info *info;
    submod_work *work;
    size_t n;
    double deadline;
    double allowance;  /* per element: lambda times the allowed gap, in units of unit^2 */
    double unit;       /* sigma of the first run */
    int32_t *sequence; /* the elements, part by part */
    double *x, *u, *s; /* of the part that runs; room for n each */
    double *out_u;     /* the results, by element */
    double *out_s;
    submod_status outcome;
    subproblem *open; /* a stack */
    size_t open_count;
    subproblem *done; /* parts with a combination, if the caller wants one */
    size_t done_count;
} solver;

static size_t size_of(const subproblem *q)
{
    return q->range.end - q->range.begin;
}

static void forget_points(subproblem *q)
{
    submod_fn_free(q->fn);
    submodi_free(q->points);
    submodi_free(q->known);
    q->fn = NULL;
    q->points = NULL;
    q->known = NULL;
}

static void clear(subproblem *q)
{
    forget_points(q);
    submod_combination_free(&q->orders);
}

/* ---- boundaries ---- */

/* Returns whether the jump after the first k elements proves a boundary. size is the size of the
 * slack's terms, to which rounding is relative. A slack below 0 shows that F is not submodular and
 * proves nothing. */
static bool proved(const submodi_projection *p, size_t k, double jump, double slack, double size)
{
    const double *y = p->w.y;
    double rounding = 16 * DBL_EPSILON * (size + (fabs(y[p->order[k - 1]]) + fabs(y[p->order[k]])));
    return slack >= -rounding && jump > 2 * (fabs(slack) + rounding);
}

/* Tests first without rounding, which rejects most jumps in a dozen instructions each. */
size_t submodi_find_boundaries(const submodi_projection *p, submodi_boundary *found)
{
    const double *t = p->w.corral.t;
    const double *s = p->w.corral.s;
    size_t count = 0;
    double slack = 0; /* F(A) - s(A) */
    double size = 0;
    for (size_t k = 1; k < p->w.corral.n; k++) {
        int32_t e = p->order[k - 1];
        double below = t[p->order[k]];
        double jump = t[e] - below;
        slack += p->vertex[e] - s[e];
        size += fabs(p->vertex[e]) + fabs(s[e]);
        if (jump > 2 * fabs(slack) && proved(p, k, jump, slack, size)) {
            found[count++] = (submodi_boundary){k, below + jump / 2};
        }
    }
    return count;
}

/* ---- division ---- */

/* The division of a run's elements among parts. */
typedef struct layout {
    const submodi_projection *p;
    size_t nparts;
    submodi_part *parts; /* in the order of the run */
    int32_t *part;       /* of each element */
    int32_t *place;      /* of each element in its part */
    subproblem **child;  /* of each part; NULL if it has one element only */
    size_t *next;        /* of each part: number of elements of an order written so far */
} layout;

static submod_status lay_out(layout *l, const submodi_projection *p, submod_work *work)
{
    size_t n = p->w.corral.n;
    *l = (layout){.p = p, .nparts = p->boundary_count + 1};
    l->parts = submodi_work_alloc(work, l->nparts, sizeof *l->parts);
    l->part = submodi_work_alloc(work, n, sizeof *l->part);
    l->place = submodi_work_alloc(work, n, sizeof *l->place);
    l->child = submodi_work_alloc(work, l->nparts, sizeof(subproblem *));
    l->next = submodi_work_alloc(work, l->nparts, sizeof *l->next);
    TRY(submodi_work_status(work));
    for (size_t j = 0; j < l->nparts; j++) {
        size_t begin = j ? p->boundaries[j - 1].size : 0;
        size_t end = j + 1 < l->nparts ? p->boundaries[j].size : n;
        l->parts[j] = (submodi_part){begin, end};
        for (size_t i = begin; i < end; i++) {
            l->part[p->order[i]] = (int32_t)j;
            l->place[p->order[i]] = (int32_t)(i - begin);
        }
    }
    return SUBMOD_OK;
}

/* Puts the children on the stack, still without points and functions, and the elements of the
 * parent in the order of the run. A part with one element gets its gain as its base; for the
 * others, u is the best point so far. Returns the number of children. */
static size_t add_children(solver *d, const layout *l, const subproblem *parent, int32_t *elements)
{
    const submodi_projection *p = l->p;
    double sigma = p->w.sigma;
    double before = parent->before;
    size_t count = 0;
    for (size_t j = 0; j < l->nparts; j++) {
        submodi_part in = l->parts[j];
        bool single = in.end - in.begin == 1;
        l->child[j] = single ? NULL : &d->open[d->open_count + count++];
        if (!single) {
            *l->child[j] = (subproblem){
                .range = {parent->range.begin + in.begin, parent->range.begin + in.end},
                .high = j ? p->boundaries[j - 1].level * sigma : parent->high,
                .low = j + 1 < l->nparts ? p->boundaries[j].level * sigma : parent->low,
                .before = before};
        }
        for (size_t i = in.begin; i < in.end; i++) {
            double gain = p->vertex[p->order[i]] * sigma;
            int32_t e = elements[p->order[i]];
            before += gain;
            d->out_s[e] = gain;
            d->out_u[e] = single ? d->problem->x[e] - gain / d->problem->lambda
                                 : p->best_t[p->order[i]] * sigma / d->problem->lambda;
            d->sequence[parent->range.begin + i] = e;
        }
    }
    return count;
}

/* Makes the functions of the children, if F can make them of its own kind. */
static submod_status make_functions(const solver *d, const layout *l, size_t count,
                                    submod_work *work)
{
    const submod_fn *fn = l->p->problem->fn;
    if (!fn->minors || !count) {
        return SUBMOD_OK;
    }
    submodi_part *parts = submodi_work_alloc(work, count, sizeof *parts);
    submod_fn **fns = submodi_work_alloc(work, count, sizeof(submod_fn *));
    TRY(submodi_work_status(work));
    for (size_t j = 0, k = 0; j < l->nparts; j++) {
        if (l->child[j]) {
            parts[k++] = l->parts[j];
        }
    }
    TRY(submodi_fn_minors(fn, l->p->order, parts, count, fns));
    for (size_t k = 0; k < count; k++) {
        d->open[d->open_count + k].fn = fns[k];
    }
    return SUBMOD_OK;
}

static submod_status allocate_points(subproblem *q, size_t count)
{
    size_t n = size_of(q);
    TRY(submodi_combination_alloc(n, count, &q->orders));
    q->points = submodi_alloc(submodi_times(count, n), sizeof *q->points);
    q->known = submodi_alloc(count, sizeof *q->known);
    return q->points && q->known ? SUBMOD_OK : submodi_out_of_memory();
}

/* Sets point k of all children from a row, relative to origin (NULL means 0), and its order. A
 * restriction is known if the order has all parts before first, and then this one. */
static void restrict_point(const layout *l, size_t k, const double *row, const double *origin,
                           const int32_t *order, double weight)
{
    int32_t highest = -1; /* part so far */
    for (size_t j = 0; j < l->nparts; j++) {
        bool in_place = highest < (int32_t)j;
        for (size_t i = l->parts[j].begin; i < l->parts[j].end; i++) {
            int32_t part = l->part[order[i]];
            in_place = in_place && part == (int32_t)j;
            highest = part > highest ? part : highest;
        }
        l->next[j] = 0;
        if (l->child[j]) {
            l->child[j]->known[k] = in_place;
            l->child[j]->orders.weights[k] = weight;
        }
    }
    for (size_t i = 0; i < l->p->w.corral.n; i++) {
        int32_t e = order[i];
        size_t j = (size_t)l->part[e];
        subproblem *q = l->child[j];
        if (q) {
            size_t first = k * q->orders.n;
            q->orders.orders[first + l->next[j]++] = l->place[e];
            q->points[first + (size_t)l->place[e]] =
                (row[e] + (origin ? origin[e] : 0)) * l->p->w.sigma;
        }
    }
}

/* Gives the children all points of the corral, and that of the last order with weight 0. */
static submod_status make_points(const layout *l)
{
    const submodi_corral *c = &l->p->w.corral;
    for (size_t j = 0; j < l->nparts; j++) {
        if (l->child[j]) {
            TRY(allocate_points(l->child[j], c->count + 1));
        }
    }
    for (size_t k = 0; k < c->count; k++) {
        const submodi_corral_point *point = &c->points[k];
        restrict_point(l, k, point->row, c->origin, point->order, c->weights[k]);
    }
    restrict_point(l, c->count, l->p->vertex, NULL, l->p->order, 0);
    return SUBMOD_OK;
}

/* Sets the allowance from a lower bound for the size of the terms at the solution,
 * |y|^2 / 2 + |s*|^2 / 2: s* is not farther from s than sqrt(2 gap). */
static void set_allowance(solver *d, const submodi_projection *p)
{
    const submodi_corral *c = &p->w.corral;
    double y2 = submodi_sums()->dot(c->y, c->y, c->n);
    double length = sqrt(submodi_sums()->dot(c->s, c->s, c->n)) - sqrt(2 * fmax(p->gap, 0));
    double size = (y2 + pow(fmax(length, 0), 2)) / 2;
    d->allowance = d->problem->settings->tolerance / 2 * size / (double)d->n;
    d->unit = p->w.sigma;
}

/* Replaces a part by the parts into which its run came apart. */
static submod_status divide(solver *d, const subproblem *parent, const submodi_projection *p,
                            submod_work *work)
{
    layout l;
    if (size_of(parent) == d->n) {
        set_allowance(d, p);
    }
    int32_t *elements = submodi_work_alloc(work, p->w.corral.n, sizeof *elements);
    TRY(lay_out(&l, p, work));
    memcpy(elements, d->sequence + parent->range.begin, p->w.corral.n * sizeof *elements);
    size_t count = add_children(d, &l, parent, elements);
    submod_status status = make_functions(d, &l, count, work);
    d->open_count += count; /* also on failure, so that their memory is freed */
    return status ? status : make_points(&l);
}

/* ---- one part ---- */

/* Stores the result of a part, which d->u and d->s hold by elements of the part. */
static void keep(solver *d, subproblem *q)
{
    double lambda = d->problem->lambda;
    for (size_t i = 0; i < size_of(q); i++) {
        int32_t e = d->sequence[q->range.begin + i];
        d->out_u[e] = fmax(fmin(d->u[i], q->high / lambda), q->low / lambda);
        d->out_s[e] = d->s[i];
    }
    forget_points(q);
    if (d->problem->found) {
        d->done[d->done_count++] = *q;
    } else {
        submod_combination_free(&q->orders);
    }
}

/* Replaces what the part started from by the corral. */
static submod_status keep_orders(subproblem *q, const submodi_corral *c)
{
    submod_combination new;
    TRY(submodi_combination_alloc(c->n, c->count, &new));
    for (size_t k = 0; k < c->count; k++) {
        memcpy(new.orders + k * c->n, c->points[k].order, c->n * sizeof *new.orders);
        new.weights[k] = c->weights[k];
    }
    submodi_combination_move(&q->orders, &new);
    return SUBMOD_OK;
}

/* Prepares a run on a part, which may end with a division. */
static submod_status start_run(const solver *d, const subproblem *q,
                               const submodi_prox_problem *problem, submodi_projection *p,
                               submod_work *work)
{
    size_t n = size_of(q);
    TRY(submodi_projection_start(p, problem, d->info, work));
    p->w.deadline = d->deadline;
    p->allowance = d->allowance > 0 ? d->allowance * (double)n * pow(d->unit / p->w.sigma, 2) : 0;
    p->view.sequence = d->sequence;
    p->view.begin = q->range.begin;
    p->view.before = q->before;
    p->view.low = q->low;
    p->view.high = q->high;
    p->boundaries = submodi_work_alloc(work, n, sizeof *p->boundaries);
    return submodi_work_status(work);
}

/* One run on a part. Restricted to a part, points of the larger problem can be nearly dependent; if
 * a run fails with them, it is repeated without them. */
static submod_status run(solver *d, subproblem *q, const submodi_prox_problem *problem,
                         const submodi_start *from, submod_work *work)
{
    submodi_projection p;
    TRY(start_run(d, q, problem, &p, work));
    submod_status status = submodi_projection_run(&p, from);
    d->info->minor_cycles += p.w.corral.minor_cycles;
    if (status < 0 || p.boundary_count) {
        status = status < 0 ? status : divide(d, q, &p, work);
        clear(q);
        return status;
    }
    if (status == SUBMOD_INACCURATE && q->points) {
        submodi_free(q->points);
        q->points = NULL;
        return run(d, q, problem, &(submodi_start){0}, work);
    }
    d->outcome = status == SUBMOD_OK ? d->outcome : status;
    TRY(submodi_projection_finish(&p, d->u, d->s));
    if (d->problem->found) {
        TRY(keep_orders(q, &p.w.corral));
    }
    keep(d, q);
    return SUBMOD_OK;
}

/* Returns the points that a part starts from: those of the run that it comes from, or the
 * caller's. */
static submodi_start start_of(const solver *d, const subproblem *q)
{
    const submod_combination *from = q->points ? &q->orders : d->problem->settings->start;
    return from && from->n == size_of(q) ? (submodi_start){.count = from->count,
                                                           .orders = from->orders,
                                                           .weights = from->weights,
                                                           .points = q->points,
                                                           .known = q->known}
                                         : (submodi_start){0};
}

static submod_status solve_part(solver *d, subproblem *q)
{
    size_t n = size_of(q);
    submod_prox_settings settings = *d->problem->settings;
    submodi_prox_problem problem = *d->problem;
    if (n < d->n) {
        settings.tolerance /= 2;
    }
    for (size_t i = 0; i < n; i++) {
        d->x[i] = d->problem->x[d->sequence[q->range.begin + i]];
    }
    if (!q->fn) {
        TRY(submodi_fn_minor(d->problem->fn, d->sequence, q->range, &q->fn));
    }
    problem.x = d->x;
    problem.settings = &settings;
    problem.fn = q->fn;
    submodi_start from = start_of(d, q);
    submodi_scope scope;
    submod_work *work = submodi_scope_open(&scope, d->work);
    submod_status status = run(d, q, &problem, &from, work);
    submodi_scope_close(&scope);
    return status;
}

/* Ends a part at the time limit: its base is the weighted mean of the known points or, if all
 * weights are 0, the last point, which is known. u stays unchanged. */
static void give_up(solver *d, subproblem *q)
{
    size_t n = size_of(q);
    size_t count = q->orders.count;
    double *weights = q->orders.weights;
    double total = 0;
    for (size_t k = 0; k < count; k++) {
        weights[k] = q->known[k] ? weights[k] : 0;
        total += weights[k];
    }
    weights[count - 1] += total > 0 ? 0 : 1;
    total = total > 0 ? total : 1;
    memset(d->s, 0, n * sizeof *d->s);
    for (size_t k = 0; k < count; k++) {
        weights[k] /= total;
        for (size_t i = 0; weights[k] > 0 && i < n; i++) {
            d->s[i] += weights[k] * q->points[k * n + i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        d->u[i] = d->out_u[d->sequence[q->range.begin + i]];
    }
    keep(d, q);
}

/* ---- the bases of the parts side by side ----
 *
 * The weights of each part cover [0, 1]. Between two places where some part changes its order, the
 * orders side by side are one order of all elements, weighted by the distance. With c_j orders in
 * part j there are at most 1 + sum of (c_j - 1). */

typedef struct cursor {
    size_t k;    /* the present order of a part */
    double left; /* of that order's weight; the last order has no end */
} cursor;

static void step_to(cursor *at, const submod_combination *c, size_t k)
{
    at->k = k;
    at->left = k + 1 < c->count ? c->weights[k] : INFINITY;
}

/* Writes the present orders side by side; elements in no part stay where they are. */
static void write_order(const solver *d, const cursor *cursors, int32_t *order)
{
    memcpy(order, d->sequence, d->n * sizeof *order);
    for (size_t j = 0; j < d->done_count; j++) {
        const subproblem *q = &d->done[j];
        const int32_t *elements = d->sequence + q->range.begin;
        const int32_t *own = q->orders.orders + cursors[j].k * q->orders.n;
        for (size_t i = 0; i < q->orders.n; i++) {
            order[q->range.begin + i] = elements[own[i]];
        }
    }
}

/* Moves all cursors to the next change. Returns the distance. */
static double advance(const solver *d, cursor *cursors)
{
    double length = INFINITY;
    for (size_t j = 0; j < d->done_count; j++) {
        length = fmin(length, cursors[j].left);
    }
    for (size_t j = 0; j < d->done_count && length < INFINITY; j++) {
        cursors[j].left -= length;
        if (cursors[j].left <= 0) {
            step_to(&cursors[j], &d->done[j].orders, cursors[j].k + 1);
        }
    }
    return length;
}

static submod_status merge(const solver *d, submod_combination *to)
{
    size_t count = 1;
    submod_combination new;
    cursor *cursors = submodi_work_alloc(d->work, d->done_count, sizeof *cursors);
    TRY(submodi_work_status(d->work));
    for (size_t j = 0; j < d->done_count; j++) {
        step_to(&cursors[j], &d->done[j].orders, 0);
        count += d->done[j].orders.count - 1;
    }
    TRY(submodi_combination_alloc(d->n, count, &new));
    double rest = 1;
    double length = 0;
    for (new.count = 0; length < INFINITY; new.count++) {
        write_order(d, cursors, new.orders + new.count * d->n);
        length = advance(d, cursors);
        new.weights[new.count] = fmin(length, fmax(rest, 0));
        rest -= new.weights[new.count];
    }
    submodi_combination_move(to, &new);
    return SUBMOD_OK;
}

/* ---- the whole ---- */

/* A part has at least two elements, or all. */
static submod_status allocate(solver *d)
{
    size_t most = d->n / 2 + 1;
    d->sequence = submodi_work_alloc(d->work, d->n, sizeof *d->sequence);
    d->x = submodi_work_alloc(d->work, d->n, sizeof *d->x);
    d->u = submodi_work_alloc(d->work, d->n, sizeof *d->u);
    d->s = submodi_work_alloc(d->work, d->n, sizeof *d->s);
    d->open = submodi_work_alloc(d->work, most, sizeof *d->open);
    d->done = submodi_work_alloc(d->work, most, sizeof *d->done);
    return submodi_work_status(d->work);
}

static submod_status solve_parts(solver *d)
{
    while (d->open_count) {
        subproblem q = d->open[--d->open_count];
        if (d->outcome == SUBMOD_TIMELIMIT || d->outcome == SUBMOD_CANCELLED) {
            give_up(d, &q);
            continue;
        }
        submod_status status = solve_part(d, &q);
        if (status != SUBMOD_OK) {
            clear(&q);
            return status;
        }
    }
    return d->problem->found ? merge(d, d->problem->found) : SUBMOD_OK;
}

static submod_status solve(solver *d)
{
    TRY(allocate(d));
    submodi_ascending(d->sequence, d->n);
    d->open[d->open_count++] = (subproblem){.range = {0, d->n},
                                            .low = -INFINITY,
                                            .high = INFINITY,
                                            .fn = submod_fn_retain(d->problem->fn)};
    submod_status status = solve_parts(d);
    while (d->open_count) {
        clear(&d->open[--d->open_count]);
    }
    while (d->done_count) {
        clear(&d->done[--d->done_count]);
    }
    return status;
}

/* This method only needs greedy vectors of F. */
bool submodi_can_any(const submod_fn *fn)
{
    (void)fn;
    return true;
}

submod_status submodi_prox_min_norm(const submodi_prox_problem *problem, double *u, double *s,
                                    submod_prox_info *info, submod_work *work)
{
    submodi_scope scope;
    solver d = {.problem = problem,
                .info = info,
                .n = problem->fn->n,
                .deadline = submodi_deadline(problem->settings->time_limit),
                .out_u = u,
                .out_s = s};
    d.work = submodi_scope_open(&scope, work);
    submod_status status = solve(&d);
    submodi_scope_close(&scope);
    return status ? status : d.outcome;
}
