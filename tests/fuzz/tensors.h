/* Batches as callers may have them: any type, any strides, gaps between, every setting; each beside
 * the same batch as dense floats. */
#ifndef SUBMOD_TESTS_FUZZ_TENSORS_H
#define SUBMOD_TESTS_FUZZ_TENSORS_H

#include "fuzz.h"

/* What the labels are. */
typedef enum tensors_labels {
    LABELS_OF_CLASSES, /* one in 0 .. classes - 1 per pixel */
    LABELS_BINARY,     /* 0 or 1 per pixel, scores of one class */
    LABELS_MULTIPLE    /* 0 or 1 per class and pixel */
} tensors_labels;

enum { TENSORS_MOST_CLASSES = 6 };

/* One way to look at the batch. */
typedef struct tensors_view {
    submod_scores scores, soft; /* soft: labels in [0, 1], in the shape of the scores */
    submod_labels labels;
    submod_pixel_weights weights;
    submod_gradient gradient;
    float *gradient_memory; /* with gaps */
    size_t gradient_count;
} tensors_view;

typedef struct tensors {
    tensors_labels kind;
    size_t batch, classes, pixels;
    tensors_view any, dense; /* the same numbers */
    submod_loss_settings settings;
    bool derives, weighted;
    submod_measure measure;
    int32_t class_list[TENSORS_MOST_CLASSES];
    double class_weight[TENSORS_MOST_CLASSES];
    void *memory[10];
    size_t memory_count;
} tensors;

/* With `probabilities` scores are mostly in [0, 1]. Sometimes something in it is not valid. */
void tensors_make(dice *d, tensors *t, tensors_labels kind, bool probabilities);
void tensors_free(tensors *t);

/* Any of the losses: by one of the views. */
typedef struct tensors_call {
    submod_status (*run)(const tensors *t, const tensors_view *v, double *loss,
                         const submod_gradient *gradient, const submod_loss_settings *settings,
                         const void *context);
    const void *context;
} tensors_call;

/* Runs it on both views. Fails unless both have the same status, loss and gradient, bit by bit, all
 * of it finite, and unless nothing else is written: nothing at all after an error. */
submod_status tensors_compare(tensors *t, const tensors_call *call, double *loss);

/* Runs it on a view that says sizes and strides whose products wrap, over the memory that there is:
 * fails unless it is refused with words, nothing written. What it reads is an error to sanitizers.
 */
void tensors_refuse_huge(dice *d, tensors *t, const tensors_call *call);

/* Runs it with a measure that is right but for one call, which gives NaN, Inf or any number: fails
 * if something is written after an error, or if there are no words. */
void tensors_try_lies(dice *d, tensors *t, const tensors_call *call);

/* A workspace that calls of all inputs share, for about half of the batches; NULL for the others,
 * whose scratch memory has no byte too many. */
submod_work *tensors_work(const tensors *t);

/* Fails unless the gradients of both views are equal. */
void tensors_same_gradients(const tensors *t);

#endif
