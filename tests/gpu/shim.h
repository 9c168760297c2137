/* A backend on the CPU: kernels run on fibers (threads.h), compiled from their source
 * (kernels_source.c); memory is the host's. A thread yields at barriers and shuffles, and in random
 * order also at atomics. The schedule chooses the next thread; results must not depend on it. */
#ifndef SUBMOD_TESTS_GPU_SHIM_H
#define SUBMOD_TESTS_GPU_SHIM_H

#include "gpu/backend.h"
#include <submod/extend.h>

typedef enum shim_order {
    SHIM_FIRST,  /* the runnable thread with the lowest number */
    SHIM_LAST,   /* the highest */
    SHIM_RANDOM, /* and several blocks at a time */
    SHIM_ORDERS
} shim_order;

/* A barrier, by its line of the source. */
typedef struct shim_site {
    const char *file;
    int line;
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
    int starved;        /* this kernel gets no shared memory; SUBMODI_GPU_KERNEL_COUNT: none */
    submod_status (*sort)(const submodi_gpu_sort *s, int32_t *current); /* NULL: the shim's own */
} shim_options;

extern shim_options shim;

submodi_gpu_backend shim_backend(void);

/* What SHIM_AS_CPU stands for. */
shim_rounding shim_cpu_rounding(void);

/* The barriers that have been reached since the program began. */
size_t shim_sites(const shim_site **list);
/* Whether a kernel has asked for shared memory so far. */
bool shim_used_shared(int kernel);

#endif
