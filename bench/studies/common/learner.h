/* A model in training: its parameters, the images of the current batch and their scores. The
 * caller computes the loss, between showing the images and moving:
 *
 *     learner_show(l, slot, x, label)     for each slot of the batch
 *     learner_scores, learner_labels, learner_gradient: hand these to a loss
 *     learner_move(l, eta)                one step of Adam along the gradient
 */
#ifndef SUBMOD_STUDY_LEARNER_H
#define SUBMOD_STUDY_LEARNER_H

#include "common/net.h"

typedef struct learner {
    net_shape shape;
    size_t pixels, batch;
    double *w, *g;            /* parameters and the gradient by them */
    const float **x;          /* per slot: borrowed */
    uint8_t *label;           /* batch x pixels */
    float *units;             /* batch x hidden x pixels */
    float *scores, *gradient; /* batch x classes x pixels */
    submod_step *step;
    submod_work *work; /* for the loss as well */
} learner;

/* Parameters from net_start. On failure nothing is left to free. */
submod_status learner_make(learner *l, const net_shape *shape, size_t pixels, size_t batch,
                           submod_rng *rng);
void learner_free(learner *l);

/* x, features x pixels, is borrowed until learner_move; label, pixels, is copied. */
void learner_show(learner *l, size_t slot, const float *x, const uint8_t *label);

submod_scores learner_scores(const learner *l);
submod_labels learner_labels(const learner *l);
submod_gradient learner_gradient(const learner *l);

submod_status learner_move(learner *l, double eta);

/* The classes of an image; overwrites slot 0. */
void learner_predict(learner *l, const float *x, uint8_t *prediction);

#endif
