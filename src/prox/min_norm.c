/* Wolfe's method for the point of a polytope nearest to y = lambda x (Wolfe 1976),
 *
 *     min over p in conv(points) of |p - y|^2,   and with offsets   max <w, offset> - |p(w) -
 * y|^2/2
 *
 * where an oracle finds the point farthest in a direction: the greedy algorithm if the polytope is
 * the base polytope B(F) (Fujishige 1980; docs/mathematics.md, section 7), and a pass over all rows
 * if the points are the rows of a max-affine function.
 *
 * Major cycle: if the oracle's point for t = y - s lies beyond s, it joins the corral, and minor
 * cycles (corral.c) move s to the best point of the corral's hull. The objective grows strictly, so
 * no corral occurs twice and the method is finite; in the worst case it is exponential. It ends as
 * soon as the oracle finds the gap small enough.
 *
 * With k points in the corral a major cycle costs the oracle's call, O(k n + k^2), and a minor
 * cycle O(k^2). Memory: k n + k^2 numbers, at most three times over, k <= n + 1.
 *
 * Rounding: every step is computed from distances measured at s, so the next step corrects the
 * errors of the factor. The factor is computed again when a step falls short by more than
 * drift_allowed, or when steps make no progress any more. If even that does not help, the run ends
 * with SUBMOD_INACCURATE. If F is not submodular, it usually ends this way; but a fixed point of
 * the greedy rule looks optimal to a method that sees only chains. */
#include "prox/min_norm.h"

#include <float.h>
#include <math.h>

#include "base/linalg.h"
#include "base/sort.h"
#include "base/sums.h"

/* A step should make r equal over the corral. If more than this share of the difference is left,
 * the factor is bad. */
static const double drift_allowed = 1e-4;

enum {
    FAILURES = 3, /* a run ends after this many cycles in a row without progress, each followed by a
                     new factor */
    DEFAULT_ITERATIONS = 100000
};

static double squared_length(const double *x, size_t n)
{
    return submodi_sums()->dot(x, x, n);
}

/* ---- the loop ---- */

static void measure_t(submodi_wolfe *w)
{
    for (size_t i = 0; i < w->n; i++) {
        w->t[i] = w->y[i] - w->s[i];
    }
}

static submod_status add_point(submodi_wolfe *w, const submodi_candidate *new, double weight)
{
    bool added;
    TRY(submodi_corral_add(&w->corral, new, w->t, &added));
    if (added) {
        w->corral.weights[w->corral.count - 1] += weight;
    }
    return SUBMOD_OK;
}

/* Moves s from the points added so far, with their weights, to the best point of their hull. */
static void settle_first(submodi_wolfe *w)
{
    submodi_corral_combine(&w->corral, w->s);
    measure_t(w);
    submodi_corral_measure(&w->corral, w->t);
    submodi_corral_settle(&w->corral, w->s);
}

/* Returns twice the growth of the objective, computed from the changes so that it does not
 * cancel. */
static double progress(const submodi_wolfe *w, double previous_offset)
{
    double sum = 2 * submodi_corral_mean_offset(&w->corral, previous_offset);
    for (size_t i = 0; i < w->n; i++) {
        sum += (w->s[i] - w->previous[i]) * (w->t[i] + (w->y[i] - w->s[i]));
    }
    return sum;
}

/* Computes the factor again if the last step fell short and the last renewal is long enough ago: a
 * new factor costs about as much as one cycle per point. */
static submod_status renew_after_drift(submodi_wolfe *w)
{
    submodi_corral *c = &w->corral;
    bool drifted = c->spread > drift_allowed * w->levelled + w->noise;
    if (!drifted || w->info->iterations < w->next_renewal) {
        return SUBMOD_OK;
    }
    w->next_renewal = w->info->iterations + c->count;
    return submodi_corral_renew(c, w->t) ? SUBMOD_OK : SUBMOD_INACCURATE;
}

/* Adds the oracle's point and settles. *stuck: the objective did not grow. */
static submod_status major_cycle(submodi_wolfe *w, bool *stuck)
{
    bool added = false;
    double offset = submodi_corral_mean_offset(&w->corral, 0);
    *stuck = true;
    if (w->improves > w->noise) {
        TRY(submodi_corral_add(&w->corral, &w->best, w->t, &added));
    }
    if (added) {
        TRY(renew_after_drift(w));
        w->levelled = w->improves;
        memcpy(w->previous, w->s, w->n * sizeof *w->s);
        submodi_corral_settle(&w->corral, w->s);
        *stuck = !(progress(w, offset) > 0);
    }
    return SUBMOD_OK;
}

