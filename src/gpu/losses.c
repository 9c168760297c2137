/* The public losses on device pointers. */
#include "gpu/losses.h"

#include "base/error.h"

submod_status submod_gpu_available(int *devices)
{
    int count = 0;
    submod_status status = submodi_gpu_devices("submod_gpu_available", &count);
    if (devices) {
        *devices = count;
    }
    return status;
}

submod_status submod_gpu_result_status(const submod_gpu_result *result)
{
    static const char who[] = "submod_gpu_result_status";
    if (!result) {
        return submodi_fail(SUBMOD_EINVAL, "%s: result is NULL", who);
    }
    if (result->status == SUBMOD_OK) {
        return SUBMOD_OK;
    }
    if (result->bad_label != SUBMOD_GPU_NONE) {
        return submodi_fail(SUBMOD_EINVAL, "%s: the label at position %llu is out of range", who,
                            (unsigned long long)result->bad_label);
    }
    bool finite = result->status == SUBMOD_EINVAL;
    return submodi_fail(
        finite ? SUBMOD_EINVAL : SUBMOD_ENONFINITE, "%s: the score at position %llu is %s", who,
        (unsigned long long)result->bad_score, finite ? "no probability" : "nan or inf");
}

/* ---- the workspace ---- */

submod_status submod_gpu_loss_workspace(submod_gpu_loss loss, const submod_scores *scores,
                                        size_t *bytes, const submod_loss_settings *settings)
{
    static const char who[] = "submod_gpu_loss_workspace";
    static const uint8_t something = 0; /* stands for data, which are not looked at */
    if (!scores || !bytes) {
        return submodi_fail(SUBMOD_EINVAL, "%s: %s is NULL", who, scores ? "bytes" : "scores");
    }
    submod_labels labels = submod_labels_u8(&something, scores->batch, scores->pixels);
    labels.class_stride = loss == SUBMOD_GPU_SIGMOID;
    submod_scores view = *scores;
    view.data = &something;
    submodi_batch batch;
    submod_status status;
    switch (loss) {
    case SUBMOD_GPU_SOFTMAX:
        status = submodi_batch_start(&batch, who, &view, &labels, SUBMODI_SOFTMAX, false, settings);
        break;
    case SUBMOD_GPU_SIGMOID:
        status = submodi_batch_start(&batch, who, &view, &labels, SUBMODI_SIGMOID, false, settings);
        batch.multilabel = true;
        break;
    case SUBMOD_GPU_HINGE:
        status = submodi_batch_start_hinge(&batch, who, &view, &labels, settings);
        break;
    default: status = submodi_fail(SUBMOD_EINVAL, "%s: loss = %d is unknown", who, (int)loss);
    }
    if (status == SUBMOD_OK) {
        status = submodi_batch_shape(&batch);
    }
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    submodi_gpu_plan plan;
    if (status == SUBMOD_OK) {
        status = submodi_gpu_plan_make(&batch, 0, NULL, NULL, &tuning, NULL, &plan);
    }
    if (status == SUBMOD_OK) {
        *bytes = plan.bytes;
    }
    return status;
}

/* ---- the losses ---- */

/* All that can be said without a device. */
static submod_status check_and_plan(submodi_batch *batch, double lambda, submod_gpu_result *result,
                                    const submod_gradient *gradient, const submod_gpu_place *place,
                                    const submodi_gpu_tuning *tuning, submodi_gpu_plan *plan)
{
    if (!result || !place) {
        return submodi_fail(SUBMOD_EINVAL, "%s: %s is NULL", batch->who,
                            result ? "place" : "result");
    }
    submod_status status = submodi_batch_shape(batch);
    if (status == SUBMOD_OK) {
        status = submodi_require_gradient(batch->who, gradient, &batch->scores);
    }
    if (status == SUBMOD_OK) {
        status =
            submodi_gpu_plan_make(batch, lambda, gradient, result, tuning, place->workspace, plan);
    }
    if (status == SUBMOD_OK && !place->workspace) {
        return submodi_fail(SUBMOD_EINVAL, "%s: the workspace is NULL", batch->who);
    }
    if (status == SUBMOD_OK && plan->bytes > place->workspace_bytes) {
        status = submodi_fail(SUBMOD_ENOMEM, "%s: a workspace of %zu bytes is needed, not %zu",
                              batch->who, plan->bytes, place->workspace_bytes);
    }
    if (status == SUBMOD_OK && (uintptr_t)place->workspace % 256 != 0) {
        status = submodi_fail(SUBMOD_EINVAL, "%s: the workspace is not aligned to 256 bytes",
                              batch->who);
    }
    return status;
}

submod_status submodi_gpu_loss(const submodi_gpu_backend *b, submodi_batch *batch, double lambda,
                               submod_gpu_result *result, const submod_gradient *gradient,
                               const submod_gpu_place *place, const submodi_gpu_tuning *tuning)
{
    submodi_gpu_plan plan;
    submodi_gpu_backend of_machine;
    submod_status status = check_and_plan(batch, lambda, result, gradient, place, tuning, &plan);
    if (status == SUBMOD_OK && !b) {
        status = submodi_gpu_connect(batch->who, place->device, place->stream, &of_machine);
    }
    return status == SUBMOD_OK ? submodi_gpu_run(b ? b : &of_machine, batch, &plan) : status;
}

/* On the device of this machine. */
static submod_status run(submodi_batch *batch, submod_gpu_result *result,
                         const submod_gradient *gradient, const submod_gpu_place *place)
{
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    return submodi_gpu_loss(NULL, batch, 0, result, gradient, place, &tuning);
}

submod_status submod_gpu_lovasz_softmax(const submod_scores *scores, const submod_labels *labels,
                                        submod_gpu_result *result, const submod_gradient *gradient,
                                        const submod_loss_settings *settings,
                                        const submod_gpu_place *place)
{
    submodi_batch batch;
    submod_status status = submodi_batch_start(&batch, "submod_gpu_lovasz_softmax", scores, labels,
                                               SUBMODI_SOFTMAX, false, settings);
    return status == SUBMOD_OK ? run(&batch, result, gradient, place) : status;
}

submod_status submod_gpu_lovasz_sigmoid(const submod_scores *scores, const submod_labels *labels,
                                        submod_gpu_result *result, const submod_gradient *gradient,
                                        const submod_loss_settings *settings,
                                        const submod_gpu_place *place)
{
    submodi_batch batch;
    submod_status status = submodi_batch_start(&batch, "submod_gpu_lovasz_sigmoid", scores, labels,
                                               SUBMODI_SIGMOID, false, settings);
    batch.multilabel = true;
    return status == SUBMOD_OK ? run(&batch, result, gradient, place) : status;
}

submod_status submod_gpu_lovasz_hinge(const submod_scores *scores, const submod_labels *labels,
                                      submod_gpu_result *result, const submod_gradient *gradient,
                                      const submod_loss_settings *settings,
                                      const submod_gpu_place *place)
{
    submodi_batch batch;
    submod_status status =
        submodi_batch_start_hinge(&batch, "submod_gpu_lovasz_hinge", scores, labels, settings);
    return status == SUBMOD_OK ? run(&batch, result, gradient, place) : status;
}
