/* A problem as the optimisers see it: J = f + decay/2 |x|^2, every answer checked and counted. */
#ifndef SUBMODI_OPTIM_ORACLE_H
#define SUBMODI_OPTIM_ORACLE_H

#include <submod/optim.h>

typedef struct submodi_oracle {
    const submod_problem *problem;
    double decay;
    size_t iteration; /* for error messages */
    submod_optim_info *info;
    double *scratch; /* n numbers: the gradient, where there is no callback for the value alone */
} submodi_oracle;

/* Refuses NULL and a problem without dimension or subgradient. */
submod_status submodi_problem_check(const submod_problem *problem);

/* Judges the status of a callback and the n numbers that it wrote. */
submod_status submodi_oracle_judge(const submodi_oracle *o, const char *callback, int status,
                                   const double *x, size_t n);

/* J(x). This and the next fail with SUBMOD_ECALLBACK or SUBMOD_ENOMEM and an error message. */
submod_status submodi_oracle_value(submodi_oracle *o, const double *x, double *value);
/* J and a subgradient of it, on a minibatch. */
submod_status submodi_oracle_gradient(submodi_oracle *o, size_t batch, const double *x,
                                      double *value, double *g);
/* Converts *value from f(x) to J(x). Returns SUBMOD_ECALLBACK if J overflows. */
submod_status submodi_oracle_add_decay(const submodi_oracle *o, const double *x, double *value);
/* Returns a bound on the rounding error of value - <g, x>, a plane's height at 0:
 * (n + 2) DBL_EPSILON (|value| + sum of |g_i x_i|). One half covers the subtraction and the scalar
 * product; the other half is the error that the callback's value may have (optim.h). */
double submodi_plane_error(size_t n, const double *x, double value, const double *g);
/* Computes the plane <g, .> + offset with this value at x, and lowers it by its rounding error
 * (*error), so that it lies below the function. Returns SUBMOD_ENUMERIC on overflow. */
submod_status submodi_oracle_offset(const submodi_oracle *o, const double *x, double value,
                                    const double *g, double *offset, double *error);
/* Evaluates f and a subgradient, without the decay, and computes the plane below f that they
 * define. Fails as the functions above, and with SUBMOD_ENUMERIC if the plane overflows. */
submod_status submodi_oracle_plane(submodi_oracle *o, size_t batch, const double *x, double *value,
                                   double *g, double *offset, double *error);
/* The smooth part and its gradient, without the decay; 0 if the problem has none. */
submod_status submodi_oracle_smooth(submodi_oracle *o, size_t batch, const double *x, double *value,
                                    double *g);
/* u = the prox of h + decay/2 |u|^2 at x; overwrites x. SUBMOD_ENUMERIC if x or lambda has
 * overflowed. */
submod_status submodi_oracle_prox(submodi_oracle *o, size_t batch, double *x, double lambda,
                                  double *u);
/* d = lambda (x - u), for SUBMOD_DIRECTION_PROX. point: n numbers of scratch. */
submod_status submodi_oracle_direction(submodi_oracle *o, size_t batch, const double *x,
                                       double lambda, double *point, double *d);

double submodi_norm(const double *x, size_t n);
double submodi_dot(const double *x, const double *y, size_t n);

#endif
