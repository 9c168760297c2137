/* Solvers beside those of optim.h, whose problems, run settings, info and rules about errors they
 * share ("Common to" there):
 *
 *     submod_bcfw               block-coordinate Frank-Wolfe, with its duality gap
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

#ifdef __cplusplus
}
#endif

#endif
