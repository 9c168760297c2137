/* The public losses on device pointers. */
#include "gpu/losses.h"

#include "base/internal.h"
#include "loss/count_limits.h"

submod_status submod_gpu_available(int *devices)
{
    int count = 0;
    submod_status status = submodi_gpu_devices(&count);
    if (devices) {
        *devices = count;
    }
    return submodi_return("submod_gpu_available", status);
}

static submod_status gpu_result_status(const submod_gpu_result *result)
{
    if (!result) {
        return submodi_fail(SUBMOD_EINVAL, "result is NULL");
    }
    if (result->status == SUBMOD_OK) {
        return SUBMOD_OK;
    }
    bool finite = result->status == SUBMOD_EINVAL;
    if (result->bad_weight != SUBMOD_GPU_NONE) {
        return submodi_fail(finite ? SUBMOD_EINVAL : SUBMOD_ENONFINITE,
                            "the pixel weight at position %llu is %s; weights must be finite "
                            "and >= 0",
                            (unsigned long long)result->bad_weight,
                            finite ? "negative" : "nan or inf");
    }
    if (result->bad_label != SUBMOD_GPU_NONE) {
        return submodi_fail(SUBMOD_EINVAL, "the label at position %llu is out of range",
                            (unsigned long long)result->bad_label);
    }
    if (result->bad_count == SUBMOD_GPU_ELSEWHERE) {
        return submodi_fail(SUBMOD_EINVAL,
                            "the data of this or of another device were refused; the result of "
                            "its submod_gpu_global_counts says why");
    }
    if (result->bad_count != SUBMOD_GPU_NONE) {
        return submodi_fail(SUBMOD_EINVAL, "the count at position %llu must be in [0, %g]",
                            (unsigned long long)result->bad_count, SUBMODI_LARGEST_COUNT);
    }
    return submodi_fail(finite ? SUBMOD_EINVAL : SUBMOD_ENONFINITE,
                        "the score at position %llu is %s", (unsigned long long)result->bad_score,
                        finite ? "no probability" : "nan or inf");
}

submod_status submod_gpu_result_status(const submod_gpu_result *result)
{
    return submodi_return("submod_gpu_result_status", gpu_result_status(result));
}

submod_status submodi_gpu_require_form(const submodi_batch *batch)
{
    return batch->measure.type != SUBMOD_MEASURE_CUSTOM
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_EUNSUPPORTED,
                              "a device cannot call the function of a custom measure; take the "
                              "losses of the CPU, or those of submod.torch, which run a measure of "
                              "torch operations on any device");
}

submod_status submodi_gpu_loss_start(submodi_gpu_task *task, submodi_kind kind,
                                     const submod_scores *scores, const submod_labels *labels,
                                     const submod_loss_settings *settings)
{
    *task = (submodi_gpu_task){.prox = NULL};
    submod_status status = submodi_batch_start(&task->batch, kind, scores, labels, settings);
    /* A device does not count in bins of the float format yet; sorting meets any accuracy. */
    bool exact = task->batch.settings.engine != SUBMOD_ENGINE_HISTOGRAM;
    task->method = exact ? SUBMODI_GPU_EXACT : SUBMODI_GPU_HISTOGRAM;
    task->group_losses = task->batch.settings.per_image ? task->batch.scores.batch : 1;
    return status ? status : submodi_gpu_require_form(&task->batch);
}

/* ---- the workspace ---- */

void submodi_gpu_without_data(submod_scores *scores, submod_labels *labels, bool multilabel)
{
    static const uint8_t something = 0;
    scores->data = &something;
    *labels = submod_labels_u8(&something, scores->batch, scores->pixels);
    labels->class_stride = multilabel;
}

submod_status submodi_gpu_workspace(submodi_gpu_task *task, size_t *bytes)
{
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    submodi_gpu_plan plan;
    submod_status status = submodi_batch_shape(&task->batch, NULL);
    status = status ? status : submodi_gpu_plan_make(task, &tuning, &plan);
    if (status == SUBMOD_OK) {
        *bytes = plan.bytes;
    }
    return status;
}

submod_status submodi_gpu_require_loss(submod_gpu_loss loss)
{
    _Static_assert((int)SUBMODI_LOVASZ_SOFTMAX == SUBMOD_GPU_SOFTMAX &&
                       (int)SUBMODI_LOVASZ_SIGMOID == SUBMOD_GPU_SIGMOID &&
                       (int)SUBMODI_LOVASZ_HINGE == SUBMOD_GPU_HINGE,
                   "the numbers of the public enum are those of the table of losses");
    bool known =
        loss == SUBMOD_GPU_SOFTMAX || loss == SUBMOD_GPU_SIGMOID || loss == SUBMOD_GPU_HINGE;
    return known ? SUBMOD_OK
                 : submodi_fail(SUBMOD_EINVAL, "loss = %d is unknown; see submod_gpu_loss",
                                (int)loss);
}

