/* A problem as the optimisers see it: J = f + decay/2 |x|^2, every answer checked and counted. */
#ifndef SUBMODI_OPTIM_ORACLE_H
#define SUBMODI_OPTIM_ORACLE_H

#include <submod/optim.h>

typedef struct submodi_oracle {
    const char *who; /* the public function, for words */
    const submod_problem *problem;
    double decay;
    size_t iteration; /* for words */
    submod_optim_info *info;
    double *scratch; /* n numbers, for a value without a callback for it */
} submodi_oracle;

/* Refuses NULL, tables of unknown size, and a problem without dimension or subgradient. */
submod_status submodi_problem_check(const char *who, const submod_problem *problem);

/* What to make of the status of a callback and the n numbers it wrote. */
submod_status submodi_oracle_judge(const submodi_oracle *o, const char *callback, int status,
                                   const double *x, size_t n);

/* Each fails with SUBMOD_ECALLBACK or SUBMOD_ENOMEM, in words. */
submod_status submodi_oracle_value(submodi_oracle *o, const double *x, double *value);
submod_status submodi_oracle_gradient(submodi_oracle *o, size_t batch, const double *x,
                                      double *value, double *g);
/* Without the decay; 0 where the problem has no smooth part. */
submod_status submodi_oracle_smooth(submodi_oracle *o, size_t batch, const double *x, double *value,
                                    double *g);
/* Of h + decay/2 |u|^2; overwrites x. SUBMOD_ENUMERIC if x or lambda has overflowed. */
submod_status submodi_oracle_prox(submodi_oracle *o, size_t batch, double *x, double lambda,
                                  double *u);
/* lambda (x - u) of SUBMOD_DIRECTION_PROX. point: n numbers of scratch. */
submod_status submodi_oracle_direction(submodi_oracle *o, size_t batch, const double *x,
                                       double lambda, double *point, double *d);

double submodi_norm(const double *x, size_t n);
double submodi_dot(const double *x, const double *y, size_t n);

#endif
