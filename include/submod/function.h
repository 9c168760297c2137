/* Set functions F : 2^V -> R on the ground set V = {0, .., n-1}.
 *
 * A submod_fn is an immutable handle. Built-in functions, user functions and combinations of both
 * use the same table of callbacks, submod_fn_ops, and every function of the library accepts all of
 * them. A new function needs one callback:
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
 * submod_fn_check tests whether it is submodular. More callbacks make it faster.
 *
 * F(empty) may be any number. Values of sets, as from submod_fn_eval and minimisation, include it.
 * Differences do not: gains, chains, bases, and the Lovász extension with its prox, where
 * f(indicator of A) = F(A) - F(empty).
 *
 * Several threads may use the same handle at once if its callbacks allow it; the built-in ones do.
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
 * eval is required and defines F; the other callbacks are faster ways to the same numbers. A
 * callback returns SUBMOD_OK on success. Any other value, and NaN or Inf as a result, ends the
 * library's call with SUBMOD_ECALLBACK. Elements that are passed to a callback are distinct, in
 * 0 .. n-1, and not yet in the state.
 *
 * The state is a set that grows. The library allocates state_size bytes for it, aligned to 64,
 * copies them with memcpy and releases them without a callback. reset and chain must be given
 * together, and gain and tied require both.
 */

/* The function A -> F(base + A) - F(base) for subsets A of ground. base and ground are disjoint. */
typedef struct submod_minor {
    const int32_t *base;
    size_t nbase;
    const int32_t *ground;
    size_t nground;
} submod_minor;

/* The callbacks of a set function. All but eval may be NULL. */
typedef struct submod_fn_ops {
    const char *name; /* for submod_fn_name and messages; a constant text. NULL means "custom" */

    /* Computes F(set) for k elements in any order. */
    submod_status (*eval)(const void *ctx, const int32_t *set, size_t k, double *value);

    size_t state_size; /* bytes of the state that reset, chain, gain and tied use */
    /* Makes the state the empty set. */
    submod_status (*reset)(const void *ctx, void *state);
    /* Adds the elements one after the other to the set A in the state. gains[i] is
     * F(A + elements[0..i]) - F(A + elements[0..i-1]). */
    submod_status (*chain)(const void *ctx, void *state, const int32_t *elements, size_t k,
                           double *gains);
    /* Computes F(A + e) - F(A). May use the state as scratch memory, but must not change A. */
    submod_status (*gain)(const void *ctx, void *state, int32_t e, double *gain);
    /* Adds elements without a mutual order. gains[i] is an average over orders of these elements,
     * and does not depend on the order in which they are passed. Orders that differ only by
     * elements with equal roles in F have equal weights. Such gains keep the greedy vector in the
     * base polytope and do not favour one tied element over another. */
    submod_status (*tied)(const void *ctx, void *state, const int32_t *elements, size_t k,
                          double *gains);

    /* Finds the smallest and the largest minimiser of the minor less z, as flags; flags and z are
     * indexed like ground. smallest, largest and base may be NULL. If the callback has a base of
     * the minor less z whose negative entries sum to the minimum, it writes it to base; otherwise
     * it leaves base untouched. */
    submod_status (*minimize)(const void *ctx, const submod_minor *minor, const double *z,
                              uint8_t *smallest, uint8_t *largest, double *base);

    /* Computes the proximal operator of F's Lovász extension f: u minimises
     * f(u) + lambda / 2 |u - x|^2, and s = lambda (x - u) is a base of F. Sums use it for their
     * terms. The library computes the gap, and changes the method if F contradicts u and s. */
    submod_status (*prox)(const void *ctx, const double *x, double lambda, double *u, double *s);

    /* Frees ctx with the last handle. */
    void (*destroy)(void *ctx);
} submod_fn_ops;

/* Creates a function from callbacks. *ops is copied; every callback receives ctx. On success the
 * handle owns ctx and calls destroy, if given, at the end; on failure the caller keeps ctx. The
 * call does not test that F is submodular (submod_fn_check does). If it is not, functions that
 * rely on it may return wrong results.
 * SUBMOD_EINVAL: n = 0 or n > 2^31 - 1, no eval, chain without reset or the reverse, gain or tied
 * without chain, state_size > SIZE_MAX / 8. */
SUBMOD_API submod_status submod_fn_custom(size_t n, const submod_fn_ops *ops, void *ctx,
                                          submod_fn **fn);

/* Adds an owner and returns fn. Each owner calls submod_fn_free. */
SUBMOD_API submod_fn *submod_fn_retain(const submod_fn *fn);
/* Removes an owner; the last one frees the function. Accepts NULL. */
SUBMOD_API void submod_fn_free(submod_fn *fn);

