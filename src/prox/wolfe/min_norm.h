/* Fujishige-Wolfe: one run on one function (min_norm.c), and the whole solver, which takes a
 * problem apart into pieces and runs on each (pieces.c). */
#ifndef SUBMODI_PROX_WOLFE_MIN_NORM_H
#define SUBMODI_PROX_WOLFE_MIN_NORM_H

#include "prox/wolfe/corral.h"
#include "prox/wolfe/level_cuts.h"
#include "prox/wolfe/projection.h"

/* Greedy vectors to start from, with weights that are a first guess. */
typedef struct submodi_start {
    size_t count;
    const int32_t *orders; /* count x n */
    const double *weights; /* count */
    const double *points;  /* count x n, in F's own units; NULL: none is known */
    const uint8_t *known;  /* count: whether the point is there, or must be found by a chain */
} submodi_start;

typedef struct submodi_wolfe {
    submodi_projection p;
    submodi_corral corral;
    double *before;      /* s before the cycle */
    double levelled;     /* the difference in r that the last step had to remove */
    size_t next_renewal; /* the factor is not renewed for drift before this iteration */
    unsigned failures;   /* cycles without progress, in a row */
    /* Where to look for cuts: NULL if the run may not end with a split. */
    submodi_cut *cuts;
    size_t cut_count; /* after a run: > 0 if it ended because the problem comes apart here */
} submodi_wolfe;

/* After submodi_projection_start: puts the points into the corral. Without points (count = 0) the
 * greedy vector of x is the start. */
submod_status submodi_wolfe_start(submodi_wolfe *m, const submodi_start *from);

/* Cycles until the projection is good, a limit is hit, nothing moves any more, or the problem comes
 * apart. */
submod_status submodi_wolfe_run(submodi_wolfe *m);

/* Like submodi_prox_solve. Calls watch with every greedy order; watch may end the solver. */
submod_status submodi_min_norm(const submodi_prox_problem *problem, submodi_watch *watch,
                               void *watch_ctx, double *u, double *s, submod_prox_info *info,
                               submod_work *work);

#endif
