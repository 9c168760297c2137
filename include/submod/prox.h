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
 * submod_certificate_check checks such results without trusting the solver. That s is a base is
 * what the methods promise and nothing here checks. For cuts s is a flow within the weights, a base
 * up to rounding however large they are. Paths and cyclic projections (sums, chains) give a base up
 * to the rounding of lambda x, where that is more. */
#ifndef SUBMOD_PROX_H
#define SUBMOD_PROX_H

#include <submod/function.h>
#include <submod/loss.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A base s = sum over k of w_k g(pi_k), the mean of greedy vectors g of orders pi_k, whose weights
 * w_k >= 0 sum to 1. Whoever has the orders needs to trust nobody: each greedy vector is n
 * evaluations of F. */
typedef struct submod_combination {
    size_t n, count;
    int32_t *orders; /* count x n, row-major */
    double *weights; /* count */
} submod_combination;

/* Frees orders and weights that the library has allocated, and sets all fields to 0. Accepts NULL.
 */
SUBMOD_API void submod_combination_free(submod_combination *combination);

/* How a prox is computed. */
typedef enum submod_prox_method {
    SUBMOD_PROX_AUTO = 0,          /* the best of 1 .. 6 and 8 .. 10 */
    SUBMOD_PROX_CLOSED_FORM = 1,   /* modular, Hamming: s = F itself */
    SUBMOD_PROX_CARDINALITY = 2,   /* F(A) = h(|A|) + w(A): one sort, pool adjacent violators */
    SUBMOD_PROX_JACCARD = 3,       /* exact, O(n log n): a sort, then linear passes */
    SUBMOD_PROX_CHAIN = 4,         /* cut of a path (1-D total variation): O(n) */
    SUBMOD_PROX_DECOMPOSITION = 5, /* F with a minimize slot: exact divide and conquer */
    SUBMOD_PROX_MIN_NORM = 6,      /* any F: Fujishige-Wolfe */
    /* Algorithm 2 of the paper's supplement, with the repairs that it needs: not always optimal. By
     * isotonic regression, O(n log n). */
    SUBMOD_PROX_ALGORITHM_2 = 7,
    /* Combinations: what folds is folded (modular and Hamming parts, several cuts, coefficients).
     * If one part is left, its own method solves it, and info names that; else projections on the
     * parts (with a cut by active sets, without one in a cycle), with a certificate from their
     * bases. */
    SUBMOD_PROX_SUM = 8,
    /* The function's own prox slot. If F contradicts its result, another method takes over, and
     * info names that. */
    SUBMOD_PROX_OWN = 9,
    SUBMOD_PROX_TWO_COUNTS = 10, /* measures of two counts (function.h): a sort, then greedy paths
                                    along the sorted pixels; exact */
    SUBMOD_PROX_ALGORITHM_2_LOOP = 11,   /* the same as 7 by the listing itself, O(n) an edge */
    SUBMOD_PROX_ALGORITHM_2_PRINTED = 12 /* the listing as printed, which goes uphill */
} submod_prox_method;

/* The largest number of bins of the setting accuracy. */
#define SUBMOD_PROX_BINS_MAX (1 << 22)

/* Settings of submod_prox. */
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
    /* > 0: methods 3 and 10 count x in bins of twice this width instead of sorting it, in O(n + K
     * log K) for K bins, at most SUBMOD_PROX_BINS_MAX: |u - prox| <= info->error <= accuracy in
     * every entry. 0, the default, means exact. Other methods ignore it. */
    double accuracy;
    size_t max_iterations; /* of an iterative method; 0: 100000 */
    double time_limit;     /* seconds; 0: none */
    /* Where an iterative method starts: weights >= 0 of any sum, orders from any x, lambda or F.
     * NULL, count = 0 or another n mean no start. May be the same struct as combination. */
    const submod_combination *start;
    /* Receives s as a combination from the methods marked "any F"; the others empty it, and errors
     * leave it untouched. Its old content, which is freed, must be {0} or come from the library.
     * With hinge it describes the base that s was cut down from. May be NULL. */
    submod_combination *combination;
    /* Is called each time an iterative method has computed its gap, with the iterations so far and
     * the gap (Wolfe: that of the part it works on). From the calling thread. It may call
     * submod_set_poll. May be NULL. */
    void (*progress)(void *ctx, size_t iterations, double gap);
    void *progress_ctx; /* handed to progress */
} submod_prox_settings;

/* Returns the values that stand in the comments of the struct. */
SUBMOD_API submod_prox_settings submod_prox_defaults(void);

