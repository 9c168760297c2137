/* The prox of the Jaccard extension on two sorted lists, foreground and background. See
 * levels.c. */
#ifndef SUBMODI_PROX_JACCARD_LEVELS_H
#define SUBMODI_PROX_JACCARD_LEVELS_H

#include "prox/gap.h"
#include "prox/long_sum.h"

/* Points of one label, in descending order of their values. */
typedef struct submodi_point_list {
    const double *value;
    size_t count;           /* at most 2^31 - 1 */
    const uint64_t *before; /* count + 1 sums of multiplicities; NULL: each point is one pixel */
} submodi_point_list;

static inline double submodi_pixels_before(const submodi_point_list *list, size_t rank)
{
    return (double)(list->before ? list->before[rank] : rank);
}

/* Background points [first, first of the next level) and foreground points [fg_begin, fg_end), all
 * at one level of u. */
typedef struct submodi_level {
    /* A point with value x has s = offset + lambda * (x - ref), ref the value of point `first`. So
     * u = ref - offset / lambda. While levels are still searched for: the sum of x - ref over the
     * background pixels. */
    double offset;
    uint32_t first;
    uint32_t fg_begin, fg_end;
} submodi_level;

typedef struct submodi_levels {
    submodi_point_list fg, bg;
    double lambda;
    double per_lambda;        /* 1 / lambda */
    submodi_long_sum *fg_sum; /* fg.count + 1 prefix sums of the foreground's values: scratch */
    submodi_level *level;     /* bg.count + 2 places, descending in u */
    size_t count;             /* of levels */
    uint64_t work;            /* points and breakpoints looked at */
} submodi_levels;

/* Fills fg_sum, level, count, work and per_lambda. The values must be finite, and so must the sum
 * of their absolute values, 1 / lambda, and lambda times the range of the values. */
void submodi_levels_solve(submodi_levels *l);

typedef struct submodi_prox_pair {
    double u, s;
} submodi_prox_pair;

static inline submodi_prox_pair submodi_at_level(const submodi_levels *l,
                                                 const submodi_level *level, double x)
{
    double ref = l->bg.value[level->first];
    return (submodi_prox_pair){ref - level->offset * l->per_lambda,
                               level->offset + l->lambda * (x - ref)};
}

/* u and s of the point with this rank in its list. *at is the level to start from; it moves up to
 * the first level that extends beyond rank. Begin with 0 or submodi_level_of_fg (_bg); ranks may
 * then only rise. */
static inline submodi_prox_pair submodi_levels_fg(const submodi_levels *l, size_t rank, size_t *at)
{
    while (*at < l->count && rank >= l->level[*at].fg_end) {
        ++*at;
    }
    const submodi_level *level = &l->level[*at];
    double x = l->fg.value[rank];
    if (*at < l->count && rank >= level->fg_begin) {
        return submodi_at_level(l, level, x);
    }
    double s = 1 / (submodi_pixels_before(&l->fg, l->fg.count) +
                    submodi_pixels_before(&l->bg, level->first));
    return (submodi_prox_pair){x - s * l->per_lambda, s};
}

static inline submodi_prox_pair submodi_levels_bg(const submodi_levels *l, size_t rank, size_t *at)
{
    while (rank >= l->level[*at + 1].first) {
        ++*at;
    }
    return submodi_at_level(l, &l->level[*at], l->bg.value[rank]);
}

size_t submodi_level_of_fg(const submodi_levels *l, size_t rank);
size_t submodi_level_of_bg(const submodi_levels *l, size_t rank);

/* How the caller changes u and s afterwards. */
typedef enum submodi_u_form {
    SUBMODI_U_PLAIN,
    SUBMODI_U_HINGE, /* max(u, 0), and s as prox.c makes it for the hinge */
    SUBMODI_U_FLOAT  /* u rounded to float */
} submodi_u_form;

/* The extension at u and s in this form. There is at least one point. */
void submodi_levels_extension(const submodi_levels *l, submodi_u_form form,
                              submodi_extension *result);

#endif