submod_status submod_gpu_loss_workspace(submod_gpu_loss loss, const submod_scores *scores,
                                        size_t *bytes, const submod_loss_settings *settings)
{
    if (!scores || !bytes) {
        return submodi_return(
            "submod_gpu_loss_workspace",
            submodi_fail(SUBMOD_EINVAL, "%s is NULL", scores ? "bytes" : "scores"));
    }
    submodi_gpu_task task;
    submod_scores view = *scores;
    submod_labels labels;
    submodi_gpu_without_data(&view, &labels, loss == SUBMOD_GPU_SIGMOID);
    submod_status status = submodi_gpu_require_loss(loss);
    status = status ? status
                    : submodi_gpu_loss_start(&task, (submodi_kind)loss, &view, &labels, settings);
    return submodi_return("submod_gpu_loss_workspace",
                          status == SUBMOD_OK ? submodi_gpu_workspace(&task, bytes) : status);
}

/* ---- the calls ---- */

static submod_status require_place(size_t bytes, const submod_gpu_place *place)
{
    if (!place->workspace) {
        return submodi_fail(SUBMOD_EINVAL, "place.workspace is NULL");
    }
    if (bytes > place->workspace_bytes) {
        return submodi_fail(SUBMOD_ENOMEM, "place.workspace_bytes must be at least %zu, not %zu",
                            bytes, place->workspace_bytes);
    }
    if ((uintptr_t)place->workspace % 256 != 0) {
        return submodi_fail(SUBMOD_EINVAL, "place.workspace must be aligned to 256 bytes");
    }
    return SUBMOD_OK;
}

submod_status submodi_gpu_queue(const submodi_gpu_backend *b, submodi_gpu_task *task,
                                submod_gpu_result *result, const submod_gradient *gradient,
                                const submod_gpu_place *place, const submodi_gpu_tuning *tuning)
{
    submodi_batch *batch = &task->batch;
    submodi_gpu_plan plan;
    submodi_gpu_backend of_machine;
    submod_status status = submodi_check_given("result", result);
    status = status ? status : submodi_check_given("place", place);
    status = status ? status : submodi_batch_shape(batch, gradient);
    status = status ? status : submodi_require_gradient(task->prox, &batch->scores);
    status = status ? status : submodi_gpu_plan_make(task, tuning, &plan);
    status = status ? status : require_place(plan.bytes, place);
    if (status == SUBMOD_OK && !b) {
        status = submodi_gpu_connect(place->device, place->stream, &of_machine);
    }
    if (status != SUBMOD_OK) {
        return status;
    }
    submodi_gpu_plan_place(&plan, batch, gradient, result, place->workspace);
    return submodi_gpu_run(b ? b : &of_machine, batch, &plan);
}

/* On the device of this machine. */
static submod_status run(submodi_kind kind, const submod_scores *scores,
                         const submod_labels *labels, submod_gpu_result *result,
                         const submod_gradient *gradient, const submod_loss_settings *settings,
                         const submod_gpu_place *place)
{
    submodi_gpu_task task;
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    submod_status status = submodi_gpu_loss_start(&task, kind, scores, labels, settings);
    return status == SUBMOD_OK ? submodi_gpu_queue(NULL, &task, result, gradient, place, &tuning)
                               : status;
}

submod_status submod_gpu_lovasz_softmax(const submod_scores *scores, const submod_labels *labels,
                                        submod_gpu_result *result, const submod_gradient *gradient,
                                        const submod_loss_settings *settings,
                                        const submod_gpu_place *place)
{
    return submodi_return("submod_gpu_lovasz_softmax", run(SUBMODI_LOVASZ_SOFTMAX, scores, labels,
                                                           result, gradient, settings, place));
}

submod_status submod_gpu_lovasz_sigmoid(const submod_scores *scores, const submod_labels *labels,
                                        submod_gpu_result *result, const submod_gradient *gradient,
                                        const submod_loss_settings *settings,
                                        const submod_gpu_place *place)
{
    return submodi_return("submod_gpu_lovasz_sigmoid", run(SUBMODI_LOVASZ_SIGMOID, scores, labels,
                                                           result, gradient, settings, place));
}

submod_status submod_gpu_lovasz_hinge(const submod_scores *scores, const submod_labels *labels,
                                      submod_gpu_result *result, const submod_gradient *gradient,
                                      const submod_loss_settings *settings,
                                      const submod_gpu_place *place)
{
    return submodi_return("submod_gpu_lovasz_hinge", run(SUBMODI_LOVASZ_HINGE, scores, labels,
                                                         result, gradient, settings, place));
}
