/* What primal-dual methods for  min over x of f(A x) + g(x) + decay/2 |x|^2  share: the map, both
 * functions as oracles, and a bound on the minimum. */
#ifndef SUBMODI_OPTIM_SPLIT_H
#define SUBMODI_OPTIM_SPLIT_H

#include "optim/monitor.h"
#include "optim/planes.h"
#include <submod/solvers.h>

typedef struct submodi_split {
    const char *who;
    size_t rows, columns;
    const submod_map *map;
    submod_problem whole; /* f(A x) + g(x): what the monitor looks at */
    submodi_monitor monitor;
    submodi_oracle f, g; /* g.problem is NULL where g = 0; its decay is that of J */
    const submod_split_settings *settings;
    double *x;                 /* the answer: the caller's */
    double *start;             /* the first x; columns numbers, as all up to slope */
    submodi_plane plane;       /* below f(A x) + g(x), from the last proxes */
    submodi_plane mean;        /* the mean of those planes */
    size_t planes;             /* so many */
    bool measured;             /* the bound or the residuals are asked for */
    double norm;               /* not below |A|; 0: not known */
    double *at_f, *at_g;       /* where the proxes ended: rows, columns numbers, */
    double weight_f, weight_g; /* their weights, that of g with the decay */
    double off_f, off_g;       /* what rounding moves at by, at most: solvers.h */
    double *of_f, *of_g;       /* subgradients there, off by the same times the weight */
    double *point;             /* scratch for proxes: the larger of both */
    size_t steps;              /* so far */
} submodi_split;

/* y = A x, x = A'y. SUBMOD_ECALLBACK, SUBMOD_ENOMEM of callbacks; SUBMOD_ENUMERIC: overflow. */
submod_status submodi_forward(submodi_split *s, const double *x, double *y);
submod_status submodi_adjoint(submodi_split *s, const double *y, double *x);

/* at_f = the prox of f at v (rows numbers) with this weight, of_f = weight (v - at_f). The other
 * does the same for g + decay, where of_g leaves the decay out. v is kept. */
submod_status submodi_split_prox_f(submodi_split *s, const double *v, double weight);
submod_status submodi_split_prox_g(submodi_split *s, const double *v, double weight);

/* Raises the lower bound by the planes of f at at_f and of g at at_g, if there is one, and off_f
 * and off_g by the shares of their subgradients, if measured. of_f_back: A' of_f. */
submod_status submodi_split_bound(submodi_split *s, const double *of_f_back);

/* x <- the new point, or the mean of all points so far. */
void submodi_split_answer(submodi_split *s, const double *point);

/* Runs a method: checks, memory, and what stands at the end. begin gets the work, from which it may
 * take memory; step makes one iteration, calls submodi_split_answer, and leaves the residuals in
 * the monitor's info. length: the step size in the trace. */
typedef struct submodi_split_method {
    const char *who;
    submod_status (*begin)(submodi_split *s, void *state, submod_work *work);
    submod_status (*step)(submodi_split *s, void *state);
    double (*length)(const void *state);
} submodi_split_method;

submod_status submodi_split_run(const submodi_split_method *method, void *state,
                                const submod_problem *f, const submod_map *map,
                                const submod_problem *g, double *x,
                                const submod_split_settings *settings, submod_optim_info *info,
                                submod_work *work);

#endif
