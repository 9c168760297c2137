/* Measures F(a, b) of wrong pixels, and reports of checks.
 *
 * a of P foreground pixels and b of N background pixels are wrong; F(0, 0) = 0. Losses (loss.h) and
 * set functions of counts (function.h) accept any measure that increases in both counts and is
 * submodular: on the lattice 0 <= a <= P, 0 <= b <= N, its second differences in aa, bb and ab are
 * <= 0 (docs/mathematics.md, section 3).
 *
 * With pixel weights, and where counts decay (dataset.h), a, b, P and N are sums of weights: any
 * numbers >= 0 rather than whole ones.
 */
#ifndef SUBMOD_MEASURE_H
#define SUBMOD_MEASURE_H

#include <submod/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The kind of a measure. Tversky's is 1 - TP / (TP + beta FN + alpha FP); it is submodular only for
 * beta >= 1 and alpha >= 0, which excludes Dice (alpha = beta = 1/2), and equals Jaccard for
 * alpha = beta = 1. Without foreground (P = 0), Jaccard and Tversky are 1 from the first wrong
 * pixel on; Tversky with alpha = 0 is then 0. */
typedef enum submod_measure_type {
    SUBMOD_MEASURE_JACCARD = 0, /* (a + b) / (P + b) = 1 - intersection / union */
    SUBMOD_MEASURE_HAMMING = 1, /* (a + b) / (P + N), the share of wrong pixels */
    SUBMOD_MEASURE_TVERSKY = 2, /* (beta a + alpha b) / (P + (beta - 1) a + alpha b) */
    SUBMOD_MEASURE_CUSTOM = 3   /* a callback */
} submod_measure_type;

/* The callbacks of a custom measure. One of them is enough; the library prefers values. F must be
 * finite, 0 at (0, 0), and the same number for the same counts. Several threads call it at the same
 * time. A callback reports failure by NaN; the library's call then returns SUBMOD_ECALLBACK. */
typedef struct submod_measure_ops {
    double (*value)(double a, double b, double P, double N, void *ctx); /* returns F(a, b) */
    /* Computes F[i] = F(a[i], b[i]), for languages where one call per pair is expensive. */
    void (*values)(size_t count, const double *a, const double *b, double P, double N, double *F,
                   void *ctx);
} submod_measure_ops;

/* A measure. The functions below fill it in; calls that use it check it. */
typedef struct submod_measure {
    submod_measure_type type;
    double alpha, beta;     /* of Tversky: alpha 0 or in [1e-12, 1e12], beta in [1, 1e12] */
    submod_measure_ops ops; /* of a custom measure */
    void *ctx;              /* passed to the callbacks; borrowed */
} submod_measure;

/* Return the built-in measures. */
SUBMOD_API submod_measure submod_jaccard(void);
SUBMOD_API submod_measure submod_hamming(void);
SUBMOD_API submod_measure submod_tversky(double alpha, double beta);
/* Returns a custom measure with a copy of *ops. */
SUBMOD_API submod_measure submod_measure_custom(const submod_measure_ops *ops, void *ctx);

/* The largest number of elements whose subsets are all tried. */
#define SUBMOD_EXHAUSTIVE_MAX 24

/* ---- checking ----
 *
 * submod_measure_check below and submod_fn_check (function.h) test the properties that the library
 * relies on. If every case is tried, the answer is a proof up to the tolerance. Otherwise random
 * cases are tried: a counterexample is real, and its absence proves nothing. */

/* Settings of a check, with their defaults. */
typedef struct submod_check_settings {
    /* 16, at most SUBMOD_EXHAUSTIVE_MAX: every case is tried for set functions of at most this many
     * elements, and for measures of at most 2^exhaustive_max pairs of counts. */
    size_t exhaustive_max;
    /* 20000 random cases otherwise. A measure with at most this many pairs is tried everywhere. */
    uint64_t samples;
    double time_limit; /* 10 seconds, > 0 */
    /* Violations up to tolerance * scale count as rounding. The default, -1, means 1e-9 for set
     * functions, whose scale is the largest |F(A) - F(empty)| or 2^-14 |F(A)| seen, and 2^-46 for
     * measures, whose scale is the largest |F| seen. */
    double tolerance;
    uint64_t seed; /* 1 */
} submod_check_settings;

/* A counterexample: two numbers in the wrong order. For a set function
 *   submodular   left = F(A + e) - F(A)  <  right = F(A + f + e) - F(A + f)
 *   monotone     left = F(A + e) - F(A)  <  right = 0
 *   symmetric    left = F(A)            !=  right = F(V \ A)
 *   consistent   left = the callback's number for A, or for e after A  !=  right = eval's number
 * and for a measure, where one of da and db is 0, and one of ea and eb,
 *   submodular   left = F(a + da, b + db) - F(a, b)  <  right = the same from (a + ea, b + eb)
 *   monotone     left = F(a + da, b + db)  <  right = F(a, b)
 *   finite       left = F(a, b) */
typedef struct submod_counterexample {
    const char *callback;        /* the callback's name, a constant text; else NULL */
    int32_t *set;                /* A; NULL if it is empty */
    size_t set_size;             /* elements of A */
    int32_t e, f;                /* the elements added; -1 if unused */
    double a, b, da, db, ea, eb; /* counts of a measure, and the steps from there */
    double left, right;          /* the numbers compared */
} submod_counterexample;

/* The result of a check. A property is 1 if no counterexample was found, else 0. */
typedef struct submod_check_report {
    int of_measure; /* 1 for a measure, whose symmetry and consistency are not tested */
    int exhaustive; /* 1 if every case was tried */
    int finite;     /* of a measure: the check stops at the first value that is not finite */
    int normalised; /* F(0, 0) = 0, or F(empty) = 0 within the tolerance */
    int submodular;
    int monotone;         /* F(A) <= F(A + e); F(a, b) increases in both counts */
    int symmetric;        /* F(A) = F(V \ A) */
    int consistent;       /* the callbacks agree with eval in random cases */
    double empty_value;   /* F(empty) or F(0, 0) */
    double P, N;          /* arguments of the check of a measure */
    uint64_t evaluations; /* of F */
    double seconds;
    /* The worst counterexample seen for each property that is 0. */
    submod_counterexample not_finite, not_submodular, not_monotone, not_symmetric, not_consistent;
} submod_check_report;

/* Returns the defaults. */
SUBMOD_API submod_check_settings submod_check_defaults(void);

/* Tests whether a measure is finite, 0 at (0, 0), increasing and submodular at the whole counts up
 * to P and N; NULL means Jaccard. All pairs take (P + 1) (N + 1) evaluations; random differences
 * have steps of any length. *report need not be initialised and owns no memory. settings may be
 * NULL. SUBMOD_TIMELIMIT or SUBMOD_CANCELLED: the report covers the cases tried until then.
 * SUBMOD_EINVAL: report NULL, a bad measure or setting, P or N above 2^53. */
SUBMOD_API submod_status submod_measure_check(const submod_measure *measure, uint64_t P, uint64_t N,
                                              submod_check_report *report,
                                              const submod_check_settings *settings);

/* Frees the sets in a report. Accepts NULL and a report that was cleared before. */
SUBMOD_API void submod_check_report_clear(submod_check_report *report);
/* Writes the report as text. Like snprintf, it writes at most size bytes with the final 0 and
 * returns the length of the whole text. */
SUBMOD_API size_t submod_check_report_text(const submod_check_report *report, char *text,
                                           size_t size);

#ifdef __cplusplus
}
#endif

#endif
