/* What all Lovász losses have in common: scores and labels, cut into groups (an image or the whole
 * batch) and classes, with one coefficient per class and group.
 *
 *     loss = sum over groups g and classes c of coefficient[g][c] * f(errors of class c in g)
 *
 * An error is max(0, 1 - v) at a foreground and max(0, bias + v) at a background pixel: v is a
 * probability and bias 0, or, for the hinge, v is a score and bias 1. */
#ifndef SUBMODI_LOSSES_BATCH_H
#define SUBMODI_LOSSES_BATCH_H

#include <stdbool.h>

#include "loss/activation_loops.h"
#include "loss/tensors/labels.h"
#include "submod/measure_internal.h"
#include <submod/loss.h>

typedef enum submodi_activation {
    SUBMODI_SOFTMAX,
    SUBMODI_SIGMOID,
    SUBMODI_PROBABILITY,
    SUBMODI_SCORE /* none: hinge losses */
} submodi_activation;

/* The losses by what they take: rows of the table in batch.c. The first three as submod_gpu_loss.
 */
typedef enum submodi_kind {
    SUBMODI_LOVASZ_SOFTMAX,
    SUBMODI_LOVASZ_SIGMOID,
    SUBMODI_LOVASZ_HINGE,
    SUBMODI_ANY_HINGE, /* the hinge of any set function */
    SUBMODI_DATASET,
    SUBMODI_CROSS_ENTROPY,
    SUBMODI_HINGE,
    SUBMODI_HINGE_PROX, /* the prox of the Lovász hinge */
    SUBMODI_RAHMAN_WANG,
    SUBMODI_OVERLAP, /* soft Dice and soft Jaccard */
    SUBMODI_METRIC,  /* the same of soft labels */
    SUBMODI_PROX,    /* the Jaccard prox of a GPU */
    SUBMODI_KINDS
} submodi_kind;

/* What a first visit finds out about each pixel, so that later ones need not (tile.h). NULL: it is
 * not kept. */
typedef struct submodi_notes {
    int32_t *codes; /* of its label, if it has one */
    /* Softmax: 1 / sum of the exponentials, 0 if ignored; with the sign bit, the scores are
     * shifted.
     */
    float *inverse;
    float *shift;  /* only there */
    bool *shifted; /* per thread: whether it has come across such a pixel */
} submodi_notes;

typedef struct submodi_batch {
    submod_scores scores;
    submod_labels labels;
    bool multilabel;     /* labels are 0 or 1 per class; else one class per pixel */
    bool takes_infinite; /* allows infinite scores where the error is 0 or the pixel ignored */
    bool plain_weights;  /* the unit of pixel weights is 1, as their sums outlive the batch */
    submodi_activation activation;
    submod_loss_settings given;    /* as the caller has them */
    submod_loss_settings settings; /* the defaults but for what the loss looks at */
    submod_measure measure;        /* Jaccard, unless the loss looks at it */

    /* ---- from its shape ---- */
    submodi_label_rule rule;
    size_t groups, images_per_group;
    size_t tile; /* pixels of a tile */
    size_t tiles_per_image;
    /* Of the whole batch, of which this may be the part of one process (src/dist/): the groups that
     * the loss is averaged over, and all pixels. */
    size_t all_groups;
    uint64_t all_pixels;

    /* ---- once it is open ---- */
    int threads;
    struct submodi_tile_memory *memory; /* per thread */
    submodi_notes notes;
    /* Rounded weights of all pixels (tensors/pixel_weights.h), one image after the other, in units
     * of their group; NULL means all ones. They may be read in whole vectors. A pixel of weight 0
     * is ignored. */
    float *weight;
    float *largest_weight; /* per group, as given; 0 without weights */
    double *unit;          /* per group: a power of two >= largest_weight; 1 without weights */
    double *foreground;    /* P: groups x classes; whole numbers, or sums of weights in units */
    double *background;    /* likewise: the other pixels that are not ignored */
    double *coefficient;   /* groups x classes; 0: the class is left out */
    /* groups x classes: nothing more can be lost once all of the foreground is wrong, so that
     * background pixels ranked below it have no weight. False where the class is left out. */
    bool *foreground_is_all;
    double *worst; /* groups x classes: F(P, N), by a custom measure; 1 by others */
    /* Custom measures, per group: the loss of errors that are all 1. Else not set. */
    double *group_most;
    double most;    /* all of them together; 1 if the measure is built in, which is never more */
    uint64_t valid; /* pixels not ignored; multilabel: over all classes */
    size_t terms;   /* coefficients that are not 0 */
} submodi_batch;

/* A batch from the arguments that all losses have: checks that they are there, and that there is
 * one score per pixel where the loss wants that. settings NULL: the defaults. */
submod_status submodi_batch_start(submodi_batch *batch, submodi_kind kind,
                                  const submod_scores *scores, const submod_labels *labels,
                                  const submod_loss_settings *settings);
