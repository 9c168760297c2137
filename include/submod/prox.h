/* Proximal operators of Lovász extensions,
 *
 *     u = argmin over u of  f(u) + lambda/2 |u - x|^2,      f the Lovász extension of F,
 *
 * and their dual, the projection of lambda x onto the base polytope B(F):
 *
 *     s = argmin over s in B(F) of  |s - lambda x|^2,       u = x - s / lambda at the optimum.
 *
 * Every method returns both, with  primal = f(u) + lambda/2 |u - x|^2  and
 * dual = <s, x> - |s|^2 / (2 lambda)  computed from what it returns, never better than that. The
 * gap primal - dual bounds the error:  |u - u*|^2 <= 2 gap / lambda.
 *
 * certificate.h checks such results without trusting the solver. */
#ifndef SUBMOD_PROX_H
#define SUBMOD_PROX_H

#include "submod/certificate.h"
#include "submod/function.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum submod_prox_method {
    SUBMOD_PROX_AUTO = 0,          /* the first of the next five that can do it */
    SUBMOD_PROX_CLOSED_FORM = 1,   /* modular, Hamming: s = F itself */
    SUBMOD_PROX_CARDINALITY = 2,   /* F(A) = h(|A|) + w(A): one sort, pool adjacent violators */
    SUBMOD_PROX_JACCARD = 3,       /* exact divide and conquer, about the cost of its sort */
    SUBMOD_PROX_DECOMPOSITION = 4, /* any F with a minimize slot: exact divide and conquer */
    SUBMOD_PROX_MIN_NORM = 5,      /* any F: Fujishige-Wolfe */
    SUBMOD_PROX_FRANK_WOLFE = 6,   /* any F, slow: a baseline to compare with */
    SUBMOD_PROX_AWAY_STEPS = 7,    /* the same with away steps */
    SUBMOD_PROX_GREEDY_PATH = 8    /* Algorithm 2 of the paper's supplement: not always optimal */
} submod_prox_method;

typedef struct submod_prox_settings {
    submod_prox_method method; /* SUBMOD_PROX_AUTO */
    /* 1: the prox of f(max(u, 0)) instead, as in the Lovász hinge; F must be monotone. s is then
     * in { s >= 0, s(A) <= F(A) }, the other formulas stand. */
    int hinge;
    /* Iterative methods end with SUBMOD_OK when  gap <= tolerance * (lambda |x|^2 + |s|^2 / lambda)
     * / 2, the size of the terms it is the difference of; or when it is below what rounding makes
     * of it, (8 eps)^2 |g|^2 / lambda for the longest greedy vector g seen, which is what stops
     * them where x and s are 0. 1e-10; >= 0. */
    double tolerance;
    size_t max_iterations; /* of an iterative method; 0: 100000 */
    double time_limit;     /* seconds; 0: none */
    /* In: where an iterative method starts (empty: anywhere). Out: s as a convex combination of
     * greedy vectors, for methods 5-7; emptied by the others, untouched when an error is returned.
     * Any orders of the same n will do to start from, those of another x, lambda or F too; of
     * another n they are ignored. May be NULL. Frank-Wolfe keeps an order per iteration for it. */
    submod_combination *combination;
} submod_prox_settings;

SUBMOD_API submod_prox_settings submod_prox_defaults(void);

typedef struct submod_prox_info {
    submod_prox_method method; /* the one that was used */
    double primal, dual, gap;
    size_t iterations;     /* Wolfe: major cycles; decompositions: blocks looked at */
    size_t minor_cycles;   /* Wolfe only */
    uint64_t oracle_calls; /* greedy chains, or calls of minimize */
    uint64_t work;         /* decompositions: elements looked at, over all blocks */
    double seconds;
} submod_prox_info;

/* x: n finite numbers; lambda > 0, finite. u, s (n numbers each) and info may be NULL; they may
 * not overlap x or each other.
 *
 * SUBMOD_MAXITER, SUBMOD_TIMELIMIT: the limit came first. SUBMOD_INACCURATE: no further progress in
 * double precision, or F turned out not to be submodular (it need not show). With all three u, s
 * and info are what was reached. SUBMOD_EINVAL: NULL, lambda not > 0, bad settings.
 * SUBMOD_ENONFINITE: NaN or Inf in x or lambda. SUBMOD_EUNSUPPORTED: the method asked for cannot do
 * this function. SUBMOD_ENUMERIC: overflow. SUBMOD_ECALLBACK, SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_prox(const submod_fn *fn, const double *x, double lambda, double *u,
                                     double *s, const submod_prox_settings *settings,
                                     submod_prox_info *info, submod_work *work);

/* The prox of a maximum of m affine functions,
 *
 *     u = argmin over u of  max_j (<a_j, u> + b_j) + lambda/2 |u - x|^2,
 *
 * exactly, by an active-set method on its dual: weights w >= 0 that sum to 1 with
 * u = x - A' w / lambda. a is m x n, row-major; rows may be duplicated or dependent in any way.
 *
 * Outputs, each of which may be NULL: u (n numbers); weights (m numbers; on entry the weights to
 * start from, >= 0, of any sum, all 0 for none); *info (iterations: active sets; oracle_calls:
 * passes over all rows; method: SUBMOD_PROX_AUTO, as there is but one). They may not overlap the
 * inputs.
 *
 * SUBMOD_MAXITER, SUBMOD_INACCURATE: usable, info->gap tells how good. SUBMOD_EINVAL: m or n is 0,
 * NULL, lambda not > 0, a negative weight. SUBMOD_ENONFINITE: NaN or Inf in the inputs.
 * SUBMOD_ENUMERIC: overflow of lambda x, lambda b or of the result. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_prox_max_affine(size_t m, size_t n, const double *a,
                                                const double *b, const double *x, double lambda,
                                                double *u, double *weights, submod_prox_info *info,
                                                submod_work *work);

#ifdef __cplusplus
}
#endif

#endif