/* Returns n, or 0 for NULL. */
SUBMOD_API size_t submod_fn_size(const submod_fn *fn);
/* Returns "jaccard", "cut" and so on, the name of a custom function, or "" for NULL. */
SUBMOD_API const char *submod_fn_name(const submod_fn *fn);

/* ---- built-in functions ----
 *
 * All inputs are copied. Every constructor refuses n = 0, n > 2^31 - 1 and required pointers that
 * are NULL with SUBMOD_EINVAL, and NaN or Inf with SUBMOD_ENONFINITE. After a failure *fn is
 * unchanged. The head of each source file states the costs of eval, chain and gain.
 */

/* Creates the Jaccard loss as a function of the set of mispredicted pixels (paper, Eq. 6). With P
 * foreground pixels (nonzero in the mask) and a / b mispredicted foreground / background pixels,
 * F = (a + b) / (P + b). If P = 0, F = 1 as soon as b > 0. F is monotone and F(V) = 1. */
SUBMOD_API submod_status submod_fn_jaccard(size_t n, const uint8_t *foreground, submod_fn **fn);

/* Creates F(A) = |A| / n, the share of mispredicted pixels. */
SUBMOD_API submod_status submod_fn_hamming(size_t n, submod_fn **fn);

/* Creates F(A) = F(a, b) for a measure (measure.h; NULL means Jaccard), with a / b as above, or
 * their sums of weights >= 0 (NULL means ones). Weights are rounded to whole multiples of 2^k, the
 * smallest k for which sums of n of them are exact, below n * largest / 2^50; smaller weights are
 * lost, except for Hamming. F must then be submodular for real counts. The measure is copied and
 * its ctx borrowed; submod_measure_check tests custom ones. Minimises in O(k log k). The prox is
 * exact without weights, else by decomposition (submod_prox_points has a faster norm).
 * SUBMOD_EINVAL: a bad measure, a weight < 0. SUBMOD_ENUMERIC: the weights' sum overflows. */
SUBMOD_API submod_status submod_fn_counts(size_t n, const uint8_t *foreground, const double *weight,
                                          const submod_measure *measure, submod_fn **fn);

/* Creates F(A) = the sum of w over A; w may have any sign. */
SUBMOD_API submod_status submod_fn_modular(size_t n, const double *w, submod_fn **fn);

/* Kinds of concave functions g(t), t >= 0. Some also depend on T, the largest t, and give cuts of
 * hypergraphs. These require unit weights. */
typedef enum submod_concave_kind {
    SUBMOD_CONCAVE_SQRT = 0,   /* sqrt(t) */
    SUBMOD_CONCAVE_LOG1P = 1,  /* log(1 + t) */
    SUBMOD_CONCAVE_MIN = 2,    /* min(t, parameter), parameter >= 0 */
    SUBMOD_CONCAVE_POWER = 3,  /* t^parameter, 0 < parameter <= 1 */
    SUBMOD_CONCAVE_POINTS = 4, /* linear between points */
    SUBMOD_CONCAVE_CUSTOM = 5, /* a callback */

    SUBMOD_CONCAVE_ALL_OR_NOTHING = 6, /* 1, but 0 at t = 0 and t = T */
    SUBMOD_CONCAVE_SMALL_SIDE = 7,     /* min(t, T - t) */
    SUBMOD_CONCAVE_PRODUCT = 8,        /* t (T - t) */
    /* Also t (T - t), but submod_fn_groups makes it an ordinary cut for maximum flow, with an edge
     * between each two elements of a group. Uses memory for T^2 / 2 edges. */
    SUBMOD_CONCAVE_CLIQUE = 9
} submod_concave_kind;

/* A concave function. Fields that its kind does not use are not read. */
typedef struct submod_concave {
    submod_concave_kind kind;
    double parameter; /* for MIN and POWER */

    /* POINTS: (t[i], g[i]) for i < count, count >= 2, t ascending from t[0] = 0; t = NULL means
     * 0, 1, 2, and so on. Beyond the last point, g continues with the last slope. */
    size_t count;
    const double *t, *g;

    /* CUSTOM: computes g(t) for any t in [0, T], up to rounding above T. Returns as the callbacks
     * of submod_fn_ops do. Only submod_fn_check tests whether g is concave. */
    submod_status (*value)(const void *ctx, double t, double *value);
    void *ctx;                  /* for value; owned by the function once it is created */
    void (*destroy)(void *ctx); /* frees ctx with the last handle; may be NULL */
} submod_concave;

