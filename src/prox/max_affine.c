/* The prox of a maximum of affine functions, by its dual on the simplex:
 *
 *     min over u of  max_j (<a_j, u> + b_j) + lambda/2 |u - x|^2
 *     = max over w in the simplex of  <w, A x + b> - |A' w|^2 / (2 lambda),
 *     u = x - A' w / lambda.
 *
 * With s = A' w the derivative by w_j is <a_j, u> + b_j, the height of piece j at u. So the corral
 * of Fujishige-Wolfe is an exact active-set method: add the highest piece, walk to the best point
 * of the hull, and repeat until no piece is higher than those in the corral.
 *
 * All numbers are in units of sigma, a power of two about the largest |a_ji|: points a_j / sigma,
 * y = lambda x / sigma, offsets lambda b_j / sigma^2, t = y - s. Cost per cycle: O(m n) to find the
 * highest piece, O(k n + k^2) for the k <= n + 1 pieces in the corral.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/sums_loops.h"
#include "base/threads.h"
#include "prox/solver.h"
#include "prox/wolfe/corral.h"

static const char who[] = "submod_prox_max_affine";

typedef struct pieces {
    size_t m, n;
    const double *a, *b, *x;
    double lambda;
    double sigma;
    double *y, *s, *t;
    double *row;     /* one piece's a / sigma */
    double *offsets; /* lambda b / sigma^2 */
    double *heights; /* <a_j, t> / sigma + offset_j */
    size_t highest;
    double gap;   /* how far the highest piece is above the corral's mean */
    double noise; /* rounding error of gap */
    double reach; /* sum over i of c_i (|y_i| + c_i), c_i = max_j |a_ji| / sigma: bounds <a_j, t> */
    double *weights, *u;
    submodi_corral corral;
    submod_work *work;
} pieces;

static bool allocate(pieces *p)
{
    double **per_entry[] = {&p->y, &p->s, &p->t, &p->u, &p->row, NULL};
    double **per_piece[] = {&p->offsets, &p->heights, &p->weights, NULL};
    return submodi_take_vectors(p->work, p->n, per_entry) &&
           submodi_take_vectors(p->work, p->m, per_piece);
}

/* a b 2^exponent, where a b alone might overflow or vanish. */
static double scaled_product(double a, double b, int exponent)
{
    int of_a = 0;
    int of_b = 0;
    double mantissa = frexp(a, &of_a) * frexp(b, &of_b);
    return ldexp(mantissa, of_a + of_b + exponent);
}

/* Chooses sigma and converts the problem to its units. */
static submod_status scale(pieces *p)
{
    double largest = submodi_largest(p->a, p->m * p->n);
    int exponent = 0;
    frexp(largest, &exponent);
    exponent = exponent < -1000 ? -1000 : exponent;
    exponent = exponent > 500 ? 500 : exponent;
    p->sigma = ldexp(1, exponent);
    for (size_t i = 0; i < p->n; i++) {
        p->y[i] = scaled_product(p->lambda, p->x[i], -exponent);
    }
    for (size_t i = 0; i < p->n; i++) {
        double c = 0;
        for (size_t j = 0; j < p->m; j++) {
            c = fmax(c, fabs(p->a[j * p->n + i]) / p->sigma);
        }
        p->reach += c * (fabs(p->y[i]) + c);
    }
    for (size_t j = 0; j < p->m; j++) {
        p->offsets[j] = scaled_product(p->lambda, p->b[j], -2 * exponent);
    }
    double size = submodi_largest(p->y, p->n) * (double)p->n + submodi_largest(p->offsets, p->m);
    return isfinite(size) && largest / p->sigma <= 0x1p400
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "%s: lambda x, lambda b or a is too large", who);
}

static submodi_candidate candidate(pieces *p, size_t j)
{
    for (size_t i = 0; i < p->n; i++) {
        p->row[i] = p->a[j * p->n + i] / p->sigma;
    }
    return (submodi_candidate){.point = p->row, .offset = p->offsets[j], .tag = j};
}

