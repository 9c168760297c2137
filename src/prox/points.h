/* Labelled points, sorted once: the data structure of the proxes of counts functions.
 *
 * A method (prox_jaccard.c, prox_counts.c) divides the points into levels, the sets of points with
 * equal u. points.c reads points and writes u and s. */
#ifndef SUBMODI_PROX_POINTS_H
#define SUBMODI_PROX_POINTS_H

#include "prox/prox_internal.h"
#include "submod/measure_internal.h"

/* Points of one label in descending order of their values. Each has a multiplicity, its number of
 * pixels. */
typedef struct submodi_point_list {
    const double *value;
    size_t count;
    const double *before;   /* count + 1 prefix sums of multiplicities; NULL means ones */
    const uint64_t *record; /* the index of each point, in the bits of index_mask */
    uint64_t index_mask;
} submodi_point_list;

static inline double submodi_pixels_before(const submodi_point_list *list, size_t rank)
{
    /* Signed, because that converts in one instruction. */
    return list->before ? list->before[rank] : (double)(int64_t)rank;
}

/* Returns the pixels of one point, and of points [begin, end). */
static inline double submodi_pixels_of(const submodi_point_list *list, size_t rank)
{
    return list->before ? list->before[rank + 1] - list->before[rank] : 1;
}

static inline double submodi_pixels_in(const submodi_point_list *list, size_t begin, size_t end)
{
    return submodi_pixels_before(list, end) - submodi_pixels_before(list, begin);
}

/* Points [begin[k], end[k]) of both labels, 0 background and 1 foreground, with one u. A point with
 * value x has s = offset + lambda (x - ref), so u = ref - offset / lambda; ref is the value of the
 * first background point, of the first foreground point if there is none. A level of one point has
 * s = gain and ignores offset. */
typedef struct submodi_level {
    double offset;
    double gain; /* F after the level less F before it, per pixel */
    uint32_t begin[2], end[2];
} submodi_level;

/* Levels are in descending order of u. For Jaccard, foreground points may lie between two levels;
 * each of them has its own u and, after b background pixels, s = 1 / (P + b). */
typedef struct submodi_points {
    const submod_measure *measure; /* checked */
    double lambda;
    submodi_point_list list[2]; /* of the labels 0 and 1 */
    double total[2];            /* pixels: N, P */
    submodi_level *level;       /* room for one per point, and one more */
    size_t count;               /* of levels */
    uint64_t work;              /* points, breakpoints and evaluations */
} submodi_points;

static inline size_t submodi_level_rank(const submodi_level *v)
{
    return (size_t)v->begin[0] + v->begin[1];
}

static inline size_t submodi_level_size(const submodi_level *v)
{
    return (size_t)(v->end[0] - v->begin[0]) + (v->end[1] - v->begin[1]);
}

static inline double submodi_level_ref(const submodi_points *p, const submodi_level *v)
{
    int k = v->begin[0] < v->end[0] ? 0 : 1;
    return p->list[k].value[v->begin[k]];
}

/* Prepares the increments of F after the first at[k] points of each label k. SUBMOD_ECALLBACK: the
 * measure failed. */
submod_status submodi_increment_at(const submodi_points *p, const uint32_t at[2],
                                   submodi_increment *from);
/* Computes offset and gain of the points of v as one level. */
submod_status submodi_pool_points(const submodi_points *p, submodi_level *v);

/* Find the levels. SUBMOD_ECALLBACK: the measure failed. */
submod_status submodi_jaccard_levels(submodi_points *p, submod_work *work);
submod_status submodi_counts_levels(submodi_points *p, submod_work *work);

/* The method submodi_prox_counts for P + N elements without weights; of p, fn is not read. u may be
 * NULL. */
submod_status submodi_prox_of_counts(const submodi_counts *c, const submodi_prox_problem *p,
                                     double *u, double *s, submod_prox_info *info,
                                     submod_work *work);
/* Returns about the number of bytes that a prox of n elements takes from work. */
size_t submodi_prox_counts_bytes(const submod_measure *measure, size_t n, int threads);

#endif
