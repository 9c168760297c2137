/* A backend on the CPU: kernels run on fibers (threads.h), from their source (kernels_source.c) or
 * as nvcc compiled them (ptx/kernels_ptx.c); memory is the host's. A thread yields at barriers and
 * shuffles, and in random order also at atomics. The schedule says which one runs next; results
 * must not depend on it. */
#ifndef SUBMOD_TESTS_GPU_SHIM_H
#define SUBMOD_TESTS_GPU_SHIM_H

#include "gpu/backend.h"

typedef enum shim_order {
    SHIM_FIRST,  /* the runnable thread with the lowest number */
    SHIM_LAST,   /* the highest */
    SHIM_RANDOM, /* and several blocks at a time */
    SHIM_ORDERS
} shim_order;

/* A barrier: a line of the source, or one of the copies that nvcc made of it. */
typedef struct shim_site {
    const char *file;
    int line;
    int copy;           /* which one; 0: the source itself */
    const char *kernel; /* that has this copy; NULL: the source itself */
} shim_site;

/* How often a * b + c is rounded where activations have it. A device does it once. */
typedef enum shim_rounding {
    SHIM_AS_CPU, /* as this machine's activations do, so that all bits can be compared */
    SHIM_ONCE,
    SHIM_TWICE
} shim_rounding;

typedef struct shim_options {
    shim_rounding rounding;
    shim_order order;
    submod_rng rng;     /* of SHIM_RANDOM */
    shim_site left_out; /* this barrier does nothing; line 0: none */
    bool races;  /* PTX: every launch is watched for races (ptx/races.h), not a few of them */
    int starved; /* this kernel gets no shared memory; SUBMODI_GPU_KERNEL_COUNT: none */
    submod_status (*sort)(const submodi_gpu_sort *s, int32_t *current); /* NULL: the shim's own */
    long allocations_left; /* device memory can be had so often; negative: always */
} shim_options;

extern shim_options shim;

submodi_gpu_backend shim_backend(const char *who);

/* What SHIM_AS_CPU stands for. */
shim_rounding shim_cpu_rounding(void);
/* Whether the kernels are what nvcc compiled: then they round once, whatever the options say, and
 * have their own copies of barriers. */
bool shim_runs_ptx(void);

/* The barriers that have been reached since the program began. */
size_t shim_sites(const shim_site **list);
/* Whether a kernel has asked for shared memory so far. */
bool shim_used_shared(int kernel);
/* Blocks of device memory that have not been released. */
long shim_live_allocations(void);

#endif
