/* Optimisers for piecewise-linear (and other) objectives,
 *
 *     minimise  J(x) = f(x) + weight_decay/2 |x|^2      over x in R^n.
 *
 * Three things meet here: a problem (a table of callbacks that says what f is), a step rule (which
 * only ever sees directions), and a run, which asks the one, drives the other, and stops. What is
 * called
 *
 *     gradient descent, SGD     submod_descend with submod_step_gd
 *     momentum, Nesterov, Adam, AdaGrad, averages of iterates
 *                               submod_descend with that step rule: steps.h
 *     Polyak's subgradient      submod_descend, SUBMOD_SCHEDULE_POLYAK
 *     proximal point            submod_descend, SUBMOD_DIRECTION_PROX and submod_step_gd
 *     proximal gradient         the same on a problem with a smooth part
 *     the paper's modified      submod_descend, SUBMOD_DIRECTION_PROX with any step rule
 *       backpropagation
 *     FISTA                     submod_fista
 *     BMRM, proximal bundle     submod_bundle: a minimum with a certified gap, to compare with
 *     block-coordinate Frank-Wolfe, smoothing, primal-dual: solvers.h
 *
 * Nothing here is thread safe per object: one run, one step rule, one problem at a time. Results do
 * not depend on the number of threads if the callbacks' do not. */
#ifndef SUBMOD_OPTIM_H
#define SUBMOD_OPTIM_H

#include <submod/base.h>
#include <submod/steps.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- problems ----
 *
 * f may be split in two, f = smooth + h, where h has a prox: then fill smooth and prox. Without
 * smooth, prox is that of f itself. Only subgradient is required; each method says what it needs.
 *
 * f is also a mean over minibatches, f = mean of f_k: callbacks get the number k of a minibatch, or
 * SUBMOD_FULL_BATCH for f itself. With batches <= 1 they only ever get SUBMOD_FULL_BATCH.
 *
 * Callbacks return SUBMOD_OK, or SUBMOD_TIMELIMIT, SUBMOD_MAXITER, SUBMOD_INACCURATE or
 * SUBMOD_CANCELLED for a result that is usable all the same. SUBMOD_ENOMEM is handed on. Any other
 * value, and NaN or Inf in what they write, ends the run with SUBMOD_ECALLBACK. x is finite,
 * outputs never overlap it. */
/* In place of the number of a minibatch: f itself. */
#define SUBMOD_FULL_BATCH SIZE_MAX

/* An objective, as a table of callbacks: optim.h, problems. */
typedef struct submod_problem {
    size_t dimension; /* n >= 1 */
    size_t batches;   /* number of minibatches; 0 is the same as 1 */
    void *ctx;        /* handed to the callbacks */

    /* g = a subgradient of the batch at x, *value = its value there. */
    submod_status (*subgradient)(void *ctx, size_t batch, const double *x, double *value,
                                 double *g);
    /* *value = f(x). Optional: the same from subgradient, which may cost more. */
    submod_status (*value)(void *ctx, const double *x, double *value);
    /* u = argmin over u of h(u) + lambda/2 |u - x|^2, lambda > 0. Optional. */
    submod_status (*prox)(void *ctx, size_t batch, const double *x, double lambda, double *u);
    /* The smooth part and its gradient, like subgradient. Optional: 0. */
    submod_status (*smooth)(void *ctx, size_t batch, const double *x, double *value, double *g);
    /* What SUBMOD_DIRECTION_PROX takes for a direction, where that is not made from prox: a network
     * whose loss layer sends back lambda (s - prox(s)) for its scores s in place of the gradient.
     * Should equal the gradient where the loss is linear. Optional. */
    submod_status (*direction)(void *ctx, size_t batch, const double *x, double lambda, double *d);
    /* Any number of interest, for the trace. Optional. */
    submod_status (*metric)(void *ctx, const double *x, double *metric);
    /* Frees ctx. Optional; called by submod_problem_clear. */
    void (*destroy)(void *ctx);
} submod_problem;

/* Calls destroy, if there is one, and sets *problem to zero. Accepts NULL and a cleared problem. */
SUBMOD_API void submod_problem_clear(submod_problem *problem);

