/* Solvers beside those of optim.h, whose problems, run settings, info and rules about errors they
 * share ("Common to" there):
 *
 *     submod_bcfw               block-coordinate Frank-Wolfe, with its duality gap
 *     submod_problem_smoothed   Nesterov smoothing, for submod_fista and all who want gradients
 *     submod_problem_composed   f(A x) + g(x), for all the others
 *     submod_primal_dual        the same by Chambolle and Pock, from the proxes of f and g
 *
 * Each follows a theorem, which stands with it. There J* is the minimum of J, x* a point that has
 * it, and x_0 the start. */
#ifndef SUBMOD_SOLVERS_H
#define SUBMOD_SOLVERS_H

#include <submod/optim.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- block-coordinate Frank-Wolfe ---- */
/* Settings of submod_bcfw. */
typedef struct submod_bcfw_settings {
    /* weight_decay > 0 is required. tolerance 1e-6: ends when gap <= tolerance, where J is
     * evaluated. An iteration is a pass: as many steps as there are minibatches, fewer only where
     * time_limit or the cancel flag cuts the last one short. */
    submod_run_settings run;
    /* SUBMOD_BATCH_SHUFFLED. SUBMOD_BATCH_RANDOM is what the theorem is about. SUBMOD_BATCH_FULL is
     * Frank-Wolfe without blocks, one step a pass. */
    submod_batch_order order;
    uint64_t seed; /* 1, of the order */
    /* 1: x is the average of the w of all steps, with weights 1, 2, 3, ..; 0: the last w. */
    int average;
} submod_bcfw_settings;

/* The values that stand in the comments of the struct; there is no weight decay yet. */
SUBMOD_API submod_bcfw_settings submod_bcfw_defaults(void);

/* For f = mean of m convex f_k, of which each has a plane <s_k, .> + b_k below it. With their mean
 * <s, .> + b, J >= b - |s|^2 / (2 decay), and w = -s / decay is where that is attained. A step asks
 * for the subgradient of one f_k at w, and moves the plane of f_k towards the new one, as far as
 * raises the bound most. The first planes are taken at x. If x is so far away that their rounding
 * errors exceed the tolerance and hide half of the bound's digits, planes at w replace them, at the
 * cost of one more subgradient of each f_k. No step size, and the bound never falls:
 *     J(x) - info->gap = info->lower_bound <= J(y)   for all y.
 * Theorem 2 of Lacoste-Julien, Jaggi, Schmidt and Pletscher (2013): with |subgradients| <= G, after
 * k steps in random order
 *     E[J* - bound_k] <= 2 m / (k + 2 m) (4 G^2 / (decay m) + J* - bound_0)
 * and E[gap] <= 6 m / (k + 1) (the same bracket) at some step up to k, or with average at k itself.
 * For m = 1 there is no chance in it, and both hold as they are.
 * gradient_norm in the trace is how far s has moved in the last pass; step is the mean of that
 * pass's line searches, in [0, 1]; both 0 at first. SUBMOD_INACCURATE: a pass in which nothing
 * moved. Uses (m + 6) n numbers of memory. SUBMOD_EINVAL also: settings is NULL, for the defaults
 * have no weight decay; weight_decay = 0; an unknown order. SUBMOD_ENUMERIC also: w overflows. */
SUBMOD_API submod_status submod_bcfw(const submod_problem *problem, double *x,
                                     const submod_bcfw_settings *settings, submod_optim_info *info,
                                     submod_work *work);

/* ---- smoothing ---- */
/* *out = the problem with the Moreau envelope e(x) = min over u of h(u) + lambda/2 |u - x|^2 in
 * place of h, by the problem's prox: a problem that is smooth all through, where h = 0 is left for
 * the prox. With minibatches it is the mean of their envelopes, of which each has a prox of its
 * own. For convex h with |h(x) - h(y)| <= L |x - y| h(x) - L^2 / (2 lambda) <= e(x) <= h(x) and the
 * gradient lambda (x - u) of e is lambda-Lipschitz. So without smooth part and weight decay
 * submod_fista with lipschitz = lambda and no restarts has, by Theorem 4.4 of Beck and Teboulle
 * (2009), for R = |x_0 - x*|
 *     f(x_k) - f(x*) <= 2 lambda R^2 / (k + 1)^2 + L^2 / (2 lambda)
 * and 2 L R / (K + 1) at k = K with lambda = L (K + 1) / (2 R): the 1/k of Nesterov (2005), where
 * subgradients have 1/sqrt(k). For an accuracy eps: lambda = L^2 / eps and 2 L R / eps iterations.
 *
 * Values of J are now those of the envelope; for a point x of the run f(x) is the problem's own
 * business. A prox that is not exact gives values above e. Runs count a gradient where a prox is
 * made. The table *problem is copied, its ctx is borrowed: it must outlive *out, which is to be
 * cleared. metric is passed on.
 * SUBMOD_EINVAL: NULL, a problem without prox, lambda not > 0. SUBMOD_ENONFINITE: lambda is NaN or
 * Inf. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_problem_smoothed(const submod_problem *problem, double lambda,
                                                 submod_problem *out);

/* ---- splitting: minimise J(x) = f(A x) + g(x) + weight_decay/2 |x|^2 ---- */
/* A linear map from R^columns to R^rows: a matrix, or callbacks. */
typedef struct submod_map {
    size_t rows, columns; /* >= 1 */
    const double *matrix; /* rows x columns, row by row; borrowed. NULL: the callbacks */
    void *ctx;            /* handed to the callbacks */
    /* y = A x, with the statuses of problems' callbacks. Not used with a matrix. */
    submod_status (*forward)(void *ctx, const double *x, double *y);
    /* x = A'y, likewise. */
    submod_status (*adjoint)(void *ctx, const double *y, double *x);
} submod_map;