/* Repeats the step with a new factor. */
static submod_status try_new_factor(submodi_wolfe *w)
{
    measure_t(w);
    if (!submodi_corral_renew(&w->corral, w->t)) {
        return SUBMOD_INACCURATE;
    }
    submodi_corral_settle(&w->corral, w->s);
    return SUBMOD_OK;
}

static submod_status run(submodi_wolfe *w)
{
    for (unsigned failures = 0;;) {
        bool done = false;
        bool stuck;
        measure_t(w);
        TRY(w->oracle(w, &done));
        if (done) {
            return SUBMOD_OK;
        }
        TRY(major_cycle(w, &stuck));
        failures = stuck ? failures + 1 : 0;
        if (failures == FAILURES) {
            return SUBMOD_INACCURATE;
        }
        if (stuck) {
            TRY(try_new_factor(w));
        }
    }
}

static void allocate_loop(submodi_wolfe *w)
{
    w->y = submodi_work_alloc(w->work, w->n, sizeof *w->y);
    w->s = submodi_work_alloc(w->work, w->n, sizeof *w->s);
    w->t = submodi_work_alloc(w->work, w->n, sizeof *w->t);
    w->previous = submodi_work_alloc(w->work, w->n, sizeof *w->previous);
}

/* ---- the greedy algorithm as oracle ---- */

static submod_status allocate(submodi_projection *p)
{
    size_t n = p->w.n;
    submod_work *work = p->w.work;
    double **vectors[] = {&p->vertex, &p->best_t, &p->best_g, &p->gains, &p->fit};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        *vectors[i] = submodi_work_alloc(work, n, sizeof **vectors[i]);
    }
    allocate_loop(&p->w);
    p->order = submodi_work_alloc(work, n, sizeof *p->order);
    p->state = submodi_work_alloc(work, submodi_fn_state_size(p->problem->fn), 1);
    p->pools = submodi_work_alloc(work, n, sizeof *p->pools);
    return submodi_work_status(work);
}

/* p->order = the elements by descending key. */
static submod_status sort(submodi_projection *p, const double *key)
{
    submodi_scope scope;
    submodi_sorted sorted;
    submod_work *work = submodi_scope_open(&scope, p->w.work);
    submod_status status = submodi_sort_f64(key, p->w.n, work, &sorted);
    for (size_t i = 0; status == SUBMOD_OK && i < p->w.n; i++) {
        p->order[i] = submodi_sorted_index(&sorted, i);
    }
    submodi_scope_close(&scope);
    return status == SUBMOD_OK ? SUBMOD_OK : submodi_out_of_memory();
}

/* Computes the gains along order, in F's own units. */
static submod_status chain(submodi_projection *p, const int32_t *order)
{
    const submod_fn *fn = p->problem->fn;
    p->w.info->oracle_calls++;
    if (!p->fresh) {
        return submodi_fn_greedy(fn, p->state, order, p->gains);
    }
    memcpy(p->state, p->fresh, submodi_fn_state_size(fn));
    return submodi_fn_chain(fn, p->state, order, p->w.n, p->gains);
}

/* Divides the gains by sigma and writes them to vertex, by element. */
static submod_status to_vertex(submodi_projection *p, const int32_t *order, double *vertex)
{
    double scale = 1 / p->w.sigma;
    for (size_t i = 0; i < p->w.n; i++) {
        p->gains[i] *= scale;
        vertex[order[i]] = p->gains[i];
    }
    double length = squared_length(p->gains, p->w.n);
    if (!(length <= 0x1p900)) { /* some gain is about 2^450 sigma */
        return submodi_fail(SUBMOD_ENUMERIC, "the gains of F differ too much in size");
    }
    p->largest = fmax(p->largest, length);
    return SUBMOD_OK;
}

/* The best t that falls along the order, where f is linear, is the isotonic regression of y -
 * gains. Keeps it if it is better than the best point so far. */
