/* The threads of a device as fibers of the CPU: grids of blocks of warps, their schedule, barriers,
 * meetings of warps and shared memory. What a thread runs is up to the caller: kernels compiled
 * from their source, or what nvcc made of them.
 *
 * One thread runs at a time, until it waits or gives way. Lowest or highest first, a block runs
 * alone; in random order up to MOST_RESIDENT of them take turns, as blocks of a device do. What a
 * real device leaves undefined does harm here: shared memory starts as rubbish, a barrier that some
 * threads do not reach is an error, and so is writing beyond the shared memory that was asked for.
 */
#ifndef SUBMOD_TESTS_GPU_THREADS_H
#define SUBMOD_TESTS_GPU_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim.h"

enum { MOST_THREADS = 1024, MOST_SHARED = 48 << 10, MOST_RESIDENT = 4 };

typedef struct threads_launch {
    void (*kernel)(const void *argument); /* run by every thread */
    const void *argument;
    uint32_t blocks, threads; /* threads: a multiple of 32 */
    size_t shared;            /* bytes of a block's shared memory */
    bool clocks;              /* somebody will ask threads_was_before */
} threads_launch;

/* Runs all threads to their end. NULL, or what is wrong; the message is good until the next call.
 */
const char *threads_run(const threads_launch *launch);

/* ---- for kernels: the thread that runs ---- */

typedef struct thread_id {
    uint32_t thread, block;
    uint32_t threads, blocks; /* how many there are */
} thread_id;

thread_id threads_self(void);
/* The shared memory of its block, and how much was asked for. */
unsigned char *threads_shared(void);
size_t threads_shared_bytes(void);

/* Waits for all threads of the block, at the same site. Returns whether one of them said yes. */
bool threads_barrier(const shim_site *site, bool yes);
/* Waits for the lanes in the mask, at the same site. Returns what each of them brought. Memory is
 * ordered by that or not: the barrier of a warp does so, a shuffle does not. */
const uint64_t *threads_meet(uint32_t site, uint32_t mask, uint64_t x, bool orders_memory);
/* Waits for the lanes in the mask, at the same meeting, and orders memory. */
void threads_warp_barrier(const shim_site *site, uint32_t meeting, uint32_t mask);
/* At an atomic: in random order, sometimes others run now. */
void threads_maybe_give_way(void);
/* Waits for another thread's write: all others run before this one looks again. */
void threads_spin(void);
/* Ends the launch with this message. */
_Noreturn void threads_fail(const char *what);

/* ---- what happened before what: for a race detector ---- */

/* A moment of a thread. */
typedef struct thread_moment {
    uint32_t block, thread;
    uint32_t barriers; /* of its block that it had passed */
    uint32_t clock;    /* orderings of its warp that it had passed */
} thread_moment;

thread_moment threads_now(void);
/* Whether a moment of this launch was before the present one of the running thread, by program
 * order and barriers alone. */
bool threads_was_before(const thread_moment *then);

#endif