/* Creates F(A) = g(the sum of weight over A), with weight >= 0; NULL means ones, F(A) = g(|A|). g
 * need not increase: with g(0) = g(T) = 0 it makes a symmetric kind of cut. Minimisation is direct
 * and the prox exact. If all weights are equal, F is a function of the cardinality and treated as
 * one. SUBMOD_EINVAL: a weight < 0, kind or parameter out of range, points that are not concave
 * beyond rounding, CUSTOM without value. SUBMOD_ENUMERIC: the sum of the weights overflows. */
SUBMOD_API submod_status submod_fn_concave(size_t n, const double *weight,
                                           const submod_concave *concave, submod_fn **fn);

/* Groups of elements, as a CSR matrix. They may overlap, be empty, or not cover all elements. */
typedef struct submod_groups {
    size_t count;
    const size_t *start;     /* count + 1 numbers, ascending from 0 */
    const int32_t *elements; /* group i: elements[start[i] .. start[i+1]-1], each once */
    const double *amount;    /* start[count] numbers >= 0, like elements; NULL means ones */
    const double *weight;    /* of each group, >= 0; NULL means ones */
} submod_groups;

/* Creates F(A) = the sum over groups of weight[i] g(amount of A in group i), where T is the amount
 * of the whole group. With one group per feature, F is a feature-based function for
 * summarisation; kinds that depend on T give cuts of hypergraphs, whose edges with two and three
 * elements are joined to one ordinary cut. F is a combination (below) of one function for each
 * group. The prox of a group uses isotonic regression (amount = NULL) or decomposition. Adding an
 * element costs O(its groups). SUBMOD_EINVAL: an element twice in a group. SUBMOD_EUNSUPPORTED:
 * more than 2^31 - 1 ordinary edges. */
SUBMOD_API submod_status submod_fn_groups(size_t n, const submod_groups *groups,
                                          const submod_concave *concave, submod_fn **fn);

/* Creates the cut of a sparse graph with m edges (tail[i], head[i]) of weight >= 0:
 * directed:   F(A) = weight of the edges that leave A (tail in A, head outside);
 * undirected: F(A) = weight of the edges with exactly one end in A.
 * Parallel edges add up, loops have no effect, m = 0 is allowed. Minimises by maximum flow.
 * SUBMOD_EUNSUPPORTED: m > 2^31 - 1. SUBMOD_ENUMERIC from minimisation and prox: an element's
 * modular part plus its edge weights in one direction overflows; or two sums both overflow, an
 * element's edge weights in both directions and all elements' |modular part|. The prox adds lambda
 * x to the modular part and takes 8 times the second sum. */
SUBMOD_API submod_status submod_fn_cut(size_t n, size_t m, const int32_t *tail, const int32_t *head,
                                       const double *weight, int directed, submod_fn **fn);

/* Creates F(A) = log det K_AA for a symmetric positive definite n x n matrix.
 * SUBMOD_EINVAL: K_ij and K_ji differ by more than 1e-12 sqrt(K_ii K_jj). SUBMOD_ENUMERIC: not
 * positive definite in double precision. SUBMOD_EUNSUPPORTED: n > 46340. */
SUBMOD_API submod_status submod_fn_logdet(size_t n, const double *K, submod_fn **fn);

/* ---- combinations ----
 *
 * A combination is a flat sum of terms plus a modular part, both visible to the solvers.
 * Combinations of combinations are flat as well, and modular terms are added to the modular part. A
 * combination shares ownership of its functions. A sum may grow term by term: appending a term
 * copies O(1) terms on average.
 *
 * SUBMOD_ENUMERIC: a product of two coefficients is not a normal number, or the modular part
 * overflows.
 */

/* A term coefficient * fn. Element j of fn is elements[j] of the combination, or j if elements is
 * NULL. */
typedef struct submod_term {
    const submod_fn *fn;
    double coefficient; /* >= 0 */
    const int32_t *elements;
} submod_term;

/* Creates F(A) = the sum over terms of coefficient * fn(A restricted to its elements) + the sum of
 * modular over A, for n elements: sums, multiples, modular parts and embeddings. modular = NULL
 * means zeros. Adding an element to a set costs as much as in the terms that have it.
 * SUBMOD_EINVAL: terms[i].elements has duplicates, or is NULL and fn does not have n elements. */
SUBMOD_API submod_status submod_fn_combine(size_t n, const submod_term *terms, size_t count,
                                           const double *modular, submod_fn **fn);
/* Creates f on the subsets of k >= 1 distinct elements. Element j is elements[j] of f. */
SUBMOD_API submod_status submod_fn_restrict(const submod_fn *f, const int32_t *elements, size_t k,
                                            submod_fn **fn);
/* Creates A -> f(S + A) - f(S) for the set S of k distinct elements, 0 <= k < n. Its elements are
 * those outside S in ascending order. */
SUBMOD_API submod_status submod_fn_contract(const submod_fn *f, const int32_t *elements, size_t k,
                                            submod_fn **fn);

