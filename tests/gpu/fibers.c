/* A library whose one device is made of fibers: so the public calls of gpu.h run on any machine,
 * and device memory is the host's. For tests of what lies above those calls. */
#include "base/error.h"
#include "shim.h"

submod_status submodi_gpu_devices(const char *who, int *devices)
{
    (void)who;
    *devices = 1;
    return SUBMOD_OK;
}

submod_status submodi_gpu_connect(const char *who, int device, void *stream, submodi_gpu_backend *b)
{
    if (device != 0) {
        return submodi_fail(SUBMOD_EINVAL, "%s: device %d is not in [0, 1)", who, device);
    }
    *b = shim_backend(who);
    b->stream = stream;
    return SUBMOD_OK;
}