/* f(x) = max over j < m of <a_j, x> + b_j, with all callbacks: value, subgradient (the mean of the
 * a_j where the maximum is attained, so that their order does not matter), prox (by
 * submod_prox_max_affine). a: m rows of n numbers, b: m numbers, or NULL for zeros; both are
 * copied. Fills *problem, which is to be cleared. SUBMOD_EINVAL: NULL, m = 0, n = 0.
 * SUBMOD_ENONFINITE: NaN or Inf. SUBMOD_ENOMEM. */
SUBMOD_API submod_status submod_problem_max_affine(size_t m, size_t n, const double *a,
                                                   const double *b, submod_problem *problem);

/* ---- what all runs share: when to stop, what to tell ---- */

/* One line of the trace, about the point x that iteration k starts from; with a step rule that
 * answers with another point (steps.h), about that one. */
typedef struct submod_trace {
    size_t iteration;     /* k */
    const double *x;      /* borrowed during the call */
    double f;             /* J(x) */
    double gradient_norm; /* |direction|, at the point where it was taken */
    double step;          /* the step size to be taken from x; 0 at the last point */
    double seconds; /* since the start, without the time spent in metric and trace callbacks */
    double metric;  /* the problem's; NaN without one */
} submod_trace;

/* Why a run ended. */
typedef enum submod_stop {
    SUBMOD_STOP_NONE = 0,       /* did not start: bad arguments */
    SUBMOD_STOP_ITERATIONS = 1, /* max_iterations done */
    SUBMOD_STOP_TIME = 2,       /* time_limit */
    SUBMOD_STOP_TARGET = 3,     /* J - f_star <= tolerance, or gap <= tolerance where certified */
    SUBMOD_STOP_GRADIENT = 4,   /* |direction| <= gradient_tolerance */
    SUBMOD_STOP_CALLBACK = 5,   /* the trace callback said so */
    SUBMOD_STOP_STALLED = 6,    /* no further progress in double precision, or a contradiction */
    SUBMOD_STOP_FAILURE = 7,    /* NaN, Inf, a failing callback, overflow, no memory */
    SUBMOD_STOP_CANCELLED = 8   /* the callback of submod_set_poll */
} submod_stop;

/* When to stop, and what to tell on the way. */
typedef struct submod_run_settings {
    size_t max_iterations;     /* 1000; 0: evaluates J once */
    double time_limit;         /* seconds; 0: none */
    double f_star;             /* the minimum of J, or what is to be reached; NaN: not known */
    double tolerance;          /* 0: stops at J - f_star <= tolerance, where J is evaluated; >= 0 */
    double gradient_tolerance; /* 0: stops at |direction| <= it, full batches only; >= 0 */
    double weight_decay;       /* 0; >= 0 */
    int keep_best; /* 1: x is the best of the points where J was evaluated; 0: the last */
    /* J is evaluated, and the trace called, at every trace_every-th iteration and at the last one.
     * 1; 0: at the last only. */
    size_t trace_every;
    int (*trace)(void *ctx, const submod_trace *line); /* not 0: stop. May be NULL */
    void *trace_ctx;                                   /* handed to trace */
} submod_run_settings;

/* How a run went. */
typedef struct submod_optim_info {
    submod_stop stop;     /* why it ended */
    size_t iterations;    /* steps taken */
    double f;             /* J at the x that is handed back; NaN when it was never evaluated */
    double gradient_norm; /* of the last direction */
    double lower_bound;   /* at most the minimum, from methods that certify; else -Inf */
    double gap;           /* f - lower_bound, >= 0; Inf where f is NaN */
    uint64_t values, gradients, proxes; /* calls of the callbacks; a direction counts as a prox */
    size_t planes;                      /* submod_bundle: in use at the end */
    double seconds;                     /* without the time spent in metric and trace callbacks */
    double primal_residual, dual_residual; /* solvers.h, splitting; else NaN */
} submod_optim_info;

