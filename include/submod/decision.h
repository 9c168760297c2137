/* From probabilities to a segmentation: the one whose expected IoU or Dice is largest.
 *
 * A network says of each pixel i how probable it is, q_i, that it belongs to a class. To take all
 * with q_i > 1/2 is best for the share of right pixels, not for IoU or Dice. Here pixels are taken
 * as independent of each other, and S is sought that makes the expected score largest. With k =
 * |S|, I the pixels of the truth inside S and B those outside,
 *
 *     IoU = I / (k + B)          Dice = 2 I / (k + I + B)          0/0 = empty, 1 by default
 *
 * Of all sets of k pixels the k most probable are best, for both scores (docs/mathematics.md,
 * section 11). So the best S is a prefix of the pixels ranked by q: Nowozin (2014) asks for it,
 * RankSEG (Dai and Li, 2023) ranks. Which k is best is decided by the expectation itself. It is
 * computed with a guarantee: as an interval that holds it, mostly 1e-12 wide, at most 1e-9.
 *
 *   method       which k                                                          is best
 *   RANK         the largest expectation among all prefixes: RankSEG's rule,      always
 *                without its approximations
 *   GREEDY       from nothing, the next pixel as long as the expectation rises    not always
 *   THRESHOLD    the largest ratio of expectations, E I / E(union) or             nearly, for many
 *                2 E I / E(sum): Nowozin's form; q_i > J / (1 + J) or q_i > J / 2   pixels
 *                at the best ratio J
 *   HALF         q_i > 1/2, to compare with                                       seldom
 *
 * Every method says how good its decision is, and how good the best one could be at most (info).
 * Cost of each: one sort, O(p log p) for p pixels, and O(p) more; GREEDY some hundred operations a
 * pixel. Pixels with equal probabilities are ranked by their position.
 *
 * What happens in special cases:
 *
 *   no pixels                        S is empty, the score `empty`
 *   all q_i = 0                      S is empty (RANK and GREEDY with empty = 0 too)
 *   q_i all 0 or 1                   S is the truth, the score 1
 *   q_i is NaN or Inf                SUBMOD_ENONFINITE: "probabilities[0][2][17] is nan"
 *   q_i < 0 or q_i > 1               SUBMOD_EINVAL: "probabilities[0][2][17] = 1.5 is not .."
 *   classes = 0                      SUBMOD_EINVAL
 *   batch = 0                        nothing to do
 *   more than 2^31 - 1 pixels        SUBMOD_EINVAL, in an image
 *   memory runs out                  SUBMOD_ENOMEM
 *   any error                        outputs untouched
 *
 * Which settings give what others do:
 *
 *   RankSEG (2023), Dice             RANK, DICE, empty = 0; it approximates the expectations
 *                                    (blind, or a refined normal), drops classes whose q_i are
 *                                    all <= 1/2 (pruning_prob) and smooths (smooth = 0: as here)
 *   RankSEG-RMA (2025)               nearly THRESHOLD: IoU by the ratio of expectations, Dice
 *                                    with 1 more in the denominator
 *   Nowozin (2014), no prior         THRESHOLD, IOU
 */
#ifndef SUBMOD_DECISION_H
#define SUBMOD_DECISION_H

#include <submod/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is to be large on average. */
typedef enum submod_decision_score {
    SUBMOD_DECISION_IOU = 0, /* intersection over union, the Jaccard index */
    SUBMOD_DECISION_DICE = 1 /* twice the intersection over the sum of sizes, F1 */
} submod_decision_score;

/* How the number of pixels is chosen; see the table above. */
typedef enum submod_decision_method {
    SUBMOD_DECISION_RANK = 0,      /* the largest expectation: the best there is */
    SUBMOD_DECISION_GREEDY = 1,    /* as long as the expectation rises */
    SUBMOD_DECISION_THRESHOLD = 2, /* the largest ratio of expectations */
    SUBMOD_DECISION_HALF = 3       /* above one half */
} submod_decision_method;

/* What is wanted. */
typedef struct submod_decision_settings {
    submod_decision_score score;   /* SUBMOD_DECISION_IOU */
    submod_decision_method method; /* SUBMOD_DECISION_RANK */
    double empty; /* 1: what an empty segmentation of an empty truth scores, from 0 to 1 */
} submod_decision_settings;

/* The values that stand in the comments of the struct. */
SUBMOD_API submod_decision_settings submod_decision_defaults(void);

/* How an expectation was computed. */
typedef enum submod_expectation {
    /* k + E B (IoU) or k + E(I + B) (Dice) is at most 700: an integral of a polynomial by Gauss'
     * rule, which is exact but for rounding, and a tail below 1e-25. */
    SUBMOD_EXPECTATION_QUADRATURE = 0,
    /* Above: a series of 12 moments, with a bound of what it leaves out. */
    SUBMOD_EXPECTATION_SERIES = 1
} submod_expectation;

/* How good a decision is. */
typedef struct submod_decision_info {
    double lower, upper;            /* its expected score lies between these, rounding included */
    double best;                    /* no segmentation has a larger expected score */
    double threshold;               /* the smallest probability that was chosen; 1 if none was */
    size_t chosen;                  /* pixels */
    submod_expectation expectation; /* how lower and upper were found */
} submod_decision_info;

/* Decides for each image and class by itself: masks, dense (batch, classes, pixels), gets 1 for the
 * pixels of the segmentation and 0 for the others. Segmentations of different classes may overlap,
 * or leave pixels to nobody, as in RankSEG. info: NULL, or batch * classes of them.
 * SUBMOD_EINVAL: NULL, and as in the table above; an unknown score or method; empty not in [0, 1].
 */
SUBMOD_API submod_status submod_decide(const submod_scores *probabilities, uint8_t *masks,
                                       const submod_decision_settings *settings,
                                       submod_decision_info *info, submod_work *work);

/* One class for every pixel: labels, dense (batch, pixels). The expected mean score over classes is
 * the mean of the expected scores, so each class first decides by itself, as above. A pixel that
 * one class alone has chosen goes to it. Of several that have chosen a pixel, or of all if none
 * has, the one gets it whose ratio of expectations it raises most, given the pixels that are
 * settled (the rule of RankSEG-RMA); the smaller class among equals. If giving each pixel to its
 * most probable class (the smaller one among equals) has a larger expected mean score, that is
 * done instead, for the image: so the result is never worse than the argmax.
 * The best assignment is a hard problem; the mean of info.best over the classes is an upper bound
 * of what it could reach, so that each call says how much it may have lost. info: as above, with
 * lower, upper, threshold and chosen of the pixels that the class got in the end. The probabilities
 * of a pixel need not add up to 1. */
SUBMOD_API submod_status submod_decide_classes(const submod_scores *probabilities, int32_t *labels,
                                               const submod_decision_settings *settings,
                                               submod_decision_info *info, submod_work *work);

/* The expected score of given segmentations: masks, dense (batch, classes, pixels), nonzero meaning
 * chosen. It lies between lower and upper, batch * classes numbers each; either may be NULL.
 * settings: score and empty. Errors as for submod_decide. O(p) for p pixels. */
SUBMOD_API submod_status submod_expected_score(const submod_scores *probabilities,
                                               const uint8_t *masks, double *lower, double *upper,
                                               const submod_decision_settings *settings,
                                               submod_work *work);

#ifdef __cplusplus
}
#endif

#endif
