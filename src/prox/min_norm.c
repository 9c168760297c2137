/* Wolfe's loop over the corral (docs/mathematics.md, section 7) with two oracles for the point
 * farthest in a direction: the greedy algorithm on the base polytope B(F) (Fujishige 1980), and a
 * pass over the rows of a max-affine function. With k points a major cycle costs the oracle's call
 * and O(k n + k^2). If F is not submodular, a run usually ends with SUBMOD_INACCURATE, but not at a
 * fixed point of the greedy rule, which chains alone cannot distinguish from an optimum. */
#include "prox/min_norm.h"

#include <float.h>
#include <math.h>

#include "base/linalg.h"
#include "base/sums.h"

/* A step should make r equal over the corral. If more than this share of the differences remains,
 * the factor is inaccurate. */
static const double drift_allowed = 1e-4;

/* A run ends after this many cycles in a row without progress, each followed by a new factor. */
enum { FAILURES = 3, DEFAULT_ITERATIONS = 100000 };

static double squared_length(const double *x, size_t n)
{
    return submodi_sums()->dot(x, x, n);
}

/* Returns a b 2^exponent, where a b alone might overflow or vanish. */
static double scaled_product(double a, double b, int exponent)
{
    int of_a = 0;
    int of_b = 0;
    double mantissa = frexp(a, &of_a) * frexp(b, &of_b);
    return ldexp(mantissa, of_a + of_b + exponent);
}

/* Sets sigma to a power of two about x, at most 2^most; 1 / sigma is finite. Returns its exponent.
 */
static int choose_sigma(submodi_wolfe *w, double x, int most)
{
    int exponent = 0;
    frexp(x, &exponent);
    exponent = exponent < -1000 ? -1000 : exponent > most ? most : exponent;
    w->sigma = ldexp(1, exponent);
    return exponent;
}

/* ---- the loop ---- */

/* Adds the oracle's point and settles. *levelled: the difference in r that the step has to remove.
 * If the previous step fell short, computes the factor again, at most once in k cycles for k
 * points, because it costs about as much as k cycles. */
static submod_status major_cycle(submodi_wolfe *w, double *levelled, size_t *renew_at, bool *grew)
{
    submodi_corral *c = &w->corral;
    bool added = false;
    if (w->improves > w->noise) {
        TRY(submodi_corral_add(c, &w->best, 0, &added));
    }
    if (!added) {
        return SUBMOD_OK;
    }
    if (c->spread > drift_allowed * *levelled + w->noise && w->info->iterations >= *renew_at) {
        *renew_at = w->info->iterations + c->count;
        TRY(submodi_corral_renew(c));
    }
    *levelled = w->improves;
    *grew = submodi_corral_settle(c) > 0;
    return SUBMOD_OK;
}

/* Runs from the points added so far. Each cycle without progress is repeated with a new factor. */
static submod_status run(submodi_wolfe *w)
{
    double levelled = 0;
    size_t renew_at = 0;
    submodi_corral_settle_weights(&w->corral);
    for (unsigned failures = 0;;) {
        bool done = false;
        bool grew = false;
        TRY(w->oracle(w, &done));
        if (done) {
            return SUBMOD_OK;
        }
        if (w->info->iterations >= w->limit) {
            return SUBMOD_MAXITER;
        }
        TRY(submodi_stop(w->deadline));
        w->info->iterations++;
        TRY(major_cycle(w, &levelled, &renew_at, &grew));
        failures = grew ? 0 : failures + 1;
        if (failures == FAILURES) {
            return SUBMOD_INACCURATE;
        }
        if (!grew) {
            TRY(submodi_corral_renew(&w->corral));
            submodi_corral_settle(&w->corral);
        }
    }
}

/* ---- the greedy algorithm as oracle ---- */

/* Computes the gains along order, in F's own units. */
static submod_status chain(submodi_projection *p, const int32_t *order)
{
    const submod_fn *fn = p->problem->fn;
    p->w.info->oracle_calls++;
    if (!p->fresh) {
        return submodi_fn_greedy(fn, p->state, order, p->gains);
    }
    memcpy(p->state, p->fresh, submodi_fn_state_size(fn));
    return submodi_fn_chain(fn, p->state, order, fn->n, p->gains);
}

