/* A convex combination under construction: points of R^n with weights, which come and go.
 *
 * Points do not move in memory: each lives in a slot, positions 0 .. count-1 are a list of slots.
 * Points are kept relative to an origin, usually the first of them, so that nothing is lost where
 * the polytope is small and far away. */
#ifndef SUBMODI_PROX_WOLFE_VERTICES_H
#define SUBMODI_PROX_WOLFE_VERTICES_H

#include <stdbool.h>

#include "base/memory.h"

typedef struct submodi_vertices {
    size_t n;
    size_t count;
    size_t capacity;
    double *origin;  /* n */
    double *rows;    /* capacity x n: point - origin */
    int32_t *orders; /* capacity x n, or NULL: the greedy order that each point comes from */
    size_t *slots;   /* the slots in use, then the free ones */
    double *weights; /* by position */
} submodi_vertices;

/* Starts without points. keep_orders: whether orders are stored. false: no memory. */
bool submodi_vertices_init(submodi_vertices *v, size_t n, const double *origin, bool keep_orders,
                           submod_work *work);

/* Makes room for count points; those present stay. false: no memory. */
bool submodi_vertices_reserve(submodi_vertices *v, size_t count, submod_work *work);

/* Puts point at position v->count, with weight 0; there must be room. order is read only if orders
 * are stored. Returns its row. */
const double *submodi_vertices_add(submodi_vertices *v, const double *point, const int32_t *order);
/* Removes position j; the positions after it move up by one. */
void submodi_vertices_remove(submodi_vertices *v, size_t j);

static inline double *submodi_vertices_row(const submodi_vertices *v, size_t position)
{
    return v->rows + v->slots[position] * v->n;
}

static inline int32_t *submodi_vertices_order(const submodi_vertices *v, size_t position)
{
    return v->orders + v->slots[position] * v->n;
}

/* with_a[j] = <row j, a>, with_b[j] = <row j, b> for all positions, in one pass over the rows. */
void submodi_vertices_dots(const submodi_vertices *v, const double *a, const double *b,
                           double *with_a, double *with_b);
/* point = origin + sum over j of weight j * row j. */
void submodi_vertices_combine(const submodi_vertices *v, double *point);
/* Makes the weights sum to 1. */
void submodi_vertices_normalise(submodi_vertices *v);

#endif
