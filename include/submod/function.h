/* Set functions F : 2^V -> R on the ground set V = {0, .., n-1}.
 *
 * A submod_fn is an immutable handle. Built-in functions, your own and combinations of both go
 * through the same table of callbacks (submod_fn_ops), so whatever takes a submod_fn takes all.
 *
 * The shortest way to a new function is one callback:
 *
 *     static submod_status my_eval(const void *ctx, const int32_t *set, size_t k, double *value)
 *     {
 *         *value = sqrt((double)k);
 *         return SUBMOD_OK;
 *     }
 *     submod_fn_ops ops = {.eval = my_eval};
 *     submod_fn *f;
 *     submod_fn_custom(n, &ops, NULL, &f);
 *
 * and submod_fn_check(f, ...) tells whether it is submodular. Fill more slots to make it faster.
 *
 * F(empty) may be any number. The value of a set is always F(A) itself: submod_fn_eval, the value
 * and the bounds of a minimisation, reports. All that is made of differences does not see F(empty):
 * gains, chains, bases, and the Lovász extension with its prox, f(indicator of A) = F(A) -
 * F(empty).
 *
 * Thread safety: handles may be used by any number of threads at once if their callbacks may.
 * The built-in ones may.
 */
#ifndef SUBMOD_FUNCTION_H
#define SUBMOD_FUNCTION_H

#include <submod/base.h>
#include <submod/measure.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A set function. */
typedef struct submod_fn submod_fn;

/* ---- the table of callbacks ----
 *
 * eval is required and is the definition; everything else is a faster way to the same numbers.
 * Each callback returns SUBMOD_OK (0). Any other value, and any NaN or Inf where a number is due,
 * ends the library's call with SUBMOD_ECALLBACK. The elements handed to a callback are always
 * distinct, in 0 .. n-1, and not yet in the state.
 *
 * Incremental oracle: the library provides state_size bytes (aligned to 64), which must be plain
 * memory: it is copied by memcpy and dropped without notice. reset makes it the empty set, chain
 * adds elements one after the other and returns their marginal gains, gain returns the gain of one
 * element without adding it. reset and chain come together; gain and tied need them.
 */
/* The function A -> F(base + A) - F(base) of the subsets A of ground; base and ground are disjoint.
 */
typedef struct submod_minor {
    const int32_t *base;
    size_t nbase;
    const int32_t *ground;
    size_t nground;
} submod_minor;

/* The callbacks of a set function: function.h, the table of callbacks. */
typedef struct submod_fn_ops {
    const char *name; /* for submod_fn_name and messages; a constant text. NULL means "custom" */

    /* *value = F(set), for k elements in any order. */
    submod_status (*eval)(const void *ctx, const int32_t *set, size_t k, double *value);

    size_t state_size; /* bytes of the state that reset, chain, gain and tied work on */
    /* Makes the state the empty set. */
    submod_status (*reset)(const void *ctx, void *state);
    /* Adds the elements one after the other: gains[i] = F(A + elements[0..i]) - F(A +
     * elements[0..i-1]), A the set in the state before. */
    submod_status (*chain)(const void *ctx, void *state, const int32_t *elements, size_t k,
                           double *gains);
    /* *gain = F(A + e) - F(A). May use the state as scratch, but the set in it stays. */
    submod_status (*gain)(const void *ctx, void *state, int32_t e, double *gain);
    /* A chain of elements whose mutual order is open: gains[i] is an average over orders of
     * this block (each order counted the same for elements that F cannot tell apart), so that it
     * does not depend on the order in which they are handed over. Such gains keep the greedy
     * vector in the base polytope and do not favour one tied element over another. */
    submod_status (*tied)(const void *ctx, void *state, const int32_t *elements, size_t k,
                          double *gains);

    /* The smallest and the largest minimiser of the minor less z: flags of ground's elements, as
     * are z[i]. smallest, largest and base may be NULL. base, if the function has one at hand: a
     * base s of the minor less z, with the minimum as the sum of its negative entries; otherwise
     * base stays untouched. */
    submod_status (*minimize)(const void *ctx, const submod_minor *minor, const double *z,
                              uint8_t *smallest, uint8_t *largest, double *base);

    /* The proximal operator of F's Lovasz extension f: u minimises f(u) + lambda / 2 |u - x|^2, and
     * s = lambda (x - u) is a base of F. The library measures the gap itself. */
    submod_status (*prox)(const void *ctx, const double *x, double lambda, double *u, double *s);

    /* Frees ctx, when the last handle goes. */
    void (*destroy)(void *ctx);
} submod_fn_ops;

