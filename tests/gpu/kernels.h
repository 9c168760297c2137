/* The kernels of backend.h on fibers, compiled from their source. */
#ifndef SUBMOD_TESTS_GPU_KERNELS_H
#define SUBMOD_TESTS_GPU_KERNELS_H

#include "gpu/backend.h"

/* NULL, or what is wrong. */
const char *kernels_run(submodi_gpu_kernel kernel, uint32_t blocks, uint32_t threads, size_t shared,
                        const submodi_gpu_job *job);

#endif
