/* Fujishige-Wolfe: the loop (min_norm.c) and the solver that divides a problem while it runs
 * (parts.c).
 *
 * All numbers of a run are in units of sigma, a power of two about the size of lambda x and of F's
 * gains, so that squares neither overflow nor vanish; lambda itself drops out. With
 * t = lambda u / sigma the problem and its gap are
 *
 *     min over t of  f(t) + |t - y|^2 / 2,        gap(t, s) = f(t) - <s, t> + |t - (y - s)|^2 / 2,
 *
 * a sum of two terms that are both >= 0, so nothing cancels. */
#ifndef SUBMODI_PROX_MIN_NORM_H
#define SUBMODI_PROX_MIN_NORM_H

#include "prox/corral.h"
#include "prox/prox_internal.h"

/* The loop, for any oracle. */
typedef struct submodi_wolfe submodi_wolfe;
struct submodi_wolfe {
    size_t n;
    double sigma;
    double *y;        /* lambda x */
    double *s;        /* the present point of the hull */
    double *t;        /* y - s */
    double *previous; /* s before the cycle */
    submodi_candidate best;
    double improves; /* how fast the objective grows towards best */
    double noise;    /* rounding error of improves */
    double levelled; /* the difference in r that the last step had to remove */
    size_t next_renewal;
    submodi_corral corral;
    /* The oracle: finds best, improves and noise for t. *done ends the run; so does a status other
     * than SUBMOD_OK. */
    submod_status (*oracle)(submodi_wolfe *w, bool *done);
    submod_prox_info *info;
    submod_work *work;
};

/* Greedy vectors to start from, with weights that are a first guess. */
typedef struct submodi_start {
    size_t count;
    const int32_t *orders; /* count x n */
    const double *weights; /* count */
    const double *points;  /* count x n, in F's own units; NULL: none is known */
    const uint8_t *known;  /* count: whether the point is there, or must be found by a chain */
} submodi_start;

/* A boundary in the order of t: the first `size` elements, and no others, have t* > level. */
typedef struct submodi_boundary {
    size_t size;
    double level; /* in units of sigma */
} submodi_boundary;

/* The projection of y onto the base polytope: the loop with the greedy algorithm as its oracle. */
typedef struct submodi_projection {
    submodi_wolfe w; /* first: the oracle gets its address */
    const submodi_prox_problem *problem;
    double *vertex; /* the greedy vector for t, by element */
    int32_t *order; /* the order of vertex */
    double *gains;
    double *best_t; /* the best primal point so far */
    double *best_g; /* its greedy vector, by element */
    double gap;     /* of best_t and s */
    double largest; /* squared length of the longest greedy vector so far */
    double *fit;
    submodi_pool *pools;
    void *state;
    void *fresh; /* a copy of the state after reset, where that costs less than a reset; or NULL */
    /* May be changed after the start. */
    double deadline;
    double allowance;             /* a gap that is small enough, in units of sigma^2; 0 */
    submodi_view view;            /* for problem->enough; the oracle fills its first fields */
    submodi_boundary *boundaries; /* room for n - 1; NULL: the run may not end with a division */
    size_t boundary_count;        /* > 0: the run has ended because the problem comes apart here */
} submodi_projection;

/* Chooses the units, and sets s and order to the greedy vector of x and its order. */
submod_status submodi_projection_start(submodi_projection *p, const submodi_prox_problem *problem,
                                       submod_prox_info *info, submod_work *work);

/* Begins with these points (count = 0: with s) and runs until the gap is small enough, a limit is
 * reached, nothing moves any more, or the problem comes apart. */
submod_status submodi_projection_run(submodi_projection *p, const submodi_start *from);

/* Writes u and s in the caller's units. Overflow: SUBMOD_ENUMERIC. */
submod_status submodi_projection_finish(const submodi_projection *p, double *u, double *s);

/* Writes the boundaries that are proved by the last order, sizes ascending. Returns their number.
 */
size_t submodi_find_boundaries(const submodi_projection *p, submodi_boundary *found);

#endif
