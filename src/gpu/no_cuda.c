/* A library without CUDA says so. */
#include "base/internal.h"
#include "gpu/backend.h"

submod_status submodi_gpu_devices(int *devices)
{
    *devices = 0;
    return submodi_fail(SUBMOD_EUNSUPPORTED,
                        "this library was built without CUDA (the static one always is)");
}

submod_status submodi_gpu_connect(int device, void *stream, submodi_gpu_backend *b)
{
    (void)device;
    (void)stream;
    (void)b;
    int devices;
    return submodi_gpu_devices(&devices);
}