submod_status submodi_require_gradient(const submod_gradient *gradient,
                                       const submod_scores *scores);

/* Checks everything but the values of labels and scores, the gradient (may be NULL) too; sets the
 * label rule and the groups. From then on batch * pixels < 2^31 and classes < 2^29: products of the
 * two or of groups, tiles and classes do not overflow. Of a batch of nothing both batch and pixels
 * are 0. */
submod_status submodi_batch_shape(submodi_batch *batch, const submod_gradient *gradient);
/* After that: takes memory from work, checks the labels, counts the foreground, sets the
 * coefficients, asks the measure what all of the foreground costs. SUBMOD_ECALLBACK: a custom
 * measure failed. */
submod_status submodi_batch_open(submodi_batch *batch, submod_work *work);
/* The same in three steps, for a batch that is part of a larger one. First what can be known of the
 * part alone: memory, and the largest weight of its pixels. */
submod_status submodi_batch_look(submodi_batch *batch, submod_work *work);
/* Rounds the pixel weights, and checks and counts the labels, when all_groups, all_pixels and
 * largest_weight are those of the whole. */
submod_status submodi_batch_count(submodi_batch *batch, submod_work *work);
/* When the counts of its groups are of the whole: coefficients, and what the measure says. */
submod_status submodi_batch_decide(submodi_batch *batch);
/* Both, shape and open. */
submod_status submodi_batch_prepare(submodi_batch *batch, const submod_gradient *gradient,
                                    submod_work *work);

/* The parts of it that need no batch: the settings, and the coefficients of one group with so many
 * foreground pixels per class; returns how many are not 0. */
submod_status submodi_require_bins(size_t bins, double delta); /* bins 0: delta */
/* Of a softmax. */
submod_status submodi_require_several_classes(size_t classes);
/* class_weight of C classes, or NULL: >= 0, and some class of the list (NULL: of all) weighs > 0.
 */
submod_status submodi_require_weights(const double *weight, size_t C, const int32_t *list,
                                      size_t count);
submod_status submodi_require_loss_settings(const submod_loss_settings *s, size_t C);
/* The weight of class c by list and weights, present or not. */
double submodi_class_weight(const submod_loss_settings *s, size_t c);
size_t submodi_class_coefficients(const submod_loss_settings *s, size_t C, const double *foreground,
                                  size_t groups, double *coefficient);

/* settings.group_loss, if it is wanted, from what each group adds to the loss. Groups of images
 * without pixels have no part in the batch; their losses are 0. images: as the caller has them. */
void submodi_write_groups(const submodi_batch *batch, size_t images, const double *share);

/* One group of a batch that is open, as a batch. */
submodi_batch submodi_batch_group(const submodi_batch *batch, size_t group);

/* Returns the number of pixels of a group, including those on other ranks. */
static inline uint64_t submodi_group_pixels(const submodi_batch *batch)
{
    return batch->settings.per_image ? batch->scores.pixels : batch->all_pixels;
}

static inline float submodi_bias(const submodi_batch *batch)
{
    return batch->activation == SUBMODI_SCORE ? 1.0F : 0.0F;
}

/* All classes share their labels unless the batch is multilabel. */
static inline submod_labels submodi_labels_for(const submodi_batch *batch, size_t c)
{
    return batch->multilabel ? submodi_labels_of_class(&batch->labels, c) : batch->labels;
}

/* Rows of labels: one per class, or one. */
static inline size_t submodi_label_rows(const submodi_batch *batch)
{
    return batch->multilabel ? batch->scores.classes : 1;
}

/* A whole call, under the name of a public function. */
submod_status submodi_lovasz(submodi_kind kind, const submod_scores *scores,
                             const submod_labels *labels, double *loss,
                             const submod_gradient *gradient, const submod_loss_settings *settings,
                             submod_loss_info *info, submod_work *work);
/* SUBMOD_ENUMERIC: derivatives of a custom measure, times the scale, may be too large. */
submod_status submodi_require_slopes(const submodi_batch *batch, const submod_gradient *gradient);

/* The engines: the loss, what each group adds to it (group_loss is 0 before), and the gradient if
 * it is wanted. Nothing is written to the gradient unless they succeed. */
submod_status submodi_loss_exact(submodi_batch *batch, double *loss, double *group_loss,
                                 const submod_gradient *gradient, submod_loss_info *info,
                                 submod_work *work);
submod_status submodi_loss_counting(submodi_batch *batch, double *loss, double *group_loss,
                                    const submod_gradient *gradient, submod_loss_info *info,
                                    submod_work *work);
submod_status submodi_loss_histogram(submodi_batch *batch, double *loss, double *group_loss,
                                     const submod_gradient *gradient, submod_loss_info *info,
                                     submod_work *work);

#endif