/* Divides the gains by sigma and writes them to vertex, by element. */
static submod_status to_vertex(submodi_projection *p, const int32_t *order)
{
    size_t n = p->problem->fn->n;
    double scale = 1 / p->w.sigma;
    for (size_t i = 0; i < n; i++) {
        p->gains[i] *= scale;
        p->vertex[order[i]] = p->gains[i];
    }
    double length = squared_length(p->gains, n);
    p->largest = fmax(p->largest, length);
    return length <= 0x1p900 /* else some gain is about 2^450 sigma */
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "the gains of F differ too much in size");
}

/* The gap of t, whose greedy vector is g, and the present s. */
static double gap_of(const submodi_projection *p, const double *g, const double *t)
{
    const submodi_corral *c = &p->w.corral;
    return submodi_sums()->difference_dot(g, c->s, t, c->n) +
           submodi_sums()->squared_distance(t, c->t, c->n) / 2;
}

/* Improves the primal point. f is linear where t falls along the order, so the best such t is the
 * isotonic regression of y - gains. Keeps it if it beats the best point so far. */
static void improve_primal(submodi_projection *p)
{
    size_t n = p->w.corral.n;
    double *fit = p->gains; /* by element; the gains are no longer needed there */
    for (size_t i = 0; i < n; i++) {
        p->fit[i] = p->w.y[p->order[i]];
    }
    submodi_isotonic(n, p->fit, p->gains, 1, p->pools, p->fit, p->gains);
    for (size_t i = 0; i < n; i++) {
        fit[p->order[i]] = p->fit[i];
    }
    double gap = gap_of(p, p->vertex, fit);
    p->gap = isinf(p->gap) ? p->gap : gap_of(p, p->best_g, p->best_t); /* with the present s */
    if (gap < p->gap) {
        p->gap = gap;
        memcpy(p->best_t, fit, n * sizeof *fit);
        memcpy(p->best_g, p->vertex, n * sizeof *p->best_g);
    }
}

/* Compares the gap with the size of its terms plus the rounding errors of s, a mean of greedy
 * vectors. These errors matter when y and s are both zero. */
static bool close_enough(const submodi_projection *p)
{
    const submodi_corral *c = &p->w.corral;
    double size = (squared_length(c->y, c->n) + squared_length(c->s, c->n)) / 2;
    double rounding = 64 * DBL_EPSILON * DBL_EPSILON * p->largest;
    return fabs(p->gap) <= p->problem->settings->tolerance * size + p->allowance + rounding;
}

/* Returns whether the problem comes apart into parts of at most 7/8 of its size. */
static bool comes_apart(submodi_projection *p)
{
    size_t n = p->w.corral.n;
    size_t count = p->boundaries ? submodi_find_boundaries(p, p->boundaries) : 0;
    size_t begin = 0;
    size_t largest = 0;
    for (size_t j = 0; j <= count; j++) {
        size_t end = j < count ? p->boundaries[j].size : n;
        largest = end - begin > largest ? end - begin : largest;
        begin = end;
    }
    p->boundary_count = largest <= n - n / 8 ? count : 0;
    return p->boundary_count > 0;
}

/* Finds the greedy vector for t and the best primal point of its order; decides whether to end. */
static submod_status greedy_oracle(submodi_wolfe *w, bool *done)
{
    submodi_projection *p = (submodi_projection *)w;
    const submodi_corral *c = &w->corral;
    TRY(submod_argsort(c->t, c->n, p->order, w->work));
    TRY(chain(p, p->order));
    TRY(to_vertex(p, p->order));
    w->best = (submodi_candidate){.point = p->vertex, .scale = 1, .order = p->order};
    w->improves = submodi_sums()->difference_dot(p->vertex, c->s, c->t, c->n);
    w->noise = 2 * DBL_EPSILON * submodi_sums()->sizes_dot(p->vertex, c->s, c->t, c->n);
    bool enough = p->problem->enough && p->problem->enough(p->problem->enough_ctx, &p->view);
    improve_primal(p);
    submodi_tell_progress(p->problem->settings, w->info->iterations,
                          p->gap * w->sigma * (w->sigma / p->problem->lambda));
    *done = enough || close_enough(p);
    if (!*done && w->info->iterations < w->limit && comes_apart(p)) {
        w->info->iterations++;
        *done = true;
    }
    return SUBMOD_OK;
}