/* lower_bound and gap allow for rounding errors in double precision. lower_bound is at most the
 * minimum, provided that the callbacks are accurate enough: a value f(x) returned with the
 * subgradient g is off by at most (n/2 + 1) DBL_EPSILON (|f(x)| + sum of |g_i x_i|), as for sums of
 * n terms, and g by at most DBL_EPSILON |g|. With weight decay, a bound that exceeds a value of J
 * by more than rounding proves that f is not convex or that a callback is less accurate. If the
 * excess is also above the tolerance, the run ends with SUBMOD_INACCURATE and SUBMOD_STOP_STALLED,
 * and submod_last_error() states it; callbacks in single precision need a tolerance above their
 * rounding errors. lower_bound is never above a value of J that was evaluated; it is lowered to
 * that value if need be.
 *
 * Common to submod_descend, submod_fista, submod_bundle, and solvers.h. problem is borrowed. x: n
 * finite numbers, the start; afterwards what was found. info and work may be NULL.
 *
 * SUBMOD_OK: a tolerance was met, the trace callback stopped the run, or all iterations were done
 * where no tolerance was asked for. SUBMOD_MAXITER: all done, none met. SUBMOD_TIMELIMIT,
 * SUBMOD_CANCELLED. SUBMOD_INACCURATE: stalled, or the bound contradicts a value. With all five x
 * is usable.
 *
 * Errors before the first iteration leave x and info untouched: SUBMOD_EINVAL for NULL, callbacks
 * that the method needs and the problem lacks, settings out of range; SUBMOD_ENONFINITE for NaN or
 * Inf in x or the settings (f_star apart); SUBMOD_ENOMEM.
 * Errors during the run fill info and leave in x the last point where everything was finite (with
 * keep_best: the best): SUBMOD_ECALLBACK for NaN or Inf of a callback, such as when the iterates
 * diverge, or its failure; SUBMOD_ENUMERIC for a step or direction that overflows; SUBMOD_ENOMEM.
 */

/* ---- descent by a step rule ---- */
/* What a step rule is driven by. */
typedef enum submod_direction {
    SUBMOD_DIRECTION_SUBGRADIENT = 0, /* the gradient, or a subgradient */
    /* lambda (x - u), u the prox of J at x; on a linear piece it equals the gradient. With a smooth
     * part u = prox of h + decay at x - (gradient of smooth at x) / lambda. */
    SUBMOD_DIRECTION_PROX = 1
} submod_direction;

/* Which minibatch an iteration looks at. */
typedef enum submod_batch_order {
    SUBMOD_BATCH_FULL = 0,     /* no minibatches */
    SUBMOD_BATCH_CYCLIC = 1,   /* one after the other, again and again */
    SUBMOD_BATCH_SHUFFLED = 2, /* each epoch in its own random order */
    SUBMOD_BATCH_RANDOM = 3    /* each drawn at random, whatever came before */
} submod_batch_order;

/* Settings of submod_descend. */
typedef struct submod_descent_settings {
    submod_run_settings run;    /* when to stop */
    submod_schedule schedule;   /* step sizes; has no default */
    submod_direction direction; /* SUBMOD_DIRECTION_SUBGRADIENT */
    /* Of SUBMOD_DIRECTION_PROX. 0: 1/eta_k, with which a plain step lands on the prox itself. */
    double lambda;
    submod_batch_order order; /* SUBMOD_BATCH_FULL */
    uint64_t seed;            /* of the shuffling */
} submod_descent_settings;

/* No schedule yet: set at least schedule, for example to submod_schedule_constant(0.1). */
SUBMOD_API submod_descent_settings submod_descent_defaults(void);

/* x <- step(x, direction of batch k), k = 0, 1, .. step is driven as it is, reset it before a new
 * run. Iterations whose step size is 0 leave x and the rule alone.
 * A step rule with an answer of its own (submod_step_answer): directions are taken at x; J, trace,
 * keep_best and the point handed back are about the answer, where J takes one more value each time.
 * Only a run that ends by gradient_tolerance hands back the point with that direction.
 * SUBMOD_EINVAL also when settings is NULL (a step size has no default), and when the dimensions of
 * problem and step differ. */
