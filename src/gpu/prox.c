/* The public Jaccard prox, on device and on host pointers. */
#include <math.h>

#include "base/error.h"
#include "gpu/losses.h"

submod_status submodi_gpu_prox_start(const char *who, const submod_scores *x,
                                     const submod_labels *labels, double lambda, size_t bins,
                                     const submod_loss_settings *settings, submodi_batch *batch)
{
    if (!isfinite(lambda)) {
        return submodi_fail(SUBMOD_ENONFINITE, "%s: lambda = %g", who, lambda);
    }
    if (!(lambda > 0)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: lambda = %g is not > 0", who, lambda);
    }
    if (bins == 0) {
        return submodi_fail(SUBMOD_EINVAL, "%s: no bins", who);
    }
    submod_loss_settings given, s = submod_loss_defaults();
    submod_status status = submodi_read_loss_settings(who, settings, &given);
    if (status != SUBMOD_OK) {
        return status;
    }
    s.engine = SUBMOD_ENGINE_HISTOGRAM;
    s.bins = bins;
    s.per_image = 1;
    s.has_ignore = given.has_ignore;
    s.ignore_index = given.ignore_index;
    status = submodi_batch_start(batch, who, x, labels, SUBMODI_SCORE, false, &s);
    batch->multilabel = true;
    return status;
}

submod_status submod_gpu_prox_workspace(const submod_scores *x, size_t bins, size_t *bytes)
{
    static const char who[] = "submod_gpu_prox_workspace";
    static const uint8_t something = 0; /* stands for data, which are not looked at */
    if (!x || !bytes) {
        return submodi_fail(SUBMOD_EINVAL, "%s: %s is NULL", who, x ? "bytes" : "x");
    }
    submod_labels labels = submod_labels_u8(&something, x->batch, x->pixels);
    labels.class_stride = 1;
    submod_scores view = *x;
    view.data = &something;
    submodi_batch batch;
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    submodi_gpu_plan plan;
    submod_status status = submodi_gpu_prox_start(who, &view, &labels, 1, bins, NULL, &batch);
    if (status == SUBMOD_OK) {
        status = submodi_batch_shape(&batch);
    }
    if (status == SUBMOD_OK) {
        status = submodi_gpu_plan_make(&batch, 1, NULL, NULL, &tuning, NULL, &plan);
    }
    if (status == SUBMOD_OK) {
        *bytes = plan.bytes;
    }
    return status;
}

/* What both calls check first. */
static submod_status start(const char *who, const submod_scores *x, const submod_labels *labels,
                           double lambda, size_t bins, const submod_gradient *u,
                           const submod_loss_settings *settings, submodi_batch *batch)
{
    submod_status status = submodi_gpu_prox_start(who, x, labels, lambda, bins, settings, batch);
    return status == SUBMOD_OK && !u ? submodi_fail(SUBMOD_EINVAL, "%s: u is NULL", who) : status;
}

submod_status submod_gpu_prox_jaccard(const submod_scores *x, const submod_labels *labels,
                                      double lambda, size_t bins, const submod_gradient *u,
                                      submod_gpu_result *result,
                                      const submod_loss_settings *settings,
                                      const submod_gpu_place *place)
{
    submodi_batch batch;
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    submod_status status =
        start("submod_gpu_prox_jaccard", x, labels, lambda, bins, u, settings, &batch);
    return status == SUBMOD_OK ? submodi_gpu_loss(NULL, &batch, lambda, result, u, place, &tuning)
                               : status;
}

submod_status submod_gpu_prox_jaccard_host(const submod_scores *x, const submod_labels *labels,
                                           double lambda, size_t bins, const submod_gradient *u,
                                           double *delta, const submod_loss_settings *settings,
                                           int device)
{
    submodi_batch batch;
    submodi_gpu_backend b;
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    submod_gpu_result r = {0};
    size_t bytes;
    submod_status status =
        start("submod_gpu_prox_jaccard_host", x, labels, lambda, bins, u, settings, &batch);
    if (status == SUBMOD_OK) {
        status = submodi_gpu_connect_for(&batch, u, device, &b);
    }
    if (status == SUBMOD_OK) {
        status = submodi_gpu_host(&b, &batch, lambda, u, &tuning, &r, &bytes);
    }
    if (status == SUBMOD_OK && delta) {
        *delta = r.delta;
    }
    return status;
}
