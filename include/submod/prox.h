/* Proximal operators of Lovász extensions, minimisation of submodular functions, and certificates.
 *
 *     u = argmin over u of  f(u) + lambda/2 |u - x|^2,      f the Lovász extension of F,
 *     s = argmin over s in B(F) of  |s - lambda x|^2,       u = x - s / lambda at the optimum.
 *
 * Every method returns both, with  primal = f(u) + lambda/2 |u - x|^2  and
 * dual = <s, x> - |s|^2 / (2 lambda)  computed from the u and s that it returns. The gap
 * primal - dual bounds the error:  |u - u*|^2 <= 2 gap / lambda. This is a proof if s is in the
 * base polytope B(F). The methods guarantee that up to the rounding of lambda x, also for cuts with
 * weights of any size; submod_certificate_check verifies it independently of the solver. */
#ifndef SUBMOD_PROX_H
#define SUBMOD_PROX_H

#include <submod/function.h>
#include <submod/loss.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A base s = sum over k of w_k g(pi_k): the mean of the greedy vectors g of orders pi_k, with
 * weights w_k >= 0 that sum to 1. Anyone can verify it, since a greedy vector is n evaluations of
 * F. */
typedef struct submod_combination {
    size_t n, count;
    int32_t *orders; /* count x n, row-major */
    double *weights; /* count */
} submod_combination;

/* Frees orders and weights that the library has allocated, and sets all fields to 0. NULL is
 * allowed. */
SUBMOD_API void submod_combination_free(submod_combination *combination);

/* How a prox is computed. */
typedef enum submod_prox_method {
    SUBMOD_PROX_AUTO = 0,          /* the first of 1 .. 6 and 8 .. 10 that suits F best */
    SUBMOD_PROX_CLOSED_FORM = 1,   /* modular, Hamming: s is F itself */
    SUBMOD_PROX_CARDINALITY = 2,   /* F(A) = h(|A|) + w(A): one sort, pool adjacent violators */
    SUBMOD_PROX_JACCARD = 3,       /* exact, O(n log n): a sort, then linear passes */
    SUBMOD_PROX_CHAIN = 4,         /* cut of a path (1-D total variation): O(n) */
    SUBMOD_PROX_DECOMPOSITION = 5, /* F with a minimize slot: exact divide and conquer */
    SUBMOD_PROX_MIN_NORM = 6,      /* any F: Fujishige-Wolfe */
    /* Algorithm 2 of the paper's supplement, repaired, by isotonic regression in O(n log n). Not
     * always optimal. */
    SUBMOD_PROX_ALGORITHM_2 = 7,
    /* Combinations. Modular terms, cuts and equal losses are joined first. A single term that
     * remains is solved by its own method, which info names. Several terms are solved by projecting
     * on their base polytopes in turn, or by active sets if one is a cut; their bases are the
     * certificate. */
    SUBMOD_PROX_SUM = 8,
    /* The function's own prox slot. If F contradicts its result, another method takes over, which
     * info names. */
    SUBMOD_PROX_OWN = 9,
    SUBMOD_PROX_TWO_COUNTS = 10, /* measures of two counts (function.h): exact, a sort and greedy
                                    paths along the sorted pixels */
    SUBMOD_PROX_ALGORITHM_2_LOOP = 11,   /* method 7 as the repaired listing, O(n) per edge */
    SUBMOD_PROX_ALGORITHM_2_PRINTED = 12 /* the listing as printed, which may go uphill */
} submod_prox_method;

/* The largest number of bins of the setting accuracy. */
#define SUBMOD_PROX_BINS_MAX (1 << 22)

