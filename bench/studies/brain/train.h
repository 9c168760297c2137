/* Which slices are trained on and which are tested, and the training of one model. */
#ifndef SUBMOD_STUDY_BRAIN_TRAIN_H
#define SUBMOD_STUDY_BRAIN_TRAIN_H

#include "brain/slices.h"

enum { BRAIN_FOLDS = 3, BRAIN_SLAB = 4 }; /* slices of a slab */

typedef enum brain_part { BRAIN_TRAIN, BRAIN_VALIDATE, BRAIN_TEST } brain_part;
/* Slabs of slices take turns in being tested. The features of the slices next to a tested slab have
 * seen it, so these are not trained on; they choose the step size. */
brain_part brain_part_of(size_t slice, size_t fold);

typedef enum brain_loss {
    BRAIN_CROSS_ENTROPY,
    BRAIN_LOVASZ,
    BRAIN_BOTH, /* the sum */
    BRAIN_LOSSES
} brain_loss;
extern const char *const brain_loss_names[BRAIN_LOSSES];

typedef struct brain_run {
    size_t hidden; /* 0: linear */
    brain_loss loss;
    double eta; /* at first; falls to a hundredth, as in the supplement */
    size_t fold, epochs;
    uint64_t seed;
} brain_run;

/* Trains on the fold and predicts its other slices: prediction (slices x pixels) is written there
 * and nowhere else. False after saying why. */
bool brain_train(const brain_slices *slices, size_t classes, const brain_run *run,
                 uint8_t *prediction);

#endif
