/* The contract between the entry (prox.c) and the methods, one per file. */
#ifndef SUBMODI_PROX_SOLVER_H
#define SUBMODI_PROX_SOLVER_H

#include "submod/fn_internal.h"
#include <submod/prox.h>

/* How far u and s are from x and from each other. */
typedef struct submodi_pair_sums {
    double distance; /* lambda |u - x|^2 */
    double residual; /* lambda |u - x + s / lambda|^2 */
    double terms;    /* lambda |x|^2 + |s|^2 / lambda */
    double beyond;   /* hinge: <s, max(u, 0) - u>, as s = 0 wherever they differ */
} submodi_pair_sums;

/* The extension f at some u (hinge: at max(u, 0)), compared with a base s. */
typedef struct submodi_extension {
    bool known;
    double value;  /* f(u) */
    double excess; /* f(u) - <s, u>, summed so that it does not cancel */
    double size;   /* size of the terms of that sum: rounding is relative to it */
    bool measured; /* sums are known, too */
    submodi_pair_sums sums;
} submodi_extension;

/* What an iterative method shows to a caller that decides whether it has enough: the present base s
 * by element and, if the method has a greedy order at hand, that order and the gains along it. The
 * view may be of one part of a problem only: its element i is sequence[begin + i] of the whole. */
typedef struct submodi_view {
    size_t n;
    const double *s;
    const int32_t *order; /* NULL: there is none */
    const double *gains;
    double sigma;            /* the unit of s and gains */
    const int32_t *sequence; /* NULL: 0, 1, .. */
    size_t begin;
    double before;    /* F of the elements in the parts before this one, minus F(empty) */
    double low, high; /* every entry of lambda u lies between them */
} submodi_view;

/* Checked: x finite, lambda > 0, settings in range. */
typedef struct submodi_prox_problem {
    const char *who; /* the public function, for error messages */
    const submod_fn *fn;
    const double *x;
    double lambda;
    const submod_prox_settings *settings;
    /* A method that knows the extension at the final u and s without a sort stores it here. NULL if
     * nobody asks. */
    submodi_extension *extension;
    /* Empty at first. A method that knows s as a combination stores it here. NULL if nobody asks.
     * The caller's own, settings->combination, is only read, because the call may still fail. */
    submod_combination *found;
    /* Ends an iterative method when it returns true. NULL: the gap alone decides. */
    bool (*enough)(void *ctx, const submodi_view *view);
    void *enough_ctx;
} submodi_prox_problem;

/* Fills u and s (never NULL) and the counts in info, which starts at zero. prox.c computes primal,
 * dual and gap from u and s, sets method and time, and turns u and s into those of the hinge.
 * Scratch memory is taken from a scope on work.
 *
 * A method that prox.c calls straight gets the caller's own u and s, which may be NULL. It leaves
 * an extension that is measured, finite, and of the hinge if that is asked for, and it does not
 * fail any more once it begins to write. */
typedef submod_status submodi_prox_solve(const submodi_prox_problem *p, double *u, double *s,
                                         submod_prox_info *info, submod_work *work);

/* Tells the user how far a method has come. */
static inline void submodi_tell_progress(const submod_prox_settings *settings, size_t iterations,
                                         double gap)
{
    if (settings->progress) {
        settings->progress(settings->progress_ctx, iterations, gap);
    }
}

/* The methods: whether one can handle a function, and the method itself. */
bool submodi_can_closed_form(const submod_fn *fn);
submodi_prox_solve submodi_prox_closed_form;
bool submodi_can_cardinality(const submod_fn *fn);
submodi_prox_solve submodi_prox_cardinality;
bool submodi_can_jaccard(const submod_fn *fn);
submodi_prox_solve submodi_prox_jaccard;
bool submodi_can_two_counts(const submod_fn *fn);
submodi_prox_solve submodi_prox_two_counts;
bool submodi_can_chain(const submod_fn *fn);
submodi_prox_solve submodi_prox_chain;
bool submodi_can_sum(const submod_fn *fn);
/* Whether its parts make it easier than the whole; false also when memory runs out. */
bool submodi_sum_is_easier(const submod_fn *fn);
submodi_prox_solve submodi_prox_sum;
bool submodi_can_own(const submod_fn *fn);
submodi_prox_solve submodi_prox_own;
bool submodi_can_cut(const submod_fn *fn);
submodi_prox_solve submodi_prox_cut;
bool submodi_can_decompose(const submod_fn *fn);
submodi_prox_solve submodi_prox_decompose;
bool submodi_can_any(const submod_fn *fn);
submodi_prox_solve submodi_prox_min_norm;
submodi_prox_solve submodi_prox_algorithm2;
submodi_prox_solve submodi_prox_algorithm2_loop;
submodi_prox_solve submodi_prox_algorithm2_printed;

/* For methods that split a problem: the first method that solves a part at one go, or Wolfe's. Sets
 * info->method. */
submodi_prox_solve submodi_prox_by_itself;

#endif
