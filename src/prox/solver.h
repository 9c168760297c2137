/* The contract between the entry (prox.c) and the methods, one per file. */
#ifndef SUBMODI_PROX_SOLVER_H
#define SUBMODI_PROX_SOLVER_H

#include "submod/handle.h"
#include <submod/prox.h>

/* The extension f at some u (hinge: at max(u, 0)), compared with a base s. */
typedef struct submodi_extension {
    bool known;
    double value;  /* f(u) */
    double excess; /* f(u) - <s, u>, summed so that it does not cancel */
    double size;   /* size of the terms of that sum: rounding is relative to it */
} submodi_extension;

/* Checked: x finite, lambda > 0, settings in range. */
typedef struct submodi_prox_problem {
    const char *who; /* the public function, for error messages */
    const submod_fn *fn;
    const double *x;
    double lambda;
    const submod_prox_settings *settings;
    /* A method that knows the extension at the final u and s without a sort stores it here. NULL if
     * nobody asks. */
    submodi_extension *extension;
    /* Empty at first. A method that knows s as a combination stores it here. NULL if nobody asks.
     * The caller's own, settings->combination, is only read, because the call may still fail. */
    submod_combination *found;
} submodi_prox_problem;

/* Fills u and s (never NULL) and the counts in info, which starts at zero. prox.c computes primal,
 * dual and gap from u and s, sets method and time, and turns u and s into those of the hinge.
 * Scratch memory is taken from a scope on work. */
typedef submod_status submodi_prox_solve(const submodi_prox_problem *p, double *u, double *s,
                                         submod_prox_info *info, submod_work *work);

/* The methods: whether one can handle a function, and the method itself. */
bool submodi_can_closed_form(const submod_fn *fn);
submodi_prox_solve submodi_prox_closed_form;
bool submodi_can_cardinality(const submod_fn *fn);
submodi_prox_solve submodi_prox_cardinality;
bool submodi_can_jaccard(const submod_fn *fn);
submodi_prox_solve submodi_prox_jaccard;
bool submodi_can_chain(const submod_fn *fn);
submodi_prox_solve submodi_prox_chain;
bool submodi_can_cut(const submod_fn *fn);
submodi_prox_solve submodi_prox_cut;
bool submodi_can_decompose(const submod_fn *fn);
submodi_prox_solve submodi_prox_decompose;
bool submodi_can_any(const submod_fn *fn);
submodi_prox_solve submodi_prox_min_norm;
submodi_prox_solve submodi_prox_frank_wolfe;
submodi_prox_solve submodi_prox_away_steps;
bool submodi_can_greedy_path(const submod_fn *fn);
submodi_prox_solve submodi_prox_greedy_path;

#endif
