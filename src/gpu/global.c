/* The public calls for a batch that is spread over devices: what each counts is added up between
 * them (kernel_global.h). */
#include "base/internal.h"
#include "gpu/losses.h"

static submod_status require_whole(const submodi_batch *batch)
{
    if (batch->settings.engine != SUBMOD_ENGINE_HISTOGRAM) {
        return submodi_fail(SUBMOD_EUNSUPPORTED,
                            "settings.engine must be SUBMOD_ENGINE_HISTOGRAM: ranks of errors do "
                            "not add up over devices");
    }
    if (batch->settings.per_image) {
        return submodi_fail(SUBMOD_EUNSUPPORTED,
                            "settings.per_image must be 0: losses of images need no other "
                            "device; take the mean of what each has");
    }
    return SUBMOD_OK;
}

static submod_status require_pixels(const submodi_batch *batch, uint64_t all_pixels)
{
    size_t n = batch->scores.pixels;
    bool enough = n == 0 || batch->scores.batch <= all_pixels / n;
    return enough && all_pixels < (uint64_t)1 << 52
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_EINVAL,
                              "all_pixels = %llu must be at least those of this device, %zu "
                              "images of %zu, and below 2^52",
                              (unsigned long long)all_pixels, batch->scores.batch, n);
}

submod_status submodi_gpu_global_start(submodi_gpu_task *task, submodi_gpu_method method,
                                       submod_gpu_loss loss, const submod_scores *scores,
                                       const submod_labels *labels, const float *range,
                                       uint64_t all_pixels, const submod_loss_settings *settings)
{
    submod_status status = submodi_gpu_require_loss(loss);
    status = status ? status
                    : submodi_gpu_loss_start(task, (submodi_kind)loss, scores, labels, settings);
    status = status ? status : require_whole(&task->batch);
    status = status ? status : require_pixels(&task->batch, all_pixels);
    if (status != SUBMOD_OK) {
        return status;
    }
    bool ranged = loss == SUBMOD_GPU_HINGE || task->batch.settings.pixel_weights;
    task->method = method;
    task->all_pixels = all_pixels;
    task->reach = ranged ? (float *)range : NULL;
    return ranged ? submodi_check_given("range", range) : SUBMOD_OK;
}

/* What kernel_global.h has of classes with so many bins. */
static size_t numbers_of(const submodi_gpu_job *j)
{
    size_t C = j->classes;
    return C * 2 * j->bins + C + 2 * (j->multilabel ? C : 1) + 2;
}

submod_status submod_gpu_global_workspace(submod_gpu_loss loss, const submod_scores *scores,
                                          size_t *numbers, size_t *bytes,
                                          const submod_loss_settings *settings)
{
    static const float some_range = 0;
    if (!scores || !numbers || !bytes) {
        return submodi_return("submod_gpu_global_workspace",
                              submodi_fail(SUBMOD_EINVAL, "%s is NULL",
                                           !scores    ? "scores"
                                           : !numbers ? "numbers"
                                                      : "bytes"));
    }
    submodi_gpu_task task;
    submodi_gpu_plan plan;
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    submod_scores view = *scores;
    submod_labels labels;
    submodi_gpu_without_data(&view, &labels, loss == SUBMOD_GPU_SIGMOID);
    uint64_t most = ((uint64_t)1 << 52) - 1;
    submod_status status = submodi_gpu_global_start(&task, SUBMODI_GPU_GLOBAL_COUNTS, loss, &view,
                                                    &labels, &some_range, most, settings);
    status = status ? status : submodi_batch_shape(&task.batch, NULL);
    status = status ? status : submodi_gpu_plan_make(&task, &tuning, &plan);
    if (status == SUBMOD_OK) {
        *numbers = numbers_of(&plan.job);
        *bytes = plan.bytes;
    }
    return submodi_return("submod_gpu_global_workspace", status);
}

submod_status submod_gpu_global_range(submod_gpu_loss loss, const submod_scores *scores,
                                      const submod_labels *labels, uint64_t all_pixels,
                                      float *range, submod_gpu_result *result,
                                      const submod_loss_settings *settings,
                                      const submod_gpu_place *place)
{
    submodi_gpu_task task;
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    submod_status status = submodi_check_given("range", range);
    status = status ? status
                    : submodi_gpu_global_start(&task, SUBMODI_GPU_GLOBAL_RANGE, loss, scores,
                                               labels, range, all_pixels, settings);
    task.reach = range; /* also where it will not be needed */
    return submodi_return("submod_gpu_global_range",
                          status == SUBMOD_OK
                              ? submodi_gpu_queue(NULL, &task, result, NULL, place, &tuning)
                              : status);
}

submod_status submod_gpu_global_counts(submod_gpu_loss loss, const submod_scores *scores,
                                       const submod_labels *labels, const float *range,
                                       uint64_t all_pixels, int64_t *counts,
                                       submod_gpu_result *result,
                                       const submod_loss_settings *settings,
                                       const submod_gpu_place *place)
{
    submodi_gpu_task task;
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    submod_status status = submodi_check_given("counts", counts);
    status = status ? status
                    : submodi_gpu_global_start(&task, SUBMODI_GPU_GLOBAL_COUNTS, loss, scores,
                                               labels, range, all_pixels, settings);
    task.global = counts;
    return submodi_return("submod_gpu_global_counts",
                          status == SUBMOD_OK
                              ? submodi_gpu_queue(NULL, &task, result, NULL, place, &tuning)
                              : status);
}

submod_status submod_gpu_global_loss(submod_gpu_loss loss, const submod_scores *scores,
                                     const submod_labels *labels, const float *range,
                                     const int64_t *counts, uint64_t all_pixels,
                                     submod_gpu_result *result, const submod_gradient *gradient,
                                     const submod_loss_settings *settings,
                                     const submod_gpu_place *place)
{
    submodi_gpu_task task;
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    submod_status status = submodi_check_given("counts", counts);
    status = status ? status
                    : submodi_gpu_global_start(&task, SUBMODI_GPU_GLOBAL_LOSS, loss, scores, labels,
                                               range, all_pixels, settings);
    task.global = (int64_t *)counts;
    return submodi_return("submod_gpu_global_loss",
                          status == SUBMOD_OK
                              ? submodi_gpu_queue(NULL, &task, result, gradient, place, &tuning)
                              : status);
}
