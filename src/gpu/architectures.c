/* Reads CMake's list of CUDA architectures. */
#include "gpu/architectures.h"

#include <stdlib.h>
#include <string.h>

/* Returns whether one entry, which ends at a space or with the list, runs on the device. */
static bool entry_runs_on(const char *entry, int oldest, int capability, bool compiles_ptx)
{
    char *rest;
    long architecture = strtol(entry, &rest, 10);
    if (rest == entry) {
        return capability >= oldest;
    }
    if (*rest >= 'a' && *rest <= 'z') {
        return capability == architecture;
    }
    bool machine_code = strncmp(rest, "-virtual", 8) != 0;
    bool ptx = strncmp(rest, "-real", 5) != 0;
    return capability >= architecture &&
           ((machine_code && capability / 10 == architecture / 10) || (ptx && compiles_ptx));
}

bool submodi_gpu_runs_on(const char *architectures, int oldest, int capability, bool compiles_ptx)
{
    bool runs = false;
    const char *entry = architectures + strspn(architectures, " ");
    while (*entry != '\0' && !runs) {
        runs = entry_runs_on(entry, oldest, capability, compiles_ptx);
        entry += strcspn(entry, " ");
        entry += strspn(entry, " ");
    }
    return runs;
}
