/* Lovász losses over whole batches, forward and backward in one call.
 *
 *   submod_lovasz_softmax   multiclass: paper, Eqs. 11-13
 *   submod_lovasz_sigmoid   multilabel: one binary problem per label, averaged
 *   submod_lovasz_hinge     binary, from scores: paper, Eq. 10
 *
 * Each loss ranks the pixel errors of a class within a group (an image or the whole batch) and
 * weights them by the greedy subgradient of a measure (measure.h): Jaccard by default, Tversky, a
 * custom function, or Hamming, whose loss is the mean error. Three engines compute the same loss:
 *
 *   exact      sorts the errors that can have weight. Counts are exact.
 *   counting   counts the errors by exponent and leading mantissa bits, and bounds the error of the
 *              loss from the counts. Sorts groups that miss the accuracy, and groups of fewer than
 *              2^14 pixels (more than four classes: 2^17). Two passes over the scores, three for
 *              the hinge.
 *   histogram  counts the errors in bins of equal width and never sorts. The loss is off by at most
 *              a known delta. Two passes over the scores; three for the hinge, which needs the
 *              range of its scores, and for per_image with small images, where all scores are
 *              checked first.
 *
 * The gradient g of the histogram engine is a 2 delta-subgradient with respect to the probabilities
 * (hinge: the scores): exact losses satisfy loss(q) >= loss(p) + <g, q - p> - 2 delta for all q.
 * The counting engine guarantees the same with info.bound in place of delta. No result depends on
 * the number of threads; base.h lists the other guarantees.
 *
 * Pixels may have weights (settings.pixel_weights). The measure's counts are then sums of weights,
 * and a pixel's gradient is its weight times the gradient per unit of weight: a pixel of weight 2
 * acts as two pixels. Each weight is first rounded to a multiple of a step, so that sums are exact
 * in any order: the largest weight and the number of pixels of the group, each rounded up to a
 * power of two, times 2^-52. Losses and derivatives use the rounded weights. Integer weights are
 * exact while the largest weight times the number of pixels is at most 2^50; weights below half a
 * step count as 0. Multiplying all weights by a power of two changes no bits, unless the measure is
 * custom.
 *
 * Scratch memory, in bytes:
 *
 *   exact      16 per pixel of a group and thread, 12 per pixel of a softmax, and 4 per score
 *              unless the gradient can hold these meanwhile: its pixels are contiguous, it is
 *              overwritten, and the measure is not custom. With pixel weights 4 more per pixel.
 *   counting   with k mantissa bits, 320 * 2^k per class and thread, half as much per class, and
 *              21 KiB per class and thread. With pixel weights twice as much.
 *   histogram  about 8 per class, bin and thread (16 with pixel weights); 8 per class, bin and
 *              group if that is less than the scores take, else 8 per class and bin; 4 per class
 *              and tile of 64 to 1024 pixels; 16 per pixel of a softmax. With pixel weights 4 more
 *              per pixel.
 *
 * Special cases, where P is the number or weight of a class's foreground pixels within the group:
 *
 *   batch = 0 or pixels = 0, or all pixels ignored    loss 0, gradient 0
 *     or of weight 0
 *   classes = 0                                       SUBMOD_EINVAL
 *   classes = 1, Lovász-Softmax of logits             SUBMOD_EINVAL: the softmax is always 1; use
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
 *   any error                                         loss untouched; the gradient too, except
 *                                                     with the counting engine
 *
 * The gradient must not overlap the scores or itself; strides of 0 are refused (SUBMOD_EINVAL).
 *
 * Ignored pixels and pixels of weight 0 do not affect the loss, and their gradient is 0. Among
 * equal errors foreground comes before background, and pixels of one label share their joint gain
 * in proportion to their weights.
 */
#ifndef SUBMOD_LOSS_H
#define SUBMOD_LOSS_H

#include <submod/function.h>
#include <submod/measure.h>
#include <submod/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How errors are ranked; the head of loss.h compares the engines. */
typedef enum submod_engine {
    SUBMOD_ENGINE_EXACT = 0,     /* by sorting */
    SUBMOD_ENGINE_HISTOGRAM = 1, /* by counting in bins of equal width, up to delta */
    SUBMOD_ENGINE_COUNTING = 2   /* by counting in bins of the float format, up to accuracy */
} submod_engine;

/* The classes that enter the mean. */
typedef enum submod_classes {
    SUBMOD_CLASSES_PRESENT = 0, /* those with a foreground pixel in the group (paper, Sec. 3.1) */
    SUBMOD_CLASSES_ALL = 1,     /* all, even those without foreground */
    SUBMOD_CLASSES_LIST = 2     /* those of class_list */
} submod_classes;

/* Settings of the losses and the baselines; each function lists the fields that it ignores. Start
 * from submod_loss_defaults(); the comments give its values. */
