/* The threads of a device as fibers of the CPU: grids of blocks of warps, their schedule, barriers,
 * meetings of warps and shared memory. The caller chooses the kernel.
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
/* The shared memory of its block. */
unsigned char *threads_shared(void);

/* Waits for all threads of the block, at the same site. */
void threads_barrier(const shim_site *site);
/* Waits for all lanes of the warp, at the same meeting. Returns the value that each lane brought.
 */
const uint64_t *threads_meet(uint32_t meeting, uint64_t x);
/* The same without values, at a site that tests can leave out. */
void threads_warp_barrier(const shim_site *site, uint32_t meeting);
/* At an atomic: in random order, sometimes others run now. */
void threads_maybe_give_way(void);

#endif
