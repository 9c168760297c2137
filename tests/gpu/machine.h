/* The machine that device tests run on, behind the public calls of gpu.h: CUDA's runtime with a
 * real device (machine_cuda.c), or fibers, whose device memory is the host's (machine_fibers.c). */
#ifndef SUBMOD_TESTS_GPU_MACHINE_H
#define SUBMOD_TESTS_GPU_MACHINE_H

#include <stdbool.h>
#include <submod.h>

/* Fibers: smaller problems will do. */
bool machine_is_slow(void);
/* How many of so many problems it has time for. */
int machine_problems(int wanted);

/* Device memory; a failure fails the test. */
void *machine_memory(size_t bytes);
void machine_free(void *memory);
void machine_copy_in(void *to, const void *from, size_t bytes);
/* After all that was queued. */
void machine_copy_out(void *to, const void *from, size_t bytes);

/* A call on a stream. */
typedef submod_status (*machine_call)(void *stream, const void *context);

/* The call captured into a graph, which can then run many times. On fibers: the call itself. */
typedef struct machine_graph machine_graph;
machine_graph *machine_capture(machine_call call, const void *context);
void machine_run(machine_graph *graph);
void machine_graph_free(machine_graph *graph);

#endif
