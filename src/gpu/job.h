/* Everything a kernel needs to know, by value: views of the caller's arrays, options, and where
 * things lie in the workspace. Filled by plan.c, read by kernels. Plain data for C and CUDA C++.
 *
 * A segment is one class within one group: number group * classes + class. */
#ifndef SUBMODI_GPU_JOB_H
#define SUBMODI_GPU_JOB_H

#include <stddef.h>
#include <stdint.h>

#include "loss/batch.h"
#include "submod/measure_internal.h"
#include <submod/gpu.h>

enum {
    SUBMODI_WARP = 32,
    SUBMODI_GPU_THREADS = 256,     /* of a block, at most, on a device */
    SUBMODI_GPU_FEW = 22,          /* classes whose scores a thread has in registers */
    SUBMODI_BLOCK_SCRATCH = 65 * 8 /* bytes of shared memory for scans and sums (block.h) */
};

/* What the kernels do. */
typedef enum submodi_gpu_method {
    SUBMODI_GPU_EXACT,
    SUBMODI_GPU_HISTOGRAM,
    SUBMODI_GPU_PROX,
    SUBMODI_GPU_PROX_HINGE,
    SUBMODI_GPU_DATASET_COUNTS,
    SUBMODI_GPU_DATASET_LOSS,
    SUBMODI_GPU_GLOBAL_RANGE,
    SUBMODI_GPU_GLOBAL_COUNTS,
    SUBMODI_GPU_GLOBAL_LOSS
} submodi_gpu_method;

/* Where numbers of the shape of the scores go. */
typedef struct submodi_gpu_output {
    float *data; /* NULL: not wanted */
    int64_t stride[3];
    float scale;
    int32_t accumulate;
} submodi_gpu_output;

typedef struct submodi_gpu_job {
    /* ---- the caller's arrays; strides of batch, class and pixel, in elements ---- */
    const void *scores;
    const void *labels;
    const float *pixel_weights; /* NULL: all 1 */
    submodi_gpu_output gradient;
    submodi_gpu_output prox; /* of the hinge */
    const double *dataset;   /* its counts: classes x 2 x bins */
    double *counts;          /* likewise, where those of the batch go */
    int64_t *global;         /* numbers that are added up over devices (kernel_global.h) */
    float *reach;            /* the largest weight and margin of all of them; or NULL */
    double *group_loss;      /* NULL: not wanted */
    uint32_t group_losses;   /* so many, also of images without pixels */
    int64_t score_stride[3], label_stride[3], weight_stride[3];
    submod_score_type score_type;
    submod_label_type label_type;

    /* ---- the batch ---- */
    uint32_t classes, pixels; /* of an image */
    uint32_t groups;
    uint32_t per_group; /* pixels of a group */
    submodi_activation activation;
    int32_t takes_infinite; /* from the batch */
    int32_t multilabel;
    int32_t label_classes; /* labels are below this; its own value is the code of the ignored one */
    int32_t has_ignore;
    int64_t ignore_index;
    int32_t only_present; /* SUBMOD_CLASSES_PRESENT */
    submodi_gpu_method method;
    double lambda; /* of a prox */
    submodi_form measure;
    /* What pixels count for is added up in whole numbers of a unit: 1, or, with weights, 2^-bits of
     * the power of two above the largest weight of their group, which itself counts as 1. */
    int32_t wide_counters; /* of 64 bits */
    int32_t unit_bits;
    double unit;

    /* ---- how work is cut: block = (group * chunks + chunk) * slices + slice ---- */
    uint32_t slices;         /* classes are cut into so many slices: 1 for the softmax, else C */
    uint32_t chunks;         /* the pixels of a group are cut into so many chunks */
    uint32_t first_group;    /* of this wave */
    int32_t staged;          /* shared memory has room for the exponentials of the softmax */
    uint32_t window;         /* first so many bins of a class are counted in shared memory */
    uint32_t bins;           /* K */
    uint32_t table_window;   /* few classes: so many weights of a class are in shared memory */
    int32_t score_rows;      /* few classes: those of a pixel are next to each other, and turned */
    int32_t gradient_rows;   /* likewise of the gradient */
    uint32_t parts;          /* few classes: the chunks of a group are collected in so many parts */
    int32_t doubled;         /* K is twice what delta needs, for the range of the hinge */
    uint32_t label_counters; /* classes whose labels are counted in shared memory */
    uint32_t tiles;          /* of a sorted segment */
    uint32_t tile;           /* sorted errors of a tile */
    uint32_t first_segment;  /* of the segments being sorted */
    uint32_t sorted_segments; /* being sorted at once */
    uint32_t padded;          /* small segments: power of two that holds per_group */

    /* ---- workspace ---- */
    submod_gpu_result *result;
    double *class_weight;  /* C; 0: left out by list or weight */
    uint64_t *foreground;  /* P, per segment, in units */
    uint64_t *all;         /* P + N, per segment (multilabel) or group, in units */
    uint64_t *valid;       /* so many pixels; without weights the same array */
    double *coefficient;   /* per segment; 0: left out */
    double *value;         /* per segment: coefficient times its loss */
    uint32_t *terms;       /* per group: coefficients that are not 0 */
    uint32_t *largest;     /* hinge: bits of the largest margin */
    uint32_t *heaviest;    /* per group: bits of the largest weight of a valid pixel */
    void *count;           /* histogram: 2 K per segment of the wave; see submodi_gpu_add */
    float *table;          /* histogram: 2 K + 1 weights per segment of the wave */
    uint32_t *partial;     /* few classes: window / 2 words per class and block */
    uint32_t *flat;        /* few classes: first bins of the background with one weight, a table */
    uint32_t *key;         /* exact: per_group per segment; keys, then weights as floats */
    void *sorting[2];      /* exact: keys being sorted, 32 or 64 bits, and the spare */
    uint32_t *position[2]; /* exact: where they came from */
    int32_t wide;          /* exact: whether keys being sorted have 64 bits */
    int32_t current;       /* exact: which of the two buffers is sorted */
    uint64_t *before; /* exact, with weights: units up to each rank, per_group + 1 per segment */
    uint64_t *tile_count; /* exact: foreground of each tile in units, then of those before it */
    uint64_t *tile_all;   /* exact, with weights: likewise of both labels */
    double *tile_value;   /* exact: the loss of each tile */
    uint32_t *delta;      /* prox: bits of how far u may be off */
    uint32_t *range;      /* prox: largest and smallest x, per segment */
    double *tops;         /* prox: 4 (K + 1) per segment of the wave */
    uint32_t *ends;       /* prox: 4 x 4 K per segment of the wave: pieces of two rounds */
} submodi_gpu_job;

/* Entries of heaviest: at least one, which a device without pixels reports to the others. */
SUBMODI_HOST_DEVICE uint32_t submodi_gpu_weight_groups(const submodi_gpu_job *j)
{
    return j->groups > 0 ? j->groups : 1;
}

#endif
