/* What the baselines have in common: their arguments, one pass over the scores that leaves sums per
 * group, one that writes the gradient. Each loss says what to add up and what follows from it. */
#ifndef SUBMODI_LOSSES_BASELINE_PASSES_H
#define SUBMODI_LOSSES_BASELINE_PASSES_H

#include "loss/tile.h"
#include <submod/baseline.h>

typedef struct submodi_baseline submodi_baseline;

/* One call of a baseline. */
typedef struct submodi_baseline_run {
    const submodi_baseline *loss;
    submodi_batch batch;
    const submod_gradient *gradient; /* may be NULL */
    size_t parts;                    /* per group */
    double *sum;                     /* groups x parts x classes x sums */
    /* groups x classes: what a pixel of the background and one of the foreground is multiplied with
     * on the way back; for the losses where that is all. */
    float (*slope)[2];
    const submod_scores *soft; /* soft labels; NULL: labels are those of the batch */
    bool product;              /* what they have in common with probabilities (metric_loss.c) */
} submodi_baseline_run;

/* A loss. */
struct submodi_baseline {
    submodi_kind kind;
    size_t sums; /* numbers per class to add up */
    /* After the batch has been prepared; may be NULL. */
    submod_status (*prepare)(submodi_baseline_run *x);
    /* Adds a tile whose scores are good to sum: classes x sums. */
    void (*add)(const submodi_baseline_run *x, const submodi_tile *tile, double *sum);
    /* From the sums of a group to its share of the loss, and its slopes. */
    double (*solve)(const submodi_baseline_run *x, size_t group, const double *sum);
    /* The derivative by tile->v, into tile->g. NULL: `add` has written the gradient already. It may
     * do so if what it writes does not depend on the sums; its tiles have labels and no scores, and
     * it reads those by itself. */
    void (*derive)(const submodi_baseline_run *x, const submodi_tile *tile);
};

submod_status submodi_baseline_call(const submodi_baseline *baseline, const submod_scores *scores,
                                    const submod_labels *labels, double *loss,
                                    const submod_gradient *gradient,
                                    const submod_loss_settings *settings, submod_work *work);

/* The same of soft labels, in the shape of the scores. The codes of all pixels are 0 then, of those
 * of weight 0 as always the number of classes. */
submod_status submodi_soft_baseline_call(const submodi_baseline *baseline,
                                         const submod_scores *scores, const submod_scores *soft,
                                         submod_overlap overlap, double *loss,
                                         const submod_gradient *gradient,
                                         const submod_loss_settings *settings, submod_work *work);

/* For losses with a smoothing: no slope exceeds the larger of 2 and most / smoothing, times the
 * largest unit of weights. */
submod_status submodi_require_smoothing(const submodi_baseline_run *x, double most);
/* The smoothing in units of the group's weights, which may be as small as floats are: kept finite.
 * Where it is cut, losses and gradients are below 2^-900 in any case. */
static inline double submodi_smoothing(const submodi_baseline_run *x, size_t group)
{
    double smoothing = x->batch.given.smoothing / x->batch.unit[group];
    return smoothing < 0x1p1000 ? smoothing : 0x1p1000;
}

/* The Lovász hinge of the Hamming loss: no order, no sort. settings: ignored labels. */
submod_status submodi_hamming_hinge(const submod_scores *scores, const submod_labels *labels,
                                    double *loss, const submod_gradient *gradient,
                                    const submod_loss_settings *settings, submod_work *work);

#endif
