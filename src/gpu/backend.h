/* What the pipeline asks of a device: to run kernels, clear, upload and sort, in order, without
 * waiting. CUDA implements it (cuda.cu), and the tests do with fibers (tests/gpu/shim.c). */
#ifndef SUBMODI_GPU_BACKEND_H
#define SUBMODI_GPU_BACKEND_H

#include <stdbool.h>

#include "gpu/job.h"

/* All kernels, by the last part of their names: submodi_gpu_kernel_<name>. */
#define SUBMODI_GPU_KERNELS(X) \
    X(begin) \
    X(weights) \
    X(labels) \
    X(coefficients) \
    X(check) \
    X(count) \
    X(solve) \
    X(keys) \
    X(gather) \
    X(small) \
    X(tile_count) \
    X(tile_scan) \
    X(tile_before) \
    X(weigh) \
    X(tile_sum) \
    X(gradient) \
    X(few_count) \
    X(few_collect) \
    X(few_gradient) \
    X(dataset_counts) \
    X(dataset_classes) \
    X(dataset_solve) \
    X(global_range) \
    X(global_counts) \
    X(global_totals) \
    X(prox_range) \
    X(prox_count) \
    X(prox_solve) \
    X(prox_write) \
    X(hinge_write) \
    X(finish)

typedef enum submodi_gpu_kernel {
#define SUBMODI_GPU_NAME(name) SUBMODI_GPU_KERNEL_##name,
    SUBMODI_GPU_KERNELS(SUBMODI_GPU_NAME)
#undef SUBMODI_GPU_NAME
        SUBMODI_GPU_KERNEL_COUNT
} submodi_gpu_kernel;

/* Keys and where they came from, in two buffers each; the first ones are full. */
typedef struct submodi_gpu_sort {
    bool wide; /* keys are uint64_t, else uint32_t */
    void *key[2];
    uint32_t *position[2];
    uint32_t n;
    int bits; /* of the keys that matter, from bit 0 on */
    void *scratch;
    size_t scratch_bytes; /* at least submodi_gpu_sort_scratch(n) */
} submodi_gpu_sort;

typedef struct submodi_gpu_backend submodi_gpu_backend;
struct submodi_gpu_backend {
    int device;
    void *stream;
    /* Blocks of so many threads (a multiple of 32), each with so many bytes of shared
     * memory. *job is copied. */
    submod_status (*launch)(const submodi_gpu_backend *b, submodi_gpu_kernel kernel,
                            uint32_t blocks, uint32_t threads, size_t shared,
                            const submodi_gpu_job *job);
    submod_status (*clear)(const submodi_gpu_backend *b, void *memory, size_t bytes);
    /* The numbers travel inside the queue: `from` is free again at once. */
    submod_status (*upload)(const submodi_gpu_backend *b, double *to, const double *from, size_t n);
    /* Ascending and stable; *current says which of the buffers has the result. */
    submod_status (*sort)(const submodi_gpu_backend *b, const submodi_gpu_sort *s,
                          int32_t *current);
};

/* The device of this machine, or SUBMOD_EUNSUPPORTED with the reason: there is none, or it cannot
 * run what was compiled. SUBMOD_EINVAL: no such number. */
submod_status submodi_gpu_connect(int device, void *stream, submodi_gpu_backend *b);
/* Counts the devices if the kernels were compiled for at least one of them; else returns
 * SUBMOD_EUNSUPPORTED and sets *devices to 0. Creates no context on any device, so each process of
 * a job may call it and holds memory only on the device that it then uses. */
submod_status submodi_gpu_devices(int *devices);

/* Scratch memory that sorting n keys may need on any device, in bytes. CUB's one-sweep sort takes
 * 256 counters of 4 bytes per tile of at least 2048 keys, and some tables of fixed size; asking CUB
 * itself would need a device. cuda.cu checks the tiles of what it compiles. */
enum { SUBMODI_GPU_SORT_TILE = 2048 };

static inline size_t submodi_gpu_sort_scratch(size_t n)
{
    return n / SUBMODI_GPU_SORT_TILE * 1024 + ((size_t)1 << 20);
}

#endif
