/* What the warps of a kernel ask of a device, counted while its translated PTX runs on fibers: the
 * 32 lanes of a warp run one after the other there, and their accesses are put together again.
 *
 * Lanes made an access together when they executed the same instruction after equally many jumps
 * backwards: exact as long as all lanes of a warp go round a loop equally often, which they do in
 * the passes over the pixels. */
#ifndef SUBMOD_TESTS_GPU_COUNT_WARPS_H
#define SUBMOD_TESTS_GPU_COUNT_WARPS_H

#include <stddef.h>
#include <stdint.h>

/* The arrays that global memory is told apart by. */
typedef enum array {
    SCORES,
    LABELS,
    GRADIENT,
    TABLES,   /* weights of bins */
    COUNTERS, /* of bins, in global memory */
    PARTIAL,  /* counters of blocks */
    REST,
    ARRAYS
} array;

/* Kinds of instructions. */
typedef enum instruction_kind {
    FLOAT32,
    FLOAT64,
    INTEGER, /* and logic, comparisons, moves, selections */
    DIVIDE,  /* of integers, and remainders: on a device, several instructions */
    CONVERT, /* between types, reciprocals, divisions of floats */
    MEMORY,  /* loads, stores, atomics */
    CONTROL, /* jumps, barriers, shuffles */
    KINDS_OF_INSTRUCTIONS
} instruction_kind;

/* A sector is 32 bytes. What a warp asks for at once is a request. */
typedef struct tally {
    uint64_t launches;
    uint64_t sectors_read[ARRAYS], sectors_written[ARRAYS];
    uint64_t bytes_read[ARRAYS], bytes_written[ARRAYS]; /* that were asked for */
    uint64_t atomics;         /* on global memory, of threads; not among the sectors */
    uint64_t atomic_repeats;  /* of these, on the address of another lane of the warp */
    uint64_t shared_requests; /* loads and stores of shared memory */
    uint64_t shared_passes;   /* turns that these take: several where lanes meet in a bank */
    uint64_t shared_atomics;  /* of threads */
    uint64_t shared_atomic_requests, shared_atomic_passes;
    uint64_t shared_atomic_repeats;               /* on the address of another lane */
    uint64_t instructions[KINDS_OF_INSTRUCTIONS]; /* of warps: as many as its busiest lane has */
} tally;

/* From now on memory from `begin` on belongs to an array. */
void warps_name(array which, const void *begin, size_t bytes);
void warps_forget_names(void);

/* Watches all launches from now on, until warps_end. A tally per kernel of backend.h. */
void warps_begin(tally *of_kernels);
void warps_end(void);

void tally_add(tally *to, const tally *from);

#endif
