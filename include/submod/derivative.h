/* Derivatives of proximal operators (prox.h).
 *
 * u, the prox of x, is constant on blocks. A level is the set of elements with one value of u; S
 * is all that lies above it. Where F(S + A) - F(S) is a sum of functions of disjoint parts of the
 * level, each of those parts is a block of its own. On a block C,
 *
 *     u_C = mean of x over C - (F(S + C) - F(S)) / (lambda |C|),
 *
 * and small changes of x, lambda and F move the blocks but keep them together. So the Jacobian of
 * u by x takes the mean over each block, and all other derivatives follow from the same formula.
 *
 *   modular, Hamming            every element is a block
 *   Jaccard                     a level with background in it, while foreground is left to come or
 *                               in the level itself; a pixel of any other level is a block
 *   cut                         the connected components of a level
 *   sum, scaled, plus modular   the components of the union of the terms' blocks
 *   restricted, contracted      those of the function inside
 *   all others                  a level, or, if F is modular on it up to rounding, each element
 *
 * In the last row a level may be the union of several blocks that meet by accident, or because
 * entries of x are equal; then the derivative is that of a function that holds them together.
 *
 * Where u has no derivative, because a block is about to fall apart or two are about to meet, the
 * blocks are those of all x' = u + s' / lambda with s' in the interior of the face of B(F) that u
 * belongs to: the derivative returned is the limit of derivatives at points nearby that have the
 * same u. It is an element of the generalised Jacobian.
 *
 * The prox of f(max(u, 0)) (hinge): where x_i < 0, u_i = x_i, whatever F is; where x_i >= 0 and
 * u_i = 0, small changes do not move u_i. The rest are blocks as above. At x_i = 0 the second
 * holds.
 */
#ifndef SUBMOD_DERIVATIVE_H
#define SUBMOD_DERIVATIVE_H

#include <submod/function.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers of blocks that are none: only with the hinge. */
typedef enum submod_no_block {
    SUBMOD_BLOCK_HELD = -1, /* the hinge holds the element at 0 */
    SUBMOD_BLOCK_FREE = -2  /* the element is below the hinge: u_i = x_i */
} submod_no_block;

/* Settings of submod_prox_blocks. */
typedef struct submod_blocks_settings {
    size_t struct_size; /* set by the defaults: base.h, structs that grow */
    int hinge;          /* 0; 1: u is the prox of f(max(u, 0)) */
    /* Entries of u that follow each other in order and differ by no more than this count as equal.
     * Negative, as it is by default (-1): the first of 1e-13, 8e-13, 64e-13, .. 1e-2, relative to
     * the size of x and u, with which the formula above gives every entry of u up to twice that and
     * rounding. After an exact method that is the first one. After an iterative one it tells true
     * ties from values that are merely close, where the bound of their error,
     * sqrt(2 gap / lambda), would tie too much. Finite. */
    double tolerance;
} submod_blocks_settings;

/* The values that stand in the comments of the struct. */
SUBMOD_API submod_blocks_settings submod_blocks_defaults(void);

/* How the blocks were found. */
typedef struct submod_blocks_info {
    double tolerance;     /* the one that was used */
    double error;         /* the largest difference between u and the values of its blocks */
    size_t rounds;        /* tolerances tried */
    uint64_t reserved[4]; /* 0 */
} submod_blocks_info;

/* The blocks of u, the prox of fn at x (n numbers each, finite), lambda > 0.
 *
 * block: n numbers. Blocks are numbered from 0, level by level from the highest; with hinge there
 * are SUBMOD_BLOCK_HELD and _FREE, too. value: room for n numbers, of which *count are written: the
 * value of each block by the formula above, from x and F, so more exact than an approximate u. Each
 * output may be NULL; none may overlap x or u. They are written when the status is >= 0, and
 * untouched otherwise.
 *
 * Costs a sort, a chain, and for functions of the last row above n gains, in each round.
 *
 * SUBMOD_INACCURATE: no tolerance fits: u is not the prox of fn at x, or far from it; info->error
 * tells. SUBMOD_EINVAL: fn, x or u NULL, lambda not > 0. SUBMOD_ENONFINITE: NaN or Inf in x, u,
 * lambda or the tolerance. SUBMOD_ENUMERIC: overflow. SUBMOD_ECALLBACK, SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_prox_blocks(const submod_fn *fn, const double *x, double lambda,
                                            const double *u, int32_t *block, double *value,
                                            size_t *count, const submod_blocks_settings *settings,
                                            submod_blocks_info *info, submod_work *work);

/* Vector-Jacobian products: the derivatives of <v, u> for fixed v (n numbers), n >= 1.
 *
 *     by_x        v averaged over each block; v itself where FREE, 0 where HELD
 *     by_lambda   sum over i of (mean over its block of s) v_i / lambda^2
 *     by_modular  by the numbers w of F + w: -by_x / lambda, 0 where FREE or HELD
 *
 * block: from submod_prox_blocks; s: the dual that submod_prox returned, n numbers, NULL if
 * by_lambda is NULL. Outputs may be NULL; by_x may be v, else they may not overlap the inputs.
 *
 * SUBMOD_EINVAL: block or v NULL, s NULL where it is needed, n = 0 or > 2^31 - 1, a block not in
 * [-2, n), lambda not > 0. SUBMOD_ENONFINITE: NaN or Inf in s, v or lambda. SUBMOD_ENUMERIC:
 * overflow. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_prox_vjp(size_t n, const int32_t *block, const double *s,
                                         double lambda, const double *v, double *by_x,
                                         double *by_lambda, double *by_modular, submod_work *work);

/* The same by the weights of a cut that is F, or a term of it with coefficient 1: m edges as given
 * to submod_fn_cut. With b = v averaged over each block, 0 where FREE or HELD,
 *
 *     by_weight = -(b[tail] - b[head]) / lambda     where u[tail] > u[head],
 *                 -(b[head] - b[tail]) / lambda     where u[tail] < u[head], and not directed,
 *
 * and 0 elsewhere and within a block. by_weight: m numbers, not overlapping the inputs; it and the
 * edges may be NULL if m = 0. Also SUBMOD_EINVAL: u, tail, head or by_weight NULL, an end not in
 * [0, n). SUBMOD_ENONFINITE: NaN or Inf in u. */
SUBMOD_API submod_status submod_prox_vjp_edges(size_t n, const int32_t *block, const double *u,
                                               double lambda, const double *v, size_t m,
                                               const int32_t *tail, const int32_t *head,
                                               int directed, double *by_weight, submod_work *work);

/* The same by t, at t = 0, for the prox of F + t G: G = direction. For instance by the coefficient
 * of a term G of a sum F. *by_t = -(sum over i of b_i g_i) / lambda, g the gains of G along
 * the blocks. G need not be submodular, as long as F + t G is for small t > 0. One chain of G.
 * Also SUBMOD_EINVAL: direction or by_t NULL. SUBMOD_ECALLBACK. */
SUBMOD_API submod_status submod_prox_vjp_function(const submod_fn *direction, const int32_t *block,
                                                  double lambda, const double *v, double *by_t,
                                                  submod_work *work);

#ifdef __cplusplus
}
#endif

#endif
