/* The prox of the Lovász hinge as a layer, in steps (hinge_layer.c): start, open, then the
 * derivative of each pixel, by submodi_layer_solve or by somebody else; then put, twice. */
#ifndef SUBMODI_PROX_HINGE_LAYER_H
#define SUBMODI_PROX_HINGE_LAYER_H

#include "submod/losses/tile.h"
#include <submod/prox.h>

typedef struct submodi_layer {
    submodi_batch batch;
    submod_measure measure;
    double lambda;
    size_t pixels; /* per group */
    double groups; /* that the gradient is a mean over; at first those of the batch */
    /* Of all pixels: first y, 0 if it is ignored; then -y d. In double: a small lambda makes d
     * smaller than any float, but d / lambda still moves the score. */
    double *derivative;
} submodi_layer;

/* Checks lambda, settings (NULL: per image) and that the views are there. */
submod_status submodi_layer_start(submodi_layer *x, const char *who, const submod_scores *scores,
                                  const submod_labels *labels, double lambda,
                                  const submod_loss_settings *settings);

/* Checks shapes and labels, and takes memory. prox and gradient may be NULL. */
submod_status submodi_layer_open(submodi_layer *x, const submod_gradient *prox,
                                 const submod_gradient *gradient, submod_work *w);

static inline submod_prox_method submodi_layer_method(const submodi_layer *layer)
{
    return layer->measure.type == SUBMOD_MEASURE_JACCARD ? SUBMOD_PROX_JACCARD
                                                         : SUBMOD_PROX_TWO_COUNTS;
}

/* y of label code 1 or 0; 0 for any other, an ignored pixel. */
static inline double submodi_side(int32_t code)
{
    return code == 1 ? 1 : code == 0 ? -1 : 0;
}

/* d of a pixel with this margin, from the base s of the plain prox. */
static inline double submodi_hinge_dual(double s, double margin, double lambda)
{
    double most = lambda * (margin > 0 ? margin : 0);
    double d = s < most ? s : most;
    return d > 0 ? d : 0;
}

/* Solves each group exactly. */
submod_status submodi_layer_solve(submodi_layer *x, submod_prox_info *info, submod_work *w);

/* Writes prox and gradient; if not `store`, only checks that no number overflows a float. */
submod_status submodi_layer_put(const submodi_layer *x, const submod_gradient *prox,
                                const submod_gradient *gradient, bool store);

#endif
