/* The data of study last_layer: images with features, and a foreground to find. */
#ifndef SUBMOD_STUDY_LAST_LAYER_DATA_H
#define SUBMOD_STUDY_LAST_LAYER_DATA_H

#include "common/study.h"

typedef struct layer_data {
    size_t images, pixels, features;
    float *x;       /* images x features x pixels */
    uint8_t *label; /* images x pixels, 0 or 1 */
} layer_data;

/* Discs. Feature d of a pixel is N(a_d, 1) in the disc and N(-a_d, 1) outside; in the disc it is
 * also shifted by an amount that differs from image to image. False after saying why. */
bool layer_synthetic(uint64_t seed, size_t images, size_t side, layer_data *train,
                     layer_data *validation);
void layer_data_free(layer_data *data);

#endif
