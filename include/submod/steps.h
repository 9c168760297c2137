/* Step rules and schedules: how far a run of submod_descend (optim.h) goes along its directions.
 *
 *     gd, momentum, nesterov, adam      the usual ones
 *     adagrad                           steps from the squares of all gradients so far
 *     averaged                          around any of these
 *
 * Where a rule follows a theorem, it stands with it. There f is convex, u is any point (a minimiser
 * above all), x_0 the start, g_j the subgradient of iteration j, and G is not below any |g_j|. The
 * theorems hold for f plus weight decay too, and for minibatches in expectation. */
#ifndef SUBMOD_STEPS_H
#define SUBMOD_STEPS_H

#include <submod/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- step rules ----
 *
 * Each holds its own vectors for dimension n. *step is to be freed.
 * SUBMOD_EINVAL: step is NULL, n = 0, a setting out of range. SUBMOD_ENOMEM. */
/* A step rule with its memory of past directions. */
typedef struct submod_step submod_step;

/* x <- x - eta g. The best of x_0 .. x_k has, whatever the step sizes,
 *     f(best) - f(u) <= (|x_0 - u|^2 + G^2 sum of eta_j^2) / (2 sum of eta_j)
 * and Polyak's, with eta = 1, f(best) - min f <= G |x_0 - u| / sqrt(k + 1). For L-Lipschitz
 * gradients and constant eta <= 1 / L the last point has f(x_k) - f(u) <= |x_0 - u|^2 / (eta (4 k +
 * 2)), u a minimiser (Drori and Teboulle 2014). By the prox direction it has |x_0 - u|^2 / (2 eta
 * k), for any eta without smooth part (Gueler 1991), else for eta <= 1 / L (Beck and Teboulle
 * 2009). */
SUBMOD_API submod_status submod_step_gd(size_t n, submod_step **step);
/* v <- alpha v + g,  x <- x - eta v: the paper's form. 0 <= alpha < 1; v = 0 at the start. The mean
 * of x_0 .. x_k, averaged with power 0, has for constant eta f(mean) - f(u) <= m / (k + 1) + noise,
 *     m = (1 - alpha) |x_0 - u|^2 / (2 eta) + alpha / (1 - alpha) (f(x_0) - f(x_k)),
 *     noise = eta G^2 / (2 (1 - alpha))
 * and no noise for L-Lipschitz gradients and eta <= (1 - alpha) / L (Ghadimi, Feyzmahdavian and
 * Johansson 2015). */
SUBMOD_API submod_status submod_step_momentum(size_t n, double alpha, submod_step **step);
/* v <- alpha v + g,  x <- x - eta (g + alpha v): Nesterov's, where x is the point looked ahead to,
 * so that the gradient is wanted at x and nowhere else. 0 <= alpha < 1. As momentum, with
 * noise = eta G^2 (1 + 2 alpha) / (2 (1 - alpha)). It is accelerated where f has strong convexity
 * mu and L-Lipschitz gradients: with eta = 1 / L, q = sqrt(mu / L) and alpha = (1 - q) / (1 + q)
 * (Nesterov 2004, Section 2.2)
 *     f(x_k - eta g_k) - f(u) <= (1 - q)^(k + 1) (f(x_0) - f(u) + mu/2 |x_0 - u|^2) */
SUBMOD_API submod_status submod_step_nesterov(size_t n, double alpha, submod_step **step);

/* Settings of submod_step_adam. */
typedef struct submod_adam_settings {
    double beta1;   /* 0.9, in [0, 1) */
    double beta2;   /* 0.999, in [0, 1) */
    double epsilon; /* 1e-8, > 0 */
    /* AdamW: x <- (1 - eta decay) x before each step, apart from the gradients. 0; >= 0. This is
     * not the weight_decay of the objective, which goes through the gradients. */
    double decay;
} submod_adam_settings;

/* The values that stand in the comments of the struct. */
SUBMOD_API submod_adam_settings submod_adam_defaults(void);
/* m <- beta1 m + (1 - beta1) g,  v <- beta2 v + (1 - beta2) g^2,
 * x <- x - eta (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon),  t = 1, 2, ..
 * No rate holds for all convex f and minibatches (Reddi, Kale and Kumar 2018). With beta1 = 0,
 * constant eta, L-Lipschitz gradients, f convex or not, and M >= |entries of g_j|, after k steps
 *     mean of |g_j|^2 <= (M + epsilon) ((f(x_0) - min f) / (eta k) + n L eta / (2 (1 - beta2)))
 * which is Theorem 2 of Defossez, Bottou, Bach and Usunier (2022) without chance. */
SUBMOD_API submod_status submod_step_adam(size_t n, submod_step **step,
                                          const submod_adam_settings *settings);

