/* The optimisers of study last_layer, and runs of them on one problem. */
#ifndef SUBMOD_STUDY_LAST_LAYER_RUN_H
#define SUBMOD_STUDY_LAST_LAYER_RUN_H

#include "last_layer/problem.h"

enum { LAYER_MOST_EPOCHS = 60 };
enum { LAYER_STEPS = 8, LAYER_LOOKS = 3 }; /* values that are tried */
extern const double layer_power;           /* of the step sizes, which fall as (1 - k/K)^power */

typedef enum layer_rule { LAYER_SGD, LAYER_MOMENTUM, LAYER_ADAM, LAYER_RULES } layer_rule;

typedef enum layer_method {
    BY_SGD,
    BY_MOMENTUM,
    BY_ADAM,
    BY_PROX,
    BY_PROX_MOMENTUM,
    BY_PROX_ADAM,
    BY_PATH,
    LAYER_METHODS
} layer_method;

typedef struct layer_optimiser {
    const char *name;
    layer_direction direction;
    layer_rule rule;
} layer_optimiser;
extern const layer_optimiser layer_methods[LAYER_METHODS];

/* How far prox looks (see layer_problem; 0 without prox), and the first step size. */
typedef struct layer_tuning {
    double eta, look;
} layer_tuning;

/* Images, and what is known of the least J. */
typedef struct layer_task {
    layer_data train, held_out;
    size_t per_batch, epochs; /* of the optimisers, at most LAYER_MOST_EPOCHS */
    double f_star, gap;       /* a lower bound of the least J, and how far below it may lie */
} layer_task;

/* Values at the start and after each epoch. Where a run diverged, J - J* is infinite. */
typedef struct layer_curve {
    double excess[LAYER_MOST_EPOCHS + 1]; /* J - J* */
    double jaccard[LAYER_MOST_EPOCHS + 1], seconds[LAYER_MOST_EPOCHS + 1];
} layer_curve;

/* Finds f_star and gap with the bundle method. These and the next return false after saying why. */
bool layer_minimum(layer_task *t, double tolerance);
/* Minibatches come in an order that the seed decides. */
bool layer_run(const layer_task *t, layer_method method, layer_tuning tuning, uint64_t seed,
               layer_curve *curve);
/* Tries all steps, and all looks where there is a prox: the least J at the end is best. */
bool layer_tune(const layer_task *t, layer_method method, uint64_t seed, layer_tuning *best);

#endif
