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

/* cover[e] += 1 for each term that has element e. */
void submodi_terms_cover(const submodi_terms *t, size_t n, int32_t *cover);

/* How terms are projected. */
typedef struct submodi_projection {
    const double *r;  /* n numbers: the step down the gradient */
    double momentum;  /* Y = now + momentum (now - before) */
    double tolerance; /* of terms without an exact prox */
    double deadline;  /* INFINITY: none */
} submodi_projection;

/* For each term: before = Y + r projected on its polytope; submodi_terms_advance makes that the
 * step. sum (n numbers) gets all of them added, *turn the sum of (Y - new) (new - now): > 0 says
 * that extrapolation went too far. Errors of the terms. */
submod_status submodi_terms_project(submodi_terms *t, const submodi_projection *p, double *sum,
                                    double *turn, submod_work *w);
void submodi_terms_advance(submodi_terms *t);

/* Adds to *f the extension of each term at u, compared with its step `now`. */
submod_status submodi_terms_extension(const submodi_terms *t, const double *u, submodi_extension *f,
                                      submod_work *w);

#endif
