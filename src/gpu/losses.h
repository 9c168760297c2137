/* The losses on any backend, so that tests can bring their own. */
#ifndef SUBMODI_GPU_LOSSES_H
#define SUBMODI_GPU_LOSSES_H

#include "gpu/plan.h"

/* p: started (submodi_problem_start). Device pointers; checks, plans and queues. */
submod_status submodi_gpu_loss(const submodi_gpu_backend *b, submodi_problem *p,
                               submod_gpu_result *result, const submod_gradient *gradient,
                               const submod_gpu_place *place, const submodi_gpu_tuning *tuning);

/* The same with host pointers: outputs as on the CPU. */
submod_status submodi_gpu_loss_host(const submodi_gpu_backend *b, submodi_problem *p, double *loss,
                                    const submod_gradient *gradient, submod_loss_info *info,
                                    const submodi_gpu_tuning *tuning);

#endif
