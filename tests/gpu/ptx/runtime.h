/* State of the stand-in for CUDA's runtime, which tests set and read. */
#ifndef SUBMOD_TESTS_GPU_PTX_RUNTIME_H
#define SUBMOD_TESTS_GPU_PTX_RUNTIME_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

typedef struct runtime_state {
    int driver;       /* driver version, 1000 major + 10 minor */
    int capability;   /* of the device, 86 for 8.6; 0 means the architecture of its kernels */
    bool has_context; /* a call was made that creates a context on a real device */
    cudaError_t copy_error, free_error; /* returned by cudaMemcpyAsync, cudaFree */
} runtime_state;

extern runtime_state runtime;

#endif
