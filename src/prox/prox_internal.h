/* Declarations that the proximal methods share: the problem, the methods, the objectives of a
 * result, isotonic regression and Algorithm 2. */
#ifndef SUBMODI_PROX_INTERNAL_H
#define SUBMODI_PROX_INTERNAL_H

#include <float.h>
#include <math.h>

#include "submod/fn_internal.h"
#include <submod/prox.h>

/* The extension f at u (with the hinge, at max(u, 0)), compared with a base s. */
typedef struct submodi_extension {
    bool known;
    double value;  /* f(u) */
    double excess; /* f(u) - <s, u>, summed so that it does not cancel */
    double size;   /* size of the terms of that sum: rounding is relative to it */
} submodi_extension;

/* The argument of `enough`: an iterative method's present base s and, if it has one, a greedy order
 * with its gains. Element i is sequence[begin + i] of the whole problem. */
typedef struct submodi_view {
    size_t n;
    const double *s;
    const int32_t *order; /* or NULL */
    const double *gains;
    double sigma;            /* the unit of s and gains */
    const int32_t *sequence; /* NULL means 0, 1, .. */
    size_t begin;
    double before;    /* F of the elements in the parts before this one, minus F(empty) */
    double low, high; /* every entry of lambda u lies between them */
} submodi_view;

/* A checked problem: x is finite, lambda > 0, and settings are in range. */
typedef struct submodi_prox_problem {
    const submod_fn *fn;
    const double *x;
    double lambda;
    const submod_prox_settings *settings;
    /* Receives the extension at the final u and s (of the hinge if it is set) from methods that
     * compute it without a sort. NULL if not needed. */
    submodi_extension *extension;
    /* Receives s as a combination from a method that has one; empty at first. NULL if it is not
     * needed. settings->combination is only read, since the call may still fail. */
    submod_combination *found;
    /* Ends an iterative method when it returns true. NULL means that the gap alone decides. */
    bool (*enough)(void *ctx, const submodi_view *view);
    void *enough_ctx;
} submodi_prox_problem;

/* Whether a method can handle a function. */
typedef bool submodi_prox_can(const submod_fn *fn);

/* A method: fills u and s (never NULL) and the counts in info, which starts at zero. prox.c
 * composes the result with the hinge, computes primal, dual and gap, and sets method and time. */
typedef submod_status submodi_prox_solve(const submodi_prox_problem *p, double *u, double *s,
                                         submod_prox_info *info, submod_work *work);

submodi_prox_can submodi_can_closed_form, submodi_can_cardinality, submodi_can_own,
    submodi_can_own_in_sum, submodi_can_jaccard, submodi_can_two_counts, submodi_can_chain,
    submodi_can_sum, submodi_can_cut, submodi_can_decompose, submodi_can_any;
submodi_prox_solve submodi_prox_closed_form, submodi_prox_cardinality, submodi_prox_own,
    submodi_prox_counts, submodi_prox_chain, submodi_prox_sum, submodi_prox_cut,
    submodi_prox_decompose, submodi_prox_min_norm, submodi_prox_algorithm2;

/* Returns whether a sum is easier to solve by its terms; false also when memory runs out. */
submodi_prox_can submodi_sum_is_easier;

/* The first method but SUM that can handle a function; sets info->method. */
submodi_prox_solve submodi_prox_by_itself;

/* Calls the progress callback. */
static inline void submodi_tell_progress(const submod_prox_settings *settings, size_t iterations,
                                         double gap)
{
    if (settings->progress) {
        settings->progress(settings->progress_ctx, iterations, gap);
    }
}

/* ---- combinations under construction ---- */

/* Checks a user's combination: weights >= 0, not all 0, and orders that are permutations. */
submod_status submodi_combination_check(const submod_combination *c);
/* Allocates *new, to be filled and then moved to where it belongs. */
submod_status submodi_combination_alloc(size_t n, size_t count, submod_combination *new);
/* Frees the content of *to and moves that of *from there; *from is then empty. */
void submodi_combination_move(submod_combination *to, submod_combination *from);