/* How a prox went. */
typedef struct submod_prox_info {
    submod_prox_method method; /* the one that was used */
    double primal, dual, gap;  /* the objectives at u and at s (head of prox.h); primal - dual */
    size_t iterations;         /* Wolfe: major cycles; decompositions: blocks; sums: sweeps */
    size_t minor_cycles;       /* Wolfe only */
    uint64_t oracle_calls;     /* greedy chains, or calls of minimize or prox */
    uint64_t work;             /* decompositions: elements visited; sums: flows solved */
    double seconds;            /* taken */
    double error;              /* with accuracy: |u - prox| <= this in all entries; else 0 */
} submod_prox_info;

/* x: n finite numbers; lambda > 0, finite. u, s (n numbers each) and info may be NULL; they may not
 * overlap x or each other. Statuses >= 0 come with a result; after an error u and s are
 * unspecified, info is untouched. SUBMOD_MAXITER, SUBMOD_TIMELIMIT, SUBMOD_CANCELLED: stopped
 * early. SUBMOD_INACCURATE: the gap is larger than the tolerance (exact methods: than 1e-10, if
 * that is more, and rounding) or below 0, or info->error is larger than accuracy: F is not
 * submodular, the method is not exact, or digits run out. SUBMOD_EINVAL also: hinge, and s shows
 * that F is not monotone. SUBMOD_EUNSUPPORTED: the method cannot do this function, or too many
 * bins. SUBMOD_ENUMERIC: u, s or the objective overflows, or, for methods marked "any F", lambda x
 * is 2^1010 times what F gains. SUBMOD_ENONFINITE, SUBMOD_ECALLBACK, SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_prox(const submod_fn *fn, const double *x, double lambda, double *u,
                                     double *s, const submod_prox_settings *settings,
                                     submod_prox_info *info, submod_work *work);

/* Points with weights: point k stands for multiplicity[k] > 0 pixels, any number, of one value and
 * label (foreground: 0 or not). */
typedef struct submod_points {
    size_t count;
    const double *value;
    const uint8_t *foreground;
    const double *multiplicity;
} submod_points;

/* The exact prox of a measure (measure.h; NULL means Jaccard) on weighted points, w = multiplicity:
 *
 *     u = argmin over u of  f(u) + lambda/2 sum of w_k (u_k - x_k)^2,
 *
 * f the extension of F with counts that are sums of w. u and s (count numbers each) are those of
 * each pixel of a point: u = x - s / lambda, and w s is a base. u, s and info may be NULL; they may
 * not overlap the inputs. That a custom measure is increasing and submodular is not checked
 * (submod_measure_check). Errors: as for submod_prox. SUBMOD_ENUMERIC also: the sum of w overflows,
 * or one is less than 2^-52 of the sum of its label. */
SUBMOD_API submod_status submod_prox_points(const submod_points *points,
                                            const submod_measure *measure, double lambda, double *u,
                                            double *s, submod_prox_info *info, submod_work *work);

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
 * SUBMOD_MAXITER, SUBMOD_INACCURATE, SUBMOD_CANCELLED: usable, info->gap tells how good.
 * SUBMOD_EINVAL: m or n is 0, NULL, lambda not > 0, a negative weight. SUBMOD_ENONFINITE: NaN or
 * Inf in the inputs. SUBMOD_ENUMERIC: overflow of lambda x, lambda b or of the result.
 * SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_prox_max_affine(size_t m, size_t n, const double *a,
                                                const double *b, const double *x, double lambda,
                                                double *u, double *weights, submod_prox_info *info,
                                                submod_work *work);

/* The Lovász hinge as a layer for training (paper, supplement, proximal gradient algorithm): each
 * group's scores x move to prox(x) = argmin over z of hinge(z) + lambda/2 |z - x|^2, and direction,
 * lambda (x - prox(x)) / groups, takes the place of the gradient. A group is an image, or the batch
 * if settings->per_image = 0. Of settings only per_image, has_ignore, ignore_index and measure
 * count, of prox_settings method (exact, or an Algorithm 2), max_iterations and time_limit. Ignored
 * pixels do not move. prox may be the scores; prox, direction and info may be NULL, and are
 * unspecified after an error. SUBMOD_EUNSUPPORTED: pixel_weights, or another method.
 * SUBMOD_ENUMERIC: overflow, also of a float on output. Otherwise as in loss.h; results do not
 * depend on the number of threads. */
