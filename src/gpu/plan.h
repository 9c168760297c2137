/* From a batch to launches: how the work is cut, where things lie in the workspace. */
#ifndef SUBMODI_GPU_PLAN_H
#define SUBMODI_GPU_PLAN_H

#include "gpu/backend.h"

/* Sizes that change speed and memory, never results. Tests vary them. */
typedef struct submodi_gpu_tuning {
    uint32_t threads;    /* of a block; halved until the stage fits */
    size_t stage_bytes;  /* shared memory for the exponentials of a block's pixels */
    size_t window_bytes; /* shared memory for counters */
    uint32_t blocks;     /* about so many for a pass over the pixels */
    uint32_t pixels;     /* about so many per thread */
    uint32_t few;        /* classes whose scores are kept in registers, SUBMODI_GPU_FEW at most */
    uint32_t few_blocks; /* as blocks and pixels, where classes are few: a block's counters are */
    uint32_t few_pixels; /* written and read again, so it should have many pixels */
    size_t table_bytes;  /* about so much workspace for histograms; else the groups go in waves */
    uint32_t small;      /* segments up to here are sorted by one block */
    uint32_t large;      /* segments from here on are sorted one by one */
    size_t together;     /* segments between: so many errors are sorted at once */
    uint32_t tile;       /* sorted errors that one block weighs */
} submodi_gpu_tuning;

/* Together 48 KB of shared memory, which every device has without asking for more. */
static inline submodi_gpu_tuning submodi_gpu_tuning_defaults(void)
{
    submodi_gpu_tuning t;
    t.threads = SUBMODI_GPU_THREADS;
    t.stage_bytes = 24 << 10;
    t.window_bytes = 24 << 10;
    t.blocks = 2048;
    t.pixels = 8;
    t.few = SUBMODI_GPU_FEW;
    t.few_blocks = 1024;
    t.few_pixels = 32;
    t.table_bytes = (size_t)256 << 20;
    t.small = 2048;
    t.large = 1 << 16;
    t.together = (size_t)1 << 22;
    t.tile = 2048;
    return t;
}

/* What a call asks for. */
typedef struct submodi_gpu_task {
    submodi_batch batch;
    submodi_gpu_method method;
    size_t group_losses; /* losses of groups, if they are wanted: also of images without pixels */
    double lambda;       /* of a prox */
    const submod_gradient *prox; /* of the hinge, where it goes; or NULL */
    const double *dataset;       /* counts of a dataset, on the device */
    double *counts;              /* where those of the batch go */
    uint64_t all_pixels;         /* of a batch on several devices, */
    int64_t *global;             /* and its counts, */
    float *reach;                /* and the largest weight and margin, on the device; or NULL */
} submodi_gpu_task;

typedef struct submodi_gpu_plan {
    submodi_gpu_job job;
    submodi_gpu_tuning tuning;
    bool prox, dataset, global; /* which kinds of methods it is one of */
    bool few;                   /* its passes are those of kernel_few.h */
    uint32_t pixel_threads;     /* of kernels that may stage */
    size_t stage, window;       /* bytes of shared memory */
    size_t weights;             /* few classes: likewise */
    size_t segments;            /* groups x classes */
    bool weighted;              /* pixels have weights */
    size_t counter;             /* bytes of a counter */
    uint32_t wave;              /* groups whose histograms are in memory at once */
    uint32_t sort_together;     /* segments sorted at once; 0: by one block each */
    size_t cleared;             /* bytes from job.value on that start at 0 */
    void *scratch;              /* of the sort */
    size_t scratch_bytes;
    size_t bytes; /* of the workspace in all */
} submodi_gpu_plan;

/* Cuts the work and finds the size of the workspace; the batch of the task has its shape
 * (submodi_batch_shape). SUBMOD_EUNSUPPORTED: more than 2^31 - 1 segments. SUBMOD_ENOMEM: the
 * workspace would be larger than size_t can count. */
submod_status submodi_gpu_plan_make(const submodi_gpu_task *task, const submodi_gpu_tuning *tuning,
                                    submodi_gpu_plan *plan);
/* Then: where the arrays of the batch, the outputs and the workspace are, on the device. gradient
 * may be NULL. */
void submodi_gpu_plan_place(submodi_gpu_plan *plan, const submodi_batch *batch,
                            const submod_gradient *gradient, submod_gpu_result *result,
                            void *memory);

/* Queues everything. */
submod_status submodi_gpu_run(const submodi_gpu_backend *b, const submodi_batch *batch,
                              const submodi_gpu_plan *plan);

#endif
