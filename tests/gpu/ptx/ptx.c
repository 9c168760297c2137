/* Translated kernels on fibers: launches, wrong addresses, barriers, shuffles and votes. */
#include "ptx.h"

#include <stdio.h>

ptx_hook_table ptx_hooks;

static struct {
    const ptx_module *module;
    const ptx_kernel *kernel;
    char message[600];
} the;

const char *ptx_run(const ptx_module *module, const ptx_kernel *kernel, uint32_t blocks,
                    uint32_t threads, size_t shared, const void *parameters)
{
    if (kernel->shared + shared > MOST_SHARED) {
        return "a kernel with more shared memory than there is";
    }
    the.module = module;
    the.kernel = kernel;
    if (ptx_hooks.begin) {
        ptx_hooks.begin(module, kernel, blocks, threads);
    }
    const char *wrong =
        threads_run(&(threads_launch){kernel->run, parameters, blocks, threads,
                                      kernel->shared + shared, ptx_hooks.access != NULL});
    if (ptx_hooks.end) {
        ptx_hooks.end();
    }
    return wrong;
}

/* Ends the launch with what is wrong and where. */
static _Noreturn void fail_at(const ptx_instruction *i, const char *what)
{
    snprintf(the.message, sizeof the.message, "%s in line %u of the PTX, %s (%s:%d)", what,
             (unsigned)i->ptx_line, i->text, i->file, i->line);
    threads_fail(the.message);
}

void ptx_misaligned(uint32_t number)
{
    fail_at(&the.module->instruction[number], "an address that is not aligned");
}

unsigned char *ptx_access_shared(uint32_t number, uint64_t offset, uint32_t bytes)
{
    size_t end = threads_shared_bytes();
    if (bytes > end || offset > end - bytes) {
        fail_at(&the.module->instruction[number],
                "an address beyond the shared memory that was asked for");
    }
    return threads_shared() + offset;
}

bool ptx_is_shared(uint64_t address)
{
    return address - (uint64_t)threads_shared() < MOST_SHARED;
}

/* ---- together with other threads ---- */

static shim_site site_of(uint32_t number)
{
    const ptx_instruction *i = &the.module->instruction[number];
    return (shim_site){i->file, i->line, (int)i->ptx_line, the.kernel->name};
}

bool ptx_barrier(uint32_t number, bool yes)
{
    const shim_site site = site_of(number);
    return threads_barrier(&site, yes);
}

void ptx_warp_barrier(uint32_t number, uint32_t mask)
{
    const shim_site site = site_of(number);
    threads_warp_barrier(&site, number, mask);
}

uint32_t ptx_shuffle(uint32_t number, ptx_shuffle_kind kind, uint32_t x, uint32_t b, uint32_t c,
                     uint32_t mask, bool *inside)
{
    const uint64_t *of_warp = threads_meet(number, mask, x, false);
    uint32_t lane = ptx_laneid(), segments = c >> 8 & 31, clamp = c & 31;
    b &= 31;
    uint32_t first = lane & segments, last = first | (clamp & ~segments);
    uint32_t from = lane;
    switch (kind) {
    case PTX_UP:
        *inside = lane >= last + b;
        from = lane - b;
        break;
    case PTX_DOWN:
        *inside = lane + b <= last;
        from = lane + b;
        break;
    case PTX_BFLY:
        from = lane ^ b;
        *inside = from <= last;
        break;
    case PTX_IDX:
        from = first | (b & ~segments);
        *inside = from <= last;
        break;
    }
    from = *inside ? from : lane;
    if (!(mask >> from & 1)) {
        fail_at(&the.module->instruction[number], "a lane that did not come was asked");
    }
    return (uint32_t)of_warp[from];
}

uint32_t ptx_ballot(uint32_t number, bool yes, uint32_t mask)
{
    const uint64_t *said = threads_meet(number, mask, yes, false);
    uint32_t ballot = 0;
    for (uint32_t lane = 0; lane < 32; lane++) {
        ballot |= (uint32_t)((mask >> lane & 1) && said[lane]) << lane;
    }
    return ballot;
}
