/* Greedy maximisation:  max over A with |A| <= k of F(A).
 *
 * Starts with the empty set and adds, again and again, an element with the largest gain. If F is
 * monotone and submodular, as coverage, facility location and concave functions are, the set after
 * k rounds is worth at least 1 - (1 - 1/k)^k > 1 - 1/e = 63 % of the best one, counted from
 * F(empty) (Nemhauser, Wolsey and Fisher 1978). The gains met on the way mostly prove more: see
 * bound.
 *
 * It needs nothing but gains, so any function will do; those with push and gain of their own are
 * fast. Nothing here checks that F is monotone and submodular, submod_fn_check does; but where the
 * gains show that it is not, nothing is claimed. */
#ifndef SUBMOD_MAXIMIZE_H
#define SUBMOD_MAXIMIZE_H

#include <submod/function.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How elements are looked for. */
typedef enum submod_maximize_method {
    /* An old gain bounds the new one from above: only elements whose old gain would win are asked
     * again (Minoux 1978). The same set as PLAIN, up to rounding, if F is submodular. */
    SUBMOD_MAXIMIZE_LAZY = 0,
    SUBMOD_MAXIMIZE_PLAIN = 1, /* all elements are asked in every round */
    /* Only n / k ln(1 / epsilon) random elements are asked in every round (Mirzasoleiman et al.
     * 2015): about n ln(1 / epsilon) gains in all, whatever k is. */
    SUBMOD_MAXIMIZE_STOCHASTIC = 2
} submod_maximize_method;

/* Settings of submod_maximize. */
typedef struct submod_maximize_settings {
    size_t struct_size;            /* set by the defaults: base.h, structs that grow */
    submod_maximize_method method; /* SUBMOD_MAXIMIZE_LAZY */
    double epsilon;                /* 0.1, in (0, 1): for STOCHASTIC */
    uint64_t seed;                 /* 1: for STOCHASTIC */
    double time_limit;             /* seconds; 0: none */
} submod_maximize_settings;

/* The values that stand in the comments of the struct. */
SUBMOD_API submod_maximize_settings submod_maximize_defaults(void);

/* How a maximisation went. "Worth" is F(A) - F(empty). */
typedef struct submod_maximize_info {
    submod_maximize_method method; /* the one that was used */
    double value;                  /* F of the set returned, as submod_fn_eval says it */
    /* No set of at most k candidates is above it, if F is monotone and submodular. The least of
     * value + the k largest gains that are left; F(empty) + the k largest gains of single elements;
     * and what the guarantee says. STOCHASTIC has the first only. INFINITY: nothing is proved. */
    double bound;
    double ratio; /* worth of the set / worth of the bound, 1 for 0 / 0, 0 without a bound */
    /* The share of the best set's worth that the method promises in advance: 1 - (1 - 1/k)^|A|;
     * STOCHASTIC: 1 - 1/e - epsilon, in expectation. 1 if no gain is left. */
    double guarantee;
    /* 0: a gain below 0 was met, or one that grew: F is not monotone, or not submodular. Then the
     * guarantee is 0; of the bounds only that of the single elements is left, or none. */
    int monotone, submodular;
    uint64_t evaluations;       /* gains asked for to choose the set */
    uint64_t bound_evaluations; /* and for the bound afterwards */
    double seconds;             /* taken */
    uint64_t reserved[4];       /* 0 */
} submod_maximize_info;

/* A set of at most k of the candidates: *size elements in the order in which they were added, with
 * their gains. set and gains have room for min(k, number of candidates); each of the outputs may be
 * NULL. candidates: distinct elements; NULL: all n elements, whatever ncandidates is. k = 0 gives
 * the empty set; a k beyond the number of candidates is that number.
 *
 * Among equal gains the element with the lowest number wins. Elements that do not gain are not
 * added, so there may be fewer than k; a round of STOCHASTIC then adds nothing. Without info no
 * bound is computed, which saves some gains, with STOCHASTIC up to one per candidate.
 *
 * SUBMOD_TIMELIMIT, SUBMOD_CANCELLED: the set so far, with what is known about it. SUBMOD_EINVAL:
 * fn is NULL, bad settings, candidates out of range or duplicated. SUBMOD_ECALLBACK,
 * SUBMOD_ENUMERIC, SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_maximize(const submod_fn *fn, size_t k, const int32_t *candidates,
                                         size_t ncandidates, int32_t *set, double *gains,
                                         size_t *size, const submod_maximize_settings *settings,
                                         submod_maximize_info *info, submod_work *work);

#ifdef __cplusplus
}
#endif

#endif
