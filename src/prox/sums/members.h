/* The members of a cycle of projections: each is a part of a sum, or a family of chains of a cut.
 *
 * All numbers are in the units of u: a base N_j of member j appears as N_j / lambda, the step by
 * which it moves u. So u = x - sum of the steps, and the prox of the member itself, for any y, is
 * y - step. */
#ifndef SUBMODI_PROX_SUMS_MEMBERS_H
#define SUBMODI_PROX_SUMS_MEMBERS_H

#include "prox/combination.h"
#include "prox/sums/families.h"
#include "prox/sums/fold.h"

typedef struct submodi_member {
    const submodi_sum_part *part; /* of the sum */
    const submodi_family *family; /* NULL: all of the part */
    size_t k;                     /* numbers in a step */
    /* The last two steps. By element of the part, or by point of the family. */
    double *now, *before;
    bool full;               /* a part of all elements, projected by itself */
    bool fast;               /* its prox is exact */
    bool parallel;           /* may run on any thread */
    submod_combination warm; /* where Wolfe's method starts next time */
    /* The extension at the last projection, if the method left it: at u as it was then. */
    submodi_extension extension;
} submodi_member;

/* What all projections have in common. */
typedef struct submodi_cycle {
    const char *who;
    size_t n;
    double lambda;
    double *r;          /* x - all steps; projections keep it up to date */
    double momentum;    /* Y = now + momentum (now - before) */
    double unit;        /* about 1 / the size of the steps: squares are summed in these units */
    double tolerance;   /* of Wolfe's method */
    double deadline;    /* for parts that take long; INFINITY: none */
    bool ask_extension; /* whether members should leave their extension */
} submodi_cycle;

/* Projects: the new step for y = r + Y, r = y - new step. *turn += the sum of
 * (Y - new) (new - now), in units; > 0: extrapolation went too far. Errors of the part. */
submod_status submodi_member_project(submodi_member *m, submodi_cycle *c, double *turn,
                                     submod_work *work);

/* Adds to *f the member's extension at u, compared with its step `now`. */
submod_status submodi_member_extension(const submodi_member *m, const submodi_cycle *c,
                                       const double *u, submodi_extension *f, submod_work *work);

/* total += the step `now`, by element. */
void submodi_member_add_step(const submodi_member *m, double *total);

/* Whether a prox of fn by itself is exact and fast. */
bool submodi_is_fast(const submod_fn *fn);

#endif
