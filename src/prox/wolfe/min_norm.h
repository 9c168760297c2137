/* Fujishige-Wolfe with a watcher, for minimisation. */
#ifndef SUBMODI_PROX_WOLFE_MIN_NORM_H
#define SUBMODI_PROX_WOLFE_MIN_NORM_H

#include "prox/wolfe/projection.h"

/* Like submodi_prox_solve. Calls watch with every greedy order; watch may end the solver. */
submod_status submodi_min_norm(const submodi_prox_problem *problem, submodi_watch *watch,
                               void *watch_ctx, double *u, double *s, submod_prox_info *info,
                               submod_work *work);

#endif