static void improve_primal(submodi_projection *p)
{
    const submodi_sums_loops *sums = submodi_sums();
    const submodi_wolfe *w = &p->w;
    size_t n = w->n;
    double *fit = p->gains; /* by element; the gains are no longer needed there */
    for (size_t i = 0; i < n; i++) {
        p->fit[i] = w->y[p->order[i]];
    }
    submodi_isotonic(n, p->fit, p->gains, 1, p->pools, p->fit, p->gains);
    for (size_t i = 0; i < n; i++) {
        fit[p->order[i]] = p->fit[i];
    }
    double gap =
        sums->difference_dot(p->vertex, w->s, fit, n) + sums->squared_distance(fit, w->t, n) / 2;
    if (!isinf(p->gap)) { /* that of the best point so far, with the present s */
        p->gap = sums->difference_dot(p->best_g, w->s, p->best_t, n) +
                 sums->squared_distance(p->best_t, w->t, n) / 2;
    }
    if (gap < p->gap) {
        p->gap = gap;
        memcpy(p->best_t, fit, n * sizeof *fit);
        memcpy(p->best_g, p->vertex, n * sizeof *p->best_g);
    }
}

static void measure_vertex(submodi_projection *p)
{
    submodi_wolfe *w = &p->w;
    w->best = (submodi_candidate){.point = p->vertex, .order = p->order};
    w->improves = submodi_sums()->difference_dot(p->vertex, w->s, w->t, w->n);
    w->noise = 2 * DBL_EPSILON * submodi_sums()->sizes_dot(p->vertex, w->s, w->t, w->n);
}

/* Compares the gap with the terms that it is the difference of, plus the rounding errors of s, a
 * mean of greedy vectors. These errors matter when y and s are both zero. */
static bool close_enough(const submodi_projection *p)
{
    double size = (squared_length(p->w.y, p->w.n) + squared_length(p->w.s, p->w.n)) / 2;
    double rounding = 64 * DBL_EPSILON * DBL_EPSILON * p->largest;
    return fabs(p->gap) <= p->problem->settings->tolerance * size + p->allowance + rounding;
}

static bool caller_has_enough(submodi_projection *p)
{
    p->view.n = p->w.n;
    p->view.order = p->order;
    p->view.gains = p->gains;
    p->view.s = p->w.s;
    p->view.sigma = p->w.sigma;
    return p->problem->enough && p->problem->enough(p->problem->enough_ctx, &p->view);
}

/* Whether enough of the problem comes apart. */
static bool comes_apart(submodi_projection *p)
{
    size_t n = p->w.n;
    size_t count = p->boundaries ? submodi_find_boundaries(p, p->boundaries) : 0;
    size_t largest = 0;
    for (size_t j = 0; j <= count; j++) {
        size_t begin = j ? p->boundaries[j - 1].size : 0;
        size_t end = j < count ? p->boundaries[j].size : n;
        largest = end - begin > largest ? end - begin : largest;
    }
    p->boundary_count = largest <= n - n / 8 ? count : 0;
    return p->boundary_count > 0;
}

/* Finds the greedy vector for t and the best primal point of its order; decides whether to end. */
static submod_status greedy_oracle(submodi_wolfe *w, bool *done)
{
    submodi_projection *p = (submodi_projection *)w;
    const submod_prox_settings *settings = p->problem->settings;
    size_t limit = settings->max_iterations ? settings->max_iterations : DEFAULT_ITERATIONS;
    TRY(sort(p, w->t));
    TRY(chain(p, p->order));
    TRY(to_vertex(p, p->order, p->vertex));
    measure_vertex(p);
    bool enough = caller_has_enough(p);
    improve_primal(p);
    submodi_tell_progress(settings, w->info->iterations,
                          p->gap * w->sigma * (w->sigma / p->problem->lambda));
    *done = enough || close_enough(p);
    if (*done) {
        return SUBMOD_OK;
    }
    if (w->info->iterations >= limit) {
        return SUBMOD_MAXITER;
    }
    TRY(submodi_stop(p->deadline));
    w->info->iterations++;
    *done = comes_apart(p);
    return SUBMOD_OK;
}

/* Sets sigma from the gains along the first order and y, and converts y. */
static submod_status choose_units(submodi_projection *p)
{
    submodi_wolfe *w = &p->w;
    double gain = submodi_largest(p->gains, w->n);
    double largest = fmax(gain, submodi_largest(w->y, w->n));
    if (gain > 0 && gain / largest < 0x1p-1010) { /* in these units s would be 0, no base */
        return submodi_fail(SUBMOD_ENUMERIC, "lambda x is too large for the gains of F");
    }
    int exponent = 0;
    frexp(largest, &exponent);
    exponent = exponent < -1000  ? -1000
               : exponent > 1000 ? 1000
                                 : exponent; /* 1 / sigma is finite */
    w->sigma = ldexp(1, exponent);
    for (size_t i = 0; i < w->n; i++) {
        w->y[i] /= w->sigma;
    }
    return SUBMOD_OK;
}