/* Settings of submod_prox. */
typedef struct submod_prox_settings {
    submod_prox_method method; /* SUBMOD_PROX_AUTO */
    /* 1 computes the prox of f(max(u, 0)), as in the Lovász hinge; F must be monotone. s is then in
     * { s >= 0, s(A) <= F(A) }; the other formulas still hold. */
    int hinge;
    /* 1e-10, >= 0. Iterative methods end with SUBMOD_OK when
     * gap <= tolerance * (lambda |x|^2 + |s|^2 / lambda) / 2,  the size of the terms that cancel in
     * it, or when the gap is below its rounding error. */
    double tolerance;
    /* 0 means exact. If > 0, methods 3 and 10 count x in bins of twice this width instead of
     * sorting it, in O(n + K log K) for K <= SUBMOD_PROX_BINS_MAX bins, and |u - prox| <=
     * info->error <= accuracy in every entry. Other methods ignore it. */
    double accuracy;
    size_t max_iterations; /* of an iterative method; 0 means 100000 */
    double time_limit;     /* seconds; 0 means none */
    /* The start of an iterative method, with weights >= 0 of any sum and orders from any x, lambda
     * or F. NULL, count = 0 or another n mean no start. May be the same struct as combination. */
    const submod_combination *start;
    /* Receives s as a combination from Fujishige-Wolfe; other methods empty it, and errors leave it
     * untouched. Its old content, which is freed, must be {0} or come from the library. With the
     * hinge it describes the base from which s was cut down. May be NULL. */
    submod_combination *combination;
    /* Is called from the calling thread each time an iterative method has computed its gap, with
     * the iterations so far and the gap (Fujishige-Wolfe: of the present part). It may call
     * submod_set_poll. May be NULL. */
    void (*progress)(void *ctx, size_t iterations, double gap);
    void *progress_ctx; /* passed to progress */
} submod_prox_settings;

/* Returns the defaults: the values in the struct's comments, 0 or NULL elsewhere. */
SUBMOD_API submod_prox_settings submod_prox_defaults(void);

/* The outcome of a prox. */
typedef struct submod_prox_info {
    submod_prox_method method; /* the method that was used */
    double primal, dual, gap;  /* the objectives at u and at s (head of prox.h); primal - dual */
    size_t iterations;     /* major cycles of Wolfe, blocks of a decomposition, sweeps of a sum */
    size_t minor_cycles;   /* of Wolfe */
    uint64_t oracle_calls; /* greedy chains, or calls of minimize or prox */
    uint64_t work;         /* elements visited by a decomposition, flows solved by a sum */
    double seconds;        /* elapsed time */
    double error;          /* with accuracy, a bound of |u - prox| in all entries; else 0 */
} submod_prox_info;

/* Computes u and s (n numbers each) at x (n finite numbers) for lambda > 0. u, s and info may be
 * NULL; they may not overlap x or each other. After an error info is untouched, u and s are
 * unspecified. Statuses >= 0 come with a result: SUBMOD_MAXITER, SUBMOD_TIMELIMIT and
 * SUBMOD_CANCELLED if the method stopped early, SUBMOD_INACCURATE if the gap is above the tolerance
 * (for exact methods 1e-10, if that is more) or below 0, or info->error above accuracy: F is not
 * submodular, the method is not exact, or double precision is not enough. Errors: SUBMOD_EINVAL,
 * also if the hinge meets an F that is not monotone; SUBMOD_EUNSUPPORTED if the method cannot
 * handle F, or for too many bins; SUBMOD_ENUMERIC on overflow; SUBMOD_ENONFINITE, SUBMOD_ECALLBACK,
 * SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_prox(const submod_fn *fn, const double *x, double lambda, double *u,
                                     double *s, const submod_prox_settings *settings,
                                     submod_prox_info *info, submod_work *work);

/* Weighted points: point k is multiplicity[k] > 0 pixels of one value and label. Multiplicities may
 * be fractions. */
typedef struct submod_points {
    size_t count;
    const double *value;
    const uint8_t *foreground; /* 0 or not */
    const double *multiplicity;
} submod_points;

/* Computes the exact prox of a measure (measure.h; NULL means Jaccard) on weighted points,
 *
 *     u = argmin over u of  f(u) + lambda/2 sum of w_k (u_k - x_k)^2,      w = multiplicity,
 *
 * f the extension of F with counts that are sums of w. u and s (count numbers each) are per pixel
 * of a point: u = x - s / lambda, and w s is a base. u, s and info may be NULL; they may not
 * overlap the inputs. Custom measures are not checked (submod_measure_check). Returns the errors of
 * submod_prox, and SUBMOD_ENUMERIC if the sum of w overflows or one w is below 2^-52 of the sum of
 * its label. */
SUBMOD_API submod_status submod_prox_points(const submod_points *points,
                                            const submod_measure *measure, double lambda, double *u,
                                            double *s, submod_prox_info *info, submod_work *work);

