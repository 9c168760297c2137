/* The losses that the Lovász losses are compared and mixed with, forward and backward in one call.
 *
 *   submod_cross_entropy   multiclass, softmax: paper, Eq. 1
 *   submod_hinge           binary, from scores
 *   submod_rahman_wang     binary, sigmoid: 1 - I/U of the probabilities
 *   submod_soft_dice       multiclass, softmax: 1 - 2I/(sum of both) per class
 *   submod_soft_jaccard    multiclass, softmax: 1 - I/U per class
 *   submod_jaccard_metric  the same of soft labels: Wang, Ning and Blaschko 2023
 *   submod_dice_metric
 *
 * Views, settings, groups (an image or the whole batch), gradients that are written or added with a
 * scale, pixel weights and the meaning of NULL are those of loss.h; no baseline looks at engine,
 * delta, bins and measure.
 * Cross-entropy + Lovász-Softmax is one call of each, the second with an accumulating gradient.
 * Sums are in double and give the same bits for any number of threads. Two passes over the scores:
 * one for the loss, one for the gradient; cross-entropy looks for bad scores in one and does the
 * rest in the other. Scratch memory does not grow with the number of pixels, but for the
 * overlaps of several classes, which keep up to 12 bytes per pixel, and for 4 bytes per pixel with
 * pixel weights.
 *
 * What happens in special cases:
 *
 *   batch = 0 or pixels = 0, or all pixels ignored    loss 0, gradient 0 (PyTorch's mean: NaN)
 *   classes = 0; for hinge and Rahman-Wang, not 1     SUBMOD_EINVAL
 *   classes = 1, a softmax of logits                  SUBMOD_EINVAL: the softmax is always 1
 *   empty class_list with SUBMOD_CLASSES_LIST, or     SUBMOD_EINVAL: the loss would always be 0
 *     weight 0 for every class that could count
 *   a group all of whose pixels are ignored, or       counts as 0 in the mean over the groups
 *     have weight 0, or without a class to take
 *   class absent from a group
 *     cross-entropy, hinge                            only its scores matter, not its weight
 *     Rahman-Wang without foreground                  loss 1, gradient 0 (I = 0, whatever is done)
 *     Dice, Jaccard, SUBMOD_CLASSES_PRESENT           left out of the mean over the classes
 *     Dice, Jaccard, otherwise, smoothing 0           loss 1, gradient 0
 *     Dice, Jaccard, otherwise, smoothing s > 0       1 - s / (sum of its probabilities + s)
 *   0/0: absent, all its probabilities 0, s = 0       loss 0, gradient 0; metric losses: also if
 *                                                     both add up to less than 1e-30 times the
 *                                                     largest weight
 *   label neither in range nor the ignored one        SUBMOD_EINVAL: "labels[1][17] = 9 is not .."
 *   infinite scores in the hinge                      as in loss.h
 *   NaN or Inf among the scores                       SUBMOD_ENONFINITE: "scores[0][2][5] is nan",
 *                                                     also at ignored pixels
 *   huge scores                                       no overflow: the softmax is shifted
 *   hinge at margin 0, where it has a kink            derivative 0
 *   probability outside [0, 1] by more than 1e-3      SUBMOD_EINVAL; by less: clamped
 *   soft label outside [0, 1] by more than 1e-3       SUBMOD_EINVAL: "soft_labels[0][2][5] = 2 is
 *                                                     no probability; .."; by less: clamped
 *   NaN or Inf among the soft labels                  SUBMOD_ENONFINITE, also at pixels of weight 0
 *   soft labels in another shape than the scores,     SUBMOD_EINVAL
 *     or an unknown submod_overlap
 *   class weight or smoothing negative, NaN or Inf    SUBMOD_EINVAL, SUBMOD_ENONFINITE
 *   bad pixel weights                                 as in loss.h
 *   gradient scale * largest weight of a pixel /      SUBMOD_ENUMERIC
 *     smoothing overflows a float
 *   any error                                         loss and gradient untouched
 *
 * An ignored pixel, and one of weight 0, has no part in anything and gradient 0.
 */
#ifndef SUBMOD_BASELINE_H
#define SUBMOD_BASELINE_H

#include <submod/loss.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Multiclass. labels: (batch, pixels) with values in [0, classes). Within a group, the mean of
 * -log softmax(scores)[label] over the pixels, weighted by the class weight of each pixel's label
 * times the weight of the pixel: sum of both * loss / sum of both, as PyTorch's cross_entropy with
 * reduction='mean'. The small
 * losses and gradients of confident predictions keep their relative accuracy while another class is
 * within 87 of the largest score; classes further behind count as 87, exp(-87) < 2e-38.
 * From logits only, since a probability that was rounded to 0 has no logarithm: SUBMOD_EINVAL for
 * from_logits = 0. Not looked at: classes, class_list, class_count, smoothing. loss and gradient
 * may be NULL. */
