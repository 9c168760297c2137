/* What a stream has to do: kernels, memory set and copied, in order. Work waits until somebody
 * waits for it, as on a device; between cudaStreamBeginCapture and cudaStreamEndCapture it goes
 * into a graph instead. All streams are one. */
#ifndef SUBMOD_TESTS_GPU_PTX_STREAM_H
#define SUBMOD_TESTS_GPU_PTX_STREAM_H

#include <cuda_runtime_api.h>

#include "ptx.h"

typedef enum { KERNEL, SET, COPY } work_kind;

typedef struct work {
    work_kind kind;
    /* KERNEL */
    const ptx_module *module;
    const ptx_kernel *kernel;
    uint32_t blocks, threads;
    size_t shared;
    unsigned char *parameters; /* owned */
    /* SET and COPY */
    void *to;
    const void *from;
    int value;
    size_t bytes;
} work;

/* Takes over the parameters. */
cudaError_t stream_queue(work w);
/* Does all that is left. An error stays, as that of a real device does. */
cudaError_t stream_wait(void);
/* In words; NULL: none. */
const char *stream_error(void);

#endif
