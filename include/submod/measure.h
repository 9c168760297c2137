/* Measures: the cost of wrong pixels, by their counts; and reports of checks.
 *
 * Of P pixels in the foreground a are wrong, and of N in the background b: the cost is F(a, b),
 * with F(0, 0) = 0. The losses (loss.h) and the set functions of counts (function.h) take any
 * measure whose F is increasing and submodular, which is the case if and only if, on the lattice
 * 0 <= a <= P, 0 <= b <= N, its first differences are >= 0 and its second differences in aa, bb and
 * ab are <= 0 (docs/mathematics.md, section 3).
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

/* A measure of your own. One callback is enough; values is preferred. F must be finite, F(0, 0) =
 * 0, and the same number for the same counts. Threads of the library call it at the same time. NaN
 * means that it failed: the call that needed it returns SUBMOD_ECALLBACK. */
typedef struct submod_measure_ops {
    double (*value)(double a, double b, double P, double N, void *ctx); /* returns F(a, b) */
    /* F[i] = F(a[i], b[i]) for many pairs of counts, where a call is expensive. */
    void (*values)(size_t count, const double *a, const double *b, double P, double N, double *F,
                   void *ctx);
} submod_measure_ops;

/* A measure, made by one of the functions below. */
typedef struct submod_measure {
    submod_measure_type type; /* which one */
    double alpha, beta;       /* Tversky: alpha 0 or from 1e-12, beta from 1, to 1e12 */
    submod_measure_ops ops;   /* custom */
    void *ctx;                /* custom: passed on to the callbacks; borrowed */
} submod_measure;

/* Built in. Parameters are checked where a measure is used. */
SUBMOD_API submod_measure submod_jaccard(void);
SUBMOD_API submod_measure submod_hamming(void);
SUBMOD_API submod_measure submod_tversky(double alpha, double beta);
/* A function of yours; *ops is copied. */
SUBMOD_API submod_measure submod_measure_custom(const submod_measure_ops *ops, void *ctx);

/* The largest number of elements for which all subsets are tried. */
#define SUBMOD_EXHAUSTIVE_MAX 24

/* ---- checking ----
 *
 * submod_measure_check below and submod_fn_check (function.h) test whether a measure or a set
 * function has the properties that the library relies on. Where every case is tried, the answer is
 * a proof up to the tolerance; otherwise random cases are tried: a counterexample is real, its
 * absence proves nothing. */
/* How much is tried. */
typedef struct submod_check_settings {
    /* 16; at most SUBMOD_EXHAUSTIVE_MAX. All subsets of so many elements are tried, or 2 to this
     * power pairs of counts. */
    size_t exhaustive_max;
    /* 20000: random cases where not all are tried. Of a measure all pairs are tried if there are at
     * most so many. */
    uint64_t samples;
    double time_limit; /* 10 seconds, > 0 */
    /* Violations up to this times the scale are rounding; -1, the default, means 1e-9 for set
     * functions and 2^-46 for measures. The scale is the largest |F(A) - F(empty)| or
     * 2^-14 |F(A)| seen, of a measure the largest |F|. */
    double tolerance;
    uint64_t seed; /* 1 */
} submod_check_settings;

/* A concrete failure: two numbers that are in the wrong order. For a set function
 *   submodular   left = F(A + e) - F(A)  <  right = F(A + f + e) - F(A + f)
 *   monotone     left = F(A + e) - F(A)  <  right = 0
 *   symmetric    left = F(A)            !=  right = F(V \ A)
 *   consistent   left = what the callback gives for A, and for e after it  !=  right = by eval
 * and for a measure, where one of da and db is 0, and one of ea and eb,
 *   submodular   left = what da and db add after (a, b)  <  right = what they add after
 *                (a + ea, b + eb)
 *   monotone     left = F(a + da, b + db)  <  right = F(a, b)
 *   finite       left = F(a, b) */
typedef struct submod_counterexample {
    const char *callback;        /* consistent: the callback's name, a constant text; else NULL */
    int32_t *set;                /* A; NULL when it is empty */
    size_t set_size;             /* elements of A */
    int32_t e, f;                /* the elements added; -1 if unused */
    double a, b, da, db, ea, eb; /* counts of a measure, and the steps from there */
    double left, right;          /* the numbers compared */
} submod_counterexample;

/* The result of a check. The properties are 1 where no counterexample was found, else 0. */
typedef struct submod_check_report {
    int of_measure; /* 1: of a measure; symmetric and consistent are then not tested */
    int exhaustive; /* 1: all cases were tried */
    int finite;     /* measures: all values seen are; the check stops at the first that is not */
    int normalised; /* 1: F(empty) or F(0, 0) is 0, within the tolerance for set functions */
    int submodular;
    int monotone;         /* F(A) <= F(A + e); F(a, b) increases in both counts */
    int symmetric;        /* F(A) = F(V \ A) */
    int consistent;       /* callbacks agree with eval in some random cases */
    double empty_value;   /* F(empty), or F(0, 0) */
    double P, N;          /* of a measure, as given */
    uint64_t evaluations; /* of F */
    double seconds;       /* taken */
    /* The worst counterexample of each kind seen; meaningful where the property is 0. */
    submod_counterexample not_finite, not_submodular, not_monotone, not_symmetric, not_consistent;
} submod_check_report;

/* Returns the values that stand in the comments of the struct. */
SUBMOD_API submod_check_settings submod_check_defaults(void);

/* Tests whether a measure is finite, 0 at (0, 0), increasing and submodular for these P and N, at
 * whole counts; NULL is Jaccard. All pairs take (P + 1) (N + 1) evaluations; otherwise settings
 * choose so many random differences, with steps of any length. *report need not be initialised; it
 * owns no memory. SUBMOD_TIMELIMIT or SUBMOD_CANCELLED before the work was done: the report covers
 * what was seen. SUBMOD_EINVAL: report NULL, a bad measure or setting, P or N beyond 2^53. */
SUBMOD_API submod_status submod_measure_check(const submod_measure *measure, uint64_t P, uint64_t N,
                                              submod_check_report *report,
                                              const submod_check_settings *settings);

/* Frees the sets in a report; accepts NULL and a report that was cleared before. */
SUBMOD_API void submod_check_report_clear(submod_check_report *report);
/* The report as text, written as snprintf does it: at most size bytes with the final 0; returns
 * the length of the whole text. */
SUBMOD_API size_t submod_check_report_text(const submod_check_report *report, char *text,
                                           size_t size);

#ifdef __cplusplus
}
#endif

#endif