/* A function of your own. *ops is copied; ctx is handed to every callback and, from success on,
 * belongs to the handle (destroy, if given). On failure ctx is still yours. This call does not
 * check that F is submodular; submod_fn_check does. If F is not, functions that rely on it may
 * return wrong results.
 * SUBMOD_EINVAL: n = 0 or n > 2^31 - 1, no eval, chain without reset or the reverse, gain or tied
 * without chain, state_size beyond SIZE_MAX / 8. */
SUBMOD_API submod_status submod_fn_custom(size_t n, const submod_fn_ops *ops, void *ctx,
                                          submod_fn **fn);

/* Another owner of the same function; each owner calls submod_fn_free. Returns fn. */
SUBMOD_API submod_fn *submod_fn_retain(const submod_fn *fn);
/* One owner less; the last one frees the function. Accepts NULL. */
SUBMOD_API void submod_fn_free(submod_fn *fn);

/* n; 0 for NULL. */
SUBMOD_API size_t submod_fn_size(const submod_fn *fn);
/* "jaccard", "cut", .., that of the table of callbacks, "custom"; "" for NULL. */
SUBMOD_API const char *submod_fn_name(const submod_fn *fn);

/* ---- built-in functions ----
 *
 * All inputs are copied. Every constructor refuses n = 0 and n > 2^31 - 1 (SUBMOD_EINVAL), NULL
 * (SUBMOD_EINVAL) and NaN or Inf (SUBMOD_ENONFINITE) in what it is given, and leaves *fn alone
 * when it fails. The costs of eval, chain and gain stand at the head of each source file.
 */

/* Jaccard loss as a function of the set of mispredicted pixels (paper, Eq. 6). With P pixels in
 * the foreground (nonzero in the mask), and a / b mispredicted pixels of the foreground /
 * background: F = (a + b) / (P + b); if P = 0, F = 1 as soon as b > 0. Monotone, F(V) = 1. */
SUBMOD_API submod_status submod_fn_jaccard(size_t n, const uint8_t *foreground, submod_fn **fn);

/* F(A) = |A| / n: the share of wrong pixels. */
SUBMOD_API submod_status submod_fn_hamming(size_t n, submod_fn **fn);

/* F(A) = F(a, b) for any measure (measure.h), a / b the mispredicted pixels of the foreground /
 * background as above; measure NULL is Jaccard. With weights >= 0, a, b, P and N are sums of
 * weights (NULL means ones), rounded to whole multiples of 2^k, k as small as sums of n of them are
 * exact, below n * largest / 2^50: smaller weights are lost, except for Hamming. F must be
 * submodular for real counts then. The measure is copied, its ctx borrowed; whether a custom one is
 * submodular is not checked (submod_measure_check). Minimised in O(k log k); the prox is exact
 * without weights, and by decomposition with them (submod_prox_points has a faster
 * norm). SUBMOD_EINVAL: a bad measure, a weight < 0. SUBMOD_ENUMERIC: the sum of the weights
 * overflows. */
SUBMOD_API submod_status submod_fn_counts(size_t n, const uint8_t *foreground, const double *weight,
                                          const submod_measure *measure, submod_fn **fn);

/* F(A) = sum of w over A, of any sign. */
SUBMOD_API submod_status submod_fn_modular(size_t n, const double *w, submod_fn **fn);

/* F(A) = h(|A|) for a concave table h[0 .. n] (n + 1 numbers) with h[0] = 0.
 * SUBMOD_EINVAL when h is not concave beyond rounding. */
SUBMOD_API submod_status submod_fn_cardinality(size_t n, const double *h, submod_fn **fn);
SUBMOD_API submod_status submod_fn_sqrt(size_t n, submod_fn **fn);  /* sqrt|A| */
SUBMOD_API submod_status submod_fn_log1p(size_t n, submod_fn **fn); /* log(1 + |A|) */
SUBMOD_API submod_status submod_fn_truncation(size_t n, size_t c, submod_fn **fn); /* min(|A|, c) */

