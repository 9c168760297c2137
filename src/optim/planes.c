/* The bundle of planes.h. If it is full, the plane that was idle longest makes room; if all are in
 * use, the combined plane replaces the two lightest. Adding a plane costs O(n + count), combining
 * them O(count n).
 */
#include "optim/planes.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/internal.h"
#include "optim/oracle.h"
#include <submod/prox.h>

enum { FIRST_CAPACITY = 16 };

/* Moves count elements to a larger array. false: no memory. */
static bool enlarge(void *array, size_t count, size_t capacity, size_t size)
{
    void **old = array;
    void *new = submodi_alloc(capacity, size);
    if (!new) {
        return false;
    }
    if (count > 0) {
        memcpy(new, *old, count * size);
    }
    submodi_free(*old);
    *old = new;
    return true;
}

static bool grow(submodi_planes *p)
{
    size_t capacity = p->capacity ? 2 * p->capacity : FIRST_CAPACITY;
    capacity = capacity < p->limit ? capacity : p->limit;
    if (p->n > SIZE_MAX / sizeof(double) / 2 / capacity) {
        return false;
    }
    bool good = enlarge(&p->a, p->count, capacity, p->n * sizeof *p->a) &&
                enlarge(&p->b, p->count, capacity, sizeof *p->b) &&
                enlarge(&p->error, p->count, capacity, sizeof *p->error) &&
                enlarge(&p->tilt, p->count, capacity, sizeof *p->tilt) &&
                enlarge(&p->norm, p->count, capacity, sizeof *p->norm) &&
                enlarge(&p->weight, p->count, capacity, sizeof *p->weight) &&
                enlarge(&p->idle, p->count, capacity, sizeof *p->idle);
    p->capacity = good ? capacity : p->capacity;
    return good;
}

int submodi_planes_open(submodi_planes *p, size_t n, size_t limit)
{
    double *slope = submodi_alloc(n, sizeof *slope);
    if (slope) {
        memset(slope, 0, n * sizeof *slope);
    }
    *p = (submodi_planes){.n = n, .limit = limit, .combined = {slope, -INFINITY, 0}};
    return slope && grow(p);
}

void submodi_planes_clear(submodi_planes *p)
{
    submodi_free(p->a);
    submodi_free(p->b);
    submodi_free(p->error);
    submodi_free(p->tilt);
    submodi_free(p->norm);
    submodi_free(p->weight);
    submodi_free(p->idle);
    submodi_free(p->combined.slope);
    *p = (submodi_planes){0};
}

/* Computes the weighted sum of the planes. With k nonzero terms t_j, rounding in their sum and in
 * the weights, which sum to 1, changes the result by less than (k + 2) DBL_EPSILON times the sum of
 * |t_j|. One more DBL_EPSILON covers the last bits of the subgradients. */
static void add_up(submodi_planes *p, size_t terms)
{
    submodi_plane *c = &p->combined;
    double heights = 0, norms = 0, share = (double)(terms + 2) * DBL_EPSILON;
    memset(c->slope, 0, p->n * sizeof *c->slope);
    c->offset = c->tilt = p->lowered = 0;
    for (size_t j = 0; j < p->count; j++) {
        double weight = p->weight[j];
        c->offset += weight * p->b[j];
        c->tilt += weight * p->tilt[j];
        p->lowered += weight * p->error[j];
        heights += weight * fabs(p->b[j]);
        norms += weight * p->norm[j];
        for (size_t i = 0; weight > 0 && i < p->n; i++) {
            c->slope[i] += weight * p->a[j * p->n + i];
        }
    }
    c->offset -= share * heights;
    c->tilt += (share + DBL_EPSILON) * norms;
    p->lowered += share * heights;
}

/* Makes the weights a convex combination, and combines the planes. */
static void combine(submodi_planes *p)
{
    double sum = 0;
    size_t terms = 0;
    for (size_t j = 0; j < p->count; j++) {
        p->weight[j] = fmax(p->weight[j], 0);
        p->idle[j] = p->weight[j] > 0 ? 0 : p->idle[j] + 1;
        sum += p->weight[j];
        terms += p->weight[j] > 0;
    }
    for (size_t j = 0; j < p->count; j++) {
        p->weight[j] /= sum;
    }
    add_up(p, terms);
}