submod_status submodi_projection_start(submodi_projection *p, const submodi_prox_problem *problem,
                                       submod_prox_info *info, submod_work *work)
{
    const submod_fn *fn = problem->fn;
    size_t n = fn->n;
    size_t limit = problem->settings->max_iterations;
    *p = (submodi_projection){.w = {.sigma = 1,
                                    .oracle = greedy_oracle,
                                    .limit = limit ? limit : DEFAULT_ITERATIONS,
                                    .deadline = submodi_deadline(problem->settings->time_limit),
                                    .info = info,
                                    .work = work},
                              .problem = problem,
                              .gap = INFINITY};
    submodi_take_vectors(
        work, n,
        (double **[]){&p->w.y, &p->vertex, &p->best_t, &p->best_g, &p->gains, &p->fit, NULL});
    p->order = submodi_work_alloc(work, n, sizeof *p->order);
    p->state = submodi_work_alloc(work, submodi_fn_state_size(fn), 1);
    p->fresh = fn->based ? submodi_work_alloc(work, submodi_fn_state_size(fn), 1) : NULL;
    p->pools = submodi_work_alloc(work, n, sizeof *p->pools);
    TRY(submodi_work_status(work));
    for (size_t i = 0; i < n; i++) {
        p->w.y[i] = problem->lambda * problem->x[i];
    }
    if (!submodi_all_finite(p->w.y, n)) {
        return submodi_fail(SUBMOD_ENUMERIC, "lambda x overflows");
    }
    if (p->fresh) {
        TRY(submodi_fn_reset(fn, p->fresh));
    }
    TRY(submod_argsort(p->w.y, n, p->order, work));
    TRY(chain(p, p->order));
    double gain = submodi_largest(p->gains, n);
    double largest = fmax(gain, submodi_largest(p->w.y, n));
    if (gain > 0 && gain / largest < 0x1p-1010) { /* in these units s would be 0, no base */
        return submodi_fail(SUBMOD_ENUMERIC, "lambda x is too large for the gains of F");
    }
    choose_sigma(&p->w, largest, 1000);
    for (size_t i = 0; i < n; i++) {
        p->w.y[i] /= p->w.sigma;
    }
    TRY(to_vertex(p, p->order));
    p->w.best = (submodi_candidate){.point = p->vertex, .scale = 1, .order = p->order};
    TRY(submodi_corral_init(&p->w.corral, n, p->w.y, &p->w.best, work));
    p->view = (submodi_view){.n = n,
                             .s = p->w.corral.s,
                             .order = p->order,
                             .gains = p->gains,
                             .sigma = p->w.sigma,
                             .low = -INFINITY,
                             .high = INFINITY};
    return SUBMOD_OK;
}

/* Adds the points that are independent, as far as limits allow. */
static submod_status add_starts(submodi_projection *p, const submodi_start *from)
{
    submodi_corral *c = &p->w.corral;
    for (size_t k = 0; k < from->count; k++) {
        bool added;
        submodi_candidate start = {
            .point = p->vertex, .scale = 1, .order = from->orders + k * c->n};
        if (c->count > 0 && submodi_stop(p->w.deadline) != SUBMOD_OK) {
            break;
        }
        if (from->known && from->known[k]) {
            start.point = from->points + k * c->n;
            start.scale = 1 / p->w.sigma;
        } else if (from->weights[k] > 0) {
            TRY(chain(p, start.order));
            TRY(to_vertex(p, start.order));
        } else {
            continue;
        }
        TRY(submodi_corral_add(c, &start, from->weights[k], &added));
    }
    return SUBMOD_OK;
}

