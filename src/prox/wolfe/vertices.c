/* The list of points in vertices.h. Adding a point costs O(n), removing one O(count); dots and
 * combine pass over all rows, O(count n), in parallel.
 */
#include "prox/wolfe/vertices.h"

#include <string.h>

#include "base/threads.h"
#include "prox/wolfe/vertex_loops.h"

bool submodi_vertices_init(submodi_vertices *v, size_t n, const double *origin, bool keep_orders,
                           submod_work *work)
{
    enum { FIRST = 16 };
    *v = (submodi_vertices){.n = n};
    v->origin = submodi_take(work, n, sizeof *v->origin);
    /* Not NULL means that orders are kept. Any address will do until there is room for them. */
    v->orders = keep_orders ? (int32_t *)(void *)v->origin : NULL;
    if (!v->origin || !submodi_vertices_reserve(v, FIRST, work)) {
        return false;
    }
    memcpy(v->origin, origin, n * sizeof *origin);
    return true;
}

/* New memory for count items of `bytes` bytes each; copies the first `present` ones from old. */
static void *grown(const void *old, size_t present, size_t count, size_t bytes, submod_work *work)
{
    void *memory = submodi_take(work, count, bytes);
    if (memory && present) {
        memcpy(memory, old, present * bytes);
    }
    return memory;
}

bool submodi_vertices_reserve(submodi_vertices *v, size_t count, submod_work *work)
{
    if (count <= v->capacity) {
        return true;
    }
    /* Outgrown arrays stay in the workspace until the end: at most as much again. */
    size_t capacity = 2 * v->capacity > count ? 2 * v->capacity : count;
    size_t old = v->capacity;
    double *rows = grown(v->rows, old, capacity, v->n * sizeof *rows, work);
    size_t *slots = grown(v->slots, old, capacity, sizeof *slots, work);
    double *weights = grown(v->weights, v->count, capacity, sizeof *weights, work);
    int32_t *orders = NULL;
    if (v->orders) {
        orders = grown(v->orders, old, capacity, v->n * sizeof *orders, work);
    }
    if (!rows || !slots || !weights || (v->orders && !orders)) {
        return false;
    }
    for (size_t i = old; i < capacity; i++) {
        slots[i] = i;
    }
    v->rows = rows;
    v->slots = slots;
    v->weights = weights;
    v->orders = orders;
    v->capacity = capacity;
    return true;
}

const double *submodi_vertices_add(submodi_vertices *v, const double *point, const int32_t *order)
{
    size_t position = v->count++;
    double *row = submodi_vertices_row(v, position);
    for (size_t i = 0; i < v->n; i++) {
        row[i] = point[i] - v->origin[i];
    }
    if (v->orders) {
        memcpy(submodi_vertices_order(v, position), order, v->n * sizeof *order);
    }
    v->weights[position] = 0;
    return row;
}

void submodi_vertices_remove(submodi_vertices *v, size_t j)
{
    size_t slot = v->slots[j];
    size_t behind = --v->count - j;
    memmove(v->slots + j, v->slots + j + 1, behind * sizeof *v->slots);
    memmove(v->weights + j, v->weights + j + 1, behind * sizeof *v->weights);
    v->slots[v->count] = slot;
}

/* A pass over 1 M numbers takes about 1 ms: below that, waiting for another thread on a busy
 * machine costs more than it gains. */
static int threads_for(const submodi_vertices *v)
{
    return submodi_threads_for(v->count * v->n / 16);
}

void submodi_vertices_dots(const submodi_vertices *v, const double *a, const double *b,
                           double *with_a, double *with_b)
{
    size_t quads = (v->count + 3) / 4;
#pragma omp parallel for num_threads(threads_for(v))
    for (size_t q = 0; q < quads; q++) {
        const double *row[4];
        double of_a[4];
        double of_b[4];
        size_t first = 4 * q;
        size_t here = v->count - first < 4 ? v->count - first : 4;
        for (size_t i = 0; i < 4; i++) { /* where rows are missing, the last one is repeated */
            row[i] = submodi_vertices_row(v, first + (i < here ? i : here - 1));
        }
        submodi_vertex()->dots(row, a, b, v->n, of_a, of_b);
        memcpy(with_a + first, of_a, here * sizeof *of_a);
        memcpy(with_b + first, of_b, here * sizeof *of_b);
    }
}

void submodi_vertices_combine(const submodi_vertices *v, double *point)
{
    enum { STRIP = 512 }; /* a strip of the sum stays in the first-level cache */
    size_t strips = (v->n + STRIP - 1) / STRIP;
#pragma omp parallel for num_threads(threads_for(v))
    for (size_t strip = 0; strip < strips; strip++) {
        size_t begin = strip * STRIP;
        size_t length = v->n - begin < STRIP ? v->n - begin : STRIP;
        memcpy(point + begin, v->origin + begin, length * sizeof *point);
        for (size_t j = 0; j < v->count; j += 4) {
            const double *row[4];
            double weight[4];
            for (size_t i = 0; i < 4; i++) {
                row[i] = submodi_vertices_row(v, j + i < v->count ? j + i : j) + begin;
                weight[i] = j + i < v->count ? v->weights[j + i] : 0;
            }
            submodi_vertex()->add(point + begin, row, weight, length);
        }
    }
}

void submodi_vertices_normalise(submodi_vertices *v)
{
    double sum = 0;
    for (size_t j = 0; j < v->count; j++) {
        sum += v->weights[j];
    }
    for (size_t j = 0; j < v->count; j++) {
        v->weights[j] /= sum;
    }
}
