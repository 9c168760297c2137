/* The losses on host pointers. */
#include "gpu/losses.h"

submod_status submodi_gpu_loss_host(const submodi_gpu_backend *b, submodi_batch *batch,
                                    double *loss, const submod_gradient *gradient,
                                    submod_loss_info *info, const submodi_gpu_tuning *tuning)
{
    submod_gpu_result r = {0};
    size_t bytes = 0;
    submod_status status = submodi_gpu_host(b, batch, 0, gradient, tuning, &r, &bytes);
    if (status == SUBMOD_OK && loss) {
        *loss = r.loss;
    }
    if (status == SUBMOD_OK && info) {
        bool exact = batch->settings.engine == SUBMOD_ENGINE_EXACT;
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

/* ---- on the device of this machine ---- */

static submod_status run(submodi_batch *batch, double *loss, const submod_gradient *gradient,
                         submod_loss_info *info, int device)
{
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    submodi_gpu_backend b;
    submod_status status = submodi_gpu_connect_for(batch, gradient, device, &b);
    return status == SUBMOD_OK ? submodi_gpu_loss_host(&b, batch, loss, gradient, info, &tuning)
                               : status;
}

submod_status submod_gpu_lovasz_softmax_host(const submod_scores *scores,
                                             const submod_labels *labels, double *loss,
                                             const submod_gradient *gradient,
                                             const submod_loss_settings *settings,
                                             submod_loss_info *info, int device)
{
    submodi_batch batch;
    submod_status status = submodi_batch_start(&batch, "submod_gpu_lovasz_softmax_host", scores,
                                               labels, SUBMODI_SOFTMAX, false, settings);
    return status == SUBMOD_OK ? run(&batch, loss, gradient, info, device) : status;
}

submod_status submod_gpu_lovasz_sigmoid_host(const submod_scores *scores,
                                             const submod_labels *labels, double *loss,
                                             const submod_gradient *gradient,
                                             const submod_loss_settings *settings,
                                             submod_loss_info *info, int device)
{
    submodi_batch batch;
    submod_status status = submodi_batch_start(&batch, "submod_gpu_lovasz_sigmoid_host", scores,
                                               labels, SUBMODI_SIGMOID, false, settings);
    batch.multilabel = true;
    return status == SUBMOD_OK ? run(&batch, loss, gradient, info, device) : status;
}

submod_status submod_gpu_lovasz_hinge_host(const submod_scores *scores, const submod_labels *labels,
                                           double *loss, const submod_gradient *gradient,
                                           const submod_loss_settings *settings,
                                           submod_loss_info *info, int device)
{
    submodi_batch batch;
    submod_status status =
        submodi_batch_start_hinge(&batch, "submod_gpu_lovasz_hinge_host", scores, labels, settings);
    return status == SUBMOD_OK ? run(&batch, loss, gradient, info, device) : status;
}
