/* Wolfe's corral: affinely independent points of R^n with weights > 0, and the step to the best
 * point of their convex hull for
 *
 *     max over w in the simplex of  <w, offset> - |p(w) - y|^2 / 2,      p(w) = sum of w_j point_j.
 *
 * With all offsets 0 that is the projection of y onto the hull (Fujishige-Wolfe); with offsets it
 * is the dual of a max-affine prox. At a point p the objective grows by r_j = <point_j, t> +
 * offset_j, t = y - p, per unit of w_j.
 *
 * The step from p solves  M d = r + mu 1,  sum of d = 0,  where M = G + kappa 11' and G is the Gram
 * matrix of the points relative to their origin. On sum of d = 0 the shift kappa changes nothing,
 * and M is positive definite wherever the points are affinely independent, 0 in their affine hull
 * or not. Because r is measured at p, rounding errors of the factor are corrected by the next step
 * instead of piling up. */
#ifndef SUBMODI_PROX_WOLFE_CORRAL_H
#define SUBMODI_PROX_WOLFE_CORRAL_H

#include "prox/wolfe/factor.h"
#include "prox/wolfe/vertices.h"

/* A point that wants to come in. */
typedef struct submodi_candidate {
    const double *point; /* n */
    double offset;
    const int32_t *order; /* n, if orders are kept */
    size_t tag;           /* the caller's, kept with the point */
} submodi_candidate;

typedef struct submodi_corral {
    submodi_vertices points;
    submodi_factor factor;
    double kappa;
    size_t capacity; /* of the next five, by position */
    size_t *tags;
    double *offsets;
    double *r;      /* relative to its mean under the weights */
    double *column; /* of M, for the point that comes in */
    double *step;
    size_t minor_cycles;
    double spread; /* largest |r| of the points present when r was last measured: 0 at the best
                      point of their affine hull, so it tells how far the last step fell short */
} submodi_corral;

typedef enum submodi_corral_result {
    SUBMODI_CORRAL_ADDED,
    SUBMODI_CORRAL_REFUSED, /* in the affine hull of the others already, and of no use */
    SUBMODI_CORRAL_NO_MEMORY
} submodi_corral_result;

bool submodi_corral_init(submodi_corral *c, size_t n, const double *origin, bool keep_orders,
                         submod_work *work);

/* Measures r at the corral's present point, where t = y - p, and takes a new point in;
 * submodi_corral_settle then makes use of it. A point in the affine hull of the others replaces one
 * of them, along the line on which p stays and the objective grows. */
submodi_corral_result submodi_corral_add(submodi_corral *c, const submodi_candidate *new,
                                         const double *t, submod_work *work);

/* Minor cycles: walks to the best point of the affine hull, dropping the points whose weight
 * becomes 0 on the way, until that point lies in the convex hull. At most one cycle per point. */
void submodi_corral_settle(submodi_corral *c);

/* Measures r at the corral's present point: the next settle starts from there. */
void submodi_corral_measure(submodi_corral *c, const double *t);

/* Measures r and computes the factor anew from the points. false: the points are dependent in
 * double precision; the corral must then not be used further. */
bool submodi_corral_renew(submodi_corral *c, const double *t);

#endif
