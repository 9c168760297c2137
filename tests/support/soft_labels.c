/* The metric losses under one signature, and random problems for them (see soft_labels.h). */
#include "soft_labels.h"

#include <math.h>

metric_call *metric_of(int form)
{
    return form & 1 ? submod_dice_metric : submod_jaccard_metric;
}

submod_overlap overlap_of(int form)
{
    return form & 2 ? SUBMOD_OVERLAP_PRODUCT : SUBMOD_OVERLAP_MIN;
}

submod_status run_metric(int form, const soft_problem *p, double *loss, const submod_gradient *g,
                         submod_work *work)
{
    return metric_of(form)(&p->scores, &p->soft, overlap_of(form), loss, g, &p->settings, work);
}

soft_problem fill_soft(soft_instance *e, submod_rng *rng, bool probabilities)
{
    fill(&e->of_scores, JACCARD, rng, probabilities);
    for (size_t k = 0; k < SIZE; k++) {
        size_t c = k / N % C;
        double u = submod_rng_uniform(rng);
        uint64_t kind = submod_rng_below(rng, 4);
        bool absent = c == 4 || (c == 3 && k / N / C > 0);
        e->y[k] = absent ? 0 : (float)(kind == 0 ? 0 : kind == 1 ? 1 : u);
    }
    for (size_t k = 0; k < LABELS; k++) {
        double u = submod_rng_uniform(rng);
        e->weight[k] = (float)(k / N == 1 ? floor(4 * u) : 3 * u);
    }
    soft_problem p = {submod_scores_f32(e->of_scores.x, B, C, N), submod_scores_f32(e->y, B, C, N),
                      submod_loss_defaults()};
    p.settings.from_logits = !probabilities;
    return p;
}