submod_status submodi_projection_run(submodi_projection *p, const submodi_start *from)
{
    bool added;
    TRY(from->count ? add_starts(p, from)
                    : submodi_corral_add(&p->w.corral, &p->w.best, 1, &added));
    return run(&p->w);
}

submod_status submodi_projection_finish(const submodi_projection *p, double *u, double *s)
{
    size_t n = p->w.corral.n;
    double scale = p->w.sigma / p->problem->lambda;
    for (size_t i = 0; i < n; i++) {
        u[i] = p->best_t[i] * scale;
        s[i] = p->w.corral.s[i] * p->w.sigma;
    }
    return submodi_all_finite(u, n) && submodi_all_finite(s, n)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "s / lambda overflows");
}

/* ---- the rows of a max-affine function as oracle ----
 *
 * The dual of docs/mathematics.md, section 7, with s = A' w: its derivative by w_j is the height
 * <a_j, u> + b_j of row j. In units of sigma, a power of two about the largest |a_ji|: points
 * a_j / sigma, y = lambda x / sigma, offsets lambda b_j / sigma^2. */

typedef struct max_affine {
    submodi_wolfe w; /* first: the oracle gets its address */
    size_t m, n;
    const double *a, *b, *x;
    double lambda;
    double *offsets; /* lambda b / sigma^2 */
    double *heights; /* <a_j, t> / sigma + offset_j */
    double reach; /* sum over i of c_i (|y_i| + c_i), c_i = max_j |a_ji| / sigma: bounds <a_j, t> */
} max_affine;

/* Chooses sigma and converts the problem to its units. */
static submod_status scale_rows(max_affine *p)
{
    double largest = submodi_largest(p->a, p->m * p->n);
    int exponent = choose_sigma(&p->w, largest, 500);
    for (size_t j = 0; j < p->m; j++) {
        p->offsets[j] = scaled_product(p->lambda, p->b[j], -2 * exponent);
    }
    for (size_t i = 0; i < p->n; i++) {
        double c = 0;
        p->w.y[i] = scaled_product(p->lambda, p->x[i], -exponent);
        for (size_t j = 0; j < p->m; j++) {
            c = fmax(c, fabs(p->a[j * p->n + i]) / p->w.sigma);
        }
        p->reach += c * (fabs(p->w.y[i]) + c);
    }
    double size = submodi_largest(p->w.y, p->n) * (double)p->n + submodi_largest(p->offsets, p->m);
    return isfinite(size) && largest / p->w.sigma <= 0x1p400
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "lambda x, lambda b or a is too large");
}

static submodi_candidate candidate(const max_affine *p, size_t j)
{
    return (submodi_candidate){
        .point = p->a + j * p->n, .scale = 1 / p->w.sigma, .offset = p->offsets[j], .tag = j};
}

/* Computes the heights at t. Returns the highest row. */
static size_t find_highest(const max_affine *p, const double *t)
{
    size_t highest = 0;
    submodi_matvec(p->a, p->m, p->n, t, p->heights);
    for (size_t j = 0; j < p->m; j++) {
        p->heights[j] = p->heights[j] / p->w.sigma + p->offsets[j];
        highest = p->heights[j] > p->heights[highest] ? j : highest;
    }
    return highest;
}

/* Finds the highest row, and how far it is above the mean of the corral. */
static submod_status row_oracle(submodi_wolfe *w, bool *done)
{
    max_affine *p = (max_affine *)w;
    const submodi_corral *c = &w->corral;
    size_t highest = find_highest(p, c->t);
    double size = p->reach + fabs(p->offsets[highest]);
    double mean = 0;
    for (size_t j = 0; j < c->count; j++) {
        mean += c->weights[j] * p->heights[c->points[j].tag];
        size += c->weights[j] * fabs(c->points[j].offset);
    }
    w->best = candidate(p, highest);
    w->improves = p->heights[highest] - mean;
    w->noise = 4 * DBL_EPSILON * size;
    w->info->oracle_calls++;
    *done = w->improves <= w->noise;
    return SUBMOD_OK;
}