/* Concave of a modular function: F(A) = g(w(A)), w(A) = the sum of w over A, w >= 0, g concave on
 * [0, w(V)]. g need not rise: one that falls again, with g(0) = g(w(V)) = 0, makes a symmetric kind
 * of cut, such as min(t, w(V) - t) by three points. All have a minimiser of their own and so an
 * exact prox; for weights that are all equal, F is a function of the cardinality, and treated as
 * one. SUBMOD_EINVAL: a weight < 0. SUBMOD_ENUMERIC: the sum of w overflows. */
/* Which g. */
typedef enum submod_concave_kind {
    SUBMOD_CONCAVE_SQRT = 0,  /* sqrt(t) */
    SUBMOD_CONCAVE_LOG1P = 1, /* log(1 + t) */
    SUBMOD_CONCAVE_MIN = 2,   /* min(t, parameter), parameter >= 0 */
    SUBMOD_CONCAVE_POWER = 3  /* t^parameter, 0 < parameter <= 1 */
} submod_concave_kind;

/* g by name; kinds without a parameter do not look at it. SUBMOD_EINVAL: kind or parameter out of
 * range. */
SUBMOD_API submod_status submod_fn_concave(size_t n, const double *w, submod_concave_kind kind,
                                           double parameter, submod_fn **fn);

/* g linear between the points (t[i], g[i]), count >= 2, t ascending from t[0] = 0; beyond the last
 * one it goes on with the last slope. SUBMOD_EINVAL when g is not concave beyond rounding. */
SUBMOD_API submod_status submod_fn_concave_points(size_t n, const double *w, size_t count,
                                                  const double *t, const double *g, submod_fn **fn);

/* A g of your own. It may be called for any t in [0, w(V)], up to rounding above. That it is
 * concave is not checked here; submod_fn_check(fn, ..) tells. */
typedef struct submod_concave_ops {
    size_t struct_size; /* sizeof(submod_concave_ops), so that the table can grow */
    /* *value = g(t). As any callback: SUBMOD_OK and a finite number, or SUBMOD_ECALLBACK ends the
     * library's call. */
    submod_status (*value)(const void *ctx, double t, double *value);
    /* Frees ctx, when the last handle goes; may be NULL. */
    void (*destroy)(void *ctx);
} submod_concave_ops;

/* *ops is copied; ctx as in submod_fn_custom: from success on it belongs to the handle.
 * SUBMOD_EINVAL: no value, struct_size of no known version. */
SUBMOD_API submod_status submod_fn_concave_custom(size_t n, const double *w,
                                                  const submod_concave_ops *ops, void *ctx,
                                                  submod_fn **fn);

/* Concave functions of groups: F(A) = sum over groups i < m of weight[i] g(amount of A in group i).
 * Group i has the elements[start[i] .. start[i+1]-1] (a CSR matrix; start has m + 1 entries,
 * start[0] = 0, ascending), each once; groups may overlap, be empty or leave elements out. amount
 * (start[m] numbers >= 0, like elements) says how much each brings; NULL: 1 each, so that g is
 * taken of |A in group i|. weight >= 0; NULL: all 1. kind and parameter: as in submod_fn_concave.
 * With features for groups these are the feature-based functions of summarisation. It is the sum of
 * m embedded functions (below), and treated as one: prox part by part, each by isotonic regression
 * (amount = NULL) or decomposition. push costs O(groups of the element). SUBMOD_EINVAL: an element
 * twice in a group. */
SUBMOD_API submod_status submod_fn_groups(size_t n, size_t m, const size_t *start,
                                          const int32_t *elements, const double *amount,
                                          const double *weight, submod_concave_kind kind,
                                          double parameter, submod_fn **fn);

/* What a hyperedge e costs that A cuts: |A & e| of its nodes are in A, |e - A| are not. All are 0
 * for edges that lie on one side. */
