/* What a contender of bench-losses works on: one kind of data, with room for its gradient. */
#ifndef BENCH_LOSSES_TASK_H
#define BENCH_LOSSES_TASK_H

#include "losses/options.h"

/* Random, trained and confident data: scores at random, and lifted by 3 and by 12 at the labels. */
enum { KINDS = 3 };

typedef struct task {
    const char *kind;
    batch data;
    float *memory;
    submod_scores scores;
    submod_labels labels;
    float *weight; /* of the pixels, at random, between 0 and 2 */
    submod_pixel_weights weights;
    submod_gradient gradient;
    submod_work *work;
    int threads;
    size_t workspace; /* of the last call that tells */
} task;

task task_make(const options *o, int kind);
void task_free(task *t);
void task_use_threads(task *t, int threads);

#endif
