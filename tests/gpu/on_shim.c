#include "on_shim.h"

submodi_gpu_tuning random_tuning(submod_rng *rng)
{
    submodi_gpu_tuning t = submodi_gpu_tuning_defaults();
    t.threads = 32U << submod_rng_below(rng, 5);
    t.stage_bytes = submod_rng_below(rng, 2) ? t.stage_bytes : submod_rng_below(rng, 2000);
    t.window_bytes = submod_rng_below(rng, 2) ? t.window_bytes : submod_rng_below(rng, 2000);
    t.blocks = (uint32_t)submod_rng_below(rng, 12) + 1;
    t.table_bytes = submod_rng_below(rng, 2) ? t.table_bytes : submod_rng_below(rng, 1 << 18);
    t.small = (uint32_t)(submod_rng_below(rng, 3) ? submod_rng_below(rng, 64) : t.small);
    t.large = (uint32_t)submod_rng_below(rng, 600);
    t.together = submod_rng_below(rng, 3000);
    t.tile = (uint32_t)(1 + submod_rng_below(rng, 300));
    return t;
}

submod_status on_shim(const batch *d, double *loss, const submod_gradient *g,
                      submod_loss_info *info, const submod_loss_settings *s, const void *tuning)
{
    submod_scores scores = scores_of(d);
    submod_labels labels = labels_of(d);
    submodi_problem p;
    submod_status status;
    if (d->kind == HINGE) {
        status = submodi_problem_start_hinge(&p, "submod_lovasz_hinge", &scores, &labels, s);
    } else {
        bool multilabel = is_multilabel(d->kind);
        status = submodi_problem_start(
            &p, multilabel ? "submod_lovasz_sigmoid" : "submod_lovasz_softmax", &scores,
            input_of(d->kind), &labels, multilabel ? SUBMODI_SIGMOID : SUBMODI_SOFTMAX, false, s);
        p.multilabel = multilabel;
    }
    submodi_gpu_backend b = shim_backend(p.who);
    return status == SUBMOD_OK ? submodi_gpu_loss_host(&b, &p, loss, g, info, tuning) : status;
}
