/* Small functions that the CPU and the GPU share: one source, so that both give the same bits. */
#ifndef SUBMODI_BASE_HOST_DEVICE_H
#define SUBMODI_BASE_HOST_DEVICE_H

#include <math.h>

/* Both C11 and CUDA C++ compile this. nvcc uses -fmad=false and the C compiler -ffp-contract=off:
 * operation by operation the results are the same. */
#ifdef __CUDACC__
#define SUBMODI_HOST_DEVICE static __host__ __device__ __forceinline__
#else
#define SUBMODI_HOST_DEVICE static inline
#endif

/* a * b + c, rounded once on all GPUs and on CPUs that have an instruction for it. exp takes half
 * of the time of the histogram engine, and this makes it a third faster. On other CPUs fmaf would
 * be a function call; there a * b + c is rounded twice.
 * Where kernels run on fibers, the test says how to round: like the CPU it compares with. */
#if defined(__CUDACC__) || \
    (!defined(SUBMODI_ON_FIBERS) && (defined(__FMA__) || defined(__ARM_FEATURE_FMA)))
SUBMODI_HOST_DEVICE float submodi_multiply_add(float a, float b, float c)
{
    return fmaf(a, b, c);
}
#elif defined(SUBMODI_ON_FIBERS)
float submodi_multiply_add(float a, float b, float c);
#else
SUBMODI_HOST_DEVICE float submodi_multiply_add(float a, float b, float c)
{
    return a * b + c;
}
#endif

#endif
