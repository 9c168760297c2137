/* Problems on the shim, with sizes that make small problems take every path. */
#ifndef SUBMOD_TESTS_GPU_ON_SHIM_H
#define SUBMOD_TESTS_GPU_ON_SHIM_H

#include "cases.h"
#include "depth.h"
#include "gpu/losses.h"
#include "shim.h"

/* Runs `well` in a process of its own, because a broken kernel may do anything, and returns its
 * answer; false if it crashed. Not under sanitizers, which would report the crash. */
bool is_well_in_a_child(bool (*well)(void));

submodi_gpu_tuning random_tuning(submod_rng *rng);

/* The schedule of this number: one order after the other, and other random ones. */
void set_order(int number);

/* As the public functions start. */
submod_status start_task(submodi_gpu_task *task, kind k, const submod_scores *scores,
                         const submod_labels *labels, const submod_loss_settings *s);

/* Runs a started task by the device pipeline, on host memory; the workspace starts as rubbish. */
submod_status queue_on_shim(submodi_gpu_task *task, submod_gpu_result *r, const submod_gradient *to,
                            const submodi_gpu_tuning *t);

/* A problem of few classes next to each other in memory (channels last), of scores, of gradients or
 * of both by number: whether the results are the CPU's. */
bool rows_are_right(submod_rng *rng, int number);

/* Runs an example by queue_on_shim; a runner for compare. tuning is a submodi_gpu_tuning. */
submod_status on_shim(const example *d, double *loss, const submod_gradient *g,
                      submod_loss_info *info, const submod_loss_settings *s, const void *tuning);

#endif
