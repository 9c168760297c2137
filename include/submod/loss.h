/* Lovász losses over whole batches, forward and backward in one call.
 *
 *   submod_lovasz_softmax   multiclass: paper, Eqs. 11-13
 *   submod_lovasz_sigmoid   multilabel: one binary problem per label, averaged
 *   submod_lovasz_hinge     binary, from scores: paper, Eq. 10
 *
 * Each ranks the pixel errors of a class within a group (an image or the whole batch) and weights
 * them by the greedy subgradient of the Jaccard loss, or of another measure (measure.h): Tversky, a
 * function of yours, or Hamming, with which the loss is the mean of the errors. Three engines with
 * one semantics:
 *   exact      the errors are sorted (those that can carry weight), counts are exact;
 *   counting   the errors are counted by exponent and leading bits, and the counts certify how far
 *              the loss can be off; groups where that exceeds the accuracy, and groups of fewer
 * than 2^14 pixels, are sorted. Two passes over the scores (three for the hinge); histogram  the
 * errors are counted in bins of one width: two passes over the scores (three for the hinge, which
 * needs their range, and with per_image if the images are small, as all scores are then checked
 * first), no sort, a loss that is off by at most a known delta, a gradient g that is a 2
 * delta-subgradient by the probabilities, for the hinge by the scores: loss(q) >= loss(p) + <g, q -
 * p> - 2 delta for all q, with exact losses. For counting the same holds with info.bound for delta.
 * All give the same bits for any number of threads; base.h says over what else.
 *
 * Pixels may have weights (settings.pixel_weights): the counts of the measure become sums of them,
 * and a pixel's part in the gradient is its weight times what a unit of weight adds there. A pixel
 * of weight 2 is two pixels. So that sums are exact in any order, each weight is rounded to a
 * multiple of a step: the largest weight and the number of pixels of its group (an image with
 * per_image, else the batch), each rounded up to a power of two, times 2^-52. The rounded weight
 * replaces the given one everywhere, in losses and in derivatives. Whole weights are exact while
 * the largest times the pixels is at most 2^50; a weight below half a step counts as 0. All weights
 * times a power of two: the same bits, unless the measure is custom.
 *
 * Scratch memory. Histogram: some 8 bytes per class, bin and thread, 8 per class, bin and group (as
 * far as that is less than the scores take, else per class and bin), 4 per class and tile of 64 to
 * 1024 pixels, and 16 per pixel of a softmax. With pixel weights 16 instead of 8 per class, bin and
 * thread, and 4 per pixel more.
 * Counting, with k bits of mantissa: 320 * 2^k bytes per class and thread, half as much per class,
 * and 24 KiB per class and thread. With pixel weights twice as much.
 * Exact: 16 bytes per pixel of a group and thread, 12 per pixel of a softmax, and 4 per score,
 * unless the gradient can hold them meanwhile: its pixels are contiguous, it is overwritten, and
 * the measure is not custom, as nothing may be written before all its values are known. With pixel
 * weights 4 per pixel more.
 *
 * What happens in special cases (P: foreground pixels of a class within the group, or their
 * weight):
 *
 *   batch = 0 or pixels = 0, or all pixels ignored    loss 0, gradient 0
 *     or of weight 0
 *   classes = 0                                       SUBMOD_EINVAL
 *   classes = 1, Lovász-Softmax of logits             SUBMOD_EINVAL: the softmax is always 1; take
 *                                                     the hinge or the sigmoid
 *   empty class_list with SUBMOD_CLASSES_LIST, or     SUBMOD_EINVAL: the loss would always be 0
 *     weight 0 for every class that could count
 *   a group all of whose pixels are ignored or of     counts as 0 in the mean over the groups
 *     weight 0
 *   class absent (P = 0), SUBMOD_CLASSES_PRESENT      left out of the mean over the classes
 *   class absent (P = 0), otherwise                   its largest error (F = 1 with the first wrong
 *                                                     pixel), gradient on that pixel, ties averaged
 *     with Hamming, and with Tversky, alpha = 0       mean of the errors, and 0
 *   no class of weight > 0 left in a group            the group counts as 0
 *   everything foreground (N = 0)                     mean of the errors; not if Tversky's beta > 1
 *   one pixel                                         its error
 *   label neither in range nor the ignored one        SUBMOD_EINVAL: "labels[1][17] = 9 is not .."
 *   NaN or Inf among the scores                       SUBMOD_ENONFINITE: "scores[0][2][5] is nan",
 *                                                     also at ignored pixels; infinite
 *                                                     scores of a hinge: see below
 *   hinge: Inf at label 1, -Inf at label 0            error 0, gradient 0; at ignored pixels
 *                                                     both signs are accepted
 *   hinge: -Inf at label 1, Inf at label 0            SUBMOD_ENONFINITE: "scores[0][0][5] is
 *                                                     inf at label 0; the loss would be .."
 *   huge scores                                       no overflow: the softmax is shifted
 *   probability outside [0, 1] by more than 1e-3      SUBMOD_EINVAL; by less: clamped
 *   pixel weights of another shape than the labels    SUBMOD_EINVAL
 *   a pixel weight that is negative, NaN or Inf       SUBMOD_EINVAL, SUBMOD_ENONFINITE, also at
 *                                                     ignored pixels: "pixel_weights[1][17] = .."
 *   huge or tiny pixel weights                        no overflow: only ratios matter
 *   more than 2^31 - 1 pixels, 2^29 - 1 classes       SUBMOD_EINVAL
 *   a custom measure that fails                       SUBMOD_ECALLBACK: "the custom measure
 *                                                     returned F(a = 3, b = 0) = nan with .."
 *   a measure that measure.h does not allow           SUBMOD_EINVAL: "measure.beta = 0.5 must .."
 *   scale * derivative                                no overflow, as no derivative exceeds 1;
 *                                                     SUBMOD_ENUMERIC if a custom measure's F(P, N)
 *                                                     times the scale is too large for a float; for
 *                                                     submod_lovasz_hinge_function see there
 *   accumulating                                      a sum of two floats, Inf where that overflows
 *   any error                                         loss untouched, and the gradient, unless the
 *                                                     engine is counting
 *
 * The gradient must not overlap the scores or itself; strides of 0 are refused (SUBMOD_EINVAL).
 *
 * An ignored pixel, and one of weight 0, has no part in anything and gradient 0. Ties: foreground
 * before background, equal pixels share what they add in proportion to their weights.
 */
