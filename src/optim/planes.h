/* The bundle: planes <a_j, x> + b_j below a convex function, a limited number of them. */
#ifndef SUBMODI_OPTIM_PLANES_H
#define SUBMODI_OPTIM_PLANES_H

#include <submod/base.h>

/* A plane <slope, .> + offset. It lies below a function for some slope at a distance of at most
 * tilt. tilt is the rounding error of the slope; offset has already been lowered by its own
 * rounding error. */
typedef struct submodi_plane {
    double *slope, offset, tilt;
} submodi_plane;

/* Moves the plane towards the target by this share of the distance, in [0, 1]. */
void submodi_plane_move(submodi_plane *plane, size_t n, const submodi_plane *target, double share);

/* Returns a lower bound on the minimum of <slope, y> + offset + decay/2 |y|^2 over all y, or with
 * decay = 0 over all y within radius of the centre. Subtracts the rounding errors of the plane and
 * of this computation. */
double submodi_plane_lowest(const submodi_plane *plane, size_t n, double decay,
                            const double *centre, double radius);

typedef struct submodi_planes {
    size_t n, count, capacity, limit;
    double *a, *b;          /* count rows of n numbers, count numbers */
    double *error;          /* count numbers: how much b_j was lowered for its rounding error */
    double *tilt;           /* count numbers: the rounding error of the slope a_j */
    double *norm;           /* count numbers: |a_j| */
    double *weight;         /* the multipliers of the last master problem; 0 for later planes */
    size_t *idle;           /* master problems since the weight was last above 0 */
    submodi_plane combined; /* the sum of weight_j times plane j, also below the function */
    double lowered;         /* how much rounding errors have lowered combined.offset */
} submodi_planes;

/* False: no memory. submodi_planes_clear must be called in any case. */
int submodi_planes_open(submodi_planes *p, size_t n, size_t limit);
void submodi_planes_clear(submodi_planes *p);

/* Solves the master problem, the prox of max(planes) at x, into u. Its multipliers become the
 * weights, normalised to a convex combination of the planes, which is stored in combined (at first
 * its slope is 0 and its offset -INFINITY). Counts for how long planes are idle. Fails as
 * submod_prox_max_affine does, with its error message. */
submod_status submodi_planes_prox(submodi_planes *p, const double *x, double lambda, double *u,
                                  submod_work *work);

/* Adds the plane <a, .> + b, which was lowered by error (submodi_oracle_offset). If the bundle is
 * full, it first drops the plane that was idle longest, or merges the two lightest. The combined
 * plane stays below the maximum of those left: without that, dropping planes could go round in
 * circles. False: no memory, and nothing has changed. */
int submodi_planes_add(submodi_planes *p, const double *a, double b, double error);

/* max over j of <a_j, x> + b_j */
double submodi_planes_value(const submodi_planes *p, const double *x);

#endif