static void measure_t(pieces *p)
{
    for (size_t i = 0; i < p->n; i++) {
        p->t[i] = p->y[i] - p->s[i];
    }
}

/* Finds the heights at t, the highest piece, and how far it is above the mean of the corral. */
static void look(pieces *p)
{
    double mean = 0;
    measure_t(p);
#pragma omp parallel for num_threads(submodi_threads_for(p->m * p->n / 16))
    for (size_t j = 0; j < p->m; j++) {
        p->heights[j] = submodi_sums()->dot(p->a + j * p->n, p->t, p->n) / p->sigma + p->offsets[j];
    }
    p->highest = 0;
    for (size_t j = 1; j < p->m; j++) {
        p->highest = p->heights[j] > p->heights[p->highest] ? j : p->highest;
    }
    double size = p->reach + fabs(p->offsets[p->highest]);
    for (size_t j = 0; j < p->corral.points.count; j++) {
        size_t tag = p->corral.tags[j];
        mean += p->corral.points.weights[j] * p->heights[tag];
        size += p->corral.points.weights[j] * fabs(p->offsets[tag]);
    }
    p->gap = p->heights[p->highest] - mean;
    p->noise = 4 * DBL_EPSILON * size;
}

static submod_status add(pieces *p, size_t j, double weight)
{
    submodi_candidate new = candidate(p, j);
    submodi_corral_result added = submodi_corral_add(&p->corral, &new, p->t, p->work);
    if (added == SUBMODI_CORRAL_ADDED) {
        p->corral.points.weights[p->corral.points.count - 1] += weight;
    }
    return added == SUBMODI_CORRAL_NO_MEMORY ? submodi_nomem(who) : SUBMOD_OK;
}

static void settle(pieces *p)
{
    submodi_corral_settle(&p->corral);
    submodi_vertices_combine(&p->corral.points, p->s);
}

/* Starts with the weights given, or with the piece that is highest at x. */
static submod_status start(pieces *p, const double *weights)
{
    memset(p->s, 0, p->n * sizeof *p->s);
    look(p);
    submodi_candidate first = candidate(p, p->highest);
    if (!submodi_corral_init(&p->corral, p->n, first.point, false, p->work)) {
        return submodi_nomem(who);
    }
    submod_status status = SUBMOD_OK;
    for (size_t j = 0; weights && status == SUBMOD_OK && j < p->m; j++) {
        status = weights[j] > 0 ? add(p, j, weights[j]) : SUBMOD_OK;
    }
    if (status == SUBMOD_OK && p->corral.points.count == 0) {
        status = add(p, p->highest, 1);
    }
    if (status == SUBMOD_OK) {
        submodi_vertices_normalise(&p->corral.points);
        submodi_vertices_combine(&p->corral.points, p->s);
        measure_t(p);
        submodi_corral_measure(&p->corral, p->t);
        settle(p);
    }
    return status;
}

static bool in_corral(const pieces *p, size_t j)
{
    for (size_t i = 0; i < p->corral.points.count; i++) {
        if (p->corral.tags[i] == j) {
            return true;
        }
    }
    return false;
}

/* Adds the highest piece, until that is in the corral already or the corral refuses it. Then only
 * rounding is left, which a new factor may still reduce. */
static submod_status run(pieces *p, submod_prox_info *info)
{
    const size_t limit = 1000 + 100 * (p->m < p->n ? p->m : p->n);
    bool renewed = false;
    for (;;) {
        look(p);
        info->oracle_calls++;
        if (p->gap <= p->noise) {
            return SUBMOD_OK;
        }
        if (info->iterations == limit) {
            return SUBMOD_MAXITER;
        }
        if (submodi_cancelled()) {
            return SUBMOD_CANCELLED;
        }
        info->iterations++;
        bool present = in_corral(p, p->highest);
        submod_status status = present ? SUBMOD_OK : add(p, p->highest, 0);
        if (status != SUBMOD_OK) {
            return status;
        }
        bool stuck = present || !in_corral(p, p->highest);
        if (stuck && (renewed || !submodi_corral_renew(&p->corral, p->t))) {
            return p->gap <= 1e3 * p->noise ? SUBMOD_OK : SUBMOD_INACCURATE;
        }
        renewed = stuck;
        settle(p);
    }
}