submod_status submodi_planes_prox(submodi_planes *p, const double *x, double lambda, double *u,
                                  submod_work *work)
{
    submod_status status =
        submod_prox_max_affine(p->count, p->n, p->a, p->b, x, lambda, u, p->weight, NULL, work);
    if (status < 0) {
        return status;
    }
    combine(p);
    return SUBMOD_OK;
}

/* The last plane takes the place of plane j. */
static void drop(submodi_planes *p, size_t j)
{
    size_t last = --p->count;
    if (j != last) {
        memcpy(p->a + j * p->n, p->a + last * p->n, p->n * sizeof *p->a);
        p->b[j] = p->b[last];
        p->error[j] = p->error[last];
        p->tilt[j] = p->tilt[last];
        p->norm[j] = p->norm[last];
        p->weight[j] = p->weight[last];
        p->idle[j] = p->idle[last];
    }
}

static void append(submodi_planes *p, const double *a, double b, double error)
{
    size_t j = p->count++;
    memcpy(p->a + j * p->n, a, p->n * sizeof *a);
    p->b[j] = b;
    p->error[j] = error;
    p->tilt[j] = 0;
    p->norm[j] = submodi_norm(a, p->n);
    p->weight[j] = 0;
    p->idle[j] = 0;
}

static size_t lightest(const submodi_planes *p)
{
    size_t best = 0;
    for (size_t j = 1; j < p->count; j++) {
        best = p->weight[j] < p->weight[best] ? j : best;
    }
    return best;
}

static void make_room(submodi_planes *p)
{
    size_t idlest = 0;
    for (size_t j = 1; j < p->count; j++) {
        idlest = p->idle[j] > p->idle[idlest] ? j : idlest;
    }
    if (p->idle[idlest] > 0) {
        drop(p, idlest);
        return;
    }
    /* All are in use: the combined plane replaces the two lightest. */
    drop(p, lightest(p));
    drop(p, lightest(p));
    append(p, p->combined.slope, p->combined.offset, p->lowered);
    p->tilt[p->count - 1] = p->combined.tilt;
    p->weight[p->count - 1] = 1;
}

int submodi_planes_add(submodi_planes *p, const double *a, double b, double error)
{
    if (p->count == p->capacity && p->capacity < p->limit && !grow(p)) {
        return 0;
    }
    if (p->count == p->limit) {
        make_room(p);
    }
    append(p, a, b, error);
    return 1;
}

double submodi_planes_value(const submodi_planes *p, const double *x)
{
    double highest = -INFINITY;
    for (size_t j = 0; j < p->count; j++) {
        highest = fmax(highest, submodi_dot(p->a + j * p->n, x, p->n) + p->b[j]);
    }
    return highest;
}

/* Rounding changes an entry s + share (t - s) by less than 2 DBL_EPSILON (|s| + |t|). */
void submodi_plane_move(submodi_plane *plane, size_t n, const submodi_plane *target, double share)
{
    if (share == 1) {
        memcpy(plane->slope, target->slope, n * sizeof *plane->slope);
        plane->offset = target->offset;
        plane->tilt = target->tilt;
        return;
    }
    double heights = fabs(plane->offset) + fabs(target->offset);
    double norms = submodi_norm(plane->slope, n) + submodi_norm(target->slope, n);
    for (size_t i = 0; i < n; i++) {
        plane->slope[i] += share * (target->slope[i] - plane->slope[i]);
    }
    plane->offset += share * (target->offset - plane->offset) - 2 * DBL_EPSILON * heights;
    plane->tilt += share * (target->tilt - plane->tilt);
    plane->tilt += 2 * DBL_EPSILON * (norms + plane->tilt);
}

/* A slope that is off by tilt is at worst that much longer. fall is how far the plane drops below
 * its height at 0 or at the centre; (n + 4) DBL_EPSILON times fall covers the scalar products and
 * norms. */
double submodi_plane_lowest(const submodi_plane *plane, size_t n, double decay,
                            const double *centre, double radius)
{
    double length = submodi_norm(plane->slope, n), share = (double)(n + 4) * DBL_EPSILON;
    double low, fall, loss;
    if (decay > 0) {
        fall = length / (2 * decay) * length;
        low = plane->offset - fall;
        loss = plane->tilt / decay * (length + plane->tilt / 2);
    } else {
        double reach = submodi_norm(centre, n) + radius;
        fall = length * reach;
        low = plane->offset + submodi_dot(plane->slope, centre, n) - length * radius;
        loss = plane->tilt * reach;
    }
    return low - loss - share * (fall + loss) - 2 * DBL_EPSILON * fabs(plane->offset);
}
