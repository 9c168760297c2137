/* Hooks of translated kernels: who looks at every access to memory, or at every instruction.
 *
 * They compile to nothing unless the translated file is compiled with
 *
 *     PTX_WATCH_ACCESSES        ptx_hooks.access is called before each load, store and atomic
 *     PTX_WATCH_INSTRUCTIONS    ptx_hooks.instruction is called before each instruction
 *
 * and even then nobody is called while the pointer is NULL. One program may have several watchers
 * (races.c is one) and set the pointers to one after the other.
 *
 * A hook runs on the fiber of the thread that makes the access, so threads_self() says which thread
 * of which block it is, and threads_now() what it has passed (threads.h). Threads run one at a
 * time, until they wait or give way: the accesses that the 32 lanes of a warp make together on a
 * device come one after the other here. To put them together, count for each lane how often it has
 * executed the instruction in this launch: lanes with the same count executed it together, if the
 * warp did not diverge in between. A guard that is false makes no access; its instruction counts
 * all the same, as the device issues it. A vector load or store of n values is one access of all
 * its bytes.
 *
 * number counts through the module: module->instruction[number] has the kernel, the opcode and its
 * place in the source (ptx.h). Addresses are those of the host, also for shared memory: `space`
 * says what it is, and generic addresses have been told apart. An offset in shared memory is
 * address - (uint64_t)threads_shared().
 *
 * threads_fail("...") in a hook ends the launch with that message. Launches begin and end in
 * ptx_run (ptx.h), which says so to ptx_hooks.begin and ptx_hooks.end, outside of all fibers. */
#ifndef SUBMOD_TESTS_GPU_PTX_HOOKS_H
#define SUBMOD_TESTS_GPU_PTX_HOOKS_H

#include <stdint.h>

typedef enum ptx_space {
    PTX_GLOBAL,
    PTX_SHARED,
    PTX_LOCAL,  /* a thread's own; on a device, interleaved in global memory */
    PTX_PARAM,  /* the kernel's arguments; on a device, a bank of constants */
    PTX_GENERIC /* in instructions only: hooks see one of the others */
} ptx_space;

typedef enum ptx_way {
    PTX_LOAD,
    PTX_STORE,
    PTX_ATOMIC,      /* reads and writes */
    PTX_STRONG_LOAD, /* volatile: as good as an atomic one, to others of its kind */
    PTX_STRONG_STORE
} ptx_way;

struct ptx_module;
struct ptx_kernel;

typedef struct ptx_hook_table {
    void (*access)(uint32_t number, ptx_space space, ptx_way way, uint64_t address, uint32_t bytes);
    void (*instruction)(uint32_t number);
    void (*begin)(const struct ptx_module *module, const struct ptx_kernel *kernel, uint32_t blocks,
                  uint32_t threads);
    void (*end)(void);
} ptx_hook_table;

extern ptx_hook_table ptx_hooks; /* all NULL at first */

#if defined(PTX_WATCH_ACCESSES)
#define PTX_ON_ACCESS(number, space, way, address, bytes) \
    do { \
        if (ptx_hooks.access) { \
            ptx_hooks.access(number, space, way, address, bytes); \
        } \
    } while (0)
#else
#define PTX_ON_ACCESS(number, space, way, address, bytes) ((void)0)
#endif

#if defined(PTX_WATCH_INSTRUCTIONS)
#define PTX_ON_INSTRUCTION(number) \
    do { \
        if (ptx_hooks.instruction) { \
            ptx_hooks.instruction(number); \
        } \
    } while (0)
#else
#define PTX_ON_INSTRUCTION(number) ((void)0)
#endif

#endif
