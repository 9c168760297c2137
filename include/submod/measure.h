/* Measures: what wrong pixels cost, by their counts.
 *
 * Of P pixels in the foreground a are wrong, and of N in the background b: the cost is F(a, b),
 * with F(0, 0) = 0. The losses (loss.h) and the set functions of two counts (function.h) take any
 * such measure whose F is increasing and submodular, which is the case if and only if, on the
 * lattice 0 <= a <= P, 0 <= b <= N, its first differences are >= 0 and its second differences in
 * aa, bb and ab are <= 0 (docs/mathematics.md, section 3).
 *
 *   Jaccard   (a + b) / (P + b)                               1 - intersection / union
 *   Hamming   (a + b) / (P + N)                               the share of wrong pixels
 *   Tversky   (beta a + alpha b) / (P + (beta - 1) a + alpha b)
 *             1 - TP / (TP + beta FN + alpha FP); submodular for beta >= 1, alpha >= 0 alone, so
 *             Dice, alpha = beta = 1/2, is not among them. alpha = beta = 1: Jaccard.
 *   custom    a function of yours
 *
 * Without foreground (P = 0) Jaccard and Tversky are 1 with the first wrong pixel; Tversky with
 * alpha = 0 is then 0.
 *
 * Pixels may have weights, and counts may decay (dataset.h): then a, b, P and N are sums of
 * weights, any numbers >= 0 rather than whole ones.
 */
#ifndef SUBMOD_MEASURE_H
#define SUBMOD_MEASURE_H

#include <submod/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which measure it is. */
typedef enum submod_measure_type {
    SUBMOD_MEASURE_JACCARD = 0, /* 1 - intersection / union */
    SUBMOD_MEASURE_HAMMING = 1, /* the share of wrong pixels */
    SUBMOD_MEASURE_TVERSKY = 2, /* by alpha and beta */
    SUBMOD_MEASURE_CUSTOM = 3   /* a function of yours */
} submod_measure_type;

/* A measure. Best made by one of the functions below, so that nothing is forgotten. */
typedef struct submod_measure {
    size_t struct_size;       /* set by those functions: base.h, structs that grow */
    submod_measure_type type; /* which one */
    double alpha, beta;       /* Tversky: alpha 0 or from 1e-12, beta from 1, to 1e12 */
    /* Custom: F(a, b). It must be finite, F(0, 0) = 0, and give the same number whenever it is
     * asked the same; threads of the library call it side by side. NaN tells that it failed: the
     * call that needed it returns SUBMOD_ECALLBACK. */
    double (*value)(double a, double b, double P, double N, void *ctx);
    /* The same for count pairs at once, where a call is expensive: F[i] = F(a[i], b[i]). One of the
     * two is enough; this one is taken where both are there. */
    void (*values)(size_t count, const double *a, const double *b, double P, double N, double *F,
                   void *ctx);
    void *ctx; /* custom: handed on; borrowed */
} submod_measure;

/* Built in. */
SUBMOD_API submod_measure submod_measure_jaccard(void);
SUBMOD_API submod_measure submod_measure_hamming(void);
/* Its numbers are checked where the measure is used. */
SUBMOD_API submod_measure submod_measure_tversky(double alpha, double beta);
/* By one function of yours; values can be set afterwards. */
SUBMOD_API submod_measure submod_measure_custom(double (*value)(double a, double b, double P,
                                                                double N, void *ctx),
                                                void *ctx);

/* ---- checking ---- */

/* Where a measure fails. The two sides are
 *   increasing   left = F(a + da, b + db)   <  right = F(a, b)
 *   submodular   left = what da and db add after (a, b)  <  right = what they add after one more
 *                step, (a + ea, b + eb)
 * One of da and db is 0, and one of ea and eb. */
typedef struct submod_measure_failure {
    double a, b;           /* the pair of counts */
    double da, db, ea, eb; /* the steps from there */
    double left, right;    /* what is compared */
} submod_measure_failure;

/* What submod_measure_check found. */
typedef struct submod_measure_report {
    int proved;           /* 1: every pair of counts was tried; 0: a sample */
    int finite;           /* 1: every value seen is; 0: not_finite says where one is not */
    int normalised;       /* 1: F(0, 0) = 0 */
    int increasing;       /* here and below: 1: no counterexample found, 0: there is one */
    int submodular;       /* likewise */
    double P, N;          /* as given */
    double empty_value;   /* F(0, 0) */
    uint64_t evaluations; /* of F */
    submod_measure_failure not_finite; /* a and b; each to be looked at where its property is 0 */
    submod_measure_failure not_increasing, not_submodular; /* the worst of those seen */
    uint64_t reserved[4];                                  /* 0 */
} submod_measure_report;

/* Tests whether a measure is finite, 0 at (0, 0), increasing and submodular for these P and N, at
 * whole counts. samples = 0, or at least (P + 1) (N + 1): every pair is tried, O(P N) evaluations,
 * and the answer is a proof up to rounding. Otherwise so many random differences are, with steps of
 * any length and half of them along the borders: a counterexample is real, its absence proves
 * nothing. Violations up to 2^-46 of the largest |F| seen, F(P, N) first, are rounding. It stops at
 * the first value that is not finite; increasing and submodular then say what was seen before.
 * *report need not be initialised, and owns nothing. A built-in measure passes by its formula and
 * is tried all the same; NULL is Jaccard. SUBMOD_EINVAL: report NULL, a bad measure, P or N beyond
 * 2^53. SUBMOD_EUNSUPPORTED: samples = 0 and more than 2^36 pairs. SUBMOD_CANCELLED: base.h,
 * cancelling: the report says what was seen, proved is 0. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_measure_check(const submod_measure *measure, uint64_t P, uint64_t N,
                                              uint64_t samples, submod_measure_report *report);

/* The report as text, as submod_check_report_text: at most size bytes with the final 0; returns the
 * length of the whole text. */
SUBMOD_API size_t submod_measure_report_text(const submod_measure_report *report, char *text,
                                             size_t size);

#ifdef __cplusplus
}
#endif

#endif
