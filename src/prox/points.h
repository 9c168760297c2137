/* The prox of a function of counts on points with a value, a label and a multiplicity: used by set
 * functions, weighted points, histograms and the hinge layer. */
#ifndef SUBMODI_PROX_POINTS_H
#define SUBMODI_PROX_POINTS_H

#include "prox/prox_internal.h"
#include "submod/measure_internal.h"

typedef struct submodi_point_set {
    size_t n;                      /* at most 2^31 - 1 */
    const double *x;               /* finite */
    const uint32_t *foreground;    /* bit i % 32 of word i / 32 */
    const double *multiplicity;    /* > 0: the pixels of each point; NULL means ones */
    const submod_measure *measure; /* checked */
    double lambda;                 /* > 0, finite */
    bool hinge;                    /* the prox of f(max(u, 0)) */
} submodi_point_set;

/* Returns the number of 32-bit words of foreground flags for n points. */
static inline size_t submodi_flag_words(size_t n)
{
    return n / 32 + 1;
}

typedef struct submodi_prox_pair {
    double u, s;
} submodi_prox_pair;

/* pair: u and s of each point; s is that of each of its pixels. *found: f at u, untouched if n = 0.
 * Fills method, iterations and work of info. SUBMOD_ECALLBACK: the measure failed. SUBMOD_ENUMERIC:
 * sums of x, 1 / lambda or lambda * (max x - min x) overflow. SUBMOD_ENOMEM. */
submod_status submodi_points_prox(const submodi_point_set *p, submodi_prox_pair *pair,
                                  submodi_extension *found, submod_prox_info *info,
                                  submod_work *work);

/* Returns the scratch memory that it takes from work, for ones as multiplicities and so many
 * threads; SIZE_MAX when it does not fit into a size_t. */
size_t submodi_points_prox_bytes(const submod_measure *measure, size_t n, int threads);

/* ---- what the methods fill: prox_jaccard.c, prox_counts.c ---- */

/* Points of one label, in descending order of their values. */
typedef struct submodi_point_list {
    const double *value;
    size_t count;
    const double *before; /* count + 1 sums of multiplicities; NULL: each point is one pixel */
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

/* Points [begin[k], end[k]) of both labels, 0 background and 1 foreground, at one level of u. A
 * point with value x has s = offset + lambda (x - ref), so u = ref - offset / lambda; ref is the
 * value of the first background point, of the first foreground point if there is none. A level of
 * one point has s = gain, whatever its offset. */
typedef struct submodi_level {
    double offset;
    double gain; /* F after the level less F before it, per pixel */
    uint32_t begin[2], end[2];
} submodi_level;

/* The levels of u in descending order. Of Jaccard, foreground points may stand between two levels:
 * each has its own u, and s = 1 / (P + b) after b background pixels. */
typedef struct submodi_levels {
    const submod_measure *measure;
    submodi_point_list list[2];
    double total[2]; /* pixels: N, P */
    double lambda;
    submodi_level *level; /* n + 1 */
    size_t count;
    uint64_t work; /* points, breakpoints and evaluations */
} submodi_levels;

static inline size_t submodi_level_rank(const submodi_level *v)
{
    return (size_t)v->begin[0] + v->begin[1];
}

static inline size_t submodi_level_size(const submodi_level *v)
{
    return (size_t)(v->end[0] - v->begin[0]) + (v->end[1] - v->begin[1]);
}

static inline double submodi_level_ref(const submodi_levels *l, const submodi_level *v)
{
    int k = v->begin[0] < v->end[0] ? 0 : 1;
    return l->list[k].value[v->begin[k]];
}

/* Find level, count and work. */
submod_status submodi_jaccard_levels(submodi_levels *l, submod_work *work);
submod_status submodi_counts_levels(submodi_levels *l, submod_work *work);
size_t submodi_counts_levels_bytes(size_t n);

#endif
