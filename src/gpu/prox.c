/* The public Jaccard prox and the prox of the Lovász hinge with any built-in measure. */
#include "base/internal.h"
#include "gpu/losses.h"

submod_status submodi_gpu_require_bins(size_t bins)
{
    return bins ? SUBMOD_OK
                : submodi_fail(SUBMOD_EINVAL, "bins = 0 must be a power of two from 2 to 2^20");
}

/* What both proxes have in common. */
static submod_status start_any(submodi_gpu_task *task, submodi_kind kind, const submod_scores *x,
                               const submod_labels *labels, double lambda, size_t bins,
                               const submod_loss_settings *settings)
{
    *task = (submodi_gpu_task){.lambda = lambda};
    submod_status status = submodi_check_positive("lambda", lambda);
    status = status ? status : submodi_gpu_require_bins(bins);
    status = status ? status : submodi_batch_start(&task->batch, kind, x, labels, settings);
    task->batch.settings.engine = SUBMOD_ENGINE_HISTOGRAM;
    task->batch.settings.bins = bins;
    return status;
}

submod_status submodi_gpu_prox_start(submodi_gpu_task *task, const submod_scores *x,
                                     const submod_labels *labels, double lambda, size_t bins,
                                     const submod_loss_settings *settings)
{
    submod_status status = start_any(task, SUBMODI_PROX, x, labels, lambda, bins, settings);
    task->batch.settings.per_image = 1;
    task->method = SUBMODI_GPU_PROX;
    return status;
}

submod_status submodi_gpu_hinge_start(submodi_gpu_task *task, const submod_scores *scores,
                                      const submod_labels *labels, double lambda, size_t bins,
                                      const submod_loss_settings *settings)
{
    submod_status status =
        start_any(task, SUBMODI_HINGE_PROX, scores, labels, lambda, bins, settings);
    if (status == SUBMOD_OK && task->batch.given.pixel_weights) {
        status =
            submodi_fail(SUBMOD_EUNSUPPORTED, "pixel_weights must be NULL: the prox has none; take "
                                              "submod_gpu_lovasz_hinge and its gradient");
    }
    status = status ? status
                    : submodi_read_measure("settings.measure", task->batch.given.measure,
                                           &task->batch.measure);
    if (status == SUBMOD_OK && task->batch.measure.type == SUBMOD_MEASURE_CUSTOM) {
        status = submodi_fail(SUBMOD_EUNSUPPORTED,
                              "a device cannot call the function of a custom measure; take "
                              "submod_prox_hinge_layer on the CPU");
    }
    task->batch.settings.pixel_weights = NULL;
    task->batch.settings.group_loss = NULL;
    task->batch.settings.per_image = settings ? task->batch.settings.per_image : 1;
    task->method = SUBMODI_GPU_PROX_HINGE;
    return status;
}

submod_status submod_gpu_prox_workspace(const submod_scores *x, size_t bins, size_t *bytes)
{
    if (!x || !bytes) {
        return submodi_return("submod_gpu_prox_workspace",
                              submodi_fail(SUBMOD_EINVAL, "%s is NULL", x ? "bytes" : "x"));
    }
    submodi_gpu_task task;
    submod_scores view = *x;
    submod_labels labels;
    submodi_gpu_without_data(&view, &labels, true);
    submod_status status = submodi_gpu_prox_start(&task, &view, &labels, 1, bins, NULL);
    return submodi_return("submod_gpu_prox_workspace",
                          status == SUBMOD_OK ? submodi_gpu_workspace(&task, bytes) : status);
}

submod_status submod_gpu_prox_jaccard(const submod_scores *x, const submod_labels *labels,
                                      double lambda, size_t bins, const submod_gradient *u,
                                      submod_gpu_result *result,
                                      const submod_loss_settings *settings,
                                      const submod_gpu_place *place)
{
    submodi_gpu_task task;
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    submod_status status = submodi_gpu_prox_start(&task, x, labels, lambda, bins, settings);
    status = status ? status : submodi_check_given("u", u);
    return submodi_return(
        "submod_gpu_prox_jaccard",
        status == SUBMOD_OK ? submodi_gpu_queue(NULL, &task, result, u, place, &tuning) : status);
}

submod_status submod_gpu_prox_lovasz_hinge(const submod_scores *scores, const submod_labels *labels,
                                           double lambda, size_t bins, const submod_gradient *prox,
                                           const submod_gradient *gradient,
                                           submod_gpu_result *result,
                                           const submod_loss_settings *settings,
                                           const submod_gpu_place *place)
{
    submodi_gpu_task task;
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    submod_status status = submodi_gpu_hinge_start(&task, scores, labels, lambda, bins, settings);
    task.prox = prox;
    return submodi_return("submod_gpu_prox_lovasz_hinge",
                          status == SUBMOD_OK
                              ? submodi_gpu_queue(NULL, &task, result, gradient, place, &tuning)
                              : status);
}
