/* A library whose one device is made of fibers: so the public calls of gpu.h run on any machine,
 * and device memory is the host's. For tests of what lies above those calls. */
#include "base/internal.h"
#include "shim.h"

submod_status submodi_gpu_devices(int *devices)
{
    *devices = 1;
    return SUBMOD_OK;
}

submod_status submodi_gpu_connect(int device, void *stream, submodi_gpu_backend *b)
{
    if (device != 0) {
        return submodi_fail(SUBMOD_EINVAL, "device %d is not in [0, 1)", device);
    }
    *b = shim_backend();
    b->stream = stream;
    return SUBMOD_OK;
}
