/* Wolfe's method for the point of a polytope nearest to y (Wolfe, Finding the nearest point in a
 * polytope, 1976; docs/mathematics.md, section 7): the corral (corral.c), the loop over any oracle
 * (min_norm.c), and the projection on a base polytope, which parts.c divides while it runs. */
#ifndef SUBMODI_PROX_MIN_NORM_H
#define SUBMODI_PROX_MIN_NORM_H

#include "base/internal.h"
#include "prox/prox_internal.h"

/* ---- the corral ----
 *
 * Affinely independent points with weights w > 0, and the steps of an active-set method towards
 *
 *     max over w in the simplex of  <w, offset> - |p(w) - y|^2 / 2,     p(w) = sum of w_j point_j.
 *
 * At s = p(w), with t = y - s, the objective grows per unit of w_j by r_j = <point_j, t> +
 * offset_j. All sums have a fixed order: bits do not depend on the number of threads. */

/* A candidate for a new point. */
typedef struct submodi_candidate {
    const double *point; /* n numbers, multiplied by scale */
    double scale;        /* a power of two */
    double offset;
    const int32_t *order; /* n, or NULL in all candidates */
    size_t tag;           /* the caller's, kept with the point */
} submodi_candidate;

/* A point relative to the origin of the corral, so that small hulls far away lose nothing. */
typedef struct submodi_corral_point {
    double *row;    /* n */
    int32_t *order; /* NULL unless orders are kept */
    double offset;
    size_t tag;
} submodi_corral_point;

typedef struct submodi_corral {
    size_t n, count, capacity;
    const double *y;
    double *origin, *s, *t, *previous; /* n each; previous is scratch */
    bool keep_orders;
    /* By position; the memory of removed points comes last. */
    submodi_corral_point *points;
    double *weights;
    double *r; /* relative to its mean under the weights */
    double *step;
    /* The factor of the first `factored` points: all but the new one. */
    size_t factored;
    double *u;       /* row-major upper triangle, leading dimension capacity */
    double *ones;    /* U'\1 */
    double *rhs;     /* U'\r */
    double *forward; /* U'\the new point's column of M */
    double kappa;
    double mean_offset; /* under the weights, as of s */
    double spread;      /* largest |r|, without the new point, when it was last measured: 0 at the
                           best point of the affine hull */
    size_t minor_cycles;
    submod_work *work;
} submodi_corral;

/* Starts without points, at s = first, which becomes the origin. Memory comes from work and grows
 * with the points. */
submod_status submodi_corral_init(submodi_corral *c, size_t n, const double *y,
                                  const submodi_candidate *first, submod_work *work);

/* Adds a point with this weight. A point in the affine hull of the others replaces one of them,
 * with weights moved so that s stays and the objective grows; *added is false if that is
 * impossible. */
submod_status submodi_corral_add(submodi_corral *c, const submodi_candidate *new, double weight,
                                 bool *added);

/* Minor cycles: moves s to the best point of the affine hull, and drops points whose weight becomes
 * 0 on the way, until that point lies in the convex hull. Returns twice the growth of the
 * objective, summed so that it does not cancel. */
double submodi_corral_settle(submodi_corral *c);

/* Moves s to the point that the weights describe, scaled to sum 1, and settles from there. */
void submodi_corral_settle_weights(submodi_corral *c);

/* Computes the factor again from the points. Returns SUBMOD_INACCURATE if they are dependent in
 * double precision; the corral must not be used any more then. */
submod_status submodi_corral_renew(submodi_corral *c);

/* ---- the loop ---- */

typedef struct submodi_wolfe submodi_wolfe;
struct submodi_wolfe {
    submodi_corral corral;
    double *y;
    double sigma; /* the unit of all numbers, a power of two: squares neither overflow nor vanish */
    submodi_candidate best;
    double improves; /* growth rate of the objective towards best */
    double noise;    /* rounding error of improves */
    /* The oracle: finds best, improves and noise for t. *done ends the run; so does a status other
     * than SUBMOD_OK. */
    submod_status (*oracle)(submodi_wolfe *w, bool *done);
    size_t limit; /* calls of the oracle */
    double deadline;
    submod_prox_info *info;
    submod_work *work;
};

/* ---- the projection of y = lambda x / sigma onto the base polytope ----
 *
 * With t = lambda u / sigma, lambda drops out of the problem and its gap,
 *
 *     min over t of  f(t) + |t - y|^2 / 2,        gap(t, s) = f(t) - <s, t> + |t - (y - s)|^2 / 2,
 *
 * a sum of two terms that are both >= 0, so nothing cancels. */

/* Greedy vectors to start from, with weights that are a first guess. */
typedef struct submodi_start {
    size_t count;
    const int32_t *orders; /* count x n */
    const double *weights; /* count */
    const double *points;  /* count x n, in F's own units; NULL if none is known */
    const uint8_t *known;  /* count flags: whether `points` has it, or a chain must compute it */
} submodi_start;

/* A boundary in the order of t: the first `size` elements, and no others, have t* > level. */
typedef struct submodi_boundary {
    size_t size;
    double level; /* in units of sigma */
} submodi_boundary;

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
    double allowance;             /* a gap that is small enough, in units of sigma^2; 0 */
    submodi_view view;            /* for problem->enough */
    submodi_boundary *boundaries; /* room for n - 1; NULL if the run may not end with a division */
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

/* Writes the boundaries that are proved by the last order, sizes ascending (parts.c). Returns their
 * number. */
size_t submodi_find_boundaries(const submodi_projection *p, submodi_boundary *found);

#endif
