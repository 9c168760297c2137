/* Library submod_select: selection of elements by greedy maximisation, max over A with |A| <= k of
 * F(A), and two functions that are maximised: coverage and facility location.
 *
 * The greedy algorithm starts with the empty set and repeatedly adds an element with the largest
 * gain. If F is monotone and submodular, the set after k rounds is worth at least 1 - (1 - 1/k)^k >
 * 1 - 1/e = 63 % of the best one, counted from F(empty) (Nemhauser, Wolsey and Fisher 1978). The
 * gains usually prove more: see bound.
 *
 * Any set function of libsubmod can be maximised. Nothing checks in advance that it is monotone and
 * submodular; where its gains show that it is not, nothing is claimed. */
#ifndef SUBMOD_SELECT_H
#define SUBMOD_SELECT_H

#include <submod/function.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- functions ----
 *
 * Inputs are copied. The constructors refuse n = 0 and n > 2^31 - 1 (SUBMOD_EINVAL), and in arrays
 * NaN and Inf (SUBMOD_ENONFINITE) and negative numbers (SUBMOD_EINVAL). */

/* Weighted coverage: element e covers items[start[e] .. start[e+1]-1] out of m items (a CSR
 * matrix, start has n+1 entries and start[0] = 0); F(A) = weight of the items covered by A. An item
 * that an element lists twice counts once. */
SUBMOD_API submod_status submod_fn_coverage(size_t n, const size_t *start, const int32_t *items,
                                            size_t m, const double *weight, submod_fn **fn);

/* Facility location: F(A) = sum over clients i < m of max over j in A of benefit[i * n + j], the
 * benefit of element j to client i, at least 0; F(empty) = 0. */
SUBMOD_API submod_status submod_fn_facility(size_t n, size_t m, const double *benefit,
                                            submod_fn **fn);

/* ---- greedy maximisation ---- */

typedef enum submod_maximize_method {
    /* An old gain bounds the new one from above, so only elements whose old gain would win are
     * evaluated again (Minoux 1978). If F is submodular, the same set as PLAIN, up to rounding. */
    SUBMOD_MAXIMIZE_LAZY = 0,
    SUBMOD_MAXIMIZE_PLAIN = 1, /* evaluates all elements in every round */
    /* Evaluates n / k ln(1 / epsilon) random elements in every round (Mirzasoleiman et al. 2015):
     * about n ln(1 / epsilon) gains in all, for any k. */
    SUBMOD_MAXIMIZE_STOCHASTIC = 2
} submod_maximize_method;

typedef struct submod_maximize_settings {
    submod_maximize_method method; /* SUBMOD_MAXIMIZE_LAZY */
    double epsilon;                /* 0.1, in (0, 1), for STOCHASTIC */
    uint64_t seed;                 /* 1, for STOCHASTIC */
    double time_limit;             /* in seconds; 0 means none */
} submod_maximize_settings;

/* Returns the values in the comments of the struct. */
SUBMOD_API submod_maximize_settings submod_maximize_defaults(void);

/* The outcome of a maximisation. "Worth" is F(A) - F(empty). */
typedef struct submod_maximize_info {
    submod_maximize_method method; /* the one that was used */
    double value;                  /* F of the set */
    /* An upper bound for all sets of at most k candidates, if F is monotone and submodular: the
     * least of value + the k largest gains left; F(empty) + the k largest gains of single elements;
     * and what the guarantee says. STOCHASTIC has only the first. INFINITY means no bound. */
    double bound;
    double ratio; /* worth of the set / worth of the bound, 1 for 0 / 0, 0 without a bound */
    /* The fraction of the best set's worth that the method guarantees: 1 - (1 - 1/k)^|A|, or for
     * STOCHASTIC 1 - 1/e - epsilon in expectation; 1 if no element has a positive gain. */
    double guarantee;
    /* 0 after a negative gain, or one that grew: F is not monotone, or not submodular. Then the
     * guarantee is 0, and at most the bound from single elements remains. */
    int monotone, submodular;
    uint64_t evaluations;       /* of gains, to choose the set */
    uint64_t bound_evaluations; /* and then for the bound */
    double seconds;
} submod_maximize_info;

/* Selects at most k of the candidates: *size elements in the order of their selection, with their
 * gains. candidates: distinct elements; NULL means all n, whatever ncandidates is. set and gains
 * have room for min(k, number of candidates); each output may be NULL. Among equal gains the
 * element with the lowest number wins. Elements without a positive gain are not added. Without
 * info no bound is computed, which saves gains, up to one per candidate for STOCHASTIC.
 *
 * SUBMOD_TIMELIMIT, SUBMOD_CANCELLED: the set so far. SUBMOD_EINVAL: fn is NULL, invalid settings,
 * candidates out of range or duplicated. SUBMOD_ECALLBACK, SUBMOD_ENUMERIC, SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_maximize(const submod_fn *fn, size_t k, const int32_t *candidates,
                                         size_t ncandidates, int32_t *set, double *gains,
                                         size_t *size, const submod_maximize_settings *settings,
                                         submod_maximize_info *info);

#ifdef __cplusplus
}
#endif

#endif