SUBMOD_API submod_status submod_prox_hinge_layer(const submod_scores *scores,
                                                 const submod_labels *labels, double lambda,
                                                 const submod_gradient *prox,
                                                 const submod_gradient *direction,
                                                 const submod_loss_settings *settings,
                                                 const submod_prox_settings *prox_settings,
                                                 submod_prox_info *info, submod_work *work);

/* ---- derivatives ----
 *
 * u, the prox of x, is constant on blocks. A level is the set of elements with one value of u; S
 * is all that lies above it. Where F(S + A) - F(S) is a sum of functions of disjoint parts of the
 * level, each of those parts is a block of its own. On a block C,
 *
 *     u_C = mean of x over C - (F(S + C) - F(S)) / (lambda |C|),
 *
 * and small changes of x, lambda and F move the blocks but keep them together. All derivatives
 * follow from this formula. docs/mathematics.md lists the blocks of each function, and says what
 * the derivative is where u has none. With the hinge, u_i = x_i where x_i < 0, and small changes do
 * not move u_i where x_i >= 0 and u_i = 0. */

/* Numbers of blocks that are none: only with the hinge. */
typedef enum submod_no_block {
    SUBMOD_BLOCK_HELD = -1, /* the hinge holds the element at 0 */
    SUBMOD_BLOCK_FREE = -2  /* the element is below the hinge: u_i = x_i */
} submod_no_block;

/* Finds the blocks of u, the prox of fn at x: block (n numbers) counts them from 0, from the
 * highest value down, or holds a submod_no_block; value (room for n) gets the value of each of the
 * *count blocks by the formula above, more exact than an approximate u. Of settings only hinge
 * counts. info->error: the largest difference between u and the values. Each output may be NULL;
 * none may overlap x or u. Entries of u count as equal up to the smallest tolerance with which the
 * formula gives u. Costs a sort, and a chain in each of info->iterations rounds. SUBMOD_INACCURATE:
 * u is not the prox of fn at x, or far from it; the result is usable. SUBMOD_EINVAL,
 * SUBMOD_ENONFINITE, SUBMOD_ENUMERIC, SUBMOD_ECALLBACK, SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_prox_blocks(const submod_fn *fn, const double *x, double lambda,
                                            const double *u, int32_t *block, double *value,
                                            size_t *count, const submod_prox_settings *settings,
                                            submod_prox_info *info, submod_work *work);

/* The result of a prox: what derivatives are taken at. */
typedef struct submod_prox_point {
    size_t n; /* >= 1 */
    double lambda;
    const int32_t *block; /* from submod_prox_blocks */
    const double *u;      /* from submod_prox; needed for by_edge */
    const double *s;      /* from submod_prox; needed for by_lambda */
} submod_prox_point;

/* Derivatives of <v, u>: those that are not NULL are computed. b is v averaged over each block, 0
 * where HELD or FREE. */
typedef struct submod_prox_derivatives {
    double *by_x;       /* n numbers: b; v itself where FREE. May be v */
    double *by_lambda;  /* sum over i of (mean over its block of s) v_i / lambda^2 */
    double *by_modular; /* n numbers: by w in F + w, -b / lambda */
    /* By the weights of a cut that is F, or a term of it with coefficient 1, as given to
     * submod_fn_cut: -(b[tail] - b[head]) / lambda where u[tail] > u[head], the opposite where
     * u[tail] < u[head] unless directed, and 0 elsewhere and within a block. */
    double *by_edge;
    size_t edges;
    const int32_t *tail, *head;
    int directed;
    /* By t at t = 0 in F + t G, G = function, such as a term of a sum; G need not be submodular.
     * -sum over i of b_i g_i / lambda, g the gains of G along the blocks. One chain of G. */
    double *by_function;
    const submod_fn *function;
} submod_prox_derivatives;

