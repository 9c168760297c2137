/* The prox of the Jaccard extension on two sorted lists, foreground and background. See
 * levels.c. */
#ifndef SUBMODI_PROX_TWO_COUNTS_LEVELS_H
#define SUBMODI_PROX_TWO_COUNTS_LEVELS_H

#include <stdbool.h>

#include "base/long_sum.h"
#include "prox/two_counts/two_kinds.h"

/* Background points [first, first of the next level) and foreground points [fg_begin, fg_end), all
 * at one level of u. */
typedef struct submodi_level {
    /* When finished: a point with value x has s = offset + lambda * (x - ref), ref the value of
     * point `first`. So u = ref - offset / lambda. Until then: the sum of x - ref over the
     * background pixels. */
    double offset;
    uint32_t first;
    uint32_t fg_begin, fg_end;
} submodi_level;

typedef struct submodi_levels {
    submodi_point_list fg, bg;
    double lambda;
    double per_lambda;        /* 1 / lambda */
    double P;                 /* pixels of foreground */
    submodi_long_sum *fg_sum; /* fg.count + 1 prefix sums of the foreground's values: scratch */
    submodi_level *level;     /* bg.count + 2 places, descending in u */
    size_t count;             /* of levels */
    uint64_t work;            /* points and breakpoints looked at */
} submodi_levels;

/* Fills fg_sum, level (not finished, one more at the end), count, work, per_lambda and P. The
 * values must be finite, and so must the sum of their absolute values, 1 / lambda, and lambda times
 * the range of the values. */
void submodi_levels_solve(submodi_levels *l);

/* The last level that begins at or before background point `rank`. There is one. */
size_t submodi_level_of(const submodi_levels *l, size_t rank);

/* F after the level less F before it. Avoids differences of nearly equal numbers. */
static inline double submodi_level_gain(const submodi_levels *l, const submodi_level *level)
{
    double a = submodi_pixels_before(&l->fg, level->fg_begin);
    double fg = submodi_pixels_before(&l->fg, level->fg_end) - a;
    double b = submodi_pixels_before(&l->bg, level->first);
    double bg = submodi_pixels_before(&l->bg, level[1].first) - b;
    double U = l->P + b;
    return U == 0 ? 1 : ((l->P - a) * bg + fg * U) / (U * (U + bg));
}

/* The offset of a level of several points, from its sum. */
double submodi_level_pooled(const submodi_levels *l, const submodi_level *level, double gain);

/* The offset of a level that is not finished. */
static inline double submodi_level_offset(const submodi_levels *l, const submodi_level *level,
                                          double gain)
{
    bool single = level[1].first - level->first == 1 && level->fg_begin == level->fg_end;
    return single && !l->bg.before ? gain : submodi_level_pooled(l, level, gain);
}

/* Finishes levels, writes u and s in this form to pair[index] of all points, and finds f at
 * that u (float: rounded). */
void submodi_levels_write(submodi_levels *l, submodi_origin fg, submodi_origin bg,
                          submodi_u_form form, submodi_prox_pair *pair, submodi_extension *result);

#endif
