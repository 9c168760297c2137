/* The stand-in for CUDA's runtime, as tests set it up and look at it. */
#ifndef SUBMOD_TESTS_GPU_PTX_RUNTIME_H
#define SUBMOD_TESTS_GPU_PTX_RUNTIME_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

typedef struct runtime_state {
    int driver;       /* its version, 1000 major + 10 minor */
    int capability;   /* of the device, 86 for 8.6; 0 means the architecture of its kernels */
    bool has_context; /* a call was made that creates a context on a real device */
    cudaError_t copy_error, free_error; /* what cudaMemcpyAsync and cudaFree fail with */
} runtime_state;

extern runtime_state runtime;

#endif