/* AdaGrad, a step size for each coordinate (Duchi, Hazan and Singer 2011, Theorem 5):
 *     s <- sqrt(sum of all g^2 so far),  x <- x - eta g / (s + epsilon)
 * epsilon >= 0, finite; with 0 steps do not depend on the scale of f, and a coordinate whose
 * gradients were all 0 stays. The mean of x_0 .. x_k, averaged with power 0, has for constant eta
 *     f(mean) - f(u) <= (D^2 / (2 eta) sum of (s_i + epsilon) + eta sum of s_i) / (k + 1)
 * where s includes g_k and D is the largest |x_j - u|_inf. eta = D / sqrt 2 is best. */
SUBMOD_API submod_status submod_step_adagrad(size_t n, double epsilon, submod_step **step);
/* inner, whose answer is now the average of x_0 .. x_k with weights that grow as j^power: 0 is the
 * mean, larger ones forget the start (Shamir and Zhang 2013, polynomial-decay averaging; weights
 * are 1, 2, 3, .. for 1). x itself moves as it does without.
 * For submod_step_gd and constant eta the mean has
 *     f(mean) - f(u) <= |x_0 - u|^2 / (2 eta (k + 1)) + eta G^2 / 2
 * For f with strong convexity mu, such as weight decay, power 1 and eta_k = 2 / (mu (k + 2)), that
 * is SUBMOD_SCHEDULE_INVERSE with eta = 1 / mu and period 2 (Lacoste-Julien, Schmidt, Bach 2012),
 *     f(average) - f(u) <= 2 G^2 / (mu (k + 2))
 * inner is taken over and reset: neither use nor free it any more. On failure it is yours as
 * before. SUBMOD_EINVAL also: inner is NULL, power is negative or not finite. */
SUBMOD_API submod_status submod_step_averaged(submod_step *inner, double power, submod_step **step);

/* One step: x (n numbers) moves along the direction g, with step size eta > 0.
 * SUBMOD_EINVAL: NULL, eta not > 0. SUBMOD_ENONFINITE: NaN or Inf in eta, g or x: the rule is as
 * before. SUBMOD_ENUMERIC: the step overflows; x is as before, the rule has to be reset. */
SUBMOD_API submod_status submod_step_apply(submod_step *step, double eta, const double *g,
                                           double *x);
/* The point that the rule answers with when it has led to x: an average or, for most rules and
 * before the first step, x itself. answer: n numbers; may be x. SUBMOD_EINVAL: NULL. */
SUBMOD_API submod_status submod_step_answer(const submod_step *step, const double *x,
                                            double *answer);
/* As new: forgets all gradients. Accepts NULL. */
SUBMOD_API void submod_step_reset(submod_step *step);
/* Frees inner rules, too. Accepts NULL. */
SUBMOD_API void submod_step_free(submod_step *step);

/* ---- schedules: the step size eta_k of iteration k = 0, 1, .. ---- */

/* The formula of a schedule. */
typedef enum submod_schedule_kind {
    SUBMOD_SCHEDULE_CONSTANT = 0,     /* eta */
    SUBMOD_SCHEDULE_STEP = 1,         /* eta factor^floor(k / period) */
    SUBMOD_SCHEDULE_EXPONENTIAL = 2,  /* eta factor^(k / period) */
    SUBMOD_SCHEDULE_POLY = 3,         /* eta (1 - k / period)^power, 0 from k = period on */
    SUBMOD_SCHEDULE_INVERSE_SQRT = 4, /* eta / sqrt(1 + k / period) */
    /* eta (J(x) - f_star) / |g|^2, in submod_descend with the full batch, subgradients and f_star
     * known; eta < 2 (Polyak: 1). */
    SUBMOD_SCHEDULE_POLYAK = 5,
    SUBMOD_SCHEDULE_INVERSE = 6 /* eta / (1 + k / period) */
} submod_schedule_kind;

/* A formula and its numbers. */
typedef struct submod_schedule {
    submod_schedule_kind kind; /* which formula */
    double eta;                /* > 0 */
    double factor;             /* STEP, EXPONENTIAL: in (0, 1] */
    double power;              /* POLY: > 0; 0 means 0.9, as in the paper */
    size_t period;             /* in iterations; 0 means 1, but is refused for POLY */
} submod_schedule;

/* eta for ever. */
SUBMOD_API submod_schedule submod_schedule_constant(double eta);
/* SUBMOD_EINVAL or SUBMOD_ENONFINITE, with an error message, for NULL and settings out of range. */
SUBMOD_API submod_status submod_schedule_check(const submod_schedule *schedule);
/* eta_k; NaN for a schedule that does not pass the check, and for Polyak's, which depends on the
 * point. May underflow to 0. */
SUBMOD_API double submod_schedule_eta(const submod_schedule *schedule, size_t k);

#ifdef __cplusplus
}
#endif

#endif