/* Starts with the weights given, or with the row that is highest at x. */
static submod_status start_rows(max_affine *p, const double *weights)
{
    bool added;
    submodi_corral *c = &p->w.corral;
    submodi_candidate first = candidate(p, find_highest(p, p->w.y));
    TRY(submodi_corral_init(c, p->n, p->w.y, &first, p->w.work));
    for (size_t j = 0; weights && j < p->m; j++) {
        if (weights[j] > 0) {
            submodi_candidate given = candidate(p, j);
            TRY(submodi_corral_add(c, &given, weights[j], &added));
        }
    }
    return c->count ? SUBMOD_OK : submodi_corral_add(c, &first, 1, &added);
}

/* Writes u, the weights, and primal, dual and gap in the caller's units. */
static submod_status report_rows(const max_affine *p, double *u, double *weights,
                                 submod_prox_info *info)
{
    const submodi_corral *c = &p->w.corral;
    double per = p->w.sigma / p->lambda;
    double highest = -INFINITY;
    double mean = 0;
    double distance = 0;
    memset(weights, 0, p->m * sizeof *weights);
    for (size_t j = 0; j < c->count; j++) {
        weights[c->points[j].tag] = c->weights[j];
    }
    for (size_t i = 0; i < p->n; i++) {
        u[i] = p->x[i] - c->s[i] * per;
        distance += p->lambda * (c->s[i] * per) * (c->s[i] * per);
    }
    submodi_matvec(p->a, p->m, p->n, u, p->heights);
    for (size_t j = 0; j < p->m; j++) {
        double height = p->heights[j] + p->b[j];
        highest = fmax(highest, height);
        mean += weights[j] > 0 ? weights[j] * height : 0;
    }
    info->primal = highest + distance / 2;
    info->gap = highest - mean;
    info->dual = info->primal - info->gap;
    info->minor_cycles = c->minor_cycles;
    return submodi_all_finite(u, p->n) && isfinite(info->primal) && isfinite(info->gap)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "u or the objective overflows");
}

static submod_status solve_rows(max_affine *p, double *u, double *weights)
{
    submodi_wolfe *w = &p->w;
    w->y = submodi_work_alloc(w->work, p->n, sizeof *w->y);
    submodi_take_vectors(w->work, p->m, (double **[]){&p->offsets, &p->heights, NULL});
    u = u ? u : submodi_work_alloc(w->work, p->n, sizeof *u);
    double *found = weights ? weights : submodi_work_alloc(w->work, p->m, sizeof *found);
    TRY(submodi_work_status(w->work));
    TRY(scale_rows(p));
    TRY(start_rows(p, weights));
    submod_status outcome = run(w);
    /* Hardly any progress is possible when the gap is within some hundred rounding errors. */
    bool close = outcome == SUBMOD_INACCURATE && w->improves <= 1e3 * w->noise;
    submod_status status = outcome < 0 ? outcome : report_rows(p, u, found, w->info);
    return status ? status : close ? SUBMOD_OK : outcome;
}

static submod_status check_rows(const max_affine *p, const double *weights)
{
    if (!p->m || !p->n || !p->a || !p->b || !p->x) {
        return submodi_fail(SUBMOD_EINVAL, "m and n must be > 0, a, b and x not NULL");
    }
    if (p->m > SIZE_MAX / sizeof(double) / p->n || p->n > INT32_MAX) {
        return submodi_fail(SUBMOD_EINVAL, "m * n is too large");
    }
    TRY(submodi_check_positive("lambda", p->lambda));
    TRY(submodi_check_finite("a", p->a, p->m * p->n));
    TRY(submodi_check_finite("b", p->b, p->m));
    TRY(submodi_check_finite("x", p->x, p->n));
    return weights ? submodi_check_all_nonnegative("weights", weights, p->m) : SUBMOD_OK;
}

submod_status submod_prox_max_affine(size_t m, size_t n, const double *a, const double *b,
                                     const double *x, double lambda, double *u, double *weights,
                                     submod_prox_info *info, submod_work *work)
{
    submod_prox_info found = {0};
    max_affine p = {.w = {.oracle = row_oracle,
                          .limit = 1000 + 100 * (m < n ? m : n),
                          .deadline = INFINITY,
                          .info = &found},
                    .m = m,
                    .n = n,
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
