/* The bundle: planes <a_j, x> + b_j below a convex function, a limited number of them. */
#ifndef SUBMODI_OPTIM_PLANES_H
#define SUBMODI_OPTIM_PLANES_H

#include <submod/base.h>

typedef struct submodi_planes {
    size_t n, count, capacity, limit;
    double *a, *b;  /* count rows of n numbers, count numbers */
    double *weight; /* the multipliers of the last master problem; 0 for later planes */
    size_t *idle;   /* master problems since the weight was last above 0 */
    double *slope;  /* n numbers: sum of weight_j a_j, */
    double offset;  /* and of weight_j b_j: itself a plane below the function */
} submodi_planes;

/* False: no memory. submodi_planes_clear must be called in any case. */
int submodi_planes_open(submodi_planes *p, size_t n, size_t limit);
void submodi_planes_clear(submodi_planes *p);

/* Call after a master problem has filled weight. Makes the weights a convex combination, computes
 * slope and offset, and counts for how long planes are idle. */
void submodi_planes_combine(submodi_planes *p);

/* Adds a plane. If the bundle is full, it first drops the plane that was idle longest, or merges
 * the two lightest. The combined plane stays below the maximum of those left: without that,
 * dropping planes could go round in circles. False: no memory, and nothing has changed. */
int submodi_planes_add(submodi_planes *p, const double *a, double b);

/* max over j of <a_j, x> + b_j */
double submodi_planes_value(const submodi_planes *p, const double *x);

#endif