/* ---- evaluation ----
 *
 * SUBMOD_EINVAL: NULL, an element outside 0 .. n-1, a duplicate; set may be NULL if k = 0.
 * SUBMOD_ECALLBACK: a callback fails or returns NaN or Inf. SUBMOD_ENUMERIC: a built-in function
 * overflows or breaks down.
 */

/* Computes F(set). */
SUBMOD_API submod_status submod_fn_eval(const submod_fn *fn, const int32_t *set, size_t k,
                                        double *value);

/* Computes gains[i] = F({order[0..i]}) - F({order[0..i-1]}) for i < k. */
SUBMOD_API submod_status submod_fn_chain(const submod_fn *fn, const int32_t *order, size_t k,
                                         double *gains, submod_work *work);

/* A set that grows element by element, with gains in between, for greedy algorithms
 * (examples/greedy.c). It shares ownership of fn. Only one thread at a time may use it. */
typedef struct submod_state submod_state;

/* Creates the empty set. SUBMOD_EINVAL: NULL. SUBMOD_ENOMEM, and errors of evaluation. */
SUBMOD_API submod_status submod_state_create(const submod_fn *fn, submod_state **state);
/* Frees a state. Accepts NULL. */
SUBMOD_API void submod_state_free(submod_state *state);
/* Removes all elements. */
SUBMOD_API submod_status submod_state_reset(submod_state *state);
/* Adds e; *gain, which may be NULL, becomes F(A + e) - F(A). An invalid e leaves the set unchanged.
 * After a failed callback the state must be reset. */
SUBMOD_API submod_status submod_state_push(submod_state *state, int32_t e, double *gain);
/* Computes F(A + e) - F(A) without adding e. Fails as submod_state_push does. */
SUBMOD_API submod_status submod_state_gain(submod_state *state, int32_t e, double *gain);
/* Returns the number of elements, or 0 for NULL. *set, unless set is NULL, becomes the elements in
 * the order in which they were added, valid until the next call with this state. */
SUBMOD_API size_t submod_state_set(const submod_state *state, const int32_t **set);

/* ---- the Lovász extension f of F (paper, Eqs. 8 and 9), and its greedy subgradient ----
 *
 * Let pi be an order of the elements with descending entries of x. Then
 *
 *     g[pi_i] = F({pi_1, .., pi_i}) - F({pi_1, .., pi_i-1}),     f(x) = sum_i x_i g_i .
 *
 * g is a vertex of the base polytope B(F) = { s : s(A) <= F(A) for all A, s(V) = F(V) }. If F is
 * submodular, f is convex, f(x) = max over s in B(F) of <s, x>, and g is a subgradient of f at x.
 */

/* The order of tied entries of x. It matters to g, but not to the value f(x). */
typedef enum submod_ties {
    /* The mean over orders of each tied block, for functions with `tied` (Jaccard, Hamming,
     * cardinality, modular and combinations of these); others as SUBMOD_TIES_INDEX. Elements with
     * equal roles in F and equal entries get equal gains. Jaccard takes foreground before
     * background, averaged within each. g is then a mean of vertices of B(F), still a
     * subgradient. */
    SUBMOD_TIES_AVERAGE = 0,
    /* The smaller element first. g is the vertex that belongs to the returned order. */
    SUBMOD_TIES_INDEX = 1
} submod_ties;

/* Computes the value f(x), the n entries of a subgradient g, and the n elements of pi, ties by
 * ascending element. Each of them may be NULL; none may overlap x. Costs a sort and a chain of F.
 * Modular F (Hamming too, and combinations of such functions) need no sort if order is NULL.
 * SUBMOD_EINVAL: fn or x is NULL, ties is unknown. SUBMOD_ENONFINITE: NaN or Inf in x.
 * SUBMOD_ECALLBACK, SUBMOD_ENUMERIC: from F, or f(x) overflows and value is not NULL. */
SUBMOD_API submod_status submod_lovasz(const submod_fn *fn, const double *x, double *value,
                                       double *subgradient, int32_t *order, submod_ties ties,
                                       submod_work *work);

/* ---- checking ---- */

/* Tests whether fn is normalised, submodular, monotone and symmetric, by eval, and whether its
 * other callbacks agree with eval: chain and gain along random orders; tied, minimize and prox in
 * random cases with few elements. Fills *report, which need not be initialised;
 * submod_check_report_clear releases it (measure.h, with the settings). SUBMOD_TIMELIMIT or
 * SUBMOD_CANCELLED: the report covers the work up to then. */
SUBMOD_API submod_status submod_fn_check(const submod_fn *fn, submod_check_report *report,
                                         const submod_check_settings *settings);

#ifdef __cplusplus
}
#endif

#endif
