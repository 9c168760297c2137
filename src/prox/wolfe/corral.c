/* The steps of the corral (corral.h), on its factor and its list of points. With k points of R^n: a
 * new point costs O(k n + k^2), a minor cycle O(k^2), a new factor O(k^2 n + k^3).
 */
#include "prox/wolfe/corral.h"
#include "base/sums_loops.h"

#include <math.h>
#include <string.h>

/* A pivot below this share of its diagonal entry is rounding: a thousand rounding errors of one
 * sum. */
static const double dependent = 1e-13;
/* A weight below this counts as zero: the point adds less than a rounding error of the sum. */
static const double no_weight = 1e-16;
/* The r of the points present count as equal if their spread is below this share of the new r. */
static const double no_spread = 1e-9;

static bool reserve(submodi_corral *c, size_t count, submod_work *work)
{
    if (!submodi_vertices_reserve(&c->points, count, work) ||
        !submodi_factor_reserve(&c->factor, count, work)) {
        return false;
    }
    if (count <= c->capacity) {
        return true;
    }
    size_t capacity = c->points.capacity;
    double *offsets = submodi_take(work, capacity, sizeof *offsets);
    size_t *tags = submodi_take(work, capacity, sizeof *tags);
    c->r = submodi_take(work, capacity, sizeof *c->r);
    c->column = submodi_take(work, capacity, sizeof *c->column);
    c->step = submodi_take(work, capacity, sizeof *c->step);
    if (!offsets || !tags || !c->r || !c->column || !c->step) {
        return false;
    }
    if (c->capacity) {
        memcpy(offsets, c->offsets, c->capacity * sizeof *offsets);
        memcpy(tags, c->tags, c->capacity * sizeof *tags);
    }
    c->offsets = offsets;
    c->tags = tags;
    c->capacity = capacity;
    return true;
}

bool submodi_corral_init(submodi_corral *c, size_t n, const double *origin, bool keep_orders,
                         submod_work *work)
{
    *c = (submodi_corral){.kappa = 1};
    return submodi_vertices_init(&c->points, n, origin, keep_orders, work);
}

static void erase(double *list, size_t j, size_t count)
{
    memmove(list + j, list + j + 1, (count - j - 1) * sizeof *list);
}

static void remove_point(submodi_corral *c, size_t j)
{
    size_t count = c->points.count;
    if (j < c->factor.k) {
        submodi_factor_remove(&c->factor, j);
    }
    submodi_vertices_remove(&c->points, j);
    memmove(c->tags + j, c->tags + j + 1, (count - j - 1) * sizeof *c->tags);
    erase(c->offsets, j, count);
    erase(c->r, j, count);
    erase(c->column, j, count);
}

/* Makes r relative to its mean under the weights. Measures the spread of the first k. */
static void centre(submodi_corral *c, size_t k)
{
    double mean = 0;
    for (size_t j = 0; j < c->points.count; j++) {
        c->r[j] += c->offsets[j];
        mean += c->points.weights[j] * c->r[j];
    }
    c->spread = 0;
    for (size_t j = 0; j < c->points.count; j++) {
        c->r[j] -= mean;
        c->spread = j < k ? fmax(c->spread, fabs(c->r[j])) : c->spread;
    }
}

/* While there is one point, any kappa will do. Takes the scale from the second one, unless both are
 * the origin up to rounding, and so the same: 1 then makes them dependent. */
static void choose_kappa(submodi_corral *c, double squared)
{
    const submodi_vertices *v = &c->points;
    const double *row = submodi_vertices_row(v, 0);
    double first = submodi_sums()->dot(row, row, v->n);
    double rounding = 0x1p-92 * submodi_sums()->dot(v->origin, v->origin, v->n); /* (64 eps)^2 */
    c->kappa = squared + first > rounding ? squared + first : 1;
    c->factor.k = 0;
    submodi_factor_append(&c->factor, first + c->kappa, c->r[0]);
}

/* The new column depends on those of the factor: column = M h, sum of h = 1. If the weights move
 * along (-h, 1), p stays and the objective changes at the rate r_new - <h, r>. Moves until a weight
 * is 0, and removes that point. False: this is of no use. */
static bool exchange(submodi_corral *c)
{
    size_t k = c->factor.k;
    double *w = c->points.weights;
    submodi_factor_solve_column(&c->factor, c->step);
    double rate = c->r[k] - submodi_sums()->dot(c->step, c->r, k);
    double length = INFINITY;
    size_t leaves = k;
    for (size_t j = 0; j < k; j++) {
        if (c->step[j] > 0 && w[j] < length * c->step[j]) {
            length = w[j] / c->step[j];
            leaves = j;
        }
    }
    if (!(rate > 0) || leaves == k) {
        return false;
    }
    for (size_t j = 0; j < k; j++) {
        w[j] = fmax(w[j] - length * c->step[j], 0);
    }
    w[k] += length;
    remove_point(c, leaves);
    return true;
}

