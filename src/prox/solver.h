/* The contract between the entry (prox.c) and the methods, one per file. */
#ifndef SUBMODI_PROX_SOLVER_H
#define SUBMODI_PROX_SOLVER_H

#include "submod/handle.h"
#include <submod/prox.h>

/* The extension f at some u (hinge: at max(u, 0)), against a base s. */
typedef struct submodi_extension {
    bool known;
    double value;  /* f(u) */
    double excess; /* f(u) - <s, u>, summed so that it does not cancel */
    double size;   /* of the terms of that sum, for what rounding is relative to */
} submodi_extension;

/* Checked: x finite, lambda > 0, settings in range. */
typedef struct submodi_prox_problem {
    const char *who; /* the public function, for words */
    const submod_fn *fn;
    const double *x;
    double lambda;
    const submod_prox_settings *settings;
    /* Where a method that can do so without a sort leaves the extension at the u and s that will be
     * returned; NULL if nobody asks. */
    submodi_extension *extension;
    /* Empty; where methods that know s as a combination leave it. NULL if nobody asks. The caller's
     * own, settings->combination, is only read: the call may yet fail. */
    submod_combination *found;
} submodi_prox_problem;

/* Fills u and s (never NULL), and of info, which is all zero, the counts of what it did. The entry
 * computes primal, dual and gap from u and s, sets the method and the time, and turns u and s into
 * those of the hinge. Scratch memory is taken from a scope on work. */
typedef submod_status submodi_prox_solve(const submodi_prox_problem *p, double *u, double *s,
                                         submod_prox_info *info, submod_work *work);

/* The methods: whether one can do a function, and the method itself. */
bool submodi_can_closed_form(const submod_fn *fn);
submodi_prox_solve submodi_prox_closed_form;
bool submodi_can_cardinality(const submod_fn *fn);
submodi_prox_solve submodi_prox_cardinality;
bool submodi_can_jaccard(const submod_fn *fn);
submodi_prox_solve submodi_prox_jaccard;
bool submodi_can_chain(const submod_fn *fn);
submodi_prox_solve submodi_prox_chain;
bool submodi_can_decompose(const submod_fn *fn);
submodi_prox_solve submodi_prox_decompose;
bool submodi_can_any(const submod_fn *fn);
submodi_prox_solve submodi_prox_min_norm;
submodi_prox_solve submodi_prox_frank_wolfe;
submodi_prox_solve submodi_prox_away_steps;
bool submodi_can_greedy_path(const submod_fn *fn);
submodi_prox_solve submodi_prox_greedy_path;

#endif
