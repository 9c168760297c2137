/* Views of the caller's arrays: labels, scores, weights and gradients of batches of images, volumes
 * or point sets.
 *
 * A view owns nothing and copies nothing. An image is `pixels` labels, whatever its dimensions;
 * label i of image b is element b * batch_stride + i * pixel_stride of data, or, where each class
 * has labels of its own (multilabel), b * batch_stride + c * class_stride + i * pixel_stride.
 * Strides count elements, not bytes, and may be negative or 0 (the same labels again).
 * Two-dimensional layouts whose rows are padded are views of one row each.
 *
 * data is aligned to its elements: 8 bytes for int64_t, 4 for int32_t and float, 2 for the halves
 * (see base.h). Strides that lead farther than PTRDIFF_MAX bytes from data are refused
 * (SUBMOD_EINVAL); the functions below make such strides where a product of sizes overflows.
 */
#ifndef SUBMOD_TENSOR_H
#define SUBMOD_TENSOR_H

#include <submod/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- labels ---- */

/* The type of a label. */
typedef enum submod_label_type {
    SUBMOD_LABEL_U8,  /* uint8_t */
    SUBMOD_LABEL_I32, /* int32_t */
    SUBMOD_LABEL_I64  /* int64_t */
} submod_label_type;

/* Labels of a batch. The head of tensor.h says where each of them is. */
typedef struct submod_labels {
    const void *data;                     /* borrowed; may be NULL when batch or pixels is 0 */
    submod_label_type type;               /* of data */
    size_t batch, pixels;                 /* images, and labels of each */
    ptrdiff_t batch_stride, pixel_stride; /* in elements */
    /* From the labels of one class to those of the next; 0: one label per pixel. Functions that
     * take one label per pixel refuse any other stride, and those that take labels of each class
     * refuse 0. With a single class it is not looked at. */
    ptrdiff_t class_stride;
} submod_labels;

/* The contiguous case: one image after the other, batch_stride = pixels, pixel_stride = 1. */
SUBMOD_API submod_labels submod_labels_u8(const uint8_t *data, size_t batch, size_t pixels);
SUBMOD_API submod_labels submod_labels_i32(const int32_t *data, size_t batch, size_t pixels);
SUBMOD_API submod_labels submod_labels_i64(const int64_t *data, size_t batch, size_t pixels);

/* The contiguous multilabel case, (batch, classes, pixels): class_stride = pixels. */
SUBMOD_API submod_labels submod_labels_multilabel(const void *data, submod_label_type type,
                                                  size_t batch, size_t classes, size_t pixels);

/* ---- scores ---- */

/* The type of a score. */
typedef enum submod_score_type {
    SUBMOD_SCORE_F32, /* float */
    SUBMOD_SCORE_F16, /* IEEE binary16, as uint16_t; converted on the fly */
    SUBMOD_SCORE_BF16 /* the upper half of a float, as uint16_t; converted on the fly */
} submod_score_type;

/* Score of class c at pixel i of image b: element b * batch_stride + c * class_stride +
 * i * pixel_stride. Channels first: pixel_stride = 1, class_stride = pixels; channels last:
 * class_stride = 1, pixel_stride = classes. */
typedef struct submod_scores {
    const void *data;              /* borrowed; may be NULL when batch, classes or pixels is 0 */
    submod_score_type type;        /* of data */
    size_t batch, classes, pixels; /* images, classes, pixels of each */
    ptrdiff_t batch_stride, class_stride, pixel_stride; /* in elements */
} submod_scores;

/* The contiguous case, channels first. */
SUBMOD_API submod_scores submod_scores_f32(const float *data, size_t batch, size_t classes,
                                           size_t pixels);
/* The same, of any type. */
SUBMOD_API submod_scores submod_scores_dense(const void *data, submod_score_type type, size_t batch,
                                             size_t classes, size_t pixels);
/* The contiguous case, channels last. */
SUBMOD_API submod_scores submod_scores_channels_last(const void *data, submod_score_type type,
                                                     size_t batch, size_t classes, size_t pixels);

/* ---- weights of pixels ---- */

/* What each pixel counts for: weight i of image b is element b * batch_stride + i * pixel_stride,
 * a finite number >= 0. Strides may be 0: one weight for all pixels, or one image's for all. */
typedef struct submod_pixel_weights {
    const float *data;                    /* borrowed; may be NULL when batch or pixels is 0 */
    size_t batch, pixels;                 /* as the labels have them */
    ptrdiff_t batch_stride, pixel_stride; /* in elements */
} submod_pixel_weights;

/* The contiguous case. */
SUBMOD_API submod_pixel_weights submod_pixel_weights_f32(const float *data, size_t batch,
                                                         size_t pixels);

/* ---- gradients ---- */

/* Where a gradient goes: an array of the shape of the scores, in float32, that must not
 * overlap itself or the scores: strides of 0 are refused (SUBMOD_EINVAL).
 * gradient = scale * derivative, or gradient += scale * derivative when accumulating. */
typedef struct submod_gradient {
    float *data; /* of the caller; may be NULL when batch or pixels is 0 */
    ptrdiff_t batch_stride, class_stride, pixel_stride; /* in elements */
    double scale;                                       /* finite as a float */
    int accumulate;                                     /* 1: adds to what is there */
} submod_gradient;

/* Like dense scores, channels first or last; scale 1, overwriting. Others are best made from one of
 * these, so that nothing is forgotten (a scale of 0 gives a gradient of 0). */
SUBMOD_API submod_gradient submod_gradient_dense(float *data, size_t classes, size_t pixels);
SUBMOD_API submod_gradient submod_gradient_channels_last(float *data, size_t classes,
                                                         size_t pixels);

#ifdef __cplusplus
}
#endif

#endif