SUBMOD_API submod_status submod_cross_entropy(const submod_scores *scores,
                                              const submod_labels *labels, double *loss,
                                              const submod_gradient *gradient,
                                              const submod_loss_settings *settings,
                                              submod_work *work);

/* Binary. scores: classes = 1; labels: (batch, pixels), 0 or 1. Within a group, the mean over the
 * pixels of max(0, 1 - score) at label 1 and max(0, 1 + score) at label 0, weighted by the class
 * weight of the label times the weight of the pixel.
 * class_weight: two numbers, of background and foreground. Not looked at: from_logits, classes,
 * class_list, class_count, smoothing. */
SUBMOD_API submod_status submod_hinge(const submod_scores *scores, const submod_labels *labels,
                                      double *loss, const submod_gradient *gradient,
                                      const submod_loss_settings *settings, submod_work *work);

/* Binary. scores: classes = 1; labels: (batch, pixels), 0 or 1. With p the sigmoid of the score and
 * y the label, per group 1 - I/U, I = sum of w p y, U = sum of w (p + y) - I (Rahman and Wang
 * 2016), w the weight of the pixel, 1 if there are none. Not looked at: class_weight, classes,
 * class_list, class_count, smoothing. */
SUBMOD_API submod_status submod_rahman_wang(const submod_scores *scores,
                                            const submod_labels *labels, double *loss,
                                            const submod_gradient *gradient,
                                            const submod_loss_settings *settings,
                                            submod_work *work);

/* Multiclass. labels: (batch, pixels) with values in [0, classes). With p the probability of class
 * c, y = [label is c], w the weight of the pixel and s the smoothing, per class and group
 *     Dice     1 - (2 I + s) / (sum of w p + sum of w y + s),   I = sum of w p y,
 *     Jaccard  1 - (I + s) / (U + s),                           U = sum of w p + sum of w y - I.
 * The loss of a group is the weighted mean, sum of weight * loss over the classes taken / sum of
 * their weights. */
SUBMOD_API submod_status submod_soft_dice(const submod_scores *scores, const submod_labels *labels,
                                          double *loss, const submod_gradient *gradient,
                                          const submod_loss_settings *settings, submod_work *work);
SUBMOD_API submod_status submod_soft_jaccard(const submod_scores *scores,
                                             const submod_labels *labels, double *loss,
                                             const submod_gradient *gradient,
                                             const submod_loss_settings *settings,
                                             submod_work *work);

/* What a soft label y and a probability p have in common. With labels of 0 and 1: the same. */
typedef enum submod_overlap {
    SUBMOD_OVERLAP_MIN = 0,    /* min(p, y); JML1 and DML1 of the authors */
    SUBMOD_OVERLAP_PRODUCT = 1 /* p y; JML2 and DML2 */
} submod_overlap;

/* Multiclass, with soft labels: from label smoothing, of a teacher, or the shares of annotators who
 * disagree. soft_labels: in the shape of the scores, numbers in [0, 1], of any type and strides;
 * those of a pixel need not add up to 1. With w the weight of the pixel and s the smoothing, per
 * class and group
 *     Jaccard  1 - (I + s) / (I + D + s),       D = sum of w |p - y|,
 *     Dice     1 - (2 I + s) / (2 I + D + s),   I = sum of w min(p, y), or of w p y.
 * They are 0 where p = y everywhere, and only there, which soft Jaccard and soft Dice are not if
 * labels are soft; with labels of 0 and 1 they are those two, up to rounding, gradients included.
 * The gradient is by the scores alone. At p = y, a kink, it is the mean of both sides; at a label
 * of 0 or 1 that of the side that is in [0, 1].
 * A class is present in a group if a label of it is > 0 at a pixel of weight > 0: with smoothed
 * labels, all are. No label says that a pixel is ignored: a weight of 0 leaves it out, and
 * has_ignore and ignore_index are not looked at. One class is fine with from_logits = 0. */
SUBMOD_API submod_status submod_jaccard_metric(const submod_scores *scores,
                                               const submod_scores *soft_labels,
                                               submod_overlap overlap, double *loss,
                                               const submod_gradient *gradient,
                                               const submod_loss_settings *settings,
                                               submod_work *work);
SUBMOD_API submod_status submod_dice_metric(const submod_scores *scores,
                                            const submod_scores *soft_labels,
                                            submod_overlap overlap, double *loss,
                                            const submod_gradient *gradient,
                                            const submod_loss_settings *settings,
                                            submod_work *work);

#ifdef __cplusplus
}
#endif

#endif
