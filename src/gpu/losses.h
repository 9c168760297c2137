/* Losses and the prox on any backend, so that tests can bring their own. */
#ifndef SUBMODI_GPU_LOSSES_H
#define SUBMODI_GPU_LOSSES_H

#include "gpu/plan.h"

/* The task of a loss, and those of datasets and proxes, from their arguments. */
submod_status submodi_gpu_loss_start(submodi_gpu_task *task, submodi_kind kind,
                                     const submod_scores *scores, const submod_labels *labels,
                                     const submod_loss_settings *settings);
submod_status submodi_gpu_dataset_start(submodi_gpu_task *task, submodi_gpu_method method,
                                        const submod_scores *scores, const submod_labels *labels,
                                        size_t bins, const submod_loss_settings *settings);
submod_status submodi_gpu_global_start(submodi_gpu_task *task, submodi_gpu_method method,
                                       submod_gpu_loss loss, const submod_scores *scores,
                                       const submod_labels *labels, const float *range,
                                       uint64_t all_pixels, const submod_loss_settings *settings);
submod_status submodi_gpu_hinge_start(submodi_gpu_task *task, const submod_scores *scores,
                                      const submod_labels *labels, double lambda, size_t bins,
                                      const submod_loss_settings *settings);
submod_status submodi_gpu_prox_start(submodi_gpu_task *task, const submod_scores *x,
                                     const submod_labels *labels, double lambda, size_t bins,
                                     const submod_loss_settings *settings);

/* SUBMOD_EINVAL for a number that is none of the public enum. */
submod_status submodi_gpu_require_loss(submod_gpu_loss loss);
/* SUBMOD_EUNSUPPORTED for a custom measure. */
submod_status submodi_gpu_require_form(const submodi_batch *batch);
/* SUBMOD_EINVAL for bins = 0, where they have to be given; other numbers are looked at later. */
submod_status submodi_gpu_require_bins(size_t bins);

/* Arguments that stand for scores of this shape and labels for them where data are not looked at.
 */
void submodi_gpu_without_data(submod_scores *scores, submod_labels *labels, bool multilabel);
/* Bytes of workspace that a started task needs. */
submod_status submodi_gpu_workspace(submodi_gpu_task *task, size_t *bytes);

/* Checks a started task, plans it and queues its kernels. b NULL means the device in place, which
 * is connected after all other checks. */
submod_status submodi_gpu_queue(const submodi_gpu_backend *b, submodi_gpu_task *task,
                                submod_gpu_result *result, const submod_gradient *gradient,
                                const submod_gpu_place *place, const submodi_gpu_tuning *tuning);

#endif
