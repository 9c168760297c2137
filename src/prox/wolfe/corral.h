/* Wolfe's corral: affinely independent points of R^n with weights > 0, and the step to the best
 * point of their convex hull for
 *
 *     max over w in the simplex of  <w, offset> - |p(w) - y|^2 / 2,      p(w) = sum of w_j point_j.
 *
 * With all offsets 0 this is the projection of y onto the hull (Fujishige-Wolfe); with offsets it
 * is the dual of a max-affine prox. At a point p, with t = y - p, the objective grows per unit of
 * w_j by r_j = <point_j, t> + offset_j.
 *
 * The step from p solves  M d = r + mu 1,  sum of d = 0,  where M = G + kappa 11' and G is the Gram
 * matrix of the points relative to their origin. On sum of d = 0 the shift kappa changes nothing.
 * M is positive definite if the points are affinely independent, whether or not 0 is in their
 * affine hull. r is measured at p, so each step corrects the rounding errors of the factor in the
 * step before, and they do not pile up. */
#ifndef SUBMODI_PROX_WOLFE_CORRAL_H
#define SUBMODI_PROX_WOLFE_CORRAL_H

#include "prox/wolfe/factor.h"
#include "prox/wolfe/vertices.h"

/* A point to be added. */
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
    size_t capacity; /* of the next five arrays, which go by position */
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
    SUBMODI_CORRAL_REFUSED, /* already in the affine hull of the others, and of no use */
    SUBMODI_CORRAL_NO_MEMORY
} submodi_corral_result;

bool submodi_corral_init(submodi_corral *c, size_t n, const double *origin, bool keep_orders,
                         submod_work *work);

/* Measures r at the present point p, where t = y - p, and adds a new point; submodi_corral_settle
 * then uses it. A point in the affine hull of the others replaces one of them: weights move so that
 * p stays and the objective grows. */
submodi_corral_result submodi_corral_add(submodi_corral *c, const submodi_candidate *new,
                                         const double *t, submod_work *work);

/* Minor cycles: walks towards the best point of the affine hull, and drops points whose weight
 * becomes 0 on the way, until the best point lies in the convex hull. At most one cycle per
 * point. */
void submodi_corral_settle(submodi_corral *c);

/* Measures r at the corral's present point: the next settle starts from there. */
void submodi_corral_measure(submodi_corral *c, const double *t);

/* Measures r and computes the factor again from the points. false: the points are dependent in
 * double precision; the corral must then not be used any more. */
bool submodi_corral_renew(submodi_corral *c, const double *t);

#endif
