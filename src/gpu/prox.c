/* The public Jaccard prox, on device and on host pointers. */
#include <math.h>

#include "base/error.h"
#include "gpu/losses.h"

submod_status submodi_gpu_prox_start(const char *who, const submod_scores *x,
                                     const submod_labels *labels, double lambda, size_t bins,
                                     const submod_loss_settings *settings, submodi_problem *p)
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
    submod_loss_settings s = submod_loss_defaults();
    s.engine = SUBMOD_ENGINE_HISTOGRAM;
    s.bins = bins;
    s.per_image = 1;
    s.has_ignore = settings && settings->has_ignore;
    s.ignore_index = settings ? settings->ignore_index : 0;
    submod_status status = submodi_problem_start(p, who, x, labels, SUBMODI_SCORE, false, &s);
    p->multilabel = true;
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
    submodi_problem p;
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    submodi_gpu_plan plan;
    submod_status status = submodi_gpu_prox_start(who, &view, &labels, 1, bins, NULL, &p);
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

/* What both calls check first. */
static submod_status start(const char *who, const submod_scores *x, const submod_labels *labels,
                           double lambda, size_t bins, const submod_gradient *u,
                           const submod_loss_settings *settings, submodi_problem *p)
{
    submod_status status = submodi_gpu_prox_start(who, x, labels, lambda, bins, settings, p);
    return status == SUBMOD_OK && !u ? submodi_fail(SUBMOD_EINVAL, "%s: u is NULL", who) : status;
}

submod_status submod_gpu_prox_jaccard(const submod_scores *x, const submod_labels *labels,
                                      double lambda, size_t bins, const submod_gradient *u,
                                      submod_gpu_result *result,
                                      const submod_loss_settings *settings,
                                      const submod_gpu_place *place)
{
    submodi_problem p;
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    submod_status status =
        start("submod_gpu_prox_jaccard", x, labels, lambda, bins, u, settings, &p);
    return status == SUBMOD_OK ? submodi_gpu_loss(NULL, &p, lambda, result, u, place, &tuning)
                               : status;
}

submod_status submod_gpu_prox_jaccard_host(const submod_scores *x, const submod_labels *labels,
                                           double lambda, size_t bins, const submod_gradient *u,
                                           double *delta, const submod_loss_settings *settings,
                                           int device)
{
    submodi_problem p;
    submodi_gpu_backend b;
    submodi_gpu_tuning tuning = submodi_gpu_tuning_defaults();
    submod_gpu_result r = {0};
    size_t bytes;
    submod_status status =
        start("submod_gpu_prox_jaccard_host", x, labels, lambda, bins, u, settings, &p);
    if (status == SUBMOD_OK) {
        status = submodi_gpu_connect_for(&p, u, device, &b);
    }
    if (status == SUBMOD_OK) {
        status = submodi_gpu_host(&b, &p, lambda, u, &tuning, &r, &bytes);
    }
    if (status == SUBMOD_OK && delta) {
        *delta = r.delta;
    }
    return status;
}