typedef enum submod_hypergraph_kind {
    SUBMOD_HYPERGRAPH_ALL_OR_NOTHING = 0, /* 1 */
    SUBMOD_HYPERGRAPH_SMALL_SIDE = 1,     /* min(|A & e|, |e - A|) */
    SUBMOD_HYPERGRAPH_PRODUCT = 2,        /* |A & e| |e - A| */
    /* The product once more, as an ordinary cut with an edge between each two nodes of e: for
     * maximum flow. Takes memory for |e|^2 / 2 edges. */
    SUBMOD_HYPERGRAPH_CLIQUE = 3
} submod_hypergraph_kind;

/* Cut of a hypergraph: F(A) = sum over edges i < m of weight[i] times what kind says. Edge i joins
 * nodes[start[i] .. start[i+1]-1], each once (CSR, as above); fewer than two nodes cost nothing.
 * weight >= 0; NULL: all 1. Edges of two and three nodes are ordinary edges and triangles, which
 * are put together as one cut (all there is, if no edge is larger); each other edge becomes an
 * embedded function of the cardinality, with isotonic prox. SUBMOD_EINVAL: kind out of range, a
 * node twice in an edge. SUBMOD_EUNSUPPORTED: more than 2^31 - 1 ordinary edges. */
SUBMOD_API submod_status submod_fn_hypergraph(size_t n, size_t m, const size_t *start,
                                              const int32_t *nodes, const double *weight,
                                              submod_hypergraph_kind kind, submod_fn **fn);

/* Cut of a sparse graph given as m edges (tail[i], head[i]) of weight >= 0:
 * directed:   F(A) = weight of the edges that leave A (tail in A, head outside);
 * undirected: F(A) = weight of the edges with exactly one end in A.
 * Parallel edges add up, loops have no effect, m = 0 is allowed. Minimised by maximum flow.
 * Minimisation and prox return SUBMOD_ENUMERIC if an element's modular part plus its edge weights
 * in one direction overflows, or if two sums both overflow: an element's edge weights in both
 * directions, and all elements' |modular part| (the prox adds lambda x to the modular part, and
 * takes 8 times this sum). SUBMOD_EUNSUPPORTED: m > 2^31 - 1. */
SUBMOD_API submod_status submod_fn_cut(size_t n, size_t m, const int32_t *tail, const int32_t *head,
                                       const double *weight, int directed, submod_fn **fn);

/* F(A) = log det K_AA for a symmetric positive definite n x n matrix.
 * SUBMOD_EINVAL: K_ij and K_ji differ by more than 1e-12 sqrt(K_ii K_jj). SUBMOD_ENUMERIC: not
 * positive definite in double precision. SUBMOD_EUNSUPPORTED: n > 46340. */
SUBMOD_API submod_status submod_fn_logdet(size_t n, const double *K, submod_fn **fn);

/* ---- combinations ----
 *
 * All have one flat form, a sum of terms plus a modular part, which solvers see: a combination of
 * combinations is one of their terms, and a modular term becomes part of the modular part. They
 * keep their own share of the functions: you may free yours at once. A sum may grow term by term;
 * appending one costs O(1) terms on average.
 *
 * A product of two coefficients that is not a normal number, or a modular part that overflows, is
 * SUBMOD_ENUMERIC. */

/* A term of a combination: coefficient * fn, where element j of fn is elements[j] of the
 * combination; elements = NULL means j. */
typedef struct submod_term {
    const submod_fn *fn;
    double coefficient; /* >= 0 */
    const int32_t *elements;
} submod_term;

/* The function A -> sum over terms of coefficient * fn(A restricted to its elements) + the sum of
 * modular over A, of n elements: sums, multiples, modular parts and embeddings. modular = NULL
 * means 0. Adding an element to a set costs what the terms that have it cost.
 * SUBMOD_EINVAL: terms[i].elements is NULL though fn has not n elements, or has duplicates. */
SUBMOD_API submod_status submod_fn_combine(size_t n, const submod_term *terms, size_t count,
                                           const double *modular, submod_fn **fn);
/* f on the subsets of {elements[0], .., elements[k-1]}; new element j stands for elements[j].
 * k >= 1, no duplicates. */
SUBMOD_API submod_status submod_fn_restrict(const submod_fn *f, const int32_t *elements, size_t k,
                                            submod_fn **fn);