/* ---- the objectives of u and s ---- */

/* Computes the extension at u, compared with s, by a sort and a chain, for a cut by its edges. Of p
 * only fn, lambda and settings->hinge are read. */
submod_status submodi_extension_at(const submodi_prox_problem *p, const double *u, const double *s,
                                   submodi_extension *f, submod_work *work);

/* Arguments and results of a prox with n entries of these weights; NULL means ones. */
typedef struct submodi_prox_result {
    size_t n;
    const double *x, *weight;
    double lambda;
    bool hinge;
    const double *u, *s;
} submodi_prox_result;

/* Fills primal, dual and gap of info, and *terms with the size of the terms that cancel in the gap.
 * Returns SUBMOD_ENUMERIC on overflow. */
submod_status submodi_prox_objectives(const submodi_prox_result *r, const submodi_extension *f,
                                      submod_prox_info *info, double *terms);

/* Turns u and s of f at x into those of f(max(u, 0)), F monotone (docs/mathematics.md, section 6).
 */
static inline void submodi_compose_with_hinge(double x, double lambda, double *u, double *s)
{
    double largest = lambda * (x > 0 ? x : 0);
    double least = x < 0 ? x : 0;
    double positive = *s > 0 ? *s : 0;
    *s = positive < largest ? positive : largest;
    *u = *u > least ? *u : least;
}

/* ---- isotonic regression (isotonic.c) ---- */

/* A block of entries that share one value: the mean of x - g / lambda over it. */
typedef struct submodi_pool {
    size_t begin; /* the block ends where the next one begins */
    double x, g;  /* means */
    double weight;
} submodi_pool;

/* Adds an entry to a list of blocks: merges it with those before it that do not lie above it.
 * Returns the new number of blocks. Compares mean x - mean g / lambda, times lambda, so that a
 * small g still decides between equal x. */
static inline size_t submodi_pool_add(submodi_pool *pools, size_t count, submodi_pool last,
                                      double lambda)
{
    for (; count; count--) {
        const submodi_pool *before = &pools[count - 1];
        if (!(lambda * (before->x - last.x) <= before->g - last.g)) {
            break;
        }
        double share = before->weight / (before->weight + last.weight);
        last.x += share * (before->x - last.x);
        last.g += share * (before->g - last.g);
        last.weight += before->weight;
        last.begin = before->begin;
    }
    pools[count] = last;
    return count + 1;
}

/* Finds the best falling sequence: minimises the sum of g_i u_i + lambda/2 (u_i - x_i)^2 subject to
 * u_0 >= u_1 >= .. >= u_n-1; s = lambda (x - u). pools: scratch memory for n. u may be x, s may be
 * g. O(n). */
void submodi_isotonic(size_t n, const double *x, const double *g, double lambda,
                      submodi_pool *pools, double *u, double *s);

/* Returns the value u of a block of k entries with the mean g, and writes s = lambda (x - u),
 * computed with x relative to its first entry, so that it does not cancel for large lambda. */
double submodi_block_level(size_t k, const double *x, double g, double lambda, double *s);

/* ---- Algorithm 2 ---- */

static inline bool submodi_is_algorithm2(submod_prox_method method)
{
    return method == SUBMOD_PROX_ALGORITHM_2 || method == SUBMOD_PROX_ALGORITHM_2_LOOP ||
           method == SUBMOD_PROX_ALGORITHM_2_PRINTED;
}

/* Runs the method of p->settings: u, d = lambda (x - u), which does not cancel, and
 * info->iterations, the edges passed; of ALGORITHM_2 the distinct entries of u. Returns
 * SUBMOD_MAXITER, SUBMOD_TIMELIMIT or SUBMOD_CANCELLED with the u reached. */
submod_status submodi_algorithm2(const submodi_prox_problem *p, double deadline, double *u,
                                 double *d, submod_prox_info *info, submod_work *work);

#endif
