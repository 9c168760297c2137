/* Minimisation of submodular functions:  min over A of F(A).
 *
 * Dual: F(empty) + max over bases s in B(F) of  s^-(V) = sum of min(s_i, 0). Every base bounds the
 * minimum from below, so value - dual is a gap that proves how good a set is. The proof holds for
 * submodular F only. Built-in functions and their combinations are submodular. If F calls user code
 * (submod_fn_custom, a custom measure or concave function, or any combination with one of these),
 * submod_sfm does not check that F is submodular; submod_fn_check does. */
#ifndef SUBMOD_SFM_H
#define SUBMOD_SFM_H

#include <submod/certificate.h>
#include <submod/function.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the minimum is found. */
typedef enum submod_sfm_method {
    /* The minimize slot if there is one; else all subsets, if F calls user code and n <= 10; else
     * sum or min-norm. The search of all subsets evaluates F up to 2^n times, min-norm 50 to 80
     * times for n = 10; name min-norm where evaluations are expensive. */
    SUBMOD_SFM_AUTO = 0,
    SUBMOD_SFM_MINIMIZER = 1, /* the function's own minimize slot */
    SUBMOD_SFM_MIN_NORM = 2,  /* Fujishige-Wolfe: the best prefix of all greedy orders seen */
    /* All subsets, n <= SUBMOD_EXHAUSTIVE_MAX: 2^n evaluations of F, and 2^n numbers of memory. If
     * the search takes more than half of time_limit, min-norm replaces it and uses the rest. */
    SUBMOD_SFM_EXHAUSTIVE = 3,
    SUBMOD_SFM_SUM = 4 /* combinations: cyclic projections on the parts (SUBMOD_PROX_SUM), and the
                        * best prefix of the orders of their bases */
} submod_sfm_method;

/* Settings of submod_sfm. */
typedef struct submod_sfm_settings {
    size_t struct_size;       /* set by the defaults: base.h, structs that grow */
    submod_sfm_method method; /* SUBMOD_SFM_AUTO */
    /* Min-norm and sum end when gap <= tolerance * (|value| + sum of |s_i|), or when it is below
     * what rounding makes of the values; 1e-10, >= 0. */
    double tolerance;
    int integer_valued;    /* 1: F takes whole numbers only, so a gap < 1 proves optimality */
    size_t max_iterations; /* 0: 100000 */
    double time_limit;     /* seconds; 0: none */
    /* As in submod_prox_settings, for min-norm; the other methods leave it alone. */
    submod_combination *combination;
} submod_sfm_settings;

/* The values that stand in the comments of the struct. */
SUBMOD_API submod_sfm_settings submod_sfm_defaults(void);

/* How a minimisation went. */
typedef struct submod_sfm_info {
    submod_sfm_method method; /* the one that was used */
    double value;             /* F of the set returned, as submod_fn_eval says it */
    double dual;              /* F(empty) + sum of min(s_i, 0): no set of a submodular F is below */
    double gap;               /* value - dual, without the rounding of F(empty) */
    /* 1 means proved optimal. Either all subsets were tried, or F is a built-in function or a
     * combination of built-in functions and one of these holds: gap <= 0; integer_valued and gap <
     * 1; |s_i| > gap for all i and the set is {s < 0}. If F calls user code, only the search of all
     * subsets is a proof; other methods set 0, whatever the gap. */
    int exact;
    /* 1 means proved in the same way, up to the rounding of F's values, that no minimiser is
     * smaller than smallest and none is larger than largest; see submod_sfm. */
    int extremes_proved;
    size_t iterations, minor_cycles; /* of Fujishige-Wolfe; sum: sweeps */
    uint64_t oracle_calls; /* greedy chains, calls of minimize, subsets tried by the search */
    double seconds;        /* taken */
    uint64_t reserved[4];  /* 0 */
} submod_sfm_info;

/* in (n flags) of the smallest and the largest minimiser, s (n numbers) a dual base; each of the
 * outputs may be NULL. Without s and info, the minimize slot and the exhaustive search compute no
 * base.
 *
 * Minimisers of a submodular function are closed under union and intersection, so there are a
 * smallest and a largest one. Every minimiser holds all i with s_i < -gap and none with s_i > gap:
 * where that leaves no choice, extremes_proved is 1. Else min-norm and sum return the first and the
 * last prefix of the order of s that attain the value, and these may be too large and too small; in
 * the worst case, when limits end it early, they are just good sets. Values that differ by rounding
 * only count as equal.
 *
 * Cuts, also scaled or with a modular part, have their base from the flow that minimises them.
 * Other functions with a minimize slot and the exhaustive search get it from submod_prox.
 *
 * SUBMOD_MAXITER, SUBMOD_TIMELIMIT, SUBMOD_INACCURATE, SUBMOD_CANCELLED: usable, info->gap tells
 * how good. SUBMOD_TIMELIMIT is also returned if SUBMOD_SFM_EXHAUSTIVE was asked for and min-norm
 * replaced it. SUBMOD_ECANCELLED: cancelled before there was a set, by any method but min-norm and
 * sum. SUBMOD_INACCURATE is also returned if the result shows that F is not submodular: the gap is
 * below 0 by more than rounding, or the union or intersection of two minimisers is not a minimiser.
 * submod_last_error() then states that F is not submodular, and submod_fn_check finds a
 * counterexample. SUBMOD_EINVAL: fn is NULL, bad settings. SUBMOD_EUNSUPPORTED: no minimize slot,
 * or n too large for the exhaustive search. SUBMOD_ENUMERIC: overflow. SUBMOD_ECALLBACK,
 * SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_sfm(const submod_fn *fn, uint8_t *smallest, uint8_t *largest,
                                    double *s, const submod_sfm_settings *settings,
                                    submod_sfm_info *info, submod_work *work);

#ifdef __cplusplus
}
#endif

#endif
