/* The baseline losses under one signature, and random problems for them. */
#ifndef SUBMOD_TESTS_BASELINES_H
#define SUBMOD_TESTS_BASELINES_H

#include <stdbool.h>
#include <submod.h>

typedef struct problem {
    submod_scores scores;
    submod_labels labels;
    submod_loss_settings settings;
} problem;

typedef submod_status call(const problem *p, double *loss, const submod_gradient *g,
                           submod_work *work);

enum { CROSS_ENTROPY, HINGE, RAHMAN_WANG, DICE, JACCARD, KINDS };

extern call *const calls[KINDS];

/* One score per pixel. */
bool is_binary(int kind);

enum { B = 3, C = 5, N = 37, SIZE = B * C * N, LABELS = B * N, IGNORED = 255 };

typedef struct instance {
    size_t classes;
    float x[SIZE];
    double exact[SIZE]; /* the same numbers */
    int32_t label[LABELS];
    double weight[C];
} instance;

/* Random scores, labels and weights; class 3 is in the first image only, class 4 nowhere. */
void fill(instance *e, int kind, submod_rng *rng, bool probabilities);
problem problem_of(const instance *e);
/* With the default settings. */
problem problem_with(submod_scores scores, submod_labels labels);

/* The loss and the gradient of p, whatever its strides, as a dense array. */
double evaluate(int kind, const problem *p, float *dense);

#endif
