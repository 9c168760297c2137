/* This rank's terms of a sum, and the bases that prove what it has of the prox.
 *
 * All numbers are in the units of u: a base N of a term appears as N / lambda, the step by which it
 * moves u. */
#ifndef SUBMODI_DIST_TERMS_H
#define SUBMODI_DIST_TERMS_H

#include "prox/combination.h"
#include "prox/solver.h"

typedef struct submodi_term {
    const submod_fn *fn;     /* what is inside, if the term is embedded */
    const int32_t *elements; /* its elements among all; NULL: they are all */
    size_t k;                /* how many */
    double share;            /* 1 / the largest number of ranks that share one of them */
    double *now, *before;    /* the last two steps; before any, 0 */
    submod_combination warm; /* where Wolfe's method starts next time */
} submodi_term;

typedef struct submodi_terms {
    const char *who;
    double lambda;
    submodi_term *term;
    size_t count;
    double *v, *s; /* scratch, as large as the largest term needs */
} submodi_terms;

/* Memory for all terms; count 0 is fine. SUBMOD_ENOMEM. */
submod_status submodi_terms_take(submodi_terms *t, submod_fn *const *fns, size_t count,
                                 submod_work *w);
void submodi_terms_clear(submodi_terms *t);

/* ranks[e] = 1 if some term has element e, else 0: to be added up over the ranks. Then each term is
 * told what these sums are. */
void submodi_terms_touch(const submodi_terms *t, size_t n, int32_t *ranks);
void submodi_terms_share(submodi_terms *t, const int32_t *ranks);

/* How terms are projected. */
typedef struct submodi_projection {
    double *r;            /* n numbers: x - sum of Y, over all ranks; then what is left of it */
    const int32_t *ranks; /* that share each element */
    double momentum;      /* Y = now + momentum (now - before) */
    double tolerance;     /* of terms without an exact prox */
    double deadline;      /* INFINITY: none */
} submodi_projection;

/* For one term after the other: before = Y + share * r projected on its polytope, and r goes down
 * by `ranks` times how far that is from Y; submodi_terms_advance makes it the step. sum (n numbers)
 * gets all steps added, *turn the sum of (Y - new) (new - now): > 0 says that extrapolation went
 * too far. Errors of the terms. */
submod_status submodi_terms_project(submodi_terms *t, const submodi_projection *p, double *sum,
                                    double *turn, submod_work *w);
void submodi_terms_advance(submodi_terms *t);

/* Adds to *f the extension of each term at u, compared with its step `now`. */
submod_status submodi_terms_extension(const submodi_terms *t, const double *u, submodi_extension *f,
                                      submod_work *w);

#endif
