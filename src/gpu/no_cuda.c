/* A library without CUDA says so. */
#include "base/error.h"
#include "gpu/backend.h"

submod_status submodi_gpu_devices(const char *who, int *devices)
{
    *devices = 0;
    return submodi_fail(SUBMOD_EUNSUPPORTED,
                        "%s: this library was built without CUDA (the static one always is)", who);
}

submod_status submodi_gpu_connect(const char *who, int device, void *stream, submodi_gpu_backend *b)
{
    (void)device;
    (void)stream;
    (void)b;
    int devices;
    return submodi_gpu_devices(who, &devices);
}
