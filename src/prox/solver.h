/* The contract between the entry (prox.c) and the methods, one per file. */
#ifndef SUBMODI_PROX_SOLVER_H
#define SUBMODI_PROX_SOLVER_H

#include "submod/function_impl.h"
#include "submod/prox.h"

/* Checked: x finite, lambda > 0, settings in range. */
typedef struct submodi_prox_problem {
    const char *who; /* the public function, for words */
    const submod_fn *fn;
    const double *x;
    double lambda;
    const submod_prox_settings *settings;
} submodi_prox_problem;

/* Fills u and s (never NULL), and of info the counts of what it did. The entry computes primal,
 * dual and gap from u and s, sets the method and the time, and turns u and s into those of the
 * hinge. */
typedef submod_status submodi_prox_solve(const submodi_prox_problem *p, double *u, double *s,
                                         submod_prox_info *info, submod_work *work);

bool submodi_can_any(const submod_fn *fn);
submodi_prox_solve submodi_prox_min_norm;
submodi_prox_solve submodi_prox_frank_wolfe;
submodi_prox_solve submodi_prox_away_steps;

#endif