#ifndef SUBMOD_LOSS_H
#define SUBMOD_LOSS_H

#include <submod/function.h>
#include <submod/measure.h>
#include <submod/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the errors are ranked; the head of loss.h compares the two. */
typedef enum submod_engine {
    SUBMOD_ENGINE_EXACT = 0,     /* by sorting */
    SUBMOD_ENGINE_HISTOGRAM = 1, /* by counting in bins of equal width, up to delta */
    SUBMOD_ENGINE_COUNTING = 2   /* by counting in bins of the float format, up to accuracy */
} submod_engine;

/* Which classes the mean is taken over. */
typedef enum submod_classes {
    SUBMOD_CLASSES_PRESENT = 0, /* those with a foreground pixel in the group (paper, Sec. 3.1) */
    SUBMOD_CLASSES_ALL = 1,     /* all, those without foreground too */
    SUBMOD_CLASSES_LIST = 2     /* those of class_list */
} submod_classes;

/* One struct for the losses and the baselines; each function says what it does not look at. Start
 * from submod_loss_defaults(), whose values stand in the comments. */
typedef struct submod_loss_settings {
    /* 1: scores are logits, and the softmax or sigmoid is applied here. 0: they are probabilities,
     * and the gradient is with respect to them. */
    int from_logits;      /* 1 */
    submod_engine engine; /* SUBMOD_ENGINE_EXACT */
    /* Histogram: the loss may be off by this much (2^-13), from 2^-21 to 1. The number of bins is
     * the power of two that guarantees it. For the hinge it is relative to the largest margin, for
     * a custom measure to its F(P, N). */
    double delta;
    /* Histogram: so many bins, a power of two from 2 to 2^20, whatever delta says; 0 (the default):
     * as many as delta asks for. info.delta is what they guarantee: 1 / (2 bins), for the hinge
     * times the power of two above the largest margin, for a custom measure times its F(P, N),
     * averaged as losses are. */
    size_t bins;
    /* Counting: |loss - exact loss| <= accuracy * loss, up to the rounding of scores; from 0, which
     * sorts, to 1. 2^-24, the default, is below that rounding. */
    double accuracy;
    int per_image;             /* 0: one group, the batch; 1: a group per image, losses averaged */
    submod_classes classes;    /* SUBMOD_CLASSES_PRESENT */
    const int32_t *class_list; /* borrowed; distinct, at least one; only with SUBMOD_CLASSES_LIST */
    size_t class_count;        /* length of class_list */
    /* One number >= 0 per class, not all 0, borrowed; NULL: all 1. The loss of a group is the
     * weighted mean, sum of weight * loss over the classes taken / sum of their weights. */
    const double *class_weight;
    double smoothing;     /* 0, or at least 1e-30; only of overlaps, soft or metric (baseline.h) */
    int has_ignore;       /* 0; 1: pixels with the label ignore_index are left out */
    int64_t ignore_index; /* the label that is left out, in the range of classes or not */
    /* What wrong pixels cost; borrowed. NULL: Jaccard (measure.h). Only of the Lovász losses. Of a
     * custom one weights are differences of its values, so they are as exact as those. It is asked
     * three times per class and group; then once per run of equal errors (exact), or for all bins
     * at once (histogram). */
    const submod_measure *measure;
    /* What each pixel counts for, borrowed, view and numbers; NULL: all 1. One per pixel, also
     * where each class has labels of its own. A pixel of weight 0 is left out like an ignored one,
     * but its label must be valid. */
    const submod_pixel_weights *pixel_weights;
    /* NULL, or room for a number per group (per_image: the batch's images, else 1): the loss of
     * each is written there, and their mean is the loss. Written when the call succeeds. */
    double *group_loss;
} submod_loss_settings;

