/* Small functions that the CPU and the GPU share: one source, so that both give the same bits. */
#ifndef SUBMODI_BASE_HOST_DEVICE_H
#define SUBMODI_BASE_HOST_DEVICE_H

#include <math.h>

/* To be read by C11 and by CUDA C++ alike. nvcc compiles with -fmad=false and the C compiler with
 * -ffp-contract=off: operation by operation the results are the same. */
#ifdef __CUDACC__
#define SUBMODI_BOTH static __host__ __device__ __forceinline__
#else
#define SUBMODI_BOTH static inline
#endif

/* a * b + c with one rounding, wherever an activation has it: on all GPUs, and on CPUs that have an
 * instruction for it: half of the time of the histogram engine is exp, which it shortens by a
 * third. On the others fmaf would be a call, and two roundings have to do.
 * Where kernels run on fibers the test says how to round: as the CPU it compares with. */
#if defined(__CUDACC__) || \
    (!defined(SUBMODI_ON_FIBERS) && (defined(__FMA__) || defined(__ARM_FEATURE_FMA)))
SUBMODI_BOTH float submodi_multiply_add(float a, float b, float c)
{
    return fmaf(a, b, c);
}
#elif defined(SUBMODI_ON_FIBERS)
float submodi_multiply_add(float a, float b, float c);
#else
SUBMODI_BOTH float submodi_multiply_add(float a, float b, float c)
{
    return a * b + c;
}
#endif

#endif