/* *out = f(A x) + g(x), with value, subgradient and the minibatches of f; g counts in full in each.
 * f: a problem in rows variables. g: one in columns variables, or NULL for 0. Tables are copied;
 * matrix and all ctx are borrowed, and must outlive *out, which is to be cleared.
 * Values and subgradients have the rounding errors of A x and A's. Where rows of A cancel in A's,
 * these errors may exceed the accuracy that lower_bound needs (optim.h): a bound may then be above
 * the minimum. A bound above a value that was evaluated ends the run with SUBMOD_INACCURATE.
 * SUBMOD_EINVAL: NULL for f, map or out; no rows or columns, or too many to be
 * addressed; neither matrix nor both callbacks; dimensions that do not fit. SUBMOD_ENONFINITE: NaN
 * or Inf in the matrix. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_problem_composed(const submod_problem *f, const submod_map *map,
                                                 const submod_problem *g, submod_problem *out);

/* Settings of submod_primal_dual. */
typedef struct submod_split_settings {
    /* gradient_tolerance: of both residuals, unless average. tolerance (1e-6): of the gap, if there
     * is a bound. */
    submod_run_settings run;
    /* The step tau of x; that of y is 1 / (tau norm^2). 0: 1 / norm. >= 0. */
    double step;
    /* Not below |A|: for the steps, and for what rounding does to the bound. 0:
     * sqrt(|A|_1 |A|_inf) or the Frobenius norm, whichever is smaller; must be given for callbacks.
     * >= 0. */
    double norm;
    /* As in submod_bundle: without weight decay lower_bound is one on J in |y - start| <= radius.
     * 0: then there is no bound. >= 0. */
    double radius;
    int average; /* 1: x is the mean of all points, which the theorem is about; 0: the last */
} submod_split_settings;

/* The values that stand in the comments of the struct. */
SUBMOD_API submod_split_settings submod_split_defaults(void);

/* The primal-dual method of Chambolle and Pock (2011, Algorithm 1 with theta = 1), from y = 0:
 *     y <- prox of sigma f* at y + sigma A (2 x - x before),   x <- prox of tau g at x - tau A'y
 * Needs the proxes of f and g; full batches. Theorem 1: with tau sigma |A|^2 <= 1, convex f and g,
 * |subgradients of f| <= L, and average,
 *     J(x_k) - J* <= (|x_0 - x*|^2 / (2 tau) + L^2 / (2 sigma)) / k
 *
 * Residuals: info->primal_residual = |r|, info->dual_residual = |q| with r in A'y + dg(x), g with
 * decay, and q in df*(y) - A x, of the last x and y (not of the mean): where both are 0, x is a
 * minimum. gradient_norm in the trace is the larger one, Inf at first; step is tau.
 * lower_bound: proxes give subgradients s of f at A-side points and t of g, hence planes below
 * both; as in submod_bundle they bound J everywhere (weight_decay > 0) or within radius. Takes a
 * subgradient of f and of g in each iteration.
 * Both come from weight (v - prox of v), and with steps that are far too short or too long that is
 * mostly rounding. A prox u of v is trusted to be off by no more than 4096 DBL_EPSILON times
 * (1 + |v| + |u| + |subgradient at u| / weight), about what submod_prox_max_affine calls SUBMOD_OK.
 * What that can do is taken off the bound and added to both residuals, so that with steps like
 * 1e-300 they say nothing. The subgradients are those of the bound; where gradient_tolerance alone
 * asks, they are taken for it, and where nobody does, the residuals go without that last term.
 *
 * SUBMOD_EINVAL also: as submod_problem_composed; no prox in f or g, or a smooth part beside it;
 * callbacks without norm; a step that does not go with norm in double precision. */
SUBMOD_API submod_status submod_primal_dual(const submod_problem *f, const submod_map *map,
                                            const submod_problem *g, double *x,
                                            const submod_split_settings *settings,
                                            submod_optim_info *info, submod_work *work);

#ifdef __cplusplus
}
#endif

#endif
