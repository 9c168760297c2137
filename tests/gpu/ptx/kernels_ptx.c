/* The kernels of backend.h as nvcc compiled them, translated from PTX. Some launches are watched
 * for races, unless somebody else watches. SUBMOD_PTX_MUTANT names a library with a kernel that
 * takes the place of ours (scripts/mutate_ptx.sh). */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "depth.h"
#include "kernels.h"
#include "ptx.h"
#include "races.h"
#include "reached.h"

extern const ptx_module ptx_ours;

static const char *const names[] = {
#define SUBMODI_GPU_NAME(name) "submodi_gpu_global_" #name "E",
    SUBMODI_GPU_KERNELS(SUBMODI_GPU_NAME)
#undef SUBMODI_GPU_NAME
};

static const ptx_kernel *find(const ptx_module *m, submodi_gpu_kernel kernel)
{
    for (uint32_t k = 0; m && k < m->kernels; k++) {
        if (strstr(m->kernel[k].name, names[kernel])) {
            return &m->kernel[k];
        }
    }
    return NULL;
}

/* NULL: there is none. */
static const ptx_module *mutant(void)
{
    static const ptx_module *found;
    const char *library = getenv("SUBMOD_PTX_MUTANT");
    if (!found && library) {
        void *handle = dlopen(library, RTLD_NOW);
        found = handle ? dlsym(handle, "ptx_mutant") : NULL;
        if (!found) {
            fprintf(stderr, "%s\n", dlerror());
            abort();
        }
        reached_watch(found);
    }
    return found;
}

/* Watching takes long. 23 is prime, so that none of the kernels of a pipeline is left out. */
static bool is_watched(void)
{
    static uint32_t launches;
    return shim.races || launches++ % (ALL_PROBLEMS ? 2 : 23) == 0;
}

const char *kernels_run(submodi_gpu_kernel kernel, uint32_t blocks, uint32_t threads, size_t shared,
                        const submodi_gpu_job *job)
{
    const ptx_module *module = find(mutant(), kernel) ? mutant() : &ptx_ours;
    const ptx_kernel *k = find(module, kernel);
    submodi_gpu_job copy = *job;
    if (!k || k->parameter_bytes != sizeof copy) {
        return "PTX without this kernel, or of another version of it";
    }
    bool watched = !ptx_hooks.access && is_watched();
    if (watched) {
        races_watch();
    }
    const char *wrong = ptx_run(module, k, blocks, threads, shared, &copy);
    if (watched) {
        races_stop();
    }
    return wrong;
}

bool shim_runs_ptx(void)
{
    return true;
}
