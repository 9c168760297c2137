/* A race detector for translated kernels: two accesses to a byte of shared or global memory by
 * different threads, one of them a write, not both atomic, and no barrier in between. It does not
 * have to see them go wrong: which came first on the fibers does not matter.
 *
 * Before means: in the same thread, or with a barrier of the block in between, or one of the warp
 * (threads_was_before). Kernels come one after the other. Shuffles and atomics order nothing: a
 * device promises nothing else either.
 *
 * Of each byte it remembers the last plain write; and of reads and of atomics the last of any warp,
 * the last of another warp, and the last of another block. More are not needed: whoever conflicts
 * with one that was forgotten conflicts with one of these. */
#ifndef SUBMOD_TESTS_GPU_PTX_RACES_H
#define SUBMOD_TESTS_GPU_PTX_RACES_H

/* From now on launches of translated kernels are watched, if they were compiled with
 * PTX_WATCH_ACCESSES (hooks.h). A race ends the launch with a message that names both instructions
 * and their places in the source. */
void races_watch(void);
void races_stop(void);

#endif
