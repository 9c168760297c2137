/* Training a linear model on an image set, under losses that look at an image, a batch or the whole
 * dataset.
 */
#ifndef SUBMOD_STUDY_DATASET_TRAIN_H
#define SUBMOD_STUDY_DATASET_TRAIN_H

#include "dataset/images.h"

enum { SET_BATCH = 8 }; /* images */

typedef enum set_method {
    SET_CROSS_ENTROPY,
    SET_CROSS_ENTROPY_EQUI,
    SET_IMAGE,         /* Lovász-Softmax of each image, all classes */
    SET_BATCH_ALL,     /* of the batch, all classes */
    SET_BATCH_PRESENT, /* of the batch, classes in its truth: the paper's heuristic */
    SET_BATCH_PRESENT_EQUI,
    SET_DATASET, /* of the dataset, through histograms that remember earlier batches */
    SET_METHODS
} set_method;
extern const char *const set_method_names[SET_METHODS];

enum { SET_CHECKS = 20 }; /* measurements during training, the last one at its end */

/* Measurement k = 0 .. SET_CHECKS-1 is made after this many batches: often at first, rarely later.
 */
size_t set_check_time(size_t iterations, size_t k);

typedef struct set_score {
    double image;   /* image-mIoU with 0/0 = 1, as the paper defines it */
    double batch;   /* batch-mIoU over the classes present in the truth, as the paper plots it */
    double dataset; /* dataset-mIoU */
} set_score;

/* Step sizes fall as (1 - k / iterations)^set_power. */
extern const double set_power;

/* Trains with Adam for `iterations` batches. scores: of the test images; *validation: of the
 * validation images, at the end. False after saying why. */
bool set_train(const image_sets *sets, set_method method, double eta, size_t iterations,
               uint64_t seed, set_score scores[SET_CHECKS], set_score *validation);

#endif
