/* The bundle of planes.h. If it is full, the plane that was idle longest makes room; if all are in
 * use, the combined plane replaces the two lightest. Adding a plane costs O(n + count), combining
 * them O(count n).
 */
#include "optim/planes.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
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
    size_t rows = capacity + 1; /* the last one is for the floor */
    bool good = enlarge(&p->a, p->count, rows, p->n * sizeof *p->a) &&
                enlarge(&p->b, p->count, rows, sizeof *p->b) &&
                enlarge(&p->weight, p->count, rows, sizeof *p->weight) &&
                enlarge(&p->idle, p->count, rows, sizeof *p->idle);
    p->capacity = good ? capacity : p->capacity;
    return good;
}

int submodi_planes_open(submodi_planes *p, size_t n, size_t limit)
{
    *p = (submodi_planes){.n = n, .limit = limit, .offset = -INFINITY};
    p->slope = submodi_alloc(n, sizeof *p->slope);
    if (p->slope) {
        memset(p->slope, 0, n * sizeof *p->slope);
    }
    return p->slope && grow(p);
}

void submodi_planes_clear(submodi_planes *p)
{
    submodi_free(p->a);
    submodi_free(p->b);
    submodi_free(p->weight);
    submodi_free(p->idle);
    submodi_free(p->slope);
    *p = (submodi_planes){0};
}

submod_status submodi_planes_check(const char *who, double radius, double decay, size_t limit)
{
    submod_status status = submodi_require_at_least_zero(who, "radius", radius);
    if (status == SUBMOD_OK && radius == 0 && decay == 0) {
        return submodi_fail(SUBMOD_EINVAL, "%s: radius must be > 0, unless run.weight_decay is",
                            who);
    }
    if (status == SUBMOD_OK && limit < 3) {
        return submodi_fail(SUBMOD_EINVAL, "%s: max_planes = %zu must be >= 3", who, limit);
    }
    return status;
}

/* Makes the weights a convex combination; slope and offset. */
static void combine(submodi_planes *p)
{
    double sum = 0;
    for (size_t j = 0; j < p->count; j++) {
        p->weight[j] = fmax(p->weight[j], 0);
        p->idle[j] = p->weight[j] > 0 ? 0 : p->idle[j] + 1;
        sum += p->weight[j];
    }
    if (sum == 0) { /* the floor has it all */
        return;
    }
    memset(p->slope, 0, p->n * sizeof *p->slope);
    p->offset = 0;
    for (size_t j = 0; j < p->count; j++) {
        p->weight[j] /= sum;
        p->offset += p->weight[j] * p->b[j];
        for (size_t i = 0; p->weight[j] > 0 && i < p->n; i++) {
            p->slope[i] += p->weight[j] * p->a[j * p->n + i];
        }
    }
}

submod_status submodi_planes_prox(submodi_planes *p, double floor, const double *x, double lambda,
                                  double *u, submod_work *work)
{
    size_t m = p->count;
    if (floor > -INFINITY) {
        memset(p->a + m * p->n, 0, p->n * sizeof *p->a);
        p->b[m] = floor;
        p->weight[m++] =
            p->above < 1 ? p->above / (1 - p->above) : 1; /* the others sum to 1, or 0 */
    }
    submod_status status =
        submod_prox_max_affine(m, p->n, p->a, p->b, x, lambda, u, p->weight, NULL, work);
    if (status < 0) {
        return status;
    }
    p->above = m > p->count ? p->weight[p->count] : 0;
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
        p->weight[j] = p->weight[last];
        p->idle[j] = p->idle[last];
    }
}

static void append(submodi_planes *p, const double *a, double b, double weight)
{
    size_t j = p->count++;
    memcpy(p->a + j * p->n, a, p->n * sizeof *a);
    p->b[j] = b;
    p->weight[j] = weight;
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
    append(p, p->slope, p->offset, 1);
}

int submodi_planes_add(submodi_planes *p, const double *a, double b)
{
    if (p->count == p->capacity && p->capacity < p->limit && !grow(p)) {
        return 0;
    }
    if (p->count == p->limit) {
        make_room(p);
    }
    append(p, a, b, 0);
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

double submodi_plane_lowest(size_t n, const double *slope, double offset, double decay,
                            const double *centre, double radius)
{
    return decay > 0 ? offset - submodi_dot(slope, slope, n) / (2 * decay)
                     : offset + submodi_dot(slope, centre, n) - submodi_norm(slope, n) * radius;
}
