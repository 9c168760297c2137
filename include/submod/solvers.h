/* Solvers beside those of optim.h, whose problems, run settings, info and rules about errors they
 * share ("Common to" there):
 *
 *     submod_bcfw               block-coordinate Frank-Wolfe, with its duality gap
 *     submod_problem_smoothed   Nesterov smoothing, for submod_fista and all who want gradients
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
    size_t struct_size; /* set by the defaults: base.h, structs that grow */
    /* weight_decay > 0 is required. tolerance 1e-6: ends when gap <= tolerance, where J is
     * evaluated. An iteration is a pass: as many steps as there are minibatches. */
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
 * raises the bound most. The first planes are those at x. No step size, and the bound never falls:
 *     J(x) - info->gap = info->lower_bound <= J(y)   for all y, up to rounding.
 * Theorem 2 of Lacoste-Julien, Jaggi, Schmidt and Pletscher (2013): with |subgradients| <= G, after
 * k steps in random order
 *     E[J* - bound_k] <= 2 m / (k + 2 m) (4 G^2 / (decay m) + J* - bound_0)
 * and E[gap] <= 6 m / (k + 1) (the same bracket) at some step up to k, or with average at k itself.
 * For m = 1 there is no chance in it, and both hold as they are.
 * gradient_norm in the trace is how far s has moved in the last pass; step is the mean of that
 * pass's line searches, in [0, 1]; both 0 at first. SUBMOD_INACCURATE: a pass in which nothing
 * moved. Uses (m + 5) n numbers of memory. SUBMOD_EINVAL also: settings is NULL, for the defaults
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

#ifdef __cplusplus
}
#endif

#endif
