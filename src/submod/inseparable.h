/* Which elements of a level a function holds together; see submodi_join in handle.h. */
#ifndef SUBMODI_INSEPARABLE_H
#define SUBMODI_INSEPARABLE_H

#include "submod/handle.h"

/* A forest of disjoint sets: forest[e] is an element of the same set and at most e; e itself at the
 * root, which is the smallest of the set. At first every element is a set of its own:
 * submodi_ascending. */
static inline int32_t submodi_forest_root(int32_t *forest, int32_t e)
{
    while (forest[e] != e) {
        forest[e] = forest[forest[e]];
        e = forest[e];
    }
    return e;
}

static inline void submodi_forest_join(int32_t *forest, int32_t a, int32_t b)
{
    int32_t root_a = submodi_forest_root(forest, a);
    int32_t root_b = submodi_forest_root(forest, b);
    if (root_a < root_b) {
        forest[root_b] = root_a;
    } else {
        forest[root_a] = root_b;
    }
}

/* Joins elements[0 .. k-1]. */
static inline void submodi_forest_join_all(int32_t *forest, const int32_t *elements, size_t k)
{
    for (size_t i = 1; i < k; i++) {
        submodi_forest_join(forest, elements[0], elements[i]);
    }
}

/* For any function: its own join; none for modular ones; for others all of a level, unless the
 * gains show that F is modular on it. O(n) gains and one chain in the last case. */
submod_status submodi_fn_join(const submod_fn *fn, const submodi_ties *ties, int32_t *forest,
                              submod_work *work);

/* A function of some elements inside one of others. */
typedef struct submodi_inside {
    const submod_fn *fn;
    const int32_t *base; /* its elements that are there from the start */
    size_t nbase;
    const int32_t *inner, *outer; /* pairs of elements, inside and outside, that are the same;
                                     NULL: 0, 1, .. */
    size_t count;                 /* of pairs */
} submodi_inside;

/* The join of the function outside: ties and forest are of the elements there. Costs a sort of the
 * pairs, and the join inside. */
submod_status submodi_fn_join_inside(const submodi_inside *in, const submodi_ties *ties,
                                     int32_t *forest, submod_work *work);

#endif
