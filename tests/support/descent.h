/* Runs of gradient descent that keep their trace. */
#ifndef SUBMOD_TESTS_DESCENT_H
#define SUBMOD_TESTS_DESCENT_H

#include <submod.h>

typedef struct record {
    submod_trace lines[200];
    size_t count, stop_at; /* stop_at: the iteration that ends the run */
} record;

/* Constant steps, 100 iterations, all of them recorded in r, which is emptied first. */
submod_descent_settings settings_of(double eta, record *r);
/* Gradient descent from x. */
submod_status run(const submod_problem *p, double *x, const submod_descent_settings *s,
                  submod_optim_info *info);

#endif