/* Computes  u = argmin over u of  max_j (<a_j, u> + b_j) + lambda/2 |u - x|^2  exactly, by an
 * active-set method on its dual, with weights w >= 0 that sum to 1 and u = x - A' w / lambda. a is
 * m x n, row-major; rows may be duplicates or linearly dependent. Outputs may be NULL and may not
 * overlap the inputs: u (n numbers), weights (m numbers; on entry the start, >= 0 of any sum, all 0
 * for none) and info (iterations counts active sets, oracle_calls passes over all rows; method is
 * SUBMOD_PROX_AUTO). SUBMOD_MAXITER, SUBMOD_INACCURATE and SUBMOD_CANCELLED come with a usable
 * result of accuracy info->gap. Errors: SUBMOD_EINVAL (m or n is 0, NULL, lambda <= 0, a negative
 * weight), SUBMOD_ENONFINITE, SUBMOD_ENUMERIC (lambda x, lambda b or the result overflows),
 * SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_prox_max_affine(size_t m, size_t n, const double *a,
                                                const double *b, const double *x, double lambda,
                                                double *u, double *weights, submod_prox_info *info,
                                                submod_work *work);

/* Computes the Lovász hinge as a layer for training (paper, supplement, proximal gradient
 * algorithm). Each group's scores x move to prox(x) = argmin over z of hinge(z) + lambda/2 |z -
 * x|^2, and direction, lambda (x - prox(x)) / groups, replaces the gradient. A group is an image,
 * or the batch if settings->per_image = 0. Only these settings are used: per_image, has_ignore,
 * ignore_index and measure; from prox_settings method (exact, or an Algorithm 2), max_iterations
 * and time_limit. Ignored pixels do not move. prox may be the scores; prox, direction and info may
 * be NULL, and are unspecified after an error. SUBMOD_EUNSUPPORTED means pixel_weights or another
 * method, SUBMOD_ENUMERIC overflow, also of a float output; other errors as in loss.h. Results do
 * not depend on the number of threads. */
SUBMOD_API submod_status submod_prox_hinge_layer(const submod_scores *scores,
                                                 const submod_labels *labels, double lambda,
                                                 const submod_gradient *prox,
                                                 const submod_gradient *direction,
                                                 const submod_loss_settings *settings,
                                                 const submod_prox_settings *prox_settings,
                                                 submod_prox_info *info, submod_work *work);

/* ---- derivatives ----
 *
 * u is constant on blocks. Elements of one value form a block, or several where F, given all
 * elements of larger values, is a sum of functions of disjoint sets of them. On a block C, S all
 * larger, u_C = mean of x over C - (F(S + C) - F(S)) / (lambda |C|), and small changes of x, lambda
 * and F keep the blocks together, so all derivatives follow from this formula (docs/mathematics.md,
 * section 6, also for points without a derivative). With the hinge, u_i = x_i where x_i < 0, and
 * small changes do not move u_i where x_i >= 0 and u_i = 0. */

/* Used in place of block numbers, only with the hinge. */
typedef enum submod_no_block {
    SUBMOD_BLOCK_HELD = -1, /* the hinge holds the element at 0 */
    SUBMOD_BLOCK_FREE = -2  /* the element is below the hinge: u_i = x_i */
} submod_no_block;

/* Finds the blocks of u, the prox of fn at x. block (n numbers) receives block numbers, from 0 for
 * the highest value, or a submod_no_block; value (room for n) receives the values of the *count
 * blocks by the formula above, more exact than an approximate u. Only settings->hinge is used.
 * info->error is the largest difference between u and the values. Outputs may be NULL and may not
 * overlap x or u. Entries of u count as equal up to the smallest tolerance for which the formula
 * reproduces u. Costs a sort, and a chain in each of info->iterations rounds. SUBMOD_INACCURATE
 * means that u is not the prox of fn at x, or far from it; the result is usable. Errors:
 * SUBMOD_EINVAL, SUBMOD_ENONFINITE, SUBMOD_ENUMERIC, SUBMOD_ECALLBACK, SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_prox_blocks(const submod_fn *fn, const double *x, double lambda,
                                            const double *u, int32_t *block, double *value,
                                            size_t *count, const submod_prox_settings *settings,
                                            submod_prox_info *info, submod_work *work);

/* The result of a prox, at which derivatives are taken. */
typedef struct submod_prox_point {
    size_t n; /* >= 1 */
    double lambda;
    const int32_t *block; /* from submod_prox_blocks */
    const double *u;      /* from submod_prox; needed for by_edge */
    const double *s;      /* from submod_prox; needed for by_lambda */
} submod_prox_point;

/* Derivatives of <v, u>; NULL leaves one out. b is v averaged over each block, 0 where HELD or
 * FREE.
 */
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

