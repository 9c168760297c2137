/* The losses on host pointers. */
#include "gpu/losses.h"

submod_status submodi_gpu_loss_host(const submodi_gpu_backend *b, int device,
                                    submodi_gpu_task *task, double *loss,
                                    const submod_gradient *gradient, submod_loss_info *info,
                                    const submodi_gpu_tuning *tuning)
{
    const submodi_batch *batch = &task->batch;
    submod_gpu_result r = {0};
    size_t bytes = 0;
    submod_status status = submodi_gpu_host(b, device, task, gradient, tuning, &r, &bytes);
    if (status == SUBMOD_OK && loss) {
        *loss = r.loss;
    }
    if (status == SUBMOD_OK && info) {
        bool exact = task->method == SUBMODI_GPU_EXACT;
        *info = (submod_loss_info){
            .delta = r.delta,
            .bins = r.bins,
            .pixels = r.pixels,
            .sorted = exact ? r.pixels * (batch->multilabel ? 1 : batch->scores.classes) : 0,
            .terms = (size_t)r.terms,
            .workspace = bytes};
    }
    return status;
}

/* On the device of this machine. */
static submod_status run(const char *who, submodi_kind kind, const submod_scores *scores,
                         const submod_labels *labels, double *loss, const submod_gradient *gradient,
                         const submod_loss_settings *settings, submod_loss_info *info, int device)
{
    submodi_gpu_task task;
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    submod_status status = submodi_gpu_loss_start(&task, who, kind, scores, labels, settings);
    return status == SUBMOD_OK
               ? submodi_gpu_loss_host(NULL, device, &task, loss, gradient, info, &tuning)
               : status;
}

submod_status submod_gpu_lovasz_softmax_host(const submod_scores *scores,
                                             const submod_labels *labels, double *loss,
                                             const submod_gradient *gradient,
                                             const submod_loss_settings *settings,
                                             submod_loss_info *info, int device)
{
    return run("submod_gpu_lovasz_softmax_host", SUBMODI_LOVASZ_SOFTMAX, scores, labels, loss,
               gradient, settings, info, device);
}

submod_status submod_gpu_lovasz_sigmoid_host(const submod_scores *scores,
                                             const submod_labels *labels, double *loss,
                                             const submod_gradient *gradient,
                                             const submod_loss_settings *settings,
                                             submod_loss_info *info, int device)
{
    return run("submod_gpu_lovasz_sigmoid_host", SUBMODI_LOVASZ_SIGMOID, scores, labels, loss,
               gradient, settings, info, device);
}

submod_status submod_gpu_lovasz_hinge_host(const submod_scores *scores, const submod_labels *labels,
                                           double *loss, const submod_gradient *gradient,
                                           const submod_loss_settings *settings,
                                           submod_loss_info *info, int device)
{
    return run("submod_gpu_lovasz_hinge_host", SUBMODI_LOVASZ_HINGE, scores, labels, loss, gradient,
               settings, info, device);
}