submod_status submodi_projection_start(submodi_projection *p, const submodi_prox_problem *problem,
                                       submod_prox_info *info, submod_work *work)
{
    const submod_fn *fn = problem->fn;
    *p = (submodi_projection){
        .w = {.n = fn->n, .sigma = 1, .oracle = greedy_oracle, .info = info, .work = work},
        .problem = problem,
        .gap = INFINITY,
        .deadline = submodi_deadline(problem->settings->time_limit),
        .view = {.low = -INFINITY, .high = INFINITY}};
    TRY(allocate(p));
    for (size_t i = 0; i < fn->n; i++) {
        p->w.y[i] = problem->lambda * problem->x[i];
    }
    if (!submodi_all_finite(p->w.y, fn->n)) {
        return submodi_fail(SUBMOD_ENUMERIC, "lambda x overflows");
    }
    if (fn->based) {
        p->fresh = submodi_work_alloc(work, submodi_fn_state_size(fn), 1);
        TRY(submodi_work_status(work));
        TRY(submodi_fn_reset(fn, p->fresh));
    }
    TRY(sort(p, p->w.y));
    TRY(chain(p, p->order));
    TRY(choose_units(p));
    return to_vertex(p, p->order, p->w.s);
}

/* Computes the greedy vector of start k, by element, in p->vertex. */
static submod_status find_point(submodi_projection *p, const submodi_start *from, size_t k)
{
    const int32_t *order = from->orders + k * p->w.n;
    if (!from->known || !from->known[k]) {
        TRY(chain(p, order));
        return to_vertex(p, order, p->vertex);
    }
    for (size_t i = 0; i < p->w.n; i++) {
        p->vertex[i] = from->points[k * p->w.n + i] / p->w.sigma;
    }
    return SUBMOD_OK;
}

/* Adds the points that are independent, as far as limits allow. */
static submod_status add_starts(submodi_projection *p, const submodi_start *from)
{
    for (size_t k = 0; k < from->count; k++) {
        if (p->w.corral.count > 0 && submodi_stop(p->deadline) != SUBMOD_OK) {
            break;
        }
        if (from->weights[k] > 0 || (from->known && from->known[k])) {
            TRY(find_point(p, from, k));
            TRY(add_point(
                &p->w, &(submodi_candidate){.point = p->vertex, .order = from->orders + k * p->w.n},
                from->weights[k]));
        }
    }
    return SUBMOD_OK;
}

submod_status submodi_projection_run(submodi_projection *p, const submodi_start *from)
{
    submodi_wolfe *w = &p->w;
    TRY(submodi_corral_init(&w->corral, w->n, w->s, true, w->work));
    measure_t(w);
    if (from->count) {
        TRY(add_starts(p, from));
    } else {
        TRY(add_point(w, &(submodi_candidate){.point = w->s, .order = p->order}, 1));
    }
    settle_first(w);
    return run(w);
}

submod_status submodi_projection_finish(const submodi_projection *p, double *u, double *s)
{
    size_t n = p->w.n;
    double scale = p->w.sigma / p->problem->lambda;
    for (size_t i = 0; i < n; i++) {
        u[i] = p->best_t[i] * scale;
        s[i] = p->w.s[i] * p->w.sigma;
    }
    return submodi_all_finite(u, n) && submodi_all_finite(s, n)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "s / lambda overflows");
}

/* ---- the rows of a max-affine function as oracle ----
 *
 *     min over u of  max_j (<a_j, u> + b_j) + lambda/2 |u - x|^2
 *     = max over w in the simplex of  <w, A x + b> - |A' w|^2 / (2 lambda),   u = x - A' w /
 * lambda.
 *
 * With s = A' w the derivative by w_j is the height <a_j, u> + b_j of row j at u. In units of
 * sigma, a power of two about the largest |a_ji|: points a_j / sigma, y = lambda x / sigma, offsets
 * lambda b_j / sigma^2. */

typedef struct max_affine {
    submodi_wolfe w; /* first: the oracle gets its address */
    size_t m, limit;
    const double *a, *b, *x;
    double lambda;
    double *row;     /* one row / sigma */
    double *offsets; /* lambda b / sigma^2 */
    double *heights; /* <a_j, t> / sigma + offset_j */
    double reach; /* sum over i of c_i (|y_i| + c_i), c_i = max_j |a_ji| / sigma: bounds <a_j, t> */
} max_affine;