submodi_corral_result submodi_corral_add(submodi_corral *c, const submodi_candidate *new,
                                         const double *t, submod_work *work)
{
    size_t k = c->points.count;
    if (!reserve(c, k + 1, work)) {
        return SUBMODI_CORRAL_NO_MEMORY;
    }
    const double *row = submodi_vertices_add(&c->points, new->point, new->order);
    c->offsets[k] = new->offset;
    c->tags[k] = new->tag;
    submodi_vertices_dots(&c->points, row, t, c->column, c->r);
    centre(c, k);
    if (k == 1) {
        choose_kappa(c, c->column[1]);
    } else if (c->spread > no_spread * fabs(c->r[k])) {
        submodi_factor_set_rhs(&c->factor, c->r);
    } else if (k) {
        memset(c->factor.rhs, 0, k * sizeof *c->factor.rhs);
    }
    for (size_t j = 0; j <= k; j++) {
        c->column[j] += c->kappa;
    }
    for (;;) {
        k = c->factor.k;
        double pivot2 = submodi_factor_project(&c->factor, c->column, c->column[k]);
        if (pivot2 > dependent * c->column[k]) {
            submodi_factor_append(&c->factor, pivot2, c->r[k]);
            return SUBMODI_CORRAL_ADDED;
        }
        if (!exchange(c)) {
            /* The weight that earlier exchanges gave to the point is gone with it. */
            submodi_vertices_remove(&c->points, k);
            submodi_vertices_normalise(&c->points);
            return SUBMODI_CORRAL_REFUSED;
        }
    }
}

/* The longest step, at most 1, that keeps all weights >= 0. *stopper: the point that stops it. */
static double step_length(const submodi_corral *c, size_t *stopper)
{
    const double *w = c->points.weights;
    double length = 1;
    *stopper = c->points.count;
    for (size_t j = 0; j < c->points.count; j++) {
        if (w[j] + length * c->step[j] < 0) {
            length = w[j] / -c->step[j];
            *stopper = j;
        }
    }
    return length;
}

/* After the share `length` of a step, r is what it was times 1 - length, up to a constant. So the
 * right-hand side in the factor is scaled instead of solved for again. */
void submodi_corral_settle(submodi_corral *c)
{
    double *w = c->points.weights;
    for (bool inside = false; !inside && c->points.count > 1;) {
        size_t stopper;
        submodi_factor_direction(&c->factor, c->step);
        double length = step_length(c, &stopper);
        inside = stopper == c->points.count;
        for (size_t j = 0; j < c->points.count; j++) {
            w[j] += length * c->step[j];
        }
        if (!inside) {
            w[stopper] = 0;
            for (size_t j = 0; j < c->factor.k; j++) {
                c->factor.rhs[j] *= 1 - length;
            }
            c->minor_cycles++;
        }
        for (size_t j = c->points.count; j-- > 0;) {
            if (!(w[j] > no_weight) && c->points.count > 1) {
                remove_point(c, j);
            }
        }
    }
    if (c->points.count == 1) {
        w[0] = 1;
    }
    submodi_vertices_normalise(&c->points);
}

/* Writes the upper triangle of M into the factor, two columns at a time. r and column are scratch
 * here, and must be measured again. */
static void gram(submodi_corral *c)
{
    const submodi_vertices *p = &c->points;
    submodi_factor *f = &c->factor;
    for (size_t j = 0; j < p->count; j += 2) {
        size_t next = j + 1 < p->count ? j + 1 : j;
        submodi_vertices_dots(p, submodi_vertices_row(p, j), submodi_vertices_row(p, next), c->r,
                              c->column);
        for (size_t i = 0; i <= j; i++) {
            f->u[i * f->capacity + j] = c->r[i] + c->kappa;
        }
        for (size_t i = 0; i <= next; i++) {
            f->u[i * f->capacity + next] = c->column[i] + c->kappa;
        }
    }
}

void submodi_corral_measure(submodi_corral *c, const double *t)
{
    submodi_vertices_dots(&c->points, t, t, c->column, c->r);
    centre(c, c->points.count);
    submodi_factor_set_rhs(&c->factor, c->r);
}

bool submodi_corral_renew(submodi_corral *c, const double *t)
{
    gram(c);
    if (!submodi_factor_renew(&c->factor)) {
        return false;
    }
    submodi_corral_measure(c, t);
    return true;
}
