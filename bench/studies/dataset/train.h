/* Study 5: a synthetic segmentation set with many classes of very different frequency, and the
 * training of a linear model on it under losses that look at an image, a batch or the dataset.
 */
#ifndef SUBMOD_STUDY_DATASET_H
#define SUBMOD_STUDY_DATASET_H

#include "common/net.h"
#include "common/study.h"

enum { SET_CLASSES = 16, SET_FEATURES = 12, SET_SIDE = 32, SET_PIXELS = SET_SIDE * SET_SIDE };
enum { SET_BATCH = 8 };

/* Images of a background (class 0) with one to four discs or boxes. */
typedef struct image_set {
    size_t images;
    float *x;       /* images x features x pixels */
    uint8_t *label; /* images x pixels */
} image_set;

/* Draws a world and, from it, images to train on and to measure with; to be freed. An object is of
 * class k = 1, 2, .. with probability proportional to 1/k and looks like the mean of its class +
 * noise of its own + noise of each pixel. False after saying why. */
bool image_sets_make(uint64_t seed, size_t images, image_set *train, image_set *test);
void image_set_free(image_set *set);

typedef enum set_method {
    SET_CROSS_ENTROPY,
    SET_CROSS_ENTROPY_EQUI,
    SET_IMAGE,         /* Lovász-Softmax of each image, all classes */
    SET_BATCH_ALL,     /* of the batch, all classes */
    SET_BATCH_PRESENT, /* of the batch, classes in its truth: the paper's heuristic */
    SET_BATCH_PRESENT_EQUI,
    SET_DATASET, /* of the dataset, through histograms that remember */
    SET_METHODS
} set_method;
extern const char *const set_method_names[SET_METHODS];

enum { SET_CHECKS = 20 }; /* measurements during training, the last one at its end */

/* After how many batches measurement k = 0 .. SET_CHECKS-1 is made: dense at first. */
size_t set_check_time(size_t iterations, size_t k);

typedef struct set_score {
    double image;   /* image-mIoU with 0/0 = 1, as the paper defines it */
    double batch;   /* batch-mIoU over the classes present in the truth, as the paper plots it */
    double dataset; /* dataset-mIoU */
} set_score;

/* Step sizes fall as (1 - k / iterations)^set_power. */
extern const double set_power;

/* Trains with Adam for so many batches. False after saying why. */
bool set_train(const image_set *train, const image_set *test, set_method method, double eta,
               size_t iterations, uint64_t seed, set_score scores[SET_CHECKS]);

#endif
