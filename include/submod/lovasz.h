/* The Lovász extension f of a set function F (paper, Eqs. 8 and 9) and its greedy subgradient.
 *
 * With pi an order of x from its largest to its smallest entry,
 *
 *     g[pi_i] = F({pi_1, .., pi_i}) - F({pi_1, .., pi_i-1}),     f(x) = sum_i x_i g_i .
 *
 * g is a vertex of the base polytope B(F) = { s : s(A) <= F(A) for all A, s(V) = F(V) }. If F is
 * submodular, f is convex, f(x) = max over s in B(F) of <s, x>, and g is a subgradient of f at x.
 */
#ifndef SUBMOD_LOVASZ_H
#define SUBMOD_LOVASZ_H

#include <submod/function.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which order tied entries of x are taken in. The value f(x) does not depend on it, g does. */
typedef enum submod_ties {
    /* A mean over orders of each tied block where F has a closed form for it (the tied slot:
     * Jaccard, Hamming, cardinality, modular and functions made of these), else as
     * SUBMOD_TIES_INDEX. Elements that F cannot tell apart get equal weights at equal entries.
     * Jaccard: foreground before background, averaged within each. g is then a mean of vertices of
     * B(F), still a subgradient. */
    SUBMOD_TIES_AVERAGE = 0,
    /* The smaller element first. g is exactly the vertex that belongs to the returned order. */
    SUBMOD_TIES_INDEX = 1
} submod_ties;

/* Settings of submod_lovasz. */
typedef struct submod_lovasz_settings {
    size_t struct_size; /* set by the defaults: base.h, structs that grow */
    submod_ties ties;   /* SUBMOD_TIES_AVERAGE */
} submod_lovasz_settings;

/* The values that stand in the comments of the struct. */
SUBMOD_API submod_lovasz_settings submod_lovasz_defaults(void);

/* x: n numbers. Outputs, each of which may be NULL: *value = f(x); g: n numbers; order: n elements,
 * pi as above, ties by ascending element. None of them may overlap x.
 *
 * Cost: one sort and one chain of F. No sort where F is modular (Hamming too, and combinations of
 * such functions) and order is not asked for.
 *
 * SUBMOD_EINVAL: fn or x NULL, unknown ties. SUBMOD_ENONFINITE: NaN or Inf in x.
 * SUBMOD_ECALLBACK, SUBMOD_ENUMERIC: from F, or value is asked for and max|x| * sum|g| overflows.
 * SUBMOD_ENOMEM. Outputs are written
 * only on success. */
SUBMOD_API submod_status submod_lovasz(const submod_fn *fn, const double *x, double *value,
                                       double *g, int32_t *order,
                                       const submod_lovasz_settings *settings, submod_work *work);

#ifdef __cplusplus
}
#endif

#endif