/* Computes vector-Jacobian products for a fixed v (n numbers). Outputs other than by_x may not
 * overlap the inputs; they are unspecified after an error. SUBMOD_EINVAL means that a required
 * pointer is NULL, n not in [1, 2^31 - 1], lambda <= 0, a block not in [-2, n), an end of an edge
 * not in [0, n), or a function of another size. SUBMOD_ENONFINITE means NaN or Inf in u, s, v or
 * lambda. Also SUBMOD_ENUMERIC, SUBMOD_ECALLBACK, SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_prox_vjp(const submod_prox_point *point, const double *v,
                                         const submod_prox_derivatives *derivatives,
                                         submod_work *work);

/* ---- minimisation of submodular functions:  min over A of F(A) ----
 *
 * The dual is  F(empty) + max over bases s in B(F) of  sum of min(s_i, 0).  Every base bounds the
 * minimum from below, so value - dual proves how good a set is, for submodular F only. Built-in
 * functions and their combinations are submodular; submod_sfm does not check others
 * (submod_fn_check). */

/* How the minimum is found. */
typedef enum submod_sfm_method {
    /* The minimize slot if there is one, else all subsets if F calls user code and n <= 10, else
     * sum or min-norm. All subsets take 2^n evaluations of F, min-norm 50 to 80 for n = 10; choose
     * min-norm where evaluations are expensive. */
    SUBMOD_SFM_AUTO = 0,
    SUBMOD_SFM_MINIMIZER = 1, /* the function's own minimize slot */
    SUBMOD_SFM_MIN_NORM = 2,  /* Fujishige-Wolfe: the best prefix of all greedy orders seen */
    /* All subsets, n <= SUBMOD_EXHAUSTIVE_MAX: 2^n evaluations of F, and 2^n numbers of memory. If
     * the search takes more than half of time_limit, min-norm replaces it and uses the rest. */
    SUBMOD_SFM_EXHAUSTIVE = 3,
    SUBMOD_SFM_SUM = 4 /* combinations: SUBMOD_PROX_SUM, and the best prefix of the orders of its
                        * bases */
} submod_sfm_method;

/* Settings of submod_sfm. */
typedef struct submod_sfm_settings {
    submod_sfm_method method; /* SUBMOD_SFM_AUTO */
    /* 1e-10, >= 0. Min-norm and sum end when gap <= tolerance * (|value| + sum of |s_i|), or when
     * it is below the rounding error of the values. */
    double tolerance;
    int integer_valued;    /* 1 means that F is integer, so that a gap < 1 proves optimality */
    size_t max_iterations; /* 0 means 100000 */
    double time_limit;     /* seconds; 0 means none */
    /* As in submod_prox_settings, for min-norm; other methods ignore them. */
    const submod_combination *start;
    submod_combination *combination;
} submod_sfm_settings;

/* Returns the defaults: the values in the struct's comments, 0 or NULL elsewhere. */
SUBMOD_API submod_sfm_settings submod_sfm_defaults(void);

/* The outcome of a minimisation. */
typedef struct submod_sfm_info {
    submod_sfm_method method; /* the method that was used */
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
    size_t iterations, minor_cycles; /* of Fujishige-Wolfe, or sweeps of a sum */
    uint64_t oracle_calls; /* greedy chains, calls of minimize, subsets tried by the search */
    double seconds;        /* elapsed time */
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

/* The findings of a check, from values of F alone: a proof if F is submodular, up to the rounding
 * of these sums. */
typedef struct submod_certificate_report {
    double base_error; /* max |s - b|, b = sum of w_k g(pi_k): how far s is from a certified base */
    double primal;     /* f(u) + lambda/2 |u - x|^2 */
    double dual;       /* of the certified base: <b, x> - |b|^2 / (2 lambda) */
    double gap; /* primal - dual, summed up without cancellation: |u - u*|^2 <= 2 gap / lambda */
    double minimum_bound; /* F(empty) + sum of min(b_i, 0): no set has F(A) below it */
} submod_certificate_report;

/* Checks u and s for  min f(u) + lambda/2 |u - x|^2  against a combination for s. Shares no code
 * with the solvers; costs count + 1 chains of n evaluations. A wrong u shows in the gap, a wrong s
 * in base_error, both with SUBMOD_OK. SUBMOD_EINVAL means NULL, lambda <= 0, orders that are no
 * permutations of F's elements, or weights that are negative or do not sum to 1. Also
 * SUBMOD_ENONFINITE, SUBMOD_ECALLBACK, SUBMOD_ENUMERIC, SUBMOD_ECANCELLED, SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_certificate_check(const submod_fn *fn, const double *x,
                                                  double lambda, const double *u, const double *s,
                                                  const submod_combination *combination,
                                                  submod_certificate_report *report);

#ifdef __cplusplus
}
#endif

#endif
