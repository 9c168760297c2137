/* The nu problem of the paper's supplement, min max(0, nu x1, x2), and paths of optimisers on it.
 */
#ifndef SUBMOD_STUDY_NU_H
#define SUBMOD_STUDY_NU_H

#include "common/study.h"

enum { NU_POINTS = 20001 }; /* most points of a path */

typedef struct nu_path {
    size_t count;
    double x[NU_POINTS][2], f[NU_POINTS];
} nu_path;

typedef struct nu_method {
    const char *name;
    submod_direction direction;
    bool has_momentum; /* alpha is used */
    submod_status (*make)(double alpha, submod_step **step);
} nu_method;

enum { NU_GD, NU_MOMENTUM, NU_NESTEROV, NU_ADAM, NU_PROX, NU_METHODS };
extern const nu_method nu_methods[NU_METHODS];

/* The path from start until f = 0 or max_iterations. False after saying why not. */
bool nu_walk(const nu_method *method, double nu, double eta, double alpha, const double *start,
             size_t max_iterations, nu_path *path);

typedef struct nu_measure {
    size_t crossings;      /* sign changes of nu x1 - x2, where f > 0 */
    size_t away;           /* most steps in a row that lead away from the ridge after a crossing */
    double detour;         /* length of the path over the distance between its ends */
    double to_1e3, to_1e6; /* iterations until f <= 1e-3, 1e-6; NaN: not reached */
} nu_measure;

nu_measure nu_measure_path(const nu_path *path, double nu);

/* The steepest descent along the ridge: minus the shortest vector between (nu, 0) and (0, 1). */
void nu_best_direction(double nu, double *d);

#endif
