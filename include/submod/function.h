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
     * s = lambda (x - u) is a base of F. Terms of combinations use it, too. The library measures
     * the gap itself, and uses another method where F contradicts u and s. */
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

/* A concave function g(t) of one number t >= 0. Where sets of weight t are taken from a whole of
 * weight T, some kinds read T, which gives cuts of hypergraphs. They need unit weights. */
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
    /* The product once more. submod_fn_groups makes it an ordinary cut with an edge between each
     * two elements of a group, for maximum flow. Takes memory for T^2 / 2 edges. */
    SUBMOD_CONCAVE_CLIQUE = 9
} submod_concave_kind;

/* Which g. Fields that the kind does not name are not read. */
typedef struct submod_concave {
    submod_concave_kind kind;
    double parameter; /* of MIN and POWER */

    /* POINTS: (t[i], g[i]), i < count, count >= 2, t ascending from t[0] = 0; NULL means 0, 1, 2,
     * and so on. Beyond the last point g continues with the last slope. */
    size_t count;
    const double *t, *g;

    /* CUSTOM: *value = g(t), for any t in [0, T], up to rounding above. As any callback: SUBMOD_OK
     * and a finite number, or SUBMOD_ECALLBACK ends the library's call. Whether g is concave is not
     * checked, except by submod_fn_check. */
    submod_status (*value)(const void *ctx, double t, double *value);
    void *ctx;                  /* passed on; belongs to the function once it is made */
    void (*destroy)(void *ctx); /* frees ctx with the last handle; may be NULL */
} submod_concave;

/* F(A) = g(w(A)), w(A) = the sum of weight >= 0 over A; weight = NULL means ones, g(|A|). g need
 * not increase: one that decreases again, with g(0) = g(w(V)) = 0, makes a symmetric kind of cut.
 * All have a minimiser of their own and so an exact prox; where all weights are equal, F is a
 * function of the cardinality and treated as one. SUBMOD_EINVAL: a weight < 0, kind or parameter
 * out of range, points that are not concave beyond rounding, CUSTOM without value. SUBMOD_ENUMERIC:
 * the sum of the weights overflows. */
SUBMOD_API submod_status submod_fn_concave(size_t n, const double *weight,
                                           const submod_concave *concave, submod_fn **fn);

/* Groups of elements, as a CSR matrix. They may overlap, be empty or leave elements out. */
typedef struct submod_groups {
    size_t count;
    const size_t *start;     /* count + 1 numbers, ascending from 0 */
    const int32_t *elements; /* group i: elements[start[i] .. start[i+1]-1], each once */
    const double *amount;    /* start[count] numbers >= 0, like elements; NULL means ones */
    const double *weight;    /* of each group, >= 0; NULL means ones */
} submod_groups;

/* F(A) = sum over groups of weight[i] g(amount of A in group i), with T the amount of all of group
 * i. With features for groups these are the feature-based functions of summarisation; kinds that
 * read T make cuts of hypergraphs, whose edges of two and three elements are put together as one
 * ordinary cut. F is a combination (below) of one function for each group: prox part by part, each
 * by isotonic regression (amount = NULL) or decomposition. Adding an element costs O(its groups).
 * SUBMOD_EINVAL: an element twice in a group. SUBMOD_EUNSUPPORTED: more than 2^31 - 1 ordinary
 * edges. */
SUBMOD_API submod_status submod_fn_groups(size_t n, const submod_groups *groups,
                                          const submod_concave *concave, submod_fn **fn);

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

/* ---- the Lovász extension f of F (paper, Eqs. 8 and 9), and its greedy subgradient ----
 *
 * With pi an order of x from its largest to its smallest entry,
 *
 *     g[pi_i] = F({pi_1, .., pi_i}) - F({pi_1, .., pi_i-1}),     f(x) = sum_i x_i g_i .
 *
 * g is a vertex of the base polytope B(F) = { s : s(A) <= F(A) for all A, s(V) = F(V) }. If F is
 * submodular, f is convex, f(x) = max over s in B(F) of <s, x>, and g is a subgradient of f at x.
 */

/* The order of tied entries of x. The value f(x) does not depend on it, g does. */
typedef enum submod_ties {
    /* The mean over orders of each tied block where F has a closed form for it (the tied slot:
     * Jaccard, Hamming, cardinality, modular and functions made of these), else as
     * SUBMOD_TIES_INDEX. Elements that F cannot tell apart get equal weights at equal entries.
     * Jaccard: foreground before background, averaged within each. g is then a mean of vertices of
     * B(F), still a subgradient. */
    SUBMOD_TIES_AVERAGE = 0,
    /* The smaller element first. g is exactly the vertex that belongs to the returned order. */
    SUBMOD_TIES_INDEX = 1
} submod_ties;

/* Computes *value = f(x), the n numbers of a subgradient g, and the n elements of pi, ties by
 * ascending element; each may be NULL, none may overlap x. Cost: one sort and one chain of F. No
 * sort where F is modular (Hamming too, and combinations of such functions) and order is NULL.
 * SUBMOD_EINVAL: fn or x NULL, unknown ties. SUBMOD_ENONFINITE: NaN or Inf in x.
 * SUBMOD_ECALLBACK, SUBMOD_ENUMERIC: from F, or f(x) overflows and value is not NULL.
 */
SUBMOD_API submod_status submod_lovasz(const submod_fn *fn, const double *x, double *value,
                                       double *subgradient, int32_t *order, submod_ties ties,
                                       submod_work *work);

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
