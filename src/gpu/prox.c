/* The public Jaccard prox on device pointers. */
#include <math.h>

#include "base/error.h"
#include "gpu/losses.h"

submod_status submodi_gpu_prox_start(const char *who, const submod_scores *x,
                                     const submod_labels *labels, ptrdiff_t label_class_stride,
                                     double lambda, size_t bins,
                                     const submod_loss_settings *settings, submodi_problem *p)
{
    submod_status status = submodi_require_views(who, x, labels);
    if (status != SUBMOD_OK) {
        return status;
    }
    if (!isfinite(lambda)) {
        return submodi_fail(SUBMOD_ENONFINITE, "%s: lambda = %g", who, lambda);
    }
    if (!(lambda > 0)) {
        return submodi_fail(SUBMOD_EINVAL, "%s: lambda = %g is not > 0", who, lambda);
    }
    if (bins < 4 || bins > (size_t)1 << 20 || (bins & (bins - 1)) != 0) {
        return submodi_fail(SUBMOD_EINVAL, "%s: bins = %zu is no power of two from 4 to 2^20", who,
                            bins);
    }
    *p = (submodi_problem){.who = who,
                           .scores = *x,
                           .labels = *labels,
                           .label_class_stride = label_class_stride,
                           .multilabel = true,
                           .activation = SUBMODI_SCORE,
                           .settings = submod_loss_defaults()};
    p->settings.engine = SUBMOD_ENGINE_HISTOGRAM;
    p->settings.delta = 1 / (double)bins; /* of the hinge, which takes twice the bins */
    p->settings.per_image = 1;
    p->settings.has_ignore = settings && settings->has_ignore;
    p->settings.ignore_label = settings ? settings->ignore_label : 0;
    return SUBMOD_OK;
}

submod_status submod_gpu_prox_workspace(const submod_scores *x, size_t bins, size_t *bytes)
{
    static const char who[] = "submod_gpu_prox_workspace";
    static const uint8_t something = 0; /* stands for data, which are not looked at */
    if (!x || !bytes) {
        return submodi_fail(SUBMOD_EINVAL, "%s: %s is NULL", who, x ? "bytes" : "x");
    }
    submod_labels labels = submod_labels_u8(&something, x->batch, x->pixels);
    submod_scores view = *x;
    view.data = &something;
    submodi_problem p = {0};
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    submodi_gpu_plan plan;
    submod_status status = submodi_gpu_prox_start(who, &view, &labels, 0, 1, bins, NULL, &p);
    if (status == SUBMOD_OK) {
        status = submodi_problem_shape(&p);
    }
    if (status == SUBMOD_OK) {
        status = submodi_gpu_plan_make(&p, 1, NULL, NULL, &tuning, NULL, &plan);
    }
    if (status == SUBMOD_OK) {
        *bytes = plan.bytes;
    }
    return status;
}

submod_status submod_gpu_prox_jaccard(const submod_scores *x, const submod_labels *labels,
                                      ptrdiff_t label_class_stride, double lambda, size_t bins,
                                      const submod_gradient *u, submod_gpu_result *result,
                                      const submod_loss_settings *settings,
                                      const submod_gpu_place *place)
{
    static const char who[] = "submod_gpu_prox_jaccard";
    submodi_problem p = {0};
    submod_status status =
        submodi_gpu_prox_start(who, x, labels, label_class_stride, lambda, bins, settings, &p);
    if (status != SUBMOD_OK) {
        return status;
    }
    if (!u || !place) {
        return submodi_fail(SUBMOD_EINVAL, "%s: %s is NULL", who, u ? "place" : "u");
    }
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    submodi_gpu_backend b;
    status = submodi_gpu_connect(who, place->device, place->stream, &b);
    return status == SUBMOD_OK ? submodi_gpu_loss(&b, &p, lambda, result, u, place, &tuning)
                               : status;
}
