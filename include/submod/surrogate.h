/* A convex surrogate for losses that are not submodular, such as Dice (Yu and Blaschko, A convex
 * surrogate operator for general non-modular loss functions, 2016).
 *
 * The Lovász extension of a loss F is convex only if F is submodular. Dice,
 *
 *     F(a, b) = (a + b) / (2 P - a + b)      a of P foreground and b of N background pixels wrong,
 *
 * is not: a wrong foreground pixel costs the more, the more of them there are. So F is split,
 *
 *     F = f + g,     f submodular,     g supermodular, rising, 0 on the empty set and on one pixel,
 *
 * with g as small as possible, and each part gets the convex extension that suits it. For errors
 * m_i, 1 where a pixel is wrong and 0 where it is right,
 *
 *     value = Lovász extension of f at m  +  max over A of g(A) (1 - sum over A of (1 - m_i)) ,
 *
 * the second being slack rescaling. The value is convex in m, piecewise linear, and equal to F
 * wherever all m_i are 0 or 1. Errors may be any finite numbers. For a subgradient by probabilities
 * or scores multiply by the derivative of m_i.
 *
 * How F is split:
 *
 *   Jaccard, Hamming, Tversky with beta >= 1     they are submodular: g = 0, and the value is that
 *                                                of the Lovász extension
 *   Tversky with 1/2 <= beta < 1                 g(a, b) = F(a, 0) - a F(1, 0), the smallest of all
 *                                                (Dice: alpha = beta = 1/2)
 *   others, custom too                           g(a, b) = A(a) + B(b) + c a b, A'' and B'' the
 *                                                largest positive second differences of F along
 *                                                each line, c the largest mixed one: a valid split,
 *                                                the smallest if F sees one kind of pixels only
 *
 * Cost: a sort of n errors and O(n), but O(P N) for "others": then at most 2^26 pairs (a, b).
 *
 * What happens in special cases:
 *
 *   n = 0                                value 0
 *   P = 0                                Tversky: 1 with the first wrong pixel, as in measure.h
 *   equal errors and equal labels        equal entries of the gradient
 *   errors with NaN or Inf               SUBMOD_ENONFINITE: "errors[17] is nan"
 *   so large that the value overflows    SUBMOD_ENUMERIC
 *   n > 2^31 - 1, Tversky with beta <= 0 SUBMOD_EINVAL
 *   (P + 1) (N + 1) > 2^26 for "others"  SUBMOD_EUNSUPPORTED
 *   a custom measure gives NaN or Inf,
 *     or F(0, 0) that is not 0           SUBMOD_ECALLBACK
 *   memory runs out                      SUBMOD_ENOMEM
 *   any error                            outputs untouched
 */
#ifndef SUBMOD_SURROGATE_H
#define SUBMOD_SURROGATE_H

#include <submod/measure.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What errors are. */
typedef struct submod_surrogate_settings {
    size_t struct_size; /* set by the defaults: base.h, structs that grow */
    /* 0. 1: the first part is cut off at 0, for margins of scores, m_i = 1 - score at label 1 and
     * 1 + score at label 0, which have no lower bound: so does the paper. Still convex, and still
     * equal to F at 0 and 1 where f >= 0, as it is for Dice. */
    int hinge;
} submod_surrogate_settings;

/* The values that stand in the comments of the struct. */
SUBMOD_API submod_surrogate_settings submod_surrogate_defaults(void);

/* What the value is made of. */
typedef struct submod_surrogate_info {
    double submodular, supermodular; /* the two parts of the value */
    size_t foreground, background;   /* pixels in the set A that attains the maximum */
    uint64_t reserved[4];            /* 0 */
} submod_surrogate_info;

/* measure: the loss F; NULL: Dice, which is submod_measure_tversky(0.5, 0.5). labels: n of them,
 * nonzero for the foreground. gradient: NULL, or n numbers, a subgradient of the value by the
 * errors. SUBMOD_EINVAL: NULL for labels or errors (if n > 0) or value; and as above. */
SUBMOD_API submod_status submod_general_surrogate(const submod_measure *measure,
                                                  const uint8_t *labels, const double *errors,
                                                  size_t n, double *value, double *gradient,
                                                  const submod_surrogate_settings *settings,
                                                  submod_surrogate_info *info, submod_work *work);

/* The two parts of F for P foreground and N background pixels: entry a (N + 1) + b of submodular
 * and supermodular is f(a, b) and g(a, b), a = 0 .. P, b = 0 .. N. Either may be NULL.
 * Errors as above; at most 2^26 pairs whatever the measure. */
SUBMOD_API submod_status submod_general_parts(const submod_measure *measure, size_t P, size_t N,
                                              double *submodular, double *supermodular,
                                              submod_work *work);

#ifdef __cplusplus
}
#endif

#endif