/* Computes vector-Jacobian products for a fixed v (n numbers). Outputs may not overlap the inputs,
 * but for by_x; they are unspecified after an error. SUBMOD_EINVAL: NULL where it is needed, n not
 * in [1, 2^31 - 1], lambda not > 0, a block not in [-2, n), an end of an edge not in [0, n), a
 * function of another size. SUBMOD_ENONFINITE: NaN or Inf in u, s, v or lambda. SUBMOD_ENUMERIC:
 * overflow. SUBMOD_ECALLBACK, SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_prox_vjp(const submod_prox_point *point, const double *v,
                                         const submod_prox_derivatives *derivatives,
                                         submod_work *work);

/* ---- minimisation of submodular functions:  min over A of F(A) ----
 *
 * Dual: F(empty) + max over bases s in B(F) of  sum of min(s_i, 0). Every base bounds the minimum
 * from below, so value - dual is a gap that proves how good a set is. The proof holds for
 * submodular F only, which submod_sfm does not check: built-in functions and their combinations are
 * submodular; submod_fn_check examines functions that call user code (submod_fn_custom, custom
 * measures and concave functions, and combinations with one of these). */

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
    submod_sfm_method method; /* SUBMOD_SFM_AUTO */
    /* Min-norm and sum end when gap <= tolerance * (|value| + sum of |s_i|), or when it is below
     * what rounding makes of the values; 1e-10, >= 0. */
    double tolerance;
    int integer_valued;    /* 1: F takes whole numbers only, so a gap < 1 proves optimality */
    size_t max_iterations; /* 0: 100000 */
    double time_limit;     /* seconds; 0: none */
    /* As in submod_prox_settings, for min-norm; the other methods leave them alone. */
    const submod_combination *start;
    submod_combination *combination;
} submod_sfm_settings;

/* The values that stand in the comments of the struct. */
SUBMOD_API submod_sfm_settings submod_sfm_defaults(void);

/* How a minimisation went. */
typedef struct submod_sfm_info {
    submod_sfm_method method; /* the one that was used */
    double value;             /* F of the set returned, by submod_fn_eval */
    double dual;              /* F(empty) + sum of min(s_i, 0): no set of a submodular F is below */
    double gap;               /* value - dual, without the rounding of F(empty) */
    /* 1 means proved optimal. Either all subsets were tried, or F calls no user code and one of
     * these holds: gap <= 0; integer_valued and gap < 1; |s_i| > gap for all i and the set is
     * {s < 0}. */
    int exact;
    /* 1 means proved in the same way, up to the rounding of F's values, that every minimiser lies
     * between smallest and largest. */
    int extremes_proved;
    size_t iterations, minor_cycles; /* of Fujishige-Wolfe; sum: sweeps */
    uint64_t oracle_calls; /* greedy chains, calls of minimize, subsets tried by the search */
    double seconds;        /* taken */
} submod_sfm_info;

/* Writes the smallest and the largest minimiser (n flags each) and a dual base s (n numbers); each
 * output may be NULL. Without s and info, the minimize slot and the exhaustive search compute no
 * base. If extremes_proved is 0, min-norm and sum return the first and the last prefix of the order
 * of s that attain the value, up to rounding; these may be too large and too small.
 *
 * SUBMOD_MAXITER, SUBMOD_TIMELIMIT, SUBMOD_CANCELLED, SUBMOD_INACCURATE: usable, info->gap states
 * how good; the last also if the result shows that F is not submodular. SUBMOD_ECANCELLED:
 * cancelled before there was a set. SUBMOD_EINVAL, SUBMOD_EUNSUPPORTED (the method cannot do this
 * F), SUBMOD_ENUMERIC, SUBMOD_ECALLBACK, SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_sfm(const submod_fn *fn, uint8_t *smallest, uint8_t *largest,
                                    double *s, const submod_sfm_settings *settings,
                                    submod_sfm_info *info, submod_work *work);

/* ---- certificates ---- */

/* What a check found, computed from F's values alone. It is a proof as far as F is submodular, and
 * up to the rounding of these sums. */
typedef struct submod_certificate_report {
    double base_error; /* max |s - b|, b = sum of w_k g(pi_k): how far s is from a certified base */
    double primal;     /* f(u) + lambda/2 |u - x|^2 */
    double dual;       /* of the certified base: <b, x> - |b|^2 / (2 lambda) */
    double gap; /* primal - dual, summed up without cancellation: |u - u*|^2 <= 2 gap / lambda */
    double minimum_bound; /* F(empty) + sum of min(b_i, 0): no set has F(A) below it */
} submod_certificate_report;

/* Checks u and s for  min f(u) + lambda/2 |u - x|^2  against a combination for s. Shares no code
 * with the solvers; costs count + 1 chains of n evaluations. A wrong u shows in the gap, a wrong s
 * in base_error; both with SUBMOD_OK. SUBMOD_EINVAL: NULL, lambda not > 0, orders that are no
 * permutations of F's elements, weights that are negative or do not sum to 1. SUBMOD_ENONFINITE,
 * SUBMOD_ECALLBACK, SUBMOD_ENUMERIC, SUBMOD_ECANCELLED, SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_certificate_check(const submod_fn *fn, const double *x,
                                                  double lambda, const double *u, const double *s,
                                                  const submod_combination *combination,
                                                  submod_certificate_report *report);

#ifdef __cplusplus
}
#endif

#endif
