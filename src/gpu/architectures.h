/* Determines from its compute capability whether a device can run the compiled kernels. */
#ifndef SUBMODI_GPU_ARCHITECTURES_H
#define SUBMODI_GPU_ARCHITECTURES_H

#include <stdbool.h>

/* Returns whether kernels compiled for these architectures run on a device of this compute
 * capability (86 for 8.6). `architectures` is CMake's list, separated by spaces: "75-virtual 80
 * 90-real". Machine code runs on devices of the same major version from its minor version on. PTX
 * runs on all later devices if compiles_ptx is true, that is, if the driver is at least as new as
 * the toolkit that wrote the PTX. An architecture with a letter, "90a", has code for that
 * capability alone. The words all, all-major and native contain no number; their code runs on every
 * device from `oldest` on. */
bool submodi_gpu_runs_on(const char *architectures, int oldest, int capability, bool compiles_ptx);

#endif
