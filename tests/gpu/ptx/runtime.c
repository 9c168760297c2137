/* A stand-in for CUDA's runtime: nvcc's half for the host is linked with it instead of cudart, and
 * finds one device whose kernels are translated PTX on fibers. Memory is the host's and starts as
 * rubbish. What nobody here calls is not there, so that the linker names it. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime.h"
#include "stream.h"

extern const ptx_module ptx_ours, ptx_others;

runtime_state runtime = {.driver = CUDART_VERSION};

/* ---- kernels: nvcc's code registers a function of the host's for each ---- */

enum { MOST_KERNELS = 256, MOST_GRID = 0x7fffffff };

typedef struct registered {
    const void *host;
    const ptx_module *module;
    const ptx_kernel *kernel;
} registered;

static registered kernels[MOST_KERNELS];
static size_t kernel_count;

/* The functions that nvcc's code calls; CUDA's headers declare them for C++ only.
 * NOLINTBEGIN(bugprone-reserved-identifier) */
void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterVar(void **handle, char *host, char *address, const char *name, int external,
                       size_t bytes, int constant, int global);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, uint3 *thread, uint3 *block, dim3 *block_size,
                            dim3 *grid_size, int *warp_size);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                               size_t shared, cudaStream_t stream);

void **__cudaRegisterFatBinary(void *binary)
{
    static void *handle;
    (void)binary;
    return &handle;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

/* Variables of CUB's, which no kernel of ours reads: the translator would stop at them. */
void __cudaRegisterVar(void **handle, char *host, char *address, const char *name, int external,
                       size_t bytes, int constant, int global)
{
    (void)handle, (void)host, (void)address, (void)name;
    (void)external, (void)bytes, (void)constant, (void)global;
}

static const ptx_kernel *find(const ptx_module *m, const char *name)
{
    for (uint32_t k = 0; k < m->kernels; k++) {
        if (strcmp(m->kernel[k].name, name) == 0) {
            return &m->kernel[k];
        }
    }
    return NULL;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, uint3 *thread, uint3 *block, dim3 *block_size,
                            dim3 *grid_size, int *warp_size)
{
    (void)handle, (void)device, (void)limit, (void)thread;
    (void)block, (void)block_size, (void)grid_size, (void)warp_size;
    const ptx_kernel *ours = find(&ptx_ours, name), *other = find(&ptx_others, name);
    if ((!ours && !other) || kernel_count == MOST_KERNELS) {
        fprintf(stderr, "no PTX for %s\n", name);
        abort();
    }
    kernels[kernel_count++] =
        (registered){host, ours ? &ptx_ours : &ptx_others, ours ? ours : other};
}

/* ---- launches ---- */

static struct {
    dim3 grid, block;
    size_t shared;
    void *stream;
} pushed;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream)
{
    pushed.grid = grid;
    pushed.block = block;
    pushed.shared = shared;
    pushed.stream = stream;
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    *grid = pushed.grid;
    *block = pushed.block;
    *shared = pushed.shared;
    *(void **)stream = pushed.stream;
    return cudaSuccess;
}

static registered *registered_as(const void *host)
{
    for (size_t k = 0; k < kernel_count; k++) {
        if (kernels[k].host == host) {
            return &kernels[k];
        }
    }
    return NULL;
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
    *kernel = (cudaKernel_t)registered_as(host);
    return *kernel ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

static cudaError_t last_error;

static cudaError_t keep(cudaError_t e)
{
    last_error = e != cudaSuccess ? e : last_error;
    return e;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                               size_t shared, cudaStream_t stream)
{
    (void)stream;
    runtime.has_context = true;
    const registered *r = (const registered *)kernel;
    const ptx_kernel *k = r->kernel;
    if (grid.x == 0 || grid.x > MOST_GRID || grid.y != 1 || grid.z != 1 || block.x == 0 ||
        block.x > MOST_THREADS || block.x % 32 != 0 || block.y != 1 || block.z != 1 ||
        shared + k->shared > MOST_SHARED) {
        return keep(cudaErrorInvalidConfiguration);
    }
    work w = {.kind = KERNEL,
              .module = r->module,
              .kernel = k,
              .blocks = grid.x,
              .threads = block.x,
              .shared = shared,
              .parameters = aligned_alloc(256, k->parameter_bytes / 256 * 256 + 256)};
    for (uint32_t i = 0; i < k->parameter_count; i++) {
        memcpy(w.parameters + k->parameter[i].offset, arguments[i], k->parameter[i].bytes);
    }
    return keep(stream_queue(w));
}

/* NOLINTEND(bugprone-reserved-identifier) */

/* ---- memory ---- */

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    runtime.has_context = true;
    *memory = aligned_alloc(256, bytes / 256 * 256 + 256);
    if (!*memory) {
        return keep(cudaErrorMemoryAllocation);
    }
    memset(*memory, 0xa5, bytes);
    return cudaSuccess;
}

cudaError_t cudaFree(void *memory)
{
    runtime.has_context = true;
    cudaError_t e = stream_wait();
    free(memory);
    return keep(runtime.free_error != cudaSuccess ? runtime.free_error : e);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    (void)stream;
    runtime.has_context = true;
    return keep(stream_queue((work){.kind = SET, .to = to, .value = value, .bytes = bytes}));
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    keep(cudaMemsetAsync(to, value, bytes, NULL));
    return keep(stream_wait());
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    (void)kind, (void)stream;
    runtime.has_context = true;
    if (runtime.copy_error != cudaSuccess) {
        return keep(runtime.copy_error);
    }
    return keep(stream_queue((work){.kind = COPY, .to = to, .from = from, .bytes = bytes}));
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    keep(cudaMemcpyAsync(to, from, bytes, kind, NULL));
    return keep(stream_wait());
}

/* ---- the device ---- */

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = runtime.driver;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    runtime.has_context = true; /* from CUDA 12 on */
    return keep(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    (void)device;
    int capability = runtime.capability ? runtime.capability : ptx_ours.architecture;
    switch ((int)attribute) {
    case cudaDevAttrMultiProcessorCount: *value = 4; break;
    case cudaDevAttrComputeCapabilityMajor: *value = capability / 10; break;
    case cudaDevAttrComputeCapabilityMinor: *value = capability % 10; break;
    case cudaDevAttrMaxGridDimX: *value = MOST_GRID; break;
    default:
        fprintf(stderr, "the stand-in device has no attribute %d\n", (int)attribute);
        return keep(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *host)
{
    runtime.has_context = true;
    const registered *r = registered_as(host);
    if (!r) {
        return keep(cudaErrorInvalidDeviceFunction);
    }
    memset(a, 0, sizeof *a);
    a->ptxVersion = a->binaryVersion = ptx_ours.architecture;
    a->sharedSizeBytes = r->kernel->shared;
    a->maxThreadsPerBlock = MOST_THREADS;
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *host,
                                                                   int threads, size_t shared,
                                                                   unsigned flags)
{
    (void)host, (void)threads, (void)shared, (void)flags;
    *blocks = 2;
    return cudaSuccess;
}

/* ---- errors ---- */

cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t e = last_error;
    last_error = cudaSuccess;
    return e;
}

const char *cudaGetErrorString(cudaError_t e)
{
    const char *of_kernel = stream_error();
    return e == cudaErrorLaunchFailure && of_kernel ? of_kernel : "an error of the stand-in device";
}
