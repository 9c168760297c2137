/* Which instructions of nvcc's code any test runs (scripts/mutate_ptx.sh --unreached). */
#ifndef SUBMOD_TESTS_GPU_PTX_REACHED_H
#define SUBMOD_TESTS_GPU_PTX_REACHED_H

#include "ptx.h"

/* Notes each instruction of this module from now on in the file that the environment variable
 * SUBMOD_PTX_REACHED names: a byte each, 1 once it has run, in this or any other process. What they
 * are is in FILE.names, a line each. The module has to be compiled with PTX_WATCH_INSTRUCTIONS.
 * Without the variable nothing happens. */
void reached_watch(const ptx_module *module);

#endif