/* Returns a b 2^exponent, where a b alone might overflow or vanish. */
static double scaled_product(double a, double b, int exponent)
{
    int of_a = 0;
    int of_b = 0;
    double mantissa = frexp(a, &of_a) * frexp(b, &of_b);
    return ldexp(mantissa, of_a + of_b + exponent);
}

static void measure_reach(max_affine *p)
{
    for (size_t i = 0; i < p->w.n; i++) {
        double c = 0;
        for (size_t j = 0; j < p->m; j++) {
            c = fmax(c, fabs(p->a[j * p->w.n + i]) / p->w.sigma);
        }
        p->reach += c * (fabs(p->w.y[i]) + c);
    }
}

/* Chooses sigma and converts the problem to its units. */
static submod_status scale_rows(max_affine *p)
{
    size_t n = p->w.n;
    double largest = submodi_largest(p->a, p->m * n);
    int exponent = 0;
    frexp(largest, &exponent);
    exponent = exponent < -1000 ? -1000 : exponent > 500 ? 500 : exponent;
    p->w.sigma = ldexp(1, exponent);
    for (size_t i = 0; i < n; i++) {
        p->w.y[i] = scaled_product(p->lambda, p->x[i], -exponent);
    }
    for (size_t j = 0; j < p->m; j++) {
        p->offsets[j] = scaled_product(p->lambda, p->b[j], -2 * exponent);
    }
    measure_reach(p);
    double size = submodi_largest(p->w.y, n) * (double)n + submodi_largest(p->offsets, p->m);
    return isfinite(size) && largest / p->w.sigma <= 0x1p400
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "lambda x, lambda b or a is too large");
}

static submodi_candidate candidate(const max_affine *p, size_t j)
{
    for (size_t i = 0; i < p->w.n; i++) {
        p->row[i] = p->a[j * p->w.n + i] / p->w.sigma;
    }
    return (submodi_candidate){.point = p->row, .offset = p->offsets[j], .tag = j};
}

/* Computes the heights at t. Returns the highest row. */
static size_t find_highest(const max_affine *p)
{
    const submodi_wolfe *w = &p->w;
    size_t highest = 0;
    submodi_matvec(p->a, p->m, w->n, w->t, p->heights);
    for (size_t j = 0; j < p->m; j++) {
        p->heights[j] = p->heights[j] / w->sigma + p->offsets[j];
    }
    for (size_t j = 1; j < p->m; j++) {
        highest = p->heights[j] > p->heights[highest] ? j : highest;
    }
    return highest;
}

/* Finds the highest row, and how far it is above the mean of the corral. */
static submod_status row_oracle(submodi_wolfe *w, bool *done)
{
    max_affine *p = (max_affine *)w;
    const submodi_corral *c = &w->corral;
    size_t highest = find_highest(p);
    double size = p->reach + fabs(p->offsets[highest]);
    double mean = 0;
    for (size_t j = 0; j < c->count; j++) {
        size_t row = c->tags[c->slots[j]];
        mean += c->weights[j] * p->heights[row];
        size += c->weights[j] * fabs(p->offsets[row]);
    }
    w->best = candidate(p, highest);
    w->improves = p->heights[highest] - mean;
    w->noise = 4 * DBL_EPSILON * size;
    w->info->oracle_calls++;
    *done = w->improves <= w->noise;
    if (*done) {
        return SUBMOD_OK;
    }
    if (w->info->iterations == p->limit) {
        return SUBMOD_MAXITER;
    }
    TRY(submodi_stop(INFINITY));
    w->info->iterations++;
    return SUBMOD_OK;
}

/* Starts with the weights given, or with the row that is highest at x. */
static submod_status start_rows(max_affine *p, const double *weights)
{
    submodi_wolfe *w = &p->w;
    memset(w->s, 0, w->n * sizeof *w->s);
    measure_t(w);
    submodi_candidate first = candidate(p, find_highest(p));
    TRY(submodi_corral_init(&w->corral, w->n, first.point, false, w->work));
    for (size_t j = 0; weights && j < p->m; j++) {
        if (weights[j] > 0) {
            submodi_candidate given = candidate(p, j);
            TRY(add_point(w, &given, weights[j]));
        }
    }
    if (w->corral.count == 0) {
        TRY(add_point(w, &first, 1));
    }
    settle_first(w);
    return SUBMOD_OK;
}

