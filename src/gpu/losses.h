/* The losses on any backend, so that tests can bring their own. */
#ifndef SUBMODI_GPU_LOSSES_H
#define SUBMODI_GPU_LOSSES_H

#include "gpu/plan.h"

/* batch: started (submodi_batch_start, or submodi_gpu_prox_start with its lambda; 0 for losses).
 * Device pointers; checks, plans and queues. b NULL: the device of this machine that place names,
 * asked for after everything else. */
submod_status submodi_gpu_loss(const submodi_gpu_backend *b, submodi_batch *batch, double lambda,
                               submod_gpu_result *result, const submod_gradient *gradient,
                               const submod_gpu_place *place, const submodi_gpu_tuning *tuning);

/* The same with host pointers: checks the labels too, copies, runs, waits. Without SUBMOD_OK *r and
 * *bytes (of workspace) mean nothing, and the gradient is untouched. */
submod_status submodi_gpu_host(const submodi_gpu_backend *b, submodi_batch *batch, double lambda,
                               const submod_gradient *gradient, const submodi_gpu_tuning *tuning,
                               submod_gpu_result *r, size_t *bytes);
/* The device for such a call, asked for after what is quick to check and before the labels. */
submod_status submodi_gpu_connect_for(submodi_batch *batch, const submod_gradient *gradient,
                                      int device, submodi_gpu_backend *b);

/* A loss with host pointers: outputs as on the CPU. */
submod_status submodi_gpu_loss_host(const submodi_gpu_backend *b, submodi_batch *batch,
                                    double *loss, const submod_gradient *gradient,
                                    submod_loss_info *info, const submodi_gpu_tuning *tuning);

/* The prox of these arguments as a batch. */
submod_status submodi_gpu_prox_start(const char *who, const submod_scores *x,
                                     const submod_labels *labels, double lambda, size_t bins,
                                     const submod_loss_settings *settings, submodi_batch *batch);

#endif
