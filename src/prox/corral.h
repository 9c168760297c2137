/* Wolfe's corral: affinely independent points of R^n with weights > 0, and the steps of an
 * active-set method towards
 *
 *     max over w in the simplex of  <w, offset> - |p(w) - y|^2 / 2,      p(w) = sum of w_j point_j
 *
 * (Wolfe, Finding the nearest point in a polytope, 1976). With all offsets 0 it projects y onto the
 * convex hull of the points; with offsets it solves the dual of a max-affine prox. At a point p,
 * with t = y - p, the objective grows per unit of w_j by r_j = <point_j, t> + offset_j.
 *
 * The step from p solves  M d = r + mu 1,  sum of d = 0,  where M = G + kappa 11' = U'U and G is
 * the Gram matrix of the points relative to their origin. The shift kappa does not change d, and M
 * is positive definite whether or not 0 is in the affine hull. r is measured at p, so that each
 * step corrects the rounding errors of the factor in the step before. All sums have a fixed order:
 * the bits of the result do not depend on the number of threads. */
#ifndef SUBMODI_PROX_CORRAL_H
#define SUBMODI_PROX_CORRAL_H

#include "base/internal.h"

/* A point to be added. */
typedef struct submodi_candidate {
    const double *point; /* n */
    double offset;
    const int32_t *order; /* n, if orders are kept */
    size_t tag;           /* the caller's, kept with the point */
} submodi_candidate;

/* Points do not move in memory: each has a slot, and positions 0 .. count - 1 list the slots. They
 * are stored relative to an origin, so that nothing is lost where the hull is small and far away.
 */
typedef struct submodi_corral {
    size_t n, count, capacity;
    bool keep_orders;
    double *origin; /* n */
    /* By slot. */
    double *rows; /* capacity x n: point - origin */
    int32_t *orders;
    double *offsets;
    size_t *tags;
    /* By position. */
    size_t *slots; /* the slots in use, then the free ones */
    double *weights;
    double *r;      /* relative to its mean under the weights */
    double *column; /* of M, for the point that comes in */
    double *step;
    /* The factor of the first `factored` points, all but the one that comes in. */
    size_t factored;
    double *u;       /* row-major upper triangle, leading dimension capacity */
    double *ones;    /* U'\1 */
    double *rhs;     /* U'\r */
    double *forward; /* U'\column */
    double kappa;
    double spread; /* largest |r| when it was last measured, without the new point: 0 at the best
                      point of the affine hull, so it shows how far the last step fell short */
    size_t minor_cycles;
    submod_work *work;
} submodi_corral;

/* Starts without points. Memory comes from work and grows with the number of points. */
submod_status submodi_corral_init(submodi_corral *c, size_t n, const double *origin,
                                  bool keep_orders, submod_work *work);

/* Measures r at the present point p, where t = y - p, and adds a new point with weight 0. A point
 * in the affine hull of the others replaces one of them, with weights moved so that p stays and the
 * objective grows; *added is false if that is impossible. */
submod_status submodi_corral_add(submodi_corral *c, const submodi_candidate *new, const double *t,
                                 bool *added);

/* Minor cycles: moves towards the best point of the affine hull, and drops points whose weight
 * becomes 0 on the way, until the best point lies in the convex hull. Writes it to s. */
void submodi_corral_settle(submodi_corral *c, double *s);

/* Makes the weights sum to 1, and writes the point that they describe to s. */
void submodi_corral_combine(submodi_corral *c, double *s);

/* Measures r at the present point: the next settle starts from there. */
void submodi_corral_measure(submodi_corral *c, const double *t);

/* Measures r and computes the factor again from the points. Returns false if the points are
 * dependent in double precision; the corral must not be used any more then. */
bool submodi_corral_renew(submodi_corral *c, const double *t);

/* Returns the weighted mean of offset - base. */
double submodi_corral_mean_offset(const submodi_corral *c, double base);

#endif