typedef struct submod_loss_settings {
    /* 1 means that scores are logits and the call applies the softmax or sigmoid; 0 that they are
     * probabilities, and the gradient is with respect to them. */
    int from_logits;      /* 1 */
    submod_engine engine; /* SUBMOD_ENGINE_EXACT */
    /* Histogram: the largest error of the loss, from 2^-21 to 1; 2^-13 by default. The number of
     * bins is the power of two that guarantees it. For the hinge it is relative to the largest
     * margin, for a custom measure to its F(P, N). */
    double delta;
    /* Histogram: the number of bins, a power of two from 2 to 2^20, which overrides delta; 0 (the
     * default) derives it from delta. They guarantee info.delta: 1 / (2 bins), for the hinge times
     * the power of two above the largest margin, for a custom measure times its F(P, N), averaged
     * as losses are. */
    size_t bins;
    /* Counting: |loss - exact loss| <= accuracy * loss, up to the rounding of scores; from 0
     * (always sorts) to 1. The default, 2^-24, is below that rounding. */
    double accuracy;
    int per_image;             /* 0: one group, the batch; 1: a group per image, losses averaged */
    submod_classes classes;    /* SUBMOD_CLASSES_PRESENT */
    const int32_t *class_list; /* borrowed; distinct, at least one; only with SUBMOD_CLASSES_LIST */
    size_t class_count;        /* length of class_list */
    /* One number >= 0 per class, not all 0, borrowed; NULL means ones. The loss of a group is the
     * weighted mean over its classes, sum of weight * loss / sum of weight. */
    const double *class_weight;
    double smoothing;     /* 0, or at least 1e-30; only of overlaps, soft or metric (baseline.h) */
    int has_ignore;       /* 0; 1 leaves out pixels with the label ignore_index */
    int64_t ignore_index; /* the label that is left out, in the range of classes or not */
    /* The measure of wrong pixels (measure.h), borrowed; NULL means Jaccard. Only Lovász losses use
     * it. The gains of a custom measure are differences of its values and only as exact as these.
     * It is called three times per class and group, then once per run of equal errors (exact) or
     * once for all bins (histogram). */
    const submod_measure *measure;
    /* One weight per pixel, even if each class has its own labels; NULL means ones. View and
     * numbers are borrowed. A pixel of weight 0 is left out like an ignored one, but its label must
     * be valid. */
    const submod_pixel_weights *pixel_weights;
    /* Receives the loss of each group (per_image: one per image, else one) when the call succeeds;
     * their mean is the loss. May be NULL. */
    double *group_loss;
} submod_loss_settings;

/* Returns the defaults, which the comments of the struct give. */
SUBMOD_API submod_loss_settings submod_loss_defaults(void);

/* Statistics and error bounds of a loss call. */
typedef struct submod_loss_info {
    double delta;    /* |loss returned - loss of these errors| <= delta, up to rounding; exact: 0 */
    size_t bins;     /* histogram engine, else 0 */
    uint64_t pixels; /* not ignored, of weight > 0; sigmoid: entries */
    uint64_t sorted; /* errors that were sorted, over all classes; histogram: 0 */
    size_t terms;    /* class losses that entered the mean, over all groups */
    size_t workspace;  /* bytes of scratch memory used */
    double bound;      /* counting: |loss - loss of these errors| <= bound; exact: 0 */
    int mantissa_bits; /* counting: of a bin, unless a group needed more; 0 if all were sorted */
} submod_loss_info;

/* Computes the multiclass loss. labels: (batch, pixels) with values in [0, classes). loss, gradient
 * and info may be NULL; settings = NULL means the defaults. Ignores smoothing. */
SUBMOD_API submod_status submod_lovasz_softmax(const submod_scores *scores,
                                               const submod_labels *labels, double *loss,
                                               const submod_gradient *gradient,
                                               const submod_loss_settings *settings,
                                               submod_loss_info *info, submod_work *work);

/* Computes the multilabel loss. labels: (batch, classes, pixels), 0 or 1
 * (submod_labels_multilabel). SUBMOD_CLASSES_PRESENT means labels that occur in the group. Ignores
 * smoothing. */
SUBMOD_API submod_status submod_lovasz_sigmoid(const submod_scores *scores,
                                               const submod_labels *labels, double *loss,
                                               const submod_gradient *gradient,
                                               const submod_loss_settings *settings,
                                               submod_loss_info *info, submod_work *work);

/* Computes the binary loss. scores: classes = 1; labels: (batch, pixels), 0 or 1. The loss of a
 * group without foreground is its largest margin. Ignores from_logits, classes, class_list,
 * class_count, class_weight and smoothing. */
SUBMOD_API submod_status submod_lovasz_hinge(const submod_scores *scores,
                                             const submod_labels *labels, double *loss,
                                             const submod_gradient *gradient,
                                             const submod_loss_settings *settings,
                                             submod_loss_info *info, submod_work *work);

/* Computes the Lovász hinge of any monotone set function fn over the pixels of an image (Hamming, a
 * custom loss, a function made for this image): margins max(0, 1 - s * score) with s = 1 at label 1
 * and -1 at label 0, loss = extension of fn, averaged over the images of the batch. fn must have as
 * many elements as an image has pixels. With Hamming it is the mean hinge loss, computed directly
 * without a sort. Ignored pixels count as correct. Only the settings has_ignore and ignore_index
 * are used. Computes in double precision. Errors as above, and those of submod_lovasz.
 * SUBMOD_EUNSUPPORTED: pixel_weights, because fn already weights its pixels. SUBMOD_ENUMERIC: the
 * derivative times the scale, or added to what is there, overflows a float. */
SUBMOD_API submod_status submod_lovasz_hinge_function(
    const submod_fn *fn, const submod_scores *scores, const submod_labels *labels, double *loss,
    const submod_gradient *gradient, const submod_loss_settings *settings, submod_work *work);

#ifdef __cplusplus
}
#endif

#endif