/* Primal, dual and gap of u and the weights, in the caller's units. */
static submod_status report(pieces *p, submod_prox_info *info)
{
    double per = p->sigma / p->lambda;
    double highest = -INFINITY;
    double mean = 0;
    double distance = 0;
    memset(p->weights, 0, p->m * sizeof *p->weights);
    for (size_t j = 0; j < p->corral.points.count; j++) {
        p->weights[p->corral.tags[j]] = p->corral.points.weights[j];
    }
    for (size_t i = 0; i < p->n; i++) {
        p->u[i] = p->x[i] - p->s[i] * per;
        distance += p->lambda * (p->s[i] * per) * (p->s[i] * per);
    }
    for (size_t j = 0; j < p->m; j++) {
        double height = submodi_sums()->dot(p->a + j * p->n, p->u, p->n) + p->b[j];
        highest = fmax(highest, height);
        mean += p->weights[j] > 0 ? p->weights[j] * height : 0;
    }
    info->primal = highest + distance / 2;
    info->gap = highest - mean;
    info->dual = info->primal - info->gap;
    info->minor_cycles = p->corral.minor_cycles;
    return submodi_all_finite(p->u, p->n) && isfinite(info->primal) && isfinite(info->gap)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_ENUMERIC, "%s: u or the objective overflows", who);
}

static submod_status require_arguments(const pieces *p, const double *weights)
{
    if (!p->m || !p->n || !p->a || !p->b || !p->x) {
        return submodi_fail(SUBMOD_EINVAL, "%s: m and n must be > 0, a, b and x not NULL", who);
    }
    if (p->m > SIZE_MAX / sizeof(double) / p->n || p->n > INT32_MAX) {
        return submodi_fail(SUBMOD_EINVAL, "%s: m * n is too large", who);
    }
    submod_status status = submodi_require_positive(who, "lambda", p->lambda);
    status = status ? status : submodi_require_finite(who, "a", p->a, p->m * p->n);
    status = status ? status : submodi_require_finite(who, "b", p->b, p->m);
    status = status ? status : submodi_require_finite(who, "x", p->x, p->n);
    if (status == SUBMOD_OK && weights) {
        status = submodi_require_nonnegative(who, "weights", weights, p->m);
    }
    return status;
}

submod_status submod_prox_max_affine(size_t m, size_t n, const double *a, const double *b,
                                     const double *x, double lambda, double *u, double *weights,
                                     submod_prox_info *info, submod_work *work)
{
    pieces p = {.m = m, .n = n, .a = a, .b = b, .x = x, .lambda = lambda};
    submod_prox_info found = {0};
    double begin = submodi_seconds();
    submod_status outcome = require_arguments(&p, weights);
    if (outcome != SUBMOD_OK) {
        return outcome;
    }
    submodi_scope scope;
    p.work = submodi_scope_open(&scope, work);
    outcome = allocate(&p) ? scale(&p) : submodi_nomem(who);
    outcome = outcome ? outcome : start(&p, weights);
    outcome = outcome ? outcome : run(&p, &found);
    if (outcome >= 0) {
        submod_status status = report(&p, &found);
        outcome = status == SUBMOD_OK ? outcome : status;
    }
    if (outcome >= 0) {
        found.seconds = submodi_seconds() - begin;
        submodi_copy_out(u, p.u, n, sizeof *u);
        submodi_copy_out(weights, p.weights, m, sizeof *weights);
        submodi_copy_out(info, &found, 1, sizeof *info);
    }
    submodi_scope_close(&scope);
    return outcome;
}
