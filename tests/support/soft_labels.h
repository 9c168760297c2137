/* The metric losses under one signature, and random problems with soft labels for them. */
#ifndef SUBMOD_TESTS_SOFT_LABELS_H
#define SUBMOD_TESTS_SOFT_LABELS_H

#include "baselines.h"

/* The four losses: bit 0 says Dice, bit 1 says product. */
enum { FORMS = 4 };

typedef submod_status metric_call(const submod_scores *scores, const submod_scores *soft_labels,
                                  submod_overlap overlap, double *loss,
                                  const submod_gradient *gradient,
                                  const submod_loss_settings *settings, submod_work *work);

metric_call *metric_of(int form);
submod_overlap overlap_of(int form);

typedef struct soft_problem {
    submod_scores scores, soft;
    submod_loss_settings settings;
} soft_problem;

submod_status run_metric(int form, const soft_problem *p, double *loss, const submod_gradient *g,
                         submod_work *work);

/* Scores as in the other tests of baselines; labels are 0, 1 or between. Class 3 is in the first
 * image only, class 4 nowhere. */
typedef struct soft_instance {
    instance of_scores;
    float y[SIZE];
    float weight[LABELS]; /* of pixels: often 0 in the second image */
} soft_instance;

soft_problem fill_soft(soft_instance *e, submod_rng *rng, bool probabilities);

#endif
