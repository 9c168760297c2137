/* A synthetic segmentation set with many classes whose frequencies differ a lot. */
#ifndef SUBMOD_STUDY_DATASET_IMAGES_H
#define SUBMOD_STUDY_DATASET_IMAGES_H

#include "common/study.h"

enum { SET_CLASSES = 16, SET_FEATURES = 12, SET_SIDE = 32, SET_PIXELS = SET_SIDE * SET_SIDE };

/* Images of a background (class 0) with one to four discs or boxes. */
typedef struct image_set {
    size_t images;
    float *x;       /* images x features x pixels */
    uint8_t *label; /* images x pixels */
} image_set;

/* To train on, to choose step sizes with, and to measure with. */
typedef struct image_sets {
    image_set train, validation, test;
} image_sets;

/* Draws a world, that is, how each class looks and how frequent it is, and from it three sets of as
 * many images; free them with image_sets_free. An object is of class k = 1, 2, .. with probability
 * proportional to 1/k. Its features are the mean of its class, plus noise of this object, plus
 * noise of each pixel. False after saying why. */
bool image_sets_make(uint64_t seed, size_t images, image_sets *sets);
void image_sets_free(image_sets *sets);

#endif
