/* The paper's synthetic experiment (Sec. 4.1): circles, one noisy feature per pixel, a bias b to
 * learn. A pixel's score is its feature + b; it is predicted as foreground where this is > 0.
 */
#ifndef SUBMOD_STUDY_BIAS_H
#define SUBMOD_STUDY_BIAS_H

#include "common/study.h"

enum { BIAS_IMAGES = 10, BIAS_SIDE = 50, BIAS_PIXELS = BIAS_SIDE * BIAS_SIDE };
enum { BIAS_ALL = BIAS_IMAGES * BIAS_PIXELS };
enum { BIAS_SMALLEST = 4, BIAS_LARGEST = 20 }; /* radii */

typedef struct bias_data {
    float feature[BIAS_ALL];
    uint8_t label[BIAS_ALL];
} bias_data;

typedef enum bias_loss {
    BIAS_CROSS_ENTROPY,
    BIAS_HINGE,
    BIAS_LOVASZ,
    BIAS_JACCARD, /* the discrete loss; the others are surrogates */
    BIAS_LOSSES
} bias_loss;
extern const char *const bias_loss_names[BIAS_LOSSES];

/* Circles that lie inside the image, radii uniform in [BIAS_SMALLEST, BIAS_LARGEST]; features
 * N(+-1/2, 1). */
void bias_generate(uint64_t seed, bias_data *data);

/* *value = the loss at bias b: the mean over the images of the loss of each. (For cross-entropy and
 * hinge this is the mean over all pixels.) False after saying why. */
bool bias_value(const bias_data *data, bias_loss loss, double b, double *value);

/* Where the loss is least. The surrogates are convex in b: golden sections within [-4, 4]. The
 * Jaccard loss is constant between two features: each interval is tried, the middle of the best
 * one returned. */
bool bias_argmin(const bias_data *data, bias_loss loss, double *b);

#endif
