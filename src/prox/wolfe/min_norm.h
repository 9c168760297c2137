/* Fujishige-Wolfe with a watcher, for minimisation. */
#ifndef SUBMODI_PROX_WOLFE_MIN_NORM_H
#define SUBMODI_PROX_WOLFE_MIN_NORM_H

#include "prox/wolfe/projection.h"

/* As submodi_prox_solve; watch is told of every greedy order and may end it. */
submod_status submodi_min_norm(const submodi_prox_problem *problem, submodi_watch *watch,
                               void *watch_ctx, double *u, double *s, submod_prox_info *info,
                               submod_work *work);

#endif
