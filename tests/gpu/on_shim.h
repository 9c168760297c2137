/* Problems on the shim, with sizes that make small problems take every path. */
#ifndef SUBMOD_TESTS_GPU_ON_SHIM_H
#define SUBMOD_TESTS_GPU_ON_SHIM_H

#include "cases.h"
#include "gpu/losses.h"
#include "shim.h"

/* Sanitizers make fibers slow: fewer random problems then. And no mutants, whose crashes they would
 * report. */
#if defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static inline int repeats(int wanted)
{
    return SANITIZED ? wanted / 5 : wanted;
}

submodi_gpu_tuning random_tuning(submod_rng *rng);

/* By the device pipeline on host pointers; context: a submodi_gpu_tuning. */
submod_status on_shim(const batch *d, double *loss, const submod_gradient *g,
                      submod_loss_info *info, const submod_loss_settings *s, const void *tuning);

#endif
