/* Algorithm 2 of the paper's supplement on sorted entries. See algorithm2.c. */
#ifndef SUBMODI_PROX_ALGORITHM2_H
#define SUBMODI_PROX_ALGORITHM2_H

#include <stdbool.h>

#include <submod/prox.h>

/* Entries in falling order, and g, the gains of F along it. */
typedef struct submodi_algorithm2 {
    submod_prox_method method; /* one of the SUBMOD_PROX_ALGORITHM_2 */
    size_t n;
    double lambda;
    bool hinge;
    size_t max_iterations; /* 0 means 100000 */
    double deadline;       /* submodi_deadline */
    double *v;             /* in: v0; out: what the algorithm returns */
    double *g;             /* in: the gains; out: lambda (v0 - v), which does not cancel */
    size_t iterations;     /* out: edges passed; of ALGORITHM_2 the distinct entries of v */
} submodi_algorithm2;

static inline bool submodi_is_algorithm2(submod_prox_method method)
{
    return method == SUBMOD_PROX_ALGORITHM_2 || method == SUBMOD_PROX_ALGORITHM_2_LOOP ||
           method == SUBMOD_PROX_ALGORITHM_2_PRINTED;
}

/* Returns SUBMOD_MAXITER, SUBMOD_TIMELIMIT or SUBMOD_CANCELLED with the v reached. */
submod_status submodi_algorithm2_run(submodi_algorithm2 *a, submod_work *work);

/* The same on the elements of fn at x: u and d = lambda (x - u), by element. Both have n numbers.
 */
submod_status submodi_algorithm2_of(const submod_fn *fn, const double *x, submodi_algorithm2 *a,
                                    double *u, double *d, submod_work *work);

#endif