/* A -> f(A + S) - f(S), S the k given elements; the new elements are those of V outside S, in
 * ascending order. 0 <= k < n, no duplicates. */
SUBMOD_API submod_status submod_fn_contract(const submod_fn *f, const int32_t *elements, size_t k,
                                            submod_fn **fn);

/* ---- evaluation ----
 *
 * SUBMOD_EINVAL for NULL, for an element outside 0 .. n-1 and for a duplicate. set may be NULL
 * when k = 0. SUBMOD_ECALLBACK when a callback fails or returns NaN or Inf; SUBMOD_ENUMERIC when a
 * built-in function overflows or breaks down. */

/* *value = F(set). */
SUBMOD_API submod_status submod_fn_eval(const submod_fn *fn, const int32_t *set, size_t k,
                                        double *value);

/* gains[i] = F({order[0..i]}) - F({order[0..i-1]}), i < k. */
SUBMOD_API submod_status submod_fn_chain(const submod_fn *fn, const int32_t *order, size_t k,
                                         double *gains, submod_work *work);

/* The largest number of elements for which all subsets are tried. */
#define SUBMOD_EXHAUSTIVE_MAX 24

/* A minimiser of A -> F(base + A) - F(base) - sum of z over A among the subsets of block, and the
 * minimum. in[j] = 1 where block[j] is in it. largest: which one when there are several, as in the
 * minimize slot; values that differ by rounding only count as equal, and a function that is not
 * submodular may have no such one, then it is any. value may be NULL. Needs a function with a
 * minimiser of its own (Jaccard, Hamming, two counts, modular, cardinality, concave, cut,
 * and scaled, shifted, restricted, contracted or embedded ones), or at most SUBMOD_EXHAUSTIVE_MAX
 * elements in block, when all subsets are tried; else SUBMOD_EUNSUPPORTED. SUBMOD_ENUMERIC also
 * when sums of z overflow. SUBMOD_ECANCELLED: base.h, cancelling. */
SUBMOD_API submod_status submod_fn_minimize(const submod_fn *fn, const int32_t *base, size_t nbase,
                                            const int32_t *block, size_t nblock, const double *z,
                                            int largest, uint8_t *in, double *value);

/* A set under construction: push elements one by one, ask for gains in between, as greedy
 * algorithms do (examples/greedy.c). Holds its own share of fn. One thread at a time. */
typedef struct submod_state submod_state;

/* The empty set. SUBMOD_EINVAL: NULL. SUBMOD_ENOMEM; errors of evaluation. */
SUBMOD_API submod_status submod_state_create(const submod_fn *fn, submod_state **state);
/* Accepts NULL. */
SUBMOD_API void submod_state_free(submod_state *state);
/* Back to the empty set. */
SUBMOD_API submod_status submod_state_reset(submod_state *state);
/* Adds e; *gain (may be NULL) = F(A + e) - F(A). When it fails because of e the set is as before;
 * when it fails in a callback the state has to be reset before anything else. */
SUBMOD_API submod_status submod_state_push(submod_state *state, int32_t e, double *gain);
/* *gain = F(A + e) - F(A) without adding e. Fails as push does. */
SUBMOD_API submod_status submod_state_gain(submod_state *state, int32_t e, double *gain);
/* The number of elements, and in *set (may be NULL) the elements in the order they were pushed:
 * borrowed, valid until the next call on this state. 0 for NULL. */
SUBMOD_API size_t submod_state_set(const submod_state *state, const int32_t **set);

/* ---- checking ---- */

/* Tests whether fn is normalised, submodular, monotone and symmetric, with eval as the definition,
 * and whether its callbacks agree with eval: chain and gain along random orders, tied, minimize and
 * prox in random cases with few elements (measure.h has the report and the settings). Fills
 * *report, which need not be initialised and is to be cleared afterwards.
 * SUBMOD_TIMELIMIT or SUBMOD_CANCELLED before the work was done: the report covers what was seen.
 */
SUBMOD_API submod_status submod_fn_check(const submod_fn *fn, submod_check_report *report,
                                         const submod_check_settings *settings);

#ifdef __cplusplus
}
#endif

#endif
