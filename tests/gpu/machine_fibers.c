/* The machine of the device tests: fibers, whose device memory is the host's. */
#include <stdlib.h>
#include <string.h>

#include "depth.h"
#include "machine.h"
#include "support.h"

bool machine_is_slow(void)
{
    return true;
}

int machine_problems(int wanted)
{
    return wanted / (FEWER ? 30 : 10);
}

void *machine_memory(size_t bytes)
{
    void *memory = aligned_alloc(256, bytes / 256 * 256 + 256);
    ck_assert_ptr_nonnull(memory);
    memset(memory, 0xa5, bytes);
    return memory;
}

void machine_free(void *memory)
{
    free(memory);
}

void machine_copy_in(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

void machine_copy_out(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

struct machine_graph {
    machine_call call;
    const void *context;
};

machine_graph *machine_capture(machine_call call, const void *context)
{
    machine_graph *g = malloc(sizeof *g);
    *g = (machine_graph){call, context};
    return g;
}

void machine_run(machine_graph *g)
{
    ck_assert_ok(g->call(NULL, g->context));
}

void machine_graph_free(machine_graph *g)
{
    free(g);
}
