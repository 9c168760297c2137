/* The public calls for losses of datasets whose counts are in device memory. */
#include "base/internal.h"
#include "gpu/losses.h"

/* The batch as dataset.c has it: one group; what decides about classes counts for the loss. */
submod_status submodi_gpu_dataset_start(submodi_gpu_task *task, submodi_gpu_method method,
                                        const submod_scores *scores, const submod_labels *labels,
                                        size_t bins, const submod_loss_settings *settings)
{
    submodi_batch *batch = &task->batch;
    *task = (submodi_gpu_task){.method = method};
    submod_status status = submodi_gpu_require_bins(bins);
    status =
        status ? status : submodi_batch_start(batch, SUBMODI_DATASET, scores, labels, settings);
    if (status != SUBMOD_OK) {
        return status;
    }
    batch->settings.engine = SUBMOD_ENGINE_HISTOGRAM;
    batch->settings.bins = bins;
    if (method == SUBMODI_GPU_DATASET_COUNTS) {
        return SUBMOD_OK;
    }
    batch->settings.classes = batch->given.classes;
    batch->settings.class_list = batch->given.class_list;
    batch->settings.class_count = batch->given.class_count;
    batch->settings.class_weight = batch->given.class_weight;
    status = submodi_read_measure("measure", batch->given.measure, &batch->measure);
    return status ? status : submodi_gpu_require_form(batch);
}

submod_status submod_gpu_dataset_workspace(const submod_scores *scores, size_t bins, size_t *bytes,
                                           const submod_loss_settings *settings)
{
    if (!scores || !bytes) {
        return submodi_return(
            "submod_gpu_dataset_workspace",
            submodi_fail(SUBMOD_EINVAL, "%s is NULL", scores ? "bytes" : "scores"));
    }
    submodi_gpu_task task;
    submod_scores view = *scores;
    submod_labels labels;
    submodi_gpu_without_data(&view, &labels, false);
    submod_status status =
        submodi_gpu_dataset_start(&task, SUBMODI_GPU_DATASET_LOSS, &view, &labels, bins, settings);
    return submodi_return("submod_gpu_dataset_workspace",
                          status == SUBMOD_OK ? submodi_gpu_workspace(&task, bytes) : status);
}

submod_status submod_gpu_dataset_counts(const submod_scores *scores, const submod_labels *labels,
                                        size_t bins, double *counts, submod_gpu_result *result,
                                        const submod_loss_settings *settings,
                                        const submod_gpu_place *place)
{
    submodi_gpu_task task;
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    submod_status status = submodi_check_given("counts", counts);
    status = status ? status
                    : submodi_gpu_dataset_start(&task, SUBMODI_GPU_DATASET_COUNTS, scores, labels,
                                                bins, settings);
    task.counts = counts;
    return submodi_return("submod_gpu_dataset_counts",
                          status == SUBMOD_OK
                              ? submodi_gpu_queue(NULL, &task, result, NULL, place, &tuning)
                              : status);
}

submod_status submod_gpu_dataset_loss(const submod_scores *scores, const submod_labels *labels,
                                      size_t bins, const double *counts, submod_gpu_result *result,
                                      const submod_gradient *gradient,
                                      const submod_loss_settings *settings,
                                      const submod_gpu_place *place)
{
    submodi_gpu_task task;
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    submod_status status = submodi_check_given("counts", counts);
    status = status ? status
                    : submodi_gpu_dataset_start(&task, SUBMODI_GPU_DATASET_LOSS, scores, labels,
                                                bins, settings);
    task.dataset = counts;
    return submodi_return("submod_gpu_dataset_loss",
                          status == SUBMOD_OK
                              ? submodi_gpu_queue(NULL, &task, result, gradient, place, &tuning)
                              : status);
}