SUBMOD_API submod_status submod_descend(const submod_problem *problem, submod_step *step, double *x,
                                        const submod_descent_settings *settings,
                                        submod_optim_info *info, submod_work *work);

/* ---- FISTA ---- */
/* Settings of submod_fista. */
typedef struct submod_fista_settings {
    submod_run_settings run; /* when to stop */
    /* Of the gradient of smooth: where the search starts; 1; > 0. It doubles until
     * smooth(u) <= smooth(y) + <gradient, u - y> + L/2 |u - y|^2, and never shrinks. Without a
     * smooth part it is simply the weight of the prox. */
    double lipschitz;
    int restart; /* 1: momentum starts anew when it points uphill; 0: never */
} submod_fista_settings;

/* The values that stand in the comments of the struct. */
SUBMOD_API submod_fista_settings submod_fista_defaults(void);

/* Accelerated proximal gradient (Beck and Teboulle), for convex smooth + h with a prox: J - min J
 * falls as 1/k^2. gradient_norm in the trace is L max(|y - u|, |x - u|), u the prox of the
 * extrapolated point y; step is 1/L.
 * Needs prox; uses full batches. */
SUBMOD_API submod_status submod_fista(const submod_problem *problem, double *x,
                                      const submod_fista_settings *settings,
                                      submod_optim_info *info, submod_work *work);

/* ---- the bundle method: a minimum with a certificate ---- */
/* Settings of submod_bundle. */
typedef struct submod_bundle_settings {
    /* tolerance 1e-6: ends when gap <= tolerance. x only ever moves to better points, and not for
     * less than a tenth of what the planes promise: keep_best changes nothing. */
    submod_run_settings run;
    /* Without weight decay a bound on the minimum needs to know where to look: it is then one on
     * the minimum of f over |y - start| <= radius. > 0, required if weight_decay = 0. */
    double radius;
    /* Planes kept; beyond that inactive ones are dropped, or active ones merged. 100; >= 3. With
     * fewer than n + 2 a run may need very many iterations, or stall far from the tolerance. */
    size_t max_planes;
    /* Weight of lambda/2 |u - best point|^2 in the first step, adapted on the way; 0: such that the
     * step has the length of radius, or 1 without one. >= 0. */
    double lambda;
    /* 1: plain BMRM, lambda = 0 throughout; needs weight_decay > 0. From the start 0, and with
     * |subgradients of f| <= G, gap <= 8 G^2 / (weight_decay (k + 2)) after k iterations, as in
     * Teo, Vishwanathan, Smola and Le (2010). The less there is of weight decay, the
     * slower: a mean hinge in 30 variables with 1e-4 took 1100 iterations to a gap of 1e-6, 80 with
     * the proximal term. 0. */
    int bmrm;
} submod_bundle_settings;

/* The values that stand in the comments of the struct. */
SUBMOD_API submod_bundle_settings submod_bundle_defaults(void);

/* For convex f. Lower-bounds f by planes f(u) + <g, . - u> and minimises
 *     max over planes + weight_decay/2 |u|^2 + lambda/2 |u - x|^2
 * by submod_prox_max_affine, until info->gap = J(x) - info->lower_bound <= tolerance. The bound
 * comes from the multipliers themselves, so it holds however accurately that problem was solved:
 *     J(x) - gap <= J(y)   for all y, or for all |y - start| <= radius without weight decay.
 * The gap is 0 if x has left that ball and is better than anything in it. gradient_norm in
 * the trace is that of the subgradient at x; step is 1 / (lambda + weight_decay). A problem that is
 * not convex makes the bound meaningless. SUBMOD_EINVAL also when settings is NULL, for the
 * defaults have neither weight decay nor radius. SUBMOD_INACCURATE: no further progress, by
 * double precision or for want of planes; info->gap holds all the same. */
SUBMOD_API submod_status submod_bundle(const submod_problem *problem, double *x,
                                       const submod_bundle_settings *settings,
                                       submod_optim_info *info, submod_work *work);

#ifdef __cplusplus
}
#endif

#endif
