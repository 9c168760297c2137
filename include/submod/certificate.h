/* Certificates: points of the base polytope that can be checked by anybody.
 *
 * A base s of F is certified by a convex combination of greedy vectors: orders pi_k and weights
 * w_k >= 0 that sum to 1, s = sum over k of w_k g(pi_k). Whoever has these needs to trust nobody:
 * each greedy vector is n evaluations of F. */
#ifndef SUBMOD_CERTIFICATE_H
#define SUBMOD_CERTIFICATE_H

#include <submod/function.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A convex combination of greedy orders, filled by solvers. Starts empty. One thread at a time. */
typedef struct submod_combination submod_combination;

/* An empty combination. SUBMOD_EINVAL: NULL. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_combination_create(submod_combination **combination);
/* Accepts NULL. */
SUBMOD_API void submod_combination_free(submod_combination *combination);
/* The number of orders; 0 for NULL. */
SUBMOD_API size_t submod_combination_count(const submod_combination *combination);
/* The size n of the ground set of those orders; 0 for NULL or when there are none. */
SUBMOD_API size_t submod_combination_size(const submod_combination *combination);
/* Order k: n elements, borrowed, valid until the combination is filled again. NULL when there is no
 * such order. */
SUBMOD_API const int32_t *submod_combination_order(const submod_combination *combination, size_t k);
/* The weight of order k; 0 when there is no such order. */
SUBMOD_API double submod_combination_weight(const submod_combination *combination, size_t k);
/* Replaces the content by count orders of n elements each (row-major) and their weights >= 0, which
 * are normalised. Copies. SUBMOD_EINVAL: a row is no permutation, a weight is negative, all are 0.
 */
SUBMOD_API submod_status submod_combination_set(submod_combination *combination, size_t n,
                                                size_t count, const int32_t *orders,
                                                const double *weights);

/* What a check found, all computed from F's values alone (eval, on prefixes). It is a proof as far
 * as F is submodular, which submod_fn_check looks into, and up to the rounding of these sums. */
typedef struct submod_certificate_report {
    double base_error; /* max |s - b|, b = sum of w_k g(pi_k): how far s is from a certified base */
    double primal;     /* f(u) + lambda/2 |u - x|^2 */
    double dual;       /* of the certified base: <b, x> - |b|^2 / (2 lambda) */
    double gap; /* primal - dual, summed up without cancellation: |u - u*|^2 <= 2 gap / lambda */
    double minimum_bound; /* F(empty) + sum of min(b_i, 0): no set has F(A) below it */
    uint64_t reserved[4]; /* 0 */
} submod_certificate_report;

/* Checks u and s for  min f(u) + lambda/2 |u - x|^2  against a combination for s. Shares no code
 * with the solvers; costs count + 1 chains of n evaluations. A wrong u shows in the gap, a wrong s
 * in base_error: judging them is the caller's, an error status is not among the findings.
 *
 * SUBMOD_EINVAL: NULL, lambda not > 0, a combination that is empty or for another n.
 * SUBMOD_ENONFINITE: NaN or Inf in lambda, x, u or s. SUBMOD_ECALLBACK: from F. SUBMOD_ENUMERIC:
 * overflow. SUBMOD_ECANCELLED: base.h, cancelling. SUBMOD_ENOMEM. The report is written only on
 * success. */
SUBMOD_API submod_status submod_certificate_check(const submod_fn *fn, const double *x,
                                                  double lambda, const double *u, const double *s,
                                                  const submod_combination *combination,
                                                  submod_certificate_report *report);

#ifdef __cplusplus
}
#endif

#endif
