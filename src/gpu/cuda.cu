/* The backend by CUDA: kernels launched, memory cleared, keys sorted by CUB, on one stream. The only
 * file that CUDA's compiler sees; no exception leaves it. */
#include <cub/device/device_radix_sort.cuh>
#include <cuda_runtime.h>

extern "C" {
#include "base/internal.h"
#include "gpu/architectures.h"
#include "gpu/backend.h"
}
#include "gpu/kernel_dataset.h"
#include "gpu/kernel_exact.h"
#include "gpu/kernel_few.h"
#include "gpu/kernel_global.h"
#include "gpu/kernel_gradient.h"
#include "gpu/kernel_hinge.h"
#include "gpu/kernel_labels.h"
#include "gpu/kernel_prox.h"

namespace
{

/* ---- kernels ---- */

#define SUBMODI_GPU_NAME(name) \
    __global__ void __launch_bounds__(SUBMODI_GPU_THREADS, 2) \
        submodi_gpu_global_##name(const __grid_constant__ submodi_gpu_job job) \
    { \
        submodi_gpu_kernel_##name(&job); \
    }
SUBMODI_GPU_KERNELS(SUBMODI_GPU_NAME)
#undef SUBMODI_GPU_NAME

typedef void (*global)(const submodi_gpu_job job);

const global kernels[] = {
#define SUBMODI_GPU_NAME(name) submodi_gpu_global_##name,
    SUBMODI_GPU_KERNELS(SUBMODI_GPU_NAME)
#undef SUBMODI_GPU_NAME
};

/* Numbers that travel as a kernel's argument. */
struct parcel {
    double x[256];
};

__global__ void unpack(const __grid_constant__ parcel p, double *to, uint32_t n)
{
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
        to[i] = p.x[i];
    }
}

/* ---- status ---- */

/* What CUDA says, as a status with an error message. CUDA's own note of it is wiped out: the next call on this
 * thread must not find it there and take it for its own. */
submod_status status_of(const char *what, cudaError_t e)
{
    if (e != cudaSuccess) {
        (void)cudaGetLastError();
    }
    switch (e) {
    case cudaSuccess: return SUBMOD_OK;
    case cudaErrorMemoryAllocation:
        return submodi_fail(SUBMOD_ENOMEM, "%s: out of device memory", what);
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorInvalidPtx:
    case cudaErrorJitCompilerNotFound:
        return submodi_fail(SUBMOD_EUNSUPPORTED,
                            "%s: this library was not built for that device (%s)", what,
                            cudaGetErrorString(e));
    default:
        return submodi_fail(SUBMOD_ENUMERIC, "%s: %s", what, cudaGetErrorString(e));
    }
}

cudaStream_t stream_of(const submodi_gpu_backend *b)
{
    return static_cast<cudaStream_t>(b->stream);
}

/* Runs on the backend's device and leaves the caller's current one as it was. */
class on_device
{
public:
    explicit on_device(const submodi_gpu_backend *b) : before(b->device)
    {
        error = cudaGetDevice(&before);
        if (error == cudaSuccess && before != b->device) {
            error = cudaSetDevice(b->device);
            changed = error == cudaSuccess;
        }
    }
    ~on_device()
    {
        if (changed) {
            cudaSetDevice(before);
        }
    }
    on_device(const on_device &) = delete;
    on_device &operator=(const on_device &) = delete;

    cudaError_t error = cudaSuccess;

private:
    int before;
    bool changed = false;
};

/* ---- what the pipeline asks for ---- */

submod_status launch(const submodi_gpu_backend *b, submodi_gpu_kernel kernel, uint32_t blocks,
                     uint32_t threads, size_t shared, const submodi_gpu_job *job)
{
    on_device here(b);
    if (here.error == cudaSuccess) {
        kernels[kernel]<<<blocks, threads, shared, stream_of(b)>>>(*job);
        here.error = cudaGetLastError();
    }
    return status_of("kernel launch", here.error);
}

submod_status clear(const submodi_gpu_backend *b, void *memory, size_t bytes)
{
    on_device here(b);
    if (here.error == cudaSuccess) {
        here.error = cudaMemsetAsync(memory, 0, bytes, stream_of(b));
    }
    return status_of("clearing", here.error);
}

submod_status upload(const submodi_gpu_backend *b, double *to, const double *from, size_t n)
{
    parcel p = {};
    on_device here(b);
    for (size_t i = 0; i < n; i++) {
        p.x[i] = from[i];
    }
    if (here.error == cudaSuccess) {
        unpack<<<1, 256, 0, stream_of(b)>>>(p, to, static_cast<uint32_t>(n));
        here.error = cudaGetLastError();
    }
    return status_of("kernel launch", here.error);
}

/* What submodi_gpu_sort_scratch relies on, looked up for every architecture that is compiled for. The
 * names are CUB's own; of versions that have others, CUB's refusal at run time is what is left. */
#if defined(__CUDA_ARCH__) && CCCL_MAJOR_VERSION == 3 && CCCL_MINOR_VERSION == 0
template <typename key>
using policy =
    typename cub::detail::radix::policy_hub<key, uint32_t, uint32_t>::MaxPolicy::ActivePolicy;