/* Writes u, the weights, and primal, dual and gap in the caller's units. */
static submod_status report_rows(const max_affine *p, double *u, double *weights,
                                 submod_prox_info *info)
{
    const submodi_wolfe *w = &p->w;
    double per = w->sigma / p->lambda;
    double highest = -INFINITY;
    double mean = 0;
    double distance = 0;
    memset(weights, 0, p->m * sizeof *weights);
    for (size_t j = 0; j < w->corral.count; j++) {
        weights[w->corral.tags[w->corral.slots[j]]] = w->corral.weights[j];
    }
    for (size_t i = 0; i < w->n; i++) {
        u[i] = p->x[i] - w->s[i] * per;
        distance += p->lambda * (w->s[i] * per) * (w->s[i] * per);
    }
    submodi_matvec(p->a, p->m, w->n, u, p->heights);
    for (size_t j = 0; j < p->m; j++) {
        double height = p->heights[j] + p->b[j];
        highest = fmax(highest, height);
        mean += weights[j] > 0 ? weights[j] * height : 0;
    }
    info->primal = highest + distance / 2;
    info->gap = highest - mean;
    info->dual = info->primal - info->gap;
    info->minor_cycles = w->corral.minor_cycles;
    return submodi_all_finite(u, w->n) && isfinite(info->primal) && isfinite(info->gap)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "u or the objective overflows");
}

static submod_status solve_rows(max_affine *p, double *u, double *weights)
{
    submodi_wolfe *w = &p->w;
    submod_work *work = w->work;
    allocate_loop(w);
    p->row = submodi_work_alloc(work, w->n, sizeof *p->row);
    p->offsets = submodi_work_alloc(work, p->m, sizeof *p->offsets);
    p->heights = submodi_work_alloc(work, p->m, sizeof *p->heights);
    double *own_u = u ? u : submodi_work_alloc(work, w->n, sizeof *u);
    double *own_weights = weights ? weights : submodi_work_alloc(work, p->m, sizeof *weights);
    TRY(submodi_work_status(work));
    TRY(scale_rows(p));
    TRY(start_rows(p, weights));
    submod_status outcome = run(w);
    /* Little progress is left where the gap is within some hundred rounding errors. */
    bool close = outcome == SUBMOD_INACCURATE && w->improves <= 1e3 * w->noise;
    submod_status status = outcome < 0 ? outcome : report_rows(p, own_u, own_weights, w->info);
    return status ? status : close ? SUBMOD_OK : outcome;
}

static submod_status check_rows(const max_affine *p, const double *weights)
{
    size_t n = p->w.n;
    if (!p->m || !n || !p->a || !p->b || !p->x) {
        return submodi_fail(SUBMOD_EINVAL, "m and n must be > 0, a, b and x not NULL");
    }
    if (p->m > SIZE_MAX / sizeof(double) / n || n > INT32_MAX) {
        return submodi_fail(SUBMOD_EINVAL, "m * n is too large");
    }
    TRY(submodi_check_positive("lambda", p->lambda));
    TRY(submodi_check_finite("a", p->a, p->m * n));
    TRY(submodi_check_finite("b", p->b, p->m));
    TRY(submodi_check_finite("x", p->x, n));
    return weights ? submodi_check_all_nonnegative("weights", weights, p->m) : SUBMOD_OK;
}

submod_status submod_prox_max_affine(size_t m, size_t n, const double *a, const double *b,
                                     const double *x, double lambda, double *u, double *weights,
                                     submod_prox_info *info, submod_work *work)
{
    submod_prox_info found = {0};
    max_affine p = {.w = {.n = n, .oracle = row_oracle, .info = &found},
                    .m = m,
                    .limit = 1000 + 100 * (m < n ? m : n),
                    .a = a,
                    .b = b,
                    .x = x,
                    .lambda = lambda};
    double begin = submodi_seconds();
    submod_status status = check_rows(&p, weights);
    if (status == SUBMOD_OK) {
        submodi_scope scope;
        p.w.work = submodi_scope_open(&scope, work);
        status = solve_rows(&p, u, weights);
        submodi_scope_close(&scope);
    }
    if (status >= 0) {
        found.seconds = submodi_seconds() - begin;
        submodi_copy_out(info, &found, 1, sizeof *info);
    }
    return submodi_return("submod_prox_max_affine", status);
}