/* The values that stand in the comments of the struct. */
SUBMOD_API submod_loss_settings submod_loss_defaults(void);

/* What a loss call tells about itself. */
typedef struct submod_loss_info {
    double delta;    /* |loss returned - loss of these errors| <= delta, up to rounding; exact: 0 */
    size_t bins;     /* histogram engine, else 0 */
    uint64_t pixels; /* not ignored, of weight > 0; sigmoid: entries */
    uint64_t sorted; /* errors that had to be sorted, over all classes; histogram: 0 */
    size_t terms;    /* class losses that entered the mean, over all groups */
    size_t workspace;  /* bytes of scratch memory used */
    double bound;      /* counting: |loss - loss of these errors| <= bound; exact: 0 */
    int mantissa_bits; /* counting: of a bin, unless a group needed more; 0: all were sorted */
} submod_loss_info;

/* Multiclass. labels: (batch, pixels) with values in [0, classes). loss, gradient and info may be
 * NULL; settings NULL: the defaults. Not looked at: smoothing. */
SUBMOD_API submod_status submod_lovasz_softmax(const submod_scores *scores,
                                               const submod_labels *labels, double *loss,
                                               const submod_gradient *gradient,
                                               const submod_loss_settings *settings,
                                               submod_loss_info *info, submod_work *work);

/* Multilabel. labels: (batch, classes, pixels), 0 or 1 (submod_labels_multilabel).
 * SUBMOD_CLASSES_PRESENT: labels that occur in the group. Not looked at: smoothing. */
SUBMOD_API submod_status submod_lovasz_sigmoid(const submod_scores *scores,
                                               const submod_labels *labels, double *loss,
                                               const submod_gradient *gradient,
                                               const submod_loss_settings *settings,
                                               submod_loss_info *info, submod_work *work);

/* Binary. scores: classes = 1; labels: (batch, pixels), 0 or 1. A group without foreground counts
 * with its largest margin. Not looked at: from_logits (scores are scores), classes, class_list,
 * class_count, class_weight, smoothing. */
SUBMOD_API submod_status submod_lovasz_hinge(const submod_scores *scores,
                                             const submod_labels *labels, double *loss,
                                             const submod_gradient *gradient,
                                             const submod_loss_settings *settings,
                                             submod_loss_info *info, submod_work *work);

/* The Lovász hinge of any monotone set function fn over the pixels of an image (Hamming, a custom
 * loss, a function made for this image): margins max(0, 1 - s * score) with s = 1 at label 1 and -1
 * at label 0, loss = extension of fn, averaged over the images of the batch. fn must have as many
 * elements as an image has pixels. With Hamming it is the mean hinge loss, computed as such without
 * a sort. Ignored pixels count as right. settings: only has_ignore and ignore_index are looked at;
 * double precision throughout. Errors as above, and those of submod_lovasz. SUBMOD_EUNSUPPORTED:
 * pixel_weights, as what its pixels count for is in fn.
 * SUBMOD_ENUMERIC: the derivative times the scale, or added to what is there, overflows a float. */
SUBMOD_API submod_status submod_lovasz_hinge_function(
    const submod_fn *fn, const submod_scores *scores, const submod_labels *labels, double *loss,
    const submod_gradient *gradient, const submod_loss_settings *settings, submod_work *work);

#ifdef __cplusplus
}
#endif

#endif
