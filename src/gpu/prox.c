/* The public Jaccard prox, on device and on host pointers. */
#include "base/error.h"
#include "gpu/losses.h"

submod_status submodi_gpu_prox_start(submodi_gpu_task *task, const char *who,
                                     const submod_scores *x, const submod_labels *labels,
                                     double lambda, size_t bins,
                                     const submod_loss_settings *settings)
{
    submod_status status = submodi_require_positive(who, "lambda", lambda);
    if (status != SUBMOD_OK) {
        return status;
    }
    if (bins == 0) {
        return submodi_fail(SUBMOD_EINVAL, "%s: bins = 0 must be a power of two from 2 to 2^20",
                            who);
    }
    status = submodi_batch_start(&task->batch, who, SUBMODI_PROX, x, labels, settings);
    task->batch.settings.engine = SUBMOD_ENGINE_HISTOGRAM;
    task->batch.settings.bins = bins;
    task->batch.settings.per_image = 1;
    task->method = SUBMODI_GPU_PROX;
    task->group_losses = 0;
    task->lambda = lambda;
    return status;
}

submod_status submod_gpu_prox_workspace(const submod_scores *x, size_t bins, size_t *bytes)
{
    static const char who[] = "submod_gpu_prox_workspace";
    if (!x || !bytes) {
        return submodi_fail(SUBMOD_EINVAL, "%s: %s is NULL", who, x ? "bytes" : "x");
    }
    submodi_gpu_task task;
    submod_scores view = *x;
    submod_labels labels;
    submodi_gpu_without_data(&view, &labels, true);
    submod_status status = submodi_gpu_prox_start(&task, who, &view, &labels, 1, bins, NULL);
    return status == SUBMOD_OK ? submodi_gpu_workspace(&task, bytes) : status;
}

/* What both calls check first. */
static submod_status start(submodi_gpu_task *task, const char *who, const submod_scores *x,
                           const submod_labels *labels, double lambda, size_t bins,
                           const submod_gradient *u, const submod_loss_settings *settings)
{
    submod_status status = submodi_gpu_prox_start(task, who, x, labels, lambda, bins, settings);
    return status == SUBMOD_OK && !u ? submodi_fail(SUBMOD_EINVAL, "%s: u is NULL", who) : status;
}

submod_status submod_gpu_prox_jaccard(const submod_scores *x, const submod_labels *labels,
                                      double lambda, size_t bins, const submod_gradient *u,
                                      submod_gpu_result *result,
                                      const submod_loss_settings *settings,
                                      const submod_gpu_place *place)
{
    submodi_gpu_task task;
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    submod_status status =
        start(&task, "submod_gpu_prox_jaccard", x, labels, lambda, bins, u, settings);
    return status == SUBMOD_OK ? submodi_gpu_queue(NULL, &task, result, u, place, &tuning) : status;
}

submod_status submod_gpu_prox_jaccard_host(const submod_scores *x, const submod_labels *labels,
                                           double lambda, size_t bins, const submod_gradient *u,
                                           double *delta, const submod_loss_settings *settings,
                                           int device)
{
    submodi_gpu_task task;
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    submod_gpu_result r = {0};
    size_t bytes;
    submod_status status =
        start(&task, "submod_gpu_prox_jaccard_host", x, labels, lambda, bins, u, settings);
    status = status ? status : submodi_gpu_host(NULL, device, &task, u, &tuning, &r, &bytes);
    if (status == SUBMOD_OK && delta) {
        *delta = r.delta;
    }
    return status;
}