template <typename key> constexpr bool is_bounded()
{
    using sweep = typename policy<key>::OnesweepPolicy;
    return policy<key>::ONESWEEP && policy<key>::ONESWEEP_RADIX_BITS == 8 &&
           sweep::BLOCK_THREADS * sweep::ITEMS_PER_THREAD >= SUBMODI_GPU_SORT_TILE;
}
static_assert(is_bounded<uint32_t>() && is_bounded<uint64_t>(), "scratch memory of CUB's sort");
#endif

template <typename key> cudaError_t sort_as(const submodi_gpu_sort *s, cudaStream_t stream, int32_t *at)
{
    cub::DoubleBuffer<key> keys(static_cast<key *>(s->key[0]), static_cast<key *>(s->key[1]));
    cub::DoubleBuffer<uint32_t> positions(s->position[0], s->position[1]);
    size_t bytes = s->scratch_bytes;
    cudaError_t e = cub::DeviceRadixSort::SortPairs(s->scratch, bytes, keys, positions, s->n, 0,
                                                    s->bits, stream);
    /* Both were moved the same number of times. */
    *at = keys.selector;
    return e;
}

submod_status sort(const submodi_gpu_backend *b, const submodi_gpu_sort *s, int32_t *current)
{
    try {
        on_device here(b);
        if (here.error == cudaSuccess) {
            here.error = s->wide ? sort_as<uint64_t>(s, stream_of(b), current)
                                 : sort_as<uint32_t>(s, stream_of(b), current);
        }
        return status_of("sorting", here.error);
    } catch (...) {
        return submodi_fail(SUBMOD_ENUMERIC, "sorting: unexpected exception");
    }
}

} /* namespace */

/* ---- this machine ---- */

static submod_status count_devices(int *driver, int *devices)
{
    *devices = 0;
    *driver = 0;
    if (cudaDriverGetVersion(driver) != cudaSuccess || *driver == 0) {
        return submodi_fail(SUBMOD_EUNSUPPORTED, "there is no CUDA driver on this machine");
    }
    cudaError_t e = cudaGetDeviceCount(devices);
    if (e == cudaSuccess && *devices > 0) {
        return SUBMOD_OK;
    }
    *devices = 0;
    (void)cudaGetLastError();
    return e == cudaErrorInsufficientDriver
               ? submodi_fail(SUBMOD_EUNSUPPORTED,
                              "the CUDA driver (%d.%d) is older than this library's CUDA", *driver / 1000, *driver % 1000 / 10)
               : submodi_fail(SUBMOD_EUNSUPPORTED, "there is no CUDA device (%s)", cudaGetErrorString(e == cudaSuccess ? cudaErrorNoDevice : e));
}

/* Whether the device can run our kernels: it may be older than what they were compiled for. */
static submod_status require_kernels(const submodi_gpu_backend *b)
{
    on_device here(b);
    cudaFuncAttributes attributes;
    if (here.error == cudaSuccess) {
        here.error = cudaFuncGetAttributes(&attributes, submodi_gpu_global_begin);
    }
    return status_of("kernels", here.error);
}

extern "C" submod_status submodi_gpu_connect(int device, void *stream,
                                             submodi_gpu_backend *b)
{
    int driver, devices;
    submod_status status = count_devices(&driver, &devices);
    if (status != SUBMOD_OK) {
        return status;
    }
    if (device < 0 || device >= devices) {
        return submodi_fail(SUBMOD_EINVAL, "device = %d must be in [0, %d)", device, devices);
    }
    *b = submodi_gpu_backend{device, stream, launch, clear, upload, sort};
    return require_kernels(b);
}

/* ---- finding devices; no call below creates a context ---- */

/* The architectures given to CMake. Without CMake, only the compiler's list, __CUDA_ARCH_LIST__, is
 * known. */
#ifndef SUBMODI_CUDA_ARCHITECTURES
#define SUBMODI_CUDA_ARCHITECTURES "all"
#endif

/* Returns the oldest compiled architecture, such as 75 for 7.5. */
static int oldest_architecture(void)
{
    const int compiled[] = {__CUDA_ARCH_LIST__};
    int oldest = compiled[0];
    for (int architecture : compiled) {
        oldest = architecture < oldest ? architecture : oldest;
    }
    return oldest / 10;
}

/* Fails unless the kernels were compiled for the device's compute capability. */
static submod_status require_capability(int device, int driver)
{
    int major = 0, minor = 0;
    cudaError_t e = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (e == cudaSuccess) {
        e = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    }
    if (e != cudaSuccess) {
        return status_of("compute capability", e);
    }
    return submodi_gpu_runs_on(SUBMODI_CUDA_ARCHITECTURES, oldest_architecture(),
                               10 * major + minor, driver >= CUDART_VERSION)
               ? SUBMOD_OK
               : submodi_fail(SUBMOD_EUNSUPPORTED,
                              "this library was not built for devices of compute capability "
                              "%d.%d with the CUDA driver %d.%d",
                              major, minor, driver / 1000, driver % 1000 / 10);
}

extern "C" submod_status submodi_gpu_devices(int *devices)
{
    int driver;
    submod_status status = count_devices(&driver, devices);
    if (status != SUBMOD_OK) {
        return status;
    }
    for (int device = 0; device < *devices; device++) {
        if (require_capability(device, driver) == SUBMOD_OK) {
            return SUBMOD_OK;
        }
    }
    *devices = 0;
    return SUBMOD_EUNSUPPORTED; /* with the message of the last one */
}
